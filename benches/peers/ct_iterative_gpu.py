"""Iterative CT on a GPU, and ASTRA's algorithms in the same run: milliseconds a slice and iteration, of the difference between two numbers of
iterations, median of three.

usage: ct_iterative_gpu.py [ours] [convolution] [variation] [pieces] [peer]    (default: all)

Needs PyTorch (arrays on the GPU), the isocenter package on a built library, and astra-toolbox for `peer`, which takes arrays of host memory.
"""
import sys
import time

import numpy as np
import torch

BOX = dict(bounds="box", lower=0.0, upper=1.0)


def median(work, repeats=3):
    work()
    seconds = []
    for _ in range(repeats):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        work()
        torch.cuda.synchronize()
        seconds.append(time.perf_counter() - begin)
    return sorted(seconds)[repeats // 2]


def report(name, scan, counts, seconds, slices):
    each = (seconds[1] - seconds[0]) / (counts[1] - counts[0]) / slices * 1e3
    runs = ", ".join(f"{n} iterations {t:.3f} s" for n, t in zip(counts, seconds))
    print(f"{name}: {scan}: {runs}: {each:.3f} ms a slice and iteration", flush=True)


def angles(views):
    return np.linspace(0, np.pi, views, endpoint=False)


def plan(n, views, slices, gigabytes=0.0):
    import isocenter
    context = isocenter.Context(gpu_memory_cap=int(gigabytes * 1e9))
    ct = isocenter.CT(context, angles=angles(views), bins=n, nx=n, ny=n, rows=slices, order="sinograms")
    generator = torch.Generator(device="cuda").manual_seed(0)
    projections = torch.rand((slices, views, n), device="cuda", generator=generator)
    return ct, projections, torch.zeros((slices, n, n), device="cuda")


def pair(n, views, slices):
    ct, projections, volume = plan(n, views, slices)
    forward, adjoint = median(lambda: ct.forward(volume, projections)), median(lambda: ct.adjoint(projections, volume))
    each = [t / slices * 1e3 for t in (forward, adjoint)]
    print(f"pair: {slices} x {n}^2, {views} views: forward {each[0]:.3f}, adjoint {each[1]:.3f}, both {sum(each):.3f} ms a slice", flush=True)


def iterate(algorithm, n, views, slices, counts, host=False, projector="joseph", gigabytes=0.0, **options):
    ct, projections, volume = plan(n, views, slices, gigabytes)
    if host:
        projections, volume = projections.cpu().numpy(), volume.cpu().numpy()
    ct.set_options(algorithm=algorithm, projector=projector)
    seconds = []
    for count in counts:
        ct.set_iterative(count, **options)
        seconds.append(median(lambda: ct.reconstruct(projections, volume)))
    scan = f"{slices} x {n}^2, {views} views, {'host' if host else 'GPU'} arrays" + (f", within {gigabytes} GB" if gigabytes else "")
    more = "".join(f", {name} {options[name]}" for name in ("variation", "ring_weight") if name in options)
    report(f"{algorithm} ({projector}{more})", scan, counts, seconds, slices)


def ours():
    for slices in (64, 1):
        pair(2048, 2048, slices)
        iterate("sirt", 2048, 2048, slices, (1, 6))
        iterate("cgls", 2048, 2048, slices, (1, 6))
    iterate("mlem", 2048, 2048, 64, (1, 6))
    for host in (True, False):
        iterate("cgls", 800, 65, 64, (1, 10), host)
        iterate("sirt", 800, 65, 64, (1, 40), host)


def convolution():
    for algorithm, more in (("cgls", {}), ("fista", BOX)):
        for n, views, slices in ((2048, 2048, 64), (2048, 512, 64), (2048, 2048, 2), (1024, 1024, 64), (512, 180, 64)):
            iterate(algorithm, n, views, slices, (1, 20), projector="band_limited", mask_radius=0.99, **more)


def variation():
    pair(2048, 2048, 32)
    iterate("total_variation", 2048, 2048, 32, (1, 21), regularisation=1.0, **BOX)
    iterate("total_variation", 2048, 2048, 32, (1, 21), regularisation=1.0, variation="volume", **BOX)
    iterate("total_variation", 2048, 2048, 32, (1, 21), regularisation=1.0, ring_weight=1.0, **BOX)
    iterate("fista", 2048, 2048, 32, (1, 21), **BOX)
    pair(800, 65, 64)
    for of in ("slices", "volume"):
        iterate("total_variation", 800, 65, 64, (1, 101), regularisation=1.0, variation=of, **BOX)


def pieces():
    """A volume that fits the GPU, and the same within less: piece by piece."""
    for gigabytes in (0.0, 6.0, 3.0):
        iterate("total_variation", 512, 360, 1024, (1, 101), host=True, gigabytes=gigabytes, regularisation=1.0, variation="volume", **BOX)


def peer():
    import astra

    def run(config, counts, repeats):
        def work(count):
            algorithm = astra.algorithm.create(config)
            astra.algorithm.run(algorithm, count)
            astra.algorithm.delete(algorithm)

        return [median(lambda: work(count), repeats) for count in counts]

    def many(name, n, views, slices, counts, repeats=3):
        volume = astra.create_vol_geom(n, n, slices)
        scan = astra.create_proj_geom("parallel3d", 1.0, 1.0, slices, n, angles(views))
        projections, image = np.random.default_rng(0).random((slices, views, n), dtype="f4"), np.zeros((slices, n, n), "f4")
        data = [astra.data3d.link("-sino", scan, projections), astra.data3d.link("-vol", volume, image)]
        config = astra.astra_dict(name)
        config.update(ProjectionDataId=data[0], ReconstructionDataId=data[1])
        report(f"ASTRA {name}", f"{slices} x {n}^2, {views} views", counts, run(config, counts, repeats), slices)
        astra.data3d.delete(data)

    def one(name, n, views, counts):
        volume, scan = astra.create_vol_geom(n, n), astra.create_proj_geom("parallel", 1.0, n, angles(views))
        projections = np.random.default_rng(0).random((views, n), dtype="f4")
        data = [astra.data2d.create("-sino", scan, projections), astra.data2d.create("-vol", volume)]
        config = astra.astra_dict(name)
        config.update(ProjectionDataId=data[0], ReconstructionDataId=data[1])
        report(f"ASTRA {name}", f"{n}^2, {views} views", counts, run(config, counts, 3), 1)
        astra.data2d.delete(data)

    for name in ("SIRT", "CGLS"):
        many(f"{name}3D_CUDA", 2048, 2048, 64, (1, 4), 1)
        many(f"{name}3D_CUDA", 800, 65, 64, (1, 10))
        one(f"{name}_CUDA", 2048, 2048, (1, 11))


if __name__ == "__main__":
    for part in sys.argv[1:] or ["ours", "convolution", "variation", "pieces", "peer"]:
        globals()[part]()
