//! ESPIRiT: M. Uecker, P. Lai, M. J. Murphy, P. Virtue, M. Elad, J. M. Pauly, S. S. Vasanawala, M. Lustig, "ESPIRiT - an eigenvalue
//! approach to autocalibrating parallel MRI", Magn. Reson. Med. 71:990-1001, 2014.
//!
//! Blocks x of k-space lie in a space W W^H that the calibration data show. Data whose blocks all do are their own projection, averaged over
//! the blocks that an element is in: a convolution, which at each voxel is a matrix, G(r) = 1 / M sum over o, p of
//! (W W^H)(o, p) exp(2 pi i (o - p).r), o and p elements of a block of M. Sensitivities are its eigenvectors of eigenvalue 1.

use super::calibration::{self, Calibration};
use super::lags::{Lags, pairs};
use isocenter_base::context::Job;
use isocenter_base::cpu::buffer::Buffer;
use isocenter_base::cpu::level::Level;
use isocenter_base::cpu::parallel::*;
use isocenter_base::error::{Result, fail};
use isocenter_solve::leading::{Leading, leading};
use isocenter_solve::products::{RowsProduct, left_vectors, products_of_columns};
use rustfft::num_complex::Complex;

/// The signal space of the calibration data: vectors of unit length, one after another, `[vector][coil][z][y][x]`.
pub(super) struct SignalSpace {
    pub(super) vectors: Buffer<Complex<f64>>,
    /// Elements of a block of all coils.
    pub(super) size: usize,
}

/// Part of the eigenproblem of the whole work of a call.
pub(super) const SHARE: f64 = 0.3;

/// Where blocks times this are no more than elements of one, the eigenproblem is that of the blocks' products with each other.
const FEW: usize = 2;

/// Keeps singular values of the calibration matrix above `threshold` times the largest.
pub(super) fn signal_space(
    data: &Calibration,
    kernel: [usize; 3],
    threshold: f64,
    level: Level,
    job: &Job,
) -> Result<SignalSpace> {
    let size = data.coils * kernel.iter().product::<usize>();
    let blocks = data.blocks(kernel);
    let found = |matrix, n| {
        // Singular values are the roots of the Gram matrix's eigenvalues.
        leading(matrix, n, threshold * threshold, level, |part| {
            job.advance(part * SHARE);
            job.check()
        })
    };
    // Matrices of the blocks and of their products are then no larger than one of the elements' products.
    let Leading { values, vectors, count } = if FEW * blocks <= size {
        let columns = data.all_blocks(kernel)?;
        job.advance(calibration::SHARE);
        let mut found = found(products_of_columns(&columns, size)?, blocks)?;
        found.vectors = left_vectors(&columns, size, &found)?;
        found
    } else {
        found(data.gram(kernel, level, job)?, size)?
    };
    if count == 0 {
        fail!(
            OutOfRange,
            "calibration has no signal space: its largest singular value is {}",
            values[0].max(0.0).sqrt()
        );
    }
    let most = size.min(blocks);
    if count == most {
        job.note(format!(
            "all {most} singular values of the calibration matrix are above options.threshold, {threshold}, of the largest: that leaves \
             no space without signal, and coil maps without a meaning; is it noise, or fewer blocks than a kernel has elements?"
        ));
    }
    Ok(SignalSpace { vectors, size })
}

/// G in k-space: the projection's entries, summed by distance.
pub(super) fn projection_lags(space: &SignalSpace, coils: usize, kernel: [usize; 3]) -> Result<Lags> {
    let reach = kernel.map(|k| k - 1);
    let mut lags = Lags::zero(coils, reach)?;
    let count = lags.count();
    let block: usize = kernel.iter().product();
    let pairs: Vec<(usize, usize)> = pairs(coils).collect();
    let place = |k: usize| [k / (kernel[1] * kernel[2]), k / kernel[2] % kernel[1], k % kernel[2]];
    let sides = reach.map(|r| 2 * r + 1);
    let scale = 1.0 / block as f64;
    lags.values.par_chunks_exact_mut(count).zip(&pairs).for_each_init(
        || RowsProduct::new(&space.vectors, space.size, block),
        |product, (sums, (c, d))| {
            product.compute(c * block, d * block);
            for j in 0..block {
                let to = place(j);
                for (i, value) in product.column(j).enumerate() {
                    let at = place(i);
                    let [z, y, x]: [usize; 3] = std::array::from_fn(|a| at[a] + reach[a] - to[a]);
                    sums[(z * sides[1] + y) * sides[2] + x] += value * scale;
                }
            }
        },
    );
    Ok(lags)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// W W^H of one vector after another.
    fn projection(vectors: &[Complex<f64>], size: usize) -> Vec<Complex<f64>> {
        let entry = |k: usize| vectors.chunks_exact(size).map(|v| v[k / size] * v[k % size].conj()).sum();
        (0..size * size).map(entry).collect()
    }

    #[test]
    fn few_blocks_have_the_signal_space_of_their_elements() {
        let (coils, shape, kernel, threshold) = (10, [1, 5, 6], [1, 3, 3], 0.05);
        let voxels: usize = shape.iter().product();
        let size = coils * kernel.iter().product::<usize>();
        // Three signals that all coils see, and a little of what is none.
        let value = |k: usize| {
            let (c, p) = ((k / voxels) as f64, (k % voxels) as f64);
            let signals = (0..3).map(|s| Complex::cis(0.7 * c * s as f64 + 0.3 * p * (s + 1) as f64));
            signals.sum::<Complex<f64>>() + 1e-3 * Complex::cis((k * k % 97) as f64)
        };
        let x: Vec<Complex<f64>> = (0..coils * voxels).map(value).collect();
        let data = Calibration::new(&x, coils, shape).expect("memory");
        assert!(FEW * data.blocks(kernel) <= size, "{} blocks of {size}", data.blocks(kernel));
        for level in Level::available() {
            let job = Job::default();
            let seen = signal_space(&data, kernel, threshold, level, &job).expect("a space");
            let gram = data.gram(kernel, level, &job).expect("a matrix");
            let expected = leading(gram, size, threshold * threshold, level, |_| Ok(())).expect("vectors");
            assert_eq!(seen.vectors.len(), expected.vectors.len());
            let (a, b) = (projection(&seen.vectors, size), projection(&expected.vectors, size));
            // Eigenvectors turn by rounding over the gap to what is left out, 1e-16 / 1e-6.
            let off = a.iter().zip(&b).map(|(a, b)| (a - b).norm()).fold(0.0, f64::max);
            assert!(off < 1e-8, "{off:e}");
        }
    }
}
