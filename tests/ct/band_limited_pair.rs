//! `forward` and `adjoint` by Fourier transforms, against f64 sums of their definition, and line integrals of what pixels hold.

use crate::common::scene::half_turn;
use crate::common::*;
use crate::scans::*;
use isocenter::array::{Array, ArrayMut};
use isocenter::context::{Context, ContextOptions, NanPolicy};
use isocenter::cpu::level::Level;
use isocenter::ct::{Ct, Geometry, Interpolation, Options, Order, Pair};
use isocenter::phantom::Ellipse;
use rand::SeedableRng;
use rand::rngs::SmallRng;
use std::collections::BTreeMap;
use std::f64::consts::{PI, TAU};
use std::sync::Arc;

fn options(tolerance: f64) -> Options {
    Options { pair: Pair::BandLimited, tolerance, ..Options::default() }
}

/// Frames in the geometry's order.
fn ordered<T: Copy>(g: &Geometry, frames: &[T]) -> Vec<T> {
    if g.order == Order::Frames {
        return frames.to_vec();
    }
    let row = |z: usize, v: usize| &frames[(v * g.rows + z) * g.bins..][..g.bins];
    (0..g.rows).flat_map(|z| (0..g.views()).flat_map(move |v| row(z, v).iter().copied())).collect()
}

/// Mean square of a pixel's weight for a bin at random distance in view v: a sum of 2 F + 1 terms of unit size, the ends half of it.
fn mean_square(g: &Geometry, period: usize, v: usize) -> f64 {
    let ratio = g.pixel_size / g.bin_pitch;
    let wide = ratio * g.angles[v].cos().abs().max(g.angles[v].sin().abs());
    let last = (0.5 * period as f64 / wide.max(1.0)).floor().max(1.0);
    (g.pixel_size * ratio / period as f64).powi(2) * (2.0 * last - 0.5)
}

/// l2 error in shares of the result, or, where its terms cancel, of what terms of random phase would sum to.
fn l2(seen: &[f32], expected: &[f64], random: f64) -> f64 {
    assert!(seen.len() == expected.len() && seen.iter().all(|v| v.is_finite()));
    let size: f64 = expected.iter().map(|e| e * e).sum();
    let error: f64 = seen.iter().zip(expected).map(|(s, e)| (f64::from(*s) - e).powi(2)).sum();
    (error / size.max(random)).sqrt()
}

const TOLERANCES: [f64; 5] = [1e-2, 1e-3, 1e-4, 1e-5, 1e-6];

/// Of one geometry, volume and projections: frames and volume by the period.
type Known = BTreeMap<usize, (Vec<f64>, Vec<f64>)>;

/// Both operators: errors in shares of the tolerance, and how far they are from each other's transpose.
///
/// Sums in f32, over grids of up to 100 x 100 cells, err by some 1e-7 of their norm for each of about ten roundings, at random, and so do
/// products with them. `known` is for calls of the same geometry and seed.
fn check(g: &Geometry, tolerance: f64, level: Level, seed: u64, known: &mut Known) -> [f64; 3] {
    let mut ct = plan(g, level, 2);
    ct.set_options(options(tolerance)).expect("options");
    let period = ct.info().expect("info").period;
    let (x, y) = (random(volume_len(g), seed), random(projection_len(g), seed + 1));
    let squares = |values: &[f32]| dot(values, values);
    let weights: f64 = (0..g.views()).map(|v| mean_square(g, period, v)).sum();
    let terms = squares(&x) * g.bins as f64 * weights;
    let apart = mismatch(&mut ct, g, seed, terms.sqrt());
    let sums = || (ordered(g, &band_limited_forward(g, period, &x)), band_limited_adjoint(g, period, &y));
    let (frames, volume) = known.entry(period).or_insert_with(sums);
    let forward = l2(&to_projections(&mut ct, g, Ct::forward, &x), frames, terms) / tolerance;
    let of_slices = |v: usize| squares(&y[(v * g.rows + g.first_row) * g.bins..][..g.slices * g.bins]);
    let terms: f64 = (0..g.views()).map(|v| of_slices(v) * mean_square(g, period, v)).sum();
    let seen = to_volume(&mut ct, g, Ct::adjoint, &ordered(g, &y));
    let adjoint = l2(&seen, volume, terms * (g.nx * g.ny) as f64) / tolerance;
    assert!(
        forward < 1.0 && adjoint < 1.0 && apart < 2e-6,
        "{tolerance:e} {level:?}, period {period}, {g:?}: {forward:.2} and {adjoint:.2} tolerances, {apart:.1e} apart"
    );
    [forward, adjoint, apart]
}

fn worst(all: impl Iterator<Item = [f64; 3]>) -> String {
    let [forward, adjoint, apart] = all.fold([0.0f64; 3], |worst, e| [0, 1, 2].map(|k| worst[k].max(e[k])));
    format!("forward {forward:.2}, adjoint {adjoint:.2} tolerances, {apart:.1e} from each other's transpose")
}

#[test]
fn sums_are_kept_to_in_any_geometry() {
    let mut rng = SmallRng::seed_from_u64(31);
    for tolerance in TOLERANCES {
        let all = (0..16).map(|case| {
            let level = Level::available().nth(case % Level::available().count()).expect("a level");
            check(&any_geometry(&mut rng), tolerance, level, case as u64, &mut Known::new())
        });
        println!("{tolerance:e}: {}", worst(all));
    }
}

/// Several images side by side, on a grid of several tiles, at every level; pixels finer and wider than bins.
#[test]
fn sums_are_kept_to_at_every_level() {
    for (pixel, tolerance) in [(1.0, 1e-3), (0.4, 1e-5), (2.0, 1e-2), (3.3, 1e-4), (10.0, 1e-6)] {
        let mut g = Geometry::new(half_turn(40), 90).with_rows(5);
        (g.nx, g.ny, g.pixel_size, g.axis) = (61, 54, pixel, vec![43.3]);
        let mut known = Known::new();
        for level in Level::available() {
            let seen = check(&g, tolerance, level, 7, &mut known);
            println!("{level:?} {pixel} {tolerance:e}: {}", worst(std::iter::once(seen)));
        }
    }
}

/// Where bins limit the frequencies, the adjoint is the back projection but for the scale, which is a power of two here.
#[test]
fn the_adjoint_is_the_back_projection() {
    let mut g = uneven(3);
    (g.pixel_size, g.bin_pitch) = (0.5, 0.5);
    let p = random(projection_len(&g), 1);
    let mut ct = capped(&g, 2, 1 << 30, Options { interpolation: Interpolation::BandLimited, ..options(1e-4) });
    let back = to_volume(&mut ct, &g, Ct::backproject, &p);
    assert!(to_volume(&mut ct, &g, Ct::adjoint, &p) == back.iter().map(|v| 0.5 * v).collect::<Vec<_>>());
}

/// A Gaussian of two pixels, or two bins where these are larger: at half a cycle of either its transform is 3e-9 of its largest value, so
/// that they hold all of it, and line integrals are Gaussians. Joseph's linear interpolation broadens it: by t (1 - t) / 2 of its curvature at t between two pixels,
/// which is 1 / 12 / 2^2 = 2 % of its peak on average, a quarter of that where it is four pixels.
#[test]
fn a_smooth_object_has_its_line_integrals() {
    const SIGMA: f64 = 2.0;
    for (pixel, pitch) in [(1.0, 1.0), (0.5, 1.0), (2.0, 1.0), (3.3, 1.1), (1.0, 0.37)] {
        let mut g =
            Geometry::new((0..30).map(|v| 0.05 + f64::from(v) * 0.21).collect(), (90.0 * pixel / pitch) as usize);
        (g.nx, g.ny, g.pixel_size, g.bin_pitch) = (64, 60, pixel, pitch);
        g.axis = vec![0.5 * g.bins as f64 + 0.3];
        let (middle, sigma) = ([5.3 * pixel, -3.9 * pixel], SIGMA * pixel.max(pitch));
        let value = |k: usize| {
            let (x, y) = scene::pixel_middle(&g, k / g.nx, k % g.nx);
            (-0.5 * ((x - middle[0]).powi(2) + (y - middle[1]).powi(2)) / sigma.powi(2)).exp() as f32
        };
        let x: Vec<f32> = (0..volume_len(&g)).map(value).collect();
        let ray = |k: usize| {
            let (sin, cos) = g.angles[k / g.bins].sin_cos();
            let s = ((k % g.bins) as f64 - g.axis[0]) * pitch - (middle[0] * cos + middle[1] * sin);
            TAU.sqrt() * sigma * (-0.5 * (s / sigma).powi(2)).exp()
        };
        let exact: Vec<f64> = (0..projection_len(&g)).map(ray).collect();
        let off = |options: Options| {
            l2(&to_projections(&mut capped(&g, 2, 1 << 30, options), &g, Ct::forward, &x), &exact, 0.0)
        };
        let joseph = off(Options::default());
        for tolerance in [1e-2, 1e-3, 1e-4, 1e-5] {
            let banded = off(options(tolerance));
            println!("pixel {pixel}, pitch {pitch}: {banded:.1e} at {tolerance:e}, Joseph {joseph:.1e}");
            assert!(banded < tolerance, "pixel {pixel}, pitch {pitch}: {banded:.1e} at {tolerance:e}");
        }
        assert!(joseph > 3e-3, "pixel {pixel}, pitch {pitch}: Joseph {joseph:.1e}");
    }
}

/// Over a whole period the sum of a row is the mass but for rounding; the detector ends where the edge's ringing has all but gone.
#[test]
fn a_disc_keeps_its_mass_in_every_view() {
    for (pixel, pitch) in [(1.0, 1.0), (2.0, 1.0), (10.0, 1.0), (0.3, 1.0), (1.0, 0.7)] {
        let mut g = Geometry::new(half_turn(50), (160.0 * pixel / pitch) as usize);
        (g.nx, g.ny, g.pixel_size, g.bin_pitch) = (64, 66, pixel, pitch);
        let disc = Ellipse { value: 1.0, centre: [0.0, 0.0], semi: [20.0 * pixel; 2], angle: 0.0 };
        let mut ct = capped(&g, 2, 1 << 30, options(1e-4));
        let volume = scene::pixel_means(&ct, &g, &[disc]);
        let mass = pixel * pixel * volume.iter().map(|v| f64::from(*v)).sum::<f64>();
        let p = to_projections(&mut ct, &g, Ct::forward, &volume);
        let view = |row: &[f32]| (pitch * row.iter().map(|v| f64::from(*v)).sum::<f64>() / mass - 1.0).abs();
        let worst = p.chunks(g.bins).map(view).fold(0.0, f64::max);
        println!("pixel {pixel}, pitch {pitch}: mass off by up to {worst:.1e}");
        assert!(worst < 1e-3, "pixel {pixel}, pitch {pitch}: mass off by up to {worst:.1e}");
    }
}

/// A slice goes with its neighbour whatever slab they are in, and every sum has one order.
#[test]
fn threads_and_slabs_and_orders_are_the_same_to_the_bit() {
    for rows in [1, 2, 5, 16, 33] {
        let g = uneven(rows);
        let (x, y) = (random(volume_len(&g), 5), random(projection_len(&g), 6));
        let both = |ct: &mut Ct, g: &Geometry, y: &[f32]| {
            (to_projections(ct, g, Ct::forward, &x), to_volume(ct, g, Ct::adjoint, y))
        };
        let expected = both(&mut capped(&g, 1, 1 << 30, options(1e-4)), &g, &y);
        for threads in [1, 2, 3, 7] {
            let fits = |cap: &u64| {
                let to = &mut vec![0.0; volume_len(&g)];
                let (from, to) = (Array::new(&y, g.projection_shape()), ArrayMut::new(to, g.volume_shape()));
                let (from, to) = (from.expect("projections"), to.expect("a volume"));
                capped(&g, threads, *cap, options(1e-4)).adjoint(from, to).is_ok()
            };
            let least = (0..100).map(|k| (1e5 * 1.1f64.powi(k)) as u64).find(fits).expect("a cap");
            for cap in [least, 2 * least, 4 * least, 1 << 30] {
                let mut ct = capped(&g, threads, cap, options(1e-4));
                assert!(both(&mut ct, &g, &y) == expected, "{rows} rows, {threads} threads, cap {cap}");
            }
        }
        let sinograms = Geometry { order: Order::Sinograms, ..g.clone() };
        let seen = both(&mut capped(&sinograms, 2, 1 << 30, options(1e-4)), &sinograms, &ordered(&sinograms, &y));
        assert!(seen == (ordered(&sinograms, &expected.0), expected.1), "{rows} rows in sinograms");
    }
}

/// Rows outside the slices are left alone.
#[test]
fn a_part_of_the_rows_is_projected() {
    for order in [Order::Frames, Order::Sinograms] {
        let g = Geometry { first_row: 2, slices: 3, order, ..uneven(7) };
        let mut out = vec![7.0; projection_len(&g)];
        let x = random(volume_len(&g), 3);
        let (from, to) = (Array::new(&x, g.volume_shape()), ArrayMut::new(&mut out, g.projection_shape()));
        let mut ct = capped(&g, 2, 1 << 30, options(1e-3));
        ct.forward(from.expect("a volume"), to.expect("projections")).expect("success");
        for (k, row) in out.chunks(g.bins).enumerate() {
            let row_of = if order == Order::Frames { k % 7 } else { k / g.views() };
            assert_eq!((2..5).contains(&row_of), row.iter().any(|v| *v != 7.0), "{order:?} {k}");
        }
    }
}

#[test]
fn bad_data_is_found_before_anything_is_written() {
    let g = uneven(20);
    let (mut x, mut y) = (random(volume_len(&g), 12), random(projection_len(&g), 11));
    x[(19 * g.ny + 40) * g.nx + 3] = f32::INFINITY;
    y[(40 * 20 + 19) * g.bins + 3] = f32::NAN;
    // One slab, and several.
    for cap in [1 << 30, 1 << 22] {
        let (mut v, mut p) = (vec![7.0; x.len()], vec![7.0; y.len()]);
        let mut ct = capped(&g, 2, cap, options(1e-4));
        let (from, to) = (Array::new(&x, g.volume_shape()), ArrayMut::new(&mut p, g.projection_shape()));
        let e = ct.forward(from.expect("a volume"), to.expect("projections")).expect_err("Inf");
        assert!(e.message.starts_with("volume[19, 40, 3] is inf"), "{e}");
        let (from, to) = (Array::new(&y, g.projection_shape()), ArrayMut::new(&mut v, g.volume_shape()));
        let e = ct.adjoint(from.expect("projections"), to.expect("a volume")).expect_err("NaN");
        assert!(e.message.starts_with("projections[40, 19, 3] is NaN"), "{e}");
        assert!(v.iter().chain(&p).all(|v| *v == 7.0), "cap {cap}");
    }
    // Replaced, and counted once.
    let replaces = ContextOptions { nan_policy: NanPolicy::Replace, threads: 2, ..on_processor() };
    let mut ct = Ct::new(Arc::new(Context::new(replaces).expect("a context")));
    ct.set_geometry(g.clone()).expect("a geometry");
    ct.set_options(options(1e-4)).expect("options");
    let seen = to_projections(&mut ct, &g, Ct::forward, &x);
    assert_eq!(ct.info().expect("info").replaced, 1);
    x[(19 * g.ny + 40) * g.nx + 3] = 0.0;
    assert!(seen == to_projections(&mut ct, &g, Ct::forward, &x));
}

#[test]
fn a_cap_that_is_too_small_is_named() {
    let g = uneven(4);
    let x = random(volume_len(&g), 3);
    let mut out = vec![0.0; projection_len(&g)];
    let (from, to) = (Array::new(&x, g.volume_shape()), ArrayMut::new(&mut out, g.projection_shape()));
    let e = capped(&g, 2, 60_000, options(1e-4)).forward(from.expect("a volume"), to.expect("projections"));
    let message = e.expect_err("a small cap").message;
    assert!(message.starts_with("memory_cap is 60000 bytes; band-limited projection of two slices needs"), "{message}");
}

/// Views along the pixels, where points fall on cells: both ways must take the same of them.
#[test]
fn right_angles_are_transposed_too() {
    for pixel in [1.0, 2.0, 0.5] {
        let mut g = Geometry::new(vec![0.0, PI / 2.0, PI, 1.5 * PI, PI / 4.0, -PI / 4.0], 64);
        (g.nx, g.ny, g.pixel_size) = (64, 64, pixel);
        for tolerance in TOLERANCES {
            check(&g, tolerance, Level::detect(), 17, &mut Known::new());
        }
    }
}
