#!/usr/bin/env python3
"""Paganin's filter, ours and others': how far from the formula in f64, and milliseconds for a frame of 2048 x 2048, two threads each.

Errors: three frames of 512 x 640 counts in u16, 2e4 photons, a flat field; lengths of 3, 10 and 40 bins; largest difference of line integrals
from the formula in f64, frames padded with their outermost values by 1000 bins. Beside it nabu's filter of the same transmissions in f32,
where nabu is there, and TomoPy's formula, 1 / (1 + wavelength distance f^2 / (4 pi alpha)), in scipy.fft and f32 with TomoPy's padding to a power of
two by edge values. Times: four frames from counts, and what the step adds to counts without; nabu and TomoPy's formula begin with
transmissions.

usage: ct_phase.py    needs numpy, scipy; nabu where it is there
"""
import time

import numpy as np
import scipy.fft

import isocenter

ROWS, BINS, PHOTONS, THREADS, SIDE, VIEWS = 512, 640, 20000, 2, 2048, 4
ENERGY_KEV, DISTANCE_UM = 20.0, 1e5
# Wavelength times distance in um^2, which are squared bins: pixels are 1 um.
FRESNEL = 1.239841984e-3 / ENERGY_KEV * DISTANCE_UM


def scan(views, rows, bins):
    """Counts of disks and of edges that are bright, and a flat."""
    rng = np.random.default_rng(5)
    y, x = np.mgrid[:rows, :bins] / bins
    through = np.ones((views, rows, bins))
    for view in range(views):
        for _ in range(40):
            distance = np.hypot(x - rng.random(), y - rng.random() * rows / bins) - rng.uniform(0.01, 0.1)
            inside = np.clip(0.5 - distance * bins, 0, 1)
            through[view] *= 1 - 0.2 * inside + 0.1 * np.exp(-(distance * bins / 2) ** 2)
    flat = PHOTONS * (1 + 0.1 * rng.normal(size=(rows, bins)))
    return rng.poisson(through * flat).astype(np.uint16), rng.poisson(flat).astype(np.uint16)


def in_f64(transmissions, length):
    """The formula: one frame."""
    padded = np.pad(transmissions.astype(float), 1000, "edge")
    squared = np.add.outer(*(scipy.fft.fftfreq(n) ** 2 for n in padded.shape))[:, :padded.shape[1] // 2 + 1]
    spectrum = scipy.fft.rfft2(padded, workers=THREADS) / (1 + length**2 * squared)
    return -np.log(scipy.fft.irfft2(spectrum, padded.shape, workers=THREADS)[1000:-1000, 1000:-1000])


class Tomopy:
    """Its formula in numpy; alpha is 1 / (4 pi^2 delta_beta)."""

    def __init__(self, shape, length):
        alpha = np.pi * FRESNEL / length**2 / (4 * np.pi**2)
        margin = np.ceil(np.pi * FRESNEL)
        self.pads = [(int(2 ** np.ceil(np.log2(n + margin))) - n) // 2 for n in shape]
        squared = np.add.outer(*(scipy.fft.fftfreq(n + 2 * p) ** 2 for n, p in zip(shape, self.pads)))
        self.filter = (1 / (1 + FRESNEL * squared / (4 * np.pi * alpha))).astype(np.float32)

    def __call__(self, transmissions):
        padded = np.pad(transmissions, [(p, p) for p in self.pads], "edge")
        spectrum = scipy.fft.fft2(padded, workers=THREADS)
        spectrum *= self.filter
        made = scipy.fft.ifft2(spectrum, workers=THREADS, overwrite_x=True).real
        return -np.log(made[self.pads[0]:-self.pads[0], self.pads[1]:-self.pads[1]])


def peers(shape, length):
    """Name and function of each."""
    yield "TomoPy's formula, scipy.fft", Tomopy(shape, length)
    try:
        from nabu.preproc.phase import PaganinPhaseRetrieval
    except ImportError:
        print("no nabu")
        return
    nabu = PaganinPhaseRetrieval(shape, distance=1e-6 * DISTANCE_UM, energy=ENERGY_KEV, delta_beta=length**2 / (np.pi * FRESNEL), pixel_size=1e-6,
                                 fft_num_threads=THREADS)
    yield "nabu", lambda transmissions: -np.log(nabu.apply_filter(transmissions))


def plan(views, rows, bins, flat):
    """Ours: counts to line integrals."""
    ct = isocenter.CT(isocenter.Context(device="cpu", threads=THREADS), angles=np.arange(views) * np.pi / views, bins=bins, rows=rows)
    ct.set_options(filter="none")
    ct.set_flat_field(flat)
    return ct


def errors():
    """One line a length and package."""
    frames, flat = scan(3, ROWS, BINS)
    transmissions = frames / flat.astype(float)
    ct = plan(3, ROWS, BINS, flat)
    for length in (3, 10, 40):
        expected = np.stack([in_f64(t, length) for t in transmissions])
        ct.set_phase(length_um=length, pixel_um=1)
        print(f"{length:3d} bins, line integrals {expected.min():.2f} to {expected.max():.2f}: isocenter off by {np.abs(ct.filter(frames) - expected).max():.1e}",
              flush=True)
        for name, retrieve in peers((ROWS, BINS), length):
            off = max(np.abs(retrieve(t.astype(np.float32)) - e).max() for t, e in zip(transmissions, expected))
            print(f"    {name} off by {off:.1e}", flush=True)


def times():
    """In turn, so that other work on the machine meets all of them: medians and smallest processor time of a frame."""
    frames, flat = scan(VIEWS, SIDE, SIDE)
    transmissions = (frames / flat.astype(np.float32)).astype(np.float32)
    plain, with_phase = plan(VIEWS, SIDE, SIDE, flat), plan(VIEWS, SIDE, SIDE, flat)
    out = np.empty(frames.shape, np.float32)
    for length in (3, 10, 40):
        with_phase.set_phase(length_um=length, pixel_um=1)
        ways = {"counts to line integrals": (lambda: plain.filter(frames, out), VIEWS),
                "with phase": (lambda: with_phase.filter(frames, out), VIEWS)}
        ways.update({name: (lambda retrieve=retrieve: retrieve(transmissions[0]), 1) for name, retrieve in peers((SIDE, SIDE), length)})
        taken = {name: [] for name in ways}
        for _ in range(8):
            for name, (call, count) in ways.items():
                start, begun = time.perf_counter(), time.process_time()
                call()
                taken[name].append(((time.perf_counter() - start) / count, (time.process_time() - begun) / count))
        wall = {name: 1e3 * np.median([t for t, _ in times[1:]]) for name, times in taken.items()}
        processor = {name: 1e3 * min(p for _, p in times[1:]) for name, times in taken.items()}
        for name in ways:
            ratios = f"; {wall[name] / wall['with phase']:.1f} and {processor[name] / processor['with phase']:.1f} times ours"
            print(f"{length:3d} bins, {name:28s} {wall[name]:8.1f} ms a frame, processor {processor[name]:8.1f} ms" + ratios * (name not in list(ways)[:2]),
                  flush=True)


if __name__ == "__main__":
    errors()
    times()
