//! What a scan file holds: frames, angles, flats and darks, and what is known of the instrument.

mod angles;
pub mod chosen;
mod data_exchange;
mod detector;
mod elsewhere;
mod esrf;
mod input;
mod keyed;
mod kind;
mod layout;
mod listing;
mod numbers;
mod nxtomo;
mod pairs;
mod pixel;
mod place;
pub mod pyhst;
mod stack;
mod terms;
mod tomcat;
mod tree;
mod units;

pub use detector::{Detector, range};
pub use input::{Input, Nan};
pub use kind::Kind;
pub use listing::{images, is_of_files, is_table};
pub use pairs::pairs;
pub use pixel::Pixel;

use angles::listed;
use numbers::numbers;

use crate::frames::{Converted, Frames, Room, hold};
use crate::team::Team;
use anyhow::{Context, Result, bail, ensure};
use hdf5_metno::{File, Group};
use isocenter::array::DType;
use isocenter::ct::InputKind;
use std::f64::consts::PI;
use std::path::Path;
use std::sync::Arc;

/// Flats that were taken together.
pub struct Flats {
    pub frames: Frames,
    /// Views that had been taken before.
    pub position: usize,
}

/// A scan.
pub struct Scan {
    /// Of the file.
    pub format: &'static str,
    pub title: Option<String>,
    /// Projections, in the order in which they were taken.
    pub views: Frames,
    /// In radians, one a view.
    pub angles: Vec<f64>,
    pub flats: Vec<Flats>,
    pub darks: Option<Frames>,
    /// Side of a pixel at the sample.
    pub pixel: Pixel,
    /// What projections are, where it is said.
    pub kind: Option<Kind>,
    /// What was assumed, and what was left out, in words.
    pub notes: Vec<String>,
}

impl Scan {
    /// Reads all but the frames.
    pub fn open(path: &Path, input: &Input) -> Result<Self> {
        ensure!(
            !is_table(path),
            "{} has the name of a table of scans, which `recon` and `inspect` take",
            path.display()
        );
        elsewhere::check(path)?;
        input.fits(path)?;
        let mut scan = if stack::is(path) {
            stack::read(path, input)?
        } else if pyhst::is(path) {
            pyhst::scan(path, input)?
        } else {
            in_file(path, input)?
        };
        scan.take(input, path)?;
        Ok(scan)
    }

    /// Puts what is said of it beside its name, which is this one, in the place of what it says.
    pub fn take(&mut self, input: &Input, path: &Path) -> Result<()> {
        let of = || path.display().to_string();
        input.apply(self, path)?;
        chosen::choose(self, input).with_context(of)?;
        chosen::without(self, input.skip_flats.as_deref(), input.skip_darks.as_deref()).with_context(of)?;
        self.flats.retain(|flats| !flats.frames.which.is_empty());
        self.darks.take_if(|darks| darks.which.is_empty());
        self.one_type();
        match (input.input, input.full_beam) {
            (Some(kind), full_beam) => kind.apply(full_beam, self)?,
            (None, Some(value)) => bail!("--full-beam {value} belongs to --input transmission"),
            (None, None) => {}
        }
        self.check().with_context(of)?;
        input.detector.apply(self).with_context(of)
    }

    /// Flats of several groups as numbers of one type.
    fn one_type(&mut self) {
        let of = |flats: &Flats| flats.frames.source.dtype();
        if self.flats.windows(2).all(|pair| of(&pair[0]) == of(&pair[1])) {
            return;
        }
        for flats in self.flats.iter_mut().filter(|flats| of(flats) != DType::F32) {
            flats.frames.source = Arc::new(Converted::new(flats.frames.source.clone(), 1.0));
        }
    }

    /// Decodes some rows, ascending, once, and keeps them for every reading of these rows; other rows are still read from the file.
    pub fn hold(&mut self, rows: &[usize], room: &mut Room, team: &dyn Team) -> Result<()> {
        let mut frames: Vec<_> = self.flats.iter_mut().map(|flats| &mut flats.frames).chain(&mut self.darks).collect();
        frames.push(&mut self.views);
        hold(&mut frames, rows, room, team)
    }

    /// How far views go round, a step behind the last, in radians.
    pub fn turn(&self) -> f64 {
        let (low, high) = self.angles.iter().fold((f64::MAX, f64::MIN), |(l, h), a| (l.min(*a), h.max(*a)));
        let steps = (self.angles.len() - 1).max(1) as f64;
        (high - low) * (1.0 + 1.0 / steps)
    }

    /// What projections are.
    pub fn input(&self) -> InputKind {
        match self.kind {
            Some(kind) => kind.input(),
            None if self.flats.is_empty() => InputKind::Auto,
            None => InputKind::Counts,
        }
    }

    fn check(&self) -> Result<()> {
        let [_, rows, bins] = self.views.source.shape();
        let views = self.views.which.len();
        if views != self.angles.len() {
            bail!("{} angles for {views} projections", self.angles.len());
        }
        if let Some(at) = self.angles.iter().position(|angle| !angle.is_finite()) {
            bail!("the angle of projection {at} is {}: --angles tells others", self.angles[at]);
        }
        if views == 0 {
            bail!("there are no projections");
        }
        ensure!(rows > 0 && bins > 0, "projections have {rows} rows of {bins} bins");
        let flats = self.flats.iter().map(|flats| ("flats", "--flats", &flats.frames));
        for (what, option, frames) in flats.chain(self.darks.iter().map(|darks| ("darks", "--darks", darks))) {
            let [_, r, b] = frames.source.shape();
            ensure!(
                [r, b] == [rows, bins],
                "{what} have {r} rows of {b} bins, and projections {rows} of {bins}: {option} names others, taken with the same part of the detector"
            );
        }
        ensure!(
            views > 1,
            "there is one projection alone, of {rows} rows of {bins} bins; if it is a sinogram of {rows} views, --sinograms says so"
        );
        Ok(())
    }
}

/// Whether a scan is in an HDF5 file.
fn is_hdf5(path: &Path) -> bool {
    !stack::is(path) && !pyhst::is(path)
}

/// Of an HDF5 file.
fn in_file(path: &Path, input: &Input) -> Result<Scan> {
    let file = File::open(path).with_context(|| format!("opening {}", path.display()))?;
    let read = || {
        if input.data.is_some() || input.keys.is_some() {
            return layout::read(&file, path, input);
        }
        match nxtomo::entry(&file, input.entry.as_deref())? {
            Some(entry) if entry.link_exists("instrument/detector/image_key") => nxtomo::read(&entry, input),
            // As Savu reads them too, with flats and darks beside.
            Some(_) => layout::read(&file, path, input),
            None if file.link_exists("exchange/data") => data_exchange::read(&file, input),
            None => layout::read(&file, path, input),
        }
    };
    read().with_context(|| path.display().to_string())
}

/// Angles of so many views, in radians, of which nothing is known.
fn half_turn(views: usize) -> Vec<f64> {
    (0..views).map(|k| k as f64 * PI / views as f64).collect()
}

/// The side of a pixel, of a dataset that should be a number.
fn length(group: &Group, name: &str, else_in: &str) -> Pixel {
    match numbers(group, name) {
        Ok(None) => Pixel::Untold,
        Ok(Some(lengths)) if lengths.is_empty() => Pixel::Unread(format!("{}/{name} is empty", group.name())),
        Ok(Some(lengths)) => units::pixel(
            lengths[0],
            group.dataset(name).ok().and_then(|dataset| numbers::units(&dataset)).as_deref(),
            else_in,
        ),
        Err(_) => {
            let told = units::text(group, name).map_or_else(|| "no number".into(), |text| format!("\"{text}\""));
            Pixel::Unread(format!("{}/{name} is {told}, where the side of a pixel belongs", group.name()))
        }
    }
}
