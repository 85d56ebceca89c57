//! Samples in any unit: the same image in that unit, or an error that says what to do; never what is not finite, nor zeros of small numbers.

use super::device;
use super::scan::*;
use super::sparse::scan;
use isocenter::error::Status;
use isocenter::ffi::mri::*;
use std::fmt::Debug;

const DIFFERENCES: u32 = 1;
const WAVELETS: u32 = 3;
const VARIATION: u32 = 4;
const LOW_RANK: u32 = 5;
const FISTA: u32 = 2;
const PRIMAL_DUAL: u32 = 3;
const GRID: [usize; 3] = [1, 9, 12];

/// Powers of two that units are: from 1e-30 to 1e30.
const UNITS: [i32; 8] = [-97, -63, -40, -20, 20, 40, 63, 97];

/// Images of a call, or what it says.
fn run(scan: &Scan, call: Run, samples: &[C], images: usize) -> Result<Vec<C>, (Status, String)> {
    let [nz, ny, nx] = scan.grid.map(|n| n as i64);
    let mut out = vec![C::default(); images * scan.voxels()];
    let shape = [images as i64, nz, ny, nx];
    // SAFETY: valid pointers.
    match unsafe { call(scan.mri, &tensor(samples, &scan.scan_shape()), &output(&mut out, &shape)) } {
        Status::Ok => Ok(out),
        status => Err((status, said())),
    }
}

/// The same of a call that has samples brought.
fn stream(scan: &Scan, call: Stream, samples: &Vec<C>, images: usize) -> Result<Vec<C>, (Status, String)> {
    let [nz, ny, nx] = scan.grid.map(|n| n as i64);
    let mut out = vec![C::default(); images * scan.voxels()];
    let to = output(&mut out, &[images as i64, nz, ny, nx]);
    let user = std::ptr::from_ref(samples).cast_mut().cast();
    // SAFETY: valid pointers; what `read_all` takes.
    match unsafe { call(scan.mri, complex(true), 0, Some(read_all), user, &to) } {
        Status::Ok => Ok(out),
        status => Err((status, said())),
    }
}

fn times(samples: &[C], unit: f64) -> Vec<C> {
    samples.iter().map(|v| v * unit).collect()
}

/// What all numbers of a call must be.
fn check_finite(found: &Result<Vec<C>, (Status, String)>, what: &dyn Debug) {
    match found {
        Ok(image) => assert!(image.iter().all(|v| v.re.is_finite() && v.im.is_finite()), "{what:?}: not finite"),
        Err((status, message)) => {
            // Samples in f64 may be beyond what the plan computes in.
            let refused = *status == Status::NotFiniteData && message.contains("samples[");
            let advised = *status == Status::OutOfRange && message.contains("divide");
            assert!(refused || advised, "{what:?}: {status:?}, {message}");
        }
    }
}

fn largest(image: &[C]) -> f64 {
    image.iter().map(|v| v.norm()).fold(0.0, f64::max)
}

/// Powers of two take no digit away, and a solution's own scale is one, too: images are the same to the bit, but for numbers that leave f32's range at
/// 2^-126, which are below 2^-29 of the smallest unit here and have no part in an image's; some roundings for what sums of those may make.
const CLOSE: f64 = 4.0 * f32::EPSILON as f64;

/// A series, or one scan.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Series {
    None,
    Windows,
    Basis,
}

/// What solves, and what of it has the image's unit.
#[derive(Clone, Copy, Debug)]
struct Case {
    normal: u32,
    penalty: u32,
    algorithm: u32,
    lambda: f64,
    huber: f64,
    imaginary: f64,
    joint: bool,
    series: Series,
    mapped: bool,
}

const PLAIN: Case = Case {
    normal: 0,
    penalty: 0,
    algorithm: 0,
    lambda: 0.0,
    huber: 0.0,
    imaginary: 0.0,
    joint: false,
    series: Series::None,
    mapped: true,
};

fn cases() -> Vec<Case> {
    let series = Series::Windows;
    let mut all = vec![
        PLAIN,
        Case { mapped: false, ..PLAIN },
        Case { lambda: 5.0, ..PLAIN },
        Case { lambda: 5.0, penalty: DIFFERENCES, ..PLAIN },
        Case { imaginary: 3.0, ..PLAIN },
        Case { imaginary: f64::INFINITY, ..PLAIN },
        Case { lambda: 5.0, series, ..PLAIN },
        Case { lambda: 5.0, series: Series::Basis, ..PLAIN },
    ];
    for algorithm in [FISTA, PRIMAL_DUAL] {
        let wavelets = Case { penalty: WAVELETS, algorithm, lambda: 20.0, ..PLAIN };
        let variation = Case { penalty: VARIATION, ..wavelets };
        all.extend([
            wavelets,
            Case { mapped: false, ..wavelets },
            Case { series, joint: true, ..wavelets },
            variation,
            Case { huber: 0.3, ..variation },
            Case { series: Series::Basis, joint: true, ..variation },
            Case { penalty: LOW_RANK, series, ..wavelets },
        ]);
    }
    // By Q and by pairs of transforms.
    all.iter().flat_map(|case| [1, 2].map(|normal| Case { normal, ..*case })).collect()
}

impl Case {
    /// The images of samples in a unit, and objectives.
    fn images(&self, scan: &Scan, samples: &[C], [unit, weights]: [f64; 2]) -> Result<Vec<C>, (Status, String)> {
        // Penalties that are no squares have the image's unit once more.
        let of_lambda = weights * if self.penalty > 2 { unit } else { 1.0 };
        scan.options(|o| {
            (o.penalty, o.algorithm, o.lambda, o.huber) =
                (self.penalty, self.algorithm, self.lambda * of_lambda, self.huber * unit);
            (o.imaginary, o.joint, o.iterations) = (self.imaginary * weights, self.joint.into(), 20);
            o.normal = self.normal;
        });
        let each = match self.series {
            Series::None => 1,
            Series::Windows => 3,
            Series::Basis => 2,
        };
        run(scan, isoc_mri_reconstruct, &times(samples, unit), each * scan.images)
    }

    fn scan(&self, device: u32, double: bool) -> (Scan, Vec<C>) {
        let (scan, samples) = scan(device, GRID, double, self.mapped);
        match self.series {
            Series::None => (),
            Series::Windows => ok(isoc_mri_set_windows(scan.mri, 120, 70)),
            Series::Basis => {
                let basis: Vec<C> = random(10, 3);
                let times: Vec<i64> = (0..scan.k.len()).map(|m| (m % 5) as i64).collect();
                // SAFETY: valid pointers.
                ok(unsafe { isoc_mri_set_basis(scan.mri, &tensor(&basis, &[5, 2]), times.as_ptr()) });
            }
        }
        (scan, samples)
    }

    /// Compares images in units with that in none, of all exponents that make them.
    fn check(&self, scan: &Scan, samples: &[C], set: &mut dyn FnMut(f64), weighs: bool) {
        let at = |exponent: i32| {
            let own = 2f64.powi(exponent);
            if weighs { ([1.0, own], own) } else { ([own, 1.0], own) }
        };
        set(1.0);
        let expected = self.images(scan, samples, [1.0, 1.0]).expect("an image");
        let objective = scan.objective(0).last().copied().unwrap_or_default();
        assert!(largest(&expected) > 0.1, "{self:?}: zeros");
        for exponent in UNITS {
            let ([unit, weights], own) = at(exponent);
            if weighs {
                set(own);
            }
            let found = self.images(scan, samples, [unit, weights]);
            let what = (self, exponent, weighs);
            check_finite(&found, &what);
            let Ok(image) = found else { panic!("{what:?}: {found:?}") };
            let apart = largest(&image.iter().zip(&expected).map(|(a, b)| a / unit - b).collect::<Vec<_>>());
            assert!(apart < CLOSE * largest(&expected), "{what:?}: {apart}");
            if let Some(told) = scan.objective(0).last() {
                assert!(
                    (told / (unit * unit * weights) - objective).abs() < 1e-5 * objective.abs(),
                    "{what:?}: {told}"
                );
            }
        }
    }
}

#[test]
fn any_unit_makes_the_same_image() {
    let Some(device) = device() else { return };
    for case in cases() {
        for double in [false, true] {
            let (scan, samples) = case.scan(device, double);
            case.check(&scan, &samples, &mut |_| (), false);
        }
    }
}

/// Density weights in any unit, with those of penalties that go with them.
#[test]
fn any_unit_of_weights_makes_the_same_image() {
    let Some(device) = device() else { return };
    for case in cases() {
        let (scan, samples) = case.scan(device, false);
        let weights = scan.weights.clone().expect("weights");
        let mut set = |unit: f64| {
            let own: Vec<f64> = weights.iter().map(|w| w * unit).collect();
            // SAFETY: valid pointers.
            ok(unsafe { isoc_mri_set_weights(scan.mri, &tensor(&own, &[own.len() as i64])) });
        };
        case.check(&scan, &samples, &mut set, true);
    }
}

/// Weights of differences in any unit, with lambda in it: total variation has it once, squares of differences twice.
#[test]
fn any_unit_of_difference_weights_makes_the_same_image() {
    let Some(device) = device() else { return };
    let squares = Case { lambda: 5.0, penalty: DIFFERENCES, ..PLAIN };
    let lengths = [FISTA, PRIMAL_DUAL].map(|algorithm| Case { penalty: VARIATION, algorithm, lambda: 20.0, ..PLAIN });
    for (case, power) in [(squares, 2), (lengths[0], 1), (lengths[1], 1)] {
        let (scan, samples) = case.scan(device, false);
        let weights: Vec<f64> = random(2 * scan.voxels(), 9).iter().map(|v| 0.6 + 0.4 * v.re).collect();
        let set = |unit: f64| {
            let own: Vec<f64> = weights.iter().map(|w| w * unit).collect();
            // SAFETY: valid pointers.
            unsafe { isoc_mri_set_difference_weights(scan.mri, &tensor(&own, &[2, 1, GRID[1] as i64, GRID[2] as i64])) }
        };
        ok(set(1.0));
        let expected = case.images(&scan, &samples, [1.0, 1.0]).expect("an image");
        for exponent in [-45, -20, 20, 45] {
            let unit = 2f64.powi(exponent);
            ok(set(unit));
            let own = Case { lambda: case.lambda / unit.powi(power), ..case };
            let image = own.images(&scan, &samples, [1.0, 1.0]).expect("an image");
            let apart = largest(&image.iter().zip(&expected).map(|(a, b)| a - b).collect::<Vec<_>>());
            assert!(apart < CLOSE * largest(&expected), "{case:?}, 2^{exponent}: {apart}");
        }
        for refused in [1e-30, 1e-17, 1e17, 1e30] {
            assert!(set(refused) == Status::OutOfRange && said().contains("a power of ten"), "{refused}: {}", said());
        }
    }
}

/// Transforms and gridding, with weights of the scan or of its frames, or of a density.
#[test]
fn any_unit_makes_the_same_gridded_image() {
    let Some(device) = device() else { return };
    for density in [None, Some(0)] {
        let (scan, samples) = scan(device, GRID, false, true);
        if let Some(density) = density {
            ok(isoc_mri_compute_weights(scan.mri, density, 0));
        }
        for call in [isoc_mri_gridding as Run, isoc_mri_adjoint] {
            let expected = run(&scan, call, &samples, 1).expect("an image");
            for exponent in UNITS {
                let unit = 2f64.powi(exponent);
                let image = run(&scan, call, &times(&samples, unit), 1).expect("an image");
                let apart = largest(&image.iter().zip(&expected).map(|(a, b)| a / unit - b).collect::<Vec<_>>());
                assert!(apart < CLOSE * largest(&expected), "{density:?}, 2^{exponent}: {apart}");
            }
        }
    }
}

/// Sensitivities from samples in any unit, and their image in it.
#[test]
fn any_unit_makes_the_same_maps() {
    let Some(device) = device() else { return };
    let (scan, samples) = scan(device, GRID, false, false);
    let n = scan.voxels();
    let [nz, ny, nx] = GRID.map(|n| n as i64);
    let find = |unit: f64| {
        let (mut maps, mut image) = (vec![C::default(); 2 * n], vec![C::default(); n]);
        let own = times(&samples, unit);
        let (to, beside) = (output(&mut maps, &[2, nz, ny, nx]), output(&mut image, &[1, nz, ny, nx]));
        // SAFETY: valid pointers.
        ok(unsafe { isoc_mri_find_maps(scan.mri, std::ptr::null(), &tensor(&own, &scan.scan_shape()), &to, &beside) });
        (maps, image)
    };
    let (maps, image) = find(1.0);
    for exponent in UNITS {
        let unit = 2f64.powi(exponent);
        let (own, of_them) = find(unit);
        let apart = |a: &[C], b: &[C], by: f64| {
            largest(&a.iter().zip(b).map(|(a, b)| a / by - b).collect::<Vec<_>>()) / largest(b)
        };
        assert!(apart(&own, &maps, 1.0) < CLOSE && apart(&of_them, &image, unit) < CLOSE, "2^{exponent}");
    }
}

/// Samples near the largest numbers, one that is far larger than the rest, and none: what is not refused is finite.
#[test]
fn images_are_finite_or_refused() {
    let Some(device) = device() else { return };
    for case in cases() {
        let (scan, samples) = case.scan(device, false);
        let spread = |large: f64| {
            let mut own = samples.clone();
            own[7] = C::new(large, 0.0);
            own
        };
        for (what, own) in [
            ("the largest", times(&samples, 3e37)),
            ("1e37", times(&samples, 1e37)),
            ("1e36", times(&samples, 1e36)),
            ("the smallest", times(&samples, 1e-37)),
            ("next to nothing", times(&samples, 1e-44)),
            ("one of 1e30", spread(1e30)),
            ("one of 3e38", spread(3e38)),
            ("one of 1e-30", spread(1e-30)),
            ("zeros", times(&samples, 0.0)),
        ] {
            let found = case.images(&scan, &own, [1.0, 1.0]);
            check_finite(&found, &(case, what));
            if what == "zeros" {
                assert!(largest(&found.expect("zeros")) == 0.0, "{case:?}");
            }
            let images = scan.info().images as usize;
            check_finite(&run(&scan, isoc_mri_gridding, &own, images), &(case, what, "gridding"));
            for call in [isoc_mri_gridding_stream as Stream, isoc_mri_reconstruct_stream] {
                check_finite(&stream(&scan, call, &own, images), &(case, what, "a stream"));
            }
        }
        // Weights of imaginary parts are refused from 1e30 on.
        if case.imaginary.is_finite() && case.imaginary > 0.0 {
            continue;
        }
        let weights: Vec<f64> = scan.weights.clone().expect("weights").iter().map(|w| w * 1e37).collect();
        // SAFETY: valid pointers.
        ok(unsafe { isoc_mri_set_weights(scan.mri, &tensor(&weights, &[weights.len() as i64])) });
        let found = case.images(&scan, &samples, [1.0, 1e37]);
        check_finite(&found, &(case, "weights of 1e37"));
        assert!(found.is_err() || largest(&found.expect("an image")) > 0.1, "{case:?}: zeros");
    }
}
