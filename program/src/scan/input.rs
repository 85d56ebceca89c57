//! What is said of a scan besides its name.

use super::kind::Kind;
use super::{Flats, Scan, listing};
use crate::frames::{Frames, Sinograms, Source, of_files};
use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use isocenter::context::NanPolicy;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What becomes of NaN and infinity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Nan {
    /// They end the run
    #[default]
    Error,
    /// They become air
    Replace,
}

impl Nan {
    /// For the library.
    pub fn policy(self) -> NanPolicy {
        match self {
            Self::Error => NanPolicy::Error,
            Self::Replace => NanPolicy::Replace,
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Input {
    /// Flats in place of those of the scan: a folder, a pattern, or a file of TIFF or EDF images; twice: before and after the projections
    #[arg(long, value_name = "FILES")]
    pub flats: Vec<PathBuf>,
    /// Darks in place of those of the scan, likewise
    #[arg(long, value_name = "FILES")]
    pub darks: Option<PathBuf>,
    /// Angles of the first and of the last projection in degrees, as in 0..180, or a text file with one angle a line [default: what the
    /// scan says, or half a turn without its end]
    #[arg(long, value_name = "FIRST..LAST", allow_hyphen_values = true)]
    pub angles: Option<String>,
    /// Projections to use, counted from 0, the end of a range left out, as in 0..1800:2 (every other one) or 0..900,905..1800
    #[arg(long, value_name = "WHICH")]
    pub views: Option<String>,
    /// Projections to leave out, likewise, as in 10,55..60: such as were taken without beam
    #[arg(long, value_name = "WHICH")]
    pub skip: Option<String>,
    /// What projections are [default: counts where there are flats; else what is floating point is line integrals]
    #[arg(long, value_enum)]
    pub input: Option<Kind>,
    /// Of transmissions that are scaled to other numbers: the value of the full beam, as in 65535
    #[arg(long, value_name = "VALUE", requires = "input")]
    pub full_beam: Option<f64>,
    /// What becomes of values that are no numbers
    #[arg(long, value_enum, default_value_t)]
    pub nan: Nan,
    /// Images are sinograms, one a detector row: (views, bins); so is the dataset of projections, (rows, views, bins)
    #[arg(long)]
    pub sinograms: bool,
    /// Which NXtomo entry of a file that has several
    #[arg(long, value_name = "NAME")]
    pub entry: Option<String>,
}

impl Input {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether the angle of each projection is told, one by one.
    pub fn each_angle(&self) -> bool {
        self.angles.as_deref().is_some_and(|text| range(text).is_none())
    }

    /// Projections of a source, which may hold sinograms.
    pub fn projections(&self, source: Arc<dyn Source>) -> Arc<dyn Source> {
        if self.sinograms { Arc::new(Sinograms(source)) } else { source }
    }

    /// Puts what is said in the place of what the scan holds.
    pub fn apply(&self, scan: &mut Scan) -> Result<()> {
        let views = scan.views.which.len();
        let groups = |(k, path): (usize, &PathBuf)| {
            let frames = images(path).context("--flats")?;
            Ok(Flats { frames, position: k * views })
        };
        match self.flats.len() {
            0 => {}
            1 | 2 => scan.flats = self.flats.iter().enumerate().map(groups).collect::<Result<_>>()?,
            n => bail!("--flats is given {n} times; flats are taken before and after the projections"),
        }
        if let Some(path) = &self.darks {
            scan.darks = Some(images(path).context("--darks")?);
        }
        if let Some(text) = &self.angles {
            scan.angles = angles(text, views).context("--angles")?;
        }
        Ok(())
    }
}

/// All images of a folder, a pattern or a file.
fn images(path: &Path) -> Result<Frames> {
    let (kind, files) = listing::images(path)?;
    Ok(Frames::all(of_files(kind, files)?))
}

/// Two numbers with two points between.
fn range(text: &str) -> Option<[f64; 2]> {
    let (first, last) = text.split_once("..")?;
    Some([first.trim().parse().ok()?, last.trim().parse().ok()?])
}

/// Of so many views, in radians.
fn angles(text: &str, views: usize) -> Result<Vec<f64>> {
    if let Some([first, last]) = range(text) {
        let step = (last - first) / (views.max(2) - 1) as f64;
        let angles: Vec<_> = (0..views).map(|k| (first + k as f64 * step).to_radians()).collect();
        if angles.iter().any(|angle| !angle.is_finite()) {
            bail!("{text}: finite numbers are expected");
        }
        return Ok(angles);
    }
    listed(Path::new(text))
}

/// One angle a line, in radians.
pub fn listed(path: &Path) -> Result<Vec<f64>> {
    let text = std::fs::read_to_string(path).with_context(|| {
        format!("reading {} (two numbers are expected, as in 0..180, or a text file)", path.display())
    })?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'));
    let angles = lines.map(|(k, line)| {
        let angle = line.trim().parse::<f64>().ok().filter(|angle| angle.is_finite());
        let angle = angle.with_context(|| format!("{}, line {}: one angle is expected", path.display(), k + 1))?;
        Ok(angle.to_radians())
    });
    angles.collect()
}
