function test_mri()
    sums();
    coils();
    extras();
    series();
    shots();
    a_line();
    precisions();
    solver();
    penalties();
    sparse_penalties();
    phantoms();
    delays();
    joint_maps();
end

% exp(-2 pi i k . r) for voxels in the order of image(:).
function matrix = dft(k, n)
    axes = cell(1, numel(n));
    for d = 1:numel(n), axes{d} = (0:n(d) - 1) - floor(n(d) / 2); end
    grid = cell(1, numel(n));
    [grid{:}] = ndgrid(axes{:});
    r = cell2mat(cellfun(@(g) g(:), grid, 'UniformOutput', false));
    matrix = exp(-2i * pi * (k.' * r.'));
end

function z = noise(varargin)
    z = complex(rand(varargin{:}) - 0.5, rand(varargin{:}) - 0.5);
end

function sums()
    rand('seed', 3);
    for n = {[9 6], [5 6 4]}
        n = n{1};
        k = rand(numel(n), 70) - 0.5;
        mri = isocenter.MRI(k, 'Size', n, 'Unit', 'cycles_per_voxel', 'Precision', 'double');
        x = noise(n); y = noise(70, 1);
        E = dft(k, n);
        for method = {'exact', 'nufft'}
            mri.setOptions('Method', method{1});
            name = sprintf('%s, %d axes: ', method{1}, numel(n));
            check_near([name 'forward'], mri.forward(x), E * x(:), 1e-8);
            check_near([name 'adjoint'], mri.adjoint(y), reshape(E' * y, n), 1e-8);
            w = rand(70, 1);
            mri.setWeights(w);
            check_near([name 'weights'], mri.weights(), w, 1e-12);
            check_near([name 'gridding'], mri.gridding(y), reshape(E' * (w .* y), n), 1e-8);
            check_near([name 'normal'], mri.normal(x), reshape(E' * (w .* (E * x(:))), n), 1e-7);
            mri.setWeights([]);
        end
        mri.setGeometry(2 * pi * k, 'Size', n, 'Unit', 'radians_per_voxel', 'Precision', 'double');
        check_near('radians', mri.forward(x), E * x(:), 1e-8);
        mri.setGeometry(k .* n(:), 'Size', n, 'Unit', 'cycles_per_field_of_view', 'Precision', 'double');
        check_near('cycles per field of view', mri.forward(x), E * x(:), 1e-8);
    end
end

function coils()
    rand('seed', 4);
    n = [8 7]; k = rand(2, 60) - 0.5; E = dft(k, n);
    mri = isocenter.MRI(k, 'Size', n, 'Unit', 'cycles_per_voxel', 'Precision', 'double', 'Coils', 3);
    x = noise([n 3]);
    expected = E * reshape(x, [], 3);
    check_near('an image a coil', mri.forward(x), expected, 1e-8);
    check_near('an image a coil, adjoint', mri.adjoint(expected), reshape(E' * expected, [n 3]), 1e-8);
    check_true('images', mri.info().Images == 3);
    maps = noise([n 3]); one = noise(n);
    mri.setMaps(maps);
    expected = E * reshape(maps .* one, [], 3);
    check_near('maps', mri.forward(one), expected, 1e-8);
    check_near('maps, nz kept', mri.forward(reshape(one, [n 1])), expected, 1e-8);
    check_near('maps, adjoint', mri.adjoint(expected), sum(conj(maps) .* reshape(E' * expected, [n 3]), 3), 1e-8);
    sets = noise([n 3 2]); both = noise([n 2]);
    mri.setMaps(sets);
    expected = E * reshape(sum(sets .* reshape(both, [n 1 2]), 4), [], 3);
    check_near('sets of maps', mri.forward(both), expected, 1e-8);
    check_near('sets of maps, adjoint', mri.adjoint(expected), squeeze(sum(conj(sets) .* reshape(E' * expected, [n 3]), 3)), 1e-8);
    check_true('sets of maps, images', mri.info().Images == 2);
    mri.setMaps([]);
    check_near('maps forgotten', mri.forward(x), E * reshape(x, [], 3), 1e-8);
end

function shots()
    rand('seed', 7);
    n = [6 5]; k = rand(2, 40) - 0.5; E = dft(k, n);
    mri = isocenter.MRI(k, 'Size', n, 'Unit', 'cycles_per_voxel', 'Precision', 'double');
    x = noise(n); phases = noise([n 2]); shot = 1 + mod(0:39, 2);
    d = noise([40 1 3]);
    check_near('several scans', mri.adjoint(d), reshape(E' * reshape(d, 40, 3), [n 3]), 1e-8);
    mri.setShots(shot, phases);
    both = E * reshape(phases .* x, [], 2);
    check_near('shots', mri.forward(x), both(sub2ind([40 2], 1:40, shot)).', 1e-8);
    check_error('shots of other samples', 'mri:arrayShape', {'39', '40'}, @() mri.setShots(shot(2:end), phases));
    check_error('no such shot', 'mri:outOfRange', {'shots(1) is 0'}, @() mri.setShots(shot - 1, phases));
    mri.setShots();
    check_near('shots forgotten', mri.forward(x), E * x(:), 1e-8);
end

function a_line()
    rand('seed', 6);
    n = [16 1]; k = rand(1, 50) - 0.5;
    E = exp(-2i * pi * k.' * ((0:15) - 8));
    mri = isocenter.MRI(k, 'Size', n, 'Unit', 'cycles_per_voxel', 'Precision', 'double');
    x = noise([16 1]);
    check_near('a line', mri.forward(x), E * x, 1e-8);
end

function extras()
    rand('seed', 5);
    n = [6 5]; k = rand(2, 40) - 0.5; E = dft(k, n); x = noise(n);
    mri = isocenter.MRI(k, 'Size', n, 'Unit', 'cycles_per_voxel', 'Precision', 'double');
    field = 50 * rand(n); times = 0.02 * rand(1, 40);
    mri.setField(field, times);
    check_near('field', mri.forward(x), (E .* exp(-2i * pi * (times(:) * field(:).'))) * x(:), 1e-8);
    check_true('products', mri.info().FieldTerms > 3 && mri.info().FieldError < 1e-8);
    Ef = E .* exp(-2i * pi * (times(:) * field(:).'));
    mri.setOptions('Normal', 'toeplitz');
    check_near('field, Q', mri.normal(x)(:), Ef' * (Ef * x(:)), 1e-8);
    check_true('convolutions', mri.info().NormalTerms > 3 && mri.info().NormalError < 1e-8);
    mri.setOptions();
    decay = 40 * rand(n);
    mri.setField([], times, decay);
    check_near('decay', mri.forward(x), (E .* exp(-times(:) * decay(:).')) * x(:), 1e-8);
    mri.setField(field, times, decay);
    check_near('both', mri.forward(x), (E .* exp(-times(:) * (decay(:) + 2i * pi * field(:)).')) * x(:), 1e-8);
    mri.setField();
    positions = 4 * rand([2 n]) - 2;
    mri.setPositions(positions);
    check_near('positions', mri.forward(x), exp(-2i * pi * (k.' * reshape(positions, 2, []))) * x(:), 1e-8);
    mri.setPositions([]);
    check_near('neither', mri.forward(x), E * x(:), 1e-8);
end

% Frames are scans of their samples; images of a basis add up.
function series()
    rand('seed', 6);
    n = [6 5]; k = rand(2, 40) - 0.5; E = dft(k, n); x = noise([n 2]);
    mri = isocenter.MRI(k, 'Size', n, 'Unit', 'cycles_per_voxel', 'Precision', 'double');
    basis = [1 0.5 0; 0.5i 2 1 - 1i]; times = mod(0:39, 3) + 1;
    mri.setBasis(basis, times);
    image = reshape(x, [], 2);
    expected = basis(1, times).' .* (E * image(:, 1)) + basis(2, times).' .* (E * image(:, 2));
    check_near('basis', mri.forward(x), expected, 1e-8);
    check_true('images of a basis', isequal(size(mri.adjoint(expected)), [n 2]) && mri.info().Images == 2);
    check_error('times of other samples', 'mri:arrayShape', {'39', '40'}, @() mri.setBasis(basis, times(2:end)));
    check_error('no such column', 'mri:outOfRange', {'times(1) is 4', '1 to 3'}, @() mri.setBasis(basis, 4 * ones(1, 40)));
    mri.setBasis([]);
    mri.setFrames([11 1], [30 20]);
    found = mri.adjoint(expected);
    check_near('frame', found(:, :, 1)(:), E(11:40, :)' * expected(11:40), 1e-8);
    check_near('another', found(:, :, 2)(:), E(1:20, :)' * expected(1:20), 1e-8);
    check_error('frame beyond', 'mri:outOfRange', {'frame 1 has 31 samples from 11 on'}, @() mri.setFrames(11, 31));
    mri.setWindows(20, 10);
    check_true('windows', isequal(size(mri.reconstruct(expected)), [n 3]));
    part = @(first, count) expected(first:first + count - 1);
    check_near('windows by a stream', mri.reconstructStream(part, 0, 'double'), mri.reconstruct(expected), 1e-9);
    mri.setFrames();
    check_near('a stream in single', mri.griddingStream(@(first, count) single(part(first, count)), 7), mri.gridding(expected), 1e-5);
    [single_host, ~] = mri.streamMemory(7); [double_host, gpu] = mri.streamMemory(7, 'double');
    % Two buffers of 7 samples of one coil, beside what does not depend on the samples' class.
    check_true('memory of a stream', double_host - single_host == 2 * 7 * 8 && (double_host == 2 * 7 * 16) == (gpu > 0));
    check_true('memory of a stream by default', mri.streamMemory() > 0);
    mri.setOptions('Lambda', 10, 'Residual', 1e-9);    % without, rounding grows in small eigenvalues
    whole = mri.reconstruct(expected);
    check_near('a stream', mri.reconstructStream(part, 7, 'double'), whole, 1e-6);
    mri.setOptions('Lambda', 10, 'Iterations', 1);
    check_near('a stream goes on', mri.reconstructStream(part, 7, 'double', whole), whole, 1e-6);
    check_error('too few samples', 'mri:arrayShape', {'what the reading function returned'}, @() mri.reconstructStream(@(first, count) single(ones(count - 1, 1)), 7));
    check_error('a reader that fails', 'some:thing', {'gone'}, @() mri.reconstructStream(@(first, count) error('isocenter:some:thing', 'gone'), 7));
    mri.setOptions();
    check_near('one scan again', mri.forward(x(:, :, 1)), E * image(:, 1), 1e-8);
end

% Objectives fall, and limits and settings reach the library.
function sparse_penalties()
    rand('seed', 8);
    n = [16 8]; k = rand(2, 300) - 0.5;
    mri = isocenter.MRI(k, 'Size', n, 'Unit', 'cycles_per_voxel', 'Precision', 'double');
    x = kron([1 3; 2 0.5], ones(8, 4)); y = mri.forward(x);
    for algorithm = { 'fista', 'primal_dual' }
        mri.setOptions('Penalty', 'variation', 'Lambda', 1, 'Algorithm', algorithm{1}, 'Iterations', 300, 'Huber', 0.01);
        found = mri.reconstruct(y);
        objective = mri.objective();
        check_near('variation', found, x, 0.02);
        check_true('objective', objective(end) < 0.01 * objective(1) && numel(objective) == numel(mri.history()));
    end
    mri.setOptions('Penalty', 'wavelets', 'Wavelet', 'haar', 'Levels', 2, 'FixedGrid', true, 'Lambda', 1, 'Iterations', 300);
    check_near('wavelets', mri.reconstruct(y), x, 0.02);
    objective = mri.objective(); gap = mri.gap();
    check_true('gap', numel(gap) == numel(objective) && all(objective - gap <= objective(end) * (1 + 1e-9)) && gap(end) < 1e-3 * gap(1));
    limit = mri.info().LambdaLimit;
    mri.setOptions('Penalty', 'wavelets', 'Wavelet', 'haar', 'Levels', 2, 'FixedGrid', true, 'Lambda', 1.001 * limit);
    check_true('limit', ~any(mri.reconstruct(y)(:)));
    mri.setOptions('Penalty', 'variation', 'Joint', true, 'Lambda', 1, 'Iterations', 5);
    check_error('joint', 'mri:notConfigured', 'series', @() mri.reconstruct(y));
    mri.setFrames([1 101], [150 200]);
    check_true('frames together', isequal(size(mri.reconstruct(y)), [16 8 2]));
    mri.setFrames();
    mri.setOptions('Imaginary', inf, 'Iterations', 100, 'Residual', 1e-10);
    found = mri.reconstruct(y);
    check_true('real images', ~any(imag(found)(:)));
    check_near('a real image', found, x, 1e-6);
    check_error('weights of imaginary parts', 'mri:invalidOptions', 'infinity', @() mri.setOptions('Imaginary', -1));
    mri.setOptions();
    mri.reconstruct(y);
    check_true('no objective', isempty(mri.objective()) && isempty(mri.gap()));
end

% Results are of the input's class; real arrays count as complex, vectors may lie either way.
function precisions()
    rand('seed', 6);
    n = [8 8]; k = rand(2, 50) - 0.5; E = dft(k, n); x = rand(n);
    mri = isocenter.MRI(single(k), 'Size', n, 'Unit', 'cycles_per_voxel');
    check_true('double gives double', isa(mri.forward(x), 'double'));
    check_true('single gives single', isa(mri.forward(single(x)), 'single') && iscomplex(mri.forward(single(x))));
    check_near('a real image', mri.forward(single(x)), dft(double(single(k)), n) * x(:), 2e-5);
    y = mri.forward(x);
    check_near('a row of samples', mri.adjoint(y.'), mri.adjoint(y), 1e-6);
    mri.setOptions('Tolerance', 1e-2, 'Upsampling', 1.5);
    check_true('tolerance matters', norm(mri.forward(x) - E * x(:)) > 1e-5 * norm(y));
end

function [k, readout] = spokes(count, readout)
    turn = (0:count - 1) * pi * (sqrt(5) - 1) / 2;
    k = reshape(reshape([cos(turn); sin(turn)], 2, 1, []) .* ((0:readout - 1) - readout / 2) / readout, 2, []);
end

function solver()
    [k, readout] = spokes(80, 96);
    mri = isocenter.MRI(k, 'Size', [48 48], 'Unit', 'cycles_per_voxel', 'Precision', 'double');
    truth = mri.phantomImage(isocenter.MRI.sheppLogan('modified', 24));
    s = mri.forward(truth);
    mri.computeWeights('radial', readout);
    mri.setOptions('Iterations', 40, 'Residual', 1e-9);
    x = mri.reconstruct(s);
    [psnr, percent] = mri.compare(x, truth);
    % What spokes do not reach is the corners of k-space.
    check_true(sprintf('solver: %.2g %%', percent), percent < 6 && psnr > 30);
    [~, quick] = mri.compare(mri.gridding(s), truth);
    check_true(sprintf('gridding: %.2g %%', quick), quick > 1.5 * percent && quick < 30);
    residuals = mri.history();
    check_true('history', residuals(1) == 1 && residuals(end) < 1e-4 && numel(residuals) <= 41);
    x = mri.reconstruct(s, truth);
    check_true('begins with an image', mri.history()(1) < 1e-6);
    check_near('and keeps it', x, truth, 1e-5);
    q = mri.exportQ();
    info = mri.info();
    check_true('Q', isequal(size(q), [info.QNx info.QNy]) && isreal(q) && info.HasQ);
    other = isocenter.MRI(k, 'Size', [48 48], 'Unit', 'cycles_per_voxel', 'Precision', 'double');
    other.setWeights(mri.weights());
    other.importQ(q);
    check_near('Q of another plan', other.normal(truth), mri.normal(truth), 1e-8);
    for how = {{'radial', readout}, {}}
        mri.computeWeights(how{1}{:});
        scale = real(truth(:)' * mri.normal(truth)(:)) / norm(truth(:)) ^ 2;
        % As the manual says for Lambda; weights on another scale, such as 1 a sample, give thousands.
        check_true(sprintf('F''WF is about 1: %g', scale), abs(scale - 1) < 0.1);
    end
    mri.computeWeights();
    check_near('iterative weights sum to the area of k-space', sum(mri.weights()), pi / 4, 0.1);
    mri.computeQ();
    check_true('memory', mri.memory() > 0);
end

function penalties()
    rand('seed', 7);
    n = [6 5]; k = rand(2, 40) - 0.5; E = dft(k, n); x = noise(n);
    mri = isocenter.MRI(k, 'Size', n, 'Unit', 'cycles_per_voxel', 'Precision', 'double');
    plain = E' * (E * x(:));
    mri.setOptions('Lambda', 3);
    check_near('identity', mri.normal(x)(:), plain + 3 * x(:), 1e-8);
    R = sparse(noise(7, 30) .* (rand(7, 30) > 0.6));
    mri.setMatrix(R);
    mri.setOptions('Lambda', 3, 'Penalty', 'matrix');
    check_near('complex matrix', mri.normal(x)(:), plain + 3 * (R' * (R * x(:))), 1e-8);
    R = real(R);
    mri.setMatrix(R);
    check_near('real matrix', mri.normal(x)(:), plain + 3 * (R' * (R * x(:))), 1e-8);
    w = rand([n 2]);
    mri.setDifferenceWeights(w);
    mri.setOptions('Lambda', 3, 'Penalty', 'differences');
    energy = sum(sum(abs(w(1:end - 1, :, 1) .* diff(x, 1, 1)) .^ 2)) + sum(sum(abs(w(:, 1:end - 1, 2) .* diff(x, 1, 2)) .^ 2));
    check_near('weighted differences', real(x(:)' * (mri.normal(x)(:) - plain)), 3 * energy, 1e-8);
end

function phantoms()
    k = [0 0.2; 0 0.1; 0 0];
    mri = isocenter.MRI(k, 'Size', [16 16 16], 'Unit', 'cycles_per_voxel');
    ball = struct('Value', 2, 'X', 3, 'SemiX', 4, 'SemiY', 4, 'SemiZ', 4);
    s = mri.phantomSamples(ball);
    volume = 4 / 3 * pi * 64;
    check_near('sample at 0 is the integral', s(1), 2 * volume, 1e-5);
    a = 2 * pi * norm(k(:, 2)) * 4;
    check_near('a ball''s transform', s(2), 2 * volume * 3 * (sin(a) - a * cos(a)) / a ^ 3 * exp(-2i * pi * 0.2 * 3), 1e-4);
    image = mri.phantomImage(ball);
    check_near('sum over voxels', sum(image(:)), 2 * volume, 1e-2);
    check_true('x is the first dimension', abs(image(9 + 3, 9, 9) - 2) < 1e-6 && abs(image(9 - 3, 9, 9)) < 1e-6);
    check_true('ten ellipsoids', numel(isocenter.MRI.sheppLogan('original', 8, 8)) == 10);
end

function delays()
    n = 48; readout = 96; turn = (0:59) * pi / 60;
    spokes = @(x, y) reshape([cos(turn) .* ((-48:47).' - x); sin(turn) .* ((-48:47).' - y)] / readout, readout, 2, []);
    k = @(x, y) reshape(permute(spokes(x, y), [2 1 3]), 2, []);
    head = isocenter.MRI.sheppLogan('modified', 20);
    % Samples at the edge are not among those that delays are found from.
    late = isocenter.MRI(max(min(k(1.5, 1.2), 0.5), -0.5), 'Size', [n n], 'Unit', 'cycles_per_voxel');
    samples = late.phantomSamples(head);
    mri = isocenter.MRI(k(0, 0), 'Size', [n n], 'Unit', 'cycles_per_voxel');
    found = mri.findDelays(samples, 'Readout', readout);
    for pair = {'Xx', 1.5; 'Yy', 1.2; 'Xy', 0}.'
        error = found.([pair{1} 'Error']);
        check_true(sprintf('%s: %g +- %g', pair{1}, found.(pair{1}), error), abs(found.(pair{1}) - pair{2}) < 3 * error && error < 0.01);
    end
    check_true('confidence', found.Confidence > 0.999 && found.Axes == 2);
    expected = k(1.5, 1.2);
    check_near('the trajectory with delays', mri.delayedTrajectory([1.5 1.2], 'Readout', readout), expected, 1e-12);
    again = mri.delayedTrajectory(found, 'Readout', readout, 'Voxel', [2 2]);
    check_near('of what was found', again, expected, 0.01);
    for bad = {{'Readout', 95}, 'Readout is 95'; {'Readout', 96, 'Range', 60}, 'Range is 60'; {'Readout', 96, 'Voxel', [1 0]}, 'Voxel has a 0'}.'
        check_error(bad{2}, 'mri:invalidOptions', bad{2}, @() mri.findDelays(samples, bad{1}{:}));
    end
    check_error('four delays', 'mri:invalidArgument', 'delays has 4 values', @() mri.delayedTrajectory([1 2 3 4], 'Readout', readout));
end

% The second coil is half as sensitive as the first, and a quarter turn ahead: a length of 1 is [2 1i] over the root of 5.
function joint_maps()
    n = 24; turn = (0:39) * pi / 40;
    spokes = reshape([cos(turn); sin(turn)], 2, 1, []) .* reshape((-24:23) / 48, 1, []);
    k = reshape(spokes, 2, []);
    one = isocenter.MRI(k, 'Size', [n n], 'Unit', 'cycles_per_voxel');
    seen = one.phantomSamples(isocenter.MRI.sheppLogan('modified', 10));
    mri = isocenter.MRI(k, 'Size', [n n], 'Unit', 'cycles_per_voxel', 'Coils', 2);
    samples = [seen(:), 0.5i * seen(:)];
    [maps, image] = mri.findMaps(samples);
    check_true('sizes', isequal(size(maps), [n n 2]) && isequal(size(image), [n n]));
    middle = squeeze(maps(13, 13, :));
    check_near('lengths', abs(middle), [2; 1] / sqrt(5), 1e-3);
    check_near('phases', middle(2) / middle(1), 0.5i, 1e-3);
    left = mri.history();
    check_true(sprintf('%d steps, %g left', numel(left) - 1, left(end)), numel(left) == 11 && left(end) < 0.1);
    few = mri.findMaps(samples, 'Steps', 2, 'Iterations', 5, 'Alpha', 0.5, 'Reduction', 0.3, 'Scale', 100, 'Order', 16, 'Residual', 0.05);
    check_true('steps', numel(mri.history()) == 3 && isequal(size(few), [n n 2]));
    check_true('memory', mri.mapsMemory() > 0 && mri.mapsMemory('Scale', 1) > mri.mapsMemory());
    mri.setMaps(maps);
    check_error('maps that are there', 'mri:notConfigured', 'maps already', @() mri.findMaps(samples));
    mri.setMaps([]);
    for bad = {{'Steps', -1}, 'Steps is -1'; {'Residual', 1}, 'Residual is 1'; {'Order', 500}, 'Order is 500'}.'
        check_error(bad{2}, 'mri:invalidOptions', bad{2}, @() mri.findMaps(samples, bad{1}{:}));
        check_error(bad{2}, 'mri:invalidOptions', bad{2}, @() mri.mapsMemory(bad{1}{:}));
    end
    check_error('one coil', 'mri:notConfigured', 'Coils is 1', @() one.findMaps(seen));
end
