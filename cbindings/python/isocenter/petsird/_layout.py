"""How an HDF5 file has the elements of a dataset, by the type that the package h5py tells: that of memory, where references to heaps have other sizes."""
import dataclasses
import itertools
import math

import numpy

from ._bytes import Damaged
from ._names import snake

#: Of a number of items, a heap's address and the number of an object in it.
REFERENCE = numpy.dtype([("count", "<u4"), ("heap", "<u8"), ("object", "<u4")])
#: Types within types, at most.
_DEEPEST = 80


@dataclasses.dataclass
class Layout:
    """
    Attributes
    ----------
    size : int
        Bytes in the file.
    number : numpy.dtype or None
    text : bool
        A reference to one.
    shape : tuple or None
        Of an array of items.
    items : Layout or None
        Of an array, or of what a reference leads to.
    fields : dict or None
        Names, in the order in which they are in the file: where each begins, and its Layout.
    symbols : dict or None
        Of a number, names by values.
    """
    size: int
    number: object = None
    text: bool = False
    shape: tuple = None
    items: object = None
    fields: dict = None
    symbols: dict = None

    def __str__(self):
        if self.fields is not None:
            return f"a record of {', '.join(self.fields)}"
        return "a text" if self.text else f"a number {self.number}" if self.number else "a vector" if self.shape is None else f"an array {self.shape}"

    def named(self, names):
        """Fields of a record of such names."""
        if self.fields is None or any(name not in self.fields for name in names):
            raise self.other(f"a record of {', '.join(names)}")
        return [self.fields[name] for name in names]

    def other(self, expected):
        return Damaged(f"it has {self} where its schema has {expected}")

    def columns(self, begin=0):
        """Where each number of 32 bits is, where there are no others, else None."""
        if self.number is not None:
            return [begin] if self.number == numpy.dtype("<u4") else None
        if self.fields is not None:
            parts = [of.columns(begin + at) for at, of in self.fields.values()]
        elif self.shape is not None and math.prod(self.shape) <= _DEEPEST:
            parts = [self.items.columns(begin + k * self.items.size) for k in range(math.prod(self.shape))]
        else:
            return None
        return None if None in parts else [*itertools.chain(*parts)]


def layout(of, deep=0):
    """Of a low-level type of h5py's."""
    from h5py import h5t
    if deep > _DEEPEST:
        raise Damaged("it has types within types")
    kind = of.get_class()
    inner = lambda within: layout(within, deep + 1)
    if kind == h5t.COMPOUND:
        members = sorted((of.get_member_offset(k), k) for k in range(of.get_nmembers()))
        fields, more = {}, 0
        for begin, k in members:
            member = of.get_member_type(k)
            made = inner(member)
            fields[snake(of.get_member_name(k).decode())] = begin + more, made
            more += made.size - member.get_size()
        return Layout(of.get_size() + more, fields=fields)
    if kind == h5t.VLEN:
        return Layout(REFERENCE.itemsize, items=inner(of.get_super()))
    if kind == h5t.STRING and of.is_variable_str():
        return Layout(REFERENCE.itemsize, text=True)
    if kind == h5t.ARRAY:
        shape, items = of.get_array_dims(), inner(of.get_super())
        return Layout(math.prod(shape) * items.size, shape=shape, items=items)
    if kind == h5t.ENUM:
        symbols = {of.get_member_value(k): of.get_member_name(k).decode() for k in range(of.get_nmembers())}
        return dataclasses.replace(inner(of.get_super()), symbols=symbols)
    for number in ("IEEE_F32LE", "IEEE_F64LE", *(f"STD_{sign}{bits}LE" for sign in "IU" for bits in (8, 16, 32, 64))):
        known = getattr(h5t, number)
        if of.equal(known):
            return Layout(known.get_size(), number=known.dtype)
    raise Damaged("it has a type that yardl does not write")
