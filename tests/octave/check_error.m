function check_error(name, kind, words, f)
% `f` raises isocenter:KIND, with all of the words in its message.
    try
        f();
        check_true(sprintf('%s: no error', name), false);
    catch failure
        identifier = ['isocenter:' kind];
        check_true(sprintf('%s: identifier %s, expected %s (%s)', name, failure.identifier, identifier, failure.message), ...
                   strcmp(failure.identifier, identifier));
        if ischar(words), words = {words}; end
        for k = 1:numel(words)
            check_true(sprintf('%s: "%s" is not in "%s"', name, words{k}, failure.message), ~isempty(strfind(failure.message, words{k})));
        end
    end
end
