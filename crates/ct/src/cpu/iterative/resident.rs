//! Joseph's pair between vectors that stay where they are: images `[group][y][x][lane]`, rows `[group][view][sample][lane]` with the zeros
//! that the adjoint reads on either side.

use crate::cpu::forward::Forward;
use crate::cpu::gather::{Chunk, Gather};
use crate::cpu::groups::Lanes;
use crate::cpu::interleaved::MAX_DISTANCE;
use crate::cpu::tiles::{Terms, Tiles};
use crate::geometry::Geometry;
use crate::iterative::subsets::Subsets;
use crate::ray::Axis;
use isocenter_base::context::{Context, Job};
use isocenter_base::cpu::parallel::*;
use isocenter_base::cpu::shared::Shared;
use isocenter_base::error::Result;

/// Rows of views that are made ready at a time, so that they stay near the cores.
const CHUNK_BYTES: usize = 24 << 20;
/// Columns that a task turns into lines: a cache line's worth of one slice.
const COLUMNS: usize = 16;

/// The pair of each subset.
pub(super) struct Joseph<'a> {
    pairs: Vec<(Forward<'a>, Gather<'a>)>,
    /// Views of the subsets before each.
    firsts: Vec<usize>,
    views: usize,
}

/// A row of a vector.
#[derive(Clone, Copy)]
pub(super) struct Row {
    /// From one to the next, in floats.
    pub(super) floats: usize,
    /// Samples before bin 0.
    pub(super) pad: usize,
}

/// Sizes of the vectors of some groups of slices, in floats.
#[derive(Clone, Copy)]
pub(super) struct Kept {
    pub(super) side: Lanes,
    /// How many they are.
    pub(super) lanes: usize,
    pub(super) groups: usize,
    /// An image of one group, and of all.
    pub(super) pixels: usize,
    pub(super) image: usize,
    pub(super) row: Row,
    /// The rows of one group, and of all.
    pub(super) samples: usize,
    pub(super) rows: usize,
    /// What the pair works in: the lines of one group, or rows of some views.
    pub(super) packed: usize,
    /// Views whose rows that holds.
    pub(super) chunk: usize,
}

impl Kept {
    /// A row of each group.
    pub(super) fn offsets(&self) -> usize {
        self.groups * self.row.floats
    }

    /// Whether 32-bit offsets reach all rows that are read at a time.
    pub(super) fn addressable(&self) -> bool {
        self.packed <= MAX_DISTANCE
    }
}

impl<'a> Joseph<'a> {
    pub(super) fn new(subsets: &'a Subsets, threads: usize) -> Result<Self> {
        let mut pairs = Vec::with_capacity(subsets.all().len());
        for subset in subsets.all() {
            pairs.push((Forward::new(&subset.geometry, threads)?, Gather::adjoint(&subset.geometry, threads)?));
        }
        // Rows of all subsets lie alike.
        let widest = pairs.iter().map(|(_, gather)| gather.reads()).max().unwrap_or(1);
        pairs.iter_mut().for_each(|(_, gather)| gather.reads_with(widest));
        let firsts: Vec<usize> = subsets.all().iter().map(|s| s.first).collect();
        let views = subsets.all().iter().map(|s| s.views.len()).sum();
        Ok(Self { pairs, firsts, views })
    }

    pub(super) fn len(&self) -> usize {
        self.pairs.len()
    }

    pub(super) fn kept(&self, g: &Geometry, side: Lanes, groups: usize) -> Kept {
        let lanes = side.count();
        let (forward, gather) = &self.pairs[0];
        let layout = gather.layout(side);
        let row = Row { floats: layout.pitch(), pad: layout.pad };
        let (pixels, samples) = (g.ny * g.nx * lanes, self.views * row.floats);
        let largest = self.pairs.iter().map(|(_, gather)| gather.scales.len()).max().unwrap_or(0);
        let chunk = (CHUNK_BYTES / 4 / row.floats).clamp(1, largest.max(1));
        let packed = forward.packed_floats(side).max(chunk * row.floats);
        Kept {
            side,
            lanes,
            groups,
            pixels,
            image: pixels * groups,
            row,
            samples,
            rows: samples * groups,
            packed,
            chunk,
        }
    }

    /// Bytes of a thread's own.
    pub(super) fn thread_bytes(g: &Geometry, lanes: Lanes) -> u64 {
        4 * (Tiles::new(g, lanes).floats() + lanes.count() * g.bins.max(g.nx)) as u64
    }

    /// Independent tasks of a group.
    pub(super) fn tasks(&self, g: &Geometry, lanes: Lanes) -> usize {
        Tiles::new(g, lanes).count()
    }

    /// Views of a subset, among those that vectors hold.
    pub(super) fn views(&self, subset: usize) -> std::ops::Range<usize> {
        let first = self.firsts[subset];
        first..first + self.pairs[subset].1.scales.len()
    }

    /// rows = A image, of one subset.
    pub(super) fn forward(
        &self,
        (context, job): (&Context, &Job),
        kept: &Kept,
        subset: usize,
        image: &[f32],
        packed: &mut [f32],
        rows: &mut [f32],
    ) -> Result<()> {
        let (forward, _) = &self.pairs[subset];
        let Kept { side, lanes, row, .. } = *kept;
        let first = self.firsts[subset];
        for (image, rows) in image.chunks_exact(kept.pixels).zip(rows.chunks_exact_mut(kept.samples)) {
            for axis in [Axis::Rows, Axis::Columns] {
                if !forward.has(axis) {
                    continue;
                }
                let lines = lines(forward, axis, side, image, packed);
                let rows = Shared::new(rows);
                forward.project((context, job), axis, (side, 1), lines, |part, scratch| {
                    for (ray, sums) in part.sums(&mut scratch.sums, side) {
                        sums.iter_mut().for_each(|s| *s *= ray.step);
                        let at = (first + ray.view) * row.floats + (row.pad + part.first) * lanes;
                        // SAFETY: this task alone has these bins of these views.
                        unsafe { rows.write(at, sums) };
                    }
                })?;
            }
        }
        Ok(())
    }

    /// image = A^T rows, of one subset.
    pub(super) fn adjoint(
        &self,
        (context, job): (&Context, &Job),
        kept: &Kept,
        subset: usize,
        rows: &[f32],
        packed: &mut [f32],
        image: &mut [f32],
    ) -> Result<()> {
        let (forward, gather) = &self.pairs[subset];
        let (g, Kept { side, lanes, row, .. }) = (forward.geometry(), *kept);
        let (layout, tiles) = (gather.layout(side), Tiles::new(g, side));
        let own = self.views(subset);
        for (image, rows) in image.chunks_exact_mut(kept.pixels).zip(rows.chunks_exact(kept.samples)) {
            let rows = &rows[own.start * row.floats..own.end * row.floats];
            let image = Shared::new(image);
            for first in (0..own.len()).step_by(kept.chunk) {
                let views = first..own.len().min(first + kept.chunk);
                let packed = &mut packed[..views.len() * row.floats];
                let from = rows[views.start * row.floats..].par_chunks_exact(row.floats);
                let scales = gather.scales[views.clone()].par_iter();
                packed.par_chunks_exact_mut(row.floats).zip(from).zip(scales).for_each(|((to, from), scale)| {
                    to.iter_mut().zip(from).for_each(|(to, from)| *to = from * scale);
                });
                let chunk = Chunk { layout, views, rows: packed };
                let room = || (Terms::default(), vec![0.0; tiles.floats()]);
                (0..tiles.count()).into_par_iter().try_for_each_init(room, |(terms, sums), k| {
                    job.check()?;
                    let tile = tiles.tile(k);
                    let floats = tile.columns * lanes;
                    // SAFETY: this task alone has these pixels.
                    let pixels = |r: usize| unsafe {
                        std::slice::from_raw_parts_mut(image.at(((tile.y + r) * g.nx + tile.x) * lanes), floats)
                    };
                    let row = |r: usize| r * tile.side * lanes..r * tile.side * lanes + floats;
                    sums.fill(0.0);
                    let goes_on = first > 0 && side != Lanes::Alone;
                    // Sums go on from what there is, as if all views were of one chunk.
                    (0..if goes_on { tile.rows } else { 0 }).for_each(|r| sums[row(r)].copy_from_slice(pixels(r)));
                    gather.sum_tile(context.level(), &chunk, &tile, terms, sums)?;
                    for r in 0..tile.rows {
                        match side {
                            Lanes::Alone => tile.single_row(sums, r, first > 0, pixels(r)),
                            Lanes::Side(_) => pixels(r).copy_from_slice(&sums[row(r)]),
                        }
                    }
                    Ok(())
                })?;
            }
        }
        Ok(())
    }
}

/// The lines of one group's image, with zeros on either side.
fn lines<'p>(forward: &Forward, axis: Axis, side: Lanes, image: &[f32], packed: &'p mut [f32]) -> &'p [f32] {
    let (layout, lanes) = (forward.layout(axis, side), side.count());
    let (samples, lines) = forward.size(axis);
    let (pitch, pad) = (layout.pitch(), layout.pad * lanes);
    let packed = &mut packed[..lines * pitch];
    let clear = |line: &mut [f32]| {
        line[..pad].fill(0.0);
        line[pad + samples * lanes..].fill(0.0);
    };
    match axis {
        Axis::Rows => {
            packed.par_chunks_exact_mut(pitch).zip(image.par_chunks_exact(samples * lanes)).for_each(|(line, row)| {
                clear(line);
                line[pad..][..row.len()].copy_from_slice(row);
            })
        }
        Axis::Columns => packed.par_chunks_mut(COLUMNS * pitch).enumerate().for_each(|(k, columns)| {
            columns.chunks_exact_mut(pitch).for_each(clear);
            let first = k * COLUMNS * lanes;
            for (i, row) in image.chunks_exact(lines * lanes).enumerate() {
                let row = row[first..].chunks_exact(lanes);
                for (column, values) in columns.chunks_exact_mut(pitch).zip(row) {
                    column[pad + i * lanes..][..lanes].copy_from_slice(values);
                }
            }
        }),
    }
    packed
}
