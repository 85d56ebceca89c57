//! Values that lie in a file one after the other.

use super::Source;
use super::element::Element;
use crate::disk::in_memory;
use crate::memory::at_least;
use anyhow::{Context, Result, bail};
use isocenter::array::DType;
use rayon::prelude::*;
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// (frames, rows, bins) from an offset on.
pub struct Contiguous {
    file: File,
    offset: u64,
    shape: [usize; 3],
    element: Element,
    in_memory: bool,
}

impl Contiguous {
    /// Of a dataset that is stored so; nothing if its elements are not known here.
    pub fn open(dataset: &hdf5_metno::Dataset, shape: [usize; 3]) -> Result<Option<Self>> {
        let (Some(element), Some(offset)) = (Element::of(&dataset.dtype()?), dataset.offset()) else {
            return Ok(None);
        };
        Self::of_file(Path::new(&dataset.filename()), offset, shape, element).map(Some)
    }

    /// From an offset of a file on.
    pub fn of_file(path: &Path, offset: u64, shape: [usize; 3], element: Element) -> Result<Self> {
        let shown = path.display();
        let file = File::open(path).with_context(|| format!("opening {shown}"))?;
        let bytes = shape.iter().try_fold(element.size() as u64, |n, &side| n.checked_mul(side as u64));
        let end = bytes.and_then(|bytes| bytes.checked_add(offset)).context("it has more bytes than can be counted")?;
        let length = file.metadata()?.len();
        if end > length {
            bail!("{shown} has {length} bytes where {end} are needed: it is truncated");
        }
        let in_memory = in_memory(&file);
        Ok(Self { file, offset, shape, element, in_memory })
    }

    /// Reads values from the one of this number on.
    fn values(&self, first: usize, stored: &mut Vec<u8>, to: &mut [u8]) -> Result<()> {
        let length = to.len() / self.element.dtype().size() * self.element.size();
        let at = self.offset + (first * self.element.size()) as u64;
        let read =
            |to: &mut [u8]| self.file.read_exact_at(to, at).with_context(|| format!("reading {length} bytes at {at}"));
        if self.element.plain() {
            return read(to);
        }
        at_least(stored, length)?;
        read(&mut stored[..length])?;
        self.element.decode(&stored[..length], to);
        Ok(())
    }
}

impl Source for Contiguous {
    fn shape(&self) -> [usize; 3] {
        self.shape
    }

    fn dtype(&self) -> DType {
        self.element.dtype()
    }

    fn read(&self, frames: &[usize], rows: Range<usize>, to: &mut [u8]) -> Result<()> {
        let [_, all, bins] = self.shape;
        let each = (rows.len() * bins * self.element.dtype().size()).max(1);
        let frames = to.par_chunks_exact_mut(each).zip(frames);
        frames.try_for_each_init(Vec::new, |stored, (to, &frame)| {
            self.values((frame * all + rows.start) * bins, stored, to)
        })
    }

    fn read_bins(&self, frames: &[usize], rows: Range<usize>, part: Range<usize>, to: &mut [u8]) -> Result<()> {
        let [_, all, bins] = self.shape;
        let row = (part.len() * self.element.dtype().size()).max(1);
        let read = |stored: &mut Vec<u8>, to: &mut [u8], frame: usize| {
            let mut rows = to.chunks_exact_mut(row).zip(rows.clone());
            rows.try_for_each(|(to, row)| self.values((frame * all + row) * bins + part.start, stored, to))
        };
        // A few values are not worth another thread.
        if let [frame] = frames {
            return read(&mut Vec::new(), to, *frame);
        }
        let frames = to.par_chunks_exact_mut((rows.len() * row).max(1)).zip(frames);
        frames.try_for_each_init(Vec::new, |stored, (to, &frame)| read(stored, to, frame))
    }

    fn waits(&self) -> bool {
        !self.in_memory
    }

    fn storage(&self) -> String {
        format!("{}, contiguous", self.element.name())
    }
}
