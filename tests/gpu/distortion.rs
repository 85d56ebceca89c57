//! Frames without distortion on a GPU against the processor, whose tests stand behind that.

use super::common::frames::{counts, streamed};
use super::common::random;
use super::memory::OnGpu;
use super::{cpu, gpu, gpu_with};
use isocenter::array::{Array, ArrayMut, DType};
use isocenter::context::{Context, ContextOptions};
use isocenter::ct::{
    Ct, Distortion, Filter, Geometry, InputKind, Options, Order, OutlierSide, OutlierUnit, Outliers, Phase, PhaseMethod,
};
use std::f64::consts::PI;
use std::sync::Arc;

fn geometry([views, rows, bins]: [usize; 3]) -> Geometry {
    Geometry::new((0..views).map(|v| PI * v as f64 / views as f64).collect(), bins).with_rows(rows)
}

/// All that there can be, of some pixels; with or without shifts.
fn lens([views, rows, bins]: [usize; 3], shifted: bool) -> Distortion {
    let shifts = random(2 * views, 17);
    let shifts = shifts.chunks_exact(2).map(|s| [6.0 * f64::from(s[0]), 4.0 * f64::from(s[1])]);
    let far = bins.max(rows) as f64 / 2.0;
    Distortion {
        centre: [bins as f64 * 0.47, rows as f64 * 0.61 - 3.0],
        radial: vec![1.003, -0.02 / far, 0.03 / far.powi(2)]
            .into_iter()
            .chain(shifted.then_some(-0.003 / far.powi(3)))
            .collect(),
        perspective: shifted.then_some([1.001, -0.004, 1.2, 0.001, 0.998, -0.7, 1e-6, -2e-6]),
        tilt: -0.006,
        shifts: if shifted { shifts.collect() } else { Vec::new() },
    }
}

fn plan(context: &Arc<Context>, g: &Geometry, distortion: &Distortion, phase: bool, input: InputKind) -> Ct {
    let mut ct = Ct::new(context.clone());
    ct.set_geometry(g.clone()).expect("a geometry");
    ct.set_options(Options { filter: Filter::None, input, ..Options::default() }).expect("options");
    if input == InputKind::Counts {
        // As bright as the counts without an object, so that transmissions are 0.4 to 1.1.
        let beam = |k: usize| 2000.0 + 40.0 * (k % g.bins) as f32 + 30.0 * (k / g.bins) as f32;
        let noise = random(g.rows * g.bins, 4);
        let flats: Vec<f32> = noise.iter().enumerate().map(|(k, v)| beam(k) * (1.0 + 0.05 * v)).collect();
        ct.set_flat_field(Some(Array::new(&flats, [1, g.rows, g.bins]).expect("flats")), None).expect("a flat field");
        let (unit, side) = (OutlierUnit::Noise, OutlierSide::Both);
        ct.set_outliers(Some(Outliers { window: 5, depth: 3, unit, threshold: 8.0, side })).expect("outliers");
    }
    ct.set_distortion(Some(distortion.clone())).expect("a distortion");
    let paganin =
        Phase { method: PhaseMethod::Paganin, fresnel: 0.1, delta_beta: 50.0, alpha: 0.01, unsharp: [0.0, 0.0] };
    ct.set_phase(phase.then_some(paganin)).expect("phase");
    ct
}

fn rows(ct: &mut Ct, from: Array) -> (Vec<f32>, u64) {
    let shape = from.shape();
    let mut out = vec![0.0; shape.iter().product()];
    ct.filter(from, ArrayMut::new(&mut out, shape).expect("projections")).expect("success");
    (out, ct.info().expect("facts").outliers)
}

fn worst(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, |m, d| if d <= m { m } else { d })
}

/// Places are the same but for the rounding of f64. Three steps between values of up to 9 (of zingers that are left) round by 6e-8 of that each:
/// 3e-6 of transmissions, whose logarithm may be of next to nothing. With phase the tolerance is that of its own test.
#[test]
fn frames_as_on_the_processor() {
    let Some(gpu) = gpu() else { return };
    for (shape, order, part) in [
        ([70, 40, 300], Order::Frames, 0..40),
        ([131, 33, 61], Order::Sinograms, 6..25),
        ([1, 25, 33], Order::Frames, 0..25),
        ([5, 1, 40], Order::Frames, 0..1),
        ([3, 40, 4500], Order::Frames, 12..30),
    ] {
        let raw = counts(shape, 3);
        let open: Vec<f32> = random(raw.len(), 9).iter().map(|v| 0.55 + 0.45 * v).collect();
        let g = Geometry { order, first_row: part.start, slices: part.len(), ..geometry(shape) };
        for distortion in [false, true].map(|shifted| lens(shape, shifted)) {
            let float = Array::new(&open, g.projection_shape()).expect("projections");
            for input in [InputKind::Transmission, InputKind::LineIntegrals] {
                let on = |context| rows(&mut plan(context, &g, &distortion, false, input), float);
                let off = worst(&on(&gpu).0, &on(&cpu()).0);
                assert!(off < 3e-6, "{shape:?}, {distortion:?}, {input:?}: {off:e}");
            }
            for phase in [false, true] {
                let from = Array::of(&raw, g.projection_shape()).expect("counts");
                let on = |context| rows(&mut plan(context, &g, &distortion, phase, InputKind::Counts), from);
                let (seen, expected) = (on(&gpu), on(&cpu()));
                let through = |rows: &[f32]| rows.iter().map(|p| (-p).exp()).collect::<Vec<_>>();
                let off = match phase {
                    true => worst(&seen.0, &expected.0),
                    false => worst(&through(&seen.0), &through(&expected.0)),
                };
                let most = if phase { 1.5e-5 } else { 3e-6 };
                assert!(off < most, "{shape:?}, {distortion:?}, phase {phase}: {off:e}");
                assert_eq!(seen.1, expected.1, "outliers");
            }
        }
    }
}

/// The same bits from slabs, as far as sums over views have the same order: 1e-5 of the largest.
#[test]
fn slabs_and_streams_do_not_matter() {
    let Some(whole) = gpu() else { return };
    let shape = [64, 230, 100];
    let (g, raw) = (geometry(shape), counts(shape, 6));
    let make = |context: &Arc<Context>| plan(context, &g, &lens(shape, true), false, InputKind::Counts);
    let bytes = |context: &Arc<Context>| make(context).memory().expect("a figure");
    let cap = bytes(&whole) * 2 / 3;
    let capped = gpu_with(ContextOptions { gpu_memory_cap: cap, ..ContextOptions::default() }).expect("there was one");
    assert!(bytes(&capped) <= cap);
    let from = Array::of(&raw, g.projection_shape()).expect("counts");
    let (seen, expected) = (rows(&mut make(&capped), from), rows(&mut make(&whole), from));
    assert!(seen.0.iter().zip(&expected.0).all(|(a, b)| a.to_bits() == b.to_bits()));
    assert_eq!(seen.1, expected.1, "each outlier counts once");
    let mut volume = vec![0.0; g.volume_shape().iter().product()];
    let to = ArrayMut::new(&mut volume, g.volume_shape()).expect("a volume");
    make(&whole).reconstruct(from, to).expect("success");
    let largest = volume.iter().fold(0.0f32, |l, v| l.max(v.abs()));
    let (seen, asked) = streamed(&mut make(&capped), DType::U16, &raw).expect("success");
    let off = worst(&seen, &volume);
    assert!(asked.len() > 1 && off < 1e-5 * largest, "{} slabs: {off:e} of {largest}", asked.len());
}

/// The search for the axis sees the same rows, wherever they are: here on the device.
#[test]
fn the_search_reads_frames_without_distortion() {
    let Some(gpu) = gpu() else { return };
    let shape = [91, 40, 160];
    let g = Geometry { angles: (0..91).map(|v| PI * f64::from(v) / 90.0).collect(), ..geometry(shape) };
    let data: Vec<f32> = (0..shape.iter().product())
        .map(|k: usize| {
            let (angle, row, bin) = (g.angles[k / (40 * 160)], k / 160 % 40, (k % 160) as f64);
            let at = |r: f64, a: f64| (-(bin - 82.3 - r * (angle - a).cos()).powi(2) / 40.0).exp();
            ((1.0 + 0.01 * row as f64) * at(30.0, 0.3) + at(21.0, 2.0)) as f32
        })
        .collect();
    let distortion = Distortion { shifts: vec![[2.5, -1.0]; 91], ..Distortion::default() };
    let find = |context: &Arc<Context>, from: Array| {
        plan(context, &g, &distortion, false, InputKind::LineIntegrals).find_axis(from, &Default::default())
    };
    let on_host = find(&cpu(), Array::new(&data, shape).expect("projections")).expect("an axis");
    assert!((on_host.axis - (82.3 - 2.5)).abs() < 0.05, "{}", on_host.axis);
    let there = OnGpu::new(&data);
    let strides = [40 * 160, 160, 1];
    // SAFETY: the device holds as many values until the end.
    let from = unsafe { Array::from_raw(there.address as *const u8, DType::F32, shape, strides, Some(0)) };
    let on_device = find(&gpu, from).expect("an axis");
    assert_eq!(on_device.axis.to_bits(), on_host.axis.to_bits());
}
