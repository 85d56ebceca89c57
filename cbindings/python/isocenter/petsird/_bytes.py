"""Files in yardl's binary format, https://microsoft.github.io/yardl/reference/binary.html."""
import itertools
import os
import struct

import numpy

MAGIC = b"yardl"
_VERSION = 1
#: Bytes that are asked of a file at a time.
_AT_ONCE = 1 << 20


class Damaged(Exception):
    """The file ends early, or has bytes that its schema does not allow."""


class Stream:
    """A file's bytes, of which no more are in memory than are there. Values follow each other: what a value is made of is read from the same stream."""

    def __init__(self, file):
        self._file, self._data, self._at, self._before = file, b"", 0, 0
        self._size = os.fstat(file.fileno()).st_size

    @property
    def place(self):
        return self._before + self._at

    @property
    def left(self):
        return self._size - self.place

    def schema(self):
        """Of a file, which begins with it."""
        if not self.left:
            raise Damaged("it is empty")
        if self.take(min(len(MAGIC), self.left)) != MAGIC:
            raise Damaged(f"it does not begin with {MAGIC.decode()}")
        version, = struct.unpack("<i", self.take(4))
        if version != _VERSION:
            raise Damaged(f"version {version} of yardl's format")
        return self.text()

    def step(self, _):
        """The next step."""
        return self

    def stream(self, _):
        """Items of the next step."""
        while count := self.count():
            yield from self.items(count)

    def take(self, count):
        self._fill(count)
        self._at += count
        return self._data[self._at - count:self._at]

    def byte(self):
        self._fill(1)
        self._at += 1
        return self._data[self._at - 1]

    def text(self):
        try:
            return self.take(self.count()).decode()
        except UnicodeDecodeError:
            raise Damaged(f"a text that is none before byte {self.place}") from None

    def number(self, of):
        if of.fixed is not None:
            return numpy.frombuffer(self.take(of.fixed.itemsize), of.fixed)[0].item()
        if of.name == "bool":
            return self.byte() != 0
        value = self.whole(of.bits)
        return (value >> 1) ^ -(value & 1) if of.folded else value

    def numbers(self, of, count):
        """(count,) numbers."""
        self._room(count)
        if of.fixed is not None:
            return numpy.frombuffer(self.take(count * of.fixed.itemsize), of.fixed)
        if of.name == "bool":
            return [byte != 0 for byte in self.take(count)]
        values = self.wholes(count, 32 if of.bits <= 32 else 64)
        if not of.folded:
            return values
        signed = numpy.int64 if values.dtype.itemsize == 8 else numpy.int32
        return (values >> 1).astype(signed) ^ -(values & 1).astype(signed)

    def rows(self, columns, count):
        """(count, columns) of 32 bits."""
        if count * columns > self.left:
            raise Damaged(f"its end within {count} rows of {columns} numbers that begin at byte {self.place}")
        return self.wholes(count * columns, 32).reshape(count, columns)

    def fields(self, names):
        """Where each field of a record is."""
        return itertools.repeat(self, len(names))

    def case(self, cases):
        """Which of the cases of a union there is, and where its value is."""
        at = self.byte()
        if at >= len(cases):
            raise Damaged(f"case {at} of {len(cases)} before byte {self.place}")
        return at, self

    def vector(self, length):
        """How many items a vector has, and where they are."""
        return self.count() if length is None else length, self

    def array(self, sizes, axes):
        """The shape of an array, of so many axes at most, and where its values are."""
        return [self.count() if n is None else n for n in ([None] * self.count(axes) if sizes is None else sizes)], self

    def items(self, count):
        """Where each of so many items is."""
        self._room(count)
        return itertools.repeat(self, count)

    def whole(self, bits=64):
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 127) << shift
            if byte < 128:
                break
            shift += 7
            if shift > 63:
                raise Damaged(f"a number of more than 10 bytes before byte {self.place}")
        if value >> bits:
            raise Damaged(f"a number of more than {bits} bits before byte {self.place}")
        return value

    def count(self, most=None):
        """How many there are of what takes a byte or more."""
        value = self.whole()
        if value > (self.left if most is None else most):
            raise Damaged(f"its end at byte {self._size}, where {value} of what begins at byte {self.place} do not fit")
        return value

    def wholes(self, count, bits):
        """(count,) of 32 or 64 bits."""
        made, done = numpy.empty(count, numpy.uint64 if bits > 32 else numpy.uint32), 0
        while done < count:
            self._fill(1)
            data = numpy.frombuffer(self._data, numpy.uint8, offset=self._at)[:10 * (count - done)]
            ends = numpy.flatnonzero(data < 128)[:count - done]
            if not len(ends):
                self._fill(len(data) + 1)
                if len(data) >= 10:
                    raise Damaged(f"a number of more than 10 bytes at byte {self.place}")
                continue
            made[done:done + len(ends)] = self._numbers(data, ends, bits)
            done, self._at = done + len(ends), self._at + int(ends[-1]) + 1
        return made

    def close(self):
        self._file.close()

    def _numbers(self, data, ends, bits):
        begins = numpy.concatenate([[0], ends[:-1] + 1])
        sizes = ends - begins + 1
        longest, kind = int(sizes.max()), numpy.uint64 if bits > 32 else numpy.uint32
        if longest > -(-bits // 7):
            raise Damaged(f"a number of more than {bits} bits after byte {self.place}")
        values = numpy.zeros(len(ends), kind)
        for k in range(longest):
            has = numpy.flatnonzero(sizes > k) if k else slice(None)
            part = (data[begins[has] + k] & 127).astype(kind)
            if 7 * (k + 1) > bits and (part >> kind(bits - 7 * k)).any():
                raise Damaged(f"a number of more than {bits} bits after byte {self.place}")
            values[has] |= part << kind(7 * k)
        return values

    def _room(self, count):
        if count > self.left:
            raise Damaged(f"its end {self.left} bytes after byte {self.place}, where {count} of what begins there do not fit")

    def _fill(self, count):
        have = len(self._data) - self._at
        if have >= count:
            return
        if count > have + self._size - self._before - len(self._data):
            raise Damaged(f"its end at byte {self._size}")
        self._before += self._at
        self._data, self._at = self._data[self._at:] + self._file.read(max(count - have, _AT_ONCE)), 0
        if len(self._data) < count:
            raise Damaged(f"its end at byte {self._before + len(self._data)}")
