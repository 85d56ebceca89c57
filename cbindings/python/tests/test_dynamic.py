"""Frames, gates and motion of lists, series in files, and images in other positions."""
import contextlib
import io
import json
import os
import tempfile
import unittest
import warnings

import numpy as np

import isocenter.images
import isocenter.lists
import list_files
import petsird_files
from isocenter import _resample
from isocenter.lists import _cut, _frames, _gates, _motion
from isocenter.lists.__main__ import main
from test_images import Folder, nibabel


def z_turn(degrees):
    cos, sin = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    return np.array([[cos, -sin, 0], [sin, cos, 0], [0, 0, 1]])


class Frames(Folder):
    def test_texts(self):
        for text, expected in (("2x10,1x20", [(0, 10), (10, 20), (20, 40)]), (" 2 X 0.5 , 3s", [(0, 0.5), (0.5, 1), (1, 4)]), ("60", [(0, 60)]), ("1*2.5,.5", [(0, 2.5), (2.5, 3)])):
            np.testing.assert_array_equal(_frames.read(text), expected)
        np.testing.assert_array_equal(_frames.read("12x10,6x20,5x60")[[0, -1]], [(0, 10), (480, 540)])
        for words, text in (("neither counts and seconds, such as 12x10,6x20,5x60, nor a file", "12x"), ("neither counts", "10;20"), ("neither counts", "x10"), ("neither counts", "-1x10"), ("neither counts", ""),
                            ("0 frames; each part must have 1 or more", "0x10"), ("10001 frames", "10001x1"), ("its end must be after its start", "2x0")):
            with self.subTest(text), self.assertRaisesRegex(ValueError, words):
                _frames.read(text)

    def test_files(self):
        expected = [(0, 10), (20, 40.5)]
        for name, text in (("a.txt", "0 10\n20 40.5\n"), ("b.csv", "start,end\r\n0,10\r\n20,40.5\r\n"), ("c.tsv", "# of a scan\n0\t10\n\n20\t40.5 # late"), ("d.txt", "\ufeff0; 10\n20; 40.5"),
                           ("e.json", json.dumps({"FrameTimesStart": [0, 20], "FrameDuration": [10, 20.5]}))):
            with open(self.path(name), "w", encoding="utf-8") as file:
                file.write(text)
            np.testing.assert_array_equal(_frames.read(self.path(name)), expected, name)
        np.save(self.path("f.npy"), np.array(expected))
        np.testing.assert_array_equal(_frames.read(self.path("f.npy")), expected)
        for words, name, text in (("rows of 3 numbers; frames are starts and ends", "a.txt", "0 1 2\n"), ("rows of 2 and of 1 numbers", "a.txt", "0 1\n2\n"), ("has no numbers", "a.txt", "# none"), ("has 'x' in line 2", "a.txt", "0 1\nx\n"),
                                  ("not finite", "a.txt", "0 inf\n"), ("frames must ascend", "a.txt", "0 10\n5 20\n"), ("bytes that are 0", "a.txt", "0\0001"), ("no FrameTimesStart", "e.json", "{}"), ("is no JSON", "e.json", "{"),
                                  ("holds no fields", "e.json", "[1]"), ("1 of FrameTimesStart and 2 of FrameDuration", "e.json", '{"FrameTimesStart": [0], "FrameDuration": [1, 2]}'),
                                  ("FrameDuration \\['1'\\]; it must be numbers", "e.json", '{"FrameTimesStart": [0], "FrameDuration": ["1"]}'), ("is no NumPy file", "f.npy", "0 1")):
            with open(self.path(name), "w", encoding="utf-8") as file:
                file.write(text)
            with self.subTest(words), self.assertRaisesRegex(ValueError, words):
                _frames.read(self.path(name))


class Gates(Folder):
    def test_spans_and_triggers(self):
        spans, of, names, doubts = _gates.read([(10, 20, 2), (0, 10, 1), (25, 30, 1)], None)
        self.assertEqual((spans.tolist(), of.tolist(), names, doubts), ([[0, 10], [10, 20], [25, 30]], [0, 1, 0], ["gate 1", "gate 2"], []))
        np.savetxt(self.path("triggers.txt"), [1.0, 2.0, 3.0, 6.0])
        spans, of, names, doubts = _gates.read(self.path("triggers.txt"), 2)
        np.testing.assert_allclose(spans, [(1, 1.5), (1.5, 2), (2, 2.5), (2.5, 3), (3, 4.5), (4.5, 6)])
        self.assertEqual((of.tolist(), names), ([0, 1] * 3, ["gate 0", "gate 1"]))
        self.assertRegex(doubts[0], "^1 of 3 cycles of .*triggers.txt differ from the median, 1 s, by more than a factor of 1.5")
        # Edges that rounding moves overlap by nothing.
        spans, *_ = _gates.read(np.cumsum(np.random.default_rng(0).uniform(0.7, 1.1, 5000)), 7)
        self.assertTrue((spans[1:, 0] >= spans[:-1, 1]).all() and (spans[:, 1] > spans[:, 0]).all())

    def test_mistakes(self):
        for words, gates, count in (("has triggers: pass gate_count", [1, 2, 3], None), ("gate_count is 0", [1, 2], 0), ("gate_count is 2.5", [1, 2], 2.5), ("1 triggers; there must be two or more", [1], 2),
                                    ("ascending", [1, 3, 2], 2), ("shape \\(2, 2\\); it must be rows of start, end and gate, or triggers", [(0, 1), (1, 2)], None), ("gate 0.5; gates are whole", [(0, 1, 0.5)], None),
                                    ("gates 0, 2; there must be all", [(0, 1, 0), (1, 2, 2)], None), ("gates 5; there must be all from 0 or 1", [(0, 1, 5)], None), ("gate from 2 to 1 s; its end", [(2, 1, 0)], None),
                                    ("from 0 to 5 s and from 4 to 6 s, which overlap", [(4, 6, 1), (0, 5, 0)], None), ("gate_count is 2, and gates has gates of its own", [(0, 1, 0)], 2),
                                    ("it must be rows", [np.nan, 1], 2)):
            with self.subTest(words), self.assertRaisesRegex(ValueError, words):
                _gates.read(gates, count)
        self.assertRaisesRegex(ValueError, "frames and gates are given", _cut.cut, frames="2x10", gates=[(0, 1, 0)])
        self.assertRaisesRegex(ValueError, "gate_count is 3, and there are no gates", _cut.cut, gate_count=3)
        self.assertRaises(FileNotFoundError, _cut.cut, gates=self.path("none.txt"))


class Resample(unittest.TestCase):
    VOXEL, CENTRE = (4.0, 3.0, 2.5), (10.0, -20.0, 5.0)

    def places(self, shape):
        return [c + (np.indices(shape)[k] - (shape[k] - 1) / 2) * v for k, v, c in zip((2, 1, 0), self.VOXEL, self.CENTRE)]

    def test_identity_and_whole_voxels(self):
        """To the bit."""
        image = np.random.default_rng(0).normal(size=(6, 7, 8)).astype(np.float32)
        same = np.eye(3, 4)
        np.testing.assert_array_equal(_resample.rigid(image, self.VOXEL, self.CENTRE, same), image)
        for x, y, z in ((1, 0, 0), (0, 2, 0), (-2, 1, 3)):
            shift = same.copy()
            shift[:, 3] = np.multiply((x, y, z), self.VOXEL)
            made, expected = _resample.rigid(image, self.VOXEL, self.CENTRE, shift), np.zeros_like(image)
            for k, j, i in np.ndindex(image.shape):
                if 0 <= k + z < 6 and 0 <= j + y < 7 and 0 <= i + x < 8:
                    expected[k, j, i] = image[k + z, j + y, i + x]
            np.testing.assert_array_equal(made, expected)
        half = same.copy()
        half[0, 3] = 2.0
        np.testing.assert_allclose(_resample.rigid(image, self.VOXEL, self.CENTRE, half)[..., :-1], (image[..., :-1] + image[..., 1:]) / 2, rtol=1e-5, atol=1e-6)

    def test_a_turned_gaussian(self):
        """Straight lines between samples are off by h^2 / 8 of the second derivative along each axis, which is 1 / sigma^2 at most: of 25 mm and 4, 3 and 2.5 mm 0.0063."""
        shape, sigma, middle = (40, 50, 40), 25.0, np.array([20.0, -10.0, 10.0])
        gauss = lambda x, y, z, at: np.exp(-((x - at[0]) ** 2 + (y - at[1]) ** 2 + (z - at[2]) ** 2) / (2 * sigma ** 2))
        x, y, z = self.places(shape)
        image = gauss(x, y, z, middle).astype(np.float32)
        transform = _motion._of_angles(5.0, -3.0, 2.0, 20.0, -10.0, 30.0)
        made = _resample.rigid(image, self.VOXEL, self.CENTRE, transform)
        back = _resample.inverse(transform)
        expected = gauss(x, y, z, back[:, :3] @ middle + back[:, 3])
        taken = np.einsum("ij,j...->i...", transform[:, :3], np.stack([x, y, z])) + transform[:, 3, None, None, None]
        inside = np.all([abs(of - c) <= (n - 1) / 2 * v for of, c, n, v in zip(taken, self.CENTRE, shape[::-1], self.VOXEL)], axis=0)
        self.assertGreater(expected[inside].max(), 0.9)
        np.testing.assert_allclose(made[inside], expected[inside], atol=0.0063)
        np.testing.assert_allclose(_resample.inverse(back), transform, atol=1e-12)


class Motion(Folder):
    def test_rows(self):
        turned = np.column_stack([z_turn(30), (1, 2, 3)])
        matrix = np.concatenate([[0.0], turned.ravel()])
        six = _motion.read([(0, 1, 2, 3, 0, 0, 30), (10, 0, 0, 0, 0, 0, 0)])
        np.testing.assert_array_equal(six.starts, [0, 10])
        np.testing.assert_allclose(six.transforms, [turned, np.eye(3, 4)], atol=1e-12)
        np.savetxt(self.path("a.txt"), [matrix])
        for rows in (self.path("a.txt"), [matrix], [np.concatenate([matrix, [0, 0, 0, 1]])]):
            np.testing.assert_allclose(_motion.read(rows).transforms[0], turned, atol=1e-9)
        # About x first: it takes y to z, which a turn about y then takes to x.
        np.testing.assert_allclose(_motion.read([(0, 0, 0, 0, 90, 90, 0)]).transforms[0][:, :3] @ [0, 1, 0], [1, 0, 0], atol=1e-12)
        mirrored = matrix.copy()
        mirrored[9:12] *= -1
        for words, rows in (("shape \\(1, 5\\); rows must be the start in s, then", [(0, 1, 2, 3, 4)]), ("begins at 5 s", [(5, 0, 0, 0, 0, 0, 0)]), ("do not ascend", [(0,) * 7, (0,) * 7]), ("no rotation and shift", [mirrored]),
                            ("no rotation and shift", [matrix * 1.1]), ("no rotation and shift", [np.concatenate([matrix, [0, 0, 1, 1]])]), ("rows must be", [(0, np.nan, 0, 0, 0, 0, 0)])):
            with self.subTest(words), self.assertRaisesRegex(ValueError, words):
                _motion.read(rows)

    def test_parts(self):
        """Frames are cut by places, and a place that comes again is the same part."""
        still, moved = (0, 0, 0, 0, 0, 0), (5, 0, 0, 0, 0, 0)
        made = _cut.cut(frames=[(0, 10), (10, 30)], motion=[(0, *still), (5, *moved), (20, *still), (40, *moved)])
        np.testing.assert_array_equal(made.spans, [(0, 5), (5, 10), (10, 20), (20, 30)])
        self.assertEqual((made.of.tolist(), made.images.tolist(), len(made.parts)), ([0, 1, 3, 2], [0, 0, 1, 1], 4))
        self.assertEqual([made.transforms[made.of[k]][0, 3] for k in range(4)], [0, 5, 5, 0])
        made = _cut.cut(motion=[(0, *still), (5, *moved), (20, *still)])
        np.testing.assert_array_equal(made.spans, [(-np.inf, 0), (0, 5), (5, 20), (20, np.inf)])
        self.assertEqual((made.of[0], made.of[1], made.of[3], len(made.parts), made.series), (made.of[0],) * 3 + (2, False))


    def test_other_axes(self):
        """Of a scanner whose axis is x of the file: places are the file's."""
        turn, transform = np.eye(3)[[1, 2, 0]], _motion._of_angles(1.0, 2.0, 3.0, 10.0, 20.0, 30.0)
        cut = _cut.cut(motion=[np.concatenate([[0.0], transform.ravel()])])
        map = isocenter.images.Volume(np.random.default_rng(0).normal(size=(5, 6, 7)).astype(np.float32), (2.0, 3.0, 4.0), (1.0, -2.0, 3.0), "1/mm")
        turned = isocenter.lists._quantify._turned_volume(map, turn)
        lattice = isocenter.lists._lattice.Lattice((5, 5, 5), 2.0, (0.0, 0.0, 0.0), *[1] * 6)
        made = _motion.Averaged(cut, turn, turned, lattice).map(0).image
        expected = isocenter.lists._axis.turned_image(_resample.rigid(map.image, map.voxel, map.centre, transform), turn)
        np.testing.assert_allclose(made, expected, atol=1e-5)


@unittest.skipIf(nibabel is None, "nibabel is not installed")
class Series(Folder):
    def test_times_in_files(self):
        data = np.random.default_rng(0).normal(size=(3, 4, 5, 6)).astype(np.float32)
        for starts, durations, step in (([5, 15, 25], [10, 10, 10], 10.0), ([0, 10, 40], [10, 30, 60], 0.0), ([0, 20, 40], [10, 10, 10], 0.0)):
            isocenter.images.write_nifti(self.path("a.nii.gz"), data, (4.0, 3.0, 2.0), unit="Bq/ml", starts=starts, durations=durations, sidecar={"Units": "Bq/mL"})
            file = nibabel.load(self.path("a.nii.gz"))
            self.assertEqual((file.shape, float(file.header["pixdim"][4]), float(file.header["toffset"]), file.header.get_xyzt_units()), ((6, 5, 4, 3), step, starts[0], ("mm", "sec")))
            with open(self.path("a.json"), encoding="utf-8") as beside:
                self.assertEqual(json.load(beside), {"FrameTimesStart": starts, "FrameDuration": durations, "Units": "Bq/mL"})
            read = isocenter.images.read_nifti(self.path("a.nii.gz"))
            np.testing.assert_array_equal(read.image, data)
            np.testing.assert_array_equal((read.starts, read.durations), (starts, durations))
            os.remove(self.path("a.json"))
            read = isocenter.images.read_nifti(self.path("a.nii.gz"))
            if step:  # of the header alone
                np.testing.assert_array_equal((read.starts, read.durations), (starts, durations))
            else:
                self.assertEqual((read.starts, read.durations), (None, None))

    def test_other_axes_and_units_of_time(self):
        data = np.random.default_rng(0).normal(size=(3, 4, 5, 6)).astype(np.float32)
        isocenter.images.write_nifti(self.path("a.nii"), data, 2.0)
        file = nibabel.load(self.path("a.nii"))
        turn = nibabel.orientations.ornt_transform(nibabel.io_orientation(file.affine), nibabel.orientations.axcodes2ornt("SRP"))
        made = file.as_reoriented(turn)
        made.header.set_xyzt_units("mm", "msec")
        made.header["pixdim"][4] = 2500
        nibabel.save(made, self.path("b.nii"))
        read = isocenter.images.read_nifti(self.path("b.nii"))
        np.testing.assert_array_equal(read.image, data)
        np.testing.assert_allclose((read.starts, read.durations), ([0, 2.5, 5], [2.5] * 3))

    def test_mistakes(self):
        data = np.zeros((3, 4, 5, 6), np.float32)
        write = isocenter.images.write_nifti
        self.assertRaisesRegex(ValueError, "starts has 2 numbers; the image has 3 frames", write, self.path("a.nii"), data, 2.0, starts=[0, 1])
        self.assertRaisesRegex(ValueError, "durations are .*they must be finite", write, self.path("a.nii"), data, 2.0, starts=[0, 1, 2], durations=[1, 1, np.inf])
        self.assertEqual(os.listdir(self.folder.name), [])
        write(self.path("a.nii"), data, 2.0, starts=[0, 1, 2], durations=[1, 1, 1])
        for words, text in (("a.json has 2 of FrameTimesStart and 2 of FrameDuration; the image has 3 frames", '{"FrameTimesStart": [0, 1], "FrameDuration": [1, 1]}'), ("a.json is no JSON", "{"),
                            ("FrameDuration of -1 s", '{"FrameTimesStart": [0, 1, 2], "FrameDuration": [1, 1, -1]}'), ("it must be numbers, s", '{"FrameTimesStart": [0, 1, true], "FrameDuration": [1, 1, 1]}')):
            with open(self.path("a.json"), "w") as file:
                file.write(text)
            with self.subTest(words), self.assertRaisesRegex(ValueError, words):
                isocenter.images.read_nifti(self.path("a.nii"))
        # One volume of a series, with what was beside that.
        write(self.path("a.nii"), data[0], 2.0, sidecar={"FrameTimesStart": [0, 1, 2], "FrameDuration": [1, 1, 1]})
        self.assertEqual(isocenter.images.read_nifti(self.path("a.nii"))[-2:], (None, None))
        nibabel.save(nibabel.Nifti1Image(np.zeros((2, 2, 2, 1, 3), np.float32), np.eye(4)), self.path("b.nii"))
        self.assertRaisesRegex(ValueError, "it must be a volume, x, y, z, or a series", isocenter.images.read_nifti, self.path("b.nii"))
        self.assertRaisesRegex(ValueError, r"attenuation has shape \(3, 4, 5, 6\); it must be \(nz, ny, nx\)", isocenter.lists._attenuation.read_map,
                               isocenter.images.Volume(data, (2.0,) * 3), None, "HFS")


@unittest.skipIf(nibabel is None, "nibabel is not installed")
class Images(unittest.TestCase):
    """Of a source of C-11 that decays, told at the start of the scan."""
    HALF_LIFE = 20.361 * 60

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.scan = list_files.Simulated(cls.folder.name, 120_000)
        k, rng = np.log(2) / cls.HALF_LIFE, np.random.default_rng(7)
        crystals, times, _ = cls.scan.detected()
        order = rng.permutation(len(times))
        crystals, times = crystals[order], times[order]
        # Of decays in 600 s.
        cls.seconds = np.sort(-np.log1p(-rng.uniform(0, 1, len(times)) * -np.expm1(-600 * k)) / k)
        cls.list = list_files.castor(cls.folder.name, crystals, times, cls.seconds, "decaying", Isotope="C-11")
        cls.map = cls.path("map.nii")
        isocenter.images.write_nifti(cls.map, cls.scan.map, 5.0, unit="1/mm")
        cls.whole = cls.quick().image.sum()

    @classmethod
    def path(cls, name):
        return os.path.join(cls.folder.name, name)

    @classmethod
    def quick(cls, path=None, **words):
        words = {**dict(voxel=15.0, azimuths=8, tilts=1, max_tilt=0.22, scatter=0, algorithm="osem", iterations=1, randoms=False), **words}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return isocenter.lists.quantify(path or cls.list, cls.map, **words)

    def agree(self, made):
        """All have the activity of the start. Of 15,000 counts or more sums deviate by 0.8 % at most."""
        for image in made.image:
            self.assertAlmostEqual(image.sum() / self.whole, 1, delta=0.03)

    def test_frames_of_a_constant_source(self):
        made = self.quick(frames="1x150,2x225")
        self.agree(made)
        self.assertEqual([(of.start, of.duration) for of in made.found], [(0, 150), (150, 225), (375, 225)])
        self.assertAlmostEqual(made.found[2].prompts / made.found[1].prompts, 2 ** (-225 / self.HALF_LIFE), delta=0.03)
        k = np.log(2) / self.HALF_LIFE
        for of in made.found:
            end = of.start + of.duration
            self.assertAlmostEqual(of.decay, k * of.duration / (np.exp(-k * of.start) - np.exp(-k * end)), 9)
            self.assertAlmostEqual(of.mean / made.found[0].mean, 1, delta=0.03)
        made.write(self.path("series.nii.gz"))
        read = isocenter.images.read_nifti(self.path("series.nii.gz"))
        np.testing.assert_array_equal(read.image, made.image)
        np.testing.assert_array_equal((read.starts, read.durations), ([0, 150, 375], [150, 225, 225]))
        with open(self.path("series.json"), encoding="utf-8") as file:
            fields = json.load(file)
        np.testing.assert_allclose(fields.pop("DecayCorrectionFactor"), [of.decay for of in made.found])
        self.assertEqual({name: fields[name] for name in ("FrameTimesStart", "FrameDuration", "Units", "TracerRadionuclide", "ImageDecayCorrected", "ImageDecayCorrectionTime", "ScatterFraction", "AcquisitionMode")},
                         dict(FrameTimesStart=[0, 150, 375], FrameDuration=[150, 225, 225], Units="Bq/mL", TracerRadionuclide="C11", ImageDecayCorrected=True, ImageDecayCorrectionTime=0,
                              ScatterFraction=[0, 0, 0], AcquisitionMode="list mode"))
        self.assertAlmostEqual(fields["RadionuclideHalfLife"], self.HALF_LIFE, 1)
        made.write(self.path("series.npy"))
        with open(self.path("series.json"), encoding="utf-8") as file:
            fields = json.load(file)
        self.assertEqual((fields["FrameTimesStart"], fields["VoxelSize"], fields["Centre"], fields["PatientPosition"]), ([0, 150, 375], list(made.voxel), list(made.centre), "HFS"))
        made.write_report(self.path("series.html"))
        with open(self.path("series.html"), encoding="utf-8") as file:
            page = file.read()
        for words in ("<h2>Frames</h2>", "<svg ", "<th>frame 2<td class=\"number\">375<td class=\"number\">600", "time from the start of the scan, s"):
            self.assertIn(words, page)
        self.assertEqual(page.count('stroke-width="3"'), 3)

    def test_an_empty_frame(self):
        made = self.quick(frames=[(0, 300), (300, 600), (700, 800)])
        self.assertTrue(np.isnan(made.image[2]).all())
        self.assertTrue(any("no block of events begins in frame 2" in words for words in made.doubts))
        made.write(self.path("empty.nii"))
        made.write_report(self.path("empty.html"))
        self.assertEqual(isocenter.images.read_nifti(self.path("empty.nii")).durations.tolist(), [300, 300, 0])

    def test_gates(self):
        """Of times here and there, each with its own decay: those of gate 0 come first in each 60 s."""
        spans = [(60 * k + 20 * g, 60 * k + 20 * (g + 1), g) for k in range(10) for g in range(3)]
        made = self.quick(gates=spans)
        self.agree(made)
        self.assertEqual([(of.start, of.duration) for of in made.found], [(0, 200), (20, 200), (40, 200)])
        ms = np.round(1000 * self.seconds) / 1000
        self.assertEqual([of.prompts for of in made.found], [int((ms % 60 // 20 == g).sum()) for g in range(3)])
        np.save(self.path("triggers.npy"), 60.0 * np.arange(11))
        again = self.quick(gates=self.path("triggers.npy"), gate_count=3)
        np.testing.assert_array_equal(again.image, made.image)
        self.assertEqual(again.names, ["gate 0", "gate 1", "gate 2"])
        made.write_report(self.path("gates.html"))
        with open(self.path("gates.html"), encoding="utf-8") as file:
            self.assertIn("<h2>Gates</h2>", file.read())
        self.assertRaisesRegex(ValueError, "frames and gates are given", self.quick, gates=spans, frames="60")

    def test_command(self):
        np.savetxt(self.path("gates.txt"), [(0, 300, 1), (300, 600, 2)])
        options = ["--attenuation", self.map, "--voxel", "10", "--azimuths", "8", "--tilts", "1", "--max-tilt", "0.22", "--no-randoms", "--scatter", "0", "--algorithm", "osem", "--iterations", "1", "--device", "cpu"]
        said, doubts = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(doubts):
            main([self.list, "-o", self.path("gated.nii"), "--gates", self.path("gates.txt"), *options])
        self.assertRegex(said.getvalue(), r"time: 300 s of gate 1[\s\S]*time: 300 s of gate 2[\s\S]*written: .*gated.nii, .*gated.json, .*gated.html\n$")
        self.assertEqual(isocenter.images.read_nifti(self.path("gated.nii")).image.shape[0], 2)
        for words, given in (("--frame and --frames are given", ["--frame", "0", "9", "--frames", "9"]), ("has triggers: give --gate-count", ["--gates", self.path("triggers.txt")]),
                             ("frames is '2x', which is neither", ["--frames", "2x"]), ("there are no gates: give --gates", ["--gate-count", "3"]), ("No such file", ["--motion", self.path("none.txt")])):
            np.savetxt(self.path("triggers.txt"), [1, 2, 3])
            with self.subTest(words), self.assertRaises(SystemExit) as caught, contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                main([self.list, "-o", self.path("none.nii"), *given, *options])
            self.assertIn(words, str(caught.exception))

    def test_motion(self):
        """In the second half the patient is turned by 12 degrees about the axis and shifted. Without motion the hot ellipsoid, which goes 13 mm, is between both places; with it it is where it was,
        within what 32,000 counts of it and two resamplings of voxels of 7.5 mm leave of its middle."""
        scan, turn, shift = self.scan, z_turn(12), np.array([8.0, -6.0, 0.0])
        half = len(scan.times) // 2
        moved = lambda places: np.concatenate([places[:half], places[half:] @ turn.T.astype(np.float32) + shift.astype(np.float32)])
        crystals, times, _ = scan.pet.detect(moved(scan.first), moved(scan.second), scan.times, bins=False)
        kept = crystals[:, 0] < list_files.CRYSTALS
        path = list_files.castor(self.folder.name, crystals[kept].astype(int), times[kept], np.where(np.arange(len(times)) < half, 100.0, 400.0)[kept], "moving", **{"Duration (s)": 600})
        back = np.column_stack([turn.T, -turn.T @ shift])
        rows = np.array([[0.0, *np.eye(3, 4).ravel()], [300.0, *back.ravel()]])
        words = dict(voxel=7.5, size=26, slices=12, azimuths=14, iterations=2)
        still, mended = self.quick(path, **words), self.quick(path, motion=rows, **words)
        truth = scan.middle(scan.truth)
        self.assertGreater(np.linalg.norm(scan.middle(still.image, 7.5) - truth), 2.0)
        self.assertLess(np.linalg.norm(scan.middle(mended.image, 7.5) - truth), 1.0)
        self.assertAlmostEqual(1.5 ** 3 * mended.image.sum() / scan.truth.sum(), 1, delta=0.03)
        self.assertEqual((mended.found[0].prompts, mended.found[0].duration, len(mended.found)), (int(kept.sum()), 600, 1))
        self.assertIn("images of 2 places, moved to the reference", mended.settings["motion"])
        # One place that is the reference changes nothing.
        np.savetxt(self.path("still.txt"), rows[:1])
        for projector in ("histo-images", "lines"):
            same, plain = (self.quick(path, projector=projector, **given).image for given in (dict(motion=self.path("still.txt")), {}))
            np.testing.assert_allclose(same, plain, rtol=1e-4, atol=1e-5 * plain.max())

    @unittest.skipIf(petsird_files.petsird is None, "petsird is not installed")
    def test_gates_of_blocks(self):
        """Blocks of 60 s are of the gate in which they begin, which is told once."""
        made = petsird_files.Simulated(self.path("blocks.petsird"), 20_000)
        made.write(self.path("blocks.petsird"), nuclide="F-18")
        map = isocenter.images.Volume(made.map, (5.0,) * 3, unit="1/mm")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = isocenter.lists.quantify(self.path("blocks.petsird"), map, gates=[(60 * k, 60 * k + 60, k % 2) for k in range(10)], voxel=15.0, azimuths=8, tilts=1, scatter=0, algorithm="osem", iterations=1)
            cut = isocenter.lists.quantify(self.path("blocks.petsird"), map, gates=[(60 * k - 10, 60 * k + 50, k % 2) for k in range(1, 10)], voxel=15.0, azimuths=8, tilts=1, scatter=0, algorithm="osem",
                                           iterations=1)
        self.assertEqual([(of.start, of.duration) for of in found.found], [(0, 300), (60, 300)])
        self.assertEqual(sum(of.prompts for of in found.found), len(made.prompts))
        self.assertFalse([words for words in found.doubts if "blocks" in words])
        self.assertEqual([words for words in cut.doubts if "blocks" in words], ["9 of 9 times of gates or places begin or end within blocks of events, whose events have no times of their own: a block is "
                                                                               "of the one in which it begins"])


if __name__ == "__main__":
    unittest.main()
