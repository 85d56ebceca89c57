//! Passes of RAMLA, OSEM, MLEM, BSREM and SVRG, on any engine.
//!
//! RAMLA with one view a block: J. Browne, A. R. De Pierro, IEEE Trans. Med. Imag. 15(5), 1996. OSEM: H. M. Hudson, R. S. Larkin,
//! IEEE Trans. Med. Imag. 13(4), 1994. MLEM: L. A. Shepp, Y. Vardi, IEEE Trans. Med. Imag. 1(2), 1982.

use super::climb::{Climb, Course, FLOOR, Volumes};
use super::engine::{Engine, Facts, Ratio};
use super::solve::{Algorithm, Iteration, Solve};
use super::stopping::{Change, Watch};
use isocenter_base::context::{Context, Job, Stage};
use isocenter_base::error::{Result, fail};
use std::ops::RangeInclusive;
use std::sync::Arc;

/// Counts of a voxel, and images, on average: what is expected of cold voxels is then above [`MIN_EXPECTED`](super::engine::MIN_EXPECTED), and hot ones are in the range of single precision.
const RANGE: RangeInclusive<f64> = 1e-20..=1e20;

/// A uniform image that explains as many counts as were measured.
fn uniform(facts: &Facts) -> f64 {
    if facts.factors <= 0.0 {
        return 0.0;
    }
    // Where the additive part explains all, a thousandth of the counts is left to begin with.
    (facts.measured - facts.additive).max(1e-3 * facts.measured) / facts.factors
}

/// An error where counts, or images of them, are too large or too small for single precision; `voxels` are those of all histo-images.
fn check_range(facts: &Facts, voxels: f64) -> Result<()> {
    let (counts, start) = (facts.measured / voxels, uniform(facts));
    if let Some((what, v)) = [("counts have", counts), ("an image of them has", start)]
        .into_iter()
        .find(|(_, v)| *v != 0.0 && !RANGE.contains(v))
    {
        let (low, high) = RANGE.into_inner();
        fail!(
            OutOfRange,
            "{what} {v:.1e} a voxel on average, and single precision takes {low:e} to {high:e}: multiply or divide measured and additive counts, or factors, by a power of ten"
        );
    }
    Ok(())
}

/// An error where an image, or what a pass saw of it, is not finite.
fn check_finite(values: &[f64]) -> Result<()> {
    if values.iter().all(|v| v.is_finite()) {
        return Ok(());
    }
    fail!(
        OutOfRange,
        "an image has left single precision: single counts, additive ones or the prior are too large beside the rest; divide those by a power of ten"
    )
}

/// How many voxels are above 0; `room` is for marks of them.
fn above_zero<E: Engine>(e: &mut E, volume: &E::Volume, room: &mut E::Volume) -> Result<f64> {
    e.fill(room, 1.0)?;
    e.mask(room, volume)?;
    e.sum(room)
}

/// Of voxels that views see, and of those of them that an image begins with above 0, how many remain 0, since all algorithms multiply; an
/// error if all do.
fn check_start(visible: f64, begun: f64) -> Result<u64> {
    if visible > 0.0 && begun == 0.0 {
        fail!(
            OutOfRange,
            "image is 0 everywhere; a warm start begins with it, and goes on by multiplication, which leaves 0 everywhere"
        );
    }
    Ok((visible - begun).max(0.0) as u64)
}

/// What a reconstruction was given that makes zeros of its image, for the log.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Zeros {
    /// All factors are 0.
    pub(super) factors: bool,
    /// Voxels that a warm start begins with at 0, of those that views see.
    pub(super) start: u64,
    /// The image is, though there are counts.
    pub(super) image: bool,
}

/// Between passes.
enum State<E: Engine> {
    Ramla,
    /// Subsets that are taken together, and sensitivities of these groups, as far as they are kept.
    Subsets(Vec<Vec<usize>>, Vec<Option<E::Volume>>),
    Climb(Box<Climb<E>>),
}

/// Improves the image, and says in `history` what each pass saw. Without a warm start the image is set first.
pub(super) fn reconstruct<E: Engine>(
    e: &mut E,
    (data, image): (&E::Data<'_>, &mut E::Volume),
    solve: &Solve,
    (context, job): (&Context, &Job),
    history: &mut Vec<Iteration>,
) -> Result<Zeros> {
    job.enter(Stage::Solve);
    let facts = e.facts(data);
    check_range(&facts, (e.scan().lattice.voxels() * solve.order.len()) as f64)?;
    let start = uniform(&facts) as f32;
    if !solve.warm {
        e.fill(image, start)?;
    }
    let mut zeros = Zeros { factors: facts.factors <= 0.0, ..Zeros::default() };
    let mut ratio = e.zeros()?;
    let mut visible = e.scan().lattice.voxels() as f64;
    // Voxels that no view sees get no update that could take them to 0; a kernel of the model always sees its own voxel.
    let some_unseen = facts.has_zero_factor || e.scan().given.iter().any(Option::is_some);
    let mut sensitivity = None;
    if some_unseen || solve.algorithm.climbs() {
        let mut seen = e.zeros()?;
        for view in &solve.order {
            job.check()?;
            e.add_sensitivity(*view, data, &mut seen)?;
        }
        if solve.warm {
            visible = above_zero(e, &seen, &mut ratio)?;
        }
        e.mask(image, &seen)?;
        sensitivity = Some(seen).filter(|_| solve.algorithm.climbs());
    }
    if solve.warm && !solve.algorithm.climbs() && facts.measured > 0.0 {
        let begun = above_zero(e, image, &mut ratio)?;
        zeros.start = check_start(visible, begun)?;
    }
    let mut state = match sensitivity {
        Some(seen) => {
            let mut prior = solve.prior.as_ref().map(|given| e.place(given)).transpose()?;
            if let Some(prior) = prior.as_mut().filter(|_| some_unseen) {
                // What nobody measured is no neighbour.
                let mut weights = e.zeros()?;
                match &prior.weights {
                    Some(given) => e.add(&mut weights, given)?,
                    None => e.fill(&mut weights, 1.0)?,
                }
                e.mask(&mut weights, &seen)?;
                prior.weights = Some(Arc::new(weights));
            }
            let floor = FLOOR * start;
            State::Climb(Box::new(Climb::new(e, solve, (seen, prior), (facts.measured, floor), (context, data))?))
        }
        None if solve.algorithm == Algorithm::Ramla => State::Ramla,
        None => {
            let groups = solve.groups(facts.measured, e.scan().lattice.voxels());
            let mut kept = Vec::new();
            if solve.shuffle.is_none() && e.spare(context, data, solve.volumes())? >= groups.len() {
                kept.resize_with(groups.len(), || None);
            }
            State::Subsets(groups, kept)
        }
    };
    let mut watch = Watch::new(solve.bounds, solve.regions.as_deref(), &e.scan().lattice)?;
    if let Some(watch) = &mut watch {
        watch.look(|to| e.write(image, to))?;
    }
    let share = 1.0 / solve.iterations.max(1) as f64;
    let mut progress = |part: f64| {
        job.advance(part * share);
        job.check()
    };
    for pass in solve.first..solve.first + solve.iterations {
        let mut told = Iteration::default();
        let course = Course { data, solve, progress: &mut progress };
        let tally = match &mut state {
            State::Ramla => {
                let relaxation = solve.relaxation / (1.0 + solve.decay * pass as f64);
                // H^T A is at most the largest factor, since kernels sum to 1.
                let step = if facts.largest_factor > 0.0 { relaxation / f64::from(facts.largest_factor) } else { 0.0 };
                let order = solve.shuffled(solve.order.clone(), pass);
                e.ramla(&order, data, step as f32, (image, &mut ratio), course.progress)?;
                e.tally()?
            }
            State::Subsets(groups, kept) => {
                multiply(e, (image, &mut ratio), pass, (groups, kept), course)?;
                e.tally()?
            }
            State::Climb(climb) => {
                climb.pass(e, (image, &mut ratio), (pass, &mut told), course)?;
                climb.tally(e)?
            }
        };
        (told.log_likelihood, told.skipped) = (tally.log_likelihood, tally.skipped);
        check_finite(&[told.log_likelihood, told.penalty])?;
        let mut is_done = false;
        if let Some(watch) = &mut watch {
            let change = watch.look(|to| e.write(image, to))?;
            Change { image: told.change, regions: told.region_change } = change;
            // One step changes little, however much there is to come.
            let (tells, part) = match &state {
                State::Climb(climb) => (climb.went_by_subsets(), climb.part()),
                _ => (true, 1.0),
            };
            // Nor do shorter ones.
            is_done = tells && watch.is_done(Change { image: change.image / part, regions: change.regions / part });
        }
        history.push(told);
        if is_done {
            break;
        }
    }
    let sum = e.sum(image)?;
    check_finite(&[sum])?;
    zeros.image = facts.measured > facts.additive && !zeros.factors && sum == 0.0;
    Ok(zeros)
}

/// A pass of OSEM, which with one subset is MLEM.
fn multiply<E: Engine>(
    e: &mut E,
    (image, ratio): Volumes<E::Volume>,
    pass: usize,
    (groups, kept): (&[Vec<usize>], &mut [Option<E::Volume>]),
    Course { data, solve, progress }: Course<E>,
) -> Result<()> {
    let order = solve.shuffled(solve.order.clone(), pass);
    for (g, group) in groups.iter().enumerate() {
        let parts: Vec<_> = group.iter().map(|s| solve.subset(&order, *s)).collect();
        let sensitivity = match kept.get_mut(g).and_then(Option::take) {
            Some(sensitivity) => sensitivity,
            None => {
                let mut sum = e.zeros()?;
                for view in parts.iter().flatten() {
                    progress(0.0)?;
                    e.add_sensitivity(*view, data, &mut sum)?;
                }
                sum
            }
        };
        let mut sum = e.zeros()?;
        let told = &mut |views: f64| progress(views / order.len() as f64);
        for views in &parts {
            e.add_ratios(views, data, Ratio::Quotient, (image, ratio, &mut sum), told)?;
        }
        e.scale(image, &sum, &sensitivity)?;
        if let Some(kept) = kept.get_mut(g) {
            *kept = Some(sensitivity);
        }
    }
    Ok(())
}
