"""Images in another position."""
import numpy

#: Places that are as near to a voxel's middle, voxels, are there: a shift by whole voxels changes no value.
_NEAR = 1e-6


def rigid(image, voxel, centre, transform):
    """The image whose value at x is that of `image` at `transform` x, between voxels by trilinear interpolation, and beyond them 0.

    Parameters
    ----------
    image : array
        (nz, ny, nx).
    voxel, centre : sequence of float
        Its sides and its middle, x, y, z in mm: of what is returned as well.
    transform : array
        (3, 4), mm.

    Returns
    -------
    array
        float32 (nz, ny, nx).
    """
    image, transform = numpy.asarray(image, numpy.float32), numpy.asarray(transform, float)
    sides, count = numpy.asarray(voxel, float), numpy.array(image.shape[::-1])
    first = numpy.asarray(centre, float) - (count - 1) / 2 * sides
    # Of voxels' numbers along x, y and z.
    step = transform[:, :3] * sides / sides[:, None]
    begin = (transform[:, :3] @ first + transform[:, 3] - first) / sides
    x, y = numpy.arange(count[0]), numpy.arange(count[1])[:, None]
    # With zeros about it, in which all places beyond the image are put.
    padded, made = numpy.pad(image, (1, 2)), numpy.empty(image.shape, numpy.float32)
    for z in range(count[2]):  # one slice at a time, for the memory of its places
        made[z] = _between(padded, [begin[k] + step[k, 0] * x + step[k, 1] * y + step[k, 2] * z for k in (2, 1, 0)])
    return made


def inverse(transform):
    """Of a (3, 4)."""
    whole = numpy.linalg.inv(numpy.vstack([transform, [0, 0, 0, 1]]))
    return whole[:3]


def _between(padded, places):
    """Values at (z, y, x), in voxels of what was padded."""
    index, parts = 0, []
    for place, count in zip(places, padded.shape):
        near = numpy.rint(place)
        place = numpy.clip(numpy.where(abs(place - near) < _NEAR, near, place), -1, count - 3) + 1
        below = place.astype(numpy.intp)
        index = index * count + below
        parts.append((place - below).astype(numpy.float32))
    values, (slices, rows) = padded.ravel(), (padded.shape[1] * padded.shape[2], padded.shape[2])
    # Along x, then y, then z.
    along = lambda at: values[at] * (1 - parts[2]) + values[at + 1] * parts[2]
    across = lambda at: along(at) * (1 - parts[1]) + along(at + rows) * parts[1]
    return across(index) * (1 - parts[0]) + across(index + slices) * parts[0]
