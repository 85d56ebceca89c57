"""PET: values against known kernels, events and phantoms."""
import math
import unittest

import numpy as np

import isocenter

NX, NZ, AZIMUTHS, TILTS = 24, 8, 6, 2
LATTICE = dict(nx=NX, ny=NX, nz=NZ, voxel_x=5.0, azimuths=AZIMUTHS, tilts=TILTS, max_tilt=0.2)
RESPONSE = dict(tof_fwhm=60.0, radial_fwhm=7.0, axial_fwhm=7.0)
SPEED = 0.299792458  # mm / ps
WATER = isocenter.Body("cylinder", half_x=50.0, half_z=20.0, activity=1.0, attenuation=0.0096)
SPHERE = isocenter.Body("ellipsoid", x=20.0, y=-15.0, half_x=10.0, activity=3.0)


def plan(**options):
    pet = isocenter.PET(isocenter.Context(threads=2), **LATTICE)
    pet.set_response(**{**RESPONSE, **options})
    return pet


def with_blurred_ends(first, second, fwhm):
    """Positions moved across their lines, independently at either end, by a normal distribution of this width in each direction."""
    along = (first - second) / np.linalg.norm(first - second, axis=1, keepdims=True)
    rng = np.random.default_rng(0)
    for ends in (first, second):
        moved = rng.normal(0, fwhm / math.sqrt(8 * math.log(2)), ends.shape)
        yield (ends + moved - (moved * along).sum(axis=1, keepdims=True) * along).astype(np.float32)


class Pet(unittest.TestCase):
    def test_projections(self):
        pet = plan()
        self.assertEqual((pet.image_shape, pet.histo_images_shape), ((NZ, NX, NX), (AZIMUTHS * TILTS, NZ, NX, NX)))
        image = np.zeros(pet.image_shape, np.float32)
        image[3, 11, 13] = 2
        histo = pet.forward(image)
        # Kernels have the sum 1, and are symmetric about their voxel.
        np.testing.assert_allclose(histo.sum(axis=(1, 2, 3)), 2, rtol=1e-5)
        i = np.indices(pet.image_shape)
        np.testing.assert_allclose([(histo[5] * c).sum() / 2 for c in i], [3, 11, 13], atol=1e-4)
        rng = np.random.default_rng(0)
        x, y = rng.random(pet.image_shape, np.float32), rng.random(pet.histo_images_shape, np.float32)
        left, right = np.vdot(pet.forward(x).astype(float), y), np.vdot(x.astype(float), pet.adjoint(y))
        self.assertAlmostEqual(left / right, 1, delta=1e-5)
        some = pet.forward(x, views=[7, 2])
        np.testing.assert_array_equal(some, pet.forward(x)[[7, 2]])
        np.testing.assert_allclose(pet.adjoint(y, views=range(12)), pet.adjoint(y), rtol=1e-4)
        np.testing.assert_allclose(pet.adjoint((100 * y).astype(np.uint32)), pet.adjoint(np.floor(100 * y)), rtol=1e-5)
        np.testing.assert_allclose(pet.sensitivity(np.ones_like(y)), pet.sensitivity(), rtol=1e-5)
        np.testing.assert_allclose(pet.sensitivity(), pet.adjoint(np.ones_like(y)), rtol=1e-5)

    def test_widths_of_exact_positions(self):
        """What docs/python.md says of set_response: 0.55 voxels for exact positions, no allowance for voxels for blurred ones, and the width
        of the line's middle where its ends are blurred. Log-likelihoods, given the true image, of widths beside the right one are lower
        by 320 to 1000 for 500 000 events (measured); they scatter by about the root of twice that, 25 to 45."""
        bodies = [isocenter.Body("cylinder", half_x=50.0, half_z=17.5, activity=1.0)]  # not at the faces of voxels
        bodies += [isocenter.Body("ellipsoid", x=x, y=y, half_x=7.0, activity=4.0) for x, y in ((25, 0), (-20, 20), (-10, -30))]
        pet = isocenter.PET(isocenter.Context(threads=2, log=lambda *_: None), **{**LATTICE, "azimuths": 40, "tilts": 1, "max_tilt": 0.03})
        truth = pet.phantom_image(bodies)
        of_ends = 6.0 * math.sqrt(2)
        for blur, ends, widths in ((0.0, 0.0, (2.75, 1.5, 5.0)), (6.0, 0.0, (6.0, 4.0, 7.8)), (0.0, of_ends, (6.0, 4.0, of_ends))):
            scan = isocenter.Scan(bodies, tof_fwhm=300.0, radial_fwhm=blur, axial_fwhm=blur, randoms=0.1, seed=3)
            first, second, times, tally = pet.simulate(scan, 500_000)
            if ends:
                first, second = with_blurred_ends(first, second, ends)
            measured = np.zeros(pet.histo_images_shape, np.uint32)
            pet.deposit(first, second, times, measured)
            factors, additive = pet.expect(scan, tally)
            seen = []
            for width in widths:
                pet.set_response(tof_fwhm=300.0, radial_fwhm=width, axial_fwhm=width)
                expected = factors * pet.forward(truth).astype(float) + additive
                seen.append((measured * np.log(expected)).sum() - expected.sum())
            self.assertGreater(seen[0], max(seen[1:]) + 100, (blur, ends, seen))

    def test_views(self):
        pet = plan()
        seen = pet.views()
        np.testing.assert_allclose(seen[3], [math.pi / AZIMUTHS, 0.1], rtol=1e-12)
        pet.set_geometry(**{**LATTICE, "azimuths": 0, "tilts": 0}, views=seen[[3, 0]])
        np.testing.assert_array_equal(pet.views(), seen[[3, 0]])
        self.assertRaises(TypeError, pet.set_geometry, **{**LATTICE, "azimuths": 0})
        self.assertRaises(isocenter.Error, pet.set_geometry, **{**LATTICE, "azimuths": 0, "tilts": 0}, views=seen[[0, 0]])

    def test_tables(self):
        pet = plan()
        sizes, (lattice, offsets, values, mass) = pet.table_sizes(4), pet.tables(4)
        self.assertEqual((values.shape, offsets.shape, lattice.shape), ((sizes.kernels, sizes.offsets), (sizes.offsets, 3), (NX, NX)))
        np.testing.assert_allclose(values.sum(axis=1), 1, rtol=1e-6)
        self.assertEqual((mass.min(), mass.max()), (sizes.least_mass, sizes.greatest_mass))
        image = np.random.default_rng(0).random(pet.image_shape, np.float32)
        expected = pet.forward(image)
        pet.set_tables(5, lattice, offsets, values)  # of another view
        own = pet.forward(image)
        np.testing.assert_array_equal(np.delete(own, 5, 0), np.delete(expected, 5, 0))
        np.testing.assert_allclose(own[5], expected[4], rtol=1e-4)
        # A kernel of one voxel moves the image: to the right, along x.
        pet.set_tables(0, np.zeros((NX, NX), np.uint32), [[1, 0, 0]], np.ones((1, 1), np.float32))
        np.testing.assert_allclose(pet.forward(image)[0, :, :, 1:], image[:, :, :-1], rtol=1e-6)
        for arguments in ((0, np.zeros((NX, NX)), [[1, 0, 0]], [[1.0]]), (0, np.zeros((NX, 3), np.uint32), [[1, 0, 0]], [[1.0]]),
                          (0, np.zeros((3, NX), np.uint32), [[1, 0, 0]], [[1.0]]), (0, lattice * 0, [[1, 0]], [[1.0]]),
                          (0, lattice * 0, [[1 << 40, 0, 0]], [[1.0]]), (0, lattice * 0 + 9, [[1, 0, 0]], [[1.0]]),
                          (99, lattice * 0, [[1, 0, 0]], [[1.0]]), (0, lattice * 0, [[1, 0, 0]], [[1.0, 2.0]])):
            self.assertRaises((ValueError, TypeError), pet.set_tables, *arguments)

    def test_reconstruction(self):
        pet = plan()
        truth = pet.phantom_image([WATER, SPHERE])
        self.assertAlmostEqual(truth[4, 12, 12], 1.0, places=5)
        self.assertAlmostEqual(pet.phantom_image(WATER, "attenuation").max(), 0.0096, places=7)
        measured = pet.forward(truth) * 50 + 3
        factors, additive = np.full(measured.shape, 50, np.float32), np.full(measured.shape, 3, np.float32)
        inside = truth == 1
        for options in (dict(), dict(algorithm="osem", subsets=3), dict(algorithm="mlem", iterations=40),
                        dict(order="random", seed=3), dict(projector="gather", relaxation=0.5, relaxation_decay=0.1)):
            with self.subTest(options):
                pet.set_options(**options)
                image = pet.reconstruct(measured, factors, additive)
                self.assertAlmostEqual(image[inside].mean(), 1, delta=0.05)
                passes = pet.history()
                self.assertEqual(len(passes), options.get("iterations", 10))
                self.assertGreater(passes[-1].log_likelihood, passes[0].log_likelihood)
                self.assertEqual(passes[0].skipped_voxels, 0)
        pet.set_options(warm_start=True, iterations=1)
        self.assertRaisesRegex(TypeError, "warm_start", pet.reconstruct, measured)
        self.assertIs(pet.reconstruct(measured, factors, additive, image), image)
        for algorithm in ("ramla", "osem", "mlem"):
            pet.set_options(algorithm=algorithm, warm_start=True, iterations=2)
            begun = pet.reconstruct(measured, factors, additive, inside.astype(np.float32))
            self.assertTrue((begun[~inside] == 0).all() and (begun[inside] > 0).all(), algorithm)
        pet.set_options(order="given", iterations=1)
        pet.set_order([3, 1, 2])
        pet.reconstruct(measured, factors, additive)
        self.assertRaises(isocenter.Error, pet.set_order, [3, 3])
        self.assertGreater(pet.memory(), 0)
        counts = pet.reconstruct(measured.astype(np.uint32))
        self.assertEqual(counts.dtype, np.float32)

    def test_an_event_lands_where_its_times_say(self):
        pet = plan()
        histo = np.zeros(pet.histo_images_shape, np.uint32)
        # Along x, in the middle of view 0's azimuth and tilt -0.1; 22 mm nearer to the first position.
        along = np.array([math.cos(0.1), 0.0, -math.sin(0.1)])
        first, second = np.array([400 * along, [0, 0, 0], [np.nan, 0, 0]]), np.array([-400 * along, [0, 0, 0], [1, 0, 0]])
        dropped = pet.deposit(first, second, np.array([2 * 22 / SPEED, 0, 0]), histo)
        self.assertEqual((dropped.events, dropped.equal_positions, dropped.not_finite, dropped.outside_lattice), (2, 1, 1, 0))
        place = [math.floor(c / 5 + n / 2) for c, n in zip((22 * along)[::-1], pet.image_shape)]
        self.assertEqual(np.argwhere(histo).tolist(), [[0, *place]])
        self.assertEqual(histo.max(), 1)
        for wrong in (histo.astype(np.uint16), histo[1:], histo.astype(float)):
            self.assertRaises((ValueError, TypeError), pet.deposit, first, second, np.zeros(3), wrong)
        self.assertRaises(isocenter.TensorShapeError, pet.deposit, first, second, np.zeros(4), histo)

    def test_units_in_doubt_are_logged(self):
        told = []
        with isocenter.Context(log=lambda level, message: told.append((level, message))) as context:
            pet = isocenter.PET(context, **LATTICE)
            histo = np.zeros(pet.histo_images_shape, np.uint32)
            first, second, times, _ = pet.simulate(isocenter.Scan([WATER], diameter=600.0, tof_fwhm=60.0), 2000)
            for scale, unit in ((1.0, None), (0.1, "cm"), (1e-3, "m")):
                told.clear()
                pet.deposit(first * np.float32(scale), second * np.float32(scale), times, histo)
                said = [message for level, message in told if level == 1]
                self.assertEqual([m.endswith(f"these seem to be in {unit}") for m in said], [True] * (unit is not None))
            told.clear()
            pet.deposit(first, second, times * np.float32(1e-3), histo)
            self.assertIn("these seem to be in ns", told[-1][1])

    def test_a_simulated_scan_reconstructs_to_its_activity(self):
        pet = plan(radial_table=[(0.0, 6.0), (60.0, 8.0)], radial_fwhm=0.0)
        scan = isocenter.Scan([WATER], tof_fwhm=60.0, axial_fwhm=7.0, radial_table=[(0.0, 6.0), (60.0, 8.0)], randoms=0.1,
                              scatter=0.1, seed=7)
        first, second, times, tally = pet.simulate(scan, 400_000)
        self.assertEqual((first.shape, times.dtype), ((400_000, 3), np.float32))
        self.assertEqual(tally.trues + tally.scatter + tally.randoms, 400_000)
        again = np.zeros((1000, 3)), np.zeros((1000, 3)), np.zeros(1000)
        *_, small = pet.simulate(scan, first_positions=again[0], second_positions=again[1], time_differences=again[2])
        self.assertEqual(small.trues + small.scatter + small.randoms, 1000)
        measured = np.zeros(pet.histo_images_shape, np.uint32)
        dropped = pet.deposit(first, second, times, measured)
        self.assertEqual(measured.sum() + dropped.events, 400_000)
        factors, additive = pet.expect(scan, tally)
        truth = pet.phantom_image(WATER)
        expected = factors * pet.forward(truth) + additive
        # Poisson counts: the sum is known to 1 / sqrt(counts), some 0.2 %; lattice and views cost the rest.
        self.assertAlmostEqual(measured.sum() / expected.sum(), 1, delta=0.02)
        image = pet.reconstruct(measured, factors, additive)
        self.assertAlmostEqual(image[truth == 1].mean(), 1, delta=0.03)
        for arguments in (dict(), dict(events=5, time_differences=np.zeros(5)), dict(events=-1), dict(events=1.5)):
            self.assertRaises((TypeError, ValueError), pet.simulate, scan, **arguments)
        self.assertRaises(TypeError, pet.simulate, [WATER], 5)

    def test_events_that_name_crystals(self):
        pet = plan()
        blocks, across, along, diameter, pitch = 36, 8, 16, 780.0, 8.0
        positions, normals = isocenter.block_crystals(blocks=blocks, across=across, along=along, diameter=diameter, pitch_across=pitch)
        ring = blocks * across
        self.assertEqual((positions.shape, normals.shape), ((ring * along, 3), (ring * along, 3)))
        np.testing.assert_allclose(np.linalg.norm(normals, axis=1), 1, rtol=1e-12)
        np.testing.assert_allclose((positions * normals).sum(axis=1), -diameter / 2, rtol=1e-12)
        np.testing.assert_allclose(positions.mean(axis=0), 0, atol=1e-9)
        np.testing.assert_allclose(positions[ring] - positions[0], [0, 0, pitch], atol=1e-9)
        scan = isocenter.Scan([WATER], diameter=diameter, axial_length=along * pitch, tof_fwhm=60.0, seed=2)
        *ends, times, _ = pet.simulate(scan, 50_000)
        found = []
        for end in ends:  # the nearest block by azimuth, the nearest crystal along its face and along z
            azimuth = np.arctan2(end[:, 1], end[:, 0])
            block = np.rint(azimuth * blocks / (2 * np.pi)).astype(int) % blocks
            off = azimuth - block * 2 * np.pi / blocks
            place = np.rint(diameter / 2 * np.tan(off) / pitch + (across - 1) / 2).clip(0, across - 1).astype(int)
            row = np.rint(end[:, 2] / pitch + (along - 1) / 2).clip(0, along - 1).astype(int)
            found.append(row * ring + block * across + place)
        crystals = np.stack(found, axis=1)
        labels = (np.arange(len(times)) % 3 == 0).astype(np.uint8)
        pet.set_scanner(positions, normals)  # points, and times in ps
        expected = np.zeros(pet.histo_images_shape, np.uint32)
        by_place = pet.deposit(*(positions.astype(np.float32)[c] for c in found), times, expected)
        sets = np.zeros((2, *pet.histo_images_shape), np.uint32)
        dropped = pet.deposit_crystals(crystals.astype(np.uint32), times, labels, sets)
        self.assertEqual(dropped, by_place)
        self.assertEqual(dropped.unknown, 0)
        np.testing.assert_array_equal(sets.sum(axis=0), expected)
        self.assertGreater(sets[0].sum(), sets[1].sum())
        # Fields of records, in two lists, of one label.
        records = np.zeros(len(times), [("time", "f4"), ("crystals", "u4", 2), ("label", "u4")])
        records["time"], records["crystals"], records["label"] = times, crystals, labels
        again = np.zeros_like(sets)
        for first, part in ((0, records[:20_000]), (20_000, records[20_000:])):
            pet.deposit_crystals(part["crystals"], part["time"], part["label"], again, first_event=first)
        np.testing.assert_array_equal(again, sets)
        one = np.zeros(pet.histo_images_shape, np.float32)
        pet.deposit_crystals(crystals.astype(np.int32).view(np.uint32), times, histo_images=one)
        np.testing.assert_array_equal(one, expected)
        # Faces and time bins: an event's place depends on its number alone.
        pet.set_scanner(positions, normals, crystal_width=pitch, crystal_height=pitch, time_edges=np.linspace(-600, 600, 61))
        bins = np.floor((times + 600) / 20).clip(0, 59).astype(np.uint16)
        whole, parts, moved = (np.zeros(pet.histo_images_shape, np.uint32) for _ in range(3))
        dropped = pet.deposit_crystals(crystals.astype(np.uint16), bins, histo_images=whole)
        self.assertEqual(int(whole.sum()) + dropped.events, len(times))
        for first in (30_000, 0):
            part = slice(first, first + 30_000)
            pet.deposit_crystals(crystals.astype(np.uint16)[part], bins[part], histo_images=parts, first_event=first)
        np.testing.assert_array_equal(parts, whole)
        pet.deposit_crystals(crystals.astype(np.uint16), bins, histo_images=moved, first_event=7)
        self.assertTrue((moved != whole).any())
        unknown = np.array([[0, len(positions)], [0, ring // 2], [0, ring // 2]], np.uint32)
        self.assertEqual(pet.deposit_crystals(unknown, np.array([0, 60, 0], np.uint8), np.array([0, 0, 1], np.uint8), whole).unknown, 3)

    def test_bad_scanners_and_crystals(self):
        pet = plan()
        ring = dict(blocks=8, across=4, along=2, diameter=780.0, pitch_across=4.0)
        self.assertRaisesRegex(isocenter.OutOfRangeError, "pitch_across is 400 mm", isocenter.block_crystals, **{**ring, "pitch_across": 400.0})
        self.assertRaisesRegex(isocenter.OutOfRangeError, "blocks is 0", isocenter.block_crystals, **{**ring, "blocks": 0})
        self.assertRaisesRegex(TypeError, "missing", isocenter.block_crystals, blocks=8)
        positions, normals = isocenter.block_crystals(**ring)
        histo = np.zeros(pet.histo_images_shape, np.uint32)
        crystals, times = np.zeros((5, 2), np.uint32), np.zeros(5, np.float32)
        self.assertRaises(isocenter.NotConfiguredError, pet.deposit_crystals, crystals, times, histo_images=histo)
        for arguments, options, error, words in (
                ((positions[:, :2],), {}, isocenter.TensorShapeError, "positions"),
                ((positions, normals[1:]), {}, isocenter.TensorShapeError, "normals"),
                ((positions.tolist(),), {}, TypeError, "numpy.asarray"),
                ((positions * np.nan,), {}, isocenter.NotFiniteDataError, "NaN"),
                ((positions,), dict(crystal_width=-1.0), isocenter.OutOfRangeError, "crystal_width is -1 mm"),
                ((positions,), dict(time_edges=[1.0]), ValueError, "at least 2"),
                ((positions,), dict(time_edges=[0.0, 1.0, 1.0]), isocenter.OutOfRangeError, "must ascend")):
            with self.subTest(words), self.assertRaisesRegex(error, words):
                pet.set_scanner(*arguments, **options)
        pet.set_scanner(positions, normals)
        for arguments, error, words in (
                ((crystals.astype(int), times), isocenter.TensorDtypeError, r"int64 where.*astype\(numpy.uint32\)"),
                ((crystals.astype(np.int32), times), isocenter.TensorDtypeError, r"crystals.view\(numpy.uint32\)"),
                ((crystals.astype(float), times), isocenter.TensorDtypeError, "crystals"),
                ((crystals, times.astype(int)), isocenter.TensorDtypeError, "times is int64"),
                ((crystals, times, np.zeros(5, int)), isocenter.TensorDtypeError, "labels is int64"),
                ((crystals, np.zeros(5, np.uint8)), isocenter.NotConfiguredError, "time bins"),
                ((crystals, times[1:]), isocenter.TensorShapeError, "crystals has 5 events, times 4; they must have as many"),
                ((crystals, times, np.zeros(4, np.uint8)), isocenter.TensorShapeError, "labels 4"),
                ((crystals.T, times), isocenter.TensorShapeError, "crystals")):
            with self.subTest(words), self.assertRaisesRegex(error, words):
                pet.deposit_crystals(*arguments, histo_images=histo)
        self.assertRaisesRegex(TypeError, "histo_images is None", pet.deposit_crystals, crystals, times)
        self.assertRaisesRegex(ValueError, "first_event is -1", pet.deposit_crystals, crystals, times, None, histo, first_event=-1)
        self.assertFalse(histo.any())

    def test_figures_of_merit(self):
        pet = isocenter.PET(nx=64, ny=64, nz=8, voxel_x=2.0, azimuths=2, max_tilt=0.1)
        bodies = [isocenter.Body("cylinder", half_x=60.0, half_z=50.0, activity=1.0),
                  isocenter.Body("cylinder", x=24.0, half_x=9.0, half_z=50.0, activity=3.0)]
        image = pet.phantom_image(bodies)
        # A rod four times as hot that fills the disc of 10 mm and stays out of the ring.
        self.assertAlmostEqual(pet.contrast_recovery(image, [[24.0, 0.0, 1.0]], 4.0), 1, delta=1e-4)
        self.assertEqual(pet.noise(pet.phantom_image(bodies[0])), 0)
        noisy = image + np.random.default_rng(0).normal(0, 0.1, image.shape).astype(np.float32)
        self.assertAlmostEqual(pet.noise(pet.phantom_image(bodies[0]) + (noisy - image)), 0.1, delta=0.01)
        self.assertRaises(ValueError, pet.contrast_recovery, image, [[24.0, 0.0]], 4.0)

    def test_bad_input(self):
        pet = plan()
        measured = np.ones(pet.histo_images_shape, np.float32)
        for wrong, error, words in (
                (measured.astype(float), isocenter.TensorDtypeError, "measured is float64 where float32 or uint32 is needed"),
                (measured[..., :-1], isocenter.TensorShapeError, "measured"), (measured.T, isocenter.TensorShapeError, "measured"),
                (-measured, isocenter.OutOfRangeError, "must not be below 0"), (measured * np.inf, isocenter.NotFiniteDataError, ""),
                (measured[:0], isocenter.TensorShapeError, "")):
            with self.subTest(words), self.assertRaisesRegex(error, words):
                pet.reconstruct(wrong)
        self.assertRaisesRegex(isocenter.TensorShapeError, "factors", pet.reconstruct, measured, measured[1:])
        self.assertRaises(isocenter.Error, pet.forward, measured[0], views=[99])
        self.assertRaises((TypeError, ValueError), pet.forward, measured[0], views=[])
        self.assertRaises(TypeError, pet.forward, measured[0], views=[0.5])
        for body in (isocenter.Body("cone", half_x=1.0), isocenter.Body(half_x=-1.0), isocenter.Body(half_x="wide")):
            self.assertRaises((ValueError, TypeError), pet.phantom_image, body)
        for response in (dict(radial_fwhm=-1.0), dict(radial_table=[1.0, 2.0]), dict(profile="square"), dict(cut_width="3")):
            self.assertRaises((ValueError, TypeError), pet.set_response, **{**RESPONSE, **response})
        self.assertRaisesRegex(isocenter.OutOfRangeError, "tof_fwhm is 0.3 ps.*0.3 ns would be 300 ps", pet.set_response,
                               **{**RESPONSE, "tof_fwhm": 0.3})
        self.assertRaisesRegex(TypeError, "a grid has azimuths and tilts", pet.set_geometry, **{**LATTICE, "azimuths": 0}, views=6)
        self.assertRaisesRegex(TypeError, "azimuths", pet.set_geometry, **{**LATTICE, "azimuths": 0})
        self.assertRaisesRegex(isocenter.OutOfRangeError, "azimuths is 6 beside a list of views", pet.set_geometry, **LATTICE,
                               views=np.zeros((1, 2)))
        with isocenter.PET(**LATTICE) as bare:
            self.assertRaises(isocenter.NotConfiguredError, bare.reconstruct, measured)
        with isocenter.PET() as bare:
            self.assertRaises(isocenter.NotConfiguredError, bare.reconstruct, measured)
        self.assertRaises(TypeError, pet.set_options, lambda_=1)


if __name__ == "__main__":
    unittest.main()
