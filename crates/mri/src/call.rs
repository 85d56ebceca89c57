//! The work of a call, on any engine: on one scan, on one frame, or on all frames together.

use super::convolutions::{fitting, tell_of_pairs};
use super::engine::{Engine, Solve, Vector};
use super::frames::{Frames, with_side};
use super::normal::{Scratch, normal};
use super::parts::Part;
use super::penalty::Solver;
use super::solver::{self, Solution, finite};
use super::transform::Fourier;
use isocenter_base::array::Array;
use isocenter_base::context::{Context, Job, NanPolicy, Stage};
use isocenter_base::cpu::buffer::reserved;
use isocenter_base::error::{Result, Status};
use isocenter_solve::Vectors;

/// A transform, or what is made of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encode {
    Forward,
    Adjoint,
    Gridding,
}

/// Images to begin with.
pub(super) fn read_start<E: Engine>(engine: &mut E, images: &Array<4>, policy: NanPolicy) -> Result<Vector<E>> {
    engine.read(images, "image", policy)
}

/// What a call has all along.
pub(super) struct Call<'a> {
    pub(super) context: &'a Context,
    pub(super) fourier: &'a Fourier,
    pub(super) job: &'a Job,
}

/// Of one scan, or of one frame; `share`: its part of the whole job.
impl Call<'_> {
    pub(super) fn check<E: Engine>(&self, e: &mut E, solve: &Solve) -> Result<()> {
        e.check_memory(self.context, self.fourier, solve)
    }

    pub(super) fn encode<E: Engine>(
        &self,
        e: &mut E,
        mut source: Vector<E>,
        what: Encode,
        share: f64,
    ) -> Result<Vector<E>> {
        e.prepare(self.fourier)?;
        let (images, samples) = (e.scan().problems() * e.scan().unknowns(), e.scan().coils * e.scan().samples());
        let mut out = e.vectors().uninitialised(if what == Encode::Forward { samples } else { images })?;
        let mut progress = portion(self.job, share);
        self.job.enter(if what == Encode::Forward { Stage::Forward } else { Stage::Adjoint });
        if what == Encode::Gridding {
            e.weigh(&mut source)?;
        }
        match what {
            Encode::Forward => e.forward(&source, &mut out, &mut progress)?,
            Encode::Adjoint | Encode::Gridding => e.adjoint(&source, &mut out, &mut progress)?,
        }
        if what == Encode::Gridding {
            finite(e, &out, "samples")?;
        }
        Ok(out)
    }

    pub(super) fn normal<E: Engine>(
        &self,
        e: &mut E,
        source: &Vector<E>,
        solve: &Solve,
        share: f64,
    ) -> Result<Vector<E>> {
        let job = self.job;
        if solve.toeplitz {
            e.prepare_q(self.fourier, job)?
        } else {
            e.prepare(self.fourier)?
        }
        job.enter(Stage::Normal);
        let (unknowns, count) = (e.scan().unknowns(), e.scan().problems());
        let mut result = e.vectors().uninitialised(count * unknowns)?;
        let mut scratch = Scratch::new(e, solve, None)?;
        if count == 1 {
            normal(e, source, &mut result, &mut scratch, solve, job)?;
            return Ok(result);
        }
        let (mut image, mut product) = (e.vectors().uninitialised(unknowns)?, e.vectors().uninitialised(unknowns)?);
        for k in 0..count {
            e.vectors().copy((source, k * unknowns), (&mut image, 0), unknowns)?;
            normal(e, &image, &mut product, &mut scratch, solve, job)?;
            e.vectors().copy((&product, 0), (&mut result, k * unknowns), unknowns)?;
            job.advance(share / count as f64);
        }
        Ok(result)
    }

    pub(super) fn reconstruct<E: Engine>(
        &self,
        e: &mut E,
        mut data: Vector<E>,
        start: Option<&Vector<E>>,
        solve: &Solve,
        (solutions, share): (&mut Vec<Solution>, f64),
    ) -> Result<Vector<E>> {
        let job = self.job;
        e.prepare(self.fourier)?;
        if solve.toeplitz {
            e.prepare_q(self.fourier, job)?;
        }
        let (unknowns, count) = (e.scan().unknowns(), e.scan().problems());
        job.enter(Stage::Adjoint);
        let squares = squares(e, &data, solve)?;
        e.weigh(&mut data)?;
        let mut right = e.vectors().uninitialised(count * unknowns)?;
        e.adjoint(&data, &mut right, &mut |_| job.check())?;
        drop(data);
        self.solve_each(e, (right, squares), start, solve, (solutions, share))
    }

    /// The solutions that belong to right-hand sides `[problem]`, whose place they take; of these the data's squares.
    pub(super) fn solve_each<E: Engine>(
        &self,
        e: &mut E,
        (mut result, squares): (Vector<E>, Vec<f64>),
        start: Option<&Vector<E>>,
        solve: &Solve,
        (solutions, share): (&mut Vec<Solution>, f64),
    ) -> Result<Vector<E>> {
        let (unknowns, count) = (e.scan().unknowns(), e.scan().problems());
        let mut right = e.vectors().uninitialised(unknowns)?;
        for (k, square) in squares.into_iter().enumerate() {
            let mut image = e.vectors().zeros(unknowns)?;
            if let Some(start) = start {
                e.vectors().copy((start, k * unknowns), (&mut image, 0), unknowns)?;
            }
            e.vectors().copy((&result, k * unknowns), (&mut right, 0), unknowns)?;
            let part = (self.job, share / count as f64);
            solutions.push(solver::solve(e, &mut right, &mut image, square, solve, None, part)?);
            e.vectors().copy((&image, 0), (&mut result, k * unknowns), unknowns)?;
        }
        Ok(result)
    }
}

/// Of all frames together.
impl Call<'_> {
    /// Settings for all frames at once, for which there is memory; see [`fitting`].
    pub(super) fn fit_frames<E: Engine>(&self, e: &mut E, frames: &Frames, solve: &Solve) -> Result<Solve> {
        let Self { context, fourier, .. } = self;
        let together = frames.together(e, fourier, solve)?;
        let mut side = frames.side(e, frames.longest())?;
        let fitted = with_side(e, &mut side, |e| fitting(e, context, fourier, &Solve { or_pairs: false, ..together }));
        match fitted {
            Err(error) if solve.or_pairs && error.status == Status::MemoryCap => {
                tell_of_pairs(context, &error);
                self.fit_frames(e, frames, &Solve { toeplitz: false, or_pairs: false, ..*solve })
            }
            fitted => fitted,
        }
    }

    pub(super) fn reconstruct_frames<E: Engine>(
        &self,
        e: &mut E,
        frames: &Frames,
        mut part: impl FnMut(&mut E, usize) -> Result<Vector<E>>,
        start: Option<&Vector<E>>,
        solve: &Solve,
        solutions: &mut Vec<Solution>,
    ) -> Result<Vector<E>> {
        let job = self.job;
        let (unknowns, problems, count) = (e.scan().unknowns(), e.scan().problems(), frames.count());
        // Right-hand sides `[frame][problem]` first; a solution takes the place of its own.
        let mut result = e.vectors().uninitialised(count * problems * unknowns)?;
        let (mut sums, mut sides) = (vec![0.0; problems], reserved(count)?);
        frames.each(
            e,
            |e, frame, side| {
                let mut data = part(e, frame)?;
                let made = with_side(e, side, |e| {
                    e.prepare(self.fourier)?;
                    job.enter(Stage::Adjoint);
                    let of_frame = solver::data_squares(e, &data)?;
                    sums.iter_mut().zip(of_frame).for_each(|(sum, square)| *sum += square);
                    e.weigh(&mut data)?;
                    let mut made = e.vectors().uninitialised(problems * unknowns)?;
                    e.adjoint(&data, &mut made, &mut |_| job.check())?;
                    if solve.toeplitz {
                        e.drop_transform();
                        e.prepare_q(self.fourier, job)?;
                    }
                    Ok(made)
                })?;
                Part::Images.scatter(e, &made, &mut result, (frames, frame))
            },
            |side| sides.push(side),
        )?;
        drop(part);
        let (mut right, mut image) =
            (e.vectors().uninitialised(count * unknowns)?, e.vectors().zeros(count * unknowns)?);
        for (problem, square) in sums.into_iter().enumerate() {
            let place = |frame: usize| (frame * problems + problem) * unknowns;
            for frame in 0..count {
                e.vectors().copy((&result, place(frame)), (&mut right, frame * unknowns), unknowns)?;
                if let Some(start) = start {
                    e.vectors().copy((start, place(frame)), (&mut image, frame * unknowns), unknowns)?;
                }
            }
            let part = (job, 1.0 / problems as f64);
            solutions.push(solver::solve(e, &mut right, &mut image, square, solve, Some(&mut sides), part)?);
            for frame in 0..count {
                e.vectors().copy((&image, frame * unknowns), (&mut result, place(frame)), unknowns)?;
            }
            image = e.vectors().zeros(count * unknowns)?;
        }
        Ok(result)
    }
}

/// |samples|^2 in the weights' norm, by problem, for what needs it; else 0.
pub(super) fn squares<E: Engine>(e: &mut E, samples: &Vector<E>, solve: &Solve) -> Result<Vec<f64>> {
    match solve.solver {
        Solver::ConjugateGradient => Ok(vec![0.0; e.scan().problems()]),
        _ => solver::data_squares(e, samples),
    }
}

/// Progress over a part of a job.
pub(super) fn portion(job: &Job, share: f64) -> impl FnMut(f64) -> Result<()> + Send {
    let mut at = 0.0;
    move |part| {
        // Reports of several threads may overtake each other.
        if part > at {
            job.advance(share * (part - at));
            at = part;
        }
        job.check()
    }
}
