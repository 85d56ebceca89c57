//! Frames of several sources, one after the other, and virtual datasets that are made of whole frames of others: each part is read in the
//! quickest way for itself.

use super::{Converted, Source, mapping, of_dataset, origins};
use anyhow::{Context, Result, ensure};
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
    /// What they are put together by, in words.
    by: &'static str,
}

/// All frames of some sources, of one size, one after the other; as floating point where they have several types.
pub fn joined(mut sources: Vec<Arc<dyn Source>>) -> Result<Arc<dyn Source>> {
    if sources.len() == 1 {
        return Ok(sources.remove(0));
    }
    ensure!(!sources.is_empty(), "there are no frames");
    if sources.iter().any(|source| source.dtype() != sources[0].dtype()) {
        let float = |source: Arc<dyn Source>| -> Arc<dyn Source> {
            if source.dtype() == DType::F32 { source } else { Arc::new(Converted::new(source, 1.0)) }
        };
        sources = sources.into_iter().map(float).collect();
    }
    let ([_, rows, bins], dtype) = (sources[0].shape(), sources[0].dtype());
    let (mut parts, mut frames) = (Vec::new(), 0);
    for source in sources {
        let [count, r, b] = source.shape();
        ensure!([r, b] == [rows, bins], "frames of {r} rows and {b} bins are among others of {rows} and {bins}");
        parts.push(Part { frames: frames..frames + count, source, first: 0 });
        frames += count;
    }
    let fill = vec![0; dtype.size()];
    Ok(Arc::new(Stack { shape: [frames, rows, bins], dtype, parts, fill, by: "one after the other" }))
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
        Ok(Some(Self { shape, dtype: element.dtype(), parts, fill, by: "virtual" }))
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
            [first, ..] => format!("{}, {} parts: {}", self.by, self.parts.len(), first.source.storage()),
        }
    }

    fn together(&self) -> Option<usize> {
        self.parts.iter().filter_map(|part| part.source.together()).max()
    }

    fn decoded(&self) -> u64 {
        self.parts.iter().map(|part| part.source.decoded()).sum()
    }
}
