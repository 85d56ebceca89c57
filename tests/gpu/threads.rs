//! Plans of one context on several threads: each gives the bits that it gives alone. `ISOC_TEST_ROUNDS` sets how often each thread goes
//! round: a minute's worth is a soak.

use super::mri::everything;
use super::mri::scan as mri;
use super::pet::scan as pet;
use super::{common, gpu};
use isocenter::array::{Array, ArrayMut};
use isocenter::context::Context;
use isocenter::ct::{Ct, Geometry, Interpolation, Kernel, Options, Precision};
use isocenter::ffi::context::{isoc_context, isoc_context_create, isoc_context_destroy};
use std::f64::consts::PI;
use std::sync::{Arc, Barrier};

fn rounds() -> usize {
    std::env::var("ISOC_TEST_ROUNDS").map_or(5, |n| n.parse().expect("a number"))
}

/// What one thread does, and the bits that it gives alone.
type Work<'a> = Box<dyn Fn() -> Vec<u64> + Send + Sync + 'a>;

fn together(works: &[Work<'_>]) {
    let alone: Vec<Vec<u64>> = works.iter().map(|work| work()).collect();
    let start = Barrier::new(works.len());
    std::thread::scope(|scope| {
        for (k, (work, alone)) in works.iter().zip(&alone).enumerate() {
            let start = &start;
            scope.spawn(move || {
                start.wait();
                for round in 0..rounds() {
                    assert!(work() == *alone, "thread {k}, round {round}: other bits than alone");
                }
            });
        }
    });
}

/// A context through the C ABI that threads share.
struct Shared(*mut isoc_context);

// SAFETY: contexts may be used from any thread.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

impl Shared {
    fn new() -> Option<Self> {
        gpu()?;
        let mut context = std::ptr::null_mut();
        // SAFETY: valid pointers.
        pet::ok(unsafe { isoc_context_create(&pet::on(pet::GPU), &mut context) });
        Some(Self(context))
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        pet::ok(isoc_context_destroy(self.0));
    }
}

fn bits(values: &[f32]) -> impl Iterator<Item = u64> {
    values.iter().map(|v| u64::from(v.to_bits()))
}

/// Responses whose kernels take different amounts of shared memory; each round makes plan and tables anew.
fn pet_work(context: &Shared, fwhm: [f64; 3], widens: bool, projector: u32) -> Work<'_> {
    Box::new(move || {
        let views: Vec<[f64; 2]> = (0..6).map(|v| [PI * f64::from(v) / 6.0, 0.2 * f64::from(v % 3) - 0.2]).collect();
        let plan = pet::Plan::sharing(context.0, [14, 30, 27], [4.0; 3], &views);
        let mut response = pet::response(fwhm[0], fwhm[1], fwhm[2]);
        if widens {
            response = pet::widening(response, &[[0.0, fwhm[1]], [60.0, 1.4 * fwhm[1]]]);
        }
        plan.set_response(&response);
        plan.set_options(&isocenter::ffi::pet::isoc_pet_options { projector, iterations: 2, ..pet::sized() });
        let all: Vec<i64> = (0..views.len() as i64).collect();
        let image = pet::noise(plan.voxels(), 1);
        let histos = plan.forward(&all, &image);
        let mut out: Vec<u64> = bits(&histos).collect();
        out.extend(bits(&plan.adjoint(&all, &histos)));
        out.extend(bits(&plan.reconstruct(&histos, None, None)));
        out
    })
}

fn mri_work(context: &Shared, grid: [usize; 3], count: usize, coils: usize, double: bool, method: u32) -> Work<'_> {
    Box::new(move || {
        let mut scan = mri::Scan::sharing(context.0, grid, mri::points(count, 3, 5), coils, double);
        scan.set_maps(mri::random(coils * scan.voxels(), 6));
        scan.options(|o| (o.iterations, o.method) = (3, method));
        everything(&scan).iter().flat_map(|v| [v.re.to_bits(), v.im.to_bits()]).collect()
    })
}

fn ct_work<'a>(context: &'a Arc<Context>, geometry: Geometry, options: Options) -> Work<'a> {
    let run = move |data: &[f32], from: [usize; 3], to: [usize; 3], ct: &mut Ct, operator: common::Operator| {
        let mut out = vec![0.0; to.iter().product()];
        let (view, target) = (Array::new(data, from).expect("input"), ArrayMut::new(&mut out, to).expect("output"));
        operator(ct, view, target).expect("success");
        out
    };
    Box::new(move || {
        let mut ct = Ct::new(context.clone());
        ct.set_geometry(geometry.clone()).expect("geometry");
        ct.set_options(options.clone()).expect("options");
        let (p, v) = (geometry.projection_shape(), geometry.volume_shape());
        let data = common::random(p.iter().product(), 7);
        let volume = run(&data, p, v, &mut ct, Ct::reconstruct);
        let mut out: Vec<u64> = bits(&volume).collect();
        for operator in [Ct::backproject as common::Operator, Ct::adjoint] {
            out.extend(bits(&run(&data, p, v, &mut ct, operator)));
        }
        out.extend(bits(&run(&volume, v, p, &mut ct, Ct::forward)));
        out
    })
}

fn ct_scan(views: usize, bins: usize, rows: usize) -> Geometry {
    Geometry::new((0..views).map(|v| PI * v as f64 / views as f64).collect(), bins).with_rows(rows)
}

fn ct_works(context: &Arc<Context>) -> Vec<Work<'_>> {
    let kernels = [
        (ct_scan(90, 150, 20), Kernel::Tensor, Precision::Single, Interpolation::Linear),
        (ct_scan(70, 1300, 4), Kernel::Alu, Precision::Single, Interpolation::Linear),
        (ct_scan(80, 700, 9), Kernel::Alu, Precision::Half, Interpolation::Oversampled),
        (ct_scan(61, 333, 33), Kernel::Texture, Precision::Half, Interpolation::Linear),
        (ct_scan(75, 120, 11), Kernel::Auto, Precision::Single, Interpolation::BandLimited),
    ];
    let options = |kernel, precision, interpolation| Options { kernel, precision, interpolation, ..Options::default() };
    kernels.into_iter().map(|(g, k, p, i)| ct_work(context, g, options(k, p, i))).collect()
}

#[test]
fn ct_plans_of_one_context_do_not_meet() {
    let Some(context) = gpu() else { return };
    together(&ct_works(&context));
}

#[test]
fn mri_plans_of_one_context_do_not_meet() {
    let Some(context) = Shared::new() else { return };
    together(&[
        mri_work(&context, [9, 20, 22], 9000, 4, false, 1),
        mri_work(&context, [16, 40, 48], 20_000, 1, true, 1),
        mri_work(&context, [6, 24, 30], 700, 2, false, 2),
        mri_work(&context, [20, 18, 50], 15_000, 3, false, 1),
    ]);
}

#[test]
fn pet_plans_of_one_context_do_not_meet() {
    let Some(context) = Shared::new() else { return };
    together(&[
        pet_work(&context, [200.0, 4.0, 4.0], false, 1),
        pet_work(&context, [500.0, 8.0, 9.0], false, 1),
        pet_work(&context, [350.0, 5.0, 12.0], true, 1),
        pet_work(&context, [400.0, 6.0, 6.0], false, 2),
    ]);
}

#[test]
fn plans_of_all_modalities_do_not_meet() {
    let (Some(shared), Some(context)) = (Shared::new(), gpu()) else { return };
    let mut works = ct_works(&context);
    works.truncate(2);
    works.push(mri_work(&shared, [9, 20, 22], 9000, 4, false, 1));
    works.push(pet_work(&shared, [350.0, 5.0, 12.0], true, 1));
    works.push(pet_work(&shared, [200.0, 4.0, 4.0], false, 2));
    together(&works);
}
