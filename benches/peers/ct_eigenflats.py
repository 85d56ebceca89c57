#!/usr/bin/env python3
"""Eigenflats, ours and the paper's way in NumPy and SciPy: 40 flats and a few views of 2048 x 2048 in u16, two threads each.

The paper's program (V. Van Nieuwenhove et al., Opt. Express 23, 27975, 2015) takes the principal components of the flats by the eigenvectors of their
covariance, smooths them, and for each view minimises the total variation of the binned corrected frame, times the mean of the binned beam, by
a quasi-Newton method with differences for derivatives, from the mean flat on. Here that is scipy.optimize's BFGS, and the method of Nelder and Mead beside
it, over blocks as large as ours, of components smoothed by a Gaussian of 3 pixels. Costs are told over that of the mean flat, each by its own
components.

usage: ct_eigenflats.py    needs numpy, scipy
"""
import time

import numpy as np
from scipy.ndimage import gaussian_filter
from scipy.optimize import minimize

import isocenter

SIDE, FLATS, VIEWS, PHOTONS, BLOCK, THREADS = 2048, 40, 8, 2e4, 11, 2


def scan():
    """Flats and frames of a beam whose stripes move, and an object with edges."""
    rng = np.random.default_rng(3)
    y, x = np.mgrid[:SIDE, :SIDE].astype(np.float32)
    stripes = gaussian_filter(rng.normal(0, 1, 2 * SIDE), 12) * 8
    grain = (1 + 0.05 * rng.normal(size=(SIDE, SIDE))).astype(np.float32)
    at = y + 0.1 * x + 200

    def frame(move, through):
        beam = PHOTONS * grain * (1 + 0.06 * np.interp(at + move[0], np.arange(2 * SIDE), stripes)) * (1 + move[1] * (x / SIDE - 0.5))
        counts = beam * through
        return np.clip(counts + rng.normal(size=counts.shape) * np.sqrt(counts) + 100, 0, 65535).astype(np.uint16)

    def moves(n):
        return rng.normal(0, 1, (n, 2)) * [6, 0.02]

    depth = np.sqrt(np.maximum(1 - ((x - 1000) / 700) ** 2, 0)) + 0.5 * ((x - 1200) ** 2 + (y - 900) ** 2 < 200**2)
    flats = np.stack([frame(move, 1.0) for move in moves(FLATS)])
    return flats, np.stack([frame(move, np.exp(-depth)) for move in moves(VIEWS)])


def binned(image):
    """Means of blocks; those at the far ends are smaller."""
    edges = np.arange(0, SIDE, BLOCK)
    sums = np.add.reduceat(np.add.reduceat(image.astype(float), edges, 0), edges, 1)
    sizes = np.diff(np.append(edges, SIDE))
    return sums / np.outer(sizes, sizes)


def variation(weights, counts, flat, components):
    """The cost."""
    beam = flat + np.tensordot(weights, components, 1)
    t = counts / beam
    across, down = np.zeros_like(t), np.zeros_like(t)
    across[:, :-1], down[:-1] = np.diff(t, axis=1), np.diff(t, axis=0)
    return np.sqrt(across**2 + down**2).sum() * beam.mean()


def peer_components(flats, count):
    """By the covariance of the flats, each smoothed; a flat's weights are 1 on average."""
    values = flats.reshape(FLATS, -1).astype(np.float32)
    values -= values.mean(0)
    _, vectors = np.linalg.eigh(values @ values.T)
    vectors = vectors[:, ::-1][:, :count].T
    vectors *= np.sign(vectors[np.arange(count), np.abs(vectors).argmax(1)])[:, None]
    return [gaussian_filter(u.reshape(SIDE, SIDE), 3) for u in vectors.astype(np.float32) @ values / np.sqrt(FLATS)]


def main():
    """A line for each step."""
    flats, frames = scan()
    context = isocenter.Context(device="cpu", threads=THREADS)
    ct = isocenter.CT(context, angles=np.linspace(0, np.pi, VIEWS, endpoint=False), bins=SIDE, rows=SIDE)

    def timed(name, call, parts=1):
        start, begun = time.perf_counter(), time.process_time()
        result = call()
        wall, processor = time.perf_counter() - start, time.process_time() - begun
        print(f"{name:56s} {1e3 * wall / parts:9.1f} ms, processor {1e3 * processor / parts:9.1f} ms", flush=True)
        return result

    darks = np.full((1, SIDE, SIDE), 100, np.uint16)
    timed("ours: flats, no components", lambda: ct.set_flat_field(flats, darks))
    timed("ours: flats, components", lambda: ct.set_flat_field(flats, darks, eigenflats=8))
    fit = timed("ours: a view", lambda: ct.fit_flat_field(frames), VIEWS)
    fit = timed("ours: a view, again", lambda: ct.fit_flat_field(frames), VIEWS)
    each = [ct.fit_flat_field(frames[k:k + 1], k) for k in range(VIEWS)]
    count = fit.components
    print(f"{count} components, {fit.explained.sum():.4f} of the variance")
    components = timed("peer: components", lambda: peer_components(flats, count))
    small = np.stack([binned(u) for u in components])
    flat = binned(flats.mean(0) - 100)
    costs = {}
    for method, options in (("BFGS", {}), ("Nelder-Mead", {"maxiter": 2000, "maxfev": 4000})):
        def one(frame):
            counts = binned(frame) - 100
            return counts, minimize(variation, np.zeros(count), (counts, flat, small), method=method, options=options)
        for frame, ours in zip(frames[:4], each):
            counts, found = timed(f"peer: a view by {method}", lambda frame=frame: one(frame))
            before = variation(np.zeros(count), counts, flat, small)
            costs.setdefault(method, []).append((found.fun / before, ours.variation_after / ours.variation_before, found.nfev))
    for method, list_ in costs.items():
        for theirs, ours, calls in list_:
            print(f"cost after / before: {method} {theirs:.6f} ({calls} evaluations), ours {ours:.6f}")


if __name__ == "__main__":
    main()
