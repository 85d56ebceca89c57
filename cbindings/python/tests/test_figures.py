"""What the figures of docs/conventions.md claim, held against the library; and all figures are those that their scripts draw."""
import base64
import math
import re
import sys
import tempfile
import unittest
import zlib
from pathlib import Path

import numpy as np

import isocenter

DOCS = Path(__file__).resolve().parents[3] / "docs"
sys.path.insert(0, str(DOCS / "figures"))
import draw  # noqa: E402
import plots  # noqa: E402
import rooms  # noqa: E402
import slices  # noqa: E402


def bins_of_pixels(**geometry):
    """The fractional bin of each pixel in one view: what is back-projected of a row that holds each bin's number."""
    geometry = {"bins": draw.TURN_BINS, "nx": draw.SIDE, "ny": draw.SIDE, **geometry}
    with isocenter.CT(**geometry) as ct:
        return ct.backproject(np.arange(geometry["bins"], dtype=np.float32)[None])


class Drawn(unittest.TestCase):
    def test_the_files_are_what_the_scripts_draw(self):
        for script in (draw, plots, rooms):
            for name, figure in script.FIGURES.items():
                with tempfile.TemporaryDirectory() as folder:
                    figure().write(Path(folder) / "figure.svg")
                    self.assertEqual((Path(folder) / "figure.svg").read_text(), (DOCS / "figures" / f"{name}.svg").read_text(), name)

    def test_every_figure_is_on_a_page(self):
        pages = "".join(page.read_text(encoding="utf-8") for page in DOCS.glob("*.md"))
        for name in (*draw.FIGURES, *plots.FIGURES, *rooms.FIGURES, *slices.FIGURES):
            self.assertTrue(f"(figures/{name}.svg)" in pages, name)

    def test_plots_hold_measured_figures(self):
        results = DOCS.parent / "benches" / "results"
        for name, (source, rows) in plots.SOURCES.items():
            measured = re.findall(r"[\d.]+(?:e-\d+)?", (results / source).read_text(encoding="utf-8"))
            for value in (*(v for _, values in rows for v in values), *plots.ERRORS.get(name, {}).values()):
                self.assertIn(value, measured, f"{name}: not in {source}")


class Slices(unittest.TestCase):
    """Of the picture of slices: the last bits of a slice depend on the processor."""

    def test_the_picture_is_what_the_library_reconstructs(self):
        def levels(text):
            """Of each picture in the figure, and the text without them."""
            pictures = re.findall('base64,([^"]*)', text)
            rows = [np.frombuffer(zlib.decompress(base64.b64decode(p)[41:-16]), np.uint8).astype(int) for p in pictures]
            return rows, re.sub('base64,[^"]*', "", text)

        for name, figure in slices.FIGURES.items():
            with tempfile.TemporaryDirectory() as folder:
                figure().write(Path(folder) / "figure.svg")
                drawn, text = levels((Path(folder) / "figure.svg").read_text())
            kept, kept_text = levels((DOCS / "figures" / f"{name}.svg").read_text())
            self.assertEqual(text, kept_text)
            self.assertEqual(len(kept), 4)
            for k, (new, old) in enumerate(zip(drawn, kept)):
                # A level is 0.005: 1e-4 of the slice, the tolerance, may cross to the next one and no further.
                self.assertLessEqual(np.abs(new - old).max(), 1, k)

    def test_errors(self):
        page = (DOCS / "choosing.md").read_text(encoding="utf-8")
        body = isocenter.CT.shepp_logan(slices.RADIUS)
        cases = {"detail": (slices.detail(), slices.RAYS), "shepp_logan": (body, slices.RAYS), "rays": (body, 1)}
        for case, (ellipses, rays) in cases.items():
            for name, error in slices.errors(*slices.slices(ellipses, rays)).items():
                # The last digit, and what the tolerance of 1e-4 makes of values about 1.
                self.assertAlmostEqual(error, float(slices.ERRORS[case][name]), delta=0.5e-4 + 1e-4, msg=(case, name))
            self.assertIn(" | ".join(["", *slices.ERRORS[case].values(), ""]).strip() + "\n", page, case)


class CT(unittest.TestCase):
    def test_detector(self):
        """A disk on the axis has its shadow about the axis, and a row of ones is 1/2 half a bin beside the last centre."""
        for axis in (draw.DEFAULT_AXIS, draw.GIVEN_AXIS):
            given = {} if axis == draw.DEFAULT_AXIS else {"axis": axis}
            with isocenter.CT(angles=[0.3], bins=draw.BINS, **given) as ct:
                shadow = ct.phantom_projections([[1.0, 0.0, 0.0, 2.5, 2.5, 0.0]]).ravel().astype(float)
            self.assertAlmostEqual(shadow @ np.arange(draw.BINS) / shadow.sum(), axis, delta=0.1)
        for bin_, value in ((draw.HALF_BEYOND, 0.5), (-1.0, 0.0), (0.0, 1.0), (draw.BINS - 1.0, 1.0), (float(draw.BINS), 0.0)):
            with isocenter.CT(angles=[0.0], bins=draw.BINS, axis=bin_, nx=1, ny=1) as ct:
                self.assertAlmostEqual(float(ct.backproject(np.ones((1, draw.BINS), np.float32)).item()), value, places=5)

    def test_turn(self):
        self.assertAlmostEqual(float(bins_of_pixels(angles=[draw.TURN])[draw.PIXEL]), draw.PIXEL_BIN, places=5)
        # The true shadow of a disk at that place, with y upwards, is there, too.
        with isocenter.CT(angles=[draw.TURN], bins=draw.TURN_BINS) as ct:
            shadow = ct.phantom_projections([[1.0, *draw.PIXEL_XY, 2.0, 2.0, 0.0]]).ravel().astype(float)
        self.assertAlmostEqual(shadow @ np.arange(draw.TURN_BINS) / shadow.sum(), draw.PIXEL_BIN, delta=0.15)

    def test_half_turn(self):
        """A ray's bin half a turn later; bins counted from the other end; the sample turning the other way."""
        axis = draw.DEFAULT_AXIS
        size = {"bins": draw.BINS, "nx": draw.BINS, "ny": draw.BINS}
        there, back = (bins_of_pixels(angles=[angle], **size) for angle in (0.0, math.pi))
        self.assertTrue(np.allclose(there[:, draw.HALF_TURN_BIN], draw.HALF_TURN_BIN))
        self.assertTrue(np.allclose(back[1:-1, draw.HALF_TURN_BIN], 2 * axis - draw.HALF_TURN_BIN, atol=1e-4))
        angles = np.arange(20) * math.pi / 20

        def projections(y=1.5, **geometry):
            with isocenter.CT(bins=16, **geometry) as ct:
                return ct.phantom_projections([[1.0, 3.0, y, 2.0, 2.0, 0.0]])[:, 0]

        seen = projections(angles=angles, axis=6.25)
        self.assertTrue(np.allclose(seen[:, ::-1], projections(angles=angles + math.pi, axis=15 - 6.25), atol=1e-5))
        # A sample that turns the other way looks as its mirror image that turns this way.
        self.assertTrue(np.allclose(projections(angles=-angles, axis=6.25), projections(y=-1.5, angles=angles, axis=6.25), atol=1e-5))

    def test_half_pixels(self):
        for columns, axis in draw.COLUMNS.items():
            bins = bins_of_pixels(angles=[0.0], nx=columns, ny=columns)[0]
            self.assertAlmostEqual(float(np.interp(6.5, bins, np.arange(columns))), axis, places=5)

    def test_region(self):
        rows, columns = (slice(first, first + draw.ROI_SIDE) for first in (draw.ROI_ROW, draw.ROI_COLUMN))
        whole = bins_of_pixels(angles=[draw.TURN])
        region = bins_of_pixels(angles=[draw.TURN], nx=draw.ROI_SIDE, ny=draw.ROI_SIDE, x_offset=draw.ROI_X_OFFSET,
                                y_offset=draw.ROI_Y_OFFSET)
        self.assertTrue(np.allclose(region, whole[rows, columns], atol=1e-5))

    def test_stack(self):
        with isocenter.CT(angles=[0.0], bins=draw.BINS, rows=draw.ROWS, first_row=draw.FIRST_ROW, slices=draw.SLICES) as ct:
            frame = np.repeat(np.arange(draw.ROWS, dtype=np.float32)[:, None], draw.BINS, 1)
            volume = ct.backproject(frame[None])
        self.assertEqual(volume.shape, (draw.SLICES, draw.BINS, draw.BINS))
        self.assertEqual([round(float(z.max())) for z in volume], [draw.FIRST_ROW + z for z in range(draw.SLICES)])


class MRI(unittest.TestCase):
    def test_positions(self):
        k = np.linspace(-0.4, 0.4, 9)
        points = np.stack([k, np.zeros(9)], 1)
        for count, positions in draw.POSITIONS.items():
            for axis in (0, 1):
                with isocenter.MRI(trajectory=points[:, [axis, 1 - axis]], unit="cycles_per_voxel", nx=count, ny=count) as mri:
                    for j, position in enumerate(positions):
                        image = np.zeros((count, count), np.complex64)
                        image[(count // 2, j) if axis == 0 else (j, count // 2)] = 1
                        self.assertTrue(np.allclose(mri.forward(image), np.exp(-2j * np.pi * k * position), atol=1e-4))

    def test_units(self):
        image = np.random.default_rng(0).standard_normal((8, 8)).astype(np.complex64)
        ends = np.array([[1.0, 0.0], [-0.5, 0.5], [0.25, -1.0]])
        found = []
        for unit, end in draw.UNITS.items():
            with isocenter.MRI(trajectory=end * ends, unit=unit, nx=8, ny=8) as mri:
                found.append(mri.forward(image))
            with self.assertRaises(isocenter.OutOfRangeError):
                isocenter.MRI(trajectory=1.02 * end * ends, unit=unit, nx=8, ny=8)
        for other in found[1:]:
            self.assertTrue(np.allclose(found[0], other, atol=1e-4))


class PET(unittest.TestCase):
    azimuth, tilt = math.radians(draw.AZIMUTH), math.radians(draw.TILT)

    def plan(self, **geometry):
        return isocenter.PET(**{"nx": draw.LATTICE, "ny": draw.LATTICE, "nz": 3, "voxel_x": draw.VOXEL, "azimuths": 6, "max_tilt": 0.1,
                                **geometry})

    def deposit(self, pet, first, second, difference):
        counts = np.zeros(pet.histo_images_shape, np.uint32)
        pet.deposit(np.array([first]), np.array([second]), np.array([difference]), counts)
        self.assertEqual(counts.sum(), 1)
        return tuple(int(i[0]) for i in np.nonzero(counts))

    def test_event(self):
        """View 1 of six has an azimuth of 30 degrees; the event's slice is the middle one of three."""
        with self.plan() as pet:
            self.assertAlmostEqual(math.degrees(pet.views()[1][0]), draw.AZIMUTH)
            first, second = (*draw.FIRST, 0.0), (*draw.SECOND, 0.0)
            self.assertEqual(self.deposit(pet, first, second, draw.DIFFERENCE), (1, 1, *draw.EVENT_VOXEL))
            self.assertEqual(self.deposit(pet, second, first, -draw.DIFFERENCE), (1, 1, *draw.EVENT_VOXEL))
            opposite = tuple(draw.LATTICE - 1 - i for i in draw.EVENT_VOXEL)
            self.assertEqual(self.deposit(pet, first, second, -draw.DIFFERENCE), (1, 1, *opposite))

    def test_axes(self):
        """A kernel's covariance has the axes n, r and a of the figure, whose widths differ."""
        p, t = self.azimuth, self.tilt
        n = np.array([math.cos(p) * math.cos(t), math.sin(p) * math.cos(t), math.sin(t)])
        r = np.array([-math.sin(p), math.cos(p), 0.0])
        a = np.cross(n, r)
        with self.plan(nx=64, ny=64, nz=64, voxel_x=4.0, views=np.array([[p, t]]), azimuths=0, tilts=0, max_tilt=0.5) as pet:
            pet.set_response(tof_fwhm=400.0, radial_fwhm=12.0, axial_fwhm=24.0, cut="ellipsoid", cut_width=5.0)
            _, offsets, values, _ = pet.tables(0)
        d = 4.0 * offsets
        covariance = (values[0][:, None, None] * d[:, :, None] * d[:, None, :]).sum(0)
        for axis, fwhm in ((n, 400.0 * draw.HALF_LIGHT), (r, 12.0), (a, 24.0)):
            self.assertAlmostEqual(math.sqrt(axis @ covariance @ axis) * 2.354820 / fwhm, 1.0, delta=0.02)
        # A direction of that tilt, given by its ends, is counted there and not in the mirrored view.
        with self.plan(nz=15, views=np.array([[p, -t], [p, t]]), azimuths=0, tilts=0, max_tilt=0.5) as pet:
            self.assertEqual(self.deposit(pet, 200 * n, -200 * n, 0.0)[0], 1)

    def test_signed_radius(self):
        """Kernels that widen from one side to the other: the width at the figure's place is that of its signed radius."""
        place = draw.PLACE
        with self.plan(nx=39, ny=39, nz=9, voxel_x=5.0, views=np.array([[self.azimuth, 0.0]]), azimuths=0, tilts=0) as pet:
            pet.set_response(tof_fwhm=200.0, axial_fwhm=8.0, radial_table=[[-100.0, 10.0], [100.0, 30.0]], cut_width=4.0)
            chosen, offsets, values, _ = pet.tables(0)
        across = 5.0 * (offsets[:, 1] * math.cos(self.azimuth) - offsets[:, 0] * math.sin(self.azimuth))
        for sign in (1, -1):
            row, column = (round(sign * x / 5.0 + 19) for x in (place[1], place[0]))
            kernel = values[chosen[row, column]].astype(float)
            fwhm = 2.354820 * math.sqrt((kernel * across ** 2).sum())
            self.assertAlmostEqual(fwhm, 20.0 + sign * draw.SIGNED_RADIUS / 10.0, delta=0.5)


if __name__ == "__main__":
    unittest.main()
