//! The model of DIRECT PET, tested through the C ABI wherever plans compute. Sums term by term are in double precision, from the
//! tables that a plan exports.

use super::device;
use super::scan::*;
use isocenter::error::Status;
use isocenter::ffi::context::isoc_context_options;
use isocenter::ffi::pet::*;
use isocenter::ffi::tensor::isoc_tensor;
use std::ffi::{c_char, c_int, c_void};

/// Unit round-off of f32.
const UNIT: f64 = f32::EPSILON as f64 / 2.0;

/// Directions with and without tilt, near all neighbours of a voxel.
const VIEWS: [[f64; 2]; 5] = [[0.0, 0.0], [0.7, 0.0], [1.5, 0.15], [2.2, -0.12], [3.0, 0.1]];

const SHAPE: [usize; 3] = [13, 31, 29];
const VOXEL: [f64; 3] = [4.0, 4.4, 4.2];

/// Small enough for the lattice: 3 sigmas of the time of flight are 7.6 voxels.
fn narrow() -> isoc_pet_response {
    response(160.0, 9.0, 9.0)
}

fn asymmetric(base: isoc_pet_response) -> isoc_pet_response {
    isoc_pet_response { profile: 1, ratio: 1.5, shift: 0.6, share: 0.4, ..base }
}

fn responses() -> Vec<(&'static str, isoc_pet_response)> {
    let variant = || widening(narrow(), &[[0.0, 8.0], [60.0, 13.0]]);
    vec![
        ("invariant", narrow()),
        ("ellipsoid", isoc_pet_response { cut: 1, cut_width: 3.5, ..narrow() }),
        ("variant", variant()),
        ("signed", widening(narrow(), &[[-60.0, 9.0], [60.0, 13.0]])),
        ("asymmetric", asymmetric(narrow())),
        ("asymmetric variant", asymmetric(variant())),
    ]
}

fn plan() -> Option<Plan> {
    device().map(|d| Plan::new(d, SHAPE, VOXEL, &VIEWS))
}

const GATHER: u32 = 1;
const FOURIER: u32 = 2;

fn options() -> isoc_pet_options {
    sized()
}

#[test]
fn projections_are_the_sums_over_the_exported_tables() {
    let Some(plan) = plan() else { return };
    let image = noise(plan.voxels(), 1);
    for (name, response) in responses() {
        plan.set_response(&response);
        for projector in [GATHER, FOURIER] {
            plan.set_options(&isoc_pet_options { projector, ..options() });
            for view in 0..VIEWS.len() {
                let tables = plan.tables(view);
                // Rounding of up to 3000 positive terms and of the weights, with n terms' errors adding up as their root; values of
                // a factored kernel are products of two. Fourier: the expansion's 1e-5 of the largest value of a kernel, and
                // transforms' rounding of some 1e-6 of the root of the mean square.
                let tolerance = if projector == GATHER { 60.0 * UNIT } else { 3e-5 };
                for forward in [true, false] {
                    let run = |v: &[f32]| {
                        if forward { plan.forward(&[view as i64], v) } else { plan.adjoint(&[view as i64], v) }
                    };
                    let expected = plan.plain(&tables, forward, &wide(&image));
                    let error = apart(&run(&image), &expected);
                    assert!(error < tolerance, "{name}, projector {projector}, view {view}, {forward}: {error}");
                }
            }
        }
    }
}

#[test]
fn adjoint_is_the_transpose_of_forward() {
    let Some(plan) = plan() else { return };
    let views: Vec<i64> = (0..VIEWS.len() as i64).collect();
    let (image, histos) = (noise(plan.voxels(), 2), noise(VIEWS.len() * plan.voxels(), 3));
    for (name, response) in responses() {
        plan.set_response(&response);
        for projector in [GATHER, FOURIER] {
            plan.set_options(&isoc_pet_options { projector, ..options() });
            let (there, back) = (wide(&plan.forward(&views, &image)), wide(&plan.adjoint(&views, &histos)));
            let dot = |a: &[f64], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * f64::from(*b)).sum::<f64>();
            let (one, other) = (dot(&there, &histos), dot(&back, &image));
            let scale = norm(&there) * norm(&wide(&histos));
            assert!((one - other).abs() < 1e-6 * scale, "{name}, projector {projector}: {one} {other}");
        }
    }
}

/// The response of the conventions, as it is written there.
#[test]
fn kernels_are_the_gaussians_of_the_conventions() {
    let Some(plan) = plan() else { return };
    // Sigmas of a voxel or more, so that voxels are sampled at their centres.
    let (tof, radial, axial) = (200.0, 11.0, 12.0);
    let base = response(tof, radial, axial);
    let rms = 2.354820;
    let (st, sa) = (tof * 0.149896229 / rms, axial / rms);
    for (variant, response) in [(false, base), (true, widening(base, &[[0.0, 11.0], [60.0, 14.0]]))] {
        plan.set_response(&response);
        for (v, [azimuth, tilt]) in VIEWS.into_iter().enumerate() {
            let ((sp, cp), (sn, cs)) = (azimuth.sin_cos(), tilt.sin_cos());
            let (n, r) = ([cp * cs, sp * cs, sn], [-sp, cp, 0.0]);
            let a = [-sn * cp, -sn * sp, cs];
            let dot = |d: [f64; 3], e: [f64; 3]| (0..3).map(|k| d[k] * e[k]).sum::<f64>();
            let t = plan.tables(v);
            let identifier = |x: usize, y: usize| {
                let place = [(x as f64 - 14.0) * VOXEL[0], (y as f64 - 15.0) * VOXEL[1], 0.0];
                (dot(place, r).abs() / 2.0).floor()
            };
            for (k, kernel) in t.map.iter().enumerate() {
                let (x, y) = (k % SHAPE[2], k / SHAPE[2]);
                let middle = (identifier(x, y) + 0.5) * 2.0;
                let fwhm = if variant { 11.0 + 3.0 * (middle / 60.0).min(1.0) } else { radial };
                let sr = fwhm / rms;
                let row = &t.values[*kernel as usize * t.offsets.len()..][..t.offsets.len()];
                let weight = |o: &[i32; 3]| {
                    let d = [0, 1, 2].map(|k| f64::from(o[k]) * VOXEL[k]);
                    let q = [dot(d, n) / st, dot(d, r) / sr, dot(d, a) / sa];
                    let inside = q.iter().all(|c| c.abs() <= 3.0);
                    if inside { (-0.5 * q.iter().map(|c| c * c).sum::<f64>()).exp() } else { 0.0 }
                };
                let sum: f64 = t.offsets.iter().map(weight).sum();
                for (o, value) in t.offsets.iter().zip(row) {
                    // Both factors of a split kernel are rounded, and their product.
                    let error = (f64::from(*value) - weight(o) / sum).abs();
                    assert!(error < 4.0 * UNIT * weight(&[0; 3]) / sum, "view {v}, {o:?}: {value}");
                }
                // What a table leaves out is outside the cut.
                let far: i32 = 12;
                let all = (-far..=far).flat_map(|x| (-far..=far).flat_map(move |y| (-6..=6).map(move |z| [x, y, z])));
                if k % 97 == 0 {
                    let kept = all.filter(|o| weight(o) > 0.0).count();
                    let there = t.offsets.iter().filter(|o| weight(o) > 0.0).count();
                    assert_eq!(kept, there, "view {v}");
                }
            }
            assert!(t.mass.iter().all(|m| (0.97..1.0).contains(m)), "{:?}", t.mass);
        }
    }
}

#[test]
fn invariant_projections_are_one_and_variant_ones_are_not() {
    let Some(plan) = plan() else { return };
    let mut image = vec![0.0; plan.voxels()];
    let at = (6 * SHAPE[1] + 8) * SHAPE[2] + 21;
    image[at] = 1.0;
    let difference = |plan: &Plan| apart(&plan.forward(&[1], &image), &wide(&plan.adjoint(&[1], &image)));
    plan.set_response(&narrow());
    assert_eq!(difference(&plan), 0.0);
    for other in [widening(narrow(), &[[0.0, 8.0], [60.0, 13.0]]), asymmetric(narrow())] {
        plan.set_response(&other);
        // Widths differ by a tenth over the kernel: so do values, at the least.
        assert!(difference(&plan) > 0.02, "{}", difference(&plan));
    }
}

/// Moments of a kernel whose cut leaves `k` sigmas of a Gaussian: its variance over the whole one's.
fn cut_variance(k: f64) -> f64 {
    let n = 20000;
    let (mut mass, mut square) = (0.0, 0.0);
    for i in 0..n {
        let t = k * (2.0 * (f64::from(i) + 0.5) / f64::from(n) - 1.0);
        let w = (-0.5 * t * t).exp();
        (mass, square) = (mass + w, square + w * t * t);
    }
    square / mass
}

#[test]
fn a_point_keeps_its_place_and_gets_the_widths_of_theory() {
    let Some(device) = device() else { return };
    let plan = Plan::new(device, [33, 65, 65], [2.0; 3], &VIEWS);
    plan.set_response(&isoc_pet_response { cut_width: 4.0, ..response(150.0, 10.0, 10.0) });
    let centre = [30usize, 35, 16];
    let mut image = vec![0.0; plan.voxels()];
    image[(centre[2] * 65 + centre[1]) * 65 + centre[0]] = 1.0;
    for (v, [azimuth, tilt]) in VIEWS.into_iter().enumerate() {
        let ((sp, cp), (sn, cs)) = (azimuth.sin_cos(), tilt.sin_cos());
        let axes = [[cp * cs, sp * cs, sn], [-sp, cp, 0.0], [-sn * cp, -sn * sp, cs]];
        let histo = plan.forward(&[v as i64], &image);
        let (mut mass, mut first, mut second) = (0.0, [0.0; 3], [0.0; 3]);
        for (k, y) in histo.iter().enumerate() {
            let at = [k % 65, k / 65 % 65, k / (65 * 65)];
            let d = [0, 1, 2].map(|k| (at[k] as f64 - centre[k] as f64) * 2.0);
            mass += f64::from(*y);
            for a in 0..3 {
                let along: f64 = (0..3).map(|k| d[k] * axes[a][k]).sum();
                first[a] += f64::from(*y) * along;
                second[a] += f64::from(*y) * along * along;
            }
        }
        assert!((mass - 1.0).abs() < 1e-5, "view {v}: {mass}");
        let sigmas = [150.0 * 0.149896229, 10.0, 10.0].map(|w| w / 2.354820);
        for a in 0..3 {
            // Opposite offsets have equal weights, but for rounding, some 20 mm away.
            assert!((first[a] / mass).abs() < 1e-4, "view {v}, axis {a}: {first:?}");
            let seen = second[a] / mass / (sigmas[a] * sigmas[a]);
            // The cut keeps voxels by their centres, which moves its edge by up to half a voxel, 0.24 sigmas here: at 4 sigmas the
            // variance changes by 16 x density(4) x 2 x 0.24 = 0.1 %, rounded up for the corners.
            assert!((seen / cut_variance(4.0) - 1.0).abs() < 0.003, "view {v}, axis {a}: {seen}");
        }
    }
}

/// A scan whose counts are what a phantom of two boxes gives, rounded; factors and background.
pub(super) struct Counts {
    pub(super) measured: Vec<f32>,
    pub(super) factors: Vec<f32>,
    pub(super) additive: Vec<f32>,
}

pub(super) fn counts(plan: &Plan) -> Counts {
    let [nz, ny, nx] = plan.shape;
    let mut image = vec![0.0f32; plan.voxels()];
    for (k, v) in image.iter_mut().enumerate() {
        let (x, y, z) = (k % nx, k / nx % ny, k / (nx * ny));
        let body = (4..nx - 4).contains(&x) && (4..ny - 4).contains(&y) && (2..nz - 2).contains(&z);
        let hot = (14..18).contains(&x) && (10..14).contains(&y) && (5..8).contains(&z);
        *v = 20.0 * f32::from(u8::from(body)) + 60.0 * f32::from(u8::from(hot));
    }
    let views: Vec<i64> = (0..plan.views.len() as i64).collect();
    let projected = plan.forward(&views, &image);
    let factors: Vec<f32> = noise(projected.len(), 4).iter().map(|v| 0.2 + 0.7 * v).collect();
    let additive: Vec<f32> = noise(projected.len(), 5).iter().map(|v| 0.5 + v).collect();
    let chance = noise(projected.len(), 6);
    let measured = projected
        .iter()
        .enumerate()
        // Not Poisson's, but as uneven.
        .map(|(k, p)| ((factors[k] * p + additive[k]) * 2.0 * chance[k]).round())
        .collect();
    Counts { measured, factors, additive }
}

/// The algorithms as the conventions have them, in double precision.
fn plain_algorithm(plan: &Plan, tables: &[Tables], c: &Counts, options: &isoc_pet_options) -> (Vec<f64>, Vec<f64>) {
    let (voxels, views) = (plan.voxels(), plan.views.len());
    let of = |list: &[f32], v: usize| wide(&list[v * voxels..][..voxels]);
    let total = |list: &[f32]| list.iter().map(|v| f64::from(*v)).sum::<f64>();
    let start = (total(&c.measured) - total(&c.additive)).max(1e-3 * total(&c.measured)) / total(&c.factors);
    let mut f = vec![start; voxels];
    let largest = c.factors.iter().fold(0.0f32, |m, v| m.max(*v));
    let mut history = Vec::new();
    let order: Vec<usize> = (0..views).collect();
    let subsets = match options.algorithm {
        0 => views,
        1 if options.subsets == 0 => views.min(8),
        1 => options.subsets as usize,
        _ => 1,
    };
    for pass in 0..options.iterations {
        let mut likelihood = 0.0;
        for s in 0..subsets {
            let (mut sum, mut sensitivity) = (vec![0.0; voxels], vec![0.0; voxels]);
            for v in order.iter().copied().skip(s).step_by(subsets) {
                let (a, d, b) = (of(&c.factors, v), of(&c.measured, v), of(&c.additive, v));
                let h = plan.plain(&tables[v], true, &f);
                let mut ratio = vec![0.0; voxels];
                for k in 0..voxels {
                    let e = a[k] * h[k] + b[k];
                    ratio[k] = if options.algorithm == 0 { a[k] * (d[k] / e - 1.0) } else { a[k] * d[k] / e };
                    likelihood += d[k] * e.ln() - e;
                }
                let add = |to: &mut Vec<f64>, from: Vec<f64>| to.iter_mut().zip(from).for_each(|(t, f)| *t += f);
                add(&mut sum, plan.plain(&tables[v], false, &ratio));
                add(&mut sensitivity, plan.plain(&tables[v], false, &a));
            }
            let step = options.relaxation / (1.0 + options.relaxation_decay * pass as f64) / f64::from(largest);
            for k in 0..voxels {
                f[k] = match options.algorithm {
                    0 => (f[k] + step * f[k] * sum[k]).max(0.0),
                    _ => f[k] / sensitivity[k] * sum[k],
                };
            }
        }
        history.push(likelihood);
    }
    (f, history)
}

#[test]
fn algorithms_are_those_of_the_conventions() {
    let Some(device) = device() else { return };
    let plan = Plan::new(device, [9, 23, 21], VOXEL, &VIEWS);
    plan.set_response(&widening(response(110.0, 9.0, 8.0), &[[0.0, 8.0], [60.0, 12.0]]));
    let c = counts(&plan);
    let tables: Vec<Tables> = (0..VIEWS.len()).map(|v| plan.tables(v)).collect();
    let order: Vec<i64> = (0..VIEWS.len() as i64).collect();
    // SAFETY: valid pointers.
    ok(unsafe { isoc_pet_set_order(plan.pet, order.as_ptr(), order.len() as i64) });
    for (algorithm, subsets) in [(0, 0), (1, 0), (1, 2), (2, 0)] {
        let o = isoc_pet_options {
            algorithm,
            subsets,
            order: 2,
            iterations: 3,
            relaxation: 0.8,
            relaxation_decay: 0.5,
            projector: GATHER,
            ..options()
        };
        plan.set_options(&o);
        let image = plan.reconstruct(&c.measured, Some(&c.factors), Some(&c.additive));
        let (expected, likelihood) = plain_algorithm(&plan, &tables, &c, &o);
        // Up to 15 updates, each with the rounding of two projections and as many factors: some 20 round-offs at most, which the
        // updates' own convergence does not let grow.
        let error = apart(&image, &expected);
        assert!(error < 15.0 * 20.0 * UNIT, "algorithm {algorithm}: {error}");
        let history = plan.history();
        assert_eq!(history.len(), 3);
        for ((seen, skipped), expected) in history.iter().zip(&likelihood) {
            // Rounding of each e by some 20 round-offs moves d ln e - e by as much of d - e, which mostly cancels.
            assert!((seen - expected).abs() < 1e-6 * expected.abs(), "{seen} {expected}");
            assert_eq!(*skipped, 0);
        }
    }
}

#[test]
fn the_likelihood_of_mlem_never_falls() {
    let Some(plan) = plan() else { return };
    plan.set_response(&asymmetric(widening(narrow(), &[[0.0, 8.0], [60.0, 13.0]])));
    plan.set_options(&isoc_pet_options { projector: GATHER, ..options() });
    let c = counts(&plan);
    plan.set_options(&isoc_pet_options { algorithm: 2, iterations: 30, projector: GATHER, ..options() });
    plan.reconstruct(&c.measured, Some(&c.factors), Some(&c.additive));
    let history = plan.history();
    assert_eq!(history.len(), 30);
    for w in history.windows(2) {
        // A step gains at least as much as it moves the image: only its rounding, 1e-7 of sums of 1e5 voxels whose errors are
        // independent, could take that back.
        assert!(w[1].0 > w[0].0 - 1e-9 * w[0].0.abs(), "{history:?}");
    }
    assert!(history[29].0 > history[0].0);
}

#[test]
fn skipped_voxels_are_counted_and_unseen_ones_are_zero() {
    let Some(plan) = plan() else { return };
    plan.set_response(&narrow());
    let voxels = plan.voxels();
    let n = VIEWS.len() * voxels;
    for algorithm in 0..3 {
        plan.set_options(&isoc_pet_options { algorithm, subsets: 2, iterations: 2, projector: GATHER, ..options() });
        // Nothing is expected where factors are 0: the first row of voxels, and all of a corner.
        let blind = |k: usize| {
            let k = k % voxels;
            k % SHAPE[2] < 12 && k / SHAPE[2] % SHAPE[1] < 14
        };
        let factors: Vec<f32> = (0..n).map(|k| f32::from(u8::from(!blind(k)))).collect();
        let measured: Vec<f32> = (0..n).map(|k| if blind(k) { f32::from(u8::from(k % 7 == 0)) } else { 2.0 }).collect();
        let image = plan.reconstruct(&measured, Some(&factors), None);
        let skipped = (0..n).filter(|k| blind(*k) && k % 7 == 0).count() as u64;
        assert_eq!(plan.history().iter().map(|h| h.1).collect::<Vec<_>>(), [skipped; 2]);
        assert!(image.iter().all(|v| v.is_finite() && *v >= 0.0));
        // Voxel 0 is farther from all that is seen than any kernel reaches across, but along the diagonal line.
        let mut seen = vec![f32::NAN; voxels];
        let (from, to) = (tensor(&factors, &plan.histos(VIEWS.len())), output(&mut seen, &plan.shape));
        // SAFETY: valid pointers.
        ok(unsafe { isoc_pet_sensitivity(plan.pet, &from, &to) });
        for (v, s) in image.iter().zip(&seen) {
            assert_eq!(*v == 0.0, *s == 0.0);
        }
        assert!(seen.contains(&0.0));
    }
}

/// Counts where next to none are expected: their quotients are large, and what Fourier transforms make of them must not get
/// into the rest of the image.
#[test]
fn stray_counts_leave_images_finite_and_positive() {
    let Some(plan) = plan() else { return };
    let voxels = plan.voxels();
    let n = VIEWS.len() * voxels;
    let [_, ny, nx] = SHAPE;
    // A bar in the middle, and nothing about it.
    let inside = |k: usize| (k % nx).abs_diff(14) < 4 && (k / nx % ny).abs_diff(15) < 4;
    let bar: Vec<f32> = (0..voxels).map(|k| if inside(k) { 5.0 } else { 0.0 }).collect();
    let variant = widening(narrow(), &[[0.0, 8.0], [60.0, 13.0]]);
    for (response, what) in [(narrow(), "invariant"), (variant, "variant")] {
        plan.set_response(&response);
        for additive in [1e-9, 1e-40] {
            let b = vec![additive; n];
            for algorithm in 0..3 {
                let [gather, fourier] = [GATHER, FOURIER].map(|projector| {
                    let what = format!("{what}, additive {additive:e}, algorithm {algorithm}, projector {projector}");
                    plan.set_options(&isoc_pet_options {
                        algorithm,
                        projector,
                        subsets: 2,
                        iterations: 8,
                        ..options()
                    });
                    let clean = plan.forward(&[0, 1, 2, 3, 4], &bar);
                    // Small negative values of an expansion are within its tolerance.
                    let min = if what.starts_with("variant") && projector == FOURIER { -1e-4 } else { 0.0 };
                    assert!(clean.iter().all(|v| *v >= min), "{what}: a forward projection below 0");
                    let stray = |k: usize| f32::from(u8::from(k.is_multiple_of(997)));
                    let d: Vec<f32> = clean.iter().enumerate().map(|(k, e)| e.max(0.0).round() + stray(k)).collect();
                    let image = plan.reconstruct(&d, None, Some(&b));
                    assert!(image.iter().all(|v| v.is_finite() && *v >= 0.0), "{what}");
                    let history = plan.history();
                    assert!(history.iter().all(|(likelihood, _)| likelihood.is_finite()), "{what}: {history:?}");
                    (0..voxels).filter(|k| inside(*k)).map(|k| f64::from(image[k])).sum::<f64>()
                });
                // Rounding of the largest quotients, 1e-6 of 1e4 at one voxel in a thousand, is well below this in the bar's sum.
                assert!(
                    (gather - fourier).abs() <= 1e-3 * gather,
                    "{what}, {additive:e}, {algorithm}: {gather} {fourier}"
                );
            }
        }
    }
}

#[test]
fn sensitivity_is_the_adjoint_of_the_factors() {
    let Some(plan) = plan() else { return };
    plan.set_response(&asymmetric(narrow()));
    let views: Vec<i64> = (0..VIEWS.len() as i64).collect();
    let factors = noise(VIEWS.len() * plan.voxels(), 7);
    let ones = vec![1.0; factors.len()];
    for (factors, given) in [(&factors, true), (&ones, false)] {
        let mut image = vec![f32::NAN; plan.voxels()];
        let (from, to) = (tensor(factors, &plan.histos(VIEWS.len())), output(&mut image, &plan.shape));
        let from = if given { std::ptr::from_ref(&from) } else { std::ptr::null() };
        // SAFETY: valid pointers.
        ok(unsafe { isoc_pet_sensitivity(plan.pet, from, &to) });
        // The same sums in the same order.
        assert_eq!(image, plan.adjoint(&views, factors));
    }
}

#[test]
fn the_caller_s_tables_serve_as_the_model_s() {
    let Some(plan) = plan() else { return };
    plan.set_response(&asymmetric(widening(narrow(), &[[0.0, 8.0], [60.0, 13.0]])));
    let image = noise(plan.voxels(), 8);
    for view in [1i64, 3] {
        let t = plan.tables(view as usize);
        let model = wide(&plan.forward(&[view], &image));
        // In another order, with a scale, and an offset that no kernel has.
        let order: Vec<usize> = (0..t.offsets.len()).rev().collect();
        let mut offsets: Vec<[i32; 3]> = order.iter().map(|k| t.offsets[*k]).collect();
        offsets.push([11, 12, 0]);
        let kernels = t.mass.len();
        let mut values = Vec::new();
        for row in t.values.chunks_exact(t.offsets.len()) {
            values.extend(order.iter().map(|k| 3.0 * row[*k]));
            values.push(0.0);
        }
        // SAFETY: valid pointers.
        ok(unsafe {
            isoc_pet_set_tables(
                plan.pet,
                view,
                t.map.as_ptr(),
                t.map.len() as i64,
                offsets.as_ptr().cast(),
                offsets.len() as i64,
                values.as_ptr(),
                values.len() as i64,
            )
        });
        // The axial factor is not split off: other roundings of as many terms.
        let error = apart(&plan.forward(&[view], &image), &model);
        assert!(error < 60.0 * UNIT, "view {view}: {error}");
        assert_eq!(plan.tables(view as usize).mass, vec![1.0; kernels]);
    }
}

#[test]
fn passes_one_by_one_are_passes_at_once() {
    let Some(plan) = plan() else { return };
    plan.set_response(&narrow());
    let c = counts(&plan);
    for order in [0, 1] {
        let o = isoc_pet_options { order, seed: 7, iterations: 4, relaxation_decay: 0.3, ..options() };
        plan.set_options(&o);
        let whole = plan.reconstruct(&c.measured, Some(&c.factors), Some(&c.additive));
        let mut image = vec![0.0; plan.voxels()];
        for pass in 0..4 {
            plan.set_options(&isoc_pet_options {
                iterations: 1,
                first_iteration: pass,
                warm_start: u32::from(pass > 0),
                ..o
            });
            let (status, next) = plan.try_reconstruct(&c.measured, Some(&c.factors), Some(&c.additive), &image);
            ok(status);
            image = next;
        }
        assert_eq!(image, whole, "order {order}");
    }
}

#[test]
fn counts_may_be_integers_and_arrays_strided() {
    let Some(plan) = plan() else { return };
    plan.set_response(&narrow());
    plan.set_options(&isoc_pet_options { iterations: 1, ..options() });
    let c = counts(&plan);
    let expected = plan.reconstruct(&c.measured, None, Some(&c.additive));
    let integers: Vec<u32> = c.measured.iter().map(|v| *v as u32).collect();
    let (status, image) = plan.try_reconstruct(&integers, None, Some(&c.additive), &vec![0.0; plan.voxels()]);
    ok(status);
    assert_eq!(image, expected);

    // MATLAB's order: x slowest, view fastest; the image backwards along x.
    let (views, [nz, ny, nx]) = (VIEWS.len(), SHAPE);
    let mut turned = vec![0.0f32; c.measured.len()];
    let mut at = 0;
    for v in 0..views {
        for k in 0..nz * ny * nx {
            let (x, y, z) = (k % nx, k / nx % ny, k / (nx * ny));
            turned[((x * ny + y) * nz + z) * views + v] = c.measured[at];
            at += 1;
        }
    }
    let strides = [1, views, nz * views, ny * nz * views].map(|s| s as i64);
    let mut measured = tensor(&turned, &plan.histos(views));
    measured.strides = strides.as_ptr();
    let mut image = vec![0.0f32; plan.voxels()];
    let back = [(ny * nx) as i64, nx as i64, -1];
    let mut to = output(&mut image, &plan.shape);
    (to.strides, to.byte_offset) = (back.as_ptr(), 4 * (nx as u64 - 1));
    let additive = tensor(&c.additive, &plan.histos(views));
    // SAFETY: valid pointers.
    ok(unsafe { isoc_pet_reconstruct(plan.pet, &measured, std::ptr::null(), &additive, &to) });
    for (row, expected) in image.chunks_exact(nx).zip(expected.chunks_exact(nx)) {
        assert!(row.iter().rev().eq(expected));
    }
}

#[test]
fn bad_values_are_named() {
    let Some(plan) = plan() else { return };
    plan.set_response(&narrow());
    plan.set_options(&isoc_pet_options { iterations: 1, ..options() });
    let n = VIEWS.len() * plan.voxels();
    let ones = vec![1.0f32; n];
    let with = |at: usize, v: f32| {
        let mut list = ones.clone();
        list[at] = v;
        list
    };
    let start = vec![7.0; plan.voxels()];
    let at = (2 * SHAPE[0] + 3) * SHAPE[1] * SHAPE[2] + 4 * SHAPE[2] + 5;
    /// Measured, factors, additive; the status and a part of what is said.
    type Case<'a> = (&'a [f32], Option<&'a [f32]>, Option<&'a [f32]>, Status, &'a str);
    let cases: [Case; 5] = [
        (&with(at, -1.0), None, None, Status::OutOfRange, "measured[2, 3, 4, 5] is -1; it must not be below 0"),
        (&with(at, f32::NAN), None, None, Status::NotFiniteData, "measured[2, 3, 4, 5] is NaN"),
        (&ones, Some(&with(at, -0.5)), None, Status::OutOfRange, "factors[2, 3, 4, 5] is -0.5"),
        (&ones, Some(&with(at, f32::INFINITY)), None, Status::NotFiniteData, "factors[2, 3, 4, 5] is inf"),
        (&ones, None, Some(&with(at, -2.0)), Status::OutOfRange, "additive[2, 3, 4, 5] is -2"),
    ];
    for (measured, factors, additive, expected, message) in cases {
        let (status, image) = plan.try_reconstruct(measured, factors, additive, &start);
        assert_eq!(status, expected);
        assert!(said().contains(message), "{}", said());
        assert_eq!(image, start, "nothing is written");
    }
    // Images may be negative where they are projected, but not where counts are expected of them.
    let mut negative = vec![1.0; plan.voxels()];
    negative[17] = -1.0;
    plan.forward(&[0], &negative);
    plan.set_options(&isoc_pet_options { iterations: 1, warm_start: 1, ..options() });
    let (status, _) = plan.try_reconstruct(&ones, None, None, &negative);
    assert_eq!(status, Status::OutOfRange);
    assert!(said().contains("image[0, 0, 17] is -1"), "{}", said());
}

#[test]
fn replaced_values_are_counted() {
    let Some(device) = device() else { return };
    let plan = Plan::with(&isoc_context_options { nan_policy: 1, ..on(device) }, SHAPE, VOXEL, &VIEWS);
    plan.set_response(&narrow());
    plan.set_options(&isoc_pet_options { iterations: 2, ..options() });
    let c = counts(&plan);
    let (mut zeroed, mut broken) = (c.measured.clone(), c.measured.clone());
    for (k, v) in [(3, f32::NAN), (700, f32::INFINITY), (701, f32::NEG_INFINITY)] {
        (zeroed[k], broken[k]) = (0.0, v);
    }
    let expected = plan.reconstruct(&zeroed, None, Some(&c.additive));
    let image = plan.reconstruct(&broken, None, Some(&c.additive));
    assert_eq!(image, expected);
    let mut info: isoc_pet_info = sized();
    // SAFETY: valid pointers.
    ok(unsafe { isoc_pet_get_info(plan.pet, &mut info) });
    assert_eq!((info.replaced_values, info.iterations, info.views), (3, 2, VIEWS.len() as i64));
}

/// The callback's state: calls to let pass before it cancels.
unsafe extern "C" fn cancel(left: *mut c_void, _: f64, _: *const c_char) -> c_int {
    // SAFETY: the test's counter, on this thread alone.
    unsafe {
        let left = left.cast::<i32>();
        *left -= 1;
        c_int::from(*left < 0)
    }
}

#[test]
fn a_cancelled_reconstruction_leaves_the_image() {
    let Some(device) = device() else { return };
    let mut left = 1i32;
    let user = std::ptr::from_mut(&mut left).cast();
    let context = isoc_context_options { progress: Some(cancel), progress_user: user, ..on(device) };
    let plan = Plan::with(&context, SHAPE, VOXEL, &VIEWS);
    plan.set_response(&narrow());
    plan.set_options(&isoc_pet_options { iterations: 100_000, ..options() });
    let ones = vec![1.0f32; VIEWS.len() * plan.voxels()];
    let start = vec![7.0; plan.voxels()];
    let (status, image) = plan.try_reconstruct(&ones, None, None, &start);
    assert_eq!(status, Status::Cancelled);
    assert_eq!(image, start);
}

#[test]
fn orders_are_checked() {
    let Some(plan) = plan() else { return };
    let set = |list: &[i64]| {
        // SAFETY: valid pointers.
        unsafe { isoc_pet_set_order(plan.pet, list.as_ptr(), list.len() as i64) }
    };
    assert_eq!(set(&[0, 1, 1]), Status::OutOfRange);
    assert_eq!(said(), "order[2] is 1, which is there already");
    assert_eq!(set(&[0, 5]), Status::OutOfRange);
    assert_eq!(said(), "order[1] is 5; it must be 0 to 4");
    plan.set_response(&narrow());
    plan.set_options(&isoc_pet_options { order: 2, ..options() });
    let ones = vec![1.0f32; VIEWS.len() * plan.voxels()];
    let (status, _) = plan.try_reconstruct(&ones, None, None, &vec![0.0; plan.voxels()]);
    assert_eq!(status, Status::NotConfigured);
    ok(set(&[3, 0]));
    plan.reconstruct(&ones, None, None);
}

#[test]
fn tensors_of_one_view_may_leave_the_dimension_out() {
    let Some(plan) = plan() else { return };
    plan.set_response(&narrow());
    let image = noise(plan.voxels(), 9);
    let expected = plan.forward(&[2], &image);
    let mut out = vec![0.0f32; plan.voxels()];
    let to: isoc_tensor = output(&mut out, &plan.shape);
    // SAFETY: valid pointers.
    ok(unsafe { isoc_pet_forward(plan.pet, [2i64].as_ptr(), 1, &tensor(&image, &plan.shape), &to) });
    assert_eq!(out, expected);
}
