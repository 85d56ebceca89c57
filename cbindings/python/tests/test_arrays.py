"""Arrays are used in place, whatever their strides; what cannot be is refused."""
import math
import subprocess
import sys
import unittest

import numpy as np

import isocenter

VIEWS, BINS, ROWS = 40, 64, 3
ANGLES = np.arange(VIEWS) * math.pi / VIEWS

# Grows by what the library allocates: arrays are in place, and touched, before.
MEMORY = """
import resource, numpy, isocenter
context = isocenter.Context(memory_cap=8 << 20, threads=2)
ct = isocenter.CT(context, angles=numpy.arange(256) * numpy.pi / 256, bins=256, rows=256)
projections = numpy.ones(ct.projections_shape, numpy.float32)
volume = numpy.ones(ct.volume_shape, numpy.float32)
small = isocenter.CT(context, angles=[0.0, 1.0], bins=256)
small.reconstruct(numpy.ones((2, 256), numpy.float32))  # threads and tables
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
ct.reconstruct(projections, volume)
ct.reconstruct(projections.transpose(0, 2, 1).transpose(0, 2, 1)[:, ::-1], volume[::-1, ::-1])
print(1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before), projections.nbytes, ct.memory())
"""


class Dlpack:
    """Speaks nothing but DLPack, as arrays of other libraries do."""

    def __init__(self, array, place=None, old=False):
        self.array, self.place, self.old, self.streams = array, place, old, []
        self.shape, self.ndim, self.dtype = array.shape, array.ndim, array.dtype

    def __dlpack_device__(self):
        return self.place or self.array.__dlpack_device__()

    def __dlpack__(self, **arguments):
        self.streams.append(arguments.pop("stream", None))
        if self.old and arguments:
            raise TypeError("unexpected keyword argument")
        return self.array.__dlpack__(**arguments)


class Arrays(unittest.TestCase):
    def setUp(self):
        self.ct = isocenter.CT(angles=ANGLES, bins=BINS, rows=ROWS)
        self.addCleanup(self.ct.close)
        self.projections = np.random.default_rng(0).random(self.ct.projections_shape, np.float32)
        self.volume = self.ct.reconstruct(self.projections)

    def test_any_strides(self):
        base = np.zeros((2 * VIEWS, ROWS, 3 * BINS), np.float32)
        base[::2, :, ::3] = self.projections
        backwards = np.ascontiguousarray(self.projections[::-1, ::-1, ::-1])[::-1, ::-1, ::-1]
        transposed = np.ascontiguousarray(self.projections.transpose(2, 0, 1)).transpose(1, 2, 0)
        fields = np.zeros(self.projections.shape, [("x", "f4"), ("y", "f4")])
        fields["y"] = self.projections
        for name, view in (("steps", base[::2, :, ::3]), ("backwards", backwards), ("transposed", transposed),
                           ("Fortran", np.asfortranarray(self.projections)), ("field", fields["y"])):
            with self.subTest(name):
                self.assertFalse(view.flags.c_contiguous)
                np.testing.assert_array_equal(self.ct.reconstruct(view), self.volume)
        one = np.broadcast_to(self.projections[:, :1], self.projections.shape)
        np.testing.assert_array_equal(self.ct.reconstruct(one)[2], self.volume[0])

    def test_outputs_of_any_strides(self):
        for make in (lambda: np.zeros((ROWS, 2 * BINS, BINS), np.float32)[:, ::-2], np.zeros((BINS, BINS, ROWS), np.float32).transpose):
            out = make()
            self.assertIs(self.ct.reconstruct(self.projections, out), out)
            np.testing.assert_array_equal(out, self.volume)

    def test_a_wrongly_transposed_array_is_an_error(self):
        with self.assertRaisesRegex(isocenter.TensorShapeError, "projections"):
            self.ct.reconstruct(self.projections.transpose(1, 0, 2))
        with self.assertRaisesRegex(isocenter.TensorShapeError, "volume"):
            self.ct.reconstruct(self.projections, self.volume.T)

    @unittest.skipIf(sys.platform == "win32", "Windows tells of no peak by `resource`")
    def test_no_copy(self):
        done = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        grown, array, promised = map(int, done.stdout.split())
        # A copy of either array would be `array` more; 4 MB are the allocator's and the threads'.
        self.assertLess(grown, promised + (4 << 20))
        self.assertLess(promised + (4 << 20), array // 2)

    def test_wrong_elements(self):
        for dtype, words in (("float64", r"projections is float64 where float32 .*: write projections.astype\(numpy.float32\)"),
                             ("float16", "float16"), ("int64", "int64"), ("complex64", r"complex64.*projections.real.astype\(numpy.float32\)"), ("bool", "bool"),
                             (">f4", "byte order"), ("M8[s]", "datetime64"), ("O", "object"), ("longdouble", "float")):
            with self.subTest(dtype), self.assertRaisesRegex(isocenter.TensorDtypeError, words):
                self.ct.reconstruct(self.projections.astype(dtype if dtype != "M8[s]" else int).astype(dtype))
        with self.assertRaisesRegex(TypeError, r"volume is float64 where float32 is needed: make it with dtype=numpy.float32"):
            self.ct.reconstruct(self.projections, np.zeros(self.ct.volume_shape))
        odd = np.zeros(self.projections.shape, [("x", "u1"), ("y", "f4")])["y"]
        with self.assertRaisesRegex(isocenter.TensorStridesError, "ascontiguousarray"):
            self.ct.reconstruct(odd)

    def test_what_is_no_array(self):
        for thing in (self.projections.tolist(), None, 3.0, "projections", memoryview(self.projections), np.float32(1)):
            with self.subTest(type(thing).__name__), self.assertRaises((TypeError, isocenter.TensorNdimError)):
                self.ct.reconstruct(thing)
        with self.assertRaisesRegex(TypeError, "filled"):
            self.ct.reconstruct(np.ma.masked_array(self.projections))
        for thing in ([], 7):
            with self.assertRaisesRegex(TypeError, "volume is"):
                self.ct.reconstruct(self.projections, thing)

    def test_empty_and_misshapen(self):
        for shape in ((0,), (0, 0, 0), (VIEWS, ROWS, 0), (), (VIEWS,), (VIEWS, ROWS, BINS, 1), (VIEWS, ROWS, BINS + 1)):
            with self.subTest(shape), self.assertRaises((isocenter.TensorShapeError, isocenter.TensorNdimError)):
                self.ct.reconstruct(np.zeros(shape, np.float32))

    def test_outputs_that_cannot_be_written(self):
        out = np.zeros(self.ct.volume_shape, np.float32)
        out.flags.writeable = False
        self.assertRaisesRegex(ValueError, "volume is read-only", self.ct.reconstruct, self.projections, out)
        # NumPy before 2.1 refuses to export it.
        self.assertRaisesRegex((ValueError, BufferError), "read-?only", self.ct.reconstruct, self.projections, Dlpack(out))
        same = np.broadcast_to(np.zeros((1, BINS, BINS), np.float32), self.ct.volume_shape)
        same = np.lib.stride_tricks.as_strided(np.zeros((BINS, BINS), np.float32), self.ct.volume_shape, (0, 4 * BINS, 4))
        self.assertRaises(isocenter.TensorStridesError, self.ct.reconstruct, self.projections, same)
        self.assertRaises(isocenter.OverlapError, self.ct.filter, self.projections, self.projections)
        readonly = self.projections.copy()
        readonly.flags.writeable = False
        np.testing.assert_array_equal(self.ct.reconstruct(readonly), self.volume)

    def test_not_a_number(self):
        bad = self.projections.copy()
        bad[7, 1, 5] = np.nan
        out = np.full(self.ct.volume_shape, 9, np.float32)
        with self.assertRaisesRegex(isocenter.NotFiniteDataError, r"7, 1, 5"):
            self.ct.reconstruct(bad, out)
        self.assertTrue((out == 9).all())
        with isocenter.Context(nan_policy="replace") as context, \
                isocenter.CT(context, angles=ANGLES, bins=BINS, rows=ROWS) as ct:
            zero = self.projections.copy()
            zero[7, 1, 5] = 0
            np.testing.assert_array_equal(ct.reconstruct(bad), self.ct.reconstruct(zero))
            ct.reconstruct(bad, out)
            self.assertEqual(ct.info().replaced_values, 1)

    def test_dlpack(self):
        for old in (False, True):
            with self.subTest(old=old):
                out = np.zeros(self.ct.volume_shape, np.float32)
                target = Dlpack(out, old=old)
                self.assertIs(self.ct.reconstruct(Dlpack(self.projections[:, :, ::1], old=old), target), target)
                np.testing.assert_array_equal(out, self.volume)
        with self.assertRaisesRegex(isocenter.TensorDtypeError, "projections is float64 where float32"):
            self.ct.reconstruct(Dlpack(self.projections.astype(float)), out)
        with self.assertRaisesRegex(TypeError, "pass one"):  # there is no telling how to make the output
            self.ct.reconstruct(Dlpack(self.projections))
        with self.assertRaises(isocenter.TensorShapeError):
            self.ct.reconstruct(Dlpack(self.projections[1:]), out)

    def test_a_lazy_minus_is_asked_for(self):
        """PyTorch's x.conj().imag, which DLPack hands over without its sign."""
        class Negative(Dlpack):
            def is_neg(self):
                return True

        with self.assertRaisesRegex(ValueError, r"projections has PyTorch's negative bit, .*write projections\.resolve_neg\(\)"):
            self.ct.reconstruct(Negative(self.projections), np.zeros(self.ct.volume_shape, np.float32))

    def test_a_gpus_array_is_asked_for_in_the_plans_stream(self):
        """Its device is made up: the data are in host memory, and so is what the library is told."""
        source = Dlpack(self.projections, place=(2, 0))
        self.ct.reconstruct(source, np.zeros(self.ct.volume_shape, np.float32))
        self.assertEqual(source.streams[-1], 1)  # CUDA's default stream
        host = Dlpack(self.projections)
        self.ct.reconstruct(host, np.zeros(self.ct.volume_shape, np.float32))
        self.assertEqual(host.streams[-1], None)
        for stream in ("a", 1.5, -1):
            self.assertRaises((TypeError, ValueError), self.ct.set_stream, stream)

    def test_capsules_are_given_back(self):
        count = sys.getrefcount(self.projections)
        for _ in range(10):
            self.ct.reconstruct(Dlpack(self.projections), np.zeros(self.ct.volume_shape, np.float32))
        self.assertEqual(sys.getrefcount(self.projections), count)

    def test_host_arrays(self):
        with isocenter.Context() as context:
            array = context.empty((2, 3, 5), "uint16")
            self.assertEqual((array.shape, array.dtype, array.ctypes.data % 64), ((2, 3, 5), np.uint16, 0))
            self.assertEqual(context.empty(7).shape, (7,))
            self.assertEqual(context.empty((3, 0)).size, 0)
            for shape in (-1, (2, -1), (1 << 62, 8), 2.5):
                self.assertRaises((ValueError, TypeError, MemoryError, OverflowError), context.empty, shape)
            self.assertRaises(TypeError, context.empty, 3, object)
            view = array[1:]
            del array
        view[:] = 7  # outlives the context
        self.assertEqual(view.sum(), 7 * 15)

    def test_numbers(self):
        """Integers that do not fit are errors; ctypes would wrap them."""
        for geometry in (dict(bins=-1), dict(bins=1 << 70), dict(bins=2.0), dict(bins="8"), dict(bins=8, rows=None, nx=[1]),
                         dict(bins=8, views=3), dict(bins=8, pixel_size="wide"), dict(bins=8, axis=[1.0, 2.0, 3.0]),
                         dict(bins=8, axis=np.nan), dict(bins=8, order="rows"), dict(bins=8, order=17)):
            with self.subTest(geometry), self.assertRaises((ValueError, TypeError)):
                self.ct.set_geometry(angles=[0.0, 1.0], **geometry)
        for angles in (None, "angles", [[0.0, 1.0]], [1j], [], [0.0, math.inf]):
            with self.subTest(angles=angles), self.assertRaises((ValueError, TypeError)):
                self.ct.set_geometry(angles=angles, bins=8)
        self.assertRaisesRegex(TypeError, "unexpected keyword", self.ct.set_geometry, angles=[0.0], bins=8, pixels=4)
        self.assertRaisesRegex(ValueError, "'linear', 'nearest', 'oversampled', 'band_limited'", self.ct.set_options, interpolation="cubic")
        self.assertRaisesRegex(TypeError, "filter is None; it must be one of 'ram_lak'", self.ct.set_options, filter=None)
        self.assertRaisesRegex(TypeError, "geometry goes by keyword", isocenter.CT, [0.0, 1.0])
        np.testing.assert_array_equal(self.ct.reconstruct(self.projections), self.volume)  # nothing of it was taken


if __name__ == "__main__":
    unittest.main()
