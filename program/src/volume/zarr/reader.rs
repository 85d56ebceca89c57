//! A finished folder, of which parts are read: each chunk that has some of a part is decoded, and kept for the parts beside.

use super::level::{Level, Place};
use super::metadata::{self, Told};
use crate::frames::Source;
use anyhow::Result;
use isocenter::array::DType;
use rayon::prelude::*;
use std::collections::VecDeque;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// Bytes of decoded chunks that are kept: those of a layer of slices of 2048 x 2048.
const KEPT: usize = 512 << 20;

/// The largest array of a pyramid.
pub struct Reader {
    level: Level,
    folder: PathBuf,
    /// Those that were used last are behind.
    kept: Mutex<VecDeque<Kept>>,
}

#[derive(Clone)]
struct Kept {
    layer: usize,
    shard: usize,
    chunk: usize,
    values: Arc<Vec<u8>>,
}

/// Opens a folder; gives what stands beside the values, too.
pub fn open(folder: &Path) -> Result<(Reader, Told)> {
    let (level, told) = metadata::read(folder)?;
    Ok((Reader { level, folder: folder.to_owned(), kept: Mutex::default() }, told))
}

impl Reader {
    fn values(&self, layer: usize, place: &Place) -> Result<Arc<Vec<u8>>> {
        let kept = || self.kept.lock().unwrap_or_else(|e| e.into_inner());
        let same = |of: &Kept| (of.layer, of.shard, of.chunk) == (layer, place.shard, place.chunk);
        let mut list = kept();
        if let Some(at) = list.iter().position(same)
            && let Some(found) = list.remove(at)
        {
            list.push_back(found.clone());
            return Ok(found.values);
        }
        drop(list);
        let values = Arc::new(self.level.decoded(layer, place, &self.folder)?);
        let mut list = kept();
        while list.len() >= (KEPT / values.len().max(1)).max(1) {
            list.pop_front();
        }
        list.push_back(Kept { layer, shard: place.shard, chunk: place.chunk, values: values.clone() });
        Ok(values)
    }
}

impl Source for Reader {
    fn shape(&self) -> [usize; 3] {
        self.level.shape
    }

    fn dtype(&self) -> DType {
        self.level.dtype
    }

    fn read(&self, slices: &[usize], rows: Range<usize>, to: &mut [u8]) -> Result<()> {
        self.read_bins(slices, rows, 0..self.level.shape[2], to)
    }

    fn read_bins(&self, slices: &[usize], rows: Range<usize>, columns: Range<usize>, to: &mut [u8]) -> Result<()> {
        let slice = rows.len() * columns.len() * self.level.dtype.size();
        let places = self.level.within(rows.clone(), columns.clone());
        let mut rest = to;
        for slices in slices.chunk_by(|a, b| a / self.level.depth() == b / self.level.depth()) {
            let (to, behind) = rest.split_at_mut(slices.len() * slice);
            rest = behind;
            let layer = slices[0] / self.level.depth();
            let chunks: Vec<_> = places.par_iter().map(|place| self.values(layer, place)).collect::<Result<_>>()?;
            to.par_chunks_exact_mut(slice.max(1)).zip(slices).for_each(|(to, &slice)| {
                let copy = |(place, chunk): (&Place, &Arc<Vec<u8>>)| {
                    self.level.copy(place, chunk, slice, [&rows, &columns], to);
                };
                places.iter().zip(&chunks).for_each(copy);
            });
        }
        Ok(())
    }

    fn storage(&self) -> String {
        "OME-Zarr".into()
    }

    fn together(&self) -> Option<usize> {
        Some(self.level.depth())
    }
}
