"""Files of yardl's in HDF5: a group of a protocol's name, in which each step is a dataset, and a stream of several types a group of them.

The package h5py finds datasets and says what their elements are. Vectors within vectors it does not read, so values are taken from where they are in the file: elements of datasets, and
the objects of global heaps that they refer to (HDF5 File Format Specification, III.E)."""
import contextlib

import numpy

from ..errors import wrong
from ._bytes import Damaged
from ._heap import Heaps
from ._layout import layout
from ._node import Node

MAGIC = b"\x89HDF\r\n\x1a\n"
_SCHEMA, _VERSION, _KNOWN, _PREFERRED = "$yardl_schema", "$yardl_format_version", 1, "PETSIRD"
#: Entries of an index that are looked at together.
_ENTRIES = 1 << 12


def begins(path):
    """Whether a file begins as HDF5 does."""
    with open(path, "rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def is_protocol(path, begun):
    """Whether a file, or what it is compressed of, is yardl's; `begun` are its first bytes, in which the name of the schema nearly always is."""
    if _SCHEMA.encode() in begun:
        return True
    try:
        Tree(path).close()
    except (Damaged, OSError, ImportError):
        return False
    return True


class Tree:
    """A file, of which no more is in memory than there is. Its methods are those of a `_bytes.Stream` that begins."""

    def __init__(self, path):
        try:
            import h5py
        except ImportError:
            raise wrong(ImportError, f"{path} is an HDF5 file, which needs the package h5py: pip install h5py; the program isocenter pet reads PETSIRD in HDF5 without") from None
        self._h5py, self._close = h5py, contextlib.ExitStack()
        try:
            with _structure("it"):
                self._file = self._close.enter_context(h5py.File(path, "r"))
                found = [name for name in self._file if self._is_hard(self._file, name) and isinstance(self._file[name], h5py.Group) and _SCHEMA in self._file[name]]
                if not found:
                    raise Damaged("it is an HDF5 file without a group of yardl's, which PETSIRD has")
                self._group = self._file[_PREFERRED if _PREFERRED in found else found[0]]
                version, how = self._group.attrs.get(_VERSION), self._file.id.get_create_plist()
            if not isinstance(version, numpy.integer) or version != _KNOWN:
                raise Damaged(f"version {version} of yardl's HDF5 format")
            if how.get_sizes() != (8, 8) or how.get_userblock():
                raise Damaged("it is an HDF5 file with a user block, or with addresses of other sizes than yardl writes")
            self._heaps = Heaps(self._close.enter_context(open(path, "rb")))
        except BaseException:
            self.close()
            raise

    def close(self):
        self._close.close()

    def schema(self):
        """Of a file."""
        return self.step(_SCHEMA).text()

    def step(self, name):
        """Where the value of a step is."""
        dataset = self._within(self._group, name)
        with _structure(f"its {name}"):
            of, begin, shape, size = layout(dataset.id.get_type()), dataset.id.get_offset(), dataset.shape, dataset.id.get_storage_size()
        if shape != () or begin is None or size != of.size:
            raise Damaged(f"its {name} was never written, or is stored in another way than yardl does")
        return Node(self._heaps, of, self._heaps.bytes(begin, of.size), 0)

    def stream(self, name):
        """Where each item of a stream of several types is."""
        group = self._within(self._group, name, "Group")
        index = _Elements(self._heaps, self._within(group, "$index"))
        begins = index.of.named(("type", "offset"))
        symbols = begins[0][1].symbols
        if symbols is None or [of.number for _, of in begins] != [numpy.dtype("i1"), numpy.dtype("<u8")]:
            raise Damaged(f"its {name} have no index as yardl writes it")
        types = {kind: _Elements(self._heaps, self._within(group, of)) for kind, of in symbols.items() if kind >= 0}
        entry = numpy.dtype({"names": ["type", "offset"], "formats": [of.number for _, of in begins], "offsets": [begin for begin, _ in begins], "itemsize": index.of.size})
        return self._items(name, index, entry, symbols, types)

    def _items(self, name, index, entry, symbols, types):
        nullable, first, seen = -1 in symbols, 0, dict.fromkeys(types, 0)
        while first < index.count:
            entries = numpy.frombuffer(index.bytes(first, _ENTRIES), entry)
            first += len(entries)
            for kind, offset in entries.tolist():
                if kind not in symbols:
                    raise Damaged(f"its {name} have one of type {kind}, which there is not")
                if kind < 0:
                    yield _Case(0, None)
                    continue
                seen[kind] += 1
                yield _Case(kind + nullable, Node(self._heaps, types[kind].of, types[kind].bytes(offset, 1), 0))
        for kind, count in seen.items():
            if count < types[kind].count:
                raise Damaged(f"{types[kind].count} of {symbols[kind]} were written, and {count} of them are in the index")

    def _is_hard(self, group, name):
        """Other links may lead to other files."""
        return isinstance(group.get(name, getlink=True), self._h5py.HardLink)

    def _within(self, group, name, kind="Dataset"):
        with _structure(f"its {name}"):
            if name not in group or not self._is_hard(group, name) or not isinstance(group[name], getattr(self._h5py, kind)):
                raise Damaged(f"it has no {name} in its {group.name}")
            return group[name]


class _Elements:
    """Those of a dataset in chunks, one after the other."""

    def __init__(self, heaps, dataset):
        self._heaps, self._id, self._first, self._begin = heaps, dataset.id, None, 0
        with _structure(f"its {dataset.name}"):
            self.of, shape, chunks, filters = layout(self._id.get_type()), dataset.shape, dataset.chunks, self._id.get_create_plist().get_nfilters()
        if not chunks or len(chunks) != 1 or filters:
            raise Damaged(f"its {dataset.name} is compressed, or stored in another way than yardl does: h5repack -f NONE -l CHUNK=1024 does so, too")
        (self.count,), (self._chunk,) = shape, chunks

    def bytes(self, first, most):
        """Of some from one on, no more than its chunk has."""
        if first >= self.count:
            raise Damaged(f"no element {first} of the {self.count} that there are")
        own = first - first % self._chunk
        if self._first != own:
            with _structure("an index of chunks"):
                found = self._id.get_chunk_info_by_coord((own,))
            if found.byte_offset is None or found.size != self._chunk * self.of.size:
                raise Damaged(f"elements from {own} on that were never written")
            self._first, self._begin = own, found.byte_offset
        count = min(most, self.count - first, own + self._chunk - first)
        return self._heaps.bytes(self._begin + (first - own) * self.of.size, count * self.of.size)


class _Case:
    """An item of a stream of several types."""

    def __init__(self, at, part):
        self._found = at, part

    def case(self, cases):
        if self._found[0] >= len(cases):
            raise Damaged(f"case {self._found[0]} of {len(cases)}")
        return self._found


@contextlib.contextmanager
def _structure(what):
    """Whatever is wrong with a file's structure comes out of h5py as some exception."""
    try:
        yield
    except (OSError, RuntimeError, KeyError, ValueError, TypeError, AttributeError, OverflowError) as e:
        words = " ".join(str(e).split())[:200]
        raise Damaged(f"{what} cannot be read as HDF5 ({words or type(e).__name__})") from None
