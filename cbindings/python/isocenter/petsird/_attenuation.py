"""Maps of attenuation, in 1/mm at 511 keV."""
import os

import numpy

from ..errors import wrong
from ..images import Volume, read_nifti

#: Units of maps of attenuation.
UNITS = ("1/mm", "1/cm", "HU")

#: What most of a body is at least and at most, in 1/mm: water has 0.0096, the lung a third of that, bone 0.017.
_LEAST, _MOST = 0.003, 0.03
#: Hounsfield units are below the first in air; values above the second are in no unit of attenuation.
_AIR, _DENSE = -50.0, 5.0


def read_map(attenuation, unit, position):
    """A Volume of float32 in one of `UNITS`, of a path to a NIfTI file or a Volume."""
    map = attenuation if isinstance(attenuation, Volume) else None
    if map is None:
        if not isinstance(attenuation, (str, os.PathLike)):
            raise wrong(TypeError, f"attenuation is {type(attenuation).__name__}; it must be the path of a NIfTI file, or an isocenter.images.Volume")
        map = read_nifti(attenuation, position=position)
    unit = unit or (map.unit if map.unit in UNITS else "1/mm")
    if unit not in UNITS:
        raise wrong(ValueError, f"unit is {unit!r}; it must be one of {', '.join(UNITS)}")
    image = numpy.asarray(map.image)
    if image.ndim != 3 or not image.size:
        raise wrong(ValueError, f"attenuation has shape {image.shape}; it must be (nz, ny, nx)")
    voxel = map.voxel if numpy.ndim(map.voxel) else (map.voxel,) * 3
    return Volume(image.astype(numpy.float32), tuple(voxel), tuple(map.centre), unit)


def in_millimetres(pet, map, kilovolts, doubt):
    """The map in 1/mm; `doubt` is told where its values look like those of another unit."""
    seen, typical = _looks_like(map.image)
    said = f"the map of attenuation is taken to be in {map.unit}, but its values, {map.image.min():.4g} to {map.image.max():.4g}, most of them about {typical:.3g}"
    if (seen == "HU") != (map.unit == "HU") and seen:
        raise wrong(ValueError, f"{said}, are {'Hounsfield units' if seen == 'HU' else 'in ' + seen}: pass unit={seen!r}")
    if seen != map.unit:
        doubt(f"{said}, look like {seen or 'no unit of a body'}")
    if map.unit == "HU":
        return map._replace(image=pet.attenuation(map.image, kilovolts), unit="1/mm")
    return map._replace(image=map.image * numpy.float32(0.1 if map.unit == "1/cm" else 1), unit="1/mm")


def body(map, shape, voxel, centre):
    """Which voxels of a lattice attenuate as a body does: those of the map that are nearest, above a fifth of water."""
    at = []
    for axis, n, side, middle in zip((2, 1, 0), shape[::-1], voxel, centre):
        k = 2 - axis
        place = middle + (numpy.arange(n) - (n - 1) / 2) * side - map.centre[k]
        at.append(numpy.clip(numpy.rint(place / map.voxel[k] + (map.image.shape[axis] - 1) / 2), 0, map.image.shape[axis] - 1).astype(int))
    return map.image[numpy.ix_(*at[::-1])] > 0.002


def _looks_like(values):
    """A unit, None where it is no body's, and the median of the dense half."""
    dense = values[values > 0.3 * numpy.percentile(values, 99.5)] if (values > 0).any() else values
    typical = float(numpy.median(dense)) if dense.size else 0.0
    if values.min() < _AIR or typical > _DENSE:
        return "HU", typical
    for unit, size in (("1/mm", 1), ("1/cm", 10)):
        if _LEAST * size < typical <= _MOST * size:
            return unit, typical
    return None, typical
