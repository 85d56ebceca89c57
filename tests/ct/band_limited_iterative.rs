//! Least squares with the band-limited pair, by the pair and by the convolution that its normal operator is.

use crate::common::iterative::{Matrix, slice};
use crate::common::*;
use isocenter::array::{Array, ArrayMut, DType};
use isocenter::context::{Context, ContextOptions};
use isocenter::cpu::level::Level;
use isocenter::ct::{Algorithm, Ct, Geometry, Iterative, Normal, Options, Pair, Start};
use isocenter::error::{Result, Status};
use std::f64::consts::{PI, TAU};
use std::sync::Arc;

/// All of the slice on the detector in all views, from an axis off the middle.
fn geometry(slices: usize) -> Geometry {
    let angles = (0..23).map(|v| 0.1 + PI * f64::from(v * 7 % 23) / 23.0 + 0.02 * f64::from(v).sin()).collect();
    let mut g = Geometry::new(angles, 37).with_rows(slices + 1);
    (g.nx, g.ny, g.axis, g.pixel_size, g.first_row, g.slices) = (19, 16, vec![17.3], 1.2, 1, slices);
    g
}

fn set(ct: &mut Ct, iterative: &Iterative) {
    let options =
        Options { algorithm: Algorithm::Cgls, pair: Pair::BandLimited, tolerance: 1e-6, ..Options::default() };
    ct.set_options(options).expect("options");
    ct.set_iterative(iterative.clone()).expect("iterations");
}

fn run(ct: &mut Ct, iterative: &Iterative, p: &[f32], start: Option<&[f32]>) -> Result<Vec<f32>> {
    let g = ct.geometry().expect("a geometry").clone();
    set(ct, iterative);
    let mut volume = start.map_or_else(|| vec![f32::NAN; volume_len(&g)], <[f32]>::to_vec);
    let array = Array::new(p, g.projection_shape()).expect("projections");
    ct.reconstruct(array, ArrayMut::new(&mut volume, g.volume_shape()).expect("a volume")).map(|()| volume)
}

/// The pair's weights, as the projection of each pixel has them: right to the sums' tolerance.
fn matrix(g: &Geometry) -> Matrix {
    let pixels = g.ny * g.nx;
    let all = Geometry { slices: pixels, rows: pixels, first_row: 0, ..g.clone() };
    let mut ct = plan(&all, Level::BASELINE, 2);
    set(&mut ct, &Iterative::default());
    let ones: Vec<f32> = (0..pixels * pixels).map(|k| f32::from(u8::from(k % pixels == k / pixels))).collect();
    let mut rays = vec![0.0f32; all.projection_shape().iter().product()];
    let to = ArrayMut::new(&mut rays, all.projection_shape()).expect("projections");
    ct.forward(Array::new(&ones, all.volume_shape()).expect("a volume"), to).expect("a projection");
    Matrix::dense(g, |ray, pixel| f64::from(rays[(ray / g.bins * pixels + pixel) * g.bins + ray % g.bins]))
}

/// The convolution by its definition (`crates/ct/src/toeplitz`), in f64.
struct Convolution {
    h: Vec<f64>,
    size: [usize; 2],
}

impl Convolution {
    fn new(g: &Geometry) -> Self {
        let mut ct = plan(g, Level::BASELINE, 1);
        set(&mut ct, &Iterative::default());
        let period = ct.info().expect("facts").period as f64;
        let [ny, nx] = [g.ny as i32, g.nx as i32];
        let at = |dy: i32, dx: i32| -> f64 {
            let of_view = |angle: &f64| {
                let step = [angle.cos(), -angle.sin()].map(|v| v * g.pixel_size / g.bin_pitch / period);
                let last = ((0.5 / step[0].abs().max(step[1].abs()) + 1e-9) as i32).clamp(1, period as i32 / 2);
                let turns = f64::from(dx) * step[0] + f64::from(dy) * step[1];
                let weight = |f: i32| if f.abs() == last { 0.25 } else { 1.0 };
                (-last..=last).map(|f| weight(f) * (TAU * f64::from(f) * turns).cos()).sum::<f64>()
            };
            g.angles.iter().map(of_view).sum::<f64>() * (g.pixel_size.powi(2) / g.bin_pitch).powi(2) / period
        };
        let h = (1 - ny..ny).flat_map(|dy| (1 - nx..nx).map(move |dx| [dy, dx])).map(|[dy, dx]| at(dy, dx)).collect();
        Self { h, size: [g.ny, g.nx] }
    }

    fn apply(&self, x: &[f64]) -> Vec<f64> {
        let [ny, nx] = self.size;
        let at = |n: usize, m: usize| self.h[(n / nx + ny - 1 - m / nx) * (2 * nx - 1) + n % nx + nx - 1 - m % nx];
        (0..ny * nx).map(|n| x.iter().enumerate().map(|(m, x)| at(n, m) * x).sum()).collect()
    }

    /// Conjugate gradient from A^T b, 0 outside the mask, and each iteration's objective, of which the first is that of zeros.
    fn solve(&self, back: Vec<f64>, inside: &[bool], weight: f64, (first, iterations): (f64, usize)) -> [Vec<f64>; 2] {
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let masked =
            |x: Vec<f64>| -> Vec<f64> { x.iter().zip(inside).map(|(x, i)| if *i { *x } else { 0.0 }).collect() };
        let mut r = masked(back);
        let (mut d, mut x, mut objective, mut history) = (r.clone(), vec![0.0; r.len()], first, Vec::new());
        for _ in 0..iterations {
            history.push(objective);
            let q: Vec<f64> = masked(self.apply(&d)).iter().zip(&d).map(|(q, d)| q + weight * d).collect();
            let square = dot(&r, &r);
            let step = square / dot(&d, &q);
            objective -= 0.5 * step * square;
            (0..x.len()).for_each(|p| (x[p] += step * d[p], r[p] -= step * q[p]).1);
            let turn = dot(&r, &r) / square;
            (0..x.len()).for_each(|p| d[p] = r[p] + turn * d[p]);
        }
        [x, history]
    }
}

/// Of something smooth, with some noise.
fn projections(g: &Geometry) -> Vec<f32> {
    let noise = random(g.projection_shape().iter().product(), 7);
    noise.iter().enumerate().map(|(k, n)| 10.0 * bump(g, k % g.bins) as f32 + 0.2 * n).collect()
}

fn bump(g: &Geometry, bin: usize) -> f64 {
    (-((bin as f64 - g.axis[0]) / 6.0).powi(2)).exp()
}

/// As of Joseph's pair, and the tolerance of the sums, 1e-6, on top of each product's rounding.
const TOLERANCE: f64 = 4e-5;

fn cases() -> Vec<Iterative> {
    let plain = Iterative { iterations: 4, ..Iterative::default() };
    vec![
        plain.clone(),
        Iterative { regularisation: 30.0, mask_radius: 0.8, ..plain.clone() },
        Iterative { start: Start::Volume, regularisation: 2.0, ..plain },
    ]
}

/// The sinogram of a slice, in f64.
fn sinogram(g: &Geometry, p: &[f32], z: usize) -> Vec<f64> {
    let at = |r: usize| ((r / g.bins) * g.rows + g.first_row + z) * g.bins + r % g.bins;
    (0..g.views() * g.bins).map(|r| f64::from(p[at(r)])).collect()
}

#[test]
fn by_the_pair_iterates_are_those_of_its_weights() {
    for slices in [1, 5] {
        let g = geometry(slices);
        let (p, matrix, pixels) = (projections(&g), matrix(&g), g.ny * g.nx);
        let from = random(volume_len(&g), 9);
        for iterative in cases() {
            let iterative = Iterative { normal: Normal::Pair, ..iterative };
            let start = (iterative.start == Start::Volume).then_some(&from[..]);
            for level in Level::available() {
                let mut ct = plan(&g, level, 2);
                let seen = run(&mut ct, &iterative, &p, start).expect("a reconstruction");
                let mut objective = 0.0;
                for z in 0..slices {
                    let start =
                        start.map(|s| s[z * pixels..][..pixels].iter().map(|v| f64::from(*v)).collect::<Vec<_>>());
                    let data = sinogram(&g, &p, z);
                    let (expected, history) = slice(&matrix, &g, Algorithm::Cgls, &iterative, &data, start.as_deref());
                    let e = error(&seen[z * pixels..][..pixels], &expected);
                    assert!(e < TOLERANCE, "{level:?}, slice {z} of {slices}, {iterative:?}: {e:.1e}");
                    objective += history.last().expect("iterations");
                }
                let found = ct.history().expect("a history").last().expect("iterations").objective;
                assert!((found / objective - 1.0).abs() < TOLERANCE, "{found} {objective}");
            }
        }
    }
}

#[test]
fn as_a_convolution_iterates_are_those_of_its_definition() {
    for slices in [1, 5] {
        let g = geometry(slices);
        let (p, matrix, pixels) = (projections(&g), matrix(&g), g.ny * g.nx);
        let convolution = Convolution::new(&g);
        let views: Vec<usize> = (0..g.views()).collect();
        for iterative in cases().into_iter().filter(|i| i.start == Start::Uniform) {
            let [cy, cx] = [g.ny, g.nx].map(|n| (n as f64 - 1.0) / 2.0);
            let radius = iterative.mask_radius * g.ny.min(g.nx) as f64 / 2.0;
            let inside = |k: usize| radius == 0.0 || ((k / g.nx) as f64 - cy).hypot((k % g.nx) as f64 - cx) <= radius;
            let inside: Vec<bool> = (0..pixels).map(inside).collect();
            for level in Level::available() {
                let mut ct = plan(&g, level, 2);
                let iterative = Iterative { normal: Normal::Toeplitz, ..iterative.clone() };
                let seen = run(&mut ct, &iterative, &p, None).expect("a reconstruction");
                let (mut objective, mut from) = (0.0, 0.0);
                for z in 0..slices {
                    let data = sinogram(&g, &p, z);
                    let first = 0.5 * data.iter().map(|v| v * v).sum::<f64>();
                    let back = matrix.adjoint(&views, &data);
                    let [expected, history] = convolution.solve(back, &inside, iterative.regularisation, (first, 4));
                    let e = error(&seen[z * pixels..][..pixels], &expected);
                    assert!(e < TOLERANCE, "{level:?}, slice {z} of {slices}, {iterative:?}: {e:.1e}");
                    objective += history[3];
                    from += history[0];
                }
                let found = ct.history().expect("a history").last().expect("iterations").objective;
                // What is left of the first one, step after step.
                assert!((found - objective).abs() < TOLERANCE * from, "{found} {objective} {from}");
            }
        }
    }
}

/// What the convolution leaves out (`crates/ct/src/toeplitz`) is the ringing beyond the detector's ends, and the ends of the frequencies: 1e-3 of
/// what is smooth on so few pixels, and some 1e-2 where noise has a tenth of the image.
#[test]
fn the_convolution_comes_to_the_pairs_image() {
    let g = geometry(3);
    let p = projections(&g);
    let smooth: Vec<f32> = p.iter().enumerate().map(|(k, _)| 10.0 * bump(&g, k % g.bins) as f32).collect();
    for (p, limit) in [(smooth, 5e-3), (p, 0.03)] {
        let with = |normal| {
            let on = Iterative { iterations: 6, regularisation: 2.0, normal, ..Iterative::default() };
            run(&mut plan(&g, Level::BASELINE, 2), &on, &p, None).expect("a reconstruction")
        };
        let pair: Vec<f64> = with(Normal::Pair).into_iter().map(f64::from).collect();
        let e = error(&with(Normal::Toeplitz), &pair);
        assert!(e > 1e-7 && e < limit, "{e:.1e}");
    }
}

/// Slices are worked on in pairs: which is with which decides how they are rounded, so slabs keep them.
#[test]
fn slices_do_not_depend_on_slabs_threads_or_streams() {
    let g = geometry(21);
    let p = projections(&g);
    for normal in [Normal::Pair, Normal::Toeplitz] {
        let iterative = Iterative { iterations: 5, normal, ..Iterative::default() };
        let whole = run(&mut plan(&g, Level::BASELINE, 1), &iterative, &p, None).expect("a reconstruction");
        let exact: Vec<f64> = whole.iter().map(|v| f64::from(*v)).collect();
        for (threads, memory_cap) in [(3, 0), (2, 1_500_000)] {
            let options = ContextOptions { threads, memory_cap, level: Some(Level::BASELINE), ..on_processor() };
            let mut ct = Ct::new(Arc::new(Context::new(options).expect("a context")));
            ct.set_geometry(g.clone()).expect("a geometry");
            let seen = run(&mut ct, &iterative, &p, None).expect("a reconstruction");
            assert!(
                memory_cap == 0
                    || ct.memory().expect("bytes") <= memory_cap && ct.info().expect("facts").slab_slices < 21
            );
            // Images side by side are summed in another order where there are other numbers of them.
            let e = error(&seen, &exact);
            assert!(e < TOLERANCE, "{normal:?}, {threads} threads, {memory_cap} bytes: {e:.1e}");
            let (streamed, _) = frames::streamed(&mut ct, DType::F32, &p).expect("a stream");
            let e = error(&streamed, &exact);
            assert!(e < TOLERANCE, "{normal:?}, a stream: {e:.1e}");
        }
    }
}

#[test]
fn the_convolution_is_taken_where_it_is_asked_for_and_refused_where_a_view_misses_pixels() {
    let g = Geometry { nx: 27, ..geometry(2) };
    let p = projections(&g);
    let of = |normal, mask_radius| {
        let iterative = Iterative { iterations: 3, normal, mask_radius, ..Iterative::default() };
        run(&mut plan(&g, Level::BASELINE, 2), &iterative, &p, None)
    };
    let message = of(Normal::Toeplitz, 0.0).expect_err("a refusal").message;
    assert!(message.contains("in view ") && message.contains("beyond the detector"), "{message}");
    // Inside the circle all fall on it.
    assert!(of(Normal::Toeplitz, 1.0).is_ok_and(|seen| of(Normal::Pair, 1.0).is_ok_and(|pair| seen != pair)));
    for radius in [0.0, 1.0] {
        // Its minimum would not be the pair's.
        assert!(of(Normal::Auto, radius) == of(Normal::Pair, radius), "{radius}");
    }
}

#[test]
fn a_convolution_that_does_not_fit_is_refused() {
    let g = geometry(2);
    let options = ContextOptions { memory_cap: 50_000, ..on_processor() };
    let mut ct = Ct::new(Arc::new(Context::new(options).expect("a context")));
    ct.set_geometry(g.clone()).expect("a geometry");
    let on = Iterative { normal: Normal::Toeplitz, ..Iterative::default() };
    let e = run(&mut ct, &on, &projections(&g), None).expect_err("too little");
    assert!(e.status == Status::MemoryCap && e.message.contains("iterative.normal 1, pair"), "{}", e.message);
}

#[test]
fn what_has_no_normal_operator_refuses_one() {
    let g = geometry(1);
    let p = projections(&g);
    type Change = fn(&mut Options, &mut Iterative);
    let table: [(&str, Change); 3] = [
        ("iterative.normal is 2 (toeplitz) and options.projector 0 (joseph)", |o, i| {
            (o.pair, i.normal) = (Pair::Joseph, Normal::Toeplitz);
        }),
        ("iterative.normal is 1 (pair); it must be 0 (auto) where options.algorithm is 1 (sirt)", |o, i| {
            (o.algorithm, o.pair, i.normal) = (Algorithm::Sirt, Pair::Joseph, Normal::Pair);
        }),
        ("options.projector is 1 (band_limited), some of whose weights are negative", |o, _| {
            o.algorithm = Algorithm::Mlem;
        }),
    ];
    for (words, change) in table {
        let mut options = Options { algorithm: Algorithm::Cgls, pair: Pair::BandLimited, ..Options::default() };
        let mut iterative = Iterative::default();
        change(&mut options, &mut iterative);
        let mut ct = plan(&g, Level::BASELINE, 1);
        let mut volume = vec![0.0; volume_len(&g)];
        let result = ct.set_options(options).and_then(|()| ct.set_iterative(iterative)).and_then(|()| {
            let target = ArrayMut::new(&mut volume, g.volume_shape())?;
            ct.reconstruct(Array::new(&p, g.projection_shape())?, target)
        });
        let e = result.expect_err("a refusal");
        assert!(e.status == Status::OutOfRange && e.message.contains(words), "{}", e.message);
    }
}
