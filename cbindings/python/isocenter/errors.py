"""Exceptions: one for each status of the C library, each of them also the Python exception that is nearest to it."""
import sys

from ._abi import Status

_classes = {}


def called():
    """The function of this package that was called from outside of it, such as "CT.set_geometry"; "CT" for a constructor."""
    frame, package, found = sys._getframe(1), __name__.partition(".")[0], ""
    while frame is not None and str(frame.f_globals.get("__name__")).partition(".")[0] == package:
        name = frame.f_code.co_name
        owner = type(frame.f_locals["self"]).__name__ if "self" in frame.f_locals else ""
        if frame.f_globals is globals():
            pass
        elif name in ("__init__", "__setattr__"):
            found = owner
        elif not name.startswith(("_", "<")):
            found = f"{owner}.{name}" if owner else name
        frame = frame.f_back
    return found


def wrong(kind, message):
    """An exception whose message begins with the function that was called."""
    name = called()
    return kind(f"{name}: {message}" if name else message)


class Error(Exception):
    """A call failed. `status` is the C library's; the text is its message, naming argument, value seen and value allowed."""

    status = None

    def __init_subclass__(cls, status, **rest):
        super().__init_subclass__(**rest)
        cls.status = status
        _classes[status] = cls


def error(status, message):
    """The exception of a status; one of a newer library's statuses is a plain `Error`."""
    made = wrong(_classes.get(status, Error), message)
    made.status = Status(status) if status in _classes else status
    return made


class NullPointerError(Error, TypeError, status=Status.NULL_POINTER):
    """Something that is required is missing."""


class InvalidHandleError(Error, ValueError, status=Status.INVALID_HANDLE):
    """The object is closed, or was made before the process forked."""


class StructSizeError(Error, RuntimeError, status=Status.STRUCT_SIZE):
    """Package and library do not belong together."""


class UnknownValueError(Error, ValueError, status=Status.UNKNOWN_VALUE):
    """A number that is none of an enumeration's."""


class OutOfRangeError(Error, ValueError, status=Status.OUT_OF_RANGE):
    """A number lies outside its allowed range."""


class SizeOverflowError(Error, OverflowError, status=Status.SIZE_OVERFLOW):
    """A product of sizes does not fit 64 bits."""


class NotFiniteParameterError(Error, ValueError, status=Status.NOT_FINITE_PARAMETER):
    """NaN or infinity in a geometry or option."""


class NotFiniteDataError(Error, ValueError, status=Status.NOT_FINITE_DATA):
    """NaN or infinity in data; the message names the first index. See `Context(nan_policy=...)`."""


class TensorNdimError(Error, ValueError, status=Status.TENSOR_NDIM):
    """An array has the wrong number of dimensions."""


class TensorDtypeError(Error, TypeError, status=Status.TENSOR_DTYPE):
    """An array has an element type that the call does not take. Nothing is converted silently."""


class TensorShapeError(Error, ValueError, status=Status.TENSOR_SHAPE):
    """An array's shape does not match the geometry."""


class TensorStridesError(Error, ValueError, status=Status.TENSOR_STRIDES):
    """An array's strides are of no use, such as those of an output that overlaps itself."""


class TensorDeviceError(Error, ValueError, status=Status.TENSOR_DEVICE):
    """An array is on a device that the context does not compute on."""


class OverlapError(Error, ValueError, status=Status.OVERLAP):
    """Input and output share memory."""


class TooFewViewsError(Error, ValueError, status=Status.TOO_FEW_VIEWS):
    """Angular weights need at least two views."""


class EqualAnglesError(Error, ValueError, status=Status.EQUAL_ANGLES):
    """Angular weights need at least two different angles."""


class FlatFieldError(Error, ValueError, status=Status.FLAT_FIELD):
    """A flat that is not above its dark, or raw counts without a flat field."""


class NotConfiguredError(Error, RuntimeError, status=Status.NOT_CONFIGURED):
    """A call came before the one that it needs."""


class MemoryCapError(Error, MemoryError, status=Status.MEMORY_CAP):
    """The context's memory cap is too small for the smallest piece of the work."""


class OutOfMemoryError(Error, MemoryError, status=Status.OUT_OF_MEMORY):
    """The machine is out of memory."""


class CancelledError(Error, status=Status.CANCELLED):
    """The progress callback asked to stop. Ctrl-C is a `KeyboardInterrupt`, not this."""


class BusyError(Error, RuntimeError, status=Status.BUSY):
    """A callback used the object that it reports on."""


class InternalError(Error, RuntimeError, status=Status.INTERNAL):
    """A fault inside the library. Please report it."""


class NoDeviceError(Error, RuntimeError, status=Status.NO_DEVICE):
    """No NVIDIA driver, no GPU, or no GPU of that index."""


class DriverTooOldError(Error, RuntimeError, status=Status.DRIVER_TOO_OLD):
    """The NVIDIA driver is older than the kernels need."""


class NoKernelImageError(Error, RuntimeError, status=Status.NO_KERNEL_IMAGE):
    """The library was built without kernels that this GPU runs."""


class CudaError(Error, RuntimeError, status=Status.CUDA):
    """A CUDA call failed."""


class CallbackError(Error, RuntimeError, status=Status.CALLBACK):
    """A callback of `CT.reconstruct_stream` failed. What it raised is raised in place of this."""

__all__ = ["Error", *(cls.__name__ for cls in _classes.values())]
