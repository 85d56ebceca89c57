"""From a list of events to an image in Bq/ml."""
import contextlib
import sys
import time
import warnings

import numpy

from ..context import Context
from ..errors import wrong
from ..pet import Dropped
from . import _alignment, _attenuation, _axis, _chosen, _lattice
from ._list import List
from ._open import open_list
from ._quantified import UNIT, Found, Quantified
from ._reading import pairs

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


def quantify(source, attenuation=None, *, unit=None, kilovolts=120.0, map_centre=None, isotope=None, half_life=None, branching=None, live=1.0, delay=0.0,
             calibration=1.0, frames=None, voxel=4.0, size=None, slices=None, azimuths=None, tilts=None, max_tilt=None, tof_fwhm=None, resolution=None,
             randoms=True, window=None, scatter=3, energy_resolution=None, energy_window=None, efficiencies=None, algorithm="svrg", iterations=None, smoothness=0.02,
             position=None, alignment=True, scanner=None, depth=None, duration=None, exclude=(), tree=None, delays=None, context=None):
    """The activity in Bq/ml of a list's events, at the start of the scan.

    Prompts are counted in histo-images, randoms are made of the delays, scatter of images, the attenuation, and the energy window, all with
    the factors of the scanner's crystals and their efficiencies (docs/list-mode.md).

    Parameters
    ----------
    source : path or List
        Of any kind that `open_list` opens, or what it opened.
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
        Start and end of frames, s from the start of the scan, ascending. Lists whose events have times are cut by these. Of others, PETSIRD, a block of events is of the
        frame in which it begins, and of frames whose edges are within blocks there is a warning. The image of a frame without counts is 0, of one without blocks of
        events NaN. None: one image of all.
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
    randoms : bool
        Whether they are made of the file's delays; False: there are none.
    window : float, optional
        The largest time difference of a coincidence, ps, by which delays become rates of randoms. None: that of the file's time bins, or what it says.
    scatter : int
        Times that scatter is made of an image with the scatter before; 2 or 3 are enough, 0: there is none.
    energy_resolution : float, optional
        Full width at half maximum at 511 keV over that. None: the file's, else 0.11, which is told.
    energy_window : (float, float), optional
        keV. None: the file's, else 435 to 585, which is told.
    efficiencies : array or path, optional
        (crystals,), which part of the photons each crystal detects, or a NumPy file of it. None: the file's, else 1, which is told.
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
    scanner, depth, duration, exclude, tree, delays
        Of a path, as `open_list` takes them.
    context : Context, optional
        Where to compute; None makes one with the defaults.

    Returns
    -------
    Quantified

    Raises
    ------
    ImportError
        Without nibabel, of a NIfTI file, or uproot, of a ROOT file.
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
        warnings.warn(words, stacklevel=_outside())

    spans = None if frames is None else pairs(frames)
    for name, value, least in (("live", live, 0.0), ("calibration", calibration, 0.0), ("delay", delay, None), ("smoothness", smoothness, None)):
        if not numpy.isfinite(value) or least is not None and not value > least or least is None and value < 0:
            raise wrong(ValueError, f"{name} is {value}; it must be {'above 0' if least is not None else '0 or more'}")
    if algorithm not in _PASSES:
        raise wrong(ValueError, f"algorithm is {algorithm!r}; it must be one of {', '.join(_PASSES)}")
    if isinstance(scatter, bool) or scatter != int(scatter) or scatter < 0:
        raise wrong(ValueError, f"scatter is {scatter!r}; it must be how often it is made, 0 or more")
    with _opened(source, scanner=scanner, depth=depth, duration=duration, exclude=exclude, tree=tree, delays=delays) as listed:
        scanner = _chosen.scanner(listed.scanner, efficiencies, energy_resolution, energy_window, window)
        randoms, scatter = bool(randoms) and "randoms" not in listed.excluded, 0 if "scatter" in listed.excluded else scatter
        if randoms and listed.has_delays and scanner.time_edges is None and not scanner.window:
            raise wrong(ValueError, "the file does not say the largest time difference of its coincidences, by which delays become randoms: pass window, ps, or randoms=False (--no-randoms)")
        events = listed.read(spans, delays=randoms)
        isotope = _chosen.isotope(listed, isotope, half_life, branching, doubt)
        position = _chosen.position(listed.said, position, doubt)
        shift = _alignment.shift(listed.said.alignment if alignment else None)
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
            _chosen.doubt_scanner(scanner, isotope, map, scatter, doubt)
            _chosen.doubt_header(listed.said, scanner, doubt)
            scan = _Scan(pet, scanner, lattice, map, events, randoms, doubt)
            if events.moves:
                raise wrong(ValueError, f"bed or gantry move in {listed.path}: events of several places are in one image")
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
        "list": listed.kind + (f", without {' and '.join(listed.excluded)}" if listed.excluded else ""),
        "lattice": f"{nx} x {ny} x {nz} voxels of {lattice.voxel:g} mm", "views": f"{lattice.azimuths} azimuths x {lattice.tilts} tilts to {lattice.max_tilt:.3g} rad",
        "response": f"{lattice.tof_fwhm:.4g} ps, {lattice.width:.3g} mm across",
        "energy window": f"{scanner.energy_lower:g} to {scanner.energy_upper:g} keV" + (f", resolution {scanner.energy_resolution:.3g}" if scanner.energy_resolution else "")
        if scanner.energy_upper else "",
        "gantry alignment": f"map and image are shifted by {', '.join(f'{v:.4g}' for v in shift)} mm" if shift.any() else "",
        "efficiencies": "as given" if efficiencies is not None else "of the file" if scanner.efficiencies is not None else "1", "attenuation": _told(map),
        "half-life, branching": f"{isotope.half_life:.6g} s, {isotope.branching:.4g}" if isotope.half_life else f"none, {isotope.branching:.4g}",
        "reference time": f"{delay:g} s before the start of the scan" if delay else "start of the scan", "live, calibration": f"{live:g}, {calibration:g}",
        "algorithm": algorithm + (f", smoothness {smoothness:g}" if algorithm in _CLIMBS else ""),
        "patient": position, "computed in": f"{time.monotonic() - begun:.0f} s"}
    return Quantified(numpy.ascontiguousarray(image if spans is not None else image[0]), (lattice.voxel,) * 3, centre, UNIT, scan.found, isotope, settings, doubts, position,
                      scanner.model)


def _opened(source, **opening):
    """A list that is closed if it was opened here."""
    if not isinstance(source, List):
        return open_list(source, **opening)
    given = [name for name, value in opening.items() if value not in (None, ())]
    if given:
        raise wrong(TypeError, f"{', '.join(given)}: is told when a list is opened, and this one is open")
    return contextlib.nullcontext(source)


def _outside():
    """Of a warning from here, the level of the stack that is not this package's."""
    level, frame = 1, sys._getframe(1)
    while frame is not None and str(frame.f_globals.get("__name__")).partition(".")[0] == __name__.partition(".")[0]:
        level, frame = level + 1, frame.f_back
    return level - 1


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
            window = dict(window=self.scanner.window)  # 0 of one with bins
            randoms = pet.randoms(pet.singles(self.sums[k], of.duration, **window), of.duration, **window)
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


def _told(map):
    if map is None:
        return "none"
    return f"{' x '.join(f'{n}' for n in map.image.shape[::-1])} voxels of {' x '.join(f'{v:.4g}' for v in map.voxel)} mm, centre {', '.join(f'{v:.4g}' for v in map.centre)} mm"
