function file = build_mex(varargin)
% BUILD_MEX  Compile isocenter_mex, which the package isocenter calls.
%   BUILD_MEX compiles it into this folder, with Octave's mkoctfile or MATLAB's mex. The library is taken from where this checkout
%   installs it (make install), or from where this folder itself was installed.
%
%   BUILD_MEX('Prefix', FOLDER)      takes the library from FOLDER/include and FOLDER/lib (or lib64, lib/x86_64-linux-gnu). On Windows
%                                    FOLDER/bin/isocenter.dll is copied beside isocenter_mex, where it is found.
%   BUILD_MEX('Output', FOLDER)      puts isocenter_mex there; add it to the path.
%   BUILD_MEX('Complex', 'separate') uses MATLAB's older interface (-R2017b), which keeps real and imaginary parts apart: complex
%                                    arrays are then copied once on their way in and out. 'interleaved' (-R2018a) is the default.
%   FILE = BUILD_MEX(...)            tells what it made.
%
%   It needs a C++17 compiler; on Windows MinGW-w64 or Microsoft's. Example:
%     build_mex('Prefix', '/usr/local')
    here = fileparts(mfilename('fullpath'));
    set = struct('Prefix', '', 'Output', here, 'Complex', 'interleaved');
    if mod(nargin, 2), error('isocenter:build:arguments', 'build_mex takes names and values'); end
    varargin = cellfun(@char, varargin, 'UniformOutput', false); % strings too
    for k = 1:2:nargin
        if ~isfield(set, varargin{k})
            error('isocenter:build:unknownOption', 'build_mex has the options %s', strjoin(fieldnames(set)', ', '));
        end
        set.(varargin{k}) = varargin{k + 1};
    end
    releases = struct('interleaved', '-R2018a', 'separate', '-R2017b');
    if ~isfield(releases, set.Complex)
        error('isocenter:build:unknownOption', 'Complex must be ''interleaved'' or ''separate'', not ''%s''', set.Complex);
    end
    prefix = find_prefix(set.Prefix, here);
    lib = find_library(prefix);
    sources = dir(fullfile(here, 'src', '*.cpp'));
    sources = cellfun(@(name) fullfile(here, 'src', name), {sources.name}, 'UniformOutput', false);
    file = fullfile(set.Output, ['isocenter_mex.' mexext()]);
    common = {releases.(set.Complex), ['-I' fullfile(prefix, 'include')], ['-L' lib], '-lisocenter'};
    if ~ispc, common{end + 1} = '-ldl'; end
    clear isocenter_mex isocenter_array % a loaded file must not be written over
    if exist('OCTAVE_VERSION', 'builtin')
        % mkoctfile quotes what needs it, but for the output.
        into = @(name) quoted(fullfile(set.Output, name));
        rpath = {};
        if ~ispc, rpath = {['-Wl,-rpath,' lib]}; end
        octave_compile('--mex', '-DISOCENTER_OCTAVE', common{:}, rpath{:}, '-o', into('isocenter_mex'), sources{:});
        octave_compile('-o', into('isocenter_array'), fullfile(here, 'src', 'octave', 'isocenter_array.cc'));
    elseif ispc
        standard = 'CXXFLAGS=$CXXFLAGS -std=c++17';
        compiler = mex.getCompilerConfigurations('C++', 'Selected');
        if ~isempty(compiler) && strcmp(compiler(1).Manufacturer, 'Microsoft'), standard = 'COMPFLAGS=$COMPFLAGS /std:c++17'; end
        mex(common{:}, '-lut', standard, '-outdir', set.Output, '-output', 'isocenter_mex', sources{:});
    else
        mex(common{:}, '-lut', 'CXXFLAGS=$CXXFLAGS -std=c++17', ['LDFLAGS=$LDFLAGS -Wl,-rpath,' quoted(lib)], ...
            ['LINKLIBS=' runtime() '$LINKLIBS'], '-outdir', set.Output, '-output', 'isocenter_mex', sources{:});
    end
    if ispc % Windows looks for a DLL beside the file that needs it
        [copied, why] = copyfile(fullfile(prefix, 'bin', 'isocenter.dll'), set.Output);
        if ~copied, error('isocenter:build:failed', 'isocenter.dll cannot be copied to %s: %s', set.Output, why); end
    end
    if nargout == 0
        fprintf('%s, with the library in %s\n', file, lib);
        clear file
    end
end

function octave_compile(varargin)
    [output, status] = mkoctfile(varargin{:});
    if status ~= 0, error('isocenter:build:failed', 'mkoctfile failed:\n%s', output); end
end

% The compiler's libstdc++, to be part of the file: MATLAB loads its own, which is often older than the compiler's, and then the file
% would not load. mex names -lstdc++ itself, so that -static-libstdc++ does nothing.
function libraries = runtime()
    [~, archive] = system('g++ -print-file-name=libstdc++.a');
    libraries = '';
    if exist(strtrim(archive), 'file'), libraries = '-l:libstdc++.a '; end
end

% A folder as a shell reads it.
function folder = quoted(folder)
    if any(folder == ' '), folder = ['''' folder '''']; end
end

function prefix = find_prefix(given, here)
    places = {given};
    if isempty(given), places = {fullfile(here, '..', '..', 'target', 'install'), fullfile(here, '..', '..', '..')}; end
    for k = 1:numel(places)
        if exist(fullfile(places{k}, 'include', 'isocenter.h'), 'file')
            [found, info] = fileattrib(places{k});
            if found, prefix = info.Name; return; end
        end
    end
    error('isocenter:build:noLibrary', 'there is no include/isocenter.h in %s: run make install, or say build_mex(''Prefix'', FOLDER)', ...
          strjoin(places, ' or '));
end

function lib = find_library(prefix)
    library = 'libisocenter.so';
    if ispc, library = 'isocenter.lib'; end
    for name = {'lib', 'lib64', fullfile('lib', 'x86_64-linux-gnu')}
        lib = fullfile(prefix, name{1});
        if exist(fullfile(lib, library), 'file'), return; end
    end
    error('isocenter:build:noLibrary', 'there is no lib/%s in %s', library, prefix);
end
