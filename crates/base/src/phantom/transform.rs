//! Fourier transforms of ellipses and ellipsoids.

use super::ellipsoid::{Ellipsoid, turn};
use rustfft::num_complex::Complex;
use std::f64::consts::{FRAC_PI_4, PI, TAU};

impl<const D: usize> Ellipsoid<D> {
    /// Fourier transform at k, in cycles a length unit: the integral of the value times exp(-i 2 pi k.r).
    pub fn transform(&self, k: [f64; D]) -> Complex<f64> {
        let turned = turn(k, -self.angle);
        let u = TAU * (0..D).map(|d| (turned[d] * self.semi[d]).powi(2)).sum::<f64>().sqrt();
        let unit = if D == 3 { unit_ball(u) } else { unit_disk(u) };
        let phase = -TAU * dot(k, self.centre);
        Complex::from_polar(self.value * self.semi.iter().product::<f64>() * unit, phase)
    }
}

fn dot<const D: usize>(a: [f64; D], b: [f64; D]) -> f64 {
    (0..D).map(|d| a[d] * b[d]).sum()
}

/// Fourier transform of the unit ball at |k| = u / (2 pi): 4 pi (sin u - u cos u) / u^3.
fn unit_ball(u: f64) -> f64 {
    if u > 1.0 {
        return 4.0 * PI * (u.sin() - u * u.cos()) / (u * u * u);
    }
    // Its power series, where the difference cancels: sum of (-u^2)^n / ((2 n + 1)! (2 n + 3)), below f64 from n = 9 on.
    let (mut term, mut sum) = (1.0, 0.0);
    for n in 0..9u32 {
        sum += term / f64::from(2 * n + 3);
        term *= -u * u / f64::from((2 * n + 2) * (2 * n + 3));
    }
    4.0 * PI * sum
}

/// Fourier transform of the unit disk at |k| = u / (2 pi): 2 pi J1(u) / u.
fn unit_disk(u: f64) -> f64 {
    if u > 25.0 { TAU * bessel_far(u) / u } else { TAU * bessel_near(u) }
}

/// J1(u) / u up to 25, by the integral of sin t sin(u sin t) over a quarter turn. The midpoint rule with n points is off by
/// Bessel functions of order 4 n - 1 and more, for n = 16 less than 1e-18.
fn bessel_near(u: f64) -> f64 {
    const POINTS: u32 = 16;
    let point = |j: u32| {
        let s = ((f64::from(j) + 0.5) * PI / f64::from(2 * POINTS)).sin();
        let x = u * s;
        s * s * if x == 0.0 { 1.0 } else { x.sin() / x }
    };
    (0..POINTS).map(point).sum::<f64>() / f64::from(POINTS)
}

/// J1(u) above 25, by Hankel's expansion (Abramowitz and Stegun, 9.2.5): its terms fall below f64 before they grow again.
fn bessel_far(u: f64) -> f64 {
    let (mut term, mut sums, mut n) = (1.0f64, [0.0, 0.0], 0u32);
    while term.abs() > 1e-18 {
        // 1, u, -1, -u, ... by turns: P, Q, -P, -Q.
        sums[n as usize % 2] += if n % 4 < 2 { term } else { -term };
        n += 1;
        term *= (4.0 - f64::from(2 * n - 1).powi(2)) / (f64::from(8 * n) * u);
    }
    let (sin, cos) = (u - 3.0 * FRAC_PI_4).sin_cos();
    (2.0 / (PI * u)).sqrt() * (sums[0] * cos - sums[1] * sin)
}
