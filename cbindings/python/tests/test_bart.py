"""BART's files, and its pics and nufft: beside sums in f64 and minima that are known, and mistakes. BART itself is not needed here: benches/peers/mri_bart.py
runs it."""
import contextlib
import io
import math
import os
import tempfile
import unittest

import numpy as np

import fuzz_cfl
from isocenter import bart
from isocenter.bart import _random
from isocenter.bart.__main__ import main

# Of BART's transforms along each axis, as measured: see benches/results/2026-11-29-bart.md.
GAIN = 1.000685
# Transforms are to 1e-5 of the largest sum, and images and sums of f32: some times 6e-8 in each of some tens of steps.
CLOSE = 1e-4
RNG = np.random.default_rng(5)


def apart(found, right):
    return np.linalg.norm(found - right) / np.linalg.norm(right)


def noise(*shape):
    return RNG.standard_normal(shape) + 1j * RNG.standard_normal(shape)


def places(n):
    return np.arange(n) - n // 2


def sums(k, size):
    """Dense (samples, x, y): exp(-2 pi i k.r / N), k (samples, 2) in 1 / field of view."""
    x, y = (np.exp(-2j * math.pi * np.outer(k[:, axis], places(size[axis])) / size[axis]) for axis in (0, 1))
    return x[:, :, None] * y[:, None]


def scale_of(values):
    sizes = np.sort(np.abs(values).ravel())
    median, high, most = sizes[len(sizes) // 2], sizes[int(0.9 * len(sizes))], sizes[-1]
    return high if most - high < 2 * (high - median) else most


class Scan:
    """An object off the middle in x and y, with other sides, seen by coils along a trajectory of spokes; in f64."""
    size, coils, spokes, readout = (12, 16), 3, 9, 20

    def __init__(self):
        nx, ny = self.size
        angle, radius = np.arange(self.spokes) * 2.4, (np.arange(self.readout) - self.readout / 2) * 0.55
        self.k = np.stack([np.outer(radius, np.cos(angle)), np.outer(radius, np.sin(angle))])  # (2, samples, spokes)
        self.image = np.zeros(self.size, complex)
        self.image[7:11, 2:5], self.image[3, 12], self.image[5, 6] = 1, 6 - 3j, 0.5j
        self.maps = np.stack([np.exp(-((np.arange(nx)[:, None] / nx - a)**2 + (np.arange(ny) / ny - 0.3 * a)**2) + 1j * a) for a in (0, 0.5, 1)], -1)
        points = self.k.reshape(2, -1, order="F").T
        unitary = sums(points, self.size) / math.sqrt(nx * ny)
        # (coils, samples, voxels)
        self.matrix = (unitary * np.moveaxis(self.maps, -1, 0)[:, None]).reshape(self.coils, len(points), -1)
        self.data = self.matrix @ self.image.ravel() + 0.01 * noise(self.coils, len(points))

    def arrays(self):
        """kspace, sensitivities and trajectory of BART's dimensions."""
        kspace = self.data.T.reshape(1, self.readout, self.spokes, self.coils, order="F")
        return kspace, self.maps[:, :, None], np.concatenate([self.k, 0 * self.k[:1]])

    def normal(self, weights=1.0):
        """A^H A and A^H y with BART's gain, and the scale."""
        a = self.matrix.reshape(-1, self.matrix.shape[-1])
        weights = np.broadcast_to(weights, self.data.shape).ravel()
        right = GAIN**2 * a.conj().T @ (weights * self.data.ravel())
        scale = scale_of(right)
        return GAIN**2 * (a.conj().T * weights) @ a, right / scale, scale


class Files(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.name = os.path.join(folder.name, "a.b")

    def test_what_is_written_is_read(self):
        for shape in ((1,), (3,), (1, 5, 1, 2), (2, 3) + (1,) * 13 + (2,)):
            for kind in ("complex64", "complex128", "float32", "int16"):
                array = noise(*shape).astype("complex128") if kind.startswith("c") else RNG.standard_normal(shape) * 9
                array = array.astype(kind)
                for given in (array, np.asfortranarray(array), array[::-1]):
                    bart.writecfl(self.name, given)
                    found = bart.readcfl(self.name)
                    self.assertEqual(found.dtype, "complex64")
                    np.testing.assert_array_equal(found.reshape(shape, order="F"), given.astype("complex64"))
                    self.assertNotEqual((1,) * (found.ndim > 1), found.shape[-1:])

    def test_bytes_of_the_files(self):
        """As BART writes them: column-major, x first, 16 dimensions."""
        bart.writecfl(self.name, np.array([[1, 2, 3], [4, 5, -0.0]]), command="pics\n-l1 a", files=[">c", "<a"])
        with open(self.name + ".cfl", "rb") as file:
            self.assertEqual(np.frombuffer(file.read(), "<f4").tolist(), [1, 0, 4, 0, 2, 0, 5, 0, 3, 0, 0, 0])
        with open(self.name + ".hdr") as file:
            lines = file.read().splitlines()
        self.assertEqual(lines[:6], ["# Dimensions", "2 3" + " 1" * 14, "# Command", "pics -l1 a", "# Files", " >c <a"])
        self.assertEqual(bart.readheader(self.name)[:3], ((2, 3), "pics -l1 a", (">c", "<a")))
        self.assertEqual(bart.readcfl(self.name + ".cfl").shape, (2, 3))

    def test_values_stay_to_the_bit(self):
        bits = np.array([0x80000000, 0x7fc00001, 0xff800000, 0x00000001], "uint32")
        bart.writecfl(self.name, bits.view("complex64"))
        np.testing.assert_array_equal(bart.readcfl(self.name).view("uint32"), bits)

    def test_large_files_are_mapped(self):
        array = np.arange(1 << 21, dtype="complex64").reshape(2, -1)
        bart.writecfl(self.name, array)
        found = bart.readcfl(self.name)
        self.assertIsInstance(found, np.memmap)
        found[0, 0] = 7
        self.assertEqual(bart.readcfl(self.name)[0, 0], 0)
        bart.writecfl(self.name, found[::-1])  # over the file that it lies in
        np.testing.assert_array_equal(bart.readcfl(self.name)[0], array[1])
        self.assertEqual(found[1, 5], array[1, 5])
        self.assertEqual(sorted(os.listdir(os.path.dirname(self.name))), ["a.b.cfl", "a.b.hdr"])

    def test_bad_headers(self):
        many = "x" * (1 << 20)
        for text, said in (
                ("", "no section '# Dimensions'"), ("# Dimensions\n", "no numbers"), ("# Dimensions\n# Command\nx\n", "no numbers"), ("2 3\n", "it begins with '2 3'"),
                ("# Dimensions\n2 x\n", "dimension 1 is 'x', which is no integer"), ("# Dimensions\n2 nan\n", "'nan', which is no integer"),
                ("# Dimensions\n2.0\n", "'2.0', which is no integer"),
                ("# Dimensions\n1_0\n", "'1_0', which is no integer"), ("# Dimensions\n-0 2\n", "dimension 0 is '-0'; it must be at least 1"),
                ("# Dimensions\n2 -1\n", "dimension 1 is '-1'"),
                ("# Dimensions\n2 0\n", "dimension 1 is '0'"), ("# Dimensions\n" + "1 " * 16 + "2\n", "dimension 16 is 2; only dimensions 0 to 15"),
                ("# Dimensions\n4294967296 4294967296\n", "more bytes than a file can have"), ("# Dimensions\n99999999999999999999\n", "no integer of at most 19 digits"),
                ("# Dimensions\n2\n# Dimensions\n2\n", "two sections"), ("# Dimensions\n2\n# Data\nelsewhere\n", "in another file"),
                ("# Dimensions\n2\n# MultiDimensions\n1 1\n", "several arrays"), ("# Dimensions\n2\n# Command\n" + many, "it is no header")):
            with self.subTest(text[:40]):
                with open(self.name + ".hdr", "w") as file:
                    file.write(text)
                with open(self.name + ".cfl", "wb") as file:
                    file.write(bytes(16))
                with self.assertRaises(ValueError) as e:
                    bart.readcfl(self.name)
                self.assertIn(said, str(e.exception))
                self.assertIn(self.name + ".hdr", str(e.exception))

    def test_what_bart_reads(self):
        for text in ("# Dimensions\n2 1\n", "# Dimensions\r\n2 1 \r\n", "# Dimensions\n2\n1\n", "# Creator\nBART\n# Dimensions\n2" + " 1" * 20, "#Dimensions\n+2", "\n# Dimensions\n2\n# Else\nx\n"):
            with open(self.name + ".hdr", "w", newline="") as file:
                file.write(text)
            with open(self.name + ".cfl", "wb") as file:
                file.write(bytes(16))
            self.assertEqual(bart.readcfl(self.name).shape, (2,), text)

    def test_sizes_that_do_not_fit(self):
        bart.writecfl(self.name, np.ones((2, 3)))
        for size, said in ((47, "cut off"), (0, "cut off"), (49, "longer")):
            os.truncate(self.name + ".cfl", size)
            with self.assertRaisesRegex(ValueError, rf"a\.b\.cfl has {size} bytes; 2 x 3 .* 48: .*{said}"):
                bart.readcfl(self.name)
        with open(self.name + ".hdr", "w") as file:
            file.write("# Dimensions\n1000000 1000000\n")  # 8 TB, of which nothing is allocated
        with self.assertRaisesRegex(ValueError, "8000000000000"):
            bart.readcfl(self.name)

    def test_mistakes_of_callers(self):
        for call, kind, said in ((lambda: bart.writecfl(self.name, np.ones((1,) * 17)), ValueError, "17 dimensions"),
                                 (lambda: bart.writecfl(self.name, np.ones((2, 0))), ValueError, "at least 1"),
                                 (lambda: bart.writecfl(self.name, ["a"]), TypeError, "numbers"), (lambda: bart.writecfl(self.name, [1e39]), ValueError, "beyond 3.4e38"),
                                 (lambda: bart.readcfl("-"), ValueError, "another kind"), (lambda: bart.readcfl("x.ra"), ValueError, "another kind"),
                                 (lambda: bart.readcfl(self.name + "x"), OSError, "a.bx.hdr")):
            with self.assertRaisesRegex(kind, said):
                call()
        self.assertEqual(os.listdir(os.path.dirname(self.name)), [])

    def test_mutations(self):
        """20 000 executions; python fuzz_cfl.py has a million."""
        read, refused = fuzz_cfl.executed(os.path.dirname(self.name), 20000, 1)
        self.assertGreater(read, 500)
        self.assertGreater(refused, 5000)


class Random(unittest.TestCase):
    def test_numbers_are_the_c_librarys(self):
        steps, sums_ = _random.Steps(1), _random.Sums()
        self.assertEqual([steps() for _ in range(3)], [476707713, 1186278907, 505671508])
        self.assertEqual(_random.Steps(123).several(3).tolist(), [612365165, 943759613, 348315775])
        self.assertEqual([sums_() for _ in range(506)][0::505], [1804289383, 1516266761])


class Transforms(unittest.TestCase):
    def test_sums(self):
        scan = Scan()
        _, _, trajectory = scan.arrays()
        points = scan.k.reshape(2, -1, order="F").T
        dense = sums(points, scan.size).reshape(len(points), -1)
        image = noise(*scan.size, 1, 2)
        unit = GAIN**2 / math.sqrt(192)
        right = (dense @ image.reshape(192, 2)).reshape(1, scan.readout, scan.spokes, 2, order="F")
        found = bart.nufft("", trajectory, image)
        self.assertEqual(found.shape[:4], right.shape)
        self.assertLess(apart(found.reshape(right.shape), right * unit), CLOSE)
        self.assertLess(apart(bart.nufft("-s", trajectory, image).reshape(right.shape), right), CLOSE)
        flat = right.reshape(-1, 2, order="F")
        back = (dense.conj().T @ flat).reshape(image.shape)
        self.assertLess(apart(bart.nufft("-a -d 12:16:1", trajectory, right).reshape(image.shape), back * unit), CLOSE)
        normal = GAIN**2 / 192 * dense.conj().T @ dense
        solved = np.linalg.solve(normal + 0.5 * np.eye(192), unit * back.reshape(192, 2))
        for way in ("-t", "-r"):
            found = bart.nufft(f"-i -l0.5 -m60 {way} -d 12:16:1", trajectory, right).reshape(192, 2)
            self.assertLess(apart(found, solved), 5 * CLOSE)  # the condition is below 20
        plain = np.linalg.solve(dense.conj().T @ dense + 100 * np.eye(192), back.reshape(192, 2))
        self.assertLess(apart(bart.nufft("-i -s -l100 -m60 -d 12:16:1", trajectory, right).reshape(192, 2), plain), 5 * CLOSE)

    def test_size_by_the_trajectory(self):
        trajectory = np.zeros((3, 5, 1))
        trajectory[0, :, 0], trajectory[1, :, 0] = (0, 1, 2, 3, -3.5), (0, 1.5, 2, 0, 0)
        told = []
        self.assertEqual(bart.nufft("-a", trajectory, np.ones((1, 5, 1)), told=told.append).shape[:3], (8, 4, 1))
        self.assertEqual(told, ["images of 8 x 4 x 1, by the trajectory"])


class Pics(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scan = Scan()
        cls.kspace, cls.maps, cls.trajectory = cls.scan.arrays()

    def pics(self, options, **arrays):
        return bart.pics(options, self.kspace, self.maps, **{"trajectory": self.trajectory, **arrays})

    def test_least_squares(self):
        normal, right, scale = self.scan.normal()
        told = []
        for options, weight in (("-l2 -r0.3 -i80", 0.3), ("-r 0.3 -l2 -i80", 0.3), ("-r.3 -i80", 0.3), ("-RQ:0.3 -i80", 0.3), ("-R Q:2 -S -i80", 2)):
            right_image = np.linalg.solve(normal + weight * np.eye(192), right).reshape(self.scan.size) * (scale if "-S" in options else 1)
            found = self.pics("-d3 " + options).reshape(self.scan.size)
            self.assertLess(apart(found, right_image), 5 * CLOSE, options)
        bart.pics("-d3 -i1", self.kspace, self.maps, trajectory=self.trajectory, told=told.append)
        self.assertAlmostEqual(float(told[0].split()[1].rstrip(",")) / scale, 1, places=4)

    def test_left_and_right_and_up_and_down(self):
        """The brightest voxel is where it is in the object, with x as the first dimension."""
        found = np.abs(self.pics("-l2 -r0.01 -i60")).reshape(self.scan.size)
        self.assertEqual(np.unravel_index(found.argmax(), found.shape), (3, 12))
        self.assertGreater(found[7:11, 2:5].mean(), 3 * found[1:5, 2:5].mean())

    def test_as_many_iterations(self):
        """Conjugate gradient that is ended early, in f64."""
        normal, right, _ = self.scan.normal()
        x, r = 0 * right, right.copy()
        p, now = r, np.vdot(r, r).real
        for _ in range(5):
            q = normal @ p + 0.1 * p
            step = now / np.vdot(p, q).real
            x, r = x + step * p, r - step * q
            now, before = np.vdot(r, r).real, now
            p = r + now / before * p
        self.assertLess(apart(self.pics("-l2 -r0.1 -i5").ravel(), x), CLOSE)

    def test_weights(self):
        weights = RNG.random((1, self.scan.readout, self.scan.spokes))
        normal, right, _ = self.scan.normal(weights.ravel(order="F")[None]**2)
        solved = np.linalg.solve(normal + 0.3 * np.eye(192), right)
        self.assertLess(apart(self.pics("-l2 -r0.3 -i80", pattern=weights).ravel(), solved), 5 * CLOSE)

    def test_wavelets(self):
        """FISTA with BART's steps, on wavelets by their definition: reflected ends, sums over l of f[l] x[2 j + l - 2]."""
        normal, right, _ = self.scan.normal()
        low = np.array([1 + 3**0.5, 3 + 3**0.5, 3 - 3**0.5, 1 - 3**0.5]) / 32**0.5
        high = np.array([low[3], -low[2], low[1], -low[0]])

        def split(n):
            of = np.zeros((2, (n + 3) // 2, n))
            for band, f in enumerate((low, high)):
                for j in range((n + 3) // 2):
                    for l in range(4):
                        at = 2 * j + l - 2
                        at = -1 - at if at < 0 else 2 * n - 1 - at if at >= n else at
                        of[band, j, at] += f[l]
            return of

        def join(n):
            of = np.zeros((2, (n + 3) // 2, n))
            for band, f in enumerate((low, high)):
                for j in range((n + 3) // 2):
                    for l in range(4):
                        if 0 <= 2 * j + l - 2 < n:
                            of[band, j, 2 * j + l - 2] += f[l]
            return of

        def prox(x, cut):
            x = x.reshape(12, 16)
            bands = np.einsum("ajx,bky,xy->abjk", split(12), split(16), x)
            bands = bands * np.maximum(1 - cut / np.maximum(np.abs(bands), 1e-30), 0)
            return np.einsum("ajx,bky,abjk->xy", join(12), join(16), bands).ravel()

        def steps(step, weight, count, accelerated):
            x = before = 0 * right
            t = 1.0
            for _ in range(count):
                x = prox(x, step * weight)
                if accelerated:
                    following = (1 + math.sqrt(1 + 4 * t * t)) / 2
                    x, before, t = x + (t - 1) / following * (x - before), x, following
                x = x + step * (right - normal @ x)
            return x

        step = 0.9 / np.linalg.eigvalsh(normal)[-1]
        for way, accelerated in (("", True), ("-I", False)):
            found = self.pics(f"-l1 -r0.05 -n -i12 -s{step} {way}").ravel()
            self.assertLess(apart(found, steps(step, 0.05, 12, accelerated)), CLOSE)
        # A start that a step leads away from is where the first iteration begins.
        found = self.pics(f"-l1 -r0.05 -n -i1 -s{step}", start=self.scan.image).ravel()
        begun = prox(self.scan.image.ravel(), step * 0.05)
        self.assertLess(apart(found, begun + step * (right - normal @ begun)), CLOSE)
        # The largest eigenvalue is met by 30 products from below, and each further one hardly changes it.
        by_itself, told = 0.95 / np.linalg.eigvalsh(normal)[-1], []
        found = bart.pics("-e -l1 -r0.05 -n -i12", self.kspace, self.maps, trajectory=self.trajectory, told=told.append).ravel()
        self.assertLess(apart(found, steps(by_itself, 0.05, 12, True)), 0.02)
        self.assertIn("largest eigenvalue", told[1])

    def test_wavelets_go_back(self):
        from isocenter.bart._wavelets import Wavelets
        for name in ("haar", "dau2", "cdf44"):
            for shape, axes in (((40, 37), [-1, -2]), ((3, 5, 64), [-1]), ((16, 17, 33), [-1, -2, -3]), ((2, 100), [-1])):
                x = noise(*shape).astype("complex64")
                self.assertLess(apart(Wavelets(name, shape, axes).backward(*Wavelets(name, shape, axes).forward(x)), x), 1e-5)

    def test_moving_wavelets(self):
        """Grids that move and one that stays lead to images that differ a little."""
        moved, still = (self.pics(f"-e -R W:2:0:0.05 -i30 {n}").ravel() for n in ("", "-n"))
        self.assertTrue(1e-4 < apart(moved, still) < 0.2)

    def test_real_images(self):
        """Of a real image of weight 0 the minimum is that of real parts."""
        normal, right, _ = self.scan.normal()
        solved = np.linalg.solve(normal.real + 0.3 * np.eye(192), right.real)
        found = self.pics("-c -l2 -r0.3 -i80").ravel()
        self.assertEqual(abs(found.imag).max(), 0)
        self.assertLess(apart(found, solved), 5 * CLOSE)

    def test_variation_of_a_box(self):
        """The least of |x - y|^2 / 2 + w |x's gradient| for a box of 8 in a line of 24 that goes around, of one coil that was measured wholly: the box loses 2 w / 8 and
        the rest wins 2 w / 16."""
        for turned in (False, True):
            image = np.zeros((24, 2))
            image[9:17] = 1
            image = image.T if turned else image
            kspace = np.fft.fftshift(np.fft.fft2(np.fft.ifftshift(image), norm="ortho"))
            found = bart.pics(f"-R T:{2 if turned else 1}:0:0.4 -w1 -i3000 -C40 -u1", kspace, np.ones(image.shape), pattern=np.ones(image.shape))
            right = np.where(image > 0, 1 - 0.8 / 8, 0.8 / 16)
            self.assertLess(abs(found.reshape(image.shape) - right).max(), 1e-3)  # ADMM's steps end below that

    def test_low_rank_blocks(self):
        """Two iterations of a scan that was measured wholly, written out: singular values of 8 blocks of 4 x 4 voxels by 3 images."""
        series = noise(8, 16, 3)
        kspace = np.stack([np.fft.fftshift(np.fft.fft2(np.fft.ifftshift(series[..., k]), norm="ortho")) for k in range(3)], -1).reshape((8, 16) + (1,) * 8 + (3,))
        found = bart.pics("-R L:3:3:0.1 -b4 -n -s0.5 -i2 -w1", kspace, np.ones((8, 16, 1, 1))).reshape(series.shape)
        half, shrunk = series / 2, np.zeros_like(series)
        cut = 0.5 * 0.1 * (math.sqrt(16) + math.sqrt(3) + math.sqrt(math.log(8 * 3)))
        for x in range(0, 8, 4):
            for y in range(0, 16, 4):
                u, s, v = np.linalg.svd(half[x:x + 4, y:y + 4].reshape(16, 3), full_matrices=False)
                shrunk[x:x + 4, y:y + 4] = ((u * np.maximum(s - cut, 0)) @ v).reshape(4, 4, 3)
        first = (1 + math.sqrt(5)) / 2
        ahead = shrunk * (1 + (first - 1) / ((1 + math.sqrt(1 + 4 * first**2)) / 2))
        self.assertLess(apart(found, ahead + 0.5 * (series - ahead)), CLOSE)

    def test_lines(self):
        """Cartesian samples of odd and even sizes that lack some, and the scale by the middle of k-space."""
        nx, ny = 15, 14
        image, maps = np.zeros((nx, ny), complex), 1 + 0.3 * noise(nx, ny, 2)
        image[9:13, 3:6], image[2, 11] = 1, 1j
        dense = [np.exp(-2j * math.pi * np.outer(places(n), places(n)) / n) / math.sqrt(n) for n in (nx, ny)]
        full = np.einsum("kx,ly,xyc->klc", *dense, image[..., None] * maps)
        mask = RNG.random((nx, ny)) < 0.7
        mask[5:10, 5:10] = True
        mask[4], mask[10] = False, False
        mask[:, 4], mask[:, 10] = False, False
        kspace = (full * mask[..., None]).reshape(nx, ny, 1, 2)
        # The box in the middle without a gap: along y 4 lines from 5 on, as 5 would begin at 4, and along x 5, taken where the energy is greatest.
        turned = np.arange(nx)[:, None, None] * (nx // 2) / nx + np.arange(ny)[:, None] * (ny // 2) / ny
        middle = (kspace.reshape(full.shape) * np.exp(2j * math.pi * turned))[:, 5:9]
        first = max(range(nx - 4), key=lambda x: (np.abs(middle[x:x + 5])**2).sum())
        small = np.fft.ifft2(middle[first:first + 5], axes=(0, 1), norm="ortho")
        scale = scale_of(np.sqrt((np.abs(small)**2).sum(-1))) / math.sqrt(nx * ny / 20)
        told = []
        found = bart.pics("-d3 -l2 -r0.2 -i60", kspace, maps[:, :, None], told=told.append).reshape(nx, ny)
        self.assertAlmostEqual(float(told[0].split()[1].rstrip(",")) / scale, 1, places=4)
        a = np.einsum("kx,ly,xyc->klcxy", *dense, maps)[mask].reshape(-1, nx * ny)
        y = full[mask].ravel()
        solved = np.linalg.solve(a.conj().T @ a + 0.2 * np.eye(nx * ny), a.conj().T @ y / scale).reshape(nx, ny)
        self.assertLess(apart(found, solved), 5 * CLOSE)

    def test_series_bases_and_sets_of_maps(self):
        """Dense sums: times along dimension 10, as coefficients along 6 of a basis along 5, and images along 4."""
        scan, times = self.scan, 3
        points = len(scan.data[0]) // times
        parts = scan.matrix.reshape(scan.coils, times, points, 192)
        data = scan.data.reshape(scan.coils, times, points)
        shape = (1, scan.readout, scan.spokes // times, scan.coils)

        def along(dimension, array):
            return array.reshape(array.shape[:-1] + (1,) * (dimension - array.ndim + 1) + array.shape[-1:])

        kspace = np.stack([data[:, t].T.reshape(shape, order="F") for t in range(times)], -1)
        trajectory = self.trajectory.reshape(3, scan.readout, scan.spokes // times, times, order="F")
        # Series
        right = np.stack([GAIN**2 * np.einsum("cmv,cm->v", parts[:, t].conj(), data[:, t]) for t in range(times)], -1)
        scale = scale_of(right)
        solved = np.stack([np.linalg.solve(GAIN**2 * np.einsum("cmv,cmw->vw", parts[:, t].conj(), parts[:, t]) + 0.5 * np.eye(192), right[:, t] / scale) for t in range(times)], -1)
        found = bart.pics("-l2 -r0.5 -i80", along(10, kspace), self.maps, trajectory=along(10, trajectory))
        self.assertEqual(found.shape, scan.size + (1,) * 8 + (times,) + (1,) * 5)
        self.assertLess(apart(found.reshape(192, times), solved), 5 * CLOSE)
        # Basis
        basis = noise(times, 2)
        a = np.einsum("ctmv,tk->ctmvk", parts, basis).reshape(-1, 192 * 2)
        right = GAIN**2 * a.conj().T @ data.ravel()
        solved = np.linalg.solve(GAIN**2 * a.conj().T @ a + 2 * np.eye(384), right / scale_of(right)).reshape(192, 2)
        found = bart.pics("-l2 -r2 -i120", along(5, kspace), self.maps, trajectory=along(5, trajectory), basis=basis.reshape(1, 1, 1, 1, 1, times, 2))
        self.assertEqual(found.shape[:7], scan.size + (1, 1, 1, 1, 2))
        self.assertLess(apart(found.reshape(192, 2), solved), 5 * CLOSE)
        # Sets of maps, alone and with the basis
        second = 0.5 * noise(*scan.size, scan.coils)
        both = np.stack([scan.maps, second], -1)
        unitary = sums(scan.k.reshape(2, -1, order="F").T, scan.size).reshape(times * points, 192) / math.sqrt(192)
        a = np.einsum("mv,vcs->cmvs", unitary, both.reshape(192, scan.coils, 2))
        for extra in (False, True):
            of = np.einsum("ctmvs,tk->ctmvsk", a.reshape(scan.coils, times, points, 192, 2), basis) if extra else a
            flat = of.reshape(scan.data.size, -1)
            right = GAIN**2 * flat.conj().T @ scan.data.ravel()
            solved = np.linalg.solve(GAIN**2 * flat.conj().T @ flat + 2 * np.eye(len(right)), right / scale_of(right))
            arrays = dict(trajectory=along(5, trajectory), basis=basis.reshape(1, 1, 1, 1, 1, times, 2)) if extra else dict(trajectory=self.trajectory)
            found = bart.pics("-l2 -r2 -i150", along(5, kspace) if extra else self.kspace, both[:, :, None], **arrays)
            self.assertLess(apart(found.ravel(), solved), 5 * CLOSE)

    def test_options_that_are_refused(self):
        for options, said in (
                ("-N", "-N of BART's pics is not done here: blocks"), ("-a", "-a of BART's pics"), ("-P 0.1", "-P of BART's pics"),
                ("-L 8", "run pics once for each"), ("-K", "below 1e-5"),
                ("--lowmem", "--lowmem of BART's"), ("-M", "slices one by one"), ("-f 0.5", "sensitivities to 0"), ("--psf_export x", "--psf_export"),
                ("-x", "-x not recognized; these are known: -t"), ("-i 0", "-i is '0'; it must be an integer of 1 and more"), ("-i 1e3", "-i is '1e3'"),
                ("-i -3", "-i is '-3'"), ("-r nan", "-r is 'nan'; it must be a number of 0 and more"), ("-r -1", "-r is '-1'"), ("-l3", "it must be 1 or 2"),
                ("-R W:7:0", "it must be W:flags:joint:lambda"),
                ("-R W:7:x:0.1", "not an integer"), ("-R W:7:0:inf", "not a number"), ("-R G:7:0:0.1", "total generalized variation is not done here"),
                ("-R Z:1", "one of W:flags"), ("-R Q:1:2", "it must be Q:lambda"),
                ("-s 0", "above 0"), ("--wavelet db4", "cdf44 or dau2 or haar"),
                ("-s 0.1 -l2 -r1", "-s is of steps along the gradient, and what was asked for is CG with -l2"),
                ("-e -R T:3:0:1", "what was asked for is ADMM with T:3:0:1"), ("-u 1 -l1 -r1", "-u is of ADMM"),
                ("-C 3", "CG without a penalty"), ("-b4 -l1 -r1", "-b is of -R L"), ("-n -l2 -r1", "-n is of -R W and -R L"),
                ("--wavelet haar -l2 -r1", "--wavelet is of -R W"), ("-r1 -R T:3:0:1", "-R has its own weight"), ("-I", "-I takes one penalty"),
                ("-I -R T:3:0:1", "does not go with total variation"), ("-m", "-m takes a penalty"), ("-l2 -l2 -r1", "several l2"),
                ("-t x", "give the array as trajectory="), ("x", "'x' is no option"), ("-R W:4:0:1", "none of the dimensions"),
                ("-R W:3:1:1", "in both flags"), ("-R T:0:0:1", "name no dimension"), ("-e -l1 -r1 -s", "requires argument"), ("-l1 -r0.1 -s 100 -i300", "-e finds steps")):
            with self.subTest(options), self.assertRaises(ValueError) as e:
                self.pics(options)
            self.assertIn(said, str(e.exception), options)

    def test_arrays_that_are_refused(self):
        far, deep, nan = self.trajectory.copy(), self.trajectory.copy(), self.kspace.copy()
        far[0, 0, 0], deep[2] = 6.5, 1
        nan[0, 3, 2, 1] = math.nan
        for arrays, said in (
                (dict(trajectory=None), "or -t names a trajectory"),
                (dict(trajectory=far), "reaches 6.5 along kx; images have 12 voxels along x, so that the limit is 6"), (dict(trajectory=deep), "it must be 0"),
                (dict(trajectory=self.trajectory[:2]), "dimension 0 must be 3"), (dict(trajectory=self.trajectory[:, :5]), "samples and spokes"),
                (dict(trajectory=1j * self.trajectory), "imaginary parts"),
                (dict(pattern=np.ones((1, 3))), "dimension 1 must be 20 or 1"), (dict(pattern=np.zeros((1, 20, 9))), "no sample that counts"),
                (dict(start=np.ones((3, 3))), "start with is 3 x 3"), (dict(basis=np.ones((1,) * 5 + (2, 3))), "dimension 5 (times) must be the same"),
                (dict(basis=np.ones((2,))), "only dimensions 5 (times) and 6")):
            with self.subTest(said), self.assertRaises(ValueError) as e:
                self.pics("-l2 -r1 -i2", **arrays)
            self.assertIn(said, str(e.exception))
        for kspace, maps, said in ((nan, self.maps, "kspace[0, 3, 2, 1] is"), (self.kspace[..., :2], self.maps, "dimension 3 (coils) must be the same"),
                                   (self.kspace[..., None] * np.ones(2), self.maps, "sets of maps"),
                                   (self.kspace * 0, self.maps, "no sample that counts"), (np.ones((1,) * 17), self.maps, "17 dimensions"),
                                   ([["a"]], self.maps, "must have numbers")):
            with self.subTest(said), self.assertRaises(ValueError) as e:
                bart.pics("-l2 -r1 -i2", kspace, maps, trajectory=self.trajectory)
            self.assertIn(said, str(e.exception))

    def test_gpu(self):
        try:
            found = self.pics("-g -l2 -r0.3 -i30")
        except Exception as e:
            self.assertIn(type(e).__name__, ("NoDeviceError", "DriverTooOldError", "NoKernelImageError"))
        else:
            self.assertLess(apart(found, self.pics("-l2 -r0.3 -i30")), CLOSE)


class Command(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)
        for name, array in zip(("kspace", "maps", "traj"), Scan().arrays()):
            bart.writecfl(name, array)

    def said(self, *arguments):
        with contextlib.redirect_stderr(io.StringIO()) as error, contextlib.redirect_stdout(io.StringIO()) as out:
            try:
                main(arguments)
            except SystemExit as e:
                return str(e)
        return out.getvalue() + error.getvalue()

    def test_files_in_and_out(self):
        said = self.said("pics", "-l1", "-r0.01", "-eS", "-i5", "-t", "traj", "kspace", "maps", "image")
        self.assertIn("FISTA, -l1, at most 5 iterations", said)
        self.assertIn("image: 12 x 16", said)
        kspace, maps, trajectory = (bart.readcfl(name) for name in ("kspace", "maps", "traj"))
        np.testing.assert_array_equal(bart.readcfl("image"), bart.pics("-l1 -r0.01 -eS -i5", kspace, maps, trajectory=trajectory).reshape(12, 16))
        header = bart.readheader("image")
        self.assertEqual(header.command, "isocenter.bart pics -l1 -r0.01 -eS -i5 -t traj kspace maps image")
        self.assertEqual(header.files, (">image", "<traj", "<kspace", "<maps"))
        self.assertEqual(self.said("pics", "-d0", "-i2", "-t", "traj", "kspace", "maps", "image"), "")
        self.assertIn("images of", self.said("nufft", "-a", "traj", "kspace", "adjoint"))
        self.assertEqual(bart.readcfl("adjoint").shape, (12, 12, 1, 3))

    def test_help_and_mistakes(self):
        self.assertIn("pics|nufft", self.said())
        self.assertIn("-R T:A:B:LAMBDA", self.said("pics", "-h"))
        self.assertIn("-d x:y:z", self.said("nufft", "-h"))
        for arguments, said in ((("ecalib", "a", "b"), "ecalib is not done here"), (("pics", "kspace", "maps"), "there are 2 files; pics takes three"),
                                (("pics", "nothing", "maps", "out"), "nothing.hdr"),
                                (("pics", "-N", "kspace", "maps", "out"), "isocenter.bart pics: -N"),
                                (("nufft", "-c", "-i", "traj", "kspace", "out"), "-c of BART's nufft"),
                                (("nufft", "-l1", "traj", "kspace", "out"), "-l goes with -i"),
                                (("nufft", "-d8:8", "-a", "traj", "kspace", "out"), "-d is '8:8'"), (("nufft", "-d8:8:1", "traj", "kspace", "out"), "the input has a size")):
            self.assertIn(said, self.said(*arguments))
        self.assertFalse(os.path.exists("out.cfl"))


if __name__ == "__main__":
    unittest.main()
