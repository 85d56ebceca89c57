"""DICOM files of images, with their place in the patient."""
import datetime
import os

import numpy

from .._dicom import MOST, decimal, pydicom_package, save
from ..errors import wrong

# Of type 2: they may be empty, and have to be there.
EMPTY = ("PatientName", "PatientID", "PatientBirthDate", "PatientSex", "AccessionNumber", "ReferringPhysicianName", "StudyID", "PositionReferenceIndicator",
         "ScanOptions", "EchoTime", "EchoTrainLength", "RepetitionTime")


def write_dicom(path, made, **elements):
    """Writes magnitudes as DICOM files, one an image (MR Image Storage), all of one series: unsigned integers of 16 bits, and the slope to their
    values, the same for all.

    Parameters
    ----------
    path : path
        NAME.dcm; several files are NAME_0001.dcm and so on, slice by slice of each frame.
    made : Reconstruction
    elements
        Of all files, by DICOM's keywords: ``PatientName="Doe^Jane"``, ``StudyInstanceUID=...``, in place of those that are made here, and beside them.

    Returns
    -------
    list of str
        The paths.

    Raises
    ------
    ImportError
        Without the package pydicom: ``pip install isocenter[dicom]``.
    ValueError
        Where the scan knows no directions, which DICOM needs; and for a keyword that DICOM does not have.
    """
    pydicom = pydicom_package()
    text = os.fspath(path)
    if not text.endswith(".dcm"):
        raise wrong(ValueError, f"path is {text}; it must end in .dcm")
    unknown = [name for name in elements if pydicom.datadict.tag_for_keyword(name) is None]
    if unknown:
        raise wrong(ValueError, f"{unknown[0]} is no keyword of DICOM's, such as PatientName")
    if (numpy.abs(numpy.linalg.det(made.affines[..., :3, :3])) == 0).any():
        raise wrong(ValueError, "the scan knows no directions (read_dir, phase_dir and slice_dir of its acquisitions), which DICOM needs: write NIfTI, or NumPy arrays")
    values = numpy.abs(made.images)
    slope = float(values.max()) / MOST or 1.0
    common = _common(pydicom, made, slope)
    places = [(f, z) for f in range(values.shape[0]) for z in range(values.shape[1])]
    paths = [text] if len(places) == 1 else [f"{text[:-4]}_{number:04d}.dcm" for number in range(1, len(places) + 1)]
    for number, ((f, z), name) in enumerate(zip(places, paths), 1):
        image = {**common, **_place(made, f, z), "InstanceNumber": number, "SOPInstanceUID": pydicom.uid.generate_uid(), **elements}
        stored = numpy.rint(values[f, z] / slope).astype("<u2")
        image.update(Rows=stored.shape[0], Columns=stored.shape[1], PixelData=stored.tobytes())
        save(name, image)
    return paths


def _common(pydicom, made, slope):
    now = datetime.datetime.now()
    day, time = now.strftime("%Y%m%d"), now.strftime("%H%M%S")
    volume = made.affines.shape[1] != made.images.shape[1]
    return {
        **dict.fromkeys(EMPTY, ""), "SOPClassUID": pydicom.uid.MRImageStorage, "Modality": "MR", "Manufacturer": "isocenter", "ImageType": ["ORIGINAL", "PRIMARY", "M"],
        "StudyInstanceUID": pydicom.uid.generate_uid(), "SeriesInstanceUID": pydicom.uid.generate_uid(), "FrameOfReferenceUID": pydicom.uid.generate_uid(),
        "StudyDate": day, "StudyTime": time, "ContentDate": day, "ContentTime": time, "SeriesNumber": 1,
        "ScanningSequence": "RM", "SequenceVariant": "NONE", "MRAcquisitionType": "3D" if volume else "2D",
        "SamplesPerPixel": 1, "PhotometricInterpretation": "MONOCHROME2", "BitsAllocated": 16, "BitsStored": 16, "HighBit": 15, "PixelRepresentation": 0,
        "RescaleSlope": decimal(slope), "RescaleIntercept": "0", "RescaleType": "US", "WindowCenter": decimal(slope * MOST / 2), "WindowWidth": decimal(slope * MOST),
    }


def _place(made, f, z):
    """Of one image: where its first pixel is, and where rows and columns go, towards left, back and head."""
    volume = made.affines.shape[1] != made.images.shape[1]
    affine = made.affines[f, 0 if volume else z]
    sides = numpy.linalg.norm(affine[:3, :3], axis=0)
    first = affine @ [0, 0, z if volume else 0, 1]
    return {
        "ImagePositionPatient": [decimal(v) for v in first[:3]], "ImageOrientationPatient": [decimal(v) for v in (affine[:3, :2] / sides[:2]).T.ravel()],
        "PixelSpacing": [decimal(sides[1]), decimal(sides[0])], "SliceThickness": decimal(sides[2]), "SpacingBetweenSlices": decimal(made.voxel[0]),
        "EchoNumbers": made.frames[f].get("contrast", 0) + 1, "TemporalPositionIdentifier": f + 1, "NumberOfTemporalPositions": len(made.frames),
    }
