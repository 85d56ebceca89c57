"""Off-resonance on the device: transforms by products, F^H W F and solutions by convolutions, beside those without a field."""
import functools

import numpy as np

import bare
import places
from mri_bench import Outputs, attempt, show
from nuffts import Nufft
from places import l2_error
from scans import complex_noise, radial

TOLERANCE = 1e-4


def off_resonance(side, hertz):
    """A smooth field over a cube that reaches from -hertz to hertz."""
    z, y, x = np.meshgrid(*[np.linspace(-1, 1, side)] * 3, indexing="ij")
    map = np.sin(2 * x + y) + 0.7 * np.cos(3 * y - z) + 0.5 * x * z
    return hertz * (2 * (map - map.min()) / np.ptp(map) - 1)


def scan(bench, map=True, precision="single", **options):
    """The book's scan with a field map of +-150 Hz and readouts of 20 ms: 6 turns."""
    side, spokes, readout = bench.scan()
    mri = bench.mri((side,) * 3, radial(3, spokes, readout), precision=precision, **options)
    if map:
        mri.set_field(off_resonance(side, 150.0), np.tile(np.linspace(0, 20e-3, readout), spokes))
    return mri


@functools.cache
def svd_products(bench, tolerance):
    """Factors of samples `[product][sample]` and of voxels `[product][z][y][x]` of as few products as a singular value decomposition of the
    field's histogram allows."""
    side, spokes, readout = bench.scan()
    map, times = off_resonance(side, 150.0), np.linspace(0, 20e-3, readout)
    counts, edges = np.histogram(map, 1000)
    rates = (edges[1:] + edges[:-1]) / 2
    left, values, _ = np.linalg.svd(np.exp(-2j * np.pi * np.outer(times, rates)) * np.sqrt(counts), full_matrices=False)
    rest = np.sqrt(np.cumsum(values[::-1] ** 2)[::-1] / np.sum(values**2))
    left = left[:, :int(np.argmax(rest <= tolerance))]
    of_voxels = np.empty((left.shape[1], map.size), np.complex64)
    for first in range(0, map.size, 1 << 16):  # projections onto the products of times
        some = map.ravel()[first:first + (1 << 16)]
        of_voxels[:, first:first + some.size] = left.conj().T @ np.exp(-2j * np.pi * np.outer(times, some))
    return np.ascontiguousarray(np.tile(left.T, (1, spokes))).astype(np.complex64), of_voxels.reshape(-1, *map.shape)


def by_svd(bench, kind, tolerance, **options):
    """What packages around FINUFFT do: products of a singular value decomposition, at half of the tolerance, by the peer's transforms side by
    side, at the other half. A function of source and target, and how many products."""
    side, spokes, readout = bench.scan()
    place = bench.place
    of_samples, of_voxels = (place.put(a if kind == 2 else a.conj()) for a in svd_products(bench, tolerance / 2))
    products, points = len(of_samples), place.put((2 * np.pi * radial(3, spokes, readout)).astype(np.float32))
    nufft = Nufft(bench.peer, kind, (side,) * 3, points, transforms=products, eps=tolerance / 2, **options)
    before, behind = (of_samples, of_voxels) if kind == 1 else (of_voxels, of_samples)
    many, out = (place.zeros(tuple(a.shape), "complex64") for a in (before, behind))

    def run(source, target):
        place.xp.multiply(before, source[None], out=many)
        nufft.run(many, out)
        target[...] = (behind * out).sum(0)

    return run, products


def field(bench):
    """By products, exactly, and as if there were no field."""
    attempt("transforms", lambda: transforms(bench))
    attempt("F^H W F", lambda: normal_operator(bench))
    attempt("solutions", lambda: solutions(bench))


def transforms(bench):
    side, spokes, readout = bench.scan()
    shape, place, samples = (side,) * 3, bench.place, spokes * readout

    for operator, from_size, to_size in (("adjoint", (samples,), shape), ("forward", shape, (samples,))):
        noise = complex_noise(from_size)

        def reference():
            target = place.zeros(to_size, "complex128")
            getattr(scan(bench, precision="double", tolerance=1e-9), operator)(place.put(noise.astype(np.complex128)), target)
            place.settle()
            return target

        outputs = Outputs(bench, place.put(noise), to_size, attempt(f"{operator}, f64", reference))
        made = {tolerance: scan(bench, tolerance=tolerance) for tolerance in (TOLERANCE, 1e-3, 1e-5)}
        for tolerance, mri in made.items():
            outputs.add(f"{operator}, tolerance {tolerance:g}", lambda mri=mri: getattr(mri, operator), bare.call)
        outputs.add(f"{operator}, tolerance 0.0001, without the field", lambda: getattr(scan(bench, map=False, tolerance=TOLERANCE), operator), bare.call)
        kind = 1 if operator == "adjoint" else 2
        on_gpu = isinstance(place, places.Gpu)
        for upsampling, method in ((1.25, 1), (1.25, 2), (2.0, 1), (2.0, 2), (2.0, 3)) if on_gpu else ((1.25, 0), (2.0, 0)):
            if bench.peer is None:
                break
            options = dict(upsampfac=upsampling, **({"gpu_method": method} if method else {}))
            made_by = attempt("SVD", lambda: by_svd(bench, kind, TOLERANCE, **options))
            if made_by:
                words = f", method {method}" if method else ""
                outputs.add(f"{operator}, {made_by[1]} products by {bench.peer.__name__}, upsampling {upsampling:g}{words}", lambda: made_by[0])
        if on_gpu or bench.asked.small:
            outputs.add(f"{operator}, exact", lambda: getattr(scan(bench, method="exact"), operator), bare.call)
        outputs.show(f"Off-resonance, {operator}: {side}^3 voxels, {samples:,} samples, f32, +-150 Hz over 20 ms", samples,
                     "G samples/s")
        for tolerance, mri in made.items():
            print(f"Tolerance {tolerance:g}: {mri.info().field_terms} products, error {mri.info().field_error:.1e}.", flush=True)


WAYS = (("without the field, by Q", False, "toeplitz"), ("by Q", True, "toeplitz"), ("by pairs of transforms", True, "pair"))


def weighted(bench, map, normal, **options):
    mri = scan(bench, map, normal=normal, **options)
    mri.compute_weights("radial", bench.scan()[2])
    return mri


def normal_operator(bench):
    """F^H W F; the bar is 1.5 times as long as one convolution for each that the field takes."""
    side, spokes, readout = bench.scan()
    shape, place, noise, made = (side,) * 3, bench.place, complex_noise((side,) * 3), {}

    def reference():
        target = place.zeros(shape, "complex128")
        weighted(bench, True, "pair", precision="double", tolerance=1e-9).normal(place.put(noise.astype(np.complex128)), target)
        return target

    def plan(name, map, normal):
        made[name] = weighted(bench, map, normal, tolerance=TOLERANCE)
        if normal == "toeplitz":
            print(f"- {name}: Q {bench.seconds(made[name].compute_q) * 1e3:.1f} ms", flush=True)
        return made[name].normal

    outputs = Outputs(bench, place.put(noise), shape, attempt("F^H W F, f64", reference))
    for name, map, normal in WAYS:
        outputs.add(name, lambda: plan(name, map, normal), bare.call)
    outputs.show(f"Off-resonance, F^H W F: {side}^3 voxels, {spokes * readout:,} samples, f32, tolerance {TOLERANCE:g}, Q known", side**3,
                 "G voxels/s")
    for name, mri in made.items():
        info = mri.info()
        print(f"{name}: {info.normal_terms} convolutions, error {info.normal_error:.1e}; {mri.memory() / 2**20:.0f} MiB for a solution.", flush=True)


def solutions(bench):
    """Conjugate gradient of random samples."""
    side, spokes, readout = bench.scan()
    shape, place, iterations = (side,) * 3, bench.place, 5 if bench.asked.cpu else 20
    noise, images, cases = complex_noise((spokes * readout,)), {}, []
    data, settings = place.put(noise), dict(iterations=iterations, residual=1e-30)

    def reference():
        target = place.zeros(shape, "complex128")
        mri = weighted(bench, True, "pair", precision="double", tolerance=1e-9, **settings)
        mri.reconstruct(place.put(noise.astype(np.complex128)), target)
        return target

    def case(name, map, normal):
        images[name] = place.zeros(shape, "complex64")
        return name, bare.call(weighted(bench, map, normal, tolerance=TOLERANCE, **settings).reconstruct, data, images[name])

    truth = attempt("solution, f64", reference)
    for name, map, normal in WAYS:
        cases.append(attempt(name, lambda: case(name, map, normal)))
    runs = bench.time([c for c in cases if c])
    error = {name: f"{l2_error(images[name], truth):.1e}" for name, map, _ in WAYS if map and name in images and truth is not None}
    show(f"Off-resonance, conjugate gradient: {side}^3 voxels, {spokes * readout:,} samples, f32, tolerance {TOLERANCE:g}, {iterations} iterations",
         ["case", "ms", "ms an iteration", "times the first", "l2 distance from f64 by pairs", "runs"],
         [[r.name, f"{r.seconds * 1e3:.2f}", f"{r.seconds * 1e3 / iterations:.3f}", f"{r.seconds / runs[0].seconds:.2f}", error.get(r.name, ""),
           str(len(r.wall))] for r in runs])
