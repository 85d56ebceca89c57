//! Vectors of some slices in the processor's memory, and what methods do to them.

use super::changes::{
    Add, Beyond, Blend, Conjugate, Counted, Descend, Difference, Distance, Inner, Multiply, Oppose, Ratio, Relax,
    Residual, Slope, Times, Transmission, Turn,
};
use super::factors::Factors;
use super::fista::Gradient;
use super::pairs::Pairs;
use super::pointwise::{Change, Group, change};
use super::resident::Kept;
use super::rings::Bins;
use super::smooth;
use super::variation::{Deep, Plane};
use crate::cpu::toeplitz::Product;
use crate::geometry::Geometry;
use crate::iterative::Iteration;
use crate::iterative::history::Iterated;
use crate::iterative::norms::Norms;
use crate::iterative::space::{
    Bound, DATA, Dual, Excess, Fields, Hasten, Image, Limit, Offsets, Penalty, Primal, Rows, Shift, Space, Sum,
};
use isocenter_base::context::{Context, Job};
use isocenter_base::cpu::buffer::{collected, copied};
use isocenter_base::error::{Result, fail};

/// A slab's vectors.
pub(super) struct Resident<'s> {
    pub(super) at_work: (&'s Context, &'s Job),
    pub(super) iteration: &'s Iteration<'s>,
    pub(super) geometry: &'s Geometry,
    pub(super) first: usize,
    /// Those of the slab, and of the whole volume.
    pub(super) slices: (usize, usize),
    pub(super) pairs: &'s Pairs<'s>,
    pub(super) convolution: Option<Product<'s>>,
    pub(super) kept: Kept,
    pub(super) factors: Factors,
    pub(super) images: Vec<&'s mut [f32]>,
    pub(super) rows: Vec<&'s mut [f32]>,
    pub(super) offsets: Vec<&'s mut [f32]>,
    pub(super) packed: &'s mut [f32],
    /// Sum after sum, each of all lanes.
    pub(super) sums: Vec<f64>,
    pub(super) running: Vec<bool>,
    /// What iterations found.
    pub(super) found: Vec<Iterated>,
    /// A part of vectors, as they were: see [`Resident::moved`].
    pub(super) before: Vec<(Moving, Vec<f32>)>,
}

/// Elements of which one is watched.
pub(super) const WATCHED: usize = 8;

/// A vector that is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Moving {
    Image(usize),
    Rows(usize),
}

/// The rows of one subset, or a whole vector, of each group: from where, and how many floats.
type Extent = (usize, usize);

/// Images of fields.
type Taken<'s> = ([&'s mut [f32]; 2], Deep<&'s mut [f32]>);

impl<'s> Resident<'s> {
    fn lanes(&self) -> usize {
        self.kept.groups * self.kept.lanes
    }

    fn sum(&self, sum: Sum) -> &[f64] {
        &self.sums[sum.0 * self.lanes()..][..self.lanes()]
    }

    fn sum_mut(&mut self, sum: Sum) -> &mut [f64] {
        let lanes = self.lanes();
        &mut self.sums[sum.0 * lanes..][..lanes]
    }

    /// Of each lane: over / under, 0 where that is no number or the slice has ended.
    fn quotients(&self, [over, under]: [Sum; 2], sign: f64) -> Vec<f32> {
        let pairs = self.sum(over).iter().zip(self.sum(under)).enumerate();
        let one = |(k, (a, b)): (usize, (&f64, &f64))| {
            let runs = self.running.get(k).is_some_and(|runs| *runs);
            if runs && *b > 0.0 { (sign * a / b) as f32 } else { 0.0 }
        };
        pairs.map(one).collect()
    }

    /// A number of each lane.
    fn factors_of(&self, sum: Sum) -> Vec<f32> {
        self.sum(sum).iter().map(|v| *v as f32).collect()
    }

    /// Rows times others.
    fn times(&mut self, rows: [Rows; 2]) -> Result<()> {
        self.change_rows(rows, ((0, self.kept.samples), false), self.ones(), None, Times)
    }

    /// Fills the roots of rays' weights, and multiplies the data by them.
    pub(super) fn weigh_data(&mut self) -> Result<()> {
        let Some([roots, _]) = self.iteration.weights() else { return Ok(()) };
        let (kept, g) = (self.kept, self.geometry);
        match self.iteration.given {
            None => {
                self.change_rows([roots, DATA], ((0, kept.samples), false), self.ones(), None, Transmission)?;
                // What is beside the bins is no ray's.
                let bins = kept.row.pad * kept.lanes..(kept.row.pad + g.bins) * kept.lanes;
                for row in self.rows[roots.0].chunks_exact_mut(kept.row.floats) {
                    row[..bins.start].fill(0.0);
                    row[bins.end..].fill(0.0);
                }
            }
            Some(given) => {
                for (k, row) in self.rows[roots.0].chunks_exact_mut(kept.row.floats).enumerate() {
                    let bins = &mut row[kept.row.pad * kept.lanes..][..g.bins * kept.lanes];
                    let own = &given.roots[k % g.views() * g.bins..][..g.bins];
                    bins.chunks_exact_mut(kept.lanes).zip(own).for_each(|(lanes, root)| lanes.fill(*root));
                }
            }
        }
        self.times([DATA, roots])
    }

    fn plane(&self) -> Plane {
        let Geometry { nx, ny, .. } = *self.geometry;
        Plane { level: self.at_work.0.level(), nx, ny, lanes: self.kept.lanes, slices: self.slices.0 }
    }

    /// Takes the images of fields from the others, until they are put back.
    fn take_fields(&mut self, fields: Fields) -> Taken<'s> {
        let mut take = |image: Image| std::mem::take(&mut self.images[image.0]);
        (fields.plane.map(&mut take), fields.depth.map(|d| (take(d.field), d.scale)))
    }

    fn put_back(&mut self, fields: Fields, (plane, depth): Taken<'s>) {
        for (place, field) in fields.plane.into_iter().zip(plane) {
            self.images[place.0] = field;
        }
        if let Some((place, (field, _))) = fields.depth.zip(depth) {
            self.images[place.field.0] = field;
        }
    }

    fn bins(&self) -> Bins {
        let Kept { lanes, row, samples, .. } = self.kept;
        Bins { lanes, row: row.floats, views: samples / row.floats }
    }

    /// Those of rays' weights.
    fn roots(&self) -> Option<&[f32]> {
        self.iteration.weights().map(|[roots, _]| &*self.rows[roots.0])
    }

    /// How far a vector has come since the last call, by every eighth of its elements: the sum of squares of each lane.
    fn moved(&mut self, which: Moving, sum: Sum) -> Result<()> {
        let (vector, group) = match which {
            Moving::Image(k) => (&*self.images[k], self.kept.pixels),
            Moving::Rows(k) => (&*self.rows[k], self.kept.samples),
        };
        let lanes = self.kept.lanes;
        let watched = vector.chunks_exact(group).map(|group| group.chunks_exact(lanes).step_by(WATCHED));
        let now = collected(watched.flatten().flatten().copied())?;
        let place = self.before.iter().position(|(of, _)| *of == which);
        if let Some(k) = place {
            let (before, each) = (&self.before[k].1, now.len() / self.kept.groups);
            let all = self.kept.groups * lanes;
            let sums = &mut self.sums[sum.0 * all..][..all];
            for (g, (now, before)) in now.chunks_exact(each).zip(before.chunks_exact(each)).enumerate() {
                for (e, (now, before)) in now.iter().zip(before).enumerate() {
                    sums[g * lanes + e % lanes] += f64::from(now - before).powi(2);
                }
            }
            self.before[k].1 = now;
        } else {
            self.before.push((which, now));
        }
        Ok(())
    }

    fn ones(&self) -> Vec<f32> {
        vec![1.0; self.lanes()]
    }

    /// The rows of a subset.
    fn subset(&self, subset: usize) -> Extent {
        let (views, row) = (self.pairs.views(subset), self.kept.row.floats);
        (views.start * row, views.len() * row)
    }
}

/// Changes one vector by another, group after group.
struct Work<'w, C> {
    lanes: usize,
    /// Floats of a group.
    group: usize,
    extent: Extent,
    shared: Option<&'w [f32]>,
    factors: &'w [f32],
    change: C,
}

impl<C: Change> Work<'_, C> {
    fn run(&self, context: &Context, y: &mut [f32], x: &[f32], sums: &mut [f64]) {
        let (first, len) = self.extent;
        for (k, (y, x)) in y.chunks_exact_mut(self.group).zip(x.chunks_exact(self.group)).enumerate() {
            let own = k * self.lanes..(k + 1) * self.lanes;
            let (y, x) = (&mut y[first..first + len], &x[first..first + len]);
            let (factors, sums) = (&self.factors[own.clone()], &mut sums[own]);
            change(context.level(), Group { y, x, shared: self.shared, factors, sums }, &self.change);
        }
    }
}

impl Resident<'_> {
    /// Changes rows by others.
    fn change_rows<C: Change>(
        &mut self,
        [y, x]: [Rows; 2],
        (extent, shared): (Extent, bool),
        factors: Vec<f32>,
        sum: Option<Sum>,
        change: C,
    ) -> Result<()> {
        let (lanes, group) = (self.kept.lanes, self.kept.samples);
        let Self { rows, factors: tables, sums, .. } = self;
        let shared =
            (shared && !tables.rays.is_empty()).then(|| &tables.rays[extent.0 / lanes..(extent.0 + extent.1) / lanes]);
        let mut none = Vec::new();
        let sums = place(sums, sum, factors.len(), &mut none);
        let work = Work { lanes, group, extent, shared, factors: &factors, change };
        let [y, x] = two(rows, [y.0, x.0])?;
        work.run(self.at_work.0, y, x, sums);
        Ok(())
    }

    /// Changes an image by another; `subset` has pixels' factors, `masked` the mask.
    fn change_image<C: Change>(
        &mut self,
        [y, x]: [Image; 2],
        shared: Shared,
        factors: Vec<f32>,
        sum: Option<Sum>,
        change: C,
    ) -> Result<()> {
        let (lanes, group) = (self.kept.lanes, self.kept.pixels);
        let Self { images, factors: tables, sums, .. } = self;
        let shared = match shared {
            Shared::Nothing => None,
            Shared::Mask => (!tables.mask.is_empty()).then_some(&tables.mask[..]),
            Shared::Pixels(subset) => Some(&tables.pixels[subset][..]),
        };
        let mut none = Vec::new();
        let sums = place(sums, sum, factors.len(), &mut none);
        let work = Work { lanes, group, extent: (0, group), shared, factors: &factors, change };
        let [y, x] = two(images, [y.0, x.0])?;
        work.run(self.at_work.0, y, x, sums);
        Ok(())
    }
}

/// What all slices share.
enum Shared {
    Nothing,
    Mask,
    Pixels(usize),
}

/// Where a change's sums go; `none` is for those that nobody wants.
fn place<'s>(sums: &'s mut [f64], sum: Option<Sum>, all: usize, none: &'s mut Vec<f64>) -> &'s mut [f64] {
    if let Some(sum) = sum {
        return &mut sums[sum.0 * all..][..all];
    }
    none.resize(all, 0.0);
    none
}

/// One vector to change, and another.
fn two<'v>(vectors: &'v mut [&mut [f32]], places: [usize; 2]) -> Result<[&'v mut [f32]; 2]> {
    let Ok([y, x]) = vectors.get_disjoint_mut(places) else { fail!(Internal, "no two vectors are {places:?}") };
    Ok([y, x])
}

impl Space for Resident<'_> {
    fn forward(&mut self, subset: usize, image: Image, rows: Rows) -> Result<()> {
        let Self { at_work, pairs, kept, images, packed, .. } = self;
        pairs.forward(*at_work, kept, subset, images[image.0], packed, self.rows[rows.0])?;
        match self.iteration.weights() {
            Some([roots, _]) => self.times([rows, roots]),
            None => Ok(()),
        }
    }

    fn adjoint(&mut self, subset: usize, rows: Rows, image: Image) -> Result<()> {
        let rows = match self.iteration.weights() {
            Some([roots, weighed]) => {
                let [to, from] = two(&mut self.rows, [weighed.0, rows.0])?;
                to.copy_from_slice(from);
                self.times([weighed, roots])?;
                weighed
            }
            None => rows,
        };
        let Self { at_work, pairs, kept, rows: all, packed, .. } = self;
        pairs.adjoint(*at_work, kept, subset, all[rows.0], packed, self.images[image.0])
    }

    fn convolve(&mut self, image: Image, to: Image) -> Result<()> {
        let (slices, Some(product)) = (self.kept.groups, &mut self.convolution) else {
            fail!(Internal, "a convolution that was not made")
        };
        let [to, image] = two(&mut self.images, [to.0, image.0])?;
        product.apply(self.at_work.1, image, to, slices)
    }

    fn residual(&mut self, subset: usize, data: Rows, projected: Rows, sum: Sum) -> Result<()> {
        let extent = self.subset(subset);
        self.change_rows([projected, data], (extent, true), self.ones(), Some(sum), Residual)
    }

    fn ratio(&mut self, subset: usize, data: Rows, projected: Rows, sum: Sum) -> Result<()> {
        let extent = self.subset(subset);
        self.change_rows([projected, data], (extent, true), self.ones(), Some(sum), Ratio)
    }

    fn slope(&mut self, data: Rows, projected: Rows, sum: Sum) -> Result<()> {
        let extent = (0, self.kept.samples);
        self.change_rows([projected, data], (extent, true), self.ones(), Some(sum), Slope)
    }

    fn conjugate(&mut self, rows: Rows, data: Rows, sum: Sum) -> Result<()> {
        let extent = (0, self.kept.samples);
        self.change_rows([rows, data], (extent, true), self.ones(), Some(sum), Conjugate)
    }

    fn count(&mut self, rows: Rows, projected: Rows, data: Rows, [step, relaxed]: [Sum; 2]) -> Result<()> {
        let (extent, [steps, relaxed]) = ((0, self.kept.samples), [step, relaxed].map(|sum| self.factors_of(sum)));
        self.change_rows([projected, rows], (extent, false), steps.clone(), None, Beyond)?;
        self.change_rows([projected, data], (extent, true), steps, None, Counted)?;
        self.change_rows([rows, projected], (extent, false), relaxed, None, Oppose)
    }

    fn retreat(&mut self, rows: Rows, by: Rows, quotient: [Sum; 2], sum: Sum) -> Result<()> {
        let extent = (0, self.kept.samples);
        self.change_rows([rows, by], (extent, false), self.quotients(quotient, -1.0), Some(sum), Add)
    }

    fn withdraw(&mut self, image: Image, by: Image, quotient: [Sum; 2], sum: Sum) -> Result<()> {
        self.change_image([image, by], Shared::Nothing, self.quotients(quotient, -1.0), Some(sum), Add)
    }

    fn square(&mut self, rows: Rows, sum: Sum) -> Result<()> {
        let (lanes, group) = (self.kept.lanes, self.kept.samples);
        let squares = square(self.at_work.0, self.rows[rows.0], lanes, group);
        self.sum_mut(sum).iter_mut().zip(squares).for_each(|(sum, square)| *sum += square);
        Ok(())
    }

    fn relax(&mut self, subset: usize, image: Image, by: Image, step: f32) -> Result<()> {
        let bounds = self.iteration.options.bounds.map(|b| b as f32);
        self.change_image([image, by], Shared::Pixels(subset), self.ones(), None, Relax { step, bounds })
    }

    fn join(&mut self, image: Image, by: Image) -> Result<()> {
        let bounds = self.iteration.options.bounds.map(|b| b as f32);
        self.change_image([image, by], Shared::Mask, self.ones(), None, Relax { step: 1.0, bounds })
    }

    fn multiply(&mut self, subset: usize, image: Image, by: Image) -> Result<()> {
        let bounds = self.iteration.options.bounds.map(|b| b as f32);
        self.change_image([image, by], Shared::Pixels(subset), self.ones(), None, Multiply { bounds })
    }

    fn blank(&mut self, image: Image, _: Image) -> Result<()> {
        let (lanes, group, pixels) = (self.kept.lanes, self.kept.pixels, &self.factors.pixels);
        let unmet: Vec<usize> = (0..group / lanes).filter(|e| pixels.iter().all(|of| of[*e] == 0.0)).collect();
        for group in self.images[image.0].chunks_exact_mut(group) {
            unmet.iter().for_each(|e| group[e * lanes..][..lanes].fill(0.0));
        }
        Ok(())
    }

    fn descend(&mut self, by: Image, image: Image, weight: f32, sum: Sum) -> Result<()> {
        self.change_image([by, image], Shared::Mask, vec![-weight; self.lanes()], Some(sum), Descend)
    }

    fn advance(&mut self, image: Image, by: Image, quotient: [Sum; 2]) -> Result<()> {
        self.change_image([image, by], Shared::Nothing, self.quotients(quotient, 1.0), None, Add)
    }

    fn turn(&mut self, image: Image, by: Image, quotient: [Sum; 2]) -> Result<()> {
        self.change_image([image, by], Shared::Nothing, self.quotients(quotient, 1.0), None, Turn)
    }

    fn inner(&mut self, image: Image, by: Image, sum: Sum) -> Result<()> {
        self.change_image([image, by], Shared::Nothing, self.ones(), Some(sum), Inner)
    }

    fn weigh(&mut self, image: Image, weight: f64, sum: Sum) -> Result<()> {
        let (lanes, group) = (self.kept.lanes, self.kept.pixels);
        let squares = square(self.at_work.0, self.images[image.0], lanes, group);
        self.sum_mut(sum).iter_mut().zip(squares).for_each(|(sum, square)| *sum += weight * square);
        Ok(())
    }

    fn apart(&mut self, rows: Rows, of: Rows, square: Sum, sum: Sum) -> Result<()> {
        let extent = (0, self.kept.samples);
        self.change_rows([rows, of], (extent, false), self.ones(), Some(square), Distance)?;
        self.change_rows([rows, of], (extent, false), self.ones(), Some(sum), Difference)
    }

    fn approach(&mut self, rows: Rows, by: Rows, part: Sum) -> Result<()> {
        let (extent, factors) = ((0, self.kept.samples), self.factors_of(part));
        self.change_rows([rows, by], (extent, false), factors, None, Blend)
    }

    fn approach_smoothly(&mut self, rows: Rows, by: Rows, [step, relaxed]: [Sum; 2]) -> Result<()> {
        let Some(smooth) = &self.iteration.smooth else { fail!(Internal, "smooth components that were not made") };
        let steps: Vec<[f64; 2]> = self.sum(step).iter().zip(self.sum(relaxed)).map(|(a, b)| [*a, *b]).collect();
        let part = smooth::Part::new(smooth, &steps, self.kept.lanes);
        let level = self.at_work.0.level();
        let [rows, by] = two(&mut self.rows, [rows.0, by.0])?;
        smooth::approach(level, (&self.kept, smooth), (rows, Some(by)), &part);
        Ok(())
    }

    fn blend(&mut self, image: Image, by: Image, part: Sum) -> Result<()> {
        self.change_image([image, by], Shared::Nothing, self.factors_of(part), None, Blend)
    }

    fn primal(&mut self, step: Primal) -> Result<()> {
        let bounds = self.iteration.options.bounds.map(|b| b as f32);
        let [steps, relaxed] = [step.step, step.relaxed].map(|sum| self.factors_of(sum));
        let taken = self.take_fields(step.fields);
        let fields = (taken.0.each_ref().map(|f| &**f), taken.1.as_ref().map(|(f, scale)| (&**f, *scale)));
        let base = step.base.map(|base| std::mem::take(&mut self.images[base.0]));
        let slices = self.plane();
        let parts = self.images.get_disjoint_mut([step.image.0, step.gradient.0, step.ahead.0]);
        let Ok(images) = parts else { fail!(Internal, "images that are not three") };
        let images = (images.map(|image| &mut **image), base.as_deref());
        slices.primal(self.iteration, images, fields, [&steps, &relaxed], bounds);
        self.put_back(step.fields, taken);
        if let Some((place, base)) = step.base.zip(base) {
            self.images[place.0] = base;
        }
        Ok(())
    }

    fn dual(&mut self, step: Dual) -> Result<()> {
        let [steps, relaxed] = [step.step, step.relaxed].map(|sum| self.factors_of(sum));
        let mut taken = self.take_fields(step.fields);
        let fields = (taken.0.each_mut().map(|f| &mut **f), taken.1.as_mut().map(|(f, scale)| (&mut **f, *scale)));
        let images = (&*self.images[step.ahead.0], step.base.map(|base| &*self.images[base.0]));
        self.plane().dual(images, fields, [&steps, &relaxed], step.penalty);
        self.put_back(step.fields, taken);
        Ok(())
    }

    fn polish(&mut self, back: Image, fields: [Image; 2], penalty: Penalty) -> Result<()> {
        let plane = self.plane();
        let parts = self.images.get_disjoint_mut([back.0, fields[0].0, fields[1].0]);
        let Ok([back, fx, fy]) = parts else { fail!(Internal, "images that are not three") };
        plane.polish(&self.iteration.mask, back, [fx, fy], penalty);
        Ok(())
    }

    fn bound(&mut self, bound: Bound) -> Result<()> {
        let image = |image: Image| &*self.images[image.0];
        let Fields { plane, depth } = bound.fields;
        let fields = (plane.map(image), depth.map(|d| (image(d.field), d.scale)));
        let images = ([bound.image, bound.back].map(image), bound.base.map(image));
        let found = self.plane().bound(self.iteration, images, fields, &self.factors.pixels[0], bound.penalty);
        let sums = [bound.variation, bound.duality, bound.bounds, bound.mass];
        for (k, sum) in sums.into_iter().enumerate() {
            self.sum_mut(sum).iter_mut().zip(&found).for_each(|(sum, found)| *sum += found[k]);
        }
        self.sum_mut(bound.lowest).iter_mut().zip(&found).for_each(|(sum, found)| *sum = sum.min(found[4]));
        Ok(())
    }

    fn duplicate(&mut self, from: Rows, to: Rows) -> Result<()> {
        let [to, from] = two(&mut self.rows, [to.0, from.0])?;
        to.copy_from_slice(from);
        Ok(())
    }

    fn spread(&mut self, offsets: Offsets, rows: Rows, factor: f32) -> Result<()> {
        let bins = self.bins();
        let to = std::mem::take(&mut self.rows[rows.0]);
        bins.spread(self.offsets[offsets.0], (&mut *to, self.roots()), factor);
        self.rows[rows.0] = to;
        Ok(())
    }

    fn gather(&mut self, rows: Rows, offsets: Offsets) -> Result<()> {
        let bins = self.bins();
        let to = std::mem::take(&mut self.offsets[offsets.0]);
        bins.gather((self.rows[rows.0], self.roots()), &mut *to);
        self.offsets[offsets.0] = to;
        Ok(())
    }

    fn shift(&mut self, of: Shift) -> Result<()> {
        let [steps, relaxed] = [of.step, of.relaxed].map(|sum| self.factors_of(sum));
        let bins = self.bins();
        let taken = self.offsets.get_disjoint_mut([of.offsets.0, of.gradient.0, of.ahead.0]);
        let Ok(taken) = taken else { fail!(Internal, "offsets that are not three") };
        bins.shift(taken.map(|offsets| &mut **offsets), [&steps, &relaxed], [of.part, of.weight]);
        Ok(())
    }

    fn limit(&mut self, of: Limit) -> Result<()> {
        let bins = self.bins();
        let sums = std::mem::take(&mut self.offsets[of.sums.0]);
        let mass = of.mass.map(|mass| &*self.offsets[mass.0]);
        let found = bins.limit((&*self.offsets[of.offsets.0], &mut *sums), mass, of.weight);
        self.offsets[of.sums.0] = sums;
        for (k, sum) in [of.penalty, of.duality].into_iter().enumerate() {
            self.sum_mut(sum).iter_mut().zip(&found).for_each(|(sum, found)| *sum += found[k]);
        }
        Ok(())
    }

    fn hasten(&mut self, of: Hasten) -> Result<()> {
        let [steps, parts] = [of.step, of.part].map(|sum| self.factors_of(sum));
        let plane = self.plane();
        let back = of.back.map(|back| std::mem::take(&mut self.images[back.0]));
        let base = std::mem::take(&mut self.images[of.base.0]);
        let taken = self.images.get_disjoint_mut([of.image.0, of.ahead.0, of.gradient.0]);
        let Ok([x, ahead, gradient]) = taken else { fail!(Internal, "images that are not three") };
        let gradient = Gradient { of: gradient, back: back.as_deref() };
        let turned = plane.hasten(self.iteration, ([x, ahead], base), (gradient, of.weight), [&steps, &parts]);
        self.images[of.base.0] = base;
        if let Some((place, back)) = of.back.zip(back) {
            self.images[place.0] = back;
        }
        self.sum_mut(of.turned).iter_mut().zip(turned).for_each(|(sum, turned)| *sum += turned);
        Ok(())
    }

    fn excess(&mut self, of: Excess) -> Result<()> {
        let images = [of.image, of.base, of.gradient].map(|image| &*self.images[image.0]);
        let found = self.plane().excess(self.iteration, images, of.weight);
        for (k, sum) in [of.excess, of.length].into_iter().enumerate() {
            self.sum_mut(sum).iter_mut().zip(&found).for_each(|(sum, found)| *sum += found[k]);
        }
        Ok(())
    }

    fn quicken(&mut self, momentum: Sum, turned: Sum, part: Sum) -> Result<()> {
        for k in 0..self.lanes() {
            let begins = self.sum(turned)[k] > 0.0;
            let now = if begins { 1.0 } else { self.sum(momentum)[k] };
            let next = 0.5 * (1.0 + (1.0 + 4.0 * now * now).sqrt());
            (self.sum_mut(momentum)[k], self.sum_mut(part)[k], self.sum_mut(turned)[k]) =
                (next, (now - 1.0) / next, 0.0);
        }
        Ok(())
    }

    fn image_moved(&mut self, image: Image, sum: Sum) -> Result<()> {
        self.moved(Moving::Image(image.0), sum)
    }

    fn rows_moved(&mut self, rows: Rows, sum: Sum) -> Result<()> {
        self.moved(Moving::Rows(rows.0), sum)
    }

    fn norms(&mut self) -> Result<Norms> {
        match self.factors.norms {
            Some(norms) => Ok(norms),
            None => fail!(Internal, "norms that nobody asked for"),
        }
    }

    fn read(&mut self, sum: Sum) -> Result<Vec<f64>> {
        copied(&self.sum(sum)[..self.slices.0])
    }

    fn set(&mut self, sum: Sum, values: &[f64]) -> Result<()> {
        self.sum_mut(sum)[..values.len()].copy_from_slice(values);
        Ok(())
    }

    fn running(&mut self) -> Result<Vec<bool>> {
        copied(&self.running)
    }

    fn end(&mut self, ended: &[bool]) -> Result<()> {
        self.running.iter_mut().zip(ended).for_each(|(runs, ended)| *runs &= !ended);
        Ok(())
    }

    fn tell(&mut self, found: Iterated) {
        found.say(self.at_work, self.first..self.first + self.slices.0);
        self.found.push(found);
    }

    fn clear(&mut self, sum: Sum) -> Result<()> {
        self.sum_mut(sum).fill(0.0);
        Ok(())
    }

    fn copy(&mut self, from: Sum, to: Sum) -> Result<()> {
        let lanes = self.lanes();
        self.sums.copy_within(from.0 * lanes..(from.0 + 1) * lanes, to.0 * lanes);
        Ok(())
    }

    fn lessen(&mut self, sum: Sum, [over, under]: [Sum; 2]) -> Result<()> {
        for k in 0..self.running.len() {
            let (over, under) = (self.sum(over)[k], self.sum(under)[k]);
            if self.running[k] && under > 0.0 {
                self.sum_mut(sum)[k] -= over * over / under;
            }
        }
        Ok(())
    }

    fn end_where(&mut self, sum: Sum, part: f64, of: Sum) -> Result<()> {
        for k in 0..self.running.len() {
            let (value, limit) = (self.sum(sum)[k], part * self.sum(of)[k]);
            // A gradient of 0 is the end whatever the tolerance.
            self.running[k] &= value > limit;
        }
        Ok(())
    }

    fn record(&mut self, iteration: usize, objective: Sum, factor: f64) -> Result<()> {
        let slices = self.running.iter().filter(|runs| **runs).count();
        let objective = factor * self.sum(objective)[..self.slices.0].iter().sum::<f64>();
        self.tell(Iterated { iteration, objective, gap: f64::INFINITY, slices });
        Ok(())
    }

    fn go_on(&mut self) -> Result<bool> {
        let (job, share) = (self.at_work.1, self.slices.0 as f64 / self.slices.1 as f64);
        job.advance(share / self.iteration.options.iterations as f64);
        job.check()?;
        Ok(self.running.contains(&true))
    }
}

/// The sum of squares of each lane.
fn square(context: &Context, vector: &[f32], lanes: usize, group: usize) -> Vec<f64> {
    let groups = vector.chunks_exact(group);
    groups.flat_map(|group| super::pointwise::squares(context.level(), group, lanes)).collect()
}
