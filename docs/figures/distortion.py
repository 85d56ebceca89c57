#!/usr/bin/env python3
"""Draws distortion.png of docs/frames.md: a simulated scan through a lens that distorts, with a tilted detector and a sample that moves.

A cylinder with denser and empty spheres; each pixel of a frame sees the ray that the distortion says, Poisson noise. Prints rms errors in
flat parts of the slice and near its edges.
usage: distortion.py [FILE]    needs Pillow
"""
import sys
from pathlib import Path

import isocenter
import numpy as np
from PIL import Image

BINS, ROWS, VIEWS, PHOTONS, SIDE, LINE = 320, 160, 400, 20000, 320, 30
MU, RADIUS = 0.01, 120.0
# Barrel distortion of 4 pixels in the corners, 1 degree, the sample by up to 3 pixels.
LENS = {"radial": [1.0, 0.0, -7e-7], "x_centre": 171.0, "y_centre": 74.0}
TILT = np.tan(np.deg2rad(1.0))


def spheres():
    """Part of the cylinder's attenuation that each has besides, x, y, row, radius; all of them cut by the row that is reconstructed."""
    rng = np.random.default_rng(7)
    placed = []
    while len(placed) < 34:
        radius = rng.uniform(4, 22)
        x, y = rng.uniform(-RADIUS, RADIUS, 2)
        z = LINE + rng.uniform(-0.5, 0.5) * radius
        if np.hypot(x, y) + radius < RADIUS - 4 and all(np.hypot(x - p[1], y - p[2]) > radius + p[4] + 4 for p in placed):
            placed.append((rng.choice([-1.0, 0.4, -0.25]), x, y, z, radius))
    return placed


def undistorted(shift):
    """Bin and row of the undistorted frame that each pixel of the measured one sees: the steps of the header, backwards."""
    y, x = np.mgrid[:ROWS, :BINS].astype(float)
    cx, cy = LENS["x_centre"], LENS["y_centre"]
    u, v = x - cx, y - cy
    for _ in range(20):
        factor = sum(b * np.hypot(u, v) ** k for k, b in enumerate(LENS["radial"]))
        u, v = (x - cx) / factor, (y - cy) / factor
    dx, dy = u + cx - (BINS - 1) / 2, v + cy - (ROWS - 1) / 2
    c, s = np.cos(np.arctan(TILT)), np.sin(np.arctan(TILT))
    return dx * c - dy * s + (BINS - 1) / 2 - shift[0], dx * s + dy * c + (ROWS - 1) / 2 - shift[1]


def frame(angle, shift, placed):
    """Transmissions of a view."""
    x, row = undistorted(shift)
    h = x - (BINS - 1) / 2
    lines = MU * 2 * np.sqrt(np.maximum(RADIUS**2 - h**2, 0))
    for part, px, py, z, radius in placed:
        seen = h - (px * np.cos(angle) + py * np.sin(angle))
        lines += part * MU * 2 * np.sqrt(np.maximum(radius**2 - seen**2 - (row - z) ** 2, 0))
    return np.exp(-lines)


def slice_of(placed):
    """The true slice, means over pixels, and what is flat in it."""
    y, x = (np.mgrid[:BINS * 4, :BINS * 4] + 0.5) / 4 - BINS / 2
    truth = MU * (np.hypot(x, y) < RADIUS)
    near = np.abs(np.hypot(x, y) - RADIUS)
    for part, px, py, z, radius in placed:
        distance = np.hypot(x - px, y + py) - np.sqrt(radius**2 - (z - LINE) ** 2)
        truth += part * MU * (distance < 0)
        near = np.minimum(near, np.abs(distance))
    return truth.reshape(BINS, 4, BINS, 4).mean((1, 3)), near.reshape(BINS, 4, BINS, 4).min((1, 3)) > 3


def main():
    """Four slices."""
    placed = spheres()
    rng = np.random.default_rng(5)
    angles = np.arange(VIEWS) * np.pi / VIEWS
    shifts = np.cumsum(rng.normal(0, 0.15, (VIEWS, 2)), 0)
    shifts = 3 * (shifts - shifts.mean(0)) / np.abs(shifts - shifts.mean(0)).max(0)
    frames = np.stack([rng.poisson(PHOTONS * frame(a, s, placed)) for a, s in zip(angles, shifts)]).astype(np.uint16)
    truth, flat = slice_of(placed)
    flat &= np.hypot(*(np.mgrid[:BINS, :BINS] - (BINS - 1) / 2)) < 155
    ct = isocenter.CT(isocenter.Context(device="cpu", log=lambda *_: None), angles=angles, bins=BINS, rows=ROWS, first_row=LINE, slices=1)
    ct.set_flat_field(np.full((ROWS, BINS), PHOTONS, np.uint16))
    images = []
    moved = {"x_shifts": shifts[:, 0], "y_shifts": shifts[:, 1]}
    for name, keywords in (("without", None), ("shifts", moved), ("and tilt", {**moved, "tilt": TILT}), ("and lens", {**moved, "tilt": TILT, **LENS})):
        if keywords:
            ct.set_distortion(**keywords)
        made = np.asarray(ct.reconstruct(frames))[0]
        images.append(np.uint8(np.clip((made / MU + 0.4) / 2.2, 0, 1) * 255))
        off = (made - truth) / MU
        print(f"{name:12s} rms {100 * np.sqrt(np.mean(off[flat] ** 2)):.1f} % of the cylinder's value, {100 * np.sqrt(np.mean(off[~flat] ** 2)):.1f} % near edges")
    shown = [np.asarray(Image.fromarray(i).resize((SIDE, SIDE), Image.LANCZOS)) for i in images]
    rows = np.vstack([np.hstack(shown[:2]), np.hstack(shown[2:])])
    Image.fromarray(rows).save(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).with_name("distortion.png"), optimize=True)


if __name__ == "__main__":
    main()
