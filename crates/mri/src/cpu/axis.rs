//! Factors along one axis of a grid: cosines and sines of the phases at the places on one side of its middle.
//!
//! Voxel j of an axis of n stands at j - floor(n / 2). Here places are j - (n - 1) / 2, which mirror each other: an even
//! axis is half a voxel off, which [`shift`] makes good.

use isocenter_base::cpu::level::Level;
use isocenter_base::cpu::simd::{Kernel, Vector, dispatch};
use isocenter_base::cpu::turns::{cos_sin, nearest};
use isocenter_nufft::Scalar;
use rustfft::num_complex::Complex;
use std::f64::consts::TAU;

/// Samples whose factors are made together: few enough for their products' factors to stay in the caches.
pub(super) const BLOCK: usize = 128;

/// An axis of `n` voxels.
#[derive(Clone, Copy, Debug)]
pub(super) struct Axis(pub(super) usize);

impl Axis {
    /// Places at 0 or above: 0, 1, ... of an odd axis, 1/2, 3/2, ... of an even one.
    pub(super) fn half(self) -> usize {
        self.0.div_ceil(2)
    }

    /// Numbers in a table of factors: rows of [`BLOCK`] samples, the sines of all places and then their cosines.
    pub(super) fn table(self) -> usize {
        2 * self.half() * BLOCK
    }

    /// The first row with anything in it: place 0 has no sine. From it on there are n.
    pub(super) fn first(self) -> usize {
        self.0 % 2
    }

    /// Which place voxel j mirrors or is, and whether it mirrors it.
    pub(super) fn place(self, j: usize) -> (usize, bool) {
        match j.checked_sub(self.0 / 2) {
            Some(place) => (place, false),
            None => (self.half() - 1 - j, true),
        }
    }

    /// Cosines and sines of voxel j in a table, and the sines' sign.
    pub(super) fn factors<T: Scalar>(self, table: &[T], j: usize) -> (&[T], &[T], T) {
        let (place, mirrored) = self.place(j);
        let row = |i: usize| &table[i * BLOCK..][..BLOCK];
        (row(self.half() + place), row(place), T::of(if mirrored { -1.0 } else { 1.0 }))
    }

    /// Writes the table of up to [`BLOCK`] samples at k cycles per voxel, right to the rounding of T.
    pub(super) fn fill<T: Scalar>(self, level: Level, k: &[f64], table: &mut [T]) {
        dispatch::<f64, _>(level, Fill { axis: self, k, table });
    }
}

/// k within half a cycle, which sums over whole voxels cannot tell from k.
fn folded(k: f64) -> f64 {
    k - k.round()
}

/// exp(-2 pi i k . s), s half a voxel along the even axes.
pub(super) fn shift(axes: [Axis; 3], k: [f64; 3]) -> Complex<f64> {
    let even = axes.iter().zip(k).filter(|(axis, _)| axis.0.is_multiple_of(2));
    let turns = even.map(|(_, k)| 0.5 * folded(k)).sum::<f64>();
    Complex::cis(-TAU * turns)
}

struct Fill<'a, T> {
    axis: Axis,
    k: &'a [f64],
    table: &'a mut [T],
}

impl<T: Scalar> Kernel<f64> for Fill<'_, T> {
    #[inline(always)]
    unsafe fn run<V: Vector<Element = f64>>(self) {
        // k in two parts; the first has 26 bits, so that its product with a place is exact, and so is that without its whole
        // turns.
        const GRAIN: f64 = (1u64 << 26) as f64;
        let (mut high, mut low) = ([0.0; BLOCK], [0.0; BLOCK]);
        for ((k, high), low) in self.k.iter().zip(&mut high).zip(&mut low) {
            let k = folded(*k);
            *high = (k * GRAIN).round() / GRAIN;
            *low = k - *high;
        }
        let (sines, cosines) = self.table.split_at_mut(self.axis.half() * BLOCK);
        let middle = if self.axis.0.is_multiple_of(2) { 0.5 } else { 0.0 };
        let (mut c, mut s) = ([0.0; BLOCK], [0.0; BLOCK]);
        for (i, (sines, cosines)) in sines.chunks_exact_mut(BLOCK).zip(cosines.chunks_exact_mut(BLOCK)).enumerate() {
            // SAFETY: blocks are whole vectors; instructions by the caller's contract.
            unsafe {
                let place = V::splat(i as f64 + middle);
                for m in (0..BLOCK).step_by(V::LANES) {
                    let coarse = V::load(high.as_ptr().add(m)).mul(place);
                    let fine = V::load(low.as_ptr().add(m)).mul(place);
                    let turns = coarse.sub(nearest(coarse.add(fine))).add(fine);
                    let (cosine, sine) = cos_sin(turns);
                    cosine.store(c.as_mut_ptr().add(m));
                    sine.store(s.as_mut_ptr().add(m));
                }
            }
            sines.iter_mut().zip(&s).for_each(|(to, from)| *to = T::of(*from));
            cosines.iter_mut().zip(&c).for_each(|(to, from)| *to = T::of(*from));
        }
    }
}
