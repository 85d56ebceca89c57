"""Isocenter beside other packages, in one process, in turns; writes benches/results/DATE-CPU.md."""
import argparse
import datetime
import os
import pathlib
import platform
import re
import subprocess
import sys

import numpy as np

import accuracy
import bare
import criterion
import isocenter
import others
from scans import parallel
from timing import Load, Runs, in_turns, processor, table

HERE = pathlib.Path(__file__).resolve().parent
CORES = len(os.sched_getaffinity(0))


class Updates(Runs):
    """Runs of a case of known work."""

    def __init__(self, name, work, call, rounds):
        super().__init__(name, call, rounds)
        self.work = work

    @property
    def rate(self):
        """Giga-updates a second."""
        return self.work / self.seconds / 1e9

    @property
    def core_rate(self):
        """Giga-updates a second of processor time."""
        return self.work / self.cpu_seconds / 1e9

    def summary(self):
        return (f"{self.seconds * 1e3:.1f} ms, {self.rate:.3f} GU/s, {self.core_rate:.3f} a core, "
                f"{self.cores:.2f} cores")

    def row(self):
        return [self.name, f"{self.seconds * 1e3:.1f}", f"{self.rate:.3f}", f"{self.core_rate:.3f}",
                f"{self.cores:.2f}", f"{self.spread * 100:.0f} %", str(len(self.wall))]


def our_case(name, side, views, slices, threads, operator, rounds):
    ct = isocenter.CT(bare.Context(threads=threads), **parallel(side, views, slices))
    shapes = ct.projections_shape, ct.volume_shape
    source, target = shapes[::-1] if operator == "forward" else shapes
    source = np.random.default_rng(0).random(source, dtype=np.float32)
    target = np.zeros(target, np.float32)
    return Updates(name, views * slices * side * side, bare.call(getattr(ct, operator), source, target), rounds)


def speed(side, quick):
    """One slice and 32 against the others, and one thread against all."""
    print(f"{side} x {side} from {side} views", flush=True)
    rounds = 3 if quick else 5

    def case(slices, threads):
        name = f"Isocenter, {slices} slice{'s' * (slices > 1)}, {threads} thread{'s' * (threads > 1)}"
        return our_case(name, side, side, slices, threads, "reconstruct", rounds if slices > 1 else 2 * rounds)

    ours = [case(slices, threads) for slices in (32, 1) for threads in sorted({CORES, 1}, reverse=True)]
    theirs = []
    sinogram = np.random.default_rng(0).random((side, side), dtype=np.float32)
    for package in others.available(side, side):
        package.load(sinogram)
        few = 1 if quick or package.name.startswith("scikit") else 3
        theirs.append(Updates(f"{package.name}, 1 slice", side**3, package.run, few if side > 600 else rounds))
    return in_turns([ours[0]] + theirs[:1] + ours[1:] + theirs[1:])


def operators(side, quick):
    """forward and adjoint against backproject."""
    print(f"operators, {side} x {side} from {side} views", flush=True)
    cases = []
    for slices in (32, 1):
        cases += [our_case(f"{op}, {slices} slice{'s' * (slices > 1)}", side, side, slices, CORES, op,
                           (2 if quick else 3) if slices > 1 else 5) for op in ("backproject", "forward", "adjoint")]
    return in_turns(cases)


def memory(side, views, slices):
    """Bytes beyond the arrays: seen, and promised by isoc_ct_memory."""
    out = subprocess.run([sys.executable, HERE / "memory.py", *map(str, (side, views, slices))], check=True,
                         capture_output=True, text=True, env={**os.environ, "OPENBLAS_NUM_THREADS": "1"})
    return tuple(map(int, out.stdout.split()))


def find(cases, *words):
    return next((c for c in cases if all(re.search(rf"\b{re.escape(w)}\b", c.name) for w in words)), None)


def bars(big, small, ops, extra, errors):
    """Rows (what, seen, bar, met)."""
    rows = []

    def bar(what, value, least, form="{:.1f}"):
        rows.append([what, form.format(value), f"at least {least}", "yes" if value >= least else "**no**"])

    many = f"{CORES} threads" if CORES > 1 else "1 thread"
    for side, cases in ((1024, big), (512, small)):
        for slices, least in (("32 slices", 60), ("1 slice", 25)):
            if astra := find(cases, "ASTRA"):
                ours = find(cases, "Isocenter", slices, many)
                bar(f"{side}^2, {slices}: times ASTRA's rate", ours.rate / astra.rate, least)
    if CORES > 1:
        for slices in ("32 slices", "1 slice"):
            all_threads, one = (find(big, "Isocenter", slices, threads) for threads in (many, "1 thread"))
            least = round(0.9 * CORES, 1)
            bar(f"1024^2, {slices}: {CORES} threads, times one", all_threads.rate / one.rate, least, "{:.2f}")
    for slices in ("32 slices", "1 slice"):
        base = find(ops, "backproject", slices)
        for name in ("forward", "adjoint"):
            bar(f"{name}, {slices}: of backproject's rate", find(ops, name, slices).rate / base.rate, 0.5, "{:.2f}")
    rows.append(["32 slices of 1024^2: memory beyond input and output", f"{extra[0] / 1e6:.0f} MB "
                 f"(`isoc_ct_memory`: {extra[1] / 1e6:.0f})", "at most 256 MB", "yes" if extra[0] <= 256e6 else "**no**"])
    for name, error, _, mine, _ in errors:
        if name.startswith("ASTRA"):
            rows.append(["Shepp-Logan: rms error", f"{mine:.5f}", f"at most ASTRA's, {error:.5f}",
                         "yes" if mine <= error else "**no**"])
    return rows


TEXT = """# CT on the CPU, {date}

{cpu}; {cores} cores; {caches}.
Isocenter {version}: {build}. Python {python}, NumPy {numpy}.
{busy}

## What must be reached

{bars}

## Reconstruction (filter and back projection), Ram-Lak, linear

1024 x 1024 pixels from 1024 views:

{big}

512 x 512 pixels from 512 views:

{small}

## Operators, 1024 x 1024 pixels from 1024 views, {cores} threads

{ops}

## Error: modified Shepp-Logan, {side} x {side} pixels from {views} views over pi

{errors}
{alone}
## How to read this

- Made by `make bench`: the table of operators alone by `cargo bench`, the rest by `benches/peers/run.sh` in one process. The
  cases of a table ran in turns, so the load of the machine falls on all alike. Compare ratios: absolute times hold for this
  machine and minute only. The bars are meant for two cores.
- GU/s: 1e9 updates a second, one update being one view's contribution to one pixel. The filter's time counts, its work does not.
- ms is the median of the runs, spread their (largest - smallest) / median, cores the processor time over the wall time. Where
  cores stays below the number of threads on a quiet machine, threads waited; on a busy one, "GU a core second" is what to trust.
- The other packages work on one slice at a time, so their rate for 32 slices is that of one. They use one core here, we use all:
  ratios are a package's own way to run against ours. For a ratio a core, take our rows with one thread.
- Error: root mean square of the difference from the exact mean of the phantom over each pixel, within the circle that every
  view sees. Everyone gets exact line integrals, sampled where its own rotation axis lies (scikit-image's is half a pixel off
  the middle), so no row suffers from a shift; "ours" is our error on the very same data. "Best factor" grants a package one
  scale factor for its whole slice; ours are as they come out.
- Memory: peak resident size of a process of its own, less its size just before the plan was made, arrays in place.
"""


ALONE = """
## Operators alone (criterion), 256 views

Updates a second; for the filter, values a second.

{table}
"""
ALONE_HEAD = ["operator", "size", "level", "threads", "interpolation", "ms", "1e9 a second"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds, and no file written")
    quick = parser.parse_args().quick

    extra = memory(1024, 1024, 32)
    print(f"memory beyond the arrays: {extra[0] / 1e6:.1f} MB, promised {extra[1] / 1e6:.1f} MB", flush=True)
    load = Load()
    big, small, ops = speed(1024, quick), speed(512, quick), operators(1024, quick)
    busy = load.remark()
    side, views = (256, 402) if quick else (1024, 1608)
    errors = accuracy.measure(side, views)

    head = ["case", "ms", "GU/s", "GU a core second", "cores", "spread", "runs"]
    measured = [table(head, [case.row() for case in cases]) for cases in (big, small, ops)]
    alone = criterion.rows()
    cpu, slug, caches = processor()
    date = datetime.date.today().isoformat()
    text = TEXT.format(
        date=date, cpu=cpu, caches=caches, cores=CORES, busy=busy, side=side, views=views,
        version=isocenter.version(), build=isocenter.build_info(), python=platform.python_version(), numpy=np.__version__,
        bars=table(["what", "seen", "bar", "met"], bars(big, small, ops, extra, errors)),
        big=measured[0], small=measured[1], ops=measured[2],
        errors=table(["package", "rms error", "ours, same data", "how it was taken"],
                     [[name, f"{error:.5f}", f"{mine:.5f}", remark] for name, error, _, mine, remark in errors]),
        alone=ALONE.format(table=table(ALONE_HEAD, alone)) if alone else "")
    print("\n" + text)
    if not quick:
        file = HERE.parent / "results" / f"{date}-{slug}.md"
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
        print(f"written to {file.relative_to(HERE.parents[1])}")


if __name__ == "__main__":
    main()
