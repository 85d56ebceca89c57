#!/usr/bin/env python3
"""Draws variation.png of docs/iterative.md: total variation of slices and of a volume, without and with offsets of the detector; prints how
far they are from the truth; needs Pillow.

usage: variation.py [FILE]
"""
import sys
from pathlib import Path

import isocenter
import numpy as np
from PIL import Image

BINS, SLICES, VIEWS = 192, 48, 60
NOISE, RINGS = 0.02, 0.03  # of the largest line integral


def main(to=Path(__file__).with_name("variation.png")):
    context = isocenter.Context(log=lambda *_: None)
    scan = {"angles": np.arange(VIEWS) * np.pi / VIEWS, "bins": BINS}
    one, ct = isocenter.CT(context, **scan), isocenter.CT(context, **scan, rows=SLICES, order="sinograms")
    # Ellipses grow and shrink along z.
    grown = [np.sqrt(1 - ((z - SLICES / 2) / (0.7 * SLICES))**2) for z in range(SLICES)]
    bodies = [one.shepp_logan(0.45 * BINS) * [1, f, f, f, f, 1] for f in grown]
    truth = np.concatenate([one.phantom_volume(body) for body in bodies])
    data = np.stack([one.phantom_projections(body)[:, 0] for body in bodies])
    random, largest = np.random.default_rng(0), data.max()
    data += NOISE * largest * random.normal(size=data.shape).astype(np.float32)
    offsets = RINGS * largest * random.normal(size=(SLICES, 1, BINS)) * (random.random((SLICES, 1, BINS)) < 0.1)
    unit = NOISE * largest * np.sqrt(VIEWS)

    def by(data, **options):
        ct.set_options(algorithm="total_variation")
        ct.set_iterative(1000, bounds="box", upper=1.5, regularisation=0.5 * unit, tolerance=1e-3, **options)
        volume = ct.reconstruct(np.ascontiguousarray(data, np.float32))
        off, last = np.linalg.norm(volume - truth) / np.linalg.norm(truth), ct.history()[-1]
        print(f"{options}: {off:.4f} after {last.iteration} iterations")
        return volume

    slices, volume = by(data), by(data, variation="volume")
    ringed, found = by(data + offsets), by(data + offsets, ring_weight=unit)
    both = by(data + offsets, ring_weight=unit, variation="volume")

    def row(cut):
        return np.hstack([np.uint8(np.clip(cut(v) / 0.5, 0, 1) * 255) for v in (truth, slices, volume, ringed, found, both)])
    Image.fromarray(np.vstack([row(lambda v: v[SLICES // 2]), row(lambda v: v[:, BINS // 2])])).save(to, optimize=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
