"""PETSIRD files: what a header says of the scan besides the scanner's crystals."""
import re

import numpy

from .. import _isotopes
from ..errors import wrong
from ..lists._list import Said
from ._values import numbers

#: Codes of SNOMED CT and SRT, and words, of DICOM's CID 20 and 21.
_DOWN = {"S": ("40199007", "F-10340", "supine"), "P": ("1240000", "F-10310", "prone"),
         "DR": ("102535000", "F-10317", "right lateral decubitus"), "DL": ("102536004", "F-10319", "left lateral decubitus")}
_IN = {"HF": ("102540008", "F-10470", "headfirst", "head first"), "FF": ("102541007", "F-10480", "feet first", "feetfirst")}


def said_by(header):
    """What a header says."""
    alignment, efficiencies = getattr(header.scanner, "gantry_alignment", None), header.scanner.detection_efficiencies
    factor = float(numbers(getattr(efficiencies, "calibration_factor", 1.0), "calibration factor"))
    matrix = None if alignment is None else numbers(alignment.matrix, "gantry alignment")
    return Said(*_isotope(header), *_position(header), matrix, factor or 1.0)  # files without a factor have 0


def _isotope(header):
    """The isotope of a header and the name that it has there: None and "" of none, None and the name of one that is not known."""
    found = []
    for one in getattr(header.exam, "radiopharmaceuticals", None) or [] if header.exam else []:
        code = one.radionuclide_code_sequence
        name = code.code_meaning.strip() or code.code_value.strip()
        if name:
            found.append((_isotopes.known(code.code_meaning) or _isotopes.of_code(code.code_value), name))
    if not found:
        return None, ""
    if len({isotope or name for isotope, name in found}) > 1:
        return None, " and ".join(name for _, name in found)
    return found[0]


def _position(header):
    said = getattr(header.exam, "patient_orientation", None) if header.exam else None
    if said is None:
        return None, ""
    gantry = getattr(said, "patient_gantry_relationship_code_sequence", None) or getattr(said, "patient_equipment_relationship_code_sequence", None)
    codes = [code for code in (gantry, said.patient_orientation_code_sequence, said.patient_orientation_modifier_code_sequence) if code is not None]
    words = ", ".join(filter(None, (code.code_meaning.strip() or code.code_value.strip() for code in codes)))
    enters, down = _which(_IN, codes), _which(_DOWN, codes)
    return (enters + down if enters and down else None), words


def _which(table, codes):
    for code in codes:
        words = (code.code_value.strip(), re.sub("[^a-z]+", " ", code.code_meaning.lower()).strip())
        for name, known in table.items():
            if any(word in known for word in words if word):
                return name
    return None
