//! List-mode events into the histo-images of their views.
//!
//! Events that name crystals are anywhere on their faces, by their number: so are lines that factors are the mean of.
//!
//! Every event goes to `p = (p1 + p2)/2 + (c/2)(t2 - t1)(p1 - p2)/|p1 - p2|`, nearest voxel, nearest view. Counts are whole
//! numbers and every voxel belongs to one task, so the result does not depend on threads.
//!
//! Incrementing counts in the order of the events would miss cache and page table nearly every time, and need atomics. So
//! chunks of events are sorted by region of the counts' memory, and then each region is counted by one task.

use super::dropped::Dropped;
use super::events::{EventArrays, Events, Source};
use super::lattice::Lattice;
use super::locate::{CHUNK, Places, Scratch};
use super::scanner::{CrystalArrays, CrystalEvents, Scanner};
use super::views::Views;
use isocenter_base::array::{ArrayMut, DType, Layout};
use isocenter_base::context::{Context, Job, Stage};
use isocenter_base::cpu::buffer::{Buffer, zeros};
use isocenter_base::cpu::level::Level;
use isocenter_base::cpu::parallel::*;
use isocenter_base::cpu::prefetch::prefetch;
use isocenter_base::cpu::simd::{Plain, widest};
use isocenter_base::error::{Result, fail};

/// Maximum of chunks between two rounds of counting, of 128 KiB and a little each.
const CHUNKS: usize = 256;
/// Counts of a region: 512 kB, few enough pages for the processor's table of them.
const REGION: u64 = 1 << 17;
/// Maximum of regions; sorting would miss the cache for every event if there were many more.
const MAX_REGIONS: u64 = 1 << 10;

/// Adds events to the histo-images `[view][z][y][x]`, and says which ones it dropped.
pub fn deposit(
    context: &Context,
    views: &Views,
    lattice: &Lattice,
    events: &EventArrays,
    histos: ArrayMut<4>,
) -> Result<Dropped> {
    count(context, views, lattice, Events::new(events)?, histos.stacked())
}

/// The same of events that name crystals, for sets of histo-images `[set][view][z][y][x]`.
pub fn deposit_crystals(
    context: &Context,
    views: &Views,
    lattice: &Lattice,
    (scanner, events): (&Scanner, &CrystalArrays),
    histos: ArrayMut<5>,
) -> Result<Dropped> {
    let events = CrystalEvents::new(scanner, events, histos.shape()[0])?;
    count(context, views, lattice, events, histos)
}

fn count<S: Source>(
    context: &Context,
    views: &Views,
    lattice: &Lattice,
    events: S,
    histos: ArrayMut<5>,
) -> Result<Dropped> {
    let histos = histos.layout();
    let places = Places::new(views, lattice, histos, Span::of(histos).first)?;
    let regions = Regions::new(histos)?;
    let chunks = regions.chunks(context, events.len())?;
    context.run(|job| {
        job.enter(Stage::Deposit);
        let task = Task { level: context.level(), events, places, regions };
        task.run(chunks, job)
    })
}

/// The counts' memory, in elements.
#[derive(Clone, Copy)]
struct Span {
    /// From the lowest address to the element at index 0.
    first: u64,
    /// From the lowest to one past the highest.
    len: u64,
}

impl Span {
    fn of(histos: &Layout<5>) -> Self {
        let (low, high) = histos.extent();
        let size = size_of::<u32>();
        Self { first: ((histos.origin.addr() - low) / size) as u64, len: ((high - low) / size) as u64 }
    }
}

/// Equal parts of the counts' memory, each for one task.
#[derive(Clone, Copy)]
struct Regions<'a> {
    histos: &'a Layout<5>,
    /// Elements of a region, as a power of 2.
    shift: u32,
    count: usize,
}

impl<'a> Regions<'a> {
    fn new(histos: &'a Layout<5>) -> Result<Self> {
        if histos.gpu.is_some() {
            fail!(TensorDevice, "histo-images are in a GPU's memory; events are deposited in host memory");
        }
        if !matches!(histos.dtype, DType::U32 | DType::F32) {
            fail!(TensorDtype, "histo-images are {:?}; they must be U32 or F32", histos.dtype);
        }
        let len = Span::of(histos).len;
        let region = len.div_ceil(MAX_REGIONS).next_power_of_two().max(REGION);
        if region > 1 << 32 {
            fail!(TensorStrides, "the histo-images span {len} elements; it must be at most 2^42");
        }
        Ok(Self { histos, shift: region.trailing_zeros(), count: len.div_ceil(region) as usize })
    }

    /// Chunks between two rounds of counting.
    fn chunks(&self, context: &Context, events: usize) -> Result<usize> {
        let a_chunk = (4 * (CHUNK + self.count + 1)) as u64;
        let a_thread = Scratch::BYTES as u64;
        let (cap, fixed) = (context.memory_cap(0), context.threads() as u64 * a_thread);
        let fitting = cap.saturating_sub(fixed) / a_chunk;
        if fitting == 0 {
            let needed = fixed + a_chunk;
            fail!(MemoryCap, "memory_cap is {cap} bytes; depositing events needs {needed}");
        }
        Ok(events.div_ceil(CHUNK).min(CHUNKS).min(fitting as usize))
    }

    /// Counts the events of a region; returns how many found their voxel full.
    ///
    /// # Safety
    /// The counts are writable, and no other task uses those of this region.
    unsafe fn count<'o>(&self, region: usize, offsets: impl Iterator<Item = &'o [u32]>) -> u64 {
        let low = (self.histos.extent().0 as *mut u32).wrapping_add(region << self.shift);
        // SAFETY: offsets of elements of this region; the rest by this function's contract.
        unsafe {
            match self.histos.dtype {
                DType::U32 => count_at(low, offsets, |count: u32| count.saturating_add(1)),
                _ => count_at(low.cast(), offsets, |count: f32| count + 1.0),
            }
        }
    }
}

/// Counts at offsets, a chunk's while those of the next are on their way; returns how many are as they were.
///
/// # Safety
/// Elements at these offsets are writable, and nobody else's.
unsafe fn count_at<'o, T: Copy + PartialEq>(
    low: *mut T,
    offsets: impl Iterator<Item = &'o [u32]>,
    more: impl Fn(T) -> T,
) -> u64 {
    let mut full = 0;
    let mut now: &[u32] = &[];
    for next in offsets.chain([&[][..]]) {
        for offset in next {
            prefetch(low.wrapping_add(*offset as usize));
        }
        for offset in now {
            let p = low.wrapping_add(*offset as usize);
            // SAFETY: by this function's contract.
            unsafe {
                let after = more(*p);
                full += u64::from(after == *p);
                *p = after;
            }
        }
        now = next;
    }
    full
}

#[derive(Clone, Copy)]
struct Task<'a, S> {
    level: Level,
    events: S,
    places: Places<'a>,
    regions: Regions<'a>,
}

impl<S: Source> Task<'_, S> {
    fn run(&self, chunks: usize, job: &Job) -> Result<Dropped> {
        let regions = self.regions.count;
        let mut offsets = Buffer::<u32>::zeroed(chunks * CHUNK)?;
        let mut starts = zeros::<u32>(chunks * (regions + 1))?;
        let mut dropped = Dropped::default();
        let len = self.events.len();
        let part = |events: usize| 0.5 * events as f64 / len as f64;
        for first in (0..len).step_by((chunks * CHUNK).max(1)) {
            let batch = (len - first).min(chunks * CHUNK);
            let used = batch.div_ceil(CHUNK);
            dropped = offsets
                .par_chunks_mut(CHUNK)
                .zip(starts.par_chunks_mut(regions + 1))
                .take(used)
                .enumerate()
                .map_init(Scratch::new, |found, (k, (offsets, starts))| {
                    job.check()?;
                    let found = found.as_mut().map_err(|e| e.clone())?;
                    let from = first + k * CHUNK;
                    let n = CHUNK.min(first + batch - from);
                    let (count, dropped) = widest(self.level, Locate { task: self, from, n, found });
                    sort(&found.elements[..count], self.regions.shift, offsets, starts);
                    job.advance(part(n));
                    Ok(dropped)
                })
                .try_reduce(Dropped::default, |a, b| Ok(a.plus(b)))?
                .plus(dropped);
            let parts = || offsets.chunks(CHUNK).zip(starts.chunks(regions + 1)).take(used);
            // A round of counting is short, and is not left half done.
            dropped.overflow += (0..regions)
                .into_par_iter()
                .map(|r| {
                    let of = parts().map(|(o, s)| &o[s[r] as usize..s[r + 1] as usize]);
                    // SAFETY: each region has one task; `deposit` has the counts to itself.
                    unsafe { self.regions.count(r, of) }
                })
                .sum();
            job.advance(part(batch));
        }
        Ok(dropped)
    }
}

/// Where `n` events from `from` on belong.
struct Locate<'a, S> {
    task: &'a Task<'a, S>,
    from: usize,
    n: usize,
    found: &'a mut Scratch,
}

impl<S: Source> Plain for Locate<'_, S> {
    type Output = (usize, Dropped);

    #[inline(always)]
    fn run(self) -> (usize, Dropped) {
        let Task { events, places, .. } = self.task;
        places.locate(events, self.from, self.n, self.found)
    }
}

/// Offsets within their regions, region after region.
fn sort(places: &[u64], shift: u32, offsets: &mut [u32], starts: &mut [u32]) {
    // One entry ahead while filling: starts[r] then counts up to the start of r + 1.
    starts.fill(0);
    for p in places {
        starts[(p >> shift) as usize + 1] += 1;
    }
    let mut sum = 0;
    for s in starts.iter_mut().skip(1) {
        (*s, sum) = (sum, sum + *s);
    }
    for p in places {
        let next = &mut starts[(p >> shift) as usize + 1];
        offsets[*next as usize] = (p & ((1 << shift) - 1)) as u32;
        *next += 1;
    }
}

#[cfg(test)]
#[path = "deposit_tests.rs"]
mod tests;
