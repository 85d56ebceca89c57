#!/usr/bin/env python3
"""Prints what a fixed list of calls gives, as hashes of its bits, or compares the results of two libraries.

usage: bits.py [--device cpu|gpu] [--level LEVEL] [--threads N] [--only WORD] [--keep FOLDER]
       bits.py --compare A.so B.so [--device cpu|gpu] [--level LEVEL] [--only WORD]

The first form loads the library that ISOCENTER_LIBRARY names. A line is a call's name and the beginning of the SHA-256 of all that it gave: arrays with
their types and shapes, numbers, histories. Inputs are made by NumPy, not by the library, so that a difference shows where it arises and not in all calls
that come after. LEVEL is what ISOC_CPU_LEVEL takes: baseline, avx2, avx512.

The second form runs the first with both libraries, on the processor at each level that it has and with 1, 2 and 5 threads. It prints where results
depend on the library, and where those of one library depend on the threads or, on a GPU, are others when it runs again. Beside a difference is how large it
is: the largest of all numbers that a call gave, over the largest number in its array. The exit status is 1 if there is any difference, or a call failed.
"""
import argparse
import hashlib
import os
import re
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

import numpy as np

THREADS = 1, 2, 5
SECTIONS = []


def section(function):
    SECTIONS.append(function)
    return function


class Show:
    """Makes calls, and prints a line for each."""

    def __init__(self, keep):
        self.keep, self.prefix, self.failed = keep, "", 0

    def __call__(self, name, function, *arguments, **keywords):
        """What function(*arguments, **keywords) gives, or None where it fails: the list goes on, and the error is in the line."""
        name = f"{self.prefix}: {name}"
        try:
            result = function(*arguments, **keywords)
        except Exception as e:  # whatever it is, it is the result
            self.failed += 1
            print(f"{name}\t{type(e).__name__}: {e}".replace("\n", " "), flush=True)
            return None
        parts = list(flat(result))
        seen = hashlib.sha256()
        for part in parts:
            seen.update(f"{part.dtype.str} {part.shape} ".encode())
            seen.update(np.ascontiguousarray(part).tobytes())
        print(f"{name}\t{seen.hexdigest()[:16]}", flush=True)
        if self.keep:
            np.savez(self.keep / file_name(name), *parts)
        return result


def file_name(name):
    return f"{zlib.crc32(name.encode()):08x}.npz"


def flat(result):
    """The arrays that something is made of."""
    if isinstance(result, (tuple, list)):
        for part in result:
            yield from flat(part)
    elif result is not None:
        yield np.asarray(result)


# Inputs


def generator(seed):
    return np.random.Generator(np.random.PCG64(seed))


def uniform(shape, seed=1, low=0.0, high=1.0):
    return generator(seed).uniform(low, high, shape).astype(np.float32)


def noise(shape, dtype="complex64", seed=1):
    rng = generator(seed)
    real = rng.standard_normal(shape)
    return (real + 1j * rng.standard_normal(shape) if np.dtype(dtype).kind == "c" else real).astype(dtype)


# Value, centre and semi-axes in bins of a detector of one bin, angle.
BODY = ((1.0, 0.0, 0.0, 0.38, 0.31, 0.3), (0.7, 0.12, -0.08, 0.10, 0.14, 1.1), (-0.4, -0.15, 0.1, 0.07, 0.09, 0.0), (1.5, 0.05, 0.2, 0.03, 0.02, 0.7))


def lines(angles, rows, bins, axis=None, size=None):
    """Line integrals of some ellipses that change from row to row, (views, rows, bins)."""
    t, z = np.asarray(angles)[:, None, None], np.arange(rows)[None, :, None]
    size = size or bins
    u = np.arange(bins) - ((bins - 1) / 2 if axis is None else axis)
    out = np.zeros((len(angles), rows, bins))
    for value, x, y, a, b, turn in BODY:
        x, y, a, b = (v * size for v in (x, y, a, b))
        off = u - x * np.cos(t) * (1 + 0.1 * np.sin(z)) - y * np.sin(t)
        reach = (a * np.cos(t - turn)) ** 2 + (b * np.sin(t - turn)) ** 2
        out += 2 * a * b * value * np.sqrt(np.maximum(reach - off * off, 0)) / reach
    return out.astype(np.float32)


def half_turn(views):
    return 0.003 + np.arange(views) * np.pi / views


def frames_of(projections, seed=1, strength=20000):
    """Counts of a detector with darks, uneven flats, noise, some spikes and bad bins: frames, flats, darks of uint16."""
    views, rows, bins = projections.shape
    rng = generator(seed)
    beam = strength * (1 + 0.2 * np.sin(np.arange(bins) / 7) + 0.1 * np.cos(np.arange(rows) / 3)[:, None] + 0.02 * rng.standard_normal((rows, bins)))
    flats = np.stack([beam * (1 + 0.03 * np.sin(k) * np.cos(np.arange(bins) / 11)) for k in range(8)])
    counts = beam * np.exp(-projections.astype(float) / bins) * (1 + 0.01 * np.sin(np.arange(views)))[:, None, None]
    made = [np.clip(np.rint(100 + v + rng.normal(0, np.sqrt(strength) / 2, v.shape)), 1, 65535) for v in (counts, flats)]
    made[0][rng.random(counts.shape) < 1e-3] = 60000
    made[1][rng.random(flats.shape) < 1e-3] = 60000
    darks = np.clip(np.rint(100 + rng.normal(0, 3, (3, rows, bins))), 0, 65535)
    made[1][:, rows // 2, bins // 3] = 200  # a bin that sees nearly nothing
    return [v.astype(np.uint16) for v in (*made, darks)]


def spokes(count, readout, axes=2, turned=np.pi * (np.sqrt(5) - 1) / 2):
    """Diameters in cycles per voxel, (samples, axes)."""
    k, along = np.arange(count), (np.arange(readout) - readout // 2) / readout
    if axes == 2:
        to = np.stack([np.cos(k * turned), np.sin(k * turned)], -1)
    else:
        up = 2 * ((0.4656 * k) % 1) - 1
        across, turn = np.sqrt(1 - up * up), 2 * np.pi * ((0.6823 * k) % 1)
        to = np.stack([across * np.cos(turn), across * np.sin(turn), up], -1)
    return (to[:, None] * along[:, None]).reshape(-1, axes)


def spiral(arms, length, turns=12.0):
    along, arm = np.linspace(0, 1, length), np.arange(arms)[:, None]
    angle = 2 * np.pi * (turns * along + arm / arms)
    return np.stack([0.49 * along * np.cos(angle), 0.49 * along * np.sin(angle)], -1).reshape(-1, 2)


def stack_of(plane, planes, by_planes=True):
    """The same samples in planes along z."""
    k = np.empty((planes, len(plane), 3))
    k[..., :2], k[..., 2] = plane, ((np.arange(planes) - planes // 2) / planes)[:, None]
    return np.ascontiguousarray(k if by_planes else k.swapaxes(0, 1)).reshape(-1, 3)


def blobs(trajectory, shape, coils):
    """Samples of some Gaussians of sigma 2.5 voxels, each coil with strengths of its own, complex128."""
    rng, axes = generator(11), trajectory.shape[1]
    places = rng.uniform(-0.25, 0.25, (9, axes)) * shape[::-1]
    one_by_one = [np.exp(-2j * np.pi * (trajectory * place).sum(1)) for place in places]
    strengths = rng.uniform(0.3, 1, (coils, 9))
    wide = (2 * np.pi * 6.25) ** (axes / 2) * np.exp(-2 * np.pi ** 2 * 6.25 * (trajectory ** 2).sum(1))
    return sum(s[:, None] * one for s, one in zip(strengths.T, one_by_one)) * wide


def coil_profiles(coils, shape):
    """Smooth sensitivities, complex64."""
    places = np.stack(np.meshgrid(*[(np.arange(n) - n // 2) / n for n in shape], indexing="ij"), -1)
    turn = 2 * np.pi * np.arange(coils) / coils
    centres = np.stack([0.6 * np.cos(turn), 0.6 * np.sin(turn), 0.2 * np.cos(2 * turn)][:len(shape)], -1)
    maps = [np.exp(-1.5 * ((places - c) ** 2).sum(-1) + 1j * (a + places[..., 0])) for c, a in zip(centres, turn)]
    return (np.stack(maps) / np.sqrt(sum(abs(m) ** 2 for m in maps))).astype(np.complex64)


# CT

VIEWS, ROWS, BINS = 93, 19, 101


def ct_of(context, **more):
    return isocenter.CT(context(), **{**dict(angles=half_turn(VIEWS), bins=BINS, rows=ROWS), **more})


@section
def ct_filters(show, context):
    projections, ct = lines(half_turn(VIEWS), ROWS, BINS), ct_of(context)
    ramp = np.minimum(np.linspace(0, 0.5, 65), 0.3)
    for name, options in (("ram_lak", {}), ("shepp_logan", {}), ("cosine", {}), ("hamming", {"cutoff": 0.7}), ("hann", {"padding": "edge"}), ("parzen", {}),
                          ("butterworth", {"butterworth_order": 2.5}), ("none", {}), ("custom", {"response": ramp})):
        for interpolation in ("linear", "band_limited"):
            ct.set_options(filter=name, interpolation=interpolation, **options)
            show(f"{name} {interpolation}", ct.reconstruct, projections)
        show(f"{name} alone", ct.filter, projections)
    for interpolation, options in (("nearest", {}), ("oversampled", {}), ("band_limited", {"tolerance": 1e-2}), ("band_limited", {"tolerance": 1e-6})):
        ct.set_options(interpolation=interpolation, **options)
        show(f"{interpolation} {options}", ct.reconstruct, projections)
        show(f"{interpolation} {options} backproject", ct.backproject, projections)
    # The rest is for GPUs; processors do without.
    for kernel in ("texture_standard", "texture", "alu", "hybrid", "tensor"):
        for precision in ("single", "half"):
            show(f"{kernel} {precision}", lambda: (ct.set_options(kernel=kernel, precision=precision), ct.reconstruct(projections)))


@section
def ct_geometries(show, context):
    rng = generator(3)
    uneven = np.sort(rng.uniform(0, np.pi, VIEWS))
    for name, geometry in (
            ("one slice", dict(rows=1)), ("two slices", dict(rows=2)), ("nine slices", dict(rows=9)), ("uneven angles", dict(angles=uneven)),
            ("any order", dict(angles=rng.permutation(half_turn(VIEWS)))), ("full turn", dict(angles=2 * half_turn(VIEWS))),
            ("an axis a view", dict(axis=50 + rng.uniform(-1, 1, VIEWS))), ("wide", dict(nx=133, ny=71, pixel_size=0.8, x_offset=3.5, y_offset=-2.25)),
            ("region", dict(region=(13, 80, 5, 64))), ("some slices", dict(first_row=4, slices=11)), ("units", dict(bin_pitch=0.013, pixel_size=0.017)),
            ("one large slice", dict(angles=half_turn(201), bins=301, rows=1))):
        ct = ct_of(context, **geometry)
        views, rows, bins = ct.projections_shape
        projections = uniform((views, rows, bins), 5)
        for interpolation in ("linear", "band_limited"):
            ct.set_options(interpolation=interpolation)
            show(f"{name} {interpolation}", ct.reconstruct, projections)
        for projector in ("joseph", "band_limited"):
            ct.set_options(projector=projector)
            show(f"{name} forward {projector}", ct.forward, uniform(ct.volume_shape, 6))
            show(f"{name} adjoint {projector}", ct.adjoint, projections)
        show(f"{name} weights", ct.angular_weights)


@section
def ct_large(show, context):
    """More than what is worked on at a time."""
    ct = isocenter.CT(context(), angles=half_turn(399), bins=257, rows=67)
    projections = uniform(ct.projections_shape, 1)
    show("linear", ct.reconstruct, projections)
    show("forward", ct.forward, uniform(ct.volume_shape, 2))
    ct.set_options(interpolation="band_limited", projector="band_limited")
    show("band_limited", ct.reconstruct, projections)
    show("band_limited forward", ct.forward, uniform(ct.volume_shape, 2))
    few = np.ascontiguousarray(projections[::7])
    ct.set_geometry(angles=half_turn(399)[::7], bins=257, rows=67)
    for algorithm, words in (("sirt", dict(iterations=2)), ("cgls", dict(iterations=2)),
                             ("total_variation", dict(iterations=3, regularisation=0.1, bounds="non_negative"))):
        ct.set_options(algorithm=algorithm)
        ct.set_iterative(**words)
        show(algorithm, ct.reconstruct, few)
        show(f"{algorithm} history", ct.history)


@section
def ct_arrays(show, context):
    """Sinograms, strides, streams, slabs, values that are missing."""
    projections = lines(half_turn(VIEWS), ROWS, BINS)
    sinograms = np.ascontiguousarray(projections.swapaxes(0, 1))
    ct = ct_of(context, order="sinograms")
    show("sinograms", ct.reconstruct, sinograms)
    show("sinograms forward", ct.forward, uniform(ct.volume_shape, 2))
    ct = ct_of(context)
    out = np.zeros(ct.volume_shape[::-1], np.float32).transpose(2, 1, 0)
    show("strides", ct.reconstruct, np.asfortranarray(projections), out)
    bad = projections.copy()
    bad[generator(1).random(bad.shape) < 1e-3] = np.nan
    ct = isocenter.CT(context(nan_policy="replace"), angles=half_turn(VIEWS), bins=BINS, rows=ROWS)
    show("not a number", ct.reconstruct, bad)
    show("replaced", lambda: ct.info().replaced_values)
    for order in ("frames", "sinograms"):
        # A cap that makes several slabs.
        ct = isocenter.CT(context(memory_cap=16 << 20), angles=half_turn(180), bins=128, rows=61, order=order, first_row=2, slices=57)
        whole = uniform(ct.projections_shape, 4)
        show(f"slabs {order}", ct.reconstruct, whole)
        ct.set_options(interpolation="band_limited")
        show(f"slabs {order} band_limited", ct.reconstruct, whole)
        ct.set_options()

        def streamed():
            volume = np.zeros(ct.volume_shape, np.float32)

            def read(first, part):
                rows = slice(2 + first, 2 + first + part.shape[order == "frames"])
                part[...] = whole[:, rows] if order == "frames" else whole[rows]

            def write(first, slices):
                volume[first:first + len(slices)] = slices

            ct.reconstruct_stream(read, write)
            return volume
        show(f"stream {order}", streamed)
    ct = ct_of(context, rows=3)
    head = ct.shepp_logan(45.0)
    show("shepp_logan", lambda: head)
    show("phantom_volume", ct.phantom_volume, head)
    show("phantom_projections", ct.phantom_projections, head)


@section
def ct_counts(show, context):
    frames, flats, darks = frames_of(lines(half_turn(VIEWS), ROWS, BINS))
    monitor = 1 + 0.1 * np.sin(np.arange(VIEWS))
    groups = dict(group_frames=[3, 5], group_positions=[0, VIEWS], group_monitor=[1, 1.05], monitor=monitor)
    ct = ct_of(context)
    for name, options in (("mean", {}), ("median", dict(combine="median")), ("groups", groups), ("bad pixels", dict(bad_pixels=10)),
                          ("outliers", dict(outliers=True)), ("all", dict(combine="median", outliers=dict(side="both", depth=3), bad_pixels=8, **groups))):
        show(f"{name} set", ct.set_flat_field, flats, darks, **options)
        show(f"{name} filter", ct.filter, frames)
        show(f"{name} bad", lambda: ct.info().bad_pixels)
    show("reconstruct", ct.reconstruct, frames)
    ct.set_flat_field(flats[:1])
    show("without darks", ct.reconstruct, frames)
    small = (frames >> 8).astype(np.uint8)
    ct.set_flat_field(np.maximum(flats >> 8, 1).astype(np.uint8), outliers=True)
    show("uint8", ct.reconstruct, small)
    for name, given in (("counts", frames.astype(np.float32)), ("transmission", np.clip(frames / 30000, 1e-4, 2).astype(np.float32))):
        ct.set_options(input=name, minimum_transmission=1e-3)
        show(f"float {name}", ct.reconstruct, given)
    ct.set_options()
    ct.set_flat_field(flats, darks)
    for words in (dict(), dict(unit="median", side="both", window=5, depth=1, threshold=0.2), dict(unit="count", side="bright", window=3, depth=1, threshold=5000),
                  dict(side="dark", window=5, depth=3, threshold=4), dict(side="both", depth=3)):
        ct.set_outliers(**words)
        show(f"outliers {words}", ct.filter, frames)
        show(f"outliers {words} found", lambda: ct.info().outliers)
    show("outliers reconstruct", ct.reconstruct, frames)
    ct.leave_outliers()
    # Flats that differ by two patterns, and the beams of the views likewise.
    rng, patterns = generator(9), np.stack([np.cos(np.arange(BINS) / 7), np.sin(np.arange(BINS) / 17)])

    def beams(count, pace):
        strengths = 0.05 * np.stack([np.sin(pace * np.arange(count)), np.cos(1.7 * pace * np.arange(count))], 1)
        return 20000 * (1 + (strengths[:, :, None] * patterns).sum(1))[:, None, :] + rng.normal(0, 60, (count, ROWS, BINS))
    frames = (beams(VIEWS, 0.9) * np.exp(-lines(half_turn(VIEWS), ROWS, BINS) / BINS)).astype(np.float32)
    ct.set_options(input="counts")
    ct.set_flat_field(beams(18, 1.0).astype(np.float32), eigenflats=4)
    show("eigenflats", ct.fit_flat_field, frames[:40])
    show("eigenflats binned", ct.fit_flat_field, frames[40:], 40, binning=2)
    show("eigenflats filter", ct.filter, frames)


@section
def ct_frames(show, context):
    """Distortion and phase, of frames; with slices in parts of the detector."""
    transmissions = np.exp(-lines(half_turn(31), 43, 75) / 75)
    shifts = generator(2).uniform(-2, 2, (2, 31))
    lens = dict(radial=[1.004, -3e-4, 2e-6], x_centre=33.5, y_centre=-4.0)
    perspective = [1.01, -0.004, 0.9, 0.006, 0.99, -0.7, 1e-5, -2e-5]
    for place, geometry in (("whole", {}), ("part", dict(first_row=11, slices=9))):
        ct = isocenter.CT(context(), angles=half_turn(31), bins=75, rows=43, **geometry)
        ct.set_options(input="transmission")
        for name, words in (("lens", lens), ("perspective", dict(perspective=perspective)), ("tilt", dict(tilt=0.05)),
                            ("all", dict(**lens, perspective=perspective, tilt=-0.03, x_shifts=shifts[0], y_shifts=shifts[1]))):
            ct.set_distortion(**words)
            show(f"{place} {name}", ct.filter, transmissions)
        show(f"{place} distortion reconstruct", ct.reconstruct, transmissions)
        ct.leave_distortion()
        scan = dict(energy_kev=24, distance_mm=200, pixel_um=3, delta_beta=0.4)
        for name, words in (("paganin", scan), ("length", dict(length_um=9.0, pixel_um=3)), ("unsharp", dict(**scan, unsharp_sigma=0.8, unsharp_amount=0.3)),
                            ("ctf", dict(**scan, method="ctf", alpha=0.05))):
            ct.set_phase(**words)
            show(f"{place} {name}", ct.filter, transmissions)
        show(f"{place} phase reconstruct", ct.reconstruct, transmissions)


@section
def ct_stripes(show, context):
    bad = lines(half_turn(VIEWS), ROWS, BINS) + noise((VIEWS, ROWS, BINS), "float32") * np.float32(0.2)
    bad[:, :, 40] += 2
    bad[:, 3:, 70:73] = 20
    bad[:50, :, 20] *= 1.1
    ct = ct_of(context)
    for method, words in (("significant", {}), ("vo", {}), ("vo", dict(large_window=31, small_window=9, snr=2.5, drop_ratio=0.2)), ("sorting", {}),
                          ("sorting", dict(small_window=7)), ("regularised", {}), ("regularised", dict(alpha=1e-2)), ("wavelet_fourier", {}),
                          ("wavelet_fourier", dict(levels=2, sigma=1.5, wavelet=5)), ("wavelet_fourier", dict(levels=1, wavelet=2))):
        ct.set_stripes(method, **words)
        show(f"{method} {words}", ct.filter, bad)
    ct.set_options(filter="none")
    for method in ("significant", "vo", "sorting", "regularised", "wavelet_fourier"):
        ct.set_stripes(method)
        show(f"{method} unfiltered", ct.filter, bad)
        show(f"{method} reconstruct", ct.reconstruct, bad)


@section
def ct_half_acquisition(show, context):
    turn = 2 * half_turn(140)
    for name, bins, axis in (("left", 101, 20.0), ("right", 101, 82.5)):
        ct = isocenter.CT(context(), angles=turn, bins=bins, axis=axis, rows=11, nx=161, ny=161)
        projections = lines(turn, 11, bins, axis, size=150)
        for words in (dict(), dict(overlap=21, rise="linear")):
            ct.set_half_acquisition(**words)
            for interpolation in ("linear", "band_limited"):
                ct.set_options(interpolation=interpolation)
                show(f"{name} {words} {interpolation}", ct.reconstruct, projections)


@section
def ct_axis(show, context):
    for name, angles, axis in (("half a turn", half_turn(140), 52.6), ("full turn", 2 * half_turn(141), 47.3),
                               ("half acquisition", 2 * half_turn(140), 17.4)):
        size = 160 if axis < 30 else None
        projections = lines(angles, 9, 101, axis, size) + noise((len(angles), 9, 101), "float32") * np.float32(0.1)
        ct = isocenter.CT(context(), angles=angles, bins=101, rows=9)
        for method in ("auto", "opposite_views", "sinogram", "sharpness"):
            # Of half a turn and of an odd number no views oppose each other.
            if method != "opposite_views" or name == "half acquisition":
                show(f"{name} {method}", lambda: ct.find_axis(projections, method=method, curve=33)[1:])
        show(f"{name} tilt", lambda: ct.find_axis(projections, tilt=True)[1:])
        show(f"{name} near", lambda: ct.find_axis(projections, low=axis - 5, high=axis + 6, rows=4)[1:])
    show("weight by noise", ct.suggest_regularisation, projections)


@section
def ct_output(show, context):
    ct = ct_of(context, rows=21)
    projections = uniform(ct.projections_shape, 8)
    for words in (dict(dtype="u8", low=-0.01, high=0.02, histogram_bins=17), dict(dtype="u16", low=-0.01, high=0.02, histogram_bins=256), dict(dtype="f16"),
                  dict(dtype="u16"), dict(dtype="u8", low_percentile=5, high_percentile=90, mask_radius=0.8, histogram_slices=-1, histogram_bins=64),
                  dict(dtype="f16", low_percentile=1, high_percentile=99, mask_radius=0.9, mask_value=0.01),
                  dict(dtype="f32", mask_radius=0.7, histogram_bins=9)):
        ct.set_output(**words)
        show(f"{words}", ct.reconstruct, projections)
        show(f"{words} output", lambda: ct.output()[1:])
        show(f"{words} histogram", ct.histogram)


@section
def ct_iterative(show, context):
    ct = isocenter.CT(context(), angles=half_turn(45), bins=96, rows=11, nx=63, ny=65)
    data = lines(half_turn(45), 11, 96, size=70)
    rings = np.float32(np.arange(96) % 7 == 0)
    ct.set_ray_weights(uniform((45, 96), 3, 0.5, 1))
    box = dict(bounds="box", lower=0.0, upper=3.0)
    for projector in ("joseph", "band_limited"):
        for name, algorithm, given, words in (
                ("sirt", "sirt", data, dict(iterations=5)), ("sirt in bounds", "sirt", data, dict(iterations=4, relaxation=1.5, mask_radius=0.9, **box)),
                ("os-sart", "sirt", data, dict(iterations=3, subsets=9, bounds="non_negative")),
                ("cgls", "cgls", data, dict(iterations=6, regularisation=5.0)), ("cgls to a tolerance", "cgls", data, dict(iterations=30, tolerance=0.02)),
                ("cgls weighted", "cgls", data, dict(iterations=4, weighting="given")),
                ("mlem", "mlem", data, dict(iterations=4)), ("osem", "mlem", data, dict(iterations=2, subsets=5, mask_radius=0.95)),
                ("fista", "fista", data, dict(iterations=8, regularisation=2.0, **box)),
                ("fista by transmission", "fista", data / 50, dict(iterations=6, weighting="transmission", **box)),
                ("variation", "total_variation", data, dict(iterations=45, regularisation=0.5, **box)),
                ("variation to a gap", "total_variation", data, dict(iterations=200, regularisation=0.5, bounds="non_negative", tolerance=0.03)),
                ("variation huber", "total_variation", data, dict(iterations=25, regularisation=0.5, huber=0.05, mask_radius=0.9, **box)),
                ("variation of the volume", "total_variation", data, dict(iterations=25, regularisation=0.5, variation="volume", **box)),
                ("variation with rings", "total_variation", data + rings, dict(iterations=25, regularisation=0.5, ring_weight=0.3, **box)),
                ("variation weighted", "total_variation", data, dict(iterations=25, regularisation=0.5, weighting="given", **box)),
                ("variation poisson", "total_variation", data, dict(iterations=25, regularisation=1e-2, fit="poisson", **box))):
            if projector == "band_limited" and (algorithm in ("sirt", "mlem") or "fit" in words):
                continue  # which take no pair with weights below 0
            ct.set_options(algorithm=algorithm, projector=projector)
            ct.set_iterative(**words)
            show(f"{projector} {name}", ct.reconstruct, given)
            show(f"{projector} {name} history", ct.history)
    for normal in ("pair", "toeplitz", "auto"):
        for algorithm in ("cgls", "fista"):
            ct.set_options(algorithm=algorithm, projector="band_limited")
            ct.set_iterative(7, normal=normal)
            show(f"{algorithm} {normal}", ct.reconstruct, data)
    for algorithm, words in (("sirt", {}), ("cgls", {}), ("total_variation", dict(regularisation=0.5, bounds="non_negative"))):
        ct.set_options(algorithm=algorithm)
        ct.set_iterative(3, start="volume", **words)
        show(f"{algorithm} from a volume", ct.reconstruct, data, uniform(ct.volume_shape, 2))
    # One slice, and a cap that makes slabs.
    for name, more, geometry in (("one slice", {}, dict(rows=1)), ("slabs", dict(memory_cap=32 << 20), dict(rows=70))):
        ct = isocenter.CT(context(**more), angles=half_turn(61), bins=129, **geometry)
        given = lines(half_turn(61), geometry["rows"], 129)
        for algorithm, words in (("sirt", dict(subsets=3)), ("cgls", {}), ("mlem", {}),
                                 ("total_variation", dict(iterations=15, regularisation=0.5, bounds="non_negative"))):
            ct.set_options(algorithm=algorithm)
            ct.set_iterative(**{"iterations": 3, **words})
            show(f"{name} {algorithm}", ct.reconstruct, given)
            show(f"{name} {algorithm} history", ct.history)
    frames, flats, darks = frames_of(lines(half_turn(61), 5, 75))
    ct = isocenter.CT(context(), angles=half_turn(61), bins=75, rows=5)
    ct.set_flat_field(flats, darks)
    ct.set_stripes()
    ct.set_options(algorithm="sirt")
    ct.set_iterative(4)
    ct.set_output(dtype="u16")
    show("counts to uint16", ct.reconstruct, frames)


# PET

LATTICE = dict(nx=27, ny=23, nz=9, voxel_x=5.0, voxel_y=5.5, voxel_z=6.0, azimuths=7, tilts=2, max_tilt=0.2)
# The same kernel everywhere, and kernels that change with the distance from the axis; sharp ones, whose sums are short.
RESPONSES = {
    "invariant": dict(tof_fwhm=300.0, radial_fwhm=7.0, axial_fwhm=7.0),
    "varying": dict(tof_fwhm=300.0, radial_table=[(0.0, 6.0), (60.0, 9.0)], axial_fwhm=7.0),
    "asymmetric": dict(tof_fwhm=200.0, radial_table=[(0.0, 6.0), (60.0, 8.0)], axial_fwhm=7.0, profile="asymmetric", ratio=1.5, shift=0.8, share=0.3),
    "ellipsoid": dict(tof_fwhm=60.0, radial_fwhm=7.0, axial_fwhm=9.0, cut="ellipsoid", cut_width=2.5),
}


def pet_of(context, response="invariant", **more):
    pet = isocenter.PET(context(), **{**LATTICE, **more})
    pet.set_response(**RESPONSES[response])
    return pet


def disc(shape, middle=(0.5, 0.5, 0.5), half=(0.3, 0.35, 0.35), value=1.0):
    places = np.meshgrid(*[(np.arange(n) + 0.5) / n for n in shape], indexing="ij")
    return (value * (sum(((p - m) / h) ** 2 for p, m, h in zip(places, middle, half)) < 1)).astype(np.float32)


@section
def pet_projections(show, context):
    for response in RESPONSES:
        pet = pet_of(context, response)
        image, histos = uniform(pet.image_shape, 1), uniform(pet.histo_images_shape, 2)
        show(f"{response} tables", lambda: [pet.tables(v) for v in (0, 5, 13)])
        for projector, tolerance in (("auto", 0.0), ("gather", 0.0), ("fourier", 0.0), ("fourier", 1e-3)):
            pet.set_options(projector=projector, tolerance=tolerance)
            name = f"{response} {projector}{tolerance or ''}"
            show(f"{name} forward", pet.forward, image)
            show(f"{name} adjoint", pet.adjoint, histos)
            show(f"{name} some views", pet.forward, image, views=[11, 2, 7])
            show(f"{name} adjoint of counts", pet.adjoint, (9 * histos).astype(np.uint32))
            show(f"{name} sensitivity", pet.sensitivity)
            show(f"{name} sensitivity of factors", pet.sensitivity, histos)
    own = pet.tables(3)
    pet.set_tables(0, *own[:3])
    pet.set_options()
    show("own tables", pet.forward, image)
    pet = isocenter.PET(context(), **{**LATTICE, "azimuths": 0, "tilts": 0}, views=[(0.1, 0.0), (1.2, 0.1), (2.0, -0.15)])
    pet.set_response(**RESPONSES["varying"])
    show("listed views", pet.forward, image)
    # Lattices of more columns than one task takes.
    pet = pet_of(context, "varying", nx=71, ny=64, nz=5, azimuths=3, tilts=1)
    show("wide lattice", pet.forward, uniform(pet.image_shape, 3))


@section
def pet_reconstruct(show, context):
    for response in ("invariant", "varying"):
        pet = pet_of(context, response)
        shape, rng = pet.histo_images_shape, generator(4)
        measured = rng.poisson(5 * disc(pet.image_shape) + 1, shape).astype(np.uint32)
        factors, additive = uniform(shape, 5, 4, 6), uniform(shape, 6, 0.5, 1.5)
        for projector in ("gather", "fourier"):
            for name, words in (("ramla", {}), ("ramla relaxed", dict(relaxation=0.5, relaxation_decay=0.1, order="random", seed=3)),
                                ("osem", dict(algorithm="osem", subsets=3)), ("mlem", dict(algorithm="mlem")), ("bsrem", dict(algorithm="bsrem")),
                                ("svrg", dict(algorithm="svrg"))):
                pet.set_options(projector=projector, iterations=3, **words)
                show(f"{response} {projector} {name}", pet.reconstruct, measured, factors, additive)
                show(f"{response} {projector} {name} history", pet.history)
        pet.set_options(iterations=2)
        show(f"{response} counts alone", pet.reconstruct, measured)
        show(f"{response} float", pet.reconstruct, measured.astype(np.float32), factors)
        pet.set_options(iterations=2, warm_start=True, first_iteration=2)
        show(f"{response} warm", pet.reconstruct, measured, factors, additive, disc(pet.image_shape))
        pet.set_options(iterations=1, order="given")
        pet.set_order([3, 1, 12, 7])
        show(f"{response} given order", pet.reconstruct, measured, factors, additive)
    # Voxels for more than one task of what goes voxel by voxel.
    pet = pet_of(context, "varying", nx=61, ny=53, nz=17, azimuths=5, tilts=1)
    measured = generator(4).poisson(5 * disc(pet.image_shape) + 1, pet.histo_images_shape).astype(np.uint32)
    factors, additive = uniform(measured.shape, 5, 4, 6), uniform(measured.shape, 6, 0.5, 1.5)
    for algorithm in ("ramla", "osem", "mlem", "bsrem", "svrg"):
        pet.set_options(algorithm=algorithm, iterations=2)
        show(f"large {algorithm}", pet.reconstruct, measured, factors, additive)
        show(f"large {algorithm} history", pet.history)
    image = 0.1 + uniform(pet.image_shape, 7)
    weights, anatomy = uniform(pet.image_shape, 8), 7 * disc(pet.image_shape)
    for potential, words in (("relative_difference", dict(gamma=1.5, epsilon=0.1)), ("quadratic", {}), ("quadratic", dict(edge=0.4))):
        pet.set_prior(potential, strength=0.3, weights=weights, anatomy=anatomy, anatomy_sigma=2.0, **words)
        show(f"prior {potential} {words}", pet.prior_gradient, image)
        for algorithm in ("bsrem", "svrg"):
            pet.set_options(algorithm=algorithm, iterations=4)
            show(f"prior {potential} {words} {algorithm}", pet.reconstruct, measured, factors, additive)
            show(f"prior {potential} {words} {algorithm} history", pet.history)
    pet.set_regions((weights * 4).astype(np.uint8))
    pet.set_options(algorithm="svrg", iterations=15, stop_change=2e-2, stop_region_change=1e-2)
    show("stopped", pet.reconstruct, measured, factors, additive)
    show("stopped history", pet.history)


def bodies():
    return [isocenter.Body("cylinder", half_x=50.0, half_z=20.0, activity=1.0, attenuation=0.0096),
            isocenter.Body("ellipsoid", x=20.0, y=-15.0, half_x=10.0, activity=3.0),
            isocenter.Body("box", x=-20.0, half_x=8.0, half_y=12.0, half_z=9.0, activity=0.5)]


def events(count, seed, diameter=780.0):
    """Ends on a cylinder, and times: float32."""
    rng = generator(seed)
    turn, z = rng.uniform(0, 2 * np.pi, count), rng.uniform(-60, 60, (2, count))
    away = turn + np.pi + rng.normal(0, 0.12, count)
    first, second = (np.stack([diameter / 2 * np.cos(a), diameter / 2 * np.sin(a), up], 1).astype(np.float32) for a, up in ((turn, z[0]), (away, z[1])))
    return first, second, rng.normal(0, 250, count).astype(np.float32)


@section
def pet_events(show, context):
    pet = pet_of(context)
    first, second, times = events(150_000, 1)
    for name, dtype, out in (("float32", np.float32, np.uint32), ("float64", np.float64, np.float32)):
        histos = np.zeros(pet.histo_images_shape, out)
        show(f"deposit {name}", pet.deposit, *(a.astype(dtype) for a in (first, second, times)), histos)
        show(f"deposit {name} counts", lambda: histos)
    positions, normals = show("block_crystals", isocenter.block_crystals, blocks=36, across=8, along=16, diameter=780.0, pitch_across=8.0)
    pet.set_scanner(positions, normals, crystal_width=8.0, crystal_height=8.0, time_edges=np.linspace(-1000, 1000, 201))
    efficiencies = uniform(len(positions), 2, 0.5, 1)
    efficiencies[::50] = 0
    crystals, bins, _ = show("detect", pet.detect, first, second, times, efficiencies, seed=5)
    show("detect in ps", pet.detect, first, second, times, seed=6, bins=False)
    labels = (np.arange(len(bins)) % 3 == 0).astype(np.uint8)
    sets = np.zeros((2, *pet.histo_images_shape), np.uint32)
    show("deposit_crystals", pet.deposit_crystals, crystals, bins, labels, sets)
    show("deposit_crystals counts", lambda: sets)
    one = np.zeros(pet.histo_images_shape, np.float32)
    small = np.minimum(crystals, 2**16 - 1).astype(np.uint16)
    show("deposit_crystals of small numbers", pet.deposit_crystals, small, bins, histo_images=one, first_event=77)
    show("deposit_crystals of small numbers counts", lambda: one)
    show("fan_sums", pet.fan_sums, crystals)
    sums = show("fan_sums of labels", pet.fan_sums, crystals, labels, np.zeros((2, len(positions)), np.uint32))[0]
    show("singles", pet.singles, sums.sum(0, dtype=np.uint32), 600.0, window=900.0)
    for name, scan in (
            ("plain", dict(tof_fwhm=300.0, radial_fwhm=5.0, axial_fwhm=5.0, randoms=0.2, scatter=0.1)), ("sharp", dict()),
            ("table", dict(tof_fwhm=300.0, radial_table=[(0.0, 5.0), (60.0, 7.0)], axial_fwhm=5.0)), ("scattered", dict(energy_resolution=0.11, randoms=0.1)),
            ("map", dict(attenuation=np.full((6, 20, 24), 0.0096, np.float32), map_voxel=(5.0, 5.0, 10.0), map_centre=(10.0, 0.0, 0.0),
                         energy_resolution=0.1))):
        scan = isocenter.Scan(bodies() if name != "map" else [isocenter.Body(half_x=40.0, half_z=18.0, activity=1.0)], diameter=600.0, seed=7, **scan)
        made = show(f"simulate {name}", pet.simulate, scan, 30_000)
        if name != "map":
            show(f"expect {name}", pet.expect, scan, made[3])
    scan = isocenter.Scan(bodies(), seed=8, tof_fwhm=300.0)
    tally = show("simulate an image", pet.simulate, scan, 20_000, activity=uniform(pet.image_shape, 3))[3]
    show("expect an image", pet.expect, scan, tally, activity=uniform(pet.image_shape, 3))
    for quantity in ("activity", "attenuation"):
        show(f"phantom_image {quantity}", pet.phantom_image, bodies(), quantity)
    show("contrast_recovery", pet.contrast_recovery, uniform(pet.image_shape, 4, 1, 2), [[20.0, -15.0, 0.0]], 4.0)
    show("noise", pet.noise, uniform(pet.image_shape, 4, 1, 2))


@section
def pet_corrections(show, context):
    pet = pet_of(context)
    positions, normals = isocenter.block_crystals(blocks=36, across=8, along=16, diameter=780.0, pitch_across=8.0)
    pet.set_scanner(positions, normals, crystal_width=8.0, crystal_height=8.0, time_edges=np.linspace(-1000, 1000, 201))
    efficiencies = uniform(len(positions), 2, 0.5, 1)
    water = disc((41, 66, 71), value=0.0096)
    for name, arguments, words in (("plain", (), {}), ("efficiencies", (efficiencies,), dict(directions=50)), ("map", (None, water), dict(map_voxel=2.5)),
                                   ("all", (efficiencies.astype(float), water.astype(float)),
                                    dict(duration=600.0, half_life=6586.0, delay=3600.0, branching=0.967, live=0.9, map_voxel=2.0,
                                         map_centre=(5.0, 0.0, 2.0)))):
        show(f"factors {name}", pet.factors, *arguments, **words)
    singles = uniform(len(positions), 3, 100, 200)
    show("randoms", pet.randoms, singles, 600.0)
    show("randoms in a window", pet.randoms, singles, 600.0, window=300.0, directions=11)
    image = disc(pet.image_shape, half=(0.4, 0.3, 0.3))
    measured = generator(4).poisson(3 * disc(pet.image_shape) + 0.5, pet.histo_images_shape).astype(np.uint32)
    randoms = uniform(pet.histo_images_shape, 5, 0, 0.1)
    show("scatter", pet.scatter, image, water, map_voxel=2.5)
    show("scatter scaled", pet.scatter, 1e4 * image, water, efficiencies, measured, randoms, spacing=20.0, energy_resolution=0.13, map_voxel=3.0)
    show("scatter sharp", pet.scatter, image.astype(float), water, energy_lower=480.0, tof_fwhm=100.0, duration=10.0, branching=0.5, map_voxel=2.0)
    show("attenuation", pet.attenuation, noise((5, 31, 33), "float64", 6) * 600, 120.0)


# MRI


def mri_of(context, trajectory, shape, **more):
    nx, ny, nz = (*shape[::-1], 1)[:3]
    return isocenter.MRI(context(), trajectory=trajectory, unit="cycles_per_voxel", nx=nx, ny=ny, nz=nz, **more)


def trajectories():
    """(name, trajectory, voxels)"""
    yield "radial", spokes(101, 128), (61, 67)
    yield "radial even", spokes(64, 128, turned=np.pi / 64), (64, 64)
    yield "spiral", spiral(9, 900), (61, 66)
    yield "scattered", generator(5).uniform(-0.5, 0.5, (9001, 2)), (75, 50)
    yield "large plane", spokes(60, 401), (201, 210)
    yield "radial 3-D", spokes(399, 48, 3), (23, 26, 24)
    yield "scattered 3-D", generator(6).uniform(-0.5, 0.5, (7001, 3)), (17, 19, 21)
    yield "stack of stars", stack_of(spokes(33, 48), 10), (10, 25, 24)
    turned = spokes(330, 48).reshape(10, -1, 2)
    yield "stack of turned stars", np.concatenate([stack_of(plane, 10).reshape(10, -1, 3)[k] for k, plane in enumerate(turned)]), (10, 25, 24)
    yield "stack of spirals, spoke by spoke", stack_of(spiral(5, 200, 5.0), 9, by_planes=False), (9, 24, 26)


@section
def mri_transforms(show, context):
    for name, trajectory, shape in trajectories():
        for precision, dtype in (("single", "complex64"), ("double", "complex128")):
            coils = 3
            mri = mri_of(context, trajectory, shape, coils=coils, precision=precision)
            images, samples = noise((coils, *shape), dtype, 1), noise((coils, len(trajectory)), dtype, 2)
            finest = 1e-6 if precision == "single" else 1e-12
            ways = [("", {}), (" coarse", dict(tolerance=1e-3, upsampling=1.25)), (" fine", dict(tolerance=finest, upsampling=2.0))]
            if name not in ("large plane", "radial even"):
                ways.append((" exact", dict(method="exact")))
            for way, options in ways:
                mri.set_options(**options)
                show(f"{name} {precision}{way} forward", mri.forward, images)
                show(f"{name} {precision}{way} adjoint", mri.adjoint, samples)
        single = mri_of(context, trajectory.astype(np.float32), shape)
        show(f"{name} one coil forward", single.forward, noise(shape))
        show(f"{name} one coil adjoint", single.adjoint, noise(len(trajectory)))
        single.set_options(method="exact")
        if name in ("radial", "stack of stars"):
            show(f"{name} one coil exact adjoint", single.adjoint, noise(len(trajectory)))
    for unit, scaled in (("cycles_per_field_of_view", spokes(33, 64) * [40, 41]), ("radians_per_voxel", spokes(33, 64) * 2 * np.pi)):
        mri = isocenter.MRI(context(), trajectory=scaled, unit=unit, nx=40, ny=41)
        show(unit, mri.forward, noise((41, 40)))


@section
def mri_weights(show, context):
    for name, trajectory, shape in trajectories():
        coils, dtype = 4, "complex64"
        mri = mri_of(context, trajectory, shape, coils=coils)
        samples, image, maps = noise((coils, len(trajectory)), dtype, 2), noise(shape, dtype, 3), coil_profiles(coils, shape)
        kinds = [("iterative", 0), ("iterative", 3)]
        if name.startswith("radial"):
            kinds.append(("radial", 48 if "3-D" in name else 128))
        for kind, parameter in kinds:
            mri.compute_weights(kind, parameter)
            show(f"{name} {kind} {parameter}", mri.weights)
        show(f"{name} gridding", mri.gridding, samples)
        mri.set_maps(maps)
        show(f"{name} gridding with maps", mri.gridding, samples)
        show(f"{name} forward with maps", mri.forward, image)
        show(f"{name} adjoint with maps", mri.adjoint, samples)
        for normal in ("toeplitz", "pair"):
            mri.set_options(normal=normal, lambda_=1e-3)
            show(f"{name} normal {normal}", mri.normal, image)
        mri.set_options()
        mri.compute_q()
        show(f"{name} q", mri.export_q)


@section
def mri_reconstruct(show, context):
    for name, trajectory, shape in (("radial", spokes(45, 128), (61, 67)), ("radial 3-D", spokes(299, 48, 3), (23, 26, 24)),
                                    ("stack of stars", stack_of(spokes(25, 48), 10), (10, 25, 24))):
        for precision, dtype in (("single", "complex64"), ("double", "complex128")):
            coils = 3
            mri = mri_of(context, trajectory, shape, coils=coils, precision=precision)
            samples = (blobs(trajectory, shape, coils) + 0.5 * noise((coils, len(trajectory)), seed=4)).astype(dtype)
            # Of a sum of 1, so that F^H W F is near 1 and the penalties' weights are those of an image of values near 1.
            weights = 1e-3 + np.hypot(*trajectory.T[:2]) if "3-D" not in name else 1e-4 + (trajectory ** 2).sum(1)
            mri.set_weights(weights / weights.sum())
            mri.set_options(iterations=3)
            show(f"{name} {precision} coil by coil", mri.reconstruct, samples)
            mri.set_maps(coil_profiles(coils, shape))
            for normal in ("toeplitz", "pair"):
                for penalty in ("identity", "differences"):
                    mri.set_options(iterations=4, normal=normal, penalty=penalty, lambda_=1e-3)
                    show(f"{name} {precision} {normal} {penalty}", mri.reconstruct, samples)
                    show(f"{name} {precision} {normal} {penalty} history", mri.history)
            for algorithm in ("fista", "primal_dual"):
                for penalty, options in (("wavelets", {}), ("wavelets", dict(wavelet="haar", levels=1, fixed_grid=True)), ("variation", {}),
                                         ("variation", dict(huber=0.01))):
                    mri.set_options(iterations=5, penalty=penalty, algorithm=algorithm, lambda_=0.02, **options)
                    show(f"{name} {precision} {algorithm} {penalty} {options}", mri.reconstruct, samples)
                    show(f"{name} {precision} {algorithm} {penalty} {options} objective", lambda: (mri.objective(), mri.gap(), mri.history()))
            mri.set_options(iterations=2, warm_start=True)
            show(f"{name} {precision} warm", mri.reconstruct, samples, noise(shape, dtype, 5))
    # Voxels for more than one task of what goes voxel by voxel.
    for name, trajectory, shape in (("large plane", spokes(60, 451), (223, 231)), ("large volume", spokes(299, 96, 3), (37, 49, 42))):
        mri = mri_of(context, trajectory, shape, coils=2)
        samples = (blobs(trajectory, shape, 2) + 0.5 * noise((2, len(trajectory)), seed=4)).astype(np.complex64)
        mri.set_weights(np.full(len(trajectory), 1 / len(trajectory)))
        mri.set_maps(coil_profiles(2, shape))
        for penalty, options in (("identity", {}), ("identity", dict(normal="pair")), ("differences", {}), ("wavelets", {}),
                                 ("wavelets", dict(algorithm="primal_dual")), ("variation", {}), ("variation", dict(algorithm="primal_dual", huber=0.01))):
            mri.set_options(iterations=3, penalty=penalty, lambda_=0.01, **options)
            show(f"{name} {penalty} {options}", mri.reconstruct, samples)
            show(f"{name} {penalty} {options} history", lambda: (mri.objective(), mri.gap(), mri.history()))
    shape = (61, 67)
    mri = mri_of(context, spokes(45, 128), shape)
    mri.set_difference_weights(uniform((2, *shape), 6))
    mri.set_options(iterations=3, penalty="differences", lambda_=0.1)
    samples = noise(45 * 128, seed=4)
    show("weighted differences", mri.reconstruct, samples)
    count = shape[0] * shape[1]
    columns = np.stack([np.arange(count), (np.arange(count) * 7) % count], 1).ravel()
    mri.set_matrix(np.arange(0, 2 * count + 1, 2), columns, uniform(2 * count, 7).astype(np.float64))
    mri.set_options(iterations=3, penalty="matrix", lambda_=0.1)
    show("matrix", mri.reconstruct, samples)

    def read(first, part):
        part[...] = samples[first:first + part.shape[1]]
    mri.set_options(iterations=3)
    show("stream", mri.reconstruct_stream, read, 1000)
    show("gridding stream", mri.gridding_stream, read, 999)
    head = mri.shepp_logan(30.0)
    show("phantom", lambda: (head, mri.phantom_samples(head), mri.phantom_image(head)))
    show("compare", mri.compare, noise(shape, seed=8), noise(shape, seed=9))
    mri = mri_of(context, spokes(99, 48, 3), (23, 26, 24))
    head = mri.shepp_logan(11.0, 10.0)
    show("phantom 3-D", lambda: (head, mri.phantom_samples(head), mri.phantom_image(head)))


@section
def mri_series(show, context):
    coils, shape, readout, count = 3, (33, 35), 64, 60
    trajectory, samples = spokes(count, readout), noise((coils, count * readout), seed=1)
    mri = mri_of(context, trajectory, shape, coils=coils)
    mri.set_maps(coil_profiles(coils, shape))
    for name, make in (("windows", lambda: mri.set_windows(20 * readout, 10 * readout)),
                       ("frames", lambda: mri.set_frames([0, 640, 2000], [1280, 1920, 700]))):
        make()
        mri.compute_weights()
        show(f"{name} adjoint", mri.adjoint, samples)
        show(f"{name} gridding", mri.gridding, samples)
        mri.set_options(iterations=3)
        show(f"{name} reconstruct", mri.reconstruct, samples)
        for options in (dict(penalty="low_rank"), dict(penalty="low_rank", block=5, fixed_grid=True), dict(penalty="wavelets", joint=True),
                        dict(penalty="variation", joint=True), dict(penalty="variation", algorithm="primal_dual")):
            mri.set_options(iterations=4, lambda_=0.02, **options)
            show(f"{name} {options}", mri.reconstruct, samples)
            show(f"{name} {options} objective", lambda: (mri.objective(), mri.history()))
    mri.set_frames(None, None)
    for name, basis in (("real basis", np.stack([np.ones(count), np.exp(-np.arange(count) / 20)], 1)),
                        ("complex basis", noise((count, 3), "complex128", 2))):
        mri.set_basis(basis, np.repeat(np.arange(count), readout))
        images = noise((basis.shape[1], *shape), seed=3)
        show(f"{name} forward", mri.forward, images)
        show(f"{name} adjoint", mri.adjoint, samples)
        for normal in ("toeplitz", "pair"):
            mri.set_options(iterations=4, normal=normal, lambda_=1e-2)
            show(f"{name} {normal}", mri.reconstruct, samples)
            show(f"{name} {normal} history", mri.history)
        mri.set_options(iterations=3, penalty="low_rank", lambda_=0.02)
        show(f"{name} low_rank", mri.reconstruct, samples)


@section
def mri_field(show, context):
    for name, trajectory, shape in (("spiral", spiral(5, 500), (53, 51)), ("radial 3-D", spokes(99, 32, 3), (13, 15, 14))):
        field = (60 * np.sin(np.arange(np.prod(shape)) / 37)).reshape(shape)
        decay, times = uniform(shape, 2, 0, 80).astype(float), np.arange(len(trajectory)) % 500 * 1e-5
        for precision, dtype in (("single", "complex64"), ("double", "complex128")):
            mri = mri_of(context, trajectory, shape, coils=2, precision=precision)
            mri.set_maps(coil_profiles(2, shape))
            image, samples = noise(shape, dtype, 1), noise((2, len(trajectory)), dtype, 2)
            for kind, maps in (("field", (field, times)), ("field and decay", (field, times, decay))):
                mri.set_field(*maps)
                for method in ("auto", "exact"):
                    mri.set_options(method=method)
                    show(f"{name} {precision} {kind} {method} forward", mri.forward, image)
                    show(f"{name} {precision} {kind} {method} adjoint", mri.adjoint, samples)
                mri.set_options(method="exact", sines="hardware")
                show(f"{name} {precision} {kind} exact with the GPU's sines", mri.forward, image)
                for normal in ("toeplitz", "pair"):
                    mri.set_options(iterations=3, normal=normal)
                    show(f"{name} {precision} {kind} {normal}", mri.reconstruct, samples)
            mri.set_field(None, None)
            mri.set_options()
            axes = trajectory.shape[1]
            mri.set_positions(generator(3).uniform(-6, 6, (*shape, axes)))
            show(f"{name} {precision} positions forward", mri.forward, image)
            show(f"{name} {precision} positions adjoint", mri.adjoint, samples)


@section
def coils(show, context):
    place = dict(context=context())
    for dtype in ("complex64", "complex128"):
        mixed = np.einsum("cd,dys->cys", noise((5, 5), "complex128", 1), noise((5, 71, 200), "complex128", 2)).astype(dtype)
        white = show(f"{dtype} whitening", isocenter.coil_whitening, mixed, **place)
        show(f"{dtype} apply", isocenter.coil_apply, white, mixed, **place)
        data = noise((7, 99, 131), dtype, 3) * (0.6 ** np.arange(7))[:, None, None].astype(dtype)
        for geometric in (False, True):
            matrix, _ = show(f"{dtype} compression {geometric}", isocenter.coil_compression, data, 3, geometric=geometric, **place)
            show(f"{dtype} compressed {geometric}", isocenter.coil_apply, matrix, data, **place)
        for name, small, shape, kernel in (("plane", (22, 25), (93, 101), {}),
                                           ("volume", (9, 10, 11), (14, 17, 19), dict(kernel_x=4, kernel_y=3, kernel_z=3))):
            taps = noise((6, *[3] * len(small)), "complex128", 4)
            object_ = noise([n + 2 for n in small], "complex128", 6)
            calibration = sum(taps[(slice(None), *at)][(..., *[None] * len(small))] * object_[tuple(slice(2 - a, 2 - a + n) for a, n in zip(at, small))]
                              for at in np.ndindex(*[3] * len(small))).astype(dtype)
            calibration += (0.01 * noise(calibration.shape, "complex128", 7)).astype(dtype)
            for method, words in (("espirit", dict(sets=2, crop=-1, **kernel)), ("espirit", dict(threshold=0.05, **kernel)), ("adaptive", {}),
                                  ("adaptive", dict(window=3, sets=2)), ("adaptive", dict(crop=0.3))):
                show(f"{dtype} {name} {method} {words}", isocenter.coil_maps, calibration, shape, method=method, eigenvalues=True, **words, **place)


# Both forms of the program.


def run(arguments):
    keep = Path(arguments.keep) if arguments.keep else None
    if keep:
        keep.mkdir(parents=True, exist_ok=True)

    def context(**more):
        return isocenter.Context(device=arguments.device, threads=arguments.threads, log=lambda *_: None, **more)
    show = Show(keep)
    for function in SECTIONS:
        if arguments.only in function.__name__:
            show.prefix = function.__name__
            try:
                function(show, context)
            except Exception as e:
                show.failed += 1
                print(f"{show.prefix}\tended early, {type(e).__name__}: {e}".replace("\n", " "), flush=True)
    return show.failed


def environment(library, level):
    changed = {**os.environ, "ISOCENTER_LIBRARY": str(Path(library).resolve())}
    changed.pop("ISOC_CPU_LEVEL", None)
    if level:
        changed["ISOC_CPU_LEVEL"] = level
    return changed


def levels(library):
    """Those that this processor has, of the library's."""
    asked = [sys.executable, "-c", "import isocenter; print(isocenter.build_info())"]
    said = subprocess.run(asked, env=environment(library, None), check=True, capture_output=True, text=True).stdout
    names, best = re.search(r"cpu levels (.*?), using (\w+)", said).groups()
    names = names.split(", ")
    return names[:names.index(best) + 1]


def results(library, arguments, level, threads, keep):
    words = [sys.executable, __file__, "--device", arguments.device, "--threads", str(threads), "--only", arguments.only, "--keep", str(keep)]
    done = subprocess.run(words, env=environment(library, level), stdout=subprocess.PIPE, text=True)
    found = dict(line.rstrip("\n").split("\t", 1) for line in done.stdout.splitlines())
    if done.returncode not in (0, 1):
        found["(all)"] = f"the program ended with {done.returncode}"
    return found


def size_of_difference(name, one, other):
    """In words."""
    files = [folder / file_name(name) for folder in (one, other)]
    if not all(file.exists() for file in files):
        return ""
    with np.load(files[0]) as a, np.load(files[1]) as b:
        pairs = [(a[key], b[key]) for key in a.files if key in b.files]
    if len(pairs) == 0 or any(p.shape != q.shape or p.dtype.kind not in "biufc" for p, q in pairs):
        return ", of other shapes"
    largest, off, count = 0.0, 0, 0
    for p, q in pairs:
        if p.size:
            wide = np.complex128 if p.dtype.kind == "c" else np.float64
            p, q = p.astype(wide), q.astype(wide)
            with np.errstate(invalid="ignore", divide="ignore"):
                away = np.where((p == q) | (np.isnan(p) & np.isnan(q)), 0, np.abs(p - q))
                scale = np.abs(p[np.isfinite(p)]).max(initial=0)
            off, count = off + np.count_nonzero(away), count + away.size
            largest = max(largest, away.max() / scale if scale else away.max())
    return f", {off} of {count} numbers by up to {largest:.1e}"


def compare(arguments):
    libraries = dict(zip("AB", arguments.compare))
    both = [levels(library) for library in libraries.values()]
    chosen = [level for level in both[0] if level in both[1]]
    if arguments.level or arguments.device == "gpu":
        chosen = [arguments.level or chosen[-1]]
    differences, failures, unsteady, calls = 0, set(), {"A": set(), "B": set()}, 0
    for level in chosen:
        with tempfile.TemporaryDirectory() as folder:
            found = {}
            for threads in THREADS:
                for letter, library in libraries.items():
                    found[letter, threads] = results(library, arguments, level, threads, Path(folder) / f"{letter}{threads}")
            folder = Path(folder)
            names = list(dict.fromkeys(name for each in found.values() for name in each))
            calls = max(calls, len(names))
            for name in names:
                seen = {key: each.get(name, "missing") for key, each in found.items()}
                for (letter, threads), value in seen.items():
                    if not re.fullmatch("[0-9a-f]{16}", value) and (letter, name, value) not in failures:
                        failures.add((letter, name, value))
                        print(f"failed: {letter}, {level}, {threads} threads: {name}: {value}", flush=True)
                for letter in "AB":
                    own = [seen[letter, threads] for threads in THREADS]
                    if len(set(own)) > 1:
                        unsteady[letter].add((level, name))
                        other = next(k for k in range(len(own)) if own[k] != own[0])
                        how = size_of_difference(name, folder / f"{letter}{THREADS[0]}", folder / f"{letter}{THREADS[other]}")
                        print(f"depends on threads: {letter}, {level}: {name}: {', '.join(f'{n}: {v}' for n, v in zip(THREADS, own))}{how}", flush=True)
                for threads in THREADS:
                    if seen["A", threads] != seen["B", threads]:
                        differences += 1
                        how = size_of_difference(name, folder / f"A{threads}", folder / f"B{threads}")
                        print(f"different: {level}, {threads} threads: {name}: {seen['A', threads]} {seen['B', threads]}{how}", flush=True)
    print(f"{calls} calls, levels {', '.join(chosen)}, {', '.join(map(str, THREADS))} threads on the {arguments.device}: {differences} differences between "
          f"A and B; results that depend on threads: {len(unsteady['A'])} of A, {len(unsteady['B'])} of B; {len(failures)} failures")
    return bool(differences or failures or unsteady["A"] or unsteady["B"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compare", nargs=2, metavar=("A.so", "B.so"))
    parser.add_argument("--device", choices=("cpu", "gpu"), default="cpu")
    parser.add_argument("--level", help="of instructions: baseline, avx2, avx512")
    parser.add_argument("--threads", type=int, default=0, help="0: one for each processor")
    parser.add_argument("--only", default="", help="sections whose names contain this")
    parser.add_argument("--keep", metavar="FOLDER", help="writes there what calls gave")
    arguments = parser.parse_args()
    if arguments.compare:
        sys.exit(compare(arguments))
    if arguments.level:
        os.environ["ISOC_CPU_LEVEL"] = arguments.level
    global isocenter
    import isocenter  # here, since a comparison loads no library itself
    sys.exit(1 if run(arguments) else 0)


if __name__ == "__main__":
    main()
