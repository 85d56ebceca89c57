#!/usr/bin/env python3
"""Draws half_acquisition.png of docs/frames.md: a phantom from a whole detector, and from half of it; needs scipy, Pillow.

usage: half_acquisition.py [FILE]
"""
import sys
from pathlib import Path

import isocenter
import numpy as np
from PIL import Image
from scipy.ndimage import gaussian_filter1d

BINS, VIEWS, AXIS, FIRST, FINER = 640, 900, 319.8, 290, 8
POINT_SPREAD = 2 / 2.3548  # standard deviation, of a full width of two bins


def main(to=Path(__file__).with_name("half_acquisition.png")):
    turn = np.arange(VIEWS) * 2 * np.pi / VIEWS
    body = isocenter.CT.shepp_logan(0.46 * BINS)
    fine = isocenter.CT(angles=turn, bins=FINER * BINS, axis=FINER * AXIS + (FINER - 1) / 2, bin_pitch=1 / FINER)
    rows = gaussian_filter1d(fine.phantom_projections(body), FINER * POINT_SPREAD, axis=-1)
    rows = rows.reshape(VIEWS, 1, BINS, FINER).mean(-1).astype(np.float32)
    whole = isocenter.CT(angles=turn, bins=BINS, axis=AXIS).reconstruct(rows)[0]
    part = np.ascontiguousarray(rows[..., FIRST:])
    ct = isocenter.CT(angles=turn, bins=BINS - FIRST, axis=AXIS - FIRST, nx=BINS, ny=BINS)
    without = ct.reconstruct(part)[0]
    ct.set_half_acquisition()
    joined = ct.reconstruct(part)[0]
    shown = [whole, without, joined, 0.5 + 100 * (joined - whole)]
    grey = [np.uint8(np.clip(v, 0, 1) * 255) for v in shown]
    Image.fromarray(np.hstack([g[::2, ::2] for g in grey])).save(to, optimize=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
