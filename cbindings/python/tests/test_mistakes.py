"""What new users get wrong, and that the message says what to write instead: their function, their argument, its value, a way out."""
import pathlib
import re
import unittest

import numpy as np

import isocenter
from isocenter import CT, MRI, PET, Body, Context, Scan
from isocenter._words import in_python

ANGLES = np.arange(18) * np.pi / 18
K = np.random.default_rng(0).uniform(-0.5, 0.5, (100, 2))
FRAMES = np.ones((18, 4, 16), np.float32)
HISTO = np.ones((3, 4, 10, 12), np.float32)


def ones(*shape, dtype=np.float32):
    return np.ones(shape, dtype)


class Mistakes(unittest.TestCase):
    def setUp(self):
        self.context = Context(device="cpu", threads=1, log=lambda *_: None)
        self.ct = CT(self.context, angles=ANGLES, bins=16, rows=4)
        self.sinograms = CT(self.context, angles=ANGLES, bins=16, rows=4, order="sinograms")
        self.one_row = CT(self.context, angles=ANGLES, bins=16)
        self.mri = MRI(self.context, trajectory=K, unit="cycles_per_voxel", nx=16, ny=12)
        self.pet = PET(self.context, nx=12, ny=10, nz=4, voxel_x=8.0, azimuths=3, max_tilt=0.2)
        self.pet.set_response(tof_fwhm=120, radial_fwhm=9, axial_fwhm=9)

    def says(self, words, function, *arguments, **keywords):
        """All of the words are in the message, and the name of the function begins it, unless Python itself wrote it."""
        with self.subTest(words), self.assertRaises((ValueError, TypeError, RuntimeError, MemoryError)) as caught:
            function(*arguments, **keywords)
        said = str(caught.exception)
        for word in [words] if isinstance(words, str) else words:
            self.assertIn(word, said)
        name = function.__qualname__
        self.assertTrue(said.startswith((f"{name}: ", f"{name}()", f"{name}.set_geometry()", f"{name}.__init__()")), said)
        for word in ("isoc_", "ISOC_", "NULL", "geometry.", "options.", "response.", "distortion.", "iterative.", "F32", "C64", "U16", "handle"):
            self.assertNotIn(word, said)
        return said

    def test_order_of_dimensions(self):
        says, p = self.says, FRAMES
        says(["projections has shape (4, 18, 16); it must be (views, rows, bins) = (18, 4, 16)", "write projections.transpose(1, 0, 2)",
              'or set_geometry(order="sinograms")'], self.ct.reconstruct, p.transpose(1, 0, 2))
        says('write projections.transpose(1, 0, 2), or set_geometry(order="frames")', self.sinograms.reconstruct, p)
        says("write projections.transpose(2, 1, 0)", self.ct.reconstruct, p.transpose(2, 1, 0))
        says("set_geometry(rows=4) makes a plan that takes it", self.one_row.reconstruct, p)
        says('set_geometry(rows=4, order="sinograms") makes a plan', self.one_row.reconstruct, p.transpose(1, 0, 2))
        says("if its elements lie in that order, write projections.reshape(18, 4, 16)", self.ct.reconstruct, p.reshape(72, 16))
        says("write volume.transpose(2, 0, 1)", self.ct.forward, ones(16, 16, 4))
        says("volume has shape (16, 16, 4)", self.ct.reconstruct, p, ones(16, 16, 4))
        says(["(frames, rows, bins) = (n, 4, 16)", "write flats.T"], self.ct.set_flat_field, ones(16, 4))
        says("write flats.transpose(2, 0, 1)", self.ct.set_flat_field, ones(4, 16, 10))
        says("write measured.transpose(0, 3, 2, 1)", self.pet.reconstruct, HISTO.transpose(0, 3, 2, 1))
        says("write image.transpose(2, 1, 0)", self.pet.forward, ones(12, 10, 4))
        says("write first_positions.T", self.pet.deposit, ones(3, 5), ones(3, 5), ones(5), HISTO.copy())
        says("(3, 4, 10, 12)", self.pet.reconstruct, HISTO[0])
        says("write trajectory.T", MRI, trajectory=K.T, unit="cycles_per_voxel", nx=16, ny=12)
        says("clip values to the range, leave those samples out, or multiply the trajectory by 0.9999", MRI, trajectory=K * (0.500015 / np.abs(K).max()),
             unit="cycles_per_voxel", nx=16, ny=12)
        says("write trajectory.reshape(-1, 2)", MRI, trajectory=K.reshape(10, 10, 2), unit="cycles_per_voxel", nx=16, ny=12)
        says("write trajectory.reshape(2, -1).T", MRI, trajectory=K.T.reshape(2, 10, 10), unit="cycles_per_voxel", nx=16, ny=12)
        coils = MRI(trajectory=K, unit="cycles_per_voxel", nx=16, ny=12, coils=4)  # which come last in files of other programs
        says("write samples.transpose(2, 0, 1).reshape(4, 100)", coils.reconstruct, ones(20, 5, 4, dtype=np.complex64))
        says("if its elements lie in that order, write samples.reshape(4, 100)", coils.reconstruct, ones(4, 20, 5, dtype=np.complex64))
        says("samples has shape (40, 10); it must be (coils, samples) = (4, 100)", coils.reconstruct, ones(40, 10, dtype=np.complex64))
        says("write samples.reshape(1, 100)", self.mri.reconstruct, ones(10, 10, dtype=np.complex64))
        says("write weights.reshape(100)", self.mri.set_weights, ones(10, 10))
        says("write image.T", self.mri.forward, ones(16, 12, dtype=np.complex64))
        says("write numpy.ravel(angles)", self.ct.set_geometry, angles=ANGLES[:, None], bins=16)
        says("write numpy.transpose(radial_table)", self.pet.set_response, tof_fwhm=120, axial_fwhm=9,
             radial_table=[[0, 5, 100], [1, 2, 3]])
        says("shape (18, 4, 17)", self.ct.reconstruct, ones(18, 4, 17))  # nothing fits: nothing is advised
        says("shape (0, 4, 16)", self.ct.reconstruct, ones(0, 4, 16))

    def test_dimensions_that_were_forgotten(self):
        samples = ones(8, 100, dtype=np.complex64)
        self.says("set_geometry(coils=8) makes a plan that takes it", self.mri.reconstruct, samples)
        self.says("write samples.T; set_geometry(coils=8) makes", self.mri.gridding, samples.T)
        self.says("set_geometry(coils=8)", self.mri.set_maps, ones(8, 12, 16, dtype=np.complex64))
        self.says("nz makes a volume of it", MRI, trajectory=np.c_[K, K[:, 0]], unit="cycles_per_voxel", nx=16, ny=12)
        self.says("of a volume, nz=8, it must be (samples, 3)", MRI, trajectory=K, unit="cycles_per_voxel", nx=16, ny=12, nz=8)

    def test_the_advice_works(self):
        p = np.random.default_rng(1).random((18, 4, 16), np.float32)
        expected = self.ct.reconstruct(p)
        for given in (p.transpose(1, 0, 2), p.transpose(2, 1, 0), p.transpose(2, 0, 1), p.reshape(72, 16)):
            with self.assertRaises(isocenter.Error) as caught:
                self.ct.reconstruct(given)
            written = str(caught.exception).partition("write ")[2].partition(", or")[0]
            np.testing.assert_array_equal(self.ct.reconstruct(eval(written, {"projections": given})), expected)

    def test_element_types(self):
        says = self.says
        says("write projections.astype(numpy.float32)", self.ct.reconstruct, FRAMES.astype(float))
        says("write projections.real.astype(numpy.float32)", self.ct.reconstruct, FRAMES.astype(complex))
        for kind in (np.int16, np.int32, np.uint32, np.int64):  # counts: uint16 would wrap
            says(f'{np.dtype(kind)} where float32 or uint16 or uint8 is needed: write projections.astype(numpy.float32) with '
                 'set_options(input="counts")', self.ct.reconstruct, FRAMES.astype(kind))
            said = says("write flats.astype(numpy.float32)", self.ct.set_flat_field, FRAMES[0].astype(kind))
            self.assertNotIn("set_options", said)
        says('take "float32", with set_options(input="counts")', self.ct.reconstruct_stream, print, print, "int32")
        says("write measured.astype(numpy.uint32)", self.pet.reconstruct, HISTO.astype(int))
        says("write samples.astype(numpy.complex64)", self.mri.reconstruct, ones(100))
        says("write trajectory.astype(numpy.float32)", MRI, trajectory=K.astype(int), unit="cycles_per_voxel", nx=16, ny=12)
        says("trajectory.real.ravel()", MRI, trajectory=K[:, 0] + 1j * K[:, 1], unit="cycles_per_voxel", nx=16, ny=12)
        says("write numpy.asarray(projections)", self.ct.reconstruct, FRAMES.tolist())
        says("dtype is float64; it must be 'float32', 'uint16' or 'uint8'", self.ct.reconstruct_stream, print, print, "float64")
        says("read is None; it must be callable", self.ct.reconstruct_stream, None, print)
        says("volume is float64", self.ct.reconstruct, FRAMES, np.ones((4, 16, 16)))

    def test_names(self):
        says = self.says
        says(["filter is 'shepp-logan'", "'shepp_logan'"], self.ct.set_options, filter="shepp-logan")
        says(["filter is 'Hann'", "'hann'"], self.ct.set_options, filter="Hann")
        says("filter is True", self.ct.set_options, filter=True)
        says("filter is <CtOrder.SINOGRAMS", self.ct.set_options, filter=isocenter.enums.CtOrder.SINOGRAMS)
        says("'cycles_per_field_of_view'", MRI, trajectory=K, unit="cycles-per-fov", nx=16, ny=12)
        says("unexpected keyword argument 'lam'", self.mri.set_options, lam=1.0)
        says("unexpected keyword argument 'angle'", CT, angle=ANGLES, bins=16)
        says("missing 1 required keyword-only argument: 'angles'", CT, bins=16)
        says("missing 1 required keyword-only argument: 'unit'", MRI, trajectory=K, nx=16, ny=12)
        says("takes from 1 to 2 positional arguments", CT, ANGLES, 16)
        says("context is str; it must be an isocenter.Context", CT, "cpu")
        says(["device is 'cuda'", "'gpu'"], Context, device="cuda")
        says(["gpus is given, but device is 'auto'", "must be 'gpu'"], Context, gpus=[0])
        says(["bodies[0].shape is 'sphere'", "'ellipsoid'"], self.pet.simulate, Scan([Body("sphere", half_x=5)]), 10)
        says("bodies[0] is dict; it must be an isocenter.Body", self.pet.simulate, Scan([{"half_x": 5}]), 10)
        says("scan is dict; it must be an isocenter.Scan", self.pet.simulate, {"bodies": []}, 10)

    def test_numbers(self):
        says = self.says
        says("bins is 16.0; it must be an integer: write 16", self.ct.set_geometry, angles=ANGLES, bins=16.0)
        says("memory_cap is 1000000000.0; it must be an integer: write 1000000000", Context, memory_cap=1e9)
        says("bins is -1; it must be 1 to", CT, angles=ANGLES, bins=-1)
        says("axis has 2 values; it must have 1 or views (18)", CT, angles=ANGLES, bins=16, axis=[7.0, 8.0])
        says("views is 17, but there are 18 angles", CT, angles=ANGLES, bins=16, views=17)
        says("cutoff is 2; it must be above 0", self.ct.set_options, cutoff=2.0)
        says("response has 0 values", self.ct.set_options, filter="custom")
        says("radial_fwhm is 0 mm; it must be above 0", self.pet.set_response, tof_fwhm=120, axial_fwhm=9)
        says("radial_table[1, 0] is 5 mm after 100 mm", self.pet.set_response, tof_fwhm=120, axial_fwhm=9, radial_table=[[100, 5], [5, 3]])
        says("cut_width, 3", self.pet.set_response, tof_fwhm=120, radial_fwhm=9, axial_fwhm=9, profile="asymmetric", ratio=2, shift=4,
             share=0.5)
        says("fit 'cycles_per_field_of_view' or 'radians_per_voxel'", MRI, trajectory=6 * K, unit="cycles_per_voxel", nx=16, ny=12)
        says("order[1] is 1, which is there already", self.pet.set_order, [1, 1])
        says('order is \'random\'; it must be a sequence of views: write set_options(order="random")', self.pet.set_order, "random")
        says('set_options(order="random")', self.pet.set_order, isocenter.enums.PetOrder.RANDOM)
        says("order is 'shuffled'; it must be one of 'geometric', 'random', 'given'", self.pet.set_order, "shuffled")
        says("views[0] is 3; it must be 0 to 2", self.pet.forward, HISTO[0], views=[3])
        says('Context(nan_policy="replace")', self.ct.reconstruct, np.full_like(FRAMES, np.nan))
        holed = ones(18, 16)
        holed[0, 3] = np.nan
        says("projections[0, 3] is NaN", self.one_row.reconstruct, holed)
        holed = np.array(K[:, 0], np.complex64)
        holed[7] = np.inf
        says("samples[7] is", self.mri.gridding, holed)
        capped = CT(Context(device="cpu", memory_cap=1000), angles=ANGLES, bins=16)
        says("the context's memory_cap is 1000 bytes", capped.reconstruct, ones(18, 16))

    def test_calls_before_others(self):
        says = self.says
        says("set_geometry comes first", CT(self.context).info)
        says("set_geometry has to come first", CT(self.context).reconstruct, FRAMES)
        says("reconstruct (or find_maps) comes first", self.mri.history)
        says("times is None and field is not", self.mri.set_field, ones(12, 16), None)
        says("flats is None while darks is not", self.ct.set_flat_field, None, ones(4, 16))
        fresh = PET(self.context, nx=12, ny=10, nz=4, voxel_x=8.0, azimuths=3, max_tilt=0.2)
        says("set_response or set_tables comes first", fresh.forward, HISTO[0])
        self.pet.set_options(order="given")
        says("order is 'given'; set_order comes first", self.pet.reconstruct, HISTO)
        says("times is None and decay is not", self.mri.set_field, None, None, ones(12, 16))
        self.mri.set_positions(ones(12, 16, 2))
        self.mri.set_options(method="nufft")
        says("method must be 'auto' or 'exact'", self.mri.forward, ones(12, 16, dtype=np.complex64))
        self.mri.set_options(normal="toeplitz")
        says("normal cannot be 'toeplitz'", self.mri.reconstruct, ones(100, dtype=np.complex64))
        self.mri.set_positions(None)
        self.mri.set_options(penalty="matrix", lambda_=1.0)
        says("penalty is 'matrix'; set_matrix comes first", self.mri.reconstruct, ones(100, dtype=np.complex64))

    def test_attributes_that_are_none(self):
        says = self.says
        for plan, name, written in (
                (self.ct, "filter", "write set_options(filter=...)"), (self.ct, "pixel_size", "write set_geometry(pixel_size=...)"),
                (self.ct, "fliter", "write set_options(filter=...)"), (self.ct, "flat_field", "write set_flat_field(...)"),
                (self.ct, "volume_shape", "set_geometry, set_options"), (self.ct, "iterations", "write set_iterative(iterations=...)"),
                (self.pet, "iterations", "write set_options(iterations=...)"), (self.pet, "tof_fwhm", "write set_response(tof_fwhm=...)"),
                (self.pet, "views", "write set_geometry(views=...)"), (self.mri, "lambda_", "write set_options(lambda_=...)"),
                (self.context, "threads", "write Context(threads=...)"), (self.context, "gpu", "write Context(gpus=...)"),
                (self.context, "cores", "Context takes device, threads")):
            with self.subTest(name), self.assertRaises(AttributeError) as caught:
                setattr(plan, name, 3)
            self.assertTrue(str(caught.exception).startswith(f"{type(plan).__name__}: {name} is no attribute that can be set"))
            self.assertIn(written, str(caught.exception))
            self.assertNotIn(name, vars(plan))

        class Mine(CT):
            pass

        mine = Mine(self.context, angles=ANGLES, bins=16)
        mine.sample = "bone"  # of their own, classes may have attributes
        with self.assertRaises(AttributeError):
            mine.filter = "hann"
        self.assertEqual((mine.sample, mine.filter(ones(18, 16)).shape), ("bone", (18, 16)))

    def test_callbacks_that_return(self):
        ct, seen = self.one_row, []
        self.says("read returned ndarray, which would be lost; write into the array that is given: array[...] = ...",
                  ct.reconstruct_stream, lambda first, array: ones(*array.shape), lambda first, array: seen.append(array.max()))
        self.assertEqual(seen, [])
        self.says("write returned ndarray, which would be lost; it must return None", ct.reconstruct_stream, lambda first, array: None,
                  lambda first, array: array.copy())
        self.says("read returned bool", ct.reconstruct_stream, lambda first, array: False, print)

    def test_events(self):
        says, deposit, to = self.says, self.pet.deposit, HISTO.copy()
        says("time_differences has shape (5, 1); it must be (events,): write time_differences[:, 0]", deposit, ones(5, 3), ones(5, 3),
             ones(5, 1), to)
        says("it must be (events,): write time_differences[0]", deposit, ones(5, 3), ones(5, 3), ones(1, 5), to)
        says("time_differences has shape (5, 2); it must be (events,)", deposit, ones(5, 3), ones(5, 3), ones(5, 2), to)
        says("first_positions has 5 events, second_positions 5, time_differences 4", deposit, ones(5, 3), ones(5, 3), ones(4), to)
        says("first_positions has 5 events, second_positions 4, time_differences 5", self.pet.simulate, Scan([Body(half_x=5)]),
             first_positions=ones(5, 3), second_positions=ones(4, 3), time_differences=ones(5))

    def test_records_are_no_arrays(self):
        dropped = self.pet.deposit(ones(5, 3), -ones(5, 3), ones(5), HISTO.copy())
        said = self.says(["measured is Dropped", "deposit adds the events to the histo_images that it is given", "pass histo_images"],
                         self.pet.reconstruct, dropped)
        self.assertNotIn("asarray", said)
        self.assertNotIn("asarray", self.says("measured is PETInfo", self.pet.reconstruct, self.pet.info()))
        self.says("write numpy.asarray(measured)", self.pet.reconstruct, tuple(HISTO))

    def test_views(self):
        says, lattice = self.says, dict(nx=12, ny=10, nz=4, voxel_x=8.0, max_tilt=0.2)
        views = np.array([[0, 0], [1, 0.1], [2, -0.1]])
        says("views has shape (2, 3); it must be (views, angles) = (n, 2): write views.T", PET, views=views.T, **lattice)
        says("write numpy.transpose(views)", PET, views=views.T.tolist(), **lattice)
        says("columns are azimuth, tilt, in radians", PET, views=views + [0, 1], **lattice)
        says("max_tilt is 0.05; columns are azimuth, tilt", PET, views=views, **{**lattice, "max_tilt": 0.05})
        says("columns are azimuth, tilt, in radians: write views[:, ::-1]", PET, views=views[:, ::-1].copy(), **lattice)
        says("columns are azimuth, tilt, in radians: of degrees write numpy.deg2rad(views)", PET, views=np.rad2deg(views), **lattice)
        says("views is no array of numbers", PET, views=[[0, 0], [1]], **lattice)
        said = []
        context = Context(device="cpu", threads=1, log=lambda level, text: said.append(text))
        PET(context, views=views * [60, 0], **lattice)  # without tilts they are taken
        self.assertEqual(said, ["PET: views[2] has an azimuth of 120 rad, more than a turn; of degrees write numpy.deg2rad(views)"])
        for kind in (views.tolist(), [tuple(v) for v in views], views, views.astype(np.float32)):
            np.testing.assert_allclose(PET(self.context, views=kind, **lattice).views(), views, atol=1e-6)

    def test_regions(self):
        for region, words in (((0, 200, 0, 4), "region[1] (c1) is 200; it must be 0 to 16 (nx)"),
                              ((0, 4, 3, 300), "region[3] (r1) is 300; it must be 0 to 20 (ny)"),
                              ((-1, 4, 0, 4), "region[0] (c0) is -1; it must be 0 to 16 (nx)"),
                              ((0, 4, 5, 3), "region[2] (r0) is 5 and region[3] (r1) is 3; they must ascend")):
            self.says(words, CT, angles=ANGLES, bins=16, ny=20, region=region)

    def test_lists(self):
        self.says("angles is generator; it must be a sequence or an array: write list(angles)", CT, angles=(a for a in ANGLES), bins=16)
        self.says("angles is no array of numbers", CT, angles=[[0.0, 1.0], [2.0]], bins=16)
        self.says("threads is -1; it must be 0 (one for each processor) to 4096", Context, threads=-1)
        self.says("flats has shape (16,); it must be (frames, rows, bins) = (n, 1, 16): write flats[None]", self.one_row.set_flat_field,
                  ones(16))
        self.one_row.set_flat_field(ones(16)[None])
        self.assertNotIn("None", self.says("flats has shape (16,)", self.ct.set_flat_field, ones(16)))

    def test_outliers_and_flats_in_time(self):
        says, ct, flats = self.says, self.one_row, ones(5, 1, 16)
        says("unit is 'counts'; it must be one of 'noise', 'median', 'count'", ct.set_outliers, unit="counts")
        says("set_outliers() takes 1 positional argument", ct.set_outliers, "noise")
        says("threshold is 0; with unit 'count' it must be a number of counts", ct.set_outliers, unit="count")
        says("window is 4; it must be 3 or 5 bins and rows", ct.set_outliers, window=4)
        says("depth is 2; it must be 1 or 3 views", ct.set_outliers, depth=2)
        says("threshold is NaN; it must be finite", ct.set_outliers, threshold=np.nan)
        says("outliers is int; it must be a dict with keywords of set_outliers, or True", ct.set_flat_field, flats, outliers=3)
        says("outliers has 'depht'; it may have 'unit', 'side', 'window', 'depth', 'threshold'", ct.set_flat_field, flats,
             outliers={"depht": 1})
        says("window is 4; it must be 3 or 5", ct.set_flat_field, flats, outliers={"window": 4})
        says("side is 'up'; it must be one of 'bright', 'dark', 'both'", ct.set_flat_field, flats, outliers={"side": "up"})

        def groups(words, frames, positions, **besides):
            says(words, ct.set_flat_field, flats, group_frames=frames, group_positions=positions, **besides)

        groups("group_frames add up to 4; flats has 5 frames", [2, 2], [0, 18])
        groups("group_positions[1] is 18 after 18: two groups at one place", [2, 3], [18, 18])
        groups("group_positions[1] is 4 after 9: not in order", [2, 3], [9, 4])
        groups("group_positions[0] is 19, outside the scan; it is the number of views taken before, 0 to 18", [5], [19])
        groups("group_positions[0] is NaN", [5], [np.nan])
        groups("group_positions has 1 values, group_frames 2; a group has one of each", [2, 3], [0])
        groups("group_monitor has 3 values, group_frames 2", [2, 3], [0, 18], group_monitor=[1, 2, 3])
        groups("group_positions is None", [2, 3], None)
        groups("group_frames is None", None, [0, 18])
        groups("group_frames has 0 values; None means one group", [], [])
        groups("group_frames is of float64; it must be of int64", [2.5, 2.5], [0, 18])
        groups("group_frames[0] is 0; it must be 1 to", [0, 5], [0, 18])
        groups("monitor is None with group_monitor", [2, 3], [0, 18], group_monitor=[1, 2])
        groups("group_monitor[1] is -2; it must be above 0", [2, 3], [0, 18], group_monitor=[1, -2], monitor=np.ones(18))
        says("monitor has 17 values; it must have one a view, 18", ct.set_flat_field, flats, monitor=np.ones(17))
        says("monitor[3] is 0; it must be above 0", ct.set_flat_field, flats, monitor=np.abs(np.arange(18) - 3.0))
        says("bad_pixels is 0.5; it must be 1 to 1e6 times the noise, or 0 for none", ct.set_flat_field, flats, bad_pixels=0.5)
        says("flats[0, 3] is 0 on average in group 1", ct.set_flat_field, np.where(np.arange(32).reshape(2, 1, 16) == 19, 0, FRAMES[:1, :1]),
             group_frames=[1, 1], group_positions=[0, 18])
        says("flats is None while options is not; options belong to flats", ct.set_flat_field, None, bad_pixels=10)
        ct.set_outliers()
        says(["projections are line integrals, and set_outliers is for counts and transmissions", "write leave_outliers(), "
              'set_options(input="counts") or set_options(input="transmission")'], ct.reconstruct, ones(18, 16))

    def test_distortion(self):
        says, ct = self.says, self.one_row
        centre = {"x_centre": 8, "y_centre": 0}
        says("set_distortion() takes 1 positional argument", ct.set_distortion, [1.0])
        says("unexpected keyword argument 'centre'", ct.set_distortion, radial=[1.0], centre=(8, 0))
        says("x_centre is None; radial needs the bin and row of its centre", ct.set_distortion, radial=[1.0])
        says("y_centre is None; radial needs", ct.set_distortion, radial=[1.0], x_centre=np.arange(2))
        says("x_centre is (8, 0); it must be a real number", ct.set_distortion, radial=[1.0], x_centre=(8, 0), y_centre=0)
        says("radial is generator; it must be a sequence or an array: write list(radial)", ct.set_distortion, radial=(b for b in [1.0]), **centre)
        says("radial has 0 values; None means none", ct.set_distortion, radial=[], **centre)
        says("radial has 11 values; it must have 0 to 10", ct.set_distortion, radial=[1.0] + 10 * [0.0], **centre)
        says("radial[1] is NaN; it must be finite", ct.set_distortion, radial=[1.0, np.nan], **centre)
        says("radial has shape (); it must be (n,)", ct.set_distortion, radial=1.0, **centre)
        says("x_centre is NaN; it must be finite", ct.set_distortion, radial=[1.0], x_centre=np.nan, y_centre=0)
        says(["distortion moves pixels by up to", "1 rows of 16 bins: are centre, coefficients and shifts of this detector, in pixels?"],
             ct.set_distortion, radial=[1.0, 100.0], **centre)
        says("perspective has 9 values; it must have 8, as discorpy gives them", ct.set_distortion, perspective=np.eye(3).ravel())
        says("perspective has shape (3, 3); it must be (n,)", ct.set_distortion, perspective=np.eye(3))
        says("perspective[2] is inf", ct.set_distortion, perspective=[1, 0, np.inf, 0, 1, 0, 0, 0])
        says("distortion moves pixels", ct.set_distortion, perspective=[1, 0, 100, 0, 1, 0, 0, 0])
        says("tilt is 2; it must be within 0.5 bins a row: it is the tangent of an angle, not degrees", ct.set_distortion, tilt=2)
        says("tilt is 'up'; it must be a real number", ct.set_distortion, tilt="up")
        says("x_shifts has 18 values, y_shifts 17; a view has one of each", ct.set_distortion, x_shifts=np.ones(18), y_shifts=np.ones(17))
        says("y_shifts has 0 values; None means none", ct.set_distortion, y_shifts=[])
        says("y_shifts[17] is NaN", ct.set_distortion, y_shifts=[*np.ones(17), np.nan])
        says("x_shifts and y_shifts are of 17 views; there must be one value a view, 18", ct.set_distortion, x_shifts=np.ones(17))
        ct.set_distortion(x_shifts=np.ones(18))
        ct.set_geometry(angles=ANGLES[:9], bins=16)
        says("x_shifts and y_shifts are of 18 views; there must be one value a view, 9", ct.reconstruct, ones(9, 16))

    def test_phase(self):
        says = self.says
        ct = isocenter.CT(angles=np.arange(18) * np.pi / 18, bins=16)
        scan = {"energy_kev": 20, "distance_mm": 100, "pixel_um": 1, "delta_beta": 100}
        says("method is 'paganine'; it must be one of 'paganin', 'ctf'", ct.set_phase, "paganine", **scan)
        says("set_phase() missing 1 required keyword-only argument: 'pixel_um'", ct.set_phase)
        says("energy_kev is 20000; it must be 1 to 1000: is the energy in eV?", ct.set_phase, **{**scan, "energy_kev": 20000})
        says("distance_mm is 0.1; it must be 1 to 100000: is the distance in metres?", ct.set_phase, **{**scan, "distance_mm": 0.1})
        says("is the pixel in millimetres or metres?", ct.set_phase, **{**scan, "pixel_um": 1e-6})
        says("delta_beta is 0; it must be 0.001 to 1000000", ct.set_phase, **{**scan, "delta_beta": 0})
        says("alpha is NaN; it must be finite", ct.set_phase, "ctf", **scan, alpha=np.nan)
        says("unsharp_sigma is 1 and unsharp_amount 0; an unsharp mask has both", ct.set_phase, **scan, unsharp_sigma=1)
        says("energy_kev is 20 with length_um 30; it must be 0 then", ct.set_phase, **scan, length_um=30)
        says("length_um is 30; with method 'ctf' it must be 0", ct.set_phase, "ctf", pixel_um=1, length_um=30)
        says("length_um is 0.0001 for pixel_um 1; it must be 1e-3 to 1e5 pixels: are both in micrometres?", ct.set_phase, pixel_um=1,
             length_um=1e-4)
        ct.set_phase(**scan)
        says(["projections are line integrals, and set_phase is for counts and transmissions", "write leave_phase(), "
              'set_options(input="counts") or set_options(input="transmission")'], ct.reconstruct, ones(18, 16))

    def test_iterative(self):
        def says(words, algorithm, projections=FRAMES, volume=None, **iterative):
            """Whichever of the calls it is that knows."""
            self.ct.set_options(algorithm=algorithm)
            try:
                self.ct.set_iterative(**iterative)
            except (ValueError, TypeError):
                return self.says(words, self.ct.set_iterative, **iterative)
            return self.says(words, self.ct.reconstruct, projections, volume)

        self.says("algorithm is 'art'; it must be one of 'fbp', 'sirt', 'cgls', 'mlem', 'total_variation'", self.ct.set_options, algorithm="art")
        self.says("projector is 'band_limited', some of whose weights are negative; it must be 'joseph' where algorithm is 'sirt'", self.ct.set_options, algorithm="sirt",
                  projector="band_limited")
        self.says("no iterative reconstruction has been finished since set_iterative", self.ct.history)
        for words, algorithm, iterative in (
                ("iterations is 0; it must be 1 to 1000000", "sirt", {"iterations": 0}),
                ("iterations is 2.5; it must be an integer", "sirt", {"iterations": 2.5}),
                ("iterations is 1000001", "cgls", {"iterations": 1000001}),
                ("relaxation is 2.0; it must be above 0 and below 2", "sirt", {"relaxation": 2}),
                ("relaxation is NaN; it must be finite", "sirt", {"relaxation": np.nan}),
                ("relaxation is 0.5; it must be 1.0 where algorithm is 'mlem'", "mlem", {"relaxation": 0.5}),
                ("subsets is 19; it must be at most the number of views, 18", "sirt", {"subsets": 19}),
                ("subsets is -1", "sirt", {"subsets": -1}),
                ("where algorithm is 'cgls'", "cgls", {"subsets": 2}),
                ("where algorithm is 'cgls'", "cgls", {"bounds": "non_negative"}),
                ("bounds is 'positive'; it must be one of 'none', 'non_negative', 'box'", "sirt", {"bounds": "positive"}),
                ("lower is 2.0 and upper 1.0; lower must be below upper", "sirt", {"bounds": "box", "lower": 2, "upper": 1}),
                ("lower is 0.0 and upper 0.0; lower must be below upper", "sirt", {"bounds": "box"}),
                ("lower is 1.0 and upper 0.0; both must be 0 where bounds is", "sirt", {"lower": 1}),
                ("lower is 0.0 and upper 3.0; both must be 0 where bounds is", "sirt", {"bounds": "non_negative", "upper": 3}),
                ("upper is NaN; it must be a number", "sirt", {"bounds": "box", "upper": np.nan}),
                ("whose images are never negative", "mlem", {"bounds": "box", "lower": -1, "upper": 1}),
                ("mask_radius is 2.0; it must be 0 to 1.5", "sirt", {"mask_radius": 2}),
                ("regularisation is -1.0; it must be 0, or 1e-30 to 1e30", "cgls", {"regularisation": -1}),
                ("regularisation is 1.0; it must be 0.0 where algorithm is 'sirt'", "sirt", {"regularisation": 1}),
                ("tolerance is 1.0; it must be 0 or more and below 1", "cgls", {"tolerance": 1}),
                ("tolerance is 0.1; it must be 0.0 where algorithm is 'mlem'", "mlem", {"tolerance": 0.1}),
                ("regularisation is 0; it must be above 0 where algorithm is 'total_variation'", "total_variation", {"bounds": "non_negative"}),
                ("bounds have no lower one", "total_variation", {"regularisation": 1}),
                ("huber is 0.1; it must be 0.0 where algorithm is 'sirt'", "sirt", {"huber": 0.1}),
                ("start is 'zeros'; it must be one of 'uniform', 'volume'", "sirt", {"start": "zeros"}),
                ("volume is missing: iterations begin with what it holds, by set_iterative(start='volume')", "sirt", {"start": "volume"})):
            self.assertIsInstance(says(words, algorithm, **iterative), str)
            self.ct.set_iterative()
        negative = FRAMES.copy()
        negative[3, 1, 4] = -1
        says(["the line integral of view 3, row 1, bin 4 is below 0", 'Context(nan_policy="replace")'], "mlem", negative)
        stored = np.zeros(self.ct.volume_shape, np.uint8)
        self.ct.set_output(dtype="u8", low=0, high=1)
        says("start is 'volume'; it must be 'uniform' where the volume is stored by set_output", "sirt", volume=stored, start="volume")
        self.ct.set_output()
        self.says("start is 'volume'; it must be 'uniform' in a stream", self.ct.reconstruct_stream, lambda *_: None, lambda *_: None)
        turn = CT(self.context, angles=2 * ANGLES, bins=16, axis=11)
        turn.set_half_acquisition()
        turn.set_options(algorithm="sirt")
        self.says(["half acquisition is set", "algorithm is 'sirt', which takes such rows as they are: write leave_half_acquisition()"],
                  turn.reconstruct, FRAMES[:, :1])

    def test_words_of_what_projections_hold(self):
        """The library's sentences about options.input and the flat field, as its sources have them, in this package's words."""
        source = pathlib.Path(__file__).resolve().parents[3] / "crates" / "ct" / "src"
        sentences = [s for name in ("rows/kind.rs", "rows/doubts.rs", "rows/flat_field/mod.rs") for s in re.findall(r'^ *"(.*)"$', (source / name).read_text(), re.M)
                     if "options.input" in s or "forget" in s]
        self.assertEqual(len(sentences), 3)
        for said in map(in_python, sentences):
            self.assertNotRegex(said, r"options\.|forget|line integrals\)|\d \(")
            self.assertRegex(said, r'set_flat_field\(None\)|set_options\(input="counts"\).*set_options\(input="line_integrals"\)')

    def test_warnings_name_the_function(self):
        said = []
        context = Context(threads=1, log=lambda level, text: said.append(text))
        CT(context, angles=np.arange(180.0), bins=16)
        self.assertTrue(said[-1].startswith("CT: "), said)
        CT(context).set_geometry(angles=np.arange(180.0), bins=16)
        self.assertTrue(said[-1].startswith("CT.set_geometry: "), said)

    def test_a_callback_names_its_own(self):
        raised = []

        def progress(*_):
            try:
                ct.info()
            except isocenter.BusyError as e:
                raised.append(str(e))

        ct = CT(Context(threads=1, progress=progress), angles=ANGLES, bins=16)
        ct.reconstruct(ones(18, 16))
        self.assertTrue(raised and all(text.startswith("CT.info: ") and "same object" in text for text in raised), raised)


if __name__ == "__main__":
    unittest.main()
