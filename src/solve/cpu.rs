//! Vectors of complex numbers in the processor's memory. Results are the same bits for any number of threads.

use super::Vectors;
use crate::cpu::buffer::{Buffer, zeros};
use crate::cpu::simd::Real;
use crate::error::Result;
use rayon::prelude::*;
use rustfft::num_complex::Complex;
use std::marker::PhantomData;

/// Minimum number of elements that a task of plain arithmetic takes.
pub(crate) const GRAIN: usize = 1 << 14;

/// Their arithmetic, on the rayon pool that it is called in.
#[derive(Debug)]
pub(crate) struct CpuVectors<T> {
    real: PhantomData<T>,
}

impl<T> CpuVectors<T> {
    pub(crate) fn new() -> Self {
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
