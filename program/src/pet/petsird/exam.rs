//! What a header says of the scan besides the scanner's crystals.

use super::scanner;
use crate::pet::isotopes::{self, Isotope};
use crate::pet::position::Position;
use crate::pet::told::general;
use crate::pet::yardl::Value;
use anyhow::{Result, ensure};

/// Codes of SNOMED CT and SRT, and words, of DICOM's CID 20 and 21.
const DOWN: [(&str, [&str; 3]); 4] = [
    ("S", ["40199007", "F-10340", "supine"]),
    ("P", ["1240000", "F-10310", "prone"]),
    ("DR", ["102535000", "F-10317", "right lateral decubitus"]),
    ("DL", ["102536004", "F-10319", "left lateral decubitus"]),
];
const IN: [(&str, [&str; 4]); 2] = [
    ("HF", ["102540008", "F-10470", "headfirst", "head first"]),
    ("FF", ["102541007", "F-10480", "feet first", "feetfirst"]),
];
/// A gantry that is turned by less, radians, is not: over 1 m that is 1 mm.
const TURNED: f64 = 1e-3;

/// What a header says.
#[derive(Clone, Debug)]
pub struct Said {
    /// None of none, and of one that is not known.
    pub isotope: Option<Isotope>,
    /// Its name in the file, "" of none.
    pub nuclide: String,
    /// Of the patient; None where the file does not say all of it.
    pub position: Option<Position>,
    /// How the patient lies, in words.
    pub lies: String,
    /// From the scanner to a reference, such as a CT.
    alignment: Option<(Vec<usize>, Vec<f64>)>,
    /// 1 of none.
    pub calibration: f64,
    /// Whether the scanner stores prompts, and delays.
    pub stores: [bool; 2],
}

impl Said {
    pub fn new(header: &Value) -> Result<Self> {
        let scanner = header.part("scanner")?;
        let exam = header.field("exam");
        let factor = scanner.part("detectionEfficiencies")?.field("calibrationFactor");
        let factor = factor.map_or(Ok(1.0), |value| value.number("calibration factor"))?;
        let alignment = scanner.field("gantryAlignment");
        let alignment = alignment.map(|of| of.part("matrix")?.numbers("gantry alignment")).transpose()?;
        let (isotope, nuclide) = exam.map_or(Ok((None, String::new())), isotope)?;
        let (position, lies) =
            exam.and_then(|exam| exam.field("patientOrientation")).map_or((None, String::new()), position);
        let stores = ["prompt", "delayed"].map(|kind| scanner::stored(scanner, kind));
        // Files without a factor have 0.
        let calibration = if factor == 0.0 { 1.0 } else { factor };
        Ok(Self { isotope, nuclide, position, lies, alignment, calibration, stores })
    }

    /// From the scanner to the reference of the gantry alignment: x, y, z, mm.
    pub fn shift(&self) -> Result<[f64; 3]> {
        let Some((shape, matrix)) = &self.alignment else { return Ok([0.0; 3]) };
        ensure!(*shape == [3, 4], "the file's gantry alignment has shape {shape:?}; it must be (3, 4)");
        let off = |k: usize| matrix[k] - if k % 4 == k / 4 { 1.0 } else { 0.0 };
        let squares: f64 = (0..12).filter(|k| k % 4 < 3).map(|k| off(k) * off(k)).sum();
        let angle = (squares / 2.0).sqrt();
        ensure!(
            angle <= TURNED,
            "the file's gantry alignment turns by {} degrees, and shifts alone can be applied: resample the map of attenuation to the scanner's axes, and \
             give --no-alignment",
            general(angle.to_degrees(), 2)
        );
        Ok([0, 1, 2].map(|row| matrix[4 * row + 3]))
    }
}

/// The isotope of an exam, and the name that it has there.
fn isotope(exam: &Value) -> Result<(Option<Isotope>, String)> {
    let mut found: Vec<(Option<Isotope>, String)> = Vec::new();
    for one in exam.field("radiopharmaceuticals").map(Value::list).transpose()?.unwrap_or_default() {
        let code = one.part("radionuclideCodeSequence")?;
        let [meaning, value] = ["codeMeaning", "codeValue"].map(|name| word(code, name));
        let name = if meaning.is_empty() { value } else { meaning };
        if !name.is_empty() {
            found.push((isotopes::known(meaning).or_else(|| isotopes::of_code(value)), name.into()));
        }
    }
    let key =
        |(isotope, name): &(Option<Isotope>, String)| isotope.as_ref().map_or(name.clone(), |one| one.name.clone());
    match found.first() {
        None => Ok((None, String::new())),
        Some(first) if found.iter().any(|one| key(one) != key(first)) => {
            let names: Vec<_> = found.iter().map(|(_, name)| name.as_str()).collect();
            Ok((None, names.join(" and ")))
        }
        Some(first) => Ok(first.clone()),
    }
}

/// A text of a code, "" where there is none.
fn word<'a>(code: &'a Value, name: &str) -> &'a str {
    code.field(name).and_then(|text| text.text().ok()).unwrap_or_default().trim()
}

fn position(said: &Value) -> (Option<Position>, String) {
    let names = [
        "patientGantryRelationshipCodeSequence",
        "patientEquipmentRelationshipCodeSequence",
        "patientOrientationCodeSequence",
        "patientOrientationModifierCodeSequence",
    ];
    let codes: Vec<[&str; 2]> = names
        .iter()
        .filter_map(|name| said.field(name))
        .map(|code| ["codeMeaning", "codeValue"].map(|n| word(code, n)))
        .collect();
    let words = codes.iter().map(|[meaning, value]| if meaning.is_empty() { *value } else { *meaning });
    let words: Vec<_> = words.filter(|word| !word.is_empty()).collect();
    let enters = which(IN.iter().map(|(name, known)| (*name, &known[..])), &codes);
    let down = which(DOWN.iter().map(|(name, known)| (*name, &known[..])), &codes);
    let position = enters.zip(down).and_then(|(enters, down)| format!("{enters}{down}").parse().ok());
    (position, words.join(", "))
}

fn which<'a>(table: impl Iterator<Item = (&'a str, &'a [&'a str])> + Clone, codes: &[[&str; 2]]) -> Option<&'a str> {
    codes.iter().find_map(|[meaning, value]| {
        let meaning = meaning.to_lowercase();
        let parts: Vec<_> = meaning.split(|c: char| !c.is_ascii_lowercase()).filter(|part| !part.is_empty()).collect();
        let words = [value.to_string(), parts.join(" ")];
        let mut table = table.clone();
        table.find(|(_, known)| known.iter().any(|known| words.iter().any(|word| word == known))).map(|(name, _)| name)
    })
}
