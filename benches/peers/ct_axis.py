"""Errors of the search for the rotation axis on simulated scans whose axis is known. `ct_axis.py [SEED ...]`, by default 42 and 5.

Twelve scans a seed: 640 bins, 721 views over half a turn with both ends, 24 rows, 10^4 photons, the axis within 40 bins of the middle.
Ellipses of random places in a body that fits the detector; in every fourth scan it does not. Every other scan has stripes.
Then scans whose beam moves, whose sample drifts, whose angles are few or uneven, and a full turn about an axis near an edge.
"""
import sys
import time

import numpy as np

import isocenter

BINS, VIEWS, ROWS, PHOTONS = 640, 721, 24, 1e4
HALF_TURN = np.linspace(0, np.pi, VIEWS)

# The same scans of seeds 42 and 5 by other packages, from one view and its opposite one or from one sinogram: median, worst.
RECORDED = {"nabu, correlation": (0.008, 0.022), "nabu, octave accurate": (0.009, 0.025), "algotom, Vo": (0.077, 0.155)}


def phantom(rng, scale=1.0):
    body = [0.004, rng.uniform(-20, 20), rng.uniform(-20, 20), 200 * scale, 170 * scale, rng.uniform(0, 3)]
    details = [[rng.uniform(-0.003, 0.006), *rng.uniform(-120, 120, 2), *rng.uniform(4, 40, 2), rng.uniform(0, 3)]
               for _ in range(25)]
    return [body, *details]


def line_integrals(context, angles, axis, ellipses):
    """(views, 24, bins); rows differ by a factor."""
    with isocenter.CT(context, angles=angles, bins=BINS, rows=1, axis=axis) as ct:
        row = ct.phantom_projections(ellipses).astype(np.float64)
    return row * (1 + 0.1 * np.sin(np.arange(ROWS) / 3))[None, :, None]


def seen(rng, integrals, stripes):
    counts = rng.poisson(np.maximum(PHOTONS * np.exp(-integrals), 0))
    measured = -np.log(np.maximum(counts, 1) / PHOTONS)
    return (measured + rng.normal(0, 0.01, BINS) if stripes else measured).astype(np.float32)


def twelve(context, seed):
    """(projections, axis) one after the other; the random numbers are drawn in the order of the recorded runs."""
    rng = np.random.default_rng(seed)
    for case in range(12):
        axis = (BINS - 1) / 2 + rng.uniform(-40, 40)
        ellipses = phantom(rng, 1.3 if case % 4 == 3 else 1.0)
        yield seen(rng, line_integrals(context, HALF_TURN, axis, ellipses), case % 2), axis


def others(context, seed):
    """{name: [(angles, projections, axis), ...]}"""
    rng, views, bins = np.random.default_rng(seed), np.arange(VIEWS)[:, None], np.arange(BINS)[None, :] - (BINS - 1) / 2

    def scan(angles, axis, background=None, scale=1.0):
        integrals = line_integrals(context, angles, axis, phantom(rng, scale))
        if background is not None:
            integrals += background[:, None, :]
        return angles, seen(rng, integrals, False), float(np.mean(axis))

    def near_middle():
        return (BINS - 1) / 2 + rng.uniform(-40, 40)

    def tilting():
        return 0.02 * np.sin(views / 90 + rng.uniform(0, 6)) * bins / (BINS / 2)

    def moving(width, by):
        return ((bins - by) ** 2 - bins ** 2) / (2 * width ** 2)

    drift = 0.5 * np.linspace(-1, 1, VIEWS)
    full = np.arange(1440) * (np.pi / 720)
    return {
        "beam whose slope changes": [scan(HALF_TURN, near_middle(), tilting()) for _ in range(4)],
        "Gaussian beam that moves": [scan(HALF_TURN, near_middle(), moving(0.3 * BINS, 4 * np.sin(views / 150 + k)))
                                     for k in range(4)],
        "sample that drifts by a bin": [scan(HALF_TURN, near_middle() + drift) for _ in range(4)],
        "90 views": [scan(np.arange(90) * (np.pi / 90), near_middle()) for _ in range(4)],
        "uneven angles": [scan(np.sort(rng.uniform(0, np.pi, 700)), near_middle()) for _ in range(4)],
        "full turn, axis near an edge": [scan(full, axis, scale=1.4) for axis in (25.2, 40.3, 600.7, 614.1)],
    }


def search(context, angles, projections, axis, **options):
    """Error in bins and seconds; what is refused counts as nan."""
    with isocenter.CT(context, angles=angles, bins=BINS, rows=projections.shape[1]) as ct:
        start = time.perf_counter()
        try:
            error = abs(ct.find_axis(projections, **options).axis - axis)
        except isocenter.Error:
            error = np.nan
        return error, time.perf_counter() - start


def row(name, results):
    errors, seconds = np.array(results).T
    refused = int(np.isnan(errors).sum())
    print(f"| {name} | {np.nanmedian(errors):.4f} | {np.nanmax(errors):.4f} | {refused} of {len(errors)} | {np.median(seconds):.2f} |")


def main():
    seeds = [int(word) for word in sys.argv[1:]] or [42, 5]
    context = isocenter.Context(device="cpu")
    print("| | median, bins | worst | refused | s |\n|---|---|---|---|---|")
    for seed in seeds:
        scans = list(twelve(context, seed))
        for method in ("auto", "opposite_views", "sinogram", "sharpness"):
            row(f"seed {seed}, {method}", [search(context, HALF_TURN, p, axis, method=method) for p, axis in scans])
    for name, (median, worst) in RECORDED.items():
        print(f"| recorded: {name} | {median} | {worst} | | |")
    for name, scans in others(context, seeds[0]).items():
        row(name, [search(context, *scan) for scan in scans])


if __name__ == "__main__":
    main()
