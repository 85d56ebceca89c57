//! `isoc_ct_filter` on the processor: rows of two views at a time.

use super::groups::{Groups, Lanes};
use super::work::{Call, Work};
use crate::geometry::Geometry;
use crate::rows::filter::RowFilter;
use isocenter_base::context::Stage;
use isocenter_base::cpu::buffer::{Workspace, zeros};
use isocenter_base::cpu::parallel::*;
use isocenter_base::error::{Result, fail};
use std::ops::Range;

/// A filter made ready for the rows of a geometry.
pub(super) struct FilterRows<'a> {
    pub(super) geometry: &'a Geometry,
    pub(super) threads: usize,
    pub(super) filter: RowFilter,
}

impl Work for FilterRows<'_> {
    fn bytes(&self, _: Lanes, _: usize) -> u64 {
        let bins = self.geometry.bins;
        self.threads as u64 * (RowFilter::scratch_bytes(bins) + 8 * bins as u64) + RowFilter::table_bytes(bins)
    }

    fn slab_bytes(&self, _: &Groups, _: u64) -> u64 {
        self.bytes(Lanes::Alone, 1)
    }

    fn tasks(&self, _: Lanes) -> usize {
        self.geometry.views().div_ceil(2)
    }

    fn reads_first(&self) -> bool {
        false
    }

    /// All of them: it takes no memory of its own for a slice.
    fn next(&self, slices: Range<usize>, cap: u64, _: usize) -> Result<Groups> {
        let needed = self.bytes(Lanes::Alone, 1);
        if needed > cap {
            fail!(MemoryCap, "memory_cap is {cap} bytes; filtering needs at least {needed}");
        }
        Ok(Groups { first: slices.start, count: slices.len(), lanes: Lanes::Alone })
    }

    fn run(&self, call: &Call, slab: &Groups, _: u64, _: &mut Workspace) -> Result<()> {
        let Call { job, input, target, arrays, .. } = *call;
        let g = self.geometry;
        let pairs = g.views().div_ceil(2);
        job.enter(Stage::Filter);
        (0..pairs).into_par_iter().try_for_each_init(
            || Ok((zeros(g.bins)?, zeros(g.bins)?, self.filter.scratch()?)),
            |room: &mut Result<_>, pair| {
                job.check()?;
                let (a, b, scratch) = room.as_mut().map_err(|e| e.clone())?;
                let (v, two) = (2 * pair, 2 * pair + 1 < g.views());
                for slice in slab.first..slab.first + slab.count {
                    input.read(v, g.first_row + slice, a)?;
                    if two {
                        input.read(v + 1, g.first_row + slice, b)?
                    } else {
                        b.fill(0.0)
                    }
                    self.filter.apply(a, b, scratch);
                    let row = arrays.row(g, slice);
                    // SAFETY: this task alone has these two views.
                    unsafe {
                        target.write_row([v, row, 0], a);
                        if two {
                            target.write_row([v + 1, row, 0], b);
                        }
                    }
                }
                job.advance(slab.count as f64 / g.slices as f64 / pairs as f64);
                Ok(())
            },
        )
    }
}
