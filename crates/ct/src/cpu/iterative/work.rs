//! An iterative reconstruction as work on slabs.

use super::factors::Factors;
use super::pairs::Pairs;
use super::resident::Kept;
use super::space::{Resident, WATCHED};
use crate::cpu::division;
use crate::cpu::groups::{Groups, Lanes};
use crate::cpu::pack;
use crate::cpu::toeplitz::Product;
use crate::cpu::work::{Call, Work};
use crate::geometry::Geometry;
use crate::iterative::Iteration;
use crate::iterative::options::{Start, refuse_negative};
use crate::iterative::space::{DATA, X};
use crate::rows::reader::Reader;
use crate::toeplitz::Toeplitz;
use isocenter_base::context::{NanPolicy, Stage};
use isocenter_base::cpu::buffer::{Workspace, clear, collected, filled, zeros};
use isocenter_base::cpu::level::Level;
use isocenter_base::cpu::parallel::*;
use isocenter_base::error::{Result, fail};
use std::ops::Range;

/// An iterative reconstruction made ready.
pub(in crate::cpu) struct Iterate<'a> {
    geometry: &'a Geometry,
    iteration: &'a Iteration<'a>,
    threads: usize,
    pairs: Pairs<'a>,
    /// Of the convolution: bytes that it holds, and those besides while it is made.
    convolution: [u64; 2],
}

impl<'a> Iterate<'a> {
    pub(in crate::cpu) fn new(
        geometry: &'a Geometry,
        iteration: &'a Iteration,
        level: Level,
        threads: usize,
    ) -> Result<Self> {
        let pairs = Pairs::new(geometry, iteration, level, threads)?;
        let convolution = match (&iteration.convolution, iteration.band_limited) {
            (Some(_), Some(band_limited)) => Toeplitz::memory(geometry, band_limited, level)?,
            _ => [0, 0],
        };
        Ok(Self { geometry, iteration, threads, pairs, convolution })
    }

    fn bytes_of(&self, lanes: Lanes, groups: usize) -> Result<u64> {
        let g = self.geometry;
        let kept = self.pairs.kept(g, lanes, groups)?;
        let needs = self.iteration.needs();
        let vectors = needs.images * kept.image + needs.rows * kept.rows + needs.offsets * kept.offsets();
        let watched = if needs.watched { vectors.div_ceil(WATCHED) } else { 0 };
        let floats = (vectors + watched + kept.packed) as u64;
        let factors = Factors::bytes(self.iteration, g, kept.row.floats / kept.lanes);
        let product = self.iteration.doubled(g).map_or(0, |shape| Product::bytes(shape, self.threads));
        let [held, making] = self.convolution;
        let working = 4 * floats + factors + product + self.pairs.other_bytes(g, &kept, self.threads);
        Ok(held + working.max(making))
    }

    /// Reads the line integrals of a slab, subset after subset.
    fn load_rows(&self, call: &Call, slab: &Groups, kept: &Kept, rows: &mut [f32]) -> Result<()> {
        let (g, order) = (self.geometry, collected(self.iteration.subsets.order())?);
        let Kept { lanes, row, .. } = *kept;
        rows.par_chunks_exact_mut(row.floats).enumerate().try_for_each_init(
            || zeros(lanes * g.bins),
            |bins: &mut Result<Vec<f32>>, (k, to)| {
                call.job.check()?;
                let bins = bins.as_mut().map_err(|e| e.clone())?;
                let (group, view) = (k / g.views(), order[k % g.views()]);
                let slices = slab.slices(group);
                for (bins, slice) in bins.chunks_exact_mut(g.bins).zip(slices.clone()) {
                    let line = g.first_row + slab.first + slice;
                    call.input.read(view, line, bins)?;
                    if self.iteration.is_poisson() {
                        let raised = raise(bins, call.context.nan_policy(), [view, line])?;
                        call.input.count(raised);
                    }
                }
                let to = &mut to[row.pad * lanes..];
                pack::interleave(&bins[..slices.len() * g.bins], g.bins, lanes, 1.0, to);
                Ok(())
            },
        )
    }

    /// Where the iterations begin.
    fn load_start(&self, call: &Call, slab: &Groups, kept: &Kept, image: &mut [f32]) -> Result<()> {
        let (g, Kept { lanes, .. }) = (self.geometry, *kept);
        let (start, [lower, upper]) = (self.iteration.needs().start, self.iteration.bounds_of_start());
        let from = self.iteration.options.start;
        let source = call.arrays.over_target();
        let input = Reader::volume(&source, slab.first..slab.first + slab.count, call.context);
        image.par_chunks_exact_mut(g.nx * lanes).enumerate().try_for_each_init(
            || zeros(lanes * g.nx),
            |rows: &mut Result<Vec<f32>>, (k, to)| {
                let rows = rows.as_mut().map_err(|e| e.clone())?;
                let (slices, i) = (slab.slices(k / g.ny), k % g.ny);
                let inside = self.iteration.mask.inside(i);
                for (row, slice) in rows.chunks_exact_mut(g.nx).zip(slices.clone()) {
                    match from {
                        Start::Uniform => row.fill(start),
                        Start::Volume => input.read(slab.first + slice, i, row)?,
                    }
                    row[..inside.start].fill(0.0);
                    row[inside.end..].fill(0.0);
                    row[inside.clone()].iter_mut().for_each(|v| *v = v.clamp(lower, upper));
                }
                pack::interleave(&rows[..slices.len() * g.nx], g.nx, lanes, 1.0, to);
                Ok(())
            },
        )
    }

    /// Hands over the images.
    fn store(&self, call: &Call, slab: &Groups, kept: &Kept, image: &[f32]) -> Result<()> {
        let (g, Kept { lanes, .. }) = (self.geometry, *kept);
        image.par_chunks_exact(g.nx * lanes).enumerate().try_for_each_init(
            || zeros(g.nx),
            |row: &mut Result<Vec<f32>>, (k, from)| {
                let row = row.as_mut().map_err(|e| e.clone())?;
                for (lane, slice) in slab.slices(k / g.ny).enumerate() {
                    pack::extract(from, lanes, lane, 1.0, row);
                    // SAFETY: this task alone has this row of these slices.
                    unsafe { call.write_row([call.arrays.slice(slab.first + slice), k % g.ny, 0], row) };
                }
                Ok(())
            },
        )
    }
}

/// Values below 0 are an error where non-finite ones are; else they become 0, and are counted.
fn raise(bins: &mut [f32], policy: NanPolicy, [view, row]: [usize; 2]) -> Result<usize> {
    let Some(first) = bins.iter().position(|v| *v < 0.0) else { return Ok(0) };
    if policy == NanPolicy::Error {
        return refuse_negative([view, row, first]);
    }
    let negative = bins.iter_mut().filter(|v| **v < 0.0);
    Ok(negative.map(|v| *v = 0.0).count())
}

impl Work for Iterate<'_> {
    fn bytes(&self, lanes: Lanes, groups: usize) -> u64 {
        let addressable = match &self.pairs {
            Pairs::Joseph(pairs) => lanes == Lanes::Alone || pairs.kept(self.geometry, lanes, groups).addressable(),
            Pairs::Banded(_) => lanes.count() == 1,
        };
        if !addressable {
            return u64::MAX;
        }
        let groups = match self.iteration.depth {
            Some(_) => self.geometry.slices.div_ceil(lanes.count()),
            None => groups.next_multiple_of(self.unit()),
        };
        self.bytes_of(lanes, groups).unwrap_or(u64::MAX)
    }

    fn least(&self) -> u64 {
        match self.iteration.depth {
            Some(_) => self.bytes(Lanes::Alone, 1),
            None => division::least(self.geometry.slices, self),
        }
    }

    fn slab_bytes(&self, slab: &Groups, _: u64) -> u64 {
        self.bytes_of(slab.lanes, slab.len()).unwrap_or(u64::MAX)
    }

    /// Two slices are one image of the band-limited pair.
    fn unit(&self) -> usize {
        match (self.iteration.depth, self.iteration.band_limited) {
            (Some(_), _) => self.geometry.slices,
            (None, Some(_)) => 2,
            (None, None) => 1,
        }
    }

    fn tasks(&self, lanes: Lanes) -> usize {
        self.pairs.tasks(self.geometry, lanes)
    }

    fn reads_first(&self) -> bool {
        true
    }

    fn next(&self, slices: Range<usize>, cap: u64, threads: usize) -> Result<Groups> {
        if self.iteration.depth.is_some() {
            return division::together(slices, cap, self);
        }
        let (all, unit) = (slices.len(), self.unit());
        let slab = division::next((slices, self.geometry.slices), cap, threads, self)?;
        let whole = if slab.count < all { slab.count / unit * unit } else { slab.count };
        Ok(Groups { count: whole.max(unit.min(all)), ..slab })
    }

    fn run(&self, call: &Call, slab: &Groups, cap: u64, workspace: &mut Workspace) -> Result<()> {
        let (needs, kept) = (self.iteration.needs(), self.pairs.kept(self.geometry, slab.lanes, slab.len())?);
        let [images, rows, offsets] =
            [needs.images * kept.image, needs.rows * kept.rows, needs.offsets * kept.offsets()];
        let lens = [images + rows + offsets, kept.packed];
        let [vectors, packed] = workspace.take(lens, cap)?;
        clear(vectors);
        call.job.enter(Stage::Iterate);
        let row = [kept.row.floats / kept.lanes, kept.row.pad];
        let at_work = (call.context, call.job);
        let factors = Factors::new(at_work, (self.iteration, self.geometry), &self.pairs, row)?;
        let (images, others) = vectors.split_at_mut(images);
        let (rows, offsets) = others.split_at_mut(rows);
        let mut images: Vec<&mut [f32]> = images.chunks_exact_mut(kept.image).collect();
        let mut rows: Vec<&mut [f32]> = rows.chunks_exact_mut(kept.rows).collect();
        self.load_rows(call, slab, &kept, rows[DATA.0])?;
        self.load_start(call, slab, &kept, images[X.0])?;
        let convolution = match (&self.iteration.convolution, self.iteration.made()) {
            (Some(_), Some(toeplitz)) => Some(Product::new(toeplitz, call.context.level(), self.threads)?),
            (Some(_), None) => fail!(Internal, "a convolution that was not made"),
            (None, _) => None,
        };
        let mut space = Resident {
            at_work,
            iteration: self.iteration,
            geometry: self.geometry,
            first: slab.first,
            slices: (slab.count, self.geometry.slices),
            pairs: &self.pairs,
            convolution,
            kept,
            factors,
            images,
            rows,
            offsets: offsets.chunks_exact_mut(kept.offsets()).collect(),
            packed,
            sums: filled(needs.sums * kept.groups * kept.lanes, 0.0)?,
            running: filled(slab.count, true)?,
            found: Vec::new(),
            before: Vec::new(),
        };
        space.weigh_data()?;
        self.iteration.run(&mut space)?;
        call.job.check()?;
        self.iteration.history.add(std::mem::take(&mut space.found));
        self.store(call, slab, &kept, space.images[X.0])
    }
}
