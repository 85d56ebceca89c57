"""Lists of events along lines: the definition, activity, and mistakes."""
import unittest

import numpy as np

import isocenter

LIGHT = 0.149896229
FWHM = 2.354820045


def lines(count, seed):
    """Ends of lines through a lattice and past it, and times."""
    rng = np.random.default_rng(seed)
    azimuth = rng.uniform(0, 2 * np.pi, (count, 1)) + np.stack([np.zeros(count), np.pi + rng.uniform(-0.6, 0.6, count)], axis=1)
    ends = np.stack([150 * np.cos(azimuth), 150 * np.sin(azimuth), rng.uniform(-40, 40, (count, 2))], axis=2)
    return ends[:, 0].copy(), ends[:, 1].copy(), rng.uniform(-300, 300, count)


def by_definition(first, second, time, image, voxel, fwhm=None, cut=3.0):
    """The sum along one line, plane by plane."""
    sides = np.array(image.shape[::-1])
    delta = (second - first) / voxel
    axis = int(np.abs(delta).argmax())
    length, step = np.linalg.norm(second - first), np.linalg.norm(second - first) / abs(delta[axis])
    start = first / voxel + (sides - 1) / 2
    total = 0.0
    for k in range(sides[axis]):
        t = (k - start[axis]) / delta[axis]
        if not 0 <= t <= 1:
            continue
        if fwhm is None:
            weight = step
        else:
            sigma = fwhm * LIGHT / FWHM
            off = t * length - (length / 2 - LIGHT * time)
            edges = np.clip((off + step * np.linspace(-0.5, 0.5, 201)) / sigma, -cut, cut)
            density = np.exp(-0.5 * edges ** 2) / np.sqrt(2 * np.pi)
            weight = float(np.sum(0.5 * (density[1:] + density[:-1]) * np.diff(edges))) / 0.9973002
        at = start + t * delta
        others = [a for a in range(3) if a != axis]
        low = np.floor(at).astype(int)
        for corner in range(4):
            index, part = np.zeros(3, int), weight
            index[axis] = k
            for n, a in enumerate(others):
                up = corner >> n & 1
                index[a] = low[a] + up
                part *= 1 - abs(at[a] - index[a])
            if all(0 <= index[a] < sides[a] for a in range(3)):
                total += part * float(image[tuple(index[::-1])])
    return total


class Lines(unittest.TestCase):
    def setUp(self):
        self.pet = isocenter.PET(nx=14, ny=16, nz=9, voxel_x=5.0, voxel_y=4.0, voxel_z=6.0, azimuths=4, max_tilt=1.2)
        self.image = np.random.default_rng(1).uniform(0, 1, (9, 16, 14)).astype(np.float32)

    # Numbers of f32 are wrong by 1e-6 of the planes' weights, 100 mm or 1; the trapezoid's rule by 1e-5.
    def test_sums_are_the_definition_s(self):
        first, second, times = lines(40, 2)
        voxel = np.array([5.0, 4.0, 6.0])
        plain = isocenter.EventList(first_positions=first, second_positions=second)
        found, dropped = self.pet.forward_lines(plain, self.image)
        expected = [by_definition(a, b, 0, self.image, voxel) for a, b in zip(first, second)]
        np.testing.assert_allclose(found, expected, atol=3e-4)
        self.assertEqual(dropped.events, dropped.outside_lattice)
        self.assertGreater(np.count_nonzero(found), 15)
        timed = isocenter.EventList(first_positions=first, second_positions=second, times=times, tof_fwhm=np.full(40, 180.0))
        found, _ = self.pet.forward_lines(timed, self.image)
        expected = [by_definition(a, b, t, self.image, voxel, 180.0) for a, b, t in zip(first, second, times)]
        np.testing.assert_allclose(found, expected, atol=3e-5)

    def test_back_projection_is_the_transpose(self):
        self.pet.set_response(tof_fwhm=200.0, radial_fwhm=6.0, axial_fwhm=7.0)
        first, second, times = lines(2000, 3)
        values = np.random.default_rng(4).uniform(0, 1, 2000).astype(np.float32)
        for given in (None, times.astype(np.float32)):
            list = isocenter.EventList(first_positions=first.astype(np.float32), second_positions=second, times=given)
            sums, back = self.pet.forward_lines(list, self.image)[0], self.pet.adjoint_lines(list, values)[0]
            left, right = np.dot(sums.astype(float), values), np.vdot(back.astype(float), self.image)
            self.assertAlmostEqual(left / right, 1, delta=2e-6)

    def test_mistakes_are_named(self):
        first, second, times = lines(5, 5)
        list = isocenter.EventList(first_positions=first, second_positions=second, times=times)
        with self.assertRaisesRegex(isocenter.NotConfiguredError, "no response that tells how exact"):
            self.pet.forward_lines(list, self.image)
        with self.assertRaisesRegex(TypeError, "must be an isocenter.EventList"):
            self.pet.forward_lines(first, self.image)
        with self.assertRaisesRegex(TypeError, "give crystals, or first_positions"):
            self.pet.forward_lines(isocenter.EventList(), self.image)
        plain = isocenter.EventList(first_positions=first, second_positions=second)
        with self.assertRaisesRegex(isocenter.OutOfRangeError, "ramla.*goes view by view"):
            self.pet.reconstruct_lines(plain, np.ones_like(self.image))
        self.pet.set_options(algorithm="mlem")
        with self.assertRaisesRegex(isocenter.OutOfRangeError, r"additive\[2\] is -1"):
            self.pet.reconstruct_lines(plain, np.ones_like(self.image), additive=np.array([0, 0, -1, 0, 0], np.float32))
        with self.assertRaisesRegex(isocenter.NotFiniteDataError, r"factors\[1\]"):
            self.pet.reconstruct_lines(plain, np.ones_like(self.image), np.array([1, np.nan, 1, 1, 1], np.float32))
        with self.assertRaisesRegex(isocenter.Error, "list.second_positions"):
            self.pet.forward_lines(isocenter.EventList(first_positions=first, second_positions=second[:4]), self.image)
        with self.assertRaisesRegex(isocenter.NotConfiguredError, "scanner"):
            self.pet.forward_lines(isocenter.EventList(np.zeros((3, 2), np.uint32)), self.image)


class Activity(unittest.TestCase):
    """A cylinder of 60 mm with a rod, simulated and detected, in water."""

    @classmethod
    def setUpClass(cls):
        rng = np.random.default_rng(0)
        positions, normals = isocenter.block_crystals(blocks=38, across=16, along=16, diameter=780.0, pitch_across=3.9)
        cls.pet = isocenter.PET(nx=30, ny=30, nz=12, voxel_x=5.0, azimuths=12, max_tilt=0.1)
        cls.edges = np.linspace(-2000, 2000, 401)
        cls.pet.set_scanner(positions, normals, crystal_sizes=np.full((len(positions), 2), 3.9), time_edges=cls.edges)
        cls.efficiencies = rng.uniform(0.6, 1.0, len(positions))
        bodies = [isocenter.Body("cylinder", half_x=60.0, half_z=20.0, activity=1.0), isocenter.Body("cylinder", x=30.0, y=20.0, half_x=15.0, half_z=20.0, activity=2.0),
                  isocenter.Body("cylinder", half_x=60.0, half_z=100.0, attenuation=0.0096)]
        scan = isocenter.Scan(bodies, diameter=780.0, axial_length=300.0, tof_fwhm=300.0, randoms=0.2, random_window=2000.0)
        first, second, times, cls.tally = cls.pet.simulate(scan, 250_000)
        cls.crystals, cls.bins, _ = cls.pet.detect(first, second, times, cls.efficiencies)
        kept = cls.crystals[:, 0] < len(positions)
        cls.crystals, cls.bins = cls.crystals[kept], cls.bins[kept]
        delayed = isocenter.Scan(bodies[:2], diameter=780.0, axial_length=300.0, randoms=0.999999, random_window=2000.0, seed=1)
        found = cls.pet.detect(*cls.pet.simulate(delayed, 60_000)[:3], cls.efficiencies, seed=1)[0]
        found = found[found[:, 0] < len(positions)]
        cls.sums, _ = cls.pet.fan_sums(found)
        cls.sums = cls.sums * (cls.tally.randoms / 60_000)
        y, x = 2.0 * (np.indices((100, 100)) - 49.5)
        cls.water = np.where(np.hypot(x, y) < 60, 0.0096, 0).astype(np.float32)[None].repeat(60, axis=0)
        cls.unit = dict(map_voxel=(2.0, 2.0, 4.0), duration=600.0)

    # Some 120,000 trues: 0.3 % by chance; and the sensitivity's noise, averaged over the body.
    def test_it_comes_back_with_times_and_without(self):
        sensitivity = self.pet.line_sensitivity(self.efficiencies, self.water, **self.unit)
        singles = self.pet.singles(self.sums.astype(np.float32), 600.0, window=2000.0)
        becquerel = self.tally.decays / np.sin(0.1) / 600
        for times, algorithm in ((None, "mlem"), (self.bins, "osem")):
            self.pet.set_response(tof_fwhm=0.0 if times is None else 300.0, radial_fwhm=4.0, axial_fwhm=4.0)
            list = isocenter.EventList(self.crystals, times)
            factors, dropped = self.pet.line_factors(list, self.efficiencies, self.water, **self.unit)
            randoms = self.pet.line_randoms(list, singles, 600.0)
            self.pet.set_options(algorithm=algorithm, iterations=20 if times is None else 4)
            image, dropped = self.pet.reconstruct_lines(list, sensitivity, factors, randoms)
            # Trues and randoms that cross a lattice of 150 mm; randoms beyond the body leave little in air.
            y, x = 5.0 * (np.indices((30, 30)) - 14.5)
            body = np.hypot(x, y) < 66
            self.assertAlmostEqual(image[:, body].sum() * 0.125 / becquerel, 1, delta=0.02)
            rod = np.hypot(x - 30, y - 20) < 10
            other = (np.hypot(x, y) < 52) & (np.hypot(x - 30, y - 20) > 22)
            # Some 1500 counts in the rod's middle, correlated by three voxels or so: 10 %.
            self.assertAlmostEqual(image[3:9, rod].mean() / image[3:9, other].mean(), 3, delta=0.6)
            self.assertLess(image[:, np.hypot(x, y) > 72].mean(), 0.05 * image[:, body].mean())

    def test_memory_is_told_and_histories_are(self):
        self.pet.set_options(algorithm="osem", iterations=2)
        self.assertGreater(self.pet.lines_memory(2_000_000), self.pet.lines_memory(1000))
        list = isocenter.EventList(self.crystals)
        self.pet.reconstruct_lines(list, np.ones(self.pet.image_shape, np.float32))
        self.assertEqual(len(self.pet.history()), 2)

    def test_samples_are_of_the_view(self):
        shape = self.pet.histo_images_shape
        histo = np.ones(shape, np.float32) * np.arange(1, shape[0] + 1, dtype=np.float32)[:, None, None, None]
        list = isocenter.EventList(self.crystals)
        values, dropped = self.pet.sample_lines(list, histo)
        self.pet.set_response(tof_fwhm=300.0, radial_fwhm=0.25, axial_fwhm=0.25)
        lengths, _ = self.pet.forward_lines(list, np.ones(self.pet.image_shape, np.float32))
        seen = values > 0
        self.assertGreater(np.count_nonzero(seen), 50_000)
        views = values[seen] / lengths[seen]
        np.testing.assert_allclose(views, np.round(views), rtol=1e-5)
        self.assertEqual(set(np.round(views).astype(int)), set(range(1, 13)))


if __name__ == "__main__":
    unittest.main()
