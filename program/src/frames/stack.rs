//! Virtual datasets that are made of whole frames of others: each part is read in the quickest way for itself.

use super::{Source, mapping, of_dataset, origins};
use anyhow::{Context, Result};
use hdf5_metno::Dataset;
use hdf5_metno::plist::dataset_create::Layout;
use isocenter::array::DType;
use std::ops::Range;
use std::sync::Arc;

/// Frames of another source.
struct Part {
    /// Which they are here.
    frames: Range<usize>,
    source: Arc<dyn Source>,
    /// Which the first of them is there.
    first: usize,
}

/// (frames, rows, bins), frames from several sources.
pub struct Stack {
    shape: [usize; 3],
    dtype: DType,
    /// Ascending, none twice.
    parts: Vec<Part>,
    /// The value of frames that no part has.
    fill: Vec<u8>,
}

impl Stack {
    /// Of a virtual dataset; nothing if it is none, or put together in another way.
    pub fn open(dataset: &Dataset, shape: [usize; 3]) -> Result<Option<Self>> {
        if dataset.ndim() != 3 || dataset.layout() != Layout::Virtual {
            return Ok(None);
        }
        let maps = mapping::of(dataset)?;
        let Some(element) = super::element::Element::of(&dataset.dtype()?) else { return Ok(None) };
        let mut parts = Vec::new();
        for part in &maps {
            let Some(here) = part.here.frames(shape).filter(|_| !part.counted()) else { return Ok(None) };
            let source = origins::source(dataset, &part.file, &part.name);
            let source = source.with_context(|| format!("frames {} to {}", here.start, here.end - 1))?;
            let source = of_dataset(source)?;
            let [_, rows, bins] = source.shape();
            let there = part.there.frames(source.shape()).filter(|there| there.len() == here.len());
            let Some(there) = there else { return Ok(None) };
            if source.dtype() != element.dtype() || here.end > shape[0] || [rows, bins] != shape[1..] {
                return Ok(None);
            }
            parts.push(Part { frames: here, source, first: there.start });
        }
        parts.sort_by_key(|part| part.frames.start);
        if parts.windows(2).any(|pair| pair[0].frames.end > pair[1].frames.start) {
            return Ok(None);
        }
        let fill = super::fill(dataset, element.dtype())?;
        Ok(Some(Self { shape, dtype: element.dtype(), parts, fill }))
    }

    /// The part that a frame is in.
    fn part(&self, frame: usize) -> Option<&Part> {
        let k = self.parts.partition_point(|part| part.frames.end <= frame);
        self.parts.get(k).filter(|part| part.frames.contains(&frame))
    }
}

impl Source for Stack {
    fn shape(&self) -> [usize; 3] {
        self.shape
    }

    fn dtype(&self) -> DType {
        self.dtype
    }

    fn read(&self, frames: &[usize], rows: Range<usize>, to: &mut [u8]) -> Result<()> {
        let each = rows.len() * self.shape[2] * self.dtype.size();
        let mut rest = to;
        let same = |a: &usize, b: &usize| match (self.part(*a), self.part(*b)) {
            (Some(a), Some(b)) => std::ptr::eq(a, b),
            (None, None) => true,
            _ => false,
        };
        for frames in frames.chunk_by(same) {
            let (to, behind) = rest.split_at_mut(frames.len() * each);
            rest = behind;
            match self.part(frames[0]) {
                Some(part) => {
                    let there: Vec<_> = frames.iter().map(|f| f - part.frames.start + part.first).collect();
                    part.source.read(&there, rows.clone(), to)?;
                }
                None => to.chunks_exact_mut(self.fill.len()).for_each(|to| to.copy_from_slice(&self.fill)),
            }
        }
        Ok(())
    }

    fn storage(&self) -> String {
        match self.parts.as_slice() {
            [] => "a virtual dataset of nothing".into(),
            [first, ..] => format!("virtual, {} parts: {}", self.parts.len(), first.source.storage()),
        }
    }

    fn together(&self) -> Option<usize> {
        self.parts.iter().filter_map(|part| part.source.together()).max()
    }

    fn decoded(&self) -> u64 {
        self.parts.iter().map(|part| part.source.decoded()).sum()
    }
}
