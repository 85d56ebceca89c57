//! The noise of line integrals.
//!
//! Third differences along the bins have little of an object whose edges are few, and white noise has a known part of its variance there.
//! Their median size is hardly moved by what the edges leave (the estimate of D. L. Donoho and I. M. Johnstone, "Ideal spatial adaptation by
//! wavelet shrinkage", Biometrika 81, 1994, for the finest scale). Noise is stronger behind dense parts, and the median of a mixture
//! is below its deviation, so that it is taken of a block of bins and views at a time.

use super::plan::Ct;
use super::rows::median::{NORMAL, median};
use super::rows::source::{Source, spread};
use isocenter_base::array::Array;
use isocenter_base::context::{Job, Part};
use isocenter_base::cpu::buffer::{Buffer, reserved};
use isocenter_base::cpu::parallel::*;
use isocenter_base::error::{Result, fail};

/// Fewer bins have too few differences beside edges.
const MIN_BINS: usize = 16;
/// Bins and views of a block. The edges of an object take few of so many bins, and 1000 differences tell the noise to 6 %.
const BLOCK: [usize; 2] = [64, 16];
/// Detector rows and line integrals that are looked at.
const MAX_ROWS: usize = 16;
const MAX_VALUES: u64 = 4 << 20;

/// Of third differences: 3 more values than differences, and 1 + 9 + 9 + 1 times the variance of white noise.
const ORDER: usize = 3;
const GAIN: f64 = 20.0;

impl Ct {
    /// Standard deviation of the noise of a line integral: see `isoc_ct_suggest_regularisation`.
    pub fn noise(&self, projections: Array) -> Result<f64> {
        self.noise_as(Part::WHOLE, projections)
    }

    /// The same as a part of a call's work.
    pub(super) fn noise_as(&self, part: Part, projections: Array) -> Result<f64> {
        let g = self.geometry()?;
        let source = self.source(&projections)?;
        if g.bins < MIN_BINS {
            fail!(OutOfRange, "geometry.bins is {}; the estimate of the noise needs at least {MIN_BINS}", g.bins);
        }
        if self.stages.phase.is_some() {
            fail!(
                OutOfRange,
                "isoc_ct_set_phase is set, after which neighbouring bins share noise, so that it cannot be told from the object; choose a weight by eye"
            );
        }
        self.context.run_part(part, |job| noise(&source, job))
    }
}

/// Root of the mean variance of noise, over some views of some slices.
fn noise(source: &Source, job: &Job) -> Result<f64> {
    let (g, cap) = (source.geometry, source.context.memory_cap(0));
    // Half of it: what is made of a block besides, by each thread, is small.
    let rows = (MAX_VALUES.min(cap / 2 / size_of::<f32>() as u64) / g.bins as u64) as usize;
    if rows == 0 {
        let needed = 2 * g.bins * size_of::<f32>();
        fail!(MemoryCap, "memory_cap is {cap} bytes; the estimate of the noise needs at least {needed}");
    }
    let slices = spread(rows.min(MAX_ROWS), g.slices)?;
    let views = spread(rows / slices.len(), g.views())?;
    let mut values = Buffer::zeroed(views.len() * g.bins)?;
    let mut sum = 0.0;
    for slice in &slices {
        job.check()?;
        source.read(*slice, &views, &mut values)?;
        let blocks = values.par_chunks(BLOCK[1] * g.bins).map(|rows| of_rows(rows, g.bins));
        sum += blocks.collect::<Result<Vec<f64>>>()?.iter().sum::<f64>();
        job.advance(1.0 / slices.len() as f64);
    }
    Ok((sum / (slices.len() * views.len() * (g.bins - ORDER)) as f64).sqrt())
}

/// Variance of the noise of some rows times the number of their differences.
fn of_rows(rows: &[f32], bins: usize) -> Result<f64> {
    let differences = bins - ORDER;
    let blocks = (differences / BLOCK[0]).max(1);
    let mut sizes = reserved(rows.len() / bins * differences.div_ceil(blocks))?;
    let mut sum = 0.0;
    for block in 0..blocks {
        let within = block * differences / blocks..(block + 1) * differences / blocks + ORDER;
        sizes.clear();
        for row in rows.chunks_exact(bins) {
            let difference = |w: &[f32]| {
                let [a, b, c, d] = [w[0], w[1], w[2], w[3]].map(f64::from);
                (d - a + 3.0 * (b - c)).abs()
            };
            sizes.extend(row[within.clone()].windows(ORDER + 1).map(difference));
        }
        sum += sizes.len() as f64 * (NORMAL * median(&mut sizes)).powi(2) / GAIN;
    }
    Ok(sum)
}
