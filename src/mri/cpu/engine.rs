//! The engine on the processor. Results are the same bits for any number of threads.

use super::toeplitz::Toeplitz;
use super::transform::Transform;
use crate::array::{Array, ArrayMut, host};
use crate::context::{Context, Job, NanPolicy, Stage};
use crate::cpu::buffer::{Buffer, collected, zeros};
use crate::cpu::level::Level;
use crate::cpu::simd::Real;
use crate::error::{Result, fail};
use crate::mri::engine::{Engine, Scan, Solve};
use crate::mri::regulariser::{Matrix, Penalty, Regulariser};
use crate::mri::toeplitz::differences;
use crate::mri::transform::{Beyond, Fourier, Progress};
use rayon::prelude::*;
use rustfft::num_complex::Complex;

/// See the module.
pub(in crate::mri) struct CpuEngine<T: Real> {
    level: Level,
    scan: Scan,
    /// Density weights; None means 1.
    weights: Option<Buffer<T>>,
    /// Sensitivities `[coil][voxel]`.
    maps: Option<Buffer<Complex<T>>>,
    regulariser: Regulariser<T>,
    transform: Option<Transform<T>>,
    toeplitz: Option<Toeplitz<T>>,
    /// Bytes of the transform that makes Q, once they are known.
    making_q: Option<u64>,
    /// An image as a coil sees it, and what becomes of it.
    seen: [Option<Buffer<Complex<T>>>; 2],
    replaced: u64,
}

/// Elements that a task of plain arithmetic takes at least.
const GRAIN: usize = 1 << 14;

impl<T: Real> CpuEngine<T> {
    pub(in crate::mri) fn new(level: Level, scan: Scan) -> Self {
        Self {
            level,
            scan,
            weights: None,
            maps: None,
            regulariser: Regulariser { weights: None, matrix: None },
            transform: None,
            toeplitz: None,
            making_q: None,
            seen: [None, None],
            replaced: 0,
        }
    }

    fn new_transform(&self, fourier: &Fourier, grid: [usize; 3], beyond: &Beyond) -> Result<Transform<T>> {
        Transform::new(fourier, self.level, grid, &self.scan.trajectory, beyond)
    }

    /// Bytes of the transform that makes Q.
    fn making_q(&mut self, fourier: &Fourier) -> Result<u64> {
        if let Some(bytes) = self.making_q {
            return Ok(bytes);
        }
        let bytes = self.new_transform(fourier, differences(self.scan.grid), &Beyond::default())?.memory();
        self.making_q = Some(bytes);
        Ok(bytes)
    }

    /// The transform, which may not be ready yet.
    fn planned(&mut self, fourier: &Fourier) -> Result<&mut Transform<T>> {
        if self.transform.is_none() {
            self.transform = Some(self.new_transform(fourier, self.scan.grid, &self.scan.beyond)?);
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

/// What a slot holds, or an image of zeros.
fn image<T: Real>(slot: &mut Option<Buffer<Complex<T>>>, voxels: usize) -> Result<Buffer<Complex<T>>> {
    match slot.take() {
        Some(image) => Ok(image),
        None => Buffer::zeroed(voxels),
    }
}

/// to = map times image.
fn see<T: Real>(map: &[Complex<T>], image: &[Complex<T>], to: &mut [Complex<T>]) {
    to.par_iter_mut().zip(image).zip(map).with_min_len(GRAIN).for_each(|((t, i), s)| *t = *i * *s);
}

/// image = image + conj(map) times `of`.
fn merge<T: Real>(map: &[Complex<T>], of: &[Complex<T>], image: &mut [Complex<T>]) {
    image.par_iter_mut().zip(of).zip(map).with_min_len(GRAIN).for_each(|((i, o), s)| *i = *i + s.conj() * *o);
}

impl<T: Real> Engine for CpuEngine<T> {
    type Real = T;
    type Vector = Buffer<Complex<T>>;
    const WAITS: bool = false;

    fn scan(&self) -> &Scan {
        &self.scan
    }

    fn set_stream(&mut self, _: usize) {}

    fn set_weights(&mut self, weights: Option<Vec<f64>>) -> Result<()> {
        self.weights = weights.as_deref().map(converted).transpose()?;
        self.scan.weights = weights;
        self.toeplitz = None;
        Ok(())
    }

    fn set_maps(&mut self, maps: Option<Self::Vector>) {
        self.scan.mapped = maps.is_some();
        self.maps = maps;
    }

    fn set_beyond(&mut self, beyond: Beyond) {
        self.scan.beyond = beyond;
        self.forget_transform();
    }

    fn set_difference_weights(&mut self, squared: Option<&[f64]>) -> Result<()> {
        self.regulariser.weights = squared.map(converted).transpose()?;
        Ok(())
    }

    fn set_matrix(&mut self, matrix: Matrix<T>) -> Result<()> {
        self.regulariser.matrix = Some(matrix);
        Ok(())
    }

    fn has_matrix(&self) -> bool {
        self.regulariser.matrix.is_some()
    }

    fn forget_transform(&mut self) {
        self.transform = None;
        self.making_q = None;
        self.toeplitz = None;
    }

    fn within<R: Send>(&mut self, context: &Context, work: impl FnOnce(&mut Self) -> Result<R> + Send) -> Result<R> {
        self.replaced = 0;
        context.install(|| work(self))
    }

    fn memory(&mut self, _: &Context, fourier: &Fourier, solve: &Solve) -> Result<u64> {
        let complex = size_of::<Complex<T>>() as u64;
        let mut most = self.planned(fourier)?.memory();
        if solve.toeplitz {
            let [held, making] = Toeplitz::<T>::memory(self.scan.grid);
            let made = if self.toeplitz.is_some() { 0 } else { making + self.making_q(fourier)? };
            most += held.max(made);
        }
        let scan = &self.scan;
        let (voxels, samples) = (scan.voxels() as u64, scan.samples() as u64);
        // Input and output; vectors of conjugate gradient or of a product; what coils see, and pairs of transforms.
        let images = scan.images() as u64 + solve.purpose.vectors(scan.images(), 6) + if scan.mapped { 2 } else { 0 };
        let coils = scan.coils as u64 + scan.seen_by() as u64 * u64::from(!solve.toeplitz);
        Ok(most + complex * (images * voxels + coils * samples) + self.regulariser.memory())
    }

    fn check_memory(&mut self, context: &Context, fourier: &Fourier, solve: &Solve) -> Result<()> {
        let needed = self.memory(context, fourier, solve)?;
        // What earlier calls left counts in `needed`, and is not to be had again.
        let q = self.toeplitz.as_ref().map_or(0, |_| Toeplitz::<T>::memory(self.scan.grid)[0]);
        let cap = context.memory_cap(self.transform.as_ref().map_or(0, Transform::memory) + q);
        if needed > cap {
            fail!(MemoryCap, "memory_cap is {cap} bytes; this needs at least {needed}");
        }
        Ok(())
    }

    fn read<const N: usize>(&mut self, from: &Array<N>, name: &str, policy: NanPolicy) -> Result<Self::Vector> {
        host::read(from, name, policy, &mut self.replaced)
    }

    fn verify(&mut self) -> Result<()> {
        Ok(())
    }

    fn replaced(&mut self) -> u64 {
        std::mem::take(&mut self.replaced)
    }

    fn write<const N: usize>(&mut self, from: &Self::Vector, to: &mut ArrayMut<N>) -> Result<()> {
        host::write(from, to);
        Ok(())
    }

    fn zeros(&mut self, count: usize) -> Result<Self::Vector> {
        Buffer::zeroed(count)
    }

    fn room(&mut self, count: usize) -> Result<Self::Vector> {
        Buffer::zeroed(count)
    }

    fn upload(&mut self, values: &[Complex<f64>]) -> Result<Self::Vector> {
        let mut out = Buffer::<Complex<T>>::zeroed(values.len())?;
        out.iter_mut().zip(values).for_each(|(o, v)| *o = Complex::new(T::of(v.re), T::of(v.im)));
        Ok(out)
    }

    fn download(&mut self, vector: &Self::Vector) -> Result<Vec<Complex<f64>>> {
        collected(vector.iter().map(|v| Complex::new(v.re.wide(), v.im.wide())))
    }

    fn copy(&mut self, from: (&Self::Vector, usize), to: (&mut Self::Vector, usize), count: usize) -> Result<()> {
        to.0[to.1..][..count].copy_from_slice(&from.0[from.1..][..count]);
        Ok(())
    }

    fn prepare(&mut self, fourier: &Fourier) -> Result<()> {
        self.planned(fourier)?.prepare()
    }

    fn fine_grid(&self) -> ([usize; 3], usize) {
        self.transform.as_ref().map_or(([0; 3], 0), Transform::fine_grid)
    }

    fn forward(&mut self, images: &Self::Vector, samples: &mut Self::Vector, progress: Progress) -> Result<()> {
        let Self { transform, maps, seen, scan, .. } = self;
        let (transform, voxels, count) = (ready(transform)?, scan.voxels(), scan.samples());
        let coils = samples.len() / count;
        let mut weighted = if maps.is_some() { Some(image(&mut seen[0], voxels)?) } else { None };
        for (coil, samples) in samples.chunks_exact_mut(count).enumerate() {
            let part = &mut |f: f64| progress((coil as f64 + f) / coils as f64);
            match (&*maps, &mut weighted) {
                (Some(maps), Some(weighted)) => {
                    see(&maps[coil * voxels..][..voxels], images, weighted);
                    transform.forward(weighted, samples, part)?;
                }
                _ => transform.forward(&images[coil * voxels..][..voxels], samples, part)?,
            }
        }
        seen[0] = weighted;
        Ok(())
    }

    fn adjoint(&mut self, samples: &Self::Vector, images: &mut Self::Vector, progress: Progress) -> Result<()> {
        let Self { transform, maps, seen, scan, .. } = self;
        let (transform, voxels, count) = (ready(transform)?, scan.voxels(), scan.samples());
        let coils = samples.len() / count;
        let mut one = None;
        if maps.is_some() {
            one = Some(image(&mut seen[0], voxels)?);
            images.fill(Complex::default());
        }
        for (coil, samples) in samples.chunks_exact(count).enumerate() {
            let part = &mut |f: f64| progress((coil as f64 + f) / coils as f64);
            match (&*maps, &mut one) {
                (Some(maps), Some(one)) => {
                    transform.adjoint(samples, one, part)?;
                    merge(&maps[coil * voxels..][..voxels], one, images);
                }
                _ => transform.adjoint(samples, &mut images[coil * voxels..][..voxels], part)?,
            }
        }
        seen[0] = one;
        Ok(())
    }

    fn weigh(&mut self, samples: &mut Self::Vector) -> Result<()> {
        if let Some(weights) = &self.weights {
            for coil in samples.chunks_exact_mut(weights.len()) {
                coil.par_iter_mut().zip(&**weights).with_min_len(GRAIN).for_each(|(s, w)| *s = s.scale(*w));
            }
        }
        Ok(())
    }

    fn prepare_q(&mut self, fourier: &Fourier, job: &Job) -> Result<()> {
        if self.toeplitz.is_some() {
            return Ok(());
        }
        self.scan.check_convolution()?;
        job.enter(Stage::Toeplitz);
        let grid = differences(self.scan.grid);
        let mut kernel = Buffer::<Complex<T>>::zeroed(grid.iter().product())?;
        let mut ones = Buffer::<Complex<T>>::zeroed(self.scan.samples())?;
        ones.fill(Complex::new(T::of(1.0), T::ZERO));
        self.weigh(&mut ones)?;
        let mut transform = self.new_transform(fourier, grid, &Beyond::default())?;
        transform.prepare()?;
        transform.adjoint(&ones, &mut kernel, &mut |_| job.check())?;
        drop(transform);
        self.toeplitz = Some(Toeplitz::new(self.scan.grid, &kernel)?);
        Ok(())
    }

    fn has_q(&self) -> bool {
        self.toeplitz.is_some()
    }

    fn q(&mut self) -> Result<Option<Vec<f64>>> {
        self.toeplitz.as_ref().map(|q| collected(q.spectrum().iter().map(|v| v.wide()))).transpose()
    }

    fn set_q(&mut self, q: &[f64]) -> Result<()> {
        self.scan.check_convolution()?;
        self.toeplitz = Some(Toeplitz::from_spectrum(self.scan.grid, converted(q)?)?);
        Ok(())
    }

    fn apply_q(&mut self, from: &Self::Vector, out: &mut Self::Vector, job: &Job) -> Result<()> {
        let Self { toeplitz, maps, seen, .. } = self;
        let toeplitz = ready(toeplitz)?;
        let Some(maps) = maps else {
            toeplitz.apply(from, out)?;
            return Ok(());
        };
        let [mut weighted, mut one] = [image(&mut seen[0], from.len())?, image(&mut seen[1], from.len())?];
        out.fill(Complex::default());
        for map in maps.chunks_exact(from.len()) {
            see(map, from, &mut weighted);
            toeplitz.apply(&weighted, &mut one)?;
            merge(map, &one, out);
            job.check()?;
        }
        *seen = [Some(weighted), Some(one)];
        Ok(())
    }

    fn add_penalty(
        &mut self,
        penalty: Penalty,
        lambda: f64,
        image: &Self::Vector,
        out: &mut Self::Vector,
    ) -> Result<()> {
        self.regulariser.add((penalty, T::of(lambda)), self.scan.grid, image, out);
        Ok(())
    }

    /// Parts of a fixed size are added in their order, so that the sum is the same for any number of threads.
    fn dot(&mut self, a: &Self::Vector, b: &Self::Vector) -> Result<f64> {
        let product = |(a, b): (&Complex<T>, &Complex<T>)| a.re.wide() * b.re.wide() + a.im.wide() * b.im.wide();
        let mut parts: Vec<f64> = zeros(a.len().div_ceil(GRAIN))?;
        let pairs = a.par_chunks(GRAIN).zip(b.par_chunks(GRAIN));
        parts.par_iter_mut().zip(pairs).for_each(|(sum, (a, b))| *sum = a.iter().zip(b).map(product).sum());
        Ok(parts.iter().sum())
    }

    fn combine(&mut self, a: f64, x: &Self::Vector, b: f64, y: &mut Self::Vector) -> Result<()> {
        let (a, b) = (T::of(a), T::of(b));
        y.par_iter_mut().zip(&**x).with_min_len(GRAIN).for_each(|(y, x)| *y = x.scale(a) + y.scale(b));
        Ok(())
    }

    fn step(
        &mut self,
        a: f64,
        along: (&Self::Vector, &Self::Vector),
        x: &mut Self::Vector,
        residual: &mut Self::Vector,
    ) -> Result<f64> {
        self.combine(a, along.0, 1.0, x)?;
        self.combine(-a, along.1, 1.0, residual)?;
        self.dot(residual, residual)
    }
}

/// Numbers in the engine's precision.
fn converted<T: Real>(values: &[f64]) -> Result<Buffer<T>> {
    let mut out = Buffer::zeroed(values.len())?;
    out.iter_mut().zip(values).for_each(|(o, v): (&mut T, _)| *o = T::of(*v));
    Ok(out)
}
