"""CT: values against analytic phantoms."""
import math
import unittest

import numpy as np

import isocenter

VIEWS, BINS = 402, 256
ANGLES = np.arange(VIEWS) * math.pi / VIEWS
DISK = [[0.5, 20.0, -10.0, 80.0, 60.0, 0.3]]


def inside(side, x, y, radius):
    """Pixels of a disk, y upwards."""
    c = np.arange(side) - (side - 1) / 2
    return (c[None, :] - x) ** 2 + (-c[:, None] - y) ** 2 < radius ** 2


class Ct(unittest.TestCase):
    def setUp(self):
        self.ct = isocenter.CT(angles=ANGLES, bins=BINS)
        self.addCleanup(self.ct.close)

    def test_a_disk_comes_out_at_its_value(self):
        sinogram = self.ct.phantom_projections(DISK)
        self.assertEqual((sinogram.shape, sinogram.dtype), ((VIEWS, 1, BINS), np.float32))
        volume = self.ct.reconstruct(sinogram)
        self.assertEqual((volume.shape, volume.dtype), ((1, BINS, BINS), np.float32))
        self.assertAlmostEqual(volume[0][inside(BINS, 20, -10, 50)].mean(), 0.5, delta=5e-4)
        outside = ~inside(BINS, 20, -10, 90) & inside(BINS, 0, 0, 126)
        self.assertLess(abs(volume[0][outside].mean()), 2e-3)
        # x to the right, y upwards: the mean of the volume is at the ellipse's centre.
        c = np.arange(BINS) - (BINS - 1) / 2
        clean = np.where(inside(BINS, 20, -10, 90), volume[0], 0).astype(float)
        self.assertAlmostEqual((clean * c[None, :]).sum() / clean.sum(), 20, delta=0.05)
        self.assertAlmostEqual((clean * -c[:, None]).sum() / clean.sum(), -10, delta=0.05)

    def test_find_axis(self):
        body = [*DISK, [0.3, -25.0, 15.0, 12.0, 20.0, 1.0], [-0.2, 40.0, 10.0, 9.0, 7.0, 0.1]]
        with isocenter.CT(angles=ANGLES, bins=BINS, rows=2, axis=131.25) as ct:
            projections = ct.phantom_projections(body)
        with isocenter.CT(angles=ANGLES, bins=BINS, rows=2) as ct:
            found = ct.find_axis(projections, curve=65)
            self.assertAlmostEqual(found.axis, 131.25, delta=0.02)
            self.assertEqual((found.method, found.tilt, found.half_acquisition), ("sinogram", 0.0, False))
            self.assertEqual(found.curve.shape, (65,))
            best = found.curve_first + found.curve_step * found.curve.argmin()
            self.assertAlmostEqual(best, 131.25, delta=found.curve_step)
            sharp = ct.find_axis(projections, method="sharpness")
            self.assertEqual(sharp.method, "sharpness")
            self.assertAlmostEqual(sharp.axis, 131.25, delta=0.3)
            with self.assertRaisesRegex(isocenter.OutOfRangeError, "without structure"):
                ct.find_axis(np.zeros_like(projections))
            with self.assertRaisesRegex(isocenter.OutOfRangeError, "method is 'opposite_views'"):
                ct.find_axis(projections, method="opposite_views")

    def test_find_bad_views(self):
        """A view that is closed, one that is repeated, one that is full, one that is no number, and one that half of the beam was lost in."""
        fault = isocenter.enums.CtViewFault
        random = np.random.default_rng(0)
        angles, rows = np.arange(90) * np.pi / 90, 4
        with isocenter.CT(angles=angles, bins=BINS, rows=rows) as ct:
            beam = 1000 * np.exp(-ct.phantom_projections([[0.01, 5.0, 3.0, 60.0, 40.0, 0.3]]))
            frames = (100 + random.poisson(beam)).astype(np.float32)
            frames[10] = 100 + random.normal(size=frames[10].shape)
            frames[21] = frames[20]
            frames[40] = 65535
            frames[50] = np.nan
            frames[60] = 100 + random.poisson(0.5 * beam[60])
            ct.set_options(input="counts")
            ct.set_flat_field(np.full((5, rows, BINS), 1100, np.uint16), np.full((5, rows, BINS), 100, np.uint16))
            found = ct.find_bad_views(frames)
            bad = {10: fault.BLACK, 21: fault.FROZEN, 40: fault.SATURATED, 50: fault.NOT_FINITE, 60: fault.DOUBTFUL}
            self.assertEqual({k: found.faults[k] for k in np.flatnonzero(found.faults)}, bad)
            self.assertEqual(found.certain.tolist(), [10, 21, 40, 50])
            self.assertEqual(found.doubtful.tolist(), [60])
            self.assertEqual(found.good.tolist(), [k for k in range(90) if k not in (10, 21, 40, 50)])
            # Those at an end leave a part that is no copy.
            frames[:5] = 100
            part = ct.find_bad_views(frames).good
            self.assertEqual(part.tolist()[:2], [5, 6])
            frames[5:] = (100 + random.poisson(beam[5:])).astype(np.float32)
            part = ct.find_bad_views(frames).good
            self.assertEqual(part, slice(5, 90, 1))
            self.assertTrue(np.shares_memory(frames[part], frames))
            ct.set_geometry(angles=angles[part], bins=BINS, rows=rows)
            left = ct.reconstruct(frames[part])
            with self.assertRaisesRegex(isocenter.TensorShapeError, "projections"):
                ct.find_bad_views(frames)
            self.assertTrue((ct.reconstruct(frames[5:].copy()) == left).all())
        with isocenter.CT(angles=angles, bins=BINS, rows=rows, order="sinograms") as ct:
            # Without light all are one number, so that the first of them is told by nothing.
            integrals = -np.log(np.maximum(frames - 100, 1) / 1000)
            self.assertEqual(ct.find_bad_views(np.ascontiguousarray(integrals.transpose(1, 0, 2))).certain.tolist(), [1, 2, 3, 4])

    def test_two_dimensions_give_two(self):
        sinogram = self.ct.phantom_projections(DISK)
        flat = self.ct.reconstruct(sinogram[:, 0])
        np.testing.assert_array_equal(flat, self.ct.reconstruct(sinogram)[0])
        self.assertEqual(self.ct.forward(flat).shape, (VIEWS, BINS))
        with isocenter.CT(angles=ANGLES, bins=BINS, rows=3, order="sinograms") as solid:
            self.assertEqual(solid.projections_shape, (3, VIEWS, BINS))
            with self.assertRaises(isocenter.TensorNdimError):
                solid.reconstruct(sinogram[:, 0])

    def test_units(self):
        """A pitch of 0.1 and pixels of 0.05 show the same disk, in 1 / length."""
        disk = [[0.5, 2.0, -1.0, 8.0, 6.0, 0.3]]
        with isocenter.CT(angles=ANGLES, bins=BINS, bin_pitch=0.1, pixel_size=0.05, nx=512, ny=512) as ct:
            volume = ct.reconstruct(ct.phantom_projections(disk))
            self.assertAlmostEqual(volume[0][inside(512, 40, -20, 100)].mean(), 0.5, delta=5e-4)

    def test_axis_offsets_and_region(self):
        geometry = dict(angles=ANGLES, bins=BINS, axis=np.full(VIEWS, 120.25), nx=40, ny=30, x_offset=-20.0, y_offset=-10.0)
        with isocenter.CT(**geometry) as ct:
            volume, truth = ct.reconstruct(ct.phantom_projections(DISK)), ct.phantom_volume(DISK)
            self.assertEqual(volume.shape, (1, 30, 40))
            self.assertTrue((truth == 0.5).all())  # the region lies about the ellipse's centre
            self.assertAlmostEqual(volume.mean(), 0.5, delta=2e-3)

    def test_a_region_has_the_full_slices_pixels(self):
        """Positions of pixels are f32 sums from the start of a run of pixels, which lies elsewhere in a region: see tests/c/region.c."""
        for bins, nx, ny in ((64, 0, 0), (75, 71, 60)):
            geometry = dict(angles=ANGLES[:50] * 8, bins=bins, rows=2, axis=30.75, bin_pitch=0.7, pixel_size=0.55, nx=nx, ny=ny, x_offset=1.5)
            projections = np.random.default_rng(0).random((50, 2, bins), np.float32)
            with isocenter.CT(**geometry) as whole:
                full = whole.reconstruct(projections)
                _, ny, nx = whole.volume_shape
                for c0, c1, r0, r1 in ((0, nx, 0, ny), (9, nx - 4, 5, ny - 12), (33, 34, 20, 21), (0, 17, ny - 8, ny)):
                    with isocenter.CT(**geometry, region=(c0, c1, r0, r1)) as part:
                        self.assertEqual(part.volume_shape, (2, r1 - r0, c1 - c0))
                        np.testing.assert_allclose(part.reconstruct(projections), full[:, r0:r1, c0:c1], rtol=0,
                                                   atol=1e-5 * np.abs(full).max())

    def test_regions_that_are_none(self):
        for region, words in (((0, 257, 0, 1), r"region\[1\] \(c1\) is 257; it must be 0 to 256 \(nx\)"),
                              ((0, 1, -1, 3), r"region\[2\] \(r0\) is -1"),
                              ((4, 4, 0, 1), r"region\[0\] \(c0\) is 4 and region\[1\] \(c1\) is 4; they must ascend")):
            with self.assertRaisesRegex(isocenter.OutOfRangeError, words):
                self.ct.set_geometry(angles=ANGLES, bins=BINS, region=region)
        with self.assertRaisesRegex(ValueError, r"region has 3 numbers; it must be \(c0, c1, r0, r1\)"):
            self.ct.set_geometry(angles=ANGLES, bins=BINS, region=(0, 1, 2))
        with self.assertRaisesRegex(TypeError, "region"):
            self.ct.set_geometry(angles=ANGLES, bins=BINS, region=(0, 1, 2, 3.5))
        with self.assertRaisesRegex(ValueError, "region"):
            self.ct.set_geometry(angles=ANGLES, bins=BINS, region=5)
        self.assertEqual(self.ct.volume_shape, (1, BINS, BINS))

    def test_forward_is_line_integrals_and_adjoint_its_transpose(self):
        truth, exact = self.ct.phantom_volume(DISK), self.ct.phantom_projections(DISK)
        projections = self.ct.forward(truth)
        # Pixels blur edges: on average over a view nothing is lost.
        np.testing.assert_allclose(projections.sum(axis=2), exact.sum(axis=2), rtol=1e-3)
        self.assertLess(np.abs(projections - exact).mean(), 2e-3 * exact.max())
        rng = np.random.default_rng(1)
        x, y = (rng.standard_normal(s).astype(np.float32) for s in (self.ct.volume_shape, self.ct.projections_shape))
        left = np.vdot(self.ct.forward(x).astype(float), y)
        right = np.vdot(x.astype(float), self.ct.adjoint(y))
        # f32 sums of some 256 terms of either sign.
        self.assertAlmostEqual(left, right, delta=1e-5 * np.linalg.norm(y) * np.linalg.norm(self.ct.forward(x)))

    def test_the_band_limited_pair(self):
        truth = self.ct.phantom_volume(DISK)
        joseph = self.ct.forward(truth)
        self.ct.set_options(projector="band_limited", tolerance=1e-3)
        self.assertGreater(self.ct.info().period, BINS)
        projections = self.ct.forward(truth)
        # Both are the disk's line integrals but for its edges.
        np.testing.assert_allclose(projections.sum(axis=2), joseph.sum(axis=2), rtol=1e-3)
        self.assertLess(np.linalg.norm(projections - joseph), 0.01 * np.linalg.norm(joseph))
        self.assertGreater(np.linalg.norm(projections - joseph), 1e-3 * np.linalg.norm(joseph))
        rng = np.random.default_rng(1)
        x, y = (rng.standard_normal(s).astype(np.float32) for s in (self.ct.volume_shape, self.ct.projections_shape))
        left = np.vdot(self.ct.forward(x).astype(float), y)
        right = np.vdot(x.astype(float), self.ct.adjoint(y))
        # Rounding in f32, whatever the tolerance.
        self.assertAlmostEqual(left, right, delta=1e-6 * np.linalg.norm(y) * np.linalg.norm(self.ct.forward(x)))
        self.assertRaisesRegex(ValueError, "'joseph', 'band_limited'", self.ct.set_options, projector="siddon")

    def test_filter_then_weighted_backprojection_is_reconstruction(self):
        sinogram = self.ct.phantom_projections(DISK)
        whole = self.ct.reconstruct(sinogram)
        self.ct.set_options(weighted_backprojection=True)
        parts = self.ct.backproject(self.ct.filter(sinogram))
        np.testing.assert_allclose(parts, whole, atol=1e-5)
        weights = self.ct.angular_weights()
        np.testing.assert_allclose(weights, math.pi / VIEWS, rtol=1e-12)
        self.ct.set_options()
        np.testing.assert_allclose(self.ct.backproject(self.ct.filter(sinogram)), whole / weights[0], rtol=1e-4, atol=1e-2)

    def test_options_change_the_result(self):
        sinogram = self.ct.phantom_projections(DISK)
        plain = self.ct.reconstruct(sinogram)
        ramp = np.linspace(0, 0.5, 129)
        for options in (dict(filter="hann"), dict(filter="shepp_logan"), dict(filter=isocenter.enums.CtFilterKind.PARZEN),
                        dict(cutoff=0.5), dict(interpolation="nearest"), dict(filter="butterworth", butterworth_order=2.0),
                        dict(filter="custom", response=0.5 * ramp)):
            with self.subTest(options):
                self.ct.set_options(**options)
                self.assertGreater(np.abs(self.ct.reconstruct(sinogram) - plain).max(), 1e-3)
        self.ct.set_options(padding="edge", kernel="alu", precision="half")  # zeros at the ends; the rest is for GPUs
        np.testing.assert_allclose(self.ct.reconstruct(sinogram), plain, atol=2e-3)

    def test_band_limited(self):
        sinogram = self.ct.phantom_projections(DISK)
        self.assertEqual(self.ct.info().period, 0)
        self.ct.set_options(interpolation="band_limited")
        self.assertGreater(self.ct.info().period, (1 + math.sqrt(2)) / 2 * BINS)
        volume = self.ct.reconstruct(sinogram)
        row, column = np.indices((BINS, BINS)) - (BINS - 1) / 2
        # The disk far from its edges, which ring.
        self.assertAlmostEqual(volume[0, np.hypot(column - 20, row - 10) < 40].mean(), 0.5, delta=1e-3)
        self.ct.set_options(interpolation="band_limited", tolerance=1e-6)
        exact = self.ct.reconstruct(sinogram)
        # Each is within its tolerance of the exact sum.
        self.assertLess(np.linalg.norm(volume - exact), 1.02e-4 * np.linalg.norm(exact))
        for tolerance in (math.nan, -1e-4, 1e-7, 0.1):
            with self.subTest(tolerance=tolerance), self.assertRaisesRegex(isocenter.Error, r"^CT\.set_options: tolerance is"):
                self.ct.set_options(interpolation="band_limited", tolerance=tolerance)
        self.assertRaisesRegex(isocenter.OutOfRangeError, "kernel is 'alu'; it must be 'auto' where interpolation is 'band_limited'",
                               self.ct.set_options, interpolation="band_limited", kernel="alu")
        np.testing.assert_array_equal(self.ct.reconstruct(sinogram), exact)  # nothing of it was taken

    def test_raw_counts(self):
        sinogram = self.ct.phantom_projections([[0.01, 20.0, -10.0, 80.0, 60.0, 0.3]])
        dark, flat = np.full((2, 1, BINS), 100, np.uint16), np.full((3, 1, BINS), 60100, np.uint16)
        counts = np.rint(100 + 60000 * np.exp(-sinogram)).astype(np.uint16)
        self.assertRaises(isocenter.FlatFieldError, self.ct.reconstruct, counts)
        self.ct.set_flat_field(flat, dark)
        volume = self.ct.reconstruct(counts)
        self.assertAlmostEqual(volume[0][inside(BINS, 20, -10, 50)].mean(), 0.01, delta=2e-5)
        self.assertRaises(isocenter.FlatFieldError, self.ct.set_flat_field, dark, flat)
        self.ct.set_flat_field(None)
        np.testing.assert_allclose(self.ct.reconstruct(sinogram), volume, atol=2e-4)

    def test_frames(self):
        views = len(ANGLES)
        lines = self.ct.phantom_projections([[0.01, 2.0, -1.0, 80.0, 60.0, 0.3]])
        place = np.arange(views) + 0.5
        beam = 20000 + 10000 * place / views  # half as bright again at the end
        monitor = 1 + 0.2 * np.sin(place)
        frames = (np.exp(-lines) * (beam * monitor)[:, None, None]).astype(np.float32)
        flats = np.full((5, 1, BINS), 20000, np.float32)
        flats[2:] = 30000
        flats[3, 0, 90] = 1e6
        groups = {"group_frames": [2, 3], "group_positions": [0, views], "group_monitor": [1, 1], "monitor": monitor}
        self.ct.set_options(input="counts", filter="none")
        self.ct.set_flat_field(flats, combine="median", **groups)
        np.testing.assert_allclose(self.ct.filter(frames), lines, atol=1e-5)
        self.ct.set_flat_field(flats, outliers={"side": "both", "depth": 3}, **groups)
        np.testing.assert_allclose(self.ct.filter(frames), lines, atol=1e-5)
        self.ct.set_flat_field(flats, **groups)
        self.assertGreater(np.abs(self.ct.filter(frames) - lines)[-1, 0, 90], 1)
        flats[:, 0, 40] = 0
        self.assertRaisesRegex(isocenter.FlatFieldError, r"flats\[0, 40\] is 0", self.ct.set_flat_field, flats, outliers=True, **groups)
        self.ct.set_flat_field(flats, outliers=True, bad_pixels=10, **groups)
        self.assertEqual(self.ct.info().bad_pixels, 1)
        # A straight line in place of an arc of at most 2.4, whose second difference in two bins is less than a hundredth of that.
        np.testing.assert_allclose(self.ct.filter(frames), lines, atol=0.02)

        spoilt = frames.copy()
        spoilt[5:90:7, 0, 120] *= 4
        spoilt[3, 0, 121] *= 0.2
        expected = self.ct.filter(frames)
        # Without noise the unit is a 200th of the median: half of it, which no edge reaches. What is dark stays.
        self.ct.set_outliers(threshold=100, depth=1)
        self.assertGreater(np.abs(self.ct.filter(spoilt) - expected).max(), 1)
        self.assertEqual(self.ct.info().outliers, len(range(5, 90, 7)))
        self.ct.set_outliers(unit="median", side="both", window=5, depth=1, threshold=0.5)
        np.testing.assert_allclose(self.ct.filter(spoilt), expected, atol=0.05)
        self.ct.leave_outliers()
        self.assertGreater(np.abs(self.ct.filter(spoilt) - expected).max(), 1)
        self.assertEqual(self.ct.info().outliers, 0)

    def test_eigenflats(self):
        views = len(ANGLES)
        lines = self.ct.phantom_projections([[0.01, 2.0, -1.0, 80.0, 60.0, 0.3]])
        waves = np.cos(np.arange(BINS) / 5)
        strengths = np.sin(np.arange(views))
        flats = (20000 * (1 + 0.05 * np.outer(np.cos(np.arange(8)), waves)))[:, None, :].astype(np.float32)
        beam = 20000 * (1 + 0.05 * np.outer(strengths, waves))[:, None, :]
        frames = (np.exp(-lines) * beam).astype(np.float32)
        self.ct.set_options(input="counts", filter="none")
        self.ct.set_flat_field(flats, eigenflats=3)
        self.assertRaisesRegex(isocenter.FlatFieldError, r"views\[0\] is not known.*fit_flat_field", self.ct.filter, frames)
        fit = self.ct.fit_flat_field(frames[:60])
        rest = self.ct.fit_flat_field(frames[60:], first_view=60, binning=2)
        self.assertEqual((fit.components, fit.weights.shape, rest.weights.shape), (1, (60, 1), (views - 60, 1)))
        self.assertLess(fit.variation_after, fit.variation_before)
        self.assertGreater(fit.explained[0], 0.999)
        # One component: weights are strengths but for an offset, that of the mean flat, and a factor.
        weights = np.concatenate([fit.weights, rest.weights])[:, 0]
        self.assertGreater(abs(np.corrcoef(weights, strengths)[0, 1]), 0.9999)
        # A view's strength is what the mean flat says: waves change it by 0.05 / 2 at most.
        seen = self.ct.filter(frames) - lines
        np.testing.assert_allclose(seen, np.broadcast_to(seen.mean(2, keepdims=True), seen.shape), atol=1e-4)
        self.assertLess(np.abs(seen).max(), 0.03)
        self.assertRaisesRegex(isocenter.OutOfRangeError, "first_view is 60", self.ct.fit_flat_field, frames, 60)
        self.ct.set_flat_field(np.full((4, 1, BINS), 20000, np.uint16), eigenflats=2)
        self.assertEqual(self.ct.fit_flat_field(frames).components, 0)
        self.ct.filter(frames)

    def test_a_stream_reads_the_rows_beside(self):
        rng = np.random.default_rng(3)
        frames = rng.integers(500, 1000, (20, 12, 48), np.uint16)
        frames[rng.random(frames.shape) < 0.01] = 20000
        for order in ("frames", "sinograms"):
            given = frames if order == "frames" else np.ascontiguousarray(frames.transpose(1, 0, 2))
            rows_at = 1 if order == "frames" else 0
            with self.subTest(order), isocenter.CT(isocenter.Context(device="cpu", threads=1), angles=np.arange(20) * np.pi / 20, bins=48, rows=12,
                                                   first_row=3, slices=6, order=order) as ct:
                ct.set_flat_field(np.full((12, 48), 1000, np.uint16))
                ct.set_outliers(window=5)
                expected, streamed, asked = ct.reconstruct(given), np.zeros(ct.volume_shape, np.float32), []

                def read(first, projections):
                    count = projections.shape[rows_at]
                    asked.append((first, count))
                    projections[...] = given.take(range(3 + first, 3 + first + count), rows_at)

                def write(first, volume):
                    streamed[first:first + len(volume)] = volume

                ct.reconstruct_stream(read, write, "uint16")
                # Two rows on either side; sums of back projection have another order where fewer slices stand side by side.
                self.assertEqual((min(f for f, _ in asked), max(f + n for f, n in asked)), (-2, 8))
                np.testing.assert_allclose(streamed, expected, atol=1e-5 * np.abs(expected).max())

    def test_distortion(self):
        """Frames by the definition; streams; off again."""
        views, rows, bins = 5, 30, 44
        rng = np.random.default_rng(6)
        frames = rng.uniform(0.3, 1.0, (views, rows, bins)).astype(np.float32)

        def undistorted(radial=(1.0,), x_centre=0.0, y_centre=0.0, perspective=(1, 0, 0, 0, 1, 0, 0, 0), tilt=0.0, x_shifts=np.zeros(views),
                        y_shifts=np.zeros(views)):
            out = np.empty(frames.shape)
            for view, frame in enumerate(frames.astype(float)):
                y, x = np.mgrid[:rows, :bins].astype(float)
                x, y = x + x_shifts[view] - (bins - 1) / 2, y + y_shifts[view] - (rows - 1) / 2
                angle = np.arctan(tilt)
                x, y = ((bins - 1) / 2 + x * np.cos(angle) + y * np.sin(angle), (rows - 1) / 2 + y * np.cos(angle) - x * np.sin(angle))
                p = perspective
                scale = p[6] * x + p[7] * y + 1
                x, y = (p[0] * x + p[1] * y + p[2]) / scale, (p[3] * x + p[4] * y + p[5]) / scale
                factor = np.polynomial.polynomial.polyval(np.hypot(x - x_centre, y - y_centre), radial)
                x, y = x_centre + factor * (x - x_centre), y_centre + factor * (y - y_centre)
                x, y = np.clip(x, 0, bins - 1), np.clip(y, 0, rows - 1)
                left, above = (np.minimum(np.floor(v).astype(int), n - 2) for v, n in ((x, bins), (y, rows)))
                x, y = x - left, y - above
                out[view] = ((1 - y) * ((1 - x) * frame[above, left] + x * frame[above, left + 1])
                             + y * ((1 - x) * frame[above + 1, left] + x * frame[above + 1, left + 1]))
            return out

        lens = {"radial": [1.004, -3e-4, 2e-6], "x_centre": 19.5, "y_centre": -4.0}
        perspective = [1.01, -0.004, 0.9, 0.006, 0.99, -0.7, 1e-5, -2e-5]  # as discorpy's list_coef
        x_shifts, y_shifts = rng.uniform(-3, 3, (2, views))
        everything = {**lens, "perspective": perspective, "tilt": -0.03, "x_shifts": x_shifts, "y_shifts": y_shifts}
        with isocenter.CT(isocenter.Context(device="cpu", threads=2), angles=np.arange(views) * np.pi / views, bins=bins, rows=rows) as ct:
            ct.set_options(input="transmission", filter="none")
            # Three steps between f32 values up to 1 round by 6e-8 each; the logarithm of 0.3 makes 3.3 times that of it, and rounds by 1e-7.
            for keywords in (lens, {"perspective": np.float32([1, 0, 0.5, 0, 1, -0.25, 0, 0])}, {"tilt": 0.05}, {"x_shifts": x_shifts},
                             {"y_shifts": y_shifts.tolist()}, everything):
                ct.set_distortion(**keywords)
                np.testing.assert_allclose(ct.filter(frames), -np.log(undistorted(**keywords)), rtol=0, atol=1e-6)
            ct.set_geometry(angles=np.arange(views) * np.pi / views, bins=bins, rows=rows, first_row=12, slices=4)
            expected, asked = ct.reconstruct(frames), []

            def read(first, projections):
                asked.append((first, projections.shape[1]))
                projections[...] = frames[:, 12 + first:][:, :projections.shape[1]]

            def write(first, volume):
                np.testing.assert_allclose(volume, expected[first:first + len(volume)], atol=1e-5 * np.abs(expected).max())

            ct.reconstruct_stream(read, write)
            self.assertLess(min(first for first, _ in asked), 0)
            ct.leave_distortion()
            np.testing.assert_allclose(ct.filter(frames)[:, 12:16], -np.log(frames)[:, 12:16], atol=1e-6)

    def test_phase(self):
        """Frames by the formula; a length in place of what it is made of; streams; off again."""
        rng = np.random.default_rng(4)
        frames = rng.uniform(0.3, 1.0, (5, 24, 40)).astype(np.float32)
        # Edges repeated, beyond the alternating tails that a kernel of 1.2 bins has, 1 / (5 r)^2 of values as random as these.
        padded = np.pad(frames, ((0, 0), (240, 240), (240, 240)), "edge").astype(float)
        squared = sum(np.meshgrid(*(np.fft.fftfreq(n) ** 2 for n in padded.shape[1:]), indexing="ij"))
        # 24 keV, 200 mm, 3 um: wavelength times distance over the pixel squared, in squared bins.
        fresnel = 1.239841984e-3 / 24 * 200e3 / 9

        def by(response):
            return np.fft.ifft2(np.fft.fft2(padded) * response).real[:, 240:-240, 240:-240]

        def mask(sigma, amount):
            return 1 + amount * (1 - np.exp(-2 * np.pi**2 * sigma**2 * squared))

        paganin, x = 1 / (1 + np.pi * fresnel * 0.4 * squared), np.pi * fresnel * squared
        transfer = np.cos(x) + 0.4 * np.sin(x)
        ctf = 1.05 * transfer / (transfer**2 + 0.05 * (1 + 0.4**2 * np.sin(np.minimum(x, np.pi / 2)) ** 2))
        scan = {"energy_kev": 24, "distance_mm": 200, "pixel_um": 3, "delta_beta": 0.4}
        length = 3 * np.sqrt(np.pi * fresnel * 0.4)
        with isocenter.CT(isocenter.Context(device="cpu", threads=2), angles=np.arange(5) * np.pi / 5, bins=40, rows=24) as ct:
            ct.set_options(input="transmission", filter="none")
            # f32 transforms, and what kernels leave beyond their margins: 1e-6 of values up to 1, before a logarithm of 0.3; the mask and the
            # other formula make a few times more of it.
            for expected, keywords in (
                    (-np.log(by(paganin)), scan), (-np.log(by(paganin)), {"length_um": length, "pixel_um": 3}),
                    (-np.log(by(paganin * mask(0.8, 0.3))), {**scan, "unsharp_sigma": 0.8, "unsharp_amount": 0.3}),
                    (1 - by(ctf), {**scan, "method": "ctf", "alpha": 0.05})):
                ct.set_phase(**keywords)
                np.testing.assert_allclose(ct.filter(frames), expected, atol=2e-5)
            ct.set_geometry(angles=np.arange(5) * np.pi / 5, bins=40, rows=24, first_row=10, slices=4)
            ct.set_phase(length_um=0.3, pixel_um=3)
            expected, asked = ct.reconstruct(frames), []

            def read(first, projections):
                asked.append((first, projections.shape[1]))
                projections[...] = frames[:, 10 + first:][:, :projections.shape[1]]

            def write(first, volume):
                np.testing.assert_allclose(volume, expected[first:first + len(volume)], atol=1e-5 * np.abs(expected).max())

            ct.reconstruct_stream(read, write)
            self.assertLess(min(first for first, _ in asked), 0)
            ct.leave_phase()
            np.testing.assert_allclose(ct.filter(frames)[:, 10:14], -np.log(frames)[:, 10:14], atol=1e-6)

    def test_stripes(self):
        sinogram = self.ct.phantom_projections([[0.01, 2.0, -1.0, 80.0, 60.0, 0.3]])
        noise = np.random.default_rng(1).normal(0, 0.005, sinogram.shape).astype(np.float32)
        clean, bad = sinogram + noise, sinogram + noise
        bad[:, :, 140] += 0.05
        bad[:, :, 100] = 0.3
        exact = self.ct.reconstruct(clean)
        with_rings = np.abs(self.ct.reconstruct(bad) - exact).max()
        for method, windows in (("significant", {}), ("vo", {"large_window": 31, "small_window": 9, "snr": 2.5}), ("sorting", {}), ("regularised", {"alpha": 1e-2}),
                                ("wavelet_fourier", {"levels": 3, "sigma": 1.5, "wavelet": 5})):
            self.ct.set_stripes(method, **windows)
            self.assertLess(np.abs(self.ct.reconstruct(bad) - exact).max(), 0.5 * with_rings, method)
        self.ct.leave_stripes()
        self.assertEqual(np.abs(self.ct.reconstruct(bad) - exact).max(), with_rings)
        self.assertRaisesRegex(ValueError, "'significant', 'vo', 'sorting', 'regularised', 'wavelet_fourier'", self.ct.set_stripes, "munch")
        self.assertRaisesRegex(isocenter.OutOfRangeError, "small_window is 1", self.ct.set_stripes, "sorting", small_window=1)
        self.assertRaisesRegex(isocenter.OutOfRangeError, "levels is 16", self.ct.set_stripes, "wavelet_fourier", levels=16)

    def test_half_acquisition(self):
        turn = np.arange(240) * 2 * np.pi / 240
        body = [[0.01, 6.0, -5.0, 60.0, 45.0, 0.3], [0.02, -20.0, 10.0, 9.0, 12.0, 0.0]]
        whole = isocenter.CT(angles=turn, bins=161, axis=80.0)
        exact = whole.reconstruct(whole.phantom_projections(body))
        for first, bins in ((60, 101), (0, 101)):
            half = isocenter.CT(angles=turn, bins=bins, axis=80.0 - first, nx=161, ny=161)
            half.set_half_acquisition(30, rise="linear")
            half.set_half_acquisition()
            self.assertEqual((half.info().computed_bins, half.info().overlap), (161, 42.0))
            self.assertLess(np.abs(half.reconstruct(half.phantom_projections(body)) - exact).max(), 1e-6)
            self.assertRaisesRegex(isocenter.OutOfRangeError, "at most 42", half.set_half_acquisition, 43)
            half.leave_half_acquisition()
            self.assertEqual(half.info().computed_bins, bins)
        self.assertRaisesRegex(ValueError, "'smooth', 'linear'", half.set_half_acquisition, rise="cubic")

    def test_what_floats_hold(self):
        sinogram = self.ct.phantom_projections([[0.01, 20.0, -10.0, 80.0, 60.0, 0.3]])
        counts = np.rint(10000 * np.exp(-sinogram))
        expected = self.ct.reconstruct(sinogram)
        self.ct.set_flat_field(np.full((1, BINS), 10000, np.float32))
        self.assertRaisesRegex(isocenter.FlatFieldError, "counts or line integrals", self.ct.reconstruct, counts)
        for name, values in (("counts", counts), ("transmission", np.exp(-sinogram)), ("line_integrals", sinogram)):
            self.ct.set_options(input=name)
            np.testing.assert_allclose(self.ct.reconstruct(values), expected, atol=1e-3)
        self.ct.set_options(input="transmission")
        self.assertRaises(isocenter.TensorDtypeError, self.ct.reconstruct, counts.astype(np.uint16))
        self.ct.set_options()
        self.ct.set_geometry(angles=ANGLES, bins=BINS, axis=BINS / 2)  # the flat field stays
        self.ct.reconstruct(counts.astype(np.uint16))
        with self.assertLogs("isocenter", "WARNING") as logs:
            self.ct.set_flat_field(None)
            self.ct.reconstruct(counts)
        self.assertIn("do not look like", logs.output[0])

    def test_an_axis_beside_the_detector(self):
        with self.assertLogs("isocenter", "WARNING") as logs:
            self.ct.set_geometry(angles=ANGLES, bins=BINS, axis=-20.0 * BINS)
        self.assertIn("axis is", logs.output[0])

    def test_angular_weights_of_your_own(self):
        usual, sinogram = self.ct.angular_weights(), self.ct.phantom_projections(DISK)
        volume = self.ct.reconstruct(sinogram)
        self.ct.set_angular_weights(0.5 * usual)
        np.testing.assert_array_equal(self.ct.angular_weights(), 0.5 * usual)
        np.testing.assert_allclose(self.ct.reconstruct(sinogram), 0.5 * volume, atol=1e-6)
        self.assertAlmostEqual(self.ct.info().angle_covered, 0.5 * np.pi)
        for wrong in ([], usual[1:], -usual, 0 * usual):
            self.assertRaises(isocenter.OutOfRangeError, self.ct.set_angular_weights, wrong)
        self.assertRaises(isocenter.NotFiniteParameterError, self.ct.set_angular_weights, np.nan * usual)
        self.ct.set_angular_weights(None)
        np.testing.assert_array_equal(self.ct.reconstruct(sinogram), volume)

    def test_streaming_is_the_same_slab_by_slab(self):
        for order in ("frames", "sinograms"):
            with isocenter.Context(memory_cap=16 << 20) as context, \
                    isocenter.CT(context, angles=ANGLES, bins=64, rows=64, first_row=2, slices=60, order=order) as ct:
                projections = np.random.default_rng(0).random(ct.projections_shape, np.float32)
                volume, seen = np.zeros(ct.volume_shape, np.float32), []

                def read(first, out):
                    seen.append((first, out.shape))
                    rows = slice(2 + first, 2 + first + out.shape[order == "frames"])
                    out[:] = projections[:, rows] if order == "frames" else projections[rows]

                def write(first, slices):
                    self.assertFalse(slices.flags.writeable)
                    volume[first:first + len(slices)] = slices

                ct.reconstruct_stream(read, write)
                self.assertLessEqual(max(shape[order == "frames"] for _, shape in seen), ct.info().slab_slices)
                self.assertTrue((np.abs(volume).max(axis=(1, 2)) > 0).all())
                np.testing.assert_array_equal(volume, ct.reconstruct(projections))

    def test_volumes_of_8_and_16_bits(self):
        rows = 3
        with isocenter.CT(angles=ANGLES, bins=64, rows=rows) as ct:
            self.assertRaisesRegex(isocenter.NotConfiguredError, "set_output", ct.output)
            projections = np.random.default_rng(1).random(ct.projections_shape, np.float32)
            values = ct.reconstruct(projections)
            self.assertEqual((ct.output().dtype, ct.output().slope, ct.output().offset), ("f32", 1.0, 0.0))
            self.assertEqual(ct.histogram().size, 0)
            low, high = np.percentile(values, [5, 90])
            for dtype, made, largest in (("u8", np.uint8, 255), ("u16", np.uint16, 65535)):
                ct.set_output(dtype=dtype, low=low, high=high, histogram_bins=16)
                self.assertRaises(isocenter.NotConfiguredError, ct.histogram)
                stored = ct.reconstruct(projections)
                places = np.clip((values.astype(np.float64) - low) * (largest / (high - low)), 0, largest)
                self.assertEqual(stored.dtype, made)
                np.testing.assert_array_equal(stored, np.rint(places))
                output = ct.output()
                self.assertEqual((output.dtype, output.low, output.high), (dtype, low, high))
                self.assertEqual((output.clipped_low, output.clipped_high), ((values < low).sum(), (values > high).sum()))
                np.testing.assert_allclose(output.offset + output.slope * places, np.clip(values, low, high), rtol=1e-6)
                np.testing.assert_array_equal(ct.histogram(), np.bincount((stored.astype(int) * 16 // (largest + 1)).ravel(), minlength=16))
            ct.set_output(dtype="f16")
            np.testing.assert_array_equal(ct.reconstruct(projections), values.astype(np.float16))
            ct.set_output(dtype="u16", low_percentile=5, high_percentile=90, mask_radius=0.8)
            stored, output = ct.reconstruct(projections), ct.output()
            y, x = np.mgrid[:64, :64] - 31.5
            inside = np.broadcast_to(np.hypot(x, y) <= 0.8 * 32, values.shape)
            np.testing.assert_allclose([output.low, output.high], np.percentile(values[inside], [5, 90]), rtol=2.0 ** -12)
            self.assertEqual(output.histogram_slices, rows)
            np.testing.assert_array_equal(stored[~inside], round(65535 * (0 - output.low) / (output.high - output.low)))
            # Streams, too: the first pass reads first, and writes nothing.
            reads, volume = [], np.zeros_like(stored)

            def read(first, out):
                reads.extend(range(first, first + out.shape[1]))
                out[:] = projections[:, first:first + out.shape[1]]

            def write(first, slices):
                self.assertEqual(slices.dtype, np.uint16)
                volume[first:first + len(slices)] = slices

            ct.reconstruct_stream(read, write)
            self.assertEqual(reads, [0, 1, 2] * 2)
            self.assertLessEqual(np.abs(volume.astype(int) - stored).max(), 1)

    def test_output_errors(self):
        for wrong, words in (({"dtype": "uint16"}, "'f32', 'u8', 'u16', 'f16'"), ({"dtype": "u8", "low": 1.0, "high": 1.0}, "low is 1.0"),
                             ({"low_percentile": 60, "high_percentile": 50}, "low_percentile is 60.0"),
                             ({"mask_radius": 1.6}, ": mask_radius is 1.6; it must be 0 to 1.5"),
                             ({"histogram_bins": 1 << 17}, ": histogram_bins is 131072"),
                             ({"high": float("inf")}, ": high is inf"), ({"histogram_slices": -3}, "-1 for all")):
            with self.subTest(wrong), self.assertRaisesRegex(ValueError, words):
                self.ct.set_output(**wrong)
        self.ct.set_output(dtype="u16", high=1.0)
        projections = self.ct.phantom_projections(DISK)
        with self.assertRaisesRegex(isocenter.TensorDtypeError, "uint16 is needed"):
            self.ct.reconstruct(projections, np.zeros(self.ct.volume_shape, np.float32))
        self.ct.set_output(dtype="u8")
        with self.assertRaisesRegex(isocenter.OutOfRangeError, "zero width; give low and high"):
            self.ct.reconstruct(0 * projections)

    def test_streaming_errors(self):
        with isocenter.CT(angles=ANGLES, bins=64, rows=4) as ct:
            def fails(first, out):
                raise ZeroDivisionError("from a callback")
            self.assertRaisesRegex(ZeroDivisionError, "from a callback", ct.reconstruct_stream, fails, print)
            self.assertRaisesRegex(ZeroDivisionError, "from a callback", ct.reconstruct_stream, lambda f, out: None, fails)
            kept = []
            with self.assertRaisesRegex(BufferError, "keep a copy"):
                ct.reconstruct_stream(lambda first, out: kept.append(out), lambda first, out: None)
            kept.clear()
            self.assertRaises(isocenter.TensorDtypeError, ct.reconstruct_stream, fails, fails, "float64")
            self.assertRaises(isocenter.FlatFieldError, ct.reconstruct_stream, fails, fails, "uint16")
            np.testing.assert_array_equal(ct.reconstruct(np.zeros((VIEWS, 4, 64), np.float32)), 0)

    def test_what_the_plan_tells(self):
        info = self.ct.info()
        self.assertEqual((info.evenly_spaced, info.distinct_angles, info.missing_wedges), (1, VIEWS, 0))
        self.assertAlmostEqual(info.angle_covered, math.pi, delta=1e-9)
        self.assertGreater(self.ct.memory(), 0)
        self.ct.tune()
        with isocenter.CT() as bare:
            self.assertRaises(isocenter.NotConfiguredError, lambda: bare.volume_shape)
            self.assertRaises(isocenter.NotConfiguredError, bare.reconstruct, np.zeros((4, 4), np.float32))

    def test_shepp_logan(self):
        head = isocenter.CT.shepp_logan(100.0)
        self.assertEqual(head.shape, (10, 6))
        self.assertEqual(head[:2, 0].tolist(), [1.0, -0.8])  # Toft's
        self.assertEqual(isocenter.CT.shepp_logan(100.0, "original")[:2, 0].tolist(), [2.0, -0.98])
        self.assertRaises(ValueError, self.ct.phantom_volume, head[:, :5])
        truth, volume = self.ct.phantom_volume(head), self.ct.reconstruct(self.ct.phantom_projections(head))
        self.assertLess(np.sqrt(np.mean((volume - truth) ** 2)), 0.03)


if __name__ == "__main__":
    unittest.main()
