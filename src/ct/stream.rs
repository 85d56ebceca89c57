//! Reconstruction from callback to callback, for volumes larger than memory.

use super::geometry::Geometry;
use super::gpu::{Operator, slab_layouts};
use super::kind::warn_of_kind;
use super::operators::{Ct, host_rows};
use crate::array::{Array, ArrayMut, DType, Layout};
use crate::context::LogLevel;
use crate::cpu::buffer::{Buffer, Workspace};
use crate::error::Result;

/// Fills the array with the projections of `count` slices from the first on: `(first, count, array)`.
pub(super) type Read<'a> = dyn FnMut(usize, usize, &Layout) -> Result<()> + 'a;
/// Takes the finished slices: `(first, count, array)`.
pub(super) type Write<'a> = dyn FnMut(usize, usize, &Layout) -> Result<()> + 'a;

/// A contiguous array of some slices, lent to a callback for the length of its call.
#[derive(Clone, Copy, Debug)]
pub struct Slab {
    /// First slice of the volume that it belongs to.
    pub first: usize,
    /// Number of slices.
    pub count: usize,
    /// Its first element.
    pub data: *mut u8,
    /// Its elements' type.
    pub dtype: DType,
    /// Its shape: projections in the geometry's order, with `count` rows, or (count, ny, nx).
    pub shape: [usize; 3],
}

impl Slab {
    fn new(first: usize, count: usize, layout: &Layout) -> Self {
        Self { first, count, data: layout.origin.cast_mut(), dtype: layout.dtype, shape: layout.shape }
    }
}

impl Ct {
    /// See `isoc_ct_reconstruct_stream`.
    pub fn reconstruct_stream(
        &mut self,
        dtype: DType,
        mut read: impl FnMut(Slab) -> Result<()>,
        mut write: impl FnMut(Slab) -> Result<()>,
    ) -> Result<()> {
        // Before anything is read.
        self.angular_weights()?;
        self.correction(dtype)?;
        let correct = self.corrector();
        let (unseen, mut looked) = (self.unseen(dtype), false);
        let (context, g) = (self.context().clone(), self.geometry()?);
        let (order, top) = (g.order, g.first_row);
        let mut read = |first: usize, count: usize, layout: &Layout| {
            read(Slab::new(first, count, layout))?;
            if unseen && !looked {
                looked = true;
                // SAFETY: the slab's array, which the callback has just filled.
                let slab = unsafe { Array::from_raw(layout.origin, dtype, layout.shape, layout.strides, None) };
                let mut rows = host_rows(&slab, order, 0..count)?;
                rows.iter_mut().for_each(|(row, _)| *row += top + first);
                warn_of_kind(&context, correct.correction(dtype)?, rows);
            }
            Ok(())
        };
        let mut write = |first: usize, count: usize, layout: &Layout| write(Slab::new(first, count, layout));
        let result = if self.gpus().is_empty() {
            self.stream_on_processor(dtype, &mut read, &mut write)
        } else {
            self.stream_on_gpus(dtype, &mut read, &mut write)
        };
        if looked {
            self.seen();
        }
        result
    }

    fn stream_on_gpus(&mut self, dtype: DType, read: &mut Read, write: &mut Write) -> Result<()> {
        let g = self.geometry()?;
        let source = Layout::new(std::ptr::null(), dtype, g.projection_shape());
        let target = Layout::new(std::ptr::null(), DType::F32, g.volume_shape());
        self.with_gpus(|ct, gpus| {
            let task = ct.task(Operator::Reconstruct, true, &source, &target)?;
            gpus.stream(ct.context(), &task, read, write)
        })
    }

    /// Slab after slab as a scan of its own. One call all the same: progress runs from 0 to 1 once, and the memory cap is for the
    /// slab's arrays and the work together.
    fn stream_on_processor(&mut self, dtype: DType, read: &mut Read, write: &mut Write) -> Result<()> {
        let mut workspace = std::mem::take(self.workspace_mut());
        let replaced = self.stream_slabs(dtype, read, write, &mut workspace);
        *self.workspace_mut() = workspace;
        self.set_replaced(replaced?);
        Ok(())
    }

    fn stream_slabs(&self, dtype: DType, read: &mut Read, write: &mut Write, workspace: &mut Workspace) -> Result<u64> {
        let (whole, context) = (self.geometry()?, self.context());
        let arrays = |slices| {
            let (p, v) = slab_layouts(whole, slices, dtype, std::ptr::null(), std::ptr::null());
            // Dark and gain of its rows too.
            (p.bytes() + v.bytes() + 2 * size_of::<f32>() * slices * whole.bins) as u64
        };
        let (slab, cap) = self.streamed_slab(self.memory_cap(workspace), arrays)?;
        let (p, v) = slab_layouts(whole, slab, dtype, std::ptr::null(), std::ptr::null());
        let (projections, volume) =
            (Buffer::<f32>::zeroed(p.bytes().div_ceil(4))?, Buffer::<f32>::zeroed(v.bytes() / 4)?);
        context.log(LogLevel::Info, || format!("reconstruct: streamed in slabs of up to {slab} slices"));
        context.report_while(|job| {
            let mut replaced = 0;
            for first in (0..whole.slices).step_by(slab) {
                let count = slab.min(whole.slices - first);
                let (p, v) = slab_layouts(whole, count, dtype, projections.data().cast(), volume.data().cast());
                read(first, count, &p)?;
                let part = Geometry { rows: count, slices: count, first_row: 0, ..whole.copy()? };
                let ct = self.part(part, whole.first_row + first)?;
                // SAFETY: the buffers hold as many elements, and nothing else uses them during the call.
                let (p_view, v_view) = unsafe {
                    let p_view = Array::from_raw(p.origin, dtype, p.shape, p.strides, None);
                    (p_view, ArrayMut::from_raw(volume.data().cast(), DType::F32, v.shape, v.strides, None))
                };
                job.begin_part(count as f64 / whole.slices as f64);
                replaced += ct.reconstruct_part((p_view, v_view), cap, workspace, job)?;
                write(first, count, &v)?;
                context.report(job);
                job.check()?;
            }
            Ok(replaced)
        })
    }
}
