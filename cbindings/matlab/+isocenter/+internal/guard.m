function [failure, varargout] = guard(outputs, f, varargin)
% GUARD  Calls F with the arguments; its error is returned, [] if there is none. For isocenter_mex, which must not let errors through
% the library.
    failure = [];
    varargout = cell(1, outputs);
    try
        [varargout{:}] = f(varargin{:});
    catch failure
    end
end
