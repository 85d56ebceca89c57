//! List-mode events into the histo-images of their views.
//!
//! Every event goes to `p = (p1 + p2)/2 + (c/2)(t2 - t1)(p1 - p2)/|p1 - p2|`, nearest voxel, nearest view. Counts are integers
//! and every voxel belongs to one task, so the result does not depend on threads.

use super::lattice::Lattice;
use super::response::HALF_LIGHT;
use super::views::{BLOCK, NONE, Views};
use crate::cpu::buffer::zeros;
use crate::cpu::level::Level;
use crate::error::{Result, fail};
use rayon::prelude::*;
use std::marker::PhantomData;
use std::ops::Range;

/// Events as a structure of arrays of any strides: x1, y1, z1, x2, y2, z2 in mm, and t2 - t1 in ps.
#[derive(Clone, Copy, Debug)]
pub struct Events<'a, T> {
    origins: [*const T; 7],
    strides: [isize; 7],
    len: usize,
    lifetime: PhantomData<&'a [T]>,
}

// SAFETY: events are only read, and their lifetime keeps writers away.
unsafe impl<T: Sync> Send for Events<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Events<'_, T> {}

impl<'a, T: Copy + Into<f64>> Events<'a, T> {
    /// Contiguous columns of one length.
    pub fn new(columns: [&'a [T]; 7]) -> Result<Self> {
        let len = columns[0].len();
        if let Some((k, c)) = columns.iter().enumerate().find(|(_, c)| c.len() != len) {
            fail!(TensorShape, "column {k} of the events has {} values, column 0 has {len}", c.len());
        }
        // SAFETY: the slices hold the elements.
        Ok(unsafe { Self::from_raw(columns.map(<[T]>::as_ptr), [1; 7], len) })
    }

    /// Columns with strides in elements.
    ///
    /// # Safety
    /// For `'a`, `len` elements of each column are readable, aligned and unchanged; no byte offset overflows `isize`.
    pub unsafe fn from_raw(origins: [*const T; 7], strides: [isize; 7], len: usize) -> Self {
        Self { origins, strides, len, lifetime: PhantomData }
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.len
    }

    /// None at all.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// A column's values from event `first` on.
    #[inline(always)]
    fn read(&self, column: usize, first: usize, out: &mut [f64]) {
        assert!(first + out.len() <= self.len);
        let stride = self.strides[column];
        let start = self.origins[column].wrapping_offset(first as isize * stride);
        if stride == 1 {
            // SAFETY: the constructor's contract covers these elements.
            let source = unsafe { std::slice::from_raw_parts(start, out.len()) };
            for (o, v) in out.iter_mut().zip(source) {
                *o = (*v).into();
            }
        } else {
            for (k, o) in out.iter_mut().enumerate() {
                // SAFETY: as above.
                *o = unsafe { *start.offset(k as isize * stride) }.into();
            }
        }
    }
}

/// Events that are in no histo-image, by the first cause that applies, in this order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dropped {
    /// A position or the time difference is NaN or Inf.
    pub not_finite: u64,
    /// Both positions are the same, so that there is no direction.
    pub equal_positions: u64,
    /// The direction's tilt is beyond the views'.
    pub outside_tilts: u64,
    /// The place is outside the lattice.
    pub outside_lattice: u64,
    /// The voxel has as many counts as 32 bits hold.
    pub overflow: u64,
}

impl Dropped {
    /// All of them.
    pub fn total(&self) -> u64 {
        self.not_finite + self.equal_positions + self.outside_tilts + self.outside_lattice + self.overflow
    }

    fn add(self, other: Self) -> Self {
        Self {
            not_finite: self.not_finite + other.not_finite,
            equal_positions: self.equal_positions + other.equal_positions,
            outside_tilts: self.outside_tilts + other.outside_tilts,
            outside_lattice: self.outside_lattice + other.outside_lattice,
            overflow: self.overflow + other.overflow,
        }
    }
}

/// Events that a task sorts by region: their sorted offsets stay in the second-level cache.
const CHUNK: usize = 1 << 15;
/// Chunks between two rounds of counting; the scratch memory is 16 MiB and a little.
const CHUNKS: usize = 128;
/// Voxels of a region: 512 kB of counts, few enough pages for the processor's table of them.
const REGION: usize = 1 << 17;
/// Most regions; sorting would miss the cache for every event if there were many more.
const MOST_REGIONS: usize = 1 << 10;

/// Adds events to the histo-images `[view][z][y][x]`, and says which ones it dropped.
///
/// Incrementing counts in the order of the events would miss cache and page table nearly every time, and need atomics. So
/// chunks of events are sorted by region of the counts, and then each region is counted by one task.
pub fn deposit<T: Copy + Into<f64> + Sync>(
    level: Level,
    events: &Events<T>,
    views: &Views,
    lattice: &Lattice,
    counts: &mut [u32],
) -> Result<Dropped> {
    let needed = views.list().len().checked_mul(lattice.voxels());
    if needed != Some(counts.len()) {
        let (v, shape) = (views.list().len(), lattice.shape());
        fail!(TensorShape, "the histo-images have {} voxels; {v} views of {shape:?} were expected", counts.len());
    }
    let region = counts.len().div_ceil(MOST_REGIONS).next_power_of_two().max(REGION);
    let regions = counts.len().div_ceil(region);
    let chunks = events.len.div_ceil(CHUNK).min(CHUNKS);
    let mut offsets = zeros::<u32>(chunks * CHUNK)?;
    let mut starts = zeros::<u32>(chunks * (regions + 1))?;
    let mut dropped = Dropped::default();
    for first in (0..events.len).step_by(CHUNKS * CHUNK) {
        let batch = (events.len - first).min(CHUNKS * CHUNK);
        dropped = offsets
            .par_chunks_mut(CHUNK)
            .zip(starts.par_chunks_mut(regions + 1))
            .take(batch.div_ceil(CHUNK))
            .enumerate()
            .map_init(
                || Vec::with_capacity(CHUNK),
                |places, (k, (offsets, starts))| {
                    let from = first + k * CHUNK;
                    places.clear();
                    let dropped =
                        locate(level, events, from..(from + CHUNK).min(first + batch), views, lattice, places);
                    sort(places, region, offsets, starts);
                    dropped
                },
            )
            .reduce(Dropped::default, Dropped::add)
            .add(dropped);
        let parts = || offsets.chunks(CHUNK).zip(starts.chunks(regions + 1)).take(batch.div_ceil(CHUNK));
        dropped.overflow += counts
            .par_chunks_mut(region)
            .enumerate()
            .map(|(r, counts)| parts().map(|(o, s)| count(&o[s[r] as usize..s[r + 1] as usize], counts)).sum::<u64>())
            .sum::<u64>();
    }
    Ok(dropped)
}

/// [`locate_any`] with the level's instructions; its results are the same with all of them.
fn locate<T: Copy + Into<f64>>(
    level: Level,
    events: &Events<T>,
    range: Range<usize>,
    views: &Views,
    lattice: &Lattice,
    places: &mut Vec<usize>,
) -> Dropped {
    #[cfg(target_arch = "x86_64")]
    if level >= Level::Avx2 {
        #[target_feature(enable = "avx2,fma")]
        fn locate_avx2<T: Copy + Into<f64>>(
            events: &Events<T>,
            range: Range<usize>,
            views: &Views,
            lattice: &Lattice,
            places: &mut Vec<usize>,
        ) -> Dropped {
            locate_any(events, range, views, lattice, places)
        }
        // SAFETY: the level says that the processor has these instructions.
        return unsafe { locate_avx2(events, range, views, lattice, places) };
    }
    locate_any(events, range, views, lattice, places)
}

/// Indices of the counts that events belong to.
#[inline(always)]
fn locate_any<T: Copy + Into<f64>>(
    events: &Events<T>,
    range: Range<usize>,
    views: &Views,
    lattice: &Lattice,
    places: &mut Vec<usize>,
) -> Dropped {
    let mut dropped = Dropped::default();
    let [nx, ny, nz] = lattice.along();
    let limits = [nx, ny, nz].map(|n| n as f64);
    // Voxel j reaches from j to j + 1 in these coordinates.
    let per_mm = lattice.voxel().map(|s| 1.0 / s);
    let middle = limits.map(|n| n / 2.0);
    let mut column = [[0.0; BLOCK]; 7];
    let mut direction = [[0.0; BLOCK]; 3];
    let mut place = [[0.0; BLOCK]; 3];
    let mut squares = [0.0; BLOCK];
    let mut view = [NONE; BLOCK];
    for first in range.clone().step_by(BLOCK) {
        let n = BLOCK.min(range.end - first);
        for (k, column) in column.iter_mut().enumerate() {
            events.read(k, first, &mut column[..n]);
        }
        let [x1, y1, z1, x2, y2, z2, dt] = &column;
        for i in 0..BLOCK {
            let d = [x1[i] - x2[i], y1[i] - y2[i], z1[i] - z2[i]];
            let square = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
            let unit = 1.0 / square.sqrt();
            let shift = HALF_LIGHT * dt[i];
            let sum = [x1[i] + x2[i], y1[i] + y2[i], z1[i] + z2[i]];
            for a in 0..3 {
                let u = d[a] * unit;
                direction[a][i] = u;
                place[a][i] = (0.5 * sum[a] + shift * u) * per_mm[a] + middle[a];
            }
            squares[i] = square;
        }
        views.assign(&direction, &mut view);
        for i in 0..n {
            let q = [place[0][i], place[1][i], place[2][i]];
            // Whatever is not finite in the event makes one of these so.
            if !(q[0] + q[1] + q[2] + squares[i]).is_finite() || squares[i] == 0.0 {
                let finite = column.iter().all(|c| c[i].is_finite());
                match () {
                    () if !finite => dropped.not_finite += 1,
                    () if squares[i] == 0.0 => dropped.equal_positions += 1,
                    () => dropped.outside_lattice += 1,
                }
                continue;
            }
            let Ok(view) = usize::try_from(view[i]) else {
                dropped.outside_tilts += 1;
                continue;
            };
            let inside = (0..3).all(|a| q[a] >= 0.0 && q[a] < limits[a]);
            if !inside {
                dropped.outside_lattice += 1;
                continue;
            }
            let [x, y, z] = q.map(|v| v as i32 as usize);
            places.push(((view * nz + z) * ny + y) * nx + x);
        }
    }
    dropped
}

/// Offsets within their regions, region after region.
fn sort(places: &[usize], region: usize, offsets: &mut [u32], starts: &mut [u32]) {
    let shift = region.trailing_zeros();
    // One entry ahead while filling: starts[r] then counts up to the start of r + 1.
    starts.fill(0);
    for p in places {
        starts[(p >> shift) + 1] += 1;
    }
    let mut sum = 0;
    for s in starts.iter_mut().skip(1) {
        (*s, sum) = (sum, sum + *s);
    }
    for p in places {
        let next = &mut starts[(p >> shift) + 1];
        offsets[*next as usize] = (p & (region - 1)) as u32;
        *next += 1;
    }
}

/// Counts the events of a region; returns how many found their voxel full.
fn count(offsets: &[u32], counts: &mut [u32]) -> u64 {
    let mut full = 0;
    for o in offsets {
        let c = &mut counts[*o as usize];
        match c.checked_add(1) {
            Some(more) => *c = more,
            None => full += 1,
        }
    }
    full
}

/// Counts as f32: exact up to 2^24, rounded to nearest above.
pub fn to_f32(counts: &[u32], out: &mut [f32]) -> Result<()> {
    if counts.len() != out.len() {
        fail!(TensorShape, "{} counts do not fit {} values", counts.len(), out.len());
    }
    out.par_chunks_mut(CHUNK).zip(counts.par_chunks(CHUNK)).for_each(|(out, counts)| {
        for (o, c) in out.iter_mut().zip(counts) {
            *o = *c as f32;
        }
    });
    Ok(())
}

#[cfg(test)]
#[path = "deposit_tests.rs"]
mod tests;
