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
    made = numpy.empty(image.shape, numpy.float32)
    for z in range(count[2]):  # one slice at a time, for the memory of its places
        made[z] = _between(image, [begin[k] + step[k, 0] * x + step[k, 1] * y + step[k, 2] * z for k in (2, 1, 0)])
    return made


def inverse(transform):
    """Of a (3, 4)."""
    whole = numpy.linalg.inv(numpy.vstack([transform, [0, 0, 0, 1]]))
    return whole[:3]


def _between(image, places):
    """Values at (z, y, x), in voxels."""
    near = [numpy.rint(place) for place in places]
    places = [numpy.where(abs(place - at) < _NEAR, at, place) for place, at in zip(places, near)]
    below = [numpy.floor(place).astype(int) for place in places]
    above = [place - at for place, at in zip(places, below)]
    made = numpy.zeros(numpy.broadcast_shapes(*(place.shape for place in places)), numpy.float32)
    for corner in numpy.ndindex(2, 2, 2):
        index = [at + k for at, k in zip(below, corner)]
        weight, inside = 1.0, True
        for at, k, part, count in zip(index, corner, above, image.shape):
            weight = weight * (part if k else 1 - part)
            inside = inside & (at >= 0) & (at < count)
        found = image[tuple(numpy.clip(at, 0, count - 1) for at, count in zip(index, image.shape))]
        made += numpy.where(inside & (weight > 0), weight * found, 0).astype(numpy.float32)
    return made
