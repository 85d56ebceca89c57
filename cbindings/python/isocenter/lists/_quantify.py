"""From a list of events to an image in Bq/ml."""
import contextlib
import sys
import time
import warnings

import numpy

from ..context import Context
from ..errors import wrong
from . import _alignment, _attenuation, _axis, _chosen, _curve, _cut, _dead, _decay, _lattice, _motion
from ._list import List
from ._open import open_list
from ._histos import Histos
from ._lines import Lines
from ._quantified import UNIT, Quantified
from ._scan import CLIMBS

#: Passes, where none are given.
_PASSES = {"svrg": 100, "bsrem": 40, "osem": 4, "mlem": 40}


def quantify(source, attenuation=None, *, unit=None, kilovolts=120.0, map_centre=None, isotope=None, half_life=None, branching=None, live=None, delay=0.0,
             calibration=1.0, frames=None, gates=None, gate_count=None, motion=None, voxel=4.0, size=None, slices=None, azimuths=None, tilts=None, max_tilt=None, tof_fwhm=None, resolution=None,
             projector=None, randoms=True, window=None, scatter=3, energy_resolution=None, energy_window=None, efficiencies=None, algorithm="svrg", iterations=None, smoothness=0.02,
             position=None, alignment=True, scanner=None, depth=None, duration=None, exclude=(), tree=None, delays=None, norm=None, context=None):
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
    live : float, optional
        Part of the time in which the scanner was ready. None: as the file's dead times say, of each frame, crystal, and pair of modules; 1 of one without.
    delay : float
        From the time that the activity is told at to the start of the scan, s.
    calibration : float
        By which the image is multiplied: what a phantom has over what this makes of its scan.
    frames : sequence of (float, float), str or path, optional
        Start and end of frames, s from the start of the scan, ascending; or counts and seconds, "12x10,6x20,5x60", from 0 on; or a file of starts and ends (a text, .npy, or PET-BIDS's .json). Lists whose events have times are cut by these. Of others, PETSIRD, a block of events is of the
        frame in which it begins, and of frames whose edges are within blocks there is a warning. The image of a frame without counts is 0, of one without blocks of
        events NaN. None: one image of all.
    gates : array or path, optional
        (n, 3) of start and end, s, and the gate, from 0 or 1 on; or (n,) triggers, s. An image of each gate, of all of its times. Lists whose events have times are cut by these;
        of others a block is of the gate in which it begins.
    gate_count : int, optional
        Of triggers: into how many gates each time between two of them is divided.
    motion : array or path, optional
        (n, 13) or (n, 7): the start, s, and a rigid transform from where the patient is, until the next start, to the reference position, in the scanner's frame: a matrix
        of 3 x 4, mm, or x, y, z in mm and angles about x, y and z in degrees, which turn first, in this order. The map is in the reference position. Each place makes an image,
        with the map moved there; these are moved back, and averaged by sensitivity and time.
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
    projector : {"histo-images", "lines"}, optional
        What events are counted in: histo-images of their directions, by time of flight, or lines, whatever their times (`PET.reconstruct_lines`). None: lines of scanners without time of flight, with so
        little that it is as long as the lattice, or with modules of several time resolutions; of others histo-images, which are faster.
    randoms : bool
        Whether they are made of the file's delays, or without any of its rates of single photons; False: there are none.
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
        Passes at most. None: 100, 40, 4 and 40; of the first two fewer, once a pass changes the image by 1e-3 or less.
    smoothness : float
        The prior's strength over the mean sensitivity in the body, counts of a voxel a Bq/ml, so that it means the same for every scan, whatever the
        activity, duration and unit: at 1/19 differences from the 26 neighbours weigh as much as what a voxel of its own measures. 0: no prior.
    position : str, optional
        The patient's, one of `isocenter.images.POSITIONS`; None: the file's, else HFS.
    alignment : bool
        Whether the file's gantry alignment, from the scanner to a CT for one, is applied: the map is there, and the image is told there. False: both are in the scanner's frame.
    scanner, depth, duration, exclude, tree, delays, norm
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
        Of options that are wrong, of frames that overlap, of a file without prompts, or without delays and rates of single photons unless `randoms` is False, of an isotope that is not known, of a bed
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

    cut = _cut.cut(frames, gates, gate_count, motion)
    for name, value, least in (("live", 1.0 if live is None else live, 0.0), ("calibration", calibration, 0.0), ("delay", delay, None), ("smoothness", smoothness, None)):
        if not numpy.isfinite(value) or least is not None and not value > least or least is None and value < 0:
            raise wrong(ValueError, f"{name} is {value}; it must be {'above 0' if least is not None else '0 or more'}")
    if algorithm not in _PASSES:
        raise wrong(ValueError, f"algorithm is {algorithm!r}; it must be one of {', '.join(_PASSES)}")
    if isinstance(scatter, bool) or scatter != int(scatter) or scatter < 0:
        raise wrong(ValueError, f"scatter is {scatter!r}; it must be how often it is made, 0 or more")
    with _opened(source, scanner=scanner, depth=depth, duration=duration, exclude=exclude, tree=tree, delays=delays, norm=norm) as listed:
        scanner = _chosen.scanner(listed.scanner, efficiencies, energy_resolution, energy_window, window)
        randoms, scatter = bool(randoms) and "randoms" not in listed.excluded, 0 if "scatter" in listed.excluded else scatter
        if randoms and listed.has_delays and scanner.time_edges is None and not scanner.window:
            raise wrong(ValueError, "the file does not say the largest time difference of its coincidences, by which delays become randoms: pass window, ps, or randoms=False (--no-randoms)")
        events = cut.read(listed, randoms)
        isotope = _chosen.isotope(listed, isotope, half_life, branching, doubt)
        position = _chosen.position(listed.said, position, doubt)
        shift = _alignment.shift(listed.said.alignment if alignment else None)
        map = None
        if attenuation is not None:
            map = _attenuation.read_map(attenuation, unit, position)
            map = map._replace(centre=tuple(float(v) for v in (map.centre - shift if map_centre is None else map_centre)))
            map = _turned_volume(map, scanner.turn)
        lattice = _lattice.choose(scanner, map, voxel=voxel, size=size, slices=slices, azimuths=azimuths, tilts=tilts, max_tilt=max_tilt, tof_fwhm=tof_fwhm,
                                  resolution=resolution, projector=projector)
        with _lattice.plan(context or Context(), scanner, lattice) as pet:
            if map is not None:
                map = _attenuation.in_millimetres(pet, map, kilovolts, doubt)
            _chosen.doubt_scanner(scanner, isotope, map, scatter, doubt)
            _chosen.doubt_header(listed.said, scanner, doubt)
            for words in [*scanner.doubts, *cut.doubts]:
                doubt(words)
            scan = (Lines if lattice.projector == "lines" else Histos)(pet, scanner, lattice, map, events, randoms, doubt)
            if events.moves:
                raise wrong(ValueError, f"bed or gantry move in {listed.path}: events of several places are in one image")
            dead = _dead.Dead(scanner, events, live, isotope.half_life, doubt)
            solved, averaged = [], cut.transforms and _motion.Averaged(cut, scanner.turn, map, lattice)
            for k, of in enumerate(scan.found):
                if averaged:
                    scan.map = averaged.map(k)
                solved.append(numpy.full(lattice.shape, 0 if events.blocks[k] else numpy.nan, numpy.float32))
                if not of.duration:
                    continue
                own = dead.of(events.names[k], events.blocks[k], of.counted)
                of.alive = own.alive
                if not own.alive:
                    solved[k][:] = numpy.nan  # nothing could be measured
                    continue
                scan.use(own)
                unit_of, of.decay = _time(events.blocks[k], isotope, own.live, delay), _decay.correction(events.blocks[k], isotope, delay)
                if of.counted:
                    solved[k] = scan.image(k, unit_of, scatter, algorithm, iterations or _PASSES[algorithm], smoothness)
                if averaged:
                    averaged.add(k, solved[k], scan.sensitivity(unit_of))
            found = averaged.found(scan.found, doubt) if averaged else scan.found
            solved = numpy.stack(averaged.images() if averaged else solved) * numpy.float32(calibration)
            _curve.add(found, solved, map, lattice)
    image = _axis.turned_image(solved, scanner.turn.T)
    centre = tuple(float(v) for v in _axis.turned(lattice.centre, scanner.turn.T) + shift)
    nz, ny, nx = image.shape[1:]
    corrected = {"attenuation": map is not None, "calibration": calibration != 1, "dead time": any(of.alive != 1 for of in found), "decay": True, "motion": motion is not None,
                 "normalization": scanner.efficiencies is not None, "randoms": randoms, "scatter": map is not None and scatter > 0}
    settings = {
        "list": listed.kind + (f", without {' and '.join(listed.excluded)}" if listed.excluded else ""),
        "lattice": f"{nx} x {ny} x {nz} voxels of {lattice.voxel:g} mm", "views": f"{lattice.azimuths} azimuths x {lattice.tilts} tilts to {lattice.max_tilt:.3g} rad",
        "projector": lattice.projector, "response": (f"{lattice.tof_fwhm:.4g} ps, " if lattice.tof_fwhm else "no time of flight, ") + f"{lattice.width:.3g} mm across",
        "energy window": f"{scanner.energy_lower:g} to {scanner.energy_upper:g} keV" + (f", resolution {scanner.energy_resolution:.3g}" if scanner.energy_resolution else "")
        if scanner.energy_upper else "",
        "gantry alignment": f"map and image are shifted by {', '.join(f'{v:.4g}' for v in shift)} mm" if shift.any() else "",
        "efficiencies": "as given" if efficiencies is not None else "of the file" if scanner.efficiencies is not None else "1", "attenuation": _told(map),
        "half-life, branching": f"{isotope.half_life:.6g} s, {isotope.branching:.4g}" if isotope.half_life else f"none, {isotope.branching:.4g}",
        "reference time": f"{delay:g} s before the start of the scan" if delay else "start of the scan", "live, calibration": f"{'of the file' if live is None and events.alive else f'{1.0 if live is None else live:g}'}, {calibration:g}",
        "randoms": ("of single photons that the file has" if scan.recorded else "of delays, before the single photons that the file has" if events.singles else "of delays") if randoms else "none",
        "algorithm": algorithm + (f", smoothness {smoothness:g}" if algorithm in CLIMBS else ""),
        "motion": f"images of {len(cut.parts)} places, moved to the reference and averaged by sensitivity and time" if motion is not None else "",
        "patient": position, "computed in": f"{time.monotonic() - begun:.0f} s"}
    return Quantified(numpy.ascontiguousarray(image if cut.series else image[0]), (lattice.voxel,) * 3, centre, UNIT, found, isotope, settings, doubts, position,
                      scanner.model, cut.names, delay, tuple(name for name, is_made in corrected.items() if is_made), algorithm,
                      (scanner.energy_lower, scanner.energy_upper), lattice.tof_fwhm > 0, map is not None and map_centre is None)


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


def _told(map):
    if map is None:
        return "none"
    return f"{' x '.join(f'{n}' for n in map.image.shape[::-1])} voxels of {' x '.join(f'{v:.4g}' for v in map.voxel)} mm, centre {', '.join(f'{v:.4g}' for v in map.centre)} mm"
