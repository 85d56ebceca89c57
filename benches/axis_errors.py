#!/usr/bin/env python3
"""How far the rotation axis is off over simulated scans of 17 kinds, and whether the error and the confidence that are told hold.

usage: axis_errors.py [SEED] [SCANS] [KIND...]    SCANS of each kind (12); ISOCENTER_LIBRARY names the library

Phantoms of random ellipses, 96 to 400 bins, 1 to 7 detector rows, 1,600 to 100,000 photons (100 to 1,000 where a kind is noisy). A line tells of a kind: scans
whose axis was told and refused, bins by which it was off, scans within twice the error that was told, and those that are off by a bin with a
confidence of 0.5 or more.
"""
import sys

import numpy as np

import isocenter


def turn(views, of=2 * np.pi):
    return np.arange(views) * of / views


def without(angles, rng, degrees):
    """A gap of so many degrees in a full turn."""
    part = rng.uniform(*degrees) / 360
    first = int(rng.uniform(0, 1 - part) * len(angles))
    return np.delete(angles, range(first, first + int(part * len(angles))))


# Angles of a number of views.
KINDS = {
    "half": lambda n, rng: np.linspace(0, np.pi, n),
    "half open": lambda n, rng: turn(n, np.pi),
    "full": lambda n, rng: turn(n + n % 2),
    "odd": lambda n, rng: turn(n + 1 - n % 2),
    "half acquisition": lambda n, rng: turn(2 * n),
    "half acquisition, odd": lambda n, rng: turn(2 * n + 1),
    "half acquisition, gap": lambda n, rng: without(turn(2 * n), rng, (15, 60)),
    "short": lambda n, rng: np.linspace(0, np.radians(rng.uniform(190, 350)), n),
    "gap": lambda n, rng: without(turn(n), rng, (15, 80)),
    "golden": lambda n, rng: np.arange(n) * np.pi * (5**0.5 - 1),
    "random": lambda n, rng: np.sort(rng.uniform(0, 2 * np.pi, n)),
    "half, axis near an edge": lambda n, rng: np.linspace(0, np.pi, n),
    "dead bins": lambda n, rng: np.linspace(0, np.pi, n),
    "black views": lambda n, rng: np.linspace(0, np.pi, n),
    "truncated": lambda n, rng: np.linspace(0, np.pi, n),
    "noisy": lambda n, rng: np.linspace(0, np.pi, n),
    "stripes": lambda n, rng: np.linspace(0, np.pi, n),
}


def scan(context, kind, rng):
    """Angles, line integrals [view][row][bin], and the axis."""
    bins, rows = int(rng.integers(96, 400)), int(rng.integers(1, 8))
    angles = KINDS[kind](int(rng.integers(max(90, bins // 2), 2 * bins)), rng)
    photons = 10 ** (rng.uniform(2, 3) if kind == "noisy" else rng.uniform(3.2, 5))
    axis, radius = (bins - 1) / 2 + rng.uniform(-0.08, 0.08) * bins, 0.45 * bins
    if kind == "truncated":
        radius = 0.75 * bins
    if kind.startswith("half acquisition") or kind == "half, axis near an edge":
        part = rng.uniform(0.06, 0.21)
        axis = (bins - 1) * (part if rng.random() < 0.5 else 1 - part)
        beyond = kind.startswith("half acquisition") or rng.random() < 0.5
        radius = 0.8 * (max if beyond else min)(axis, bins - 1 - axis)
    ellipses = [[0.4 / radius, *(rng.uniform(-0.1, 0.1, 2) * radius), *(rng.uniform([0.8, 0.6], 1) * radius), rng.uniform(0, 3)]]
    for _ in range(int(rng.integers(3, 25))):
        place, size = rng.uniform(-0.55, 0.55, 2), rng.uniform(0.03, 0.25, 2)
        ellipses.append([rng.uniform(-0.5, 0.8) / radius, *(place * radius), *(size * radius), rng.uniform(0, 3)])
    with isocenter.CT(context, angles=angles, bins=bins, rows=rows, axis=axis) as ct:
        integrals = np.asarray(ct.phantom_projections(ellipses)).astype(float)
    integrals *= (1 + 0.1 * np.sin(np.arange(rows) / 3))[None, :, None]
    integrals = -np.log(np.maximum(rng.poisson(photons * np.exp(-integrals)), 1) / photons)
    if kind == "stripes":
        integrals += rng.uniform(0.003, 0.03) * rng.standard_normal(bins)
    if kind == "dead bins":
        for k in rng.integers(0, bins, int(rng.integers(1, 4))):
            integrals[:, :, k] = rng.uniform(0, 3)
    if kind == "black views":
        count = int(rng.integers(1, 8))
        first = int(rng.integers(0, len(angles) - count))
        integrals[first:first + count] = np.log(photons)
    return angles, integrals.astype(np.float32), axis


def main():
    seed, scans = (int(w) for w in (sys.argv[1:3] + ["1", "12"][len(sys.argv[1:3]):]))
    context = isocenter.Context(device="cpu", log=lambda *_: None)
    told = within = sure = 0
    print(f"{'kind':26s} told refused  median   worst  within twice the error  wrong and sure")
    for kind in sys.argv[3:] or KINDS:
        off, held, wrong = [], 0, 0
        for k in range(scans):
            rng = np.random.default_rng([seed, list(KINDS).index(kind), k])
            angles, integrals, axis = scan(context, kind, rng)
            _, rows, bins = integrals.shape
            with isocenter.CT(context, angles=angles, bins=bins, rows=rows) as ct:
                try:
                    found = ct.find_axis(integrals)
                except isocenter.Error:
                    continue
            off.append(abs(found.axis - axis))
            held += off[-1] <= 2 * found.error
            wrong += off[-1] > 1 and found.confidence >= 0.5
        told, within, sure = told + len(off), within + held, sure + wrong
        median, worst = (np.median(off), max(off)) if off else (np.nan, np.nan)
        print(f"{kind:26s} {len(off):4d} {scans - len(off):7d} {median:7.4f} {worst:7.3f} {held:22d}  {wrong:14d}", flush=True)
    print(f"{told} told, {100 * within / max(told, 1):.1f} % within twice the error; {sure} wrong and sure")


if __name__ == "__main__":
    main()
