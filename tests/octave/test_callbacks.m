% Progress, cancelling, and MATLAB functions that fail or call back.
function test_callbacks()
    global calls
    calls = {};
    angles = (0:399) * pi / 400;
    p = zeros(256, 16, 400, 'single');
    with = @(progress) isocenter.CT(isocenter.Context('Device', 'cpu', 'Progress', progress), 'Angles', angles, 'Bins', 256, 'Rows', 16);
    ct = with(@note);
    ct.reconstruct(p);
    check_true('progress ends with 1, done', calls{end, 1} == 1 && strcmp(calls{end, 2}, 'done'));
    check_true('fractions ascend', issorted([calls{:, 1}]));
    check_true('numbers do not stop', isequal(size(with(@(fraction, stage) 7).reconstruct(p)), [256 256 16]));
    check_error('true stops', 'ct:cancelled', 'the function of Progress returned true', @() with(@(fraction, stage) true).reconstruct(p));
    raised = '';
    try, with(@(fraction, stage) error('mine:own', 'no %d', 5)).reconstruct(p); catch failure, raised = [failure.identifier failure.message]; end
    check_true(['its own error comes through: ' raised], strcmp(raised, 'mine:ownno 5'));
    shown = evalc('with(''console'').reconstruct(p);');
    check_true('progress on the console', ~isempty(strfind(shown, 'CT.reconstruct 100 %')));
    ct = with('none');
    read = @(first, count) p(:, first:first + count - 1, :);
    stream = @(name, kind, words, r, w) check_error(name, kind, words, @() ct.reconstructStream(r, w));
    stream('no function', 'ct:invalidArgument', 'function handle', read, 3);
    stream('a wrong size', 'ct:arrayShape', 'reading function', @(first, count) p(:, 1:count, 1:3), @(v, first, count) 0);
    stream('a wrong class', 'ct:arrayType', 'reading function', @(first, count) double(read(first, count)), @(v, first, count) 0);
    stream('the plan within its own call', 'ct:busy', 'callback', read, @(v, first, count) ct.info());
    stream('deleting it there', 'ct:busy', 'CT.delete: called from inside a callback', read, @(v, first, count) delete_plan(ct));
    check_true('works afterwards', isequal(size(ct.reconstruct(p)), [256 256 16]));
    other = isocenter.CT('Angles', angles, 'Bins', 8);
    raised = '';
    try, ct.reconstructStream(@(first, count) after_failure(other, read(first, count)), @(v, first, count) 0); catch failure, raised = failure.message; end
    check_true(['an error that a callback has caught came out: ' raised], isempty(raised));
end

function slab = after_failure(other, slab)
    raised = '';
    try, other.reconstruct(slab); catch failure, raised = failure.identifier; end
    check_true(['caught: ' raised], strcmp(raised, 'isocenter:ct:arrayShape'));
end

function stop = note(fraction, stage)
    global calls
    calls(end + 1, :) = {fraction, stage};
    stop = false;
end

function delete_plan(ct)
    isocenter_mex('ct.destroy', ct.id);
end
