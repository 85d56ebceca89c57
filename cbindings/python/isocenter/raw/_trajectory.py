"""Where samples lie in k-space: units of trajectories, and the trajectory of Cartesian lines."""
import numpy

from ..errors import OutOfRangeError, wrong

# ISMRMRD leaves the unit to who writes the file.
UNITS = ("cycles_per_voxel", "radians_per_voxel", "cycles_per_field_of_view", "cycles_per_recon_field_of_view", "cycles_per_metre")
# A trajectory of a unit reaches this much of its range, or another unit is meant.
LIKELY, POSSIBLE = (0.6, 1.02), (0.05, 1.02)


def factors(unit, encoded, recon):
    """What times a trajectory in this unit is in cycles per voxel of the encoded space: (3,), x first."""
    shape, voxel, field = (numpy.array(values[::-1], float) for values in (encoded.shape, encoded.voxel, recon.field_of_view))
    return {"cycles_per_voxel": numpy.ones(3), "radians_per_voxel": numpy.full(3, 0.5 / numpy.pi), "cycles_per_field_of_view": 1 / shape,
            "cycles_per_recon_field_of_view": voxel / field, "cycles_per_metre": voxel / 1000}[unit]


def cycles_per_voxel(trajectory, unit, encoded, recon):
    """A trajectory (samples, dims), x first, in cycles per voxel of the encoded space. Without a unit it is found, if just one fits."""
    reach = numpy.abs(trajectory).max(axis=0, initial=0)
    dims = len(reach)
    scale = {name: factors(name, encoded, recon)[:dims] for name in UNITS}
    part = {name: float((2 * reach * scale[name]).max()) for name in UNITS}  # of the unit's range
    seen = "x, y, z"[:3 * dims - 2] + " reach " + ", ".join(f"{r:.4g}" for r in reach)
    if unit is None:
        likely = [name for name in UNITS if LIKELY[0] <= part[name] <= LIKELY[1]]
        if not likely or any(not numpy.allclose(scale[name], scale[likely[0]], rtol=0.01) for name in likely):
            raise wrong(ValueError, f"the unit of the trajectory cannot be told, whose {seen}: pass unit=, one of "
                                    + ", ".join(f"{name!r} (up to {_range(scale[name])} for this header)" for name in UNITS))
        unit = likely[0]
    elif unit not in UNITS:
        raise wrong(ValueError if isinstance(unit, str) else TypeError, f"unit is {unit!r}; it must be one of " + ", ".join(map(repr, UNITS)))
    elif not POSSIBLE[0] <= part[unit] <= POSSIBLE[1]:
        fit = [name for name in UNITS if LIKELY[0] <= part[name] <= LIKELY[1]]
        raise wrong(OutOfRangeError, f"unit is {unit!r}, up to {_range(scale[unit])} for this header, but the trajectory's {seen}: "
                                     + (f"pass unit={fit[0]!r}" if fit else "no unit fits this header's matrix and field of view"))
    return (trajectory * scale[unit]).astype(numpy.float32)


def _range(scale):
    return " x ".join(f"{0.5 / s:.4g}" for s in scale)


def line(head, encoded, centres):
    """Positions of a Cartesian readout's samples in cycles per voxel of the encoded space, x first: (samples, 3), in the order in
    which they were acquired."""
    along = numpy.arange(int(head["number_of_samples"]), dtype=float)
    steps = [int(head["idx"][name]) - centre for name, centre in zip(("kspace_encode_step_1", "kspace_encode_step_2"), centres)]
    nz, ny, nx = encoded.shape
    if _reversed(head):  # the centre counts from the low end of k
        along = along[::-1]
    k = numpy.empty((len(along), 3))
    k[:, 0], k[:, 1], k[:, 2] = (along - int(head["center_sample"])) / nx, steps[0] / ny, steps[1] / nz
    return k


def _reversed(head):
    return bool(int(head["flags"]) >> 21 & 1)  # ACQ_IS_REVERSE, 22, counts from 1
