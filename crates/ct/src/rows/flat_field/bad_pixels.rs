//! Pixels that flats and darks tell are dead, hot or far from their neighbours, and what is put in their place.

use crate::rows::median::{NORMAL, median as middle};
use crate::rows::outliers::median::{LANES, Lanes, median};
use isocenter_base::cpu::buffer::{append, collected, zeros};
use isocenter_base::cpu::level::Level;
use isocenter_base::cpu::parallel::*;
use isocenter_base::cpu::simd::{Plain, vectorised};
use isocenter_base::error::Result;
use std::ops::Range;

/// Rows and bins of the neighbourhood that a pixel is compared with.
const WINDOW: usize = 5;
/// Where all pixels are alike, one may still differ by this part of the beam.
const FLOOR: f64 = 1e-3;

/// A bad pixel, which becomes what a straight line between the nearest good ones of its row says.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Repair {
    pub(crate) row: u32,
    pub(crate) bin: u32,
    /// The nearest good bins; the same twice where there is none on one side.
    pub(crate) from: [u32; 2],
    /// Of the second.
    pub(crate) weight: f32,
}

/// Bad pixels in the order of rows and bins.
#[derive(Debug, Default)]
pub(crate) struct Repairs {
    list: Vec<Repair>,
}

/// Pixels that cannot be used, or whose dark or beam is more than `threshold` times as far from the median of the pixels around it as
/// noise makes it.
pub(super) fn find([dark, beam]: [&[f64]; 2], bins: usize, threshold: f64, level: Level) -> Result<Vec<bool>> {
    let typical = middle(&mut collected(beam.iter().copied().filter(|b| b.is_finite() && *b > 0.0))?);
    let dark_around = around(dark, bins, level)?;
    let beam_around = around(beam, bins, level)?;
    let darks = || dark.iter().zip(&dark_around).map(|(d, around)| (d - f64::from(*around)) / typical);
    let beams = || beam.iter().zip(&beam_around).map(|(b, around)| b / f64::from(*around) - 1.0);
    let limit = |mut odd: Vec<f64>| threshold * (NORMAL * middle(&mut odd)).max(FLOOR);
    let sizes = |v: f64| v.is_finite().then_some(v.abs());
    let (dark_limit, beam_limit) =
        (limit(collected(darks().filter_map(sizes))?), limit(collected(beams().filter_map(sizes))?));
    collected(beam.iter().zip(dark).zip(darks().zip(beams())).map(|((b, d), (odd_dark, odd_beam))| {
        let usable = b.is_finite() && d.is_finite() && *b > 0.0;
        !usable || odd_dark.abs() > dark_limit || odd_beam.abs() > beam_limit
    }))
}

/// The median of the pixels around each; beyond the detector its outermost pixels are repeated.
fn around(plane: &[f64], bins: usize, level: Level) -> Result<Vec<f32>> {
    let rows = plane.len() / bins;
    let reach = WINDOW / 2;
    let pitch = (bins + 2 * reach).next_multiple_of(LANES) + LANES;
    let mut medians = zeros(plane.len())?;
    medians.par_chunks_exact_mut(bins).enumerate().try_for_each(|(row, medians)| {
        let mut padded: Vec<f32> = zeros(WINDOW * pitch)?;
        for (r, padded) in padded.chunks_exact_mut(pitch).enumerate() {
            let row = (row + r).saturating_sub(reach).min(rows - 1);
            let from = &plane[row * bins..(row + 1) * bins];
            for (k, v) in padded.iter_mut().enumerate() {
                let value = from[k.saturating_sub(reach).min(bins - 1)] as f32;
                *v = if value.is_finite() { value } else { f32::INFINITY };
            }
        }
        vectorised(level, Medians { padded: &padded, pitch, medians });
        Ok(())
    })?;
    Ok(medians)
}

struct Medians<'a> {
    padded: &'a [f32],
    pitch: usize,
    medians: &'a mut [f32],
}

impl Plain for Medians<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (block, medians) in self.medians.chunks_mut(LANES).enumerate() {
            let values: [Lanes; WINDOW * WINDOW] = std::array::from_fn(|k| {
                let from = k / WINDOW * self.pitch + block * LANES + k % WINDOW;
                std::array::from_fn(|l| self.padded[from..from + LANES][l])
            });
            medians.copy_from_slice(&median(values)[..medians.len()]);
        }
    }
}

impl Repairs {
    /// Of the pixels marked bad, but in rows without a good one.
    pub(super) fn new(bad: &[bool], bins: usize) -> Result<Self> {
        let mut list = Vec::new();
        for (row, bad) in bad.chunks_exact(bins).enumerate() {
            let mut before = None;
            let mut bin = 0;
            while bin < bins {
                if !bad[bin] {
                    (before, bin) = (Some(bin), bin + 1);
                    continue;
                }
                let end = (bin..bins).find(|k| !bad[*k]);
                let [a, b] = match (before, end) {
                    (None, None) => break,
                    (Some(a), Some(b)) => [a, b],
                    (Some(a), None) => [a, a],
                    (None, Some(b)) => [b, b],
                };
                for k in bin..end.unwrap_or(bins) {
                    let weight = if a == b { 0.0 } else { (k - a) as f32 / (b - a) as f32 };
                    append(&mut list, Repair { row: row as u32, bin: k as u32, from: [a as u32, b as u32], weight })?;
                }
                bin = end.unwrap_or(bins);
            }
        }
        Ok(Self { list })
    }

    /// Those of some rows.
    pub(crate) fn of_rows(&self, rows: Range<usize>) -> &[Repair] {
        let place = |row: usize| self.list.partition_point(|r| (r.row as usize) < row);
        &self.list[place(rows.start)..place(rows.end)]
    }

    /// All of them.
    pub(crate) fn all(&self) -> &[Repair] {
        &self.list
    }

    /// Puts the values of the straight lines into a row.
    pub(super) fn apply(&self, row: usize, values: &mut [f32]) {
        for Repair { bin, from: [a, b], weight, .. } in self.of_rows(row..row + 1) {
            let (a, b) = (values[*a as usize], values[*b as usize]);
            values[*bin as usize] = a + weight * (b - a);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repairs_reach_over_what_is_bad() {
        let (x, o) = (true, false);
        let bad = [[o, x, x, o, x], [x, x, x, x, x], [x, x, o, o, o]].concat();
        let repairs = Repairs::new(&bad, 5).unwrap();
        let mut rows = [[0.0, 9.0, 9.0, 3.0, 9.0], [9.0; 5], [9.0, 9.0, 1.0, 2.0, 4.0]];
        rows.iter_mut().enumerate().for_each(|(k, row)| repairs.apply(k, row));
        assert_eq!(rows, [[0.0, 1.0, 2.0, 3.0, 3.0], [9.0; 5], [1.0, 1.0, 1.0, 2.0, 4.0]]);
        assert_eq!(repairs.of_rows(2..3).len(), 2);
    }

    #[test]
    fn what_stands_out_is_found() {
        let (rows, bins) = (9, 11);
        // A beam that varies smoothly, by 1 % from pixel to pixel at most.
        let mut beam: Vec<f64> = (0..rows * bins).map(|k| 1000.0 + 8.0 * (k % bins) as f64).collect();
        let mut dark: Vec<f64> = (0..rows * bins).map(|k| 10.0 + (k % 3) as f64).collect();
        (beam[3 * bins + 4], beam[5 * bins], beam[8 * bins + 10]) = (700.0, 0.0, f64::NAN);
        dark[2 * bins + 7] = 400.0;
        let bad = find([&dark, &beam], bins, 10.0, Level::detect()).unwrap();
        let found: Vec<usize> = (0..rows * bins).filter(|k| bad[*k]).collect();
        assert_eq!(found, [2 * bins + 7, 3 * bins + 4, 5 * bins, 8 * bins + 10]);
    }
}
