"""Partial Fourier: where lines reach further on one side of k-space than on the other, an image with a smooth phase is told by half of k-space and a little more."""
import logging
from collections import namedtuple

import numpy

ASYMMETRIC = 0.9  # a shorter side of less than this part of the longer one, and by more than the line that an even number has more on one side
LEAST = 4  # lines on the shorter side, which tell the phase

_log = logging.getLogger("isocenter")

Side = namedtuple("Side", "axis reach")
Side.__doc__ = """An axis, 0 for x, and how many lines beyond the middle both sides of k-space do not have any more."""


def sides(steps):
    """The `Side` of each axis that is measured in part; `steps` are places (samples, axes) in cycles per field of view, x first."""
    found = []
    for axis in range(steps.shape[1]):
        short, long = sorted((-float(steps[:, axis].min()), float(steps[:, axis].max())))
        if short >= ASYMMETRIC * long or long - short <= 1.5:
            continue
        if short < LEAST:
            _log.warning("k-space along %s is measured on one side of its middle, and %.3g lines beyond: a phase needs %d, and none is taken into account", "xyz"[axis], max(short, 0), LEAST)
            continue
        found.append(Side(axis, short + 1))  # where the window ends
    return found


def symmetric(steps, found):
    """Whether samples are where both sides of k-space have them."""
    return numpy.logical_and.reduce([numpy.abs(steps[:, axis]) < reach for axis, reach in found])


def smooth_phase(image, found):
    """exp(i phase) of an image, brought by Hann's window to the resolution that both sides of k-space tell; 1 where that is 0."""
    for axis, reach in found:
        along = image.ndim - 1 - axis
        k = numpy.abs(numpy.fft.fftfreq(image.shape[along]) * image.shape[along]) / reach
        window = numpy.where(k < 1, 0.5 + 0.5 * numpy.cos(numpy.pi * numpy.minimum(k, 1)), 0)
        image = numpy.fft.ifft(numpy.fft.fft(image, axis=along) * window.reshape([-1 if i == along else 1 for i in range(image.ndim)]), axis=along)
    size = numpy.abs(image)
    return numpy.where(size > 0, image / numpy.maximum(size, numpy.finfo(numpy.float32).tiny), 1).astype(numpy.complex64)
