"""Isotopes of PET."""
import collections
import re

from .errors import wrong

Isotope = collections.namedtuple("Isotope", "name half_life branching")
Isotope.__doc__ = """Its name, such as "F-18"; half-life in s; and the part of the decays that send positrons."""

#: Names of elements as DICOM has them, CID 4020.
ELEMENTS = {"C": "Carbon", "N": "Nitrogen", "O": "Oxygen", "F": "Fluorine", "Na": "Sodium", "K": "Potassium", "Sc": "Scandium", "Ti": "Titanium",
            "Mn": "Manganese", "Fe": "Iron", "Co": "Cobalt", "Cu": "Copper", "Zn": "Zinc", "Ga": "Gallium", "Ge": "Germanium", "As": "Arsenic",
            "Se": "Selenium", "Br": "Bromine", "Rb": "Rubidium", "Y": "Yttrium", "Zr": "Zirconium", "Nb": "Niobium", "Tc": "Technetium",
            "I": "Iodine", "La": "Lanthanum", "Tb": "Terbium"}

_MINUTE, _HOUR, _DAY, _YEAR = 60.0, 3600.0, 86400.0, 365.2422 * 86400.0
#: Half-lives, positrons a decay, and the codes of DICOM's CID 4020 (SNOMED CT and DICOM's own; "" of those that it does not have).
#:
#: Of C-11, N-13, O-15, F-18, Cu-64, Ga-68, Rb-82, Zr-89 and I-124 after the Decay Data Evaluation Project, Laboratoire National Henri Becquerel,
#: http://www.lnhb.fr/nuclear-data/nuclear-data-table/; M. Conti, L. Eriksson, EJNMMI Physics 3:8, 2016, have the same, rounded. The others after the Evaluated Nuclear
#: Structure Data File, National Nuclear Data Center, https://www.nndc.bnl.gov/ensdf/ (sums over all levels, as of 2024), from which positrons of
#: ICRP Publication 107 (2008) differ by 4 % at most. Ge-68 sends none: they are of Ga-68 in equilibrium with it. Pairs of Y-90: R. G. Selwyn et al.,
#: Applied Radiation and Isotopes 65, 318, 2007.
_TABLE = (
    ("C-11", 20.361 * _MINUTE, 0.9975, "40565003"), ("N-13", 9.967 * _MINUTE, 0.9982, "21576001"), ("O-14", 70.606, 0.9988, "424875009"),
    ("O-15", 122.4, 0.9989, "129504001"), ("F-18", 1.8289 * _HOUR, 0.9686, "77004003"), ("Na-22", 2.6018 * _YEAR, 0.8996, "71633006"),
    ("K-38", 7.651 * _MINUTE, 0.9960, "423764008"), ("Sc-43", 3.891 * _HOUR, 0.8810, "126605"), ("Sc-44", 4.042 * _HOUR, 0.9428, "126600"),
    ("Ti-45", 184.8 * _MINUTE, 0.8482, "75696008"), ("Mn-51", 46.2 * _MINUTE, 0.9709, "126601"), ("Mn-52", 5.591 * _DAY, 0.2940, "37225000"),
    ("Mn-52m", 21.1 * _MINUTE, 0.9657, "126607"), ("Fe-52", 8.275 * _HOUR, 0.5549, "69089000"), ("Co-55", 17.53 * _HOUR, 0.7590, ""),
    ("Cu-60", 23.7 * _MINUTE, 0.9260, "425364008"), ("Cu-61", 3.336 * _HOUR, 0.6143, "71425003"), ("Cu-62", 9.67 * _MINUTE, 0.9783, "422934004"),
    ("Zn-62", 9.193 * _HOUR, 0.0820, "65054007"), ("Zn-63", 38.47 * _MINUTE, 0.9274, ""), ("Cu-64", 12.700 * _HOUR, 0.175, "3932008"),
    ("Ga-66", 9.49 * _HOUR, 0.5681, "79477007"), ("Ga-68", 67.83 * _MINUTE, 0.889, "35337001"), ("Ge-68", 270.95 * _DAY, 0.889, "53315004"),
    ("As-70", 52.6 * _MINUTE, 0.9079, "126602"), ("As-72", 26.0 * _HOUR, 0.8785, "2705002"), ("As-74", 17.77 * _DAY, 0.2902, ""),
    ("Se-73", 7.15 * _HOUR, 0.6459, "87437000"), ("Br-75", 96.7 * _MINUTE, 0.7462, "17910003"), ("Br-76", 16.2 * _HOUR, 0.5561, "79523006"),
    ("Br-77", 57.04 * _HOUR, 0.0073, "86521004"), ("Rb-82", 75.5, 0.954, "79197006"), ("Y-86", 14.74 * _HOUR, 0.3195, "10738001"),
    ("Y-90", 64.05 * _HOUR, 3.186e-5, "14691008"), ("Zr-89", 78.42 * _HOUR, 0.228, "63360001"), ("Nb-90", 14.6 * _HOUR, 0.5505, "126603"),
    ("Tc-94m", 52.0 * _MINUTE, 0.7015, "424079002"), ("I-120", 81.6 * _MINUTE, 0.6830, ""), ("I-124", 4.176 * _DAY, 0.227, "40937006"),
    ("La-133", 3.912 * _HOUR, 0.0719, ""), ("Tb-152", 17.5 * _HOUR, 0.2027, "126606"))

ISOTOPES = {name: Isotope(name, half_life, branching) for name, half_life, branching, _ in _TABLE}
_CODES = {code: name for name, _, _, code in _TABLE if code}

_GAMMAS = "sends other photons together with positrons: coincidences with them are counted as scatter or activity"
#: What makes values of some doubtful. The first have photons above 400 keV in a tenth of the decays or more, at the time of a positron.
REMARKS = {**dict.fromkeys(("O-14", "Na-22", "K-38", "Sc-44", "Mn-52", "Mn-52m", "Co-55", "Cu-60", "Cu-61", "Ga-66", "As-70", "As-72", "As-74", "Br-76", "Rb-82", "Nb-90",
                            "Tc-94m", "I-120", "I-124", "Tb-152"), _GAMMAS),
           "Y-86": _GAMMAS + "; of its positrons values from 0.27 to 0.32 a decay are published",
           "Fe-52": "decays to Mn-52m, whose positrons are not in its branching: pass branching if they are in the scan",
           "Zn-62": "decays to Cu-62, whose positrons are not in its branching: pass branching if they are in the scan",
           "Ge-68": "has the branching of Ga-68 in equilibrium with it, as in sealed sources"}


def find(name):
    """The isotope of a name."""
    found = known(name)
    if found is None:
        raise wrong(ValueError, f"isotope is {name!r}; it must be one of {', '.join(ISOTOPES)}, or give half_life and branching")
    return found


def known(name):
    """The isotope of a name in any spelling: F-18, F18, 18F, [18F]FDG, ^18^Fluorine, Fluorine-18, Tc-94m, 94mTc; None of one that is not in the table, or of several."""
    text = str(name)
    elements = {word.lower(): symbol for symbol, meaning in ELEMENTS.items() for word in (symbol, meaning)}
    words = [word.lower() for word in re.findall("[A-Za-z]+", text)]
    # Of 94mTc the letters are mTc.
    words += [word[1:] for word in words if word[0] == "m"]
    symbols = {elements[word] for word in words if word in elements}
    masses = {mass + "m" * bool(re.match("m(?![a-z])", rest)) for mass, rest in re.findall(r"(\d+)([A-Za-z]*)", text)}
    # Letters of 94mtc and tc94m.
    masses |= {mass + "m" for mass, rest in re.findall(r"(\d+)\^?m([a-z]*)", text.lower()) if rest in elements and "m" + rest not in elements}
    found = {made for symbol in symbols for mass in masses if (made := f"{symbol}-{mass}") in ISOTOPES}
    if len(found) > 1:  # Tc-94 and Tc-94m of one text
        found = {made for made in found if made.endswith("m")} or found
    return ISOTOPES[found.pop()] if len(found) == 1 else None


def of_code(value):
    """The isotope of a code of DICOM's CID 4020, None of another."""
    return ISOTOPES.get(_CODES.get(str(value).strip()))


def code(name):
    """The code of an isotope in DICOM's CID 4020, "" of one that it does not have."""
    return next((code for own, _, _, code in _TABLE if own == name), "")
