"""PET on one GPU and on several: a pass over 120 views, and how far the images are from those of one GPU.

Histo-images are on the first GPU; what a pass takes is the difference of many passes and one. Counts are one view's for all views: the same time, and little memory.
Needs PyTorch with CUDA."""
import argparse
import datetime
import time

import numpy as np

import bare
import isocenter
from places import Gpu
from scans import INVARIANT, TOF, VARIANT, WIDTH
from timing import table

SIZES = {
    "4 mm": (dict(nx=144, ny=144, nz=48, voxel_x=4.0, azimuths=40, tilts=3, max_tilt=np.deg2rad(10)), TOF, WIDTH, 20),
    "2 mm": (dict(nx=288, ny=288, nz=96, voxel_x=2.0, azimuths=40, tilts=3, max_tilt=np.deg2rad(10)), TOF, WIDTH, 8),
    "long": (dict(nx=220, ny=220, nz=645, voxel_x=3.3, voxel_y=3.3, voxel_z=1.65, azimuths=24, tilts=5, max_tilt=np.deg2rad(18)), 220.0, 5.0, 4),
}
# Algorithm and subsets; 0: as many as it takes by itself.
WAYS = [("ramla", 0), ("osem", 10), ("osem", 24), ("bsrem", 0), ("svrg", 0), ("svrg", 10)]


def seconds(place, pet, histos, out, passes, rounds, **options):
    """Of a pass, and of the first call."""
    def run(count):
        pet.set_options(iterations=count, **options)
        place.settle()
        begin = time.perf_counter()
        pet.reconstruct(*histos, out)
        place.settle()
        return time.perf_counter() - begin

    first = run(1 + passes)
    return first, sorted((run(1 + passes) - run(1)) / passes for _ in range(rounds))[rounds // 2]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gpus", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--sizes", nargs="*", default=list(SIZES))
    parser.add_argument("--kinds", nargs="*", default=["invariant", "variant"])
    parser.add_argument("--ways", nargs="*", default=[f"{a}/{s}" for a, s in WAYS])
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    ways = [(a, int(s)) for a, s in (way.split("/") for way in asked.ways)]
    place, rows = Gpu(), []
    for size in asked.sizes:
        shape, tof, width, passes = SIZES[size]
        for kind in asked.kinds:
            radial = INVARIANT if kind == "invariant" else VARIANT
            images = {}
            for gpus in asked.gpus:
                pet = isocenter.PET(bare.Context(gpu=True, gpus=range(gpus)), **shape)
                pet.set_response(tof_fwhm=tof, axial_fwhm=width, **radial)
                pet.set_stream(place.stream)
                nz, ny, nx = pet.image_shape
                y, x = (np.linspace(-1, 1, n, dtype=np.float32) for n in (ny, nx))
                inside = (np.hypot(x[None], y[:, None]) < 0.7).astype(np.float32)
                every = lambda view: place.put(view).expand(pet.histo_images_shape)
                one = np.random.default_rng(1).poisson(4.0 * inside[None].repeat(nz, axis=0)).astype(np.float32)
                histos = [every(one), every(np.full((nz, ny, nx), 0.3, np.float32)), every(np.full((nz, ny, nx), 0.2, np.float32))]
                for algorithm, subsets in ways:
                    if algorithm == "ramla" and gpus > 1:
                        continue
                    out = place.zeros(pet.image_shape, "float32")
                    first, each = seconds(place, pet, histos, out, passes, asked.rounds, algorithm=algorithm, subsets=subsets)
                    one_gpu, base = images.setdefault((algorithm, subsets), (out, each))
                    far = float(abs(out - one_gpu).max() / one_gpu.max())
                    rows.append([size, kind, algorithm, str(subsets or "default"), str(gpus), f"{first:.2f}", f"{1e3 * each:.1f}", f"{base / each:.2f}", f"{far:.0e}"])
                    print(rows[-1], flush=True)
    print(f"# PET on several GPUs, {datetime.date.today().isoformat()}\n\nIsocenter {isocenter.version()}: {isocenter.build_info()}.\n")
    print(table(["size", "kernels", "algorithm", "subsets", "GPUs", "first call, s", "a pass, ms", "times as fast", "difference"], rows))


if __name__ == "__main__":
    main()
