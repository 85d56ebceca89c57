"""Receiver coils: noise, virtual coils, and sensitivities."""
import ctypes

from . import _abi, _call
from ._library import lib
from ._tensor import dtype_name, tensor, zeros_like
from ._values import choice, struct
from .context import Context
from .errors import TensorNdimError, wrong


def _context(context):
    if context is None:
        return Context()
    if not isinstance(context, Context):
        raise wrong(TypeError, f"context is {type(context).__name__}; it must be an isocenter.Context")
    return context


def _like(array):
    return "complex128" if dtype_name(array) == "complex128" else "complex64"


def _shape(array, name, least, most, dims):
    """An array's shape, with so many dimensions."""
    tensor(array, name)  # says what is no array
    shape = tuple(array.shape)
    if not least <= len(shape) <= most:
        raise wrong(TensorNdimError, f"{name} has shape {shape}; it must be {dims}")
    return shape


def _rows(array, name):
    """An array with all dimensions but the coils as one, without a copy where that can be."""
    shape = _shape(array, name, 2, 99, "(coils, ...)")
    return shape, array.reshape(shape[0], -1) if len(shape) > 2 else array


def _lines(array, name):
    shape = _shape(array, name, 2, 99, "(coils, ..., readout)")
    return shape, array if len(shape) == 3 else array.reshape(shape[0], -1, shape[-1])


def coil_whitening(noise, matrix=None, *, context=None):
    """The matrix that whitens noise: sqrt(2) L^-1 of its covariance L L^H.

    Parameters
    ----------
    noise : array
        Complex (coils, ...), measured without excitation, of mean 0.
    matrix : array, optional
        Takes the result: complex (coils, coils).
    context : Context, optional
        None makes one with the defaults.

    Returns
    -------
    matrix
        Lower triangular. `coil_apply` with it makes noise independent from coil to coil, with variance 1 of its real and of its
        imaginary part.

    Raises
    ------
    OutOfRangeError
        For a coil without noise of its own; the message names it.
    """
    context = _context(context)
    shape, noise = _rows(noise, "noise")
    if matrix is None:
        matrix = zeros_like(noise, (shape[0], shape[0]), _like(noise))
    _call.invoke(lib.isoc_coil_whitening, context._handle, tensor(noise, "noise"), tensor(matrix, "matrix", written=True),
                 context=context)
    return matrix


def coil_compression(data, kept, *, geometric=False, context=None):
    """Virtual coils: principal components of the data.

    Parameters
    ----------
    data : array
        Complex (coils, ...), whitened; for `geometric` k-space (coils, ..., readout), frequency 0 at readout // 2.
    kept : int
        Virtual coils.
    geometric : bool
        A matrix for each position along the readout of a Cartesian scan, which keeps more (Zhang et al. 2013).
    context : Context, optional

    Returns
    -------
    matrix : array
        (kept, coils), or (readout, kept, coils), strongest first, with orthonormal rows.
    energy : float
        The part of the data's energy that they keep.

    Examples
    --------
    >>> matrix, energy = isocenter.coil_compression(samples, 8)
    >>> samples = isocenter.coil_apply(matrix, samples)
    """
    context = _context(context)
    shape, data = _lines(data, "data") if geometric else _rows(data, "data")
    sizes = ((shape[-1],) if geometric else ()) + (kept, shape[0])
    matrix, energy = zeros_like(data, sizes, _like(data)), ctypes.c_double()
    function = lib.isoc_coil_geometric_compression if geometric else lib.isoc_coil_compression
    _call.invoke(function, context._handle, tensor(data, "data"), tensor(matrix, "matrix", written=True), ctypes.byref(energy),
                 context=context)
    return matrix, energy.value


def coil_apply(matrix, data, out=None, *, context=None):
    """Data of other coils: matrix times data.

    Parameters
    ----------
    matrix : array
        Complex (rows, coils), or (readout, rows, coils) of geometric compression.
    data : array
        Complex (coils, ...); with matrices along the readout k-space (coils, ..., readout).
    out : array, optional
        Takes the result: complex (rows, samples), or (rows, lines, readout).
    context : Context, optional

    Returns
    -------
    out
        (rows, ...), where none was given.
    """
    context = _context(context)
    sizes = _shape(matrix, "matrix", 2, 3, "(rows, coils) or (readout, rows, coils)")
    geometric = len(sizes) == 3
    shape, data = _lines(data, "data") if geometric else _rows(data, "data")
    made = out is None
    if made:
        out = zeros_like(data, (sizes[-2],) + tuple(data.shape[1:]), _like(data))
    function = lib.isoc_coil_apply_geometric if geometric else lib.isoc_coil_apply
    _call.invoke(function, context._handle, tensor(matrix, "matrix"), tensor(data, "data"), tensor(out, "out", written=True),
                 context=context)
    return out.reshape((sizes[-2],) + shape[1:]) if made else out


def coil_maps(calibration, shape=None, maps=None, *, sets=None, eigenvalues=False, method="espirit", kernel_x=0, kernel_y=0, kernel_z=0,
              window=0, threshold=0.0, crop=0.0, context=None):
    """Coil sensitivities from the fully sampled middle of k-space.

    Parameters
    ----------
    calibration : array
        Complex (coils, ny, nx) or (coils, nz, ny, nx), frequency 0 at n // 2 of each axis.
    shape : sequence of int
        Voxels of the maps: (ny, nx) or (nz, ny, nx), at least calibration's.
    maps : array, optional
        Takes the result, instead of `shape` and `sets`.
    sets : int, optional
        Sets of maps, strongest first: maps then have one more dimension, in front. None: one set, without that dimension.
    eigenvalues : bool
        Return them as well.
    method : {"espirit", "adaptive"}
        Uecker et al. 2014, or Walsh et al. 2000.
    kernel_x, kernel_y, kernel_z : int
        "espirit": elements of a block of k-space; 0 means 6, or 1 along an axis of one element.
    window : int
        "adaptive": voxels of a block along each axis, odd; 0 means 5.
    threshold : float
        "espirit": singular values above this, relative to the largest, are signal; 0 means 0.02.
    crop : float
        Voxels whose eigenvalue is below have maps of 0; 0 means 0.95 for "espirit" and no limit for "adaptive", -1 no limit.
    context : Context, optional

    Returns
    -------
    maps
        Complex (coils, ny, nx) or (coils, nz, ny, nx), for `MRI.set_maps`; squares of a voxel's moduli add up to 1, or to 0.
    eigenvalues
        If asked for: real, `maps` without coils.

    Examples
    --------
    >>> maps = isocenter.coil_maps(kspace[:, 116:140, 78:102], (256, 180))
    >>> mri.set_maps(maps)
    """
    context = _context(context)
    given = _shape(calibration, "calibration", 3, 4, "(coils, ny, nx) or (coils, nz, ny, nx)")
    if maps is None:
        if shape is None:
            raise wrong(TypeError, "shape is None, and so is maps: give one of them")
        if len(tuple(shape)) != len(given) - 1:
            raise wrong(ValueError, f"shape is {tuple(shape)}; it must have {len(given) - 1} sizes, as calibration without coils")
        front = () if sets is None else (sets,)
        maps = zeros_like(calibration, (*front, given[0], *shape), _like(calibration))
    elif shape is not None or sets is not None:
        raise wrong(TypeError, "maps is given, which has a shape and sets: leave shape and sets out")
    values = None
    if eigenvalues:
        sizes = tuple(maps.shape)
        coils = len(sizes) - len(given)
        values = zeros_like(calibration, sizes[:coils] + sizes[coils + 1:], "float64" if _like(calibration) == "complex128" else "float32")
    options = struct(
        _abi.isoc_coil_options, method=choice(_abi.CoilMethod, method, "method"), kernel_x=kernel_x, kernel_y=kernel_y,
        kernel_z=kernel_z, window=window, threshold=threshold, crop=crop)
    _call.invoke(lib.isoc_coil_maps, context._handle, ctypes.byref(options), tensor(calibration, "calibration"),
                 tensor(maps, "maps", written=True), None if values is None else tensor(values, "eigenvalues", written=True),
                 context=context)
    return (maps, values) if eigenvalues else maps
