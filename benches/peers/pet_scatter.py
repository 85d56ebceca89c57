"""Randoms and scatter of scanners of crystals.

First: how long an estimate of scatter takes, on the processor or a GPU, and how much of the simulated scatter it has beside the body, for a clinical scanner and a map of a body's
attenuation (r-santo/openSSS, Matlab/Data; --data names the folder, or an .npz of what `folder` returns). Then: a simulated cylinder with efficiencies, attenuation, scatter and randoms, as an image in Bq/ml, whose regions are
those that were simulated."""
import argparse
import datetime
import pathlib

import numpy as np

import bare
import isocenter
from places import Gpu, Processor
from timing import Runs, in_turns, table

TILT, WINDOW = 0.17, 2000.0
# A crystal's size tilts lines by some milliradians: those beyond the largest tilt come back as others leave.
WIDER = 1.15


def folder(path):
    """Positions and normals of the scanner's crystals, mm; its energy resolution and time resolution, ps; attenuation, 1/mm."""
    if path.suffix == ".npz":
        return tuple(v if v.ndim else float(v) for v in (np.load(path)[name] for name in ("positions", "normals", "energy", "time", "attenuation")))
    from scipy.io import loadmat
    scanner = loadmat(path / "SiemensVision600.mat")
    positions, normals = (scanner[name].reshape(-1, 3).astype(float) for name in ("Geometry", "NormalVectors"))
    attenuation = loadmat(path / "AttenuationImage.mat")["AttenuationMap"].astype(np.float32) / 10
    return 10 * positions, normals, float(scanner["EnergyResolution"].item()), float(scanner["TOFResolution"].item()), np.ascontiguousarray(attenuation.transpose(2, 1, 0))


def clinical(place, path, asked):
    positions, normals, energy, time, attenuation = folder(path)
    attenuation = attenuation.astype(np.float32)
    reach = np.abs(positions[:, 2]).max() + 1.6
    shape = dict(nx=180, ny=180, nz=66, voxel_x=4.0, azimuths=40, tilts=3, max_tilt=TILT)
    plans = [isocenter.PET(c, **shape) for c in (bare.Context(), place.context())]
    for pet in plans:
        pet.set_scanner(positions, normals, crystal_width=3.3, crystal_height=3.3)
    own, pet = plans
    wider = isocenter.PET(bare.Context(), **dict(shape, max_tilt=WIDER * TILT))
    wider.set_scanner(positions, normals, crystal_width=3.3, crystal_height=3.3)
    # As much activity wherever there is tissue.
    tissue = (attenuation > 0.005).astype(np.float32)
    z, y, x = (np.clip(np.rint(4.0 * (np.arange(n) - (n - 1) / 2) / 2.0 + 459 / 2).astype(int), 0, 459) for n in (66, 180, 180))
    activity = np.ascontiguousarray(tissue[np.ix_(z, y, x)])
    diameter = 2 * np.hypot(positions[:, 0], positions[:, 1]).mean()
    scan = isocenter.Scan([isocenter.Body(half_x=1.0)], diameter=diameter, axial_length=2 * reach, tof_fwhm=time, energy_resolution=energy, attenuation=attenuation, map_voxel=2.0)
    counts, decays = np.zeros(own.histo_images_shape, np.uint32), 0
    share = int(min(asked.events, 1e7))
    for part in range(int(asked.events / share)):
        scan.seed = part
        first, second, times, tally = wider.simulate(scan, share, activity=activity)
        crystals, times, _ = wider.detect(first, second, times, seed=part)
        kept = crystals[:, 0] < len(positions)
        own.deposit_crystals(crystals[kept], times[kept], histo_images=counts, first_event=part * share)
        decays += tally.decays / np.sin(WIDER * TILT)
    image = activity * np.float32(decays / activity.sum())
    options = dict(map_voxel=2.0, tof_fwhm=time, energy_resolution=energy, directions=8)
    measured, out = place.put(counts.astype(np.float32)), place.zeros(own.histo_images_shape, "float32")
    rows = []
    for spacing in asked.spacings:
        call = lambda **more: pet.scatter(image, attenuation, None, measured, None, out, spacing=spacing, **options, **more)
        found = call()[1]
        seconds = in_turns([Runs("", call, asked.rounds)], place.settle)[0].seconds
        alone = in_turns([Runs("", lambda: pet.scatter(image, attenuation, None, None, None, out, spacing=spacing, **options), asked.rounds)], place.settle)[0].seconds
        need = f"{max(pet.scatter_memory(attenuation, spacing=spacing, **options)) / 1e9:.2f}"
        rows.append([f"{spacing:g}", str(found.places), f"{alone:.3f}", f"{seconds:.3f}", need, f"{found.scatter:.3e}", f"{found.tails:.0f}", f"{found.scale:.4f}", f"{found.tails ** -0.5 * 100:.2f} %"])
    print(f"\n{len(positions):,} crystals, 120 views of 180 x 180 x 66, {asked.events:.0e} simulated events, {tally.scatter / share:.0%} of them scatter\n")
    print(table(["spacing, mm", "places", "s", "s with tails", "GB", "single scatter", "in tails, simulated", "simulated / estimated", "by chance"], rows))


def cylinder(place, asked):
    shape = dict(nx=80, ny=80, nz=40, voxel_x=4.0, azimuths=40, tilts=1, max_tilt=0.08)
    own, pet = isocenter.PET(bare.Context(), **shape), isocenter.PET(place.context(), **shape)
    tilt = WIDER * shape["max_tilt"]
    wider = isocenter.PET(bare.Context(), **dict(shape, max_tilt=tilt))
    positions, normals = isocenter.block_crystals(blocks=38, across=16, along=56, diameter=780.0, pitch_across=4.0)
    for p in (own, pet):
        p.set_scanner(positions, normals, crystal_width=4.0, crystal_height=4.0, time_edges=np.linspace(-WINDOW, WINDOW, 401))
        p.set_response(tof_fwhm=250.0, radial_fwhm=4.0, axial_fwhm=4.0)
        p.set_options(algorithm="mlem", iterations=30)
    efficiencies = np.random.default_rng(1).uniform(0.6, 1.0, len(positions)).astype(np.float32)
    # Within the lattice: what is beyond would be scattered into it.
    bodies = [isocenter.Body("cylinder", half_x=100.0, half_z=65.0, activity=1.0), isocenter.Body("cylinder", half_x=100.0, half_z=90.0, attenuation=0.0096),
              isocenter.Body("ellipsoid", x=50.0, half_x=20.0, activity=3.0)]
    counts, delays, decays, randoms = np.zeros(own.histo_images_shape, np.uint32), np.zeros(len(positions), np.uint32), 0, 0
    share = int(min(asked.events, 1e7))
    for part in range(int(asked.events / share)):
        of = dict(diameter=784.0, axial_length=224.0, random_window=WINDOW, seed=part)
        first, second, times, tally = wider.simulate(isocenter.Scan(bodies, tof_fwhm=250.0, energy_resolution=0.11, randoms=0.2, **of), share)
        crystals, bins, _ = own.detect(first, second, times, efficiencies, seed=part)
        kept = crystals[:, 0] < len(positions)
        own.deposit_crystals(crystals[kept], bins[kept], histo_images=counts, first_event=part * share)
        # As many delays again, of other random numbers.
        of["seed"] += 1 << 20
        first, second, times, _ = wider.simulate(isocenter.Scan(bodies, randoms=1 - 1e-9, **of), tally.randoms)
        crystals, _, _ = own.detect(first, second, times, efficiencies, seed=of["seed"])
        own.fan_sums(crystals[crystals[:, 0] < len(positions)], sums=delays)
        decays, randoms = decays + tally.decays / np.sin(tilt), randoms + tally.randoms
    map_ = own.phantom_image(bodies, "attenuation")[18:22].mean(0)[None].repeat(45, axis=0)
    truth = own.phantom_image(bodies) * np.float32(1.0)
    truth *= decays / truth.sum()
    singles = own.singles(delays, 600.0)
    found_randoms = pet.randoms(singles, 600.0, place.zeros(own.histo_images_shape, "float32"))
    factors = pet.factors(efficiencies, map_, place.zeros(own.histo_images_shape, "float32"))
    measured, additive = place.put(counts.astype(np.float32)), found_randoms
    z, y, x = (4.0 * (np.indices(truth.shape)[k] - (n - 1) / 2) for k, n in enumerate(truth.shape))
    regions = [("middle", np.hypot(x, y) < 30), ("left", np.hypot(x + 55, y) < 25), ("above", np.hypot(x, y - 60) < 25), ("hot", np.sqrt((x - 50) ** 2 + y ** 2 + z ** 2) < 12)]
    rows = []
    for round_ in range(asked.updates + 1):
        image = pet.reconstruct(measured, factors, additive)
        image = place.get(image) if not isinstance(image, np.ndarray) else image
        parts = [f"{image[mask & (np.abs(z) < 40)].mean() / truth[mask & (np.abs(z) < 40)].mean():.4f}" for _, mask in regions]
        rows.append([str(round_), *parts, "" if round_ == 0 else f"{found.scale:.3f}"])
        if round_ < asked.updates:
            additive, found = pet.scatter(image, map_, efficiencies, measured, found_randoms, place.zeros(own.histo_images_shape, "float32"), energy_resolution=0.11)
    print(f"\nCylinder of 200 mm with a hot sphere of 40 mm: {asked.events:.0e} events, {randoms:.1e} of them random, efficiencies of 0.6 to 1; 30 passes of MLEM. Regions over the truth, by how often scatter was estimated:\n")
    print(table(["estimates", *(name for name, _ in regions), "scale"], rows))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cpu", action="store_true", help="the processor alone")
    parser.add_argument("--data", type=pathlib.Path, help="folder of SiemensVision600.mat and AttenuationImage.mat")
    parser.add_argument("--events", type=float, default=4e7)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--updates", type=int, default=3)
    parser.add_argument("--spacings", type=float, nargs="*", default=[20.0, 12.0, 8.0])
    asked = parser.parse_args()
    place = Processor() if asked.cpu else Gpu()
    print(f"# PET randoms and scatter, {datetime.date.today().isoformat()}\n\n{place.name}")
    if asked.data:
        clinical(place, asked.data, asked)
    cylinder(place, asked)


if __name__ == "__main__":
    main()
