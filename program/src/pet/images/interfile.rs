//! Interfile: a header, NAME.hv, and its data, NAME.v, float in little endian, x fastest, with the keys of STIR.

use super::{About, Image, bytes};
use crate::names;
use crate::pet::isotopes::ELEMENTS;
use crate::pet::told::general;
use anyhow::Result;
use std::path::{Path, PathBuf};

/// Of numbers.
const DIGITS: usize = 9;

pub fn write(path: &Path, image: &Image, about: &About) -> Result<Vec<PathBuf>> {
    let data = path.with_extension("v");
    names::file(path)?;
    names::write(&data, bytes(image.values))?;
    let name = data.file_name().unwrap_or_default().to_string_lossy();
    names::write(path, header(&name, image, about))?;
    Ok(vec![path.into(), data])
}

/// What a name may have in a line.
fn line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

fn header(data: &str, image: &Image, about: &About) -> String {
    let [nz, ny, nx] = image.shape;
    let volume = nx * ny * nz * size_of::<f32>();
    let [enters, turned] = about.position.in_interfile();
    let isotope = about.isotope;
    let (symbol, mass) = isotope.name.split_once('-').unwrap_or((&isotope.name, ""));
    // As STIR's and DICOM's ^18^Fluorine.
    let element = ELEMENTS.iter().find(|(known, _)| *known == symbol);
    let nuclide = element.map_or(isotope.name.clone(), |(_, name)| format!("^{mass}^{name}"));
    let mut lines = vec![
        "!INTERFILE :=".to_string(),
        format!("; values are in {}", about.unit),
        format!("name of data file := {}", line(data)),
        "!GENERAL DATA :=".into(),
    ];
    if !about.scanner.is_empty() {
        lines.push(format!("originating system := {}", line(about.scanner)));
    }
    lines.extend(
        [
            "!imaging modality := PT".to_string(),
            format!("patient orientation := {enters}"),
            format!("patient rotation := {turned}"),
            "number of radionuclides := 1".into(),
            format!("radionuclide name[1] := {}", line(&nuclide)),
        ]
        .into_iter()
        .chain(
            (isotope.half_life > 0.0)
                .then(|| format!("radionuclide halflife (sec)[1] := {}", general(isotope.half_life, DIGITS))),
        )
        .chain([
            format!("radionuclide branching factor[1] := {}", general(isotope.branching, DIGITS)),
            "!GENERAL IMAGE DATA :=".into(),
            "!type of data := PET".into(),
            "imagedata byte order := LITTLEENDIAN".into(),
            "!PET STUDY (General) :=".into(),
            "!PET data type := Image".into(),
            "process status := Reconstructed".into(),
            "!number format := float".into(),
            "!number of bytes per pixel := 4".into(),
            "number of dimensions := 3".into(),
        ]),
    );
    for (k, (axis, n)) in [("x", nx), ("y", ny), ("z", nz)].into_iter().enumerate() {
        let (side, number) = (about.voxel[k], k + 1);
        let offset = about.centre[k] - (n as f64 - 1.0) / 2.0 * side;
        lines.push(format!("matrix axis label [{number}] := {axis}"));
        lines.push(format!("!matrix size [{number}] := {n}"));
        lines.push(format!("scaling factor (mm/pixel) [{number}] := {}", general(side, DIGITS)));
        lines.push(format!("first pixel offset (mm) [{number}] := {}", general(offset, DIGITS)));
    }
    let frames = image.frames.unwrap_or(1);
    lines.push(format!("number of time frames := {frames}"));
    for k in 0..frames {
        let number = k + 1;
        lines.push(format!("image duration (sec)[{number}] := {}", general(about.durations[k], DIGITS)));
        lines.push(format!("image relative start time (sec)[{number}] := {}", general(about.starts[k], DIGITS)));
        lines.push(format!("image scaling factor[{number}] := 1"));
        lines.push(format!("data offset in bytes[{number}] := {}", k * volume));
    }
    lines.push("quantification units := 1".into());
    lines.push("!END OF INTERFILE :=\n".into());
    lines.join("\n")
}
