"""Events into histo-images: on the processor, and on a GPU (PyTorch's arrays) of events on the host and there. In turns; millions of events a second."""
import argparse
import datetime

import numpy as np

import bare
import isocenter
from places import Gpu, Processor
from timing import Runs, in_turns, table


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cpu", action="store_true", help="the processor alone")
    parser.add_argument("--events", type=float, default=2e7)
    parser.add_argument("--rounds", type=int, default=7)
    asked = parser.parse_args()
    shape, events = dict(nx=144, ny=144, nz=48, voxel_x=4.0, azimuths=40, tilts=3, max_tilt=0.17), int(asked.events)
    own = isocenter.PET(bare.Context(), **shape)
    body = isocenter.Body("cylinder", half_x=150.0, half_z=90.0, activity=1.0, attenuation=0.0096)
    scan = isocenter.Scan([body], diameter=930.0, axial_length=180.0, tof_fwhm=400.0, radial_fwhm=5.0, axial_fwhm=5.0)
    first, second, times, _ = own.simulate(scan, events)
    counts = np.zeros(own.histo_images_shape, np.uint32)
    runs = [Runs("processor", lambda: own.deposit(first, second, times, counts), asked.rounds)]
    place = Processor() if asked.cpu else Gpu()
    if not asked.cpu:
        pet = isocenter.PET(place.context(), **shape)
        pet.set_stream(place.stream)
        there = [place.put(a) for a in (first, second, times)]
        many = [a.repeat(10, *[1] * (a.ndim - 1)) for a in there]
        for dtype in ("uint32", "float32"):
            to = place.zeros(own.histo_images_shape, dtype)
            pet.deposit(first, second, times, to)
            seen = np.zeros_like(counts)
            own.deposit(first, second, times, seen)
            assert (place.get(to).astype(np.uint32) == seen).all(), "other voxels than the processor's"
            runs += [Runs(f"GPU, {dtype}, events on the host", lambda to=to: pet.deposit(first, second, times, to), asked.rounds),
                     Runs(f"GPU, {dtype}, events on the GPU", lambda to=to: pet.deposit(*there, to), asked.rounds),
                     Runs(f"GPU, {dtype}, ten times as many", lambda to=to: pet.deposit(*many, to), asked.rounds)]
    for run in runs:
        run.call()
    print(f"# PET events, {datetime.date.today().isoformat()}\n\n{place.name}; {events:,} events, 120 views of 144 x 144 x 48\n")
    rows = [[r.name, f"{r.seconds * 1e3:.2f}", f"{events * (10 if 'ten' in r.name else 1) / r.seconds / 1e6:.0f}"] for r in in_turns(runs, place.settle)]
    print(table(["", "ms", "M events/s"], rows))


if __name__ == "__main__":
    main()
