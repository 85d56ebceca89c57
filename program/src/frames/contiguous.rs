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
        let path = dataset.filename();
        let file = File::open(&path).with_context(|| format!("opening {path}"))?;
        let bytes = shape.iter().product::<usize>() as u64 * element.size() as u64;
        let length = file.metadata()?.len();
        if offset + bytes > length {
            bail!("{path} has {length} bytes where {} are needed: it is truncated", offset + bytes);
        }
        let in_memory = in_memory(&file);
        Ok(Some(Self { file, offset, shape, element, in_memory }))
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
        let row = bins * self.element.size();
        let each = (rows.len() * bins * self.element.dtype().size()).max(1);
        let frames = to.par_chunks_exact_mut(each).zip(frames);
        frames.try_for_each_init(Vec::new, |stored, (to, &frame)| {
            let at = self.offset + ((frame * all + rows.start) * row) as u64;
            let length = rows.len() * row;
            let read = |to: &mut [u8]| {
                self.file.read_exact_at(to, at).with_context(|| format!("reading {length} bytes at {at}"))
            };
            if self.element.plain() {
                return read(to);
            }
            at_least(stored, length)?;
            read(&mut stored[..length])?;
            self.element.decode(&stored[..length], to);
            Ok(())
        })
    }

    fn waits(&self) -> bool {
        !self.in_memory
    }

    fn storage(&self) -> String {
        format!("{}, contiguous", self.element.name())
    }
}
