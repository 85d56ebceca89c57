//! The normal operator, on any engine.

use super::engine::{Engine, Solve, Vector};
use super::frames::with_side;
use super::penalty::Penalty;
use isocenter_base::context::Job;
use isocenter_base::error::Result;
use isocenter_solve::Vectors;

/// What the normal operator needs besides its input and output.
pub(super) struct Scratch<'a, E: Engine> {
    /// Samples of one problem's coils, for pairs of transforms.
    samples: Option<Vector<E>>,
    /// An image of several, and its penalty.
    images: Option<[Vector<E>; 2]>,
    /// Of a problem whose images are of all frames.
    frames: Option<FrameParts<'a, E>>,
}

/// What belongs to frames, and the images of one, and their product.
struct FrameParts<'a, E: Engine> {
    sides: &'a mut [E::Side],
    parts: [Vector<E>; 2],
}

impl<'a, E: Engine> Scratch<'a, E> {
    /// `frames`: of a problem whose images are of all frames.
    pub(super) fn new(engine: &mut E, solve: &Solve, frames: Option<&'a mut [E::Side]>) -> Result<Self> {
        let (samples, unknowns) =
            (engine.scan().coils_per_problem() * engine.scan().samples(), engine.scan().unknowns());
        if let Some(frames) = frames {
            let parts = [engine.vectors().uninitialised(unknowns)?, engine.vectors().uninitialised(unknowns)?];
            return Ok(Self { samples: None, images: None, frames: Some(FrameParts { sides: frames, parts }) });
        }
        let (voxels, images) = (engine.scan().voxels(), engine.scan().images_per_problem());
        // Identity takes all images at once.
        let one_by_one = images > 1 && solve.lambda > 0.0 && solve.penalty != Penalty::Identity;
        Ok(Self {
            samples: if solve.toeplitz { None } else { Some(engine.vectors().uninitialised(samples)?) },
            images: match one_by_one {
                true => Some([engine.vectors().uninitialised(voxels)?, engine.vectors().uninitialised(voxels)?]),
                false => None,
            },
            frames: None,
        })
    }
}

/// out = (F^H W F + lambda R^H R) image, for one problem.
pub(super) fn normal<E: Engine>(
    engine: &mut E,
    image: &Vector<E>,
    out: &mut Vector<E>,
    scratch: &mut Scratch<'_, E>,
    solve: &Solve,
    job: &Job,
) -> Result<()> {
    normal_of_data(engine, image, out, scratch, solve, job)?;
    if solve.lambda == 0.0 {
        return Ok(());
    }
    let Some([part, penalty]) = &mut scratch.images else {
        return engine.add_penalty(solve.penalty, solve.lambda, image, out);
    };
    let voxels = engine.scan().voxels();
    for first in (0..engine.scan().unknowns()).step_by(voxels) {
        engine.vectors().copy((image, first), (part, 0), voxels)?;
        engine.vectors().copy((out, first), (penalty, 0), voxels)?;
        engine.add_penalty(solve.penalty, solve.lambda, part, penalty)?;
        engine.vectors().copy((penalty, 0), (out, first), voxels)?;
    }
    Ok(())
}

/// out = F^H W F image, for one problem.
pub(super) fn normal_of_data<E: Engine>(
    engine: &mut E,
    image: &Vector<E>,
    out: &mut Vector<E>,
    scratch: &mut Scratch<'_, E>,
    solve: &Solve,
    job: &Job,
) -> Result<()> {
    if let Some(FrameParts { sides, parts: [part, product] }) = &mut scratch.frames {
        let unknowns = engine.scan().unknowns();
        for (f, side) in sides.iter_mut().enumerate() {
            engine.vectors().copy((image, f * unknowns), (part, 0), unknowns)?;
            with_side(engine, side, |engine| {
                let mut own = Scratch::new(engine, solve, None)?;
                normal_of_data(engine, part, product, &mut own, solve, job)
            })?;
            engine.vectors().copy((product, 0), (out, f * unknowns), unknowns)?;
            job.check()?;
        }
        return Ok(());
    }
    match &mut scratch.samples {
        Some(samples) => engine.apply_pair(image, samples, out, job),
        None => engine.apply_q(image, out, job),
    }
}
