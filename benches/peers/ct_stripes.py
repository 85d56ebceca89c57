#!/usr/bin/env python3
"""Stripe removal on simulated scans, ours and algotom's: what is left in flat parts of a slice, and milliseconds a sinogram.

640 bins, 901 views over half a turn, 2e4 photons a bin; offsets in three bins of ten, two wide stripes, one in half of the views, one that
scales values, a dead bin and one that fluctuates. Rms errors in 1e-4 a bin width, against the phantom's means over pixels, where nothing
changes within 3 pixels.

usage: ct_stripes.py [SEED ...]    needs numpy, scipy; algotom where it is there
"""
import sys
import time

import numpy as np
from scipy.ndimage import maximum_filter, minimum_filter

import isocenter

BINS, VIEWS, PHOTONS, SLICES = 640, 901, 2e4, 16


def scan(ct, seed):
    """Line integrals with noise, the same with stripes, the truth, and where it is flat."""
    rng = np.random.default_rng(seed)
    ellipses = [[0.006, 5, -8, 230, 200, 0.3]]
    ellipses += [[rng.uniform(-0.004, 0.006), *rng.uniform(-130, 130, 2), *rng.uniform(4, 45, 2), rng.uniform(0, 3)] for _ in range(30)]
    clean, truth = ct.phantom_projections(ellipses)[:, 0], ct.phantom_volume(ellipses)[0]
    noisy = -np.log(np.maximum(rng.poisson(PHOTONS * np.exp(-clean.astype(np.float32))), 1) / PHOTONS).astype(np.float32)
    offsets = rng.normal(0, 0.02, BINS) * (rng.random(BINS) < 0.3)
    offsets[200:209] += 0.05
    offsets[420:424] -= 0.08
    bad = noisy + offsets.astype(np.float32)
    bad[:450, 300] += 0.1
    bad[:, 350] *= 1.15
    bad[:, 511] = 0.3
    bad[:, 130] += rng.normal(0, 0.2, VIEWS)
    y, x = np.mgrid[:BINS, :BINS] - (BINS - 1) / 2
    flat = ((x - 5) ** 2 / 220**2 + (y - 8) ** 2 / 190**2 < 0.8) & (maximum_filter(truth, 7) - minimum_filter(truth, 7) < 1e-6)
    return noisy, bad, truth, flat


def median_time(call, repeats=7):
    """Seconds."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return np.median(times)


def main():
    """A table a seed."""
    context = isocenter.Context(device="cpu")
    angles = np.linspace(0, np.pi, VIEWS, endpoint=False)
    ct, many = isocenter.CT(context, angles=angles, bins=BINS), isocenter.CT(context, angles=angles, bins=BINS, rows=SLICES)
    many.set_options(filter="none")

    def ours(method):
        def remove(sinogram):
            ct.set_options(filter="none")
            ct.set_stripes(method)
            done = ct.filter(np.ascontiguousarray(sinogram[:, None]))[:, 0]
            ct.leave_stripes()
            ct.set_options()
            return done
        return remove

    ways = {f"isocenter {method}": ours(method) for method in ("significant", "vo", "sorting", "wavelet_fourier")}
    try:
        import algotom.prep.removal as removal
        ways["algotom vo (all)"] = lambda s: removal.remove_all_stripe(s, 3.0, 51, 21)
        ways["algotom sorting"] = lambda s: removal.remove_stripe_based_sorting(s, 21)
        ways["algotom wavelet-FFT"] = lambda s: removal.remove_stripe_based_wavelet_fft(s, 5, 1)
        ways["algotom normalisation"] = lambda s: removal.remove_stripe_based_normalization(s, 15)
    except ImportError:
        print("no algotom")
    for seed in map(int, sys.argv[1:] or (5, 42)):
        noisy, bad, truth, flat = scan(ct, seed)

        def error(sinogram):
            volume = ct.reconstruct(np.ascontiguousarray(sinogram[:, None], np.float32))[0]
            return 1e4 * np.sqrt(np.mean((volume - truth)[flat] ** 2))

        print(f"seed {seed}: without stripes {error(noisy):.2f}, with {error(bad):.2f}")
        frames = np.ascontiguousarray(np.repeat(bad[:, None], SLICES, 1))
        out = np.empty_like(frames)
        many.leave_stripes()
        plain = median_time(lambda: many.filter(frames, out))
        for name, way in ways.items():
            left, clean = error(way(bad.copy())), error(way(noisy.copy()))
            if name.startswith("isocenter"):
                many.set_stripes(name.split()[1])
                seconds = (median_time(lambda: many.filter(frames, out)) - plain) / SLICES
            else:
                seconds = median_time(lambda: way(bad.copy()), 3)
            print(f"{name:24s} left {left:5.2f}   clean data become {clean:5.2f}   {1e3 * seconds:7.2f} ms a sinogram", flush=True)


if __name__ == "__main__":
    main()
