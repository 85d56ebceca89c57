//! The search for the rotation axis: where a row of bins is mirrored half a turn later.
//!
//! A parallel scan repeats itself: `p(t + pi, axis - s) = p(t, axis + s)`. [`seams`] finds the directions about which a scan has views
//! from both sides, [`coarse`] compares the views there over the whole range, and [`step`] measures what is left between the two sides
//! to a small part of a bin, with all views about a seam that help. [`line`](mod@line) joins the rows. All of it is above the engine: it
//! reads some rows of the caller's projections, and works on the processor.

mod background;
mod choice;
mod coarse;
mod kernels;
mod line;
mod rows;
mod seams;
mod spectra;
mod step;

use super::plan::Ct;
use crate::array::{Array, DType};
use crate::cpu::buffer::{collected, filled};
use crate::error::{Result, fail};
use coarse::Coarse;
use rows::{Rows, Source};
use seams::Seams;
use step::Steps;

/// How the axis is looked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AxisMethod {
    /// Opposite views where there are any, else the sinogram.
    #[default]
    Auto,
    /// Views half a turn apart.
    OppositeViews,
    /// Half a turn alone, which continues mirrored where it ends.
    Sinogram,
}

/// Where and how to look.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AxisOptions {
    /// Method.
    pub method: AxisMethod,
    /// First and last axis to look at; None goes by the angles.
    pub range: Option<[f64; 2]>,
    /// Detector rows used; 0 takes up to [`DEFAULT_ROWS`].
    pub rows: usize,
    /// The tilt is wanted.
    pub tilt: bool,
    /// Points of the curve that are wanted.
    pub curve: usize,
}

/// What was found.
#[derive(Clone, Debug, PartialEq)]
pub struct FoundAxis {
    /// Fractional bin, for the middle row of the volume.
    pub axis: f64,
    /// Bins of axis a row.
    pub tilt: f64,
    /// Standard error of the axis in bins.
    pub error: f64,
    /// 1 where no other place comes near, 0 where one is as good.
    pub confidence: f64,
    /// The method that decided.
    pub method: AxisMethod,
    /// The axis is so near an edge that the detector sees less than half of its width from both sides.
    pub half_acquisition: bool,
    /// Score over the range, evenly spaced; the axis has the smallest.
    pub curve: Vec<f64>,
    /// Place of the curve's first point, and their distance.
    pub curve_at: [f64; 2],
}

/// Detector rows that are used where the caller does not say: with so many, noise of a scan with few opposite views is well averaged.
const DEFAULT_ROWS: usize = 24;
/// Fewer bins cannot tell an axis.
const MIN_BINS: usize = 16;
/// Below this confidence there is no axis to tell from chance: noise alone gives 0.1 at most.
const MIN_CONFIDENCE: f64 = 0.15;
/// Rows that disagree by more bins than this, when each of them should be far better, do not have one axis.
const MAX_SCATTER: f64 = 2.0;

impl Ct {
    /// Finds the rotation axis of a scan: see `isoc_ct_find_axis`.
    pub fn find_axis(&self, projections: Array, options: &AxisOptions) -> Result<FoundAxis> {
        let plan = self.plan()?;
        let g = &plan.geometry;
        projections.layout().check("projections", g.projection_shape(), DType::FRAMES, self.gpus())?;
        let correction = self.correction(projections.dtype())?;
        if g.bins < MIN_BINS {
            fail!(OutOfRange, "geometry.bins is {}; the search for the axis needs at least {MIN_BINS}", g.bins);
        }
        if options.rows > g.slices {
            let (rows, slices) = (options.rows, g.slices);
            fail!(OutOfRange, "options.rows is {rows}; it must be 0 to {slices}, the slices of the plan");
        }
        if options.tilt && (g.slices < 2 || options.rows == 1) {
            fail!(OutOfRange, "options.tilt is set; it needs at least 2 rows, where there is 1");
        }
        let seams = Seams::new(&g.angles, options.method)?;
        let range = range(g.bins, &seams, options.range)?;
        let wanted = if options.rows == 0 { DEFAULT_ROWS } else { options.rows };
        let gpu = self.device_of(&projections)?;
        let source = Source { context: &self.context, geometry: g, projections: &projections, correction, gpu };
        self.context.run(|job| {
            let rows = Rows::read(&source, &seams, wanted, job)?;
            let coarse = Coarse::new(&rows, &seams, range, options.tilt)?;
            let confidence = coarse.confidence();
            if confidence < MIN_CONFIDENCE {
                let [low, high] = range;
                fail!(
                    OutOfRange,
                    "the axis cannot be told: no place from {low:.1} to {high:.1} makes opposite views agree better than others do (confidence {confidence:.2}): a row without structure, an axis outside the range, or angles that are not those of the scan"
                );
            }
            job.check()?;
            let mut centres = coarse.centres(&rows)?;
            let steps = Steps::new(&rows, &seams, &centres)?;
            let found = steps.settle(&rows, &seams, &mut centres, options.tilt, job)?;
            if found.scatter > MAX_SCATTER.max(20.0 * found.noise * (rows.lines.len() as f64).sqrt()) {
                let scatter = found.scatter;
                fail!(
                    OutOfRange,
                    "the axis cannot be told: rows disagree by {scatter:.1} bins (a tilt, where options.tilt is not set, or rows of other scans)"
                );
            }
            let [low, high] = range;
            let middle = g.first_row as f64 + (g.slices as f64 - 1.0) / 2.0;
            let axis = found.line.at(middle);
            if !(low - 1.0..=high + 1.0).contains(&axis) {
                fail!(OutOfRange, "the axis cannot be told: it seems to be at {axis:.1}, outside {low:.1} to {high:.1}");
            }
            let step = if options.curve > 1 { (high - low) / (options.curve - 1) as f64 } else { 0.0 };
            let mut curve = filled(options.curve, 0.0)?;
            curve.iter_mut().enumerate().for_each(|(k, v)| *v = coarse.score(low + k as f64 * step));
            let middle_bin = (g.bins as f64 - 1.0) / 2.0;
            Ok(FoundAxis {
                axis,
                tilt: found.line.slope,
                error: found.error,
                confidence,
                method: seams.method,
                half_acquisition: seams.full_turn && (axis - middle_bin).abs() > middle_bin / 2.0,
                curve,
                curve_at: [low, step],
            })
        })
    }
}

/// Axes to look at: the caller's, or the middle half of the detector, for a full turn all but its ends.
fn range(bins: usize, seams: &Seams, given: Option<[f64; 2]>) -> Result<[f64; 2]> {
    let last = bins as f64 - 1.0;
    // Fewer bins that are seen from both sides agree by chance.
    let edge = (bins as f64 / 64.0).max(4.0);
    let Some([low, high]) = given else {
        return Ok(if seams.full_turn { [edge, last - edge] } else { [last / 4.0, last * 0.75] });
    };
    for (name, v) in [("low", low), ("high", high)] {
        if !v.is_finite() {
            fail!(NotFiniteParameter, "options.{name} is {v}; it must be finite");
        }
    }
    if !(low >= edge && high <= last - edge && low < high) {
        let (first, end) = (edge, last - edge);
        fail!(
            OutOfRange,
            "options.low is {low} and options.high {high}; they must ascend, from {first} to {end} here: opposite views have nothing in common where the axis is beside the detector"
        );
    }
    Ok([low, high])
}

/// Evenly spread indices, both ends in.
fn spread(count: usize, of: usize) -> Result<Vec<usize>> {
    let count = count.clamp(1, of);
    let step = |k: usize| if count == 1 { (of - 1) / 2 } else { (k * (of - 1) + (count - 1) / 2) / (count - 1) };
    collected((0..count).map(step))
}
