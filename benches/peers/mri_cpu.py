"""Isocenter's MRI on the processor beside FINUFFT and a plain loop, in one process, in turns: prints tables for benches/results.

Needs NumPy, finufft, a C compiler with OpenMP (cc), and libisocenter.so (ISOCENTER_LIBRARY names it).
"""
import argparse
import datetime
import functools
import os
import platform

import finufft
import numpy as np

import bare
import isocenter
import plain
from nuffts import Nufft
from scans import READOUT, SIDE, SPOKES, complex_noise, radial, radians, voxels
from timing import Load, Runs, in_turns, processor, table

CORES = len(os.sched_getaffinity(0))
HEAD = ["case", "ms", "processor ms", "cores", "times ours", "processor time, times ours", "l2 error", "spread", "runs"]


def error(seen, truth):
    return np.linalg.norm((seen - truth).ravel()) / np.linalg.norm(truth.ravel())


class Case(Runs):
    """Runs that write `target`, whose error against `truth` counts."""

    def __init__(self, name, call, rounds, target, truth):
        super().__init__(name, call, rounds)
        self.target, self.truth = target, truth

    def row(self, base):
        return [self.name, f"{self.seconds * 1e3:.1f}", f"{self.cpu_seconds * 1e3:.1f}", f"{self.cores:.2f}",
                f"{self.seconds / base.seconds:.2f}", f"{self.cpu_seconds / base.cpu_seconds:.2f}",
                f"{error(self.target, self.truth):.1e}", f"{self.spread * 100:.0f} %", str(len(self.wall))]


def isocenter_plan(shape, trajectory, unit, precision, threads, **options):
    mri = isocenter.MRI(bare.Context(threads=threads), trajectory=trajectory, unit=unit, precision=precision, **voxels(shape))
    mri.set_options(**options)
    return mri


def nufft(side, spokes, readout, eps, threads, rounds):
    """Both transforms of a volume from radial samples, f32, points set outside the timing."""
    trajectory = radians(radial(3, spokes, readout))
    shape, samples = (side,) * 3, len(trajectory)
    double, single = (isocenter_plan(shape, trajectory, "radians_per_voxel", precision, threads, method="nufft", tolerance=tolerance)
                      for precision, tolerance in (("double", 1e-12), ("single", eps)))
    print(f"## NUFFT: {side}^3 voxels, {samples:,} samples ({spokes} spokes of {readout}), f32, tolerance {eps:g}, "
          f"{threads} threads\n")
    for kind, operator in ((1, "adjoint"), (2, "forward")):
        sizes = ((samples,), shape) if kind == 1 else (shape, (samples,))
        source, wide = complex_noise(sizes[0]), complex_noise(sizes[0]).astype(np.complex128)
        truth, other = np.zeros(sizes[1], np.complex128), np.zeros(sizes[1], np.complex128)
        Nufft(finufft, kind, shape, trajectory.astype(np.float64), eps=1e-12, dtype="complex128", upsampfac=2.0,
              nthreads=threads).run(wide, truth)
        getattr(double, operator)(wide, other)

        def case(name, run, bind=functools.partial):
            target = np.zeros(sizes[1], np.complex64)
            return Case(name, bind(run, source, target), rounds, target, truth)

        cases = [case(f"Isocenter {operator}", getattr(single, operator), bare.call)]
        for upsampling in (1.25, 2.0):
            plan = Nufft(finufft, kind, shape, trajectory, eps=eps, upsampfac=upsampling, nthreads=threads)
            cases.append(case(f"FINUFFT {finufft.__version__} type {kind}, upsampling {upsampling:g}", plan.run))
        in_turns(cases)
        print("\n" + table(HEAD, [c.row(cases[0]) for c in cases]))
        best = min(cases[1:], key=lambda c: c.seconds)
        info = single.info()
        print(f"\n{operator}: {cases[0].seconds / best.seconds:.2f} of the time of {best.name} "
              f"({cases[0].cpu_seconds / min(c.cpu_seconds for c in cases[1:]):.2f} of the least processor time). Errors are "
              f"against f64 at 1e-12 (FINUFFT's; ours differs from it by {error(other, truth):.0e}). Our grid: "
              f"{info.fine_nz} x {info.fine_ny} x {info.fine_nx}, width {info.width}.\n", flush=True)


def exact(side, spokes, readout, threads, rounds):
    """The adjoint term by term, on a grid."""
    trajectory = radial(3, spokes, readout)
    shape, samples = (side,) * 3, len(trajectory)
    source = complex_noise(samples)
    single, double = (isocenter_plan(shape, trajectory, "cycles_per_voxel", precision, threads, method="exact")
                      for precision in ("single", "double"))
    truth = np.zeros(shape, np.complex128)
    double.adjoint(source.astype(np.complex128), truth)

    def case(name, run, rounds, bind=functools.partial):
        target = np.zeros(shape, np.complex64)
        return Case(name, bind(run, source, target), rounds, target, truth)

    print(f"## Exact adjoint: {side}^3 voxels, {samples:,} samples, f32, {threads} threads\n")
    cases = [case("Isocenter adjoint, exact", single.adjoint, 2 * rounds, bare.call)]
    for flags in (["-O3"], ["-O3", "-march=native", "-ffast-math"]):
        run = plain.on_the_processor(flags, threads)
        cases.append(case(f"plain loop in C, `{' '.join(flags)} -fopenmp`", functools.partial(run, trajectory), 3))
    in_turns(cases)
    pairs = side**3 * samples
    print("\n" + table(["G pairs/s", *HEAD], [[f"{pairs / c.seconds / 1e9:.3f}", *c.row(cases[0])] for c in cases]) + "\n",
          flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", choices=["nufft", "exact", []], help="all, if none is named")
    parser.add_argument("--quick", action="store_true", help="small sizes and few rounds, to see that it runs")
    parser.add_argument("--threads", type=int, default=min(2, CORES))
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--tolerance", type=float, default=1e-5)
    asked = parser.parse_args()
    side, spokes, readout, rounds = (32, 120, 40, 3) if asked.quick else (SIDE, SPOKES, READOUT, asked.rounds)

    cpu, _, caches = processor()
    print(f"# MRI on the CPU beside others, {datetime.date.today().isoformat()}\n\n{cpu}; {CORES} cores; {caches}.\n"
          f"Isocenter {isocenter.version()}: {isocenter.build_info()}. Python {platform.python_version()}, NumPy {np.__version__}."
          f"\nMedians of runs in turns; processor time is that of all threads.\n")
    load = Load()
    if "nufft" in asked.parts or not asked.parts:
        nufft(side, spokes, readout, asked.tolerance, asked.threads, rounds)
    if "exact" in asked.parts or not asked.parts:
        exact(16 if asked.quick else 32, *((40, 40) if asked.quick else (120, READOUT)), asked.threads, rounds)
    print(load.remark())


if __name__ == "__main__":
    main()
