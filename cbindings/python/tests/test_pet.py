"""PET: values against known kernels, events and phantoms."""
import math
import unittest
import warnings

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

    def test_priors(self):
        pet = plan()
        truth = pet.phantom_image([WATER, SPHERE])
        rng = np.random.default_rng(5)
        image = (truth + 0.1 + rng.random(truth.shape)).astype(np.float32)
        self.assertRaises(isocenter.NotConfiguredError, pet.prior_gradient, image)
        weights, anatomy = rng.random(truth.shape, np.float32), 7 * truth
        for potential, words in (("relative_difference", dict(gamma=1.5, epsilon=0.1)), ("quadratic", dict(edge=0.4))):
            pet.set_prior(potential, strength=0.3, weights=weights, anatomy=anatomy, anatomy_sigma=2.0, **words)
            gradient, value = pet.prior_gradient(image)
            wanted = 0.0
            for axis_steps in np.ndindex(3, 3, 3):
                step = np.array(axis_steps) - 1
                if tuple(step) <= (0, 0, 0):
                    continue  # each pair once
                here = tuple(slice(max(0, -k), n - max(0, k)) for k, n in zip(step, image.shape))
                there = tuple(slice(max(0, k), n - max(0, -k)) for k, n in zip(step, image.shape))
                f, g = image[here].astype(float), image[there].astype(float)
                difference = abs(f - g)
                pairs = (difference ** 2 / (f + g + 1.5 * difference + 0.1) if potential == "relative_difference"
                         else 0.16 * (np.sqrt(1 + (difference / 0.4) ** 2) - 1))
                alike = np.exp(-((anatomy[here] - anatomy[there]) / 2.0) ** 2 / 2) * weights[here] * weights[there]
                wanted += 0.3 * (pairs * alike).sum() / np.linalg.norm(step)
            self.assertAlmostEqual(value / wanted, 1, delta=1e-5)
            # The slope along the gradient, by steps of 0.01 at most.
            far = np.float32(1e-2 / abs(gradient).max())
            ahead, behind = (pet.prior_gradient(image + by * gradient)[1] for by in (far, -far))
            self.assertAlmostEqual((ahead - behind) / (2 * far * (gradient ** 2).sum(dtype=float)), 1, delta=1e-3)
            out = np.zeros_like(image)
            self.assertIs(pet.prior_gradient(image, out)[0], out)
            np.testing.assert_array_equal(out, gradient)
        self.assertRaisesRegex(isocenter.OutOfRangeError, "strength is -1", pet.set_prior, strength=-1.0)
        self.assertRaisesRegex(TypeError, "strength", pet.set_prior)
        self.assertRaisesRegex(isocenter.OutOfRangeError, "anatomy_sigma", pet.set_prior, strength=1.0, anatomy=anatomy)
        self.assertRaisesRegex(isocenter.OutOfRangeError, "edge", pet.set_prior, strength=1.0, edge=1.0)

        measured = rng.poisson(pet.forward(truth) * 20 + 1).astype(np.uint32)
        factors, additive = np.full(measured.shape, 20, np.float32), np.ones(measured.shape, np.float32)
        pet.set_prior(strength=20.0)
        pet.set_options(algorithm="mlem")
        self.assertRaisesRegex(isocenter.OutOfRangeError, "knows no prior", pet.reconstruct, measured, factors, additive)
        images = {}
        for algorithm, iterations in (("svrg", 30), ("bsrem", 100)):
            pet.set_options(algorithm=algorithm, iterations=iterations)
            images[algorithm] = pet.reconstruct(measured, factors, additive)
            passes = pet.history()
            self.assertEqual((passes[0].penalty, passes[0].change, len(passes)), (0.0, 0.0, iterations))
            self.assertGreater(passes[-1].log_likelihood - passes[-1].penalty, passes[1].log_likelihood - passes[1].penalty)
        svrg = images["svrg"]
        self.assertLess(np.linalg.norm(images["bsrem"] - svrg), 0.02 * np.linalg.norm(svrg))
        inside = truth == 1
        pet.set_prior(strength=None)
        pet.set_options(algorithm="svrg", iterations=30)
        self.assertLess(svrg[inside].std(), 0.8 * pet.reconstruct(measured, factors, additive)[inside].std())
        self.assertRaisesRegex(ValueError, "takes the prior away", pet.set_prior, strength=None, weights=weights)

        pet.set_prior(strength=20.0)
        pet.set_options(algorithm="svrg", iterations=50, stop_change=2e-3, stop_region_change=1e-3)
        self.assertRaisesRegex(isocenter.NotConfiguredError, "set_regions", pet.reconstruct, measured, factors, additive)
        pet.set_regions((truth > 1).astype(np.uint8) + 2 * inside.astype(np.uint8))
        stopped = pet.reconstruct(measured, factors, additive)
        passes = pet.history()
        self.assertLess(len(passes), 50)
        self.assertLessEqual(passes[-1].change, 2e-3)
        self.assertLessEqual(passes[-1].region_change, 1e-3)
        self.assertLess(np.linalg.norm(stopped - svrg), 0.01 * np.linalg.norm(svrg))
        self.assertRaisesRegex(isocenter.OutOfRangeError, "no label", pet.set_regions, np.zeros(truth.shape, np.uint8))
        pet.set_regions(None)

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

    def test_crystals_from_1_are_told(self):
        pet = plan()
        positions, normals = isocenter.block_crystals(blocks=8, across=4, along=2, diameter=780.0, pitch_across=4.0)  # 64
        pet.set_scanner(positions, normals)
        histo, times = np.zeros(pet.histo_images_shape, np.uint32), np.zeros(64, np.float32)
        crystals = np.stack([np.arange(64), (np.arange(64) + 32) % 64], axis=1).astype(np.uint32)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            pet.deposit_crystals(crystals, times, histo_images=histo)
            crystals[3] = 64  # one that there is not, among those from 0
            self.assertEqual(pet.deposit_crystals(crystals, times, histo_images=histo).unknown, 1)
        crystals[3] = 3
        with self.assertWarnsRegex(UserWarning, "crystals run from 1 to 64, which there is not, as if they were counted from 1: if they are, write crystals - 1"):
            self.assertEqual(pet.deposit_crystals(crystals + np.uint32(1), times, histo_images=histo).unknown, 2)

    def test_values_below_0_by_rounding(self):
        """Scatter estimates and resampled maps have them; they are taken for 0, and told, and others are errors."""
        heard = []
        pet = isocenter.PET(isocenter.Context(threads=2, log=lambda level, message: heard.append(message)), **LATTICE)
        pet.set_response(**RESPONSE)
        measured, additive = np.full(pet.histo_images_shape, 3, np.float32), np.full(pet.histo_images_shape, 0.1, np.float32)
        pet.set_options(iterations=1)
        additive[0, 1, 2, 3] = 0
        expected = pet.reconstruct(measured, None, additive)
        for below in (-1e-28, -0.9e-7):
            additive[0, 1, 2, 3] = below
            heard.clear()
            np.testing.assert_array_equal(pet.reconstruct(measured, None, additive), expected)
            self.assertRegex("; ".join(heard), "1 values are below 0 by a millionth of their array's largest or less: they are taken for 0")
            self.assertEqual(additive[0, 1, 2, 3], np.float32(below))  # the caller's own stay
        additive[0, 1, 2, 3] = -1.1e-7
        self.assertRaisesRegex(isocenter.OutOfRangeError, r"additive\[0, 1, 2, 3\] is -.*; it must not be below 0", pet.reconstruct, measured, None, additive)
        additive[:] = -1e-28
        self.assertRaisesRegex(isocenter.OutOfRangeError, "it must not be below 0", pet.reconstruct, measured, None, additive)
        positions, normals = isocenter.block_crystals(blocks=8, across=4, along=2, diameter=780.0, pitch_across=4.0)
        pet.set_scanner(positions, normals, crystal_width=4.0, crystal_height=4.0)
        map = np.zeros(pet.image_shape, np.float32)
        expected = pet.factors(attenuation=map)
        heard.clear()
        np.testing.assert_array_equal(pet.factors(attenuation=map - np.float32(1e-9)), expected)
        self.assertRegex("; ".join(heard), "values are below 0")
        self.assertRaisesRegex(isocenter.OutOfRangeError, "it must be at least 0", pet.factors, attenuation=map - np.float32(1e-7))

    def test_pairs_that_are_not_measured(self):
        positions, normals = isocenter.block_crystals(blocks=8, across=4, along=2, diameter=400.0, pitch_across=30.0)
        pet = isocenter.PET(isocenter.Context(log=lambda *_: None), nx=12, ny=12, nz=4, voxel_x=10.0, azimuths=4, max_tilt=0.2)
        self.assertRaisesRegex(isocenter.NotConfiguredError, "set_scanner", pet.set_pairs)
        pet.set_scanner(positions, normals, crystal_width=30.0, crystal_height=30.0)
        whole, ones = pet.factors(), np.ones(len(positions))
        np.testing.assert_array_equal(pet.factors(ones), whole)
        blocks = np.arange(len(positions)) % 32 // 4
        facing = abs(abs(np.arange(8)[:, None] - np.arange(8)) - 4) == 0
        pet.set_pairs(blocks, facing)
        some = pet.factors(ones)
        self.assertTrue((some <= whole).all() and 0 < some.sum() < whole.sum())
        # Facing blocks and the others are all pairs.
        pet.set_pairs(blocks, np.where(facing, 1, 2), np.array([0.0, 1.0]))
        others = pet.factors(ones)
        np.testing.assert_allclose(some + others, whole, rtol=1e-5, atol=1e-7)
        pet.set_pairs(blocks, np.where(facing, 1, 2), np.array([0.5, 2.0], np.float32))
        np.testing.assert_allclose(pet.factors(ones), 0.5 * some + 2 * others, rtol=1e-5, atol=1e-7)
        tables = np.stack([np.full((8, 8), 0.5), np.full((8, 8), 2.0)])
        pet.set_pairs(blocks, np.where(facing, 1, 2), tables)
        np.testing.assert_allclose(pet.factors(ones), 0.5 * some + 2 * others, rtol=1e-5, atol=1e-7)
        pet.set_pairs(blocks, facing)
        histo = np.zeros(pet.histo_images_shape, np.uint32)
        dropped = pet.deposit_crystals(np.array([[0, 16], [0, 8], [0, 17]], np.uint32), np.zeros(3, np.float32), histo_images=histo)
        self.assertEqual(dropped.not_measured, 1)
        self.assertEqual(pet.fan_sums(np.array([[0, 16], [0, 8]], np.uint32))[1].not_measured, 1)
        for arguments, error, words in (
                ((blocks[1:], facing), isocenter.TensorShapeError, "modules"), ((blocks + 0.0, facing), isocenter.TensorDtypeError, "whole numbers"),
                ((blocks - 1, facing), isocenter.OutOfRangeError, "modules has -1"), ((blocks + 1, facing), isocenter.OutOfRangeError, "is 8; groups are of 8"),
                ((blocks, facing[:, 1:]), isocenter.TensorShapeError, "groups"), ((blocks, facing * 2, np.ones(1)), isocenter.OutOfRangeError, "of 1 groups"),
                ((blocks, facing, -np.ones(1)), isocenter.OutOfRangeError, "at least 0"), ((blocks,), isocenter.NullPointerError, "groups"),
                ((blocks, np.triu(facing)), isocenter.OutOfRangeError, "a pair has one group")):
            with self.subTest(words), self.assertRaisesRegex(error, words):
                pet.set_pairs(*arguments)
        pet.set_pairs()
        np.testing.assert_array_equal(pet.factors(ones), whole)

    def test_crystals_behind_others_add_up(self):
        rings = dict(blocks=8, across=4, along=4, pitch_across=30.0)
        layers = [isocenter.block_crystals(diameter=diameter, **rings) for diameter in (400.0, 420.0)]
        positions, normals = (np.concatenate(parts) for parts in zip(*layers))
        pet = isocenter.PET(isocenter.Context(log=lambda *_: None), nx=12, ny=12, nz=4, voxel_x=10.0, azimuths=4, max_tilt=0.1)
        count = len(layers[0][0])
        of = lambda part: np.repeat(np.array(part, float), count)
        pet.set_scanner(positions, normals, crystal_width=30.0, crystal_height=30.0)
        single = [pet.factors(of(part)) for part in ((1, 0), (0, 1))]
        both = pet.factors(of((0.5, 0.3)))
        # In the middle, where lines that meet one layer meet the other, but near its edges: those of 4 x 4 crystals of 30 mm differ by 10 mm's slope.
        middle = np.s_[:, 1:3, 4:8, 4:8]
        np.testing.assert_allclose(both[middle].sum(), 0.64 * 0.5 * (single[0][middle].sum() + single[1][middle].sum()), rtol=0.03)
        # Without efficiencies no photon is detected twice.
        self.assertLessEqual(pet.factors().sum(), 1.1 * single[0].sum())
        scan = isocenter.Scan([isocenter.Body("cylinder", half_x=20.0, half_z=10.0, activity=1.0)], diameter=400.0, axial_length=100.0)
        events = pet.simulate(scan, 4000)[:3]
        crystals = pet.detect(*events, of((0.5, 0.3)))[0]
        self.assertTrue((crystals[:, 0] < count).any() and ((crystals >= count) & (crystals < 2 * count)).any())
        self.assertRaisesRegex(isocenter.OutOfRangeError, "add up to more than 1", pet.detect, *events, of((0.9, 0.9)))
        self.assertTrue((pet.detect(*events)[0] % (2 ** 32 - 1) < count).all())

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
                ((crystals.astype(np.uint64), times), isocenter.TensorDtypeError, r"uint64 where uint8, uint16 or uint32 is needed: write crystals.astype\(numpy.uint32\)"),
                ((crystals, times.astype(np.uint64)), isocenter.TensorDtypeError, r"uint64 where.*write times.astype\(numpy.uint32\)"),
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

    def test_factors_expect_what_a_scanner_counts(self):
        """Counts of a simulated scan whose lines crystals meet, against factors times decays. All decays within the largest tilt reach the simulated
        cylinder, so that crystals alone decide. 70 000 counts deviate by 0.4 %, the mean of the factors' lines (some 12 views x 65 directions x
        300 lines) by 0.2 %, and the attenuation of voxels that the water's edge cuts costs 0.2 %: 3 deviations and that are 1.5 %. Of
        each of 12 views the counts deviate by 1.3 %, the lines by 0.7 %: 4 deviations are 6 %."""
        pet, events, pitch = isocenter.PET(isocenter.Context(threads=2, log=lambda *_: None), **LATTICE), 200_000, 8.0
        pet.set_response(**RESPONSE)
        # No event leaves the lattice, and the water does: voxels that its ends would cut count their mean, other than lines do.
        bodies = [isocenter.Body("cylinder", x=3.0, half_x=42.0, half_z=12.0, activity=1.0),
                  isocenter.Body("cylinder", half_x=55.0, half_z=100.0, attenuation=0.0096)]
        positions, normals = isocenter.block_crystals(blocks=36, across=8, along=16, diameter=780.0, pitch_across=pitch)
        pet.set_scanner(positions, normals, crystal_width=pitch, crystal_height=pitch, time_edges=np.linspace(-1000, 1000, 201))
        efficiencies = np.random.default_rng(1).uniform(0.5, 1.0, len(positions)).astype(np.float32)
        efficiencies[::50] = 0
        first, second, times, tally = pet.simulate(isocenter.Scan(bodies, diameter=780.0, axial_length=400.0, seed=4), events)
        crystals, bins, lost = pet.detect(first, second, times, efficiencies, seed=5)
        self.assertEqual((crystals.dtype, crystals.shape, bins.dtype, bins.shape), (np.uint32, (events, 2), np.uint16, (events,)))
        gone = crystals[:, 0] == 2**32 - 1
        self.assertEqual((lost.events, lost.outside_window), (gone.sum(), 0))
        self.assertEqual(lost.missed + lost.undetected, lost.events)
        self.assertGreater(min(lost.missed, lost.undetected), events // 10)
        self.assertTrue((crystals[gone] == 2**32 - 1).all() and (efficiencies[crystals[~gone]] > 0).all())
        measured, again = (np.zeros(pet.histo_images_shape, np.uint32) for _ in range(2))
        self.assertEqual(pet.deposit_crystals(crystals[~gone], bins[~gone], histo_images=measured).events, 0)
        dropped = pet.deposit_crystals(crystals, bins, histo_images=again)
        self.assertEqual((dropped.unknown, dropped.events), (lost.events, lost.events))
        self.assertEqual(again.sum(), measured.sum())
        image = pet.phantom_image(bodies)
        water = pet.phantom_image(bodies, "attenuation")[:1].repeat(40, axis=0)
        # The tally's decays are those within the tilts, sin(max_tilt) of all.
        decays = image * (tally.decays / math.sin(LATTICE["max_tilt"]) / image.sum())
        factors = pet.factors(efficiencies, water)
        self.assertEqual((factors.dtype, factors.shape), (np.float32, pet.histo_images_shape))
        expected = (factors * decays).sum(axis=(1, 2, 3), dtype=float)
        self.assertAlmostEqual(measured.sum() / expected.sum(), 1, delta=0.015)
        np.testing.assert_allclose(measured.sum(axis=(1, 2, 3)), expected, rtol=0.06)
        # MLEM keeps the counts. Those that blur puts beside the body have other factors, by some percent of a few.
        pet.set_options(algorithm="mlem")
        self.assertAlmostEqual(pet.reconstruct(measured, factors).sum() / decays.sum(), 1, delta=0.03)
        # The same events for the same seed alone; times in ps, of the same crystals, are within the bins.
        crystals_again, ps, _ = pet.detect(first, second, times, efficiencies, seed=5, bins=False)
        self.assertEqual(ps.dtype, np.float32)
        np.testing.assert_array_equal(crystals_again, crystals)
        np.testing.assert_allclose(ps[~gone], 10.0 * bins[~gone] - 995, rtol=0, atol=5.001)
        self.assertTrue((pet.detect(first, second, times, efficiencies, seed=6)[0] != crystals).any())
        pet.set_scanner(positions, normals, crystal_width=pitch, crystal_height=pitch)
        whole, ps, lost = pet.detect(first[::-1], second[::-1], times[::-1])
        self.assertEqual((ps.dtype, lost.undetected), (np.float32, 0))
        np.testing.assert_array_equal(whole[::-1][~gone], crystals[~gone])

    def test_units_and_maps_of_factors(self):
        pet = isocenter.PET(isocenter.Context(threads=2), nx=20, ny=20, nz=4, voxel_x=5.0, azimuths=4, max_tilt=0.05)
        positions, normals = isocenter.block_crystals(blocks=36, across=8, along=16, diameter=780.0, pitch_across=8.0)
        pet.set_scanner(positions, normals, crystal_width=8.0, crystal_height=8.0)
        plain = pet.factors()
        self.assertTrue((plain >= 0).all() and plain.any())
        self.assertIs(pet.factors(None, None, plain), plain)
        # Of voxels of 5 mm; the decays of 600 s, an hour after the time that the activity is told at.
        rate, seconds = math.log(2) / 6586, 600.0
        left = math.exp(-3600 * rate) * (1 - math.exp(-rate * seconds)) / (rate * seconds)
        for options, scale in ((dict(), 1), (dict(half_life=6586.0, delay=3600.0), left), (dict(branching=0.967, live=0.9), 0.967 * 0.9)):
            np.testing.assert_allclose(pet.factors(duration=seconds, **options), plain * (0.125 * seconds * scale), rtol=1e-5)
        np.testing.assert_allclose(pet.factors(np.full(len(positions), 0.5)), plain / 4, rtol=1e-5)  # of both crystals
        self.assertTrue((pet.factors(directions=1000) != plain).any())
        body = isocenter.Body("cylinder", half_x=32.0, half_z=100.0, attenuation=0.0096)
        water = pet.phantom_image(body, "attenuation")[:1].repeat(10, axis=0)
        through = pet.factors(attenuation=water.astype(float))
        # Middle voxels look through 64 mm; where that ends, it is wrong by a voxel's edge at most: 5 mm x 0.0096 = 4.8 %.
        middle = (slice(None), slice(1, 3), slice(9, 11), slice(9, 11))
        np.testing.assert_allclose(through[middle] / plain[middle], math.exp(-64 * 0.0096), rtol=0.048)
        # The same water in voxels of other sizes, without empty ones, and moved.
        fine, aside = water.repeat(2, axis=0).repeat(2, axis=1).repeat(2, axis=2), np.roll(water, 2, axis=2)
        for expected, map, place in ((through, fine, dict(map_voxel=2.5)), (through, water[:, :, 2:], dict(map_centre=[5.0, 0, 0])),
                                     (pet.factors(attenuation=aside), water, dict(map_voxel=(5.0, 5.0, 5.0), map_centre=(10.0, 0.0, 0.0)))):
            found = pet.factors(attenuation=map, **place)
            np.testing.assert_allclose(found, expected, rtol=0.048)
            self.assertAlmostEqual(found.sum() / expected.sum(), 1, delta=0.01)
        self.assertGreater(np.abs(found / through - 1).max(), 0.15)  # beside the water, 26 mm of it more or less

    def test_attenuation_of_a_ct(self):
        pet = isocenter.PET()  # which needs no geometry
        hounsfield = np.array([[[-1024, -1000, -700, 0, 1000]]], np.float64)
        found = pet.attenuation(hounsfield, 120.0)
        self.assertEqual((found.dtype, found.shape), (np.float32, (1, 1, 5)))
        # Air, lung, water; bone by the line of 120 kV: 0.0096 (1 + 0.047) and 5.1e-6 above.
        np.testing.assert_allclose(found[0, 0], [0, 0, 0.3 * 0.0096, 0.0096, 9.6e-6 * 1047 + 5.1e-6 * (2000 - 1047)], rtol=1e-6)
        in_place = hounsfield.astype(np.float32)
        self.assertIs(pet.attenuation(in_place, 120, in_place), in_place)
        np.testing.assert_array_equal(in_place, found)

    def test_randoms_of_delays(self):
        """Sums over fans, rates of them, and histo-images of these, against other randoms of the same scan: 150 000 counts deviate by 0.3 %, the rates' sum
        by as much; of each of 12 views by 1 %. Lines near the ends miss crystals at the cylinder's gaps by some percent of the edges."""
        pet, pitch = isocenter.PET(isocenter.Context(threads=2, log=lambda *_: None), **LATTICE), 8.0
        positions, normals = isocenter.block_crystals(blocks=36, across=8, along=16, diameter=780.0, pitch_across=pitch)
        pet.set_scanner(positions, normals, crystal_width=pitch, crystal_height=pitch, time_edges=np.linspace(-1000, 1000, 201))
        efficiencies = np.random.default_rng(1).uniform(0.5, 1.0, len(positions)).astype(np.float32)
        efficiencies[::50] = 0
        body = isocenter.Body("cylinder", half_x=50.0, half_z=20.0, activity=1.0)

        def detected(seed):
            scan = isocenter.Scan([body], diameter=785.0, axial_length=128.0, randoms=0.999999, random_window=900.0, seed=seed)
            first, second, times, _ = pet.simulate(scan, 2_000_000)
            crystals, bins, _ = pet.detect(first, second, times, efficiencies, seed=seed)
            kept = crystals[:, 0] < len(positions)
            return crystals[kept], bins[kept]

        crystals, bins = detected(1)
        labels = (np.arange(len(crystals)) % 3 == 0).astype(np.uint8)
        sums, dropped = pet.fan_sums(crystals)
        self.assertEqual((sums.dtype, sums.shape), (np.uint32, (len(positions),)))
        self.assertEqual(sums.sum(), 2 * (len(crystals) - dropped.events))
        self.assertEqual((dropped.unknown, dropped.not_finite, dropped.overflow), (0, 0, 0))
        self.assertGreater(dropped.outside_lattice, 0)
        self.assertFalse(sums[::50].any())
        of_labels = np.zeros((2, len(positions)), np.uint32)
        for begin in range(0, len(crystals), 300_000):
            part = slice(begin, begin + 300_000)
            self.assertIs(pet.fan_sums(crystals[part], labels[part], of_labels)[0], of_labels)
        np.testing.assert_array_equal(of_labels.sum(0), sums)
        alone, beyond = pet.fan_sums(crystals, labels)  # labels of 1 have no sums
        np.testing.assert_array_equal(alone, of_labels[0])
        self.assertEqual(beyond.unknown, labels.sum())

        singles = pet.singles(sums, 600.0, window=900.0)
        self.assertFalse(singles[::50].any())
        seen = efficiencies > 0
        # Of n counts rates deviate by 1 / sqrt(n), efficiencies by themselves from their mean.
        own = (efficiencies[seen].std() / efficiencies[seen].mean())**2
        self.assertAlmostEqual(np.corrcoef(singles[seen], efficiencies[seen])[0, 1], math.sqrt(own / (own + 1 / sums[seen].mean())), delta=0.05)
        np.testing.assert_allclose(pet.singles(sums.astype(float) * 4, 300.0, window=450.0), 4 * singles, rtol=1e-3)
        out = np.zeros(len(positions), np.float32)
        self.assertIs(pet.singles(sums, 600.0, out, window=900.0), out)
        np.testing.assert_array_equal(out, singles)

        randoms = pet.randoms(singles, 600.0, window=900.0)
        self.assertEqual((randoms.dtype, randoms.shape), (np.float32, pet.histo_images_shape))
        measured = np.zeros(pet.histo_images_shape, np.uint32)
        for crystals, bins in (detected(2), detected(3)):
            pet.deposit_crystals(crystals, bins, histo_images=measured)
        self.assertAlmostEqual(measured.sum() / (2 * randoms.sum(dtype=float)), 1, delta=0.02)
        np.testing.assert_allclose(measured.sum(axis=(1, 2, 3)), 2 * randoms.sum(axis=(1, 2, 3), dtype=float), rtol=0.05)
        np.testing.assert_allclose(pet.randoms(singles, 1200.0), 2 * randoms, rtol=1e-5)  # the bins' 1000 ps are beyond the lattice, too
        near = pet.randoms(singles, 600.0, window=200.0)
        self.assertLess(near.sum(), 0.8 * randoms.sum())
        self.assertTrue((near <= randoms * 1.00001).all() and (near == 0).any() and (near == randoms).any())

    def test_efficiencies_of_a_known_source(self):
        log = []
        pet = isocenter.PET(isocenter.Context(log=lambda level, text: log.append(text)), nx=40, ny=40, nz=16, voxel_x=5.0, azimuths=4, max_tilt=0.25)  # more than the scanner has
        positions, normals = isocenter.block_crystals(blocks=24, across=4, along=8, diameter=400.0, pitch_across=12.9, pitch_along=10.0)
        pet.set_scanner(positions, normals, crystal_width=12.9, crystal_height=10.0, time_edges=np.linspace(-1000, 1000, 101))
        efficiencies = np.random.default_rng(4).uniform(0.4, 1.0, len(positions))
        efficiencies[::50] = 0
        phantom = isocenter.Body("cylinder", half_x=70.0, half_z=39.0, activity=1.0, attenuation=0.0096)
        scan = isocenter.Scan([phantom], diameter=400.0, axial_length=200.0, tof_fwhm=200.0)
        first, second, times, tally = pet.simulate(scan, 4_000_000)
        crystals = pet.detect(first, second, times, efficiencies)[0]
        sums, dropped = pet.fan_sums(crystals[crystals[:, 0] < len(positions)])
        source, water = pet.phantom_image([phantom]), pet.phantom_image([phantom], "attenuation")
        source *= tally.decays / math.sin(0.25) / source.sum(dtype=float)
        found = pet.efficiencies(sums, source, water)
        self.assertEqual((found.dtype, found.shape), (np.float32, efficiencies.shape))
        self.assertFalse(found[::50].any())
        self.assertTrue(any("have no counts" in text for text in log), log)
        seen = efficiencies > 0
        off = np.log(found[seen] / efficiencies[seen])
        # Errors are those of counts, 1 / sqrt(sums), and of the other ends; the mean of all has half of their total's, and the source's steps on the lattice.
        self.assertLess(abs(off.mean()), 0.01)
        self.assertTrue(0.8 < (off * np.sqrt(sums[seen])).std() < 1.4, (off * np.sqrt(sums[seen])).std())
        self.assertGreater(abs(np.log(pet.efficiencies(sums, source)[seen] / efficiencies[seen]).mean()), 0.2)  # without the attenuation

        out = np.zeros(len(positions), np.float32)
        self.assertIs(pet.efficiencies(4.0 * sums, 4 * source, water, out=out), out)
        np.testing.assert_allclose(out, found, rtol=1e-3)
        litre = 0.125 * 600 * 0.5  # decays of a voxel in 600 s with half of the time, for a Bq/ml
        np.testing.assert_allclose(pet.efficiencies(sums, source / litre, water, duration=600.0, live=0.5), found, rtol=1e-3)
        # Randoms, by rates that are the same everywhere, as many as trues.
        pairs, _ = pet.fan_sums(np.stack(np.triu_indices(len(positions), 1), 1).astype(np.uint32))
        rate = 1e4
        randoms = 2 * 1000e-12 * 600.0 * rate**2 * pairs
        singles = np.full(len(positions), rate)
        less = pet.efficiencies(sums + randoms, source / litre, water, singles, duration=600.0, live=0.5)
        np.testing.assert_allclose(less[seen], found[seen], rtol=2e-3)

    def test_bad_efficiencies(self):
        pet = isocenter.PET(isocenter.Context(threads=1, log=lambda *_: None), nx=6, ny=5, nz=4, voxel_x=8.0, azimuths=3, max_tilt=0.1)
        image, water = np.ones((4, 5, 6)), np.full((4, 5, 6), 0.0096)
        self.assertRaisesRegex(isocenter.NotConfiguredError, "set_scanner", pet.efficiencies, np.ones(3), image)
        positions, normals = isocenter.block_crystals(blocks=12, across=4, along=4, diameter=300.0, pitch_across=18.0)
        pet.set_scanner(positions, normals, crystal_width=18.0, crystal_height=18.0)
        ones, below = np.ones(len(positions)), np.ones(len(positions))
        below[3] = -1
        for call, error, said in [
                (lambda: pet.efficiencies(below, image), isocenter.OutOfRangeError, r"sums\[3\] is -1"),
                (lambda: pet.efficiencies(ones * 0, image), isocenter.OutOfRangeError, "no coincidences"),
                (lambda: pet.efficiencies(ones[:3], image), isocenter.TensorShapeError, "sums"),
                (lambda: pet.efficiencies(ones, image * 0), isocenter.OutOfRangeError, "there is no source"),
                (lambda: pet.efficiencies(ones, -image), isocenter.OutOfRangeError, r"image\[0, 0, 0\] is -1; it must be at least 0"),
                (lambda: pet.efficiencies(ones, image[:2]), isocenter.TensorShapeError, "image"),
                (lambda: pet.efficiencies(ones, image, water - 1000), isocenter.OutOfRangeError, "attenuation"),
                (lambda: pet.efficiencies(ones, image, window=900.0), isocenter.OutOfRangeError, "window is 900 ps, of randoms, and there are no singles"),
                (lambda: pet.efficiencies(ones, image, None, ones, window=900.0), isocenter.OutOfRangeError, "duration is 0, and singles"),
                (lambda: pet.efficiencies(ones, image, None, ones, duration=60.0), isocenter.NotConfiguredError, "window is 0"),
                (lambda: pet.efficiencies(ones, image, None, below, window=900.0, duration=60.0), isocenter.OutOfRangeError, r"singles\[3\] is -1"),
                (lambda: pet.efficiencies(ones, image, None, 1e7 * ones, window=900.0, duration=60.0), isocenter.OutOfRangeError, "as many as the sums"),
                (lambda: pet.efficiencies(ones, image, field_of_view=-1.0), isocenter.OutOfRangeError, "field_of_view is -1 mm")]:
            with self.subTest(said):
                self.assertRaisesRegex(error, said, call)

    def test_scatter_of_a_scan(self):
        """A scan with scatter and randoms is the image that was scanned: scatter's own tests are in Rust. Of 270 000 counts 3 % are scatter in the
        lattice; the counts deviate by 0.2 %, blur takes some 0.5 % of them beside the body. A crystal's size tilts lines: those beyond the largest
        tilt come back as others leave, if there are any."""
        context, pitch = isocenter.Context(threads=2, log=lambda *_: None), 8.0
        pet, wider = isocenter.PET(context, **LATTICE), isocenter.PET(context, **dict(LATTICE, max_tilt=0.23))
        pet.set_response(**RESPONSE)
        positions, normals = isocenter.block_crystals(blocks=36, across=8, along=32, diameter=780.0, pitch_across=pitch)
        pet.set_scanner(positions, normals, crystal_width=pitch, crystal_height=pitch, time_edges=np.linspace(-1500, 1500, 301))
        bodies = [isocenter.Body("cylinder", half_x=40.0, half_z=12.0, activity=1.0),
                  isocenter.Body("cylinder", half_x=50.0, half_z=60.0, attenuation=0.0096)]
        scan = isocenter.Scan(bodies, diameter=785.0, axial_length=256.0, tof_fwhm=RESPONSE["tof_fwhm"], energy_resolution=0.11, randoms=0.1,
                              random_window=1200.0, seed=4)
        first, second, times, tally = wider.simulate(scan, 400_000)
        self.assertGreater(tally.scatter, 0.1 * tally.trues)
        decays = tally.decays / math.sin(0.23)
        self.assertAlmostEqual(tally.scatter_draws / decays, 1, delta=0.03)
        crystals, bins, _ = pet.detect(first, second, times)
        kept = crystals[:, 0] < len(positions)
        measured = np.zeros(pet.histo_images_shape, np.uint32)
        pet.deposit_crystals(crystals[kept], bins[kept], histo_images=measured)
        water = pet.phantom_image(bodies, "attenuation")[:1].repeat(30, axis=0)
        factors, (_, randoms) = pet.factors(None, water), pet.expect(scan, tally)
        pet.set_options(algorithm="mlem")
        image = before = pet.reconstruct(measured, factors, randoms)
        for _ in range(2):
            additive, found = pet.scatter(image, water, None, measured, randoms)
            image = pet.reconstruct(measured, factors, additive)
        self.assertAlmostEqual(image.sum() / decays, 1, delta=0.015)
        self.assertGreater(before.sum() / image.sum(), 1.02)
        self.assertTrue((additive >= randoms).all())
        self.assertEqual(found._fields, ("scatter", "scale", "tails", "tails_scatter", "places", "scale_error"))
        self.assertAlmostEqual((additive - randoms).sum(dtype=float) / (found.scatter * found.scale), 1, delta=1e-4)
        # Without tails it is single scatter alone.
        alone, unscaled = pet.scatter(image, water)
        self.assertEqual((unscaled.scale, unscaled.tails), (1, 0))
        self.assertAlmostEqual(alone.sum(dtype=float) / unscaled.scatter, 1, delta=1e-4)
        out = np.zeros_like(alone)
        given, fewer = pet.scatter(image, water, out=out, spacing=30.0, tof_fwhm=RESPONSE["tof_fwhm"])
        self.assertIs(given, out)
        np.testing.assert_allclose(out.sum(), alone.sum(), rtol=0.03)  # of a body of 5 such distances
        narrow = pet.scatter(image, water, spacing=30.0, energy_lower=480.0)[1]
        self.assertLess(narrow.scatter, 0.9 * fewer.scatter)
        in_becquerel = pet.scatter(image * 2, water, spacing=30.0, duration=10.0, branching=0.5)[1]  # 10 s, half of the decays, voxels of so many ml
        volume = np.prod([LATTICE["voxel_x"], LATTICE.get("voxel_y", LATTICE["voxel_x"]), LATTICE.get("voxel_z", LATTICE["voxel_x"])]) / 1000
        self.assertAlmostEqual(in_becquerel.scatter / (10 * volume * fewer.scatter), 1, delta=1e-5)

    def test_scans_of_attenuation_maps(self):
        """A box of water as a body and as a map: as many decays reach the detectors, and as many of them scattered. Of 60 000 events both deviate by 1 %."""
        pet = isocenter.PET(isocenter.Context(threads=2), **LATTICE)
        hot = isocenter.Body("cylinder", half_x=30.0, half_z=15.0, activity=1.0)
        water = isocenter.Body("box", x=10.0, half_x=60.0, half_y=50.0, half_z=30.0, attenuation=0.0096)
        map = np.full((6, 20, 24), 0.0096, np.float32)  # of 5 x 5 x 10 mm
        options = dict(diameter=600.0, axial_length=300.0, energy_resolution=0.11)
        of_body = pet.simulate(isocenter.Scan([hot, water], **options), 60_000)[3]
        placed = dict(attenuation=map, map_voxel=(5.0, 5.0, 10.0), map_centre=(10.0, 0.0, 0.0))
        of_map = pet.simulate(isocenter.Scan([hot], **placed, **options), 60_000)[3]
        self.assertAlmostEqual(of_map.trues / of_map.decays / (of_body.trues / of_body.decays), 1, delta=0.03)
        self.assertAlmostEqual(of_map.scatter / of_map.scatter_draws / (of_body.scatter / of_body.scatter_draws), 1, delta=0.04)
        self.assertLess(of_map.trues / of_map.decays, 0.6)
        scan = isocenter.Scan([hot], **placed)
        with self.assertRaisesRegex(isocenter.NotConfiguredError, "isoc_pet_factors|PET.factors|factors makes them"):
            pet.expect(scan, of_map)
        map[1, 2, 3] = -1
        self.assertRaisesRegex(isocenter.OutOfRangeError, r"attenuation\[1, 2, 3\] is -1 /mm", pet.simulate, scan, 5)
        scan.attenuation = None
        self.assertRaisesRegex(isocenter.OutOfRangeError, "without", pet.simulate, scan, 5)

    def test_bad_randoms_and_scatter(self):
        pet = isocenter.PET(isocenter.Context(threads=1, log=lambda *_: None), nx=6, ny=5, nz=4, voxel_x=8.0, azimuths=3, max_tilt=0.1)
        crystals, image, water = np.zeros((2, 2), np.uint32), np.ones((4, 5, 6)), np.full((4, 5, 6), 0.0096)
        self.assertRaisesRegex(isocenter.NotConfiguredError, "set_scanner", pet.randoms, np.ones(3), 1.0)
        positions, normals = isocenter.block_crystals(blocks=12, across=4, along=4, diameter=300.0, pitch_across=18.0)
        pet.set_scanner(positions, normals, crystal_width=18.0, crystal_height=18.0)
        ones, below = np.ones(len(positions)), np.ones(len(positions))
        below[3] = -1
        for call, error, said in [
                (lambda: pet.fan_sums(crystals.astype(np.int64)), isocenter.TensorDtypeError, "crystals is int64"),
                (lambda: pet.fan_sums(crystals, field_of_view=-1.0), isocenter.OutOfRangeError, "field_of_view is -1 mm"),
                (lambda: pet.fan_sums(crystals, sums=np.zeros(3, np.uint32)), isocenter.TensorShapeError, "sums"),
                (lambda: pet.singles(ones, 600.0), isocenter.NotConfiguredError, "window is 0, and the scanner has no time bins"),
                (lambda: pet.singles(ones * 0, 600.0, window=900.0), isocenter.OutOfRangeError, "no delayed coincidences"),
                (lambda: pet.singles(below, 600.0, window=900.0), isocenter.OutOfRangeError, r"sums\[3\] is -1"),
                (lambda: pet.singles(ones, 0.0, window=900.0), isocenter.OutOfRangeError, "duration is 0 s; it must be above 0"),
                (lambda: pet.randoms(ones, 600.0, window=-2.0), isocenter.OutOfRangeError, "window is -2 ps"),
                (lambda: pet.randoms(below, 600.0), isocenter.OutOfRangeError, r"singles\[3\] is -1"),
                (lambda: pet.randoms(ones, 600.0, directions=1 << 20), isocenter.OutOfRangeError, "directions is 1048576"),
                (lambda: pet.scatter(image, water), isocenter.NotConfiguredError, "tof_fwhm is 0, and the plan has no response"),
                (lambda: pet.scatter(image, water * 0, tof_fwhm=300.0), isocenter.OutOfRangeError, "nothing scatters"),
                (lambda: pet.scatter(image, water - 1000, tof_fwhm=300.0), isocenter.OutOfRangeError, "attenuation"),
                (lambda: pet.scatter(-image, water, tof_fwhm=300.0), isocenter.OutOfRangeError, r"image\[0, 0, 0\] is -1; it must be at least 0"),
                (lambda: pet.scatter(image, water, tof_fwhm=-1.0), isocenter.OutOfRangeError, "tof_fwhm is -1 ps"),
                (lambda: pet.scatter(image, water, tof_fwhm=300.0, spacing=0.5), isocenter.OutOfRangeError, "spacing is 0.5 mm; it must be 1 to 100"),
                (lambda: pet.scatter(image, water, tof_fwhm=300.0, energy_resolution=11.0), isocenter.OutOfRangeError, "energy_resolution is 11"),
                (lambda: pet.scatter(image, water, tof_fwhm=300.0, energy_lower=600.0), isocenter.OutOfRangeError, "below 511"),
                (lambda: pet.scatter(image, water, tof_fwhm=300.0, randoms=np.full((3, 4, 5, 6), -1, np.float32)), isocenter.OutOfRangeError,
                 r"randoms\[0, 0, 0, 0\] is -1"),
                (lambda: pet.simulate(isocenter.Scan([isocenter.Body(half_x=9.0, activity=1.0)], energy_resolution=0.1), 5), isocenter.OutOfRangeError,
                 "nothing scatters"),
                (lambda: pet.simulate(isocenter.Scan([isocenter.Body(half_x=9.0, activity=1.0)], energy_lower=450.0), 5), isocenter.OutOfRangeError,
                 "energy_resolution is 0 beside an energy window"),
        ]:
            with self.subTest(said), self.assertRaisesRegex(error, said):
                call()

    def test_bad_factors_and_detected_events(self):
        told = []
        pet = isocenter.PET(isocenter.Context(threads=2, log=lambda level, message: told.append((level, message))), nx=6, ny=5, nz=4,
                            voxel_x=8.0, azimuths=3, max_tilt=0.1)
        positions, normals = isocenter.block_crystals(blocks=24, across=4, along=4, diameter=780.0, pitch_across=20.0)
        count, map = len(positions), np.full((4, 5, 6), 0.0096)
        first, second, times = np.array([[300.0, 0, 0]] * 5), np.array([[-300.0, 0, 0]] * 5), np.zeros(5)
        for call in (pet.factors, lambda: pet.detect(first, second, times)):
            self.assertRaisesRegex(isocenter.NotConfiguredError, "set_scanner comes first", call)
        pet.set_scanner(positions, normals)
        for call in (pet.factors, lambda: pet.detect(first, second, times)):
            self.assertRaisesRegex(isocenter.NotConfiguredError, "which no line meets: crystal_width and crystal_height must be above 0", call)
        pet.set_scanner(positions, normals, crystal_width=20.0, crystal_height=20.0, time_edges=[-50.0, 0.0, 50.0])
        good, below, many = np.ones(count), np.where(np.arange(count) == 7, -0.25, 1.0), np.full(count, 1.5)
        units = np.where(np.arange(6) < 3, -1000.0, 40.0) + 0 * map
        for arguments, options, error, words in (
                ((below,), {}, isocenter.OutOfRangeError, r"^PET.factors: efficiencies\[7\] is -0.25; it must be at least 0"),
                ((0 * good,), {}, isocenter.OutOfRangeError, "efficiencies are 0 everywhere"),
                ((good * np.nan,), {}, isocenter.NotFiniteDataError, r"efficiencies\[0\] is NaN"),
                ((good[1:],), {}, isocenter.TensorShapeError, rf"efficiencies has shape \({count - 1},\); it must be \(crystals\) = \({count}\)"),
                ((good.astype(int),), {}, isocenter.TensorDtypeError, r"efficiencies.astype\(numpy.float"),
                ((list(good),), {}, TypeError, r"numpy.asarray\(efficiencies\)"),
                ((None, units), {}, isocenter.OutOfRangeError, r"attenuation\[0, 0, 0\] is -1000 /mm.*Hounsfield units, which attenuation converts"),
                ((None, map * np.inf), {}, isocenter.NotFiniteDataError, "attenuation.* is inf"),
                ((None, map * 1e3), {}, isocenter.OutOfRangeError, "in 1/m$"),
                ((None, map[0]), {}, isocenter.TensorNdimError, r"attenuation has shape \(5, 6\)|attenuation.ndim is 2; it must be 3"),
                ((None, map[:0]), {}, isocenter.OutOfRangeError, r"attenuation.shape\[0\] is 0"),
                ((None, None, np.zeros((3, 4, 5, 6))), {}, isocenter.TensorDtypeError, "factors is float64 where float32 is needed"),
                ((None, None, np.zeros((2, 4, 5, 6), np.float32)), {}, isocenter.TensorShapeError, r"factors has shape \(2, 4, 5, 6\)"),
                ((), dict(duration=-1.0), isocenter.OutOfRangeError, "duration is -1 s"),
                ((), dict(duration=60.0, branching=96.7), isocenter.OutOfRangeError, "branching is 96.7; it must be above 0 and at most 1"),
                ((), dict(duration=60.0, delay=60.0), isocenter.OutOfRangeError, "delay is 60 s beside a half_life of 0"),
                ((), dict(half_life=6586.0), isocenter.OutOfRangeError, "half_life is 6586 beside a duration of 0"),
                ((), dict(duration=60.0, half_life=math.nan), isocenter.NotFiniteParameterError, "half_life is NaN"),
                ((), dict(directions=20_000), isocenter.OutOfRangeError, "directions is 20000; it must be 1 to 16384"),
                ((), dict(directions=-1), ValueError, "directions is -1"),
                ((None, map), dict(map_voxel=-1.0), isocenter.OutOfRangeError, "map_voxel along x is -1 mm"),
                ((None, map), dict(map_voxel=[1.0, 2.0]), ValueError, "map_voxel has 2 numbers; it must have 3, along x, y and z, or be one"),
                ((None, map), dict(map_centre=[0.0, 0.0, math.inf]), isocenter.NotFiniteParameterError, "map_centre along z is inf"),
                ((None, map), dict(map_centre=[1.0] * 4), ValueError, "map_centre has 4 numbers; it must have 3, along x, y and z$"),
                ((None, map), dict(map_centre=3.0), ValueError, "map_centre"),
                ((None, map), dict(map_voxel="2"), TypeError, "map_voxel is '2'; it must be a real number")):
            with self.subTest(words), self.assertRaisesRegex(error, words):
                pet.factors(*arguments, **options)
        for arguments, options, error, words in (
                ((first, second, times, many), {}, isocenter.OutOfRangeError, r"efficiencies\[0\] is 1.5; it must be 0 to 1, a probability"),
                ((first, second, times, good[1:]), {}, isocenter.TensorShapeError, "efficiencies"),
                ((first, second, times[1:]), {}, isocenter.TensorShapeError, "first_positions has 5 events, second_positions 5, time_differences 4"),
                ((first, second.T, times), {}, isocenter.TensorShapeError, "second_positions"),
                ((first[:0], second[:0], times[:0]), {}, isocenter.OutOfRangeError, r"time_differences.shape\[0\] is 0"),
                ((first, second, list(times)), {}, TypeError, "time_differences is list"),
                ((first, second, None), {}, TypeError, "time_differences is NoneType"),
                ((first, second, times), dict(seed=-1), ValueError, "seed is -1")):
            with self.subTest(words), self.assertRaisesRegex(error, words):
                pet.detect(*arguments, **options)
        for arguments, error, words in (
                ((map, 0.12), isocenter.OutOfRangeError, "kilovolts is 0.12; it must be 80 to 140"),
                ((map, "120"), TypeError, "kilovolts is '120'; it must be a real number"),
                ((map.astype(np.int16), 120), isocenter.TensorDtypeError, r"hounsfield is int16 .*hounsfield.astype\(numpy.float"),
                ((map[0], 120), isocenter.TensorNdimError, "hounsfield"),
                ((map * np.nan, 120), isocenter.NotFiniteDataError, "hounsfield.* is NaN"),
                ((map, 120, np.zeros((4, 5, 7), np.float32)), isocenter.TensorShapeError, r"attenuation has shape \(4, 5, 7\)"),
                ((map, 120, map), isocenter.TensorDtypeError, "attenuation is float64 where float32 is needed")):
            with self.subTest(words), self.assertRaisesRegex(error, words):
                pet.attenuation(*arguments)
        # What may be is done, and the log says which unit a map seems to have.
        for scale, unit in ((1.0, ""), (10.0, "in 1/cm"), (1e-3, "values must be in 1/mm")):
            told.clear()
            pet.factors(good, map * scale)
            said = [message for level, message in told if level == 1]
            self.assertEqual([m.endswith(unit) for m in said], [True] * bool(unit), said)
        # An event in no time bin, one whose line meets no crystal, one that is no line, and one that is detected.
        first[1], second[1] = (0, 0, 300), (0, 0, -300)
        second[2] = first[2]
        crystals, bins, lost = pet.detect(first[:4], second[:4], np.array([1e3, 0, 0, 10]))
        self.assertEqual(lost, isocenter.Lost(events=3, missed=2, undetected=0, outside_window=1))
        self.assertEqual(bins.tolist(), [0, 0, 0, 1])
        np.testing.assert_array_equal(crystals[:3], 2**32 - 1)
        np.testing.assert_array_equal(np.sign(positions[crystals[3], 0]), [1, -1])

    def test_memory_of_factors_randoms_and_scatter(self):
        """So many bytes are enough, and one less is not."""
        positions, normals = isocenter.block_crystals(blocks=36, across=4, along=16, diameter=780.0, pitch_across=16.0)

        def plan_of(memory_cap):
            pet = isocenter.PET(isocenter.Context(device="cpu", threads=2, memory_cap=memory_cap, log=lambda *_: None), **LATTICE)
            pet.set_response(**RESPONSE)
            pet.set_scanner(positions, normals, crystal_width=16.0, crystal_height=16.0)
            return pet

        pet = plan_of(0)
        image, water = pet.phantom_image(WATER), pet.phantom_image(WATER, "attenuation")
        fine, ones = water.repeat(4, axis=0).repeat(4, axis=1).repeat(4, axis=2), np.ones(len(positions))
        how = dict(directions=8, duration=600.0, half_life=6586.0, map_voxel=1.25)
        additive = np.ones(pet.histo_images_shape, np.float32)
        for figure, call in (
                (pet.factors_memory(directions=8), lambda pet: pet.factors(ones, directions=8)),
                (pet.factors_memory(fine, **how), lambda pet: pet.factors(ones, fine, **how)),
                (pet.randoms_memory(directions=8), lambda pet: pet.randoms(ones, 600.0, window=900.0, directions=8)),
                (pet.scatter_memory(fine, spacing=20.0, **how),
                 lambda pet: pet.scatter(image, fine, ones, additive, additive, spacing=20.0, **how))):
            with self.subTest(figure):
                host, gpu = figure
                self.assertGreater(host, 0)
                self.assertEqual(gpu, 0)
                call(plan_of(host))
                self.assertRaisesRegex(isocenter.MemoryCapError, f"^.*memory_cap is {host - 1} bytes; .* needs? {host}$", call, plan_of(host - 1))
        # Of factors the map's shape alone counts, of scatter the places.
        self.assertEqual(pet.factors_memory(-1000 * fine, **how), pet.factors_memory(fine, **how))
        self.assertGreater(pet.factors_memory(fine, **how), pet.factors_memory(**how))
        self.assertGreater(pet.scatter_memory(fine, spacing=10.0, **how), pet.scatter_memory(fine, spacing=20.0, **how))
        for function, arguments, options, error, words in (
                (pet.factors_memory, (water[0],), {}, isocenter.TensorNdimError, "^PET.factors_memory: attenuation"),
                (pet.factors_memory, (water,), dict(map_voxel=-1.0), isocenter.OutOfRangeError, "map_voxel along x is -1 mm"),
                (pet.factors_memory, (), dict(directions=20_000), isocenter.OutOfRangeError, "directions is 20000; it must be 1 to 16384"),
                (pet.factors_memory, (), dict(half_life=6586.0), isocenter.OutOfRangeError, "half_life is 6586 beside a duration of 0"),
                (pet.scatter_memory, (water,), dict(live=2.0), isocenter.OutOfRangeError, "live is 2"),
                (pet.randoms_memory, (), dict(directions=20_000), isocenter.OutOfRangeError, "^PET.randoms_memory: directions is 20000"),
                (pet.randoms_memory, (), dict(directions=-1), ValueError, "directions is -1"),
                (pet.scatter_memory, (), {}, TypeError, "attenuation"),
                (pet.scatter_memory, (None,), {}, isocenter.NullPointerError, "^PET.scatter_memory: attenuation is None"),
                (pet.scatter_memory, (water * 0,), {}, isocenter.OutOfRangeError, "nothing scatters"),
                (pet.scatter_memory, (-water,), {}, isocenter.OutOfRangeError, r"attenuation\[\d, \d+, \d+\] is -0\.00"),
                (pet.scatter_memory, (water,), dict(spacing=0.5), isocenter.OutOfRangeError, "spacing is 0.5 mm; it must be 1 to 100")):
            with self.subTest(words), self.assertRaisesRegex(error, words):
                function(*arguments, **options)
        bare = isocenter.PET(**LATTICE)
        for call in (bare.factors_memory, bare.randoms_memory, lambda: bare.scatter_memory(water, tof_fwhm=300.0)):
            self.assertRaisesRegex(isocenter.NotConfiguredError, "set_scanner comes first", call)

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
