#!/usr/bin/env python3
"""Reading of compressed frames: this program's input beside h5py with hdf5plugin, on the same files; and of stacks of TIFF images beside
tifffile.

usage: program_input.py FOLDER [FRAMES [stacks]]    stacks: these alone

Needs numpy, h5py, hdf5plugin, tifffile, and `cargo build --release -p isocenter-program --example input`. Writes FRAMES (1024) frames of
1024 x 1024 u16 with photon noise into FOLDER, in chunks of one frame, unless they are there, and reads them: once in their order, and in 32 slabs of rows. The page
cache holds the files. Every value that h5py reads is decoded by the HDF5 library's filters; of passes the best of three counts."""
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import h5py
import hdf5plugin
import numpy as np
import tifffile

SIDE = 1024
SLABS = 32
KINDS = {
    "bitshuffle/LZ4": hdf5plugin.Bitshuffle(cname="lz4"),
    "shuffle, deflate 4": dict(compression="gzip", compression_opts=4, shuffle=True),
    "shuffle, zstd 3": dict(shuffle=True, **hdf5plugin.Zstd(clevel=3)),
    "Blosc (LZ4, shuffle)": hdf5plugin.Blosc(cname="lz4", shuffle=hdf5plugin.Blosc.SHUFFLE),
}
INPUT = Path(__file__).resolve().parent.parent.parent / "target/release/examples/input"


def frames(count):
    """A rod that turns, in photons; noise of 32 frames, moved from frame to frame."""
    rng = np.random.default_rng(42)
    y, x = np.mgrid[:SIDE, :SIDE]
    made = []
    for k in range(count):
        if k < 32:
            middle = 512 + 200 * np.cos(np.pi * k / 32)
            depth = 1.5 * np.sqrt(np.clip(1 - ((x - middle) / 150.0) ** 2, 0, None))
            made.append(rng.poisson(8000 * np.exp(-depth) * (1 + 0.1 * np.cos(y / 300))).astype(np.uint16))
        yield np.roll(made[k % 32], 7 * (k // 32), axis=0)


def write(folder, count):
    paths = {kind: folder / f"{n}.h5" for n, kind in enumerate(KINDS)}
    if all(path.exists() for path in paths.values()):
        return paths
    files = {kind: h5py.File(path, "w") for kind, path in paths.items()}
    shape, chunks = (count, SIDE, SIDE), (1, SIDE, SIDE)
    data = {kind: file.create_dataset("data", shape, "u2", chunks=chunks, **KINDS[kind]) for kind, file in files.items()}
    for k, frame in enumerate(frames(count)):
        for dataset in data.values():
            dataset[k] = frame
    for file in files.values():
        file.close()
    return paths


def ours(path, dataset="data"):
    told = subprocess.run([INPUT, path, dataset, str(SLABS)], check=True, capture_output=True, text=True).stdout
    return {line.split()[0]: line.split()[1] for line in told.splitlines() if line.split()}


def h5py_pass(path):
    with h5py.File(path) as file:
        data, frame = file["data"], np.empty((1, SIDE, SIDE), "u2")
        start = time.perf_counter()
        for k in range(len(data)):
            data.read_direct(frame, np.s_[k : k + 1])
        return time.perf_counter() - start


def h5py_slabs(path):
    with h5py.File(path) as file:
        data, rows = file["data"], SIDE // SLABS
        slab = np.empty((len(data), rows, SIDE), "u2")
        start = time.perf_counter()
        for k in range(SLABS):
            data.read_direct(slab, np.s_[:, k * rows : (k + 1) * rows])
        return time.perf_counter() - start


def tifffile_pass(paths):
    frame = np.empty((SIDE, SIDE), "u2")
    start = time.perf_counter()
    for path in paths:
        tifffile.imread(path, out=frame)
    return time.perf_counter() - start


def tifffile_stack(paths):
    stack = np.zeros((len(paths), SIDE, SIDE), "u2")
    start = time.perf_counter()
    tifffile.imread(paths, out=stack)
    return time.perf_counter() - start


def stacks(folder, count):
    """A folder of TIFF images, one a frame, and the same frames in one piece in HDF5."""
    images, whole = folder / "tiff", folder / "whole.h5"
    if not images.exists():
        images.mkdir()
        with h5py.File(whole, "w") as file:
            data = file.create_dataset("data", (count, SIDE, SIDE), "u2")
            for k, frame in enumerate(frames(count)):
                data[k] = frame
                tifffile.imwrite(images / f"p{k:05}.tif", frame)
    paths = sorted(images.iterdir())
    gigabytes = count * SIDE * SIDE * 2 / 1e9
    runs = [[ours(images, "images"), ours(whole), tifffile_pass(paths), tifffile_stack(paths), h5py_pass(whole)] for _ in range(5)]
    best = lambda k, key: min(float(run[k][key]) for run in runs)
    least = lambda k: min(run[k] for run in runs)
    result = {
        "TIFF, tags read, s": best(0, "opened"),
        "TIFF, GB/s": round(gigabytes / best(0, "pass"), 2),
        "TIFF by tifffile, a file at a time, GB/s": round(gigabytes / least(2), 2),
        "TIFF by tifffile, all at once, GB/s": round(gigabytes / least(3), 2),
        "HDF5 in one piece, GB/s": round(gigabytes / best(1, "pass"), 2),
        "HDF5 in one piece by h5py, GB/s": round(gigabytes / least(4), 2),
        "TIFF, 32 slabs, s": best(0, "all"),
        "HDF5 in one piece, 32 slabs, s": best(1, "all"),
        "HDF5 in one piece, 32 slabs by h5py, s": round(h5py_slabs(whole), 3),
        "load": round(os.getloadavg()[0], 1),
    }
    print(json.dumps(result), flush=True)


def main():
    folder, count = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1024
    stacks(folder, count)
    if sys.argv[3:] == ["stacks"]:
        return
    paths = write(folder, count)
    gigabytes = count * SIDE * SIDE * 2 / 1e9
    for kind, path in paths.items():
        h5py_pass(path)
        runs, theirs = [], []
        for _ in range(3):
            runs.append(ours(path))
            theirs.append(h5py_pass(path))
        best = {key: min(float(run[key]) for run in runs) for key in ("pass", "held", "all")}
        slabs = h5py_slabs(path)
        decoded = {int(run["decoded"]) for run in runs}
        result = {
            "kind": kind,
            "file / values": round(path.stat().st_size / 1e9 / gigabytes, 3),
            "pass, GB/s": round(gigabytes / best["pass"], 2),
            "pass by h5py, GB/s": round(gigabytes / min(theirs), 2),
            "pass, times": round(min(theirs) / best["pass"], 2),
            "kept by rows, GB/s": round(gigabytes / best["held"], 2),
            "32 slabs, s": round(best["all"], 3),
            "32 slabs by h5py, s": round(slabs, 2),
            "32 slabs, times": round(slabs / best["all"], 1),
            # The example reads all twice: in a pass, and to keep it.
            "decoded / values of a reading": [d / 2 / (gigabytes * 1e9) for d in decoded],
            "load": round(os.getloadavg()[0], 1),
        }
        print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
