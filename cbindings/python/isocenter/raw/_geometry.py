"""Where images lie in the patient: affine maps of slices, and of those that make a stack."""
import numpy

# Slices are a stack if their directions differ by less, and their places from even distances by less than this part of one.
ALIKE, EVEN = 1e-3, 0.02


def affine_of(readouts, shape, voxel):
    """From voxel (x, y, z, 1) of an image (nz, ny, nx) to mm, whose voxel n // 2 is at its centre; directions of 0 are not known."""
    affine = numpy.eye(4)
    directions = (readouts.read_dir, readouts.phase_dir, readouts.slice_dir)
    affine[:3, :3] = numpy.stack([d * v for d, v in zip(directions, voxel[::-1])], axis=1)
    affine[:3, 3] = readouts.position - affine[:3, :3] @ [n // 2 for n in shape[::-1]]
    return affine


def at_one_place(affines):
    """Whether several slices, given by the affine maps (slices, 4, 4) of each, are the same plane."""
    return len(affines) > 1 and numpy.abs(affines - affines[0]).max() == 0


def in_order(affines):
    """The order of slices, given by the affine maps (slices, 4, 4) of each: as they are, or along their normal where only that makes
    their distances even, as of slices in the order of acquisition."""
    as_they_are = list(range(len(affines)))
    if len(affines) < 3 or stack(affines) is not None:
        return as_they_are
    normal = numpy.cross(affines[0, :3, 0], affines[0, :3, 1])
    order = [int(i) for i in numpy.argsort(affines[:, :3, 3] @ normal, kind="stable")]
    return order if stack(affines[order]) is not None else as_they_are


def stack(affines):
    """The one affine map of slices (slices, 4, 4), or None where they are no stack."""
    made, places = affines[0].copy(), affines[:, :3, 3]
    sides = numpy.linalg.norm(made[:3, :3], axis=0)
    if (numpy.abs(affines[:, :3, :3] - made[:3, :3]) > ALIKE * max(sides.max(), 1e-9)).any():
        return None
    if len(affines) == 1:
        return made
    step = (places[-1] - places[0]) / (len(affines) - 1)
    length = numpy.linalg.norm(step)
    even = places[0] + numpy.outer(numpy.arange(len(affines)), step)
    # Slices at one place, of files that do not know it, are a thickness apart.
    if numpy.abs(places - even).max() > EVEN * (length or sides[2]):
        return None
    if length > 0:
        made[:3, 2] = step
    return made
