"""From raw samples of several coils to images."""
from collections import namedtuple

import numpy

from ..coils import coil_apply, coil_compression, coil_maps
from ..context import Context
from ..errors import wrong
from ..mri import MRI
from ._file import Raw, read

KERNEL, LEAST = 6, 12  # ESPIRiT's block of k-space, and the fewest lines that it is looked for in

Reconstruction = namedtuple("Reconstruction", "images frames slices voxel affine whitened virtual_coils energy calibration residual")
Reconstruction.__doc__ = """What `reconstruct` returns.

`images` are complex64 (frames, z, y, x), z the slices of a stack of planes; `frames` a list of dict, the counters of each; `slices` the
counter of each slice; `voxel` in mm, z, y, x, slices as far apart as their positions are; `affine` float64 (4, 4), from voxel
(x, y, z, 1) to mm towards the patient's left, back and head; `whitened` whether there was noise to whiten by; `virtual_coils` how many were
solved for, and `energy` the part of all coils' that they have, of the last slice; `calibration` the shape of the middle of k-space that maps are from, None for one
coil; `residual` |residual| / |right-hand side| of the worst image, or |step| / |image| with penalties "wavelets" and "variation"."""


def reconstruct(scan, *, slice=None, contrast=None, phase=None, repetition=None, set=None, encoding=0, unit=None, virtual_coils=None,
                calibration=24, iterations=None, penalty="identity", regularisation=0.0, crop=0.0, context=None):
    """Reconstructs all images of an ISMRMRD file, or those that are chosen.

    Noise is whitened where the file has a noise measurement, coils are joined to fewer virtual ones, their sensitivities are found by
    ESPIRiT from the middle of k-space (or lines flagged as calibration), and the image is solved for by conjugate gradient:
    SENSE for any trajectory (Pruessmann et al. 2001).

    Parameters
    ----------
    scan : path or Raw
    slice, contrast, phase, repetition, set : int, optional
        Which; None means all.
    encoding : int
        Which of the header's encoding spaces; of a path alone.
    unit : str, optional
        Of the file's trajectory: see `Raw.select`.
    virtual_coils : int, optional
        The most to solve for; 0 keeps the coils as they are. None means 12, or 8 of a volume.
    calibration : int
        Lines of the middle of k-space along each axis, at most.
    iterations : int, optional
        More are sharper, and noisier unless a penalty holds that down. None means 15, or 60 with penalties "wavelets" and "variation".
    penalty : {"identity", "wavelets", "variation"}
        What images are preferred where samples leave a choice: small ones, those of few wavelets, or those of few edges
        (`MRI.set_options`). The last two are for scans of fewer samples than voxels.
    regularisation : float
        Its weight: relative to the diagonal of F^H W F with "identity"; else to the weight that leaves nothing of a slice's first
        frame (`info().lambda_limit` of a plan), where 1e-3 to 1e-2 are usual.
    crop : float
        See `coil_maps`: least eigenvalue of a voxel that is part of the object. 0 means 0.95, -1 all voxels.
    context : Context, optional
        Where to compute; None makes one with the defaults.

    Returns
    -------
    Reconstruction

    Raises
    ------
    ImportError, ValueError
        As `read` and `Raw.select`; and where no middle of k-space is fully sampled.

    Notes
    -----
    Scale: a sample is the sum over voxels of sensitivity, image and exp(-2 pi i k.r); squares of sensitivities add up to 1 in each voxel.
    With noise whitened, samples are in units in which noise has variance 1 in its real and in its imaginary part.
    """
    if penalty not in ("identity", "wavelets", "variation"):
        raise wrong(ValueError, f"penalty is {penalty!r}; it must be one of 'identity', 'wavelets', 'variation'")
    if isinstance(scan, Raw):
        raw = scan
    else:
        raw = read(scan, encoding=encoding)
    if context is None:
        context = Context()
    chosen = {"contrast": contrast, "phase": phase, "repetition": repetition, "set": set}
    frames = raw.frames(**chosen)
    slices = raw.counters["slice"] if slice is None else (raw._value("slice", slice),)
    volume = raw.encoded.shape[0] > 1
    if volume and len(slices) > 1:
        raise wrong(ValueError, f"the file has {len(slices)} slabs, {slices[0]} to {slices[-1]}: pass slice=")
    if virtual_coils is None:
        virtual_coils = 8 if volume else 12
    if iterations is None:
        iterations = 15 if penalty == "identity" else 60
    solver = _Solver(raw, context, unit, virtual_coils, calibration, (penalty, iterations, regularisation), crop)
    images, first = [], []
    for which in slices:
        solver.begin(which)
        for number, frame in enumerate(frames):
            readouts, image = solver.solve(frame)
            if number == 0:
                first.append(readouts)
            images.append(image)
    solver.close()
    images = numpy.array(images).reshape(len(slices), len(frames), *images[0].shape).swapaxes(0, 1)
    images = images.reshape(len(frames), -1, *images.shape[-2:])
    voxel, affine = _geometry(first, images.shape[1:], raw.recon.voxel)
    return Reconstruction(images, frames, list(slices), voxel, affine, raw.noise is not None, solver.coils, solver.energy, solver.region,
                          solver.residual)


class _Solver:
    """One slice after the other, and each frame of it: coils and maps are the slice's, the plan stays while the trajectory does."""

    def __init__(self, raw, context, unit, virtual_coils, calibration, solution, crop):
        self.raw, self.context, self.unit, self.virtual, self.lines = raw, context, unit, virtual_coils, calibration
        self.solution, self.crop = solution, crop
        self.whitening = {}  # by dwell
        self.coils, self.energy, self.region, self.residual = raw.coils, 1.0, None, 0.0
        self.plan = self.trajectory = None

    def begin(self, slice):
        self.slice, self.matrix, self.maps, self.weight = slice, None, None, None

    def close(self):
        if self.plan is not None:
            self.plan.close()
            self.plan = None

    def whitened(self, readouts):
        if self.raw.noise is None:
            return readouts.samples
        if readouts.dwell not in self.whitening:
            self.whitening[readouts.dwell] = self.raw.whitening(readouts.dwell, context=self.context)
        return coil_apply(self.whitening[readouts.dwell], readouts.samples, context=self.context)

    def find_maps(self, readouts, samples):
        """Virtual coils and their sensitivities."""
        if self.virtual and samples.shape[0] > self.virtual:
            self.matrix, self.energy = coil_compression(samples, self.virtual, context=self.context)
        lines = readouts
        if self.raw.calibrated:
            lines = self.raw.select(slice=self.slice, unit=self.unit, calibration=True)
            samples = self.whitened(lines)
        if self.matrix is not None:
            samples = coil_apply(self.matrix, samples, context=self.context)
        self.coils = samples.shape[0]
        if self.coils == 1:
            return
        kspace = _middle(lines, samples, self.lines, self.raw.kind == "cartesian", self.context)
        self.region = kspace.shape[1:]
        kernels = {name: min(KERNEL, n) for name, n in zip(("kernel_x", "kernel_y", "kernel_z"), self.region[::-1])}
        self.maps = coil_maps(kspace, _plane(readouts.grid), crop=self.crop, context=self.context, **kernels)

    def solve(self, frame):
        readouts = self.raw.select(slice=self.slice, unit=self.unit, **frame)
        samples = self.whitened(readouts)
        if self.maps is None:
            self.find_maps(readouts, samples)
            self.close()
        if self.matrix is not None:
            samples = coil_apply(self.matrix, samples, context=self.context)
        if self.plan is None or not numpy.array_equal(self.trajectory, readouts.trajectory):
            self.close()
            self.plan, self.trajectory = self.planned(readouts), readouts.trajectory
        samples = samples if self.coils > 1 else samples[0]
        self.set_options(samples)
        image = self.plan.reconstruct(samples)
        self.residual = max(self.residual, float(self.plan.history()[-1]))
        return readouts, _cut(image.reshape(readouts.grid), self.raw.recon.shape if readouts.grid[0] > 1 else (1, *self.raw.recon.shape[1:]))

    def planned(self, readouts):
        nz, ny, nx = readouts.grid
        plan = MRI(self.context, trajectory=readouts.trajectory, unit=readouts.unit, nx=nx, ny=ny, nz=nz, coils=self.coils)
        if self.maps is not None:
            plan.set_maps(self.maps)
        if self.raw.kind != "cartesian":  # they hasten the solver where density is uneven
            plan.compute_weights()
        return plan

    def set_options(self, samples):
        """Of the plan; a sparse penalty's weight is that of the slice's first frame."""
        penalty, iterations, regularisation = self.solution
        if self.weight is None and penalty == "identity":
            self.weight = regularisation * float(self.plan.weights().sum())
        elif self.weight is None:
            # One iteration of any weight tells the limit.
            self.plan.set_options(penalty="wavelets", lambda_=1e-30, iterations=1)
            self.plan.reconstruct(samples)
            self.weight = regularisation * self.plan.info().lambda_limit
        self.plan.set_options(penalty=penalty, iterations=iterations, lambda_=self.weight)


def _plane(shape):
    return tuple(shape) if shape[0] > 1 else tuple(shape[1:])


def _middle(readouts, samples, lines, cartesian, context):
    """The middle of k-space on a grid of its own, over the field of view of `readouts.grid`: (coils, [nz,] ny, nx)."""
    shape = _plane(readouts.grid)
    steps = readouts.trajectory * numpy.array(shape[::-1], numpy.float32)  # cycles per field of view
    size = [min(lines, n) for n in shape]
    if cartesian:
        size = _sampled(steps, size)
    low, high = -numpy.array(size[::-1]) // 2, (numpy.array(size[::-1]) - 1) // 2
    if cartesian:
        inside = ((steps >= low - 0.25) & (steps <= high + 0.25)).all(axis=1)
    else:
        inside = (numpy.abs(steps) <= numpy.array(size[::-1]) / 2).all(axis=1)
    k = numpy.clip(steps[inside] / numpy.array(size[::-1]), -0.5, 0.5).astype(numpy.float32)
    if len(k) < numpy.prod(size) / 4:
        raise wrong(ValueError, f"the middle of k-space, {size}, has {len(k)} samples: too few for coil sensitivities. Pass calibration= a smaller number")
    grid = (1, *size) if len(size) == 2 else size
    with MRI(context, trajectory=k, unit="cycles_per_voxel", nz=grid[0], ny=grid[1], nx=grid[2], coils=len(samples)) as plan:
        if not cartesian:
            plan.compute_weights()
        plan.set_options(iterations=20, residual=1e-4)
        images = plan.reconstruct(numpy.ascontiguousarray(samples[:, inside]))
    axes = tuple(range(1, images.ndim))
    return numpy.fft.fftshift(numpy.fft.fftn(numpy.fft.ifftshift(images, axes=axes), axes=axes), axes=axes).astype(numpy.complex64)


def _sampled(steps, size):
    """The largest middle, up to `size`, in which all Cartesian lines are there."""
    across = numpy.unique(numpy.rint(steps[:, 1:]).astype(int), axis=0)
    there = {tuple(line) for line in across}
    wanted = size[:-1][::-1]  # y, and z
    for n in range(max(wanted), 0, -1):
        tried = [min(n, w) for w in wanted]
        middle = numpy.stack(numpy.meshgrid(*[numpy.arange(m) - m // 2 for m in tried], indexing="ij"), axis=-1).reshape(-1, len(tried))
        if all(tuple(line) in there for line in middle):
            if n < min(LEAST, max(wanted)):
                break
            return [*tried[::-1], size[-1]]
    raise wrong(ValueError, f"the middle of k-space is fully sampled over {n} lines, of which coil sensitivities need {LEAST}. Take a scan with "
                            "calibration lines, or maps of another: `read`, then isocenter.MRI")


def _cut(image, shape):
    """The middle of an image, or the image in the middle of zeros."""
    out = numpy.zeros(shape, image.dtype)
    first = [n // 2 - m // 2 for n, m in zip(image.shape, shape)]
    source = tuple(slice(max(f, 0), max(f, 0) + min(n, m)) for f, n, m in zip(first, image.shape, shape))
    target = tuple(slice(max(-f, 0), max(-f, 0) + min(n, m)) for f, n, m in zip(first, image.shape, shape))
    out[target] = image[source]
    return out


def _geometry(slices, shape, voxel):
    """Voxel in mm, and the affine map of a volume or a stack of slices; the centre of a slice is its voxel n // 2."""
    nz, ny, nx = shape
    directions = [numpy.array(d) for d in (slices[0].read_dir, slices[0].phase_dir, slices[0].slice_dir)]
    dz = voxel[0]
    step = directions[2] * dz
    if len(slices) > 1:
        apart = (slices[-1].position - slices[0].position) / (len(slices) - 1)
        if numpy.linalg.norm(apart) > 0:
            step, dz = apart, float(numpy.linalg.norm(apart))
    affine = numpy.eye(4)
    affine[:3, :3] = numpy.stack([directions[0] * voxel[2], directions[1] * voxel[1], step], axis=1)
    middle = numpy.array([nx // 2, ny // 2, 0 if len(slices) > 1 else nz // 2])
    affine[:3, 3] = slices[0].position - affine[:3, :3] @ middle
    return (dz, voxel[1], voxel[2]), affine
