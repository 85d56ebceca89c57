% MRI: a spiral scan with four coils, reconstructed by gridding and by conjugate gradient.
% Writes isocenter_mri.png to the current folder.
addpath(fullfile(fileparts(mfilename('fullpath')), '..'));
addpath(fileparts(mfilename('fullpath')));

% 24 interleaved spirals, half as many as the image needs: the coils make up for the rest.
n = 256;
arms = 24;
along = linspace(0, 1, 4000).';
turns = n / 2 / arms * 0.5;
k = 0.5 * along .* exp(2i * pi * (turns * along + (0:arms - 1) / arms));
trajectory = [real(k(:)), imag(k(:))].';                 % 2 x samples, cycles per voxel

% Four coils about the head.
coils = 4;
[x, y] = ndgrid((0:n - 1) / n - 0.5);
maps = zeros(n, n, coils);
for c = 1:coils
    turn = 2 * pi * c / coils;
    maps(:, :, c) = exp(-2 * ((x - 0.6 * cos(turn)) .^ 2 + (y - 0.6 * sin(turn)) .^ 2) + 1i * turn);
end
maps = single(maps ./ sqrt(sum(abs(maps) .^ 2, 3)));

mri = isocenter.MRI(isocenter.Context('Progress', 'console'), single(trajectory), 'Size', [n n], 'Unit', 'cycles_per_voxel', ...
                    'Coils', coils);
mri.setMaps(maps);
truth = mri.phantomImage(isocenter.MRI.sheppLogan('modified', n / 2));
samples = mri.forward(truth);                           % samples x coils
noise = complex(randn(size(samples), 'single'), randn(size(samples), 'single'));
samples = samples + 0.01 * norm(samples(:)) / norm(noise(:)) * noise;

mri.computeWeights();
gridded = mri.gridding(samples);
mri.setOptions('Iterations', 20, 'Lambda', 1e-3);
solved = mri.reconstruct(samples);
residuals = mri.history();
[gridded_psnr, gridded_error] = mri.compare(gridded, truth);
[solved_psnr, solved_error] = mri.compare(solved, truth);
fprintf('gridding: PSNR %.1f dB, error %.1f %%\n', gridded_psnr, gridded_error);
fprintf('solver:   PSNR %.1f dB, error %.1f %%, %d iterations down to %.1e\n', solved_psnr, solved_error, ...
        numel(residuals) - 1, residuals(end));

disp('from left to right: truth; gridding; solver');
shown = @(image) fliplr(abs(image));                    % y upwards
save_picture('isocenter_mri.png', {shown(truth), shown(gridded), shown(solved)}, [0 1.8]);
