//! Against sums in f64, and against the pair.

use super::*;
use crate::geometry::Geometry;
use crate::toeplitz::tests::{apart, noise, product, reading, scans, toeplitz};
use crate::{Ct, Options, Pair};
use isocenter_base::array::{Array, ArrayMut};
use isocenter_base::context::{Compute, Context, ContextOptions};
use std::f64::consts::{PI, TAU};

fn apply(toeplitz: &Toeplitz, level: Level, threads: usize, x: &[f32]) -> Vec<f32> {
    let pixels: usize = toeplitz.shape.image.iter().product();
    let mut out = vec![f32::NAN; x.len()];
    let mut product = Product::new(toeplitz, level, threads).expect("memory");
    product.apply(&Job::default(), x, &mut out, x.len() / pixels).expect("a product");
    let planes: usize = product.planes.iter().map(|plane| size_of_val::<[C]>(plane)).sum();
    let lines: usize = product.rooms.iter().map(|room| size_of_val(&*room.lines) + size_of_val(&*room.inner)).sum();
    assert!(Product::bytes(toeplitz.shape, threads) >= (planes + lines) as u64);
    out
}

fn dot(a: &[f32], b: &[f32]) -> f64 {
    a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
}

/// Each of the transforms' dozen roundings is 6e-8 at most of the norm, at random, and the spectrum is off by up to 1.5e-7.
const TOLERANCE: f64 = 6e-7;

/// Whatever the number of threads and of pairs, a pair has the same bits.
#[test]
fn products_are_sums() {
    for g in scans() {
        let (toeplitz, pixels) = (toeplitz(&g), g.ny * g.nx);
        let x = noise(5 * pixels, 3);
        let expected: Vec<f64> = x.chunks(pixels).flat_map(|slice| product(&g, slice)).collect();
        for level in Level::available() {
            let seen = apply(&toeplitz, level, 1, &x);
            let error = apart(&seen, &expected);
            assert!(error < TOLERANCE, "{error:.1e} with {level:?} of {g:?}");
            for threads in [2, 3] {
                assert!(apply(&toeplitz, level, threads, &x) == seen, "{threads} threads");
            }
            let two = apply(&toeplitz, level, 2, &x[..2 * pixels]);
            assert!(two == seen[..2 * pixels], "two of five slices");
            let one = apply(&toeplitz, level, 2, &x[4 * pixels..]);
            assert!(one == seen[4 * pixels..], "the last slice");
        }
    }
}

#[test]
fn the_convolution_is_symmetric_and_positive() {
    for g in scans() {
        let (toeplitz, pixels) = (toeplitz(&g), g.ny * g.nx);
        let (x, y) = (noise(pixels, 5), noise(pixels, 6));
        let of = |x: &[f32]| apply(&toeplitz, Level::detect(), 1, x);
        let (ax, ay) = (of(&x), of(&y));
        let size = (dot(&ax, &ax) * dot(&y, &y)).sqrt();
        assert!((dot(&ax, &y) - dot(&x, &ay)).abs() < TOLERANCE * size, "{g:?}");
        // The finest of all patterns, which few views see, and a mean.
        let pattern: Vec<f32> = (0..pixels).map(|n| if (n / g.nx + n % g.nx) % 2 == 0 { 1.0 } else { -1.0 }).collect();
        let all = pixels as f64 * ax.iter().zip(&x).map(|(a, x)| f64::from(a / x)).fold(0.0, f64::max).abs();
        for x in [&x, &y, &pattern, &vec![1.0; pixels]] {
            let square = dot(&of(x), x);
            assert!(square > -TOLERANCE * all, "{square:e} of {g:?}");
        }
    }
}

/// adjoint(forward(x)) by the pair, in f32 to its lowest tolerance.
fn pair(g: &Geometry, x: &[f32]) -> Vec<f32> {
    let options = ContextOptions { compute: Compute::Cpu, threads: 1, ..ContextOptions::default() };
    let mut ct = Ct::new(Arc::new(Context::new(options).expect("a context")));
    ct.set_geometry(g.clone()).expect("a geometry");
    ct.set_options(Options { pair: Pair::BandLimited, tolerance: 1e-6, ..Options::default() }).expect("options");
    let (volume, shape) = (g.volume_shape(), g.projection_shape());
    let (mut projections, mut back) = (vec![0.0; shape.iter().product()], vec![0.0; x.len()]);
    let array = Array::new(x, volume).expect("a volume");
    ct.forward(array, ArrayMut::new(&mut projections, shape).expect("projections")).expect("forward");
    let array = Array::new(&projections, shape).expect("projections");
    ct.adjoint(array, ArrayMut::new(&mut back, volume).expect("a volume")).expect("adjoint");
    back
}

/// What the convolution and A^T A of the detector's bins do not have in common, by their definitions: bins beyond the detector, and what the
/// ends P / 2 have beside a convolution.
fn rest(g: &Geometry, x: &[f32]) -> Vec<f64> {
    let b = reading(g);
    let (period, scale) = (b.period as f64, b.pair_scale(g));
    let mut rest = vec![0.0; x.len()];
    for v in 0..g.views() {
        let (line, last) = (g.pixel_line(v), b.last(g, v) as i32);
        let h: Vec<f64> =
            (0..x.len()).map(|n| line.origin + (n % g.nx) as f64 * line.dx + (n / g.nx) as f64 * line.dy).collect();
        let weight = |f: i32| if f.abs() == last { 0.5 } else { 1.0 };
        let read = |u: f64| (-last..=last).map(|f| weight(f) * (TAU * f64::from(f) * u / period).cos()).sum::<f64>();
        for k in g.bins..b.period {
            let reads: Vec<f64> = h.iter().map(|h| scale * read(k as f64 - h)).collect();
            let ray: f64 = reads.iter().zip(x).map(|(read, x)| read * f64::from(*x)).sum();
            rest.iter_mut().zip(&reads).for_each(|(rest, read)| *rest += read * ray);
        }
        if last as usize == b.period / 2 {
            let ends = |n: usize| h.iter().zip(x).map(|(m, x)| (PI * (h[n] + m)).cos() * f64::from(*x)).sum::<f64>();
            (0..x.len()).for_each(|n| rest[n] -= 0.5 * scale * scale * period * ends(n));
        }
    }
    rest
}

/// The pair errs by its tolerance each way, relative to the norm of terms of random phase, which for noise is about that of the result.
#[test]
fn the_pair_is_the_convolution_but_for_ends() {
    for g in scans() {
        let x = noise(g.ny * g.nx, 8);
        let expected = pair(&g, &x);
        let rest = rest(&g, &x);
        let expected: Vec<f64> = expected.iter().zip(&rest).map(|(p, r)| f64::from(*p) + r).collect();
        let error = apart(&apply(&toeplitz(&g), Level::detect(), 1, &x), &expected);
        assert!(error < 4e-6, "{error:.1e} of {g:?}");
    }
}

/// A smooth object has neither ringing nor frequencies of P / 2: by the latter, exp(-2 (pi sigma / 2)^2) of it is left.
#[test]
fn of_smooth_objects_the_pair_is_the_convolution() {
    let angles = (0..30).map(|v| PI * f64::from(v) / 30.0).collect();
    let g = Geometry { nx: 33, ny: 40, axis: vec![30.2], ..Geometry::new(angles, 60) };
    let square = |n: usize| ((n % 33) as f64 - 17.0).powi(2) + ((n / 33) as f64 - 19.0).powi(2);
    let x: Vec<f32> = (0..33 * 40).map(|n| (-square(n) / 2.0 / 6.25).exp() as f32).collect();
    let expected: Vec<f64> = pair(&g, &x).into_iter().map(f64::from).collect();
    let error = apart(&apply(&toeplitz(&g), Level::detect(), 2, &x), &expected);
    assert!(error < 4e-6, "{error:.1e}");
}

#[test]
fn arrays_of_other_sizes_are_refused() {
    let g = &scans()[0];
    let toeplitz = toeplitz(g);
    let mut product = Product::new(&toeplitz, Level::detect(), 2).expect("memory");
    let x = vec![1.0; 3 * g.ny * g.nx];
    let mut out = vec![0.0; x.len()];
    assert!(product.apply(&Job::default(), &x, &mut out[1..], 3).is_err());
    // It is as good as before.
    product.apply(&Job::default(), &x, &mut out, 3).expect("a product");
    assert_eq!(out, apply(&toeplitz, Level::detect(), 1, &x));
}
