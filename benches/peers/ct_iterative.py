"""Iterative CT against ASTRA's CPU algorithms with its "linear" projector, Joseph's: iterate by iterate, and times.

usage: ct_iterative.py [SIZE [VIEWS]]    (default: iterates at 64 and 128, then times at 512 with 180 views)

Needs astra-toolbox, and the isocenter package on a built library. ASTRA takes one slice a call.
"""
import sys
import time

import astra
import numpy as np

import isocenter


def peer(name, projector, proj, vol, sinogram, iterations, start=None, **options):
    data = astra.data2d.create("-sino", proj, sinogram)
    image = astra.data2d.create("-vol", vol, 0 if start is None else start)
    cfg = astra.astra_dict(name)
    cfg.update(ProjectionDataId=data, ReconstructionDataId=image, ProjectorId=projector)
    if options:
        cfg["option"] = options
    algorithm = astra.algorithm.create(cfg)
    begin = time.perf_counter()
    astra.algorithm.run(algorithm, iterations)
    seconds = time.perf_counter() - begin
    result = astra.data2d.get(image)
    astra.algorithm.delete(algorithm)
    astra.data2d.delete([data, image])
    return result, seconds


def scan(n, views):
    vol = astra.create_vol_geom(n, n)
    angles = np.linspace(0, np.pi, views, endpoint=False) + 0.01
    bins = int(1.5 * n)
    proj = astra.create_proj_geom("parallel", 1.0, bins, angles)
    return vol, proj, astra.create_projector("linear", proj, vol)


def iterates(n, views):
    vol, proj, projector = scan(n, views)
    plan = isocenter.CT(**isocenter.from_astra(proj, vol))
    sinogram = plan.phantom_projections(isocenter.CT.shepp_logan(n / 2)).reshape(views, -1)
    sinogram += np.random.default_rng(0).normal(0, 0.01 * sinogram.max(), sinogram.shape).astype("float32")
    cases = [("SIRT", "sirt", [1, 2, 5, 10, 50, 200], {}, {}),
             ("SIRT", "sirt", [10, 50], {"MinConstraint": 0.0, "MaxConstraint": 1.0}, dict(bounds="box", lower=0.0, upper=1.0)),
             ("SIRT", "sirt", [10, 50], {"Relaxation": 1.5}, dict(relaxation=1.5)),
             ("CGLS", "cgls", [1, 2, 3, 4, 5, 6, 8, 10], {}, {})]
    for theirs, ours, counts, options, mine in cases:
        plan.set_options(algorithm=ours)
        for count in counts:
            expected, _ = peer(theirs, projector, proj, vol, sinogram, count, **options)
            plan.set_iterative(count, **mine)
            seen = plan.reconstruct(sinogram).reshape(n, n)
            apart = np.abs(seen - expected).max() / np.abs(expected).max()
            print(f"{theirs} {n}x{n} {views} views {options} iteration {count}: {apart:.1e}", flush=True)
    astra.projector.delete(projector)


def times(n, views, slices=32, iterations=10):
    vol, proj, projector = scan(n, views)
    proj["DetectorCount"] = n
    projector = astra.create_projector("linear", proj, vol)
    settings = isocenter.from_astra(proj, vol)
    sinogram = np.random.default_rng(0).random((views, n), dtype="float32")
    for theirs, ours in [("SIRT", "sirt"), ("CGLS", "cgls")]:
        # ASTRA's set-up is in every call: iterations alone are the difference of two.
        few, many = (peer(theirs, projector, proj, vol, sinogram, k)[1] for k in (1, 4))
        astra_ms = (many - few) / 3 * 1e3
        print(f"astra {theirs} {n}x{n} {views} views: {astra_ms:.1f} ms an iteration and slice", flush=True)
        for count in (slices, 1):
            plan = isocenter.CT(rows=count, **settings)
            many_rows = np.ascontiguousarray(np.broadcast_to(sinogram[:, None], (views, count, n)))
            plan.set_options(algorithm=ours)
            volume = np.empty((count, n, n), "float32")

            def seconds(k):
                plan.set_iterative(k)
                plan.reconstruct(many_rows, volume)
                taken = []
                for _ in range(3):
                    begin = time.perf_counter()
                    plan.reconstruct(many_rows, volume)
                    taken.append(time.perf_counter() - begin)
                return sorted(taken)[1]
            one, all_of = seconds(1), seconds(1 + iterations)
            mine = (all_of - one) / iterations / count * 1e3
            whole = all_of / (1 + iterations) / count * 1e3
            ratio = astra_ms / mine
            print(f"isocenter {ours} x{count}: {mine:.2f} ms an iteration and slice ({whole:.2f} with the beginning); {ratio:.1f} x", flush=True)
            pair = isocenter.CT(rows=count, **settings)
            rows = pair.forward(volume)
            begin = time.perf_counter()
            for _ in range(3):
                pair.forward(volume, rows)
                pair.adjoint(rows, volume)
            print(f"isocenter forward and adjoint x{count}: {(time.perf_counter() - begin) / 3 / count * 1e3:.2f} ms a slice", flush=True)


if __name__ == "__main__":
    given = [int(word) for word in sys.argv[1:]]
    if not given:
        iterates(64, 45)
        iterates(128, 90)
    times(given[0] if given else 512, given[1] if len(given) > 1 else 180)
