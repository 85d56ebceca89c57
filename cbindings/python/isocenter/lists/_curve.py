"""Activity of the body over time."""
import numpy

from . import _attenuation

#: Without a map the body is what has more activity than this part of the largest.
_PART = 0.1


def add(found, images, map, lattice):
    """Notes the mean over the body of each of (frames, nz, ny, nx), in Bq/ml."""
    inside = _body(images, map, lattice)
    for of, image in zip(found, images):
        of.mean = float(image[inside].mean()) if inside.any() else 0.0


def _body(images, map, lattice):
    if map is not None:
        return _attenuation.body(map, lattice.shape, (lattice.voxel,) * 3, lattice.centre)
    mean = numpy.nan_to_num(images).mean(axis=0)
    return mean > _PART * mean.max()
