"""Raw scans of an object that is larger than the field of view, with several sets of sensitivities."""
import os
import tempfile
import unittest

import numpy as np

import isocenter
import isocenter.raw
from raw_files import acquisition, header, write

FULL, NY, NX, COILS, MIDDLE = 128, 96, 128, 8, 32  # rows of the object and of the field of view; fully sampled lines


def folded():
    """What coils see: rows beyond the field of view fold onto others."""
    y, x = (np.mgrid[:FULL, :NX] - 64) / 128
    body = ((x / 0.36)**2 + (y / 0.46)**2 < 1) + 0.5 * ((x - 0.1)**2 + (y + 0.3)**2 < 0.01) - 0.4 * ((x + 0.12)**2 + (y - 0.1)**2 < 0.015)
    turns = 2 * np.pi * np.arange(COILS) / COILS
    seen = np.stack([body * np.exp(-3 * ((x - 0.6 * np.cos(t))**2 + (y - 0.6 * np.sin(t))**2) + 1j * (t + x * np.sin(t) + y)) for t in turns])
    out = np.zeros((COILS, NY, NX), complex)
    for row in range(FULL):
        out[:, (row - 64 + NY // 2) % NY] += seen[:, row]
    return out


class Sets(unittest.TestCase):
    def test_an_object_larger_than_the_field_of_view(self):
        """ESPIRiT's sets are orthonormal at each voxel, so that the root of the sum of squares of their images is that of coils' images. Noise is 0.5 % of these, of which SENSE leaves
        some three times as much; one set leaves what it cannot explain."""
        seen = folded()
        kspace = np.fft.fftshift(np.fft.fft2(np.fft.ifftshift(seen, axes=(1, 2)), axes=(1, 2)), axes=(1, 2))
        rng = np.random.default_rng(1)
        kspace += 0.3 * (rng.standard_normal(kspace.shape) + 1j * rng.standard_normal(kspace.shape))
        lines = np.unique(np.r_[0:NY:2, (NY - MIDDLE) // 2:(NY + MIDDLE) // 2])
        text = header(kind="cartesian", encoded=((1, NY, NX), (5, 1.5 * NY, 1.5 * NX)), coils=COILS, centres=(NY // 2,))
        expected, errors = np.sqrt((np.abs(seen)**2).sum(0)), {}
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "scan.h5")
            write(path, text, [acquisition(kspace[:, line], kspace_encode_step_1=int(line)) for line in lines])
            for sets in (1, 2):
                made = isocenter.raw.reconstruct(path, map_sets=sets, crop=0.8, calibration=MIDDLE, iterations=40)
                self.assertEqual(made.images.shape, (1, 1, NY, NX))
                errors[sets] = np.linalg.norm(np.abs(made.images[0, 0]) - expected) / np.linalg.norm(expected)
            for bad in (0, 1.5, True):
                self.assertRaisesRegex(ValueError, "map_sets is", isocenter.raw.reconstruct, path, map_sets=bad)
            self.assertRaisesRegex(ValueError, "map_sets is for sensitivities that calibration finds", isocenter.raw.reconstruct, path, map_sets=2,
                                   maps=np.ones((COILS, NY, NX), "complex64"))
        self.assertGreater(errors[1], 0.08)
        self.assertLess(errors[2], 0.02)


if __name__ == "__main__":
    unittest.main()
