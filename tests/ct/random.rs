//! Random geometries, far from any scan: the operators against plain f64 loops, alone and many slices at a time.

use crate::common::*;
use isocenter::cpu::level::Level;
use isocenter::ct::{Ct, Geometry, Interpolation, Options, Order};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

/// Anything that `set_geometry` takes: tiny and lopsided sizes, ratios from 1/50 to 50, axes off the detector, volumes partly
/// or wholly out of sight.
fn geometry(rng: &mut SmallRng) -> Geometry {
    let views = rng.random_range(1..20);
    let scale = |rng: &mut SmallRng, decades: f64| 10f64.powf(rng.random_range(-decades..decades));
    let bins = rng.random_range(1..90);
    let mut g = Geometry::new((0..views).map(|_| rng.random_range(-7.0..7.0)).collect(), bins);
    (g.nx, g.ny) = (rng.random_range(1..70), rng.random_range(1..70));
    g.bin_pitch = scale(rng, 3.0);
    let decades = if rng.random_bool(0.3) { 1.7 } else { 0.4 };
    g.pixel_size = g.bin_pitch * scale(rng, decades);
    (g.x_offset, g.y_offset) = (rng.random_range(-30.0..30.0), rng.random_range(-30.0..30.0));
    let middle = (bins as f64 - 1.0) / 2.0;
    let far = if rng.random_bool(0.1) { 1e4 } else { 20.0 };
    let axes = if rng.random_bool(0.5) { 1 } else { views };
    g.axis = (0..axes).map(|_| middle + rng.random_range(-far..far)).collect();
    if rng.random_bool(0.3) {
        g.order = Order::Sinograms;
    }
    let slices = [1, 1, 2, 7, 9, 33][rng.random_range(0..6)];
    (g.slices, g.first_row) = (slices, rng.random_range(0..3));
    g.rows = g.first_row + slices + rng.random_range(0..2);
    g
}

/// Frame order, as the loops in `common` have it.
fn frames(g: &Geometry, projections: &[f32]) -> Vec<f32> {
    if g.order == Order::Frames {
        return projections.to_vec();
    }
    let row = |v: usize, r: usize| &projections[(r * g.views() + v) * g.bins..][..g.bins];
    (0..g.views()).flat_map(|v| (0..g.rows).flat_map(move |r| row(v, r).iter().copied())).collect()
}

/// As in ct_operators.rs, but in shares of a typical sum, since few views leave no room to average; and as many times that as
/// neighbouring elements read samples apart, since f32 positions err in proportion to the run of elements that they span.
const TOLERANCE: f64 = 1e-5;

/// Largest difference in shares of `scale`.
fn worst(seen: &[f32], expected: &[f64], scale: f64) -> f64 {
    assert!(seen.iter().all(|v| v.is_finite()));
    seen.iter().zip(expected).map(|(s, e)| (f64::from(*s) - e).abs()).fold(0.0, f64::max) / scale
}

#[test]
fn operators_match_f64_in_any_geometry() {
    let mut rng = SmallRng::seed_from_u64(20);
    let (mut visible, mut largest) = (0, 0.0f64);
    for case in 0..100 {
        let g = geometry(&mut rng);
        let (p, v) = (random(projection_len(&g), case), random(volume_len(&g), case + 1));
        let level = Level::available().nth(case as usize % Level::available().count()).expect("a level");
        let mut ct = plan(&g, level, 2);
        let mut check = |name: &str, seen: &[f32], expected: &[f64], scale: f64, apart: f64| {
            let e = worst(seen, expected, scale) / (1.0 + apart);
            largest = largest.max(e);
            assert!(e < TOLERANCE, "case {case}, {name}, {level:?}, {g:?}: {e:.1e}");
        };
        let in_frames = frames(&g, &p);
        let ratio = g.pixel_size / g.bin_pitch;
        let sums = (g.views() as f64).sqrt();
        ct.set_options(Options { interpolation: Interpolation::Linear, ..Options::default() }).expect("options");
        let expected = backproject(&g, Interpolation::Linear, None, &in_frames);
        visible += usize::from(expected.iter().any(|v| *v != 0.0));
        check("backproject", &to_volume(&mut ct, &g, Ct::backproject, &p), &expected, sums, ratio);
        // A pixel that covers many bins sums them all; a bin many pixels.
        let covered = ratio.max(1.0).sqrt();
        let back = adjoint(&g, &in_frames);
        check("adjoint", &to_volume(&mut ct, &g, Ct::adjoint, &p), &back, sums * covered * 1.5 * g.pixel_size, ratio);
        let crossed = (g.nx.max(g.ny) as f64 * (1.0 / ratio).max(1.0)).sqrt();
        let seen = frames(&g, &to_projections(&mut ct, &g, Ct::forward, &v));
        check("forward", &seen, &forward(&g, &v), crossed * 1.5 * g.pixel_size, 1.0 / ratio);
    }
    println!("worst {largest:.1e}; {visible} of 100 volumes in sight");
    assert!(visible > 50, "too few cases have anything to see: {visible}");
}
