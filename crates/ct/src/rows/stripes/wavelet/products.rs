//! Products of a matrix with the values of some bins side by side.

use isocenter_base::cpu::simd::{Kernel, Vector};

/// Bins that are worked on together: a multiple of two vectors of any level.
pub(super) const STRIP: usize = 32;
/// Rows of a matrix that are worked on together.
pub(super) const ROWS: usize = 4;

/// sums[i] += sum over k of matrix[i * pitch + k] values[k]. The number of sums is a multiple of [`ROWS`].
pub(super) struct AddProducts<'a> {
    pub(super) matrix: &'a [f32],
    pub(super) pitch: usize,
    pub(super) values: &'a [[f32; STRIP]],
    pub(super) sums: &'a mut [[f32; STRIP]],
}

impl Kernel<f32> for AddProducts<'_> {
    /// Products are rounded before they are added, so that results do not depend on the level.
    #[inline(always)]
    unsafe fn run<V: Vector<Element = f32>>(self) {
        let Self { matrix, pitch, values, sums } = self;
        for (group, sums) in sums.chunks_exact_mut(ROWS).enumerate() {
            let rows: [&[f32]; ROWS] = std::array::from_fn(|i| &matrix[(group * ROWS + i) * pitch..][..values.len()]);
            for part in (0..STRIP).step_by(2 * V::LANES) {
                // SAFETY: the processor has the instructions; two vectors from `part` on lie in a strip.
                unsafe {
                    let mut sum = [[V::splat(0.0); 2]; ROWS];
                    for (k, values) in values.iter().enumerate() {
                        let from = values.as_ptr().add(part);
                        let (a, b) = (V::load(from), V::load(from.add(V::LANES)));
                        for (sum, row) in sum.iter_mut().zip(rows) {
                            let factor = V::splat(row[k]);
                            sum[0] = sum[0].add(a.mul(factor));
                            sum[1] = sum[1].add(b.mul(factor));
                        }
                    }
                    for (total, sum) in sums.iter_mut().zip(sum) {
                        let to = total.as_mut_ptr().add(part);
                        V::load(to).add(sum[0]).store(to);
                        V::load(to.add(V::LANES)).add(sum[1]).store(to.add(V::LANES));
                    }
                }
            }
        }
    }
}
