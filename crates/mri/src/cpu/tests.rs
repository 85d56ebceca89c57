use super::direct::{self, Direct};
use super::separable;
use isocenter_base::cpu::level::Level;
use isocenter_base::error::{Result, fail};
use isocenter_nufft::Scalar;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use rustfft::num_complex::Complex;
use std::f64::consts::TAU;
use std::sync::atomic::{AtomicUsize, Ordering};

type C64 = Complex<f64>;

/// One problem with its data in f64, rounded to f32 where that is what is tested.
struct Case {
    grid: [usize; 3],
    k: [Vec<f64>; 3],
    coils: usize,
    image: Vec<C64>,
    samples: Vec<C64>,
}

fn numbers(rng: &mut StdRng, count: usize) -> Vec<C64> {
    let part = |rng: &mut StdRng| rng.random_range(-1.0f32..1.0) as f64;
    (0..count).map(|_| C64::new(part(rng), part(rng))).collect()
}

impl Case {
    fn new(grid: [usize; 3], samples: usize, coils: usize) -> Self {
        let mut rng = StdRng::seed_from_u64(grid.iter().fold(samples as u64, |a, n| a * 31 + *n as u64));
        let mut axis =
            |n: usize| (0..samples).map(|_| if n == 1 { 0.0 } else { rng.random_range(-0.5..=0.5) }).collect();
        let mut k: [Vec<f64>; 3] = [axis(grid[2]), axis(grid[1]), axis(grid[0])];
        // Edges, the middle, and a place in front of the edge's mirror image.
        for (m, edge) in [0.5, -0.5, 0.0, 0.25, 0.5 - 1e-17].into_iter().enumerate().take(samples) {
            k[0][m] = edge;
        }
        let voxels: usize = grid.iter().product();
        let (image, samples) = (numbers(&mut rng, coils * voxels), numbers(&mut rng, coils * samples));
        Self { grid, k, coils, image, samples }
    }

    fn k(&self) -> [&[f64]; 3] {
        self.k.each_ref().map(Vec::as_slice)
    }

    /// Of voxel i, along x, y, z.
    fn positions(&self) -> Vec<f64> {
        let [nz, ny, nx] = self.grid;
        let place = |j: usize, n: usize| j as f64 - (n / 2) as f64;
        let voxels = (0..nz * ny * nx).map(|i| [place(i % nx, nx), place(i / nx % ny, ny), place(i / nx / ny, nz)]);
        voxels.flatten().collect()
    }

    fn count(&self) -> usize {
        self.k[0].len()
    }
}

/// The definition, with phases reduced in parts: k . r of each axis without its whole turns.
fn truth(case: &Case, positions: &[f64], field: Option<(&[f64], &[f64])>, forward: bool) -> Vec<C64> {
    let (voxels, count) = (positions.len() / 3, case.count());
    let mut out = vec![C64::default(); case.coils * if forward { count } else { voxels }];
    for (i, r) in positions.chunks_exact(3).enumerate() {
        for m in 0..count {
            // What remains of a product is exact, since both are multiples of the same power of two.
            let turns = |a: f64, b: f64| (a * b).rem_euclid(1.0) + a.mul_add(b, -(a * b));
            let mut phase: f64 = (0..3).map(|d| turns(case.k[d][m], r[d])).sum();
            if let Some((hertz, seconds)) = field {
                phase += turns(hertz[i], seconds[m]);
            }
            let factor = C64::cis(TAU * phase);
            for coil in 0..case.coils {
                if forward {
                    out[coil * count + m] += case.image[coil * voxels + i] * factor.conj();
                } else {
                    out[coil * voxels + i] += case.samples[coil * count + m] * factor;
                }
            }
        }
    }
    out
}

fn to<T: Scalar>(values: &[C64]) -> Vec<Complex<T>> {
    values.iter().map(|v| Complex::new(T::of(v.re), T::of(v.im))).collect()
}

fn from<T: Scalar>(values: &[Complex<T>]) -> Vec<C64> {
    values.iter().map(|v| C64::new(v.re.wide(), v.im.wide())).collect()
}

/// Relative l2 distance.
fn distance(a: &[C64], b: &[C64]) -> f64 {
    let norm = |sum: f64, v: C64| sum + v.norm_sqr();
    let difference = a.iter().zip(b).map(|(a, b)| a - b).fold(0.0, norm);
    (difference / b.iter().copied().fold(0.0, norm)).sqrt()
}

fn with_threads<R: Send>(threads: usize, work: impl FnOnce() -> R + Send) -> R {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads").install(work)
}

const GO_ON: super::progress::Check = &|_| Ok(());

/// (adjoint, forward) of the separable sums.
fn separable<T: Scalar>(case: &Case, level: Level) -> (Vec<Complex<T>>, Vec<Complex<T>>) {
    let (image, samples) = (to::<T>(&case.image), to::<T>(&case.samples));
    // Whatever was there is overwritten.
    let rubbish = Complex::new(T::of(7.0), T::of(f64::NAN));
    let (mut adjoint, mut forward) = (vec![rubbish; image.len()], vec![rubbish; samples.len()]);
    separable::adjoint(level, case.grid, case.k(), &samples, case.coils, &mut adjoint, GO_ON).expect("adjoint");
    separable::forward(level, case.grid, case.k(), &image, case.coils, &mut forward, GO_ON).expect("forward");
    (adjoint, forward)
}

/// (adjoint, forward) of the direct sums.
fn both<T: Scalar>(case: &Case, level: Level, sums: &Direct) -> (Vec<Complex<T>>, Vec<Complex<T>>) {
    let (image, samples) = (to::<T>(&case.image), to::<T>(&case.samples));
    let rubbish = Complex::new(T::of(7.0), T::of(f64::NAN));
    let (mut adjoint, mut forward) = (vec![rubbish; image.len()], vec![rubbish; samples.len()]);
    sums.adjoint(level, &samples, case.coils, &mut adjoint, GO_ON).expect("adjoint");
    sums.forward(level, &image, case.coils, &mut forward, GO_ON).expect("forward");
    (adjoint, forward)
}

/// A factor is right to a rounding or a few units, and so are products; sums of chunks of 128 terms add a random walk of at
/// most 11 roundings. With the reference's own rounding (1e-14 of the norm) that is at most 30 units.
fn tolerance<T: Scalar>() -> f64 {
    30.0 * T::UNIT + 1e-14
}

fn grids() -> Vec<Case> {
    vec![
        Case::new([1, 1, 1], 1, 1),
        Case::new([1, 1, 2], 3, 1),
        Case::new([1, 5, 1], 4, 2),
        Case::new([1, 16, 17], 129, 1),
        Case::new([1, 33, 40], 300, 2),
        Case::new([2, 3, 4], 5, 3),
        Case::new([5, 4, 3], 127, 1),
        Case::new([8, 16, 32], 128, 1),
        Case::new([9, 14, 49], 257, 1),
        Case::new([1, 3, 130], 2500, 1),
    ]
}

fn check_separable<T: Scalar>() {
    for case in grids() {
        let positions = case.positions();
        let (b, s) = (truth(&case, &positions, None, false), truth(&case, &positions, None, true));
        for level in Level::available() {
            let (adjoint, forward) = separable::<T>(&case, level);
            let errors = [distance(&from(&adjoint), &b), distance(&from(&forward), &s)];
            assert!(errors.iter().all(|e| *e < tolerance::<T>()), "{:?} at {level:?}: {errors:?}", case.grid);
        }
    }
}

#[test]
fn separable_sums_are_right_in_single_precision() {
    check_separable::<f32>();
}

#[test]
fn separable_sums_are_right_in_double_precision() {
    check_separable::<f64>();
}

/// Voxels off the grid and an off-resonance of up to 100 Hz over 50 ms.
fn anywhere(case: &Case) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
    let mut rng = StdRng::seed_from_u64(case.count() as u64);
    let positions = case.positions().iter().map(|r| 1.7 * r + rng.random_range(-0.5..0.5)).collect::<Vec<_>>();
    let hertz = (0..positions.len() / 3).map(|_| rng.random_range(-100.0..100.0)).collect();
    let seconds = (0..case.count()).map(|m| 0.05 * m as f64 / case.count() as f64).collect();
    (positions, hertz, seconds)
}

fn check_direct<T: Scalar>() {
    for case in grids() {
        let (positions, hertz, seconds) = anywhere(&case);
        for field in [None, Some((hertz.as_slice(), seconds.as_slice()))] {
            let (b, s) = (truth(&case, &positions, field, false), truth(&case, &positions, field, true));
            for level in Level::available() {
                let sums = Direct { positions: &positions, dims: 3, k: case.k(), field };
                let (adjoint, forward) = both::<T>(&case, level, &sums);
                let errors = [distance(&from(&adjoint), &b), distance(&from(&forward), &s)];
                assert!(errors.iter().all(|e| *e < tolerance::<T>()), "{:?} at {level:?}: {errors:?}", case.grid);
            }
        }
    }
}

#[test]
fn direct_sums_are_right_in_single_precision() {
    check_direct::<f32>();
}

#[test]
fn direct_sums_are_right_in_double_precision() {
    check_direct::<f64>();
}

/// Phases of up to 20,000 turns: f32 alone would have none of their fraction left right.
#[test]
fn phases_of_many_turns_keep_their_fraction() {
    let case = Case::new([3, 4, 5], 70, 1);
    let positions: Vec<f64> = case.positions().iter().map(|r| 8000.3 * r).collect();
    let sums = Direct { positions: &positions, dims: 3, k: case.k(), field: None };
    let (b, s) = (truth(&case, &positions, None, false), truth(&case, &positions, None, true));
    for level in Level::available() {
        let (adjoint, forward) = both::<f32>(&case, level, &sums);
        let errors = [distance(&from(&adjoint), &b), distance(&from(&forward), &s)];
        // The second parts add up to about 1e-3 of the turns, some 10: right to 1e-6 turns, 6e-6 in phase.
        assert!(errors.iter().all(|e| *e < 1e-5), "{errors:?} at {level:?}");
        let (adjoint, forward) = both::<f64>(&case, level, &sums);
        let errors = [distance(&from(&adjoint), &b), distance(&from(&forward), &s)];
        assert!(errors.iter().all(|e| *e < 1e-12), "{errors:?} at {level:?}");
    }
}

/// Of a plane, and of a line, places have fewer components.
#[test]
fn direct_sums_take_fewer_dimensions() {
    for (grid, dims) in [([1, 6, 7], 2), ([1, 1, 9], 1)] {
        let case = Case::new(grid, 50, 5);
        let all = case.positions();
        let positions: Vec<f64> = all.chunks_exact(3).flat_map(|r| r[..dims].to_vec()).collect();
        let sums = Direct { positions: &positions, dims, k: case.k(), field: None };
        let (adjoint, forward) = both::<f64>(&case, Level::detect(), &sums);
        assert!(distance(&from(&adjoint), &truth(&case, &all, None, false)) < 1e-13);
        assert!(distance(&from(&forward), &truth(&case, &all, None, true)) < 1e-13);
    }
}

/// Without noise: a sum of 300,000 equal terms, where each addition could err the same way.
#[test]
fn long_sums_of_equal_terms_stay_right() {
    let count = 300_000;
    let (k, values) = (vec![0.0; count], vec![Complex::new(0.1f32, -0.3); count]);
    let k = [k.as_slice(); 3];
    let exact = C64::new(0.1f32 as f64, -0.3f32 as f64) * count as f64;
    for level in Level::available() {
        let mut out = [Complex::default(); 2];
        separable::adjoint(level, [1, 1, 2], k, &values, 1, &mut out, GO_ON).expect("separable");
        // 128 terms, 16 sums, 147 sums of sums: at most half of their 291 roundings all one way, so 146 units = 9e-6.
        assert!(from(&out).iter().all(|v| (v - exact).norm() < 1e-5 * exact.norm()), "{out:?} at {level:?}");
        let sums = Direct { positions: &[0.0; 3], dims: 3, k, field: None };
        sums.adjoint(level, &values, 1, &mut out[..1], GO_ON).expect("direct");
        assert!((from(&out)[0] - exact).norm() < 1e-5 * exact.norm(), "{out:?} at {level:?}");
    }
}

fn dot(a: &[C64], b: &[C64]) -> C64 {
    a.iter().zip(b).map(|(a, b)| a.conj() * b).sum()
}

fn norm(a: &[C64]) -> f64 {
    dot(a, a).re.sqrt()
}

/// <F image, samples> = <image, F^H samples>, relative to the norms.
fn check_adjointness<T: Scalar>(bound: f64) {
    let case = Case::new([7, 20, 30], 1000, 2);
    let (positions, hertz, seconds) = anywhere(&case);
    let sums = Direct { positions: &positions, dims: 3, k: case.k(), field: Some((&hertz, &seconds)) };
    for level in Level::available() {
        for (adjoint, forward) in [separable::<T>(&case, level), both::<T>(&case, level, &sums)] {
            let (adjoint, forward) = (from(&adjoint), from(&forward));
            let difference = dot(&forward, &case.samples) - dot(&case.image, &adjoint);
            let scale = norm(&forward) * norm(&case.samples);
            assert!(difference.norm() < bound * scale, "{difference} of {scale} at {level:?}");
        }
    }
}

#[test]
fn forward_and_adjoint_are_adjoint() {
    check_adjointness::<f32>(1e-6);
    check_adjointness::<f64>(1e-12);
}

#[test]
fn threads_do_not_change_a_bit() {
    let case = Case::new([3, 30, 41], 4500, 3);
    let (positions, hertz, seconds) = anywhere(&case);
    let sums = Direct { positions: &positions, dims: 3, k: case.k(), field: Some((&hertz, &seconds)) };
    for level in Level::available() {
        let with = |threads| {
            with_threads(threads, || {
                (separable::<f32>(&case, level), separable::<f64>(&case, level), both::<f32>(&case, level, &sums))
            })
        };
        assert!([2, 5].into_iter().all(|threads| with(threads) == with(1)), "{level:?}");
    }
}

#[test]
fn nothing_sums_to_zero() {
    let none: [&[f64]; 3] = [&[]; 3];
    let mut out = [Complex::new(1.0f32, 1.0); 6];
    separable::adjoint(Level::detect(), [1, 2, 3], none, &[], 1, &mut out, GO_ON).expect("no samples");
    assert_eq!(out, [Complex::default(); 6]);
    let mut out = [Complex::new(1.0f32, 1.0); 2];
    let sums = Direct { positions: &[0.0; 6], dims: 3, k: none, field: None };
    sums.adjoint(Level::detect(), &[], 1, &mut out, GO_ON).expect("no samples");
    assert_eq!(out, [Complex::default(); 2]);
    let sums = Direct { positions: &[], dims: 3, k: [&[0.1, 0.2]; 3], field: None };
    out = [Complex::new(1.0f32, 1.0); 2];
    sums.forward(Level::detect(), &[], 1, &mut out, GO_ON).expect("no voxels");
    assert_eq!(out, [Complex::default(); 2]);
}

/// The part done only grows, reaches the whole, and an error stops the work.
#[test]
fn progress_is_told_and_can_stop() {
    let case = Case::new([4, 24, 20], 5000, 1);
    let (level, positions) = (Level::detect(), case.positions());
    let (image, samples) = (to::<f32>(&case.image), to::<f32>(&case.samples));
    let run = |check: super::progress::Check| {
        let (mut b, mut s) = (image.clone(), samples.clone());
        let sums = Direct { positions: &positions, dims: 3, k: case.k(), field: None };
        [
            separable::adjoint(level, case.grid, case.k(), &samples, 1, &mut b, check),
            separable::forward(level, case.grid, case.k(), &image, 1, &mut s, check),
            sums.adjoint(level, &samples, 1, &mut b, check),
            sums.forward(level, &image, 1, &mut s, check),
        ]
    };
    let (wholes, calls) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let all = run(&|part| {
        assert!(part > 0.0 && part <= 1.0, "{part}");
        calls.fetch_add(1, Ordering::Relaxed);
        wholes.fetch_add((part == 1.0) as usize, Ordering::Relaxed);
        Ok(())
    });
    assert!(all.iter().all(Result::is_ok), "{all:?}");
    assert_eq!(wholes.into_inner(), 4, "each reaches the whole once");
    let stopped = run(&|part| if part > 0.5 { fail!(Cancelled, "enough") } else { Ok(()) });
    assert!(stopped.iter().all(Result::is_err), "{stopped:?}");
}

/// The adjoint sum works on a panel of samples, the forward sum on a copy of the images, direct sums on a copy of the sources.
#[test]
fn memory_is_bounded() {
    let (few, many) = (separable::bytes::<f32>([64; 3], 1 << 12, 1), separable::bytes::<f32>([64; 3], 1 << 24, 1));
    assert_eq!(few, many);
    let images = 3 * 2 * (64 << 12) * size_of::<f64>() as u64;
    let bytes = separable::bytes::<f64>([64; 3], 1, 3);
    assert!(
        bytes > images && bytes < images + with_threads(1, || separable::bytes::<f64>([64; 3], 4096, 3)),
        "{bytes}"
    );
    // Two parts of each of four components, and three numbers of each of two coils.
    let sources = (14 * 5000 * size_of::<f32>()) as u64;
    let bytes = with_threads(2, || direct::bytes::<f32>(100, 5000, 4, 2));
    assert!(bytes > sources && bytes < sources + (1 << 20), "{bytes}");
}
