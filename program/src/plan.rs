//! What a run does, all of it: written beside its output, so that it can be repeated.

use anyhow::{Context, Result};
use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Element type of a volume.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Depth {
    /// 32-bit floating point, values as they are.
    #[default]
    F32,
    /// 16-bit integers over a window.
    U16,
    /// 8-bit integers over a window.
    U8,
}

/// How stripes are removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum StripeMethod {
    /// What stands out from noise, and nothing else.
    #[default]
    Significant,
    /// All of Vo, Atwood and Drakopoulos 2018.
    Vo,
    /// Left as they are.
    Off,
}

/// A run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The scan file.
    pub scan: PathBuf,
    /// The volume file.
    pub volume: PathBuf,
    /// Rotation axis as a fractional bin.
    pub axis: f64,
    /// First detector row, and the one behind the last.
    pub rows: [usize; 2],
    /// How stripes are removed.
    pub stripes: StripeMethod,
    /// Element type of the volume.
    pub depth: Depth,
    /// What integers hold, from the smallest to the largest; none with f32, or to be found as percentiles 0.1 and 99.9.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<[f64; 2]>,
}

impl Plan {
    pub fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
        toml::from_str(&text).with_context(|| path.display().to_string())
    }

    /// Beside the volume.
    pub fn write(&self) -> Result<PathBuf> {
        let path = self.volume.with_extension("toml");
        let text = toml::to_string_pretty(self).context("writing the plan")?;
        std::fs::write(&path, text).with_context(|| format!("writing {}", path.display()))?;
        Ok(path)
    }
}
