//! Smooth coils against sums term by term, at each level.

use super::*;
use crate::joint::Sobolev;
use isocenter_base::cpu::simd::Real;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use std::f64::consts::{SQRT_2, TAU};

fn random(rng: &mut StdRng, count: usize) -> Vec<Complex<f64>> {
    (0..count).map(|_| Complex::new(rng.random_range(-1.0..1.0), rng.random_range(-1.0..1.0))).collect()
}

/// A wave of an axis, by its definition: half cycles per field of view, weighed apart.
fn wave(n: usize, index: usize, voxel: usize) -> f64 {
    let turns = index.div_ceil(2) as f64 * (voxel as f64 - (n / 2) as f64) / (2 * n) as f64;
    let value = match index {
        0 => 1.0,
        _ if index % 2 == 1 => SQRT_2 * (TAU * turns).cos(),
        _ => SQRT_2 * (TAU * turns).sin(),
    };
    value / (n as f64).sqrt()
}

fn element(smooth: &Smooth, norm: Sobolev, voxel: usize, coefficient: usize) -> f64 {
    let ([nz, ny, nx], [_, my, mx]) = (smooth.grid, smooth.waves);
    let (at, of) = (
        [voxel / nx / ny, voxel / nx % ny, voxel % nx],
        [coefficient / mx / my, coefficient / mx % my, coefficient % mx],
    );
    let k: f64 = (0..3).map(|a| (of[a].div_ceil(2) as f64 / (2 * [nz, ny, nx][a]) as f64).powi(2)).sum();
    let waves: f64 = (0..3).map(|a| wave([nz, ny, nx][a], of[a], at[a])).product();
    waves * (1.0 + norm.scale * k).powf(-norm.order / 2.0)
}

fn check<T: Scalar>(grid: [usize; 3], norm: Sobolev) {
    let smooth = Smooth::new(grid, norm, T::UNIT);
    let (voxels, count) = (grid.iter().product::<usize>(), smooth.count());
    let mut rng = StdRng::seed_from_u64(count as u64);
    let (coefficients, image) = (random(&mut rng, count), random(&mut rng, voxels));
    let narrow = |values: &[Complex<f64>]| -> Vec<Complex<T>> {
        values.iter().map(|v| Complex::new(T::of(v.re), T::of(v.im))).collect()
    };
    let coil = |r: usize| (0..count).map(|q| coefficients[q] * element(&smooth, norm, r, q)).sum::<Complex<f64>>();
    let back = |q: usize| (0..voxels).map(|r| image[r] * element(&smooth, norm, r, q)).sum::<Complex<f64>>();
    let expected = [(0..voxels).map(coil).collect::<Vec<_>>(), (0..count).map(back).collect()];
    for level in Level::available() {
        let mut waves = CpuWaves::<T>::new(level, &smooth).expect("memory");
        let mut seen = [vec![Complex::<T>::default(); voxels], vec![Complex::default(); count]];
        waves.expand(&narrow(&coefficients), &mut seen[0]);
        waves.contract(&narrow(&image), &mut seen[1]);
        for (seen, expected) in seen.iter().zip(&expected) {
            let wide = |v: &Complex<T>| Complex::new(v.re.wide(), v.im.wide());
            let wrong: f64 = seen.iter().zip(expected).map(|(a, b)| (wide(a) - b).norm_sqr()).sum();
            let power: f64 = expected.iter().map(Complex::norm_sqr).sum();
            // Rounding of values, tables and weights, and of sums one axis after another: of n terms at random each sqrt(n) of a term,
            // relative to sums of sqrt(n) terms. Five of each, and phases of the reference err by as little in double precision.
            let bound = 10.0 * T::UNIT * 3.0;
            assert!((wrong / power).sqrt() <= bound, "{grid:?} {norm:?} {level:?}: {:.1e}", (wrong / power).sqrt());
        }
    }
}

#[test]
fn coils_are_sums_of_weighed_waves_and_coefficients_their_transpose() {
    let (usual, rough) = (Sobolev { scale: 220.0, order: 32.0 }, Sobolev { scale: 20.0, order: 6.0 });
    for grid in [[1, 16, 15], [5, 12, 9], [1, 1, 8], [2, 3, 40]] {
        for norm in [usual, rough] {
            check::<f32>(grid, norm);
            check::<f64>(grid, norm);
        }
    }
}

#[test]
fn waves_are_few_where_coils_are_smooth() {
    let norm = Sobolev { scale: 220.0, order: 32.0 };
    // (1 + 220 k^2)^-32 is 2^-24 at k = 0.0557, which are 28.5 half cycles of 256 voxels.
    assert_eq!(Smooth::new([1, 256, 256], norm, f32::UNIT).waves, [1, 57, 57]);
    assert_eq!(Smooth::new([1, 4, 4], Sobolev { scale: 1e-3, order: 2.0 }, f64::UNIT).waves, [1, 7, 7]);
}

#[test]
fn coils_get_a_length_of_one_unless_they_are_short() {
    let context = Context::new(Default::default()).expect("a context");
    let trajectory = crate::trajectory::Trajectory::new(&[0.0; 2], crate::Unit::CyclesPerVoxel, [1, 1, 3], 2);
    let scan = crate::engine::Scan::new([1, 1, 3], 2, std::sync::Arc::new(trajectory.expect("a trajectory")));
    let mut engine = CpuEngine::<f64>::new(context.level(), scan);
    let values = |list: &[f64]| list.iter().map(|v| Complex::new(0.0, *v)).collect::<Vec<_>>();
    let vector = |list: &[f64]| {
        let mut out = Buffer::zeroed(list.len()).expect("memory");
        out.copy_from_slice(&values(list));
        out
    };
    let (mut maps, mut image) = (vector(&[3.0, 0.0, 0.1, 4.0, 0.0, 0.0]), vector(&[2.0, 5.0, 7.0]));
    engine.normalise(&mut maps, &mut image, 0.5).expect("arithmetic");
    // Lengths are 5, 0 and 0.1.
    let near = |seen: &[Complex<f64>], expected: &[f64]| {
        seen.iter().zip(values(expected)).for_each(|(a, b)| assert!((a - b).norm() < 1e-15, "{a} {b}"));
    };
    near(&maps, &[0.6, 0.0, 0.2, 0.8, 0.0, 0.0]);
    near(&image, &[10.0, 2.5, 3.5]);
}
