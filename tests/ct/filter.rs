//! `filter` against plain f64 sums, for every filter and both paddings.

use crate::common::scene::{best_plan, half_turn};
use crate::common::*;
use isocenter::array::{Array, ArrayMut};
use isocenter::ct::{Filter, Geometry, Options, Order, Padding};
use std::f64::consts::PI;

/// Transforms of some hundred samples in f32 err by a few 1e-7 of a row's largest value.
const TOLERANCE: f64 = 1e-6;

fn run(g: &Geometry, filter: &Filter, padding: Padding, p: &[f32]) -> (Vec<f32>, usize) {
    let mut ct = best_plan(g);
    ct.set_options(Options { filter: filter.clone(), padding, ..Options::default() }).expect("options");
    let mut out = vec![0.0; p.len()];
    let to = ArrayMut::new(&mut out, g.projection_shape()).expect("projections");
    ct.filter(Array::new(p, g.projection_shape()).expect("projections"), to).expect("success");
    (out, ct.info().expect("info").padded_bins)
}

/// An odd number of views, so that one row has no partner in its transform.
fn geometry(bins: usize) -> Geometry {
    let mut g = Geometry::new(half_turn(5), bins).with_rows(2);
    g.bin_pitch = 0.7;
    g
}

/// The plain ramp is a convolution with its spatial samples, with zeros beyond the row's ends.
#[test]
fn ramp_is_the_spatial_convolution() {
    for bins in [1, 2, 3, 16, 75, 97, 128, 250] {
        for order in [Order::Frames, Order::Sinograms] {
            let mut g = geometry(bins);
            g.order = order;
            let p = random(projection_len(&g), bins as u64);
            let expected: Vec<f64> = p.chunks(bins).flat_map(|row| ramp_filtered(row, g.bin_pitch)).collect();
            let e = error(&run(&g, &Filter::RamLak { cutoff: 1.0 }, Padding::Zero, &p).0, &expected);
            assert!(e < TOLERANCE, "{bins} bins: {e:.1e}");
        }
    }
}

/// Window at frequency f, in cycles a bin (1/2 is Nyquist), as the literature has it.
fn window(filter: &Filter, f: f64) -> f64 {
    // A window of cutoff c is the one of cutoff 1, stretched, and nothing beyond.
    let cut = |c: &f64, w: &dyn Fn(f64) -> f64| if f <= 0.5 * c + 1e-12 { w(f / c) } else { 0.0 };
    match filter {
        Filter::RamLak { cutoff } => cut(cutoff, &|_| 1.0),
        Filter::SheppLogan { cutoff } => cut(cutoff, &|f| if f == 0.0 { 1.0 } else { (PI * f).sin() / (PI * f) }),
        Filter::Cosine { cutoff } => cut(cutoff, &|f| (PI * f).cos()),
        Filter::Hamming { cutoff } => cut(cutoff, &|f| 0.54 + 0.46 * (2.0 * PI * f).cos()),
        Filter::Hann { cutoff } => cut(cutoff, &|f| (PI * f).cos().powi(2)),
        Filter::Parzen { cutoff } => cut(cutoff, &|f| match 2.0 * f {
            x if x < 0.5 => 1.0 - 6.0 * x * x + 6.0 * x * x * x,
            x => 2.0 * (1.0 - x).powi(3),
        }),
        Filter::Butterworth { cutoff, order } => 1.0 / (1.0 + (f / (0.5 * cutoff)).powf(2.0 * order)).sqrt(),
        Filter::None => unreachable!("has no window"),
        Filter::Custom(_) => 1.0,
    }
}

/// The row on a circle of `n` samples, in f64: the row, then half of the rest after it and half before it.
fn circle(row: &[f32], n: usize, padding: Padding) -> Vec<f64> {
    let (bins, after) = (row.len(), row.len() + (n - row.len()) / 2);
    let value = |k: usize| match padding {
        _ if k < bins => row[k],
        Padding::Zero => 0.0,
        Padding::Edge => row[if k < after { bins - 1 } else { 0 }],
    };
    (0..n).map(|k| f64::from(value(k))).collect()
}

/// Kernel on the circle: the transform of the ramp's samples (or the custom response) times the window, transformed back.
fn kernel(filter: &Filter, n: usize) -> Vec<f64> {
    let cosine = |k: usize| (2.0 * PI * (k % n) as f64 / n as f64).cos();
    let ramp = |d: usize| match d.min(n - d) {
        0 => 0.25,
        d if d % 2 == 1 => -1.0 / (PI * d as f64).powi(2),
        _ => 0.0,
    };
    let response = |k: usize| {
        let f = k.min(n - k) as f64 / n as f64;
        match filter {
            // Evenly spaced from 0 to Nyquist, linear in between.
            Filter::Custom(given) => {
                let at = 2.0 * f * (given.len() - 1) as f64;
                let low = (at.floor() as usize).min(given.len() - 2);
                f64::from(given[low]) + (at - low as f64) * f64::from(given[low + 1] - given[low])
            }
            _ => window(filter, f) * (0..n).map(|d| ramp(d) * cosine(k * d)).sum::<f64>(),
        }
    };
    let responses: Vec<f64> = (0..n).map(response).collect();
    (0..n).map(|d| (0..n).map(|k| responses[k] * cosine(k * d)).sum::<f64>() / n as f64).collect()
}

#[test]
fn every_filter_and_padding() {
    let custom: Vec<f32> = (0..9u8).map(|k| (f32::from(k) / 8.0).powi(2) * 0.5 + 0.1).collect();
    let mut filters = vec![Filter::Custom(custom), Filter::Custom(vec![0.3, 0.1])];
    for cutoff in [1.0, 0.8, 0.37] {
        filters.extend(windows(cutoff, [1.5, 20.0]));
    }
    for bins in [40, 53] {
        let g = geometry(bins);
        let p = random(projection_len(&g), 3);
        for filter in &filters {
            for padding in [Padding::Zero, Padding::Edge] {
                let (seen, n) = run(&g, filter, padding, &p);
                let kernel = kernel(filter, n);
                let expected: Vec<f64> = p
                    .chunks(bins)
                    .flat_map(|row| {
                        let circle = circle(row, n, padding);
                        let at =
                            |k: usize| (0..n).map(|m| circle[m] * kernel[(n + k - m) % n]).sum::<f64>() / g.bin_pitch;
                        (0..bins).map(at).collect::<Vec<_>>()
                    })
                    .collect();
                let e = error(&seen, &expected);
                assert!(e < TOLERANCE, "{filter:?}, {padding:?}, {bins} bins: {e:.1e}");
            }
        }
    }
}

#[test]
fn no_filter_changes_nothing() {
    let g = geometry(40);
    let p = random(projection_len(&g), 4);
    for padding in [Padding::Zero, Padding::Edge] {
        assert!(run(&g, &Filter::None, padding, &p).0 == p);
    }
}

/// What edge padding is for: an object wider than the detector. Of a row that is 1 everywhere, the ramp leaves the edges of
/// what it sees: with zeros those of the row, with edge values none near it. (On a circle of ones only the ramp's response at
/// frequency 0 is left, which is 2 / (pi^2 n) and a little.)
#[test]
fn edge_padding_flattens_a_wide_object() {
    let g = geometry(100);
    let p = vec![1.0; projection_len(&g)];
    let largest = |v: &[f32]| v.iter().fold(0.0f32, |m, v| m.max(v.abs()));
    let (zero, n) = run(&g, &Filter::RamLak { cutoff: 1.0 }, Padding::Zero, &p);
    let (edge, _) = run(&g, &Filter::RamLak { cutoff: 1.0 }, Padding::Edge, &p);
    let left = 2.0 / (PI * PI * n as f64) / g.bin_pitch;
    assert!(
        largest(&zero) > 0.1 && f64::from(largest(&edge)) < 1.1 * left,
        "{} and {}",
        largest(&zero),
        largest(&edge)
    );
}
