//! What a scan file holds: frames, angles, flats and darks, and what is known of the instrument.

mod data_exchange;
mod esrf;
mod input;
mod listing;
mod nxtomo;
pub mod pyhst;
mod stack;

pub use input::Input;
use input::listed;

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
    /// Side of a pixel at the sample, in millimetres.
    pub pixel: Option<f64>,
    /// What was assumed, and what was left out, in words.
    pub notes: Vec<String>,
}

impl Scan {
    /// Reads all but the frames.
    pub fn open(path: &Path, input: &Input) -> Result<Self> {
        let of = || path.display().to_string();
        let in_hdf5 = !stack::is(path) && !pyhst::is(path);
        ensure!(in_hdf5 || input.entry.is_none(), "--entry names an NXtomo entry, and {} is no HDF5 file", of());
        let mut scan = if stack::is(path) {
            stack::read(path, input)?
        } else if pyhst::is(path) {
            pyhst::scan(path, input)?
        } else {
            in_file(path, input)?
        };
        input.apply(&mut scan)?;
        scan.one_type();
        scan.check().with_context(of)?;
        Ok(scan)
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
        if self.flats.is_empty() { InputKind::Auto } else { InputKind::Counts }
    }

    fn check(&self) -> Result<()> {
        let [_, rows, bins] = self.views.source.shape();
        let views = self.views.which.len();
        if views != self.angles.len() {
            bail!("{} angles for {views} projections", self.angles.len());
        }
        if views == 0 {
            bail!("there are no projections");
        }
        let others = self.flats.iter().map(|flats| &flats.frames).chain(&self.darks);
        for frames in others {
            let [_, r, b] = frames.source.shape();
            if [r, b] != [rows, bins] {
                bail!("flats or darks have {r} rows of {b} bins, projections {rows} of {bins}");
            }
        }
        Ok(())
    }
}

/// Of an HDF5 file.
fn in_file(path: &Path, input: &Input) -> Result<Scan> {
    let file = File::open(path).with_context(|| format!("opening {}", path.display()))?;
    let read = || match nxtomo::entry(&file, input.entry.as_deref())? {
        Some(entry) => nxtomo::read(&entry),
        None if file.link_exists("exchange") => data_exchange::read(&file),
        None => bail!("no NXtomo entry (a group with image_key) and no group exchange (Data Exchange)"),
    };
    read().with_context(|| path.display().to_string())
}

/// Angles of so many views, in radians, of which nothing is known.
fn half_turn(views: usize) -> Vec<f64> {
    (0..views).map(|k| k as f64 * PI / views as f64).collect()
}

/// A list of numbers, or nothing where there is no such dataset.
fn numbers(group: &Group, name: &str) -> Result<Option<Vec<f64>>> {
    if !group.link_exists(name) {
        return Ok(None);
    }
    let values = group.dataset(name).and_then(|dataset| dataset.read_raw::<f64>());
    values.map(Some).with_context(|| format!("reading {}/{name}", group.name()))
}

/// A line of text.
fn text(group: &Group, name: &str) -> Option<String> {
    let dataset = group.dataset(name).ok()?;
    let variable = dataset.read_scalar::<hdf5_metno::types::VarLenUnicode>().map(|v| v.to_string());
    variable.or_else(|_| dataset.read_scalar::<hdf5_metno::types::VarLenAscii>().map(|v| v.to_string())).ok()
}

/// The attribute `units` of a dataset.
fn units(group: &Group, name: &str) -> Option<String> {
    let attribute = group.dataset(name).ok()?.attr("units").ok()?;
    let variable = attribute.read_scalar::<hdf5_metno::types::VarLenUnicode>().map(|v| v.to_string());
    let variable =
        variable.or_else(|_| attribute.read_scalar::<hdf5_metno::types::VarLenAscii>().map(|v| v.to_string()));
    variable.or_else(|_| attribute.read_scalar::<hdf5_metno::types::FixedAscii<64>>().map(|v| v.to_string())).ok()
}

/// Angles in radians of what has these units; degrees where there are none.
fn in_radians(angles: Vec<f64>, units: Option<&str>) -> Result<Vec<f64>> {
    match units.map(str::to_ascii_lowercase).as_deref() {
        None | Some("" | "deg" | "degree" | "degrees") => Ok(angles.into_iter().map(f64::to_radians).collect()),
        Some("rad" | "radian" | "radians") => Ok(angles),
        Some(other) => bail!("angles are in \"{other}\"; degrees and radians are known"),
    }
}

/// A length in millimetres.
fn in_millimetres(length: f64, units: Option<&str>) -> Result<f64> {
    let factor = match units {
        None | Some("m" | "meter" | "metre") => 1e3,
        Some("cm") => 10.0,
        Some("mm") => 1.0,
        Some("um" | "micron" | "microns" | "µm") => 1e-3,
        Some("nm") => 1e-6,
        Some(other) => bail!("a pixel is in \"{other}\"; m, cm, mm, um and nm are known"),
    };
    Ok(length * factor)
}
