"""How a scan's time is cut: into frames, gates, and places of a patient who moves."""
import dataclasses

import numpy

from ..errors import wrong
from . import _frames, _gates, _motion


@dataclasses.dataclass
class Cut:
    """Spans of time, the parts that they belong to, and the images that these belong to.

    Attributes
    ----------
    spans : array or None
        (n, 2) of start and end, ascending, s; None of all of the scan.
    of : array
        (n,), the part of each span.
    parts : list of str
        What each part is called.
    images : array
        (parts,), the image of each.
    names : list of str
        What each image is called.
    transforms : list of array or None
        Of each part (3, 4), from where the patient is to the reference; None of one who does not move.
    series : bool
        Whether images are several by what was asked for.
    doubts : list of str
    """
    spans: numpy.ndarray
    of: numpy.ndarray
    parts: list
    images: numpy.ndarray
    names: list
    series: bool
    transforms: list = None
    doubts: list = dataclasses.field(default_factory=list)

    def read(self, listed, delays):
        """A Reading of a list, whose frames are the parts."""
        reading = listed.read(self.spans, delays=delays)
        own = self.spans is None or len(self.of) == len(self.parts) and self.parts == reading.names
        return reading if own else Grouped(reading, self.of, self.parts, self.transforms is None)


class Grouped:
    """A Reading's frames, several of which are one part: it has what a Reading has, and parts come by turns.

    Parameters
    ----------
    reading : Reading
    of : array
        (frames,), the part of each.
    names : list of str
        Of the parts.
    whole : bool
        Whether these are images of their own.
    """

    in_order = False

    def __init__(self, reading, of, names, whole):
        self._reading, self._of, self.names, self.whole = reading, of, names, whole

    def __iter__(self):
        for part in self._reading:
            yield part._replace(frames=numpy.where(part.frames < 0, -1, self._of[part.frames]))

    @property
    def asked(self):
        spans = [self._reading.asked[self._of == k] for k in range(len(self.names))]
        return numpy.array([(found[:, 0].min(), found[:, 1].max()) for found in spans])

    @property
    def blocks(self):
        made = [[] for _ in self.names]
        for k, blocks in zip(self._of, self._reading.blocks):
            made[k] += blocks
        return made

    @property
    def starts(self):
        return numpy.array([min((begin for begin, _ in blocks), default=numpy.inf) for blocks in self.blocks])

    @property
    def measured(self):
        return numpy.array([sum(end - begin for begin, end in blocks) for blocks in self.blocks], float)

    @property
    def moves(self):
        return self._reading.moves

    @property
    def alive(self):
        return self._reading.alive

    @property
    def singles(self):
        return self._reading.singles

    @property
    def doubts(self):
        within = self._reading.within
        told = [f"{len(within)} of {len(self._of)} times of gates or places begin or end within blocks of events, whose events have no times of their own: a block is of the one "
                "in which it begins"] if within else []
        return [words for words in self._reading.doubts if words not in within] + told


def cut(frames=None, gates=None, gate_count=None, motion=None):
    """How to cut what was asked for."""
    if frames is not None and gates is not None:
        raise wrong(ValueError, "frames and gates are given; there must be one of them")
    if gate_count is not None and gates is None:
        raise wrong(ValueError, f"gate_count is {gate_count}, and there are no gates: pass gates, a file of triggers")
    doubts = []
    if gates is not None:
        spans, of, names, doubts = _gates.read(gates, gate_count)
    elif frames is not None:
        spans = _frames.read(frames)
        of, names = numpy.arange(len(spans)), [f"frame {k}" for k in range(len(spans))]
    else:
        spans, of, names = None, numpy.zeros(1, int), ["the scan"]
    made = Cut(spans, of, names, numpy.arange(len(names)), names, spans is not None, None, doubts)
    return made if motion is None else _by_places(made, _motion.read(motion))


def _by_places(whole, places):
    """Each part cut again, by where the patient is."""
    spans = numpy.array([[-numpy.inf, numpy.inf]]) if whole.spans is None else whole.spans
    edges = numpy.unique(numpy.concatenate([spans.ravel(), places.starts]))
    begins, ends = edges[:-1], edges[1:]
    inside = numpy.searchsorted(spans[:, 0], begins, side="right") - 1
    kept = (inside >= 0) & (begins < spans[inside, 1])
    begins, ends, inside = begins[kept], ends[kept], inside[kept]
    # A place that comes again is the same, and before the first start the first one holds.
    _, first, same = numpy.unique(places.transforms.reshape(len(places.starts), -1), axis=0, return_index=True, return_inverse=True)
    at = first[same.ravel()[numpy.maximum(numpy.searchsorted(places.starts, begins, side="right") - 1, 0)]]
    parts, of = numpy.unique(numpy.stack([whole.of[inside], at], axis=1), axis=0, return_inverse=True)
    names = [f"{whole.names[image]}, place {place}" for image, place in parts]
    return dataclasses.replace(whole, spans=numpy.stack([begins, ends], axis=1), of=of.ravel(), parts=names, images=parts[:, 0], transforms=[places.transforms[k] for k in parts[:, 1]])
