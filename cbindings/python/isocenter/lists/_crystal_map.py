"""Places of crystals in a text file, by ring, detector and layer, as STIR has them."""
import os

import numpy

from ..errors import wrong
from . import _unpacked
from ._keys import Keys
from ._reading import UNKNOWN
from ._scanner import Scanner

#: Bytes of a file, crystals, and how far from the origin they are, mm, at most.
_BYTES, _MOST, _FARTHEST = 1 << 28, 1 << 23, 1e5


class CrystalMap:
    """A scanner whose crystals have a ring, a place in it and a layer.

    Attributes
    ----------
    scanner : Scanner
    """

    def __init__(self, scanner, table):
        self.scanner, self._table = scanner, table

    def numbers(self, ring, place, layer):
        """Of crystals, UNKNOWN of those that there are not."""
        index = [of.astype(numpy.int64) for of in (ring, place, layer)]
        there = numpy.logical_and.reduce([of < n for of, n in zip(index, self._table.shape)])
        return numpy.where(there, self._table[tuple(numpy.where(there, of, 0) for of in index)], UNKNOWN).astype(numpy.uint32)


def read(path):
    """The CrystalMap of a text file, or of STIR's header that names one."""
    sizes, name = (0.0, 0.0), os.path.basename(os.fspath(path))
    if b"interfile" in _unpacked.begin(path, 256).lower():
        keys = Keys(path, ":=", ";")
        if "Name of crystal map" not in keys:
            raise wrong(ValueError, f"{path} names no crystal map, without which the places of its crystals are not told: pass scanner, a text file of ring, detector, layer, x, y and z")
        # cm
        sizes = [10 * keys.number(f"Distance between crystals in {way} direction (cm)", default=0.0) for way in ("transaxial", "axial")]
        name = keys.text("originating system", "Scanner type", default=name)
        path = keys.file("Name of crystal map")
    indices, places = _rows(path)
    shape = indices.max(axis=0) + 1
    if numpy.prod(shape.astype(float)) != len(indices):
        raise wrong(ValueError, f"{path} has {len(indices)} crystals, of rings, detectors and layers up to {', '.join(str(n - 1) for n in shape)}, counted from 0: there must be "
                                f"{int(numpy.prod(shape.astype(float)))}")
    table = numpy.full(shape, -1, numpy.int64)
    table[tuple(indices.T)] = numpy.arange(len(indices))
    if (table < 0).any():
        raise wrong(ValueError, f"{path} has the same ring, detector and layer twice")
    inwards = -places * (1, 1, 0)
    far = numpy.linalg.norm(inwards, axis=1, keepdims=True)
    if not (far > 0).all():
        raise wrong(ValueError, f"{path} has crystals on the scanner's axis")
    return CrystalMap(Scanner(places, inwards / far, *sizes, None, (0,), (1,), name).without_times(), table)


def _rows(path):
    """(crystals, 3) of ring, detector and layer, and (crystals, 3) of x, y and z."""
    data = _unpacked.begin(path, _BYTES + 1)
    lines = [line for line in data.decode("utf-8", "replace").splitlines() if line.strip() and not line.lstrip().startswith("#")]
    rows = [line.replace(",", " ").split() for line in lines]
    columns = len(rows[0]) if rows else 0
    if columns not in (5, 6) or len(data) > _BYTES:
        raise wrong(ValueError, f"{path} is no crystal map: lines must have ring, detector, layer or not, x, y and z")
    try:
        values = numpy.array(rows, float)
    except ValueError:
        raise wrong(ValueError, f"{path} has lines that are not all {columns} numbers") from None
    indices, places = values[:, :-3], values[:, -3:]
    if not (numpy.abs(places) < _FARTHEST).all() or not ((indices >= 0) & (indices < _MOST) & (indices == numpy.floor(indices))).all():
        raise wrong(ValueError, f"{path} has rings, detectors and layers that are no whole numbers from 0, or places farther than {_FARTHEST:g} mm")
    if columns == 5:
        indices = numpy.column_stack([indices, numpy.zeros(len(indices))])
    return indices.astype(int), places
