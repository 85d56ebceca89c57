use super::super::histos::Histos;
use super::super::plan::{Options, Pet};
use super::super::response::Radial;
use super::super::views::Views;
use super::*;
use crate::Algorithm;
use isocenter_base::array::ArrayMut;
use isocenter_base::context::{Compute, Context, ContextOptions, LogLevel, NanPolicy};
use isocenter_base::error::{Result, Status};
use std::sync::{Arc, Mutex};

const SHAPE: [usize; 3] = [4, 20, 22];
const VOXELS: usize = 4 * 20 * 22;
const VIEWS: usize = 3;

type Said = Arc<Mutex<Vec<(LogLevel, String)>>>;

/// A plan that computes, and what it says.
struct Scan {
    pet: Pet,
    said: Said,
}

impl Scan {
    fn new() -> Self {
        let said = Said::default();
        let to = said.clone();
        let log = Box::new(move |level: LogLevel, message: &str| to.lock().unwrap().push((level, message.to_owned())));
        let options = ContextOptions {
            compute: Compute::Cpu,
            threads: 2,
            nan_policy: NanPolicy::Replace,
            log: Some(log),
            ..ContextOptions::default()
        };
        let mut pet = Pet::new(Arc::new(Context::new(options).unwrap()));
        pet.set_geometry(lattice(), Views::grid(VIEWS, 1, 0.1).unwrap()).unwrap();
        pet.set_response(Response::new(120.0, Radial::Constant(8.0), 8.0)).unwrap();
        Self { pet, said }
    }

    /// Messages of a level since the last time.
    fn said(&self, level: LogLevel) -> Vec<String> {
        let all = std::mem::take(&mut *self.said.lock().unwrap());
        all.into_iter().filter(|(l, _)| *l == level).map(|(_, text)| text).collect()
    }

    fn reconstruct(&mut self, measured: &[f32], factors: Option<&[f32]>, image: &mut [f32]) -> Result<()> {
        let shape = [VIEWS, SHAPE[0], SHAPE[1], SHAPE[2]];
        let histos = Histos {
            measured: Array::new(measured, shape)?,
            factors: factors.map(|f| Array::new(f, shape)).transpose()?,
            additive: None,
        };
        self.pet.reconstruct(&histos, ArrayMut::of(image, SHAPE)?)
    }

    /// Warnings of a reconstruction with factors.
    fn of_factors(&mut self, factor: impl Fn(usize) -> f32) -> Vec<String> {
        let factors: Vec<f32> = (0..VIEWS * VOXELS).map(factor).collect();
        self.reconstruct(&[1.0; VIEWS * VOXELS], Some(&factors), &mut [0.0; VOXELS]).unwrap();
        self.said(LogLevel::Warning)
    }
}

fn lattice() -> Lattice {
    Lattice::new(SHAPE, [4.0; 3]).unwrap()
}

fn views(azimuths: &[f64]) -> Vec<View> {
    azimuths.iter().map(|a| View { azimuth: *a, tilt: 0.0 }).collect()
}

#[test]
fn azimuths_in_degrees_are_doubted() {
    let every = |step: f64, n: usize| (0..n).map(|k| k as f64 * step).collect::<Vec<_>>();
    let said = of_azimuths(&views(&every(9.0, 20))).unwrap();
    assert!(
        said.starts_with("views[19] has an azimuth of 171 rad, more than a turn: azimuths may be degrees"),
        "{said}"
    );
    assert!(of_azimuths(&views(&every(180.0 / 28.0, 28))).is_some());
    assert!(of_azimuths(&views(&[0.0, -90.0])).is_some());
    for honest in [every(9f64.to_radians(), 20), every(TAU / 16.0, 17), every(GOLDEN[0], 40), every(2.399_963_23, 13)] {
        assert_eq!(of_azimuths(&views(&honest)), None, "{honest:?}");
    }
    assert_eq!(of_azimuths(Views::grid(60, 3, 0.1).unwrap().list()), None);
    let mut scan = Scan::new();
    scan.pet.set_geometry(lattice(), Views::new(views(&every(9.0, 20)), 0.1).unwrap()).unwrap();
    assert_eq!(scan.said(LogLevel::Warning).len(), 1);
}

#[test]
fn widths_of_no_voxel_are_doubted() {
    let of = |tof: f64, radial: Radial, axial: f64| of_widths(&Response::new(tof, radial, axial), &lattice());
    assert_eq!(of(100.0, Radial::Constant(5.8), 5.8), None);
    // A sigma of 5.8 mm at half maximum, and half a voxel of 4 mm.
    assert_eq!(of(100.0, Radial::Constant(2.46), 2.0), None);
    let said = of(0.4, Radial::Constant(0.58), 5.8).unwrap();
    assert!(
        said.starts_with("response.tof_fwhm is 0.4 ps, 0.06 mm; response.radial_fwhm is 0.58 mm: below half a voxel, whose smallest side is 4 mm"),
        "{said}"
    );
    let said = of(400.0, Radial::Table { radius: vec![0.0, 60.0], fwhm: vec![0.5, 1.0] }, 0.5).unwrap();
    assert!(said.starts_with("response.radial_table is 1 mm; response.axial_fwhm is 0.5 mm: below"), "{said}");

    let mut scan = Scan::new();
    scan.pet.set_response(Response::new(120.0, Radial::Constant(0.8), 0.8)).unwrap();
    for times in [1, 0] {
        scan.reconstruct(&[1.0; VIEWS * VOXELS], None, &mut [0.0; VOXELS]).unwrap();
        assert_eq!(scan.said(LogLevel::Warning).len(), times);
    }
}

#[test]
fn factors_that_are_none_are_doubted() {
    let mut scan = Scan::new();
    let some = |k: usize| (k % 7) as f32;
    for honest in [
        |k| 0.1 + 0.1 * (k % 7) as f32,
        |_| 1.0,
        |k| 0.5 + 0.2 * (k % 7) as f32,
        |k| f32::from(u8::from(k % 5 > 0)),
        |k| 8.0 + (k % 7) as f32,
    ] {
        assert_eq!(scan.of_factors(honest), [""; 0]);
    }
    let said = scan.of_factors(|k| 1.0 + some(k));
    assert!(
        said.len() == 1 && said[0].starts_with("factors run from 1 to 7: they are what part of the emissions"),
        "{said:?}"
    );
    // 0 is a place that nothing is measured of.
    assert!(scan.of_factors(some)[0].starts_with("factors run from 1 to 6"));
    // In a unit of their own, counts a Bq/ml for one, next to none is where air would be.
    assert_eq!(scan.of_factors(|k| 1.02 + k as f32 / 300.0), [""; 0]);
    let said = scan.of_factors(|_| 0.0);
    assert!(said.len() == 1 && said[0].starts_with("all factors are 0"), "{said:?}");
}

#[test]
fn a_warm_start_of_nothing_is_an_error() {
    let mut scan = Scan::new();
    let measured = [1.0; VIEWS * VOXELS];
    for algorithm in [Algorithm::Ramla, Algorithm::Osem, Algorithm::Mlem] {
        scan.pet.set_options(Options { algorithm, iterations: 1, warm_start: true, ..Options::default() }).unwrap();
        let mut image = [0.0; VOXELS];
        let e = scan.reconstruct(&measured, None, &mut image).expect_err("zeros");
        assert_eq!(e.status, Status::OutOfRange);
        assert!(e.message.starts_with("image is 0 everywhere; a warm start begins with it"), "{}", e.message);
        image[5..].fill(1.0);
        scan.reconstruct(&measured, None, &mut image).unwrap();
        assert_eq!(scan.said(LogLevel::Info), ["5 voxels of the warm start are 0 and stay 0"]);
        assert!(image[..5].iter().all(|v| *v == 0.0));
        // Of no counts zeros are the image.
        scan.reconstruct(&[0.0; VIEWS * VOXELS], None, &mut [0.0; VOXELS]).unwrap();
    }
    // What no view sees is 0, and may stay so.
    let factors: Vec<f32> = (0..VIEWS * VOXELS).map(|k| f32::from(u8::from(k % SHAPE[2] == 0))).collect();
    let mut image = [1.0; VOXELS];
    scan.reconstruct(&measured, Some(&factors), &mut image).unwrap();
    assert!(image.contains(&0.0));
    scan.said(LogLevel::Info);
    scan.reconstruct(&measured, Some(&factors), &mut image).unwrap();
    assert_eq!(scan.said(LogLevel::Info), [""; 0]);
}

#[test]
fn options_of_other_algorithms_are_doubted() {
    let mut scan = Scan::new();
    let mut of = |options: Options| {
        scan.pet.set_options(Options { iterations: 1, ..options }).unwrap();
        scan.reconstruct(&[1.0; VIEWS * VOXELS], None, &mut [0.0; VOXELS]).unwrap();
        scan.said(LogLevel::Warning)
    };
    let [ramla, osem, mlem] = [Algorithm::Ramla, Algorithm::Osem, Algorithm::Mlem]
        .map(|algorithm| Options { algorithm, ..Options::default() });
    for used in [
        ramla,
        osem,
        mlem,
        Options { relaxation: 0.5, decay: 0.1, ..ramla },
        Options { subsets: 3, ..osem },
        Options { algorithm: Algorithm::Svrg, subsets: 2, relaxation: 0.5, decay: 0.1, ..ramla },
        Options { subsets: 1, ..mlem },
    ] {
        assert_eq!(of(used), [""; 0], "{used:?}");
    }
    assert_eq!(
        of(Options { subsets: 3, ..ramla }),
        ["options.subsets is 3, and is not used: options.algorithm is 0 (ramla), not 1 (osem), 3 (bsrem) or 4 (svrg)"]
    );
    let said = of(Options { subsets: 3, relaxation: 0.5, decay: 0.1, ..mlem });
    assert_eq!(said.len(), 3, "{said:?}");
    assert_eq!(
        said[1],
        "options.relaxation is 0.5, and is not used: options.algorithm is 2 (mlem), not 0 (ramla), 3 (bsrem) or 4 (svrg)"
    );
}

#[test]
fn replaced_values_are_told_of() {
    let mut scan = Scan::new();
    let mut measured = [1.0; VIEWS * VOXELS];
    measured[7] = f32::NAN;
    scan.reconstruct(&measured, None, &mut [0.0; VOXELS]).unwrap();
    assert_eq!(scan.said(LogLevel::Info), ["1 of 5280 values were not usable and replaced by 0"]);
    measured[..1000].fill(f32::INFINITY);
    scan.reconstruct(&measured, None, &mut [0.0; VOXELS]).unwrap();
    assert_eq!(scan.said(LogLevel::Warning), ["1000 of 5280 values were not usable and replaced by 0"]);
    let image = [f32::NAN; VOXELS];
    let mut histos = [0.0f32; VOXELS];
    let to = ArrayMut::of(&mut histos, [1, SHAPE[0], SHAPE[1], SHAPE[2]]).unwrap();
    scan.pet.forward(&[0], Array::new(&image, SHAPE).unwrap(), to).unwrap();
    assert_eq!(scan.said(LogLevel::Warning), ["1760 of 1760 values were not usable and replaced by 0"]);
}
