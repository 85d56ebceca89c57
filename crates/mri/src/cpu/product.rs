//! The inner loop of the separable sums: a small real matrix product whose result stays in registers.

use isocenter_base::cpu::simd::Vector;
use isocenter_nufft::Scalar;

/// Vectors of a tile.
pub(super) const VECTORS: usize = 2;
/// Complex scalars of a tile. Twelve sums, with two vectors and a scalar beside them, fill sixteen registers.
pub(super) const SCALARS: usize = 3;

/// Where a product's factors are.
#[derive(Clone, Copy)]
pub(super) struct Factors<T> {
    /// Terms of each sum.
    pub(super) depth: usize,
    /// W rows of `depth` vectors, `vector_pitch` numbers apart.
    pub(super) vectors: *const T,
    pub(super) vector_pitch: usize,
    /// C rows of `depth` numbers, `scalar_pitch` apart.
    pub(super) scalars: *const T,
    pub(super) scalar_pitch: usize,
}

impl<T: Scalar> Factors<T> {
    /// Sums over `depth` of every scalar times every vector.
    ///
    /// # Safety
    /// The processor has the instructions of `V`; all rows can be read.
    #[inline(always)]
    pub(super) unsafe fn product<V: Vector<Element = T>, const W: usize, const C: usize>(self) -> [[V; W]; C] {
        // SAFETY: by the caller's contract.
        unsafe {
            let mut sums = [[V::splat(T::ZERO); W]; C];
            for k in 0..self.depth {
                let mut vectors = [V::splat(T::ZERO); W];
                for (w, v) in vectors.iter_mut().enumerate() {
                    *v = V::load(self.vectors.add(w * self.vector_pitch + k * V::LANES));
                }
                for (c, sums) in sums.iter_mut().enumerate() {
                    let scalar = V::splat(*self.scalars.add(c * self.scalar_pitch + k));
                    for (sum, v) in sums.iter_mut().zip(vectors) {
                        *sum = scalar.fma(v, *sum);
                    }
                }
            }
            sums
        }
    }
}
