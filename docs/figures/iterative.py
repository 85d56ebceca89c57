#!/usr/bin/env python3
"""Draws iterative.png of docs/iterative.md: a phantom from 30 views with noise, and prints how far slices are from the truth; needs Pillow.

usage: iterative.py [FILE]
"""
import sys
from pathlib import Path

import isocenter
import numpy as np
from PIL import Image

BINS, VIEWS, PHOTONS = 256, 30, 2e4
BOUND = {"bounds": "non_negative"}
SHOWN = [("fbp", 1, {}), ("sirt", 20, {"subsets": 5, **BOUND}), ("cgls", 12, {}),
         ("total_variation", 1000, {"regularisation": 0.03, **BOUND})]
TABLE = [("sirt", (10, 100, 300), {}), ("sirt", (10, 100, 300), BOUND), ("sirt", (3, 10, 20, 50, 100), {"subsets": 5, **BOUND}),
         ("sirt", (3, 10, 20, 50, 100), {"subsets": VIEWS, **BOUND}),
         ("sirt", (3, 10, 20, 50, 100), {"subsets": VIEWS, "relaxation": 0.5, **BOUND}), ("cgls", (3, 10, 20, 50, 100), {}),
         ("mlem", (10, 100, 300), {}), ("mlem", (3, 10, 20, 50), {"subsets": 5}),
         *(("total_variation", (100, 300, 1000), {"regularisation": weight, **BOUND}) for weight in (0.01, 0.03, 0.1))]


def main(to=Path(__file__).with_name("iterative.png")):
    context = isocenter.Context(nan_policy="replace", log=lambda *_: None)
    ct = isocenter.CT(context, angles=np.arange(VIEWS) * np.pi / VIEWS, bins=BINS)
    body = ct.shepp_logan(0.45 * BINS) * [0.02, 1, 1, 1, 1, 1]
    truth = ct.phantom_volume(body)[0]
    counts = np.random.default_rng(0).poisson(PHOTONS * np.exp(-ct.phantom_projections(body).astype(float))).astype(np.float32)
    ct.set_flat_field(np.full((1, BINS), PHOTONS, np.float32))
    inside = np.hypot(*(np.indices(truth.shape) - (BINS - 1) / 2)) < 0.45 * BINS

    def by(algorithm, iterations, options):
        ct.set_options(input="counts", algorithm=algorithm)
        ct.set_iterative(iterations, **options)
        return ct.reconstruct(counts)[0]

    def off(slice_):
        return np.linalg.norm((slice_ - truth)[inside]) / np.linalg.norm(truth[inside])

    shown = [truth, *(by(*method) for method in SHOWN)]
    Image.fromarray(np.hstack([np.uint8(np.clip(s / 0.014, 0, 1) * 255) for s in shown])).save(to, optimize=True)
    print(f"fbp: {off(shown[1]):.3f}")
    for algorithm, counts_of, options in TABLE:
        print(algorithm, options, ", ".join(f"{n}: {off(by(algorithm, n, options)):.3f}" for n in counts_of))


if __name__ == "__main__":
    main(*sys.argv[1:])
