//! The plan behind `isoc_mri`.

use super::array::{read, write};
use super::density::{self, Density};
use super::engine::{Engine, Solve};
use super::measures;
use super::phantom::{self, Ellipsoid};
use super::regulariser::Matrix;
pub use super::regulariser::Penalty;
use super::toeplitz::{Toeplitz, doubled};
use super::trajectory::Trajectory;
use super::transform::{Beyond, Fourier, Method};
use crate::context::{Context, Job, LogLevel, NanPolicy, Stage};
use crate::cpu::buffer::Buffer;
use crate::cpu::vector::Real;
use crate::error::{Result, fail};
use crate::krylov::Stop;
use crate::tensor::{Layout, Number};
use rustfft::num_complex::Complex;
use std::sync::Arc;

/// Longest axis of an image.
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
    /// By Q where there can be one.
    #[default]
    Auto,
    /// By Q, a multiplication on the doubled grid.
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
    /// R.
    pub penalty: Penalty,
    /// Most iterations.
    pub iterations: usize,
    /// Stops at this |residual| / |right-hand side|.
    pub residual: f64,
    /// `reconstruct` begins with the image that it is given.
    pub warm_start: bool,
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
            iterations: 30,
            residual: 1e-6,
            warm_start: false,
        }
    }
}

/// What a plan found and decided.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Info {
    /// The fast transform's grid along z, y, x; 0 before it was needed.
    pub fine_grid: [usize; 3],
    /// Width of its spreading function.
    pub width: usize,
    /// The doubled grid of Q.
    pub q_grid: [usize; 3],
    /// Whether Q is there.
    pub has_q: bool,
    /// Images that `reconstruct` gives: 1 with coil maps, else one a coil.
    pub images: usize,
    /// Values replaced in the last call that read data.
    pub replaced: u64,
}

enum AnyEngine {
    Single(Box<Engine<f32>>),
    Double(Box<Engine<f64>>),
}

/// Runs an expression on the engine of either precision.
macro_rules! each {
    ($any:expr, $engine:ident => $body:expr) => {
        match $any {
            AnyEngine::Single($engine) => $body,
            AnyEngine::Double($engine) => $body,
        }
    };
}

struct Plan {
    geometry: Geometry,
    engine: AnyEngine,
}

/// A plan for non-Cartesian MRI.
pub struct Mri {
    context: Arc<Context>,
    plan: Option<Plan>,
    options: Options,
    replaced: u64,
    histories: Vec<Vec<f64>>,
}

/// An array of the caller, dimensions slowest first.
pub type Array<const N: usize> = Layout<Number, N>;

impl Mri {
    /// A plan without geometry.
    pub fn new(context: Arc<Context>) -> Self {
        Self { context, plan: None, options: Options::default(), replaced: 0, histories: Vec::new() }
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
            self.context.log(LogLevel::Warning, || remark);
        }
        let (level, trajectory) = (self.context.level(), Arc::new(trajectory));
        let engine = match precision {
            Precision::Single => AnyEngine::Single(Box::new(Engine::new(level, grid, coils, trajectory))),
            Precision::Double => AnyEngine::Double(Box::new(Engine::new(level, grid, coils, trajectory))),
        };
        self.plan = Some(Plan { geometry, engine });
        self.histories.clear();
        Ok(())
    }

    fn plan(&self) -> Result<&Plan> {
        match &self.plan {
            Some(plan) => Ok(plan),
            None => fail!(NotConfigured, "the plan has no geometry yet; isoc_mri_set_geometry comes first"),
        }
    }

    fn plan_mut(&mut self) -> Result<&mut Plan> {
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
        Ok(each!(&self.plan()?.engine, e => e.samples()))
    }

    /// Images of a scan: 1 with coil maps, else one a coil.
    pub fn images(&self) -> Result<usize> {
        Ok(each!(&self.plan()?.engine, e => e.images()))
    }

    /// Sets options; they hold until set again, whatever the geometry.
    pub fn set_options(&mut self, options: Options) -> Result<()> {
        let Options { tolerance, upsampling, lambda, residual, .. } = options;
        let named = [("tolerance", tolerance), ("upsampling", upsampling), ("lambda", lambda), ("residual", residual)];
        for (name, v) in named {
            if !v.is_finite() {
                fail!(NotFiniteParameter, "options.{name} is {v}; it must be finite");
            }
            if v < 0.0 {
                fail!(OutOfRange, "options.{name} is {v}; it must not be negative");
            }
        }
        if upsampling != 0.0 && !crate::nufft::kernel::UPSAMPLING.contains(&upsampling) {
            let (low, high) = crate::nufft::kernel::UPSAMPLING.into_inner();
            fail!(OutOfRange, "options.upsampling is {upsampling}; it must be {low} to {high}, or 0 for the fastest");
        }
        if tolerance >= 1.0 {
            fail!(OutOfRange, "options.tolerance is {tolerance}; it must be below 1");
        }
        let fourier = |o: &Options| (o.method, o.tolerance.to_bits(), o.upsampling.to_bits());
        if let Some(plan) = self.plan.as_mut().filter(|_| fourier(&options) != fourier(&self.options)) {
            each!(&mut plan.engine, e => {
                e.forget_transform();
                e.toeplitz = None;
            });
        }
        self.options = options;
        Ok(())
    }

    fn fourier(&self, precision: Precision) -> Fourier {
        let Options { method, tolerance, upsampling, .. } = self.options;
        let default = if precision == Precision::Single { 1e-5 } else { 1e-9 };
        Fourier {
            method,
            tolerance: if tolerance > 0.0 { tolerance } else { default },
            upsampling: (upsampling > 0.0).then_some(upsampling),
        }
    }

    /// Sets density weights, one a sample; None for 1.
    ///
    /// # Safety
    /// The array is readable for the call.
    pub unsafe fn set_weights(&mut self, weights: Option<&Array<1>>) -> Result<()> {
        let policy = self.context.nan_policy();
        let mut replaced = 0;
        let values = match weights {
            // SAFETY: by this function's contract.
            Some(w) => Some(self.context.install(|| unsafe { read::<f64, 1>(w, "weights", policy, &mut replaced) })?),
            None => None,
        };
        if let Some(values) = &values {
            if let Some(m) = values.iter().position(|w| *w < 0.0) {
                fail!(OutOfRange, "weights[{m}] is {}; it must not be negative", values[m]);
            }
            if values.iter().all(|w| *w == 0.0) {
                fail!(OutOfRange, "all weights are 0; at least one must be above");
            }
        }
        self.replaced = replaced;
        self.keep_weights(values.as_deref())
    }

    fn keep_weights(&mut self, values: Option<&[f64]>) -> Result<()> {
        let plan = self.plan_mut()?;
        each!(&mut plan.engine, e => {
            e.weights = values.map(converted).transpose()?;
            e.toeplitz = None;
        });
        Ok(())
    }

    /// Finds density weights and sets them.
    pub fn compute_weights(&mut self, density: Density) -> Result<()> {
        let plan = self.plan()?;
        let Geometry { grid, precision, .. } = plan.geometry;
        // Weights need no more than a few digits.
        let fourier = Fourier { method: Method::Fast, tolerance: 1e-4, ..self.fourier(precision) };
        let level = self.context.level();
        let trajectory = each!(&plan.engine, e => e.trajectory.clone());
        let values = self.context.run(|job| {
            job.enter(Stage::Density);
            density::weights(density, &fourier, level, grid, &trajectory, &mut portion(job, 1.0))
        })?;
        self.keep_weights(Some(&values))
    }

    /// Copies the density weights out, 1 if none were set.
    ///
    /// # Safety
    /// The array is writable for the call.
    pub unsafe fn copy_weights(&self, to: &Array<1>) -> Result<()> {
        let values: Vec<f64> = each!(&self.plan()?.engine, e => match &e.weights {
            Some(w) => w.iter().map(|w| w.wide()).collect(),
            None => vec![1.0; e.samples()],
        });
        // SAFETY: by this function's contract.
        self.context.install(|| unsafe { write(&values, to) });
        Ok(())
    }

    /// Values of a trajectory, for [`Trajectory::new`].
    ///
    /// # Safety
    /// The array is readable for the call.
    pub unsafe fn read_trajectory(&self, from: &Array<2>) -> Result<Vec<f64>> {
        // SAFETY: by this function's contract.
        let values =
            self.context.install(|| unsafe { read::<f64, 2>(from, "trajectory", NanPolicy::Error, &mut 0) })?;
        Ok(values.to_vec())
    }

    /// Sets coil sensitivities `[coil][z][y][x]`; None for none.
    ///
    /// # Safety
    /// The array is readable for the call.
    pub unsafe fn set_maps(&mut self, maps: Option<&Array<4>>) -> Result<()> {
        let (context, mut replaced) = (self.context.clone(), 0);
        let plan = self.plan_mut()?;
        each!(&mut plan.engine, e => {
            e.maps = match maps {
                // SAFETY: by this function's contract.
                Some(m) => Some(context.install(|| unsafe { read(m, "maps", context.nan_policy(), &mut replaced) })?),
                None => None,
            };
        });
        self.replaced = replaced;
        Ok(())
    }

    /// Sets off-resonance in Hz `[z][y][x]` and the time of each sample in seconds; None for none.
    ///
    /// # Safety
    /// The arrays are readable for the call.
    pub unsafe fn set_field(&mut self, field: Option<(&Array<3>, &Array<1>)>) -> Result<()> {
        let (context, mut replaced) = (self.context.clone(), 0);
        let policy = context.nan_policy();
        let field = match field {
            Some((hertz, seconds)) => Some(context.install(|| -> Result<_> {
                // SAFETY: by this function's contract.
                let (hertz, seconds) = unsafe {
                    (
                        read::<f64, 3>(hertz, "field", policy, &mut replaced)?,
                        read::<f64, 1>(seconds, "times", policy, &mut replaced)?,
                    )
                };
                Ok(Arc::new((hertz.to_vec(), seconds.to_vec())))
            })?),
            None => None,
        };
        let plan = self.plan_mut()?;
        each!(&mut plan.engine, e => {
            e.beyond.field = field;
            e.forget_transform();
            e.toeplitz = None;
        });
        self.replaced = replaced;
        Ok(())
    }

    /// Sets where the voxels are, `[z][y][x][axis]`, x first, in voxels from the middle; None for the grid's own places.
    ///
    /// # Safety
    /// The array is readable for the call.
    pub unsafe fn set_positions(&mut self, positions: Option<&Array<4>>) -> Result<()> {
        let (context, mut replaced) = (self.context.clone(), 0);
        let policy = context.nan_policy();
        let values = match positions {
            // SAFETY: by this function's contract.
            Some(p) => Some(context.install(|| unsafe { read::<f64, 4>(p, "positions", policy, &mut replaced) })?),
            None => None,
        };
        if let Some(i) = values.as_ref().and_then(|v| v.iter().position(|r| r.abs() > MAX_SIDE as f64)) {
            let r = values.as_ref().map_or(0.0, |v| v[i]);
            fail!(OutOfRange, "positions has {r} at element {i}; it must be within +-{MAX_SIDE} voxels");
        }
        let plan = self.plan_mut()?;
        each!(&mut plan.engine, e => {
            e.beyond.positions = values.map(|v| Arc::new(v.to_vec()));
            e.forget_transform();
            e.toeplitz = None;
        });
        self.replaced = replaced;
        Ok(())
    }

    /// Axes of the trajectory.
    pub fn axes(&self) -> Result<usize> {
        Ok(each!(&self.plan()?.engine, e => e.trajectory.dims()))
    }

    /// Weights of the differences penalty, `[axis][z][y][x]`, x first; None for 1.
    ///
    /// # Safety
    /// The array is readable for the call.
    pub unsafe fn set_difference_weights(&mut self, weights: Option<&Array<4>>) -> Result<()> {
        let (context, mut replaced) = (self.context.clone(), 0);
        let policy = context.nan_policy();
        let squared = match weights {
            Some(w) => {
                // SAFETY: by this function's contract.
                let mut values =
                    context.install(|| unsafe { read::<f64, 4>(w, "difference weights", policy, &mut replaced) })?;
                values.iter_mut().for_each(|w| *w *= *w);
                Some(values)
            }
            None => None,
        };
        let plan = self.plan_mut()?;
        each!(&mut plan.engine, e => {
            e.regulariser.weights = squared.as_deref().map(converted).transpose()?;
        });
        self.replaced = replaced;
        Ok(())
    }

    /// The caller's R as compressed sparse rows.
    ///
    /// # Safety
    /// The array is readable for the call.
    pub unsafe fn set_matrix(&mut self, starts: &[i64], columns: &[i64], values: &Array<1>) -> Result<()> {
        let (context, mut replaced) = (self.context.clone(), 0);
        let policy = context.nan_policy();
        let plan = self.plan_mut()?;
        each!(&mut plan.engine, e => {
            // SAFETY: by this function's contract.
            let values = context.install(|| unsafe { read(values, "matrix values", policy, &mut replaced) })?;
            e.regulariser.matrix = Some(Matrix::new(starts, columns, values, e.voxels())?);
        });
        self.replaced = replaced;
        Ok(())
    }

    fn solve_settings(&self) -> Result<Solve> {
        let Options { normal, lambda, iterations, residual, warm_start, penalty, .. } = self.options;
        let plan = self.plan()?;
        let (beyond, matrix) = each!(&plan.engine, e => (e.beyond.is_needed(), e.regulariser.matrix.is_some()));
        if beyond && normal == Normal::Toeplitz {
            fail!(
                NotConfigured,
                "with a field map or voxel positions F^H W F is no convolution: options.normal cannot be Toeplitz"
            );
        }
        if lambda > 0.0 && penalty == Penalty::Matrix && !matrix {
            fail!(NotConfigured, "options.penalty is the caller's matrix, which isoc_mri_set_matrix has to set first");
        }
        let toeplitz = match normal {
            Normal::Auto => !beyond,
            Normal::Toeplitz => true,
            Normal::Pair => false,
        };
        Ok(Solve { stop: Stop { iterations, tolerance: residual }, lambda, penalty, toeplitz, warm: warm_start })
    }

    /// Most bytes of working memory that `reconstruct` needs.
    pub fn memory(&self) -> Result<u64> {
        let (plan, solve) = (self.plan()?, self.solve_settings()?);
        let Geometry { grid, precision, .. } = plan.geometry;
        let fourier = self.fourier(precision);
        let pool = &self.context;
        each!(&plan.engine, e => Self::needed(pool, e, &fourier, grid, &solve))
    }

    fn needed<T: Real>(
        context: &Context,
        engine: &Engine<T>,
        fourier: &Fourier,
        grid: [usize; 3],
        solve: &Solve,
    ) -> Result<u64> {
        let (level, samples) = (context.level(), engine.samples());
        let of = |grid, beyond: &Beyond| context.install(|| fourier.memory::<T>(level, grid, samples, beyond));
        let mut most = of(grid, &engine.beyond)?;
        let complex = size_of::<Complex<T>>() as u64;
        let arrays = complex * (engine.coils * samples + engine.images() * engine.voxels()) as u64;
        if solve.toeplitz {
            let [held, making] = Toeplitz::<T>::memory(grid);
            most += held.max(if engine.toeplitz.is_none() {
                making + of(super::toeplitz::differences(grid), &Beyond::default())?
            } else {
                0
            });
        }
        Ok(most + arrays + engine.solution_memory(solve) + engine.regulariser.memory())
    }

    fn check_memory(&self) -> Result<()> {
        let (needed, cap) = (self.memory()?, self.context.memory_cap());
        if needed > cap {
            fail!(MemoryCap, "memory_cap is {cap} bytes; this needs at least {needed}");
        }
        Ok(())
    }

    /// samples `[coil][m]` = F images `[image][z][y][x]`.
    ///
    /// # Safety
    /// The arrays are readable and writable for the call.
    pub unsafe fn forward(&mut self, images: &Array<4>, samples: &Array<2>) -> Result<()> {
        // SAFETY: by this function's contract.
        unsafe { self.encode((images, "image"), samples, Encode::Forward) }
    }

    /// images = F^H samples.
    ///
    /// # Safety
    /// The arrays are readable and writable for the call.
    pub unsafe fn adjoint(&mut self, samples: &Array<2>, images: &Array<4>) -> Result<()> {
        // SAFETY: by this function's contract.
        unsafe { self.encode((samples, "samples"), images, Encode::Adjoint) }
    }

    /// images = F^H W samples: density compensation and adjoint.
    ///
    /// # Safety
    /// The arrays are readable and writable for the call.
    pub unsafe fn gridding(&mut self, samples: &Array<2>, images: &Array<4>) -> Result<()> {
        // SAFETY: by this function's contract.
        unsafe { self.encode((samples, "samples"), images, Encode::Gridding) }
    }

    /// Nothing is written unless all of it is there.
    ///
    /// # Safety
    /// The arrays are readable and writable for the call.
    unsafe fn encode<const N: usize, const M: usize>(
        &mut self,
        (from, name): (&Array<N>, &str),
        to: &Array<M>,
        what: Encode,
    ) -> Result<()> {
        self.check_memory()?;
        let (context, fourier, policy) =
            (self.context.clone(), self.fourier(self.plan()?.geometry.precision), self.context.nan_policy());
        let plan = self.plan_mut()?;
        let coils = plan.geometry.coils;
        let mut replaced = 0;
        each!(&mut plan.engine, e => context.run(|job| {
            job.enter(Stage::Check);
            // SAFETY: by this function's contract.
            let mut source = unsafe { read(from, name, policy, &mut replaced) }?;
            e.prepare(&fourier)?;
            job.enter(if what == Encode::Forward { Stage::Forward } else { Stage::Adjoint });
            if what == Encode::Gridding {
                e.weigh(&mut source);
            }
            let (images, voxels, samples) = (e.images(), e.voxels(), e.samples());
            let (scan, image) = (coils / images * samples, voxels);
            let (read, written) = if what == Encode::Forward { (image, scan) } else { (scan, image) };
            let mut out = Buffer::zeroed(images * written)?;
            for k in 0..images {
                let (source, out) = (&source[k * read..][..read], &mut out[k * written..][..written]);
                let mut progress = portion(job, 1.0 / images as f64);
                match what {
                    Encode::Forward => e.forward(source, out, &mut progress)?,
                    _ => e.adjoint(source, out, &mut progress)?,
                }
            }
            // SAFETY: by this function's contract.
            unsafe { write(&out, to) };
            Ok(())
        }))?;
        self.replaced = replaced;
        Ok(())
    }

    /// out = (F^H W F + lambda R^H R) image, for each image.
    ///
    /// # Safety
    /// The arrays are readable and writable for the call.
    pub unsafe fn normal(&mut self, images: &Array<4>, out: &Array<4>) -> Result<()> {
        self.check_memory()?;
        let (solve, fourier) = (self.solve_settings()?, self.fourier(self.plan()?.geometry.precision));
        let (context, policy) = (self.context.clone(), self.context.nan_policy());
        let plan = self.plan_mut()?;
        let mut replaced = 0;
        each!(&mut plan.engine, e => context.run(|job| {
            job.enter(Stage::Check);
            // SAFETY: by this function's contract.
            let source = unsafe { read(images, "image", policy, &mut replaced) }?;
            if solve.toeplitz { e.prepare_toeplitz(&fourier, job)? } else { e.prepare(&fourier)? }
            job.enter(Stage::Normal);
            let voxels = e.voxels();
            let mut result = Buffer::zeroed(source.len())?;
            for (from, to) in source.chunks_exact(voxels).zip(result.chunks_exact_mut(voxels)) {
                e.apply_normal(from, to, &solve, job)?;
                job.advance(voxels as f64 / source.len() as f64);
            }
            // SAFETY: by this function's contract.
            unsafe { write(&result, out) };
            Ok(())
        }))?;
        self.replaced = replaced;
        Ok(())
    }

    /// Solves `(F^H W F + lambda R^H R) image = F^H W samples` for each image. Nothing is written unless all of it is there.
    ///
    /// # Safety
    /// The arrays are readable and writable for the call.
    pub unsafe fn reconstruct(&mut self, samples: &Array<2>, images: &Array<4>) -> Result<()> {
        self.check_memory()?;
        let (solve, fourier) = (self.solve_settings()?, self.fourier(self.plan()?.geometry.precision));
        let (context, policy) = (self.context.clone(), self.context.nan_policy());
        let plan = self.plan_mut()?;
        let coils = plan.geometry.coils;
        let (mut replaced, mut histories) = (0, Vec::new());
        each!(&mut plan.engine, e => context.run(|job| {
            job.enter(Stage::Check);
            // SAFETY: by this function's contract.
            let mut data = unsafe { read(samples, "samples", policy, &mut replaced) }?;
            let (count, voxels) = (e.images(), e.voxels());
            let mut result = Buffer::zeroed(count * voxels)?;
            let start = match solve.warm {
                // SAFETY: by this function's contract.
                true => Some(unsafe { read(images, "image", policy, &mut replaced) }?),
                false => None,
            };
            e.prepare(&fourier)?;
            if solve.toeplitz {
                e.prepare_toeplitz(&fourier, job)?;
            }
            let scan = coils / count * e.samples();
            let mut image = Buffer::zeroed(voxels)?;
            for k in 0..count {
                match &start {
                    Some(start) => image.copy_from_slice(&start[k * voxels..][..voxels]),
                    None => image.fill(Default::default()),
                }
                job.enter(Stage::Adjoint);
                let part = &mut data[k * scan..][..scan];
                histories.push(e.solve(part, &mut image, &solve, (job, 1.0 / count as f64))?);
                result[k * voxels..][..voxels].copy_from_slice(&image);
            }
            // SAFETY: by this function's contract.
            unsafe { write(&result, images) };
            Ok(())
        }))?;
        self.replaced = replaced;
        self.histories = histories;
        Ok(())
    }

    /// |residual| / |right-hand side| before the first iteration of the last `reconstruct` and after each, by image.
    pub fn histories(&self) -> &[Vec<f64>] {
        &self.histories
    }

    /// The doubled grid of Q, along z, y, x.
    pub fn q_grid(&self) -> Result<[usize; 3]> {
        Ok(doubled(self.plan()?.geometry.grid))
    }

    /// Makes Q of trajectory and weights, unless it is there.
    pub fn compute_q(&mut self) -> Result<()> {
        self.check_memory()?;
        let fourier = self.fourier(self.plan()?.geometry.precision);
        let context = self.context.clone();
        let plan = self.plan_mut()?;
        each!(&mut plan.engine, e => context.run(|job| e.prepare_toeplitz(&fourier, job)))
    }

    /// Copies Q out.
    ///
    /// # Safety
    /// The array is writable for the call.
    pub unsafe fn export_q(&self, to: &Array<3>) -> Result<()> {
        let plan = self.plan()?;
        let values: Vec<f64> = each!(&plan.engine, e => match &e.toeplitz {
            Some(q) => q.spectrum().iter().map(|v| v.wide()).collect(),
            None => fail!(NotConfigured, "there is no Q yet; isoc_mri_compute_q makes it"),
        });
        // SAFETY: by this function's contract.
        self.context.install(|| unsafe { write(&values, to) });
        Ok(())
    }

    /// Takes a Q that was exported from a plan of the same trajectory, weights and grid.
    ///
    /// # Safety
    /// The array is readable for the call.
    pub unsafe fn import_q(&mut self, from: &Array<3>) -> Result<()> {
        let (context, policy) = (self.context.clone(), self.context.nan_policy());
        let mut replaced = 0;
        // SAFETY: by this function's contract.
        let values = context.install(|| unsafe { read::<f64, 3>(from, "q", policy, &mut replaced) })?;
        let plan = self.plan_mut()?;
        let grid = plan.geometry.grid;
        each!(&mut plan.engine, e => {
            if e.beyond.is_needed() {
                fail!(NotConfigured, "with a field map or voxel positions F^H W F is no convolution, so that there is no Q");
            }
            e.toeplitz = Some(Toeplitz::from_spectrum(grid, converted(&values)?)?);
        });
        self.replaced = replaced;
        Ok(())
    }

    /// What one coil measures of a phantom.
    ///
    /// # Safety
    /// The array is writable for the call.
    pub unsafe fn phantom_samples<const D: usize>(&self, ellipsoids: &[Ellipsoid<D>], to: &Array<1>) -> Result<()> {
        let trajectory = each!(&self.plan()?.engine, e => e.trajectory.clone());
        let axes = trajectory.axes();
        let at: Vec<[f64; D]> = (0..trajectory.samples()).map(|m| std::array::from_fn(|d| axes[d][m])).collect();
        self.context.install(|| {
            let values = phantom::kspace(ellipsoids, &at)?;
            // SAFETY: by this function's contract.
            unsafe { write(&values, to) };
            Ok(())
        })
    }

    /// Voxel means of a phantom in a plane.
    ///
    /// # Safety
    /// The array is writable for the call.
    pub unsafe fn phantom_plane(&self, ellipses: &[Ellipsoid<2>], to: &Array<4>) -> Result<()> {
        let [_, ny, nx] = self.plan()?.geometry.grid;
        self.context.install(|| {
            let values = phantom::voxel_means(ellipses, [ny, nx])?;
            // SAFETY: by this function's contract.
            unsafe { write(&values, to) };
            Ok(())
        })
    }

    /// Voxel means of a phantom in a volume.
    ///
    /// # Safety
    /// The array is writable for the call.
    pub unsafe fn phantom_volume(&self, ellipsoids: &[Ellipsoid<3>], to: &Array<4>) -> Result<()> {
        let grid = self.plan()?.geometry.grid;
        self.context.install(|| {
            let values = phantom::voxel_means(ellipsoids, grid)?;
            // SAFETY: by this function's contract.
            unsafe { write(&values, to) };
            Ok(())
        })
    }

    /// Peak signal-to-noise ratio in dB, and error in percent.
    ///
    /// # Safety
    /// The arrays are readable for the call.
    pub unsafe fn compare(&self, image: &Array<4>, truth: &Array<4>) -> Result<(f64, f64)> {
        let policy = NanPolicy::Error;
        self.context.install(|| {
            // SAFETY: by this function's contract.
            let (image, truth) = unsafe {
                let image: Buffer<Complex<f64>> = read(image, "image", policy, &mut 0)?;
                (image, read::<Complex<f64>, 4>(truth, "truth", policy, &mut 0)?)
            };
            Ok((measures::psnr(&image, &truth)?, measures::percent_error(&image, &truth)?))
        })
    }

    /// What the plan found and decided.
    pub fn info(&self) -> Result<Info> {
        let plan = self.plan()?;
        let (fine_grid, width, has_q, images) = each!(&plan.engine, e => {
            let (grid, width) = e.transform().map_or(([0; 3], 0), |t| t.fine_grid());
            (grid, width, e.toeplitz.is_some(), e.images())
        });
        Ok(Info { fine_grid, width, q_grid: doubled(plan.geometry.grid), has_q, images, replaced: self.replaced })
    }
}

/// What [`Mri::encode`] computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Encode {
    Forward,
    Adjoint,
    Gridding,
}

/// Numbers in an engine's precision.
fn converted<T: Real>(values: &[f64]) -> Result<Buffer<T>> {
    let mut out = Buffer::zeroed(values.len())?;
    out.iter_mut().zip(values).for_each(|(o, v): (&mut T, _)| *o = T::of(*v));
    Ok(out)
}

/// Progress over a part of a job.
fn portion(job: &Job, share: f64) -> impl FnMut(f64) -> Result<()> + Send {
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
