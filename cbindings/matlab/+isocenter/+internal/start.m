function [context, settings] = start(given)
% START  What the classes' constructors share: the number of the context that comes first, if one does, and the settings.
    context = uint64(0);
    settings = given;
    if ~isempty(given) && isa(given{1}, 'isocenter.Context')
        context = given{1}.id;
        if context == 0
            error('isocenter:context:invalidHandle', 'this isocenter.Context was loaded or sent to another process; make a new one');
        end
        settings = given(2:end);
    end
end
