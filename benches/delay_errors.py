#!/usr/bin/env python3
"""How far delays of gradients are off over simulated scans, and whether the error and the confidence that are told hold.

usage: delay_errors.py [SEED] [SCANS] [KIND...]    SCANS of each kind (12); ISOCENTER_LIBRARY names the library

Random ellipses on 64 x 64 voxels, 8 coils, delays of up to 2.2 samples that differ by up to 0.8 between axes (and mixed ones of up to 0.3 of straight
readouts), noise of 0.01 to 0.3 % of the largest sample. A line tells of a kind: scans whose delays were told and refused, samples by which they were off (median and
worst), numbers within twice the error that was told, and scans that are off by a tenth of a sample with a confidence of 0.9 and errors below 0.1 cycles per field of view.
"""
import sys
import time

import numpy as np

import isocenter

N, COILS = 64, 8


def spokes(angles, at):
    return np.stack([np.cos(angles)[:, None] * at, np.sin(angles)[:, None] * at], axis=-1)


def spiral(t, shots=16):
    """Turns that are a cycle per field of view apart, at rest before the first sample; t in samples."""
    part = np.maximum(t / 500, 0)
    radius = 0.51 * part**2 / (0.02 + part**1.5)
    angle = 2 * np.pi * (np.arange(shots)[:, None] / shots + N / 2 / shots * 2 * radius)
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=-1)


GOLDEN = np.pi * (np.sqrt(5) - 1) / 2
along = np.arange(128)
# Places at a time in samples, by the axis that is late.
KINDS = {
    "even spokes": lambda late: spokes(np.arange(80) * np.pi / 80, (along - late - 64) / 128),
    "golden angles": lambda late: spokes(np.arange(64) * GOLDEN, (along - late - 64) / 128),
    "13 spokes": lambda late: spokes(np.arange(13) * GOLDEN, (along - late - 64) / 128),
    "from the centre": lambda late: spokes(np.arange(160) * 2 * GOLDEN, (along[:64] - late) / 128),
    "spiral": lambda late: spiral(np.arange(500) - late),
}
# What else may differ from the model, of golden angles.
FAULTS = ("phases of spokes", "off-resonance", "object beyond the field of view", "motion", "a point in noise")


def head(rng, size=(0.3, 0.42)):
    radius = N * rng.uniform(*size)
    rows = [[1, *rng.uniform(-0.04 * N, 0.04 * N, 2), 0, radius, radius * rng.uniform(0.7, 1), 1, rng.uniform(0, np.pi)]]
    for _ in range(6):
        far, turn = rng.uniform(0, 0.6) * radius, rng.uniform(0, 2 * np.pi)
        rows.append([rng.uniform(-0.5, 0.8), far * np.cos(turn), far * np.sin(turn), 0, *radius * rng.uniform(0.05, 0.3, 2), 1, rng.uniform(0, np.pi)])
    return rows


def plan(k, coils=1):
    return isocenter.MRI(CONTEXT, trajectory=np.ascontiguousarray(k.reshape(-1, 2)).clip(-0.5, 0.5), unit="cycles_per_voxel", nx=N, ny=N, coils=coils)


def measured(rows, k):
    """Sensitivities (1 + sin(pi d.r / N)) / 2 are shifts in k-space; what these move beyond the range is at its edge."""
    out = []
    for turn in 2 * np.pi * np.arange(COILS) / COILS:
        shift = np.array([np.cos(turn), np.sin(turn)]) / (2 * N)
        middle, up, down = (plan(k + way * shift).phantom_samples(rows) for way in (0, -1, 1))
        out.append(middle / 2 + (up - down) / 4j)
    return np.array(out, complex)


def scan(kind, rng):
    """Samples, the trajectory that was asked for, samples of a readout, and the true delays."""
    course = KINDS.get(kind, KINDS["golden angles"])
    k, both = course(0), rng.uniform(-1.8, 1.8)
    xx, yy = both + rng.uniform(-0.4, 0.4, 2)
    xy = 0 if kind == "spiral" else rng.uniform(-0.3, 0.3)
    if kind == "spiral":
        true = np.stack([course(xx)[..., 0], course(yy)[..., 1]], axis=-1)
    else:
        true = k - (course(0) - course(1)) @ np.array([[xx, xy], [xy, yy]])
    shots, readout = k.shape[:2]
    rows = head(rng, (0.6, 0.7) if kind == "object beyond the field of view" else (0.3, 0.42))
    seen = measured(rows, true).reshape(COILS, shots, readout)
    if kind == "phases of spokes":
        seen *= np.exp(1j * rng.normal(0, 0.1, shots))[:, None]
    if kind == "off-resonance":
        seen *= np.exp(1j * rng.uniform(0.2, 1) * np.linspace(-np.pi, np.pi, readout))
    if kind == "motion":
        moved = measured([[row[0], row[1] + rng.uniform(2, 4), *row[2:]] for row in rows], true).reshape(COILS, shots, readout)
        seen[:, shots // 2:] = moved[:, shots // 2:]
    if kind == "a point in noise":
        seen[:] = 0.001
    noise = np.abs(seen).max() * 10**rng.uniform(-4, -2.5)
    seen += noise * (rng.standard_normal(seen.shape) + 1j * rng.standard_normal(seen.shape))
    return seen.reshape(COILS, -1), k, readout, (xx, yy, xy)


def main(seed, scans, kinds):
    print("| kind | told | refused | off by, median and worst | within twice the error | wrong and sure | seconds |\n|---|---|---|---|---|---|---|")
    for kind in kinds:
        rng = np.random.default_rng([seed, [*KINDS, *FAULTS].index(kind)])
        off, held, refused, sure, seconds = [], [], 0, 0, []
        for _ in range(scans):
            seen, k, readout, truth = scan(kind, rng)
            mri = plan(k, COILS)
            start = time.perf_counter()
            try:
                found = mri.find_delays(seen, readout)
            except isocenter.Error:
                refused += 1
                continue
            finally:
                seconds.append(time.perf_counter() - start)
            errors = np.array([found.xx_error, found.yy_error, found.xy_error])
            apart = np.abs(np.array([found.xx, found.yy, found.xy]) - truth)
            off.append(apart.max()), held.extend(apart <= 2 * errors)
            step = np.linalg.norm(np.diff(k, axis=1), axis=2).max() * N
            sure += bool(apart.max() > 0.1 and found.confidence >= 0.9 and errors.max() * step <= 0.1)
        off = np.array(off or [np.nan])
        print(f"| {kind} | {scans - refused} | {refused} | {np.median(off):.4f}, {off.max():.3f} | {100 * np.mean(held or [np.nan]):.1f} % | {sure} | "
              f"{np.median(seconds):.2f} |", flush=True)


if __name__ == "__main__":
    CONTEXT = isocenter.Context(device="cpu")
    given = sys.argv[1:]
    main(int(given[0]) if given else 1, int(given[1]) if len(given) > 1 else 12, given[2:] or [*KINDS, *FAULTS])
