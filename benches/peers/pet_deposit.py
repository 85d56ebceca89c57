"""Events into histo-images: on the processor, and on a GPU (PyTorch's arrays) of events on the host and there, told by positions and by crystals. In turns;
millions of events a second."""
import argparse
import datetime

import numpy as np

import bare
import isocenter
from places import Gpu, Processor
from timing import Runs, in_turns, table


BLOCKS, ACROSS, RINGS, PITCH, DIAMETER = 48, 15, 45, 4.0, 930.0
EDGES = np.linspace(-2000, 2000, 122)


def crystals_of(positions):
    """The nearest crystal of 48 blocks."""
    x, y, z = np.moveaxis(positions.astype(np.float64), -1, 0)
    block = np.rint(np.arctan2(y, x) * BLOCKS / (2 * np.pi)).astype(np.int64) % BLOCKS
    azimuth = block * 2 * np.pi / BLOCKS
    across = np.rint((y * np.cos(azimuth) - x * np.sin(azimuth)) / PITCH + (ACROSS - 1) / 2).clip(0, ACROSS - 1)
    ring = np.rint(z / PITCH + (RINGS - 1) / 2).clip(0, RINGS - 1)
    return ((ring * BLOCKS + block) * ACROSS + across).astype(np.uint32)


def with_scanner(pet):
    positions, normals = isocenter.block_crystals(blocks=BLOCKS, across=ACROSS, along=RINGS, diameter=DIAMETER, pitch_across=PITCH)
    pet.set_scanner(positions, normals, crystal_width=PITCH, crystal_height=PITCH, time_edges=EDGES)
    return pet


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
    with_scanner(own)
    pairs = np.stack([crystals_of(first), crystals_of(second)], 1)
    bins = (np.digitize(times, EDGES) - 1).clip(0, len(EDGES) - 2).astype(np.uint16)
    runs = [Runs("processor", lambda: own.deposit(first, second, times, counts), asked.rounds),
            Runs("processor, crystals", lambda: own.deposit_crystals(pairs, bins, histo_images=counts), asked.rounds)]
    place = Processor() if asked.cpu else Gpu()
    if not asked.cpu:
        pet = isocenter.PET(place.context(), **shape)
        with_scanner(pet).set_stream(place.stream)
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
        named = [place.put(a) for a in (pairs, bins)]
        more = [a.repeat(10, *[1] * (a.ndim - 1)) for a in named]
        to = place.zeros(own.histo_images_shape, "uint32")
        pet.deposit_crystals(pairs, bins, histo_images=to)
        seen = np.zeros_like(counts)
        own.deposit_crystals(pairs, bins, histo_images=seen)
        assert (place.get(to) == seen).all(), "other voxels than the processor's"
        runs += [Runs("GPU, crystals on the host", lambda: pet.deposit_crystals(pairs, bins, histo_images=to), asked.rounds),
                 Runs("GPU, crystals on the GPU", lambda: pet.deposit_crystals(*named, histo_images=to), asked.rounds),
                 Runs("GPU, crystals, ten times as many", lambda: pet.deposit_crystals(*more, histo_images=to), asked.rounds)]
    for run in runs:
        run.call()
    print(f"# PET events, {datetime.date.today().isoformat()}\n\n{place.name}; {events:,} events, 120 views of 144 x 144 x 48\n")
    rows = [[r.name, f"{r.seconds * 1e3:.2f}", f"{events * (10 if 'ten' in r.name else 1) / r.seconds / 1e6:.0f}"] for r in in_turns(runs, place.settle)]
    print(table(["", "ms", "M events/s"], rows))


if __name__ == "__main__":
    main()
