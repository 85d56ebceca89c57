% Iterative CT: iterates against the same formulas over the pair, values, history, bounds, start and streams, and what is refused.
function test_iterative()
    by_the_formulas();
    values();
    options();
    start();
    streams();
    weight_by_the_noise();
    weights_of_rays();
    convolution();
    refused();
end

% Of noise alone 8000 differences tell it to 2 %, and total variation leaves nearly all of it: 0.85 to 1.05 of it, whose power of 1.6 is 0.77 to 1.08.
function weight_by_the_noise()
    [ct, p] = scan();
    randn('seed', 1);
    [weight, noise] = ct.suggestRegularisation(single(0.2 * randn(size(p))));
    check_near('noise', noise, 0.2, 0.1);
    check_near('weight', weight, 0.7 * noise * sqrt(45), 0.3);
    ct.setPhase('LengthUm', 3, 'PixelUm', 3);
    check_error('after phase retrieval', 'ct:invalidArgument', {'setPhase is set', 'by eye'}, @() ct.suggestRegularisation(p));
end

% Dead columns that do not count leave no trace.
function weights_of_rays()
    [ct, p] = scan();
    w = ones(96, 45);
    w(30:31, :) = 0;
    ct.setRayWeights(w);
    spoilt = p;
    spoilt(30:31, :, :) = 100;
    run = @(data) by(ct, data, 'fista', 40, 'Bounds', 'box', 'Upper', 3, 'Weighting', 'given');
    check_near('dead columns', run(spoilt), run(p), 1e-6);
    check_error('a weight below 0', 'ct:invalidArgument', 'weights(3, 2) is -1', @() ct.setRayWeights([w(:, 1), [1; 1; -1; w(4:96, 1)], w(:, 3:45)]));
    check_error('weights of other sizes', 'ct:arrayShape', '96 x 45', @() ct.setRayWeights(w'));
    ct.setRayWeights();
    check_error('no weights', 'ct:notConfigured', 'setRayWeights', @() run(p));
    v = by(ct, p, 'fista', 40, 'Bounds', 'box', 'Upper', 3, 'Weighting', 'transmission');
    check_true('within bounds', all(v(:) >= 0 & v(:) <= 3));
end

% Least squares with the band-limited pair: the convolution and the pair differ where rays are not smooth.
function convolution()
    [ct, p] = scan();
    ct.setOptions('Algorithm', 'cgls', 'Projector', 'band_limited');
    for normal = {'pair', 'toeplitz'}
        ct.setIterative('Iterations', 8, 'Normal', normal{1});
        v.(normal{1}) = ct.reconstruct(p);
    end
    check_near('as a convolution', v.toeplitz, v.pair, 0.03);
end

function [ct, p, truth] = scan()
    ct = isocenter.CT(isocenter.Context('Device', 'cpu'), 'Angles', 0.01 + (0:44) * pi / 45, 'Bins', 96, 'Rows', 2, 'Size', [64 64]);
    body = struct('Value', {1, 0.3, -0.5}, 'X', {0, 6, -8}, 'Y', {0, -4, 5}, 'SemiX', {24, 8, 5}, 'SemiY', {20, 5, 6});
    truth = max(ct.phantomVolume(body), 0); % sums of values above and below 0 round
    truth(:, :, 2) *= 1.5;
    p = ct.forward(truth);
end

function v = by(ct, p, algorithm, iterations, varargin)
    ct.setOptions('Algorithm', algorithm);
    ct.setIterative('Iterations', iterations, varargin{:});
    v = ct.reconstruct(p);
end

function out = inverse(sums)
    out = zeros(size(sums), 'single');
    out(sums >= 1e-3) = 1 ./ sums(sums >= 1e-3);
end

% Products with the pair round by some 1e-6 of the largest value; the quotients of a handful of iterations make that ten times as much.
function by_the_formulas()
    [ct, p, truth] = scan();
    rays = inverse(ct.forward(ones(size(truth), 'single')));
    pixels = inverse(ct.adjoint(ones(size(p), 'single')));
    x = zeros(size(truth), 'single');
    found = zeros(1, 5);
    for k = 1:5
        r = p - ct.forward(x);
        found(k) = sum(double(rays(:)) .* double(r(:)) .^ 2) / 2;
        x = min(max(x + 1.5 * pixels .* ct.adjoint(rays .* r), 0), 1.2);
    end
    check_near('sirt', by(ct, p, 'sirt', 5, 'Relaxation', 1.5, 'Bounds', 'box', 'Lower', 0, 'Upper', 1.2), x, 2e-5);
    check_near('its objective', [ct.history().Objective], found, 2e-5);

    x = ones(size(truth), 'single');
    pixels = inverse(ct.adjoint(single(rays > 0)));
    for k = 1:5
        quotient = p ./ ct.forward(x);
        quotient(rays == 0) = 0;
        x = x .* pixels .* ct.adjoint(quotient);
    end
    check_near('mlem', by(ct, p, 'mlem', 5), x, 2e-5);

    % One step of CGLS is steepest descent, with a step for each slice.
    s = ct.adjoint(p);
    q = ct.forward(s);
    x = zeros(size(truth), 'single');
    for z = 1:2
        x(:, :, z) = s(:, :, z) * (norm(s(:, :, z)(:)) / norm(q(:, z, :)(:))) ^ 2;
    end
    check_near('cgls', by(ct, p, 'cgls', 1), x, 2e-5);
end

% A disk of 1: the mean well inside its edge, where a pixel or two have partial volume.
function values()
    ct = isocenter.CT('Angles', 0.01 + (0:44) * pi / 45, 'Bins', 64, 'BinPitch', 0.5);
    p = ct.phantomProjections(struct('Value', 1, 'SemiX', 11, 'SemiY', 11));
    c = (0:63) - 31.5;
    inside = c .^ 2 + c.' .^ 2 < 18 ^ 2;
    for pair = {'sirt', 60; 'cgls', 12; 'mlem', 60}.'
        v = by(ct, p, pair{:});
        check_true(sprintf('%s: %g', pair{1}, mean(v(inside))), abs(mean(v(inside)) - 1) < 0.005);
        found = ct.history();
        check_true([pair{1} ': the objective falls'], numel(found) == pair{2} && all(diff([found.Objective]) < 0) && all([found.Slices] == 1));
    end
end

function options()
    [ct, p, truth] = scan();
    off = @(v) norm(v(:) - truth(:));
    for algorithm = {'sirt', 'mlem'}
        check_true('3 iterations of 9 subsets go farther than 9', off(by(ct, p, algorithm{1}, 3, 'Subsets', 9)) < off(by(ct, p, algorithm{1}, 9)));
    end
    check_true('without bounds', min(by(ct, p, 'sirt', 20)(:)) < 0);
    check_true('with one', min(by(ct, p, 'sirt', 20, 'Bounds', 'non_negative')(:)) == 0);
    v = by(ct, p, 'sirt', 20, 'Bounds', 'box', 'Lower', -Inf, 'Upper', 1.1);
    check_true('with another', min(v(:)) < 0 && max(v(:)) == single(1.1));
    v = by(ct, p, 'cgls', 5, 'MaskRadius', 0.8, 'Regularisation', 3);
    c = (0:63) - 31.5;
    outside = c .^ 2 + c.' .^ 2 > 25.6 ^ 2;
    check_true('mask', ~any(v(:, :, 1)(outside)) && any(v(:)));
    % Slices that are alike, but for their noise.
    alike = p;
    alike(:, 2, :) = p(:, 1, :);
    alike += single(sin(reshape(1:numel(p), size(p)) .^ 2 / 7));
    rough = @(v) mean(abs(v(:, :, 1)(:) - v(:, :, 2)(:)));
    variation = @(word) by(ct, alike, 'total_variation', 200, 'Regularisation', 1, 'Bounds', 'non_negative', 'Variation', word);
    check_true('differences between slices', rough(variation('volume')) < 0.95 * rough(variation('slices')));
    rings = p;
    rings(1:7:end, :, :) += 1;
    ringed = @(weight) by(ct, rings, 'total_variation', 500, 'Regularisation', 0.02, 'Bounds', 'box', 'Upper', 2, 'RingWeight', weight);
    check_true('offsets of the detector', off(ringed(0.3)) < 0.5 * off(ringed(0)));
    p(:, 1, :) = 0;
    v = by(ct, p, 'cgls', 100, 'Tolerance', 0.002);
    slices = [ct.history().Slices];
    check_true('slices end one by one', slices(1) == 2 && all(slices(2:end) == 1) && numel(slices) < 100 && ~any(v(:, :, 1)(:)));
    ct.setIterative(struct('Iterations', []));
    ct.reconstruct(p);
    check_true('the default', numel(ct.history()) == 30);
end

% Five iterations and then five are ten.
function start()
    [ct, p, truth] = scan();
    for algorithm = {'sirt', 'mlem'}
        ten = by(ct, p, algorithm{1}, 10);
        objective = [ct.history().Objective];
        five = by(ct, p, algorithm{1}, 5);
        before = five + 0;
        check_near('five and five', ct.reconstruct(p, five), ten, 2e-5);
        check_true('INITIAL stays as it is', isequal(five, before));
        check_true('its history goes on', max(abs([ct.history().Objective] - objective(6:10))) < 2e-5 * objective(1));
        check_near('without it once more', ct.reconstruct(p), five, 1e-6);
        check_near('[] is none', ct.reconstruct(p, []), five, 1e-6);
    end
    % Before any setIterative.
    ct = isocenter.CT(isocenter.Context('Device', 'cpu'), 'Angles', 0.01 + (0:44) * pi / 45, 'Bins', 96, 'Rows', 2, 'Size', [64 64]);
    ct.setOptions('Algorithm', 'sirt');
    v = ct.reconstruct(p, truth);
    check_true('from the truth on', max(abs(v(:) - truth(:))) < 1e-4 && numel(ct.history()) == 30);
end

function streams()
    global streamed
    [ct, p] = scan();
    v = by(ct, p, 'sirt', 4);
    ct.reconstruct(p, v); % what it began with is no matter of the next call
    streamed = zeros(size(v), 'single');
    ct.reconstructStream(@(first, count) p(:, first:first + count - 1, :), @keep);
    check_near('streamed', streamed, v, 2e-5);
    check_true('history of a stream', numel(ct.history()) == 4);
    clear -global streamed
end

function keep(volume, first, count)
    global streamed
    streamed(:, :, first:first + count - 1) = volume;
end

function refused()
    [ct, p, truth] = scan();
    check_error('no history', 'ct:notConfigured', 'since setIterative', @() ct.history());
    check_error('unknown algorithm', 'ct:invalidOptions', {'art', '''fbp'', ''sirt'', ''cgls'', ''mlem'''}, @() ct.setOptions('Algorithm', 'art'));
    check_error('projector', 'ct:invalidOptions', 'Projector is ''band_limited'', some of whose weights are negative; it must be ''joseph'' where Algorithm is ''sirt''', ...
                @() ct.setOptions('Algorithm', 'sirt', 'Projector', 'band_limited'));
    set = @(words, varargin) check_error(words, 'ct:invalidIterative', words, @() ct.setIterative(varargin{:}));
    set('Iterations is 0; it must be 1 to 1000000', 'Iterations', 0);
    set('Iterations must be a whole number, not 2.5', 'Iterations', 2.5);
    set('Relaxation is 2.0; it must be above 0 and below 2', 'Relaxation', 2);
    set('Relaxation must not be 0', 'Relaxation', 0);
    set('Relaxation is NaN', 'Relaxation', NaN);
    set('Subsets is -1; it must be 1 to', 'Subsets', -1);
    set('Bounds is ''positive''; it must be one of ''none'', ''non_negative'', ''box''', 'Bounds', 'positive');
    set('Lower is 2.0 and Upper 1.0; Lower must be below Upper', 'Bounds', 'box', 'Lower', 2, 'Upper', 1);
    set('Lower is 1.0 and Upper 0.0; both must be 0 where Bounds is', 'Lower', 1);
    set('MaskRadius is 2.0; it must be 0 to 1.5', 'MaskRadius', 2);
    set('Regularisation is -1.0; it must be 0, or 1e-30 to 1e30', 'Regularisation', -1);
    set('Tolerance is 1.0; it must be 0 or more and below 1', 'Tolerance', 1);
    run = @(words, algorithm, varargin) check_error(words, 'ct:invalidArgument', words, @() by(ct, p, algorithm, 3, varargin{:}));
    run('Subsets is 46; it must be at most the number of views, 45', 'sirt', 'Subsets', 46);
    run('where Algorithm is ''cgls''', 'cgls', 'Subsets', 2);
    run('where Algorithm is ''cgls''', 'cgls', 'Bounds', 'non_negative');
    run('Relaxation is 0.5; it must be 1.0 where Algorithm is ''mlem''', 'mlem', 'Relaxation', 0.5);
    run('Regularisation is 1.0; it must be 0.0 where Algorithm is ''sirt''', 'sirt', 'Regularisation', 1);
    run('Regularisation is 0; it must be above 0 where Algorithm is ''total_variation''', 'total_variation', 'Bounds', 'non_negative');
    run('have no lower one', 'total_variation', 'Regularisation', 1);
    run('Huber is 0.1; it must be 0.0 where Algorithm is ''sirt''', 'sirt', 'Huber', 0.1);
    by(ct, p, 'total_variation', 3000, 'Regularisation', 1, 'Bounds', 'box', 'Upper', 2, 'Tolerance', 1e-3);
    found = ct.history();
    check_true('a gap ends total variation', found(end).Iteration < 3000 && found(end).Gap <= 1e-3 * found(end).Objective);
    run('whose images are never negative', 'mlem', 'Bounds', 'box', 'Lower', -1, 'Upper', 1);
    p(5, 2, 4) = -1;
    check_error('negative data', 'ct:invalidArgument', {'view 4, row 2, bin 5 is below 0', '''NanPolicy'', ''replace'''}, @() by(ct, p, 'mlem', 3));
    check_error('an initial volume without iterations', 'ct:invalidArgument', 'initial is what iterations begin with; the option Algorithm is ''fbp''', ...
                @() isocenter.CT('Angles', [0 1], 'Bins', 8).reconstruct(zeros(8, 2, 'single'), zeros(8, 'single')));
    ct.setOptions('Algorithm', 'sirt');
    ct.setIterative();
    check_error('an initial volume of another size', 'ct:arrayShape', 'initial is 8 x 8', @() ct.reconstruct(p, zeros(8, 'single')));
    ct.setOutput('Dtype', 'u8', 'High', 1);
    check_error('an initial volume for one of 8 bits', 'ct:invalidArgument', 'initial is given; there must be none where the volume is stored by setOutput', ...
                @() ct.reconstruct(p, truth));
    ct.setOutput('MaskRadius', 1);
    check_error('nor for one with a mask', 'ct:invalidArgument', 'initial is given; there must be none where the volume is stored by setOutput', ...
                @() ct.reconstruct(p, truth));
    turn = isocenter.CT('Angles', (0:35) * pi / 18, 'Bins', 16, 'Axis', 12);
    turn.setHalfAcquisition();
    turn.setOptions('Algorithm', 'sirt');
    check_error('half acquisition', 'ct:invalidArgument', {'Algorithm is ''sirt''', 'write setHalfAcquisition([])'}, @() turn.reconstruct(ones(16, 36, 'single')));
    turn.setHalfAcquisition([]);
    turn.reconstruct(ones(16, 36, 'single'));
end
