"""Dead times that a file tells, in what the scanner measures of each frame.

Of a pair of crystals, in modules a and b, `f_i f_j m_ab` of the decays are measured, the mean over the frame's blocks of events, weighed by the activity that there is: see `isocenter.lists._products` and docs/list-mode.md.
"""
import collections
import dataclasses

import numpy

from ..errors import wrong
from ._pairs import Pairs

#: Fractions that differ by less of their mean are one, and fractions of pairs of modules are rounded to so many.
_ALIKE, _STEP = 1e-3, 1e-4
#: Of pairs, what is told if products are off by more.
_OFF = 0.01
#: Efficiencies of pairs of elements, at most.
_MOST = 1 << 28

Alive = collections.namedtuple("Alive", "fractions off pairs modules")
Alive.__doc__ = """Of a frame: `fractions` (crystals,) of the time in which crystals were ready, by how much of their square these are `off` where they change against each other, and of coincidences those of `pairs`,
one number or (modules, modules), with the module of each crystal in `modules`."""

Own = collections.namedtuple("Own", "scanner randoms live ready alive")
Own.__doc__ = """Of a frame: the `scanner`, its efficiencies and pairs times what is ready of them; Pairs for `randoms` of single photons that were measured, which do not have trues' efficiencies; `live`, what is ready of
all besides that; `ready`, which part of that is of coincidences; and `alive`, the mean of all, to tell."""


class Dead:
    """Of each frame.

    Parameters
    ----------
    scanner : Scanner
    events : Reading
        Which was read.
    live : float or None
        What is given in the place of the file's dead times.
    half_life : float
        s.
    doubt : function
    """

    def __init__(self, scanner, events, live, half_life, doubt):
        self._scanner, self._half_life, self._live, self._doubt = scanner, half_life, live, doubt
        self._randoms = scanner.pairs and scanner.pairs._replace(groups=(scanner.pairs.groups > 0).astype(numpy.uint32), efficiencies=None)
        self._alive = events.alive if live is None else None
        self._off, self._bare = 0.0, False
        if live is not None and events.alive and events.alive.has_fractions:
            doubt(f"live is given, {live:g}: the file's dead times are not used")
        if self._alive:
            for words in self._alive.doubts([block for blocks in events.blocks for block in blocks]):
                doubt(words)

    def of(self, name, blocks, counted):
        """Own of a frame of a name, which has so many counts in these blocks."""
        if not self._alive:
            live = 1.0 if self._live is None else self._live
            return Own(self._scanner, self._randoms, live, 1.0, live)
        found = self._alive.of(blocks, self._half_life)
        f, scanner, randoms = found.fractions, self._scanner, self._randoms
        mean, of_pairs = float(f.mean()), float(numpy.mean(found.pairs))
        alive = mean * mean * of_pairs
        if counted and not alive > 0:
            raise wrong(ValueError, f"{name} has {counted} counts, and by the file's dead times the scanner was never ready: pass live")
        self._tell(name, f, found.off)
        live = 1.0
        if alive <= 0 or numpy.ptp(f) <= _ALIKE * mean:
            live = mean * mean
        else:
            if scanner.efficiencies is None and not self._bare:
                self._bare = True
                self._doubt("crystals have dead times that differ, and the file has no efficiencies, which these multiply: each crystal is taken to detect every photon, even behind others")
            scanner = dataclasses.replace(scanner, efficiencies=f * (1.0 if scanner.efficiencies is None else scanner.efficiencies))
        if numpy.ndim(found.pairs) == 0 or _alike(found, scanner.pairs):
            ready = of_pairs
        else:
            ready = 1.0
            scanner, randoms = dataclasses.replace(scanner, pairs=_times(scanner.pairs, found)), _times(randoms, found)
        return Own(scanner, randoms, min(1.0, live * ready) or 1.0, ready, alive)

    def _tell(self, name, f, off):
        seen = f > 0
        most = float((numpy.maximum(off[seen], 0) / f[seen] ** 2).max()) if seen.any() else 0.0
        if most > max(_OFF, self._off):
            self._off = most
            self._doubt(f"fractions of the time in which crystals are ready change against each other within {name}: of some pairs their products are off by up to {100 * most:.2g} %; shorter frames have less")


def _alike(found, pairs):
    """Whether fractions of all pairs of modules that are measured are one."""
    chosen = found.pairs if pairs is None else found.pairs[pairs.groups > 0]
    return numpy.ptp(chosen) <= _ALIKE * chosen.mean()


def _times(pairs, found):
    """Pairs times fractions of pairs of modules."""
    groups = numpy.ones(found.pairs.shape, numpy.uint32) if pairs is None else pairs.groups
    modules, efficiencies = (found.modules, None) if pairs is None else (pairs.modules, pairs.efficiencies)
    measured = groups > 0
    both, numbers = numpy.unique(numpy.stack([groups[measured], numpy.rint(found.pairs[measured] / _STEP)]).astype(numpy.int64), axis=1, return_inverse=True)
    made = numpy.zeros(groups.shape, numpy.uint32)
    made[measured] = numbers.ravel() + 1
    values = (both[1] * _STEP).astype(numpy.float32)
    if efficiencies is None:
        return Pairs(modules, made, values)
    if len(values) * efficiencies[0].size > _MOST:
        raise wrong(ValueError, f"coincidences of pairs of modules have dead times of {len(values)} kinds, and each of them efficiencies of {efficiencies[0].size} pairs of elements, which are too many: pass live")
    return Pairs(modules, made, efficiencies[both[0] - 1] * values.reshape(-1, *[1] * (efficiencies.ndim - 1)))
