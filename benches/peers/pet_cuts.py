"""What kernels that vary cost on a GPU, and what they err by, for ways to cut and to expand them: prints tables for benches/results.

Errors are of projections of a thousandth of the voxels, and of their transpose, beside those of kernels cut at six sigmas: the norm of the difference
over the norm. A pass is timed as in pet_gpu.py. Needs what that does.
"""
import datetime
import statistics

import torch

import bare
import isocenter
from pet_gpu import Ours
from scans import SIZES, TOF, VARIANT, WIDTH, direct
from timing import table

RUNS = 5
VIEWS = [0, 1, 17, 58, 119]
CASES = [("gather", 0.0, 3.0), ("fourier", 1e-2, 3.5), ("fourier", 1e-2, 4.0), ("fourier", 5e-3, 4.0), ("fourier", 2e-3, 4.0),
         ("fourier", 2e-3, 5.0), ("fourier", 1e-3, 5.0)]


def projected(size, projector, tolerance, cut):
    """A projection and its transpose."""
    pet = isocenter.PET(bare.Context(gpu=True), **direct(size))
    pet.set_response(tof_fwhm=TOF, axial_fwhm=WIDTH, **VARIANT, cut_width=cut)
    pet.set_options(projector=projector, tolerance=tolerance)
    shape, _ = SIZES[size]
    generator = torch.Generator(device="cuda").manual_seed(3)
    points = (torch.rand(shape, device="cuda", generator=generator) < 1e-3).to(torch.float32)
    there = torch.zeros((len(VIEWS), *shape), device="cuda")
    back = torch.zeros(shape, device="cuda")
    pet.forward(points, histo_images=there, views=VIEWS)
    pet.adjoint(there, image=back, views=VIEWS)
    return there, back


def main():
    print(f"# PET's kernels that vary on {torch.cuda.get_device_name()}, {datetime.date.today()}\n")
    for size, (shape, voxel) in SIZES.items():
        exact = projected(size, "gather", 0.0, 6.0)
        rows = []
        for projector, tolerance, cut in CASES:
            errors = [float((a - b).norm() / b.norm()) for a, b in zip(projected(size, projector, tolerance, cut), exact)]
            case = Ours(size, VARIANT, projector, 10 if size == "4 mm" else 2, tolerance, cut_width=cut)
            runs = [case.once() for _ in range(RUNS)]
            rows.append([projector, f"{tolerance:g}", f"{cut:g}", *(f"{e:.1e}" for e in errors), f"{statistics.median(runs):.2f}",
                         f"{min(runs):.2f}", f"{max(runs):.2f}", f"{case.first:.0f}"])
            del case
        print(f"## {shape[2]} x {shape[1]} x {shape[0]} voxels of {voxel:g} mm, 40 x 3 views\n")
        print(table(["projector", "tolerance", "cut, sigmas", "error there", "and back", "ms", "least", "most", "first call, ms"], rows) + "\n")


if __name__ == "__main__":
    main()
