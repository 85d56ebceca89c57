//! Scans that tests of band-limited operators share.

use crate::common::*;
use isocenter::context::{Context, ContextOptions};
use isocenter::ct::{Ct, Geometry, Options, Order};
use rand::RngExt;
use rand::rngs::SmallRng;
use std::f64::consts::{PI, TAU};
use std::sync::Arc;

/// A plan of so many threads under a memory cap.
pub(crate) fn capped(g: &Geometry, threads: usize, memory_cap: u64, ct_options: Options) -> Ct {
    let options = ContextOptions { threads, memory_cap, ..on_processor() };
    let mut ct = Ct::new(Arc::new(Context::new(options).expect("a context")));
    ct.set_geometry(g.clone()).expect("a geometry");
    ct.set_options(ct_options).expect("options");
    ct
}

/// Sizes odd and even, one view, uneven and duplicate angles, axes far outside, parts far from the axis, pixels of 0.1 to 10 bins.
pub(crate) fn any_geometry(rng: &mut SmallRng) -> Geometry {
    let views = [1, 2, 7, 13, 20][rng.random_range(0..5)];
    let bins = rng.random_range(1..70);
    let mut angles: Vec<f64> = (0..views).map(|_| rng.random_range(-7.0..7.0)).collect();
    if views > 2 && rng.random_bool(0.4) {
        angles[1] = angles[0];
        angles[2] = angles[0] + PI;
    }
    let mut g = Geometry::new(angles, bins);
    (g.nx, g.ny) = (rng.random_range(1..50), rng.random_range(1..50));
    g.bin_pitch = 10f64.powf(rng.random_range(-3.0..3.0));
    g.pixel_size = g.bin_pitch * 10f64.powf(rng.random_range(-1.0..1.0));
    let far = if rng.random_bool(0.2) { 500.0 } else { 15.0 };
    (g.x_offset, g.y_offset) = (rng.random_range(-far..far), rng.random_range(-far..far));
    let far = if rng.random_bool(0.2) { 1e3 } else { 20.0 };
    let axes = if rng.random_bool(0.5) { 1 } else { views };
    g.axis = (0..axes).map(|_| (bins as f64 - 1.0) / 2.0 + rng.random_range(-far..far)).collect();
    if rng.random_bool(0.5) {
        g.order = Order::Sinograms;
    }
    (g.slices, g.first_row) = ([1, 2, 3][rng.random_range(0..3)], rng.random_range(0..3));
    g.rows = g.first_row + g.slices + rng.random_range(0..2);
    g
}

/// Uneven angles, an axis that is no bin, pixels finer than bins.
pub(crate) fn uneven(rows: usize) -> Geometry {
    let part = |v: usize| v as f64 / 60.0;
    let mut g = Geometry::new((0..60).map(|v| 0.017 + PI * part(v) + 0.1 * (TAU * part(v)).sin()).collect(), 75);
    (g.nx, g.ny, g.axis, g.pixel_size) = (71, 67, vec![35.3], 0.9);
    g.with_rows(rows)
}
