"""Echo-planar lines: where their samples lie on ramps of the gradient, and what keeps lines of both directions from fitting each other."""
import logging
from collections import namedtuple

import numpy

from . import _lines

ALIKE = ("slice", "contrast", "phase", "set", "repetition", "segment", "kspace_encode_step_2")  # navigators that belong to a line, the least needed last
LEAST = 0.5  # coherence of the difference of two lines, 1 where it is a constant and a slope along x
ROUNDS = 3

_log = logging.getLogger("isocenter")

Ramps = namedtuple("Ramps", "up flat down delay dwell samples")
Ramps.__doc__ = """Of a readout's gradient, in one unit of time: its three parts, when sampling begins and how far samples are apart, and how many the description
is of."""


def ramps(described):
    """`Ramps` of a header's description of the trajectory, a dict of numbers by names in lower case; None where it has none."""
    names = ("rampuptime", "flattoptime", "rampdowntime", "acqdelaytime", "dwelltime", "numsamples")
    if not all(name in described for name in names):
        return None
    found = Ramps(*(described[name] for name in names))
    sampled = found.delay + found.samples * found.dwell
    sound = min(found) >= 0 and found.dwell > 0 and found.samples >= 2 and found.up + found.flat + found.down > 0
    if not sound or sampled > (found.up + found.flat + found.down) * (1 + 1e-3):
        _log.warning("the header's description of the readout gradient (ramps of %g and %g, %g between, %g samples of %g from %g on) makes no sense, and is not used",
                     found.up, found.down, found.flat, found.samples, found.dwell, found.delay)
        return None
    return found


def along(ramp, samples, matrix):
    """Places of a readout's samples, in cycles per encoded field of view: as far apart in all as the encoded matrix, and 0 at the middle of the gradient's area."""
    t = ramp.delay + (numpy.arange(samples) + 0.5) * ramp.dwell * ramp.samples / samples
    whole = _area(ramp, numpy.array([ramp.up + ramp.flat + ramp.down]))[0]
    first, last = _area(ramp, numpy.array([ramp.delay, ramp.delay + ramp.samples * ramp.dwell]))
    return (_area(ramp, t) - whole / 2) * (matrix / (last - first))


def _area(ramp, t):
    """Of the gradient up to times, its flat part being 1."""
    up, flat, down = ramp.up, ramp.flat, ramp.down
    rising, falling = numpy.minimum(t, up), numpy.clip(t - up - flat, 0, down)
    area = numpy.clip(t - up, 0, flat)
    area = area + (rising * rising / (2 * up) if up else 0)
    return area + (falling - falling * falling / (2 * down) if down else 0)


class Difference(namedtuple("Difference", "constant slope coherence")):
    """Phase of lines backwards less that of lines forwards, constant + slope x with x in voxels; and how much of it that is."""
    __slots__ = ()

    def correction(self, backwards):
        """(factor of a line's samples, cycles per voxel to be added to their places): each direction has half of the difference."""
        half = -0.5 if backwards else 0.5
        return complex(numpy.exp(1j * half * self.constant)), half * self.slope / (2 * numpy.pi)


def difference(lines, voxels):
    """`Difference` of lines through the middle of k-space, of both directions, in the order that they were taken: (backwards, samples (coils, n), places in
    cycles per voxel) each. Neighbours are compared, so that a phase which grows from line to line goes away between those before and behind. None without neighbours
    of both directions."""
    x = numpy.arange(voxels) - voxels // 2
    profiles = [(backwards, _profile(samples, k, x)) for backwards, samples, k in lines]
    found = []
    for (first, before), (second, behind) in zip(profiles, profiles[1:]):
        if first != second:
            forwards, back = (behind, before) if first else (before, behind)
            found.append((first, _fitted((forwards.conj() * back).sum(axis=0), x)))
    kinds = [[d for first, d in found if first == kind] for kind in (False, True)]
    means = [_mean(differences) for differences in kinds if differences]
    return _mean(means) if means else None


def _profile(samples, k, x):
    """(coils, x): the transform of samples, each as wide as it is far from its neighbours."""
    width = numpy.abs(numpy.gradient(k))
    return (samples * width) @ numpy.exp(2j * numpy.pi * numpy.outer(k, x))


def _fitted(product, x):
    """Constant and slope of the phase of a product of two lines (Ahn and Cho, IEEE Trans. Med. Imag. 6, 1987), then by least squares of what is left."""
    weight = numpy.abs(product)
    if not weight.any():
        return Difference(0.0, 0.0, 0.0)
    slope = float(numpy.angle((product[1:] * product[:-1].conj()).sum()))
    constant = float(numpy.angle((product * numpy.exp(-1j * slope * x)).sum()))
    for _ in range(ROUNDS):
        left = numpy.angle(product * numpy.exp(-1j * (constant + slope * x)))
        more, offset = numpy.polyfit(x, left, 1, w=weight)
        slope, constant = slope + float(more), constant + float(offset)
    coherence = float(numpy.abs((product * numpy.exp(-1j * (constant + slope * x))).sum()) / weight.sum())
    return Difference(constant, slope, coherence)


def _mean(differences):
    """Constants are told but for turns: those nearest to the first one's are taken."""
    first = differences[0].constant
    constants = [first + float(numpy.angle(numpy.exp(1j * (d.constant - first)))) for d in differences]
    return Difference(float(numpy.mean(constants)), float(numpy.mean([d.slope for d in differences])), min(d.coherence for d in differences))


class Trains:
    """The differences of a file's echo trains, by the navigators before them. `lines(rows)` gives what `difference` takes, with the number of the readout first."""

    def __init__(self, heads, navigators, lines, voxels):
        self._heads, self._rows, self._lines, self._voxels = heads, numpy.flatnonzero(navigators), lines, voxels
        self._known, self._told = {}, False

    def of(self, row):
        """The `Difference` that belongs to a line, None where no navigators tell one."""
        rows = self._belonging(row)
        key = rows.tobytes()
        if key not in self._known:
            self._known[key] = found = difference(list(self._lines(rows)), self._voxels) if len(rows) else None
            if found and found.coherence < LEAST and not self._told:
                self._told = True
                _log.warning("navigators of an echo train, acquisitions %d to %d, differ from each other by more than a constant phase and a slope along x: what is left are ghosts",
                             rows[0], rows[-1])
        return self._known[key]

    def _belonging(self, row):
        """Navigators of both directions, of the same counters as far as there are such ones; of several groups, those next before the line, or the first behind it."""
        for count in range(len(ALIKE), -1, -1):
            alike = numpy.logical_and.reduce([numpy.ones(len(self._rows), bool)] +
                                             [self._heads["idx"][name][self._rows] == self._heads["idx"][name][row] for name in ALIKE[:count]])
            rows = self._rows[alike]
            backwards = {_lines.is_reversed(self._heads[r]) for r in rows}
            if len(backwards) == 2:
                return self._nearest(rows, row)
        return self._rows[:0]

    def _nearest(self, rows, row):
        """Of runs of acquisitions that follow each other in the file and have both directions, the last that begins before a line, or the first."""
        groups = numpy.split(rows, numpy.flatnonzero(numpy.diff(rows) > 1) + 1)
        groups = [group for group in groups if len({_lines.is_reversed(self._heads[r]) for r in group}) == 2] or [rows]
        before = [group for group in groups if group[0] < row]
        return before[-1] if before else groups[0]
