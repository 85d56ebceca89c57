//! The spreading function's values at one point's taps, all at once.

use crate::cpu::vector::{Real, Vector};
use crate::nufft::kernel::{Kernel, MAX_WIDTH};

/// Polynomial coefficients `[degree + 1][MAX_WIDTH]`, and the same with every one twice in a row: for complex numbers.
#[derive(Debug)]
pub(in crate::nufft) struct Taps<T: Real> {
    width: usize,
    single: Vec<[T; MAX_WIDTH]>,
    double: Vec<[T; 2 * MAX_WIDTH]>,
}

impl<T: Real> Taps<T> {
    pub(in crate::nufft) fn new(kernel: &Kernel) -> Self {
        let rows = kernel.coefficients().chunks_exact(kernel.width());
        let at = |row: &[f64], t: usize| T::of(row.get(t).copied().unwrap_or(0.0));
        let single = rows.clone().map(|row| std::array::from_fn(|t| at(row, t))).collect();
        let double = rows.map(|row| std::array::from_fn(|t| at(row, t / 2))).collect();
        Self { width: kernel.width(), single, double }
    }

    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// One value a tap, those past the width 0 as far as the last vector goes.
    ///
    /// # Safety
    /// The processor has the instructions of `V`.
    #[inline(always)]
    pub(super) unsafe fn single<V: Vector<Element = T>, const W: usize>(&self, place: T) -> [T; MAX_WIDTH] {
        // SAFETY: by the caller's contract; rows are whole vectors.
        unsafe {
            let sums: [V; W] = horner(self.single.iter().map(|row| row.as_ptr()), W.div_ceil(V::LANES), place);
            let mut values = [T::zero(); MAX_WIDTH];
            for (v, sum) in sums.into_iter().enumerate().take(W.div_ceil(V::LANES)) {
                sum.store(values.as_mut_ptr().add(v * V::LANES));
            }
            values
        }
    }

    /// Every value twice, in [`vectors`] vectors.
    ///
    /// # Safety
    /// The processor has the instructions of `V`.
    #[inline(always)]
    pub(super) unsafe fn double<V: Vector<Element = T>, const W: usize>(&self, place: T) -> [V; W] {
        // SAFETY: by the caller's contract; rows are whole vectors.
        unsafe { horner(self.double.iter().map(|row| row.as_ptr()), vectors::<V, W>(), place) }
    }
}

/// Vectors that hold W complex numbers.
pub(super) const fn vectors<V: Vector, const W: usize>() -> usize {
    (2 * W).div_ceil(V::LANES)
}

/// The first `count` vectors of the polynomials' values.
#[inline(always)]
unsafe fn horner<V: Vector, const W: usize>(
    mut rows: impl Iterator<Item = *const V::Element>,
    count: usize,
    place: V::Element,
) -> [V; W] {
    // SAFETY: by the caller's contract; `count` vectors lie in each row.
    unsafe {
        let z = V::splat(place);
        let first = rows.next().unwrap_or_else(|| unreachable!("a polynomial has a highest power"));
        let mut sums = [z; W];
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

/// Calls `$method::<V, W>` with the width as a constant.
macro_rules! with_width {
    ($width:expr, $self:ident . $method:ident :: <$v:ty>, $($w:literal)*) => {
        match $width {
            $($w => $self.$method::<$v, $w>(),)*
            width => unreachable!("width {width}"),
        }
    };
    ($width:expr, $self:ident . $method:ident :: <$v:ty>) => {
        with_width!($width, $self.$method::<$v>, 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16)
    };
}
pub(super) use with_width;
