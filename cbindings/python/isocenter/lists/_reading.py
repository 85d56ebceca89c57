"""One pass over a list's events, in parts, with what they are."""
import collections

import numpy

from ..errors import wrong

#: A crystal or time bin that there is not.
UNKNOWN = 0xffffffff
#: Headers have durations in whole seconds: an event that is later by less is of the scan.
_ROUNDED = 1.0
#: Part of a scan, at its end, in which there are events, if there are so many in all.
_LAST, _MANY = 0.1, 1000

Part = collections.namedtuple("Part", "crystals times kinds frames first widths", defaults=(None,))
Part.__doc__ = """Events one after the other: `crystals` uint32 (events, 2), `times` (events,), uint32 of time bins or float32 of t2 - t1 in ps, `kinds` 0 of prompts and 1 of
delays, `frames` -1 beyond all, and `first` the number of the first in the list; `widths` of times, full widths at half maximum in ps, float32 (events,), where a scanner's pairs of modules differ. Crystals and
bins that there are not are 2**32 - 1."""


class Reading:
    """What is known of a pass over a list, some of it after the pass alone.

    Parameters
    ----------
    frames : array or None
        (frames, 2) of start and end, ascending, s. None: one of all.

    Attributes
    ----------
    asked : array
        `frames`, -inf and inf of all.
    blocks : list of list
        Of each frame, start and end of the times in which it was measured, s.
    starts, measured : array
        (frames,): when the first block of each began, and how long its blocks were together, s.
    moves : bool
        Bed or gantry were at several places.
    alive, singles : object or None
        Dead times that the file has, as `isocenter.petsird._alive.DeadTimes`, and rates of single photons, as `isocenter.petsird._singles.Singles`, that randoms may be made of.
    doubts, within : list of str
        What is not as it was asked for, or not as files should be; and those of them that are of frames whose edges are within blocks of events.
    names : list of str
        What frames are called.
    """
    #: Frames are images of their own, not parts of them; and none comes again after another.
    whole, in_order = True, True

    def __init__(self, frames):
        self.asked = numpy.array([[-numpy.inf, numpy.inf]]) if frames is None else frames
        self.blocks, self.moves, self.alive, self.singles, self.doubts, self.within = [[] for _ in self.asked], False, None, None, [], []
        self.names = ["the scan"] if frames is None else [f"frame {k}" for k in range(len(self.asked))]

    @property
    def starts(self):
        return numpy.array([min((begin for begin, _ in blocks), default=numpy.inf) for blocks in self.blocks])

    @property
    def measured(self):
        return numpy.array([sum(end - begin for begin, end in blocks) for blocks in self.blocks], float)


class TimedReading(Reading):
    """Of a list whose events have times of their own, by which frames are cut.

    Parameters
    ----------
    path : path
    span : (float, float)
        Start and end of the scan, s.
    chunks : iterable
        Of crystals, times, kinds and seconds of events; the latter None of a list that has none.
    frames : array or None
    doubts : list of str
        To which others are added.
    """

    def __init__(self, path, span, chunks, frames, doubts):
        super().__init__(frames)
        self._path, self._span, self._chunks, self.doubts = path, span, chunks, doubts
        parts = [(max(start, span[0]), min(end, span[1])) for start, end in self.asked]
        self.blocks = [[(begin, end)] if end > begin else [] for begin, end in parts]
        self._cut = frames is not None
        self._number, self._outside, self._latest = 0, 0, -numpy.inf

    def __iter__(self):
        for crystals, times, kinds, seconds in self._chunks:
            yield Part(crystals, times, kinds, self._frames(seconds, len(kinds)), self._number)
            self._number += len(kinds)
        self._tell()

    def _frames(self, seconds, count):
        if seconds is None:
            if self._cut:
                raise wrong(ValueError, f"{self._path} has no times of its events, by which frames could be cut")
            return numpy.zeros(count, int)
        start, end = self._span
        outside = (seconds < start) | (seconds >= end + _ROUNDED)
        self._outside += int(outside.sum())
        self._latest = max(self._latest, float(seconds.max(initial=-numpy.inf)))
        frames = numpy.searchsorted(self.asked[:, 0], seconds, side="right") - 1
        frames[(frames >= 0) & (seconds >= self.asked[numpy.maximum(frames, 0), 1]) | outside] = -1
        return frames

    def _tell(self):
        start, end = self._span
        where = f"{start:g} to {end:g} s"
        if self._outside and self._outside == self._number:
            raise wrong(ValueError, f"{self._path} has all of its events outside of the scan, which is from {where}")
        if self._outside:
            self.doubts.append(f"{self._outside} of {self._number} events are outside of the scan, which is from {where}, and are in no image")
        elif self._number >= _MANY and -numpy.inf < self._latest < end - _LAST * (end - start):
            self.doubts.append(f"the last event is at {self._latest:g} s, and the scan is taken to be from {where}: pass duration if it was shorter")


def pairs(frames):
    """Frames of time as an array (frames, 2), checked."""
    given = numpy.array(frames, float)
    if given.ndim != 2 or given.shape[1:] != (2,) or not len(given) or not numpy.isfinite(given).all():
        raise wrong(ValueError, f"frames is {frames}; it must be pairs of start and end, s")
    for k, (start, end) in enumerate(given):
        if end <= start:
            raise wrong(ValueError, f"frames[{k}] is {start:g} to {end:g} s; its end must be after its start")
        if k and start < given[k - 1, 1]:
            raise wrong(ValueError, f"frames[{k}], {start:g} to {end:g} s, begins before the end of the one before it, {given[k - 1, 1]:g} s; frames "
                                    "must ascend and not overlap")
    return given
