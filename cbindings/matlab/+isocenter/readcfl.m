function data = readcfl(name)
% READCFL  An array of BART's files.
%
%   DATA = isocenter.readcfl(NAME)
%
%   NAME: of NAME.hdr and NAME.cfl, without the endings. DATA: complex single, of the header's dimensions, which are MATLAB's order.
%   A header that is none, and a NAME.cfl that is shorter or longer than it says, are errors.
%
%   See also isocenter.writecfl, isocenter.MRI.
    header = content([name '.hdr'], '*char')';
    sizes = dimensions(header, [name '.hdr']);
    file = [name '.cfl'];
    found = dir(file);
    needed = 8 * prod(sizes);
    if numel(found) == 1 && found.bytes ~= needed
        error('isocenter:cfl', '%s has %.0f bytes; %s complex numbers, as its header says, have %.0f: the two files do not belong together', file, found.bytes, listed(sizes), needed);
    end
    parts = reshape(content(file, 'single=>single'), 2, []);
    data = reshape(complex(parts(1, :), parts(2, :)), [sizes 1]);
end

function data = content(file, kind)
    handle = fopen(file, 'r', 'ieee-le');
    if handle < 0
        error('isocenter:cfl', '%s cannot be opened', file);
    end
    data = fread(handle, Inf, kind);
    fclose(handle);
end

% As in the section '# Dimensions', without those of 1 at the end; of two dimensions at least.
function sizes = dimensions(header, file)
    lines = strtrim(strsplit(header, sprintf('\n'), 'CollapseDelimiters', false));
    marks = find(strncmp(lines, '#', 1));
    names = lower(strtrim(regexprep(lines(marks), '^#', '')));
    at = find(strcmp(names, 'dimensions'));
    if numel(at) ~= 1
        error('isocenter:cfl', '%s has %d sections ''# Dimensions''; it must have one', file, numel(at));
    end
    if any(strcmp(names, 'data')) || any(strcmp(names, 'multidimensions'))
        error('isocenter:cfl', '%s has its data elsewhere, or several arrays: write one to a file of its own with ''bart copy''', file);
    end
    marks(end + 1) = numel(lines) + 1;
    words = strsplit(strtrim(strjoin(lines(marks(at) + 1:marks(at + 1) - 1), ' ')));
    sizes = ones(1, numel(words));
    for k = 1:numel(words)
        if isempty(regexp(words{k}, '^\+?\d{1,15}$', 'once')) || str2double(words{k}) < 1
            error('isocenter:cfl', '%s: dimension %d is ''%s''; it must be an integer of 1 and more', file, k - 1, words{k});
        end
        sizes(k) = str2double(words{k});
    end
    if any(sizes(17:end) > 1)
        error('isocenter:cfl', '%s: only 16 dimensions may be above 1', file);
    end
    if 8 * prod(sizes) >= 2^53
        error('isocenter:cfl', '%s: its dimensions %s are more bytes than a file can have', file, listed(sizes));
    end
    sizes = sizes(1:max([find(sizes > 1, 1, 'last') 1]));
end

function text = listed(sizes)
    text = strjoin(arrayfun(@(n) sprintf('%.0f', n), sizes, 'UniformOutput', false), ' x ');
end
