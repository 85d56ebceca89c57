"""Minima of total variation and FISTA against those of a dense matrix in f64, which a bound of their own certifies: none of it is the library's."""
import unittest

import numpy as np

import isocenter

VIEWS, BINS, SIDE, PIXEL, AXIS = 20, 27, 24, 1.2, 12.7
ANGLES = np.arange(VIEWS) * np.pi / VIEWS + 0.03
CONTEXT = isocenter.Context(device="cpu")
# A minimum and its bound are this near, as a part of the minimum.
CERTAIN = 1e-5
# Products with the pair round by some 1e-6 of the largest value, and objectives by as much of the sum of squares of the data.
ROUNDING = 2e-6


def joseph():
    """A of one slice: steps of a pixel along the axis that a ray is nearer to, linear interpolation across (Joseph, 1982)."""
    middles = (np.arange(SIDE) - (SIDE - 1) / 2) * PIXEL
    matrix = np.zeros((VIEWS, BINS, SIDE, SIDE))  # [view, bin, row, column]; y is upwards
    for view, angle in enumerate(ANGLES):
        c, s = np.cos(angle), np.sin(angle)
        for b in range(BINS):
            t, of_ray = (b - AXIS), matrix[view, b]
            for k in range(SIDE):
                # Of a row the place in columns, or of a column that in rows.
                along_rows = abs(c) >= abs(s)
                x = (t - middles[k] * s) / c if along_rows else (t - middles[k] * c) / s
                at = x / PIXEL + (SIDE - 1) / 2
                for cell in (int(np.floor(at)), int(np.floor(at)) + 1):
                    weight = (1 - abs(at - cell)) * PIXEL / max(abs(c), abs(s))
                    if 0 <= cell < SIDE:
                        row, column = (SIDE - 1 - k, cell) if along_rows else (SIDE - 1 - cell, k)
                        of_ray[row, column] += weight
    return matrix.reshape(VIEWS * BINS, SIDE * SIDE)


MATRIX = joseph()


def differences(x):
    """To the next column, row and slice, 0 at the last: (3, slices, ny, nx)."""
    d = np.zeros((3, *x.shape))
    d[0, :, :, :-1], d[1, :, :-1], d[2, :-1] = np.diff(x, axis=2), np.diff(x, axis=1), np.diff(x, axis=0) * PIXEL
    return d


def transposed(d):
    x = np.zeros(d.shape[1:])
    x[:, :, :-1] -= d[0, :, :, :-1]
    x[:, :, 1:] += d[0, :, :, :-1]
    x[:, :-1] -= d[1, :, :-1]
    x[:, 1:] += d[1, :, :-1]
    x[:-1] -= d[2, :-1] * PIXEL
    x[1:] += d[2, :-1] * PIXEL
    return x


class Problem:
    """F(A x) + weight sum |D x| + ridge |x|^2 / 2 of images (slices, ny, nx) within bounds, inside a mask."""

    def __init__(self, data, weight=0.0, bounds=(0.0, 3.0), rays=None, ridge=0.0, huber=0.0, ring=0.0, poisson=False, volume=False, radius=0.0):
        self.b = data.transpose(1, 0, 2).reshape(len(data[0]), -1).astype(float)  # (slices, rays)
        self.weight, self.bounds, self.ridge, self.huber, self.ring, self.poisson, self.volume = weight, bounds, ridge, huber, ring, poisson, volume
        self.rays = np.ones(VIEWS * BINS) if rays is None else rays
        reach = np.hypot(*(np.indices((SIDE, SIDE)) - (SIDE - 1) / 2))
        self.mask = (reach <= radius * SIDE / 2) if radius else np.ones((SIDE, SIDE), bool)
        self.matrix = MATRIX * self.mask.ravel()
        self.seen = self.matrix.sum(1) > 1e-3 * PIXEL

    def forward(self, x):
        return x.reshape(len(x), -1) @ self.matrix.T

    def adjoint(self, y):
        return (y @ self.matrix).reshape(len(y), SIDE, SIDE)

    def gradient(self, x):
        d = differences(x)
        return d if self.volume else d * np.array([1, 1, 0])[:, None, None, None]

    def objective(self, x):
        a, b = self.forward(x), self.b
        if self.poisson:
            a, b = a[:, self.seen], b[:, self.seen]
            fit = (a - b + np.where(b > 0, b * np.log(np.maximum(b, 1e-300) / np.maximum(a, 1e-300)), 0)).sum()
        elif self.ring:
            left = (b - a).reshape(len(x), VIEWS, BINS)
            mean = left.mean(1)
            offset = np.sign(mean) * np.maximum(abs(mean) - self.ring / VIEWS, 0)
            fit = 0.5 * ((left - offset[:, None]) ** 2).sum() + self.ring * abs(offset).sum()
        else:
            fit = 0.5 * (self.rays * (a - b) ** 2).sum()
        length = np.sqrt((self.gradient(x) ** 2).sum(0))
        if self.huber:
            length = np.where(length < self.huber, length**2 / (2 * self.huber), length - self.huber / 2)
        return fit + self.weight * length.sum() + 0.5 * self.ridge * (x**2).sum()

    def bound(self, y, z):
        """No image within the bounds has a lower objective: the least of <A^T y + D^T z, x> there, less what y and z cost (Fenchel)."""
        b, low, high = self.b, *self.bounds
        if self.poisson:
            counted = (b > 0) & self.seen
            cost = -(b[counted] * np.log1p(-y[counted])).sum()
        else:
            cost = (0.5 * y**2 / np.where(self.rays > 0, self.rays, 1) + b * y).sum()
        if self.huber:
            cost += 0.5 * self.huber / self.weight * (z**2).sum()
        v = self.adjoint(y) + transposed(z)
        best = np.clip(-v / self.ridge, low, high) if self.ridge else np.where(v > 0, low, high)
        return ((v * best + 0.5 * self.ridge * best**2) * self.mask).sum() - cost

    def fit_step(self, y, a, s):
        """The proximal step of F* from y + s a."""
        if self.poisson:
            t = y + s * a
            return np.where(self.seen, 0.5 * (1 + t - np.sqrt((1 - t) ** 2 + 4 * s * self.b)), 0)
        y = np.where(self.rays > 0, (y + s * (a - self.b)) / (1 + s / np.where(self.rays > 0, self.rays, 1)), 0)
        if self.ring:
            y = y.reshape(len(y), VIEWS, BINS)
            total = y.sum(1)
            y = (y - ((total - np.clip(total, -self.ring, self.ring)) / VIEWS)[:, None]).reshape(len(y), -1)
        return y

    def minimum(self, balance):
        """By primal and dual steps (Chambolle and Pock, 2011) until the bound meets the objective."""
        x = np.clip(np.full((len(self.b), SIDE, SIDE), 0.5), *self.bounds) * self.mask
        y, z = np.zeros_like(self.b), np.zeros((3, *x.shape))
        norm = np.sqrt(np.linalg.norm(self.matrix, 2) ** 2 + (8 + 4 * PIXEL**2 if self.volume else 8))
        t, s = 0.95 / norm * balance, 0.95 / norm / balance
        for k in range(1, 20001):
            v = self.adjoint(y) + transposed(z)
            new = np.clip((x - t * v) / (1 + t * self.ridge), *self.bounds) * self.mask
            ahead, x = 2 * new - x, new
            y = self.fit_step(y, self.forward(ahead), s)
            if self.weight:
                z = (z + s * self.gradient(ahead)) / (1 + s * self.huber / self.weight)
                z /= np.maximum(np.sqrt((z**2).sum(0)) / self.weight, 1)
            if k % 100 == 0:
                top, bottom = self.objective(x), self.bound(y, z)
                if top - bottom <= CERTAIN * top:
                    return bottom, top, x
        raise AssertionError(f"{top} is not certain: {bottom}")


def ellipses():
    """Projections of two slices with noise of 2 %."""
    with isocenter.CT(CONTEXT, **GEOMETRY) as ct:
        truth = ct.phantom_volume([[1.0, 1.0, -2.0, 9.0, 7.0, 0.4], [0.5, 3.0, 2.0, 3.0, 2.0, 0.0], [0.4, -4.0, -3.0, 2.0, 3.0, 0.0]])
        truth[1] *= 0.8
        data = ct.forward(truth)
    noise = np.random.default_rng(3).normal(size=data.shape)
    return np.maximum(data + 0.02 * data.max() * noise, 0).astype(np.float32)


GEOMETRY = dict(angles=ANGLES, bins=BINS, axis=AXIS, nx=SIDE, ny=SIDE, pixel_size=PIXEL, rows=2)
DATA = ellipses()
GIVEN = np.random.default_rng(4).choice([0.0, 0.5, 1.0, 2.0], (VIEWS, BINS)).astype(np.float32)
BOX = dict(bounds="box", lower=0.0, upper=3.0)


class Optima(unittest.TestCase):
    def check(self, algorithm, options, problem, balance=0.1, start=None, data=DATA):
        """`balance`: of the reference's own steps."""
        bottom, top, best = problem.minimum(balance)
        with isocenter.CT(CONTEXT, **GEOMETRY) as ct:
            ct.set_options(algorithm=algorithm)
            if options.get("weighting") == "given":
                ct.set_ray_weights(GIVEN)
            ct.set_iterative(20000, tolerance=CERTAIN, **options)
            volume = ct.reconstruct(data, None if start is None else start.copy())
            last = ct.history()[-1]
        found = problem.objective(volume.astype(float))
        rounding = ROUNDING * 0.5 * (problem.b ** 2).sum()
        self.assertAlmostEqual(last.objective, found, delta=rounding)
        self.assertLessEqual(last.gap, CERTAIN * last.objective)
        self.assertGreaterEqual(last.gap + rounding, found - top)
        self.assertGreaterEqual(found, bottom - rounding)
        self.assertLessEqual(found, top + CERTAIN * top + rounding)
        # Squares are strongly convex in what rays see: half of the distance's square there is at most both gaps.
        if not problem.poisson and not problem.ring:
            apart = 0.5 * (problem.rays * problem.forward(volume - best) ** 2).sum()
            self.assertLessEqual(apart, 2 * CERTAIN * top + rounding)

    def test_total_variation(self):
        for weight, balance in (0.1, 0.3), (0.5, 0.1):
            for bounds in dict(bounds="non_negative"), BOX, dict(bounds="box", lower=0.0, upper=1.1):
                with self.subTest(weight=weight, **bounds):
                    limits = 0.0, bounds.get("upper", 3.0)
                    self.check("total_variation", dict(regularisation=weight, **bounds), Problem(DATA, weight, limits), balance)

    def test_total_variation_with_options(self):
        for options, of in (
            (dict(huber=0.05), dict(huber=0.05)),
            (dict(variation="volume"), dict(volume=True)),
            (dict(variation="volume", huber=0.05), dict(volume=True, huber=0.05)),
            (dict(mask_radius=0.8), dict(radius=0.8)),
            (dict(weighting="given"), dict(rays=GIVEN.ravel().astype(float))),
            (dict(ring_weight=0.4), dict(ring=0.4)),
            (dict(ring_weight=0.4, variation="volume"), dict(ring=0.4, volume=True)),
            (dict(fit="poisson"), dict(poisson=True)),
            (dict(fit="poisson", variation="volume"), dict(poisson=True, volume=True)),
        ):
            with self.subTest(**options):
                self.check("total_variation", dict(regularisation=0.3, **BOX, **options), Problem(DATA, 0.3, **of))

    def test_weights_of_transmissions(self):
        data = 0.3 * DATA  # up to 4
        rays = np.exp(-data.transpose(1, 0, 2).reshape(2, -1).astype(float))
        self.check("total_variation", dict(regularisation=0.01, weighting="transmission", **BOX), Problem(data, 0.01, rays=rays), data=data)
        self.check("fista", dict(regularisation=0.5, weighting="transmission", **BOX), Problem(data, ridge=0.5, rays=rays), data=data)

    def test_any_start_ends_there(self):
        start = np.random.default_rng(5).random((2, SIDE, SIDE)).astype(np.float32)
        self.check("total_variation", dict(regularisation=0.3, start="volume", **BOX), Problem(DATA, 0.3), start=start)
        self.check("fista", dict(regularisation=3.0, start="volume", **BOX), Problem(DATA, ridge=3.0), start=start)

    def test_fista(self):
        for options, of in (
            (dict(regularisation=3.0), dict(ridge=3.0, bounds=(-100.0, 100.0))),
            (dict(regularisation=3.0, bounds="non_negative"), dict(ridge=3.0)),
            (dict(regularisation=0.5, **BOX), dict(ridge=0.5)),
            (dict(regularisation=3.0, weighting="given", **BOX), dict(ridge=3.0, rays=GIVEN.ravel().astype(float))),
            (dict(regularisation=3.0, mask_radius=0.8, **BOX), dict(ridge=3.0, radius=0.8)),
        ):
            with self.subTest(**options):
                self.check("fista", options, Problem(DATA, **of))


if __name__ == "__main__":
    unittest.main()
