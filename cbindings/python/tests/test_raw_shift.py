"""Shifts of the field of view: each point of the body keeps its place in mm."""
import contextlib
import io
import math
import os
import re
import unittest

import numpy as np

import isocenter
import isocenter.raw
import test_raw_ways
from isocenter.raw.__main__ import main
from test_raw import COILS, FIELD, PHANTOM, PLANE, N, grid, lines, measured, plan, radial, sensitivities, spiral
from test_raw_ways import AXIAL, acquisition, header, late, write

VOXEL = FIELD / N
TILTED = {"read_dir": (0, 1, 0), "phase_dir": (-0.6, 0, 0.8), "slice_dir": (0.8, 0, 0.6), "position": (11.0, -7.0, 3.0)}


class Shifted(test_raw_ways.Kinds):
    test_errors = None  # of the other kinds

    def spokes(self, k, **words):
        return [acquisition(s, along, **words) for s, along in zip(measured(k).swapaxes(0, 1), k)]

    def is_moved(self, seen, plain, voxels, relative=5e-3):
        """Whole voxels: the same values elsewhere, to what maps of float32 calibrations are worth."""
        (x, y), image, whole = voxels, np.abs(seen.images[0, 0]), np.abs(plain.images[0, 0])
        there = whole[max(y, 0):N + min(y, 0), max(x, 0):N + min(x, 0)]
        self.close_to(image[max(-y, 0):N - max(y, 0), max(-x, 0):N - max(x, 0)], there, relative)

    def test_against_ellipses(self):
        """By fractions of voxels, of every kind of readouts."""
        found = {}
        for name, made, words in (("Cartesian", lines(self.full, **TILTED), {}), ("every 2nd line", self.accelerated(2), {}), ("radial", self.spokes(radial(76), **TILTED), {"kind": "radial"}),
                                  ("spiral", self.along(spiral(16, turns=4)), {"kind": "spiral"})):
            for middle in ((0.5, 0.0), (-2.3, 3.75)):
                with self.subTest(name, middle=middle), self.quiet():
                    seen = self.image(made, options={"shift": np.array(middle) * VOXEL}, **words)
                    found[name, middle] = self.error(seen.images[0, 0], sensitivities(middle=middle), middle=middle)
        if os.environ.get("ISOC_TEST_FIGURES"):
            print(found)
        self.assertLess(max(found.values()), 2.0, found)

    def test_points_keep_their_place(self):
        """The centre of an asymmetric object, in mm, and a picture's marks."""
        def centre(made, shift):
            image = np.abs(made.images[0, 0]) / np.linalg.norm(sensitivities(middle=np.array(shift) / VOXEL), axis=0)
            y, x = np.mgrid[:N, :N]
            weight = image * (image > 0.3)
            return made.affine @ [(weight * x).sum() / weight.sum(), (weight * y).sum() / weight.sum(), 0, 1]

        for words in (AXIAL, TILTED):
            for kind, made in (("cartesian", lines(self.full, **words)), ("radial", self.spokes(radial(76), **words))):
                places = []
                for shift in ((0, 0), (-13.0, 22.0), (7.5, -2.5)):
                    seen = self.image(made, kind=kind, options={"shift": shift})
                    places.append(centre(seen, shift))
                    directions = np.stack([words[name] for name in ("read_dir", "phase_dir")], axis=1)
                    middle = np.array(words.get("position", (0, 0, 0))) + directions @ shift
                    np.testing.assert_allclose(seen.affine @ [N // 2, N // 2, 0, 1], [*middle, 1], atol=1e-4)
                    np.testing.assert_allclose(seen.heads[0, 0]["position"], middle, atol=1e-4)
                with self.subTest(kind, words=words):
                    # Edges of voxels of 5 mm are cut elsewhere: a fiftieth of one, and a shift that is not taken along is 15 mm.
                    np.testing.assert_allclose(places[1:], [places[0]] * 2, atol=0.1)

    def test_siemens(self):
        """Whose samples are conjugated: the field of view moves the same way."""
        seen = self.image(lines(self.full.conj(), **AXIAL), vendor="SIEMENS", options={"shift": (3 * VOXEL, -2 * VOXEL)})
        self.is_moved(seen, self.image(lines(self.full, **AXIAL)), (3, -2))

    def test_maps_and_calibration_go_along(self):
        """Calibration lines of another encoding, maps of a caller, partial Fourier, and delays."""
        shift, voxels = {"shift": (4 * VOXEL, -3 * VOXEL)}, (4, -3)
        k = np.stack(np.meshgrid((np.arange(24) - 12) / N, (np.arange(24) - 10) / N), axis=-1)
        reference = [acquisition(line, kspace_encode_step_1=y, encoding_space_ref=1, center_sample=12, flags=["IS_PARALLEL_CALIBRATION"])
                     for y, line in enumerate(measured(k).swapaxes(0, 1))]
        text = header(kind="cartesian", encoded=PLANE, coils=COILS, centres=(N // 2,))
        mine = header(kind="cartesian", encoded=((1, 24, 24), (5.0, FIELD, FIELD)), coils=COILS, centres=(10,))
        text = text.replace("</ismrmrdHeader>", re.search("<encoding>.*</encoding>", mine, re.S)[0] + "</ismrmrdHeader>")
        path = write(self.path, text, reference + lines(self.full)[::2])
        with self.quiet():
            self.is_moved(isocenter.raw.reconstruct(path, iterations=40, **shift), isocenter.raw.reconstruct(path, iterations=40), voxels, 0.02)
            partial = lines(self.full)[:32]
            self.is_moved(self.image(partial, options=shift), self.image(partial), voxels, 0.02)
            maps = self.image(lines(self.full)[::2], options={**shift, "maps": sensitivities(middle=voxels), "iterations": 40})
            self.is_moved(maps, self.image(lines(self.full)[::2], options={"maps": sensitivities(), "iterations": 40}), voxels, 0.02)
        seen = measured(np.clip(late((1.5, 1.2)), -0.5, 0.5))
        made = [acquisition(seen[:, s], along) for s, along in enumerate(radial())]
        with self.warns("The trajectory is corrected"):
            self.is_moved(self.image(made, kind="radial", options=shift), self.image(made, kind="radial"), voxels, 0.03)

    def test_what_readout_oversampling_saw(self):
        """An object that the field of view cuts in two: what lines of twice its width have is not lost when it moves there."""
        body = PHANTOM + np.array([0, 20, 0, 0, 0, 0, 0, 0])

        def samples(which):
            with plan(grid(2 * N).reshape(-1, 2), nx=2 * N) as wide:
                return wide.phantom_samples(which).reshape(1, N, 2 * N)

        words = {"encoded": ((1, N, 2 * N), (5.0, FIELD, 2 * FIELD)), "recon": PLANE, "coils": 1}
        for off in (20.0, 19.4):
            seen = self.image(lines(samples(body)), **words, options={"shift": (off * VOXEL, 0)})
            expected = self.image(lines(samples(PHANTOM + np.array([0, 20 - off, 0, 0, 0, 0, 0, 0]))), **words)
            self.close_to(np.abs(seen.images), np.abs(expected.images), 1e-4)

    def test_volumes(self):
        """A point, along all three axes."""
        n, place, shift = 16, np.array([3, -2, 5]), np.array([2, -3, 4])
        k = np.stack(np.meshgrid(*[(np.arange(n) - n // 2) / n] * 3, indexing="ij"), axis=-1)[..., ::-1]
        samples = np.exp(-2j * math.pi * (k @ place)).astype("complex64")
        made = [acquisition(samples[z, y][None], kspace_encode_step_1=y, kspace_encode_step_2=z, **TILTED) for z in range(n) for y in range(n)]
        seen = self.image(made, encoded=((n, n, n), (48.0, 32.0, 32.0)), coils=1, centres=(8, 8), options={"shift": shift * [2, 2, 3]})
        at = np.unravel_index(np.abs(seen.images[0]).argmax(), (n, n, n))
        self.assertEqual(at, tuple((place - shift)[::-1] + n // 2))
        directions = np.stack([TILTED[name] for name in ("read_dir", "phase_dir", "slice_dir")], axis=1)
        np.testing.assert_allclose((seen.affine @ [*at[::-1], 1])[:3], TILTED["position"] + directions @ (place * [2, 2, 3]), atol=1e-4)

    def test_select(self):
        raw = self.read(lines(self.full))
        plain, moved = raw.select(), raw.select(shift=(2.5, -4))
        turn = np.exp(2j * math.pi * (plain.trajectory.astype(float) @ [2.5 / VOXEL, -4 / VOXEL]))
        np.testing.assert_allclose(moved.samples, plain.samples * turn, atol=1e-6 * np.abs(plain.samples).max())
        np.testing.assert_array_equal(moved.trajectory, plain.trajectory)

    def test_mistakes(self):
        path = self.write(lines(self.full))
        for shift, words in ((5, "shift is 5; it must be two numbers in mm"), ((1,), "must be two"), ((1, 2, 3, 4), "must be two"), ((math.nan, 0), "must be two"), ("1,2", "must be two"),
                             ((1j, 0), "must be two"), ((0, 0, 2), "a plane lies where it was excited"), ((0, 240), "240 mm along y, where the encoded field of view is 240 mm: nothing of it"),
                             ((-1000, 0), "-1000 mm along x")):
            with self.subTest(shift=shift):
                with self.assertRaisesRegex(ValueError, words):
                    isocenter.raw.reconstruct(path, shift=shift)
                with self.assertRaisesRegex(ValueError, words):
                    isocenter.raw.read(path).select(shift=shift)
        np.testing.assert_array_equal(isocenter.raw.reconstruct(path, shift=(0, 0, 0)).images, isocenter.raw.reconstruct(path).images)

    def test_command(self):
        path, out = self.write(lines(self.full)), os.path.join(self.folder.name, "image.npy")
        with contextlib.redirect_stdout(io.StringIO()):
            main([path, "-o", out, "--shift=-10,2.5"])
        np.testing.assert_array_equal(np.load(out), isocenter.raw.reconstruct(path, shift=(-10, 2.5)).images)
        for text, words in (("ten,0", "--shift is ten,0; it must be two numbers in mm, along read_dir and phase_dir, .* such as --shift=-10,2.5"), ("1", "shift is \\[1.0\\]; it must be two"),
                            ("0,0,1", "a plane lies where it was excited")):
            with self.assertRaisesRegex(SystemExit, words), contextlib.redirect_stdout(io.StringIO()):
                main([path, "-o", out, "--shift", text])


if __name__ == "__main__":
    unittest.main()
