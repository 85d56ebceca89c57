//! NIfTI files of one volume, <https://nifti.nimh.nih.gov/nifti-1/>, of either version.

use super::affine::rotation;
use super::{Volume, gzip};
use crate::pet::petsird::{dot, length};
use crate::pet::position::Position;
use crate::pet::told::general;
use crate::status;
use anyhow::{Context, Result, bail, ensure};
use std::path::Path;

/// Axes off an array's by more than so many voxels at its corners are rotated.
const ROTATED: f64 = 0.1;

/// A volume whose axes are the scanner's, in any order and direction, with its axes turned and flipped to be the scanner's. The unit is the file's intent name.
pub fn read(path: &Path, position: Position) -> Result<Volume> {
    let read = || {
        let bytes = std::fs::read(path)?;
        let bytes = if gzip::is(&bytes) { gzip::unpacked(&bytes)? } else { bytes };
        parse(&bytes, position)
    };
    read().with_context(|| path.display().to_string()).map_err(status::unreadable)
}

/// A header's numbers, wherever they are.
struct Header<'a> {
    bytes: &'a [u8],
    is_big: bool,
    is_second: bool,
}

impl Header<'_> {
    fn raw<const N: usize>(&self, at: usize) -> [u8; N] {
        let mut made = [0; N];
        let there = self.bytes.get(at..at + N);
        if let Some(there) = there {
            made.copy_from_slice(there);
        }
        if self.is_big {
            made.reverse();
        }
        made
    }

    fn short(&self, at: usize) -> i64 {
        i16::from_le_bytes(self.raw(at)).into()
    }

    /// At one place of the first version, and another of the second.
    fn real(&self, [first, second]: [usize; 2]) -> f64 {
        match self.is_second {
            true => f64::from_le_bytes(self.raw(second)),
            false => f32::from_le_bytes(self.raw(first)).into(),
        }
    }

    fn whole(&self, [first, second]: [usize; 2]) -> i64 {
        if self.is_second { i32::from_le_bytes(self.raw(second)).into() } else { self.short(first) }
    }

    fn size(&self, k: usize) -> i64 {
        if self.is_second { i64::from_le_bytes(self.raw(16 + 8 * k)) } else { self.short(40 + 2 * k) }
    }

    fn side(&self, k: usize) -> f64 {
        self.real([76 + 4 * k, 104 + 8 * k])
    }
}

fn parse(bytes: &[u8], position: Position) -> Result<Volume> {
    let first: [u8; 4] = bytes.get(..4).and_then(|b| b.try_into().ok()).context("it is no NIfTI file")?;
    let (is_big, is_second) = match first {
        [92, 1, 0, 0] => (false, false),
        [0, 0, 1, 92] => (true, false),
        [28, 2, 0, 0] => (false, true),
        [0, 0, 2, 28] => (true, true),
        _ => bail!("it is no NIfTI file"),
    };
    let header = Header { bytes, is_big, is_second };
    let magic = if is_second { bytes.get(4..7) } else { bytes.get(344..347) };
    ensure!(bytes.len() >= if is_second { 540 } else { 348 }, "its header is not whole");
    match magic {
        Some(b"n+1" | b"n+2") => {}
        Some(b"ni1" | b"ni2") => bail!("its data are in another file, as of .hdr and .img: make one .nii of both"),
        _ => bail!("it is no NIfTI file, but one of Analyze, which says nothing of its place"),
    }
    let axes = header.size(0);
    ensure!((1..=7).contains(&axes), "it has {axes} axes");
    let sizes: Vec<i64> = (1..=axes as usize).map(|k| header.size(k)).collect();
    let one = sizes.len() >= 3 && sizes[3..].iter().all(|n| *n == 1);
    ensure!(one && sizes.iter().all(|n| *n >= 1), "it has shape {sizes:?}; it must be one volume, x, y, z");
    let count = sizes.iter().try_fold(1usize, |n, side| n.checked_mul(usize::try_from(*side).ok()?));
    let count = count.with_context(|| format!("it has shape {sizes:?}"))?;
    let count_of = [0, 1, 2].map(|k| sizes[k] as usize);
    let affine = affine(&header)?;
    let metres = match bytes[if is_second { 500 } else { 123 }] & 7 {
        1 => 1000.0,
        3 => 0.001,
        _ => 1.0,
    };
    let values = values(&header, count)?;
    // From voxels to the scanner's axes.
    let turn = position.to_nifti();
    let scanner = |v: [f64; 3]| [0, 1, 2].map(|axis| metres * (0..3).map(|k| turn[k][axis] * v[k]).sum::<f64>());
    let columns = [0, 1, 2].map(|k| scanner([0, 1, 2].map(|row| affine[row][k])));
    let sides = columns.map(length);
    let order = straight(&columns, &sides, &count_of)?;
    let middle = count_of.map(|n| n as f64 / 2.0 - 0.5);
    let centre =
        scanner([0, 1, 2].map(|row| dot([affine[row][0], affine[row][1], affine[row][2]], middle) + affine[row][3]));
    let steps = [1, count_of[0], count_of[0] * count_of[1]];
    let [nx, ny, nz] = order.map(|k| count_of[k]);
    let along = [0, 1, 2].map(|axis| {
        let (k, n) = (order[axis], count_of[order[axis]]);
        let up = columns[k][axis] > 0.0;
        (0..n).map(|j| steps[k] * if up { j } else { n - 1 - j }).collect::<Vec<_>>()
    });
    let rows = along[2].iter().flat_map(|z| along[1].iter().map(move |y| z + y));
    let image = rows.flat_map(|row| along[0].iter().map(move |x| row + x)).map(|k| values[k]).collect();
    let name = if is_second { &bytes[508..524] } else { &bytes[328..344] };
    let unit = String::from_utf8_lossy(name).trim_matches(['\0', ' ']).to_string();
    Ok(Volume { image, shape: [nz, ny, nx], voxel: order.map(|k| sides[k]), centre, unit })
}

/// Which axes of the file x, y and z are.
fn straight(columns: &[[f64; 3]; 3], sides: &[f64; 3], count: &[usize; 3]) -> Result<[usize; 3]> {
    let along = |axis: usize| {
        let of = |k: &usize| columns[*k][axis].abs();
        (0..3).rev().max_by(|a, b| of(a).total_cmp(&of(b))).unwrap_or(0)
    };
    let order = [0, 1, 2].map(along);
    let least = sides.iter().copied().fold(f64::INFINITY, f64::min);
    ensure!(least > 0.0 && sides.iter().all(|s| s.is_finite()), "its voxels have no size");
    let off = (0..3).flat_map(|axis| (0..3).map(move |k| (axis, k))).filter(|(axis, k)| order[*axis] != *k);
    let off = off.map(|(axis, k)| columns[k][axis].abs() * (count[k] - 1) as f64).fold(0.0, f64::max);
    let mut seen = order;
    seen.sort_unstable();
    if seen != [0, 1, 2] || off > ROTATED * least {
        let row = |axis: usize| [0, 1, 2].map(|k| general(columns[k][axis], 4)).join(", ");
        bail!(
            "it has axes that are rotated against the scanner's ([{}], [{}], [{}] mm a voxel): resample it to straight axes first",
            row(0),
            row(1),
            row(2)
        );
    }
    Ok(order)
}

/// From voxels to right, front and head.
fn affine(header: &Header) -> Result<[[f64; 4]; 3]> {
    let [qform, sform] = [[252, 344], [254, 348]].map(|at| header.whole(at));
    let made = if sform > 0 {
        [0, 1, 2].map(|row| [0, 1, 2, 3].map(|k| header.real([280 + 16 * row + 4 * k, 400 + 32 * row + 8 * k])))
    } else if qform > 0 {
        let q = [0, 1, 2].map(|k| header.real([256 + 4 * k, 352 + 8 * k]));
        let turned = rotation(q, header.side(0));
        let row = |row: usize| {
            let [x, y, z] = [0, 1, 2].map(|k| turned[row][k] * header.side(k + 1).abs());
            [x, y, z, header.real([268 + 4 * row, 376 + 8 * row])]
        };
        [0, 1, 2].map(row)
    } else {
        bail!("it has neither qform nor sform, and so no directions: give it one");
    };
    ensure!(made.as_flattened().iter().all(|v| v.is_finite()), "its place is not finite");
    Ok(made)
}

fn values(header: &Header, count: usize) -> Result<Vec<f32>> {
    let kind = header.short(if header.is_second { 12 } else { 70 });
    let size = match kind {
        2 | 256 => 1,
        4 | 512 => 2,
        8 | 16 | 768 => 4,
        64 | 1024 | 1280 => 8,
        _ => bail!("its values are of NIfTI's type {kind}; they must be real numbers of 64 bits at most"),
    };
    let from = if header.is_second { i64::from_le_bytes(header.raw(168)) as f64 } else { header.real([108, 0]) };
    ensure!(from >= 0.0 && from.fract() == 0.0, "its values begin at byte {from}");
    let data = header.bytes.get(from as usize..).and_then(|rest| rest.get(..count.checked_mul(size)?));
    let data = data.with_context(|| format!("it ends before its {count} values do"))?;
    let [slope, intercept] = [[112, 176], [116, 184]].map(|at| header.real(at));
    let is_scaled = slope != 0.0 && slope.is_finite() && intercept.is_finite();
    let [slope, intercept] = if is_scaled { [slope, intercept] } else { [1.0, 0.0] };
    let one = |bytes: &[u8]| {
        let mut eight = [0; 8];
        eight[..size].copy_from_slice(bytes);
        if header.is_big {
            eight[..size].reverse();
        }
        let [a, b, c, d, ..] = eight;
        let value = match kind {
            2 => f64::from(a),
            256 => f64::from(a as i8),
            4 => f64::from(i16::from_le_bytes([a, b])),
            512 => f64::from(u16::from_le_bytes([a, b])),
            8 => f64::from(i32::from_le_bytes([a, b, c, d])),
            768 => f64::from(u32::from_le_bytes([a, b, c, d])),
            16 => f64::from(f32::from_le_bytes([a, b, c, d])),
            1024 => i64::from_le_bytes(eight) as f64,
            1280 => u64::from_le_bytes(eight) as f64,
            _ => f64::from_le_bytes(eight),
        };
        (value * slope + intercept) as f32
    };
    let mut made = Vec::new();
    made.try_reserve_exact(count).context("no memory for its values")?;
    made.extend(data.chunks_exact(size).map(one));
    if let Some(value) = made.iter().find(|v| !v.is_finite()) {
        bail!("it has values that are {value}; all must be finite");
    }
    Ok(made)
}

#[cfg(test)]
mod tests {
    use super::super::dicom::{Like, Scan};
    use super::super::{About, Format, Image, write};
    use super::*;
    use crate::pet::isotopes;
    use crate::pet::position::NAMES;

    fn written(name: &str, position: Position) -> (Vec<f32>, Vec<u8>) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(name);
        let isotope = isotopes::known("F-18").expect("an isotope");
        let values: Vec<f32> = (0..2 * 3 * 4).map(|k| k as f32 - 3.5).collect();
        let (starts, durations) = (vec![30.0], vec![600.0]);
        let scan = Scan {
            like: Like::default(),
            acquired: None,
            delay: 0.0,
            corrections: Vec::new(),
            algorithm: "",
            energy_window: [0.0; 2],
            by_time_of_flight: false,
            names: &[],
            found: &[],
            doubt: &|_| {},
        };
        let about = About {
            voxel: [1.5, 2.0, 4.0],
            centre: [10.0, -20.0, 30.0],
            unit: "Bq/ml",
            position,
            starts,
            durations,
            isotope: &isotope,
            scanner: "",
            scan,
        };
        let image = Image { values: &values, frames: None, shape: [2, 3, 4] };
        assert!(matches!(Format::of(&path), Ok((Format::Nifti { .. }, _))));
        write(&path, &image, &about).expect("written");
        (values, std::fs::read(&path).expect("a file"))
    }

    #[test]
    fn what_is_written_is_read() {
        for name in NAMES {
            let position: Position = name.parse().expect("a position");
            for file in ["a.nii", "a.nii.gz"] {
                let (values, bytes) = written(file, position);
                let bytes = if gzip::is(&bytes) { gzip::unpacked(&bytes).expect("unpacked") } else { bytes };
                let mut of_quaternion = bytes.clone();
                of_quaternion[254..256].fill(0);
                for bytes in [bytes, of_quaternion] {
                    let read = parse(&bytes, position).expect("a volume");
                    assert_eq!((read.image, read.shape, read.unit.as_str()), (values.clone(), [2, 3, 4], "Bq/ml"));
                    // Places have 24 bits in a file.
                    let off =
                        |a: [f64; 3], b: [f64; 3]| a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
                    assert!(
                        off(read.voxel, [1.5, 2.0, 4.0]) < 1e-5 && off(read.centre, [10.0, -20.0, 30.0]) < 1e-5,
                        "{name}"
                    );
                }
            }
        }
    }

    /// The same file with axes in another order and other directions, by hand: x of the file goes to the head, y to the right, z to the front.
    #[test]
    fn axes_of_any_order() {
        let (_, mut bytes) = written("a.nii", Position::default());
        for (at, value) in
            [(280, 0.0), (284, 2.0), (288, 0.0), (296, 0.0), (300, 0.0), (304, 3.0), (312, 1.0), (316, 0.0), (320, 0.0)]
        {
            bytes[at..at + 4].copy_from_slice(&f32::to_le_bytes(value));
        }
        let read = parse(&bytes, Position::default()).expect("a volume");
        // The scanner's x goes to the left, y to the back, z to the head.
        assert_eq!((read.shape, read.voxel), ([4, 2, 3], [2.0, 3.0, 1.0]));
        let of_file = |i: usize, j: usize, k: usize| (i + 4 * (j + 3 * k)) as f32 - 3.5;
        assert_eq!(read.image[0], of_file(0, 2, 1));
        assert_eq!(read.image[1], of_file(0, 1, 1));
        assert_eq!(read.image[3], of_file(0, 2, 0));
        assert_eq!(read.image[6], of_file(1, 2, 1));
    }

    #[test]
    fn what_is_no_volume() {
        let (_, bytes) = written("a.nii", Position::default());
        let of = |change: &dyn Fn(&mut Vec<u8>)| {
            let mut bytes = bytes.clone();
            change(&mut bytes);
            format!("{:#}", parse(&bytes, Position::default()).expect_err("refused"))
        };
        assert!(of(&|b| b.truncate(3)).contains("no NIfTI file"));
        assert!(of(&|b| b.truncate(300)).contains("not whole"));
        assert!(of(&|b| b.truncate(b.len() - 1)).contains("ends before its 24 values"));
        assert!(of(&|b| b[345] = b'i').contains(".hdr and .img"));
        assert!(of(&|b| b[252..256].fill(0)).contains("neither qform nor sform"));
        assert!(of(&|b| b[70] = 32).contains("type 32"));
        assert!(of(&|b| (b[40], b[48]) = (4, 2)).contains("one volume"));
        assert!(of(&|b| b[284..288].copy_from_slice(&0.5f32.to_le_bytes())).contains("rotated"));
        assert!(of(&|b| b[352..356].copy_from_slice(&f32::NAN.to_le_bytes())).contains("finite"));
        crate::mutations::each(&bytes, |bytes| {
            let _ = parse(bytes, Position::default()).is_ok();
        });
        let (_, packed) = written("a.nii.gz", Position::default());
        crate::mutations::each(&packed, |bytes| drop(gzip::unpacked(bytes)));
    }
}
