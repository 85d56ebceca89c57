"""Contexts: where and how plans compute."""
import ctypes
import logging
import weakref

import numpy

from . import _abi, _call
from ._library import lib
from ._values import address, choice, integer, numbers, struct
from .errors import wrong


class _Logger:
    """Python's logger as a log callback."""
    logger = logging.getLogger("isocenter")
    LEVELS = {1: logging.WARNING, 2: logging.DEBUG, 3: logging.DEBUG}

    def hears(self, level):
        return self.logger.isEnabledFor(self.LEVELS[level])

    def __call__(self, level, message):
        self.logger.log(self.LEVELS[level], "%s", message)


class Context(_call.Handle):
    """Threads, memory limits and callbacks, which plans share. Any thread may use it, several at a time.

    Parameters
    ----------
    device : {"auto", "cpu", "gpu"}
        "auto" takes all NVIDIA GPUs, or the processor where there is none that the library can use (the log says why).
    threads : int
        Worker threads, at most 4096; 0 takes one for each processor that this process may use.
    nan_policy : {"error", "replace"}
        What to do with NaN and infinity in data: raise NotFiniteDataError, or replace by zero and count.
    memory_cap : int
        Most bytes of working memory of the host, beyond your arrays: a promise. 0 takes seven eighths of what is available when
        a call begins.
    progress : callable, optional
        ``progress(fraction, stage)``, some twenty times a second from the thread that made the call, so from several threads at a
        time where several make calls with plans of the context. Something true as its result cancels that call, which raises
        CancelledError; what it raises comes out of that call.
    log : callable, optional
        ``log(level, message)``, on the threads that progress is on: 1 is a warning, 2 a decision that the library took, 3 what
        iterations have come to. None: Python's logger "isocenter", which shows warnings and takes the others at its level DEBUG.
    gpus : sequence of int, optional
        With device "gpu": the GPUs to use, as the driver counts; None takes all.
    gpu_memory_cap : int
        Most bytes of memory on each GPU, beyond your arrays; 0 takes nine tenths of what is free.

    Raises
    ------
    NoDeviceError, DriverTooOldError, NoKernelImageError
        With device "gpu", where there is none that the library can use.
    """

    def __init__(self, *, device="auto", threads=0, nan_policy="error", memory_cap=0, progress=None, log=None, gpus=None,
                 gpu_memory_cap=0):
        for name, function in (("progress", progress), ("log", log)):
            if function is not None and not callable(function):
                raise wrong(TypeError, f"{name} is {function!r}; it must be callable")
        self._callbacks = progress, log or _Logger()
        chosen = None if gpus is None else numbers(gpus, "gpus", "int32")
        if integer(threads, "threads") < 0:
            raise wrong(ValueError, f"threads is {threads}; it must be 0 (one for each processor) to 4096")
        # Progress is always heard: Ctrl-C is noticed there.
        options = struct(
            _abi.isoc_context_options, device=choice(_abi.ContextDevice, device, "device"), threads=threads,
            nan_policy=choice(_abi.NanPolicy, nan_policy, "nan_policy"), memory_cap=memory_cap,
            progress=_call.report_progress, log=_call.report_log, gpus=address(chosen),
            gpu_count=None if chosen is None else chosen.size, gpu_memory_cap=gpu_memory_cap)
        self._settings = {"device": _abi.ContextDevice(options.device).name.lower(), "threads": threads,
                          "nan_policy": _abi.NanPolicy(options.nan_policy).name.lower(), "memory_cap": memory_cap,
                          "gpus": None if chosen is None else chosen.tolist(), "gpu_memory_cap": gpu_memory_cap}
        made = _call.new_handle(lib.isoc_context_create, ctypes.byref(options), context=self)
        super().__init__(lib.isoc_context_destroy, made)

    def __repr__(self):
        if self.closed:
            return "<isocenter.Context: closed>"
        set_ = {name: value for name, value in self._settings.items() if name == "device" or value not in (0, None, "error")}
        return f"<isocenter.Context: {', '.join(f'{name}={value!r}' for name, value in set_.items())}>"

    def empty(self, shape, dtype="float32"):
        """A NumPy array, uninitialised, in memory from which GPUs copy at the full speed of the bus (page-locked); ordinary
        memory where the context computes on the processor. Allocate once, use often: page-locking takes 0.3 s a gigabyte.

        Parameters
        ----------
        shape : int or sequence of int
        dtype : dtype

        Returns
        -------
        numpy.ndarray
            Its memory is freed with the last array that looks at it, and outlives the context.
        """
        dtype = numpy.dtype(dtype)
        if dtype.hasobject:
            raise wrong(TypeError, f"dtype is {dtype}; it must be of numbers")
        shape = tuple(integer(n, "shape") for n in ([shape] if numpy.ndim(shape) == 0 else shape))
        if min(shape, default=0) < 0:
            raise wrong(ValueError, f"shape is {shape}; sizes cannot be negative")
        size = dtype.itemsize
        for n in shape:
            size *= n
        if not size:
            return numpy.empty(shape, dtype)
        out = ctypes.c_void_p()
        _call.invoke(lib.isoc_host_alloc, self._handle, integer(size, "shape", ctypes.c_uint64), ctypes.byref(out), context=self)
        memory = (ctypes.c_uint8 * size).from_address(out.value)
        weakref.finalize(memory, _call._finalize, lib.isoc_host_free, out.value, _call._forks).atexit = False
        return numpy.frombuffer(memory, dtype).reshape(shape)


def version():
    """The library's version, such as "0.1.0"."""
    return lib.isoc_version().decode()


def abi_version():
    """The number of the library's ABI."""
    return lib.isoc_abi_version()


def build_info():
    """What the library was built from, and the instruction set that it will use."""
    return lib.isoc_build_info().decode()


def status_string(status):
    """The library's phrase for a status."""
    return lib.isoc_status_string(integer(status, "status", ctypes.c_int32)).decode()
