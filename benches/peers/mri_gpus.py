"""Coils shared out among the GPUs of a context, beside one of them: arrays on the first, 1, 2, 4, ... GPUs in turns."""
import numpy as np

import bare
import isocenter
from mri_bench import show, voxels
from mri_solutions import ring_of_coils
from mri_stack import stars
from places import l2_error
from scans import complex_noise, radial


def gpus(bench):
    """Every call that shares coils out, of a volume, a stack and a plane."""
    small, coils = bench.asked.small, 32
    cube, planes, plane = (64, 64, 512) if small else (128, 128, 512)
    count = bench.place.xp.cuda.device_count()
    numbers = [n for n in (1, 2, 4, 8) if n <= count]
    if numbers == [1]:
        print("There is one GPU: nothing to compare.")
        return
    scans = (
        (f"{cube}^3, {coils} coils, radial", (cube,) * 3, radial(3, 2223 * cube // 128, 128)),
        (f"{planes}^2 x 64, {coils} coils, stack of stars", (64, planes, planes), stars(64, 201, 2 * planes, True, False)),
        (f"{plane}^2, {coils} coils, radial", (1, plane, plane), radial(2, 800, 1024)),
    )
    for name, shape, k in scans:
        one(bench, name, shape, k, coils, numbers)


def windows(bench):
    """Windows of a series on as many GPUs as there are: each frame is one GPU's."""
    side, spokes, readout, window, step, coils = (32, 60, 64, 21, 7, 8) if bench.asked.small else (256, 1200, 512, 34, 17, 8)
    place, k, cases, seen = bench.place, radial(2, spokes, readout), [], {}
    data = place.put(complex_noise((coils, len(k))))
    numbers = [n for n in (1, 2, 4, 8) if n <= place.xp.cuda.device_count()]
    for count in numbers:
        mri = isocenter.MRI(bare.Context(gpu=True, gpus=range(count)), trajectory=k, unit="cycles_per_voxel", coils=coils, **voxels((side, side)))
        mri.set_stream(place.stream)
        mri.set_maps(np.ascontiguousarray(ring_of_coils(coils, side)[:, side // 2]))
        mri.set_windows(window * readout, step * readout)
        mri.compute_weights("radial", readout)
        mri.set_options(iterations=10, residual=1e-30, tolerance=1e-4)
        frames = mri.info().images
        for what, call in (("gridding", mri.gridding), ("conjugate gradient, 10 iterations", mri.reconstruct)):
            to = place.zeros((frames, side, side), "complex64")
            cases.append((f"{what}: {count}", bare.call(call, data, to)))
            cases[-1][1]()
            seen[what, count] = to
    runs = {run.name: run for run in bench.time(cases)}
    rows = [[what, str(count), f"{runs[f'{what}: {count}'].seconds * 1e3:.1f}", f"{runs[f'{what}: 1'].seconds / runs[f'{what}: {count}'].seconds:.2f}",
             f"{l2_error(to, seen[what, 1]):.1e}"] for (what, count), to in seen.items()]
    show(f"{side} x {side}, {coils} coils, {frames} windows of {window} spokes of {readout}, {step} apart", ["", "GPUs", "ms", "times faster", "apart"], rows)


def one(bench, title, shape, k, coils, numbers):
    place, own = bench.place, shape if shape[0] > 1 else shape[1:]
    maps = place.put(np.ascontiguousarray(ring_of_coils(coils, max(shape))[
        :, max(shape) // 2 - shape[0] // 2:max(shape) // 2 - shape[0] // 2 + shape[0], :shape[1], :shape[2]].reshape(coils, *own)))
    image, samples = place.put(complex_noise(own)), place.put(complex_noise((coils, len(k)), seed=2))
    cases, seen, memory = [], {}, {}
    for count in numbers:
        for normal in ("toeplitz", "pair"):
            mri = isocenter.MRI(bare.Context(gpu=True, gpus=range(count)), trajectory=k, unit="cycles_per_voxel", coils=coils,
                                **voxels(own))
            mri.set_stream(place.stream)
            mri.set_options(normal=normal, tolerance=1e-4, iterations=30, residual=1e-30)
            mri.set_maps(maps)
            calls = [("F^H W F", mri.normal, image, own), ("30 iterations", mri.reconstruct, samples, own)]
            if normal == "pair":
                calls += [("adjoint", mri.adjoint, samples, own), ("forward", mri.forward, image, (coils, len(k)))]
            for what, call, from_, to in calls:
                to = place.zeros(to, "complex64")
                case = f"{what}{', ' + normal if what in ('F^H W F', '30 iterations') else ''}"
                cases.append((f"{case}: {count}", bare.call(call, from_, to)))
                cases[-1][1]()
                seen[case, count] = to
                memory[case, count] = mri.memory() / 2**20
    runs = {run.name: run for run in bench.time(cases)}
    rows = []
    for case in dict.fromkeys(name for name, _ in seen):
        for count in numbers:
            seconds = runs[f"{case}: {count}"].seconds
            rows.append([case, str(count), f"{seconds * 1e3:.3f}", f"{runs[f'{case}: 1'].seconds / seconds:.2f}",
                         f"{l2_error(seen[case, count], seen[case, 1]):.1e}", f"{memory[case, count]:.0f}"])
    show(f"{title}, {len(k):,} samples, f32, tolerance 1e-4", ["", "GPUs", "ms", "times faster", "apart", "MiB"], rows)
