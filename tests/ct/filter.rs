//! `filter` against plain f64 sums, for every filter and both paddings.

use crate::common::scene::{best_plan, half_turn};
use crate::common::*;
use isocenter::array::{Array, ArrayMut};
use isocenter::ct::{Filter, Geometry, Options, Order, Padding};
use std::f64::consts::PI;

/// Transforms of some hundred samples in f32 err by a few 1e-7 of a row's largest value.
const TOLERANCE: f64 = 1e-6;

fn run(g: &Geometry, filter: &Filter, padding: Padding, p: &[f32]) -> Vec<f32> {
    let mut ct = best_plan(g);
    ct.set_options(Options { filter: filter.clone(), padding, ..Options::default() }).expect("options");
    let mut out = vec![0.0; p.len()];
    let to = ArrayMut::new(&mut out, g.projection_shape()).expect("projections");
    ct.filter(Array::new(p, g.projection_shape()).expect("projections"), to).expect("success");
    out
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
            let e = error(&run(&g, &Filter::RamLak { cutoff: 1.0 }, Padding::Zero, &p), &expected);
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

/// Integral of w from a to b by Gauss and Legendre's rule of 5 nodes over so many parts.
fn integral(a: f64, b: f64, parts: usize, w: &dyn Fn(f64) -> f64) -> f64 {
    let nodes: [(f64, f64); 3] =
        [(0.0, 128.0 / 225.0), (0.5384693101056831, 0.4786286704993665), (0.906179845938664, 0.2369268850561891)];
    let half = 0.5 * (b - a) / parts as f64;
    let part = |k: usize| {
        let middle = a + (2 * k + 1) as f64 * half;
        let pair = |(x, weight): &(f64, f64)| match *x {
            0.0 => weight * w(middle),
            x => weight * (w(middle - x * half) + w(middle + x * half)),
        };
        half * nodes.iter().map(pair).sum::<f64>()
    };
    (0..parts).map(part).sum()
}

/// What the caller's values, evenly spaced from 0 to Nyquist, are at frequency f: linear in between.
fn linear(given: &[f32], f: f64) -> f64 {
    let at = 2.0 * f * (given.len() - 1) as f64;
    let low = (at.floor() as usize).min(given.len() - 2);
    f64::from(given[low]) + (at - low as f64) * f64::from(given[low + 1] - given[low])
}

/// h(0), h(1), ...: the integral of the response times cos(2 pi f n), from -1/2 to 1/2, each formula of a response by itself. An 8th of a turn
/// of the cosine a part, or 1/2000 of the window: 5 nodes leave 1e-12.
fn kernel(filter: &Filter, bins: usize) -> Vec<f64> {
    let seams = match filter {
        Filter::RamLak { cutoff }
        | Filter::SheppLogan { cutoff }
        | Filter::Cosine { cutoff }
        | Filter::Hamming { cutoff }
        | Filter::Hann { cutoff } => vec![0.0, 0.5 * cutoff],
        Filter::Parzen { cutoff } => vec![0.0, 0.25 * cutoff, 0.5 * cutoff],
        Filter::Butterworth { .. } => vec![0.0, 0.5],
        Filter::None => unreachable!("has no kernel"),
        Filter::Custom(given) => (0..given.len()).map(|k| 0.5 * k as f64 / (given.len() - 1) as f64).collect(),
    };
    let response = |f: f64| match filter {
        Filter::Custom(given) => linear(given, f),
        _ => window(filter, f) * f,
    };
    let tap = |n: usize| {
        let wave = |f: f64| 2.0 * response(f) * (2.0 * PI * f * n as f64).cos();
        seams.windows(2).map(|s| integral(s[0], s[1], 8 * n.max(250), &wave)).sum()
    };
    (0..bins).map(tap).collect()
}

/// The row's convolution; with edge values beyond, the sum of all taps but those that have met a bin, of which all together are the
/// response at frequency 0.
fn convolved(row: &[f32], kernel: &[f64], edge: Option<f64>) -> Vec<f64> {
    let bins = row.len();
    let tail = |mean: f64, from: usize| 0.5 * (mean - kernel[0]) - kernel[1..from].iter().sum::<f64>();
    let at = |k: usize| {
        let inside: f64 = (0..bins).map(|m| f64::from(row[m]) * kernel[k.abs_diff(m)]).sum();
        let beyond =
            edge.map(|mean| f64::from(row[0]) * tail(mean, k + 1) + f64::from(row[bins - 1]) * tail(mean, bins - k));
        inside + beyond.unwrap_or(0.0)
    };
    (0..bins).map(at).collect()
}

/// Of every window, cut off or not, and of a caller's response, for rows of few bins and of many: whatever length transforms have.
#[test]
fn every_filter_and_padding() {
    let custom: Vec<f32> = (0..9u8).map(|k| (f32::from(k) / 8.0).powi(2) * 0.5 + 0.1).collect();
    let mut filters = vec![Filter::Custom(custom), Filter::Custom(vec![0.3, 0.1])];
    for cutoff in [1.0, 0.8, 0.37] {
        filters.extend(windows(cutoff, [1.5, 20.0]));
    }
    filters.extend([Filter::Butterworth { cutoff: 0.02, order: 64.0 }, Filter::RamLak { cutoff: 0.003 }]);
    for bins in [2, 5, 33, 40, 53, 157] {
        let g = geometry(bins);
        let p = random(projection_len(&g), 3);
        for filter in &filters {
            let kernel = kernel(filter, bins);
            for padding in [Padding::Zero, Padding::Edge] {
                let mean = if let Filter::Custom(given) = filter { f64::from(given[0]) } else { 0.0 };
                let edge = (padding == Padding::Edge).then_some(mean);
                let row = |row: &[f32]| convolved(row, &kernel, edge);
                let expected: Vec<f64> = p.chunks(bins).flat_map(row).map(|v| v / g.bin_pitch).collect();
                let e = error(&run(&g, filter, padding, &p), &expected);
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
        assert!(run(&g, &Filter::None, padding, &p) == p);
    }
}

/// What edge padding is for: an object wider than the detector. Of a row that is 1 everywhere, and goes on so for ever, the ramp leaves
/// nothing, and a caller's response its value at frequency 0, whatever the number of bins; with zeros beyond, it finds the row's ends.
#[test]
fn edge_padding_flattens_a_wide_object() {
    let largest = |v: &[f32]| v.iter().fold(0.0f32, |m, v| m.max(v.abs()));
    for bins in [1, 2, 34, 100, 157] {
        let g = geometry(bins);
        let p = vec![1.0; projection_len(&g)];
        let filtered = |filter: Filter, padding| run(&g, &filter, padding, &p);
        assert!(largest(&filtered(Filter::RamLak { cutoff: 1.0 }, Padding::Zero)) > 0.1, "{bins} bins");
        for filter in windows(0.6, [0.75, 9.0]).into_iter().chain([Filter::RamLak { cutoff: 1.0 }]) {
            let left = f64::from(largest(&filtered(filter.clone(), Padding::Edge)));
            assert!(left < TOLERANCE, "{filter:?}, {bins} bins: {left:e}");
        }
        let given = filtered(Filter::Custom(vec![0.3, 0.2, 0.5]), Padding::Edge);
        let off = given.iter().map(|v| (f64::from(*v) - 0.3 / g.bin_pitch).abs()).fold(0.0, f64::max);
        assert!(off < TOLERANCE, "{bins} bins: {off:e}");
    }
}
