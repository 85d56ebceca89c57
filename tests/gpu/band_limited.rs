//! CT's band-limited sums on the GPU, against sums of their definition in f64.

use super::{common, gpu, gpu_with};
use isocenter::array::{Array, ArrayMut};
use isocenter::context::{Context, ContextOptions};
use isocenter::ct::{Ct, Geometry, Interpolation, Options, Order, Pair};
use std::f64::consts::PI;
use std::sync::Arc;

fn options(tolerance: f64) -> Options {
    Options { interpolation: Interpolation::BandLimited, tolerance, ..Options::default() }
}

fn plan(context: &Arc<Context>, geometry: &Geometry, options: &Options) -> Ct {
    let mut ct = Ct::new(context.clone());
    ct.set_geometry(geometry.clone()).expect("geometry");
    ct.set_options(options.clone()).expect("options");
    ct
}

fn even(views: usize) -> Vec<f64> {
    (0..views).map(|v| PI * v as f64 / views as f64).collect()
}

fn cases() -> Vec<(&'static str, Geometry)> {
    let mut list = vec![
        ("even", Geometry::new(even(90), 96).with_rows(5)),
        ("one view", Geometry::new(vec![0.3], 50).with_rows(2)),
        ("along the axes", Geometry::new(vec![0.0, PI / 2.0, PI, -PI / 2.0], 33).with_rows(3)),
        ("odd sizes", Geometry { nx: 77, ny: 53, ..Geometry::new(even(47), 83).with_rows(1) }),
        ("sinograms", Geometry { order: Order::Sinograms, ..Geometry::new(even(31), 64).with_rows(7) }),
        ("some rows", Geometry { first_row: 3, slices: 4, ..Geometry::new(even(31), 64).with_rows(9) }),
        ("fine pixels", Geometry { pixel_size: 0.1, nx: 60, ny: 90, ..Geometry::new(even(30), 40).with_rows(2) }),
        ("wide pixels", Geometry { pixel_size: 10.0, nx: 21, ny: 18, ..Geometry::new(even(30), 200).with_rows(3) }),
        (
            "far from the axis",
            Geometry { x_offset: 300.5, y_offset: -100.25, nx: 40, ny: 30, ..Geometry::new(even(40), 64) },
        ),
        ("many views", Geometry { nx: 40, ny: 44, ..Geometry::new(even(700), 50).with_rows(2) }),
    ];
    let uneven = (0..60).map(|v| 0.2 * f64::from(v / 2 * 2) + 0.01 * f64::from(v % 7)).collect();
    list.push((
        "uneven, some twice",
        Geometry { bin_pitch: 0.5, pixel_size: 0.7, ..Geometry::new(uneven, 61).with_rows(2) },
    ));
    let axis = (0..41).map(|v| -80.0 + 3.0 * f64::from(v)).collect();
    list.push(("axis a view, far outside", Geometry { axis, ..Geometry::new(even(41), 40).with_rows(2) }));
    list
}

fn l2(seen: &[f32], expected: &[f64]) -> f64 {
    let sum = |values: &mut dyn Iterator<Item = f64>| values.map(|v| v * v).sum::<f64>().sqrt();
    sum(&mut seen.iter().zip(expected).map(|(s, e)| f64::from(*s) - e)) / sum(&mut expected.iter().copied())
}

/// In frame order.
fn frames(g: &Geometry, projections: &[f32]) -> Vec<f32> {
    if g.order == Order::Frames {
        return projections.to_vec();
    }
    let at = |v: usize, r: usize, k: usize| projections[(r * g.views() + v) * g.bins + k];
    let mut out = Vec::new();
    for v in 0..g.views() {
        for r in 0..g.rows {
            out.extend((0..g.bins).map(|k| at(v, r, k)));
        }
    }
    out
}

/// The tolerance is what the plan promises; 1e-6 leaves room for f32's rounding, which is all that separates the two at 1e-6.
#[test]
fn sums_of_the_definition() {
    let Some(gpu) = gpu() else { return };
    for (name, g) in cases() {
        let projections = common::random(common::projection_len(&g), 5);
        let period = plan(&gpu, &g, &options(1e-4)).info().expect("info").period;
        let expected = common::band_limited(&g, period, None, &frames(&g, &projections));
        for tolerance in [1e-2, 1e-3, 1e-4, 1e-5, 1e-6] {
            let mut ct = plan(&gpu, &g, &options(tolerance));
            let seen = common::to_volume(&mut ct, &g, Ct::backproject, &projections);
            let e = l2(&seen, &expected);
            println!("{name}, {tolerance:.0e}: {e:.2e}");
            assert!(e <= tolerance, "{name}, {tolerance:.0e}: {e:.2e}");
        }
    }
}

fn pair(tolerance: f64) -> Options {
    Options { pair: Pair::BandLimited, tolerance, ..Options::default() }
}

/// `forward` and `adjoint`, to the tolerance as above; and each other's transpose, for which it does not count: both are made of the same
/// taps and factors, and what is left is the rounding of some hundreds of operations a value, 1e-6 at most of the norms' product.
#[test]
fn the_pair_keeps_to_its_definition() {
    let Some(gpu) = gpu() else { return };
    let mut cases = cases();
    let two = Geometry { pixel_size: 2.0, nx: 30, ny: 26, ..Geometry::new(even(40), 64).with_rows(3) };
    cases.push(("pixels of two bins", two));
    for (name, g) in cases {
        let projections = common::random(common::projection_len(&g), 5);
        let volume = common::random(common::volume_len(&g), 15);
        let period = plan(&gpu, &g, &pair(1e-4)).info().expect("info").period;
        let adjoint = common::band_limited_adjoint(&g, period, &frames(&g, &projections));
        let forward = common::band_limited_forward(&g, period, &volume);
        for tolerance in [1e-2, 1e-3, 1e-4, 1e-5, 1e-6] {
            let mut ct = plan(&gpu, &g, &pair(tolerance));
            let back = common::to_volume(&mut ct, &g, Ct::adjoint, &projections);
            let there = common::to_projections(&mut ct, &g, Ct::forward, &volume);
            let [b, f] = [l2(&back, &adjoint), l2(&frames(&g, &there), &forward)];
            println!("{name}, {tolerance:.0e}: adjoint {b:.2e}, forward {f:.2e}");
            assert!(b <= tolerance && f <= tolerance, "{name}, {tolerance:.0e}: adjoint {b:.2e}, forward {f:.2e}");
            let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>();
            let norms = (dot(&there, &there) * dot(&projections, &projections)).sqrt();
            // Rows that belong to no slice are 0 in `there`.
            let apart = (dot(&there, &projections) - dot(&volume, &back)).abs() / norms;
            assert!(apart <= 1e-6, "{name}, {tolerance:.0e}: {apart:.1e}");
        }
    }
}

#[test]
fn numbers_of_slices_and_slabs_do_not_show_in_the_pair() {
    let Some(all) = gpu() else { return };
    let g = Geometry::new(even(150), 70).with_rows(150);
    let volume = common::random(common::volume_len(&g), 6);
    let run = |context: &Arc<Context>, g: &Geometry, volume: &[f32]| {
        common::to_projections(&mut plan(context, g, &pair(1e-4)), g, Ct::forward, volume)
    };
    let whole = run(&all, &g, &volume);
    assert_eq!(run(&all, &g, &volume), whole, "a second run");
    let area = g.nx * g.ny;
    for slices in [1, 2, 3, 4, 5, 31, 33, 79, 83, 127, 130] {
        let part = Geometry { first_row: 8, slices, ..g.clone() };
        let seen = run(&all, &part, &volume[8 * area..][..slices * area]);
        let scale = whole.iter().fold(0.0f32, |m, v| m.max(v.abs()));
        for v in 0..g.views() {
            let rows = |all: &[f32], count: usize| all[(v * g.rows + 8) * g.bins..][..count * g.bins].to_vec();
            // The last of an odd number is alone, which only rounding tells. A type-2 transform rounds what the image's edges are raised
            // to before it; functions are chosen such that this stays below the tolerance.
            assert!(rows(&seen, slices / 2 * 2) == rows(&whole, slices / 2 * 2), "{slices} slices, view {v}");
            let pairs = rows(&seen, slices).into_iter().zip(rows(&whole, slices));
            let worst = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            assert!(worst <= 1e-4 * scale, "{slices} slices: {worst:e} of {scale:e}");
        }
    }
    for cap in [16 << 20, 40 << 20, 100 << 20] {
        let Some(small) = gpu_with(ContextOptions { gpu_memory_cap: cap, ..ContextOptions::default() }) else {
            return;
        };
        assert!(run(&small, &g, &volume) == whole, "a cap of {cap} bytes");
    }
}

/// One slice, few, some, many: other kernels, the same sums.
#[test]
fn numbers_of_slices_and_slabs_do_not_show() {
    let Some(all) = gpu() else { return };
    let g = Geometry::new(even(150), 70).with_rows(150);
    let projections = common::random(common::projection_len(&g), 6);
    let options = options(1e-4);
    let run = |context: &Arc<Context>, g: &Geometry| {
        common::to_volume(&mut plan(context, g, &options), g, Ct::reconstruct, &projections)
    };
    let whole = run(&all, &g);
    assert_eq!(run(&all, &g), whole, "a second run");
    let area = g.nx * g.ny;
    for slices in [1, 2, 3, 4, 5, 31, 33, 79, 83, 127, 130] {
        // From an even row, so that pairs are the same; the last of an odd number is alone, which only rounding tells.
        let part = Geometry { first_row: 8, slices, ..g.clone() };
        let seen = run(&all, &part);
        let pairs = slices / 2 * 2;
        assert!(seen[..pairs * area] == whole[8 * area..][..pairs * area], "{slices} slices");
        let scale = whole.iter().fold(0.0f32, |m, v| m.max(v.abs()));
        let worst = seen.iter().zip(&whole[8 * area..]).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(worst <= 1e-5 * scale, "{slices} slices: {worst:e} of {scale:e}");
    }
    let needed = plan(&all, &g, &options).memory().expect("bytes");
    for part in [2, 5, 11, 20] {
        let Some(small) = gpu_with(ContextOptions { gpu_memory_cap: needed / part, ..ContextOptions::default() })
        else {
            return;
        };
        assert!(run(&small, &g) == whole, "a {part}th of the memory");
    }
}

/// `reconstruct` is `filter`, then weighted back projection.
#[test]
fn reconstruct_filters_and_back_projects() {
    let Some(gpu) = gpu() else { return };
    let g = Geometry::new(even(90), 96).with_rows(4);
    let projections = common::random(common::projection_len(&g), 7);
    let mut ct = plan(&gpu, &g, &Options { weighted_backprojection: true, ..options(1e-5) });
    let seen = common::to_volume(&mut ct, &g, Ct::reconstruct, &projections);
    let mut filtered = vec![0.0; projections.len()];
    let (p, f) = (Array::new(&projections, g.projection_shape()), ArrayMut::new(&mut filtered, g.projection_shape()));
    ct.filter(p.expect("projections"), f.expect("rows")).expect("filter");
    let weights = ct.angular_weights().expect("weights").to_vec();
    let expected = common::band_limited(&g, ct.info().expect("info").period, Some(&weights), &filtered);
    assert!(l2(&seen, &expected) <= 1e-5);
    let apart = common::to_volume(&mut ct, &g, Ct::backproject, &filtered);
    assert!(l2(&apart, &expected) <= 1e-5);
}

/// There is one back projector, and its rate is told; calls after that give what they gave.
#[test]
fn tuning_tells_the_rate() {
    let Some(gpu) = gpu() else { return };
    let g = Geometry::new(even(120), 128).with_rows(6);
    let projections = common::random(common::projection_len(&g), 8);
    let mut ct = plan(&gpu, &g, &options(1e-4));
    let before = common::to_volume(&mut ct, &g, Ct::reconstruct, &projections);
    let measured = ct.tune().expect("a rate");
    assert!(matches!(&measured[..], [m] if m.rate > 0.0 && m.slices == 6), "{measured:?}");
    assert_eq!(common::to_volume(&mut ct, &g, Ct::reconstruct, &projections), before);
}

/// Lines longer than a block takes: rows, and the fine grid along x and along y. Few samples and few pixels are not 0, so that sums in f64
/// are short: some that pixels see near them, and others far away, which must not show. The tolerance is for images of all pixels alike,
/// and few of these may be at the image's edges, where errors are largest.
#[test]
fn long_lines_keep_to_the_definition() {
    let Some(gpu) = gpu() else { return };
    let angles = vec![0.4, 1.3, 2.9];
    let wide = |nx, ny| Geometry { nx, ny, ..Geometry::new(angles.clone(), 200).with_rows(3) };
    let rows = Geometry { nx: 30, ny: 20, ..Geometry::new(angles.clone(), 30_011).with_rows(3) };
    for (name, g) in [("rows", rows), ("x", wide(25_013, 21)), ("y", wide(20, 25_010))] {
        let mut random = common::random(common::projection_len(&g) + common::volume_len(&g), 3);
        let mut projections = random.split_off(common::volume_len(&g));
        let mut volume = random;
        let period = plan(&gpu, &g, &pair(1e-4)).info().expect("info").period;
        assert!(period > 27_347 || g.nx.max(g.ny) > 25_000, "{name}: {period}");
        let kept = |k: usize| (k % g.bins).abs_diff(g.bins / 2) < 20 || k.is_multiple_of(g.bins / 7);
        projections.iter_mut().enumerate().filter(|(k, _)| !kept(*k)).for_each(|(_, v)| *v = 0.0);
        let kept = |k: usize| k.is_multiple_of(g.nx * g.ny / 37);
        volume.iter_mut().enumerate().filter(|(k, _)| !kept(*k)).for_each(|(_, v)| *v = 0.0);
        let mut ct = plan(&gpu, &g, &Options { interpolation: Interpolation::BandLimited, ..pair(1e-4) });
        for (operator, sums) in [
            (Ct::adjoint as common::Operator, common::band_limited_adjoint(&g, period, &projections)),
            (Ct::backproject, common::band_limited(&g, period, None, &projections)),
        ] {
            let e = l2(&common::to_volume(&mut ct, &g, operator, &projections), &sums);
            println!("{name}, period {period}: {e:.2e}");
            assert!(e <= 1e-4, "{name}: {e:.2e}");
        }
        let forward = common::band_limited_forward(&g, period, &volume);
        let e = l2(&common::to_projections(&mut ct, &g, Ct::forward, &volume), &forward);
        println!("{name}, period {period}: forward {e:.2e}");
        assert!(e <= 1e-4, "{name}: forward {e:.2e}");
    }
}
