//! The encoding operator on the processor: coil sensitivities, Fourier sums, density weights, and F^H W F.

use super::regulariser::{Penalty, Regulariser};
use super::toeplitz::{Toeplitz, differences};
use super::trajectory::Trajectory;
use super::transform::{Beyond, Fourier, Progress, Transform};
use crate::context::{Job, Stage};
use crate::cpu::buffer::Buffer;
use crate::cpu::level::Level;
use crate::cpu::vector::Real;
use crate::error::{Result, fail};
use crate::krylov::{LinearSystem, Stop, conjugate_gradient};
use rayon::prelude::*;
use rustfft::num_complex::Complex;
use std::sync::Arc;

/// See the module. With coil maps, one image gives the samples of all coils; without, each coil has an image of its own.
pub(super) struct Engine<T: Real> {
    pub(super) level: Level,
    pub(super) grid: [usize; 3],
    pub(super) coils: usize,
    pub(super) trajectory: Arc<Trajectory>,
    /// Density weights; None means 1.
    pub(super) weights: Option<Buffer<T>>,
    /// Sensitivities `[coil][voxel]`.
    pub(super) maps: Option<Buffer<Complex<T>>>,
    pub(super) beyond: Beyond,
    pub(super) regulariser: Regulariser<T>,
    pub(super) toeplitz: Option<Toeplitz<T>>,
    transform: Option<Transform<T>>,
}

/// How a system is solved.
#[derive(Clone, Copy, Debug)]
pub(super) struct Solve {
    pub(super) stop: Stop,
    pub(super) lambda: f64,
    pub(super) penalty: Penalty,
    /// F^H W F by Q; else by a forward and an adjoint transform.
    pub(super) toeplitz: bool,
    /// The images given are where to begin.
    pub(super) warm: bool,
}

/// Elements that a task of plain arithmetic takes at least.
const GRAIN: usize = 1 << 14;

impl<T: Real> Engine<T> {
    pub(super) fn new(level: Level, grid: [usize; 3], coils: usize, trajectory: Arc<Trajectory>) -> Self {
        let regulariser = Regulariser { weights: None, matrix: None };
        Self {
            level,
            grid,
            coils,
            trajectory,
            weights: None,
            maps: None,
            beyond: Beyond::default(),
            regulariser,
            toeplitz: None,
            transform: None,
        }
    }

    pub(super) fn voxels(&self) -> usize {
        self.grid.iter().product()
    }

    pub(super) fn samples(&self) -> usize {
        self.trajectory.samples()
    }

    /// Images that a scan gives.
    pub(super) fn images(&self) -> usize {
        if self.maps.is_some() { 1 } else { self.coils }
    }

    /// Coils that see one image.
    fn seen_by(&self) -> usize {
        if self.maps.is_some() { self.coils } else { 1 }
    }

    /// For another way to compute.
    pub(super) fn forget_transform(&mut self) {
        self.transform = None;
    }

    /// What the transform is, once it is there.
    pub(super) fn transform(&self) -> Option<&Transform<T>> {
        self.transform.as_ref()
    }

    /// Makes the transform, unless it is there.
    pub(super) fn prepare(&mut self, fourier: &Fourier) -> Result<()> {
        if self.transform.is_none() {
            let made = Transform::new(fourier, self.level, self.grid, &self.trajectory, &self.beyond)?;
            self.transform = Some(made);
        }
        Ok(())
    }

    fn ready(&mut self) -> Result<&mut Transform<T>> {
        match &mut self.transform {
            Some(t) => Ok(t),
            None => fail!(Internal, "no transform was prepared"),
        }
    }

    /// samples = F image, for one image.
    pub(super) fn forward(
        &mut self,
        image: &[Complex<T>],
        samples: &mut [Complex<T>],
        progress: Progress,
    ) -> Result<()> {
        let (voxels, count, coils) = (self.voxels(), self.samples(), self.seen_by());
        let Some(maps) = self.maps.take() else { return self.ready()?.forward(image, samples, progress) };
        let mut seen = || -> Result<()> {
            let mut weighted = Buffer::<Complex<T>>::zeroed(voxels)?;
            for (coil, samples) in samples.chunks_exact_mut(count).enumerate() {
                let map = &maps[coil * voxels..][..voxels];
                let all = weighted.par_iter_mut().zip(image).zip(map).with_min_len(GRAIN);
                all.for_each(|((w, i), s)| *w = *i * *s);
                let part = &mut |f: f64| progress((coil as f64 + f) / coils as f64);
                self.ready()?.forward(&weighted, samples, part)?;
            }
            Ok(())
        };
        let result = seen();
        self.maps = Some(maps);
        result
    }

    /// image = F^H samples, for one image.
    pub(super) fn adjoint(
        &mut self,
        samples: &[Complex<T>],
        image: &mut [Complex<T>],
        progress: Progress,
    ) -> Result<()> {
        let (voxels, count, coils) = (self.voxels(), self.samples(), self.seen_by());
        let Some(maps) = self.maps.take() else { return self.ready()?.adjoint(samples, image, progress) };
        let mut seen = || -> Result<()> {
            let mut one = Buffer::<Complex<T>>::zeroed(voxels)?;
            image.fill(Complex::default());
            for (coil, samples) in samples.chunks_exact(count).enumerate() {
                let part = &mut |f: f64| progress((coil as f64 + f) / coils as f64);
                self.ready()?.adjoint(samples, &mut one, part)?;
                let map = &maps[coil * voxels..][..voxels];
                let all = image.par_iter_mut().zip(&*one).zip(map).with_min_len(GRAIN);
                all.for_each(|((i, o), s)| *i = *i + s.conj() * *o);
            }
            Ok(())
        };
        let result = seen();
        self.maps = Some(maps);
        result
    }

    /// samples = W samples, for the samples of any number of coils.
    pub(super) fn weigh(&self, samples: &mut [Complex<T>]) {
        let Some(weights) = &self.weights else { return };
        for coil in samples.chunks_exact_mut(weights.len()) {
            coil.par_iter_mut().zip(&**weights).with_min_len(GRAIN).for_each(|(s, w)| *s = s.scale(*w));
        }
    }

    /// Makes Q of the trajectory and the weights, unless it is there.
    pub(super) fn prepare_toeplitz(&mut self, fourier: &Fourier, job: &Job) -> Result<()> {
        if self.toeplitz.is_some() {
            return Ok(());
        }
        if self.beyond.is_needed() {
            fail!(
                NotConfigured,
                "with a field map or voxel positions F^H W F is no convolution, so that there is no Q"
            );
        }
        job.enter(Stage::Toeplitz);
        let grid = differences(self.grid);
        let mut kernel = Buffer::<Complex<T>>::zeroed(grid.iter().product())?;
        let mut ones = Buffer::<Complex<T>>::zeroed(self.samples())?;
        ones.fill(Complex::new(T::of(1.0), T::ZERO));
        self.weigh(&mut ones);
        let mut transform = Transform::new(fourier, self.level, grid, &self.trajectory, &Beyond::default())?;
        transform.adjoint(&ones, &mut kernel, &mut |_| job.check())?;
        drop(transform);
        self.toeplitz = Some(Toeplitz::new(self.grid, &kernel)?);
        Ok(())
    }

    /// out = (F^H W F + lambda R^H R) image, for one image.
    fn normal(
        &mut self,
        image: &[Complex<T>],
        out: &mut [Complex<T>],
        scratch: &mut Scratch<T>,
        solve: &Solve,
        job: &Job,
    ) -> Result<()> {
        if !solve.toeplitz {
            self.forward(image, &mut scratch.samples, &mut |_| job.check())?;
            self.weigh(&mut scratch.samples);
            self.adjoint(&scratch.samples, out, &mut |_| job.check())?;
        } else {
            let Self { toeplitz: Some(toeplitz), maps, .. } = self else { fail!(Internal, "no Q was prepared") };
            match maps {
                None => toeplitz.apply(image, out),
                Some(maps) => {
                    out.fill(Complex::default());
                    let [seen, summed] = &mut scratch.images;
                    for map in maps.chunks_exact(image.len()) {
                        let all = seen.par_iter_mut().zip(image).zip(map).with_min_len(GRAIN);
                        all.for_each(|((w, i), s)| *w = *i * *s);
                        toeplitz.apply(seen, summed);
                        let all = out.par_iter_mut().zip(&**summed).zip(map).with_min_len(GRAIN);
                        all.for_each(|((o, v), s)| *o = *o + s.conj() * *v);
                        job.check()?;
                    }
                }
            }
        }
        if solve.lambda > 0.0 {
            self.regulariser.add((solve.penalty, T::of(solve.lambda)), self.grid, image, out);
        }
        Ok(())
    }

    /// Bytes of the vectors of a solution.
    pub(super) fn solution_memory(&self, solve: &Solve) -> u64 {
        let complex = size_of::<Complex<T>>() as u64;
        let images = 6 + if self.maps.is_some() { 2 } else { 0 };
        let samples = self.seen_by() as u64 * if solve.toeplitz { 1 } else { 2 };
        complex * (images * self.voxels() as u64 + samples * self.samples() as u64)
    }

    /// The normal operator on one image.
    pub(super) fn apply_normal(
        &mut self,
        image: &[Complex<T>],
        out: &mut [Complex<T>],
        solve: &Solve,
        job: &Job,
    ) -> Result<()> {
        let mut scratch = Scratch::new(self, solve)?;
        self.normal(image, out, &mut scratch, solve, job)
    }

    /// Solves `(F^H W F + lambda R^H R) image = F^H W samples` for one image; `samples` are used up. `share`: this image's part of the
    /// whole. Returns the residuals' history.
    pub(super) fn solve(
        &mut self,
        samples: &mut [Complex<T>],
        image: &mut Buffer<Complex<T>>,
        solve: &Solve,
        (job, share): (&Job, f64),
    ) -> Result<Vec<f64>> {
        self.weigh(samples);
        let mut right = Buffer::zeroed(self.voxels())?;
        self.adjoint(samples, &mut right, &mut |_| job.check())?;
        job.enter(Stage::Solve);
        let scratch = Scratch::new(self, solve)?;
        let mut system = System { engine: self, scratch, solve, job, share };
        let history = conjugate_gradient(&mut system, &mut right, image, !solve.warm, solve.stop)?;
        let left = solve.stop.iterations - (history.len() - 1).min(solve.stop.iterations);
        job.advance(share * left as f64 / solve.stop.iterations.max(1) as f64);
        Ok(history)
    }
}

/// What the normal operator needs besides its input and output.
struct Scratch<T: Real> {
    samples: Buffer<Complex<T>>,
    images: [Buffer<Complex<T>>; 2],
}

impl<T: Real> Scratch<T> {
    fn new(engine: &Engine<T>, solve: &Solve) -> Result<Self> {
        let samples = if solve.toeplitz { 0 } else { engine.seen_by() * engine.samples() };
        let image = if solve.toeplitz && engine.maps.is_some() { engine.voxels() } else { 0 };
        Ok(Self { samples: Buffer::zeroed(samples)?, images: [Buffer::zeroed(image)?, Buffer::zeroed(image)?] })
    }
}

struct System<'a, T: Real> {
    engine: &'a mut Engine<T>,
    scratch: Scratch<T>,
    solve: &'a Solve,
    job: &'a Job,
    share: f64,
}

impl<T: Real> LinearSystem for System<'_, T> {
    type Vector = Buffer<Complex<T>>;

    fn zeros(&mut self) -> Result<Self::Vector> {
        Buffer::zeroed(self.engine.voxels())
    }

    fn apply(&mut self, x: &Self::Vector, out: &mut Self::Vector) -> Result<()> {
        self.engine.normal(x, out, &mut self.scratch, self.solve, self.job)
    }

    /// Parts of a fixed size are added in their order, so that the sum is the same for any number of threads.
    fn dot(&mut self, a: &Self::Vector, b: &Self::Vector) -> Result<f64> {
        let product = |(a, b): (&Complex<T>, &Complex<T>)| a.re.wide() * b.re.wide() + a.im.wide() * b.im.wide();
        let parts = a.par_chunks(GRAIN).zip(b.par_chunks(GRAIN));
        let parts: Vec<f64> = parts.map(|(a, b)| a.iter().zip(b).map(product).sum()).collect();
        Ok(parts.iter().sum())
    }

    fn add(&mut self, a: f64, x: &Self::Vector, y: &mut Self::Vector) -> Result<()> {
        let a = T::of(a);
        y.par_iter_mut().zip(&**x).with_min_len(GRAIN).for_each(|(y, x)| *y = *y + x.scale(a));
        Ok(())
    }

    fn add_to(&mut self, x: &Self::Vector, a: f64, y: &mut Self::Vector) -> Result<()> {
        let a = T::of(a);
        y.par_iter_mut().zip(&**x).with_min_len(GRAIN).for_each(|(y, x)| *y = *x + y.scale(a));
        Ok(())
    }

    fn after(&mut self, _: usize, _: f64) -> Result<()> {
        self.job.advance(self.share / self.solve.stop.iterations as f64);
        self.job.check()
    }
}
