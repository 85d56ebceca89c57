"""BART's wavelet transform. It is not orthonormal: lines are continued by reflection at both ends, and have (n + taps - 1) // 2 coefficients of each band.

Arrays have BART's dimensions in reverse, so that dimension d is axis -1 - d.
"""
import functools
import itertools
import operator

import numpy

SMALLEST = 16  # a line that has become shorter is not split any more


def _orthogonal(low):
    high = low[::-1] * numpy.resize([1, -1], len(low))
    return (low, high), (low[::-1], high[::-1])


def _cohen():
    """A. Cohen, I. Daubechies, J.-C. Feauveau, "Biorthogonal bases of compactly supported wavelets", Comm. Pure Appl. Math. 45, 1992."""
    long = numpy.array([0.03782845550726404, -0.023849465019556843, -0.11062440441843718, 0.37740285561283066, 0.85269867900889385])
    short = numpy.array([-0.064538882628697058, 0.040689417609164058, 0.41809227322161724, -0.7884856164055829])
    low, high = numpy.r_[long, long[-2::-1], 0], numpy.r_[0, 0, short, short[-2::-1], 0]
    signs = numpy.resize([1, -1], 10)
    return (low, high), (high * signs, -low * signs)


# Of averages and details, in the order in which values of a line are met: to split, and to join.
FILTERS = {
    "haar": _orthogonal(numpy.sqrt([0.5, 0.5])),
    "dau2": _orthogonal(numpy.array([1 + 3**0.5, 3 + 3**0.5, 3 - 3**0.5, 1 - 3**0.5]) / 32**0.5),
    "cdf44": _cohen(),
}


class Wavelets:
    """Transforms of arrays of a shape along some axes, which are negative numbers."""

    def __init__(self, name, shape, axes):
        self._split, self._join = (numpy.array(pair, "float32") for pair in FILTERS[name])
        self._taps = self._split.shape[1]
        self.axes = sorted(axes, reverse=True)
        self._shape = shape
        self._least = {a: min(shape[a], SMALLEST) for a in axes}

    def levels(self, axis):
        """How often lines along the axis are split."""
        size, count = self._shape[axis], 0
        while size >= self._least[axis]:
            size, count = self._length(size), count + 1
        return count

    def forward(self, x):
        """The bands of details of each level, and the last averages."""
        details, axes = [], self.axes
        while axes:
            bands = functools.reduce(lambda bands, axis: [part for band in bands for part in self._down(band, axis)], axes, [x])
            details.append(bands[1:])
            x = bands[0]
            axes = self._long(axes, x.shape)
        return details, x

    def backward(self, details, x):
        """The array that `forward` made these of."""
        for (axes, shape), rest in zip(reversed(self._steps()), reversed(details)):
            bands = [x, *rest]
            for axis in reversed(axes):
                bands = [self._up(low, high, axis, shape[axis]) for low, high in zip(bands[::2], bands[1::2])]
            x = bands[0]
        return x

    def _steps(self):
        """Axes and shape of what each level splits."""
        axes, shape, steps = self.axes, list(self._shape), []
        while axes:
            steps.append((axes, list(shape)))
            for a in axes:
                shape[a] = self._length(shape[a])
            axes = self._long(axes, shape)
        return steps

    def _length(self, size):
        return (size + self._taps - 1) // 2

    def _long(self, axes, shape):
        return [a for a in axes if shape[a] >= self._least[a]]

    def _down(self, x, axis):
        x = numpy.moveaxis(x, axis, -1)
        count = 2 * self._length(x.shape[-1])
        line = numpy.pad(x, [(0, 0)] * (x.ndim - 1) + [(self._taps - 2, count - x.shape[-1])], "symmetric")
        return [numpy.moveaxis(_sum(f, (line[..., k:k + count:2] for k in itertools.count())), -1, axis) for f in self._split]

    def _up(self, low, high, axis, length):
        low, high = numpy.moveaxis(low, axis, -1), numpy.moveaxis(high, axis, -1)
        x = numpy.empty(low.shape[:-1] + (length,), low.dtype)
        for first in (0, 1):
            count = (length + 1 - first) // 2
            bands = (band[..., k:k + count] for k in itertools.count() for band in (low, high))
            x[..., first::2] = _sum(self._join[:, 1 - first::2].T.ravel(), bands)
        return numpy.moveaxis(x, -1, axis)


def _sum(factors, parts):
    return functools.reduce(operator.iadd, (f * part for f, part in zip(factors, parts) if f))
