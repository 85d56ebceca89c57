//! What a plan remarks on: units, missing density weights, spokes; and that measured scans are taken without a word.

use isocenter::array::{Array, ArrayMut};
use isocenter::context::{Compute, Context, ContextOptions, LogLevel, NanPolicy};
use isocenter::error::{Result, Status};
use isocenter::mri::joint::Joining;
use isocenter::mri::{Density, Geometry, Mri, Options, Penalty, Precision, Trajectory, Unit};
use rustfft::num_complex::Complex;
use std::f64::consts::{PI, TAU};
use std::path::Path;
use std::sync::{Arc, Mutex};

/// A plan, and what it warned of.
struct Plan {
    mri: Mri,
    said: Arc<Mutex<Vec<String>>>,
    /// What it told besides.
    told: Arc<Mutex<Vec<String>>>,
}

impl Plan {
    fn new(values: &[f64], dims: usize, unit: Unit, grid: [usize; 3]) -> Result<Self> {
        let said = Arc::new(Mutex::new(Vec::new()));
        let told = Arc::new(Mutex::new(Vec::new()));
        let (warnings, facts) = (said.clone(), told.clone());
        let log = move |level: LogLevel, text: &str| {
            let to = if level == LogLevel::Warning { &warnings } else { &facts };
            to.lock().expect("no panic").push(text.to_owned());
        };
        let options = ContextOptions {
            compute: Compute::Cpu,
            nan_policy: NanPolicy::Replace,
            log: Some(Box::new(log)),
            ..ContextOptions::default()
        };
        let mut mri = Mri::new(Arc::new(Context::new(options)?));
        let geometry = Geometry { grid, coils: 1, precision: Precision::Single };
        mri.set_geometry(geometry, Trajectory::new(values, unit, grid, dims)?)?;
        Ok(Self { mri, said, told })
    }

    fn warnings(&self) -> Vec<String> {
        std::mem::take(&mut self.said.lock().expect("no panic"))
    }

    fn facts(&self) -> Vec<String> {
        std::mem::take(&mut self.told.lock().expect("no panic"))
    }

    fn radial(&mut self, readout: usize) -> Result<()> {
        self.mri.compute_weights(Density::Radial(readout))
    }

    fn gridding(&mut self) {
        self.image(|_| Complex::new(0.5, 0.5), Mri::gridding);
    }

    /// What an operator makes of samples.
    fn image(
        &mut self,
        sample: impl Fn(usize) -> Complex<f64>,
        make: fn(&mut Mri, Array<'_, 2>, ArrayMut<'_, 4>) -> Result<()>,
    ) {
        let samples: Vec<_> = (0..self.mri.samples().expect("a geometry")).map(sample).collect();
        let [nz, ny, nx] = self.mri.geometry().expect("a geometry").grid;
        let mut image = vec![Complex::new(0.0f64, 0.0); nz * ny * nx];
        let from = Array::of(&samples, [1, samples.len()]).expect("samples");
        let to = ArrayMut::of(&mut image, [1, nz, ny, nx]).expect("an image");
        make(&mut self.mri, from, to).expect("an image");
    }
}

/// Spokes of `readout` samples on the line at `shift` from the centre, in parts of +-0.5.
fn spokes(count: usize, readout: usize, shift: f64) -> Vec<f64> {
    let point = |spoke: usize, s: usize| {
        let (sin, cos) = (PI * spoke as f64 / count as f64).sin_cos();
        let r = (s as f64 + 0.5) / readout as f64 - 0.5;
        [0.98 * r * cos - shift * sin, 0.98 * r * sin + shift * cos]
    };
    (0..count).flat_map(|spoke| (0..readout).flat_map(move |s| point(spoke, s))).collect()
}

fn scaled(values: &[f64], by: f64) -> Vec<f64> {
    values.iter().map(|v| v * by).collect()
}

/// Of what the numbers may mean: those of one unit taken for another are remarked on wherever they stay below a quarter of its range.
#[test]
fn a_unit_that_leaves_most_of_k_space_empty_is_remarked_on() {
    let k = spokes(20, 64, 0.0);
    let (grid, voxel, view, radians) =
        ([1, 64, 64], Unit::CyclesPerVoxel, Unit::CyclesPerFieldOfView, Unit::RadiansPerVoxel);
    for (values, unit, expected) in [
        (k.clone(), voxel, None),
        (scaled(&k, 64.0), view, None),
        (scaled(&k, TAU), radians, None),
        // Half as fine as it could be.
        (scaled(&k, 0.51), voxel, None),
        (
            k.clone(),
            radians,
            Some("15.35 % of the range of radians per voxel (in cycles per voxel they would reach 96 %)"),
        ),
        (
            k.clone(),
            view,
            Some("1.51 % of the range of cycles per field of view (in cycles per voxel they would reach 96 %"),
        ),
        (scaled(&k, TAU), view, Some("in radians per voxel they would reach 96 %")),
        (scaled(&k, 0.2), voxel, Some("19.29 % of the range of cycles per voxel: is geometry.unit right?")),
    ] {
        let seen = Plan::new(&values, 2, unit, grid).expect("a plan").warnings();
        match expected {
            None => assert!(seen.is_empty(), "{unit:?}: {seen:?}"),
            Some(words) => assert!(seen.len() == 1 && seen[0].contains(words), "{unit:?}: {seen:?}"),
        }
    }
    // One sample of the centre, or a few, are no mistake.
    for few in [1, 3] {
        let plan = Plan::new(&vec![0.0; 2 * few], 2, voxel, grid).expect("a plan");
        assert!(plan.warnings().is_empty());
    }
}

/// Radii of spokes in a plane, whatever is given along z.
#[test]
fn a_planes_third_axis_has_no_say_in_radial_weights() {
    let flat = spokes(8, 32, 0.0);
    let deep: Vec<f64> = flat.chunks(2).flat_map(|k| [k[0], k[1], 0.0]).collect();
    let weights = |values: &[f64], dims: usize| {
        let mut scan = Plan::new(values, dims, Unit::CyclesPerVoxel, [1, 32, 32]).expect("a scan");
        scan.radial(32).expect("weights");
        let mut out = vec![0.0f64; values.len() / dims];
        let shape = [out.len()];
        scan.mri.copy_weights(ArrayMut::of(&mut out, shape).expect("weights")).expect("weights");
        out
    };
    assert_eq!(weights(&flat, 2), weights(&deep, 3));
}

#[test]
fn other_normalisations_are_remarked_on() {
    let said =
        |values: &[f64], unit, grid, dims| Plan::new(values, dims, unit, grid).expect("a scan").warnings().join("; ");
    // Normalised to 1 at the edge.
    let normalised: Vec<f64> = (0..64).flat_map(|k| [f64::from(k) / 31.5 - 1.0, 0.5]).collect();
    let radians = said(&normalised, Unit::RadiansPerVoxel, [1, 64, 64], 2);
    assert!(radians.contains("31.83 % of the range of radians per voxel"), "{radians}");
    // Cycles per field of view over 64 on all axes of a volume of 64 x 64 x 16.
    let lines = |z: f64| -> Vec<f64> {
        (0..64)
            .flat_map(|k| [f64::from(k) / 64.0 - 0.5, f64::from(k) / 64.0 - 0.5, z * (f64::from(k) / 64.0 - 0.5)])
            .collect()
    };
    let divided = said(&lines(0.25), Unit::CyclesPerVoxel, [16, 64, 64], 3);
    assert!(divided.contains("along z the trajectory reaches 25 %"), "{divided}");
    assert_eq!(said(&lines(1.0), Unit::CyclesPerVoxel, [16, 64, 64], 3), "");
    assert_eq!(said(&lines(0.5), Unit::CyclesPerVoxel, [16, 64, 64], 3), "", "less resolution along z");
}

#[test]
fn gridding_without_weights_is_remarked_on() {
    let mut plan = Plan::new(&spokes(20, 64, 0.0), 2, Unit::CyclesPerVoxel, [1, 32, 32]).expect("a plan");
    plan.gridding();
    let seen = plan.warnings();
    assert!(seen.len() == 1 && seen[0].contains("gridding without density weights"), "{seen:?}");
    plan.radial(64).expect("weights");
    plan.gridding();
    assert!(plan.warnings().is_empty());
}

#[test]
fn samples_that_are_real_are_remarked_on() {
    let plan = |count: usize| {
        let mut plan = Plan::new(&spokes(count, 64, 0.0), 2, Unit::CyclesPerVoxel, [1, 32, 32]).expect("a plan");
        plan.radial(64).expect("weights");
        plan
    };
    let mut full = plan(20);
    let real = |k: usize| Complex::new((k % 9) as f64, 0.0);
    for make in [Mri::gridding, Mri::reconstruct] {
        full.image(real, make);
        assert_eq!(
            full.warnings(),
            [
                "samples have no imaginary part, as those of an object that is symmetric about the middle: were they taken as magnitude or real part?"
            ]
        );
        // One that is complex, a point spread function, nothing at all.
        full.image(|k| Complex::new(1.0, f64::from(u8::from(k == 1277))), make);
        full.image(|_| Complex::new(1.0, 0.0), make);
        full.image(|_| Complex::new(0.0, 0.0), make);
        assert_eq!(full.warnings(), [""; 0]);
    }
    full.image(real, Mri::adjoint);
    assert_eq!(full.warnings(), [""; 0]);
    let mut few = plan(1);
    few.image(real, Mri::gridding);
    assert_eq!(few.warnings(), [""; 0]);
}

#[test]
fn maps_of_nothing_are_remarked_on() {
    let mut plan = Plan::new(&spokes(20, 64, 0.0), 2, Unit::CyclesPerVoxel, [1, 32, 32]).expect("a plan");
    let mut maps = vec![Complex::new(0.0f32, 0.0); 32 * 32];
    let mut set = |maps: &[Complex<f32>]| {
        plan.mri.set_maps(Some(Array::of(maps, [1, 1, 1, 32, 32]).expect("maps"))).expect("maps");
        plan.warnings()
    };
    assert_eq!(set(&maps), ["maps are 0 everywhere: no coil sees anything"]);
    maps[77].im = 1e-6;
    assert_eq!(set(&maps), [""; 0]);
}

#[test]
fn times_and_decays_in_other_units_are_remarked_on() {
    let mut plan = Plan::new(&spokes(4, 32, 0.0), 2, Unit::CyclesPerVoxel, [1, 8, 8]).expect("a plan");
    let mut remarks = |times: f64, decay: f64| {
        let (hertz, decay) = ([50.0; 64], [decay; 64]);
        let times: Vec<f64> = (0..128).map(|m| times * f64::from(m) / 127.0).collect();
        let map = |v| Some(Array::of(v, [1, 8, 8]).expect("a map"));
        plan.mri.set_field(map(&hertz), Array::of(&times, [128]).expect("times"), map(&decay)).expect("a field");
        plan.warnings()
    };
    assert!(remarks(20e-3, 40.0).is_empty() && remarks(20e-3, 0.0).is_empty());
    assert!(remarks(20.0, 40.0)[0].contains("are they in seconds?"));
    assert!(remarks(20e-3, 0.04)[0].contains("in 1/ms?"));
}

#[test]
fn a_penalty_without_weight_is_told_of() {
    let mut plan = Plan::new(&spokes(20, 64, 0.0), 2, Unit::CyclesPerVoxel, [1, 32, 32]).expect("a plan");
    let noise = |k: usize| Complex::new((k % 5) as f64, (k % 7) as f64);
    for (penalty, lambda, told) in [
        (Penalty::Identity, 0.0, 0),
        (Penalty::Differences, 0.0, 1),
        (Penalty::Matrix, 0.0, 1),
        (Penalty::Differences, 0.1, 0),
    ] {
        plan.mri.set_options(Options { penalty, lambda, iterations: 1, ..Options::default() }).expect("options");
        plan.facts();
        plan.image(noise, Mri::reconstruct);
        let said: Vec<_> = plan.facts().into_iter().filter(|text| text.contains("options.lambda is 0")).collect();
        assert_eq!(said.len(), told, "{penalty:?}, {lambda}");
        plan.image(noise, Mri::adjoint);
        assert!(!plan.facts().iter().any(|text| text.contains("options.lambda is 0")));
    }
    assert_eq!(plan.warnings(), [""; 0]);
}

#[test]
fn replaced_samples_are_told_of() {
    let mut plan = Plan::new(&spokes(20, 64, 0.0), 2, Unit::CyclesPerVoxel, [1, 32, 32]).expect("a plan");
    let some = |every: usize| {
        move |k: usize| if k.is_multiple_of(every) { Complex::new(f64::NAN, 0.0) } else { Complex::new(0.5, k as f64) }
    };
    for make in [Mri::adjoint, Mri::reconstruct] {
        plan.facts();
        plan.image(some(640), make);
        assert!(plan.facts().contains(&"2 of 1280 values were not usable and replaced by 0".to_owned()));
        assert_eq!(plan.warnings(), [""; 0]);
        plan.image(some(10), make);
        assert_eq!(plan.warnings(), ["128 of 1280 values were not usable and replaced by 0"]);
    }
}

/// Half a readout gives nearly the same weights, so that a remark is enough; parts that miss the centre would get wrong ones.
#[test]
fn spokes_of_another_readout_are_noticed() {
    let full = spokes(30, 64, 0.0);
    let plan = |k: &[f64]| Plan::new(k, 2, Unit::CyclesPerVoxel, [1, 32, 32]).expect("a plan");
    let mut p = plan(&full);
    p.radial(64).expect("weights");
    assert!(p.warnings().is_empty());
    p.radial(32).expect("weights");
    let seen = p.warnings();
    assert!(seen.len() == 1 && seen[0].contains("is 32, but 30 of 60 spokes go on"), "{seen:?}");
    assert!(seen[0].contains("64 samples lie evenly on one line"), "{seen:?}");
    for (readout, spoke) in [(16, 0), (8, 0), (2, 0)] {
        let e = p.radial(readout).expect_err("spokes that miss the centre");
        assert_eq!(e.status, Status::OutOfRange);
        for words in [
            &format!("from trajectory[{spoke}] on passes the centre at"),
            "64 samples lie evenly on one line",
            &format!("parameter, the samples of a spoke, is {readout}"),
        ] {
            assert!(e.message.contains(words), "{}", e.message);
        }
    }
    // Of twice the readout spokes bend.
    for several in [128, 320] {
        let e = p.radial(several).expect_err("spokes in one");
        assert!(e.message.contains("off the straight line"), "{}", e.message);
        let hint = format!(
            "parameter, the samples of a spoke, is {several}; from trajectory[0] on 64 samples lie evenly on one line"
        );
        assert!(e.message.contains(&hint), "{}", e.message);
    }

    // Outwards from the centre, and in and out by turns.
    let mut half: Vec<f64> = Vec::new();
    for spoke in full.chunks_exact(128) {
        half.extend(spoke[64..].chunks_exact(2).flatten());
    }
    let mut p = plan(&half);
    p.radial(32).expect("weights");
    assert!(p.warnings().is_empty());
    let turned: Vec<f64> = half
        .chunks_exact(64)
        .enumerate()
        .flat_map(|(k, spoke)| {
            let points: Vec<&[f64]> = spoke.chunks_exact(2).collect();
            let order: Vec<usize> = if k % 2 == 0 { (0..32).collect() } else { (0..32).rev().collect() };
            order.into_iter().flat_map(|m| points[m].to_vec()).collect::<Vec<_>>()
        })
        .collect();
    let mut p = plan(&turned);
    p.radial(32).expect("weights");
    assert!(p.warnings().is_empty());

    // Beside the centre: a step is 0.98 / 64.
    for (steps, words) in [(0.0, None), (1.0, None), (3.0, Some("pass the centre at up to 3.0 steps"))] {
        let mut p = plan(&spokes(30, 64, steps * 0.98 / 64.0));
        p.radial(64).expect("weights");
        let seen = p.warnings();
        match words {
            None => assert!(seen.is_empty(), "{seen:?}"),
            Some(words) => assert!(seen.len() == 1 && seen[0].contains(words), "{seen:?}"),
        }
    }
    let e = plan(&scaled(&spokes(30, 64, 0.3), 0.8)).radial(64).expect_err("chords");
    assert!(e.message.contains("passes the centre at 0.24"), "{}", e.message);
}

/// f32 of a NumPy file.
pub(crate) fn measured(path: &Path) -> Option<Vec<f64>> {
    let bytes = std::fs::read(path).ok()?;
    let start = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    Some(bytes[start..].chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]).into()).collect())
}

#[test]
fn measured_scans_are_taken_without_a_word() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data/mri");
    let scans = [
        ("radial_brain_32coil/trajectory_cycles_per_pixel.npy", 2, Unit::CyclesPerVoxel, [1, 256, 256]),
        ("radial_brain_32coil/trajectory_cycles_per_pixel.npy", 2, Unit::CyclesPerVoxel, [1, 512, 512]),
        ("spiral3d_brain_4coil/trajectory_cycles_per_fov.npy", 3, Unit::CyclesPerFieldOfView, [16, 64, 64]),
        ("fieldmap512_spiral/trajectory.npy", 2, Unit::CyclesPerFieldOfView, [1, 512, 512]),
    ];
    for (name, dims, unit, grid) in scans {
        let Some(values) = measured(&data.join(name)) else {
            println!("skipped: there is no {}", data.join(name).display());
            continue;
        };
        let mut plan = Plan::new(&values, dims, unit, grid).expect(name);
        assert!(plan.warnings().is_empty(), "{name}: {:?}", plan.warnings());
        if name.starts_with("radial") {
            plan.radial(512).expect("weights");
            assert!(plan.warnings().is_empty(), "{name}");
            plan.radial(256).expect("weights");
            assert!(plan.warnings()[0].contains("512 samples lie evenly on one line"));
            assert!(plan.radial(128).is_err());
        }
    }
}

/// Lines of a plane, of 16 samples each, at these cycles per field of view along y, of 16 voxels.
fn lines(along_y: &[i32]) -> Vec<f64> {
    let line = |y: i32| (0..16).flat_map(move |x| [f64::from(x - 8), f64::from(y)]);
    along_y.iter().flat_map(|y| line(*y)).collect()
}

/// Where all lines are twice as far apart as the field of view asks, coils found from them are likely to be those of a fold-over, and the log
/// says so; lines between those of the middle are enough to say nothing.
#[test]
fn coils_of_regular_lines_alone_are_doubted() {
    let every_second: Vec<i32> = (-8..8).step_by(2).collect();
    let with_middle: Vec<i32> = every_second.iter().copied().chain([-3, -1, 1, 3]).collect();
    for (kept, doubted) in [(every_second, true), (with_middle, false), ((-8..8).collect(), false)] {
        let (values, grid) = (lines(&kept), [1, 16, 16]);
        let mut plan = Plan::new(&values, 2, Unit::CyclesPerFieldOfView, grid).expect("a plan");
        let trajectory = Trajectory::new(&values, Unit::CyclesPerFieldOfView, grid, 2).expect("a trajectory");
        plan.mri
            .set_geometry(Geometry { grid, coils: 2, precision: Precision::Single }, trajectory)
            .expect("a geometry");
        let count = kept.len() * 16;
        let samples: Vec<_> = (0..2 * count).map(|i| Complex::cis(i as f64 * i as f64)).collect();
        let mut maps = vec![Complex::new(0.0f64, 0.0); 2 * 256];
        let from = Array::of(&samples, [2, count]).expect("samples");
        let to = ArrayMut::of(&mut maps, [2, 1, 16, 16]).expect("maps");
        plan.mri.find_maps(from, to, None, &Joining::default()).expect("maps");
        let said = plan.warnings();
        assert_eq!(said.iter().any(|w| w.contains("along y all samples are on lines")), doubted, "{kept:?}: {said:?}");
    }
}
