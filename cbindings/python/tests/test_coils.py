"""Coils: values against NumPy, and mistakes."""
import unittest

import numpy as np

import isocenter


def random(shape, dtype="complex64", seed=1):
    rng = np.random.default_rng(seed)
    return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(dtype)


class Coils(unittest.TestCase):
    def test_whitened_noise_has_unit_parts(self):
        noise = np.einsum("cd,dys->cys", random((4, 4), "complex128"), random((4, 10, 100), "complex128", 2))
        for dtype, bound in (("complex64", 1e-4), ("complex128", 1e-9)):
            matrix = isocenter.coil_whitening(noise.astype(dtype))
            self.assertEqual((matrix.shape, matrix.dtype), ((4, 4), np.dtype(dtype)))
            white = isocenter.coil_apply(matrix, noise.astype(dtype)).reshape(4, -1)
            self.assertLess(np.abs(white @ white.conj().T / 1000 - 2 * np.eye(4)).max(), bound)
        given = np.zeros((4, 4), "complex128")
        self.assertIs(isocenter.coil_whitening(noise, given), given)
        with self.assertRaisesRegex(isocenter.errors.TensorShapeError, "3 samples of 4 coils"):
            isocenter.coil_whitening(noise[:, 0, :3])

    def test_compression_is_an_svd(self):
        data = random((6, 5, 40), "complex128") * (0.5 ** np.arange(6))[:, None, None]
        values = np.linalg.svd(data.reshape(6, -1), compute_uv=False) ** 2
        for kept in (1, 3, 6):
            matrix, energy = isocenter.coil_compression(data, kept)
            self.assertAlmostEqual(energy, values[:kept].sum() / values.sum(), places=12)
            out = isocenter.coil_apply(matrix, data)
            self.assertEqual(out.shape, (kept, 5, 40))
            self.assertAlmostEqual(np.linalg.norm(out) ** 2, values[:kept].sum(), places=9)
        with self.assertRaisesRegex(isocenter.errors.OutOfRangeError, "7 virtual coils"):
            isocenter.coil_compression(data, 7)

    def test_geometric_compression_keeps_more(self):
        data = random((6, 5, 16), "complex128")
        matrix, energy = isocenter.coil_compression(data, 3, geometric=True)
        self.assertEqual(matrix.shape, (16, 3, 6))
        self.assertGreater(energy, isocenter.coil_compression(data, 3)[1])
        out = isocenter.coil_apply(matrix, data)
        self.assertEqual(out.shape, (3, 5, 16))
        self.assertAlmostEqual(np.linalg.norm(out) ** 2 / np.linalg.norm(data) ** 2, energy, places=12)

    def test_two_sets_of_maps_take_an_object_beyond_the_field_of_view(self):
        """Rows beyond it fold onto others, where no one sensitivity explains what coils see. Every second line beyond the middle 32 is left out. Noise is 0.5 % of coils'
        images, of which SENSE with as many places folded leaves some three times as much; one set leaves what it cannot explain, 17 %."""
        full, ny, nx, coils, width = 128, 96, 128, 8, 32
        y, x = (np.mgrid[:full, :nx] - 64) / 128
        body = ((x / 0.36)**2 + (y / 0.46)**2 < 1) + 0.5 * ((x - 0.1)**2 + (y + 0.3)**2 < 0.01) - 0.4 * ((x + 0.12)**2 + (y - 0.1)**2 < 0.015)
        turns = 2 * np.pi * np.arange(coils) / coils
        seen = np.stack([body * np.exp(-3 * ((x - 0.6 * np.cos(t))**2 + (y - 0.6 * np.sin(t))**2) + 1j * (t + x * np.sin(t) + y)) for t in turns])
        folded = np.zeros((coils, ny, nx), "complex128")
        for row in range(full):
            folded[:, (row - 64 + ny // 2) % ny] += seen[:, row]
        axes = dict(axes=(1, 2))
        kspace = np.fft.fftshift(np.fft.fft2(np.fft.ifftshift(folded, **axes)), **axes)
        kspace += 0.3 * random(kspace.shape)
        lines = np.unique(np.r_[0:ny:2, ny // 2 - width // 2:ny // 2 + width // 2])
        ky, kx = np.meshgrid((lines - ny // 2) / ny, (np.arange(nx) - nx // 2) / nx, indexing="ij")
        calibration = kspace[:, (ny - width) // 2:(ny + width) // 2, (nx - width) // 2:(nx + width) // 2].astype("complex64")
        errors = []
        for sets in (None, 2):
            maps = isocenter.coil_maps(calibration, (ny, nx), sets=sets, crop=0.8)
            with isocenter.MRI(trajectory=np.stack([kx.ravel(), ky.ravel()], 1), unit="cycles_per_voxel", nx=nx, ny=ny, coils=coils) as mri:
                mri.set_maps(maps)
                mri.set_options(iterations=40, lambda_=1.0)
                image = mri.reconstruct(kspace[:, lines].reshape(coils, -1).astype("complex64"))
                self.assertEqual(image.shape, (ny, nx) if sets is None else (2, ny, nx))
            fit = maps * image if sets is None else (maps * image[:, None]).sum(0)
            errors.append(np.linalg.norm(fit - folded) / np.linalg.norm(folded))
        self.assertGreater(errors[0], 0.1)
        self.assertLess(errors[1], 0.02)

    def test_known_sensitivities_are_found(self):
        n, taps = 20, random((3, 3, 3), "complex128", 4)
        object_ = random((n + 2, n + 2), "complex128", 6)
        data = sum(taps[:, a, b, None, None] * object_[2 - a:2 - a + n, 2 - b:2 - b + n] for a in range(3) for b in range(3))
        y, x = (np.arange(30) - 15) / 30, (np.arange(26) - 13) / 26
        turn = np.exp(2j * np.pi * (np.arange(-1, 2)[:, None, None, None] * y[:, None] + np.arange(-1, 2)[:, None, None] * x))
        expected = np.einsum("cab,abyx->cyx", taps, turn)
        expected /= np.linalg.norm(expected, axis=0)
        maps, values = isocenter.coil_maps(data, (30, 26), eigenvalues=True, threshold=1e-4)
        self.assertEqual((maps.shape, maps.dtype, values.shape, values.dtype), ((3, 30, 26), np.dtype("complex128"), (30, 26), np.dtype("float64")))
        self.assertLess(np.abs(values - 1).max(), 1e-4)
        self.assertLess(np.abs(np.abs((maps.conj() * expected).sum(0)) - 1).max(), 1e-4)
        again = np.zeros((2, 3, 30, 26), "complex64")
        self.assertIs(isocenter.coil_maps(data, maps=again, threshold=1e-4), again)
        self.assertLess(np.abs(again[0] - maps).max(), 1e-4)
        self.assertEqual(isocenter.coil_maps(data, (30, 26), sets=2, method="adaptive", window=3).shape, (2, 3, 30, 26))

    def test_maps_in_a_plan(self):
        maps = isocenter.coil_maps(random((2, 8, 8, 8)), (10, 9, 8), kernel_x=3, kernel_y=3, kernel_z=3, threshold=0.5, crop=-1)
        with isocenter.MRI(trajectory=np.random.default_rng(0).uniform(-0.5, 0.5, (50, 3)), unit="cycles_per_voxel", nx=8, ny=9, nz=10,
                           coils=2) as mri:
            mri.set_maps(maps)
            self.assertEqual(mri.image_shape, (10, 9, 8))

    def test_mistakes(self):
        data = random((2, 8, 8))
        for call, kind, words in (
                (lambda: isocenter.coil_maps(data), TypeError, "shape is None"),
                (lambda: isocenter.coil_maps(data, (9, 9, 9)), ValueError, "must have 2 sizes"),
                (lambda: isocenter.coil_maps(data, (9, 9), method="best"), ValueError, "method is 'best'"),
                (lambda: isocenter.coil_maps(data, (9, 9), kernel_y=9), isocenter.errors.OutOfRangeError, "kernel_y is 9, calibration has 8"),
                (lambda: isocenter.coil_maps(data, (9, 9), sets=3), isocenter.errors.OutOfRangeError, "3 sets"),
                (lambda: isocenter.coil_maps(data[0], (9, 9)), isocenter.errors.TensorNdimError, r"\(coils, ny, nx\)"),
                (lambda: isocenter.coil_maps(data.real, (9, 9)), isocenter.errors.TensorDtypeError, "calibration"),
                (lambda: isocenter.coil_apply(data[0], data, context=1), TypeError, "context is int")):
            with self.subTest(words), self.assertRaisesRegex(kind, words):
                call()


if __name__ == "__main__":
    unittest.main()
