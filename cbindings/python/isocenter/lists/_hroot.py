"""STIR's headers of GATE's ROOT files (.hroot): which file and tree it is, what of it is left out, and a scanner."""
import dataclasses

import numpy

from ..errors import wrong
from ._gate import GATE
from ._keys import Keys
from ._scanner import Scanner

_BEGIN = b"root header"
#: Without which crystals are not known.
_NEEDED = ("Number of rings", "Number of detectors per ring", "Inner ring diameter (cm)", "Distance between rings (cm)")
#: By STIR 6 and before.
_TIMES = (("Maximum number of (unmashed) TOF time bins", "Number of TOF time bins"), ("Size of unmashed TOF time bins (ps)", "Size of timing bin (ps)"), ("TOF timing resolution (ps)", "Timing resolution (ps)"))
#: How often crystals are repeated around the ring, and blocks of them, of GATE's cylindricalPET and ecat.
_BLOCKS = ("number of Rsectors", "number of modules Y", "number of submodules Y"), ("number of blocks Y",)
#: Systems whose numbers are in the header.
_OWN = ("user defined scanner", "stir's")
#: keV within which all photons are.
_ALL = 1000.0
#: Crystals, twice those of the longest scanner, and how far from the origin they are, mm, at most.
_MOST, _FARTHEST = 1 << 19, 1e5


class Hroot(GATE):
    """A ROOT file of GATE's by STIR's header of it.

    Parameters
    ----------
    path : path
    scanner : path, optional
        CASToR's .geom or .hscan of the crystals. None: rings of crystals, as the header says.
    depth, duration, exclude, tree, delays
        As of GATE; of the depth, what to exclude and the tree, what the header says is without them.
    """

    def __init__(self, path, scanner=None, depth=None, duration=None, exclude=(), tree=None, delays=None):
        self._keys = keys = Keys(path, ":=", ";")
        for key in ("exclude unscattered events", "exclude non-random events"):
            if keys.flag(key):
                raise wrong(ValueError, f"{path} has '{key}:= 1', which leaves no true coincidences, of which the image is")
        out = {name for name, key in (("scatter", "exclude scattered events"), ("randoms", "exclude random events")) if keys.flag(key)}
        lower, upper = keys.number("low energy window (keV)", default=0.0), keys.number("upper energy window (keV)", default=_ALL)
        if not lower < upper:
            raise wrong(ValueError, f"{path} has an energy window of {lower:g} to {upper:g} keV; they must ascend")
        checked = keys.flag("check energy window information") or "check energy window information" not in keys
        self._energies = lower, upper
        super().__init__(keys.file("name of data file"), scanner, depth, duration, sorted(out | set(exclude)), tree or keys.text("name of input TChain", default="Coincidences"), delays,
                         (lower, upper) if checked and (lower > 0 or upper < _ALL) else None)
        self.path = path

    def _found(self):
        if self._given:
            return super()._found()
        keys, (lower, upper) = self._keys, self._energies
        made = _rings(keys, self._depth)
        resolution, at = keys.number("energy resolution", default=0.0), keys.number("reference energy", default=511.0)
        if resolution > 0 and at > 0:
            made = dataclasses.replace(made, energy_resolution=resolution * (at / 511.0) ** 0.5)
        if 0 < lower:
            made = dataclasses.replace(made, energy_lower=lower, energy_upper=upper)
        count, size, width = (keys.number(*names, default=0.0) for names in _TIMES)
        if count > 1 and size > 0 and width > 1:
            return dataclasses.replace(made, tof_fwhm=width, window=count * size / 2)
        told = "the header has no time of flight, and the events' is not used: add the lines " + ", ".join(f"'{names[0]}:= ...'" for names in _TIMES)
        return dataclasses.replace(made.without_times(), doubts=(*made.doubts, told))


def is_header(begin):
    return any(line.strip().lower().startswith(_BEGIN) for line in begin[:4096].splitlines())


def _rings(keys, depth):
    """A Scanner of crystals around the axis at equal angles, as STIR has them, with GATE's x, y and z; the first is at y."""
    missing = next((key for key in _NEEDED if key not in keys), None)
    if missing:
        raise wrong(ValueError, f"{keys.path} has no line '{missing}:= ...', without which its crystals are not known: add it, or pass scanner, CASToR's .geom or .hscan of them")
    count, places = (keys.whole(key, least=least) for key, least in zip(_NEEDED, (1, 4)))
    radius, spacing = 5 * keys.number(_NEEDED[2]), 10 * keys.number(_NEEDED[3])
    behind = 10 * keys.number("Average depth of interaction (cm)", default=0.0) if depth is None else depth
    if count * places > _MOST or not 0 < radius < _FARTHEST or not 0 < spacing * count < _FARTHEST or not -radius < behind < _FARTHEST:
        raise wrong(ValueError, f"{keys.path} has {count} rings of {places} crystals, {radius / 5:g} cm across, {spacing / 10:g} cm apart and {behind / 10:g} cm deep, which are no scanner")
    place = numpy.flatnonzero(_there(keys, places))
    angle = numpy.pi / 2 + 2 * numpy.pi * place / places + numpy.radians(keys.number("View offset (degrees)", default=0.0))
    out, z = numpy.stack([numpy.cos(angle), numpy.sin(angle), 0 * angle], axis=1), (numpy.arange(count) - (count - 1) / 2) * spacing
    normals = numpy.tile(out, (count, 1))
    positions = (radius + behind) * normals
    positions[:, 2] = numpy.repeat(z, len(place))
    system, told = keys.text("originating system", default="STIR's"), []
    if system.lower().replace("_", " ") not in _OWN:
        told.append(f"the header is of originating system {system}, for which STIR takes numbers of its own: those of the header are taken")
    if keys.whole(*[names[0] for names in _BLOCKS], default=0.0) != places:
        told.append(f"crystals are taken for a ring of {places} at equal angles, as the header has them, with no gaps between flat blocks but those that it tells of: pass scanner for blocks as they are")
    return Scanner(positions, normals, 2 * (radius + behind) * numpy.sin(numpy.pi / places), spacing, None, (0,), (1,), system, doubts=tuple(told))


def _there(keys, places):
    """Which places of a ring have crystals: of blocks with more places, the last ones do not."""
    repeated = next((names for names in _BLOCKS if names[0] in keys), None)
    if repeated is None:
        return numpy.ones(places, bool)
    blocks, across = int(numpy.prod([float(keys.whole(name, default=1.0, least=1)) for name in repeated])), keys.whole("number of crystals Y", default=1.0, least=1)
    each, rest = divmod(places, blocks)
    if rest or each < across:
        raise wrong(ValueError, f"{keys.path} has '{_NEEDED[1]}:= {places}', and {blocks} blocks of {across} crystals around: they must have as many, or places for gaps besides")
    return numpy.arange(places) % each < across
