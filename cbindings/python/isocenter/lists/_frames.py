"""Frames of time as they are written: as pairs, as a text of counts and durations, or in a file."""
import os
import re

import numpy

from .. import _sidecar, _tables
from ..errors import wrong
from ._reading import pairs

#: Such as 12x10,6x20,60: so many frames of so many s, one after the other from 0 on.
_TEXT = re.compile(r"\s*(?:(\d+)\s*[xX*]\s*)?(\d+\.?\d*|\.\d+)\s*(?:s\s*)?")
#: Frames, at most: of more there is a mistake in the text.
_MOST = 10_000


def read(frames):
    """(frames, 2) of start and end, s, ascending."""
    if not isinstance(frames, (str, os.PathLike)):
        return pairs(frames)
    parts = [_TEXT.fullmatch(part) for part in os.fspath(frames).split(",")]
    return pairs(_of_text(frames, parts) if all(parts) else _of_file(frames))


def _of_text(text, parts):
    counts = [int(part[1] or 1) for part in parts]
    if not all(counts) or sum(counts) > _MOST:
        raise wrong(ValueError, f"frames is '{text}', {sum(counts)} frames; each part must have 1 or more, and all together {_MOST} at most")
    edges = numpy.cumsum([0.0, *numpy.repeat([float(part[2]) for part in parts], counts)])
    return numpy.stack([edges[:-1], edges[1:]], axis=1)


def _of_file(path):
    if not os.path.isfile(path):
        raise wrong(ValueError, f"frames is '{os.fspath(path)}', which is neither counts and seconds, such as 12x10,6x20,5x60, nor a file of starts and ends")
    if os.fspath(path).endswith(".json"):
        starts, durations = _sidecar.times(path, _sidecar.load(path))
        if starts is None:
            raise wrong(ValueError, f"{path} has no FrameTimesStart and FrameDuration, s")
        return numpy.stack([starts, starts + durations], axis=1)
    _, rows = _tables.read(path)
    if rows.shape[1] != 2:
        raise wrong(ValueError, f"{path} has rows of {rows.shape[1]} numbers; frames are starts and ends, s")
    return rows
