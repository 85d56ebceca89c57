% Samples of a field of view whose middle lies elsewhere, against ellipses that do; and mistakes.
function test_shifts()
    rand('seed', 5);
    k = rand(2, 200) - 0.5;
    mri = isocenter.MRI(k, 'Size', [40 40], 'Unit', 'cycles_per_voxel', 'Precision', 'double');
    ellipses = isocenter.MRI.sheppLogan('modified', 15);
    at = [2.25 -3.5];
    elsewhere = ellipses;
    for i = 1:numel(ellipses), elsewhere(i).X = ellipses(i).X - at(1); elsewhere(i).Y = ellipses(i).Y - at(2); end
    samples = mri.phantomSamples(ellipses); expected = mri.phantomSamples(elsewhere);
    for unit = {'cycles_per_voxel', 1, at; 'radians_per_voxel', 2 * pi, at; 'cycles_per_field_of_view', 40, at / 40}'
        check_near(unit{1}, isocenter.shiftSamples(samples, unit{2} * k, unit{3}, unit{1}), expected, 1e-5);
    end
    both = isocenter.shiftSamples([samples 2i * samples], k, at, 'cycles_per_voxel');
    check_near('coils', both, [expected 2i * expected], 1e-5);
    check_true('class', isa(isocenter.shiftSamples(single(samples), k, at, 'cycles_per_voxel'), 'single'));
    fails(@() isocenter.shiftSamples(samples.', k, at, 'cycles_per_voxel'), 'must be samples x coils');
    fails(@() isocenter.shiftSamples(samples, k.', at, 'cycles_per_voxel'), 'must be samples x coils');
    fails(@() isocenter.shiftSamples(samples, k, [1 2 3], 'cycles_per_voxel'), 'SHIFT has 3 elements; it must be 2');
    fails(@() isocenter.shiftSamples(samples, k, [1 NaN], 'cycles_per_voxel'), 'finite');
    fails(@() isocenter.shiftSamples(samples, k, at, 'cycles'), 'UNIT must be one of ''cycles_per_voxel''');
    fails(@() isocenter.shiftSamples(samples, 40 * k, at, 'cycles_per_field_of_view'), 'below 1');
end

function fails(call, said)
    try
        call();
        found = 'nothing';
    catch e
        found = e.message;
    end
    check_true(['says "' said '": ' found], ~isempty(strfind(found, said)));
end
