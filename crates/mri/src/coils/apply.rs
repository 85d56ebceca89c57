//! Data of coils to data of others, by a matrix.

use isocenter_base::cpu::parallel::*;
use rustfft::num_complex::Complex;

/// Samples that are in the nearest cache together.
const BLOCK: usize = 256;

/// out `[row][sample]` = matrix `[row][coil]` times data `[coil][sample]`.
pub(crate) fn multiply(matrix: &[Complex<f64>], coils: usize, data: &[Complex<f64>], out: &mut [Complex<f64>]) {
    let samples = data.len() / coils;
    let rows = out.par_chunks_exact_mut(samples).zip(matrix.par_chunks_exact(coils));
    rows.for_each(|(out, factors)| {
        out.par_chunks_mut(BLOCK).enumerate().with_min_len(16).for_each(|(k, out)| {
            out.fill(Complex::default());
            for (coil, factor) in data.chunks_exact(samples).zip(factors) {
                out.iter_mut().zip(&coil[k * BLOCK..]).for_each(|(o, v)| *o += factor * v);
            }
        });
    });
}

/// out `[row][line][position]` = matrix `[position][row][coil]` times data `[coil][line][position]`.
pub(super) fn multiply_rows(
    matrix: &[Complex<f64>],
    [rows, coils, positions]: [usize; 3],
    data: &[Complex<f64>],
    out: &mut [Complex<f64>],
) {
    let lines = data.len() / (coils * positions);
    out.par_chunks_exact_mut(positions).enumerate().for_each(|(k, out)| {
        let (row, line) = (k / lines, k % lines);
        for c in 0..coils {
            let from = &data[(c * lines + line) * positions..][..positions];
            for (x, (o, v)) in out.iter_mut().zip(from).enumerate() {
                *o += matrix[(x * rows + row) * coils + c] * v;
            }
        }
    });
}
