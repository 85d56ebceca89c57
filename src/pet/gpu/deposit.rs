//! Launches `kernels/pet/deposit.cu`: events into histo-images that are in the GPU's memory. Counts are whole numbers, so that the order in which
//! they are added does not matter: the result is the processor's.

use crate::array::{Array, ArrayMut, DType, host};
use crate::context::{Context, Stage};
use crate::error::{Result, fail};
use crate::gpu::{Device, DeviceMemory, Lent, Queue, Span, mirrored, then_wait};
use crate::pet::deposit::Dropped;
use crate::pet::events::EventArrays;
use crate::pet::lattice::Lattice;
use crate::pet::response::HALF_LIGHT;
use crate::pet::views::{Rule, Views};
use std::sync::Arc;

/// Mirrors `Numbers`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Numbers {
    data: u64,
    stride: i64,
    along: i64,
    is_double: i32,
    unused: i32,
}
mirrored!(Numbers, 32);

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
    strides: [i64; 4],
    grid: [i32; 2],
    cells: [i32; 2],
    starts: u64,
    candidates: u64,
    directions: u64,
    dropped: u64,
    is_float: i32,
    unused: i32,
}
mirrored!(Arguments, 264);

/// Events that are brought to the GPU at a time, or launched at a time where they are there: a wish to cancel is heard in between.
const PIECE: usize = 1 << 21;
const LAUNCH: usize = 1 << 27;

/// Which view an event belongs to, on the GPU.
struct Search {
    starts: Lent,
    candidates: Lent,
    directions: Lent,
    cells: [i32; 2],
}

/// Counts events on a GPU, of one geometry.
pub(in crate::pet) struct Depositor {
    queue: Queue,
    dropped: DeviceMemory,
    grid: [i32; 2],
    search: Option<Search>,
    max_tilt: f64,
}

impl Depositor {
    pub(in crate::pet) fn new(device: &Arc<Device>, views: &Views) -> Result<Self> {
        let queue = Queue::new(device)?;
        let dropped = DeviceMemory::from_slice(device, &[0u64; 5])?;
        let (grid, search) = match views.rule() {
            Rule::Grid { azimuths, tilts } => ([*azimuths as i32, *tilts as i32], None),
            Rule::Angle(search) => {
                let _current = device.enter()?;
                let parts = search.parts();
                let search = Search {
                    starts: queue.upload(parts.starts)?,
                    candidates: queue.upload(parts.candidates)?,
                    directions: queue.upload(parts.directions)?,
                    cells: parts.cells.map(|n| n as i32),
                };
                ([0; 2], Some(search))
            }
        };
        Ok(Self { queue, dropped, grid, search, max_tilt: views.max_tilt() })
    }

    /// Adds events, on the host or on this GPU, to histo-images on this GPU; what is in the caller's stream comes before.
    pub(in crate::pet) fn deposit(
        &self,
        context: &Context,
        lattice: &Lattice,
        events: &EventArrays,
        histos: &mut ArrayMut<4>,
        stream: usize,
    ) -> Result<Dropped> {
        let count = events.time.shape()[0];
        let device = self.queue.device.clone();
        context.run_waiting(|job| {
            job.enter(Stage::Deposit);
            let _current = device.enter()?;
            let work = |this: &mut &Self| {
                this.queue.follow(stream)?;
                this.dropped.clear(&this.queue.stream)?;
                let on_gpu = events.time.layout().gpu.is_some();
                let piece = if on_gpu { LAUNCH } else { PIECE };
                for from in (0..count).step_by(piece) {
                    job.check()?;
                    let n = piece.min(count - from);
                    this.add(context, lattice, (events, from, n), histos)?;
                    job.advance(n as f64 / count as f64);
                }
                let mut found = [0u64; 5];
                this.queue.fetch(this.dropped.address(), &mut found)?;
                let [not_finite, equal_positions, outside_tilts, outside_lattice, overflow] = found;
                Ok(Dropped { not_finite, equal_positions, outside_tilts, outside_lattice, overflow })
            };
            then_wait(&mut &*self, work, |this| this.queue.stream.synchronize())
        })
    }

    /// Adds `n` events from `from` on.
    fn add(
        &self,
        context: &Context,
        lattice: &Lattice,
        (events, from, n): (&EventArrays, usize, usize),
        histos: &ArrayMut<4>,
    ) -> Result<()> {
        let EventArrays { first, second, time } = events;
        let (first, _first) = self.numbers(context, first, (from, n))?;
        let (second, _second) = self.numbers(context, second, (from, n))?;
        let (time, _time) = self.numbers(context, time, (from, n))?;
        let layout = histos.layout();
        let [v, z, y, x] = layout.strides.map(|s| s as i64);
        let address = |of: fn(&Search) -> &Lent| self.search.as_ref().map_or(0, |s| of(s).address());
        let arguments = Arguments {
            first,
            second,
            time,
            count: n as i64,
            sides: lattice.along().map(|n| n as f64),
            per_mm: lattice.voxel().map(|s| 1.0 / s),
            half_light: HALF_LIGHT,
            max_tilt: self.max_tilt,
            histos: layout.origin.addr() as u64,
            strides: [x, y, z, v],
            grid: self.grid,
            cells: self.search.as_ref().map_or([0; 2], |s| s.cells),
            starts: address(|s| &s.starts),
            candidates: address(|s| &s.candidates),
            directions: address(|s| &s.directions),
            dropped: self.dropped.address(),
            is_float: i32::from(layout.dtype == DType::F32),
            unused: 0,
        };
        // SAFETY: the struct mirrors the kernel's; arrays of these sizes, those of the pool until the stream has passed this; the GPU is current.
        unsafe { self.queue.each(("pet/deposit", "deposit_events"), n, &arguments) }
    }

    /// Some events' numbers where the kernel finds them: as they are on the GPU, or a copy of those on the host.
    fn numbers<const N: usize>(
        &self,
        context: &Context,
        from: &Array<N>,
        (first, n): (usize, usize),
    ) -> Result<(Numbers, Option<Lent>)> {
        let layout = from.layout();
        let is_double = i32::from(layout.dtype == DType::F64);
        let of = |data, stride, along| Numbers { data, stride, along, is_double, unused: 0 };
        let axes = if N == 2 { layout.shape[1] } else { 1 };
        if layout.gpu.is_some() {
            let mut at = [0; N];
            at[0] = first;
            let along = if N == 2 { layout.strides[1] as i64 } else { 0 };
            return Ok((of(layout.element(at).addr() as u64, layout.strides[0] as i64, along), None));
        }
        let bytes = if is_double == 1 { size_of::<f64>() } else { size_of::<f32>() };
        let memory = self.queue.pool.take(n * axes * bytes)?;
        let (span, stream) = (Span::new(memory.address(), n * axes), &self.queue.stream);
        // SAFETY: memory of so many numbers, which stays in the pool until the stream has passed its use; the GPU is current.
        unsafe {
            if is_double == 1 {
                let fill = |at: usize, part: &mut [f64]| {
                    context.install(|| host::copy_part(from, first * axes + at, part, |_| ()));
                    Ok(())
                };
                self.queue.staging.upload(stream, span, fill)?;
            } else {
                let fill = |at: usize, part: &mut [f32]| {
                    context.install(|| host::copy_part(from, first * axes + at, part, |_| ()));
                    Ok(())
                };
                self.queue.staging.upload(stream, span, fill)?;
            }
        }
        Ok((of(memory.address(), axes as i64, 1), Some(memory)))
    }
}

/// An error unless events are where histo-images on a GPU can have them.
pub(in crate::pet) fn check_place(gpu: usize, events: &EventArrays) -> Result<()> {
    let places = [
        ("first_positions", events.first.layout().gpu),
        ("second_positions", events.second.layout().gpu),
        ("time_differences", events.time.layout().gpu),
    ];
    for (name, place) in places {
        if place.is_some_and(|g| g != gpu) {
            fail!(TensorDevice, "{name} is on another GPU than histo_images");
        }
        if place.is_some() != places[2].1.is_some() {
            fail!(TensorDevice, "{name} and time_differences must all be in host memory, or all on the GPU");
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "deposit_tests.rs"]
mod tests;
