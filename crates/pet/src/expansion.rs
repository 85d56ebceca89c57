//! Kernels of a view as sums of few: `K_a = sum_r c_r(a) phi_r`, so that each term is a convolution.
//!
//! With the error `E_a` of kernel a, projections of values up to 1 are wrong by at most `max_a sum_m |E_a(m)|` (adjoint), and
//! the error of the forward projection is its transpose. The rank is the smallest for which neither this sum, next to the sum 1
//! of a kernel, nor any `|E_a(m)|`, next to the largest value of all kernels, exceeds the tolerance.

use super::tables::Tables;
use isocenter_base::cpu::buffer::{collected, copied, filled, zeros};
use isocenter_base::cpu::parallel::*;
use isocenter_base::error::Result;
use isocenter_solve::dense::eigenvectors;

/// Rounding of a convolution by Fourier transforms, of values up to 1 with a kernel whose magnitudes sum to 1.
const ROUNDING: f64 = 1e-6;

#[derive(Clone, Debug)]
pub(crate) struct Expansion {
    rank: usize,
    /// `[term][identifier]`
    coefficients: Vec<f32>,
    /// `[term][offset]`
    terms: Vec<f32>,
    invariant: bool,
    symmetric: bool,
    error: f64,
}

/// Kernels `[identifier][offset]`.
struct Kernels<'a> {
    values: &'a [f32],
    offsets: usize,
}

impl Expansion {
    /// None if more than `max_rank` terms are needed.
    pub(crate) fn new(tables: &Tables, tolerance: f64, max_rank: usize) -> Result<Option<Self>> {
        let kernels = Kernels { values: tables.values(), offsets: tables.offsets().len() };
        let symmetric = kernels.rows().all(|row| row.iter().eq(row.iter().rev()));
        let first = &kernels.values[..kernels.offsets];
        if kernels.rows().all(|row| row == first) {
            let (coefficients, terms) = (filled(kernels.count(), 1.0)?, copied(first)?);
            return Ok(Some(Self { rank: 1, coefficients, terms, invariant: true, symmetric, error: 0.0 }));
        }
        let largest = kernels.values.iter().fold(0.0f32, |m, v| m.max(v.abs()));
        let mut spread = Spread::new(&kernels)?;
        // What the basis leaves must not count beside the tolerance; less than rounding of the kernels is not asked for at first.
        let mut distance = 0.1 * tolerance * f64::from(largest);
        loop {
            let Some(grew) = spread.grow(&kernels, distance, max_rank)? else { return Ok(None) };
            let full = !grew;
            let (mut rank, highest) = (1, spread.basis.len().min(max_rank));
            while rank <= highest {
                let (coefficients, terms) = spread.best(rank, kernels.offsets)?;
                let error = kernels.error(&coefficients, &terms, largest.into())?;
                if error <= tolerance || full && rank == spread.basis.len() {
                    return Ok(Some(Self { rank, coefficients, terms, invariant: false, symmetric, error }));
                }
                // Long expansions need not be the shortest.
                rank = if rank < highest { (rank + 1 + rank / 10).min(highest) } else { rank + 1 };
            }
            if full || spread.basis.len() > max_rank {
                return Ok(None);
            }
            distance *= 0.1;
        }
    }

    pub(crate) fn rank(&self) -> usize {
        self.rank
    }

    /// Of each identifier in a term.
    pub(crate) fn coefficients(&self, term: usize) -> &[f32] {
        let count = self.coefficients.len() / self.rank;
        &self.coefficients[term * count..][..count]
    }

    /// A term's values at the tables' offsets.
    pub(crate) fn term(&self, term: usize) -> &[f32] {
        let count = self.terms.len() / self.rank;
        &self.terms[term * count..][..count]
    }

    /// All kernels are the same: one term, with coefficients of 1.
    pub(crate) fn invariant(&self) -> bool {
        self.invariant
    }

    /// All kernels, and so all terms, are the same at opposite offsets, to the last bit.
    pub(crate) fn symmetric(&self) -> bool {
        self.symmetric
    }

    /// The larger of both measures that the tolerance bounds.
    #[cfg(test)]
    pub(crate) fn error(&self) -> f64 {
        self.error
    }

    /// Error of projections by Fourier transforms of values up to 1.
    pub(super) fn projection_error(&self) -> f32 {
        self.error as f32 + self.rounding()
    }

    /// The part of it that is in all voxels, wherever the values are.
    pub(super) fn rounding(&self) -> f32 {
        // Terms may be larger than what they add up to; they round apart from each other.
        let size = |r: usize| {
            let largest = self.coefficients(r).iter().fold(0.0f32, |m, c| m.max(c.abs()));
            f64::from(largest) * self.term(r).iter().map(|v| f64::from(v.abs())).sum::<f64>()
        };
        let squares: f64 = (0..self.rank).map(|r| size(r).powi(2)).sum();
        (ROUNDING * squares.sqrt()) as f32
    }
}

impl Kernels<'_> {
    fn count(&self) -> usize {
        self.values.len() / self.offsets
    }

    fn row(&self, a: usize) -> &[f32] {
        &self.values[a * self.offsets..][..self.offsets]
    }

    fn rows(&self) -> impl Iterator<Item = &[f32]> {
        self.values.chunks_exact(self.offsets)
    }

    fn error(&self, coefficients: &[f32], terms: &[f32], largest: f64) -> Result<f64> {
        let terms: Vec<&[f32]> = terms.chunks_exact(self.offsets).collect();
        let of = |a: usize| {
            let mut rest = collected(self.row(a).iter().map(|v| f64::from(*v)))?;
            for (term, c) in terms.iter().zip(coefficients.iter().skip(a).step_by(self.count())) {
                rest.iter_mut().zip(*term).for_each(|(e, t)| *e -= f64::from(*c) * f64::from(*t));
            }
            let worst = rest.iter().fold(0.0f64, |m, e| m.max(e.abs()));
            Ok(rest.iter().map(|e| e.abs()).sum::<f64>().max(worst / largest))
        };
        (0..self.count()).into_par_iter().map(of).try_reduce(|| 0.0, |a, b| Ok(a.max(b)))
    }
}

/// What kernels span: an orthonormal basis, found by taking the kernel that lies farthest from it again and again.
struct Spread {
    basis: Vec<Vec<f64>>,
    /// `[basis][identifier]`
    parts: Vec<Vec<f64>>,
    /// Squares of the distances.
    rest: Vec<f64>,
}

impl Spread {
    fn new(kernels: &Kernels) -> Result<Self> {
        let rest = collected(kernels.rows().map(|row| row.iter().map(|v| f64::from(*v).powi(2)).sum()))?;
        Ok(Self { basis: Vec::new(), parts: Vec::new(), rest })
    }

    /// Until no kernel is farther away than `distance`; Some(false) once the basis cannot grow, None beyond twice `max_rank`, and some.
    fn grow(&mut self, kernels: &Kernels, distance: f64, max_rank: usize) -> Result<Option<bool>> {
        loop {
            let farthest = (0..kernels.count()).max_by(|a, b| self.rest[*a].total_cmp(&self.rest[*b])).unwrap_or(0);
            if self.rest[farthest] <= distance * distance {
                return Ok(Some(true));
            }
            if self.basis.len() == kernels.count().min(kernels.offsets) {
                return Ok(Some(false));
            }
            if self.basis.len() > max_rank.saturating_mul(2).saturating_add(8) {
                return Ok(None);
            }
            let mut v = collected(kernels.row(farthest).iter().map(|v| f64::from(*v)))?;
            let length = |v: &[f64]| v.iter().map(|x| x * x).sum::<f64>().sqrt();
            let before = length(&v);
            // Twice is enough for orthogonality to rounding.
            for _ in 0..2 {
                for b in &self.basis {
                    let part: f64 = b.iter().zip(&v).map(|(b, v)| b * v).sum();
                    v.iter_mut().zip(b).for_each(|(v, b)| *v -= part * b);
                }
            }
            let after = length(&v);
            self.rest[farthest] = 0.0;
            // Rounding alone: it lies in the span.
            if after <= 1e-14 * before {
                continue;
            }
            v.iter_mut().for_each(|x| *x /= after);
            let part = |a: usize| kernels.row(a).iter().zip(&v).map(|(k, v)| f64::from(*k) * v).sum::<f64>();
            let mut parts: Vec<f64> = zeros(kernels.count())?;
            parts.par_iter_mut().enumerate().for_each(|(a, p)| *p = part(a));
            self.rest.iter_mut().zip(&parts).for_each(|(rest, p)| *rest = (*rest - p * p).max(0.0));
            self.rest[farthest] = 0.0;
            self.parts.push(parts);
            self.basis.push(v);
        }
    }

    /// Coefficients `[term][identifier]` and terms `[term][offset]` of so many terms: singular vectors, with the kernels weighed
    /// so that the worst of them comes out better (Lawson's iteration).
    ///
    /// A projection of independent values of variance s and mean m has an error of variance `s |E|^2 + (m sum E)^2`, which is
    /// `(|E|^2 + 3 (sum E)^2) / 12` for values even in 0 to 1; that is the norm that becomes small here.
    fn best(&self, rank: usize, offsets: usize) -> Result<(Vec<f32>, Vec<f32>)> {
        const OF_SUMS: f64 = 3.0;
        let (size, count) = (self.basis.len(), self.parts[0].len());
        let sums: Vec<f64> = self.basis.iter().map(|b| b.iter().sum()).collect();
        let square: f64 = sums.iter().map(|s| s * s).sum();
        let stretch = (1.0 + OF_SUMS * square).sqrt();
        // Along the basis' sums times `by`, across them as it was: to the norm and back.
        let stretched = |v: &[f64], by: f64| -> Vec<f64> {
            let along = if square > 0.0 { v.iter().zip(&sums).map(|(v, s)| v * s).sum::<f64>() / square } else { 0.0 };
            v.iter().zip(&sums).map(|(v, s)| v + (by - 1.0) * along * s).collect()
        };
        let mut parts = (0..size).map(|_| zeros(count)).collect::<Result<Vec<Vec<f64>>>>()?;
        for a in 0..count {
            let of: Vec<f64> = self.parts.iter().map(|p| p[a]).collect();
            parts.iter_mut().zip(stretched(&of, stretch)).for_each(|(to, p)| to[a] = p);
        }
        // It is of no use for long expansions, and slow.
        let rounds = if size <= 40 && rank < size { 12 } else { 0 };
        let mut weights = vec![1.0; count];
        let mut best = (f64::INFINITY, Vec::new());
        for round in 0..=rounds {
            let mut gram = vec![0.0; size * size];
            for i in 0..size {
                for j in 0..=i {
                    let products = parts[i].iter().zip(&parts[j]).zip(&weights).map(|((a, b), w)| a * b * w);
                    gram[i * size + j] = products.sum();
                    gram[j * size + i] = gram[i * size + j];
                }
            }
            let vectors: Vec<Vec<f64>> = eigenvectors(gram, size).into_iter().map(|(_, vector)| vector).collect();
            let left = |a: usize| {
                let along = |v: &Vec<f64>| v.iter().zip(&parts).map(|(v, p)| v * p[a]).sum::<f64>();
                vectors[rank..].iter().map(|v| along(v).powi(2)).sum::<f64>()
            };
            let errors: Vec<f64> = (0..count).map(left).collect();
            let worst = errors.iter().copied().fold(0.0, f64::max);
            if worst < best.0 || round == 0 {
                best = (worst, vectors);
            }
            if worst == 0.0 {
                break;
            }
            weights.iter_mut().zip(&errors).for_each(|(w, e)| *w *= (e / worst).sqrt().max(1e-6));
            let mean = weights.iter().sum::<f64>() / count as f64;
            weights.iter_mut().for_each(|w| *w /= mean);
        }
        let (mut coefficients, mut terms) = (zeros(rank * count)?, zeros(rank * offsets)?);
        let mut sum: Vec<f64> = zeros(count.max(offsets))?;
        let mut mix = |v: &[f64], from: &[Vec<f64>], to: &mut [f32]| {
            let sum = &mut sum[..to.len()];
            sum.fill(0.0);
            for (v, from) in v.iter().zip(from) {
                sum.iter_mut().zip(from).for_each(|(s, f)| *s += v * f);
            }
            to.iter_mut().zip(sum).for_each(|(to, s)| *to = *s as f32);
        };
        for (k, v) in best.1[..rank].iter().enumerate() {
            mix(v, &parts, &mut coefficients[k * count..][..count]);
            mix(&stretched(v, 1.0 / stretch), &self.basis, &mut terms[k * offsets..][..offsets]);
        }
        Ok((coefficients, terms))
    }
}
