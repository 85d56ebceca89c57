"""Files in yardl's binary format, https://microsoft.github.io/yardl/reference/binary.html: they begin with their schema, by which any version is read."""
import functools
import json
import math
import os
import re
import struct
import types

import numpy

MAGIC = b"yardl"
_VERSION = 1
#: Bytes that are asked of a file at a time.
_AT_ONCE = 1 << 20
#: Types within types, and axes of an array, at most.
_DEEPEST, _AXES = 40, 8
_FIXED = {"float32": numpy.dtype("<f4"), "float64": numpy.dtype("<f8"), "int8": numpy.dtype("i1"), "uint8": numpy.dtype("u1"),
          "complexfloat32": numpy.dtype("<c8"), "complexfloat64": numpy.dtype("<c16")}
#: Integers of 7 bits a byte, and how many bits there are at most; those with a sign are folded to 0, -1, 1, -2 and so on.
_FOLDED = {"int16": 16, "int32": 32, "int64": 64, "date": 64, "time": 64, "datetime": 64}
_WHOLE = {"uint16": 16, "uint32": 32, "uint64": 64, "size": 64}


class Damaged(Exception):
    """The file ends early, or has bytes that its schema does not allow."""


class Stream:
    """A file's bytes, of which no more are in memory than are there."""

    def __init__(self, file):
        self._file, self._data, self._at, self._before = file, b"", 0, 0
        self._size = os.fstat(file.fileno()).st_size

    @property
    def place(self):
        return self._before + self._at

    @property
    def left(self):
        return self._size - self.place

    def take(self, count):
        self._fill(count)
        self._at += count
        return self._data[self._at - count:self._at]

    def byte(self):
        self._fill(1)
        self._at += 1
        return self._data[self._at - 1]

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


class File:
    """A file: steps in their order, each a value, or an iterator where it is a stream.

    Attributes
    ----------
    schema : str
        As the file has it.
    """

    def __init__(self, path):
        self._file = open(path, "rb")
        try:
            self.stream = Stream(self._file)
            if not self.stream.left:
                raise Damaged("it is empty")
            if self.stream.take(min(len(MAGIC), self.stream.left)) != MAGIC:
                raise Damaged(f"it does not begin with {MAGIC.decode()}")
            version, = struct.unpack("<i", self.stream.take(4))
            if version != _VERSION:
                raise Damaged(f"version {version} of yardl's format")
            self.schema = _string(self.stream)
            self._steps = _steps(self.schema)
        except BaseException:
            self._file.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._file.close()

    @property
    def names(self):
        return [name for name, _, _ in self._steps]

    def read(self, number):
        """The step of a number, which has to be the next one."""
        _, read, streamed = self._steps[number]
        return self._streamed(read) if streamed else read(self.stream)

    def _streamed(self, read):
        while count := self.stream.count():
            for _ in range(count):
                yield read(self.stream)


def snake(name):
    """A name as yardl writes it in Python."""
    name = re.sub("(.)([A-Z][a-z]+)", r"\1_\2", name)
    name = re.sub("([a-z0-9])([A-Z])", r"\1_\2", name)
    return re.sub("([A-Za-z])([0-9]+)$", r"\1_\2", name).lower()


@functools.lru_cache(maxsize=4)
def _steps(schema):
    """Of each step its name, what reads it, and whether it is a stream."""
    try:
        described = json.loads(schema)
        named = {_known(t["name"]): t for t in described.get("types") or []}
        made = []
        for step in described["protocol"]["sequence"]:
            kind = step["type"]
            streamed = isinstance(kind, dict) and "stream" in kind
            made.append((snake(step["name"]), _reader(kind["stream"]["items"] if streamed else kind, named, {}, 0), streamed))
        return made
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, RecursionError) as e:
        raise Damaged(f"a schema that cannot be read ({type(e).__name__} {e})") from None


def _known(name):
    return name.rpartition(".")[2]


def _reader(kind, named, given, deep):
    """A function that reads a type of a stream; `given` are arguments of a generic type."""
    if deep > _DEEPEST:
        raise Damaged("a schema of types within types")
    inner = lambda k: _reader(k, named, given, deep + 1)
    if isinstance(kind, str):
        name = _known(kind)
        if name in given:
            return given[name]
        if name in named:
            return _of_name(named[name], named, {}, deep + 1)
        return _primitive(name)
    if isinstance(kind, list):
        return _union([None if case is None else inner(case["type"] if isinstance(case, dict) and "tag" in case else case) for case in kind])
    if "vector" in kind:
        return _vector(inner(kind["vector"]["items"]), kind["vector"].get("length"))
    if "array" in kind:
        return _array(inner(kind["array"]["items"]), kind["array"].get("dimensions"))
    if "map" in kind:
        keys, values = inner(kind["map"]["keys"]), inner(kind["map"]["values"])
        return lambda stream: [(keys(stream), values(stream)) for _ in range(stream.count())]
    described = named[_known(kind["name"])]
    arguments = [inner(argument) for argument in kind.get("typeArguments") or []]
    return _of_name(described, named, dict(zip(described.get("typeParameters") or [], arguments)), deep + 1)


def _of_name(described, named, given, deep):
    if "values" in described:
        return _enumeration(described, _primitive(described.get("base", "int32")))
    if "fields" not in described:
        return _reader(described["type"], named, given, deep)
    names = [snake(field["name"]) for field in described["fields"]]
    return _record(names, [_reader(field["type"], named, given, deep) for field in described["fields"]])


def _record(names, reads):
    def read(stream):
        return types.SimpleNamespace(**{name: of(stream) for name, of in zip(names, reads)})
    # Of numbers of 32 bits alone, such as events, a list is an array of rows.
    if reads and all(hasattr(of, "columns") for of in reads):
        read.columns = sum(of.columns for of in reads)
    return read


def _enumeration(described, number):
    symbols = {int(value["value"]): snake(value["symbol"]).upper() for value in described["values"]}

    def read(stream):
        value = number(stream)
        return types.SimpleNamespace(name=symbols.get(value, str(value)), value=value)
    return read


def _union(cases):
    def read(stream):
        at = stream.byte()
        if at >= len(cases):
            raise Damaged(f"case {at} of {len(cases)} before byte {stream.place}")
        return None if cases[at] is None else cases[at](stream)
    return read


def _primitive(name):
    if name in _FIXED:
        kind = _FIXED[name]
        read = lambda stream: numpy.frombuffer(stream.take(kind.itemsize), kind)[0].item()
        read.fixed = kind
        return read
    if name == "bool":
        return lambda stream: stream.byte() != 0
    if name == "string":
        return _string
    if name in _WHOLE:
        bits = _WHOLE[name]
        read = lambda stream: stream.whole(bits)
        read.bits, read.folded = bits, False
        if name == "uint32":
            read.columns = 1
        return read
    if name in _FOLDED:
        bits = _FOLDED[name]
        read = lambda stream: _unfolded(stream.whole(bits))
        read.bits, read.folded = bits, True
        return read
    raise Damaged(f"a schema with a type that is not described, {name}")


def _unfolded(value):
    return (value >> 1) ^ -(value & 1)


def _string(stream):
    try:
        return stream.take(stream.count()).decode()
    except UnicodeDecodeError:
        raise Damaged(f"a text that is none before byte {stream.place}") from None


def _size(value):
    """Of a fixed length of the schema."""
    if not 0 <= value < 1 << 31:
        raise Damaged(f"a schema with a length of {value}")
    return int(value)


def _vector(item, length):
    if length is not None:
        length = _size(length)

        def read(stream):
            return _many(item, stream, length)
        if hasattr(item, "columns"):
            read.columns = length * item.columns
        return read
    return lambda stream: _many(item, stream, stream.count())


def _many(item, stream, count):
    """An array of numbers, a list of others."""
    if count > stream.left:
        raise Damaged(f"its end {stream.left} bytes after byte {stream.place}, where {count} of what begins there do not fit")
    if hasattr(item, "fixed"):
        return numpy.frombuffer(stream.take(count * item.fixed.itemsize), item.fixed)
    if hasattr(item, "bits"):
        values = stream.wholes(count, 32 if item.bits <= 32 else 64)
        return _unfolded_all(values) if item.folded else values
    if hasattr(item, "columns"):
        if count * item.columns > stream.left:
            raise Damaged(f"its end within {count} rows of {item.columns} numbers that begin at byte {stream.place}")
        return stream.wholes(count * item.columns, 32).reshape(count, item.columns)
    return [item(stream) for _ in range(count)]


def _unfolded_all(values):
    signed = numpy.int64 if values.dtype.itemsize == 8 else numpy.int32
    return (values >> 1).astype(signed) ^ -(values & 1).astype(signed)


def _array(item, dimensions):
    sizes = None
    if isinstance(dimensions, int):
        sizes = [None] * min(_size(dimensions), _AXES)
    elif dimensions is not None:
        sizes = [None if (n := d.get("length")) is None else _size(n) for d in dimensions[:_AXES]]

    def read(stream):
        shape = [stream.count() if n is None else n for n in ([None] * stream.count(_AXES) if sizes is None else sizes)]
        count = math.prod(shape)
        values, shape = _many(item, stream, count), shape if count else [0] * len(shape)  # others of the sizes may be anything
        if isinstance(values, numpy.ndarray):
            return values.reshape(*shape, *values.shape[1:])
        made = numpy.empty(len(values), object)
        for k, value in enumerate(values):
            made[k] = value
        return made.reshape(shape)
    return read
