"""DICOM's Enhanced PET images: PS3.3, A.56 and C.8.22."""
import datetime
import uuid

import numpy

from . import _isotopes
from ._dicom import MOST, decimal
from ._dicom_like import Like

SOP_CLASS = "1.2.840.10008.5.1.4.1.1.130"
#: What images may be corrected for, by the words that `isocenter.images.write_dicom` takes.
CORRECTIONS = {"attenuation": "AttenuationCorrected", "calibration": "SensitivityCalibrated", "dead time": "DeadTimeCorrected", "decay": "DecayCorrected",
               "motion": "PatientMotionCorrected", "normalization": "DetectorNormalizationCorrection", "randoms": "RandomsCorrected", "scatter": "ScatterCorrected"}
#: When scans begin of which it is not known.
UNKNOWN_START = datetime.datetime(1900, 1, 1)
#: Pixels of a file, in bytes: DICOM has 32 bits for their length, and no odd one.
LARGEST = (1 << 32) - 2
_COUNT = (1 << 31) - 1
_UNKNOWN = {"CodeValue": "261665006", "CodingSchemeDesignator": "SCT", "CodeMeaning": "Unknown"}
_INTRAVENOUS = {"CodeValue": "47625008", "CodingSchemeDesignator": "SCT", "CodeMeaning": "Intravenous route"}
_UNIT = {"CodeValue": "Bq/ml", "CodingSchemeDesignator": "UCUM", "CodeMeaning": "Becquerels/milliliter"}
_ENTIRE_BODY = {"CodeValue": "38266002", "CodingSchemeDesignator": "SCT", "CodeMeaning": "Entire body"}
_TRANSVERSE = {"CodeValue": "62824007", "CodingSchemeDesignator": "SCT", "CodeMeaning": "Transverse"}
#: Groups of elements that dimensions are in, and these: group and element.
_DIMENSIONS = (((0x0020, 0x9056), "Stack"), ((0x0020, 0x9128), "Temporal position"), ((0x0020, 0x9057), "Position in stack"))
_FRAME_CONTENT = (0x0020, 0x9111)


def uid():
    return f"2.25.{uuid.uuid4().int}"


def scaled(images):
    """Stored integers and slopes of images (frames, nz, ny, nx): of 16 bits, signed ones if any value is below 0. Slopes are as the 16 characters hold them that DICOM has for them."""
    signed = bool((images < 0).any())
    most, dtype = (MOST >> 1, "<i2") if signed else (MOST, "<u2")
    slopes, stored = [], numpy.empty(images.shape, dtype)
    for made, image in zip(stored, images):
        largest = float(numpy.abs(image).max())
        slopes.append(float(decimal(largest / most)) if largest else 1.0)
        made[...] = numpy.rint(image.astype(numpy.float64) / slopes[-1])
    return stored, slopes


def elements(stored, slopes, geometry, about, like=None):
    """All elements of a file, by keywords, of `scaled` images, what `dicom_geometry` tells of them, and what `isocenter.images.write_dicom` takes besides."""
    like, now = like or Like(), datetime.datetime.now()
    start = about["acquired"] or UNKNOWN_START
    kind = ["ORIGINAL", "PRIMARY", "DYNAMIC" if about["is_series"] else "STATIC", "NONE"]
    organization = uid()
    last = max(s + d for s, d in zip(about["starts"], about["durations"]))
    return {
        "SpecificCharacterSet": "ISO_IR 192", "SOPClassUID": SOP_CLASS, "SOPInstanceUID": uid(), "ImageType": kind, **_description(),
        **like.elements, "StudyInstanceUID": like.study or uid(), "SeriesInstanceUID": uid(), "FrameOfReferenceUID": like.frame or uid(),
        "PositionReferenceIndicator": like.indicator, "Modality": "PT", "PatientPosition": geometry["PatientPosition"], "SeriesNumber": 1, "InstanceNumber": 1,
        "SeriesDescription": about["description"], "Manufacturer": "Isocenter", "ManufacturerModelName": about["scanner"] or "unknown scanner", "DeviceSerialNumber": "unknown",
        "SoftwareVersions": about["version"], "ContentDate": now.strftime("%Y%m%d"), "ContentTime": now.strftime("%H%M%S.%f"),
        "AcquisitionDateTime": stamp(start + seconds(min(about["starts"]))), "AcquisitionDuration": float(last - min(about["starts"])), "AcquisitionContextSequence": [],
        "ContentQualification": "RESEARCH", "BurnedInAnnotation": "NO", "LossyImageCompression": "00", "PresentationLUTShape": "IDENTITY",
        **_acquisition(about), **_corrections(start, about, like), "RadiopharmaceuticalInformationSequence": [_tracer(start, about, like)],
        "DimensionOrganizationSequence": [{"DimensionOrganizationUID": organization}], "DimensionOrganizationType": "3D_TEMPORAL" if about["is_series"] else "3D",
        "DimensionIndexSequence": [{"DimensionOrganizationUID": organization, "DimensionIndexPointer": (tag[0] << 16) + tag[1],
                                    "FunctionalGroupPointer": (_FRAME_CONTENT[0] << 16) + _FRAME_CONTENT[1], "DimensionDescriptionLabel": label} for tag, label in _DIMENSIONS],
        "SamplesPerPixel": 1, "PhotometricInterpretation": "MONOCHROME2", "NumberOfFrames": stored.shape[0] * stored.shape[1], "Rows": geometry["Rows"], "Columns": geometry["Columns"],
        "BitsAllocated": 16, "BitsStored": 16, "HighBit": 15, "PixelRepresentation": int(stored.dtype.kind == "i"),
        "SharedFunctionalGroupsSequence": [_shared(stored, slopes, geometry, about, kind)],
        "PerFrameFunctionalGroupsSequence": [_frame(k, z, slopes[k], stored.dtype.type, geometry, start, about) for k in range(stored.shape[0]) for z in range(stored.shape[1])],
        "PixelData": stored.tobytes()}


def stamp(moment):
    """DICOM's date and time."""
    return f"{moment.year:04d}" + moment.strftime("%m%d%H%M%S.%f")


def seconds(value):
    return datetime.timedelta(seconds=float(value))


def _description():
    return {"PixelPresentation": "MONOCHROME", "VolumetricProperties": "VOLUME", "VolumeBasedCalculationTechnique": "NONE"}


def _acquisition(about):
    """Of a scanner that stands still, and of which sizes and windows are 0 where they are not known."""
    lower, upper = about["energy_window"]
    return {"AcquisitionStartCondition": "MANU", "AcquisitionTerminationCondition": "MANU", "TypeOfDetectorMotion": "STATIONARY", "DetectorGeometry": "CYLINDRICAL_RING",
            "TransverseDetectorSeparation": 0.0, "AxialDetectorDimension": 0.0, "CollimatorType": "NONE", "CoincidenceWindowWidth": "0", "TableMotion": "STATIC",
            "EnergyWindowRangeSequence": [{"EnergyWindowLowerLimit": decimal(lower), "EnergyWindowUpperLimit": decimal(upper)}],
            "TimeOfFlightInformationUsed": "TRUE" if about["time_of_flight"] else "FALSE", "ViewCodeSequence": [{**_TRANSVERSE, "ViewModifierCodeSequence": []}]}


def _corrections(start, about, like):
    made = {keyword: "YES" if name in about["corrections"] else "NO" for name, keyword in CORRECTIONS.items()}
    made.update(CountsSource="EMISSION", GantryMotionCorrected="NO", CountLossNormalizationCorrected="NO", NonUniformRadialSamplingCorrected="YES")
    if "decay" in about["corrections"]:
        made["DecayCorrectionDateTime"] = stamp(start - seconds(about["delay"]))
    if "attenuation" in about["corrections"]:
        made.update(AttenuationCorrectionSource=like.modality if like.modality in ("CT", "MR") else "UNKNOWN", AttenuationCorrectionTemporalRelationship="SEPARATE")
    if "randoms" in about["corrections"]:
        made["RandomsCorrectionMethod"] = "SING"
    if "scatter" in about["corrections"]:
        made["ScatterCorrectionMethod"] = "Single scatter simulation"
    return made


def _tracer(start, about, like):
    isotope = about["isotope"]
    return {"RadiopharmaceuticalAgentNumber": 1, "RadionuclideCodeSequence": [_radionuclide(isotope.name)],
            "AdministrationRouteCodeSequence": [like.route or _INTRAVENOUS], "RadiopharmaceuticalCodeSequence": [like.tracer or _UNKNOWN],
            "RadiopharmaceuticalStartDateTime": stamp(like.injected or start - seconds(about["delay"])), "RadionuclideTotalDose": "" if like.dose is None else decimal(like.dose),
            "RadionuclideHalfLife": decimal(isotope.half_life), "RadionuclidePositronFraction": decimal(isotope.branching)}


def _radionuclide(name):
    """Its code: SNOMED CT's, DICOM's own, which have 6 digits, or one of ours, its name."""
    symbol, _, mass = name.partition("-")
    code = _isotopes.code(name)
    meaning = f"^{mass}^{_isotopes.ELEMENTS[symbol]}" if symbol in _isotopes.ELEMENTS else name
    return {"CodeValue": code or name[:16], "CodingSchemeDesignator": ("DCM" if len(code) == 6 else "SCT") if code else "99ISOCENTER", "CodeMeaning": meaning[:64]} if name else _UNKNOWN


def _shared(stored, slopes, geometry, about, kind):
    largest = max(float(slope * numpy.abs(image.astype(numpy.int32)).max()) for slope, image in zip(slopes, stored))
    lowest = -largest if stored.dtype.kind == "i" else 0.0
    wide, high = geometry["Columns"] * geometry["PixelSpacing"][1], geometry["Rows"] * geometry["PixelSpacing"][0]
    made = {
        "PixelMeasuresSequence": [{"PixelSpacing": [decimal(v) for v in geometry["PixelSpacing"]], "SliceThickness": decimal(geometry["SliceThickness"]),
                                   "SpacingBetweenSlices": decimal(geometry["SliceThickness"])}],
        "PlaneOrientationSequence": [{"ImageOrientationPatient": [decimal(v) for v in geometry["ImageOrientationPatient"]]}],
        "FrameAnatomySequence": [{"AnatomicRegionSequence": [_ENTIRE_BODY], "FrameLaterality": "U"}],
        # DICOM has no windows narrower than 1.
        "FrameVOILUTSequence": [{"WindowCenter": decimal((lowest + largest) / 2), "WindowWidth": decimal(max(largest - lowest, 1.0))}],
        "RadiopharmaceuticalUsageSequence": [{"RadiopharmaceuticalAgentNumber": 1}],
        "PETFrameTypeSequence": [{"FrameType": kind, **_description()}],
        "PETFrameAcquisitionSequence": [{"TableHeight": "0", "GantryDetectorTilt": "0", "GantryDetectorSlew": "0", "DataCollectionDiameter": decimal(min(wide, high))}],
        "PETPositionSequence": [{"TablePosition": 0.0, "DataCollectionCenterPatient": [0.0, 0.0, 0.0], "ReconstructionTargetCenterPatient": _centre(geometry)}]}
    if not about["is_series"]:
        made.update(_values(slopes[0], stored.dtype.type))
    return made


def _centre(geometry):
    """Of the image, from its first and last slice's first pixel."""
    rows, columns = numpy.reshape(geometry["ImageOrientationPatient"], (2, 3)), (geometry["Columns"], geometry["Rows"])
    sides = geometry["PixelSpacing"][::-1]
    half = sum((n - 1) / 2 * side * axis for n, side, axis in zip(columns, sides, rows))
    return [float(v) + 0.0 for v in geometry["ImagePositionPatient"][[0, -1]].mean(axis=0) + half]


def _values(slope, dtype):
    """From stored integers to Bq/ml, in both of the ways that readers look for."""
    limits = numpy.iinfo(dtype)
    return {"PixelValueTransformationSequence": [{"RescaleIntercept": "0", "RescaleSlope": decimal(slope), "RescaleType": "BQML"}],
            "RealWorldValueMappingSequence": [{"RealWorldValueFirstValueMapped": dtype(limits.min), "RealWorldValueLastValueMapped": dtype(limits.max), "RealWorldValueIntercept": 0.0,
                                               "RealWorldValueSlope": slope, "LUTExplanation": "Activity", "LUTLabel": "BQML", "MeasurementUnitsCodeSequence": [_UNIT]}]}


def _factors(k, about):
    made = {"PrimaryPromptsCountsAccumulated": min(int(about["prompts"][k]), _COUNT), "SliceSensitivityFactor": "1", "ScatterFractionFactor": decimal(about["scatters"][k]),
            "DeadTimeFactor": decimal(1 / about["lives"][k])}
    return {**made, "DecayFactor": decimal(about["decays"][k])} if "decay" in about["corrections"] else made


def _frame(k, z, slope, dtype, geometry, start, about):
    begins, lasts = about["starts"][k], about["durations"][k]
    content = {"FrameAcquisitionDateTime": stamp(start + seconds(begins)), "FrameReferenceDateTime": stamp(start + seconds(begins + lasts / 2)),
               "FrameAcquisitionDuration": 1000 * float(lasts), "StackID": "1", "InStackPositionNumber": z + 1, "TemporalPositionIndex": k + 1,
               "DimensionIndexValues": [1, k + 1, z + 1], "FrameLabel": about["labels"][k]}
    made = {"FrameContentSequence": [content], "PlanePositionSequence": [{"ImagePositionPatient": [decimal(v) for v in geometry["ImagePositionPatient"][z]]}],
            "PETFrameCorrectionFactorsSequence": [_factors(k, about)],
            "PETReconstructionSequence": [{"ReconstructionType": "3D", "ReconstructionAlgorithm": about["algorithm"], "IterativeReconstructionMethod": "YES",
                                           "NumberOfIterations": int(about["iterations"][k]), "NumberOfSubsets": 1,
                                           "ReconstructionFieldOfView": [n * side for n, side in zip((geometry["Columns"], geometry["Rows"]), geometry["PixelSpacing"][::-1])]}]}
    if about["is_series"]:
        made.update(_values(slope, dtype))
    return made
