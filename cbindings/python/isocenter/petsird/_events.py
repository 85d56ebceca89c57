"""PETSIRD files: their events, in parts, with what they are."""
import numpy

from ..errors import wrong
from ..lists._reading import UNKNOWN, Part, Reading
from . import _exam, _file, _yardl
from ._alive import DeadTimes
from ._singles import Singles, has_singles
from ._times import Times
from ._values import numbers

#: Events that are brought at a time, about.
_AT_ONCE = 1 << 20
#: Edges of frames and blocks that are as near, s, are the same: files have whole milliseconds.
_SAME = 1e-3


class Events(Reading):
    """One pass over a file, a Reading.

    Parameters
    ----------
    path : path
    frames : array or None
        (frames, 2) of start and end, ascending, s: a block of events is of the frame in which it begins. None: one of all.
    delays : bool
        Whether delayed coincidences are brought, too, and single photons noted.

    Attributes
    ----------
    scanner : Scanner
    said : Said
        What the header says besides.
    has_prompts, has_delays : bool
        Whether the scanner stores them.
    seconds : list of float
        Start and end of all blocks so far, s.
    """

    def __init__(self, path, frames=None, delays=True):
        super().__init__(frames)
        self._path = path
        with _file.open_file(path) as reader, reader.understood():
            self.header = reader.read_header()
            self.scanner, self.said = _file.scanner_of(self.header), _exam.said_by(self.header)
            self._times = Times(self.header.scanner)
            self.has_prompts, self.has_delays = (_file.stored(self.header.scanner, kind) for kind in ("prompt", "delayed"))
        self._counts = numpy.diff([*self.scanner.first, len(self.scanner.positions)])
        self._kinds, self._wants_singles = 2 if delays and self.has_delays else 1, delays
        self.seconds, self._cut, self._number, self._overlaps = [numpy.inf, -numpy.inf], {}, 0, 0
        # Events of types of modules that there are not.
        self._strange = 0
        # Events of type of module whose bin is one beyond the last, and of its first bin.
        self._beyond, self._lowest = numpy.zeros(len(self._counts), int), numpy.zeros(len(self._counts), int)

    def __iter__(self):
        waiting, first = [], 0
        for block in self._blocks():
            waiting.append(block)
            if sum(len(crystals) for crystals, *_ in waiting) >= _AT_ONCE:
                yield (part := _joined(waiting, first))
                waiting, first = [], first + len(part.kinds)
        if waiting:
            yield _joined(waiting, first)
        self._tell()

    def _blocks(self):
        place, places = None, set()
        with _file.open_file(self._path) as reader, reader.understood():
            reader.read_header()
            for block in self._whole(reader.read_time_blocks()):
                self._note(block)
                if hasattr(block, "transform") or hasattr(block, "transforms"):
                    moved = getattr(block, "transforms", None) or [getattr(block, "transform", None)]
                    place = (hasattr(block, "transforms"), *(numbers(t.matrix, "places of bed and gantry").tobytes() for t in moved if t is not None))
                if not hasattr(block, "prompt_events"):
                    continue
                places.add(place)
                self.moves = len(places) > 1
                frame = self._frame(block.time_interval.start / 1e3, block.time_interval.stop / 1e3)
                listed = [self._listed(lists) for lists in (block.prompt_events, block.delayed_events)[:self._kinds]]
                kinds = numpy.repeat(numpy.arange(len(listed)), [len(crystals) for crystals, *_ in listed])
                if len(kinds):
                    crystals, times, widths = (numpy.concatenate(columns) for columns in zip(*listed))
                    yield crystals, times, kinds, numpy.full(len(kinds), frame), widths

    def _note(self, block):
        """What is not events: dead times, and single photons where randoms may be made of them."""
        if hasattr(block, "alive_time_fractions"):
            self.alive = self.alive or DeadTimes(self._path, self.header.scanner, self._counts, self.scanner.energies)
            self.alive.add(block)
        elif self._wants_singles and has_singles(block):
            self.singles = self.singles or Singles(self._path, self.header.scanner)
            self.singles.add(block)

    def _whole(self, blocks):
        """Blocks up to where the file ends, which may be early: a scan that was stopped, or a copy."""
        try:
            yield from blocks
        except _yardl.Damaged as e:
            if not self._number:
                raise wrong(ValueError, f"{self._path} is not whole, and no block of events of it is: {e}") from None
            self.doubts.append(f"{self._path} is not whole ({e}): {self._number} blocks of events to {self.seconds[1]:g} s are in the image, and what came after is not")

    def _frame(self, begin, end):
        """Of a block, whose time is noted."""
        if end < begin:
            raise wrong(ValueError, f"{self._path} has a block of events from {begin:g} to {end:g} s, which ends before it begins")
        self._number += 1
        self._overlaps += begin < self.seconds[1] - _SAME
        self.seconds[:] = min(self.seconds[0], begin), max(self.seconds[1], end)
        # A block that begins a rounding error before a frame is of it.
        frame = int(numpy.searchsorted(self.asked[:, 0], begin + _SAME / 2, side="right")) - 1
        if frame >= 0 and begin + _SAME / 2 >= self.asked[frame, 1]:
            frame = -1
        for k in numpy.flatnonzero(((begin + _SAME / 2 < self.asked) & (self.asked < end - _SAME / 2)).any(axis=1)):
            self._cut[int(k)] = None
        if frame >= 0:
            self.blocks[frame].append((begin, end))
        return frame

    def _listed(self, lists):
        """Crystals, uint32 (events, 2), times, and widths of times; the latter are empty where they are the scanner's."""
        edges, none = self.scanner.time_edges, numpy.zeros(0, numpy.float32)
        parts = [(numpy.zeros((0, 2), numpy.uint32), none if edges is None else none.astype(numpy.uint32), none)]
        for a, row in enumerate(lists or ()):
            for b, events in enumerate(row):
                if not len(events):
                    continue
                if max(a, b) >= len(self._counts):
                    self._strange += len(events)
                    continue
                if events.ndim != 2 or events.shape[1] != 3:
                    raise wrong(ValueError, f"{self._path} has events of {events.shape[1:]} numbers; there must be two crystals and a time bin")
                crystals = numpy.empty((len(events), 2), numpy.uint32)
                for column, kind in enumerate((a, b)):
                    crystals[:, column] = self._numbered(events[:, column], kind)
                if edges is None:
                    times, widths, there = self._times.of(a, b, events[:, 2])
                    crystals[~there] = UNKNOWN
                elif len(edges) == 2:
                    times, widths = numpy.where(events[:, 2] < 1, 0, UNKNOWN).astype(numpy.uint32), none
                else:
                    # A file's places are c (t1 - t2) / 2.
                    bins = len(edges) - 1
                    times, widths = numpy.where(events[:, 2] < bins, bins - 1 - events[:, 2], UNKNOWN).astype(numpy.uint32), none
                parts.append((crystals, times, widths))
        return tuple(numpy.concatenate(columns) for columns in zip(*parts))

    def _numbered(self, found, kind):
        """Numbers of crystals, of detection bins of a type of module."""
        energies = self.scanner.energies[kind]
        crystals = found // energies if energies > 1 else found
        there = crystals < self._counts[kind]
        self._beyond[kind] += int((found == self._counts[kind] * energies).sum())
        self._lowest[kind] += int((found == 0).sum())
        return numpy.where(there, crystals + self.scanner.first[kind], UNKNOWN)

    def _tell(self):
        if self._strange:
            self.doubts.append(f"{self._strange} events are of more types of modules than the {len(self._counts)} that the scanner has, and are left out: the package petsird's example of a generator lists those of its "
                               "last type twice")
        for kind, (beyond, lowest) in enumerate(zip(self._beyond, self._lowest)):
            if beyond and not lowest:
                of = f" of modules of type {kind}" if len(self._counts) > 1 else ""
                self.doubts.append(f"detection bins{of} seem to be counted from 1, and PETSIRD counts from 0: {beyond} events have number "
                                   f"{self._counts[kind] * self.scanner.energies[kind]}, which there is not, and none has 0")
        for k in sorted(self._cut):
            start, end = self.asked[k]
            found = self.blocks[k]
            has = f"has the events from {found[0][0]:g} to {found[-1][1]:g} s" if found else "has no events"
            self.within.append(f"frame {k}, {start:g} to {end:g} s, {has}: its edges are within blocks of events, whose events have no times of their own")
        self.doubts += self.within
        if self._overlaps:
            self.doubts.append(f"{self._overlaps} blocks of events begin before the one before them ends: their durations are added up")


def _joined(waiting, first):
    crystals, times, kinds, frames, widths = (numpy.concatenate(arrays) for arrays in zip(*waiting))
    return Part(crystals, times, kinds, frames, first, widths if len(widths) else None)
