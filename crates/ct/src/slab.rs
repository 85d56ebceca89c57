//! The only loop over slabs: load, work, store. A slab is some slices that are worked on together; the processor and GPUs, whole
//! arrays and streams between callbacks, all go through [`run`].

use super::geometry::{Geometry, Order};
use isocenter_base::array::{Array, ArrayMut, DType, Layout};
use isocenter_base::context::{Context, HostMemory, Job};
use isocenter_base::cpu::buffer::collected;
use isocenter_base::error::{Result, Status};
use std::collections::VecDeque;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// The arrays that slabs are read from and written to: of the whole scan, or of some slices only.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrays<'a> {
    source: Layout,
    target: Layout,
    /// None if they hold the whole detector and the whole volume.
    part: Option<Start>,
    lifetime: PhantomData<&'a [u8]>,
}

/// What the arrays of some slices begin with.
#[derive(Clone, Copy, Debug)]
struct Start {
    slice: usize,
    /// Of the detector.
    row: usize,
}

impl<'a> Arrays<'a> {
    /// The caller's, of the whole scan.
    pub(super) fn whole(source: &Array<'a>, target: &'a ArrayMut) -> Self {
        Self { source: *source.layout(), target: *target.layout(), part: None, lifetime: PhantomData }
    }

    /// Projections to be read alone, of the whole detector or from one of its rows on.
    pub(super) fn input(source: &Array<'a>, g: &Geometry, row: Option<usize>) -> Self {
        let target = Layout::new(std::ptr::null(), DType::F32, g.volume_shape());
        let part = row.map(|row| Start { slice: row.saturating_sub(g.first_row), row });
        Self { source: *source.layout(), target, part, lifetime: PhantomData }
    }

    /// Of the whole scan in host memory, from projections to volume, for sizes alone.
    pub(super) fn sizes(g: &Geometry, dtype: DType, stored: DType) -> Self {
        let null = std::ptr::null();
        let (source, target) =
            (Layout::new(null, dtype, g.projection_shape()), Layout::new(null, stored, g.volume_shape()));
        Self { source, target, part: None, lifetime: PhantomData }
    }

    /// Of some slices, and of detector rows from one on.
    pub(super) fn part(source: Layout, target: Layout, slice: usize, row: usize) -> Self {
        Self { source, target, part: Some(Start { slice, row }), lifetime: PhantomData }
    }

    pub(super) fn source(&self) -> &Layout {
        &self.source
    }

    pub(super) fn target(&self) -> &Layout {
        &self.target
    }

    /// Read access, for the processor.
    pub(super) fn read(&self) -> Array<'a> {
        let Layout { origin, dtype, shape, strides, gpu } = self.source;
        // SAFETY: the layout is of an array that lives for 'a, or of a buffer that is lent for it.
        unsafe { Array::from_raw(origin, dtype, shape, strides, gpu) }
    }

    /// To read what is in the target, and write there.
    pub(super) fn over_target(&self) -> Self {
        Self { source: self.target, ..*self }
    }

    /// Write access, for the processor.
    pub(super) fn write(&self) -> ArrayMut<'a> {
        let Layout { origin, dtype, shape, strides, gpu } = self.target;
        // SAFETY: as above; whoever writes a row promises to be alone there.
        unsafe { ArrayMut::from_raw(origin.cast_mut(), dtype, shape, strides, gpu) }
    }

    /// Where a slice of the volume has its row in projections.
    pub(super) fn row(&self, g: &Geometry, slice: usize) -> usize {
        g.first_row + slice - self.first_row()
    }

    /// The detector row that projections begin with.
    pub(super) fn first_row(&self) -> usize {
        self.part.map_or(0, |start| start.row)
    }

    /// Slices that they hold, of which some are loaded.
    pub(super) fn slices(&self, loaded: &Range<usize>, g: &Geometry) -> Range<usize> {
        if self.part.is_some() { loaded.clone() } else { 0..g.slices }
    }

    /// Where a slice is in a volume.
    pub(super) fn slice(&self, slice: usize) -> usize {
        slice - self.part.map_or(0, |start| start.slice)
    }
}

/// A contiguous array of some slices, lent to a callback for the length of its call.
#[derive(Clone, Copy, Debug)]
pub struct Slab {
    /// First slice of the volume that it belongs to.
    pub first: usize,
    /// Number of slices.
    pub count: usize,
    /// Detector row that its projections begin with: before that of the first slice where a stage looks at neighbouring rows.
    pub first_row: usize,
    /// Its first element.
    pub data: *mut u8,
    /// Its elements' type.
    pub dtype: DType,
    /// Its shape: projections in the geometry's order, with as many rows as are wanted, or (count, ny, nx).
    pub shape: [usize; 3],
}

/// Between which a stream runs.
pub(super) struct Callbacks<'a> {
    /// Fills the array with the projections of its slices.
    pub(super) read: &'a mut dyn FnMut(Slab) -> Result<()>,
    /// Takes finished slices.
    pub(super) write: &'a mut dyn FnMut(Slab) -> Result<()>,
}

/// Where slabs come from and go to.
pub(super) trait Ends<'a> {
    /// Results have to be in the target when a slab is stored.
    const STORES: bool;
    /// The arrays that hold these slices; `place` counts the slabs under way, so that no two have the same.
    fn load(&mut self, place: usize, slices: Range<usize>) -> Result<Arrays<'a>>;
    fn store(&mut self, arrays: &Arrays, slices: Range<usize>) -> Result<()>;
    /// After each step.
    fn report(&self, job: &Job);
}

/// Arrays that hold everything.
pub(super) struct Whole<'a> {
    pub(super) arrays: Arrays<'a>,
    /// Of a loop on the calling thread, which reports.
    pub(super) context: Option<&'a Context>,
}

impl<'a> Ends<'a> for Whole<'a> {
    const STORES: bool = false;

    fn load(&mut self, _: usize, _: Range<usize>) -> Result<Arrays<'a>> {
        Ok(self.arrays)
    }

    fn store(&mut self, _: &Arrays, _: Range<usize>) -> Result<()> {
        Ok(())
    }

    fn report(&self, job: &Job) {
        if let Some(context) = self.context {
            context.report(job);
        }
    }
}

/// Buffers of one slab of a stream.
#[derive(Debug)]
pub(super) struct Buffers {
    projections: HostMemory,
    volume: HostMemory,
}

impl Buffers {
    /// For so many slices, with rows on either side that reach so far; of projections and volume of these types.
    pub(super) fn new(
        context: &Context,
        g: &Geometry,
        (slices, reach): (usize, usize),
        dtypes: [DType; 2],
    ) -> Result<Self> {
        let [p, v] = shapes(g, rows_of(g, slices, reach), slices);
        let bytes = |shape, dtype| Layout::new(std::ptr::null(), dtype, shape).bytes();
        let (projections, volume) =
            (context.host_memory(bytes(p, dtypes[0]))?, context.host_memory(bytes(v, dtypes[1]))?);
        Ok(Self { projections, volume })
    }

    /// Whether they hold such slabs, and are not far too large for them.
    pub(super) fn serve(&self, g: &Geometry, (slices, reach): (usize, usize), dtypes: [DType; 2]) -> bool {
        let wanted = shapes(g, rows_of(g, slices, reach), slices).into_iter().zip(dtypes);
        let wanted = wanted.map(|(shape, dtype)| Layout::new(std::ptr::null(), dtype, shape).bytes());
        let held = [&self.projections, &self.volume].map(HostMemory::bytes);
        wanted.zip(held).all(|(wanted, held)| held >= wanted && held / 4 <= wanted.max(1 << 16))
    }

    /// What they hold.
    pub(super) fn held(&self) -> u64 {
        [&self.projections, &self.volume].map(|memory| memory.bytes() as u64).iter().sum()
    }

    /// What they take.
    pub(super) fn bytes(g: &Geometry, (slices, reach): (usize, usize), dtypes: [DType; 2]) -> u64 {
        let [p, v] = shapes(g, rows_of(g, slices, reach), slices).map(|shape| shape.iter().product::<usize>() as u64);
        p * dtypes[0].size() as u64 + v * dtypes[1].size() as u64
    }
}

/// Rows that so many slices and their neighbours take at most.
pub(super) fn rows_of(g: &Geometry, slices: usize, reach: usize) -> usize {
    slices.saturating_add(2 * reach).min(g.rows)
}

/// Shapes of the projections of some detector rows, in the geometry's order, and of the volume of some slices.
pub(super) fn shapes(g: &Geometry, rows: usize, slices: usize) -> [[usize; 3]; 2] {
    let projections = match g.order {
        Order::Frames => [g.views(), rows, g.bins],
        Order::Sinograms => [rows, g.views(), g.bins],
    };
    [projections, [slices, g.ny, g.nx]]
}

/// Buffers that callbacks fill and empty.
pub(super) struct Lent<'a, 'c> {
    pub(super) context: &'a Context,
    pub(super) geometry: &'a Geometry,
    /// Rows on either side of a slab that are wanted.
    pub(super) reach: usize,
    /// Of projections and volume.
    pub(super) dtypes: [DType; 2],
    /// As many as there can be slabs under way, each large enough for every slab.
    pub(super) buffers: &'a [Buffers],
    pub(super) callbacks: Callbacks<'c>,
    /// Whether data are read, and results written.
    pub(super) passes: [bool; 2],
}

impl<'a> Ends<'a> for Lent<'a, '_> {
    const STORES: bool = true;

    fn load(&mut self, place: usize, slices: Range<usize>) -> Result<Arrays<'a>> {
        let rows = self.geometry.rows_around(&slices, self.reach);
        let [p, v] = shapes(self.geometry, rows.len(), slices.len());
        let Buffers { projections, volume } = &self.buffers[place % self.buffers.len()];
        let source = Layout::new(projections.data(), self.dtypes[0], p);
        let target = Layout::new(volume.data(), self.dtypes[1], v);
        let arrays = Arrays::part(source, target, slices.start, rows.start);
        if self.passes[0] {
            (self.callbacks.read)(slab(&arrays, &arrays.source, slices))?;
        }
        Ok(arrays)
    }

    fn store(&mut self, arrays: &Arrays, slices: Range<usize>) -> Result<()> {
        if self.passes[1] { (self.callbacks.write)(slab(arrays, &arrays.target, slices)) } else { Ok(()) }
    }

    fn report(&self, job: &Job) {
        self.context.report(job);
    }
}

fn slab(arrays: &Arrays, layout: &Layout, slices: Range<usize>) -> Slab {
    let Layout { origin, dtype, shape, .. } = *layout;
    let first_row = arrays.first_row();
    Slab { first: slices.start, count: slices.len(), first_row, data: origin.cast_mut(), dtype, shape }
}

/// A device at work on slabs.
pub(super) trait Worker {
    /// A slab that was started.
    type Pending;
    /// Slabs under way at a time.
    const DEPTH: usize;

    /// Slices to take from the queue at a time.
    fn share(&self) -> usize;
    /// Before the first slab of data that have been loaded.
    fn begin(&mut self, job: &Job, arrays: &Arrays, slices: Range<usize>) -> Result<()>;
    /// Begins with a slab of the first of these slices; says how many they are.
    fn start(&mut self, job: &Job, arrays: &Arrays, slices: Range<usize>) -> Result<(usize, Self::Pending)>;
    /// Sends the results to the target. What was loaded is not needed any more.
    fn finish(&mut self, job: &Job, arrays: &Arrays, pending: &Self::Pending) -> Result<()>;
    /// Waits until they are there.
    fn arrived(&mut self, pending: &Self::Pending) -> Result<()>;
    /// After a slab for which there was no memory, and with none under way: makes the next ones smaller, if they can be.
    fn shrink(&mut self, job: &Job) -> Result<bool>;
}

/// Slices that wait for a worker.
pub(super) struct Queue {
    left: Mutex<VecDeque<Range<usize>>>,
    failed: AtomicBool,
}

impl Queue {
    /// Of these, in order; those of one range may be taken together.
    pub(super) fn new(slices: impl IntoIterator<Item = Range<usize>>) -> Result<Self> {
        let left = VecDeque::from(collected(slices)?);
        Ok(Self { left: Mutex::new(left), failed: AtomicBool::new(false) })
    }

    /// No more slabs for anybody.
    pub(super) fn stop(&self) {
        self.failed.store(true, Ordering::Relaxed);
    }

    /// The next ones, up to so many.
    pub(super) fn take(&self, max: usize) -> Option<Range<usize>> {
        if self.failed.load(Ordering::Relaxed) {
            return None;
        }
        let mut left = self.left.lock().unwrap_or_else(|e| e.into_inner());
        let next = left.front_mut()?;
        let slices = next.start..next.end.min(next.start.saturating_add(max));
        next.start = slices.end;
        if next.start >= next.end {
            left.pop_front();
        }
        Some(slices)
    }
}

/// A slab under way.
struct UnderWay<'a, P> {
    worker: usize,
    arrays: Arrays<'a>,
    pending: P,
    /// To be stored with it: what was loaded, after the last slab of that.
    stored: Option<Range<usize>>,
}

/// Slabs on their way through one or more workers, which take turns.
struct Line<'a, 'w, W: Worker, E: Ends<'a>> {
    workers: &'w mut [W],
    ends: &'w mut E,
    job: &'w Job,
    under_way: VecDeque<UnderWay<'a, W::Pending>>,
}

/// Takes slices from the queue until there are none.
pub(super) fn run<'a, W: Worker>(workers: &mut [W], queue: &Queue, ends: &mut impl Ends<'a>, job: &Job) -> Result<()> {
    let mut line = Line { workers, ends, job, under_way: VecDeque::new() };
    for turn in 0.. {
        let worker = turn % line.workers.len();
        let mut leaving = Vec::new();
        while line.is_full(worker) {
            leaving.extend(line.send_first()?);
        }
        job.check()?;
        let next = queue.take(line.workers[worker].share());
        // Results come down while the next data are loaded.
        let next = next.map(|slices| Ok((line.ends.load(turn, slices.clone())?, slices))).transpose()?;
        leaving.into_iter().try_for_each(|slab| line.store(slab))?;
        let Some((arrays, slices)) = next else { break };
        line.work(worker, arrays, slices)?;
    }
    line.finish_all()
}

impl<'a, W: Worker, E: Ends<'a>> Line<'a, '_, W, E> {
    /// Slab after slab of what has been loaded.
    fn work(&mut self, worker: usize, arrays: Arrays<'a>, slices: Range<usize>) -> Result<()> {
        self.workers[worker].begin(self.job, &arrays, slices.clone())?;
        let mut left = slices.clone();
        while !left.is_empty() {
            while self.is_full(worker) {
                self.finish_first()?;
            }
            self.job.check()?;
            match self.workers[worker].start(self.job, &arrays, left.clone()) {
                Ok((count, pending)) => {
                    left.start += count;
                    let stored = left.is_empty().then(|| slices.clone());
                    self.under_way.push_back(UnderWay { worker, arrays, pending, stored });
                }
                Err(e) if e.status == Status::OutOfMemory => {
                    // What is under way holds memory too.
                    self.finish_all()?;
                    if !self.workers[worker].shrink(self.job)? {
                        return Err(e);
                    }
                }
                Err(e) => return Err(e),
            }
            self.ends.report(self.job);
        }
        Ok(())
    }

    /// Whether a worker has as many slabs as it may.
    fn is_full(&self, worker: usize) -> bool {
        self.under_way.iter().filter(|u| u.worker == worker).count() >= W::DEPTH
    }

    fn finish_all(&mut self) -> Result<()> {
        while !self.under_way.is_empty() {
            self.finish_first()?;
        }
        Ok(())
    }

    fn finish_first(&mut self) -> Result<()> {
        self.send_first()?.map_or(Ok(()), |slab| self.store(slab))
    }

    /// Has the first slab's results sent to where they belong.
    fn send_first(&mut self) -> Result<Option<UnderWay<'a, W::Pending>>> {
        let Some(slab) = self.under_way.pop_front() else { return Ok(None) };
        self.workers[slab.worker].finish(self.job, &slab.arrays, &slab.pending)?;
        Ok(Some(slab))
    }

    /// Stores them, when they are there.
    fn store(&mut self, UnderWay { worker, arrays, pending, stored }: UnderWay<'a, W::Pending>) -> Result<()> {
        if let Some(slices) = stored {
            if E::STORES {
                self.workers[worker].arrived(&pending)?;
            }
            self.ends.store(&arrays, slices)?;
        }
        self.ends.report(self.job);
        Ok(())
    }
}

/// By Miri too, which tries many orders of threads and what weak memory lets them see (`make miri`).
#[cfg(test)]
mod queue_tests {
    use super::*;
    use std::thread;

    fn taken_by_three(queue: &Queue, after: impl Fn(usize) + Sync) -> Vec<Range<usize>> {
        let taker = |share: usize| {
            let mut taken = Vec::new();
            while let Some(slices) = queue.take(share) {
                taken.push(slices);
                after(taken.len());
            }
            taken
        };
        thread::scope(|scope| {
            let takers = [1, 2, 3].map(|share| scope.spawn(move || taker(share)));
            takers.into_iter().flat_map(|t| t.join().expect("a taker ends")).collect()
        })
    }

    #[test]
    fn every_slice_is_taken_once_and_no_share_reaches_over_a_ranges_end() {
        let ranges = [0..7, 9..12, 12..20];
        let queue = Queue::new(ranges.clone()).expect("memory for three ranges");
        let mut taken = taken_by_three(&queue, |_| ());
        taken.sort_by_key(|slices| slices.start);
        let flat: Vec<usize> = taken.iter().cloned().flatten().collect();
        assert_eq!(flat, ranges.clone().into_iter().flatten().collect::<Vec<_>>());
        assert!(taken.iter().all(|t| ranges.iter().any(|r| r.start <= t.start && t.end <= r.end)), "{taken:?}");
    }

    #[test]
    fn a_stop_reaches_all() {
        let queue = Queue::new(std::iter::once(0..1000)).expect("memory for a range");
        let taken = taken_by_three(&queue, |taken| {
            if taken == 2 {
                queue.stop();
            }
        });
        // Nobody takes a third share after the stop that he asked for himself.
        assert!(taken.len() <= 6, "{taken:?}");
        assert!(queue.take(1).is_none());
    }
}
