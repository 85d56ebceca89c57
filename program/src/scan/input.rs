//! What is said of a scan besides its name.

use super::angles::{self, Unit};
use super::detector::Detector;
use super::kind::Kind;
use super::layout::keys;
use super::place::{Place, Wanted};
use super::{Flats, Scan, is_hdf5, listing};
use crate::frames::{Frames, Sinograms, Source, of_dataset, of_files};
use anyhow::{Context, Result, bail, ensure};
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

/// What names a dataset.
const DATA: &str = "Frames of an HDF5 file, (views, rows, bins) [default: those that are found]. A dataset is named so:
  FILE:/entry/data  a dataset of another HDF5 file
  /entry/data       a dataset of the scan; where --flats, --darks and --angles may name files as well, a file or a folder if the scan has no
                    dataset of this name, and an error if there are both
  :/entry/data      a dataset of the scan, whatever files there are
What does not begin with / and has no :/ in it is a file or a folder.";

/// What names angles.
const ANGLES: &str = "Angles of projections [default: what the scan says, or half a turn without its end]:
  0..180            of the first and of the last projection
  angles.txt        a file of text: one a line, or a table whose first line names the columns, such as angle or theta; a log of IMAT's, a scan
                    of SPEC's or of Diamond's SRS files
  /entry/angles     a dataset of the scan, if it has one of this name, else a file; see --data
  FILE:/entry/data  a dataset of another HDF5 file
As many as projections, or as all frames. They are in degrees unless their units, the name of their column, or --angle-unit say radians.";

#[derive(Clone, Debug, Default, PartialEq, Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Input {
    /// Frames of an HDF5 file, (views, rows, bins): /dataset of the scan, or FILE:/dataset of another file [default: those that are found]
    #[arg(long, value_name = "DATASET", long_help = DATA)]
    pub data: Option<String>,
    /// What frames are, a number each: 0 a projection, 1 a flat, 2 a dark; others are left out; a dataset as for --data
    #[arg(long, value_name = "DATASET")]
    pub keys: Option<String>,
    /// Flats in place of those of the scan: a folder, a pattern, or a file of TIFF or EDF images, or a dataset as for --data; twice: before
    /// and after the projections
    #[arg(long, value_name = "FILES")]
    pub flats: Vec<PathBuf>,
    /// Darks in place of those of the scan, likewise
    #[arg(long, value_name = "FILES")]
    pub darks: Option<PathBuf>,
    /// Angles of the first and of the last projection, as in 0..180; or a file of text, or a dataset as for --data [default: what the scan
    /// says, or half a turn without its end]
    #[arg(long, value_name = "FIRST..LAST", allow_hyphen_values = true, long_help = ANGLES)]
    pub angles: Option<String>,
    /// What angles are in [default: what is said with them, or degrees]
    #[arg(long, value_enum)]
    pub angle_unit: Option<Unit>,
    /// Projections to use, counted from 0, the end of a range left out, as in 0..1800:2 (every other one) or 0..900,905..1800
    #[arg(long, value_name = "WHICH")]
    pub views: Option<String>,
    /// Projections to leave out, likewise, as in 10,55..60: such as were taken without beam
    #[arg(long, value_name = "WHICH")]
    pub skip: Option<String>,
    /// Projections that a run has left out besides, since they were no measurement.
    #[arg(skip)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_out: Option<String>,
    /// Flats to leave out, counted from 0 over all of them in the order in which they were taken, as in 0,5..7: such as are saturated, or
    /// were taken with the shutter closed
    #[arg(long, value_name = "WHICH")]
    pub skip_flats: Option<String>,
    /// Darks to leave out, likewise
    #[arg(long, value_name = "WHICH")]
    pub skip_darks: Option<String>,
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
    /// What is done to frames before all else.
    #[command(flatten)]
    #[serde(skip_serializing_if = "Detector::is_empty")]
    pub detector: Detector,
}

impl Input {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether the angle of each projection is told, one by one.
    pub fn each_angle(&self) -> bool {
        self.angles.as_deref().is_some_and(|text| angles::range(text).is_none())
    }

    /// Projections of a source, which may hold sinograms.
    pub fn projections(&self, source: Arc<dyn Source>) -> Arc<dyn Source> {
        if self.sinograms { Arc::new(Sinograms(source)) } else { source }
    }

    /// An error where something is said that is for HDF5 files alone, and the scan is none.
    pub fn fits(&self, scan: &Path) -> Result<()> {
        let given = [("--entry", &self.entry), ("--data", &self.data), ("--keys", &self.keys)];
        match given.into_iter().find(|(_, given)| given.is_some()) {
            Some((option, _)) if !is_hdf5(scan) => {
                bail!("{option} belongs to a scan in an HDF5 file, and {} is no HDF5 file", scan.display())
            }
            Some(("--entry", _)) if self.data.is_some() || self.keys.is_some() => {
                bail!("--entry names an NXtomo entry, --data and --keys datasets: one of both is expected")
            }
            _ => Ok(()),
        }
    }

    /// Puts what is said in the place of what the scan holds.
    pub fn apply(&self, scan: &mut Scan, path: &Path) -> Result<()> {
        let views = scan.views.which.len();
        let groups = |(k, flats): (usize, &PathBuf)| {
            let (frames, note) = images(flats, path, ("flats", 1.0)).context("--flats")?;
            Ok((Flats { frames, position: k * views }, note))
        };
        match self.flats.len() {
            0 => {}
            1 | 2 => {
                let groups = self.flats.iter().enumerate().map(groups).collect::<Result<Vec<_>>>()?;
                let (flats, notes): (_, Vec<_>) = groups.into_iter().unzip();
                scan.flats = flats;
                scan.notes.extend(notes.into_iter().flatten());
            }
            n => bail!("--flats is given {n} times; flats are taken before and after the projections"),
        }
        if let Some(darks) = &self.darks {
            let (frames, note) = images(darks, path, ("darks", 2.0)).context("--darks")?;
            scan.darks = Some(frames);
            scan.notes.extend(note);
        }
        if let Some(text) = &self.angles {
            let (angles, note) = angles::given(text, path, &scan.views, self.angle_unit).context("--angles")?;
            scan.angles = angles;
            scan.notes.extend(note);
        }
        Ok(())
    }
}

/// All images of a folder, a pattern or a file, or of a dataset, of which keys beside it tell those of a kind; and what is to be said of them.
fn images(path: &Path, scan: &Path, (kind, key): (&str, f64)) -> Result<(Frames, Option<String>)> {
    let (dataset, file) = match Place::of(path, scan, Wanted::Frames)? {
        Place::Dataset(dataset, file) => (dataset, file),
        Place::Files(path) => {
            let (kind, files) = listing::images(&path)?;
            return Ok((Frames::all(of_files(kind, files)?), None));
        }
    };
    let keys = keys::beside(&file, &dataset)?;
    let mut frames = Frames::all(of_dataset(dataset)?);
    let Some((keys, name)) = keys.filter(|(keys, _)| keys.iter().any(|key| [1.0, 2.0].contains(key))) else {
        return Ok((frames, None));
    };
    frames.which.retain(|&frame| keys[frame] == key);
    ensure!(!frames.which.is_empty(), "{}: its keys, {name}, tell of no {kind} ({key})", path.display());
    let note = format!("{kind}: {} of {} frames of {}, by {name}", frames.which.len(), keys.len(), path.display());
    Ok((frames, Some(note)))
}
