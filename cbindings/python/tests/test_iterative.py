"""Iterative CT: iterates against NumPy's by the same pair, values against a phantom, history, bounds, start and streams."""
import unittest

import numpy as np

import isocenter

VIEWS, SIDE = 45, 64
GEOMETRY = dict(angles=np.arange(VIEWS) * np.pi / VIEWS + 0.01, bins=96, rows=2, nx=SIDE, ny=SIDE)
# 0 to 1.3; the second slice has one and a half times as much.
BODY = [[1.0, 0.0, 0.0, 24.0, 20.0, 0.3], [0.3, 6.0, -4.0, 8.0, 5.0, 0.0], [-0.5, -8.0, 5.0, 5.0, 6.0, 0.5]]
CONTEXT = isocenter.Context(device="cpu")
# Products with the pair round by some 1e-6 of the largest value; the quotients of a handful of iterations make that ten times as much.
ROUNDING = 2e-5


def inverse(sums):
    """One over the sums of rays and pixels, or 0 below a thousandth of a pixel, as the library has it."""
    return np.where(sums >= 1e-3, 1 / np.maximum(sums, 1e-3), 0)


class Iterative(unittest.TestCase):
    def setUp(self):
        self.ct = isocenter.CT(CONTEXT, **GEOMETRY)
        self.addCleanup(self.ct.close)
        truth = self.ct.phantom_volume(BODY) * np.array([1.0, 1.5], np.float32)[:, None, None]
        self.truth = np.maximum(truth, 0)  # sums of values above and below 0 round
        self.data = self.ct.forward(self.truth)

    def by(self, algorithm, iterations, volume=None, data=None, **options):
        self.ct.set_options(algorithm=algorithm)
        self.ct.set_iterative(iterations, **options)
        return self.ct.reconstruct(self.data if data is None else data, volume)

    def objectives(self):
        return np.array([i.objective for i in self.ct.history()])

    def off(self, volume):
        """Root mean square of what a volume is from the truth, as a part of the truth's."""
        return np.linalg.norm(volume - self.truth) / np.linalg.norm(self.truth)

    def test_iterates_are_those_of_the_formulas(self):
        forward, adjoint, b = self.ct.forward, self.ct.adjoint, self.data
        rays = inverse(forward(np.ones_like(self.truth)))
        pixels = inverse(adjoint(np.ones_like(b)))
        x, found = np.zeros_like(self.truth), []
        for _ in range(5):
            r = b - forward(x)
            found.append(0.5 * (rays * r * r).sum())
            x = np.clip(x + 1.5 * pixels * adjoint(rays * r), 0, 1.2)
        seen = self.by("sirt", 5, relaxation=1.5, bounds="box", lower=0.0, upper=1.2)
        np.testing.assert_allclose(seen, x, rtol=0, atol=ROUNDING * x.max())
        np.testing.assert_allclose(self.objectives(), found, rtol=0, atol=ROUNDING * found[0])

        weight = 20.0
        x, found = np.zeros_like(self.truth), []
        r, s = b, adjoint(b)
        d = s
        dot = lambda a, c: (a.astype(float) * c).sum(axis=(1, 2))[:, None, None]  # noqa: E731
        over_rows = lambda a: (a.astype(float) ** 2).sum(axis=(0, 2))[:, None, None]  # noqa: E731
        for _ in range(4):
            found.append(0.5 * (over_rows(r) + weight * dot(x, x)).sum())
            q = forward(d)
            step = (dot(s, s) / (over_rows(q) + weight * dot(d, d))).astype(np.float32)
            x, r = x + step * d, r - step.reshape(1, 2, 1) * q
            old, s = s, adjoint(r) - np.float32(weight) * x
            d = s + (dot(s, s) / dot(old, old)).astype(np.float32) * d
        seen = self.by("cgls", 4, regularisation=weight)
        np.testing.assert_allclose(seen, x, rtol=0, atol=ROUNDING * x.max())
        np.testing.assert_allclose(self.objectives(), found, rtol=0, atol=ROUNDING * found[0])

        counted = rays > 0
        pixels = inverse(adjoint(counted.astype(np.float32)))
        x = np.ones_like(self.truth)
        for _ in range(5):
            e = forward(x)
            x = x * pixels * adjoint(np.where(counted, b / np.where(counted, e, 1), 0).astype(np.float32))
        np.testing.assert_allclose(self.by("mlem", 5), x, rtol=0, atol=ROUNDING * x.max())

    def test_a_disk_comes_out_at_its_value(self):
        """From exact line integrals, where the pair's are those of pixels: their sums over a view differ by up to 1e-3 (see test_ct), lines
        near the edge by more, of which the mean four pixels within sees some: five times that."""
        with isocenter.CT(CONTEXT, angles=GEOMETRY["angles"], bins=SIDE, pixel_size=0.5, bin_pitch=0.5) as ct:
            projections = ct.phantom_projections([[1.0, 0.0, 0.0, 11.0, 11.0, 0.0]])
            c = np.arange(SIDE) - (SIDE - 1) / 2
            inside = c[:, None] ** 2 + c[None, :] ** 2 < 18 ** 2
            for algorithm, iterations in (("sirt", 60), ("cgls", 12), ("mlem", 60)):
                ct.set_options(algorithm=algorithm)
                ct.set_iterative(iterations)
                self.assertAlmostEqual(ct.reconstruct(projections)[0][inside].mean(), 1, delta=0.005, msg=algorithm)

    def test_total_variation(self):
        """The objective, worked out over the pair, whose rounding is 1e-6 of the largest value, and no image below the bound: neither the
        phantom's nor any of other methods."""
        weight = 1.0
        seen = self.by("total_variation", 3000, regularisation=weight, bounds="box", upper=2, tolerance=1e-3)
        last = self.ct.history()[-1]
        self.assertLess(last.iteration, 3000)
        self.assertLessEqual(last.gap, 1e-3 * last.objective)

        def objective(x):
            x = np.ascontiguousarray(x, np.float32)
            steps = [np.diff(x.astype(float), axis=axis, append=np.take(x, [-1], axis)) for axis in (1, 2)]
            return 0.5 * ((self.ct.forward(x).astype(float) - self.data) ** 2).sum() + weight * np.hypot(*steps).sum()
        self.assertAlmostEqual(objective(seen) / last.objective, 1, delta=1e-5)
        for other in (self.truth, 0.5 * (seen + self.truth), self.by("sirt", 30, bounds="non_negative")):
            self.assertGreater(objective(other), (last.objective - last.gap) * (1 - 1e-5))

    def test_history(self):
        self.assertEqual(isocenter.CTIteration._fields, ("iteration", "objective", "gap", "slices"))
        for algorithm, iterations in (("sirt", 12), ("cgls", 8), ("mlem", 12)):
            self.by(algorithm, iterations)
            found = self.ct.history()
            self.assertEqual([i.slices for i in found], [2] * iterations)
            self.assertTrue((np.diff(self.objectives()) < 0).all(), algorithm)
            self.assertGreaterEqual(self.objectives()[-1], 0)
        # The first is of zeros: half the sum of squares.
        self.by("cgls", 3)
        self.assertAlmostEqual(self.objectives()[0] / (0.5 * (self.data.astype(float) ** 2).sum()), 1, delta=1e-6)
        self.ct.set_iterative()
        self.assertRaises(isocenter.NotConfiguredError, self.ct.history)
        # Of a slice of zeros the first gradient is 0.
        data = self.data.copy()
        data[:, 0] = 0
        volume = self.by("cgls", 100, data=data, tolerance=0.002)
        slices = [i.slices for i in self.ct.history()]
        self.assertTrue(3 < len(slices) < 100 and slices[0] == 2 and set(slices[1:]) == {1}, slices)
        self.assertFalse(volume[0].any())

    def test_subsets_are_faster_in_the_beginning(self):
        """About as far in an iteration as without in as many iterations as there are subsets: at least three times as far of nine."""
        for algorithm in ("sirt", "mlem"):
            few = self.off(self.by(algorithm, 3, subsets=9))
            self.assertEqual(len(self.ct.history()), 3)
            self.assertLess(few, self.off(self.by(algorithm, 9)), algorithm)
        sart = self.by("sirt", 2, subsets=VIEWS, relaxation=0.3)
        self.assertLess(self.off(sart), self.off(self.by("sirt", 6)))

    def test_bounds_and_mask(self):
        free = self.by("sirt", 20)
        self.assertLess(free.min(), 0)
        self.assertEqual(self.by("sirt", 20, bounds="non_negative").min(), 0)
        box = self.by("sirt", 20, bounds="box", lower=-0.01, upper=1.1)
        self.assertEqual((box.min(), box.max()), (np.float32(-0.01), np.float32(1.1)))
        half = self.by("mlem", 20, bounds="box", lower=0.0, upper=np.inf)
        np.testing.assert_array_equal(half, self.by("mlem", 20))  # which is never below 0
        c = np.arange(SIDE) - (SIDE - 1) / 2
        outside = c[:, None] ** 2 + c[None, :] ** 2 > (0.8 * SIDE / 2) ** 2
        for algorithm in ("sirt", "cgls", "mlem"):
            masked = self.by(algorithm, 5, mask_radius=0.8)
            self.assertFalse(masked[:, outside].any())
            self.assertTrue((masked[:, ~outside] != 0).mean() > 0.9)

    def test_start(self):
        """Five iterations and then five are ten: each step of SIRT and MLEM depends on the image alone."""
        for algorithm in ("sirt", "mlem"):
            ten = self.by(algorithm, 10)
            objectives = self.objectives()
            five = self.by(algorithm, 5)
            same = self.by(algorithm, 5, five, start="volume")
            self.assertIs(same, five)
            np.testing.assert_allclose(same, ten, rtol=0, atol=ROUNDING * ten.max())
            np.testing.assert_allclose(self.objectives(), objectives[5:], rtol=0, atol=ROUNDING * objectives[0])
        # From the truth on there is nothing to do.
        for algorithm in ("sirt", "cgls", "mlem"):
            volume = self.truth.copy()
            if algorithm == "mlem":
                volume += np.float32(1e-6)  # where it is 0 it stays so
            np.testing.assert_allclose(self.by(algorithm, 3, volume, start="volume"), self.truth, rtol=0, atol=1e-4)
        self.by("sirt", 1, np.full_like(self.truth, 5.0), start="volume", bounds="box", lower=0.0, upper=1.0)
        # Filtered back projection has no use for it, and makes its own volume.
        self.ct.set_options()
        self.assertEqual(self.ct.reconstruct(self.data).shape, self.truth.shape)

    def test_a_stream_gives_what_arrays_give(self):
        for algorithm in ("sirt", "cgls", "mlem"):
            whole = self.by(algorithm, 4)
            history = self.ct.history()
            seen = np.zeros_like(whole)

            def read(first, projections):
                projections[...] = self.data[:, first:first + projections.shape[1]]

            def write(first, volume):
                seen[first:first + len(volume)] = volume

            self.ct.reconstruct_stream(read, write)
            np.testing.assert_allclose(seen, whole, rtol=0, atol=ROUNDING * whole.max())
            self.assertEqual(len(self.ct.history()), len(history))

    def test_weights_of_rays(self):
        """Dead columns that do not count leave no trace."""
        weights = np.ones((VIEWS, 96), np.float32)
        weights[:, 30:32] = 0
        self.ct.set_ray_weights(weights)
        spoilt = self.data.copy()
        spoilt[:, :, 30:32] = 100
        options = dict(bounds="box", upper=3.0, weighting="given")
        for algorithm, iterations in (("fista", 40), ("cgls", 8)):
            options = options if algorithm == "fista" else dict(weighting="given")
            whole = self.by(algorithm, iterations, **options)
            np.testing.assert_allclose(self.by(algorithm, iterations, data=spoilt, **options), whole, rtol=0, atol=1e-6 * whole.max())
        weights[1, 2] = -1
        self.assertRaisesRegex(isocenter.OutOfRangeError, r"weights\[1, 2\] is -1", self.ct.set_ray_weights, weights)
        self.ct.set_ray_weights(None)
        self.assertRaisesRegex(isocenter.NotConfiguredError, "set_ray_weights", self.by, "cgls", 3, weighting="given")

    def test_poissons_law(self):
        volume = self.by("total_variation", 500, data=np.maximum(self.data, 0), fit="poisson", bounds="box", upper=3.0,
                         regularisation=1e-3, tolerance=0.01)
        self.assertLess(self.off(volume), 0.1)
        self.assertTrue((volume >= 0).all())

    def test_neighbouring_slices(self):
        """Noise that each slice has by itself goes between slices that are alike."""
        noise = np.random.default_rng(1).normal(scale=0.3, size=self.data.shape).astype(np.float32)
        options = dict(data=self.data[:, :1] + noise, bounds="box", upper=3.0, regularisation=0.1, tolerance=1e-3)
        alone = self.by("total_variation", 1000, **options)
        volume = self.by("total_variation", 1000, variation="volume", **options)
        gap, objective = self.ct.history()[-1].gap, self.ct.history()[-1].objective
        self.assertLess(gap, 1e-3 * objective)
        rough = [np.abs(np.diff(v, axis=0)).mean() for v in (alone, volume)]
        self.assertLess(rough[1], 0.95 * rough[0])
        self.assertRaisesRegex(isocenter.OutOfRangeError, "variation is 'volume'", self.by, "cgls", 3, variation="volume")

    def test_offsets_of_the_detector(self):
        """They go, and what is true stays."""
        offsets = np.zeros(self.data.shape[1:], np.float32)
        offsets[:, ::7] = 1.0
        options = dict(bounds="box", upper=3.0, regularisation=0.02, tolerance=1e-3)
        rings, found = [self.off(self.by("total_variation", 2000, data=self.data + offsets, ring_weight=weight, **options))
                        for weight in (0.0, 0.3)]
        self.assertLess(found, 0.3 * rings)
        self.assertRaisesRegex(isocenter.OutOfRangeError, "ring_weight is 1.0", self.by, "cgls", 3, ring_weight=1.0)

    def test_as_a_convolution(self):
        """It leaves out what the pair has beyond the detector's ends, and the ends of the frequencies."""
        self.ct.set_options(algorithm="cgls", projector="band_limited")
        found = []
        for normal in ("pair", "toeplitz", "auto"):
            self.ct.set_iterative(8, normal=normal)
            found.append(self.ct.reconstruct(self.data))
        self.assertLess(np.abs(found[1] - found[0]).max(), 0.03 * np.abs(found[0]).max())
        self.assertTrue((found[0] == found[2]).all())

    def test_a_weight_by_the_noise(self):
        """Of noise alone 8000 differences tell it to 2 %, and total variation leaves nearly all of it."""
        noise = np.random.default_rng(0).normal(scale=0.2, size=self.data.shape).astype(np.float32)
        weight = self.ct.suggest_regularisation(noise)
        self.assertAlmostEqual(weight, 0.7 * 0.2 * np.sqrt(VIEWS) * (SIDE / 64) ** 0.7, delta=0.3 * weight)
        data = self.data + noise
        weight = self.ct.suggest_regularisation(data)
        off = [self.off(self.by("total_variation", 1000, data=data, regularisation=factor * weight, bounds="non_negative"))
               for factor in (1 / 8, 1, 8)]
        self.assertEqual(min(off), off[1])
        self.ct.set_phase(length_um=3.0, pixel_um=3.0)
        self.assertRaisesRegex(isocenter.OutOfRangeError, "set_phase is set", self.ct.suggest_regularisation, data)

    def test_the_log_is_told(self):
        told = []
        with isocenter.Context(device="cpu", log=lambda *told_of: told.append(told_of)) as context:
            ct = isocenter.CT(context, **GEOMETRY)
            ct.set_options(algorithm="sirt")
            ct.set_iterative(5)
            ct.reconstruct(self.data)
            level, text = told[-1]
            self.assertEqual(level, 3)
            self.assertIn(f"slices 0 to 1, iteration 4: objective {ct.history()[-1].objective:.6e}".split("e+")[0], text)
        with self.assertLogs("isocenter", "DEBUG") as logged:
            self.by("sirt", 5)
        self.assertRegex(logged.output[-1], "^DEBUG:isocenter:.*iteration 4: objective")

    def test_classes_of_errors(self):
        for kind, options in ((isocenter.OutOfRangeError, {"iterations": 0}), (isocenter.OutOfRangeError, {"relaxation": 2}),
                              (isocenter.NotFiniteParameterError, {"relaxation": np.inf}), (isocenter.OutOfRangeError, {"lower": 1}),
                              (isocenter.OutOfRangeError, {"bounds": "box", "lower": 2, "upper": 1}), (ValueError, {"bounds": "all"}),
                              (TypeError, {"iterations": "all"})):
            with self.subTest(options):
                self.assertRaises(kind, self.ct.set_iterative, **options)
        self.assertRaises(isocenter.OutOfRangeError, self.by, "sirt", 3, subsets=VIEWS + 1)
        self.assertRaises(isocenter.OutOfRangeError, self.by, "cgls", 3, subsets=2)
        self.assertRaises(isocenter.OutOfRangeError, self.by, "mlem", 3, data=self.data - np.float32(0.01))
        self.assertRaises(isocenter.TensorShapeError, self.by, "sirt", 3, np.zeros((2, 3, 4), np.float32), start="volume")
        self.assertRaises(isocenter.OutOfRangeError, self.ct.reconstruct_stream, lambda *_: None, lambda *_: None)
        # The plan goes on.
        self.assertLess(self.off(self.by("sirt", 10)), 0.5)

    def test_counts_and_missing_values(self):
        """Counts become line integrals on the way; values below 0, of noise, are an error for "mlem", or 0."""
        with isocenter.CT(isocenter.Context(device="cpu", nan_policy="replace"), **GEOMETRY) as ct:
            ct.set_options(algorithm="mlem")
            ct.set_iterative(3)
            expected = ct.reconstruct(self.data)
            data = self.data.copy()
            empty = np.argwhere(data == 0)[0]
            data[tuple(empty)] = -0.5
            np.testing.assert_array_equal(ct.reconstruct(data), expected)
            self.assertEqual(ct.info().replaced_values, 1)
            ct.set_options(algorithm="sirt", input="counts")
            ct.set_flat_field(np.ones((2, 96), np.float32))
            seen = ct.reconstruct(np.exp(-0.02 * self.data))
            ct.set_options(algorithm="sirt")
            ct.set_flat_field(None)
            # The logarithm of exp(-x) is off by a rounding of 1, 6e-8, and lines are some 1 long.
            np.testing.assert_allclose(seen, ct.reconstruct(np.float32(0.02) * self.data), rtol=0, atol=1e-5)


if __name__ == "__main__":
    unittest.main()
