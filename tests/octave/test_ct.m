function test_ct()
    scale_and_place();
    orders_and_rows();
    regions();
    projectors();
    filters();
    raw_counts();
    frames();
    bad_views();
    eigenflats();
    distortion();
    phase();
    missing_values();
    streams();
    stored();
end

% A disk of 1 is 1 where it should be: column j is nx-index j, y is upwards, the axis counts bins from 1.
function scale_and_place()
    angles = (0:359) * pi / 360;
    ellipse = struct('Value', 1, 'X', 30, 'Y', 12, 'SemiX', 10, 'SemiY', 10);
    ct = isocenter.CT('Angles', angles, 'Bins', 161, 'Size', [101 91]);
    p = ct.phantomProjections(ellipse);
    check_true('projections: bins x views', isequal(size(p), [161 360]) && isa(p, 'single'));
    % Along y (angle 0) x = 30 is bin 81 + 30; along x (angle pi / 2) y = 12 is bin 81 + 12. The chord is a diameter.
    check_near('ray through the centre, angle 0', p(111, 1), 20, 1e-5);
    check_near('ray through the centre, angle pi / 2', p(93, 181), 20, 1e-5);
    v = ct.reconstruct(p);
    check_true('volume: nx x ny', isequal(size(v), [101 91]) && isa(v, 'single'));
    check_near('inside the disk', mean(v(51 + 30 + (-3:3), 46 - 12 + (-3:3))(:)), 1, 2e-3);
    check_true('outside the disk', abs(mean(v(51 - 30 + (-3:3), 46 - 12 + (-3:3))(:))) < 2e-3);
    truth = ct.phantomVolume(ellipse);
    check_near('area of the true disk', sum(truth(:)), pi * 100, 1e-5);

    found = ct.findAxis(p, 'Curve', 41);
    [~, best] = min(found.Curve);
    check_true('the curve has its best value at the axis', numel(found.Curve) == 41 && ...
        abs(found.CurveFirst + (best - 1) * found.CurveStep - found.Axis) <= found.CurveStep);
    check_true('no curve', isempty(ct.findAxis(p).Curve));
    check_true('sharpness', isfield(ct.findAxis(p, 'Method', 'sharpness'), 'Axis'));
    check_true('a round disk alone has an axis, too', abs(found.Axis - (size(p, 1) + 1) / 2) < 0.05 && ~found.HalfAcquisition);
    check_error('nothing to find an axis by', 'ct:invalidArgument', 'without structure', @() ct.findAxis(0 * p));

    ct.setGeometry('Angles', angles, 'Bins', 161, 'Axis', 70);
    p = ct.phantomProjections(struct('Value', 1, 'SemiX', 8, 'SemiY', 8));
    [~, bin] = max(p(:, 1));
    check_true('Axis counts from 1', bin == 70);
    v = ct.reconstruct(p);
    check_near('1 at the axis', mean(v(78:84, 78:84)(:)), 1, 0.02);
    check_true('and nothing where it would be from another axis', abs(mean(v(91:97, 78:84)(:))) < 0.02);

    settings = struct('Angles', single(angles), 'Bins', int32(161), 'BinPitch', 0.5, 'PixelSize', []);
    ct.setGeometry(settings);
    v = ct.reconstruct(ct.phantomProjections(struct('Value', 2, 'SemiX', 20, 'SemiY', 20)));
    check_near('scale with another pitch', mean(v(71:91, 71:91)(:)), 2, 2e-3);
    check_near('angular weights', sum(ct.angularWeights()), pi, 1e-12);
    own = linspace(0, 0.01, 360);
    ct.setAngularWeights(own);
    check_near('angular weights of your own', ct.angularWeights(), own, 1e-15);
    check_near('and their sum', ct.info().AngleCovered, sum(own), 1e-12);
    check_error('too few of them', 'ct:invalidArgument', {'weights has 3 values', '360'}, @() ct.setAngularWeights([1 2 3]));
    check_error('one below 0', 'ct:invalidArgument', 'weights(360) is -1', @() ct.setAngularWeights([own(1:359) -1]));
    ct.setAngularWeights([]);
    info = ct.info();
    check_true('info', info.DistinctAngles == 360 && info.EvenlySpaced && info.MissingWedges == 0);
    check_true('memory', ct.memory() > 0);
end

% A closed shutter, a frame that came twice, one that is full, and half of the beam lost; views count from 1.
function bad_views()
    angles = (0:89) * pi / 90;
    ct = isocenter.CT('Angles', angles, 'Bins', 128, 'Rows', 4);
    beam = 10000 * exp(-ct.phantomProjections(struct('Value', 0.01, 'X', 5, 'Y', 3, 'SemiX', 40, 'SemiY', 25)));
    randn('seed', 2);
    noisy = @(mean) 100 + mean + sqrt(mean) .* randn(size(mean));
    frames = noisy(beam);
    frames(:, :, 11) = 100;
    frames(:, :, 22) = frames(:, :, 21);
    frames(:, :, 41) = 65535;
    frames(:, :, 61) = noisy(0.5 * beam(:, :, 61));
    frames = uint16(frames);
    check_error('counts without flats', 'ct:flatField', 'setFlatField', @() ct.findBadViews(frames));
    ct.setFlatField(uint16(10100 * ones(128, 4, 3)), uint16(100 * ones(128, 4, 3)));
    found = ct.findBadViews(frames);
    check_true('certain', isequal(found.Certain, [11 22 41]) && isequal(found.Doubtful, 61));
    check_true('words', isequal(found.Faults([1 11 22 41 61]), {'none', 'black', 'frozen', 'saturated', 'doubtful'}));
    check_true('good', isequal(found.Good, setdiff(1:90, [11 22 41])));
    ct.setGeometry('Angles', angles(found.Good), 'Bins', 128, 'Rows', 4);
    v = ct.reconstruct(frames(:, :, found.Good));
    check_near('values without them', mean(v(60:76, 56:66, 2)(:)), 0.01, 0.05);
end

function orders_and_rows()
    angles = [0.1 2.5 0.7 1.3 1.9];
    ct = isocenter.CT('Angles', angles, 'Bins', 32, 'Rows', 4);
    p = ct.phantomProjections(isocenter.CT.sheppLogan('modified', 15));
    check_true('frames: bins x rows x views', isequal(size(p), [32 4 5]));
    for row = 1:4, p(:, row, :) *= row; end
    v = ct.reconstruct(p);
    check_true('volume: nx x ny x slices', isequal(size(v), [32 32 4]));
    check_near('slice 3 is row 3', v(:, :, 3), 3 * v(:, :, 1), 1e-5);
    ct.setGeometry('Angles', angles, 'Bins', 32, 'Rows', 4, 'FirstRow', 3);
    check_near('FirstRow counts from 1', ct.reconstruct(p), v(:, :, 3:4), 1e-5);
    filtered = ct.filter(p);
    check_true('rows outside the slices are 0', any(filtered(:, 3:4, :)(:)) && ~any(filtered(:, 1:2, :)(:)));
    ct.setGeometry('Angles', angles, 'Bins', 32, 'Rows', 4, 'Order', 'sinograms');
    check_near('sinograms: bins x views x rows', ct.reconstruct(permute(p, [1 3 2])), v, 1e-5);
    ct.setGeometry('Angles', angles, 'Bins', 32, 'Rows', 4, 'Slices', 1, 'FirstRow', 2);
    check_near('one slice', ct.reconstruct(p), v(:, :, 2), 1e-5);
    ct.setGeometry('Angles', angles, 'Bins', 32);
    row = squeeze(p(:, 1, :));
    check_near('one row, 2 dimensions', ct.reconstruct(row), v(:, :, 1), 1e-5);
    check_near('one row, 3 dimensions', ct.reconstruct(p(:, 1, :)), v(:, :, 1), 1e-5);
    ct.setGeometry('Angles', 0.3, 'Bins', 32, 'Rows', 4);
    check_true('one view', isequal(size(ct.forward(v)), [32 4]));
    warning('error', 'isocenter:log');
    check_error('the log warns', 'log', 'may be degrees', @() ct.setGeometry('Angles', 0:179, 'Bins', 32));
    warning('off', 'isocenter:log');
end

% A region is columns and rows of the full slice, which count from 1, ends included; to rounding, see tests/c/region.c.
function regions()
    rand('seed', 3);
    settings = struct('Angles', (0:39) * pi / 40, 'Bins', 64, 'Rows', 2, 'Axis', 33.5, 'BinPitch', 0.7, 'PixelSize', 0.55, 'XOffset', 1.5);
    p = single(rand(64, 2, 40));
    for sizes = {[64 64], [71 60]}
        ct = isocenter.CT(settings, 'Size', sizes{1});
        full = ct.reconstruct(p);
        most = max(abs(full(:)));
        n = sizes{1};
        for r = {[1 n(1) 1 n(2)], [10 n(1) - 4 6 n(2) - 12], [34 34 21 21], [1 17 n(2) - 7 n(2)]}
            k = r{1};
            part = isocenter.CT(settings, 'Size', n, 'Region', k).reconstruct(p);
            expected = full(k(1):k(2), k(3):k(4), :);
            check_true(sprintf('region %s of %s', mat2str(k), mat2str(n)), isequal(size(part), size(expected)) && max(abs(part(:) - expected(:))) <= 1e-5 * most);
        end
    end
end

function projectors()
    rand('seed', 1);
    ct = isocenter.CT('Angles', (0:30) * 0.11, 'Bins', 40, 'Rows', 2, 'Size', [30 34], 'XOffset', 1.5, 'YOffset', -2);
    x = single(rand(30, 34, 2)); y = single(rand(40, 2, 31));
    check_near('adjoint', double(y(:))' * double(ct.forward(x)(:)), double(x(:))' * double(ct.adjoint(y)(:)), 1e-5);
    ct.setOptions('Projector', 'band_limited', 'Tolerance', 1e-3);
    check_true('the period of the pair', ct.info().Period >= 40);
    check_near('adjoint, band-limited', double(y(:))' * double(ct.forward(x)(:)), double(x(:))' * double(ct.adjoint(y)(:)), 1e-5);
    % A disk's line integrals, but for its edges.
    disk = ct.phantomVolume(struct('Value', 1, 'SemiX', 10, 'SemiY', 10));
    banded = ct.forward(disk);
    ct.setOptions();
    joseph = ct.forward(disk);
    check_true('the pairs are alike', norm(banded(:) - joseph(:)) < 0.03 * norm(joseph(:)));
    % A projection along y at angle 0 is the sum over the second dimension.
    ct.setGeometry('Angles', 0, 'Bins', 30, 'Size', [30 30]);
    x = single(rand(30, 30));
    check_near('forward at angle 0', ct.forward(x), sum(x, 2), 1e-5);
end

function filters()
    rand('seed', 2);
    ct = isocenter.CT('Angles', (0:40) * 0.07, 'Bins', 48);
    p = single(rand(48, 41));
    for name = {'ram_lak', 'shepp_logan', 'cosine', 'hamming', 'hann', 'parzen', 'butterworth', 'none'}
        ct.setOptions('Filter', name{1}, 'WeightedBackprojection', true);
        check_near(['filter, then backproject: ' name{1}], ct.backproject(ct.filter(p)), ct.reconstruct(p), 1e-5);
    end
    ct.setOptions('Filter', 'none');
    check_near('no filter', ct.filter(p), p, 1e-6);
    ct.setOptions('Filter', 'custom', 'Response', [2 2]);
    check_near('a response of 2', ct.filter(p), 2 * p, 1e-5);
    ct.setOptions();
    first = ct.reconstruct(p);
    ct.setOptions(struct('Cutoff', 0.3, 'Filter', 'hann'), 'Padding', 'edge');
    check_true('options matter', max(abs(ct.reconstruct(p)(:) - first(:))) > 0.01);
    check_true('no period', ct.info().Period == 0);
    % The middle of a disk is far from its edges, which ring.
    p = ct.phantomProjections(struct('Value', 1, 'SemiX', 15, 'SemiY', 15));
    middle = @() mean(mean(ct.reconstruct(p)(21:28, 21:28)));
    ct.setOptions();
    linear = middle();
    ct.setStripes();
    ct.setStripes('Method', 'vo', 'LargeWindow', 15, 'SmallWindow', 5, 'Snr', 2.5, 'DropRatio', 0.2);
    ct.setStripes(struct('Method', 'sorting', 'SmallWindow', 7));
    ct.setStripes('Method', 'wavelet_fourier', 'Sigma', 2, 'Levels', 1, 'Wavelet', 4);
    check_error('more levels than fit', 'ct:invalidStripes', {'Levels', '16'}, @() ct.setStripes('Method', 'wavelet_fourier', 'Levels', 16));
    check_error('a window of one bin', 'ct:invalidStripes', {'SmallWindow', '1'}, @() ct.setStripes('SmallWindow', 1));
    ct.setStripes([]);
    half_turn = isocenter.CT('Angles', (0:39) * 0.07, 'Bins', 48);
    check_error('half a turn', 'ct:invalidHalfAcquisition', {'full turn'}, @() half_turn.setHalfAcquisition());
    turn = isocenter.CT('Angles', (0:119) * 2 * pi / 120, 'Bins', 48, 'Axis', 13, 'Size', [64 64]);
    disk = struct('Value', 1, 'SemiX', 25, 'SemiY', 25);
    turn.setHalfAcquisition('Overlap', 20, 'Rise', 'linear');
    turn.setHalfAcquisition();
    check_true('the field', turn.info().ComputedBins == 71 && turn.info().Overlap == 26);
    slice = turn.reconstruct(turn.phantomProjections(disk));
    check_near('a half acquisition', mean(mean(slice(20:45, 20:45))), 1, 0.01);
    check_error('too large an overlap', 'ct:invalidHalfAcquisition', {'at most 26'}, @() turn.setHalfAcquisition('Overlap', 27));
    turn.setHalfAcquisition([]);
    check_true('off', turn.info().ComputedBins == 48 && turn.info().Overlap == 0);
    ct.setOptions('Interpolation', 'band_limited', 'Tolerance', 1e-3);
    check_true('the period', ct.info().Period > 48 * (1 + sqrt(2)) / 2);
    check_near('band-limited', middle(), linear, 0.01);
end

function raw_counts()
    ct = isocenter.CT('Angles', (0:40) * 0.07, 'Bins', 48, 'Rows', 2);
    lines = ct.phantomProjections(struct('Value', 0.05, 'SemiX', 15, 'SemiY', 15));
    expected = ct.reconstruct(lines);
    raw = uint16(round(100 + 60000 * exp(-double(lines))));
    flats = uint16(60100 * ones(48, 2, 3)); darks = uint16(100 * ones(48, 2));
    ct.setFlatField(flats, darks);
    check_near('uint16', ct.reconstruct(raw), expected, 2e-3);
    check_error('single', 'ct:flatField', {'counts or line integrals', 'forget'}, @() ct.reconstruct(single(raw)));
    ct.setOptions('Input', 'counts');
    check_near('single counts', ct.reconstruct(single(raw)), expected, 2e-3);
    ct.setOptions('Input', 'line_integrals');
    check_near('line integrals in spite of a flat field', ct.reconstruct(lines), expected, 1e-6);
    ct.setOptions('Input', 'transmission');
    check_near('transmissions', ct.reconstruct(exp(-lines)), expected, 1e-4);
    ct.setGeometry('Angles', (0:40) * 0.07, 'Bins', 48, 'Rows', 2, 'Axis', 24.5);
    ct.setOptions();
    check_near('the flat field stays with its detector', ct.reconstruct(raw), expected, 2e-3);
    ct.setFlatField(uint8(200 * ones(48, 2)));
    check_true('uint8, no darks', isequal(ct.filter(uint8(200 * ones(48, 2, 41))), zeros(48, 2, 41, 'single')));
    ct.setFlatField([]);
    check_near('line integrals again', ct.reconstruct(lines), expected, 1e-6);
end

% Outliers, flats at both ends of the scan, a monitor, bad pixels.
function frames()
    global streamed asked
    ct = isocenter.CT('Angles', (0:39) * pi / 40, 'Bins', 48, 'Rows', 12, 'FirstRow', 4, 'Slices', 6);
    lines = ct.phantomProjections(struct('Value', 0.02, 'SemiX', 15, 'SemiY', 15));
    monitor = 1 + 0.1 * sin(1:40);
    beam = reshape(20000 * (1 + ((1:40) - 0.5) / 80) .* monitor, 1, 1, []);
    raw = single(beam .* exp(-double(lines)));
    flats = 20000 * ones(48, 12, 5, 'single'); flats(:, :, 3:5) = 30000; flats(9, 5, 4) = 1e6;
    ct.setOptions('Input', 'counts', 'Filter', 'none');
    groups = struct('GroupFrames', [2 3], 'GroupPositions', [0 40], 'GroupMonitor', [1 1], 'Monitor', monitor);
    used = @(a) a(:, 4:9, :);
    ct.setFlatField(flats, groups, 'Combine', 'median');
    check_near('medians of groups', used(ct.filter(raw)), used(lines), 1e-4);
    ct.setFlatField(flats, zeros(48, 12, 'uint8'), groups, 'Outliers', struct());
    check_near('flats without outliers', used(ct.filter(raw)), used(lines), 1e-4);
    flats(30, 6, :) = 0;
    ct.setFlatField(flats, groups, 'Outliers', struct('Depth', 3), 'BadPixels', 10);
    check_true('a bad pixel', ct.info().BadPixels == 1);
    spoilt = raw; spoilt(24, 6, 5:7:40) *= 5;
    ct.setOptions('Input', 'counts');
    ct.setOutliers('Unit', 'median', 'Window', 5, 'Depth', 1, 'Threshold', 1, 'Side', 'both');
    expected = ct.reconstruct(raw);
    seen = ct.reconstruct(spoilt);
    check_true('outliers', ct.info().Outliers == numel(5:7:40));
    % Medians of five bins are off by 0.5 % of the longest line, in 6 of 40 views.
    check_near('without outliers', seen, expected, 0.02);
    % A stream reads the rows beside a slab: from two before the first slice to two after the last.
    streamed = zeros(48, 48, 6, 'single');
    asked = zeros(0, 2);
    ct.reconstructStream(@(first, count) part_of(spoilt, first, count), @keep);
    check_near('streamed', streamed, seen, 1e-5);
    check_true('rows beside the slices', min(asked(:, 1)) == -1 && max(sum(asked, 2)) - 1 == 8);
    clear -global streamed asked
    ct.setOutliers([]);
    check_true('left', max(abs(ct.reconstruct(spoilt)(:) - expected(:))) > 0.02 * max(abs(expected(:))));
end

% A beam with waves of a strength of its own in each view.
function eigenflats()
    ct = isocenter.CT('Angles', (0:39) * pi / 40, 'Bins', 48, 'Rows', 12);
    lines = ct.phantomProjections(struct('Value', 0.02, 'SemiX', 15, 'SemiY', 15));
    waves = cos((1:48).' / 3) * ones(1, 12);
    flats = single(20000 * (1 + 0.05 * waves .* reshape(cos(1:8), 1, 1, [])));
    raw = single(20000 * (1 + 0.05 * waves .* reshape(sin(1:40), 1, 1, [])) .* exp(-double(lines)));
    ct.setOptions('Input', 'counts', 'Filter', 'none');
    ct.setFlatField(flats, 'Eigenflats', 3);
    check_error('no fit', 'ct:flatField', {'views(1) is not known', 'fitFlatField'}, @() ct.filter(raw));
    fit = ct.fitFlatField(raw(:, :, 1:25));
    rest = ct.fitFlatField(raw(:, :, 26:40), 'FirstView', 26, 'Binning', 1);
    check_true('one eigenflat', fit.Components == 1 && isequal(size(fit.Weights), [1 25]) && isequal(size(rest.Weights), [1 15]));
    check_true('explained', isscalar(fit.Explained) && fit.Explained > 0.999 && fit.VariationAfter < fit.VariationBefore);
    % Each view's strength is what the mean flat says.
    seen = ct.filter(raw);
    check_near('waves are gone', seen, lines + mean(mean(seen - lines, 1), 2), 1e-4);
    check_error('a view beyond the scan', 'ct:invalidOptions', 'FirstView is 41', @() ct.fitFlatField(raw, 'FirstView', 41));
    check_error('views beyond the scan', 'ct:invalidOptions', 'FirstView is 2', @() ct.fitFlatField(raw, 'FirstView', 2));
end

% Frames by the definition, the centre and rows counted from 1, the perspective's pixels from 0; off again.
function distortion()
    ct = isocenter.CT('Angles', (0:4) * pi / 5, 'Bins', 44, 'Rows', 30);
    frames = single(0.3 + 0.7 * mod(reshape(1:44 * 30 * 5, 44, 30, 5) * 0.6180339887, 1));
    ct.setOptions('Input', 'transmission', 'Filter', 'none');
    b = [1.004 -3e-4 2e-6];
    p = [1.01 -0.004 0.9 0.006 0.99 -0.7 1e-5 -2e-5];
    along = [0.5 -1.25 2 0 0.75];
    aside = [-2.5 0 1.25 3 -0.5];
    expected = zeros(size(frames));
    for view = 1:5
        [y, x] = meshgrid(1:30, 1:44);
        x = x + aside(view) - 22.5;
        y = y + along(view) - 15.5;
        turn = atan(-0.03);
        [x, y] = deal(21.5 + x * cos(turn) + y * sin(turn), 14.5 + y * cos(turn) - x * sin(turn)); % from 0
        scale = p(7) * x + p(8) * y + 1;
        [x, y] = deal((p(1) * x + p(2) * y + p(3)) ./ scale + 1, (p(4) * x + p(5) * y + p(6)) ./ scale + 1); % from 1
        factor = polyval(fliplr(b), hypot(x - 20.5, y + 3));
        x = min(max(20.5 + factor .* (x - 20.5), 1), 44);
        y = min(max(-3 + factor .* (y + 3), 1), 30);
        expected(:, :, view) = interp2(double(frames(:, :, view)), y, x);
    end
    % Three steps between single values up to 1 round by 6e-8 each; the logarithm of 0.3 makes 3.3 times that of it, and rounds by 1e-7.
    ct.setDistortion('Radial', b, 'XCentre', 20.5, 'YCentre', -3, 'Perspective', p, 'Tilt', -0.03, 'XShifts', aside, 'YShifts', along);
    check_near('distortion', ct.filter(frames), -log(expected), 1e-6);
    ct.setDistortion(struct('YShifts', [1 1 1 1 1]));
    check_near('a row further', ct.filter(frames), -log(frames(:, [2:30 30], :)), 1e-6);
    ct.setDistortion([]);
    check_near('no distortion', ct.filter(frames), -log(frames), 1e-6);
    check_error('an angle in degrees', 'ct:invalidDistortion', {'Tilt is 1.5', 'not degrees'}, @() ct.setDistortion('Tilt', 1.5));
end

% A frame by the formula, a length in place of what it is made of, off again.
function phase()
    ct = isocenter.CT('Angles', (0:4) * pi / 5, 'Bins', 40, 'Rows', 24);
    frames = single(0.3 + 0.7 * mod(reshape(1:40 * 24 * 5, 40, 24, 5) * 0.6180339887, 1));
    ct.setOptions('Input', 'transmission', 'Filter', 'none');
    fresnel = 1.239841984e-3 / 24 * 200e3 / 9; % 24 keV, 200 mm, 3 um
    % Edges repeated, beyond the alternating tails that a kernel of 1.2 bins has, 1 / (5 r)^2 of values as uneven as these.
    at = @(n, k) min(max(k, 1), n);
    padded = double(frames(at(40, -239:280), at(24, -239:264), 3));
    squared = [0:259 -260:-1].' .^ 2 / 520 ^ 2 + [0:251 -252:-1] .^ 2 / 504 ^ 2;
    made = real(ifft2(fft2(padded) ./ (1 + pi * fresnel * 0.4 * squared)));
    expected = -log(made(241:280, 241:264));
    ct.setPhase('EnergyKev', 24, 'DistanceMm', 200, 'PixelUm', 3, 'DeltaBeta', 0.4);
    check_near('Paganin', ct.filter(frames)(:, :, 3), expected, 2e-5);
    ct.setPhase(struct('LengthUm', 3 * sqrt(pi * fresnel * 0.4), 'PixelUm', 3));
    check_near('Paganin by length', ct.filter(frames)(:, :, 3), expected, 2e-5);
    ct.setPhase('Method', 'ctf', 'EnergyKev', 24, 'DistanceMm', 50, 'PixelUm', 3, 'DeltaBeta', 0.4, 'UnsharpSigma', 1, 'UnsharpAmount', 1);
    check_true('contrast transfer function', all(isfinite(ct.filter(frames)(:))));
    ct.setPhase([]);
    check_near('no phase', ct.filter(frames), -log(frames), 1e-6);
    check_error('an energy in eV', 'ct:invalidPhase', {'EnergyKev is 20000', 'is the energy in eV?'}, ...
                @() ct.setPhase('EnergyKev', 20000, 'DistanceMm', 200, 'PixelUm', 3, 'DeltaBeta', 0.4));
end

% Of a scan with FirstRow 4.
function slab = part_of(p, first, count)
    global asked
    asked(end + 1, :) = [first, count];
    slab = p(:, 3 + first:2 + first + count, :);
end

function missing_values()
    c = isocenter.Context('Device', 'cpu', 'NanPolicy', 'replace', 'Threads', 2);
    ct = isocenter.CT(c, 'Angles', (0:40) * 0.07, 'Bins', 48);
    p = single(rand(48, 41));
    q = p; q([7 99]) = [NaN Inf]; p([7 99]) = 0;
    check_near('replaced by 0', ct.reconstruct(q), ct.reconstruct(p), 1e-6);
    ct.reconstruct(q);
    check_true('counted', ct.info().ReplacedValues == 2);
end

function streams()
    global streamed
    c = isocenter.Context('Device', 'cpu', 'MemoryCap', 2e6);
    ct = isocenter.CT(c, 'Angles', (0:99) * pi / 100, 'Bins', 64, 'Rows', 40);
    p = ct.phantomProjections(isocenter.CT.sheppLogan('modified', 31));
    for row = 1:40, p(:, row, :) *= row; end
    streamed = zeros(64, 64, 40, 'single');
    ct.reconstructStream(@(first, count) p(:, first:first + count - 1, :), @keep);
    check_near('streamed', streamed, ct.reconstruct(p), 1e-5);
    clear -global streamed
end

% Volumes of 8 and 16 bits.
function stored()
    global streamed
    rand('seed', 4);
    ct = isocenter.CT('Angles', (0:40) * 0.07, 'Bins', 48, 'Rows', 3);
    check_error('before a reconstruction', 'ct:notConfigured', 'setOutput', @() ct.output());
    p = single(rand(48, 3, 41));
    values = double(ct.reconstruct(p));
    check_true('single', strcmp(ct.output().Dtype, 'f32') && ct.output().Slope == 1 && isempty(ct.histogram()));
    window = [-0.05 0.2];
    for kind = {'u8', 'uint8'; 'u16', 'uint16'}.'
        largest = double(intmax(kind{2}));
        ct.setOutput('Dtype', kind{1}, 'Low', window(1), 'High', window(2), 'HistogramBins', 7);
        v = ct.reconstruct(p);
        x = min(max((values - window(1)) * (largest / diff(window)), 0), largest);
        check_true(['stored as ' kind{2}], isa(v, kind{2}) && isequal(size(v), size(values)) && max(abs(double(v(:)) - x(:))) <= 0.5 + 1e-9);
        found = ct.output();
        check_true('the window', found.Low == window(1) && found.High == window(2) && strcmp(found.Dtype, kind{1}));
        check_true('clipped', found.ClippedLow == sum(values(:) < window(1)) && found.ClippedHigh == sum(values(:) > window(2)));
        check_near('slope and offset', found.Offset + found.Slope * largest, window(2), 1e-12);
        check_true('histogram', isequal(size(ct.histogram()), [1 7]) && sum(ct.histogram()) == numel(values));
    end
    ct.setOutput('Dtype', 'f16');
    v = ct.reconstruct(p);
    check_true('the bits of halves: their signs', isa(v, 'uint16') && isequal(v >= 32768, values < 0));
    ct.setOutput(struct('Dtype', 'u16', 'LowPercentile', 0, 'HighPercentile', 100), 'MaskRadius', 1, 'MaskValue', -1);
    v = ct.reconstruct(p);
    check_true('outside the circle', ~any(any(v([1 end], [1 end], 2))) && ct.output().HistogramSlices == 3 && ct.output().ClippedLow == 0);
    streamed = zeros(48, 48, 3, 'uint16');
    ct.reconstructStream(@(first, count) p(:, first:first + count - 1, :), @keep);
    check_true('streamed as uint16', isa(streamed, 'uint16') && max(abs(double(streamed(:)) - double(v(:)))) <= 1);
    clear -global streamed
    check_error('a window', 'ct:invalidOptions', {'Low is 2', 'High is 1'}, @() ct.setOutput('Low', 2, 'High', 1));
    check_error('a mask', 'ct:invalidOptions', 'MaskRadius is 2', @() ct.setOutput('MaskRadius', 2));
    check_error('bins', 'ct:invalidOptions', 'HistogramBins is 100000', @() ct.setOutput('HistogramBins', 1e5));
    check_error('slices', 'ct:invalidOptions', 'HistogramSlices is -2', @() ct.setOutput('HistogramSlices', -2));
    ct.setOutput();
    check_near('single again', ct.reconstruct(p), single(values), 1e-6);
end

function keep(volume, first, count)
    global streamed
    streamed(:, :, first:first + count - 1) = volume;
end
