#!/usr/bin/env python3
"""Draws phase.png of docs/frames.md: a simulated scan behind 30 mm of free space, with and without phase retrieval.

A cylinder with denser and empty spheres, of one ratio delta / beta, 20 keV, pixels of 1.5 um: the wave behind it, propagated by Fresnel's
integral on a grid three times as fine, and Poisson noise. Prints rms errors in flat parts of the slice and near its edges.
usage: phase.py [FILE]    needs scipy, Pillow
"""
import sys
from pathlib import Path

import isocenter
import numpy as np
import scipy.fft
from PIL import Image

BINS, ROWS, VIEWS, PHOTONS, FINE, SIDE = 320, 96, 400, 2000, 3, 320
SCAN = {"energy_kev": 20, "distance_mm": 30, "pixel_um": 1.5, "delta_beta": 200}
# In bins.
FRESNEL = 1.239841984e-3 / SCAN["energy_kev"] * 1e3 * SCAN["distance_mm"] / SCAN["pixel_um"] ** 2
MU, RADIUS, MARGIN = 0.003, 120.0, 24


def spheres():
    """Part of the cylinder's attenuation that each has besides, x, y, row, radius."""
    rng = np.random.default_rng(7)
    placed = []
    while len(placed) < 34:
        radius = rng.uniform(4, 22)
        x, y = rng.uniform(-RADIUS, RADIUS, 2)
        z = rng.uniform(-0.5, 0.5) * radius
        if np.hypot(x, y) + radius < RADIUS - 4 and all(np.hypot(x - p[1], y - p[2]) > radius + p[4] + 4 for p in placed):
            placed.append((rng.choice([-1.0, 0.4, -0.25]), x, y, z, radius))
    return placed


def frame(angle, placed, propagator):
    """Intensity behind the object, in parts of the beam."""
    h, v = ((np.arange((n + 2 * MARGIN) * FINE) + 0.5) / FINE - MARGIN - n / 2 for n in (BINS, ROWS))
    chord = 2 * np.sqrt(np.maximum(RADIUS**2 - h**2, 0))
    lines = np.repeat(MU * chord[None], v.size, 0)
    for part, x, y, z, radius in placed:
        seen = h - (x * np.cos(angle) + y * np.sin(angle))
        rows, columns = np.abs(v - z) < radius, np.abs(seen) < radius
        lines[np.ix_(rows, columns)] += part * MU * 2 * np.sqrt(np.maximum(radius**2 - seen[columns] ** 2 - (v[rows, None] - z) ** 2, 0))
    wave = np.exp(-0.5 * lines * (1 + 1j * SCAN["delta_beta"]))
    wave = scipy.fft.ifft2(scipy.fft.fft2(wave, workers=-1) * propagator, workers=-1)
    fine = (np.abs(wave) ** 2).reshape(ROWS + 2 * MARGIN, FINE, BINS + 2 * MARGIN, FINE)
    return fine.mean((1, 3))[MARGIN:-MARGIN, MARGIN:-MARGIN]


def slice_of(placed):
    """The true slice at the middle row, means over pixels, and what is flat in it, or on its edges."""
    y, x = (np.mgrid[:BINS * 4, :BINS * 4] + 0.5) / 4 - BINS / 2
    truth = MU * (np.hypot(x, y) < RADIUS)
    near = np.abs(np.hypot(x, y) - RADIUS)
    for part, px, py, z, radius in placed:
        # The middle of the detector lies half a row above the row that is reconstructed.
        shown = np.sqrt(max(radius**2 - (z - 0.5) ** 2, 0))
        distance = np.hypot(x - px, y + py) - shown
        truth += part * MU * (distance < 0)
        near = np.minimum(near, np.abs(distance))
    mean = truth.reshape(BINS, 4, BINS, 4).mean((1, 3))
    return mean, near.reshape(BINS, 4, BINS, 4).min((1, 3)) > 5


def main():
    """Six slices."""
    placed = spheres()
    squared = np.add.outer(*((scipy.fft.fftfreq((n + 2 * MARGIN) * FINE) * FINE) ** 2 for n in (ROWS, BINS)))
    propagator = np.exp(-1j * np.pi * FRESNEL * squared)
    rng = np.random.default_rng(5)
    angles = np.arange(VIEWS) * np.pi / VIEWS
    frames = np.stack([rng.poisson(PHOTONS * frame(a, placed, propagator)) for a in angles]).astype(np.uint16)
    truth, flat = slice_of(placed)
    flat &= np.hypot(*(np.mgrid[:BINS, :BINS] - (BINS - 1) / 2)) < 155
    ct = isocenter.CT(isocenter.Context(device="cpu", log=lambda *_: None), angles=angles, bins=BINS, rows=ROWS, first_row=ROWS // 2, slices=1)
    ct.set_flat_field(np.full((ROWS, BINS), PHOTONS, np.uint16))
    images = []
    masked = {**SCAN, "unsharp_sigma": 1, "unsharp_amount": 1}
    for name, keywords in (("without", None), ("Paganin", SCAN), ("and an unsharp mask", masked), ("delta_beta 20", {**SCAN, "delta_beta": 20}),
                           ("delta_beta 2000", {**SCAN, "delta_beta": 2000}), ("contrast transfer function", {**SCAN, "method": "ctf"})):
        if keywords:
            ct.set_phase(**keywords)
        else:
            ct.leave_phase()
        made = np.asarray(ct.reconstruct(frames))[0]
        images.append(np.uint8(np.clip((made / MU + 0.4) / 2.2, 0, 1) * 255))
        off = (made - truth) / MU
        print(f"{name:28s} rms {100 * np.sqrt(np.mean(off[flat] ** 2)):.1f} % of the cylinder's value, {100 * np.sqrt(np.mean(off[~flat] ** 2)):.1f} % near edges")
    shown = [np.asarray(Image.fromarray(i).resize((SIDE, SIDE), Image.LANCZOS)) for i in images]
    rows = np.vstack([np.hstack(shown[:3]), np.hstack(shown[3:])])
    Image.fromarray(rows).save(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).with_name("phase.png"), optimize=True)


if __name__ == "__main__":
    main()
