//! Forward projection by Joseph's method ("An improved algorithm for reprojecting rays through pixel images", 1982): along
//! the ray's major axis a step a line, linear interpolation across it. A gather: each bin sums the volume's lines that its
//! ray crosses, so no two tasks write the same bin.

use super::division;
use super::groups::{Groups, Lanes};
use super::interleaved::{Interleaved, MAX_DISTANCE};
use super::pack;
use super::single::{Single, Spread};
use super::term::{BLOCK, Grid, RowLayout, Taps, Term};
use super::work::{Call, Work};
use crate::geometry::Geometry;
use crate::ray::{Axis, Ray};
use isocenter_base::context::{Context, Job, Stage};
use isocenter_base::cpu::buffer::{Buffer, Workspace, append, collected, reserved};
use isocenter_base::cpu::level::Level;
use isocenter_base::cpu::parallel::*;
use isocenter_base::cpu::simd::dispatch;
use isocenter_base::error::Result;

/// Bins of a task: their rays cross a narrow strip of the volume.
const BINS: usize = 32;
const SINGLE_BINS: usize = 64;
/// Neighbouring views of a task, whose strips nearly coincide.
const VIEWS: usize = 8;
/// Lines of the volume summed before the next view of the task takes its turn, so that they are still in the cache.
const LINES: usize = 16;
const SINGLE_LINES: usize = 32;

/// A forward projection made ready.
pub(super) struct Forward<'a> {
    geometry: &'a Geometry,
    threads: usize,
    /// Views by the direction of their lines, in order of angle.
    rays: [Vec<Ray>; 2],
}

impl<'a> Forward<'a> {
    pub(super) fn new(geometry: &'a Geometry, threads: usize) -> Result<Self> {
        let mut rays = [Vec::new(), Vec::new()];
        let mut views = collected(0..geometry.views())?;
        let turn = |v: &usize| geometry.angles[*v].rem_euclid(std::f64::consts::PI);
        // Views at one angle stay in their order.
        views.sort_unstable_by(|a, b| turn(a).total_cmp(&turn(b)).then(a.cmp(b)));
        for view in views {
            let (axis, ray) = Ray::new(geometry, view);
            append(&mut rays[axis as usize], ray)?;
        }
        Ok(Self { geometry, threads, rays })
    }

    pub(super) fn geometry(&self) -> &'a Geometry {
        self.geometry
    }

    /// Whether some rays go that way.
    pub(super) fn has(&self, axis: Axis) -> bool {
        !self.rays[axis as usize].is_empty()
    }

    /// Samples in a line, and number of lines.
    pub(super) fn size(&self, axis: Axis) -> (usize, usize) {
        let g = self.geometry;
        if axis == Axis::Rows { (g.nx, g.ny) } else { (g.ny, g.nx) }
    }

    pub(super) fn layout(&self, axis: Axis, lanes: Lanes) -> RowLayout {
        RowLayout::new(self.size(axis).0, Taps::Linear.count(), lanes)
    }

    /// Bytes of the threads' own while packing: a line of every slice of a group.
    fn scratch_bytes(&self, lanes: Lanes) -> u64 {
        4 * (self.threads * lanes.count() * self.geometry.nx.max(self.geometry.ny)) as u64
    }

    pub(super) fn packed_floats(&self, lanes: Lanes) -> usize {
        let floats = |axis| self.layout(axis, lanes).pitch() * self.size(axis).1;
        floats(Axis::Rows).max(floats(Axis::Columns))
    }

    /// Packs the slab's slices line by line, in the direction of `axis`.
    fn pack(&self, call: &Call, slab: &Groups, axis: Axis, count: bool, packed: &mut [f32]) -> Result<()> {
        let Call { job, input, .. } = *call;
        let g = self.geometry;
        let layout = self.layout(axis, slab.lanes);
        let lanes = slab.lanes.count();
        let (samples, lines) = self.size(axis);
        let packed = &mut packed[..slab.len() * lines * layout.pitch()];
        // The other direction's lines leave values where this one has padding.
        let clear = |line: &mut [f32]| {
            line[..layout.pad * lanes].fill(0.0);
            line[(layout.pad + samples) * lanes..].fill(0.0);
        };
        match axis {
            Axis::Rows => packed.par_chunks_mut(layout.pitch()).enumerate().try_for_each_init(
                || Buffer::zeroed(lanes * samples),
                |rows, (k, line)| {
                    job.check()?;
                    let rows = rows.as_mut().map_err(|e| e.clone())?;
                    let (group, i) = (k / lines, k % lines);
                    let slices = slab.slices(group);
                    for (row, slice) in rows.chunks_exact_mut(samples).zip(slices.clone()) {
                        let replaced = input.read_part(slab.first + slice, i, 0, row)?;
                        input.count(if count { replaced } else { 0 });
                    }
                    clear(line);
                    let to = &mut line[layout.pad * lanes..];
                    pack::interleave(&rows[..slices.len() * samples], samples, lanes, 1.0, to);
                    Ok(())
                },
            ),
            // A task takes a few columns of all rows: a cache line of each.
            Axis::Columns => {
                let blocks = lines.div_ceil(COLUMNS);
                let mut tasks: Vec<&mut [f32]> = reserved(slab.len() * blocks)?;
                for group in packed.chunks_exact_mut(layout.pitch() * lines) {
                    tasks.extend(group.chunks_mut(COLUMNS * layout.pitch()));
                }
                tasks.into_par_iter().enumerate().try_for_each(|(k, columns)| {
                    job.check()?;
                    let (group, first) = (k / blocks, k % blocks * COLUMNS);
                    let mut part = [0.0; COLUMNS];
                    let part = &mut part[..COLUMNS.min(g.nx - first)];
                    columns.chunks_exact_mut(layout.pitch()).for_each(clear);
                    for i in 0..g.ny {
                        for (lane, slice) in slab.slices(group).enumerate() {
                            let replaced = input.read_part(slab.first + slice, i, first, part)?;
                            input.count(if count { replaced } else { 0 });
                            let at = (layout.pad + i) * lanes + lane;
                            for (column, v) in columns.chunks_exact_mut(layout.pitch()).zip(&*part) {
                                column[at] = *v;
                            }
                        }
                    }
                    Ok(())
                })
            }
        }
    }

    /// Sums the packed lines of `groups` groups along all rays that go that way; `sink` gets a task's sums, which are still to be
    /// multiplied by the rays' steps.
    pub(super) fn project(
        &self,
        (context, job): (&Context, &Job),
        axis: Axis,
        (lanes, groups): (Lanes, usize),
        packed: &[f32],
        sink: impl Fn(&Part, &mut Scratch) + Sync,
    ) -> Result<()> {
        let rays = &self.rays[axis as usize];
        let layout = self.layout(axis, lanes);
        let bins = strip_bins(lanes);
        let (blocks, strips) = (rays.len().div_ceil(VIEWS), self.geometry.bins.div_ceil(bins));
        let group_floats = layout.pitch() * self.size(axis).1;
        (0..groups * blocks * strips).into_par_iter().try_for_each_init(Scratch::default, |scratch, k| {
            job.check()?;
            let (group, block, strip) = (k / (blocks * strips), k / strips % blocks, k % strips);
            let rays = &rays[block * VIEWS..rays.len().min((block + 1) * VIEWS)];
            let first = strip * bins;
            let part = Part { rays, group, first, len: bins.min(self.geometry.bins - first) };
            let volume = &packed[group * group_floats..(group + 1) * group_floats];
            sum_lines(context.level(), layout, volume, &part, scratch);
            sink(&part, scratch);
            Ok(())
        })
    }

    /// Puts the sums, times the rays' step, into the caller's projections.
    fn write(&self, call: &Call, slab: &Groups, part: &Part, scratch: &mut Scratch) {
        let Scratch { sums, line, .. } = scratch;
        line.resize(part.len, 0.0);
        for (ray, sums) in part.sums(sums, slab.lanes) {
            for (lane, slice) in slab.slices(part.group).enumerate() {
                pack::extract(sums, slab.lanes.count(), lane, ray.step, line);
                let row = call.arrays.row(self.geometry, slab.first + slice);
                // SAFETY: this task alone has these bins of these views and rows.
                unsafe { call.target.write_row([ray.view, row, part.first], line) };
            }
        }
    }
}

/// One task: neighbouring bins of neighbouring views, for one group of slices.
pub(super) struct Part<'a> {
    rays: &'a [Ray],
    pub(super) group: usize,
    pub(super) first: usize,
    pub(super) len: usize,
}

impl Part<'_> {
    /// Each ray with its sums, one of each lane for a bin.
    pub(super) fn sums<'s>(
        &'s self,
        sums: &'s mut [f32],
        lanes: Lanes,
    ) -> impl Iterator<Item = (&'s Ray, &'s mut [f32])> {
        let count = lanes.count();
        let own = sums.chunks_exact_mut(strip_bins(lanes) * count);
        self.rays.iter().zip(own.map(move |sums| &mut sums[..self.len * count]))
    }
}

/// Bins of a task.
fn strip_bins(lanes: Lanes) -> usize {
    if lanes == Lanes::Alone { SINGLE_BINS } else { BINS }
}

/// Sums the lines of the packed volume that a task's rays cross.
fn sum_lines<'v>(level: Level, layout: RowLayout, volume: &'v [f32], part: &Part, scratch: &mut Scratch<'v>) {
    let (taps, len) = (Taps::Linear, part.len);
    let lines = volume.len() / layout.pitch();
    let stride = strip_bins(layout.lanes);
    let floats = stride * layout.lanes.count();
    scratch.sums.clear();
    scratch.sums.resize(part.rays.len() * floats, 0.0);
    let step = if layout.lanes == Lanes::Alone { SINGLE_LINES } else { LINES };
    for l0 in (0..lines).step_by(step) {
        let rows = step.min(lines - l0);
        for (ray, sums) in part.rays.iter().zip(scratch.sums.chunks_exact_mut(floats)) {
            let first = ray.origin + part.first as f64 * ray.along + l0 as f64 * ray.across;
            let grid = Grid { first, across: ray.across, along: ray.along, rows, len };
            let at = &volume[l0 * layout.pitch()..];
            let Some(lines) = layout.lines(at, grid, taps.count(), 1.0) else { continue };
            let terms = &mut scratch.terms;
            terms.clear();
            terms.extend(lines);
            match layout.lanes {
                Lanes::Side(lanes) => {
                    // SAFETY: the terms are of these lines, which `bytes` keeps below MAX_DISTANCE, and of this grid.
                    dispatch(level, unsafe { Interleaved::new(terms, taps, [1, len], [lanes, stride], sums) });
                }
                Lanes::Alone => {
                    let spread = if layout.inside(grid, taps.count()) { Spread::of(ray.along) } else { Spread::Any };
                    let len = len.next_multiple_of(BLOCK);
                    // SAFETY: the terms are of this grid, and of this spread.
                    dispatch(level, unsafe { Single::new(terms, (taps, spread), [1, len], stride, sums) });
                }
            }
        }
    }
}

/// Columns that a packing task takes: a cache line's worth.
const COLUMNS: usize = 16;

impl Work for Forward<'_> {
    fn bytes(&self, lanes: Lanes, groups: usize) -> u64 {
        let pitch = self.layout(Axis::Rows, lanes).pitch().max(self.layout(Axis::Columns, lanes).pitch());
        if lanes != Lanes::Alone && LINES * pitch > MAX_DISTANCE {
            return u64::MAX;
        }
        4 * (groups * self.packed_floats(lanes)) as u64 + self.scratch_bytes(lanes)
    }

    fn least(&self) -> u64 {
        division::least(self.geometry.slices, self)
    }

    fn slab_bytes(&self, slab: &Groups, _: u64) -> u64 {
        self.bytes(slab.lanes, slab.len())
    }

    fn tasks(&self, lanes: Lanes) -> usize {
        let blocks: usize = self.rays.iter().map(|r| r.len().div_ceil(VIEWS)).sum();
        blocks * self.geometry.bins.div_ceil(strip_bins(lanes))
    }

    fn next(&self, slices: std::ops::Range<usize>, cap: u64, threads: usize) -> Result<Groups> {
        division::next((slices, self.geometry.slices), cap, threads, self)
    }

    fn reads_first(&self) -> bool {
        false
    }

    fn run(&self, call: &Call, slab: &Groups, cap: u64, workspace: &mut Workspace) -> Result<()> {
        let Call { context, job, .. } = *call;
        let room = cap.saturating_sub(self.scratch_bytes(slab.lanes));
        let [packed, _] = workspace.take([slab.len() * self.packed_floats(slab.lanes), 0], room)?;
        job.enter(Stage::Forward);
        for axis in [Axis::Rows, Axis::Columns] {
            if !self.has(axis) {
                continue;
            }
            // The volume is packed once for each direction; what is replaced in it counts once.
            let count = axis == Axis::Rows || !self.has(Axis::Rows);
            self.pack(call, slab, axis, count, packed)?;
            self.project((context, job), axis, (slab.lanes, slab.len()), packed, |part, scratch| {
                self.write(call, slab, part, scratch);
                let rays = (part.rays.len() * part.len) as f64 / (self.geometry.views() * self.geometry.bins) as f64;
                job.advance(slab.slices(part.group).len() as f64 / self.geometry.slices as f64 * rays);
            })?;
        }
        Ok(())
    }
}

/// A task's working memory.
#[derive(Default)]
pub(super) struct Scratch<'v> {
    terms: Vec<Term<'v>>,
    pub(super) sums: Vec<f32>,
    line: Vec<f32>,
}
