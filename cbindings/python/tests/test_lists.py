"""Lists of CASToR, SAFIR and GATE: what is in them, what they need, and images of them."""
import contextlib
import gzip
import io
import os
import shutil
import tempfile
import unittest
import warnings
from unittest import mock

import numpy as np

import isocenter
import isocenter.images
import isocenter.lists
import list_files
import petsird_files
from isocenter.lists.__main__ import main
from list_files import CRYSTALS, uproot
from test_dicom import pydicom
from test_images import nibabel

UNKNOWN = 2 ** 32 - 1


class Files(unittest.TestCase):
    """Without images."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.rng = np.random.default_rng(2)

    def path(self, name):
        return os.path.join(self.folder, name)

    def cut(self, name, size):
        """To so many bytes, or by so many; what there was."""
        with open(self.path(name), "rb") as file:
            data = file.read()
        with open(self.path(name), "wb") as file:
            file.write(data[:size])
        return data

    def listed(self, path, frames=None, **words):
        """Crystals, times, kinds, frames, and the reading."""
        with isocenter.lists.open_list(path, **words) as opened:
            reading = opened.read(None if frames is None else np.array(frames, float))
            parts = list(reading)
        self.assertEqual([part.first for part in parts], np.cumsum([0, *(len(part.kinds) for part in parts)])[:-1].tolist())
        return *(np.concatenate([getattr(part, name) for part in parts]) for name in ("crystals", "times", "kinds", "frames")), reading

    def says(self, words, path, kind=ValueError, **opening):
        with self.subTest(words), self.assertRaisesRegex(kind, words) as caught:
            self.listed(path, **opening)
        self.assertIs(type(caught.exception), kind)


class CASToR(Files):
    def setUp(self):
        super().setUp()
        list_files.geom(self.folder)
        self.crystals = self.rng.integers(0, CRYSTALS, (5000, 2))
        self.times, self.seconds = self.rng.normal(0, 300, 5000), np.sort(self.rng.uniform(0, 600, 5000))

    def write(self, *, times=(), **words):
        return list_files.castor(self.folder, self.crystals, self.times if isinstance(times, tuple) else times, self.seconds, **words)

    def test_every_event_is_read(self):
        """Of builds of both kinds, with whatever else is in a record; the files' times are t1 - t2."""
        more = [("Attenuation correction flag", self.rng.uniform(1, 9, 5000)), ("Scatter correction flag", self.rng.uniform(0, 1, 5000)),
                ("Random correction flag", self.rng.uniform(0, 1, 5000)), ("Normalization correction flag", self.rng.uniform(1, 2, 5000))]
        for real in "fd":
            for fields in ([], more[:1], more[1:3], more):
                path = self.write(real=real, fields=[(key, real, values) for key, values in fields])
                with mock.patch("isocenter.lists._castor_records._AT_ONCE", 40_000):
                    crystals, times, kinds, frames, reading = self.listed(path)
                np.testing.assert_array_equal(crystals, self.crystals)
                np.testing.assert_allclose(times, self.times, rtol=1e-6)
                self.assertEqual((crystals.dtype, times.dtype, kinds.any(), frames.any()), (np.uint32, np.float32, False, False))
                self.assertEqual(reading.blocks, [[(0.0, 600.0)]])
                self.assertEqual(len(reading.doubts), len(fields), reading.doubts)
        self.assertRegex(reading.doubts[0], "values of attenuation are not used: attenuation is of the map")

    def test_places_in_crystals(self):
        """And of decays are passed over."""
        tof = np.dtype([("time", "<u4"), ("tof", "<f4"), ("place", "<f4", 4), ("decay", "<f4", 6), ("crystals", "<u4", 2)])
        records = np.zeros(50, tof)
        records["crystals"], records["tof"], records["place"] = self.crystals[:50], self.times[:50], 1.5
        path = self.write(**{"POI correction flag": "1,0,1", "POI capability": "2.0,-1,3.0", "Emission point flag": 1, "Number of events": 50})
        records.tofile(self.path("scan.Cdf"))
        crystals, times, *_ = self.listed(path)
        np.testing.assert_array_equal(crystals, self.crystals[:50])
        np.testing.assert_allclose(times, -self.times[:50], rtol=1e-6)

    def test_what_the_header_says(self):
        path = self.write(**{"Start time (s)": 100, "Calibration factor": 2.5, "Isotope": "Ga-68", "Duration (s)": 500, "List TOF quantization bin size (ps)": 39})
        with isocenter.lists.open_list(path) as listed:
            scanner, said = listed.scanner, listed.said
        self.assertEqual((said.isotope.name, said.calibration, listed.has_delays, scanner.model), ("Ga-68", 2.5, False, "RING"))
        self.assertEqual((scanner.crystal_width, scanner.crystal_height, scanner.tof_fwhm, scanner.window, scanner.time_step), (5.5, 5.5, 300.0, 900.0, 39.0))
        self.assertIsNone(scanner.time_edges)
        for name, isotope in (("unknown", None), ("INF", None), ("18F", "F-18")):
            with isocenter.lists.open_list(self.write(Isotope=name)) as listed:
                self.assertEqual(listed.said.isotope and listed.said.isotope.name, isotope)
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            main([path])
        self.assertEqual(said.getvalue(), "scan.Cdh: RING, 3072 crystals of 5.5 x 5.5 mm, times in ps, resolution 300 ps, no efficiencies, isotope F-18, 5000 events, 600 s, CASToR\n")

    def test_frames_are_cut_by_event_times(self):
        path = self.write()
        *_, frames, reading = self.listed(path, [(10, 60), (60, 200), (650, 700)])
        ms = np.round(1000 * self.seconds) / 1000
        for k, (start, end) in enumerate([(10, 60), (60, 200), (650, 700)]):
            self.assertEqual((frames == k).sum(), ((ms >= start) & (ms < end)).sum())
        self.assertEqual(reading.blocks, [[(10, 60)], [(60, 200)], []])
        np.testing.assert_array_equal(reading.measured, [50, 140, 0])
        # The clock of events is the header's, which begins later.
        path = self.write(**{"Start time (s)": 50, "Duration (s)": 400})
        *_, frames, reading = self.listed(path, [(0, 50), (390, 460)])
        self.assertEqual(((frames == 0).sum(), (frames == 1).sum()), (((ms >= 50) & (ms < 100)).sum(), ((ms >= 440) & (ms < 451)).sum()))
        self.assertEqual(reading.blocks[1], [(390, 400)])
        self.assertRegex(reading.doubts[0], "events are outside of the scan, which is from 0 to 400 s")
        self.says("has all of its events outside of the scan", self.write(**{"Start time (s)": 5000}))
        *_, reading = self.listed(self.write(**{"Duration (s)": 100_000}))
        self.assertRegex(reading.doubts[0], "the last event is at 599.* s, and the scan is taken to be from 0 to 100000 s: pass duration")
        self.assertFalse(self.listed(self.write(**{"Duration (s)": 100_000}), duration=600.0)[-1].doubts)
        self.seconds = 0 * self.seconds
        self.assertFalse(self.listed(self.write())[-1].doubts)
        self.says("has no times of its events", self.write(), frames=[(0, 10)])

    def test_what_a_simulation_knows_is_left_out(self):
        kinds = self.rng.integers(0, 6, 5000)
        path = self.write(fields=[("Coincidence kind flag", "B", kinds), ("Normalization correction flag", "f", np.ones(5000))])
        for exclude, left in ((("randoms",), kinds != 4), ("scatter", (kinds != 2) & (kinds != 3)), (("randoms", "scatter"), (kinds < 2) | (kinds == 5)), ((), kinds >= 0)):
            np.testing.assert_array_equal(self.listed(path, exclude=exclude)[0], self.crystals[left])
        self.says("has no kinds of its events, by which randoms could be left out", self.write(), exclude="randoms")
        self.says("exclude is 'trues'; it must be of randoms, scatter", path, exclude="trues")

    def test_files_that_are_not_whole(self):
        path = self.write()
        data = self.cut("scan.Cdf", -7)
        crystals, *_, reading = self.listed(path)
        np.testing.assert_array_equal(crystals, self.crystals[:-1])
        self.assertEqual(reading.doubts, ["the header tells of 5000 events, which have 80000 bytes, and the data has 79993 bytes: 4999 events are whole, and are used"])
        self.cut("scan.Cdf", 5)
        self.says("cannot be told|none is whole", path)
        self.cut("scan.Cdf", 0)
        self.says("scan.Cdf is empty, the data of .*scan.Cdh", path)
        os.remove(self.path("scan.Cdf"))
        self.says("names scan.Cdf by 'Data filename: ...', and there is no such file", path)
        # Of either build, and with a header that tells of too many or too few.
        for real, size in (("f", 16), ("d", 20)):
            for count in (6000, 4000):
                path = self.write(real=real, **{"Number of events": count})
                crystals, *_, reading = self.listed(path)
                np.testing.assert_array_equal(crystals, self.crystals)
                self.assertRegex(reading.doubts[0], f"{count} events, which have {count * size} bytes, and the data has {5000 * size} bytes: 5000")
        with open(self.path("scan.Cdf"), "wb") as file:
            file.write(self.rng.bytes(70_000))
        self.says("which of them it is cannot be told", path)
        with open(self.path("scan.Cdf"), "wb") as file:
            file.write(data)

    def test_wrong_headers(self):
        for words, keys in (("has no line 'Number of events: ...'", {"Number of events": None}), ("'Number of events: -1'; it must be a whole number", {"Number of events": -1}),
                            ("'Number of events: many'; there must be a number", {"Number of events": "many"}), ("'Data mode: histogram'; it must be list-mode", {"Data mode": "histogram"}),
                            ("'Data type: SPECT'; it must be PET", {"Data type": "SPECT"}), ("several lines of response for each event", {"Maximum number of lines per event": 4}),
                            ("'TOF information flag: maybe'; it must be 0 or 1", {"TOF information flag": "maybe"}), ("'Duration \\(s\\): 0'.*pass duration", {"Duration (s)": 0}),
                            ("'Duration \\(s\\): nan'; there must be a number", {"Duration (s)": "nan"}), ("no line 'Scanner name: ...'", {"Scanner name": None})):
            self.says(words, self.write(**keys))
        self.says("duration is -1", self.write(), duration=-1)
        self.says("tree is not for lists of CASToR", self.write(), tree="Coincidences")
        self.write()
        os.remove(self.path("scan.Cdh"))
        self.says("is CASToR's list without its header.*no scan.Cdh beside it", self.path("scan.Cdf"))

    def test_crystals_from_1(self):
        path = list_files.castor(self.folder, np.concatenate([self.crystals % (CRYSTALS - 1) + 1, [[CRYSTALS, 5]] * 3]), np.zeros(5003), np.linspace(0, 600, 5003))
        crystals, *_, reading = self.listed(path)
        self.assertEqual((crystals == UNKNOWN).sum(), 3)
        self.assertRegex(reading.doubts[0], "crystals seem to be counted from 1, and CASToR counts from 0: 3 are number 3072")

    def test_compressed(self):
        whole = self.listed(self.write())[0]
        for names in (["scan.Cdf"], ["scan.Cdf", "scan.Cdh"]):
            self.write()
            for name in names:
                with open(self.path(name), "rb") as file, gzip.open(self.path(name + ".gz"), "wb") as to:
                    shutil.copyfileobj(file, to)
                os.remove(self.path(name))
            np.testing.assert_array_equal(self.listed(self.path("scan.Cdh" + ".gz" * ("scan.Cdh" in names)))[0], whole)
        before = len(os.listdir(tempfile.gettempdir()))
        self.cut("scan.Cdf.gz", 20_000)
        self.says("scan.Cdf.gz is compressed by gzip, and cannot be unpacked: ", self.path("scan.Cdh.gz"))
        self.assertEqual(len(os.listdir(tempfile.gettempdir())), before)

    def test_the_scanner_is_found(self):
        path = self.write()
        os.rename(self.path("RING.geom"), self.path("other.geom"))
        self.says("names its scanner RING, and there is no RING.hscan or RING.geom beside it", path)
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            main([path])
        self.assertRegex(said.getvalue(), r"^scan.Cdh: scanner not known \(.*names its scanner RING.*\), isotope F-18, 5000 events, 600 s, CASToR$")
        self.says("is no scanner of CASToR's: its name must end in .hscan, .ghscan, .geom or .lut", path, scanner=path)
        places = list_files.places()
        with isocenter.lists.open_list(path, scanner=self.path("other.geom")) as listed:
            np.testing.assert_allclose(listed.scanner.positions, places, atol=1e-9)
        os.makedirs(self.path("config/scanner"))
        list_files.lut(self.path("config/scanner"))
        with mock.patch.dict(os.environ, CASTOR_CONFIG=self.path("config")), isocenter.lists.open_list(path) as listed:
            np.testing.assert_allclose(listed.scanner.positions, places, atol=1e-4)

    def read(self, path, **words):
        with isocenter.lists.open_list(self.write(), scanner=path, **words) as listed:
            return listed.scanner

    def test_tables(self):
        places = list_files.places()
        for kind, close in (("<f4", 1e-4), ("<f8", 1e-9)):
            path = list_files.lut(self.folder, "table", kind)
            for given in (path, self.path("table.lut")):
                scanner = self.read(given)
                np.testing.assert_allclose(scanner.positions, places, atol=close)
                out = (scanner.normals[:, :2] * places[:, :2]).sum(axis=1)
                np.testing.assert_allclose(np.linalg.norm(scanner.normals, axis=1), 1, atol=close)
                self.assertGreater(out.min(), 170)
            # Where photons are detected, behind the inner faces, whose middle crystals are 5 mm behind.
            deeper = self.read(path, depth=8.0).positions
            np.testing.assert_allclose(deeper - places, 3.0 * scanner.normals, atol=close)
        path = list_files.lut(self.folder, "table", mean_depth_of_interaction=2.0)
        np.testing.assert_allclose(self.read(path).positions - places, -3.0 * scanner.normals, atol=1e-4)
        np.testing.assert_allclose(self.read(path, depth=8.0).positions, deeper, atol=1e-4)
        for words, keys in (("table.lut has 73728 bytes; 3000 crystals of 6 numbers have 72000 \\(float32\\) or 144000 \\(float64\\)", dict(number_of_elements=3000)),
                            ("does not say the size of its crystals: add a line 'crystals size trans: ...'", dict(crystals_size_transaxial=0)),
                            ("modality SPECT_CONVERGENT; it must be PET", dict(modality="SPECT_CONVERGENT")), ("no line 'crystals size depth: ...'", dict(crystals_size_depth=None)),
                            ("3072 crystals, and 1000 \\+ 1000 in its layers", {"number_of_layers": 2, "number_of_crystals_in_layer(s)": "1000,1000", "crystals_size_depth": "10,10",
                                                                              "crystals_size_transaxial": "5,5", "crystals_size_axial": "5,5"})):
            with self.subTest(words), self.assertRaisesRegex(ValueError, words):
                self.read(list_files.lut(self.folder, "table", **keys))
        list_files.lut(self.folder, "table")
        np.full(6 * CRYSTALS, np.nan, "<f4").tofile(self.path("table.lut"))
        self.assertRaisesRegex(ValueError, "places that are no numbers", self.read, path)
        os.remove(path)
        self.assertRaisesRegex(ValueError, "has no table.hscan beside it", self.read, self.path("table.lut"))

    def test_geometries(self):
        """Of modules, submodules and gaps, by hand: the first sector is above the axis, and the next ones come clockwise."""
        path = list_files.geom(self.folder, "made", number_of_elements=2 * 4 * 2 * 3 * 2 * 2 * 3, number_of_rsectors=4, number_of_rsectors_axial=2, rsector_gap_axial=7,
                               number_of_modules_transaxial=2, module_gap_transaxial=4, number_of_submodules_axial=3, submodule_gap_axial=2, number_of_crystals_transaxial=2,
                               crystal_gap_transaxial=1, number_of_crystals_axial="2 # rings", crystals_size_transaxial=3, crystals_size_axial=5, scanner_radius=100, number_of_layers=1,
                               **{"number_of_submodules_transaxial": 3, "submodule_gap_transaxial": 0.5})
        scanner = self.read(path)
        # Across, a submodule has 3 + 1 + 3 mm, a module 3 x 7 + 2 x 0.5 = 22, a sector 22 + 4 + 22 = 48. Along, a submodule has 10 mm, a sector 34, both with their gap 75.
        first = [-24 + 1.5, 105.0, -37.5 + 2.5]
        np.testing.assert_allclose(scanner.positions[0], first)
        for k, across in ((1, 4.0), (2, 7.5), (6, 26.0), (11, 45.0)):
            np.testing.assert_allclose(scanner.positions[k], first + np.array([across, 0, 0]))
        for ring, along in ((1, 5.0), (2, 12.0), (6, 41.0), (11, 70.0)):
            np.testing.assert_allclose(scanner.positions[48 * ring], first + np.array([0, 0, along]))
        np.testing.assert_allclose(scanner.positions[12], [105, 22.5, -35], atol=1e-9)
        self.assertEqual((scanner.crystal_width, scanner.crystal_height), (3, 5))
        turned = list_files.geom(self.folder, "made", rotation_direction="CCW", rsectors_first_angle=90, rsectors_nbZShift=2, rsectors_ZShift="0,2")
        scanner, half = self.read(turned), (list_files.ACROSS - 1) / 2 * list_files.PITCH
        np.testing.assert_allclose(scanner.positions[0], [-185, half, -41.25], atol=1e-9)
        np.testing.assert_allclose(scanner.positions[8, 2], -39.25)
        self.assertLess(scanner.positions[8, 1], 0)
        layers = dict(number_of_layers=2, number_of_elements=2 * CRYSTALS, **{f"number_of_{name}": f"{n},{n}" for name, n in (("rsectors", 24), ("crystals_transaxial", 8), ("crystals_axial", 16))})
        layers.update(scanner_radius="180,190", **{f"crystals_size_{way}": "5.5,5.5" for way in ("transaxial", "axial")}, crystals_size_depth="10,20")
        two = self.read(list_files.geom(self.folder, "made", **layers)).positions
        np.testing.assert_allclose(two[:CRYSTALS], list_files.places())
        np.testing.assert_allclose(np.linalg.norm(two[CRYSTALS:, :2] - two[:CRYSTALS, :2], axis=1), 15)
        for words, keys in (("has 100 elements, and describes 3072 crystals", dict(number_of_elements=100)), ("'rotation direction: UP'; it must be CW or CCW", dict(rotation_direction="up")),
                            ("'number of rsectors: 2.5'; there must be whole numbers, 1 or more", dict(number_of_rsectors=2.5)), ("no line 'scanner radius: ...'", dict(scanner_radius=None)),
                            ("5 to 6 mm; there must be one size", {**layers, "crystals_size_axial": "5,6"}), ("there must be 2 numbers", {**layers, "scanner_radius": 180}),
                            ("3072 crystals in 100 layers", dict(number_of_layers=100)), ("farther than 100000 mm", dict(scanner_radius=1e7))):
            with self.subTest(words), self.assertRaisesRegex(ValueError, words):
                self.read(list_files.geom(self.folder, "made", **keys))

    def test_pairs_that_are_too_far_apart(self):
        scanner = self.read(self.path("RING.geom"))
        self.assertIsNone(scanner.pairs)
        with isocenter.lists.open_list(self.write(**{"Maximum axial difference mm": 11.0})) as listed:
            modules, groups, _ = listed.scanner.pairs
        np.testing.assert_array_equal(modules, np.arange(CRYSTALS) // 192)
        np.testing.assert_array_equal(groups, abs(np.subtract.outer(np.arange(16), np.arange(16))) <= 2)
        with isocenter.lists.open_list(self.write(**{"Maximum axial difference mm": 1000})) as listed:
            self.assertIsNone(listed.scanner.pairs)

    def test_without_time_of_flight(self):
        path = self.write(times=None)
        crystals, times, *_ = self.listed(path)
        np.testing.assert_array_equal(crystals, self.crystals)
        self.assertEqual((times.dtype, times.any()), (np.uint32, False))
        with self.assertRaisesRegex(ValueError, "the scanner has no time of flight, one time bin of .*lines as the projector"):
            isocenter.lists.quantify(path, randoms=False, projector="histo-images")


class SAFIR(Files):
    RECORDS = [(3, 0, 7, 2, 1, 0, 0), ("time", 1200), (1, 2, 5, 4, 0, 1, 1), (0, 0, 0, 7, 0, 0, 0), ("time", 5000), (3, 3, 7, 0, 1, 1, 0), ("time", 9000)]

    def setUp(self):
        super().setUp()
        self.map = self.path("crystals.txt")
        self.rows = [(ring, place, layer, (20 + 5 * layer) * np.cos(place * np.pi / 4), (20 + 5 * layer) * np.sin(place * np.pi / 4), 3.0 * ring)
                     for ring in range(4) for place in range(8) for layer in range(2)]
        self.write_map(self.rows)

    def write_map(self, rows, separator="\t"):
        with open(self.map, "w") as file:
            file.write("#ring\tdet\tlayer\tx\ty\tz\n" + "\n".join(separator.join(f"{v:.6g}" for v in row) for row in rows) + "\n")

    def numbers(self, *places):
        order = {row[:3]: k for k, row in enumerate(self.rows)}
        return [order[place] for place in places]

    def test_every_event_is_read(self):
        expected = [self.numbers((3, 7, 1), (0, 2, 0)), self.numbers((1, 5, 0), (2, 4, 1)), self.numbers((0, 0, 0), (0, 7, 0)), self.numbers((3, 7, 1), (3, 0, 1))]
        for signature in (b"SAFIR CListModeData", b"MUPET CListModeData", b"NeuroLF CListModeData"):
            path = list_files.safir(self.path("scan.clm.safir"), self.RECORDS, signature)
            crystals, times, kinds, frames, reading = self.listed(path, scanner=self.map)
            np.testing.assert_array_equal(crystals, expected)
            self.assertEqual((kinds.tolist(), times.tolist(), reading.blocks), ([0, 1, 0, 0], [0] * 4, [[(0.0, 9.0)]]))
        with mock.patch("isocenter.lists._safir._AT_ONCE", 2):
            crystals, _, _, frames, reading = self.listed(path, scanner=self.map, frames=[(1, 4), (4, 20)])
        np.testing.assert_array_equal(crystals, expected)
        self.assertEqual((frames.tolist(), reading.blocks), ([-1, 0, 0, 1], [[(1, 4)], [(4, 9.0)]]))
        with isocenter.lists.open_list(path, scanner=self.map) as listed:
            self.assertEqual((listed.kind, listed.has_delays, listed.scanner.has_times), ("NeuroLF", True, False))
            self.assertEqual(sum(len(part.kinds) for part in listed.read(delays=False)), 3)
            np.testing.assert_allclose(listed.scanner.positions, [row[3:] for row in self.rows], atol=1e-4)
            with self.assertRaisesRegex(ValueError, "no time of flight"):
                isocenter.lists.quantify(listed, isotope="F-18", randoms=False, projector="histo-images")

    def test_parameters_of_stir(self):
        list_files.safir(self.path("scan.clm.safir"), self.RECORDS)
        template = {"!INTERFILE  ": "", "originating system": "DualRing", "Name of crystal map": "crystals.txt", "Distance between crystals in axial direction (cm)": 0.22,
                    "Distance between crystals in transaxial direction (cm)": "0.21 ; as made"}
        list_files.text(self.path("muppet.hs"), template, " := ")
        parameters = {"CListModeDataSAFIR Parameters": "", "listmode data filename": "scan.clm.safir", "template projection data filename": "muppet.hs"}
        list_files.text(self.path("list.par"), parameters, ":= ")
        whole = self.listed(self.path("scan.clm.safir"), scanner=self.map)[0]
        np.testing.assert_array_equal(self.listed(self.path("list.par"))[0], whole)
        with isocenter.lists.open_list(self.path("list.par")) as listed:
            self.assertEqual((listed.scanner.model, round(listed.scanner.crystal_width, 6), round(listed.scanner.crystal_height, 6)), ("DualRing", 2.1, 2.2))
        list_files.text(self.path("list.par"), {**parameters, "crystal map filename": "crystals.txt", "template projection data filename": "none.hs"}, ":= ")
        np.testing.assert_array_equal(self.listed(self.path("list.par"))[0], whole)
        list_files.text(self.path("muppet.hs"), {**template, "Name of crystal map": None}, " := ")
        list_files.text(self.path("list.par"), parameters, ":= ")
        self.says("muppet.hs names no crystal map", self.path("list.par"))
        list_files.text(self.path("list.par"), {**parameters, "listmode data filename": None}, ":= ")
        self.says("no line 'listmode data filename:= ...'", self.path("list.par"))

    def test_wrong_files(self):
        path = list_files.safir(self.path("scan.clm.safir"), self.RECORDS)
        self.says("has no places of its crystals: pass scanner", path)
        self.cut("scan.clm.safir", -3)
        crystals, *_, reading = self.listed(path, scanner=self.map)
        self.assertEqual(len(crystals), 4)
        self.assertRegex(reading.doubts[0], "not whole: after 6 records of 8 bytes there are 5 bytes")
        self.cut("scan.clm.safir", 33)
        self.says("has no events", path, scanner=self.map)
        self.cut("scan.clm.safir", 0)
        self.says("scan.clm.safir is empty", path)
        list_files.safir(path, [record for record in self.RECORDS if record[0] != "time"])
        self.says("has no records of time: pass duration", path, scanner=self.map)
        self.assertEqual(self.listed(path, scanner=self.map, duration=60.0)[-1].blocks, [[(0.0, 60.0)]])
        list_files.safir(path, [(4, 0, 7, 8, 1, 0, 0), *self.RECORDS])
        crystals, *_, reading = self.listed(path, scanner=self.map)
        self.assertEqual(crystals[0].tolist(), [UNKNOWN, UNKNOWN])
        self.assertRegex(reading.doubts[0], "1 events are of crystals that .*crystals.txt does not have")
        for words, rows in (("has 63 crystals, of rings, detectors and layers up to 3, 7, 1, counted from 0: there must be 64", self.rows[1:]),
                            ("up to 4, 7, 1, counted from 0: there must be 80", [(row[0] + 1, *row[1:]) for row in self.rows]),
                            ("is no crystal map: lines must have", [row[:4] for row in self.rows]), ("not all 6 numbers", [*self.rows, (1, 2, 3)]),
                            ("no whole numbers from 0", [(0.5, *row[1:]) for row in self.rows]), ("the same ring, detector and layer twice", [*self.rows[:-1], self.rows[0]]),
                            ("crystals on the scanner's axis", [(*row[:3], 0, 0, row[5]) for row in self.rows])):
            self.write_map(rows)
            self.says(words, path, scanner=self.map)


@unittest.skipIf(uproot is None, "uproot is not installed")
class GATE(Files):
    def setUp(self):
        super().setUp()
        self.scanner = list_files.geom(self.folder)
        rng, self.many = self.rng, 3000
        rings, place = rng.integers(0, 16, (self.many, 2)), rng.integers(0, 192, self.many)
        ends = 192 * rings + np.stack([place, (place + 96 + rng.integers(-40, 41, self.many)) % 192], axis=1)
        self.first, self.second = (list_files.places(ends[:, k]) for k in (0, 1))
        self.times, self.seconds = rng.normal(0, 300, self.many), np.sort(rng.uniform(0, 60, self.many))
        self.decays = np.stack([np.arange(self.many), np.arange(self.many) + (rng.random(self.many) < 0.2)], axis=1)
        self.scattered = rng.integers(0, 3, (self.many, 2)) * (rng.random((self.many, 2)) < 0.3)

    def write(self, *, delays=None, **changed):
        branches = list_files.gate(self.first, self.second, self.times, self.seconds, eventID1=self.decays[:, 0], eventID2=self.decays[:, 1],
                                   comptonPhantom1=self.scattered[:, 0], comptonPhantom2=self.scattered[:, 1])
        branches = {key: of for key, of in {**branches, **changed}.items() if of is not None}
        trees = {"Coincidences": branches}
        if delays is not None:
            trees[delays] = {key: of[:500] for key, of in branches.items()}
        return list_files.root(self.path("scan.root"), trees)

    def events(self, **opening):
        with isocenter.lists.open_list(self.write(**opening.pop("write", {})), **opening) as listed:
            return [np.concatenate(of) for of in zip(*listed.positions())]

    def test_every_event_is_read(self):
        first, second, times, kinds, seconds = self.events()
        np.testing.assert_allclose(first, self.first, atol=1e-4)
        np.testing.assert_allclose(second, self.second, atol=1e-4)
        np.testing.assert_allclose(times, self.times, atol=0.01)  # ps, of doubles of up to 60 s
        np.testing.assert_allclose(seconds, self.seconds)
        self.assertFalse(kinds.any())
        one, none = self.decays[:, 0] == self.decays[:, 1], (self.scattered == 0).all(axis=1)
        for exclude, left in (("randoms", one), ("scatter", none), (("randoms", "scatter"), one & none)):
            np.testing.assert_allclose(self.events(exclude=exclude)[4], self.seconds[left])
        kinds = self.events(write=dict(delays="delay"))[3]
        self.assertEqual((kinds.sum(), len(kinds)), (500, 3500))
        kinds = self.events(write=dict(delays="others"), delays="others")[3]
        self.assertEqual(kinds.sum(), 500)

    def test_names_of_gate_10(self):
        old = {f"globalPos{axis}{k}": None for axis in "XYZ" for k in (1, 2)} | {"time1": None, "time2": None, "eventID1": None, "eventID2": None}
        for spelt in ("PostPosition_{}{}", "PostPosition{1}_{0}"):
            new = {spelt.format(axis, k): np.ascontiguousarray(of[:, n]) for n, axis in enumerate("XYZ") for k, of in ((1, self.first), (2, self.second))}
            new |= {"GlobalTime1": 1e9 * self.seconds, "GlobalTime2": 1e9 * self.seconds + 1e-3 * self.times, "EventID1": self.decays[:, 0], "EventID2": self.decays[:, 1]}
            first, second, times, _, seconds = self.events(write=old | new, exclude="randoms")
            left = self.decays[:, 0] == self.decays[:, 1]
            np.testing.assert_allclose(second, self.second[left], atol=1e-4)
            np.testing.assert_allclose(times, self.times[left], atol=0.05)
            np.testing.assert_allclose(seconds, self.seconds[left])

    def test_crystals_of_lines(self):
        path = self.write()
        crystals, times, *_, reading = self.listed(path, scanner=self.scanner)
        there = crystals[:, 0] < CRYSTALS
        found = list_files.places(crystals[there])
        # Lines through the middles of crystals, seen by these or by one beside them that is nearer along a slanted line.
        distance = np.linalg.norm(found - np.stack([self.first, self.second], axis=1)[there], axis=2)
        self.assertGreater(there.mean(), 0.5)
        self.assertLess(np.median(distance), 1e-3)
        self.assertEqual(reading.blocks, [[(self.seconds[0], self.seconds[-1])]])
        self.assertFalse(reading.doubts)
        # Photons go on into their crystals by some mm, for which their times are later.
        way = (self.second - self.first) / np.linalg.norm(self.second - self.first, axis=1, keepdims=True)
        deep = self.rng.uniform(-4, 8, (2, self.many, 1))
        first, second, later = self.first - deep[0] * way, self.second + deep[1] * way, (deep[1] - deep[0])[:, 0] / 0.299792458
        other = list_files.root(self.path("deep.root"), {"Coincidences": list_files.gate(first, second, self.times + later, self.seconds)})
        same, deeper, *_ = self.listed(other, scanner=self.scanner)
        self.assertGreater((same == crystals).mean(), 0.999)
        both = there & (same == crystals).all(axis=1)
        np.testing.assert_allclose(deeper[both], times[both], atol=0.1)
        turned = list_files.geom(self.folder, "TURNED", rsectors_angular_span=180)
        self.assertRegex(self.listed(path, scanner=turned)[-1].doubts[0], "coincidences meet no crystals of the scanner: it may be another one, turned, or shifted")
        *_, frames, reading = self.listed(path, scanner=self.scanner, duration=60.0, frames=[(0, 20), (20, 60)])
        self.assertEqual((frames == 0).sum(), (self.seconds < 20).sum())
        self.assertEqual(reading.blocks, [[(0, 20)], [(20, 60)]])

    def test_wrong_files(self):
        self.says("has no scanner: pass scanner, CASToR's .geom or .hscan of it, which castor-GATEMacToGeom makes", self.write())
        self.says("has no tree Singles: pass tree, one of Coincidences", self.write(), tree="Singles")
        self.says("has no tree late: pass delays, one of Coincidences", self.write(), delays="late")
        self.says("has no places and times of two photons, such as globalPosX1 and time1: it has ", self.write(globalPosY2=None))
        self.says("has no eventID1, by which randoms could be left out", self.write(eventID1=None), exclude="randoms")
        self.says("has no comptonPhantom1, by which scatter could be left out", self.write(comptonPhantom2=None), exclude="scatter")
        self.says("pass duration", list_files.root(self.path("scan.root"), {"Coincidences": list_files.gate(self.first[:1], self.second[:1], self.times[:1], self.seconds[:1])}),
                  scanner=self.scanner)
        for size in (60_000, 3000, 500, 60, 5):
            path = self.write()
            self.cut("scan.root", size)
            self.says("is a ROOT file that cannot be read: |pass tree", path, scanner=self.scanner)
        self.cut("scan.root", 0)
        self.says("scan.root is empty", path)
        path = self.write()
        with mock.patch.dict("sys.modules", {"uproot": None}):
            self.says("is a ROOT file, which needs the package uproot: pip install uproot", path, ImportError)
        with open(self.write(), "rb") as file, gzip.open(self.path("scan.root.gz"), "wb") as to:
            shutil.copyfileobj(file, to)
        self.assertEqual(len(self.listed(self.path("scan.root.gz"), scanner=self.scanner)[0]), self.many)


class Others(Files):
    def test_other_files_are_named(self):
        for name, data, words in (("scan.h5", b"\x89HDF\r\n\x1a\n" + bytes(100), "is an HDF5 file without PETSIRD's group, as lists of GE's scanners are"), ("scan.l.hdr", b"!INTERFILE:=\n%SMS-MI header name space:=PETLINK", "no line 'name of data file"),
                                  ("scan.hroot", b"ROOT header := \n", "no line 'name of data file"), ("scan.hs", b"!INTERFILE :=\n!imaging modality := PT\n", "there are no events in it"),
                                  ("scan.ptd", bytes(100), "does not end in LARGE_PET_LM_RAWDATA"), ("other.l", bytes(100), "there is no other.l.hdr beside it"),
                                  ("scan.bin", bytes(100), "PET.deposit_crystals takes arrays"), ("scan.txt", b"hello", "no list that can be read: there are PETSIRD, CASToR"), ("scan.json", b'{"yardl":', "JSON"),
                                  ("scan.gz", gzip.compress(b"hello"), "no list that can be read"), ("bad.gz", b"\x1f\x8b" + bytes(50), "compressed by gzip, and damaged")):
            with open(self.path(name), "wb") as file:
                file.write(data)
            self.says(words, self.path(name))
        self.says("is a folder", self.folder)
        self.says("No such file", self.path("none.Cdh"), FileNotFoundError)
        with self.assertRaises(SystemExit) as caught:
            main([self.path("scan.txt")])
        self.assertTrue(str(caught.exception).startswith(f"isocenter.lists: {self.path('scan.txt')} is no list"), caught.exception)

    def test_what_is_told_when_a_list_is_opened(self):
        list_files.geom(self.folder)
        path = list_files.castor(self.folder, np.zeros((5, 2), int), np.zeros(5), np.arange(5))
        with self.assertRaises(SystemExit) as caught, contextlib.redirect_stdout(io.StringIO()):
            main([path, "-o", self.path("image.npy"), "--isotope", "F-18", "--device", "cpu"])
        self.assertRegex(str(caught.exception), "there are prompts without delays, and without rates of single photons, of which randoms are made: give --no-randoms if there are none")
        with self.assertRaises(SystemExit) as caught:
            main([path, "--delays", "delay"])
        self.assertRegex(str(caught.exception), "^isocenter.lists: delays is not for lists of CASToR, and .*scan.Cdh is one: leave it out$")
        with isocenter.lists.open_list(path) as listed, self.assertRaisesRegex(TypeError, "scanner: is told when a list is opened"):
            isocenter.lists.quantify(listed, scanner="other.geom")


@unittest.skipIf(petsird_files.petsird is None, "petsird is not installed")
class PETSIRD(Files):
    def test_files_of_petsird(self):
        """Are lists as the others, and compressed too."""
        events = np.column_stack([np.sort(self.rng.integers(0, 120, (400, 2)), axis=1)[:, ::-1], self.rng.integers(0, 4, 400)])
        path = self.path("scan.petsird")
        petsird_files.write(path, petsird_files.scanner(np.array([-60.0, -20.0, 0.0, 30.0, 60.0], np.float32)), [(0, events, events[:50])], nuclide="^18^Fluorine")
        with open(path, "rb") as file, gzip.open(path + ".gz", "wb") as to:
            shutil.copyfileobj(file, to)
        for of in (path, path + ".gz"):
            crystals, times, kinds, *_ = self.listed(of)
            np.testing.assert_array_equal(crystals, np.concatenate([events[:, :2], events[:50, :2]]))
            np.testing.assert_array_equal(times[:400], 3 - events[:, 2])
            self.assertEqual(kinds.sum(), 50)
            with isocenter.lists.open_list(of, depth=3.0) as listed:
                self.assertRegex(listed.kind, r"PETSIRD \d")
                self.assertEqual((listed.said.isotope.name, len(listed.scanner.positions), listed.has_delays), ("F-18", 120, True))
        self.says("scanner is not for lists of PETSIRD", path, scanner="other.geom")


class Mutations(unittest.TestCase):
    def test_mutated_files_end_in_words(self):
        import list_mutations
        ends = list_mutations.run(400, 11)
        self.assertEqual(sum(ends.values()), 400)
        self.assertGreater(ends["refused"], 40)
        self.assertGreater(ends["doubted"] + ends["whole"], 40)


class Phantom(unittest.TestCase):
    """Of an asymmetric phantom: whatever is mirrored, turned or shifted is elsewhere."""
    GRID = ["--voxel", "5", "--size", "40", "--slices", "18", "--azimuths", "14", "--tilts", "1", "--max-tilt", "0.22", "--no-randoms", "--scatter", "0", "--device", "cpu"]

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.scan = list_files.Simulated(cls.folder.name, 400_000)
        cls.map = cls.path("map.nii")
        isocenter.images.write_nifti(cls.map, cls.scan.map, 5.0, unit="1/mm")

    @classmethod
    def path(cls, name):
        return os.path.join(cls.folder.name, name)

    def made(self, path, *options, name="image.nii"):
        out, said, doubts = self.path(name), io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(doubts):
            main([path, "--attenuation", self.map, "-o", out, *self.GRID, *options])
        self.assertRegex(said.getvalue(), r"isotope: F-18[\s\S]*written: ")
        return (out if name.endswith(".dcm") else isocenter.images.read_nifti(out).image), doubts.getvalue()

    def check(self, image):
        """There are 327,000 trues. Of the ellipsoid's 40,000 or so, counts deviate by 0.5 %, and means of parts of it by some 1.5 %, since the time of flight leaves neighbours to be told
        apart; the whole sum deviates by 0.2 %. Its middle is that of a width of 18 mm, known to 0.1 mm."""
        truth = self.scan.truth
        self.assertAlmostEqual(image.sum() / truth.sum(), 1, delta=0.02)
        z, y, x = (5.0 * (np.indices(truth.shape)[k] - (truth.shape[k] - 1) / 2) for k in (0, 1, 2))
        apart = (x - 28) ** 2 + (y + 16) ** 2 + (z - 10) ** 2
        for region, tolerance in ((apart < 13 ** 2, 0.05), ((apart > 26 ** 2) & (np.hypot(x, y) < 52) & (abs(z) < 24), 0.035)):
            self.assertAlmostEqual(image[region].mean() / truth[region].mean(), 1, delta=tolerance)
        np.testing.assert_allclose(self.scan.middle(image), self.scan.middle(truth), atol=0.5)


@unittest.skipIf(nibabel is None, "nibabel is not installed")
class Images(Phantom):
    @unittest.skipIf(pydicom is None, "pydicom is not installed")
    def test_dicom(self):
        path, doubts = self.made(list_files.castor(self.folder.name, *self.scan.detected()), name="image.dcm")
        self.assertIn("isocenter.lists: it is not known when the scan began: DICOM's times count from 1900-01-01, give --acquired", doubts)
        file = pydicom.dcmread(path)
        self.check(file.pixel_array * file.SharedFunctionalGroupsSequence[0].RealWorldValueMappingSequence[0].RealWorldValueSlope)
        self.assertEqual([file[f"{name}Corrected"].value for name in ("Decay", "Attenuation", "Scatter", "Randoms", "DeadTime", "PatientMotion")], ["YES", "YES", "NO", "NO", "NO", "NO"])

    def test_a_list_of_castor(self):
        image, doubts = self.made(list_files.castor(self.folder.name, *self.scan.detected()))
        self.check(image)
        self.assertIn("isocenter.lists: the file has no efficiencies of its crystals", doubts)

    def test_a_list_of_gate(self):
        if uproot is None:
            self.skipTest("uproot is not installed")
        path = list_files.root(self.path("scan.root"), {"Coincidences": list_files.gate(self.scan.first, self.scan.second, self.scan.times, self.scan.seconds)})
        image, _ = self.made(path, "--scanner", self.path("RING.geom"), "--tof-fwhm", "300", "--isotope", "F-18", "--duration", "600")
        self.check(image)

    def quick(self, path, attenuation=None, **words):
        """A small lattice: for what does not depend on the image."""
        words = {**dict(voxel=15.0, azimuths=8, tilts=1, max_tilt=0.22, scatter=0, algorithm="osem", iterations=1), **words}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return isocenter.lists.quantify(path, attenuation or self.map, **words)

    def test_frames(self):
        crystals, times, seconds = self.scan.detected()
        path = list_files.castor(self.folder.name, crystals, times, seconds, "frames")
        made = self.quick(path, randoms=False, frames=[(0, 150), (450, 600), (700, 800)])
        ms = np.round(1000 * seconds) / 1000
        self.assertEqual([of.prompts for of in made.found], [(ms < 150).sum(), ((ms >= 450) & (ms < 600)).sum(), 0])
        self.assertEqual([(of.start, of.duration) for of in made.found], [(0, 150), (450, 150), (700, 0)])
        # As many decays an hour of a half-life later are of more activity at the start.
        self.assertAlmostEqual(made.image[1].sum() / made.image[0].sum() * made.found[0].prompts / made.found[1].prompts, 2 ** (450 / 6584.04), delta=0.02)
        self.assertTrue(np.isnan(made.image[2]).all())

    def test_what_is_given_goes_before_the_file(self):
        crystals, times, seconds = (of[:20_000] for of in self.scan.detected())
        path = list_files.castor(self.folder.name, crystals, times, seconds, "given", **{"Calibration factor": 3})
        plain = self.quick(path, randoms=False)
        efficiencies = self.path("efficiencies.npy")
        np.save(efficiencies, np.full(CRYSTALS, 0.5, np.float32))
        for given in (efficiencies, np.full(CRYSTALS, 0.5)):
            self.assertAlmostEqual(self.quick(path, randoms=False, efficiencies=given).image.sum() / plain.image.sum(), 4, delta=1e-3)
        # What scatters is a box of 20 mm, in a small lattice.
        box = np.zeros_like(self.scan.map)
        box[7:11, 18:22, 18:22] = 0.0096
        box = isocenter.images.Volume(box, (5.0,) * 3, (0.0, 0.0, 0.0), "1/mm")
        for words, doubts in ((dict(), ["energy resolution, by which scatter is made: 0.11 of 511 keV", "energy window, by which scatter is made: 435 to 585 keV"]),
                              (dict(energy_resolution=0.12), ["energy window"]), (dict(energy_resolution=0.12, energy_window=(430, 650)), [])):
            made = self.quick(path, box, size=6, slices=3, randoms=False, scatter=1, **words)
            of_energy = [of for of in made.doubts if "scatter is made" in of]
            self.assertEqual(len(of_energy), len(doubts), of_energy)
            for of, expected in zip(of_energy, doubts):
                self.assertIn(expected, of)
            self.assertGreater(made.found[0].scatter, 0)
        self.assertEqual(made.settings["energy window"], "430 to 650 keV, resolution 0.12")
        for words, said in ((dict(efficiencies=np.ones(5)), r"shape \(5,\); they must be numbers, one for each of 3072 crystals"), (dict(efficiencies=np.full(CRYSTALS, 2.0)), "2 to 2; they must be 0 to 1"),
                            (dict(efficiencies=self.map), "are no NumPy file"), (dict(energy_window=(600, 400)), "600 to 400 keV; it must be two energies, ascending"),
                            (dict(energy_resolution=-1), "energy_resolution is -1"), (dict(window=0.0), "window is 0.0"), (dict(tree="x"), "tree is not for lists of CASToR"),
                            (dict(randoms=True), "there are prompts without delays"), (dict(frames=[(2, 1)]), "its end must be after its start")):
            with self.subTest(said), self.assertRaisesRegex(ValueError, said):
                self.quick(path, **{**dict(randoms=False), **words})

    def test_randoms_of_delays(self):
        """A fifth of the events are random within 900 ps; as many delays tell them. Of 30,000 delays rates are certain to a percent or two."""
        if uproot is None:
            self.skipTest("uproot is not installed")
        pet, bodies, shape = self.scan.pet, self.scan.bodies, dict(diameter=2 * list_files.RADIUS + 12, axial_length=88.0, random_window=900.0)
        prompts = pet.simulate(isocenter.Scan(bodies, **shape, tof_fwhm=300.0, randoms=0.2, seed=4), 150_000)
        delays = pet.simulate(isocenter.Scan(bodies[:2], **shape, randoms=0.999999, seed=5), 30_000)
        rng, path = np.random.default_rng(6), self.path("delays.root")
        list_files.root(path, {name: list_files.gate(*of[:3], np.sort(rng.uniform(0, 600, len(of[2])))) for name, of in (("Coincidences", prompts), ("delay", delays))})
        words = dict(scanner=self.path("RING.geom"), tof_fwhm=300.0, isotope="F-18", duration=600.0)
        with self.assertRaisesRegex(ValueError, "does not say the largest time difference of its coincidences, by which delays become randoms: pass window"):
            self.quick(path, **words)
        made = self.quick(path, window=900.0, **words)
        expected = self.quick(list_files.root(self.path("late.root"), {"Coincidences": list_files.gate(*delays[:3], np.linspace(0, 600, len(delays[2])))}), randoms=False, **words).found[0].counted
        self.assertAlmostEqual(made.found[0].randoms / expected, 1, delta=0.04)
        self.assertEqual(made.found[0].delays, 30_000)
        self.assertFalse(self.quick(path, exclude=[], randoms=False, **words).found[0].randoms)


if __name__ == "__main__":
    unittest.main()
