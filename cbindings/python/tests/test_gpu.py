"""Arrays of PyTorch, CuPy and JAX on a GPU: in place, in the caller's stream. Skipped without a GPU or the package."""
import importlib
import math
import unittest

import numpy as np

import isocenter

try:
    isocenter.Context(device="gpu").close()
    GPU = True
except isocenter.Error:
    GPU = False


def package(name):
    try:
        return importlib.import_module(name) if GPU else None
    except ImportError:
        return None


torch, cupy, jax = map(package, ("torch", "cupy", "jax"))

VIEWS, BINS, ROWS = 360, 256, 16
ANGLES = np.arange(VIEWS) * math.pi / VIEWS
DISK = [[0.5, 20.0, -10.0, 80.0, 60.0, 0.3]]


@unittest.skipUnless(GPU, "no GPU")
class Gpu(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with isocenter.Context(device="cpu") as cpu, isocenter.CT(cpu, angles=ANGLES, bins=BINS, rows=ROWS) as ct:
            cls.projections = ct.phantom_projections(DISK) * np.linspace(0.5, 1, ROWS, dtype=np.float32)[None, :, None]
            cls.volume = ct.reconstruct(cls.projections)

    def setUp(self):
        self.ct = isocenter.CT(isocenter.Context(device="gpu", gpus=[0]), angles=ANGLES, bins=BINS, rows=ROWS)
        self.addCleanup(self.ct.close)

    def right(self, volume):
        # f32 grade on either device: the GPU's stated bound and the processor's rounding.
        self.assertLess(np.abs(np.asarray(volume) - self.volume).max(), 3e-5)

    def test_arrays_in_host_memory(self):
        self.right(self.ct.reconstruct(self.projections))
        fast, out = self.ct.context.empty(self.projections.shape), self.ct.context.empty(self.volume.shape)
        fast[:] = self.projections
        self.right(self.ct.reconstruct(fast, out))

    @unittest.skipUnless(torch, "no PyTorch")
    def test_torch(self):
        x = torch.from_numpy(self.projections).cuda()
        made = self.ct.reconstruct(x)
        self.assertEqual((made.device, made.dtype, tuple(made.shape)), (x.device, torch.float32, self.ct.volume_shape))
        self.right(made.cpu())
        out = torch.zeros(self.ct.volume_shape[::-1], device="cuda").permute(2, 1, 0)
        self.assertIs(self.ct.reconstruct(x.permute(2, 0, 1).contiguous().permute(1, 2, 0), out), out)
        self.right(out.cpu())
        # Mixed: from the host to the GPU, and back.
        self.right(self.ct.reconstruct(self.projections, out.zero_()).cpu())
        self.right(self.ct.reconstruct(x, np.zeros_like(self.volume)))
        self.right(self.ct.reconstruct(x.cpu(), out.zero_()).cpu())
        self.assertTrue(torch.from_numpy(self.ct.context.empty(8)).is_pinned())

    @unittest.skipUnless(torch, "no PyTorch")
    def test_no_copy(self):
        cap = 128 << 20
        context = isocenter.Context(device="gpu", gpus=[0], gpu_memory_cap=cap)
        ct = isocenter.CT(context, angles=ANGLES, bins=BINS, rows=2048)
        x, out = torch.ones(ct.projections_shape, device="cuda"), torch.zeros(ct.volume_shape, device="cuda")
        torch.cuda.synchronize()
        before = torch.cuda.mem_get_info()[0]
        ct.backproject(x, out)
        ct.forward(out, x)
        grown = before - torch.cuda.mem_get_info()[0]
        self.assertLess(grown, cap + (64 << 20))  # kernels and the allocator's rounding
        self.assertLess(cap + (64 << 20), x.nbytes // 2)

    @unittest.skipUnless(torch, "no PyTorch")
    def test_torch_streams(self):
        """Data that are still being made in another stream are waited for, and so is who still reads the output."""
        good = torch.from_numpy(self.projections).cuda()
        stream = torch.cuda.Stream()
        for plans_stream in (None, stream, stream.cuda_stream, torch.cuda.Stream()):
            self.ct.set_stream(plans_stream)
            with torch.cuda.stream(stream):
                late, out = torch.zeros_like(good), torch.zeros(self.ct.volume_shape, device="cuda")
                stream.synchronize()
                torch.cuda._sleep(200_000_000)  # a tenth of a second
                late.copy_(good)
                self.ct.reconstruct(late, out)
                kept = out.clone()
                torch.cuda._sleep(200_000_000)
                copied = out * 1
                self.ct.reconstruct(late * 0, out)  # must not overtake the copy
                late.zero_()
            stream.synchronize()
            self.right(kept.cpu())
            self.right(copied.cpu())
            self.assertEqual(float(out.abs().max()), 0)

    @unittest.skipUnless(torch, "no PyTorch")
    def test_torch_errors(self):
        x = torch.from_numpy(self.projections).cuda()
        with self.assertRaisesRegex(isocenter.TensorDtypeError, "projections is float64 where float32 .* convert it to torch.float32"):
            self.ct.reconstruct(x.double())
        for wrong in (x.half(), x.bfloat16(), x.int(), x > 0):
            self.assertRaises(isocenter.TensorDtypeError, self.ct.reconstruct, wrong)
        self.assertRaises(isocenter.TensorShapeError, self.ct.reconstruct, x[1:])
        self.assertRaises(isocenter.OverlapError, self.ct.filter, x, x)
        self.assertRaises((BufferError, RuntimeError), self.ct.reconstruct, x.clone().requires_grad_())
        with isocenter.CT(isocenter.Context(device="cpu"), angles=ANGLES, bins=BINS, rows=ROWS) as cpu:
            self.assertRaises(isocenter.TensorDeviceError, cpu.reconstruct, x)
        x[3, 2, 1] = math.nan
        self.assertRaises(isocenter.NotFiniteDataError, self.ct.reconstruct, x)
        if torch.cuda.device_count() > 1:
            self.assertRaises(isocenter.TensorDeviceError, self.ct.reconstruct, x.to("cuda:1"))

    @unittest.skipUnless(cupy, "no CuPy")
    def test_cupy(self):
        x = cupy.asarray(self.projections)
        made = self.ct.reconstruct(x)
        self.assertEqual((type(made), made.dtype, made.device), (cupy.ndarray, np.float32, x.device))
        self.right(made.get())
        self.right(self.ct.reconstruct(x[::-1][::-1], cupy.zeros(self.ct.volume_shape, np.float32)).get())
        with cupy.cuda.Stream(non_blocking=True) as stream:
            self.ct.set_stream(stream)
            self.right(self.ct.reconstruct(x * 1).get())
        with self.assertRaisesRegex(isocenter.TensorDtypeError, "cupy.float32"):
            self.ct.reconstruct(x.astype(float))

    @unittest.skipUnless(jax, "no JAX")
    def test_jax_arrays_are_inputs_alone(self):
        x = jax.numpy.asarray(self.projections)
        self.right(self.ct.reconstruct(x, np.zeros_like(self.volume)))
        out = jax.numpy.zeros(self.ct.volume_shape)
        self.assertRaisesRegex(ValueError, "read-only", self.ct.reconstruct, x, out)

    @unittest.skipUnless(torch, "no PyTorch")
    def test_mri(self):
        rng = np.random.default_rng(0)
        k = rng.uniform(-0.5, 0.5, (20_000, 2))
        image = (rng.standard_normal((64, 64)) + 1j * rng.standard_normal((64, 64))).astype(np.complex64)
        expected = isocenter.MRI(isocenter.Context(device="cpu"), trajectory=k, unit="cycles_per_voxel", nx=64, ny=64).forward(image)
        mri = isocenter.MRI(self.ct.context, trajectory=torch.from_numpy(k).cuda(), unit="cycles_per_voxel", nx=64, ny=64)
        samples = mri.forward(torch.from_numpy(image).cuda())
        self.assertEqual((samples.device.type, samples.dtype), ("cuda", torch.complex64))
        self.assertLess(np.linalg.norm(samples.cpu().numpy() - expected), 3e-5 * np.linalg.norm(expected))
        mri.set_options(iterations=20)
        solved = mri.reconstruct(samples)
        self.assertLess(np.linalg.norm(solved.cpu().numpy() - image), 1e-3 * np.linalg.norm(image))
        self.assertGreater(mri.compare(solved, image)[0], 60)

    @unittest.skipUnless(torch, "no PyTorch")
    def test_pet(self):
        pets = [isocenter.PET(c, nx=32, ny=32, nz=8, voxel_x=5.0, azimuths=6, tilts=2, max_tilt=0.2)
                for c in (isocenter.Context(device="cpu"), self.ct.context)]
        for pet in pets:
            pet.set_response(tof_fwhm=60.0, radial_fwhm=7.0, axial_fwhm=7.0)
        truth = pets[0].phantom_image(isocenter.Body("cylinder", half_x=50.0, half_z=15.0, activity=1.0))
        expected = pets[0].forward(truth)
        histo = pets[1].forward(torch.from_numpy(truth).cuda())
        self.assertEqual((histo.device.type, tuple(histo.shape)), ("cuda", expected.shape))
        np.testing.assert_allclose(histo.cpu().numpy(), expected, atol=1e-4)
        np.testing.assert_allclose(pets[1].reconstruct(histo).cpu().numpy(), pets[0].reconstruct(expected), atol=2e-3)
        for pet in pets:
            pet.set_options(algorithm="svrg", iterations=5, stop_change=1e-9)
        pets[0].set_prior(strength=0.1, weights=1 + truth, anatomy=truth, anatomy_sigma=0.5)
        pets[1].set_prior(strength=0.1, weights=torch.from_numpy(1 + truth).cuda(), anatomy=torch.from_numpy(truth).cuda(), anatomy_sigma=0.5)
        np.testing.assert_allclose(pets[1].reconstruct(histo).cpu().numpy(), pets[0].reconstruct(expected), atol=2e-3)
        (gradient, value), (there, on_gpu) = pets[0].prior_gradient(truth), pets[1].prior_gradient(torch.from_numpy(truth).cuda())
        np.testing.assert_allclose(there.cpu().numpy(), gradient, atol=1e-5)
        self.assertAlmostEqual(on_gpu / value, 1, places=5)
        for pet in pets:
            pet.set_prior(strength=None)
            pet.set_options()
        positions, normals = isocenter.block_crystals(blocks=36, across=8, along=16, diameter=780.0, pitch_across=8.0)
        for pet in pets:
            pet.set_scanner(positions, normals, crystal_width=8.0, crystal_height=8.0)
        water = pets[0].phantom_image(isocenter.Body("cylinder", half_x=50.0, half_z=100.0, attenuation=0.0096), "attenuation")
        expected, factors = pets[0].factors(attenuation=water), torch.zeros((12, 8, 32, 32), device="cuda")
        self.assertIs(pets[1].factors(None, water, factors), factors)
        # Sums in another order; a line that meets an outer crystal's edge within rounding may miss it, of which there are next to none.
        off = np.abs(factors.cpu().numpy() - expected) > 1e-5 * expected.max()
        self.assertLess(off.mean(), 1e-3)
        singles = np.random.default_rng(1).uniform(100.0, 200.0, len(positions))
        expected, randoms = pets[0].randoms(singles, 600.0), torch.zeros((12, 8, 32, 32), device="cuda")
        self.assertIs(pets[1].randoms(singles, 600.0, randoms), randoms)
        off = np.abs(randoms.cpu().numpy() - expected) > 2e-5 * expected.max()
        self.assertLess(off.mean(), 1e-3)
        image = pets[0].phantom_image(isocenter.Body("cylinder", half_x=30.0, half_z=10.0, activity=1.0))
        counts = np.random.default_rng(2).poisson(0.1, expected.shape).astype(np.uint32)
        additive, found = pets[0].scatter(image, water, None, counts, expected, tof_fwhm=300.0)
        there = torch.zeros((12, 8, 32, 32), device="cuda")
        self.assertIs(pets[1].scatter(image, water, None, torch.from_numpy(counts.view(np.int32)).float().cuda(), randoms, there, tof_fwhm=300.0)[0], there)
        self.assertLess(np.abs(there.cpu().numpy() - additive).max(), 2e-4 * additive.max())


if __name__ == "__main__":
    unittest.main()
