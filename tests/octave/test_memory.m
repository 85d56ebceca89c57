% Nothing of the size of projections or volume is copied: what the process needs at most says so.
function test_memory()
    ct_arrays();
    mri_arrays();
    pet_arrays();
    many_plans();
end

function ct_arrays()
    cap = 20e6;
    c = isocenter.Context('Device', 'cpu', 'MemoryCap', cap);
    ct = isocenter.CT(c, 'Angles', (0:199) * pi / 200, 'Bins', 512, 'Rows', 100);
    p = zeros(512, 100, 200, 'single');
    raw = zeros(512, 100, 200, 'uint16');
    volume = zeros(512, 512, 100, 'single');
    ct.filter(p);   % threads and tables are made once
    clear ans
    grows('ct.reconstruct', @() ct.reconstruct(p), volume, cap);
    grows('ct.filter', @() ct.filter(p), p, cap);
    grows('ct.forward', @() ct.forward(volume), p, cap);
    grows('ct.adjoint', @() ct.adjoint(p), volume, cap);
    grows('ct.phantomProjections', @() ct.phantomProjections(isocenter.CT.sheppLogan('modified', 200)), p, cap);
    ct.setFlatField(ones(512, 100, 'single'));
    grows('ct.reconstruct of raw counts', @() ct.reconstruct(raw), volume, cap);
end

function mri_arrays()
    mri = isocenter.MRI(zeros(2, 4e6, 'single'), 'Size', [4 4], 'Unit', 'cycles_per_voxel');
    mri.setOptions('Method', 'exact');
    samples = complex(ones(4e6, 1, 'single'), 1);
    image = mri.adjoint(samples);
    % The library works on a copy of its own; one of ours would be another 32 MB.
    grows('mri.adjoint', @() mri.adjoint(samples), image, 32e6);
    grows('mri.forward', @() mri.forward(image), samples, 32e6);
end

function pet_arrays()
    pet = isocenter.PET('Size', [96 96 32], 'Voxel', 4, 'Azimuths', 40, 'MaxTilt', 0.1);
    pet.setResponse('TofFwhm', 100, 'RadialFwhm', 5, 'AxialFwhm', 5);
    image = ones(96, 96, 32, 'single');
    h = pet.forward(image);
    grows('pet.forward', @() pet.forward(image), h, 10e6);
    grows('pet.adjoint', @() pet.adjoint(h), image, 10e6);
end

function many_plans()
    geometry = struct('Angles', (0:9) * 0.3, 'Bins', 64);
    p = ones(64, 10, 'single');
    for k = 1:300, isocenter.CT(geometry).reconstruct(p); end
    before = status('VmRSS');
    for k = 1:3000, isocenter.CT(geometry).reconstruct(p); end
    grown = status('VmRSS') - before;
    check_true(sprintf('3000 plans: %.1f MB more', grown / 1e6), grown < 5e6);
end

% `f` needs no more memory than its result, what the library works with, and a little.
function grows(name, f, result, work)
    file = fopen('/proc/self/clear_refs', 'w');
    fputs(file, '5');    % the peak begins anew
    fclose(file);
    before = status('VmRSS');
    out = f();
    grown = status('VmHWM') - before;
    most = sizeof(result) + work + 12e6;
    check_true(sprintf('%s: %.0f MB more, at most %.0f', name, grown / 1e6, most / 1e6), grown <= most);
    if numel(result) > 1
        check_true([name ': measures something'], grown > 0.9 * sizeof(result));
    end
end

function bytes = status(name)
    bytes = 1024 * str2double(regexp(fileread('/proc/self/status'), [name ':\s*(\d+)'], 'tokens', 'once'){1});
end
