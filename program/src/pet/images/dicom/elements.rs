//! Elements of a file but for those of its frames.

use super::scan::Correction;
use super::{after, decimal, frames, stamp, uid, unknown_start};
use crate::pet::images::{About, Image};
use crate::pet::isotopes::{self, ELEMENTS};
use anyhow::Result;
use dicom_core::chrono::{Local, NaiveDateTime};
use dicom_core::dictionary::{DataDictionary, DataDictionaryEntry};
use dicom_core::value::{DataSetSequence, PrimitiveValue};
use dicom_core::{DataElement, Tag, VR};
use dicom_dictionary_std::{StandardDataDictionary, tags};
use dicom_object::InMemDicomObject;
use dicom_object::mem::InMemElement;

const CLASS: &str = "1.2.840.10008.5.1.4.1.1.130";
const BY_FRAME: [(Tag, &str); 3] = [
    (tags::STACK_ID, "Stack"),
    (tags::TEMPORAL_POSITION_INDEX, "Temporal position"),
    (tags::IN_STACK_POSITION_NUMBER, "Position in stack"),
];

/// A code's value, scheme and meaning.
pub(super) type Code = [String; 3];

/// An image on its way to a file.
pub(super) struct Writer<'a> {
    pub image: &'a Image<'a>,
    pub about: &'a About<'a>,
    /// Frames that have values.
    pub numbers: &'a [usize],
    pub slopes: &'a [f64],
    pub is_signed: bool,
}

/// An element of the dictionary's type.
pub(super) fn put(tag: Tag, value: impl Into<PrimitiveValue>) -> InMemElement {
    let vr = StandardDataDictionary.by_tag(tag).map_or(VR::UN, |entry| entry.vr().relaxed());
    DataElement::new(tag, vr, value.into())
}

/// A sequence.
pub(super) fn items(tag: Tag, items: Vec<Vec<InMemElement>>) -> InMemElement {
    let items: Vec<_> = items.into_iter().map(InMemDicomObject::from_element_iter).collect();
    DataElement::new(tag, VR::SQ, DataSetSequence::from(items))
}

pub(super) fn item(tag: Tag, elements: Vec<InMemElement>) -> InMemElement {
    items(tag, vec![elements])
}

pub(super) fn code(of: [&str; 3]) -> Vec<InMemElement> {
    let [value, scheme, meaning] = of;
    vec![put(tags::CODE_VALUE, value), put(tags::CODING_SCHEME_DESIGNATOR, scheme), put(tags::CODE_MEANING, meaning)]
}

pub(super) fn reals(tag: Tag, values: &[f64]) -> InMemElement {
    put(tag, PrimitiveValue::F64(values.iter().map(|v| v + 0.0).collect()))
}

/// Decimal strings.
pub(super) fn decimals(tag: Tag, values: &[f64]) -> InMemElement {
    put(tag, values.iter().map(|v| decimal(*v)).collect::<Vec<_>>().join("\\"))
}

/// What DICOM's long strings may have.
pub(super) fn line(text: &str) -> String {
    let kept: String = text.chars().map(|c| if c.is_control() || c == '\\' { ' ' } else { c }).take(64).collect();
    kept.trim().into()
}

pub(super) fn description() -> [InMemElement; 3] {
    [
        put(tags::PIXEL_PRESENTATION, "MONOCHROME"),
        put(tags::VOLUMETRIC_PROPERTIES, "VOLUME"),
        put(tags::VOLUME_BASED_CALCULATION_TECHNIQUE, "NONE"),
    ]
}

impl Writer<'_> {
    pub(super) fn start(&self) -> NaiveDateTime {
        self.about.scan.acquired.unwrap_or_else(unknown_start)
    }

    pub(super) fn kind(&self) -> &'static str {
        if self.image.frames.is_some() { "ORIGINAL\\PRIMARY\\DYNAMIC\\NONE" } else { "ORIGINAL\\PRIMARY\\STATIC\\NONE" }
    }

    /// All of a file.
    pub fn file(&self, stored: Vec<u16>) -> Result<InMemDicomObject> {
        let Self { image, about, .. } = self;
        let [nz, ny, nx] = image.shape;
        let (like, now) = (&about.scan.like, Local::now().naive_local());
        let or_new = |text: &str| if text.is_empty() { uid() } else { Ok(text.to_string()) };
        let of_frames = |times: &[f64]| self.numbers.iter().map(|k| times[*k]).collect::<Vec<_>>();
        let (starts, durations) = (of_frames(&about.starts), of_frames(&about.durations));
        let first = starts.iter().copied().fold(f64::INFINITY, f64::min);
        let last = starts.iter().zip(&durations).map(|(s, d)| s + d).fold(f64::NEG_INFINITY, f64::max);
        let organization = uid()?;
        let mut all = vec![
            put(tags::SPECIFIC_CHARACTER_SET, "ISO_IR 192"),
            put(tags::SOP_CLASS_UID, CLASS),
            put(tags::SOP_INSTANCE_UID, uid()?),
            put(tags::IMAGE_TYPE, self.kind()),
            put(tags::STUDY_INSTANCE_UID, or_new(&like.study)?),
            put(tags::SERIES_INSTANCE_UID, uid()?),
            put(tags::FRAME_OF_REFERENCE_UID, or_new(&like.frame)?),
            put(tags::POSITION_REFERENCE_INDICATOR, like.indicator.as_str()),
            put(tags::MODALITY, "PT"),
            put(tags::PATIENT_POSITION, about.position.to_string()),
            put(tags::SERIES_NUMBER, "1"),
            put(tags::INSTANCE_NUMBER, "1"),
            put(tags::SERIES_DESCRIPTION, line(&format!("PET {}", about.isotope.name))),
            put(tags::MANUFACTURER, "Isocenter"),
            put(
                tags::MANUFACTURER_MODEL_NAME,
                Some(line(about.scanner)).filter(|name| !name.is_empty()).unwrap_or_else(|| "unknown scanner".into()),
            ),
            put(tags::DEVICE_SERIAL_NUMBER, "unknown"),
            put(tags::SOFTWARE_VERSIONS, env!("CARGO_PKG_VERSION")),
            put(tags::CONTENT_DATE, now.format("%Y%m%d").to_string()),
            put(tags::CONTENT_TIME, now.format("%H%M%S%.6f").to_string()),
            put(tags::ACQUISITION_DATE_TIME, stamp(after(self.start(), first)?)),
            reals(tags::ACQUISITION_DURATION, &[last - first]),
            items(tags::ACQUISITION_CONTEXT_SEQUENCE, Vec::new()),
            put(tags::CONTENT_QUALIFICATION, "RESEARCH"),
            put(tags::BURNED_IN_ANNOTATION, "NO"),
            put(tags::LOSSY_IMAGE_COMPRESSION, "00"),
            put(tags::PRESENTATION_LUT_SHAPE, "IDENTITY"),
            item(tags::RADIOPHARMACEUTICAL_INFORMATION_SEQUENCE, self.tracer()?),
            item(
                tags::DIMENSION_ORGANIZATION_SEQUENCE,
                vec![put(tags::DIMENSION_ORGANIZATION_UID, organization.as_str())],
            ),
            put(tags::DIMENSION_ORGANIZATION_TYPE, if image.frames.is_some() { "3D_TEMPORAL" } else { "3D" }),
            items(
                tags::DIMENSION_INDEX_SEQUENCE,
                BY_FRAME.into_iter().map(|(tag, label)| dimension(&organization, tag, label)).collect(),
            ),
            put(tags::SAMPLES_PER_PIXEL, 1u16),
            put(tags::PHOTOMETRIC_INTERPRETATION, "MONOCHROME2"),
            put(tags::NUMBER_OF_FRAMES, (self.numbers.len() * nz).to_string()),
            put(tags::ROWS, ny as u16),
            put(tags::COLUMNS, nx as u16),
            put(tags::BITS_ALLOCATED, 16u16),
            put(tags::BITS_STORED, 16u16),
            put(tags::HIGH_BIT, 15u16),
            put(tags::PIXEL_REPRESENTATION, u16::from(self.is_signed)),
            item(tags::SHARED_FUNCTIONAL_GROUPS_SEQUENCE, frames::shared(self, &stored)),
            items(tags::PER_FRAME_FUNCTIONAL_GROUPS_SEQUENCE, frames::each(self)?),
        ];
        all.extend(description());
        all.extend(self.acquisition());
        all.extend(self.corrections()?);
        all.extend(like.elements.iter().map(|(tag, text)| put(*tag, text.as_str())));
        all.push(DataElement::new(tags::PIXEL_DATA, VR::OW, PrimitiveValue::U16(stored.into())));
        Ok(InMemDicomObject::from_element_iter(all))
    }

    /// Of a scanner that stands still, and of which sizes and windows are 0 where they are not known.
    fn acquisition(&self) -> Vec<InMemElement> {
        let scan = &self.about.scan;
        let [lower, upper] = scan.energy_window;
        let mut view = code(["62824007", "SCT", "Transverse"]);
        view.push(items(tags::VIEW_MODIFIER_CODE_SEQUENCE, Vec::new()));
        vec![
            put(tags::ACQUISITION_START_CONDITION, "MANU"),
            put(tags::ACQUISITION_TERMINATION_CONDITION, "MANU"),
            put(tags::TYPE_OF_DETECTOR_MOTION, "STATIONARY"),
            put(tags::DETECTOR_GEOMETRY, "CYLINDRICAL_RING"),
            reals(tags::TRANSVERSE_DETECTOR_SEPARATION, &[0.0]),
            reals(tags::AXIAL_DETECTOR_DIMENSION, &[0.0]),
            put(tags::COLLIMATOR_TYPE, "NONE"),
            put(tags::COINCIDENCE_WINDOW_WIDTH, "0"),
            put(tags::TABLE_MOTION, "STATIC"),
            item(
                tags::ENERGY_WINDOW_RANGE_SEQUENCE,
                vec![
                    decimals(tags::ENERGY_WINDOW_LOWER_LIMIT, &[lower]),
                    decimals(tags::ENERGY_WINDOW_UPPER_LIMIT, &[upper]),
                ],
            ),
            put(tags::TIME_OF_FLIGHT_INFORMATION_USED, if scan.by_time_of_flight { "TRUE" } else { "FALSE" }),
            item(tags::VIEW_CODE_SEQUENCE, view),
        ]
    }

    fn corrections(&self) -> Result<Vec<InMemElement>> {
        let scan = &self.about.scan;
        let flag = |tag, is_made| put(tag, if is_made { "YES" } else { "NO" });
        let mut all = vec![
            put(tags::COUNTS_SOURCE, "EMISSION"),
            flag(tags::DECAY_CORRECTED, true),
            put(tags::DECAY_CORRECTION_DATE_TIME, stamp(after(self.start(), -scan.delay)?)),
            flag(tags::ATTENUATION_CORRECTED, scan.has(Correction::Attenuation)),
            flag(tags::SENSITIVITY_CALIBRATED, scan.has(Correction::Calibration)),
            flag(tags::DEAD_TIME_CORRECTED, scan.has(Correction::DeadTime)),
            flag(tags::PATIENT_MOTION_CORRECTED, scan.has(Correction::Motion)),
            flag(tags::DETECTOR_NORMALIZATION_CORRECTION, scan.has(Correction::Normalization)),
            flag(tags::RANDOMS_CORRECTED, scan.has(Correction::Randoms)),
            flag(tags::SCATTER_CORRECTED, scan.has(Correction::Scatter)),
            flag(tags::GANTRY_MOTION_CORRECTED, false),
            flag(tags::COUNT_LOSS_NORMALIZATION_CORRECTED, false),
            flag(tags::NON_UNIFORM_RADIAL_SAMPLING_CORRECTED, true),
        ];
        if scan.has(Correction::Attenuation) {
            let modality = scan.like.modality.as_str();
            let source = if ["CT", "MR"].contains(&modality) { modality } else { "UNKNOWN" };
            all.push(put(tags::ATTENUATION_CORRECTION_SOURCE, source));
            all.push(put(tags::ATTENUATION_CORRECTION_TEMPORAL_RELATIONSHIP, "SEPARATE"));
        }
        if scan.has(Correction::Randoms) {
            all.push(put(tags::RANDOMS_CORRECTION_METHOD, "SING"));
        }
        if scan.has(Correction::Scatter) {
            all.push(put(tags::SCATTER_CORRECTION_METHOD, "Single scatter simulation"));
        }
        Ok(all)
    }

    fn tracer(&self) -> Result<Vec<InMemElement>> {
        let (scan, isotope) = (&self.about.scan, self.about.isotope);
        let known = |code: &Option<Code>, or: [&str; 3]| {
            self::code(code.as_ref().map_or(or, |of| of.each_ref().map(String::as_str)))
        };
        let injected = match scan.like.injected {
            Some(time) => time,
            None => after(self.start(), -scan.delay)?,
        };
        Ok(vec![
            put(tags::RADIOPHARMACEUTICAL_AGENT_NUMBER, 1u16),
            item(tags::RADIONUCLIDE_CODE_SEQUENCE, radionuclide(&isotope.name)),
            item(
                tags::ADMINISTRATION_ROUTE_CODE_SEQUENCE,
                known(&scan.like.route, ["47625008", "SCT", "Intravenous route"]),
            ),
            item(tags::RADIOPHARMACEUTICAL_CODE_SEQUENCE, known(&scan.like.tracer, UNKNOWN)),
            put(tags::RADIOPHARMACEUTICAL_START_DATE_TIME, stamp(injected)),
            put(tags::RADIONUCLIDE_TOTAL_DOSE, scan.like.dose.map_or(String::new(), decimal)),
            decimals(tags::RADIONUCLIDE_HALF_LIFE, &[isotope.half_life]),
            decimals(tags::RADIONUCLIDE_POSITRON_FRACTION, &[isotope.branching]),
        ])
    }
}

const UNKNOWN: [&str; 3] = ["261665006", "SCT", "Unknown"];

/// Its code: SNOMED CT's, DICOM's own, which have 6 digits, or one of ours, its name.
fn radionuclide(name: &str) -> Vec<InMemElement> {
    if name.is_empty() {
        return code(UNKNOWN);
    }
    let (symbol, mass) = name.split_once('-').unwrap_or((name, ""));
    let element = ELEMENTS.iter().find(|(known, _)| *known == symbol);
    let meaning = element.map_or(line(name), |(_, word)| format!("^{mass}^{word}"));
    match isotopes::code(name) {
        Some(own) => code([own, if own.len() == 6 { "DCM" } else { "SCT" }, &meaning]),
        None => code([&line(name).chars().take(16).collect::<String>(), "99ISOCENTER", &meaning]),
    }
}

fn dimension(organization: &str, tag: Tag, label: &str) -> Vec<InMemElement> {
    let pointer = |tag: Tag| PrimitiveValue::Tags([tag].into_iter().collect());
    vec![
        put(tags::DIMENSION_ORGANIZATION_UID, organization),
        put(tags::DIMENSION_INDEX_POINTER, pointer(tag)),
        put(tags::FUNCTIONAL_GROUP_POINTER, pointer(tags::FRAME_CONTENT_SEQUENCE)),
        put(tags::DIMENSION_DESCRIPTION_LABEL, label),
    ]
}
