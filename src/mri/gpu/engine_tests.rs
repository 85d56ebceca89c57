//! What a panic leaves behind.

use super::*;
use crate::array::{DType, Layout};
use crate::context::{Compute, ContextOptions};
use crate::gpu::DeviceMemory;
use crate::mri::trajectory::{Trajectory, Unit};
use std::panic::{AssertUnwindSafe, catch_unwind};

#[test]
fn after_a_panic_nothing_of_the_call_is_left() {
    let Some(device) = crate::gpu::fft::tests::gpu() else { return };
    let options = ContextOptions { compute: Compute::Gpus(vec![0]), ..ContextOptions::default() };
    let context = Arc::new(Context::new(options).expect("a context"));
    let trajectory = Trajectory::new(&[0.1, 0.2, -0.3, 0.4], Unit::CyclesPerVoxel, [1, 8, 8], 2).expect("a trajectory");
    let mut engine =
        GpuEngine::<f32>::new(&context, &device, Scan::new([1, 8, 8], 1, Arc::new(trajectory))).expect("an engine");
    let array = |values: &[f32; 4]| DeviceMemory::from_slice(&device, values).expect("memory");
    let layout = |memory: &DeviceMemory| Layout {
        gpu: Some(0),
        ..Layout::new(std::ptr::without_provenance(memory.address() as usize), DType::C64, [1, 2])
    };
    let (bad, good) = (array(&[1.0, f32::NAN, 0.0, 0.0]), array(&[1.0, 2.0, 0.0, 0.0]));
    let call = |engine: &mut GpuEngine<f32>, memory: &DeviceMemory, fails: bool| {
        engine.within(&context, |e| {
            // SAFETY: an array of the device's, of that shape.
            let array = unsafe { Array::over(layout(memory)) };
            let vector = e.read(&array, "samples", NanPolicy::Error)?;
            assert!(!fails, "a fault of the library's own");
            e.download(&vector)
        })
    };
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let panicked = catch_unwind(AssertUnwindSafe(|| call(&mut engine, &bad, true).map(drop)));
    std::panic::set_hook(hook);
    assert!(panicked.is_err(), "the panic goes on");
    assert!(engine.pending.is_empty(), "addresses of a call that has ended");
    drop(bad);
    // The array with a NaN is gone, and is no matter of the next call's.
    let seen = call(&mut engine, &good, false).expect("success");
    assert_eq!(seen, [Complex::new(1.0, 2.0), Complex::new(0.0, 0.0)]);
}
