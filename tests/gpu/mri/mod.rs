//! MRI on the GPU: the processor's suite, and what only a context with a GPU has.

mod agreement;
mod array;
mod arrays;
mod coils;
#[path = "../../mri/delays.rs"]
mod delays;
mod exchange;
#[path = "../../mri/field_normal.rs"]
mod field_normal;
mod field_q;
#[path = "../../mri/imaginary.rs"]
mod imaginary;
#[path = "../../mri/joint.rs"]
mod joint;
mod limits;
mod nufft;
mod peers;
#[path = "../../mri/radial.rs"]
mod radial;
#[path = "../../mri/scan.rs"]
pub(super) mod scan;
#[path = "../../mri/series.rs"]
mod series;
#[path = "../../mri/sets.rs"]
mod sets;
#[path = "../../mri/shots.rs"]
mod shots;
#[path = "../../mri/sparse.rs"]
mod sparse;
#[path = "../../mri/stack.rs"]
mod stack;
#[path = "../../mri/stream.rs"]
mod stream;
#[path = "../../mri/suite.rs"]
mod suite;
mod trajectories;

use isocenter::ffi::mri::*;
use scan::*;

/// Where the suite's plans compute; None where there is no GPU.
fn device() -> Option<u32> {
    super::gpu().map(|_| GPU)
}

/// What a plan gives of the plan's own random data, all calls one after the other.
pub(super) fn everything(scan: &Scan) -> Vec<C> {
    let image = random(scan.images * scan.voxels(), 101);
    let samples = random(scan.coils * scan.k.len(), 102);
    let mut all = scan.forward(&image);
    for run in [isoc_mri_adjoint as Run, isoc_mri_gridding, isoc_mri_reconstruct] {
        all.extend(scan.to_image(run, &samples));
    }
    all.extend(scan.normal(&image));
    all
}

/// A plan's relative l2 error of a fast transform where the options leave it alone.
fn usual_tolerance(double: bool) -> f64 {
    if double { 1e-9 } else { 1e-5 }
}

/// Half the distance between 1 and the next number.
fn unit_roundoff(double: bool) -> f64 {
    if double { f64::EPSILON / 2.0 } else { f64::from(f32::EPSILON) / 2.0 }
}
