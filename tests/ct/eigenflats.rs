//! Flats that drift: components of flats, and the beam of each view fitted by them, against plain f64 versions.

use crate::common::drift::{DARK, Drifting, binned, components, variation};
use crate::common::frames::counts;
use crate::common::{on_processor, plan};
use isocenter::array::{Array, ArrayMut};
use isocenter::context::{Context, ContextOptions, NanPolicy};
use isocenter::cpu::level::Level;
use isocenter::ct::{
    Ct, Filter, FlatFieldOptions, FlatFit, FlatFitOptions, FlatGroup, Geometry, InputKind, Options, Order, Slab,
};
use isocenter::error::Status;
use std::f64::consts::PI;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

const CLEAN: Drifting = Drifting { shape: [12, 40, 60], flats: 8, noise: [0.0, 0.0] };

fn geometry([views, rows, bins]: [usize; 3]) -> Geometry {
    Geometry::new((0..views).map(|v| PI * v as f64 / views as f64).collect(), bins).with_rows(rows)
}

fn singles(values: &[f64]) -> Vec<f32> {
    values.iter().map(|v| *v as f32).collect()
}

/// Gives a plan the scan's flats.
fn take_flats(ct: &mut Ct, scan: &Drifting, options: &FlatFieldOptions) {
    let [_, rows, bins] = scan.shape;
    let (flats, dark) = (singles(&scan.flats()), vec![DARK as f32; rows * bins]);
    let flats = Array::new(&flats, [scan.flats, rows, bins]).expect("flats");
    let dark = Array::new(&dark, [1, rows, bins]).expect("darks");
    ct.set_flat_field_by(Some(flats), Some(dark), options).expect("a flat field");
    ct.set_options(Options { filter: Filter::None, input: InputKind::Counts, ..Options::default() }).expect("options");
}

fn up_to(eigenflats: usize) -> FlatFieldOptions {
    FlatFieldOptions { eigenflats, ..FlatFieldOptions::default() }
}

/// A plan with the scan's flats and so many components at most.
fn prepared(scan: &Drifting, eigenflats: usize) -> Ct {
    let mut ct = plan(&geometry(scan.shape), Level::detect(), 2);
    take_flats(&mut ct, scan, &up_to(eigenflats));
    ct
}

fn fitted(ct: &mut Ct, frames: &[f32], first: usize, binning: usize) -> FlatFit {
    let g = ct.geometry().expect("a geometry");
    let shape = [frames.len() / g.rows / g.bins, g.rows, g.bins];
    let frames = Array::new(frames, shape).expect("projections");
    ct.fit_flat_field(frames, first, &FlatFitOptions { binning }).expect("a fit")
}

/// What the plan makes of counts, with all errors.
fn line_integrals(ct: &mut Ct, frames: &[f32]) -> isocenter::error::Result<Vec<f32>> {
    let shape = ct.geometry()?.projection_shape();
    let mut out = vec![f32::NAN; frames.len()];
    ct.filter(Array::new(frames, shape)?, ArrayMut::new(&mut out, shape)?)?;
    Ok(out)
}

fn transmissions(ct: &mut Ct, frames: &[f32]) -> Vec<f64> {
    line_integrals(ct, frames).expect("success").iter().map(|v| f64::from(-v).exp()).collect()
}

/// Root mean square of what transmissions (view, row, bin) are off, each view's strength apart.
fn off(scan: &Drifting, seen: &[f64]) -> f64 {
    let [_, rows, bins] = scan.shape;
    let of_view = |(view, seen): (usize, &[f64])| {
        let ratio: Vec<f64> = (0..rows * bins).map(|k| seen[k] / scan.transmission(view, k / bins, k % bins)).collect();
        let mean = ratio.iter().sum::<f64>() / ratio.len() as f64;
        ratio.iter().map(|v| (v / mean - 1.0).powi(2)).sum::<f64>()
    };
    let square: f64 = seen.chunks_exact(rows * bins).enumerate().map(of_view).sum();
    (square / seen.len() as f64).sqrt()
}

/// Without noise the beam is found but for f32: flats and frames of 1e4 are rounded to 5e-4, or 5e-8, which eight flats' components and
/// the quotient have a few times.
const EXACT: f64 = 1e-6;

#[test]
fn beams_are_found_exactly_without_noise() {
    for shape in [CLEAN.shape, [9, 1, 90], [7, 33, 20]] {
        let scan = Drifting { shape, ..CLEAN };
        let frames = singles(&scan.frames());
        let mut ct = prepared(&scan, 5);
        let fit = fitted(&mut ct, &frames, 0, 0);
        assert_eq!(fit.explained.len(), 2, "{shape:?}");
        assert!(fit.variation[1] < fit.variation[0]);
        let after = off(&scan, &transmissions(&mut ct, &frames));
        let before = off(&scan, &transmissions(&mut prepared(&scan, 0), &frames));
        println!("{shape:?}: {before:.2e} {after:.2e} {:?}", fit.variation);
        // By the patterns' amplitudes, 0.034 on average over views.
        // In one row more than half of the blocks have slopes of the object, 5e-3 or so, and the cost is round by a fiftieth of these.
        let exact = if shape[1] == 1 { 1e-4 } else { EXACT };
        assert!(before > 0.02 && after < exact, "{shape:?}: {before:e} {after:e}");
    }
}

/// The mean transmission of blocks stays what it is by the flats alone.
#[test]
fn strengths_of_views_stay() {
    let frames = singles(&CLEAN.frames());
    let [views, rows, bins] = CLEAN.shape;
    let mut ct = prepared(&CLEAN, 2);
    fitted(&mut ct, &frames, 0, 1);
    let (fitted, plain) = (transmissions(&mut ct, &frames), transmissions(&mut prepared(&CLEAN, 0), &frames));
    for view in 0..views {
        let mean = |t: &[f64]| t[view * rows * bins..][..rows * bins].iter().sum::<f64>();
        let (a, b) = (mean(&fitted), mean(&plain));
        assert!((a / b - 1.0).abs() < EXACT, "view {view}: {a} {b}");
    }
}

/// Frames with noise, flats without, so that components are exact and the weights of the smallest cost are not the true ones. The fit's
/// cost is at most that of a search by ever finer grids, but for the roundness of its cost, where |g| is below a fiftieth of its median: by
/// at most e in the few pixels there.
#[test]
fn weights_are_those_of_the_smallest_variation() {
    for (shape, binning) in [([4, 40, 60], 2), ([3, 24, 31], 3), ([5, 1, 150], 1)] {
        let scan = Drifting { shape, flats: 7, noise: [0.0, 1.0] };
        let [_, rows, bins] = shape;
        let (plane, frames, flats) = (rows * bins, scan.frames(), scan.flats());
        let mut ct = prepared(&scan, 2);
        let fit = fitted(&mut ct, &singles(&frames), 0, binning);
        let found = components(&flats, plane, 2);
        for ((part, _), seen) in found.iter().zip(&fit.explained) {
            // f32 flats.
            assert!((part - seen).abs() < 1e-6, "{part} {seen}");
        }
        let u: Vec<Vec<f64>> = found.iter().map(|(_, u)| binned(u, bins, binning)).collect();
        let u: Vec<&[f64]> = u.iter().map(Vec::as_slice).collect();
        let mean = |k: usize| flats.iter().skip(k).step_by(plane).sum::<f64>() / scan.flats as f64 - DARK;
        let flat = binned(&(0..plane).map(mean).collect::<Vec<_>>(), bins, binning);
        for (view, weights) in fit.weights.chunks_exact(2).enumerate() {
            let counts: Vec<f64> = frames[view * plane..][..plane].iter().map(|v| v - DARK).collect();
            let counts = binned(&counts, bins, binning);
            let cost = |w: [f64; 2]| variation(&counts, &flat, &u, &w, bins.div_ceil(binning));
            let (mut best, mut at, mut step) = (cost([0.0; 2]), [0.0; 2], 0.5);
            while step > 1e-6 {
                let middle = at;
                for k in 0..81 {
                    let w = [middle[0] + step * f64::from(k % 9 - 4), middle[1] + step * f64::from(k / 9 - 4)];
                    let here = cost(w);
                    if here < best {
                        (best, at) = (here, w);
                    }
                }
                if at == middle {
                    step *= 0.5;
                }
            }
            let seen = cost([weights[0], weights[1]]);
            println!("{shape:?}, view {view}: {seen:.8e} {best:.8e} at {weights:?} {at:?} {:?}", scan.of_view(view));
            assert!(seen <= best * (1.0 + 1e-4), "{shape:?}, view {view}: {seen:e} at {weights:?}, {best:e} at {at:?}");
        }
    }
}

/// What flats' noise adds is the mean flat's part of 1 / flats of the variance, and of components what smoothing leaves, a few percent of
/// that of a frame.
#[test]
fn noise_of_components_is_smoothed() {
    let scan = Drifting { shape: [10, 90, 120], flats: 16, noise: [1.0, 1.0] };
    let frames = singles(&scan.frames());
    let mut ct = prepared(&scan, 8);
    let fit = fitted(&mut ct, &frames, 0, 0);
    assert_eq!(fit.explained.len(), 2);
    let after = off(&scan, &transmissions(&mut ct, &frames));
    let before = off(&scan, &transmissions(&mut prepared(&scan, 0), &frames));
    // The same frames by the beam of each.
    let (plane, clean) = (90 * 120, Drifting { noise: [0.0, 0.0], ..scan }.frames());
    let ideal: Vec<f64> = frames
        .iter()
        .zip(&clean)
        .enumerate()
        .map(|(k, (v, clean))| {
            let t = scan.transmission(k / plane, k % plane / 120, k % 120);
            (f64::from(*v) - DARK) / (clean - DARK) * t
        })
        .collect();
    let noise = off(&scan, &ideal);
    println!("{before:.4e} {after:.4e}, of noise {noise:.4e}");
    let more = (after / noise).powi(2) - 1.0;
    // A sixteenth by the mean flat, times the mean of the transmission, below 1; the rest is the components'.
    assert!(more < 1.0 / 16.0 + 0.04, "{more}");
    assert!(before > 2.0 * after, "{before} {after}");
}

#[test]
fn parts_of_a_scan_make_the_same_bits() {
    let scan = Drifting { noise: [0.5, 1.0], ..CLEAN };
    let (frames, plane) = (singles(&scan.frames()), scan.shape[1] * scan.shape[2]);
    let mut whole = prepared(&scan, 4);
    let fit = fitted(&mut whole, &frames, 0, 0);
    let expected = line_integrals(&mut whole, &frames).expect("success");
    for threads in [1, 3] {
        let mut ct = plan(&geometry(scan.shape), Level::detect(), threads);
        take_flats(&mut ct, &scan, &up_to(4));
        let mut weights = vec![Vec::new(); 3];
        for (part, views) in [(2, 7..12), (0, 0..3), (1, 3..7)] {
            let part_frames = &frames[views.start * plane..views.end * plane];
            weights[part] = fitted(&mut ct, part_frames, views.start, 0).weights;
        }
        assert!(weights.concat() == fit.weights);
        assert!(line_integrals(&mut ct, &frames).expect("success") == expected);
    }
}

#[test]
fn levels_agree() {
    let scan = Drifting { noise: [0.5, 1.0], ..CLEAN };
    let frames = singles(&scan.frames());
    let runs: Vec<(Vec<f64>, Vec<f32>)> = Level::available()
        .map(|level| {
            let mut ct = plan(&geometry(scan.shape), level, 2);
            take_flats(&mut ct, &scan, &up_to(4));
            let weights = fitted(&mut ct, &frames, 0, 0).weights;
            (weights, line_integrals(&mut ct, &frames).expect("success"))
        })
        .collect();
    for (weights, lines) in &runs {
        let apart = weights.iter().zip(&runs[0].0).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        // Steps end at 1e-5.
        assert!(apart < 1e-4, "{apart:e}");
        let apart = lines.iter().zip(&runs[0].1).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        // Components are up to 0.05 of the beam.
        assert!(apart < 1e-5, "{apart:e}");
    }
}

/// The same scan as u16, as sinograms, and by another number of slices, through a stream.
#[test]
fn orders_types_and_streams() {
    let scan = Drifting { noise: [0.5, 1.0], ..CLEAN };
    let [views, rows, bins] = scan.shape;
    let frames: Vec<f32> = scan.frames().iter().map(|v| v.round() as f32).collect();
    let whole: Vec<u16> = frames.iter().map(|v| *v as u16).collect();
    let row = |v: usize, r: usize| whole[(v * rows + r) * bins..][..bins].iter().copied();
    let swapped: Vec<u16> = (0..rows).flat_map(|r| (0..views).flat_map(move |v| row(v, r))).collect();
    let mut ct = prepared(&scan, 4);
    let expected = fitted(&mut ct, &frames, 0, 0);
    let volume = |ct: &mut Ct, from: Array| {
        ct.set_options(Options { input: InputKind::Counts, ..Options::default() }).expect("options");
        let g = ct.geometry().expect("a geometry").clone();
        let mut out = vec![f32::NAN; g.volume_shape().iter().product()];
        ct.reconstruct(from, ArrayMut::new(&mut out, g.volume_shape()).expect("a volume")).expect("success");
        out
    };
    let reference = volume(&mut ct, Array::new(&frames, scan.shape).expect("projections"));
    let mut ct = prepared(&scan, 4);
    let from = Array::of(&whole, scan.shape).expect("projections");
    assert!(ct.fit_flat_field(from, 0, &FlatFitOptions::default()) == Ok(expected.clone()), "u16");
    assert!(volume(&mut ct, from) == reference, "u16");
    let mut ct = plan(&Geometry { order: Order::Sinograms, ..geometry(scan.shape) }, Level::detect(), 2);
    take_flats(&mut ct, &scan, &up_to(4));
    let from = Array::of(&swapped, [rows, views, bins]).expect("projections");
    assert!(ct.fit_flat_field(from, 0, &FlatFitOptions::default()) == Ok(expected), "sinograms");
    assert!(volume(&mut ct, from) == reference, "sinograms");
    // A slab of few rows at a time.
    let options = ContextOptions { memory_cap: 400_000, threads: 1, ..on_processor() };
    let mut ct = Ct::new(Arc::new(Context::new(options).expect("a context")));
    ct.set_geometry(geometry(scan.shape)).expect("a geometry");
    take_flats(&mut ct, &scan, &up_to(4));
    fitted(&mut ct, &frames, 0, 0);
    ct.set_options(Options { input: InputKind::Counts, ..Options::default() }).expect("options");
    let (mut streamed, mut slabs) = (vec![f32::NAN; reference.len()], 0);
    let read = |slab: Slab| {
        let [_, n, _] = slab.shape;
        // SAFETY: as many elements as the shape says.
        let to = unsafe { std::slice::from_raw_parts_mut(slab.data.cast::<u16>(), slab.shape.iter().product()) };
        for (k, to) in to.chunks_exact_mut(bins).enumerate() {
            row(k / n, slab.first_row + k % n).zip(to).for_each(|(v, to)| *to = v);
        }
        slabs += 1;
        Ok(())
    };
    let write = |slab: Slab| {
        let n = slab.shape.iter().product();
        // SAFETY: as above.
        let from = unsafe { std::slice::from_raw_parts(slab.data.cast::<f32>(), n) };
        streamed[slab.first * bins * bins..][..n].copy_from_slice(from);
        Ok(())
    };
    ct.reconstruct_stream(isocenter::array::DType::U16, read, write).expect("success");
    let apart = streamed.iter().zip(&reference).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    // Slices are summed up together or alone: rounding of some hundred f32 of up to 0.1.
    assert!(slabs > 1 && apart < 1e-6, "{slabs} slabs, {apart:e}");
}

/// Groups at both ends, a beam that falls between them, and a monitor: components are of the groups' own strength.
#[test]
fn with_groups_and_a_monitor() {
    let scan = CLEAN;
    let ([views, rows, bins], plane) = (scan.shape, scan.shape[1] * scan.shape[2]);
    let current = |view: f64| 1.0 + 0.2 * (3.0 * view).sin();
    let strength = |at: f64| 1.0 - 0.3 * at / views as f64;
    let of_groups = [(0.0, 0.8), (views as f64, 1.3)];
    let half = scan.flats / 2;
    // Strengths of the patterns in flats of a group differ from their mean; that is a part of the group's own beam.
    let flats: Vec<f64> = scan
        .flats()
        .chunks_exact(plane)
        .enumerate()
        .flat_map(|(k, flat)| {
            let (position, monitor) = of_groups[k / half];
            flat.iter().map(move |v| DARK + (v - DARK) * strength(position) * monitor).collect::<Vec<_>>()
        })
        .collect();
    let frames: Vec<f64> = scan
        .frames()
        .chunks_exact(plane)
        .enumerate()
        .flat_map(|(k, frame)| {
            let at = k as f64 + 0.5;
            frame.iter().map(move |v| DARK + (v - DARK) * strength(at) * current(at)).collect::<Vec<_>>()
        })
        .collect();
    let options = FlatFieldOptions {
        groups: of_groups.map(|(position, monitor)| FlatGroup { frames: half, position, monitor }).to_vec(),
        monitor: (0..views).map(|v| current(v as f64 + 0.5)).collect(),
        ..up_to(3)
    };
    let (flats, dark, frames) = (singles(&flats), vec![DARK as f32; plane], singles(&frames));
    let mut ct = plan(&geometry(scan.shape), Level::detect(), 2);
    let (f, d) = (Array::new(&flats, [scan.flats, rows, bins]), Array::new(&dark, [1, rows, bins]));
    ct.set_flat_field_by(Some(f.expect("flats")), Some(d.expect("darks")), &options).expect("a flat field");
    ct.set_options(Options { filter: Filter::None, input: InputKind::Counts, ..Options::default() }).expect("options");
    let fit = fitted(&mut ct, &frames, 0, 0);
    assert_eq!(fit.explained.len(), 2);
    let seen = transmissions(&mut ct, &frames);
    assert!(off(&scan, &seen) < EXACT, "{:e}", off(&scan, &seen));
    // What the flats say of strengths is what is left of them: patterns of a mean of nearly 0 change it by a part of 1 %.
    for (view, seen) in seen.chunks_exact(plane).enumerate() {
        let truth: f64 = (0..plane).map(|k| scan.transmission(view, k / bins, k % bins)).sum();
        let ratio = seen.iter().sum::<f64>() / truth;
        assert!((ratio - 1.0).abs() < 0.02, "view {view}: {ratio}");
    }
}

/// Bad pixels have no part in components and fits, whatever is in them.
#[test]
fn bad_pixels_are_left_out() {
    let scan = CLEAN;
    let [_, rows, bins] = scan.shape;
    let (mut flats, mut frames) = (singles(&scan.flats()), singles(&scan.frames()));
    let spoilt = [5 * bins + 7, 5 * bins + 8, 30 * bins + 59];
    for (n, at) in (0..flats.len()).step_by(rows * bins).flat_map(|first| spoilt.map(|k| first + k)).enumerate() {
        flats[at] = if n % 3 == 0 { 300.0 * (n % 7) as f32 } else { 0.0 };
    }
    for at in (0..frames.len()).step_by(rows * bins).flat_map(|first| spoilt.map(|k| first + k)) {
        frames[at] = 60_000.0;
    }
    let mut ct = plan(&geometry(scan.shape), Level::detect(), 2);
    let options = FlatFieldOptions { bad_pixels: Some(10.0), ..up_to(3) };
    let (f, dark) = (Array::new(&flats, [scan.flats, rows, bins]).expect("flats"), vec![DARK as f32; rows * bins]);
    let d = Array::new(&dark, [1, rows, bins]).expect("darks");
    ct.set_flat_field_by(Some(f), Some(d), &options).expect("a flat field");
    ct.set_options(Options { filter: Filter::None, input: InputKind::Counts, ..Options::default() }).expect("options");
    assert_eq!(ct.info().expect("facts").bad_pixels, spoilt.len());
    let fit = fitted(&mut ct, &frames, 0, 1);
    assert_eq!(fit.explained.len(), 2);
    let mut seen = transmissions(&mut ct, &frames);
    for (view, seen) in seen.chunks_exact_mut(rows * bins).enumerate() {
        // As strong as the view's others.
        let strength = seen[0] / scan.transmission(view, 0, 0);
        spoilt.iter().for_each(|k| seen[*k] = strength * scan.transmission(view, k / bins, k % bins));
    }
    assert!(off(&scan, &seen) < EXACT, "{:e}", off(&scan, &seen));
}

/// Flats that differ by noise alone have no components, and nothing has to be fitted.
#[test]
fn noise_has_no_components() {
    for (shape, n) in [([3, 40, 60], 12), ([3, 1, 300], 30), ([3, 8, 9], 90)] {
        let mut ct = plan(&geometry(shape), Level::detect(), 2);
        let [_, rows, bins] = shape;
        let flats: Vec<f32> = crate::common::random(n * rows * bins, 5).iter().map(|v| 1000.0 + 30.0 * v).collect();
        let flats = Array::new(&flats, [n, rows, bins]).expect("flats");
        ct.set_flat_field_by(Some(flats), None, &up_to(5)).expect("a flat field");
        let raw = counts(shape, 3);
        let from = Array::of(&raw, shape).expect("projections");
        let mut out = vec![0.0; raw.len()];
        ct.filter(from, ArrayMut::new(&mut out, shape).expect("projections")).expect("no fit is needed");
        let fit = ct.fit_flat_field(from, 0, &FlatFitOptions::default()).expect("nothing to do");
        assert!(fit.explained.is_empty() && fit.weights.is_empty(), "{shape:?}");
    }
}

#[test]
fn views_without_a_fit_are_named() {
    let frames = singles(&CLEAN.frames());
    let plane = CLEAN.shape[1] * CLEAN.shape[2];
    let mut ct = prepared(&CLEAN, 2);
    let missing = |ct: &mut Ct| line_integrals(ct, &frames).expect_err("no fit");
    let said = missing(&mut ct);
    assert!(said.status == Status::FlatField && said.message.contains("views[0]"), "{said}");
    fitted(&mut ct, &frames[..3 * plane], 0, 0);
    fitted(&mut ct, &frames[5 * plane..], 5, 0);
    assert!(missing(&mut ct).message.contains("views[3]"));
    fitted(&mut ct, &frames[3 * plane..5 * plane], 3, 0);
    line_integrals(&mut ct, &frames).expect("all views");
    take_flats(&mut ct, &CLEAN, &up_to(2));
    assert!(missing(&mut ct).message.contains("views[0]"), "flats anew");
    let mut plain = prepared(&CLEAN, 0);
    let from = Array::new(&frames, CLEAN.shape).expect("projections");
    let said = plain.fit_flat_field(from, 0, &FlatFitOptions::default()).expect_err("no components");
    assert!(said.status == Status::FlatField && said.message.contains("eigenflats"), "{said}");
}

#[test]
fn bad_values_are_named_or_replaced() {
    let [_, rows, bins] = CLEAN.shape;
    let mut frames = singles(&CLEAN.frames());
    let plane = rows * bins;
    frames[8 * plane + 9 * bins + 10] = f32::NAN;
    frames[7 * plane + 11 * bins + 12] = f32::INFINITY;
    let mut ct = prepared(&CLEAN, 2);
    let from = Array::new(&frames[2 * plane..], [10, rows, bins]).expect("projections");
    let said = ct.fit_flat_field(from, 2, &FlatFitOptions::default()).expect_err("not finite");
    assert!(said.status == Status::NotFiniteData && said.message.contains("projections[5, 11, 12] is inf"), "{said}");
    let options = ContextOptions { nan_policy: NanPolicy::Replace, ..on_processor() };
    let mut ct = Ct::new(Arc::new(Context::new(options).expect("a context")));
    ct.set_geometry(geometry(CLEAN.shape)).expect("a geometry");
    take_flats(&mut ct, &CLEAN, &up_to(2));
    fitted(&mut ct, &frames, 0, 1);
    let mut seen = transmissions(&mut ct, &frames);
    for at in [8 * plane + 9 * bins + 10, 7 * plane + 11 * bins + 12] {
        assert_eq!(seen[at], 1.0);
        seen[at] = CLEAN.transmission(at / plane, at % plane / bins, at % bins);
    }
    // A pixel of 2400 that is as bright as the beam moves weights by its part of the variation, 1e-3 or so, of patterns of 0.03.
    assert!(off(&CLEAN, &seen) < 1e-4, "{:e}", off(&CLEAN, &seen));
}

/// What the refusal asks for is enough, and gives what all memory gives.
#[test]
fn memory_is_asked_for() {
    let frames = singles(&CLEAN.frames());
    let expected = fitted(&mut prepared(&CLEAN, 2), &frames, 0, 0);
    let fit = |memory_cap: u64| {
        let options = ContextOptions { memory_cap, threads: 4, ..on_processor() };
        let mut ct = Ct::new(Arc::new(Context::new(options).expect("a context")));
        ct.set_geometry(geometry(CLEAN.shape)).expect("a geometry");
        take_flats(&mut ct, &CLEAN, &up_to(2));
        let from = Array::new(&frames, CLEAN.shape).expect("projections");
        ct.fit_flat_field(from, 0, &FlatFitOptions::default())
    };
    let said = fit(1000).expect_err("too little");
    assert_eq!(said.status, Status::MemoryCap);
    let needed = said.message.rsplit(' ').next().and_then(|bytes| bytes.parse().ok()).expect("a number");
    assert!(fit(needed) == Ok(expected));
    assert_eq!(fit(needed - 1).map_err(|e| e.status), Err(Status::MemoryCap));
}

#[test]
fn a_cancelled_fit_changes_nothing() {
    let seen = Arc::new(AtomicUsize::new(0));
    let calls = seen.clone();
    let progress = move |_, _| calls.fetch_add(1, Relaxed) == 0;
    let options = ContextOptions { progress: Some(Box::new(progress)), ..on_processor() };
    let mut ct = Ct::new(Arc::new(Context::new(options).expect("a context")));
    ct.set_geometry(geometry(CLEAN.shape)).expect("a geometry");
    take_flats(&mut ct, &CLEAN, &up_to(2));
    let frames = singles(&CLEAN.frames());
    let from = Array::new(&frames, CLEAN.shape).expect("projections");
    let said = ct.fit_flat_field(from, 0, &FlatFitOptions::default()).expect_err("cancelled");
    assert_eq!((said.status, seen.load(Relaxed)), (Status::Cancelled, 1));
    assert!(line_integrals(&mut ct, &frames).expect_err("no fit").message.contains("views[0]"));
    fitted(&mut ct, &frames, 0, 0);
    line_integrals(&mut ct, &frames).expect("a fit");
}
