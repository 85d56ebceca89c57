//! What is written.

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use isocenter::array::DType;
use isocenter::ct::{Output, Window};
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Depth {
    /// 32-bit floating point, values as they are
    #[default]
    F32,
    /// 16-bit integers over a window
    U16,
    /// 8-bit integers over a window
    U8,
}

#[derive(Clone, Debug, Default, PartialEq, Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Volume {
    /// Element type of the volume
    #[arg(long, value_enum, default_value_t)]
    pub depth: Depth,
    /// What integers hold: the smallest and the largest value [default: --percentiles]
    #[arg(long, num_args = 2, value_names = ["LOW", "HIGH"], allow_negative_numbers = true, conflicts_with = "percentiles")]
    pub window: Option<Vec<f64>>,
    /// The same, as percentiles of the volume [default: 0.1 99.9]; in a plan with a window, what that was found by
    #[arg(long, num_args = 2, value_names = ["LOW", "HIGH"])]
    pub percentiles: Option<Vec<f64>>,
    /// Radius of the circle outside which pixels become 0, in parts of half the slice's side
    #[arg(id = "mask", long, value_name = "RADIUS")]
    pub mask_radius: Option<f64>,
}

impl Volume {
    pub fn dtype(&self) -> DType {
        match self.depth {
            Depth::F32 => DType::F32,
            Depth::U16 => DType::U16,
            Depth::U8 => DType::U8,
        }
    }

    /// Percentiles that a window is still to be found by.
    pub fn open(&self) -> Result<Option<[f64; 2]>> {
        Ok(match self.wanted()?.window {
            Some(Window::Percentiles { low, high, .. }) => Some([low, high]),
            _ => None,
        })
    }

    /// For the library.
    pub fn wanted(&self) -> Result<Output> {
        let pair = |name: &str, values: &Option<Vec<f64>>| match values.as_deref() {
            None => Ok(None),
            Some(&[low, high]) if low < high => Ok(Some([low, high])),
            Some(&[low, high]) => bail!("--{name} {low} {high}: the first must be below the second"),
            Some(other) => bail!("--{name} has {} numbers; it has two", other.len()),
        };
        let (window, percentiles) = (pair("window", &self.window)?, pair("percentiles", &self.percentiles)?);
        let window = match (self.depth, window, percentiles) {
            (Depth::F32, None, None) => None,
            (Depth::F32, ..) => bail!("a window is for integers: --depth u16 or u8"),
            (_, Some([low, high]), _) => Some(Window::Given { low, high }),
            (_, None, percentiles) => {
                let [low, high] = percentiles.unwrap_or(Window::PERCENTILES);
                Some(Window::Percentiles { low, high, slices: Some(Window::SLICES) })
            }
        };
        let mask_radius = self.mask_radius.unwrap_or(0.0);
        Ok(Output { dtype: self.dtype(), window, mask_radius, ..Output::default() })
    }
}
