"""Stacks of stars on the device: a transform along z and sums in planes, beside the same samples off their planes by a thousandth of a
voxel's frequency, which are transformed in three dimensions."""
import numpy as np

from mri_bench import attempt, show
from places import l2_error
from scans import GOLDEN, complex_noise

# 256^2 x 64 voxels.
PLANES, SIDE, READOUT = 64, 256, 512
OFF = 1e-3


def stars(planes, spokes, readout, by_spokes, turned):
    """Trajectory in cycles per voxel, f64: diameters by the golden angle, plane by plane or spoke by spoke; `turned` from plane to plane."""
    plane, spoke = np.meshgrid(np.arange(planes), np.arange(spokes), indexing="ij")
    angle = GOLDEN * (spoke + (plane * spokes if turned else 0))
    along = (np.arange(readout) - readout // 2) / readout
    k = np.empty((planes, spokes, readout, 3))
    k[..., 0], k[..., 1] = np.cos(angle)[..., None] * along, np.sin(angle)[..., None] * along
    k[..., 2] = ((plane - planes // 2) / planes)[..., None]
    return np.ascontiguousarray(k.swapaxes(0, 1) if by_spokes else k).reshape(-1, 3)


def stack(bench):
    """Of many spokes a plane and of few, all planes alike and turned against each other."""
    planes, side, readout = (8, 24, 30) if bench.asked.small else (PLANES, SIDE, READOUT)
    # A processor takes coil by coil.
    coils = 2 if bench.asked.cpu else 32
    for spokes, by_spokes, turned in ((402, False, False), (402, True, False), (402, True, True), (50, True, False)):
        if bench.asked.small:
            spokes //= 10
        order = "spoke by spoke" if by_spokes else "plane by plane"
        name = f"{spokes} spokes of {readout} in {planes} planes{', turned' if turned else ''}, {order}, {coils} coils, with maps"
        attempt(name, lambda: one(bench, name, (planes, side, side), coils, stars(planes, spokes, readout, by_spokes, turned)))


def one(bench, title, shape, coils, k):
    off = k.copy()
    off[:, 2] += OFF / shape[0] * np.random.default_rng(1).uniform(-1, 1, len(k))
    place, maps = bench.place, bench.place.put(complex_noise((coils, *shape), seed=3))
    image, samples = place.put(complex_noise(shape)), place.put(complex_noise((coils, len(k)), seed=2))
    to_image, to_samples = place.zeros(shape, "complex64"), place.zeros((coils, len(k)), "complex64")
    cases, notes, seen = [], {}, {}
    for kind, trajectory in (("stack", k), ("3-D", off.clip(-0.5, 0.5))):
        mri = bench.mri(shape, trajectory, coils=coils)
        mri.set_maps(maps)
        for operator, from_, to in (("adjoint", samples, to_image), ("forward", image, to_samples)):
            name = f"{kind}, {operator}"
            cases.append((name, lambda run=getattr(mri, operator), from_=from_, to=to: run(from_, to)))
            cases[-1][1]()
            info = mri.info()
            notes[name] = f"{info.fine_nz} x {info.fine_ny} x {info.fine_nx}, width {info.width}"
            # What the samples off their planes change is about this much.
            seen[name] = to.copy() if bench.asked.cpu else to.clone()
    runs = {r.name: r for r in bench.time(cases)}
    show(title, ["", "ms", "ns a sample and coil", "times the stack", "from the other", "grid"], [
        [name, f"{r.seconds * 1e3:.2f}", f"{r.seconds * 1e9 / (coils * len(k)):.4f}",
         f"{r.seconds / runs['stack, ' + name.split(', ')[1]].seconds:.2f}",
         f"{l2_error(seen[name], seen['stack, ' + name.split(', ')[1]]):.1e}", notes[name]] for name, r in runs.items()])
