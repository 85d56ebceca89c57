//! Q from one device for the other.

use super::array::same;
use super::scan::*;
use super::{device, unit_roundoff, usual_tolerance};
use isocenter::ffi::mri::*;

fn info(scan: &Scan) -> isoc_mri_info {
    // SAFETY: all zero is valid, and the pointer too.
    unsafe {
        let mut info: isoc_mri_info = std::mem::zeroed();
        info.struct_size = size_of::<isoc_mri_info>() as u32;
        ok(isoc_mri_get_info(scan.mri, &mut info));
        info
    }
}

fn export(scan: &Scan) -> (Vec<f64>, [i64; 3]) {
    ok(isoc_mri_compute_q(scan.mri));
    let info = info(scan);
    let shape = [info.q_nz, info.q_ny, info.q_nx];
    let mut q = vec![f64::NAN; shape.iter().product::<i64>() as usize];
    // SAFETY: valid pointers.
    ok(unsafe { isoc_mri_export_q(scan.mri, &output(&mut q, &shape)) });
    (q, shape)
}

/// Of F^H W F, for 4 random samples a voxel with weights of 0.8 to 1.2: the squares of 1 +- sqrt(1 / 4) are 9 apart (Marchenko and
/// Pastur), weights make that 13.5, and so small a problem strays some.
const CONDITION: f64 = 20.0;

/// With one Q both devices apply one operator, up to the rounding of two transforms, each of some log2(points) = 10 steps that
/// err at random: sqrt(20) unit round-offs, on two devices sqrt(2) as much, and twice that for the spread of Q: 13, so 16. With a
/// Q of its own each is off by its tolerance besides. Solutions differ by the condition times what the right-hand sides (adjoint
/// transforms to the tolerance on both sides) and the residuals at the end differ.
#[test]
fn q_of_one_device_serves_the_other() {
    let Some(_) = device() else { return };
    for grid in [[1, 15, 14], [6, 7, 9]] {
        let n: usize = grid.iter().product();
        let dims = if grid[0] == 1 { 2 } else { 3 };
        for double in [false, true] {
            let scan = |device| {
                let mut scan = Scan::new(device, grid, points(4 * n, dims, 1), 2, double);
                scan.set_weights((0..4 * n).map(|m| 0.8 + 0.1 * (m % 5) as f64).collect());
                scan.options(|o| (o.iterations, o.residual) = (60, if double { 1e-10 } else { 1e-6 }));
                scan
            };
            let (image, samples) = (random(2 * n, 2), random(8 * n, 3));
            for (maker, taker) in [(PROCESSOR, GPU), (GPU, PROCESSOR)] {
                let case = format!("{grid:?}, double {double}, from device {maker} to {taker}");
                let (maker, taker) = (scan(maker), scan(taker));
                let (q, shape) = export(&maker);
                let own = taker.normal(&image);
                // SAFETY: valid pointers.
                ok(unsafe { isoc_mri_import_q(taker.mri, &tensor(&q, &shape)) });
                let (again, _) = export(&taker);
                assert!(q.iter().zip(&again).all(|(a, b)| a.to_bits() == b.to_bits()), "{case}: kept as it is");
                let (seen, expected) = (taker.normal(&image), maker.normal(&image));
                let e = error(&seen, &expected);
                println!("{case}: normal {e:.1e}");
                assert!(e <= 16.0 * unit_roundoff(double), "{case}: {e:.1e}");
                // Transforms for Q to the tolerance on both sides; of F^H W F it is a few times that (as in the suite).
                let e = error(&own, &expected);
                assert!(e <= 10.0 * usual_tolerance(double), "{case}, each its own: {e:.1e}");
                let solve = |scan: &Scan| scan.to_image(isoc_mri_reconstruct, &samples);
                let e = error(&solve(&taker), &solve(&maker));
                println!("{case}: solution {e:.1e}");
                let residual = if double { 1e-10 } else { 1e-6 };
                assert!(e <= CONDITION * 2.0 * (usual_tolerance(double) + residual), "{case}: {e:.1e}");
                assert!(*taker.history(1).last().expect("residuals") <= residual, "{case}");
            }
        }
    }
}

/// A plan that imports its own Q has changed nothing.
#[test]
fn a_q_of_ones_own_changes_no_bit() {
    let Some(_) = device() else { return };
    for double in [false, true] {
        let scan = Scan::new(GPU, [5, 8, 6], points(700, 3, 4), 1, double);
        let image = random(240, 5);
        let (q, shape) = export(&scan);
        let expected = scan.normal(&image);
        // SAFETY: valid pointers.
        ok(unsafe { isoc_mri_import_q(scan.mri, &tensor(&q, &shape)) });
        assert!(same(&scan.normal(&image), &expected), "double {double}");
    }
}
