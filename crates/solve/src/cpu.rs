//! Vectors of complex numbers in the processor's memory. Results are the same bits for any number of threads.

use super::{Course, Momentum, Survey, Vectors};
use isocenter_base::cpu::buffer::{Buffer, zeros};
use isocenter_base::cpu::parallel::*;
use isocenter_base::cpu::simd::Real;
use isocenter_base::error::Result;
use rustfft::num_complex::Complex;
use std::marker::PhantomData;

/// Minimum number of elements that a task of plain arithmetic takes.
pub const GRAIN: usize = 1 << 14;

/// Their arithmetic, on the rayon pool that it is called in.
#[derive(Debug)]
pub struct CpuVectors<T> {
    real: PhantomData<T>,
}

impl<T> Default for CpuVectors<T> {
    fn default() -> Self {
        Self { real: PhantomData }
    }
}

impl<T: Real> Vectors for CpuVectors<T> {
    type Vector = Buffer<Complex<T>>;

    fn len(&self, vector: &Self::Vector) -> usize {
        <[Complex<T>]>::len(vector)
    }

    fn uninitialised(&mut self, count: usize) -> Result<Self::Vector> {
        Buffer::zeroed(count)
    }

    fn zeros(&mut self, count: usize) -> Result<Self::Vector> {
        Buffer::zeroed(count)
    }

    fn filled(&mut self, count: usize, value: f64) -> Result<Self::Vector> {
        let mut vector = Buffer::zeroed(count)?;
        vector.fill(Complex::new(T::of(value), T::ZERO));
        Ok(vector)
    }

    fn copy(&mut self, from: (&Self::Vector, usize), to: (&mut Self::Vector, usize), count: usize) -> Result<()> {
        to.0[to.1..][..count].copy_from_slice(&from.0[from.1..][..count]);
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
        (direction, product): (&Self::Vector, &Self::Vector),
        x: &mut Self::Vector,
        residual: &mut Self::Vector,
    ) -> Result<f64> {
        self.combine(a, direction, 1.0, x)?;
        self.combine(-a, product, 1.0, residual)?;
        self.dot(residual, residual)
    }
}

impl<T: Real> Momentum for CpuVectors<T> {
    fn descend(
        &mut self,
        step: f64,
        momentum: f64,
        Course { x: [x, nx], before: [b, nb] }: Course<&Self::Vector>,
        right: &Self::Vector,
        out: &mut Self::Vector,
    ) -> Result<()> {
        let (step, momentum) = (T::of(step), T::of(momentum));
        let ahead = |now: &Complex<T>, before: &Complex<T>| *now + (*now - *before).scale(momentum);
        let of = out.par_iter_mut().zip(&**x).zip(&**b).zip(&**nx).zip(&**nb).zip(&**right).with_min_len(GRAIN);
        of.for_each(|(((((o, x), b), nx), nb), r)| *o = ahead(x, b) - (ahead(nx, nb) - *r).scale(step));
        Ok(())
    }

    /// Added up as by `dot`.
    fn survey(
        &mut self,
        momentum: f64,
        Course { x: [x, nx], before: [b, nb] }: Course<&Self::Vector>,
        right: &Self::Vector,
        [next, nn]: [&Self::Vector; 2],
    ) -> Result<Survey> {
        let momentum = T::of(momentum);
        let product = |a: Complex<T>, b: Complex<T>| a.re.wide() * b.re.wide() + a.im.wide() * b.im.wide();
        let mut parts: Vec<[f64; Survey::SUMS]> = zeros(next.len().div_ceil(GRAIN))?;
        parts.par_iter_mut().enumerate().for_each(|(part, sums)| {
            for i in part * GRAIN..((part + 1) * GRAIN).min(next.len()) {
                let y = x[i] + (x[i] - b[i]).scale(momentum);
                let ny = nx[i] + (nx[i] - nb[i]).scale(momentum);
                let moved = next[i] - y;
                let of = [
                    product(moved, moved),
                    product(moved, nn[i] - ny),
                    -product(moved, next[i] - x[i]),
                    product(next[i], next[i]),
                    product(next[i], nn[i]),
                    product(next[i], right[i]),
                ];
                sums.iter_mut().zip(of).for_each(|(s, v)| *s += v);
            }
        });
        Ok(Survey::new(std::array::from_fn(|k| parts.iter().map(|p| p[k]).sum())))
    }
}
