//! Singular values of blocks of images on the processor, and thresholds on them.
//!
//! A block's matrix Y = U S V^H of samples by items, the items its images or its voxels, whichever are fewer, becomes U f(S) V^H =
//! Y V f(S) / S V^H, with V and S^2 from Y^H Y: in f64, so that values above 1e-8 of the largest are found.

use crate::low_rank::Blocks;
use isocenter_base::cpu::buffer::{collected, zeros};
use isocenter_base::cpu::parallel::*;
use isocenter_base::cpu::shared::Shared;
use isocenter_base::error::Result;
use isocenter_nufft::Scalar;
use isocenter_solve::hermitian::{Eigen, eigenvectors};
use rustfft::num_complex::Complex;

/// What is left of singular values: their sum, and the largest there was.
#[derive(Clone, Copy, Default)]
struct Left {
    sum: f64,
    largest: f64,
}

/// Replaces images `[image][voxel]` by those whose blocks' singular values are smaller by a threshold, down to 0; the sum of what is
/// left, and the largest there was. Without a threshold the images stay.
pub(super) fn shrink<T: Scalar>(
    blocks: &Blocks,
    threshold: Option<f64>,
    images: &mut [Complex<T>],
) -> Result<[f64; 2]> {
    let ([cz, cy, cx], [nz, ny, nx]) = (blocks.counts(), blocks.grid);
    let (voxels, total) = (nz * ny * nx, images.len());
    let images = Shared::new(images);
    let of_block = |k: usize| -> Result<Left> {
        let ([z, y, x], size) = blocks.block([k / (cy * cx), k / cx % cy, k % cx]);
        let n = size.iter().product::<usize>();
        let place = |i: usize| {
            let v = i % n;
            let [vz, vy, vx] = [v / (size[1] * size[2]), v / size[2] % size[1], v % size[2]];
            images.at(i / n * voxels + ((z + vz) * ny + y + vy) * nx + x + vx)
        };
        let mut matrix = zeros::<Complex<f64>>(total / voxels * n)?;
        for (i, to) in matrix.iter_mut().enumerate() {
            // SAFETY: a voxel is in one block, whose task alone reads and writes it.
            let from = unsafe { *place(i) };
            *to = Complex::new(from.re.wide(), from.im.wide());
        }
        let left = shrink_block(&mut matrix, total / voxels, threshold)?;
        if threshold.is_some() {
            for (i, from) in matrix.iter().enumerate() {
                // SAFETY: as above.
                unsafe { *place(i) = Complex::new(T::of(from.re), T::of(from.im)) };
            }
        }
        Ok(left)
    };
    // In the blocks' order, whatever the number of threads.
    let found: Vec<Result<Left>> = (0..cz * cy * cx).into_par_iter().map(of_block).collect();
    let mut all = Left::default();
    for left in found {
        let left = left?;
        all = Left { sum: all.sum + left.sum, largest: all.largest.max(left.largest) };
    }
    Ok([all.sum, all.largest])
}

/// Of a block `[image][voxel]`.
fn shrink_block(matrix: &mut [Complex<f64>], images: usize, threshold: Option<f64>) -> Result<Left> {
    let n = matrix.len() / images;
    let by_images = images <= n;
    let (items, samples) = if by_images { (images, n) } else { (n, images) };
    let place = |item: usize, sample: usize| if by_images { item * n + sample } else { sample * n + item };
    let mut gram = zeros::<Complex<f64>>(items * items)?;
    for i in 0..items {
        for j in 0..=i {
            let terms = (0..samples).map(|s| matrix[place(i, s)].conj() * matrix[place(j, s)]);
            let sum: Complex<f64> = terms.sum();
            (gram[i * items + j], gram[j * items + i]) = (sum, sum.conj());
        }
    }
    let Eigen { values, vectors } = eigenvectors(&gram, items)?;
    let sizes: Vec<f64> = collected(values.iter().map(|v| v.max(0.0).sqrt()))?;
    let largest = sizes.first().copied().unwrap_or_default();
    let Some(threshold) = threshold else { return Ok(Left { sum: sizes.iter().sum(), largest }) };
    let factors: Vec<f64> = collected(sizes.iter().map(|s| if *s > threshold { 1.0 - threshold / s } else { 0.0 }))?;
    let sum = sizes.iter().map(|s| (s - threshold).max(0.0)).sum();
    // P = V f V^H takes the place of the Gram matrix.
    gram.fill(Complex::default());
    for (factor, v) in factors.iter().zip(vectors.chunks_exact(items)).filter(|(f, _)| **f > 0.0) {
        for i in 0..items {
            let left = v[i] * *factor;
            gram[i * items..][..items].iter_mut().zip(v).for_each(|(p, v)| *p += left * v.conj());
        }
    }
    let mut line = zeros::<Complex<f64>>(items)?;
    for s in 0..samples {
        line.fill(Complex::default());
        for i in 0..items {
            let from = matrix[place(i, s)];
            line.iter_mut().zip(&gram[i * items..][..items]).for_each(|(l, p)| *l += from * p);
        }
        (0..items).for_each(|j| matrix[place(j, s)] = line[j]);
    }
    Ok(Left { sum, largest })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn random(count: usize, seed: u64) -> Vec<Complex<f64>> {
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1u64 << 53) as f64 - 0.5
        };
        (0..count).map(|_| Complex::new(next(), next())).collect()
    }

    /// X' minimises |X' - X|^2 / 2 + t |X'|_*: X - X' = t (U V^H + W) with |W| at most 1 and U^H W = 0, W V = 0. So the singular values of
    /// X - X' are at most t, <X - X', X'> is t |X'|_*, and the latter is what was told. Rounding in f64, of squares: 1e-8 of the largest.
    #[test]
    fn what_is_left_is_a_proximal_step() {
        for (images, n) in [(1, 9), (3, 16), (5, 5), (12, 7), (16, 64)] {
            let x = random(images * n, 5);
            let norm = |m: &[Complex<f64>]| shrink_block(&mut m.to_vec(), images, None).expect("values");
            let largest = norm(&x).largest;
            for part in [0.1, 0.5, 0.9, 1.1] {
                let t = part * largest;
                let mut left = x.clone();
                let told = shrink_block(&mut left, images, Some(t)).expect("a step");
                let away: Vec<Complex<f64>> = x.iter().zip(&left).map(|(a, b)| a - b).collect();
                let inner: f64 = away.iter().zip(&left).map(|(a, b)| (a.conj() * b).re).sum();
                let found = norm(&left);
                assert!(
                    (found.sum - told.sum).abs() <= 1e-7 * largest,
                    "{images} {n} {part}: {} {}",
                    found.sum,
                    told.sum
                );
                assert!((inner - t * told.sum).abs() <= 1e-7 * largest * largest, "{images} {n} {part}: {inner}");
                assert!(norm(&away).largest <= t * (1.0 + 1e-7), "{images} {n} {part}: {}", norm(&away).largest);
                assert_eq!(told.sum == 0.0, part > 1.0);
            }
        }
    }
}
