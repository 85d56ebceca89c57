"""Maps of attenuation, in 1/mm at 511 keV."""
import os

import numpy

from ..errors import wrong
from ..images import Volume, read_nifti

#: Units of maps of attenuation.
UNITS = ("1/mm", "1/cm", "HU")

#: In 1/mm: water has 0.0096, the lung a third of that, bone 0.017. Voxels that attenuate have the first or more, and few of a body less than the second or more than the third.
_SOME, _LEAST, _MOST = 1e-4, 0.0015, 0.02
#: Parts of the voxels that attenuate, above which more than bone and less than the lung are told: of the first there is metal, of the second edges and beds.
_FEW, _EDGES = 0.05, 0.25
#: Hounsfield units are below the first in air; lead, the densest of materials that are used, has 0.17 /mm, so that values above the second are in no unit of attenuation.
_AIR, _DENSE = -50.0, 5.0
#: Values below 0 by less, over the largest, are what resampling leaves of 0.
_ROUNDING = 1e-6


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
    values = map.image
    said = f"the map of attenuation is taken to be in {map.unit}, but its values, {values.min():.4g} to {values.max():.4g}"
    if map.unit == "HU":
        seen = _looks_like(values)
        if seen not in (None, "HU"):
            raise wrong(ValueError, f"{said}, are in {seen}: pass unit={seen!r}")
        if seen is None:
            doubt(f"{said}, look like no unit of a body")
        return map._replace(image=pet.attenuation(values, kilovolts), unit="1/mm")
    if values.min() < _AIR or values.max() > _DENSE:
        raise wrong(ValueError, f"{said}, are Hounsfield units: pass unit='HU'")
    values = _without_rounding(values, doubt) * numpy.float32(0.1 if map.unit == "1/cm" else 1)
    for (what, part), most in zip(_strange(values), (_FEW, _EDGES)):
        if part > most:
            other = _looks_like(map.image)
            hint = f": they look like {other}" if other not in (None, map.unit) else ""
            doubt(f"{said}, are {what} in {100 * part:.3g} % of the voxels that attenuate{hint}")
    return map._replace(image=values, unit="1/mm")


def body(map, shape, voxel, centre):
    """Which voxels of a lattice attenuate as a body does: those of the map that are nearest, above a fifth of water."""
    at = []
    for axis, n, side, middle in zip((2, 1, 0), shape[::-1], voxel, centre):
        k = 2 - axis
        place = middle + (numpy.arange(n) - (n - 1) / 2) * side - map.centre[k]
        at.append(numpy.clip(numpy.rint(place / map.voxel[k] + (map.image.shape[axis] - 1) / 2), 0, map.image.shape[axis] - 1).astype(int))
    return map.image[numpy.ix_(*at[::-1])] > 0.002


def _without_rounding(values, doubt):
    """The map without values that are below 0 by rounding alone; others stay, and are errors."""
    lowest = float(values.min())
    if not 0 > lowest >= -_ROUNDING * max(float(values.max()), _LEAST):
        return values
    doubt(f"the map of attenuation has {int((values < 0).sum())} values below 0, {lowest:.2g} at least, which are taken for 0")
    return numpy.maximum(values, 0)


def _strange(values):
    """Which part of the voxels that attenuate, of a map in 1/mm, have more than bone, and less than the lung."""
    some = int((values > _SOME).sum())
    if not some:
        return [(f"below {_SOME:g} /mm everywhere, which is air,", 1.0)]
    return [(f"above {_MOST} /mm, more than bone has,", int((values > _MOST).sum()) / some),
            (f"below {_LEAST} /mm, less than the lung has,", int(((values > _SOME) & (values < _LEAST)).sum()) / some)]


def _looks_like(values):
    """The unit in which a map is most of all a body's, None of none."""
    if values.min() < _AIR or values.max() > _DENSE:
        return "HU"
    found = {unit: max(part for _, part in _strange(values * scale)) for unit, scale in (("1/mm", numpy.float32(1)), ("1/cm", numpy.float32(0.1)))}
    best = min(found, key=found.get)
    return best if found[best] < 0.5 else None
