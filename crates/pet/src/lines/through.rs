//! A list of lines through an image.

use super::blur::Blur;
use super::grid::Grid;
use super::list::List;
use super::part::Part;
use super::trace::{Packed, Trace, common};
use crate::dropped::Dropped;
use crate::events::{BLOCK, Block};
use isocenter_base::cpu::parallel::*;
use std::sync::Mutex;

/// Lines, the image that they cross, and what it is blurred with before.
#[derive(Clone, Debug)]
pub(crate) struct Through<'a> {
    pub(crate) list: &'a List<'a>,
    pub(crate) grid: Grid,
    pub(crate) blur: Option<Blur>,
}

/// Lines that a task packs.
const TASK: usize = 16 * BLOCK;

impl Through<'_> {
    /// Cut of the Gaussian in sigmas and 1 over what is left of it, and the last places along x, y, z.
    pub(crate) fn common(&self) -> ([f32; 2], [f32; 3]) {
        common(&self.grid, self.list.timing())
    }

    /// Lines of a part of the list for a GPU, from a place in it on: run after run, each with places for all its events, whether they are there and count or not. `besides` fills a row with what is
    /// expected of events from one on besides the sum along the line.
    pub(crate) fn pack(
        &self,
        part: &Part,
        from: usize,
        to: &mut [Packed],
        besides: &(dyn Fn(usize, &mut [f32]) + Sync),
    ) -> Dropped {
        let all = Mutex::new(Dropped::default());
        to.par_chunks_mut(TASK).enumerate().for_each_init(Block::new, |block, (task, to)| {
            let mut at = from + task * TASK;
            let (end, mut found) = (at + to.len(), Dropped::default());
            to.fill(Packed::default());
            let mut rest = to;
            while at < end {
                let within = at % part.size;
                let n = (part.size - within).min(end - at);
                let (here, behind) = rest.split_at_mut(n);
                found = found.plus(self.pack_run(part.start(at / part.size) + within, here, block, besides));
                (rest, at) = (behind, at + n);
            }
            let mut all = all.lock().unwrap_or_else(|e| e.into_inner());
            *all = all.plus(found);
        });
        all.into_inner().unwrap_or_else(|e| e.into_inner())
    }

    fn pack_run(
        &self,
        from: usize,
        to: &mut [Packed],
        block: &mut Block<f64>,
        besides: &(dyn Fn(usize, &mut [f32]) + Sync),
    ) -> Dropped {
        let n = to.len().min(self.list.len().saturating_sub(from));
        if n == 0 {
            return Dropped::default();
        }
        let mut row = [0.0f32; BLOCK];
        besides(from, &mut row[..n]);
        let mut missed = 0;
        let dropped = self.list.read(from, n, block, |line| {
            let k = line.number - from;
            match Trace::new(&self.grid, &line.event, line.timing) {
                Some(trace) => to[k] = trace.packed(row[k]),
                None => missed += 1,
            }
        });
        Dropped { outside_lattice: dropped.outside_lattice + missed, ..dropped }
    }
}
