"""ISMRMRD files: what is read is what was written, and images are those of the arrays; and mistakes."""
import contextlib
import io
import math
import os
import re
import sys
import tempfile
import unittest
import zlib
from unittest import mock

import numpy as np

import isocenter
import isocenter.raw
from isocenter.raw.__main__ import main

try:
    import ismrmrd
    from raw_files import acquisition, header, write
except ImportError as e:
    if os.environ.get("CI") and sys.platform != "win32":
        raise
    print(f"skipped: ismrmrd cannot be imported ({e})")
    ismrmrd = None

N, COILS, FIELD = 48, 4, 240.0
PLANE = ((1, N, N), (5.0, FIELD, FIELD))
# Value, x, y, z, semi-axes, rotation: a disk of 1.0 with a brighter one on its right and a darker one below.
PHANTOM = np.array([[1.0, 2, -1, 0, 17, 17, 0, 0], [0.5, 10, -1, 0, 5, 5, 0, 0], [-0.5, 2, -10, 0, 4, 4, 0, 0]])


def plan(k, **words):
    return isocenter.MRI(**{"trajectory": np.ascontiguousarray(k), "unit": "cycles_per_voxel", "nx": N, "ny": N, **words})


def direction(coil):
    return np.array([math.cos(2 * math.pi * coil / COILS), math.sin(2 * math.pi * coil / COILS)])


def sensitivities(n=N, middle=(0, 0)):
    y, x = (np.mgrid[:n, :n] - n // 2 + np.array(middle[::-1]).reshape(2, 1, 1)) / N
    return np.stack([(1 + np.sin(math.pi * (direction(c)[0] * x + direction(c)[1] * y))) / 2 for c in range(COILS)]).astype("complex64")


def measured(k):
    """Samples (coils, ...) of the phantom at (..., 2): a sine's sensitivity is a shift in k-space, so that they are exact."""
    flat, out = k.reshape(-1, 2), []
    for c in range(COILS):
        middle, up, down = (plan(np.clip(flat + way * direction(c) / (2 * N), -0.5, 0.5)).phantom_samples(PHANTOM) for way in (0, -1, 1))
        out.append(middle / 2 + (up - down) / 4j)
    return np.stack(out).astype("complex64").reshape(COILS, *k.shape[:-1])


def grid(nx=N, ny=N):
    """Cartesian (ny, nx, 2) in cycles per voxel."""
    return np.stack(np.meshgrid((np.arange(nx) - nx // 2) / nx, (np.arange(ny) - ny // 2) / ny), axis=-1)


def radial(spokes=48, readout=96, most=0.48):
    angle, along = np.arange(spokes) * math.pi / spokes, 2 * most * (np.arange(readout) - readout / 2) / readout
    return np.stack([np.outer(np.cos(angle), along), np.outer(np.sin(angle), along)], axis=-1)


def spiral(shots=12, samples=500, turns=3, most=0.48):
    t = np.linspace(0, 1, samples)
    turn = 2 * math.pi * (np.arange(shots)[:, None] / shots + turns * t)
    return most * t[:, None] * np.stack([np.cos(turn), np.sin(turn)], axis=-1)


def noise(shape, seed=0):
    rng = np.random.default_rng(seed)
    return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype("complex64")


def lines(samples, **words):
    return [acquisition(samples[:, y], kspace_encode_step_1=y, **words) for y in range(samples.shape[1])]


@unittest.skipUnless(ismrmrd, "no ismrmrd")
class Files(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.full = measured(grid())

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = os.path.join(self.folder.name, "scan.h5")

    def write(self, acquisitions, kind="cartesian", encoded=PLANE, **words):
        words.setdefault("coils", COILS)
        if kind == "cartesian":
            words.setdefault("centres", (encoded[0][1] // 2,))
        return write(self.path, header(kind=kind, encoded=encoded, **words), acquisitions)

    def read(self, *arguments, **words):
        return isocenter.raw.read(self.write(*arguments, **words))

    def close_to(self, seen, expected, relative):
        self.assertEqual(seen.shape, expected.shape)
        self.assertLess(np.linalg.norm(seen - expected) / np.linalg.norm(expected), relative)


class Reading(Files):
    def test_cartesian_lines(self):
        raw = self.read(lines(self.full, dwell=4e-6, position=(1, 2, 3), read_dir=(1, 0, 0), phase_dir=(0, 1, 0), slice_dir=(0, 0, 1)))
        self.assertEqual((raw.kind, raw.coils, raw.noise, raw.calibrated), ("cartesian", COILS, None, False))
        self.assertEqual((raw.encoded, raw.recon.voxel), (PLANE, (5.0, FIELD / N, FIELD / N)))
        self.assertIn("'cartesian', coils=4, encoded=(1, 48, 48)", repr(raw))
        seen = raw.select()
        np.testing.assert_array_equal(seen.samples, self.full.reshape(COILS, -1))
        np.testing.assert_allclose(seen.trajectory, grid().reshape(-1, 2), atol=1e-7)
        np.testing.assert_allclose(seen.times.reshape(N, N), np.tile(np.arange(N) * 4e-6, (N, 1)), rtol=1e-6)
        self.assertEqual((seen.unit, seen.grid, seen.position.tolist(), seen.phase_dir.tolist()), ("cycles_per_voxel", (1, N, N), [1, 2, 3], [0, 1, 0]))
        self.assertAlmostEqual(seen.dwell, 4e-6, places=11)

    def test_what_is_not_of_the_image_is_left_out(self):
        extra = [acquisition(noise((COILS, 32)), flags=["IS_" + name]) for name in isocenter.raw._file.SKIPPED]
        extra.append(acquisition(noise((COILS, 32)), encoding_space_ref=1))
        raw = self.read(extra[:5] + lines(self.full) + extra[5:])
        np.testing.assert_array_equal(raw.select().samples, self.full.reshape(COILS, -1))
        np.testing.assert_array_equal(raw.noise, extra[0].data)

    def test_reversed_readouts_and_discards(self):
        """Odd lines go from high k to low; the centre counts from the low end, and with what is discarded."""
        made = []
        for y in range(N):
            back = y % 2
            line = np.concatenate([noise((COILS, 3), y), self.full[:, y, ::-1] if back else self.full[:, y], noise((COILS, 2), y)], axis=1)
            made.append(acquisition(line, kspace_encode_step_1=y, discard_pre=3, discard_post=2, center_sample=N // 2 + (2 if back else 3),
                                    flags=["IS_REVERSE"] if back else [], dwell=1e-6))
        seen = self.read(made).select()
        np.testing.assert_array_equal(seen.samples, self.full.reshape(COILS, -1))
        np.testing.assert_allclose(seen.trajectory, grid().reshape(-1, 2), atol=1e-7)
        times = seen.times.reshape(N, N)
        np.testing.assert_allclose(times[0], (3 + np.arange(N)) * 1e-6, rtol=1e-6)
        np.testing.assert_allclose(times[1], times[0][::-1], rtol=1e-6)

    def test_readout_oversampling(self):
        """Of an object within the field of view the wide lines hold the same frequencies, to the rounding of FFTs in float32."""
        image = np.random.default_rng(0).standard_normal((N, N)).astype("complex64")
        wide, narrow = (plan(k, precision="double") for k in (grid(2 * N).reshape(-1, 2), grid().reshape(-1, 2)))
        for each in (wide, narrow):
            each.set_options(method="exact")
        samples = wide.forward(image).reshape(1, N, 2 * N)
        encoded = ((1, N, 2 * N), (5.0, FIELD, 2 * FIELD))
        seen = self.read(lines(samples, dwell=1e-6), encoded=encoded, recon=PLANE, coils=1).select()
        self.assertEqual(seen.grid, (1, N, N))
        self.close_to(seen.samples[0], narrow.forward(image), 1e-5)
        np.testing.assert_allclose(seen.trajectory, grid().reshape(-1, 2), atol=1e-7)
        np.testing.assert_allclose(seen.times[:3], [0, 2e-6, 4e-6], rtol=1e-6)
        # An echo that lacks samples keeps its oversampling, and is solved for over all that it sees.
        part = [acquisition(samples[:, y, 20:], kspace_encode_step_1=y, center_sample=N - 20) for y in range(N)]
        seen = self.read(part, encoded=encoded, recon=PLANE, coils=1).select()
        self.assertEqual((seen.grid, seen.samples.shape), ((1, N, 2 * N), (1, N * (2 * N - 20))))
        self.assertAlmostEqual(seen.trajectory[0, 0], (20 - N) / (2 * N), places=6)

    def test_centres_and_resolution(self):
        """Partial Fourier: step 10 is at frequency 0. An image of half the resolution takes the middle of k-space."""
        raw = self.read(lines(self.full[:, 14:]), centres=(10,))
        np.testing.assert_allclose(raw.select().trajectory[:, 1].reshape(-1, N)[:, 0] * N, np.arange(34) - 10, atol=1e-5)
        seen = self.read(lines(self.full), recon=((1, N // 2, N // 2), PLANE[1])).select()
        self.assertEqual((seen.grid, seen.samples.shape[1]), ((1, 24, 24), 25 * 25))  # both ends of +-0.5 are allowed

    def test_trajectories_and_units(self):
        for kind, k in (("radial", radial()), ("spiral", spiral())):
            samples = measured(k)
            for unit, scale in (("cycles_per_voxel", 1), ("radians_per_voxel", 2 * math.pi), ("cycles_per_field_of_view", N), ("cycles_per_metre", N / (FIELD * 1e-3))):
                raw = self.read([acquisition(samples[:, s], scale * k[s]) for s in range(len(k))], kind=kind)
                for given in (None, unit):
                    seen = raw.select(unit=given)
                    np.testing.assert_array_equal(seen.samples, samples.reshape(COILS, -1))
                    np.testing.assert_allclose(seen.trajectory, k.reshape(-1, 2), atol=1e-6)
            for other in ("cycles_per_voxel", "radians_per_voxel", "cycles_per_field_of_view"):
                with self.subTest(kind, other=other), self.assertRaisesRegex(isocenter.OutOfRangeError, "pass unit='cycles_per_metre'"):
                    raw.select(unit=other)

    def test_units_that_cannot_be_told(self):
        """Over a field of view of 1.6 m cycles per field of view and per metre are alike, and a third of k-space is of no unit."""
        k = radial()
        made = [acquisition(noise((1, 96)), N * spoke) for spoke in k]
        raw = self.read(made, kind="radial", encoded=((1, N, N), (5.0, 800.0, 800.0)), coils=1)
        with self.assertRaisesRegex(ValueError, r"select: the unit of the trajectory cannot be told, whose x, y reach 23\.04, .*pass unit=, one of "
                                                r"'cycles_per_voxel' \(up to 0.5 x 0.5 .*'cycles_per_metre' \(up to 30 x 30"):
            raw.select()
        self.assertAlmostEqual(raw.select(unit="cycles_per_metre").trajectory.max(), 0.48 * 0.8, delta=1e-3)
        raw = self.read([acquisition(noise((1, 96)), spoke / 3) for spoke in k], kind="radial", coils=1)
        self.assertRaisesRegex(ValueError, "cannot be told", raw.select)
        np.testing.assert_allclose(raw.select(unit="cycles_per_voxel").trajectory, k.reshape(-1, 2) / 3, atol=1e-6)

    def test_stacks_and_third_numbers(self):
        """Planes have no kz, whatever the third number is; two numbers in a volume are a stack, whose kz is the second step."""
        k = spiral(shots=2, samples=20)
        weighted = np.concatenate([k, np.full((*k.shape[:2], 1), 7.0)], axis=-1)
        raw = self.read([acquisition(noise((1, 20)), shot) for shot in weighted], kind="spiral", coils=1)
        np.testing.assert_allclose(raw.select().trajectory, k.reshape(-1, 2), atol=1e-6)
        raw = self.read([acquisition(noise((1, 20)), k[s], kspace_encode_step_2=z) for z in range(6) for s in range(2)], kind="spiral",
                        encoded=((6, N, N), (30.0, FIELD, FIELD)), coils=1, centres=(0, 3))
        seen = raw.select()
        self.assertEqual((seen.grid, seen.trajectory.shape), ((6, N, N), (240, 3)))
        np.testing.assert_allclose(seen.trajectory[::40, 2], (np.arange(6) - 3) / 6, atol=1e-7)

    def test_whitening_scales_by_the_bandwidth(self):
        """Noise of a dwell that is four times as long has a quarter of the power; the receiver's band is 0.8 of that."""
        mixing, count = noise((COILS, COILS), 3).astype(complex), 20000
        scan = mixing @ noise((COILS, count), 4)
        samples = mixing @ noise((COILS, count), 5) / math.sqrt(4 * 0.8)
        raw = self.read([acquisition(scan, flags=["IS_NOISE_MEASUREMENT"], dwell=2e-6), acquisition(samples, dwell=8e-6)], bandwidth=0.8)
        white = isocenter.coil_apply(raw.whitening(raw.select().dwell), samples.astype("complex64"))
        # Covariances of 20,000 samples scatter by 2 / sqrt(20000) = 0.014; five times that, for the scatter of both.
        self.assertLess(np.abs(white @ white.conj().T / count - 2 * np.eye(COILS)).max(), 0.1)
        self.assertIsNone(self.read(lines(self.full)).whitening(1e-6))


class Images(Files):
    def test_cartesian_image_and_its_scale(self):
        made = isocenter.raw.reconstruct(self.write(lines(self.full)))
        self.assertEqual((made.images.shape, made.images.dtype, made.virtual_coils, made.whitened, made.frames, made.slices, made.calibration),
                         ((1, 1, N, N), np.dtype("complex64"), COILS, False, [{"repetition": 0, "contrast": 0, "phase": 0, "set": 0}], [0], (24, 24)))
        image = np.abs(made.images[0, 0]) / np.linalg.norm(sensitivities(), axis=0)
        y, x = np.mgrid[:N, :N] - N // 2

        def mean(cx, cy, r):
            return image[(x - cx) ** 2 + (y - cy) ** 2 <= r * r].mean()

        # Ringing of a step is 9 % at the step and averages out over disks of 2 voxels and more; maps of 24 lines are good to some percent.
        for place, value in (((-8, -1, 3), 1.0), ((10, -1, 3), 1.5), ((2, -10, 2), 0.5), ((2, 10, 3), 1.0)):
            self.assertAlmostEqual(mean(*place), value, delta=0.04)
        self.assertLess(np.abs(image[:3]).max(), 0.02)

    def test_images_are_those_of_the_arrays(self):
        """By the functions that a user would call with arrays; the same steps, so that rounding of float32 is all that differs."""
        k = radial()
        samples = measured(k) + 0.05 * noise((COILS, *k.shape[:2]))
        made = isocenter.raw.reconstruct(self.write([acquisition(samples[:, s], k[s]) for s in range(len(k))], kind="radial"), iterations=8)
        flat = samples.reshape(COILS, -1)
        middle = (np.abs(k.reshape(-1, 2)) * N <= 12).all(axis=1)
        with plan(k.reshape(-1, 2)[middle] * 2, nx=24, ny=24, coils=COILS) as coarse:
            coarse.compute_weights()
            coarse.set_options(iterations=20, residual=1e-4)
            images = np.fft.ifftshift(coarse.reconstruct(flat[:, middle]), axes=(1, 2))
        maps = isocenter.coil_maps(np.fft.fftshift(np.fft.fft2(images), axes=(1, 2)).astype("complex64"), (N, N))
        with plan(k.reshape(-1, 2), coils=COILS) as fine:
            fine.set_maps(maps)
            fine.compute_weights()
            fine.set_options(iterations=8)
            expected = fine.reconstruct(flat)
            truth = fine.phantom_image(PHANTOM) * np.linalg.norm(sensitivities(), axis=0)
            # Trajectories are float32 in the file, which maps and solver turn to some 1e-5 of the image.
            self.close_to(made.images[0, 0], expected, 1e-3)
            self.assertLess(fine.compare(np.abs(made.images[0, 0]).astype("complex64"), truth.astype("complex64"))[1], 12)

    def test_spirals_with_noise_and_virtual_coils(self):
        k = spiral(shots=16, turns=4)
        mixing = np.eye(COILS) + 0.5 * np.random.default_rng(2).standard_normal((COILS, COILS))
        samples = measured(k) + 0.5 * (mixing @ noise((COILS, k[..., 0].size), 6)).reshape(COILS, *k.shape[:2])
        scan = acquisition(0.5 * mixing @ noise((COILS, 5000), 7), flags=["IS_NOISE_MEASUREMENT"])
        path = self.write([scan] + [acquisition(samples[:, s], k[s]) for s in range(len(k))], kind="spiral")
        made = isocenter.raw.reconstruct(path, virtual_coils=3)
        self.assertEqual((made.virtual_coils, made.whitened), (3, True))
        self.assertGreater(made.energy, 0.99)
        raw = isocenter.raw.read(path)
        shading = np.linalg.norm((raw.whitening(raw.select().dwell) @ sensitivities().reshape(COILS, -1)), axis=0).reshape(N, N)
        inside = np.hypot(*(np.mgrid[:N, :N] - N // 2 - np.array([-1, 2])[:, None, None])) < 15
        truth = np.abs(plan(k.reshape(-1, 2)).phantom_image(PHANTOM))
        # The scale that whitening gives, but for the 1 % that a coil less has; noise of 0.5 makes some 2 % of a voxel.
        ratio = (np.abs(made.images[0, 0]) / shading)[inside] / truth[inside]
        self.assertAlmostEqual(np.median(ratio), 1, delta=0.03)

    def test_sparse_penalties(self):
        """Of 13 spokes with noise a phantom of few edges comes out nearer to the truth, and its weight is relative to the samples' size."""
        k = radial(13)
        samples = measured(k) + 0.5 * noise((COILS, *k.shape[:2]), 3).reshape(COILS, *k.shape[:2])
        fine = plan(k.reshape(-1, 2))
        truth = np.abs(fine.phantom_image(PHANTOM) * np.linalg.norm(sensitivities(), axis=0)).astype("complex64")

        def error(scale=1.0, **words):
            path = self.write([acquisition(scale * samples[:, s], k[s]) for s in range(len(k))], kind="radial")
            image = isocenter.raw.reconstruct(path, crop=-1, calibration=12, **words).images[0, 0]
            return fine.compare(np.abs(image / scale).astype("complex64"), truth)[1]

        plain = error()
        for penalty, part in (("variation", 0.4), ("wavelets", 0.85)):
            found = error(penalty=penalty, regularisation=3e-3)
            self.assertLess(found, part * plain, penalty)
            self.assertAlmostEqual(error(1e3, penalty=penalty, regularisation=3e-3), found, delta=0.01 * found)  # rounding, 60 times
        self.assertRaisesRegex(ValueError, "penalty is 'matrix'; it must be one of", isocenter.raw.reconstruct, "none.h5", penalty="matrix")

    def test_slices_at_one_place_are_told(self):
        made = lambda places: [a for which, z in enumerate(places) for a in lines(self.full, slice=which, position=(0, 0, z), read_dir=(1, 0, 0), phase_dir=(0, 1, 0), slice_dir=(0, 0, 1))]
        with self.assertLogs("isocenter", "WARNING") as log:
            isocenter.raw.reconstruct(self.write(made((7, 7, 7))), iterations=1)
        self.assertIn("has its 3 slices at one place", "".join(log.output))
        with self.assertNoLogs("isocenter", "WARNING"):
            isocenter.raw.reconstruct(self.write(made((7, 7, 8))), iterations=1)

    def test_slices_and_repetitions(self):
        made = []
        for repetition in (0, 1):
            for i, which in enumerate((2, 0, 5)):
                part = (1 + which) * (1 - 0.5 * repetition) * self.full
                made += lines(part, repetition=repetition, slice=which, position=(0, 0, (15.0, 0, 30)[i]), read_dir=(1, 0, 0), phase_dir=(0, 1, 0), slice_dir=(0, 0, 1))
        path = self.write(made)
        raw = isocenter.raw.read(path)
        self.assertEqual((raw.counters["slice"], raw.counters["repetition"]), ((0, 2, 5), (0, 1)))
        seen = isocenter.raw.reconstruct(raw)
        self.assertEqual((seen.images.shape, seen.slices, [f["repetition"] for f in seen.frames]), ((2, 3, N, N), [0, 2, 5], [0, 1]))
        for r in (0, 1):
            for i, which in enumerate((0, 2, 5)):  # linear, but for rounding
                self.close_to(seen.images[r, i], seen.images[0, 0] * (1 + which) * (1 - 0.5 * r), 1e-4)
        one = isocenter.raw.reconstruct(path, slice=5, repetition=1)
        self.assertEqual(one.images.shape, (1, 1, N, N))
        self.close_to(one.images[0, 0], seen.images[1, 2], 1e-4)
        self.assertEqual(seen.voxel, (15.0, 5.0, 5.0))  # 30 mm from the first slice to the third
        np.testing.assert_allclose(seen.affine @ [N // 2, N // 2, 2, 1], [0, 0, 30, 1])
        np.testing.assert_allclose(seen.affine @ [N // 2 + 1, N // 2 + 2, 0, 1], [5, 10, 0, 1])
        for call, words in ((raw.select, "has 2 values of repetition, 0, 1: pass repetition="),
                            (lambda: raw.select(repetition=0), "has 3 values of slice, 0, 2, 5: pass slice="),
                            (lambda: raw.select(repetition=0, slice=1), "slice is 1; .* has 0, 2, 5"),
                            (lambda: isocenter.raw.reconstruct(raw, contrast=3), "reconstruct: contrast is 3")):
            self.assertRaisesRegex(ValueError, words, call)

    def test_calibration_lines(self):
        """Every other line, and 16 lines apart for sensitivities: as good as all lines, but for noise, of which there is none."""
        whole = isocenter.raw.reconstruct(self.write(lines(self.full))).images[0, 0]
        every = lines(self.full)[::2]
        with self.assertRaisesRegex(ValueError, "reconstruct: the middle of k-space is fully sampled over 1 lines, of which coil sensitivities need 12"):
            isocenter.raw.reconstruct(self.write(every))
        apart = lines(self.full, flags=["IS_PARALLEL_CALIBRATION"])[16:32]
        for extra in (apart, lines(self.full, flags=["IS_PARALLEL_CALIBRATION_AND_IMAGING"])[16:32]):
            raw = self.read(every + extra)
            self.assertEqual((raw.calibrated, raw.select().samples.shape[1]), (True, N * (24 if extra is apart else 40)))
            made = isocenter.raw.reconstruct(raw, iterations=40)
            self.assertEqual(made.calibration, (16, 24))
            # Aliasing would be half of the image; what maps from 16 lines lack leaves a tenth of that.
            self.close_to(np.abs(made.images[0, 0]), np.abs(whole), 0.05)

    def test_phase_oversampling_is_cut_off(self):
        wide = np.zeros((72, N, 2))
        wide[..., 0], wide[..., 1] = grid()[0, :, 0], ((np.arange(72) - 36) / 72)[:, None]
        made = isocenter.raw.reconstruct(self.write(lines(measured(wide)), encoded=((1, 72, N), (5.0, 1.5 * FIELD, FIELD)), recon=PLANE))
        self.assertEqual(made.images.shape, (1, 1, N, N))
        whole = isocenter.raw.reconstruct(self.write(lines(self.full)))
        # The phantom is not band-limited: what rings over the edge folds in one and not in the other.
        self.close_to(np.abs(made.images), np.abs(whole.images), 0.05)

    def test_volumes_and_one_coil(self):
        n = 16
        k = np.stack(np.meshgrid(*[(np.arange(n) - n // 2) / n] * 3, indexing="ij"), axis=-1)[..., ::-1]
        ball = np.array([[1.0, 2, -1, 3, 3, 4, 3, 0]])
        with isocenter.MRI(trajectory=np.ascontiguousarray(k.reshape(-1, 3)), unit="cycles_per_voxel", nx=n, ny=n, nz=n) as mri:
            samples, truth = mri.phantom_samples(ball).reshape(n, n, 1, n), mri.phantom_image(ball)
        path = self.write([acquisition(samples[z, y], kspace_encode_step_1=y, kspace_encode_step_2=z) for z in range(n) for y in range(n)],
                          encoded=((n, n, n), (32.0, 32.0, 32.0)), coils=1, centres=(8, 8))
        made = isocenter.raw.reconstruct(path)
        self.assertEqual((made.images.shape, made.voxel, made.calibration), ((1, n, n, n), (2.0, 2.0, 2.0), None))
        self.assertGreater(np.corrcoef(np.abs(made.images[0]).ravel(), np.abs(truth).ravel())[0, 1], 0.97)  # but for ringing
        self.assertAlmostEqual(made.images[0, 11, 7, 10].real, 1, delta=0.15)


class Pictures(Files):
    def test_upright(self):
        """An image whose element (0, 0) is marked, and its neighbour along x less; mm go to the left, the back and the head."""
        image = np.zeros((3, 4))
        image[0, 0], image[0, 1] = 2, 1
        for read, phase, corner, beside in (
                ((1, 0, 0), (0, 1, 0), (0, 0), (0, 1)),  # axial: columns to the patient's left, rows to the back
                ((1, 0, 0), (0, -1, 0), (-1, 0), (-1, 1)), ((-1, 0, 0), (0, 1, 0), (0, -1), (0, -2)), ((0, 1, 0), (1, 0, 0), (0, 0), (1, 0)),
                ((1, 0, 0), (0, 0, 1), (-1, 0), (-1, 1)),  # coronal: the head is on top
                ((0, 1, 0), (0, 0, -1), (0, 0), (0, 1)),  # sagittal: the back is on the right
                ((0.9, 0.3, 0), (-0.3, 0.9, 0.1), (0, 0), (0, 1)), ((0, 0, 0), (0, 0, 0), (0, 0), (0, 1))):
            affine = np.eye(4)
            affine[:3, 0], affine[:3, 1] = read, phase
            seen = isocenter.raw.upright(image, affine)
            self.assertEqual((seen[corner], seen[beside]), (2, 1), (read, phase))

    def test_command(self):
        path = self.write(lines(self.full, read_dir=(1, 0, 0), phase_dir=(0, -1, 0), slice_dir=(0, 0, -1)))
        picture, array = (os.path.join(self.folder.name, name) for name in ("image.png", "image.npy"))
        for output in (picture, array):
            said = io.StringIO()
            with contextlib.redirect_stdout(said):
                main([path, "-o", output, "--iterations", "8", "--penalty", "identity", "--device", "cpu"])
            self.assertRegex(said.getvalue(), r"kind='cartesian'[\s\S]*images \(1, 1, 48, 48\), voxel 5 x 5 x 5 mm[\s\S]*4 of 4 coils[\s\S]*written: ")
        image = np.abs(np.load(array)[0, 0])
        with open(picture, "rb") as file:
            data = file.read()
        body = data[data.index(b"IDAT") + 4:data.index(b"IEND") - 8]
        grey = np.frombuffer(zlib.decompress(body), np.uint8).reshape(N, N + 1)[:, 1:]
        white = np.percentile(image[image > 0], 99.8)
        self.assertLess(np.abs(grey - 255 * np.clip(image[::-1] / white, 0, 1)).max(), 1)  # y goes to the front, which is on top
        for arguments, words in (([path, "-o", picture, "--slice", "3"], "slice is 3; "), (["none.h5"], "isocenter.raw: ")):
            with self.assertRaises(SystemExit) as caught:
                with contextlib.redirect_stdout(io.StringIO()):
                    main(arguments)
            self.assertIn(words, str(caught.exception))
        with self.assertRaises(SystemExit), contextlib.redirect_stderr(io.StringIO()):
            main([path, "-o", "image.jpg"])


class Mistakes(Files):
    def says(self, words, *arguments, kind=ValueError, **keywords):
        with self.subTest(words), self.assertRaisesRegex(kind, words):
            isocenter.raw.reconstruct(*arguments, **keywords)

    def test_files(self):
        self.says("scan.h5 is not there", self.path, kind=FileNotFoundError)
        with open(self.path, "w") as file:
            file.write("twix")
        self.says("scan.h5 is no ISMRMRD file, which is HDF5 .*siemens_to_ismrmrd", self.path)
        import h5py
        with h5py.File(self.path, "w") as file:
            file["exchange/data"] = np.zeros(3)
        self.says("no acquisitions in dataset/data, .*; it has exchange", self.path)
        self.says("has no header, dataset/xml", write(self.path, None, lines(self.full)))
        self.says("is no ISMRMRD header", write(self.path, "<wrong>", lines(self.full)))
        text = re.sub("<matrixSize>.*?</matrixSize>", "", header(kind="cartesian", encoded=PLANE), count=1)
        self.says("is no ISMRMRD header .*matrixSize", write(self.path, text, lines(self.full)))
        self.says("encoding is 1; .* has 1, counted from 0", self.write(lines(self.full)), encoding=1)
        self.says("sizes must be above 0", self.write(lines(self.full), encoded=((1, N, N), (5.0, 0.0, FIELD))))

    def test_data(self):
        self.says("no data for an image of encoding 0: its 0 acquisitions are none", self.write([]))
        flagged = [acquisition(noise((COILS, 8)), flags=["IS_NOISE_MEASUREMENT"]), acquisition(noise((COILS, 8)), flags=["IS_NAVIGATION_DATA"])]
        self.says("its 2 acquisitions are 1 NOISE_MEASUREMENT, 1 NAVIGATION_DATA, 2 of encoding 0", self.write(flagged))
        self.says("acquisition 1 has 2 coils; others have 4", self.write(lines(self.full)[:1] + lines(self.full[:2])[1:2]))
        self.says("acquisition 0 has 48 samples, of which 40 [+] 9 are to be discarded", self.write(lines(self.full, discard_pre=40, discard_post=9)))
        import h5py
        path = self.write(lines(self.full))
        with h5py.File(path, "a") as file:
            row = file["dataset/data"][5]
            row["head"]["number_of_samples"] = 47
            file["dataset/data"][5] = row
        self.says("data of acquisition 5 has 384 numbers; its header, of 47 samples, 4 coils and 0 dimensions, makes 376", path)

    def test_trajectories(self):
        k = radial()
        good = [acquisition(noise((1, 96)), spoke) for spoke in k]
        self.says("the header says 'radial', but acquisition 3 has no trajectory", self.write(good[:3] + [acquisition(noise((1, 96)))], kind="radial", coils=1))
        bad = k[0].copy()
        bad[4] = np.nan
        self.says("the trajectory of acquisition 1 has NaN", self.write([good[0], acquisition(noise((1, 96)), bad)], kind="radial", coils=1))
        path = self.write(good, kind="radial", coils=1)
        self.says("unit is 'cycles'; it must be one of 'cycles_per_voxel', 'radians_per_voxel'", path, unit="cycles")
        self.says("unit is 5; it must be", path, unit=5, kind=TypeError)
        self.says("unit is 'cycles_per_field_of_view', up to 24 x 24 for this header, but the trajectory's x, y reach 0.48, .*pass unit='cycles_per_voxel'", path,
                  unit="cycles_per_field_of_view", kind=isocenter.OutOfRangeError)

    def test_without_the_package(self):
        path = self.write(lines(self.full))
        with mock.patch.dict(sys.modules, {"ismrmrd": None}), self.assertRaisesRegex(ImportError, r"^read: ISMRMRD files need .*pip install isocenter\[ismrmrd\]"):
            isocenter.raw.read(path)


if __name__ == "__main__":
    unittest.main()
