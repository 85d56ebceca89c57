//! Frames in files: read by rows, on all cores, each part of a file once.

mod ahead;
mod batches;
mod binned;
mod chunked;
mod chunks;
mod coded;
mod contiguous;
mod converted;
mod edf;
mod element;
pub mod field;
mod files;
#[doc(hidden)]
pub mod filters;
mod held;
mod images;
mod kept;
mod library;
mod mapping;
mod origins;
mod part;
mod sheets;
mod sinograms;
mod spread;
mod stack;
mod tiff;
mod transposed;
pub mod wide;

pub use ahead::{Ahead, following};
pub use binned::Binned;
pub use converted::Converted;
pub use origins::{complete, sound};
pub use part::Part;
pub use sheets::of_datasets;
pub use sinograms::Sinograms;
pub use stack::joined;
pub use transposed::Transposed;

use crate::team::Team;
use anyhow::{Context, Result, bail, ensure};
use element::{Element, Form};
use hdf5_metno::Dataset;
use isocenter::array::DType;
use spread::Spread;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A stack of images, (frames, rows, bins), in a file.
pub trait Source: Send + Sync {
    /// Frames, rows and bins.
    fn shape(&self) -> [usize; 3];

    /// What `read` gives.
    fn dtype(&self) -> DType;

    /// Fills `to`, (frames, rows, bins), with some rows of some frames.
    fn read(&self, frames: &[usize], rows: Range<usize>, to: &mut [u8]) -> Result<()>;

    /// The same of some bins alone, (frames, rows, bins).
    fn read_bins(&self, frames: &[usize], rows: Range<usize>, bins: Range<usize>, to: &mut [u8]) -> Result<()> {
        cut(self, frames, rows, bins, to)
    }

    /// How it is stored, in words.
    fn storage(&self) -> String;

    /// The source whose values this one changes or orders, which then answers for how they are stored.
    fn below(&self) -> Option<&dyn Source> {
        None
    }

    /// So many frames, counted from the first, are decoded together, whatever is wanted of them; nothing where a part costs no more than
    /// that part, so that there is no need to hold it.
    fn together(&self) -> Option<usize> {
        self.below()?.together()
    }

    /// Whether reading may wait for a disk.
    fn waits(&self) -> bool {
        self.below().is_none_or(Source::waits)
    }

    /// Bytes that were decoded so far.
    fn decoded(&self) -> u64 {
        self.below().map_or(0, Source::decoded)
    }
}

/// Reads some bins with all others of their rows.
fn cut<S: Source + ?Sized>(
    source: &S,
    frames: &[usize],
    rows: Range<usize>,
    bins: Range<usize>,
    to: &mut [u8],
) -> Result<()> {
    let (all, size) = (source.shape()[2], source.dtype().size());
    let mut whole = crate::memory::zeros(frames.len() * rows.len() * all * size)?;
    source.read(frames, rows, &mut whole)?;
    let part = bins.start * size..bins.end * size;
    let to = to.chunks_exact_mut(part.len().max(1));
    to.zip(whole.chunks_exact(all * size)).for_each(|(to, row)| to.copy_from_slice(&row[part.clone()]));
    Ok(())
}

/// Where decoded frames may be kept.
#[derive(Clone, Debug)]
pub struct Room {
    /// Bytes of memory that are left.
    pub memory: u64,
    /// For what does not fit there.
    pub scratch: PathBuf,
}

/// Some frames of a source, in their order.
#[derive(Clone)]
pub struct Frames {
    pub source: Arc<dyn Source>,
    pub which: Vec<usize>,
}

impl Frames {
    /// All of them.
    pub fn all(source: Arc<dyn Source>) -> Self {
        let which = (0..source.shape()[0]).collect();
        Self { source, which }
    }

    /// Bytes of so many rows of them.
    pub fn bytes(&self, rows: usize) -> usize {
        self.which.len() * rows * self.source.shape()[2] * self.source.dtype().size()
    }

    /// Some of the detector's rows of them, (frames, rows, bins).
    pub fn rows(&self, rows: &[usize]) -> Result<Vec<u8>> {
        let [_, _, bins] = self.source.shape();
        let row = bins * self.source.dtype().size();
        let mut values = crate::memory::zeros(self.which.len() * rows.len() * row)?;
        let mut done = 0;
        // Those that follow each other at once.
        for run in rows.chunk_by(|a, b| a + 1 == *b) {
            let range = run[0]..run[0] + run.len();
            if run.len() == rows.len() {
                self.source.read(&self.which, range, &mut values)?;
                break;
            }
            let mut part = crate::memory::zeros(self.which.len() * run.len() * row)?;
            self.source.read(&self.which, range, &mut part)?;
            let frames = values.chunks_exact_mut(rows.len() * row).zip(part.chunks_exact(run.len() * row));
            frames.for_each(|(to, from)| to[done * row..][..from.len()].copy_from_slice(from));
            done += run.len();
        }
        Ok(values)
    }
}

/// Decodes some rows, ascending, of frames that would else be decoded whenever a part of them is read, and has them read from there; frames
/// of one source are kept together. Other rows can still be read. All of a team call it, and decode what they have memory for between them.
pub fn hold(frames: &mut [&mut Frames], rows: &[usize], room: &mut Room, team: &dyn Team) -> Result<()> {
    let mut done: Vec<(Arc<dyn Source>, Arc<dyn Source>)> = Vec::new();
    for k in 0..frames.len() {
        let source = frames[k].source.clone();
        if source.together().is_none() {
            continue;
        }
        let held = match done.iter().find(|(of, _)| Arc::ptr_eq(of, &source)) {
            Some((_, held)) => held.clone(),
            None => {
                let same = frames.iter().filter(|other| Arc::ptr_eq(&other.source, &source));
                let mut which: Vec<_> = same.flat_map(|other| other.which.iter().copied()).collect();
                which.sort_unstable();
                which.dedup();
                let between =
                    if team.size() > 1 { Spread::new(&source, &which, rows, &mut room.memory, team)? } else { None };
                let held: Arc<dyn Source> = match between {
                    Some(spread) => Arc::new(spread),
                    None => Arc::new(held::Held::new(source.clone(), &which, rows, room)?),
                };
                done.push((source, held.clone()));
                held
            }
        };
        frames[k].source = held;
    }
    Ok(())
}

/// Frames of a dataset, and rows and bins of one, at most: so many can be counted, and listed in memory, whatever a file says.
const FRAMES: usize = 1 << 24;
const SIDE: usize = 1 << 20;

/// A dataset of an HDF5 file, by the quickest way to its values.
pub fn of_dataset(dataset: Dataset) -> Result<Arc<dyn Source>> {
    let name = dataset.name();
    let shape = match dataset.shape().as_slice() {
        &[frames, rows, bins] => [frames, rows, bins],
        &[rows, bins] => [1, rows, bins],
        other => bail!("{name} has {} dimensions; it must have 3: frames, rows, bins", other.len()),
    };
    let few = shape[0] <= FRAMES && shape[1..].iter().all(|&side| side <= SIDE);
    ensure!(few, "{name} has {shape:?} frames, rows and bins; {FRAMES} frames of {SIDE} rows and bins are the most");
    let opened = || -> Result<Arc<dyn Source>> {
        origins::complete(&dataset)?;
        if let Some(source) = contiguous::Contiguous::open(&dataset, shape)? {
            return Ok(Arc::new(source));
        }
        if let Some(source) = chunked::Chunked::open(&dataset, shape)? {
            return Ok(Arc::new(source));
        }
        if let Some(source) = stack::Stack::open(&dataset, shape)? {
            return Ok(Arc::new(source));
        }
        Ok(Arc::new(library::Library::new(dataset.clone(), shape)?))
    };
    opened().with_context(|| format!("reading {name}"))
}

/// Values that lie in a file one after the other, (frames, rows, bins), and nothing before them.
pub fn of_values(path: &Path, shape: [usize; 3], dtype: DType, big_endian: bool) -> Result<Arc<dyn Source>> {
    let form = if dtype == DType::F32 { Form::Float } else { Form::Unsigned };
    let element = Element::of_form(form, 8 * dtype.size() as u16, big_endian).context("other numbers")?;
    Ok(Arc::new(contiguous::Contiguous::of_file(path, 0, shape, element)?))
}

/// What kind of files images are in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Tiff,
    Edf,
}

impl Kind {
    /// By a file's name.
    pub fn of(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        match extension.as_str() {
            "tif" | "tiff" => Some(Self::Tiff),
            "edf" => Some(Self::Edf),
            _ => None,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Tiff => "TIFF",
            Self::Edf => "EDF",
        }
    }
}

/// All images of some files, one after the other.
pub fn of_files(kind: Kind, paths: Vec<PathBuf>) -> Result<Arc<dyn Source>> {
    match kind {
        Kind::Tiff => tiff::open(paths),
        Kind::Edf => edf::open(paths),
    }
}

/// An error that names the first image that is not like those before it.
fn alike<'a>(mut images: impl Iterator<Item = (&'a Path, [usize; 2], Element)>) -> Result<()> {
    let Some((of, size, element)) = images.next() else { return Ok(()) };
    for (path, [rows, bins], other) in images {
        if [rows, bins] != size || other != element {
            let [r, b] = size;
            bail!(
                "{} has {rows} rows of {bins} bins, {}; {} has {r} of {b}, {}",
                path.display(),
                other.name(),
                of.display(),
                element.name()
            );
        }
    }
    Ok(())
}

/// The value of elements that were never written, as it is read.
fn fill(dataset: &Dataset, dtype: DType) -> Result<Vec<u8>> {
    let properties = dataset.dcpl()?;
    Ok(match dtype {
        DType::U8 => properties.get_fill_value_as::<u8>()?.unwrap_or_default().to_ne_bytes().to_vec(),
        DType::U16 => properties.get_fill_value_as::<u16>()?.unwrap_or_default().to_ne_bytes().to_vec(),
        _ => properties.get_fill_value_as::<f32>()?.unwrap_or_default().to_ne_bytes().to_vec(),
    })
}
