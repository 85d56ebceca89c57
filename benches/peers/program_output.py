#!/usr/bin/env python3
"""Writing of volumes: this program's output beside h5py, tifffile and zarr-python, the same slices until they are on disk.

usage: program_output.py FOLDER [SIDE [KIND...]]    KIND: the first word of those below, such as Zarr; all by default

Needs numpy, h5py, tifffile, zarr, and `cargo build --release -p isocenter-program --example output`. SIDE (1024) slices of SIDE x SIDE u16,
of which 48 are made and written again and again, 24 at a time. Ours is on disk after each 128 slices and in the end; the others are asked for that at the end. Zarr
in the same chunks and shards; ours has the pyramid, too. Of three runs the best counts."""
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import h5py
import numpy as np
import tifffile
import zarr
from zarr.codecs import ZstdCodec

SLAB, SOME = 24, 48
CHUNK, SHARD = (32, 128, 128), (32, 512, 512)
OUTPUT = Path(__file__).resolve().parent.parent.parent / "target/release/examples/output"


def pattern(path, side):
    """A cylinder with structure, and noise."""
    rng = np.random.default_rng(3)
    y, x = np.mgrid[:side, :side] - side / 2
    inside = np.hypot(x, y) < 0.32 * side
    made = [np.where(inside, 22000 + 4000 * np.sin(x / 40 + k / 7) * np.cos(y / 31), 3000) for k in range(SOME)]
    made = [np.clip(slice + rng.normal(0, 700, slice.shape), 0, 65535).astype("u2") for slice in made]
    np.array(made).tofile(path)
    return np.array(made)


def on_disk(path):
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    for file in files:
        with open(file, "rb") as opened:
            os.fsync(opened)


def slabs(slices, side, slab):
    for first in range(0, side, slab):
        count = min(slab, side - first)
        yield first, np.take(slices, range(first, first + count), axis=0, mode="wrap")


def by_h5py(path, slices, side):
    with h5py.File(path, "w") as file:
        data = file.create_dataset("data", (side,) * 3, "u2")
        for first, slab in slabs(slices, side, SLAB):
            data.write_direct(slab, dest_sel=np.s_[first : first + len(slab)])


def by_tifffile_pages(path, slices, side):
    with tifffile.TiffWriter(path, bigtiff=True) as file:
        for k in range(side):
            file.write(slices[k % SOME], contiguous=False)


def by_tifffile_slices(path, slices, side):
    path.mkdir()
    for k in range(side):
        tifffile.imwrite(path / f"v_{k:05}.tif", slices[k % SOME])


def by_numpy(path, slices, side):
    with open(path, "wb") as file:
        for _, slab in slabs(slices, side, SLAB):
            slab.tofile(file)


def by_zarr(compressors):
    def write(path, slices, side):
        data = zarr.create_array(path, shape=(side,) * 3, dtype="u2", chunks=CHUNK, shards=SHARD, compressors=compressors)
        for first, slab in slabs(slices, side, CHUNK[0]):
            data[first : first + len(slab)] = slab

    return write


KINDS = {
    "HDF5": ("v.h5", [], by_h5py, "h5py"),
    "TIFF, one file": ("v.tif", [], by_tifffile_pages, "tifffile"),
    "TIFF, a file a slice": ("v/", [], by_tifffile_slices, "tifffile"),
    "raw values": ("v.raw", [], by_numpy, "numpy"),
    "Zarr": ("v.zarr", ["none"], by_zarr(None), "zarr-python"),
    "Zarr, zstd 1": ("v.zarr", ["zstd"], by_zarr(ZstdCodec(level=1)), "zarr-python"),
}


def removed(path):
    shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


def main():
    folder, side = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1024
    slices = pattern(folder / "pattern", side)
    gigabytes = 2 * side**3 / 1e9
    kinds = {kind: how for kind, how in KINDS.items() if not sys.argv[3:] or kind.split()[0].strip(",") in sys.argv[3:]}
    for kind, (name, more, write, peer) in kinds.items():
        # The name's slash, if there is one, tells the kind.
        path, text = folder / name, f"{folder}/{name}"
        ours, theirs = [], []
        for _ in range(3):
            removed(path)
            told = subprocess.run([OUTPUT, folder / "pattern", str(side), text, *more], check=True, capture_output=True, text=True)
            ours.append(float(told.stdout))
            size = sum(file.stat().st_size for file in [path, *path.rglob("*")] if file.is_file())
            removed(path)
            start = time.perf_counter()
            write(path, slices, side)
            on_disk(path)
            theirs.append(time.perf_counter() - start)
        removed(path)
        result = {
            "kind": kind,
            "ours, s": round(min(ours), 2),
            "ours, GB/s": round(gigabytes / min(ours), 2),
            "peer": peer,
            "peer, s": round(min(theirs), 2),
            "times": round(min(theirs) / min(ours), 2),
            "ours, all runs": [round(s, 2) for s in ours],
            "peer, all runs": [round(s, 2) for s in theirs],
            "bytes / values": round(size / gigabytes / 1e9, 3),
            "load": round(os.getloadavg()[0], 1),
        }
        print(json.dumps(result), flush=True)
    removed(folder / "pattern")
    removed(folder / "v.raw.info")


if __name__ == "__main__":
    main()
