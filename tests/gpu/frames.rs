//! What is done to raw frames, on a GPU against the processor, whose tests stand behind that.

use super::common::drift::Drifting;
use super::common::frames::counts;
use super::common::random;
use super::memory::OnGpu;
use super::{cpu, gpu, gpu_with};
use isocenter::array::{Array, ArrayMut, DType};
use isocenter::context::{Context, ContextOptions, NanPolicy};
use isocenter::ct::{
    Ct, Filter, FlatFieldOptions, FlatFitOptions, FlatGroup, Geometry, InputKind, Options, Order, OutlierSide,
    OutlierUnit, Outliers,
};
use std::f64::consts::PI;
use std::sync::Arc;

const USUAL: Outliers =
    Outliers { window: 3, depth: 3, unit: OutlierUnit::Noise, threshold: 10.0, side: OutlierSide::Bright };

/// What is done to a scan of (views, rows, bins) with two flats.
struct Scan {
    geometry: Geometry,
    flats: Vec<f32>,
    options: FlatFieldOptions,
    outliers: Option<Outliers>,
}

impl Scan {
    fn new([views, rows, bins]: [usize; 3]) -> Self {
        let angles = (0..views).map(|v| PI * v as f64 / views as f64).collect();
        let flats = random(2 * rows * bins, 4).iter().map(|v| 5000.0 + 300.0 * v).collect();
        let geometry = Geometry::new(angles, bins).with_rows(rows);
        Self { geometry, flats, options: FlatFieldOptions::default(), outliers: None }
    }

    /// The beam falls during the scan, and some pixels are dead.
    fn varied(mut self) -> Self {
        let views = self.geometry.views();
        self.flats.iter_mut().step_by(97).for_each(|v| *v = 7.0);
        let group = |position: f64, monitor: f64| FlatGroup { frames: 1, position, monitor };
        self.options = FlatFieldOptions {
            groups: vec![group(0.0, 1.0), group(views as f64 * 0.8, 0.9)],
            monitor: (0..views).map(|v| 1.0 - 0.001 * v as f64).collect(),
            bad_pixels: Some(20.0),
            ..FlatFieldOptions::default()
        };
        self
    }

    fn plan(&self, context: &Arc<Context>) -> Ct {
        let g = &self.geometry;
        let mut ct = Ct::new(context.clone());
        ct.set_geometry(g.clone()).expect("a geometry");
        ct.set_options(Options { filter: Filter::None, input: InputKind::Counts, ..Options::default() })
            .expect("options");
        let flats = Array::new(&self.flats, [2, g.rows, g.bins]).expect("flats");
        ct.set_flat_field_by(Some(flats), None, &self.options).expect("a flat field");
        ct.set_outliers(self.outliers.clone()).expect("outliers");
        ct
    }

    /// Line integrals, and how many outliers and replaced values there were.
    fn run(&self, context: &Arc<Context>, raw: Array) -> (Vec<f32>, u64, u64) {
        let mut ct = self.plan(context);
        let mut out = vec![0.0; raw.shape().iter().product()];
        let to = ArrayMut::new(&mut out, raw.shape()).expect("projections");
        ct.filter(raw, to).expect("success");
        let info = ct.info().expect("facts");
        (out, info.outliers, info.replaced)
    }
}

/// Medians are values of the data. Quotient and logarithm are f32 on both, of values up to 6: 1e-6.
fn check(seen: &(Vec<f32>, u64, u64), expected: &(Vec<f32>, u64, u64), what: &str) {
    let off = seen.0.iter().zip(&expected.0).map(|(a, b)| (a - b).abs()).fold(0.0, |m, d| if d <= m { m } else { d });
    assert!(off < 3e-6, "{what}: {off:e}");
    assert_eq!((seen.1, seen.2), (expected.1, expected.2), "{what}: outliers and replaced values");
}

/// Eigenflats with groups, a monitor, bad pixels and outliers: fitted on the processor either way, from frames in host memory, and on the
/// GPU, where the same bits come of them.
#[test]
fn eigenflats_as_on_the_processor() {
    let Some(gpu) = gpu() else { return };
    let scan = Drifting { shape: [10, 30, 70], flats: 9, noise: [0.5, 1.0] };
    let ([views, rows, bins], cpu) = (scan.shape, cpu());
    let flats: Vec<f32> = scan.flats().iter().map(|v| *v as f32).collect();
    let frames: Vec<u16> = scan.frames().iter().map(|v| *v as u16).collect();
    let angles = (0..views).map(|v| PI * v as f64 / views as f64).collect();
    let row = |v: usize, r: usize| frames[(v * rows + r) * bins..][..bins].iter().copied();
    let swapped: Vec<u16> = (0..rows).flat_map(|r| (0..views).flat_map(move |v| row(v, r))).collect();
    let group = |frames: usize, position: f64, monitor: f64| FlatGroup { frames, position, monitor };
    let usual = FlatFieldOptions { eigenflats: 4, ..FlatFieldOptions::default() };
    let varied = FlatFieldOptions {
        groups: vec![group(5, 0.0, 1.0), group(4, 8.0, 0.9)],
        monitor: (0..views).map(|v| 1.0 - 0.01 * v as f64).collect(),
        bad_pixels: Some(20.0),
        ..usual.clone()
    };
    for order in [Order::Frames, Order::Sinograms] {
        let g = Geometry { order, ..Geometry::new(Vec::clone(&angles), bins).with_rows(rows) };
        let values = if order == Order::Frames { &frames } else { &swapped };
        let shape = g.projection_shape();
        for (options, outliers, first_row) in
            [(&usual, None, 0), (&usual, Some(USUAL), 0), (&varied, None, 0), (&varied, Some(USUAL), 7)]
        {
            let run = |context: &Arc<Context>, on_gpu: bool| {
                let mut ct = Ct::new(context.clone());
                let slices = rows - first_row;
                ct.set_geometry(Geometry { first_row, slices, ..g.clone() }).expect("a geometry");
                ct.set_options(Options { filter: Filter::None, ..Options::default() }).expect("options");
                let flats = Array::new(&flats, [scan.flats, rows, bins]).expect("flats");
                ct.set_flat_field_by(Some(flats), None, options).expect("a flat field");
                ct.set_outliers(outliers.clone()).expect("outliers");
                let host = Array::of(values, shape).expect("projections");
                let mut out = vec![0.0; values.len()];
                let to = ArrayMut::new(&mut out, shape).expect("projections");
                let said = ct.filter(host, to).expect_err("no fit");
                assert!(said.message.contains("views[0]"), "{said}");
                let copy = on_gpu.then(|| OnGpu::new(values));
                let strides = [(shape[1] * shape[2]) as isize, shape[2] as isize, 1];
                let from = match &copy {
                    None => host,
                    // SAFETY: as many elements as were copied there.
                    Some(copy) => unsafe {
                        Array::from_raw(copy.address as *const u8, DType::U16, shape, strides, Some(0))
                    },
                };
                let fit = ct.fit_flat_field(from, 0, &FlatFitOptions::default()).expect("a fit");
                let to = ArrayMut::new(&mut out, shape).expect("projections");
                ct.filter(host, to).expect("success");
                let info = ct.info().expect("facts");
                (fit, (out, info.outliers, info.replaced))
            };
            let (expected_fit, expected) = run(&cpu, false);
            assert!(!expected_fit.weights.is_empty());
            for on_gpu in [false, true] {
                let (fit, seen) = run(&gpu, on_gpu);
                assert!(fit == expected_fit, "{order:?}, {options:?}, on the GPU {on_gpu}");
                check(&seen, &expected, &format!("{order:?}, {options:?}, {outliers:?}, on the GPU {on_gpu}"));
            }
        }
    }
}

/// Planes of components, and what views take of them.
#[test]
fn eigenflats_are_counted_in_memory() {
    let Some(gpu) = gpu() else { return };
    let scan = Drifting { shape: [10, 30, 70], flats: 9, noise: [0.0, 0.0] };
    let ([views, rows, bins], flats) = (scan.shape, scan.flats().iter().map(|v| *v as f32).collect::<Vec<_>>());
    let bytes = |eigenflats| {
        let mut ct = Ct::new(gpu.clone());
        ct.set_geometry(Geometry::new((0..views).map(|v| v as f64 * 0.3).collect(), bins).with_rows(rows))
            .expect("a geometry");
        let group = |frames: usize, position: f64| FlatGroup { frames, position, monitor: 1.0 };
        let groups = vec![group(5, 0.0), group(4, 8.0)];
        let options = FlatFieldOptions { groups, eigenflats, ..FlatFieldOptions::default() };
        let flats = Array::new(&flats, [scan.flats, rows, bins]).expect("flats");
        ct.set_flat_field_by(Some(flats), None, &options).expect("a flat field");
        ct.memory().expect("a figure")
    };
    // Two patterns, two components.
    assert_eq!(bytes(4) - bytes(0), 2 * 4 * (rows * bins + views) as u64);
}

/// Rows of an array on a GPU whose elements do not follow each other.
#[test]
fn eigenflats_from_strided_frames_on_the_gpu() {
    let Some(gpu) = gpu() else { return };
    let scan = Drifting { shape: [4, 20, 30], flats: 6, noise: [0.5, 1.0] };
    let ([views, rows, bins], flats) = (scan.shape, scan.flats().iter().map(|v| *v as f32).collect::<Vec<_>>());
    let frames: Vec<f32> = scan.frames().iter().map(|v| *v as f32).collect();
    // Every second element of rows that run backwards.
    let mut apart = vec![0.0f32; 2 * frames.len()];
    apart.iter_mut().skip(1).step_by(2).zip(frames.iter().rev()).for_each(|(to, v)| *to = *v);
    let copy = OnGpu::new(&apart);
    let fit = |from: Array| {
        let mut ct = Ct::new(gpu.clone());
        ct.set_geometry(Geometry::new((0..views).map(|v| v as f64).collect(), bins).with_rows(rows))
            .expect("a geometry");
        ct.set_options(Options { input: InputKind::Counts, ..Options::default() }).expect("options");
        let flats = Array::new(&flats, [scan.flats, rows, bins]).expect("flats");
        let options = FlatFieldOptions { eigenflats: 3, ..FlatFieldOptions::default() };
        ct.set_flat_field_by(Some(flats), None, &options).expect("a flat field");
        ct.fit_flat_field(from, 0, &FlatFitOptions::default()).expect("a fit")
    };
    let last = copy.address as usize + 4 * (apart.len() - 1);
    let strides = [rows * bins, bins, 1].map(|s| -2 * s as isize);
    // SAFETY: the elements that were copied there.
    let from = unsafe { Array::from_raw(last as *const u8, DType::F32, scan.shape, strides, Some(0)) };
    assert!(fit(from) == fit(Array::new(&frames, scan.shape).expect("projections")));
}

#[test]
fn frames_as_on_the_processor() {
    let Some(gpu) = gpu() else { return };
    let both = OutlierSide::Both;
    let all = [
        None,
        Some(USUAL),
        Some(Outliers { depth: 1, side: both, ..USUAL }),
        Some(Outliers { window: 5, side: OutlierSide::Dark, threshold: 6.0, ..USUAL }),
        Some(Outliers { window: 5, depth: 1, ..USUAL }),
        Some(Outliers { unit: OutlierUnit::Median, threshold: 0.3, side: both, ..USUAL }),
        Some(Outliers { unit: OutlierUnit::Count, threshold: 700.0, ..USUAL }),
    ];
    for (shape, order, part) in [
        ([70, 9, 300], Order::Frames, 0..9),
        ([130, 12, 61], Order::Sinograms, 3..10),
        ([1, 5, 33], Order::Frames, 0..5),
        ([65, 3, 257], Order::Frames, 1..2),
    ] {
        let raw = counts(shape, 3);
        for outliers in all.clone() {
            for varied in [true, false] {
                let mut scan = Scan::new(shape);
                if varied {
                    scan = scan.varied();
                }
                let g = &mut scan.geometry;
                (g.order, g.first_row, g.slices) = (order, part.start, part.len());
                scan.outliers = outliers.clone();
                let shape = scan.geometry.projection_shape();
                let from = || Array::of(&raw, shape).expect("counts");
                let (seen, expected) = (scan.run(&gpu, from()), scan.run(&cpu(), from()));
                check(&seen, &expected, &format!("{shape:?}, {outliers:?}, varied: {varied}"));
            }
        }
    }
}

/// NaN is counted, does not spread, and may lie in rows that are not used.
#[test]
fn no_numbers() {
    let context = ContextOptions { nan_policy: NanPolicy::Replace, ..ContextOptions::default() };
    let Some(lenient) = gpu_with(context) else { return };
    let shape = [40, 8, 50];
    let mut raw: Vec<f32> = counts(shape, 8).iter().map(|v| f32::from(*v)).collect();
    raw.iter_mut().step_by(331).for_each(|v| *v = f32::NAN);
    let mut scan = Scan::new(shape).varied();
    (scan.geometry.first_row, scan.geometry.slices) = (2, 4);
    scan.outliers = Some(USUAL);
    let processor = ContextOptions {
        compute: isocenter::context::Compute::Cpu,
        nan_policy: NanPolicy::Replace,
        ..Default::default()
    };
    let processor = Arc::new(Context::new(processor).expect("a context"));
    let from = || Array::new(&raw, shape).expect("counts");
    check(&scan.run(&lenient, from()), &scan.run(&processor, from()), "NaN");
}

/// To the bit, whatever the slabs; each outlier counts once.
#[test]
fn slabs_do_not_matter() {
    let Some(whole) = gpu() else { return };
    let shape = [30, 160, 60];
    let raw = counts(shape, 6);
    let mut scan = Scan::new(shape).varied();
    scan.outliers = Some(Outliers { window: 5, ..USUAL });
    let bytes = |context: &Arc<Context>| scan.plan(context).memory().expect("a figure");
    let cap = bytes(&whole) / 2;
    let capped = gpu_with(ContextOptions { gpu_memory_cap: cap, ..ContextOptions::default() }).expect("there was one");
    assert!(bytes(&capped) <= cap);
    let from = || Array::of(&raw, shape).expect("counts");
    assert!(scan.run(&whole, from()) == scan.run(&capped, from()));
}
