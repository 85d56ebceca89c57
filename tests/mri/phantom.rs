//! The analytic phantoms of MRI against quadrature and brute force: everything else is checked against them.

use isocenter::error::Status;
use isocenter::mri::phantom::{kspace, voxel_means};
use isocenter::phantom::{Ellipsoid, HEAD_SLICE, SheppLogan};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use rustfft::num_complex::Complex;
use std::f64::consts::{PI, TAU};

type Number = Complex<f64>;

/// Tilted, off the middle, overlapping; one smaller than a voxel; one with a needle's shape.
fn ellipsoids() -> Vec<Ellipsoid<3>> {
    let ellipsoid = |value, centre, semi, angle| Ellipsoid { value, centre, semi, angle };
    vec![
        ellipsoid(1.0, [1.5, -2.0, 0.5], [5.0, 3.0, 4.0], 0.7),
        ellipsoid(-0.5, [-1.0, 1.0, 1.0], [2.0, 6.0, 3.5], -0.3),
        ellipsoid(2.0, [3.3, 4.2, -2.1], [0.3, 0.2, 0.4], 1.0),
        ellipsoid(0.75, [-2.0, -1.0, 0.0], [0.4, 5.0, 0.6], 2.0),
    ]
}

fn ellipses() -> Vec<Ellipsoid<2>> {
    let flat = |e: &Ellipsoid<3>| Ellipsoid {
        value: e.value,
        centre: [e.centre[0], e.centre[1]],
        semi: [e.semi[0], e.semi[1]],
        angle: e.angle,
    };
    ellipsoids().iter().map(flat).collect()
}

/// The place of a point of the unit ball in an ellipsoid, written out.
fn place<const D: usize>(e: &Ellipsoid<D>, unit: [f64; D]) -> [f64; D] {
    let mut p: [f64; D] = std::array::from_fn(|d| unit[d] * e.semi[d]);
    let (x, y) = (p[0], p[1]);
    p[0] = x * e.angle.cos() - y * e.angle.sin();
    p[1] = x * e.angle.sin() + y * e.angle.cos();
    std::array::from_fn(|d| p[d] + e.centre[d])
}

fn contains<const D: usize>(e: &Ellipsoid<D>, at: [f64; D]) -> bool {
    let v: [f64; D] = std::array::from_fn(|d| at[d] - e.centre[d]);
    let (x, y) = (v[0] * e.angle.cos() + v[1] * e.angle.sin(), v[1] * e.angle.cos() - v[0] * e.angle.sin());
    let third = if D == 3 { (v[D - 1] / e.semi[D - 1]).powi(2) } else { 0.0 };
    (x / e.semi[0]).powi(2) + (y / e.semi[1]).powi(2) + third <= 1.0
}

fn value<const D: usize>(list: &[Ellipsoid<D>], at: [f64; D]) -> f64 {
    list.iter().filter(|e| contains(e, at)).map(|e| e.value).sum()
}

fn wave<const D: usize>(k: [f64; D], at: [f64; D]) -> Number {
    Number::from_polar(1.0, -TAU * (0..D).map(|d| k[d] * at[d]).sum::<f64>())
}

/// Nodes and weights on 0..1 of the Gauss-Legendre rule, by Newton's method on the polynomial's recurrence.
fn gauss(n: usize) -> Vec<(f64, f64)> {
    let node = |i: usize| {
        let (mut x, mut slope) = ((PI * (i as f64 + 0.75) / (n as f64 + 0.5)).cos(), 0.0);
        for _ in 0..20 {
            let (mut p, mut before) = (1.0, 0.0);
            for m in 0..n {
                (p, before) = (((2 * m + 1) as f64 * x * p - m as f64 * before) / (m + 1) as f64, p);
            }
            slope = n as f64 * (x * p - before) / (x * x - 1.0);
            x -= p / slope;
        }
        ((x + 1.0) / 2.0, 1.0 / ((1.0 - x * x) * slope * slope))
    };
    (0..n).map(node).collect()
}

/// The transform's integral in the ellipsoid's own spherical coordinates. The integrand is entire there, so that the rules
/// converge faster than any power: with 2 pi |A k| up to 32, 48 nodes and 96 angles leave rounding alone.
fn solid_integral(e: &Ellipsoid<3>, k: [f64; 3]) -> Number {
    let (rule, turns) = (gauss(48), 96);
    let mut sum = Number::default();
    for (r, wr) in &rule {
        for (c, wc) in &rule {
            let (cos, sin) = (2.0 * c - 1.0, (1.0 - (2.0 * c - 1.0).powi(2)).sqrt());
            for t in 0..turns {
                let (y, x) = (TAU * f64::from(t) / f64::from(turns)).sin_cos();
                sum += wave(k, place(e, [r * sin * x, r * sin * y, r * cos])) * (r * r * wr * 2.0 * wc);
            }
        }
    }
    sum * (TAU / f64::from(turns) * e.value * e.semi.iter().product::<f64>())
}

/// The same in the plane; 2 pi |A k| up to 60.
fn flat_integral(e: &Ellipsoid<2>, k: [f64; 2]) -> Number {
    let turns = 192;
    let mut sum = Number::default();
    for (r, w) in gauss(96) {
        for t in 0..turns {
            let (y, x) = (TAU * f64::from(t) / f64::from(turns)).sin_cos();
            sum += wave(k, place(e, [r * x, r * y])) * (r * w);
        }
    }
    sum * (TAU / f64::from(turns) * e.value * e.semi[0] * e.semi[1])
}

fn scale<const D: usize>(list: &[Ellipsoid<D>]) -> f64 {
    list.iter().map(|e| e.value.abs() * e.semi.iter().product::<f64>()).sum()
}

/// Both sides are sums of some 1e5 terms of at most the scale: rounding stays below 1e-13 of it, times some.
#[test]
fn kspace_is_the_fourier_integral() {
    let mut rng = SmallRng::seed_from_u64(1);
    let list = ellipsoids();
    let mut places = vec![[0.0; 3], [1e-9, 0.0, -1e-9], [0.02, -0.01, 0.015]];
    places.extend((0..20).map(|_| std::array::from_fn(|_| rng.random_range(-0.5..0.5))));
    let seen = kspace(&list, &places).expect("a transform");
    for (k, s) in places.iter().zip(seen) {
        let expected: Number = list.iter().map(|e| solid_integral(e, *k)).sum();
        assert!((s - expected).norm() < 1e-12 * scale(&list), "at {k:?}: {s}, not {expected}");
    }
    let list = ellipses();
    let mut places = vec![[0.0; 2], [1e-9, -1e-9], [0.02, -0.01], [1.5, 0.0]];
    // Both ways to the Bessel function, and where they meet: u = 25 for a semi-axis of 5.
    places.extend((0..40).map(|_| std::array::from_fn(|_| rng.random_range(-1.0..1.0))));
    places.extend([24.9, 24.999_999, 25.000_001, 25.1].map(|u: f64| {
        let k = u / TAU / 5.0;
        [k * list[0].angle.cos(), k * list[0].angle.sin()]
    }));
    let seen = kspace(&list, &places).expect("a transform");
    for (k, s) in places.iter().zip(seen) {
        let expected: Number = list.iter().map(|e| flat_integral(e, *k)).sum();
        assert!((s - expected).norm() < 1e-12 * scale(&list), "at {k:?}: {s}, not {expected}");
    }
}

#[test]
fn kspace_at_zero_is_the_volume() {
    let list = SheppLogan::Original.head(64.0, 50.0).expect("ellipsoids");
    let volume: f64 = list.iter().map(|e| e.value * 4.0 / 3.0 * PI * e.semi.iter().product::<f64>()).sum();
    let seen = kspace(&list, &[[0.0; 3]]).expect("a transform")[0];
    assert!((seen - volume).norm() < 1e-14 * volume, "{seen}, not {volume}");
}

/// A square or cube of n points a side judges a voxel that an edge crosses to some 1/n of its value: a convex edge crosses
/// at most 3 n^2 of the n^3 cells (2 n of n^2), each of which is off by at most half; 8 lines a direction judge it likewise
/// (they are exact along x: 2 * 8 of 64, and 1 of 8).
fn means_are_those_of_many_points<const D: usize>(list: &[Ellipsoid<D>], shape: [usize; D]) {
    const N: usize = 32;
    for e in list {
        let seen = voxel_means(std::slice::from_ref(e), shape).expect("an image");
        for (n, v) in seen.iter().enumerate() {
            let (mut rest, mut corner) = (n, [0.0; D]);
            for d in 0..D {
                let side = shape[D - 1 - d];
                corner[d] = (rest % side) as f64 - (side / 2) as f64 - 0.5;
                rest /= side;
            }
            let at = |mut p: usize| {
                std::array::from_fn(|d| {
                    let within = ((p % N) as f64 + 0.5) / N as f64;
                    p /= N;
                    corner[d] + within
                })
            };
            let points = N.pow(D as u32);
            let inside = (0..points).filter(|p| contains(e, at(*p))).count();
            let tolerance = match inside {
                p if p == points => 1e-14,
                _ if D == 3 => 1.5 / N as f64 + 0.125,
                _ => 1.0 / N as f64 + 0.0625,
            };
            let off = (v / e.value - inside as f64 / points as f64).abs();
            assert!(off <= tolerance, "{e:?}: voxel {n} is {v}, with {inside} of {points} points inside");
        }
    }
}

#[test]
fn voxel_means_are_those_of_many_points() {
    means_are_those_of_many_points(&ellipses(), [17, 14]);
    // A small one, cut off by three faces.
    let e = Ellipsoid { value: -2.0, centre: [2.0, -2.5, 1.5], semi: [2.5, 1.2, 0.9], angle: 0.4 };
    means_are_those_of_many_points(&[e], [4, 5, 8]);
}

/// The sum over voxels of their means times the wave is the transform, but for two things that are known. A mean blurs by
/// the voxel: sinc of each component of k. Sampling folds in the transform at k + g for all whole g: for |k| < 0.1 the sinc
/// of a folded component is at most 0.1 / 0.9, the transform of a ball at u is at most 4 pi (1 + 1/u) / u^2, and with semi-axes
/// of 3 and more u is at least 17 at the 6 nearest g: 6 * 0.11 * 0.045 / 4.19 is 0.7 % of the volume; farther ones alternate
/// and fall with the third power. A shift by half a voxel would show as 30 % at |k| = 0.1, a wrong sign or axis as more.
#[test]
fn sums_over_voxels_approach_kspace() {
    let list = &ellipsoids()[..2];
    let mut rng = SmallRng::seed_from_u64(2);
    for shape in [[16, 20, 22], [15, 21, 23]] {
        let image = voxel_means(list, shape).expect("an image");
        for _ in 0..50 {
            let k: [f64; 3] = std::array::from_fn(|_| rng.random_range(-0.1..0.1));
            let mut sum = Number::default();
            for (n, v) in image.iter().enumerate() {
                let (x, y, z) = (n % shape[2], n / shape[2] % shape[1], n / shape[2] / shape[1]);
                let at = [(x, shape[2]), (y, shape[1]), (z, shape[0])].map(|(j, n)| j as f64 - (n / 2) as f64);
                sum += wave(k, at) * *v;
            }
            let blur: f64 = k.iter().map(|c| (PI * c).sin() / (PI * c)).product();
            let expected = kspace(list, &[k]).expect("a transform")[0] * blur;
            let off = (sum - expected).norm() / (4.0 / 3.0 * PI * scale(list));
            assert!(off < 0.007, "shape {shape:?} at {k:?}: {sum}, not {expected}");
        }
    }
}

/// Values of the published tables at places in one, two and three of their ellipsoids.
#[test]
fn shepp_logan_is_the_published_one() {
    let original = SheppLogan::Original.head(50.0, 20.0).expect("ellipsoids");
    let modified = SheppLogan::Modified.head(50.0, 20.0).expect("ellipsoids");
    for (x, y, z, first, second) in [
        (0.0, 0.9, 0.0, 2.0, 2.0),        // skull
        (0.0, 0.0, -0.89, 2.0, 2.0),      // skull
        (0.0, -0.4, 0.2, 1.02, 1.2),      // brain
        (-0.22, 0.0, -0.25, 1.0, 1.0),    // left ventricle
        (-0.34, 0.36, -0.25, 1.0, 1.0),   // its upper end, which leans out
        (-0.1, 0.36, -0.25, 1.04, 1.4),   // beside it: in the large one
        (0.3, 0.25, -0.25, 1.0, 1.0),     // right ventricle's upper end
        (0.0, 0.35, 0.2, 1.04, 1.4),      // the large one, high up
        (0.0, 0.08, -0.22, 1.04, 1.4),    // the small ball
        (0.0, 0.13, -0.25, 1.06, 1.6),    // where it overlaps the large one
        (-0.04, -0.65, -0.25, 1.03, 1.3), // the lying one at the bottom
        (0.06, -0.61, -0.25, 1.03, 1.3),  // the upright one
        (0.02, -0.65, -0.25, 1.02, 1.2),  // beside it
        (0.06, -0.06, 0.625, 1.04, 1.4),  // near the top
        (0.0, 0.1, 0.7, 1.0, 1.0),        // near the top
        (0.8, 0.0, 0.0, 0.0, 0.0),
    ] {
        let at = [50.0 * x, 50.0 * y, 20.0 * z];
        let seen = [value(&original, at), value(&modified, at)];
        assert!((seen[0] - first).abs() < 1e-12 && (seen[1] - second).abs() < 1e-12, "({x}, {y}, {z}) is {seen:?}");
        if z == HEAD_SLICE {
            let flat = value(&SheppLogan::Modified.head_slice(50.0).expect("ellipses"), [at[0], at[1]]);
            assert!((flat - second).abs() < 1e-12, "({x}, {y}) of the slice is {flat}");
        }
    }
}

/// Points about a slice are in the ellipse just where they are in the ellipsoid.
#[test]
fn slices_are_cut_where_they_should() {
    let mut rng = SmallRng::seed_from_u64(3);
    for e in ellipsoids() {
        for _ in 0..200 {
            let at: [f64; 3] = std::array::from_fn(|d| e.centre[d] + rng.random_range(-6.0..6.0));
            let flat = e.slice(at[2]).is_some_and(|s| contains(&s, [at[0], at[1]]));
            assert_eq!(flat, contains(&e, at), "{e:?} at {at:?}");
        }
    }
}

#[test]
fn what_has_no_meaning_is_refused() {
    let whole = ellipsoids()[0];
    let status = |e: Ellipsoid<3>| {
        let transform = kspace(&[whole, e], &[[0.0; 3]]).expect_err("a refusal").status;
        assert_eq!(voxel_means(&[whole, e], [4, 4, 4]).expect_err("a refusal").status, transform);
        transform
    };
    assert_eq!(status(Ellipsoid { semi: [1.0, 0.0, 1.0], ..whole }), Status::OutOfRange);
    assert_eq!(status(Ellipsoid { value: f64::NAN, ..whole }), Status::NotFiniteParameter);
    assert_eq!(status(Ellipsoid { centre: [0.0, f64::INFINITY, 0.0], ..whole }), Status::NotFiniteParameter);
    for shape in [[0, 4, 4], [usize::MAX, 2, 1]] {
        assert_eq!(voxel_means(&[whole], shape).expect_err("a refusal").status, Status::OutOfRange);
    }
    assert_eq!(voxel_means(&[whole], [1, 1, usize::MAX / 16]).expect_err("a refusal").status, Status::OutOfMemory);
    for (half, expected) in [(0.0, Status::OutOfRange), (f64::NAN, Status::NotFiniteParameter)] {
        assert_eq!(SheppLogan::Modified.head(half, 1.0).expect_err("a refusal").status, expected);
        assert_eq!(SheppLogan::Modified.head(1.0, half).expect_err("a refusal").status, expected);
    }
}
