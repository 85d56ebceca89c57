"""Isotopes of PET."""
import collections
import re

from .errors import wrong

Isotope = collections.namedtuple("Isotope", "name half_life branching")
Isotope.__doc__ = """Its name, such as "F-18"; half-life in s; and the part of the decays that send positrons."""

#: Names of elements as DICOM has them, CID 4020.
ELEMENTS = {"C": "Carbon", "N": "Nitrogen", "O": "Oxygen", "F": "Fluorine", "Cu": "Copper", "Ga": "Gallium", "Rb": "Rubidium", "Zr": "Zirconium",
            "I": "Iodine"}

_MINUTE, _HOUR, _DAY = 60.0, 3600.0, 86400.0
#: After the Decay Data Evaluation Project, Laboratoire National Henri Becquerel, http://www.lnhb.fr/nuclear-data/nuclear-data-table/; M. Conti,
#: L. Eriksson, "Physics of pure and non-pure positron emitters for PET: a review and a discussion", EJNMMI Physics 3:8, 2016, has the same, rounded.
ISOTOPES = {isotope.name: isotope for isotope in (
    Isotope("C-11", 20.361 * _MINUTE, 0.9975), Isotope("N-13", 9.967 * _MINUTE, 0.9982), Isotope("O-15", 122.4, 0.9989),
    Isotope("F-18", 1.8289 * _HOUR, 0.9686), Isotope("Cu-64", 12.700 * _HOUR, 0.175), Isotope("Ga-68", 67.83 * _MINUTE, 0.889),
    Isotope("Rb-82", 75.5, 0.954), Isotope("Zr-89", 78.42 * _HOUR, 0.228), Isotope("I-124", 4.176 * _DAY, 0.227))}
#: Which send other photons together with the positron, so that coincidences with these are counted, too.
WITH_PROMPT_GAMMAS = ("Rb-82", "I-124")


def find(name):
    """The isotope of a name: F-18, F18, 18F, of any case."""
    word = re.sub(r"[^0-9A-Za-z]", "", str(name))
    letters, digits = re.sub("[0-9]", "", word).capitalize(), re.sub("[^0-9]", "", word)
    found = ISOTOPES.get(f"{letters}-{digits}")
    if found is None:
        raise wrong(ValueError, f"isotope is {name!r}; it must be one of {', '.join(ISOTOPES)}, or give half_life and branching")
    return found


def of_dicom(meaning):
    """The name of DICOM's ^18^Fluorine, None where that is no isotope of the table."""
    mass, _, element = meaning.strip().lstrip("^").partition("^")
    symbols = {word: symbol for symbol, word in ELEMENTS.items()}
    name = f"{symbols.get(element)}-{mass}"
    return name if name in ISOTOPES else None
