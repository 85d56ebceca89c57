//! Coils against plain f64: the papers' definitions term by term, at small sizes, and maps that are known.

use super::scan::{C, error, random};
use isocenter::array::{Array, ArrayMut};
use isocenter::context::{Context, ContextOptions};
use isocenter::cpu::level::Level;
use isocenter::error::Status;
use isocenter::mri::coils::{self, Maps, Method};
use std::f64::consts::{PI, TAU};

fn context(level: Option<Level>, threads: usize) -> Context {
    Context::new(ContextOptions { threads, level, ..Default::default() }).expect("a context")
}

/// Eigenvalues, largest first, each with its vector.
type Pairs = Vec<(f64, Vec<C>)>;

fn array<const N: usize>(values: &[C], shape: [usize; N]) -> Array<'_, N> {
    Array::of(values, shape).expect("an array")
}

/// Eigenvalues, largest first, and unit vectors of a Hermitian matrix, by Jacobi's rotations.
fn jacobi(m: &[C], n: usize) -> Pairs {
    let (mut m, mut v) = (m.to_vec(), vec![C::default(); n * n]);
    (0..n).for_each(|i| v[i * n + i] = 1.0.into());
    for _ in 0..60 {
        for p in 0..n {
            for q in p + 1..n {
                let apq = m[p * n + q];
                if apq.norm() < 1e-300 {
                    continue;
                }
                let turn = apq / apq.norm();
                let theta = (m[q * n + q].re - m[p * n + p].re) / (2.0 * apq.norm());
                let t = theta.signum() / (theta.abs() + theta.hypot(1.0));
                let c = 1.0 / t.hypot(1.0);
                let s = t * c;
                // Columns p and q become (c, -s conj(turn)) and (s turn, c) of themselves.
                for k in 0..n {
                    let (a, b) = (m[k * n + p], m[k * n + q]);
                    (m[k * n + p], m[k * n + q]) = (a * c - b * turn.conj() * s, a * turn * s + b * c);
                    let (a, b) = (v[k * n + p], v[k * n + q]);
                    (v[k * n + p], v[k * n + q]) = (a * c - b * turn.conj() * s, a * turn * s + b * c);
                }
                for k in 0..n {
                    let (a, b) = (m[p * n + k], m[q * n + k]);
                    (m[p * n + k], m[q * n + k]) = (a * c - b * turn * s, a * turn.conj() * s + b * c);
                }
            }
        }
    }
    let mut pairs: Pairs = (0..n).map(|j| (m[j * n + j].re, (0..n).map(|k| v[k * n + j]).collect())).collect();
    pairs.sort_by(|a, b| b.0.total_cmp(&a.0));
    pairs
}

/// Index in z, y, x of an element.
fn at(k: usize, of: [usize; 3]) -> [usize; 3] {
    [k / (of[1] * of[2]), k / of[2] % of[1], k % of[2]]
}

fn product(sizes: [usize; 3]) -> usize {
    sizes.iter().product()
}

/// Turns of a distance in k-space at a voxel, frequencies and voxels counted from floor(n / 2).
fn turns(distance: [i64; 3], voxel: usize, grid: [usize; 3]) -> f64 {
    let j = at(voxel, grid);
    (0..3).map(|a| distance[a] as f64 * (j[a] as f64 - (grid[a] / 2) as f64) / grid[a] as f64).sum()
}

struct Sensitivities {
    /// `[set][coil][voxel]`
    maps: Vec<C>,
    /// `[set][voxel]`
    values: Vec<f64>,
}

fn find(
    context: &Context,
    maps: Maps,
    x: &[C],
    (coils, shape): (usize, [usize; 3]),
    (sets, grid): (usize, [usize; 3]),
) -> Result<Sensitivities, isocenter::error::Error> {
    let mut found =
        Sensitivities { maps: vec![7.0.into(); sets * coils * product(grid)], values: vec![7.0; sets * product(grid)] };
    let calibration = Array::of(x, [coils, shape[0], shape[1], shape[2]])?;
    let to = ArrayMut::of(&mut found.maps, [sets, coils, grid[0], grid[1], grid[2]])?;
    let values = ArrayMut::of(&mut found.values, [sets, grid[0], grid[1], grid[2]])?;
    coils::sensitivities(context, &maps, calibration, to, Some(values))?;
    Ok(found)
}

/// Sensitivities of frequencies -1 to 1 along each axis: data are then a convolution with 3 elements along each axis, blocks of k elements lie
/// in a space of (k + 2)^d dimensions, and the sensitivities' own eigenvalue is 1, exactly.
struct Smooth {
    coils: usize,
    shape: [usize; 3],
    taps: Vec<C>,
    data: Vec<C>,
}

impl Smooth {
    fn reach(&self) -> [usize; 3] {
        self.shape.map(|n| if n == 1 { 1 } else { 3 })
    }

    fn new(coils: usize, shape: [usize; 3], seed: u64) -> Self {
        let mut smooth = Self { coils, shape, taps: Vec::new(), data: Vec::new() };
        let reach = smooth.reach();
        smooth.taps = random(coils * product(reach), seed);
        let padded: [usize; 3] = std::array::from_fn(|a| shape[a] + reach[a] - 1);
        let object = random(product(padded), seed + 1);
        for c in 0..coils {
            for q in 0..product(shape) {
                let q = at(q, shape);
                let terms = (0..product(reach)).map(|t| {
                    let o = at(t, reach);
                    let p: [usize; 3] = std::array::from_fn(|a| q[a] + reach[a] - 1 - o[a]);
                    smooth.taps[c * product(reach) + t] * object[(p[0] * padded[1] + p[1]) * padded[2] + p[2]]
                });
                smooth.data.push(terms.sum());
            }
        }
        smooth
    }

    /// Of unit length over the coils, turned so that `reference`^H of it is real and positive.
    fn map(&self, voxel: usize, grid: [usize; 3], reference: &[C]) -> Vec<C> {
        let reach = self.reach();
        let value = |c: usize| -> C {
            (0..product(reach))
                .map(|t| {
                    let o = at(t, reach);
                    let distance = std::array::from_fn(|a| o[a] as i64 - (reach[a] / 2) as i64);
                    self.taps[c * product(reach) + t] * C::cis(TAU * turns(distance, voxel, grid))
                })
                .sum()
        };
        let values: Vec<C> = (0..self.coils).map(value).collect();
        let length = values.iter().map(|v| v.norm_sqr()).sum::<f64>().sqrt();
        let phase: C = reference.iter().zip(&values).map(|(u, v)| u.conj() * v).sum();
        values.iter().map(|v| v * phase.conj() / phase.norm() / length).collect()
    }
}

/// Strongest principal component of data `[coil][sample]`, its largest element real and positive.
fn first_virtual_coil(data: &[C], coils: usize) -> Vec<C> {
    let u = jacobi(&covariance(data, coils), coils).swap_remove(0).1;
    let largest = u.iter().copied().max_by(|a, b| a.norm().total_cmp(&b.norm())).expect("coils");
    u.iter().map(|v| v * largest.conj() / largest.norm()).collect()
}

fn covariance(data: &[C], coils: usize) -> Vec<C> {
    let row = |c: usize| &data[c * (data.len() / coils)..][..data.len() / coils];
    (0..coils * coils).map(|k| row(k / coils).iter().zip(row(k % coils)).map(|(a, b)| a * b.conj()).sum()).collect()
}

/// Coefficients are summed in f64 and evaluated in f32: some 10 terms a matrix element, 1e-6 of them; eigenvectors as much over the gap between
/// eigenvalues, which is above 0.05 here.
const ROUNDING: f64 = 2e-6;

#[test]
fn known_sensitivities_are_found() {
    for (coils, shape, grid, kernel) in [
        (4, [1, 18, 19], [1, 20, 27], [1, 6, 6]),
        (6, [10, 10, 11], [10, 13, 12], [4, 4, 4]),
        (3, [1, 1, 24], [1, 1, 40], [1, 1, 6]),
    ] {
        let smooth = Smooth::new(coils, shape, 3);
        // The object is white, so that all of the signal's space is strong, and nothing else is above rounding.
        let maps = Maps { kernel, threshold: 1e-4, crop: 0.0, ..Default::default() };
        let reference = first_virtual_coil(&smooth.data, coils);
        for level in Level::available() {
            let found = find(&context(Some(level), 2), maps, &smooth.data, (coils, shape), (2, grid)).expect("maps");
            let voxels = product(grid);
            for voxel in 0..voxels {
                let expected = smooth.map(voxel, grid, &reference);
                let gap = found.values[voxel] - found.values[voxels + voxel];
                assert!(
                    (found.values[voxel] - 1.0).abs() < 10.0 * ROUNDING,
                    "{level:?} {voxel}: {}",
                    found.values[voxel]
                );
                for (c, expected) in expected.iter().enumerate() {
                    let seen = found.maps[c * voxels + voxel];
                    let bound = 10.0 * ROUNDING / gap.max(0.01);
                    assert!((seen - expected).norm() < bound, "{level:?} {grid:?} {voxel} {c}: {seen} {expected}");
                }
            }
        }
    }
}

/// The paper's definition: all blocks as rows of a matrix, its right singular vectors, each Fourier transformed to the image, and at each voxel the
/// eigenvectors of their products.
fn espirit_by_definition(
    x: &[C],
    (coils, shape): (usize, [usize; 3]),
    grid: [usize; 3],
    kernel: [usize; 3],
) -> (f64, Vec<Pairs>) {
    let windows: [usize; 3] = std::array::from_fn(|a| shape[a] - kernel[a] + 1);
    let (block, n) = (product(kernel), coils * product(kernel));
    let mut gram = vec![C::default(); n * n];
    for p in 0..product(windows) {
        let p = at(p, windows);
        let row: Vec<C> = (0..n)
            .map(|i| {
                let o = at(i % block, kernel);
                x[(i / block) * product(shape) + ((p[0] + o[0]) * shape[1] + p[1] + o[1]) * shape[2] + p[2] + o[2]]
            })
            .collect();
        for (k, g) in gram.iter_mut().enumerate() {
            *g += row[k / n] * row[k % n].conj();
        }
    }
    let all = jacobi(&gram, n);
    // A threshold that rounding does not cross: in the widest gap.
    let ratio = |kept: usize| all[kept - 1].0 / all[kept].0;
    let kept = (n / 4..3 * n / 4).max_by(|a, b| ratio(*a).total_cmp(&ratio(*b))).expect("a gap");
    assert!(kept > 1 && ratio(kept) > 1.1, "{kept} of {n}: {}", ratio(kept));
    let threshold = ((all[kept - 1].0 * all[kept].0).sqrt() / all[0].0).sqrt();
    let truth = (0..product(grid))
        .map(|voxel| {
            let mut g = vec![C::default(); coils * coils];
            for (_, w) in &all[..kept] {
                let image: Vec<C> = w
                    .chunks_exact(block)
                    .map(|w| {
                        let turned = w
                            .iter()
                            .enumerate()
                            .map(|(o, w)| w * C::cis(TAU * turns(at(o, kernel).map(|o| o as i64), voxel, grid)));
                        turned.sum()
                    })
                    .collect();
                for (k, g) in g.iter_mut().enumerate() {
                    *g += image[k / coils] * image[k % coils].conj() / block as f64;
                }
            }
            jacobi(&g, coils)
        })
        .collect();
    (threshold, truth)
}

/// v v^H, which has no phase.
fn projectors_differ(a: &[C], b: &[C]) -> f64 {
    let n = a.len();
    let element = |v: &[C], k: usize| v[k / n] * v[k % n].conj();
    (0..n * n).map(|k| (element(a, k) - element(b, k)).norm_sqr()).sum::<f64>().sqrt()
}

fn check_against(found: &Sensitivities, truth: &[Pairs], coils: usize, sets: usize, what: &str) {
    let voxels = truth.len();
    let mut checked = 0;
    for (voxel, truth) in truth.iter().enumerate() {
        for set in 0..sets {
            let seen = found.values[set * voxels + voxel];
            assert!(
                (seen - truth[set].0).abs() < 10.0 * ROUNDING,
                "{what} {voxel} {set}: {seen}, not {}",
                truth[set].0
            );
            let above = if set == 0 { f64::INFINITY } else { truth[set - 1].0 - truth[set].0 };
            let below = truth.get(set + 1).map_or(f64::INFINITY, |next| truth[set].0 - next.0);
            let gap = above.min(below).min(1.0);
            if gap < 0.05 {
                continue;
            }
            checked += 1;
            let v: Vec<C> = (0..coils).map(|c| found.maps[(set * coils + c) * voxels + voxel]).collect();
            let apart = projectors_differ(&v, &truth[set].1);
            assert!(apart < 10.0 * ROUNDING / gap, "{what} {voxel} {set}: {apart:.1e} with a gap of {gap:.2}");
        }
    }
    assert!(checked > voxels / 2, "{what}: {checked} of {voxels}");
}

#[test]
fn espirit_is_the_papers() {
    for (coils, shape, grid, kernel) in [
        (3, [1, 8, 9], [1, 10, 33], [1, 3, 3]),
        (5, [1, 7, 6], [1, 7, 6], [1, 2, 3]),
        (2, [4, 5, 4], [5, 6, 7], [2, 2, 2]),
        (1, [1, 8, 9], [1, 8, 11], [1, 3, 4]),
    ] {
        // Neighbours alike, so that singular values fall.
        let smooth = Smooth::new(coils, shape, 8);
        let x: Vec<C> = smooth.data.iter().zip(random(smooth.data.len(), 9)).map(|(a, b)| a + 0.3 * b).collect();
        let (threshold, truth) = espirit_by_definition(&x, (coils, shape), grid, kernel);
        let maps = Maps { kernel, threshold, crop: 0.0, ..Default::default() };
        let sets = coils.min(2);
        for level in Level::available() {
            let found = find(&context(Some(level), 2), maps, &x, (coils, shape), (sets, grid)).expect("maps");
            check_against(&found, &truth, coils, sets, &format!("{level:?} {grid:?}"));
        }
    }
}

#[test]
fn adaptive_combination_is_the_papers() {
    for (coils, shape, grid, window) in [(3, [1, 7, 8], [1, 12, 19], 3), (2, [4, 3, 4], [5, 4, 7], 5)] {
        let x = random(coils * product(shape), 21);
        let voxels = product(grid);
        let taper = |q: [usize; 3]| -> f64 {
            (0..3)
                .map(|a| (PI * (q[a] as f64 - (shape[a] / 2) as f64) / (shape[a] as f64 + 1.0)).cos().powi(2))
                .product()
        };
        let images: Vec<C> = (0..coils * voxels)
            .map(|i| {
                let terms = (0..product(shape)).map(|k| {
                    let q = at(k, shape);
                    let distance = std::array::from_fn(|a| q[a] as i64 - (shape[a] / 2) as i64);
                    x[(i / voxels) * product(shape) + k] * taper(q) * C::cis(TAU * turns(distance, i % voxels, grid))
                });
                terms.sum()
            })
            .collect();
        let side = grid.map(|n| window.min(n - (1 - n % 2)));
        let truth: Vec<Pairs> = (0..voxels)
            .map(|voxel| {
                let j = at(voxel, grid);
                let mut m = vec![C::default(); coils * coils];
                for o in 0..product(side) {
                    let o = at(o, side);
                    let p: [usize; 3] = std::array::from_fn(|a| (j[a] + o[a] + grid[a] - side[a] / 2) % grid[a]);
                    let p = (p[0] * grid[1] + p[1]) * grid[2] + p[2];
                    for (k, m) in m.iter_mut().enumerate() {
                        *m += images[(k / coils) * voxels + p] * images[(k % coils) * voxels + p].conj();
                    }
                }
                let trace: f64 = (0..coils).map(|c| m[c * coils + c].re).sum();
                m.iter_mut().for_each(|v| *v /= trace);
                jacobi(&m, coils)
            })
            .collect();
        let maps = Maps { method: Method::Adaptive, window, crop: 0.0, ..Default::default() };
        for level in Level::available() {
            let found = find(&context(Some(level), 2), maps, &x, (coils, shape), (2, grid)).expect("maps");
            // Coefficients add up to some times the matrix: 100 of them along an axis, of random signs.
            check_against(&found, &truth, coils, 2, &format!("{level:?} {grid:?}"));
        }
    }
}

#[test]
fn maps_have_unit_length_where_they_are_kept() {
    let (coils, shape, grid) = (4, [1, 16, 16], [1, 24, 37]);
    let smooth = Smooth::new(coils, shape, 31);
    // Noise, so that eigenvalues are above and below.
    let x: Vec<C> = smooth.data.iter().zip(random(smooth.data.len(), 32)).map(|(a, b)| a + 0.5 * b).collect();
    for method in [Method::Espirit, Method::Adaptive] {
        let maps = Maps { method, kernel: [1, 5, 5], threshold: 0.2, crop: 0.9, ..Default::default() };
        let found = find(&context(None, 2), maps, &x, (coils, shape), (2, grid)).expect("maps");
        let voxels = product(grid);
        let mut kept = 0;
        for (k, value) in found.values.iter().enumerate() {
            let (set, voxel) = (k / voxels, k % voxels);
            let squares: f64 = (0..coils).map(|c| found.maps[(set * coils + c) * voxels + voxel].norm_sqr()).sum();
            if *value < 0.9 {
                assert_eq!(squares, 0.0);
            } else {
                kept += 1;
                // Four f32 squares.
                assert!((squares - 1.0).abs() < 1e-6, "{squares}");
            }
        }
        assert!(kept > 0 && kept < 2 * voxels, "{method:?}: {kept}");
        // Without eigenvalues voxels may be skipped early; the maps are the same. And whatever the threads.
        for threads in [1, 3] {
            let mut alone = vec![C::new(7.0, 0.0); 2 * coils * voxels];
            let calibration = Array::of(&x, [coils, 1, 16, 16]).expect("an array");
            let to = ArrayMut::of(&mut alone, [2, coils, 1, grid[1], grid[2]]).expect("an array");
            coils::sensitivities(&context(None, threads), &maps, calibration, to, None).expect("maps");
            assert_eq!(alone, found.maps, "{method:?}, {threads} threads");
        }
    }
}

/// Powers of two take no digit away: calibration and noise in any unit make the same maps and virtual coils, and whitening in that unit.
#[test]
fn any_unit_makes_the_same_coils() {
    let (coils, shape, grid) = (4, [1, 16, 16], [1, 24, 37]);
    let context = context(None, 2);
    let x = random(coils * product(shape), 71);
    let (rows, columns) = (coils, product(shape));
    let of = |unit: f64| {
        let own: Vec<C> = x.iter().map(|v| v * unit).collect();
        let maps = |method| {
            let maps = Maps { method, kernel: [1, 5, 5], threshold: 0.2, crop: 0.0, ..Default::default() };
            find(&context, maps, &own, (coils, shape), (2, grid)).expect("maps")
        };
        let mut matrix = vec![C::default(); 2 * coils];
        let to = ArrayMut::of(&mut matrix, [2, coils]).expect("an array");
        let energy = coils::compression(&context, array(&own, [rows, columns]), to).expect("coils");
        let mut white = vec![C::default(); coils * coils];
        let to = ArrayMut::of(&mut white, [coils; 2]).expect("an array");
        coils::whitening(&context, array(&own, [rows, columns]), to).expect("a matrix");
        ([maps(Method::Espirit), maps(Method::Adaptive)].map(|found| (found.maps, found.values)), matrix, energy, white)
    };
    let expected = of(1.0);
    for exponent in [-97, -50, 50, 97] {
        let unit = 2f64.powi(exponent);
        let (maps, matrix, energy, white) = of(unit);
        for ((maps, values), (of_one, values_of_one)) in maps.iter().zip(&expected.0) {
            assert!(error(maps, of_one) < ROUNDING, "2^{exponent}");
            assert!(values.iter().zip(values_of_one).all(|(a, b)| (a - b).abs() < ROUNDING), "2^{exponent}");
        }
        let white: Vec<C> = white.iter().map(|v| v * unit).collect();
        assert!(error(&matrix, &expected.1) < 1e-12 && error(&white, &expected.3) < 1e-12, "2^{exponent}");
        assert!((energy - expected.2).abs() < 1e-12, "2^{exponent}");
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    let x = random(2 * 64, 5);
    let ask = |maps: Maps, x: &[C], sets: usize, grid: [usize; 3]| {
        find(&context(None, 1), maps, x, (2, [1, 8, 8]), (sets, grid)).map(drop).map_err(|e| (e.status, e.message))
    };
    let bad = |maps: Maps, sets, grid, status: Status, words: &str| {
        let (seen, message) = ask(maps, &x, sets, grid).expect_err("a refusal");
        assert!(seen == status && message.contains(words), "{seen:?}: {message}");
    };
    let (grid, default) = ([1, 9, 9], Maps::default());
    bad(Maps { kernel: [1, 9, 2], ..default }, 1, grid, Status::OutOfRange, "options.kernel_y is 9, calibration has 8");
    bad(default, 3, grid, Status::OutOfRange, "3 sets");
    bad(default, 1, [1, 7, 9], Status::TensorShape, "8 elements along y, maps 7");
    bad(Maps { threshold: 1.0, ..default }, 1, grid, Status::OutOfRange, "threshold is 1");
    bad(Maps { threshold: f64::NAN, ..default }, 1, grid, Status::NotFiniteParameter, "threshold is NaN");
    bad(Maps { crop: 1.0, ..default }, 1, grid, Status::OutOfRange, "crop is 1");
    bad(Maps { method: Method::Adaptive, window: 4, ..default }, 1, grid, Status::OutOfRange, "window is 4");
    let (status, message) = ask(default, &vec![C::default(); 128], 1, grid).expect_err("a refusal");
    assert!(status == Status::OutOfRange && message.contains("calibration is 0"), "{message}");
}

#[test]
fn whitened_noise_has_unit_parts() {
    let context = context(None, 2);
    for (coils, samples) in [(1, 5), (4, 4), (8, 5000)] {
        let (noise, mixing) = (random(coils * samples, 41), random(coils * coils, 42));
        let mut mixed = vec![C::default(); coils * samples];
        let to = ArrayMut::of(&mut mixed, [coils, samples]).expect("an array");
        coils::apply(&context, array(&mixing, [coils; 2]), array(&noise, [coils, samples]), to).expect("a product");
        let expected: Vec<C> = (0..coils * samples)
            .map(|k| (0..coils).map(|c| mixing[k / samples * coils + c] * noise[c * samples + k % samples]).sum())
            .collect();
        assert!(error(&mixed, &expected) < 1e-14);
        let (mut matrix, mut white) = (vec![C::default(); coils * coils], mixed.clone());
        let to = ArrayMut::of(&mut matrix, [coils; 2]).expect("an array");
        coils::whitening(&context, array(&mixed, [coils, samples]), to).expect("a matrix");
        let to = ArrayMut::of(&mut white, [coils, samples]).expect("an array");
        coils::apply(&context, array(&matrix, [coils; 2]), array(&mixed, [coils, samples]), to).expect("a product");
        for (k, v) in covariance(&white, coils).iter().enumerate() {
            // Rounding times the condition of the covariance, some 1e4 here.
            let expected = if k / coils == k % coils { 2.0 } else { 0.0 };
            assert!((v / samples as f64 - expected).norm() < 1e-9, "{k}: {v}");
            assert!(k % coils <= k / coils || matrix[k] == C::default(), "lower triangular");
        }
    }
    let refused = |noise: &[C], coils: usize| {
        let mut matrix = vec![C::default(); coils * coils];
        let to = ArrayMut::of(&mut matrix, [coils; 2]).expect("an array");
        let from = Array::of(noise, [coils, noise.len() / coils]).expect("an array");
        let e = coils::whitening(&context, from, to).expect_err("a refusal");
        (e.status, e.message)
    };
    let mut noise = random(3 * 10, 43);
    let (status, text) = refused(&noise[..6], 3);
    assert!(status == Status::TensorShape && text.contains("2 samples of 3 coils"), "{text}");
    let (first, second) = noise.split_at_mut(10);
    second[..10].iter_mut().zip(first).for_each(|(b, a)| *b = *a * C::new(0.5, 2.0));
    let (status, text) = refused(&noise, 3);
    assert!(status == Status::OutOfRange && text.contains("coil 1 is a combination"), "{text}");
    noise[20..].fill(C::default());
    noise[10..20].copy_from_slice(&random(10, 44));
    let (status, text) = refused(&noise, 3);
    assert!(status == Status::OutOfRange && text.contains("coil 2 is 0"), "{text}");
}

#[test]
fn compression_keeps_what_principal_components_keep() {
    let context = context(None, 2);
    let (coils, samples) = (6, 200);
    // Coils of falling strength.
    let data: Vec<C> =
        random(coils * samples, 51).iter().enumerate().map(|(k, v)| v * 0.5f64.powi((k / samples) as i32)).collect();
    let truth = jacobi(&covariance(&data, coils), coils);
    let total: f64 = truth.iter().map(|t| t.0).sum();
    for kept in 1..=coils {
        let mut matrix = vec![C::default(); kept * coils];
        let to = ArrayMut::of(&mut matrix, [kept, coils]).expect("an array");
        let energy =
            coils::compression(&context, Array::of(&data, [coils, samples]).expect("an array"), to).expect("coils");
        let expected = truth[..kept].iter().map(|t| t.0).sum::<f64>() / total;
        // Rounding of sums of 200 terms.
        assert!((energy - expected).abs() < 1e-12, "{kept}: {energy}, not {expected}");
        for (row, (_, u)) in matrix.chunks_exact(coils).zip(&truth) {
            let conjugate: Vec<C> = row.iter().map(|v| v.conj()).collect();
            assert!(projectors_differ(&conjugate, u) < 1e-10);
        }
    }
    let mut matrix = vec![C::default(); 7 * coils];
    let to = ArrayMut::of(&mut matrix, [7, coils]).expect("an array");
    let e = coils::compression(&context, Array::of(&data, [coils, samples]).expect("an array"), to).expect_err("ranks");
    assert!(e.status == Status::OutOfRange && e.message.contains("7 virtual coils"), "{e}");
}

#[test]
fn geometric_compression_is_as_good_at_each_position_and_smooth() {
    let context = context(None, 2);
    for (coils, lines, readout) in [(4, 30, 12), (3, 2, 7)] {
        let data = random(coils * lines * readout, 61);
        let n = readout;
        let transform = |line: &[C], j: usize, sign: f64| -> C {
            let middle = (n / 2) as i64;
            let turn = |k: usize| sign * ((j as i64 - middle) * (k as i64 - middle)) as f64 / n as f64;
            line.iter().enumerate().map(|(k, v)| v * C::cis(TAU * turn(k))).sum::<C>() / (n as f64).sqrt()
        };
        let hybrid: Vec<C> = (0..data.len()).map(|k| transform(&data[k / n * n..][..n], k % n, 1.0)).collect();
        for kept in [1, 2, coils] {
            let mut matrix = vec![C::default(); readout * kept * coils];
            let to = ArrayMut::of(&mut matrix, [readout, kept, coils]).expect("an array");
            let shape = [coils, lines, readout];
            let energy = coils::geometric_compression(&context, array(&data, shape), to).expect("coils");
            let (mut most, mut total) = (0.0, 0.0);
            for x in 0..readout {
                let slice: Vec<C> = hybrid.iter().skip(x).step_by(readout).copied().collect();
                let values = jacobi(&covariance(&slice, coils), coils);
                most += values[..kept].iter().map(|v| v.0).sum::<f64>();
                total += values.iter().map(|v| v.0).sum::<f64>();
                let own = &matrix[x * kept * coils..][..kept * coils];
                for i in 0..kept * kept {
                    let (a, b) = (&own[i / kept * coils..][..coils], &own[i % kept * coils..][..coils]);
                    let dot: C = a.iter().zip(b).map(|(a, b)| a * b.conj()).sum();
                    assert!((dot - f64::from(u8::from(i / kept == i % kept))).norm() < 1e-11, "orthonormal");
                }
                if x > 0 {
                    // Turned as near as can be: the product of neighbours is Hermitian and has no negative eigenvalue.
                    let before = &matrix[(x - 1) * kept * coils..][..kept * coils];
                    let product: Vec<C> = (0..kept * kept)
                        .map(|i| {
                            (0..coils).map(|c| before[i / kept * coils + c] * own[i % kept * coils + c].conj()).sum()
                        })
                        .collect();
                    for i in 0..kept * kept {
                        let other = product[i % kept * kept + i / kept].conj();
                        assert!((product[i] - other).norm() < 1e-9, "{} {other}", product[i]);
                    }
                    let least = jacobi(&product, kept).pop().map(|v| v.0);
                    assert!(least > Some(-1e-9), "{least:?}");
                }
            }
            assert!((energy - most / total).abs() < 1e-12, "{energy}");
            let mut out = vec![C::default(); kept * lines * readout];
            let to = ArrayMut::of(&mut out, [kept, lines, readout]).expect("an array");
            let factors = array(&matrix, [readout, kept, coils]);
            coils::apply_geometric(&context, factors, array(&data, shape), to).expect("data");
            let mixed: Vec<C> = (0..kept * lines * readout)
                .map(|k| {
                    let (row, line, x) = (k / (lines * n), k / n % lines, k % n);
                    (0..coils).map(|c| matrix[(x * kept + row) * coils + c] * hybrid[(c * lines + line) * n + x]).sum()
                })
                .collect();
            let expected: Vec<C> = (0..mixed.len()).map(|k| transform(&mixed[k / n * n..][..n], k % n, -1.0)).collect();
            assert!(error(&out, &expected) < 1e-13);
        }
    }
}
