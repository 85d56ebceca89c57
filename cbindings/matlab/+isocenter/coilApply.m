function out = coilApply(varargin)
% COILAPPLY  Data of other coils.
%
%   OUT = isocenter.coilApply(MATRIX, DATA)
%
%   MATRIX: coils x rows, DATA: complex, samples x coils, OUT = DATA * MATRIX: samples x rows. With a MATRIX of
%   isocenter.coilGeometricCompression, coils x rows x readout: DATA readout x lines x coils, OUT readout x lines x rows.
%   C = isocenter.Context(...) may come first; without one, a context of default options that all share is used.
%
%   See also isocenter.coilWhitening, isocenter.coilCompression.
    [context, rest] = isocenter.internal.start(varargin);
    out = isocenter_mex('coil.apply', context, rest{:});
end
