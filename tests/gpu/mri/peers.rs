//! Coils and frames shared out among GPUs.

use super::scan::*;
use super::sets::set_maps;
use super::shots::set_shots;
use super::{device, unit_roundoff};
use isocenter::array::{Array, ArrayMut};
use isocenter::context::{Compute, Context, ContextOptions};
use isocenter::ffi::context::isoc_context_options;
use isocenter::ffi::mri::*;
use isocenter::mri::{Geometry, Mri, Options, Penalty, Precision, Trajectory, Unit};
use std::sync::Arc;

/// Each coil's transform is the same wherever it is computed; sums over coils have another order, with a rounding a coil. A solution's two
/// iterations make more of them: the second one's direction is a difference of images, which are alike to a tenth or so.
#[test]
fn several_gpus_give_what_one_gives() {
    let Some(_) = device() else { return };
    // As large as it takes for coils to be shared out.
    const GRID: [usize; 3] = [16, 64, 64];
    const COILS: usize = 128;
    const SAMPLES: usize = 3000;
    let n: usize = GRID.iter().product();
    let samples = random(COILS * SAMPLES, 2);
    let all: Vec<i32> = super::super::several().into_iter().map(|g| g as i32).collect();
    if all.windows(2).all(|pair| pair[0] == pair[1]) {
        // The C interface takes each once; engines that share one GPU are tested in the library.
        return;
    }
    // Of two sets of sensitivities, samples are of two shots, too.
    for (double, normal, sets) in
        [(false, 1, 1), (false, 2, 1), (true, 1, 1), (true, 2, 1), (false, 1, 2), (true, 1, 2), (true, 2, 2)]
    {
        let image = random(sets * n, 1);
        let run = |gpus: &[i32]| {
            let options = isoc_context_options { gpus: gpus.as_ptr(), gpu_count: gpus.len() as i64, ..on(GPU) };
            let mut scan = Scan::with(&options, GRID, points(SAMPLES, 3, 3), COILS, double);
            set_maps(&mut scan, &random(sets * COILS * n, 4));
            if sets > 1 {
                let shots: Vec<i64> = (0..SAMPLES as i64).map(|m| m / 100 % 2).collect();
                ok(set_shots(&scan, &shots, &random(2 * n, 5), 2));
            }
            scan.set_weights((0..SAMPLES).map(|m| 0.5 + (m % 7) as f64 / 10.0).collect());
            scan.options(|o| (o.normal, o.iterations, o.residual) = (normal, 2, 1e-30));
            let solution = scan.to_image(isoc_mri_reconstruct, &samples);
            [
                ("forward", scan.forward(&image)),
                ("adjoint", scan.to_image(isoc_mri_adjoint, &samples)),
                ("gridding", scan.to_image(isoc_mri_gridding, &samples)),
                ("normal", scan.normal(&image)),
                ("solution", solution),
            ]
        };
        let allowed = 4.0 * COILS as f64 * unit_roundoff(double);
        for ((name, seen), (_, expected)) in run(&all).iter().zip(&run(&all[..1])) {
            let e = error(seen, expected);
            let allowed = if *name == "solution" { 10.0 * allowed } else { allowed };
            println!("double {double}, normal {normal}, sets {sets}: {name} {e:.1e} of {allowed:.1e}");
            assert!(e <= allowed, "{all:?}, double {double}, normal {normal}, sets {sets}: {name} {e:.2e}");
        }
    }
}

/// A frame is computed on one GPU, in the same way on any: of the same numbers, but for the order of sums over coils, which goes with the
/// memory that there is.
#[test]
fn frames_on_several_gpus_are_those_of_one() {
    let Some(_) = device() else { return };
    const GRID: [usize; 3] = [1, 64, 64];
    // As large as it takes for frames to be shared out.
    const COILS: usize = 32;
    const FRAMES: usize = 72;
    const EACH: usize = 40;
    const SAMPLES: usize = FRAMES * EACH;
    let voxels: usize = GRID.iter().product();
    let (d, maps) = (random(COILS * SAMPLES, 2), random(COILS * voxels, 4));
    let k: Vec<f64> = points(SAMPLES, 2, 3).iter().flat_map(|p| p[..2].to_vec()).collect();
    let weights: Vec<f64> = (0..SAMPLES).map(|m| 0.5 + (m % 7) as f64 / 10.0).collect();
    let first: Vec<i64> = (0..FRAMES).map(|f| (f * EACH) as i64).collect();
    let (squares, ends): (Vec<f64>, _) = ((0..2 * voxels).map(|v| 1.0 + (v % 3) as f64).collect(), [0, 1, 2]);
    for (precision, mapped) in [(Precision::Single, true), (Precision::Double, true), (Precision::Single, false)] {
        let run = |gpus: Vec<usize>| {
            let options = ContextOptions { compute: Compute::Gpus(gpus), ..ContextOptions::default() };
            let mut mri = Mri::new(Arc::new(Context::new(options).expect("a context")));
            let trajectory = Trajectory::new(&k, Unit::CyclesPerVoxel, GRID, 2).expect("a trajectory");
            mri.set_geometry(Geometry { grid: GRID, coils: COILS, precision }, trajectory).expect("a geometry");
            mri.set_weights(Some(Array::of(&weights, [SAMPLES]).expect("weights"))).expect("weights");
            let of_maps = || Array::of(&maps, [1, COILS, GRID[0], GRID[1], GRID[2]]).expect("maps");
            mri.set_maps(mapped.then(of_maps)).expect("maps");
            mri.set_frames(&first, &[EACH as i64; FRAMES]).expect("frames");
            let count = mri.images().expect("a plan");
            let shape = [count, GRID[0], GRID[1], GRID[2]];
            let samples = || Array::of(&d, [COILS, SAMPLES]).expect("samples");
            let image = random(count * voxels, 5);
            let mut all = Vec::new();
            let mut keep = |name: &'static str, run: &mut dyn FnMut(ArrayMut<4>)| {
                let mut out = image.clone();
                run(ArrayMut::of(&mut out, shape).expect("an image"));
                all.push((name, out));
            };
            keep("adjoint", &mut |to| mri.adjoint(samples(), to).expect("adjoint"));
            keep("gridding", &mut |to| mri.gridding(samples(), to).expect("gridding"));
            let from = || Array::of(&image, shape).expect("an image");
            let mut through = vec![C::default(); COILS * SAMPLES];
            mri.forward(from(), ArrayMut::of(&mut through, [COILS, SAMPLES]).expect("samples")).expect("forward");
            // What is set later reaches all of them.
            mri.set_difference_weights(Some(Array::of(&squares, [2, 1, GRID[1], GRID[2]]).expect("weights")))
                .expect("weights");
            let set = |mri: &mut Mri, penalty, iterations, warm_start| {
                let options =
                    Options { penalty, lambda: 3.0, iterations, residual: 1e-30, warm_start, ..Options::default() };
                mri.set_options(options).expect("options");
            };
            set(&mut mri, Penalty::Differences, 2, false);
            keep("normal", &mut |to| mri.normal(from(), to).expect("normal"));
            keep("solution", &mut |to| mri.reconstruct(samples(), to).expect("reconstruct"));
            let history: Vec<f64> = mri.solutions().iter().map(|s| s.residuals[2]).collect();
            set(&mut mri, Penalty::Differences, 1, true);
            keep("going on", &mut |to| mri.reconstruct(samples(), to).expect("reconstruct"));
            let values = [C::new(2.0, 0.0), C::new(0.0, 1.0)];
            mri.set_matrix(&ends, &[5, 9], Array::of(&values, [2]).expect("values")).expect("a matrix");
            set(&mut mri, Penalty::Matrix, 2, false);
            keep("another penalty", &mut |to| mri.reconstruct(samples(), to).expect("reconstruct"));
            // A mistake in the data is told of, and leaves the plan as it is.
            let mut bad = d.clone();
            bad[SAMPLES + 900] = C::new(f64::NAN, 0.0);
            let mut out = image.clone();
            let failed = mri.gridding(
                Array::of(&bad, [COILS, SAMPLES]).expect("samples"),
                ArrayMut::of(&mut out, shape).expect("an image"),
            );
            assert!(failed.expect_err("not finite").message.starts_with("samples[1, 900] is NaN"));
            assert_eq!(out, image);
            keep("afterwards", &mut |to| mri.gridding(samples(), to).expect("gridding"));
            all.push(("forward", through));
            (all, history)
        };
        let several = super::super::several();
        let ((seen, history), (expected, of_one)) = (run(several.clone()), run(several[..1].to_vec()));
        let allowed = 4.0 * COILS as f64 * unit_roundoff(precision == Precision::Double);
        for ((name, seen), (_, expected)) in seen.iter().zip(&expected) {
            let e = error(seen, expected);
            // Three iterations at most, each with a product.
            assert!(e <= 10.0 * allowed, "{several:?}, {precision:?}, maps {mapped}: {name} {e:.2e}");
        }
        assert_eq!(history.len(), of_one.len());
        for (f, (a, b)) in history.iter().zip(&of_one).enumerate() {
            assert!((a / b - 1.0).abs() <= 100.0 * allowed, "{f}: {a:e} {b:e}");
        }
    }
}
