"""What is given goes before what the file says, and what neither says is told."""
import dataclasses
import os

import numpy

from .. import _isotopes, images
from ..errors import wrong

#: What `PET.scatter` takes where it is not told.
_RESOLUTION, _WINDOW = "0.11 of 511 keV", "435 to 585 keV"


def scanner(found, efficiencies, energy_resolution, energy_window, window):
    """The file's with what is given in its place."""
    given = {}
    if efficiencies is not None:
        given["efficiencies"] = _efficiencies(efficiencies, len(found.positions))
    if energy_resolution is not None:
        given["energy_resolution"] = _positive(energy_resolution, "energy_resolution")
    if energy_window is not None:
        lower, upper = energy_window
        if not 0 < lower < upper < numpy.inf:
            raise wrong(ValueError, f"energy_window is {lower:g} to {upper:g} keV; it must be two energies, ascending")
        given.update(energy_lower=float(lower), energy_upper=float(upper))
    if window is not None:
        if found.time_edges is not None:
            raise wrong(ValueError, f"window is {window:g} ps, and the file has time bins, which tell it")
        given["window"] = _positive(window, "window")
    return dataclasses.replace(found, **given)


def isotope(listed, given, half_life, branching, doubt):
    """What is given goes before what the file says."""
    known, nuclide = listed.said.isotope, listed.said.nuclide
    numbers = half_life is not None and branching is not None
    if given:
        found = None if numbers and _isotopes.known(given) is None else _isotopes.find(given)
        if known is not None and known != found:
            doubt(f"isotope is {given}, and the file's is {nuclide}")
    elif nuclide and known is None and not numbers:
        raise wrong(ValueError, f"{listed.path} names its isotope {nuclide}, which is not one that is known: pass isotope, one of {', '.join(_isotopes.ISOTOPES)}, "
                                "or half_life and branching")
    else:
        found = known
        if not nuclide and not numbers:
            found = _isotopes.find("F-18")
            doubt("the file does not name its isotope, which is taken to be F-18: pass isotope")
    return _isotopes.Isotope(found.name if found else given or nuclide, found.half_life if half_life is None else _positive(half_life, "half_life"),
                             found.branching if branching is None else _positive(branching, "branching"))


def position(said, given, doubt):
    if given is not None:
        if said.position not in (None, given):
            doubt(f"position is {given}, and the file says that the patient lies {said.lies}, which is {said.position}")
        return given
    if said.position is None and said.lies:
        doubt(f"the file says that the patient lies {said.lies}, which is none of {', '.join(images.POSITIONS)}: HFS is taken, pass position")
    return said.position or "HFS"


def doubt_scanner(scanner, isotope, map, scatter, doubt):
    if scanner.efficiencies is None:
        doubt("the file has no efficiencies of its crystals, so that they are taken to detect every photon: values are too small by the square of what they detect")
    if map is None:
        doubt("there is no map of attenuation: neither attenuation nor scatter is taken off")
    elif scatter:
        for missing, what, taken in ((not scanner.energy_resolution, "energy resolution", _RESOLUTION), (not scanner.energy_upper, "energy window", _WINDOW)):
            if missing:
                doubt(f"the file does not say its {what}, by which scatter is made: {taken} is taken, pass {what.replace(' ', '_')}")
    if isotope.name in _isotopes.REMARKS:
        doubt(f"{isotope.name} {_isotopes.REMARKS[isotope.name]}")


def doubt_header(said, scanner, doubt):
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


def _efficiencies(given, crystals):
    if isinstance(given, (str, os.PathLike)):
        try:
            given = numpy.load(given, allow_pickle=False)
        except (ValueError, EOFError) as e:
            raise wrong(ValueError, f"efficiencies of {given} are no NumPy file (.npy): {e}") from None
    values = numpy.asarray(given)
    if values.shape != (crystals,) or values.dtype.kind not in "fiu":
        raise wrong(ValueError, f"efficiencies are {values.dtype} of shape {values.shape}; they must be numbers, one for each of {crystals} crystals")
    if not numpy.isfinite(values).all() or (values < 0).any() or (values > 1).any():
        raise wrong(ValueError, f"efficiencies are {values.min():g} to {values.max():g}; they must be 0 to 1")
    return values.astype(float)


def _positive(value, name):
    if not value > 0 or not numpy.isfinite(value):
        raise wrong(ValueError, f"{name} is {value}; it must be above 0")
    return float(value)
