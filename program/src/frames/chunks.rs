//! Where the chunks of a dataset are in its file: what is read through the HDF5 library, once.

use anyhow::{Context, Result, bail};
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
        let grid: [usize; 3] = std::array::from_fn(|k| shape[k].div_ceil(chunk[k]));
        let count = grid.iter().try_fold(1usize, |n, &g| n.checked_mul(g)).context("too many chunks")?;
        let mut places = Vec::new();
        places.try_reserve_exact(count).with_context(|| format!("no memory for the places of {count} chunks"))?;
        let unfiltered = dataset.dcpl()?.chunk_opts() == Some(ChunkOpts::DONT_FILTER_PARTIAL_CHUNKS);
        let skip = 3 - dataset.ndim();
        hdf5_metno::sync::sync(|| {
            for k in 0..count {
                let at = [k / (grid[1] * grid[2]), k / grid[2] % grid[1], k % grid[2]];
                let first: [u64; 3] = std::array::from_fn(|d| (at[d] * chunk[d]) as u64);
                let (mut skipped, mut address, mut length) = (0, 0, 0);
                // SAFETY: the library's lock is held, the dataset is open, and as many coordinates are given as it has.
                let status = unsafe {
                    let first = first[skip..].as_ptr();
                    H5Dget_chunk_info_by_coord(dataset.id(), first, &mut skipped, &mut address, &mut length)
                };
                if status < 0 {
                    bail!("the index of chunks is damaged: no place of the chunk at {:?}", &first[skip..]);
                }
                let partial = (0..3).any(|d| (at[d] + 1) * chunk[d] > shape[d]);
                let skipped = if unfiltered && partial { u32::MAX } else { skipped };
                places.push((address != u64::MAX && length > 0).then_some(Place { address, length, skipped }));
            }
            Ok(())
        })?;
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
