"""What PETSIRD files say of isotope, patient, gantry, axis and time is used or told; files that are not whole, of other versions or damaged end in words."""
import contextlib
import copy
import hashlib
import importlib.metadata
import io
import json
import math
import os
import struct
import tempfile
import unittest
import warnings
from unittest import mock

import numpy as np

import isocenter
import isocenter.images
import petsird_files
from isocenter import _isotopes
from petsird_files import petsird
from test_images import nibabel

EDGES = np.array([-60.0, -20.0, 0.0, 30.0, 60.0], np.float32)
CRYSTALS = 120  # of petsird_files.scanner
CODES = {"headfirst": ("102540008", "headfirst"), "feet-first": ("102541007", "feet-first"), "recumbent": ("102538003", "recumbent"), "supine": ("40199007", "supine"),
         "prone": ("1240000", "prone"), "sitting": ("33586001", "sitting")}


def events(many, seed=1):
    rng = np.random.default_rng(seed)
    return np.stack([*np.sort(rng.integers(0, CRYSTALS, (2, many)), axis=0)[::-1], rng.integers(0, 4, many)], axis=1)


class Isotopes(unittest.TestCase):
    def test_names_in_any_spelling(self):
        for name, spellings in {"F-18": "F-18 f18 18F F^18^ ^18^Fluorine Fluorine-18 [18F]FDG", "Ga-68": "Gallium-68 68ga ^68^Gallium",
                                "Tc-94m": "94mTc tc94m Tc-94m ^94m^Technetium 94mtc",
                                "Mn-52": "52Mn mn52 ^52^Manganese", "Mn-52m": "52mMn Mn-52m ^52m^Manganese", "Y-86": "^86^Yttrium", "O-15": "15O O-15"}.items():
            for spelling in spellings.split():
                self.assertEqual(_isotopes.find(spelling).name, name, spelling)
        for spelling in ("F 18", "Fluorodeoxyglucose F^18^", "Fluorine 18", "FDG F-18"):
            self.assertEqual(_isotopes.find(spelling).name, "F-18")
        self.assertEqual(_isotopes.find("Carbon dioxide O15").name, "O-15")  # C-15 is none
        for spelling in ("Tc-99m", "99mTc", "F-17", "", "18", "F", "C-11 and F-18"):
            self.assertIsNone(_isotopes.known(spelling), spelling)
        self.assertRaisesRegex(ValueError, "isotope is 'Tc-99m'; it must be one of C-11, .*half_life and branching", _isotopes.find, "Tc-99m")

    def test_all_of_dicom_s_context_group_4020(self):
        """As of its version of 2025: SNOMED's codes, and DICOM's own."""
        codes = ("71633006 87437000 425364008 424875009 79477007 79523006 75696008 53315004 63360001 129504001 79197006 40565003 422934004 35337001 17910003 77004003 "
                 "65054007 3932008 86521004 424079002 14691008 40937006 423764008 10738001 71425003 69089000 37225000 2705002 21576001 126600 126601 126602 126603 126605 126606 126607").split()
        found = [_isotopes.of_code(code) for code in codes]
        self.assertNotIn(None, found)
        self.assertEqual(len(set(found)), 36)
        for isotope in _isotopes.ISOTOPES.values():
            self.assertTrue(isotope.half_life > 60 and 0 < isotope.branching < 1, isotope)
        self.assertLess(set(_isotopes.REMARKS), set(_isotopes.ISOTOPES))
        # Tables of nuclear data, hours or days, and percent.
        for name, seconds, part in (("F-18", 1.829 * 3600, 0.967), ("Ga-68", 67.7 * 60, 0.889), ("Na-22", 2.602 * 365.25 * 86400, 0.90), ("Y-86", 14.74 * 3600, 0.319),
                                    ("Zr-89", 78.4 * 3600, 0.227), ("Cu-64", 12.70 * 3600, 0.175), ("I-124", 4.18 * 86400, 0.227), ("Rb-82", 75.5, 0.954)):
            self.assertAlmostEqual(_isotopes.ISOTOPES[name].half_life / seconds, 1, delta=0.005)
            self.assertAlmostEqual(_isotopes.ISOTOPES[name].branching / part, 1, delta=0.01)


@unittest.skipIf(petsird is None, "petsird is not installed")
class Files(unittest.TestCase):
    """Without images."""

    @classmethod
    def setUpClass(cls):
        import isocenter.petsird
        from isocenter.petsird import _bytes, _events, _exam, _file
        cls.module, cls.events, cls.exam, cls.file, cls.bytes = isocenter.petsird, _events, _exam, _file, _bytes
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.path = os.path.join(cls.folder.name, "scan.petsird")

    def listed(self, frames=None, path=None):
        read = self.events.Events(path or self.path, frames)
        parts = list(read)
        crystals = np.concatenate([np.zeros((0, 2), np.uint32), *(part.crystals for part in parts)])
        times = np.concatenate([np.zeros(0, np.uint32), *(part.times for part in parts)])
        return np.column_stack([crystals, times]), read

    def cut(self, size):
        with open(self.path, "rb") as file:
            data = file.read()
        with open(self.path, "wb") as file:
            file.write(data[:size] if size >= 0 else data[:len(data) + size])
        return data

    def says(self, words, path=None):
        with self.subTest(words), self.assertRaisesRegex(ValueError, words) as caught:
            self.module.read_scanner(path or self.path)
            self.listed(path=path)
        self.assertIs(type(caught.exception), ValueError)

    def test_every_event_is_read(self):
        """Of numbers of one byte and of several, in lists longer than what is read at a time."""
        for many in (1, 700, 300_001):
            rows = events(many)
            petsird_files.write(self.path, petsird_files.scanner(EDGES), [(0, rows, rows[:0])])
            np.testing.assert_array_equal(self.listed()[0], np.column_stack([rows[:, :2], 3 - rows[:, 2]]))

    def test_numbers_of_all_sizes(self):
        values = [0, 1, 127, 128, 16383, 16384, 2 ** 21 - 1, 2 ** 21, 2 ** 28 - 1, 2 ** 28, 2 ** 32 - 1] * 30
        coded = b"".join(varint(value) for value in values)
        with open(self.path, "wb") as file:
            file.write(coded * 1000)
        with mock.patch.object(self.bytes, "_AT_ONCE", 1001), open(self.path, "rb") as file:
            stream = self.bytes.Stream(file)
            np.testing.assert_array_equal(stream.wholes(len(values) * 1000, 32), np.tile(values, 1000))
            self.assertEqual(stream.left, 0)
        with open(self.path, "wb") as file:
            file.write(varint(2 ** 32))
        with open(self.path, "rb") as file, self.assertRaisesRegex(self.bytes.Damaged, "more than 32 bits"):
            self.bytes.Stream(file).wholes(1, 32)

    def test_what_is_whole_is_read(self):
        blocks = [(k * 100, events(300, k), events(100, k + 9)) for k in range(3)]
        petsird_files.write(self.path, petsird_files.scanner(EDGES), blocks)
        whole, read = self.listed()
        self.assertEqual(read.doubts, [])
        size = os.path.getsize(self.path)
        self.cut(-1)  # the writer was not closed
        found, read = self.listed()
        np.testing.assert_array_equal(found, whole)
        self.assertRegex(read.doubts[0], rf"scan.petsird is not whole \(its end at byte {size - 1}\): 3 blocks of events to 0.3 s are in the image, and what came after is not")
        self.cut(-60)
        found, read = self.listed()
        np.testing.assert_array_equal(found, whole[:800])
        self.assertEqual((read.seconds, read.measured.tolist()), ([0.0, 0.2], [0.2]))
        self.assertIn("2 blocks of events to 0.2 s", read.doubts[0])

    def test_what_is_not_whole_is_told_in_one_sentence(self):
        petsird_files.write(self.path, petsird_files.scanner(EDGES), [(0, events(300), events(10))])
        schema = len(petsird.protocols.PETSIRDReaderBase.schema)
        data = self.cut(-400)
        self.says("scan.petsird is not whole, and no block of events of it is: its end within 300 rows of 3 numbers that begin at byte")
        for size, words in ((0, "is no PETSIRD file that can be read: it is empty"), (3, "it does not begin with yardl"), (5000, "its end at byte 5000, where"),
                            (schema + 300, "is a PETSIRD file whose header is not whole: its end")):
            with open(self.path, "wb") as file:
                file.write(data[:size])
            self.says(words)
        for begin, words in ((b"\x1f\x8b\x08\x00" + bytes(100), "compressed by gzip: decompress"), (b'{"yardl":{}}' + bytes(100), "JSON: convert"),
                             (b"yardl\2\0\0\0" + bytes(100), "version 2 of yardl")):
            with open(self.path, "wb") as file:
                file.write(begin)
            self.says(words)
        with self.assertRaisesRegex(IsADirectoryError, "is no PETSIRD file"):
            self.module.read_scanner(self.folder.name)
        from isocenter.petsird.__main__ import main
        with self.assertRaises(SystemExit) as caught, contextlib.redirect_stdout(io.StringIO()):
            main([self.path])
        self.assertTrue(str(caught.exception).startswith(f"isocenter.petsird: {self.path} is no PETSIRD file"), caught.exception)

    def test_older_versions(self):
        """Of the fields of 0.7: delayed events may be missing, efficiencies too, and policies are fewer."""
        rows = events(500)
        write_old(self.path, rows)
        scanner = self.module.read_scanner(self.path)
        petsird_files.write(os.path.join(self.folder.name, "new.petsird"), petsird_files.scanner(EDGES), [(0, rows, [])])
        new = self.module.read_scanner(os.path.join(self.folder.name, "new.petsird"))
        np.testing.assert_allclose(scanner.positions, new.positions, atol=1e-5)
        np.testing.assert_allclose(scanner.time_edges, new.time_edges)
        found, read = self.listed()
        np.testing.assert_array_equal(found, np.column_stack([rows[:, :2], 3 - rows[:, 2]]))
        self.assertEqual((read.has_prompts, read.has_delays, read.said.nuclide, scanner.efficiencies), (True, False, "", None))
        with mock.patch.dict(self.file._VERSIONS, {hashlib.sha256(OLD.encode()).hexdigest()[:12]: "0.5"}):
            self.says("scan.petsird is of PETSIRD 0.5; versions from 0.6 to 0.12 can be read")
        # A version to come, which has another name for what is needed.
        write_old(self.path, rows, OLD.replace("tofBinEdges", "timeEdges"))
        self.says("is of a version of PETSIRD that is not known, newer than 0.12, and cannot be read: .*tof_bin_edges")
        with self.file.open_file(os.path.join(self.folder.name, "new.petsird")) as reader:
            self.assertTrue(importlib.metadata.version("petsird").startswith(reader.version), "versions of schemas in _file are behind the package petsird")

    def test_two_types_of_modules(self):
        """The package's helper makes squares of what is a lower triangle."""
        rows, described = events(2000), petsird_files.scanner(EDGES)
        petsird_files.write(self.path, described, [(0, rows, rows[:0])])
        whole, _ = self.listed()
        modules, = described.scanner_geometry.replicated_modules
        parts = modules.transforms[:4], modules.transforms[4:]
        described.scanner_geometry.replicated_modules = [petsird.ReplicatedDetectorModule(object=modules.object, transforms=part) for part in parts]
        bins, empty = petsird.BinEdges(edges=EDGES), petsird.BinEdges()
        described.tof_bin_edges, described.tof_resolution = [[bins, empty], [bins, bins]], [[40.0, 0.0], [40.0, 40.0]]
        described.event_energy_bin_edges, described.energy_resolution_at_511 = described.event_energy_bin_edges * 2, [0.11, 0.11]
        first = 4 * 12  # crystals of the first type
        lists = [[[]], [[], []]]
        for p, q, t in rows.tolist():
            kinds = int(p >= first), int(q >= first)
            lists[kinds[0]][kinds[1]].append(petsird.CoincidenceEvent(detection_bins=[p - first * kinds[0], q - first * kinds[1]], tof_idx=t))
        with petsird.BinaryPETSIRDWriter(self.path) as writer:
            writer.write_header(petsird.Header(scanner=described))
            writer.write_time_blocks([petsird.TimeBlock.EventTimeBlock(petsird.EventTimeBlock(time_interval=petsird.TimeInterval(start=0, stop=100), prompt_events=lists))])
        found, read = self.listed()
        self.assertEqual(read.scanner.first, (0, first))
        ordered = lambda a: a[np.lexsort(a.T)]
        np.testing.assert_array_equal(ordered(found), ordered(whole))
        described.tof_bin_edges[1] = [petsird.BinEdges(edges=EDGES * 2), bins]
        petsird_files.write(self.path, described, [])
        self.assertTrue(self.module.read_scanner(self.path).has_widths)
        described.tof_bin_edges[1] = [bins]
        petsird_files.write(self.path, described, [])
        self.says("types 1 and 1 have no time bins")

    def test_bins_that_there_are_not(self):
        """Numbers beyond the scanner's do not become those of others, and those from 1 are told."""
        rows = events(400)
        petsird_files.write(self.path, petsird_files.scanner(EDGES), [(0, rows + (1, 1, 0), rows[:0])])
        found, read = self.listed()
        last = int((rows[:, :2] == CRYSTALS - 1).sum())
        self.assertEqual(int((found == 2 ** 32 - 1).sum()), last)
        self.assertRegex(read.doubts[0], f"seem to be counted from 1, and PETSIRD counts from 0: {last} events have number 120, which there is not, and none has 0")
        odd = np.array([[CRYSTALS, 3, 0], [0, 2 ** 32 - 1, 1], [5, 1, 4], [5, 1, 2 ** 32 - 1]])
        petsird_files.write(self.path, petsird_files.scanner(EDGES), [(0, odd, rows[:0])])
        found, read = self.listed()
        u = 2 ** 32 - 1
        np.testing.assert_array_equal(found, [[u, 3, 3], [0, u, 2], [5, 1, u], [5, 1, u]])
        self.assertEqual(read.doubts, [])

    def test_times_of_blocks(self):
        none = events(0)
        petsird_files.write(self.path, petsird_files.scanner(EDGES), [(0, events(5), none), (50, events(5), none)])
        self.assertIn("1 blocks of events begin before the one before them ends", self.listed()[1].doubts[0])
        petsird_files.write(self.path, petsird_files.scanner(EDGES), [(200, events(5), none)], length=-100)
        with self.assertRaisesRegex(ValueError, "a block of events from 0.2 to 0.1 s, which ends before it begins"):
            self.listed()

    def test_mutated_files_end_in_words(self):
        import petsird_mutations
        ends = petsird_mutations.run(2000, seed=0)
        self.assertTrue(all(ends.values()), ends)


@unittest.skipIf(petsird is None or nibabel is None, "petsird or nibabel is not installed")
class Facts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        import isocenter.petsird
        cls.module = isocenter.petsird
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.path = os.path.join(cls.folder.name, "scan.petsird")
        cls.scan = petsird_files.Simulated(cls.path, 40_000)
        cls.map = isocenter.images.Volume(cls.scan.map, (5.0,) * 3, (0.0, 0.0, 0.0), "1/mm")
        cls.scan.write(cls.path, nuclide="^18^Fluorine")
        cls.plain, _ = cls.quick()

    @classmethod
    def quick(cls, attenuation=None, **words):
        """A small lattice without scatter and randoms, and what was told."""
        context = isocenter.Context(threads=2, log=lambda *_: None)
        words = {**dict(voxel=15.0, azimuths=8, tilts=1, scatter=0, randoms=False, algorithm="osem", iterations=1, context=context), **words}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = cls.module.quantify(cls.path, cls.map if attenuation is None else attenuation, **words)
        return made, "; ".join(made.doubts)

    def write(self, described=None, blocks=None, length=60_000, **said):
        said = petsird_files.exam(**{**dict(nuclides=["^18^Fluorine"]), **said})
        if blocks is None:
            blocks = [(k * length, rows, rows[:0]) for k, rows in enumerate(np.array_split(self.scan.prompts, 10))]
        petsird_files.write(self.path, described or self.scan.described, blocks, length=length, said=said)

    def test_the_file_s_isotope(self):
        self.write(nuclides=["^86^Yttrium"])
        made, told = self.quick()
        self.assertEqual(made.isotope.name, "Y-86")
        self.assertIn("Y-86 sends other photons", told)
        # Decays of the same counts: by positrons of each, and by what is left on average in 600 s.
        left = [(1 - math.exp(-k)) / k for k in (math.log(2) * 600 / isotope.half_life for isotope in (made.isotope, self.plain.isotope))]
        self.assertAlmostEqual(made.image.sum() / self.plain.image.sum() * made.isotope.branching / self.plain.isotope.branching * left[0] / left[1], 1, 4)
        for nuclide in ("Gallium-68", ("35337001", ""), ("35337001", "something")):
            self.write(nuclides=[nuclide])
            self.assertEqual(self.quick()[0].isotope.name, "Ga-68", nuclide)
        made, told = self.quick(isotope="18F")
        self.assertEqual((made.isotope.name, "isotope is 18F, and the file's is something" in told), ("F-18", True))
        for nuclides, words in ((["^99m^Technetium"], r"scan.petsird names its isotope \^99m\^Technetium, which is not one that is known: pass isotope, one of C-11, .*, "
                                                      "or half_life and branching"),
                                (["F-18", "Ga-68"], "names its isotope F-18 and Ga-68")):
            self.write(nuclides=nuclides)
            self.assertRaisesRegex(ValueError, words, self.quick)
            self.assertRaisesRegex(ValueError, words, self.quick, half_life=100.0)
        made, told = self.quick(half_life=100.0, branching=0.5)
        self.assertEqual(made.isotope, ("F-18 and Ga-68", 100.0, 0.5))
        self.write(nuclides=["F-18", "Fluorine-18"])
        self.assertEqual(self.quick(), (mock.ANY, ""))
        self.write(nuclides=[])
        made, told = self.quick()
        self.assertEqual((made.isotope.name, told), ("F-18", "the file does not name its isotope, which is taken to be F-18: pass isotope"))
        self.assertEqual(self.quick(half_life=100.0, branching=0.5), (mock.ANY, ""))

    def test_the_file_s_position(self):
        image = os.path.join(self.folder.name, "image.nii")
        for said, position, axes in ((("feet-first", "recumbent", "prone"), "FFP", "LAI"), (("headfirst", "recumbent", "supine"), "HFS", "LPS")):
            self.write(position=[CODES[word] for word in said])
            made, told = self.quick()
            made.write(image)
            self.assertEqual((made.position, "".join(nibabel.aff2axcodes(nibabel.load(image).affine)), told), (position, axes, ""))
        self.write(position=[CODES[word] for word in ("feet-first", "recumbent", "prone")])
        # A map that is stored for a patient who lies so is read so.
        map = os.path.join(self.folder.name, "map.nii")
        shifted = np.roll(self.map.image, 4, axis=1)
        isocenter.images.write_nifti(map, shifted, 5.0, unit="1/mm", position="FFP")
        expected, _ = self.quick(self.map._replace(image=shifted))
        np.testing.assert_allclose(self.quick(map)[0].image, expected.image, rtol=1e-4)
        made, told = self.quick(position="HFS")
        self.assertEqual((made.position, told), ("HFS", "position is HFS, and the file says that the patient lies feet-first, recumbent, prone, which is FFP"))
        for said in (("headfirst", "recumbent", "sitting"), (("", ""), "recumbent", "prone")):
            self.write(position=[CODES[word] if isinstance(word, str) else word for word in said])
            made, told = self.quick()
            self.assertEqual(made.position, "HFS")
            self.assertRegex(told, f"the file says that the patient lies .*{said[-1]}, which is none of HFS, .*: HFS is taken, pass position")

    def aligned(self, matrix):
        described = copy.deepcopy(self.scan.described)
        described.gantry_alignment = petsird.RigidTransformation(matrix=np.array(matrix, np.float32))
        self.write(described)

    def test_gantry_alignment(self):
        """The map is in the CT's frame, 30 mm higher along y, and the image is told there."""
        self.aligned([[1, 0, 0, 0], [0, 1, 0, 30], [0, 0, 1, 0]])
        made, told = self.quick(self.map._replace(centre=(0.0, 30.0, 0.0)))
        np.testing.assert_allclose(made.image, self.plain.image, rtol=1e-6)
        np.testing.assert_allclose(made.centre, (0, 30, 0))
        self.assertIn("0, 30, 0 mm", made.settings["gantry alignment"])
        made, _ = self.quick(alignment=False)
        np.testing.assert_allclose(made.image, self.plain.image, rtol=1e-6)
        self.assertEqual(made.centre, (0, 0, 0))
        made, _ = self.quick(map_centre=(0.0, 0.0, 0.0))
        np.testing.assert_allclose(made.image, self.plain.image, rtol=1e-6)
        cos, sin = math.cos(0.02), math.sin(0.02)
        self.aligned([[cos, -sin, 0, 0], [sin, cos, 0, 0], [0, 0, 1, 0]])
        self.assertRaisesRegex(ValueError, r"gantry alignment turns by 1.1 degrees.*alignment=False \(--no-alignment\)", self.quick)
        self.assertEqual(self.quick(alignment=False)[0].centre, (0, 0, 0))

    def test_calibration_factor(self):
        described = copy.deepcopy(self.scan.described)
        for factor, doubted in ((0.0, False), (1.0, False), (42.0, True)):
            described.detection_efficiencies.calibration_factor = factor
            self.write(described)
            made, told = self.quick()
            self.assertEqual("calibration factor, 42, is not used" in told, doubted, factor)
            np.testing.assert_allclose(made.image, self.plain.image, rtol=1e-6)

    def test_energies_in_other_units(self):
        described = copy.deepcopy(self.scan.described)
        described.event_energy_bin_edges, described.energy_resolution_at_511 = [petsird.BinEdges(edges=np.array([0.435, 0.585], np.float32))], [11.0]
        self.write(described)
        told = self.quick()[1]
        self.assertIn("energy window, 0.435 to 0.585 keV, does not have 511 keV", told)
        self.assertIn("energy resolution, 11 of 511 keV, is more than all of it", told)

    def turned(self, rotation):
        described = copy.deepcopy(self.scan.described)
        for modules in described.scanner_geometry.replicated_modules:
            for transform in modules.transforms:
                transform.matrix = np.asarray(rotation @ transform.matrix, np.float32)
        self.write(described)

    def test_axes_other_than_z(self):
        """The same crystals with their axis along x and y: the same image, along the file's axes, of a map along these."""
        for axis, order in (("x", [2, 0, 1]), ("y", [1, 2, 0])):
            # The file's x, y and z are the scanner's of this order.
            self.turned(np.eye(3)[order])
            turned = lambda image: image.transpose(*(2 - order[2 - k] for k in range(3)))
            made, told = self.quick(self.map._replace(image=turned(self.map.image)))
            np.testing.assert_allclose(made.image, turned(self.plain.image), rtol=1e-3, atol=1e-3 * self.plain.image.max())
            self.assertIn(f"the scanner's axis is {axis} of the file", told)
            self.assertEqual(self.module.read_scanner(self.path).turn[2].tolist(), [axis == "x", axis == "y", 0])
        # With its head the other way: z of the file is -y of before. The hot cylinder is at x = 35, y = -10 mm of the scanner.
        self.turned(np.array([[1, 0, 0], [0, 0, 1], [0, -1, 0]]))
        image = self.quick(self.map._replace(image=np.full((44, 9, 44), 0.0096, np.float32)))[0].image
        places = [(np.arange(n) - (n - 1) / 2) * 15.0 for n in image.shape[::-1]]
        weights = np.where(image > 0.7 * image.max(), image, 0)
        middle = [float((weights.sum(axis=tuple({0, 1, 2} - {2 - k})) * places[k]).sum() / weights.sum()) for k in range(3)]
        np.testing.assert_allclose(middle, (35, 0, 10), atol=12)
        cos, sin = math.cos(0.1), math.sin(0.1)
        self.turned(np.array([[1, 0, 0], [0, cos, -sin], [0, sin, cos]]))
        self.assertRaisesRegex(ValueError, r"the scanner's axis is along \(.*0.0998.*\); it must be along x, y or z of the file", self.quick)

    def test_frames_within_blocks(self):
        self.write()
        made, told = self.quick(frames=[(0, 60), (60, 120)])
        self.assertEqual(told, "")
        made, told = self.quick(frames=[(0, 90), (90, 240)])
        self.assertIn("frame 0, 0 to 90 s, has the events from 0 to 120 s: its edges are within blocks of events", told)
        self.assertIn("frame 1, 90 to 240 s, has the events from 120 to 240 s", told)
        self.assertEqual([(f.start, f.duration) for f in made.found], [(0, 120), (120, 120)])

    def test_empty_frames(self):
        """A frame before the injection, one in which nothing was measured, and one without delays: images of all."""
        prompts, delays = self.scan.prompts[:6000], self.scan.delays[:600]
        none = prompts[:0]
        self.write(blocks=[(0, none, none), (60_000, prompts, delays), (120_000, prompts, none)])
        made, told = self.quick(frames=[(0, 60), (60, 120), (120, 180), (600, 700)], randoms=True)
        self.assertEqual(made.image.shape[0], 4)
        self.assertFalse(made.image[0].any())
        self.assertGreater(made.image[1].max(), 0)
        self.assertGreater(made.image[2].sum(), made.image[1].sum())
        self.assertTrue(np.isnan(made.image[3]).all())
        for words in ("there are no prompts in frame 0: its image is 0", "prompts without delays in the field of view in frame 2: there are taken to be no randoms",
                      "no block of events begins in frame 3: its image is NaN"):
            self.assertIn(words, told)
        self.assertEqual([(f.start, f.duration, f.prompts) for f in made.found],
                         [(0, 60, 0), (60, 60, 6000), (120, 60, 6000), (600, 0, 0)])
        page = os.path.join(self.folder.name, "frames.html")
        made.write_report(page)
        for name in ("frames.nii", "frames.hv"):
            made.write(os.path.join(self.folder.name, name))
        with open(page, encoding="utf-8") as file:
            self.assertIn("its image is 0", file.read())

    def test_time_between_blocks(self):
        """Blocks of 60 s at 0 and 6000 s: what decays in them of an activity that wanes between them."""
        half = self.scan.prompts[:6000], self.scan.prompts[:0]
        self.write(blocks=[(0, *half), (6_000_000, *half)])
        apart, _ = self.quick()
        self.write(blocks=[(0, *half), (60_000, *half)])
        near, _ = self.quick()
        rate = math.log(2) / 6584.04
        decays = lambda *starts: sum(math.exp(-rate * start) * (1 - math.exp(-rate * 60)) for start in starts)
        self.assertAlmostEqual(apart.image.sum() / near.image.sum() / (decays(0, 60) / decays(0, 6000)), 1, 4)
        self.assertEqual(apart.found[0].duration, 120)
        self.write(blocks=[(0, *half)], length=0)
        self.assertRaisesRegex(ValueError, "blocks of events last 0 s", self.quick)

    def test_units_of_maps(self):
        self.write()
        foam = np.where(self.map.image > 0.005, 0.025, 0).astype(np.float32)  # of 0.025 /cm
        self.assertRegex(self.quick(self.map._replace(image=foam))[1], "taken to be in 1/mm, but its values, 0 to 0.025, are above 0.02 /mm, more than bone has, in 100 % of the "
                                                                       "voxels that attenuate: they look like 1/cm")
        self.assertEqual(self.quick(self.map._replace(image=foam, unit="1/cm"))[1], "")
        # A tenth of a body in another unit, of which the median does not tell.
        part = self.map.image.copy()
        part[:, :18] *= 10
        self.assertRegex(self.quick(self.map._replace(image=part))[1], "more than bone has, in [0-9.]+ % of the voxels")
        self.assertRegex(self.quick(self.map._replace(unit="1/cm"))[1], "less than the lung has, in 100 % of the voxels that attenuate: they look like 1/mm")
        self.assertRegex(self.quick(self.map._replace(image=0 * part))[1], "which is air")
        # Of Hounsfield units one voxel is enough.
        for value in (-200.0, 60.0):
            one = self.map.image.copy()
            one[4, 22, 22] = value
            self.assertRaisesRegex(ValueError, "are Hounsfield units: pass unit='HU'", self.quick, self.map._replace(image=one))

    def test_maps_below_0_by_rounding(self):
        self.write()
        below = np.where(self.map.image > 0, self.map.image, np.float32(-1e-9))
        made, told = self.quick(self.map._replace(image=below))
        self.assertRegex(told, f"the map of attenuation has {(below < 0).sum()} values below 0, -1e-09 at least, which are taken for 0")
        np.testing.assert_allclose(made.image, self.plain.image, rtol=1e-6)
        self.assertRaisesRegex(ValueError, "it must be at least 0", self.quick, self.map._replace(image=np.where(below < 0, np.float32(-1e-5), below)))


# Files of an older version, by hand: its schema, and values by it.
OLD = json.dumps({"protocol": {"name": "PETSIRD", "sequence": [{"name": "header", "type": "PETSIRD.Header"}, {"name": "timeBlocks", "type": {"stream": {"items": "PETSIRD.TimeBlock"}}}]}, "types": [
    {"name": "BinEdges", "fields": [{"name": "edges", "type": {"array": {"items": "float32", "dimensions": 1}}}]},
    {"name": "Coordinate", "fields": [{"name": "c", "type": {"array": {"items": "float32", "dimensions": [{"length": 3}]}}}]},
    {"name": "Place", "fields": [{"name": "matrix", "type": {"array": {"items": "float32", "dimensions": [{"length": 3}, {"length": 4}]}}}]},
    {"name": "Box", "fields": [{"name": "corners", "type": {"vector": {"items": "PETSIRD.Coordinate", "length": 8}}}]},
    {"name": "Solid", "typeParameters": ["Shape"], "fields": [{"name": "shape", "type": "Shape"}, {"name": "materialId", "type": "uint32"}]},
    {"name": "Replicated", "typeParameters": ["T"], "fields": [{"name": "object", "type": "T"}, {"name": "transforms", "type": {"vector": {"items": "PETSIRD.Place"}}}]},
    {"name": "BoxSolid", "type": {"name": "PETSIRD.Solid", "typeArguments": ["PETSIRD.Box"]}},
    {"name": "Module", "fields": [{"name": "detectingElements", "type": {"name": "PETSIRD.Replicated", "typeArguments": ["PETSIRD.BoxSolid"]}}]},
    {"name": "Geometry", "fields": [{"name": "replicatedModules", "type": {"vector": {"items": {"name": "PETSIRD.Replicated", "typeArguments": ["PETSIRD.Module"]}}}}]},
    {"name": "Policy", "values": [{"symbol": "rejectMultiples", "value": 0}, {"symbol": "other", "value": 1}]},
    {"name": "Efficiencies", "fields": [{"name": "detectionBinEfficiencies", "type": [None, {"vector": {"items": {"vector": {"items": "float32"}}}}]},
                                        {"name": "modulePairEfficienciesVectors", "type": [None, {"vector": {"items": "string"}}]},
                                        {"name": "modulePairSGIDLUT", "type": [None, {"vector": {"items": "string"}}]}]},
    {"name": "Scanner", "fields": [{"name": "modelName", "type": "string"}, {"name": "scannerGeometry", "type": "PETSIRD.Geometry"},
                                   {"name": "tofBinEdges", "type": {"vector": {"items": {"vector": {"items": "PETSIRD.BinEdges"}}}}},
                                   {"name": "tofResolution", "type": {"vector": {"items": {"vector": {"items": "float32"}}}}},
                                   {"name": "eventEnergyBinEdges", "type": {"vector": {"items": "PETSIRD.BinEdges"}}}, {"name": "energyResolutionAt511", "type": {"vector": {"items": "float32"}}},
                                   {"name": "coincidencePolicy", "type": "PETSIRD.Policy"}, {"name": "delayedCoincidencesAreStored", "type": "bool"},
                                   {"name": "detectionEfficiencies", "type": "PETSIRD.Efficiencies"}]},
    {"name": "Header", "fields": [{"name": "scanner", "type": "PETSIRD.Scanner"}, {"name": "exam", "type": [None, "string"]}]},
    {"name": "Bin", "type": "uint32"},
    {"name": "Event", "fields": [{"name": "detectionBins", "type": {"vector": {"items": "PETSIRD.Bin", "length": 2}}}, {"name": "tofIdx", "type": "uint32"}]},
    {"name": "Interval", "fields": [{"name": "start", "type": "uint32"}, {"name": "stop", "type": "uint32"}]},
    {"name": "Lists", "type": {"vector": {"items": {"vector": {"items": {"vector": {"items": "PETSIRD.Event"}}}}}}},
    {"name": "EventTimeBlock", "fields": [{"name": "timeInterval", "type": "PETSIRD.Interval"}, {"name": "promptEvents", "type": "PETSIRD.Lists"},
                                          {"name": "delayedEvents", "type": [None, "PETSIRD.Lists"]}]},
    {"name": "TimeBlock", "type": [{"tag": "EventTimeBlock", "type": "PETSIRD.EventTimeBlock"}]}]})


def varint(value):
    made = b""
    while value >= 128:
        made, value = made + bytes([value & 127 | 128]), value >> 7
    return made + bytes([value])


def write_old(path, rows, schema=OLD):
    """One block of prompts of the scanner of `petsird_files.scanner`."""
    described = petsird_files.scanner(EDGES)
    modules, = described.scanner_geometry.replicated_modules
    elements = modules.object.detecting_elements
    text = lambda words: varint(len(words.encode())) + words.encode()
    floats = lambda values: np.asarray(values, "<f4").tobytes()
    several = lambda parts: varint(len(parts)) + b"".join(parts)
    edges = lambda values: varint(len(values)) + floats(values)
    places = lambda transforms: several([floats(transform.matrix) for transform in transforms])
    box = floats([corner.c for corner in elements.object.shape.corners]) + varint(1)
    geometry = several([box + places(elements.transforms) + places(modules.transforms)])
    scanner = [text("an old one"), geometry, several([several([edges(EDGES)])]), several([several([floats(40.0)])]), several([edges([435, 585])]), several([floats(0.11)]),
               varint(0), b"\0", b"\0\0\0"]
    listed = several([several([several([b"".join(map(varint, row)) for row in rows.tolist()])])])
    block = b"\0" + varint(0) + varint(100) + listed + b"\0"
    with open(path, "wb") as file:
        file.write(b"yardl" + struct.pack("<i", 1) + text(schema) + b"".join(scanner) + b"\0" + varint(1) + block + b"\0")


if __name__ == "__main__":
    unittest.main()
