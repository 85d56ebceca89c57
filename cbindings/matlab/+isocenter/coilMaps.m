function [maps, eigenvalues] = coilMaps(varargin)
% COILMAPS  Coil sensitivities from the fully sampled middle of k-space.
%
%   MAPS = isocenter.coilMaps(CALIBRATION, SIZE, NAME, VALUE, ...)
%   [MAPS, EIGENVALUES] = isocenter.coilMaps(CALIBRATION, SIZE, SETS, NAME, VALUE, ...)
%
%   CALIBRATION: complex, nx x ny x coils or nx x ny x nz x coils, frequency 0 at floor(n / 2) + 1 of each dimension. SIZE: of the maps, [nx ny] or
%   [nx ny nz]. MAPS: SIZE x coils x SETS, for MRI.setMaps; squares of a voxel's moduli add up to 1, or to 0. SETS: 1 by default.
%   C = isocenter.Context(...) may come first; without one, a context of default options that all share is used.
%
%   Method     'espirit' (the default: Uecker et al. 2014) or 'adaptive' (Walsh et al. 2000)
%   KernelX, KernelY, KernelZ  'espirit': elements of a block of k-space; by default 6, or 1 along a dimension of one element
%   Window     'adaptive': voxels of a block along each dimension, odd (5)
%   Threshold  'espirit': singular values above this, relative to the largest, are signal (0.02)
%   Crop       voxels whose eigenvalue is below have maps of 0 (0.95 for 'espirit', no limit for 'adaptive'); -1: no limit
%
%   Example:
%     maps = isocenter.coilMaps(kspace(117:140, 79:102, :), [256 180]);
%     mri.setMaps(maps);
%
%   See also isocenter.MRI, isocenter.coilCompression, isocenter.coilWhitening.
    [context, rest] = isocenter.internal.start(varargin);
    if nargout > 1
        [maps, eigenvalues] = isocenter_mex('coil.maps', context, rest{:});
    else
        maps = isocenter_mex('coil.maps', context, rest{:});
    end
end
