"""The scans that are measured, as arguments of Isocenter's plans where they have any."""
import math

import numpy as np

GOLDEN = np.pi * (3 - np.sqrt(5))

# Image and number of samples of Kirk and Hwu, "Programming Massively Parallel Processors", chapter 11.
SIDE, SPOKES, READOUT = 128, 1848, 154

# DIRECT PET: 40 x 3 views within 10 degrees, 400 ps; widths in mm, with their distances from the axis where they vary.
VIEWS, TILTS, MAX_TILT = 40, 3, math.radians(10)
TOF, WIDTH = 400.0, 5.8
INVARIANT, VARIANT = {"radial_fwhm": WIDTH}, {"radial_table": [(0.0, 4.8), (288.0, 10.0)]}
SIZES = {"4 mm": ((48, 144, 144), 4.0), "2 mm": ((96, 288, 288), 2.0)}


def angles_of(views):
    """Evenly spaced over pi."""
    return np.arange(views) * (np.pi / views)


def parallel(side, views, slices=1, shift=0.0):
    """CT: `slices` square slices of `side` pixels, whose rotation axis passes through bin and pixel (side - 1) / 2 + shift."""
    return dict(angles=angles_of(views), bins=side, rows=slices, axis=(side - 1) / 2 + shift, x_offset=shift, y_offset=shift)


def voxels(shape):
    """Of an image (nz, ny, nx) or (ny, nx)."""
    return dict(zip(("nx", "ny", "nz"), reversed(shape)))


def direct(size):
    """PET: lattice and views."""
    shape, voxel = SIZES[size]
    return dict(voxels(shape), voxel_x=voxel, azimuths=VIEWS, tilts=TILTS, max_tilt=MAX_TILT)


def radial(axes, spokes, readout):
    """MRI: trajectory in cycles per voxel, f32, (samples, axes), x first: `spokes` diameters, directions by the golden angle, over
    half a circle or half a sphere."""
    number = np.arange(spokes)
    if axes == 2:
        turn = GOLDEN * number
        directions = np.stack([np.cos(turn), np.sin(turn)], 1)
    else:
        z = (number + 0.5) / spokes
        flat = np.sqrt(1 - z * z)
        directions = np.stack([flat * np.cos(GOLDEN * number), flat * np.sin(GOLDEN * number), z], 1)
    along = (np.arange(readout) - 0.5 * (readout - 1)) / readout
    return (directions[:, None] * along[:, None]).reshape(-1, axes).astype(np.float32)


def radians(trajectory):
    """The same in radians per voxel, still f32: what FINUFFT takes."""
    return (2 * np.pi * trajectory.astype(np.float64)).astype(np.float32)


def complex_noise(shape, dtype=np.complex64, seed=0):
    random = np.random.default_rng(seed)
    return (random.standard_normal(shape) + 1j * random.standard_normal(shape)).astype(dtype)
