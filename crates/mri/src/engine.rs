//! What a plan computes with, on the processor or on a GPU: the encoding operator (coil sensitivities, Fourier sums, density
//! weights), F^H W F and the penalty, and the vectors that these work on.

use super::low_rank::Blocks;
use super::matrix::Matrix;
use super::penalty::{Penalty, Solver};
use super::trajectory::Trajectory;
use super::transform::{Effects, Fourier, Progress};
use super::variation::Raise;
use super::wavelets::Wavelets;
use isocenter_base::array::{Array, ArrayMut};
use isocenter_base::context::{Context, Desk, Job, NanPolicy, Part};
use isocenter_base::cpu::simd::Real;
use isocenter_base::error::{Result, fail};
use isocenter_nufft::Scalar;
use isocenter_nufft::toeplitz::Grids;
use isocenter_solve::{Momentum, Stop, Vectors};
use rustfft::num_complex::Complex;
use std::f64::consts::PI;
use std::ops::Range;
use std::sync::Arc;

/// What a plan was told of image and scan, wherever it computes.
pub(super) struct Scan {
    pub(super) grid: [usize; 3],
    pub(super) coils: usize,
    pub(super) trajectory: Arc<Trajectory>,
    /// Density weights; None means 1.
    pub(super) weights: Option<Vec<f64>>,
    pub(super) effects: Effects,
    /// Whether there are, or will be, coil sensitivities: all coils then see one image; without, each coil has an image of its own.
    pub(super) mapped: bool,
    /// Images of the basis are one, each times what a shot sees of it.
    pub(super) shots: bool,
    /// Sets of sensitivities: all coils see the sum of as many images, each by its own set.
    pub(super) sets: usize,
    /// Of differences, squared; 1 without weights.
    pub(super) highest_difference_weight: f64,
}

impl Scan {
    pub(super) fn new(grid: [usize; 3], coils: usize, trajectory: Arc<Trajectory>) -> Self {
        Self {
            grid,
            coils,
            trajectory,
            weights: None,
            effects: Effects::default(),
            mapped: false,
            shots: false,
            sets: 1,
            highest_difference_weight: 1.0,
        }
    }

    pub(super) fn voxels(&self) -> usize {
        self.grid.iter().product()
    }

    pub(super) fn samples(&self) -> usize {
        self.trajectory.samples()
    }

    /// Parts of a scan that are reconstructed on their own.
    pub(super) fn problems(&self) -> usize {
        if self.mapped { 1 } else { self.coils }
    }

    /// Coils of one.
    pub(super) fn coils_per_problem(&self) -> usize {
        if self.mapped { self.coils } else { 1 }
    }

    /// Images that a scan gives, `[problem or set][image of a basis]`.
    pub(super) fn images(&self) -> usize {
        self.problems() * self.images_per_problem()
    }

    /// Images of a problem, `[set][image of a basis]`.
    pub(super) fn images_per_problem(&self) -> usize {
        if self.shots { self.sets } else { self.sets * self.effects.images() }
    }

    /// Voxels of all images of a problem.
    pub(super) fn unknowns(&self) -> usize {
        self.images_per_problem() * self.voxels()
    }

    /// Voxels of what all shots see of so many images.
    pub(super) fn by_shots(&self, voxels: usize) -> usize {
        if self.shots { voxels * self.effects.images() } else { 0 }
    }

    /// Voxels of all images that a coil sees: the sums of those of sets.
    pub(super) fn seen(&self) -> usize {
        self.effects.images() * self.voxels()
    }

    /// Sensitivities of so many voxels are there; none where there are none.
    pub(super) fn take_maps(&mut self, voxels: Option<usize>) {
        self.mapped = voxels.is_some();
        self.sets = voxels.map_or(1, |n| n / (self.coils * self.voxels()).max(1)).max(1);
    }

    /// Keeps the highest of squared weights.
    pub(super) fn see_difference_weights(&mut self, squared: Option<&[f64]>) {
        self.highest_difference_weight = squared.map_or(1.0, |w| w.iter().fold(0.0, |a: f64, b| a.max(*b)));
    }

    /// The grids of Q, where terms of its sums may change so much.
    ///
    /// To move samples by d cycles in the field of view to whole numbers of them changes terms of q by 2 pi d (r - r') / N, whose root mean
    /// square over all pairs of voxels is 2 pi d / sqrt(6). That may be twice the tolerance, about what samples rounded to f32 are off for 500 voxels
    /// and the default.
    pub(super) fn q_grids(&self, tolerance: f64) -> Result<Grids> {
        let most = 2.0 * tolerance * 6f64.sqrt() / (2.0 * PI);
        let whole = match self.trajectory.grid() == self.grid {
            true => self.trajectory.off_whole()?.map(|off| off <= most),
            false => [false; 3],
        };
        Ok(Grids::new(self.grid, whole))
    }

    /// An error if F^H W F is not one convolution, whose Q a caller may have.
    pub(super) fn check_one_q(&self) -> Result<()> {
        self.effects.check_convolutions()?;
        if self.effects.field.is_some() {
            fail!(
                NotConfigured,
                "with a field map F^H W F is a sum of several convolutions between factors of voxels: there is no one Q to export or import"
            );
        }
        if self.shots {
            fail!(
                NotConfigured,
                "with shots (isoc_mri_set_shots) F^H W F is a sum of convolutions between their phases: there is no one Q to export or import"
            );
        }
        if self.effects.basis.is_some() {
            fail!(
                NotConfigured,
                "with a basis F^H W F is a matrix of convolutions between images: there is no one Q to export or import"
            );
        }
        Ok(())
    }
}

/// How a system is solved.
#[derive(Clone, Copy, Debug)]
pub(super) struct Solve {
    pub(super) stop: Stop,
    pub(super) lambda: f64,
    pub(super) penalty: Penalty,
    pub(super) solver: Solver,
    /// F^H W F by Q; else by a forward and an adjoint transform.
    pub(super) toeplitz: bool,
    /// If there is no memory for Q, then by transforms.
    pub(super) or_pairs: bool,
    /// The images given are where to begin.
    pub(super) warm_start: bool,
    pub(super) imaginary: Imaginary,
    /// What it is for, which says how many vectors there are.
    pub(super) purpose: Purpose,
    /// Frames whose images are of one problem; 1 without a series, or where frames go one after the other.
    pub(super) frames: usize,
    /// Numbers that are kept besides: samples and images of a series whose frame is solved.
    pub(super) besides: u64,
    /// Samples of all coils are in memory; else they come and go.
    pub(super) holds_samples: bool,
}

impl Solve {
    /// Whether the penalty takes images of all frames of a series.
    pub(super) fn takes_frames_together(&self) -> bool {
        match self.solver {
            Solver::ConjugateGradient => false,
            Solver::Fista(sparse) | Solver::PrimalDual(sparse) => sparse.takes_all_images(),
        }
    }

    /// The same for samples and images in another unit, where the penalty is no square.
    pub(super) fn divided_by(&self, unit: f64) -> Self {
        Self { lambda: self.lambda / unit, solver: self.solver.divided_by(unit), ..*self }
    }
}

/// What imaginary parts of images may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Imaginary {
    Free,
    /// Half their square counts so much.
    Weighed(f64),
    None,
}

impl Imaginary {
    pub(super) fn of_weight(weight: f64) -> Self {
        match weight {
            0.0 => Self::Free,
            f64::INFINITY => Self::None,
            weight => Self::Weighed(weight),
        }
    }

    /// What is asked of an image, of images or of a right-hand side.
    pub(super) fn clear<E: Engine>(self, engine: &mut E, of: &mut Vector<E>) -> Result<()> {
        if self == Self::None { engine.clear_imaginary(of) } else { Ok(()) }
    }

    /// And of the product with a system.
    pub(super) fn add<E: Engine>(self, engine: &mut E, image: &Vector<E>, product: &mut Vector<E>) -> Result<()> {
        match self {
            Self::Free => Ok(()),
            Self::Weighed(weight) => engine.add_imaginary(weight, image, product),
            Self::None => engine.clear_imaginary(product),
        }
    }
}

/// What a system's parts are made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Transforms alone.
    Transform,
    /// One product with it for each image.
    Product,
    /// Its solution.
    Solution,
}

impl Purpose {
    /// Vectors of unknowns besides the images, where there are so many problems and a solution has so many.
    pub(super) fn vectors(self, problems: usize, solution: u64) -> u64 {
        match self {
            Self::Transform => 0,
            Self::Product => problems as u64 + if problems > 1 { 2 } else { 0 },
            Self::Solution => solution,
        }
    }
}

/// A vector of an engine: contiguous complex numbers, of images `[image][z][y][x]` or of samples `[coil][sample]`.
pub(super) type Vector<E> = <<E as Engine>::Vectors as Vectors>::Vector;

/// The operations of a plan, over vectors in the engine's own memory. All but the setters are called inside [`Engine::within`].
pub(super) trait Engine: Sized + Send {
    type Scalar: Scalar;
    type Vectors: Momentum;
    type Wavelets: Send;
    type Fields: Send;
    type Blocks: Send;
    /// What it keeps for some of the samples: trajectory, weights, effects, transform and Q.
    type Side: Send;
    /// A vector that another engine of the same kind may copy from and to.
    type Lent: Sync;
    /// Calls mostly wait for a GPU.
    const WAITS: bool;
    /// With a field, products of a coil from which on Q and they take less time than pairs of transforms; None for no number.
    const Q_FOR_FIELDS: Option<usize>;

    /// The arithmetic of its vectors.
    fn vectors(&mut self) -> &mut Self::Vectors;
    fn scan(&self) -> &Scan;
    /// The caller's stream, whose work on arrays on a GPU is waited for.
    fn set_stream(&mut self, stream: usize);
    /// Density weights; forgets Q.
    fn set_weights(&mut self, weights: Option<Vec<f64>>) -> Result<()>;
    /// What each shot sees of an image, times which it is one of the basis, `[shot][voxel]`.
    fn set_phases(&mut self, phases: Option<Vector<Self>>);
    /// Sensitivities `[coil][set][voxel]`.
    fn set_maps(&mut self, maps: Option<Vector<Self>>) -> Result<()>;
    /// Forgets the transform and Q.
    fn set_effects(&mut self, terms: Effects);
    /// For other samples; transform and Q are still to be made.
    fn side(&mut self, trajectory: Arc<Trajectory>, weights: Option<Vec<f64>>, effects: Effects) -> Result<Self::Side>;
    /// Bytes that its own holds once it is made for a solution, where transforms go as soon as there is Q.
    fn side_bytes(&mut self, fourier: &Fourier, solve: &Solve) -> Result<u64>;
    /// Bytes that Q holds, or would hold.
    fn q_bytes(&mut self, fourier: &Fourier) -> Result<u64>;
    /// The transform goes, and is made anew when it is asked for.
    fn drop_transform(&mut self);
    /// Takes a side, and gives its own.
    fn exchange(&mut self, side: &mut Self::Side);
    /// Engines on other GPUs that know what this one does, for frames of their own; none where there are no others or frames are too small
    /// to be worth it. Until they are given back, this one works without help.
    fn take_crew(&mut self, _context: &Arc<Context>, _frames: usize) -> Result<Vec<Self>> {
        Ok(Vec::new())
    }
    fn keep_crew(&mut self, _crew: Vec<Self>) {}
    /// A vector of this engine's, for others of a crew, once all that was begun is done.
    fn lend(&mut self, vector: &Vector<Self>) -> Result<Self::Lent>;
    /// Pieces of a lent vector, one after the other.
    fn fetch(&mut self, from: &Self::Lent, pieces: &[Range<usize>]) -> Result<Vector<Self>>;
    /// Puts a vector into pieces of a lent one.
    fn deliver(&mut self, vector: &Vector<Self>, to: &Self::Lent, pieces: &[Range<usize>]) -> Result<()>;
    /// Squared, `[axis][voxel]`, x first.
    fn set_difference_weights(&mut self, squared: Option<&[f64]>) -> Result<()>;
    fn set_matrix(&mut self, matrix: Arc<Matrix<Self::Scalar>>) -> Result<()>;
    fn has_matrix(&self) -> bool;
    /// For another way to compute; forgets Q too.
    fn forget_transform(&mut self);

    /// Runs where the engine works.
    fn within<R: Send>(&mut self, context: &Context, work: impl FnOnce(&mut Self) -> Result<R> + Send) -> Result<R>;
    /// The same with progress and cancel.
    fn run<R: Send>(&mut self, context: &Context, work: impl FnOnce(&mut Self, &Job) -> Result<R> + Send) -> Result<R> {
        self.run_part(context, Part::WHOLE, work)
    }
    /// The same for a part of a call's work.
    fn run_part<R: Send>(
        &mut self,
        context: &Context,
        part: Part,
        work: impl FnOnce(&mut Self, &Job) -> Result<R> + Send,
    ) -> Result<R> {
        context.run_on(Self::WAITS, part, |job| self.within(context, |e| work(e, job)))
    }

    /// The same for work that asks the calling thread for something.
    fn run_serving<R: Send, Q: Send>(
        &mut self,
        context: &Context,
        serve: impl FnMut(Q),
        work: impl FnOnce(&mut Self, &Job, &Desk<R, Q>) -> Result<R> + Send,
    ) -> Result<R> {
        context.run_serving(Self::WAITS, serve, |job, desk| self.within(context, |e| work(e, job, desk)))
    }

    /// Maximum number of bytes that a solution takes, where the engine keeps its vectors.
    fn memory(&mut self, context: &Context, fourier: &Fourier, solve: &Solve) -> Result<u64>;
    /// An error if there is too little memory for a solution; then whatever fits is used.
    fn check_memory(&mut self, context: &Context, fourier: &Fourier, solve: &Solve) -> Result<()>;

    /// Copies a caller's array; what is not finite is replaced by 0, and counted, or is an error, here or from [`Engine::verify`].
    fn read<const N: usize>(&mut self, from: &Array<N>, name: &str, policy: NanPolicy) -> Result<Vector<Self>>;
    /// The error of a value that is not finite in what was read, if there is one.
    fn verify(&mut self) -> Result<()>;
    /// Values replaced in the last [`Engine::within`] that were not asked for yet.
    fn replaced(&mut self) -> u64;
    /// Copies into a caller's array, unless [`Engine::verify`] has an error.
    fn write<const N: usize>(&mut self, from: &Vector<Self>, to: &mut ArrayMut<N>) -> Result<()>;

    fn upload(&mut self, values: &[Complex<f64>]) -> Result<Vector<Self>>;
    fn download(&mut self, vector: &Vector<Self>) -> Result<Vec<Complex<f64>>>;

    /// Makes the transform, unless it is there.
    fn prepare(&mut self, fourier: &Fourier) -> Result<()>;
    /// The fast transform's grid along z, y, x, and its spreading function's width; 0 before it is there.
    fn fine_grid(&self) -> ([usize; 3], usize);
    /// Products that a field takes, and their relative l2 error; 0 without one, or before the transform is there.
    fn terms(&self) -> (usize, f64);
    /// Convolutions that F^H W F takes with a field, and their relative l2 error; 0 without one, or before Q is there.
    fn normal_terms(&self) -> (usize, f64);
    /// Whether Q on this grid may be a matrix between so many images.
    fn mixes(&self, _grid: [usize; 3], _images: usize) -> bool {
        true
    }
    /// The grids of Q.
    fn q_grids(&self, fourier: &Fourier) -> Result<Grids> {
        let scan = self.scan();
        let exact = fourier.is_exact(&scan.effects)?;
        scan.q_grids(if exact { Self::Scalar::UNIT } else { fourier.tolerance })
    }
    /// Whether F^H W F is best applied by Q, so many times to each image.
    fn prefers_q(&self, fourier: &Fourier, times: usize) -> Result<bool> {
        let Scan { effects, coils, .. } = self.scan();
        if !effects.are_present() {
            // To know the grid takes a look at all samples.
            let any = effects.images() == 1 || self.scan().shots;
            return Ok(any || self.mixes(self.q_grids(fourier)?.spectrum, effects.images()));
        }
        let pays = self.has_q() || Self::Q_FOR_FIELDS.is_some_and(|least| times.saturating_mul(*coils) >= least);
        Ok(pays && effects.check_convolutions().is_ok() && !fourier.is_exact(effects)?)
    }
    /// samples = F images, for one image or for all.
    fn forward(&mut self, images: &Vector<Self>, samples: &mut Vector<Self>, progress: Progress) -> Result<()>;
    /// images = F^H samples, for one image or for all.
    fn adjoint(&mut self, samples: &Vector<Self>, images: &mut Vector<Self>, progress: Progress) -> Result<()>;
    /// samples = W samples, of any number of coils.
    fn weigh(&mut self, samples: &mut Vector<Self>) -> Result<()>;
    /// out = F^H W F image of one problem by a pair of transforms; `samples` of its coils is room to work in.
    fn apply_pair(
        &mut self,
        image: &Vector<Self>,
        samples: &mut Vector<Self>,
        out: &mut Vector<Self>,
        job: &Job,
    ) -> Result<()> {
        self.forward(image, samples, &mut |_| job.check())?;
        self.weigh(samples)?;
        self.adjoint(samples, out, &mut |_| job.check())
    }

    /// Imaginary parts become 0.
    fn clear_imaginary(&mut self, images: &mut Vector<Self>) -> Result<()>;
    /// out = out + weight times i times the imaginary part of images.
    fn add_imaginary(&mut self, weight: f64, images: &Vector<Self>, out: &mut Vector<Self>) -> Result<()>;

    /// Makes Q of the trajectory and the weights, unless it is there.
    fn prepare_q(&mut self, fourier: &Fourier, job: &Job) -> Result<()>;
    fn has_q(&self) -> bool;
    /// Q on its grid, frequency 0 first; with a field the first one.
    fn q(&mut self) -> Result<Option<Vec<f64>>>;
    fn set_q(&mut self, fourier: &Fourier, q: &[f64]) -> Result<()>;
    /// out = F^H W F image by Q, of all convolutions.
    fn apply_q(&mut self, image: &Vector<Self>, out: &mut Vector<Self>, job: &Job) -> Result<()>;
    /// out = out + lambda R^H R image.
    fn add_penalty(
        &mut self,
        penalty: Penalty,
        lambda: f64,
        image: &Vector<Self>,
        out: &mut Vector<Self>,
    ) -> Result<()>;

    /// What wavelet transforms of images work in.
    fn wavelets(&mut self) -> Result<Self::Wavelets>;
    /// Replaces images by those whose wavelet coefficients, after a shift around, are smaller by a threshold, down to 0: the length over
    /// all images of those at one place. The sum of what is left of these lengths.
    fn soften(
        &mut self,
        work: &mut Self::Wavelets,
        of: (&Wavelets, [usize; 3]),
        threshold: f64,
        images: &mut Vector<Self>,
    ) -> Result<f64>;
    /// The sum of these lengths, and the largest; coefficients take the place of the images.
    fn coefficient_sizes(
        &mut self,
        work: &mut Self::Wavelets,
        of: (&Wavelets, [usize; 3]),
        images: &mut Vector<Self>,
    ) -> Result<[f64; 2]>;

    /// What thresholds on singular values of blocks of so many images work in.
    fn blocks(&mut self, of: &Blocks, images: usize) -> Result<Self::Blocks>;
    /// Replaces images by those whose blocks' singular values are smaller by a threshold, down to 0; the sum of what is left of them, and
    /// the largest there was. Without a threshold the images stay.
    fn shrink(
        &mut self,
        work: &mut Self::Blocks,
        of: &Blocks,
        threshold: Option<f64>,
        images: &mut Vector<Self>,
    ) -> Result<[f64; 2]>;

    /// Total variation's duals p and their extrapolations q of so many images, 0.
    fn fields(&mut self, images: usize) -> Result<Self::Fields>;
    /// out = images - scale K^H q, with K the weighted differences.
    fn back(&mut self, fields: &Self::Fields, scale: f64, images: &Vector<Self>, out: &mut Vector<Self>) -> Result<()>;
    /// Moves the duals along K x; what a voxel's have of all axes and images is no longer than 1.
    fn raise(&mut self, fields: &mut Self::Fields, raise: Raise, x: &Vector<Self>) -> Result<()>;
    /// The sum over voxels of h(|K x|), of all axes and images, the square over 2 huber up to huber, and growing by 1 from there.
    fn variation(&mut self, fields: &Self::Fields, huber: f64, x: &Vector<Self>) -> Result<f64>;
}
