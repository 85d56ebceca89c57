//! Distortion of the optics, tilt, and shifts of views.

use crate::scan::{Detector, Scan};
use anyhow::{Context, Result, bail};
use clap::Args;
use isocenter::ct;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

#[derive(Clone, Debug, Default, PartialEq, Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Distortion {
    /// Take a lens's distortion out: a text file of discorpy's (xcenter = ..., ycenter = ..., factor0 = ... of the backward model)
    #[arg(long, value_name = "FILE")]
    pub lens: Option<PathBuf>,
    /// Turn frames until the axis is upright: bins by which it moves from a row to the next, which `isocenter axis --tilt` tells
    #[arg(long, value_name = "BINS", allow_negative_numbers = true)]
    pub tilt: Option<f64>,
    /// Put views that lie aside back: a text file with the bins, or bins and rows, by which each view does, a line each
    #[arg(long, value_name = "FILE")]
    pub shifts: Option<PathBuf>,
}

impl Distortion {
    /// Whether frames stay.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// For the library; None where frames stay. What files tell is of the detector as it is.
    pub fn wanted(&self, scan: &Scan, detector: &Detector) -> Result<Option<ct::Distortion>> {
        if self.is_none() {
            return Ok(None);
        }
        let (mut centre, mut radial) = self.lens.as_deref().map(lens).transpose()?.unwrap_or_default();
        if self.lens.is_some() {
            let [_, rows, bins] = scan.views.source.shape();
            centre = detector.place(centre, [rows, bins]);
            // Of powers of a distance that is so many times smaller in wider pixels.
            let n = detector.binning() as f64;
            radial.iter_mut().enumerate().for_each(|(power, factor)| *factor *= n.powi(power as i32));
        }
        let mut shifts = self.shifts.as_deref().map(shifts).transpose()?.unwrap_or_default();
        shifts.iter_mut().for_each(|shift| *shift = detector.step(*shift));
        let tilt = self.tilt.unwrap_or(0.0);
        Ok(Some(ct::Distortion { centre, radial, perspective: None, tilt, shifts }))
    }
}

fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))
}

/// Centre and coefficients of a file of "name = value".
fn lens(path: &Path) -> Result<([f64; 2], Vec<f64>)> {
    let text = read(path)?;
    let value = |name: &str| {
        let line = text.lines().filter_map(|line| line.split_once('=')).find(|(key, _)| key.trim() == name);
        line.and_then(|(_, value)| value.trim().parse::<f64>().ok())
    };
    let (Some(x), Some(y)) = (value("xcenter"), value("ycenter")) else {
        bail!("{} has no xcenter and ycenter", path.display());
    };
    let radial: Vec<f64> = (0..).map_while(|k| value(&format!("factor{k}"))).collect();
    if radial.is_empty() {
        bail!("{} has no factor0", path.display());
    }
    Ok(([x, y], radial))
}

/// One or two numbers a line.
fn shifts(path: &Path) -> Result<Vec<[f64; 2]>> {
    let lines = read(path)?;
    let lines = lines.lines().enumerate().filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'));
    let pairs = lines.map(|(k, line)| {
        let mut numbers = line.split([' ', '\t', ',']).filter(|word| !word.is_empty()).map(str::parse::<f64>);
        match (numbers.next(), numbers.next(), numbers.next()) {
            (Some(Ok(x)), Some(Ok(y)), None) => Ok([x, y]),
            (Some(Ok(x)), None, None) => Ok([x, 0.0]),
            _ => bail!("{}, line {}: bins, or bins and rows, are expected", path.display(), k + 1),
        }
    });
    pairs.collect()
}
