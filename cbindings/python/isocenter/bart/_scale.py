"""The scale by which BART divides data before it solves, so that weights of penalties mean the same for every scan.

Arrays have BART's dimensions in reverse.
"""
import math

import numpy

CALIBRATION = 32


def of_values(values, rescale=1.0):
    """The largest of the values, unless that stands far out: then what nine tenths of them are below."""
    sizes = numpy.sort(numpy.abs(values), axis=None).astype("float32") / numpy.float32(rescale)
    median, high, most = sizes[sizes.size // 2], sizes[int(sizes.size * 0.9)], sizes[-1]
    return float(high if most - high < 2 * (high - median) else most)


def of_lines(kspace):
    """Of Cartesian samples (..., coils, z, y, x), by the middle of k-space as far as it has no gaps."""
    first = kspace[(0,) * (kspace.ndim - 4)]
    for axis in (-1, -2, -3):
        first = first * _turns(first.shape[axis]).reshape((-1,) + (1,) * (-1 - axis))
    sizes = first.shape[1:]
    tall = tuple(slice((n - min(n, CALIBRATION)) // 2, (n - min(n, CALIBRATION)) // 2 + min(n, CALIBRATION)) for n in sizes[:2])
    middle = first[(slice(None), *tall)]
    cut = _filled((middle != 0).any(0))
    middle = middle[(slice(None), *cut[:2])]
    width = cut[2].stop - cut[2].start
    along = numpy.r_[0, numpy.cumsum((numpy.abs(middle)**2).sum((0, 1, 2), dtype="float64"))]
    energies = along[width:] - along[:-width]
    place = int(numpy.argmax(energies.astype("float32")))
    region = middle[..., place:place + width]
    images = numpy.fft.ifftn(region, axes=(-3, -2, -1), norm="ortho")
    rescale = math.sqrt(math.prod(n / m for n, m in zip(sizes, region.shape[1:])))
    return of_values(numpy.sqrt((numpy.abs(images)**2).sum(0)), rescale)


def _filled(pattern):
    """Slices of the largest box in the middle without a gap, which grows along each dimension in turn, x first."""
    size, stopped = [1, 1, 1], [False] * 3

    def box(size):
        return tuple(slice((n - s) // 2, (n - s) // 2 + s) for n, s in zip(pattern.shape, size))

    while not all(stopped):
        for axis in (2, 1, 0):
            stopped[axis] = stopped[axis] or size[axis] >= min(pattern.shape[axis], CALIBRATION)
            if not stopped[axis]:
                larger = [n + (k == axis) for k, n in enumerate(size)]
                stopped[axis] = not pattern[box(larger)].all()
                size = size if stopped[axis] else larger
    return box(size)


def _turns(size):
    """The phases that bring frequency 0 from the middle of a line to its begin, and what is 0 there in an image likewise."""
    if size == 1:
        return numpy.ones(1, "complex64")
    centre = size // 2
    return numpy.exp(2j * math.pi * (numpy.arange(size) - centre / 2) * centre / size).astype("complex64")
