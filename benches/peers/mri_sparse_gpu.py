"""Penalties of wavelets and of total variation on the device: a volume of eight coils, beside conjugate gradient with the same F^H W F."""
import numpy as np

import bare
from mri_bench import show
from mri_solutions import ring_of_coils
from scans import complex_noise, radial


def sparse(bench):
    side, spokes, readout = (32, 300, 32) if bench.asked.small else (256, 10_000, 256)
    iterations, coils, shape, place = 100, 8, (side,) * 3, bench.place
    mri = bench.mri(shape, radial(3, spokes, readout), coils=coils, normal="toeplitz", tolerance=1e-4, iterations=1)
    mri.compute_weights("radial", readout)
    mri.set_maps(ring_of_coils(coils, side))
    # A ball with noise.
    z, y, x = np.meshgrid(*[np.linspace(-1, 1, side)] * 3, indexing="ij")
    samples, image = place.zeros((coils, spokes * readout), "complex64"), place.zeros(shape, "complex64")
    mri.forward(place.put((x * x + y * y + z * z < 0.5).astype(np.complex64)), samples)
    samples += place.put(complex_noise((coils, spokes * readout)))
    mri.set_options(penalty="wavelets", lambda_=1.0, tolerance=1e-4, iterations=1, normal="toeplitz")
    mri.reconstruct(samples, image)
    limit, rows = mri.info().lambda_limit, []
    for name, options in (
            ("conjugate gradient", {}),
            ("wavelets, fista", dict(penalty="wavelets", lambda_=limit / 300)),
            ("wavelets, primal-dual", dict(penalty="wavelets", lambda_=limit / 300, algorithm="primal_dual")),
            ("total variation, fista", dict(penalty="variation", lambda_=limit / 1000)),
            ("total variation, primal-dual", dict(penalty="variation", lambda_=limit / 1000, algorithm="primal_dual"))):
        mri.set_options(iterations=iterations, residual=1e-30, tolerance=1e-4, normal="toeplitz", **options)
        call = bare.call(mri.reconstruct, samples, image)
        seconds = sorted(bench.seconds(call) for _ in range(3))[1]
        objectives = mri.objective()
        fell = f"{objectives[-1] / objectives[0]:.4g}" if len(objectives) else ""
        rows.append([name, f"{seconds:.3f}", f"{seconds / iterations * 1e3:.2f}", f"{mri.memory() / 2**30:.2f}", fell])
        print(f"- {name}: {seconds:.3f} s, {len(mri.history()) - 1} iterations", flush=True)
    show(f"{side}^3, {coils} coils, {spokes * readout:,} samples, f32, tolerance 1e-4, {iterations} iterations, Q known",
         ["case", "s", "ms an iteration", "GiB", "objective, of the start's"], rows)
