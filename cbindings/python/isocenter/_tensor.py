"""Arrays as isoc_tensor, in place: NumPy arrays by their own description, all others by DLPack, whose DLTensor is isoc_tensor."""
import ctypes
import sys

import numpy

from ._abi import ISOC_DEVICE_CUDA, ISOC_DEVICE_HOST, isoc_device, isoc_dtype, isoc_tensor
from .errors import TensorDtypeError, TensorStridesError, wrong

# DLPack's codes of NumPy's kinds. The library refuses what it does not know.
CODES = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}
NAMES = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 5: "complex", 6: "bool"}


class _Version(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32)]


class _Versioned(ctypes.Structure):
    """DLManagedTensorVersioned."""
    _fields_ = [("version", _Version), ("manager", ctypes.c_void_p), ("deleter", ctypes.c_void_p),
                ("flags", ctypes.c_uint64), ("tensor", isoc_tensor)]


READ_ONLY = 1

_capsule_name = ctypes.pythonapi.PyCapsule_GetName
_capsule_name.restype, _capsule_name.argtypes = ctypes.c_char_p, [ctypes.py_object]
_capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_pointer.restype, _capsule_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


class Tensor:
    """What a call needs of an array; keeps it alive. `pointer` goes to the library."""

    def __init__(self, name, dtype, shape, pointer, keep, advice):
        self.name, self.dtype, self.shape, self.pointer, self._keep, self.advice = name, dtype, shape, pointer, keep, advice

    @property
    def array(self):
        return self._keep[0]

    def transposed(self, order):
        """What to write for the array with its axes in another order."""
        if order == (1, 0):
            return "T"
        return f"{'permute' if hasattr(self._keep[0], 'permute') else 'transpose'}{order}"


def tensor(array, name, stream=0, written=False):
    """An array as the library takes it.

    stream: of the plan, for arrays on a GPU: their producer makes that stream wait for its own.
    written: whether it is an output.
    """
    if isinstance(array, numpy.ndarray):
        return _of_numpy(array, name, written)
    if hasattr(array, "__dlpack__"):
        return _of_dlpack(array, name, stream, written)
    if type(array) in (list, tuple):  # not records, which are tuples, but no array
        hint = f": write numpy.asarray({name})"
    else:
        hint = getattr(array, "_no_array", "")
    raise wrong(TypeError, f"{name} is {type(array).__name__}; it must be a NumPy array, or one that has __dlpack__ (PyTorch, "
                           f"CuPy){hint}")


def _of_numpy(array, name, written):
    dtype = array.dtype
    if isinstance(array, numpy.ma.MaskedArray):
        raise wrong(TypeError, f"{name} is a masked array, whose mask the library would not see: write {name}.filled(0)")
    if not dtype.isnative:
        raise wrong(TensorDtypeError, f"{name} has byte order {dtype.str}, not this machine's: write {name}.astype("
                               f"{name}.dtype.newbyteorder('='))")
    if dtype.kind not in CODES:
        raise wrong(TensorDtypeError, f"{name} has dtype {dtype}, of which there are no tensors")
    if written and not array.flags.writeable:
        raise wrong(ValueError, f"{name} is read-only, and cannot take the result")
    if any(s % dtype.itemsize for s in array.strides):
        raise wrong(TensorStridesError, f"{name} has strides of {array.strides} bytes, which are not whole elements of {dtype.itemsize} "
                                f"bytes: write numpy.ascontiguousarray({name})")
    # `data` is the lowest address: with negative strides the first element lies above it.
    below = sum((n - 1) * s for n, s in zip(array.shape, array.strides) if s < 0) if array.size else 0
    sizes = ctypes.c_int64 * max(array.ndim, 1)
    shape, strides = sizes(*array.shape), sizes(*(s // dtype.itemsize for s in array.strides))
    t = isoc_tensor(array.ctypes.data + below, isoc_device(ISOC_DEVICE_HOST, 0), array.ndim,
                    isoc_dtype(CODES[dtype.kind], min(8 * dtype.itemsize, 255), 1), ctypes.addressof(shape),
                    ctypes.addressof(strides), -below)

    def advice(wanted):
        if written:
            return f"make it with dtype=numpy.{wanted}"
        part = ".real" if dtype.kind == "c" and not wanted.startswith("complex") else ""
        return f"write {name}{part}.astype(numpy.{wanted})"

    return Tensor(name, dtype.name, array.shape, ctypes.byref(t), (array, shape, strides, t), advice)


def _of_dlpack(array, name, stream, written):
    module = type(array).__module__.partition(".")[0]
    if getattr(array, "is_neg", bool)():  # PyTorch's lazy minus, such as of x.conj().imag, which DLPack leaves out
        raise wrong(ValueError, f"{name} has PyTorch's negative bit, which DLPack does not tell: write {name}.resolve_neg()")
    if written and module in ("jax", "jaxlib"):  # which do not say so in DLPack
        raise wrong(ValueError, f"{name} is a JAX array, which is read-only, and cannot take the result")
    place = array.__dlpack_device__()
    arguments = {"stream": stream or 1} if place[0] == ISOC_DEVICE_CUDA else {}  # 1 is CUDA's default stream
    try:
        capsule = array.__dlpack__(max_version=(1, 1), **arguments)
    except TypeError:  # from before DLPack 1.0
        capsule = array.__dlpack__(**arguments)
    # The capsule owns the tensor until it is taken from it; here it is only read while the capsule lives.
    kind = _capsule_name(capsule)
    address = _capsule_pointer(capsule, kind)
    if kind == b"dltensor_versioned":
        managed = ctypes.cast(address, ctypes.POINTER(_Versioned)).contents
        if managed.version.major != 1:
            raise wrong(TypeError, f"{name} speaks DLPack {managed.version.major}; this package knows 1")
        if written and managed.flags & READ_ONLY:
            raise wrong(ValueError, f"{name} is read-only, and cannot take the result")
        address += _Versioned.tensor.offset
    pointer = ctypes.cast(address, ctypes.POINTER(isoc_tensor))
    dtype = pointer.contents.dtype
    called = f"{NAMES.get(dtype.code, 'code')}{dtype.bits}"
    shape = tuple(ctypes.cast(pointer.contents.shape, ctypes.POINTER(ctypes.c_int64))[:pointer.contents.ndim])
    return Tensor(name, called, shape, pointer, (array, capsule), lambda wanted: f"convert it to {module}.{wanted}")


def zeros_like(array, shape, dtype):
    """An array of zeros of the same library, and on the same device, as `array`."""
    if hasattr(array, "new_zeros"):  # PyTorch
        return array.new_zeros(shape, dtype=getattr(sys.modules["torch"], dtype))
    if type(array).__module__.partition(".")[0] == "cupy":
        with array.device:
            return sys.modules["cupy"].zeros(shape, dtype)
    if isinstance(array, numpy.ndarray):
        return numpy.zeros(shape, dtype)
    if hasattr(array, "__array_namespace__"):
        space = array.__array_namespace__()
        return space.zeros(shape, dtype=getattr(space, dtype), device=array.device)
    raise wrong(TypeError, f"no array for the result can be made like {type(array).__name__}: pass one")


def dtype_name(array):
    """Such as "complex64", of an array of any library."""
    return str(getattr(array, "dtype", "")).rpartition(".")[2]


def numpy_view(t):
    """A NumPy array over a contiguous host tensor of the library, and the owner of its memory: alive as long as any view."""
    shape = ctypes.cast(t.shape, ctypes.POINTER(ctypes.c_int64))[:t.ndim]
    dtype = numpy.dtype(f"{NAMES[t.dtype.code]}{t.dtype.bits}")
    size = int(numpy.prod(shape)) * dtype.itemsize
    memory = (ctypes.c_uint8 * size).from_address(t.data + t.byte_offset)
    return numpy.frombuffer(memory, dtype).reshape(shape), memory
