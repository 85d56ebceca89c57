"""GRAPPA: Cartesian lines that were left out, as sums of their neighbours in all coils (Griswold et al., Magn. Reson. Med. 47, 2002)."""
import itertools
from collections import namedtuple

import numpy
from numpy.lib.stride_tricks import sliding_window_view

from ..errors import wrong

MOST = 4  # along each axis of phase encoding, every 4th line
ALONG, LINES, ACROSS = 5, 4, 3  # of a kernel: samples along a line, lines along an axis that is undersampled, and along one that is not
TIKHONOV = 1e-3  # of the mean of the diagonal of the normal equations
ON_GRID = 0.01  # of a step
PIECE = 1 << 24  # numbers of neighbourhoods that are held at a time
INSTEAD = "method='sense', the default, takes them"

Grid = namedtuple("Grid", "samples there low")
Grid.__doc__ = "Lines in their places: samples (coils, z, y, x), 0 where `there` (z, y) is not, and the step of k-space, z, y, x, of the first."


class Axis(namedtuple("Axis", "factor taps")):
    """Of a kernel along one axis: every so many lines are there, and so many of these are summed."""
    __slots__ = ()

    @property
    def before(self):
        """Lines of the sum that lie before the one that the others are counted from."""
        return (self.taps - 1) // 2

    @property
    def span(self):
        return (self.taps - 1) * self.factor + 1


class Grappa:
    """Of the coils of one slice. `calibration(least, words)` gives calibration data (coils, [z,] y, x) of so many lines at least, or is an error with these words."""

    def __init__(self, calibration, tikhonov):
        self._calibration, self._tikhonov, self._kernels = calibration, TIKHONOV if tikhonov is None else tikhonov, {}

    def filled(self, readouts, samples, encoded):
        """`Readouts` with all lines, of samples (coils, n) of virtual coils; `encoded` is the encoding's shape, beyond which nothing is measured."""
        if not readouts.lines:
            raise wrong(ValueError, f"GRAPPA is for Cartesian lines, and readouts of this scan go along trajectories: {INSTEAD}")
        grid = gridded(samples, readouts.trajectory, readouts.grid)
        found = lattice(grid.there)
        factors = tuple(factor for factor, _ in found)
        if factors == (1, 1):
            return readouts._replace(samples=samples)
        if len(samples) == 1:
            raise wrong(ValueError, f"GRAPPA needs several coils, and one is there: {INSTEAD}, with maps=")
        if factors not in self._kernels:
            self._kernels[factors] = self._kernel(factors)
        made, places = filled(grid, found, self._kernels[factors], ends_of(grid, factors, encoded, readouts.grid))
        dims = readouts.trajectory.shape[1]
        trajectory = (places / readouts.grid[::-1])[:, :dims].astype(numpy.float32)
        return readouts._replace(samples=made, trajectory=numpy.clip(trajectory, -0.5, 0.5), times=numpy.full(len(trajectory), numpy.nan))

    def _kernel(self, factors):
        least = (LINES - 1) * max(factors) + 1
        data = self._calibration(least, f"of which GRAPPA's kernel needs {least}. Take a scan with calibration lines, or method='sense', the default, with maps= of another")
        data = data.reshape(len(data), *(1, *data.shape[1:])[-3:])
        return Kernel(data, axes_of(factors, data.shape[1:]), self._tikhonov)


def ends_of(grid, factors, encoded, shape):
    """(lowest, highest) steps along z and y: of the lines that were measured, or the encoding's where less than a step of the lattice lacks."""
    found = []
    for factor, low, n, sizes in zip(factors, grid.low, grid.there.shape, zip(encoded, shape)):
        size, low = min(sizes), int(low)
        least, most, high = -(size // 2), (size - 1) // 2, low + n - 1
        found.append((least if 0 < low - least < factor else low, most if 0 < most - high < factor else high))
    return found


def gridded(samples, trajectory, shape):
    """`Grid` of samples (coils, n) of lines at places (n, 2 or 3) in cycles per voxel, x first, for images of this shape (z, y, x); averages are taken together."""
    steps = numpy.zeros((len(trajectory), 3))
    dims = trajectory.shape[1]
    steps[:, 3 - dims:] = trajectory[:, ::-1] * numpy.array(shape[3 - dims:], float)
    places = numpy.rint(steps).astype(int)
    if numpy.abs(steps - places).max(initial=0) > ON_GRID:
        raise wrong(ValueError, "GRAPPA is for samples in steps of one over the field of view, and these lie between them, as on ramps of the gradient, in echo trains that "
                                f"navigators correct, and where fields of view are no whole number of voxels: {INSTEAD}")
    low, size = places.min(axis=0), numpy.ptp(places, axis=0) + 1
    flat = numpy.ravel_multi_index(tuple((places - low).T), size)
    counts = numpy.bincount(flat, minlength=size.prod())
    whole = (counts > 0).reshape(size)
    if (whole.any(axis=2) != whole.all(axis=2)).any():
        raise wrong(ValueError, f"GRAPPA is for lines that all reach equally far along x, and some of these do not: {INSTEAD}")
    sums = [numpy.bincount(flat, part, size.prod()) for coil in samples for part in (coil.real, coil.imag)]
    made = (numpy.array(sums[::2]) + 1j * numpy.array(sums[1::2])) / numpy.maximum(counts, 1)
    return Grid(made.reshape(len(samples), *size).astype(numpy.complex64), whole.any(axis=2), low)


def lattice(there):
    """((factor, first) along z, (factor, first) along y) of lines (z, y): every so many are there, and others in one block alone."""
    choices = [[(factor, first) for factor in range(1, min(MOST, n) + 1) for first in range(factor)] for n in there.shape]
    for (fz, z), (fy, y) in sorted(itertools.product(*choices), key=lambda pair: pair[0][0] * pair[1][0]):
        if not there[z::fz, y::fy].all():
            continue
        more = there.copy()
        more[z::fz, y::fy] = False
        block = tuple(slice(at.min(), at.max() + 1) if len(at) else slice(0) for at in numpy.nonzero(more))
        if there[block].all():
            return (fz, z), (fy, y)
    raise wrong(ValueError, f"GRAPPA is for every 2nd, 3rd or 4th line along each axis of phase encoding, with a block of calibration lines or without, and the lines of this scan are others: {INSTEAD}")


def axes_of(factors, shape):
    """The kernel's `Axis` along z, y and x for lines of these factors along z and y, and calibration data of this shape (z, y, x)."""
    across = [Axis(f, LINES) if f > 1 else Axis(1, ACROSS if n >= 2 * ACROSS else 1) for f, n in zip(factors, shape)]
    return (*across, Axis(1, ALONG))


def targets(axes):
    """Steps (z, y) from a line that is there to those that are not."""
    return list(itertools.product(range(axes[0].factor), range(axes[1].factor)))[1:]


class Kernel:
    """Of calibration data (coils, z, y, x): how lines that are left out are made of their neighbours, by least squares."""

    def __init__(self, calibration, axes, tikhonov):
        coils, self.axes, self._weights = len(calibration), axes, {}
        places = [n - axis.span + 1 for n, axis in zip(calibration.shape[1:], axes)]
        self._shape = (coils, *(axis.taps for axis in axes))
        unknowns, equations = numpy.prod(self._shape), numpy.prod(places) if min(places) > 0 else 0
        if equations < unknowns:
            raise wrong(ValueError, f"calibration data of {' x '.join(map(str, calibration.shape[:0:-1]))} samples give {equations} equations for {unknowns} weights of GRAPPA's kernel: too "
                                    "few. Take more calibration lines, pass virtual_coils= a smaller number, or method='sense', the default")
        windows = sliding_window_view(calibration, [axis.span for axis in axes], (1, 2, 3))[..., ::axes[0].factor, ::axes[1].factor, :]
        middle = [axis.before * axis.factor for axis in axes]
        self._gram, self._right = 0, 0
        for z in range(places[0]):
            rows = _rows(windows[:, z]).astype(numpy.complex128)
            wanted = [calibration[:, z + middle[0] + dz, middle[1] + dy:middle[1] + dy + places[1], middle[2]:middle[2] + places[2]].reshape(coils, -1) for dz, dy in targets(axes)]
            self._gram = self._gram + rows.conj().T @ rows
            self._right = self._right + rows.conj().T @ numpy.concatenate(wanted).T
        self._diagonal = tikhonov * self._gram.trace().real / unknowns

    def weights(self, z, y):
        """complex64 (neighbours, lines that are left out times coils), where only these taps (two numbers, from and to) along z and y are there."""
        if (z, y) not in self._weights:
            kept = numpy.arange(len(self._gram)).reshape(self._shape)[:, slice(*z), slice(*y)].ravel()
            gram, right = self._gram[numpy.ix_(kept, kept)], self._right[kept]
            gram[numpy.diag_indices_from(gram)] += self._diagonal
            # Coils that are sums of each other, without a weight, leave a choice: the smallest.
            found = numpy.linalg.solve(gram, right) if self._diagonal else numpy.linalg.lstsq(gram, right, rcond=None)[0]
            self._weights[z, y] = found.astype(numpy.complex64)
        return self._weights[z, y]


def _rows(windows):
    """(places, neighbours) of windows (coils, y, x, z, y, x), whose last three are the kernel's."""
    return windows.transpose(1, 2, 0, 3, 4, 5).reshape(windows.shape[1] * windows.shape[2], -1)


def filled(grid, found, kernel, ends):
    """(samples (coils, n), places (n, 3) in steps, x first) of all lines: those that were measured as they are, up to `ends`, the (lowest, highest) steps along z and y."""
    coils, nx = len(grid.samples), grid.samples.shape[3]
    factors = [factor for factor, _ in found]
    first = [end - (end - low - at) % factor for (factor, at), low, (end, _) in zip(found, grid.low, ends)]  # of the lattice, at the lower end or before it
    cells = [-(-(high - start + 1) // factor) for start, (_, high), factor in zip(first, ends, factors)]
    whole = numpy.zeros((coils, cells[0] * factors[0], cells[1] * factors[1], nx), numpy.complex64)
    there = numpy.zeros(whole.shape[1:3], bool)
    inside = tuple(slice(low - start, low - start + n) for low, start, n in zip(grid.low, first, grid.there.shape))
    whole[(slice(None), *inside)], there[inside] = grid.samples, grid.there
    _fill(whole, there, kernel)
    kept = tuple(slice(low - start, high - start + 1) for start, (low, high) in zip(first, ends))
    steps = [numpy.arange(low, high + 1) for low, high in ends] + [grid.low[2] + numpy.arange(nx)]
    places = numpy.stack(numpy.meshgrid(*steps, indexing="ij"), axis=-1).reshape(-1, 3)[:, ::-1]
    return numpy.ascontiguousarray(whole[(slice(None), *kept)]).reshape(coils, -1), places


def _fill(whole, there, kernel):
    """Lines (coils, z, y, x) that are not `there` (z, y), from those of the lattice, which begins with the first; near the ends of what is there from fewer."""
    (fz, fy), coils = (axis.factor for axis in kernel.axes[:2]), len(whole)
    lines, known = whole[:, ::fz, ::fy], there[::fz, ::fy]
    source = numpy.pad(lines, [(0, 0), *((axis.before, axis.taps - 1 - axis.before) for axis in kernel.axes)])
    windows = sliding_window_view(source, [axis.taps for axis in kernel.axes], (1, 2, 3))
    made = numpy.empty((*known.shape, whole.shape[3], coils * (fz * fy - 1)), numpy.complex64)
    for (zs, z_taps), (ys, y_taps) in itertools.product(*(_alike(axis, known.any(axis=1 - i)) for i, axis in enumerate(kernel.axes[:2]))):
        weights = kernel.weights(z_taps, y_taps)
        at_once = max(PIECE // (whole.shape[3] * len(weights)), 1)
        for z, y in itertools.product(zs, ys[::at_once]):
            part = windows[:, z, y:min(y + at_once, ys.stop), :, slice(*z_taps), slice(*y_taps)]
            made[z, y:y + part.shape[1]] = (_rows(part) @ weights).reshape(part.shape[1], part.shape[2], -1)
    for number, (dz, dy) in enumerate(targets(kernel.axes)):
        left_out = ~there[dz::fz, dy::fy]
        to = whole[:, dz::fz, dy::fy]
        to[:, left_out] = made[left_out][..., number * coils:(number + 1) * coils].transpose(2, 0, 1)


def _alike(axis, known):
    """Cells of the lattice along an axis, range after range of those with the same taps there (from, to); `known` says which have their line."""
    low, high = numpy.flatnonzero(known)[[0, -1]]
    taps = [(max(low - cell + axis.before, 0), min(high - cell + axis.before + 1, axis.taps)) for cell in range(len(known))]
    ends = [0, *(i for i in range(1, len(taps)) if taps[i] != taps[i - 1]), len(taps)]
    return [(range(first, last), taps[first]) for first, last in zip(ends, ends[1:])]
