"""Images of PET as DICOM files."""
import datetime
import os
import warnings

import numpy

from . import _dicom, _dicom_like, _dicom_pet
from ._isotopes import Isotope, find
from ._places import checked, dicom_geometry, times
from ._values import numbers, real
from .errors import wrong


def write_dicom(path, image, voxel, centre=(0.0, 0.0, 0.0), *, isotope, half_life=None, branching=None, position="HFS", starts=None, durations=None, labels=None, like=None,
                same_frame=True, acquired=None, delay=0.0, corrections=(), live=1.0, energy_window=None, time_of_flight=False, algorithm="UNKNOWN", iterations=None, prompts=None,
                decays=None, scatters=None, scanner="", description=""):
    """Writes a DICOM file of PET in Bq/ml, all slices and frames in one: an Enhanced PET Image, 1.2.840.10008.5.1.4.1.1.130.

    Values are integers of 16 bits with a slope for each frame of time: steps are its largest value over 65535, or, where any value is below 0, over 32767. Frames that have no
    values at all, NaN, are left out. What is not given is empty where DICOM allows that; docs/list-mode.md has what stands elsewhere. Each file has new UIDs.

    Parameters
    ----------
    path : path
    image, voxel, centre, position, starts, durations
        As for `write_interfile`. Without starts frames begin at 0, without durations they last 0.
    isotope : str
        Such as "F-18".
    half_life, branching : float, optional
        s; part of the decays that send positrons. None: those of `isocenter.lists.ISOTOPES`.
    labels : sequence of str, optional
        What frames are called.
    like : path, optional
        A DICOM file of the same patient and study, such as a slice of the CT, from which patient, study, and frame of reference are taken; of a PET image also what was injected and
        when, and the start of the scan.
    same_frame : bool
        Whether the image is in the coordinates of `like`; if not its frame of reference is not taken.
    acquired : datetime or str, optional
        When the scan began, which starts and `delay` are relative to, in the scanner's local time: "2026-11-30T10:15:00".
    delay : float
        From the time that the activity is told at to the start of the scan, s.
    corrections : sequence of str
        Those that the image has: of attenuation, calibration, dead time, decay, motion, normalization, randoms, scatter.
    live : float or sequence of float
        Part of the time in which the scanner was ready, of all frames or of each.
    energy_window : (float, float), optional
        keV.
    time_of_flight : bool
        Whether the image was made by it.
    algorithm : str
        Its name.
    iterations, prompts, decays, scatters : sequence, optional
        Of each frame: passes, events, what brought its mean activity to the time that it is told at, and the part of the events that is scatter.
    scanner, description : str
        Its name; the series', in words.

    Raises
    ------
    ImportError
        Without the package pydicom.
    ValueError
        Of values that are not finite, of 4 GB of them or more, and where an argument is none of these.

    Warns
    -----
    UserWarning
        Of frames that are left out, of a scan whose start is not known, so that it is in the year 1900, and of a `like` without a frame of reference.
    """
    from . import __version__
    _dicom.pydicom_package()
    image, voxel, centre = checked(image, voxel, centre)
    geometry = dicom_geometry(image.shape[-3:], voxel, centre, position=position)
    with numpy.errstate(over="ignore"):  # to infinity, which is told
        image = image.astype(numpy.float32)
    is_series, images = image.ndim == 4, image.reshape(-1, *image.shape[-3:])
    count = len(images)
    kept = [k for k in range(count) if not numpy.isnan(images[k]).all()]
    if not kept or not numpy.isfinite(images[kept]).all():
        raise wrong(ValueError, "image has values that are not finite, which DICOM's integers cannot be" if kept else "image has no values, but NaN alone")
    if 2 * images[kept].size > _dicom_pet.LARGEST or max(image.shape[-2:]) > _dicom.MOST:
        raise wrong(ValueError, f"image has shape {image.shape}; DICOM has {_dicom.MOST} rows and columns at most, and 4 GB: write fewer frames, or NIfTI")
    starts, durations = times(image, starts, durations)
    of_frames = {"starts": starts, "durations": durations, "iterations": iterations, "prompts": prompts, "decays": decays, "scatters": scatters}
    for name, values in of_frames.items():
        of_frames[name] = _of_frames(name, values, count, 1.0 if name == "decays" else 0.0)[kept]
    lives = of_frames["lives"] = numpy.full(len(kept), _finite(live, "live")) if numpy.ndim(live) == 0 else _of_frames("live", live, count, 1.0)[kept]
    if not (lives > 0).all():
        raise wrong(ValueError, f"live is {lives.tolist()}; it must be above 0")
    names = labels or [f"frame {k}" for k in range(count)]
    if len(names) != count:
        raise wrong(ValueError, f"labels has {len(names)} members; the image has {count} frames")
    unknown = sorted(set(corrections) - set(_dicom_pet.CORRECTIONS))
    if unknown:
        raise wrong(ValueError, f"corrections have {unknown[0]!r}; they must be some of {', '.join(_dicom_pet.CORRECTIONS)}")
    taken = _dicom_like.read(like) if like else _dicom_like.Like()
    if like and same_frame and not taken.frame:
        warnings.warn(f"{like} has no frame of reference: the image has one of its own", stacklevel=2)
    if not same_frame:
        taken.frame = taken.indicator = ""
    acquired = _moment(acquired) or taken.acquired
    if acquired is None:
        warnings.warn("it is not known when the scan began: DICOM's times count from 1900-01-01, pass acquired", stacklevel=2)
    for k in range(count):
        if k not in kept:
            warnings.warn(f"{names[k]} has no values, and is not in {os.path.basename(path)}", stacklevel=2)
    about = {**of_frames, "labels": [_line(names[k]) for k in kept], "is_series": is_series, "isotope": _decays(isotope, half_life, branching), "acquired": acquired,
             "delay": _finite(delay, "delay"), "corrections": corrections, "energy_window": [_finite(v, "energy_window") for v in energy_window or (0, 0)],
             "time_of_flight": time_of_flight, "algorithm": _code_string(algorithm), "scanner": _line(scanner), "description": _line(description), "version": __version__}
    stored, slopes = _dicom_pet.scaled(images[kept])
    try:
        elements = _dicom_pet.elements(stored, slopes, geometry, about, taken)
    except OverflowError:
        raise wrong(ValueError, f"starts, durations and delay reach beyond what a date can be: {of_frames['starts'].tolist()}, {of_frames['durations'].tolist()}, {delay} s") from None
    _dicom.save(os.fspath(path), elements)


def check(like, acquired):
    """That `write_dicom` can be called with these."""
    _dicom.pydicom_package()
    _moment(acquired)
    if like:
        _dicom_like.read(like)


def _of_frames(name, given, count, neutral):
    """Numbers of all frames."""
    found = numpy.full(count, neutral) if given is None else numbers(given, name)
    if len(found) != count or not numpy.isfinite(found).all() or (found < 0).any() and name != "starts":
        raise wrong(ValueError, f"{name} are {found.tolist()}; they must be {count} finite numbers, one for each frame")
    return found


def _finite(value, name):
    value = real(value, name)
    if not numpy.isfinite(value) or value < 0 or name == "live" and not value:
        raise wrong(ValueError, f"{name} is {value}; it must be finite, and {'above 0' if name == 'live' else '0 or more'}")
    return value


def _decays(name, half_life, branching):
    """An isotope, of which what is given goes before what is known."""
    given = half_life is not None and branching is not None
    known = Isotope(name, half_life, branching) if given else find(name)
    return Isotope(known.name, *(_finite(own if given is None else given, name) for own, given, name in (
        (known.half_life, half_life, "half_life"), (known.branching, branching, "branching"))))


def _moment(given):
    """A date and time of local time; None of None."""
    try:
        found = datetime.datetime.fromisoformat(given) if isinstance(given, str) else given
    except ValueError:
        found = given
    if found is not None and (not isinstance(found, datetime.datetime) or found.tzinfo):
        raise wrong(ValueError, f"acquired is {given}; it must be a date and time without a zone, such as 2026-11-30T10:15:00")
    return found


def _line(text):
    """What DICOM's long strings may have."""
    return "".join(" " if c == "\\" or ord(c) < 32 else c for c in text)[:64].strip()


def _code_string(text):
    """What its code strings may have."""
    return "".join(c if c.isascii() and c.isalnum() else "_" for c in text.upper())[:16]
