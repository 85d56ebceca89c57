function [matrix, energy] = coilGeometricCompression(varargin)
% COILGEOMETRICCOMPRESSION  Virtual coils for each position along the readout of a Cartesian scan, which keep more.
%
%   [MATRIX, ENERGY] = isocenter.coilGeometricCompression(DATA, KEPT)
%
%   DATA: complex, readout x lines x coils, k-space with frequency 0 at floor(readout / 2) + 1. MATRIX: coils x KEPT x readout.
%   C = isocenter.Context(...) may come first; without one, a context of default options that all share is used.
%
%   See also isocenter.coilApply, isocenter.coilCompression.
    [context, rest] = isocenter.internal.start(varargin);
    [matrix, energy] = isocenter_mex('coil.geometric_compression', context, rest{:});
end
