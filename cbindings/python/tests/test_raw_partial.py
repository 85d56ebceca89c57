"""Partial Fourier: lines of little more than half of k-space, of images whose phase is smooth."""
import math
import os
import unittest

import numpy as np

from test_raw import COILS, N, grid, lines, measured, plan, sensitivities
from test_raw_ways import Kinds, Ways


class Partial(Kinds, Ways):
    test_errors = None  # of the other kinds

    def shifted(self, phase, turns):
        """All lines of the phantom times exp(i phase + 2 pi i turns . r), r in fields of view: its samples, moved."""
        return measured(np.clip(grid() - np.array(turns) / N, -0.5, 0.5)) * np.exp(1j * phase)

    def test_against_ellipses(self):
        """A phase that is exact in k-space, a constant and a slope."""
        full, found = self.shifted(0.8, (0.0, 0.7)), {}
        for name, coils, kept in (("lower", COILS, range(30)), ("upper", COILS, range(18, N)), ("lower, one coil", 1, range(30)), ("upper, one coil", 1, range(18, N))):
            made = [lines(full[:coils])[y] for y in kept]
            with self.subTest(name), self.quiet():
                seen = self.image(made, coils=coils)
                self.assertEqual(seen.partial_fourier, "y")
                # Of all lines it is 1.9 %, and without a phase 5.9 and 3.5 % of one coil; the phase of a low resolution is off at edges.
                shades = sensitivities()[:coils]
                self.assertLess(self.error(seen.images[0, 0], shades), 2.0 if coils > 1 else 4.0)
                # The phase that was presumed is the object's.
                turn = seen.images[0, 0] * np.exp(-1j * (0.8 + 2 * math.pi * 0.7 * (np.arange(N)[:, None] - N // 2) / N))
                inside = np.abs(turn) > 0.5 * np.abs(turn).max()
                angles = np.angle(turn[inside] * np.conj(turn[inside].sum()))
                self.assertLess(np.sqrt(np.mean(angles**2)), 0.1)
                blurred = self.image(made, coils=coils, options={"partial_fourier": False})
                self.assertEqual(blurred.partial_fourier, "")
                # Several coils tell a part of what is not measured; one coil tells nothing of it.
                truth = np.abs(self.image(lines(full[:coils]), coils=coils).images[0, 0])
                wrong = [np.linalg.norm(np.abs(i.images[0, 0]) - truth) / np.linalg.norm(truth) for i in (seen, blurred)]
                found[name] = [round(float(w), 4) for w in wrong]
                self.assertLess(wrong[0], (0.85 if coils > 1 else 0.5) * wrong[1], wrong)
        if os.environ.get("ISOC_TEST_FIGURES"):
            print(found)

    def simulated(self, image, coils=True):
        """All lines of an image on the grid."""
        maps = sensitivities() if coils else np.ones((1, N, N), "complex64")
        with plan(grid().reshape(-1, 2), coils=len(maps)) as mri:
            mri.set_maps(np.ascontiguousarray(maps))
            return mri.forward(np.ascontiguousarray(image, "complex64")).reshape(len(maps), N, N)

    def bent(self):
        """The phantom with a phase that bends, over 2 rad."""
        y, x = (np.mgrid[:N, :N] - N // 2) / N
        return ((np.hypot(x - 0.03, y + 0.02) < 0.36) + 0.6 * (np.hypot(x - 0.2, y) < 0.1)) * np.exp(1j * (1.0 + 3 * (y + 0.2)**2 + 2 * x * y))

    def test_a_phase_that_bends(self):
        """Of several coils and of one, along y, along x, along both; with every other line; with wavelets."""
        truth = self.bent()
        for name, coils, kept, first, options, most in (
                ("y", True, range(30), 0, {}, 0.12), ("one coil", False, range(30), 0, {}, 0.12), ("x", True, range(N), 18, {}, 0.12), ("both", True, range(18, N), 14, {}, 0.16),
                ("every other line", True, [y for y in range(34) if y % 2 == 0 or 12 <= y < 36], 0, {}, 0.14),
                ("wavelets", True, range(30), 0, {"penalty": "wavelets", "regularisation": 1e-4}, 0.12)):
            full = self.simulated(truth, coils)
            made = [a for y, a in enumerate(lines(full[..., first:], center_sample=N // 2 - first)) if y in kept]
            with self.subTest(name), self.quiet():
                seen = self.image(made, coils=len(full), options=options)
                self.assertEqual(seen.partial_fourier, {"x": "x", "both": "xy"}.get(name, "y"))
                blurred = self.image(made, coils=len(full), options={**options, "partial_fourier": False})
                shade = np.linalg.norm(sensitivities(), axis=0) if coils else 1.0
                wrong = [np.linalg.norm(np.abs(i.images[0, 0]) - np.abs(truth) * shade) / np.linalg.norm(truth * shade) for i in (seen, blurred)]
                self.assertLess(wrong[0], most, wrong)
                self.assertLess(wrong[0], 0.8 * wrong[1], wrong)

    def test_what_is_no_partial_fourier(self):
        for kept in (range(N), range(1, N), range(2, N - 1)):
            with self.quiet():
                self.assertEqual(self.image([lines(self.full)[y] for y in kept]).partial_fourier, "")
        with self.warns("along y is measured on one side of its middle, and 2 lines beyond: a phase needs 4"):
            self.image([lines(self.full)[y] for y in range(22, N)], options={"maps": sensitivities()})


if __name__ == "__main__":
    unittest.main()
