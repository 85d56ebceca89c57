//! Half acquisition: against plain f64 sums, against a plan of rows that the test has widened itself, and against the whole detector.

use crate::common::frames::streamed;
use crate::common::stripes::striped;
use crate::common::{
    backproject, error, on_processor, plan, projection_len, ramp_filtered, random, to_projections, to_volume,
    volume_len,
};
use isocenter::array::{Array, ArrayMut, DType};
use isocenter::context::{Context, ContextOptions};
use isocenter::cpu::level::Level;
use isocenter::ct::{
    Ct, Filter, Geometry, HalfAcquisition, InputKind, Interpolation, Options, Order, OutlierSide, OutlierUnit,
    Outliers, Output, Padding, Phase, PhaseMethod, Rise, Stripes, Window,
};
use isocenter::error::Status;
use std::f64::consts::{PI, TAU};
use std::sync::{Arc, Mutex};

const ALL: HalfAcquisition = HalfAcquisition { overlap: 0.0, rise: Rise::Smooth };

fn full_turn(views: usize) -> Vec<f64> {
    (0..views).map(|v| TAU * v as f64 / views as f64 + 0.1).collect()
}

/// A field that is wider than the detector, of some rows.
fn geometry(views: usize, bins: usize, axis: f64) -> Geometry {
    let mut g = Geometry::new(full_turn(views), bins).with_rows(3);
    (g.axis, g.nx, g.ny, g.first_row, g.slices) = (vec![axis], 37, 34, 1, 2);
    g
}

fn halves(g: &Geometry, half: HalfAcquisition) -> Ct {
    let mut ct = plan(g, Level::detect(), 2);
    ct.set_half_acquisition(Some(half)).expect("half acquisition");
    ct
}

/// Axes near both edges, beyond them, one for each view; weights that rise over less than there is; one that is not near any edge.
fn cases() -> Vec<(Geometry, HalfAcquisition)> {
    let half = |overlap, rise| HalfAcquisition { overlap, rise };
    let wobbling = |views, bins, axis: f64| {
        let g = geometry(views, bins, axis);
        Geometry { axis: (0..views).map(|v| axis + (2.7 * v as f64).sin()).collect(), ..g }
    };
    vec![
        (geometry(48, 29, 4.0), ALL),
        (geometry(48, 29, 24.3), ALL),
        (geometry(45, 30, 3.7), half(0.0, Rise::Linear)),
        (geometry(46, 30, 25.6), half(5.5, Rise::Linear)),
        (wobbling(40, 31, 5.4), half(6.0, Rise::Smooth)),
        (wobbling(40, 31, 26.1), ALL),
        (geometry(40, 28, -2.2), ALL),
        (geometry(40, 28, 27.4), ALL),
        (geometry(40, 28, 12.0), ALL),
    ]
}

/// The documented weights, with bins numbered as the detector's.
fn weight(g: &Geometry, half: HalfAcquisition, view: usize, bin: usize) -> f64 {
    let last = g.bins as f64 - 1.0;
    let nearer = g.axis.iter().map(|a| a.min(last - a)).fold(f64::INFINITY, f64::min);
    let overlap = if half.overlap > 0.0 { half.overlap } else { (2.0 * (nearer + 1.0)).max(1.0) };
    let mean = g.axis.iter().sum::<f64>() / g.axis.len() as f64;
    let side = if 2.0 * mean <= last { 1.0 } else { -1.0 };
    let axis = if g.axis.len() == 1 { g.axis[0] } else { g.axis[view] };
    let u = (2.0 * side * (bin as f64 - axis) / overlap).clamp(-1.0, 1.0);
    1.0 + if half.rise == Rise::Linear { u } else { u * (3.0 - u * u) / 2.0 }
}

/// A scan of the field that is as wide on both sides of all axes, and its rows in frame order, weighed; `outer` goes on as the
/// detector's outer end does.
fn widened(g: &Geometry, half: HalfAcquisition, data: &[f32], outer: bool) -> (Geometry, Vec<f32>) {
    let last = g.bins as f64 - 1.0;
    let reach = g.axis.iter().map(|a| a.max(last - a)).fold(0.0, f64::max);
    let before = g.axis.iter().map(|a| (reach - a).ceil()).fold(0.0, f64::max);
    let after = g.axis.iter().map(|a| (a + reach - last).ceil()).fold(0.0, f64::max);
    let axis = g.axis.iter().map(|a| a + before).collect();
    let (before, after) = (before as usize, after as usize);
    let wide = Geometry { axis, bins: before + g.bins + after, order: Order::Frames, ..g.clone() };
    let low = g.axis.iter().sum::<f64>() / (g.axis.len() as f64) <= last / 2.0;
    let mut rows = Vec::with_capacity(projection_len(&wide));
    for (i, row) in data.chunks(g.bins).enumerate() {
        let weighed = |(k, v): (usize, &f32)| (f64::from(*v) * weight(g, half, i / g.rows, k)) as f32;
        let row: Vec<f32> = row.iter().enumerate().map(weighed).collect();
        let ends = if low { [0.0, row[g.bins - 1]] } else { [row[0], 0.0] };
        let [start, end] = if outer { ends } else { [0.0; 2] };
        rows.extend(std::iter::repeat_n(start, before));
        rows.extend_from_slice(&row);
        rows.extend(std::iter::repeat_n(end, after));
    }
    (wide, rows)
}

/// Opposite views weigh a ray by 2 together, wherever both see it.
#[test]
fn weights_of_opposite_views_add_up() {
    for (g, half) in cases() {
        let g = Geometry { axis: vec![g.axis[0].round() + 0.5], ..g };
        let axis = g.axis[0];
        for k in 0..g.bins {
            let other = 2.0 * axis - k as f64;
            if (0.0..g.bins as f64).contains(&other) {
                let both = weight(&g, half, 0, k) + weight(&g, half, 0, other as usize);
                assert!((both - 2.0).abs() < 1e-12, "{axis}: {k} and {other} have {both}");
            }
        }
    }
}

/// Half the gaps of even angles in a full turn, halved: pi over the views. Sums of 48 terms of f32, of rows filtered in f32: as the other
/// operators' tests, 1e-5 of the largest.
#[test]
fn reconstruction_is_the_sum_over_weighed_rows() {
    for (g, half) in cases() {
        let data = random(projection_len(&g), 7);
        let (wide, rows) = widened(&g, half, &data, false);
        let weights = vec![PI / g.views() as f64; g.views()];
        for filter in [Filter::None, Filter::RamLak { cutoff: 1.0 }] {
            let filtered: Vec<f32> = match filter {
                Filter::None => rows.clone(),
                _ => rows.chunks(wide.bins).flat_map(|r| ramp_filtered(r, 1.0)).map(|v| v as f32).collect(),
            };
            let expected = backproject(&wide, Interpolation::Linear, Some(&weights), &filtered);
            let mut ct = halves(&g, half);
            ct.set_options(Options { filter, ..Options::default() }).expect("options");
            let off = error(&to_volume(&mut ct, &g, Ct::reconstruct, &data), &expected);
            assert!(off < 1e-5, "{:?}, {half:?}: {off:e}", g.axis[0]);
        }
    }
}

/// All that there is to choose, as a plan of the widened rows has it, whose weights are rounded to f32 once more: 1e-6 of the largest,
/// and a fifth of their tolerance for band-limited sums.
#[test]
fn options_work_as_on_widened_rows() {
    for (c, (g, half)) in cases().into_iter().enumerate() {
        let data = random(projection_len(&g), 8);
        let interpolations =
            [Interpolation::Linear, Interpolation::Nearest, Interpolation::Oversampled, Interpolation::BandLimited];
        for (padding, interpolation) in interpolations.iter().flat_map(|i| [(Padding::Zero, *i), (Padding::Edge, *i)]) {
            let filter = Filter::Hann { cutoff: 0.8 };
            let options = Options { filter, interpolation, padding, ..Options::default() };
            let (wide, rows) = widened(&g, half, &data, padding == Padding::Edge);
            let mut reference = plan(&wide, Level::detect(), 2);
            reference.set_angular_weights(Some(&vec![PI / g.views() as f64; g.views()])).expect("weights");
            reference.set_options(options.clone()).expect("options");
            let expected = to_volume(&mut reference, &wide, Ct::reconstruct, &rows);
            let expected: Vec<f64> = expected.iter().map(|v| f64::from(*v)).collect();
            for order in [Order::Frames, Order::Sinograms] {
                let g = Geometry { order, ..g.clone() };
                let data = if order == Order::Frames { data.clone() } else { turned(&g, &data) };
                let mut ct = halves(&g, half);
                ct.set_options(options.clone()).expect("options");
                let off = error(&to_volume(&mut ct, &g, Ct::reconstruct, &data), &expected);
                let tolerance = if interpolation == Interpolation::BandLimited { 2e-5 } else { 1e-6 };
                assert!(off < tolerance, "case {c}, {padding:?}, {interpolation:?}, {order:?}: {off:e}");
            }
        }
    }
}

/// From frames to sinograms.
fn turned(g: &Geometry, frames: &[f32]) -> Vec<f32> {
    let at = |i: usize| (i / g.views(), i % g.views());
    let row = |(row, view): (usize, usize)| &frames[(view * g.rows + row) * g.bins..][..g.bins];
    (0..g.rows * g.views()).flat_map(|i| row(at(i)).to_vec()).collect()
}

/// Half of half the gap on either side in the full turn.
#[test]
fn angular_weights_are_those_of_the_full_turn() {
    let angles = vec![0.0, 0.4, 1.0, 2.1, PI + 0.05, PI + 0.3, PI + 1.2, PI + 2.0, 6.0];
    let g = Geometry { axis: vec![3.0], ..Geometry::new(angles.clone(), 20) };
    let ct = halves(&g, ALL);
    let seen = ct.angular_weights().expect("weights");
    for (k, w) in seen.iter().enumerate() {
        let before = if k == 0 { angles[8] - TAU } else { angles[k - 1] };
        let after = if k == 8 { angles[0] + TAU } else { angles[k + 1] };
        assert!((w - (after - before) / 4.0).abs() < 1e-12, "{k}: {w}");
    }
    assert!((ct.info().expect("info").covered - PI).abs() < 1e-12);
    // Off, they are again those of the half turn.
    let mut ct = ct;
    ct.set_half_acquisition(None).expect("off");
    assert!(ct.angular_weights().expect("weights") != seen_of(&g));
}

fn seen_of(g: &Geometry) -> Vec<f64> {
    halves(g, ALL).angular_weights().expect("weights").to_vec()
}

/// Line integrals of Gaussian blobs of 2 bins, whose spectrum is 2e-9 at the highest frequency of the bins.
fn blobs(g: &Geometry, of: usize) -> Vec<f32> {
    const BLOBS: [(f64, f64, f64); 5] =
        [(0.0, 0.0, 1.0), (20.0, -7.0, 0.6), (-31.0, 12.0, 0.8), (4.0, 40.0, 1.1), (-9.0, -35.0, 0.7)];
    let mut data = Vec::with_capacity(projection_len(g));
    for v in 0..g.views() {
        let axis = if g.axis.len() == 1 { g.axis[0] } else { g.axis[v] };
        let (sin, cos) = g.angles[v].sin_cos();
        for r in 0..g.rows {
            for k in 0..g.bins {
                let value = |(x, y, a): (f64, f64, f64)| {
                    let d = k as f64 - axis - (x * cos + y * sin);
                    a * (-d * d / 8.0).exp()
                };
                let sum: f64 = BLOBS.iter().take(of + r).map(|b| value(*b)).sum();
                data.push(sum as f32);
            }
        }
    }
    data
}

/// The part of the detector from bin `first` on.
fn part(g: &Geometry, data: &[f32], first: usize, bins: usize) -> (Geometry, Vec<f32>) {
    let rows = data.chunks(g.bins).flat_map(|row| row[first..first + bins].to_vec()).collect();
    let axis = g.axis.iter().map(|a| a - first as f64).collect();
    (Geometry { axis, bins, ..g.clone() }, rows)
}

/// Data without what bins cannot tell, read by band-limited interpolation, differ by what weights that rise over 25 bins or more have
/// above the bins' highest frequency: 3 (2 / 25)^2 / (2 pi 0.5)^3, 6e-4, of which views average most: 3e-4 of the largest value. Linear
/// interpolation errs by the second differences of filtered rows, an eighth, where bins of opposite views do not lie on each other: 3e-3;
/// four samples a bin by an eighth of a bin, of slopes of 0.3 a bin, less what views average: 2e-2. Uneven angles are weighed by their
/// gaps in a full turn here and by those modulo pi there: 3e-3.
#[test]
fn half_a_detector_sees_as_much_as_all_of_it() {
    let (bins, views) = (129, 300);
    let wobble = (0..views).map(|v| 64.3 + 3.0 * (0.7 * v as f64).sin()).collect();
    let uneven: Vec<f64> = (0..views).map(|v| TAU / views as f64 * (v as f64 + 0.2 * (1.7 * v as f64).sin())).collect();
    for (axis, angles, even) in [
        (vec![64.0], full_turn(views), true),
        (vec![64.3], full_turn(views), true),
        (vec![63.77], full_turn(views + 1), true),
        (wobble, full_turn(views), true),
        (vec![64.3], uneven, false),
    ] {
        // Corners are within the reach of all views.
        let whole = Geometry { axis, nx: 85, ny: 83, ..Geometry::new(angles, bins) };
        let data = blobs(&whole, 5);
        for (interpolation, tolerance) in
            [(Interpolation::Linear, 3e-3), (Interpolation::Oversampled, 2e-2), (Interpolation::BandLimited, 3e-4)]
        {
            let options = Options { interpolation, ..Options::default() };
            let mut ct = plan(&whole, Level::detect(), 2);
            ct.set_options(options.clone()).expect("options");
            let expected = to_volume(&mut ct, &whole, Ct::reconstruct, &data);
            let expected: Vec<f64> = expected.iter().map(|v| f64::from(*v)).collect();
            for (first, n) in [(48, bins - 48), (0, 81), (40, bins - 40)] {
                let (g, rows) = part(&whole, &data, first, n);
                let mut ct = halves(&g, ALL);
                ct.set_options(options.clone()).expect("options");
                let off = error(&to_volume(&mut ct, &g, Ct::reconstruct, &rows), &expected);
                let tolerance = if even { tolerance } else { f64::max(tolerance, 3e-3) };
                assert!(off < tolerance, "axis {}, from {first}, {interpolation:?}: {off:e}", whole.axis[0]);
            }
        }
    }
}

fn capped(g: &Geometry, threads: usize, memory_cap: u64, level: Level) -> Ct {
    let options = ContextOptions { threads, memory_cap, level: Some(level), ..on_processor() };
    let mut ct = Ct::new(Arc::new(Context::new(options).expect("a context")));
    ct.set_geometry(g.clone()).expect("a geometry");
    ct
}

/// The same to the bit, or to 1e-5 of the largest.
fn check_same(seen: &[f32], expected: &[f32], to_the_bit: bool, what: &str) {
    let largest = expected.iter().fold(0.0f32, |l, v| l.max(v.abs()));
    let near = |(s, e): (&f32, &f32)| s.to_bits() == e.to_bits() || !to_the_bit && (s - e).abs() < 1e-5 * largest;
    assert!(seen.len() == expected.len() && seen.iter().zip(expected).all(near), "{what}");
}

/// A scan of which each row is another one.
fn scan(stripes: bool) -> (Geometry, Vec<f32>) {
    let mut g = Geometry::new(full_turn(60), 128).with_rows(6);
    (g.nx, g.ny, g.axis) = (60, 62, vec![20.4]);
    let frames = blobs(&g, 1);
    let data = if stripes { striped(&frames, g.bins) } else { frames };
    (g, data)
}

/// Weights of rows do not depend on other rows: to the bit, where the back projection after them has the same lanes.
#[test]
fn slabs_threads_levels_and_orders_do_not_matter() {
    for stripes in [None, Some(Stripes::Significant)] {
        let (mut g, data) = scan(stripes.is_some());
        for (first_row, slices) in [(0, 6), (2, 3)] {
            (g.first_row, g.slices, g.order) = (first_row, slices, Order::Frames);
            let volume = |ct: &mut Ct, g: &Geometry, data: &[f32]| {
                ct.set_half_acquisition(Some(ALL)).expect("half acquisition");
                ct.set_stripes(stripes.clone()).expect("stripes");
                to_volume(ct, g, Ct::reconstruct, data)
            };
            let expected = volume(&mut capped(&g, 1, 0, Level::detect()), &g, &data);
            let mut ct = capped(&g, 2, 0, Level::detect());
            ct.set_half_acquisition(Some(ALL)).expect("half acquisition");
            ct.set_stripes(stripes.clone()).expect("stripes");
            let cap = ct.memory().expect("a figure") * 2 / 3;
            for (threads, cap) in [(2, 0), (3, cap), (1, cap)] {
                let seen = volume(&mut capped(&g, threads, cap, Level::detect()), &g, &data);
                check_same(&seen, &expected, false, &format!("{threads} threads, cap {cap}"));
            }
            for level in Level::available() {
                let seen = volume(&mut capped(&g, 2, 0, level), &g, &data);
                check_same(&seen, &expected, false, &format!("{level:?}"));
            }
            let sinograms = Geometry { order: Order::Sinograms, ..g.clone() };
            let seen = volume(&mut capped(&sinograms, 1, 0, Level::detect()), &sinograms, &turned(&g, &data));
            check_same(&seen, &expected, true, "sinograms");
        }
    }
}

/// Counts under a flat field, stripes on them, weights, and a volume of bytes by percentiles, from array to array and by callbacks: each
/// stage as on its own, in the order that is documented.
#[test]
fn all_stages_work_together() {
    let (g, integrals) = scan(true);
    let flat: Vec<f32> = random(g.rows * g.bins, 3).iter().map(|v| 3e4 + 1e3 * v).collect();
    let dark: Vec<f32> = random(g.rows * g.bins, 4).iter().map(|v| 100.0 + 10.0 * v).collect();
    let pixels = g.rows * g.bins;
    let counts: Vec<u16> = integrals
        .iter()
        .enumerate()
        .map(|(i, p)| {
            let at = i % pixels;
            (dark[at] + (flat[at] - dark[at]) * (-0.05 * p).exp()).round() as u16
        })
        .collect();
    // What the flat field and the stage before make of them, by a plan that does nothing else.
    let shape = g.projection_shape();
    let corrected = |ct: &mut Ct| {
        let frames = [&flat, &dark].map(|a| Array::new(a, [1, g.rows, g.bins]).expect("frames"));
        ct.set_flat_field(Some(frames[0]), Some(frames[1])).expect("a flat field");
        ct.set_stripes(Some(Stripes::Significant)).expect("stripes");
    };
    let mut rows = vec![f32::NAN; counts.len()];
    let mut ct = plan(&g, Level::detect(), 2);
    corrected(&mut ct);
    ct.set_options(Options { filter: Filter::None, ..Options::default() }).expect("options");
    let from = Array::of(&counts, shape).expect("projections");
    ct.filter(from, ArrayMut::new(&mut rows, shape).expect("projections")).expect("success");
    let mut ct = halves(&g, ALL);
    ct.set_options(Options { input: InputKind::LineIntegrals, ..Options::default() }).expect("options");
    let expected = to_volume(&mut ct, &g, Ct::reconstruct, &rows);

    let mut ct = halves(&g, ALL);
    corrected(&mut ct);
    let mut volume = vec![f32::NAN; volume_len(&g)];
    ct.reconstruct(from, ArrayMut::new(&mut volume, g.volume_shape()).expect("a volume")).expect("success");
    check_same(&volume, &expected, true, "all at once");

    let window = Some(Window::Percentiles { low: 0.5, high: 99.5, slices: None });
    ct.set_output(Output { dtype: DType::U8, window, ..Output::default() }).expect("an output");
    let mut bytes = vec![0u8; volume_len(&g)];
    ct.reconstruct(from, ArrayMut::of(&mut bytes, g.volume_shape()).expect("a volume")).expect("success");
    let [low, high] = ct.written().expect("written").window.expect("a window");
    for (b, v) in bytes.iter().zip(&volume) {
        let exact = ((f64::from(*v) - low) / (high - low) * 255.0).clamp(0.0, 255.0);
        assert!((f64::from(*b) - exact).abs() <= 0.5 + 1e-6, "{b} of {exact}");
    }

    ct.set_output(Output::default()).expect("an output");
    let (seen, _) = streamed(&mut ct, DType::U16, &counts).expect("success");
    check_same(&seen, &volume, false, "streamed");
}

/// Stages that see neighbouring rows come before, too: their line integrals are what `filter` gives without a filter. Outliers are the same in
/// any slab; sums over views have another order there: 1e-5 of the largest.
#[test]
fn frames_are_prepared_before() {
    let (g, integrals) = scan(true);
    let transmissions: Vec<f32> = integrals.iter().map(|p| (-0.05 * p).exp()).collect();
    let outliers = Outliers { window: 3, depth: 3, unit: OutlierUnit::Noise, threshold: 4.0, side: OutlierSide::Both };
    let phase = Phase { method: PhaseMethod::Paganin, fresnel: 1.5, delta_beta: 5.0, alpha: 0.1, unsharp: [0.0; 2] };
    let options = |filter| Options { input: InputKind::Transmission, filter, ..Options::default() };
    for (outliers, phase) in [(Some(&outliers), None), (None, Some(&phase)), (Some(&outliers), Some(&phase))] {
        let with = |ct: &mut Ct| {
            ct.set_outliers(outliers.cloned()).expect("outliers");
            ct.set_phase(phase.cloned()).expect("phase");
            ct.set_stripes(Some(Stripes::Sorting(5))).expect("stripes");
        };
        let (mut rows, shape) = (vec![f32::NAN; transmissions.len()], g.projection_shape());
        let mut ct = plan(&g, Level::detect(), 2);
        with(&mut ct);
        ct.set_options(options(Filter::None)).expect("options");
        let from = Array::new(&transmissions, shape).expect("projections");
        ct.filter(from, ArrayMut::new(&mut rows, shape).expect("projections")).expect("success");
        let expected = to_volume(&mut halves(&g, ALL), &g, Ct::reconstruct, &rows);
        let largest = expected.iter().fold(0.0f32, |l, v| l.max(v.abs()));
        let mut cap = 0;
        for threads in [2, 1] {
            let mut ct = capped(&g, threads, cap, Level::detect());
            with(&mut ct);
            ct.set_half_acquisition(Some(ALL)).expect("half acquisition");
            ct.set_options(options(Options::default().filter)).expect("options");
            cap = if phase.is_none() { ct.memory().expect("a figure") * 3 / 4 } else { 0 };
            let seen = to_volume(&mut ct, &g, Ct::reconstruct, &transmissions);
            let off =
                seen.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, |m, d| if d <= m { m } else { d });
            assert!(off < 1e-5 * largest, "{outliers:?}, {phase:?}, {threads} threads: {off:e} of {largest:e}");
        }
    }
}

/// Operators that take rows as they are have nothing to do with it, and it costs nothing that is off.
#[test]
fn other_operators_and_other_scans_stay_as_they_are() {
    let (g, data) = scan(false);
    let mut ct = plan(&g, Level::detect(), 2);
    let filtered = |ct: &mut Ct| {
        let (mut out, shape) = (vec![f32::NAN; data.len()], g.projection_shape());
        let from = Array::new(&data, shape).expect("projections");
        ct.filter(from, ArrayMut::new(&mut out, shape).expect("projections")).expect("success");
        out
    };
    let run = |ct: &mut Ct| {
        let volume = to_volume(ct, &g, Ct::adjoint, &data);
        [filtered(ct), to_volume(ct, &g, Ct::backproject, &data), to_projections(ct, &g, Ct::forward, &volume), volume]
    };
    let (plain, reconstructed) = (run(&mut ct), to_volume(&mut ct, &g, Ct::reconstruct, &data));
    let (needed, info) = (ct.memory().expect("a figure"), ct.info().expect("info"));
    assert_eq!((info.computed_bins, info.overlap), (g.bins, 0.0));
    ct.set_half_acquisition(Some(ALL)).expect("half acquisition");
    let info = ct.info().expect("info");
    // The field reaches 127 - 20.4 bins from the axis; 20.4 + 1 of them are seen from both sides, on either side.
    assert_eq!((info.computed_bins, (100.0 * info.overlap).round()), (128 + 87, 4280.0));
    assert!(ct.memory().expect("a figure") > needed, "memory counts widened rows");
    for (seen, expected) in run(&mut ct).iter().zip(&plain) {
        check_same(seen, expected, true, "on");
    }
    assert!(to_volume(&mut ct, &g, Ct::reconstruct, &data) != reconstructed);
    // It holds whatever the geometry.
    ct.set_geometry(g.clone()).expect("a geometry");
    assert!(to_volume(&mut ct, &g, Ct::reconstruct, &data) != reconstructed);
    ct.set_half_acquisition(None).expect("off");
    check_same(&to_volume(&mut ct, &g, Ct::reconstruct, &data), &reconstructed, true, "off");
    assert_eq!(ct.memory().expect("a figure"), needed);
}

/// Rows have the whole field whatever the volume is, so that a part of a slice has the slice's values: to the rounding of positions, 1e-5 of
/// the largest.
#[test]
fn a_region_is_a_part_of_the_slice() {
    let (g, data) = scan(false);
    let whole = to_volume(&mut halves(&g, ALL), &g, Ct::reconstruct, &data);
    let (x, y, n) = (37, 9, 18);
    let offset = |side: usize, first: usize| (side as f64 - (2 * first + n) as f64) / 2.0;
    let part = Geometry { nx: n, ny: n, x_offset: offset(g.nx, x), y_offset: offset(g.ny, y), ..g.clone() };
    let seen = to_volume(&mut halves(&part, ALL), &part, Ct::reconstruct, &data);
    let cut = |(z, i): (usize, usize)| &whole[(z * g.ny + y + i) * g.nx + x..][..n];
    let expected: Vec<f32> = (0..g.slices * n).flat_map(|k| cut((k / n, k % n)).to_vec()).collect();
    check_same(&seen, &expected, false, "a region");
}

/// Bad values are found before anything is written, with the detector's indices.
#[test]
fn values_that_are_not_finite_are_named() {
    let (g, mut data) = scan(false);
    data[(17 * g.rows + 4) * g.bins + 5] = f32::NAN;
    let mut ct = halves(&g, ALL);
    let mut volume = vec![7.0; volume_len(&g)];
    let (p, v) = (Array::new(&data, g.projection_shape()), ArrayMut::new(&mut volume, g.volume_shape()));
    let error = ct.reconstruct(p.expect("projections"), v.expect("a volume")).expect_err("NaN");
    assert!(error.message.contains("projections[17, 4, 5] is NaN"), "{}", error.message);
    assert!(volume.iter().all(|v| *v == 7.0), "untouched");
}

#[test]
fn what_cannot_be_is_refused() {
    let with = |angles, axis: f64| Geometry { axis: vec![axis], ..Geometry::new(angles, 100) };
    let half = |overlap| HalfAcquisition { overlap, ..ALL };
    for (g, half, status, words) in [
        (with(full_turn(90), 9.0), half(20.5), Status::OutOfRange, "at most 20.00"),
        (with(full_turn(90), 90.0), half(20.5), Status::OutOfRange, "at most 20.00"),
        (with(full_turn(90), -3.0), half(2.0), Status::OutOfRange, "3.00 bins beyond the edge"),
        (with(full_turn(90), -25.5), half(0.0), Status::OutOfRange, "25 bins"),
        (with(full_turn(90), 125.0), half(0.0), Status::OutOfRange, "geometry.axis is 125"),
        (with(full_turn(90)[..45].to_vec(), 9.0), half(0.0), Status::OutOfRange, "takes a full turn"),
        (with(vec![0.0], 9.0), half(0.0), Status::TooFewViews, "views is 1"),
        (with(vec![1.0; 7], 9.0), half(0.0), Status::EqualAngles, "2 pi"),
        (with(full_turn(90), 9.0), half(f64::NAN), Status::NotFiniteParameter, "overlap is NaN"),
        (with(full_turn(90), 9.0), half(-1.0), Status::OutOfRange, "overlap is -1"),
        (with(full_turn(90), 9.0), half(0.5), Status::OutOfRange, "overlap is 0.5"),
        (
            Geometry { axis: vec![9.0], ..Geometry::new(full_turn(4), 1 << 20) },
            half(0.0),
            Status::OutOfRange,
            "geometry.bins is 1048576",
        ),
    ] {
        let mut ct = plan(&g, Level::detect(), 1);
        let error = ct.set_half_acquisition(Some(half)).expect_err("refused");
        assert_eq!(error.status, status, "{}", error.message);
        assert!(error.message.contains(words), "{}", error.message);
        // Nothing has changed.
        assert!(ct.info().is_err() || ct.info().is_ok_and(|info| info.overlap == 0.0));
    }
    // Taken for one scan, refused when used with another.
    let mut ct = halves(&with(full_turn(90), 9.0), half(20.0));
    let g = with(full_turn(90), 8.0);
    ct.set_geometry(g.clone()).expect("a geometry");
    assert_eq!(ct.memory().expect_err("too much").status, Status::OutOfRange);
    let (data, mut volume) = (vec![0.0; projection_len(&g)], vec![7.0; volume_len(&g)]);
    let (p, v) = (Array::new(&data, g.projection_shape()), ArrayMut::new(&mut volume, g.volume_shape()));
    let error = ct.reconstruct(p.expect("projections"), v.expect("a volume")).expect_err("too much");
    assert!(error.message.contains("at most 18.00"), "{}", error.message);
}

/// Warnings of a call on a plan whose geometry has been set.
fn warnings(g: Geometry, call: impl FnOnce(&mut Ct)) -> Vec<String> {
    let log = Arc::new(Mutex::new(Vec::new()));
    let copy = Arc::clone(&log);
    let options = ContextOptions {
        log: Some(Box::new(move |level, text| copy.lock().expect("the log").push(format!("{level:?}: {text}")))),
        ..on_processor()
    };
    let mut ct = Ct::new(Arc::new(Context::new(options).expect("a context")));
    ct.set_geometry(g).expect("a geometry");
    log.lock().expect("the log").clear();
    call(&mut ct);
    log.lock().expect("the log").drain(..).filter(|m| m.starts_with("Warning")).collect()
}

#[test]
fn what_is_missing_is_told() {
    let with = |angles, axis: f64| Geometry { axis: vec![axis], bin_pitch: 0.5, ..Geometry::new(angles, 100) };
    let told = |g: Geometry| warnings(g, |ct| ct.set_half_acquisition(Some(ALL)).expect("half acquisition"));
    assert_eq!(told(with(full_turn(90), 9.3)), Vec::<String>::new());
    assert_eq!(told(with(full_turn(91), 92.0)), Vec::<String>::new());
    // Of bins at -4.2, ... and 4.2, ...: nothing nearer than 3.7, in lengths 1.85.
    let hole = told(with(full_turn(90), -4.2));
    assert!(hole.len() == 1 && hole[0].contains("3.70 bins") && hole[0].contains("1.85"), "{hole:?}");
    let narrow = told(with(full_turn(90), 1.3));
    assert!(narrow.len() == 1 && narrow[0].contains("4.60 bins"), "{narrow:?}");
    // Steps of 4 degrees: views 60 to 69 are missing, from 5.73 + 236 to 5.73 + 280 degrees.
    let mut angles = full_turn(90);
    angles.drain(60..70);
    let gap = told(with(angles, 9.3));
    for word in ["1 gap(s)", "44.00 degrees in all", "from 241.73 to 285.73 degrees"] {
        assert!(gap.len() == 1 && gap[0].contains(word), "{gap:?}");
    }
}

/// Scans that seem to be half acquisitions are spoken of when they are reconstructed without, once.
#[test]
fn it_is_recommended() {
    let advice = |g: &Geometry, half: Option<HalfAcquisition>| {
        warnings(g.clone(), |ct| {
            ct.set_half_acquisition(half).expect("half acquisition");
            for _ in 0..2 {
                to_volume(ct, g, Ct::reconstruct, &vec![0.0; projection_len(g)]);
            }
        })
    };
    let with = |angles, axis: f64| Geometry { axis: vec![axis], ..Geometry::new(angles, 100) };
    for axis in [20.0, 80.0, -3.0, 99.0] {
        let seen = advice(&with(full_turn(90), axis), None);
        assert!(seen.len() == 1 && seen[0].contains("isoc_ct_set_half_acquisition"), "{seen:?}");
        let mut on = advice(&with(full_turn(90), axis), Some(ALL));
        on.retain(|m| m.contains("isoc_ct_set_half_acquisition"));
        assert_eq!(on, Vec::<String>::new());
    }
    for g in [with(full_turn(90), 40.0), with(full_turn(90)[..60].to_vec(), 20.0)] {
        assert_eq!(advice(&g, None), Vec::<String>::new());
    }
}
