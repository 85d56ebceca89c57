//! Fourier sums with a field on the processor: a sum of products of those without.

use super::coils::{add_products, combine, conjugate_products, multiply};
use super::sums::Sums;
use crate::trajectory::Trajectory;
use crate::transform::{Progress, Taken};
use isocenter_base::cpu::buffer::Buffer;
use isocenter_base::cpu::level::Level;
use isocenter_base::error::{Result, fail};
use isocenter_nufft::Scalar;
use rustfft::num_complex::Complex;
use std::sync::Arc;

/// Sums for one image, both ways.
pub(super) struct FieldSums<T: Scalar> {
    taken: Taken,
    /// Without the field; on lines it takes all terms side by side.
    sums: Sums<T>,
    made: Option<Factors<T>>,
}

/// What is made when it is first needed.
struct Factors<T: Scalar> {
    /// Of voxels and of samples, `[term][..]`.
    voxels: Buffer<Complex<T>>,
    samples: Buffer<Complex<T>>,
    /// An image, and samples, of a term; samples of all terms on lines.
    image: Buffer<Complex<T>>,
    values: Buffer<Complex<T>>,
}

impl<T: Scalar> FieldSums<T> {
    pub(super) fn new(taken: Taken, level: Level, grid: [usize; 3], trajectory: &Arc<Trajectory>) -> Result<Self> {
        let of = (trajectory, &taken.effects);
        let sums = Sums::new(&taken.fourier, level, grid, of, taken.segments.terms())?;
        Ok(Self { taken, sums, made: None })
    }

    /// The fast transform's grid along z, y, x, and its spreading function's width; 0 for exact sums.
    pub(super) fn fine_grid(&self) -> ([usize; 3], usize) {
        self.sums.fine_grid()
    }

    /// Makes it work in less memory, with the same results; false if it cannot.
    pub(super) fn take_less(&mut self) -> bool {
        self.sums.take_less()
    }

    /// Products, and their relative l2 error.
    pub(super) fn terms(&self) -> (usize, f64) {
        (self.taken.segments.terms(), self.taken.segments.error())
    }

    pub(super) fn prepare(&mut self) -> Result<()> {
        self.sums.prepare()?;
        if self.made.is_none() {
            let Taken { segments, field, .. } = &self.taken;
            let (voxels, samples) = (field.hertz.len(), field.seconds.len());
            let at_once = if self.sums.lines().is_some() { segments.terms() } else { 1 };
            self.made = Some(Factors {
                voxels: segments.of_voxels(field)?,
                samples: segments.of_samples(&field.seconds)?,
                image: Buffer::zeroed(voxels)?,
                values: Buffer::zeroed(at_once * samples)?,
            });
        }
        Ok(())
    }

    /// Maximum number of bytes that it holds at work.
    pub(super) fn memory(&self) -> u64 {
        let Taken { segments, field, .. } = &self.taken;
        let numbers = (2 * segments.terms() as u64 + 1) * (field.hertz.len() + field.seconds.len()) as u64;
        self.sums.memory() + numbers * size_of::<Complex<T>>() as u64
    }

    pub(super) fn forward(
        &mut self,
        from: &[Complex<T>],
        samples: &mut [Complex<T>],
        progress: Progress,
    ) -> Result<()> {
        let Self { sums, made, .. } = self;
        let Some(Factors { voxels, samples: factors, image, values }) = made else {
            fail!(Internal, "the field's sums were not prepared");
        };
        if let Some(lines) = sums.lines() {
            lines.forward(from, Some(voxels), values, progress)?;
        }
        let terms = factors.len() / samples.len();
        for (term, (voxels, factors)) in
            voxels.chunks_exact(from.len()).zip(factors.chunks_exact(samples.len())).enumerate()
        {
            let all_at_once = values.len() > samples.len();
            if !all_at_once {
                multiply(voxels, from, image);
                sums.forward(image, values, &mut |f| progress((term as f64 + f) / terms as f64))?;
            }
            let values = &values[if all_at_once { term * samples.len() } else { 0 }..][..samples.len()];
            add_products(factors, values, samples, term > 0);
        }
        Ok(())
    }

    pub(super) fn adjoint(&mut self, samples: &[Complex<T>], to: &mut [Complex<T>], progress: Progress) -> Result<()> {
        let Self { sums, made, .. } = self;
        let Some(Factors { voxels, samples: factors, image, values }) = made else {
            fail!(Internal, "the field's sums were not prepared");
        };
        if let Some(lines) = sums.lines() {
            for (values, factors) in values.chunks_exact_mut(samples.len()).zip(factors.chunks_exact(samples.len())) {
                conjugate_products(factors, samples, values);
            }
            return lines.adjoint(values, Some(voxels), to, progress);
        }
        let terms = factors.len() / samples.len();
        to.fill(Complex::default());
        for (term, (voxels, factors)) in
            voxels.chunks_exact(to.len()).zip(factors.chunks_exact(samples.len())).enumerate()
        {
            conjugate_products(factors, samples, values);
            sums.adjoint(values, image, &mut |f| progress((term as f64 + f) / terms as f64))?;
            combine(voxels, image, to);
        }
        Ok(())
    }
}
