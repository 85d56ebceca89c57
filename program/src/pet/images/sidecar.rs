//! The JSON file beside an image, with what is known of PET-BIDS's fields, <https://bids-specification.readthedocs.io>, "Positron Emission Tomography".

use super::Format;
use crate::names;
use crate::pet::found::{Found, Quantified};
use anyhow::Result;
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};

/// Writes the file beside an image; None of a kind that has all of it inside.
pub fn write(path: &Path, made: &Quantified) -> Result<Option<PathBuf>> {
    let (format, stem) = Format::of(path)?;
    let place = match format {
        Format::Nifti { .. } => None,
        Format::Numpy => Some(json!({
            "Shape": if made.is_series { "(frames, z, y, x)" } else { "(z, y, x)" },
            "VoxelSize": vec![made.voxel; 3],
            "Centre": made.centre,
            "PatientPosition": made.position.to_string(),
        })),
        Format::Interfile | Format::Dicom => return Ok(None),
    };
    let mut fields = fields(made);
    if let Some(Value::Object(place)) = place {
        fields.extend(place);
    }
    let beside = PathBuf::from(stem + ".json");
    names::write(&beside, serde_json::to_string_pretty(&Value::Object(fields))? + "\n")?;
    Ok(Some(beside))
}

/// Time zero is the scan's start; fields that PET-BIDS does not have are named as DICOM does.
fn fields(made: &Quantified) -> Map<String, Value> {
    let setting = |name: &str| {
        made.settings.iter().find(|(known, _)| *known == name).map_or(String::new(), |(_, value)| value.clone())
    };
    let each = |of: &dyn Fn(&Found) -> f64| made.found.iter().map(of).collect::<Vec<_>>();
    // Of all counts, as DICOM's Scatter Fraction Factor, but in percent.
    let scatter = each(&|of| if of.counted > 0 { 100.0 * of.scatter / of.counted as f64 } else { 0.0 });
    let all = json!({
        "FrameTimesStart": each(&|of| of.start),
        "FrameDuration": each(&|of| of.duration),
        "Modality": "PT",
        "ManufacturersModelName": made.scanner,
        "Units": "Bq/mL",
        "ScanStart": 0,
        "AcquisitionMode": "list mode",
        "TracerRadionuclide": made.isotope.name.replace('-', ""),
        "RadionuclideHalfLife": made.isotope.half_life,
        "RadionuclidePositronFraction": made.isotope.branching,
        "ImageDecayCorrected": true,
        "ImageDecayCorrectionTime": 0.0 - made.delay,
        "DecayCorrectionFactor": each(&|of| of.decay),
        "AttenuationCorrection": setting("attenuation"),
        "ScatterFraction": scatter,
        "ReconMethodName": setting("algorithm"),
        "ReconMethodParameterLabels": ["none"],
        "ReconFilterType": "none",
    });
    let Value::Object(all) = all else { return Map::new() };
    all.into_iter().filter(|(_, value)| value.as_str() != Some("")).collect()
}
