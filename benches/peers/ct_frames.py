#!/usr/bin/env python3
"""Outliers of raw frames and flats in time, ours and others': milliseconds for 16 detector rows of a scan, two threads each.

901 views of 16 x 640 pixels in u16: 2e4 photons, an object that lets 14 % through, one zinger in 5000 values. Ours is `filter` with the
filter "none", so from counts to line integrals, and what the step adds to it. Beside it: what TomoPy's and algotom's functions call
for outliers, a median of 3 x 3 pixels (scipy.ndimage.median_filter) and a comparison, in halves of the views on two threads; algotom's
remove_zinger of each frame, which finds by another rule; for flats in time the formula in NumPy, view by view.

usage: ct_frames.py    needs numpy, scipy; algotom where it is there
"""
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from scipy.ndimage import median_filter

import isocenter

VIEWS, ROWS, BINS, PHOTONS, THREADS, ABOVE = 901, 16, 640, 20000, 2, 3000


def scan():
    """Frames with zingers, and flats before and after the scan, whose beam is 20 % less."""
    rng = np.random.default_rng(5)
    through = np.exp(-2 * np.sqrt(np.maximum(1 - ((np.arange(BINS) - 320) / 250) ** 2, 0)))
    beam = (1 - 0.2 * (np.arange(VIEWS) + 0.5) / VIEWS)[:, None, None]
    frames = rng.poisson(PHOTONS * beam * np.broadcast_to(through, (VIEWS, ROWS, BINS)))
    hit = rng.random(frames.shape) < 2e-4
    frames[hit] += rng.integers(5000, 40000, hit.sum())
    flats = np.concatenate([rng.poisson(PHOTONS * b, (10, ROWS, BINS)) for b in (1.0, 0.8)])
    return frames.astype(np.uint16), flats.astype(np.uint16)


def seconds(call, repeats=7):
    """Median time of a call, after one more, and the smallest processor time, of all threads, which other work on the machine matters
    less to."""
    times, processor = [], []
    for _ in range(repeats + 1):
        start, begun = time.perf_counter(), time.process_time()
        call()
        times.append(time.perf_counter() - start)
        processor.append(time.process_time() - begun)
    return np.array([np.median(times[1:]), min(processor[1:])])


def told(name, taken, besides=""):
    """Prints a line."""
    wall, processor = 1e3 * taken
    print(f"{name:56s} {wall:8.1f} ms, processor {processor:8.1f} ms{besides}", flush=True)


def over(peer, ours):
    """How many times as long, by either measure."""
    return f"; {peer[0] / ours[0]:.1f} and {peer[1] / ours[1]:.1f} times ours"


def main():
    """One line a way."""
    frames, flats = scan()
    context = isocenter.Context(device="cpu", threads=THREADS)
    ct = isocenter.CT(context, angles=np.linspace(0, np.pi, VIEWS, endpoint=False), bins=BINS, rows=ROWS)
    ct.set_options(filter="none")
    out = np.empty(frames.shape, np.float32)
    parts = [range(k * VIEWS // THREADS, (k + 1) * VIEWS // THREADS) for k in range(THREADS)]
    pool = ThreadPoolExecutor(THREADS)

    def by_views(one):
        def work(views):
            for view in views:
                one(view)
        return lambda: list(pool.map(work, parts))

    made = np.empty_like(frames)

    def median(view):
        medians = median_filter(frames[view], 3)
        made[view] = np.where(frames[view].astype(np.int32) - medians >= ABOVE, medians, frames[view])

    first, last = (g.mean(0, dtype=np.float32) for g in (flats[:10], flats[10:]))
    lines = np.empty_like(out)

    def between(view):
        weight = np.float32((view + 0.5) / VIEWS)
        beam = (1 - weight) * first + weight * last
        np.log(np.maximum(frames[view] / beam, np.float32(1e-6)), out=lines[view])
        np.negative(lines[view], out=lines[view])

    ct.set_flat_field(flats)
    ct.leave_outliers()
    plain = seconds(lambda: ct.filter(frames, out))
    told("isocenter: counts to line integrals", plain)
    ways = {"noise, 3 x 3 x 3 (the default)": {}, "noise, 3 x 3": {"depth": 1}, "noise, 5 x 5 x 3": {"window": 5},
            "median, 3 x 3": {"depth": 1, "unit": "median"}, "counts, 3 x 3": {"depth": 1, "unit": "count", "threshold": ABOVE}}
    added = {}
    for name, keywords in ways.items():
        ct.set_outliers(**keywords)
        added[name] = seconds(lambda: ct.filter(frames, out)) - plain
        told("isocenter, besides, outliers: " + name, added[name], f"; {ct.info().outliers} removed")
    peer = seconds(by_views(median), 3)
    # TomoPy's takes what is at the limit, too: no value here is.
    off = np.abs(out + np.log(made / flats.mean(0))).max()
    told("scipy.ndimage.median_filter, 3 x 3, and where", peer, over(peer, added["counts, 3 x 3"]) + f" (counts, 3 x 3); off by {off:.1e}")
    try:
        from algotom.prep.removal import remove_zinger
        zingers = seconds(by_views(lambda view: remove_zinger(frames[view], 0.2, 2)), 3)
        told("algotom's remove_zinger", zingers, over(zingers, added["median, 3 x 3"]) + " (median, 3 x 3)")
    except ImportError:
        print("no algotom")
    ct.leave_outliers()
    ct.set_flat_field(flats, group_frames=[10, 10], group_positions=[0, VIEWS])
    ours = seconds(lambda: ct.filter(frames, out))
    theirs = seconds(by_views(between), 5)
    told("isocenter: counts to line integrals, flats in time", ours)
    told("NumPy: the same", theirs, over(theirs, ours) + f"; off by {np.abs(out - lines).max():.1e}")


if __name__ == "__main__":
    main()
