"""What the parts of mri_gpu.py share: plans on the device, and cases that may fail without stopping the others."""
import functools
import importlib
import time

import isocenter
import places
from places import l2_error
from scans import READOUT, SIDE, SPOKES, voxels
from timing import Runs, in_turns, table


def attempt(name, make):
    """What `make` gives, or None with the reason printed."""
    try:
        return make()
    except Exception as e:  # whatever it is, the other cases shall run
        reason = str(e).strip().splitlines() or [""]
        print(f"- {name}: {type(e).__name__}: {reason[0][:300]}", flush=True)
        return None


def show(title, head, rows):
    print(f"\n### {title}\n\n{table(head, rows)}\n", flush=True)


class Bench:
    """Where arrays are, sizes, how long cases run."""

    def __init__(self, asked):
        self.asked, self.place = asked, places.Processor() if asked.cpu else places.Gpu()
        package = "finufft" if asked.cpu else "cufinufft"
        self.peer = attempt(package, lambda: importlib.import_module(package))

    def scan(self):
        """(side, spokes, readout) of the book's case."""
        return (24, 120, 30) if self.asked.small else (SIDE, SPOKES, READOUT)

    def mri(self, shape, trajectory, coils=1, unit="cycles_per_voxel", precision="single", **options):
        """A plan in a context of its own."""
        mri = isocenter.MRI(self.place.context(), trajectory=trajectory, unit=unit, coils=coils, precision=precision,
                            **voxels(shape))
        mri.set_stream(self.place.stream)
        mri.set_options(**options)
        return mri

    def seconds(self, call):
        """Of one call."""
        self.place.settle()
        start = time.perf_counter()
        call()
        self.place.settle()
        return time.perf_counter() - start

    def time(self, cases):
        """Runs of cases (name, call), in turns. Long ones get fewer rounds, at least 5; those that fail are left out."""
        runs, least = [], min(5, self.asked.rounds)
        for name, call in cases:
            if attempt(name, lambda: self.seconds(call)) is not None:
                once = self.seconds(call)
                runs.append(Runs(name, call, min(self.asked.rounds, max(least, int(self.asked.slow / once)))))
        return in_turns(runs, self.place.settle)


class Outputs:
    """Cases that make arrays of one shape from the same source, and how far each is from the truth (None if unknown)."""

    HEAD = ["case", "ms", "{}", "times the first", "l2 error against f64", "runs"]

    def __init__(self, bench, source, shape, truth):
        self.bench, self.source, self.shape, self.truth = bench, source, shape, truth
        self.cases, self.targets = [], {}

    def add(self, name, make, bind=functools.partial):
        """make() gives a function of source and target; bind that and these as one of nothing, which is timed."""
        target = self.bench.place.zeros(self.shape, "complex64")
        if (call := attempt(name, lambda: bind(make(), self.source, target))) is not None:
            self.targets[name] = target
            self.cases.append((name, call))

    def show(self, title, work, unit):
        """Times all cases and prints a table; `work` is in the unit's ones."""
        runs = self.bench.time(self.cases)
        error = {r.name: "?" if self.truth is None else f"{l2_error(self.targets[r.name], self.truth):.1e}" for r in runs}
        show(title, [word.format(unit) for word in self.HEAD], [
            [r.name, f"{r.seconds * 1e3:.3f}", f"{work / r.seconds / 1e9:.4g}", f"{r.seconds / runs[0].seconds:.2f}",
             error[r.name], str(len(r.wall))] for r in runs])
