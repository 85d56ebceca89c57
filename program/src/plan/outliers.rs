//! Outliers of raw frames.

use clap::{Args, ValueEnum};
use isocenter::ct::{self, OutlierSide, OutlierUnit};
use serde::{Deserialize, Serialize};

/// What a threshold is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    /// 1.4826 times the median distance from the median of the neighbourhood
    Noise,
    /// That median
    Median,
    /// Counts
    Count,
}

/// Which values are outliers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// Above the median
    Bright,
    /// Below it
    Dark,
    /// All
    Both,
}

#[derive(Clone, Debug, Default, PartialEq, Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Outliers {
    /// Remove outliers (zingers) of raw frames, in this unit
    #[arg(id = "outliers", long, value_name = "UNIT", value_enum, num_args = 0..=1, default_missing_value = "noise")]
    pub unit: Option<Unit>,
    /// How far from the median they are [default: 10 times the noise, 0.2 of the median]
    #[arg(id = "outlier_threshold", long = "outlier-threshold", value_name = "X", requires = "outliers")]
    threshold: Option<f64>,
    /// Which [default: bright]
    #[arg(id = "outlier_side", long = "outlier-side", value_name = "SIDE", value_enum, requires = "outliers")]
    side: Option<Side>,
    /// Bins and rows of a neighbourhood: 3 or 5 [default: 3]
    #[arg(id = "outlier_window", long = "outlier-window", value_name = "N", requires = "outliers")]
    window: Option<usize>,
    /// Views of a neighbourhood: 1 or 3 [default: 3]
    #[arg(id = "outlier_depth", long = "outlier-depth", value_name = "N", requires = "outliers")]
    depth: Option<usize>,
}

impl Outliers {
    /// For the library; None where none are removed.
    pub fn wanted(&self) -> Option<ct::Outliers> {
        let unit = match self.unit? {
            Unit::Noise => OutlierUnit::Noise,
            Unit::Median => OutlierUnit::Median,
            Unit::Count => OutlierUnit::Count,
        };
        let side = match self.side.unwrap_or(Side::Bright) {
            Side::Bright => OutlierSide::Bright,
            Side::Dark => OutlierSide::Dark,
            Side::Both => OutlierSide::Both,
        };
        // Counts have no default: the library refuses 0 with the reason.
        let usual = match unit {
            OutlierUnit::Noise => 10.0,
            OutlierUnit::Median => 0.2,
            OutlierUnit::Count => 0.0,
        };
        let (window, depth) = (self.window.unwrap_or(3), self.depth.unwrap_or(3));
        Some(ct::Outliers { window, depth, unit, threshold: self.threshold.unwrap_or(usual), side })
    }
}
