//! NumPy's files, <https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html>.

use super::{Image, bytes};
use crate::{names, status};
use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};

const MAGIC: &[u8] = b"\x93NUMPY";

/// What values begin at a multiple of.
const ALIGNMENT: usize = 64;

pub fn write(path: &Path, image: &Image) -> Result<Vec<PathBuf>> {
    let shape: Vec<_> = image.frames.into_iter().chain(image.shape).map(|n| n.to_string()).collect();
    let mut header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}), }}", shape.join(", "));
    let before = 10;
    let whole = (before + header.len() + 1).next_multiple_of(ALIGNMENT);
    header.push_str(&" ".repeat(whole - before - header.len() - 1));
    header.push('\n');
    let mut all = [MAGIC, &[1, 0]].concat();
    all.extend((header.len() as u16).to_le_bytes());
    all.extend(header.as_bytes());
    all.extend(bytes(image.values));
    names::write(path, all)?;
    Ok(vec![path.into()])
}

/// A list of numbers.
pub fn read(path: &Path) -> Result<Vec<f64>> {
    let read = || {
        let (shape, values) = parse(&std::fs::read(path)?)?;
        ensure!(shape.len() == 1, "it has shape ({}); it must be a list", told(&shape));
        Ok(values)
    };
    read().with_context(|| path.display().to_string()).map_err(status::unreadable)
}

/// Rows of numbers; those of a list have one each.
pub fn read_rows(path: &Path) -> Result<Vec<Vec<f64>>> {
    let read = || {
        let (shape, values) = parse(&std::fs::read(path)?)?;
        let has_rows = matches!(shape.len(), 1 | 2) && !values.is_empty();
        ensure!(has_rows, "it has shape ({}); it must be rows of numbers", told(&shape));
        Ok(values.chunks(shape.get(1).copied().unwrap_or(1)).map(<[f64]>::to_vec).collect())
    };
    read().with_context(|| path.display().to_string())
}

fn told(shape: &[usize]) -> String {
    shape.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")
}

/// Shape and values, whole numbers or float of 32 or 64 bits in little endian, row by row.
fn parse(bytes: &[u8]) -> Result<(Vec<usize>, Vec<f64>)> {
    ensure!(bytes.starts_with(MAGIC), "it is no NumPy file (.npy)");
    let at = |k: usize| bytes.get(k).copied().map_or(0, usize::from);
    // Of version 1 the header's length has two bytes, of later ones four.
    let begin = if at(6) == 1 { 10 } else { 12 };
    let length = (8..begin).rev().fold(0, |length, k| length << 8 | at(k));
    let header = bytes.get(begin..begin + length).context("its header is not whole")?;
    let header: String = String::from_utf8_lossy(header).split_whitespace().collect();
    let value = |name: &str| header.split_once(&format!("'{name}':")).map_or("", |(_, rest)| rest);
    let sides =
        value("shape").split_once('(').and_then(|(_, rest)| rest.split_once(')')).map_or("", |(shape, _)| shape);
    let shape = sides.trim_end_matches(',').split(',').map(str::parse).collect::<Result<Vec<usize>, _>>();
    let shape = shape.ok().with_context(|| format!("it has shape ({sides}); it must be rows of numbers"))?;
    ensure!(
        shape.len() == 1 || !value("fortran_order").starts_with("True"),
        "its values go column by column; they must go row by row (numpy.ascontiguousarray)"
    );
    let descr = value("descr").split(',').next().unwrap_or_default().trim_matches('\'').to_string();
    let data = &bytes[begin + length..];
    let values: Vec<f64> = match descr.as_str() {
        "<f4" => data.as_chunks().0.iter().map(|b| f32::from_le_bytes(*b).into()).collect(),
        "<f8" => data.as_chunks().0.iter().map(|b| f64::from_le_bytes(*b)).collect(),
        "<i4" => data.as_chunks().0.iter().map(|b| i32::from_le_bytes(*b).into()).collect(),
        "<i8" => data.as_chunks().0.iter().map(|b| i64::from_le_bytes(*b) as f64).collect(),
        _ => anyhow::bail!("its values are {descr}; they must be <f4, <f8, <i4 or <i8"),
    };
    let count = shape.iter().try_fold(1usize, |n, side| n.checked_mul(*side)).unwrap_or(usize::MAX);
    ensure!(values.len() >= count, "it ends before its {count} values do");
    Ok((shape, values[..count].to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read() {
        let of = |descr: &str, shape: &str, data: &[u8]| {
            let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({shape}), }}\n");
            [MAGIC, &[1, 0, header.len() as u8, 0], header.as_bytes(), data].concat()
        };
        let data = [0.5f32, 1.0].map(f32::to_le_bytes).concat();
        assert_eq!(parse(&of("<f4", "2,", &data)).expect("a list"), (vec![2], vec![0.5, 1.0]));
        assert_eq!(parse(&of("<f8", "1,", &0.25f64.to_le_bytes())).expect("a list"), (vec![1], vec![0.25]));
        let whole = [3i64, -4].map(i64::to_le_bytes).concat();
        assert_eq!(parse(&of("<i8", "1, 2", &whole)).expect("a row"), (vec![1, 2], vec![3.0, -4.0]));
        for (bytes, word) in [
            (of("<f4", "3,", &data), "ends before its 3 values"),
            (of("<f4", "2, x", &data), "it must be rows of numbers"),
            (of("<f4", "18446744073709551615, 2", &data), "it ends before its"),
            (of(">f4", "2,", &data), "its values are >f4"),
            (b"\x93NUMPY\x01\0\xff\0".to_vec(), "not whole"),
            (b"1.0 2.0".to_vec(), "no NumPy file"),
        ] {
            let error = parse(&bytes).expect_err("refused").to_string();
            assert!(error.contains(word), "{word}: {error}");
        }
        crate::mutations::each(&of("<f4", "2,", &data), |bytes| drop(parse(bytes)));
    }
}
