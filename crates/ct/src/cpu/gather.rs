//! Gathers over bins: back projection (the papers' pixel-driven sum over views) and the adjoint of the forward projection
//! differ only in how a pixel weighs the bins near it.

use super::division;
use super::groups::{Groups, Lanes};
use super::interleaved::{Interleaved, MAX_DISTANCE, TERMS};
use super::pack;
use super::single::Single;
use super::term::{BLOCK, RowLayout, Taps};
use super::tiles::{Terms, Tile, Tiles, ViewLine};
use super::work::{Call, Work};
use crate::geometry::Geometry;
use crate::options::Sampling;
use crate::rows::filter::{RowFilter, Scratch};
use crate::rows::reader::Reader;
use isocenter_base::context::Stage;
use isocenter_base::cpu::buffer::{Buffer, Workspace, clear, collected, filled};
use isocenter_base::cpu::level::Level;
use isocenter_base::cpu::parallel::*;
use isocenter_base::cpu::simd::dispatch;
use isocenter_base::error::Result;

/// Packed rows of a chunk of views: large enough that sums are seldom reloaded, small enough to stay near the core.
const CHUNK_BYTES: u64 = 24 << 20;
/// Fewest views in a chunk (even, since rows are filtered in pairs of views).
const MIN_CHUNK: usize = 16;
/// Terms of one slice that are summed at a time, so that their samples stay in the first-level cache.
const SINGLE_TERMS: usize = 48;

/// A gather made ready: positions, weights and packing of every view.
pub(super) struct Gather<'a> {
    geometry: &'a Geometry,
    threads: usize,
    stage: Stage,
    taps: Taps,
    lines: Vec<ViewLine>,
    /// What each view's samples are multiplied by.
    pub(super) scales: Vec<f32>,
    filter: Option<RowFilter>,
    /// Samples in a packed row, and whether they are oversampled bins.
    samples: usize,
    oversampled: bool,
}

impl<'a> Gather<'a> {
    /// The pixel-driven sum over views; `weights` scale the views.
    pub(super) fn backproject(
        geometry: &'a Geometry,
        threads: usize,
        sampling: Sampling,
        weights: Option<&[f64]>,
        filter: Option<RowFilter>,
    ) -> Result<Self> {
        let (taps, factor, shift, samples) = match sampling {
            Sampling::Linear => (Taps::Linear, 1.0, 0.0, geometry.bins),
            Sampling::Nearest => (Taps::Nearest, 1.0, 0.5, geometry.bins),
            Sampling::Oversampled => {
                let (samples, zero) = pack::oversampled(geometry.bins);
                (Taps::Nearest, pack::SAMPLES_A_BIN as f64, zero as f64 + 0.5, samples)
            }
        };
        let lines = (0..geometry.views()).map(|v| {
            let line = geometry.pixel_line(v);
            let (origin, dx, dy) = (line.origin * factor + shift, line.dx * factor, line.dy * factor);
            ViewLine { origin, dx, dy, slope: 1.0 }
        });
        let scales = match weights {
            Some(weights) => collected(weights.iter().map(|&w| w as f32)),
            None => filled(geometry.views(), 1.0),
        }?;
        let oversampled = sampling == Sampling::Oversampled;
        let (stage, lines) = (Stage::Backproject, collected(lines)?);
        Ok(Self { geometry, threads, stage, taps, lines, scales, filter, samples, oversampled })
    }

    /// The transpose of the forward projection (Joseph 1982): a tent of half-width m a / b bins, m = max(|cos|, |sin|).
    pub(super) fn adjoint(geometry: &'a Geometry, threads: usize) -> Result<Self> {
        let major = |v: usize| geometry.angles[v].cos().abs().max(geometry.angles[v].sin().abs());
        let reach = |v: usize| major(v) * geometry.ratio();
        let widest = (0..geometry.views()).map(reach).fold(0.0, f64::max);
        let lines = (0..geometry.views()).map(|v| {
            let line = geometry.pixel_line(v);
            ViewLine { origin: line.origin + 1.0 - reach(v), dx: line.dx, dy: line.dy, slope: (1.0 / reach(v)) as f32 }
        });
        let scales = collected((0..geometry.views()).map(|v| (geometry.pixel_size / major(v)) as f32))?;
        // As many bins as lie strictly inside the widest tent; what rounding moves across its edge weighs nothing.
        let taps = Taps::Tent { taps: (2.0 * widest - 1e-9).ceil().max(1.0) as usize };
        let (stage, lines, samples) = (Stage::Adjoint, collected(lines)?, geometry.bins);
        Ok(Self { geometry, threads, stage, taps, lines, scales, filter: None, samples, oversampled: false })
    }

    /// Has a pixel read more bins, those that its tent does not reach with a weight of 0.
    pub(super) fn reads_with(&mut self, taps: usize) {
        self.taps = Taps::Tent { taps };
    }

    /// Bins that a pixel reads.
    pub(super) fn reads(&self) -> usize {
        self.taps.count()
    }

    pub(super) fn layout(&self, lanes: Lanes) -> RowLayout {
        RowLayout::new(self.samples, self.taps.count(), lanes)
    }

    fn row_bytes(&self, lanes: Lanes) -> u64 {
        4 * self.layout(lanes).pitch() as u64
    }

    /// Views in a chunk under the cap.
    fn chunk(&self, slab: &Groups, cap: u64) -> usize {
        let (groups, row) = (slab.len() as u64, self.row_bytes(slab.lanes));
        let room = cap.saturating_sub(self.bytes(slab.lanes, slab.len())) / (row * groups) + MIN_CHUNK as u64;
        let views = room.min((CHUNK_BYTES / (row * groups)).max(MIN_CHUNK as u64)) as usize;
        (views / 2 * 2).min(self.geometry.views().next_multiple_of(2))
    }

    /// Bytes beside sums and packed rows: the threads' own, and the filter's tables.
    fn scratch_bytes(&self, lanes: Lanes) -> u64 {
        let tables = self.filter.as_ref().map_or(0, |_| RowFilter::table_bytes(self.geometry.bins));
        self.threads as u64 * PackScratch::bytes(self, lanes.count()) + tables
    }

    fn min_chunk(&self) -> usize {
        MIN_CHUNK.min(self.geometry.views().next_multiple_of(2))
    }

    /// Fills the packed rows of a chunk of views: read, correct, filter, weigh, oversample, interleave.
    fn pack(
        &self,
        call: &Call,
        slab: &Groups,
        views: std::ops::Range<usize>,
        chunk: usize,
        packed: &mut [f32],
    ) -> Result<()> {
        let Call { job, input, .. } = *call;
        let layout = self.layout(slab.lanes);
        let lanes = slab.lanes.count();
        let pairs = chunk / 2;
        packed.par_chunks_mut(2 * layout.pitch()).enumerate().try_for_each_init(
            || PackScratch::new(self, lanes),
            |scratch, (k, rows)| {
                job.check()?;
                let scratch = scratch.as_mut().map_err(|e| e.clone())?;
                let (group, view) = (k / pairs, views.start + 2 * (k % pairs));
                if view >= views.end {
                    return Ok(());
                }
                let last = views.end.min(view + 2);
                self.read_pair(slab, input, group, view..last, scratch)?;
                for (row, (v, from)) in rows.chunks_mut(layout.pitch()).zip((view..last).zip(&scratch.rows)) {
                    let slices = slab.slices(group).len();
                    let to = &mut row[layout.pad * lanes..];
                    pack::interleave(&from[..slices * self.samples], self.samples, lanes, self.scales[v], to);
                }
                Ok(())
            },
        )
    }

    /// One group's rows of one or two views, filtered, as `[slice][sample]`.
    fn read_pair(
        &self,
        slab: &Groups,
        input: &Reader,
        group: usize,
        views: std::ops::Range<usize>,
        scratch: &mut PackScratch,
    ) -> Result<()> {
        let PackScratch { rows: [first, second], bins: [a, b], filter } = scratch;
        for (s, slice) in slab.slices(group).enumerate() {
            let row = self.geometry.first_row + slab.first + slice;
            let at = s * self.samples..(s + 1) * self.samples;
            let (first, second) = (&mut first[at.clone()], &mut second[at]);
            let mut read = |a: &mut [f32], b: &mut [f32]| {
                input.read(views.start, row, a)?;
                match views.len() {
                    2 => input.read(views.start + 1, row, b)?,
                    _ => b.fill(0.0),
                }
                if let (Some(f), Some(scratch)) = (&self.filter, filter.as_mut()) {
                    f.apply(a, b, scratch);
                }
                Ok(())
            };
            if self.oversampled {
                read(a, b)?;
                pack::oversample(a, first);
                pack::oversample(b, second);
            } else {
                read(first, second)?;
            }
        }
        Ok(())
    }

    /// Adds a chunk of one group's views to a tile.
    pub(super) fn sum_tile<'c>(
        &self,
        level: Level,
        chunk: &Chunk<'c>,
        tile: &Tile,
        terms: &mut Terms<'c>,
        sums: &mut [f32],
    ) -> Result<()> {
        let taps = self.taps;
        terms.clear();
        for (view, row) in chunk.views.clone().zip(chunk.rows.chunks_exact(chunk.layout.pitch())) {
            terms.push(&chunk.layout, row, &self.lines[view], tile, taps.count())?;
        }
        if let Lanes::Side(lanes) = chunk.layout.lanes {
            let size = [tile.rows, tile.columns];
            for terms in terms.lists[0].chunks(4 * TERMS) {
                // SAFETY: the terms are of this chunk, which `bytes` keeps below MAX_DISTANCE, and of this tile.
                dispatch(level, unsafe { Interleaved::new(terms, taps, size, [lanes, tile.side], sums) });
            }
            return Ok(());
        }
        let (by_rows, by_columns) = sums.split_at_mut(tile.side * tile.side);
        for (k, list) in terms.lists.iter().enumerate() {
            let (spread, columns) = (Terms::SPREADS[k % 3], k >= 3);
            let (rows, len) = if columns { (tile.columns, tile.rows) } else { (tile.rows, tile.columns) };
            let sums = if columns { &mut *by_columns } else { &mut *by_rows };
            for terms in list.chunks(SINGLE_TERMS) {
                let len = len.next_multiple_of(BLOCK);
                // SAFETY: the terms are of this tile, in the list of their spread.
                dispatch(level, unsafe { Single::new(terms, (taps, spread), [rows, len], tile.side, sums) });
            }
        }
        Ok(())
    }

    /// Puts the sums into the caller's volume.
    fn write(&self, call: &Call, slab: &Groups, tiles: &Tiles, sums: &[f32]) {
        sums.par_chunks(tiles.floats()).enumerate().for_each_init(
            || vec![0.0; tiles.side],
            |line, (k, sums)| {
                let (group, tile) = (k / tiles.count(), tiles.tile(k % tiles.count()));
                let line = &mut line[..tile.columns];
                for (lane, slice) in slab.slices(group).enumerate() {
                    let to = call.arrays.slice(slab.first + slice);
                    for r in 0..tile.rows {
                        match slab.lanes {
                            Lanes::Side(lanes) => {
                                pack::extract(&sums[r * tile.side * lanes..], lanes, lane, 1.0, line);
                            }
                            Lanes::Alone => tile.single_row(sums, r, false, line),
                        }
                        // SAFETY: this task alone has this tile of this slice.
                        unsafe { call.write_row([to, tile.y + r, tile.x], line) };
                    }
                }
            },
        );
    }
}

impl Work for Gather<'_> {
    fn bytes(&self, lanes: Lanes, groups: usize) -> u64 {
        if lanes != Lanes::Alone && MIN_CHUNK * self.layout(lanes).pitch() > MAX_DISTANCE {
            return u64::MAX;
        }
        let tiles = Tiles::new(self.geometry, lanes);
        let sums = 4 * (tiles.count() * tiles.floats()) as u64;
        let rows = self.min_chunk() as u64 * self.row_bytes(lanes);
        (sums + rows) * groups as u64 + self.scratch_bytes(lanes)
    }

    fn least(&self) -> u64 {
        division::least(self.geometry.slices, self)
    }

    fn slab_bytes(&self, slab: &Groups, cap: u64) -> u64 {
        let extra = self.chunk(slab, cap).saturating_sub(self.min_chunk()) as u64;
        self.bytes(slab.lanes, slab.len()) + extra * self.row_bytes(slab.lanes) * slab.len() as u64
    }

    fn tasks(&self, lanes: Lanes) -> usize {
        Tiles::new(self.geometry, lanes).count()
    }

    fn next(&self, slices: std::ops::Range<usize>, cap: u64, threads: usize) -> Result<Groups> {
        division::next((slices, self.geometry.slices), cap, threads, self)
    }

    fn reads_first(&self) -> bool {
        true
    }

    fn run(&self, call: &Call, slab: &Groups, cap: u64, workspace: &mut Workspace) -> Result<()> {
        let Call { context, job, .. } = *call;
        let tiles = Tiles::new(self.geometry, slab.lanes);
        let chunk = self.chunk(slab, cap);
        let layout = self.layout(slab.lanes);
        let lens = [slab.len() * tiles.count() * tiles.floats(), slab.len() * chunk * layout.pitch()];
        let [sums, packed] = workspace.take(lens, cap.saturating_sub(self.scratch_bytes(slab.lanes)))?;
        clear(sums);
        clear(packed);
        for first in (0..self.geometry.views()).step_by(chunk) {
            let views = first..self.geometry.views().min(first + chunk);
            job.enter(if self.filter.is_some() { Stage::Filter } else { self.stage });
            self.pack(call, slab, views.clone(), chunk, packed)?;
            job.enter(self.stage);
            sums.par_chunks_mut(tiles.floats()).enumerate().try_for_each_init(Terms::default, |terms, (k, sums)| {
                job.check()?;
                let (group, tile) = (k / tiles.count(), tiles.tile(k % tiles.count()));
                let rows = &packed[group * chunk * layout.pitch()..][..chunk * layout.pitch()];
                let chunk = Chunk { layout, views: views.clone(), rows };
                self.sum_tile(context.level(), &chunk, &tile, terms, sums)?;
                let share = slab.slices(group).len() as f64 / self.geometry.slices as f64;
                let area = (tile.rows * tile.columns) as f64 / (self.geometry.ny * self.geometry.nx) as f64;
                job.advance(share * area * views.len() as f64 / self.geometry.views() as f64);
                Ok(())
            })?;
        }
        job.check()?;
        self.write(call, slab, &tiles, sums);
        Ok(())
    }
}

/// One group's packed rows of some views.
pub(super) struct Chunk<'a> {
    pub(super) layout: RowLayout,
    pub(super) views: std::ops::Range<usize>,
    pub(super) rows: &'a [f32],
}

/// A thread's working memory while packing.
struct PackScratch {
    /// Rows of two views, as `[slice][sample]`.
    rows: [Buffer; 2],
    bins: [Buffer; 2],
    filter: Option<Scratch>,
}

impl PackScratch {
    fn new(gather: &Gather, lanes: usize) -> Result<Self> {
        let rows = || Buffer::zeroed(lanes * gather.samples);
        let bins = || Buffer::zeroed(if gather.oversampled { gather.geometry.bins } else { 0 });
        let filter = gather.filter.as_ref().map(RowFilter::scratch).transpose()?;
        Ok(Self { rows: [rows()?, rows()?], bins: [bins()?, bins()?], filter })
    }

    fn bytes(gather: &Gather, lanes: usize) -> u64 {
        let rows = 8 * (lanes * gather.samples + gather.geometry.bins) as u64;
        rows + gather.filter.as_ref().map_or(0, |_| RowFilter::scratch_bytes(gather.geometry.bins))
    }
}
