% Names are the C header's: words of enumerations as they are there, in lower case; options and fields its fields in CamelCase, nx, ny and
% nz together as Size, voxel_x, voxel_y and voxel_z as Voxel, and so on. Each has one spelling, an error lists them all, and the help shows them.
function test_names()
    [enums, structs, chosen] = header();
    words(enums, chosen);
    options(structs, enums, chosen);
    results(structs);
end

function words(enums, chosen)
    ct = isocenter.CT('Angles', [0 1], 'Bins', 8);
    mri = isocenter.MRI([0; 0], 'Size', [4 4], 'Unit', 'cycles_per_voxel');
    pet = isocenter.PET('Size', [4 4 4], 'Voxel', 4, 'Azimuths', 2, 'MaxTilt', 0.1);
    of = struct();
    of.isoc_context_options = @(name, word) isocenter.Context(name, word);
    of.isoc_ct_geometry = @(name, word) ct.setGeometry('Angles', [0 1], 'Bins', 8, name, word);
    of.isoc_ct_options = @(name, word) ct.setOptions(name, word);
    of.isoc_ct_outliers = @(name, word) ct.setOutliers(name, word);
    of.isoc_ct_flat_field_options = @(name, word) ct.setFlatField(ones(8, 1, 'single'), name, word);
    of.isoc_ct_phase = @(name, word) ct.setPhase('EnergyKev', 20, 'DistanceMm', 100, 'PixelUm', 1, 'DeltaBeta', 3, name, word);
    of.isoc_ct_stripes = @(name, word) ct.setStripes(name, word);
    of.isoc_ct_half_acquisition = @(name, word) isocenter.CT().setHalfAcquisition(name, word);
    of.isoc_ct_iterative = @(name, word) ct.setIterative(name, word);
    of.isoc_ct_output = @(name, word) ct.setOutput(name, word);
    of.isoc_ct_axis_options = @(name, word) ct.findAxis(zeros(8, 2, 'single'), name, word);
    of.isoc_mri_geometry = @(name, word) mri.setGeometry([0; 0], 'Size', [4 4], 'Unit', 'cycles_per_voxel', name, word);
    of.isoc_mri_options = @(name, word) mri.setOptions(name, word);
    of.isoc_coil_options = @(name, word) isocenter.coilMaps(complex(rand(8, 8, 2), 1), [8 8], name, word);
    of.isoc_pet_response = @(name, word) pet.setResponse('TofFwhm', 300, 'RadialFwhm', 9, 'AxialFwhm', 9, name, word);
    of.isoc_pet_options = @(name, word) pet.setOptions(name, word);
    of.isoc_pet_prior = @(name, word) pet.setPrior('Strength', 1, name, word);
    of.isoc_pet_body = @(name, word) pet.phantomImage(struct(name, word, 'HalfX', 9));
    calls = struct();
    calls.isoc_ct_shepp_logan_kind = @(word) isocenter.CT.sheppLogan(word, 3);
    calls.isoc_mri_shepp_logan_kind = @(word) isocenter.MRI.sheppLogan(word, 3);
    calls.isoc_mri_density = @(word) mri.computeWeights(word, 4);
    calls.isoc_pet_quantity = @(word) pet.phantomImage(struct('HalfX', 9), word);
    chosen = chosen(~strcmp(chosen(:, 3), 'isoc_ct_start'), :); % an argument of reconstruct, or none
    for k = 1:size(chosen, 1)
        name = camel(chosen{k, 2});
        set = of.(chosen{k, 1});
        calls.(chosen{k, 3}) = @(word) set(name, word);
    end
    % Calls give isoc_status and isoc_ct_view_fault, and none takes them.
    all_of_them = setdiff(fieldnames(enums), {'isoc_status', 'isoc_ct_view_fault', 'isoc_ct_start'});
    check_true('every enumeration is taken somewhere', isequal(sort(fieldnames(calls)), sort(all_of_them)));
    for k = 1:numel(all_of_them)
        name = all_of_them{k};
        list = enums.(name);
        for word = list, takes(name, calls.(name), word{1}, true); end
        hyphens = strrep([list{end} '_'], '_', '-');
        for wrong = {upper(list{1}), [upper(list{1}(1)) list{1}(2:end)], hyphens, [list{1} ' '], 'x', 0, true}
            said = takes(name, calls.(name), wrong{1}, false);
            found = regexp(said(strfind(said, 'must be one of '):end), '''(\w+)''', 'tokens');
            check_true([name ' is told as the header has it: ' said], isequal([found{:}], list));
        end
    end
end

% What is said of a word; it is no question of the word if another argument is wrong, or there is no GPU.
function said = takes(name, f, word, good)
    said = '';
    try
        f(word);
    catch failure
        said = failure.message;
    end
    if ~ischar(word), word = mat2str(word); end
    check_true(sprintf('%s ''%s'': %s', name, word, said), isempty(strfind(said, 'must be one of')) == good);
end

function options(structs, enums, chosen)
    ct = isocenter.CT();
    mri = isocenter.MRI();
    pet = isocenter.PET();
    prior = @(varargin) isocenter.PET('Size', [4 4 4], 'Voxel', 4, 'Azimuths', 2, 'MaxTilt', 0.1).setPrior(varargin{:});
    body = @(varargin) isocenter.PET('Size', [4 4 4], 'Voxel', 4, 'Azimuths', 2, 'MaxTilt', 0.1).phantomImage(varargin{:});
    scan = @(varargin) isocenter.PET('Size', [4 4 4], 'Voxel', 4, 'Azimuths', 2, 'MaxTilt', 0.1).simulate(varargin{:}, 4);
    factors = @(varargin) isocenter.PET('Size', [4 4 4], 'Voxel', 4, 'Azimuths', 2, 'MaxTilt', 0.1).factors(varargin{:});
    factors_memory = @(varargin) isocenter.PET('Size', [4 4 4], 'Voxel', 4, 'Azimuths', 2, 'MaxTilt', 0.1).factorsMemory(varargin{:});
    scatter = @(varargin) isocenter.PET('Size', [4 4 4], 'Voxel', 4, 'Azimuths', 2, 'MaxTilt', 0.1).scatter(ones(4, 4, 4), 0.01 * ones(4, 4, 4), varargin{:});
    scatter_memory = @(varargin) isocenter.PET('Size', [4 4 4], 'Voxel', 4, 'Azimuths', 2, 'MaxTilt', 0.1).scatterMemory(0.01 * ones(4, 4, 4), varargin{:});
    of_factors = {'Branching', 'Delay', 'Directions', 'Duration', 'HalfLife', 'Live', 'MapCentre', 'MapVoxel'};
    ellipse = @(varargin) isocenter.CT('Angles', 0, 'Bins', 4).phantomVolume(varargin{:});
    ellipsoid = @(varargin) isocenter.MRI([0; 0], 'Size', [4 4], 'Unit', 'cycles_per_voxel').phantomImage(varargin{:});
    % The struct, who takes it, whose help has it, fields that come from elsewhere, and options that are no field.
    table = {
        'isoc_context_options', @(varargin) isocenter.Context(varargin{:}), 'Context', {}, {}
        'isoc_ct_geometry', @(varargin) ct.setGeometry(varargin{:}), 'CT.setGeometry', {'Views'}, {'Region'}
        'isoc_ct_options', @(varargin) ct.setOptions(varargin{:}), 'CT.setOptions', {}, {}
        'isoc_ct_outliers', @(varargin) ct.setOutliers(varargin{:}), 'CT.setOutliers', {}, {}
        'isoc_ct_flat_field_options', @(varargin) isocenter.CT('Angles', [0 1], 'Bins', 8).setFlatField(ones(8, 1, 'single'), varargin{:}), 'CT.setFlatField', {}, {}
        'isoc_ct_distortion', @(varargin) ct.setDistortion(varargin{:}), 'CT.setDistortion', {}, {}
        'isoc_ct_phase', @(varargin) ct.setPhase(varargin{:}), 'CT.setPhase', {}, {}
        'isoc_ct_stripes', @(varargin) ct.setStripes(varargin{:}), 'CT.setStripes', {}, {}
        'isoc_ct_half_acquisition', @(varargin) ct.setHalfAcquisition(varargin{:}), 'CT.setHalfAcquisition', {}, {}
        'isoc_ct_iterative', @(varargin) ct.setIterative(varargin{:}), 'CT.setIterative', {'Start'}, {}
        'isoc_ct_output', @(varargin) ct.setOutput(varargin{:}), 'CT.setOutput', {}, {}
        'isoc_ct_axis_options', @(varargin) isocenter.CT('Angles', [0 1], 'Bins', 8).findAxis(zeros(8, 2, 'single'), varargin{:}), 'CT.findAxis', {}, {'Curve'}
        'isoc_mri_geometry', @(varargin) mri.setGeometry([0; 0], varargin{:}), 'MRI.setGeometry', {'Axes', 'Samples'}, {}
        'isoc_mri_options', @(varargin) mri.setOptions(varargin{:}), 'MRI.setOptions', {'WarmStart'}, {}
        'isoc_mri_delay_options', @(varargin) isocenter.MRI([0; 0], 'Size', [4 4], 'Unit', 'cycles_per_voxel').findDelays(complex(1, 1), varargin{:}), 'MRI.findDelays', {}, {}
        'isoc_mri_maps_options', @(varargin) isocenter.MRI([0; 0], 'Size', [4 4], 'Unit', 'cycles_per_voxel', 'Coils', 2).findMaps(complex([1 1], 1), varargin{:}), 'MRI.findMaps', {}, {}
        'isoc_mri_maps_options', @(varargin) isocenter.MRI([0; 0], 'Size', [4 4], 'Unit', 'cycles_per_voxel', 'Coils', 2).mapsMemory(varargin{:}), 'MRI.mapsMemory', {}, {}
        'isoc_coil_options', @(varargin) isocenter.coilMaps(complex(rand(8, 8, 2), 1), [8 8], varargin{:}), 'coilMaps', {}, {}
        'isoc_pet_geometry', @(varargin) pet.setGeometry(varargin{:}), 'PET.setGeometry', {}, {'Views'}
        'isoc_pet_response', @(varargin) pet.setResponse(varargin{:}), 'PET.setResponse', {}, {}
        'isoc_pet_options', @(varargin) pet.setOptions(varargin{:}), 'PET.setOptions', {'WarmStart'}, {}
        'isoc_pet_prior', prior, 'PET.setPrior', {}, {'Anatomy', 'Weights'}
        'isoc_pet_blocks', @(varargin) isocenter.PET.blockCrystals(varargin{:}), 'PET.blockCrystals', {}, {}
        'isoc_pet_scanner', @(varargin) pet.setScanner([400 -400; 0 0; 0 0], varargin{:}), 'PET.setScanner', {'TimeBins'}, {}
        'isoc_pet_factor_options', factors, 'PET.factors', {}, {}
        'isoc_pet_factor_options', factors_memory, 'PET.factorsMemory', {}, {}
        'isoc_pet_scatter_options', scatter, 'PET.scatter', {'Factors'}, [of_factors, {'Efficiencies', 'Measured', 'Randoms'}]
        'isoc_pet_scatter_options', scatter_memory, 'PET.scatterMemory', {'Factors'}, of_factors
        'isoc_pet_list', @(varargin) isocenter.PET('Size', [4 4 4], 'Voxel', 4, 'Azimuths', 2, 'MaxTilt', 0.1).forwardLines(varargin{:}, ones(4, 4, 4, 'single')), ...
            'PET.forwardLines', {}, {}
        'isoc_pet_body', body, 'PET.phantomImage', {}, {}
        'isoc_pet_scan', scan, 'PET.simulate', {}, {}
        'isoc_ct_ellipse', ellipse, 'CT.sheppLogan', {}, {}
        'isoc_mri_ellipsoid', ellipsoid, 'MRI.sheppLogan', {}, {}
    };
    for k = 1:size(table, 1)
        [name, set, place, elsewhere, besides] = table{k, :};
        wanted = unique([setdiff(fields(structs.(name)), elsewhere), besides]);
        said = '';
        try
            set(struct('Nonsense', 1));
        catch failure
            said = failure.message;
            check_true([name ': ' failure.identifier], ~isempty(strfind(failure.identifier, 'unknownOption')));
        end
        found = strsplit(regexprep(said, '^.*; it has ', ''), ', ');
        check_true(sprintf('%s: %s, expected %s', name, said, strjoin(wanted, ', ')), isequal(unique(found), wanted));
        text = help_of(place);
        for word = chosen(strcmp(chosen(:, 1), name), 2:3).'
            if strcmp(word{1}, 'unit'), continue; end % which has no default
            if any(strcmp(camel(word{1}), elsewhere)), continue; end
            default = ['''' enums.(word{2}){1} ''''];
            check_true(sprintf('the help of %s marks %s', place, default), ~isempty(regexp(text, [default '[ ,(]+the default'], 'once')));
        end
        for option = found
            check_true(sprintf('%s is in the help of %s', option{1}, place), ~isempty(regexp(text, ['\<' option{1} '\>'], 'once')));
            for other = {lower(option{1}), regexprep(option{1}, '(.)([A-Z])', '$1_$2')}
                if strcmp(other{1}, option{1}), continue; end
                said = '';
                try, set(struct(other{1}, [])); catch failure, said = failure.identifier; end
                check_true(sprintf('%s is no spelling of %s', other{1}, option{1}), ~isempty(strfind(said, 'unknownOption')));
            end
        end
    end
end

% What help shows. Of a method with the name of a function of Octave that would be the function's: then the comment in the file.
function text = help_of(place)
    text = get_help_text(['isocenter.' place]);
    parts = strsplit(place, '.');
    if numel(parts) < 2 || exist(parts{2}) ~= 2, return; end
    file = fullfile(fileparts(mfilename('fullpath')), '..', '..', 'cbindings', 'matlab', '+isocenter', [parts{1} '.m']);
    text = regexp(fileread(file), ['function [^\n]*\<' parts{2} '\(self[^\n]*\n((\s*%[^\n]*\n)+)'], 'tokens', 'once'){1};
end

function results(structs)
    ct = isocenter.CT('Angles', [0 1], 'Bins', 8);
    mri = isocenter.MRI([0; 0], 'Size', [4 4], 'Unit', 'cycles_per_voxel');
    pet = isocenter.PET('Size', [12 10 4], 'Voxel', 8, 'Azimuths', 3, 'MaxTilt', 0.2);
    pet.setResponse('TofFwhm', 120, 'RadialFwhm', 9, 'AxialFwhm', 9);
    [first, second, times, tally] = pet.simulate(struct('Bodies', struct('HalfX', 20, 'Activity', 1)), 100);
    [measured, dropped] = pet.deposit(first, second, times);
    pet.setScanner([400 -400; 0 0; 0 0], 'CrystalWidth', 4, 'CrystalHeight', 4);
    [~, ~, lost] = pet.detect(first, second, times);
    [~, found] = pet.scatter(pet.phantomImage(struct('HalfX', 20, 'Activity', 1)), 0.01 * ones(12, 10, 4));
    pet.setOptions('Iterations', 1);
    pet.reconstruct(measured);
    ct.reconstruct(zeros(8, 2, 'single'));
    iterating = isocenter.CT('Angles', [0 1], 'Bins', 8);
    iterating.setOptions('Algorithm', 'sirt');
    iterating.reconstruct(zeros(8, 2, 'single'));
    turn = (0:19) * pi / 20;
    k = reshape([cos(turn); sin(turn)] .* reshape((-16:15) / 32, 1, 1, []), 2, 20, []);
    radial = isocenter.MRI(reshape(permute(k, [1 3 2]), 2, []), 'Size', [16 16], 'Unit', 'cycles_per_voxel');
    delays = radial.findDelays(radial.phantomSamples(isocenter.MRI.sheppLogan('modified', 7)), 'Readout', 32);
    for pair = {'isoc_ct_iteration', iterating.history(); 'isoc_ct_info', ct.info(); 'isoc_ct_output_info', ct.output(); 'isoc_mri_info', mri.info(); 'isoc_mri_delays', delays; 'isoc_pet_info', pet.info(); 'isoc_pet_tally', tally; ...
                'isoc_pet_dropped', dropped; 'isoc_pet_lost', lost; 'isoc_pet_scatter_found', found; 'isoc_pet_iteration', pet.history()}.'
        list = structs.(pair{1});
        list = list(~ismember(list, {'struct_size', 'reserved'}));
        check_true([pair{1} ' is told as the header has it'], isequal(fieldnames(pair{2}).', cellfun(@camel, list, 'UniformOutput', false)));
    end
end

% A struct's fields as options: less what only C needs, and lengths of lists.
function list = fields(list)
    list = regexprep(list, {'^n[xyz]$', '^(voxel|map_voxel|map_centre)_[xyz]$'}, {'size', '$1'});
    list = list(~ismember(list, {'struct_size', 'reserved', 'progress_user', 'log_user'}));
    list = unique(cellfun(@camel, list(cellfun(@isempty, regexp(list, '_count$'))), 'UniformOutput', false));
end

function name = camel(name)
    parts = strsplit(name, '_');
    name = '';
    for part = parts, name = [name upper(part{1}(1)) part{1}(2:end)]; end
end

function [enums, structs, chosen] = header()
    project = fullfile(fileparts(mfilename('fullpath')), '..', '..');
    [status, text] = system(sprintf('python3 "%s" --names "%s"', fullfile(project, 'cbindings', 'python', 'generate.py'), ...
                                    fullfile(project, 'include', 'isocenter.h')));
    check_true('names of the header', status == 0);
    enums = struct();
    structs = struct();
    chosen = cell(0, 3);
    for line = strsplit(strtrim(text), "\n")
        parts = strsplit(line{1}, ' ');
        list = regexprep(parts(3:end), ':.*', '');
        if strcmp(parts{1}, 'enum')
            enums.(parts{2}) = list;
            continue
        end
        structs.(parts{2}) = list;
        for marked = regexp(parts(3:end), '^(\w+):(\w+)$', 'tokens', 'once')
            if ~isempty(marked{1}), chosen(end + 1, :) = {parts{2}, marked{1}{:}}; end
        end
    end
    check_true('enumerations and structs', numel(fieldnames(enums)) > 20 && numel(fieldnames(structs)) > 20);
end
