//! What the caller asks for of finished slices.

use super::survey;
use isocenter_base::array::DType;
use isocenter_base::error::{Result, fail};

/// More bins than 16 bits can tell apart are a mistake.
const MAX_BINS: usize = 1 << 16;
/// From sqrt(2) on a circle holds all of a square slice.
const MAX_RADIUS: f64 = 1.5;

/// Where low and high of the window come from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Window {
    /// From the caller.
    Given {
        /// Stored as 0.
        low: f64,
        /// Stored as the largest number.
        high: f64,
    },
    /// From percentiles of the volume's values.
    Percentiles {
        /// 0 to 100, below `high`.
        low: f64,
        /// Up to 100.
        high: f64,
        /// Slices that are looked at, spread evenly; None for all of them.
        slices: Option<usize>,
    },
}

impl Window {
    /// Percentiles, unless told otherwise.
    pub const PERCENTILES: [f64; 2] = [0.1, 99.9];
    /// Slices that they are of, unless told otherwise.
    pub const SLICES: usize = 16;

    fn check(&self) -> Result<()> {
        match *self {
            Self::Given { low, high } => {
                for (name, v) in [("low", low), ("high", high)] {
                    if !v.is_finite() {
                        fail!(NotFiniteParameter, "output.{name} is {v}; it must be finite");
                    }
                    if v.abs() > f64::from(f32::MAX) {
                        fail!(OutOfRange, "output.{name} is {v:e}; values are f32, to {:e} either way", f32::MAX);
                    }
                }
                if low >= high {
                    fail!(OutOfRange, "output.low is {low:?} and output.high is {high:?}; low must be below high");
                }
                let width = high - low;
                if width < f64::from(f32::MIN_POSITIVE) {
                    fail!(OutOfRange, "output.high - output.low is {width:e}; it must be 1.2e-38 or more");
                }
            }
            Self::Percentiles { low, high, slices } => {
                for (name, p) in [("low_percentile", low), ("high_percentile", high)] {
                    if !p.is_finite() {
                        fail!(NotFiniteParameter, "output.{name} is {p}; it must be finite");
                    }
                    if !(0.0..=100.0).contains(&p) {
                        fail!(OutOfRange, "output.{name} is {p:?}; it must be 0 to 100");
                    }
                }
                if low >= high {
                    fail!(
                        OutOfRange,
                        "output.low_percentile is {low:?} and output.high_percentile is {high:?}; low must be below high"
                    );
                }
                if slices == Some(0) {
                    fail!(OutOfRange, "percentiles of 0 slices; at least 1 is needed");
                }
            }
        }
        Ok(())
    }
}

/// How finished slices are stored; see `isoc_ct_output`.
#[derive(Clone, Debug, PartialEq)]
pub struct Output {
    /// Element type of the volume.
    pub dtype: DType,
    /// What integers hold, the histogram covers, and `mapped` f16 hold as 0 to 1.
    pub window: Option<Window>,
    /// f16 hold the place in the window in place of the value.
    pub mapped: bool,
    /// Radius of the circle outside which pixels get `mask_value`, over half the slice's shorter side; 0 for none.
    pub mask_radius: f64,
    /// In place of values outside the circle.
    pub mask_value: f64,
    /// Bins of the histogram of what was written; 0 for none.
    pub histogram_bins: usize,
}

impl Default for Output {
    fn default() -> Self {
        Self::DIRECT.clone()
    }
}

impl Output {
    /// f32 as they are.
    pub(crate) const DIRECT: &Self =
        &Self { dtype: DType::F32, window: None, mapped: false, mask_radius: 0.0, mask_value: 0.0, histogram_bins: 0 };

    /// Refuses parameters out of range, naming the field.
    pub(crate) fn check(&self) -> Result<()> {
        self.dtype.check("output", DType::VOLUMES)?;
        if let Some(window) = &self.window {
            window.check()?;
        }
        if self.mapped && self.dtype != DType::F16 {
            fail!(OutOfRange, "{:?} of a window: f16 alone may hold places in it", self.dtype);
        }
        let needs_window = self.dtype.is_integer() || self.mapped || self.histogram_bins > 0;
        if needs_window && self.window.is_none() {
            fail!(OutOfRange, "integers, f16 of a window and histograms need a window");
        }
        let (radius, value) = (self.mask_radius, self.mask_value);
        for (name, v) in [("mask_radius", radius), ("mask_value", value)] {
            if !v.is_finite() {
                fail!(NotFiniteParameter, "output.{name} is {v}; it must be finite");
            }
        }
        if !(0.0..=MAX_RADIUS).contains(&radius) {
            fail!(
                OutOfRange,
                "output.mask_radius is {radius:?}; it must be 0 to {MAX_RADIUS:?} halves of the slice's shorter side, 0 for no mask"
            );
        }
        if value.abs() > f64::from(f32::MAX) {
            fail!(OutOfRange, "output.mask_value is {value:e}; values are f32, to {:e} either way", f32::MAX);
        }
        if self.histogram_bins > MAX_BINS {
            fail!(OutOfRange, "output.histogram_bins is {}; it must be 0 to {MAX_BINS}", self.histogram_bins);
        }
        Ok(())
    }

    /// Whether results are converted, masked or counted on their way.
    pub(crate) fn converts(&self) -> bool {
        self.dtype != DType::F32 || self.mask_radius > 0.0 || self.histogram_bins > 0
    }

    /// Percentiles that have to be found first, and in how many slices.
    pub(crate) fn percentiles(&self) -> Option<([f64; 2], Option<usize>)> {
        let used = self.dtype.is_integer() || self.mapped || self.histogram_bins > 0;
        match self.window {
            Some(Window::Percentiles { low, high, slices }) if used => Some(([low, high], slices)),
            _ => None,
        }
    }

    /// Low and high, where they were given.
    pub(crate) fn given(&self) -> Option<[f64; 2]> {
        match self.window {
            Some(Window::Given { low, high }) => Some([low, high]),
            _ => None,
        }
    }

    /// Bytes of host memory for what is counted, on the processor.
    pub(crate) fn bytes(&self, threads: usize) -> u64 {
        let survey = self.percentiles().map_or(0, |_| survey::BYTES);
        // Each thread's histogram, and their sum.
        survey + ((threads + 1) * self.histogram_bins * size_of::<u64>()) as u64
    }
}
