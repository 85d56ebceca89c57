function [matrix, energy] = coilCompression(varargin)
% COILCOMPRESSION  Virtual coils: principal components of the data.
%
%   [MATRIX, ENERGY] = isocenter.coilCompression(DATA, KEPT)
%
%   DATA: complex, samples x coils, whitened. MATRIX: coils x KEPT, strongest first, columns orthonormal. ENERGY: the part of the data's energy that
%   they keep.
%   C = isocenter.Context(...) may come first; without one, a context of default options that all share is used.
%
%   See also isocenter.coilApply, isocenter.coilGeometricCompression, isocenter.coilWhitening.
    [context, rest] = isocenter.internal.start(varargin);
    [matrix, energy] = isocenter_mex('coil.compression', context, rest{:});
end
