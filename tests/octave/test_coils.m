% Coils: values against sums, and mistakes.
function test_coils()
    rand('seed', 7);
    matrices();
    sensitivities();
    mistakes();
end

function z = noise(varargin)
    z = complex(rand(varargin{:}) - 0.5, rand(varargin{:}) - 0.5);
end

function matrices()
    data = noise(200, 4) * noise(4, 4);
    W = isocenter.coilWhitening(data);
    white = isocenter.coilApply(W, data);
    check_near('apply', white, data * W, 1e-12);
    check_near('whitened', white' * white / 200, 2 * eye(4), 1e-9);
    [M, energy] = isocenter.coilCompression(data, 2);
    s = svd(data) .^ 2;
    check_near('energy', energy, sum(s(1:2)) / sum(s), 1e-12);
    check_near('what is kept', norm(data * M, 'fro') ^ 2, sum(s(1:2)), 1e-9);
    lines = noise(16, 5, 4);
    [G, more] = isocenter.coilGeometricCompression(isocenter.Context('Device', 'cpu'), lines, 2);
    check_true('a matrix for each position', isequal(size(G), [4 2 16]));
    out = isocenter.coilApply(G, lines);
    check_true('readout x lines x kept', isequal(size(out), [16 5 2]));
    check_near('what each position keeps', norm(out(:)) ^ 2 / norm(lines(:)) ^ 2, more, 1e-12);
    single_ = isocenter.coilApply(single(M), single(data));
    check_true('single stays single', isa(single_, 'single'));
end

% Sensitivities of frequencies -1 to 1, which data of any object show exactly.
function sensitivities()
    n = 18; taps = noise(3, 3, 3); object = noise(n + 2, n + 2);
    data = zeros(n, n, 3);
    for c = 1:3, data(:, :, c) = conv2(object, taps(:, :, c), 'valid'); end
    x = ((0:19) - 10) / 20; y = ((0:23) - 12) / 24;
    expected = zeros(20, 24, 3);
    for c = 1:3
        expected(:, :, c) = exp(2i * pi * x.' * (-1:1)) * taps(:, :, c) * exp(2i * pi * (-1:1).' * y);
    end
    expected = expected ./ sqrt(sum(abs(expected) .^ 2, 3));
    [maps, values] = isocenter.coilMaps(data, [20 24], 'Threshold', 1e-4);
    check_true('sizes', isequal(size(maps), [20 24 3]) && isequal(size(values), [20 24]));
    check_near('eigenvalues', values, ones(20, 24), 1e-4);
    check_near('maps', abs(sum(conj(maps) .* expected, 3)), ones(20, 24), 1e-4);
    check_true('sets', isequal(size(isocenter.coilMaps(data, [20 24], 2, 'Method', 'adaptive', 'Window', 3)), [20 24 3 2]));
    volume = isocenter.coilMaps(noise(6, 6, 6, 2), [6 7 8], 'KernelX', 2, 'KernelY', 2, 'KernelZ', 2, 'Threshold', 0.5, 'Crop', -1);
    check_true('a volume', isequal(size(volume), [6 7 8 2]));
end

function mistakes()
    data = noise(8, 8, 2);
    check_error('kernel', 'coil:invalidOptions', 'KernelY is 9', @() isocenter.coilMaps(data, [9 9], 'KernelY', 9));
    check_error('size', 'coil:invalidArgument', 'size', @() isocenter.coilMaps(data, 9));
    check_error('sets', 'coil:invalidOptions', '3 sets', @() isocenter.coilMaps(data, [9 9], 3));
    check_error('kept', 'coil:invalidArgument', '3 virtual coils', @() isocenter.coilCompression(noise(9, 2), 3));
    check_error('samples', 'coil:arrayShape', '2 samples of 4 coils', @() isocenter.coilWhitening(noise(2, 4)));
end
