"""Geometries of ASTRA and TomoPy, against ASTRA itself."""
import math
import os
import sys
import unittest

import numpy as np

import isocenter

try:
    import astra
except ImportError as e:
    if os.environ.get("ISOC_TEST_RELEASE") and sys.platform != "win32":
        raise
    print(f"skipped: ASTRA cannot be imported ({e})")
    astra = None

VIEWS, BINS, NX, NY = 120, 150, 96, 80
ANGLES = 0.1 + np.arange(VIEWS) * math.pi / VIEWS


def smooth(shape):
    """A slice of blobs, off the centre and without symmetry, wide enough for any interpolation to follow them."""
    y, x = np.mgrid[:shape[0], :shape[1]].astype(float)
    y, x = y / shape[0], x / shape[1]
    blobs = ((1.0, 0.62, 0.65, 0.07), (0.6, 0.35, 0.3, 0.09), (-0.4, 0.7, 0.4, 0.05))
    return sum(a * np.exp(-((y - i) ** 2 + (x - j) ** 2) / (2 * w * w)) for a, i, j, w in blobs).astype(np.float32)


def blob(shape, i, j):
    """A point, blurred so that its shadow's mean is where the point's is, to a hundredth of a bin."""
    y, x = np.mgrid[:shape[0], :shape[1]]
    return np.exp(-((y - i) ** 2 + (x - j) ** 2) / (2 * 2.0 ** 2)).astype(np.float32)


def rms(values):
    return math.sqrt(np.mean(values.astype(float) ** 2))


@unittest.skipUnless(astra, "ASTRA cannot be imported")
class Astra(unittest.TestCase):
    """ASTRA's "linear" projector is Joseph's, as `forward` is: in f32, on the same rays, they agree but for rounding."""

    def scans(self):
        parallel = astra.create_proj_geom("parallel", 1.0, BINS, ANGLES)
        yield "parallel", parallel, astra.create_vol_geom(NY, NX)
        yield "bin pitch", astra.create_proj_geom("parallel", 0.75, BINS, ANGLES), astra.create_vol_geom(NY, NX)
        yield "window", parallel, astra.create_vol_geom(NY, NX, -30.0, 18.0, -12.0, 28.0)
        yield "shifted detector", astra.geom_postalignment(parallel, 7.3), astra.create_vol_geom(NY, NX)
        moved = astra.geom_postalignment(parallel, 0.0)
        moved["Vectors"][:, 2:4] += np.random.default_rng(0).uniform(-4, 4, (VIEWS, 2))
        yield "jitter", moved, astra.create_vol_geom(NY, NX)
        # The same rays, met by a detector that is not across them.
        oblique = astra.geom_postalignment(parallel, 0.0)
        oblique["Vectors"][:, 4:6] += 0.5 * oblique["Vectors"][:, 0:2]
        yield "oblique detector", oblique, astra.create_vol_geom(NY, NX)
        backwards = astra.geom_postalignment(parallel, 2.0)
        backwards["Vectors"][:, 0:2] *= -3
        yield "rays of the other sense", backwards, astra.create_vol_geom(NY, NX)
        mirrored = astra.geom_postalignment(parallel, 2.0)
        mirrored["Vectors"][:, 4:6] *= -1
        yield "mirrored detector", mirrored, astra.create_vol_geom(NY, NX)

    def test_forward_projections_agree(self):
        for name, scan, grid in self.scans():
            with self.subTest(name), isocenter.CT(**isocenter.from_astra(scan, grid)) as ct:
                image = smooth((NY, NX))
                projector = astra.create_projector("linear", scan, grid)
                number, theirs = astra.create_sino(image, projector)
                astra.data2d.delete(number)
                astra.projector.delete(projector)
                ours = ct.forward(image)
                # Rounding in f32: places up to 150 bins are off by up to 1e-5 bins, where neighbours differ by less than a tenth of the
                # largest value; sums of 100 terms by up to 100 x 6e-8 of it. Together 7e-6 on either side.
                self.assertLess(np.abs(ours - theirs).max(), 2e-5 * theirs.max())

    def test_filtered_back_projections_agree(self):
        """ASTRA back projects by the transpose of its ray-driven projector, whose pixels get unequal shares of the rays: single
        pixels are off by a few percent (against the truth, too), the mean is not. A slice that lay one pixel elsewhere, or
        were mirrored, would differ by much more: the least of these differences sets the tolerance, and the mean the scale."""
        for name, scan, grid in list(self.scans())[:2]:
            with self.subTest(name), isocenter.CT(**isocenter.from_astra(scan, grid)) as ct:
                truth = smooth((NY, NX))
                sinogram = ct.forward(truth)
                theirs, ours = self.fbp(scan, grid, sinogram), ct.reconstruct(sinogram)
                self.assertLess(np.abs(ours - truth).max(), 0.01)
                moved = (theirs[::-1], theirs[:, ::-1], theirs[::-1, ::-1], np.roll(theirs, 1, 0), np.roll(theirs, 1, 1))
                self.assertLess(rms(ours - theirs), 0.2 * min(rms(ours - m) for m in moved))
                self.assertAlmostEqual(ours.mean(), theirs.mean(), delta=1e-3 * truth.mean())

    def test_filters_have_the_names_of_the_porting_page(self):
        """With noise, filters differ by more than the two projectors do; a cutoff is ASTRA's FilterD, except with Parzen's window."""
        scan, grid = astra.create_proj_geom("parallel", 1.0, BINS, ANGLES), astra.create_vol_geom(BINS, BINS)
        rows, columns = np.mgrid[:BINS, :BINS] - (BINS - 1) / 2
        inside = rows ** 2 + columns ** 2 < (0.4 * BINS) ** 2
        with isocenter.CT(**isocenter.from_astra(scan, grid)) as ct:
            sinogram = ct.forward(smooth((BINS, BINS)))
            sinogram += np.random.default_rng(0).normal(0, 0.5, sinogram.shape).astype(np.float32)

            def slices(cutoff):
                for name in ("ram_lak", "shepp_logan", "cosine", "hamming", "hann", "parzen"):
                    ct.set_options(filter=name, cutoff=cutoff)
                    yield name, ct.reconstruct(sinogram)[inside]

            for cutoff in (1.0, 0.6):
                ours = dict(slices(cutoff))
                for name in ours:
                    if name == "parzen" and cutoff != 1.0:
                        continue
                    theirs = self.fbp(scan, grid, sinogram, name.replace("_", "-"), cutoff)[inside]
                    nearest = min(ours, key=lambda other: rms(ours[other] - theirs))
                    self.assertEqual(nearest, name, cutoff)
            # Unfiltered, ASTRA's values are half of ours.
            ct.set_options(filter="none")
            half = self.fbp(scan, grid, sinogram, "none")[inside] / ct.reconstruct(sinogram)[inside]
            self.assertAlmostEqual(np.median(half), 0.5, delta=0.005)

    def test_scale_with_pitch_and_pixel(self):
        for pitch, pixels in ((0.5, BINS), (2.0, BINS), (0.5, BINS // 2)):
            side = pitch * BINS
            scan = astra.create_proj_geom("parallel", pitch, BINS, ANGLES)
            grid = astra.create_vol_geom(pixels, pixels, -side / 2, side / 2, -side / 2, side / 2)
            with self.subTest(pitch=pitch, pixels=pixels), isocenter.CT(**isocenter.from_astra(scan, grid)) as ct:
                sinogram = ct.phantom_projections([[1.0, 0.0, 0.0, side / 3, side / 3, 0.0]])[:, 0]
                middle = slice(3 * pixels // 8, 5 * pixels // 8)
                for made in (ct.reconstruct(sinogram), self.fbp(scan, grid, sinogram)):
                    self.assertAlmostEqual(made[middle, middle].mean(), 1.0, delta=0.005)

    @staticmethod
    def fbp(scan, grid, sinogram, window="ram-lak", cutoff=1.0):
        projector = astra.create_projector("linear", scan, grid)
        source, target = astra.data2d.create("-sino", scan, sinogram), astra.data2d.create("-vol", grid)
        config = astra.astra_dict("FBP")
        config.update(ProjectionDataId=source, ReconstructionDataId=target, ProjectorId=projector, FilterType=window)
        if window != "none":
            config["option"] = {"FilterD": cutoff}
        algorithm = astra.algorithm.create(config)
        astra.algorithm.run(algorithm)
        made = astra.data2d.get(target)
        astra.algorithm.delete(algorithm)
        astra.data2d.delete([source, target])
        astra.projector.delete(projector)
        return made

    def test_three_dimensions(self):
        """ASTRA projects these on GPUs alone; its vectors say which points lie on a ray: x along columns, y along rows (down)
        and z along slices, from the middle of the volume's window."""
        cases = [(1.5, 0.0, 0.0), (1.0, 3.25, 0.0), (1.0, 0.0, -2.0)]
        for spacing, across, up in cases:
            scan = astra.create_proj_geom("parallel3d", 0.8, spacing, 9, BINS, ANGLES)
            scan = astra.geom_postalignment(scan, (across, up)) if across or up else scan
            grid = astra.create_vol_geom(NY, NX, 5, -10.0, 30.0, -20.0, 40 * NY / NX - 20, -2.5 * spacing, 2.5 * spacing)
            geometry = isocenter.from_astra(scan, grid)
            self.assertEqual((geometry["first_row"], geometry["slices"]), (2 - up, 5))
            with self.subTest(spacing=spacing, across=across, up=up), isocenter.CT(**geometry) as ct:
                self.assertEqual(ct.projections_shape, (9, VIEWS, BINS))
                k, i, j = 3, 21, 60
                volume = np.zeros(ct.volume_shape, np.float32)
                volume[k] = blob((NY, NX), i, j)
                seen = ct.forward(volume)
                centre = np.array([-10 + (j + 0.5) * 40 / NX, -20 + (i + 0.5) * 40 / NX, (k - 2) * spacing])
                vectors = astra.geom_2vec(scan)["Vectors"]
                for p in range(0, VIEWS, 7):
                    ray, middle, u, v = vectors[p].reshape(4, 3)
                    s, t, _ = np.linalg.solve(np.stack([u, v, ray], axis=1), centre - middle)
                    row = seen[:, p].sum(axis=1).argmax()
                    self.assertAlmostEqual(row, t + 4, places=6)
                    self.assertAlmostEqual(np.average(np.arange(BINS), weights=seen[row, p]), s + (BINS - 1) / 2, delta=0.02)

    @unittest.skipUnless(astra and astra.use_cuda(), "ASTRA has no GPU here")
    def test_three_dimensions_on_a_gpu(self):
        scan = astra.geom_postalignment(astra.create_proj_geom("parallel3d", 1.0, 1.0, 9, BINS, ANGLES), (2.6, 1.0))
        grid = astra.create_vol_geom(NY, NX, 5)
        with isocenter.CT(**isocenter.from_astra(scan, grid)) as ct:
            volume = np.stack([smooth((NY, NX)) * (k + 1) for k in range(5)])
            number, theirs = astra.create_sino3d_gpu(volume, scan, grid)
            astra.data3d.delete(number)
            # Texture units weigh in steps of 1/256.
            self.assertLess(np.abs(ct.forward(volume) - theirs).max(), 4e-3 * theirs.max())

    def test_what_is_not_representable(self):
        scan, grid = astra.create_proj_geom("parallel", 1.0, BINS, ANGLES), astra.create_vol_geom(NY, NX)
        solid, block = astra.create_proj_geom("parallel3d", 1.0, 1.0, 9, BINS, ANGLES), astra.create_vol_geom(NY, NX, 5)
        stretched = astra.geom_2vec(scan)
        stretched["Vectors"][3, 4:6] *= 1.01
        edge_on = astra.geom_2vec(scan)
        edge_on["Vectors"][3, 4:6] = edge_on["Vectors"][3, 0:2]
        tilted, raised = astra.geom_2vec(solid), astra.geom_2vec(solid)
        tilted["Vectors"][:, 2] = 0.1
        raised["Vectors"][5, 5] = 1.0
        for words, s, g in (
                ("'fanflat'", astra.create_proj_geom("fanflat", 1.0, BINS, ANGLES, 100, 100), grid),
                ("'cone'", astra.create_proj_geom("cone", 1.0, 1.0, 9, BINS, ANGLES, 100, 100), block),
                ("one bin pitch", stretched, grid), ("one bin pitch", edge_on, grid),
                ("no stack of slices", tilted, block), ("moves along the axis", raised, block),
                ("must be square", scan, astra.create_vol_geom(NY, NX, -10, 10, -10, 10)),
                ("dimensions", scan, block), ("dimensions", solid, grid), ("None", None, grid),
                ("lie on each other", solid, astra.create_vol_geom(NY, NX, 5, -48, 48, -40, 40, -5, 5)),
                ("rows of the detector", solid, astra.create_vol_geom(NY, NX, 11)),
                ("rows of the detector", solid, astra.create_vol_geom(NY, NX, 4))):
            with self.subTest(words), self.assertRaisesRegex(ValueError, words):
                isocenter.from_astra(s, g)


class Tomopy(unittest.TestCase):
    def test_gridrec(self):
        """In gridrec a point at (column - (n + 1) // 2, n - 1 - (n + 1) // 2 - row) = (x, y) is at bin center + x cos + y sin."""
        for bins, center in ((64, None), (64, 30.25), (63, 35.0)):
            with self.subTest(bins=bins, center=center), \
                    isocenter.CT(**isocenter.from_tomopy(ANGLES, center, bins=bins)) as ct:
                i, j = 20, 41
                seen = ct.forward(blob((bins, bins), i, j))
                x, y = j - (bins + 1) // 2, bins - 1 - (bins + 1) // 2 - i
                place = (bins / 2 if center is None else center) + x * np.cos(ANGLES) + y * np.sin(ANGLES)
                np.testing.assert_allclose(seen @ np.arange(bins) / seen.sum(axis=1), place, atol=0.02)

    def test_the_ray_tracer(self):
        """There center counts from the edge of bin 0, and the axis passes through the middle of the slice."""
        ours = isocenter.from_tomopy(ANGLES, 32.0, bins=64, rows=3, sinogram_order=True, algorithm="fbp", num_gridx=40)
        self.assertEqual((ours["axis"], ours["order"], ours["rows"], ours["nx"], ours["ny"]), (31.5, "sinograms", 3, 40, 64))
        self.assertNotIn("x_offset", ours)

    def test_values_are_attenuation_per_bin(self):
        with isocenter.CT(**isocenter.from_tomopy(ANGLES, 70.0, bins=BINS)) as ct:
            volume = ct.reconstruct(ct.phantom_projections([[0.3, 0.0, 0.0, 40.0, 40.0, 0.0]]))
            self.assertAlmostEqual(volume[0, 65:85, 65:85].mean(), 0.3, delta=2e-3)

    def test_centers_that_differ(self):
        self.assertEqual(isocenter.from_tomopy(ANGLES, [30.0, 30.0], bins=64)["axis"], 30.0)
        with self.assertRaisesRegex(ValueError, "a plan for each"):
            isocenter.from_tomopy(ANGLES, [30.0, 31.0], bins=64)


if __name__ == "__main__":
    unittest.main()
