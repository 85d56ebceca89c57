function [context, settings] = start(arguments)
% START  What the classes' constructors share: the number of the context that comes first, if one does, and the settings.
    context = uint64(0);
    settings = arguments;
    if ~isempty(arguments) && isa(arguments{1}, 'isocenter.Context')
        context = arguments{1}.id;
        settings = arguments(2:end);
    end
end
