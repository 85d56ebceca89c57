"""Memory that a reconstruct takes beyond its arrays, in a process of its own: prints the bytes seen and those promised."""
import sys

import numpy as np

import bare
import isocenter
from scans import parallel


def status(field):
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field + ":"))


def main(side, views, slices):
    projections = np.empty((views, slices, side), np.float32)
    np.random.default_rng(0).random(out=projections, dtype=np.float32)
    volume = np.zeros((slices, side, side), np.float32)
    volume.fill(1.0)  # Every page is there before the call.
    before = status("VmRSS")
    assert status("VmHWM") - before < 1 << 20, "something larger came before"
    ct = isocenter.CT(bare.Context(), **parallel(side, views, slices))
    bare.call(ct.reconstruct, projections, volume)()
    print(status("VmHWM") - before, ct.memory())


main(*map(int, sys.argv[1:4]))
