"""From a list of events to an image in Bq/ml."""
import dataclasses
import os
import time
import warnings

import numpy

from .. import _isotopes, images
from .._isotopes import REMARKS, Isotope, find
from ..context import Context
from ..errors import wrong
from ..pet import Dropped
from . import _attenuation, _axis, _exam, _file, _lattice, _report
from ._events import Events, pairs

UNIT = "Bq/ml"
#: Passes, where none are given.
_PASSES = {"svrg": 40, "bsrem": 40, "osem": 4, "mlem": 40}
#: Passes of "svrg" and "bsrem" end when one has changed the image by no more; if the last one changed it by more than the second it is told.
_SETTLED, _UNSETTLED = 1e-3, 0.02
#: What a prior may take of the counts without a word: given back, means of regions are within 2 percent.
_TAKEN = 0.06
#: Of Newton's method, at most.
_STEPS = 30
#: Which have a prior.
_CLIMBS = ("svrg", "bsrem")
#: What scatter is made of: images that have the activity, which may be noisy.
_DRAFT = dict(algorithm="osem", iterations=3)


@dataclasses.dataclass
class Found:
    """Numbers of a frame.

    Attributes
    ----------
    start, duration : float
        Of its first block, s from the start of the scan; of all its blocks together, s.
    prompts, delays : int
        Of the frame in the file.
    counted : int
        Prompts in histo-images.
    dropped : Dropped
        The others, by cause.
    randoms, scatter : float
        Counts that are expected in histo-images.
    scale, tails : float
        By what single scatter was multiplied, and the counts beside all that attenuates that tell so; 1 and 0 where it was not.
    sensitivity : float
        Mean over the body: counts of a voxel a Bq/ml.
    strength : float
        Of the prior; 0 without.
    restored : float
        What the image was multiplied by, so that it explains the counts that the prior took; 1 without.
    history : list of Iteration
        Of each pass; empty of a frame without counts.
    """
    start: float
    duration: float
    prompts: int
    delays: int
    counted: int
    dropped: object
    randoms: float = 0.0
    scatter: float = 0.0
    scale: float = 1.0
    tails: float = 0.0
    sensitivity: float = 0.0
    strength: float = 0.0
    restored: float = 1.0
    history: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Quantified:
    """What `quantify` returns.

    Attributes
    ----------
    image : array
        float32 (nz, ny, nx), or (frames, nz, ny, nx) where frames were given.
    voxel, centre : tuple of float
        Of the image's voxels, mm, and its middle in the file's frame, x, y, z: the scanner's, or the reference of its gantry alignment.
    unit : str
        "Bq/ml".
    found : list of Found
        Of each frame.
    isotope : Isotope
        Name, half-life, branching.
    settings : dict
        What was given and chosen, in words.
    doubts : list of str
        What may make values wrong.
    position : str
        Of the patient.
    scanner : str
        Its name.
    """
    image: numpy.ndarray
    voxel: tuple
    centre: tuple
    unit: str
    found: list
    isotope: Isotope
    settings: dict
    doubts: list
    position: str
    scanner: str

    def write(self, path):
        """Writes the image: NIfTI (.nii, .nii.gz), Interfile (.hv and .v) or NumPy (.npy), by the ending; see `isocenter.images`."""
        words = dict(unit=self.unit, position=self.position)
        starts, durations = [f.start for f in self.found], [f.duration for f in self.found]
        ending = written(path)
        if ending == ".hv":
            images.write_interfile(path, self.image, self.voxel, self.centre, **words, starts=starts, durations=durations, isotope=self.isotope.name,
                                   half_life=self.isotope.half_life, branching=self.isotope.branching, scanner=self.scanner)
        elif ending == ".npy":
            numpy.save(path, self.image)
        else:
            alike = max(durations) - min(durations) < 1e-3
            images.write_nifti(path, self.image, self.voxel, self.centre, **words, description=f"PET {self.isotope.name}", start=starts[0],
                               duration=durations[0] if alike else 0.0)

    def write_report(self, path, command=""):
        """Writes a page, HTML, that needs nothing beside it: the numbers, three slices, doubts, and `command` if there is one."""
        _report.write(path, self, command)


def written(path):
    """The ending of a file that `Quantified.write` writes."""
    for ending in (".nii.gz", ".nii", ".hv", ".npy"):
        if os.fspath(path).endswith(ending):
            return ending
    raise wrong(ValueError, f"path is {os.fspath(path)}; it must end in .nii, .nii.gz, .hv or .npy")


def quantify(path, attenuation=None, *, unit=None, kilovolts=120.0, map_centre=None, isotope=None, half_life=None, branching=None, live=1.0, delay=0.0,
             calibration=1.0, frames=None, voxel=4.0, size=None, slices=None, azimuths=None, tilts=None, max_tilt=None, tof_fwhm=None, resolution=None,
             depth=None, randoms=True, scatter=3, algorithm="svrg", iterations=None, smoothness=0.02, position=None, alignment=True, context=None):
    """The activity in Bq/ml of a PETSIRD file's events, at the start of the scan.

    Prompts are counted in histo-images, randoms are made of the delays, scatter of images, the attenuation, and the file's energy window, all with
    the factors of the file's crystals and their efficiencies (docs/list-mode.md).

    Parameters
    ----------
    path : path
    attenuation : path or isocenter.images.Volume, optional
        A NIfTI file, or an array with its place. None: nothing attenuates or scatters.
    unit : {"1/mm", "1/cm", "HU"}, optional
        Of the map; None: the unit that the file names, else 1/mm.
    kilovolts : float
        Of the CT, for Hounsfield units.
    map_centre : sequence of float, optional
        x, y, z of the map's centre in the scanner's frame, mm; None: as the file says, in the reference of the gantry alignment if the scan has one.
    isotope : str, optional
        One of `ISOTOPES` in any spelling; None: the file's, else F-18, which is told.
    half_life, branching : float, optional
        s; part of the decays that send positrons. None: the isotope's.
    live : float
        Part of the time in which the scanner was ready.
    delay : float
        From the time that the activity is told at to the start of the scan, s.
    calibration : float
        By which the image is multiplied: what a phantom has over what this makes of its scan.
    frames : sequence of (float, float), optional
        Start and end of frames, s from the start of the scan, ascending; a block of events is of the frame in which it begins, and of frames whose edges are within blocks
        there is a warning. The image of a frame without counts is 0, of one without blocks of events NaN. None: one image of all.
    voxel : float
        Side of voxels, mm.
    size, slices : int, optional
        Voxels along x and y, and along z. None: as far as the map reaches, 0.7 of the scanner's diameter at most; the scanner's length.
    azimuths, tilts : int, optional
        Of views. None: so many that directions within a view blur by less than a tenth of the line's width.
    max_tilt : float, optional
        The largest of an event, radians. None: from end to end of the scanner across its middle.
    tof_fwhm : float, optional
        Full width at half maximum of the time difference, ps. None: the file's and what its bins add.
    resolution : float, optional
        That of the line across, at its middle, mm. None: of the crystals' size, and of photons that are not quite opposite.
    depth : float, optional
        See `read_scanner`.
    randoms : bool
        Whether they are made of the file's delays; False: there are none.
    scatter : int
        Times that scatter is made of an image with the scatter before; 2 or 3 are enough, 0: there is none.
    algorithm : {"svrg", "bsrem", "osem", "mlem"}
        The first two with a prior of relative differences; "svrg" needs fewer passes. Of passes that do not settle there is a warning.
    iterations : int, optional
        Passes at most. None: 40, 40, 4 and 40; of the first two fewer, once a pass changes the image by 1e-3 or less.
    smoothness : float
        The prior's strength over the mean sensitivity in the body, counts of a voxel a Bq/ml, so that it means the same for every scan, whatever the
        activity, duration and unit: at 1/19 differences from the 26 neighbours weigh as much as what a voxel of its own measures. 0: no prior.
    position : str, optional
        The patient's, one of `isocenter.images.POSITIONS`; None: the file's, else HFS.
    alignment : bool
        Whether the file's gantry alignment, from the scanner to a CT for one, is applied: the map is there, and the image is told there. False: both are in the scanner's frame.
    context : Context, optional
        Where to compute; None makes one with the defaults.

    Returns
    -------
    Quantified

    Raises
    ------
    ImportError
        Without the package petsird, or nibabel for a NIfTI file.
    ValueError
        Of options that are wrong, of frames that overlap, of a file without prompts, or without delays unless `randoms` is False, of an isotope that is not known, of a bed
        that moves, of a gantry that is turned against its reference, and of a map in another unit or smaller than the lattice.

    Warns
    -----
    UserWarning
        Of each of `Quantified.doubts`.
    """
    begun, doubts = time.monotonic(), []

    def doubt(words):
        doubts.append(words)
        warnings.warn(words, stacklevel=3)

    spans = None if frames is None else pairs(frames)
    for name, value, least in (("live", live, 0.0), ("calibration", calibration, 0.0), ("delay", delay, None), ("smoothness", smoothness, None)):
        if not numpy.isfinite(value) or least is not None and not value > least or least is None and value < 0:
            raise wrong(ValueError, f"{name} is {value}; it must be {'above 0' if least is not None else '0 or more'}")
    if algorithm not in _PASSES:
        raise wrong(ValueError, f"algorithm is {algorithm!r}; it must be one of {', '.join(_PASSES)}")
    if isinstance(scatter, bool) or scatter != int(scatter) or scatter < 0:
        raise wrong(ValueError, f"scatter is {scatter!r}; it must be how often it is made, 0 or more")
    events = Events(path, spans, delays=bool(randoms))
    scanner = events.scanner if depth is None else _file.read_scanner(path, depth=depth)
    isotope = _isotope(path, events.said, isotope, half_life, branching, doubt)
    position = _position(events.said, position, doubt)
    shift = _exam.shift(events.said.alignment if alignment else None)
    map = None
    if attenuation is not None:
        map = _attenuation.read_map(attenuation, unit, position)
        map = map._replace(centre=tuple(float(v) for v in (map.centre - shift if map_centre is None else map_centre)))
        map = _turned_volume(map, scanner.turn)
    lattice = _lattice.choose(scanner, map, voxel=voxel, size=size, slices=slices, azimuths=azimuths, tilts=tilts, max_tilt=max_tilt, tof_fwhm=tof_fwhm,
                              resolution=resolution)
    with _lattice.plan(context or Context(), scanner, lattice) as pet:
        if map is not None:
            map = _attenuation.in_millimetres(pet, map, kilovolts, doubt)
        _doubt_scanner(scanner, isotope, map, doubt)
        _doubt_header(events.said, scanner, doubt)
        scan = _Scan(pet, scanner, lattice, map, events, bool(randoms), doubt)
        if events.moves:
            raise wrong(ValueError, f"bed or gantry move in {path}: events of several places are in one image")
        if events.has_dead_time and live == 1:
            doubt("the file has dead times, which are not used: pass live, the part of the time in which the scanner was ready")
        solved = []
        for k in range(len(scan.found)):
            if not scan.found[k].counted:
                solved.append(numpy.full(lattice.shape, 0 if events.blocks[k] else numpy.nan, numpy.float32))
                continue
            unit_of = _time(events.blocks[k], isotope, live, delay)
            solved.append(scan.image(k, unit_of, scatter, algorithm, iterations or _PASSES[algorithm], smoothness))
    image = _axis.turned_image(numpy.stack(solved) * numpy.float32(calibration), scanner.turn.T)
    centre = tuple(float(v) for v in _axis.turned(lattice.centre, scanner.turn.T) + shift)
    nz, ny, nx = image.shape[1:]
    settings = {
        "lattice": f"{nx} x {ny} x {nz} voxels of {lattice.voxel:g} mm", "views": f"{lattice.azimuths} azimuths x {lattice.tilts} tilts to {lattice.max_tilt:.3g} rad",
        "response": f"{lattice.tof_fwhm:.4g} ps, {lattice.width:.3g} mm across",
        "energy window": f"{scanner.energy_lower:g} to {scanner.energy_upper:g} keV, resolution {scanner.energy_resolution:.3g}" if scanner.energy_resolution else "",
        "gantry alignment": f"map and image are shifted by {', '.join(f'{v:.4g}' for v in shift)} mm" if shift.any() else "",
        "efficiencies": "of the file" if scanner.efficiencies is not None else "1", "attenuation": _told(map),
        "half-life, branching": f"{isotope.half_life:.6g} s, {isotope.branching:.4g}" if isotope.half_life else f"none, {isotope.branching:.4g}",
        "reference time": f"{delay:g} s before the start of the scan" if delay else "start of the scan", "live, calibration": f"{live:g}, {calibration:g}",
        "algorithm": algorithm + (f", smoothness {smoothness:g}" if algorithm in _CLIMBS else ""),
        "patient": position, "computed in": f"{time.monotonic() - begun:.0f} s"}
    return Quantified(numpy.ascontiguousarray(image if spans is not None else image[0]), (lattice.voxel,) * 3, centre, UNIT, scan.found, isotope, settings, doubts, position,
                      scanner.model)


class _Scan:
    """Counts of all frames, read in one pass; and the image of each."""

    def __init__(self, pet, scanner, lattice, map, events, randoms, doubt):
        self.pet, self.scanner, self.lattice, self.map, self.doubt = pet, scanner, lattice, map, doubt
        count = len(events.measured)
        self.measured = numpy.zeros((count, *pet.histo_images_shape), numpy.uint32)
        self.sums = numpy.zeros((count, len(scanner.positions)), numpy.uint32) if randoms else None
        self.window = {name: getattr(scanner, name) for name in ("energy_resolution", "energy_lower", "energy_upper")}
        self.place = {} if map is None else dict(map_voxel=map.voxel, map_centre=tuple(a - b for a, b in zip(map.centre, lattice.centre)))
        self.found = self._read(events, count)
        for words in events.doubts:
            doubt(words)
        for k, of in enumerate(self.found):
            if of.dropped.not_measured:
                doubt(f"{of.dropped.not_measured} of {of.prompts} prompts{f' of frame {k}' if count > 1 else ''} are of pairs of crystals that the file says are not measured: they are dropped")
        _check_counts(self.found, events, self.sums, doubt)

    def _read(self, events, count):
        numbers, dropped, first = numpy.zeros((2, count), int), [None] * count, 0
        for part in events:
            for k in range(count):
                for kind in (0, 1):
                    numbers[kind, k] += int(((part.kinds == kind) & (part.frames == k)).sum())
                chosen = (part.kinds == 0) & (part.frames == k)
                if chosen.any():
                    more = self.pet.deposit_crystals(part.crystals[chosen], part.times[chosen], histo_images=self.measured[k], first_event=first)
                    dropped[k] = more if dropped[k] is None else type(more)(*(a + b for a, b in zip(dropped[k], more)))
                    first += int(chosen.sum())
            delayed = (part.kinds == 1) & (part.frames >= 0)
            if self.sums is not None and delayed.any():
                self.pet.fan_sums(part.crystals[delayed], part.frames[delayed].astype(numpy.uint32), self.sums)
        # Of a frame without blocks, the time that was asked for.
        starts = numpy.where(numpy.isfinite(events.starts), events.starts, events.asked[:, 0])
        none = Dropped(*[0] * len(Dropped._fields))
        return [Found(float(starts[k]), float(events.measured[k]), int(numbers[0, k]), int(numbers[1, k]), int(self.measured[k].sum()), dropped[k] or none)
                for k in range(count)]

    def image(self, k, unit, scatter, algorithm, iterations, smoothness):
        """Of frame k, in Bq/ml before calibration."""
        pet, of, measured = self.pet, self.found[k], self.measured[k]
        attenuation = None if self.map is None else self.map.image
        factors = pet.factors(self.scanner.efficiencies, attenuation, **unit, **self.place)
        sensitivity = pet.sensitivity(factors)
        inside = sensitivity > 0
        if self.map is not None:
            inside &= _attenuation.body(self.map, self.lattice.shape, (self.lattice.voxel,) * 3, self.lattice.centre)
        of.sensitivity = float(sensitivity[inside].mean()) if inside.any() else float(sensitivity.mean())
        randoms = None
        if self.sums is not None and self.sums[k].any():
            randoms = pet.randoms(pet.singles(self.sums[k], of.duration), of.duration)
            of.randoms = float(randoms.sum(dtype=float))
        additive = randoms
        if attenuation is not None and scatter:
            pet.set_options(**_DRAFT)
            for _ in range(scatter):
                image = pet.reconstruct(measured, factors, additive)
                additive, found = pet.scatter(image, attenuation, self.scanner.efficiencies, measured, randoms, **self.window, **unit, **self.place)
            of.scatter, of.scale, of.tails = float(found.scatter * found.scale), float(found.scale), float(found.tails)
        climbs = algorithm in _CLIMBS
        of.strength = smoothness * of.sensitivity if climbs else 0.0
        pet.set_prior(strength=of.strength or None)
        pet.set_options(algorithm=algorithm, iterations=iterations, stop_change=_SETTLED if climbs else 0.0)
        image = pet.reconstruct(measured, factors, additive)
        of.history = pet.history()
        if climbs and of.strength:
            of.restored = _restored(measured, factors * pet.forward(image), additive)
            image *= numpy.float32(of.restored)
            if of.restored > 1 + _TAKEN:
                self.doubt(f"the prior took {100 * (1 - 1 / of.restored):.0f} % of the counts, and the image was multiplied by {of.restored:.3f} for them: means of regions may be some percent "
                           "off; a smaller smoothness takes fewer, algorithm='mlem' none")
        if not image.any() and of.counted > of.randoms:
            self.doubt(f"the image is 0 everywhere, though there are {of.counted} counts")
        if of.history[-1].change > _UNSETTLED:
            self.doubt(f"the last of {len(of.history)} passes changed the image by {of.history[-1].change:.2g} of it: it has not settled")
        return image


def _restored(measured, expected, additive):
    """The factor of an image with which it explains the counts best: a prior of relative differences lowers all of it, by its value over the counts."""
    total, hit = expected.sum(dtype=float), (measured > 0) & (expected > 0)
    counts, own = measured[hit].astype(float), expected[hit].astype(float)
    other = 0.0 if additive is None else additive[hit].astype(float)
    factor = 1.0
    # The likelihood's slope falls, and bends upwards: from below Newton's steps do not go too far, and from above half the way at most.
    for _ in range(_STEPS if total > 0 else 0):
        part = own / (factor * own + other)
        step = ((counts * part).sum() - total) / (counts * part * part).sum()
        factor = max(factor + step, factor / 2)
        if abs(step) < 1e-6 * factor:
            break
    return float(factor)


def _isotope(path, said, given, half_life, branching, doubt):
    """What is given goes before what the file says."""
    known, nuclide = said.isotope, said.nuclide
    numbers = half_life is not None and branching is not None
    if given:
        found = None if numbers and _isotopes.known(given) is None else find(given)
        if known is not None and known != found:
            doubt(f"isotope is {given}, and the file's is {nuclide}")
    elif nuclide and known is None and not numbers:
        raise wrong(ValueError, f"{path} names its isotope {nuclide}, which is not one that is known: pass isotope, one of {', '.join(_isotopes.ISOTOPES)}, "
                                "or half_life and branching")
    else:
        found = known
        if not nuclide and not numbers:
            found = find("F-18")
            doubt("the file does not name its isotope, which is taken to be F-18: pass isotope")
    return Isotope(found.name if found else given or nuclide, found.half_life if half_life is None else _positive(half_life, "half_life"),
                   found.branching if branching is None else _positive(branching, "branching"))


def _position(said, given, doubt):
    if given is not None:
        if said.position not in (None, given):
            doubt(f"position is {given}, and the file says that the patient lies {said.lies}, which is {said.position}")
        return given
    if said.position is None and said.lies:
        doubt(f"the file says that the patient lies {said.lies}, which is none of {', '.join(images.POSITIONS)}: HFS is taken, pass position")
    return said.position or "HFS"


def _turned_volume(map, turn):
    """In the frame whose z is the scanner's axis."""
    return map._replace(image=_axis.turned_image(numpy.asarray(map.image), turn), voxel=_axis.turned(map.voxel, turn), centre=_axis.turned(map.centre, turn))


def _time(blocks, isotope, live, delay):
    """Words of `PET.factors` for what decays in blocks of time: those between them are dead time, weighed by the activity that there is."""
    begins, ends = numpy.array(blocks).T
    start, whole, measured = begins.min(), float(ends.max() - begins.min()), float((ends - begins).sum())
    if whole > measured:
        rate = numpy.log(2) / isotope.half_life
        left = -numpy.expm1(-rate * (ends - begins)) * numpy.exp(-rate * (begins - start))
        live, measured = live * min(1.0, float(left.sum() / -numpy.expm1(-rate * whole))), whole
    return dict(duration=measured, half_life=isotope.half_life, branching=isotope.branching, live=live, delay=delay + float(start))


def _positive(value, name):
    if not value > 0 or not numpy.isfinite(value):
        raise wrong(ValueError, f"{name} is {value}; it must be above 0")
    return float(value)


def _check_counts(found, events, sums, doubt):
    """What no image at all can be made of is an error; of single frames it is told."""
    prompts, delays = sum(of.prompts for of in found), sum(of.delays for of in found)
    frames = len(found) > 1
    if not prompts and not delays:
        raise wrong(ValueError, f"there are no events{' in any frame' if frames else ''}")
    if not prompts:
        raise wrong(ValueError, f"there are delays without prompts: {delays} delayed coincidences, of which alone no image can be made")
    if sums is not None and not delays:
        raise wrong(ValueError, "there are prompts without delays, of which randoms are made: pass randoms=False (--no-randoms) if there are none, or they were taken off")
    if not sum(of.counted for of in found):
        raise wrong(ValueError, f"none of {prompts} prompts are in the lattice: {found[0].dropped}")
    for k, of in enumerate(found):
        if of.counted and not of.duration > 0:
            raise wrong(ValueError, f"blocks of events{f' of frame {k}' if frames else ''} last 0 s, so that there is no activity a second")
        if not events.blocks[k]:
            doubt(f"no block of events begins in frame {k}: its image is NaN")
        elif not of.counted:
            doubt(f"there are no {'prompts in the lattice' if of.prompts else 'prompts'} in frame {k}: its image is 0")
        elif sums is not None and not sums[k].any():
            doubt(f"there are prompts without delays in the field of view{f' in frame {k}' if frames else ''}: there are taken to be no randoms")


def _doubt_scanner(scanner, isotope, map, doubt):
    if scanner.efficiencies is None:
        doubt("the file has no efficiencies of its crystals, so that they are taken to detect every photon: values are too small by the square of what they detect")
    if map is None:
        doubt("there is no map of attenuation: neither attenuation nor scatter is taken off")
    if isotope.name in REMARKS:
        doubt(f"{isotope.name} {REMARKS[isotope.name]}")


def _doubt_header(said, scanner, doubt):
    if said.calibration != 1:
        doubt(f"the file's calibration factor, {said.calibration:.6g}, is not used, which is one of line integrals: pass calibration, the activity of a phantom "
              "over what this makes of its scan")
    if scanner.energy_upper and not scanner.energy_lower < 511 < scanner.energy_upper:
        doubt(f"the file's energy window, {scanner.energy_lower:g} to {scanner.energy_upper:g} keV, does not have 511 keV, of which scatter is made: it may be in another unit")
    if scanner.energy_resolution > 1:
        doubt(f"the file's energy resolution, {scanner.energy_resolution:g} of 511 keV, is more than all of it: it may be in percent or keV")
    if not numpy.array_equal(scanner.turn, numpy.eye(3)):
        doubt(f"the scanner's axis is {'xyz'[int(scanner.turn[2].argmax())]} of the file: the image is along the file's axes, and the patient's position is "
              "of a patient along its z")


def _told(map):
    if map is None:
        return "none"
    return f"{' x '.join(f'{n}' for n in map.image.shape[::-1])} voxels of {' x '.join(f'{v:.4g}' for v in map.voxel)} mm, centre {', '.join(f'{v:.4g}' for v in map.centre)} mm"
