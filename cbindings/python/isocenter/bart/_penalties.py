"""BART's penalties: what is made smaller, as a linear map and the proximal step of what is behind it.

Arrays have BART's dimensions in reverse, so that dimension d is axis -1 - d. A penalty has `map` and `back`, its transpose, and `prox(weight, x)`, the minimum over
z of |z - x|^2 / 2 + weight times the penalty of z.
"""
import math

import numpy

from ..raw._header import Unreadable
from . import _random
from ._wavelets import Wavelets


def axes_of(flags, ndim):
    """Of a bit mask of dimensions."""
    return [-1 - d for d in range(ndim) if flags >> d & 1]


def shrunk(x, weight, axes=()):
    """Each value, or each vector of values along the axes, shorter by the weight, or 0."""
    length = numpy.abs(x) if not axes else numpy.sqrt((x.real**2 + x.imag**2).sum(tuple(axes), keepdims=True))
    with numpy.errstate(divide="ignore", invalid="ignore"):
        factor = numpy.maximum(1 - numpy.float32(weight) / length, 0)
    factor[length == 0] = 0
    return x * factor


class _OfImage:
    """One whose linear map is the identity."""

    def map(self, x):
        return x

    def back(self, z):
        return z


class Squares(_OfImage):
    """Q: half of the sum of squares."""

    def __init__(self, term):
        self.weight = term.weight

    def prox(self, weight, x):
        return x / numpy.float32(1 + weight * self.weight)


class Lengths(_OfImage):
    """I: the sum of absolute values."""

    def __init__(self, term, shape):
        self.weight, self._joint = term.weight, axes_of(term.joint, len(shape))

    def prox(self, weight, x):
        return shrunk(x, weight * self.weight, self._joint)


class Details(_OfImage):
    """W: the sum of wavelet coefficients' absolute values, on a grid that moves at random unless it is told to stay."""

    def __init__(self, term, shape, name, moves):
        axes = [a for a in axes_of(term.flags, len(shape)) if shape[a] > 1]
        if not axes:
            raise Unreadable(f"-R {term.text}: none of the dimensions of its flags is above 1 in the image")
        if any(shape[a] == 2 for a in axes):
            raise Unreadable(f"-R {term.text}: a dimension of the image is 2, which has no wavelets: take it out of the flags")
        if term.flags & term.joint:
            raise Unreadable(f"-R {term.text}: a dimension is in both flags; it may be transformed or joint")
        self.weight, self._joint = term.weight, axes_of(term.joint, len(shape))
        self._wavelets = Wavelets(name, shape, axes)
        self._random = _random.Steps(1) if moves else None
        for a in axes if moves else ():
            if shape[a] <= 1 << self._wavelets.levels(a) + 1:
                raise Unreadable(f"-R {term.text}: a dimension of {shape[a]} is too short for wavelets that move; -n lets them stay")

    def prox(self, weight, x):
        axes = self._wavelets.axes
        shift = [_random.up_to(1 << self._wavelets.levels(a) + 1, self._random) for a in axes] if self._random else [0] * len(axes)
        details, averages = self._wavelets.forward(numpy.roll(x, shift, axes))
        cut = weight * self.weight
        details = [[shrunk(band, cut, self._joint) for band in level] for level in details]
        return numpy.roll(self._wavelets.backward(details, shrunk(averages, cut, self._joint)), [-s for s in shift], axes)


class Variation:
    """T: the sum of gradients' lengths, of differences to the voxel before along each dimension, around the edge."""

    def __init__(self, term, shape):
        self.weight, self._axes = term.weight, axes_of(term.flags, len(shape))
        if not self._axes:
            raise Unreadable(f"-R {term.text}: its flags name no dimension")
        self._joint = [*axes_of(term.joint, len(shape)), -1 - len(shape)]

    def map(self, x):
        return numpy.stack([x - numpy.roll(x, 1, a) for a in self._axes])

    def back(self, z):
        return sum(part - numpy.roll(part, -1, a) for part, a in zip(z, self._axes))

    def prox(self, weight, x):
        return shrunk(x, weight * self.weight, self._joint)


class LowRank(_OfImage):
    """L: singular values of blocks, whose voxels along the dimensions of the flags are rows and all others columns."""

    def __init__(self, term, shape, block, moves):
        self.weight, self._shape = term.weight, shape
        joint = set(axes_of(term.joint, len(shape)))
        self._block = [min(block, n) if k - len(shape) in joint else n for k, n in enumerate(shape)]
        self._block[-5] = 1  # sets of maps have blocks of their own
        self._whole = [-(-n // b) * b for n, b in zip(shape, self._block)]
        rows = set(axes_of(term.flags, len(shape)))
        self._rows = [k for k in range(len(shape)) if k - len(shape) in rows]
        self._random = _random.Sums() if moves else None

    def prox(self, weight, x):
        ndim, axes = len(self._shape), range(len(self._shape))
        shift = [0] * ndim
        if self._random:
            # From the first dimension on, as BART draws them.
            shift = [_random.up_to(min(b - 1, n - b), self._random) for b, n in zip(self._block[::-1], self._whole[::-1])][::-1]
        whole = numpy.pad(x, [(0, n - k) for n, k in zip(self._whole, x.shape)], "wrap")
        whole = numpy.roll(whole, shift, axes)
        parted = whole.reshape([n for pair in zip([w // b for w, b in zip(self._whole, self._block)], self._block) for n in pair])
        columns = [k for k in axes if k not in self._rows]
        order = [2 * k for k in axes] + [2 * k + 1 for k in columns + self._rows]
        blocks = parted.transpose(order)
        m, n = (math.prod(self._block[k] for k in of) for of in (self._rows, columns))
        count = math.prod(w // b for w, b in zip(self._whole, self._block))
        # The width that random matrices of this size have, which BART multiplies the weight by.
        width = math.sqrt(m) + math.sqrt(n) + math.sqrt(math.log(count * min(m, n)))
        u, s, v = numpy.linalg.svd(blocks.reshape(count, n, m), full_matrices=False)
        s = numpy.maximum(s - weight * self.weight * width, 0).astype(s.dtype)
        kept = ((u * s[:, None]) @ v).reshape(blocks.shape).transpose(numpy.argsort(order)).reshape(self._whole)
        kept = numpy.roll(kept, [-s for s in shift], axes)
        return kept[tuple(slice(n) for n in self._shape)]
