"""The part of libisocenter's C API for MRI that the benchmarks need, through ctypes."""
import ctypes as c

import numpy as np

from isocenter import CPU, SINGLE, check, context, lib, tensor

CYCLES_PER_VOXEL, CYCLES_PER_FIELD_OF_VIEW, RADIANS_PER_VOXEL = 1, 2, 3
DOUBLE = 1
NUFFT, EXACT = 1, 2
TOEPLITZ, PAIR = 1, 2
IDENTITY, DIFFERENCES = 0, 1
ITERATIVE, RADIAL = 0, 1
PRECISE, HARDWARE = 0, 1
ELLIPSOIDS = 10


class Geometry(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("unit", c.c_uint32), ("precision", c.c_uint32), ("axes", c.c_uint32),
                ("nx", c.c_int64), ("ny", c.c_int64), ("nz", c.c_int64), ("samples", c.c_int64), ("coils", c.c_int64)]


class Options(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("method", c.c_uint32), ("normal", c.c_uint32), ("penalty", c.c_uint32),
                ("warm_start", c.c_uint32), ("sines", c.c_uint32), ("iterations", c.c_int64), ("tolerance", c.c_double),
                ("upsampling", c.c_double), ("lambda_", c.c_double), ("residual", c.c_double)]


class Info(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("has_q", c.c_uint32), ("images", c.c_int64), ("fine_nx", c.c_int64),
                ("fine_ny", c.c_int64), ("fine_nz", c.c_int64), ("width", c.c_int64), ("q_nx", c.c_int64),
                ("q_ny", c.c_int64), ("q_nz", c.c_int64), ("replaced_values", c.c_int64)]


class Ellipsoid(c.Structure):
    _fields_ = [(name, c.c_double) for name in ("value", "x", "y", "z", "semi_x", "semi_y", "semi_z", "angle")]


class Mri:
    """A plan for images of `shape`, (nz, ny, nx) or (ny, nx), from a trajectory (samples, axes), x first."""

    def __init__(self, shape, trajectory, coils=1, unit=CYCLES_PER_VOXEL, precision=SINGLE, device=CPU, threads=0, **options):
        self.ctx, self.mri = context(device, threads), c.c_void_p()
        check(lib.isoc_mri_create(self.ctx, c.byref(self.mri)))
        nz, ny, nx = (1,) * (3 - len(shape)) + tuple(shape)
        samples, axes = trajectory.shape
        self.shape, self.samples = tuple(shape), samples
        self.call("set_geometry", c.byref(Geometry(c.sizeof(Geometry), unit, precision, axes, nx, ny, nz, samples, coils)),
                  c.byref(tensor(trajectory)))
        self.set_options(**options)

    def call(self, name, *arguments):
        check(getattr(lib, f"isoc_mri_{name}")(self.mri, *arguments))

    def set_options(self, **options):
        """Fields of isoc_mri_options; what is not named gets its default."""
        self.call("set_options", c.byref(Options(struct_size=c.sizeof(Options), **options)))

    def set_stream(self, stream):
        """Where the library has streams for MRI; without, calls wait for the default stream."""
        if hasattr(lib, "isoc_mri_set_stream"):
            self.call("set_stream", c.c_void_p(stream))

    def set_weights(self, weights):
        self.call("set_weights", c.byref(tensor(weights)))

    def compute_weights(self, density, parameter=0):
        self.call("compute_weights", c.c_uint32(density), c.c_int64(parameter))

    def weights(self):
        values = np.empty(self.samples, np.float32)
        self.call("get_weights", c.byref(tensor(values)))
        return values

    def set_maps(self, maps):
        self.call("set_maps", c.byref(tensor(maps)))

    def set_positions(self, positions):
        """Of the voxels, (nz, ny, nx, axes), x first; None for the grid's own."""
        self.call("set_positions", None if positions is None else c.byref(tensor(positions)))

    def run(self, operator, source, target):
        """operator: forward, adjoint, gridding, normal or reconstruct."""
        self.call(operator, c.byref(tensor(source)), c.byref(tensor(target)))

    def forward(self, image, samples):
        self.run("forward", image, samples)

    def adjoint(self, samples, image):
        self.run("adjoint", samples, image)

    def gridding(self, samples, image):
        self.run("gridding", samples, image)

    def normal(self, image, out):
        self.run("normal", image, out)

    def reconstruct(self, samples, image):
        self.run("reconstruct", samples, image)

    def history(self, image=0):
        """Relative residuals of the last `reconstruct`, before the first iteration and after each."""
        found = c.c_int64()
        self.call("history", c.c_int64(image), None, c.c_int64(0), c.byref(found))
        residuals = np.empty(found.value)
        self.call("history", c.c_int64(image), c.c_void_p(residuals.ctypes.data), c.c_int64(found.value), c.byref(found))
        return residuals

    def compute_q(self):
        self.call("compute_q")

    def q(self):
        info = self.info()
        shape = (info.q_nz, info.q_ny, info.q_nx)
        values = np.empty(shape[-len(self.shape):], np.float32)
        self.call("export_q", c.byref(tensor(values)))
        return values

    def info(self):
        info = Info(struct_size=c.sizeof(Info))
        self.call("get_info", c.byref(info))
        return info

    def working_memory(self):
        """What isoc_mri_memory promises, in bytes."""
        size = c.c_uint64()
        self.call("memory", c.byref(size))
        return size.value

    def phantom(self, dtype=np.complex64):
        """Modified Shepp-Logan head that fills the image: exact samples, exact voxel means."""
        nz, ny, nx = (1,) * (3 - len(self.shape)) + self.shape
        ellipsoids, count = (Ellipsoid * ELLIPSOIDS)(), c.c_int64(ELLIPSOIDS)
        check(lib.isoc_mri_shepp_logan(c.c_uint32(1), c.c_double(min(nx, ny) / 2), c.c_double(nz / 2 if nz > 1 else 0),
                                       ellipsoids, count))
        arrays = np.empty(self.samples, dtype), np.empty(self.shape, dtype)
        for name, array in zip(("samples", "image"), arrays):
            self.call(f"phantom_{name}", ellipsoids, count, c.byref(tensor(array)))
        return arrays

    def compare(self, image, truth):
        """Peak signal-to-noise ratio in dB, error in percent."""
        psnr, error = c.c_double(), c.c_double()
        self.call("compare", c.byref(tensor(image)), c.byref(tensor(truth)), c.byref(psnr), c.byref(error))
        return psnr.value, error.value

    def __del__(self):
        lib.isoc_mri_destroy(self.mri)
        lib.isoc_context_destroy(self.ctx)
