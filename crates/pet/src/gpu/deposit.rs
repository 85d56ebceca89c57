//! Launches `kernels/pet/deposit.cu`: events into histo-images that are in the GPU's memory. Counts are whole numbers, so that the order in which
//! they are added does not matter: the result is the processor's.

use super::pairs::Measured;
use crate::dropped::{CAUSES, Dropped};
use crate::events::EventArrays;
use crate::lattice::Lattice;
use crate::response::HALF_LIGHT;
use crate::scanner::{CrystalArrays, Pairs, Scanner};
use crate::views::{Rule, Views};
use isocenter_base::array::{Array, ArrayMut, DType, Element, host};
use isocenter_base::context::{Context, Stage};
use isocenter_base::cpu::buffer::Plain;
use isocenter_base::error::{Result, fail};
use isocenter_base::gpu::{Device, DeviceMemory, Lent, Queue, Span, mirrored, then_wait};
use std::sync::Arc;

/// Mirrors `Numbers`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Numbers {
    data: u64,
    stride: i64,
    along: i64,
    kind: i32,
    unused: i32,
}
mirrored!(Numbers, 32);

impl Numbers {
    const NONE: Self = Self { data: 0, stride: 0, along: 0, kind: 0, unused: 0 };

    fn new(data: u64, [stride, along]: [isize; 2], dtype: DType) -> Result<Self> {
        let kind = match dtype {
            DType::F32 => 0,
            DType::F64 => 1,
            DType::U8 => 2,
            DType::U16 => 3,
            DType::U32 => 4,
            _ => fail!(TensorDtype, "events of {dtype:?}"),
        };
        Ok(Self { data, stride: stride as i64, along: along as i64, kind, unused: 0 })
    }
}

/// Mirrors `Deposit`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Arguments {
    first: Numbers,
    second: Numbers,
    time: Numbers,
    count: i64,
    sides: [f64; 3],
    per_mm: [f64; 3],
    half_light: f64,
    max_tilt: f64,
    histos: u64,
    strides: [i64; 5],
    grid: [i32; 2],
    cells: [i32; 2],
    starts: u64,
    candidates: u64,
    directions: u64,
    dropped: u64,
    is_float: i32,
    sets: u32,
    faces: u64,
    bins: u64,
    crystals: u32,
    bin_count: u32,
    first_event: u64,
    pairs: Measured,
}
mirrored!(Arguments, 336);

/// Events that are brought to the GPU at a time at most, and at least; and that are launched at a time where they are there: a wish to cancel is
/// heard in between.
const PIECE: usize = 1 << 21;
const LEAST: usize = 1 << 12;
const LAUNCH: usize = 1 << 27;

/// Events in either form.
#[derive(Clone, Copy, Debug)]
pub(crate) enum List<'a> {
    Positions(&'a EventArrays<'a>),
    Crystals(&'a CrystalArrays<'a>),
}

impl List<'_> {
    fn count(&self) -> usize {
        match self {
            Self::Positions(events) => events.time.shape()[0],
            Self::Crystals(events) => events.times.shape()[0],
        }
    }

    fn gpu(&self) -> Option<usize> {
        match self {
            Self::Positions(events) => events.time.layout().gpu,
            Self::Crystals(events) => events.times.layout().gpu,
        }
    }

    /// Bytes of an event, packed.
    fn event_bytes(&self) -> usize {
        let size = |dtype: DType, count: usize| dtype.size() * count;
        match self {
            Self::Positions(EventArrays { first, second, time }) => {
                size(first.dtype(), 3) + size(second.dtype(), 3) + time.dtype().size()
            }
            Self::Crystals(CrystalArrays { crystals, times, labels, .. }) => {
                let labels = labels.as_ref().map_or(0, |l| l.dtype().size());
                size(crystals.dtype(), 2) + times.dtype().size() + labels
            }
        }
    }
}

/// Which view an event belongs to, on the GPU.
struct Search {
    starts: DeviceMemory,
    candidates: DeviceMemory,
    directions: DeviceMemory,
    cells: [i32; 2],
}

/// Crystals and time bins on the GPU.
struct Table {
    faces: DeviceMemory,
    bins: DeviceMemory,
    crystals: u32,
    bin_count: u32,
    /// Members, groups and values of pairs, and where they are.
    pairs: Option<([DeviceMemory; 3], Measured)>,
}

/// Counts events on a GPU, of one geometry and one scanner.
pub(crate) struct Depositor {
    queue: Queue,
    dropped: DeviceMemory,
    grid: [i32; 2],
    search: Option<Search>,
    table: Option<Table>,
    max_tilt: f64,
}

impl Depositor {
    pub(crate) fn new(device: &Arc<Device>, views: &Views, scanner: Option<&Scanner>) -> Result<Self> {
        let queue = Queue::new(device)?;
        let dropped = DeviceMemory::from_slice(device, &[0u64; CAUSES])?;
        let (grid, search) = match views.rule() {
            Rule::Grid { azimuths, tilts } => ([*azimuths as i32, *tilts as i32], None),
            Rule::Angle(search) => {
                let parts = search.parts();
                let search = Search {
                    starts: DeviceMemory::from_slice(device, parts.starts)?,
                    candidates: DeviceMemory::from_slice(device, parts.candidates)?,
                    directions: DeviceMemory::from_slice(device, parts.directions)?,
                    cells: parts.cells.map(|n| n as i32),
                };
                ([0; 2], Some(search))
            }
        };
        let table = match scanner {
            Some(Scanner { crystals, time_bins, pairs }) => {
                let bins = time_bins.as_ref().map_or(&[[0.0; 2]][..], |bins| bins.bins());
                Some(Table {
                    faces: DeviceMemory::from_slice(device, crystals.faces())?,
                    bins: DeviceMemory::from_slice(device, bins.as_flattened())?,
                    crystals: crystals.count() as u32,
                    bin_count: bins.len() as u32 - 1,
                    pairs: pairs.as_ref().map(|pairs| tables_of(device, pairs)).transpose()?,
                })
            }
            None => None,
        };
        Ok(Self { queue, dropped, grid, search, table, max_tilt: views.max_tilt() })
    }

    /// Bytes of its tables.
    pub(crate) fn bytes(&self) -> u64 {
        let search = self.search.as_ref().map_or(0, |s| s.starts.bytes() + s.candidates.bytes() + s.directions.bytes());
        let of_pairs = |t: &Table| t.pairs.as_ref().map_or(0, |(all, _)| all.iter().map(DeviceMemory::bytes).sum());
        let table = self.table.as_ref().map_or(0, |t| t.faces.bytes() + t.bins.bytes() + of_pairs(t));
        (search + table) as u64
    }

    /// Adds events, on the host or on this GPU, to histo-images `[set][view][z][y][x]` on this GPU; what is in the caller's stream comes before.
    /// `held`: what the plan has of the GPU's memory besides.
    pub(crate) fn deposit(
        &self,
        context: &Context,
        lattice: &Lattice,
        list: List,
        histos: &ArrayMut<5>,
        (stream, held): (usize, u64),
    ) -> Result<Dropped> {
        let (count, device) = (list.count(), self.queue.device.clone());
        let piece = match list.gpu() {
            Some(_) => LAUNCH,
            None => self.piece(context, &list, held)?,
        };
        context.run_waiting(|job| {
            job.enter(Stage::Deposit);
            let _current = device.enter()?;
            let work = |this: &mut &Self| {
                this.queue.follow(stream)?;
                this.dropped.clear(&this.queue.stream)?;
                for from in (0..count).step_by(piece) {
                    job.check()?;
                    let n = piece.min(count - from);
                    this.add(context, lattice, (list, from, n), histos)?;
                    job.advance(n as f64 / count as f64);
                }
                let mut found = [0u64; CAUSES];
                this.queue.fetch(this.dropped.address(), &mut found)?;
                let [unknown, not_finite, equal_positions, outside_tilts, outside_lattice, overflow, not_measured] =
                    found;
                Ok(Dropped {
                    unknown,
                    not_measured,
                    not_finite,
                    equal_positions,
                    outside_tilts,
                    outside_lattice,
                    overflow,
                })
            };
            let done = then_wait(&mut &*self, work, |this| this.queue.stream.synchronize());
            // Pieces are of use to a call alone.
            self.queue.pool.limit(0);
            done
        })
    }

    /// Events that there is room for at a time.
    fn piece(&self, context: &Context, list: &List, held: u64) -> Result<usize> {
        let (event, tables) = (list.event_bytes() as u64, self.bytes());
        let cap = context.gpu_memory(&self.queue.device, held + tables)?;
        let room = cap.saturating_sub(held + tables) / event;
        if room < LEAST as u64 {
            let needed = held + tables + LEAST as u64 * event;
            fail!(MemoryCap, "gpu_memory_cap is {cap} bytes; depositing events needs {needed}");
        }
        Ok(PIECE.min(room as usize))
    }

    /// Adds `n` events from `from` on.
    fn add(
        &self,
        context: &Context,
        lattice: &Lattice,
        (list, from, n): (List, usize, usize),
        histos: &ArrayMut<5>,
    ) -> Result<()> {
        let part = (from, n);
        let (kernel, [first, second, time], first_event) = match list {
            List::Positions(EventArrays { first, second, time }) => (
                "deposit_events",
                [
                    self.numbers(context, first, part)?,
                    self.numbers(context, second, part)?,
                    self.numbers(context, time, part)?,
                ],
                0,
            ),
            List::Crystals(CrystalArrays { crystals, times, labels, first }) => (
                "deposit_crystals",
                [
                    self.numbers(context, crystals, part)?,
                    match labels {
                        Some(labels) => self.numbers(context, labels, part)?,
                        None => (Numbers::NONE, None),
                    },
                    self.numbers(context, times, part)?,
                ],
                first.wrapping_add(from as u64),
            ),
        };
        let layout = histos.layout();
        let [s, v, z, y, x] = layout.strides.map(|s| s as i64);
        let address = |of: fn(&Search) -> &DeviceMemory| self.search.as_ref().map_or(0, |s| of(s).address());
        let table = self.table.as_ref();
        let arguments = Arguments {
            first: first.0,
            second: second.0,
            time: time.0,
            count: n as i64,
            sides: lattice.along().map(|n| n as f64),
            per_mm: lattice.voxel().map(|s| 1.0 / s),
            half_light: HALF_LIGHT,
            max_tilt: self.max_tilt,
            histos: layout.origin.addr() as u64,
            strides: [x, y, z, v, s],
            grid: self.grid,
            cells: self.search.as_ref().map_or([0; 2], |s| s.cells),
            starts: address(|s| &s.starts),
            candidates: address(|s| &s.candidates),
            directions: address(|s| &s.directions),
            dropped: self.dropped.address(),
            is_float: i32::from(layout.dtype == DType::F32),
            sets: u32::try_from(layout.shape[0]).unwrap_or(u32::MAX),
            faces: table.map_or(0, |t| t.faces.address()),
            bins: table.map_or(0, |t| t.bins.address()),
            crystals: table.map_or(0, |t| t.crystals),
            bin_count: table.map_or(0, |t| t.bin_count),
            first_event,
            pairs: table.and_then(|t| t.pairs.as_ref()).map_or(Measured::default(), |(_, measured)| *measured),
        };
        // SAFETY: the struct mirrors the kernel's; arrays of these sizes, those of the pool until the stream has passed this; the GPU is current.
        unsafe { self.queue.each((&crate::images::DEPOSIT, kernel), n, &arguments) }
    }

    /// Some events' numbers where the kernel finds them: as they are on the GPU, or a copy of those on the host.
    fn numbers<const N: usize>(
        &self,
        context: &Context,
        from: &Array<N>,
        (first, n): (usize, usize),
    ) -> Result<(Numbers, Option<Lent>)> {
        let layout = from.layout();
        let axes = if N == 2 { layout.shape[1] } else { 1 };
        if layout.gpu.is_some() {
            let mut at = [0; N];
            at[0] = first;
            let along = if N == 2 { layout.strides[1] } else { 0 };
            let numbers = Numbers::new(layout.element(at).addr() as u64, [layout.strides[0], along], layout.dtype)?;
            return Ok((numbers, None));
        }
        let (part, count) = (first * axes, n * axes);
        let memory = match layout.dtype {
            DType::F64 => self.upload::<f64, N>(context, from, part, count)?,
            DType::U32 => self.upload::<u32, N>(context, from, part, count)?,
            DType::U16 => self.upload::<u16, N>(context, from, part, count)?,
            DType::U8 => self.upload::<u8, N>(context, from, part, count)?,
            _ => self.upload::<f32, N>(context, from, part, count)?,
        };
        Ok((Numbers::new(memory.address(), [axes as isize, 1], layout.dtype)?, Some(memory)))
    }

    /// `count` elements from number `first` on.
    fn upload<T: Element + Plain, const N: usize>(
        &self,
        context: &Context,
        from: &Array<N>,
        first: usize,
        count: usize,
    ) -> Result<Lent> {
        let memory = self.queue.pool.take(count * size_of::<T>())?;
        let fill = |at: usize, part: &mut [T]| {
            context.install(|| host::copy_elements(from, first + at, part));
            Ok(())
        };
        // SAFETY: memory of so many elements, which stays in the pool until the stream has passed its use; the GPU is current.
        unsafe { self.queue.staging.upload(&self.queue.stream, Span::new(memory.address(), count), fill)? };
        Ok(memory)
    }
}

fn tables_of(device: &Arc<Device>, pairs: &Pairs) -> Result<([DeviceMemory; 3], Measured)> {
    let (members, groups, values, _) = pairs.parts();
    let tables = [
        DeviceMemory::from_slice(device, members)?,
        DeviceMemory::from_slice(device, groups)?,
        DeviceMemory::from_slice(device, values)?,
    ];
    let addresses = tables.each_ref().map(DeviceMemory::address);
    Ok((tables, Measured::new(pairs, addresses)))
}

/// An error unless events are where histo-images on a GPU can have them.
pub(crate) fn check_place(gpu: usize, places: &[(&str, Option<usize>)]) -> Result<()> {
    for (name, place) in places {
        if place.is_some_and(|g| g != gpu) {
            fail!(TensorDevice, "{name} is on another GPU than histo_images");
        }
        if place.is_some() != places[0].1.is_some() {
            fail!(TensorDevice, "{name} and {} must all be in host memory, or all on the GPU", places[0].0);
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "deposit_tests.rs"]
mod tests;
