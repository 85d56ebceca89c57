"""PETSIRD files in HDF5, as yardl's C++ writes them, of files in its binary form: records as C++ has them in memory, vectors by their number and a pointer."""
import json
import struct

import h5py
import numpy as np
from h5py import h5s, h5t

from isocenter.petsird import _bytes

_NUMBERS = {"bool": (h5t.STD_U8LE, "<u1"), "int8": (h5t.STD_I8LE, "<i1"), "uint8": (h5t.STD_U8LE, "<u1"), "int32": (h5t.STD_I32LE, "<i4"), "uint32": (h5t.STD_U32LE, "<u4"), "int64": (h5t.STD_I64LE, "<i8"),
            "uint64": (h5t.STD_U64LE, "<u8"), "size": (h5t.STD_U64LE, "<u8"), "datetime": (h5t.STD_I64LE, "<i8"), "float32": (h5t.IEEE_F32LE, "<f4"), "float64": (h5t.IEEE_F64LE, "<f8")}


class _Kind:
    """Of a schema: its type in HDF5, its bytes and at which multiples of bytes it begins in memory."""

    def __init__(self, of, size, align, pack):
        self.of, self.size, self.align, self.pack = of, -(-size // align) * align, align, pack


class _Writer:
    def __init__(self, stream, schema):
        self._stream, self._kept = stream, []
        self._named = {of["name"]: of for of in schema["types"]}

    def kind(self, of, given=None):
        given = given or {}
        if isinstance(of, str):
            name = of.rpartition(".")[2]
            if name in given:
                return given[name]
            return self._of_name(self._named[name], {}) if name in self._named else self._text() if name == "string" else self._number(name)
        if isinstance(of, list):
            return self._union([None if case is None else (case["tag"], self.kind(case["type"], given)) if isinstance(case, dict) and "tag" in case else ("value", self.kind(case, given)) for case in of])
        if "vector" in of:
            item, length = self.kind(of["vector"]["items"], given), of["vector"].get("length")
            return self._vector(item) if length is None else self._array(item, (length,))
        if "array" in of:
            item, sides = self.kind(of["array"]["items"], given), of["array"].get("dimensions")
            if sides is None:
                return self._any_array(item, None)
            sides = [{}] * sides if isinstance(sides, int) else sides
            return self._array(item, tuple(side["length"] for side in sides)) if all("length" in side for side in sides) else self._any_array(item, len(sides))
        described = self._named[of["name"].rpartition(".")[2]]
        return self._of_name(described, dict(zip(described["typeParameters"], (self.kind(argument, given) for argument in of["typeArguments"]))))

    def _of_name(self, described, given):
        if "values" in described:
            base = self._number(described.get("base", "int32"))
            of = h5t.enum_create(base.of)
            for symbol in described["values"]:
                of.enum_insert(symbol["symbol"].encode(), symbol["value"])
            return _Kind(of, base.size, base.align, base.pack)
        if "fields" not in described:
            return self.kind(described["type"], given)
        return self._record([(field["name"], self.kind(field["type"], given)) for field in described["fields"]])

    def _number(self, name):
        of, kind = _NUMBERS[name]
        kind = np.dtype(kind)

        def pack():
            if kind.kind == "f" or kind.itemsize == 1:
                return self._stream.take(kind.itemsize)
            value = self._stream.whole()
            return np.array((value >> 1) ^ -(value & 1) if kind.kind == "i" else value, kind).tobytes()
        return _Kind(of, kind.itemsize, kind.itemsize, pack)

    def _text(self):
        of = h5t.C_S1.copy()
        of.set_size(h5t.VARIABLE)
        of.set_cset(h5t.CSET_UTF8)
        return _Kind(of, 8, 8, lambda: struct.pack("<Q", self._keep(self._stream.text().encode() + b"\0")))

    def _record(self, fields):
        begins, size, align = [], 0, max((kind.align for _, kind in fields), default=1)
        for _, kind in fields:
            begins.append(-(-size // kind.align) * kind.align)
            size = begins[-1] + kind.size
        size = -(-size // align) * align

        def pack():
            made = bytearray(size)
            for begin, (_, kind) in zip(begins, fields):
                made[begin:begin + kind.size] = kind.pack()
            return bytes(made)
        return _Kind(_compound(size, [(name, begin, kind.of) for begin, (name, kind) in zip(begins, fields)]), size, align, pack)

    def _union(self, cases):
        if len(cases) == 2 and cases[0] is None:
            kind = cases[1][1]
            size = kind.size + kind.align

            def optional():
                return kind.pack() + bytes([1]) + bytes(kind.align - 1) if self._stream.byte() else bytes(size)
            return _Kind(_compound(size, [("has_value", kind.size, h5t.STD_U8LE), ("value", 0, kind.of)]), size, kind.align, optional)
        nullable, kinds, begins, size = cases[0] is None, [case for case in cases if case], [], 1
        for _, kind in kinds:
            begins.append(-(-size // kind.align) * kind.align)
            size = begins[-1] + kind.size
        align = max(kind.align for _, kind in kinds)
        size = -(-size // align) * align

        def pack():
            made, at = bytearray(size), self._stream.byte() - nullable
            made[:1] = struct.pack("b", at)
            if at >= 0:
                made[begins[at]:begins[at] + kinds[at][1].size] = kinds[at][1].pack()
            return bytes(made)
        members = [("$type", 0, _which(nullable, [name for name, _ in kinds])), *((name, begin, kind.of) for begin, (name, kind) in zip(begins, kinds))]
        return _Kind(_compound(size, members), size, align, pack)

    def _vector(self, item):
        def pack():
            count = self._stream.whole()
            return struct.pack("<QQ", count, self._keep(b"".join(item.pack() for _ in range(count))))
        return _Kind(h5t.vlen_create(item.of), 16, 8, pack)

    def _array(self, item, shape):
        count = int(np.prod(shape))
        return _Kind(h5t.array_create(item.of, shape), count * item.size, item.align, lambda: b"".join(item.pack() for _ in range(count)))

    def _any_array(self, item, axes):
        if axes == 1:
            return self._vector(item)

        def pack():
            shape = [self._stream.whole() for _ in range(self._stream.whole() if axes is None else axes)]
            count, packed = int(np.prod(shape)), struct.pack(f"<{len(shape)}Q", *shape)
            if axes is None:
                packed = struct.pack("<QQ", len(shape), self._keep(packed))
            return packed + struct.pack("<QQ", count, self._keep(b"".join(item.pack() for _ in range(count))))
        dimensions, begin = (h5t.vlen_create(h5t.STD_U64LE), 16) if axes is None else (h5t.array_create(h5t.STD_U64LE, (axes,)), 8 * axes)
        return _Kind(_compound(begin + 16, [("dimensions", 0, dimensions), ("data", begin, h5t.vlen_create(item.of))]), begin + 16, 8, pack)

    def _keep(self, data):
        """The address of bytes that stay where they are."""
        self._kept.append(np.frombuffer(bytearray(data or b"\0"), np.uint8))
        return self._kept[-1].ctypes.data


def _which(nullable, names):
    of = h5t.enum_create(h5t.STD_I8LE)
    for value, name in enumerate([*["null"] * nullable, *names], -int(nullable)):
        of.enum_insert(name.encode(), value)
    return of


def _compound(size, members):
    of = h5t.create(h5t.COMPOUND, size)
    for name, begin, kind in members:
        of.insert(name.encode(), begin, kind)
    return of


def _put(group, name, of, items, chunk=None):
    """A dataset of packed items, or of one without chunks."""
    how = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    if chunk:
        how.set_chunk((chunk,))
    space = h5s.create_simple((len(items),), (h5s.UNLIMITED,)) if chunk else h5s.create(h5s.SCALAR)
    dataset = h5py.h5d.create(group.id, name.encode(), of, space, how)
    if items:
        data = np.frombuffer(b"".join(items), np.dtype((np.void, len(items[0]))))
        dataset.write(h5s.ALL, h5s.ALL, data if chunk else data.reshape(()), mtype=of)


def convert(path, to, *, version=1, indexed=None, chunk=4, schema=None):
    """Writes a file in the binary form as HDF5; so many of its blocks are in the index at most."""
    with open(path, "rb") as file, h5py.File(to, "w") as made:
        stream = _bytes.Stream(file)
        text = stream.schema()
        described = json.loads(text)
        writer, group = _Writer(stream, described), made.create_group("PETSIRD")
        group.attrs.create("$yardl_format_version", version, dtype=np.int32)
        group.create_dataset("$yardl_schema", data=schema or text, dtype=h5py.string_dtype())
        header, blocks = (step["type"] for step in described["protocol"]["sequence"])
        kind = writer.kind(header)
        _put(group, "header", kind.of, [kind.pack()])
        cases = writer._named[blocks["stream"]["items"].rpartition(".")[2]]["type"]
        kinds = [(case["tag"] if isinstance(case, dict) else case.rpartition(".")[2], writer.kind(case["type"] if isinstance(case, dict) else case)) for case in cases]
        items, index = [[] for _ in kinds], []
        while count := stream.whole():
            for _ in range(count):
                at = stream.byte()
                index.append(struct.pack("<b7xQ", at, len(items[at])))
                items[at].append(kinds[at][1].pack())
        group = group.create_group("timeBlocks")
        _put(group, "$index", _compound(16, [("type", 0, _which(False, [name for name, _ in kinds])), ("offset", 8, h5t.STD_U64LE)]), index[:indexed], chunk)
        for (name, kind), packed in zip(kinds, items):
            _put(group, name, kind.of, packed, chunk)
