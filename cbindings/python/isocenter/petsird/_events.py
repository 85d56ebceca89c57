"""PETSIRD files: their events, in parts, with what they are."""
import collections

import numpy

from ..errors import wrong
from . import _file

#: Events that are brought at a time, about.
_AT_ONCE = 1 << 20

Part = collections.namedtuple("Part", "crystals times kinds frames first")
Part.__doc__ = """Events one after the other: `crystals` uint32 (events, 2), `times` uint32 (events,) of time bins, `kinds` 0 of prompts and 1 of delays, `frames` -1
beyond all, and `first` the number of the first in the file."""


class Events:
    """One pass over a file.

    Parameters
    ----------
    path : path
    frames : array or None
        (frames, 2) of start and end, ascending, s: a block of events is of the frame in which it begins. None: one of all.
    delays : bool
        Whether delayed coincidences are brought, too.

    Attributes
    ----------
    scanner : Scanner
    has_prompts, has_delays : bool
        Whether the scanner stores them.
    seconds : list of float
        Start and end of all blocks so far, s.
    starts, measured : array
        (frames,): when the first block of each began, and how long its blocks were together, s.
    moves : bool
        Bed or gantry were at several places.
    has_dead_time : bool
    """

    def __init__(self, path, frames=None, delays=True):
        self._path, self._frames = path, numpy.array([[-numpy.inf, numpy.inf]]) if frames is None else frames
        with _file.open_file(path, skip_completed_check=True) as reader:
            self.header = reader.read_header()
        described = self.header.scanner
        self.scanner = _file.scanner_of(self.header)
        self.has_prompts = described.prompt_event_policy.name != "NONE"
        self.has_delays = described.delayed_event_policy.name != "NONE"
        self._kinds = 2 if delays and self.has_delays else 1
        self.seconds, self.moves, self.has_dead_time = [numpy.inf, -numpy.inf], False, False
        self.starts, self.measured = numpy.full(len(self._frames), numpy.inf), numpy.zeros(len(self._frames))

    def __iter__(self):
        waiting, first = [], 0
        for rows, kinds, frames in self._blocks():
            waiting.append((rows, kinds, frames))
            if sum(len(kinds) for _, kinds, _ in waiting) >= _AT_ONCE:
                yield (part := _joined(waiting, first))
                waiting, first = [], first + len(part.kinds)
        if waiting:
            yield _joined(waiting, first)

    def _blocks(self):
        place, places = None, set()
        with _file.open_file(self._path) as reader:
            reader.read_header()
            for block in reader.read_time_blocks():
                value = getattr(block, "value", block)
                self.has_dead_time |= hasattr(value, "alive_time_fractions")
                if hasattr(value, "transform") or hasattr(value, "transforms"):
                    moved = getattr(value, "transforms", None) or [value.transform]
                    place = (hasattr(value, "transforms"), *(numpy.asarray(t.matrix, float).tobytes() for t in moved))
                if not hasattr(value, "prompt_events"):
                    continue
                places.add(place)
                self.moves = len(places) > 1
                frame = self._frame(value.time_interval.start / 1e3, value.time_interval.stop / 1e3)
                listed = [self._listed(lists) for lists in (value.prompt_events, value.delayed_events)[:self._kinds]]
                kinds = numpy.repeat(numpy.arange(len(listed)), [len(rows) for rows in listed])
                if len(kinds):
                    yield numpy.concatenate(listed), kinds, numpy.full(len(kinds), frame)

    def _frame(self, begin, end):
        """Of a block, whose time is noted."""
        self.seconds[:] = min(self.seconds[0], begin), max(self.seconds[1], end)
        frame = int(numpy.searchsorted(self._frames[:, 0], begin, side="right")) - 1
        if frame < 0 or begin >= self._frames[frame, 1]:
            return -1
        self.starts[frame] = min(self.starts[frame], begin)
        self.measured[frame] += end - begin
        return frame

    def _listed(self, lists):
        """Crystals and time bin, uint32 (events, 3)."""
        last, parts = len(self.scanner.time_edges) - 2, [numpy.zeros((0, 3), numpy.uint32)]
        for a, row in enumerate(lists or ()):
            for b, events in enumerate(row):
                if len(events):
                    rows = numpy.array([(*event.detection_bins, event.tof_idx) for event in events], numpy.int64)
                    for column, kind in enumerate((a, b)):
                        rows[:, column] = self.scanner.first[kind] + rows[:, column] // self.scanner.energies[kind]
                    # A file's places are c (t1 - t2) / 2.
                    rows[:, 2] = last - rows[:, 2]
                    parts.append(rows.astype(numpy.uint32))
        return numpy.concatenate(parts)


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


def _joined(waiting, first):
    rows, kinds, frames = (numpy.concatenate(arrays) for arrays in zip(*waiting))
    return Part(rows[:, :2], rows[:, 2], kinds, frames, first)
