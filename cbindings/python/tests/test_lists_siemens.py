"""Lists of Siemens: which crystals bins are of, what headers and norms say, and an image."""
import gzip
import os
import shutil
import unittest
from unittest import mock

import numpy as np

import isocenter
import isocenter.images
import isocenter.lists
import list_files
import siemens_files
from isocenter.lists import _siemens_scanner
from siemens_files import MMR, SMALL, event, pydicom, time
from test_images import nibabel
from test_lists import UNKNOWN, Files, Phantom

#: Bins of a plane of the mMR.
PLANE = 344 * 252


class Siemens(Files):
    #: Of two crystals by hand. Place 1 of view 1's middle bin, 172, is opposite 1 + 252, which is the first of block 28; crystals are 448 a ring, and 8 a block.
    BINS = [1 * 344 + 172, 64 * PLANE + 1 * 344 + 172, (64 + 63) * PLANE + 1 * 344 + 172, 2 * 344 + 173]
    CRYSTALS = [(0, 224), (448, 224), (0, 448 + 224), (1, 224)]

    def write(self, words=None, **keys):
        words = [time(0), event(self.BINS[0]), event(self.BINS[1], False), time(1500), event(self.BINS[2]), 0b101 << 29 | 77, event(self.BINS[3]), time(4000)] if words is None else words
        return siemens_files.siemens(self.folder, words, **keys)

    def test_every_event_is_read(self):
        path = self.write()
        os.rename(self.path("scan.l"), self.path("renamed.l"))
        shutil.copy(path, self.path("renamed.l.hdr"))
        self.write([time(0), event(self.BINS[3]), time(9)])
        np.testing.assert_array_equal(self.listed(self.path("renamed.l"))[0], self.CRYSTALS)
        self.write()
        for given in (path, self.path("scan.l")):
            crystals, times, kinds, frames, reading = self.listed(given)
            np.testing.assert_array_equal(crystals, self.CRYSTALS)
            self.assertEqual((kinds.tolist(), times.tolist(), reading.blocks, reading.doubts), ([0, 1, 0, 0], [0] * 4, [[(0.0, 4.0)]], []))
        # Times are of the words before events, whatever part of the list these are in.
        with mock.patch("isocenter.lists._siemens._AT_ONCE", 2):
            crystals, _, _, frames, reading = self.listed(path, frames=[(0, 1), (1, 20)])
        np.testing.assert_array_equal(crystals, self.CRYSTALS)
        self.assertEqual((frames.tolist(), reading.blocks), ([0, 0, 1, 1], [[(0, 1)], [(1, 4.0)]]))
        with isocenter.lists.open_list(path) as listed:
            self.assertEqual(sum(len(part.kinds) for part in listed.read(delays=False)), 3)
            self.assertEqual((listed.kind, listed.has_delays, listed.scanner.has_times, listed.remarks), ("Siemens", True, False, ["8 words"]))
            said = listed.said
        self.assertEqual((said.isotope.name, said.position, said.calibration), ("F-18", "HFS", 1.0))

    def test_crystals_of_all_bins(self):
        """Of one in a thousand of 354,033,792 bins, against the same the other way round; and where the two are against the bin's angle and distance from the axis, of crystals at equal angles."""
        bins = _siemens_scanner.Bins(isocenter.lists._keys.Keys("header", ":=", ";", siemens_files.lines(siemens_files.header())), MMR)
        self.assertEqual(bins.count, 4084 * PLANE)
        numbers = self.rng.integers(0, bins.count, bins.count // 1000)
        crystals, beyond, gaps = bins.crystals(numbers.astype(np.uint32))
        self.assertFalse(beyond.any())
        # Of nine places eight have a crystal, at both ends: 1 - (8 / 9)^2 = 0.2099, of 354,000 to 0.0007.
        self.assertAlmostEqual(gaps.mean(), 1 - (8 / 9) ** 2, delta=0.003)
        self.assertTrue((crystals[gaps] == UNKNOWN).all())
        crystals, numbers = crystals[~gaps].astype(int), numbers[~gaps]
        ring, place = crystals // 448, crystals % 448 // 8 * 9 + crystals % 8 + 1
        ends = np.stack([ring, place], axis=2)
        np.testing.assert_array_equal(siemens_files.bins(ends[:, 0], ends[:, 1], 64, 504, 344), numbers)
        angle = place * 2 * np.pi / 504
        view, off = numbers % PLANE // 344 * np.pi / 252, (numbers % 344 - 172) * np.pi / 504
        # The normal of the line, which is at a quarter turn from its direction, and its distance over the radius; odd bins lie half a step of the view before.
        x, y = np.sin(angle), -np.cos(angle)
        way = np.arctan2(y[:, 0] - y[:, 1], x[:, 0] - x[:, 1]) + np.pi / 2 - view
        self.assertLess(abs((way + np.pi / 2) % np.pi - np.pi / 2).max(), np.pi / 504 + 1e-9)
        apart = x[:, 0] * y[:, 1] - y[:, 0] * x[:, 1]
        distance = -apart / np.hypot(x[:, 0] - x[:, 1], y[:, 0] - y[:, 1])
        np.testing.assert_allclose(abs(distance), abs(np.sin(off)), atol=1e-9)

    def test_places_of_the_mmr(self):
        """By hand: block 0 is right of the top by half a block, 360 / 112 degrees; its crystals are 4.01 mm apart, 335 mm from the axis; ring 0 is deepest, at 31.5 x 4.0625 mm."""
        with isocenter.lists.open_list(self.write()) as listed:
            scanner = listed.scanner
        self.assertEqual((len(scanner.positions), scanner.model, scanner.crystal_width, scanner.crystal_height, scanner.energy_resolution), (28672, "Biograph mMR", 4.0, 4.0, 0.145))
        self.assertEqual((scanner.energy_lower, scanner.energy_upper, scanner.efficiencies), (430, 610, None))
        sin, cos = np.sin(np.pi / 56), np.cos(np.pi / 56)
        for k, side in ((0, -3.5), (7, 3.5)):
            side *= 32.09 / 8
            np.testing.assert_allclose(scanner.positions[k], [335 * sin + side * cos, -335 * cos + side * sin, 127.96875])
        np.testing.assert_allclose(scanner.normals[0], [sin, -cos, 0], atol=1e-12)
        # A quarter of 56 blocks later it is to the right, of which half a block is downwards.
        np.testing.assert_allclose(scanner.positions[[14 * 8 + 3, 14 * 8 + 4]].mean(axis=0), [335 * cos, 335 * sin, 127.96875])
        np.testing.assert_allclose(scanner.positions[448::448, 2] - scanner.positions[:-448:448, 2], -4.0625)
        modules, groups, _ = scanner.pairs
        self.assertEqual((len(groups), groups.sum()), (64, 64 * 64 - 12))  # but for six rings and six the other way that are more than 60 apart
        self.assertEqual(modules.max(), 63)
        with isocenter.lists.open_list(self.write(), depth=10.0) as listed:
            np.testing.assert_allclose(listed.scanner.positions - scanner.positions, 3.0 * scanner.normals, atol=1e-9)

    def test_the_norm(self):
        """Its table begins with the first crystal of a block, the sinogram's with the gap."""
        table = np.add.outer(1e-3 * np.arange(64), np.arange(504.0))
        path = siemens_files.norm(self.folder, table)
        with isocenter.lists.open_list(self.write(), norm=path) as listed:
            scanner = listed.scanner
        ring, place = np.divmod(np.arange(28672), 448)
        np.testing.assert_allclose(scanner.efficiencies, 1e-3 * ring + place // 8 * 9 + place % 8, rtol=1e-6)
        self.assertRegex(scanner.doubts[0], "what it has besides is not: geometric effects$")
        self.assertRegex(scanner.doubts[1], "values are in Bq/ml but for a factor, pass calibration")
        if pydicom:
            with open(path, "rb") as file:
                wrapped = siemens_files.dicom(self.folder, file.read(), name="wrapped")
            shutil.copy(self.path("norm.n"), self.path("wrapped.bf"))
            with isocenter.lists.open_list(self.write(), norm=wrapped) as listed:
                np.testing.assert_array_equal(listed.scanner.efficiencies, scanner.efficiencies)
        self.cut("norm.n", -4)
        self.says("has crystal efficiencies in bytes 174752 to 303776 of its data, which have 303772", self.write(), norm=path)
        for words, keys in (("is the norm of originating system 1104, and the list is of 2008", {"!originating system": "1104"}), ("has no line '%normalization component \\[k\\]:= crystal efficiencies'",
                            {"%normalization component [2]": "dead time"}), ("of size \\{672,55}; those of a Biograph mMR are \\{504,64}", {"%matrix size[2]": "{672,55}"}),
                            ("numbers of 0 or more", {}), ("no line 'data offset in bytes", {"data offset in bytes[2]": None}), ("must be 2 numbers", {"%matrix size[2]": 504})):
            self.says(words, self.write(), norm=siemens_files.norm(self.folder, np.where(table > 100, np.nan, table), **keys))
        self.says("norm is not for lists of CASToR", list_files.castor(self.folder, np.zeros((1, 2), int), None, [1.0], "other"), norm=path)

    def test_files_that_are_not_whole(self):
        path = self.write(**{"%total listmode word counts": 8})
        self.cut("scan.l", -2)
        *_, reading = self.listed(path)
        self.assertEqual(reading.doubts, ["the list is not whole: after 7 words there are 2 bytes", "the header tells of 8 words, and the list has 7"])
        self.assertEqual(reading.blocks, [[(0.0, 1.5)]])
        self.cut("scan.l", 3)
        self.says("is of a list without any words", path)
        os.remove(self.path("scan.l"))
        self.says("names scan.l by 'name of data file:= ...', and there is no such file", path)
        self.write()
        os.remove(path)
        self.says("is a list of Siemens' without its header.*no scan.l.hdr beside it", self.path("scan.l"))

    def test_times(self):
        events = [event(self.BINS[0])] * 3
        for words in (events, [time(5), *events]):
            self.says("no words of time.*pass duration", self.write(words))
        crystals, *_, reading = self.listed(self.write(events), duration=60.0)
        self.assertEqual((len(crystals), reading.blocks), (3, [[(0.0, 60.0)]]))
        self.says("has no times of its events", self.write(events), duration=60.0, frames=[(0, 10)])
        *_, frames, reading = self.listed(self.write([events[0], time(20_000), *events, time(21_000), *events, time(80_000)], **{"image duration (sec)": 900}), frames=[(0, 1), (1, 70)])
        self.assertEqual((frames.tolist(), reading.blocks), ([0] * 4 + [1] * 3, [[(0, 1)], [(1, 60)]]))
        self.assertRegex(reading.doubts[0], "the first time in the list is 20 s, which is taken for the start of the scan")
        self.assertRegex(reading.doubts[1], "the header tells of 900 s, and times in the list are of 60 s")

    def test_words_of_no_bins(self):
        *_, reading = self.listed(self.write([time(0), event(4084 * PLANE), event(172), event(self.BINS[0]), time(9000)]))
        self.assertRegex(reading.doubts[0], "1 of 3 events are of bins beyond the header's 354033792")
        self.assertRegex(reading.doubts[1], "1 of 3 events are of gaps between blocks, where a Biograph mMR has no crystals")

    def test_wrong_headers(self):
        for words, keys in (("'%axial compression:= 11': bins of several ring differences", {"%axial compression": 11}), ("no line '%axial compression:= ...'", {"%axial compression": None}),
                            ("originating system 1104 \\(Biograph mCT\\), of which it is not known.*STIR2PETSIRD", {"!originating system": 1104}), ("of originating system GE, of which", {"!originating system": "GE"}),
                            ("no line 'originating system:= ...'", {"!originating system": None}), ("13 time bins: of which widths", {"%number of TOF time bins": 13}),
                            ("words of 64 bits, which name blocks and crystals", {"%LM event and tag words format (bits)": 64}), ("no line '%segment table", {"%segment table": None}),
                            ("must be 121 numbers", {"%segment table": "{127,115,115}"}), ("'%segment table' that is not of one ring difference each", {"%segment table": "{" + ", ".join(["64"] * 121) + "}"}),
                            ("'%number of views:= 168'; a Biograph mMR has 252", {"%number of views": 168}), ("'number of rings:= 55'; a Biograph mMR has 64", {"number of rings": 55}),
                            ("'%number of projections:= 343'", {"%number of projections": 343}), ("'%maximum ring difference:= 64' of 64 rings", {"%maximum ring difference": 64}),
                            ("'gantry crystal radius \\(cm\\):= -1'", {"gantry crystal radius (cm)": -1}), ("no line 'distance between rings", {"distance between rings (cm)": None}),
                            ("tilted, by 2 degrees", {"gantry tilt angle (degrees)": 2}), ("they must be CoincidenceList and Emission", {"data format": "sinogram"}),
                            ("they must be CoincidenceList and Emission", {"PET data type": "Transmission"})):
            self.says(words, self.write(**keys))
        self.says("duration is -1", self.write(), duration=-1)
        self.says("depth is -1", self.write(), depth=-1)
        self.says("scanner is not for lists of Siemens", self.write(), scanner="other.geom")
        with isocenter.lists.open_list(self.write(**{"end horizontal bed position (mm)": 500})) as listed:
            self.assertTrue(listed.read().moves)
        *_, reading = self.listed(self.write(**{"start horizontal bed position (mm)": -12, "end horizontal bed position (mm)": -12, "isotope gamma halflife (sec)": 100}))
        self.assertFalse(reading.moves)
        self.assertRegex(reading.doubts[0], "half-life of 100 s, and F-18 has 6584.04 s, which is taken")
        self.assertRegex(reading.doubts[1], "the bed was at -12 mm")
        with isocenter.lists.open_list(self.write(**{"isotope name": "Xx-99", "%patient orientation": "Sitting"})) as listed:
            self.assertEqual((listed.said.isotope, listed.said.position, listed.said.lies), (("Xx-99", 6586.2, 0.97), None, "Sitting"))

    @unittest.skipIf(pydicom is None, "pydicom is not installed")
    def test_within_dicom(self):
        path = self.write()
        with open(path, "rb") as file, open(self.path("scan.l"), "rb") as data:
            head, data = file.read(), data.read()
        both = siemens_files.dicom(self.folder, head, data, "both")
        apart = siemens_files.dicom(self.folder, head, name="apart")
        self.says("there is no apart.bf beside it", apart)
        with open(self.path("apart.bf"), "wb") as file:
            file.write(data)
        with open(apart, "rb") as file:
            tailed = siemens_files.tailed(self.folder, data, file.read())
        with open(both, "rb") as file, gzip.open(both + ".gz", "wb") as to:
            shutil.copyfileobj(file, to)
        for given in (both, both + ".gz", apart, self.path("apart.bf"), tailed):
            crystals, *_, reading = self.listed(given)
            np.testing.assert_array_equal(crystals, self.CRYSTALS)
            self.assertFalse(reading.doubts)
        # Data that are longer than what is read with the header.
        long = siemens_files.dicom(self.folder, head, data + 30_000 * data[4:8], "long")
        self.assertEqual(len(self.listed(long)[0]), 30_004)
        self.cut(long, -50_002)
        *_, reading = self.listed(long)
        self.assertEqual(reading.doubts[0], f"the list is not whole: after {30_008 - 12_501} words there are 2 bytes, and 50002 are missing")
        for words, given, size in (("does not end in LARGE_PET_LM_RAWDATA", tailed, -3), ("is DICOM that cannot be read|without a header of Siemens", both, 200), ("without a header of Siemens' lists", siemens_files.dicom(self.folder, b"none"), None)):
            self.cut(given, size)
            self.says(words, given)


@unittest.skipIf(nibabel is None, "nibabel is not installed")
class Image(Phantom):
    """The same phantom, to the right, below and deeper than the middle, by words of a small scanner."""

    def test_a_list_of_siemens(self):
        places, outwards = siemens_files.small_places().reshape(2, -1, 3)
        self.scan.pet.set_scanner(places, outwards, crystal_width=5.5, crystal_height=5.5)
        crystals, *_ = self.scan.pet.detect(self.scan.first, self.scan.second, self.scan.times, bins=False)
        kept = crystals[:, 0] < len(places)
        ends = np.stack([crystals[kept] // 192, crystals[kept] % 192 // 8 * 9 + crystals[kept] % 8 + 1], axis=2).astype(int)
        numbers, ms = siemens_files.bins(ends[:, 0], ends[:, 1], 16, 216, 144), np.round(1000 * self.scan.seconds[kept]).astype(int)
        there = numbers >= 0
        self.assertGreater(there.mean(), 0.999)
        words = np.stack([0b100 << 29 | ms[there], 1 << 30 | numbers[there]], axis=1).astype(np.uint32).ravel()
        path = siemens_files.siemens(self.folder.name, [time(0), *words, time(600_000)], design=SMALL)
        with mock.patch.object(_siemens_scanner, "DESIGNS", (SMALL,)):
            image, doubts = self.made(path, "--algorithm", "osem", "--iterations", "8")
        self.assertIn("isocenter.lists: the file has no efficiencies of its crystals", doubts)
        # Without time of flight neighbours are told apart by lines alone, so that means of regions deviate by some percent; of the whole sum, 0.2 %, and eight passes of OSEM, and of the middle, 0.1 mm, as in `check`.
        truth = self.scan.truth
        self.assertAlmostEqual(image.sum() / truth.sum(), 1, delta=0.02)
        np.testing.assert_allclose(self.scan.middle(image), self.scan.middle(truth), atol=0.5)
        # Of crystals that detect twice as much as the norm's mean, a quarter of the activity makes the same counts; whatever is in gaps' places.
        norm = siemens_files.norm(self.folder.name, np.where(np.arange(216) % 9 == 8, 50.0, 2.0) * np.ones((16, 1)), design=SMALL)
        with mock.patch.object(_siemens_scanner, "DESIGNS", (SMALL,)):
            image, doubts = self.made(path, "--algorithm", "osem", "--iterations", "2", "--norm", norm, "--voxel", "10", "--size", "20", "--slices", "9")
        self.assertAlmostEqual(8 * image.sum() / truth.sum(), 1 / 4, delta=0.01)
        self.assertIn("values are in Bq/ml but for a factor, give --calibration", doubts)


if __name__ == "__main__":
    unittest.main()
