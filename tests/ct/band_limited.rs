//! Band-limited interpolation against f64 sums of its definition, and what must not change its results.

use crate::common::scene::*;
use crate::common::*;
use crate::scans::*;
use isocenter::array::{Array, ArrayMut, DType};
use isocenter::cpu::level::Level;
use isocenter::ct::{Ct, Geometry, Interpolation, Options, Order, Slab};
use isocenter::phantom::Ellipse;
use rand::SeedableRng;
use rand::rngs::SmallRng;
use std::collections::BTreeMap;
use std::f64::consts::TAU;

fn options(tolerance: f64) -> Options {
    Options { interpolation: Interpolation::BandLimited, tolerance, ..Options::default() }
}

/// A row's value between its bins, by its spectrum.
struct Row {
    spectrum: Vec<[f64; 2]>,
    period: usize,
}

impl Row {
    fn new(row: &[f64], period: usize) -> Self {
        let turn = |k: usize, f: usize| (TAU * (k * f % period) as f64 / period as f64).sin_cos();
        let spectrum = (0..period).map(|f| {
            row.iter().enumerate().fold([0.0; 2], |[re, im], (k, v)| {
                let (sin, cos) = turn(k, f);
                [re + v * cos, im - v * sin]
            })
        });
        Self { spectrum: spectrum.collect(), period }
    }

    /// (1/P) Re sum_f Q(f) exp(2 pi i f h / P), f = -P/2 .. P/2, the ends with half their weight.
    fn at(&self, h: f64) -> f64 {
        let half = self.period as isize / 2;
        let turn = |f: f64| (TAU * (f * h / self.period as f64).fract()).sin_cos();
        // From frequency to frequency a rotation: thousands of them err by 1e-13.
        let ((mut sin, mut cos), (step_sin, step_cos)) = (turn(-half as f64), turn(1.0));
        let mut sum = 0.0;
        for f in -half..=half {
            let [re, im] = self.spectrum[f.rem_euclid(self.period as isize) as usize];
            sum += (re * cos - im * sin) * if f.abs() == half { 0.5 } else { 1.0 };
            (sin, cos) = (sin * step_cos + cos * step_sin, cos * step_cos - sin * step_sin);
        }
        sum / self.period as f64
    }
}

/// Rows `[view][slice]` in f64, filtered where they have to be.
type Rows = Vec<Vec<Vec<f64>>>;

fn rows(g: &Geometry, projections: &[f32], filter: bool) -> Rows {
    let row = |v: usize, z: usize| {
        let z = g.first_row + z;
        let at = if g.order == Order::Frames { v * g.rows + z } else { z * g.views() + v };
        let row = &projections[at * g.bins..][..g.bins];
        if filter { ramp_filtered(row, g.bin_pitch) } else { row.iter().map(|v| f64::from(*v)).collect() }
    };
    (0..g.views()).map(|v| (0..g.slices).map(|z| row(v, z)).collect()).collect()
}

/// volume(x) = sum_v w_v q_v(h_v(x))
fn sums(g: &Geometry, period: usize, rows: &Rows, weights: Option<&[f64]>) -> Vec<f64> {
    let mut out = vec![0.0; volume_len(g)];
    for (v, rows) in rows.iter().enumerate() {
        let weight = weights.map_or(1.0, |w| w[v]);
        for (z, row) in rows.iter().enumerate() {
            let row = Row::new(row, period);
            for i in 0..g.ny {
                for j in 0..g.nx {
                    out[(z * g.ny + i) * g.nx + j] += weight * row.at(bin(g, v, i, j));
                }
            }
        }
    }
    out
}

/// l2 error in shares of the result, or, where its terms cancel, of what terms of random phase would sum to: of each view the mean
/// square of its row over the period.
fn l2(g: &Geometry, period: usize, rows: &Rows, weights: Option<&[f64]>, seen: &[f32], expected: &[f64]) -> f64 {
    assert!(seen.iter().all(|v| v.is_finite()));
    let mean = |v: usize| rows[v].iter().flatten().map(|q| q * q).sum::<f64>() / (period * g.slices) as f64;
    let random: f64 = (0..g.views()).map(|v| weights.map_or(1.0, |w| w[v]).powi(2) * mean(v)).sum();
    let size: f64 = expected.iter().map(|e| e * e).sum();
    let error: f64 = seen.iter().zip(expected).map(|(s, e)| (f64::from(*s) - e).powi(2)).sum();
    (error / size.max(random * expected.len() as f64)).sqrt()
}

const TOLERANCES: [f64; 5] = [1e-2, 1e-3, 1e-4, 1e-5, 1e-6];

/// Of one geometry and its projections: rows and sums by the period, and whether they are filtered and weighted.
type Known = BTreeMap<(usize, bool, bool), (Rows, Vec<f64>)>;

/// Backproject, weighted or not, and reconstruct: errors in shares of the tolerance. `known` is for calls of the same geometry and seed.
fn check(g: &Geometry, tolerance: f64, level: Level, seed: u64, known: &mut Known) -> f64 {
    let mut ct = plan(g, level, 2);
    ct.set_options(options(tolerance)).expect("options");
    let (p, period) = (random(projection_len(g), seed), ct.info().expect("info").period);
    let weights = ct.angular_weights().map(<[f64]>::to_vec);
    let mut worst = 0.0f64;
    let mut compare = |ct: &mut Ct, operator: Operator, filter: bool, weights: Option<&[f64]>| {
        let (rows, expected) = known.entry((period, filter, weights.is_some())).or_insert_with(|| {
            let rows = rows(g, &p, filter);
            let sums = sums(g, period, &rows, weights);
            (rows, sums)
        });
        let seen = to_volume(ct, g, operator, &p);
        let e = l2(g, period, rows, weights, &seen, expected) / tolerance;
        assert!(e < 1.0, "{tolerance:e} {level:?}, filter {filter}, period {period}, {g:?}: {e:.2} tolerances");
        worst = worst.max(e);
    };
    compare(&mut ct, Ct::backproject, false, None);
    if let Ok(weights) = weights {
        compare(&mut ct, Ct::reconstruct, true, Some(&weights));
        let weighted = Options { weighted_backprojection: true, ..options(tolerance) };
        ct.set_options(weighted).expect("options");
        compare(&mut ct, Ct::backproject, false, Some(&weights));
    }
    worst
}

#[test]
fn sums_are_kept_to_in_any_geometry() {
    let mut rng = SmallRng::seed_from_u64(30);
    for tolerance in TOLERANCES {
        let mut worst = 0.0f64;
        for case in 0..16 {
            let g = any_geometry(&mut rng);
            let level = Level::available().nth(case % Level::available().count()).expect("a level");
            worst = worst.max(check(&g, tolerance, level, case as u64, &mut Known::new()));
        }
        println!("{tolerance:e}: {worst:.2} tolerances");
    }
}

/// Many views on a grid of several tiles, several images side by side, at every level.
#[test]
fn sums_are_kept_to_at_every_level() {
    let mut g = Geometry::new(half_turn(75), 60).with_rows(5);
    (g.nx, g.ny, g.axis, g.pixel_size) = (61, 54, vec![28.3], 1.07);
    let mut known = Known::new();
    for level in Level::available() {
        for tolerance in TOLERANCES {
            println!("{level:?} {tolerance:e}: {:.2} tolerances", check(&g, tolerance, level, 7, &mut known));
        }
    }
}

/// As for linear interpolation, see scale.rs. Pixels of just two bins would all meet the same phase of the rows' highest frequency,
/// which nothing damps, and a mean over them would show it.
#[test]
fn an_ellipse_has_its_value() {
    for (pixel, pitch) in [(1.0, 1.0), (0.5, 1.0), (1.7, 1.0), (1.0, 0.37)] {
        let g = scene(half_turn(360), pixel, pitch);
        let mut ct = best_plan(&g);
        ct.set_options(options(1e-4)).expect("options");
        let projections = line_integrals(&ct, &g, &[OBJECT]);
        let volume = reconstruct(&mut ct, &g, &projections);
        let seen = mean(&volume, &well_inside(&g, &OBJECT, (2.0 * pixel).max(pitch)));
        println!("pixel {pixel}, pitch {pitch}: {seen:.5}");
        assert!((seen - 1.0).abs() < 0.003, "pixel {pixel}, pitch {pitch}: {seen:.5}");
    }
}

/// Means over rings, up to 0.95 of the radius. The interpolation has no frequency response of its own, so a ring's mean is 1 but for
/// the ringing of an edge that the rows did not resolve: a ring of four pixels averages periods of two.
#[test]
fn a_disc_is_flat() {
    let n = 256;
    let g = Geometry::new(half_turn(402), n);
    let mut ct = best_plan(&g);
    ct.set_options(options(1e-4)).expect("options");
    let radius = 0.45 * n as f64;
    let disc = Ellipse { value: 1.0, centre: [0.0, 0.0], semi: [radius, radius], angle: 0.0 };
    let projections = line_integrals(&ct, &g, &[disc]);
    let volume = reconstruct(&mut ct, &g, &projections);
    let mut rings = vec![(0.0, 0.0); (0.95 * radius / 4.0) as usize];
    for (k, v) in volume.iter().enumerate() {
        let (x, y) = pixel_middle(&g, k / n, k % n);
        if let Some((sum, count)) = rings.get_mut((x.hypot(y) / 4.0) as usize) {
            (*sum, *count) = (*sum + f64::from(*v), *count + 1.0);
        }
    }
    let worst = rings.iter().map(|(sum, count)| (sum / count - 1.0).abs()).fold(0.0, f64::max);
    println!("worst ring {worst:.1e}");
    assert!(worst < 1e-3, "{rings:?}");
}

/// A slice goes with its neighbour whatever slab they are in, and every cell's terms come in one order.
#[test]
fn threads_and_slabs_and_orders_are_the_same_to_the_bit() {
    for rows in [1, 2, 5, 16, 33] {
        let g = uneven(rows);
        let p = random(projection_len(&g), 5);
        let expected = to_volume(&mut capped(&g, 1, 1 << 30, options(1e-4)), &g, Ct::reconstruct, &p);
        let mut slabs = Vec::new();
        for threads in [1, 2, 3, 7] {
            let fits = |cap: &u64| capped(&g, threads, *cap, options(1e-4)).info().is_ok();
            let least = (0..400).map(|k| (1e5 * 1.02f64.powi(k)) as u64).find(fits).expect("a cap");
            for cap in [least, 2 * least, 4 * least, 1 << 30] {
                let mut ct = capped(&g, threads, cap, options(1e-4));
                slabs.push(ct.info().expect("info").slab_slices);
                assert!(to_volume(&mut ct, &g, Ct::reconstruct, &p) == expected, "{threads} threads, cap {cap}");
            }
        }
        slabs.sort_unstable();
        slabs.dedup();
        println!("{rows} slices: slabs of {slabs:?}");
        assert!(slabs.len() > 1 || rows < 5, "caps have no effect: {slabs:?}");
        let sinograms = Geometry { order: Order::Sinograms, ..g.clone() };
        let row = |z: usize, v: usize| &p[(v * rows + z) * g.bins..][..g.bins];
        let turned: Vec<f32> = (0..rows).flat_map(|z| (0..60).flat_map(move |v| row(z, v).iter().copied())).collect();
        let mut ct = capped(&sinograms, 2, 1 << 30, options(1e-4));
        assert!(to_volume(&mut ct, &sinograms, Ct::reconstruct, &turned) == expected, "{rows} rows in sinograms");
    }
}

#[test]
fn a_stream_is_the_same_to_the_bit() {
    let g = Geometry { first_row: 2, slices: 13, ..uneven(17) };
    let p = random(projection_len(&g), 9);
    let expected = to_volume(&mut capped(&g, 2, 1 << 30, options(1e-3)), &g, Ct::reconstruct, &p);
    let pixels = g.nx * g.ny;
    let mut counts = Vec::new();
    for cap in [900_000, 1_100_000, 1_500_000, 2_000_000, 1 << 30] {
        let (mut out, mut slabs) = (vec![f32::NAN; volume_len(&g)], 0);
        let read = |slab: Slab| {
            // SAFETY: the slab's array holds as many elements as its shape says.
            let to = unsafe { std::slice::from_raw_parts_mut(slab.data.cast::<f32>(), slab.shape.iter().product()) };
            for (k, row) in to.chunks_exact_mut(g.bins).enumerate() {
                let (v, z) = (k / slab.count, g.first_row + slab.first + k % slab.count);
                row.copy_from_slice(&p[(v * g.rows + z) * g.bins..][..g.bins]);
            }
            Ok(())
        };
        let write = |slab: Slab| {
            slabs += 1;
            // SAFETY: as in `read`.
            let from = unsafe { std::slice::from_raw_parts(slab.data.cast::<f32>(), slab.count * pixels) };
            out[slab.first * pixels..][..from.len()].copy_from_slice(from);
            Ok(())
        };
        capped(&g, 2, cap, options(1e-3)).reconstruct_stream(DType::F32, read, write).expect("success");
        assert!(out == expected, "cap {cap}, {slabs} slabs");
        counts.push(slabs);
    }
    println!("slabs: {counts:?}");
    assert!(counts.windows(2).all(|c| c[0] >= c[1]) && counts[0] > 2 && counts[4] == 1, "{counts:?}");
}

#[test]
fn bad_data_is_found_before_anything_is_written() {
    let g = uneven(20);
    let mut p = random(projection_len(&g), 11);
    p[(40 * 20 + 19) * g.bins + 3] = f32::NAN;
    let mut v = vec![7.0; volume_len(&g)];
    let (from, to) = (Array::new(&p, g.projection_shape()), ArrayMut::new(&mut v, g.volume_shape()));
    let e = capped(&g, 2, 1 << 22, options(1e-4)).reconstruct(from.expect("projections"), to.expect("a volume"));
    assert!(e.expect_err("NaN").message.starts_with("projections[40, 19, 3] is NaN"));
    assert!(v.iter().all(|v| *v == 7.0));
}
