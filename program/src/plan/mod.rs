//! What a run does, all of it: said on the command line, written beside the volume, and read back to do it again.

mod distortion;
mod method;
mod outliers;
mod phase;
mod piece;
mod region;
mod slices;
mod stripes;
pub mod trial;
mod volume;

use crate::names;
use crate::scan::{Input, Scan};
use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use distortion::Distortion;
use isocenter::ct::{Ct, Geometry, HalfAcquisition, InputKind, Options};
use method::Method;
use outliers::Outliers;
use phase::Phase;
use region::Region;
pub use region::{Part, cut};
use serde::{Deserialize, Serialize};
use slices::Slices;
use std::f64::consts::PI;
use std::path::{Path, PathBuf};
pub use stripes::Stripes;
use volume::Volume;

pub use piece::{Beside, Overlap, Piece};

/// When rows of a full turn about an axis near an edge are joined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Halves {
    /// Where most views have an opposite one, and rows end in the object on the axis' side alone, or the axis is nearer to an edge of the detector than to its
    /// middle
    #[default]
    Auto,
    On,
    Off,
}

impl Halves {
    /// The same, where it was left to what rows tell, and they have told.
    pub fn decided(self, joined: Option<bool>) -> Self {
        match (self, joined) {
            (Self::Auto, Some(true)) => Self::On,
            (Self::Auto, Some(false)) => Self::Off,
            (given, _) => given,
        }
    }

    /// Whether rows of a scan with this axis are joined.
    pub fn wanted(self, scan: &Scan, axis: f64) -> bool {
        match self {
            Self::On => true,
            Self::Off => false,
            Self::Auto => {
                let middle = (scan.views.source.shape()[2] as f64 - 1.0) / 2.0;
                scan.turn() > 1.95 * PI && (axis - middle).abs() > middle / 2.0
            }
        }
    }
}

/// The steps, in their order.
#[derive(Clone, Debug, Default, PartialEq, Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Steps {
    #[command(flatten, next_help_heading = "Outliers")]
    pub outliers: Outliers,
    #[command(flatten, next_help_heading = "Flats and darks")]
    pub flats: FlatField,
    #[command(flatten, next_help_heading = "Distortion")]
    pub distortion: Distortion,
    #[command(flatten, next_help_heading = "Phase")]
    pub phase: Phase,
    #[command(flatten, next_help_heading = "Stripes")]
    pub stripes: Stripes,
    #[command(flatten, next_help_heading = "Slices")]
    pub slices: Slices,
    #[command(flatten, next_help_heading = "Iterations")]
    pub method: Method,
    #[command(flatten, next_help_heading = "Region")]
    pub region: Region,
    #[command(flatten, next_help_heading = "Volume")]
    pub volume: Volume,
}

#[derive(Clone, Debug, Default, PartialEq, Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FlatField {
    /// Replace dead and hot pixels: those that are off by this many times the detector's scatter; 10 is usual
    #[arg(long, value_name = "X", num_args = 0..=1, default_missing_value = "10")]
    pub bad_pixels: Option<f64>,
    /// Medians of flats and darks in place of means
    #[arg(long)]
    pub median_flats: bool,
    /// Fit up to so many principal components of the flats to each view, for a beam whose shape moves; it takes 30 flats or more
    #[arg(long, value_name = "N")]
    pub eigenflats: Option<usize>,
}

impl FlatField {
    /// For some rows of the detector alone: components are fitted to whole frames.
    pub fn of_rows(&self) -> Self {
        Self { eigenflats: None, ..self.clone() }
    }
}

/// A run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The scan: a file, a folder of images, or a pattern.
    pub scan: PathBuf,
    /// The volume file.
    pub output: PathBuf,
    /// Rotation axis as a fractional bin.
    pub axis: f64,
    /// First detector row, and the one behind the last.
    pub rows: [usize; 2],
    /// Slices that are made and recorded together; a run that ended early goes on behind the last of them.
    pub block: usize,
    /// Side of a pixel in millimetres, where the scan file does not tell it, or wrongly.
    pub pixel: Option<f64>,
    /// What is said of the scan besides.
    #[serde(default, skip_serializing_if = "Input::is_empty")]
    pub input: Input,
    /// What is done.
    #[serde(default)]
    pub steps: Steps,
    /// What becomes of rows that two of several scans have.
    #[serde(default, skip_serializing_if = "Overlap::is_default")]
    pub overlap: Overlap,
    /// Scans that make one volume, from its first row on, where it is made of several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scans: Vec<Piece>,
}

impl Plan {
    /// Whether it has no rows.
    pub fn is_empty(&self) -> bool {
        self.rows[0] >= self.rows[1]
    }

    /// Of one of the scans, which has so many rows, as if it were alone.
    pub fn of(&self, which: usize, rows: usize) -> Self {
        let Some(piece) = self.scans.get(which) else { return self.clone() };
        let Piece { scan, row, axis, input, beside } = piece.clone();
        let rows = self.rows.map(|at| at.saturating_sub(row).min(rows));
        let mut own = Self { scan, axis, input, rows, scans: Vec::new(), ..self.clone() };
        if !beside.is_empty() {
            // Each scan's have made light of its counts before it was put beside others.
            own.steps.flats = FlatField::default();
        }
        own
    }

    /// What one of the scans is called.
    pub fn name(&self, which: usize) -> String {
        self.scans.get(which).map_or_else(|| self.scan.display().to_string(), Piece::name)
    }

    pub fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
        Self::parse(&text).with_context(|| path.display().to_string())
    }

    pub fn parse(text: &str) -> Result<Self> {
        let plan: Self = toml::from_str(text)?;
        if plan.block == 0 || !plan.block.is_multiple_of(2) {
            // Slices are made in pairs, which blocks must not part: a run that goes on would make other ones.
            bail!("block is {}; it must be an even number of slices", plan.block);
        }
        let [first, end] = plan.rows;
        if plan.steps.method.together() && plan.block < end.saturating_sub(first) {
            bail!(
                "block is {}; with steps.method.variation volume slices are made all together: it must be {} or more",
                plan.block,
                end - first
            );
        }
        if plan.scans.first().is_some_and(|first| first.axis != plan.axis) {
            bail!("axis is {}, and each of the scans has its own: that of the first has to be the same", plan.axis);
        }
        if plan.scans.iter().flat_map(Piece::scans).any(|(_, _, input)| input.nan != plan.input.nan) {
            bail!("input.nan differs among the scans: it must be one for all");
        }
        Ok(plan)
    }

    /// Its text.
    pub fn text(&self) -> Result<String> {
        toml::to_string_pretty(self).context("writing the plan")
    }

    /// Beside the volume.
    pub fn path(&self) -> PathBuf {
        self.output.with_extension("toml")
    }

    pub fn write(&self) -> Result<PathBuf> {
        let path = self.path();
        names::write(&path, self.text()?)?;
        Ok(path)
    }

    /// Sets a plan of the library up, but for geometry and flats.
    pub fn set_up(&self, ct: &mut Ct, scan: &Scan) -> Result<()> {
        let Steps { outliers, flats, distortion, phase, stripes, slices, method, volume, .. } = &self.steps;
        let outliers = outliers.wanted();
        let integrals = matches!(scan.input(), InputKind::Auto | InputKind::LineIntegrals);
        if integrals && (outliers.is_some() || phase.method.is_some()) {
            bail!(
                "the scan has no flats, and its projections are taken for line integrals, which have no outliers and no phase: \
                 --input transmission says that they are transmissions"
            );
        }
        if scan.flats.is_empty() && flats.bad_pixels.is_some() {
            bail!("--bad-pixels looks for them in flats and darks, and the scan has no flats");
        }
        ct.set_options(self.options(scan)?)?;
        if let Some(iterative) = method.wanted()? {
            ct.set_iterative(iterative)?;
        }
        ct.set_outliers(outliers)?;
        ct.set_distortion(distortion.wanted(scan, &self.input.detector)?)?;
        ct.set_phase(phase.wanted(scan.pixel.millimetres())?)?;
        ct.set_stripes(stripes.wanted()?)?;
        // Iterations take rows as they are.
        let joined = slices.half_acquisition.wanted(scan, self.axis) && !method.iterates();
        ct.set_half_acquisition(joined.then(HalfAcquisition::default))?;
        ct.set_output(volume.wanted()?)?;
        Ok(())
    }

    /// Options of the library.
    pub fn options(&self, scan: &Scan) -> Result<Options> {
        self.steps.slices.options(&self.steps.method, scan.input())
    }

    /// Refuses what does not go together, before anything is searched.
    pub fn check(&self, ct: &mut Ct, scan: &Scan) -> Result<()> {
        let method = &self.steps.method;
        let mut whole = method.clone();
        if whole.lacks_weight() {
            // It is still to be found.
            whole.regularisation = Some(1.0);
        }
        if let Some(iterative) = whole.wanted()? {
            ct.set_iterative(iterative)?;
        }
        ct.set_options(self.options(scan)?)?;
        Ok(())
    }

    /// Whether each block is made for itself, so that its values do not follow from those that a process makes with it: how slices lie side by side in
    /// a processor's vectors moves roundings. What goes through Fourier transforms goes in pairs, wherever it lies.
    pub fn by_blocks(&self) -> bool {
        self.steps.method.iterates() || !self.steps.slices.by_fourier()
    }

    /// Whether a part of slices is cut out of whole ones, so that its values are those of the whole: iterations need all that rays meet, a mask is
    /// about the middle of whole slices, and what Fourier transforms read between bins follows by a little from how far pixels reach.
    pub fn cuts(&self, part: &Part) -> bool {
        let Steps { slices, method, volume, .. } = &self.steps;
        !part.is_all() && (method.iterates() || slices.by_fourier() || volume.mask_radius.is_some())
    }

    /// Sets whole slices of a scan up, and says which part of them is made.
    pub fn whole(&self, scan: &Scan, geometry: &mut Geometry) -> Result<Part> {
        let bins = scan.views.source.shape()[2] as f64;
        let joined = self.steps.slices.half_acquisition.wanted(scan, self.axis);
        // All that is seen, about the axis.
        let seen = if joined { (2.0 * self.axis.max(bins - 1.0 - self.axis) + 1.0).ceil() } else { bins };
        self.steps.region.set(geometry, seen)
    }
}
