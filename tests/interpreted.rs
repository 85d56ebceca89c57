//! Small sessions of every modality on the processor, and handles shared by threads: little enough for Miri to interpret, which sees
//! undefined behaviour and races that a processor lets pass (`make miri`).

mod common;
#[path = "mri/scan.rs"]
mod mri;
#[path = "pet/scan.rs"]
mod pet;

use common::{on_processor, projection_len, random, scene, volume_len};
use isocenter::array::{Array, ArrayMut};
use isocenter::context::{Context, ContextOptions};
use isocenter::ct::{Ct, Geometry, Interpolation, Options};
use isocenter::error::Status;
use isocenter::ffi::context::*;
use isocenter::ffi::mri::*;
use isocenter::ffi::pet::*;
use std::ffi::{c_char, c_int, c_void};
use std::sync::Arc;

/// With a cap, so that nobody asks the system how much memory there is.
fn options() -> isoc_context_options {
    isoc_context_options { threads: 2, memory_cap: 64 << 20, ..mri::on(mri::PROCESSOR) }
}

#[test]
fn handles_serve_threads_until_one_destroys_them() {
    for _ in 0..2 {
        let scan = mri::Scan::with(&options(), [1, 4, 4], mri::points(5, 2, 1), 1, false);
        scan.options(|o| o.method = 2);
        // Handles are numbers.
        let (ctx, mri) = (scan.ctx.addr(), scan.mri.addr());
        let statuses: Vec<Status> = std::thread::scope(|s| {
            let user = |_| {
                s.spawn(move || {
                    let mut bytes = 0;
                    // SAFETY: a valid place; the handle is one, or was.
                    unsafe { isoc_mri_memory(std::ptr::without_provenance_mut(mri), &mut bytes) }
                })
            };
            let users: Vec<_> = (0..2).map(user).collect();
            let end = move || {
                let context = std::ptr::without_provenance_mut(ctx);
                (isoc_mri_destroy(std::ptr::without_provenance_mut(mri)), isoc_context_destroy(context))
            };
            let ender = s.spawn(end);
            assert_eq!(ender.join().expect("no panic"), (Status::Ok, Status::Ok));
            users.into_iter().map(|u| u.join().expect("no panic")).collect()
        });
        assert!(statuses.iter().all(|s| [Status::Ok, Status::InvalidHandle].contains(s)), "{statuses:?}");
        assert_eq!(isoc_mri_destroy(scan.mri), Status::InvalidHandle);
        std::mem::forget(scan);
    }
}

/// What a callback sees of the plan whose call it is in.
unsafe extern "C" fn call_again(user: *mut c_void, _: f64, _: *const c_char) -> c_int {
    // SAFETY: the session's own, which outlives the call.
    let (plan, seen) = unsafe { &mut *user.cast::<(*mut isoc_mri, Vec<Status>)>() };
    seen.push(isoc_mri_destroy(*plan));
    0
}

#[test]
fn a_plan_is_busy_in_its_own_callback() {
    let mut user: (*mut isoc_mri, Vec<Status>) = (std::ptr::null_mut(), Vec::new());
    let place = &raw mut user;
    let options = isoc_context_options { progress: Some(call_again), progress_user: place.cast(), ..options() };
    let scan = mri::Scan::with(&options, [1, 4, 4], mri::points(5, 2, 1), 1, false);
    scan.options(|o| o.method = 2);
    // SAFETY: no call is in progress.
    unsafe { (*place).0 = scan.mri };
    scan.forward(&mri::random(16, 1));
    // SAFETY: as above.
    let seen = unsafe { &(*place).1 };
    assert!(!seen.is_empty() && seen.iter().all(|s| *s == Status::Busy), "{seen:?}");
}

#[test]
fn ct_runs() {
    let options = ContextOptions { threads: 2, memory_cap: 64 << 20, ..on_processor() };
    let context = Arc::new(Context::new(options).expect("a context"));
    for rows in [1, 9] {
        let mut g = Geometry::new(scene::half_turn(3), 10).with_rows(rows);
        (g.nx, g.ny) = (7, 6);
        let (p, v) = (random(projection_len(&g), 1), random(volume_len(&g), 2));
        for interpolation in [Interpolation::Linear, Interpolation::Nearest, Interpolation::Oversampled] {
            let mut ct = Ct::new(context.clone());
            ct.set_geometry(g.clone()).expect("a geometry");
            ct.set_options(Options { interpolation, ..Options::default() }).expect("options");
            let (mut volume, mut out) = (v.clone(), p.clone());
            let from = || Array::new(&p, g.projection_shape()).expect("projections");
            let shape = g.volume_shape();
            ct.reconstruct(from(), ArrayMut::new(&mut volume, shape).expect("a volume")).expect("success");
            if interpolation == Interpolation::Linear {
                ct.adjoint(from(), ArrayMut::new(&mut volume, shape).expect("a volume")).expect("success");
                let to = ArrayMut::new(&mut out, g.projection_shape()).expect("room");
                ct.forward(Array::new(&v, shape).expect("a volume"), to).expect("success");
            }
        }
    }
}

#[test]
fn mri_runs() {
    for (method, normal) in [(1, 1), (2, 2)] {
        let scan = mri::Scan::with(&options(), [1, 6, 5], mri::points(9, 2, 1), 2, false);
        scan.options(|o| (o.method, o.normal, o.tolerance, o.iterations) = (method, normal, 1e-2, 1));
        let samples = scan.forward(&mri::random(2 * scan.voxels(), 2));
        let image = scan.to_image(isoc_mri_reconstruct, &samples);
        assert!(image.iter().all(|v| v.re.is_finite() && v.im.is_finite()));
    }
}

#[test]
fn pet_runs() {
    for projector in [1, 2] {
        let plan = pet::Plan::with(&options(), [2, 4, 3], [4.0; 3], &[[0.3, 0.0]]);
        plan.set_response(&pet::response(20.0, 4.0, 4.0));
        plan.set_options(&isoc_pet_options { projector, iterations: 1, ..pet::sized() });
        let counts = pet::noise(plan.voxels(), 1);
        assert!(plan.adjoint(&[0], &plan.forward(&[0], &counts)).iter().all(|v| v.is_finite()));
    }
}
