//! Daubechies' filters of extremal phase (I. Daubechies, "Orthonormal bases of compactly supported wavelets", Communications on Pure and
//! Applied Mathematics 41, 909 (1988)), by spectral factorisation.

use rustfft::num_complex::Complex64;

/// Orders that there are: half the number of coefficients, and the number of moments that vanish.
pub(super) const ORDERS: std::ops::RangeInclusive<usize> = 1..=20;

const ITERATIONS: usize = 100;

/// The imaginary part of a real root, at most.
const REAL: f64 = 1e-9;

/// The scaling filter: 2 `order` coefficients whose sum is the square root of 2, the large ones first. To 1e-14 up to order 12,
/// and to 1e-11 up to order 20.
pub(super) fn scaling(order: usize) -> Vec<f64> {
    let roots = leja(roots(&halfband(order)).into_iter().map(inside).filter(|z| z.im >= -REAL).collect());
    let mut h = vec![Complex64::from(1.0)];
    let half = Complex64::from(0.5);
    // (1 + z) / 2 as often as there are vanishing moments, behind the others: so nothing large is left to cancel.
    for r in roots {
        h = times(&h, [Complex64::from(1.0), -r]);
        if r.im > REAL {
            h = times(&h, [Complex64::from(1.0), -r.conj()]);
        }
    }
    (0..order).for_each(|_| h = times(&h, [half, half]));
    let sum: f64 = h.iter().map(|c| c.re).sum();
    h.iter().map(|c| c.re * std::f64::consts::SQRT_2 / sum).collect()
}

/// The wavelet's filter that goes with a scaling filter.
pub(super) fn wavelet(scaling: &[f64]) -> Vec<f64> {
    scaling.iter().rev().enumerate().map(|(k, h)| if k % 2 == 0 { *h } else { -h }).collect()
}

/// Coefficients of y^k in sum of C(order - 1 + k, k) y^k, y = sin^2(w / 2): |H|^2 without its zeros at w = pi.
fn halfband(order: usize) -> Vec<f64> {
    let mut binomial = 1.0;
    (0..order)
        .map(|k| {
            let this = binomial;
            binomial *= (order + k) as f64 / (k + 1) as f64;
            this
        })
        .collect()
}

/// All roots of a polynomial, lowest power first, whose roots are simple: Aberth's iteration.
fn roots(p: &[f64]) -> Vec<Complex64> {
    let degree = p.len() - 1;
    let radius = (p[0] / p[degree]).abs().powf(1.0 / degree.max(1) as f64);
    let start = |k: usize| Complex64::from_polar(radius, 0.4 + std::f64::consts::TAU * k as f64 / degree as f64);
    let mut roots: Vec<_> = (0..degree).map(start).collect();
    for _ in 0..ITERATIONS {
        let mut moved = 0.0f64;
        for k in 0..degree {
            let y = roots[k];
            let (mut value, mut slope) = (Complex64::from(0.0), Complex64::from(0.0));
            for c in p.iter().rev() {
                slope = slope * y + value;
                value = value * y + c;
            }
            let others: Complex64 = (0..degree).filter(|j| *j != k).map(|j| (y - roots[j]).inv()).sum();
            let newton = value / slope;
            let step = newton / (Complex64::from(1.0) - newton * others);
            roots[k] -= step;
            moved = moved.max(step.norm());
        }
        if moved < f64::EPSILON * radius {
            break;
        }
    }
    roots
}

/// The z within the unit circle whose (2 - z - 1 / z) / 4 is y.
fn inside(y: Complex64) -> Complex64 {
    let middle = 1.0 - 2.0 * y;
    let apart = (middle * middle - 1.0).sqrt();
    let (a, b) = (middle + apart, middle - apart);
    if a.norm() > b.norm() { a.inv() } else { b.inv() }
}

/// In an order in which products stay small: each as far as can be from those before it. Of conjugates there is one, and the other follows it:
/// both are as far, and rounding would decide which comes when.
fn leja(mut rest: Vec<Complex64>) -> Vec<Complex64> {
    let mut ordered: Vec<Complex64> = Vec::new();
    let apart =
        |z: &Complex64, o: &Complex64| (z - o).norm().ln() + if o.im > REAL { (z - o.conj()).norm().ln() } else { 0.0 };
    let far = |z: &Complex64, from: &[Complex64]| match from {
        [] => z.norm(),
        _ => from.iter().map(|o| apart(z, o)).sum(),
    };
    while let Some(next) = (0..rest.len()).max_by(|a, b| far(&rest[*a], &ordered).total_cmp(&far(&rest[*b], &ordered)))
    {
        ordered.push(rest.swap_remove(next));
    }
    ordered
}

/// Product of a polynomial and a linear one.
fn times(p: &[Complex64], [a, b]: [Complex64; 2]) -> Vec<Complex64> {
    let zero = Complex64::from(0.0);
    let at = |k: usize| p.get(k).copied().unwrap_or(zero);
    (0..=p.len()).map(|k| a * at(k) + k.checked_sub(1).map_or(zero, |k| b * at(k))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Up to order 12 rounding is within 1e-13 (roots are known to 1e-15 times their condition); it grows tenfold in three orders.
    fn tolerance(order: usize) -> f64 {
        1e-13 * 10f64.powf((order.max(12) - 12) as f64 / 3.0)
    }

    #[test]
    fn shifts_by_two_are_orthonormal() {
        for order in ORDERS {
            let (h, g) = (scaling(order), wavelet(&scaling(order)));
            assert_eq!(h.len(), 2 * order);
            for shift in 0..order {
                let with = |a: &[f64], b: &[f64]| a.iter().zip(&b[2 * shift..]).map(|(a, b)| a * b).sum::<f64>();
                let one = if shift == 0 { 1.0 } else { 0.0 };
                for (what, off) in [("low", with(&h, &h) - one), ("high", with(&g, &g) - one)] {
                    assert!(off.abs() < tolerance(order), "db{order}, {what}, shift {shift}: {off:e}");
                }
                for (a, b) in [(&h, &g), (&g, &h)] {
                    assert!(with(a, b).abs() < tolerance(order), "db{order}, low with high, shift {shift}");
                }
            }
        }
    }

    /// Moments about the middle, of coordinates within 1.
    #[test]
    fn moments_vanish() {
        for order in ORDERS {
            let g = wavelet(&scaling(order));
            for power in 0..order as i32 {
                let x = |k: usize| (k as f64 - (order as f64 - 0.5)) / order as f64;
                let moment: f64 = g.iter().enumerate().map(|(k, g)| g * x(k).powi(power)).sum();
                assert!(moment.abs() < tolerance(order), "db{order}, moment {power}: {moment:e}");
            }
        }
    }

    /// Published: Haar's, and closed forms of orders 2 and 3 (square roots of 3 and 10).
    #[test]
    fn the_first_are_the_published_ones() {
        let s = 1.0 / 2.0f64.sqrt();
        let (r3, r10) = (3.0f64.sqrt(), 10.0f64.sqrt());
        let t = (5.0 + 2.0 * r10).sqrt();
        let three = [
            1.0 + r10 + t,
            5.0 + r10 + 3.0 * t,
            10.0 - 2.0 * r10 + 2.0 * t,
            10.0 - 2.0 * r10 - 2.0 * t,
            5.0 + r10 - 3.0 * t,
            1.0 + r10 - t,
        ];
        let published = [
            vec![s, s],
            [1.0 + r3, 3.0 + r3, 3.0 - r3, 1.0 - r3].map(|c| c * s / 4.0).to_vec(),
            three.map(|c| c * s / 16.0).to_vec(),
        ];
        for (order, expected) in (1..).zip(published) {
            let h = scaling(order);
            assert!(h.iter().zip(&expected).all(|(h, e)| (h - e).abs() < 1e-15), "db{order}: {h:?}");
        }
    }
}
