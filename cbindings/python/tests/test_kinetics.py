"""Patlak images against an analytic model, and files of plasma."""
import contextlib
import io
import unittest
from unittest import mock

import numpy as np

import isocenter.images
from isocenter.kinetics import patlak, read_plasma
from isocenter.kinetics.__main__ import main
from isocenter.kinetics._plasma import Curve
from test_images import Folder, nibabel

#: Of plasma, Bq/ml and 1/s: it falls so slowly that frames have no curvature to speak of.
PEAK, RATE = 30_000.0, 1 / 3000
EDGES = np.array([0, 60, 120, 300, 600, 900, *np.arange(1200, 3601, 300)], float)
TIMES = np.stack([EDGES[:-1], EDGES[1:]], axis=1)


def tissue(k1, k2, k3, blood, times=TIMES):
    """Means over frames, Bq/ml, of two compartments, of which the second keeps what it has: K1 in ml/ml/s, k2 and k3 in 1/s, and a part of blood. Plasma is PEAK exp(-RATE t) from 0 on.

    The response is K1 / (k2 + k3) (k3 + k2 exp(-(k2 + k3) t)), and its convolution with plasma is a sum of exponentials.
    """
    out = k2 + k3
    begins, ends = times.T
    mean = lambda rate: (np.exp(-rate * begins) - np.exp(-rate * ends)) / (rate * (ends - begins))
    exposure = PEAK / RATE * (1 - mean(RATE))
    free = PEAK / (out - RATE) * (mean(RATE) - mean(out))
    return k1 / out * (k3 * exposure + k2 * free) + blood * PEAK * mean(RATE)


def plasma(step=1.0, last=3600.0):
    """Straight between samples the curve is above the exponential by (RATE step)^2 / 8 of it at most, 1.4e-8."""
    times = np.arange(0, last + step / 2, step)
    return np.stack([times, PEAK * np.exp(-RATE * times)], axis=1)


class Model(unittest.TestCase):
    def test_slope_and_intercept(self):
        """The slope is K1 k3 / (k2 + k3), and the intercept, since the plasma falls, K1 k2 / ((k2 + k3) (k2 + k3 - RATE)) + blood. What is free comes to its part of the plasma as
        exp(-(k2 + k3) t): of 0.27 1/min it lacks 4e-3 in the mean of the first frame, of an intercept of 0.18, 7e-4, where the plot goes from 27 to 110 min: 1e-5 of the slope, 0.0037."""
        voxels = [(0.1, 0.2, 0.1, 0.05), (0.05, 0.25, 0.02, 0.0), (0.3, 0.3, 0.3, 0.1)]
        rates = [(k1 / 60, k2 / 60, k3 / 60, blood) for k1, k2, k3, blood in voxels]
        series = np.stack([tissue(*of) for of in rates], axis=1).reshape(-1, 1, 1, 3)
        with mock.patch("isocenter.kinetics._patlak._AT_ONCE", 2):
            found = patlak(series, TIMES, plasma(), 20)
        self.assertEqual(found.frames.tolist(), list(range(6, 14)))
        self.assertEqual(found.ki.shape, (1, 1, 3))
        for k, (k1, k2, k3, blood) in enumerate(rates):
            ki, volume = k1 * k3 / (k2 + k3), k1 * k2 / ((k2 + k3) * (k2 + k3 - RATE)) + blood
            self.assertAlmostEqual(found.ki[0, 0, k] / (60 * ki), 1, delta=5e-3)
            self.assertAlmostEqual(found.intercept[0, 0, k] / volume, 1, delta=1e-2)
            self.assertLess(found.residual[0, 0, k], 1e-3)
        # From the beginning on, what is free has not come to its part yet, which the residual tells.
        self.assertGreater(patlak(series, TIMES, plasma(), 0).residual[0, 0, 1], 10 * found.residual[0, 0, 1])

    def test_a_straight_plot_is_found_exactly(self):
        """Of plasma that is straight between few samples; whatever the weights. Rounding is that of float32."""
        samples = np.array([[30.0, 9000.0], [90.0, 4000.0], [600.0, 2000.0], [4000.0, 500.0]])
        fine = np.arange(0, 3600, 0.01) + 0.005
        level = np.interp(fine, [0, *samples[:, 0]], [0, *samples[:, 1]])
        once = np.cumsum(level) * 0.01 - level * 0.005
        means = lambda values: np.array([values[(fine > a) & (fine < b)].mean() for a, b in TIMES])
        series = np.stack([0.02 / 60 * means(once) + 0.4 * means(level), 0.5 * means(level)], axis=1)
        for weights in (None, np.linspace(1, 3, len(TIMES))):
            found = patlak(series, TIMES, samples, 15, weights)
            np.testing.assert_allclose(found.ki, [0.02, 0], rtol=1e-5, atol=1e-7)
            np.testing.assert_allclose(found.intercept, [0.4, 0.5], rtol=1e-5)

    def test_integrals(self):
        curve = Curve(np.array([[10.0, 4.0], [20.0, 2.0]]))
        np.testing.assert_allclose(curve.integral(np.array([0.0, 5.0, 10.0, 15.0, 20.0, 30.0])), [0, 5, 20, 37.5, 50, 70])
        # 0.4 t^3 / 6 to 10 s.
        np.testing.assert_allclose(curve.second_integral(np.array([5.0, 10.0])), [0.4 * 125 / 6, 0.4 * 1000 / 6])
        # Samples before 0 s are of what is before.
        np.testing.assert_allclose(Curve(np.array([[-10.0, 0.0], [10.0, 2.0]])).integral(np.array([10.0])), [15])

    def test_weights_of_noise(self):
        """Frames of four times the time have half the deviation; of 400 voxels the mean is certain to 1/20 of that of one."""
        rng, times = np.random.default_rng(0), np.stack([np.arange(1200, 3600, 120.0), np.arange(1320, 3601, 120.0)], axis=1)
        pure = tissue(0.1 / 60, 0.2 / 60, 0.1 / 60, 0.05, times)
        noisy = pure[:, None] * (1 + 0.02 * rng.normal(size=(len(times), 400)))
        found = patlak(noisy, times, plasma(), 20)
        error = found.ki.std() / 20
        self.assertAlmostEqual(found.ki.mean(), patlak(pure, times, plasma(), 20).ki.item(), delta=4 * error)

    def test_mask(self):
        series = np.stack([tissue(0.1 / 60, 0.2 / 60, 0.1 / 60, 0.05)] * 4, axis=1)
        series[:, 1] = 0
        series[8, 2] = np.nan
        found = patlak(series, TIMES, plasma(), 20)
        self.assertEqual(found.mask.tolist(), [True, False, False, True])
        self.assertEqual(np.isnan(found.ki).tolist(), [False, True, True, False])
        series[8] = np.nan
        with self.assertWarnsRegex(UserWarning, "1 frames have no number in any voxel"):
            found = patlak(series, TIMES, plasma(), 20)
        self.assertEqual((found.mask.tolist(), len(found.frames)), ([True, False, True, True], 7))

    def test_mistakes(self):
        series = np.ones((14, 2))
        for words, arguments in (("start is 1200 min, and 0 frames begin then or later, of a series from 0 to 60 min", (series, TIMES, plasma(), 1200)), ("start is 55 min, and 1 frames", (series, TIMES, plasma(), 55)),
                                 ("times has shape \\(13, 2\\).*each of 14 frames", (series, TIMES[1:], plasma(), 20)), ("times has shape", (series, TIMES[:, ::-1], plasma(), 20)),
                                 ("plasma has shape \\(3600,\\)", (series, TIMES, np.ones(3600), 20)), ("plasma has times that do not ascend", (series, TIMES, plasma()[::-1], 20)),
                                 ("plasma ends at 60 s, and the last frame is from 3300 to 3600 s: its times may be in another unit", (series, TIMES, plasma(last=60), 20)),
                                 ("plasma has the same course in all 2 frames", (series[-2:], TIMES[[-1, -1]], plasma(), 20)), ("series is complex128", (1j * series, TIMES, plasma(), 20)),
                                 ("weights has shape \\(3,\\)", (series, TIMES, plasma(), 20, np.ones(3)))):
            with self.subTest(words), self.assertRaisesRegex(ValueError, "^patlak: " + words):
                patlak(*arguments)
        self.assertRaisesRegex(TypeError, "start is '20'", patlak, series, TIMES, plasma(), "20")
        with self.assertWarnsRegex(UserWarning, "plasma ends at 3500 s, before the last frame does, at 3600 s: its last value is held"):
            patlak(series, TIMES, plasma(last=3500), 20)


class Files(Folder):
    def plasma(self, text, **words):
        with open(self.path("plasma.csv"), "w") as file:
            file.write(text)
        return read_plasma(self.path("plasma.csv"), **words)

    def test_units_of_plasma(self):
        for text, words in (("0,1\n60,2", {}), ("time,activity\n0,1\n60,2\n", {}), ("sample-time[minutes]\tplasma[kBq/cc]\n0\t0.001\n1\t0.002", {}), ("# of a patient\ntime (s); plasma (Bq/ml)\n0; 1\n60; 2", {}),
                            ("0 1\n1 2", dict(time="min")), ("time_min,plasma\n0,1\n1,2", {}), ("0,0.001\n60,0.002", dict(unit="kBq/ml")), ("time[h],plasma\n0,1\n60,2", dict(time="s"))):
            with self.subTest(text):
                np.testing.assert_allclose(self.plasma(text, **words), [[0, 1], [60, 2]], rtol=1e-12)
        np.save(self.path("plasma.npy"), [[0, 1], [60, 2]])
        np.testing.assert_array_equal(read_plasma(self.path("plasma.npy")), [[0, 1], [60, 2]])
        for words, text, given in (("rows of 3 numbers", "0,1,2\n1,2,3", {}), ("rows of 2 and of 1 numbers", "0,1\n2", {}), ("has 'a,b' in line 2", "0,1\na,b", {}), ("has no numbers", "time,plasma\n", {}),
                                   ("a column time\\[h\\], in a unit that is not known: pass time", "time[h],plasma\n0,1\n1,2", {}), ("a column plasma\\[counts\\].*pass unit", "time,plasma[counts]\n0,1\n1,2", {}),
                                   ("unit is 'Ci'", "0,1\n1,2", dict(unit="Ci")), ("numbers that are not finite", "0,1\n1,nan", {}), ("do not ascend", "1,1\n0,2", {})):
            with self.subTest(words), self.assertRaisesRegex(ValueError, words):
                self.plasma(text, **given)

    @unittest.skipIf(nibabel is None, "nibabel is not installed")
    def test_command(self):
        series = np.zeros((14, 2, 3, 4), np.float32)
        series[:, 0] = tissue(0.1 / 60, 0.2 / 60, 0.1 / 60, 0.05)[:, None, None]
        isocenter.images.write_nifti(self.path("series.nii.gz"), series, 4.0, (1.0, 2.0, 3.0), unit="Bq/ml", starts=TIMES[:, 0], durations=TIMES[:, 1] - TIMES[:, 0])
        np.savetxt(self.path("plasma.csv"), plasma(10.0) / (60, 1000), header="time[min],plasma[kBq/ml]", comments="", delimiter=",")
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            main([self.path("series.nii.gz"), "--plasma", self.path("plasma.csv"), "--start", "20", "-o", self.path("ki.nii.gz")])
        self.assertIn("frames: 8 of 14, 6 to 13\n", said.getvalue())
        made = {name: isocenter.images.read_nifti(self.path(f"ki{name}.nii.gz")) for name in ("", "_intercept", "_mask")}
        expected = patlak(series, TIMES, plasma(10.0), 20)
        np.testing.assert_allclose(made[""].image, expected.ki, rtol=1e-5)
        np.testing.assert_allclose(made["_intercept"].image, expected.intercept, rtol=1e-4)
        np.testing.assert_array_equal(made["_mask"].image, expected.mask)
        self.assertEqual([of.unit for of in made.values()], ["ml/ml/min", "ml/ml", ""])
        np.testing.assert_allclose(made[""].centre, (1, 2, 3), atol=1e-5)
        isocenter.images.write_nifti(self.path("plain.nii"), series, 4.0)
        for words, series, options in (("plain.nii does not say the times of its frames: give --frames, or plain.json beside it", "plain.nii", []), ("must end in .nii", "series.nii.gz", ["-o", "ki.png"]),
                                       ("ki_mask.nii.gz is one volume", "ki_mask.nii.gz", []), ("No such file", "none.nii", []), ("start is 100 min", "series.nii.gz", ["--start", "100"])):
            with self.subTest(words), self.assertRaises(SystemExit) as caught:
                main([self.path(series), "--plasma", self.path("plasma.csv"), "--start", "20", "-o", self.path("out.nii"), *options])
            self.assertIn(words, str(caught.exception))
        with contextlib.redirect_stdout(io.StringIO()):
            main([self.path("plain.nii"), "--plasma", self.path("plasma.csv"), "--start", "20", "-o", self.path("out.nii"), "--frames", "2x60,180,2x300,300,8x300"])
        np.testing.assert_array_equal(isocenter.images.read_nifti(self.path("out.nii")).image, made[""].image)


if __name__ == "__main__":
    unittest.main()
