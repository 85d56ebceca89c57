"""Priors of PET: how long a gradient takes, and after how many passes images are as good as the converged one, in the whole object and in regions.

Distances are those of PETRIC (arXiv 2511.22566): root mean square over the object, and the largest difference of a region's mean, over the mean of the background; of the image that 200 passes of SVRG find."""
import argparse
import datetime

import numpy as np

import bare
import isocenter
from places import Gpu, Processor
from timing import Runs, in_turns, table

SIDES = (211, 256, 256)


def gradients(place, asked):
    pet = isocenter.PET(place.context(), nz=SIDES[0], ny=SIDES[1], nx=SIDES[2], voxel_x=2.0, azimuths=1, max_tilt=0.1)
    pet.set_tables(0, np.zeros(SIDES[1:], np.uint32), [[0, 0, 0]], np.ones((1, 1), np.float32))
    rng = np.random.default_rng(0)
    image, other = (rng.random(SIDES, np.float32) for _ in range(2))
    there, out = place.put(image), place.zeros(SIDES, "float32")
    rows = []
    for name, words in (("relative differences", dict()), ("relative differences, weights and anatomy", dict(weights=other, anatomy=other, anatomy_sigma=0.2)),
                        ("quadratic", dict(potential="quadratic")), ("quadratic with edges", dict(potential="quadratic", edge=0.1))):
        pet.set_prior(strength=1.0, **words)
        run = in_turns([Runs(name, lambda: pet.prior_gradient(there, out), asked.rounds)], place.settle)[0]
        rows.append([name, f"{run.seconds * 1e3:.2f}", f"{run.spread:.0%}"])
    print(f"\nValue and gradient of {' x '.join(map(str, SIDES))} voxels:\n")
    print(table(["prior", "ms", "spread"], rows))


def passes(place, asked):
    shape = dict(nx=asked.side, ny=asked.side, nz=asked.slices, voxel_x=4.0, azimuths=40, tilts=3, max_tilt=np.deg2rad(10))
    own, pet = isocenter.PET(bare.Context(), **shape), isocenter.PET(place.context(), **shape)
    response = dict(tof_fwhm=400.0, radial_fwhm=5.8, axial_fwhm=5.8)
    for p in (own, pet):
        p.set_response(**response)
    reach = 4.0 * asked.side / 2
    at = np.arange(6) * np.pi / 3
    around = 0.45 * reach
    radii, extra = [5.0, 6.5, 8.5, 11.0, 14.0, 18.5], [3.0, 3.0, 3.0, 3.0, -0.9, -0.9]
    bodies = [isocenter.Body("cylinder", half_x=0.7 * reach, half_z=2.0 * asked.slices, activity=1.0, attenuation=0.0096)]
    bodies += [isocenter.Body("ellipsoid", around * np.cos(a), around * np.sin(a), 0.0, half_x=r, activity=e) for a, r, e in zip(at, radii, extra)]
    scan = isocenter.Scan(bodies, randoms=0.25, scatter=0.25, seed=1, **response)
    measured = np.zeros(own.histo_images_shape, np.uint32)
    first, second, times, tally = own.simulate(scan, int(asked.events))
    own.deposit(first, second, times, measured)
    factors, additive = own.expect(scan, tally)
    histos = [place.put(a) for a in (measured.astype(np.float32), factors, additive)]
    x, y, z = (4.0 * (np.indices(own.image_shape)[k] - (own.image_shape[k] - 1) / 2) for k in (2, 1, 0))
    whole = np.hypot(x, y) < 0.68 * reach
    background = np.hypot(x, y) < 0.25 * reach
    regions = [(x - around * np.cos(a)) ** 2 + (y - around * np.sin(a)) ** 2 + z ** 2 < r * r for a, r in zip(at, radii)] + [background]
    out = place.zeros(own.image_shape, "float32")

    def image(**options):
        pet.set_options(**options)
        pet.reconstruct(*histos, out)
        return np.array(place.get(out), copy=True)

    for beta in asked.strengths:
        pet.set_prior(strength=beta)
        wanted = image(algorithm="svrg", iterations=asked.converged)
        again = image(algorithm="svrg", iterations=asked.converged // 2)
        mean = wanted[background].mean()

        def far(seen):
            return np.sqrt(((seen - wanted)[whole] ** 2).mean()) / mean, max(abs(seen[r].mean() - wanted[r].mean()) for r in regions) / mean

        rows = []
        for name, options in (("svrg", dict(algorithm="svrg")), ("svrg, 24 subsets", dict(algorithm="svrg", subsets=24)), ("svrg, 12 subsets", dict(algorithm="svrg", subsets=12)),
                              ("bsrem", dict(algorithm="bsrem")), ("bsrem, 24 subsets", dict(algorithm="bsrem", subsets=24))):
            seen = [far(image(iterations=k + 1, **options)) for k in range(asked.passes)]
            enough = next((k + 1 for k, (a, b) in enumerate(seen) if a < 0.01 and b < 0.005), None)
            pet.set_options(iterations=10, **options)
            seconds = in_turns([Runs(name, lambda: pet.reconstruct(*histos, out), asked.rounds)], place.settle)[0].seconds
            rows.append([name, *(f"{100 * a:.2f}, {100 * b:.2f}" for a, b in seen), str(enough), f"{seconds * 100:.1f}"])
        print(f"\nStrength {beta:g}: noise of the background {wanted[background].std() / mean:.1%}; {asked.converged // 2} passes are {far(again)[0]:.1e} from {asked.converged}. Whole object, regions, in % after each pass:\n")
        print(table(["algorithm", *map(str, range(1, asked.passes + 1)), "passes to 1 %, 0.5 %", "ms a pass"], rows))
        if asked.picture:
            import matplotlib
            matplotlib.use("Agg")
            from matplotlib import pyplot
            few = image(algorithm="svrg", iterations=4)
            pet.set_prior(strength=None)
            seen = (wanted, few, image(algorithm="osem", iterations=4))
            pyplot.imsave(asked.picture, np.concatenate([v[asked.slices // 2] for v in seen], axis=1), cmap="gray_r", vmax=4 * mean)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cpu", action="store_true", help="the processor alone")
    parser.add_argument("--side", type=int, default=144)
    parser.add_argument("--slices", type=int, default=48)
    parser.add_argument("--events", type=float, default=3e7)
    parser.add_argument("--strengths", type=float, nargs="*", default=[1.0, 4.0])
    parser.add_argument("--converged", type=int, default=200)
    parser.add_argument("--passes", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--picture", help="converged, four passes of SVRG, four of OSEM")
    asked = parser.parse_args()
    place = Processor() if asked.cpu else Gpu()
    print(f"# PET priors, {datetime.date.today().isoformat()}\n\n{place.name}")
    gradients(place, asked)
    passes(place, asked)


if __name__ == "__main__":
    main()
