//! The nonuniform Fourier transforms against plain f64 sums.

use isocenter::cpu::level::Level;
use isocenter::error::{Error, Status};
use isocenter::nufft::{Plan, Scalar, Settings};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use rayon::ThreadPoolBuilder;
use rustfft::num_complex::Complex;
use std::f64::consts::PI;

type C64 = Complex<f64>;

fn in_pool<R: Send>(threads: usize, work: impl FnOnce() -> R + Send) -> R {
    ThreadPoolBuilder::new().num_threads(threads).build().expect("threads").install(work)
}

/// Uniform in the square of side 2, the same every time.
fn random<T: Scalar>(len: usize, seed: u64) -> Vec<Complex<T>> {
    let mut rng = SmallRng::seed_from_u64(seed);
    (0..len).map(|_| Complex::new(rng.random_range(-1.0..1.0), rng.random_range(-1.0..1.0)).map(T::of)).collect()
}

/// For a generic `Complex<T>`.
trait Map<T> {
    fn map<U>(self, f: impl Fn(T) -> U) -> Complex<U>;
}

impl<T> Map<T> for Complex<T> {
    fn map<U>(self, f: impl Fn(T) -> U) -> Complex<U> {
        Complex::new(f(self.re), f(self.im))
    }
}

fn exact<T: Scalar + Into<f64>>(values: &[Complex<T>]) -> Vec<C64> {
    values.iter().map(|v| v.map(Into::into)).collect()
}

/// Sets of points (z, y, x) in cycles per voxel.
fn trajectories(dims: usize) -> Vec<(&'static str, Vec<[f64; 3]>)> {
    let mut rng = SmallRng::seed_from_u64(5);
    let flat = |k: [f64; 3]| if dims == 2 { [0.0, k[1], k[2]] } else { k };
    let mut any = |low: f64, high: f64, n: usize| -> Vec<[f64; 3]> {
        (0..n).map(|_| flat(std::array::from_fn(|_| rng.random_range(low..high)))).collect()
    };
    let directions: Vec<[f64; 3]> = any(-1.0, 1.0, 12);
    let spoke = |d: [f64; 3]| {
        let length = d.iter().map(|v| v * v).sum::<f64>().sqrt();
        (0..32).map(move |s| d.map(|v| v / length * (f64::from(s) / 32.0 - 0.5)))
    };
    let spiral = |s: i32| {
        let (r, t) = (f64::from(s) / 600.0, 0.2 * f64::from(s));
        flat([0.9 * r - 0.2, r * t.cos(), r * t.sin()])
    };
    let mut edges = any(-0.5, 0.5, 300);
    for (m, k) in edges.iter_mut().enumerate() {
        k[m % 3] = if m % 2 == 0 { -0.5 } else { 0.5 };
    }
    edges.extend((0..8).map(|corner| [0, 1, 2].map(|a| (corner >> a & 1) as f64 - 0.5)));
    vec![
        ("random", any(-0.5, 0.5, 400)),
        ("radial", directions.into_iter().flat_map(spoke).collect()),
        ("spiral", (0..300).map(spiral).collect()),
        ("clustered", any(0.123, 0.1235, 300)),
        ("single", any(-0.5, 0.5, 1)),
        ("edges", edges.into_iter().map(flat).collect()),
        // On a grid point, whose function then ends on grid points.
        ("centre", vec![[0.0; 3]; 20]),
    ]
}

const SHAPES: [[usize; 3]; 10] = [
    [1, 67, 41],
    [1, 12, 18],
    [1, 15, 9],
    [1, 1, 11],
    [1, 3, 2],
    [1, 2, 1],
    [10, 12, 8],
    [9, 5, 13],
    [2, 3, 20],
    [3, 1, 2],
];

fn dims(shape: [usize; 3]) -> usize {
    if shape[0] == 1 { 2 } else { 3 }
}

/// exp(i 2 pi k . (j - floor(N / 2))) for all voxels j.
fn waves(shape: [usize; 3], k: [f64; 3]) -> Vec<C64> {
    let axis = |a: usize| -> Vec<C64> {
        let at = |j: usize| C64::from_polar(1.0, 2.0 * PI * k[a] * (j as f64 - (shape[a] / 2) as f64));
        (0..shape[a]).map(at).collect()
    };
    let [z, y, x] = [0, 1, 2].map(axis);
    z.iter().flat_map(|z| y.iter().flat_map(|y| x.iter().map(|x| *z * *y * *x)).collect::<Vec<_>>()).collect()
}

fn direct_adjoint(shape: [usize; 3], points: &[[f64; 3]], values: &[C64]) -> Vec<C64> {
    let mut image = vec![C64::default(); shape.iter().product()];
    for (k, v) in points.iter().zip(values) {
        image.iter_mut().zip(waves(shape, *k)).for_each(|(i, w)| *i += v * w);
    }
    image
}

fn direct_forward(shape: [usize; 3], points: &[[f64; 3]], image: &[C64]) -> Vec<C64> {
    let value = |k: &[f64; 3]| image.iter().zip(waves(shape, *k)).map(|(i, w)| i * w.conj()).sum();
    points.iter().map(value).collect()
}

fn norm(v: &[C64]) -> f64 {
    v.iter().map(|v| v.norm_sqr()).sum::<f64>().sqrt()
}

/// l2, relative to what is expected, or to the sum of terms of random phase where they happen to cancel.
fn error<T: Scalar + Into<f64>>(seen: &[Complex<T>], expected: &[C64], terms: &[Complex<T>]) -> f64 {
    assert_eq!(seen.len(), expected.len());
    let off: Vec<C64> = exact(seen).iter().zip(expected).map(|(s, e)| s - e).collect();
    norm(&off) / norm(expected).max(norm(&exact(terms)) * (expected.len() as f64).sqrt())
}

fn plan<T: Scalar>(settings: Settings, points: &[[f64; 3]]) -> Result<Plan<T>, Error> {
    let mut plan = Plan::new(settings)?;
    plan.set_points(points.len(), |m| points[m])?;
    Ok(plan)
}

fn adjoint<T: Scalar>(plan: &mut Plan<T>, values: &[Complex<T>], voxels: usize) -> Vec<Complex<T>> {
    let mut out = vec![Complex::new(T::of(f64::NAN), T::zero()); voxels];
    plan.adjoint(values, &mut out, &mut |_| Ok(())).expect("success");
    out
}

fn forward<T: Scalar>(plan: &mut Plan<T>, image: &[Complex<T>], samples: usize) -> Vec<Complex<T>> {
    let mut out = vec![Complex::new(T::of(f64::NAN), T::zero()); samples];
    plan.forward(image, &mut out, &mut |_| Ok(())).expect("success");
    out
}

/// Both transforms of every trajectory and shape.
fn sweep<T: Scalar + Into<f64>>(tolerances: &[f64], upsampling: Option<f64>, level: Level) {
    for shape in SHAPES {
        let voxels: usize = shape.iter().product();
        for (name, points) in trajectories(dims(shape)) {
            let (values, image) = (random::<T>(points.len(), 1), random::<T>(voxels, 2));
            let expected =
                (direct_adjoint(shape, &points, &exact(&values)), direct_forward(shape, &points, &exact(&image)));
            for &tolerance in tolerances {
                let settings = Settings { upsampling, level, ..Settings::new(shape, tolerance, points.len()) };
                let mut plan = plan::<T>(settings, &points).expect("a plan");
                let seen = (adjoint(&mut plan, &values, voxels), forward(&mut plan, &image, points.len()));
                let errors = [error(&seen.0, &expected.0, &values), error(&seen.1, &expected.1, &image)];
                println!("{shape:?} {name} {tolerance:e}: {:.1e}, {:.1e}", errors[0], errors[1]);
                // Samples of one place are one number, whose error is not averaged.
                let one = matches!(name, "single" | "clustered" | "centre");
                for (e, bound) in errors.into_iter().zip([tolerance, if one { 2.0 * tolerance } else { tolerance }]) {
                    assert!(e <= bound, "{shape:?}, {name}, {upsampling:?}, {level:?}, {tolerance:e}: {e:.2e}");
                }
            }
        }
    }
}

#[test]
fn f32_keeps_every_tolerance() {
    in_pool(2, || sweep::<f32>(&[1e-2, 1e-3, 1e-4, 1e-5, 1e-6], Some(2.0), Level::detect()));
    in_pool(2, || sweep::<f32>(&[1e-2, 1e-3, 1e-4, 1e-5], None, Level::detect()));
}

/// Rounding on so short a grid keeps f32 from 2e-4 in three dimensions.
#[test]
fn f32_keeps_tolerances_on_a_short_grid() {
    in_pool(2, || sweep::<f32>(&[1e-2, 1e-3, 3e-4], Some(1.25), Level::detect()));
}

#[test]
fn f64_keeps_every_tolerance() {
    let tolerances = [1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11, 1e-12];
    in_pool(2, || sweep::<f64>(&tolerances, Some(2.0), Level::detect()));
    in_pool(2, || sweep::<f64>(&tolerances, None, Level::detect()));
    in_pool(2, || sweep::<f64>(&[1e-3, 1e-6, 1e-8], Some(1.25), Level::detect()));
}

#[test]
fn every_level_keeps_the_tolerance() {
    for level in Level::available() {
        in_pool(2, || sweep::<f32>(&[1e-5], None, level));
        in_pool(2, || sweep::<f64>(&[1e-9], None, level));
    }
}

fn dot<T: Scalar + Into<f64>>(a: &[Complex<T>], b: &[Complex<T>]) -> C64 {
    exact(a).iter().zip(exact(b)).map(|(a, b)| a * b.conj()).sum()
}

/// <A x, y> = <x, A^H y>, to what rounding leaves of the product of the norms.
fn adjointness<T: Scalar + Into<f64>>(tolerance: f64, upsampling: f64, bound: f64) {
    for shape in [[1, 24, 31], [12, 17, 10]] {
        for (name, points) in trajectories(dims(shape)) {
            let settings = Settings { upsampling: Some(upsampling), ..Settings::new(shape, tolerance, points.len()) };
            let mut plan = plan::<T>(settings, &points).expect("a plan");
            let (x, y) = (random::<T>(shape.iter().product(), 1), random::<T>(points.len(), 2));
            let (ax, aty) = (forward(&mut plan, &x, y.len()), adjoint(&mut plan, &y, x.len()));
            let scale = norm(&exact(&ax)).max(norm(&exact(&x)) * (y.len() as f64).sqrt()) * norm(&exact(&y));
            let off = (dot(&ax, &y) - dot(&x, &aty)).norm() / scale;
            println!("{shape:?} {name}: {off:.1e}");
            assert!(off <= bound, "{shape:?}, {name}: {off:.1e}");
        }
    }
}

#[test]
fn transforms_are_adjoint() {
    in_pool(2, || adjointness::<f32>(1e-3, 2.0, 1e-6));
    in_pool(2, || adjointness::<f64>(1e-6, 2.0, 1e-12));
    // A short grid has more rounding: the last modes are small there.
    in_pool(2, || adjointness::<f32>(1e-3, 1.25, 3e-6));
    in_pool(2, || adjointness::<f64>(1e-6, 1.25, 1e-12));
}

/// A cluster large enough to be split, on a grid of many tiles.
#[test]
fn threads_do_not_change_a_bit() {
    for shape in [[1, 40, 50], [18, 40, 20]] {
        let mut rng = SmallRng::seed_from_u64(7);
        let mut points: Vec<[f64; 3]> =
            (0..60_000).map(|_| std::array::from_fn(|_| rng.random_range(-0.01..0.01))).collect();
        points.extend((0..9_000).map(|_| -> [f64; 3] { std::array::from_fn(|_| rng.random_range(-0.5..0.5)) }));
        let voxels: usize = shape.iter().product();
        let (values, image) = (random::<f32>(2 * points.len(), 1), random::<f32>(2 * voxels, 2));
        let run = |threads| {
            in_pool(threads, || {
                let mut plan = plan::<f32>(Settings::new(shape, 1e-4, points.len()), &points).expect("a plan");
                (adjoint(&mut plan, &values, 2 * voxels), forward(&mut plan, &image, 2 * points.len()))
            })
        };
        let (one, expected) = (run(1), direct_adjoint(shape, &points, &exact(&values[..points.len()])));
        let e = error(&one.0[..voxels], &expected, &values[..points.len()]);
        assert!(e < 1e-4, "{shape:?}: {e:.1e}");
        for threads in [2, 3] {
            assert!(one == run(threads), "{shape:?}, {threads} threads");
        }
    }
}

#[test]
fn coils_are_separate_and_calls_leave_nothing_behind() {
    let (shape, points) = ([6, 10, 8], trajectories(3)[0].1.clone());
    let voxels: usize = shape.iter().product();
    let mut plan = plan::<f32>(Settings::new(shape, 1e-4, points.len()), &points).expect("a plan");
    let (values, image) = (random::<f32>(3 * points.len(), 1), random::<f32>(3 * voxels, 2));
    let all = (adjoint(&mut plan, &values, 3 * voxels), forward(&mut plan, &image, 3 * points.len()));
    for coil in (0..3).rev() {
        let one = adjoint(&mut plan, &values[coil * points.len()..][..points.len()], voxels);
        assert!(one == all.0[coil * voxels..][..voxels]);
        let one = forward(&mut plan, &image[coil * voxels..][..voxels], points.len());
        assert!(one == all.1[coil * points.len()..][..points.len()]);
    }
}

#[test]
fn no_points_give_a_zero_image() {
    let mut plan = plan::<f64>(Settings::new([1, 4, 5], 1e-6, 0), &[]).expect("a plan");
    assert!(adjoint(&mut plan, &[], 20).iter().all(|v| *v == C64::default()));
    assert!(forward(&mut plan, &random(20, 1), 0).is_empty());
}

#[test]
fn progress_goes_up_and_can_cancel() {
    let points = trajectories(2)[0].1.clone();
    let mut plan = plan::<f32>(Settings::new([1, 8, 8], 1e-3, points.len()), &points).expect("a plan");
    let (values, mut image) = (random::<f32>(2 * points.len(), 1), random::<f32>(128, 2));
    let mut seen = Vec::new();
    let mut watch = |f: f64| {
        seen.push(f);
        Ok(())
    };
    plan.adjoint(&values, &mut image, &mut watch).expect("success");
    assert_eq!(seen, [0.0, 0.25, 0.5, 0.75]);
    let stop = || Err(Error::new(Status::Cancelled, "enough"));
    let e = plan.adjoint(&values, &mut image, &mut |f| if f < 0.5 { Ok(()) } else { stop() }).expect_err("cancelled");
    assert_eq!(e.status, Status::Cancelled);
    plan.adjoint(&values, &mut image, &mut |_| Ok(())).expect("the plan is still good");
}

#[test]
fn bad_input_is_refused() {
    let status = |r: Result<Plan<f32>, Error>| r.err().map(|e| e.status);
    let settings = Settings::new([1, 8, 8], 1e-3, 1);
    for bad in [
        Settings { shape: [1, 0, 8], ..settings.clone() },
        Settings { shape: [1, 8, usize::MAX], ..settings.clone() },
        Settings { tolerance: 1e-9, ..settings.clone() },
        Settings { tolerance: f64::NAN, ..settings.clone() },
        Settings { upsampling: Some(1.0), ..settings.clone() },
        Settings { upsampling: Some(f64::NAN), ..settings.clone() },
    ] {
        assert_eq!(status(Plan::new(bad.clone())), Some(Status::OutOfRange), "{bad:?}");
    }
    let huge = Settings { shape: [1 << 24; 3], ..settings.clone() };
    assert_eq!(status(Plan::new(huge)), Some(Status::SizeOverflow));
    for bad in [0.500001, -0.500001, f64::NAN, f64::INFINITY] {
        let e = plan::<f32>(settings.clone(), &[[9.0, 0.0, 0.0], [0.0, 0.1, bad]]).err().expect("out of range");
        assert!(e.status == Status::OutOfRange && e.message.contains("point 1"), "{e}");
    }
    let mut plan: Plan<f32> = Plan::new(settings).expect("a plan");
    let mut image = vec![Complex::default(); 64];
    let e = plan.adjoint(&[], &mut image, &mut |_| Ok(())).expect_err("no points");
    assert_eq!(e.status, Status::NotConfigured);
    plan.set_points(2, |_| [0.0; 3]).expect("points");
    for (values, voxels) in [(3, 64), (2, 65), (2, 128), (0, 64)] {
        let (values, mut image) = (random(values, 1), vec![Complex::default(); voxels]);
        let e = plan.adjoint(&values, &mut image, &mut |_| Ok(())).expect_err("another shape");
        assert_eq!(e.status, Status::TensorShape);
    }
}

#[test]
fn memory_is_what_the_grid_and_points_take() {
    let plan: Plan<f32> = Plan::new(Settings::new([32, 32, 32], 1e-3, 1000)).expect("a plan");
    let [z, y, x] = plan.grid_shape();
    let min = (z * y * x * 8 + 1000 * 28) as u64;
    let bytes = in_pool(2, || plan.memory(1000));
    assert!((min..2 * min + (1 << 16)).contains(&bytes), "{bytes}, at least {min}");
}

/// Points are sorted in two passes. One that has moved in between would lie in another task's part of the grid.
#[test]
fn points_that_move_while_they_are_sorted_are_refused() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let settings = Settings::new([1, 128, 128], 1e-3, 1000);
    for threads in [1, 4] {
        let asked: Vec<AtomicBool> = (0..1000).map(|_| AtomicBool::new(false)).collect();
        let moving = |m: usize| {
            let again = asked[m].swap(true, Ordering::Relaxed);
            [0.0, if again && m % 10 == 3 { 0.3 } else { -0.3 }, 0.001 * (m % 100) as f64]
        };
        let mut plan = Plan::<f32>::new(settings.clone()).expect("settings");
        let Err(e) = in_pool(threads, || plan.set_points(1000, moving)) else { panic!("the points moved") };
        assert_eq!(e.status, Status::OutOfRange);
        assert!(e.message.contains("was elsewhere"), "{}", e.message);
        assert!(!plan.has_points());
    }
}
