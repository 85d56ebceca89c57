//! Coils shared out among GPUs.

use super::scan::*;
use super::{device, unit_roundoff};
use isocenter::ffi::context::isoc_context_options;
use isocenter::ffi::mri::*;

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
    let (image, samples) = (random(n, 1), random(COILS * SAMPLES, 2));
    let all: Vec<i32> = super::super::several().into_iter().map(|g| g as i32).collect();
    for (double, normal) in [(false, 1), (false, 2), (true, 1), (true, 2)] {
        let run = |gpus: &[i32]| {
            let options = isoc_context_options { gpus: gpus.as_ptr(), gpu_count: gpus.len() as i64, ..on(GPU) };
            let mut scan = Scan::with(&options, GRID, points(SAMPLES, 3, 3), COILS, double);
            scan.set_maps(random(COILS * n, 4));
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
            println!("double {double}, normal {normal}: {name} {e:.1e} of {allowed:.1e}");
            assert!(e <= allowed, "{all:?}, double {double}, normal {normal}: {name} {e:.2e}");
        }
    }
}
