function free(area, id)
% FREE  What the classes' delete does; not to be called by others.
%   A number that delete or `clear` has freed before is none of delete's business.
    if id == 0, return; end
    try
        isocenter_mex([area '.destroy'], id);
    catch failure
        if isempty(strfind(failure.identifier, 'invalidHandle')), rethrow(failure); end
    end
end
