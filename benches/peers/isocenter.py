"""The part of libisocenter's C API that the benchmarks need, through ctypes."""
import ctypes as c
import os

import numpy as np

lib = c.CDLL(os.environ.get("ISOC_LIBRARY", "target/release/libisocenter.so"))
lib.isoc_last_error.restype = lib.isoc_version.restype = lib.isoc_build_info.restype = c.c_char_p


class ContextOptions(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("device", c.c_uint32), ("threads", c.c_uint32), ("nan_policy", c.c_uint32),
                ("memory_cap", c.c_uint64), ("progress", c.c_void_p), ("progress_user", c.c_void_p), ("log", c.c_void_p),
                ("log_user", c.c_void_p), ("gpus", c.c_void_p), ("gpu_count", c.c_int64), ("gpu_memory_cap", c.c_uint64)]


class Geometry(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("order", c.c_uint32), ("views", c.c_int64), ("bins", c.c_int64),
                ("rows", c.c_int64), ("angles", c.c_void_p), ("axis", c.c_void_p), ("axis_count", c.c_int64),
                ("bin_pitch", c.c_double), ("pixel_size", c.c_double), ("nx", c.c_int64), ("ny", c.c_int64),
                ("x_offset", c.c_double), ("y_offset", c.c_double), ("first_row", c.c_int64), ("slices", c.c_int64)]


class Tensor(c.Structure):
    _fields_ = [("data", c.c_void_p), ("device_type", c.c_int32), ("device_id", c.c_int32), ("ndim", c.c_int32),
                ("code", c.c_uint8), ("bits", c.c_uint8), ("lanes", c.c_uint16), ("shape", c.c_void_p),
                ("strides", c.c_void_p), ("byte_offset", c.c_uint64)]


class Ellipse(c.Structure):
    _fields_ = [(name, c.c_double) for name in ("value", "x", "y", "semi_x", "semi_y", "angle")]


def check(status):
    if status:
        raise RuntimeError(f"status {status}: {lib.isoc_last_error().decode()}")


class Options(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("filter", c.c_uint32), ("interpolation", c.c_uint32), ("padding", c.c_uint32),
                ("weighted_backprojection", c.c_uint32), ("kernel", c.c_uint32), ("cutoff", c.c_double),
                ("butterworth_order", c.c_double), ("response", c.c_void_p), ("response_count", c.c_int64),
                ("minimum_transmission", c.c_double), ("precision", c.c_uint32), ("reserved", c.c_uint32)]


CPU, GPU = 1, 2
SINGLE, HALF = 0, 1


CODES = {"u": 1, "f": 2, "c": 5}


def tensor(array):
    """Of a NumPy array, or of a PyTorch tensor on the processor or the first GPU; real, complex or unsigned."""
    of_torch = hasattr(array, "data_ptr")
    dtype = np.dtype(str(array.dtype).removeprefix("torch."))
    strides = array.stride() if of_torch else (s // dtype.itemsize for s in array.strides)
    shape, strides = (c.c_int64 * array.ndim)(*array.shape), (c.c_int64 * array.ndim)(*strides)
    t = Tensor(data=array.data_ptr() if of_torch else array.ctypes.data, device_type=2 if of_torch and array.is_cuda else 1,
               ndim=array.ndim, code=CODES[dtype.kind], bits=8 * dtype.itemsize, lanes=1, shape=c.addressof(shape),
               strides=c.addressof(strides))
    t.keep = shape, strides
    return t


def context(device=CPU, threads=0):
    """A handle, to be destroyed; GPU is the first one."""
    handle, first = c.c_void_p(), (c.c_int32 * 1)(0)
    options = ContextOptions(struct_size=c.sizeof(ContextOptions), threads=threads, device=device,
                             gpus=c.addressof(first) if device == GPU else None, gpu_count=1 if device == GPU else 0)
    check(lib.isoc_context_create(c.byref(options), c.byref(handle)))
    return handle


class Ct:
    """A plan for `slices` square slices of `side` pixels from frames (views, slices, side), evenly spaced over pi.

    The rotation axis passes through bin and pixel (side - 1) / 2 + shift.
    """

    def __init__(self, side, views, slices=1, threads=0, shift=0.0, device=CPU, precision=SINGLE):
        self.ctx, self.ct = context(device, threads), c.c_void_p()
        check(lib.isoc_ct_create(self.ctx, c.byref(self.ct)))
        angles, axis = angles_of(views), np.array([(side - 1) / 2 + shift])
        check(lib.isoc_ct_set_geometry(self.ct, c.byref(Geometry(
            struct_size=c.sizeof(Geometry), views=views, bins=side, rows=slices, angles=angles.ctypes.data,
            axis=axis.ctypes.data, axis_count=1, x_offset=shift, y_offset=shift))))
        check(lib.isoc_ct_set_options(self.ct, c.byref(Options(struct_size=c.sizeof(Options), precision=precision))))
        self.projection_shape, self.volume_shape = (views, slices, side), (slices, side, side)

    def run(self, operator, source, target):
        """operator: filter, backproject, forward, adjoint or reconstruct."""
        check(getattr(lib, f"isoc_ct_{operator}")(self.ct, c.byref(tensor(source)), c.byref(tensor(target))))

    def phantom(self, radius):
        """Modified Shepp-Logan: exact line integrals, exact pixel means."""
        ellipses = (Ellipse * 10)()
        check(lib.isoc_ct_shepp_logan(1, c.c_double(radius), ellipses, c.c_int64(10)))
        arrays = np.empty(self.projection_shape, np.float32), np.empty(self.volume_shape, np.float32)
        for name, array in zip(("projections", "volume"), arrays):
            check(getattr(lib, f"isoc_ct_phantom_{name}")(self.ct, ellipses, c.c_int64(10), c.byref(tensor(array))))
        return arrays

    def working_memory(self):
        """What isoc_ct_memory promises, in bytes."""
        size = c.c_uint64()
        check(lib.isoc_ct_memory(self.ct, c.byref(size)))
        return size.value

    def __del__(self):
        lib.isoc_ct_destroy(self.ct)
        lib.isoc_context_destroy(self.ctx)


def angles_of(views):
    return np.arange(views) * (np.pi / views)


def version():
    return lib.isoc_version().decode()


def build_info():
    return lib.isoc_build_info().decode()
