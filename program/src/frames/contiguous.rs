//! Values that lie in a file one after the other.

use super::Source;
use anyhow::{Context, Result, bail};
use hdf5_metno::types::{FloatSize, IntSize, TypeDescriptor};
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
    dtype: DType,
}

/// The element type, if the library reads it as it is.
pub fn native(dataset: &hdf5_metno::Dataset) -> Option<DType> {
    let dtype = dataset.dtype().ok()?;
    if dtype.byte_order() != hdf5_metno::datatype::ByteOrder::LittleEndian && dtype.size() > 1 {
        return None;
    }
    match dtype.to_descriptor().ok()? {
        TypeDescriptor::Unsigned(IntSize::U1) => Some(DType::U8),
        TypeDescriptor::Unsigned(IntSize::U2) => Some(DType::U16),
        TypeDescriptor::Float(FloatSize::U4) => Some(DType::F32),
        _ => None,
    }
}

impl Contiguous {
    /// Of a dataset that is stored so.
    pub fn open(dataset: &hdf5_metno::Dataset, shape: [usize; 3]) -> Result<Option<Self>> {
        let (Some(dtype), Some(offset)) = (native(dataset), dataset.offset()) else { return Ok(None) };
        let path = dataset.filename();
        let file = File::open(&path).with_context(|| format!("opening {path}"))?;
        let bytes = shape.iter().product::<usize>() as u64 * dtype.size() as u64;
        let length = file.metadata()?.len();
        if offset + bytes > length {
            bail!("{path} has {length} bytes where {} are needed: it is truncated", offset + bytes);
        }
        Ok(Some(Self { file, offset, shape, dtype }))
    }
}

impl Source for Contiguous {
    fn shape(&self) -> [usize; 3] {
        self.shape
    }

    fn dtype(&self) -> DType {
        self.dtype
    }

    fn read(&self, frames: &[usize], rows: Range<usize>, to: &mut [u8]) -> Result<()> {
        let [_, all, bins] = self.shape;
        let row = bins * self.dtype.size();
        to.par_chunks_exact_mut((rows.len() * row).max(1)).zip(frames).try_for_each(|(to, &frame)| {
            let at = self.offset + ((frame * all + rows.start) * row) as u64;
            self.file.read_exact_at(to, at).with_context(|| format!("reading {} bytes at {at}", to.len()))
        })
    }

    fn storage(&self) -> String {
        "contiguous".into()
    }
}
