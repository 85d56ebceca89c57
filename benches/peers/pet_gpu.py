"""Isocenter's PET on a GPU beside projections by PyTorch's Fourier transforms, in one process, in turns: prints tables for
benches/results.

A pass of block RAMLA is 240 projections with comparison and update; its time is that of some passes in one call less that of one
pass, over their difference, so that tables and copies stay outside. PyTorch projects with spectra made beforehand, and does not
compare or update. Needs NumPy, PyTorch with CUDA, and libisocenter.so (ISOCENTER_LIBRARY names it).
"""
import argparse
import datetime
import statistics
import time

import numpy as np
import torch

import bare
import isocenter
from pet_kernels import kernel, views
from scans import INVARIANT, SIZES, TOF, VARIANT, WIDTH, direct
from timing import table

RUNS = 7


class Ours:
    """Milliseconds of a pass with data on the GPU."""

    def __init__(self, size, radial, projector, more, tolerance=0.0, **response):
        self.pet, self.more = isocenter.PET(bare.Context(gpu=True), **direct(size)), more
        self.pet.set_response(tof_fwhm=TOF, axial_fwhm=WIDTH, **radial, **response)
        self.options = dict(projector=projector, tolerance=tolerance, relaxation=0.3)
        generator = torch.Generator(device="cuda").manual_seed(1)
        # Counts in a tenth of the voxels.
        random = torch.rand(self.pet.histo_images_shape, device="cuda", generator=generator)
        image = torch.zeros(self.pet.image_shape, device="cuda")
        self.reconstruct = bare.call(self.pet.reconstruct, (random < 0.1).to(torch.float32), image=image)
        self.first = self.run(1)

    def run(self, iterations):
        self.pet.set_options(iterations=iterations, **self.options)
        torch.cuda.synchronize()
        start = time.perf_counter()
        self.reconstruct()
        return (time.perf_counter() - start) * 1e3

    def once(self):
        return (self.run(1 + self.more) - self.run(1)) / self.more


class Torch:
    """Milliseconds of 240 projections."""

    def __init__(self, size):
        self.shape, voxel = SIZES[size]
        self.plans = [self.plan(*kernel(view, voxel, TOF, WIDTH)) for view in views()]
        self.image = torch.rand(self.shape, device="cuda")
        self.once()

    def plan(self, reach, values):
        lengths = [self.good(n + int(r)) for n, r in zip(self.shape, reach)]
        grid = np.zeros(lengths, np.float32)
        grid[np.ix_(*(np.arange(-r, r + 1) % n for r, n in zip(reach, lengths)))] = values
        return lengths, torch.fft.rfftn(torch.tensor(grid, device="cuda")).real.contiguous()

    @staticmethod
    def good(n):
        def smooth(n):
            for p in (2, 3, 5, 7):
                while n % p == 0:
                    n //= p
            return n == 1
        return next(m for m in range(n, 2 * n + 1) if m % 2 == 0 and smooth(m))

    def once(self):
        torch.cuda.synchronize()
        start = time.perf_counter()
        nz, ny, nx = self.shape
        for lengths, spectrum in self.plans:
            for _ in range(2):
                frequencies = torch.fft.rfftn(self.image, lengths)
                frequencies *= spectrum
                torch.fft.irfftn(frequencies, lengths)[:nz, :ny, :nx]
        torch.cuda.synchronize()
        return (time.perf_counter() - start) * 1e3


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", choices=SIZES, action="append")
    parser.add_argument("--no-torch", action="store_true")
    arguments = parser.parse_args()
    print(f"# PET on {torch.cuda.get_device_name()}, {datetime.date.today()}\n")
    for size in arguments.size or SIZES:
        cases = {}
        more = 10 if size == "4 mm" else 3
        for response, radial in (("invariant", INVARIANT), ("variant", VARIANT)):
            cases[f"Isocenter, {response}, auto: a pass"] = Ours(size, radial, "auto", more)
        cases["the same, invariant, gather"] = Ours(size, INVARIANT, "gather", more)
        cases["the same, invariant, Fourier"] = Ours(size, INVARIANT, "fourier", more)
        if size == "4 mm":  # to expand larger kernels takes minutes
            cases["variant, cut at 5 sigmas, gather"] = Ours(size, VARIANT, "gather", more, cut_width=5.0)
            cases["variant, cut at 5 sigmas, Fourier to 2e-4"] = Ours(size, VARIANT, "fourier", more, 2e-4, cut_width=5.0)
        if not arguments.no_torch:
            cases["PyTorch: 240 projections alone"] = Torch(size)
        runs = {name: [] for name in cases}
        for _ in range(RUNS):
            for name, case in cases.items():
                runs[name].append(case.once())
        shape, voxel = SIZES[size]
        print(f"## {shape[2]} x {shape[1]} x {shape[0]} voxels of {voxel:g} mm, 40 x 3 views\n")
        print(table(["case", "ms", "least", "most", "first call, ms"],
              [[name, f"{statistics.median(r):.2f}", f"{min(r):.2f}", f"{max(r):.2f}",
                f"{cases[name].first:.0f}" if hasattr(cases[name], "first") else ""] for name, r in runs.items()]) + "\n")


if __name__ == "__main__":
    main()
