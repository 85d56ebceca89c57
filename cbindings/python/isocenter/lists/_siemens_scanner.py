"""Scanners of Siemens whose lists name bins of a sinogram: their crystals, and which two a bin is of."""
import collections
import dataclasses

import numpy

from ..errors import wrong
from ._castor_scanner import rings
from ._pairs import Pairs
from ._reading import UNKNOWN
from ._scanner import Scanner

Design = collections.namedtuple("Design", "model systems rings blocks across pitch width height depth energy_resolution")
Design.__doc__ = """What headers do not say. `systems` by which they call it, in small letters; `rings` of crystals; flat `blocks` around each, of so many crystals `across` with a `pitch`; `width`, `height` of a crystal and the
mean `depth` behind its face at which it detects, mm; `energy_resolution` at 511 keV. In sinograms each block has one place more, which comes before its crystals and is none."""

#: J. Delso et al., J. Nucl. Med. 52, 1914, 2011; STIR's Scanner.cxx and NiftyPET's mmraux.py have the same numbers, but for the depth, 6.7 mm in the latter.
DESIGNS = (Design("Biograph mMR", ("2008", "mmr", "siemens mmr", "biograph mmr"), 64, 56, 8, 32.09 / 8, 4.0, 4.0, 7.0, 0.145),)
#: Whose bins are known in parts alone.
_OTHERS = dict.fromkeys(("1094", "1104", "2011", "mct", "siemens mct"), "Biograph mCT") | dict.fromkeys(("1208", "vision 600"), "Biograph Vision") | {"1232": "Biograph Vision Quadra"}


def design(path, system):
    """Of a header's originating system."""
    for known in DESIGNS:
        if system.lower() in known.systems:
            return known
    name = _OTHERS.get(system.lower())
    raise wrong(ValueError, f"{path} is of originating system {system}{f' ({name})' if name else ''}, of which it is not known here where crystals and gaps of blocks are, and which of them bins stand for; that of "
                            f"{', '.join(f'{of.systems[0]} ({of.model})' for of in DESIGNS)} is: STIR2PETSIRD (github.com/ETSIhackers/STIR2PETSIRD) makes PETSIRD of what STIR reads")


class Bins:
    """Which crystals the bins of a list's sinogram are of: bin by bin, view by view, plane by plane of segments 0, 1, -1, 2, -2 and so on, each of one difference of rings.

    Parameters
    ----------
    keys : Keys
        Of the list's header.
    design : Design

    Attributes
    ----------
    count : int
    farthest : int
        The largest difference of rings.
    """

    def __init__(self, keys, design):
        span, self.farthest = keys.whole("%axial compression", least=1), keys.whole("%maximum ring difference")
        places, path = design.blocks * (design.across + 1), keys.path
        if span != 1:
            raise wrong(ValueError, f"{path} has '%axial compression:= {span}': bins of several ring differences do not tell which crystals an event was in; there must be 1")
        views, bins, ring_count = (keys.whole(key, least=1) for key in ("%number of views", "%number of projections", "number of rings"))
        for key, found, expected in (("number of rings", ring_count, design.rings), ("%number of views", views, places // 2)):
            if found != expected:
                raise wrong(ValueError, f"{path} has '{key}:= {found}'; a {design.model} has {expected}, each of its crystals by itself")
        if bins > places or bins % 2:
            raise wrong(ValueError, f"{path} has '%number of projections:= {bins}'; there must be an even number, {places} at most")
        if self.farthest >= ring_count:
            raise wrong(ValueError, f"{path} has '%maximum ring difference:= {self.farthest}' of {ring_count} rings")
        steps = numpy.arange(self.farthest + 1)
        table = numpy.concatenate([[ring_count], numpy.repeat(ring_count - steps[1:], 2)])
        if not numpy.array_equal(keys.numbers("%segment table", count=len(table)), table):
            raise wrong(ValueError, f"{path} has a '%segment table' that is not of one ring difference each, up to {self.farthest} of {ring_count} rings, with the one before its opposite")
        self._rings, self._places = _of_planes(ring_count, self.farthest), _of_bins(views, bins, design)
        self._per_ring = design.blocks * design.across
        self.count = len(self._rings) * len(self._places)

    def crystals(self, numbers):
        """(events, 2) crystals of bins by their numbers, and masks of those beyond the sinogram and in gaps between blocks, of which crystals are UNKNOWN."""
        plane, place = numpy.divmod(numbers.astype(numpy.int64), len(self._places))
        beyond = plane >= len(self._rings)
        places = self._places[place]
        gaps = (places < 0).any(axis=1) & ~beyond
        found = self._rings[numpy.where(beyond, 0, plane)] * self._per_ring + places
        found[beyond | gaps] = UNKNOWN
        return found.astype(numpy.uint32), beyond, gaps


def read(design, radius, spacing, farthest, depth=None, **header):
    """The Scanner, whose crystals are numbered ring by ring, without places of gaps; x to the right and y down of who looks into the bore, z the way that the bed goes in (docs/list-mode.md).

    Parameters
    ----------
    radius : float
        Of the crystals' faces, mm.
    spacing : float
        Of rings, mm.
    farthest : int
        The largest difference of rings in coincidence.
    depth : float, optional
        mm; None: the design's.
    header
        Of Scanner, as the header says.
    """
    block, k = (of.ravel() for of in numpy.indices((design.blocks, design.across)))
    # A bin's place 0 is above the axis, and the next ones come clockwise; each block begins with its gap.
    angle = 2 * numpy.pi / design.blocks * (block + (1 + (design.across - 1) / 2) / (design.across + 1))
    out, side = radius + (design.depth if depth is None else depth), (k - (design.across - 1) / 2) * design.pitch
    sin, cos = numpy.sin(angle), numpy.cos(angle)
    x, y = out * sin + side * cos, side * sin - out * cos
    z = ((design.rings - 1) / 2 - numpy.arange(design.rings)) * spacing
    stacked = lambda *values: numpy.stack([numpy.broadcast_to(v, (design.rings, len(k))).ravel() for v in values], axis=1)
    made = Scanner(stacked(x, y, z[:, None]), stacked(sin, -cos, 0.0), design.width, design.height, None, (0,), (1,), design.model, energy_resolution=design.energy_resolution, **header).without_times()
    modules, groups = rings(made, farthest * spacing)
    return made if groups.all() else dataclasses.replace(made, pairs=Pairs(modules, groups, None))


def efficiencies(design, table):
    """Of crystals, of a norm's table (rings, places), which counts places from the first crystal of a block on, one before the sinogram's."""
    blocks = table.reshape(design.rings, design.blocks, design.across + 1)
    return blocks[:, :, :design.across].ravel().astype(float)


def _of_planes(rings, farthest):
    """(planes, 2) rings of both crystals. Of each difference, first those whose first crystal has the larger number."""
    low = numpy.arange(rings)
    pairs = [numpy.stack([low, low], axis=1)]
    for step in range(1, farthest + 1):
        pair = numpy.stack([low[step:], low[:-step]], axis=1)
        pairs += [pair, pair[:, ::-1]]
    return numpy.concatenate(pairs)


def _of_bins(views, bins, design):
    """(views x bins, 2) places of both crystals in their rings, -1 of gaps."""
    view, place = numpy.indices((views, bins)).reshape(2, -1)
    off = place - bins // 2
    # A step of a bin moves one end of the line alone, by turns.
    ends = numpy.stack([view + off // 2, view - (off + 1) // 2 + views], axis=1) % (2 * views)
    block, k = numpy.divmod(ends, design.across + 1)
    return numpy.where(k > 0, block * design.across + k - 1, -1)
