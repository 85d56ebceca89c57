//! Sums of products of the coils' data, and virtual coils from them.

use isocenter_base::cpu::buffer::{collected, zeros};
use isocenter_base::cpu::parallel::*;
use isocenter_base::error::Result;
use isocenter_solve::hermitian::{Eigen, eigenvectors};
use rustfft::num_complex::Complex;

/// Samples that are summed by one task; sums of these are added in order, whatever the threads.
const GRAIN: usize = 1 << 12;

/// Sum over samples of x_c conj(x_d), of data `[coil][sample]`: Hermitian, whole.
pub(super) fn gram(data: &[Complex<f64>], coils: usize) -> Result<Vec<Complex<f64>>> {
    let samples = data.len() / coils;
    let rows: Vec<Vec<Complex<f64>>> = (0..coils)
        .into_par_iter()
        .map(|c| {
            let row = |c: usize| data[c * samples..][..samples].chunks(GRAIN);
            collected((0..=c).map(|d| {
                let parts = row(c).zip(row(d));
                parts.map(|(a, b)| a.iter().zip(b).map(|(a, b)| a * b.conj()).sum::<Complex<f64>>()).sum()
            }))
        })
        .collect::<Result<_>>()?;
    let mut out = zeros::<Complex<f64>>(coils * coils)?;
    for (c, row) in rows.iter().enumerate() {
        for (d, v) in row.iter().enumerate() {
            out[c * coils + d] = *v;
            out[d * coils + c] = v.conj();
        }
    }
    Ok(out)
}

/// Virtual coils of a Gram matrix, strongest first, each with its power: rows u^H of principal components u, whose phases make the largest
/// element real and positive.
pub(super) fn virtual_coils(gram: &[Complex<f64>], coils: usize) -> Result<Eigen> {
    let mut eigen = eigenvectors(gram, coils)?;
    for u in eigen.vectors.chunks_exact_mut(coils) {
        let largest =
            u.iter().copied().fold(Complex::default(), |a: Complex<f64>, b| if b.norm() > a.norm() { b } else { a });
        let turn = if largest.norm() > 0.0 { largest / largest.norm() } else { 1.0.into() };
        // conj(u turn^-1)
        u.iter_mut().for_each(|v| *v = (*v * turn.conj()).conj());
    }
    Ok(eigen)
}
