function mri_measured(folder)
% MRI_MEASURED  Reconstructs a measured scan and writes isocenter_mri_measured.png to the current folder.
%   MRI_MEASURED(FOLDER) reads NumPy arrays: kspace.npy, trajectory_cycles_per_fov.npy or trajectory_cycles_per_pixel.npy, and
%   sensitivities.npy if it is there. kspace.h of the examples in C tells their shapes, which are in reverse here.
    addpath(fullfile(fileparts(mfilename('fullpath')), '..'));
    samples = read_npy(fullfile(folder, 'kspace.npy'));
    readout = size(samples, 1);
    per_spoke = ndims(samples) == 3;                    % samples of a spoke x spokes x coils
    coils = size(samples, ndims(samples));
    samples = reshape(samples, [], coils);
    unit = 'cycles_per_field_of_view';
    file = fullfile(folder, 'trajectory_cycles_per_fov.npy');
    if ~exist(file, 'file')
        unit = 'cycles_per_voxel';
        file = fullfile(folder, 'trajectory_cycles_per_pixel.npy');
    end
    trajectory = read_npy(file);
    trajectory = reshape(trajectory, size(trajectory, 1), []);

    context = isocenter.Context('Progress', 'console');
    maps_file = fullfile(folder, 'sensitivities.npy');
    if exist(maps_file, 'file')
        maps = read_npy(maps_file);                     % nx x ny x nz x coils
        grid = size(maps);
        grid = grid(1:end - 1);
        mri = isocenter.MRI(context, trajectory, 'Size', grid, 'Unit', unit, 'Coils', coils);
        mri.setMaps(maps);
    else
        grid = repmat(readout / 2, 1, size(trajectory, 1)); % scanners sample spokes twice as finely as needed
        mri = isocenter.MRI(context, trajectory, 'Size', grid, 'Unit', unit, 'Coils', coils);
    end
    if per_spoke, mri.computeWeights('radial', readout); else, mri.computeWeights(); end
    gridded = mri.gridding(samples);
    mri.setOptions('Iterations', 15, 'Lambda', 0.02);
    solved = mri.reconstruct(samples);
    residuals = mri.history();
    fprintf('%d samples of %d coils, %s voxels; %d iterations down to %.1e\n', size(samples, 1), coils, mat2str(grid), ...
            numel(residuals) - 1, residuals(end));
    panels = {middle(gridded, mri), middle(solved, mri)};
    sorted = sort(panels{2}(:));
    disp('from left to right: gridding; solver');
    save_picture('isocenter_mri_measured.png', panels, [0 sorted(round(0.998 * end))]);
end

% The middle slice, y upwards; coils that have an image each are joined as the root of the sum of squares.
function slice = middle(image, mri)
    info = mri.info();
    if info.Images > 1
        slice = sqrt(sum(abs(image) .^ 2, ndims(image)));
    else
        slice = abs(image(:, :, floor(end / 2) + 1));
    end
    slice = kron(double(fliplr(slice)), ones(ceil(256 / size(slice, 1))));
end
