% Every command with arguments at random: each call returns, or raises an error of this library; the process survives.
function test_random()
    rand('seed', 11);
    source = fullfile(fileparts(mfilename('fullpath')), '..', '..', 'cbindings', 'matlab', 'src');
    commands = {};
    for area = {'ct', 'mri', 'pet'}
        found = regexp(fileread(fullfile(source, [area{1} '.cpp'])), '\n    { "(\w+)", \w+(?:, needs::(\w+))? }', 'tokens');
        for k = 1:numel(found), commands(end + 1, :) = {area{1}, found{k}{1}}; end
    end
    check_true('commands', rows(commands) > 60);
    pool = values();
    for round = 1:40
        plans = struct('ct', isocenter.CT('Angles', (0:9) * 0.3, 'Bins', 8), ...
                       'mri', isocenter.MRI(rand(2, 8) - 0.5, 'Size', [8 8], 'Unit', 'cycles_per_voxel'), ...
                       'pet', isocenter.PET('Size', [8 10 4], 'Voxel', 8, 'Azimuths', 2, 'MaxTilt', 0.2));
        plans.pet.setResponse('TofFwhm', 100, 'RadialFwhm', 9, 'AxialFwhm', 9);
        for k = 1:rows(commands)
            arguments = pool(ceil(numel(pool) * rand(1, floor(5 * rand()))));
            id = plans.(commands{k, 1}).id;
            if any(strcmp(commands{k, 2}, {'create', 'destroy'})), continue; end
            if strcmp(commands{k, 2}, 'shepp_logan'), first = {}; else, first = {id}; end
            outputs = cell(1, floor(4 * rand()));
            try
                [outputs{:}] = isocenter_mex([commands{k, 1} '.' commands{k, 2}], first{:}, arguments{:});
            catch failure
                own = strncmp(failure.identifier, 'isocenter:', 10) && isempty(strfind(failure.identifier, 'internal'));
                % Octave's word where a command gives fewer results than were asked for.
                few = ~isempty(strfind(failure.message, 'undefined in return list')) || ~isempty(strfind(failure.message, 'some elements undefined'));
                % Of a callback from the pool.
                theirs = strcmp(failure.identifier, 'Octave:invalid-fun-call') && ~isempty(strfind(failure.message, 'Invalid call to sin'));
                check_true(sprintf('%s.%s: %s %s', commands{k, :}, failure.identifier, failure.message), own || few || theirs);
            end
        end
    end
end

function pool = values()
    body = struct('Shape', 'box', 'HalfX', 10, 'Activity', 1);
    pool = {[], '', 'Filter', 'hann', 'Iterations', 'nonsense', 0, 1, 2, 3, -1, 1.5, NaN, Inf, 1e300, uint8(1), int64(5), true, {}, {1}, ...
            struct(), struct('Value', 1, 'SemiX', 2, 'SemiY', 2), struct('Filter', {'hann', 'none'}), struct('Bodies', body), body, @sin, @(varargin) 1, ...
            single(ones(8, 10)), ones(8, 10), uint16(ones(8, 10)), single(ones(10, 8)), single(ones(8, 8)), ones(8, 8), complex(ones(8, 8), 1), ...
            complex(single(ones(8, 1)), 1), ones(8, 1), ones(1, 8), ones(2, 8), 0.1 * ones(3, 5), single(ones(3, 5)), ones(5, 1), ...
            single(ones(8, 10, 4)), single(ones(8, 10, 4, 2)), uint32(ones(8, 10, 4, 2)), -single(ones(8, 10, 4, 2)), NaN(8, 8), speye(64), ...
            sparse(64, 64), sparse(1i * eye(64)), zeros(0, 3), zeros(3, 0), zeros(8, 0, 'single'), ones(2, 2, 2, 2, 2), 'Size', [8 8], [8 10 4], ...
            'Lambda', 'Seed', uint64(1), char(ones(3, 3) * 65), int8(-5)};
end
