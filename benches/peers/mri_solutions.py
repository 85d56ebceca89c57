"""F^H W F, whole reconstructions and what precision does to them, on the device."""
import numpy as np

import bare
import isocenter
from mri_bench import Outputs, attempt, show
from mri_transforms import SINES
from places import l2_error
from scans import complex_noise, radial, voxels


def ring_of_coils(coils, side):
    """Smooth sensitivities, squares adding up to 1."""
    axis = (np.arange(side) - side // 2) / side
    z, y, x = np.meshgrid(axis, axis, axis, indexing="ij")
    maps = np.stack([np.exp(1j * turn - 2 * ((x - np.cos(turn) / 2)**2 + (y - np.sin(turn) / 2)**2 + z**2))
                     for turn in 2 * np.pi * np.arange(coils) / coils])
    return (maps / np.sqrt((abs(maps)**2).sum(0))).astype(np.complex64)


def toeplitz(bench):
    """F^H W F for one coil and for eight with maps, beside padded FFTs with the same Q."""
    for coils in (1, 8):
        attempt(f"F^H W F, coils: {coils}", lambda: normal_operator(bench, coils))


def normal_operator(bench, coils):
    side, spokes, readout = bench.scan()
    shape, place = (side,) * 3, bench.place
    maps, noise = ring_of_coils(coils, side) if coils > 1 else None, complex_noise(shape)

    def plan(normal, precision="single"):
        mri = bench.mri(shape, radial(3, spokes, readout), coils=coils, normal=normal, method="nufft", precision=precision)
        mri.compute_weights("radial", readout)
        if maps is not None:
            mri.set_maps(maps)
        return mri

    def reference():
        out = place.zeros(shape, "complex128")
        plan("pair", "double").normal(place.put(noise.astype(np.complex128)), out)
        return out

    def padded(q):
        there = None if maps is None else place.put(maps)
        axes = (-3, -2, -1)

        def run(source, target):
            wide = place.fft.fftn(source if there is None else there * source, q.shape, axes)
            seen = place.fft.ifftn(wide * q, q.shape, axes)[..., :side, :side, :side]
            target[...] = seen if there is None else (there.conj() * seen).sum(0)

        return run

    by_q = plan("toeplitz")
    by_q.compute_q()
    outputs = Outputs(bench, place.put(noise), shape, attempt("pair of transforms, f64", reference))
    outputs.add("isoc_mri_normal by Q", lambda: by_q.normal, bare.call)
    outputs.add("isoc_mri_normal by a pair of transforms", lambda: plan("pair").normal, bare.call)
    outputs.add(f"padded FFTs of {place.xp.__name__}, the same Q", lambda: padded(place.put(by_q.export_q())))
    outputs.show(f"F^H W F: {side}^3 voxels, {spokes * readout:,} samples, {coils} coil{'s with maps' * (coils > 1)}, f32, lambda 0",
                 coils * side**3, "G voxels/s")


def simulated(bench, dtype):
    """A plan on the processor to compare with, the head's samples, and its image."""
    side, spokes, readout = bench.scan()
    maker = isocenter.MRI(isocenter.Context(device="cpu"), trajectory=radial(3, spokes, readout), unit="cycles_per_voxel",
                          **voxels((side,) * 3))
    head = maker.shepp_logan(side / 2, side / 2)
    return (maker, maker.phantom_samples(head, np.zeros(maker.samples_shape, dtype)),
            maker.phantom_image(head, np.zeros(maker.voxels_shape, dtype)))


def solve(bench):
    """Whole reconstructions of the simulated head, Q known."""
    side, spokes, readout = bench.scan()
    shape, place, rows, plans, images = (side,) * 3, bench.place, [], {}, {}
    maker, samples, truth = simulated(bench, np.complex64)
    data = place.put(samples)

    def case(name, penalty, operator):
        """Once for the way; its parts that need no second time are told."""
        mri = plans[name] = bench.mri(shape, radial(3, spokes, readout), penalty=penalty, lambda_=bench.asked.lambda_,
                                      iterations=bench.asked.iterations, residual=1e-30)
        image = images[name] = place.zeros(shape, "complex64")
        weights = bench.seconds(lambda: mri.compute_weights("radial", readout))
        q = bench.seconds(mri.compute_q)
        print(f"- {name}: weights {weights * 1e3:.1f} ms, Q {q * 1e3:.1f} ms", flush=True)
        return name, bare.call(getattr(mri, operator), data, image)

    cases = [attempt(name, lambda: case(name, penalty, operator)) for name, penalty, operator in (
        ("solver, identity penalty", "identity", "reconstruct"),
        ("solver, differences penalty", "differences", "reconstruct"), ("gridding", "identity", "gridding"))]
    for r in bench.time([c for c in cases if c]):
        psnr, _ = maker.compare(place.get(images[r.name]), truth)
        done, each, residual = "", "", ""
        if r.name != "gridding":
            history = plans[r.name].history()
            done, each = str(len(history) - 1), f"{r.seconds / max(1, len(history) - 1) * 1e3:.3f}"
            residual = f"{history[-1]:.1e}"
        rows.append([r.name, f"{r.seconds * 1e3:.3f}", done, each, residual, f"{psnr:.2f}", str(len(r.wall))])
    show(f"Whole reconstruction of the simulated head: {side}^3 voxels, {spokes * readout:,} samples, f32, Q known, lambda "
         f"{bench.asked.lambda_:g}", ["case", "ms", "iterations", "ms an iteration", "residual", "PSNR, dB", "runs"], rows)


def psnr(bench):
    """What precision and hardware sines cost in the simulated head's image."""
    side, spokes, readout = bench.scan()
    shape, place, rows, images = (side,) * 3, bench.place, [], {}
    maker, samples, truth = simulated(bench, np.complex128)
    axis = np.arange(side) - side // 2
    grid = np.stack(np.meshgrid(axis, axis, axis, indexing="ij")[::-1], -1).astype(np.float32)

    def case(name, twin, precision, iterations, positions=None, **options):
        dtype = "complex128" if precision == "double" else "complex64"
        mri = bench.mri(shape, radial(3, spokes, readout), precision=precision, lambda_=bench.asked.lambda_,
                        iterations=max(iterations, 1), residual=1e-30, **options)
        mri.compute_weights("radial", readout)
        mri.set_positions(positions)
        data, image = place.put(samples.astype(dtype)), place.zeros(shape, dtype)
        seconds = bench.seconds(bare.call(mri.reconstruct if iterations else mri.gridding, data, image))
        found = images[name] = place.get(image)
        seen, percent = maker.compare(found, truth)
        apart = f"{l2_error(found, images[twin]):.1e}" if twin != name and twin in images else ""
        rows.append([name, f"{seen:.3f}", f"{percent:.3f}", apart, f"{seconds:.3f}"])

    ways = ((0, "gridding"), (15, "solver, 15 iterations"))
    for iterations, what in ways:
        for method, how in (("nufft", "NUFFT"), ("exact", "exact")):
            for precision in ("double", "single"):
                name, twin = f"{what}, {how}, {precision}", f"{what}, {how}, double"
                attempt(name, lambda: case(name, twin, precision, iterations, method=method))
    # By pairs of exact sums, which take their time.
    for iterations, what in ((0, "gridding"), (5, "solver, 5 iterations")):
        for sines in SINES:
            name, twin = (f"{what}, voxels by position, single, {word} sines" for word in (sines, "precise"))
            attempt(name, lambda: case(name, twin, "single", iterations, grid, method="exact", sines=sines))
    show(f"Images of the simulated head: {side}^3 voxels, {spokes * readout:,} samples, lambda {bench.asked.lambda_:g}",
         ["case", "PSNR, dB", "error, %", "l2 distance from double, or from precise sines", "s, one run"], rows)
