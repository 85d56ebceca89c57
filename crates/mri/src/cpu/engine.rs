//! The engine on the processor. Results are the same bits for any number of threads.

use super::coils;
use super::imaginary;
use super::low_rank;
use super::penalty::Regulariser;
use super::q::{Factors, Kind, Q};
use super::transform::Transform;
use super::variation::CpuFields;
use super::wavelets::CpuWavelets;
use crate::convolutions::{self, Convolutions};
use crate::engine::{Engine, Scan, Solve, Vector};
use crate::low_rank::Blocks;
use crate::matrix::Matrix;
use crate::penalty::Penalty;
use crate::trajectory::Trajectory;
use crate::transform::{Effects, Fourier, Progress};
use crate::variation::Raise;
use crate::wavelets::Wavelets;
use isocenter_base::array::{Array, ArrayMut, host};
use isocenter_base::context::{Context, Job, NanPolicy, Stage};
use isocenter_base::cpu::buffer::{Buffer, collected};
use isocenter_base::cpu::level::Level;
use isocenter_base::error::{Result, fail};
use isocenter_nufft::Scalar;
use isocenter_solve::Vectors;
use isocenter_solve::cpu::CpuVectors;
use rustfft::num_complex::Complex;
use std::mem::swap;
use std::ops::Range;
use std::sync::Arc;

/// What belongs to some of the samples.
pub(crate) struct CpuSide<T: Scalar> {
    trajectory: Arc<Trajectory>,
    scan_weights: Option<Vec<f64>>,
    effects: Effects,
    weights: Option<Buffer<T>>,
    transform: Option<Transform<T>>,
    convolutions: Option<Convolutions>,
    q: Option<Q<T>>,
    making_q: Option<u64>,
}

/// What a plan computes with on the processor.
pub(crate) struct CpuEngine<T: Scalar> {
    level: Level,
    vectors: CpuVectors<T>,
    scan: Scan,
    /// Density weights; None means 1.
    weights: Option<Buffer<T>>,
    /// Sensitivities `[coil][set][voxel]`.
    maps: Option<Buffer<Complex<T>>>,
    /// What shots see of an image, `[shot][voxel]`.
    phases: Option<Buffer<Complex<T>>>,
    regulariser: Regulariser<T>,
    transform: Option<Transform<T>>,
    /// What Q is of, once that is known.
    convolutions: Option<Convolutions>,
    q: Option<Q<T>>,
    /// Bytes of the transform that makes Q, once they are known.
    making_q: Option<u64>,
    /// Workspace: an image as one coil sees it, and the product of that with Q.
    coil_images: [Option<Buffer<Complex<T>>>; 2],
    /// Workspace: what shots see of images, and the product of that with Q.
    shot_images: [Option<Buffer<Complex<T>>>; 2],
    replaced: u64,
}

impl<T: Scalar> CpuEngine<T> {
    pub(crate) fn new(level: Level, scan: Scan) -> Self {
        Self {
            level,
            vectors: CpuVectors::default(),
            scan,
            weights: None,
            maps: None,
            phases: None,
            regulariser: Regulariser::new(),
            transform: None,
            convolutions: None,
            q: None,
            making_q: None,
            coil_images: [None, None],
            shot_images: [None, None],
            replaced: 0,
        }
    }

    /// Calls with images as shots see them, where there are shots.
    fn by_shots<R>(
        &mut self,
        images: &Buffer<Complex<T>>,
        work: impl FnOnce(&mut Self, &Buffer<Complex<T>>) -> Result<R>,
    ) -> Result<R> {
        let Self { phases: Some(phases), shot_images, scan, .. } = self else { return work(self, images) };
        let mut seen = image(&mut shot_images[0], scan.by_shots(images.len()))?;
        coils::by_shots(phases, scan.voxels(), images, &mut seen);
        let done = work(self, &seen);
        self.shot_images[0] = Some(seen);
        done
    }

    /// Calls for images as shots see them, where there are shots, and makes images of these.
    fn of_shots<R>(
        &mut self,
        images: &mut Buffer<Complex<T>>,
        work: impl FnOnce(&mut Self, &mut Buffer<Complex<T>>) -> Result<R>,
    ) -> Result<R> {
        if self.phases.is_none() {
            return work(self, images);
        }
        let mut seen = image(&mut self.shot_images[1], self.scan.by_shots(images.len()))?;
        let done = work(self, &mut seen);
        if let Some(phases) = &self.phases {
            coils::of_shots(phases, self.scan.voxels(), &seen, images);
        }
        self.shot_images[1] = Some(seen);
        done
    }

    /// samples = F images, as shots see them.
    fn forward_seen(&mut self, images: &[Complex<T>], samples: &mut [Complex<T>], progress: Progress) -> Result<()> {
        let Self { transform, maps, coil_images, scan, .. } = self;
        let (transform, voxels, count) = (ready(transform)?, scan.voxels(), scan.samples());
        let (seen, of_coil) = (scan.seen(), scan.sets * voxels);
        if let Some(lines) = transform.lines() {
            return lines.forward(images, maps.as_deref(), samples, progress);
        }
        let coils = samples.len() / count;
        let mut coil_image = if maps.is_some() { Some(image(&mut coil_images[0], seen)?) } else { None };
        for (coil, samples) in samples.chunks_exact_mut(count).enumerate() {
            let part = &mut |f: f64| progress((coil as f64 + f) / coils as f64);
            match (&*maps, &mut coil_image) {
                (Some(maps), Some(coil_image)) => {
                    coils::see(&maps[coil * of_coil..][..of_coil], voxels, images, coil_image);
                    transform.forward(coil_image, samples, part)?;
                }
                _ => transform.forward(&images[coil * seen..][..seen], samples, part)?,
            }
        }
        coil_images[0] = coil_image;
        Ok(())
    }

    /// images, as shots see them, = F^H samples.
    fn adjoint_seen(&mut self, samples: &[Complex<T>], images: &mut [Complex<T>], progress: Progress) -> Result<()> {
        let Self { transform, maps, coil_images, scan, .. } = self;
        let (transform, voxels, count) = (ready(transform)?, scan.voxels(), scan.samples());
        let (seen, of_coil) = (scan.seen(), scan.sets * voxels);
        if let Some(lines) = transform.lines() {
            return lines.adjoint(samples, maps.as_deref(), images, progress);
        }
        let coils = samples.len() / count;
        let mut coil_image = None;
        if maps.is_some() {
            coil_image = Some(image(&mut coil_images[0], seen)?);
            images.fill(Complex::default());
        }
        for (coil, samples) in samples.chunks_exact(count).enumerate() {
            let part = &mut |f: f64| progress((coil as f64 + f) / coils as f64);
            match (&*maps, &mut coil_image) {
                (Some(maps), Some(coil_image)) => {
                    transform.adjoint(samples, coil_image, part)?;
                    coils::unsee(&maps[coil * of_coil..][..of_coil], voxels, coil_image, images);
                }
                _ => transform.adjoint(samples, &mut images[coil * seen..][..seen], part)?,
            }
        }
        coil_images[0] = coil_image;
        Ok(())
    }

    /// out = F^H W F image by Q, both as shots see them.
    fn apply_q_seen(&mut self, from: &[Complex<T>], out: &mut [Complex<T>], job: &Job) -> Result<()> {
        let Self { q, maps, coil_images, scan, .. } = self;
        let (q, voxels, seen) = (ready(q)?, scan.voxels(), scan.seen());
        let Some(maps) = maps else {
            return q.apply(from, out, job);
        };
        let [mut coil_image, mut product] = [image(&mut coil_images[0], seen)?, image(&mut coil_images[1], seen)?];
        out.fill(Complex::default());
        for maps in maps.chunks_exact(scan.sets * voxels) {
            coils::see(maps, voxels, from, &mut coil_image);
            q.apply(&coil_image, &mut product, job)?;
            coils::unsee(maps, voxels, &product, out);
            job.check()?;
        }
        *coil_images = [Some(coil_image), Some(product)];
        Ok(())
    }

    /// What Q is of.
    fn convolutions(&mut self, fourier: &Fourier) -> Result<&Convolutions> {
        if self.convolutions.is_none() {
            let grids = self.q_grids(fourier)?;
            self.convolutions = Some(Convolutions::new(fourier, grids, &self.scan.effects, T::UNIT)?);
        }
        ready(&mut self.convolutions).map(|c| &*c)
    }

    /// The transform that makes Q.
    fn transform_of_differences(&mut self, fourier: &Fourier) -> Result<Transform<T>> {
        let Convolutions { fourier, grids, .. } = *self.convolutions(fourier)?;
        let of = (&self.scan.trajectory, &Effects::default());
        Transform::new(&fourier, self.level, grids.differences, of, 1)
    }

    /// What Q is made with.
    fn kind_of_q(&mut self, fourier: &Fourier) -> Result<Kind<T>> {
        let voxels = self.scan.voxels();
        let convolutions = self.convolutions(fourier)?;
        Ok(match (convolutions.of_voxels()?, convolutions.kind()) {
            (Some(factors), _) => Kind::Factors(Factors::new(factors, voxels)?),
            (None, convolutions::Kind::Mixed(mixing)) => Kind::Mixed(mixing),
            (None, _) => Kind::Alone,
        })
    }

    /// Bytes that Q holds, and those besides while it is made.
    fn q_memory(&mut self, fourier: &Fourier) -> Result<[u64; 2]> {
        Ok(Q::<T>::memory(self.convolutions(fourier)?))
    }

    /// Bytes of the transform that makes Q.
    fn making_q(&mut self, fourier: &Fourier) -> Result<u64> {
        if let Some(bytes) = self.making_q {
            return Ok(bytes);
        }
        let bytes = self.transform_of_differences(fourier)?.memory();
        self.making_q = Some(bytes);
        Ok(bytes)
    }

    /// The transform, which may not be ready yet.
    fn planned(&mut self, fourier: &Fourier) -> Result<&mut Transform<T>> {
        if self.transform.is_none() {
            let Scan { grid, trajectory, effects, coils, .. } = &self.scan;
            self.transform = Some(Transform::new(fourier, self.level, *grid, (trajectory, effects), *coils)?);
        }
        ready(&mut self.transform)
    }
}

fn ready<V>(slot: &mut Option<V>) -> Result<&mut V> {
    match slot {
        Some(v) => Ok(v),
        None => fail!(Internal, "it was not prepared"),
    }
}

/// What a slot holds, or an image of zeros. A basis makes it as long as its images.
fn image<T: Scalar>(slot: &mut Option<Buffer<Complex<T>>>, voxels: usize) -> Result<Buffer<Complex<T>>> {
    match slot.take().filter(|image| image.len() == voxels) {
        Some(image) => Ok(image),
        None => Buffer::zeroed(voxels),
    }
}

impl<T: Scalar> Engine for CpuEngine<T> {
    type Scalar = T;
    type Vectors = CpuVectors<T>;
    type Wavelets = CpuWavelets<T>;
    type Fields = CpuFields<T>;
    type Blocks = ();
    type Side = CpuSide<T>;
    type Lent = ();
    const WAITS: bool = false;
    const Q_FOR_FIELDS: Option<usize> = None;

    fn scan(&self) -> &Scan {
        &self.scan
    }

    fn vectors(&mut self) -> &mut CpuVectors<T> {
        &mut self.vectors
    }

    fn set_stream(&mut self, _: usize) {}

    fn set_weights(&mut self, weights: Option<Vec<f64>>) -> Result<()> {
        self.weights = weights.as_deref().map(converted).transpose()?;
        self.scan.weights = weights;
        self.q = None;
        Ok(())
    }

    fn set_phases(&mut self, phases: Option<Vector<Self>>) {
        self.scan.shots = phases.is_some();
        self.phases = phases;
    }

    fn set_maps(&mut self, maps: Option<Vector<Self>>) -> Result<()> {
        self.scan.take_maps(maps.as_ref().map(|maps| maps.len()));
        self.maps = maps;
        Ok(())
    }

    fn set_effects(&mut self, terms: Effects) {
        self.scan.effects = terms;
        self.forget_transform();
    }

    fn side(&mut self, trajectory: Arc<Trajectory>, weights: Option<Vec<f64>>, effects: Effects) -> Result<CpuSide<T>> {
        let own = weights.as_deref().map(converted).transpose()?;
        Ok(CpuSide {
            trajectory,
            scan_weights: weights,
            effects,
            weights: own,
            transform: None,
            convolutions: None,
            q: None,
            making_q: None,
        })
    }

    fn side_bytes(&mut self, fourier: &Fourier, solve: &Solve) -> Result<u64> {
        if solve.toeplitz { self.q_bytes(fourier) } else { Ok(self.planned(fourier)?.memory()) }
    }

    fn q_bytes(&mut self, fourier: &Fourier) -> Result<u64> {
        Ok(self.q_memory(fourier)?[0])
    }

    fn drop_transform(&mut self) {
        self.transform = None;
    }

    fn exchange(&mut self, side: &mut CpuSide<T>) {
        swap(&mut side.trajectory, &mut self.scan.trajectory);
        swap(&mut side.scan_weights, &mut self.scan.weights);
        swap(&mut side.effects, &mut self.scan.effects);
        swap(&mut side.weights, &mut self.weights);
        swap(&mut side.transform, &mut self.transform);
        swap(&mut side.convolutions, &mut self.convolutions);
        swap(&mut side.q, &mut self.q);
        swap(&mut side.making_q, &mut self.making_q);
    }

    fn lend(&mut self, _: &Vector<Self>) -> Result<()> {
        no_crew()
    }

    fn fetch(&mut self, (): &(), _: &[Range<usize>]) -> Result<Vector<Self>> {
        no_crew()
    }

    fn deliver(&mut self, _: &Vector<Self>, (): &(), _: &[Range<usize>]) -> Result<()> {
        no_crew()
    }

    fn set_difference_weights(&mut self, squared: Option<&[f64]>) -> Result<()> {
        self.regulariser.weights = squared.map(converted).transpose()?;
        self.scan.see_difference_weights(squared);
        Ok(())
    }

    fn set_matrix(&mut self, matrix: Arc<Matrix<T>>) -> Result<()> {
        self.regulariser.set_matrix(matrix)
    }

    fn has_matrix(&self) -> bool {
        self.regulariser.has_matrix()
    }

    fn forget_transform(&mut self) {
        self.transform = None;
        self.convolutions = None;
        self.making_q = None;
        self.q = None;
    }

    fn within<R: Send>(&mut self, context: &Context, work: impl FnOnce(&mut Self) -> Result<R> + Send) -> Result<R> {
        self.replaced = 0;
        context.install(|| work(self))
    }

    fn memory(&mut self, _: &Context, fourier: &Fourier, solve: &Solve) -> Result<u64> {
        let complex = size_of::<Complex<T>>() as u64;
        // A stream has summed up before its solution, and needs no transform where there is Q.
        let mut transforms = if solve.toeplitz && !solve.holds_samples { 0 } else { self.planned(fourier)?.memory() };
        if solve.toeplitz || self.q.is_some() {
            let [held, making] = self.q_memory(fourier)?;
            let made = if self.q.is_some() { 0 } else { making + self.making_q(fourier)? };
            let together = self.convolutions(fourier)?.count() > 1;
            transforms += if together { held + made } else { held.max(made) };
        }
        let scan = &self.scan;
        let (unknowns, samples) = ((scan.unknowns() * solve.frames) as u64, scan.samples() as u64);
        // Input and output; vectors of conjugate gradient or of a product; images of a coil, and samples between transforms.
        let vectors = solve.purpose.vectors(scan.problems(), 6 + solve.solver.more_vectors(scan.grid));
        let images = scan.problems() as u64 + vectors;
        // What coils see, and shots: of one image and of all at a time.
        let all = scan.by_shots(scan.problems() * scan.unknowns()) + scan.by_shots(scan.unknowns());
        let seen = all as u64 + if scan.mapped { 2 * scan.seen() as u64 } else { 0 };
        let held = if solve.holds_samples { scan.coils as u64 } else { 0 };
        let coils = held + scan.coils_per_problem() as u64 * u64::from(!solve.toeplitz) + solve.solver.more_coils();
        Ok(transforms
            + complex * (images * unknowns + seen + coils * samples + solve.besides)
            + self.regulariser.memory())
    }

    fn check_memory(&mut self, context: &Context, fourier: &Fourier, solve: &Solve) -> Result<()> {
        loop {
            let needed = self.memory(context, fourier, solve)?;
            // What earlier calls left counts in `needed`, and is not to be had again.
            let q = if self.q.is_some() { self.q_memory(fourier)?[0] } else { 0 };
            let cap = context.memory_cap(self.transform.as_ref().map_or(0, Transform::memory) + q);
            if needed <= cap {
                return Ok(());
            }
            if !self.planned(fourier)?.take_less() {
                fail!(MemoryCap, "memory_cap is {cap} bytes; this needs at least {needed}");
            }
        }
    }

    fn read<const N: usize>(&mut self, from: &Array<N>, name: &str, policy: NanPolicy) -> Result<Vector<Self>> {
        host::read(from, name, policy, &mut self.replaced)
    }

    fn verify(&mut self) -> Result<()> {
        Ok(())
    }

    fn replaced(&mut self) -> u64 {
        std::mem::take(&mut self.replaced)
    }

    fn write<const N: usize>(&mut self, from: &Vector<Self>, to: &mut ArrayMut<N>) -> Result<()> {
        host::write(from, to);
        Ok(())
    }

    fn upload(&mut self, values: &[Complex<f64>]) -> Result<Vector<Self>> {
        let mut out = Buffer::<Complex<T>>::zeroed(values.len())?;
        out.iter_mut().zip(values).for_each(|(o, v)| *o = Complex::new(T::of(v.re), T::of(v.im)));
        Ok(out)
    }

    fn download(&mut self, vector: &Vector<Self>) -> Result<Vec<Complex<f64>>> {
        collected(vector.iter().map(|v| Complex::new(v.re.wide(), v.im.wide())))
    }

    fn prepare(&mut self, fourier: &Fourier) -> Result<()> {
        self.planned(fourier)?.prepare()
    }

    fn fine_grid(&self) -> ([usize; 3], usize) {
        self.transform.as_ref().map_or(([0; 3], 0), Transform::fine_grid)
    }

    fn terms(&self) -> (usize, f64) {
        self.transform.as_ref().map_or((0, 0.0), Transform::terms)
    }

    fn normal_terms(&self) -> (usize, f64) {
        self.convolutions.as_ref().filter(|_| self.q.is_some()).map_or((0, 0.0), Convolutions::terms)
    }

    fn forward(&mut self, images: &Vector<Self>, samples: &mut Vector<Self>, progress: Progress) -> Result<()> {
        self.by_shots(images, |e, images| e.forward_seen(images, samples, progress))
    }

    fn adjoint(&mut self, samples: &Vector<Self>, images: &mut Vector<Self>, progress: Progress) -> Result<()> {
        self.of_shots(images, |e, images| e.adjoint_seen(samples, images, progress))
    }

    fn weigh(&mut self, samples: &mut Vector<Self>) -> Result<()> {
        if let Some(weights) = &self.weights {
            coils::weigh(weights, samples);
        }
        Ok(())
    }

    fn clear_imaginary(&mut self, images: &mut Vector<Self>) -> Result<()> {
        imaginary::clear(images);
        Ok(())
    }

    fn add_imaginary(&mut self, weight: f64, images: &Vector<Self>, out: &mut Vector<Self>) -> Result<()> {
        imaginary::add(T::of(weight), images, out);
        Ok(())
    }

    fn prepare_q(&mut self, fourier: &Fourier, job: &Job) -> Result<()> {
        if self.q.is_some() {
            return Ok(());
        }
        let kind = self.kind_of_q(fourier)?;
        job.enter(Stage::Toeplitz);
        let grids = self.convolutions(fourier)?.grids;
        let mut kernel = self.vectors.uninitialised(grids.differences.iter().product())?;
        let mut samples = self.vectors.uninitialised(self.scan.samples())?;
        let mut transform = Some(self.transform_of_differences(fourier)?);
        ready(&mut transform)?.prepare()?;
        let (mut q, mut kind) = (None, Some(kind));
        let count = self.convolutions(fourier)?.count();
        for index in 0..count {
            self.convolutions(fourier)?.of_samples(index, &mut samples);
            self.weigh(&mut samples)?;
            ready(&mut transform)?.adjoint(&samples, &mut kernel, &mut |_| job.check())?;
            // Q of one convolution takes its place in memory.
            if index + 1 == count {
                transform = None;
            }
            if let Some(kind) = kind.take() {
                q = Some(Q::new(grids, kind)?);
            }
            ready(&mut q)?.push_kernel(&kernel)?;
        }
        self.q = q;
        Ok(())
    }

    fn has_q(&self) -> bool {
        self.q.is_some()
    }

    fn q(&mut self) -> Result<Option<Vec<f64>>> {
        let spectrum = self.q.as_ref().and_then(Q::spectrum);
        spectrum.map(|q| collected(q.iter().map(|v| v.wide()))).transpose()
    }

    fn set_q(&mut self, fourier: &Fourier, q: &[f64]) -> Result<()> {
        let mut made = Q::new(self.q_grids(fourier)?, Kind::Alone)?;
        made.push_spectrum(converted(q)?)?;
        self.q = Some(made);
        Ok(())
    }

    fn apply_q(&mut self, from: &Vector<Self>, out: &mut Vector<Self>, job: &Job) -> Result<()> {
        self.by_shots(from, |e, from| e.of_shots(out, |e, out| e.apply_q_seen(from, out, job)))
    }

    fn add_penalty(
        &mut self,
        penalty: Penalty,
        lambda: f64,
        image: &Vector<Self>,
        out: &mut Vector<Self>,
    ) -> Result<()> {
        match penalty {
            Penalty::Identity => self.vectors.combine(lambda, image, 1.0, out),
            Penalty::Differences => {
                self.regulariser.add_differences(T::of(lambda), self.scan.grid, image, out);
                Ok(())
            }
            Penalty::Matrix => self.regulariser.add_matrix(T::of(lambda), image, out),
            Penalty::Wavelets | Penalty::Variation | Penalty::LowRank => {
                fail!(Internal, "a penalty that is no square has no R^H R")
            }
        }
    }

    fn wavelets(&mut self) -> Result<CpuWavelets<T>> {
        CpuWavelets::new(self.level, self.scan.voxels())
    }

    fn soften(
        &mut self,
        work: &mut CpuWavelets<T>,
        (wavelets, shift): (&Wavelets, [usize; 3]),
        threshold: f64,
        image: &mut Vector<Self>,
    ) -> Result<f64> {
        work.soften(wavelets, shift, threshold, image)
    }

    fn coefficient_sizes(
        &mut self,
        work: &mut CpuWavelets<T>,
        (wavelets, shift): (&Wavelets, [usize; 3]),
        image: &mut Vector<Self>,
    ) -> Result<[f64; 2]> {
        work.sizes(wavelets, shift, image)
    }

    fn blocks(&mut self, _: &Blocks, _: usize) -> Result<()> {
        Ok(())
    }

    fn shrink(
        &mut self,
        (): &mut (),
        of: &Blocks,
        threshold: Option<f64>,
        images: &mut Vector<Self>,
    ) -> Result<[f64; 2]> {
        low_rank::shrink(of, threshold, images)
    }

    fn fields(&mut self, images: usize) -> Result<CpuFields<T>> {
        CpuFields::new(self.level, self.scan.grid, images)
    }

    fn back(&mut self, fields: &CpuFields<T>, scale: f64, image: &Vector<Self>, out: &mut Vector<Self>) -> Result<()> {
        fields.back(self.regulariser.weights.as_deref(), scale, image, out);
        Ok(())
    }

    fn raise(&mut self, fields: &mut CpuFields<T>, raise: Raise, x: &Vector<Self>) -> Result<()> {
        fields.raise(self.regulariser.weights.as_deref(), raise, x);
        Ok(())
    }

    fn variation(&mut self, fields: &CpuFields<T>, huber: f64, x: &Vector<Self>) -> Result<f64> {
        fields.variation(self.regulariser.weights.as_deref(), huber, x)
    }
}

/// The processor has one engine.
fn no_crew<R>() -> Result<R> {
    fail!(Internal, "the processor has no crew")
}

/// Numbers in the engine's precision.
fn converted<T: Scalar>(values: &[f64]) -> Result<Buffer<T>> {
    let mut out = Buffer::zeroed(values.len())?;
    out.iter_mut().zip(values).for_each(|(o, v): (&mut T, _)| *o = T::of(*v));
    Ok(out)
}
