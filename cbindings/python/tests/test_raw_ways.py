"""ISMRMRD files as vendors, converters and other programs write them: right way up, right left, and nothing wrong without a word."""
import contextlib
import io
import logging
import math
import os
import re
import unittest

import numpy as np

import isocenter
import isocenter.raw
from isocenter.raw.__main__ import main
from test_raw import COILS, FIELD, PHANTOM, PLANE, Files, N, grid, ismrmrd, lines, measured, noise, plan, radial, sensitivities, spiral

if ismrmrd:
    from raw_files import acquisition, header, write

AXIAL = {"read_dir": (1, 0, 0), "phase_dir": (0, 1, 0), "slice_dir": (0, 0, 1)}


class Ways(Files):
    known = {}

    def image(self, *arguments, options={}, **words):
        return isocenter.raw.reconstruct(self.write(*arguments, **words), **options)

    @contextlib.contextmanager
    def quiet(self):
        said, handler = [], logging.Handler(logging.WARNING)
        handler.emit = lambda record: said.append(record.getMessage())
        logging.getLogger("isocenter").addHandler(handler)
        try:
            yield
        finally:
            logging.getLogger("isocenter").removeHandler(handler)
        self.assertEqual(said, [])

    def warns(self, words):
        @contextlib.contextmanager
        def told():
            with self.assertLogs("isocenter", logging.WARNING) as seen:
                yield
            self.assertRegex("\n".join(seen.output), words)
        return told()

    def is_the_phantom(self, image, relative=0.05):
        """As good as that of all lines in one file that can be read in one way."""
        self.close_to(np.abs(image), self.whole(), relative)

    def whole(self):
        if not self.known:
            path = write(os.path.join(self.folder.name, "whole.h5"), header(kind="cartesian", encoded=PLANE, coils=COILS, centres=(N // 2,)), lines(self.full))
            self.known["whole"] = np.abs(isocenter.raw.reconstruct(path).images[0, 0])
        return self.known["whole"]

    def marks(self, image, places):
        """The phantom's bright mark, dark mark, and plain places opposite them, each at a voxel (x, y) from the middle."""
        ny, nx = image.shape
        seen = [image[ny // 2 + y - 2:ny // 2 + y + 3, nx // 2 + x - 2:nx // 2 + x + 3].mean() for x, y in places]
        bright, dark, left, front = seen
        self.assertTrue(bright > 1.2 * left and dark < 0.7 * front, seen)


class Orientation(Ways):
    # In voxels: x to the patient's left, y to the back.
    PLACES = ((10, -1), (2, -10), (-8, -1), (2, 8))
    VENDORS = (("SIEMENS", True), ("Siemens Healthineers", True), (None, False), ("GE MEDICAL SYSTEMS", False), ("Philips Healthcare", False), ("Bruker", False))

    def test_each_vendors_transform(self):
        """Siemens' samples have exp(+2 pi i k.r) for the directions in the file, others' exp(-2 pi i k.r)."""
        k = radial()
        for vendor, conjugate in self.VENDORS:
            turn = np.conj if conjugate else np.asarray
            radial_lines = [acquisition(turn(measured(k[s])), k[s], **AXIAL) for s in range(len(k))]
            for kind, made in (("cartesian", lines(turn(self.full), **AXIAL)), ("radial", radial_lines)):
                with self.subTest(vendor, kind=kind):
                    seen = self.image(made, kind=kind, vendor=vendor)
                    image = np.abs(seen.images[0, 0]) / np.linalg.norm(sensitivities(), axis=0)
                    self.marks(image, self.PLACES)
                    # The bright mark lies 50 mm towards the patient's left.
                    np.testing.assert_allclose(seen.affine @ [N // 2 + 10, N // 2 - 1, 0, 1], [50, -5, 0, 1], atol=1e-6)
                    upright = isocenter.raw.upright(image, seen.affine)
                    self.marks(upright, self.PLACES)  # on the picture's right, and the dark mark on top

    def test_directions_of_patients(self):
        """Read and phase along other axes: the mark is where the directions say, and on the pictures."""
        for read, phase, slice_, places in (((-1, 0, 0), (0, -1, 0), (0, 0, 1), ((-10, 1), (-2, 10), (8, 1), (-2, -8))),
                                            ((0, 1, 0), (1, 0, 0), (0, 0, -1), ((-1, 10), (-10, 2), (-1, -8), (8, 2))),
                                            ((1, 0, 0), (0, 0, 1), (0, -1, 0), ((10, 1), (2, 10), (-8, 1), (2, -8)))):
            for vendor, turn in (("SIEMENS", np.conj), (None, np.asarray)):
                with self.subTest(read=read, phase=phase, vendor=vendor):
                    made = self.image(lines(turn(self.full), read_dir=read, phase_dir=phase, slice_dir=slice_), vendor=vendor)
                    image = np.abs(made.images[0, 0]) / np.linalg.norm(sensitivities(), axis=0)
                    self.marks(image, self.PLACES)
                    # Upright pictures of an even side have their middle half a voxel off when they are turned.
                    self.marks(isocenter.raw.upright(image, made.affine), places)

    def test_noise_is_conjugated_with_the_samples(self):
        scan = noise((COILS, 64), 3)
        made = [acquisition(scan, flags=["IS_NOISE_MEASUREMENT"])] + lines(self.full)
        for vendor, turn in (("siemens", np.conj), (None, np.asarray)):
            raw = self.read(made, vendor=vendor)
            self.assertEqual((raw.conjugated, raw.vendor), (vendor is not None, vendor or ""))
            np.testing.assert_array_equal(raw.noise, turn(scan))
            np.testing.assert_array_equal(raw.select().samples, turn(self.full).reshape(COILS, -1))

    def test_partitions_turn_with_the_rest(self):
        """A point in a volume: along z as along x and y."""
        n, place = 16, np.array([3, -2, 5])
        k = np.stack(np.meshgrid(*[(np.arange(n) - n // 2) / n] * 3, indexing="ij"), axis=-1)[..., ::-1]
        samples = np.exp(2j * math.pi * (k @ place)).astype("complex64")
        made = [acquisition(samples[z, y][None], kspace_encode_step_1=y, kspace_encode_step_2=z) for z in range(n) for y in range(n)]
        image = self.image(made, encoded=((n, n, n), (32.0, 32.0, 32.0)), coils=1, centres=(8, 8), vendor="SIEMENS").images[0]
        self.assertEqual(np.unravel_index(np.abs(image).argmax(), image.shape), tuple(place[::-1] + n // 2))


def late(d):
    """Where spokes are taken, late by d samples along x and y."""
    return np.stack([radial()[..., axis] - d[axis] * np.gradient(radial()[..., axis], axis=1) for axis in (0, 1)], axis=-1)


class Delays(Ways):
    """A radial scan whose gradients come late, written with the trajectory that was asked for."""

    def spokes(self, d, **words):
        seen = measured(np.clip(late(d), -0.5, 0.5))
        return [acquisition(seen[:, s], k, **words) for s, k in enumerate(radial())]

    def test_what_is_certain_is_corrected_and_said(self):
        with self.warns("come late: 1.50 .* samples along x, 1.20 .* samples along y. The trajectory is corrected"):
            made = self.image(self.spokes((1.5, 1.2)), kind="radial")
        found, = made.delays[0]
        for name, value in (("xx", 1.5), ("yy", 1.2), ("xy", 0.0)):
            error = getattr(found, name + "_error")
            self.assertTrue(abs(getattr(found, name) - value) < 3 * error and error < 0.01, found)
        with self.quiet():
            straight = self.image(self.spokes((0, 0)), kind="radial")
        self.assertEqual(straight.delays, [[None]])
        self.close_to(np.abs(made.images), np.abs(straight.images), 0.05)
        with self.quiet():
            kept = self.image(self.spokes((1.5, 1.2)), kind="radial", options={"delays": "keep"})
        self.assertEqual(kept.delays, [[None]])
        apart = np.linalg.norm(np.abs(kept.images) - np.abs(straight.images)) / np.linalg.norm(straight.images)
        self.assertGreater(apart, 0.2)
        with self.quiet():
            given = self.image(self.spokes((1.5, 1.2)), kind="radial", options={"delays": (1.5, 1.2)})
        self.assertEqual(given.delays, [[(1.5, 1.2)]])
        self.close_to(np.abs(given.images), np.abs(straight.images), 0.05)

    def test_what_is_doubtful_is_warned_of(self):
        """Noise of a fifth of the largest sample leaves a delay to be seen, and half of the energy unexplained."""
        made = self.spokes((1.5, 1.5))
        for number, spoke in enumerate(made):
            spoke.data[:] += 0.2 * np.abs(self.full).max() * noise(spoke.data.shape, number)
        with self.assertLogs("isocenter", logging.WARNING) as seen:
            image = self.image(made, kind="radial")
        self.assertRegex("\n".join(seen.output), "not certain enough to correct.*pass delays=")
        self.assertEqual(image.delays, [[None]])

    def test_slices_and_contrasts_have_their_own(self):
        made = [a for place, d in ((0, (1.0, 0.0)), (1, (0.0, 0.0))) for a in self.spokes(d, slice=place, position=(0, 0, 10 * place))]
        with self.warns("corrected"):
            image = self.image(made, kind="radial")
        (first, second), = image.delays
        self.assertTrue(abs(first.xx - 1) < 0.01 and abs(first.yy) < 0.01)
        self.assertIsNone(second)

    def test_select_takes_what_find_gives(self):
        raw = self.read(self.spokes((0.8, -0.4)), kind="radial")
        found = raw.find_delays()
        k = raw.select(delays=found).trajectory
        expected = late((0.8, -0.4)).reshape(-1, 2)
        self.assertEqual(len(k), len(expected))
        np.testing.assert_allclose(k, expected, atol=2e-4)
        np.testing.assert_allclose(raw.select(delays=(0.8, -0.4)).trajectory, expected, atol=1e-6)
        raw = self.read(lines(self.full))
        self.assertIsNone(raw.find_delays())

    def test_words(self):
        raw = self.read(self.spokes((0, 0)), kind="radial")
        for bad in ((1, 2, 3, 4), "x", (math.nan, 0), [[1, 2]], (1j, 2)):
            with self.subTest(bad), self.assertRaisesRegex(ValueError, "delays is"):
                isocenter.raw.reconstruct(raw, delays=bad)
            with self.subTest(bad), self.assertRaisesRegex(ValueError, "delays is"):
                raw.select(delays=bad)
        with self.assertRaisesRegex(ValueError, "Cartesian lines"):
            isocenter.raw.reconstruct(self.read(lines(self.full)), delays=(1, 1))

    def test_the_command(self):
        path = self.write(self.spokes((1.5, 1.5)), kind="radial")
        out = os.path.join(self.folder.name, "image.npy")
        said = io.StringIO()
        with contextlib.redirect_stdout(said), self.warns("corrected"):
            main([path, "-o", out])
        self.assertIn("delays corrected: 1.50 +- ", said.getvalue())
        for word in ("x", "1,"):
            with self.assertRaisesRegex(SystemExit, "--delays is"):
                main([path, "-o", out, "--delays", word])
        said = io.StringIO()
        with contextlib.redirect_stdout(said), self.quiet():
            main([path, "-o", out, "--delays", "1.5,1.5"])
        self.assertIn("delays corrected: 1.5, 1.5 samples", said.getvalue())


class Headers(Ways):
    def test_what_images_do_not_need_may_be_missing_or_new(self):
        plain = header(kind="cartesian", encoded=PLANE, coils=COILS, centres=(N // 2,))
        conditions = re.search("<experimentalConditions>.*?</experimentalConditions>", plain)[0]
        for name, text in {
                "no patient's position": plain.replace("<encoding>", "<measurementInformation><protocolName>x</protocolName></measurementInformation><encoding>", 1),
                "no limits": re.sub("<encodingLimits>.*?</encodingLimits>", "", plain), "empty limits": re.sub("<encodingLimits>.*?</encodingLimits>", "<encodingLimits/>", plain),
                "something new": plain.replace("<encoding>", "<somethingNew><x>1</x></somethingNew><encoding>"), "no conditions": plain.replace(conditions, ""),
                "no namespace": plain.replace(' xmlns="http://www.ismrm.org/ISMRMRD"', ""), "another prefix": plain.replace("<", "<m:").replace("<m:/", "</m:").replace("<m:?", "<?").replace("xmlns=", "xmlns:m="),
                "capitals": plain.replace("cartesian", "Cartesian"), "all capitals": plain.replace("cartesian", "CARTESIAN").replace("matrixSize", "MatrixSize"),
                "corrected echo-planar lines": plain.replace("cartesian", "epi"), "no word": plain.replace("<trajectory>cartesian</trajectory>", ""),
                "whole numbers with a point": plain.replace("<x>48</x>", "<x>48.0</x>"), "no image's space": re.sub("<reconSpace>.*?</reconSpace>", "", plain),
                "space at the end": plain + "\n  \n"}.items():
            with self.subTest(name), self.quiet():
                made = isocenter.raw.reconstruct(write(self.path, text, lines(self.full)))
                self.is_the_phantom(made.images[0, 0], 1e-6)
        self.assertIsNotNone(isocenter.raw.read(write(self.path, plain, lines(self.full))).header)
        self.assertIsNone(isocenter.raw.read(write(self.path, plain.replace("<encoding>", "<somethingNew/><encoding>"), lines(self.full))).header)

    def test_what_images_need_is_named(self):
        plain = header(kind="cartesian", encoded=PLANE, coils=COILS)
        for text, words in ((plain.replace("<x>48</x>", ""), "encoding 0 has no encodedSpace/matrixSize/x"),
                            (plain.replace("<x>48</x>", "<x>many</x>", 1), "encodedSpace/matrixSize/x is 'many', which is no number"),
                            (plain.replace("<x>240.0</x>", "<x>nan</x>", 1), "fieldOfView_mm/x is 'nan'"), (plain.replace("<x>48</x>", "<x>0</x>", 1), "must be above 0"),
                            (re.sub("<encoding>.*</encoding>", "", plain, flags=re.S), "no element encoding"), (plain[:300], "is no ISMRMRD header")):
            with self.subTest(words), self.assertRaisesRegex(ValueError, words):
                isocenter.raw.read(write(self.path, text, lines(self.full)))

    def test_fields_of_view_in_metres(self):
        with self.warns("field of view is 0.24 mm: is it in m or cm"):
            self.read(lines(self.full), encoded=((1, N, N), (0.005, 0.24, 0.24)))
        with self.quiet():  # slices are as thin
            self.read(lines(self.full), encoded=((1, N, N), (1.0, 20.0, 20.0)))


class Places(Ways):
    def slices(self, planes):
        made = []
        for which, (read, phase, normal, position) in enumerate(planes):
            made += lines(self.full, slice=which, read_dir=read, phase_dir=phase, slice_dir=normal, position=position)
        return self.image(made)

    def test_three_planes_have_an_affine_each(self):
        planes = (((1, 0, 0), (0, 1, 0), (0, 0, 1), (0, 0, 0)), ((0, 1, 0), (0, 0, -1), (1, 0, 0), (7, 0, 0)), ((1, 0, 0), (0, 0, -1), (0, 1, 0), (0, 9, 0)))
        made = self.slices(planes)
        self.assertEqual((made.affines.shape, made.slices, made.voxel), ((1, 3, 4, 4), [0, 1, 2], (5.0, 5.0, 5.0)))
        for affine, (read, phase, _, position) in zip(made.affines[0], planes):
            np.testing.assert_allclose(affine @ [N // 2, N // 2, 0, 1], [*position, 1], atol=1e-9)
            np.testing.assert_allclose(affine @ [N // 2 + 1, N // 2 + 2, 0, 1], [*(np.array(position) + 5.0 * np.array(read) + 10.0 * np.array(phase)), 1], atol=1e-9)
        with self.assertRaisesRegex(ValueError, "3 slices lie in several orientations or at uneven distances: affines has the map of each, and slice=0"):
            made.affine
        one = isocenter.raw.reconstruct(self.path, slice=1)
        np.testing.assert_allclose(one.affine, made.affines[0, 1])
        picture = os.path.join(self.folder.name, "planes.png")
        isocenter.raw.write_png(picture, made)
        self.assertGreater(os.path.getsize(picture), 100)

    def test_gaps(self):
        axial = ((1, 0, 0), (0, 1, 0), (0, 0, 1))
        made = self.slices([(*axial, (0, 0, z)) for z in (0, 5, 11, 30)])
        self.assertEqual([float(a[2, 3]) for a in made.affines[0]], [0, 5, 11, 30])
        self.assertRaisesRegex(ValueError, "uneven distances", getattr, made, "affine")
        # In the order of acquisition they are a stack, too, which images are sorted by.
        made = self.slices([(*axial, (0, 0, z)) for z in (0, 14, 7, 21)])
        self.assertEqual((made.slices, made.voxel[0]), ([0, 2, 1, 3], 7.0))
        np.testing.assert_allclose(made.affine @ [N // 2, N // 2, 3, 1], [0, 0, 21, 1], atol=1e-9)
        made = self.slices([(*axial, (0, 0, -z)) for z in (0, 7, 14)])  # downwards
        self.assertEqual((made.slices, made.voxel[0]), ([0, 1, 2], 7.0))
        np.testing.assert_allclose(made.affine @ [N // 2, N // 2, 2, 1], [0, 0, -14, 1], atol=1e-9)

    def test_frames_in_different_places(self):
        made = self.image([a for r in (0, 1) for a in lines(self.full, repetition=r, position=(0, 0, 9 * r), **AXIAL)])
        self.assertEqual([float(a[0, 2, 3]) for a in made.affines], [0, 9])
        self.assertRaisesRegex(ValueError, "frames lie in different places", getattr, made, "affine")

    def test_nifti(self):
        try:
            import nibabel
        except ImportError:
            self.skipTest("no nibabel")
        path = os.path.join(self.folder.name, "image.nii.gz")
        oblique = ((0.8, 0.6, 0), (-0.6, 0.8, 0), (0, 0, 1))
        made = self.slices([(*oblique, (10, 20, z)) for z in (0, 8)])
        isocenter.raw.write_nifti(path, made)
        file = nibabel.load(path)
        self.assertEqual((file.shape, file.get_data_dtype(), int(file.header["sform_code"]), int(file.header["qform_code"])), ((N, N, 2), np.dtype("f4"), 1, 1))
        np.testing.assert_array_equal(np.asarray(file.dataobj), np.abs(made.images[0]).T)
        # To the right, front and head.
        np.testing.assert_allclose(file.affine @ [N // 2 + 1, N // 2, 1, 1], [-10 - 4, -20 - 3, 8, 1], atol=1e-4)
        unknown = self.image(lines(self.full))
        isocenter.raw.write_nifti(path, unknown)
        file = nibabel.load(path)
        self.assertEqual((int(file.header["sform_code"]), file.header.get_zooms()), (0, (5.0, 5.0, 5.0)))
        self.assertRaisesRegex(ValueError, "must end in .nii", isocenter.raw.write_nifti, "image.png", made)
        self.assertRaisesRegex(ValueError, "uneven", isocenter.raw.write_nifti, path, self.slices([(*oblique, (0, 0, z)) for z in (0, 5, 11)]))


    def test_nifti_by_the_command(self):
        """One file of a stack; one a slice of a localizer."""
        try:
            import nibabel
        except ImportError:
            self.skipTest("no nibabel")
        path, axial, sagittal = os.path.join(self.folder.name, "image.nii"), ((1, 0, 0), (0, 1, 0), (0, 0, 1)), ((0, 1, 0), (0, 0, -1), (1, 0, 0))
        for planes, names in (([(*axial, (0, 0, z)) for z in (0, 8)], ["image.nii"]), ([(*axial, (1, 2, 3)), (*sagittal, (7, 0, 0))], ["image_slice0.nii", "image_slice1.nii"])):
            made = self.slices(planes)
            with contextlib.redirect_stdout(io.StringIO()) as said:
                main([self.path, "-o", path, "--device", "cpu"])
            names = [os.path.join(self.folder.name, name) for name in names]
            self.assertIn("written: " + ", ".join(names), said.getvalue())
            files = [nibabel.load(name) for name in names]
            np.testing.assert_allclose(np.concatenate([np.asarray(f.dataobj).reshape(N, N, -1) for f in files], axis=2), np.abs(made.images[0]).T, rtol=1e-5, atol=1e-5)
            for file, (*_, position) in zip(files, planes):
                np.testing.assert_allclose(file.affine @ [N // 2, N // 2, 0, 1], np.array([-1, -1, 1, 1]) * [*position, 1], atol=1e-4)

    def test_dicom(self):
        """A file an image, whose pixels are where the scan's affine maps have them."""
        try:
            import pydicom
        except ImportError:
            self.skipTest("no pydicom")
        axial, sagittal, oblique = ((1, 0, 0), (0, 1, 0), (0, 0, 1)), ((0, 1, 0), (0, 0, -1), (1, 0, 0)), ((0.8, 0.6, 0), (-0.6, 0.8, 0), (0, 0, 1))
        for planes in ([(*axial, (1, 2, 3)), (*sagittal, (7, 0, 0)), (*oblique, (0, 1, 2))], [(*axial, (1.5, -2, 3))]):
            made = self.slices(planes)
            path = os.path.join(self.folder.name, "image.dcm")
            with contextlib.redirect_stdout(io.StringIO()) as said:
                main([self.path, "-o", path, "--device", "cpu"])
            names = [path] if len(planes) == 1 else [f"{path[:-4]}_{n:04d}.dcm" for n in range(1, len(planes) + 1)]
            self.assertIn("written: " + ", ".join(names), said.getvalue())
            files = [pydicom.dcmread(name) for name in names]
            self.assertEqual(len({f.SeriesInstanceUID for f in files}), 1)
            self.assertEqual(len({f.SOPInstanceUID for f in files}), len(planes))
            for z, file in enumerate(files):
                self.assertEqual((file.SOPClassUID, file.Modality, file.MRAcquisitionType, file.InstanceNumber), (pydicom.uid.MRImageStorage, "MR", "2D", z + 1))
                values = file.pixel_array * float(file.RescaleSlope)
                np.testing.assert_allclose(values, np.abs(made.images[0, z]), atol=np.abs(made.images).max() / 65535)
                # Of a pixel by the standard's equation: C.7.6.2.1-1.
                row, column = np.array(file.ImageOrientationPatient, float).reshape(2, 3)
                down, along = map(float, file.PixelSpacing)
                for j, i in ((0, 0), (3, 17)):
                    place = np.array(file.ImagePositionPatient, float) + row * along * i + column * down * j
                    np.testing.assert_allclose(place, (made.affines[0, z] @ [i, j, 0, 1])[:3], atol=1e-3)
        self.assertEqual(pydicom.dcmread(isocenter.raw.write_dicom(path, made, PatientName="Doe^Jane", EchoTime=12)[0]).PatientName, "Doe^Jane")
        self.assertRaisesRegex(ValueError, "PatientsName is no keyword", isocenter.raw.write_dicom, path, made, PatientsName="Doe")
        self.assertRaisesRegex(ValueError, "must end in .dcm", isocenter.raw.write_dicom, "image.png", made)
        self.assertRaisesRegex(ValueError, "knows no directions", isocenter.raw.write_dicom, path, self.image(lines(self.full)))

    def test_dicom_of_volumes(self):
        try:
            import pydicom
        except ImportError:
            self.skipTest("no pydicom")
        made = self.image([a for z, kz in enumerate((-1, 0)) for a in lines(self.full, kspace_encode_step_2=z, position=(0, 0, 30), **AXIAL)], encoded=((2, N, N), (12.0, FIELD, FIELD)),
                          centres=(N // 2, 1), options={"maps": np.broadcast_to(sensitivities()[:, None], (COILS, 2, N, N))})
        files = [pydicom.dcmread(name) for name in isocenter.raw.write_dicom(os.path.join(self.folder.name, "image.dcm"), made)]
        self.assertEqual([(f.MRAcquisitionType, float(f.ImagePositionPatient[2])) for f in files], [("3D", 24.0), ("3D", 30.0)])


class Trajectories(Ways):
    def test_a_trajectory_under_a_cartesian_header_is_used(self):
        k = radial()
        made = [acquisition(measured(k[s]), k[s], kspace_encode_step_1=s) for s in range(len(k))]
        expected = self.image(made, kind="radial").images[0, 0]
        with self.warns("word for the trajectory is 'cartesian', but that in the file is not of Cartesian lines: it is used"):
            seen = self.image(made, centres=(24,))
        self.close_to(seen.images[0, 0], expected, 1e-6)
        raw = isocenter.raw.read(self.path, kind="cartesian")
        with self.quiet():
            self.assertTrue(raw.select().lines)
            self.assertFalse(isocenter.raw.read(self.path, kind="radial").select().lines)
        self.assertRaisesRegex(ValueError, "kind is 'star'; it must be one of 'cartesian', 'epi'", isocenter.raw.read, self.path, kind="star")

    def test_trajectories_of_lines_are_lines(self):
        for scale in (1, 2 * math.pi, 0):
            made = [acquisition(self.full[:, y], scale * grid()[y], kspace_encode_step_1=y) for y in range(N)]
            with self.subTest(scale=scale), self.quiet():
                self.is_the_phantom(self.image(made).images[0, 0], 1e-6)

    def test_lines_elsewhere_than_their_steps(self):
        """Lines in an order of their own, whose steps only count them: the trajectory says where they are."""
        order = np.random.default_rng(3).permutation(N)
        made = [acquisition(self.full[:, y], grid()[y], kspace_encode_step_1=count) for count, y in enumerate(order)]
        with self.warns("is not of Cartesian lines: it is used"):
            seen = self.image(made)
        self.is_the_phantom(seen.images[0, 0], 0.03)  # maps are from a grid of its own
        flat = [acquisition(self.full[:, y], grid()[y] * [1, 0], kspace_encode_step_1=y) for y in range(N)]
        with self.quiet():  # which have kx alone
            self.is_the_phantom(self.image(flat).images[0, 0], 1e-6)

    def stack(self, third, step=1, planes=6, turned=False):
        """Of spirals with a third number, and their scale."""
        k = spiral(shots=4, samples=60)
        return [acquisition(noise((1, 60)), np.concatenate([k[s] * step, np.broadcast_to(third(z), (60,))[:, None]], axis=-1), kspace_encode_step_2=z)
                for z in range(planes) for s in range(4)]

    def volume(self, made, **words):
        return self.read(made, kind="spiral", encoded=((6, N, N), (30.0, FIELD, FIELD)), coils=1, centres=(0, 3), **words)

    def test_third_numbers_of_a_volume(self):
        with self.quiet():
            seen = self.volume(self.stack(lambda z: (z - 3) / 6)).select()
        np.testing.assert_allclose(seen.trajectory[::240, 2], (np.arange(6) - 3) / 6, atol=1e-6)
        with self.quiet():  # numbers that are not there
            np.testing.assert_array_equal(self.volume(self.stack(lambda z: 0)).select().trajectory, seen.trajectory)
        density = np.linspace(0.02, 0.3, 60)
        with self.warns("third number of the trajectory is no frequency, but the same in all partitions, as densities are"):
            np.testing.assert_array_equal(self.volume(self.stack(lambda z: density)).select().trajectory, seen.trajectory)
        one = [a for a in self.stack(lambda z: density) if a.idx.kspace_encode_step_2 == 3]
        for made, words in ((one, "third number of the trajectory is 0.02 to 0.3: frequencies along z have both signs, and it may be a density"),
                            ([a for a in self.stack(lambda z: 0) if a.idx.kspace_encode_step_2 == 3], "is 0 along z in all samples, and the volume has 6 partitions"),
                            (self.stack(lambda z: density * (1 + z)), "may be a density"), (self.stack(float), "may be a density")):
            with self.subTest(words), self.assertRaisesRegex(ValueError, words):
                self.volume(made).select()

    def test_axes_share_a_unit(self):
        metres = N / (FIELD * 1e-3)
        for made, options, words in (
                (self.stack(lambda z: z - 3.0), {}, "its axes do not share a unit: x fits cycles_per_voxel.* z fits .*cycles_per_field_of_view"),
                (self.stack(lambda z: z - 3.0), {"unit": "cycles_per_field_of_view"}, "do not share a unit"),
                (self.stack(lambda z: (z - 3) / 6, step=metres), {}, "do not share a unit: x fits cycles_per_metre"),
                (self.stack(lambda z: (z - 3) / 9), {}, "kz of the trajectory goes by 0.1111 cycles per voxel from partition to partition, where 6 of them make 0.1667")):
            with self.subTest(words), self.assertRaisesRegex(ValueError, words):
                self.volume(made).select(**options)
        k = radial()
        with self.assertRaisesRegex(ValueError, "do not share a unit: x fits cycles_per_voxel, y fits cycles_per_field_of_view"):
            self.read([acquisition(noise((1, 96)), spoke * [1, N]) for spoke in k], kind="radial", coils=1).select()
        with self.assertRaisesRegex(ValueError, "is 0 along y in all samples"):
            self.read([acquisition(noise((1, 96)), spoke * [1, 0]) for spoke in k], kind="radial", coils=1).select()

    def test_one_spoke_of_many_frames_has_the_units_of_all(self):
        k = radial()
        raw = self.read([acquisition(noise((1, 96)), spoke, repetition=r) for r, spoke in enumerate(k)], kind="radial", coils=1)
        np.testing.assert_allclose(raw.select(repetition=0).trajectory, k[0], atol=1e-6)

    def test_units_of_length(self):
        k = radial()
        for unit, scale in (("radians_per_metre", 2 * math.pi * N / (FIELD * 1e-3)), ("cycles_per_millimetre", N / FIELD)):
            raw = self.read([acquisition(noise((1, 96)), scale * spoke) for spoke in k], kind="radial", coils=1)
            np.testing.assert_allclose(raw.select(unit=unit).trajectory, k.reshape(-1, 2), atol=1e-6)
        with self.assertRaises(ValueError):  # 1/mm has to be asked for
            raw.select()

    def test_a_little_beyond_the_range_is_no_other_unit(self):
        k = radial(most=0.53)
        raw = self.read([acquisition(noise((1, 96)), spoke) for spoke in k], kind="radial", coils=1)
        for unit in (None, "cycles_per_voxel"):
            seen = raw.select(unit=unit)
            kept = (np.abs(k) <= 0.5).all(axis=-1)
            np.testing.assert_allclose(seen.trajectory, k[kept], atol=1e-6)

    def test_what_is_discarded_may_be_nan(self):
        k = radial()
        made = []
        for spoke in k:
            before = np.full((10, 2), np.nan)
            made.append(acquisition(np.concatenate([np.full((COILS, 10), np.nan), measured(spoke)], axis=1), np.concatenate([before, spoke]), discard_pre=10, center_sample=58))
        with self.quiet():
            self.is_the_phantom(self.image(made, kind="radial").images[0, 0], 0.1)


class Lines(Ways):
    """Where frequency 0 is."""

    def asymmetric(self, centre, backwards=True, **words):
        """The 72 upper ones of 96 samples, the highest frequency first if they go backwards."""
        made = []
        for y in range(N):
            line = self.wide[:, y, 24:]
            made.append(acquisition(line[:, ::-1] if backwards else line, kspace_encode_step_1=y, center_sample=centre, flags=["IS_REVERSE"] * backwards, **words))
        return made

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.wide = measured(grid(2 * N))  # of a field of view twice as wide

    def test_asymmetric_echoes_backwards(self):
        """72 samples with frequency 0 at 24 from the low end, at 47 in the order of acquisition."""
        encoded = ((1, N, 2 * N), (5.0, FIELD, 2 * FIELD))
        expected = np.abs(self.image(self.asymmetric(24, False), encoded=encoded, recon=PLANE).images[0, 0])
        for vendor, centre in ((None, 47), (None, 24), ("SIEMENS", 48)):
            with self.subTest(vendor, centre=centre), self.quiet():
                made = self.asymmetric(centre)
                if vendor:
                    for a in made:
                        a.data[:] = a.data.conj()
                seen = self.image(made, encoded=encoded, recon=PLANE, vendor=vendor)
                self.close_to(np.abs(seen.images[0, 0]), expected, 1e-4)

    def test_both_directions(self):
        """Symmetric echoes of even length have frequency 0 at another index each way, and lines of both ways make one image: that of lines forwards."""
        late = np.roll(self.full, 2, axis=2)  # an echo that is late in k, by an object's own phase
        expected = np.abs(self.image(lines(late)).images)
        for centre in (N // 2, N // 2 - 1):
            made = lines(late)
            made[1::2] = [acquisition(late[:, y, ::-1], kspace_encode_step_1=y, flags=["IS_REVERSE"], center_sample=centre) for y in range(1, N, 2)]
            with self.subTest(centre=centre), self.quiet():
                self.close_to(np.abs(self.image(made).images), expected, 1e-5)

    def test_a_centre_that_was_left_out(self):
        with self.warns("center_sample is 0, but lines of 48 samples have their energy about the middle, which is taken"):
            self.is_the_phantom(self.image(lines(self.full, center_sample=0)).images[0, 0], 1e-5)
        backwards = [acquisition(self.full[:, y, ::-1], kspace_encode_step_1=y, center_sample=0, flags=["IS_REVERSE"]) for y in range(N)]
        with self.warns("center_sample is 0"):
            self.is_the_phantom(self.image(backwards).images[0, 0], 1e-5)
        with self.quiet():  # half an echo, that begins at frequency 0
            raw = self.read([acquisition(self.full[:, y, N // 2:], kspace_encode_step_1=y, center_sample=0) for y in range(N)])
            self.assertEqual(raw.select().trajectory[0, 0], 0)
        for centre, words in ((0, "says that kspace_encode_step_1 0 is at frequency 0, but lines 0 to 47 have their energy about 24"),
                              (60, "says that kspace_encode_step_1 60 is at frequency 0, but lines 0 to 47 have their energy about 24")):
            with self.subTest(centre=centre), self.warns(words):
                self.is_the_phantom(self.image(lines(self.full), centres=(centre,)).images[0, 0], 1e-5)

    def test_lines_that_lost_their_oversampling(self):
        encoded = ((1, N, 2 * N), (5.0, FIELD, 2 * FIELD))
        with self.warns("lines have 48 samples where the encoded matrix has 96: they fill the field of view"):
            self.is_the_phantom(self.image(lines(self.full), encoded=encoded, recon=PLANE).images[0, 0], 1e-5)

    def test_reduced_phase_resolution_is_no_doubt(self):
        """36 of 48 lines of a field of view of three quarters: nothing that a caller could have got wrong."""
        n = 36
        k = np.stack(np.meshgrid((np.arange(N) - N // 2) / N, (np.arange(n) - n // 2) / N), axis=-1)
        samples = measured(k * [1, N / n * 0.75])
        encoded = ((1, n, N), (5.0, 0.75 * FIELD, FIELD))
        with self.quiet():
            self.image(lines(samples)[4:32], encoded=encoded, recon=((1, N, N), PLANE[1]), centres=(n // 2,))
            self.image(lines(self.full)[6:42], encoded=((1, N, 64), (5.0, FIELD, FIELD)), centres=(N // 2,))

    def test_echo_trains(self):
        """Their lines are not timed from the excitation, and those of both directions may have ghosts."""
        made = lines(self.full)
        made[1::2] = [acquisition(self.full[:, y, ::-1], kspace_encode_step_1=y, flags=["IS_REVERSE"], center_sample=N // 2) for y in range(1, N, 2)]
        with self.warns("echo-planar lines of both directions are taken as they are"):
            seen = self.read(made, kind="epi").select()
        self.assertTrue(np.isnan(seen.times).all())
        with plan(seen.trajectory, coils=COILS) as mri, self.assertRaisesRegex(isocenter.NotFiniteDataError, "times"):
            mri.set_field(np.ones((N, N), np.float32), seen.times)
        with plan(seen.trajectory, coils=COILS) as mri, self.warns("times are all 0"):
            mri.set_field(np.ones((N, N), np.float32), np.zeros(N * N))


class Coils(Ways):
    def test_reference_lines_of_another_encoding(self):
        """24 lines of a matrix of their own, with a field of view and centre of their own; every other line of the image."""
        k = np.stack(np.meshgrid((np.arange(24) - 12) / N, (np.arange(24) - 10) / N), axis=-1)
        reference = [acquisition(line, kspace_encode_step_1=y, encoding_space_ref=1, center_sample=12, flags=["IS_PARALLEL_CALIBRATION"])
                     for y, line in enumerate(measured(k).swapaxes(0, 1))]
        text = header(kind="cartesian", encoded=PLANE, coils=COILS, centres=(N // 2,))
        mine = header(kind="cartesian", encoded=((1, 24, 24), (5.0, FIELD, FIELD)), coils=COILS, centres=(10,))
        encoding = re.search("<encoding>.*</encoding>", mine, re.S)[0]
        path = write(self.path, text.replace("</ismrmrdHeader>", encoding + "</ismrmrdHeader>"), reference + lines(self.full)[::2])
        with self.quiet():
            raw = isocenter.raw.read(path)
            made = isocenter.raw.reconstruct(raw, iterations=40)
        self.assertEqual((raw.calibrated, raw.counters["slice"]), (True, (0,)))
        self.is_the_phantom(made.images[0, 0])

    def test_dead_coils_are_left_out(self):
        scan = noise((COILS, 4000), 7)
        scan[2] = 0
        dead = self.full.copy()
        dead[2] = 0
        made = [acquisition(scan, flags=["IS_NOISE_MEASUREMENT"])] + lines(dead)
        with self.warns("coil 2 is left out, whose noise is 0"):
            raw = self.read(made)
        self.assertEqual((raw.coils, raw.channels), (3, (0, 1, 3)))
        seen = isocenter.raw.reconstruct(raw)
        with self.quiet():
            chosen = isocenter.raw.reconstruct(self.path, coils=[0, 1, 3])
            self.assertEqual(isocenter.raw.read(self.path, coils=(3, 0)).channels, (3, 0))
        np.testing.assert_array_equal(seen.images, chosen.images)
        for coils in ([], [0, 0], [4], [-1]):
            with self.assertRaisesRegex(ValueError, "scan.h5 has 4, counted from 0"):
                isocenter.raw.read(self.path, coils=coils)
        with self.quiet():  # without a noise measurement zeros do no harm
            self.assertLess(np.linalg.norm(np.abs(self.image(lines(dead)).images[0, 0]) - np.abs(self.image(lines(self.full[[0, 1, 3]]), coils=3).images[0, 0])),
                            0.02 * np.linalg.norm(self.whole()))


class Options(Ways):
    def test_a_callers_maps(self):
        """True ones, of every other line without calibration: the image itself, whatever whitens and joins the coils."""
        every = lines(self.full)[::2]
        truth = np.abs(plan(grid().reshape(-1, 2)).phantom_image(PHANTOM))
        scan = acquisition(noise((COILS, 5000), 7), flags=["IS_NOISE_MEASUREMENT"])
        for extra, options in (([], {}), ([scan], {}), ([], {"virtual_coils": 3}), ([scan], {"whitening": False})):
            with self.subTest(options=options):
                made = self.image(extra + every, options={"maps": sensitivities(), "iterations": 40, **options})
                self.assertIsNone(made.calibration)
                # Ringing of the edges is a tenth of the image.
                self.close_to(np.abs(made.images[0, 0]), truth, 0.15)
        for maps, words in ((sensitivities()[:3], "maps has shape \\(3, 48, 48\\); it must be \\(4 coils, y, x\\)"),
                            (sensitivities()[:, ::2], "maps are of \\(24, 48\\) voxels; \\(48, 48\\) are solved for")):
            with self.assertRaisesRegex(ValueError, words):
                isocenter.raw.reconstruct(self.path, maps=maps)

    def test_maps_without_calibration(self):
        """Of lines that are missing in the middle, too, and of spokes: as good as with the true sensitivities."""
        kept = [y for y in range(N) if y % 2 == 0 or abs(y - N // 2) in (1, 5, 7)]  # lines 3 off the middle are missing
        some, k = [lines(self.full)[y] for y in kept], radial(20)
        spokes = [acquisition(measured(k[s]), k[s]) for s in range(len(k))]
        with self.assertRaisesRegex(ValueError, "of which coil sensitivities need 12.* calibration='nlinv'"):
            self.image(some)
        for made, kind in ((some, "cartesian"), (spokes, "radial")):
            with self.subTest(kind=kind), self.quiet():
                seen = self.image(made, kind=kind, options={"calibration": "nlinv", "iterations": 40})
                true = self.image(made, kind=kind, options={"maps": sensitivities() / np.linalg.norm(sensitivities(), axis=0), "iterations": 40})
                self.assertEqual((seen.calibration, seen.virtual_coils), ("nlinv", COILS))
                truth = np.abs(plan(grid().reshape(-1, 2)).phantom_image(PHANTOM)) * np.linalg.norm(sensitivities(), axis=0)
                inside = truth > 0
                errors = [np.linalg.norm((np.abs(m.images[0, 0]) - truth)[inside]) / np.linalg.norm(truth[inside]) for m in (seen, true)]
                self.assertLess(errors[0], 1.15 * errors[1], errors)
        # Every other line and nothing else: a word of warning.
        with self.warns("along y all samples are on lines that are further apart"):
            self.image(lines(self.full)[::2], options={"calibration": "nlinv"})
        one = self.image(lines(self.full[:1]), coils=1, options={"calibration": "nlinv"})
        self.assertIsNone(one.calibration)
        for options, words in (({"calibration": "espirit"}, "calibration is 'espirit'; it must be a number of lines, or 'nlinv'"),
                               ({"calibration": "nlinv", "crop": 0.8}, "crop is 0.8, of eigenvalues"),
                               ({"calibration": "nlinv", "map_sets": 2}, "finds one set .* map_sets is 2"), ({"calibration": "nlinv", "method": "grappa"}, "method is 'grappa', which needs them"),
                               ({"calibration": "nlinv", "maps": sensitivities()}, "maps are given, and calibration='nlinv' finds others")):
            with self.assertRaisesRegex(ValueError, words):
                isocenter.raw.reconstruct(self.path, **options)

    def test_a_callers_trajectory_and_weights(self):
        k = radial()
        made = [acquisition(measured(k[s]), k[s], repetition=s % 2) for s in range(len(k))]
        path = self.write(made, kind="radial")
        expected = isocenter.raw.reconstruct(path).images
        bare = [acquisition(measured(k[s]), repetition=s % 2) for s in range(len(k))]
        path = self.write(bare, kind="cartesian")
        seen = isocenter.raw.reconstruct(path, trajectory=k)  # of all images
        self.close_to(seen.images, expected, 1e-5)
        one = isocenter.raw.reconstruct(path, repetition=1, trajectory=k[1::2].astype(np.float32), unit="cycles_per_voxel")
        self.close_to(one.images, expected[1:], 0.02)  # whose maps are of the other frame
        with plan(isocenter.raw.read(path).select(repetition=1, trajectory=k).trajectory) as mri:
            mri.compute_weights()
            again = isocenter.raw.reconstruct(path, repetition=1, trajectory=k, weights=mri.weights())
        self.close_to(again.images, one.images, 1e-3)
        for trajectory, words in ((k[0], "trajectory is float64 of shape \\(96, 2\\); it must be real numbers \\(readouts, samples, 2 or 3\\), 24 readouts of this image, or 48"),
                                  (k[:, 1:], "trajectory has 95 samples a readout; .* has 96"), (k * 1j, "trajectory is complex128")):
            with self.assertRaisesRegex(ValueError, words):
                isocenter.raw.reconstruct(path, trajectory=trajectory)
        with self.assertRaisesRegex(ValueError, "weights has shape \\(3,\\); a frame has 2304 samples"):
            isocenter.raw.reconstruct(path, trajectory=k, weights=np.ones(3))

    def test_a_callers_whitening(self):
        scan = acquisition(noise((COILS, 5000), 7), flags=["IS_NOISE_MEASUREMENT"])
        path = self.write([scan] + lines(self.full))
        raw = isocenter.raw.read(path)
        found = isocenter.raw.reconstruct(path)
        given = isocenter.raw.reconstruct(path, whitening=raw.whitening(raw.select().dwell))
        np.testing.assert_array_equal(given.images, found.images)
        none = isocenter.raw.reconstruct(path, whitening=False)
        self.assertEqual((found.whitened, given.whitened, none.whitened), (True, True, False))
        np.testing.assert_array_equal(none.images, self.image(lines(self.full)).images)
        with self.assertRaisesRegex(ValueError, "whitening is True, but the file has no noise"):
            isocenter.raw.reconstruct(self.path, whitening=True)
        with self.assertRaisesRegex(ValueError, "whitening has shape \\(3, 3\\); it must be \\(4, 4\\)"):
            isocenter.raw.reconstruct(self.path, whitening=np.eye(3))

    def test_groups(self):
        import h5py
        path = self.write(lines(self.full))
        with h5py.File(path, "a") as file:
            file.move("dataset", "scans/first")
        self.is_the_phantom(isocenter.raw.reconstruct(path, group="scans/first").images[0, 0], 1e-6)
        with self.assertRaisesRegex(ValueError, "pass group="):
            isocenter.raw.reconstruct(path)
        with self.assertRaisesRegex(TypeError, "are for a path: pass them to isocenter.raw.read"):
            isocenter.raw.reconstruct(isocenter.raw.read(path, group="scans/first"), coils=[0])

    def test_command(self):
        k = radial()
        path = self.write([acquisition(measured(spoke)) for spoke in k])
        files = {name: os.path.join(self.folder.name, name + ".npy") for name in ("trajectory", "maps", "whitening", "out", "bad")}
        np.save(files["trajectory"], k), np.save(files["maps"], sensitivities()[[0, 1, 3]]), np.save(files["whitening"], np.eye(3))
        with open(files["bad"], "w") as file:
            file.write("maps")

        def run(*arguments):
            said = io.StringIO()
            with contextlib.redirect_stdout(said):
                main([path, "-o", files["out"], "--device", "cpu", *arguments])
            return said.getvalue()

        said = run("--coils", "0-1,3", "--trajectory", files["trajectory"], "--maps", files["maps"], "--whitening", files["whitening"], "--group", "dataset", "--kind", "radial")
        self.assertRegex(said, "kind='radial', coils=3[\\s\\S]*3 of 3 coils .* maps given")
        expected = isocenter.raw.reconstruct(path, coils=[0, 1, 3], trajectory=k, maps=sensitivities()[[0, 1, 3]], whitening=np.eye(3), kind="radial")
        self.close_to(np.load(files["out"]), expected.images, 1e-6)
        self.assertIn("maps found with the image", run("--trajectory", files["trajectory"], "--calibration", "nlinv"))
        with self.assertRaises(SystemExit) as caught, contextlib.redirect_stderr(io.StringIO()) as told:
            run("--calibration", "espirit")
        self.assertIn("argument --calibration: invalid lines value: 'espirit'", told.getvalue())
        with self.assertRaises(SystemExit) as caught:
            run("--maps", files["bad"])
        self.assertIn("which is no array of NumPy", str(caught.exception))
        for arguments, words in ((("--group", "none"), "pass --group"), (("--kind", "spiral"), "or pass --trajectory: the way")):  # its own options
            with self.assertRaises(SystemExit) as caught:
                run(*arguments)
            self.assertIn(words, str(caught.exception))


class Kinds(Ways):
    """Every kind of scan against the exact ellipses, shaded as its coils see them: the table in docs/raw.md."""
    SMOOTH, FINE = 3.0, 8  # voxels of a Gaussian's width at half maximum, in which ringing of edges is no more; parts of a voxel

    def smoothed(self, image):
        k = np.fft.fftfreq(N)
        return np.fft.ifft2(np.fft.fft2(image) * np.exp(-2 * (math.pi * self.SMOOTH / 2.3548) ** 2 * (k[:, None] ** 2 + k**2))).real

    def error(self, image, coils=None, part=1.0, middle=(0, 0)):
        """Per cent of the truth, after both were smoothed, but for a scale; `middle` is where the image's is, in voxels x and y."""
        y, x = (np.mgrid[:N * self.FINE, :N * self.FINE] + 0.5) / self.FINE - 0.5 - N // 2 + np.array(middle[::-1]).reshape(2, 1, 1)
        truth = sum(value * (np.hypot(x - cx, y - cy) < radius) for value, cx, cy, _, radius, *_ in PHANTOM).reshape(N, self.FINE, N, self.FINE).mean(axis=(1, 3))
        truth = self.smoothed(part * truth * np.linalg.norm(sensitivities() if coils is None else coils, axis=0))
        seen = self.smoothed(np.abs(image))
        scale = (seen * truth).sum() / (truth * truth).sum()
        self.assertAlmostEqual(scale, 1, delta=0.02)
        return 100 * np.linalg.norm(seen / scale - truth) / np.linalg.norm(truth)

    def along(self, k, weights=None, **words):
        """Readouts along a trajectory, of a volume of planes of these weights where there are any."""
        samples = measured(k)
        if weights is None:
            return [acquisition(samples[:, s], k[s], **words) for s in range(len(k))]
        n = len(weights)
        z = np.arange(n) - n // 2
        return [acquisition(samples[:, s] * (weights @ np.exp(-2j * math.pi * kz * z)), k[s], kspace_encode_step_2=step)
                for step, kz in enumerate(z / n) for s in range(len(k))]

    def accelerated(self, factor):
        middle = lines(self.full, flags=["IS_PARALLEL_CALIBRATION_AND_IMAGING"])
        return [middle[y] if 12 <= y < 36 else a for y, a in enumerate(lines(self.full)) if y % factor == 0 or 12 <= y < 36]

    def test_errors_without_calibration(self):
        """Lines are missing in the middle, too; 2.5 %, as with the true sensitivities: around the object they are not 0, as ESPIRiT's are."""
        some = [a for y, a in enumerate(lines(self.full)) if y % 2 == 0 or abs(y - N // 2) in (1, 5, 7)]
        unit = sensitivities() / np.linalg.norm(sensitivities(), axis=0)
        for made, kind in ((some, "cartesian"), (self.along(radial(38)), "radial")):
            with self.quiet():
                found, true = (self.error(self.image(made, kind=kind, options=o).images[0, 0]) for o in ({"calibration": "nlinv"}, {"maps": unit}))
            if os.environ.get("ISOC_TEST_FIGURES"):
                print(f"{kind} without calibration: {found}, true maps {true}")
            self.assertLess(found, 1.02 * true, kind)
            self.assertLess(found, 2.6, kind)

    def test_errors(self):
        both_ways = lines(self.full)
        both_ways[1::2] = [acquisition(self.full[:, y, ::-1], kspace_encode_step_1=y, flags=["IS_REVERSE"], center_sample=N // 2) for y in range(1, N, 2)]
        weights, volume = np.array([0, 1, 0.5, 1, 1, 0]), {"encoded": ((6, N, N), (30.0, FIELD, FIELD)), "centres": (0, 3)}
        mixing = np.eye(COILS) + 0.4 * np.random.default_rng(1).standard_normal((COILS, COILS))
        scan = acquisition(mixing @ noise((COILS, 20000), 7), flags=["IS_NOISE_MEASUREMENT"])
        shades = np.tensordot(np.linalg.inv(np.linalg.cholesky(mixing @ mixing.T)), sensitivities(), 1)
        planes = [a for z in range(3) for a in lines((1 + z) * self.full, slice=z, position=(0, 0, 6 * z), **AXIAL)]
        echoes = [a for echo in (0, 1) for a in lines((1 - 0.4 * echo) * self.full, contrast=echo)]
        found = {}
        for name, made, options in (
                ("Cartesian", lines(self.full), {}), ("Cartesian, every 2nd line", self.accelerated(2), {}), ("Cartesian, every 3rd line", self.accelerated(3), {}),
                ("EPI", both_ways, {"kind": "epi", "centres": (N // 2,)}), ("radial", self.along(radial(76)), {"kind": "radial"}),
                ("radial, 38 spokes", self.along(radial(38)), {"kind": "radial"}), ("spiral", self.along(spiral(16, turns=4)), {"kind": "spiral"}),
                ("noise scan", [scan] + lines(self.full), {})):
            with self.subTest(name), self.warns("lines of both directions") if name == "EPI" else self.quiet():
                found[name] = self.error(self.image(made, **options).images[0, 0], shades if name == "noise scan" else None)
        for name, k, kind in (("3-D stack of stars", radial(76), "radial"), ("3-D stack of spirals", spiral(16, turns=4), "spiral")):
            images = self.image(self.along(k, weights), kind=kind, **volume).images[0]
            found[name] = max(self.error(images[z], part=weights[z]) for z in (1, 2, 3, 4))
        images = self.image(planes).images[0]
        found["multi-slice"] = max(self.error(images[z], part=1 + z) for z in range(3))
        images = self.image(echoes).images
        found["multi-echo"] = max(self.error(images[e, 0], part=1 - 0.4 * e) for e in (0, 1))
        text = header(kind="cartesian", encoded=((1, 32, 32), (5.0, 100.0, 100.0)), coils=COILS)
        second = re.search("<encoding>.*</encoding>", header(kind="cartesian", encoded=PLANE, coils=COILS, centres=(N // 2,)), re.S)[0]
        path = write(self.path, text.replace("</ismrmrdHeader>", second + "</ismrmrdHeader>"),
                     [acquisition(noise((COILS, 32)), kspace_encode_step_1=y) for y in range(32)] + lines(self.full, encoding_space_ref=1))
        found["several encodings"] = self.error(isocenter.raw.reconstruct(path, encoding=1).images[0, 0])
        if os.environ.get("ISOC_TEST_FIGURES"):
            print(found)
        self.assertLess(max(found.values()), 2.0, found)


if __name__ == "__main__":
    unittest.main()
