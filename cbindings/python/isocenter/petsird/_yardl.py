"""Files of yardl's, by the schema that they have within, by which any version is read: in its binary format and in HDF5.

What reads a type is a function of where its value is: a `_bytes.Stream`, or a `_hdf5.Node`, which have the same methods."""
import functools
import json
import math
import types

import numpy

from . import _hdf5
from ._bytes import Damaged, Stream
from ._names import snake

#: Types within types, and axes of an array, at most.
_DEEPEST, _AXES = 40, 8
_FIXED = {"float32": numpy.dtype("<f4"), "float64": numpy.dtype("<f8"), "int8": numpy.dtype("i1"), "uint8": numpy.dtype("u1"),
          "complexfloat32": numpy.dtype("<c8"), "complexfloat64": numpy.dtype("<c16")}
#: Integers of 7 bits a byte, and how many bits there are at most; those with a sign are folded to 0, -1, 1, -2 and so on.
_FOLDED = {"int16": 16, "int32": 32, "int64": 64, "date": 64, "time": 64, "datetime": 64}
_WHOLE = {"uint16": 16, "uint32": 32, "uint64": 64, "size": 64, "bool": 1}


class File:
    """A file: steps in their order, each a value, or an iterator where it is a stream.

    Attributes
    ----------
    schema : str
        As the file has it.
    """

    def __init__(self, path):
        self._file = _hdf5.Tree(path) if _hdf5.begins(path) else Stream(open(path, "rb"))
        try:
            self.schema = self._file.schema()
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
        return [snake(name) for name, _, _ in self._steps]

    def read(self, number):
        """The step of a number, which has to be the next one."""
        name, read, streamed = self._steps[number]
        return map(read, self._file.stream(name)) if streamed else read(self._file.step(name))


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
            snake(step["name"])
            made.append((step["name"], _reader(kind["stream"]["items"] if streamed else kind, named, {}, 0), streamed))
        return made
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, RecursionError) as e:
        raise Damaged(f"a schema that cannot be read ({type(e).__name__} {e})") from None


def _known(name):
    return name.rpartition(".")[2]


def _reader(kind, named, given, deep):
    """A function that reads a type from where it is; `given` are arguments of a generic type."""
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
        return _map(inner(kind["map"]["keys"]), inner(kind["map"]["values"]))
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
    def read(at):
        return types.SimpleNamespace(**{name: of(part) for name, of, part in zip(names, reads, at.fields(names))})
    # Of numbers of 32 bits alone, such as events, a list is an array of rows.
    if reads and all(hasattr(of, "columns") for of in reads):
        read.columns = sum(of.columns for of in reads)
    return read


def _enumeration(described, number):
    symbols = {int(value["value"]): snake(value["symbol"]).upper() for value in described["values"]}

    def read(at):
        value = number(at)
        return types.SimpleNamespace(name=symbols.get(value, str(value)), value=value)
    return read


def _union(cases):
    def read(at):
        case, part = at.case(cases)
        return None if cases[case] is None else cases[case](part)
    return read


class Number:
    """What reads a number: of fixed bytes, or of so many bits at most, 7 of them a byte, which may be folded."""

    def __init__(self, name):
        self.name, self.fixed, self.folded, self.bits = name, _FIXED.get(name), name in _FOLDED, _FOLDED.get(name, _WHOLE.get(name))
        if name == "uint32":
            self.columns = 1

    def __call__(self, at):
        return at.number(self)


def _primitive(name):
    if name == "string":
        return lambda at: at.text()
    if name not in {**_FIXED, **_WHOLE, **_FOLDED}:
        raise Damaged(f"a schema with a type that is not described, {name}")
    return Number(name)


def _size(value):
    """Of a fixed length of the schema."""
    if not 0 <= value < 1 << 31:
        raise Damaged(f"a schema with a length of {value}")
    return int(value)


def _vector(item, length):
    length = None if length is None else _size(length)

    def read(at):
        count, part = at.vector(length)
        return _many(item, part, count)
    if length is not None and hasattr(item, "columns"):
        read.columns = length * item.columns
    return read


def _map(keys, values):
    def read(at):
        count, part = at.vector(None)
        return [(keys(key), values(value)) for key, value in (pair.fields(("key", "value")) for pair in part.items(count))]
    return read


def _many(item, at, count):
    """An array of numbers, a list of others."""
    if isinstance(item, Number):
        return at.numbers(item, count)
    if hasattr(item, "columns"):
        return at.rows(item.columns, count)
    return [item(part) for part in at.items(count)]


def _array(item, dimensions):
    sizes = None
    if isinstance(dimensions, int):
        sizes = [None] * min(_size(dimensions), _AXES)
    elif dimensions is not None:
        sizes = [None if (n := d.get("length")) is None else _size(n) for d in dimensions[:_AXES]]

    def read(at):
        shape, part = at.array(sizes, _AXES)
        count = math.prod(shape)
        values, shape = _many(item, part, count), shape if count else [0] * len(shape)  # others of the sizes may be anything
        if isinstance(values, numpy.ndarray):
            return values.reshape(*shape, *values.shape[1:])
        made = numpy.empty(len(values), object)
        for k, value in enumerate(values):
            made[k] = value
        return made.reshape(shape)
    return read
