"""Series on the device: images of a temporal basis by a matrix of convolutions, beside pairs of transforms and one image; sliding windows."""
import numpy as np

import bare
from mri_bench import show
from mri_solutions import ring_of_coils
from scans import complex_noise, radial


def curves(times, rank):
    """Principal components of recoveries after an inversion."""
    seconds = 3 * np.arange(times) / times
    dictionary = np.stack([1 - 2 * np.exp(-seconds / t1) for t1 in np.linspace(0.1, 3, 400)], 1)
    return np.linalg.svd(dictionary, full_matrices=False)[0][:, :rank]


def series(bench):
    small, place, coils = bench.asked.small, bench.place, 8
    volume = (16, 200, 32) if small else (128, 1848, 256)
    for axes, (side, spokes, readout) in ((2, (32, 100, 64) if small else (256, 1000, 512)), (3, volume)):
        shape, k, samples = (side,) * axes, radial(axes, spokes, readout), spokes * readout
        data = place.put(complex_noise((coils, samples)))
        kept, rows = {}, []
        for rank in (1, 3, 5, 8):
            for normal in ("toeplitz", "pair") if rank > 1 else ("toeplitz",):
                mri = bench.mri(shape, k, coils=coils, normal=normal, tolerance=1e-4, iterations=30, residual=1e-30)
                maps = ring_of_coils(coils, side)
                mri.set_maps(maps if axes == 3 else np.ascontiguousarray(maps[:, side // 2]))
                mri.compute_weights("radial", readout)
                if rank > 1:
                    mri.set_basis(curves(spokes, rank), np.repeat(np.arange(spokes), readout))
                images = ((rank,) if rank > 1 else ()) + shape
                image, out = place.put(complex_noise(images)), place.zeros(images, "complex64")
                bench.seconds(bare.call(mri.reconstruct, data, out))
                solve = sorted(bench.seconds(bare.call(mri.reconstruct, data, out)) for _ in range(3))[1]
                (run,) = bench.time([(f"{rank} {normal}", bare.call(mri.normal, image, out))])
                kept[rank, normal] = run.seconds
                against = run.seconds / (rank * kept[1, "toeplitz"])
                rows.append([str(rank), normal, f"{run.seconds * 1e3:.3f}", f"{against:.2f}", f"{solve:.3f}", f"{mri.memory() / 2**20:.0f}"])
        show(f"{' x '.join(map(str, shape))}, {coils} coils, {samples:,} samples, f32, tolerance 1e-4: images of a basis",
             ["images", "F^H W F", "ms", "of as many images alone", "30 iterations, s", "MiB"], rows)
    side, spokes, readout, window, step = (32, 60, 64, 21, 7) if small else (256, 600, 512, 34, 17)
    mri = bench.mri((side, side), radial(2, spokes, readout), coils=coils, iterations=10, residual=1e-30, tolerance=1e-4)
    mri.set_maps(np.ascontiguousarray(ring_of_coils(coils, side)[:, side // 2]))
    mri.set_windows(window * readout, step * readout)
    mri.compute_weights("radial", readout)
    frames = mri.info().images
    data, out = place.put(complex_noise((coils, spokes * readout))), place.zeros((frames, side, side), "complex64")
    rows = []
    calls = [("gridding", mri.gridding, {}), ("conjugate gradient, 10 iterations", mri.reconstruct, {}),
             ("low rank, 10 iterations", mri.reconstruct, dict(penalty="low_rank", lambda_=1e-2))]
    for name, call, options in calls:
        mri.set_options(iterations=10, residual=1e-30, tolerance=1e-4, **options)
        (run,) = bench.time([(name, bare.call(call, data, out))])
        rows.append([name, str(frames), f"{run.seconds * 1e3:.1f}", f"{run.seconds / frames * 1e3:.3f}"])
    show(f"{side} x {side}, {coils} coils, windows of {window} spokes, {step} apart, of {spokes}", ["", "frames", "ms", "ms a frame"], rows)
