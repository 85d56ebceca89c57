"""Wavelet- and total-variation-penalised reconstruction beside SigPy's, on a measured radial scan: time, and how far each is from the least
value of its own objective.

mri_sparse.py FOLDER [PICTURE.png]: FOLDER has kspace.npy (coils, spokes, samples) and trajectory_cycles_per_pixel.npy (spokes, samples, 2).
Needs sigpy, and Pillow for the picture.
"""
import os
import pathlib
import sys
import time

import numpy as np

import isocenter

THREADS = len(os.sched_getaffinity(0))
SIDE, SPOKES, COILS, ITERATIONS, LONG = 256, 64, 8, 30, 200


def scan(folder):
    """Few spokes of a scan, its coils compressed, and maps from the middle of all of its k-space."""
    folder = pathlib.Path(folder)
    samples, k = np.load(folder / "kspace.npy"), np.load(folder / "trajectory_cycles_per_pixel.npy")
    matrix, _ = isocenter.coil_compression(samples.reshape(len(samples), -1), COILS)
    samples = isocenter.coil_apply(matrix, samples.reshape(len(samples), -1)).reshape(COILS, *samples.shape[1:])
    full = isocenter.MRI(trajectory=k.reshape(-1, 2), unit="cycles_per_voxel", nx=SIDE, ny=SIDE, coils=COILS)
    full.compute_weights("radial", k.shape[1])
    images = full.gridding(samples.reshape(COILS, -1))
    kspace = np.fft.fftshift(np.fft.fft2(np.fft.ifftshift(images, axes=(1, 2))), axes=(1, 2))
    middle = slice(SIDE // 2 - 12, SIDE // 2 + 12)
    maps = isocenter.coil_maps(np.ascontiguousarray(kspace[:, middle, middle]), (SIDE, SIDE), crop=0)
    chosen = np.linspace(0, len(k), SPOKES, endpoint=False).astype(int)
    k, samples = np.ascontiguousarray(k[chosen].reshape(-1, 2)), samples[:, chosen].reshape(COILS, -1)
    samples = (samples / np.abs(samples).max()).astype(np.complex64)
    return k.astype(np.float32), samples, maps.astype(np.complex64)


def timed(function, repeats):
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        result = function()
        times.append(time.perf_counter() - start)
    return sorted(times)[len(times) // 2], result


def ours(k, samples, maps, context, penalty, lambda_, iterations, **options):
    """All of it: plan, Q, iterations."""
    mri = isocenter.MRI(trajectory=k, unit="cycles_per_voxel", nx=SIDE, ny=SIDE, coils=COILS, context=context)
    mri.set_maps(maps)
    mri.set_options(penalty=penalty, lambda_=lambda_, iterations=iterations, residual=1e-12, tolerance=1e-4,
                    fixed_grid=True, **options)
    return mri.reconstruct(samples), mri.objective() if lambda_ else None


def main(folder, picture=None):
    import sigpy
    import sigpy.mri.app as peers

    k, samples, maps = scan(folder)
    coordinates = k * SIDE  # x first here, rows first there
    coordinates = np.ascontiguousarray(coordinates[:, ::-1])
    pictures = []
    with isocenter.Context(threads=THREADS) as context:
        plan = isocenter.MRI(trajectory=k, unit="cycles_per_voxel", nx=SIDE, ny=SIDE, coils=COILS, context=context)
        plan.set_maps(maps)
        plan.set_options(penalty="wavelets", lambda_=1.0, iterations=1)
        plan.reconstruct(samples)
        limit = plan.info().lambda_limit
        seconds, (image, _) = timed(lambda: ours(k, samples, maps, context, "identity", 0.0, ITERATIONS), 5)
        print(f"conjugate gradient, {ITERATIONS} iterations: {seconds:.3f} s; {THREADS} threads")
        pictures.append(image)
        for penalty, weight, algorithms, peer in (
                ("wavelets", limit / 30000, ("fista", "primal_dual"), peers.L1WaveletRecon),
                ("variation", limit / 60000, ("fista", "primal_dual"), peers.TotalVariationRecon)):
            least = min(ours(k, samples, maps, context, penalty, weight, LONG, algorithm=a)[1].min() for a in algorithms)
            # SigPy's transform is divided by the root of the number of voxels.
            theirs = lambda n, save=False: peer(samples, maps, weight / SIDE, coord=coordinates, max_iter=n, show_pbar=False,
                                                save_objective_values=save)
            peer_seconds, peer_image = timed(lambda: theirs(ITERATIONS).run(), 3)
            app = theirs(ITERATIONS, True)
            app.run()
            far = theirs(LONG, True)
            far.run()
            peer_least = min(far.objective_values)
            gap = app.objective_values[-1] / peer_least - 1
            print(f"{penalty}: SigPy {sigpy.__version__} {peer_seconds:.2f} s, objective {gap:.1e} above its least ({peer_least:.5g})")
            for algorithm in algorithms:
                run = lambda: ours(k, samples, maps, context, penalty, weight, ITERATIONS, algorithm=algorithm)
                seconds, (image, objectives) = timed(run, 5)
                gaps = objectives / least - 1
                enough = int(np.argmax(gaps <= gap)) if (gaps <= gap).any() else None
                line = (f"{penalty}, {algorithm}, {ITERATIONS} iterations: {seconds:.3f} s ({peer_seconds / seconds:.0f} x), objective "
                        f"{gaps[-1]:.1e} above its least ({least:.5g})")
                if enough:
                    seconds, _ = timed(lambda: ours(k, samples, maps, context, penalty, weight, enough, algorithm=algorithm), 5)
                    line += f"; SigPy's gap after {enough} iterations, {seconds:.3f} s ({peer_seconds / seconds:.0f} x)"
                print(line, flush=True)
                pictures.append(image)
            pictures.append(peer_image / SIDE)
    if picture:
        from PIL import Image

        rows = [np.concatenate([np.abs(p) for p in pictures[:4]], 1), np.concatenate([np.abs(p) for p in pictures[3:7]], 1)]
        both = np.concatenate(rows, 0) / np.percentile(np.abs(pictures[1]), 99.8)
        Image.fromarray((255 * both.clip(0, 1)).astype("uint8")).save(picture)


if __name__ == "__main__":
    main(*sys.argv[1:])
