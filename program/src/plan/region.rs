//! Which part of slices is made, how large its pixels are, and how slices lie.

use crate::scan::range;
use anyhow::{Result, ensure};
use clap::Args;
use isocenter::ct::{Geometry, crop};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::ops::Range;

#[derive(Clone, Debug, Default, PartialEq, Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Region {
    /// First column (x) of slices and the one behind the last, as in 400..900: the same pixels as those of whole slices [default: all]
    #[arg(long, value_parser = range, value_name = "FIRST..END")]
    columns: Option<[usize; 2]>,
    /// First line (y) of slices and the one behind the last, likewise [default: all]
    #[arg(long, value_parser = range, value_name = "FIRST..END")]
    lines: Option<[usize; 2]>,
    /// Columns and lines of whole slices, about the axis [default: what covers as much as the detector is wide; all that is seen, where halves are
    /// joined]
    #[arg(long, value_name = "N")]
    width: Option<usize>,
    /// Side of a slice's pixel in millimetres (in bins where the side of a detector's pixel is not known) [default: that of the detector's]
    #[arg(long, value_name = "MM")]
    voxel: Option<f64>,
    /// Turn slices counter-clockwise by so many degrees
    #[arg(long, value_name = "DEGREES", allow_negative_numbers = true)]
    rotate: Option<f64>,
}

/// A part of slices, as it lies in whole ones.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// Lines and columns of a whole slice.
    pub whole: [usize; 2],
    /// Of the part: ranges of lines and of columns.
    pub kept: [Range<usize>; 2],
}

impl Part {
    /// Whether it is all of a slice.
    pub fn is_all(&self) -> bool {
        self.kept.iter().zip(self.whole).all(|(kept, all)| *kept == (0..all))
    }

    /// Lines and columns of it.
    pub fn sides(&self) -> [usize; 2] {
        [0, 1].map(|k| self.kept[k].len())
    }

    /// Cuts it out of whole slices, of numbers of so many bytes.
    pub fn cut_out(&self, whole: &[u8], size: usize, to: &mut [u8]) {
        let ([lines, columns], [all, across]) = (&self.kept, self.whole);
        let kept = columns.len() * size;
        to.par_chunks_exact_mut(kept).enumerate().for_each(|(k, to)| {
            let (slice, line) = (k / lines.len(), lines.start + k % lines.len());
            to.copy_from_slice(&whole[((slice * all + line) * across + columns.start) * size..][..kept]);
        });
    }

    /// Line and column of one of its pixels, from the middle of a whole slice, which is at the rotation axis.
    pub fn off_axis(&self, place: [usize; 2]) -> [f64; 2] {
        [0, 1].map(|k| (self.kept[k].start + place[k]) as f64 - (self.whole[k] as f64 - 1.0) / 2.0)
    }
}

impl Region {
    /// Makes whole slices of so many columns and lines, unless it is said of how many.
    pub fn widen(&mut self, side: usize) {
        self.width.get_or_insert(side);
    }

    /// Sets whole slices up, of which rows show so many bins' width; gives the part that is wanted.
    pub fn set(&self, geometry: &mut Geometry, bins: f64) -> Result<Part> {
        if let Some(voxel) = self.voxel {
            ensure!(voxel > 0.0 && voxel.is_finite(), "--voxel is {voxel}; it must be above 0");
            geometry.pixel_size = voxel;
        }
        if let Some(turn) = self.rotate {
            ensure!(turn.is_finite(), "--rotate is {turn}; it must be a finite number of degrees");
            geometry.angles.iter_mut().for_each(|angle| *angle += turn.to_radians());
        }
        // Not one more for what rounding leaves.
        let covering = (bins * geometry.bin_pitch / geometry.pixel_size * (1.0 - 1e-9)).ceil().max(1.0) as usize;
        let side = self.width.unwrap_or(covering);
        ensure!(side > 0, "--width is 0; slices have 1 column or more");
        (geometry.nx, geometry.ny) = (side, side);
        let kept = |name: &str, range: Option<[usize; 2]>| {
            let [first, end] = range.unwrap_or([0, side]);
            ensure!(
                first < end && end <= side,
                "--{name} {first}..{end}: slices have {side} {name}; --width says how many"
            );
            Ok(first..end)
        };
        Ok(Part { whole: [side, side], kept: [kept("lines", self.lines)?, kept("columns", self.columns)?] })
    }
}

/// Makes of a geometry of whole slices that of a part.
pub fn cut(geometry: &mut Geometry, part: &Part) -> Result<()> {
    let [lines, columns] = part.kept.clone();
    (geometry.ny, geometry.y_offset) = crop(geometry.ny, geometry.y_offset, lines, ["line", "lines"])?;
    (geometry.nx, geometry.x_offset) = crop(geometry.nx, geometry.x_offset, columns, ["column", "columns"])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn region(columns: Option<[usize; 2]>, width: Option<usize>, voxel: Option<f64>) -> Region {
        Region { columns, width, voxel, ..Region::default() }
    }

    /// The axis stays where it is in the sample, and pixels where they are in whole slices.
    #[test]
    fn parts_of_slices() {
        let whole = Geometry { bin_pitch: 0.5, pixel_size: 0.5, ..Geometry::new(vec![0.0, 1.0], 10) };
        for (region, side, columns) in [
            (region(None, None, None), 10, 0..10),
            (region(Some([2, 5]), None, None), 10, 2..5),
            (region(Some([2, 5]), Some(7), None), 7, 2..5),
            (region(None, None, Some(0.25)), 20, 0..20),
            // Three and a third of a voxel.
            (region(None, None, Some(1.5)), 4, 0..4),
        ] {
            let mut geometry = whole.clone();
            let part = region.set(&mut geometry, 10.0).expect("a part");
            assert_eq!((part.whole, part.kept.clone()), ([side, side], [0..side, columns.clone()]));
            let middle = (geometry.nx as f64 - 1.0) / 2.0;
            cut(&mut geometry, &part).expect("a part");
            assert_eq!([geometry.ny, geometry.nx], part.sides());
            // Column 0 of the part is as far from the axis as it was.
            let axis = (geometry.nx as f64 - 1.0) / 2.0 + geometry.x_offset;
            assert_eq!(axis + columns.start as f64, middle);
            assert_eq!(part.off_axis([0, 0])[1], -axis);
        }
        for region in [
            region(Some([2, 11]), None, None),
            region(None, Some(0), None),
            region(None, None, Some(0.0)),
            region(None, None, Some(f64::NAN)),
            region(Some([5, 5]), None, None),
            Region { rotate: Some(f64::INFINITY), ..Region::default() },
        ] {
            assert!(region.set(&mut whole.clone(), 10.0).is_err(), "{region:?}");
        }
    }
}
