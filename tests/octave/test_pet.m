function test_pet()
    lattice();
    projectors();
    tables();
    events();
    crystals();
    factors();
    accidentals();
    scattered();
    lines();
    needed();
    reconstructions();
    priors();
    penalised();
    scans();
end

function pet = small(varargin)
    pet = isocenter.PET(varargin{:}, 'Size', [12 10 4], 'Voxel', [8 8 6], 'Azimuths', 3, 'Tilts', 2, 'MaxTilt', 0.2);
    pet.setResponse('TofFwhm', 120, 'RadialFwhm', 9, 'AxialFwhm', 9);
end

function lattice()
    pet = small();
    check_near('views', pet.views(), [0 0 pi/3 pi/3 2*pi/3 2*pi/3; -0.1 0.1 -0.1 0.1 -0.1 0.1], 1e-12);
    check_true('info', pet.info().Views == 6);
    list = [0.1 0.5 2; 0 0.1 -0.1];
    pet.setGeometry('Size', [12 10 4], 'Voxel', 8, 'MaxTilt', 0.2, 'Views', list);
    check_near('a list of views', pet.views(), list, 1e-12);
    check_true('memory', pet.memory() > 0);
end

function projectors()
    rand('seed', 8);
    pet = small();
    x = single(rand(12, 10, 4)); y = single(rand(12, 10, 4, 6));
    h = pet.forward(x);
    check_true('histo-images: nx x ny x nz x views', isequal(size(h), [12 10 4 6]) && isa(h, 'single'));
    check_near('adjoint', double(y(:))' * double(h(:)), double(x(:))' * double(pet.adjoint(y)(:)), 1e-5);
    check_near('chosen views', pet.forward(x, [5 2]), h(:, :, :, [5 2]), 1e-6);
    check_near('[] for all views', pet.forward(x, []), h, 1e-6);
    check_near('one view', pet.forward(x, 3), h(:, :, :, 3), 1e-6);
    sum_of = zeros(12, 10, 4, 'single');
    for v = 1:6, sum_of += pet.adjoint(y(:, :, :, v), v); end
    check_near('adjoint by views', pet.adjoint(y), sum_of, 1e-5);
    counts = uint32(10 * y);
    check_near('counts', pet.adjoint(counts), pet.adjoint(single(counts)), 1e-6);
    check_near('sensitivity', pet.sensitivity(), pet.adjoint(ones(12, 10, 4, 6, 'single')), 1e-5);
    check_near('sensitivity with factors', pet.sensitivity(y), pet.adjoint(y), 1e-5);
    % Nothing is lost in the middle: kernels have a sum of 1.
    pet.setGeometry('Size', [41 41 15], 'Voxel', 8, 'Azimuths', 3, 'MaxTilt', 0.2);
    point = zeros(41, 41, 15, 'single'); point(21, 21, 8) = 5;
    check_near('a point', squeeze(sum(sum(sum(pet.forward(point))))), [5; 5; 5], 1e-5);
end

function tables()
    pet = small();
    t = pet.tables(2);
    check_near('kernels sum to 1', sum(t.Values, 1), ones(1, columns(t.Values)), 1e-5);
    check_true('kernels count from 1', min(t.Map(:)) >= 1 && max(t.Map(:)) == columns(t.Values) && isequal(size(t.Map), [12 10]));
    check_true('mass', all(t.Mass > 0.9 & t.Mass <= 1 + 1e-6));
    x = single(rand(12, 10, 4));
    before = pet.forward(x, 2);
    pet.setTables(2, t.Map, t.Offsets, t.Values);
    check_near('tables as they were', pet.forward(x, 2), before, 1e-5);
    % Kernel 1 stays, kernel 2 moves by two voxels along x and one along z.
    map = ones(12, 10); map(7:end, :) = 2;
    pet.setTables(1, map, [0 2; 0 0; 0 1], single([1 0; 0 1]));
    h = pet.forward(x, 1);
    expected = x; expected(7:end, :, :) = 0;
    expected(9:end, :, 2:end) += x(7:10, :, 1:3);
    check_near('own kernels', h, expected, 1e-6);
end

function events()
    pet = small();
    half_c = 0.149896229;
    % View 1 looks along x, downwards; voxel (i, j, k) is centred at ((i - 6.5) 8, (j - 5.5) 8, (k - 2.5) 6) mm.
    place = [(9 - 6.5) * 8; (3 - 5.5) * 8; (2 - 2.5) * 6];
    along = [cos(-0.1); 0; sin(-0.1)];
    first = place + 400 * along; second = place - 300 * along;
    time = (norm(second - place) - norm(first - place)) / (2 * half_c);   % negative: nearer to the second
    [h, dropped] = pet.deposit([first, 2 * first, first, [NaN; 0; 0]], [second, 2 * first, 5 * first, second], [time 0 1e6 0]);
    check_true('histo-images are uint32', isa(h, 'uint32') && isequal(size(h), [12 10 4 6]));
    check_true('an event is where it was', h(9, 3, 2, 1) == 1 && sum(h(:)) == 1);
    check_true('dropped', dropped.Events == 3 && dropped.NotFinite == 1 && dropped.EqualPositions == 1 ...
               && dropped.OutsideLattice + dropped.OutsideTilts == 1);
    more = pet.deposit(single(first), single(second), single(time), h);
    check_true('adds', more(9, 3, 2, 1) == 2 && h(9, 3, 2, 1) == 1);
    more = pet.deposit(first, second, time, single(h));
    check_true('adds to single', isa(more, 'single') && more(9, 3, 2, 1) == 2);
    for none = {[], zeros(3, 0), zeros(0, 3), zeros(1, 0, 'single')}
        for no_times = {[], zeros(1, 0), zeros(0, 1, 'single')}
            [empty, dropped] = pet.deposit(none{1}, none{1}, no_times{1});
            check_true('no events', isa(empty, 'uint32') && isequal(size(empty), [12 10 4 6]) && ~any(empty(:)) ...
                       && dropped.Events == 0);
            check_true('no events to add', isequal(pet.deposit(none{1}, [], no_times{1}, h), h));
        end
    end
end

function crystals()
    pet = small();
    [places, normals] = isocenter.PET.blockCrystals('Blocks', 24, 'Across', 8, 'Along', 6, 'Diameter', 600, 'PitchAcross', 8);
    check_true('crystals', isequal(size(places), [3 24 * 8 * 6]) && isequal(size(normals), size(places)));
    check_near('faces look at the axis', sum(places .* normals), -300 * ones(1, columns(places)), 1e-9);
    pet.setScanner(places, normals);
    rand('seed', 10);
    n = 4000;
    first = 1 + floor(rand(1, n) * 24 * 8 * 6);
    opposite = mod(first - 1 + 12 * 8, 24 * 8) + 24 * 8 * floor(rand(1, n) * 6) + 1;
    times = 100 * (rand(1, n) - 0.5);
    labels = 1 + (rand(1, n) > 0.6);
    [expected, by_place] = pet.deposit(single(places(:, first)), single(places(:, opposite)), times); % faces are kept as single
    [h, dropped] = pet.depositCrystals([first; opposite], times, labels);
    check_true('sets by label', isa(h, 'uint32') && isequal(size(h), [12 10 4 6 2]));
    check_true('the same as by positions', isequal(sum(h, 5), expected) && dropped.Events == by_place.Events && dropped.Unknown == 0);
    more = pet.depositCrystals(uint16([first; opposite]), times, uint8(labels), h);
    check_true('adds, of any class', isequal(more, 2 * h));
    check_true('one label', isequal(pet.depositCrystals([first; opposite], times), expected));
    pet.setScanner(places, 'CrystalWidth', 8, 'CrystalHeight', 8, 'TimeEdges', -60:20:60);
    bins = uint8(1 + floor((times + 60) / 20));
    whole = pet.depositCrystals([first; opposite], bins);
    parts = pet.depositCrystals([first(1:1000); opposite(1:1000)], bins(1:1000));
    parts = pet.depositCrystals([first(1001:n); opposite(1001:n)], bins(1001:n), [], parts, 1001);
    check_true('in two lists as in one', isequal(parts, whole));
    [~, dropped] = pet.depositCrystals([0 1 1; 97 24 * 8 * 6 + 1 97], uint8([1 1 7]));
    check_true('unknown', dropped.Unknown == 3 && dropped.Events == 3);
    blocks = 1 + floor(mod((1:columns(places)) - 1, 24 * 8) / 8);
    facing = double(abs(abs((1:24)' - (1:24)) - 12) == 0);
    pet.setPairs(blocks, facing);
    [h, dropped] = pet.depositCrystals([1 1; 97 10], uint8([1 1]));
    check_true('pairs that are not measured', dropped.NotMeasured == 1 && dropped.Unknown == 0);
    table = ones(48, 48);
    table(2, 5) = 0; % element 2 of the block with the smaller number
    pet.setPairs(blocks, facing, table);
    [h, dropped] = pet.depositCrystals([2 101 5; 101 2 98], uint8([1 1 1]));
    check_true('pairs of elements', dropped.NotMeasured == 2);
    check_error('a module that is none', 'pet:invalidGeometry', 'modules', @() pet.setPairs(blocks + 1, facing));
    check_error('a group below 0', 'pet:invalidGeometry', 'groups(1) is -1', @() pet.setPairs(blocks, facing - 1));
    check_error('no groups', 'pet:invalidGeometry', 'groups is left out', @() pet.setPairs(blocks));
    pet.setPairs();
    [h, dropped] = pet.depositCrystals([1; 10], uint8(1));
    check_true('pairs are taken away', dropped.NotMeasured == 0);
    [h, dropped] = pet.depositCrystals([], []);
    check_true('no events that name crystals', ~any(h(:)) && dropped.Events == 0);
end

function factors()
    pet = small();
    [places, normals] = isocenter.PET.blockCrystals('Blocks', 24, 'Across', 8, 'Along', 12, 'Diameter', 600, 'PitchAcross', 9.8, 'PitchAlong', 8);
    pet.setScanner(places, normals, 'CrystalWidth', 9.8, 'CrystalHeight', 8, 'TimeEdges', -1000:10:1000);
    % No event leaves the lattice; the water does, whose ends would cut voxels.
    bodies = struct('HalfX', {24, 36}, 'HalfZ', {4, 100}, 'Activity', {1, 0}, 'Attenuation', {0, 0.0096});
    events = 1e5;
    [first, second, times, tally] = pet.simulate(struct('Bodies', bodies, 'Diameter', 600, 'AxialLength', 400, 'Seed', 4), events);
    efficiencies = 0.5 + 0.5 * mod(1:columns(places), 7) / 6;
    [named, bins, lost] = pet.detect(first, second, times, efficiencies, 'Seed', 5);
    gone = named(1, :) == 0;
    check_true('crystals from 1', isa(named, 'uint32') && isequal(size(named), [2 events]) && max(named(:)) <= columns(places));
    check_true('bins from 1', isa(bins, 'uint32') && isequal(size(bins), [1 events]) && all(bins(~gone) >= 1 & bins(~gone) <= 200));
    check_true('lost events have 0', ~any(named(2, gone)) && ~any(bins(gone)) && all(named(2, ~gone)));
    check_true('lost', lost.Events == sum(gone) && lost.Missed > 1000 && lost.Undetected > 1000 && lost.OutsideWindow == 0);
    [~, ps] = pet.detect(first, second, times, efficiencies, 'Seed', 5, 'Bins', false);
    check_true('times in ps are in the bins', isa(ps, 'single') && all(abs(ps(~gone) + 1005 - 10 * double(bins(~gone))) < 5.001));
    [all_of_them, ~, lost] = pet.detect(first, second, times);
    check_true('without efficiencies', lost.Undetected == 0 && isequal(all_of_them(:, ~gone), named(:, ~gone)));
    [measured, dropped] = pet.depositCrystals(named(:, ~gone), bins(~gone));
    check_true('all others are counted', dropped.Events == 0);
    image = double(pet.phantomImage(bodies));
    water = repmat(pet.phantomImage(bodies, 'attenuation')(:, :, 1), 1, 1, 40);
    decays = image * (tally.Decays / sin(0.2) / sum(image(:)));      % the tally's are within the tilts
    expected = double(pet.factors(efficiencies, water)) .* decays;
    % Some 30 000 counts deviate by 0.6 %, the factors' lines by 0.3 %, and voxels that the water's edge cuts cost 0.3 %: 3 deviations and that.
    check_near('factors expect the counts', sum(double(measured(:))), sum(expected(:)), 0.023);
    plain = pet.factors();
    check_true('factors', isa(plain, 'single') && isequal(size(plain), [12 10 4 6]) && all(plain(:) >= 0) && any(plain(:)));
    left = 2 ^ (-3600 / 6586) * (1 - 2 ^ (-600 / 6586)) / (log(2) * 600 / 6586);
    found = pet.factors('Duration', 600, 'Branching', 0.967, 'HalfLife', 6586, 'Delay', 3600, 'Live', 0.9);
    check_near('in Bq/ml, of voxels of 384 mm^3', found, plain * (0.384 * 600 * 0.967 * 0.9 * left), 1e-5);
    check_near('efficiencies of both crystals', pet.factors(0.5 * ones(columns(places), 1)), plain / 4, 1e-5);
    check_near('a map''s voxels', pet.factors([], water, 'MapVoxel', [8 8 6]), pet.factors([], water), 1e-6);
    moved = pet.factors([], double(water(2:end, :, :)), struct('MapCentre', [4 0 0]));
    % Where its voxels end, a line of 8 mm of water more or less is wrong by 8 %.
    check_near('a map''s place', moved, pet.factors([], water), 0.08);
    ct = pet.attenuation([-1000 0; -700 1000], 120);
    check_near('attenuation', ct, [0 0.0096; 0.3 * 0.0096, 9.6e-6 * 1047 + 5.1e-6 * 953], 1e-5);
    check_true('attenuation is single', isa(ct, 'single') && isequal(size(pet.attenuation(zeros(4, 3, 2, 'single'), 100)), [4 3 2]));
end

function accidentals()
    pet = small();
    [places, normals] = isocenter.PET.blockCrystals('Blocks', 24, 'Across', 4, 'Along', 12, 'Diameter', 600, 'PitchAcross', 19.6, 'PitchAlong', 16);
    pet.setScanner(places, normals, 'CrystalWidth', 19.6, 'CrystalHeight', 16);
    n = columns(places);
    ring = 24 * 4;
    across = 12 * 4; % from a crystal to the one beyond the axis
    % In the field of view, in it and up by one ring, up by too many; neighbours; one crystal; crystals that there are not.
    pairs = [1 1 1 1 1 0 n + 1; 1 + across, 1 + across + ring, 1 + across + 11 * ring, 2, 1, 1, 1];
    [sums, dropped] = pet.fanSums(pairs);
    check_true('sums', isa(sums, 'uint32') && isequal(size(sums), [n 1]) && sum(sums) == 4);
    check_true('of both crystals', isequal(sums([1, 1 + across, 1 + across + ring]).', uint32([2 1 1])));
    check_true('dropped', dropped.Events == 5 && dropped.OutsideTilts == 1 && dropped.OutsideLattice == 1 && dropped.EqualPositions == 1 && dropped.Unknown == 2);
    check_true('adds, of any class', isequal(pet.fanSums(uint16(pairs), [], sums), 2 * sums));
    by_label = pet.fanSums(pairs(:, 1:2), [1 3]);
    check_true('by label', isequal(size(by_label), [n 3]) && isequal(sum(by_label), [2 0 2]) && isequal(uint32(sum(by_label, 2)), sums));
    [by_label, dropped] = pet.fanSums(pairs(:, 1:2), [2 0], by_label);
    check_true('adds by label', isequal(sum(by_label), [2 2 2]) && dropped.Unknown == 1);
    [wide, dropped] = pet.fanSums(pairs, 'FieldOfView', 620);
    check_true('a field of view', sum(wide) == 6 && dropped.OutsideLattice == 0);
    [none, dropped] = pet.fanSums([]);
    check_true('no events', isequal(none, zeros(n, 1, 'uint32')) && dropped.Events == 0);

    [first, second] = find(triu(ones(n), 1));
    all_of_them = [first second].';
    sums = pet.fanSums(all_of_them);
    check_true('crystals in the middle have more partners', max(sums) > min(sums) && min(sums) > 0);
    % Each pair has 2 w s^2 T = 1.
    rates = pet.singles(sums, 'Duration', 60, 'Window', 1000);
    check_true('singles', isa(rates, 'single') && isequal(size(rates), [n 1]));
    check_near('of equal crystals', rates, sqrt(1 / (2e-9 * 60)) * ones(n, 1), 1e-3);
    check_near('four times the sums', pet.singles(single(4 * sums), 'Duration', 60, 'Window', 1000), 2 * rates, 1e-3);
    source = pet.phantomImage(struct('HalfX', 30, 'HalfZ', 10, 'Activity', 1e4));
    parts = pet.efficiencies(sums, source);
    check_true('efficiencies', isa(parts, 'single') && isequal(size(parts), [n 1]) && all(parts > 0));
    check_near('of nine times the sums', pet.efficiencies(9 * double(sums), double(source)), 3 * parts, 1e-3);
    thin = 1e-6 * ones(12, 10, 4);
    check_near('of next to no attenuation', pet.efficiencies(sums, source, thin, 'MapVoxel', [8 8 6]), parts, 1e-3);
    % Voxels of 384 mm^3.
    check_near('in Bq/ml', pet.efficiencies(sums, source, [], 'Duration', 60, 'Live', 0.5), parts / sqrt(0.384 * 30), 1e-3);
    % Randoms are as many as all pairs: half of twice the sums.
    check_near('less randoms', pet.efficiencies(2 * double(sums), source / 0.384 / 60, 'Duration', 60, 'Singles', rates, 'Window', 1000), parts, 1e-2);
    randoms = pet.randoms(rates, 'Duration', 60, 'Window', 1000);
    check_true('randoms', isa(randoms, 'single') && isequal(size(randoms), [12 10 4 6]) && all(randoms(:) >= 0) && any(randoms(:)));
    check_near('ten times as long', pet.randoms(double(rates), 'Duration', 600, 'Window', 1000), 10 * randoms, 1e-5);
    rand('seed', 11);
    measured = pet.depositCrystals(all_of_them, 2000 * rand(1, columns(all_of_them)) - 1000);
    % Some 5000 counts.
    check_near('randoms expect the counts', sum(double(measured(:))), sum(double(randoms(:))), 0.05);
    pet.setScanner(places, normals, 'CrystalWidth', 19.6, 'CrystalHeight', 16, 'TimeEdges', -1000:10:1000);
    check_near('the window of time bins', pet.singles(sums, 'Duration', 60), rates, 1e-6);
end

function scattered()
    pet = small();
    [places, normals] = isocenter.PET.blockCrystals('Blocks', 24, 'Across', 8, 'Along', 12, 'Diameter', 600, 'PitchAcross', 9.8, 'PitchAlong', 8);
    pet.setScanner(places, normals, 'CrystalWidth', 9.8, 'CrystalHeight', 8);
    body = struct('HalfX', 16, 'HalfZ', 100, 'Activity', 1e6, 'Attenuation', 0.0096);
    image = pet.phantomImage(body);
    water = pet.phantomImage(body, 'attenuation');
    [additive, found] = pet.scatter(image, water);
    check_true('scatter', isa(additive, 'single') && isequal(size(additive), [12 10 4 6]) && all(additive(:) >= 0) && all(isfinite(additive(:))));
    check_true('found', found.Scatter > 0 && found.Scale == 1 && found.Places > 0);
    check_near('its counts', sum(double(additive(:))), found.Scatter, 1e-4);
    trues = double(pet.factors([], water)) .* double(pet.forward(image));
    check_true('less than trues', found.Scatter < 0.3 * sum(trues(:)));
    randoms = single(10 * ones(12, 10, 4, 6));
    check_near('randoms are added', pet.scatter(double(image), double(water), 'Randoms', randoms), additive + randoms, 1e-5);
    check_near('so are counts', pet.scatter(image, water, 'Randoms', uint32(randoms)), additive + randoms, 1e-5);
    measured = uint32(3 * additive + randoms);
    [scaled, found] = pet.scatter(image, water, 'Measured', measured, 'Randoms', randoms);
    check_near('scaled by the tails', found.Scale, 3, 0.05);
    check_near('and by all of that', scaled, found.Scale * additive + randoms, 1e-4);
    % Beside what tails tell, 1 +- 0.2 is known before.
    told = 1 / found.ScaleError^2 - 1 / 0.2^2;
    check_true('tails', found.Tails > 0 && told > 0 && abs(found.Scale * (told + 1 / 0.2^2) - told * found.Tails / found.TailsScatter - 1 / 0.2^2) < 1e-6 * told);
    check_near('efficiencies of both crystals', pet.scatter(image, water, 'Efficiencies', 0.5 * ones(1, columns(places))), additive / 4, 1e-4);
    check_near('defaults', pet.scatter(image, water, struct('EnergyResolution', 0.11, 'EnergyLower', 435, 'EnergyUpper', 585, 'TofFwhm', 120, ...
                                                            'Spacing', 12, 'MapVoxel', [8 8 6])), additive, 1e-6);
    [~, found] = pet.scatter(image, water, 'EnergyLower', 480);
    check_true('a smaller window has less scatter', found.Scatter < 0.95 * sum(double(additive(:))));
    check_near('in Bq/ml, of voxels of 384 mm^3', pet.scatter(image, water, 'Duration', 60, 'Live', 0.5), 0.384 * 30 * additive, 1e-4);

    scan = struct('Bodies', body, 'Diameter', 600, 'AxialLength', 400, 'EnergyResolution', 0.11, 'EnergyLower', 435, 'EnergyUpper', 585);
    [~, ~, ~, tally] = pet.simulate(scan, 1e4);
    check_true('simulated scatter', tally.Scatter > 100 && tally.Trues + tally.Scatter == 1e4);
    box = struct('Shape', {'cylinder', 'box'}, 'HalfX', {16, 40}, 'HalfY', {16, 40}, 'HalfZ', {100, 120}, 'Activity', {1, 0}, 'Attenuation', {0, 0.0096});
    scan = struct('Bodies', box, 'Diameter', 600, 'AxialLength', 400);
    [~, ~, ~, of_bodies] = pet.simulate(scan, 1e4);
    scan.Bodies = box(1);
    scan.Attenuation = 0.0096 * ones(20, 16, 24); scan.MapVoxel = [4 5 10]; scan.MapCentre = [0 0 0];
    [~, ~, ~, of_map] = pet.simulate(scan, 1e4);
    check_near('a map in place of the bodies'' attenuation', of_map.Decays, of_bodies.Decays, 0.05);
end

% So many bytes are enough, and one less is not.
function needed()
    [places, normals] = isocenter.PET.blockCrystals('Blocks', 24, 'Across', 4, 'Along', 12, 'Diameter', 600, 'PitchAcross', 19.6, 'PitchAlong', 16);
    pet = capped(places, normals, {});
    body = struct('HalfX', 16, 'HalfZ', 100, 'Activity', 1e6, 'Attenuation', 0.0096);
    image = pet.phantomImage(body);
    water = repmat(pet.phantomImage(body, 'attenuation')(:, :, 1), 1, 1, 40);
    one = ones(1, columns(places));
    additive = ones(12, 10, 4, 6, 'single');
    how = struct('Directions', 8, 'Duration', 600, 'MapVoxel', [8 8 6]);
    calls = {
        {'factorsMemory'}, @(pet) pet.factors()
        {'factorsMemory', water, how}, @(pet) pet.factors(one, water, how)
        {'randomsMemory', 'Directions', 8}, @(pet) pet.randoms(one, 'Duration', 60, 'Window', 1000, 'Directions', 8)
        {'scatterMemory', water, how, 'Spacing', 20}, ...
            @(pet) pet.scatter(image, water, how, 'Spacing', 20, 'Efficiencies', one, 'Measured', additive, 'Randoms', additive)
    };
    for k = 1:rows(calls)
        name = calls{k, 1}{1};
        [host, gpu] = pet.(name)(calls{k, 1}{2:end});
        check_true([name ': host and GPU'], host > 0 && gpu == 0);
        calls{k, 2}(capped(places, normals, {'MemoryCap', host}));
        check_error([name ': a byte less'], 'pet:memoryCap', sprintf('is %d bytes', host - 1), @() calls{k, 2}(capped(places, normals, {'MemoryCap', host - 1})));
    end
    check_true('of factors the map''s size alone counts', pet.factorsMemory(-water, how) == pet.factorsMemory(water, how));
    check_true('a map needs memory', pet.factorsMemory(water, how) > pet.factorsMemory(how));
    check_true('so do places', pet.scatterMemory(water, 'Spacing', 8) > pet.scatterMemory(water, 'Spacing', 20));
end

function pet = capped(places, normals, cap)
    pet = small(isocenter.Context('Device', 'cpu', 'Threads', 2, cap{:}));
    pet.setScanner(places, normals, 'CrystalWidth', 19.6, 'CrystalHeight', 16);
end

% A list by crystals from 1 and by positions, along lines.
function lines()
    rand('seed', 14);
    pet = small();
    [places, normals] = isocenter.PET.blockCrystals('Blocks', 24, 'Across', 8, 'Along', 24, 'Diameter', 600, 'PitchAcross', 9.8, 'PitchAlong', 8);
    pet.setScanner(places, normals, 'CrystalWidth', 9.8, 'CrystalHeight', 8, 'TimeEdges', -1000:10:1000);
    x = single(rand(12, 10, 4));
    % Along x through a row of voxels, whose widths blur the image too little to matter where it is smooth: through 12 voxels of 8 mm.
    pet.setResponse('TofFwhm', 120, 'RadialFwhm', 0.5, 'AxialFwhm', 0.5);
    row = struct('FirstPositions', [-300; 4; -3], 'SecondPositions', [300; 4; -3]); % voxels (:, 6, 2)
    check_near('a sum along a row', pet.forwardLines(row, x), 8 * sum(x(:, 6, 2)), 1e-3);
    row.Times = single(2 * 12 / 0.149896229 / 2); % 12 mm nearer to the first, at -12: the middle of voxel 5
    row.TofFwhm = 8 / 0.149896229 * 2.354820 / 10; % sigmas of a tenth of a voxel
    check_near('about the event''s place', pet.forwardLines(row, x), x(5, 6, 2), 1e-3);

    pet.setResponse('TofFwhm', 120, 'RadialFwhm', 9, 'AxialFwhm', 9);
    events = 4000;
    bodies = struct('HalfX', 24, 'HalfZ', 8, 'Activity', 1);
    [first, second, times] = pet.simulate(struct('Bodies', bodies, 'Diameter', 600, 'AxialLength', 192, 'TofFwhm', 120, 'Seed', 4), events);
    [named, bins, lost] = pet.detect(first, second, times);
    gone = named(1, :) == 0;
    lists = {struct('Crystals', named), struct('Crystals', named, 'Times', bins), struct('FirstPositions', first, 'SecondPositions', second, 'Times', times.'), ...
             struct('FirstPositions', double(first), 'SecondPositions', double(second), 'Times', times, 'TofFwhm', 100 + 100 * rand(events, 1))};
    weights = single(rand(1, events));
    for k = 1:numel(lists)
        [values, dropped] = pet.forwardLines(lists{k}, x);
        check_true('a value an event', isa(values, 'single') && isequal(size(values), [1 events]));
        check_true('lost events are unknown', dropped.Unknown == (k < 3) * lost.Events && ~any(values(gone & k < 3)));
        [y, dropped] = pet.adjointLines(lists{k}, weights.');
        check_true('an image', isa(y, 'single') && isequal(size(y), [12 10 4]) && dropped.Unknown == (k < 3) * lost.Events);
        check_near('the transpose', double(weights) * double(values)', double(x(:))' * double(y(:)), 1e-5);
    end
    % Both are anywhere on faces of 10 mm, as the events' numbers say, and so is the list in two.
    list = struct('Crystals', named(:, ~gone), 'Times', bins(~gone));
    n = columns(list.Crystals);
    whole = pet.forwardLines(list, x);
    parts = pet.forwardLines(struct('Crystals', list.Crystals(:, 1:1000), 'Times', list.Times(1:1000)), x);
    parts = [parts pet.forwardLines(struct('Crystals', list.Crystals(:, 1001:n), 'Times', list.Times(1001:n), 'FirstEvent', 1001), x)];
    check_true('in two lists as in one', isequal(parts, whole));

    efficiencies = 0.5 + 0.5 * mod(1:columns(places), 7) / 6;
    [plain, dropped] = pet.lineFactors(list);
    % Places on faces tilt some lines further than MaxTilt.
    steep = dropped.OutsideTilts;
    check_true('factors of lines', isa(plain, 'single') && isequal(size(plain), [1 n]) && all(plain >= 0) && sum(plain == 0) == steep);
    check_true('some lines are too steep', dropped.Events == steep && steep > 0 && steep < 0.1 * n);
    check_near('efficiencies of both crystals', pet.lineFactors(list, efficiencies), plain .* prod(efficiencies(list.Crystals)), 1e-5);
    water = 0.0096 * ones(12, 10, 4);
    pet.setResponse('TofFwhm', 120, 'RadialFwhm', 0.5, 'AxialFwhm', 0.5);
    check_near('through water', pet.lineFactors(list, [], water), plain .* exp(-pet.forwardLines(struct('Crystals', list.Crystals), single(water))), 1e-4);
    pet.setResponse('TofFwhm', 120, 'RadialFwhm', 9, 'AxialFwhm', 9);
    check_near('in Bq/ml', pet.lineFactors(list, 'Duration', 600), 0.384 * 600 * plain, 1e-5);
    seen = pet.lineSensitivity(efficiencies, water, 'Duration', 600, 'Directions', 16);
    check_true('sensitivity of lines', isa(seen, 'single') && isequal(size(seen), [12 10 4]));
    expected = sum(pet.factors(efficiencies, water, 'Duration', 600, 'Directions', 16), 4);
    expected(:, :, 2:3) += diff(expected, 2, 3) / 24;
    check_near('the sum of the factors, interpolated along z', seen, expected, 1e-5);
    check_near('eight directions if left out', pet.lineSensitivity(efficiencies, water, 'Directions', 8), pet.lineSensitivity(efficiencies, water), 1e-6);

    rates = 1e4 * (1 + rand(1, columns(places)));
    randoms = pet.lineRandoms(list, rates, 'Duration', 60);
    check_true('randoms of lines', isa(randoms, 'single') && isequal(size(randoms), [1 n]) && all(randoms > 0));
    check_near('ten times as long, in a window', pet.lineRandoms(list, rates, 'Duration', 600, 'Window', 1000), 10 * randoms, 1e-5);
    % Of what is measured in each direction. Lines at either end of the lattice lose a part of theirs.
    measured = pet.factors();
    [sampled, dropped] = pet.sampleLines(list, pet.randoms(rates, 'Duration', 60) ./ max(measured, 1e-3 * max(measured(:))));
    sampled = sampled .* pet.lineFactors(list);
    check_true('samples', isa(sampled, 'single') && isequal(size(sampled), [1 n]) && dropped.OutsideTilts == steep);
    check_near('randoms by histo-images', mean(double(sampled)), mean(double(randoms)), 0.1);

    pet.setOptions('Algorithm', 'mlem', 'Iterations', 4);
    seen = pet.lineSensitivity();
    [found, dropped] = pet.reconstructLines(list, seen, plain);
    passes = pet.history();
    check_true('an image along lines', isa(found, 'single') && isequal(size(found), [12 10 4]) && all(found(:) >= 0) && dropped.Events == steep);
    check_true('the likelihood grows', numel(passes) == 4 && all(diff([passes.LogLikelihood]) > 0));
    check_true('where the events are', mean(found(5:8, 4:7, 2:3)(:)) > 5 * mean(found([1 12], :, :)(:)));
    pet.setOptions('Algorithm', 'mlem', 'Iterations', 2);
    half = pet.reconstructLines(list, seen, plain);
    copy = half;
    check_near('begins with an image', pet.reconstructLines(list, seen, plain, [], half), found, 1e-4);
    check_true('which is left alone', isequal(half, copy));
    less = pet.reconstructLines(list, seen, plain, sampled);
    check_true('randoms leave less', sum(less(:)) < sum(half(:)));
    check_true('memory of lines', pet.linesMemory(events) > 0 && pet.linesMemory(1e6) >= pet.linesMemory(events));
end

function reconstructions()
    rand('seed', 9);
    pet = small();
    truth = single(1 + rand(12, 10, 4));
    factors = single(0.5 + 0.5 * rand(12, 10, 4, 6)); additive = single(0.1 * ones(12, 10, 4, 6));
    measured = factors .* pet.forward(truth) + additive;
    for name = {'mlem', 'osem', 'ramla'}
        pet.setOptions('Algorithm', name{1}, 'Iterations', 60, 'Subsets', 3);
        x = pet.reconstruct(measured, factors, additive);
        again = factors .* pet.forward(x) + additive;
        check_near([name{1} ': explains the data'], again, measured, 0.05);
        check_near([name{1} ': counts'], sum(again(:)), sum(measured(:)), 5e-3);
    end
    pet.setOptions('Algorithm', 'osem', 'Iterations', 2);
    default = pet.reconstruct(measured, factors, additive);
    pet.setOptions('Algorithm', 'osem', 'Iterations', 2, 'Subsets', 6);
    check_true('osem has a subset a view of few', isequal(default, pet.reconstruct(measured, factors, additive)));
    pet.setOptions('Algorithm', 'mlem', 'Iterations', 4);
    x = pet.reconstruct(measured, factors, additive);
    passes = pet.history();
    check_true('history', numel(passes) == 4 && all(diff([passes.LogLikelihood]) > 0) && all([passes.SkippedVoxels] == 0));
    pet.setOptions('Algorithm', 'mlem', 'Iterations', 2);
    half = pet.reconstruct(measured, factors, additive);
    copy = half;
    check_near('begins with an image', pet.reconstruct(measured, factors, additive, half), x, 1e-5);
    check_true('which is left alone', isequal(half, copy));
    check_true('factors and additive may be left out', all(pet.reconstruct(measured, [], [])(:) > 0));
    pet.setOptions('Order', 'given', 'Iterations', 1);
    pet.setOrder([6 1 3 2 5 4]);
    check_true('a given order', all(pet.reconstruct(measured)(:) > 0));
end

% Sides and sizes that all differ: axes that change places would show.
function priors()
    rand('seed', 12);
    size_of = [6 5 4]; voxel = [8 5 6];
    pet = isocenter.PET('Size', size_of, 'Voxel', voxel, 'Azimuths', 2, 'MaxTilt', 0.1);
    pet.setResponse('TofFwhm', 120, 'RadialFwhm', 9, 'AxialFwhm', 9);
    image = single(0.5 + rand(size_of)); weights = single(rand(size_of)); anatomy = single(rand(size_of));
    slope = @(f, g) f - g; cost = @(f, g) (f - g) .^ 2 / 2;
    pet.setPrior('Potential', 'quadratic', 'Strength', 0.7);
    [gradient, value] = pet.priorGradient(image);
    [expected, total] = by_pairs(image, voxel, slope, cost);
    check_true('gradient', isa(gradient, 'single') && isequal(size(gradient), size_of));
    check_near('a quadratic prior', gradient, 0.7 * expected, 1e-5);
    check_near('its value', value, 0.7 * total, 1e-5);
    check_near('gradient alone', pet.priorGradient(image), gradient, 1e-6);
    pet.setPrior(struct('Potential', 'quadratic', 'Strength', 0.7, 'Weights', weights, 'Anatomy', anatomy, 'AnatomySigma', 0.4));
    [gradient, value] = pet.priorGradient(image);
    [expected, total] = by_pairs(image, voxel, slope, cost, double(weights), exp(-double(anatomy - permute(anatomy(:), [2 3 4 1])) .^ 2 / 0.32));
    check_near('weights and anatomy', gradient, 0.7 * expected, 1e-5);
    check_near('their value', value, 0.7 * total, 1e-5);
    pet.setPrior('Potential', 'quadratic', 'Strength', 1, 'Edge', 0.2);
    [gradient, value] = pet.priorGradient(image);
    [expected, total] = by_pairs(image, voxel, @(f, g) (f - g) ./ sqrt(1 + 25 * (f - g) .^ 2), @(f, g) 0.04 * (sqrt(1 + 25 * (f - g) .^ 2) - 1));
    check_near('edges', gradient, expected, 1e-5);
    check_near('their value', value, total, 1e-5);
    pet.setPrior('Strength', 1, 'Gamma', 3, 'Epsilon', 0.1);
    [gradient, value] = pet.priorGradient(image);
    sum_of = @(f, g) f + g + 3 * abs(f - g) + 0.1;
    [expected, total] = by_pairs(image, voxel, @(f, g) (f - g) .* (f + 3 * g + 3 * abs(f - g) + 0.2) ./ sum_of(f, g) .^ 2, @(f, g) (f - g) .^ 2 ./ sum_of(f, g));
    check_near('relative differences', gradient, expected, 1e-5);
    check_near('their value', value, total, 1e-5);
    pet.setPrior('Strength', 1);
    default = pet.priorGradient(image);
    pet.setPrior('Potential', 'relative_difference', 'Strength', 1, 'Gamma', 2, 'Epsilon', 0, 'Weights', [], 'Anatomy', []);
    check_true('defaults', isequal(pet.priorGradient(image), default));
    pet.setPrior([]);
    check_error('a prior that was taken away', 'pet:notConfigured', 'setPrior comes first', @() pet.priorGradient(image));
end

% Gradient and value of a prior of strength 1; `likeness` has what anatomy makes of pairs, nx x ny x nz x voxels.
function [gradient, value] = by_pairs(image, voxel, slope, cost, weights, likeness)
    image = double(image);
    [nx, ny, nz] = size(image);
    if nargin < 5, weights = ones(nx, ny, nz); likeness = ones(nx, ny, nz, nx * ny * nz); end
    gradient = zeros(nx, ny, nz);
    value = 0;
    for z = 1:nz, for y = 1:ny, for x = 1:nx
        for w = max(z - 1, 1):min(z + 1, nz), for v = max(y - 1, 1):min(y + 1, ny), for u = max(x - 1, 1):min(x + 1, nx)
            if isequal([u v w], [x y z]), continue; end
            k = weights(x, y, z) * weights(u, v, w) * likeness(x, y, z, u + nx * (v - 1 + ny * (w - 1))) * voxel(1) / norm(([u v w] - [x y z]) .* voxel);
            gradient(x, y, z) += k * slope(image(x, y, z), image(u, v, w));
            value += k * cost(image(x, y, z), image(u, v, w)) / 2; % pairs come twice
        end, end, end
    end, end, end
end

function penalised()
    rand('seed', 13);
    pet = small();
    truth = single(1 + rand(12, 10, 4));
    factors = single(0.5 + 0.5 * rand(12, 10, 4, 6)); additive = single(0.1 * ones(12, 10, 4, 6));
    measured = factors .* pet.forward(truth) + additive;
    reconstruct = @() pet.reconstruct(measured, factors, additive);
    pet.setPrior('Strength', 0.5);
    for name = {'bsrem', 'svrg'}
        pet.setOptions('Algorithm', name{1}, 'Iterations', 60, 'Subsets', 3);
        x = reconstruct();
        data = pet.adjoint(factors .* (measured ./ (factors .* pet.forward(x) + additive) - 1));
        off = max(abs(data(:) - pet.priorGradient(x)(:))) / max(pet.sensitivity(factors)(:));
        check_true(sprintf('%s: at the largest value the gradient is 0, not %g', name{1}, off), off < 0.01);
    end
    rough = @(image) double(std(image(:)) / mean(image(:)));
    check_true('smoother than the truth', rough(x) < 0.9 * rough(truth));
    passes = pet.history();
    check_true('penalties', numel(passes) == 60 && passes(1).Penalty == 0 && all([passes(2:end).Penalty] > 0));
    check_true('changes are not looked at', ~any([passes.Change passes.RegionChange]));
    [~, value] = pet.priorGradient(x);
    check_near('the last penalty', passes(60).Penalty, value, 1e-3);
    options = {'Algorithm', 'svrg', 'Subsets', 3};
    pet.setOptions(options{:}, 'Iterations', 1);
    [~, value] = pet.priorGradient(reconstruct());
    check_near('penalties are of what a pass begins with', passes(2).Penalty, value, 1e-4);

    % Neither along another axis nor of the same size.
    regions = zeros(12, 10, 4, 'uint8'); regions(1:5, :, 3) = 1; regions(9, 2:4, :) = 7;
    for labels = {regions, uint16(regions), uint32(regions)}
        pet.setRegions(labels{1});
        pet.setOptions(options{:}, 'Iterations', 60, 'StopRegionChange', 0.002);
        stopped = reconstruct();
        passes = pet.history();
        last = numel(passes);
        check_true(sprintf('regions end it, after %d passes', last), last > 1 && last < 60 && passes(last).RegionChange <= 0.002);
    end
    pet.setOptions(options{:}, 'Iterations', last - 1);
    before = reconstruct();
    pet.setOptions(options{:}, 'Iterations', last);
    after = reconstruct();
    check_true('as if it had been told how many', isequal(after, stopped));
    means = @(image) [mean(image(regions == 1)), mean(image(regions == 7))];
    change = max(abs(means(double(after)) - means(double(before)))) / mean(double(after(regions > 0)));
    check_near('change of means', passes(last).RegionChange, change, 1e-2);
    check_near('change of the image', passes(last).Change, norm(double(after(:) - before(:))) / norm(double(after(:))), 1e-2);
    pet.setOptions(options{:}, 'Iterations', 60, 'StopChange', 1e-3);
    reconstruct();
    passes = pet.history();
    check_true('changes of the image end it', numel(passes) < 60 && passes(end).Change <= 1e-3 && all([passes.Change] > 0));

    pet.setOptions(options{:}, 'StopRegionChange', 0.002);
    pet.setRegions([]);
    check_error('regions that were taken away', 'pet:notConfigured', 'setRegions comes first', reconstruct);
    pet.setOptions();
    check_error('an algorithm without prior', 'pet:invalidArgument', 'setPrior([]) takes away the one that is set', reconstruct);
    pet.setPrior([]);
    check_true('which then reconstructs', all(reconstruct()(:) > 0));
    pet.setOptions(options{:}, 'Iterations', 2);
    reconstruct();
    check_true('no penalty without a prior', ~any([pet.history().Penalty]));
end

function scans()
    pet = isocenter.PET('Size', [60 60 8], 'Voxel', 5, 'Azimuths', 20, 'MaxTilt', 0.15);
    bodies = struct('Shape', {'cylinder', 'ellipsoid'}, 'X', {0, 40}, 'HalfX', {100, 20}, 'HalfZ', {100, 20}, ...
                    'Activity', {1, 3}, 'Attenuation', {0.0096, 0});
    image = pet.phantomImage(bodies);
    check_near('activity', image([30 38], 30, 4), [1; 4], 1e-5);
    check_near('attenuation', pet.phantomImage(bodies, 'attenuation')(30, 30, 4), 0.0096, 1e-5);
    scan = struct('Bodies', bodies, 'TofFwhm', 300, 'RadialFwhm', 5, 'AxialFwhm', 5, 'Randoms', 0.1, 'Scatter', 0.1, 'Seed', 4);
    [first, second, times, tally] = pet.simulate(scan, 4e5);
    check_true('events', isequal(size(first), [3 4e5]) && isequal(size(second), [3 4e5]) && isequal(size(times), [1 4e5]));
    check_true('tally', tally.Trues + tally.Scatter + tally.Randoms == 4e5 && abs(tally.Randoms - 4e4) < 2000);
    [again, ~, ~, ~] = pet.simulate(scan, 4e5);
    check_true('the same for the same seed', isequal(first, again));
    radii = sqrt(sum(first(1:2, :) .^ 2));
    check_true('on the detectors', all(abs(radii - 465) < 5));
    measured = pet.deposit(first, second, times);
    [factors, additive] = pet.expect(scan, tally);
    pet.setResponse('TofFwhm', 300, 'RadialFwhm', 5, 'AxialFwhm', 5);
    expected = squeeze(sum(sum(sum(double(factors .* pet.forward(image) + additive)))));
    counts = squeeze(sum(sum(sum(double(measured)))));
    check_near('what is expected is measured, but for the border', sum(counts), sum(expected), 0.04);
    check_near('in every view', counts, expected, 0.1);
    pet.setOptions('Iterations', 3);
    x = pet.reconstruct(measured, factors, additive);
    check_near('activity of the cylinder', mean(x(15:25, 25:35, 3:6)(:)), 1, 0.1);
    check_true('noise', pet.noise(image) < 0.9 && pet.noise(ones(60, 60, 8, 'single')) < 1e-6);
    spheres = [60 -60; 0 0; 2.5 2.5];
    hot = pet.phantomImage(struct('Shape', {'cylinder', 'ellipsoid', 'ellipsoid'}, 'X', {0, 60, -60}, 'Z', {0, 2.5, 2.5}, ...
                                  'HalfX', {120, 5, 5}, 'HalfZ', {100, 5, 5}, 'Activity', {1, 3, 3}));
    recovery = pet.contrastRecovery(hot, spheres, 4);
    check_true(sprintf('contrast recovery %.2f', recovery), recovery > 0.4 && recovery < 1);
    [first, second, times] = pet.simulate(scan, 1000, image);
    check_true('activity by an image', isequal(size(first), [3 1000]));
end
