#!/usr/bin/env python3
"""Draws frames.png of docs/frames.md: a simulated scan whose beam drifts, with zingers and bad pixels, as steps are added.

Prints rms errors in flat parts of the slice, in 1e-4 a bin. usage: frames.py [FILE]    needs scipy, Pillow
"""
import sys
from pathlib import Path

import isocenter
import numpy as np
from PIL import Image
from scipy.ndimage import gaussian_filter1d, maximum_filter, minimum_filter

BINS, ROWS, VIEWS, PHOTONS, MIDDLE, SIDE = 640, 7, 901, 2e4, 3, 400
BAD = ((MIDDLE, 250), (MIDDLE, 391), (MIDDLE, 470), (1, 100))


def scan(ct):
    """Frames, flats before and after, darks, the monitor of each view, line integrals of a scan without faults, and the true slice."""
    rng = np.random.default_rng(5)
    ellipses = [[0.006, 5, -8, 230, 200, 0.3]]
    ellipses += [[rng.uniform(-0.004, 0.006), *rng.uniform(-130, 130, 2), *rng.uniform(4, 45, 2), rng.uniform(0, 3)] for _ in range(30)]
    lines, truth = ct.phantom_projections(ellipses), ct.phantom_volume(ellipses)[0]
    stripes = gaussian_filter1d(rng.normal(0, 1, BINS + 40), 3)
    gain = 1 + 0.05 * rng.normal(size=(ROWS, BINS))

    def beam(place):
        """The beam's stripes move by 2 bins from the first view to the last, and it has 15 % less then."""
        moved = np.interp(np.arange(BINS) + 2 * place, np.arange(BINS + 40), stripes)
        return PHOTONS * (1 - 0.15 * place) * (1 + 0.15 * moved) * gain

    def frame(photons):
        """Counts with an offset; dead and hot pixels say the same whatever comes in."""
        counts = rng.poisson(photons) + 100.0
        counts[BAD[0]], counts[BAD[1]], counts[BAD[2]], counts[BAD[3]] = 100, 60000, 100, 100
        return counts

    monitor = 1 + 0.04 * np.sin(np.arange(VIEWS) / 40)
    frames = np.stack([frame(m * beam(k / VIEWS) * np.exp(-lines[k])) for k, m in enumerate(monitor)])
    flats = [np.stack([frame(beam(place)) for _ in range(20)]) for place in (0.0, 1.0)]
    darks = np.stack([frame(np.zeros((ROWS, BINS))) for _ in range(20)])
    clean = -np.log(np.maximum(rng.poisson(PHOTONS * np.exp(-lines)), 1) / PHOTONS).astype(np.float32)
    for images, part in ((frames, 1e-4), *((f, 1e-4) for f in flats), (darks, 1e-4)):
        hit = rng.random(images.shape) < part
        images[hit] += rng.integers(3000, 40000, hit.sum())
    u16 = (np.minimum(np.rint(images), 65535).astype(np.uint16) for images in (frames, *flats, darks))
    return (*u16, monitor, clean, truth)


def main():
    """Four slices side by side."""
    context = isocenter.Context(device="cpu", nan_policy="replace", log=lambda *_: None)
    angles = np.linspace(0, np.pi, VIEWS, endpoint=False)
    ct = isocenter.CT(context, angles=angles, bins=BINS, rows=ROWS)
    frames, before, after, darks, monitor, clean, truth = scan(ct)
    y, x = np.mgrid[:BINS, :BINS] - (BINS - 1) / 2
    flat = ((x - 5) ** 2 / 220**2 + (y - 8) ** 2 / 190**2 < 0.8) & (maximum_filter(truth, 7) - minimum_filter(truth, 7) < 1e-6)
    images = []

    def add(name, projections):
        made = np.asarray(ct.reconstruct(projections))[MIDDLE]
        images.append(np.uint8(np.clip((made + 0.002) / 0.016, 0, 1) * 255))
        print(f"{name:48s} {1e4 * np.sqrt(np.mean((made - truth)[flat] ** 2)):.2f}")

    flats = np.concatenate([before, after])
    groups = {"group_frames": [20, 20], "group_positions": [0, VIEWS], "group_monitor": [1, 1], "monitor": monitor}
    ct.set_flat_field(flats, darks)
    add("the mean of all flats", frames)
    ct.set_flat_field(flats, darks, outliers=True)
    ct.set_outliers()
    add("without outliers", frames)
    ct.set_flat_field(flats, darks, outliers=True, bad_pixels=10)
    add("and bad pixels", frames)
    ct.set_flat_field(flats, darks, outliers=True, bad_pixels=10, **groups)
    add("and flats in time, monitor", frames)
    ct.leave_outliers()
    ct.set_options(input="line_integrals")
    add("a scan without faults", clean)
    shown = [np.asarray(Image.fromarray(i).resize((SIDE, SIDE), Image.LANCZOS)) for i in images[:4]]
    rows = np.vstack([np.hstack(shown[:2]), np.hstack(shown[2:])])
    Image.fromarray(rows).save(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).with_name("frames.png"), optimize=True)


if __name__ == "__main__":
    main()
