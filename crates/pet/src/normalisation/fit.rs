//! Efficiencies of the largest likelihood.
//!
//! Of pairs with the mean e_a e_b g_ab the log-likelihood is, but for a constant, the sum of n_a log e_a over crystals less that of the means over pairs: all that it knows of the counts are their sums n over fans,
//! and it is largest where these are the expected ones. In log e it is concave. The fixed point e_a = n_a / sum_b e_b g_ab, of the literature, is slow where a source is thin: what crystals of one side have more,
//! those of the other may have less. So Newton's method, each step by conjugate gradient, follows a few of these.

use isocenter_base::cpu::buffer::{Buffer, zeros};
use isocenter_base::error::{Result, fail};
use isocenter_solve::conjugate_gradient::{LinearSystem, conjugate_gradient};
use isocenter_solve::cpu::CpuVectors;
use isocenter_solve::{Stop, Vectors};
use rustfft::num_complex::Complex;

/// Steps of the fixed point, the geometric mean of two.
const FIXED: usize = 5;
/// Steps of Newton's method at most; they end where no efficiency changes by more than this part.
const STEPS: usize = 40;
const ENOUGH: f64 = 1e-4;
/// Iterations of a step at most, and what is left of it.
const STOP: Stop = Stop { iterations: 300, tolerance: 1e-4 };
/// What counts, times n_a, against the square of log e_a less that of all alike: of what fans do not tell at all, such as how much more the crystals of one of two panels detect than those of the other,
/// nothing is made. The others change by as small a part.
const ANCHOR: f64 = 1e-5;

/// Sums over pairs of their counts times values of the other crystal.
pub(super) trait Products {
    fn times(&mut self, values: &[f64], to: &mut [f64]) -> Result<()>;
}

type Vector = Buffer<Complex<f64>>;

/// The likelihood's curvature in log e, between crystals whose values are times the roots of their counts.
struct Curvature<'a, P> {
    products: &'a mut P,
    /// Efficiencies over the roots of counts.
    weights: Vec<f64>,
    scaled: Vec<f64>,
    sums: Vec<f64>,
    vectors: CpuVectors<f64>,
}

impl<P: Products> LinearSystem for Curvature<'_, P> {
    type Vectors = CpuVectors<f64>;

    fn vectors(&mut self) -> &mut CpuVectors<f64> {
        &mut self.vectors
    }

    fn apply(&mut self, x: &Vector, out: &mut Vector) -> Result<()> {
        let Self { products, weights, scaled, sums, .. } = self;
        scaled.iter_mut().zip(&**x).zip(&*weights).for_each(|((to, x), w)| *to = w * x.re);
        products.times(scaled, sums)?;
        for (((out, x), sum), w) in out.iter_mut().zip(&**x).zip(&*sums).zip(&*weights) {
            *out = Complex::new((1.0 + ANCHOR) * x.re + w * sum, 0.0);
        }
        Ok(())
    }

    fn after(&mut self, _: usize, _: f64) -> Result<()> {
        Ok(())
    }
}

/// Bytes for each crystal.
pub(super) const BYTES: usize = 6 * size_of::<Complex<f64>>() + 5 * size_of::<f64>();

/// Of counts that are 0 where an efficiency is 0, and have pairs elsewhere.
pub(super) fn fit<P: Products>(products: &mut P, counts: &[f64]) -> Result<Vec<f64>> {
    let n = counts.len();
    let mut values: Vec<f64> = zeros(n)?;
    values.iter_mut().zip(counts).filter(|(_, c)| **c > 0.0).for_each(|(v, _)| *v = 1.0);
    let mut sums: Vec<f64> = zeros(n)?;
    products.times(&values, &mut sums)?;
    let expected: f64 = sums.iter().zip(&values).map(|(sum, v)| sum * v).sum();
    let start = (counts.iter().sum::<f64>() / expected).sqrt();
    values.iter_mut().for_each(|v| *v *= start);
    sums.iter_mut().for_each(|sum| *sum *= start);
    for _ in 0..FIXED {
        for ((v, count), sum) in values.iter_mut().zip(counts).zip(&sums).filter(|((v, _), _)| **v > 0.0) {
            *v = (*v * count / sum).sqrt();
        }
        products.times(&values, &mut sums)?;
    }
    let mut system =
        Curvature { products, weights: zeros(n)?, scaled: zeros(n)?, sums: zeros(n)?, vectors: CpuVectors::default() };
    for _ in 0..STEPS {
        let mut right = system.vectors.zeros(n)?;
        for (k, v) in values.iter().enumerate().filter(|(_, v)| **v > 0.0) {
            let (mean, anchor) = (v * sums[k], ANCHOR * (v / start).ln());
            system.weights[k] = v / mean.sqrt();
            right[k].re = (counts[k] - (1.0 + anchor) * mean) / mean.sqrt();
        }
        let mut step = system.vectors.zeros(n)?;
        conjugate_gradient(&mut system, &mut right, &mut step, true, STOP)?;
        // In log e.
        let change = |k: usize, v: f64| step[k].re * system.weights[k] / v;
        let largest = values.iter().enumerate().filter(|(_, v)| **v > 0.0).map(|(k, v)| change(k, *v).abs());
        let largest = largest.fold(0.0, f64::max);
        // No farther than the curvature is about the same.
        let part = (1.0 / largest).min(1.0);
        for (k, v) in values.iter_mut().enumerate().filter(|(_, v)| **v > 0.0) {
            *v *= (part * step[k].re * system.weights[k] / *v).exp();
        }
        if largest < ENOUGH && values.iter().all(|v| v.is_finite()) {
            return Ok(values);
        }
        let Curvature { products, .. } = &mut system;
        products.times(&values, &mut sums)?;
    }
    fail!(
        OutOfRange,
        "no efficiencies explain the sums: they must be of the same field of view, no wider than a thin source needs, of all coincidences of these pairs, and of crystals in this order"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts of all pairs, `[crystal][crystal]`.
    struct Dense(Vec<Vec<f64>>);

    impl Products for Dense {
        fn times(&mut self, values: &[f64], to: &mut [f64]) -> Result<()> {
            let product = |row: &Vec<f64>| row.iter().zip(values).map(|(g, v)| g * v).sum();
            to.iter_mut().zip(&self.0).for_each(|(to, row)| *to = product(row));
            Ok(())
        }
    }

    fn dense(n: usize, g: impl Fn(usize, usize) -> f64) -> Dense {
        Dense((0..n).map(|a| (0..n).map(|b| if a == b { 0.0 } else { g(a.min(b), a.max(b)) }).collect()).collect())
    }

    fn counts(of: &mut Dense, efficiencies: &[f64]) -> Vec<f64> {
        let mut sums = vec![0.0; efficiencies.len()];
        of.times(efficiencies, &mut sums).expect("sums");
        sums.iter().zip(efficiencies).map(|(sum, e)| sum * e).collect()
    }

    fn truth(n: usize) -> Vec<f64> {
        (0..n)
            .map(|k| if k == 11 { 0.0 } else { 0.7 + 0.2 * (k as f64 * 1.7).sin() + 0.1 * (k as f64 * 0.1).cos() })
            .collect()
    }

    /// Each of 80 has the opposite one and two beside that in its fan: of what crystals of one side have more than the other's, 1 - cos(2 pi / 80) of the curvature is left, 0.003, or half of that. Steps of the fixed
    /// point take away as small a part each, and the anchor takes 1e-5 / 0.0015 of what differs by 0.1.
    #[test]
    fn thin_sources_tell_sides_apart() {
        let mut ring = dense(80, |a, b| if (b - a).abs_diff(40) <= 1 { 1e4 } else { 0.0 });
        let truth = truth(80);
        let counts = counts(&mut ring, &truth);
        let found = fit(&mut ring, &counts).expect("efficiencies");
        for (k, (e, expected)) in found.iter().zip(&truth).enumerate() {
            assert!((e - expected).abs() <= 2e-3, "{k}: {e} {expected}");
        }
    }

    /// Of two panels products alone are known. They are shared evenly, and what is known does not suffer.
    #[test]
    fn panels_are_taken_to_be_alike() {
        let mut panels = dense(24, |a, b| if a < 12 && b >= 12 { 100.0 + (a * b) as f64 } else { 0.0 });
        let truth = truth(24);
        let counts = counts(&mut panels, &truth);
        let found = fit(&mut panels, &counts).expect("efficiencies");
        for a in 0..12 {
            for b in 12..24 {
                let (product, expected) = (found[a] * found[b], truth[a] * truth[b]);
                assert!((product - expected).abs() <= 1e-4 * expected, "{a} {b}: {product} {expected}");
            }
        }
        let sides = [0..12, 12..24].map(|side| {
            let all: f64 = side.clone().map(|k| counts[k]).sum();
            side.filter(|k| counts[*k] > 0.0).map(|k| counts[k] * found[k].ln()).sum::<f64>() / all
        });
        assert!((sides[0] - sides[1]).abs() < 1e-2, "{sides:?}");
    }

    #[test]
    fn contradictions_are_refused() {
        let mut two = dense(2, |_, _| 1.0);
        assert!(fit(&mut two, &[9.0, 4.0]).expect_err("refused").message.starts_with("no efficiencies explain"));
        let found = fit(&mut two, &[9.0, 9.0]).expect("efficiencies");
        assert!(found.iter().all(|e| (e - 3.0).abs() < 1e-3), "{found:?}");
    }
}
