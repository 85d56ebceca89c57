"""Factors of a scanner of crystals, with efficiencies and attenuation: how long they take, and how far they are from the mean of simulated events. The events are those of a
cylinder without detectors' gaps; `detect` gives them to crystals, and `deposit_crystals` counts them."""
import argparse
import datetime

import numpy as np

import bare
import isocenter
from places import Gpu, Processor
from timing import Runs, in_turns, table

SHAPE = dict(nx=144, ny=144, nz=48, voxel_x=4.0, azimuths=40, tilts=3, max_tilt=0.17)
BLOCKS, ACROSS, RINGS, PITCH, DIAMETER = 48, 14, 4, 4.2, 930.0
LOST, WIDER = (1 << 32) - 1, 0.2
BODY = isocenter.Body("cylinder", half_x=150.0, half_z=400.0, activity=1.0, attenuation=0.0096)


def scanned(context, max_tilt=SHAPE["max_tilt"]):
    """A plan with blocks of 14 by 11 crystals of 4 mm in 4 rings, gaps between crystals and blocks, efficiencies of 0.6 to 1; efficiencies and an attenuation map
    of voxels of 2 x 2 x 4 mm."""
    pet = isocenter.PET(context, **dict(SHAPE, max_tilt=max_tilt))
    positions, normals = isocenter.block_crystals(blocks=BLOCKS, across=ACROSS, along=11, block_rings=RINGS, diameter=DIAMETER, pitch_across=PITCH,
                                                  block_pitch=11 * PITCH + 3)
    pet.set_scanner(positions, normals, crystal_width=4.0, crystal_height=4.0)
    efficiencies = np.random.default_rng(1).uniform(0.6, 1.0, len(positions)).astype(np.float32)
    fine = isocenter.PET(bare.Context(), nx=180, ny=180, nz=60, voxel_x=2.0, voxel_z=4.0, azimuths=1, max_tilt=0.1)
    return pet, efficiencies, fine.phantom_image([BODY], "attenuation")


def compared(pet, factors, efficiencies, events):
    """Measured counts over those of the model, in voxels inside of the body: in all, and the deviation of views and of blocks of 24 x 24 x 16 voxels, with what chance
    alone makes of either. In voxels at its edge activity is not uniform, so that counts are not factors times its mean."""
    # A crystal's size tilts lines by some milliradians: those beyond the largest tilt come back as others leave.
    wider = scanned(bare.Context(), WIDER)[0]
    counts = np.zeros(pet.histo_images_shape, np.uint32)
    decays, share = 0, int(min(events, 2e7))
    for part in range(int(events / share)):
        scan = isocenter.Scan([BODY], diameter=DIAMETER, axial_length=260.0, seed=part)
        first, second, times, tally = wider.simulate(scan, share)
        crystals, times, _ = wider.detect(first, second, times, efficiencies, seed=part)
        kept = crystals[:, 0] != LOST
        pet.deposit_crystals(crystals[kept], times[kept], histo_images=counts, first_event=part * share)
        decays += tally.decays
    activity = pet.phantom_image([BODY], "activity")
    inside = activity > 0.9999
    # The tally's decays are those within the largest tilt; of all directions there are more. The source reaches beyond the lattice.
    expected = factors * (inside * np.float32(4.0 ** 3 / (np.pi * 150.0 ** 2 * 800.0) * decays / np.sin(WIDER)))
    counts *= inside
    blocks = lambda a: a.sum(0, dtype=np.float64).reshape(3, 16, 6, 24, 6, 24).sum((1, 3, 5)).ravel()
    result = [counts.sum(dtype=np.float64) / expected.sum(dtype=np.float64)]
    for of in (lambda a: a.sum((1, 2, 3), dtype=np.float64), blocks):
        found, model = of(counts), of(expected)
        found, model = found[model > 0.2 * model.max()], model[model > 0.2 * model.max()]
        result += [np.sqrt(np.mean((found / model - 1) ** 2)), np.sqrt(np.mean(1 / model))]
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cpu", action="store_true", help="the processor alone")
    parser.add_argument("--events", type=float, default=4e7)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--directions", type=int, nargs="*", default=[8, 32, 128])
    asked = parser.parse_args()
    place = Processor() if asked.cpu else Gpu()
    own, efficiencies, attenuation = scanned(bare.Context())
    pet = own if asked.cpu else scanned(place.context())[0]
    to = place.zeros(own.histo_images_shape, "float32")
    rows = []
    for directions in asked.directions:
        runs = [Runs("", lambda: pet.factors(efficiencies, attenuation, to, directions=directions, map_voxel=(2.0, 2.0, 4.0)), asked.rounds)]
        runs[0].call()
        seconds = in_turns(runs, place.settle)[0].seconds
        found = compared(own, place.get(to), efficiencies, asked.events)
        rows.append([str(directions), f"{seconds:.3f}", f"{found[0]:.5f}", *(f"{v * 100:.2f} %" for v in found[1:])])
    print(f"# PET factors, {datetime.date.today().isoformat()}\n\n{place.name}; 120 views of 144 x 144 x 48, {BLOCKS * ACROSS * RINGS * 11:,} crystals, {asked.events:.0e} events\n")
    print(table(["directions", "s", "events / model", "views", "by chance", "blocks", "by chance"], rows))


if __name__ == "__main__":
    main()
