"""Dead times and histograms of single photons of PETSIRD files, written by the package petsird."""
import os
import tempfile
import types
import unittest
import warnings

import numpy as np

import isocenter
import isocenter.images
import petsird_files
from isocenter.lists import _products
from petsird_files import dead_time, petsird, singles

EDGES = np.array([-60.0, -20.0, 0.0, 30.0, 60.0], np.float32)
MODULES, ELEMENTS, CRYSTALS = 24, 64, 24 * 64  # of petsird_files.Simulated
HALF_LIFE = 6584.04


class Products(unittest.TestCase):
    def test_weights_are_the_time_within(self):
        """Against sums over pieces of 0.1 s, on which all edges are; blocks overlap and have gaps."""
        rng = np.random.default_rng(0)
        blocks = [(b, b + n) for b, n in zip(rng.integers(0, 90, 12) / 10, rng.integers(0, 30, 12) / 10)]
        edges = np.unique(rng.integers(0, 120, 7)) / 10
        pieces = np.arange(0, 12, 0.1) + 0.05
        first = min(b for b, _ in blocks)
        for rate in (0.0, 0.3):
            active = np.exp(-rate * (pieces - first)) * (0.1 if not rate else (np.exp(rate * 0.05) - np.exp(-rate * 0.05)) / rate)
            inside = sum(((pieces > b) & (pieces < e)).astype(float) for b, e in blocks)
            expected = [(active * inside)[(pieces > b) & (pieces < e)].sum() for b, e in zip(edges[:-1], edges[1:])]
            np.testing.assert_allclose(_products.weights(blocks, edges[:-1], edges[1:], rate), expected, atol=1e-12)
            self.assertAlmostEqual(_products.weights(blocks, [-np.inf], [np.inf], rate)[0], (active * inside).sum(), 12)

    def test_products_are_the_means(self):
        rng = np.random.default_rng(1)
        weights, u, g = np.array([1.0, 0.0, 3.0, 0.5]), rng.uniform(0.5, 1.0, 9), np.array([0.9, 0.1, 0.4, 1.0])
        f, off = _products.separated(lambda j: (g[j] * u, 0.0), weights, 4.5)
        mean = (weights * g * g).sum() / 4.5
        np.testing.assert_allclose(np.outer(f, f), mean * np.outer(u, u), rtol=1e-12)
        np.testing.assert_allclose(off, 0, atol=1e-12)
        values = rng.uniform(0.5, 1.0, (4, 9))
        f, off = _products.separated(lambda j: (values[j], 0.0), weights, 4.5)
        wrong = np.abs(np.einsum("j,ja,jb->ab", weights, values, values) / 4.5 - np.outer(f, f))
        self.assertTrue((wrong <= np.sqrt(np.outer(off, off)) + 1e-12).all())
        self.assertGreater(wrong.max(), 1e-3)


@unittest.skipIf(petsird is None, "petsird is not installed")
class Rates(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        import isocenter.petsird
        cls.module = isocenter.petsird
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.path = os.path.join(cls.folder.name, "scan.petsird")
        cls.scan = petsird_files.Simulated(cls.path, 200_000, randoms=0.0)
        cls.map = isocenter.images.Volume(cls.scan.map, (5.0,) * 3, (0.0, 0.0, 0.0), "1/mm")
        cls.write(cls.scan.prompts)
        cls.plain = cls.quick(randoms=False)
        z, y, x = np.meshgrid(*(15.0 * (np.arange(n) - (n - 1) / 2) for n in cls.plain.image.shape), indexing="ij")
        cls.body = (np.hypot(x, y) < 70) & (abs(z) < 15)

    @classmethod
    def write(cls, prompts, *, kept=None, described=None, others=(), delays=()):
        """Ten blocks of a minute, evenly in time but for those of which not all are kept."""
        rows = np.column_stack([prompts, np.ones(len(prompts), int) if kept is None else kept])
        parts = [np.array_split(events, 10) for events in (rows, np.zeros((0, 3), int) if not len(delays) else delays)]
        blocks = [(k * 60_000, prompts[prompts[:, 3] > 0, :3], delays) for k, (prompts, delays) in enumerate(zip(*parts))]
        petsird_files.write(cls.path, described or cls.scan.described, blocks, length=60_000, nuclide="^18^Fluorine", others=others)

    @classmethod
    def quick(cls, **words):
        """A small lattice without scatter."""
        words = {**dict(voxel=15.0, azimuths=8, tilts=1, scatter=0, algorithm="mlem", iterations=15), **words}
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", UserWarning)  # doubts
            return cls.module.quantify(cls.path, cls.map, context=isocenter.Context(threads=2, log=lambda *_: None), **words)

    def kept(self, alive, seed=5):
        """Which prompts are there, of each with a probability."""
        return np.random.default_rng(seed).random(len(self.scan.prompts)) < alive

    def same(self, made, of_truth=1.0, sigmas=4.0):
        """Sums over the body are as many as those of all events. Each event stands for its own weight, so that what is kept of n events deviates by sqrt((1 - p) / (p n)) of itself."""
        p = made.found[0].prompts / self.plain.found[0].prompts
        expected = sigmas * np.sqrt((1 - p) / (p * self.plain.found[0].counted))
        self.assertLess(expected, 0.015)
        self.assertAlmostEqual(made.image[self.body].sum() / self.plain.image[self.body].sum() / of_truth, 1, delta=expected)

    def test_one_fraction_of_all(self):
        # Half of the scan with 0.81, half with 0.36, as often as not told by coincidences.
        prompts = len(self.scan.prompts)
        alive = np.where(np.arange(prompts) < prompts / 2, 0.81, 0.36)
        for others in ([dead_time(0, 300_000, [np.full(CRYSTALS, 0.9)]), dead_time(300_000, 600_000, [np.full(CRYSTALS, 0.6)])],
                       [dead_time(300_000, 600_000, [np.full(CRYSTALS, 0.9)], [[[np.full(k + 1, 0.4444444) for k in range(MODULES)]]]), dead_time(0, 300_000, [np.full(CRYSTALS, 0.9)])]):
            self.write(self.scan.prompts, kept=self.kept(alive), others=others)
            made = self.quick(randoms=False)
            # Of two halves; the second has less activity by its decay, but for the simulated one, which does not decay.
            left = 2 ** -(np.array([0.0, 300.0, 600.0]) / HALF_LIFE)
            live = (0.81 * (left[0] - left[1]) + 0.36 * (left[1] - left[2])) / (left[0] - left[2])
            self.assertAlmostEqual(made.found[0].alive, live, 6)
            self.same(made, 0.585 / live)
            self.assertFalse([words for words in made.doubts if "dead time" in words or "ready" in words], made.doubts)
            np.testing.assert_allclose(made.image, self.quick(randoms=False, live=live).image, rtol=1e-5)
            self.assertIn("of the file", made.settings["live, calibration"])
        two = self.quick(randoms=False, frames=[(0, 300), (300, 600)])
        np.testing.assert_allclose([of.alive for of in two.found], [0.81, 0.36], rtol=1e-6)
        sums = two.image[:, self.body].sum(axis=1)
        # Halves of 1e5 events, of which 0.81 and 0.36 are there, deviate by 0.5 and 0.75 %; the second is told at the start as more than it is.
        self.assertAlmostEqual(sums[1] / sums[0] * left[1], 1, delta=4 * np.hypot(0.005, 0.0075))
        given = self.quick(randoms=False, live=0.5)
        self.assertTrue(any("live is given, 0.5: the file's dead times are not used" in words for words in given.doubts))
        self.assertEqual(given.found[0].alive, 0.5)

    def test_fractions_of_modules(self):
        """One side of the ring is less ready than the other: the image has the truth's sum, and its place, which it has not without them."""
        module = np.arange(CRYSTALS) // ELEMENTS
        fractions = 0.75 + 0.2 * np.cos(2 * np.pi * module / MODULES)
        alive = fractions[self.scan.prompts[:, 0]] * fractions[self.scan.prompts[:, 1]]
        self.write(self.scan.prompts, kept=self.kept(alive), others=[dead_time(0, 600_000, [fractions])])
        made = self.quick(randoms=False)
        self.same(made)
        self.assertFalse([words for words in made.doubts if "dead time" in words or "ready" in words], made.doubts)
        own = self.quick(randoms=False, live=1.0, efficiencies=self.scan.efficiencies * fractions.astype(np.float32))
        np.testing.assert_allclose(made.image, own.image, rtol=1e-4, atol=1e-4 * own.image.max())
        # With one number for all the image is another: voxels differ by what directions differ in.
        flat = self.quick(randoms=False, live=made.found[0].alive)
        truth, rms = self.plain.image[self.body], lambda image: np.sqrt(((image[self.body] / self.plain.image[self.body] - 1) ** 2).mean())
        self.assertGreater(truth.min(), 0)
        self.assertGreater(rms(flat.image), rms(made.image))

    def test_fractions_of_coincidences(self):
        """Pairs of modules that differ, in the table of pairs; of one that the scanner has already, and along lines."""
        far = np.abs(np.arange(MODULES)[:, None] - np.arange(MODULES))
        table = np.where(np.minimum(far, MODULES - far) > 9, 0.9, 0.5)
        rows = [[[row[:k + 1] for k, row in enumerate(table)]]]
        a, b = (self.scan.prompts[:, k] // ELEMENTS for k in (0, 1))
        kept = self.kept(table[a, b])
        described = self.with_pairs(0.5)
        for scanner, factor in ((None, 1.0), (described, 2.0)):
            self.write(self.scan.prompts, kept=kept, described=scanner, others=[dead_time(0, 600_000, [], rows)])
            self.same(self.quick(randoms=False), factor)
        lines = self.quick(randoms=False, projector="lines")
        self.write(self.scan.prompts, described=described)
        plain = self.quick(randoms=False, projector="lines")
        self.assertAlmostEqual(lines.image[self.body].sum() / plain.image[self.body].sum(), 1, delta=0.015)

    def with_pairs(self, efficiency):
        import copy
        described = copy.deepcopy(self.scan.described)
        found = described.detection_efficiencies
        found.module_pair_sgidlut = [[[[0] * (k + 1) for k in range(MODULES)]]]
        found.module_pair_efficiencies_vectors = [[[petsird.ModulePairEfficiencies(values=np.full((ELEMENTS, ELEMENTS), efficiency, np.float32).tolist(), sgid=0)]]]
        return described

    def test_what_is_told(self):
        crystals = np.full(CRYSTALS, 0.9)
        changed = np.concatenate([np.full(CRYSTALS // 2, 0.9), np.full(CRYSTALS // 2, 0.3)])
        for others, words in (([dead_time(0, 100_000, [crystals])], "blocks of dead time cover 100 of 600 s of events"),
                              ([dead_time(0, 300_000, [changed]), dead_time(300_000, 600_000, [changed[::-1]])], "change against each other within the scan: of some pairs .* off by up to [0-9.]+ %"),
                              ([dead_time(0, 600_000)], "blocks of dead times without fractions: pass live")):
            self.write(self.scan.prompts, others=others)
            with self.subTest(words):
                self.assertRegex("; ".join(self.quick(randoms=False, iterations=1).doubts), words)
        bare = petsird_files.Simulated(self.path, 20_000, efficiencies=False, randoms=0.0)
        self.write(bare.prompts, described=bare.described, others=[dead_time(0, 600_000, [changed])])
        self.assertRegex("; ".join(self.quick(randoms=False, iterations=1).doubts), "dead times that differ, and the file has no efficiencies, which these multiply")

    def test_bad_dead_times(self):
        good = np.full(CRYSTALS, 0.9)
        triangle = [np.full(k + 1, 0.9) for k in range(MODULES)]
        nan, low, high = (np.where(np.arange(CRYSTALS) == 7, v, good) for v in (np.nan, -0.1, 1.5))
        for others, words in (([dead_time(0, 600_000, [nan])], "from 0 to 600 s, whose fractions are not all finite: pass live"),
                              ([dead_time(0, 600_000, [low])], "whose fractions are -0.1 to 0.9; they must be 0 to 1"),
                              ([dead_time(0, 600_000, [high])], "whose fractions are 0.9 to 1.5; they must be 0 to 1"),
                              ([dead_time(0, 600_000, [good[:-1]])], "have 1535 fractions; their 1536 crystals of 1 energy bins need 1536"),
                              ([dead_time(0, 600_000, [good], [[triangle[:-1]]])], "fractions of coincidences of types 0 and 0 are not of their 24 and 24 modules"),
                              ([dead_time(0, 600_000, [good], [[[row * np.nan for row in triangle]]])], "whose fractions are not all finite"),
                              ([dead_time(600_000, 0, [good])], "from 600 to 0 s, which ends before it begins"),
                              ([dead_time(0, 600_000, [good * 0])], "by the file's dead times the scanner was never ready: pass live")):
            self.write(self.scan.prompts[:2000], others=others)
            with self.subTest(words):
                with self.assertRaisesRegex(ValueError, words):
                    self.quick(voxel=30.0, randoms=False)
                self.assertEqual(self.quick(voxel=30.0, randoms=False, live=0.8, iterations=1).found[0].alive, 0.8)
        # NaN that signals: processors tell of it when it is converted.
        self.write(self.scan.prompts[:2000], others=[dead_time(0, 600_000, [good], [[[row * np.nan for row in triangle]]])])
        with open(self.path, "rb") as file:
            data = file.read()
        with open(self.path, "wb") as file:
            file.write(data.replace(b"\0\0\xc0\x7f", b"\1\0\x80\x7f"))
        with self.assertRaisesRegex(ValueError, "whose fractions are not all finite"):
            self.quick(voxel=30.0, randoms=False)

    def noisy(self, rates, seconds=600.0, window=900e-12, seed=11, ready=1.0):
        """Random coincidences, 2 w T s_i s_j of each pair that the bins hold, anywhere in time."""
        rng = np.random.default_rng(seed)
        number = rng.poisson(ready * window * seconds * rates.sum() ** 2)  # of i, j and j, i
        pairs = np.sort(rng.choice(len(rates), (number, 2), p=rates / rates.sum()), axis=1)[:, ::-1]
        return np.column_stack([pairs, rng.integers(0, 36, number)])[pairs[:, 0] > pairs[:, 1]]

    def rates(self):
        """Some 2.8e5 photons a second, and twice as many on one side, which are a third of the prompts in randoms that are measured at all."""
        module = np.arange(CRYSTALS) // ELEMENTS
        return (1.0 + 0.5 * np.cos(2 * np.pi * module / MODULES)) * 240.0 * np.random.default_rng(2).uniform(0.7, 1.3, CRYSTALS)

    def test_randoms_of_single_photons(self):
        rates = self.rates()
        noise, rng = self.noisy(rates), np.random.default_rng(3)
        prompts = rng.permutation(np.concatenate([self.scan.prompts, noise]))
        described = petsird_files.has_singles(self.scanner(), "all")
        blocks = [singles(k * 100_000, (k + 1) * 100_000, bins=[rng.poisson(100 * rates)]) for k in range(6)]
        self.write(noise, described=described, others=blocks)
        alone = self.quick()
        # Those that were drawn and are counted deviate by sqrt(n).
        self.assertEqual(alone.settings["randoms"], "of single photons that the file has")
        counted = alone.found[0].counted
        self.assertGreater(counted, 10_000)
        self.assertAlmostEqual(alone.found[0].randoms / counted, 1, delta=4 / np.sqrt(counted) + 0.01)
        # Singles of all energies have no edges.
        described.singles_histogram_energy_bin_edges = []
        self.write(noise, described=described, others=blocks)
        self.assertEqual(self.quick(iterations=1).found[0].randoms, alone.found[0].randoms)
        described = petsird_files.has_singles(self.scanner(), "all")
        self.write(prompts, described=described, others=blocks)
        made, without = self.quick(), self.quick(randoms=False)
        self.assertEqual(made.found[0].randoms, alone.found[0].randoms)
        # As the image of trues alone, but for the noise that randoms leave, sqrt(n) of all of the randoms over the trues.
        trues = self.plain.found[0].counted
        delta = 4 * np.sqrt(counted) / trues + 0.01
        self.assertAlmostEqual(made.image[self.body].sum() / self.plain.image[self.body].sum(), 1, delta=delta)
        self.assertGreater(without.image[self.body].sum() / self.plain.image[self.body].sum(), 1 + 2 * delta)
        self.assertFalse([words for words in made.doubts if "singles" in words or "photons" in words], made.doubts)

    def scanner(self):
        import copy
        return copy.deepcopy(self.scan.described)

    def test_units_energies_and_lines(self):
        """Units of two modules, whose counts are divided by efficiencies; of three energy bins one is beyond the window. And along lines."""
        module = np.arange(CRYSTALS) // ELEMENTS
        rates = self.scan.efficiencies * np.repeat(np.linspace(120, 480, MODULES // 2), 2)[module]
        units = np.repeat(np.arange(MODULES // 2)[::-1], 2)
        sums = np.bincount(units[module], 600 * rates)
        noise = self.noisy(rates)
        described = petsird_files.has_singles(self.scanner(), "module", [units], edges=(350.0, 435.0, 500.0, 585.0))
        counts = np.rint(np.stack([5 * sums, 0.25 * sums, 0.75 * sums], axis=1))
        self.write(noise, described=described, others=[singles(0, 600_000, units=counts)])
        made = self.quick().found[0]
        self.assertAlmostEqual(made.randoms / made.counted, 1, delta=4 / np.sqrt(made.counted) + 0.01)
        # Along lines, of as many randoms as trues, those of delays, which are as many as the randoms, leave the same; either deviates by sqrt(2 n) of some 5e4.
        prompts = np.random.default_rng(3).permutation(np.concatenate([self.scan.prompts, noise]))
        self.write(prompts, described=described, others=[singles(0, 600_000, units=counts)])
        own = self.quick(projector="lines")
        self.write(prompts, described=described, delays=self.noisy(rates, seed=12))
        delayed, without = self.quick(projector="lines"), self.quick(projector="lines", randoms=False)
        self.assertAlmostEqual(own.image[self.body].sum() / delayed.image[self.body].sum(), 1, delta=0.02)
        self.assertLess(own.image[self.body].sum() / without.image[self.body].sum(), 0.95)
        # Efficiencies of pairs are those of trues.
        described = petsird_files.has_singles(self.with_pairs(0.5), "module", [units], edges=(350.0, 435.0, 500.0, 585.0))
        self.write(noise, described=described, others=[singles(0, 600_000, units=counts)])
        self.assertAlmostEqual(self.quick().found[0].randoms / self.write_quick(noise, described, counts), 1, delta=1e-6)
        # Coincidences' dead time is theirs, too, photons' is in their counts already.
        self.write(noise, described=described, others=[singles(0, 600_000, units=counts), dead_time(0, 600_000, [np.full(CRYSTALS, 0.7)], [[[np.full(k + 1, 0.5) for k in range(MODULES)]]])])
        dead = self.quick().found[0]
        self.assertAlmostEqual(dead.alive, 0.245, 6)
        self.assertAlmostEqual(dead.randoms / self.write_quick(noise, described, counts), 0.5, delta=1e-5)

    def write_quick(self, noise, described, counts):
        self.write(noise, described=described, others=[singles(0, 600_000, units=counts)])
        return self.quick().found[0].randoms

    def test_rates_that_change(self):
        """Of a source that is there in the first minute alone: 10 times the mean of the squares that the square of the mean has."""
        rates = np.full(CRYSTALS, 800.0)
        noise = self.noisy(rates, seconds=60.0)
        described = petsird_files.has_singles(self.scanner(), "all")
        self.write(noise, described=described, others=[singles(0, 60_000, bins=[60 * rates]), singles(60_000, 600_000, bins=[0 * rates])])
        made = self.quick().found[0]
        self.assertAlmostEqual(made.randoms / made.counted, 1, delta=4 / np.sqrt(made.counted) + 0.01)

    def test_delays_go_before(self):
        delays = self.noisy(self.rates(), seed=12)
        described = petsird_files.has_singles(self.scanner(), "all")
        others = [singles(0, 600_000, bins=[np.full(CRYSTALS, 10_000_000)])]
        self.write(self.scan.prompts, delays=delays)
        plain = self.quick(iterations=1)
        self.assertEqual(plain.settings["randoms"], "of delays")
        self.write(self.scan.prompts, described=described, delays=delays, others=others)
        made = self.quick(iterations=1)
        self.assertTrue((made.image == plain.image).all())
        self.assertEqual(made.settings["randoms"], "of delays, before the single photons that the file has")
        described.delayed_event_policy = petsird.CoincidencePolicy.NONE
        self.write(self.scan.prompts, described=described, others=others)
        self.assertEqual(self.quick(iterations=1).settings["randoms"], "of single photons that the file has")
        self.assertEqual(self.quick(randoms=False, iterations=1).settings["randoms"], "none")
        self.write(self.scan.prompts)
        with self.assertRaisesRegex(ValueError, "prompts without delays, and without rates of single photons, of which randoms are made: pass randoms=False"):
            self.quick(iterations=1)

    def test_bad_singles(self):
        good, by_unit = np.full(CRYSTALS, 600.0), [[1000]] * MODULES
        all_of = lambda **words: petsird_files.has_singles(self.scanner(), "all", **words)
        units = lambda table: petsird_files.has_singles(self.scanner(), "module", [table])
        whole = np.arange(MODULES)
        for described, others, words in (
                (all_of(), [singles(0, 600_000, bins=[good[1:]])], "from 0 to 600 s whose modules of type 0 have 1535 counts; 1536 of 1 energy bins need 1536: pass randoms=False"),
                (all_of(), [singles(0, 600_000, bins=[[]])], "have 0 counts"),
                (all_of(), [singles(0, 600_000)], "without counts"),
                (all_of(), [singles(0, 0, bins=[good])], "has no singles of the scan, of which"),
                (all_of(), [singles(700_000, 900_000, bins=[good])], "has no singles of the scan"),
                (all_of(), [singles(0, 600_000, bins=[good * 1e13])], "that are .* a second of a crystal, more than any counts"),
                (all_of(edges=(100.0, 200.0, 300.0)), [singles(0, 600_000, bins=[np.repeat(good, 2)])], "100 to 300 keV, are not within the energy window, 435 to 585 keV"),
                (all_of(edges=(500.0, 400.0, 600.0, 300.0)), [singles(0, 600_000, bins=[np.repeat(good, 3)])], "do not ascend"),
                (units(whole[1:]), [singles(0, 600_000, units=by_unit)], "moduleSinglesUnitIdxLUTs names 23 for 24 modules"),
                (units(whole - 1), [singles(0, 600_000, units=by_unit)], "that are not of all modules: 1 of type 0 have no unit"),
                (units(whole + 1), [singles(0, 600_000, units=by_unit)], "of 24 units, and moduleSinglesUnitIdxLUTs names unit 24"),
                (units(whole), [singles(0, 600_000, units=[[1, 2]] * MODULES)], "of units with 2 energy bins; modules of type 0 have 1")):
            self.write(self.scan.prompts[:2000], described=described, others=others)
            with self.subTest(words):
                with self.assertRaisesRegex(ValueError, words):
                    self.quick(voxel=30.0)
                self.assertEqual(self.quick(voxel=30.0, randoms=False, iterations=1).found[0].randoms, 0)
        for described, others, words in ((all_of(), [singles(0, 100_000, bins=[good])], "singles, of which randoms are made, are of 100 of 600 s of events"),
                                         (all_of(edges=(400.0, 650.0)), [singles(0, 600_000, bins=[good])], "are cut by the energy window at 435 keV"),
                                         (all_of(), [singles(0, 300_000, bins=[np.repeat([900.0, 100.0], CRYSTALS // 2) * 30]), singles(300_000, 600_000, bins=[np.repeat([100.0, 900.0], CRYSTALS // 2) * 30])],
                                          "rates of single photons change against each other within the scan")):
            self.write(self.scan.prompts[:2000], described=described, others=others)
            with self.subTest(words):
                self.assertRegex("; ".join(self.quick(voxel=30.0, iterations=1).doubts), words)

    def test_counts_are_divided(self):
        """Units' by efficiencies. Before 0.12 there are lists of each type of modules, of crystals, of modules, or of units of the type."""
        from isocenter.petsird import _singles
        found, described = self.module.read_scanner(self.path), self.scanner()
        counts = np.arange(CRYSTALS, dtype=np.uint64)
        of_module = np.add.reduceat(counts, np.arange(0, CRYSTALS, ELEMENTS))
        block = lambda rows: types.SimpleNamespace(time_interval=petsird.TimeInterval(start=0, stop=2000), singles_histograms=[np.asarray(rows, np.uint64)])
        shared = self.scan.efficiencies.reshape(MODULES, ELEMENTS)
        by_module = (of_module[:, None] * shared / shared.sum(axis=1, keepdims=True)).ravel() / 2
        for level, units, rows, expected in (("all", [], counts, counts / 2), ("module", [], of_module, by_module), ("module", [np.arange(MODULES)[::-1]], of_module[::-1], by_module)):
            read = _singles.Singles(self.path, petsird_files.has_singles(described, level, units))
            read.add(block(rows))
            rates, doubt = read.of([(0.0, 1.0)], found, "the scan")
            np.testing.assert_allclose(rates, expected, rtol=1e-6)
            self.assertIsNone(doubt)
        read = _singles.Singles(self.path, petsird_files.has_singles(described, "module", [np.arange(MODULES) // 2], edges=(400.0, 435.0, 500.0, 585.0, 600.0)))
        of_unit = np.arange(MODULES // 2)
        read.add(singles(0, 2000, units=np.stack([7000 + 0 * of_unit, 10 + of_unit, 5 * of_unit, 9000 + 0 * of_unit], axis=1)).value)
        shared = self.scan.efficiencies.reshape(MODULES // 2, 2 * ELEMENTS)
        expected = (10 + 6 * of_unit)[:, None] / 2 * shared / shared.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(read.of([(0.0, 1.0)], found, "the scan")[0], expected.ravel(), rtol=1e-6)
