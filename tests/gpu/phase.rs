//! Phase retrieval on a GPU against the processor, whose tests stand behind that.

use super::common::frames::{counts, streamed};
use super::common::random;
use super::{cpu, gpu, gpu_with};
use isocenter::array::{Array, ArrayMut, DType};
use isocenter::context::{Context, ContextOptions};
use isocenter::ct::{
    Ct, Filter, FlatFieldOptions, Geometry, InputKind, Options, Order, OutlierSide, OutlierUnit, Outliers, Output,
    Phase, PhaseMethod, Window,
};
use std::f64::consts::PI;
use std::sync::Arc;

const PAGANIN: Phase =
    Phase { method: PhaseMethod::Paganin, fresnel: 0.1, delta_beta: 50.0, alpha: 0.01, unsharp: [0.0, 0.0] };

fn geometry([views, rows, bins]: [usize; 3]) -> Geometry {
    Geometry::new((0..views).map(|v| PI * v as f64 / views as f64).collect(), bins).with_rows(rows)
}

/// Line integrals of counts without outliers and bad pixels, and how many of the former there were.
fn run(context: &Arc<Context>, g: &Geometry, phase: &Phase, raw: &[u16]) -> (Vec<f32>, u64) {
    let mut ct = plan(context, g, phase);
    let mut out = vec![0.0; raw.len()];
    let from = Array::of(raw, g.projection_shape()).expect("counts");
    ct.filter(from, ArrayMut::new(&mut out, g.projection_shape()).expect("projections")).expect("success");
    let found = ct.info().expect("facts").outliers;
    (out, found)
}

fn plan(context: &Arc<Context>, g: &Geometry, phase: &Phase) -> Ct {
    let mut ct = Ct::new(context.clone());
    ct.set_geometry(g.clone()).expect("a geometry");
    ct.set_options(Options { filter: Filter::None, input: InputKind::Counts, ..Options::default() }).expect("options");
    // As bright as the counts without an object, so that transmissions are 0.4 to 1.1.
    let noise = random(g.rows * g.bins, 4);
    let beam = |k: usize| 2000.0 + 40.0 * (k % g.bins) as f32 + 30.0 * (k / g.bins) as f32;
    let mut flats: Vec<f32> = noise.iter().enumerate().map(|(k, v)| beam(k) * (1.0 + 0.05 * v)).collect();
    flats.iter_mut().step_by(89).for_each(|v| *v = 7.0);
    let options = FlatFieldOptions { bad_pixels: Some(20.0), ..FlatFieldOptions::default() };
    let flats = Array::new(&flats, [1, g.rows, g.bins]).expect("flats");
    ct.set_flat_field_by(Some(flats), None, &options).expect("a flat field");
    let (unit, side) = (OutlierUnit::Noise, OutlierSide::Both);
    ct.set_outliers(Some(Outliers { window: 5, depth: 3, unit, threshold: 8.0, side })).expect("outliers");
    ct.set_phase(Some(*phase)).expect("phase");
    ct
}

fn worst(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, |m, d| if d <= m { m } else { d })
}

/// Transforms have other lengths, and kernels leave 1e-6 of a step (0.7 at most) beyond their margins on each of four sides, which an unsharp mask
/// of 1 doubles, and the logarithm of a transmission of 0.4 makes 1.4e-5; rounding is less. The contrast
/// transfer function leaves 1e-5, and has no logarithm: 2.8e-5.
#[test]
fn phase_as_on_the_processor() {
    let Some(gpu) = gpu() else { return };
    let ctf = Phase { method: PhaseMethod::Ctf, fresnel: 0.7, ..PAGANIN };
    for (shape, order, part) in [
        ([70, 40, 300], Order::Frames, 0..40),
        ([131, 33, 61], Order::Sinograms, 6..25),
        ([1, 5, 33], Order::Frames, 0..5),
        ([3, 20, 4500], Order::Frames, 2..20),
    ] {
        let raw = counts(shape, 3);
        for phase in [PAGANIN, Phase { unsharp: [1.5, 1.0], ..PAGANIN }, ctf] {
            let g = Geometry { order, first_row: part.start, slices: part.len(), ..geometry(shape) };
            let (seen, expected) = (run(&gpu, &g, &phase, &raw), run(&cpu(), &g, &phase, &raw));
            let off = worst(&seen.0, &expected.0);
            let most = if phase.method == PhaseMethod::Ctf { 3e-5 } else { 1.5e-5 };
            assert!(off < most, "{shape:?}, {phase:?}: {off:e}");
            assert_eq!(seen.1, expected.1, "outliers");
        }
    }
}

/// As above.
#[test]
fn slabs_do_not_matter() {
    let Some(whole) = gpu() else { return };
    let g = geometry([64, 230, 100]);
    let raw = counts([64, 230, 100], 6);
    let phase = Phase { fresnel: 0.02, ..PAGANIN };
    let bytes = |context: &Arc<Context>| plan(context, &g, &phase).memory().expect("a figure");
    let cap = bytes(&whole) * 2 / 3;
    let capped = gpu_with(ContextOptions { gpu_memory_cap: cap, ..ContextOptions::default() }).expect("there was one");
    assert!(bytes(&capped) <= cap);
    let (seen, expected) = (run(&capped, &g, &phase, &raw), run(&whole, &g, &phase, &raw));
    let off = worst(&seen.0, &expected.0);
    assert!(off < 1.5e-5, "{off:e}");
    assert_eq!(seen.1, expected.1, "each outlier counts once");
}

/// What a stream with little host memory makes, whose slabs lie on the GPU: each row is read once, in order, in parts that are smaller than a
/// slab with its rows beside. Sums over views, weighted by pi over their number, of what is off as above: 4.7e-5, and rounding of values of 3.
#[test]
fn rows_beside_slabs_are_read_once() {
    let Some(whole) = gpu() else { return };
    let options = ContextOptions { memory_cap: 1 << 20, ..ContextOptions::default() };
    let capped = gpu_with(options).expect("there was one");
    let phase = Phase { fresnel: 0.02, ..PAGANIN };
    for (order, part) in [(Order::Frames, 0..600), (Order::Sinograms, 37..541)] {
        let g = Geometry { order, first_row: part.start, slices: part.len(), ..geometry([24, 600, 64]) };
        let raw = counts([24, 600, 64], 6);
        let from = || Array::of(&raw, g.projection_shape()).expect("counts");
        let shape = g.volume_shape();
        let mut expected = vec![0.0; shape.iter().product()];
        let mut reference = plan(&whole, &g, &phase);
        reference.reconstruct(from(), ArrayMut::new(&mut expected, shape).expect("a volume")).expect("success");
        let mut ct = plan(&capped, &g, &phase);
        let (seen, asked) = streamed(&mut ct, DType::U16, &raw).expect("success");
        let off = worst(&seen, &expected);
        assert!(off < 5e-5, "{order:?}: {off:e}");
        assert_eq!(ct.info().expect("facts").outliers, reference.info().expect("facts").outliers, "each counts once");
        let mut next = asked[0][1];
        assert!(asked.len() > 3 && next < part.start.max(1), "{asked:?}");
        for [_, row, rows] in asked {
            assert_eq!(row, next, "rows after those that were read");
            next = row + rows;
        }
        assert!(next > part.end || next == 600, "{next}");

        // Slices that percentiles are taken of are a pass of their own.
        let window = Some(Window::Percentiles { low: 1.0, high: 99.0, slices: Some(5) });
        let output = Output { dtype: DType::U8, window, ..Output::default() };
        for ct in [&mut ct, &mut reference] {
            ct.set_output(output.clone()).expect("an output");
        }
        let mut expected = vec![0u8; expected.len()];
        reference.reconstruct(from(), ArrayMut::of(&mut expected, shape).expect("a volume")).expect("success");
        let (bytes, written) = streamed_bytes(&mut ct, &g, &raw);
        assert_eq!(written, part.len());
        let off = bytes.iter().zip(&expected).map(|(a, b)| a.abs_diff(*b)).max();
        // Of 255 steps over a few units, a value may cross one.
        assert!(off <= Some(1), "{order:?}: {off:?}");
    }
}

/// What a stream gives in bytes, and how many slices were written.
fn streamed_bytes(ct: &mut Ct, g: &Geometry, raw: &[u16]) -> (Vec<u8>, usize) {
    let area = g.nx * g.ny;
    let (mut out, mut written) = (vec![0u8; g.slices * area], 0);
    let read = |slab: isocenter::ct::Slab| {
        let rows = if g.order == Order::Frames { slab.shape[1] } else { slab.shape[0] };
        // SAFETY: the slab's array of u16.
        let to = unsafe { std::slice::from_raw_parts_mut(slab.data.cast::<u16>(), slab.shape.iter().product()) };
        for (v, r) in (0..g.views()).flat_map(|v| (0..rows).map(move |r| (v, r))) {
            let (from, at) = match g.order {
                Order::Frames => (v * g.rows + slab.first_row + r, v * rows + r),
                Order::Sinograms => ((slab.first_row + r) * g.views() + v, r * g.views() + v),
            };
            to[at * g.bins..][..g.bins].copy_from_slice(&raw[from * g.bins..][..g.bins]);
        }
        Ok(())
    };
    let write = |slab: isocenter::ct::Slab| {
        // SAFETY: the slab's array of bytes.
        let from = unsafe { std::slice::from_raw_parts(slab.data, slab.count * area) };
        out[slab.first * area..][..from.len()].copy_from_slice(from);
        written += slab.count;
        Ok(())
    };
    ct.reconstruct_stream(DType::U16, read, write).expect("success");
    (out, written)
}
