//! Phase retrieval against its formula in f64.

use crate::common::frames::{counts, doubles, filtered, retrieved, streamed, without_outliers, worst};
use crate::common::{on_processor, plan, random};
use isocenter::array::{Array, ArrayMut, DType};
use isocenter::context::{Context, ContextOptions};
use isocenter::cpu::level::Level;
use isocenter::ct::{
    Ct, Geometry, InputKind, Options, Order, OutlierSide, OutlierUnit, Outliers, Phase, PhaseMethod, Stripes,
};
use isocenter::error::Status;
use std::f64::consts::PI;
use std::sync::Arc;

/// A length of 7.9 bins.
const PAGANIN: Phase =
    Phase { method: PhaseMethod::Paganin, fresnel: 0.4, delta_beta: 50.0, alpha: 0.01, unsharp: [0.0, 0.0] };

fn geometry([views, rows, bins]: [usize; 3]) -> Geometry {
    Geometry::new((0..views).map(|v| PI * v as f64 / views as f64).collect(), bins).with_rows(rows)
}

/// Transmissions of 0.3 to 1 with steps and noise.
fn transmissions([views, rows, bins]: [usize; 3]) -> Vec<f32> {
    let noise = random(views * rows * bins, 7);
    (0..noise.len())
        .map(|k| {
            let (view, row, bin) = (k / (rows * bins), k / bins % rows, k % bins);
            let inside = (bin + 3 * view) % 40 > 15 && row % 19 > 6;
            (if inside { 0.35 } else { 0.95 }) + 0.04 * noise[k]
        })
        .collect()
}

/// Of the formulas, by hand.
fn response(phase: &Phase) -> impl Fn(f64) -> f64 {
    let Phase { method, fresnel, delta_beta, alpha, unsharp: [sigma, amount] } = *phase;
    move |squared| {
        let retrieved = match method {
            PhaseMethod::Paganin => 1.0 / (1.0 + PI * fresnel * delta_beta * squared),
            PhaseMethod::Ctf => {
                let x = PI * fresnel * squared;
                let c = x.cos() + delta_beta * x.sin();
                let envelope = if x < PI / 2.0 { delta_beta * x.sin() } else { delta_beta };
                (1.0 + alpha) * c / (c * c + alpha * (1.0 + envelope * envelope))
            }
        };
        retrieved * (1.0 + amount * (1.0 - (-2.0 * (PI * sigma).powi(2) * squared).exp()))
    }
}

/// f32 transforms of values up to 1 err by 3e-7 or so, which a logarithm of 0.3 makes 1e-6; what the kernels leave beyond the margins is
/// 1e-6 of a step, of 0.6 at most here, on each of four sides, before that logarithm: 9e-6. An unsharp mask of 2 makes more of the rounding.
/// The contrast transfer function leaves ten times as much, and has no logarithm: 2.4e-5.
#[test]
fn frames_by_the_formula() {
    let shape = [5, 37, 90];
    let data = transmissions(shape);
    for (phase, tolerance) in [
        (PAGANIN, 9e-6),
        (Phase { unsharp: [1.5, 2.0], ..PAGANIN }, 2e-5),
        (Phase { fresnel: 0.01, ..PAGANIN }, 9e-6),
        (Phase { method: PhaseMethod::Ctf, fresnel: 0.7, ..PAGANIN }, 2.5e-5),
        (Phase { method: PhaseMethod::Ctf, fresnel: 3.0, delta_beta: 3.0, alpha: 0.2, ..PAGANIN }, 2.5e-5),
    ] {
        let linear = phase.method == PhaseMethod::Ctf;
        let expected = retrieved(&doubles(&data), shape, linear, response(&phase));
        for (level, threads) in Level::available().zip([1, 2, 3]) {
            let mut ct = plan(&geometry(shape), level, threads);
            ct.set_phase(Some(phase)).expect("phase");
            let seen = filtered(&mut ct, Array::new(&data, shape).expect("projections"), InputKind::Transmission);
            let off = worst(&seen, &expected);
            assert!(off < tolerance, "{phase:?}, {level:?}: {off:e}");
        }
    }
}

/// After outliers and the flat field, before stripes.
#[test]
fn the_order_of_stages() {
    let (shape, plane) = ([6, 20, 64], 20 * 64);
    let frames = counts(shape, 13);
    let outliers = Outliers { window: 3, depth: 3, unit: OutlierUnit::Noise, threshold: 10.0, side: OutlierSide::Both };
    let raw: Vec<f64> = frames.iter().map(|v| f64::from(*v)).collect();
    let (clean, found) = without_outliers(&raw, shape, &outliers);
    let flat: Vec<f32> = random(plane, 3).iter().map(|v| 5000.0 + 300.0 * v).collect();
    let through: Vec<f64> =
        clean.iter().zip(flat.iter().cycle()).map(|(v, f)| (v - 100.0) / f64::from(f - 100.0)).collect();
    let phase = Phase { fresnel: 0.05, ..PAGANIN };
    let expected = retrieved(&through, shape, false, response(&phase));
    for (order, part) in [(Order::Frames, 0..20), (Order::Sinograms, 0..20), (Order::Frames, 6..11)] {
        let g = Geometry { order, first_row: part.start, slices: part.len(), ..geometry(shape) };
        let mut ct = plan(&g, Level::detect(), 2);
        let f = Array::new(&flat, [1, 20, 64]).expect("flats");
        let dark = vec![100.0; plane];
        ct.set_flat_field(Some(f), Some(Array::new(&dark, [1, 20, 64]).expect("darks"))).expect("a flat field");
        ct.set_outliers(Some(outliers.clone())).expect("outliers");
        ct.set_phase(Some(phase)).expect("phase");
        let at = |v: usize, r: usize| (v * 20 + r) * 64;
        let of: Vec<u16> = match order {
            Order::Frames => frames.clone(),
            Order::Sinograms => (0..20)
                .flat_map(|r| (0..6).map(move |v| (v, r)))
                .flat_map(|(v, r)| frames[at(v, r)..][..64].to_vec())
                .collect(),
        };
        let seen = filtered(&mut ct, Array::of(&of, g.projection_shape()).expect("counts"), InputKind::Counts);
        for (v, r) in (0..6).flat_map(|v| part.clone().map(move |r| (v, r))) {
            let place = if order == Order::Frames { at(v, r) } else { (r * 6 + v) * 64 };
            let off = worst(&seen[place..][..64], &expected[at(v, r)..][..64]);
            assert!(off < 9e-6, "view {v}, row {r}, {order:?}: {off:e}");
        }
        if part.len() == 20 {
            assert_eq!(ct.info().expect("facts").outliers, found);
        }
    }
}

/// Slabs by the memory cap and in streams differ by what the kernel leaves beyond their margins, 5e-7 of a step, and by the rounding of
/// transforms of other lengths; images by that times a filter's gain, of 1e-5 together.
#[test]
fn slabs_and_streams_do_not_matter() {
    let shape = [24, 60, 48];
    let data = transmissions(shape);
    let phase = Phase { fresnel: 0.05, ..PAGANIN };
    for order in [Order::Frames, Order::Sinograms] {
        let g = Geometry { order, first_row: 5, slices: 50, ..geometry(shape) };
        let data: Vec<f32> = match order {
            Order::Frames => data.clone(),
            Order::Sinograms => (0..60)
                .flat_map(|r| (0..24).flat_map(move |v| (0..48).map(move |k| (v, r, k))))
                .map(|(v, r, k)| data[(v * 60 + r) * 48 + k])
                .collect(),
        };
        let make = |threads: usize, memory_cap: u64| {
            let mut ct = Ct::new(Arc::new(
                Context::new(ContextOptions { threads, memory_cap, ..on_processor() }).expect("a context"),
            ));
            ct.set_geometry(g.clone()).expect("a geometry");
            ct.set_options(Options { input: InputKind::Transmission, ..Options::default() }).expect("options");
            ct.set_phase(Some(phase)).expect("phase");
            ct.set_stripes(Some(Stripes::Regularised(1e-3))).expect("stripes");
            ct
        };
        let from = || Array::new(&data, g.projection_shape()).expect("projections");
        let reconstruct = |ct: &mut Ct| {
            let mut volume = vec![f32::NAN; g.volume_shape().iter().product()];
            ct.reconstruct(from(), ArrayMut::new(&mut volume, g.volume_shape()).expect("a volume")).expect("success");
            volume
        };
        let whole = reconstruct(&mut make(2, 0));
        let largest = whole.iter().fold(0.0f32, |l, v| l.max(v.abs()));
        let near = |volume: &[f32]| volume.iter().zip(&whole).all(|(a, b)| (a - b).abs() < 1e-5 * largest);
        let message = make(1, 1).memory().expect_err("too little").message;
        let smallest: u64 = message.rsplit(' ').next().and_then(|bytes| bytes.parse().ok()).expect("a number of bytes");
        for cap in [smallest, 2 * smallest] {
            let mut ct = make(1, cap);
            assert!(ct.memory().expect("a figure") <= cap);
            assert!(near(&reconstruct(&mut ct)), "{cap} bytes, {order:?}");
        }
        let mut ct = make(2, 4 * smallest);
        let (volume, asked) = streamed(&mut ct, DType::F32, &data).expect("success");
        assert!(asked.len() > 1 && near(&volume), "{} slabs, {order:?}", asked.len());
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let mut ct = plan(&geometry([10, 1, 20]), Level::detect(), 1);
    for (phase, status, word) in [
        (Phase { delta_beta: 0.0, ..PAGANIN }, Status::OutOfRange, "delta_beta is 0"),
        (Phase { delta_beta: f64::NAN, ..PAGANIN }, Status::NotFiniteParameter, "delta_beta is NaN"),
        (Phase { method: PhaseMethod::Ctf, alpha: 2.0, ..PAGANIN }, Status::OutOfRange, "alpha is 2"),
        (Phase { unsharp: [1.0, 0.0], ..PAGANIN }, Status::OutOfRange, "an unsharp mask has both"),
        (Phase { unsharp: [-1.0, 1.0], ..PAGANIN }, Status::OutOfRange, "unsharp_sigma is -1"),
        (Phase { unsharp: [1.0, f64::INFINITY], ..PAGANIN }, Status::NotFiniteParameter, "unsharp_amount is inf"),
    ] {
        let error = ct.set_phase(Some(phase)).expect_err("refused");
        assert!(error.status == status && error.message.contains(word), "{}", error.message);
    }
    let (rows, mut out) = (vec![1.0; 200], vec![0.0; 200]);
    let (from, to) = (|| Array::new(&rows, [10, 1, 20]).expect("rows"), [10, 1, 20]);
    ct.set_phase(Some(PAGANIN)).expect("phase");
    let error = ct.filter(from(), ArrayMut::new(&mut out, to).expect("rows")).expect_err("refused");
    assert!(error.status == Status::FlatField && error.message.contains("isoc_ct_set_phase"), "{}", error.message);
    // A kernel far longer than the detector is a mistake in some unit.
    ct.set_options(Options { input: InputKind::Transmission, ..Options::default() }).expect("options");
    ct.set_phase(Some(Phase { fresnel: 1e6, ..PAGANIN })).expect("phase");
    let error = ct.filter(from(), ArrayMut::new(&mut out, to).expect("rows")).expect_err("refused");
    assert!(error.status == Status::OutOfRange && error.message.contains("detector"), "{}", error.message);
    ct.set_phase(None).expect("off");
    ct.filter(from(), ArrayMut::new(&mut out, to).expect("rows")).expect("success");
}
