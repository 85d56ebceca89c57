//! The plan behind `isoc_mri`.

use super::cpu::engine::CpuEngine;
use super::engine::{Engine, Imaginary, Purpose, Scan, Solve};
use super::frames::Frames;
use super::gpu::engine::GpuEngine;
use super::low_rank::Blocks;
use super::penalty::{Algorithm, Penalty, Solver, Sparse};
use super::trajectory::Trajectory;
use super::transform::{Fourier, Method};
use super::wavelets::{MAX_LEVELS, Wavelet, Wavelets};
use isocenter_base::context::{Context, HostMemory, LogLevel, Part};
use isocenter_base::error::{Result, fail};
use isocenter_base::gpu::{Device, Queue};
use isocenter_nufft::toeplitz::doubled;
use isocenter_solve::Stop;
use isocenter_solve::history::Progress;
use std::sync::Arc;

/// Maximum number of voxels along an axis of an image.
pub const MAX_SIDE: usize = 1 << 16;

/// Precision of the arithmetic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Precision {
    /// f32.
    #[default]
    Single,
    /// f64.
    Double,
}

/// Image and scan.
#[derive(Clone, Debug, PartialEq)]
pub struct Geometry {
    /// Voxels along z, y, x; one along z for planes.
    pub grid: [usize; 3],
    /// Receiver coils.
    pub coils: usize,
    /// Precision of the arithmetic.
    pub precision: Precision,
}

/// How F^H W F is applied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Normal {
    /// By Q, but with a field on a GPU alone, for many products, and with voxel positions not.
    #[default]
    Auto,
    /// By Q, a multiplication on a grid of up to twice the size; with a field several of them.
    Toeplitz,
    /// By a forward and an adjoint transform.
    Pair,
}

/// How to reconstruct.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// How Fourier sums are computed.
    pub method: Method,
    /// Largest relative l2 error of fast transforms; 0 takes 1e-5 in single and 1e-9 in double precision.
    pub tolerance: f64,
    /// Of the fast transform's grid; 0 takes the fastest.
    pub upsampling: f64,
    /// How F^H W F is applied.
    pub normal: Normal,
    /// Penalty's weight.
    pub lambda: f64,
    /// What images are preferred.
    pub penalty: Penalty,
    /// What minimises.
    pub algorithm: Algorithm,
    /// Of the wavelet penalty.
    pub wavelet: Wavelet,
    /// Its levels; 0 takes as many as leave averages of 8 voxels an axis.
    pub levels: usize,
    /// Wavelets and blocks stay where they are; else their grid moves from iteration to iteration.
    pub fixed_grid: bool,
    /// Wavelets and total variation are of all images of a series together.
    pub joint: bool,
    /// Voxels along an edge of a block of the low-rank penalty; 0 for 8.
    pub block: usize,
    /// Differences shorter than this count by their square in total variation.
    pub huber: f64,
    /// Maximum number of iterations.
    pub iterations: usize,
    /// Stops at this |residual| / |right-hand side|, or |step| / |image|.
    pub residual: f64,
    /// `reconstruct` begins with the image that it is given.
    pub warm_start: bool,
    /// Weight of half the square of imaginary parts; infinite for images without them.
    pub imaginary: f64,
    /// Exact sums may use a GPU's units for sine and cosine.
    pub hardware_sines: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            method: Method::Auto,
            tolerance: 0.0,
            upsampling: 0.0,
            normal: Normal::Auto,
            lambda: 0.0,
            penalty: Penalty::Identity,
            algorithm: Algorithm::Auto,
            wavelet: Wavelet::default(),
            levels: 0,
            fixed_grid: false,
            joint: false,
            block: 0,
            huber: 0.0,
            iterations: 30,
            residual: 1e-6,
            warm_start: false,
            imaginary: 0.0,
            hardware_sines: false,
        }
    }
}

/// Of imaginary parts, at most, beside none at all: products with it stay in the range of single precision.
const MAX_WEIGHT: f64 = 1e30;

/// What a plan found and decided.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Info {
    /// The fast transform's grid along z, y, x; 0 before it was needed.
    pub fine_grid: [usize; 3],
    /// Width of its spreading function.
    pub width: usize,
    /// The grid of Q.
    pub q_grid: [usize; 3],
    /// Whether Q is there.
    pub has_q: bool,
    /// Images that `reconstruct` gives: 1 with coil maps, else one a coil.
    pub images: usize,
    /// Products that a field takes, and their relative l2 error; 0 without one, or before the transform was needed.
    pub terms: usize,
    /// The error.
    pub terms_error: f64,
    /// Convolutions that F^H W F takes with a field, and their relative l2 error; 0 without one, or before Q was needed.
    pub normal_terms: usize,
    /// The error.
    pub normal_error: f64,
    /// Values replaced in the last call that read data.
    pub replaced: u64,
    /// The weight from which on the wavelet penalty of the last `reconstruct` leaves nothing; 0 where there was none.
    pub lambda_limit: f64,
}

/// By where it computes, and in which precision.
pub(super) enum AnyEngine {
    Single(Box<CpuEngine<f32>>),
    Double(Box<CpuEngine<f64>>),
    GpuSingle(Box<GpuEngine<f32>>),
    GpuDouble(Box<GpuEngine<f64>>),
}

/// Runs an expression on the engine, whichever it is.
macro_rules! each {
    ($any:expr, $engine:ident => $body:expr) => {
        match $any {
            crate::plan::AnyEngine::Single($engine) => $body,
            crate::plan::AnyEngine::Double($engine) => $body,
            crate::plan::AnyEngine::GpuSingle($engine) => $body,
            crate::plan::AnyEngine::GpuDouble($engine) => $body,
        }
    };
}
pub(super) use each;

pub(super) struct Plan {
    pub(super) geometry: Geometry,
    pub(super) engine: AnyEngine,
    /// Of a series.
    pub(super) frames: Option<Frames>,
}

impl Plan {
    /// Images that `reconstruct` gives, `[frame][problem or set][image of a basis]`.
    fn images(&self) -> usize {
        let frames = self.frames.as_ref().map_or(1, Frames::count);
        frames * each!(&self.engine, e => e.scan().images())
    }
}

/// A plan for non-Cartesian MRI.
pub struct Mri {
    pub(super) context: Arc<Context>,
    plan: Option<Plan>,
    options: Options,
    pub(super) replaced: u64,
    pub(super) solutions: Vec<Progress>,
    pub(super) lambda_limit: f64,
    /// Of a call's work, what is under way.
    pub(super) part: Part,
    /// Of streams.
    pub(super) buffers: Vec<HostMemory>,
    stream: usize,
}

impl Mri {
    /// A plan without geometry.
    pub fn new(context: Arc<Context>) -> Self {
        Self {
            context,
            plan: None,
            options: Options::default(),
            replaced: 0,
            solutions: Vec::new(),
            lambda_limit: 0.0,
            part: Part::WHOLE,
            buffers: Vec::new(),
            stream: 0,
        }
    }

    /// GPUs whose memory arrays may be in: the one that it computes on.
    pub fn gpus(&self) -> &[Arc<Device>] {
        &self.context.gpus()[..self.context.gpus().len().min(1)]
    }

    /// Work on arrays that are on a GPU begins when all that is in this stream (a `cudaStream_t`) has been done.
    pub fn set_stream(&mut self, stream: usize) {
        self.stream = stream;
        if let Some(plan) = &mut self.plan {
            each!(&mut plan.engine, e => e.set_stream(stream));
        }
    }

    /// Sets image and trajectory, `[sample][axis]` in x, y[, z]; forgets all else but the options.
    pub fn set_geometry(&mut self, geometry: Geometry, trajectory: Trajectory) -> Result<()> {
        let Geometry { grid, coils, precision } = geometry;
        if let Some(n) = grid.iter().find(|n| !(1..=MAX_SIDE).contains(*n)) {
            fail!(OutOfRange, "an axis has {n} voxels; it must have 1 to {MAX_SIDE}");
        }
        let product = |list: &[usize]| list.iter().try_fold(16usize, |a, n| a.checked_mul(*n));
        let [nz, ny, nx] = doubled(grid);
        let samples = trajectory.samples();
        if product(&[nz, ny, nx])
            .and(product(&[coils, samples]))
            .and(product(&[coils, grid[0], grid[1], grid[2]]))
            .is_none()
        {
            fail!(SizeOverflow, "{coils} coils of {grid:?} voxels and {samples} samples are more than memory can hold");
        }
        if let Some(remark) = trajectory.suspicion() {
            self.context.log(LogLevel::Warning, || remark.to_owned());
        }
        let scan = Scan::new(grid, coils, Arc::new(trajectory));
        let (context, level) = (&self.context, self.context.level());
        let others = context.gpus().get(1..).unwrap_or_default();
        let mut engine = match (context.gpus().first(), precision) {
            (None, Precision::Single) => AnyEngine::Single(Box::new(CpuEngine::new(level, scan))),
            (None, Precision::Double) => AnyEngine::Double(Box::new(CpuEngine::new(level, scan))),
            (Some(gpu), Precision::Single) => AnyEngine::GpuSingle(Box::new(GpuEngine::on(
                self.queue(gpu, &geometry, samples)?,
                context,
                others,
                scan,
            )?)),
            (Some(gpu), Precision::Double) => AnyEngine::GpuDouble(Box::new(GpuEngine::on(
                self.queue(gpu, &geometry, samples)?,
                context,
                others,
                scan,
            )?)),
        };
        each!(&mut engine, e => e.set_stream(self.stream));
        self.plan = Some(Plan { geometry, engine, frames: None });
        self.solutions.clear();
        self.buffers.clear();
        self.lambda_limit = 0.0;
        Ok(())
    }

    /// What the plan works in on a GPU: that of the geometry before, if its memory is of the same sizes, and takes longer to get than to use.
    fn queue(&self, gpu: &Arc<Device>, geometry: &Geometry, samples: usize) -> Result<Arc<Queue>> {
        let alike = |p: &&Plan| p.geometry == *geometry && each!(&p.engine, e => e.scan().samples()) == samples;
        match self.plan.as_ref().filter(alike).map(|p| &p.engine) {
            Some(AnyEngine::GpuSingle(engine)) => Ok(engine.queue().clone()),
            Some(AnyEngine::GpuDouble(engine)) => Ok(engine.queue().clone()),
            _ => Ok(Arc::new(Queue::new(gpu)?)),
        }
    }

    pub(super) fn plan(&self) -> Result<&Plan> {
        match &self.plan {
            Some(plan) => Ok(plan),
            None => fail!(NotConfigured, "the plan has no geometry yet; isoc_mri_set_geometry comes first"),
        }
    }

    pub(super) fn plan_mut(&mut self) -> Result<&mut Plan> {
        match &mut self.plan {
            Some(plan) => Ok(plan),
            None => fail!(NotConfigured, "the plan has no geometry yet; isoc_mri_set_geometry comes first"),
        }
    }

    /// Image and scan.
    pub fn geometry(&self) -> Result<&Geometry> {
        Ok(&self.plan()?.geometry)
    }

    /// Samples of the trajectory.
    pub fn samples(&self) -> Result<usize> {
        Ok(each!(&self.plan()?.engine, e => e.scan().samples()))
    }

    /// Images of a scan: 1 with coil maps, or one a set of them, else one a coil; with a basis as many for each of its columns, and for each frame.
    pub fn images(&self) -> Result<usize> {
        Ok(self.plan()?.images())
    }

    /// Sets of coil sensitivities; 1 without any.
    pub fn sets(&self) -> Result<usize> {
        Ok(each!(&self.plan()?.engine, e => e.scan().sets))
    }

    /// Whether there are frames, or a basis.
    pub fn is_series(&self) -> Result<bool> {
        let Plan { engine, frames, .. } = self.plan()?;
        Ok(frames.is_some() || each!(engine, e => e.scan().effects.basis.is_some() && !e.scan().shots))
    }

    /// Whether samples are of shots.
    pub(super) fn has_shots(&self) -> Result<bool> {
        Ok(each!(&self.plan()?.engine, e => e.scan().shots))
    }

    pub(super) fn stream(&self) -> usize {
        self.stream
    }

    /// Axes of the trajectory.
    pub fn axes(&self) -> Result<usize> {
        Ok(each!(&self.plan()?.engine, e => e.scan().trajectory.dims()))
    }

    /// Sets options; they hold until set again, whatever the geometry.
    pub fn set_options(&mut self, options: Options) -> Result<()> {
        let Options { tolerance, upsampling, lambda, huber, residual, levels, .. } = options;
        let named = [
            ("tolerance", tolerance),
            ("upsampling", upsampling),
            ("lambda", lambda),
            ("huber", huber),
            ("residual", residual),
        ];
        for (name, v) in named {
            if !v.is_finite() {
                fail!(NotFiniteParameter, "options.{name} is {v}; it must be finite");
            }
            if v < 0.0 {
                fail!(OutOfRange, "options.{name} is {v}; it must not be negative");
            }
        }
        let imaginary = options.imaginary;
        if imaginary.is_nan() {
            fail!(NotFiniteParameter, "options.imaginary is NaN; it must be a number, or infinity for real images");
        }
        if !(0.0..=MAX_WEIGHT).contains(&imaginary) && imaginary != f64::INFINITY {
            fail!(
                OutOfRange,
                "options.imaginary is {imaginary:?}; it must be 0 to {MAX_WEIGHT:e}, or infinity for real images"
            );
        }
        if upsampling != 0.0 && !isocenter_nufft::kernel::UPSAMPLING.contains(&upsampling) {
            let (low, high) = isocenter_nufft::kernel::UPSAMPLING.into_inner();
            fail!(OutOfRange, "options.upsampling is {upsampling}; it must be {low} to {high}, or 0 for the fastest");
        }
        for (name, v) in [("tolerance", tolerance), ("residual", residual)] {
            if v >= 1.0 {
                fail!(OutOfRange, "options.{name} is {v}; it must be below 1");
            }
        }
        if levels > MAX_LEVELS {
            fail!(OutOfRange, "options.levels is {levels}; it must be 0 to {MAX_LEVELS}");
        }
        check_algorithm(&options)?;
        Blocks::new(options.block, [1; 3])?;
        let fourier = |o: &Options| (o.method, o.tolerance.to_bits(), o.upsampling.to_bits(), o.hardware_sines);
        if let Some(plan) = self.plan.as_mut().filter(|_| fourier(&options) != fourier(&self.options)) {
            each!(&mut plan.engine, e => e.forget_transform());
        }
        self.options = options;
        Ok(())
    }

    pub(super) fn fourier(&self) -> Result<Fourier> {
        let Options { method, tolerance, upsampling, hardware_sines, .. } = self.options;
        let default = if self.geometry()?.precision == Precision::Single { 1e-5 } else { 1e-9 };
        Ok(Fourier {
            method,
            tolerance: if tolerance > 0.0 { tolerance } else { default },
            upsampling: (upsampling > 0.0).then_some(upsampling),
            hardware_sines,
        })
    }

    pub(super) fn solve_settings(&self) -> Result<Solve> {
        let Options { lambda, iterations, residual, warm_start, imaginary, penalty, .. } = self.options;
        let solver = self.solver()?;
        let plan = self.plan()?;
        let (effects, matrix) = each!(&plan.engine, e => (&e.scan().effects, e.has_matrix()));
        let toeplitz = self.goes_by_q(iterations)?;
        if lambda > 0.0 && penalty == Penalty::LowRank && !self.is_series()? {
            fail!(
                NotConfigured,
                "options.penalty is 5 (low_rank), of a series: isoc_mri_set_frames, isoc_mri_set_windows or isoc_mri_set_basis comes first"
            );
        }
        if lambda > 0.0 && self.options.joint && !penalty.is_quadratic() && !self.is_series()? && self.sets()? == 1 {
            fail!(
                NotConfigured,
                "options.joint is for a series, or several sets of maps: isoc_mri_set_maps with several, isoc_mri_set_frames, isoc_mri_set_windows or isoc_mri_set_basis comes first"
            );
        }
        if lambda > 0.0 && penalty == Penalty::Matrix && !matrix {
            fail!(NotConfigured, "options.penalty is 2 (matrix); isoc_mri_set_matrix comes first");
        }
        let stop = Stop { iterations, tolerance: residual };
        let many = effects.field.is_some() || effects.basis.is_some() || plan.frames.is_some();
        let or_pairs = self.may_go_by_pairs() && many;
        Ok(Solve {
            stop,
            lambda,
            penalty,
            solver,
            toeplitz,
            or_pairs,
            warm_start,
            imaginary: Imaginary::of_weight(imaginary),
            purpose: Purpose::Solution,
            frames: 1,
            besides: 0,
            holds_samples: true,
        })
    }

    /// Whether F^H W F goes by Q, so many times.
    pub(super) fn goes_by_q(&self, times: usize) -> Result<bool> {
        each!(&self.plan()?.engine, e => match self.options.normal {
            Normal::Auto => e.prefers_q(&self.fourier()?, times),
            Normal::Toeplitz => e.scan().effects.check_convolutions().map(|()| true),
            Normal::Pair => Ok(false),
        })
    }

    /// Whether that may change where memory is short.
    pub(super) fn may_go_by_pairs(&self) -> bool {
        self.options.normal == Normal::Auto
    }

    /// What solves the problem that the options make. Without weight no penalty has an effect.
    fn solver(&self) -> Result<Solver> {
        let Options { penalty, lambda, algorithm, wavelet, levels, fixed_grid: fixed, joint, block, huber, .. } =
            self.options;
        let sparse = match penalty {
            _ if lambda == 0.0 => return Ok(Solver::ConjugateGradient),
            Penalty::Identity | Penalty::Differences | Penalty::Matrix => return Ok(Solver::ConjugateGradient),
            Penalty::Wavelets => {
                // An error here, before anything is computed.
                Wavelets::new(wavelet, levels, self.geometry()?.grid)?;
                Sparse::Wavelets { wavelet, levels, fixed, joint }
            }
            Penalty::Variation => Sparse::Variation { huber, joint },
            Penalty::LowRank => Sparse::LowRank { edge: block, fixed },
        };
        Ok(if algorithm == Algorithm::PrimalDual { Solver::PrimalDual(sparse) } else { Solver::Fista(sparse) })
    }

    /// What the plan found and decided.
    pub fn info(&self) -> Result<Info> {
        let plan = self.plan()?;
        let ((fine_grid, width), (terms, terms_error), has_q) =
            each!(&plan.engine, e => (e.fine_grid(), e.terms(), e.has_q()));
        let images = plan.images();
        let (normal_terms, normal_error) = each!(&plan.engine, e => e.normal_terms());
        let (q_grid, replaced, lambda_limit) = (self.q_grid()?, self.replaced, self.lambda_limit);
        Ok(Info {
            fine_grid,
            width,
            q_grid,
            has_q,
            images,
            terms,
            terms_error,
            normal_terms,
            normal_error,
            replaced,
            lambda_limit,
        })
    }
}

/// An error unless the algorithm is one for the penalty.
fn check_algorithm(options: &Options) -> Result<()> {
    let Options { penalty, algorithm, .. } = options;
    let serves = match algorithm {
        Algorithm::Auto => true,
        Algorithm::ConjugateGradient => penalty.is_quadratic(),
        Algorithm::Fista | Algorithm::PrimalDual => !penalty.is_quadratic(),
    };
    if !serves {
        let of = if penalty.is_quadratic() {
            "penalties 3 (wavelets), 4 (variation) and 5 (low_rank)"
        } else {
            "penalties 0 to 2"
        };
        fail!(
            OutOfRange,
            "options.algorithm is {}, which is for {of}; options.penalty is {}",
            algorithm.word(),
            penalty.word()
        );
    }
    Ok(())
}
