//! Stacks of stars and of other samples, on the device that the test program names.

use super::device;
use super::scan::*;
use isocenter::ffi::context::isoc_context_options;
use isocenter::ffi::mri::*;

/// Relative l2 error of plans whose options leave it alone.
fn usual(double: bool) -> f64 {
    if double { 1e-9 } else { 1e-5 }
}

/// Spokes of 16 samples in golden angles, turned by so many radians.
fn star(count: usize, turned: f64) -> Vec<[f64; 2]> {
    let spoke = |s: usize| {
        let (sin, cos) = (2.399_963 * s as f64 + turned).sin_cos();
        (0..16).map(move |r| (f64::from(r) - 8.0) / 16.0).map(move |k| [k * cos, k * sin])
    };
    (0..count).flat_map(spoke).collect()
}

fn cloud(count: usize, seed: u64) -> Vec<[f64; 2]> {
    points(count, 2, seed).iter().map(|[x, y, _]| [*x, *y]).collect()
}

/// Plane by plane, with kz = (bin + offset) / length.
fn stack(length: usize, planes: &[(f64, Vec<[f64; 2]>)]) -> Vec<[f64; 3]> {
    planes.iter().flat_map(|(bin, of)| of.iter().map(move |[x, y]| [*x, *y, bin / length as f64])).collect()
}

fn stack_of_same(length: usize, bins: &[f64], of: Vec<[f64; 2]>) -> Vec<[f64; 3]> {
    stack(length, &bins.iter().map(|bin| (*bin, of.clone())).collect::<Vec<_>>())
}

/// From `first` to its end, one after the other.
fn bins(first: f64, count: usize) -> Vec<f64> {
    (0..count).map(|p| first + p as f64).collect()
}

/// [spoke][plane][readout], from [plane][spoke][readout].
fn spoke_by_spoke(k: &[[f64; 3]], planes: usize) -> Vec<[f64; 3]> {
    let spokes = k.len() / planes / 16;
    (0..k.len()).map(|m| k[m / 16 % planes * spokes * 16 + m / (16 * planes) * 16 + m % 16]).collect()
}

struct Case {
    name: &'static str,
    grid: [usize; 3],
    k: Vec<[f64; 3]>,
    /// Of the transform along z.
    length: i64,
}

fn cases() -> Vec<Case> {
    let even = stack_of_same(8, &bins(-4.0, 8), star(9, 0.3));
    let shuffled = {
        let k = stack_of_same(8, &[2.0, -4.0, -3.0, 0.0, 1.0, 0.0], cloud(70, 5));
        // 17 has no factor in common with 420.
        (0..k.len()).map(|m| k[m * 17 % k.len()]).collect()
    };
    let turned = |every: usize| (0..9).map(|p| (p as f64 - 4.0, star(7, 0.7 * (p % every) as f64))).collect::<Vec<_>>();
    // Neither in f32 nor in bins without an offset.
    let rounded =
        stack_of_same(10, &bins(-4.8, 10), star(9, 0.1)).iter().map(|k| k.map(|v| f64::from(v as f32))).collect();
    let (grid, odd) = ([8, 12, 14], [9, 14, 11]);
    vec![
        Case { name: "stars", grid, k: even.clone(), length: 8 },
        Case { name: "stars, spoke by spoke", grid, k: spoke_by_spoke(&even, 8), length: 8 },
        Case { name: "half an offset", grid, k: stack_of_same(8, &bins(-3.5, 8), star(9, 0.0)), length: 8 },
        Case { name: "planes missing, one twice, shuffled", grid, k: shuffled, length: 8 },
        Case { name: "every plane turned", grid: odd, k: stack(9, &turned(9)), length: 9 },
        Case { name: "two kinds of planes", grid: odd, k: stack(9, &turned(2)), length: 9 },
        Case {
            name: "denser planes, an offset",
            grid,
            k: stack_of_same(12, &bins(-5.7, 12), cloud(60, 7)),
            length: 12,
        },
        Case {
            name: "fewer planes",
            grid,
            k: spoke_by_spoke(&stack_of_same(5, &bins(-2.0, 5), star(9, 0.2)), 5),
            length: 10,
        },
        Case { name: "one plane", grid, k: stack_of_same(8, &[1.3], cloud(90, 8)), length: 8 },
        Case { name: "rounded", grid: [10, 12, 14], k: rounded, length: 10 },
    ]
}

/// Each coil's part of all, and the worst of them; terms are random, so that none cancel.
fn worst(seen: &[C], expected: &[C], parts: usize) -> f64 {
    let part = seen.len() / parts;
    seen.chunks(part).zip(expected.chunks(part)).map(|(a, b)| error(a, b)).fold(0.0, f64::max)
}

/// Against sums in f64, each other's transpose but for rounding, as in the suite, and the same bits again. 6 coils of 8 planes are 48
/// images, from which on a GPU takes lines.
#[test]
fn stacks_keep_the_tolerance() {
    let Some(device) = device() else { return };
    for Case { name, grid, k, length } in cases() {
        for (double, coils, maps) in
            [(false, 1, false), (false, 2, true), (false, 6, false), (true, 1, false), (true, 3, true)]
        {
            // f32 is not near enough to 1e-9 to be moved.
            let length = if double && name == "rounded" { 0 } else { length };
            let mut scan = Scan::new(device, grid, k.clone(), coils, double);
            if maps {
                scan.set_maps(random(coils * scan.voxels(), 1));
            }
            scan.options(|o| o.method = u32::from(coils > 1));
            let (image, samples) = (random(scan.images * scan.voxels(), 2), random(coils * k.len(), 3));
            let case = format!("{name}: {grid:?}, {coils} coils, maps {maps}, double {double}");
            let run = || (scan.forward(&image), scan.to_image(isoc_mri_adjoint, &samples));
            let (forward, adjoint) = run();
            assert!((&forward, &adjoint) == (&run().0, &run().1), "{case}: other bits");
            let info = scan.info();
            assert!(info.fine_nz == length || length == 0 && info.fine_nz > grid[0] as i64, "{case}: {}", info.fine_nz);
            assert!(info.fine_ny > grid[1] as i64 && info.fine_nx > grid[2] as i64, "{case}");
            let errors = [
                worst(&forward, &scan.exact_forward(&image), coils),
                worst(&adjoint, &scan.exact_adjoint(&samples), scan.images),
            ];
            println!("{case}: {:.1e} {:.1e}", errors[0], errors[1]);
            assert!(errors.iter().all(|e| *e <= usual(double)), "{case}: {errors:?}");
            let norm = |v: &[C]| dot(v, v).re.sqrt();
            let apart = (dot(&forward, &samples) - dot(&image, &adjoint)).norm() / (norm(&forward) * norm(&samples));
            let rounding = if double { 1e-12 } else { 1e-6 };
            assert!(apart <= rounding, "{case}: {apart:.1e} from adjoint");
        }
    }
}

/// At every tolerance, and with an upsampling that is asked for; 1e-2 moves samples the farthest.
#[test]
fn tolerances_and_upsamplings_are_kept() {
    let Some(device) = device() else { return };
    let (grid, k) = ([8, 12, 14], stack_of_same(8, &bins(-4.0, 8), star(9, 0.3)));
    // At the loosest tolerances kz may be off its plane by a part of that.
    let off = |tolerance: f64| 0.4 * tolerance / (std::f64::consts::TAU * 8.0 / 12f64.sqrt());
    for (double, tolerance, upsampling) in
        [(false, 1e-2, 0.0), (false, 1e-3, 2.0), (false, 3e-6, 0.0), (true, 1e-6, 1.25), (true, 1e-11, 0.0)]
    {
        let k: Vec<_> = (0..k.len()).map(|m| [k[m][0], k[m][1], k[m][2] + off(tolerance) * (m % 2) as f64]).collect();
        // Beyond an end there is nothing.
        let scan = Scan::new(device, grid, k.iter().map(|k| k.map(|v| v.clamp(-0.5, 0.5))).collect(), 2, double);
        scan.options(|o| (o.method, o.tolerance, o.upsampling) = (1, tolerance, upsampling));
        let (image, samples) = (random(2 * scan.voxels(), 2), random(2 * k.len(), 3));
        let errors = [
            error(&scan.forward(&image), &scan.exact_forward(&image)),
            error(&scan.to_image(isoc_mri_adjoint, &samples), &scan.exact_adjoint(&samples)),
        ];
        println!("{tolerance:e}: {:.1e} {:.1e}", errors[0], errors[1]);
        assert!(errors.iter().all(|e| *e <= tolerance), "{tolerance:e}: {errors:?}");
        assert_eq!(scan.info().fine_nz, 8);
    }
}

/// A sample that is off its plane leaves none, and the same sums: each side is off by its tolerance, F^H F by 5, as in the suite. By 1e-5 of
/// a turn a voxel its phases are off by up to 2 pi 4e-5, 2.6e-4; of 1152 samples it is one: 7.4e-6 of all, twice that there and back.
#[test]
fn stacks_and_other_samples_agree() {
    let Some(device) = device() else { return };
    let k = spoke_by_spoke(&stack_of_same(8, &bins(-4.0, 8), star(9, 0.3)), 8);
    for normal in [1, 2] {
        let run = |off: f64| {
            let mut k = k.clone();
            k[1000][2] += off;
            let mut scan = Scan::new(device, [8, 12, 14], k, 3, false);
            scan.set_maps(random(3 * scan.voxels(), 4));
            scan.set_weights((0..scan.k.len()).map(|m| 0.2 + (m % 7) as f64).collect());
            scan.options(|o| (o.normal, o.iterations) = (normal, 3));
            let (image, samples) = (random(scan.voxels(), 5), random(3 * scan.k.len(), 6));
            let all = [scan.forward(&image), scan.to_image(isoc_mri_adjoint, &samples), scan.normal(&image)];
            (scan.info().fine_nz, all)
        };
        let ((length, stack), (other, rest)) = (run(0.0), run(1e-5));
        assert!(length == 8 && other > 8, "{length} {other}");
        let allowed = [2.0, 2.0, 10.0].map(|times| times * usual(false) + 2.0 * 7.4e-6);
        for ((seen, expected), allowed) in stack.iter().zip(&rest).zip(allowed) {
            let e = error(seen, expected);
            assert!(e <= allowed && e > 0.0, "normal {normal}: {e:.1e} of {allowed:.1e}");
        }
    }
}

/// Q of a stack, whose differences are a stack on twice the planes, or none: against pairs of sums by the model, 5 tolerances as in the suite.
#[test]
fn q_of_a_stack_is_the_normal_operator() {
    let Some(device) = device() else { return };
    for Case { name, grid, k, .. } in cases() {
        for (double, normal) in [(false, 1), (true, 1), (true, 2)] {
            let mut scan = Scan::new(device, grid, k.clone(), 1, double);
            scan.set_weights((0..k.len()).map(|m| (m % 7) as f64 * 0.3).collect());
            scan.options(|o| o.normal = normal);
            let image = random(scan.voxels(), 18);
            let mut samples = scan.exact_forward(&image);
            samples.iter_mut().enumerate().for_each(|(m, s)| *s *= (m % 7) as f64 * 0.3);
            let e = error(&scan.normal(&image), &scan.exact_adjoint(&samples));
            println!("{name}, double {double}, normal {normal}: {e:.1e}");
            assert!(e <= 5.0 * usual(double), "{name}, double {double}, normal {normal}: {e:.1e}");
        }
    }
}

/// A field is a sum of products, each of which is a stack's: 300 Hz over 20 ms are 6 turns. Single precision adds rounding of sums, 2e-6, as
/// in the suite.
#[test]
fn stacks_have_fields() {
    let Some(device) = device() else { return };
    let k = stack_of_same(8, &bins(-3.5, 8), star(9, 0.3));
    for (double, maps) in [(false, false), (false, true), (true, true)] {
        let mut scan = Scan::new(device, [8, 12, 14], k.clone(), 2, double);
        let n = scan.voxels();
        let seconds = (0..k.len()).map(|m| 1.25e-3 * (m % 16) as f64).collect();
        scan.set_field(random(n, 73).iter().map(|v| 150.0 * v.re + 40.0).collect(), seconds);
        if maps {
            scan.set_maps(random(2 * n, 75));
        }
        let (image, samples) = (random(scan.images * n, 76), random(2 * k.len(), 77));
        let errors = [
            error(&scan.forward(&image), &scan.exact_forward(&image)),
            error(&scan.to_image(isoc_mri_adjoint, &samples), &scan.exact_adjoint(&samples)),
        ];
        let bound = if double { 1e-9 } else { 1e-5 + 2e-6 };
        assert!(errors.iter().all(|e| *e <= bound), "double {double}, maps {maps}: {errors:?}");
        assert_eq!(scan.info().fine_nz, 8);
    }
}

/// Of the processor; a GPU's kernels have one number of them anyway.
#[test]
fn threads_change_no_bits() {
    let Some(device) = device() else { return };
    for Case { name, grid, k, .. } in cases() {
        for double in [false, true] {
            let run = |threads| {
                let options = isoc_context_options { threads, ..on(device) };
                let scan = Scan::with(&options, grid, k.clone(), 2, double);
                let (image, samples) = (random(2 * scan.voxels(), 2), random(2 * k.len(), 3));
                (scan.forward(&image), scan.to_image(isoc_mri_adjoint, &samples))
            };
            assert!(run(1) == run(3), "{name}, double {double}");
        }
    }
}

/// Under a cap below what eight planes side by side take there are fewer, with the same bits.
#[test]
fn a_cap_takes_fewer_planes_at_a_time() {
    let Some(device) = device() else { return };
    let k = spoke_by_spoke(&stack_of_same(8, &bins(-4.0, 8), star(60, 0.0)), 8);
    let run = |memory_cap| {
        let options = isoc_context_options { memory_cap, ..on(device) };
        let scan = Scan::with(&options, [8, 90, 90], k.clone(), 1, false);
        scan.options(|o| o.method = 1);
        let (image, samples) = (random(scan.voxels(), 2), random(k.len(), 3));
        let mut bytes = 0;
        // SAFETY: a plan, and room for a number.
        ok(unsafe { isoc_mri_memory(scan.mri, &mut bytes) });
        (bytes, [scan.forward(&image), scan.to_image(isoc_mri_adjoint, &samples)])
    };
    let (bytes, expected) = run(0);
    for less in [1, 500_000] {
        assert!(run(bytes - less).1 == expected, "{less} bytes less than {bytes}");
    }
}
