"""Trajectories in cycles per voxel, f32, (samples, axes), x first."""
import numpy as np

GOLDEN = np.pi * (3 - np.sqrt(5))

# Image and number of samples of Kirk and Hwu, "Programming Massively Parallel Processors", chapter 11.
SIDE, SPOKES, READOUT = 128, 1848, 154


def radial(axes, spokes, readout):
    """`spokes` diameters, directions by the golden angle: over half a circle or half a sphere."""
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
