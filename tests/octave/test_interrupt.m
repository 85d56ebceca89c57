% Ctrl-C stops a call, soon, and the plan works afterwards.
function test_interrupt()
    p = zeros(1024, 40, 2000, 'single');
    ct = isocenter.CT(isocenter.Context('Device', 'cpu'), 'Angles', (0:1999) * pi / 2000, 'Bins', 1024, 'Rows', 40);
    system(sprintf('(sleep 0.4; kill -INT %d) >/dev/null 2>&1 &', getpid()));
    check_error('Ctrl-C', 'ct:cancelled', 'Ctrl-C', @() ct.reconstruct(p));
    ct.setGeometry('Angles', (0:1999) * pi / 2000, 'Bins', 1024, 'Rows', 8);
    system('sleep 0.2', false, 'async');
    check_true('the end of a child process stops nothing', isequal(size(ct.reconstruct(p(:, 1:8, :))), [1024 1024 8]));
    ct.setGeometry('Angles', (0:9) * 0.3, 'Bins', 8);
    check_true('works afterwards', isequal(size(ct.reconstruct(ones(8, 10, 'single'))), [8 8]));
end
