"""Isocenter: image reconstruction for scanners (CT, PET, MRI).

Make a plan, give it a geometry, reconstruct:

>>> import numpy, isocenter
>>> angles = numpy.linspace(0, numpy.pi, 180, endpoint=False)
>>> with isocenter.CT(angles=angles, bins=256) as ct:
...     sinogram = ct.phantom_projections(ct.shepp_logan(128))
...     volume = ct.reconstruct(sinogram)

`CT`, `MRI` and `PET` are plans; `Context` says where and how they compute. Arrays are used in place: NumPy arrays of any strides,
and arrays that have ``__dlpack__`` (PyTorch, CuPy) in host memory or on the GPU. Nothing is converted silently. Errors are
exceptions of `isocenter.errors`, all of them `isocenter.Error`. Options that name something take its name or a member of
`isocenter.enums`. Ctrl-C stops a running call.

This is a thin layer over libisocenter, which has to be installed: set ISOCENTER_LIBRARY to its path if it is not found.
"""
from . import enums, errors
from .coils import coil_apply, coil_compression, coil_maps, coil_whitening
from .context import Context, abi_version, build_info, status_string, version
from .ct import CT, CTAxis, CTBadViews, CTFlatFit, CTIteration, CTInfo, CTOutput
from .errors import *  # noqa: F403
from .geometry import from_astra, from_tomopy
from .lines import EventList
from .mri import MRI, MRIDelays, MRIInfo
from .pet import PET, Body, Dropped, Iteration, Lost, PETInfo, Scan, ScatterFound, TableSizes, Tally, block_crystals
from .shifts import shift_samples

__all__ = ["CT", "MRI", "PET", "Context", "CTAxis", "CTBadViews", "CTFlatFit", "CTInfo", "CTOutput", "MRIDelays", "MRIInfo", "PETInfo", "Body", "Scan", "Tally", "Dropped", "EventList", "Iteration", "Lost", "ScatterFound",
           "TableSizes", "abi_version", "block_crystals", "build_info", "coil_apply", "coil_compression", "coil_maps", "coil_whitening", "enums", "errors", "from_astra", "from_tomopy", "shift_samples", "status_string",
           "version", *errors.__all__]
__version__ = "0.1.0"
