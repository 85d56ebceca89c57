//! Block RAMLA, OSEM and MLEM, on any engine.
//!
//! RAMLA with one view a block: J. Browne, A. R. De Pierro, IEEE Trans. Med. Imag. 15(5), 1996. OSEM: H. M. Hudson, R. S. Larkin,
//! IEEE Trans. Med. Imag. 13(4), 1994. MLEM: L. A. Shepp, Y. Vardi, IEEE Trans. Med. Imag. 1(2), 1982.

use super::engine::{Engine, Facts, Ratio};
use crate::context::{Context, Job, Stage};
use crate::cpu::random::{OneByOne, Random};
use crate::error::{Result, fail};

/// What is iterated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Algorithm {
    /// Row-action maximum likelihood, one view at a time.
    #[default]
    Ramla,
    /// Ordered subsets of views.
    Osem,
    /// All views at a time.
    Mlem,
}

/// The order in which views are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// Each far from the one before.
    #[default]
    Geometric,
    /// Another in every pass, by a seed.
    Random(u64),
    /// The caller's.
    Given,
}

/// How an image is found.
#[derive(Clone, Debug)]
pub(super) struct Solve {
    pub(super) algorithm: Algorithm,
    pub(super) order: Vec<usize>,
    /// Seed of random orders.
    pub(super) shuffle: Option<u64>,
    pub(super) subsets: usize,
    pub(super) iterations: usize,
    /// Passes made before.
    pub(super) first: usize,
    pub(super) relaxation: f64,
    pub(super) decay: f64,
    pub(super) warm: bool,
}

/// What a pass over the views saw.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Iteration {
    /// Sum of d ln e - e over voxels of histo-images, each view with the image as it was when the view's turn came.
    pub log_likelihood: f64,
    /// Voxels with counts where none are expected.
    pub skipped: u64,
}

impl Solve {
    /// Volumes that must be there at a time.
    pub(super) fn volumes(&self) -> usize {
        // Image and ratio; quotients' back projection and sensitivity.
        if self.algorithm == Algorithm::Ramla { 3 } else { 4 }
    }

    fn order(&self, pass: usize) -> Vec<usize> {
        let mut order = self.order.clone();
        if let Some(seed) = self.shuffle {
            let mut random = OneByOne::uniform(Random::new(seed, 0, pass as u64));
            for k in (1..order.len()).rev() {
                order.swap(k, (random.next() * (k + 1) as f64) as usize);
            }
        }
        order
    }
}

/// A uniform image that explains as many counts as were measured.
fn uniform(facts: &Facts) -> f32 {
    if facts.factors <= 0.0 {
        return 0.0;
    }
    // Where the additive part explains all, a thousandth of the counts is left to begin with.
    (((facts.measured - facts.additive).max(1e-3 * facts.measured)) / facts.factors) as f32
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
    if !solve.warm {
        e.fill(image, uniform(&facts))?;
    }
    let mut zeros = Zeros { factors: facts.factors <= 0.0, start: 0 };
    let mut ratio = e.zeros()?;
    let mut visible = e.scan().lattice.voxels() as f64;
    // Voxels that no view sees get no update that could take them to 0; a kernel of the model always sees its own voxel.
    if facts.has_zero_factor || e.scan().given.iter().any(Option::is_some) {
        let mut seen = e.zeros()?;
        for view in &solve.order {
            job.check()?;
            e.add_sensitivity(*view, data, &mut seen)?;
        }
        if solve.warm {
            visible = above_zero(e, &seen, &mut ratio)?;
        }
        e.mask(image, &seen)?;
    }
    if solve.warm && facts.measured > 0.0 {
        let begun = above_zero(e, image, &mut ratio)?;
        zeros.start = check_start(visible, begun)?;
    }
    let mut kept = Vec::new();
    if solve.algorithm != Algorithm::Ramla && solve.shuffle.is_none() && e.spare(context)? >= solve.subsets {
        kept.resize_with(solve.subsets, || None);
    }
    let share = 1.0 / solve.iterations.max(1) as f64;
    let mut progress = |part: f64| {
        job.advance(part * share);
        job.check()
    };
    for pass in solve.first..solve.first + solve.iterations {
        let order = solve.order(pass);
        match solve.algorithm {
            Algorithm::Ramla => {
                let relaxation = solve.relaxation / (1.0 + solve.decay * pass as f64);
                // H^T A is at most the largest factor, since kernels sum to 1.
                let step = if facts.largest_factor > 0.0 { relaxation / f64::from(facts.largest_factor) } else { 0.0 };
                e.ramla(&order, data, step as f32, (image, &mut ratio), &mut progress)?;
            }
            Algorithm::Osem | Algorithm::Mlem => {
                for s in 0..solve.subsets {
                    let views: Vec<usize> = order.iter().copied().skip(s).step_by(solve.subsets).collect();
                    let part = 1.0 / order.len() as f64;
                    let sensitivity = match kept.get_mut(s).and_then(Option::take) {
                        Some(sensitivity) => sensitivity,
                        None => {
                            let mut sum = e.zeros()?;
                            for view in &views {
                                progress(0.0)?;
                                e.add_sensitivity(*view, data, &mut sum)?;
                            }
                            sum
                        }
                    };
                    let mut sum = e.zeros()?;
                    for view in &views {
                        e.compare(*view, data, image, Ratio::Quotient, &mut ratio)?;
                        e.add_adjoint(*view, &ratio, &mut sum)?;
                        progress(part)?;
                    }
                    e.scale(image, &sum, &sensitivity)?;
                    if let Some(kept) = kept.get_mut(s) {
                        *kept = Some(sensitivity);
                    }
                }
            }
        }
        let tally = e.tally()?;
        history.push(Iteration { log_likelihood: tally.log_likelihood, skipped: tally.skipped });
    }
    Ok(zeros)
}
