function check_true(name, good)
% Reports a failure; run_all counts them.
    global failures
    if isscalar(good) && (islogical(good) || isnumeric(good)) && good, return; end
    failures++;
    fprintf('FAILED: %s\n', name);
end
