//! Geometric coil compression: T. Zhang, J. M. Pauly, S. S. Vasanawala, M. Lustig, "Coil compression for accelerated imaging with Cartesian
//! sampling", Magn. Reson. Med. 69:571-582, 2013.
//!
//! Coils are sensitive in some places: at one position along the fully sampled readout, fewer virtual coils hold as much. Each position has a matrix
//! of its own, and neighbouring ones are turned to each other, so that virtual coils are smooth.

use super::compression::principal_coils;
use super::gram::{gram, virtual_coils};
use isocenter_base::cpu::buffer::{reserved, zeros};
use isocenter_base::cpu::parallel::*;
use isocenter_base::error::Result;
use isocenter_solve::hermitian::eigenvectors;
use rustfft::num_complex::Complex;

/// Matrices `[readout][kept][coil]` of data `[coil][line][position]`, and the part of the energy that they keep.
pub(super) fn matrices(
    data: &[Complex<f64>],
    coils: usize,
    readout: usize,
    kept: usize,
) -> Result<(Vec<Complex<f64>>, f64)> {
    let lines = data.len() / (coils * readout);
    let found: Vec<(Vec<Complex<f64>>, [f64; 2])> = (0..readout)
        .into_par_iter()
        .map(|x| {
            let mut slice = reserved(coils * lines)?;
            slice.extend(data.chunks_exact(readout).map(|line| line[x]));
            let gram = gram(&slice, coils)?;
            let total: f64 = (0..coils).map(|c| gram[c * coils + c].re).sum();
            let mut coils_found = virtual_coils(&gram, coils)?;
            coils_found.vectors.truncate(kept * coils);
            Ok((coils_found.vectors, [coils_found.values[..kept].iter().sum(), total]))
        })
        .collect::<Result<_>>()?;
    let [of, total] = found.iter().fold([0.0; 2], |[a, b], (_, [of, total])| [a + of, b + total]);
    // The first to align with is that of all positions together, so that a position without signal has no say.
    let (mut before, _) = principal_coils(data, coils, kept)?;
    let mut out = reserved(readout * kept * coils)?;
    for (own, [energy, _]) in found {
        // No signal there: as its neighbour.
        if energy > 0.0 {
            before = aligned(&own, &before, coils)?;
        }
        out.extend_from_slice(&before);
    }
    Ok((out, (of / total).clamp(0.0, 1.0)))
}

/// P own, P unitary and P own nearest to `reference`: the unitary factor of reference own^H.
fn aligned(own: &[Complex<f64>], reference: &[Complex<f64>], coils: usize) -> Result<Vec<Complex<f64>>> {
    let kept = own.len() / coils;
    let rows = |m: &[Complex<f64>], i: usize, n: usize| -> Vec<Complex<f64>> { m[i * n..][..n].to_vec() };
    let mut product = zeros::<Complex<f64>>(kept * kept)?;
    for i in 0..kept {
        let r = rows(reference, i, coils);
        for j in 0..kept {
            product[i * kept + j] = r.iter().zip(&own[j * coils..]).map(|(r, o)| r * o.conj()).sum();
        }
    }
    let turn = unitary_factor(&product, kept)?;
    let mut out = zeros::<Complex<f64>>(kept * coils)?;
    for i in 0..kept {
        for j in 0..kept {
            let factor = turn[i * kept + j];
            for c in 0..coils {
                out[i * coils + c] += factor * own[j * coils + c];
            }
        }
    }
    Ok(out)
}

/// U V^H of m = U S V^H: m V S^-1 V^H, its columns without a singular value completed to a unitary matrix.
fn unitary_factor(m: &[Complex<f64>], n: usize) -> Result<Vec<Complex<f64>>> {
    let mut square = zeros::<Complex<f64>>(n * n)?;
    for i in 0..n {
        for j in 0..n {
            square[i * n + j] = (0..n).map(|k| m[k * n + i].conj() * m[k * n + j]).sum();
        }
    }
    let right = eigenvectors(&square, n)?;
    // Columns of U, one after another: m v / s, at right angles with those before, or the axis that is furthest from them.
    let mut left: Vec<Complex<f64>> = reserved(n * n)?;
    for v in right.vectors.chunks_exact(n) {
        let image = |i: usize| (0..n).map(|k| m[i * n + k] * v[k]).sum::<Complex<f64>>();
        let first = (0..n).map(image).collect::<Vec<_>>();
        let axes = (0..n).map(|a| (0..n).map(|i| Complex::from(f64::from(u8::from(i == a)))).collect::<Vec<_>>());
        let mut best = without(&left, first, n);
        // Cosines of the angles between subspaces: what is left of one at right angles is rounding.
        if length(&best) < 1e-6 {
            for axis in axes {
                let rest = without(&left, axis, n);
                if length(&rest) > length(&best) {
                    best = rest;
                }
            }
        }
        let scale = 1.0 / length(&best);
        left.extend(best.iter().map(|v| v * scale));
    }
    let mut out = zeros::<Complex<f64>>(n * n)?;
    for (u, v) in left.chunks_exact(n).zip(right.vectors.chunks_exact(n)) {
        for i in 0..n {
            for j in 0..n {
                out[i * n + j] += u[i] * v[j].conj();
            }
        }
    }
    Ok(out)
}

/// A vector without its parts along orthonormal ones; twice, since rounding leaves some the first time.
fn without(base: &[Complex<f64>], mut v: Vec<Complex<f64>>, n: usize) -> Vec<Complex<f64>> {
    for _ in 0..2 {
        for u in base.chunks_exact(n) {
            let part: Complex<f64> = u.iter().zip(&v).map(|(u, v)| u.conj() * v).sum();
            v.iter_mut().zip(u).for_each(|(v, u)| *v -= part * u);
        }
    }
    v
}

fn length(v: &[Complex<f64>]) -> f64 {
    v.iter().map(|v| v.norm_sqr()).sum::<f64>().sqrt()
}
