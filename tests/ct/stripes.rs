//! Stripes: published methods against plain f64 versions, and what stands out from noise against what was done to a clean scan.

use crate::common::frames::streamed;
use crate::common::stripes::{
    DEAD, FLUCTUATING, NOISE, OFFSETS, PARTIAL, WIDE, blobs, ellipses, ellipses_axis, regularised, sorting, striped,
    vo, wavelet_fourier,
};
use crate::common::{on_processor, plan, projection_len, to_volume};
use isocenter::array::{Array, ArrayMut, DType};
use isocenter::context::{Context, ContextOptions};
use isocenter::cpu::level::Level;
use isocenter::ct::{Ct, Filter, Geometry, Interpolation, Options, Order, Stripes, Vo, Wavelet};
use isocenter::error::Status;
use std::f64::consts::PI;
use std::sync::Arc;

fn angles(views: usize) -> Vec<f64> {
    (0..views).map(|v| PI * v as f64 / views as f64).collect()
}

const PLAIN: Vo = Vo { snr: 3.0, large: 31, small: 11, dropped: 0.1 };
const MUNCH: Wavelet = Wavelet { levels: 0, sigma: 1.0, order: 9 };

/// Line integrals after the stages.
fn without(ct: &mut Ct, stripes: Option<Stripes>, projections: &[f32]) -> Vec<f32> {
    let g = ct.geometry().expect("a geometry").clone();
    ct.set_options(Options { filter: Filter::None, ..Options::default() }).expect("options");
    ct.set_stripes(stripes).expect("stripes");
    let mut out = vec![f32::NAN; projection_len(&g)];
    let shape = g.projection_shape();
    let from = Array::new(projections, shape).expect("projections");
    ct.filter(from, ArrayMut::new(&mut out, shape).expect("projections")).expect("success");
    out
}

fn of_one(views: usize, bins: usize, stripes: Stripes, sinogram: &[f32]) -> Vec<f32> {
    without(&mut plan(&Geometry::new(angles(views), bins), Level::detect(), 2), Some(stripes), sinogram)
}

fn doubles(values: &[f32]) -> Vec<f64> {
    values.iter().map(|v| f64::from(*v)).collect()
}

/// Medians are values of the data: they are the same to the bit. Equal values of a column share ranks in the order of views in both.
#[test]
fn sorting_is_the_published_algorithm() {
    for (views, bins, window) in [(60, 140, 11), (37, 129, 8), (200, 131, 2), (5, 40, 40), (1, 16, 5)] {
        let s = blobs(views, bins.max(128), 3);
        let s: Vec<f32> = s.chunks(bins.max(128)).flat_map(|r| &r[..bins]).copied().collect();
        let expected = sorting(&doubles(&s), bins, window);
        let seen = of_one(views, bins, Stripes::Sorting(window), &s);
        assert!(seen.iter().zip(&expected).all(|(s, e)| f64::from(*s) == *e), "{views} x {bins}, {window}");
    }
}

/// Interpolated columns and factors are rounded to f32, and a factor's division again: 2e-7 of values up to 3.
#[test]
fn vo_is_the_published_algorithm() {
    for (views, bins, seed) in [(180, 160, 1), (61, 147, 2), (300, 128, 5)] {
        let bad = striped(&blobs(views, bins, seed), bins);
        for vo_of in [PLAIN, Vo { snr: 2.0, large: 40, small: 6, dropped: 0.5 }] {
            let Vo { snr, large, small, dropped } = vo_of;
            let expected = vo(&doubles(&bad), bins, (snr, large, small, dropped));
            let seen = of_one(views, bins, Stripes::Vo(vo_of), &bad);
            let worst = seen.iter().zip(&expected).map(|(s, e)| (f64::from(*s) - e).abs()).fold(0.0, f64::max);
            assert!(worst < 1e-6, "{views} x {bins}: {worst:e}");
        }
    }
}

/// Means are sums of f32 of 64 values at a time, which err by 1e-6 of values of 3 at most, and offsets are rounded to f32.
#[test]
fn regularised_is_the_published_formula() {
    for (views, bins, alpha) in [(180, 160, 5e-4), (61, 147, 0.1), (300, 128, 30.0), (1, 130, 1e-6), (2, 2, 0.5)] {
        let bad = if bins < 128 { vec![1.0, 3.0, 2.0, 5.0] } else { striped(&blobs(views, bins, 4), bins) };
        let expected = regularised(&doubles(&bad), bins, alpha);
        let seen = of_one(views, bins, Stripes::Regularised(alpha), &bad);
        let worst = seen.iter().zip(&expected).map(|(s, e)| (f64::from(*s) - e).abs()).fold(0.0, f64::max);
        assert!(worst < 3e-6, "{views} x {bins}, {alpha}: {worst:e}");
    }
}

/// Amplitudes are sums of 128 products at a time, each rounded: the square root of 128 times 6e-8 of values of 3 at most, and what is taken
/// off is the sum of as many; filters are known to 1e-12.
#[test]
fn wavelet_fourier_is_the_published_method() {
    let cases = [
        (180, 160, 0, 1.0, 9),
        (61, 147, 2, 2.5, 4),
        (300, 128, 3, 0.3, 20),
        (128, 131, 1, 30.0, 2),
        (128, 128, 3, 100.0, 1),
        (129, 128, 2, 0.01, 12),
        (50, 200, 1, 7.0, 3),
        (33, 129, 0, 1.0, 15),
    ];
    for (views, bins, levels, sigma, order) in cases {
        let bad = striped(&blobs(views, bins, 6), bins);
        // The shorter side with a tenth of it on both sides, halved down to 16.
        let side = views.min(bins) + 2 * (views.min(bins) / 10);
        let fit = (0..5).filter(|l| side >> (l + 1) >= 16).count();
        let used = if levels == 0 { fit } else { levels };
        let expected = wavelet_fourier(&doubles(&bad), bins, (used, sigma, order));
        let seen = of_one(views, bins, Stripes::Wavelet(Wavelet { levels, sigma, order }), &bad);
        let worst = seen.iter().zip(&expected).map(|(s, e)| (f64::from(*s) - e).abs()).fold(0.0, f64::max);
        assert!(worst < 3e-6, "{views} x {bins}, {levels} levels, {sigma}, db{order}: {worst:e}");
        assert!(seen.iter().zip(&bad).any(|(s, b)| (s - b).abs() > 0.02), "something was taken off");
    }
}

/// Too few for a level of 16.
#[test]
fn a_sinogram_without_levels_stays() {
    for (views, bins) in [(27, 128), (128, 20), (1, 1)] {
        let few = &striped(&blobs(128, 128, 1), 128)[..views * bins];
        check_same(&of_one(views, bins, Stripes::Wavelet(MUNCH), few), few, true, "stays");
    }
}

/// Rms of a column's difference.
fn column_error(a: &[f32], b: &[f32], bins: usize, k: usize) -> f64 {
    let views = a.len() / bins;
    let squares = (0..views).map(|v| f64::from(a[v * bins + k] - b[v * bins + k]).powi(2));
    (squares.sum::<f64>() / views as f64).sqrt()
}

/// An offset is known to the noise of its column's mean and of the parabola's through ten others, and to what structure is left by
/// that: a fifth of the noise of a value, for 400 views. What neighbours replace has their noise and its own was lost: twice the noise.
#[test]
fn what_stands_out_goes() {
    let (views, bins) = (400, 384);
    for seed in [1, 2, 3] {
        let clean = blobs(views, bins, seed);
        let seen = of_one(views, bins, Stripes::Significant, &striped(&clean, bins));
        for (k, by) in OFFSETS.iter().map(|(k, by)| (*k, *by)).chain(WIDE.map(|k| (k, 0.06))) {
            let left = column_error(&seen, &clean, bins, k);
            assert!(left < 0.2 * NOISE, "bin {k}, off by {by}: {left} left, seed {seed}");
        }
        for k in [DEAD, FLUCTUATING, PARTIAL] {
            let left = column_error(&seen, &clean, bins, k);
            assert!(left < 2.0 * NOISE, "bin {k}: {left} left, seed {seed}");
        }
    }
}

/// Five standard deviations are rare: at most a bin in a hundred changes, by no more than it could be off.
#[test]
fn clean_data_stay() {
    let (views, bins) = (400, 192);
    for seed in [1, 2, 3, 4] {
        let clean = blobs(views, bins, seed);
        let seen = of_one(views, bins, Stripes::Significant, &clean);
        let changed: Vec<f64> = (0..bins).map(|k| column_error(&seen, &clean, bins, k)).filter(|e| *e > 0.0).collect();
        assert!(changed.len() <= bins / 100, "{} bins changed, seed {seed}", changed.len());
        assert!(changed.iter().all(|e| *e < 0.6 * NOISE), "{changed:?}, seed {seed}");
    }
    for (views, bins) in [(15, 192), (400, 15)] {
        let few = &striped(&blobs(400, 192, 1), 192)[..views * bins];
        check_same(&of_one(views, bins, Stripes::Significant, few), few, true, "too few to tell anything");
    }
}

/// The slice of a sinogram, where it is well inside the largest ellipse.
fn inside(sinogram: &[f32], (views, bins): (usize, usize), stripes: Option<Stripes>) -> Vec<f64> {
    let g = Geometry { axis: vec![ellipses_axis(bins)], ..Geometry::new(angles(views), bins) };
    let mut ct = plan(&g, Level::detect(), 2);
    ct.set_stripes(stripes).expect("stripes");
    let volume = to_volume(&mut ct, &g, Ct::reconstruct, sinogram);
    let far = |k: usize| k as f64 - (bins - 1) as f64 / 2.0;
    let well = |i: &usize| far(i / bins).hypot(far(i % bins)) < 0.3 * bins as f64;
    (0..volume.len()).filter(well).map(|i| f64::from(volume[i])).collect()
}

fn rms(values: impl Iterator<Item = f64> + Clone) -> f64 {
    (values.clone().map(|v| v * v).sum::<f64>() / values.count() as f64).sqrt()
}

/// Whatever the noise: the slice is that without the step but for what comes of columns at the object's edge that are taken for stripes. One of
/// them is off by some 1 % of the largest integral, which a filtered row has back as 1 % of the object's value at the distance of a bin, and as the
/// inverse square of the distance beyond: 1e-3 inside, where nothing else changes.
#[test]
fn clean_data_stay_whatever_the_noise() {
    for size in [(90, 64), (180, 96), (400, 128), (402, 256)] {
        for noise in [0.0, 1e-6, 1e-4, 1e-3] {
            let sinogram = ellipses(size, noise, 4);
            let off = inside(&sinogram, size, None);
            let seen = inside(&sinogram, size, Some(Stripes::Significant));
            let change = rms(seen.iter().zip(&off).map(|(s, o)| s - o)) / rms(off.iter().copied());
            let scale = seen.iter().zip(&off).map(|(s, o)| s * o).sum::<f64>() / off.iter().map(|o| o * o).sum::<f64>();
            assert!(change < 1e-3 && (scale - 1.0).abs() < 1e-3, "{size:?}, noise {noise}: {change:e}, {scale}");
        }
    }
}

/// Offsets of 1 % of the largest integral, whatever the noise, and others besides of 5 %. What stays of an offset is what parabolas through ten
/// columns leave of the means there: their structure, up to 0.4 % of the largest integral at 96 bins and 0.1 % beyond.
#[test]
fn stripes_of_clean_data_go() {
    for (size, allowed) in [((180, 96), 4e-3), ((400, 128), 1e-3), ((402, 256), 1e-3)] {
        let bins = size.1;
        for noise in [0.0, 1e-6, 1e-4, 1e-3] {
            let clean = ellipses(size, noise, 4);
            let largest = clean.iter().fold(0.0f32, |l, v| l.max(*v));
            let offsets = [(bins / 4, 0.01), (bins / 2 - 5, -0.01), (bins / 2 + 3, 0.05)];
            let mut bad = clean.clone();
            for row in bad.chunks_exact_mut(bins) {
                offsets.iter().for_each(|(k, by)| row[*k] += by * largest);
            }
            let seen = of_one(size.0, bins, Stripes::Significant, &bad);
            for (k, by) in offsets {
                let left = column_error(&seen, &clean, bins, k) / f64::from(largest);
                assert!(left < allowed, "{size:?}, noise {noise}, bin {k}, off by {by}: {left:e} left");
            }
        }
    }
}

/// Values that are all the same, all 0, huge: nothing that is not finite comes of them.
#[test]
fn no_data_make_what_is_not_finite() {
    let (views, bins) = (40, 128);
    let one = |f: fn(usize) -> f32| (0..views * bins).map(f).collect::<Vec<f32>>();
    let cases = [
        one(|_| 0.0),
        one(|_| 3.0),
        one(|i| if i % 128 == 64 { 1e30 } else { 0.0 }),
        one(|i| (i % 7) as f32 - 3.0),
        one(|i| if i % 2 == 0 { 1e-30 } else { -1e-30 }),
        one(|i| f32::MAX / 4.0 * ((i % 128) as f32 / 128.0)),
    ];
    for (c, data) in cases.iter().enumerate() {
        let steep = Stripes::Wavelet(Wavelet { sigma: 100.0, order: 20, ..MUNCH });
        let others = [Stripes::Sorting(9), Stripes::Regularised(5e-4), Stripes::Wavelet(MUNCH), steep];
        for stripes in [Stripes::Significant, Stripes::Vo(PLAIN)].into_iter().chain(others) {
            let seen = of_one(views, bins, stripes.clone(), data);
            assert!(seen.iter().all(|v| v.is_finite()), "case {c}, {stripes:?}");
        }
    }
}

fn capped(g: &Geometry, threads: usize, memory_cap: u64, level: Level) -> Ct {
    let options = ContextOptions { threads, memory_cap, level: Some(level), ..on_processor() };
    let mut ct = Ct::new(Arc::new(Context::new(options).expect("a context")));
    ct.set_geometry(g.clone()).expect("a geometry");
    ct
}

/// Some rows, each with stripes of its own.
fn scan(g: &Geometry) -> Vec<f32> {
    let (views, bins) = (g.views(), g.bins);
    let sinograms: Vec<Vec<f32>> = (0..g.rows as u64).map(|r| striped(&blobs(views, bins, r), bins)).collect();
    let mut all = Vec::new();
    for i in 0..g.rows * views {
        let (row, view) = if g.order == Order::Sinograms { (i / views, i % views) } else { (i % g.rows, i / g.rows) };
        all.extend_from_slice(&sinograms[row][view * bins..][..bins]);
    }
    all
}

/// What the error for a cap of one byte asks for.
fn smallest_cap(g: &Geometry, threads: usize, stripes: &Stripes) -> u64 {
    let mut ct = capped(g, threads, 1, Level::detect());
    ct.set_stripes(Some(stripes.clone())).expect("stripes");
    let message = ct.memory().expect_err("too little").message;
    message.rsplit(' ').next().and_then(|bytes| bytes.parse().ok()).expect("a number of bytes")
}

/// The same to the bit, or to 1e-5 of the largest.
fn check_same(seen: &[f32], expected: &[f32], to_the_bit: bool, what: &str) {
    let largest = expected.iter().fold(0.0f32, |l, v| l.max(v.abs()));
    let near = |(s, e): (&f32, &f32)| s.to_bits() == e.to_bits() || !to_the_bit && (s - e).abs() < 1e-5 * largest;
    assert!(seen.len() == expected.len() && seen.iter().zip(expected).all(near), "{what}");
}

/// A row's stripes do not depend on other rows, and sums have one order: to the bit. The back projection after them has another order
/// where fewer slices stand side by side.
#[test]
fn slabs_threads_levels_and_orders_do_not_matter() {
    let mut g = Geometry::new(angles(50), 128).with_rows(6);
    (g.nx, g.ny) = (40, 42);
    let others = [Stripes::Sorting(7), Stripes::Regularised(0.01), Stripes::Wavelet(MUNCH)];
    for stripes in [Stripes::Significant, Stripes::Vo(PLAIN)].into_iter().chain(others) {
        for (first_row, slices) in [(0, 6), (2, 3)] {
            (g.first_row, g.slices, g.order) = (first_row, slices, Order::Frames);
            let data = scan(&g);
            let mut reference = capped(&g, 1, 0, Level::detect());
            reference.set_stripes(Some(stripes.clone())).expect("stripes");
            let rows = without(&mut reference, Some(stripes.clone()), &data);
            reference.set_options(Options::default()).expect("options");
            let volume = to_volume(&mut reference, &g, Ct::reconstruct, &data);
            for (threads, part) in [(2, 0), (3, 1), (1, 1)] {
                let mut ct = capped(&g, threads, part * smallest_cap(&g, threads, &stripes), Level::detect());
                ct.set_stripes(Some(stripes.clone())).expect("stripes");
                let seen = to_volume(&mut ct, &g, Ct::reconstruct, &data);
                check_same(&seen, &volume, false, &format!("{stripes:?}, {threads} threads, part {part}"));
                let seen = without(&mut ct, Some(stripes.clone()), &data);
                check_same(&seen, &rows, true, &format!("{stripes:?}, {threads} threads, part {part}, rows"));
            }
            for level in Level::available() {
                let mut ct = capped(&g, 2, 0, level);
                check_same(
                    &without(&mut ct, Some(stripes.clone()), &data),
                    &rows,
                    true,
                    &format!("{stripes:?}, {level:?}"),
                );
            }
            let turned = Geometry { order: Order::Sinograms, ..g.clone() };
            let mut ct = capped(&turned, 2, 0, Level::detect());
            ct.set_stripes(Some(stripes.clone())).expect("stripes");
            let seen = to_volume(&mut ct, &turned, Ct::reconstruct, &scan(&turned));
            check_same(&seen, &volume, true, &format!("{stripes:?}, sinograms"));
        }
    }
}

/// To the bit: views at random, by golden angles beyond many turns, to and fro, and of a half turn whose angles are wrapped, against the same
/// views by their angles.
#[test]
fn the_order_of_views_does_not_matter() {
    let bins = 128;
    let golden = PI * (3.0 - 5f64.sqrt());
    let shuffled = |n: usize, step: f64| (0..n).map(|k| (37 * k % n) as f64 * step).collect::<Vec<_>>();
    let to_and_fro = |n: usize, step: f64| {
        let there = (0..n).step_by(2);
        there.chain((0..n).skip(1).step_by(2).rev()).map(|k| k as f64 * step).collect::<Vec<_>>()
    };
    let scans = [
        shuffled(120, PI / 120.0),
        shuffled(150, 2.0 * PI / 150.0),
        to_and_fro(90, PI / 90.0),
        (0..140).map(|k| f64::from(k) * golden).collect(),
        (0..90).map(|k| (5.0 + f64::from(37 * k % 90) * PI / 90.0).rem_euclid(2.0 * PI)).collect(),
    ];
    let others = [Stripes::Sorting(7), Stripes::Regularised(0.01), Stripes::Wavelet(MUNCH)];
    for stripes in [Stripes::Significant, Stripes::Vo(PLAIN)].into_iter().chain(others) {
        for (s, angles) in scans.iter().enumerate() {
            let sinogram = striped(&blobs(angles.len(), bins, 3), bins);
            let turned: Vec<f64> = angles.iter().map(|a| a.rem_euclid(2.0 * PI)).collect();
            // The half turn about 0 begins at 5 rad.
            let from = if s == 4 { 5.0 } else { 0.0 };
            let mut order: Vec<usize> = (0..angles.len()).collect();
            let key = |v: usize| turned[v] + if turned[v] < from - 1e-9 { 2.0 * PI } else { 0.0 };
            order.sort_by(|a, b| key(*a).total_cmp(&key(*b)));
            let by_angle = Geometry::new(order.iter().map(|v| key(*v)).collect(), bins);
            let as_given = Geometry::new(angles.clone(), bins);
            let mut given = vec![0.0; sinogram.len()];
            for (row, v) in sinogram.chunks(bins).zip(&order) {
                given[v * bins..][..bins].copy_from_slice(row);
            }
            let run =
                |g: &Geometry, data: &[f32]| without(&mut plan(g, Level::detect(), 2), Some(stripes.clone()), data);
            let (expected, seen) = (run(&by_angle, &sinogram), run(&as_given, &given));
            let same = order.iter().enumerate().all(|(k, v)| {
                let row = |values: &[f32], k: usize| values[k * bins..][..bins].to_vec();
                row(&seen, *v) == row(&expected, k)
            });
            assert!(same, "{stripes:?}, scan {s}");
            assert!(expected != sinogram, "{stripes:?}, scan {s}: nothing was taken off");
            // What the order takes is in the figure.
            let memory = |g: &Geometry| {
                let mut ct = capped(g, 2, 0, Level::detect());
                ct.set_stripes(Some(stripes.clone())).expect("stripes");
                ct.memory().expect("a figure")
            };
            assert!(memory(&as_given) > memory(&by_angle), "{stripes:?}, scan {s}");
        }
    }
}

/// Callbacks see the same slices, and what comes out is the same.
#[test]
fn streams_remove_stripes() {
    let g = Geometry::new(angles(60), 128).with_rows(5);
    let data = scan(&g);
    for interpolation in [Interpolation::Linear, Interpolation::BandLimited] {
        let mut ct = plan(&g, Level::detect(), 2);
        ct.set_options(Options { interpolation, ..Options::default() }).expect("options");
        ct.set_stripes(Some(Stripes::Significant)).expect("stripes");
        let whole = to_volume(&mut ct, &g, Ct::reconstruct, &data);
        let (volume, _) = streamed(&mut ct, DType::F32, &data).expect("success");
        check_same(&volume, &whole, false, &format!("{interpolation:?}"));
    }
}

/// Off, a call is what it was; operators that take values as they are do not care.
#[test]
fn a_stage_that_is_off_changes_nothing() {
    let g = Geometry::new(angles(40), 128).with_rows(3);
    let data = scan(&g);
    let mut ct = plan(&g, Level::detect(), 2);
    let (before, needed) = (to_volume(&mut ct, &g, Ct::reconstruct, &data), ct.memory().expect("a figure"));
    let plain = to_volume(&mut ct, &g, Ct::backproject, &data);
    ct.set_stripes(Some(Stripes::Significant)).expect("stripes");
    assert!(to_volume(&mut ct, &g, Ct::reconstruct, &data) != before);
    assert!(ct.memory().expect("a figure") > needed, "memory counts the stage");
    check_same(&to_volume(&mut ct, &g, Ct::backproject, &data), &plain, true, "backproject");
    ct.set_stripes(None).expect("none");
    check_same(&to_volume(&mut ct, &g, Ct::reconstruct, &data), &before, true, "off");
    assert_eq!(ct.memory().expect("a figure"), needed);
}

/// NaN in a late slice is found before anything is written, and named.
#[test]
fn bad_data_are_found_first() {
    let g = Geometry::new(angles(40), 128).with_rows(8);
    let mut data = scan(&g);
    data[(17 * 8 + 7) * 128 + 5] = f32::NAN;
    for cap in [0, smallest_cap(&g, 1, &Stripes::Significant)] {
        let mut ct = capped(&g, 1, cap, Level::detect());
        ct.set_stripes(Some(Stripes::Significant)).expect("stripes");
        let mut volume = vec![7.0; g.volume_shape().iter().product()];
        let (p, v) = (Array::new(&data, g.projection_shape()), ArrayMut::new(&mut volume, g.volume_shape()));
        let error = ct.reconstruct(p.expect("projections"), v.expect("a volume")).expect_err("NaN");
        assert!(error.message.contains("projections[17, 7, 5] is NaN"), "{}", error.message);
        assert!(volume.iter().all(|v| *v == 7.0), "untouched");
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let mut ct = plan(&Geometry::new(angles(20), 30), Level::detect(), 1);
    let wavelet = |levels, sigma, order| Stripes::Wavelet(Wavelet { levels, sigma, order });
    for (stripes, status, word) in [
        (Stripes::Sorting(31), Status::OutOfRange, "small_window is 31 bins; the detector has 30"),
        (Stripes::Sorting(1), Status::OutOfRange, "small_window is 1"),
        (Stripes::Regularised(0.0), Status::OutOfRange, "alpha is 0"),
        (Stripes::Vo(PLAIN), Status::OutOfRange, "large_window is 31 bins"),
        (Stripes::Vo(Vo { snr: f64::NAN, ..PLAIN }), Status::NotFiniteParameter, "snr"),
        (Stripes::Vo(Vo { snr: 1.0, ..PLAIN }), Status::OutOfRange, "snr is 1"),
        (Stripes::Vo(Vo { dropped: 0.9, ..PLAIN }), Status::OutOfRange, "drop_ratio is 0.9"),
        (wavelet(1, 1.0, 9), Status::OutOfRange, "levels is 1; 20 views of 30 bins allow 0"),
        (wavelet(0, f64::INFINITY, 9), Status::NotFiniteParameter, "sigma is inf"),
        (wavelet(0, 0.0, 9), Status::OutOfRange, "sigma is 0; it must be 0.01 to 100"),
        (wavelet(0, 100.1, 9), Status::OutOfRange, "sigma is 100.1"),
        (wavelet(0, 1.0, 0), Status::OutOfRange, "wavelet is 0; it must be 1 to 20"),
        (wavelet(0, 1.0, 21), Status::OutOfRange, "wavelet is 21"),
    ] {
        let error = ct.set_stripes(Some(stripes)).expect_err("refused");
        assert_eq!(error.status, status);
        assert!(error.message.contains(word), "{}", error.message);
    }
    // Taken for a longer detector, refused when used with a shorter one.
    ct.set_stripes(Some(Stripes::Sorting(30))).expect("as long as the detector");
    let g = Geometry::new(angles(20), 29);
    ct.set_geometry(g.clone()).expect("a geometry");
    assert_eq!(ct.memory().expect_err("too long").status, Status::OutOfRange);
    // As levels are, by the number of views, too.
    ct.set_geometry(Geometry::new(angles(54), 60)).expect("a geometry");
    ct.set_stripes(Some(wavelet(2, 1.0, 9))).expect("54 and twice 5 over 4 are 16");
    ct.set_geometry(Geometry::new(angles(53), 60)).expect("a geometry");
    let error = ct.memory().expect_err("too many");
    assert!(error.message.contains("levels is 2; 53 views of 60 bins allow 1"), "{}", error.message);
}
