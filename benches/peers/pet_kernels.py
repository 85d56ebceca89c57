"""Views and kernels of DIRECT PET with an invariant symmetric response, for packages that project by Fourier transforms."""
import math

import numpy as np

from scans import MAX_TILT, TILTS, VIEWS

HALF_LIGHT = 0.149896229
FWHM_PER_SIGMA = 2.3548200450309493
RULE = np.polynomial.legendre.leggauss(4)


def views():
    """(azimuth, tilt) of the scan, in the library's order."""
    of_tilt = [MAX_TILT * ((2 * j + 1) / TILTS - 1) for j in range(TILTS)]
    return [(math.pi * i / VIEWS, tilt) for i in range(VIEWS) for tilt in of_tilt]


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
