//! DICOM files.

use crate::doubts::{QUICK, block, small, write};
use crate::folder::Folder;
use crate::scans::{nifti, npy};
use crate::writer::Exam;
use crate::{done, refused, text};
use dicom_core::{DataElement, PrimitiveValue, Tag, VR};
use dicom_dictionary_std::tags;
use dicom_object::{FileDicomObject, InMemDicomObject, meta::FileMetaTableBuilder, open_file};
use std::path::{Path, PathBuf};

const GRID: [&str; 6] = ["--size", "18", "--slices", "5", "--voxel", "4"];

fn string(file: &InMemDicomObject, tag: Tag) -> String {
    file.get(tag).unwrap_or_else(|| panic!("{tag}")).to_str().expect("a text").trim_end_matches(['\0', ' ']).to_string()
}

fn items(file: &InMemDicomObject, tag: Tag) -> &[InMemDicomObject] {
    file.get(tag).and_then(|element| element.items()).unwrap_or_else(|| panic!("{tag}"))
}

/// A functional group of a frame: its own, or that of all.
fn group(file: &InMemDicomObject, frame: usize, tag: Tag) -> &InMemDicomObject {
    let own = &items(file, tags::PER_FRAME_FUNCTIONAL_GROUPS_SEQUENCE)[frame];
    let shared = &items(file, tags::SHARED_FUNCTIONAL_GROUPS_SEQUENCE)[0];
    assert!(own.get(tag).is_some() != shared.get(tag).is_some(), "{tag} is once");
    &items(if own.get(tag).is_some() { own } else { shared }, tag)[0]
}

/// Values of all frames, by their own slopes.
fn values(file: &InMemDicomObject) -> Vec<f64> {
    let stored = file.get(tags::PIXEL_DATA).expect("pixels").to_multi_int::<u16>().expect("16 bits");
    let frames: usize = string(file, tags::NUMBER_OF_FRAMES).parse().expect("a number");
    let each = stored.len() / frames;
    let slope = |frame| {
        let mapping = group(file, frame, tags::REAL_WORLD_VALUE_MAPPING_SEQUENCE);
        let slope = mapping.get(tags::REAL_WORLD_VALUE_SLOPE).expect("a slope").to_float64().expect("a number");
        let rescaled = group(file, frame, tags::PIXEL_VALUE_TRANSFORMATION_SEQUENCE);
        assert_eq!(string(rescaled, tags::RESCALE_SLOPE).parse(), Ok(slope));
        slope
    };
    stored.iter().enumerate().map(|(k, v)| f64::from(*v) * slope(k / each)).collect()
}

/// Of a scan of Ga-68 of two seconds; a patient who lies feet first, prone.
fn list(folder: &Folder) -> PathBuf {
    let list = folder.path("scan.petsird");
    let exam = Exam { nuclide: "Ga-68".into(), position: ["feet first".into(), String::new(), "prone".into()] };
    write(&list, &small(), Some(&exam), &[block(2000, 4000, 100), block(3000, 1000, 100)]);
    list
}

fn like(path: &Path, more: Vec<DataElement<InMemDicomObject>>) {
    let put = |tag, vr, text: &str| DataElement::new(tag, vr, PrimitiveValue::from(text));
    let mut file = InMemDicomObject::from_element_iter([
        put(tags::SPECIFIC_CHARACTER_SET, VR::CS, "ISO_IR 100"),
        put(tags::SOP_CLASS_UID, VR::UI, "1.2.840.10008.5.1.4.1.1.2"),
        put(tags::SOP_INSTANCE_UID, VR::UI, "1.2.3"),
        put(tags::MODALITY, VR::CS, "CT"),
        put(tags::PATIENT_NAME, VR::PN, "Müller^Ada"),
        put(tags::PATIENT_WEIGHT, VR::DS, "61.5"),
        put(tags::STUDY_INSTANCE_UID, VR::UI, "1.2.3.4"),
        put(tags::FRAME_OF_REFERENCE_UID, VR::UI, "1.2.3.5"),
        put(tags::STUDY_DATE, VR::DA, "20261130"),
    ]);
    more.into_iter().for_each(|element| drop(file.put(element)));
    let meta = FileMetaTableBuilder::new().transfer_syntax("1.2.840.10008.1.2");
    file.with_meta(meta).expect("a header").write_to_file(path).expect("a file");
}

fn read(path: &Path) -> FileDicomObject<InMemDicomObject> {
    open_file(path).expect("a DICOM file")
}

#[test]
fn frames_of_time_in_one_file() {
    let folder = Folder::new("pet-dicom");
    let (list, dicom, plain) = (list(&folder), folder.path("image.dcm"), folder.path("image.npy"));
    let run = |out: &Path, more: &[&str]| done(&[&[text(&list), "-o", text(out)][..], &GRID, &QUICK, more].concat());
    let frames = ["--frame", "2", "3", "--frame", "3", "4", "--frame", "7", "8", "--delay", "60"];
    run(&plain, &frames);
    let told = run(&dicom, &[&frames[..], &["--acquired", "2026-11-30T10:15:00"]].concat());
    assert!(told.contains("frame 2 has no values, and is not in image.dcm"), "{told}");
    assert!(!told.contains("1900"), "{told}");
    let (file, (_, image)) = (read(&dicom), npy(&plain));
    let volume = 5 * 18 * 18;
    let made = values(&file);
    assert_eq!(made.len(), 2 * volume);
    for (k, (of, own)) in made.chunks(volume).zip(image.chunks(volume)).enumerate() {
        let largest = own.iter().copied().fold(0.0f32, f32::max);
        assert!(largest > 0.0, "frame {k}");
        // Half a step of the frame's largest value, and what rounding of the slope adds.
        let most = f64::from(largest) / 65535.0 * (0.5 + 1e-4);
        let off = of.iter().zip(own).map(|(a, b)| (a - f64::from(*b)).abs()).fold(0.0, f64::max);
        assert!(off <= most, "frame {k}: {off} {most}");
    }
    for (tag, words) in [
        (tags::SOP_CLASS_UID, "1.2.840.10008.5.1.4.1.1.130"),
        (tags::PATIENT_POSITION, "FFP"),
        (tags::PATIENT_NAME, ""),
        (tags::ACQUISITION_DATE_TIME, "20261130101502.000000"),
        (tags::DECAY_CORRECTION_DATE_TIME, "20261130101400.000000"),
        (tags::ATTENUATION_CORRECTED, "NO"),
        (tags::RANDOMS_CORRECTED, "YES"),
        (tags::IMAGE_TYPE, "ORIGINAL\\PRIMARY\\DYNAMIC\\NONE"),
    ] {
        assert_eq!(string(&file, tag), words, "{tag}");
    }
    // Feet first prone: x goes to the left, y to the front, z to the feet; the middle of the scanner is at 0.
    assert_eq!(
        string(group(&file, 0, tags::PLANE_ORIENTATION_SEQUENCE), tags::IMAGE_ORIENTATION_PATIENT),
        "1\\0\\0\\0\\-1\\0"
    );
    for (frame, z, index, time) in [(0, 0, 1, "02"), (9, 4, 2, "03")] {
        let place = string(group(&file, frame, tags::PLANE_POSITION_SEQUENCE), tags::IMAGE_POSITION_PATIENT);
        assert_eq!(place, format!("-34\\34\\{}", 8 - 4 * z));
        let content = group(&file, frame, tags::FRAME_CONTENT_SEQUENCE);
        let indices = content.get(tags::DIMENSION_INDEX_VALUES).expect("indices").to_multi_int::<i32>();
        assert_eq!(indices.expect("numbers"), [1, index, z + 1]);
        assert_eq!(string(content, tags::FRAME_ACQUISITION_DATE_TIME), format!("202611301015{time}.000000"));
    }
    let tracer = &items(&file, tags::RADIOPHARMACEUTICAL_INFORMATION_SEQUENCE)[0];
    assert_eq!(string(&items(tracer, tags::RADIONUCLIDE_CODE_SEQUENCE)[0], tags::CODE_MEANING), "^68^Gallium");
    assert_eq!(string(tracer, tags::RADIONUCLIDE_TOTAL_DOSE), "");
}

#[test]
fn patients_of_other_files() {
    let folder = Folder::new("pet-dicom-like");
    let (list, dicom, other) = (list(&folder), folder.path("image.dcm"), folder.path("like.dcm"));
    let map = folder.path("map.nii");
    nifti(&map, &[0.0; 14 * 26 * 26], [14, 26, 26], 4.0, "1/mm");
    let run = |more: &[&str]| {
        let like = ["--dicom-like", text(&other)];
        let told = done(&[&[text(&list), "-o", text(&dicom)][..], &GRID, &QUICK, &like, more].concat());
        (read(&dicom), told)
    };
    like(&other, Vec::new());
    let (file, told) = run(&["--attenuation", text(&map), "--scatter", "0"]);
    assert!(told.contains("not known when the scan began") && told.contains("give --acquired"), "{told}");
    for (tag, words) in [
        (tags::PATIENT_NAME, "Müller^Ada"),
        (tags::PATIENT_WEIGHT, "61.5"),
        (tags::STUDY_INSTANCE_UID, "1.2.3.4"),
        (tags::FRAME_OF_REFERENCE_UID, "1.2.3.5"),
        (tags::STUDY_DATE, "20261130"),
        (tags::ATTENUATION_CORRECTION_SOURCE, "CT"),
        (tags::ACQUISITION_DATE_TIME, "19000101000002.000000"),
    ] {
        assert_eq!(string(&file, tag), words, "{tag}");
    }
    // Of a PET image, and without a map.
    let put = |tag, vr, text: &str| DataElement::new(tag, vr, PrimitiveValue::from(text));
    let tracer = InMemDicomObject::from_element_iter([
        put(tags::RADIOPHARMACEUTICAL_START_TIME, VR::TM, "235900"),
        put(tags::RADIONUCLIDE_TOTAL_DOSE, VR::DS, "250000000"),
    ]);
    let sequence = dicom_core::value::DataSetSequence::from(vec![tracer]);
    like(
        &other,
        vec![
            put(tags::SOP_CLASS_UID, VR::UI, "1.2.840.10008.5.1.4.1.1.128"),
            put(tags::MODALITY, VR::CS, "PT"),
            put(tags::SERIES_DATE, VR::DA, "20261130"),
            put(tags::SERIES_TIME, VR::TM, "001500"),
            put(tags::PATIENT_BIRTH_DATE, VR::DA, "2 Jan 1950"),
            DataElement::new(tags::RADIOPHARMACEUTICAL_INFORMATION_SEQUENCE, VR::SQ, sequence),
        ],
    );
    let (file, told) = run(&[]);
    for words in ["PatientBirthDate that DICOM does not allow", "like.dcm is not taken"] {
        assert!(told.contains(words), "{words}: {told}");
    }
    let tracer = &items(&file, tags::RADIOPHARMACEUTICAL_INFORMATION_SEQUENCE)[0];
    assert_eq!(string(&file, tags::ACQUISITION_DATE_TIME), "20261130001502.000000");
    assert_eq!(string(tracer, tags::RADIOPHARMACEUTICAL_START_DATE_TIME), "20261129235900.000000");
    assert_eq!(string(tracer, tags::RADIONUCLIDE_TOTAL_DOSE), "250");
    assert!(string(&file, tags::FRAME_OF_REFERENCE_UID).starts_with("2.25."));
    assert_eq!(string(&file, tags::PATIENT_BIRTH_DATE), "");
}

#[test]
fn what_is_refused() {
    let folder = Folder::new("pet-dicom-refused");
    let (list, dicom, other) = (list(&folder), folder.path("image.dcm"), folder.path("like.dcm"));
    let of = |out: &str, more: &[&str]| refused(&[&[text(&list), "-o", out][..], more].concat()).0;
    assert!(of("image.nii", &["--acquired", "2026-11-30T10:15"]).contains("--dicom-like and --acquired are for DICOM"));
    assert!(of(text(&dicom), &["--acquired", "now"]).contains("a date and time without a zone"));
    assert!(of(text(&dicom), &["--dicom-like", text(&list)]).contains("scan.petsird cannot be read as DICOM"));
    assert!(of(text(&dicom), &["--dicom-like", text(&other)]).contains("No such file"));
    like(&other, vec![DataElement::new(tags::STUDY_INSTANCE_UID, VR::UI, PrimitiveValue::from("1.2.a"))]);
    assert!(
        of(text(&dicom), &["--dicom-like", text(&other)]).contains("has StudyInstanceUID \"1.2.a\", which is no UID")
    );
    assert!(!dicom.exists());
}
