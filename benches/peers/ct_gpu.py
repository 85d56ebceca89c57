"""Isocenter beside ASTRA on one GPU, in one process, in turns: prints a table for benches/results.

Needs NumPy, PyTorch (for arrays on the GPU), astra-toolbox, the libraries of CUDA 12 that its wheel is linked with (libcudart.so.12,
libcufft.so.11) and libisocenter.so (ISOCENTER_LIBRARY names it).
"""
import statistics
import sys
import time

import astra
import astra.experimental
import numpy as np
import torch

import bare
import isocenter
from scans import angles_of, parallel

SIDE = VIEWS = int(sys.argv[1]) if len(sys.argv) > 1 else 2048
ROUNDS = 5


def seconds(cases):
    """Median of each case, taken in turns, arrays' arrival included."""
    times = {name: [] for name, _ in cases}
    for turn in range(ROUNDS + 1):
        for name, call in cases:
            torch.cuda.synchronize()
            start = time.perf_counter()
            call()
            torch.cuda.synchronize()
            if turn:
                times[name].append(time.perf_counter() - start)
    return {name: statistics.median(t) for name, t in times.items()}


def report(title, slices, cases, base):
    times = seconds(cases)
    print(f"\n{title}\n\n| | ms | GU/s | times ASTRA's rate |\n|---|---|---|---|")
    for name, t in times.items():
        print(f"| {name} | {t * 1e3:.2f} | {slices * SIDE**2 * VIEWS / t / 1e9:.0f} | {times[base] / t:.2f} |", flush=True)


def plan(slices=1, precision="single"):
    ct = isocenter.CT(bare.Context(gpu=True), **parallel(SIDE, VIEWS, slices))
    ct.set_options(precision=precision)
    return ct


def on_the_gpu(slices):
    """Arrays on the GPU, back projection and forward projection without a filter."""
    volume = torch.zeros((slices, SIDE, SIDE), device="cuda")
    theirs = torch.rand((slices, VIEWS, SIDE), device="cuda")
    ours = theirs.transpose(0, 1)  # the same memory as frames (views, slices, bins)
    projector = astra.create_projector("cuda3d", astra.create_proj_geom("parallel3d", 1.0, 1.0, slices, SIDE, angles_of(VIEWS)),
                                       astra.create_vol_geom(SIDE, SIDE, slices))
    single, half = plan(slices), plan(slices, "half")
    name = f"ASTRA {astra.__version__}"
    direct = astra.experimental
    report(f"Back projection of {slices} slices, arrays on the GPU", slices, [
        (f"{name} direct_BP3D", lambda: direct.direct_BP3D(projector, volume, theirs)),
        ("backproject, single", bare.call(single.backproject, ours, volume)),
        ("backproject, half", bare.call(half.backproject, ours, volume)),
        ("adjoint", bare.call(single.adjoint, ours, volume)),
    ], f"{name} direct_BP3D")
    report(f"Forward projection of {slices} slices, arrays on the GPU", slices, [
        (f"{name} direct_FP3D", lambda: direct.direct_FP3D(projector, volume, theirs)),
        ("forward", bare.call(single.forward, volume, ours)),
    ], f"{name} direct_FP3D")
    astra.projector.delete(projector)


def from_the_host():
    """One slice, arrays in host memory."""
    sinogram = np.random.default_rng(0).random((VIEWS, SIDE), dtype=np.float32)
    frames, volume = sinogram[:, None], np.zeros((1, SIDE, SIDE), np.float32)
    scan, grid = astra.create_proj_geom("parallel", 1.0, SIDE, angles_of(VIEWS)), astra.create_vol_geom(SIDE, SIDE)
    source, target = astra.data2d.create("-sino", scan, sinogram), astra.data2d.create("-vol", grid)
    ct = plan()
    for theirs, ours in (("BP_CUDA", "backproject"), ("FBP_CUDA", "reconstruct")):
        config = astra.astra_dict(theirs)
        config.update(ProjectionDataId=source, ReconstructionDataId=target)
        if theirs == "FBP_CUDA":
            config["option"] = {"FilterType": "Ram-Lak"}
        algorithm = astra.algorithm.create(config)
        name = f"ASTRA {astra.__version__} {theirs}"
        report(f"One slice from host memory to host memory: {ours}", 1, [
            (name, lambda: astra.algorithm.run(algorithm)),
            (ours, bare.call(getattr(ct, ours), frames, volume)),
        ], name)
        astra.algorithm.delete(algorithm)


print(f"{torch.cuda.get_device_name(0)}; {SIDE}^2 pixels from {VIEWS} views; Isocenter {isocenter.version()}, "
      f"{isocenter.build_info()}")
for count in (16, 64):
    on_the_gpu(count)
from_the_host()
