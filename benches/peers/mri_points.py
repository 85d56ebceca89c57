#!/usr/bin/env python3
"""Times of long trajectories, of two libraries in turns: `set_geometry`, and the first transform after it, which sorts the samples.

usage: mri_points.py A.so B.so [--cpu] [--rounds N] [--only NAME]

Each library lives in a process of its own. Samples and image are on the device; the trajectory is on the host or on the device, f64 or f32. A
round is a new plan. Medians of rounds, in ms; the first round, in which memory is touched and kernels are loaded, is left out. Prints whether both
libraries' images are the same, bit for bit. Needs NumPy, and CuPy for a GPU.
"""
import argparse
import hashlib
import json
import os
import statistics
import subprocess
import sys
import time

import numpy as np

# Voxels along an axis, samples, precision, tolerance, kind of trajectory.
CASES = {
    "284,592 radial f32": (128, 284_592, "single", 1e-5, 121),
    "10 M radial f32": (256, 10_000_000, "single", 1e-5, 500),
    "16.8 M uniform f64": (256, 1 << 24, "double", 1e-6, None),
    "1 M radial f32, 128^3": (128, 1_000_000, "single", 1e-5, 500),
}
PLACES = [(place, kind) for place in ("host", "device") for kind in ("float64", "float32")]


def trajectory(samples, readout):
    rng = np.random.default_rng(1)
    if readout is None:
        return rng.uniform(-0.5, 0.5, (samples, 3))
    spokes = rng.normal(size=(-(-samples // readout), 3))
    spokes /= np.linalg.norm(spokes, axis=1, keepdims=True)
    along = (np.arange(readout) - readout // 2) / readout
    return (spokes[:, None, :] * along[None, :, None]).reshape(-1, 3)[:samples]


def work(cpu):
    """Answers a line of JSON, a case and a place, with times and the image's digest."""
    import isocenter
    cupy = None
    if not cpu:
        import cupy
    context = isocenter.Context(device="cpu" if cpu else "gpu", log=lambda *_: None)
    made = {}
    for line in sys.stdin:
        name, place, kind = json.loads(line)
        side, samples, precision, tolerance, readout = CASES[name]
        if made.get("of") != (name, place, kind):
            made.clear()
            dtype = np.complex64 if precision == "single" else np.complex128
            rng = np.random.default_rng(2)
            given = (rng.standard_normal(samples) + 1j * rng.standard_normal(samples)).astype(dtype)[None]
            k = trajectory(samples, readout).astype(kind)
            image = np.zeros((1,) + 3 * (side,), dtype)
            if cupy:
                given, image = cupy.asarray(given), cupy.asarray(image)
                k = cupy.asarray(k) if place == "device" else k
            made.update(of=(name, place, kind), given=given, k=k, image=image)
        settle = cupy.cuda.runtime.deviceSynchronize if cupy else lambda: None
        mri = isocenter.MRI(context)
        mri.set_options(tolerance=tolerance)
        settle()
        times = [time.perf_counter()]
        mri.set_geometry(made["k"], unit="cycles_per_voxel", nx=side, ny=side, nz=side, precision=precision)
        times.append(time.perf_counter())
        for _ in range(2):
            mri.adjoint(made["given"], made["image"])
            settle()
            times.append(time.perf_counter())
        image = cupy.asnumpy(made["image"]) if cupy else made["image"]
        print(json.dumps([(1e3 * np.diff(times)).tolist(), hashlib.md5(image.tobytes()).hexdigest()]), flush=True)
        mri.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("libraries", nargs="*")
    parser.add_argument("--cpu", action="store_true")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", default="")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.work:
        return work(asked.cpu)
    workers = [subprocess.Popen([sys.executable, __file__, "--work"] + ["--cpu"] * asked.cpu, text=True, stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, env={**os.environ, "ISOCENTER_LIBRARY": os.path.abspath(library)})
               for library in asked.libraries]
    print("| case | trajectory | library | set_geometry | first adjoint | both | next adjoint |\n|---|---|---|---|---|---|---|")
    for name in (n for n in CASES if asked.only in n):
        for place, kind in PLACES:
            if asked.cpu and place == "device":
                continue
            seen = [[] for _ in workers]
            for turn in range(asked.rounds + 1):
                for worker, list_ in list(zip(workers, seen))[::1 if turn % 2 else -1]:
                    worker.stdin.write(json.dumps([name, place, kind]) + "\n")
                    worker.stdin.flush()
                    list_.append(json.loads(worker.stdout.readline()))
            digests = {digest for list_ in seen for _, digest in list_}
            for library, list_ in zip(asked.libraries, seen):
                first, sort, after = (statistics.median(t[k] for t, _ in list_[1:]) for k in range(3))
                print(f"| {name} | {place}, {kind} | {os.path.basename(library)} | {first:.1f} | {sort:.1f} | {first + sort:.1f} | {after:.2f} |",
                      flush=True)
            print(f"| | | {'the same bits' if len(digests) == 1 else 'DIFFERENT BITS'} | | | | |", flush=True)


if __name__ == "__main__":
    main()
