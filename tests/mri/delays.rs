//! Delays of gradients, found from simulated scans whose samples are exact transforms of ellipses, on the device that the test program names.

use super::device;
use super::scan::*;
use isocenter::error::Status;
use isocenter::ffi::mri::*;
use isocenter::mri::phantom::kspace;
use isocenter::phantom::Ellipsoid;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use std::f64::consts::{PI, TAU};

const COILS: usize = 8;

/// A readout's place at a time in samples: x, y, z in cycles per voxel, from its number.
type Course = fn(usize, f64) -> [f64; 3];

/// Readouts of as many samples each, over a field of view of `N` voxels.
#[derive(Clone, Copy)]
struct Kind {
    name: &'static str,
    grid: [usize; 3],
    readouts: usize,
    samples: usize,
    course: Course,
}

fn spoke(angle: f64, at: f64) -> [f64; 3] {
    [at * angle.cos(), at * angle.sin(), 0.0]
}

/// Twice the samples that 48 voxels need, and evenly spaced spokes.
fn even(s: usize, t: f64) -> [f64; 3] {
    spoke(PI * s as f64 / 60.0, (t - 48.0) / 96.0)
}

fn golden(s: usize, t: f64) -> [f64; 3] {
    spoke(1.941_611 * s as f64, (t - 48.0) / 96.0)
}

/// From the centre outwards.
fn half(s: usize, t: f64) -> [f64; 3] {
    spoke(2.399_963 * s as f64, t / 96.0)
}

/// Turns that are a cycle per field of view apart; at rest before its first sample, and slow at first.
fn spiral(s: usize, t: f64) -> [f64; 3] {
    let part = (t / 400.0).max(0.0);
    let radius = 0.51 * part * part / (0.02 + part.powf(1.5));
    spoke(TAU * (s as f64 / 12.0 + 4.0 * radius), radius)
}

/// Spokes of a volume, whose ends are spread evenly over a sphere.
fn ball(s: usize, t: f64) -> [f64; 3] {
    let z = (s as f64 + 0.5) / 600.0;
    let flat = (1.0 - z * z).sqrt();
    let at = (t - 32.0) / 64.0;
    let [x, y, _] = spoke(2.399_963 * s as f64, at * flat);
    [x, y, at * z]
}

/// Stars in planes of constant kz.
fn stack(s: usize, t: f64) -> [f64; 3] {
    let [x, y, _] = golden(s / 4, t);
    [x, y, (s % 4) as f64 / 4.0 - 0.5]
}

const PLANE: [usize; 3] = [1, 48, 48];
const KINDS: [Kind; 7] = [
    Kind { name: "even spokes", grid: PLANE, readouts: 60, samples: 96, course: even },
    Kind { name: "golden angles", grid: PLANE, readouts: 48, samples: 96, course: golden },
    Kind { name: "few spokes", grid: PLANE, readouts: 13, samples: 96, course: golden },
    Kind { name: "spokes from the centre", grid: PLANE, readouts: 120, samples: 48, course: half },
    Kind { name: "spiral", grid: PLANE, readouts: 12, samples: 400, course: spiral },
    Kind { name: "a ball of spokes", grid: [32, 32, 32], readouts: 600, samples: 64, course: ball },
    Kind { name: "a stack of stars", grid: [4, 48, 48], readouts: 160, samples: 96, course: stack },
];

/// xx, yy, zz, xy, xz, yz
type Delays = [f64; 6];

/// The matrix times a vector.
fn times(d: &Delays, v: [f64; 3]) -> [f64; 3] {
    let [xx, yy, zz, xy, xz, yz] = *d;
    [xx * v[0] + xy * v[1] + xz * v[2], xy * v[0] + yy * v[1] + yz * v[2], xz * v[0] + yz * v[1] + zz * v[2]]
}

impl Kind {
    fn places(&self, at: impl Fn(usize, f64) -> [f64; 3]) -> Vec<[f64; 3]> {
        (0..self.readouts * self.samples).map(|m| at(m / self.samples, (m % self.samples) as f64)).collect()
    }

    fn nominal(&self) -> Vec<[f64; 3]> {
        self.places(self.course)
    }

    /// Where samples are taken with delays of gradients along x, y and z; mixed ones only of straight lines, which move by D times their step.
    fn taken(&self, d: &Delays) -> Vec<[f64; 3]> {
        let course = self.course;
        if d[3..].iter().all(|v| *v == 0.0) {
            return self.places(|s, t| std::array::from_fn(|a| course(s, t - d[a])[a]));
        }
        self.places(|s, t| {
            let (here, next) = (course(s, t), course(s, t + 1.0));
            let moved = times(d, std::array::from_fn(|a| next[a] - here[a]));
            std::array::from_fn(|a| here[a] - moved[a])
        })
    }

    fn scan(&self, device: u32) -> Scan {
        Scan::new(device, self.grid, self.nominal(), COILS, false)
    }

    fn dims(&self) -> usize {
        if self.grid[0] == 1 { 2 } else { 3 }
    }

    fn random_object(&self, rng: &mut SmallRng) -> Vec<Ellipsoid<3>> {
        let [nz, ny, nx] = self.grid.map(|n| n as f64);
        let flat = self.grid[0] == 1;
        let mut any = |low: f64, high: f64| rng.random_range(low..high);
        let radius = nx.min(ny) * any(0.3, 0.42);
        let place = |share: f64, any: &mut dyn FnMut(f64, f64) -> f64| {
            let (r, a) = (any(0.0, share) * radius, any(0.0, TAU));
            [r * a.cos(), r * a.sin(), if flat { 0.0 } else { any(-0.2, 0.2) * share * nz }]
        };
        let deep = 0.35 * nz;
        let mut out = vec![Ellipsoid {
            value: 1.0,
            centre: place(0.1, &mut any),
            semi: [radius, radius * any(0.7, 1.0), deep],
            angle: any(0.0, PI),
        }];
        for _ in 0..6 {
            let semi = [radius * any(0.05, 0.3), radius * any(0.05, 0.3), deep * any(0.1, 0.6)];
            out.push(Ellipsoid { value: any(-0.5, 0.8), centre: place(0.6, &mut any), semi, angle: any(0.0, PI) });
        }
        out
    }

    fn transform(&self, object: &[Ellipsoid<3>], k: &[[f64; 3]]) -> Vec<C> {
        if self.grid[0] > 1 {
            return kspace(object, k).expect("a transform");
        }
        let flat = object.iter().map(|e| Ellipsoid::<2> {
            value: e.value,
            centre: [e.centre[0], e.centre[1]],
            semi: [e.semi[0], e.semi[1]],
            angle: e.angle,
        });
        let k: Vec<[f64; 2]> = k.iter().map(|k| [k[0], k[1]]).collect();
        kspace(&flat.collect::<Vec<_>>(), &k).expect("a transform")
    }

    /// Samples of coils around the object, whose sensitivities (1 + sin(pi d.r / N)) / 2 are sums of shifts in k-space, so that samples are
    /// exact; and noise of so much of the largest one.
    fn samples(&self, object: &[Ellipsoid<3>], k: &[[f64; 3]], noise: f64, rng: &mut SmallRng) -> Vec<C> {
        let middle = self.transform(object, k);
        let mut out = Vec::new();
        for coil in 0..COILS {
            let (sin, cos) = (TAU * coil as f64 / COILS as f64).sin_cos();
            let way = [cos, sin].map(|v| 0.5 * v / self.grid[2] as f64);
            let moved = |by: f64| {
                let k: Vec<[f64; 3]> = k.iter().map(|k| [k[0] + by * way[0], k[1] + by * way[1], k[2]]).collect();
                self.transform(object, &k)
            };
            let both = moved(-1.0).into_iter().zip(moved(1.0));
            out.extend(middle.iter().zip(both).map(|(m, (up, down))| m / 2.0 + (up - down) / C::new(0.0, 4.0)));
        }
        let largest = out.iter().map(|v| v.norm()).fold(0.0, f64::max);
        // Sums of uniform numbers, of variance 1 in each part.
        let mut normal = || (0..12).map(|_| rng.random_range(-0.5..0.5)).sum::<f64>();
        out.iter_mut().for_each(|v| *v += C::new(normal(), normal()) * noise * largest);
        out
    }
}

fn options(readout: usize) -> isoc_mri_delay_options {
    // SAFETY: numbers; all zero is valid.
    let zero: isoc_mri_delay_options = unsafe { std::mem::zeroed() };
    let struct_size = size_of::<isoc_mri_delay_options>() as u32;
    isoc_mri_delay_options { struct_size, readout: readout as i64, ..zero }
}

fn delays(values: &Delays) -> isoc_mri_delays {
    // SAFETY: numbers; all zero is valid.
    let mut d: isoc_mri_delays = unsafe { std::mem::zeroed() };
    d.struct_size = size_of::<isoc_mri_delays>() as u32;
    [d.xx, d.yy, d.zz, d.xy, d.xz, d.yz] = *values;
    d
}

fn values(d: &isoc_mri_delays) -> [Delays; 2] {
    [[d.xx, d.yy, d.zz, d.xy, d.xz, d.yz], [d.xx_error, d.yy_error, d.zz_error, d.xy_error, d.xz_error, d.yz_error]]
}

fn try_find(scan: &Scan, samples: &[C], options: &isoc_mri_delay_options) -> (Status, isoc_mri_delays) {
    let mut found = delays(&[0.0; 6]);
    // SAFETY: valid pointers.
    let status = unsafe { isoc_mri_find_delays(scan.mri, &tensor(samples, &scan.scan_shape()), options, &mut found) };
    (status, found)
}

fn find(scan: &Scan, samples: &[C], readout: usize) -> isoc_mri_delays {
    let (status, found) = try_find(scan, samples, &options(readout));
    ok(status);
    found
}

fn delayed(scan: &Scan, d: &isoc_mri_delays, options: &isoc_mri_delay_options) -> Vec<f64> {
    let mut out = vec![f64::NAN; scan.k.len() * scan.dims()];
    let to = output(&mut out, &[scan.k.len() as i64, scan.dims() as i64]);
    // SAFETY: valid pointers.
    ok(unsafe { isoc_mri_delayed_trajectory(scan.mri, options, d, &to) });
    out
}

/// Within three errors of the truth, and the error is small: noise is 0.03 % of the largest sample, as of images with a signal 20 times
/// the noise.
#[test]
fn delays_of_every_kind_of_readouts_are_found() {
    let Some(device) = device() else { return };
    for kind in &KINDS {
        let mut rng = SmallRng::seed_from_u64(5);
        let scan = kind.scan(device);
        let object = kind.random_object(&mut rng);
        let straight = kind.name != "spiral";
        for (x, y, z, xy) in [
            (0.0, 0.0, 0.0, 0.0),
            (0.1, 0.1, 0.1, 0.0),
            (0.5, -0.1, 0.2, 0.0),
            (1.5, 1.5, 1.5, 0.0),
            (1.2, 0.8, 1.0, 0.25),
            (-2.0, -1.5, -1.8, 0.0),
        ] {
            // Volumes take some seconds each.
            if kind.name == "a ball of spokes" && xy == 0.0 {
                continue;
            }
            let truth = [
                x,
                y,
                if kind.name == "a ball of spokes" { z } else { 0.0 },
                if straight { xy } else { 0.0 },
                0.0,
                0.0,
            ];
            let samples = kind.samples(&object, &kind.taken(&truth), 3e-4, &mut rng);
            let found = find(&scan, &samples, kind.samples);
            let [seen, errors] = values(&found);
            println!("{}: {truth:?}: {seen:.4?} +- {errors:.4?}, {:.5}", kind.name, found.confidence);
            for p in 0..6 {
                let case = format!("{}, {p}: {} +- {} of {}", kind.name, seen[p], errors[p], truth[p]);
                assert!((seen[p] - truth[p]).abs() <= 3.0 * errors[p], "{case}");
                assert!(errors[p] < 0.05, "{case}");
            }
            assert!(found.confidence > 0.99, "{}: {}", kind.name, found.confidence);
        }
    }
}

/// Of 60 scans of random objects, delays, noise and kinds, 95 % of all numbers are within twice their error; benches/delay_errors.py has more of them.
#[test]
fn the_error_holds() {
    let Some(device) = device() else { return };
    let (mut good, mut all) = (0, 0);
    for seed in 0..60 {
        let mut rng = SmallRng::seed_from_u64(100 + seed);
        let kind = &KINDS[seed as usize % 5];
        let (object, scan) = (kind.random_object(&mut rng), kind.scan(device));
        let mut any = |most: f64| rng.random_range(-most..most);
        let (all_axes, mixed) = (any(1.8), if kind.name == "spiral" { 0.0 } else { any(0.3) });
        let truth = [all_axes + any(0.4), all_axes + any(0.4), 0.0, mixed, 0.0, 0.0];
        let noise = 10f64.powf(-3.25 + any(0.75));
        let samples = kind.samples(&object, &kind.taken(&truth), noise, &mut rng);
        let [seen, errors] = values(&find(&scan, &samples, kind.samples));
        for p in [0, 1, 3] {
            all += 1;
            let within = (seen[p] - truth[p]).abs() <= 2.0 * errors[p];
            good += i32::from(within);
            if !within {
                println!(
                    "{seed}, {}, {p}: {:.5} +- {:.5}, noise {noise:.1e}",
                    kind.name,
                    seen[p] - truth[p],
                    errors[p]
                );
            }
        }
    }
    println!("{good} of {all} within twice their error");
    assert!(f64::from(good) >= 0.95 * f64::from(all), "{good} of {all}");
}

/// A delay of 1.5 samples, and the image by the trajectory that was found; errors are relative to the image of samples without delay.
#[test]
fn images_are_as_without_delays() {
    let Some(device) = device() else { return };
    for kind in [&KINDS[0], &KINDS[4]] {
        let mut rng = SmallRng::seed_from_u64(3);
        let mut scan = kind.scan(device);
        let object = kind.random_object(&mut rng);
        let clean = kind.samples(&object, &kind.nominal(), 0.0, &mut rng);
        let late = kind.samples(&object, &kind.taken(&[1.5, 1.5, 0.0, 0.0, 0.0, 0.0]), 1e-4, &mut rng);
        let image = |scan: &mut Scan, samples: &[C]| {
            scan.options(|o| o.iterations = 15);
            scan.to_image(isoc_mri_reconstruct, samples)
        };
        let expected = image(&mut scan, &clean);
        let found = find(&scan, &late, kind.samples);
        let before = error(&image(&mut scan, &late), &expected);
        let right = delayed(&scan, &found, &options(kind.samples));
        let places: Vec<[f64; 3]> =
            right.chunks_exact(2).map(|k| [k[0].clamp(-0.5, 0.5), k[1].clamp(-0.5, 0.5), 0.0]).collect();
        let inside = right.chunks_exact(2).zip(&places).map(|(k, p)| f64::from(u8::from(k == &p[..2]))).collect();
        let mut scan = Scan::new(device, kind.grid, places, COILS, false);
        scan.set_weights(inside);
        let after = error(&image(&mut scan, &late), &expected);
        println!("{}: error {before:.3} before, {after:.4} after", kind.name);
        assert!(before > 0.2 && after < 0.05, "{}: {before}, {after}", kind.name);
    }
}

/// The trajectory with delays is the course at earlier times, in the plan's unit; a cubic through samples of a spiral is off by the fourth
/// power of its step in turns: (2 pi / 100)^4.
#[test]
fn trajectories_with_delays_are_in_the_plans_unit() {
    let Some(device) = device() else { return };
    for kind in [&KINDS[0], &KINDS[4], &KINDS[5]] {
        let scan = kind.scan(device);
        let d = [0.75, -0.3, if kind.dims() == 3 { 1.25 } else { 0.0 }, 0.0, 0.0, 0.0];
        let expected = kind.taken(&d);
        for (unit, scale) in [(1, 1.0), (2, kind.grid[2] as f64), (3, TAU)] {
            scan.set_geometry(unit, if unit == 3 { TAU } else { 1.0 }, false);
            let seen = delayed(&scan, &delays(&d), &options(kind.samples));
            for (m, (k, e)) in seen.chunks_exact(kind.dims()).zip(&expected).enumerate() {
                // Readouts go on straight beyond their ends, which spirals do not.
                let inner = (3..kind.samples - 3).contains(&(m % kind.samples)) || kind.name != "spiral";
                let off = k.iter().zip(e).map(|(k, e)| (k / scale - e).abs()).fold(0.0, f64::max);
                assert!(!inner || off < 2e-5, "{}, unit {unit}, sample {m}: {k:?}, {e:?}", kind.name);
            }
        }
    }
}

#[test]
fn what_delays_cannot_be_told_from_is_an_error() {
    let Some(device) = device() else { return };
    let mut rng = SmallRng::seed_from_u64(9);
    let refused = |kind: &Kind, samples: &[C], o: &isoc_mri_delay_options, words: &str| {
        let (status, found) = try_find(&kind.scan(device), samples, o);
        assert_eq!(status, Status::OutOfRange, "{}: {words}", kind.name);
        assert!(said().contains(words), "{}: {} lacks {words}", kind.name, said());
        assert_eq!(values(&found), [[0.0; 6]; 2], "found is left alone");
    };
    let lines: Course = |s, t| [(t - 24.0) / 48.0, (s as f64 - 24.0) / 48.0, 0.0];
    let lines = Kind { name: "lines", grid: PLANE, readouts: 48, samples: 48, course: lines };
    let object = lines.random_object(&mut rng);
    let of_lines = lines.samples(&object, &lines.nominal(), 0.0, &mut rng);
    refused(&lines, &of_lines, &options(48), "readouts go along x alone");

    let few = Kind { name: "three spokes", readouts: 3, ..KINDS[1] };
    let of_few = few.samples(&object, &few.nominal(), 0.0, &mut rng);
    refused(&few, &of_few, &options(96), "the middle of k-space has");

    let kind = KINDS[0];
    let zero = vec![C::new(0.0, 0.0); COILS * kind.readouts * kind.samples];
    refused(&kind, &zero, &options(96), "it must be above 0");
    refused(&kind, &zero, &options(95), "options.readout is 95");
    refused(&kind, &zero, &options(2), "options.readout is 2");
    refused(&kind, &zero, &isoc_mri_delay_options { range: 49.0, ..options(96) }, "options.range is 49");
    refused(&kind, &zero, &isoc_mri_delay_options { range: f64::NAN, ..options(96) }, "options.range is NaN");
    refused(&kind, &zero, &isoc_mri_delay_options { voxel_y: -1.0, ..options(96) }, "options.voxel_y is -1");
    // 3 samples late, and 1 looked for.
    let late = kind.samples(&object, &kind.taken(&[3.0, 3.0, 0.0, 0.0, 0.0, 0.0]), 0.0, &mut rng);
    refused(&kind, &late, &isoc_mri_delay_options { range: 1.0, ..options(96) }, "options.range");
}

/// Noise alone has delays that are not worth anything, and says so, or is refused.
#[test]
fn noise_has_no_confidence() {
    let Some(device) = device() else { return };
    let kind = KINDS[0];
    let samples = random(COILS * kind.readouts * kind.samples, 4);
    let (status, found) = try_find(&kind.scan(device), &samples, &options(96));
    println!("{status:?}: {:?}, {}", values(&found), found.confidence);
    assert!(status == Status::OutOfRange || found.confidence < 0.2);
}

/// The same numbers to rounding, whatever instructions and threads: the fit is in f64, and its end is where steps are below 1e-4.
#[test]
fn samples_of_single_precision_and_levels_agree() {
    use isocenter::array::Array;
    use isocenter::context::{Compute, Context, ContextOptions};
    use isocenter::cpu::level::Level;
    use isocenter::mri::delays::Timing;
    use isocenter::mri::{Geometry, Mri, Precision, Trajectory, Unit};
    let mut rng = SmallRng::seed_from_u64(6);
    let kind = KINDS[1];
    let object = kind.random_object(&mut rng);
    let samples = kind.samples(&object, &kind.taken(&[0.7, 0.4, 0.0, -0.1, 0.0, 0.0]), 1e-3, &mut rng);
    let flat: Vec<f64> = kind.nominal().iter().flat_map(|k| [k[0], k[1]]).collect();
    let found: Vec<[f64; 6]> = Level::available()
        .map(|level| {
            let options =
                ContextOptions { compute: Compute::Cpu, level: Some(level), threads: 1, ..ContextOptions::default() };
            let mut mri = Mri::new(std::sync::Arc::new(Context::new(options).expect("a context")));
            let trajectory = Trajectory::new(&flat, Unit::CyclesPerVoxel, kind.grid, 2).expect("a trajectory");
            let geometry = Geometry { grid: kind.grid, coils: COILS, precision: Precision::Single };
            mri.set_geometry(geometry, trajectory).expect("a geometry");
            let timing = Timing { readout: 96, range: 0.0, voxel: [1.0; 3] };
            let array = Array::of(&samples, [COILS, kind.readouts * kind.samples]).expect("an array");
            mri.find_delays(array, &timing).expect("delays").delays
        })
        .collect();
    for other in &found {
        assert!(other.iter().zip(&found[0]).all(|(a, b)| (a - b).abs() < 1e-6), "{found:?}");
    }
}

/// Samples in any unit have the same delays.
#[test]
fn any_unit_has_the_same_delays() {
    let Some(device) = device() else { return };
    let mut rng = SmallRng::seed_from_u64(8);
    let kind = KINDS[1];
    let object = kind.random_object(&mut rng);
    let samples = kind.samples(&object, &kind.taken(&[0.7, 0.4, 0.0, -0.1, 0.0, 0.0]), 1e-3, &mut rng);
    let scan = kind.scan(device);
    let at = |unit: f64| {
        let own: Vec<C> = samples.iter().map(|v| v * unit).collect();
        values(&find(&scan, &own, 96))[0]
    };
    let expected = at(1.0);
    for exponent in [-97, -50, 50, 97] {
        let found = at(2f64.powi(exponent));
        // Powers of two take no digit away; the fit's end is where steps are below 1e-4.
        assert!(found.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-6), "2^{exponent}: {found:?} {expected:?}");
    }
}
