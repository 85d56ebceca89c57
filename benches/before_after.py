#!/usr/bin/env python3
"""Times calls of two libraries in turns, in one run.

usage: before_after.py A.so B.so [--device cpu|gpu] [--rounds N] [--threads N] [--only WORD] [--list]

Each library lives in a process of its own until the end, and one of both works at a time: A B, B A, A B ... of one call, then the next call. What else the
machine does falls on both. Arrays for a GPU lie in its memory where CuPy or PyTorch is there, else in page-locked memory of the host.

Columns: medians of A and B; the ratio of these; the middle half of the ratios of neighbouring runs, which is what the ratio is worth; the ratio of the
shortest runs, and of medians of processor time, which other processes on the machine disturb less.
"""
import argparse
import importlib
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

CASES = {}


def case(name, cpu=True, gpu=True):
    """A function that makes a call, from a `Place`."""
    def take(function):
        CASES[name] = function, {"cpu": cpu, "gpu": gpu}
        return function
    return take


class Place:
    """Where a call computes, and its arrays."""

    def __init__(self, device, threads):
        self.gpu = device == "gpu"
        self.context = isocenter.Context(device=device, threads=threads, log=lambda *_: None)
        self.arrays = self.owner() if self.gpu else None

    @staticmethod
    def owner():
        for name in ("cupy", "torch"):
            try:
                found = importlib.import_module(name)
                if (found.cuda.is_available if name == "torch" else found.is_available)():
                    return found
            except ImportError:
                pass
        return None

    def put(self, array):
        if not self.gpu:
            return array
        if self.arrays is None:
            made = self.context.empty(array.shape, array.dtype)
            made[...] = array
            return made
        return self.arrays.from_numpy(array).cuda() if self.arrays.__name__ == "torch" else self.arrays.asarray(array)

    def zeros(self, shape, dtype="float32"):
        return self.put(np.zeros(shape, dtype))

    def of(self, cpu, gpu):
        """A size."""
        return gpu if self.gpu else cpu


# Inputs


def generator(seed):
    return np.random.Generator(np.random.PCG64(seed))


def uniform(shape, seed=1):
    return generator(seed).random(shape, np.float32)


def complex_noise(shape, seed=1):
    rng = generator(seed)
    return (rng.standard_normal(shape, np.float32) + 1j * rng.standard_normal(shape, np.float32)).astype(np.complex64)


def lines(views, rows, bins, axis=None):
    """Line integrals of two ellipses and noise."""
    t, u = (np.arange(views) * np.pi / views)[:, None], np.arange(bins) - ((bins - 1) / 2 if axis is None else axis)
    made = np.zeros((views, bins))
    for value, x, y, a, b in ((1.0, 0.0, 0.0, 0.40, 0.32), (0.6, 0.13, 0.07, 0.09, 0.12)):
        off, reach = u - bins * (x * np.cos(t) + y * np.sin(t)), bins ** 2 * ((a * np.cos(t)) ** 2 + (b * np.sin(t)) ** 2)
        made += 2 * a * b * bins ** 2 * value * np.sqrt(np.maximum(reach - off * off, 0)) / reach
    return made[:, None].astype(np.float32) + np.float32(0.01 * bins) * (uniform((views, rows, bins)) - np.float32(0.5))


def counts(views, rows, bins):
    """Frames, flats and darks of uint16."""
    rng = generator(2)
    beam = 20000 * (1 + 0.2 * np.sin(np.arange(bins) / 7) + 0.02 * rng.standard_normal((rows, bins)))
    frames = beam * np.exp(-lines(views, rows, bins) / bins)
    frames[rng.random(frames.shape, np.float32) < 1e-3] = 60000
    return [v.astype(np.uint16) for v in (frames + 100, np.stack([beam + 100] * 4), np.full((4, rows, bins), 100))]


def golden(spokes, readout, axes):
    """Diameters, (samples, axes) in cycles per voxel."""
    k, along = np.arange(spokes), (np.arange(readout) - readout // 2) / readout
    if axes == 2:
        angle = k * np.pi * (np.sqrt(5) - 1) / 2
        to = np.stack([np.cos(angle), np.sin(angle)], -1)
    else:
        up, turn = 2 * ((0.4656 * k) % 1) - 1, 2 * np.pi * ((0.6823 * k) % 1)
        to = np.stack([np.sqrt(1 - up * up) * np.cos(turn), np.sqrt(1 - up * up) * np.sin(turn), up], -1)
    return (to[:, None] * along[:, None]).reshape(-1, axes)


def profiles(coils, shape):
    places = np.stack(np.meshgrid(*[(np.arange(n) - n // 2) / n for n in shape], indexing="ij"), -1)
    turn = 2 * np.pi * np.arange(coils) / coils
    centres = np.stack([0.6 * np.cos(turn), 0.6 * np.sin(turn), 0.2 * np.cos(2 * turn)][:len(shape)], -1)
    maps = np.stack([np.exp(-1.5 * ((places - c) ** 2).sum(-1) + 1j * (a + places[..., 0])) for c, a in zip(centres, turn)])
    return (maps / np.sqrt((abs(maps) ** 2).sum(0))).astype(np.complex64)


# CT


def ct(place, views, side, rows, **more):
    return isocenter.CT(place.context, **{**dict(angles=np.arange(views) * np.pi / views, bins=side, rows=rows), **more})


def on_projections(plan, function, place, given=None, dtype="float32"):
    source, target = place.put(uniform(plan.projections_shape) if given is None else given), place.zeros(plan.volume_shape, dtype)
    return lambda: function(source, target)


@case("FBP linear, slices of 512^2")
def fbp(place):
    plan = ct(place, 400, 512, place.of(16, 128))
    return on_projections(plan, plan.reconstruct, place)


@case("FBP linear, a slice of 1024^2")
def fbp_slice(place):
    plan = ct(place, 800, 1024, 1)
    return on_projections(plan, plan.reconstruct, place)


@case("FBP Fourier 1e-3, slices of 1024^2")
def fourier(place):
    plan = ct(place, 800, 1024, place.of(6, 64))
    plan.set_options(interpolation="band_limited", tolerance=1e-3)
    return on_projections(plan, plan.reconstruct, place)


@case("filter hann, rows of 1024")
def row_filter(place):
    plan = ct(place, 800, 1024, place.of(16, 128))
    plan.set_options(filter="hann")
    source, target = place.put(uniform(plan.projections_shape)), place.zeros(plan.projections_shape)
    return lambda: plan.filter(source, target)


@case("forward, slices of 512^2")
def forward(place):
    plan = ct(place, 200, 512, place.of(16, 64))
    volume, projections = place.put(uniform(plan.volume_shape)), place.zeros(plan.projections_shape)
    return lambda: plan.forward(volume, projections)


@case("adjoint, slices of 512^2")
def adjoint(place):
    plan = ct(place, 200, 512, place.of(16, 64))
    return on_projections(plan, plan.adjoint, place)


@case("forward Fourier, slices of 512^2")
def forward_fourier(place):
    plan = ct(place, 200, 512, place.of(16, 64))
    plan.set_options(projector="band_limited", tolerance=1e-3)
    volume, projections = place.put(uniform(plan.volume_shape)), place.zeros(plan.projections_shape)
    return lambda: plan.forward(volume, projections)


@case("adjoint Fourier, slices of 512^2")
def adjoint_fourier(place):
    plan = ct(place, 200, 512, place.of(16, 64))
    plan.set_options(projector="band_limited", tolerance=1e-3)
    return on_projections(plan, plan.adjoint, place)


def counted(place, views, side, rows):
    plan, (frames, flats, darks) = ct(place, views, side, rows), counts(views, rows, side)
    plan.set_flat_field(flats, darks)
    return plan, frames


@case("u16 frames to slices of 512^2, Vo's stripes")
def vo(place):
    plan, frames = counted(place, 400, 512, place.of(8, 64))
    plan.set_stripes("vo")
    return on_projections(plan, plan.reconstruct, place, frames)


@case("u16 frames to u16 slices of 512^2, significant stripes")
def significant(place):
    plan, frames = counted(place, 400, 512, place.of(8, 64))
    plan.set_stripes("significant")
    plan.set_output(dtype="u16")
    return on_projections(plan, plan.reconstruct, place, frames, "uint16")


def filtered(place, plan, given):
    plan.set_options(filter="none")
    source, target = place.put(given), place.zeros(plan.projections_shape)
    return lambda: plan.filter(source, target)


@case("wavelet-Fourier stripes, rows of 512")
def wavelet(place):
    plan = ct(place, 400, 512, place.of(48, 128))
    plan.set_stripes("wavelet_fourier")
    return filtered(place, plan, lines(400, plan.projections_shape[1], 512))


@case("outliers by medians of 3 x 3 x 3, u16 frames")
def outliers(place):
    plan, frames = counted(place, 200, 1024, place.of(24, 128))
    plan.set_outliers()
    return filtered(place, plan, frames)


@case("outliers by medians of 5 x 5 x 3, u16 frames")
def wide_outliers(place):
    plan, frames = counted(place, 100, 1024, place.of(8, 128))
    plan.set_outliers(window=5)
    return filtered(place, plan, frames)


@case("Paganin's phase, frames of 1024 x 64")
def phase(place):
    views = place.of(64, 400)
    plan = ct(place, views, 1024, 64)
    plan.set_phase(length_um=25, pixel_um=2)
    plan.set_options(input="transmission", filter="none")
    source, target = place.put(np.exp(-lines(views, 64, 1024) / 1024)), place.zeros(plan.projections_shape)
    return lambda: plan.filter(source, target)


def iterative(place, algorithm, views, side, rows, **words):
    plan = ct(place, views, side, rows)
    plan.set_options(algorithm=algorithm)
    plan.set_iterative(**words)
    return on_projections(plan, plan.reconstruct, place, lines(views, rows, side) + np.float32(0.1 * side))


@case("SIRT, 5 iterations, slices of 256^2")
def sirt(place):
    return iterative(place, "sirt", 120, 256, place.of(12, 128), iterations=5, bounds="non_negative")


@case("CGLS, 5 iterations, slices of 256^2")
def cgls(place):
    return iterative(place, "cgls", 120, 256, place.of(12, 128), iterations=5)


@case("OSEM, 2 iterations, slices of 256^2")
def osem(place):
    return iterative(place, "mlem", 120, 256, place.of(12, 128), iterations=2, subsets=6)


@case("total variation, 20 iterations, slices of 256^2")
def variation(place):
    return iterative(place, "total_variation", 60, 256, place.of(8, 64), iterations=20, bounds="non_negative", regularisation=5.0, tolerance=1e-9)


@case("find_axis, 1200 views of 16 x 1024")
def find_axis(place):
    plan, given = ct(place, 1200, 1024, 16), place.put(lines(1200, 16, 1024, 520.3))
    return lambda: plan.find_axis(given)


@case("find_axis by sharpness, 200 views of 4 x 256", gpu=False)
def sharpness(place):
    plan, given = ct(place, 200, 256, 4), place.put(lines(200, 4, 256, 130.3))
    return lambda: plan.find_axis(given, method="sharpness")


# MRI


def mri(place, k, shape, coils=1, precision="single", maps=False, **options):
    nx, ny, nz = (*shape[::-1], 1)[:3]
    plan = isocenter.MRI(place.context, trajectory=k, unit="cycles_per_voxel", nx=nx, ny=ny, nz=nz, coils=coils, precision=precision)
    if maps:
        plan.set_maps(place.put(profiles(coils, shape)))
    plan.set_options(**options)
    return plan


def pair(place, plan, forward):
    image, samples = place.put(complex_noise(plan.image_shape)), place.put(complex_noise(plan.samples_shape, 2))
    if forward:
        return lambda: plan.forward(image, samples)
    return lambda: plan.adjoint(samples, image)


def volume(place, forward):
    return pair(place, mri(place, golden(1694, 168, 3), (128, 128, 128), coils=place.of(1, 8), tolerance=1e-5), forward)


@case("NUFFT forward, 128^3, 284592 radial, 1e-5")
def volume_forward(place):
    return volume(place, True)


@case("NUFFT adjoint, 128^3, 284592 radial, 1e-5")
def volume_adjoint(place):
    return volume(place, False)


def scattered(place, forward):
    k = generator(3).uniform(-0.5, 0.5, (200_000, 3))
    return pair(place, mri(place, k, (96, 96, 96), precision="double"), forward)


@case("NUFFT forward, 96^3, 200000 scattered, f64")
def scattered_forward(place):
    return scattered(place, True)


@case("NUFFT adjoint, 96^3, 200000 scattered, f64")
def scattered_adjoint(place):
    return scattered(place, False)


def plane(place, forward):
    return pair(place, mri(place, golden(804, 512, 2), (256, 256), coils=place.of(8, 32), maps=True), forward)


@case("NUFFT forward with maps, 256^2, 8 coils, radial")
def plane_forward(place):
    return plane(place, True)


@case("NUFFT adjoint with maps, 256^2, 8 coils, radial")
def plane_adjoint(place):
    return plane(place, False)


@case("stack of stars adjoint, 128^2 x 32, 2 coils")
def stars(place):
    planes, flat = 32, golden(101, 256, 2)
    k = np.concatenate([np.column_stack([flat, np.full(len(flat), (z - planes // 2) / planes)]) for z in range(planes)])
    return pair(place, mri(place, k, (planes, 128, 128), coils=2), False)


@case("exact sums forward, 48^3, 32000 samples")
def exact_forward(place):
    return pair(place, mri(place, golden(200, 160, 3), (48, 48, 48), method="exact"), True)


@case("exact sums adjoint, 48^3, 32000 samples")
def exact_adjoint(place):
    return pair(place, mri(place, golden(200, 160, 3), (48, 48, 48), method="exact"), False)


def solved(place, k, shape, coils, **options):
    plan = mri(place, k, shape, coils, maps=True, **options)
    radius = 1e-3 + np.sqrt((k ** 2).sum(1))
    plan.set_weights(radius / radius.sum())
    plan.compute_q()
    samples, image = place.put(complex_noise(plan.samples_shape)), place.zeros(plan.image_shape, "complex64")
    return lambda: plan.reconstruct(samples, image)


@case("CG with Q, 10 iterations, 256^2, 8 coils")
def cg(place):
    return solved(place, golden(101, 512, 2), (256, 256), 8, iterations=10, normal="toeplitz", residual=1e-12)


@case("CG with Q, 3 iterations, 64^3, 4 coils")
def cg_volume(place):
    return solved(place, golden(800, 128, 3), (64, 64, 64), 4, iterations=3, normal="toeplitz", residual=1e-12)


@case("CG by the pair, 3 iterations, 256^2, 8 coils")
def cg_pair(place):
    return solved(place, golden(101, 512, 2), (256, 256), 8, iterations=3, normal="pair", residual=1e-12)


@case("FISTA with wavelets, 10 iterations, 256^2, 8 coils")
def wavelets(place):
    return solved(place, golden(101, 512, 2), (256, 256), 8, iterations=10, penalty="wavelets", lambda_=1e-3, residual=1e-12)


@case("FISTA with total variation, 10 iterations, 256^2, 8 coils")
def mri_variation(place):
    return solved(place, golden(101, 512, 2), (256, 256), 8, iterations=10, penalty="variation", lambda_=1e-3, residual=1e-12)


@case("density weights, 2-D, 51712 samples")
def density(place):
    plan = mri(place, golden(101, 512, 2), (256, 256))
    return lambda: plan.compute_weights()


def calibration(place, coils, shape):
    middle = tuple(slice(n // 2 - 12, n // 2 + 12) for n in shape)
    seen = np.stack([np.fft.fftshift(np.fft.fftn(p))[middle] for p in profiles(coils, shape)]).astype(np.complex64)
    return place.put(seen + complex_noise(seen.shape) * np.float32(0.1))


@case("coil maps, ESPIRiT, 192^2, 8 coils")
def espirit(place):
    given = calibration(place, 8, (192, 192))
    return lambda: isocenter.coil_maps(given, (192, 192), context=place.context)


@case("coil maps, adaptive, 40^3, 8 coils")
def adaptive(place):
    given = calibration(place, 8, (40, 40, 40))
    return lambda: isocenter.coil_maps(given, (40, 40, 40), method="adaptive", context=place.context)


@case("coil compression and its use, 32 to 8 coils, 204800 samples")
def compression(place):
    data = place.put(complex_noise((32, 400, 512)))

    def both():
        matrix, _ = isocenter.coil_compression(data, 8, context=place.context)
        isocenter.coil_apply(matrix, data, context=place.context)
    return both


# PET

INVARIANT = dict(tof_fwhm=400.0, radial_fwhm=5.8, axial_fwhm=5.8)
VARYING = dict(tof_fwhm=400.0, radial_table=[(0.0, 5.8), (300.0, 9.0)], axial_fwhm=5.8)


def pet(place, response=INVARIANT, **more):
    nx, nz = place.of((72, 24), (144, 48))
    plan = isocenter.PET(place.context, **{**dict(nx=nx, ny=nx, nz=nz, voxel_x=4.0, azimuths=place.of(20, 40), tilts=3, max_tilt=0.17), **more})
    plan.set_response(**response)
    return plan


def passes(place, response, azimuths=20, **options):
    plan = pet(place, response, azimuths=place.of(azimuths, 40))
    plan.set_options(**{**dict(iterations=1, relaxation=0.3), **options})
    measured = place.put((uniform(plan.histo_images_shape) < 0.1).astype(np.float32))
    image = place.zeros(plan.image_shape)
    return lambda: plan.reconstruct(measured, image=image)


@case("RAMLA pass, invariant response")
def ramla(place):
    return passes(place, INVARIANT)


@case("RAMLA pass, varying response")
def ramla_varying(place):
    return passes(place, VARYING, azimuths=8)


@case("RAMLA pass by direct sums, invariant response")
def ramla_gather(place):
    return passes(place, dict(tof_fwhm=100.0, radial_fwhm=5.8, axial_fwhm=5.8), projector="gather")


@case("MLEM pass, invariant response")
def mlem(place):
    return passes(place, INVARIANT, algorithm="mlem", relaxation=0.0)


@case("forward of all views, varying response")
def histos(place):
    plan = pet(place, VARYING)
    image, out = place.put(uniform(plan.image_shape)), place.zeros(plan.histo_images_shape)
    return lambda: plan.forward(image, out)


def list_mode(count):
    rng = generator(4)
    turn, z = rng.uniform(0, 2 * np.pi, count), rng.uniform(-45, 45, (2, count))
    away = turn + np.pi + rng.normal(0, 0.15, count)
    ends = [np.stack([390 * np.cos(a), 390 * np.sin(a), up], 1).astype(np.float32) for a, up in ((turn, z[0]), (away, z[1]))]
    return *ends, rng.normal(0, 250, count).astype(np.float32)


@case("deposit of 4 million events")
def deposit(place):
    plan, events = pet(place), [place.put(a) for a in list_mode(4_000_000)]
    out = place.zeros(plan.histo_images_shape)
    return lambda: plan.deposit(*events, out)


def scanner(place, **more):
    plan = pet(place, **more)
    positions, normals = isocenter.block_crystals(blocks=36, across=8, along=16, diameter=780.0, pitch_across=8.0)
    plan.set_scanner(positions, normals, crystal_width=8.0, crystal_height=8.0, time_edges=np.linspace(-1000, 1000, 201))
    return plan, len(positions)


@case("deposit of 4 million events that name crystals")
def deposit_crystals(place):
    plan, crystals = scanner(place)
    rng = generator(5)
    one = rng.integers(0, crystals, 4_000_000)
    other = (one + 144 + rng.integers(-20, 21, one.size)) % crystals
    given, times = place.put(np.stack([one, other], 1).astype(np.uint16)), place.put(rng.integers(0, 200, one.size).astype(np.uint8))
    out = place.zeros(plan.histo_images_shape)
    return lambda: plan.deposit_crystals(given, times, histo_images=out)


SMALL = dict(nx=32, ny=32, nz=6, voxel_x=6.0, azimuths=4, tilts=1)


def water(shape):
    places = np.meshgrid(*[(np.arange(n) + 0.5) / n - 0.5 for n in shape], indexing="ij")
    return (0.0096 * ((places[1] / 0.4) ** 2 + (places[2] / 0.4) ** 2 < 1)).astype(np.float32)


@case("factors of a scanner and a map")
def factors(place):
    plan, _ = scanner(place, **place.of(SMALL, {}))
    map, out = water(plan.image_shape), place.zeros(plan.histo_images_shape)
    return lambda: plan.factors(None, map, out)


@case("randoms of singles")
def randoms(place):
    plan, crystals = scanner(place, **place.of(SMALL, {}))
    singles, out = 100 + 100 * uniform(crystals), place.zeros(plan.histo_images_shape)
    return lambda: plan.randoms(singles, 600.0, out)


@case("scatter")
def scatter(place):
    plan, _ = scanner(place, **place.of(SMALL, {}))
    map, out = water(plan.image_shape), place.zeros(plan.histo_images_shape)
    return lambda: plan.scatter(map * 100, map, out=out, spacing=place.of(20.0, 12.0))


@case("simulation of 1 million events")
def simulate(place):
    plan = pet(place)
    bodies = [isocenter.Body("cylinder", half_x=100.0, half_z=40.0, activity=1.0, attenuation=0.0096),
              isocenter.Body("ellipsoid", x=30.0, y=-25.0, half_x=15.0, activity=3.0)]
    scan = isocenter.Scan(bodies, tof_fwhm=400.0, radial_fwhm=5.8, axial_fwhm=5.8, randoms=0.2, scatter=0.15, seed=1)
    arrays = [np.zeros(shape, np.float32) for shape in ((1_000_000, 3), (1_000_000, 3), 1_000_000)]
    names = "first_positions", "second_positions", "time_differences"
    return lambda: plan.simulate(scan, **dict(zip(names, arrays)))


# The process of a library: it takes words from its input, and answers each with a line.


def work(device, threads):
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever else is printed does not come between
    try:
        place, call = Place(device, threads), None
    except isocenter.Error as e:
        sys.exit(str(e))
    for line in sys.stdin:
        word, _, name = line.rstrip("\n").partition(" ")
        try:
            answer = None
            if word == "prepare":
                call = CASES[name][0](place)
                call()
            elif word == "run":
                wall, busy = time.perf_counter(), time.process_time()
                call()
                answer = time.perf_counter() - wall, time.process_time() - busy
            elif word == "drop":
                call = None
            elif word == "about":
                kept = f", arrays of {place.arrays.__name__ if place.arrays else 'the host'}" if place.gpu else ""
                answer = isocenter.build_info() + kept
        except Exception as e:
            call, answer = None, {"error": f"{type(e).__name__}: {e}"}
        print(json.dumps(answer), file=answers, flush=True)


class Library:
    """A process of a library."""

    def __init__(self, path, arguments):
        words = [sys.executable, __file__, "--work", "--device", arguments.device, "--threads", str(arguments.threads)]
        environment = {**os.environ, "ISOCENTER_LIBRARY": str(Path(path).resolve())}
        self.process = subprocess.Popen(words, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, words):
        self.process.stdin.write(f"{words}\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"a library's process ended with {self.process.wait()} at: {words}")
        answer = json.loads(line)
        if isinstance(answer, dict):
            raise RuntimeError(answer["error"])
        return answer

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def load():
    """What the machine does, of all its processes."""
    return f"load {os.getloadavg()[0]:.1f} on {len(os.sched_getaffinity(0))} processors" if hasattr(os, "sched_getaffinity") else ""


def timed(libraries, name, rounds):
    """Seconds and processor seconds of each library, (library, rounds) each."""
    for library in libraries:
        library.ask(f"prepare {name}")
    seen = [[], []]
    for k in range(rounds):
        for which in (0, 1) if k % 2 == 0 else (1, 0):
            seen[which].append(libraries[which].ask("run"))
    for library in libraries:
        library.ask("drop")
    return np.array(seen).transpose(2, 0, 1)


def compare(arguments, names):
    libraries = [Library(path, arguments) for path in arguments.libraries]
    for letter, library in zip("AB", libraries):
        print(f"{letter}: {library.ask('about')}")
    print(f"{arguments.rounds} rounds, {load()}\n")
    width = max(map(len, names))
    print(f"{'call':{width}}  {'A, ms':>8}  {'B, ms':>8}  {'B/A':>6}  {'middle half':>13}  {'shortest':>8}  {'processor':>9}", flush=True)
    ratios, failed = {}, 0
    for name in names:
        try:
            wall, busy = timed(libraries, name, arguments.rounds)
        except RuntimeError as e:
            failed += 1
            print(f"{name:{width}}  {e}", flush=True)
            continue
        a, b = np.median(wall, axis=1)
        low, high = np.percentile(wall[1] / wall[0], (25, 75))
        shortest, processor = (one[1] / one[0] if one[0] else np.nan for one in (wall.min(axis=1), np.median(busy, axis=1)))
        ratios[name] = b / a, shortest, processor
        print(f"{name:{width}}  {a * 1e3:8.1f}  {b * 1e3:8.1f}  {b / a:6.3f}  {low:5.3f} - {high:5.3f}  {shortest:8.3f}  {processor:9.3f}", flush=True)
    for library in libraries:
        library.close()
    if ratios:
        means = [statistics.geometric_mean(column) for column in zip(*ratios.values())]
        print(f"\nGeometric means of {len(ratios)} ratios: medians {means[0]:.3f}, shortest {means[1]:.3f}, processor time {means[2]:.3f}. "
              f"Largest ratio of medians: {max(ratios, key=ratios.get)}, {max(r[0] for r in ratios.values()):.3f}. Now {load()}.")
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("libraries", nargs="*", metavar="A.so B.so")
    parser.add_argument("--device", choices=("cpu", "gpu"), default="cpu")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=0, help="0: one for each processor")
    parser.add_argument("--only", default="", help="calls whose names contain this")
    parser.add_argument("--list", action="store_true", help="prints the calls' names")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.work:
        global isocenter
        import isocenter  # here, since the process that compares loads no library
        return work(arguments.device, arguments.threads)
    names = [name for name, (_, on) in CASES.items() if on[arguments.device] and arguments.only in name]
    if arguments.list:
        print(*names, sep="\n")
    elif len(arguments.libraries) != 2 or not names:
        parser.error("two libraries are needed, and calls to time")
    else:
        sys.exit(1 if compare(arguments, names) else 0)


if __name__ == "__main__":
    main()
