"""PETSIRD files: how the patient lies, and where the scanner stands to the CT."""
import re

import numpy

from ..errors import wrong

#: Codes of SNOMED CT and SRT, and words, of DICOM's CID 20 and 21.
_DOWN = {"S": ("40199007", "F-10340", "supine"), "P": ("1240000", "F-10310", "prone"),
         "DR": ("102535000", "F-10317", "right lateral decubitus"), "DL": ("102536004", "F-10319", "left lateral decubitus")}
_IN = {"HF": ("102540008", "F-10470", "headfirst", "head first"), "FF": ("102541007", "F-10480", "feet first", "feetfirst")}
#: A gantry that is turned by less, radians, is not: over 1 m that is 1 mm.
_TURNED = 1e-3


def position_of(header):
    """The patient's position, None where the header does not say all of it; and in words what it says."""
    said = getattr(header.exam, "patient_orientation", None) if header.exam else None
    if said is None:
        return None, ""
    gantry = getattr(said, "patient_gantry_relationship_code_sequence", None) or getattr(said, "patient_equipment_relationship_code_sequence", None)
    codes = [code for code in (gantry, said.patient_orientation_code_sequence, said.patient_orientation_modifier_code_sequence) if code is not None]
    words = ", ".join(filter(None, (code.code_meaning.strip() or code.code_value.strip() for code in codes)))
    enters, down = _which(_IN, codes), _which(_DOWN, codes)
    return (enters + down if enters and down else None), words


def alignment_of(header):
    """From the scanner to the reference of the file's gantry alignment, such as a CT: x, y, z, mm."""
    found = getattr(header.scanner, "gantry_alignment", None)
    if found is None:
        return numpy.zeros(3)
    matrix = numpy.asarray(found.matrix, float)
    if matrix.shape != (3, 4) or not numpy.isfinite(matrix).all():
        raise wrong(ValueError, "the file's gantry alignment is no matrix of 3 x 4 numbers")
    angle = float(numpy.linalg.norm(matrix[:, :3] - numpy.eye(3))) / 2 ** 0.5
    if angle > _TURNED:
        raise wrong(ValueError, f"the file's gantry alignment turns by {numpy.degrees(angle):.2g} degrees, and shifts alone can be applied: resample the map of attenuation to "
                                "the scanner's axes, and pass alignment=False (--no-alignment)")
    return matrix[:, 3]


def _which(table, codes):
    for code in codes:
        words = (code.code_value.strip(), re.sub("[^a-z]+", " ", code.code_meaning.lower()).strip())
        for name, known in table.items():
            if any(word in known for word in words if word):
                return name
    return None
