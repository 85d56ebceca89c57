function run_all(varargin)
% Runs the tests that are named and exits with 1 if any has failed.
    global failures
    failures = 0;
    warning('off', 'isocenter:log');
    for k = 1:numel(varargin)
        before = failures;
        try
            feval(varargin{k});
        catch failure
            check_true(sprintf('%s stopped: %s: %s', varargin{k}, failure.identifier, failure.message), false);
            if ~isempty(failure.stack), disp(failure.stack(1)); end
        end
        words = {'passed', 'FAILED'};
        fprintf('%s: %s\n', varargin{k}, words{1 + (failures > before)});
    end
    exit(failures > 0);
end
