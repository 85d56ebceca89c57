% What MATLAB users get wrong: an error each, with its identifier and what to do; and the plan works afterwards.
function test_bad_input()
    settings_of_ct();
    arrays_of_ct();
    mri();
    pet();
    contexts();
    handles();
    gateway();
end

function settings_of_ct()
    ct = isocenter.CT();
    a = (0:9) * 0.3;
    early = @(f) check_error('before setGeometry', 'ct:notConfigured', 'setGeometry', f);
    early(@() ct.reconstruct(zeros(8, 10, 'single')));
    early(@() ct.info());
    bad = @(name, kind, words, varargin) check_error(name, ['ct:' kind], words, @() ct.setGeometry(varargin{:}));
    bad('no angles', 'invalidGeometry', 'Angles', 'Bins', 8);
    bad('empty angles', 'invalidGeometry', 'Angles', 'Bins', 8, 'Angles', []);
    bad('no bins', 'invalidGeometry', 'Bins is missing', 'Angles', a);
    bad('bins below 0', 'invalidGeometry', 'Bins is -1', 'Angles', a, 'Bins', -1);
    bad('half a bin', 'invalidGeometry', 'Bins must be a whole number, not 7.5', 'Angles', a, 'Bins', 7.5);
    bad('NaN bins', 'invalidGeometry', 'whole number', 'Angles', a, 'Bins', NaN);
    bad('infinite bins', 'invalidGeometry', 'whole number', 'Angles', a, 'Bins', Inf);
    bad('huge bins', 'invalidGeometry', '1048576', 'Angles', a, 'Bins', 1e15);
    bad('text for a number', 'invalidGeometry', {'Bins', 'char'}, 'Angles', a, 'Bins', '8');
    bad('a cell for a number', 'invalidGeometry', {'Bins', 'cell'}, 'Angles', a, 'Bins', {8});
    bad('two numbers', 'invalidGeometry', {'Bins', 'one number, not 2'}, 'Angles', a, 'Bins', [8 9]);
    bad('complex angles', 'invalidGeometry', {'Angles', 'complex'}, 'Angles', a + 1i, 'Bins', 8);
    bad('sparse angles', 'invalidGeometry', 'full(', 'Angles', sparse(a), 'Bins', 8);
    bad('NaN angle', 'invalidGeometry', 'Angles(3) is NaN', 'Angles', [0 1 NaN], 'Bins', 8);
    bad('degrees beyond all sense', 'invalidGeometry', 'radians', 'Angles', [0 1e9], 'Bins', 8);
    bad('unknown name', 'unknownOption', {'''Bin''', 'Bins'}, 'Angles', a, 'Bin', 8);
    bad('unknown field', 'unknownOption', 'angle', struct('angle', a, 'Bins', 8));
    bad('no value', 'invalidGeometry', 'has no value', 'Angles', a, 'Bins');
    bad('a number for a name', 'invalidGeometry', 'a name, such as ''Angles'', or a struct', a, 8);
    bad('several structs', 'invalidGeometry', 'one struct', struct('Bins', {8, 9}));
    bad('0 rows', 'invalidGeometry', 'Rows must not be 0', 'Angles', a, 'Bins', 8, 'Rows', 0);
    bad('row 0', 'invalidGeometry', 'counts from 1', 'Angles', a, 'Bins', 8, 'FirstRow', 0);
    bad('unknown order', 'invalidGeometry', {'sinogram', '''frames'', ''sinograms'''}, 'Angles', a, 'Bins', 8, 'Order', 'sinogram');
    bad('axes', 'invalidGeometry', 'Axis has 2 values', 'Angles', a, 'Bins', 8, 'Axis', [3 4]);
    bad('size', 'invalidGeometry', '[nx ny]', 'Angles', a, 'Bins', 8, 'Size', 8);
    bad('half a pixel', 'invalidGeometry', 'Size must be a whole number, not 8.5', 'Angles', a, 'Bins', 8, 'Size', [8.5 8]);
    bad('text for a size', 'invalidGeometry', {'Size', 'char'}, 'Angles', a, 'Bins', 8, 'Size', '8x8');
    bad('size 0', 'invalidGeometry', '[nx ny]', 'Angles', a, 'Bins', 8, 'Size', [8 0]);
    bad('a row too far', 'invalidGeometry', 'FirstRow is 5; it must be 1 to 4', 'Angles', a, 'Bins', 8, 'Rows', 4, 'FirstRow', 5);
    bad('too many slices', 'invalidGeometry', 'Slices is 4; there are 3 rows', 'Angles', a, 'Bins', 8, 'Rows', 4, 'FirstRow', 2, 'Slices', 4);
    bad('rows below 0', 'invalidGeometry', 'Rows is -4', 'Angles', a, 'Bins', 8, 'Rows', -4);
    bad('pitch', 'invalidGeometry', 'BinPitch', 'Angles', a, 'Bins', 8, 'BinPitch', -1);
    region = @(name, words, value) bad(name, 'invalidGeometry', words, 'Angles', a, 'Bins', 8, 'Size', [8 9], 'Region', value);
    region('column 0', 'columns 0 to 3; they must ascend, from 1 to 8', [0 3 1 2]);
    region('a column too far', 'columns 1 to 9; they must ascend, from 1 to 8', [1 9 1 2]);
    region('a row too far', 'rows 2 to 10; they must ascend, from 1 to 9', [1 8 2 10]);
    region('rows that descend', 'rows 3 to 2', [1 8 3 2]);
    region('three numbers', 'four numbers, [c0 c1 r0 r1], not 3', [1 8 2]);
    region('half a column', 'Region must be a whole number, not 1.5', [1.5 8 1 2]);
    region('text for a region', {'Region', 'char'}, 'all');
    ct.setGeometry('Angles', a, 'Bins', 8);
    option = @(name, kind, words, varargin) check_error(name, ['ct:' kind], words, @() ct.setOptions(varargin{:}));
    option('unknown option', 'unknownOption', {'Filtre', 'Filter'}, 'Filtre', 'hann');
    option('unknown filter', 'invalidOptions', {'han', '''hann'''}, 'Filter', 'han');
    option('a number for a filter', 'invalidOptions', {'Filter', 'double'}, 'Filter', 3);
    option('cutoff', 'invalidOptions', 'Cutoff is 2', 'Cutoff', 2);
    option('cutoff 0', 'invalidOptions', 'Cutoff must not be 0', 'Cutoff', 0);
    option('several filters', 'invalidOptions', {'Filter', 'one text, not 2'}, 'Filter', ['hann'; 'none']);
    option('several names', 'invalidArgument', 'one text, not 2', ['Filter'; 'Cutoff'], 'hann');
    option('no response', 'invalidOptions', 'Response has 0 values', 'Filter', 'custom');
    option('text for true', 'invalidOptions', 'true or false', 'WeightedBackprojection', 'yes');
    option('tolerance', 'invalidOptions', 'Tolerance is 0.1; it must be 1e-6 to 0.01', 'Interpolation', 'band_limited', 'Tolerance', 0.1);
    option('projector', 'invalidOptions', {'siddon', '''joseph'', ''band_limited'''}, 'Projector', 'siddon');
    option('tolerance small', 'invalidOptions', 'Tolerance is 1e-7', 'Tolerance', 1e-7);
    option('tolerance negative', 'invalidOptions', 'Tolerance is -1', 'Tolerance', -1);
    option('tolerance 0', 'invalidOptions', 'Tolerance must not be 0', 'Tolerance', 0);
    option('tolerance NaN', 'invalidOptions', 'Tolerance is NaN', 'Tolerance', NaN);
    option('kernel', 'invalidOptions', 'Kernel is ''alu''; it must be ''auto'' where Interpolation is ''band_limited''', ...
           'Interpolation', 'band_limited', 'Kernel', 'alu');
    check_error('phantom', 'ct:invalidArgument', 'modified', @() isocenter.CT.sheppLogan('modern', 3));
    check_error('radius', 'ct:invalidArgument', 'radius', @() isocenter.CT.sheppLogan('modified', 'big'));
    check_error('ellipses', 'ct:invalidArgument', 'struct', @() ct.phantomVolume([1 2 3]));
    check_error('ellipses'' fields', 'ct:unknownOption', 'Radius', @() ct.phantomVolume(struct('Radius', 3)));
    check_error('ellipses'' sizes', 'ct:invalidArgument', 'ellipses(1)', @() ct.phantomVolume(struct('Value', 1)));
end

function arrays_of_ct()
    ct = isocenter.CT('Angles', (0:9) * 0.3, 'Bins', 8, 'Rows', 3);
    p = ones(8, 3, 10, 'single');
    good = ct.reconstruct(p);
    bad = @(name, kind, words, value) check_error(name, ['ct:' kind], words, @() ct.reconstruct(value));
    bad('double', 'arrayType', {'CT.reconstruct: projections', 'double', 'single(projections)'}, double(p));
    bad('integers', 'arrayType', 'int16', int16(p));
    bad('logical', 'arrayType', 'logical', p > 0);
    bad('text', 'arrayType', 'char', 'projections');
    bad('a cell', 'arrayType', 'cell', {p});
    bad('a struct', 'arrayType', 'struct', struct('p', p));
    bad('a function', 'arrayType', 'function_handle', @sin);
    bad('complex', 'arrayType', 'complex', complex(p, p));
    bad('sparse', 'arrayType', 'sparse', sparse(double(p(:, :, 1))));
    bad('empty', 'arrayShape', {'0 x 0', '8 x 3 x 10', 'bins x rows x views'}, zeros(0, 0, 'single'));
    bad('empty along one dimension', 'arrayShape', '8 x 0 x 10', zeros(8, 0, 10, 'single'));
    bad('a scalar', 'arrayShape', '1 x 1', single(1));
    bad('transposed', 'arrayShape', {'10 x 3 x 8', 'permute(projections, [3 2 1])'}, permute(p, [3 2 1]));
    bad('sinograms for frames', 'arrayShape', {'permute(projections, [1 3 2])', '''Order'', ''sinograms'''}, permute(p, [1 3 2]));
    bad('a view less', 'arrayShape', '8 x 3 x 9', p(:, :, 1:9));
    bad('a dimension more', 'arrayShape', '8 x 3 x 10 x 2', ones(8, 3, 10, 2, 'single'));
    bad('as a vector', 'arrayShape', '240 x 1', p(:));
    bad('raw counts without a flat field', 'flatField', 'flat', uint16(p));
    q = p; q(5, 2, 7) = NaN;
    bad('NaN', 'notFiniteData', 'projections(5, 2, 7) is NaN', q);
    q = p; q(8, 3, 10) = -Inf;
    bad('Inf', 'notFiniteData', 'projections(8, 3, 10) is -inf', q);
    check_error('no argument', 'ct:invalidArgument', 'missing', @() isocenter_mex('ct.reconstruct', ct.id));
    check_error('too many arguments', 'ct:invalidArgument', 'at most 2', @() isocenter_mex('ct.reconstruct', ct.id, p, p, p));
    check_error('forward', 'ct:arrayShape', 'nx x ny x slices', @() ct.forward(p));
    check_error('flats', 'ct:arrayShape', 'bins x rows', @() ct.setFlatField(ones(3, 8, 'single')));
    check_error('flats of double', 'ct:arrayType', 'flats', @() ct.setFlatField(ones(8, 3)));
    check_error('flats below darks', 'ct:flatField', 'flat', @() ct.setFlatField(ones(8, 3, 'single'), 2 * ones(8, 3, 'single')));
    ct.setFlatField(uint16(8 * ones(8, 3)));
    counted = ct.reconstruct(uint16(p));
    for flats = {[], zeros(8, 3, 0, 'uint16')}
        check_error('darks alone', 'ct:invalidArgument', {'flats are missing', 'darks'}, ...
                    @() ct.setFlatField(flats{1}, ones(8, 3, 'uint16')));
    end
    check_true('the flat field stays', isequal(ct.reconstruct(uint16(p)), counted));
    ct.setFlatField([], []);
    check_true('the plan works afterwards', isequal(ct.reconstruct(p), good));
    check_true('whatever was written to', isequal(p, ones(8, 3, 10, 'single')));
    one = isocenter.CT('Angles', 0.1, 'Bins', 8);
    check_error('one view', 'ct:tooFewViews', 'Angles', @() one.reconstruct(ones(8, 1, 'single')));
    capped = isocenter.CT(isocenter.Context('Device', 'cpu', 'MemoryCap', 1000), 'Angles', (0:9) * 0.3, 'Bins', 64);
    check_error('a cap too small', 'ct:memoryCap', 'MemoryCap', @() capped.reconstruct(ones(64, 10, 'single')));
end

function mri()
    k = [0.1 0.2 -0.3; 0 0.4 0.1];
    bad = @(name, kind, words, varargin) check_error(name, ['mri:' kind], words, @() isocenter.MRI(varargin{:}));
    bad('no trajectory', 'invalidGeometry', 'trajectory is missing', 'Size', [8 8], 'Unit', 'cycles_per_voxel');
    bad('no unit', 'invalidGeometry', {'Unit', 'cycles_per_voxel'}, k, 'Size', [8 8]);
    bad('no size', 'invalidGeometry', 'Size', k, 'Unit', 'cycles_per_voxel');
    bad('size', 'invalidGeometry', '[nx ny nz]', k, 'Size', 8, 'Unit', 'cycles_per_voxel');
    bad('a cell for a size', 'invalidGeometry', {'Size', 'cell'}, k, 'Size', {8, 8}, 'Unit', 'cycles_per_voxel');
    bad('half a voxel', 'invalidGeometry', 'whole number, not 8.5', k, 'Size', [8 8.5], 'Unit', 'cycles_per_voxel');
    bad('complex trajectory', 'arrayType', {'complex', '[real(trajectory(:)), imag(trajectory(:))].'''}, [0.1i 0.2], 'Size', [8 8], 'Unit', 'cycles_per_voxel');
    bad('transposed trajectory', 'arrayShape', {'2 x samples', 'trajectory.'''}, rand(40, 2), 'Size', [8 8], 'Unit', 'cycles_per_voxel');
    bad('out of the unit', 'invalidGeometry', 'trajectory(1, 2)', [0 7; 0 0], 'Size', [8 8], 'Unit', 'cycles_per_voxel');
    bad('NaN', 'notFiniteData', 'trajectory(2, 3)', [0 0 0; 0 0 NaN], 'Size', [8 8], 'Unit', 'cycles_per_voxel');
    bad('integers', 'arrayType', 'int32', int32(k), 'Size', [8 8], 'Unit', 'cycles_per_field_of_view');
    bad('empty', 'arrayShape', '2 x samples', [], 'Size', [8 8], 'Unit', 'cycles_per_field_of_view');
    m = isocenter.MRI(k, 'Size', [8 6], 'Unit', 'cycles_per_voxel', 'Coils', 2);
    check_error('samples transposed', 'mri:arrayShape', {'3 x 2', 'samples.'''}, @() m.adjoint(complex(ones(2, 3), 1)));
    check_error('samples of integers', 'mri:arrayType', 'single or double', @() m.adjoint(int8(ones(3, 2))));
    check_error('NaN samples', 'mri:notFiniteData', 'samples(', @() m.adjoint([1 NaN; 1 1; 1 1]));
    check_error('image', 'mri:arrayShape', '8 x 6 x 2 (nx x ny x coils)', @() m.forward(ones(8, 6)));
    check_error('maps', 'mri:arrayShape', 'nx x ny x coils', @() m.setMaps(ones(6, 8, 2)));
    check_error('weights', 'mri:arrayShape', '3 x 1', @() m.setWeights(ones(4, 1)));
    check_error('weights below 0', 'mri:invalidArgument', 'weights(2) is -1', @() m.setWeights([1 -1 1]));
    check_error('complex weights', 'mri:arrayType', 'complex', @() m.setWeights([1 1i 1]));
    check_error('iterations', 'mri:invalidOptions', 'Iterations must not be 0', @() m.setOptions('Iterations', 0));
    check_error('matrix', 'mri:arrayType', 'sparse', @() m.setMatrix(eye(48)));
    check_error('matrix of another size', 'mri:arrayShape', {'47 x 47', '48'}, @() m.setMatrix(speye(47)));
    check_error('initial image of another size', 'mri:arrayShape', 'initial', @() m.reconstruct(ones(3, 2), ones(8, 6)));
    start = ones(8, 6, 2);
    start(3, 4, 2) = NaN;
    check_error('NaN in the initial image', 'mri:notFiniteData', 'initial(3, 4, 2) is NaN', @() m.reconstruct(ones(3, 2), start));
    check_error('history', 'mri:invalidArgument', 'they are 1 to 2', @() m.history(0));
    check_error('history of an image too far', 'mri:invalidArgument', 'image 3 is not there; they are 1 to 2', @() m.history(3));
    check_error('density', 'mri:invalidArgument', 'radial', @() m.computeWeights('voronoi'));
    check_error('Q before it is there', 'mri:notConfigured', 'no Q', @() m.exportQ());
    check_true('the class is that of the initial image', isa(m.reconstruct(single(ones(3, 2)), ones(8, 6, 2)), 'double'));
    check_true('works afterwards', isequal(size(m.adjoint(ones(3, 2))), [8 6 2]));
end

function pet()
    bad = @(name, kind, words, varargin) check_error(name, ['pet:' kind], words, @() isocenter.PET(varargin{:}));
    bad('no size', 'invalidGeometry', 'Size', 'Voxel', 4, 'Azimuths', 4, 'MaxTilt', 0.1);
    bad('no voxel', 'invalidGeometry', 'Voxel', 'Size', [8 8 4], 'Azimuths', 4, 'MaxTilt', 0.1);
    bad('voxel', 'invalidGeometry', 'Voxel', 'Size', [8 8 4], 'Voxel', [4 4], 'Azimuths', 4, 'MaxTilt', 0.1);
    bad('text for a voxel', 'invalidGeometry', {'Voxel', 'char'}, 'Size', [8 8 4], 'Voxel', '4', 'Azimuths', 4, 'MaxTilt', 0.1);
    bad('half a voxel', 'invalidGeometry', 'whole number, not 3.5', 'Size', [8 8 3.5], 'Voxel', 4, 'Azimuths', 4, 'MaxTilt', 0.1);
    bad('no views', 'invalidGeometry', 'Azimuths is missing', 'Size', [8 8 4], 'Voxel', 4, 'MaxTilt', 0.1);
    bad('views transposed', 'arrayShape', 'Views.''', 'Size', [8 8 4], 'Voxel', 4, 'MaxTilt', 0.1, 'Views', zeros(3, 2));
    bad('both', 'invalidGeometry', 'Azimuths', 'Size', [8 8 4], 'Voxel', 4, 'MaxTilt', 0.1, 'Views', [0; 0], 'Azimuths', 1);
    p = isocenter.PET('Size', [12 10 4], 'Voxel', 8, 'Azimuths', 3, 'MaxTilt', 0.2);
    h = ones(12, 10, 4, 3, 'single');
    check_error('no response', 'pet:notConfigured', 'response', @() p.adjoint(h));
    check_error('response', 'pet:invalidResponse', 'AxialFwhm', @() p.setResponse('TofFwhm', 120, 'RadialFwhm', 9));
    p.setResponse('RadialFwhm', 9, 'AxialFwhm', 9); % of lists without times
    check_error('a response without times', 'pet:invalidArgument', {'TofFwhm is 0, and histo-images are of times of flight', 'reconstructLines'}, @() p.adjoint(h));
    check_error('table', 'pet:invalidResponse', '2 x n', @() p.setResponse('RadialTable', [0 5 100; 1 2 3; 4 5 6]));
    p.setResponse('TofFwhm', 120, 'RadialFwhm', 9, 'AxialFwhm', 9);
    check_error('double', 'pet:arrayType', 'single or uint32', @() p.adjoint(double(h)));
    check_error('transposed', 'pet:arrayShape', 'permute(', @() p.adjoint(permute(h, [4 1 2 3])));
    check_error('empty', 'pet:arrayShape', 'nx x ny x nz x views', @() p.reconstruct([]));
    check_error('below 0', 'pet:invalidArgument', 'measured(3, 2, 1, 1) is -1', @() p.reconstruct(subsasgn(h, struct('type', '()', 'subs', {{3, 2, 1, 1}}), -1)));
    check_error('initial image below 0', 'pet:invalidArgument', 'initial(1, 1, 1) is -1', @() p.reconstruct(h, [], [], -h(:, :, :, 1)));
    check_error('view 0', 'pet:invalidArgument', '1 to 3', @() p.forward(h(:, :, :, 1), 0));
    check_error('view 4', 'pet:invalidArgument', '1 to 3', @() p.tables(4));
    for none = {zeros(1, 0), zeros(0, 1), zeros(0, 0, 2), find(false(1, 3)), false(1, 0)}
        check_error('no views to project', 'pet:invalidArgument', 'views is empty', @() p.forward(h(:, :, :, 1), none{1}));
        check_error('no views to add', 'pet:invalidArgument', 'views is empty', @() p.adjoint(h, none{1}));
    end
    check_error('a mask of views', 'pet:invalidArgument', 'find(', @() p.forward(h(:, :, :, 1), logical([0 1 1])));
    check_error('half a view', 'pet:invalidArgument', 'whole number', @() p.forward(h(:, :, :, 1), 1.5));
    check_error('order', 'pet:invalidArgument', 'order(2)', @() p.setOrder([1 1]));
    check_error('positions transposed', 'pet:arrayShape', '3 x 5', @() p.deposit(ones(5, 3), ones(5, 3), ones(5, 1)));
    check_error('times', 'pet:arrayShape', 'time_differences is 4 x 1; it must be 5 x 1', @() p.deposit(ones(3, 5), ones(3, 5), ones(4, 1)));
    check_error('one time', 'pet:arrayShape', 'time_differences is 1 x 1; it must be 5 x 1', @() p.deposit(ones(3, 5), ones(3, 5), 1));
    check_error('positions without times', 'pet:arrayShape', 'time_differences is 0 x 0', @() p.deposit(ones(3, 5), ones(3, 5), []));
    check_error('lists of two lengths', 'pet:arrayShape', 'second_positions is 3 x 4', @() p.deposit(ones(3, 5), ones(3, 4), ones(5, 1)));
    check_error('first positions without times', 'pet:arrayShape', {'first', '3 x 0'}, @() p.deposit(ones(3, 5), [], []));
    check_error('second positions without times', 'pet:arrayShape', {'second', '3 x 0'}, @() p.deposit([], ones(3, 5), []));
    check_error('times without positions', 'pet:arrayShape', {'first', '3 x 5'}, @() p.deposit([], [], ones(1, 5)));
    check_error('no times', 'pet:invalidArgument', 'missing', @() isocenter_mex('pet.deposit', p.id, 1, 2));
    check_error('bodies', 'pet:invalidArgument', 'cylinder', @() p.phantomImage(struct('Shape', 'sphere', 'HalfX', 3)));
    check_error('scan', 'pet:invalidScan', 'struct', @() p.simulate(3, 4));
    check_error('a scan''s field', 'pet:unknownOption', 'Random', @() p.simulate(struct('Random', 1), 4));
    check_error('no events', 'pet:invalidArgument', 'at least 1', @() p.simulate(struct('Randoms', 1), 0));
    check_error('events beyond all memory', 'pet:outOfMemory', 'memory', @() p.simulate(struct('Randoms', 1), 1e13));
    check_error('centres', 'pet:arrayShape', 'of x, y and z', @() p.contrastRecovery(h(:, :, :, 1), [1 2], 4));
    check_error('map', 'pet:arrayShape', '12 x 10', @() p.setTables(1, ones(10, 12), [0; 0; 0], single(1)));
    check_error('kernel 0', 'pet:invalidArgument', 'kernel 0', @() p.setTables(1, zeros(12, 10), [0; 0; 0], single(1)));
    check_true('works afterwards', all(p.adjoint(h)(:) > 0));
end

function contexts()
    bad = @(name, kind, words, varargin) check_error(name, ['context:' kind], words, @() isocenter.Context(varargin{:}));
    bad('device', 'invalidOptions', '''gpu''', 'Device', 'tpu');
    bad('threads', 'invalidOptions', '4096', 'Threads', 5000);
    bad('threads below 0', 'invalidOptions', 'Threads is -1; it must be at least 1', 'Threads', -1);
    bad('cap', 'invalidOptions', 'MemoryCap', 'MemoryCap', 'all');
    bad('progress', 'invalidOptions', '''console''', 'Progress', 'bar');
    bad('several texts of progress', 'invalidOptions', {'Progress', 'one text, not 2'}, 'Progress', ['none'; 'nine']);
    bad('unknown', 'unknownOption', 'GpuMemoryCap', 'Memory', 5);
    check_true('a context', isa(isocenter.Context('Progress', 'console', 'Device', 'cpu'), 'isocenter.Context'));
end

function handles()
    ct = isocenter.CT('Angles', (0:9) * 0.3, 'Bins', 8);
    other = ct;
    delete(ct);
    check_error('a plan that is deleted', 'ct:invalidHandle', 'has been freed', @() other.info());
    delete(other);
    c = isocenter.Context('Device', 'cpu');
    ct = isocenter.CT(c, 'Angles', (0:9) * 0.3, 'Bins', 8);
    delete(c);
    check_true('a plan outlives its context', isequal(size(ct.backproject(ones(8, 10, 'single'))), [8 8]));
    check_error('a context that is deleted', 'ct:invalidHandle', 'has been freed', @() isocenter.CT(c, 'Bins', 8));
    check_error('a plan of another kind', 'mri:invalidHandle', 'it must be an isocenter.MRI', @() isocenter_mex('mri.info', ct.id));
    check_error('a number made up', 'ct:invalidHandle', 'freed', @() isocenter_mex('ct.info', uint64(12345)));
    check_error('a double', 'ct:invalidHandle', 'number', @() isocenter_mex('ct.info', double(ct.id)));
    check_error('several', 'ct:invalidHandle', 'number', @() isocenter_mex('ct.info', [ct.id ct.id]));
    ct = isocenter.CT();
    check_true('CT() has no plan to share with copies of it', ct.id == 0);
    check_error('a plan without a number', 'ct:notConfigured', 'setGeometry', @() ct.tune());
    ct.setOptions('Filter', 'none');
    ct.setGeometry('Angles', (0:9) * 0.3, 'Bins', 8);
    p = rand(8, 10, 'single');
    check_near('options set before the geometry', ct.filter(p), p, 1e-6);
    m = isocenter.MRI();
    m.setOptions('Method', 'exact');
    m.setGeometry([0.1; 0.2], 'Size', [4 4], 'Unit', 'cycles_per_voxel');
    q = isocenter.PET();
    q.setResponse('TofFwhm', 120, 'RadialFwhm', 9, 'AxialFwhm', 9);
    q.setGeometry('Size', [12 10 4], 'Voxel', 8, 'Azimuths', 3, 'MaxTilt', 0.2);
    check_true('plans of all kinds', m.forward(eye(4)) ~= 0 && all(q.sensitivity()(:) > 0));
    fflush(stdout);
    child = fork();
    if child == 0 % says how many of these went wrong
        raised = '';
        try, ct.info(); catch failure, raised = failure.identifier; end
        own = isocenter.CT('Angles', (0:9) * 0.3, 'Bins', 8);
        exit(~strcmp(raised, 'isocenter:ct:invalidHandle') + ~isequal(size(own.filter(p)), [8 10]));
    end
    [~, status] = waitpid(child);
    check_true('a forked process makes plans of its own', WIFEXITED(status) && WEXITSTATUS(status) == 0);
    check_near('the parent keeps its own', ct.filter(p), p, 1e-6);
    for k = 1:2000
        one = isocenter.CT('Angles', (0:9) * 0.3, 'Bins', 8);
    end
    clear isocenter_mex
    check_error('a plan that clear has freed', 'ct:invalidHandle', 'has been freed', @() ct.info());
    delete(ct);
    ct = isocenter.CT('Angles', (0:9) * 0.3, 'Bins', 8);
    check_true('works after clear', ct.memory() > 0);
end

function gateway()
    check_error('no command', 'invalidArgument', 'classes', @() isocenter_mex());
    check_error('a number for a command', 'invalidArgument', 'classes', @() isocenter_mex(1));
    check_error('an unknown command', 'ct:invalidArgument', 'ct.fly', @() isocenter_mex('ct.fly', uint64(1)));
    check_error('an unknown area', 'invalidArgument', 'spect', @() isocenter_mex('spect'));
    check_error('no plan', 'ct:invalidArgument', 'number of the plan', @() isocenter_mex('ct.info'));
end
