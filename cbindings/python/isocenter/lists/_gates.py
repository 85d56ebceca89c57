"""Gates: times that belong to each, of a file of them or of triggers."""
import os

import numpy

from .. import _tables
from ..errors import wrong

#: Cycles that differ from the median by more than this factor are told: triggers may be missing, or be none.
_UNEVEN = 1.5


def read(gates, count):
    """Spans (n, 2) of s, ascending; the gate of each, from 0; names of gates; and what to doubt, in words."""
    path = os.fspath(gates) if isinstance(gates, (str, os.PathLike)) else None
    rows = numpy.array(gates, float) if path is None else _tables.read(path)[1]
    name = path or "gates"
    if rows.ndim == 1:
        rows = rows[:, None]
    if rows.ndim != 2 or rows.shape[1] not in (1, 3) or not len(rows) or not numpy.isfinite(rows).all():
        raise wrong(ValueError, f"{name} has shape {rows.shape}; it must be rows of start, end and gate, or triggers, s")
    if rows.shape[1] == 1:
        return _of_triggers(name, rows[:, 0], count)
    if count is not None:
        raise wrong(ValueError, f"gate_count is {count}, and {name} has gates of its own; it is for triggers alone")
    return _of_spans(name, rows)


def _of_spans(name, rows):
    rows = rows[rows[:, 0].argsort(kind="stable")]
    spans, numbers = rows[:, :2], rows[:, 2].astype(int)
    if (numbers != rows[:, 2]).any():
        raise wrong(ValueError, f"{name} has gate {rows[numbers != rows[:, 2]][0, 2]:g}; gates are whole numbers")
    first, last = int(numbers.min()), int(numbers.max())
    if first not in (0, 1) or set(numbers.tolist()) != set(range(first, last + 1)):
        raise wrong(ValueError, f"{name} has gates {', '.join(str(n) for n in numpy.unique(numbers)[:8])}; there must be all from 0 or 1 to the last")
    if (spans[:, 1] <= spans[:, 0]).any():
        start, end = spans[spans[:, 1] <= spans[:, 0]][0]
        raise wrong(ValueError, f"{name} has a gate from {start:g} to {end:g} s; its end must be after its start")
    if (spans[1:, 0] < spans[:-1, 1]).any():
        k = int((spans[1:, 0] < spans[:-1, 1]).argmax())
        raise wrong(ValueError, f"{name} has gates from {spans[k, 0]:g} to {spans[k, 1]:g} s and from {spans[k + 1, 0]:g} to {spans[k + 1, 1]:g} s, which overlap")
    return spans, numbers - first, [f"gate {k}" for k in range(first, last + 1)], []


def _of_triggers(name, triggers, count):
    if count is None:
        raise wrong(ValueError, f"{name} has triggers: pass gate_count, into how many gates each time between two of them is divided")
    if isinstance(count, bool) or count != int(count) or count < 1:
        raise wrong(ValueError, f"gate_count is {count!r}; it must be how many gates there are between triggers, 1 or more")
    if len(triggers) < 2 or (numpy.diff(triggers) <= 0).any():
        raise wrong(ValueError, f"{name} has {len(triggers)} triggers; there must be two or more, ascending, s")
    cycles, count = numpy.diff(triggers), int(count)
    edges = (triggers[:-1, None] + cycles[:, None] * numpy.arange(count + 1) / count)
    edges[:, -1] = triggers[1:]
    median = float(numpy.median(cycles))
    uneven = int(((cycles > _UNEVEN * median) | (cycles < median / _UNEVEN)).sum())
    doubts = [f"{uneven} of {len(cycles)} cycles of {name} differ from the median, {median:.3g} s, by more than a factor of {_UNEVEN}: triggers may be missing, or be none"] if uneven else []
    spans = numpy.stack([edges[:, :-1], edges[:, 1:]], axis=2).reshape(-1, 2)
    return spans, numpy.tile(numpy.arange(count), len(cycles)), [f"gate {k}" for k in range(count)], doubts
