//! Images that minimise what data and penalties that are no squares make together, against conditions and solutions of dense systems, on
//! the device that the test program names.

use super::device;
use super::scan::*;
use super::suite::solve_dense;
use isocenter::error::Status;
use isocenter::ffi::mri::*;

const WAVELETS: u32 = 3;
const VARIATION: u32 = 4;
const FISTA: u32 = 2;
const PRIMAL_DUAL: u32 = 3;
const HAAR: u32 = 1;

/// A small scan of two coils whose F^H W F has an inverse, and its samples of an image of few edges with noise.
pub(super) fn scan(device: u32, grid: [usize; 3], double: bool, mapped: bool) -> (Scan, Vec<C>) {
    let dims = if grid[0] == 1 { 2 } else { 3 };
    let mut scan = Scan::new(device, grid, points(260, dims, 5), 2, double);
    let n = scan.voxels();
    if mapped {
        scan.set_maps(random(2 * n, 6).iter().map(|v| C::new(1.0, 0.0) + v * 0.3).collect());
    }
    scan.set_weights((0..260).map(|m| 0.5 + (m as f64 * 0.37).sin().powi(2)).collect());
    let image: Vec<C> = (0..scan.images * n)
        .map(|i| if (i % grid[2]) > grid[2] / 2 { C::new(1.0, 0.5) } else { C::new(0.0, -0.2) })
        .collect();
    let noise = random(520, 7);
    let samples = scan.exact_forward(&image).iter().zip(&noise).map(|(s, e)| s + e * 0.5).collect();
    (scan, samples)
}

/// F^H W F and F^H W samples of one image's coils, term by term.
pub(super) fn system(scan: &Scan, samples: &[C], image: usize) -> (Vec<Vec<C>>, Vec<C>) {
    let (n, count) = (scan.voxels(), scan.k.len());
    let weight = |m: usize| scan.weights.as_ref().map_or(1.0, |w| w[m]);
    let coils = if scan.images == 1 { 0..scan.coils } else { image..image + 1 };
    let (mut a, mut b) = (vec![vec![C::default(); n]; n], vec![C::default(); n]);
    for (coil, m) in coils.flat_map(|c| (0..count).map(move |m| (c, m))) {
        let row: Vec<C> = (0..n).map(|r| scan.element(coil, m, r)).collect();
        for r in 0..n {
            let left = row[r].conj() * weight(m);
            b[r] += left * samples[coil * count + m];
            (0..n).for_each(|s| a[r][s] += left * row[s]);
        }
    }
    (a, b)
}

pub(super) fn times(a: &[Vec<C>], x: &[C]) -> Vec<C> {
    a.iter().map(|row| row.iter().zip(x).map(|(a, x)| a * x).sum()).collect()
}

/// |samples|^2 / 2 of one image's coils, in the weights' norm.
pub(super) fn data(scan: &Scan, samples: &[C], image: usize) -> f64 {
    let count = scan.k.len();
    let coils = if scan.images == 1 { 0..scan.coils } else { image..image + 1 };
    coils
        .flat_map(|c| (0..count).map(move |m| (c, m)))
        .map(|(c, m)| scan.weights.as_ref().map_or(1.0, |w| w[m]) * samples[c * count + m].norm_sqr() / 2.0)
        .sum()
}

pub(super) fn smooth(a: &[Vec<C>], b: &[C], data: f64, x: &[C]) -> f64 {
    data + dot(x, &times(a, x)).re / 2.0 - dot(x, b).re
}

/// One level of Haar's transform along the axes that have at least two voxels, by its definition.
pub(super) fn haar([nz, ny, nx]: [usize; 3], x: &[C]) -> Vec<C> {
    let mut now = x.to_vec();
    for (n, step) in [(nx, 1), (ny, nx), (nz, nx * ny)].into_iter().filter(|(n, _)| *n > 1) {
        let before = now.clone();
        let half = n / 2;
        for (i, v) in before.iter().enumerate() {
            let at = i / step % n;
            let first = i - at * step;
            let pair = |k: usize| (before[first + 2 * k * step], before[first + (2 * k + 1) * step]);
            now[i] = if at < half {
                let (a, b) = pair(at);
                (a + b) / 2f64.sqrt()
            } else if at < n - half {
                // The last of an odd number.
                before[first + (n - 1) * step]
            } else {
                let (a, b) = pair(at - (n - half));
                (a - b) / 2f64.sqrt()
            };
            let _ = v;
        }
    }
    now
}

/// Where the sum of |coefficients| times lambda is least together with the data, the data's gradient has coefficients of length lambda along
/// the image's own, and none longer where the image has none.
#[test]
fn wavelets_meet_their_conditions() {
    let Some(device) = device() else { return };
    for (grid, double, mapped, algorithm) in [
        ([1, 9, 12], true, true, FISTA),
        ([1, 9, 12], true, false, PRIMAL_DUAL),
        ([4, 5, 6], true, true, PRIMAL_DUAL),
        ([4, 5, 6], false, false, FISTA),
    ] {
        let (scan, samples) = scan(device, grid, double, mapped);
        let lambda = 30.0;
        scan.options(|o| {
            (o.penalty, o.algorithm, o.wavelet, o.levels, o.fixed_grid) = (WAVELETS, algorithm, HAAR, 1, 1);
            (o.lambda, o.iterations, o.residual) = (lambda, 2000, if double { 1e-9 } else { 1e-6 });
            o.tolerance = if double { 1e-12 } else { 1e-6 };
        });
        let images = scan.to_image(isoc_mri_reconstruct, &samples);
        let n = scan.voxels();
        let mut limit = 0.0f64;
        for (k, x) in images.chunks_exact(n).enumerate() {
            let (a, b) = system(&scan, &samples, k);
            let gradient: Vec<C> = b.iter().zip(times(&a, x)).map(|(b, ax)| b - ax).collect();
            let (g, c) = (haar(grid, &gradient), haar(grid, x));
            // The last step was 1e-9 (1e-6) of the image, |x| some 8, and curvature is up to 500: the gradient is off by 500 times that, 4e-6
            // (4e-3), and lambda is 30. Single precision rounds F^H W d, some 500 a voxel, by 1e-6 each.
            let close = if double { 1e-5 } else { 1e-2 };
            let mut kept = 0;
            for (g, c) in g.iter().zip(&c) {
                if c.norm() > 1e-5 {
                    kept += 1;
                    let off = (g - c * (lambda / c.norm())).norm();
                    // An error of the coefficient turns its direction, the more the shorter it is.
                    assert!(
                        off < close * (1.0 + 0.1 * lambda / c.norm()),
                        "{grid:?}, {algorithm}: {off:.1e} at |c| {}",
                        c.norm()
                    );
                } else {
                    assert!(g.norm() <= lambda + close, "{grid:?}, {algorithm}: {}", g.norm());
                }
            }
            assert!(kept > 0 && kept < n, "{kept} of {n} are kept");
            limit = haar(grid, &b).iter().map(|v| v.norm()).fold(limit, f64::max);
            // The objective that is told is the image's.
            let value = smooth(&a, &b, data(&scan, &samples, k), x) + lambda * c.iter().map(|c| c.norm()).sum::<f64>();
            let told = scan.objective(k as i64);
            let last = told.last().expect("an objective");
            assert!((last / value - 1.0).abs() < if double { 1e-9 } else { 1e-5 }, "{last} {value}");
            assert_eq!(told.len(), scan.history(k as i64).len());
            assert!(told[0] > *last, "{told:?}");
            // The first image is 0, and of its residual -d that part is a dual which leaves no coefficient above lambda.
            let gaps = scan.gap(k as i64);
            assert_eq!(gaps.len(), told.len());
            let all = data(&scan, &samples, k);
            let most = haar(grid, &b).iter().map(|v| v.norm()).fold(0.0, f64::max);
            let first = all * (1.0 - lambda / most).powi(2);
            let rounding = if double { 1e-9 } else { 1e-5 } * all;
            assert!((gaps[0] - first).abs() < rounding, "{} {first}", gaps[0]);
            // No bound is above the minimum. At the end the gradient is as long as lambda to `close`, which shrinks the dual by that part.
            for (value, gap) in told.iter().zip(&gaps) {
                assert!(*gap >= 0.0 && value - gap <= last + rounding, "{value} - {gap} is above {last}");
            }
            let end = gaps.last().expect("a gap");
            assert!(*end <= close / lambda * last + rounding, "{grid:?}, {algorithm}: {end} of {last}");
        }
        // To the tolerance of transforms.
        let seen = scan.info().lambda_limit;
        assert!((seen / limit - 1.0).abs() < 1e-5, "{seen} {limit}");
        scan.options(|o| (o.penalty, o.lambda, o.iterations) = (WAVELETS, lambda, 3));
        scan.to_image(isoc_mri_reconstruct, &samples);
        assert_eq!(scan.gap(0), [], "a grid that moves has no minimum");
    }
}

/// K by axes, x first: rows of (voxel, voxel, weight).
fn differences([nz, ny, nx]: [usize; 3], weights: &[f64]) -> Vec<Vec<(usize, usize, f64)>> {
    let n = nx * ny * nz;
    (0..n)
        .map(|i| {
            [(nx, 1), (ny, nx), (nz, nx * ny)]
                .into_iter()
                .enumerate()
                .filter(|(_, (size, step))| i / step % size + 1 < *size)
                .map(|(a, (_, step))| (i, i + step, weights[a * n + i]))
                .collect()
        })
        .collect()
}

fn lengths(rows: &[Vec<(usize, usize, f64)>], x: &[C]) -> Vec<f64> {
    rows.iter().map(|r| r.iter().map(|(i, j, w)| (w * (x[*j] - x[*i])).norm_sqr()).sum::<f64>().sqrt()).collect()
}

/// The solution by reweighted least squares on the dense system, each of which lowers the objective of Huber's function: K^H K is weighted by
/// one over the lengths of differences, huber at least.
fn reweighted(
    a: &[Vec<C>],
    b: &[C],
    rows: &[Vec<(usize, usize, f64)>],
    lambda: f64,
    huber: f64,
    steps: usize,
) -> Vec<C> {
    let mut x = solve_dense(a.to_vec(), b.to_vec());
    for _ in 0..steps {
        let mut m = a.to_vec();
        for (row, length) in rows.iter().zip(lengths(rows, &x)) {
            let factor = lambda / length.max(huber);
            for (i, j, w) in row {
                let v = C::new(factor * w * w, 0.0);
                m[*i][*i] += v;
                m[*j][*j] += v;
                m[*i][*j] -= v;
                m[*j][*i] -= v;
            }
        }
        x = solve_dense(m, b.to_vec());
    }
    x
}

#[test]
fn variation_is_minimal() {
    let Some(device) = device() else { return };
    for (grid, double, mapped, algorithm, huber, weighted) in [
        ([1, 9, 12], true, true, FISTA, 0.1, false),
        ([1, 9, 12], true, false, PRIMAL_DUAL, 0.1, true),
        ([4, 5, 5], true, true, FISTA, 0.05, true),
        ([4, 5, 5], false, true, PRIMAL_DUAL, 0.1, false),
        ([1, 8, 8], true, true, FISTA, 0.0, false),
    ] {
        let (scan, samples) = scan(device, grid, double, mapped);
        let (n, dims) = (scan.voxels(), scan.dims());
        let weights: Vec<f64> =
            (0..dims * n).map(|k| if weighted { 0.3 + (k as f64 * 0.71).sin().powi(2) } else { 1.0 }).collect();
        if weighted {
            let [nz, ny, nx] = grid.map(|n| n as i64);
            // SAFETY: valid pointers.
            ok(unsafe { isoc_mri_set_difference_weights(scan.mri, &tensor(&weights, &[dims as i64, nz, ny, nx])) });
        }
        let lambda = 20.0;
        scan.options(|o| {
            (o.penalty, o.algorithm, o.huber) = (VARIATION, algorithm, huber);
            (o.lambda, o.iterations, o.residual) = (lambda, 3000, if double { 1e-10 } else { 1e-7 });
            o.tolerance = if double { 1e-12 } else { 1e-6 };
        });
        let images = scan.to_image(isoc_mri_reconstruct, &samples);
        let rows = differences(grid, &weights);
        let h = |l: &f64| if *l < huber { l * l / (2.0 * huber) } else { l - huber / 2.0 };
        for (k, x) in images.chunks_exact(n).enumerate() {
            let (a, b) = system(&scan, &samples, k);
            let value = |x: &[C]| {
                smooth(&a, &b, data(&scan, &samples, k), x) + lambda * lengths(&rows, x).iter().map(h).sum::<f64>()
            };
            // Without Huber's function lengths below 1e-6 count by their square, which lowers the objective by lambda 1e-6 / 2 a voxel at most.
            let expected = reweighted(&a, &b, &rows, lambda, if huber > 0.0 { huber } else { 1e-6 }, 300);
            let (found, least) = (value(x), value(&expected));
            // 2e-5 where the reference is another function's, or numbers have 24 bits.
            let close = if double && huber > 0.0 { 1e-8 } else { 2e-5 };
            assert!((found / least - 1.0).abs() < close, "{grid:?}, {algorithm}, {huber}: {found} {least}");
            // The objective grows by at least half the smallest curvature (over 20 here) times the square of the distance.
            let e = error(x, &expected);
            assert!(e < if double && huber > 0.0 { 1e-5 } else { 5e-3 }, "{grid:?}, {algorithm}, {huber}: {e:.1e}");
            let told = scan.objective(k as i64);
            assert!((told.last().expect("an objective") / found - 1.0).abs() < 1e-5);
            assert_eq!(scan.gap(k as i64), []);
        }
    }
}

/// Fista's objectives do not rise by more than momentum may make them rise between restarts, and both methods end at the same image.
#[test]
fn both_methods_agree() {
    let Some(device) = device() else { return };
    for penalty in [WAVELETS, VARIATION] {
        let (scan, samples) = scan(device, [1, 24, 20], true, true);
        let solve = |algorithm: u32, start: Option<&[C]>| {
            scan.options(|o| {
                (o.penalty, o.algorithm, o.lambda, o.fixed_grid) = (penalty, algorithm, 25.0, 1);
                (o.iterations, o.residual, o.tolerance) = (3000, 1e-10, 1e-12);
                o.warm_start = start.is_some().into();
            });
            let mut image = start.map_or_else(|| vec![C::default(); scan.voxels()], <[C]>::to_vec);
            let (from, to) = (tensor(&samples, &scan.scan_shape()), output(&mut image, &scan.image_shape()));
            // SAFETY: valid pointers.
            ok(unsafe { isoc_mri_reconstruct(scan.mri, &from, &to) });
            (image, scan.objective(0))
        };
        let (fista, objectives) = solve(FISTA, None);
        let (dual, _) = solve(PRIMAL_DUAL, None);
        // F^H W F of 260 samples of two coils and 480 voxels has curvatures near 0, along which images are alike up to the root of what
        // objectives differ by.
        let e = error(&fista, &dual);
        assert!(e < 1e-4, "penalty {penalty}: {e:.1e}");
        // A start at the solution stays there.
        let (again, from_there) = solve(FISTA, Some(&fista));
        let last = objectives.last().expect("an objective");
        assert!((from_there[0] / last - 1.0).abs() < 1e-10, "{} {last}", from_there[0]);
        assert!(error(&again, &fista) < 1e-5);
        assert!(from_there.len() < objectives.len(), "{} {}", from_there.len(), objectives.len());
    }
}

/// Moving wavelets make another image than fixed ones, and so do other wavelets and levels; none is worse than the image without penalty.
#[test]
fn settings_have_an_effect() {
    let Some(device) = device() else { return };
    let (scan, samples) = scan(device, [1, 24, 20], false, true);
    let solve = |change: &dyn Fn(&mut isoc_mri_options)| {
        scan.options(|o| {
            (o.penalty, o.lambda, o.iterations) = (WAVELETS, 25.0, 60);
            change(o);
        });
        scan.to_image(isoc_mri_reconstruct, &samples)
    };
    let usual = solve(&|_| {});
    for (name, other) in [
        ("fixed", solve(&|o| o.fixed_grid = 1)),
        ("haar", solve(&|o| o.wavelet = HAAR)),
        ("levels", solve(&|o| o.levels = 2)),
        ("variation", solve(&|o| o.penalty = VARIATION)),
    ] {
        let e = error(&other, &usual);
        assert!((1e-3..1.0).contains(&e), "{name}: {e:.1e}");
    }
}

/// Of a zero scan the image is 0; a weight beyond the limit leaves 0, too.
#[test]
fn nothing_is_kept_of_nothing() {
    let Some(device) = device() else { return };
    let (scan, samples) = scan(device, [1, 9, 12], true, true);
    for (penalty, lambda, of) in [(WAVELETS, 1.0, 0.0), (VARIATION, 1.0, 0.0), (WAVELETS, 1e9, 1.0)] {
        for algorithm in [FISTA, PRIMAL_DUAL] {
            scan.options(|o| (o.penalty, o.algorithm, o.lambda, o.iterations) = (penalty, algorithm, lambda, 400));
            let image = scan.to_image(isoc_mri_reconstruct, &samples.iter().map(|s| s * of).collect::<Vec<_>>());
            let largest = image.iter().map(|v| v.norm()).fold(0.0, f64::max);
            // The primal-dual method comes nearer from iteration to iteration.
            assert!(largest < if of == 0.0 { 1e-300 } else { 1e-6 }, "{penalty}, {algorithm}: {largest:.1e}");
            if penalty == WAVELETS && algorithm == PRIMAL_DUAL {
                // Where nothing is to be kept, all of the data are a dual: the objective is |d|^2 / 2, and is the least.
                let (told, gaps) = (scan.objective(0), scan.gap(0));
                assert!(gaps.len() == told.len() && gaps[gaps.len() - 1] <= 1e-9 * told[0], "{gaps:?}");
            }
        }
    }
}

#[test]
fn mistakes_are_named() {
    let Some(device) = device() else { return };
    let (scan, samples) = scan(device, [1, 9, 12], false, true);
    let refused = |change: &dyn Fn(&mut isoc_mri_options), status: Status, words: &[&str]| {
        // SAFETY: all zero is valid.
        let mut o: isoc_mri_options = unsafe { std::mem::zeroed() };
        o.struct_size = size_of::<isoc_mri_options>() as u32;
        change(&mut o);
        // SAFETY: a valid pointer.
        let mut seen = unsafe { isoc_mri_set_options(scan.mri, &o) };
        if seen == Status::Ok {
            let mut image = vec![C::default(); scan.voxels()];
            let (from, to) = (tensor(&samples, &scan.scan_shape()), output(&mut image, &scan.image_shape()));
            // SAFETY: valid pointers.
            seen = unsafe { isoc_mri_reconstruct(scan.mri, &from, &to) };
        }
        assert_eq!(seen, status);
        let message = said();
        assert!(words.iter().all(|w| message.contains(w)), "{message}");
    };
    refused(&|o| o.penalty = 6, Status::UnknownValue, &["options.penalty is 6", "0 to 5"]);
    refused(&|o| o.algorithm = 4, Status::UnknownValue, &["options.algorithm is 4"]);
    refused(&|o| o.wavelet = 2, Status::UnknownValue, &["options.wavelet is 2"]);
    refused(&|o| o.levels = 17, Status::OutOfRange, &["options.levels is 17", "0 to 16"]);
    refused(&|o| o.huber = -1.0, Status::OutOfRange, &["options.huber is -1"]);
    refused(&|o| o.huber = f64::NAN, Status::NotFiniteParameter, &["options.huber"]);
    refused(
        &|o| (o.penalty, o.algorithm) = (WAVELETS, 1),
        Status::OutOfRange,
        &["1 (conjugate_gradient)", "3 (wavelets)"],
    );
    refused(&|o| o.algorithm = FISTA, Status::OutOfRange, &["2 (fista)", "0 (identity)"]);
    refused(
        &|o| (o.penalty, o.lambda, o.levels) = (WAVELETS, 1.0, 3),
        Status::OutOfRange,
        &["options.levels is 3", "(1, 9, 12)", "at most 1"],
    );
    // A product with a penalty that has no R^H R.
    scan.options(|o| (o.penalty, o.lambda) = (VARIATION, 1.0));
    let (image, mut out) = (random(scan.voxels(), 3), vec![C::default(); scan.voxels()]);
    let (from, to) = (tensor(&image, &scan.image_shape()), output(&mut out, &scan.image_shape()));
    // SAFETY: valid pointers.
    assert_eq!(unsafe { isoc_mri_normal(scan.mri, &from, &to) }, Status::NotConfigured);
    assert!(said().contains("4 (variation)"), "{}", said());
}
