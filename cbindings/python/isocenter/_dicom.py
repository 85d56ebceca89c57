"""DICOM files by the package pydicom."""
import numpy

from .errors import wrong

MOST = 0xffff  # of 16 bits


def pydicom_package():
    try:
        import pydicom
    except ImportError as e:
        raise wrong(ImportError, f"DICOM files need the package pydicom ({e}): pip install isocenter[dicom], or pip install pydicom") from e
    return pydicom


def decimal(value):
    """A decimal string, of 16 characters at most."""
    value = float(value) + 0.0  # not -0
    return next(text for digits in range(12, 0, -1) if len(text := f"{value:.{digits}g}") <= 16)


def save(path, elements):
    """Writes a file of elements by their keywords; those of sequences are lists of such dictionaries, and NumPy's integers of 16 bits are of their type where DICOM has a choice."""
    pydicom = pydicom_package()
    meta = pydicom.dataset.FileMetaDataset()
    meta.MediaStorageSOPClassUID, meta.MediaStorageSOPInstanceUID = elements["SOPClassUID"], elements["SOPInstanceUID"]
    meta.TransferSyntaxUID = pydicom.uid.ExplicitVRLittleEndian
    file = pydicom.dataset.FileDataset(path, {}, file_meta=meta, preamble=b"\0" * 128)
    _fill(pydicom, file, elements)
    file["PixelData"].VR = "OW"
    if hasattr(pydicom, "dcmwrite") and int(pydicom.__version__.split(".")[0]) >= 3:
        file.save_as(path, enforce_file_format=True)
    else:
        file.is_little_endian, file.is_implicit_VR = True, False
        file.save_as(path, write_like_original=False)


def _fill(pydicom, dataset, elements):
    for name, value in elements.items():
        if isinstance(value, (numpy.uint16, numpy.int16)):
            dataset.add_new(pydicom.datadict.tag_for_keyword(name), "US" if isinstance(value, numpy.uint16) else "SS", int(value))
        elif isinstance(value, list) and all(isinstance(item, dict) for item in value):
            made = [pydicom.Dataset() for _ in value]
            for item, parts in zip(made, value):
                _fill(pydicom, item, parts)
            setattr(dataset, name, made)
        else:
            setattr(dataset, name, value)
