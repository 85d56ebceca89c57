//! Arrays on the host, and what a panic leaves behind.

use super::*;
use crate::basis::Basis;
use crate::engine::{Imaginary, Purpose};
use crate::penalty::Solver;
use crate::reach::Unit;
use crate::trajectory::Trajectory;
use crate::transform::Method;
use isocenter_base::array::{DType, Layout};
use isocenter_base::context::{Compute, ContextOptions};
use isocenter_base::gpu::DeviceMemory;
use isocenter_solve::Stop;
use std::panic::{AssertUnwindSafe, catch_unwind};

fn engine(device: &Arc<Device>) -> (Arc<Context>, GpuEngine<f32>) {
    let options = ContextOptions { compute: Compute::Gpus(vec![0]), ..ContextOptions::default() };
    let context = Arc::new(Context::new(options).expect("a context"));
    let trajectory = Trajectory::new(&[0.1, 0.2, -0.3, 0.4], Unit::CyclesPerVoxel, [1, 8, 8], 2).expect("a trajectory");
    let engine =
        GpuEngine::new(&context, device, &[], Scan::new([1, 8, 8], 1, Arc::new(trajectory))).expect("an engine");
    (context, engine)
}

#[test]
fn host_arrays_are_the_same_wherever_they_lie() {
    type C = Complex<f32>;
    // Several parts of a staged copy; what is not finite lies in the last one.
    const SHAPE: [usize; 2] = [3, 100_000];
    const COUNT: usize = SHAPE[0] * SHAPE[1];
    const UNTOUCHED: C = Complex::new(-7.0, 7.0);
    let Some(device) = isocenter_base::gpu::testing::gpu() else { return };
    let (context, mut engine) = engine(&device);
    let bytes = COUNT * size_of::<C>();
    let (pinned_in, pinned_out) =
        (context.host_memory(bytes).expect("memory"), context.host_memory(bytes).expect("memory"));
    let (mut ordinary_in, mut ordinary_out) = (vec![C::default(); 2 * COUNT], vec![C::default(); 2 * COUNT]);
    let strides = |gap: usize| [(gap * SHAPE[1]) as isize, gap as isize];
    for (bad, policy) in [(false, NanPolicy::Error), (true, NanPolicy::Error), (true, NanPolicy::Replace)] {
        let value = |k: usize| match k {
            290_001 if bad => Complex::new(1.0, f32::NAN),
            290_007 if bad => Complex::new(f32::INFINITY, 0.0),
            k => Complex::new(k as f32, -(k as f32)),
        };
        for (source, gap_in) in
            [(pinned_in.data().cast(), 1), (ordinary_in.as_mut_ptr(), 1), (ordinary_in.as_mut_ptr(), 2)]
        {
            for (target, gap_out) in
                [(pinned_out.data().cast::<C>(), 1), (ordinary_out.as_mut_ptr(), 1), (ordinary_out.as_mut_ptr(), 2)]
            {
                for k in 0..COUNT {
                    // SAFETY: both have room for as many elements with a gap.
                    unsafe {
                        source.add(k * gap_in).write(value(k));
                        target.add(k * gap_out).write(UNTOUCHED);
                    }
                }
                // SAFETY: as above; the arrays are apart, and nobody else uses them.
                let (from, mut to) = unsafe {
                    (
                        Array::from_raw(source.cast(), DType::C64, SHAPE, strides(gap_in), None),
                        ArrayMut::from_raw(target.cast(), DType::C64, SHAPE, strides(gap_out), None),
                    )
                };
                let result = engine.within(&context, |e| {
                    let vector = e.read(&from, "samples", policy)?;
                    e.write(&vector, &mut to)?;
                    Ok(e.replaced())
                });
                let case = format!("gaps {gap_in} and {gap_out}, {bad}, {policy:?}");
                let fails = bad && policy == NanPolicy::Error;
                match &result {
                    Ok(replaced) => assert_eq!((fails, *replaced), (false, if bad { 2 } else { 0 }), "{case}"),
                    Err(e) => assert!(fails && e.message.starts_with("samples[2, 90001] is 1 + NaNi;"), "{case}: {e}"),
                }
                for k in 0..COUNT {
                    let expected = match value(k) {
                        _ if fails => UNTOUCHED,
                        v if v.re.is_finite() && v.im.is_finite() => v,
                        _ => C::default(),
                    };
                    // SAFETY: as above.
                    let seen = unsafe { target.add(k * gap_out).read() };
                    assert_eq!(seen, expected, "{case}, element {k}");
                }
            }
        }
    }
}

/// A plan whose coils are shared out among engines on the same GPU computes what one alone does, transforms, Q, frames and a basis included.
#[test]
fn peers_take_some_of_the_coils() {
    const GRID: [usize; 3] = [6, 10, 8];
    const COILS: usize = 5;
    const SAMPLES: usize = 300;
    let Some(device) = isocenter_base::gpu::testing::gpu() else { return };
    let random = |count: usize, seed| isocenter_base::gpu::testing::random(count, seed);
    let options = ContextOptions { compute: Compute::Gpus(vec![0]), ..ContextOptions::default() };
    let context = Arc::new(Context::new(options).expect("a context"));
    let voxels: usize = GRID.iter().product();
    let points: Vec<f64> = random(3 * SAMPLES, 1).iter().map(|v| v.re / 10.0).collect();
    let trajectory = Arc::new(Trajectory::new(&points, Unit::CyclesPerVoxel, GRID, 3).expect("a trajectory"));
    let fourier = Fourier { method: Method::Fast, tolerance: 1e-5, upsampling: None, hardware_sines: false };
    let (maps, weights) = (random(COILS * voxels, 2), vec![0.5; SAMPLES]);
    let basis: Vec<Complex<f64>> = random(2 * SAMPLES, 5);
    for images in [1, 2] {
        let (image, data) = (random(images * voxels, 3), random(COILS * SAMPLES, 4));
        let results = |others: usize| {
            let scan = || Scan::new(GRID, COILS, trajectory.clone());
            let mut engine = GpuEngine::<f32>::new(&context, &device, &[], scan()).expect("an engine");
            let devices = vec![device.clone(); others];
            engine.peers = Peers::of(&context, &device, &devices, &scan()).expect("peers");
            let solve = Solve { toeplitz: true, purpose: Purpose::Solution, ..SOLVE };
            let run = |e: &mut GpuEngine<f32>, job: &Job| {
                let maps = e.upload(&maps)?;
                e.set_maps(Some(maps))?;
                e.set_weights(Some(weights.clone()))?;
                if images > 1 {
                    let basis = Basis::new(basis.clone(), images, None, SAMPLES)?;
                    e.set_effects(Effects { basis: Some(Arc::new(basis)), ..Effects::default() });
                }
                e.check_memory(&context, &fourier, &solve)?;
                e.prepare(&fourier)?;
                e.prepare_q(&fourier, job)?;
                let (x, y) = (e.upload(&image)?, e.upload(&data)?);
                let mut samples = e.vectors().uninitialised(COILS * SAMPLES)?;
                let mut adjoint = e.vectors().uninitialised(images * voxels)?;
                let mut product = e.vectors().uninitialised(images * voxels)?;
                e.forward(&x, &mut samples, &mut |_| Ok(()))?;
                e.adjoint(&y, &mut adjoint, &mut |_| Ok(()))?;
                e.apply_q(&x, &mut product, job)?;
                let mut pair = e.vectors().uninitialised(images * voxels)?;
                let mut room = e.vectors().uninitialised(COILS * SAMPLES)?;
                e.apply_pair(&x, &mut room, &mut pair, job)?;
                // Another Q goes to the peers, too.
                e.set_weights(None)?;
                e.prepare_q(&fourier, job)?;
                let mut other = e.vectors().uninitialised(images * voxels)?;
                e.apply_q(&x, &mut other, job)?;
                [&samples, &adjoint, &product, &pair, &other].iter().map(|v| e.download(v)).collect::<Result<Vec<_>>>()
            };
            engine.run(&context, run).expect("success")
        };
        let alone = results(0);
        for others in [1, 2, 7] {
            for (part, (seen, expected)) in results(others).iter().zip(&alone).enumerate() {
                // Sums over coils in another order, of f32.
                let error = isocenter_base::gpu::testing::error(seen, expected);
                assert!(error < 1e-6, "{images} images, {others} others, result {part}: {error:e}");
            }
        }
    }
}

/// Where nothing but the memory that is asked for depends on it.
const SOLVE: Solve = Solve {
    stop: Stop { iterations: 1, tolerance: 0.0 },
    lambda: 0.0,
    penalty: Penalty::Identity,
    solver: Solver::ConjugateGradient,
    toeplitz: true,
    or_pairs: false,
    warm_start: false,
    imaginary: Imaginary::Free,
    purpose: Purpose::Solution,
    frames: 1,
    besides: 0,
    holds_samples: true,
};

#[test]
fn after_a_panic_nothing_of_the_call_is_left() {
    let Some(device) = isocenter_base::gpu::testing::gpu() else { return };
    let (context, mut engine) = engine(&device);
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
