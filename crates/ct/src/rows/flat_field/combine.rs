//! Frames of one kind made one: their mean or median, pixel by pixel.

use crate::rows::outliers::Outliers;
use isocenter_base::array::{Array, DType};
use isocenter_base::cpu::buffer::{collected, zeros};
use isocenter_base::cpu::level::Level;
use isocenter_base::cpu::parallel::*;
use isocenter_base::error::Result;
use std::ops::Range;

/// What becomes of several frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Combine {
    /// Their mean.
    #[default]
    Mean,
    /// Their median, of an even number the mean of the middle two.
    Median,
}

/// How frames are combined.
#[derive(Clone, Copy)]
pub(super) struct Combination<'a> {
    pub(super) combine: Combine,
    /// Removed from each frame before.
    pub(super) outliers: Option<&'a Outliers>,
    pub(super) level: Level,
}

impl Combination<'_> {
    /// Some of the frames, (frames, rows, bins), made one; NaN or Inf where one of them is. On the worker threads.
    pub(super) fn of(&self, frames: &Array, which: Range<usize>) -> Result<Vec<f64>> {
        let [_, rows, bins] = frames.shape();
        let mut combined: Vec<f64> = zeros(rows * bins)?;
        combined.par_chunks_exact_mut(bins).enumerate().try_for_each(|(row, combined)| {
            let mut values: Vec<f32> = zeros(which.len() * bins)?;
            self.read(frames, &which, row, &mut values)?;
            match self.combine {
                Combine::Mean => {
                    for values in values.chunks_exact(bins) {
                        combined.iter_mut().zip(values).for_each(|(sum, v)| *sum += f64::from(*v));
                    }
                    combined.iter_mut().for_each(|sum| *sum /= which.len() as f64);
                }
                Combine::Median => {
                    let mut sorted = zeros(which.len())?;
                    for (bin, combined) in combined.iter_mut().enumerate() {
                        for (to, values) in sorted.iter_mut().zip(values.chunks_exact(bins)) {
                            *to = values[bin];
                        }
                        *combined = median(&mut sorted);
                    }
                }
            }
            Ok(())
        })?;
        Ok(combined)
    }

    /// Reads a row of some of the frames, one after the other, without their outliers.
    pub(super) fn read(&self, frames: &Array, which: &Range<usize>, row: usize, values: &mut [f32]) -> Result<()> {
        for (frame, values) in which.clone().zip(values.chunks_exact_mut(frames.shape()[2])) {
            match self.outliers {
                None => frames.read_row([frame, row, 0], values),
                Some(outliers) => self.clean(outliers, frames, which, [frame, row], values)?,
            }
        }
        Ok(())
    }

    /// A row of a frame without its outliers, by the rows beside it and the other frames.
    fn clean(
        &self,
        outliers: &Outliers,
        frames: &Array,
        which: &Range<usize>,
        [frame, row]: [usize; 2],
        clean: &mut [f32],
    ) -> Result<()> {
        let [_, rows, bins] = frames.shape();
        let (reach, views, pitch) = (outliers.reach() as isize, outliers.views() as isize, outliers.pitch(bins));
        let mut around: Vec<f32> = zeros(outliers.window * outliers.depth * pitch)?;
        // The frame itself first.
        let others = (-views..=views).filter(|v| *v != 0);
        let places = std::iter::once(0).chain(others).flat_map(|v| (-reach..=reach).map(move |r| (v, r)));
        for ((v, r), padded) in places.zip(around.chunks_exact_mut(pitch)) {
            let frame = frame.saturating_add_signed(v).clamp(which.start, which.end - 1);
            let row = row.saturating_add_signed(r).min(rows - 1);
            frames.read_row([frame, row, 0], &mut padded[outliers.middle(bins)]);
            outliers.pad(bins, padded);
        }
        let around: Vec<&[f32]> = collected(around.chunks_exact(pitch))?;
        outliers.remove(&around, clean, self.level);
        if frames.dtype() == DType::F32 {
            // What is no number stays none.
            clean.iter_mut().filter(|v| v.is_infinite()).for_each(|v| *v = f32::NAN);
        }
        Ok(())
    }
}

/// NaN if one of the values is no number.
fn median(values: &mut [f32]) -> f64 {
    if values.iter().any(|v| !v.is_finite()) {
        return f64::NAN;
    }
    let n = values.len();
    let (below, middle, _) = values.select_nth_unstable_by(n / 2, f32::total_cmp);
    let middle = f64::from(*middle);
    match below.iter().copied().max_by(f32::total_cmp) {
        Some(lower) if n.is_multiple_of(2) => (f64::from(lower) + middle) / 2.0,
        _ => middle,
    }
}
