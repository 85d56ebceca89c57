"""Values in an HDF5 file of yardl's."""
import math

import numpy

from ._bytes import Damaged
from ._layout import REFERENCE

#: How HDF5 has what the schema calls so, and other numbers by their bits.
_STORED = {"bool": "<u1", "size": "<u8", "date": "<i4", "time": "<i8", "datetime": "<i8"}


class Node:
    """Where a value is, in bytes that are in memory: what it is made of are others. Its methods are those of a `_bytes.Stream`."""

    def __init__(self, heaps, of, data, at):
        self._heaps, self._of, self._data, self._at = heaps, of, data, at

    def text(self):
        if not self._of.text:
            raise self._of.other("a text")
        try:
            return self._referred(1)[1].decode()
        except UnicodeDecodeError:
            raise Damaged("a text that is none") from None

    def number(self, of):
        return numpy.asarray(self.numbers(of, 1))[0].item()

    def numbers(self, of, count):
        """(count,) numbers, of the types that the binary form makes of them."""
        if of.fixed is not None and of.fixed.kind == "c":
            return self._complex(of.fixed, count)
        stored = numpy.dtype(_STORED.get(of.name) or of.fixed or f"<{'i' if of.folded else 'u'}{of.bits // 8}")
        if self._of.number != stored:
            raise self._of.other(of.name)
        values = self._column(stored, count, 0)
        if of.name == "bool":
            return (values != 0).tolist()
        return values if of.fixed is not None else values.astype(f"{stored.kind}{4 if of.bits <= 32 else 8}")

    def rows(self, columns, count):
        """(count, columns) of 32 bits."""
        found = self._of.columns()
        if found is None or len(found) != columns:
            raise self._of.other(f"{columns} numbers")
        made = numpy.empty((count, columns), numpy.uint32)
        for column, begin in enumerate(found):
            made[:, column] = self._column("<u4", count, begin)
        return made

    def fields(self, names):
        """Where each field of a record is."""
        return [self._part(field) for field in self._of.named(names)]

    def case(self, cases):
        """Which of the cases of a union there is, and where its value is."""
        fields, nullable = dict(self._of.fields or {}), cases[:1] == [None]
        if len(cases) == 2 and nullable and fields.keys() == {"has_value", "value"}:
            return int(self._part(fields["has_value"])._byte("<u1") != 0), self._part(fields["value"])
        if "$type" not in fields or len(fields) != 1 + len(cases) - nullable:
            raise self._of.other(f"one of {len(cases)} types")
        at = self._part(fields.pop("$type"))._byte("<i1")
        if not -nullable <= at < len(fields):
            raise Damaged(f"case {at + nullable} of {len(cases)}")
        return at + nullable, None if at < 0 else self._part(list(fields.values())[at])

    def vector(self, length):
        """How many items a vector has, and where they are."""
        return self._items() if length is None else (length, self._within((length,)))

    def array(self, sizes, axes):
        """The shape of an array, of so many axes at most, and where its values are."""
        if sizes is not None and None not in sizes:
            return sizes, self._within(tuple(sizes))
        if sizes is not None and len(sizes) == 1:
            count, part = self._items()
            return [count], part
        dimensions, data = self.fields(("dimensions", "data"))
        known, of = dimensions._items() if sizes is None else (len(sizes), dimensions._within((len(sizes),)))
        if known > axes or of._of.number != numpy.dtype("<u8"):
            raise Damaged(f"an array of {known} axes")
        shape = of._column("<u8", known, 0).tolist()
        count, part = data._items()
        if math.prod(shape) != count or any(n not in (None, side) for n, side in zip(sizes or (), shape)):
            raise Damaged(f"an array {shape} of {count} values")
        return shape, part

    def items(self, count):
        """Where each of so many items is."""
        return (Node(self._heaps, self._of, self._data, self._at + k * self._of.size) for k in range(count))

    def _part(self, field):
        begin, of = field
        return Node(self._heaps, of, self._data, self._at + begin)

    def _byte(self, kind):
        if self._of.number != numpy.dtype(kind):
            raise self._of.other("which of its types there is")
        return int(self._column(kind, 1, 0)[0])

    def _column(self, kind, count, begin):
        """Numbers of items, so many bytes after their begin."""
        return numpy.ndarray(count, kind, self._data, self._at + begin, (self._of.size,)) if count else numpy.zeros(0, kind)

    def _complex(self, kind, count):
        made = numpy.empty(count, kind)
        for part, (begin, of) in zip((made.real, made.imag), self._of.named(("real", "imaginary"))):
            if of.number != part.dtype:
                raise of.other(f"half of {kind}")
            part[:] = self._column(part.dtype, count, begin)
        return made

    def _within(self, shape):
        """Items of an array."""
        if self._of.shape != shape:
            raise self._of.other(f"an array {shape}")
        return Node(self._heaps, self._of.items, self._data, self._at)

    def _items(self):
        """Those of a vector, which are in a heap, and how many."""
        if self._of.items is None or self._of.shape is not None:
            raise self._of.other("a vector")
        count, data = self._referred(self._of.items.size)
        return count, Node(self._heaps, self._of.items, data, 0)

    def _referred(self, size):
        """How many items of such a size are in a heap, and their bytes."""
        count, heap, number = numpy.frombuffer(self._data, REFERENCE, 1, self._at)[0].tolist()
        return count, self._heaps.object(heap, number, count * size) if count else b""
