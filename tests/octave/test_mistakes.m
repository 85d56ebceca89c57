% What new users get wrong, and that the message says what to write instead: their method, their argument, its value, a way out.
function test_mistakes()
    order_of_dimensions();
    forgotten_dimensions();
    classes_and_names();
    values_and_order_of_calls();
    warnings_name_the_method();
    shown();
end

% The message begins with the method and has all the words; nothing of C is in it.
function says(method, words, f)
    said = '';
    try, f(); catch failure, said = failure.message; end
    if ischar(words), words = {words}; end
    for k = 1:numel(words)
        check_true(sprintf('"%s" is not in "%s"', words{k}, said), ~isempty(strfind(said, words{k})));
    end
    check_true(sprintf('"%s" begins with %s', said, method), strncmp(said, [method ': '], numel(method) + 2));
    strange = regexp(said, 'isoc_|ISOC_|NULL|geometry\.|options\.|response\.|\<[FCU](8|16|32|64)\>|handle\>|\.\.\.\)', 'match');
    check_true(sprintf('"%s" is C''s in "%s"', strjoin(strange, ' '), said), isempty(strange));
end

function order_of_dimensions()
    a = (0:17) * pi / 18;
    p = ones(16, 4, 18, 'single');
    ct = isocenter.CT('Angles', a, 'Bins', 16, 'Rows', 4);
    sinograms = isocenter.CT('Angles', a, 'Bins', 16, 'Rows', 4, 'Order', 'sinograms');
    says('CT.reconstruct', {'projections is 16 x 18 x 4; it must be 16 x 4 x 18 (bins x rows x views)', ...
                            'write permute(projections, [1 3 2]), or make the plan with ''Order'', ''sinograms'''}, @() ct.reconstruct(permute(p, [1 3 2])));
    says('CT.reconstruct', 'or make the plan with ''Order'', ''frames''', @() sinograms.reconstruct(p));
    says('CT.reconstruct', 'write permute(projections, [3 2 1])', @() ct.reconstruct(permute(p, [3 2 1])));
    says('CT.reconstruct', 'if its elements lie in that order, write reshape(projections, 16, 4, 18)', @() ct.reconstruct(reshape(p, 16, 72)));
    says('CT.forward', 'write permute(volume, [2 3 1])', @() ct.forward(ones(4, 16, 16, 'single')));
    says('CT.setFlatField', 'write flats.''', @() ct.setFlatField(ones(4, 16, 'single')));
    says('CT.setFlatField', 'write permute(flats, [2 3 1])', @() ct.setFlatField(ones(10, 16, 4, 'single')));
    q = single(rand(16, 4, 18));
    expected = ct.reconstruct(q);
    for given = {permute(q, [1 3 2]), permute(q, [3 2 1]), permute(q, [2 3 1]), reshape(q, 16, 72)}
        said = '';
        try, ct.reconstruct(given{1}); catch failure, said = failure.message; end
        projections = given{1};
        advice = regexp(said, 'write (\w+\([^)]*\))', 'tokens', 'once'){1};
        check_true(['the advice works: ' advice], isequal(ct.reconstruct(eval(advice)), expected));
    end
    k = rand(2, 100) - 0.5;
    says('MRI.setGeometry', 'trajectory is 100 x 2; it must be 2 x samples or 3 x samples, x first: write trajectory.''', ...
         @() isocenter.MRI(k.', 'Size', [16 12], 'Unit', 'cycles_per_voxel'));
    says('MRI.setGeometry', 'trajectory is 2 x 10 x 10; it must be 2 x samples or 3 x samples, x first: write reshape(trajectory, 2, [])', ...
         @() isocenter.MRI(reshape(k, 2, 10, 10), 'Size', [16 12], 'Unit', 'cycles_per_voxel'));
    says('MRI.setGeometry', 'trajectory is 10 x 10 x 2; it must be 2 x samples or 3 x samples, x first: write reshape(trajectory, [], 2).''', ...
         @() isocenter.MRI(reshape(k.', 10, 10, 2), 'Size', [16 12], 'Unit', 'cycles_per_voxel'));
    says('MRI.setGeometry', '[real(trajectory(:)), imag(trajectory(:))].''', ...
         @() isocenter.MRI(complex(k(1, :), k(2, :)), 'Size', [16 12], 'Unit', 'cycles_per_voxel'));
    mri = isocenter.MRI(k, 'Size', [16 12], 'Unit', 'cycles_per_voxel');
    says('MRI.forward', 'write image.''', @() mri.forward(ones(12, 16)));
    says('MRI.reconstruct', 'write reshape(samples, 100, 1)', @() mri.reconstruct(ones(10, 10)));
    pet = isocenter.PET('Size', [12 10 4], 'Voxel', 8, 'Azimuths', 3, 'MaxTilt', 0.2);
    pet.setResponse('TofFwhm', 120, 'RadialFwhm', 9, 'AxialFwhm', 9);
    says('PET.reconstruct', 'write permute(measured, [4 3 2 1])', @() pet.reconstruct(ones(3, 4, 10, 12, 'single')));
    says('PET.deposit', {'first_positions is 5 x 3', 'write first_positions.'''}, @() pet.deposit(ones(5, 3), ones(5, 3), ones(5, 1)));
    says('PET.setGeometry', {'Views is 3 x 2', 'write Views.'''}, ...
         @() isocenter.PET('Size', [12 10 4], 'Voxel', 8, 'MaxTilt', 0.2, 'Views', zeros(3, 2)));
    says('PET.setResponse', 'RadialTable is 3 x 2; it must be 2 x n', ...
         @() pet.setResponse('TofFwhm', 120, 'AxialFwhm', 9, 'RadialTable', [0 1; 5 2; 100 3]));
    says('PET.setTables', {'map is 10 x 12', 'write map.'''}, @() pet.setTables(1, ones(10, 12), [0; 0; 0], single(1)));
    says('PET.setTables', {'offsets is 1 x 3', 'write offsets.'''}, @() pet.setTables(1, ones(12, 10), [0 0 0], single(1)));
end

function forgotten_dimensions()
    a = (0:17) * pi / 18;
    p = ones(16, 4, 18, 'single');
    ct = isocenter.CT('Angles', a, 'Bins', 16);
    says('CT.reconstruct', 'make the plan with ''Rows'', 4', @() ct.reconstruct(p));
    says('CT.reconstruct', 'write permute(projections, [1 3 2]) and make the plan with ''Rows'', 4', @() ct.reconstruct(permute(p, [1 3 2])));
    mri = isocenter.MRI(rand(2, 100) - 0.5, 'Size', [16 12], 'Unit', 'cycles_per_voxel');
    s = complex(ones(100, 8));
    says('MRI.reconstruct', 'samples is 100 x 8; it must be 100 x 1 (samples): make the plan with ''Coils'', 8', @() mri.reconstruct(s));
    says('MRI.gridding', 'write samples.'' and make the plan with ''Coils'', 8', @() mri.gridding(s.'));
    says('MRI.adjoint', 'write reshape(samples, 100, 8) and make the plan with ''Coils'', 8', @() mri.adjoint(reshape(s, 10, 10, 8)));
    says('MRI.setMaps', 'make the plan with ''Coils'', 8', @() mri.setMaps(ones(16, 12, 8)));
    says('MRI.forward', 'make the plan with ''Coils'', 8', @() mri.forward(ones(16, 12, 8)));
    says('MRI.setGeometry', 'of a volume, Size [16 12 8], it must be 3 x samples', ...
         @() isocenter.MRI([0; 0], 'Size', [16 12 8], 'Unit', 'cycles_per_voxel'));
    says('CT.setGeometry', 'Angles is missing', @() isocenter.CT('Bins', 16));
    says('CT.setGeometry', 'Bins is missing', @() isocenter.CT('Angles', a));
    says('MRI.setGeometry', 'Unit is missing: ''cycles_per_voxel'', ''cycles_per_field_of_view'' or ''radians_per_voxel''', ...
         @() isocenter.MRI([0; 0], 'Size', [4 4]));
    says('MRI.setGeometry', 'trajectory is missing', @() isocenter.MRI('Size', [4 4], 'Unit', 'cycles_per_voxel'));
    says('PET.setGeometry', 'MaxTilt is missing', @() isocenter.PET('Size', [12 10 4], 'Voxel', 8, 'Azimuths', 3));
    says('PET.setGeometry', 'Azimuths is missing', @() isocenter.PET('Size', [12 10 4], 'Voxel', 8, 'MaxTilt', 0.2));
    says('MRI.setField', 'times is missing', @() mri.setField(ones(16, 12)));
end

function classes_and_names()
    a = (0:17) * pi / 18;
    ct = isocenter.CT('Angles', a, 'Bins', 16);
    p = ones(16, 18);
    says('CT.reconstruct', 'write single(projections)', @() ct.reconstruct(p));
    says('CT.reconstruct', 'write uint16(projections)', @() ct.reconstruct(int16(p))); % counts
    says('CT.reconstruct', {'projections are uint16 counts', 'setFlatField'}, @() ct.reconstruct(uint16(p)));
    pet = isocenter.PET('Size', [12 10 4], 'Voxel', 8, 'Azimuths', 3, 'MaxTilt', 0.2);
    says('PET.adjoint', 'write uint32(histo_images)', @() pet.adjoint(int32(ones(12, 10, 4, 3))));
    says('CT.setGeometry', 'such as ''Angles''', @() isocenter.CT(a, 16));
    says('CT.setGeometry', {'no ''Angle''', 'Angles, Bins'}, @() isocenter.CT('Angle', a, 'Bins', 16));
    says('CT.setGeometry', {'no ''bin_pitch''', 'BinPitch'}, @() isocenter.CT('Angles', a, 'Bins', 16, 'bin_pitch', 2));
    says('CT.setOptions', {'Filter is ''shepp-logan''', '''shepp_logan'''}, @() ct.setOptions('Filter', 'shepp-logan'));
    says('CT.setOptions', 'Filter is ''Hann''', @() ct.setOptions('Filter', 'Hann'));
    says('MRI.setGeometry', '''cycles_per_field_of_view''', @() isocenter.MRI([0; 0], 'Size', [4 4], 'Unit', 'cycles-per-fov'));
    says('CT.sheppLogan', 'kind must be one of', @() isocenter.CT.sheppLogan(100, 'modified'));
    says('Context', {'Device is ''cuda''', '''gpu'''}, @() isocenter.Context('Device', 'cuda'));
    says('Context', 'Gpus is given, but Device is ''auto''; it must be ''gpu''', @() isocenter.Context('Gpus', 0));
    says('PET.simulate', {'Shape is ''sphere''', '''ellipsoid'''}, @() pet.simulate(struct('Bodies', struct('Shape', 'sphere')), 10));
end

function values_and_order_of_calls()
    a = (0:17) * pi / 18;
    ct = isocenter.CT('Angles', a, 'Bins', 16);
    says('CT.setGeometry', 'Bins is -1', @() isocenter.CT('Angles', a, 'Bins', -1));
    says('CT.setGeometry', 'BinPitch is -1', @() isocenter.CT('Angles', a, 'Bins', 16, 'BinPitch', -1));
    says('CT.setGeometry', 'PixelSize / BinPitch is', @() isocenter.CT('Angles', a, 'Bins', 16, 'PixelSize', 1e9));
    says('CT.setGeometry', 'Axis has 2 values', @() isocenter.CT('Angles', a, 'Bins', 16, 'Axis', [3 4]));
    says('CT.setGeometry', 'Angles(3) is NaN', @() isocenter.CT('Angles', [0 1 NaN], 'Bins', 16));
    says('CT.setGeometry', 'Size(1) is 2000000', @() isocenter.CT('Angles', a, 'Bins', 16, 'Size', [2e6 16]));
    says('CT.setOptions', 'ButterworthOrder is 100', @() ct.setOptions('ButterworthOrder', 100));
    says('CT.setOptions', 'Response has 0 values', @() ct.setOptions('Filter', 'custom'));
    says('CT.reconstruct', {'projections(2, 3) is NaN', 'isocenter.Context(''NanPolicy'', ''replace'')'}, ...
         @() ct.reconstruct(subsasgn(ones(16, 18, 'single'), struct('type', '()', 'subs', {{2, 3}}), NaN)));
    capped = isocenter.CT(isocenter.Context('Device', 'cpu', 'MemoryCap', 1000), 'Angles', a, 'Bins', 16);
    says('CT.reconstruct', 'the context''s MemoryCap is 1000 bytes', @() capped.reconstruct(ones(16, 18, 'single')));
    says('CT.reconstruct', 'call setGeometry first', @() isocenter.CT().reconstruct(1));
    k = 6 * (rand(2, 100) - 0.5);
    says('MRI.setGeometry', 'would fit ''cycles_per_field_of_view'' or ''radians_per_voxel''', ...
         @() isocenter.MRI(k, 'Size', [16 12], 'Unit', 'cycles_per_voxel'));
    mri = isocenter.MRI(k, 'Size', [16 12], 'Unit', 'cycles_per_field_of_view');
    mri.setOptions('Penalty', 'matrix', 'Lambda', 1);
    says('MRI.reconstruct', 'Penalty is ''matrix''; setMatrix comes first', @() mri.reconstruct(ones(100, 1)));
    mri.setField(ones(16, 12), ones(100, 1));
    mri.setOptions('Method', 'nufft');
    says('MRI.forward', 'Method must be ''auto'' or ''exact''', @() mri.forward(ones(16, 12)));
    mri.setOptions('Normal', 'toeplitz');
    says('MRI.normal', 'Normal cannot be ''toeplitz''', @() mri.normal(ones(16, 12)));
    pet = isocenter.PET('Size', [12 10 4], 'Voxel', 8, 'Azimuths', 3, 'MaxTilt', 0.2);
    says('PET.adjoint', {'view 1 has no response', 'setResponse or setTables comes first'}, @() pet.adjoint(ones(12, 10, 4, 3, 'single')));
    says('PET.setResponse', 'RadialFwhm is 0', @() pet.setResponse('TofFwhm', 120, 'AxialFwhm', 9));
    says('PET.setResponse', 'RadialTable(1, 2) is 5 after 100', ...
         @() pet.setResponse('TofFwhm', 120, 'AxialFwhm', 9, 'RadialTable', [100 5; 5 3]));
    says('PET.setResponse', 'Shift is 4 sigmas; it must be 0 to CutWidth, 3', @() pet.setResponse( ...
         'TofFwhm', 120, 'RadialFwhm', 9, 'AxialFwhm', 9, 'Profile', 'asymmetric', 'Ratio', 2, 'Shift', 4, 'Share', 0.5));
    says('PET.setOrder', 'order(2) is 1, which is there already', @() pet.setOrder([1 1]));
    says('PET.setGeometry', 'Views(:, 1) and Views(:, 2) are the same direction', ...
         @() isocenter.PET('Size', [12 10 4], 'Voxel', 8, 'MaxTilt', 0.2, 'Views', zeros(2, 2)));
    says('PET.setGeometry', 'MaxTilt is 17 rad', @() isocenter.PET('Size', [12 10 4], 'Voxel', 8, 'Azimuths', 3, 'MaxTilt', 17));
    says('PET.simulate', 'Bodies(1).HalfX is 0', @() pet.simulate(struct('Bodies', struct('Activity', 1)), 10));
    says('PET.setTables', 'offsets(:, 2)', @() pet.setTables(1, ones(12, 10), zeros(3, 2), ones(2, 1, 'single')));
    pet.setResponse('TofFwhm', 120, 'RadialFwhm', 9, 'AxialFwhm', 9);
    pet.setOptions('Order', 'given');
    says('PET.reconstruct', 'Order is ''given''; setOrder comes first', @() pet.reconstruct(ones(12, 10, 4, 3, 'single')));
end

function warnings_name_the_method()
    before = warning('on', 'isocenter:log');
    lastwarn('');
    evalc('isocenter.CT(''Angles'', 0:179, ''Bins'', 16);');
    warning(before);
    [text, identifier] = lastwarn();
    check_true(['a warning: ' text], strncmp(text, 'CT.setGeometry: ', 16) && strcmp(identifier, 'isocenter:log'));
    before = warning('on', 'isocenter:log');
    lastwarn('');
    evalc('isocenter.CT(''Angles'', (0:17) * pi / 18, ''Bins'', 16, ''Axis'', 400.5);');
    text = lastwarn();
    warning(before);
    words = {'Axis is 400.5', 'bins are 1 to 16', '(Bins + 1) / 2 = 8.5'};
    for k = 1:numel(words)
        check_true(['an axis beside the detector, counted from 1: ' text], ~isempty(strfind(text, words{k})));
    end
end

% What a plan shows of itself without a calculation.
function shown()
    c = isocenter.Context('Device', 'cpu');
    ct = isocenter.CT(c, 'Angles', [0 1], 'Bins', 8, 'Rows', 3);
    lines = {
        c, 'isocenter.Context: device cpu'
        ct, 'isocenter.CT: projections 8 x 3 x 2 (bins x rows x views), volume 8 x 8 x 3 (nx x ny x slices), device cpu'
        isocenter.MRI(c, [0 0; 0 0], 'Size', [8 6], 'Unit', 'cycles_per_voxel', 'Coils', 2), ...
            'isocenter.MRI: samples 2 x 2 (samples x coils), image 8 x 6 x 2 (nx x ny x coils), single precision, no maps, device cpu'
        isocenter.PET(c, 'Size', [12 10 4], 'Voxel', 8, 'Azimuths', 3, 'MaxTilt', 0.2), ...
            'isocenter.PET: histo_images 12 x 10 x 4 x 3 (nx x ny x nz x views), image 12 x 10 x 4 (nx x ny x nz), device cpu'
        isocenter.CT(), 'isocenter.CT: no geometry'
    };
    for k = 1:size(lines, 1)
        one = lines{k, 1};
        check_true(['shows ' lines{k, 2} ': ' evalc('one')], ~isempty(strfind(evalc('one'), lines{k, 2})));
    end
    other = ct;
    delete(ct);
    check_true('shows that it has been freed', ~isempty(strfind(evalc('disp(other)'), 'isocenter.CT: has been freed')));
end
