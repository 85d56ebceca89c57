//! Virtual datasets that are made of whole frames of others: each part is read in the quickest way for itself.

use super::{Source, of_dataset};
use anyhow::{Context, Result};
use hdf5_metno::plist::dataset_create::VirtualMapping;
use hdf5_metno::{Dataset, File, Selection, SliceOrIndex};
use isocenter::array::DType;
use std::ops::Range;
use std::path::{Path, PathBuf};
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

/// The frames that a selection takes, if it takes all of each, one after the other.
fn frames(selection: &Selection, shape: &[usize]) -> Option<Range<usize>> {
    let &[all, rows, bins] = shape else { return None };
    let Selection::Hyperslab(slab) = selection else { return selection.is_all().then_some(0..all) };
    let along = |slice: &SliceOrIndex| match *slice {
        SliceOrIndex::SliceCount { start, step, count, block } if count == 1 || step == block => {
            Some(start..start + count * block)
        }
        SliceOrIndex::SliceTo { start, step, end, block } if step == block => Some(start..end),
        SliceOrIndex::Index(at) => Some(at..at + 1),
        _ => None,
    };
    let [frames, r, b] = [along(slab.first()?)?, along(slab.get(1)?)?, along(slab.get(2)?)?];
    (r == (0..rows) && b == (0..bins)).then_some(frames)
}

/// A mapping's frames here, and those of its source, if it maps whole frames.
fn mapped(map: &VirtualMapping, shape: [usize; 3]) -> Option<(Range<usize>, Range<usize>)> {
    let (here, there) = (frames(&map.vds_selection, &shape)?, frames(&map.src_selection, &map.src_extents.dims())?);
    // A percent sign stands for numbers of files that may come later.
    let one = !map.src_filename.contains('%') && !map.src_dataset.contains('%');
    (one && here.len() == there.len() && here.end <= shape[0] && map.src_extents.dims()[1..] == shape[1..])
        .then_some((here, there))
}

/// The file of a mapping: its name counts from the folder of the virtual dataset's file.
fn path(name: &str, of: &str) -> PathBuf {
    if name == "." {
        return PathBuf::from(of);
    }
    let beside = Path::new(of).parent().map(|folder| folder.join(name));
    // As HDF5 has it: else from the folder in which the program runs.
    beside.filter(|path| path.exists()).unwrap_or_else(|| PathBuf::from(name))
}

impl Stack {
    /// Of a virtual dataset; nothing if it is none, or put together in another way.
    pub fn open(dataset: &Dataset, shape: [usize; 3]) -> Result<Option<Self>> {
        if dataset.ndim() != 3 || !dataset.layout().eq(&hdf5_metno::plist::dataset_create::Layout::Virtual) {
            return Ok(None);
        }
        if std::env::var_os("HDF5_VDS_PREFIX").is_some() {
            return Ok(None);
        }
        // Selections that are no boxes are an error there.
        let Ok(maps) = dataset.dcpl()?.get_virtual_map() else { return Ok(None) };
        let Some(ranges) = maps.iter().map(|map| mapped(map, shape)).collect::<Option<Vec<_>>>() else {
            return Ok(None);
        };
        let Some(element) = super::element::Element::of(&dataset.dtype()?) else { return Ok(None) };
        let mut parts = Vec::new();
        for (map, (here, there)) in maps.iter().zip(ranges) {
            let path = path(&map.src_filename, &dataset.filename());
            let source = File::open(&path).and_then(|file| file.dataset(&map.src_dataset));
            let source = source.with_context(|| {
                format!("frames {} to {} are in {}:{}", here.start, here.end, path.display(), map.src_dataset)
            })?;
            if source.shape() != map.src_extents.dims() {
                return Ok(None);
            }
            let source = of_dataset(source)?;
            if source.dtype() != element.dtype() {
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
