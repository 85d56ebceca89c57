//! BSREM and SVRG: steps up the log-likelihood less a prior, by gradients of subsets of views.
//!
//! A step is `f = max(f + lambda (f + floor) / (S + 2 f h) g, 0)`, S the sensitivity of all views, h the prior's second derivatives by the voxel itself (M. J.
//! Ehrhardt et al., arXiv:2506.04976). BSREM (A. R. De Pierro, M. E. B. Yamagishi, IEEE Trans. Med. Imag. 20(4), 2001; S. Ahn,
//! J. A. Fessler, IEEE Trans. Med. Imag. 22(5), 2003) takes for g that of one subset times their number, and ever smaller lambda. SVRG (R. Johnson, T. Zhang, NIPS 26, 2013) corrects it by
//! what the subset's gradient was for an earlier image, the anchor, for which the gradient of all views is known. The first pass from a uniform image is OSEM's.

use super::engine::{Ascent, Engine, Progress, Ratio, Tally};
use super::prior::Placed;
use super::solve::{Algorithm, Iteration, Solve};
use isocenter_base::context::Context;
use isocenter_base::error::Result;

/// By which factor a step along the gradient of some views changes a voxel at most: single counts, of which there may be none in the other views, would make it far too large, or 0.
const LIMIT: f32 = 2.0;
/// The same in the first pass, which has far to go.
const BEGIN_LIMIT: f32 = 30.0;
/// Objectives that differ by less, as parts of themselves and the counts, are the same but for rounding.
const ROUNDING: f64 = 1e-5;
/// Passes by subsets before an anchor is set again.
const BETWEEN_ANCHORS: usize = 2;
/// The floor of steps, of the uniform image that explains the counts.
pub(super) const FLOOR: f32 = 1e-4;

/// Subsets where the caller leaves them open: of five views each, or three of SVRG, which is not hurt by what subsets differ in.
pub(super) fn default_subsets(algorithm: Algorithm, views: usize) -> usize {
    let (each, most) = if algorithm == Algorithm::Svrg { (3, 40) } else { (5, 24) };
    (views / each).clamp(1, most)
}

/// What is known of an earlier image.
struct Anchor<V> {
    image: V,
    /// Gradient of all views.
    total: V,
    groups: Gradients<V>,
    /// What steps by subsets are over: sensitivity, and what a group's gradient, times their number, adds to it.
    over: V,
    /// Log-likelihood less the prior's value.
    objective: f64,
    /// Passes since.
    age: usize,
}

/// Of the anchor's groups of subsets.
enum Gradients<V> {
    All(Vec<V>),
    /// Where memory is short: computed again when they are needed, in this room.
    Again(V),
}

/// What a pass works on: the image, and room for ratios.
pub(super) type Volumes<'a, V> = (&'a mut V, &'a mut V);

/// What a pass asks of the reconstruction that it is part of.
pub(super) struct Course<'a, 'd, E: Engine> {
    pub(super) data: &'a E::Data<'d>,
    pub(super) solve: &'a Solve,
    pub(super) progress: Progress<'a>,
}

/// The state between passes.
pub(super) struct Climb<E: Engine> {
    subsets: Vec<Vec<usize>>,
    /// Subsets that are taken together.
    groups: Vec<Vec<usize>>,
    counts: f64,
    /// Part of a step along the gradient of some views: halved whenever it has led down.
    part: f32,
    sensitivity: E::Volume,
    prior: Option<Placed<E::Volume>>,
    /// Of a subset.
    gradient: E::Volume,
    /// Slope and curvature of the prior.
    slopes: Option<[E::Volume; 2]>,
    floor: f32,
    /// Whether the last pass was the first from a uniform image.
    begun: bool,
    /// Of SVRG.
    anchor: Option<Anchor<E::Volume>>,
    /// Whether there is room for all subsets' gradients.
    keeps: bool,
    /// What the present pass saw, if it was taken from the engine.
    tally: Tally,
}

impl<E: Engine> Climb<E> {
    pub(super) fn new(
        e: &mut E,
        solve: &Solve,
        (sensitivity, prior): (E::Volume, Option<Placed<E::Volume>>),
        (counts, floor): (f64, f32),
        (context, data): (&Context, &E::Data<'_>),
    ) -> Result<Self> {
        let groups = solve.groups(counts, e.scan().lattice.voxels());
        let slopes = match &prior {
            Some(_) => Some([e.zeros()?, e.zeros()?]),
            None => None,
        };
        Ok(Self {
            subsets: solve.parts(),
            gradient: e.zeros()?,
            keeps: e.spare(context, data, solve.volumes())? >= groups.len(),
            groups,
            counts,
            part: 1.0,
            sensitivity,
            slopes,
            prior,
            floor,
            begun: false,
            anchor: None,
            tally: Tally::default(),
        })
    }

    /// The prior's value at an image.
    pub(super) fn penalty(&self, e: &mut E, image: &E::Volume) -> Result<f64> {
        self.prior.as_ref().map_or(Ok(0.0), |prior| e.penalty(prior, image))
    }

    /// How large the steps of the last pass were beside those of the options.
    pub(super) fn part(&self) -> f64 {
        f64::from(self.part)
    }

    /// Whether the last pass went by subsets, all the way to what is asked for; otherwise it began, or was one step.
    pub(super) fn went_by_subsets(&self) -> bool {
        !self.begun && self.anchor.as_ref().is_none_or(|anchor| anchor.age > 0)
    }

    /// What the last pass saw.
    pub(super) fn tally(&mut self, e: &mut E) -> Result<Tally> {
        Ok(std::mem::take(&mut self.tally) + e.tally()?)
    }

    /// One pass over all views; says the prior's value at the image that it begins with.
    pub(super) fn pass(
        &mut self,
        e: &mut E,
        at: Volumes<E::Volume>,
        (pass, told): (usize, &mut Iteration),
        course: Course<E>,
    ) -> Result<()> {
        told.penalty = self.penalty(e, at.0)?;
        let solve = course.solve;
        let step = (solve.relaxation / (1.0 + solve.decay * pass as f64)) as f32;
        self.begun = pass == 0 && !solve.warm;
        let is_due = self.anchor.as_ref().is_none_or(|anchor| anchor.age == BETWEEN_ANCHORS);
        if self.begun {
            self.begin(e, at, step, course)
        } else if solve.algorithm == Algorithm::Svrg && is_due {
            self.set_anchor(e, at, (step, told.penalty), course)
        } else {
            self.go_by_subsets(e, at, (pass, step), course)
        }
    }

    /// From a uniform image to what the counts say, two groups at a time: a prior that is strong beside the counts of a voxel would take many steps there, and smooths the
    /// noise that this makes in few.
    fn begin(&mut self, e: &mut E, (image, ratio): Volumes<E::Volume>, step: f32, course: Course<E>) -> Result<()> {
        let Course { data, solve, progress } = course;
        let order = solve.shuffled((0..self.groups.len()).collect(), 0);
        let told = &mut |views: f64| progress(views / solve.order.len() as f64);
        for pair in order.chunks(2) {
            e.fill(&mut self.gradient, 0.0)?;
            for s in pair.iter().flat_map(|group| &self.groups[*group]) {
                let views = &self.subsets[*s];
                e.add_ratios(views, data, Ratio::Discrepancy, (image, ratio, &mut self.gradient), told)?;
            }
            let ascent = Ascent { times: order.len() as f32 / pair.len() as f32, ..self.ascent(step) };
            let limit = if pair.len() < order.len() { BEGIN_LIMIT } else { f32::INFINITY };
            e.ascend(image, &Ascent { prior: None, limit, ..ascent })?;
        }
        Ok(())
    }

    fn go_by_subsets(
        &mut self,
        e: &mut E,
        (image, ratio): Volumes<E::Volume>,
        (pass, step): (usize, f32),
        course: Course<E>,
    ) -> Result<()> {
        let Course { data, solve, progress } = course;
        let times = self.groups.len() as f32;
        for g in solve.shuffled((0..self.groups.len()).collect(), pass) {
            e.fill(&mut self.gradient, 0.0)?;
            let told = &mut |views: f64| progress(views / solve.order.len() as f64);
            for s in &self.groups[g] {
                let views = &self.subsets[*s];
                e.add_ratios(views, data, Ratio::Discrepancy, (image, ratio, &mut self.gradient), told)?;
            }
            if let Some(Anchor { image: earlier, groups: Gradients::Again(again), .. }) = &mut self.anchor {
                self.tally = self.tally + e.tally()?;
                e.fill(again, 0.0)?;
                for s in &self.groups[g] {
                    let views = &self.subsets[*s];
                    e.add_ratios(views, data, Ratio::Discrepancy, (earlier, ratio, again), &mut |_| progress(0.0))?;
                }
                // Of the earlier image, and told then.
                e.tally()?;
            }
            self.slope(e, image)?;
            let anchor = self.anchor.as_ref().map(|Anchor { image, total, groups, .. }| match groups {
                Gradients::All(all) => [&all[g], total, image],
                Gradients::Again(again) => [again, total, image],
            });
            let limit = if times > 1.0 { LIMIT } else { f32::INFINITY };
            let ascent = self.ascent(self.part * step);
            let sensitivity = self.anchor.as_ref().map_or(ascent.sensitivity, |anchor| &anchor.over);
            e.ascend(image, &Ascent { times, anchor, limit, sensitivity, ..ascent })?;
        }
        if let Some(anchor) = &mut self.anchor {
            anchor.age += 1;
        }
        Ok(())
    }

    /// Finds the gradient of all views, and takes a step along it. Where the objective is lower than at the anchor before, steps were too long.
    fn set_anchor(
        &mut self,
        e: &mut E,
        at: Volumes<E::Volume>,
        (step, penalty): (f32, f64),
        course: Course<E>,
    ) -> Result<()> {
        let ((image, ratio), Course { data, solve, progress }) = (at, course);
        let mut anchor = match self.anchor.take() {
            Some(anchor) => anchor,
            None => Anchor {
                image: e.zeros()?,
                total: e.zeros()?,
                groups: self.room(e)?,
                over: e.zeros()?,
                objective: f64::NEG_INFINITY,
                age: 0,
            },
        };
        e.fill(&mut anchor.total, 0.0)?;
        let told = &mut |views: f64| progress(views / solve.order.len() as f64);
        e.fill(&mut anchor.over, 0.0)?;
        for (g, group) in self.groups.iter().enumerate() {
            let gradient = match &mut anchor.groups {
                Gradients::All(kept) => &mut kept[g],
                Gradients::Again(room) => room,
            };
            e.fill(gradient, 0.0)?;
            for s in group {
                e.add_ratios(&self.subsets[*s], data, Ratio::Discrepancy, (image, ratio, gradient), told)?;
            }
            e.add(&mut anchor.total, gradient)?;
            e.raise(&mut anchor.over, gradient, self.groups.len() as f32)?;
        }
        e.add(&mut anchor.over, &self.sensitivity)?;
        self.tally = self.tally + e.tally()?;
        let objective = self.tally.log_likelihood - penalty;
        if objective < anchor.objective - ROUNDING * (self.counts + objective.abs()) {
            self.part *= 0.5;
        }
        e.fill(&mut anchor.image, 0.0)?;
        e.add(&mut anchor.image, image)?;
        self.slope(e, image)?;
        e.ascend(image, &Ascent { gradient: &anchor.total, ..self.ascent(step) })?;
        self.anchor = Some(Anchor { age: 0, objective, ..anchor });
        Ok(())
    }

    fn room(&self, e: &mut E) -> Result<Gradients<E::Volume>> {
        if !self.keeps {
            return Ok(Gradients::Again(e.zeros()?));
        }
        Ok(Gradients::All(self.groups.iter().map(|_| e.zeros()).collect::<Result<_>>()?))
    }

    /// Along the gradient as it is.
    fn ascent(&self, step: f32) -> Ascent<'_, E::Volume> {
        Ascent {
            gradient: &self.gradient,
            times: 1.0,
            anchor: None,
            prior: self.slopes.as_ref().map(|[slope, curvature]| [slope, curvature]),
            sensitivity: &self.sensitivity,
            step,
            floor: self.floor,
            limit: f32::INFINITY,
        }
    }

    /// Of the prior at an image.
    fn slope(&mut self, e: &mut E, image: &E::Volume) -> Result<()> {
        match (&self.prior, &mut self.slopes) {
            (Some(prior), Some([slope, curvature])) => e.slopes(prior, image, [slope, curvature]),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
#[path = "climb_tests.rs"]
pub(crate) mod tests;
