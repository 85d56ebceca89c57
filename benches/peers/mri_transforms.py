"""Fourier sums on the device: fast beside cuFINUFFT, exact beside a plain loop."""
import functools

import numpy as np

import bare
import places
import plain
from mri_bench import Outputs, attempt
from nuffts import Nufft
from places import l2_error
from scans import READOUT, SIDE, SPOKES, complex_noise, radial, radians

SINES = "precise", "hardware"
TOLERANCE = 1e-5


def nufft(bench):
    """Both transforms, f32, points set outside the timing."""
    if bench.asked.small:
        scans = [((32,) * 3, 120, 40, 1), ((64, 64), 40, 100, 4)]
    else:
        scans = [((SIDE,) * 3, SPOKES, READOUT, 1), ((256,) * 3, 25_000, 400, 1), ((1024, 1024), 500, 1000, 32)]
    for scan in scans:
        attempt(f"NUFFT of {scan}", lambda: both_types(bench, *scan))


def both_types(bench, shape, spokes, readout, coils):
    trajectory = radians(radial(len(shape), spokes, readout))
    samples, batch = len(trajectory), (coils,) if coils > 1 else ()
    single, double = (attempt(f"plan, tolerance {tolerance:g}", lambda: bench.mri(
        shape, trajectory, coils=coils, unit="radians_per_voxel", precision=precision, method="nufft", tolerance=tolerance))
        for precision, tolerance in (("single", TOLERANCE), ("double", 1e-12)))
    title = (f"{' x '.join(map(str, shape))} voxels, {samples:,} radial samples ({spokes} spokes of {readout}), "
             f"{coils} coil{'s' * (coils > 1)}, f32, tolerance {TOLERANCE:g}")
    for kind, operator in ((1, "adjoint"), (2, "forward")):
        sizes = batch + (samples,), batch + shape
        fast_transform(bench, kind, operator, shape, trajectory, coils, single, double, *(sizes if kind == 1 else sizes[::-1]),
                       f"NUFFT, {operator} (type {kind}): {title}")
    if info := attempt("info", lambda: single.info()):
        print(f"Our grid: {info.fine_nz} x {info.fine_ny} x {info.fine_nx}, width {info.width}.", flush=True)


def fast_transform(bench, kind, operator, shape, trajectory, coils, single, double, from_size, to_size, title):
    place, peer = bench.place, bench.peer
    noise = complex_noise(from_size)
    wide = place.put(noise.astype(np.complex128))

    def reference(run):
        target = place.zeros(to_size, "complex128")
        run(wide, target)
        place.settle()
        return target

    ours = attempt(f"Isocenter {operator}, f64", lambda: reference(getattr(double, operator)))
    theirs = peer and attempt(f"{peer.__name__} type {kind}, f64", lambda: reference(Nufft(
        peer, kind, shape, place.put(trajectory.astype(np.float64)), transforms=coils, eps=1e-12, dtype="complex128").run))
    outputs = Outputs(bench, place.put(noise), to_size, ours if theirs is None else theirs)
    outputs.add(f"Isocenter {operator}", lambda: getattr(single, operator), bare.call)
    for upsampling in (1.25, 2.0) if peer else ():
        for options in [{"gpu_method": m} for m in (1, 2, 3)] if peer.__name__ == "cufinufft" else [{}]:
            words = "".join(f", {key.removeprefix('gpu_')} {value}" for key, value in options.items())
            outputs.add(f"{peer.__name__} {peer.__version__} type {kind}, upsampling {upsampling:g}{words}",
                        lambda: Nufft(peer, kind, shape, place.put(trajectory), transforms=coils, eps=TOLERANCE,
                                      upsampfac=upsampling, **options).run)
    outputs.show(title, coils * len(trajectory), "G samples/s")
    if ours is not None and theirs is not None:
        print(f"Both packages' f64 at 1e-12 differ by {l2_error(ours, theirs):.0e}.", flush=True)


def jittered(side):
    """Positions of the voxels of a cube, off the grid."""
    axis = np.arange(side) - side // 2
    z, y, x = np.meshgrid(axis, axis, axis, indexing="ij")
    grid = np.stack([x, y, z], -1).astype(np.float64)
    return grid + np.random.default_rng(1).uniform(-0.4, 0.4, grid.shape)


def exact(bench):
    """Sums term by term: on the grid, where they factorise, and with voxels anywhere."""
    for anywhere in (False, True):
        attempt("exact sums", lambda: exact_sums(bench, anywhere))


def exact_sums(bench, anywhere):
    side, spokes, readout = bench.scan()
    trajectory, shape, place = radial(3, spokes, readout), (side,) * 3, bench.place
    samples = len(trajectory)
    positions = jittered(side) if anywhere else None

    def plan(precision, sines):
        mri = bench.mri(shape, trajectory, precision=precision, method="exact", sines=sines)
        mri.set_positions(positions)
        return mri

    def reference(operator, wide, to_size):
        target = place.zeros(to_size, "complex128")
        getattr(plan("double", "precise"), operator)(wide, target)
        return target

    for operator, from_size, to_size in (("adjoint", (samples,), shape), ("forward", shape, (samples,))):
        noise = complex_noise(from_size)
        outputs = Outputs(bench, place.put(noise), to_size, attempt(
            f"{operator}, f64", lambda: reference(operator, place.put(noise.astype(np.complex128)), to_size)))
        for sines in SINES if anywhere else ("precise",):
            outputs.add(f"{operator}{f', {sines} sines' * anywhere}", lambda: getattr(plan("single", sines), operator), bare.call)
        if operator == "adjoint" and not anywhere:
            for name, run in plain_loops(place):
                outputs.add(name, lambda: functools.partial(run(), place.put(trajectory)))
        where = "voxels anywhere (isoc_mri_set_positions)" if anywhere else "voxels on the grid"
        outputs.show(f"Exact sums, {operator}: {side}^3 voxels, {samples:,} samples, f32, {where}", side**3 * samples,
                     "G pairs/s")


def plain_loops(place):
    if isinstance(place, places.Gpu):
        return [(f"plain loop, a voxel a thread, {name} sines", lambda name=name: plain.on_the_gpu(name == "hardware"))
                for name in SINES]
    return [("plain loop in C", lambda: plain.on_the_processor(["-O3"], 2))]
