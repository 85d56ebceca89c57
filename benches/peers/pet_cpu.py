"""Isocenter's PET on the processor beside projections by SciPy's Fourier transforms, in one process, in turns: prints a table for
benches/results.

SciPy projects as a Python user would at best: spectra of all views are made beforehand, in single precision and real, since
kernels are symmetric; grids are padded to lengths that its transforms like; all cores work. It only projects; a pass of ours
compares and updates besides. Needs NumPy, SciPy, and libisocenter.so (ISOCENTER_LIBRARY names it).
"""
import argparse
import datetime
import os

import numpy as np
import scipy.fft

import bare
import isocenter
from pet_kernels import kernel, views
from scans import INVARIANT, SIZES, TOF, VARIANT, WIDTH, direct
from timing import Load, Runs, in_turns, processor, table

CORES = len(os.sched_getaffinity(0))


class Scipy:
    """Projections of all views; forward and adjoint are the same."""

    def __init__(self, shape, voxel, tof=TOF, fwhm=WIDTH, of_views=None):
        self.name, self.shape = f"SciPy {scipy.__version__}: 240 projections alone", shape
        self.plans = [self.plan(*kernel(view, voxel, tof, fwhm)) for view in of_views or views()]

    def plan(self, reach, values):
        """Padded lengths, and the spectrum."""
        lengths = [scipy.fft.next_fast_len(int(n + r), real=True) for n, r in zip(self.shape, reach)]
        grid = np.zeros(lengths, np.float32)
        grid[np.ix_(*(np.arange(-r, r + 1) % n for r, n in zip(reach, lengths)))] = values
        return lengths, np.ascontiguousarray(scipy.fft.rfftn(grid, workers=CORES).real)

    def project(self, view, volume):
        lengths, spectrum = self.plans[view]
        frequencies = scipy.fft.rfftn(volume, lengths, workers=CORES)
        frequencies *= spectrum
        nz, ny, nx = self.shape
        return scipy.fft.irfftn(frequencies, lengths, workers=CORES, overwrite_x=True)[:nz, :ny, :nx]

    def iteration(self, volume):
        """A forward projection and an adjoint of each view."""
        for view in range(len(self.plans)):
            self.project(view, volume)
            self.project(view, volume)


def check():
    """A point, at a corner too, becomes the kernel."""
    view, shape = (0.4, 0.17), (20, 31, 40)
    peer = Scipy(shape, 4.0, 200.0, 5.8, [view])
    reach, values = kernel(view, 4.0, 200.0, 5.8)
    for at in [(10, 15, 20), (0, 0, 39)]:
        volume = np.zeros(shape, np.float32)
        volume[at] = 1.0
        padded = np.zeros([n + 2 * r for n, r in zip(shape, reach)])
        padded[tuple(slice(a, a + 2 * r + 1) for a, r in zip(at, reach))] = values
        truth = padded[tuple(slice(r, r + n) for r, n in zip(reach, shape))]
        assert np.abs(peer.project(0, volume) - truth).max() < 1e-6, at


def a_pass(size, radial, projector):
    """Of block RAMLA over all views, 240 projections: the call."""
    pet = isocenter.PET(bare.Context(threads=CORES), **direct(size))
    pet.set_response(tof_fwhm=TOF, axial_fwhm=WIDTH, **radial)
    pet.set_options(iterations=1, projector=projector, relaxation=0.3)
    pet.memory()
    measured = np.random.default_rng(1).poisson(0.3, pet.histo_images_shape).astype(np.uint32)
    return bare.call(pet.reconstruct, measured, image=np.zeros(pet.image_shape, np.float32))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--size", choices=SIZES, default="4 mm")
    arguments, _ = parser.parse_known_args()
    rounds = 2 if arguments.quick else 5
    check()
    load = Load()
    shape, voxel = SIZES[arguments.size]
    volume = np.random.default_rng(0).random(shape, dtype=np.float32)
    peer = Scipy(shape, voxel)
    cases = [Runs(peer.name, lambda: peer.iteration(volume), rounds)]
    # Kernels that are each cut at 3 of their own sigmas have long expansions: no case for Fourier transforms.
    for response, radial, ways in (("invariant", INVARIANT, ("auto", "gather", "fourier")),
                                   ("variant", VARIANT, ("auto", "gather"))):
        for way in ways:
            cases.append(Runs(f"Isocenter, {response}, {way}: a pass", a_pass(arguments.size, radial, way), rounds))
    in_turns(cases)
    print(f"# PET on {processor()[0]}, {datetime.date.today()}\n")
    print(f"{shape[2]} x {shape[1]} x {shape[0]} voxels of {voxel:g} mm, 40 x 3 views, {CORES} threads. {load.remark()}\n")
    rows = [[c.name, f"{c.seconds:.2f}", f"{c.cpu_seconds:.2f}", f"{cases[0].seconds / c.seconds:.2f}",
             f"{cases[0].cpu_seconds / c.cpu_seconds:.2f}", str(len(c.wall))] for c in cases]
    print(table(["case", "s", "processor s", "SciPy's time over this", "processor time, the same", "runs"], rows))


if __name__ == "__main__":
    main()
