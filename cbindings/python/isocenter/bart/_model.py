"""What BART's scans say of images: sensitivities, trajectories or lines, patterns, bases, and the dimensions that all of them share.

Arrays have BART's 16 dimensions in reverse, so that dimension d is axis -1 - d; x, y and z are the last three axes.
"""
import math

import numpy

from ..mri import MRI
from ..raw._header import Unreadable
from ._cfl import DIMENSIONS

COIL, MAPS, TIMES, COEFFICIENTS = 3, 4, 5, 6
# BART 0.8 makes transforms of samples that are no lines, and A^H A as a convolution, larger by this along each axis: the normalisation of its gridding kernel. In a plane
# they are 1.00137 of sums term by term, whatever its size, with 8e-5 besides. Its scale of the data, and so weights of penalties, have this factor.
GAIN = 1.000685


def spread(array, name):
    """An array of up to 16 dimensions as complex64 of 16 in reverse."""
    array = numpy.asarray(array)
    if array.ndim > DIMENSIONS:
        raise Unreadable(f"{name} has {array.ndim} dimensions; it may have {DIMENSIONS}")
    if not array.size or array.dtype.kind not in "biufc":
        raise Unreadable(f"{name} has shape {array.shape} of {array.dtype}; it must have numbers")
    whole = array.reshape(array.shape + (1,) * (DIMENSIONS - array.ndim)).T.astype("complex64", copy=False)
    if not numpy.isfinite(whole).all():
        index = numpy.unravel_index(numpy.argmin(numpy.isfinite(whole)), whole.shape)[::-1][:max(array.ndim, 1)]
        raise Unreadable(f"{name}[{', '.join(map(str, index))}] is {array[index] if array.ndim else array}; samples, maps and trajectories must be finite")
    return whole


def said(array):
    """Its dimensions, without those of 1 at the end."""
    sizes = list(array.shape[::-1])
    while len(sizes) > 1 and sizes[-1] == 1:
        sizes.pop()
    return " x ".join(map(str, sizes))


def _size(array, dimension):
    return array.shape[-1 - dimension]


def coordinates(trajectory):
    """Real (..., 3) of a trajectory 3 x samples x spokes x ..., x first."""
    if _size(trajectory, 0) != 3:
        raise Unreadable(f"the trajectory is {said(trajectory)}; dimension 0 must be 3, of kx, ky and kz in 1 / field of view")
    if numpy.abs(trajectory.imag).max() > 0:
        raise Unreadable("the trajectory has imaginary parts; coordinates must be real")
    return trajectory.real.astype("float64")


class Model:
    """A = P F S B of one scan: basis, sensitivities, transform, pattern; A^H A and A^H of its samples.

    Images are (..., sets of maps, 1, z, y, x), or of `maps` None (..., 1, coils, z, y, x): each coil has its own.
    """

    def __init__(self, kspace, maps, size, context, *, trajectory=None, pattern=None, basis=None, **options):
        """`size` of an image along z, y and x. `options`: of `MRI.set_options`."""
        self._context, self._options, self._size = context, options, size
        self._kspace, self._maps, self._basis = kspace, maps, basis
        self._trajectory = None if trajectory is None else coordinates(trajectory)
        # A unitary transform is the sum over voxels, divided by the root of their number; BART's sums term by term are no more than sums.
        exact = options.get("method") == "exact"
        self._unit = 1.0 if exact else 1 / math.sqrt(math.prod(size))
        self._gain = 1.0 if exact or trajectory is None else GAIN**sum(n > 1 for n in size)
        self._check(trajectory)
        if self._trajectory is not None:
            self._check_range()
        self._pattern = self._weights(pattern)
        together = {COIL, MAPS, *((TIMES, COEFFICIENTS) if basis is not None else ())}
        self._apart = [d for d in range(COIL, DIMENSIONS) if d not in together]
        sizes = [1 if d in (COIL, MAPS) else _size(kspace, d) for d in range(DIMENSIONS)]
        sizes[:3] = size[::-1]
        if maps is None:
            sizes[COIL] = _size(kspace, COIL)
        else:
            sizes[MAPS] = _size(maps, MAPS)
        if basis is not None:
            sizes[TIMES], sizes[COEFFICIENTS] = 1, _size(basis, COEFFICIENTS)
        self.shape = tuple(sizes[::-1])
        self._plans = {}

    def close(self):
        for plan in self._plans.values():
            plan.close()

    def right(self):
        """A^H of the samples, by the pattern."""
        image = numpy.zeros(self.shape, "complex64")
        for at in self._problems():
            samples, _, _ = self._samples(at)
            if not samples.size:
                continue
            self._put(image, at, self._plan(at).gridding(samples[0] if samples.shape[0] == 1 else samples))
        return image / numpy.float32(self._unit)

    def normal(self, image):
        """A^H A image."""
        out = numpy.zeros(self.shape, "complex64")
        for at in self._problems():
            if self._samples_of(at):
                self._put(out, at, self._plan(at).normal(self._take(image, at)))
        return out

    def forward(self, image):
        """F of images of coils, as (..., coils, spokes, samples, 1): a scan's dimensions. There is no basis."""
        out = numpy.zeros(self._kspace.shape, "complex64")
        for at in self._problems():
            part = self._plan(at).forward(self._take(image, at))
            out[self._index(self._kspace, at)] = numpy.reshape(part, self._kspace[self._index(self._kspace, at)].shape)
        return out * numpy.float32(self._gain * self._unit)

    def normal_without_pattern(self, image):
        """The same of lines that were all measured."""
        coils = (self._maps * image).sum(-5, keepdims=True)
        out = (numpy.conj(self._maps) * coils).sum(-4, keepdims=True)
        if self._basis is not None:
            basis = self._basis.reshape(_size(self._basis, COEFFICIENTS), _size(self._basis, TIMES))
            out = numpy.moveaxis(numpy.tensordot(numpy.conj(basis) @ basis.T, out, (1, -1 - COEFFICIENTS)), 0, -1 - COEFFICIENTS)
        return numpy.ascontiguousarray(out)

    # Dimensions

    def _check(self, trajectory):
        kspace, maps, basis, pairs = self._kspace, self._maps, self._basis, []
        if _size(kspace, MAPS) != 1:
            raise Unreadable(f"kspace is {said(kspace)}; dimension {MAPS} (sets of maps) must be 1")
        if maps is not None:
            if _size(maps, COIL) != _size(kspace, COIL):
                raise Unreadable(f"kspace is {said(kspace)} and sensitivities are {said(maps)}: dimension {COIL} (coils) must be the same")
            pairs += [(maps, "sensitivities", d) for d in range(TIMES, DIMENSIONS)]
        if basis is not None:
            if any(_size(basis, d) != 1 for d in range(DIMENSIONS) if d not in (TIMES, COEFFICIENTS)):
                raise Unreadable(f"the basis is {said(basis)}; only dimensions {TIMES} (times) and {COEFFICIENTS} (coefficients) may be above 1")
            if _size(basis, TIMES) != _size(kspace, TIMES) or _size(kspace, COEFFICIENTS) != 1:
                raise Unreadable(f"kspace is {said(kspace)} and the basis {said(basis)}: dimension {TIMES} (times) must be the same, and kspace's dimension {COEFFICIENTS} be 1")
            if maps is not None and (_size(maps, TIMES) != 1 or _size(maps, COEFFICIENTS) != 1):
                raise Unreadable(f"sensitivities are {said(maps)}; with a basis dimensions {TIMES} and {COEFFICIENTS} must be 1")
        if trajectory is None:
            if kspace.shape[-3:] != tuple(self._size):
                raise Unreadable(f"kspace is {said(kspace)} and sensitivities are {said(maps)}: dimensions 0 to 2 must be the same, or -t names a trajectory")
        else:
            if _size(kspace, 0) != 1 or any(_size(kspace, d) != _size(trajectory, d) for d in (1, 2)):
                raise Unreadable(f"kspace is {said(kspace)} and the trajectory {said(trajectory)}: dimension 0 of kspace must be 1, and dimensions 1 and 2 (samples and spokes) be the same")
            pairs += [(trajectory, "the trajectory", d) for d in range(COIL, DIMENSIONS)]
        for array, name, d in pairs:
            if _size(array, d) not in (1, _size(kspace, d)):
                raise Unreadable(f"kspace is {said(kspace)} and {name} {'are' if name[-1] == 's' else 'is'} {said(array)}: dimension {d} must be {_size(kspace, d)} or 1")
        if trajectory is not None and _size(trajectory, COIL) != 1:
            raise Unreadable(f"the trajectory is {said(trajectory)}; dimension {COIL} (coils) must be 1")

    def _check_range(self):
        for axis, name in enumerate("xyz"):
            n = self._size[2 - axis]
            limit = n / 2 if n > 1 else 0
            most = numpy.abs(self._trajectory[..., axis]).max()
            if most > limit:
                what = f"images have {n} voxels along {name}" if n > 1 else f"images are one voxel deep along {name}"
                raise Unreadable(f"the trajectory reaches {most:.6g} along k{name}; {what}, so that {'it must be 0' if n == 1 else f'the limit is {limit:g}, in 1 / field of view'}: "
                                 f"scale it, leave samples beyond out, or give sensitivities of more voxels")

    def _weights(self, pattern):
        weights = self._weights_of(pattern)
        if weights is not None and not weights.any():
            raise Unreadable(f"kspace has no sample that counts: {'all of them are 0' if pattern is None else 'the pattern is 0'}")
        return weights

    def _weights_of(self, pattern):
        """Real, of the normal operator: what samples count, (..., 1, z, y, x) or (..., 1, spokes, samples, 1); None: 1."""
        kspace = self._kspace
        if pattern is None:
            if self._trajectory is not None and self._basis is None:
                return None
            return (kspace != 0).any(-4, keepdims=True).astype("float64")
        for d in range(DIMENSIONS):
            if _size(pattern, d) not in ((1,) if d == COIL else (1, _size(kspace, d))):
                raise Unreadable(f"the pattern is {said(pattern)} and kspace {said(kspace)}: dimension {d} must be {1 if d == COIL else f'{_size(kspace, d)} or 1'}")
        if self._trajectory is not None:
            return numpy.abs(pattern.astype("complex128"))**2  # of samples and of the operator
        if numpy.abs(pattern.imag).max() > 0 or pattern.real.min() < 0:
            raise Unreadable("the pattern has values that are negative or not real: of lines they must be 0 or more")
        return pattern.real.astype("float64")

    # Problems

    def _problems(self):
        """Where each is: dimension to place, of the dimensions that problems do not share."""
        sizes = [_size(self._kspace, d) for d in self._apart]
        for place in numpy.ndindex(*sizes):
            yield dict(zip(self._apart, place))

    def _index(self, array, at):
        """Of the part that a problem has of an array."""
        return tuple(slice(None) if d not in at else slice(k, k + 1) if array.shape[axis] > 1 else slice(0, 1)
                     for axis, d in enumerate(range(DIMENSIONS - 1, -1, -1)) for k in [at.get(d)])

    def _place(self, array, at):
        """Which part that is; problems with one and the same share a plan."""
        return None if array is None else tuple(k for d, k in at.items() if _size(array, d) > 1)

    def _part(self, array, at):
        return array[self._index(array, at)]

    def _samples_of(self, at):
        return self._pattern is None or self._part(self._pattern, at).any()

    def _take(self, image, at):
        """(images, z, y, x) of a problem, as its plan has them: coils, or sets of maps, before coefficients."""
        part = numpy.moveaxis(self._part(image, at), self._first(), 0)
        return numpy.ascontiguousarray(part).reshape((-1, *self._size))

    def _put(self, image, at, found):
        index, first = self._index(image, at), self._first()
        shape = image[index].shape
        moved = (shape[first], *shape[:first], *shape[first:][1:])
        image[index] = numpy.moveaxis(numpy.reshape(found, moved), 0, first)

    def _first(self):
        """The axis that comes first in a plan's images."""
        return -1 - (COIL if self._maps is None else MAPS)

    def _samples(self, at):
        """Of a problem: samples (coils, n), their weights or None, and where they are, (n, 3) in cycles per field of view, with the times of a basis."""
        data = numpy.moveaxis(self._part(self._kspace, at), -4, 0)  # coils, ..., z or spokes, y or samples, x or 1
        shape = data.shape[1:]
        times = numpy.broadcast_to(numpy.arange(shape[-1 - TIMES + 1]).reshape((-1,) + (1,) * (TIMES - 1)), shape)
        weights = None if self._pattern is None else numpy.broadcast_to(numpy.squeeze(self._part(self._pattern, at), -4), shape)
        if self._trajectory is None:
            points = numpy.stack(numpy.broadcast_arrays(*(
                (numpy.arange(n) - n // 2).reshape((-1,) + (1,) * axis) for axis, n in enumerate(shape[:-4:-1]))), -1)
            points = numpy.broadcast_to(points, (*shape, 3))
            kept = weights > 0
            return data[:, kept], weights[kept], (points[kept], times[kept])
        points = numpy.squeeze(self._part(self._trajectory, at), -4)[..., None, :]  # ..., spokes, samples, 1, 3
        points = numpy.broadcast_to(points, (*shape, 3))
        return (numpy.ascontiguousarray(data).reshape(len(data), -1), None if weights is None else weights.reshape(-1),
                (points.reshape(-1, 3), times.reshape(-1)))

    def _plan(self, at):
        key = tuple(self._place(array, at) for array in (self._trajectory, self._pattern, self._maps))
        if key not in self._plans:
            samples, weights, (points, times) = self._samples(at)
            nz, ny, nx = self._size
            plan = self._plans[key] = MRI(self._context, trajectory=numpy.ascontiguousarray(points if nz > 1 else points[:, :2], "float64"),
                                          unit="cycles_per_field_of_view", nx=nx, ny=ny, nz=nz, coils=len(samples))
            if self._basis is not None:
                basis = self._basis.reshape(_size(self._basis, COEFFICIENTS), _size(self._basis, TIMES)).T
                plan.set_basis(numpy.ascontiguousarray(basis), times)
            if self._maps is not None:
                plan.set_maps(numpy.ascontiguousarray(self._part(self._maps, at)).reshape(-1, len(samples), *self._size))
            plan.set_weights((numpy.ones(len(points)) if weights is None else weights) * self._gain * self._unit**2)
            plan.set_options(**self._options)
        return self._plans[key]
