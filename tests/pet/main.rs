//! PET on the processor.

use isocenter::error::Status;
use isocenter::ffi::context::isoc_context_options;
use isocenter::ffi::pet::{isoc_pet_memory, isoc_pet_options};

mod finite;
mod lines;
mod refused;
mod scan;
mod suite;

/// Where the suite's plans compute: isoc_context_options.device.
fn device() -> Option<u32> {
    Some(scan::PROCESSOR)
}

const VIEWS: [[f64; 2]; 3] = [[0.3, 0.0], [1.4, 0.1], [2.5, -0.1]];
const SHAPE: [usize; 3] = [9, 25, 27];

/// A reconstruction of a variant response, and the bytes that the plan asks for.
fn reconstruction(context: &isoc_context_options) -> (Vec<f32>, u64) {
    let plan = scan::Plan::with(context, SHAPE, [4.0; 3], &VIEWS);
    plan.set_response(&scan::widening(scan::response(120.0, 8.0, 8.0), &[[0.0, 8.0], [50.0, 12.0]]));
    plan.set_options(&isoc_pet_options { iterations: 2, ..scan::sized() });
    let measured = scan::noise(VIEWS.len() * plan.voxels(), 1);
    let image = plan.reconstruct(&measured, None, None);
    let mut bytes = 0;
    // SAFETY: valid pointers.
    scan::ok(unsafe { isoc_pet_memory(plan.pet, &mut bytes) });
    (image, bytes)
}

#[test]
fn results_do_not_depend_on_threads() {
    let on = |threads| isoc_context_options { threads, ..scan::on(scan::PROCESSOR) };
    let one = reconstruction(&on(1));
    for threads in [2, 5] {
        assert_eq!(reconstruction(&on(threads)), one, "{threads} threads");
    }
}

#[test]
fn kernels_that_do_not_fit_are_made_anew() {
    let capped = |memory_cap| isoc_context_options { memory_cap, ..scan::on(scan::PROCESSOR) };
    let (image, bytes) = reconstruction(&capped(1 << 30));
    // One kernel less than all of them, and room for one more being made.
    let (same, fewer) = reconstruction(&capped(bytes - 1));
    assert_eq!(same, image);
    assert!(fewer < bytes, "{fewer} {bytes}");

    let plan = scan::Plan::with(&capped(1 << 17), SHAPE, [4.0; 3], &VIEWS);
    plan.set_response(&scan::response(120.0, 8.0, 8.0));
    let (status, _) =
        plan.try_reconstruct(&vec![1.0f32; VIEWS.len() * plan.voxels()], None, None, &vec![0.0; plan.voxels()]);
    assert_eq!(status, Status::MemoryCap);
    assert!(scan::said().contains("memory_cap is 131072"), "{}", scan::said());
}
