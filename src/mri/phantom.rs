//! Analytic phantoms: sums of ellipsoids, with their exact Fourier transforms and their voxel means.

use crate::cpu::buffer::zeros;
use crate::error::{Result, fail};
use rayon::prelude::*;
use rustfft::num_complex::Complex;
use std::f64::consts::{FRAC_PI_4, PI, TAU};

/// An ellipsoid (D = 3) or ellipse (D = 2) of constant value, in voxels from the image's middle: voxel j of n lies at
/// j - floor(n / 2). Coordinates are x, y\[, z\]; x counts columns, y rows, z slices.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ellipsoid<const D: usize> {
    /// Value inside; where ellipsoids overlap, values add.
    pub value: f64,
    /// Centre.
    pub centre: [f64; D],
    /// Semi-axes before rotation.
    pub semi: [f64; D],
    /// Rotation about z in radians, from x towards y.
    pub angle: f64,
}

impl<const D: usize> Ellipsoid<D> {
    const PLANE_OR_SPACE: () = assert!(D == 2 || D == 3);

    /// A vector in the system in which the ellipsoid is a unit ball (as places are mapped).
    fn in_ball(&self, v: [f64; D]) -> [f64; D] {
        let turned = turn(v, -self.angle);
        std::array::from_fn(|d| turned[d] / self.semi[d])
    }

    /// Fourier transform at k, in cycles a voxel.
    fn transform(&self, k: [f64; D]) -> Complex<f64> {
        let turned = turn(k, -self.angle);
        let u = TAU * (0..D).map(|d| (turned[d] * self.semi[d]).powi(2)).sum::<f64>().sqrt();
        let unit = if D == 3 { ball(u) } else { disk(u) };
        let phase = -TAU * dot(k, self.centre);
        Complex::from_polar(self.value * self.semi.iter().product::<f64>() * unit, phase)
    }

    /// Where a line along x through `place` enters and leaves, as distances from there.
    fn chord(&self, place: [f64; D]) -> Option<(f64, f64)> {
        let mut along = [0.0; D];
        along[0] = 1.0;
        let along = self.in_ball(along);
        let from = self.in_ball(std::array::from_fn(|d| place[d] - self.centre[d]));
        // |from + t along| = 1
        let (square, middle) = (dot(along, along), -dot(from, along));
        let half = middle * middle - square * (dot(from, from) - 1.0);
        (half > 0.0).then(|| ((middle - half.sqrt()) / square, (middle + half.sqrt()) / square))
    }
}

impl Ellipsoid<3> {
    /// The ellipse in the plane at z, if it reaches there.
    pub fn slice(&self, z: f64) -> Option<Ellipsoid<2>> {
        let shrunk = 1.0 - ((z - self.centre[2]) / self.semi[2]).powi(2);
        (shrunk > 0.0).then(|| Ellipsoid {
            value: self.value,
            centre: [self.centre[0], self.centre[1]],
            semi: [self.semi[0] * shrunk.sqrt(), self.semi[1] * shrunk.sqrt()],
            angle: self.angle,
        })
    }
}

/// The ten ellipsoids of a head of Kak and Slaney, "Principles of Computerized Tomographic Imaging", 1988, page 102.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SheppLogan {
    /// Their contrasts, of X-ray attenuation: 2 % within the brain.
    Original,
    /// The contrasts of Koay, Sarlls and Ozarslan, "Three-dimensional analytical magnetic resonance imaging phantom in the
    /// Fourier domain", Magn. Reson. Med. 58, 2007, table 1: 20 %.
    Modified,
}

/// x, y, z, semi-axes, degrees, original value, modified value, in halves of the field of view.
const HEAD: [[f64; 9]; 10] = [
    [0.0, 0.0, 0.0, 0.69, 0.92, 0.9, 0.0, 2.0, 2.0],
    [0.0, 0.0, 0.0, 0.6624, 0.874, 0.88, 0.0, -0.98, -0.8],
    [-0.22, 0.0, -0.25, 0.41, 0.16, 0.21, 108.0, -0.02, -0.2],
    [0.22, 0.0, -0.25, 0.31, 0.11, 0.22, 72.0, -0.02, -0.2],
    [0.0, 0.35, -0.25, 0.21, 0.25, 0.5, 0.0, 0.02, 0.2],
    [0.0, 0.1, -0.25, 0.046, 0.046, 0.046, 0.0, 0.02, 0.2],
    [-0.08, -0.65, -0.25, 0.046, 0.023, 0.02, 0.0, 0.01, 0.1],
    [0.06, -0.65, -0.25, 0.046, 0.023, 0.02, 90.0, 0.01, 0.1],
    [0.06, -0.105, 0.625, 0.056, 0.04, 0.1, 90.0, 0.02, 0.2],
    [0.0, 0.1, 0.625, 0.056, 0.056, 0.1, 0.0, -0.02, -0.2],
];

/// The z of the head's slice that crosses most of its ellipsoids, in halves of the field of view along z.
pub const HEAD_SLICE: f64 = -0.25;

impl SheppLogan {
    /// The ellipsoids for a field of view that reaches `half_xy` voxels along x and y, `half_z` along z, to either side.
    pub fn ellipsoids(self, half_xy: f64, half_z: f64) -> Result<[Ellipsoid<3>; 10]> {
        for (name, half) in [("half_xy", half_xy), ("half_z", half_z)] {
            if !half.is_finite() {
                fail!(NotFiniteParameter, "{name} is {half}; it must be finite");
            }
            if half <= 0.0 {
                fail!(OutOfRange, "{name} is {half}; it must be above 0");
            }
        }
        Ok(HEAD.map(|[x, y, z, a, b, c, degrees, original, modified]| Ellipsoid {
            value: if self == SheppLogan::Original { original } else { modified },
            centre: [x * half_xy, y * half_xy, z * half_z],
            semi: [a * half_xy, b * half_xy, c * half_z],
            angle: degrees.to_radians(),
        }))
    }

    /// The ellipses of the slice at [`HEAD_SLICE`].
    pub fn ellipses(self, half: f64) -> Result<Vec<Ellipsoid<2>>> {
        let list = self.ellipsoids(half, half)?;
        Ok(list.iter().filter_map(|e| e.slice(HEAD_SLICE * half)).collect())
    }
}

/// Fourier transform of the phantom at each k, in cycles a voxel: the integral of its value times exp(-i 2 pi k.r). A voxel
/// has unit size, so that this is what a sum over voxels approximates.
pub fn kspace<const D: usize>(ellipsoids: &[Ellipsoid<D>], k: &[[f64; D]]) -> Result<Vec<Complex<f64>>> {
    check(ellipsoids)?;
    let mut values = zeros(k.len())?;
    values.par_iter_mut().zip(k).for_each(|(v, k)| *v = ellipsoids.iter().map(|e| e.transform(*k)).sum());
    Ok(values)
}

/// Lines a voxel is sampled by along each of y and z.
const LINES: usize = 8;

/// Mean of the phantom over each voxel of an image \[\[z\]\[y\]\[x\]: exact along x, means of `LINES` lines along y and z.
pub fn voxel_means<const D: usize>(ellipsoids: &[Ellipsoid<D>], shape: [usize; D]) -> Result<Vec<f64>> {
    check(ellipsoids)?;
    let Some(count) = shape.iter().try_fold(1usize, |n, s| n.checked_mul(*s)).filter(|n| *n > 0) else {
        fail!(
            OutOfRange,
            "the image's shape is {shape:?}; all its sizes must be at least 1 and their product fit 64 bits"
        );
    };
    let mut image = zeros(count)?;
    let nx = shape[D - 1];
    image.par_chunks_mut(nx).enumerate().for_each(|(row, voxels)| {
        for e in ellipsoids {
            (0..LINES.pow(D as u32 - 1)).for_each(|line| add_line(e, shape, row, line, voxels));
        }
    });
    Ok(image)
}

/// Adds an ellipsoid along one of the lines of a row.
fn add_line<const D: usize>(e: &Ellipsoid<D>, shape: [usize; D], row: usize, line: usize, voxels: &mut [f64]) {
    let (mut row, mut line, mut place) = (row, line, [0.0; D]);
    // Places start at the first voxel's left face, so that voxel j covers j to j + 1 along x.
    place[0] = -((voxels.len() / 2) as f64) - 0.5;
    for d in 1..D {
        let n = shape[D - 1 - d];
        let within = ((line % LINES) as f64 + 0.5) / LINES as f64 - 0.5;
        place[d] = (row % n) as f64 - (n / 2) as f64 + within;
        (row, line) = (row / n, line / LINES);
    }
    let Some((enter, leave)) = e.chord(place) else { return };
    let (enter, leave) = (enter.clamp(0.0, voxels.len() as f64), leave.clamp(0.0, voxels.len() as f64));
    let share = e.value / LINES.pow(D as u32 - 1) as f64;
    for (j, voxel) in voxels.iter_mut().enumerate().take(leave.ceil() as usize).skip(enter as usize) {
        *voxel += share * (leave.min(j as f64 + 1.0) - enter.max(j as f64));
    }
}

/// Refuses ellipsoids that have no volume or are not finite.
fn check<const D: usize>(ellipsoids: &[Ellipsoid<D>]) -> Result<()> {
    let () = Ellipsoid::<D>::PLANE_OR_SPACE;
    for (n, e) in ellipsoids.iter().enumerate() {
        if [e.value, e.angle].iter().chain(&e.centre).chain(&e.semi).any(|v| !v.is_finite()) {
            fail!(NotFiniteParameter, "ellipsoids[{n}] is {e:?}; all its numbers must be finite");
        }
        if e.semi.iter().any(|s| *s <= 0.0) {
            fail!(OutOfRange, "ellipsoids[{n}] has semi-axes {:?}; they must be above 0", e.semi);
        }
    }
    Ok(())
}

/// Rotates a vector about z, from x towards y.
fn turn<const D: usize>(mut v: [f64; D], angle: f64) -> [f64; D] {
    let (sin, cos) = angle.sin_cos();
    (v[0], v[1]) = (v[0] * cos - v[1] * sin, v[0] * sin + v[1] * cos);
    v
}

fn dot<const D: usize>(a: [f64; D], b: [f64; D]) -> f64 {
    (0..D).map(|d| a[d] * b[d]).sum()
}

/// Fourier transform of the unit ball at |k| = u / (2 pi): 4 pi (sin u - u cos u) / u^3.
fn ball(u: f64) -> f64 {
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
fn disk(u: f64) -> f64 {
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
