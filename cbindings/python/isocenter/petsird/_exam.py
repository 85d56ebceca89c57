"""PETSIRD files: what a header says of the scan besides the scanner's crystals."""
import collections
import re

import numpy

from .. import _isotopes
from ..errors import wrong
from ._values import numbers

#: Codes of SNOMED CT and SRT, and words, of DICOM's CID 20 and 21.
_DOWN = {"S": ("40199007", "F-10340", "supine"), "P": ("1240000", "F-10310", "prone"),
         "DR": ("102535000", "F-10317", "right lateral decubitus"), "DL": ("102536004", "F-10319", "left lateral decubitus")}
_IN = {"HF": ("102540008", "F-10470", "headfirst", "head first"), "FF": ("102541007", "F-10480", "feet first", "feetfirst")}
#: A gantry that is turned by less, radians, is not: over 1 m that is 1 mm.
_TURNED = 1e-3


Said = collections.namedtuple("Said", "isotope nuclide position lies alignment calibration")
Said.__doc__ = """`isotope`, None of none or one that is not known, and `nuclide`, its name in the file; `position` of the patient, None where the file does not say all
of it, and in words how the patient `lies`; `alignment` (3, 4) from the scanner to a reference, such as a CT, None of none; and the factor of `calibration`, 1 of none."""


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


def shift(alignment):
    """From the scanner to the reference of the file's gantry alignment: x, y, z, mm."""
    if alignment is None:
        return numpy.zeros(3)
    if alignment.shape != (3, 4):
        raise wrong(ValueError, f"the file's gantry alignment has shape {alignment.shape}; it must be (3, 4)")
    angle = float(numpy.linalg.norm(alignment[:, :3] - numpy.eye(3))) / 2 ** 0.5
    if angle > _TURNED:
        raise wrong(ValueError, f"the file's gantry alignment turns by {numpy.degrees(angle):.2g} degrees, and shifts alone can be applied: resample the map of attenuation to "
                                "the scanner's axes, and pass alignment=False (--no-alignment)")
    return alignment[:, 3]


def _which(table, codes):
    for code in codes:
        words = (code.code_value.strip(), re.sub("[^a-z]+", " ", code.code_meaning.lower()).strip())
        for name, known in table.items():
            if any(word in known for word in words if word):
                return name
    return None
