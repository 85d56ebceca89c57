"""ISMRMRD files of images: what the format's own package reads is what was made, where it was made."""
import contextlib
import io
import os
import unittest
import xml.etree.ElementTree as ElementTree

import numpy as np

import isocenter
import isocenter.raw
from isocenter.raw.__main__ import main
from test_raw import FIELD, N, ismrmrd, lines
from test_raw_ways import AXIAL, Ways, acquisition

TILTED = {"read_dir": (0, 1, 0), "phase_dir": (-0.6, 0, 0.8), "slice_dir": (0.8, 0, 0.6)}


def affine(head):
    """From voxel (x, y, z, 1) to mm, of an image's head as the format means it."""
    made, size = np.eye(4), np.array(head.matrix_size[:], float)
    made[:3, :3] = np.stack([head.read_dir, head.phase_dir, head.slice_dir], axis=1) * (np.array(head.field_of_view[:]) / size)
    made[:3, 3] = head.position[:] - made[:3, :3] @ (size // 2)
    return made


class Written(Ways):
    def setUp(self):
        super().setUp()
        self.out = os.path.join(self.folder.name, "images.h5")

    def written(self, made, group="dataset", **words):
        """Writes, and reads all again."""
        isocenter.raw.write_ismrmrd(self.out, made, group=group, **words)
        with ismrmrd.Dataset(self.out, group, mode="r") as file:
            return [file.read_image("image_1", number) for number in range(file.number_of_images("image_1"))]

    def test_slices_of_frames(self):
        """Of a stack whose slices came in another order: in the order of their places, each with its counters, place and times."""
        made = [a for repetition in (0, 1) for slice, z in ((0, 8.0), (1, -8.0), (2, 0.0))
                for a in lines((1 + slice + 3 * repetition) * self.full, slice=slice, repetition=repetition, contrast=2, position=[5.0, -7.0 + z * 0.8, z * 0.6],
                               acquisition_time_stamp=1000 * repetition + slice, measurement_uid=17, patient_table_position=(1, 2, 3), read_dir=(1, 0, 0), phase_dir=(0, 0.6, -0.8),
                               slice_dir=(0, 0.8, 0.6))]
        scan = self.image(made)
        self.assertEqual(scan.slices, [1, 2, 0])
        for kind, dtype in (("magnitude", "float32"), ("complex", "complex64")):
            seen = self.written(scan, images=kind)
            self.assertEqual(len(seen), 6)
            for number, image in enumerate(seen):
                frame, place = divmod(number, 3)
                head, slice = image.getHead(), scan.slices[place]
                expected = scan.images[frame, place]
                self.assertEqual((image.data.dtype, image.data.shape), (np.dtype(dtype), (1, 1, N, N)))
                np.testing.assert_array_equal(image.data[0, 0], expected if kind == "complex" else np.abs(expected))
                # Places are float32 in the file: 1e-6 of 120 mm.
                np.testing.assert_allclose(affine(head), scan.affines[frame, place], atol=1e-4)
                self.assertEqual((head.version, head.channels, head.image_index, head.image_series_index, head.slice, head.repetition, head.contrast, head.acquisition_time_stamp,
                                  head.measurement_uid, list(head.patient_table_position), list(head.field_of_view), list(head.matrix_size), head.image_type),
                                 (1, 1, number + 1, 1, slice, frame, 2, 1000 * frame + slice, 17, [1, 2, 3], [FIELD, FIELD, 5.0], [N, N, 1], 5 if kind == "complex" else 1))
                names = {meta.findtext("name"): [v.text for v in meta.iter("value")] for meta in ElementTree.fromstring(image.attribute_string)}
                self.assertEqual((names["DataRole"], names["ImageColumnDir"]), (["Image"], ["0", "0.600000024", "-0.800000012"]))

    def test_a_volume(self):
        n = 16
        samples = np.fft.fftshift(np.fft.fftn(np.random.default_rng(0).standard_normal((n, n, n)))).astype("complex64")
        made = [acquisition(samples[z, y][None], kspace_encode_step_1=y, kspace_encode_step_2=z, position=(1, 2, 3), **TILTED) for z in range(n) for y in range(n)]
        scan = self.image(made, encoded=((n, n, n), (48.0, 32.0, 32.0)), coils=1, centres=(8, 8))
        image, = self.written(scan, group="scans/first")
        self.assertEqual((scan.heads.shape, image.data.shape, list(image.field_of_view)), ((1, 1), (1, n, n, n), [32, 32, 48]))
        np.testing.assert_array_equal(image.data[0], np.abs(scan.images[0]))
        np.testing.assert_allclose(affine(image.getHead()), scan.affine, atol=1e-5)

    def test_others_may_append(self):
        self.written(self.image(lines(self.full, **AXIAL)))
        with ismrmrd.Dataset(self.out, "dataset") as file:
            self.assertEqual(file._dataset["image_1/header"][0]["attribute_string_len"], len(file._dataset["image_1/attributes"][0]))
            file.append_image("image_1", file.read_image("image_1", 0))
            self.assertEqual(file.number_of_images("image_1"), 2)

    def test_mistakes(self):
        scan = self.image(lines(self.full, **AXIAL))
        with self.assertRaisesRegex(ValueError, r"write_ismrmrd: .*scan.h5 has acquisitions \(dataset/data\), which would be lost: choose another name"):
            isocenter.raw.write_ismrmrd(self.path, scan)
        isocenter.raw.read(self.path)
        with self.assertRaisesRegex(ValueError, "images is 'phase'; it must be one of 'magnitude', 'complex'"):
            self.written(scan, images="phase")
        for images in (scan.images[..., :24], np.concatenate([scan.images] * 2), scan.images[:0]):
            with self.assertRaisesRegex(ValueError, "and heads are of 1 frames of 1 image of \\(1, 48, 48\\) voxels: their places would be wrong"):
                self.written(scan._replace(images=images))
        with self.assertRaisesRegex(ValueError, "there are 65536 images, of which the format numbers 65535"):
            self.written(scan._replace(heads=np.repeat(scan.heads, 65536, axis=0), images=np.broadcast_to(scan.images[:, :, :1, :1], (65536, 1, 1, 1))))
        self.written(scan)
        self.written(scan)  # images are replaced
        with self.assertRaises(OSError):
            isocenter.raw.write_ismrmrd(os.path.join(self.folder.name, "none", "images.h5"), scan)

    def test_command(self):
        path = self.write(lines(self.full, **AXIAL))

        def run(*arguments):
            with contextlib.redirect_stdout(io.StringIO()) as said, contextlib.redirect_stderr(said):
                try:
                    main([path, *arguments])
                except SystemExit as e:
                    return said.getvalue() + str(e)
                return said.getvalue()

        self.assertIn("written: " + self.out, run("-o", self.out, "--images", "complex"))
        with ismrmrd.Dataset(self.out, "dataset", mode="r") as file:
            np.testing.assert_array_equal(file.read_image("image_1", 0).data[0], isocenter.raw.reconstruct(path).images[0])
        self.assertIn("has acquisitions (dataset/data), which would be lost", run("-o", path))
        self.assertIn("--images is of ISMRMRD files: --output must be NAME.h5", run("-o", self.out[:-3] + ".npy", "--images", "complex"))
        self.assertIn("invalid choice", run("-o", self.out, "--images", "phase"))


if __name__ == "__main__":
    unittest.main()
