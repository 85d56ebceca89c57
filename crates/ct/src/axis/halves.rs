//! Whether a scan is a half acquisition: its axis beside the middle of the detector, and an object that reaches beyond the nearer edge.

use crate::rows::source::{Source, spread};
use isocenter_base::cpu::buffer::zeros;
use isocenter_base::error::Result;
use std::ops::RangeInclusive;

/// Detector rows and views that are looked at.
const ROWS: usize = 8;
const VIEWS: usize = 64;
/// The part of a row that is its end.
const END: usize = 48;
/// Ends of a row in air, and in the object, as parts of the row's largest mean over views.
const AIR: f64 = 0.05;
const OBJECT: f64 = 0.1;
/// Parts of half a detector's width that rows are asked about: axes further from the middle than its end make a half acquisition of any scan, and nearer than its start none is worth
/// joining.
const ASIDE: RangeInclusive<f64> = 0.04..=0.5;

/// Whether a scan, most of whose views have an opposite one, is a half acquisition about this axis.
pub(super) fn halves(source: &Source, axis: f64) -> Result<bool> {
    let g = source.geometry;
    let middle = (g.bins as f64 - 1.0) / 2.0;
    let aside = (axis - middle).abs() / middle;
    if !ASIDE.contains(&aside) {
        return Ok(aside > *ASIDE.end());
    }
    let views = spread(VIEWS, g.views())?;
    let mut rows: Vec<f32> = zeros(views.len() * g.bins)?;
    let mut mean: Vec<f64> = zeros(g.bins)?;
    for slice in spread(ROWS, g.slices)? {
        source.read(slice, &views, &mut rows)?;
        for row in rows.chunks(g.bins) {
            mean.iter_mut().zip(row).for_each(|(m, v)| *m += f64::from(*v));
        }
    }
    let end = (g.bins / END).max(2);
    let of = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
    let ends = [of(&mean[..end]), of(&mean[g.bins - end..])];
    let [nearer, farther] = if axis < middle { ends } else { [ends[1], ends[0]] };
    // The peak is a mean over as many bins, so that noise is none.
    let peak = mean.windows(end).map(of).fold(0.0, f64::max);
    Ok(nearer > OBJECT * peak && farther < AIR * peak)
}
