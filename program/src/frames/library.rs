//! Values that the HDF5 library has to read: of unusual types, through filters that are not known here, or of virtual datasets that are
//! put together in other ways than by whole frames.

use super::element::Element;
use super::{Source, sound};
use anyhow::{Context, Result, bail};
use hdf5_metno::{Dataset, Hyperslab, SliceOrIndex};
use isocenter::array::DType;
use std::ops::Range;

/// A dataset; what is no u16 or u8 is made f32.
pub struct Library {
    dataset: Dataset,
    shape: [usize; 3],
    dtype: DType,
}

impl Library {
    pub fn new(dataset: Dataset, shape: [usize; 3]) -> Result<Self> {
        sound(&dataset)?;
        let dtype = dataset.dtype()?;
        if dtype.conv_to::<f32>().is_none() {
            bail!("elements of {} are no numbers", dataset.name());
        }
        let dtype = Element::of(&dtype).map_or(DType::F32, Element::dtype);
        Ok(Self { dataset, shape, dtype })
    }

    fn part<T: hdf5_metno::H5Type + Copy>(
        &self,
        frames: Range<usize>,
        rows: Range<usize>,
        to: &mut [u8],
    ) -> Result<()> {
        let mut selection = vec![SliceOrIndex::from(rows), SliceOrIndex::from(0..self.shape[2])];
        if self.dataset.ndim() == 3 {
            selection.insert(0, SliceOrIndex::from(frames));
        }
        let values = self.dataset.read_slice::<T, _, ndarray::IxDyn>(Hyperslab::from(selection));
        let values = values.with_context(|| format!("reading {}", self.dataset.name()))?;
        let values = values.as_standard_layout();
        let values = values.as_slice().context("values are not one after the other")?;
        // SAFETY: numbers, of which each byte may be read.
        let bytes = unsafe { std::slice::from_raw_parts(values.as_ptr().cast::<u8>(), size_of_val(values)) };
        to.copy_from_slice(bytes);
        Ok(())
    }
}

impl Source for Library {
    fn shape(&self) -> [usize; 3] {
        self.shape
    }

    fn dtype(&self) -> DType {
        self.dtype
    }

    fn read(&self, frames: &[usize], rows: Range<usize>, to: &mut [u8]) -> Result<()> {
        let each = rows.len() * self.shape[2] * self.dtype.size();
        if each == 0 {
            return Ok(());
        }
        let mut done = 0;
        // Frames that follow each other at once.
        for run in frames.chunk_by(|a, b| a + 1 == *b) {
            let (of, to) = (run[0]..run[0] + run.len(), &mut to[done * each..(done + run.len()) * each]);
            match self.dtype {
                DType::U8 => self.part::<u8>(of, rows.clone(), to)?,
                DType::U16 => self.part::<u16>(of, rows.clone(), to)?,
                _ => self.part::<f32>(of, rows.clone(), to)?,
            }
            done += run.len();
        }
        Ok(())
    }

    fn storage(&self) -> String {
        let filters = self.dataset.filters();
        let filters: Vec<_> = filters.iter().map(|filter| filter.id().to_string()).collect();
        let by = "read by the HDF5 library";
        match self.dataset.chunk() {
            Some(chunk) if !filters.is_empty() => {
                format!("chunks of {chunk:?}, filters with the numbers {}, {by}", filters.join(", "))
            }
            Some(chunk) => format!("chunks of {chunk:?}, {by}"),
            None => by.into(),
        }
    }

    fn together(&self) -> Option<usize> {
        match self.dataset.chunk()?.as_slice() {
            &[frames, _, _] => Some(frames),
            _ => Some(1),
        }
    }
}
