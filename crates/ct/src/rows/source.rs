//! Line integrals of some rows of the caller's projections, wherever these are: for what looks at a few of them, on the processor.

use super::distortion::{Distortion, Warp};
use super::kind::Correction;
use super::reader::Reader;
use crate::geometry::{Geometry, Order};
use crate::slab::Arrays;
use isocenter_base::array::fetch::Fetched;
use isocenter_base::array::{Array, Layout};
use isocenter_base::context::Context;
use isocenter_base::cpu::buffer::{collected, zeros};
use isocenter_base::cpu::parallel::*;
use isocenter_base::error::{Result, fail};
use isocenter_base::gpu::Device;
use std::ops::Range;

/// What rows are read from.
pub(crate) struct Source<'a> {
    pub(crate) context: &'a Context,
    pub(crate) geometry: &'a Geometry,
    pub(crate) projections: &'a Array<'a>,
    pub(crate) correction: Correction<'a>,
    /// Taken out of frames before.
    pub(crate) distortion: Option<&'a Distortion>,
    /// Where they are, if not on the host.
    pub(crate) gpu: Option<&'a Device>,
}

impl Source<'_> {
    /// Line integrals of some views of a slice, `[view][bin]`.
    pub(crate) fn read(&self, slice: usize, views: &[usize], rows: &mut [f32]) -> Result<()> {
        let (g, layout) = (self.geometry, self.projections.layout());
        let line = g.first_row + slice;
        let lines = self.distortion.map_or(line..line + 1, |distortion| distortion.rows(g, &(line..line + 1)));
        let copy = self.gpu.map(|gpu| copied_from(gpu, layout, g, &lines, views)).transpose()?;
        let shape = match g.order {
            Order::Frames => [g.views(), lines.len(), g.bins],
            Order::Sinograms => [lines.len(), g.views(), g.bins],
        };
        let arrays = match &copy {
            Some(values) => Arrays::input(&Array::new(values, shape)?, g, Some(lines.start)),
            None => Arrays::input(self.projections, g, None),
        };
        let reader = Reader::projections(&arrays, g, slice..slice + 1, self.correction, self.context);
        let rows = rows.par_chunks_mut(g.bins).zip(views);
        let Some(distortion) = self.distortion else {
            return rows.try_for_each(|(row, &view)| reader.read(view, line, row));
        };
        let level = self.context.level();
        let warp = || Warp::new(distortion, g, (1, line..line + 1), level);
        rows.try_for_each_init(warp, |warp, (row, &view)| {
            let warp = warp.as_mut().map_err(|e| e.clone())?;
            warp.fill(0, |near, values| {
                reader.read_raw(view, near, values);
                reader.transmissions(view, near, near == line, values).map(|_| ())
            })?;
            warp.read(line, view..view + 1, row, |_, _| {});
            self.correction.finish(row, level);
            Ok(())
        })
    }
}

/// Some rows from a GPU, of which these views have been filled in, in the geometry's order.
fn copied_from(gpu: &Device, layout: &Layout, g: &Geometry, lines: &Range<usize>, views: &[usize]) -> Result<Vec<f32>> {
    let bins = g.bins;
    let Some(values) = g.views().checked_mul(lines.len()).and_then(|n| n.checked_mul(bins)) else {
        fail!(SizeOverflow, "{} views of {} x {bins} bins do not fit the address space", g.views(), lines.len());
    };
    let mut copy: Vec<f32> = zeros(values)?;
    for (&view, line) in views.iter().flat_map(|view| lines.clone().map(move |line| (view, line))) {
        let row = line - lines.start;
        let (at, to) = match g.order {
            Order::Sinograms => ([line, view, 0], row * g.views() + view),
            Order::Frames => ([view, line, 0], view * lines.len() + row),
        };
        let row = Layout { origin: layout.element(at), shape: [1, 1, bins], ..*layout };
        Fetched::new(gpu, &row)?.array().read_row([0; 3], &mut copy[to * bins..][..bins]);
    }
    Ok(copy)
}

/// Evenly spread indices, both ends in.
pub(crate) fn spread(count: usize, of: usize) -> Result<Vec<usize>> {
    let count = count.clamp(1, of);
    let step = |k: usize| if count == 1 { (of - 1) / 2 } else { (k * (of - 1) + (count - 1) / 2) / (count - 1) };
    collected((0..count).map(step))
}
