"""From raw samples of several coils to images."""
import logging
import math
from collections import namedtuple
from contextlib import nullcontext
from functools import partial

import numpy

from .._call import quietly
from ..coils import coil_apply, coil_compression, coil_maps
from ..context import Context
from ..errors import wrong
from ..mri import MRI
from ._delays import Corrections
from ._densities import Densities
from ._file import Raw, read
from ._geometry import affine_of, at_one_place, in_order, stack
from ._grappa import Grappa
from ._image_heads import head_of
from ._memory import Kept, digest
from ._partial_fourier import sides, smooth_phase, symmetric
from ._shift import checked

PENALTIES = ("identity", "wavelets", "variation")
PHASE_ITERATIONS = 15
IMAGINARY = 0.1  # weight of the imaginary part beside the phase that is presumed, in the diagonal of F^H W F: less than what is measured, more than noise
NLINV = "nlinv"  # in place of lines for calibration: maps that are found with the image
KERNEL, LEAST = 6, 12  # ESPIRiT's block of k-space, and the fewest lines that it is looked for in
MAPS = LEAST, f"of which coil sensitivities need {LEAST}. Take a scan with calibration lines, pass calibration='nlinv' where lines are at irregular distances, or maps= of another"
METHODS = ("sense", "grappa")

_Fields = namedtuple("Reconstruction", "images frames slices voxel affines whitened virtual_coils energy calibration residual partial_fourier delays heads")


class Reconstruction(_Fields):
    """What `reconstruct` returns.

    `images` are complex64 (frames, z, y, x), z the slices of a stack of planes; `frames` a list of dict, the counters of each; `slices` the
    counter of each slice, in the order of their places; `voxel` in mm, z, y, x, slices as far apart as their positions are where these are
    even; `affines` float64 (frames, slices, 4, 4), of each image: from voxel (x, y, 0, 1), or (x, y, z, 1) of a volume, to mm towards the
    patient's left, back and head; `whitened` whether noise was whitened; `virtual_coils` how many were solved for, and
    `energy` the part of all coils' that they have, of the last slice; `calibration` the shape of the middle of k-space that maps are from,
    "nlinv" where they were found with the image, None for one coil and for maps that were given; `residual` |residual| / |right-hand side| of the worst image, or |step| / |image| with
    penalties "wavelets" and "variation"; `partial_fourier` the axes, of "xyz", along which k-space was measured in part;
    `delays` lists for each frame, and in it for each slice, the delays that its trajectory was corrected by: `MRIDelays`, the caller's numbers, or None;
    `heads` ISMRMRD's heads of the images (frames, slices), one a frame of a volume, as `write_ismrmrd` writes them: a structured array, with the position, directions, times and counters of each."""
    __slots__ = ()

    @property
    def affine(self):
        """The one affine map, float64 (4, 4), from voxel (x, y, z, 1) of all frames to mm. ValueError where slices or frames
        have several: `affines` has that of each."""
        if (numpy.abs(self.affines - self.affines[:1]) > 1e-3).any():
            raise wrong(ValueError, "the frames lie in different places: affines has the map of each, and one frame alone, chosen by its counter, has one")
        made = stack(self.affines[0])
        if made is None:
            raise wrong(ValueError, f"the {len(self.slices)} slices lie in several orientations or at uneven distances: affines has the map of each, and "
                                    f"slice={self.slices[0]} alone, or another, has one")
        return made


def reconstruct(scan, *, slice=None, contrast=None, phase=None, repetition=None, set=None, encoding=0, group="dataset", kind=None, coils=None, navigators=True, partial_fourier=True,
                unit=None, trajectory=None, maps=None, weights=None, whitening=None, virtual_coils=None, calibration=24, iterations=None, penalty="identity", regularisation=0.0, crop=0.0, map_sets=1, delays="auto", shift=None, method="sense", tikhonov=None, context=None):
    """Reconstructs all images of an ISMRMRD file, or those that are chosen.

    Noise is whitened where the file has a noise measurement, coils are joined to fewer virtual ones, their sensitivities are found by
    ESPIRiT from the middle of k-space (or lines flagged as calibration), and the image is solved for by conjugate gradient:
    SENSE for any trajectory (Pruessmann et al. 2001).

    Parameters
    ----------
    scan : path or Raw
    slice, contrast, phase, repetition, set : int, optional
        Which; None means all.
    encoding, group, kind, coils, navigators
        As for `read`; of a path alone.
    unit, trajectory
        As for `Raw.select`.
    partial_fourier : bool
        Cartesian lines that reach less far on one side of k-space than on the other (partial Fourier, asymmetric echoes) are taken for those of an image whose phase is that
        of low resolution: what both sides have tells it, and of what is left open the image is preferred that differs least from a real one times this phase (Noll, Nishimura and
        Macovski 1991; Bydder and Robson 2005). False: what is left open is 0, and the image is blurred along the axis.
    maps : array, optional
        Sensitivities of the coils, complex (coils, y, x) or (coils, z, y, x) over the voxels that are solved for (`Readouts.grid`), or (slices, coils, y, x):
        in place of those that calibration finds. The image's scale is then theirs.
    weights : array, optional
        Density weights of a frame's samples, real (samples,), as many as `Raw.select` gives: in place of those that are found.
    whitening : bool or array, optional
        False: noise is not whitened. A matrix, complex (coils, coils): it whitens samples in place of the noise measurement's.
    virtual_coils : int, optional
        The most to solve for; 0 keeps the coils as they are. None means 12, or 8 of a volume.
    calibration : int, or "nlinv"
        Lines of the middle of k-space along each axis, at most. "nlinv": sensitivities are found together with an image from the samples of each slice's first frame
        (`MRI.find_maps`), for scans whose middle is not fully sampled. Samples must not all be on lines that are further apart than the field of view asks for.
    iterations : int, optional
        More are sharper, and noisier unless a penalty holds that down. None means 15, or 60 with penalties "wavelets" and "variation".
    penalty : {"identity", "wavelets", "variation"}
        What images are preferred where samples leave a choice: small ones, those of few wavelets, or those of few edges
        (`MRI.set_options`). The last two are for scans of fewer samples than voxels.
    regularisation : float
        Its weight: relative to the diagonal of F^H W F with "identity"; else to the weight that leaves nothing of a slice's first
        frame (`info().lambda_limit` of a plan), where 1e-3 to 1e-2 are usual.
    crop : float
        See `coil_maps`: least eigenvalue of a voxel that is part of the object. 0 means 0.95, -1 all voxels. Not with "nlinv", which has all.
    map_sets : int
        Sets of sensitivities, where one does not explain what coils see, as with an object that is larger than the field of view: 2 has an image of each place that folds onto a voxel
        (soft SENSE), and the result is the root of the sum of their squares, with the phase of the first.
    delays : {"auto", "keep"}, or sequence of float
        Of gradients, where readouts go along trajectories. "auto" looks for them in the first frame of each slice and contrast, and corrects
        those that are certain and change the image, and says so; others it warns of. "keep" takes the trajectory as it is. Two or three numbers
        are delays in samples along x, y and z, positive where gradients come late.
    shift : sequence of float, optional
        By how many mm the middle of the field of view lies elsewhere: two numbers, along x (`read_dir`) and y (`phase_dir`), or three of a volume. Images, sensitivities and
        affine maps go along, exact for fractions of voxels, so that each point of the body keeps its place in mm; `maps` are of the shifted field of view. What leaves an encoded
        field of view on one side comes in on the other.
    method : {"sense", "grappa"}
        "grappa" fills in Cartesian lines that were left out, every 2nd to 4th along one axis of phase encoding or two, as sums of their neighbours in all coils, and the image is solved for
        as of all lines. It is the baseline that scanners have (Griswold et al. 2002); "sense" is of any readouts, and takes noise at its place.
    tikhonov : float, optional
        Of GRAPPA's kernel: the weight of its square, relative to the mean of the diagonal of its normal equations. None means 1e-3.
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
    if penalty not in PENALTIES:
        raise wrong(ValueError, f"penalty is {penalty!r}; it must be one of " + ", ".join(map(repr, PENALTIES)))
    reads = {"encoding": encoding, "group": group, "kind": kind, "coils": coils, "navigators": navigators}
    if not isinstance(scan, Raw):
        raw = read(scan, **reads)
    elif reads != {"encoding": 0, "group": "dataset", "kind": None, "coils": None, "navigators": True}:
        raise wrong(TypeError, "encoding, group, kind, coils and navigators are for a path: pass them to isocenter.raw.read")
    else:
        raw = scan
    work = Work(raw, slice=slice, contrast=contrast, phase=phase, repetition=repetition, set=set, partial_fourier=partial_fourier, unit=unit, trajectory=trajectory,
                maps=maps, weights=weights, whitening=whitening, virtual_coils=virtual_coils, calibration=calibration, iterations=iterations, penalty=penalty,
                regularisation=regularisation, crop=crop, map_sets=map_sets, delays=delays, shift=shift, method=method, tikhonov=tikhonov, context=context)
    frames, slices, solver = work.frames, work.slices, work.solver
    images, affines, late, heads = [], [], [], []
    for one in work:
        images.append(one.image)
        late.append(one.delays)
        heads.append(head_of(raw, one))
        affines.append(affine_of(one.readouts, one.image.shape, raw.recon.voxel))
    affines = numpy.array(affines).reshape(len(slices), len(frames), 4, 4).swapaxes(0, 1)
    images = numpy.array(images).reshape(len(slices), len(frames), *images[0].shape).swapaxes(0, 1)
    if at_one_place(affines[0]):
        logging.getLogger("isocenter").warning(
            "the file has its %d slices at one place: they are taken for planes a thickness apart. Partitions of a volume belong in kspace_encode_step_2: where the slice counter "
            "has them, each image is a mixture of planes", len(slices))
    order = in_order(affines[0])
    images = images[:, order].reshape(len(frames), -1, *images.shape[-2:])
    affines = numpy.ascontiguousarray(affines[:, order])
    return Reconstruction(images, frames, [slices[i] for i in order], _voxel(affines[0], raw.recon.voxel), affines, solver.whitens, solver.coils,
                          solver.energy, solver.region, solver.residual, solver.partial,
                          [[late[i * len(frames) + f] for i in order] for f in range(len(frames))], numpy.array(heads).reshape(len(slices), len(frames))[order].T)


Solved = namedtuple("Solved", "slice frame readouts image delays")
Solved.__doc__ = "One image (z, y, x): the counter of its slice, the others in a dict, its `Readouts`, and the delays that their trajectory was corrected by, or None."


class Work:
    """The images of an opened scan, `Solved` one after the other: `frames` of each of `slices`. Its arguments are those of `reconstruct` (of `delays` "keep" is the default here), and
    `densities` of scans before and a `Memory` of images that were made of a part of the scan."""

    def __init__(self, raw, *, slice=None, contrast=None, phase=None, repetition=None, set=None, partial_fourier=True, unit=None, trajectory=None, maps=None,
                 weights=None, whitening=None, virtual_coils=None, calibration=24, iterations=None, penalty="identity", regularisation=0.0, crop=0.0, map_sets=1, delays="keep", shift=None,
                 method="sense", tikhonov=None, context=None, densities=None, memory=None):
        if context is None:
            context = Context()
        self.raw, self.frames = raw, raw.frames(contrast=contrast, phase=phase, repetition=repetition, set=set)
        self.slices = raw.counters["slice"] if slice is None else (raw._value("slice", slice),)
        volume = raw.encoded.shape[0] > 1
        if volume and len(self.slices) > 1:
            raise wrong(ValueError, f"the file has {len(self.slices)} slabs, {self.slices[0]} to {self.slices[-1]}: pass slice=")
        if virtual_coils is None:
            virtual_coils = 8 if volume else 12
        if iterations is None:
            iterations = 15 if penalty == "identity" else 60
        _check_method(method, tikhonov, weights)
        if isinstance(map_sets, bool) or not isinstance(map_sets, int) or map_sets < 1:
            raise wrong(ValueError, f"map_sets is {map_sets!r}; it must be 1 or more")
        if map_sets > 1 and maps is not None:
            raise wrong(ValueError, "map_sets is for sensitivities that calibration finds, and maps are given")
        calibration = _checked_calibration(calibration, maps, crop, method, map_sets)
        given = _Given(trajectory, _checked_maps(maps, raw, len(self.slices)), weights, _checked_whitening(whitening, raw))
        self.solver = _Solver(raw, context, {"unit": unit, "shift": checked(shift, raw.encoded)}, given, virtual_coils, calibration, (penalty, iterations, regularisation), (crop, map_sets), partial_fourier,
                              densities or Densities(), memory, Corrections(raw, delays, unit, trajectory, context), method == "grappa", tikhonov)

    def __iter__(self):
        try:
            for number, which in enumerate(self.slices):
                self.solver.begin(number, which)
                for frame in self.frames:
                    yield Solved(which, frame, *self.solver.solve(frame), self.solver.late)
        finally:
            self.solver.close()


def _voxel(affines, voxel):
    """In mm, z, y, x; slices of a stack are as far apart as they are."""
    made = stack(affines) if len(affines) > 1 else None
    apart = 0.0 if made is None else float(numpy.linalg.norm(made[:3, 2]))
    return (apart or voxel[0], voxel[1], voxel[2])


_Given = namedtuple("_Given", "trajectory maps weights whitening")
_Given.__doc__ = "What a caller gives in place of what is found: `maps` of each slice, `whitening` a matrix, or False for none."


def _check_method(method, tikhonov, weights):
    if method not in METHODS:
        raise wrong(ValueError, f"method is {method!r}; it must be one of " + ", ".join(map(repr, METHODS)))
    if tikhonov is not None and method != "grappa":
        raise wrong(ValueError, "tikhonov is of the kernel of GRAPPA: pass method='grappa', or regularisation= for the image's")
    if tikhonov is not None and not 0 <= tikhonov < math.inf:
        raise wrong(ValueError, f"tikhonov is {tikhonov}; it must be 0 or more, and finite")
    if weights is not None and method == "grappa":
        raise wrong(ValueError, "weights are of samples that were measured, and GRAPPA makes others: method='sense', the default, takes weights=")


def _checked_maps(maps, raw, slices):
    if maps is None:
        return None
    maps = numpy.asarray(maps)
    volume = raw.encoded.shape[0] > 1
    each = maps if maps.ndim == 4 and not volume else maps[None]
    if each.ndim != (5 if volume else 4) or each.shape[1] != raw.coils or len(each) not in (1, slices):
        wanted = f"({raw.coils} coils, {'z, ' * volume}y, x)" + f" or ({slices} slices, coils, y, x)" * (slices > 1)
        raise wrong(ValueError, f"maps has shape {maps.shape}; it must be {wanted}")
    each = numpy.ascontiguousarray(each, numpy.complex64)
    return numpy.broadcast_to(each, (slices, *each.shape[1:]))


def _checked_calibration(calibration, maps, crop, method, map_sets):
    if isinstance(calibration, str):
        if calibration != NLINV:
            raise wrong(ValueError, f"calibration is {calibration!r}; it must be a number of lines, or {NLINV!r}")
        if maps is not None:
            raise wrong(ValueError, f"maps are given, and calibration={NLINV!r} finds others: leave one of them out")
        if crop:
            raise wrong(ValueError, f"crop is {crop}, of eigenvalues that maps of calibration={NLINV!r} do not have: leave it out")
        if method != "sense" or map_sets > 1:
            raise wrong(ValueError, f"calibration={NLINV!r} finds one set of sensitivities and takes no lines for calibration: " + (f"method is {method!r}, which needs them" if method != "sense" else f"map_sets is {map_sets}"))
    return calibration


def _checked_whitening(whitening, raw):
    if whitening is None or whitening is True:
        if whitening and raw.noise is None:
            raise wrong(ValueError, "whitening is True, but the file has no noise measurement: pass a matrix")
        return None
    if whitening is False:
        return False
    matrix = numpy.ascontiguousarray(whitening, numpy.complex64)
    if matrix.shape != (raw.coils, raw.coils):
        raise wrong(ValueError, f"whitening has shape {matrix.shape}; it must be ({raw.coils}, {raw.coils}), True or False")
    return matrix


class _Solver:
    """One slice after the other, and each frame of it: coils and maps are the slice's, the plan stays while the trajectory does."""

    def __init__(self, raw, context, select, given, virtual_coils, calibration, solution, finding, partial_fourier, densities, memory, corrections, fills, tikhonov):
        self.raw, self.context, self.select, self.given, self.virtual, self.lines = raw, context, select, given, virtual_coils, calibration
        self.solution, self.partial_fourier, self.densities, self.memory = solution, partial_fourier, densities, memory
        self.crop, self.map_sets = finding
        self.corrections, self.late, self.fills, self.tikhonov = corrections, None, fills, tikhonov
        self.whitening = {}  # by dwell
        self.whitens = given.whitening is not False and (given.whitening is not None or raw.noise is not None)
        self.coils, self.energy, self.region, self.residual = raw.coils, 1.0, None, 0.0
        self.plan = self.trajectory = None
        self.partial, self.sides, self.low = "", [], None  # axes of partial Fourier, and the plan that tells the phase

    def begin(self, number, slice):
        self.number, self.slice, self.matrix, self.maps, self.weight = number, slice, None, None, None
        self.first, self.digest, self.has_maps, self.grappa = None, None, False, None

    def close(self):
        for plan in (self.plan, self.low):
            if plan is not None:
                plan.close()
        self.plan = self.low = None

    def whitened(self, dwell, samples):
        """Samples or maps (coils, ...), of whitened coils."""
        return coil_apply(self.whitener(dwell), samples, context=self.context) if self.whitens else samples

    def whitener(self, dwell):
        """The matrix that whitens samples so many seconds apart."""
        if dwell not in self.whitening:
            given = self.given.whitening
            self.whitening[dwell] = self.raw.whitening(dwell, context=self.context) if given is None else given
        return self.whitening[dwell]

    def joined(self, samples):
        """Samples or maps of virtual coils."""
        return samples if self.matrix is None else coil_apply(self.matrix, samples, context=self.context)

    def find_coils(self, samples):
        """Virtual coils, of the slice's first frame, whose whitened samples these are; and what tells about them: `Readouts`, and their samples of virtual coils."""
        if self.virtual and samples.shape[0] > self.virtual:
            self.matrix, self.energy = coil_compression(samples, self.virtual, context=self.context)
        if not self.raw.calibrated or self.lines == NLINV or (self.given.maps is not None and not self.fills):
            return self.first, self.joined(samples)
        lines = self.calibration_lines()
        return lines, self.joined(self.whitened(lines.dwell, lines.samples))

    def find_maps(self, lines, samples):
        """Sensitivities of virtual coils, unless a caller gives them."""
        readouts = self.first
        if self.given.maps is not None:
            maps = self.given.maps[self.number]
            if maps.shape[1:] != _plane(readouts.grid):
                raise wrong(ValueError, f"maps are of {maps.shape[1:]} voxels; {_plane(readouts.grid)} are solved for, the encoded field of view where that is larger")
            self.maps = numpy.ascontiguousarray(self.joined(self.whitened(readouts.dwell, maps)))
            self.coils = len(self.maps)
            return
        if self.lines == NLINV:
            self.find_jointly(numpy.ascontiguousarray(samples))
            return
        self.coils = samples.shape[0]
        if self.coils == 1:
            return
        kspace = _middle(lines, samples, readouts.grid, self.lines, self.context)
        self.region = kspace.shape[1:]
        # A block has to have several places along each axis.
        kernels = {name: min(KERNEL, max(n // 2, 1)) for name, n in zip(("kernel_x", "kernel_y", "kernel_z"), self.region[::-1])}
        sets = None if self.map_sets == 1 else min(self.map_sets, self.coils)
        self.maps = coil_maps(kspace, _plane(readouts.grid), sets=sets, crop=self.crop, context=self.context, **kernels)

    def find_jointly(self, samples):
        self.coils = samples.shape[0]
        if self.coils > 1:
            with self.planned(self.first) as plan:
                self.maps, _ = plan.find_maps(samples)
            self.region = NLINV

    def calibration_lines(self):
        return self.raw.select(slice=self.slice, calibration=True, **self.select)

    def calibration(self, lines, samples, *need):
        """Of GRAPPA: lines of calibration data, and all of them along x."""
        return _middle(lines, samples, self.first.grid, self.lines, self.context, need, whole=True)

    def solve(self, frame):
        select = {"slice": self.slice, "trajectory": self.given.trajectory, **self.select, **frame}
        readouts = self.raw.select(**select)
        whitener = self.whitener(readouts.dwell) if self.whitens else None
        self.late = self.corrections.of(self.slice, frame, whitener)
        if self.late is not None:
            readouts = self.raw.select(**select, delays=self.late)
        if self.first is None:
            self.first = readouts
        kept = self.recalled(readouts) if self.memory is not None else self.solved(readouts)
        self.residual = max(self.residual, kept.residual)
        return readouts, kept.image

    def recalled(self, readouts):
        """The image of these readouts, if it was made before of the same, or else now."""
        if self.digest is None:  # of what all frames of the slice share
            raw, maps = self.raw, self.given.maps
            self.digest = digest(raw.noise, raw.noise_dwell, raw.channels, _content(self.first), None if maps is None else maps[self.number],
                                 _content(self.calibration_lines()) if raw.calibrated and maps is None else None)
        key = digest(self.digest, _content(readouts))
        kept = self.memory.get(key)
        if kept is None:
            kept = self.solved(readouts)
            self.memory.keep(key, kept)
        self.weight, self.coils, self.energy, self.region = kept.weight, kept.coils, kept.energy, kept.region
        return kept

    def solved(self, readouts):
        samples, told = self.whitened(readouts.dwell, readouts.samples), None
        if not self.has_maps:
            told = self.find_coils(samples if readouts is self.first else self.whitened(self.first.dwell, self.first.samples))
        samples = self.joined(samples)
        if self.fills:
            self.grappa = self.grappa or Grappa(partial(self.calibration, *told), self.tikhonov)
            readouts = self.grappa.filled(readouts, samples, self.raw.encoded.shape)
            samples = readouts.samples
        if told:
            self.find_maps(*told)
            self.close()
            self.has_maps = True
        if self.plan is None or not numpy.array_equal(self.trajectory, readouts.trajectory):
            self.close()
            self.plan, self.trajectory = self.planned(readouts), readouts.trajectory
            self.look_at_sides(readouts)
        phase = self.find_phase(samples, _plane(readouts.grid))
        samples = samples if self.coils > 1 or self.maps is not None or phase is not None else samples[0]
        self.set_options(samples, IMAGINARY * float(self.plan.weights().sum()) if phase is not None else 0.0)
        image = _joined(self.plan.reconstruct(samples), _plane(readouts.grid))
        image = image if phase is None else image.reshape(phase.shape) * phase
        image = _cut(image.reshape(readouts.grid), self.raw.recon.shape if readouts.grid[0] > 1 else (1, *self.raw.recon.shape[1:]))
        return Kept(image, float(self.plan.history()[-1]), self.weight, self.coils, self.energy, self.region)

    def look_at_sides(self, readouts):
        if not readouts.lines or not self.partial_fourier:
            return
        steps = readouts.trajectory * numpy.array(_plane(readouts.grid)[::-1], numpy.float32)
        self.sides = found = sides(steps)
        if not found:
            return
        self.partial = "".join(a for a in "xyz" if a in self.partial or a in ("xyz"[side.axis] for side in found))
        # What both sides have, and nothing else, has a say in the phase.
        self.low = _plan(readouts, readouts.grid, self.coils, self.context)
        self.low.set_weights(self.plan.weights() * symmetric(steps, found))
        self.low.set_options(iterations=PHASE_ITERATIONS)

    def find_phase(self, samples, plane):
        """exp(i phase) of a frame's image, which goes into the plan's maps; None where all of k-space was measured."""
        if self.low is None:
            return None
        maps = numpy.ones((1, *plane), numpy.complex64) if self.maps is None else self.maps
        self.low.set_maps(maps)
        phase = smooth_phase(_joined(self.low.reconstruct(samples), plane), self.sides)
        self.plan.set_maps(numpy.ascontiguousarray(maps * phase))
        return phase

    def planned(self, readouts):
        plan = _plan(readouts, readouts.grid, self.coils, self.context)
        if self.maps is not None:
            plan.set_maps(self.maps)
        weights = self.given.weights
        if weights is not None:
            if numpy.shape(weights) != readouts.times.shape:
                raise wrong(ValueError, f"weights has shape {numpy.shape(weights)}; a frame has {len(readouts.times)} samples, as Raw.select gives them"
                                        + (" with these delays: pass delays='keep', or weights of the corrected trajectory" if self.late is not None else ""))
            plan.set_weights(numpy.ascontiguousarray(weights, numpy.float64))
        elif not readouts.lines or _uneven(readouts.trajectory[:, 0]):  # they hasten the solver, and no part of k-space counts more than another
            self.densities.set(plan, readouts)
        return plan

    def set_options(self, samples, imaginary):
        """Of the plan; a sparse penalty's weight is that of the slice's first frame."""
        penalty, iterations, regularisation = self.solution
        if self.weight is None and penalty == "identity":
            self.weight = regularisation * float(self.plan.weights().sum())
        elif self.weight is None:
            # One iteration of any weight tells the limit.
            self.plan.set_options(penalty="wavelets", lambda_=1e-30, iterations=1, imaginary=imaginary)
            self.plan.reconstruct(samples)
            self.weight = regularisation * self.plan.info().lambda_limit
        self.plan.set_options(penalty=penalty, iterations=iterations, lambda_=self.weight, imaginary=imaginary)


def _joined(images, plane):
    """One of the images of sets of maps: the root of the sum of their squares, with the phase of the first."""
    images = images.reshape(-1, *plane)
    if len(images) == 1:
        return images[0]
    size, first = numpy.sqrt((numpy.abs(images)**2).sum(0)), numpy.abs(images[0])
    return (size * numpy.divide(images[0], first, out=numpy.ones_like(images[0]), where=first > 0)).astype(images.dtype)


def _uneven(x):
    """Whether samples along lines are at uneven distances, as on ramps of the gradient."""
    steps = numpy.diff(x)
    steps = steps[steps > 0]  # not those from line to line
    return bool(len(steps) and numpy.ptp(steps) > 0.05 * numpy.median(steps))


def _content(readouts):
    """Of `Readouts`, all that an image is made of."""
    return readouts.samples, readouts.trajectory, readouts.unit, readouts.grid, readouts.dwell, readouts.lines


def _plane(shape):
    return tuple(shape) if shape[0] > 1 else tuple(shape[1:])


def _plan(readouts, grid, coils, context, trajectory=None):
    """Of lines without a word on the trajectory's unit: it is not a caller's."""
    with quietly() if readouts.lines else nullcontext():
        return MRI(context, trajectory=readouts.trajectory if trajectory is None else trajectory, unit=readouts.unit, nx=grid[2], ny=grid[1], nz=grid[0],
                   coils=coils)


def _middle(readouts, samples, grid, lines, context, need=MAPS, whole=False):
    """The middle of k-space on a grid of its own, over the field of view of the image's `grid`: (coils, [nz,] ny, nx). So many lines at most, of which `need` says how many
    there have to be at least, and why; `whole` ones, or as many samples of each."""
    shape = _plane(grid)
    steps = readouts.trajectory * numpy.array(shape[::-1], numpy.float32)  # cycles per field of view
    size = [min(lines, n) for n in shape]
    if whole:  # as far as they reach on both sides
        size[-1] = min(2 * int(min(-steps[:, 0].min(), steps[:, 0].max() + 1) + 0.5), shape[-1])
    cartesian = readouts.lines and _on_grid(steps)
    if cartesian:
        size = _sampled(steps, size, *need)
    low, high = -(numpy.array(size[::-1]) // 2), (numpy.array(size[::-1]) - 1) // 2
    if cartesian:
        inside = ((steps >= low - 0.25) & (steps <= high + 0.25)).all(axis=1)
    else:
        inside = (numpy.abs(steps) <= numpy.array(size[::-1]) / 2).all(axis=1)
    k = numpy.clip(steps[inside] / numpy.array(size[::-1]), -0.5, 0.5).astype(numpy.float32)
    if len(k) < numpy.prod(size) / 4:
        raise wrong(ValueError, f"the middle of k-space, {size}, has {len(k)} samples: too few for coil sensitivities. Pass calibration= a smaller number, calibration='nlinv', or maps=")
    with _plan(readouts, (1, *size)[-3:], len(samples), context, k) as plan:
        if not cartesian:
            plan.compute_weights()
        plan.set_options(iterations=20, residual=1e-4)
        images = plan.reconstruct(numpy.ascontiguousarray(samples[:, inside]))
    axes = tuple(range(1, images.ndim))
    return numpy.fft.fftshift(numpy.fft.fftn(numpy.fft.ifftshift(images, axes=axes), axes=axes), axes=axes).astype(numpy.complex64)


def _on_grid(steps):
    """Whether phase encoding goes in cycles per field of view: lines of another field of view do not."""
    return bool((numpy.abs(steps[:, 1:] - numpy.rint(steps[:, 1:])) < 0.05).all())


def _sampled(steps, size, least, words):
    """The largest middle, up to `size`, in which all Cartesian lines are there."""
    across = numpy.unique(numpy.rint(steps[:, 1:]).astype(int), axis=0)
    there = {tuple(line) for line in across}
    wanted = size[:-1][::-1]  # y, and z
    for n in range(max(wanted), 0, -1):
        tried = [min(n, w) for w in wanted]
        middle = numpy.stack(numpy.meshgrid(*[numpy.arange(m) - m // 2 for m in tried], indexing="ij"), axis=-1).reshape(-1, len(tried))
        if all(tuple(line) in there for line in middle):
            if n < min(least, max(wanted)):
                break
            return [*tried[::-1], size[-1]]
    raise wrong(ValueError, f"the middle of k-space is fully sampled over {n} lines, {words}")


def _cut(image, shape):
    """The middle of an image, or the image in the middle of zeros."""
    out = numpy.zeros(shape, image.dtype)
    first = [n // 2 - m // 2 for n, m in zip(image.shape, shape)]
    source = tuple(slice(max(f, 0), max(f, 0) + min(n, m)) for f, n, m in zip(first, image.shape, shape))
    target = tuple(slice(max(-f, 0), max(-f, 0) + min(n, m)) for f, n, m in zip(first, image.shape, shape))
    out[target] = image[source]
    return out
