% CT: filtered back projection of raw counts, and a reconstruction from few views by least squares.
% Writes isocenter_ct.png to the current folder.
addpath(fullfile(fileparts(mfilename('fullpath')), '..'));
addpath(fileparts(mfilename('fullpath')));

% What a scanner measures: counts of a phantom of water, 0.02 a bin, with a flat and a dark field.
bins = 512;
views = 800;
scan = struct('Angles', (0:views - 1) * pi / views, 'Bins', bins, 'Rows', 4);
plan = isocenter.CT(isocenter.Context('Progress', 'console'), scan);
head = isocenter.CT.sheppLogan('modified', 0.48 * bins);
truth = plan.phantomVolume(head);
lines = plan.phantomProjections(head);
transmitted = 50000 * exp(-0.02 * lines);
raw = uint16(200 + transmitted + sqrt(transmitted) .* randn(size(lines), 'single'));
flats = uint16(50200 * ones(bins, 4));
darks = uint16(200 * ones(bins, 4));

plan.setFlatField(flats, darks);
plan.setOptions('Filter', 'hann');
volume = plan.reconstruct(raw) / 0.02;                  % bins x rows x views -> nx x ny x slices
fprintf('%d views: root mean square error %.4f\n', views, sqrt(mean((volume(:) - truth(:)) .^ 2)));

% The same slice from 50 views: filtered back projection has streaks, and less so the least squares solution of 15 steps of
% conjugate gradient, for which forward and adjoint are each other's transpose.
few = isocenter.CT('Angles', scan.Angles(1:16:end), 'Bins', bins);
p = single(log(50000 ./ max(single(raw(:, 1, 1:16:end)) - 200, 1)) / 0.02);
streaks = few.reconstruct(p);
x = zeros(bins, 'single');
residual = squeeze(p);
gradient = few.adjoint(residual);
direction = gradient;
for step = 1:15
    q = few.forward(direction);
    before = norm(gradient(:)) ^ 2;
    alpha = before / norm(q(:)) ^ 2;
    x = x + alpha * direction;
    residual = residual - alpha * q;
    gradient = few.adjoint(residual);
    direction = gradient + norm(gradient(:)) ^ 2 / before * direction;
end
fprintf('50 views: filtered back projection %.4f, least squares %.4f\n', ...
        sqrt(mean((streaks(:) - truth(1:bins ^ 2).') .^ 2)), sqrt(mean((x(:) - truth(1:bins ^ 2).') .^ 2)));

disp('from left to right: truth; 800 views; 50 views, filtered back projection; 50 views, least squares');
save_picture('isocenter_ct.png', {truth(:, :, 1), volume(:, :, 1), streaks, x}, [0 0.45]);
