"""Volumes of every kind, as others read them. scripts/test_program_volumes.sh runs it; ISOCENTER is the command."""
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

import h5py
import numpy as np
import ome_zarr_models
import tifffile
import zarr
from ome_zarr.io import parse_url
from ome_zarr.reader import Reader
from silx.io.nxdata import get_default

PIXEL = 0.0065
ROWS, BINS, VIEWS = 25, 300, 46
FIRST, SLICES = 4, 21
WINDOW = (-0.5, 6.0)
DEPTHS = {"f32": np.float32, "u16": np.uint16, "u8": np.uint8}


def scan(path):
    """Line integrals of a rod, in a Data Exchange file."""
    view, row, column = np.ogrid[:VIEWS, :ROWS, :BINS]
    s = column - 149.5 - 60 * np.cos(np.pi * view / VIEWS)
    noise = np.random.default_rng(1).normal(0, 0.003, (VIEWS, ROWS, BINS))
    with h5py.File(path, "w") as file:
        file["exchange/data"] = (np.exp(-s * s / 200) * (0.5 + row / ROWS) * PIXEL * 30 + noise).astype("f4")


class Volumes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = Path(cls.temporary.name)
        scan(cls.folder / "scan.h5")
        cls.values = {depth: cls.hdf5(cls.made(f"{depth}.h5", depth))[:] for depth in DEPTHS}

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    @classmethod
    def made(cls, name, depth, *more):
        words = [os.environ["ISOCENTER"], "recon", "scan.h5", "-o", name, "--depth", depth, "--axis", "149.5", "--device", "cpu"]
        words += ["--rows", f"{FIRST}..{FIRST + SLICES}", "--pixel", str(PIXEL), "--stripes", "off", *more]
        if depth != "f32":
            words += ["--window", *map(str, WINDOW)]
        subprocess.run(words, cwd=cls.folder, check=True, capture_output=True, text=True)
        return cls.folder / name

    @staticmethod
    def hdf5(path):
        with h5py.File(path) as file:
            return file["entry/reconstruction/data"][()]

    def scale(self, depth):
        most = {"u16": 65535, "u8": 255}[depth]
        return (WINDOW[1] - WINDOW[0]) / most, WINDOW[0]

    def same(self, values, depth):
        values = np.asarray(values)
        self.assertEqual(values.dtype, DEPTHS[depth])
        self.assertEqual(values.shape, (SLICES, BINS, BINS))
        self.assertTrue((values == self.values[depth]).all())

    def test_there_is_something_in_it(self):
        self.assertGreater(np.ptp(self.values["f32"]), 1)
        for depth in ("u16", "u8"):
            slope, offset = self.scale(depth)
            off = np.abs(self.values[depth] * slope + offset - np.clip(self.values["f32"], *WINDOW))
            # Half a step, and what f32 rounds.
            self.assertLess(off.max(), 0.5 * slope + 1e-6)

    def test_nexus(self):
        for depth in DEPTHS:
            with h5py.File(self.folder / f"{depth}.h5") as file:
                data = get_default(file)
                self.assertTrue(data.is_valid, data.issues)
                self.assertEqual(data.signal.name, "/entry/reconstruction/data")
                self.assertEqual(data.axes_dataset_names, ["z", "y", "x"])
                # From the detector's middle row, which is not that of the slices, and from the axis.
                middles = ((ROWS - 1) / 2 - FIRST, (BINS - 1) / 2, (BINS - 1) / 2)
                for axis, count, middle in zip(data.axes, (SLICES, BINS, BINS), middles):
                    self.assertEqual(axis.attrs["units"], "mm")
                    np.testing.assert_allclose(axis[()], PIXEL * (np.arange(count) - middle), atol=1e-12)
                if depth != "f32":
                    stored = data.signal.attrs["scale_factor"], data.signal.attrs["add_offset"]
                    np.testing.assert_allclose(stored, self.scale(depth), rtol=1e-12)

    def tags(self, file, depth, pages):
        page = file.pages[0]
        self.assertEqual(page.tags["ResolutionUnit"].value, tifffile.RESUNIT.CENTIMETER)
        for name in ("XResolution", "YResolution"):
            above, below = page.tags[name].value
            self.assertAlmostEqual(below / above, PIXEL / 10, 9)
        about = file.imagej_metadata
        self.assertEqual(about["unit"], "cm")
        self.assertAlmostEqual(about["spacing"], PIXEL / 10, 9)
        self.assertEqual(about.get("slices", 1), pages)
        if depth != "f32":
            slope, offset = self.scale(depth)
            self.assertAlmostEqual(about["c0"], offset)
            self.assertAlmostEqual(about["c1"], slope)

    def test_tiff_pages(self):
        for depth in DEPTHS:
            with tifffile.TiffFile(self.made(f"{depth}.tif", depth)) as file:
                self.assertTrue(file.is_imagej)
                self.assertEqual(len(file.pages), SLICES)
                self.same(file.asarray(), depth)
                self.tags(file, depth, SLICES)

    def test_tiff_slices(self):
        for depth in DEPTHS:
            folder = self.made(f"slices_{depth}/", depth)
            names = sorted(path.name for path in folder.iterdir())
            # Numbers are detector rows.
            self.assertEqual(names, [f"slices_{depth}_{row:05}.tif" for row in range(FIRST, FIRST + SLICES)])
            self.same(tifffile.imread([folder / name for name in names]), depth)
            with tifffile.TiffFile(folder / names[0]) as file:
                self.tags(file, depth, 1)

    def test_vol(self):
        for depth in DEPTHS:
            path = self.made("v.vol" if depth == "f32" else f"{depth}.raw", depth)
            lines = path.with_name(path.name + ".info").read_text().splitlines()
            self.assertTrue(lines[0].startswith("! PyHST"))
            info = dict(line.split(" = ") for line in lines[1:])
            dtype = info.get("DATA_TYPE", "float32")
            self.same(np.fromfile(path, dtype).reshape([int(info[f"NUM_{axis}"]) for axis in "ZYX"]), depth)
            self.assertEqual(float(info["voxelSize"]), PIXEL * 1000)
            self.assertEqual(info["BYTEORDER"], "LOWBYTEFIRST")
            self.assertEqual(np.float32(info["ValMin"]), self.values[depth].min())
            self.assertEqual(np.float32(info["ValMax"]), self.values[depth].max())

    def test_zarr(self):
        for depth in DEPTHS:
            for compression in ("none", "zstd"):
                path = self.made(f"{depth}_{compression}.zarr", depth, "--compression", compression)
                group = zarr.open_group(path, mode="r")
                self.same(group["0"][:], depth)
                before = group["0"][:].astype(float)
                small = group["1"][:]
                # Ends are odd along slices alone.
                before = np.concatenate([before, before[-1:]])
                means = before.reshape(len(small), 2, BINS // 2, 2, BINS // 2, 2).mean((1, 3, 5))
                step = 0.5 if depth != "f32" else 1e-5
                self.assertLessEqual(np.abs(small - means).max(), step)
                self.assertNotIn("2", group)
                ome_zarr_models.open_ome_zarr(group)
                self.ome(path, depth)

    def ome(self, path, depth):
        (node,) = Reader(parse_url(path))()
        self.same(node.data[0], depth)
        self.assertEqual([axis["unit"] for axis in node.metadata["axes"]], ["millimeter"] * 3)
        for k, transforms in enumerate(node.metadata["coordinateTransformations"]):
            scale, first = transforms[0]["scale"], transforms[1]["translation"]
            np.testing.assert_allclose(scale, PIXEL * 2**k)
            middles = [((2**k - 1) / 2 - middle) * PIXEL for middle in ((ROWS - 1) / 2 - FIRST, (BINS - 1) / 2, (BINS - 1) / 2)]
            np.testing.assert_allclose(first, middles)
        if depth != "f32":
            most = {"u16": 65535, "u8": 255}[depth]
            self.assertEqual(node.metadata["contrast_limits"], [[0, most]])


if __name__ == "__main__":
    unittest.main()
