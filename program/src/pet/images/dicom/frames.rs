//! Functional groups: what all frames have, and each of them, which DICOM takes for a slice of a frame of time.

use super::elements::{Writer, code, decimals, description, item, line, put, reals};
use super::{after, stamp};
use anyhow::Result;
use dicom_core::value::PrimitiveValue;
use dicom_core::{DataElement, VR};
use dicom_dictionary_std::tags;
use dicom_object::mem::InMemElement;

/// Columns: where x, y and z go in the patient, to the left, back and head.
fn axes(writer: &Writer) -> [[f64; 3]; 3] {
    let rows = writer.about.position.to_patient();
    [0, 1, 2].map(|k| rows.map(|row| row[k]))
}

/// A place in the scanner's frame, in the patient's.
fn in_patient(writer: &Writer, place: [f64; 3]) -> [f64; 3] {
    writer.about.position.to_patient().map(|row| row.iter().zip(place).map(|(a, b)| a * b).sum())
}

/// What is the same for all.
pub(super) fn shared(writer: &Writer, stored: &[u16]) -> Vec<InMemElement> {
    let ([_, ny, nx], about) = (writer.image.shape, writer.about);
    let volume = stored.len() / writer.slopes.len();
    let largest = |values: &[u16]| {
        values.iter().map(|v| if writer.is_signed { (*v as i16).unsigned_abs() } else { *v }).max().unwrap_or(0)
    };
    let frames = stored.chunks_exact(volume).zip(writer.slopes);
    let high = frames.map(|(values, slope)| slope * f64::from(largest(values))).fold(0.0, f64::max);
    let low = if writer.is_signed { -high } else { 0.0 };
    let [x, y, _] = axes(writer);
    let sides = [nx as f64 * about.voxel[0], ny as f64 * about.voxel[1]];
    let mut all = vec![
        item(
            tags::PIXEL_MEASURES_SEQUENCE,
            vec![
                decimals(tags::PIXEL_SPACING, &[about.voxel[1], about.voxel[0]]),
                decimals(tags::SLICE_THICKNESS, &[about.voxel[2]]),
                decimals(tags::SPACING_BETWEEN_SLICES, &[about.voxel[2]]),
            ],
        ),
        item(tags::PLANE_ORIENTATION_SEQUENCE, vec![decimals(tags::IMAGE_ORIENTATION_PATIENT, &[x, y].concat())]),
        item(
            tags::FRAME_ANATOMY_SEQUENCE,
            vec![
                item(tags::ANATOMIC_REGION_SEQUENCE, code(["38266002", "SCT", "Entire body"])),
                put(tags::FRAME_LATERALITY, "U"),
            ],
        ),
        item(
            tags::FRAME_VOILUT_SEQUENCE,
            vec![
                decimals(tags::WINDOW_CENTER, &[(low + high) / 2.0]),
                // DICOM has no windows narrower than 1.
                decimals(tags::WINDOW_WIDTH, &[(high - low).max(1.0)]),
            ],
        ),
        item(tags::RADIOPHARMACEUTICAL_USAGE_SEQUENCE, vec![put(tags::RADIOPHARMACEUTICAL_AGENT_NUMBER, 1u16)]),
        item(
            tags::PET_FRAME_TYPE_SEQUENCE,
            std::iter::once(put(tags::FRAME_TYPE, writer.kind())).chain(description()).collect(),
        ),
        item(
            tags::PET_FRAME_ACQUISITION_SEQUENCE,
            vec![
                put(tags::TABLE_HEIGHT, "0"),
                put(tags::GANTRY_DETECTOR_TILT, "0"),
                put(tags::GANTRY_DETECTOR_SLEW, "0"),
                decimals(tags::DATA_COLLECTION_DIAMETER, &[sides[0].min(sides[1])]),
            ],
        ),
        item(
            tags::PET_POSITION_SEQUENCE,
            vec![
                reals(tags::TABLE_POSITION, &[0.0]),
                reals(tags::DATA_COLLECTION_CENTER_PATIENT, &[0.0; 3]),
                reals(tags::RECONSTRUCTION_TARGET_CENTER_PATIENT, &in_patient(writer, about.centre)),
            ],
        ),
    ];
    if writer.image.frames.is_none() {
        all.extend(values(writer, writer.slopes[0]));
    }
    all
}

/// From stored integers to Bq/ml, in both of the ways that readers look for.
fn values(writer: &Writer, slope: f64) -> [InMemElement; 2] {
    let limit = |tag, v: i32| match writer.is_signed {
        true => DataElement::new(tag, VR::SS, PrimitiveValue::from(v as i16)),
        false => DataElement::new(tag, VR::US, PrimitiveValue::from(v as u16)),
    };
    let [low, high] =
        if writer.is_signed { [i16::MIN, i16::MAX].map(i32::from) } else { [u16::MIN, u16::MAX].map(i32::from) };
    [
        item(
            tags::PIXEL_VALUE_TRANSFORMATION_SEQUENCE,
            vec![
                put(tags::RESCALE_INTERCEPT, "0"),
                decimals(tags::RESCALE_SLOPE, &[slope]),
                put(tags::RESCALE_TYPE, "BQML"),
            ],
        ),
        item(
            tags::REAL_WORLD_VALUE_MAPPING_SEQUENCE,
            vec![
                limit(tags::REAL_WORLD_VALUE_FIRST_VALUE_MAPPED, low),
                limit(tags::REAL_WORLD_VALUE_LAST_VALUE_MAPPED, high),
                reals(tags::REAL_WORLD_VALUE_INTERCEPT, &[0.0]),
                reals(tags::REAL_WORLD_VALUE_SLOPE, &[slope]),
                put(tags::LUT_EXPLANATION, "Activity"),
                put(tags::LUT_LABEL, "BQML"),
                item(tags::MEASUREMENT_UNITS_CODE_SEQUENCE, code(["Bq/ml", "UCUM", "Becquerels/milliliter"])),
            ],
        ),
    ]
}

/// Of each slice of each frame of time, slices first.
pub(super) fn each(writer: &Writer) -> Result<Vec<Vec<InMemElement>>> {
    let slices = writer.image.shape[0];
    (0..writer.numbers.len() * slices).map(|frame| one(writer, frame / slices, frame % slices)).collect()
}

fn one(writer: &Writer, k: usize, z: usize) -> Result<Vec<InMemElement>> {
    let ([nz, ny, nx], about) = (writer.image.shape, writer.about);
    let number = writer.numbers[k];
    let (begins, lasts, found) = (about.starts[number], about.durations[number], &about.scan.found[number]);
    let at = [(0, nx, 0), (1, ny, 0), (2, nz, z)]
        .map(|(axis, n, k)| about.centre[axis] + (k as f64 - (n as f64 - 1.0) / 2.0) * about.voxel[axis]);
    let start = writer.start();
    let part = if found.counted > 0 { found.scatter / found.counted as f64 } else { 0.0 };
    let algorithm = about.scan.algorithm.to_uppercase().replace(|c: char| !c.is_ascii_alphanumeric(), "_");
    let mut all = vec![
        item(
            tags::FRAME_CONTENT_SEQUENCE,
            vec![
                put(tags::FRAME_ACQUISITION_DATE_TIME, stamp(after(start, begins)?)),
                put(tags::FRAME_REFERENCE_DATE_TIME, stamp(after(start, begins + lasts / 2.0)?)),
                reals(tags::FRAME_ACQUISITION_DURATION, &[1000.0 * lasts]),
                put(tags::STACK_ID, "1"),
                put(tags::IN_STACK_POSITION_NUMBER, z as u32 + 1),
                put(tags::TEMPORAL_POSITION_INDEX, k as u32 + 1),
                put(
                    tags::DIMENSION_INDEX_VALUES,
                    PrimitiveValue::U32([1, k as u32 + 1, z as u32 + 1].into_iter().collect()),
                ),
                put(tags::FRAME_LABEL, line(&about.scan.names[number])),
            ],
        ),
        item(tags::PLANE_POSITION_SEQUENCE, vec![decimals(tags::IMAGE_POSITION_PATIENT, &in_patient(writer, at))]),
        item(
            tags::PET_FRAME_CORRECTION_FACTORS_SEQUENCE,
            vec![
                put(tags::PRIMARY_PROMPTS_COUNTS_ACCUMULATED, found.prompts.min(i32::MAX as u64).to_string()),
                put(tags::SLICE_SENSITIVITY_FACTOR, "1"),
                decimals(tags::SCATTER_FRACTION_FACTOR, &[part]),
                decimals(tags::DEAD_TIME_FACTOR, &[1.0 / found.alive]),
                decimals(tags::DECAY_FACTOR, &[found.decay]),
            ],
        ),
        item(
            tags::PET_RECONSTRUCTION_SEQUENCE,
            vec![
                put(tags::RECONSTRUCTION_TYPE, "3D"),
                put(tags::RECONSTRUCTION_ALGORITHM, algorithm),
                put(tags::ITERATIVE_RECONSTRUCTION_METHOD, "YES"),
                put(tags::NUMBER_OF_ITERATIONS, found.history.len().min(usize::from(u16::MAX)) as u16),
                put(tags::NUMBER_OF_SUBSETS, 1u16),
                reals(tags::RECONSTRUCTION_FIELD_OF_VIEW, &[nx as f64 * about.voxel[0], ny as f64 * about.voxel[1]]),
            ],
        ),
    ];
    if writer.image.frames.is_some() {
        all.extend(values(writer, writer.slopes[k]));
    }
    Ok(all)
}
