//! Joint estimation of image and coil sensitivities from the samples alone, for scans without calibration: regularised nonlinear inversion.
//!
//! M. Uecker, T. Hohage, K. T. Block, J. Frahm, "Image reconstruction by regularized nonlinear inversion - joint estimation of coil
//! sensitivities and image content", Magn. Reson. Med. 60, 2008. Samples are products of two unknowns, image and coils; that coils are
//! smooth (`smooth`) tells one from the other. Steps are those of the iteratively regularised Gauss-Newton method (`newton`).

mod engine;
mod folds;
mod newton;
mod options;
mod smooth;

pub(crate) use engine::{Joint, Part, PartMut};
pub use options::{Joining, MAX_STEPS};
pub(crate) use smooth::Smooth;
pub use smooth::Sobolev;

use super::convolutions::fitting;
use super::engine::{Engine, Imaginary, Purpose, Solve};
use super::penalty::{Penalty, Solver};
use super::plan::{Geometry, Mri, Plan, each};
use super::solver::data_squares;
use super::transform::Fourier;
use isocenter_base::array::{Array, ArrayMut};
use isocenter_base::context::{Context, Job, Stage};
use isocenter_base::error::{Result, fail};
use isocenter_solve::history::Progress;
use isocenter_solve::{Stop, Vectors};
use newton::{Data, Found, Problem, numbers};

impl Mri {
    /// An error unless coils can be told from this plan's samples.
    fn check_joining(&self) -> Result<()> {
        let coils = self.geometry()?.coils;
        if coils < 2 {
            fail!(
                NotConfigured,
                "geometry.coils is 1: sensitivities are told from how coils differ, and one coil's is part of its image"
            );
        }
        let Plan { engine, frames, .. } = self.plan()?;
        if frames.is_some() {
            fail!(
                NotConfigured,
                "maps are those of one image, and the plan has frames: find them in a plan of one frame's samples, or of all without frames (isoc_mri_set_frames)"
            );
        }
        let (mapped, basis) =
            each!(engine, e => (e.scan().mapped, e.scan().effects.basis.is_some() && !e.scan().shots));
        if basis {
            fail!(
                NotConfigured,
                "maps are those of one image, and the plan has a basis of several: find them in a plan without (isoc_mri_set_basis)"
            );
        }
        if mapped {
            fail!(
                NotConfigured,
                "the plan has maps already: without them (isoc_mri_set_maps with NULL) others can be found"
            );
        }
        Ok(())
    }

    /// What of a solution's settings has a say here; the penalty has none.
    fn joining_settings(&self, joining: &Joining) -> Result<Solve> {
        joining.check()?;
        self.check_joining()?;
        Ok(Solve {
            stop: Stop { iterations: joining.iterations, tolerance: joining.residual },
            lambda: 0.0,
            penalty: Penalty::Identity,
            solver: Solver::ConjugateGradient,
            toeplitz: self.goes_by_q(joining.steps * joining.iterations)?,
            or_pairs: self.may_go_by_pairs(),
            warm_start: false,
            imaginary: Imaginary::Free,
            purpose: Purpose::Transform,
            frames: 1,
            besides: each!(&self.plan()?.engine, e => numbers(e.scan(), &joining.smooth(&**e))),
            holds_samples: true,
        })
    }

    /// Maximum number of bytes of working memory that [`Mri::find_maps`] needs, on the host or on the GPU that it computes on.
    pub fn maps_memory(&mut self, joining: &Joining) -> Result<u64> {
        let (solve, fourier, context) = (self.joining_settings(joining)?, self.fourier()?, self.context.clone());
        each!(&mut self.plan_mut()?.engine, e => e.within(&context, |e| e.memory(&context, &fourier, &solve)))
    }

    /// Sensitivities `[coil][z][y][x]`, and the image `[1][z][y][x]` that they belong to, from samples `[coil][m]` alone. Nothing is written
    /// unless all of it is there.
    pub fn find_maps(
        &mut self,
        samples: Array<2>,
        mut maps: ArrayMut<4>,
        mut image: Option<ArrayMut<4>>,
        joining: &Joining,
    ) -> Result<()> {
        let Geometry { coils, grid: [nz, ny, nx], .. } = *self.geometry()?;
        self.check(samples.layout(), "samples", [coils, self.samples()?])?;
        self.check(maps.layout(), "maps", [coils, nz, ny, nx])?;
        if let Some(image) = &image {
            self.check(image.layout(), "image", [1, nz, ny, nx])?;
        }
        let (solve, fourier, context) = (self.joining_settings(joining)?, self.fourier()?, self.context.clone());
        self.doubt_samples(&samples);
        let work = Work { context: &context, fourier: &fourier, solve: &solve, joining };
        let (replaced, residuals) = each!(&mut self.plan_mut()?.engine, e => e.run(&context, |e, job| {
            let Found { maps: found, image: own, residuals } = work.run(e, &samples, job)?;
            e.write(&found, &mut maps)?;
            if let Some(image) = &mut image {
                e.write(&own, image)?;
            }
            Ok((e.replaced(), residuals))
        }))?;
        self.replaced = replaced;
        self.solutions = vec![Progress { residuals, ..Progress::default() }];
        self.lambda_limit = 0.0;
        context.tell_of_replaced(replaced, samples.layout().count());
        Ok(())
    }
}

/// What a call has all along.
struct Work<'a> {
    context: &'a Context,
    fourier: &'a Fourier,
    solve: &'a Solve,
    joining: &'a Joining,
}

impl Work<'_> {
    fn run<E: Joint>(&self, e: &mut E, samples: &Array<2>, job: &Job) -> Result<Found<E>> {
        let Self { context, fourier, joining, .. } = *self;
        job.enter(Stage::Check);
        let solve = fitting(e, context, fourier, self.solve)?;
        let mut values = e.read(samples, "samples", context.nan_policy())?;
        e.verify()?;
        e.prepare(fourier)?;
        if solve.toeplitz {
            e.prepare_q(fourier, job)?;
        }
        job.enter(Stage::Adjoint);
        let square = data_squares(e, &values)?.iter().sum();
        e.weigh(&mut values)?;
        let count = e.scan().coils * e.scan().voxels();
        let mut right = e.vectors().uninitialised(count)?;
        e.adjoint(&values, &mut right, &mut |_| job.check())?;
        drop(values);
        let gain = e.scan().weights.as_ref().map_or(e.scan().samples() as f64, |w| w.iter().sum());
        job.enter(Stage::Coils);
        let smooth = joining.smooth(e);
        let mut problem = Problem::new(e, context, &smooth, &solve, job)?;
        problem.doubt(context)?;
        problem.run(&Data { right, square, gain }, joining)
    }
}
