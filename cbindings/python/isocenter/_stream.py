"""Callbacks that fill and take arrays which are the library's."""
import weakref

import numpy

from . import _abi, _call
from ._tensor import CODES, numpy_view
from .errors import TensorDtypeError, wrong


def callback(name, function, kind, writeable):
    """A C callback of this kind that calls ``function(first, array)``; the array is to be filled (`writeable`), or read."""
    if not callable(function):
        raise wrong(TypeError, f"{name} is {function!r}; it must be callable")

    def call(_user, first, _count, t):
        state = _call.running()
        with state.guarded():
            state.check()
            array, memory = numpy_view(t.contents)
            array.flags.writeable = writeable
            watch = weakref.ref(memory)
            del memory
            returned = function(first, array)
            if returned is not None:
                todo = "write into the array that is given: array[...] = ..., and return None" if writeable else "it must return None"
                raise wrong(TypeError, f"{name} returned {type(returned).__name__}, which would be lost; {todo}")
            del array
            if watch() is not None:
                raise wrong(BufferError, f"{getattr(function, '__name__', 'the callback')} kept the array that it was given, "
                                         "which is the library's and is used again: keep a copy")
        return state.raised is not None
    return kind(call)


def element_type(dtype, allowed, advice=lambda dtype: ""):
    """The C element type of a NumPy one, which must be one of these names."""
    dtype = numpy.dtype(dtype)
    if dtype.name not in allowed:
        *others, last = map(repr, allowed)
        raise wrong(TensorDtypeError, f"dtype is {dtype.name}; it must be {', '.join(others)} or {last}" + advice(dtype))
    return _abi.isoc_dtype(CODES[dtype.kind], 8 * dtype.itemsize, 1)
