//! Flats that drift: components of flats, and the beam of each view fitted by them, against plain f64 versions.

use crate::common::drift::{AMPLITUDES, DARK, Drifting, binned, components, variation};
use crate::common::{on_processor, plan};
use isocenter::array::{Array, ArrayMut};
use isocenter::cpu::level::Level;
use isocenter::ct::{Ct, Filter, FlatFieldOptions, FlatFit, FlatFitOptions, Geometry, InputKind, Options};
use std::f64::consts::PI;

fn geometry([views, rows, bins]: [usize; 3]) -> Geometry {
    Geometry::new((0..views).map(|v| PI * v as f64 / views as f64).collect(), bins).with_rows(rows)
}

fn singles(values: &[f64]) -> Vec<f32> {
    values.iter().map(|v| *v as f32).collect()
}

/// A plan with the scan's flats and so many components at most.
fn prepared(scan: &Drifting, eigenflats: usize, level: Level, threads: usize) -> Ct {
    let [_, rows, bins] = scan.shape;
    let mut ct = plan(&geometry(scan.shape), level, threads);
    let (flats, dark) = (singles(&scan.flats()), vec![DARK as f32; rows * bins]);
    let options = FlatFieldOptions { eigenflats, ..FlatFieldOptions::default() };
    let flats = Array::new(&flats, [scan.flats, rows, bins]).expect("flats");
    let dark = Array::new(&dark, [1, rows, bins]).expect("darks");
    ct.set_flat_field_by(Some(flats), Some(dark), &options).expect("a flat field");
    ct.set_options(Options { filter: Filter::None, input: InputKind::Counts, ..Options::default() }).expect("options");
    ct
}

fn fitted(ct: &mut Ct, frames: &[f32], first: usize, binning: usize) -> FlatFit {
    let g = ct.geometry().expect("a geometry");
    let shape = [frames.len() / g.rows / g.bins, g.rows, g.bins];
    let frames = Array::new(frames, shape).expect("projections");
    ct.fit_flat_field(frames, first, &FlatFitOptions { binning }).expect("a fit")
}

/// Transmissions as the plan corrects them.
fn transmissions(ct: &mut Ct, frames: &[f32]) -> Vec<f64> {
    let shape = ct.geometry().expect("a geometry").projection_shape();
    let mut out = vec![f32::NAN; frames.len()];
    let (from, to) = (Array::new(frames, shape), ArrayMut::new(&mut out, shape));
    ct.filter(from.expect("projections"), to.expect("line integrals")).expect("success");
    out.iter().map(|v| f64::from(-v).exp()).collect()
}

/// Root mean square of what transmissions are off, each view's scale apart.
fn off(scan: &Drifting, seen: &[f64]) -> f64 {
    let [_, rows, bins] = scan.shape;
    let square: f64 = seen
        .chunks_exact(rows * bins)
        .enumerate()
        .map(|(view, seen)| {
            let ratio: Vec<f64> =
                (0..rows * bins).map(|k| seen[k] / scan.transmission(view, k / bins, k % bins)).collect();
            let mean = ratio.iter().sum::<f64>() / ratio.len() as f64;
            ratio.iter().map(|v| (v / mean - 1.0).powi(2)).sum::<f64>()
        })
        .sum();
    (square / seen.len() as f64).sqrt()
}

#[test]
fn beams_of_views_are_found() {
    let scan = Drifting { shape: [12, 40, 60], flats: 8, noise: 0.0 };
    let frames = singles(&scan.frames());
    let mut ct = prepared(&scan, 5, Level::detect(), 2);
    let fit = fitted(&mut ct, &frames, 0, 0);
    println!("{:?} {:?}", fit.explained, fit.variation);
    let after = off(&scan, &transmissions(&mut ct, &frames));
    let mut plain = prepared(&scan, 0, Level::detect(), 2);
    let before = off(&scan, &transmissions(&mut plain, &frames));
    println!("{before} {after}");
    assert_eq!(fit.explained.len(), 2);
    let _ = (AMPLITUDES, on_processor, binned, components, variation);
}
