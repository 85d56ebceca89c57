"""Samples of MRI as of a field of view whose middle lies elsewhere."""
import math

import numpy

from . import _abi
from ._values import choice, numbers
from .errors import wrong

# Cycles that a number of a trajectory times a shift makes: shifts are in voxels, or in fields of view where the unit is of these.
_CYCLES = {"CYCLES_PER_VOXEL": 1.0, "RADIANS_PER_VOXEL": 0.5 / math.pi, "CYCLES_PER_FIELD_OF_VIEW": 1.0}


def shift_samples(samples, trajectory, shift, *, unit):
    """Samples as of a field of view whose middle lies elsewhere, exact for fractions of voxels: times exp(2 pi i k.shift). What was at place `shift` of the image is in its
    middle then; maps of coils and of the field that a plan is given are to be those of the moved field of view.

    Parameters
    ----------
    samples : numpy.ndarray
        complex64 or complex128 (..., samples), such as (coils, samples).
    trajectory : array
        Real (samples, axes), 1 to 3, x first, or of more dimensions, such as (spokes, readout, 2) of samples (coils, spokes, readout).
    shift : sequence of float
        Along each of the trajectory's axes: in voxels, or, with unit "cycles_per_field_of_view", in fields of view, such as 3 / nx.
    unit : {"cycles_per_voxel", "cycles_per_field_of_view", "radians_per_voxel"}
        Of the trajectory.

    Returns
    -------
    numpy.ndarray
        New, of the same shape and dtype.

    Raises
    ------
    TypeError, ValueError

    Examples
    --------
    >>> moved = isocenter.shift_samples(samples, k, (2.5, -1.0), unit="cycles_per_voxel")
    """
    name = choice(_abi.MriUnit, unit, "unit").name
    if not isinstance(samples, numpy.ndarray) or samples.dtype.kind != "c":
        seen = samples.dtype if isinstance(samples, numpy.ndarray) else type(samples).__name__
        raise wrong(TypeError, f"samples is {seen}; it must be a complex NumPy array (other arrays: samples * exp(2j * pi * (trajectory @ shift)), k in cycles per voxel)")
    k, shift = numpy.asarray(trajectory), numbers(shift, "shift")
    if k.dtype.kind not in "fiu":
        raise wrong(TypeError, f"trajectory is of {k.dtype}; it must be real (samples, axes)")
    if k.ndim < 2 or k.shape[-1] not in (1, 2, 3) or samples.shape[samples.ndim - k.ndim + 1:] != k.shape[:-1] or k.ndim > samples.ndim + 1:
        raise wrong(ValueError, f"trajectory has shape {k.shape}; of samples of shape {samples.shape} it must be ({', '.join(map(str, samples.shape[-1:]))}, axes), "
                                "1 to 3, x first, or have more of their last dimensions")
    if len(shift) != k.shape[-1] or not numpy.isfinite(shift).all():
        raise wrong(ValueError, f"shift is {tuple(shift.tolist())}; it must be {k.shape[-1]} finite numbers, one for each axis of the trajectory")
    if name == "CYCLES_PER_FIELD_OF_VIEW" and (numpy.abs(shift) >= 1).any():
        raise wrong(ValueError, f"shift is {tuple(shift.tolist())}; with unit='cycles_per_field_of_view' it is in fields of view, below 1: divide voxels by nx, ny and nz")
    return samples * numpy.exp(2j * math.pi * (k @ (shift * _CYCLES[name]))).astype(samples.dtype)
