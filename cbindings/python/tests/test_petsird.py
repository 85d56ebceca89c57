"""PETSIRD files, written by the package petsird."""
import contextlib
import io
import math
import os
import re
import sys
import tempfile
import unittest
import warnings
from unittest import mock

import numpy as np

import isocenter

import isocenter.images
import petsird_files
from petsird_files import petsird
from test_images import nibabel

BLOCKS, ACROSS, ALONG, PITCH, DIAMETER, DEPTH = 10, 4, 3, 6.0, 120.0, 20.0  # of petsird_files.scanner
EDGES = np.array([-60.0, -20.0, 0.0, 30.0, 60.0], np.float32)  # c (t1 - t2) / 2, mm
write = petsird_files.write


def scanner(**words):
    return petsird_files.scanner(EDGES, **words)


def rng_values():
    return np.random.default_rng(0).uniform(0.5, 1.0, (1, 24, 24))


@unittest.skipIf(petsird is None, "petsird is not installed")
class Petsird(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "scan.petsird")
        import isocenter.petsird
        self.module = isocenter.petsird

    def plan(self):
        return isocenter.PET(nx=20, ny=20, nz=6, voxel_x=4.0, azimuths=5, tilts=2, max_tilt=0.3)

    def test_the_scanner_is_that_of_its_blocks(self):
        write(self.path, scanner(), [])
        found = self.module.read_scanner(self.path)
        # In modules of rows of crystals; block_crystals has rings of all blocks.
        positions, normals = isocenter.block_crystals(blocks=BLOCKS, across=ACROSS, along=ALONG, diameter=DIAMETER + DEPTH, pitch_across=PITCH)
        by_blocks = lambda a: a.reshape(ALONG, BLOCKS, ACROSS, 3).swapaxes(0, 1).reshape(-1, 3)
        np.testing.assert_allclose(found.positions, by_blocks(positions), atol=1e-4)
        np.testing.assert_allclose(found.normals, by_blocks(normals), atol=1e-6)
        self.assertAlmostEqual(found.crystal_width, 5, 4)
        self.assertAlmostEqual(found.crystal_height, 6, 4)
        self.assertEqual((found.first, found.energies, found.model), ((0,), (1,), "ten blocks"))
        np.testing.assert_allclose(found.time_edges * 0.149896229, [-60, -30, 0, 20, 60], rtol=1e-6)
        self.assertAlmostEqual(found.tof_fwhm * 0.149896229, 40, 4)
        self.assertAlmostEqual(found.energy_resolution, 0.11, 6)
        self.assertEqual((found.energy_lower, found.energy_upper, found.efficiencies, found.pairs), (435, 585, None, None))
        shallow = self.module.read_scanner(self.path, depth=8.0)
        np.testing.assert_allclose(np.linalg.norm(shallow.positions - found.positions, axis=1), 2.0, atol=1e-4)
        self.assertLess(np.linalg.norm(shallow.positions[0]), np.linalg.norm(found.positions[0]))

    def test_events_are_counted_by_kind_and_frame(self):
        rng = np.random.default_rng(1)
        for energies in (1, 3):
            bins = BLOCKS * ACROSS * ALONG * energies
            blocks = []
            for start in (0, 100, 1000, 5000):
                many = lambda n: np.stack([*np.sort(rng.integers(0, bins, (2, n)), axis=0)[::-1], rng.integers(0, 4, n)], axis=1)
                blocks.append((start, many(700), many(200)))
            write(self.path, scanner(energies=energies), blocks)
            pet = self.plan()
            self.module.read_scanner(self.path).set_on(pet)
            with self.assertWarnsRegex(UserWarning, "frame 0, 0.05 to 0.5 s, has the events from 0.1 to 0.2 s: its edges are within blocks"):
                counted = self.module.deposit(pet, self.path, frames=[0.05, 0.5, 2.0])
            self.assertEqual((counted.events, counted.seconds), (3600, (0.0, 5.1)))
            self.assertEqual(counted.dropped[0].unknown, 1800)  # the first block, and the last
            self.assertEqual(counted.prompts.shape, (2, *pet.histo_images_shape))
            total = int(counted.prompts.sum() + counted.delays.sum())
            self.assertEqual(total + sum(d.events for d in counted.dropped), 3600)
            # Block by block by hand; an event's number is that in the file.
            expected, number = np.zeros((4, *pet.histo_images_shape), np.uint32), 0
            for k, (_, *kinds) in enumerate(blocks):
                for kind, events in enumerate(kinds):
                    if k in (1, 2):
                        pairs, times = (events[:, :2] // energies).astype(np.uint32), (3 - events[:, 2]).astype(np.uint8)
                        pet.deposit_crystals(pairs, times, histo_images=expected[2 * kind + k - 1], first_event=number)
                    number += len(events)
            self.assertTrue((counted.prompts == expected[:2]).all() and (counted.delays == expected[2:]).all())
            whole = self.module.deposit(pet, self.path, delays=False)
            self.assertIsNone(whole.delays)
            self.assertEqual(whole.events, 2800)

    def test_the_first_detector_s_side_is_the_near_one(self):
        # Crystals of opposite blocks; time bin 0 is c (t1 - t2) / 2 of -60 to -20 mm: the first photon came first, so nearer to the first.
        first, second = 0 * 12 + 5, 5 * 12 + 5
        write(self.path, scanner(), [(0, [(second, first, 0)] * 50, [])])
        pet = self.plan()
        read = self.module.read_scanner(self.path)
        read.set_on(pet)
        counts = self.module.deposit(pet, self.path).prompts.sum(axis=(0, 1, 2, 3))
        where = (np.arange(20) - 9.5) * 4.0
        self.assertGreater(counts.sum(), 0)
        self.assertLess((counts * where).sum() / counts.sum() * np.sign(read.positions[second, 0]), 60.0)
        self.assertGreater((counts * where).sum() * np.sign(read.positions[second, 0]), 0)

    def test_what_cannot_be_read_is_refused(self):
        write(self.path, scanner(kinds=2), [])
        read = self.module.read_scanner(self.path)
        self.assertEqual((read.time_edges, read.has_widths), (None, True))
        described = scanner()
        described.prompt_event_policy = petsird.CoincidencePolicy.NONE
        write(self.path, described, [])
        pet = self.plan()
        with self.assertRaisesRegex(ValueError, "no coincidences"):
            self.module.deposit(pet, self.path)
        for frames in ([1.0], [1.0, 1.0], [[0, 1]]):
            with self.assertRaisesRegex(ValueError, "ascending"):
                self.module.deposit(pet, self.path, frames=frames)


    def test_efficiencies_of_energy_bins_are_added(self):
        values = np.random.default_rng(0).uniform(0.1, 0.5, 120 * 3).astype(np.float32)
        write(self.path, scanner(energies=3, efficiencies=values), [])
        np.testing.assert_allclose(self.module.read_scanner(self.path).efficiencies, values.reshape(120, 3).sum(axis=1), rtol=1e-6)
        write(self.path, scanner(efficiencies=values), [])
        with self.assertRaisesRegex(ValueError, "360 detection efficiencies; their 120 crystals of 1 energy bins need 120"):
            self.module.read_scanner(self.path)

    def described_pairs(self, groups, values, **options):
        """A scanner whose lower triangle of modules has these groups, and these their values."""
        described = scanner(**options)
        found = described.detection_efficiencies
        found.module_pair_sgidlut = [[[[int(v) for v in row[:k + 1]] for k, row in enumerate(groups)]]]
        found.module_pair_efficiencies_vectors = [[[petsird.ModulePairEfficiencies(values=np.asarray(v, np.float32), sgid=k) for k, v in enumerate(values)]]]
        return described

    def test_pairs_of_modules_are_those_of_the_file_s_table(self):
        from petsird.helpers import get_detection_efficiency
        rng = np.random.default_rng(3)
        apart = np.abs(np.arange(BLOCKS)[:, None] - np.arange(BLOCKS))
        apart = np.minimum(apart, BLOCKS - apart)
        groups = np.where(apart < 3, -1, apart - 3)
        for values in (rng.uniform(0.5, 1.5, (3, 12, 12)), np.full((3, 12, 12), [[[0.5]], [[1.0]], [[0.0]]]), np.ones((3, 12, 12))):
            described = self.described_pairs(groups, values, efficiencies=np.ones(BLOCKS * 12))
            write(self.path, described, [])
            found = self.module.read_scanner(self.path)
            pairs = found.pairs
            np.testing.assert_array_equal(pairs.modules, np.repeat(np.arange(BLOCKS), 12))
            # By the model's own function, of any pairs: the larger number is the first.
            for _ in range(300):
                b, a = np.sort(rng.choice(BLOCKS * 12, 2, replace=False))
                group = int(pairs.groups[a // 12, b // 12])
                self.assertEqual(group, pairs.groups[b // 12, a // 12])
                own = 1.0 if pairs.efficiencies is None else pairs.efficiencies[group - 1]
                own = own if np.ndim(own) == 0 else own[a % 12, b % 12]
                expected = get_detection_efficiency(described, petsird.TypeOfModulePair((0, 0)), int(a), int(b), with_calibration_factor=False)
                self.assertAlmostEqual(float(own) if group else 0.0, expected, 6)
        # Pairs of 1 tell no efficiencies.
        write(self.path, self.described_pairs(groups, np.ones((3, 12, 12))), [])
        self.assertIsNone(self.module.read_scanner(self.path).efficiencies)
        write(self.path, self.described_pairs(groups * 0, np.ones((1, 12, 12))), [])
        self.assertIsNone(self.module.read_scanner(self.path).pairs)
        write(self.path, self.described_pairs(groups * 0, np.full((1, 12, 12), 0.5)), [])
        np.testing.assert_array_equal(self.module.read_scanner(self.path).efficiencies, 1.0)

    def test_pairs_of_the_generator_s_two_types(self):
        from petsird.helpers import generator, get_detection_efficiency
        described = generator.get_scanner_info([generator.mtype0_def, generator.mtype1_def])
        from isocenter.petsird._pairs import pairs_of
        energies = [len(bins.edges) - 1 for bins in described.event_energy_bin_edges]
        kinds = described.scanner_geometry.replicated_modules
        elements = [len(kind.object.detecting_elements.transforms) for kind in kinds]
        first = [0, len(kinds[0].transforms) * elements[0]]
        pairs = pairs_of(described, energies)
        rng = np.random.default_rng(2)
        for kind in ((0, 0), (1, 0), (1, 1)):
            for _ in range(50):
                at = [int(rng.integers(len(kinds[k].transforms) * elements[k])) for k in kind]
                if kind[0] == kind[1]:
                    at = sorted(at)[::-1]
                a, b = (first[k] + n for k, n in zip(kind, at))
                group = int(pairs.groups[pairs.modules[a], pairs.modules[b]])
                bins = [n * energies[k] for k, n in zip(kind, at)]
                both = np.prod([described.detection_efficiencies.detection_bin_efficiencies[k][n] for k, n in zip(kind, bins)])
                expected = get_detection_efficiency(described, petsird.TypeOfModulePair(kind), *bins, with_calibration_factor=False) / both
                self.assertAlmostEqual(float(pairs.efficiencies[group - 1]) if group else 0.0, expected, 4)

    def test_pairs_that_do_not_fit_are_refused(self):
        ones = np.ones((1, 12, 12))
        described = self.described_pairs(np.zeros((BLOCKS, BLOCKS)), ones)
        described.detection_efficiencies.module_pair_sgidlut = []
        cases = [(described, "no modulePairSGIDLUT"), (self.described_pairs(np.zeros((4, 4)), ones), "types 0 and 0 is not of their 10 and 10 modules"),
                 (self.described_pairs(np.full((BLOCKS, BLOCKS), -1), ones), "no pair of modules is in coincidence"),
                 (self.described_pairs(np.ones((BLOCKS, BLOCKS)), ones), "1 groups of pairs that have no efficiencies"),
                 (self.described_pairs(np.zeros((BLOCKS, BLOCKS)), np.ones((1, 12, 11))), r"group 0 have shape \(12, 11\)"),
                 (self.described_pairs(np.zeros((BLOCKS, BLOCKS)), rng_values(), energies=2), "group 0 differ between energy bins")]
        for described, words in cases:
            with self.subTest(words):
                write(self.path, described, [])
                self.assertRaisesRegex(ValueError, words, self.module.read_scanner, self.path)

    def test_events_of_pairs_that_are_not_measured_are_told(self):
        apart = np.abs(np.arange(BLOCKS)[:, None] - np.arange(BLOCKS))
        write(self.path, self.described_pairs(np.where(apart == 5, 0, -1), np.ones((1, 12, 12))), [(0, [(65, 5, 0)] * 50 + [(53, 5, 0)] * 20, [])])
        pet = self.plan()
        self.module.read_scanner(self.path).set_on(pet)
        self.assertEqual(self.module.deposit(pet, self.path).dropped[0].not_measured, 20)


@unittest.skipIf(petsird is None or nibabel is None, "petsird or nibabel is not installed")
class Scan(unittest.TestCase):
    """A file and its map."""

    @classmethod
    def setUpClass(cls):
        import isocenter.petsird
        from isocenter.petsird.__main__ import main
        cls.module, cls.main = isocenter.petsird, staticmethod(main)
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.file, cls.map = cls.path("scan.petsird"), cls.path("map.nii")
        cls.scan = cls.simulated()
        cls.scan.write(cls.file, nuclide="^18^Fluorine")
        isocenter.images.write_nifti(cls.map, cls.scan.map, 5.0, (0.0, 0.0, 20.0), unit="1/mm")

    @classmethod
    def path(cls, name):
        return os.path.join(cls.folder.name, name)


class Activity(Scan):
    @classmethod
    def simulated(cls):
        return petsird_files.Simulated(cls.file, 400_000, blocks=36, along=16, z=20.0)

    def test_regions_are_in_becquerel(self):
        """By the command. There are some 140 trues in a cubic centimetre of the warm part: of 430 of them, and 30 of the hot one's three times as many, counts deviate by 0.4 and
        0.9 %, and means of regions by about twice that, since the time of flight leaves neighbours to be told apart. Scatter is 11 % of the counts, single scatter by a
        tenth uncertain where its tails are too few to scale it."""
        image, said, doubts = self.path("image.nii.gz"), io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(doubts):
            self.main([self.file, "--attenuation", self.map, "-o", image, "--voxel", "5", "--azimuths", "14", "--tilts", "1", "--scatter", "2", "--device", "cpu"])
        self.assertRegex(said.getvalue(), r"36 blocks, 4608 crystals[\s\S]*isotope F-18[\s\S]*lattice: 44 x 44 x 18 voxels of 5 mm[\s\S]*randoms: [\s\S]*written: ")
        found = isocenter.images.read_nifti(image)
        self.assertEqual(found.unit, "Bq/ml")
        np.testing.assert_allclose(found.centre, (0, 0, 20), atol=1e-3)
        np.testing.assert_allclose(found.voxel, 5, atol=1e-6)
        self.assertEqual(found.image.shape, self.scan.truth.shape)
        z, y, x = (5.0 * (np.indices(found.image.shape)[k] - (found.image.shape[k] - 1) / 2) for k in (0, 1, 2))
        near = np.hypot(x - 35, y + 10)
        for region, tolerance in (((near < 14) & (abs(z) < 23), 0.05), ((near > 30) & (np.hypot(x, y) < 60) & (abs(z) < 23), 0.035)):
            self.assertAlmostEqual(found.image[region].mean() / self.scan.truth[region].mean(), 1, delta=tolerance)
        with open(self.path("image.html"), encoding="utf-8") as file:
            page = file.read()
        for words in ("36 blocks: activity in Bq/ml", "transverse", "coronal", "sagittal", "<th>randoms", "<th>isotope<td>F-18", "--attenuation"):
            self.assertIn(words, page)
        self.assertLess(len(page), 60_000)
        self.assertEqual(len(re.findall('src="data:image/png;base64,', page)), 3)


class Quantify(Scan):
    @classmethod
    def simulated(cls):
        return petsird_files.Simulated(cls.file, 200_000, z=20.0)

    def quick(self, path=None, attenuation=None, **words):
        """A small lattice without scatter: for what does not depend on the image."""
        words = {**dict(voxel=15.0, azimuths=8, tilts=1, scatter=0, algorithm="osem", iterations=1), **words}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return self.module.quantify(path or self.file, attenuation or self.map, **words)

    def test_numbers(self):
        made = self.quick()
        found, scan = made.found[0], self.scan
        self.assertEqual((found.prompts, found.delays, found.duration, found.start), (len(scan.prompts), len(scan.delays), 600.0, 0.0))
        self.assertEqual(found.counted + found.dropped.events, found.prompts)
        self.assertEqual((made.image.ndim, made.unit, made.isotope.name, made.centre, made.scanner), (3, "Bq/ml", "F-18", (0.0, 0.0, 20.0), "24 blocks"))
        self.assertEqual((found.scatter, found.strength, len(found.history)), (0, 0, 1))
        # A fifth of the events are randoms, over the bins' 900 ps.
        inside = self.module.deposit(self.plan(), self.file).delays.sum()
        self.assertAlmostEqual(found.randoms / inside, 1, delta=0.05)
        self.assertFalse(self.quick(randoms=False).found[0].randoms)
        np.testing.assert_allclose(self.quick(calibration=2.0).image, 2 * made.image, rtol=1e-6)
        self.assertAlmostEqual(self.quick(live=0.5, branching=0.9686 / 2).image.sum() / made.image.sum(), 4, 3)
        earlier = self.quick(delay=6584.04)  # a half-life
        self.assertAlmostEqual(earlier.image.sum() / made.image.sum(), 2, 3)
        self.assertAlmostEqual(self.quick(isotope="C-11").isotope.half_life, 1221.66, 2)
        own = self.quick(half_life=100.0, branching=1.0).isotope
        self.assertEqual((own.half_life, own.branching), (100.0, 1.0))

    def plan(self):
        plan = isocenter.PET(isocenter.Context(log=lambda *_: None), nx=14, ny=14, nz=3, voxel_x=15.0, azimuths=8, max_tilt=math.atan(44 / 370))
        found = self.module.read_scanner(self.file)
        plan.set_scanner(found.positions - (0, 0, 20), found.normals, crystal_width=5.5, crystal_height=5.5, time_edges=found.time_edges)
        return plan

    def test_the_prior_s_strength_is_of_the_sensitivity(self):
        """So that images of scans in other units are the same but for the unit."""
        one, other = (self.quick(algorithm="bsrem", iterations=3, branching=b) for b in (1.0, 0.25))
        self.assertAlmostEqual(one.found[0].strength, 0.02 * one.found[0].sensitivity)
        np.testing.assert_allclose(other.image, 4 * one.image, rtol=1e-3, atol=1e-3 * one.image.max())
        self.assertFalse(self.quick(algorithm="bsrem", iterations=1, smoothness=0.0).found[0].strength)

    def few(self, count):
        """A file of so many prompts."""
        path = self.path(f"{count}.petsird")
        write(path, self.scan.described, [(0, self.scan.prompts[:count], [])], length=60_000, nuclide="^18^Fluorine")
        return path

    def test_the_prior_takes_no_counts(self):
        """MLEM's image explains all counts; of 3,000 the prior takes more than a twentieth, which is given back. Where sensitivities differ the two weigh voxels differently: sums differ by a percent or two."""
        path = self.few(3000)
        found = {name: self.quick(path, randoms=False, algorithm=name, iterations=40) for name in ("svrg", "bsrem", "mlem")}
        for name in ("svrg", "bsrem"):
            of = found[name].found[0]
            self.assertGreater(of.restored, 1.02)
            self.assertAlmostEqual(of.restored, 1 / (1 - of.history[-1].penalty / of.counted), delta=0.02)
            self.assertAlmostEqual(found[name].image.sum() / found["mlem"].image.sum(), 1, delta=0.03)
            self.assertFalse([words for words in found[name].doubts if "settled" in words])
            self.assertEqual(of.restored > 1.06, any("the prior took" in words for words in found[name].doubts))
        self.assertEqual(found["mlem"].found[0].restored, 1)

    def test_the_body_has_its_counts(self):
        """By hand: those of the body's places are 2 (4 - 1) + (6 - 2), of which the image explains 2 x 2 + 3 x 1; the 50 beside it are not the body's."""
        from isocenter.lists._histos import Histos
        body, image = np.zeros((1, 1, 3), bool), np.zeros((1, 1, 3), np.float32)
        body[..., 0] = True
        there = {True: np.array([[[2.0, 0.0, 1.0]]], np.float32), False: np.array([[[2.0, 9.0, 1.0]]], np.float32)}
        scan = mock.Mock(_body=lambda: body)
        scan.pet.forward = lambda volume, views: there[bool(volume[0, 0, 0])][None]
        measured, factors, more = np.array([[[[4, 50, 6]]]], np.uint32), np.array([[[[1, 1, 3]]]], np.float32), np.array([[[[1, 0, 2]]]], np.float32)
        self.assertAlmostEqual(Histos._restored(scan, image, measured, factors, more), 10 / 7)
        self.assertEqual(Histos._restored(scan, image, 0 * measured, factors, more), 0)
        self.assertEqual(Histos._restored(scan, image, measured, 0 * factors, None), 1)

    def test_single_events_make_no_image_of_zeros(self):
        for count in (1, 2, 5):
            for name in ("svrg", "bsrem", "osem"):
                made = self.quick(self.few(count), randoms=False, algorithm=name, iterations=20)
                if made.found[0].counted:
                    self.assertGreater(made.image.max(), 0, (count, name))
                    self.assertEqual(made.found[0].history[-1].skipped_voxels, 0, (count, name))

    def test_units_of_maps(self):
        map = isocenter.images.read_nifti(self.map)
        whole = self.quick().image
        hounsfield = map._replace(image=np.where(map.image > 0.005, 0, -1000).astype(np.float32), unit="HU")
        np.testing.assert_allclose(self.quick(attenuation=map._replace(image=10 * map.image), unit="1/cm").image, whole, rtol=1e-5)
        np.testing.assert_allclose(self.quick(attenuation=map._replace(image=10 * map.image, unit="1/cm")).image, whole, rtol=1e-5)
        self.assertAlmostEqual(self.quick(attenuation=hounsfield).image.sum() / whole.sum(), 1, delta=0.03)  # voxels at the edge
        for unit in ("1/mm", "1/cm"):
            self.says("are Hounsfield units: pass unit='HU'", attenuation=hounsfield, unit=unit)
        self.says("are in 1/mm: pass unit='1/mm'", unit="HU")
        self.says("unit is 'cm'", unit="cm")
        with self.assertWarnsRegex(UserWarning, "taken to be in 1/cm, but its values, .* look like 1/mm"):
            made = self.module.quantify(self.file, self.map, unit="1/cm", voxel=15.0, azimuths=8, tilts=1, scatter=0, algorithm="osem", iterations=1)
        self.assertIn("look like 1/mm", made.doubts[0])
        moved = map._replace(centre=(0.0, 0.0, 0.0))
        np.testing.assert_allclose(self.quick(attenuation=moved, map_centre=(0.0, 0.0, 20.0)).image, whole, rtol=1e-6)

    def says(self, words, path=None, kind=ValueError, **keywords):
        with self.subTest(words), self.assertRaisesRegex(kind, words):
            self.quick(path, **keywords)

    def test_frames(self):
        made = self.quick(frames=[(0, 180), (240, 600)])
        self.assertEqual(made.image.shape[0], 2)
        self.assertEqual([(f.start, f.duration) for f in made.found], [(0, 180), (240, 360)])
        self.assertAlmostEqual(sum(f.prompts for f in made.found) / len(self.scan.prompts), 0.9, 3)
        # Both are told at the start; the simulated decays do not wane, so that a later frame's activity is more by exp(k delay), and by the frame's own decay.
        total = made.image.sum(axis=(1, 2, 3))
        k = math.log(2) / 6584.04
        left = [math.exp(-k * f.start) * (1 - math.exp(-k * f.duration)) / (k * f.duration) for f in made.found]
        self.assertAlmostEqual(total[1] / total[0] * left[1] / left[0], 1, delta=0.02)
        for name in ("frames.nii", "frames.hv", "frames.npy"):
            made.write(self.path(name))
        self.assertTrue((np.load(self.path("frames.npy")) == made.image).all())
        self.assertTrue((np.fromfile(self.path("frames.v"), "<f4").reshape(made.image.shape) == made.image).all())
        self.assertEqual(nibabel.load(self.path("frames.nii")).shape, made.image.shape[::-1])
        made.write_report(self.path("frames.html"))
        self.says(r"frames\[1\], 50 to 200 s, begins before the end of the one before it, 100 s", frames=[(0, 100), (50, 200)])
        self.says(r"frames\[1\], 0 to 50 s, begins before", frames=[(100, 200), (0, 50)])
        self.says(r"frames\[0\] is 5 to 5 s", frames=[(5, 5)])
        self.says("it must be pairs of start and end", frames=[0, 60, 120])
        self.says("there are no events in any frame", frames=[(700, 800), (900, 1000)])
        self.assertRaisesRegex(ValueError, "image.mgz; it must end in .nii", made.write, "image.mgz")

    def test_kinds_of_events(self):
        scan, path = self.scan, self.path("other.petsird")
        blocks = lambda prompts, delays: [(0, prompts[:3000], delays[:3000])]
        none = np.zeros((0, 3), int)
        for prompts, delays, words in ((none, scan.delays, "delays without prompts: 3000 delayed"), (scan.prompts, none, "prompts without delays.*randoms=False"),
                                       (none, none, "there are no events")):
            write(path, scan.described, blocks(prompts, delays), length=1000)
            self.says(words, path)
        write(path, scan.described, blocks(scan.prompts, none), length=1000)
        self.assertEqual(self.quick(path, randoms=False).found[0].prompts, 3000)

    def test_moves_and_dead_time(self):
        scan, path = self.scan, self.path("other.petsird")
        events = [(k * 1000, scan.prompts[:3000], scan.delays[:3000]) for k in (0, 1)]
        interval = petsird.TimeInterval(start=0, stop=2000)
        bed = lambda z: petsird.TimeBlock.BedMovementTimeBlock(petsird.BedMovementTimeBlock(
            time_interval=interval, transform=petsird.RigidTransformation(matrix=np.array([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, z]], np.float32))))
        dead = petsird.TimeBlock.DeadTimeTimeBlock(petsird.DeadTimeTimeBlock(time_interval=interval, alive_time_fractions=petsird.AliveTimeFractions()))
        write(path, scan.described, events, length=1000, others=[bed(50.0), dead])
        made = self.quick(path)
        self.assertTrue(any("blocks of dead times without fractions: pass live" in words for words in made.doubts))
        self.assertFalse(any("dead times" in words for words in self.quick(path, live=0.9).doubts))
        write(path, scan.described, events, length=1000, between=[bed(50.0)])
        self.says("bed or gantry move", path)

    def test_mistakes(self):
        self.says("isotope is 'X-1'", isotope="X-1")
        self.says("half_life is -1", half_life=-1.0)
        self.says("algorithm is 'fbp'", algorithm="fbp")
        self.says("scatter is -1", scatter=-1)
        self.says("live is 0", live=0.0)
        self.says("delay is -1.0; it must be 0 or more", delay=-1.0)
        self.says("smoothness is nan", smoothness=math.nan)
        self.says("voxel is 0", voxel=0.0)
        self.says("attenuation is int; it must be the path", attenuation=3, kind=TypeError)
        self.says("reaches 110 mm either way along x, the lattice 150 mm: pad", size=20)
        map = isocenter.images.read_nifti(self.map)
        self.says("reaches 12.5 mm either way along z, the lattice 22.5 mm", attenuation=map._replace(image=map.image[2:-2]))
        self.says("its centre, .* may be in another frame", attenuation=map._replace(centre=(500.0, 0.0, 0.0)))
        described = petsird_files.scanner(EDGES, tof=0.0)
        write(self.path("none.petsird"), described, [])
        self.says("does not say its resolution of time: pass tof_fwhm", self.path("none.petsird"))
        write(self.path("one.petsird"), petsird_files.scanner(EDGES[[0, -1]]), [])
        for words in ({}, {"tof_fwhm": 300.0}):
            self.says("the scanner has no time of flight, one time bin of 800.6 ps", self.path("one.petsird"), projector="histo-images", **words)
        self.says("a time resolution of 1500 ps places events to 224.8 mm along their lines, and the lattice is 210 mm", tof_fwhm=1500.0, projector="histo-images")
        self.says("projector is 'rays'; it must be one of histo-images, lines", projector="rays")
        with self.assertRaisesRegex(FileNotFoundError, "none|No such file"):
            self.quick(self.path("nothing.petsird"))
        with open(self.path("text.petsird"), "w") as file:
            file.write("no events at all")
        self.says("is no PETSIRD file that can be read", self.path("text.petsird"))
        with mock.patch.dict(sys.modules, {"petsird": None}):  # which is for those who write files
            self.assertEqual(self.quick().isotope.name, "F-18")
        for arguments, words in (([self.file, "-o", "image.mgz"], "it must end in"), ([self.file, "-o", self.path("a.nii"), "--acquired", "2026-11-30T10:00"], "--dicom-like and --acquired are for DICOM"),
                                 ([self.file, "-o", self.path("a.dcm"), "--acquired", "now"], "acquired is now; it must be a date and time"),
                                 ([self.file, "-o", self.path("a.dcm"), "--dicom-like", self.file], "is no DICOM file"), ([self.file, "-o", self.path("a.nii"), "--isotope", "X"], "isotope is 'X'")):
            with self.subTest(words), self.assertRaises(SystemExit) as caught, contextlib.redirect_stdout(io.StringIO()):
                self.main(arguments)
            self.assertIn(words, str(caught.exception))

    def test_doubts(self):
        bare, path = petsird_files.Simulated(self.path("bare.petsird"), 20_000, efficiencies=False), self.path("bare.petsird")
        bare.write(path)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            made = self.module.quantify(path, isotope="I-124", voxel=15.0, azimuths=8, tilts=1, algorithm="osem", iterations=1)
        self.assertEqual([str(w.message) for w in caught if w.category is UserWarning], made.doubts)
        for words in ("no efficiencies of its crystals", "no map of attenuation", "I-124 sends other photons"):
            self.assertTrue(any(words in doubt for doubt in made.doubts), words)
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            self.main([path])
        self.assertIn("no efficiencies, isotope not named", said.getvalue())


if __name__ == "__main__":
    unittest.main()
