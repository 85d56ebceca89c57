% What new users get wrong, and that the message says what to write instead: their method, their argument, its value, a way out.
function test_mistakes()
    order_of_dimensions();
    python_order();
    advice_gives_the_image();
    missing_and_extra_arguments();
    forgotten_dimensions();
    classes_and_names();
    values_and_order_of_calls();
    warnings_name_the_method();
    shown();
end

% The message begins with the method and has all the words; nothing of C is in it.
function says(method, words, f)
    said = '';
    try, f(); catch failure, said = failure.message; end
    if ischar(words), words = {words}; end
    for k = 1:numel(words)
        check_true(sprintf('"%s" is not in "%s"', words{k}, said), ~isempty(strfind(said, words{k})));
    end
    check_true(sprintf('"%s" begins with %s', said, method), strncmp(said, [method ': '], numel(method) + 2));
    strange = regexp(said, 'isoc_|ISOC_|NULL|geometry\.|options\.|response\.|iterative\.|\<[FCU](8|16|32|64)\>|handle\>|\.\.\.\)', 'match');
    check_true(sprintf('"%s" is C''s in "%s"', strjoin(strange, ' '), said), isempty(strange));
end

% The message ends there: no advice is better than wrong advice.
function ends(words, f)
    said = '';
    try, f(); catch failure, said = failure.message; end
    check_true(sprintf('"%s" ends with %s', said, words), numel(said) > numel(words) && strcmp(said(end - numel(words) + 1:end), words));
end

function order_of_dimensions()
    a = (0:17) * pi / 18;
    p = ones(16, 4, 18, 'single');
    ct = isocenter.CT('Angles', a, 'Bins', 16, 'Rows', 4);
    sinograms = isocenter.CT('Angles', a, 'Bins', 16, 'Rows', 4, 'Order', 'sinograms');
    says('CT.reconstruct', {'projections is 16 x 18 x 4; it must be 16 x 4 x 18 (bins x rows x views)', ...
                            'write permute(projections, [1 3 2]), or make the plan with ''Order'', ''sinograms'''}, @() ct.reconstruct(permute(p, [1 3 2])));
    says('CT.reconstruct', 'or make the plan with ''Order'', ''frames''', @() sinograms.reconstruct(p));
    says('CT.reconstruct', 'write permute(projections, [3 2 1])', @() ct.reconstruct(permute(p, [3 2 1])));
    says('CT.reconstruct', 'if its elements lie in that order, write reshape(projections, 16, 4, 18)', @() ct.reconstruct(reshape(p, 16, 72)));
    says('CT.forward', 'write permute(volume, [3 2 1])', @() ct.forward(ones(4, 16, 16, 'single')));
    says('CT.setFlatField', 'write flats.''', @() ct.setFlatField(ones(4, 16, 'single')));
    says('CT.setFlatField', 'write permute(flats, [2 3 1])', @() ct.setFlatField(ones(10, 16, 4, 'single')));
    q = single(rand(16, 4, 18));
    expected = ct.reconstruct(q);
    for given = {permute(q, [1 3 2]), permute(q, [3 2 1]), permute(q, [2 3 1]), reshape(q, 16, 72)}
        said = '';
        try, ct.reconstruct(given{1}); catch failure, said = failure.message; end
        projections = given{1};
        advice = regexp(said, 'write (\w+\([^)]*\))', 'tokens', 'once'){1};
        check_true(['the advice works: ' advice], isequal(ct.reconstruct(eval(advice)), expected));
    end
    k = rand(2, 100) - 0.5;
    says('MRI.setGeometry', 'trajectory is 100 x 2; it must be 2 x samples or 3 x samples, x first: write trajectory.''', ...
         @() isocenter.MRI(k.', 'Size', [16 12], 'Unit', 'cycles_per_voxel'));
    says('MRI.setGeometry', 'trajectory is 2 x 10 x 10; it must be 2 x samples or 3 x samples, x first: write reshape(trajectory, 2, [])', ...
         @() isocenter.MRI(reshape(k, 2, 10, 10), 'Size', [16 12], 'Unit', 'cycles_per_voxel'));
    says('MRI.setGeometry', {'trajectory is 10 x 10 x 2; it must be 2 x samples or 3 x samples, x first: ', ...
                             'from Python or C order, write reshape(permute(trajectory, [3 2 1]), 2, [])', ...
                             'samples of a spoke are along the first dimension, reshape(trajectory, [], 2).'''}, ...
         @() isocenter.MRI(reshape(k.', 10, 10, 2), 'Size', [16 12], 'Unit', 'cycles_per_voxel'));
    says('MRI.setGeometry', '[real(trajectory(:)), imag(trajectory(:))].''', ...
         @() isocenter.MRI(complex(k(1, :), k(2, :)), 'Size', [16 12], 'Unit', 'cycles_per_voxel'));
    says('MRI.setGeometry', {'trajectory is complex, 100 x 4', 'if these are samples', 'gridding and reconstruct', 'if it is kx + i ky'}, ...
         @() isocenter.MRI(complex(ones(100, 4)), 'Size', [16 12], 'Unit', 'cycles_per_voxel'));
    mri = isocenter.MRI(k, 'Size', [16 12], 'Unit', 'cycles_per_voxel');
    says('MRI.forward', 'write image.''', @() mri.forward(ones(12, 16)));
    says('MRI.reconstruct', 'write reshape(samples, 100, 1)', @() mri.reconstruct(ones(10, 10)));
    pet = isocenter.PET('Size', [12 10 4], 'Voxel', 8, 'Azimuths', 3, 'MaxTilt', 0.2);
    pet.setResponse('TofFwhm', 120, 'RadialFwhm', 9, 'AxialFwhm', 9);
    says('PET.reconstruct', 'write permute(measured, [4 3 2 1])', @() pet.reconstruct(ones(3, 4, 10, 12, 'single')));
    says('PET.deposit', {'first_positions is 5 x 3', 'write first_positions.'''}, @() pet.deposit(ones(5, 3), ones(5, 3), ones(5, 1)));
    says('PET.setScanner', {'positions is 5 x 3', 'write positions.'''}, @() pet.setScanner(ones(5, 3)));
    pet.setScanner([400 -400; 0 0; 0 0]);
    says('PET.depositCrystals', {'crystals is 5 x 2; it must be 2 x events', 'write crystals.'''}, @() pet.depositCrystals(ones(5, 2), ones(5, 1)));
    says('PET.depositCrystals', 'crystals is 2 x 5; it must be 2 x 4', @() pet.depositCrystals(ones(2, 5), ones(4, 1)));
    says('PET.depositCrystals', 'labels is 1 x 3; it must have 5', @() pet.depositCrystals(ones(2, 5), ones(5, 1), ones(1, 3)));
    says('PET.setGeometry', {'Views is 3 x 2', 'write Views.'''}, ...
         @() isocenter.PET('Size', [12 10 4], 'Voxel', 8, 'MaxTilt', 0.2, 'Views', zeros(3, 2)));
    says('PET.setResponse', 'RadialTable is 3 x 2; it must be 2 x n', ...
         @() pet.setResponse('TofFwhm', 120, 'AxialFwhm', 9, 'RadialTable', [0 1; 5 2; 100 3]));
    says('PET.setTables', {'map is 10 x 12', 'write map.'''}, @() pet.setTables(1, ones(10, 12), [0; 0; 0], single(1)));
    says('PET.setTables', {'offsets is 1 x 3', 'write offsets.'''}, @() pet.setTables(1, ones(12, 10), [0 0 0], single(1)));
end

% Sizes alone do not tell dimensions of the same size apart: both ways are named, that of arrays from Python or C first.
function python_order()
    n = [8 8 5];
    k = rand(3, 42) - 0.5;
    mri = isocenter.MRI(k, 'Size', n, 'Unit', 'cycles_per_voxel', 'Coils', 4);
    says('MRI.setMaps', {'maps is 4 x 5 x 8 x 8', 'from Python or C order, write permute(maps, [4 3 2 1]) (permute(maps, [3 4 2 1]) fits too)'}, ...
         @() mri.setMaps(ones(4, 5, 8, 8)));
    alone = isocenter.MRI(k, 'Size', n, 'Unit', 'cycles_per_voxel');
    says('MRI.forward', 'from Python or C order, write permute(image, [3 2 1]) (permute(image, [2 3 1]) fits too)', @() alone.forward(ones(5, 8, 8)));
    says('MRI.setMaps', 'from Python or C order, write permute(maps, [4 3 2 1]) (permute(maps, [3 4 2 1]) fits too) and make the plan with ''Coils'', 4', ...
         @() alone.setMaps(ones(4, 5, 8, 8)));
    says('MRI.setGeometry', 'it must be 2 x samples or 3 x samples, x first, or 1 x samples of a line', ...
         @() isocenter.MRI(rand(4, 9) - 0.5, 'Size', [8 1], 'Unit', 'cycles_per_voxel'));
    plane = isocenter.MRI(k(1:2, :), 'Size', [8 8], 'Unit', 'cycles_per_voxel', 'Coils', 4);
    says('MRI.setMaps', 'maps have 5 sets for 4 coils; there must be 1 to 4', @() plane.setMaps(ones(8, 8, 4, 5)));
    says('MRI.setMaps', 'from Python or C order, write permute(maps, [4 3 2 1])', @() plane.setMaps(ones(4, 1, 8, 8)));
    ct = isocenter.CT('Angles', (0:8) * pi / 9, 'Bins', 16, 'Rows', 3);
    says('CT.forward', 'from Python or C order, write permute(volume, [3 2 1]) (permute(volume, [2 3 1]) fits too)', @() ct.forward(ones(3, 16, 16, 'single')));
    says('CT.reconstruct', 'from Python or C order, write reshape(projections.'', [], 3, 9)', @() ct.reconstruct(ones(27, 16, 'single')));
    square = isocenter.CT('Angles', (0:15) * pi / 16, 'Bins', 16, 'Rows', 3);
    says('CT.reconstruct', {'from Python or C order, write permute(projections, [3 1 2]) (permute(projections, [2 1 3]) fits too)'}, ...
         @() square.reconstruct(ones(3, 16, 16, 'single')));
    says('MRI.gridding', {'samples is 4 x 6 x 7', 'from Python or C order, write reshape(permute(samples, [3 2 1]), [], 4)'}, ...
         @() mri.gridding(complex(ones(4, 6, 7))));
    says('MRI.gridding', 'if its elements lie in that order, write reshape(samples, 42, 4)', @() mri.gridding(complex(ones(7, 6, 4))));
    says('MRI.gridding', {'if its elements lie in that order, write reshape(samples, 42, 1)', 'from Python or C order, reshape(samples.'', [], 1)'}, ...
         @() alone.gridding(complex(ones(6, 7))));
    says('MRI.gridding', {'reshape(permute(samples, [3 2 1]), [], 4)', 'make the plan with ''Coils'', 4'}, @() alone.gridding(complex(ones(4, 6, 7))));
end

% The advice, obeyed with arrays as NumPy has them, gives what the arrays in MATLAB's order give.
function advice_gives_the_image()
    rand('seed', 9);
    readout = 7; spokes = 6; n = [8 8 5];
    k = rand(3, readout, spokes) - 0.5;
    s = complex(rand(readout, spokes, 4), rand(readout, spokes, 4));
    m = complex(rand([n 4]), rand([n 4]));
    plan = @(trajectory) isocenter.MRI(trajectory, 'Size', n, 'Unit', 'cycles_per_voxel', 'Coils', 4);
    mri = plan(reshape(k, 3, []));
    mri.setMaps(m);
    expected = mri.adjoint(reshape(s, [], 4));
    numpy = @(a) permute(a, ndims(a):-1:1);
    trajectory = numpy(k); samples = numpy(s); maps = numpy(m);
    other = plan(eval(advised(@() plan(trajectory))));
    other.setMaps(eval(advised(@() other.setMaps(maps))));
    check_near('NumPy''s arrays as the messages say', other.adjoint(eval(advised(@() other.adjoint(samples)))), expected, 1e-12);
end

% The first thing that a message says to write.
function code = advised(f)
    said = '';
    try, f(); catch failure, said = failure.message; end
    at = strfind(said, 'write ')(1) + 6;
    depth = cumsum((said(at:end) == '(') - (said(at:end) == ')'));
    code = said(at:at + find(depth == 0 & said(at:end) == ')', 1) - 1);
end

% The library's own words, where Octave would say that a variable is undefined, or "called with too many inputs".
function missing_and_extra_arguments()
    ct = isocenter.CT('Angles', [0 1], 'Bins', 8);
    mri = isocenter.MRI([0 0.1; 0 0.1], 'Size', [4 4], 'Unit', 'cycles_per_voxel');
    pet = isocenter.PET('Size', [4 4 4], 'Voxel', 4, 'Azimuths', 2, 'MaxTilt', 0.1);
    plans = struct('CT', ct, 'MRI', mri, 'PET', pet);
    % What each takes: those that it needs, and the most that there may be.
    takes = {
        'CT.reconstruct', {'projections'}, 2
        'CT.reconstructStream', {'read', 'write'}, 3
        'CT.findAxis', {'projections'}, Inf
        'CT.findBadViews', {'projections'}, 1
        'CT.suggestRegularisation', {'projections'}, 1
        'CT.filter', {'projections'}, 1
        'CT.backproject', {'projections'}, 1
        'CT.forward', {'volume'}, 1
        'CT.adjoint', {'projections'}, 1
        'CT.phantomVolume', {'ellipses'}, 1
        'CT.phantomProjections', {'ellipses'}, 1
        'CT.sheppLogan', {'kind', 'radius'}, 2
        'CT.setFlatField', {}, Inf
        'CT.fitFlatField', {'projections'}, Inf
        'CT.setAngularWeights', {}, 1
        'CT.setRayWeights', {}, 1
        'CT.info', {}, 0
        'CT.output', {}, 0
        'CT.histogram', {}, 0
        'CT.history', {}, 0
        'CT.angularWeights', {}, 0
        'CT.memory', {}, 0
        'CT.tune', {}, 0
        'MRI.setGeometry', {'trajectory'}, Inf
        'MRI.setWeights', {'weights'}, 1
        'MRI.computeWeights', {}, 2
        'MRI.weights', {}, 0
        'MRI.setMaps', {'maps'}, 1
        'MRI.setField', {}, 3
        'MRI.setPositions', {'positions'}, 1
        'MRI.setDifferenceWeights', {'weights'}, 1
        'MRI.setMatrix', {'matrix'}, 1
        'MRI.setFrames', {}, 2
        'MRI.setWindows', {'length', 'step'}, 2
        'MRI.setBasis', {'basis'}, 2
        'MRI.setShots', {}, 2
        'MRI.forward', {'image'}, 1
        'MRI.adjoint', {'samples'}, 1
        'MRI.gridding', {'samples'}, 1
        'MRI.normal', {'image'}, 1
        'MRI.reconstruct', {'samples'}, 2
        'MRI.reconstructStream', {'read'}, 4
        'MRI.griddingStream', {'read'}, 3
        'MRI.streamMemory', {}, 2
        'MRI.findMaps', {'samples'}, Inf
        'MRI.mapsMemory', {}, Inf
        'MRI.findDelays', {'samples'}, Inf
        'MRI.delayedTrajectory', {'delays'}, Inf
        'MRI.history', {}, 1
        'MRI.objective', {}, 1
        'MRI.gap', {}, 1
        'MRI.computeQ', {}, 0
        'MRI.exportQ', {}, 0
        'MRI.importQ', {}, 1
        'MRI.info', {}, 0
        'MRI.memory', {}, 0
        'MRI.phantomSamples', {'ellipsoids'}, 1
        'MRI.phantomImage', {'ellipsoids'}, 1
        'MRI.compare', {'image'}, 2
        'MRI.sheppLogan', {'kind', 'half'}, 3
        'PET.setOrder', {'order'}, 1
        'PET.setPrior', {'Strength'}, Inf
        'PET.priorGradient', {'image'}, 1
        'PET.setRegions', {'regions'}, 1
        'PET.setTables', {'view'}, 4
        'PET.tables', {'view'}, 1
        'PET.views', {}, 0
        'PET.forward', {'image'}, 2
        'PET.adjoint', {'histo_images'}, 2
        'PET.sensitivity', {}, 1
        'PET.reconstruct', {'measured'}, 4
        'PET.history', {}, 0
        'PET.deposit', {'first_positions'}, 4
        'PET.setScanner', {'positions'}, Inf
        'PET.setPairs', {}, 3
        'PET.depositCrystals', {'crystals'}, 5
        'PET.detect', {'first_positions'}, Inf
        'PET.attenuation', {'hounsfield'}, 2
        'PET.factors', {}, Inf
        'PET.factorsMemory', {}, Inf
        'PET.fanSums', {'crystals'}, Inf
        'PET.singles', {'sums'}, Inf
        'PET.efficiencies', {'sums', 'image'}, Inf
        'PET.randoms', {'singles'}, Inf
        'PET.randomsMemory', {}, Inf
        'PET.scatter', {'image'}, Inf
        'PET.scatterMemory', {'attenuation'}, Inf
        'PET.forwardLines', {'list'}, 2
        'PET.adjointLines', {'list'}, 2
        'PET.lineFactors', {'list'}, Inf
        'PET.lineSensitivity', {}, Inf
        'PET.lineRandoms', {'list'}, Inf
        'PET.sampleLines', {'list'}, 2
        'PET.reconstructLines', {'list'}, 5
        'PET.linesMemory', {'events'}, 1
        'PET.phantomImage', {'bodies'}, 2
        'PET.simulate', {'scan'}, 3
        'PET.expect', {'scan'}, 3
        'PET.contrastRecovery', {'image'}, 3
        'PET.noise', {'image'}, 1
        'PET.info', {}, 0
        'PET.memory', {}, 0
    };
    settings = {'setGeometry', 'setOptions', 'setOutput', 'setResponse', 'setOutliers', 'setDistortion', 'setPhase', 'setStripes', ...
                'setHalfAcquisition', 'setIterative', 'blockCrystals'}; % names and values
    for area = {'CT', 'MRI', 'PET'}
        public = setdiff(methods(['isocenter.' area{1}]), [{area{1}, 'delete', 'disp'}, settings]);
        listed = strrep(takes(strncmp(takes(:, 1), area{1}, numel(area{1})), 1), [area{1} '.'], '');
        check_true(['every method of ' area{1} ' is here'], isequal(sort(public(:)), sort(setdiff(listed(:), settings))));
    end
    for k = 1:size(takes, 1)
        [name, needed, most] = takes{k, :};
        parts = strsplit(name, '.');
        plan = plans.(parts{1});
        call = @(varargin) plan.(parts{2})(varargin{:});
        if ~isempty(needed), says(name, [needed{1} ' is missing'], @() call()); end
        if isinf(most), continue; end
        extra = num2cell(ones(1, most + 1));
        words = {sprintf('there are %d arguments; there may be at most %d: ', most + 1, most), needed{:}};
        if most == 0, words = 'there is 1 argument; there may be 0'; end
        says(name, words, @() call(extra{:}));
    end
    says('CT.reconstructStream', 'write is missing', @() ct.reconstructStream(@(first, count) 1));
    says('CT.sheppLogan', 'radius is missing', @() isocenter.CT.sheppLogan('modified'));
    says('MRI.compare', 'truth is missing', @() mri.compare(ones(4)));
    says('PET.deposit', 'time_differences is missing', @() pet.deposit(ones(3, 1), ones(3, 1)));
    says('MRI.computeWeights', 'READOUT is missing: the number of samples of a spoke, such as 512', @() mri.computeWeights('radial'));
    says('MRI.computeWeights', 'READOUT is 0; it must be at least 2', @() mri.computeWeights('radial', 0));
    says('MRI.computeWeights', 'READOUT, the samples of a spoke, is 3; it must be at least 2 and divide', @() mri.computeWeights('radial', 3));
    says('MRI.computeWeights', 'N must not be 0; leave it out, or say [], for the default', @() mri.computeWeights('iterative', 0));
    says('MRI.computeWeights', 'N is -1; it must be at least 1', @() mri.computeWeights('iterative', -1));
end

function forgotten_dimensions()
    a = (0:17) * pi / 18;
    p = ones(16, 4, 18, 'single');
    ct = isocenter.CT('Angles', a, 'Bins', 16);
    says('CT.reconstruct', 'make the plan with ''Rows'', 4', @() ct.reconstruct(p));
    says('CT.reconstruct', 'write permute(projections, [1 3 2]) and make the plan with ''Rows'', 4', @() ct.reconstruct(permute(p, [1 3 2])));
    mri = isocenter.MRI(rand(2, 100) - 0.5, 'Size', [16 12], 'Unit', 'cycles_per_voxel');
    s = complex(ones(100, 8));
    says('MRI.reconstruct', 'samples is 100 x 8; it must be 100 x 1 (samples): make the plan with ''Coils'', 8', @() mri.reconstruct(s));
    says('MRI.gridding', 'write samples.'' and make the plan with ''Coils'', 8', @() mri.gridding(s.'));
    says('MRI.adjoint', 'write reshape(samples, 100, 8) and make the plan with ''Coils'', 8', @() mri.adjoint(reshape(s, 10, 10, 8)));
    says('MRI.setMaps', 'make the plan with ''Coils'', 8', @() mri.setMaps(ones(16, 12, 8)));
    says('MRI.forward', 'make the plan with ''Coils'', 8', @() mri.forward(ones(16, 12, 8)));
    sixteen = isocenter.MRI(rand(2, 100) - 0.5, 'Size', [16 12], 'Unit', 'cycles_per_voxel', 'Coils', 16);
    says('MRI.gridding', 'it must be 100 x 16 (samples x coils): make the plan with ''Coils'', 8', @() sixteen.gridding(s));
    says('MRI.gridding', 'write samples.'' and make the plan with ''Coils'', 8', @() sixteen.gridding(s.'));
    says('MRI.gridding', 'write reshape(samples, 100, 8) and make the plan with ''Coils'', 8', @() sixteen.gridding(reshape(s, 10, 10, 8)));
    says('MRI.setMaps', 'make the plan with ''Coils'', 8', @() sixteen.setMaps(ones(16, 12, 8)));
    ends('(samples x coils)', @() sixteen.gridding(complex(ones(200, 16))));
    ends('(nx x ny x coils)', @() sixteen.setMaps(ones(18, 12, 16)));
    one = isocenter.CT('Angles', 18, 'Bins', 16);
    says('CT.reconstruct', '16 x 1 (bins x views): Angles has 1 value; it must have one a view', @() one.reconstruct(ones(16, 18, 'single')));
    says('MRI.setGeometry', 'of a volume, Size [16 12 8], it must be 3 x samples', ...
         @() isocenter.MRI([0; 0], 'Size', [16 12 8], 'Unit', 'cycles_per_voxel'));
    says('CT.setGeometry', 'Angles is missing', @() isocenter.CT('Bins', 16));
    says('CT.setGeometry', 'Bins is missing', @() isocenter.CT('Angles', a));
    says('MRI.setGeometry', 'Unit is missing: ''cycles_per_voxel'', ''cycles_per_field_of_view'' or ''radians_per_voxel''', ...
         @() isocenter.MRI([0; 0], 'Size', [4 4]));
    says('MRI.setGeometry', 'trajectory is missing', @() isocenter.MRI('Size', [4 4], 'Unit', 'cycles_per_voxel'));
    says('PET.setGeometry', 'MaxTilt is missing', @() isocenter.PET('Size', [12 10 4], 'Voxel', 8, 'Azimuths', 3));
    says('PET.setGeometry', 'Azimuths is missing', @() isocenter.PET('Size', [12 10 4], 'Voxel', 8, 'MaxTilt', 0.2));
    says('MRI.setField', 'times is missing', @() mri.setField(ones(16, 12)));
end

function classes_and_names()
    a = (0:17) * pi / 18;
    ct = isocenter.CT('Angles', a, 'Bins', 16);
    p = ones(16, 18);
    says('CT.reconstruct', 'write single(projections)', @() ct.reconstruct(p));
    for class = {'int8', 'int16', 'int32', 'uint32', 'uint64'} % which uint16 would cut off
        says('CT.reconstruct', ['of class ' class{1} '; it must be single or uint8 or uint16: write single(projections), ' ...
                                'with ct.setOptions(''Input'', ''counts'')'], @() ct.reconstruct(cast(p, class{1})));
    end
    says('CT.backproject', 'of class uint16; it must be single: write single(projections)', @() ct.backproject(uint16(p)));
    says('CT.setFlatField', 'write single(flats), with ct.setOptions(''Input'', ''counts'')', @() ct.setFlatField(int16(p(:, 1))));
    says('CT.reconstruct', {'projections are uint16 counts', 'setFlatField'}, @() ct.reconstruct(uint16(p)));
    frames(ct, single(p));
    pet = isocenter.PET('Size', [12 10 4], 'Voxel', 8, 'Azimuths', 3, 'MaxTilt', 0.2);
    says('PET.adjoint', 'write uint32(histo_images)', @() pet.adjoint(uint16(ones(12, 10, 4, 3))));
    says('PET.adjoint', 'write single(histo_images)', @() pet.adjoint(int32(ones(12, 10, 4, 3))));
    says('CT.setGeometry', 'such as ''Angles''', @() isocenter.CT(a, 16));
    says('CT.setGeometry', {'no ''Angle''', 'Angles, Bins'}, @() isocenter.CT('Angle', a, 'Bins', 16));
    says('CT.setGeometry', {'no ''bin_pitch''', 'BinPitch'}, @() isocenter.CT('Angles', a, 'Bins', 16, 'bin_pitch', 2));
    says('CT.setOptions', {'Filter is ''shepp-logan''', '''shepp_logan'''}, @() ct.setOptions('Filter', 'shepp-logan'));
    says('CT.setOptions', 'Filter is ''Hann''', @() ct.setOptions('Filter', 'Hann'));
    says('MRI.setGeometry', '''cycles_per_field_of_view''', @() isocenter.MRI([0; 0], 'Size', [4 4], 'Unit', 'cycles-per-fov'));
    says('CT.sheppLogan', 'kind must be one of', @() isocenter.CT.sheppLogan(100, 'modified'));
    says('Context', {'Device is ''cuda''', '''gpu'''}, @() isocenter.Context('Device', 'cuda'));
    says('Context', 'Gpus is given, but Device is ''auto''; it must be ''gpu''', @() isocenter.Context('Gpus', 0));
    says('PET.simulate', {'Shape is ''sphere''', '''ellipsoid'''}, @() pet.simulate(struct('Bodies', struct('Shape', 'sphere')), 10));
end

function frames(ct, p)
    flats = ones(16, 1, 5, 'single');
    says('CT.setFlatField', 'argument 1 of the options must be a name, such as ''Combine''', @() ct.setFlatField(flats, flats, 3));
    says('CT.setFlatField', 'flats are missing, and options are given', @() ct.setFlatField('Combine', 'median'));
    groups = @(frames, positions, varargin) ct.setFlatField(flats, 'GroupFrames', frames, 'GroupPositions', positions, varargin{:});
    says('CT.setFlatField', 'GroupFrames add up to 4; flats has 5 frames', @() groups([2 2], [0 18]));
    says('CT.setFlatField', 'GroupPositions(2) is 18 after 18: two groups at one place', @() groups([2 3], [18 18]));
    says('CT.setFlatField', 'GroupPositions(1) is 19, outside the scan', @() groups(5, 19));
    says('CT.setFlatField', 'GroupPositions has 1 values, GroupFrames 2; a group has one of each', @() groups([2 3], 0));
    says('CT.setFlatField', 'GroupPositions is []', @() groups([2 3], []));
    says('CT.setFlatField', 'GroupFrames is []', @() groups([], [0 18]));
    says('CT.setFlatField', 'GroupFrames', @() groups([2.5 2.5], [0 18]));
    says('CT.setFlatField', 'GroupFrames(1) is 0; it must be 1 to', @() groups([0 5], [0 18]));
    says('CT.setFlatField', 'Monitor is [] with GroupMonitor', @() groups([2 3], [0 18], 'GroupMonitor', [1 2]));
    says('CT.setFlatField', 'GroupMonitor(2) is -2; it must be above 0', @() groups([2 3], [0 18], 'GroupMonitor', [1 -2], 'Monitor', ones(1, 18)));
    says('CT.setFlatField', 'Monitor has 17 values; it must have one a view, 18', @() ct.setFlatField(flats, 'Monitor', ones(1, 17)));
    says('CT.setFlatField', 'BadPixels is 0.5; it must be 1 to 1e6', @() ct.setFlatField(flats, [], 'BadPixels', 0.5));
    says('CT.setDistortion', 'XCentre is missing: Radial needs the bin and row of its centre', @() ct.setDistortion('Radial', 1));
    says('CT.setDistortion', 'YCentre is missing', @() ct.setDistortion('Radial', 1, 'XCentre', 8));
    says('CT.setDistortion', 'XCentre', @() ct.setDistortion('Radial', 1, 'XCentre', [8 1]));
    says('CT.setDistortion', 'YCentre is NaN; it must be finite', @() ct.setDistortion('Radial', 1, 'XCentre', 8, 'YCentre', NaN));
    says('CT.setDistortion', 'Radial has 11 values; it must have 0 to 10', @() ct.setDistortion('Radial', ones(1, 11), 'XCentre', 8, 'YCentre', 1));
    says('CT.setDistortion', 'Radial(2) is inf; it must be finite', @() ct.setDistortion('Radial', [1 Inf], 'XCentre', 8, 'YCentre', 1));
    says('CT.setDistortion', {'distortion moves pixels by up to', 'are centre, coefficients and shifts of this detector, in pixels?'}, ...
         @() ct.setDistortion('Radial', [1 100], 'XCentre', 8, 'YCentre', 1));
    says('CT.setDistortion', 'Perspective has 9 values; it must have 8, as discorpy gives them', @() ct.setDistortion('Perspective', eye(3)(:)));
    says('CT.setDistortion', 'Perspective(8) is NaN', @() ct.setDistortion('Perspective', [1 0 0 0 1 0 0 NaN]));
    says('CT.setDistortion', 'Tilt is 2; it must be within 0.5 bins a row: it is the tangent of an angle, not degrees', @() ct.setDistortion('Tilt', 2));
    says('CT.setDistortion', 'XShifts has 18 values, YShifts 17; a view has one of each', @() ct.setDistortion('XShifts', ones(1, 18), 'YShifts', ones(1, 17)));
    says('CT.setDistortion', 'YShifts(18) is NaN', @() ct.setDistortion('YShifts', [ones(1, 17) NaN]));
    says('CT.setDistortion', 'XShifts and YShifts are of 17 views; there must be one value a view, 18', @() ct.setDistortion('XShifts', ones(1, 17)));
    says('CT.setPhase', 'EnergyKev is 0; it must be 1 to 1000', @() ct.setPhase());
    says('CT.setPhase', 'is the pixel in millimetres or metres?', ...
         @() ct.setPhase('EnergyKev', 20, 'DistanceMm', 100, 'PixelUm', 1e-6, 'DeltaBeta', 100));
    says('CT.setPhase', 'EnergyKev is 20 with LengthUm 30; it must be 0 then', @() ct.setPhase('EnergyKev', 20, 'PixelUm', 1, 'LengthUm', 30));
    says('CT.setPhase', 'LengthUm is 30; with Method ''ctf'' it must be 0', @() ct.setPhase('Method', 'ctf', 'PixelUm', 1, 'LengthUm', 30));
    says('CT.setPhase', 'UnsharpSigma is 1 and UnsharpAmount 0', @() ct.setPhase('LengthUm', 3, 'PixelUm', 1, 'UnsharpSigma', 1));
    says('CT.setPhase', 'Alpha must not be 0; leave it out, or say []', @() ct.setPhase('LengthUm', 3, 'PixelUm', 1, 'Alpha', 0));
    ct.setPhase('LengthUm', 3, 'PixelUm', 1);
    says('CT.reconstruct', 'setPhase is for counts and transmissions; turn it off, or set Input to ''counts'' or ''transmission''', ...
         @() ct.reconstruct(p));
    ct.setPhase([]);
    says('CT.setFlatField', 'Window is 4; it must be 3 or 5', @() ct.setFlatField(flats, 'Outliers', struct('Window', 4)));
    says('CT.setFlatField', 'the outliers must be a struct, not of class', @() ct.setFlatField(flats, 'Outliers', true));
    says('CT.setOutliers', 'Depth is 2; it must be 1 or 3 views', @() ct.setOutliers('Depth', 2));
    says('CT.setOutliers', 'Threshold is 0; with Unit ''count'' it must be a number of counts', @() ct.setOutliers('Unit', 'count'));
    says('CT.setOutliers', 'Window must not be 0; leave it out, or say []', @() ct.setOutliers('Window', 0));
    ct.setOutliers();
    says('CT.reconstruct', 'setOutliers is for counts and transmissions; turn it off, or set Input to ''counts'' or ''transmission''', ...
         @() ct.reconstruct(p));
    ct.setOutliers([]);
end

function values_and_order_of_calls()
    a = (0:17) * pi / 18;
    ct = isocenter.CT('Angles', a, 'Bins', 16);
    says('CT.setGeometry', 'Bins is -1', @() isocenter.CT('Angles', a, 'Bins', -1));
    says('CT.setGeometry', 'Rows is -1; it must be 1 to', @() isocenter.CT('Angles', a, 'Bins', 16, 'Rows', -1));
    says('Context', 'Threads is 5000; it must be at most 4096 ([] takes one per processor)', @() isocenter.Context('Threads', 5000));
    says('CT.setGeometry', 'BinPitch is -1', @() isocenter.CT('Angles', a, 'Bins', 16, 'BinPitch', -1));
    says('CT.setGeometry', 'PixelSize / BinPitch is', @() isocenter.CT('Angles', a, 'Bins', 16, 'PixelSize', 1e9));
    says('CT.setGeometry', 'Axis has 2 values', @() isocenter.CT('Angles', a, 'Bins', 16, 'Axis', [3 4]));
    says('CT.setGeometry', 'Angles(3) is NaN', @() isocenter.CT('Angles', [0 1 NaN], 'Bins', 16));
    says('CT.setGeometry', 'Size(1) is 2000000', @() isocenter.CT('Angles', a, 'Bins', 16, 'Size', [2e6 16]));
    says('CT.setOptions', 'ButterworthOrder is 100', @() ct.setOptions('ButterworthOrder', 100));
    says('CT.setOptions', 'Response has 0 values', @() ct.setOptions('Filter', 'custom'));
    says('CT.reconstruct', {'projections(2, 3) is NaN', 'isocenter.Context(''NanPolicy'', ''replace'')'}, ...
         @() ct.reconstruct(subsasgn(ones(16, 18, 'single'), struct('type', '()', 'subs', {{2, 3}}), NaN)));
    capped = isocenter.CT(isocenter.Context('Device', 'cpu', 'MemoryCap', 1000), 'Angles', a, 'Bins', 16);
    says('CT.reconstruct', 'the context''s MemoryCap is 1000 bytes', @() capped.reconstruct(ones(16, 18, 'single')));
    says('CT.reconstruct', 'call setGeometry first', @() isocenter.CT().reconstruct(1));
    k = 6 * (rand(2, 100) - 0.5);
    says('MRI.setGeometry', 'would fit ''cycles_per_field_of_view'' or ''radians_per_voxel''', ...
         @() isocenter.MRI(k, 'Size', [16 12], 'Unit', 'cycles_per_voxel'));
    mri = isocenter.MRI(k, 'Size', [16 12], 'Unit', 'cycles_per_field_of_view');
    says('MRI.setOptions', 'Iterations is -1; it must be 1 to', @() mri.setOptions('Iterations', -1));
    says('MRI.setOptions', 'Tolerance is -1; it must be above 0', @() mri.setOptions('Tolerance', -1));
    mri.setOptions('Penalty', 'matrix', 'Lambda', 1);
    says('MRI.reconstruct', 'Penalty is ''matrix''; setMatrix comes first', @() mri.reconstruct(ones(100, 1)));
    mri.setPositions(ones(2, 16, 12));
    mri.setOptions('Method', 'nufft');
    says('MRI.forward', 'Method must be ''auto'' or ''exact''', @() mri.forward(ones(16, 12)));
    mri.setPositions([]);
    mri.setField(ones(16, 12), ones(100, 1));
    says('MRI.setField', 'decay(5, 1) is -1; it must not be negative', @() mri.setField([], ones(100, 1), -ones(16, 12) .* ((1:16).' == 5) .* ((1:12) == 1)));
    says('MRI.exportQ', 'no one Q to export', @() mri.exportQ());
    mri.setField();
    mri.setPositions(ones(2, 16, 12));
    mri.setOptions('Normal', 'toeplitz');
    says('MRI.normal', 'Normal cannot be ''toeplitz''', @() mri.normal(ones(16, 12)));
    pet = isocenter.PET('Size', [12 10 4], 'Voxel', 8, 'Azimuths', 3, 'MaxTilt', 0.2);
    says('PET.adjoint', {'view 1 has no response', 'setResponse or setTables comes first'}, @() pet.adjoint(ones(12, 10, 4, 3, 'single')));
    says('PET.setResponse', 'RadialFwhm is 0', @() pet.setResponse('TofFwhm', 120, 'AxialFwhm', 9));
    says('PET.setResponse', 'RadialTable(1, 2) is 5 mm after 100 mm', ...
         @() pet.setResponse('TofFwhm', 120, 'AxialFwhm', 9, 'RadialTable', [100 5; 5 3]));
    says('PET.setResponse', 'Shift is 4 sigmas; it must be 0 to CutWidth, 3', @() pet.setResponse( ...
         'TofFwhm', 120, 'RadialFwhm', 9, 'AxialFwhm', 9, 'Profile', 'asymmetric', 'Ratio', 2, 'Shift', 4, 'Share', 0.5));
    says('PET.setOrder', 'order(2) is 1, which is there already', @() pet.setOrder([1 1]));
    says('PET.setGeometry', 'Views(:, 1) and Views(:, 2) are the same direction', ...
         @() isocenter.PET('Size', [12 10 4], 'Voxel', 8, 'MaxTilt', 0.2, 'Views', zeros(2, 2)));
    says('PET.setGeometry', 'MaxTilt is 17 rad', @() isocenter.PET('Size', [12 10 4], 'Voxel', 8, 'Azimuths', 3, 'MaxTilt', 17));
    says('PET.setOptions', 'Subsets is -1; it must be at least 1', @() pet.setOptions('Subsets', -1));
    says('PET.setOptions', 'FirstIteration is -1; it must be 0 to', @() pet.setOptions('FirstIteration', -1));
    says('PET.setOptions', {'Algorithm is ''sgd''', '''bsrem'', ''svrg'''}, @() pet.setOptions('Algorithm', 'sgd'));
    says('PET.setOptions', 'StopChange is -1; it must be at least 0', @() pet.setOptions('StopChange', -1));
    says('PET.setOptions', 'StopRegionChange is NaN; it must be finite', @() pet.setOptions('StopRegionChange', NaN));
    says('PET.priorGradient', 'the plan has no prior; setPrior comes first', @() pet.priorGradient(ones(12, 10, 4, 'single')));
    says('PET.setPrior', 'Potential is ''huber''; it must be one of ''relative_difference'', ''quadratic''', @() pet.setPrior('Strength', 1, 'Potential', 'huber'));
    says('PET.setPrior', 'Strength is missing: the factor of the whole prior', @() pet.setPrior('Potential', 'quadratic'));
    says('PET.setPrior', 'there is no ''Beta'' in the prior; it has Potential, Strength', @() pet.setPrior('Beta', 1));
    says('PET.setPrior', 'Strength is -1; it must be 0 or', @() pet.setPrior('Strength', -1));
    says('PET.setPrior', 'Strength is NaN; it must be finite', @() pet.setPrior('Strength', NaN));
    says('PET.setPrior', 'Gamma must not be 0; leave it out', @() pet.setPrior('Strength', 1, 'Gamma', 0));
    says('PET.setPrior', 'Gamma is -2; it must be 1e-30 to 1e30', @() pet.setPrior('Strength', 1, 'Gamma', -2));
    says('PET.setPrior', 'Gamma is 2; it has no place where Potential is ''quadratic''', @() pet.setPrior('Strength', 1, 'Potential', 'quadratic', 'Gamma', 2));
    says('PET.setPrior', 'Edge is 3; it has no place where Potential is ''relative_difference''', @() pet.setPrior('Strength', 1, 'Edge', 3));
    says('PET.setPrior', 'AnatomySigma is 0 with an anatomical image', @() pet.setPrior('Strength', 1, 'Anatomy', ones(12, 10, 4, 'single')));
    says('PET.setPrior', 'AnatomySigma is 3 without an anatomical image', @() pet.setPrior('Strength', 1, 'AnatomySigma', 3));
    says('PET.setPrior', 'write single(Weights)', @() pet.setPrior('Strength', 1, 'Weights', ones(12, 10, 4)));
    says('PET.setPrior', {'Anatomy is 4 x 10 x 12; it must be 12 x 10 x 4 (nx x ny x nz)', 'write permute(Anatomy, [3 2 1])'}, ...
         @() pet.setPrior('Strength', 1, 'Anatomy', ones(4, 10, 12, 'single'), 'AnatomySigma', 1));
    third = @(image, value) subsasgn(image, struct('type', '()', 'subs', {{3, 2, 1}}), value);
    says('PET.setPrior', 'Weights(3, 2, 1) is -1; it must not be below 0', @() pet.setPrior('Strength', 1, 'Weights', third(ones(12, 10, 4, 'single'), -1)));
    says('PET.setRegions', 'regions is of class double; it must be uint8 or uint16 or uint32: write uint32(regions)', @() pet.setRegions(ones(12, 10, 4)));
    says('PET.setRegions', 'write uint32(regions)', @() pet.setRegions(true(12, 10, 4)));
    says('PET.setRegions', 'regions has no label above 0 in its 12 x 10 x 4 voxels', @() pet.setRegions(zeros(12, 10, 4, 'uint8')));
    says('PET.setRegions', 'regions(3, 2, 1) is 70000; labels go to 65535', @() pet.setRegions(third(zeros(12, 10, 4, 'uint32'), 70000)));
    says('PET.setRegions', 'write permute(regions, [3 2 1])', @() pet.setRegions(ones(4, 10, 12, 'uint8')));
    says('PET.simulate', 'Bodies has 0 values', @() pet.simulate(struct('Seed', 1), 10));
    says('PET.simulate', 'Bodies(1).HalfX is 0', @() pet.simulate(struct('Bodies', struct('Activity', 1)), 10));
    says('PET.factors', 'setScanner comes first', @() pet.factors(ones(1, 3)));
    says('PET.factorsMemory', 'setScanner comes first', @() pet.factorsMemory());
    says('PET.fanSums', 'setScanner comes first', @() pet.fanSums([1; 2]));
    says('PET.singles', 'setScanner comes first', @() pet.singles(uint32([1 1]), 'Duration', 1, 'Window', 2000));
    says('PET.efficiencies', 'setScanner comes first', @() pet.efficiencies([1 1], ones(12, 10, 4)));
    says('PET.randoms', 'setScanner comes first', @() pet.randoms([1 1], 'Duration', 1));
    says('PET.randomsMemory', 'setScanner comes first', @() pet.randomsMemory());
    says('PET.scatter', 'setScanner comes first', @() pet.scatter(ones(12, 10, 4), 0.01 * ones(12, 10, 4), 'TofFwhm', 300));
    says('PET.scatterMemory', 'setScanner comes first', @() pet.scatterMemory(0.01 * ones(12, 10, 4), 'TofFwhm', 300));
    pet.setScanner([400 -400; 0 0; 0 0], [-1 1; 0 0; 0 0]);
    says('PET.detect', 'CrystalWidth and CrystalHeight must be above 0', @() pet.detect([300; 0; 0], [-300; 0; 0], 0));
    pet.setScanner([400 -400; 0 0; 0 0], [-1 1; 0 0; 0 0], 'CrystalWidth', 200, 'CrystalHeight', 50);
    says('PET.detect', 'efficiencies(2) is 1.5; it must be 0 to 1', @() pet.detect([300; 0; 0], [-300; 0; 0], 0, [1 1.5]));
    says('PET.detect', 'there is no ''Sed'' in the options; it has Seed, Bins', @() pet.detect([300; 0; 0], [-300; 0; 0], 0, 'Sed', 1));
    says('PET.factors', 'efficiencies(2) is -1; it must be at least 0', @() pet.factors([1 -1]));
    says('PET.factors', {'attenuation(1, 1, 1) is -1000 /mm', 'Hounsfield units, which attenuation converts'}, @() pet.factors([], -1000 * ones(4, 3, 2)));
    says('PET.factors', 'HalfLife is 6586 beside a duration of 0', @() pet.factors('HalfLife', 6586));
    says('PET.factors', 'Delay is 60 s beside a HalfLife of 0', @() pet.factors('Duration', 600, 'Delay', 60));
    says('PET.factors', 'Branching must not be 0', @() pet.factors('Duration', 600, 'Branching', 0));
    says('PET.factors', 'Branching is 96.7; it must be above 0 and at most 1', @() pet.factors('Duration', 600, 'Branching', 96.7));
    says('PET.factors', 'Directions is 20000; it must be 1 to 16384', @() pet.factors('Directions', 20000));
    says('PET.factors', 'MapVoxel(1) is -1 mm', @() pet.factors([], ones(4, 3, 2) / 100, 'MapVoxel', -1));
    says('PET.factors', 'MapVoxel must be one number or three numbers, [x y z]', @() pet.factors('MapVoxel', [1 2]));
    says('PET.factors', 'MapCentre must be three numbers', @() pet.factors('MapCentre', 1));
    says('PET.factorsMemory', 'Directions is 20000; it must be 1 to 16384', @() pet.factorsMemory([], 'Directions', 20000));
    says('PET.factorsMemory', 'HalfLife is 6586 beside a duration of 0', @() pet.factorsMemory('HalfLife', 6586));
    says('PET.factorsMemory', 'MapVoxel(1) is -1 mm', @() pet.factorsMemory(ones(4, 3, 2) / 100, 'MapVoxel', -1));
    says('PET.factorsMemory', 'attenuation is 2 x 2 x 2 x 2; it must be nx x ny x nz', @() pet.factorsMemory(ones(2, 2, 2, 2)));
    says('PET.fanSums', 'crystals is 3 x 2; it must be 2 x events: write crystals.''', @() pet.fanSums(ones(3, 2)));
    says('PET.fanSums', 'labels is 1 x 3; it must have 2, one an event', @() pet.fanSums([1 1; 2 2], [1 1 1]));
    says('PET.fanSums', 'sums is of class double; it must be uint32', @() pet.fanSums([1; 2], [], zeros(2, 1)));
    says('PET.fanSums', 'FieldOfView is -1 mm; it must be above 0', @() pet.fanSums([1; 2], 'FieldOfView', -1));
    says('PET.fanSums', 'there is no ''Fov'' in the options; it has FieldOfView', @() pet.fanSums([1; 2], 'Fov', 100));
    says('PET.singles', 'Duration is missing', @() pet.singles(uint32([1 1])));
    says('PET.singles', 'Window is missing, and the scanner has no time bins that would tell it', @() pet.singles(uint32([1 1]), 'Duration', 60));
    says('PET.singles', 'sums is 2 x 3; it must be 2 x 1 (one a crystal): of one label, write sums(:, 1)', @() pet.singles(zeros(2, 3, 'uint32'), 'Duration', 60));
    says('PET.singles', 'sums are 0 everywhere', @() pet.singles(zeros(2, 1, 'uint32'), 'Duration', 60, 'Window', 2000));
    says('PET.randoms', 'Duration is -60 s; it must be above 0', @() pet.randoms([1 1], 'Duration', -60));
    says('PET.efficiencies', 'image is missing', @() pet.efficiencies([9 9]));
    efficiencies = @(sums, varargin) pet.efficiencies(sums, ones(12, 10, 4), varargin{:});
    says('PET.efficiencies', 'image is 4 x 10 x 12; it must be 12 x 10 x 4', @() pet.efficiencies([9 9], ones(4, 10, 12)));
    says('PET.efficiencies', 'sums(2) is -1; it must be at least 0', @() efficiencies([9 -1]));
    says('PET.efficiencies', 'sums are 0 everywhere', @() efficiencies([0 0]));
    says('PET.efficiencies', 'no efficiencies explain the sums', @() efficiencies([9 4]));
    says('PET.efficiencies', 'Window is 300 ps, of randoms, and there are no singles', @() efficiencies([9 9], 'Window', 300));
    says('PET.efficiencies', 'Duration is 0, and', @() efficiencies([9 9], 'Singles', [1 1], 'Window', 300));
    says('PET.efficiencies', 'Singles(2) is -1; it must be at least 0', @() efficiencies([9 9], 'Singles', [1 -1], 'Window', 300, 'Duration', 60));
    says('PET.efficiencies', 'there is no ''Directions'' in the options', @() efficiencies([9 9], 'Directions', 4));
    says('PET.efficiencies', 'attenuation(1, 1, 1) is -1000 /mm', @() efficiencies([9 9], -1000 * ones(4, 3, 2)));
    says('PET.randoms', 'singles(2) is -1; it must be at least 0', @() pet.randoms([1 -1], 'Duration', 60));
    says('PET.randoms', 'Directions is 20000; it must be 1 to 16384', @() pet.randoms([1 1], 'Duration', 60, 'Directions', 20000));
    says('PET.randomsMemory', 'Directions is 20000; it must be 1 to 16384', @() pet.randomsMemory('Directions', 20000));
    says('PET.randomsMemory', 'there is no ''Duration'' in the options; it has Directions', @() pet.randomsMemory('Duration', 60));
    says('PET.scatter', 'attenuation is missing', @() pet.scatter(ones(12, 10, 4)));
    says('PET.scatter', 'attenuation is empty', @() pet.scatter(ones(12, 10, 4), []));
    scatter = @(varargin) pet.scatter(ones(12, 10, 4), 0.01 * ones(12, 10, 4), varargin{:});
    says('PET.scatter', 'TofFwhm is missing, and the plan has no response that would tell it', @() scatter());
    says('PET.scatter', 'Spacing is 0.5 mm; it must be 1 to 100', @() scatter('TofFwhm', 300, 'Spacing', 0.5));
    says('PET.scatter', 'EnergyLower is 600 keV; it must be above 0 and below 511', @() scatter('TofFwhm', 300, 'EnergyLower', 600));
    says('PET.scatter', 'EnergyResolution is 11; it must be above 0 and at most 1', @() scatter('TofFwhm', 300, 'EnergyResolution', 11));
    says('PET.scatter', 'Efficiencies(2) is -1; it must be at least 0', @() scatter('TofFwhm', 300, 'Efficiencies', [1 -1]));
    says('PET.scatter', 'Measured is 12 x 10 x 4; it must be 12 x 10 x 4 x 3', @() scatter('Measured', ones(12, 10, 4, 'single')));
    says('PET.scatter', 'Randoms(3, 2, 1, 1) is -1; it must not be below 0', @() scatter('TofFwhm', 300, 'Randoms', ...
         subsasgn(zeros(12, 10, 4, 3, 'single'), struct('type', '()', 'subs', {{3, 2, 1, 1}}), -1)));
    says('PET.scatter', 'write single(Randoms)', @() scatter('Randoms', ones(12, 10, 4, 3)));
    says('PET.scatter', 'HalfLife is 6586 beside a duration of 0', @() scatter('TofFwhm', 300, 'HalfLife', 6586));
    says('PET.scatter', 'image(2, 1, 1) is -1; it must be at least 0', @() pet.scatter( ...
         subsasgn(ones(12, 10, 4), struct('type', '()', 'subs', {{2, 1, 1}}), -1), 0.01 * ones(12, 10, 4), 'TofFwhm', 300));
    says('PET.scatterMemory', 'attenuation is empty', @() pet.scatterMemory([]));
    says('PET.scatterMemory', 'nothing scatters', @() pet.scatterMemory(zeros(12, 10, 4), 'TofFwhm', 300));
    says('PET.scatterMemory', 'TofFwhm is missing, and the plan has no response that would tell it', @() pet.scatterMemory(0.01 * ones(12, 10, 4)));
    says('PET.scatterMemory', 'Spacing is 0.5 mm; it must be 1 to 100', @() pet.scatterMemory(0.01 * ones(12, 10, 4), 'TofFwhm', 300, 'Spacing', 0.5));
    mistakes_of_lists(pet);
    says('PET.simulate', 'EnergyResolution is 0 beside an energy window; it must be above 0', ...
         @() pet.simulate(struct('Bodies', struct('HalfX', 20, 'Activity', 1), 'EnergyLower', 400), 10));
    says('PET.simulate', 'Scatter is 0.1 beside an energy window', ...
         @() pet.simulate(struct('Bodies', struct('HalfX', 20, 'Activity', 1), 'EnergyResolution', 0.11, 'Scatter', 0.1), 10));
    says('PET.simulate', 'Attenuation(1, 1, 1) is -1', @() pet.simulate(struct('Bodies', struct('HalfX', 20, 'Activity', 1), 'Attenuation', -ones(4, 3, 2)), 10));
    says('PET.attenuation', 'kilovolts is 0.12; it must be 80 to 140', @() pet.attenuation(ones(4, 3, 2), 0.12));
    says('PET.attenuation', 'kilovolts is missing', @() pet.attenuation(ones(4, 3, 2)));
    says('PET.attenuation', 'write single(hounsfield)', @() pet.attenuation(int16(ones(4, 3, 2)), 120));
    says('PET.setTables', 'offsets(:, 2)', @() pet.setTables(1, ones(12, 10), zeros(3, 2), ones(2, 1, 'single')));
    pet.setResponse('TofFwhm', 120, 'RadialFwhm', 9, 'AxialFwhm', 9);
    pet.setPrior('Strength', 1);
    says('PET.priorGradient', 'image(3, 2, 1) is -1; it must not be below 0', @() pet.priorGradient(third(ones(12, 10, 4, 'single'), -1)));
    pet.setPrior([]);
    pet.setOptions('Order', 'given');
    says('PET.reconstruct', 'Order is ''given''; setOrder comes first', @() pet.reconstruct(ones(12, 10, 4, 3, 'single')));
end

% Of a plan with a scanner of two crystals, and no response.
function mistakes_of_lists(pet)
    image = ones(12, 10, 4, 'single');
    forward = @(varargin) pet.forwardLines(struct(varargin{:}), image);
    says('PET.forwardLines', 'the list must be a struct, not of class double', @() pet.forwardLines([1; 2], image));
    says('PET.forwardLines', 'the list must be one struct, not an array of 2', @() pet.forwardLines(struct('Crystals', {[1; 2], [1; 2]}), image));
    says('PET.forwardLines', 'there is no ''Crystal'' in the list; it has Crystals, Times', @() forward('Crystal', [1; 2]));
    says('PET.forwardLines', 'the list has no Crystals, nor both FirstPositions and SecondPositions', @() forward('Times', 1));
    says('PET.forwardLines', 'the list has no Crystals, nor both FirstPositions and SecondPositions', @() forward('FirstPositions', [1; 2; 3]));
    says('PET.forwardLines', 'list has crystals and positions', @() forward('Crystals', [1; 2], 'FirstPositions', [1; 2; 3]));
    says('PET.forwardLines', {'Crystals is 5 x 2; it must be 2 x events', 'write Crystals.'''}, @() forward('Crystals', ones(5, 2)));
    says('PET.forwardLines', {'FirstPositions is 5 x 3; it must be 3 x events', 'write FirstPositions.'''}, @() forward('FirstPositions', ones(5, 3), 'SecondPositions', ones(5, 3)));
    says('PET.forwardLines', 'SecondPositions is 3 x 4; it must be 3 x 5', @() forward('FirstPositions', ones(3, 5), 'SecondPositions', ones(3, 4)));
    says('PET.forwardLines', 'Times is 1 x 4; it must be 5 x 1', @() forward('FirstPositions', ones(3, 5), 'SecondPositions', ones(3, 5), 'Times', ones(1, 4)));
    says('PET.forwardLines', 'Times is of class uint8; it must be single or double', ...
         @() forward('FirstPositions', ones(3, 1), 'SecondPositions', ones(3, 1), 'Times', uint8(1)));
    says('PET.forwardLines', 'the scanner has no time bins', @() forward('Crystals', [1; 2], 'Times', uint8(1)));
    says('PET.forwardLines', 'FirstEvent is 0; it counts from 1', @() forward('Crystals', [1; 2], 'FirstEvent', 0));
    says('PET.forwardLines', 'the plan has no response that tells how exact they are; setResponse comes first', @() forward('Crystals', [1; 2], 'Times', 10));
    says('PET.forwardLines', 'TofFwhm is of times, and Times is []', @() forward('Crystals', [1; 2], 'TofFwhm', 100));
    says('PET.forwardLines', 'TofFwhm(2) is 0 ps; it must be above 0', @() forward('Crystals', [1 1; 2 2], 'Times', [0 0], 'TofFwhm', [100 0]));
    says('PET.forwardLines', 'image is missing', @() pet.forwardLines(struct('Crystals', [1; 2])));
    says('PET.forwardLines', 'write single(image)', @() pet.forwardLines(struct('Crystals', [1; 2]), double(image)));
    list = struct('Crystals', [1 1; 2 2]);
    says('PET.adjointLines', 'values is 1 x 3; it must be 2 x 1 (one an event)', @() pet.adjointLines(list, ones(1, 3, 'single')));
    says('PET.lineFactors', 'efficiencies(2) is below 0; it must be at least 0', @() pet.lineFactors(list, [1 -1]));
    says('PET.lineFactors', 'the list has positions alone: give Crystals', @() pet.lineFactors(struct('FirstPositions', [1; 2; 3], 'SecondPositions', [3; 2; 1]), [1 1]));
    says('PET.lineFactors', 'HalfLife is 6586 beside a duration of 0', @() pet.lineFactors(list, 'HalfLife', 6586));
    says('PET.lineFactors', {'attenuation(1, 1, 1) is -1000 /mm', 'Hounsfield units, which attenuation converts'}, @() pet.lineFactors(list, [], -1000 * ones(4, 3, 2)));
    says('PET.lineSensitivity', 'Directions is 20000; it must be 1 to 16384', @() pet.lineSensitivity('Directions', 20000));
    says('PET.lineRandoms', 'singles is missing', @() pet.lineRandoms(list));
    says('PET.lineRandoms', 'Duration is missing', @() pet.lineRandoms(list, [1 1]));
    says('PET.lineRandoms', 'Window is missing, and the scanner has no time bins that would tell it', @() pet.lineRandoms(list, [1 1], 'Duration', 60));
    says('PET.lineRandoms', 'singles(2) is -1; it must be at least 0', @() pet.lineRandoms(list, [1 -1], 'Duration', 60, 'Window', 1000));
    says('PET.lineRandoms', 'there is no ''Directions'' in the options; it has Duration, Window', @() pet.lineRandoms(list, [1 1], 'Duration', 60, 'Directions', 4));
    says('PET.sampleLines', 'histo_images is 12 x 10 x 4; it must be 12 x 10 x 4 x 3', @() pet.sampleLines(list, image));
    says('PET.reconstructLines', {'Algorithm is ''ramla'', which goes view by view', 'take ''osem'', ''mlem'', ''bsrem'' or ''svrg'''}, @() pet.reconstructLines(list, image));
    pet.setOptions('Algorithm', 'mlem', 'Order', 'given');
    says('PET.reconstructLines', {'Order is ''given''', 'take ''geometric'' or ''random'''}, @() pet.reconstructLines(list, image));
    pet.setOptions('Algorithm', 'mlem');
    says('PET.reconstructLines', 'sensitivity is missing', @() pet.reconstructLines(list));
    says('PET.reconstructLines', 'factors(2) is -1; it must not be below 0', @() pet.reconstructLines(list, image, single([1 -1])));
    says('PET.reconstructLines', 'additive is 1 x 3; it must be 2 x 1', @() pet.reconstructLines(list, image, [], ones(1, 3, 'single')));
    says('PET.reconstructLines', 'initial(1, 1, 1) is -1', @() pet.reconstructLines(list, image, [], [], -image));
    says('PET.linesMemory', 'events is 0; it must be at least 1', @() pet.linesMemory(0));
    pet.setOptions();
end

function warnings_name_the_method()
    before = warning('on', 'isocenter:log');
    lastwarn('');
    evalc('isocenter.CT(''Angles'', 0:179, ''Bins'', 16);');
    warning(before);
    [text, identifier] = lastwarn();
    check_true(['a warning: ' text], strncmp(text, 'CT.setGeometry: ', 16) && strcmp(identifier, 'isocenter:log'));
    before = warning('on', 'isocenter:log');
    lastwarn('');
    evalc('isocenter.CT(''Angles'', (0:17) * pi / 18, ''Bins'', 16, ''Axis'', 400.5);');
    text = lastwarn();
    warning(before);
    words = {'Axis is 400.5', 'bins are 1 to 16', '(Bins + 1) / 2 = 8.5'};
    for k = 1:numel(words)
        check_true(['an axis beside the detector, counted from 1: ' text], ~isempty(strfind(text, words{k})));
    end
end

% What a plan shows of itself without a calculation.
function shown()
    c = isocenter.Context('Device', 'cpu');
    ct = isocenter.CT(c, 'Angles', [0 1], 'Bins', 8, 'Rows', 3);
    lines = {
        c, 'isocenter.Context: device cpu'
        ct, 'isocenter.CT: projections 8 x 3 x 2 (bins x rows x views), volume 8 x 8 x 3 (nx x ny x slices), device cpu'
        isocenter.MRI(c, [0 0; 0 0], 'Size', [8 6], 'Unit', 'cycles_per_voxel', 'Coils', 2), ...
            'isocenter.MRI: samples 2 x 2 (samples x coils), image 8 x 6 x 2 (nx x ny x coils), single precision, no maps, device cpu'
        isocenter.PET(c, 'Size', [12 10 4], 'Voxel', 8, 'Azimuths', 3, 'MaxTilt', 0.2), ...
            'isocenter.PET: histo_images 12 x 10 x 4 x 3 (nx x ny x nz x views), image 12 x 10 x 4 (nx x ny x nz), device cpu'
        isocenter.CT(), 'isocenter.CT: no geometry'
    };
    for k = 1:size(lines, 1)
        one = lines{k, 1};
        check_true(['shows ' lines{k, 2} ': ' evalc('one')], ~isempty(strfind(evalc('one'), lines{k, 2})));
    end
    other = ct;
    delete(ct);
    check_true('shows that it has been freed', ~isempty(strfind(evalc('disp(other)'), 'isocenter.CT: has been freed')));
end
