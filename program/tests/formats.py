#!/usr/bin/env python3
"""The program's reading beside tifffile's, fabio's and h5py's: stacks that they write and read back have to become the volume of the same
frames in an NXtomo file of h5py's.

usage: formats.py ISOCENTER    the program; needs numpy, h5py, tifffile, imagecodecs and fabio"""
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import fabio
import fabio.edfimage
import h5py
import numpy as np
import tifffile

VIEWS, ROWS, BINS = 31, 4, 48
ISOCENTER = Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else None


def scan(dtype):
    """Projections of a rod with noise, a flat and a dark, in counts that any type can hold."""
    rng = np.random.default_rng(3)
    angles = np.pi * np.arange(VIEWS) / VIEWS
    bins = np.arange(BINS)
    depth = 0.9 * np.exp(-((bins - 23.2 - 9 * np.cos(angles)[:, None]) ** 2) / 12)
    views = 10 + 100 * np.exp(-depth)[:, None, :] + rng.integers(0, 4, (VIEWS, ROWS, BINS))
    return [np.asarray(part, dtype) for part in (views, np.full((2, ROWS, BINS), 111), np.full((2, ROWS, BINS), 9))]


class Formats(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="isocenter-formats-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.expected = {}

    def volume(self, *words):
        words = [ISOCENTER, "recon", *words, "--axis", "23.2", "--device", "cpu", "-o", "volume.h5"]
        done = subprocess.run(words, cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, f"{words}: {done.stderr}")
        with h5py.File(self.folder / "volume.h5") as file:
            return file["entry/reconstruction/data"][()]

    def of_h5py(self, dtype):
        """The volume of an NXtomo file."""
        if dtype not in self.expected:
            views, flats, darks = scan(dtype)
            with h5py.File(self.folder / "scan.nx", "w") as file:
                entry = file.create_group("entry")
                entry.attrs["NX_class"] = "NXentry"
                entry["definition"] = "NXtomo"
                entry["instrument/detector/data"] = np.concatenate([darks, flats, views])
                entry["instrument/detector/image_key"] = np.repeat([2, 1, 0], [2, 2, VIEWS])
                entry["sample/rotation_angle"] = np.concatenate([np.zeros(4), 180 * np.arange(VIEWS) / VIEWS])
                entry["sample/rotation_angle"].attrs["units"] = "degree"
            self.expected[dtype] = self.volume("scan.nx")
            self.assertGreater(np.ptp(self.expected[dtype]), 0)
        return self.expected[dtype]

    def same(self, dtype, *words):
        # The same numbers take the same way: to the bit.
        self.assertTrue(np.array_equal(self.volume(*words), self.of_h5py(dtype)), words)

    def test_tiff(self):
        kinds = [dict(dtype=dtype) for dtype in ("u1", "i1", "u2", "i2", "u4", "i4", "f4", "f8")]
        kinds += [dict(dtype=dtype, byteorder=">") for dtype in ("u2", "f4")]
        kinds += [dict(dtype="u2", compression=codec) for codec in ("lzw", "zlib", "packbits", "zstd")]
        kinds += [dict(dtype=dtype, compression="zlib", predictor=True) for dtype in ("u2", "f4")]
        kinds += [dict(dtype="f4", compression="lzw", predictor=True, byteorder=">", tile=(16, 16))]
        kinds += [dict(dtype="u2", **more) for more in (dict(bigtiff=True), dict(rowsperstrip=3), dict(tile=(16, 32)))]
        for kind in kinds:
            with self.subTest(kind):
                dtype, options = kind["dtype"], {key: value for key, value in kind.items() if key != "dtype"}
                views, flats, darks = scan(dtype)
                into = self.folder / "tiff"
                into.mkdir()
                for name, frames in ("rod", views), ("flat", flats), ("dark", darks):
                    for k, frame in enumerate(frames):
                        # tifffile's own names for what is not in the file.
                        tifffile.imwrite(into / f"{name}_{k}.tif", frame, photometric="minisblack", metadata=None, **options)
                files = [into / f"rod_{k}.tif" for k in range(VIEWS)]
                self.assertTrue(np.array_equal(tifffile.imread(files), views))
                self.same(dtype, "tiff")
                shutil.rmtree(into)

    def test_tiff_in_one_file(self):
        views, flats, darks = scan("u2")
        tifffile.imwrite(self.folder / "flats.tif", flats, photometric="minisblack")
        tifffile.imwrite(self.folder / "darks.tif", darks, photometric="minisblack")
        for options in ({}, dict(imagej=True), dict(truncate=True), dict(bigtiff=True), dict(compression="zlib"), dict(ome=True)):
            with self.subTest(options):
                photometric = {} if options.get("imagej") else dict(photometric="minisblack")
                tifffile.imwrite(self.folder / "rods.tif", views, **options, **photometric)
                self.assertTrue(np.array_equal(tifffile.imread(self.folder / "rods.tif").reshape(views.shape), views))
                self.same("u2", "rods.tif", "--flats", "flats.tif", "--darks", "darks.tif")

    def test_edf(self):
        for dtype in ("u1", "i1", "u2", "i2", "u4", "i4", "f4", "f8"):
            with self.subTest(dtype):
                views, flats, darks = scan(dtype)
                into = self.folder / "rod"
                into.mkdir()
                write = lambda name, data: fabio.edfimage.EdfImage(data=data, header={"motor_mne": "a b"}).write(str(into / name))
                for k, frame in enumerate(views):
                    write(f"rod{k:04}.edf", frame)
                for name, frames in ("ref{:04}_0000.edf", flats), ("darkHST{:04}.edf", darks):
                    for k, frame in enumerate(frames):
                        write(name.format(k), frame)
                read = [fabio.open(str(into / f"rod{k:04}.edf")).data for k in range(VIEWS)]
                self.assertTrue(np.array_equal(read, views))
                self.same(dtype, "rod")
                whole = fabio.edfimage.EdfImage(data=views[0])
                for frame in views[1:]:
                    whole.append_frame(data=frame)
                whole.write(str(self.folder / "whole.edf"))
                with fabio.open(str(self.folder / "whole.edf")) as file:
                    self.assertTrue(np.array_equal([file.get_frame(k).data for k in range(file.nframes)], views))
                self.same(dtype, "whole.edf", "--flats", "rod/ref*.edf", "--darks", "rod/dark*.edf")
                shutil.rmtree(into)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
