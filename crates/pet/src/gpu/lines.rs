//! Launches `kernels/pet/lines.cu`: lists of events as lines. Sums of lines are the processor's to rounding, in whatever order they come.

use super::array::{Place, Survey};
use super::volume::Volume;
use crate::dropped::Dropped;
use crate::engine::{Facts, MIN_EXPECTED, Ratio};
use crate::lines::{Blur, Counted, Grid, Packed, Part, Through};
use isocenter_base::array::{Array, ArrayMut};
use isocenter_base::context::{Context, Job};
use isocenter_base::cpu::buffer::Plain;
use isocenter_base::error::{Result, fail};
use isocenter_base::gpu::{Image, Launch, Lent, Pairs, Queue, RadixSort, Span, mirrored};

const IMAGE: &Image = &crate::images::LINES;
/// Lines that are brought to the GPU at a time at most, where not all of them are kept.
const PIECE: usize = 1 << 22;
/// Threads of a block, and of a line.
const THREADS: usize = 256;
const WARP: usize = 32;
/// Blocks for each multiprocessor at most.
const BLOCKS: usize = 16;

// SAFETY: numbers, all bits of which are values.
unsafe impl Plain for Packed {}
mirrored!(Packed, 36);

/// Mirrors `Lines`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Arguments {
    list: u64,
    image: u64,
    sum: u64,
    values: u64,
    tally: u64,
    count: i64,
    strides: [i32; 3],
    second: i32,
    last: [f32; 3],
    cut: f32,
    whole: f32,
    least: f32,
}
mirrored!(Arguments, 88);

/// Mirrors `Images`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Images {
    volume: u64,
    from: u64,
    to: u64,
    weights: u64,
    tally: u64,
    sides: [i32; 3],
    strides: [i32; 3],
    column: i32,
    axis: i32,
    reach: i32,
    second: i32,
    scale: f32,
    unused: i32,
}
mirrored!(Images, 88);

/// Mirrors `Order`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Order {
    from: u64,
    to: u64,
    keys: u64,
    values: u64,
    count: i64,
    scale: f32,
    unused: i32,
}
mirrored!(Order, 48);

/// Bits of a line's key.
const KEY: usize = 8;
/// Lines are ordered where an image and a sum are larger, so that those which are under way together cross a part of them, which the cache holds: it has 50 MB of an H200, and 4 MB or more of
/// all others.
const CACHED: u64 = 4 << 20;

/// Bytes that ordering a piece takes.
fn ordering(grid: &Grid, events: usize) -> u64 {
    let n = events.min(PIECE);
    match both(grid) > CACHED {
        true => (n * (size_of::<Packed>() + 4 * size_of::<u32>()) + RadixSort::scratch_bytes(n)) as u64,
        false => 0,
    }
}

/// From an image to its second, which is a voxel later, so that pairs of voxels are at even places in one of them.
fn second(grid: &Grid) -> i32 {
    // Images have less than 2^31 voxels; what is added keeps both apart.
    (grid.len().next_multiple_of(2)) as i32
}

/// Bytes of both.
fn both(grid: &Grid) -> u64 {
    (2 * grid.len().next_multiple_of(2) + 2) as u64 * size_of::<f32>() as u64
}

/// Images that lines cross and are added up in, and weights of a blur.
pub(super) struct Room {
    grid: Grid,
    place: Place,
    images: [Lent; 2],
    weights: Option<[(Lent, usize); 3]>,
}

/// A list on the GPU, or in the caller's memory, and what is needed beside it.
pub(super) struct Data<'a> {
    counted: Counted<'a>,
    /// All parts' lines one after the other, where there is room for them.
    held: Option<Lent>,
    room: Room,
    /// Each part's sensitivity.
    pub(super) sensitivity: Volume,
}

/// Most blocks of a launch, each of which has a tally.
pub(super) fn blocks(queue: &Queue) -> usize {
    BLOCKS * queue.device.multiprocessors()
}

/// Bytes of a list that is kept.
pub(super) fn bytes(events: usize, parts: usize) -> u64 {
    let slots: usize = (0..parts).map(|k| slots(&Part::of(k, parts, events), events)).sum();
    (slots * size_of::<Packed>()) as u64
}

/// Bytes of the rest, of a list that is kept.
pub(super) fn room(grid: &Grid, events: usize) -> u64 {
    2 * both(grid) + ordering(grid, events)
}

/// Bytes of a piece of a list.
pub(super) fn piece(events: usize) -> u64 {
    (events.min(PIECE) * (size_of::<Packed>() + size_of::<f32>())) as u64
}

/// Places of a part's lines.
fn slots(part: &Part, events: usize) -> usize {
    part.runs(events) * part.size
}

fn none(_: usize, row: &mut [f32]) {
    row.fill(0.0);
}

impl Room {
    /// # Safety
    /// The GPU is current.
    unsafe fn new(queue: &Queue, grid: &Grid, blur: Option<&Blur>, place: Place) -> Result<Self> {
        let image = || {
            let image = queue.pool.take(both(grid) as usize)?;
            // Voxels that nothing is written to stay 0.
            image.clear(&queue.stream)?;
            Ok(image)
        };
        let weights = match blur {
            Some(Blur { weights: [x, y, z] }) => {
                let of = |weights: &[f32]| Ok((queue.upload(weights)?, weights.len() - 1));
                Some([of(x)?, of(y)?, of(z)?])
            }
            None => None,
        };
        Ok(Self { grid: *grid, place, images: [image()?, image()?], weights })
    }

    fn arguments(&self, from: u64, to: u64) -> Images {
        let Grid { sides, strides, .. } = self.grid;
        Images {
            volume: 0,
            from,
            to,
            weights: 0,
            tally: 0,
            sides: sides.map(|n| n as i32),
            strides: strides.map(|n| n as i32),
            column: self.place.column as i32,
            axis: 0,
            reach: 0,
            second: second(&self.grid),
            scale: 1.0,
            unused: 0,
        }
    }

    /// # Safety
    /// The arguments are of memory of these sizes; the GPU is current.
    unsafe fn launch(&self, queue: &Queue, kernel: &'static str, arguments: &Images) -> Result<()> {
        // SAFETY: the struct mirrors the kernel's; the rest by this function's contract.
        unsafe { queue.each((IMAGE, kernel), self.place.shape.iter().product(), arguments) }
    }

    /// Blurs the first image, if lines are, in the room of the second: which of them it is then.
    ///
    /// # Safety
    /// The GPU is current.
    unsafe fn blur(&self, queue: &Queue, first: usize) -> Result<usize> {
        let mut at = first;
        for (axis, (weights, reach)) in self.weights.iter().flatten().enumerate() {
            if *reach == 0 {
                continue;
            }
            let arguments = Images {
                weights: weights.address(),
                axis: axis as i32,
                reach: *reach as i32,
                ..self.arguments(self.images[at].address(), self.images[1 - at].address())
            };
            // SAFETY: images of the grid.
            unsafe { self.launch(queue, "lines_blur", &arguments)? };
            at = 1 - at;
        }
        Ok(at)
    }

    /// A volume, blurred, where lines cross it: which image.
    ///
    /// # Safety
    /// A volume of the place; the GPU is current.
    unsafe fn image(&self, queue: &Queue, volume: u64) -> Result<usize> {
        let arguments = Images { volume, ..self.arguments(0, self.images[0].address()) };
        // SAFETY: by this function's contract.
        unsafe {
            self.launch(queue, "lines_fill", &arguments)?;
            let image = self.blur(queue, 0)?;
            self.launch(queue, "lines_double", &self.arguments(0, self.images[image].address()))?;
            Ok(image)
        }
    }

    /// Makes of a volume what is added up in an image, blurred; or adds it.
    ///
    /// # Safety
    /// As for `image`.
    unsafe fn take(&self, queue: &Queue, image: usize, volume: u64, add: bool, scale: f32) -> Result<()> {
        // SAFETY: as for `image`.
        unsafe {
            self.launch(queue, "lines_join", &self.arguments(0, self.images[image].address()))?;
            let image = self.blur(queue, image)?;
            let from = self.images[image].address();
            let arguments = Images { volume, scale, reach: i32::from(add), ..self.arguments(from, 0) };
            self.launch(queue, "lines_take", &arguments)
        }
    }
}

/// Makes a sensitivity of voxels that of what lines interpolate between: see `Factors::write_sum`.
///
/// # Safety
/// Volumes of the place; the GPU is current.
pub(super) unsafe fn between(queue: &Queue, place: Place, from: u64, to: u64) -> Result<()> {
    let [nz, ny, nx] = place.shape;
    let arguments = Images {
        volume: from,
        from: 0,
        to,
        weights: 0,
        tally: 0,
        sides: [nx, ny, nz].map(|n| n as i32),
        strides: [0; 3],
        column: place.column as i32,
        axis: 0,
        reach: 0,
        second: 0,
        scale: 1.0,
        unused: 0,
    };
    // SAFETY: the struct mirrors the kernel's; the rest by this function's contract.
    unsafe { queue.each((IMAGE, "lines_between"), place.shape.iter().product(), &arguments) }
}

/// How lines are launched.
pub(super) struct OnGpu<'r> {
    pub(super) context: &'r Context,
    pub(super) queue: &'r Queue,
    pub(super) place: Place,
    /// A pair of f64 for each block.
    pub(super) tally: u64,
}

impl OnGpu<'_> {
    fn shape(&self, count: usize) -> Launch {
        let grid = count.div_ceil(THREADS / WARP).clamp(1, blocks(self.queue));
        Launch { grid: [grid, 1, 1], block: [THREADS, 1, 1], shared: 0 }
    }

    /// # Safety
    /// Lists, images and values of so many lines; the GPU is current.
    unsafe fn launch(&self, kernel: &str, of: &Through, list: u64, count: usize, to: [u64; 3]) -> Result<()> {
        let ([cut, whole], last) = of.common();
        let [image, sum, values] = to;
        let arguments = Arguments {
            list,
            image,
            sum,
            values,
            tally: self.tally,
            count: count as i64,
            strides: of.grid.strides.map(|n| n as i32),
            second: second(&of.grid),
            last,
            cut,
            whole,
            least: MIN_EXPECTED,
        };
        let kernel = self.queue.device.function(IMAGE, kernel)?;
        // SAFETY: the struct mirrors the kernels'; the rest by this function's contract.
        unsafe { kernel.launch(&self.queue.stream, self.shape(count), &arguments) }
    }

    /// Brings lines of a part of a list to the GPU, from a place on.
    ///
    /// # Safety
    /// Room for as many lines as are asked for; the GPU is current.
    unsafe fn bring(
        &self,
        of: &Through,
        part: &Part,
        (from, count): (usize, usize),
        besides: &(dyn Fn(usize, &mut [f32]) + Sync),
        to: u64,
    ) -> Result<Dropped> {
        let mut dropped = Dropped::default();
        let fill = |at: usize, to: &mut [Packed]| {
            dropped = dropped.plus(self.context.install(|| of.pack(part, from + at, to, besides)));
            Ok(())
        };
        // SAFETY: by this function's contract.
        unsafe { self.queue.staging.upload(&self.queue.stream, Span::new(to, count), fill)? };
        Ok(dropped)
    }

    /// Brings lines that cross the same planes along z together.
    ///
    /// # Safety
    /// As many lines; the GPU is current.
    unsafe fn order(&self, grid: &Grid, list: u64, count: usize) -> Result<()> {
        let queue = self.queue;
        let numbers = || queue.pool.take(count * size_of::<u32>());
        let (pairs, ordered) =
            ([[numbers()?, numbers()?], [numbers()?, numbers()?]], queue.pool.take(count * size_of::<Packed>())?);
        let scratch = queue.pool.take(RadixSort::scratch_bytes(count))?;
        let [from, to] = pairs.each_ref().map(|[k, v]| Pairs { keys: k.address(), values: v.address() });
        let scale = (1 << KEY) as f32 / (grid.sides[2] + 2) as f32;
        let sorted = if RadixSort::ends_in_second(KEY) { to } else { from };
        let of = |from: u64, to: u64, Pairs { keys, values }: Pairs| Order {
            from,
            to,
            keys,
            values,
            count: count as i64,
            scale,
            unused: 0,
        };
        let words = count * size_of::<Packed>() / size_of::<f32>();
        // SAFETY: the struct mirrors the kernels'; memory of these sizes, which goes back to the pool, whose later users follow the stream.
        unsafe {
            queue.each((IMAGE, "lines_keys"), count, &of(list, 0, from))?;
            RadixSort::new(&queue.device)?.run([from, to], count, KEY, scratch.address(), &queue.stream)?;
            queue.each((IMAGE, "lines_order"), words, &of(list, ordered.address(), sorted))?;
            queue.duplicate(ordered.address(), list, count * size_of::<Packed>())
        }
    }

    /// See [`crate::engine::Engine::forward_lines`].
    ///
    /// # Safety
    /// A volume of the place; the GPU is current.
    pub(super) unsafe fn forward(&self, of: &Through, volume: u64, to: &ArrayMut<1>, job: &Job) -> Result<Dropped> {
        let (queue, events) = (self.queue, of.list.len());
        // SAFETY: by this function's contract; memory for as many lines and values as are launched.
        unsafe {
            let room = Room::new(queue, &of.grid, of.blur.as_ref(), self.place)?;
            let image = room.image(queue, volume)?;
            let most = events.min(PIECE);
            let list = queue.pool.take(most * size_of::<Packed>())?;
            let values = queue.pool.take(most * size_of::<f32>())?;
            let mut dropped = Dropped::default();
            for from in (0..events).step_by(PIECE) {
                job.check()?;
                let n = PIECE.min(events - from);
                dropped = dropped.plus(self.bring(of, &Part::ALL, (from, n), &none, list.address())?);
                let to_values = [room.images[image].address(), 0, values.address()];
                self.launch("lines_forward", of, list.address(), n, to_values)?;
                let drain = |at: usize, part: &mut [f32]| {
                    to.write_row([from + at], part);
                    Ok(())
                };
                queue.staging.download(&queue.stream, Span::new(values.address(), n), drain)?;
                job.advance(n as f64 / events as f64);
            }
            Ok(dropped)
        }
    }

    /// See [`crate::engine::Engine::adjoint_lines`].
    ///
    /// # Safety
    /// As for `forward`.
    pub(super) unsafe fn adjoint(&self, of: &Through, from: &Array<1>, volume: u64, job: &Job) -> Result<Dropped> {
        let (queue, events) = (self.queue, of.list.len());
        // SAFETY: as for `forward`.
        unsafe {
            let room = Room::new(queue, &of.grid, of.blur.as_ref(), self.place)?;
            let most = events.min(PIECE);
            let list = queue.pool.take(most * size_of::<Packed>())?;
            let values = queue.pool.take(most * size_of::<f32>())?;
            let mut dropped = Dropped::default();
            for first in (0..events).step_by(PIECE) {
                job.check()?;
                let n = PIECE.min(events - first);
                dropped = dropped.plus(self.bring(of, &Part::ALL, (first, n), &none, list.address())?);
                let fill = |at: usize, part: &mut [f32]| {
                    from.read_row([first + at], part);
                    crate::values::replace(part);
                    Ok(())
                };
                queue.staging.upload(&queue.stream, Span::new(values.address(), n), fill)?;
                let to = [0, room.images[0].address(), values.address()];
                self.launch("lines_adjoint", of, list.address(), n, to)?;
                job.advance(n as f64 / events as f64);
            }
            room.take(queue, 0, volume, false, 1.0)?;
            Ok(dropped)
        }
    }

    /// Takes a list, and keeps it where that fits `room` bytes; the sensitivity is as it was given.
    ///
    /// # Safety
    /// As for `forward`.
    pub(super) unsafe fn load<'a>(
        &self,
        counted: &Counted<'a>,
        seen: Volume,
        free: u64,
        job: &Job,
    ) -> Result<(Data<'a>, Facts, Dropped)> {
        let (queue, through) = (self.queue, &counted.through);
        let (events, parts) = (through.list.len(), counted.parts);
        let room = room(&through.grid, events);
        let hold = room + bytes(events, parts) <= free;
        if room + piece(events) > free {
            fail!(
                MemoryCap,
                "{free} bytes of the GPU's memory are left under gpu_memory_cap; lines need {}",
                room + piece(events)
            );
        }
        let held = match hold {
            true => Some(queue.pool.take(bytes(events, parts) as usize)?),
            false => None,
        };
        let mut dropped = Dropped::default();
        let mut at = 0;
        // SAFETY: by this function's contract; room for all lines, or for a piece.
        let room = unsafe {
            let piece = match hold {
                true => None,
                false => Some(queue.pool.take(PIECE.min(events) * size_of::<Packed>())?),
            };
            for k in 0..parts {
                let part = counted.part(k);
                let slots = slots(&part, events);
                for from in (0..slots).step_by(PIECE) {
                    job.check()?;
                    let n = PIECE.min(slots - from);
                    let to = match (&held, &piece) {
                        (Some(held), _) => held.address() + ((at + from) * size_of::<Packed>()) as u64,
                        (None, Some(piece)) => piece.address(),
                        (None, None) => fail!(Internal, "there is no room for lines"),
                    };
                    let besides = |from: usize, row: &mut [f32]| counted.besides(from, row);
                    dropped = dropped.plus(self.bring(through, &part, (from, n), &besides, to)?);
                    if hold && ordering(&through.grid, events) > 0 {
                        self.order(&through.grid, to, n)?;
                    }
                }
                at += slots;
            }
            let room = Room::new(queue, &through.grid, through.blur.as_ref(), self.place)?;
            let image = room.image(queue, seen.at())?;
            // What is beyond columns' ends stays 0.
            let arguments = Images {
                volume: seen.at(),
                scale: 1.0 / parts as f32,
                ..room.arguments(room.images[image].address(), 0)
            };
            room.launch(queue, "lines_take", &arguments)?;
            room
        };
        let survey = Survey::new(queue, self.place)?;
        // SAFETY: as above.
        unsafe { survey.look(queue, self.place, seen.at())? };
        let (sum, ..) = survey.result(queue)?;
        let facts = Facts {
            measured: (events as u64 - dropped.total()) as f64,
            factors: sum * parts as f64,
            largest_factor: 1.0,
            has_zero_factor: true,
            ..Facts::default()
        };
        Ok((Data { counted: counted.clone(), held, room, sensitivity: seen }, facts, dropped))
    }

    /// See [`crate::engine::Engine::add_ratios`]; a part of the list for each view.
    ///
    /// # Safety
    /// As for `forward`.
    pub(super) unsafe fn add_ratios(
        &self,
        data: &Data<'_>,
        parts: &[usize],
        of: Ratio,
        (image, sum): (&Volume, &Volume),
        progress: crate::engine::Progress,
    ) -> Result<()> {
        let (queue, counted, room) = (self.queue, &data.counted, &data.room);
        let through = &counted.through;
        let events = through.list.len();
        // SAFETY: by this function's contract; memory for as many lines as are launched.
        unsafe {
            let at = room.image(queue, image.at())?;
            let (crossed, added) = (room.images[at].address(), 1 - at);
            // What a blur has left there.
            room.images[added].clear(&queue.stream)?;
            let piece = match &data.held {
                Some(_) => None,
                None => Some(queue.pool.take(PIECE.min(events) * size_of::<Packed>())?),
            };
            for k in parts {
                let part = counted.part(*k);
                let (slots, to) = (slots(&part, events), [crossed, room.images[added].address(), 0]);
                match (&data.held, &piece) {
                    (Some(held), _) => {
                        let before: usize = (0..*k).map(|k| self::slots(&counted.part(k), events)).sum();
                        let list = held.address() + (before * size_of::<Packed>()) as u64;
                        self.launch("lines_ratios", through, list, slots, to)?;
                    }
                    (None, Some(piece)) => {
                        for from in (0..slots).step_by(PIECE) {
                            let n = PIECE.min(slots - from);
                            let besides = |from: usize, row: &mut [f32]| counted.besides(from, row);
                            self.bring(through, &part, (from, n), &besides, piece.address())?;
                            self.launch("lines_ratios", through, piece.address(), n, to)?;
                        }
                    }
                    (None, None) => fail!(Internal, "there is no room for lines"),
                }
                let arguments = Images {
                    volume: image.at(),
                    tally: self.tally,
                    scale: if of == Ratio::Discrepancy { 1.0 } else { 0.0 },
                    ..room.arguments(data.sensitivity.at(), sum.at())
                };
                room.launch(queue, "lines_expect", &arguments)?;
                progress(1.0)?;
            }
            // The sum's blur is in the room of the image, which was crossed.
            room.take(queue, added, sum.at(), true, 1.0)
        }
    }
}

#[cfg(test)]
#[path = "lines_tests.rs"]
mod tests;
