//! What a DICOM file of the same patient tells about a scan: patient, study and frame of reference, and of a PET image what was injected and when the scan began.

use super::elements::Code;
use super::lengths;
use crate::status;
use anyhow::{Context, Result, anyhow, ensure};
use dicom_core::chrono::{NaiveDate, NaiveDateTime, NaiveTime, TimeDelta};
use dicom_core::{PrimitiveValue, Tag};
use dicom_dictionary_std::tags;
use dicom_object::{InMemDicomObject, OpenFileOptions};
use std::path::Path;

/// Images with one slice a file, and those that were converted of these, whose doses are in Bq; of others they are in MBq.
const IN_BECQUEREL: [&str; 2] = ["1.2.840.10008.5.1.4.1.1.128", "1.2.840.10008.5.1.4.1.1.128.1"];
const MEGA: f64 = 1e6;

/// What DICOM takes for a text.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Text(usize),
    Date,
    Time,
    Age,
    Sex,
    Real,
}

/// Of the patient and the study: name, kind, and whether they have to be there, and may be empty.
const TAKEN: [(Tag, &str, Kind, bool); 14] = [
    (tags::PATIENT_NAME, "PatientName", Kind::Text(194), true),
    (tags::PATIENT_ID, "PatientID", Kind::Text(64), true),
    (tags::PATIENT_BIRTH_DATE, "PatientBirthDate", Kind::Date, true),
    (tags::PATIENT_SEX, "PatientSex", Kind::Sex, true),
    (tags::STUDY_DATE, "StudyDate", Kind::Date, true),
    (tags::STUDY_TIME, "StudyTime", Kind::Time, true),
    (tags::STUDY_ID, "StudyID", Kind::Text(16), true),
    (tags::ACCESSION_NUMBER, "AccessionNumber", Kind::Text(16), true),
    (tags::REFERRING_PHYSICIAN_NAME, "ReferringPhysicianName", Kind::Text(194), true),
    (tags::ISSUER_OF_PATIENT_ID, "IssuerOfPatientID", Kind::Text(64), false),
    (tags::PATIENT_AGE, "PatientAge", Kind::Age, false),
    (tags::PATIENT_SIZE, "PatientSize", Kind::Real, false),
    (tags::PATIENT_WEIGHT, "PatientWeight", Kind::Real, false),
    (tags::STUDY_DESCRIPTION, "StudyDescription", Kind::Text(64), false),
];

/// What is known; None and "" of what is not.
#[derive(Clone, Debug, PartialEq)]
pub struct Like {
    pub elements: Vec<(Tag, String)>,
    /// UIDs of the study and the frame of reference, and what that refers to.
    pub study: String,
    pub frame: String,
    pub indicator: String,
    /// "CT", "MR", "PT".
    pub modality: String,
    /// When a PET scan began, and the tracer was injected.
    pub acquired: Option<NaiveDateTime>,
    pub injected: Option<NaiveDateTime>,
    /// MBq.
    pub dose: Option<f64>,
    pub route: Option<Code>,
    pub tracer: Option<Code>,
}

impl Default for Like {
    fn default() -> Self {
        Self::of(&InMemDicomObject::new_empty(), &|_| {})
    }
}

impl Like {
    pub fn read(path: &Path, doubt: &dyn Fn(String)) -> Result<Self> {
        let shown = path.display();
        let bytes = std::fs::read(path).with_context(|| format!("reading {shown}"))?;
        let damaged = |e: anyhow::Error| anyhow!("{shown} cannot be read as DICOM ({e:#}): give another slice of it");
        let file = parse(&bytes).map_err(damaged).map_err(status::unreadable)?;
        let strange = |name: &str| doubt(format!("{shown} has a {name} that DICOM does not allow: it is left out"));
        let found = Self::of(&file, &strange);
        for (name, text) in [("StudyInstanceUID", &found.study), ("FrameOfReferenceUID", &found.frame)] {
            let start: String = text.chars().take(64).collect();
            ensure!(
                text.is_empty() || is_uid(text),
                "{shown} has {name} {start:?}, which is no UID: give another slice of it"
            );
        }
        Ok(found)
    }

    fn of(file: &InMemDicomObject, strange: &dyn Fn(&str)) -> Self {
        let checked = |tag, name: &str, kind: Kind| {
            let text = text(file, tag);
            if text.is_empty() || kind.allows(&text) {
                return text;
            }
            strange(name);
            String::new()
        };
        let elements = TAKEN.iter().map(|(tag, name, kind, is_needed)| (*tag, checked(*tag, name, *kind), *is_needed));
        let elements = elements.filter(|(_, text, is_needed)| *is_needed || !text.is_empty());
        let mut found = Self {
            elements: elements.map(|(tag, text, _)| (tag, text)).collect(),
            study: text(file, tags::STUDY_INSTANCE_UID),
            frame: text(file, tags::FRAME_OF_REFERENCE_UID),
            indicator: checked(tags::POSITION_REFERENCE_INDICATOR, "PositionReferenceIndicator", Kind::Text(64)),
            modality: text(file, tags::MODALITY),
            acquired: None,
            injected: None,
            dose: None,
            route: None,
            tracer: None,
        };
        if found.modality == "PT" {
            found.scan(file);
        }
        found
    }

    /// Of a PET image.
    fn scan(&mut self, file: &InMemDicomObject) {
        // Of one slice a file, the series has the time that activity is told at, and the slice its own, which may be later; some write the series' when it is stored.
        let of = |date, time| moment(&(text(file, date) + &text(file, time)));
        let times = [
            moment(&text(file, tags::ACQUISITION_DATE_TIME)),
            of(tags::SERIES_DATE, tags::SERIES_TIME),
            of(tags::ACQUISITION_DATE, tags::ACQUISITION_TIME),
        ];
        self.acquired = times.into_iter().flatten().min();
        let Some(tracer) = items(file, tags::RADIOPHARMACEUTICAL_INFORMATION_SEQUENCE).first() else { return };
        let clock = text(tracer, tags::RADIOPHARMACEUTICAL_START_TIME);
        let of_clock = self.acquired.and_then(|acquired| {
            let injected = moment(&(acquired.format("%Y%m%d").to_string() + &clock))?;
            // Of an injection before midnight.
            Some(if injected > acquired { injected.checked_sub_signed(TimeDelta::days(1))? } else { injected })
        });
        self.injected = moment(&text(tracer, tags::RADIOPHARMACEUTICAL_START_DATE_TIME)).or(of_clock);
        let scale = if IN_BECQUEREL.contains(&text(file, tags::SOP_CLASS_UID).as_str()) { MEGA } else { 1.0 };
        let dose: Option<f64> = text(tracer, tags::RADIONUCLIDE_TOTAL_DOSE).parse().ok();
        self.dose = dose.filter(|dose| dose.is_finite() && *dose > 0.0).map(|dose| dose / scale);
        self.route = code(tracer, tags::ADMINISTRATION_ROUTE_CODE_SEQUENCE);
        self.tracer = code(tracer, tags::RADIOPHARMACEUTICAL_CODE_SEQUENCE);
    }
}

impl Kind {
    fn allows(self, text: &str) -> bool {
        let digits = |text: &str| text.bytes().all(|c| c.is_ascii_digit());
        match self {
            Self::Text(most) => {
                text.chars().count() <= most && !text.contains(|c: char| c < ' ' || "\\\u{fffd}".contains(c))
            }
            Self::Date => text.len() == 8 && digits(text),
            Self::Time => {
                let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
                [2, 4, 6].contains(&whole.len()) && (1..=6).contains(&part.len()) && digits(whole) && digits(part)
            }
            Self::Age => text.len() == 4 && text.is_ascii() && digits(&text[..3]) && "DWMY".contains(&text[3..]),
            Self::Sex => ["M", "F", "O"].contains(&text),
            Self::Real => {
                let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
                (1..=3).contains(&whole.len()) && (1..=12).contains(&part.len()) && digits(whole) && digits(part)
            }
        }
    }
}

fn parse(bytes: &[u8]) -> Result<InMemDicomObject> {
    lengths::check(bytes)?;
    Ok(OpenFileOptions::new().read_until(tags::PIXEL_DATA).from_reader(bytes)?.into_inner())
}

fn is_uid(text: &str) -> bool {
    let is_part = |part: &str| {
        !part.is_empty() && part.bytes().all(|c| c.is_ascii_digit()) && (part == "0" || !part.starts_with('0'))
    };
    text.len() <= 64 && text.contains('.') && text.split('.').all(is_part)
}

/// An element's text, "" of one that is not there; of several values the first.
fn text(file: &InMemDicomObject, tag: Tag) -> String {
    let Some(value) = file.get(tag).and_then(|element| element.value().primitive()) else { return String::new() };
    let all = match value {
        // Of no type.
        PrimitiveValue::U8(bytes) => String::from_utf8_lossy(bytes),
        _ => value.to_str(),
    };
    all.split('\\').next().unwrap_or("").trim_matches(['\0', ' ']).to_string()
}

fn items(file: &InMemDicomObject, tag: Tag) -> &[InMemDicomObject] {
    file.get(tag).and_then(|element| element.items()).unwrap_or_default()
}

fn code(file: &InMemDicomObject, tag: Tag) -> Option<Code> {
    let item = items(file, tag).first()?;
    let code = [tags::CODE_VALUE, tags::CODING_SCHEME_DESIGNATOR, tags::CODE_MEANING].map(|tag| text(item, tag));
    let is_whole = code.iter().zip([16, 16, 64]).all(|(text, most)| !text.is_empty() && Kind::Text(most).allows(text));
    is_whole.then_some(code)
}

/// Of DICOM's date and time, without its zone; None of one that is not whole.
fn moment(text: &str) -> Option<NaiveDateTime> {
    let count = text.bytes().take_while(u8::is_ascii_digit).count();
    let (whole, rest) = text.split_at(count.min(14) / 2 * 2);
    let date = NaiveDate::parse_from_str(whole.get(..8)?, "%Y%m%d").ok()?;
    let part = |at: usize| whole.get(at..at + 2).map_or(Some(0), |text| text.parse().ok());
    let hour = whole.get(8..10)?.parse().ok()?;
    let fraction: String =
        rest.strip_prefix('.').unwrap_or("").chars().take_while(char::is_ascii_digit).take(6).collect();
    let microseconds = format!("{fraction:0<6}").parse().ok()?;
    Some(date.and_time(NaiveTime::from_hms_micro_opt(hour, part(10)?, part(12)?, microseconds)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use dicom_core::{DataElement, VR};
    use dicom_object::meta::FileMetaTableBuilder;

    fn file(syntax: &str) -> Vec<u8> {
        let put = |tag, vr, text: &str| DataElement::new(tag, vr, PrimitiveValue::from(text));
        let tracer = InMemDicomObject::from_element_iter([put(tags::RADIONUCLIDE_TOTAL_DOSE, VR::DS, "250")]);
        let sequence = dicom_core::value::DataSetSequence::from(vec![tracer]);
        let made = InMemDicomObject::from_element_iter([
            put(tags::SOP_CLASS_UID, VR::UI, "1.2.840.10008.5.1.4.1.1.130"),
            put(tags::SOP_INSTANCE_UID, VR::UI, "1.2.3"),
            put(tags::MODALITY, VR::CS, "PT"),
            put(tags::PATIENT_ID, VR::LO, "7"),
            put(tags::STUDY_DATE, VR::DA, "20261130"),
            put(tags::ACQUISITION_DATE_TIME, VR::DT, "20261130101500.5"),
            DataElement::new(tags::RADIOPHARMACEUTICAL_INFORMATION_SEQUENCE, VR::SQ, sequence),
        ]);
        let mut bytes = Vec::new();
        let meta = FileMetaTableBuilder::new().transfer_syntax(syntax);
        made.with_meta(meta).expect("a header").write_all(&mut bytes).expect("bytes");
        bytes
    }

    #[test]
    fn whatever_is_in_a_file() {
        for syntax in ["1.2.840.10008.1.2", "1.2.840.10008.1.2.1", "1.2.840.10008.1.2.2"] {
            let bytes = file(syntax);
            let found = Like::of(&parse(&bytes).expect("a file"), &|name| panic!("{name}"));
            assert_eq!(found.dose, Some(250.0), "{syntax}");
            assert!(found.acquired == moment("20261130101500.500000") && found.acquired.is_some());
            assert!(found.elements.contains(&(tags::PATIENT_ID, "7".into())));
            crate::mutations::each(&bytes, |bytes| drop(parse(bytes).map(|file| Like::of(&file, &|_| {}))));
        }
        let mut bytes = file("1.2.840.10008.1.2.1");
        let at = bytes.windows(4).position(|part| part == [0x10, 0, 0x20, 0]).expect("the patient's number");
        bytes[at + 4..at + 12].copy_from_slice(b"UT\0\0\xf0\xff\xff\xff");
        assert!(parse(&bytes).expect_err("refused").to_string().contains("4294967280 bytes, more than the file"));
        assert!(parse(b"no file").expect_err("refused").to_string().contains("it is no DICOM file"));
    }

    #[test]
    fn what_texts_may_be() {
        for (kind, good, bad) in [
            (Kind::Date, "20261130", "2026-11-3"),
            (Kind::Time, "101112.5", "10:11"),
            (Kind::Age, "061Y", "61 Y"),
            (Kind::Sex, "F", "x"),
            (Kind::Real, "61.5", "1e9"),
            (Kind::Text(2), "ab", "abc"),
            (Kind::Text(9), "ü", "a\\b"),
        ] {
            assert!(kind.allows(good) && !kind.allows(bad), "{good} {bad}");
        }
        assert!(is_uid("1.2.840.0") && ["1", "1..2", "1.02", "1.a", ""].iter().all(|text| !is_uid(text)));
        assert_eq!(moment("202611301015+0100"), moment("20261130101500"));
        assert!(["20261130", "20261330101500", "", "20261130256060"].iter().all(|text| moment(text).is_none()));
    }
}
