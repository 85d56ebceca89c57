//! Where the chunks of a dataset are in its file: what is read through the HDF5 library, once.

use super::filters::Pipeline;
use anyhow::{Context, Result, bail, ensure};
use hdf5_metno::Dataset;
use hdf5_metno::dataset::ChunkOpts;
use hdf5_metno_sys::h5d::H5Dget_chunk_info_by_coord;

/// A chunk that was written.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Its first byte in the file.
    pub address: u64,
    /// Its bytes in the file.
    pub length: u64,
    /// Bits of filters that it did not pass.
    pub skipped: u32,
}

/// Chunks of a dataset, at most: so many places can be listed in memory, whatever a file says.
const MOST: usize = 1 << 24;

/// Where all chunks of a dataset of this shape are, the last direction's neighbours first; nothing where one was never written.
fn places(dataset: &Dataset, shape: &[usize], chunk: &[usize]) -> Result<Vec<Option<Place>>> {
    let grid: Vec<_> = shape.iter().zip(chunk).map(|(side, chunk)| side.div_ceil(*chunk)).collect();
    let count = grid.iter().try_fold(1usize, |n, &g| n.checked_mul(g)).filter(|&count| count <= MOST);
    let count = count.with_context(|| format!("chunks of {chunk:?} are more than {MOST}"))?;
    let mut places = Vec::new();
    places.try_reserve_exact(count).with_context(|| format!("no memory for the places of {count} chunks"))?;
    let unfiltered = dataset.dcpl()?.chunk_opts() == Some(ChunkOpts::DONT_FILTER_PARTIAL_CHUNKS);
    let mut first = vec![0u64; grid.len()];
    hdf5_metno::sync::sync(|| {
        for mut k in 0..count {
            for d in (0..grid.len()).rev() {
                first[d] = (k % grid[d] * chunk[d]) as u64;
                k /= grid[d];
            }
            let (mut skipped, mut address, mut length) = (0, 0, 0);
            // SAFETY: the library's lock is held, the dataset is open, and as many coordinates are given as it has.
            let status = unsafe {
                H5Dget_chunk_info_by_coord(dataset.id(), first.as_ptr(), &mut skipped, &mut address, &mut length)
            };
            if status < 0 {
                bail!("the index of chunks is damaged: no place of the chunk at {first:?}");
            }
            let partial = first.iter().zip(chunk).zip(shape).any(|((at, chunk), side)| *at as usize + chunk > *side);
            let skipped = if unfiltered && partial { u32::MAX } else { skipped };
            places.push((address != u64::MAX && length > 0).then_some(Place { address, length, skipped }));
        }
        Ok(())
    })?;
    Ok(places)
}

/// An error where a chunk that nothing compresses has not as many bytes as its elements: the HDF5 library would read beyond them.
pub fn whole(dataset: &Dataset) -> Result<()> {
    let size = dataset.dtype()?.size();
    let (Some(chunk), Some(pipeline)) = (dataset.chunk(), Pipeline::of(dataset, size)?) else { return Ok(()) };
    let bytes = (chunk.iter().product::<usize>() * size) as u64;
    for place in places(dataset, &dataset.shape(), &chunk)?.into_iter().flatten() {
        let stored = pipeline.stored(bytes, place.skipped).unwrap_or(place.length);
        ensure!(
            place.length == stored,
            "a chunk of {} has {} bytes where {stored} are needed",
            dataset.name(),
            place.length
        );
    }
    Ok(())
}

/// The chunks of a dataset, (frames, rows, bins).
#[derive(Debug)]
pub struct Chunks {
    /// Frames, rows and bins of one.
    pub shape: [usize; 3],
    /// How many there are in each direction.
    pub grid: [usize; 3],
    /// Nothing where a chunk was never written.
    places: Vec<Option<Place>>,
}

impl Chunks {
    /// Of a dataset of this shape; nothing if it has none, or none that can be found in the file.
    pub fn of(dataset: &Dataset, shape: [usize; 3]) -> Result<Option<Self>> {
        let Some(chunk) = dataset.chunk() else { return Ok(None) };
        let chunk = match chunk[..] {
            [frames, rows, bins] => [frames, rows, bins],
            [rows, bins] => [1, rows, bins],
            _ => return Ok(None),
        };
        // Versions of HDF5 differ in whether addresses count from the end of a user block.
        if chunk.contains(&0) || dataset.file()?.userblock() != 0 {
            return Ok(None);
        }
        let grid = std::array::from_fn(|k| shape[k].div_ceil(chunk[k]));
        let skip = 3 - dataset.ndim();
        let places = places(dataset, &shape[skip..], &chunk[skip..])?;
        Ok(Some(Self { shape: chunk, grid, places }))
    }

    /// Of the chunk at these places of the grid.
    pub fn place(&self, at: [usize; 3]) -> Option<Place> {
        self.places[(at[0] * self.grid[1] + at[1]) * self.grid[2] + at[2]]
    }

    /// Elements of one.
    pub fn elements(&self) -> usize {
        self.shape.iter().product()
    }
}
