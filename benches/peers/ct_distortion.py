#!/usr/bin/env python3
"""A lens's distortion taken out of frames, ours and discorpy's: how far from the definition in f64, and nanoseconds a pixel on two threads.

Frames of 1024 x 2048 random line integrals in f32, a radial polynomial of five coefficients that moves pixels by up to 5, and with it a tilt and shifts
of each view. discorpy's unwarp_image_backward frame by frame, half of them in each of two threads (scipy lets go of Python's lock), and scipy's map_coordinates
of order 1 with the map made once. Ours is `filter` with the filter "none"; what it takes without distortion stands beside it.

usage: ct_distortion.py    needs numpy, scipy, discorpy
"""
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from discorpy.post.postprocessing import unwarp_image_backward
from scipy.ndimage import map_coordinates

import isocenter

VIEWS, ROWS, BINS, THREADS = 12, 1024, 2048, 2
RADIAL, CENTRE = [1.0, 0.0, 2e-9, -1e-12, 3e-16], (1003.2, 530.7)


def places():
    """Bin and row of each pixel, in f64, no farther than the frame."""
    y, x = np.mgrid[:ROWS, :BINS].astype(float)
    u, v = x - CENTRE[0], y - CENTRE[1]
    factor = np.polynomial.polynomial.polyval(np.hypot(u, v), RADIAL)
    return np.clip(CENTRE[0] + factor * u, 0, BINS - 1), np.clip(CENTRE[1] + factor * v, 0, ROWS - 1)


def between(frame, x, y):
    """Linearly, in f64."""
    left, top = np.minimum(x.astype(int), BINS - 2), np.minimum(y.astype(int), ROWS - 2)
    a, b = x - left, y - top
    frame = frame.astype(float)
    upper = (1 - a) * frame[top, left] + a * frame[top, left + 1]
    return (1 - b) * upper + b * ((1 - a) * frame[top + 1, left] + a * frame[top + 1, left + 1])


def main():
    """Errors, then times in turns: medians and the smallest processor time."""
    frames = 0.5 + 0.4 * np.random.default_rng(0).random((VIEWS, ROWS, BINS), np.float32)
    ct = isocenter.CT(isocenter.Context(device="cpu", threads=THREADS), angles=np.arange(VIEWS) * np.pi / VIEWS, bins=BINS, rows=ROWS)
    ct.set_options(filter="none", input="line_integrals")
    made = np.empty_like(frames)
    lens = {"radial": RADIAL, "x_centre": CENTRE[0], "y_centre": CENTRE[1]}
    shifts = np.random.default_rng(1).uniform(-3, 3, (2, VIEWS))
    x, y = places()
    expected = np.stack([between(frame, x, y) for frame in frames])

    def ours(**distortion):
        ct.set_distortion(**distortion)
        ct.filter(frames, made)

    def plain():
        ct.leave_distortion()
        ct.filter(frames, made)

    pool = ThreadPoolExecutor(THREADS)

    def peer(one):
        return np.stack(list(pool.map(one, frames)))

    ways = {
        "isocenter: nothing": plain,
        "isocenter: lens": lambda: ours(**lens),
        "isocenter: lens, tilt, shifts": lambda: ours(**lens, tilt=0.003, x_shifts=shifts[0], y_shifts=shifts[1]),
        "discorpy": lambda: peer(lambda frame: unwarp_image_backward(frame, *CENTRE, RADIAL)),
        "scipy, the map made once": lambda: peer(lambda frame: map_coordinates(frame, (y, x), order=1, mode="nearest")),
    }
    ours(**lens)
    print(f"isocenter off by {np.abs(made - expected).max():.1e}, discorpy by {np.abs(ways['discorpy']() - expected).max():.1e}", flush=True)
    taken = {name: [] for name in ways}
    for _ in range(8):
        for name, call in ways.items():
            start, begun = time.perf_counter(), time.process_time()
            call()
            taken[name].append((time.perf_counter() - start, time.process_time() - begun))
    lens_time = [f([t[k] for t in taken["isocenter: lens"][1:]]) for k, f in enumerate((np.median, min))]
    for name, times in taken.items():
        wall, processor = np.median([t for t, _ in times[1:]]), min(p for _, p in times[1:])
        print(f"{name:32s} {wall / frames.size * 1e9:6.2f} ns a pixel, processor {processor / frames.size * 1e9:6.2f}; "
              f"{wall / lens_time[0]:.1f} and {processor / lens_time[1]:.1f} times the lens", flush=True)


if __name__ == "__main__":
    main()
