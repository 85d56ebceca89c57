"""Samples that a callback brings, some shots at a time, beside the same in one array: a volume of eight coils."""
import numpy as np

from mri_bench import show
from mri_solutions import ring_of_coils
from scans import complex_noise, radial


def shots(bench):
    side, spokes, readout, coils = (32, 300, 32, 4) if bench.asked.small else (256, 40_000, 256, 8)
    shape, count, trajectory = (side,) * 3, spokes * readout, radial(3, spokes, readout)
    samples, maps, rows, first = complex_noise((coils, count)), ring_of_coils(coils, side), [], {}

    def read(start, part):
        part[...] = samples[:, start:start + part.shape[1]]

    for name, parts in (("array", 0), ("read in 2 parts", 2), ("in 8", 8), ("in 32", 32)):
        before = bench.place.used()
        mri = bench.mri(shape, trajectory, coils=coils, normal="toeplitz", tolerance=1e-4, iterations=10, residual=1e-30)
        mri.compute_weights("radial", readout)
        mri.set_maps(maps)
        at_once, image = -(-count // parts) if parts else 0, np.zeros(shape, np.complex64)
        calls = {"gridding": (lambda: mri.gridding_stream(read, at_once, image=image)) if parts else lambda: mri.gridding(samples, image),
                 "10 iterations": (lambda: mri.reconstruct_stream(read, at_once, image=image)) if parts else lambda: mri.reconstruct(samples, image)}
        for case, call in calls.items():
            call()
            seconds = sorted(bench.seconds(call) for _ in range(3))[1]
            one = first.setdefault(case, (seconds, image.copy()))
            apart = np.linalg.norm(image - one[1]) / np.linalg.norm(one[1])
            rows.append([case, name, f"{seconds:.3f}", f"{seconds / one[0]:.2f}", f"{apart:.1e}", f"{(bench.place.used() - before) / 2**20:.0f}"])
            print("-", *rows[-1], flush=True)
        mri.close()
    show(f"{side}^3, {coils} coils, {count:,} samples ({samples.nbytes / 2**20:.0f} MiB) in host memory, f32, tolerance 1e-4, Q known",
         ["case", "samples", "s", "times the array's", "apart", "MiB on the device"], rows)
