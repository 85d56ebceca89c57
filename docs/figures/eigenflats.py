#!/usr/bin/env python3
"""Draws eigenflats.png of docs/frames.md: a simulated scan in a beam whose stripes move from frame to frame, by the mean flat and with
eigenflats.

Prints rms errors of transmissions beside the object, and in flat parts of the slice in 1e-4 a bin. usage: eigenflats.py [FILE]    needs scipy, Pillow
"""
import sys
from pathlib import Path

import isocenter
import numpy as np
from PIL import Image
from scipy.ndimage import gaussian_filter, map_coordinates, maximum_filter, minimum_filter

BINS, ROWS, VIEWS, PHOTONS, MIDDLE, FLATS, KEPT, SIDE = 320, 200, 451, 2e4, 100, 40, 8, 360


def scan():
    """Frames, flats, darks, frames and flats of a beam that stands still, ellipses, and the plan."""
    rng = np.random.default_rng(9)
    ellipses = [[0.0016, 4, -3, 105, 90, 0.3]]
    ellipses += [[rng.uniform(-0.001, 0.0014), *rng.uniform(-60, 60, 2), *rng.uniform(4, 24, 2), rng.uniform(0, 3)] for _ in range(20)]
    y, x = np.mgrid[:ROWS, :BINS].astype(float)
    # Stripes of a multilayer, somewhat tilted and bent, and spots of its faults: they move together, up and down and a little to the side.
    shape = (ROWS + 60, BINS + 60)
    grid = np.mgrid[:shape[0], :shape[1]]
    bent = grid[0] + 0.12 * grid[1] + 6 * np.sin(grid[1] / 70)
    stripes = np.interp(bent.ravel(), np.arange(400), gaussian_filter(rng.normal(0, 1, 400), 2.5) * 3).reshape(shape)
    spots = gaussian_filter(rng.normal(0, 1, shape), 4) * 14
    optics = 1 + 0.08 * stripes + 0.04 * spots
    still = np.exp(-((y - ROWS / 2) ** 2 / (2 * 110**2))) * (1 + 0.04 * rng.normal(size=(ROWS, BINS)))  # the source and the scintillator

    def beam(move):
        return PHOTONS * still * map_coordinates(optics, [y + 30 + move[0], x + 30 + move[1]], order=3)

    def walk(n):
        steps = rng.normal(0, 1, (n, 2))
        for k in range(1, n):
            steps[k] = 0.8 * steps[k - 1] + 0.6 * steps[k]
        return steps * [1.2, 0.5]

    angles = np.linspace(0, np.pi, VIEWS, endpoint=False)
    context = isocenter.Context(device="cpu", log=lambda *_: None)
    with isocenter.CT(context, angles=angles, bins=BINS) as line:
        passed = np.exp(-line.phantom_projections(ellipses).reshape(VIEWS, 1, BINS))
    # The object ends above and below.
    high = np.where(np.abs(y[:, :1] - MIDDLE) < 70, 1.0, 0.0)

    def frames(moves):
        made = (rng.poisson(beam(move) * t ** high) + 100 for move, t in zip(moves, passed))
        return np.stack([np.minimum(f, 65535).astype(np.uint16) for f in made])

    flats = np.stack([rng.poisson(beam(move)) + 100 for move in walk(FLATS)]).astype(np.uint16)
    resting = np.stack([rng.poisson(beam((0, 0))) + 100 for _ in range(FLATS)]).astype(np.uint16)
    darks = np.full((1, ROWS, BINS), 100, np.uint16)
    ct = isocenter.CT(context, angles=angles, bins=BINS, rows=ROWS)
    return frames(walk(VIEWS)), flats, darks, (frames(np.zeros((VIEWS, 2))), resting), ellipses, ct


def main():
    """A frame and a slice, each without and with."""
    frames, flats, darks, (still, resting), ellipses, ct = scan()
    truth = ct.phantom_volume(ellipses)[0]
    y, x = np.mgrid[:BINS, :BINS] - (BINS - 1) / 2
    flat = (x**2 + y**2 < 80**2) & (maximum_filter(truth, 7) - minimum_filter(truth, 7) < 1e-6)
    shown = VIEWS // 3
    images = {}

    def add(name, projections, given, eigenflats):
        ct.set_options(input="counts")
        ct.set_flat_field(given, darks, eigenflats=eigenflats)
        if eigenflats:
            fit = ct.fit_flat_field(projections)
            print(f"{fit.components} components, {fit.explained.sum():.3f} of the variance")
        made = np.asarray(ct.reconstruct(projections))[MIDDLE]
        ct.set_options(input="counts", filter="none")
        lines = ct.filter(projections)
        air = np.exp(-lines[:, :, :25])
        air /= air.mean((1, 2), keepdims=True)
        print(f"{name:24s} beside the object {100 * air.std():.3f} %, slice {1e4 * np.sqrt(np.mean((made - truth)[flat] ** 2)):.2f}")
        images[name] = np.exp(-lines[shown]), made

    add("mean flat", frames, flats, 0)
    add("eigenflats", frames, flats, KEPT)
    add("a beam that stands still", still, resting, 0)

    def grey(image, low, high, size):
        return np.asarray(Image.fromarray(np.uint8(np.clip((image - low) / (high - low), 0, 1) * 255)).resize(size, Image.LANCZOS))

    rows = []
    for at, (low, high) in ((0, (0.4, 1.15)), (1, (-0.0008, 0.0036))):
        size = (SIDE, SIDE * ROWS // BINS) if at == 0 else (SIDE, SIDE)
        rows.append(np.hstack([grey(images[name][at], low, high, size) for name in ("mean flat", "eigenflats")]))
    Image.fromarray(np.vstack(rows)).save(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).with_name("eigenflats.png"), optimize=True)


if __name__ == "__main__":
    main()
