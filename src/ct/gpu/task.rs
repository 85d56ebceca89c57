//! One call on GPUs: what it does, on which arrays, and how it is cut into slabs.

use super::choice::{Candidate, Kernel, Precision, Wish};
use super::forward;
use super::projector::{Case, Projector};
use super::rows::{Format, IndexWeights};
use super::transfer::Block;
use super::worker::SLOTS;
use crate::array::Layout;
use crate::context::{Context, Stage};
use crate::ct::filter::{Filter, Padding};
use crate::ct::geometry::{Geometry, Order};
use crate::ct::kind::Correction;
use crate::ct::operators::Interpolation;
use crate::error::{Result, fail};
use crate::gpu::Device;

/// What a call does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::ct) enum Operator {
    Reconstruct,
    Backproject,
    Filter,
    Adjoint,
    Forward,
}

/// One call, as the plan has it.
#[derive(Clone, Copy)]
pub(in crate::ct) struct Task<'a> {
    pub(in crate::ct) operator: Operator,
    pub(in crate::ct) geometry: &'a Geometry,
    pub(in crate::ct) interpolation: Interpolation,
    pub(in crate::ct) filter: &'a Filter,
    pub(in crate::ct) padding: Padding,
    /// What each view is multiplied by.
    pub(in crate::ct) weights: Option<&'a [f64]>,
    pub(in crate::ct) correction: Correction<'a>,
    pub(in crate::ct) kernel: Kernel,
    pub(in crate::ct) precision: Precision,
    pub(in crate::ct) stream: usize,
    /// Projections and volume (or filtered projections), in the caller's order of dimensions.
    pub(in crate::ct) source: &'a Layout,
    pub(in crate::ct) target: &'a Layout,
    /// The arrays hold only some slices, from this one on; None if they hold the whole detector and the whole volume.
    pub(in crate::ct) part: Option<usize>,
}

impl Task<'_> {
    /// Where slice `first` is in an array of projections, as a row, and in a volume.
    fn places(&self, first: usize) -> (usize, usize) {
        match self.part {
            Some(start) => (first - start, first - start),
            None => (self.geometry.first_row + first, first),
        }
    }

    /// An array of projections with dimensions (view, row, bin).
    fn projections(layout: &Layout, order: Order) -> Layout {
        let mut l = *layout;
        if order == Order::Sinograms {
            l.shape.swap(0, 1);
            l.strides.swap(0, 1);
        }
        l
    }

    pub(super) fn case(&self, device: &Device, tents: u64) -> Case<'_> {
        let interpolation = if self.operator == Operator::Adjoint { Interpolation::Linear } else { self.interpolation };
        Case { geometry: self.geometry, interpolation, shared: device.shared_bytes(), tents }
    }

    pub(super) fn stage(&self) -> Stage {
        match self.operator {
            Operator::Filter => Stage::Filter,
            Operator::Reconstruct | Operator::Backproject => Stage::Backproject,
            Operator::Adjoint => Stage::Adjoint,
            Operator::Forward => Stage::Forward,
        }
    }

    /// Part of the source that `n` slices need.
    pub(super) fn block(&self, first: usize, n: usize) -> Block {
        let (row, slice) = self.places(first);
        match self.operator {
            Operator::Forward => Block::new(self.source, 0, slice, n),
            _ => Block::new(&Task::projections(self.source, self.geometry.order), 1, row, n),
        }
    }
}

/// How the work is cut.
#[derive(Debug)]
pub(super) struct Sizes {
    pub(super) projector: Option<Projector>,
    pub(super) format: Format,
    /// Slices of a slab.
    pub(super) slab: usize,
    /// Results are written to the caller's device memory by the kernel itself.
    pub(super) in_place: bool,
}

/// Slabs that a GPU should have at least, so that copies and work overlap.
const LEAST_SLABS: usize = 8;
/// Slices that a slab may have: a launch's limit on its grid, with something in hand.
const MAX_SLAB: usize = 32_768;

impl Sizes {
    /// For a GPU that shares the slices with others and already holds some memory of earlier calls.
    pub(super) fn new(
        context: &Context,
        task: &Task,
        (device, held): (&Device, u64),
        sharing: usize,
        rates: &[Candidate],
    ) -> Result<Self> {
        let g = task.geometry;
        let share = g.slices.div_ceil(sharing);
        let side = forward::lanes(share);
        let projector = match task.operator {
            Operator::Filter | Operator::Forward => None,
            Operator::Adjoint => Some(Projector::Adjoint { lanes: side }),
            Operator::Reconstruct | Operator::Backproject => {
                let wish = Wish { kernel: task.kernel, precision: task.precision, rates };
                Some(wish.choose(&task.case(device, 0), share)?)
            }
        };
        let forward = task.operator == Operator::Forward;
        // Filtered rows go as they are; a volume to be projected is packed in its own way.
        let lanes = if forward { side } else { 1 };
        let planar = Format { lanes, half: false, split: false, oversampling: 1, tight: true };
        let format = projector.map_or(planar, |p| p.format(task.interpolation));
        let unit = projector.map_or(4, Projector::slices);
        let in_place = task.operator != Operator::Filter && task.target.gpu.is_some() && task.target.strides[2] == 1;
        let mut sizes = Self { projector, format, slab: 1, in_place };
        let cap = context.gpu_memory(device, held)?;
        let fits = |n: usize| sizes.bytes(task, n) <= cap;
        if !fits(1) {
            let needed = sizes.bytes(task, 1);
            fail!(MemoryCap, "{device:?}: gpu_memory_cap is {cap} bytes; one slice needs at least {needed}");
        }
        let copies = task.source.gpu.is_none() || task.target.gpu.is_none();
        let wanted = if copies { (share / LEAST_SLABS / unit).max(1) * unit } else { share };
        let mut slab = wanted.min(g.slices).min(MAX_SLAB);
        while !fits(slab) {
            slab = smaller(slab, &sizes);
        }
        sizes.slab = slab;
        Ok(sizes)
    }

    /// Where the results of `n` slices go, in the order in which they lie on the device.
    pub(super) fn target(&self, task: &Task, first: usize, n: usize) -> Block {
        let (row, slice) = task.places(first);
        match task.operator {
            Operator::Filter => {
                let target = Task::projections(task.target, task.geometry.order);
                Block::ordered(&target, 1, row, n, [1, 0, 2])
            }
            Operator::Forward => {
                // As they lie in the caller's memory, so that they are copied in one piece; bins always last.
                let target = Task::projections(task.target, task.geometry.order);
                let frames = target.strides[0].unsigned_abs() >= target.strides[1].unsigned_abs();
                let order = if frames { [0, 1, 2] } else { [1, 0, 2] };
                Block::ordered(&target, 1, row, n, order)
            }
            _ => Block::ordered(task.target, 0, slice, n, [0, 1, 2]),
        }
    }

    pub(super) fn out_bytes(&self, task: &Task, n: usize) -> usize {
        match task.operator {
            _ if self.in_place => 0,
            Operator::Filter => self.format.bytes(n, task.geometry.views(), task.geometry.bins) as usize,
            Operator::Forward => n * task.geometry.views() * task.geometry.bins * 4,
            _ => n * task.geometry.ny * task.geometry.nx * 4,
        }
    }

    /// Device memory for slabs of `n` slices, tables not counted.
    pub(super) fn bytes(&self, task: &Task, n: usize) -> u64 {
        let g = task.geometry;
        let raw = match task.source.gpu {
            Some(_) => 0,
            None => task.block(0, n).bytes() as u64,
        };
        let packed = match task.operator {
            Operator::Filter => 0,
            Operator::Forward => forward::packed_bytes(g, n, self.format.lanes),
            _ => self.format.bytes(n, g.views(), g.bins),
        };
        SLOTS as u64 * (raw + self.out_bytes(task, n) as u64) + packed
    }
}

/// The next smaller slab: whole blocks of the kernel as long as there are several.
pub(super) fn smaller(slab: usize, sizes: &Sizes) -> usize {
    let unit = sizes.projector.map_or(4, Projector::slices);
    if slab > unit { (slab / 2).next_multiple_of(unit).min(slab - 1) } else { (slab / 2).max(1) }
}

/// Weights of the indices in the caller's tensor.
pub(super) fn indices(task: &Task, first: usize) -> IndexWeights {
    let g = task.geometry;
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
pub(super) fn not_finite(task: &Task, gpu: &Device, index: u64) -> Result<()> {
    let g = task.geometry;
    // The dimension of which an array may hold a part only.
    let (name, [_, b, c], cut, start) = match (task.operator, g.order) {
        (Operator::Forward, _) => ("volume", g.volume_shape(), 0, 0),
        (_, Order::Frames) => ("projections", g.projection_shape(), 1, g.first_row),
        (_, Order::Sinograms) => ("projections", g.projection_shape(), 0, g.first_row),
    };
    let index = index as usize;
    let [i, j, k] = [index / (b * c), index / c % b, index % c];
    let mut at = [i, j, k];
    at[cut] -= task.part.map_or(0, |first| start + first);
    let address = task.source.element(at);
    let value = match task.source.gpu {
        Some(_) => gpu.read::<f32>(address.addr() as u64)?,
        // SAFETY: an element of the caller's array, which is valid for the call; only f32 can be no number.
        None => unsafe { address.cast::<f32>().read_unaligned() },
    };
    fail!(NotFiniteData, "{name}[{i}, {j}, {k}] is {value}; it must be finite (or set the NaN policy to replace)");
}
