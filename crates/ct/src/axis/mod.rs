//! The search for the rotation axis: where a row of bins is mirrored half a turn later.
//!
//! A parallel scan repeats itself: `p(t + pi, axis - s) = p(t, axis + s)`. [`seams`] finds the directions about which a scan has views
//! from both sides, [`coarse`] compares the views there over the whole range, and [`step`] measures what is left between the two sides
//! to a small part of a bin, with all views about a seam that help. [`line`](mod@line) joins the rows. [`sharpness`] asks trial slices
//! instead, and [`search`] decides who is asked. All of it is above the engine: it reads some rows of the caller's projections, and
//! works on the processor.

mod answer;
mod background;
mod choice;
mod coarse;
mod curve;
mod halves;
mod kernels;
mod line;
mod options;
mod rows;
mod seams;
mod search;
mod sharpness;
mod spectra;
mod spoiled;
mod step;
mod views;

use super::plan::Ct;
use answer::Answer;
use isocenter_base::array::Array;
use isocenter_base::error::{Result, fail};
pub use options::{AxisMethod, AxisOptions};
use search::Search;

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
    /// Most views have an opposite one, and rays that one of them sees alone belong to the object: halves are to be joined.
    pub half_acquisition: bool,
    /// Score over the range, evenly spaced; the axis has the smallest.
    pub curve: Vec<f64>,
    /// Place of the curve's first point, and their distance.
    pub curve_at: [f64; 2],
}

/// Fewer bins cannot tell an axis.
const MIN_BINS: usize = 16;

impl Ct {
    /// Finds the rotation axis of a scan: see `isoc_ct_find_axis`.
    pub fn find_axis(&self, projections: Array, options: &AxisOptions) -> Result<FoundAxis> {
        let g = self.geometry()?;
        let source = self.source(&projections)?;
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
        if options.tilt && options.method == AxisMethod::Sharpness {
            fail!(OutOfRange, "options.tilt is set; options.method 3 (sharpness) tells none");
        }
        let search = Search::new(source, options)?;
        self.context.run(|job| {
            let Answer { axis, tilt, error, confidence, method, curve, range } = search.run(job)?;
            let [low, high] = range;
            Ok(FoundAxis {
                axis,
                tilt,
                error,
                confidence,
                method,
                half_acquisition: search.half_acquisition(axis)?,
                curve: curve.sampled(options.curve, range)?,
                curve_at: [low, if options.curve > 1 { (high - low) / (options.curve - 1) as f64 } else { 0.0 }],
            })
        })
    }
}
