//! How a GPU cuts a call into slabs, and which parts of the arrays a slab takes.

use super::band_limited_sizes::BandLimitedSizes;
use super::case::{Case, sampling};
use super::choice::Wish;
use super::format::Format;
use super::forward;
use super::frames::{DeviceFlat, flat_rows};
use super::iterative::{self, Pieces};
use super::prepare;
use super::projector::Projector;
use super::rates::Candidate;
use super::rows::IndexWeights;
use crate::geometry::Order;
use crate::iterative::Iteration;
use crate::options::Sampling;
use crate::output::Finish;
use crate::slab::{Arrays, rows_of};
use crate::task::{Operator, Task};
use isocenter_base::array::Layout;
use isocenter_base::array::transfer::Block;
use isocenter_base::context::Context;
use isocenter_base::error::{Result, fail};
use isocenter_base::gpu::Device;
use std::ops::Range;

/// Slabs that are under way at a time.
pub(super) const SLOTS: usize = 2;

/// An array of projections with dimensions (view, row, bin).
fn projections(layout: &Layout, order: Order) -> Layout {
    let mut l = *layout;
    if order == Order::Sinograms {
        l.shape.swap(0, 1);
        l.strides.swap(0, 1);
    }
    l
}

/// What the choice of a projector depends on; `tents` are the adjoint's, on the device, or 0.
pub(super) fn case<'a>(task: &Task<'a>, device: &Device, tents: u64) -> Case<'a> {
    let sampling = if task.operator == Operator::Adjoint { Sampling::Linear } else { sampling(task) };
    Case { geometry: task.geometry, sampling, shared: device.shared_bytes(), tents }
}

/// The part of the source that `n` slices need, and how many of its rows lie before and after those of the slices.
pub(super) fn source(task: &Task, arrays: &Arrays, first: usize, n: usize) -> (Block, [usize; 2]) {
    match task.operator {
        Operator::Forward => (Block::new(arrays.source(), 0, arrays.slice(first), n), [0, 0]),
        _ => {
            let g = task.geometry;
            let (own, rows) = (g.first_row + first, g.rows_around(&(first..first + n), task.rows.reach(task.detector)));
            let layout = projections(arrays.source(), g.order);
            let block = Block::new(&layout, 1, rows.start - arrays.first_row(), rows.len());
            (block, [own - rows.start, rows.end - own - n])
        }
    }
}

/// Bytes of that at most.
fn source_bytes(task: &Task, arrays: &Arrays, n: usize) -> u64 {
    let [a, b, c] = arrays.source().shape;
    let g = task.geometry;
    let values = match task.operator {
        Operator::Forward => n * b * c,
        _ => rows_of(g, n, task.rows.reach(task.detector)) * if g.order == Order::Sinograms { b } else { a } * c,
    };
    (values * arrays.source().dtype.size()) as u64
}

/// How the work is cut.
#[derive(Debug)]
pub(super) struct Sizes {
    pub(super) projector: Option<Projector>,
    /// In place of a projector.
    pub(super) band_limited: Option<BandLimitedSizes>,
    /// Slices that the matched pair takes side by side.
    pub(super) side: usize,
    pub(super) format: Format,
    /// Slices of a slab.
    pub(super) slab: usize,
    /// Slices that stay together, and so divide all slabs but the last.
    pub(super) minimum: usize,
    /// Slices of a piece, where all would stay together and go piece by piece instead.
    pub(super) piece: Option<usize>,
    /// Results are written to the caller's device memory by the kernel itself.
    pub(super) in_place: bool,
}

/// Slabs that a GPU should have at least, so that copies and work overlap.
const MIN_SLABS: usize = 8;
/// Of a GPU's memory, one over the part that slabs may take beside a piece.
const BESIDE: u64 = 8;
/// Slices that a slab may have: a launch's limit on its grid, with something in hand.
const MAX_SLAB: usize = 32_768;

impl Sizes {
    /// For a GPU that shares the slices with others, already holds some memory of earlier calls, and may have tables of band-limited sums.
    pub(super) fn new(
        context: &Context,
        (task, arrays): (&Task, &Arrays),
        (device, held): (&Device, u64),
        (sharing, rates): (usize, &[Candidate]),
        known: Option<&BandLimitedSizes>,
    ) -> Result<Self> {
        let g = task.geometry;
        let band_limited = match (task.band_limited()?, known) {
            (Some(plan), Some(known)) if known.plan == plan => Some(known.clone()),
            (plan, _) => plan.map(|plan| BandLimitedSizes::new(g, plan)).transpose()?,
        };
        let share = task.neighbours().div_ceil(sharing);
        let side = forward::lanes(share);
        let projector = match task.operator {
            Operator::Filter | Operator::Forward | Operator::Iterate => None,
            _ if band_limited.is_some() => None,
            Operator::Adjoint => Some(Projector::Adjoint { lanes: side }),
            Operator::Reconstruct | Operator::Backproject => {
                let wish = Wish { kernel: task.kernel, precision: task.precision, rates };
                Some(wish.choose(&case(task, device, 0), share)?)
            }
        };
        let forward = task.operator == Operator::Forward;
        // Filtered rows go as they are; a volume to be projected is packed in its own way.
        let lanes = if forward { side } else { 1 };
        let planar = Format { lanes, half: false, split: false, oversampling: 1, tight: true };
        let format = match (projector, &band_limited) {
            (Some(p), _) => p.format(sampling(task)),
            // Iterations pack their rows themselves.
            (None, Some(_)) if task.operator != Operator::Iterate => BandLimitedSizes::FORMAT,
            (None, _) => planar,
        };
        // The conversion writes with any strides, a back projector where columns are next to each other.
        let in_place = match (task.operator, task.pass.finish) {
            (Operator::Filter, _) | (_, Finish::Survey(_)) => false,
            _ => arrays.target().gpu.is_some() && (task.pass.converts || arrays.target().strides[2] == 1),
        };
        let least = if band_limited.is_some() { 2 } else { 1 };
        let mut sizes = Self { projector, band_limited, side, format, slab: 1, minimum: least, piece: None, in_place };
        let cap = context.gpu_memory(device, held)?;
        let all = task.neighbours().next_multiple_of(least);
        let split = task.together() && {
            let fits = all <= MAX_SLAB && sizes.bytes((task, arrays), all) <= cap;
            let shared = |iteration: &Iteration| {
                iterative::worth(all, sharing) && Pieces::bytes(g, iteration, all, sharing) <= context.memory_cap(0)
            };
            !fits || task.iteration.is_some_and(shared)
        };
        if task.together() && !split {
            sizes.minimum = all;
        }
        let fits = |n: usize| sizes.bytes((task, arrays), n) <= cap;
        let (minimum, unit) = (sizes.minimum, sizes.unit());
        if !fits(minimum) {
            let (needed, what) =
                (sizes.bytes((task, arrays), minimum), ["one slice needs", "two slices need"][minimum - 1]);
            fail!(MemoryCap, "{device:?}: gpu_memory_cap is {cap} bytes; {what} at least {needed}");
        }
        let copies = arrays.source().gpu.is_none() || arrays.target().gpu.is_none();
        // Rows beside a slab are read for it alone.
        let few = (share / MIN_SLABS).max(4 * task.rows.reach(task.detector)).min(share);
        let wanted = match task.iteration {
            Some(_) => iterative::wanted(g, share).max(minimum),
            None if copies => (few / unit).max(1) * unit,
            None => share,
        };
        let mut slab = wanted.min(task.neighbours()).next_multiple_of(minimum).min(MAX_SLAB);
        // Beside a piece slabs are small.
        let (least, room) = (iterative::LEAST.min(all), if split { cap / BESIDE } else { cap });
        let large = |slab: usize| {
            let bytes = sizes.bytes((task, arrays), slab);
            bytes > room || split && bytes.saturating_add(sizes.piece_bytes(task, least)) > cap
        };
        while slab > minimum && large(slab) {
            slab = smaller(slab, &sizes);
        }
        sizes.slab = slab;
        if split {
            sizes.piece = Some(sizes.largest_piece((task, arrays), (device, cap), least..all)?);
        }
        Ok(sizes)
    }

    /// Slices of a piece that fit besides a slab: `least` or more, all at most.
    fn largest_piece(
        &self,
        of: (&Task, &Arrays),
        (device, cap): (&Device, u64),
        Range { start: least, end: all }: Range<usize>,
    ) -> Result<usize> {
        let bytes = |n: usize| self.bytes(of, self.slab).saturating_add(self.piece_bytes(of.0, n));
        if bytes(least) > cap {
            let (whole, needed) = (self.bytes(of, all), bytes(least));
            fail!(
                MemoryCap,
                "{device:?}: gpu_memory_cap is {cap} bytes; all slices together need at least {whole}, {least} of them at a time at least {needed}"
            );
        }
        let (mut fits, mut beyond) = (least, all.min(MAX_SLAB) + 1);
        while fits + 1 < beyond {
            let middle = (fits + beyond) / 2;
            if bytes(middle) <= cap { fits = middle } else { beyond = middle }
        }
        Ok(fits)
    }

    /// Device memory for the call.
    pub(super) fn needed(&self, of: (&Task, &Arrays)) -> u64 {
        self.bytes(of, self.slab).saturating_add(self.piece.map_or(0, |piece| self.piece_bytes(of.0, piece)))
    }

    /// Device memory for a stretch of iterations of `n` slices.
    fn piece_bytes(&self, task: &Task, n: usize) -> u64 {
        let iteration = task.iteration.map_or(0, |iteration| iterative::bytes(task.geometry, iteration, n, self.side));
        iteration.saturating_add(self.band_limited.as_ref().map_or(0, |b| b.bytes(n)))
    }

    /// For slabs that lie on their GPU, with rows on either side that reach so far: even ones, with as many slices as rows beside, or more, so that
    /// no row is filtered much more than twice, and the GPU begins early.
    pub(super) fn on_gpu(&mut self, task: &Task, reach: usize, sharing: usize) {
        let share = task.neighbours().div_ceil(sharing);
        let slabs = (share / (share / MIN_SLABS).max(2 * reach)).max(1);
        self.slab = share.div_ceil(slabs).next_multiple_of(self.unit()).next_multiple_of(self.minimum).min(self.slab);
        // Results of a pass that only looks at them stay with the worker.
        self.in_place = !matches!(task.pass.finish, Finish::Survey(_));
    }

    /// Slices that one block of the kernels takes: others cost as much as these.
    fn unit(&self) -> usize {
        match (self.projector, &self.band_limited) {
            (Some(p), _) => p.slices(),
            (None, Some(_)) => BandLimitedSizes::UNIT,
            // Of the pair.
            (None, None) => 4,
        }
    }

    /// Where the results of `n` slices go, in the order in which they lie on the device.
    pub(super) fn target(&self, task: &Task, arrays: &Arrays, first: usize, n: usize) -> Block {
        let g = task.geometry;
        match task.operator {
            Operator::Filter => {
                let target = projections(arrays.target(), g.order);
                Block::ordered(&target, 1, arrays.row(g, first), n, [1, 0, 2])
            }
            Operator::Forward => {
                // As they lie in the caller's memory, so that they are copied in one piece; bins always last.
                let target = projections(arrays.target(), g.order);
                let frames = target.strides[0].unsigned_abs() >= target.strides[1].unsigned_abs();
                let order = if frames { [0, 1, 2] } else { [1, 0, 2] };
                Block::ordered(&target, 1, arrays.row(g, first), n, order)
            }
            _ => Block::ordered(arrays.target(), 0, arrays.slice(first), n, [0, 1, 2]),
        }
    }

    /// Device memory for the results of `n` slices.
    pub(super) fn out_bytes(&self, task: &Task, n: usize) -> usize {
        match task.operator {
            _ if self.in_place => 0,
            Operator::Filter => self.format.bytes(n, task.geometry.views(), task.geometry.bins) as usize,
            Operator::Forward => n * task.geometry.views() * task.geometry.bins * 4,
            _ => n * task.geometry.ny * task.geometry.nx * task.pass.stored.size(),
        }
    }

    /// Device memory for `n` finished slices that are still to be converted.
    pub(super) fn volume_bytes(&self, task: &Task, n: usize) -> usize {
        if task.pass.converts { n * task.geometry.ny * task.geometry.nx * 4 } else { 0 }
    }

    /// Device memory for slabs of `n` slices, tables not counted but for a beam that varies, whose planes are many.
    pub(super) fn bytes(&self, (task, arrays): (&Task, &Arrays), n: usize) -> u64 {
        let g = task.geometry;
        let raw = match arrays.source().gpu {
            Some(_) => 0,
            None => source_bytes(task, arrays, n),
        };
        let packed = match task.operator {
            Operator::Filter => 0,
            Operator::Forward if self.band_limited.is_some() => 0,
            Operator::Forward => forward::packed_bytes(g, n, self.format.lanes),
            _ => self.format.bytes(n, g.views(), g.bins),
        };
        let convolution = task.iteration.map_or(0, |iteration| iterative::convolution_bytes(g, iteration, n));
        let sums = self.band_limited.as_ref().map_or(0, |b| b.bytes(n).max(convolution));
        let stages = prepare::bytes(task, n) + flat_bytes(task);
        let iterations = task.iteration.map_or(0, |iteration| iterative::bytes(g, iteration, n, self.side));
        let volume = self.volume_bytes(task, n) as u64;
        let slots = SLOTS as u64 * (raw + self.out_bytes(task, n) as u64);
        (slots + packed + volume).saturating_add(sums).saturating_add(stages).saturating_add(iterations)
    }
}

/// What a flat field that varies takes, of the rows of all slices.
fn flat_bytes(task: &Task) -> u64 {
    let flat = task.rows.correction.flat().filter(|flat| flat.beams().is_some());
    flat.map_or(0, |flat| DeviceFlat::bytes(flat, flat_rows(task).len(), task.detector.bins))
}

/// The next smaller slab: whole blocks of the kernel as long as there are several.
pub(super) fn smaller(slab: usize, sizes: &Sizes) -> usize {
    let (unit, minimum) = (sizes.unit(), sizes.minimum);
    let half = (slab / 2).next_multiple_of(if slab > unit { unit } else { minimum });
    half.min(slab - 1).max(minimum)
}

/// Weights of the indices in the caller's array.
pub(super) fn indices(task: &Task, first: usize) -> IndexWeights {
    let g = task.detector;
    if task.operator == Operator::Forward {
        let (rows, columns) = (g.ny as i64, g.nx as i64);
        return IndexWeights { view: columns, slice: rows * columns, offset: first as i64 * rows * columns };
    }
    // A part's indices are counted in the whole.
    let (views, rows, bins) = (g.views() as i64, g.rows as i64, g.bins as i64);
    let row = (g.first_row + first) as i64;
    match g.order {
        Order::Frames => IndexWeights { view: rows * bins, slice: bins, offset: row * bins },
        Order::Sinograms => IndexWeights { view: bins, slice: views * bins, offset: row * views * bins },
    }
}

/// The error that names a value which is no number, by its index in the whole of the source; `gpu` can read the source.
pub(super) fn not_finite(task: &Task, arrays: &Arrays, gpu: &Device, index: u64) -> Result<()> {
    let g = task.detector;
    let (name, [_, b, c]) = match task.operator {
        Operator::Forward => ("volume", g.volume_shape()),
        _ => ("projections", g.projection_shape()),
    };
    let index = index as usize;
    let [i, j, k] = [index / (b * c), index / c % b, index % c];
    // The arrays may hold some slices only.
    let at = match (task.operator, g.order) {
        (Operator::Forward, _) => [arrays.slice(i), j, k],
        (_, Order::Frames) => [i, arrays.row(g, j - g.first_row), k],
        (_, Order::Sinograms) => [arrays.row(g, i - g.first_row), j, k],
    };
    let address = arrays.source().element(at);
    let value = match arrays.source().gpu {
        Some(_) => gpu.read::<f32>(address.addr() as u64)?,
        // SAFETY: an element of the caller's array, which is valid for the call; only f32 can be no number.
        None => unsafe { address.cast::<f32>().read_unaligned() },
    };
    fail!(NotFiniteData, "{name}[{i}, {j}, {k}] is {value}; it must be finite (or set the NaN policy to replace)");
}
