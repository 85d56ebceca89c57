% PET: a simulated time-of-flight scan of a cylinder with six hot spheres, reconstructed with a response that is right, and with one
% that is too sharp. Writes isocenter_pet.png to the current folder.
addpath(fullfile(fileparts(mfilename('fullpath')), '..'));
addpath(fileparts(mfilename('fullpath')));

% A cylinder of water, 350 mm wide, and spheres of 20 mm with four times its activity: on top of it, so 3.
angle = (0:5) * pi / 3;
centres = [75 * cos(angle); 75 * sin(angle); zeros(1, 6)];
bodies = struct('Shape', 'cylinder', 'X', 0, 'Y', 0, 'HalfX', 175, 'HalfZ', 40, 'Activity', 1, 'Attenuation', 0.0096);
for k = 1:6
    bodies(k + 1) = struct('Shape', 'ellipsoid', 'X', centres(1, k), 'Y', centres(2, k), 'HalfX', 10, 'HalfZ', 10, 'Activity', 3, ...
                           'Attenuation', 0);
end

pet = isocenter.PET(isocenter.Context('Progress', 'console'), 'Size', [100 100 16], 'Voxel', 4, 'Azimuths', 24, ...
                    'MaxTilt', 3 * pi / 180);
scan = struct('Bodies', bodies, 'TofFwhm', 400, 'RadialFwhm', 9, 'AxialFwhm', 6, 'Randoms', 0.2, 'Scatter', 0.15);
[first, second, times, tally] = pet.simulate(scan, 3e6); % positions 3 x events
[measured, dropped] = pet.deposit(first, second, times); % nx x ny x nz x views
fprintf('%d events, %d outside the lattice\n', numel(times), dropped.OutsideLattice);
[factors, additive] = pet.expect(scan, tally);

truth = pet.phantomImage(bodies);
images = cell(1, 2);
widths = [4 9];                                         % of the response, mm; the scan's is 9
for k = 1:2
    pet.setResponse('TofFwhm', 400, 'RadialFwhm', widths(k), 'AxialFwhm', 6);
    pet.setOptions('Algorithm', 'ramla', 'Iterations', 6);
    images{k} = pet.reconstruct(measured, factors, additive);
    fprintf('response of %d mm: contrast recovery %.2f, noise %.2f\n', widths(k), ...
            pet.contrastRecovery(images{k}, centres, 4), pet.noise(images{k}));
end

disp('from left to right: truth; response of 4 mm; response of 9 mm, as the scan''s');
middle = @(image) kron(mean(image(:, :, 8:9), 3), ones(4));   % two slices about the centre, 4 x 4 pixels a voxel
save_picture('isocenter_pet.png', {middle(truth), middle(images{1}), middle(images{2})}, [0 3]);
