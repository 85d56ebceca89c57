"""Patlak's plot, of each voxel: C. S. Patlak, R. G. Blasberg, J. T. Fenstermacher, J. Cereb. Blood Flow Metab. 3, 1983; C. S. Patlak, R. G. Blasberg, J. Cereb. Blood Flow Metab. 5, 1985."""
import collections
import warnings

import numpy

from .._values import real
from ..errors import wrong
from . import _plasma

#: Of s a min.
_MINUTE = 60.0
#: Plasma that ends earlier than this part of the last frame is too short.
_REACH = 0.5
#: Voxels that are fitted at a time, for the memory of their frames in double precision.
_AT_ONCE = 1 << 20

Patlak = collections.namedtuple("Patlak", "ki intercept mask residual frames")
Patlak.__doc__ = """`ki`, the slope, ml/ml/min, and `intercept`, ml/ml, float32 (nz, ny, nx), NaN where `mask` is False: where a frame is not finite, or all are 0; `residual`, the weighted root mean
square of what is not explained over that of the activity; and `frames`, the numbers of those that were used."""


def patlak(series, times, plasma, start, weights=None):
    """Slope and intercept of Patlak's plot: of tracers that are trapped, the rate at which tissue takes them up from plasma, and the volume in which they are free.

    After `start` the activity of tissue is ki times the integral of the plasma's, and the intercept times the plasma's. Both sides are means over frames: those of plasma, which is
    straight between samples, are exact. Least squares of the plot, whose values are divided by the plasma's activity, have weights of its square and those of frames.

    Parameters
    ----------
    series : array
        (frames, nz, ny, nx), or (frames, ...) of any other shape, such as curves of regions. Corrected for decay to one time, as plasma is.
    times : array
        (frames, 2), start and end of each, s, from the time that the tracer is injected at or before.
    plasma : array
        (samples, 2), time in s on the same clock and activity, in the unit of the series. Straight between samples, from 0 at 0 s to the first one.
    start : float
        From which the plot is straight, min: frames that begin then or later are used, two at least.
    weights : array, optional
        (frames,); None: the frames' durations.

    Returns
    -------
    Patlak

    Raises
    ------
    ValueError
        Where shapes do not fit, times are not those of frames, fewer than two frames are left, or plasma does not reach the middle of the last one.

    Warns
    -----
    UserWarning
        Of frames that are left out for they are not finite in any voxel, and of plasma that ends before the last frame, whose last value is then held.
    """
    series, times, samples = numpy.asarray(series), numpy.array(times, float), _plasma.checked(plasma)
    if series.ndim < 1 or series.dtype.kind not in "fiu" or not series.size:
        raise wrong(ValueError, f"series is {series.dtype} of shape {series.shape}; it must be (frames, nz, ny, nx)")
    if times.shape != (len(series), 2) or not numpy.isfinite(times).all() or (times[:, 1] < times[:, 0]).any():
        raise wrong(ValueError, f"times has shape {times.shape}; it must be start and end of each of {len(series)} frames, s")
    start, weights = real(start, "start"), _weights(weights, times)
    used = _used(series, times, start, weights)
    _check_reach(samples, times[used])
    curve, begins, ends = _plasma.Curve(samples), *times[used].T
    level = (curve.integral(ends) - curve.integral(begins)) / (ends - begins)
    exposure = (curve.second_integral(ends) - curve.second_integral(begins)) / (ends - begins)
    scaled = numpy.stack([exposure / _MINUTE, level], axis=1) * numpy.sqrt(weights[used])[:, None]
    _check_design(scaled, len(used))
    flat = series.reshape(len(series), -1)
    images, mask = numpy.full((3, flat.shape[1]), numpy.nan, numpy.float32), numpy.zeros(flat.shape[1], bool)
    for first in range(0, flat.shape[1], _AT_ONCE):
        part = slice(first, first + _AT_ONCE)
        images[:, part], mask[part] = _fit(flat[used, part].astype(float), scaled, numpy.sqrt(weights[used]))
    images, mask = images.reshape(3, *series.shape[1:]), mask.reshape(series.shape[1:])
    return Patlak(images[0], images[1], mask, images[2], used)


def _weights(weights, times):
    if weights is None:
        return times[:, 1] - times[:, 0]
    weights = numpy.array(weights, float)
    if weights.shape != (len(times),) or not numpy.isfinite(weights).all() or (weights < 0).any():
        raise wrong(ValueError, f"weights has shape {weights.shape}; it must be a number of 0 or more for each of {len(times)} frames")
    return weights


def _used(series, times, start, weights):
    """Numbers of frames from the start on, of some time and weight, that were measured."""
    # Starts are in s, and may be off by rounding.
    later = numpy.flatnonzero((times[:, 0] >= _MINUTE * start - 1e-3) & (times[:, 1] > times[:, 0]) & (weights > 0))
    used = numpy.array([k for k in later if numpy.isfinite(series[k]).any()], int)
    if len(used) < len(later):
        warnings.warn(f"{len(later) - len(used)} frames have no number in any voxel, and are left out", stacklevel=3)
    if len(used) < 2:
        raise wrong(ValueError, f"start is {start:g} min, and {len(used)} frames begin then or later, of a series from {times[:, 0].min() / _MINUTE:.4g} to {times[:, 1].max() / _MINUTE:.4g} min; "
                                "there must be two at least")
    return used


def _check_reach(samples, times):
    last, (begin, end) = samples[-1, 0], times[times[:, 1].argmax()]
    if last < begin + _REACH * (end - begin):
        raise wrong(ValueError, f"plasma ends at {last:g} s, and the last frame is from {begin:g} to {end:g} s: its times may be in another unit, or more samples are needed")
    if last < end:
        warnings.warn(f"plasma ends at {last:g} s, before the last frame does, at {end:g} s: its last value is held", stacklevel=3)


def _check_design(scaled, frames):
    size = numpy.linalg.norm(scaled, axis=0)
    if not size.all() or numpy.linalg.matrix_rank(scaled / size, tol=1e-9) < 2:
        raise wrong(ValueError, f"plasma has the same course in all {frames} frames as its integral, so that slope and intercept cannot be told apart: give more frames, or other plasma")


def _fit(values, scaled, root):
    """Slope, intercept and residual (3, voxels) of values (frames, voxels), and the mask; `scaled` has exposure and level, and `root` is by what both are scaled."""
    mask = numpy.isfinite(values).all(axis=0)
    mask &= numpy.where(mask, values, 0).any(axis=0)
    seen, size = values[:, mask] * root[:, None], numpy.linalg.norm(scaled, axis=0)
    found = numpy.linalg.pinv(scaled / size) @ seen
    made = numpy.full((3, len(mask)), numpy.nan, numpy.float32)
    made[:2, mask] = found / size[:, None]
    made[2, mask] = numpy.sqrt(((seen - scaled / size @ found) ** 2).sum(axis=0) / (seen ** 2).sum(axis=0))
    return made, mask
