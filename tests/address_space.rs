//! Calls of a process that may map no more memory: a status, never its end. The test runs itself again in a process of its own.
#![cfg(target_os = "linux")]

mod common;
#[path = "mri/scan.rs"]
mod mri;
#[path = "pet/scan.rs"]
mod pet;

use common::{on_processor, projection_len, random, scene, volume_len};
use isocenter::array::{Array, ArrayMut};
use isocenter::context::{Context, ContextOptions};
use isocenter::ct::{Ct, Geometry};
use isocenter::error::Status;
use isocenter::ffi::context::isoc_context_options;
use isocenter::ffi::mri::*;
use isocenter::ffi::pet::*;
use std::process::Command;
use std::sync::Arc;

const WITHIN: &str = "ISOCENTER_TEST_LIMITED";
const NAME: &str = "calls_without_address_space_give_a_status";

#[test]
fn calls_without_address_space_give_a_status() {
    if std::env::var_os(WITHIN).is_some() {
        return limited();
    }
    let program = std::env::current_exe().expect("this program");
    let run =
        Command::new(program).args(["--exact", NAME, "--nocapture"]).env(WITHIN, "1").output().expect("a process");
    let said = [run.stdout, run.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    assert!(run.status.success(), "{}: {}{}", run.status, said[0], said[1]);
    print!("{}", said[0]);
}

/// Bytes of address space in use.
fn in_use() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").expect("the process's size");
    // SAFETY: it only reads.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as u64;
    pages.split(' ').next().and_then(|n| n.parse::<u64>().ok()).expect("a number") * page
}

/// Runs a call with so much more address space than there is now.
fn with(more: u64, call: impl FnOnce() -> Status) -> Status {
    let mut old = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: a valid place.
    assert_eq!(unsafe { libc::getrlimit(libc::RLIMIT_AS, &mut old) }, 0);
    let limit = libc::rlimit { rlim_cur: (in_use() + more).min(old.rlim_max), ..old };
    // SAFETY: valid limits; pages that are mapped stay.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_AS, &limit) }, 0);
    let status = call();
    // SAFETY: as above.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_AS, &old) }, 0);
    status
}

/// Room for whatever is small; the arrays of the calls here are larger than the least of these.
const ROOM: [u64; 5] = [16 << 20, 40 << 20, 80 << 20, 160 << 20, 320 << 20];

/// With little room a call fails, with more it may work; without a limit it does, as before.
fn climb(name: &str, mut call: impl FnMut() -> Status) {
    let statuses: Vec<Status> = ROOM.iter().map(|more| with(*more, &mut call)).collect();
    println!("{name}: {statuses:?}");
    assert!(statuses.iter().all(|s| [Status::Ok, Status::OutOfMemory].contains(s)), "{name}: {statuses:?}");
    assert_eq!(statuses[0], Status::OutOfMemory, "{name}");
    assert_eq!(call(), Status::Ok, "{name}: {}", mri::said());
}

fn limited() {
    let context = isoc_context_options { threads: 2, ..mri::on(mri::PROCESSOR) };
    let (grid, count) = ([1, 1024, 1024], 1_200_000);
    let scan = mri::Scan::with(&context, grid, mri::points(count, 2, 1), 2, false);
    let image = vec![mri::C::new(1.0, 0.0); 2 * scan.voxels()];
    let mut samples = vec![mri::C::default(); 2 * count];
    let (of, to) = (mri::tensor(&image, &scan.image_shape()), mri::output(&mut samples, &scan.scan_shape()));
    let trajectory: Vec<f64> = scan.k.iter().flat_map(|k| [k[0], k[1]]).collect();
    let (geometry, k) = (scan.geometry(1, false), mri::tensor(&trajectory, &[count as i64, 2]));
    // SAFETY (of all calls): valid pointers to arrays of the geometry's sizes.
    #[allow(clippy::undocumented_unsafe_blocks)]
    {
        climb("isoc_mri_set_geometry", || unsafe { isoc_mri_set_geometry(scan.mri, &geometry, &k) });
        climb("isoc_mri_forward", || unsafe { isoc_mri_forward(scan.mri, &of, &to) });
        climb("isoc_mri_compute_q", || isoc_mri_compute_q(scan.mri));
    }
    drop((scan, image, samples, trajectory));

    // A single slice, which cannot be done in parts, from many views.
    let mut g = Geometry::new(scene::half_turn(3000), 3000);
    (g.nx, g.ny) = (2000, 2000);
    let mut ct = Ct::new(Arc::new(Context::new(ContextOptions { threads: 2, ..on_processor() }).expect("a context")));
    ct.set_geometry(g.clone()).expect("a geometry");
    let (p, mut v) = (random(projection_len(&g), 1), vec![0.0; volume_len(&g)]);
    climb("Ct::reconstruct", || {
        let from = Array::new(&p, g.projection_shape()).expect("projections");
        let to = ArrayMut::new(&mut v, g.volume_shape()).expect("a volume");
        ct.reconstruct(from, to).map_or_else(|e| e.status, |()| Status::Ok)
    });
    drop((ct, p, v));

    let context = isoc_context_options { threads: 2, ..pet::on(pet::PROCESSOR) };
    let shape = [100, 220, 220];
    let plan = pet::Plan::with(&context, shape, [3.0, 3.0, 3.0], &[[0.3, 0.1]]);
    plan.set_response(&pet::response(200.0, 8.0, 8.0));
    let image = vec![1.0f32; plan.voxels()];
    let mut histos = vec![0.0f32; plan.voxels()];
    let (of, to, view) = (pet::tensor(&image, &shape), pet::output(&mut histos, &plan.histos(1)), [0i64]);
    // SAFETY: as above.
    climb("isoc_pet_forward", || unsafe { isoc_pet_forward(plan.pet, view.as_ptr(), 1, &of, &to) });
}
