"""DIRECT's projections by NumPy and SciPy, for an invariant symmetric response: what a Python user would write, at its best.

Spectra of all views are made beforehand, in single precision and real, since kernels are symmetric; grids are padded to
lengths that SciPy's transforms like; all cores work. Alone, it prints the time of one iteration of 240 projections.
"""
import argparse
import os

import numpy as np
import scipy.fft

from timing import Load, Runs, in_turns

CORES = len(os.sched_getaffinity(0))
HALF_LIGHT = 0.149896229
FWHM_PER_SIGMA = 2.3548200450309493
RULE = np.polynomial.legendre.leggauss(4)


def views(azimuths=40, tilts=(-10.0, 0.0, 10.0)):
    """(azimuth, tilt) in radians."""
    return [(np.pi * (i + 0.5) / azimuths, np.radians(tilt)) for tilt in tilts for i in range(azimuths)]


def kernel(view, voxel, tof, fwhm, k=3.0):
    """Voxels that it reaches along z, y, x, and its values there: a Gaussian's mean over each voxel whose centre lies within k
    sigmas, all of sum 1."""
    (sp, cp), (st, ct) = (np.sin(view[0]), np.cos(view[0])), (np.sin(view[1]), np.cos(view[1]))
    axes = np.array([[cp * ct, sp * ct, st], [-sp, cp, 0.0], [-st * cp, -st * sp, ct]])
    sigmas = np.array([tof * HALF_LIGHT, fwhm, fwhm]) / FWHM_PER_SIGMA
    reach = np.floor(np.abs(axes).T @ (k * sigmas) / voxel + 1e-9).astype(int)[::-1]
    z, y, x = (voxel * np.arange(-r, r + 1) for r in reach)
    place = np.stack(np.broadcast_arrays(x, y[:, None], z[:, None, None]))
    values = np.zeros(place.shape[1:])
    nodes = [(voxel / 2 * q, w / 2) for q, w in zip(*RULE)]
    for qx, wx in nodes:
        for qy, wy in nodes:
            for qz, wz in nodes:
                offset = np.array([qx, qy, qz])[:, None, None, None]
                scaled = np.tensordot(axes, place + offset, 1) / sigmas[:, None, None, None]
                values += wx * wy * wz * np.exp(-0.5 * (scaled**2).sum(0))
    inside = np.abs(np.tensordot(axes, place, 1)) <= k * sigmas[:, None, None, None]
    values *= inside.all(0)
    return reach, values / values.sum()


class Scipy:
    """Projections of all views; forward and adjoint are the same."""

    def __init__(self, shape=(48, 144, 144), voxel=4.0, tof=400.0, fwhm=5.8, of_views=None):
        self.name, self.shape = f"SciPy {scipy.__version__}, 3-D transforms", shape
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


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    check()
    load = Load()
    peer = Scipy()
    volume = np.random.default_rng(0).random(peer.shape, dtype=np.float32)
    case = Runs(f"{peer.name}: 240 projections", lambda: peer.iteration(volume), rounds)
    in_turns([case])
    print(f"{case.name}: {case.seconds:.2f} s, processor time / {CORES}: {case.cpu_seconds / CORES:.2f} s. {load.remark()}")


if __name__ == "__main__":
    main()
