function moved = shiftSamples(samples, trajectory, shift, unit)
% SHIFTSAMPLES  Samples of MRI as of a field of view whose middle lies elsewhere.
%
%   MOVED = isocenter.shiftSamples(SAMPLES, TRAJECTORY, SHIFT, UNIT)
%
%   SAMPLES: complex, samples x coils. TRAJECTORY: real, axes x samples, x first, in UNIT: 'cycles_per_voxel', 'cycles_per_field_of_view' or
%   'radians_per_voxel'. SHIFT: along each axis, in voxels, or, with 'cycles_per_field_of_view', in fields of view, such as 3 / nx.
%   MOVED: SAMPLES times exp(2i * pi * k.SHIFT), exact for fractions of voxels: what was at place SHIFT of the image is in its middle then. Maps of
%   coils and of the field that a plan is given are to be those of the moved field of view.
%
%   See also isocenter.MRI.
    if ~isfloat(samples) || ~isfloat(trajectory) || ~isreal(trajectory) || ndims(samples) > 2 || ndims(trajectory) > 2 || size(trajectory, 1) > 3 ...
            || size(samples, 1) ~= size(trajectory, 2)
        error('isocenter:shift', 'SAMPLES are %s, and TRAJECTORY is %s; they must be samples x coils, and 1 to 3 real axes x samples', mat2str(size(samples)), mat2str(size(trajectory)));
    end
    if ~isreal(shift) || ~isnumeric(shift) || numel(shift) ~= size(trajectory, 1) || ~all(isfinite(shift(:)))
        error('isocenter:shift', 'SHIFT has %d elements; it must be %d finite real numbers, one for each axis of TRAJECTORY', numel(shift), size(trajectory, 1));
    end
    units = {'cycles_per_voxel', 'cycles_per_field_of_view', 'radians_per_voxel'};
    if ~ischar(unit) || ~any(strcmp(unit, units))
        error('isocenter:shift', 'UNIT must be one of %s', strjoin(strcat('''', units, ''''), ', '));
    end
    if strcmp(unit, 'cycles_per_field_of_view') && any(abs(shift(:)) >= 1)
        error('isocenter:shift', 'with ''cycles_per_field_of_view'' SHIFT is in fields of view, below 1: divide voxels by nx, ny and nz');
    end
    cycles = double(trajectory).' * double(shift(:));
    if strcmp(unit, 'radians_per_voxel'), cycles = cycles / (2 * pi); end
    moved = bsxfun(@times, samples, cast(exp(2i * pi * cycles), class(samples)));
end
