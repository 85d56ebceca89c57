"""Wavelet- and total-variation-penalised reconstruction on a GPU (--cpu: on the processor) beside SigPy's and BART's: simulated radial scans,
and the time that each takes to come near to what it tends to. Penalties differ in details (borders, levels), so each is compared with its own image
of many iterations, in the l2 norm. Arrays begin and end in host memory; BART's time is what its log calls total, without the start of its process.

Needs sigpy with CuPy, and `bart` (built with CUDA) on PATH; what is missing is left out.
"""
import argparse
import os
import re
import subprocess
import tempfile
import time

import numpy as np

import bare
import isocenter
from mri_solutions import ring_of_coils
from scans import complex_noise, radial
from timing import table

COILS, STEPS, LONG = 8, (5, 10, 20, 30, 50, 80, 120, 200), 600


def scan(shape, spokes, readout):
    """A head with noise of 1 % of the largest sample, and maps whose squares add up to 1."""
    side, k = shape[-1], radial(len(shape), spokes, readout).astype(np.float32)
    maps = ring_of_coils(COILS, side)
    maps = np.ascontiguousarray(maps if len(shape) == 3 else maps[:, side // 2]).astype(np.complex64)
    maps /= np.sqrt((np.abs(maps)**2).sum(0))
    names = ("nz", "ny", "nx")[-len(shape):]
    with isocenter.MRI(isocenter.Context(), trajectory=k, unit="cycles_per_voxel", coils=COILS, **dict(zip(names, shape))) as mri:
        head = mri.phantom_image(mri.shepp_logan(0.45 * side, 0.45 * side if len(shape) == 3 else 0))
        mri.set_maps(maps)
        samples = mri.forward(head.reshape(shape))
        samples += 0.01 * np.abs(samples).max() * complex_noise(samples.shape)
        mri.set_options(penalty="wavelets", lambda_=1.0, iterations=1)
        mri.reconstruct(samples)
        return k, samples, maps, mri.info().lambda_limit


def ours(cpu, shape, k, samples, maps, algorithm):
    context = isocenter.Context() if cpu else bare.Context(gpu=True)
    names = ("nz", "ny", "nx")[-len(shape):]

    def run(penalty, weight, iterations):
        start = time.perf_counter()
        mri = isocenter.MRI(context, trajectory=k, unit="cycles_per_voxel", coils=COILS, **dict(zip(names, shape)))
        mri.set_maps(maps)
        mri.set_options(penalty=penalty, lambda_=weight, iterations=iterations, residual=1e-12, tolerance=1e-4, fixed_grid=True, algorithm=algorithm)
        image = mri.reconstruct(samples)
        return time.perf_counter() - start, image
    return run


def sigpys(cpu, shape, k, samples, maps):
    import sigpy
    import sigpy.mri.app as apps

    device, root = sigpy.Device(-1 if cpu else 0), np.sqrt(np.prod(shape))
    coordinates = np.ascontiguousarray((k * shape[-1])[:, ::-1])

    def run(penalty, weight, iterations):
        app = apps.L1WaveletRecon if penalty == "wavelets" else apps.TotalVariationRecon
        start = time.perf_counter()
        # Its transform is divided by the root of the number of voxels.
        image = app(samples, maps, weight / root, coord=coordinates, max_iter=iterations, show_pbar=False, device=device).run()
        image = sigpy.to_device(image, -1)
        return time.perf_counter() - start, image / root
    return run


def cfl(name, array):
    """BART's format: the first dimension is the fastest."""
    with open(f"{name}.hdr", "w") as header:
        header.write("# Dimensions\n" + " ".join(map(str, array.shape)) + "\n")
    array.astype(np.complex64).ravel(order="F").tofile(f"{name}.cfl")


def barts(cpu, shape, k, samples, maps):
    folder, root = tempfile.mkdtemp(), np.sqrt(np.prod(shape))
    at = lambda name: os.path.join(folder, name)
    side, axes = shape[-1], len(shape)
    points = np.zeros((3, 1, len(k)))
    points[:axes, 0] = (k * side).T
    cfl(at("k"), points)
    cfl(at("samples"), samples.T.reshape(1, 1, len(k), COILS, order="F"))
    cfl(at("maps"), maps.T.reshape(*shape[::-1], *(1,) * (3 - axes), COILS, order="F"))
    subprocess.run(["bart", "version"], check=True, capture_output=True)

    def run(penalty, weight, iterations):
        regular = f"{'W' if penalty == 'wavelets' else 'T'}:{2**axes - 1}:0:{weight / root:.8g}"
        command = ["bart", "pics", *([] if cpu else ["-g"]), "-d5", "-n", "-e", "-w1", f"-i{iterations}", "-R", regular, "-t", at("k"), at("samples"), at("maps"), at("out")]
        said = subprocess.run(command, check=True, capture_output=True, text=True)
        total = re.search(r"Total Time: ([\d.]+)", said.stdout + said.stderr)
        image = np.fromfile(at("out.cfl"), np.complex64).reshape(shape)
        return float(total.group(1)), image / root
    return run


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cpu", action="store_true")
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--picture")
    parser.add_argument("--sizes", default="2,3")
    asked = parser.parse_args()
    sizes = {"2": ((256, 256), 64, 512), "3": ((128,) * 3, 2000, 256)}
    if asked.small:
        sizes = {"2": ((64, 64), 30, 128), "3": ((32,) * 3, 300, 64)}
    for axes in asked.sizes.split(","):
        shape, spokes, readout = sizes[axes]
        k, samples, maps, limit = scan(shape, spokes, readout)
        makers = {"Isocenter, FISTA": lambda *a: ours(*a, "fista"), "Isocenter, primal-dual": lambda *a: ours(*a, "primal_dual"),
                  "SigPy": sigpys, "BART": barts}
        rows, pictures = [], []
        for penalty, weight in (("wavelets", limit / 3000), ("variation", limit / 6000)):
            for name, make in makers.items():
                try:
                    run = make(asked.cpu, shape, k, samples, maps)
                    run(penalty, weight, 2)
                    _, far = run(penalty, weight, LONG)
                    found = {}
                    for iterations in STEPS:
                        seconds, image = run(penalty, weight, iterations)
                        apart = np.linalg.norm(image - far) / np.linalg.norm(far)
                        for bound in (0.03, 0.01):
                            if apart <= bound and bound not in found:
                                found[bound] = iterations, min(seconds, run(penalty, weight, iterations)[0])
                        if iterations == 30:
                            thirty = seconds, apart
                        if 0.01 in found and iterations >= 30:
                            break
                    pictures.append(np.abs(far if far.ndim == 2 else far[len(far) // 2]))
                    near = [f"{found[b][1]:.3f} ({found[b][0]})" if b in found else f"not in {STEPS[-1]}" for b in (0.03, 0.01)]
                    rows.append([penalty, name, f"{thirty[0]:.3f}", f"{thirty[1] * 100:.2g} %", *near])
                except Exception as e:  # the others shall run
                    text = getattr(e, "stderr", None) or str(e)
                    rows.append([penalty, name, f"{type(e).__name__}: {str(text).strip().splitlines()[-1][:150] if str(text).strip() else ''}", "", "", ""])
                print("-", *rows[-1], flush=True)
        print(f"\n### {' x '.join(map(str, shape))}, {COILS} coils, {len(k):,} samples, on the {'processor' if asked.cpu else 'GPU'}\n")
        print(table(["penalty", "package", "30 iterations, s", "apart", "to 3 %, s (iterations)", "to 1 %, s (iterations)"], rows))
        if asked.picture:
            from PIL import Image
            both = np.concatenate([p / np.percentile(pictures[0], 99.8) for p in pictures], 1)
            Image.fromarray((255 * both.clip(0, 1)).astype("uint8")).save(f"{asked.picture}_{axes}.png")


if __name__ == "__main__":
    main()
