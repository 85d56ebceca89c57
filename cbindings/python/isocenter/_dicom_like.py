"""What a DICOM file of the same patient tells about a scan: patient, study and frame of reference, and of a PET image what was injected and when the scan began."""
import dataclasses
import datetime
import re

from ._dicom import pydicom_package
from .errors import wrong

#: Of the patient and the study, as they are. Those of the second are of type 2: they have to be there, and may be empty.
_OPTIONAL = ("IssuerOfPatientID", "PatientAge", "PatientSize", "PatientWeight", "StudyDescription")
_EMPTY = ("PatientName", "PatientID", "PatientBirthDate", "PatientSex", "StudyDate", "StudyTime", "StudyID", "AccessionNumber", "ReferringPhysicianName")
_MEGA = 1e6
#: Classes of PET images with one slice a file, old and converted ones, whose doses are in Bq; of others they are in MBq.
_IN_BECQUEREL = ("1.2.840.10008.5.1.4.1.1.128", "1.2.840.10008.5.1.4.1.1.128.1")


@dataclasses.dataclass
class Like:
    """What is known; None and "" of what is not.

    Attributes
    ----------
    elements : dict
        Of the patient and the study, by keywords.
    study, frame : str
        UIDs of the study and the frame of reference.
    indicator : str
        What the frame of reference refers to.
    modality : str
        "CT", "MR", "PT".
    acquired : datetime
        When a PET scan began.
    injected : datetime
        When the tracer was.
    dose : float
        Of it, MBq.
    route, tracer : dict
        Codes, by keywords.
    """
    elements: dict = dataclasses.field(default_factory=lambda: dict.fromkeys(_EMPTY, ""))
    study: str = ""
    frame: str = ""
    indicator: str = ""
    modality: str = ""
    acquired: datetime.datetime = None
    injected: datetime.datetime = None
    dose: float = None
    route: dict = None
    tracer: dict = None


def read(path):
    """A file's Like."""
    pydicom = pydicom_package()
    try:
        file = pydicom.dcmread(path, stop_before_pixels=True)
        return _like(file)
    except pydicom.errors.InvalidDicomError:
        raise wrong(ValueError, f"{path} is no DICOM file") from None
    except OSError:
        raise
    except Exception as e:  # whatever a damaged element makes the package raise
        raise wrong(ValueError, f"{path} cannot be read as DICOM ({type(e).__name__}: {e}): give another slice of it") from None


def _like(file):
    elements = {name: _text(file, name) for name in _EMPTY}
    elements.update({name: text for name in _OPTIONAL if (text := _text(file, name))})
    found = Like(elements, _text(file, "StudyInstanceUID"), _text(file, "FrameOfReferenceUID"), _text(file, "PositionReferenceIndicator"), _text(file, "Modality"))
    if found.modality == "PT":
        # Of one slice a file, the series has the time that activity is told at, and the slice its own, which may be later; some write the series' when it is stored.
        times = [moment(_text(file, "AcquisitionDateTime")), *(moment(_text(file, f"{of}Date") + _text(file, f"{of}Time")) for of in ("Series", "Acquisition"))]
        found.acquired = min(filter(None, times), default=None)
        for tracer in (file.get("RadiopharmaceuticalInformationSequence") or [])[:1]:
            _inject(found, file, tracer)
    return found


def _inject(found, file, tracer):
    found.injected = moment(_text(tracer, "RadiopharmaceuticalStartDateTime"))
    clock = _text(tracer, "RadiopharmaceuticalStartTime")
    if found.injected is None and clock and found.acquired:
        found.injected = moment(found.acquired.strftime("%Y%m%d") + clock)
        # Of an injection before midnight.
        if found.injected and found.injected > found.acquired:
            found.injected -= datetime.timedelta(days=1)
    dose = _text(tracer, "RadionuclideTotalDose")
    if dose and 0 < float(dose) < float("inf"):
        found.dose = float(dose) / (_MEGA if _text(file, "SOPClassUID") in _IN_BECQUEREL else 1)
    found.route, found.tracer = (_code(tracer, name) for name in ("AdministrationRouteCodeSequence", "RadiopharmaceuticalCodeSequence"))


def _code(file, name):
    for item in (file.get(name) or [])[:1]:
        code = {word: _text(item, word) for word in ("CodeValue", "CodingSchemeDesignator", "CodeMeaning")}
        return code if all(code.values()) else None
    return None


def _text(file, name):
    """An element's text, "" of one that is not there; of several values the first."""
    value = file.get(name)
    if value is not None and not isinstance(value, str) and hasattr(value, "__len__") and type(value).__name__ == "MultiValue":
        value = value[0] if len(value) else None
    return "" if value is None else str(value).strip("\0 ")


def moment(text):
    """Of DICOM's date and time, without its zone; None of one that is not whole."""
    found = re.match(r"(\d{8})(\d{2})(\d{2})?(\d{2})?(?:\.(\d{1,6}))?", text)
    if not found:
        return None
    day, hour, minute, second, part = found.groups()
    try:
        return datetime.datetime.strptime(f"{day}{hour}{minute or '00'}{second or '00'}{(part or '0').ljust(6, '0')}", "%Y%m%d%H%M%S%f")
    except ValueError:
        return None
