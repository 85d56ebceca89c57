"""Python values as fields of the library's structs, and back."""
import ctypes
import operator
from collections import namedtuple

import numpy

from .errors import wrong


def choice(enum, value, name):
    """An enumeration's member from its name, in lower case, or itself."""
    if isinstance(value, enum):
        return value
    members = {member.name.lower(): member for member in enum}
    if isinstance(value, str) and value in members:
        return members[value]
    raise wrong(ValueError if isinstance(value, str) else TypeError,
                f"{name} is {value!r}; it must be one of " + ", ".join(map(repr, members)))


def integer(value, name, kind=ctypes.c_int64):
    """ctypes wraps what does not fit; this says so."""
    try:
        value = operator.index(value)
    except TypeError:
        whole = isinstance(value, (float, numpy.floating)) and float(value).is_integer()
        hint = f": write {int(value)}" if whole else ""
        raise wrong(TypeError, f"{name} is {value!r}; it must be an integer{hint}") from None
    bits = 8 * ctypes.sizeof(kind)
    low = -(1 << bits - 1) if kind(-1).value < 0 else 0
    if not low <= value < low + (1 << bits):
        raise wrong(ValueError, f"{name} is {value}; it must be an integer from {low} to {low + (1 << bits) - 1}")
    return value


def real(value, name):
    if not hasattr(value, "__float__") and not hasattr(value, "__index__"):  # a string has neither
        raise wrong(TypeError, f"{name} is {value!r}; it must be a real number")
    return float(value)


INTEGERS = (ctypes.c_uint8, ctypes.c_uint16, ctypes.c_int32, ctypes.c_uint32, ctypes.c_int64, ctypes.c_uint64)


def struct(kind, **values):
    """A struct of the library with its size and these fields; None leaves a field 0, its default."""
    kinds = dict(kind._fields_)
    made = kind()
    if "struct_size" in kinds:
        made.struct_size = ctypes.sizeof(kind)
    for name, value in values.items():
        if value is None:
            continue
        if kinds[name] in INTEGERS:
            value = integer(value, name, kinds[name])
        elif kinds[name] is ctypes.c_double:
            value = real(value, name)
        setattr(made, name, value)
    return made


def numbers(values, name, dtype="float64", ndim=1, columns=None):
    """A small array that the library copies, as it reads it: contiguous, of `dtype`. Integers may become real, not the reverse."""
    if not hasattr(values, "__len__") and hasattr(values, "__iter__") and not hasattr(values, "__array__"):
        raise wrong(TypeError, f"{name} is {type(values).__name__}; it must be a sequence or an array: write list({name})")
    try:
        given, dtype = numpy.asarray(values), numpy.dtype(dtype)
    except ValueError:  # parts of several lengths
        raise wrong(ValueError, f"{name} is no array of numbers: its parts have several lengths") from None
    whole = dtype.kind in "iu"
    if given.size and given.dtype.kind not in ("iu" if whole else "iuf"):
        raise wrong(TypeError, f"{name} is of {given.dtype}; it must be of {dtype}")
    array = numpy.ascontiguousarray(given, dtype)
    # A number alone has no dimensions, until ascontiguousarray gives it one.
    if given.ndim != ndim or (columns is not None and array.shape[-1] != columns):
        wanted = "(n,)" if ndim == 1 else f"(n, {columns})"
        hint = ""
        if ndim == 1 and given.size == max(given.shape, default=0) > 1:
            hint = f": write numpy.ravel({name})"
        elif given.ndim == ndim == 2 and given.shape[0] == columns:
            hint = f": write numpy.transpose({name})"
        raise wrong(ValueError, f"{name} has shape {given.shape}; it must be {wanted}{hint}")
    if whole and not numpy.array_equal(array, given):
        raise wrong(ValueError, f"{name} has values that {dtype} does not hold")
    return array


def address(array):
    return None if array is None else array.ctypes.data


def record(name, module, kind, doc, no_array=""):
    """A named tuple of a struct's fields, less its size and reserves. `module` is where its name is, for pickle; `no_array` is what
    to say where it was passed as an array."""
    fields = [field for field, _ in kind._fields_ if field not in ("struct_size", "reserved")]
    made = namedtuple(name, fields, module=module)
    made.__doc__, made._no_array = doc, no_array
    made._of = classmethod(lambda cls, s: cls(*(getattr(s, field) for field in cls._fields)))
    return made
