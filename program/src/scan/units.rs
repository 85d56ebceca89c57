//! Texts of HDF5 files, and what names of units mean.

use super::pixel::Pixel;
use crate::frames::sound;
use hdf5_metno::types::{FixedAscii, FixedUnicode, TypeDescriptor, VarLenAscii, VarLenUnicode};
use hdf5_metno::{Container, Group, H5Type};

/// Bytes of a text of fixed length that are looked at; a longer one is cut.
const LONGEST: usize = 1024;

/// Texts of an array, at most.
const TEXTS: usize = 64;

/// The only text of a dataset or an attribute, whatever its shape, its length and its letters are; nothing where there is no text.
pub fn first(of: &Container) -> Option<String> {
    // Others have no text, or none that is the only one.
    (of.size() == 1).then(|| texts(of).into_iter().next())?
}

/// The texts of a dataset or an attribute; none where it has none, or very many.
pub fn texts(of: &Container) -> Vec<String> {
    if of.size() > TEXTS {
        return Vec::new();
    }
    raw(of).unwrap_or_default().into_iter().map(of_bytes).collect()
}

/// The bytes of texts.
fn raw(of: &Container) -> Option<Vec<Vec<u8>>> {
    fn each<T: H5Type>(of: &Container, bytes: impl Fn(&T) -> &[u8]) -> Option<Vec<Vec<u8>>> {
        Some(of.read_raw::<T>().ok()?.iter().map(|text| bytes(text).to_vec()).collect())
    }
    match of.dtype().ok()?.to_descriptor().ok()? {
        TypeDescriptor::VarLenUnicode => each::<VarLenUnicode>(of, |text| text.as_bytes()),
        TypeDescriptor::VarLenAscii => each::<VarLenAscii>(of, |text| text.as_bytes()),
        TypeDescriptor::FixedUnicode(_) => each::<FixedUnicode<LONGEST>>(of, |text| text.as_bytes()),
        TypeDescriptor::FixedAscii(_) => each::<FixedAscii<LONGEST>>(of, |text| text.as_bytes()),
        _ => None,
    }
}

/// What is no UTF-8 is Latin-1, whose bytes are the first of Unicode's characters.
fn of_bytes(bytes: Vec<u8>) -> String {
    let text = String::from_utf8(bytes).unwrap_or_else(|e| e.as_bytes().iter().map(|&b| char::from(b)).collect());
    text.trim_matches(|c: char| c.is_whitespace() || c == '\0').to_string()
}

/// A line of text.
pub fn text(group: &Group, name: &str) -> Option<String> {
    let dataset = group.dataset(name).ok().filter(|dataset| dataset.size() == 1)?;
    // HDF5 would read one that is made of itself for ever.
    sound(&dataset).ok()?;
    first(&dataset)
}

/// Millimetres of a unit of length.
fn millimetres(unit: &str) -> Option<f64> {
    let unit = unit.to_lowercase();
    let stem = ["meters", "metres", "meter", "metre"].iter().find_map(|end| unit.strip_suffix(end));
    let factor = match (stem, unit.as_str()) {
        (Some(""), _) | (None, "m") => 1e3,
        (Some("centi"), _) | (None, "cm") => 10.0,
        (Some("milli"), _) | (None, "mm") => 1.0,
        // The sign of micro has two places in Unicode: its own, and the Greek letter.
        (Some("micro"), _) | (None, "um" | "\u{b5}m" | "\u{3bc}m" | "micron" | "microns") => 1e-3,
        (Some("nano"), _) | (None, "nm") => 1e-6,
        _ => return None,
    };
    Some(factor)
}

/// The side of a pixel of this length, in what it is where the file names no unit.
pub fn pixel(length: f64, units: Option<&str>, else_in: &str) -> Pixel {
    let told = match units {
        Some(units) => format!("{length} in \"{units}\""),
        None => format!("{length} without units, which is taken for {else_in}"),
    };
    match millimetres(units.unwrap_or(else_in)) {
        Some(factor) => Pixel::of(length * factor, &told),
        None => Pixel::Unread(format!("the side of a pixel is {told}, which is no unit of length that is known")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdf5_metno::types::TypeDescriptor as Kind;
    use hdf5_metno::{Attribute, File};

    /// An attribute of a text of this kind, alone or in an array.
    fn attribute(file: &File, kind: &Kind, array: bool, text: &[u8]) -> Attribute {
        let builder = file.new_attr_builder().empty_as(kind.clone());
        let made = if array { builder.shape([1]).create("units") } else { builder.create("units") };
        let attribute = made.expect("an attribute");
        let text = std::str::from_utf8(text).expect("UTF-8");
        let written = match kind {
            Kind::VarLenUnicode => attribute.write_raw(&[text.parse::<VarLenUnicode>().expect("text")]),
            Kind::VarLenAscii => attribute.write_raw(&[VarLenAscii::from_ascii(text).expect("ASCII")]),
            Kind::FixedUnicode(_) => attribute.write_raw(&[text.parse::<FixedUnicode<8>>().expect("text")]),
            _ => attribute.write_raw(&[FixedAscii::<8>::from_ascii(text).expect("ASCII")]),
        };
        written.expect("written");
        attribute
    }

    /// All that h5py, NeXus's library and others write.
    #[test]
    fn texts_of_all_kinds() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = File::create(folder.path().join("a.h5")).expect("a file");
        for kind in [Kind::VarLenUnicode, Kind::VarLenAscii, Kind::FixedUnicode(8), Kind::FixedAscii(8)] {
            for array in [false, true] {
                let unicode = matches!(kind, Kind::VarLenUnicode | Kind::FixedUnicode(_));
                for text in if unicode { vec!["um", "\u{b5}m", "\u{3bc}m"] } else { vec!["um", " um"] } {
                    let seen = first(&attribute(&file, &kind, array, text.as_bytes()));
                    assert_eq!(seen.as_deref(), Some(text.trim()), "{kind:?}, array {array}");
                    file.delete_attr("units").expect("removed");
                }
            }
        }
        let number = file.new_attr::<f64>().create("units").expect("an attribute");
        number.write_scalar(&3.0).expect("a number");
        assert_eq!(first(&number), None);
    }

    #[test]
    fn names_of_units() {
        for (names, mm) in [
            (&["m", "meter", "meters", "metre", "Metres"][..], 1e3),
            (&["cm", "centimeter"], 10.0),
            (&["mm", "millimeter", "millimetre", "MM"], 1.0),
            (&["um", "\u{b5}m", "\u{3bc}m", "micron", "microns", "micrometer", "micrometers", "micrometre"], 1e-3),
            (&["nm", "nanometers"], 1e-6),
        ] {
            for name in names {
                assert_eq!(millimetres(name), Some(mm), "{name}");
            }
        }
        for name in ["pixel", "", "mrad", "kilometer", "inch"] {
            assert_eq!(millimetres(name), None, "{name}");
        }
    }
}
