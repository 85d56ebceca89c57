//! Values alone, of which an `.info` file tells, as PyHST2 writes them.

use super::Opened;
use crate::frames::of_values;
use anyhow::{Context, Result, bail};
use isocenter::array::DType;
use std::path::Path;

const MM_OF_UM: f64 = 1e-3;

pub fn open(path: &Path) -> Result<Opened> {
    let beside = path.with_added_extension("info");
    let text = std::fs::read_to_string(&beside).with_context(|| format!("reading {}", beside.display()))?;
    let (shape, dtype, big_endian, pixel) = told(&text).with_context(|| beside.display().to_string())?;
    let source = of_values(path, shape, dtype, big_endian)?;
    // Integers are over a window, which is not told there.
    let scale = (dtype == DType::F32).then_some([1.0, 0.0]);
    // PyHST's are a centimetre, which is not told either.
    Ok(Opened { scale, ..Opened::new(source, None, pixel.map(|side| [side; 2])) })
}

/// Sides, numbers, and the side of a voxel in millimetres.
fn told(text: &str) -> Result<([usize; 3], DType, bool, Option<f64>)> {
    let value = |name: &str| {
        let pairs = text.lines().filter_map(|line| line.split_once('='));
        pairs.map(|(key, value)| (key.trim(), value.trim())).find(|(key, _)| *key == name).map(|(_, value)| value)
    };
    let side = |name: &str| {
        let side = value(name).and_then(|side| side.parse::<usize>().ok());
        side.with_context(|| format!("it does not tell {name}"))
    };
    let shape = [side("NUM_Z")?, side("NUM_Y")?, side("NUM_X")?];
    let dtype = match value("DATA_TYPE").map(str::to_lowercase).as_deref() {
        None | Some("float32" | "float") => DType::F32,
        Some("uint16") => DType::U16,
        Some("uint8") => DType::U8,
        Some(other) => bail!("DATA_TYPE is {other}; float32, uint16 and uint8 are known"),
    };
    let big_endian = match value("BYTEORDER") {
        None | Some("LOWBYTEFIRST") => false,
        Some("HIGHBYTEFIRST") => true,
        Some(other) => bail!("BYTEORDER is {other}; LOWBYTEFIRST and HIGHBYTEFIRST are known"),
    };
    // A side of 1 stands for none, too.
    let voxel = value("voxelSize").and_then(|side| side.parse::<f64>().ok());
    let voxel = voxel.filter(|side| *side > 0.0 && *side != 1.0 && side.is_finite());
    Ok((shape, dtype, big_endian, voxel.map(|um| um * MM_OF_UM)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told() {
        let text = "! a comment\nNUM_X = 5\nNUM_Y=4\n NUM_Z = 3\nvoxelSize = 0.65\nBYTEORDER = HIGHBYTEFIRST\n";
        let (shape, dtype, big_endian, pixel) = told(text).expect("sides");
        assert_eq!((shape, dtype, big_endian), ([3, 4, 5], DType::F32, true));
        // A product of two rounds once.
        assert!(pixel.is_some_and(|pixel| (pixel - 6.5e-4).abs() < 1e-18));
        assert_eq!(told(&text.replace("0.65", "1")).expect("sides").3, None);
        assert_eq!(told(&(text.to_string() + "DATA_TYPE = uint16\n")).expect("sides").1, DType::U16);
        for (other, word) in [
            (text.replace("NUM_Z = 3", ""), "NUM_Z"),
            (text.replace("NUM_Y=4", "NUM_Y=-4"), "NUM_Y"),
            (text.replace("HIGHBYTEFIRST", "VAX"), "BYTEORDER"),
            (text.to_string() + "DATA_TYPE = complex", "DATA_TYPE"),
        ] {
            let error = told(&other).expect_err("an error").to_string();
            assert!(error.contains(word), "{error}");
        }
    }
}
