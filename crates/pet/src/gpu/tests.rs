//! The engine on a GPU against plain sums in f64.

use super::engine::GpuEngine;
use crate::cases::{dot, largest, lattices, noise, plain, responses, variant, view};
use crate::engine::{Engine, Method, Projector, Ratio, Scan, Tally};
use crate::histos::Histos;
use crate::lattice::Lattice;
use crate::response::{Cut, Radial, Response, Shape};
use crate::tables::Tables;
use crate::values::Sign;
use crate::view::View;
use isocenter_base::array::{Array, ArrayMut, DType, Layout};
use isocenter_base::context::{Compute, Context, ContextOptions, NanPolicy};
use isocenter_base::gpu::{Device, DeviceMemory, Rows, Stream};
use std::io::Write;
use std::sync::{Arc, Once};

/// None where there is no GPU, which it says.
pub(super) fn context(options: ContextOptions) -> Option<Arc<Context>> {
    match Context::new(ContextOptions { compute: Compute::Gpus(vec![0]), ..options }) {
        Ok(context) => Some(Arc::new(context)),
        Err(e) if std::env::var_os("ISOC_GPU_REQUIRED").is_some() => panic!("{e}"),
        Err(e) => {
            // Past the test harness, which keeps what passing tests print; once for all of them.
            static SAID: Once = Once::new();
            SAID.call_once(|| {
                let _ = writeln!(std::io::stderr(), "skipped, all PET on a GPU: {}", e.message);
            });
            None
        }
    }
}

fn scan(lattice: Lattice, views: Vec<View>, response: Option<Response>, given: Vec<Option<Tables>>) -> Scan {
    Scan { lattice, views, response, given, method: Method::default() }
}

/// Both ways to project, with expansions that err less than rounding does.
pub(super) const METHODS: [Method; 2] = [
    Method { projector: Projector::Gather, tolerance: 0.0 },
    Method { projector: Projector::Fourier, tolerance: 1e-6 },
];

fn engine(context: &Arc<Context>, lattice: Lattice, views: &[View], response: &Response, method: Method) -> GpuEngine {
    let given = views.iter().map(|_| None).collect();
    let scan = Scan { method, ..scan(lattice, views.to_vec(), Some(response.clone()), given) };
    GpuEngine::new(context, &context.gpus()[..1], scan).expect("memory")
}

pub(super) fn array<const N: usize>(values: &[f32], shape: [usize; N]) -> Array<'_, N> {
    Array::new(values, shape).expect("as many values")
}

pub(super) fn array_mut<const N: usize>(values: &mut [f32], shape: [usize; N]) -> ArrayMut<'_, N> {
    ArrayMut::new(values, shape).expect("as many values")
}

/// H volume, or H^T volume added to what is there.
fn project(context: &Arc<Context>, e: &mut GpuEngine, forward: bool, volume: &[f32], view: usize) -> Vec<f32> {
    let shape = e.scan().lattice.shape();
    let mut result = vec![0.0; volume.len()];
    e.run(context, |e, job| {
        e.prepare(context, &[view], 2, job)?;
        let from = e.read(&array(volume, shape), "volume", NanPolicy::Error, Sign::Any)?;
        let mut to = e.zeros()?;
        // What was there before must not matter.
        e.fill(&mut to, if forward { 7.0 } else { 0.0 })?;
        match forward {
            true => e.forward(view, &from, &mut to)?,
            false => e.add_adjoint(view, &from, &mut to)?,
        }
        e.write(&to, &mut array_mut(&mut result, shape))
    })
    .expect("computes");
    result
}

/// Kernels of one GPU's shared memory and those that need more, lattices with less than a thread's voxels along z.
fn shapes() -> Vec<Lattice> {
    let more = [([1, 40, 25], [4.0; 3]), ([3, 20, 47], [4.0, 4.0, 8.0]), ([97, 17, 18], [4.0, 4.0, 4.0])];
    lattices().into_iter().chain(more.map(|(shape, voxel)| Lattice::new(shape, voxel).expect("valid"))).collect()
}

const DIRECTIONS: [(f64, f64); 7] =
    [(0.0, 0.0), (20.0, 7.0), (45.0, -7.0), (97.0, 0.0), (140.0, 9.0), (90.0, 5.0), (121.0, 0.0)];

/// For a lattice with few voxels along z.
fn fits(lattice: &Lattice, view: &View, response: &Response) -> bool {
    Tables::new(lattice, view, response).is_ok()
}

#[test]
fn projections_equal_the_plain_sums() {
    let Some(context) = context(ContextOptions::default()) else { return };
    let mut checked = 0;
    for lattice in shapes() {
        let volume = noise(lattice.voxels(), 5);
        for (name, response) in responses() {
            let views: Vec<View> = DIRECTIONS.iter().map(|(a, t)| view(*a, *t)).collect();
            let views: Vec<View> = views.into_iter().filter(|v| fits(&lattice, v, &response)).collect();
            let mut engines = METHODS.map(|method| engine(&context, lattice, &views, &response, method));
            for (k, view) in views.iter().enumerate() {
                let tables = Tables::new(&lattice, view, &response).expect("valid");
                for forward in [true, false] {
                    let wanted = plain(&lattice, &tables, forward, &volume);
                    for (e, method) in engines.iter_mut().zip(METHODS) {
                        let error = largest(&project(&context, e, forward, &volume, k), &wanted);
                        // Sums of positive terms of at most about 2 in all: each of some 300 additions rounds by 6e-8 of it,
                        // with random signs sqrt(300) * 6e-8 * 2 = 2e-6. Transforms: see the tests of those on the processor.
                        let case = format!("{:?} {name} {view:?} forward {forward} {method:?}", lattice.shape());
                        assert!(error < 4e-6, "{case}: {error:e}");
                        checked += 1;
                    }
                }
            }
        }
    }
    assert!(checked > 800, "{checked}");
}

#[test]
fn forward_and_adjoint_are_transposes() {
    let Some(context) = context(ContextOptions::default()) else { return };
    for lattice in lattices() {
        let (f, y) = (noise(lattice.voxels(), 1), noise(lattice.voxels(), 2));
        for (name, response) in responses() {
            let views = [view(10.0, 0.0), view(63.0, 6.67), view(171.0, -6.67)];
            for method in METHODS {
                let mut e = engine(&context, lattice, &views, &response, method);
                for k in 0..views.len() {
                    let hf = project(&context, &mut e, true, &f, k);
                    let hty = project(&context, &mut e, false, &y, k);
                    let difference = (dot(&hf, &y) - dot(&f, &hty)).abs();
                    let norms = (dot(&hf, &hf) * dot(&y, &y)).sqrt();
                    assert!(difference < 1e-6 * norms, "{name} {k} {method:?}: {:e}", difference / norms);
                }
            }
        }
    }
}

#[test]
fn a_caller_s_own_tables_serve_as_well() {
    let Some(context) = context(ContextOptions::default()) else { return };
    // One kernel without symmetry; several, with holes; one that reaches so far that no block's memory holds it.
    let near: &[[i32; 3]] = &[[0, 0, 0], [1, 0, 0], [-2, 3, 1], [4, -1, -2], [0, 0, 3], [0, 0, 8]];
    let wide: Vec<[i32; 3]> = (0..300).map(|k| [k, (7 * k) % 5 - 2, k % 9 - 4]).collect();
    for (shape, kernels, offsets) in [([12, 10, 11], 1, near), ([12, 10, 11], 3, near), ([9, 24, 310], 2, &wide)] {
        let lattice = Lattice::new(shape, [4.0; 3]).expect("valid");
        let [_, ny, nx] = shape;
        let map: Vec<u32> = (0..ny * nx).map(|i| (i % kernels) as u32).collect();
        let values = noise(kernels * offsets.len(), 9);
        for direction in [view(20.0, 0.0), view(100.0, 3.0)] {
            let tables = Tables::given(&lattice, &direction, map.clone(), offsets, &values).expect("valid");
            let scan = scan(lattice, vec![direction], None, vec![Some(tables.clone())]);
            let mut e = GpuEngine::new(&context, &context.gpus()[..1], scan).expect("memory");
            let volume = noise(lattice.voxels(), 8);
            for forward in [true, false] {
                let found = project(&context, &mut e, forward, &volume, 0);
                let error = largest(&found, &plain(&lattice, &tables, forward, &volume));
                assert!(error < 2e-6, "{shape:?} {kernels} {forward}: {error:e}");
            }
        }
    }
}

/// A scan with few counts, factors with zeros, and an additive part that is 0 in places.
pub(super) struct Small {
    pub(super) lattice: Lattice,
    pub(super) views: Vec<View>,
    response: Response,
    pub(super) image: Vec<f32>,
    measured: Vec<f32>,
    factors: Vec<f32>,
    additive: Vec<f32>,
}

impl Small {
    pub(super) fn new(radial: Radial) -> Self {
        let lattice = Lattice::new([13, 26, 23], [4.0; 3]).expect("valid");
        let views: Vec<View> = (0..7).map(|k| view(26.0 * f64::from(k), [-6.0, 0.0, 6.0][k as usize % 3])).collect();
        let mut response = Response::new(150.0, radial, 5.8);
        // At the edge 1 % of the peak: what is expected is 0 or more than 1e-4, which transforms tell apart.
        response.cut = Cut { shape: Shape::Ellipsoid, k: 3.0 };
        let n = lattice.voxels();
        // Nothing in the middle, so that some expected values are 0.
        let image =
            noise(n, 11).into_iter().enumerate().map(|(i, v)| if i % 23 < 3 { 0.5 + 0.5 * v } else { 0.0 }).collect();
        let all = views.len() * n;
        let measured = noise(all, 12).iter().map(|v| if *v > 0.6 { (8.0 * v).floor() } else { 0.0 }).collect();
        let factors = noise(all, 13).iter().map(|v| if *v < 0.1 { 0.0 } else { *v }).collect();
        let additive = noise(all, 14).iter().map(|v| if *v < 0.5 { 0.0 } else { 0.1 * v }).collect();
        Self { lattice, views, response, image, measured, factors, additive }
    }

    pub(super) fn histos(&self, with: bool) -> Histos<'_> {
        let [nz, ny, nx] = self.lattice.shape();
        let shape = [self.views.len(), nz, ny, nx];
        let optional = |values| with.then(|| array(values, shape));
        Histos {
            measured: array(&self.measured, shape),
            factors: optional(&self.factors),
            additive: optional(&self.additive),
        }
    }

    pub(super) fn scan(&self) -> Scan {
        let given = self.views.iter().map(|_| None).collect();
        scan(self.lattice, self.views.clone(), Some(self.response.clone()), given)
    }

    pub(super) fn engine(&self, context: &Arc<Context>, method: Method) -> GpuEngine {
        engine(context, self.lattice, &self.views, &self.response, method)
    }
}

#[test]
fn comparison_and_update_are_what_they_say() {
    let Some(context) = context(ContextOptions::default()) else { return };
    let cases = [Radial::Constant(5.8), variant()].into_iter().flat_map(|r| METHODS.map(|m| (r.clone(), m)));
    for (radial, method) in cases {
        let small = Small::new(radial);
        let (shape, n) = (small.lattice.shape(), small.lattice.voxels());
        let mut e = small.engine(&context, method);
        for (with, of) in [(true, Ratio::Quotient), (true, Ratio::Discrepancy), (false, Ratio::Discrepancy)] {
            for v in 0..small.views.len() {
                let (mut ratio, mut image) = (vec![0f32; n], vec![0f32; n]);
                const STEP: f32 = 0.3;
                let (tally, facts) = e
                    .run(&context, |e, job| {
                        e.prepare(&context, &[v], 3, job)?;
                        let data = e.load(&context, &small.histos(with), &[], job)?;
                        let mut f =
                            e.read(&array(&small.image, shape), "image", NanPolicy::Error, Sign::NonNegative)?;
                        let mut r = e.zeros()?;
                        e.tally()?;
                        e.compare(v, &data, &f, of, &mut r)?;
                        e.relax(v, &r, STEP, &mut f)?;
                        e.write(&r, &mut array_mut(&mut ratio, shape))?;
                        e.write(&f, &mut array_mut(&mut image, shape))?;
                        Ok((e.tally()?, e.facts(&data)))
                    })
                    .expect("computes");
                let tables = Tables::new(&small.lattice, &small.views[v], &small.response).expect("valid");
                let expected = plain(&small.lattice, &tables, true, &small.image);
                // Gathers of a hundred positive terms have a relative error, transforms one of values up to 1.
                let rounding = if method.projector == Projector::Fourier { 4e-6 } else { 0.0 };
                let max =
                    if method.projector == Projector::Fourier { facts.max_quotient().into() } else { f64::INFINITY };
                let (mut likelihood, mut spread, mut skipped) = (0.0, 0.0, 0);
                let (mut wanted, mut slack) = (vec![0.0; n], vec![0.0; n]);
                for (i, p) in expected.iter().enumerate() {
                    let at = v * n + i;
                    let (a, b) = if with { (small.factors[at].into(), small.additive[at].into()) } else { (1.0, 0.0) };
                    let (d, e) = (f64::from(small.measured[at]), a * p + b);
                    wanted[i] = match of {
                        _ if e == 0.0 && d > 0.0 => 0.0,
                        Ratio::Quotient if e == 0.0 => 0.0,
                        Ratio::Quotient => (a * d / e).min(max),
                        Ratio::Discrepancy if e == 0.0 => -a,
                        Ratio::Discrepancy => (a * d / e).min(max) - a,
                    };
                    slack[i] = if e > 0.0 { rounding * a * a * d / (e * e) } else { 0.0 };
                    skipped += u64::from(e == 0.0 && d > 0.0);
                    likelihood += if e > 0.0 { d * e.ln() - e } else { 0.0 };
                    spread += if e > 0.0 { (a * (d / e - 1.0)).powi(2) } else { 0.0 };
                }
                assert_eq!(tally.skipped, skipped, "{with} {v} {method:?}");
                assert!(skipped > 0, "the case is worth it");
                // Each term d ln e has errors of 2e-6 d at most, the sum as many thousand of either sign.
                let error = (tally.log_likelihood - likelihood).abs();
                // By transforms e errs by `rounding` a at most, of either sign too: d ln e - e by as much times d / e - 1.
                let max = 1e-6 * likelihood.abs() + rounding * spread.sqrt();
                assert!(error < max, "{with} {v}: {error:e} of {likelihood}");
                // d / e has the relative error of e.
                let error = |((r, w), s): ((&f32, &f64), &f64)| ((f64::from(*r) - w).abs() - s) / (1.0 + w.abs());
                let worst = ratio.iter().zip(&wanted).zip(&slack).map(error).fold(0.0, f64::max);
                assert!(worst < 3e-6, "{with} {of:?} {v} {method:?}: {worst:e}");
                let back = plain(&small.lattice, &tables, false, &ratio);
                let slack = rounding * ratio.iter().fold(0.0, |m, r| f64::from(r.abs()).max(m));
                for (i, f) in image.iter().enumerate() {
                    let before = f64::from(small.image[i]);
                    let wanted = (before + f64::from(STEP) * before * back[i]).max(0.0);
                    let error = (f64::from(*f) - wanted).abs();
                    assert!(error < 1e-5 * (1.0 + back[i].abs()) + slack, "{v} {i}: {f} for {wanted}");
                }
                let sum = |values: &[f32]| values.iter().map(|v| f64::from(*v)).sum::<f64>();
                assert!((facts.measured - sum(&small.measured)).abs() < 1e-9 * facts.measured);
                let factors = if with { sum(&small.factors) } else { small.measured.len() as f64 };
                assert!((facts.factors - factors).abs() < 1e-9 * factors);
                let max = if with { small.factors.iter().copied().fold(0.0, f32::max) } else { 1.0 };
                assert_eq!((facts.largest_factor, facts.has_zero_factor), (max, with));
            }
        }
    }
}

/// Passes of RAMLA: the image, and what the passes saw.
fn passes(context: &Arc<Context>, e: &mut GpuEngine, small: &Small, by_view: bool) -> (Vec<f32>, Vec<Tally>) {
    let shape = small.lattice.shape();
    let mut result = vec![0f32; small.lattice.voxels()];
    let order: Vec<usize> = (0..small.views.len()).map(|k| k * 3 % small.views.len()).collect();
    let tallies = e
        .run(context, |e, job| {
            e.prepare(context, &order, 3, job)?;
            let data = e.load(context, &small.histos(true), &[], job)?;
            let (mut f, mut r) = (e.zeros()?, e.zeros()?);
            e.fill(&mut f, 0.4)?;
            e.tally()?;
            let mut tallies = Vec::new();
            for step in [0.8, 0.5, 0.5] {
                let (mut done, volumes) = (0.0, (&mut f, &mut r));
                let progress = &mut |part| {
                    done += part;
                    Ok(())
                };
                match by_view {
                    true => e.ramla_by_view(&order, &data, step, volumes, progress)?,
                    false => e.ramla(&order, &data, step, volumes, progress)?,
                }
                assert!((done - 1.0f64).abs() < 1e-9);
                tallies.push(e.tally()?);
            }
            e.write(&f, &mut array_mut(&mut result, shape))?;
            Ok(tallies)
        })
        .expect("computes");
    (result, tallies)
}

#[test]
fn passes_are_the_same_however_they_are_launched() {
    let Some(context) = context(ContextOptions::default()) else { return };
    let cases = [Radial::Constant(5.8), variant()].into_iter().flat_map(|r| METHODS.map(|m| (r.clone(), m)));
    for (radial, method) in cases {
        let small = Small::new(radial);
        let mut e = small.engine(&context, method);
        let first = passes(&context, &mut e, &small, true);
        assert!(first.0.iter().all(|f| f.is_finite()) && first.0.iter().any(|f| *f > 0.5));
        for by_view in [false, false, true] {
            assert!(first == passes(&context, &mut e, &small, by_view));
        }
        assert!(first == passes(&context, &mut small.engine(&context, method), &small, false));
    }
}

#[test]
fn little_memory_changes_nothing_but_time() {
    let Some(plenty) = context(ContextOptions::default()) else { return };
    for (radial, method) in [variant(), Radial::Constant(5.8)].into_iter().zip(METHODS) {
        let small = Small::new(radial);
        let expected = passes(&plenty, &mut small.engine(&plenty, method), &small, false);
        let volume = 4 * 16 * 26 * 23;
        // Nothing held; some projections held; all of them but no weights.
        let mut fitted = 0;
        for cap in [24 * volume, 80 * volume, 200 * volume, 300 * volume] {
            let Some(context) = context(ContextOptions { gpu_memory_cap: cap, ..Default::default() }) else { return };
            let mut e = small.engine(&context, method);
            let prepared = e.run(&context, |e, job| e.prepare(&context, &[0], 3, job));
            if let Err(e) = prepared {
                assert!(e.message.starts_with("gpu_memory_cap is"), "{e}");
                continue;
            }
            fitted += 1;
            assert!(expected == passes(&context, &mut e, &small, false), "cap {cap} {method:?}");
        }
        assert!(fitted >= 2, "{method:?}");
    }
}

#[test]
fn arrays_may_be_anywhere_with_any_strides() {
    let Some(context) = context(ContextOptions::default()) else { return };
    let device: &Arc<Device> = &context.gpus()[0];
    let lattice = Lattice::new([5, 6, 7], [4.0; 3]).expect("valid");
    let response = Response::new(60.0, Radial::Constant(5.8), 5.8);
    let mut e = engine(&context, lattice, &[view(0.0, 0.0)], &response, METHODS[0]);
    let values = noise(5 * 6 * 7, 3);
    let counts: Vec<u32> = values.iter().map(|v| (1e6 * v) as u32).collect();
    // x slowest, and z backwards.
    let turned: Vec<f32> = (0..210).map(|i| values[(4 - i % 5) * 42 + i / 5 % 6 * 7 + i / 30]).collect();
    let strides = [-1, 5, 30];
    let memory = DeviceMemory::from_slice(device, &turned).expect("memory");
    let all = |origin: *const u8, gpu| Layout {
        origin: origin.wrapping_add(4 * 4),
        dtype: DType::F32,
        shape: [5, 6, 7],
        strides,
        gpu,
    };
    // SAFETY: elements of `turned`, and of its copy on the GPU.
    let [on_host, on_gpu] = unsafe {
        [all(turned.as_ptr().cast(), None), all(memory.address() as *const u8, Some(0))].map(|l| Array::over(l))
    };
    let plain = array(&values, [5, 6, 7]);
    let integers = Array::of(&counts, [5, 6, 7]).expect("as many counts");
    for from in [plain, on_host, on_gpu, integers] {
        let mut back = vec![0f32; 210];
        let out = DeviceMemory::new(device, 840).expect("memory");
        let mut packed = vec![0f32; 210];
        // SAFETY: elements of `packed`, and of memory as large on the GPU.
        let [mut turned, mut there] = unsafe {
            let there = all(out.address() as *const u8, Some(0));
            [all(packed.as_mut_ptr().cast_const().cast(), None), there].map(|l| ArrayMut::over(l))
        };
        e.run(&context, |e, _| {
            let v = e.read(&from, "image", NanPolicy::Error, Sign::NonNegative)?;
            e.write(&v, &mut array_mut(&mut back, [5, 6, 7]))?;
            e.write(&v, &mut turned)?;
            e.write(&v, &mut there)
        })
        .expect("copies");
        let expected =
            if from.dtype() == DType::U32 { counts.iter().map(|c| *c as f32).collect() } else { values.clone() };
        assert!(back == expected);
        let mut fetched = vec![0f32; 210];
        let _current = device.enter().expect("a GPU");
        let stream = Stream::new(device).expect("a stream");
        let rows = Rows { address: out.address(), pitch: 840, bytes: 840, count: 1 };
        // SAFETY: both sides have so many bytes.
        unsafe { rows.download(fetched.as_mut_ptr() as u64, 840, &stream).expect("a copy") };
        stream.synchronize().expect("a copy");
        for result in [&packed, &fetched] {
            assert!((0..210).all(|i| result[i] == expected[(4 - i % 5) * 42 + i / 5 % 6 * 7 + i / 30]));
        }
    }
}

#[test]
fn bad_values_are_named() {
    let Some(context) = context(ContextOptions::default()) else { return };
    let small = Small::new(Radial::Constant(5.8));
    let mut e = small.engine(&context, METHODS[0]);
    let shape = small.lattice.shape();
    let mut image = small.image.clone();
    image[26 * 23 * 3 + 23 * 2 + 1] = f32::NAN;
    image[26 * 23 * 4] = -1.0;
    let mut read = |policy, sign| {
        e.run(&context, |e, _| {
            e.read(&array(&image, shape), "image", policy, sign)?;
            Ok(e.replaced())
        })
    };
    let message = read(NanPolicy::Error, Sign::NonNegative).expect_err("NaN").message;
    assert_eq!(message, "image[3, 2, 1] is NaN; it must be finite (or set the NaN policy to replace)");
    let message = read(NanPolicy::Replace, Sign::NonNegative).expect_err("negative").message;
    assert_eq!(message, "image[4, 0, 0] is -1; it must not be below 0");
    assert_eq!(read(NanPolicy::Replace, Sign::Any).expect("replaced"), 1);
    let mut rounded = small.image.clone();
    (rounded[3], rounded[26 * 23 * 4], rounded[26 * 23 * 5]) = (100.0, -9e-5, -1e-28);
    let read = |image: &[f32], e: &mut GpuEngine| {
        e.run(&context, |e, _| {
            let v = e.read(&array(image, shape), "image", NanPolicy::Error, Sign::NonNegative)?;
            let mut back = vec![f32::NAN; image.len()];
            e.write(&v, &mut array_mut(&mut back, shape))?;
            Ok((e.below(), back))
        })
    };
    let (below, back) = read(&rounded, &mut e).expect("rounding");
    assert_eq!((below, back[26 * 23 * 4], back[26 * 23 * 5], back[3]), (2, 0.0, 0.0, 100.0));
    rounded[26 * 23 * 5] = -2e-4;
    let message = read(&rounded, &mut e).expect_err("more than rounding").message;
    assert_eq!(message, "image[4, 0, 0] is -0.00009, and others are down to -0.0002; none must be below 0");
    let mut histos = small.histos(true);
    let mut factors = small.factors.clone();
    factors[2 * small.lattice.voxels() + 5] = f32::INFINITY;
    histos.factors = Some(array(&factors, histos.measured.shape()));
    let loaded = e.run(&context, |e, job| e.load(&context, &histos, &[], job).map(|_| ()));
    let message = loaded.expect_err("infinite").message;
    assert_eq!(message, "factors[2, 0, 0, 5] is inf; it must be finite (or set the NaN policy to replace)");
}
