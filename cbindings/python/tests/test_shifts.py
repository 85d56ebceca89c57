"""Samples of a field of view whose middle lies elsewhere, against ellipses that do."""
import math
import unittest

import numpy as np

import isocenter

N = 40
ELLIPSES = np.array([[1.0, 2, -1, 0, 13, 11, 0, 0.3], [0.5, 6, -1, 0, 4, 4, 0, 0]])


class Shifts(unittest.TestCase):
    def setUp(self):
        self.k = np.random.default_rng(0).uniform(-0.5, 0.5, (300, 2))
        self.plan = isocenter.MRI(trajectory=self.k, unit="cycles_per_voxel", nx=N, ny=N)

    def measured(self, at=(0, 0), dtype="complex64"):
        return self.plan.phantom_samples(ELLIPSES - np.array([0, *at, 0, 0, 0, 0, 0]), np.zeros(300, dtype))

    def test_ellipses_move(self):
        at = (2.25, -3.5)
        for dtype, relative in (("complex64", 1e-5), ("complex128", 1e-12)):  # of as many digits
            for unit, scale, shift in (("cycles_per_voxel", 1, at), ("radians_per_voxel", 2 * math.pi, at), ("cycles_per_field_of_view", N, np.array(at) / N)):
                with self.subTest(unit, dtype=dtype):
                    seen = isocenter.shift_samples(self.measured(dtype=dtype), scale * self.k, shift, unit=unit)
                    self.assertEqual(seen.dtype, dtype)
                    expected = self.measured(at, dtype)
                    self.assertLess(np.linalg.norm(seen - expected), relative * np.linalg.norm(expected))

    def test_shapes(self):
        samples = np.stack([self.measured(), 2j * self.measured()])
        expected = np.stack([isocenter.shift_samples(s, self.k, (1, 2), unit="cycles_per_voxel") for s in samples])
        np.testing.assert_array_equal(isocenter.shift_samples(samples, self.k, (1, 2), unit="cycles_per_voxel"), expected)
        shots = isocenter.shift_samples(samples.reshape(2, 10, 30), self.k.reshape(10, 30, 2).astype("float32"), (1, 2), unit="cycles_per_voxel")
        np.testing.assert_allclose(shots.reshape(2, 300), expected, rtol=1e-4)
        volume = isocenter.shift_samples(samples, np.column_stack([self.k, np.full(300, 0.25)]), (1, 2, 1), unit="cycles_per_voxel")
        np.testing.assert_allclose(volume, 1j * expected, atol=1e-5 * np.abs(expected).max())

    def test_mistakes(self):
        samples = self.measured()
        for words, error, arguments in (
                ("samples is float64; it must be a complex NumPy array", TypeError, (samples.real.astype(float), self.k, (1, 2))), ("samples is list", TypeError, (list(samples), self.k, (1, 2))),
                ("trajectory is of complex128", TypeError, (samples, self.k[:, 0] + 1j * self.k[:, 1], (1, 2))),
                (r"trajectory has shape \(2, 300\); of samples of shape \(300,\) it must be \(300, axes\)", ValueError, (samples, self.k.T, (1, 2))),
                (r"trajectory has shape \(299, 2\)", ValueError, (samples, self.k[1:], (1, 2))), (r"trajectory has shape \(1, 300, 2\)", ValueError, (samples, self.k[None], (1, 2))),
                (r"shift is \(1.0, 2.0, 3.0\); it must be 2 finite numbers", ValueError, (samples, self.k, (1, 2, 3))), ("must be 2 finite", ValueError, (samples, self.k, (1, math.nan))),
                ("shift is of", TypeError, (samples, self.k, ("a", "b")))):
            with self.subTest(words), self.assertRaisesRegex(error, words):
                isocenter.shift_samples(*arguments, unit="cycles_per_voxel")
        with self.assertRaisesRegex(ValueError, "unit is 'cycles'; it must be one of"):
            isocenter.shift_samples(samples, self.k, (1, 2), unit="cycles")
        with self.assertRaisesRegex(ValueError, "it is in fields of view, below 1: divide voxels by nx, ny and nz"):
            isocenter.shift_samples(samples, N * self.k, (3, 0), unit="cycles_per_field_of_view")


if __name__ == "__main__":
    unittest.main()
