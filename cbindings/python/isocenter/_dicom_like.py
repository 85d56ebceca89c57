"""What a DICOM file of the same patient tells about a scan: patient, study and frame of reference, and of a PET image what was injected and when the scan began."""
import dataclasses
import datetime
import re
import warnings

from ._dicom import pydicom_package
from .errors import wrong

_TEXT, _SHORT, _NAME, _DATE = r"[^\x00-\x1f\\]{1,64}", r"[^\x00-\x1f\\]{1,16}", r"[^\x00-\x1f\\]{1,194}", r"\d{8}"
_UID = r"(0|[1-9]\d*)(\.(0|[1-9]\d*))+"
#: Of the patient and the study, and what DICOM takes for them. Those of the second are of type 2: they have to be there, and may be empty.
_OPTIONAL = {"IssuerOfPatientID": _TEXT, "PatientAge": r"\d{3}[DWMY]", "PatientSize": r"\d{1,3}(\.\d{1,12})?", "PatientWeight": r"\d{1,3}(\.\d{1,12})?", "StudyDescription": _TEXT}
_EMPTY = {"PatientName": _NAME, "PatientID": _TEXT, "PatientBirthDate": _DATE, "PatientSex": "[MFO]", "StudyDate": _DATE, "StudyTime": r"(\d\d){1,3}(\.\d{1,6})?", "StudyID": _SHORT,
          "AccessionNumber": _SHORT, "ReferringPhysicianName": _NAME}
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
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of elements that are of no use here
            found, strange = _like(pydicom.dcmread(path, stop_before_pixels=True))
    except pydicom.errors.InvalidDicomError:
        raise wrong(ValueError, f"{path} is no DICOM file") from None
    except OSError:
        raise
    except Exception as e:  # whatever a damaged element makes the package raise
        raise wrong(ValueError, f"{path} cannot be read as DICOM ({type(e).__name__}: {e}): give another slice of it") from None
    for name, text in (("StudyInstanceUID", found.study), ("FrameOfReferenceUID", found.frame)):
        if text and not (re.fullmatch(_UID, text) and len(text) <= 64):
            raise wrong(ValueError, f"{path} has {name} {text[:64]!r}, which is no UID: give another slice of it")
    for name in strange:
        warnings.warn(f"{path} has a {name} that DICOM does not allow: it is left out", stacklevel=3)
    return found


def _like(file):
    """What a file tells, and names of what is not as it has to be."""
    told = {name: _text(file, name) for name in (*_EMPTY, *_OPTIONAL, "PositionReferenceIndicator")}
    strange = [name for name, text in told.items() if text and not re.fullmatch({**_EMPTY, **_OPTIONAL}.get(name, _TEXT), text, re.ASCII)]
    told.update(dict.fromkeys(strange, ""))
    indicator = told.pop("PositionReferenceIndicator")
    elements = {name: text for name, text in told.items() if text or name in _EMPTY}
    found = Like(elements, _text(file, "StudyInstanceUID"), _text(file, "FrameOfReferenceUID"), indicator, _text(file, "Modality"))
    if found.modality == "PT":
        # Of one slice a file, the series has the time that activity is told at, and the slice its own, which may be later; some write the series' when it is stored.
        times = [moment(_text(file, "AcquisitionDateTime")), *(moment(_text(file, f"{of}Date") + _text(file, f"{of}Time")) for of in ("Series", "Acquisition"))]
        found.acquired = min(filter(None, times), default=None)
        for tracer in (file.get("RadiopharmaceuticalInformationSequence") or [])[:1]:
            _inject(found, file, tracer)
    return found, strange


def _inject(found, file, tracer):
    found.injected = moment(_text(tracer, "RadiopharmaceuticalStartDateTime"))
    clock = _text(tracer, "RadiopharmaceuticalStartTime")
    if found.injected is None and clock and found.acquired:
        found.injected = moment(f"{found.acquired.year:04d}{found.acquired:%m%d}{clock}")
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
        whole = all(re.fullmatch(pattern, text) for pattern, text in zip((_SHORT, _SHORT, _TEXT), code.values()))
        return code if whole else None
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
