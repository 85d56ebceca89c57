"""The part of libisocenter's C API for PET that the benchmarks need, through ctypes."""
import ctypes as c
import math

import numpy as np

from isocenter import CPU, check, context, lib, tensor

AUTO, GATHER, FOURIER = 0, 1, 2
RAMLA, OSEM, MLEM = 0, 1, 2

# The scan of the DIRECT measurements: 40 x 3 views within 10 degrees, 400 ps; widths in mm.
VIEWS, TILTS, MAX_TILT = 40, 3, math.radians(10)
INVARIANT = 5.8
VARIANT = [(0.0, 4.8), (288.0, 10.0)]
SIZES = {"4 mm": ((48, 144, 144), 4.0), "2 mm": ((96, 288, 288), 2.0)}


class Geometry(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("tilts", c.c_uint32), ("nx", c.c_int64), ("ny", c.c_int64), ("nz", c.c_int64),
                ("voxel_x", c.c_double), ("voxel_y", c.c_double), ("voxel_z", c.c_double), ("views", c.c_int64),
                ("max_tilt", c.c_double)]


class Response(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("profile", c.c_uint32), ("cut", c.c_uint32), ("radial_entries", c.c_uint32),
                ("tof_fwhm", c.c_double), ("radial_fwhm", c.c_double), ("axial_fwhm", c.c_double), ("radial_table", c.c_void_p),
                ("step", c.c_double), ("cut_width", c.c_double), ("ratio", c.c_double), ("shift", c.c_double),
                ("share", c.c_double)]


class Options(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("algorithm", c.c_uint32), ("order", c.c_uint32), ("projector", c.c_uint32),
                ("warm_start", c.c_uint32), ("subsets", c.c_uint32), ("iterations", c.c_int64), ("first_iteration", c.c_int64),
                ("seed", c.c_uint64), ("relaxation", c.c_double), ("relaxation_decay", c.c_double), ("tolerance", c.c_double)]


class Iteration(c.Structure):
    _fields_ = [("log_likelihood", c.c_double), ("skipped_voxels", c.c_uint64)]


class Pet:
    """A plan for images of `shape` (nz, ny, nx) of cubic voxels, and views of a grid; `radial` is a width or pairs of distance
    and width, all in mm."""

    def __init__(self, shape, voxel, radial=INVARIANT, axial=5.8, tof=400.0, device=CPU, threads=0, **response):
        self.ctx, self.pet = context(device, threads), c.c_void_p()
        check(lib.isoc_pet_create(self.ctx, c.byref(self.pet)))
        nz, ny, nx = self.shape = tuple(shape)
        self.views = VIEWS * TILTS
        geometry = Geometry(struct_size=c.sizeof(Geometry), tilts=TILTS, nx=nx, ny=ny, nz=nz, voxel_x=voxel, views=VIEWS,
                            max_tilt=MAX_TILT)
        self.call("set_geometry", c.byref(geometry), None)
        table = None if np.isscalar(radial) else np.array(radial, np.float64)
        r = Response(struct_size=c.sizeof(Response), tof_fwhm=tof, axial_fwhm=axial, **response)
        if table is None:
            r.radial_fwhm = radial
        else:
            r.radial_entries, r.radial_table = len(table), table.ctypes.data
        self.call("set_response", c.byref(r))

    def call(self, name, *arguments):
        check(getattr(lib, f"isoc_pet_{name}")(self.pet, *arguments))

    def set_options(self, **options):
        """Fields of isoc_pet_options; what is not named gets its default."""
        self.call("set_options", c.byref(Options(struct_size=c.sizeof(Options), **options)))

    def memory(self):
        held = c.c_uint64()
        self.call("memory", c.byref(held))
        return held.value

    def forward(self, image, out, views=None):
        self._project("forward", views, image, out)

    def adjoint(self, histos, out, views=None):
        self._project("adjoint", views, histos, out)

    def _project(self, name, views, source, out):
        chosen = None if views is None else (c.c_int64 * len(views))(*views)
        self.call(name, chosen, c.c_int64(0 if views is None else len(views)), c.byref(tensor(source)), c.byref(tensor(out)))

    def reconstruct(self, measured, image, factors=None, additive=None):
        optional = [None if a is None else c.byref(tensor(a)) for a in (factors, additive)]
        self.call("reconstruct", c.byref(tensor(measured)), *optional, c.byref(tensor(image)))

    def history(self):
        room, written = (Iteration * 1000)(), c.c_int64()
        self.call("history", room, c.c_int64(1000), c.byref(written))
        return [(i.log_likelihood, i.skipped_voxels) for i in room[:written.value]]

    def close(self):
        check(lib.isoc_pet_destroy(self.pet))
        check(lib.isoc_context_destroy(self.ctx))
