"""Images of PET as DICOM files."""
import datetime
import os
import sys
import unittest
import warnings
from unittest import mock

import numpy as np
from test_images import CENTRE, DIRECTIONS, RIGHT_FRONT_HEAD, VOXEL, Folder

from isocenter.images import POSITIONS, write_dicom
from isocenter.lists import ISOTOPES, Found, Quantified

try:
    import pydicom
except ImportError:
    pydicom = None

START = "2026-11-30T10:15:00"
# Elements of type 1 and 2, and those that an original image needs, of the modules of PS3.3 A.56, and of its macros.
MODULES = """PatientName PatientID PatientBirthDate PatientSex StudyInstanceUID StudyDate StudyTime ReferringPhysicianName StudyID AccessionNumber Modality SeriesInstanceUID SeriesNumber
FrameOfReferenceUID PositionReferenceIndicator Manufacturer ManufacturerModelName DeviceSerialNumber SoftwareVersions SamplesPerPixel PhotometricInterpretation Rows Columns BitsAllocated BitsStored
HighBit PixelRepresentation PixelData AcquisitionContextSequence SharedFunctionalGroupsSequence PerFrameFunctionalGroupsSequence InstanceNumber ContentDate ContentTime NumberOfFrames
DimensionOrganizationSequence DimensionIndexSequence RadiopharmaceuticalInformationSequence AcquisitionStartCondition AcquisitionTerminationCondition TypeOfDetectorMotion DetectorGeometry
TransverseDetectorSeparation AxialDetectorDimension CollimatorType CoincidenceWindowWidth EnergyWindowRangeSequence TableMotion TimeOfFlightInformationUsed ViewCodeSequence ImageType PixelPresentation
VolumetricProperties VolumeBasedCalculationTechnique AcquisitionDateTime AcquisitionDuration CountsSource DecayCorrected AttenuationCorrected ScatterCorrected DeadTimeCorrected GantryMotionCorrected
PatientMotionCorrected CountLossNormalizationCorrected RandomsCorrected NonUniformRadialSamplingCorrected SensitivityCalibrated DetectorNormalizationCorrection ContentQualification BurnedInAnnotation
LossyImageCompression PresentationLUTShape SOPClassUID SOPInstanceUID SpecificCharacterSet""".split()
TRACER = """RadiopharmaceuticalAgentNumber RadionuclideCodeSequence AdministrationRouteCodeSequence RadiopharmaceuticalStartDateTime RadionuclideTotalDose RadionuclideHalfLife RadionuclidePositronFraction
RadiopharmaceuticalCodeSequence""".split()
MACROS = {
    "PixelMeasures": "PixelSpacing SliceThickness", "FrameContent": "FrameAcquisitionDateTime FrameReferenceDateTime FrameAcquisitionDuration DimensionIndexValues StackID InStackPositionNumber TemporalPositionIndex",
    "PlanePosition": "ImagePositionPatient", "PlaneOrientation": "ImageOrientationPatient", "FrameAnatomy": "AnatomicRegionSequence FrameLaterality",
    "PixelValueTransformation": "RescaleIntercept RescaleSlope RescaleType", "FrameVOILUT": "WindowCenter WindowWidth",
    "RealWorldValueMapping": "RealWorldValueFirstValueMapped RealWorldValueLastValueMapped RealWorldValueIntercept RealWorldValueSlope LUTExplanation LUTLabel MeasurementUnitsCodeSequence",
    "RadiopharmaceuticalUsage": "RadiopharmaceuticalAgentNumber", "PETFrameType": "FrameType PixelPresentation VolumetricProperties VolumeBasedCalculationTechnique",
    "PETFrameAcquisition": "TableHeight GantryDetectorTilt GantryDetectorSlew DataCollectionDiameter", "PETPosition": "TablePosition DataCollectionCenterPatient ReconstructionTargetCenterPatient",
    "PETFrameCorrectionFactors": "PrimaryPromptsCountsAccumulated SliceSensitivityFactor DecayFactor ScatterFractionFactor DeadTimeFactor",
    "PETReconstruction": "ReconstructionType ReconstructionAlgorithm IterativeReconstructionMethod NumberOfIterations NumberOfSubsets ReconstructionFieldOfView"}


def series():
    """Of activities that differ by frame, so that one slope for all would be told by values."""
    return (np.random.default_rng(0).random((3, 5, 7, 6)) * np.array([1000, 30, 5]).reshape(3, 1, 1, 1)).astype("float32")


def group(file, frame, name):
    """A functional group, per frame or shared."""
    for items in (file.PerFrameFunctionalGroupsSequence[frame], file.SharedFunctionalGroupsSequence[0]):
        if f"{name}Sequence" in items:
            return items[f"{name}Sequence"].value[0]
    raise AssertionError(name)


@unittest.skipIf(pydicom is None, "pydicom is not installed")
class Dicom(Folder):
    def setUp(self):
        super().setUp()
        self.file = self.path("image.dcm")

    def written(self, image, *place, **words):
        write_dicom(self.file, image, *(place or (VOXEL, CENTRE)), **{**dict(isotope="F-18", acquired=START, corrections=("decay",)), **words})
        return pydicom.dcmread(self.file)

    def test_values_and_places(self):
        """Each frame's values by its own slope, and each pixel's place by DICOM's equation C.7.6.2.1-1, of each position."""
        images = series()
        for position, letters in DIRECTIONS.items():
            left_back_head = [np.multiply(RIGHT_FRONT_HEAD[letter], (-1, -1, 1)) for letter in letters]
            for image in (images, images[:1], images[0]):
                file = self.written(image, position=position)
                frames = image.reshape(-1, 7, 6)
                self.assertEqual((file.NumberOfFrames, file.Rows, file.Columns, file.PatientPosition), (len(frames), 7, 6, position))
                for f, (stored, frame) in enumerate(zip(file.pixel_array, frames)):
                    k, z = divmod(f, 5)
                    slope = group(file, f, "RealWorldValueMapping").RealWorldValueSlope
                    self.assertEqual(slope, float(group(file, f, "PixelValueTransformation").RescaleSlope))
                    # Slopes have 10 digits or more, and float32 values are as they are: half a step, and what rounding of the slope adds to it.
                    step = float(images[k].max()) / 65535
                    self.assertAlmostEqual(slope / step, 1, 9)
                    self.assertLessEqual(np.abs(stored * slope - frame).max(), step * (0.5 + 1e-4))
                    content = group(file, f, "FrameContent")
                    self.assertEqual((content.StackID, content.InStackPositionNumber, content.TemporalPositionIndex, list(content.DimensionIndexValues)), ("1", z + 1, k + 1, [1, k + 1, z + 1]))
                    (dy, dx), axes = group(file, f, "PixelMeasures").PixelSpacing, np.reshape(group(file, f, "PlaneOrientation").ImageOrientationPatient, (2, 3)).astype(float)
                    y, x = 1, 2
                    place = np.array(group(file, f, "PlanePosition").ImagePositionPatient, float) + axes[0] * dx * x + axes[1] * dy * y
                    scanner = [c + (i - (n - 1) / 2) * v for i, n, v, c in zip((x, y, z), (6, 7, 5), VOXEL, CENTRE)]
                    np.testing.assert_allclose(place, np.array(scanner) @ left_back_head, atol=1e-9)
                np.testing.assert_allclose(group(file, 0, "PETPosition").ReconstructionTargetCenterPatient, np.array(CENTRE) @ left_back_head, atol=1e-9)
        self.assertEqual(set(POSITIONS), set(DIRECTIONS))

    def test_all_that_the_standard_requires(self):
        for image in (series(), series()[0]):
            file = self.written(image, corrections=("decay", "attenuation", "scatter", "randoms"))
            tracer, = file.RadiopharmaceuticalInformationSequence
            for found, names in ((file, MODULES), (tracer, TRACER)):
                self.assertEqual([name for name in names if name not in found], [])
            for f in range(file.NumberOfFrames):
                for name, parts in MACROS.items():
                    self.assertNotEqual(f"{name}Sequence" in file.SharedFunctionalGroupsSequence[0], f"{name}Sequence" in file.PerFrameFunctionalGroupsSequence[f], name)
                    self.assertEqual([part for part in parts.split() if part not in group(file, f, name)], [])
            for name in ("DecayCorrectionDateTime", "AttenuationCorrectionSource", "AttenuationCorrectionTemporalRelationship", "ScatterCorrectionMethod", "RandomsCorrectionMethod"):
                self.assertTrue(file[name].value, name)
        self.assertEqual((file.SOPClassUID, file.Modality, list(file.ImageType)), ("1.2.840.10008.5.1.4.1.1.130", "PT", ["ORIGINAL", "PRIMARY", "STATIC", "NONE"]))
        unit = group(file, 0, "RealWorldValueMapping").MeasurementUnitsCodeSequence[0]
        self.assertEqual((unit.CodeValue, unit.CodingSchemeDesignator, group(file, 0, "RealWorldValueMapping").LUTLabel), ("Bq/ml", "UCUM", "BQML"))
        self.assertNotIn("DecayFactor", group(self.written(series()[0], corrections=()), 0, "PETFrameCorrectionFactors"))

    def test_times_and_numbers(self):
        file = self.written(series(), starts=[60, 120, 300.5], durations=[60, 180, 10], delay=600, prompts=[10, 2 ** 33, 0], decays=[1.25, 1.5, 2], scatters=[0.1, 0.2, 0], iterations=[4, 5, 0],
                            labels=["first", "second", "last\\one"], live=0.8, energy_window=(435, 585), time_of_flight=True, algorithm="svrg", scanner="ten\nblocks", corrections=("decay", "motion"))
        told = [group(file, f, "FrameContent") for f in (0, 5, 14)]
        self.assertEqual([of.FrameAcquisitionDateTime for of in told], ["20261130101600.000000", "20261130101700.000000", "20261130102000.500000"])
        self.assertEqual([of.FrameReferenceDateTime for of in told], ["20261130101630.000000", "20261130101830.000000", "20261130102005.500000"])
        self.assertEqual([(of.FrameAcquisitionDuration, of.FrameLabel) for of in told], [(60e3, "first"), (180e3, "second"), (10e3, "last one")])
        self.assertEqual((file.AcquisitionDateTime, file.AcquisitionDuration, file.DecayCorrectionDateTime), ("20261130101600.000000", 250.5, "20261130100500.000000"))
        factors = [group(file, f, "PETFrameCorrectionFactors") for f in (0, 5, 14)]
        self.assertEqual([(of.PrimaryPromptsCountsAccumulated, of.DecayFactor, of.ScatterFractionFactor, of.DeadTimeFactor) for of in factors],
                         [(10, 1.25, 0.1, 1.25), (2 ** 31 - 1, 1.5, 0.2, 1.25), (0, 2, 0, 1.25)])
        self.assertEqual((file.EnergyWindowRangeSequence[0].EnergyWindowUpperLimit, file.TimeOfFlightInformationUsed, file.ManufacturerModelName, file.PatientMotionCorrected,
                          file.AttenuationCorrected, group(file, 5, "PETReconstruction").NumberOfIterations, group(file, 0, "PETReconstruction").ReconstructionAlgorithm),
                         (585, "TRUE", "ten blocks", "YES", "NO", 5, "SVRG"))

    def test_isotopes(self):
        for name, code, scheme, meaning in (("F-18", "77004003", "SCT", "^18^Fluorine"), ("Sc-44", "126600", "DCM", "^44^Scandium"), ("Co-55", "Co-55", "99ISOCENTER", "^55^Cobalt")):
            tracer = self.written(series()[0], isotope=name).RadiopharmaceuticalInformationSequence[0]
            nuclide = tracer.RadionuclideCodeSequence[0]
            self.assertEqual((nuclide.CodeValue, nuclide.CodingSchemeDesignator, nuclide.CodeMeaning), (code, scheme, meaning))
            np.testing.assert_allclose((float(tracer.RadionuclideHalfLife), float(tracer.RadionuclidePositronFraction)), ISOTOPES[name][1:], rtol=1e-9)
        tracer = self.written(series()[0], isotope="", half_life=100.0, branching=0.5).RadiopharmaceuticalInformationSequence[0]
        self.assertEqual((tracer.RadionuclideCodeSequence[0].CodeMeaning, tracer.RadionuclideHalfLife, tracer.RadionuclidePositronFraction), ("Unknown", 100, 0.5))

    def test_values_below_0_and_none(self):
        image = series()[0] - 300
        file = self.written(image)
        slope = group(file, 0, "RealWorldValueMapping").RealWorldValueSlope
        self.assertEqual((file.PixelRepresentation, file.pixel_array.dtype.kind, group(file, 0, "RealWorldValueMapping").RealWorldValueFirstValueMapped), (1, "i", -32768))
        # Half a step of 32767.
        self.assertLessEqual(np.abs(file.pixel_array * slope - image).max(), np.abs(image).max() / 32767 * (0.5 + 1e-4))
        file = self.written(np.zeros((5, 7, 6)))
        self.assertEqual((file.pixel_array.max(), group(file, 0, "PixelValueTransformation").RescaleSlope), (0, 1))
        # Of a maximum that no integer holds: 65535 times the slope is it to the slope's digits.
        file = self.written(np.full((1, 2, 2), 3.4e38, np.float32))
        self.assertEqual(file.pixel_array.min(), 65535)

    def test_frames_without_values(self):
        images = series()
        images[1] = np.nan
        with self.assertWarnsRegex(UserWarning, "^second has no values, and is not in image.dcm"):
            file = self.written(images, starts=[0, 60, 120], durations=[60, 0, 60], labels=["first", "second", "third"])
        self.assertEqual((file.NumberOfFrames, group(file, 5, "FrameContent").FrameLabel, group(file, 9, "FrameContent").TemporalPositionIndex), (10, "third", 2))
        slope = group(file, 9, "RealWorldValueMapping").RealWorldValueSlope
        np.testing.assert_allclose(file.pixel_array[9] * slope, images[2, 4], atol=slope * 0.51)
        images[0, 0, 0, 0] = np.inf
        for image, words in ((images, "values that are not finite"), (images[1], "no values, but NaN alone"), (np.full((1, 2, 2), 1e39), "values that are not finite")):
            with self.assertRaisesRegex(ValueError, words):
                self.written(image)

    def like(self, **elements):
        """A slice of another image, by pydicom."""
        file = pydicom.Dataset()
        file.file_meta = pydicom.dataset.FileMetaDataset()
        file.file_meta.TransferSyntaxUID = pydicom.uid.ImplicitVRLittleEndian
        for name, value in {"SOPClassUID": pydicom.uid.CTImageStorage, "SOPInstanceUID": "1.2.3", "Modality": "CT", "SpecificCharacterSet": "ISO_IR 100", "PatientName": "Müller^Ada",
                            "PatientID": "7", "PatientBirthDate": "19500102", "PatientSex": "F", "PatientWeight": "61.5", "StudyInstanceUID": "1.2.3.4", "StudyDate": "20261130", "StudyTime": "101112",
                            "StudyID": "S1", "AccessionNumber": "A1", "ReferringPhysicianName": "Who", "FrameOfReferenceUID": "1.2.3.5", "PositionReferenceIndicator": "XY", **elements}.items():
            if value is not None:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # of what DICOM does not allow
                    setattr(file, name, value)
        path = self.path("like.dcm")
        file.save_as(path, implicit_vr=True, little_endian=True, enforce_file_format=True)
        return path

    def test_like_a_ct(self):
        file = self.written(series()[0], like=self.like(), corrections=("attenuation",))
        self.assertEqual([str(file[name].value) for name in ("PatientName", "PatientID", "PatientBirthDate", "PatientSex", "PatientWeight", "StudyInstanceUID", "StudyDate", "StudyTime", "StudyID",
                                                             "AccessionNumber", "ReferringPhysicianName", "FrameOfReferenceUID", "PositionReferenceIndicator", "AttenuationCorrectionSource")],
                         ["Müller^Ada", "7", "19500102", "F", "61.5", "1.2.3.4", "20261130", "101112", "S1", "A1", "Who", "1.2.3.5", "XY", "CT"])
        self.assertNotIn(file.SeriesInstanceUID, ("1.2.3", "1.2.3.4"))
        other = self.written(series()[0], like=self.like(), same_frame=False)
        self.assertTrue(other.FrameOfReferenceUID.startswith("2.25.") and other.StudyInstanceUID == "1.2.3.4")
        self.assertEqual(len({file.SOPInstanceUID, other.SOPInstanceUID, file.SeriesInstanceUID, other.SeriesInstanceUID}), 4)
        with self.assertWarnsRegex(UserWarning, "like.dcm has no frame of reference"):
            self.written(series()[0], like=self.like(FrameOfReferenceUID=None))
        with self.assertWarnsRegex(UserWarning, "like.dcm has a PatientBirthDate that DICOM does not allow: it is left out"):
            self.assertEqual(self.written(series()[0], like=self.like(PatientBirthDate="2 Jan 1950")).PatientBirthDate, "")
        with self.assertRaisesRegex(ValueError, "like.dcm has StudyInstanceUID '1.2.a', which is no UID"):
            self.written(series()[0], like=self.like(StudyInstanceUID="1.2.a"))

    def test_like_a_pet(self):
        code = lambda value, meaning: pydicom.Dataset.from_json({"00080100": {"vr": "SH", "Value": [value]}, "00080102": {"vr": "SH", "Value": ["SCT"]}, "00080104": {"vr": "LO", "Value": [meaning]}})
        tracer = pydicom.Dataset()
        tracer.RadiopharmaceuticalStartTime, tracer.RadionuclideTotalDose, tracer.RadiopharmaceuticalCodeSequence = "093000.00", "250000000", [code("35321007", "Fluorodeoxyglucose F^18^")]
        pet = dict(Modality="PT", SOPClassUID=pydicom.uid.PositronEmissionTomographyImageStorage, SeriesDate="20261130", SeriesTime="101500", AcquisitionDate="20261130", AcquisitionTime="102000",
                   RadiopharmaceuticalInformationSequence=[tracer])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            file = self.written(series()[0], like=self.like(**pet), acquired=None)
        self.assertEqual(file.AcquisitionDateTime, "20261130101500.000000")
        for _ in range(2):  # of one slice a file, whose dose is in Bq, and of what is written here, whose is in MBq
            found = file.RadiopharmaceuticalInformationSequence[0]
            self.assertEqual((found.RadiopharmaceuticalStartDateTime, found.RadionuclideTotalDose, found.RadiopharmaceuticalCodeSequence[0].CodeValue, found.AdministrationRouteCodeSequence[0].CodeValue),
                             ("20261130093000.000000", 250, "35321007", "47625008"))
            os.replace(self.file, self.path("before.dcm"))
            file = self.written(series()[0], like=self.path("before.dcm"), acquired=None)
            self.assertEqual((str(file.PatientName), file.AcquisitionDateTime), ("Müller^Ada", "20261130101500.000000"))
        self.assertEqual(self.written(series()[0], like=self.like(**pet)).AcquisitionDateTime, "20261130101500.000000")
        # An injection late in the evening before.
        tracer.RadiopharmaceuticalStartTime = "235900"
        self.assertEqual(self.written(series()[0], like=self.like(**pet)).RadiopharmaceuticalInformationSequence[0].RadiopharmaceuticalStartDateTime, "20261129235900.000000")

    def test_a_damaged_like(self):
        with open(self.like(), "rb") as file:
            data = file.read()
        rng, path, refused = np.random.default_rng(3), self.path("damaged.dcm"), 0
        for _ in range(300):
            made = bytearray(data[:rng.integers(100, len(data))] if rng.random() < 0.3 else data)
            for at in rng.integers(0, len(made), 4):
                made[at] = rng.integers(256)
            with open(path, "wb") as file:
                file.write(made)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    self.written(series()[0, :1], like=path)
                except ValueError as e:
                    self.assertRegex(str(e), "^write_dicom: .*damaged.dcm (is no DICOM file|cannot be read|has)")
                    refused += 1
        self.assertTrue(10 < refused < 290, refused)

    def test_an_unknown_start(self):
        with self.assertWarnsRegex(UserWarning, "not known when the scan began: .* pass acquired"):
            file = self.written(series()[0], acquired=None)
        self.assertEqual(file.AcquisitionDateTime, "19000101000000.000000")
        self.assertEqual(self.written(series()[0], acquired=datetime.datetime(2026, 11, 30, 1, 2, 3)).AcquisitionDateTime, "20261130010203.000000")

    def test_mistakes(self):
        for words, image, keywords in (
                ("isotope is 'X'", series(), dict(isotope="X")), ("position is 'X'", series(), dict(position="X")), ("starts has 2 numbers", series(), dict(starts=[0, 1])),
                ("labels has 2 members; the image has 3 frames", series(), dict(labels=["a", "b"])), ("prompts are .* 3 finite numbers", series(), dict(prompts=[1, 2, np.nan])),
                ("corrections have 'tilt'; they must be some of attenuation, ", series(), dict(corrections=("tilt",))), ("acquired is now; it must be a date and time", series(), dict(acquired="now")),
                ("without a zone", series(), dict(acquired=datetime.datetime.now(datetime.timezone.utc))), ("live is 0.0; it must be finite, and above 0", series(), dict(live=0.0)),
                ("reach beyond what a date can be", series(), dict(starts=[0, 1, 1e18])), (r"image has shape \(7, 6\)", series()[0, 0], {}),
                ("65535 rows and columns at most", np.zeros((1, 1, 65536), np.uint8), {}), ("test_dicom.py is no DICOM file", series(), dict(like=__file__))):
            with self.subTest(words), self.assertRaisesRegex(ValueError, words):
                self.written(image, **keywords)
        self.assertRaises(FileNotFoundError, self.written, series(), like=self.path("none.dcm"))
        self.assertFalse(os.path.exists(self.file))

    def test_without_the_package(self):
        with mock.patch.dict(sys.modules, {"pydicom": None}):
            self.assertRaisesRegex(ImportError, r"^write_dicom: DICOM files need .*isocenter\[dicom\]", write_dicom, self.file, series(), 4.0, isotope="F-18")

    def test_of_a_list(self):
        found = [Found(60.0 * k, 60.0, 100 * k, 0, 90, None, scatter=9.0, decay=1.0 + k, alive=0.5, history=[None] * k) for k in range(3)]
        made = Quantified(series(), VOXEL, CENTRE, "Bq/ml", found, ISOTOPES["Ga-68"], {}, [], "FFS", "ten blocks", ["gate 0", "gate 1", "gate 2"], 30.0, ("attenuation", "decay"), "osem",
                          (400.0, 600.0), True, True)
        made.write(self.file, like=self.like(), acquired=START)
        file = pydicom.dcmread(self.file)
        factors, content = group(file, 14, "PETFrameCorrectionFactors"), group(file, 14, "FrameContent")
        self.assertEqual((file.FrameOfReferenceUID, file.PatientPosition, file.DecayCorrectionDateTime, file.SeriesDescription, file.RandomsCorrected), ("1.2.3.5", "FFS", "20261130101430.000000", "PET Ga-68", "NO"))
        self.assertEqual((factors.PrimaryPromptsCountsAccumulated, factors.DecayFactor, factors.ScatterFractionFactor, factors.DeadTimeFactor, content.FrameLabel), (200, 3, 0.1, 2, "gate 2"))
        self.assertEqual((made.beside(self.file), group(file, 14, "PETReconstruction").NumberOfIterations), ([], 2))
        made.in_map_frame = False
        with self.assertWarnsRegex(UserWarning, "frame of reference of .*like.dcm is not taken"):
            made.write(self.file, like=self.like(), acquired=START)
        self.assertNotEqual(pydicom.dcmread(self.file).FrameOfReferenceUID, "1.2.3.5")
        self.assertRaisesRegex(ValueError, "like and acquired are for DICOM", made.write, self.path("a.nii"), acquired=START)


if __name__ == "__main__":
    unittest.main()
