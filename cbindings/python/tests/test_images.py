"""Images' files and geometry."""
import os
import sys
import tempfile
import unittest
from unittest import mock

import numpy as np

import isocenter.images
from isocenter.images import POSITIONS, Volume, dicom_geometry, read_nifti, write_interfile, write_nifti

try:
    import nibabel
except ImportError:
    nibabel = None

VOXEL, CENTRE = (4.0, 3.0, 2.5), (10.0, -20.0, 5.0)
# Where x, y and z of the scanner go: L left, P back, H head, and the opposite.
DIRECTIONS = {"HFS": "LPH", "HFP": "RAH", "FFS": "RPF", "FFP": "LAF", "HFDR": "PRH", "HFDL": "ALH", "FFDR": "ARF", "FFDL": "PLF"}
RIGHT_FRONT_HEAD = {"R": (1, 0, 0), "L": (-1, 0, 0), "A": (0, 1, 0), "P": (0, -1, 0), "H": (0, 0, 1), "F": (0, 0, -1)}


def image(*shape, dtype="float32"):
    return np.random.default_rng(0).integers(0, 100, shape or (5, 7, 6)).astype(dtype)


class Folder(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)


@unittest.skipIf(nibabel is None, "nibabel is not installed")
class Nifti(Folder):
    def test_a_voxel_is_where_it_was(self):
        """By nibabel's affine and orientations: of each position."""
        self.assertEqual(set(POSITIONS), set(DIRECTIONS))
        data = image()
        for position, letters in DIRECTIONS.items():
            write_nifti(self.path("a.nii.gz"), data, VOXEL, CENTRE, unit="Bq/ml", description="PET", position=position)
            file = nibabel.load(self.path("a.nii.gz"))
            self.assertEqual("".join(nibabel.aff2axcodes(file.affine)), letters.replace("H", "S").replace("F", "I"))
            z, y, x = 4, 1, 2
            scanner = [c + (k - (n - 1) / 2) * v for k, n, v, c in zip((x, y, z), (6, 7, 5), VOXEL, CENTRE)]
            world = nibabel.affines.apply_affine(file.affine, (x, y, z))
            np.testing.assert_allclose(world, np.array(scanner) @ [RIGHT_FRONT_HEAD[letter] for letter in letters], atol=1e-4)
            self.assertEqual(file.dataobj[x, y, z], data[z, y, x])
            header = file.header
            self.assertEqual((header.get_xyzt_units(), int(header["qform_code"]), int(header["sform_code"])), (("mm", "sec"), 1, 1))
            np.testing.assert_allclose(file.get_qform(), file.get_sform(), atol=1e-4)
            self.assertEqual((header["descrip"].item(), header["intent_name"].item()), (b"PET [Bq/ml]", b"Bq/ml"))
            read = read_nifti(self.path("a.nii.gz"), position=position)
            np.testing.assert_array_equal(read.image, data)
            np.testing.assert_allclose((read.voxel, read.centre), (VOXEL, CENTRE), atol=1e-4)
            self.assertEqual((read.unit, read.image.dtype), ("Bq/ml", np.float32))

    def test_types_and_frames(self):
        for dtype in ("uint8", "int16", "int32", "float32", "float64"):
            write_nifti(self.path("a.nii"), image(dtype=dtype), 2.0)
            self.assertEqual(nibabel.load(self.path("a.nii")).get_data_dtype(), dtype)
        write_nifti(self.path("a.nii"), image(3, 5, 7, 6), 2.0, starts=[30.0, 90.0, 150.0], durations=[60.0] * 3)
        file = nibabel.load(self.path("a.nii"))
        self.assertEqual((file.shape, float(file.header["toffset"])), ((6, 7, 5, 3), 30.0))
        self.assertEqual(file.header.get_zooms(), (2.0, 2.0, 2.0, 60.0))

    def test_axes_in_any_order_and_direction(self):
        """The same volume, stored otherwise by nibabel."""
        data = image()
        write_nifti(self.path("a.nii"), data, VOXEL, CENTRE)
        file = nibabel.load(self.path("a.nii"))
        for codes in ("LPS", "RAS", "SRP", "ASL", "IPR"):
            turn = nibabel.orientations.ornt_transform(nibabel.io_orientation(file.affine), nibabel.orientations.axcodes2ornt(codes))
            nibabel.save(file.as_reoriented(turn), self.path("b.nii"))
            read = read_nifti(self.path("b.nii"))
            np.testing.assert_array_equal(read.image, data, codes)
            np.testing.assert_allclose((read.voxel, read.centre), (VOXEL, CENTRE), atol=1e-4)

    def test_metres_and_one_volume_in_time(self):
        file = nibabel.Nifti1Image(image(6, 7, 5, 1), np.diag([-0.004, -0.004, 0.004, 1]))
        file.header.set_xyzt_units("meter")
        nibabel.save(file, self.path("a.nii"))
        read = read_nifti(self.path("a.nii"))
        self.assertEqual(read.image.shape, (5, 7, 6))
        np.testing.assert_allclose((read.voxel, read.centre), ((4, 4, 4), (10, 12, 8)), atol=1e-4)

    def test_mistakes(self):
        path, good = self.path("a.nii"), np.diag([4.0, 4.0, 4.0, 1.0])
        turn = good.copy()
        turn[:2, :2] = 4 * np.array([[np.cos(0.1), -np.sin(0.1)], [np.sin(0.1), np.cos(0.1)]])
        for shape, affine, words in (((6, 7, 5), turn, r"axes that are rotated .*resample"), ((6, 7, 5, 2, 3), good, r"shape \(6, 7, 5, 2, 3\); it must be a volume"),
                                     ((6, 7), good, r"it must be a volume"), ((6, 7, 5), None, "neither qform nor sform")):
            file = nibabel.Nifti1Image(image(*shape), affine)
            if affine is None:
                file.header["qform_code"] = file.header["sform_code"] = 0
            nibabel.save(file, path)
            with self.subTest(words), self.assertRaisesRegex(ValueError, words):
                read_nifti(path)
        with open(path, "w") as file:
            file.write("no image")
        self.assertRaisesRegex(ValueError, "is no NIfTI file", read_nifti, path)
        self.assertRaises(FileNotFoundError, read_nifti, self.path("none.nii"))
        nibabel.save(nibabel.freesurfer.MGHImage(image(), good), self.path("a.mgz"))
        self.assertRaisesRegex(ValueError, "no NIfTI file, but MGHImage", read_nifti, self.path("a.mgz"))
        for error, words, arguments, keywords in (
                (TypeError, "image is complex64; it must be one of uint8", (image(dtype="complex64"), 4.0), {}),
                (ValueError, r"image has shape \(7, 6\)", (image(7, 6), 4.0), {}),
                (ValueError, "voxel is .* above 0", (image(), 0.0), {}), (ValueError, "voxel is .* three numbers", (image(), (4.0, 4.0)), {}),
                (ValueError, "centre is .* three numbers", (image(), 4.0, (0.0, 0.0, np.nan)), {}),
                (ValueError, "position is 'supine'; it must be one of HFS", (image(), 4.0), dict(position="supine")),
                (ValueError, "unit is .* 15 letters", (image(), 4.0), dict(unit="a" * 16)), (ValueError, "description is .* 79", (image(), 4.0), dict(description="a" * 80))):
            with self.subTest(words), self.assertRaisesRegex(error, words):
                write_nifti(path, *arguments, **keywords)

    def test_without_the_package(self):
        with mock.patch.dict(sys.modules, {"nibabel": None}):
            self.assertRaisesRegex(ImportError, r"^write_nifti: NIfTI files need .*isocenter\[nifti\]", write_nifti, self.path("a.nii"), image(), 4.0)


class Interfile(Folder):
    def read(self, path):
        """Keys and values, by hand, and the data."""
        with open(path, encoding="ascii") as file:
            lines = [line.rstrip("\n") for line in file if not line.startswith(";")]
        self.assertEqual((lines[0], lines[-1]), ("!INTERFILE :=", "!END OF INTERFILE :="))
        keys = dict(line.lstrip("!").split(" := ", 1) for line in lines if not line.endswith(":="))
        shape = [int(keys["number of time frames"]), *(int(keys[f"matrix size [{k}]"]) for k in (3, 2, 1))]
        self.assertEqual((keys["imagedata byte order"], keys["number format"], keys["number of bytes per pixel"]), ("LITTLEENDIAN", "float", "4"))
        return keys, np.fromfile(os.path.join(os.path.dirname(path), keys["name of data file"]), "<f4").reshape(shape)

    def test_header_and_data(self):
        data = image(dtype="float64")
        write_interfile(self.path("a.hv"), data, VOXEL, CENTRE, unit="Bq/ml", position="FFP", starts=[5.0], durations=[600.0], isotope="F-18",
                        half_life=6584.04, branching=0.9686, scanner="ten blocks")
        keys, seen = self.read(self.path("a.hv"))
        np.testing.assert_array_equal(seen[0], data)
        for key, value in {"matrix axis label [1]": "x", "scaling factor (mm/pixel) [2]": "3", "first pixel offset (mm) [1]": "0", "first pixel offset (mm) [2]": "-29",
                           "first pixel offset (mm) [3]": "0", "image duration (sec)[1]": "600", "image relative start time (sec)[1]": "5",
                           "quantification units": "1", "radionuclide name[1]": "^18^Fluorine", "radionuclide halflife (sec)[1]": "6584.04",
                           "radionuclide branching factor[1]": "0.9686", "patient orientation": "feet_in", "patient rotation": "prone",
                           "originating system": "ten blocks", "imaging modality": "PT", "process status": "Reconstructed"}.items():
            self.assertEqual(keys[key], value, key)
        with open(self.path("a.hv")) as file:
            self.assertIn("; values are in Bq/ml\n", file.read())

    def test_frames(self):
        data = image(3, 5, 7, 6)
        write_interfile(self.path("a.hv"), data, 4.0)
        keys, seen = self.read(self.path("a.hv"))
        np.testing.assert_array_equal(seen, data)
        self.assertEqual([keys[f"data offset in bytes[{k}]"] for k in (1, 2, 3)], ["0", "840", "1680"])
        self.assertFalse([key for key in keys if key.startswith(("radionuclide", "image duration"))])

    def test_mistakes(self):
        for words, arguments, keywords in (("must end in .hv", ("a.h33", image(), 4.0), {}), ("durations has 2 numbers; the image has 1 frames",
                                           ("a.hv", image(), 4.0), dict(durations=[1.0, 2.0])), ("position is 'X'", ("a.hv", image(), 4.0), dict(position="X"))):
            with self.subTest(words), self.assertRaisesRegex(ValueError, words):
                write_interfile(self.path(arguments[0]), *arguments[1:], **keywords)
        self.assertEqual(os.listdir(self.folder.name), [])


class Dicom(unittest.TestCase):
    def test_geometry(self):
        """A pixel's place by DICOM's equation C.7.6.2.1-1, of each position."""
        self.assertEqual(Volume(image(), 4.0).centre, (0.0, 0.0, 0.0))
        for position, letters in DIRECTIONS.items():
            found = dicom_geometry((5, 7, 6), VOXEL, CENTRE, position=position)
            self.assertEqual((found["Rows"], found["Columns"], found["NumberOfSlices"], found["PatientPosition"]), (7, 6, 5, position))
            (dy, dx), (along_row, along_column) = found["PixelSpacing"], np.reshape(found["ImageOrientationPatient"], (2, 3))
            z, y, x = 4, 1, 2
            place = found["ImagePositionPatient"][z] + along_row * dx * x + along_column * dy * y
            scanner = [c + (k - (n - 1) / 2) * v for k, n, v, c in zip((x, y, z), (6, 7, 5), VOXEL, CENTRE)]
            left_back_head = [np.multiply(RIGHT_FRONT_HEAD[letter], (-1, -1, 1)) for letter in letters]
            np.testing.assert_allclose(place, np.array(scanner) @ left_back_head, atol=1e-9)
        self.assertEqual(dicom_geometry((5, 7, 6), 4.0)["ImageOrientationPatient"], [1, 0, 0, 0, 1, 0])


if __name__ == "__main__":
    unittest.main()
