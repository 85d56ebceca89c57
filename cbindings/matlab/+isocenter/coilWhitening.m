function matrix = coilWhitening(varargin)
% COILWHITENING  The matrix that whitens the noise of coils.
%
%   MATRIX = isocenter.coilWhitening(NOISE)
%
%   NOISE: complex, samples x coils, measured without excitation. MATRIX: coils x coils; NOISE * MATRIX, and so
%   isocenter.coilApply(MATRIX, DATA), has noise that is independent from coil to coil, with variance 1 of its real and of its imaginary part.
%   C = isocenter.Context(...) may come first; without one, a context of default options that all share is used.
%
%   See also isocenter.coilApply, isocenter.coilCompression, isocenter.coilMaps.
    [context, rest] = isocenter.internal.start(varargin);
    matrix = isocenter_mex('coil.whitening', context, rest{:});
end
