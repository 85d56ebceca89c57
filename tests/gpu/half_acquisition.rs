//! Half acquisition on a GPU against the processor, whose tests stand behind that.

use super::common::stripes::{blobs, striped};
use super::{cpu, gpu, gpu_with};
use isocenter::array::{Array, ArrayMut, DType};
use isocenter::context::{Context, ContextOptions};
use isocenter::ct::{
    Ct, Geometry, HalfAcquisition, Interpolation, Options, Order, Output, Padding, Rise, Slab, Stripes, Window,
};
use std::f64::consts::TAU;
use std::sync::Arc;

const ALL: HalfAcquisition = HalfAcquisition { overlap: 0.0, rise: Rise::Smooth };

fn geometry(views: usize, bins: usize, axis: f64) -> Geometry {
    let angles = (0..views).map(|v| TAU * v as f64 / views as f64 + 0.1).collect();
    let mut g = Geometry::new(angles, bins).with_rows(7);
    (g.axis, g.nx, g.ny, g.first_row, g.slices) = (vec![axis], 2 * bins - 11, 2 * bins - 20, 1, 5);
    g
}

/// Both edges, beyond one, one axis a view; more bins than a block has threads.
fn cases() -> Vec<(Geometry, HalfAcquisition)> {
    let g = geometry(90, 130, 12.4);
    let wobbling = Geometry { axis: (0..90).map(|v| 117.2 + 3.0 * (0.9 * f64::from(v)).sin()).collect(), ..g.clone() };
    vec![
        (g, ALL),
        (wobbling, HalfAcquisition { overlap: 16.5, rise: Rise::Linear }),
        (geometry(61, 131, 133.0), ALL),
        (geometry(61, 131, 126.3), ALL),
        (geometry(40, 300, 30.0), HalfAcquisition { overlap: 31.0, rise: Rise::Smooth }),
    ]
}

/// Rows of which each is another one, in the geometry's order.
fn scan(g: &Geometry) -> Vec<f32> {
    let (views, bins) = (g.views(), g.bins);
    let sinograms: Vec<_> = (0..g.rows as u64).map(|r| striped(&blobs(views, bins, r), bins)).collect();
    let mut all = Vec::new();
    for i in 0..g.rows * views {
        let (row, view) = if g.order == Order::Sinograms { (i / views, i % views) } else { (i % g.rows, i / g.rows) };
        all.extend_from_slice(&sinograms[row][view * bins..][..bins]);
    }
    all
}

fn plan(context: &Arc<Context>, g: &Geometry, half: HalfAcquisition, options: &Options) -> Ct {
    let mut ct = Ct::new(context.clone());
    ct.set_geometry(g.clone()).expect("a geometry");
    ct.set_options(options.clone()).expect("options");
    ct.set_half_acquisition(Some(half)).expect("half acquisition");
    ct
}

type Operator = fn(&mut Ct, Array, ArrayMut) -> isocenter::error::Result<()>;

fn volume(ct: &mut Ct, run: Operator, data: Array) -> Vec<f32> {
    let shape = ct.geometry().expect("a geometry").volume_shape();
    let mut out = vec![f32::NAN; shape.iter().product()];
    run(ct, data, ArrayMut::new(&mut out, shape).expect("a volume")).expect("success");
    out
}

fn reconstructed(ct: &mut Ct, data: &[f32]) -> Vec<f32> {
    let shape = ct.geometry().expect("a geometry").projection_shape();
    volume(ct, Ct::reconstruct, Array::new(data, shape).expect("projections"))
}

/// Largest difference over the largest value.
fn off(seen: &[f32], expected: &[f32]) -> f32 {
    let largest = expected.iter().fold(0.0f32, |m, v| m.max(v.abs()));
    assert_eq!(seen.len(), expected.len());
    seen.iter().zip(expected).map(|(a, b)| (a - b).abs()).fold(0.0, |m, d| if d <= m { m } else { d }) / largest
}

/// Texture-free kernels in f32 and transforms differ by rounding, as without: 1e-5 of the largest value; band-limited sums by twice their
/// tolerance of the l2 norm, which a pixel may have more than its share of.
#[test]
fn halves_are_joined_as_on_the_processor() {
    let Some(gpu) = gpu() else { return };
    for (g, half) in cases() {
        for order in [Order::Frames, Order::Sinograms] {
            let g = Geometry { order, ..g.clone() };
            let data = scan(&g);
            for interpolation in [Interpolation::Linear, Interpolation::BandLimited] {
                for padding in [Padding::Zero, Padding::Edge] {
                    let options = Options { interpolation, padding, tolerance: 1e-5, ..Options::default() };
                    for stripes in [None, Some(Stripes::Sorting(9))] {
                        let run = |context: &Arc<Context>| {
                            let mut ct = plan(context, &g, half, &options);
                            ct.set_stripes(stripes.clone()).expect("stripes");
                            reconstructed(&mut ct, &data)
                        };
                        let (seen, expected) = (run(&gpu), run(&cpu()));
                        let off = off(&seen, &expected);
                        let what = format!("{:?}, {order:?}, {interpolation:?}, {padding:?}", g.axis[0]);
                        assert!(off < 1e-4, "{what}, {stripes:?}: {off:e}");
                    }
                }
            }
        }
    }
}

/// Tables are those of the rows at hand: calls that take the detector's rows, and those that take widened ones, on one plan in turns.
#[test]
fn calls_take_turns() {
    let Some(gpu) = gpu() else { return };
    let (g, half) = cases().swap_remove(0);
    let data = scan(&g);
    for interpolation in [Interpolation::Linear, Interpolation::BandLimited] {
        let options = Options { interpolation, ..Options::default() };
        let run = |context: &Arc<Context>, half: Option<HalfAcquisition>| {
            let mut ct = plan(context, &g, ALL, &options);
            let mut results = Vec::new();
            for half in [half, None, half] {
                ct.set_half_acquisition(half).expect("half acquisition");
                results.push(reconstructed(&mut ct, &data));
                let from = Array::new(&data, g.projection_shape()).expect("projections");
                results.push(volume(&mut ct, Ct::backproject, from));
                // Rows that are not used stay.
                let mut out = vec![0.0; data.len()];
                ct.filter(from, ArrayMut::new(&mut out, g.projection_shape()).expect("projections")).expect("success");
                results.push(out);
                results.push(reconstructed(&mut ct, &data));
            }
            results
        };
        for (k, (seen, expected)) in run(&gpu, Some(half)).iter().zip(&run(&cpu(), Some(half))).enumerate() {
            let off = off(seen, expected);
            assert!(off < 2e-3, "{interpolation:?}, call {k}: {off:e}");
        }
    }
}

/// Counts under a flat field, from array to array, to bytes, and by callbacks in small slabs.
#[test]
fn counts_streams_and_bytes() {
    let Some(gpu) = gpu() else { return };
    let (g, half) = cases().swap_remove(1);
    let counts: Vec<u16> = scan(&g).iter().map(|p| (100.0 + 3e4 * (-0.1 * p).exp()).round() as u16).collect();
    let (flat, dark) = (vec![30_100u16; g.rows * g.bins], vec![100u16; g.rows * g.bins]);
    let options = Options::default();
    let make = |context: &Arc<Context>| {
        let mut ct = plan(context, &g, half, &options);
        let [flat, dark] = [&flat, &dark].map(|a| Array::of(a, [1, g.rows, g.bins]).expect("frames"));
        ct.set_flat_field(Some(flat), Some(dark)).expect("a flat field");
        ct
    };
    let from = Array::of(&counts, g.projection_shape()).expect("projections");
    let expected = volume(&mut make(&cpu()), Ct::reconstruct, from);
    let mut ct = make(&gpu);
    let whole = volume(&mut ct, Ct::reconstruct, from);
    assert!(off(&whole, &expected) < 1e-4, "{:e}", off(&whole, &expected));

    let cap = ct.memory().expect("a figure") * 2 / 3;
    let capped = gpu_with(ContextOptions { gpu_memory_cap: cap, ..ContextOptions::default() }).expect("there was one");
    let mut ct = make(&capped);
    assert!(ct.memory().expect("a figure") <= cap, "{cap}");
    let mut streamed = vec![f32::NAN; whole.len()];
    let read = |slab: Slab| {
        for v in 0..g.views() {
            let from = &counts[(v * g.rows + g.first_row + slab.first) * g.bins..][..slab.count * g.bins];
            // SAFETY: the slab's array, (views, count, bins) of u16.
            unsafe {
                let to = slab.data.cast::<u16>().add(v * slab.count * g.bins);
                to.copy_from_nonoverlapping(from.as_ptr(), from.len());
            }
        }
        Ok(())
    };
    let write = |slab: Slab| {
        let n = g.nx * g.ny;
        // SAFETY: the slab's array, (count, ny, nx) of f32.
        let slices = unsafe { std::slice::from_raw_parts(slab.data.cast::<f32>(), slab.count * n) };
        streamed[slab.first * n..][..slices.len()].copy_from_slice(slices);
        Ok(())
    };
    ct.reconstruct_stream(DType::U16, read, write).expect("success");
    assert!(off(&streamed, &whole) < 1e-4, "{:e}", off(&streamed, &whole));

    let mut ct = make(&gpu);
    let window = Some(Window::Percentiles { low: 0.5, high: 99.5, slices: None });
    ct.set_output(Output { dtype: DType::U8, window, ..Output::default() }).expect("an output");
    let mut bytes = vec![0u8; whole.len()];
    ct.reconstruct(from, ArrayMut::of(&mut bytes, g.volume_shape()).expect("a volume")).expect("success");
    let [low, high] = ct.written().expect("written").window.expect("a window");
    for (b, v) in bytes.iter().zip(&whole) {
        let exact = ((f64::from(*v) - low) / (high - low) * 255.0).clamp(0.0, 255.0);
        assert!((f64::from(*b) - exact).abs() <= 0.51, "{b} of {exact}");
    }
}
