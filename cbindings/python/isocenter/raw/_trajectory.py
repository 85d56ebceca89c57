"""Units of trajectories, and what their axes say of themselves."""
import numpy

from ..errors import OutOfRangeError, wrong

# ISMRMRD leaves the unit to who writes the file.
UNITS = ("cycles_per_voxel", "radians_per_voxel", "cycles_per_field_of_view", "cycles_per_recon_field_of_view", "cycles_per_metre",
         "radians_per_metre", "cycles_per_millimetre")
# 1/mm is near to cycles per voxel wherever voxels are of some mm, and is to be asked for.
FOUND = UNITS[:-1]
# A trajectory of a unit reaches this much of its range, or another unit is meant; samples a little beyond, which are left out, where no unit
# goes without.
LIKELY, POSSIBLE, BEYOND = (0.6, 1.02), (0.05, 1.1), 1.1
# Along its shortest axis it reaches this much, or its axes have no unit in common: found; given.
SHORTEST, SHORTEST_GIVEN = 0.45, 0.05
PARALLEL = 0.1  # by how much kz may differ from the partitions' numbers


def factors(unit, encoded, recon):
    """What times a trajectory in this unit is in cycles per voxel of the encoded space: (3,), x first."""
    shape, voxel, field = (numpy.array(values[::-1], float) for values in (encoded.shape, encoded.voxel, recon.field_of_view))
    return {"cycles_per_voxel": numpy.ones(3), "radians_per_voxel": numpy.full(3, 0.5 / numpy.pi), "cycles_per_field_of_view": 1 / shape,
            "cycles_per_recon_field_of_view": voxel / field, "cycles_per_metre": voxel / 1000, "radians_per_metre": voxel / (2000 * numpy.pi),
            "cycles_per_millimetre": voxel}[unit]


def check_unit(unit):
    if unit is not None and unit not in UNITS:
        raise wrong(ValueError if isinstance(unit, str) else TypeError, f"unit is {unit!r}; it must be one of " + ", ".join(map(repr, UNITS)))


def scale(reach, unit, encoded, recon):
    """What times a trajectory whose axes reach so far, x first, is in cycles per voxel of the encoded space: (dims,). Without a unit it is
    found, if just one fits."""
    check_unit(unit)
    dims = len(reach)
    scales = {name: factors(name, encoded, recon)[:dims] for name in UNITS}
    parts = {name: 2 * reach * scales[name] for name in UNITS}  # of the unit's range
    names = "x, y, z"[:3 * dims - 2]
    seen = names + " reach " + ", ".join(f"{r:.4g}" for r in reach)
    if not reach.all():
        axis = "xyz"[int(numpy.argmin(reach))]
        raise wrong(ValueError, f"the trajectory is 0 along {axis} in all samples ({seen}), and the image is {encoded.shape[::-1]} voxels: "
                                "pass trajectory= one that has all axes")
    likely = _likely(parts, LIKELY[1]) or _likely(parts, BEYOND)
    if unit is None:
        if not likely or any(not numpy.allclose(scales[name], scales[likely[0]], rtol=0.01) for name in likely):
            apart = "" if likely else _axis_by_axis(parts)
            if apart:
                raise wrong(ValueError, f"the trajectory's {seen}{apart}. Pass trajectory= one whose axes do")
            raise wrong(ValueError, f"the unit of the trajectory cannot be told, whose {seen}: pass unit=, one of "
                                    + ", ".join(f"{name!r} (up to {_range(scales[name])} for this header)" for name in UNITS))
        return scales[likely[0]]
    if not POSSIBLE[0] <= parts[unit].max() <= POSSIBLE[1]:
        raise wrong(OutOfRangeError, f"unit is {unit!r}, up to {_range(scales[unit])} for this header, but the trajectory's {seen}: "
                                     + (f"pass unit={likely[0]!r}" if likely else "no unit fits this header's matrix and field of view"))
    if parts[unit].min() < SHORTEST_GIVEN * parts[unit].max():
        raise wrong(OutOfRangeError, f"unit is {unit!r}, up to {_range(scales[unit])} for this header, but the trajectory's {seen}"
                                     f"{_axis_by_axis(parts)}. Pass trajectory= one whose axes share a unit")
    return scales[unit]


def _likely(parts, most):
    return [name for name in FOUND if LIKELY[0] <= parts[name].max() <= most and parts[name].min() >= SHORTEST]


def _axis_by_axis(parts):
    """Which units would fit each axis, where no one fits all."""
    fit = [[name for name in FOUND if SHORTEST <= parts[name][axis] <= LIKELY[1]] for axis in range(len(parts[FOUND[0]]))]
    if not all(fit) or set.intersection(*map(set, fit)):
        return ""
    return "; its axes do not share a unit: " + ", ".join(f"{axis} fits {' or '.join(names)}" for axis, names in zip("xyz", fit))


def _range(scale):
    return " x ".join(f"{0.5 / s:.4g}" for s in scale)


def third_axis(trajectories, steps, partitions):
    """What the third numbers of a volume's trajectories (samples, 3) are, given with each readout's step along z: "kz"; "stack", where they
    are all 0 and kz is the step's; or "density", where they are one and kz is the step's. ValueError where they can be none of these."""
    third = numpy.concatenate([k[:, 2] for k in trajectories])
    several = len(set(steps)) > 1
    if not third.any():
        if several:
            return "stack"
        raise wrong(ValueError, f"the trajectory is 0 along z in all samples, and the volume has {partitions} partitions: pass trajectory= one that has kz")
    plane = numpy.concatenate([k[:, :2] for k in trajectories])
    if third.min() < 0 or (plane.min(axis=0) >= 0).any() or (plane.max(axis=0) <= 0).any():
        return "kz"
    if several and _alike(trajectories, steps):
        return "density"
    raise wrong(ValueError, f"the third number of the trajectory is {third.min():.4g} to {third.max():.4g}: frequencies along z have both signs, and "
                            "it may be a density. Pass trajectory= with kz, or with two numbers a sample where kz is the second step's")


def _alike(trajectories, steps):
    """Whether readouts of all partitions have third numbers that readouts of the first have."""
    def near(a, b):
        return len(a) == len(b) and numpy.abs(a - b).max() <= 1e-3 * numpy.abs(b).max()

    first = [k[:, 2] for k, step in zip(trajectories, steps) if step == steps[0]]
    return all(any(near(k[:, 2], known) for known in first) for k in trajectories)


def check_partitions(trajectories, steps, partitions):
    """ValueError where kz, in cycles per voxel, goes with the partitions' numbers in another step than theirs: it has a unit of its own."""
    means, steps = numpy.array([k[:, 2].mean() for k in trajectories]), numpy.array(steps, float)
    spread = max(numpy.ptp(k[:, 2]) for k in trajectories)
    if numpy.ptp(steps) == 0:
        return
    slope, first = numpy.polyfit(steps, means, 1)
    rest = max(numpy.abs(means - slope * steps - first).max(), spread)
    if rest < 0.1 * abs(slope) and abs(abs(slope) * partitions - 1) > PARALLEL:
        raise wrong(ValueError, f"kz of the trajectory goes by {abs(slope):.4g} cycles per voxel from partition to partition, where {partitions} of them "
                                f"make {1 / partitions:.4g}: its axes do not share a unit. Pass trajectory= one whose axes do, or two numbers a sample")
