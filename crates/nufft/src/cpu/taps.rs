//! The spreading function's values at one point's taps, all at once.

use crate::kernel::{Kernel, MAX_WIDTH};
use isocenter_base::cpu::simd::{Real, Vector};

/// Polynomial coefficients `[degree + 1][MAX_WIDTH]`, and the same with every one twice in a row: for complex numbers.
#[derive(Debug)]
pub struct Taps<T: Real> {
    width: usize,
    single: Vec<[T; MAX_WIDTH]>,
    double: Vec<[T; 2 * MAX_WIDTH]>,
}

impl<T: Real> Taps<T> {
    pub fn new(kernel: &Kernel) -> Self {
        let rows = kernel.coefficients().chunks_exact(kernel.width());
        let at = |row: &[f64], t: usize| T::of(row.get(t).copied().unwrap_or(0.0));
        let single = rows.clone().map(|row| std::array::from_fn(|t| at(row, t))).collect();
        let double = rows.map(|row| std::array::from_fn(|t| at(row, t / 2))).collect();
        Self { width: kernel.width(), single, double }
    }

    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// One value a tap, those past the width 0, as far as the last vector goes.
    ///
    /// # Safety
    /// The processor has the instructions of `V`, and `N` is [`vectors`].
    #[inline(always)]
    pub(super) unsafe fn single<V: Vector<Element = T>, const N: usize>(&self, place: T) -> [T; MAX_WIDTH] {
        let count = N.div_ceil(2);
        let mut values = [T::zero(); MAX_WIDTH];
        // SAFETY: by the caller's contract; rows are whole vectors.
        unsafe {
            let sums: [V; N] = horner(self.single.iter().map(|row| row.as_ptr()), count, place);
            for (v, sum) in sums.into_iter().enumerate().take(count) {
                sum.store(values.as_mut_ptr().add(v * V::LANES));
            }
        }
        values
    }

    /// The first `count` vectors of values.
    ///
    /// # Safety
    /// The processor has the instructions of `V`; there is room for `count` vectors, [`MAX_WIDTH`] numbers at most.
    #[inline(always)]
    pub(super) unsafe fn store<V: Vector<Element = T>>(&self, count: usize, place: T, to: *mut T) {
        // SAFETY: by the caller's contract; rows are whole vectors.
        unsafe {
            let sums: [V; 2] = horner(self.single.iter().map(|row| row.as_ptr()), count, place);
            for (v, sum) in sums.into_iter().enumerate().take(count) {
                sum.store(to.add(v * V::LANES));
            }
        }
    }

    /// Every value twice.
    ///
    /// # Safety
    /// The processor has the instructions of `V`, and `N` is [`vectors`].
    #[inline(always)]
    pub(super) unsafe fn double<V: Vector<Element = T>, const N: usize>(&self, place: T) -> [V; N] {
        // SAFETY: by the caller's contract; rows are whole vectors.
        unsafe { horner(self.double.iter().map(|row| row.as_ptr()), N, place) }
    }
}

/// Vectors that hold the complex numbers of a row of taps.
pub(super) fn vectors<V: Vector>(width: usize) -> usize {
    (2 * width).div_ceil(V::LANES)
}

/// The first `count` vectors of the polynomials' values.
///
/// # Safety
/// The processor has the instructions of `V`, and rows have so many vectors.
#[inline(always)]
pub(super) unsafe fn horner<V: Vector, const N: usize>(
    mut rows: impl Iterator<Item = *const V::Element>,
    count: usize,
    place: V::Element,
) -> [V; N] {
    // SAFETY: by the caller's contract; `count` vectors lie in each row.
    unsafe {
        let z = V::splat(place);
        let first = rows.next().unwrap_or_else(|| unreachable!("a polynomial has a highest power"));
        let mut sums = [z; N];
        for (v, sum) in sums.iter_mut().enumerate().take(count) {
            *sum = V::load(first.add(v * V::LANES));
        }
        for row in rows {
            for (v, sum) in sums.iter_mut().enumerate().take(count) {
                *sum = sum.fma(z, V::load(row.add(v * V::LANES)));
            }
        }
        sums
    }
}

/// Calls `$self.points::<V, N>()` with the number of [`vectors`] as a constant: up to 4 of 8 f32 or more, up to 8 of 4 f64.
macro_rules! with_vectors {
    ($self:ident, $v:ty) => {
        match vectors::<$v>($self.taps.width()) {
            1 => $self.points::<$v, 1>(),
            2 => $self.points::<$v, 2>(),
            3 => $self.points::<$v, 3>(),
            4 => $self.points::<$v, 4>(),
            5 if <$v>::LANES == 4 => $self.points::<$v, 5>(),
            6 if <$v>::LANES == 4 => $self.points::<$v, 6>(),
            7 if <$v>::LANES == 4 => $self.points::<$v, 7>(),
            8 if <$v>::LANES == 4 => $self.points::<$v, 8>(),
            count => unreachable!("{count} vectors"),
        }
    };
}
pub(super) use with_vectors;
