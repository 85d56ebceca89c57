"""A long scanner: 220 x 220 x 645 voxels of 3.3 x 3.3 x 1.65 mm and 120 views, 45 GB of histo-images, from host memory to 20 passes.

A peer's 20 updates (4 passes of 5 subsets) of 220 x 220 x 645 voxels took 41 minutes of a processor (STIR pull request 1674); ours are passes over all views.
Counts are one view's for all views: the same time, and little memory."""
import argparse
import datetime
import time

import numpy as np

import isocenter
from timing import table


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sides", type=int, nargs=3, default=[645, 220, 220])
    parser.add_argument("--passes", type=int, default=20)
    parser.add_argument("--algorithms", nargs="*", default=["ramla", "osem", "svrg"])
    parser.add_argument("--projectors", nargs="*", default=["auto"])
    asked = parser.parse_args()
    nz, ny, nx = asked.sides
    shape = dict(nz=nz, ny=ny, nx=nx, voxel_x=3.3, voxel_y=3.3, voxel_z=1.65, azimuths=24, tilts=5, max_tilt=np.deg2rad(18))
    pet = isocenter.PET(isocenter.Context(device="gpu"), **shape)
    pet.set_response(tof_fwhm=220.0, radial_fwhm=5.0, axial_fwhm=5.0)
    rng = np.random.default_rng(0)
    z, y, x = (np.linspace(-1, 1, n, dtype=np.float32) for n in (nz, ny, nx))
    inside = (np.hypot(x[None], y[:, None]) < 0.7).astype(np.float32)
    one = rng.poisson(4.0 * inside[None].repeat(nz, axis=0)).astype(np.float32)
    every = lambda view: np.broadcast_to(view, pet.histo_images_shape)
    histos = [every(one), every(np.full((nz, ny, nx), 0.3, np.float32)), every(np.full((nz, ny, nx), 0.2, np.float32))]
    out = np.zeros(pet.image_shape, np.float32)
    rows = []
    for projector in asked.projectors:
        for algorithm in asked.algorithms:
            pet.set_prior(strength=1.0 if algorithm == "svrg" else None)
            seconds = []
            for passes in (1, 1, asked.passes):
                pet.set_options(algorithm=algorithm, iterations=passes, projector=projector, subsets=24 if algorithm == "osem" else 0)
                begin = time.perf_counter()
                pet.reconstruct(*histos, out)
                seconds.append(time.perf_counter() - begin)
            first, single, all_of_them = seconds
            rows.append([algorithm, projector, f"{first:.1f}", f"{single:.1f}", f"{(all_of_them - single) / (asked.passes - 1):.3f}", f"{all_of_them:.1f}", f"{pet.memory() / 1e9:.1f}"])
            print(rows[-1], flush=True)
    print(f"# PET of {nx} x {ny} x {nz} voxels, {datetime.date.today().isoformat()}\n\n120 views, {3 * 120 * nz * ny * nx * 4 / 1e9:.0f} GB of histo-images from host memory.\n")
    print(table(["algorithm", "projector", "first call, 1 pass, s", "1 pass, s", "a pass more, s", f"{asked.passes} passes, s", "memory beside histo-images, GB"], rows))


if __name__ == "__main__":
    main()
