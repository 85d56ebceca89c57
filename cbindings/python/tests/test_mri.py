"""MRI: values against direct sums and analytic phantoms."""
import math
import unittest

import numpy as np

import isocenter

N, SPOKES, READOUT = 64, 101, 128


def spokes():
    """(samples, 2), cycles per voxel."""
    angle, along = np.arange(SPOKES) * math.pi / SPOKES, (np.arange(READOUT) - READOUT / 2) / READOUT
    return np.stack([np.outer(np.cos(angle), along), np.outer(np.sin(angle), along)], axis=-1).reshape(-1, 2)


def scattered(axes, n, seed=0):
    return np.random.default_rng(seed).uniform(-0.5, 0.5, (n, axes))


def complex_random(shape, dtype="complex64", seed=1):
    rng = np.random.default_rng(seed)
    return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(dtype)


def direct(image, k, positions=None, phase=0):
    """Sum of rho exp(-2 pi i (k.r)), x first in k, x last in the image."""
    if positions is None:
        positions = np.stack(np.meshgrid(*[np.arange(n) - n // 2 for n in image.shape], indexing="ij"), axis=-1)[..., ::-1]
    r = positions.reshape(-1, k.shape[1])
    return np.exp(-2j * math.pi * (k @ r.T + phase)) @ image.ravel()


class Mri(unittest.TestCase):
    def close_to(self, seen, expected, relative):
        self.assertLess(np.linalg.norm(seen - expected) / np.linalg.norm(expected), relative)

    def test_several_scans_are_each_by_itself(self):
        rng = np.random.default_rng(5)
        k = rng.random((80, 2)) - 0.5
        samples = (rng.standard_normal((4, 3, 80)) + 1j * rng.standard_normal((4, 3, 80))).astype("complex64")
        maps = rng.standard_normal((2, 3, 8, 9)) + 1j * rng.standard_normal((2, 3, 8, 9))
        told = []
        with isocenter.Context(progress=lambda part, stage: told.append(part)) as context, \
                isocenter.MRI(context, trajectory=k, unit="cycles_per_voxel", nx=9, ny=8, coils=3) as mri:
            mri.compute_weights()
            for given, images in ((None, (3,)), (maps[0], ()), (maps, (2,))):
                mri.set_maps(given)
                mri.set_options(iterations=3, lambda_=0.1)
                for method in (mri.adjoint, mri.gridding, mri.reconstruct):
                    told.clear()
                    together = method(samples)
                    self.assertEqual(together.shape, (4, *images, 8, 9))
                    self.assertEqual(told, sorted(told))
                    for scan, image in zip(samples, together):
                        np.testing.assert_array_equal(method(np.ascontiguousarray(scan)), image)
                method(samples)
                self.assertEqual(len(mri.history(4 * (3 if given is None else 1) - 1)), 4)
                full = together.reshape(4, -1, 1, 8, 9)
                several = mri.forward(full)
                self.assertEqual(several.shape, samples.shape)
                np.testing.assert_array_equal(mri.forward(together[2]), several[2])
            self.assertRaisesRegex(isocenter.TensorShapeError, "scans", mri.adjoint, samples, np.zeros((3, 2, 8, 9), "complex64"))

    def test_shots_see_one_image(self):
        rng = np.random.default_rng(4)
        k, image = rng.random((60, 2)) - 0.5, rng.standard_normal((8, 9)) + 1j * rng.standard_normal((8, 9))
        phases, shots = np.exp(1j * rng.standard_normal((2, 8, 9))), np.arange(60) % 2
        with isocenter.MRI(trajectory=k, unit="cycles_per_voxel", nx=9, ny=8, precision="double") as mri:
            apart = [mri.forward(phase * image) for phase in phases]
            mri.set_shots(shots, phases)
            self.assertLess(np.abs(mri.forward(image) - np.where(shots == 0, *apart)).max(), 1e-8)
            self.assertEqual(mri.image_shape, (8, 9))
            self.assertRaisesRegex(ValueError, "shots has 59 elements", mri.set_shots, shots[1:], phases)
            self.assertRaisesRegex(TypeError, "phases is None and shots is not", mri.set_shots, shots, None)
            self.assertRaisesRegex(isocenter.OutOfRangeError, r"shots\[0\] is 2", mri.set_shots, shots + 2, phases)
            mri.set_shots(None, None)
            self.assertLess(np.abs(mri.forward(phases[0] * image) - apart[0]).max(), 1e-8)

    def test_a_line_has_one_axis(self):
        rng = np.random.default_rng(3)
        k, image = rng.random(40) - 0.5, rng.standard_normal((1, 12)) + 0j
        expected = np.exp(-2j * np.pi * k[:, None] * (np.arange(12) - 6)) @ image[0]
        for trajectory in (k, k[:, None]):
            with isocenter.MRI(trajectory=trajectory, unit="cycles_per_voxel", nx=12, ny=1, precision="double") as mri:
                self.assertLess(np.abs(mri.forward(image) - expected).max(), 1e-8)
        with self.assertRaises(isocenter.Error):
            isocenter.MRI(trajectory=k, unit="cycles_per_voxel", nx=12, ny=2)

    def test_forward_is_the_sum_and_adjoint_its_transpose(self):
        for shape, axes in (((10, 14), 2), ((6, 8, 10), 3)):
            k, image = scattered(axes, 50), complex_random(shape)
            for dtype, precision, relative in (("complex64", "single", 1e-5), ("complex128", "double", 1e-9)):
                with self.subTest(shape=shape, precision=precision), isocenter.MRI(
                        trajectory=k, unit="cycles_per_voxel", nx=shape[-1], ny=shape[-2], nz=shape[0] if axes == 3 else 1,
                        precision=precision) as mri:
                    samples = mri.forward(image.astype(dtype))
                    self.assertEqual((samples.dtype, samples.shape), (np.dtype(dtype), (50,)))
                    self.close_to(samples, direct(image, k), relative)
                    y = complex_random(50, dtype, 2)
                    self.assertAlmostEqual(np.vdot(y, samples), np.vdot(mri.adjoint(y), image), delta=relative * 1e3)
                    mri.set_options(method="exact")
                    self.close_to(mri.forward(image.astype(dtype)), direct(image, k), 1e-5 if dtype == "complex64" else 1e-13)

    def test_trajectories_of_other_shapes(self):
        k, mri = scattered(2, 30), isocenter.MRI()
        self.addCleanup(mri.close)
        for wrong, error, words in (
                (k.T, isocenter.errors.TensorShapeError, r"\(2, 30\); .*: write trajectory.T$"),
                (k.reshape(5, 6, 2), isocenter.errors.TensorNdimError, r"write trajectory.reshape\(-1, 2\)"),
                (k[:, 0] + 1j * k[:, 1], isocenter.errors.TensorDtypeError, "trajectory.real.ravel.*trajectory.imag.ravel"),
                (np.zeros((30, 4)), isocenter.errors.TensorShapeError, r"trajectory has shape \(30, 4\); it must be \(samples, axes\) = \(30, 2\)")):
            with self.subTest(wrong.shape), self.assertRaisesRegex(error, words):
                mri.set_geometry(wrong, unit="cycles_per_voxel", nx=14, ny=10)

    def test_units(self):
        k, image = scattered(2, 30), complex_random((10, 14))
        expected = direct(image, k)
        for unit, scaled in (("cycles_per_voxel", k), ("cycles_per_field_of_view", k * [14, 10]),
                             (isocenter.enums.MriUnit.RADIANS_PER_VOXEL, k * 2 * math.pi)):
            with isocenter.MRI(trajectory=scaled.astype(np.float32), unit=unit, nx=14, ny=10) as mri:
                self.close_to(mri.forward(image), expected, 2e-5)
        with self.assertRaisesRegex(isocenter.OutOfRangeError, "radians"):
            isocenter.MRI(trajectory=k * 2 * math.pi, unit="cycles_per_voxel", nx=14, ny=10)
        self.assertRaisesRegex(ValueError, "cycles_per_voxel", isocenter.MRI, trajectory=k, unit="turns", nx=14, ny=10)
        self.assertRaises(TypeError, isocenter.MRI, trajectory=k, nx=14, ny=10)

    def test_a_phantom_comes_back(self):
        mri = isocenter.MRI(trajectory=spokes(), unit="cycles_per_voxel", nx=N, ny=N)
        head = mri.shepp_logan(N / 2)
        self.assertEqual(head[:2, 0].tolist(), [2.0, -0.8])
        self.assertEqual(mri.shepp_logan(N / 2, kind="original")[:2, 0].tolist(), [2.0, -0.98])
        samples, truth = mri.phantom_samples(head), mri.phantom_image(head)
        self.assertEqual((samples.shape, truth.shape, truth.dtype), ((SPOKES * READOUT,), (N, N), np.complex64))
        for density, parameter, worst in (("iterative", 0, 7.5), ("radial", READOUT, 10)):
            mri.compute_weights(density, parameter)
            gridded = mri.gridding(samples)
            self.assertLess(mri.compare(gridded, truth)[1], worst)  # percent, in its own scale
        weights = mri.weights()
        self.assertEqual((weights.dtype, weights.shape), (np.float64, (SPOKES * READOUT,)))
        self.assertAlmostEqual(weights.sum(), math.pi / 4, delta=0.01)  # the disk that spokes cover
        mri.set_options(iterations=12)
        solved = mri.reconstruct(samples)
        psnr, percent = mri.compare(solved, truth)
        self.assertGreater(psnr, mri.compare(gridded, truth)[0])
        self.assertGreater(psnr, 22)
        self.assertAlmostEqual(percent, 100 * np.linalg.norm(solved - truth) / np.linalg.norm(truth), delta=0.01)
        history = mri.history()
        self.assertEqual((len(history), history[0]), (13, 1.0))
        self.assertLess(history[-1], 0.05)
        # Started from there, the solver begins where it ended.
        mri.set_options(iterations=2, warm_start=True)
        self.assertRaisesRegex(TypeError, "warm_start", mri.reconstruct, samples)
        self.assertIs(mri.reconstruct(samples, solved), solved)
        self.assertLess(mri.history()[0], 2 * history[-1])
        self.assertEqual(mri.memory() > 0, True)

    def test_coils(self):
        k, shape = scattered(2, 3000), (12, 16)
        image, maps = complex_random(shape), complex_random((3, *shape), seed=5)
        with isocenter.MRI(trajectory=k, unit="cycles_per_voxel", nx=16, ny=12, coils=3) as mri:
            self.assertEqual((mri.image_shape, mri.samples_shape), ((3, 12, 16), (3, 3000)))
            images = complex_random((3, *shape))
            self.close_to(mri.forward(images), np.stack([direct(i, k) for i in images]), 2e-5)
            self.assertEqual(mri.reconstruct(mri.forward(images)).shape, images.shape)
            self.assertGreater(len(mri.history(2)), 1)
            self.assertRaises(isocenter.OutOfRangeError, mri.history, 3)
            mri.set_maps(maps)
            samples = mri.forward(image)
            self.close_to(samples, np.stack([direct(m * image, k) for m in maps]), 2e-5)
            mri.set_options(iterations=60)
            self.close_to(mri.reconstruct(samples), image, 1e-3)
            mri.set_maps(None)
            self.assertEqual(mri.image_shape, (3, 12, 16))

    def test_maps_without_calibration(self):
        k, n = spokes(), N
        y, x = (np.mgrid[:n, :n] - n // 2) / n
        disk = (x ** 2 + y ** 2 < 0.12).astype(complex)
        truth = np.stack([np.exp(-1.5 * ((x - a) ** 2 + (y - b) ** 2) + 1j * a * y) for a, b in ((-0.5, 0), (0.5, 0.1), (0, 0.5))])
        with isocenter.MRI(trajectory=k, unit="cycles_per_voxel", nx=n, ny=n, coils=3) as mri:
            samples = mri.forward((disk * truth).astype("complex64"))
            maps, image = mri.find_maps(samples)
            self.assertEqual((maps.shape, image.shape, maps.dtype, image.dtype), ((3, n, n), (n, n), samples.dtype, samples.dtype))
            length = (abs(maps) ** 2).sum(axis=0)
            self.close_to(length * disk.real, disk.real, 1e-5)
            self.assertLess(length.max(), 1 + 1e-5)
            left = mri.history()
            self.assertEqual(len(left), 11)
            # Image times maps is how far from the samples as the history says.
            far = np.linalg.norm(mri.forward(maps * image) - samples) / np.linalg.norm(samples)
            self.assertAlmostEqual(left[-1], far, delta=1e-3)
            self.assertLess(far, 0.02)
            self.assertGreater(mri.maps_memory(scale=1.0), mri.maps_memory())
            own = np.zeros((3, 1, n, n), "complex64")
            again, _ = mri.find_maps(samples, own, steps=2, iterations=5, residual=-1.0)
            self.assertIs(again, own)
            self.assertEqual(len(mri.history()), 3)
            for words, settings in (("steps is -1", {"steps": -1}), ("alpha is -1", {"alpha": -1.0}), ("order is 300", {"order": 300.0}),
                                    ("scale is NaN", {"scale": math.nan})):
                for call in (lambda s: mri.find_maps(samples, **s), lambda s: mri.maps_memory(**s)):
                    with self.subTest(words), self.assertRaisesRegex(isocenter.Error, words):
                        call(settings)
            self.assertRaises(TypeError, mri.find_maps, samples, steps=2.5)
            self.assertRaises(isocenter.NotFiniteDataError, mri.find_maps, samples * np.nan)
            self.assertRaises(isocenter.TensorShapeError, mri.find_maps, samples, own[:2])
            mri.set_maps(maps)
            self.assertRaisesRegex(isocenter.NotConfiguredError, "maps already", mri.find_maps, samples)
            # Where the object is, a solution with the maps is the root sum of squares of what the coils saw.
            seen = abs(mri.reconstruct(samples))
            self.close_to(seen * disk.real, np.sqrt((abs(truth) ** 2).sum(axis=0)) * disk.real, 0.15)
        with isocenter.MRI(trajectory=k, unit="cycles_per_voxel", nx=n, ny=n) as one:
            self.assertRaisesRegex(isocenter.NotConfiguredError, "coils is 1", one.find_maps, samples[0])
        with isocenter.MRI() as bare:
            self.assertRaises(isocenter.NotConfiguredError, bare.find_maps, samples)

    def test_field_and_positions(self):
        k, image = scattered(2, 40), complex_random((6, 8))
        field, times = np.linspace(-50, 50, 48).reshape(6, 8), np.linspace(0, 5e-3, 40)
        with isocenter.MRI(trajectory=k, unit="cycles_per_voxel", nx=8, ny=6, precision="double") as mri:
            mri.set_field(field, times)
            phase = np.outer(times, field.ravel())
            mri.set_options(tolerance=1e-8)
            self.close_to(mri.forward(image.astype(complex)), direct(image, k, phase=phase), 1e-8)
            self.assertIn(mri.info().field_terms, range(5, 20))
            self.assertLess(mri.info().field_error, 1e-8)
            # The model's matrix, a column for each voxel.
            model = np.stack([direct(unit.reshape(6, 8), k, phase=phase) for unit in np.eye(48)], 1)
            expected = (model.conj().T @ (model @ image.ravel())).reshape(6, 8)
            for normal in ("pair", "toeplitz"):
                mri.set_options(tolerance=1e-8, normal=normal)
                self.close_to(mri.normal(image.astype(complex)), expected, 1e-7)
            self.assertIn(mri.info().normal_terms, range(5, 30))
            self.assertLess(mri.info().normal_error, 1e-8)
            self.assertRaisesRegex(isocenter.Error, "no one Q", mri.export_q)
            mri.set_options(method="exact")
            self.close_to(mri.forward(image.astype(complex)), direct(image, k, phase=phase), 1e-12)
            decay = np.linspace(0, 100, 48).reshape(6, 8)
            for mode in ("auto", "exact"):
                mri.set_options(method=mode, tolerance=1e-8)
                for hertz in (field, None):
                    mri.set_field(hertz, times, decay)
                    complex_phase = (0 if hertz is None else phase) - 1j * np.outer(times, decay.ravel()) / (2 * np.pi)
                    self.close_to(mri.forward(image.astype(complex)), direct(image, k, phase=complex_phase), 1e-8)
            mri.set_options()
            mri.set_field(None, None)
            positions = np.random.default_rng(3).uniform(-3, 3, (6, 8, 2))
            mri.set_positions(positions)
            self.close_to(mri.forward(image.astype(complex)), direct(image, k, positions), 1e-12)
            mri.set_positions(None)
            self.close_to(mri.forward(image.astype(complex)), direct(image, k), 1e-8)

    def test_series(self):
        k, samples = scattered(2, 60), complex_random((2, 60), "complex128")
        maps, image = complex_random((2, 6, 8), "complex128"), complex_random((6, 8), "complex128")
        with isocenter.MRI(trajectory=k, unit="cycles_per_voxel", nx=8, ny=6, coils=2, precision="double") as mri:
            mri.set_maps(maps)
            mri.set_options(tolerance=1e-10)
            # Images that change: two, of a real and a complex column.
            basis, times = np.array([[1, 0.5j], [0.5, 2], [0, 1 - 1j]]), np.arange(60) % 3
            mri.set_basis(basis, times)
            self.assertEqual(mri.image_shape, (2, 6, 8))
            images = np.stack([image, 2j * image + 1])
            expected = sum(basis[times, n] * np.stack([direct(m * images[n], k) for m in maps]) for n in (0, 1))
            self.close_to(mri.forward(images), expected, 1e-8)
            found = mri.adjoint(samples)
            self.close_to(np.array([np.vdot(found, images)]), np.array([np.vdot(samples, expected)]), 1e-8)
            mri.set_options(tolerance=1e-10, iterations=200, residual=1e-9)
            # Few random samples make a system of a large condition; what the images explain of the samples does not depend on it.
            self.close_to(mri.forward(mri.reconstruct(expected)), expected, 1e-6)
            self.assertEqual(mri.info().normal_terms, 4)
            self.assertRaisesRegex(isocenter.Error, "exclude each other", mri.set_frames, [0], [10])
            self.assertRaisesRegex(ValueError, "times has 59 elements", mri.set_basis, basis, times[1:])
            self.assertRaisesRegex(TypeError, "basis is None and times is not", mri.set_basis, None, times)
            mri.set_basis(None)
            # Frames are scans of their samples.
            mri.set_frames([20, 0], [40, 30])
            found = mri.adjoint(samples)
            self.assertEqual(found.shape, (2, 6, 8))
            for frame, part in ((0, slice(20, 60)), (1, slice(0, 30))):
                with isocenter.MRI(trajectory=k[part], unit="cycles_per_voxel", nx=8, ny=6, coils=2, precision="double") as own:
                    own.set_maps(maps)
                    own.set_options(tolerance=1e-10)
                    self.close_to(found[frame], own.adjoint(samples[:, part].copy()), 1e-8)
            mri.set_windows(30, 10)
            self.assertEqual(mri.image_shape, (4, 6, 8))
            self.assertEqual(mri.reconstruct(samples).shape, (4, 6, 8))
            self.assertGreater(len(mri.history(3)), 1)
            # Images that share their edges are one problem's.
            together = dict(penalty="variation", joint=True, lambda_=0.1, iterations=5)
            mri.set_options(**together)
            self.assertEqual(mri.reconstruct(samples).shape, (4, 6, 8))
            self.assertEqual(len(mri.objective(0)), len(mri.history(0)))
            self.assertRaises(isocenter.Error, mri.history, 1)
            self.assertRaisesRegex(isocenter.Error, "longer than the series", mri.set_windows, 61, 1)
            self.assertRaisesRegex(ValueError, "first has 2 elements, counts 1", mri.set_frames, [0, 1], [2])
            mri.set_frames(None, None)
            self.assertEqual(mri.image_shape, (6, 8))
            self.assertRaisesRegex(isocenter.NotConfiguredError, "joint is for a series", mri.reconstruct, samples)

    def test_streams(self):
        k, samples, asked = scattered(2, 60), complex_random((2, 60), "complex128"), []

        def read(first, part):
            asked.append((first, part.shape[1]))
            part[...] = samples[:, first:first + part.shape[1]]

        with isocenter.MRI(trajectory=k, unit="cycles_per_voxel", nx=8, ny=6, coils=2, precision="double") as mri:
            mri.set_maps(complex_random((2, 6, 8), "complex128"))
            mri.set_weights(np.linspace(1, 2, 60))
            mri.set_options(tolerance=1e-10, lambda_=10.0, iterations=200, residual=1e-11)
            found = mri.reconstruct_stream(read, 25, "complex128")
            self.assertEqual(asked, [(0, 25), (25, 25), (50, 10)])
            self.close_to(found, mri.reconstruct(samples), 1e-8)
            self.assertGreater(len(mri.history()), 1)
            self.close_to(mri.gridding_stream(read, dtype="complex128"), mri.gridding(samples), 1e-8)
            self.assertEqual(mri.gridding_stream(lambda first, part: read(first, part), 25).dtype, np.complex64)
            # Two buffers of two coils, beside what does not depend on the samples' type: on the host, wherever it computes.
            (double, on_gpu), (single, _) = mri.stream_memory(25, "complex128"), mri.stream_memory(25)
            self.assertEqual(double - single, 2 * 2 * 25 * 8)
            self.assertEqual(double == 2 * 2 * 25 * 16, on_gpu > 0)
            self.assertGreater(mri.stream_memory()[0], 0)
            self.assertRaisesRegex(isocenter.OutOfRangeError, "at_once is -1", mri.stream_memory, -1)
            self.assertRaisesRegex(isocenter.TensorDtypeError, "'complex64' or 'complex128'", mri.stream_memory, 25, "float32")
            mri.set_windows(30, 15)
            asked.clear()
            self.close_to(mri.reconstruct_stream(read, dtype="complex128"), mri.reconstruct(samples), 1e-8)
            self.assertEqual(asked, [(0, 30), (15, 30), (30, 30)])
            self.assertRaisesRegex(isocenter.OutOfRangeError, "the longest has 30", mri.reconstruct_stream, read, 29)
            mri.set_frames(None, None)
            before = np.full((6, 8), 7 + 0j)

            def fail(first, part):
                raise KeyError("gone")

            self.assertRaises(KeyError, mri.reconstruct_stream, fail, 25, "complex128", before)
            self.assertRaisesRegex(TypeError, "read returned ndarray", mri.reconstruct_stream, lambda first, part: part * 2)
            self.assertRaisesRegex(TypeError, "must be callable", mri.reconstruct_stream, samples)
            self.assertRaisesRegex(isocenter.TensorDtypeError, "'complex64' or 'complex128'", mri.reconstruct_stream, read, 0, "float32")
            self.assertRaisesRegex(isocenter.OutOfRangeError, "at_once is -1", mri.reconstruct_stream, read, -1)
            self.assertRaises(isocenter.BusyError, mri.reconstruct_stream, lambda first, part: mri.adjoint(samples) and None)
            self.assertTrue((before == 7).all())
            samples[1, 30] = np.nan
            self.assertRaisesRegex(isocenter.NotFiniteDataError, r"from sample 25 on, samples\[1, 5\]", mri.reconstruct_stream, read, 25, "complex128")
            mri.set_options(warm_start=True)
            self.assertRaisesRegex(TypeError, "pass one", mri.reconstruct_stream, read)

    def test_normal_penalties_and_q(self):
        k, image = scattered(2, 400), complex_random((6, 8), "complex128")
        weights = np.random.default_rng(4).uniform(0.5, 1, 400)
        mri = isocenter.MRI(trajectory=k, unit="cycles_per_voxel", nx=8, ny=6, precision="double")
        mri.set_weights(weights)
        np.testing.assert_array_equal(mri.weights(), weights)
        self.assertEqual(mri.weights(np.zeros(400, np.float32)).dtype, np.float32)
        plain = mri.adjoint(weights * mri.forward(image))
        self.close_to(mri.normal(image), plain, 1e-8)
        self.close_to(mri.gridding(mri.forward(image)), plain, 1e-8)
        mri.set_options(lambda_=3.0)
        self.close_to(mri.normal(image), plain + 3 * image, 1e-8)
        # Differences along x and y, of weights 2 and 1: against differences and their transpose.
        mri.set_difference_weights(np.stack([np.full((6, 8), 2.0), np.ones((6, 8))]))
        mri.set_options(lambda_=1.0, penalty="differences")
        dx, dy = np.diff(image, axis=1), np.diff(image, axis=0)
        energy = np.vdot(image, mri.normal(image) - plain).real
        self.assertIn(True, [abs(energy - (a * np.vdot(dx, dx).real + np.vdot(dy, dy).real)) < 1e-6 * energy for a in (2, 4)])
        # The matrix 2 at voxel 5, in row 1 of 2.
        mri.set_matrix([0, 0, 1], [5], np.array([2.0]))
        mri.set_options(lambda_=1.0, penalty="matrix")
        only = np.zeros(48)
        only[5] = 4
        self.close_to(mri.normal(image), plain + only.reshape(6, 8) * image, 1e-8)
        self.assertRaises(isocenter.Error, mri.set_matrix, [0, 2], [5], np.array([2.0]))
        self.assertRaises(TypeError, mri.set_matrix, [0.5, 1.0], [5], np.array([2.0]))
        # Q of one plan serves another.
        mri.set_options()
        mri.compute_q()
        q = mri.export_q()
        self.assertEqual((q.dtype, mri.info().has_q), (np.float64, 1))
        other = isocenter.MRI(trajectory=k, unit="cycles_per_voxel", nx=8, ny=6, precision="double")
        other.set_weights(weights)
        other.import_q(q)
        np.testing.assert_array_equal(other.normal(image), mri.normal(image))
        self.assertRaises(isocenter.TensorShapeError, other.import_q, q[:-1])

    def test_sparse_penalties(self):
        """The minimum by its conditions: of the sum of all pixels' variation the image is constant for a large weight, and there the mean of
        the least-squares fit; of wavelets it is 0 from the limit on. Between both, objectives fall and images are what they are made of."""
        k, image = scattered(2, 400), np.kron(np.array([[1.0, 3.0], [2.0, 0.5]]), np.ones((4, 8))) + 0j
        mri = isocenter.MRI(trajectory=k, unit="cycles_per_voxel", nx=16, ny=8, precision="double")
        samples = mri.forward(image)
        mri.set_options(penalty="variation", lambda_=1e4, iterations=500, residual=1e-12)
        constant = mri.reconstruct(samples)
        ones = mri.forward(np.ones((8, 16), complex))
        mean = np.vdot(ones, samples) / np.vdot(ones, ones)
        self.close_to(constant, np.full((8, 16), mean), 1e-5)
        for algorithm in ("fista", "primal_dual"):
            for penalty, options in (("variation", {"huber": 0.01}), ("wavelets", {"wavelet": "haar", "levels": 2, "fixed_grid": True})):
                mri.set_options(penalty=penalty, algorithm=algorithm, lambda_=1.0, iterations=300, **options)
                found, objective = mri.reconstruct(samples), mri.objective()
                self.close_to(found, image, 0.02)  # of a weight of 1, where F^H F is 400
                self.assertLess(objective[-1], 0.01 * objective[0])
                self.assertEqual(len(objective), len(mri.history()))
                gap = mri.gap()
                self.assertEqual(len(gap), len(objective) if penalty == "wavelets" else 0)
                self.assertTrue((objective[: len(gap)] - gap <= objective[-1] * (1 + 1e-9)).all())
        limit = mri.info().lambda_limit
        mri.set_options(penalty="wavelets", wavelet="haar", levels=2, lambda_=1.001 * limit)
        self.assertEqual(np.abs(mri.reconstruct(samples)).max(), 0)
        mri.set_options()
        mri.reconstruct(samples)
        self.assertEqual(len(mri.objective()), 0)
        with self.assertRaisesRegex(isocenter.Error, "at most 2"):
            mri.set_options(penalty="wavelets", lambda_=1.0, levels=3)
            mri.reconstruct(samples)

    def test_imaginary_parts(self):
        """Half of k-space tells an image whose phase is in the maps."""
        y, x = (np.mgrid[:N, :N] - N // 2) / N
        truth = (np.hypot(x - 0.1, y) < 0.3).astype("complex64")
        k = np.stack(np.meshgrid((np.arange(N) - N // 2) / N, (np.arange(N)[:N // 2 + 3] - N // 2) / N), axis=-1).reshape(-1, 2)
        mri = isocenter.MRI(trajectory=k, unit="cycles_per_voxel", nx=N, ny=N)
        mri.set_maps(np.exp(2j * (x + y)**2)[None].astype("complex64"))
        samples = mri.forward(truth)
        wrong = []
        for weight in (0.0, 0.05 * len(k), math.inf):
            mri.set_options(imaginary=weight, iterations=200, residual=1e-7)
            image = mri.reconstruct(samples)
            wrong.append(np.linalg.norm(image - truth) / np.linalg.norm(truth))
        self.assertTrue((image.imag == 0).all())
        self.assertTrue(wrong[0] > 0.1 and max(wrong[1:]) < 1e-3, wrong)
        both = isocenter.MRI(trajectory=k, unit="cycles_per_voxel", nx=N, ny=N, coils=2)
        both.set_options(imaginary=1.0)
        with self.assertRaisesRegex(isocenter.NotConfiguredError, "imaginary is for images of one object.*set_maps"):
            both.reconstruct(np.stack([samples, samples]))

    def test_samples_of_any_size(self):
        """Numbers whose squares, or whose transforms twice over, single precision does not hold."""
        mri = isocenter.MRI(trajectory=spokes(), unit="cycles_per_voxel", nx=N, ny=N)
        mri.set_options(iterations=5)
        samples = mri.phantom_samples(mri.shepp_logan(N / 2))
        image, history = mri.reconstruct(samples), mri.history()
        for size in (2.0**80, 2.0**-80):  # a power of two, so that every number is the same but for it
            self.close_to(mri.reconstruct((samples * size).astype("complex64")) / size, image, 1e-5)
            np.testing.assert_allclose(mri.history(), history, rtol=1e-3)

    def test_weights_of_total_variation_begin_with_those_of_wavelets(self):
        mri = isocenter.MRI(trajectory=spokes(), unit="cycles_per_voxel", nx=N, ny=N)
        samples = mri.phantom_samples(mri.shepp_logan(N / 2))
        limits = []
        for penalty, algorithm in (("wavelets", "fista"), ("variation", "fista"), ("variation", "primal_dual")):
            mri.set_options(penalty=penalty, algorithm=algorithm, lambda_=1e-3, iterations=1)
            mri.reconstruct(samples)
            limits.append(mri.info().lambda_limit)
        self.assertGreater(limits[0], 0)
        self.assertEqual(limits, limits[:1] * 3)

    def test_bad_input(self):
        mri = isocenter.MRI(trajectory=spokes(), unit="cycles_per_voxel", nx=N, ny=N, coils=2)
        samples = complex_random((2, SPOKES * READOUT))
        for wrong, error, words in (
                (samples.real.copy(), isocenter.TensorDtypeError, "samples is float32 where complex64 or complex128 is needed"),
                (samples.T, isocenter.TensorShapeError, "samples"), (samples[:1], isocenter.TensorShapeError, "samples"),
                (samples.tolist(), TypeError, "list"), (samples * np.nan, isocenter.NotFiniteDataError, "samples"),
                (samples.astype(">c8"), isocenter.TensorDtypeError, "byte order")):
            with self.subTest(words), self.assertRaisesRegex(error, words):
                mri.reconstruct(wrong)
        for name, value in (("iterations", -1), ("iterations", 2.5), ("tolerance", -1.0), ("tolerance", math.nan),
                            ("upsampling", 9.0), ("method", "fast"), ("lambda_", math.inf), ("sines", 7), ("algorithm", "admm"), ("wavelet", "db2"), ("levels", 99), ("huber", -1.0), ("imaginary", -1.0), ("imaginary", math.nan)):
            with self.subTest(name, value=value), self.assertRaises((ValueError, TypeError)):
                mri.set_options(**{name: value})
        self.assertRaises(TypeError, mri.set_options, **{"lambda": 1.0})
        self.assertRaises(isocenter.Error, mri.set_weights, np.zeros(SPOKES * READOUT))
        self.assertRaises(isocenter.TensorDtypeError, mri.set_weights, np.ones(SPOKES * READOUT, complex))
        self.assertRaises(isocenter.TensorShapeError, mri.set_maps, complex_random((3, N, N)))
        self.assertRaises((isocenter.Error, TypeError), mri.set_field, np.zeros((N, N)), None)
        with isocenter.MRI() as bare:
            self.assertRaises(isocenter.NotConfiguredError, bare.adjoint, samples)
            self.assertRaises(TypeError, bare.set_geometry, spokes().tolist(), unit="cycles_per_voxel", nx=N, ny=N)
            self.assertRaises(isocenter.Error, bare.set_geometry, spokes()[:0], unit="cycles_per_voxel", nx=N, ny=N)
            self.assertRaises(isocenter.Error, bare.set_geometry, spokes(), unit="cycles_per_voxel", nx=N, ny=N, samples=5)


if __name__ == "__main__":
    unittest.main()
