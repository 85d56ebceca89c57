//! Raw frames of a scan, (views, rows, bins), and what stages make of them, in f64 from their definitions.

use super::random;
use isocenter::ct::{FlatFieldOptions, OutlierSide, OutlierUnit, Outliers};
use rustfft::FftPlanner;
use rustfft::num_complex::Complex;

/// Counts of 8 to 60000 with noise, and zingers and dead values in a few places.
pub fn counts([views, rows, bins]: [usize; 3], seed: u64) -> Vec<u16> {
    let noise = random(views * rows * bins, seed);
    let mut frames: Vec<u16> = (0..noise.len())
        .map(|k| {
            let (view, row, bin) = (k / (rows * bins), k / bins % rows, k % bins);
            let object = if (bin + view).is_multiple_of(17) { 0.5 } else { 1.0 };
            let smooth = 2000.0 + 40.0 * bin as f64 + 30.0 * row as f64;
            (smooth * object * (1.0 + 0.05 * f64::from(noise[k]))) as u16
        })
        .collect();
    for k in (7..frames.len()).step_by(53) {
        frames[k] = if k % 3 == 0 { 5 } else { frames[k].saturating_mul(9) };
    }
    frames
}

/// The frames without outliers, and how many there were: medians by sorting, the limit from its definition.
pub fn without_outliers(frames: &[f64], [views, rows, bins]: [usize; 3], o: &Outliers) -> (Vec<f64>, u64) {
    let near = |k: usize, by: isize, n: usize| k.saturating_add_signed(by).min(n - 1);
    let middle = |values: &[f64]| {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        sorted[sorted.len() / 2]
    };
    let (reach, deep) = ((o.window / 2) as isize, (o.depth / 2) as isize);
    let mut found = 0;
    let clean = (0..frames.len()).map(|k| {
        let (view, row, bin) = (k / (rows * bins), k / bins % rows, k % bins);
        let mut around = Vec::new();
        for v in -deep..=deep {
            for r in -reach..=reach {
                for b in -reach..=reach {
                    let at = (near(view, v, views) * rows + near(row, r, rows)) * bins + near(bin, b, bins);
                    around.push(frames[at]);
                }
            }
        }
        let median = middle(&around);
        let distances: Vec<f64> = around.iter().map(|v| (v - median).abs()).collect();
        let unit = match o.unit {
            OutlierUnit::Noise => (1.4826 * middle(&distances)).max(0.005 * median.abs()),
            OutlierUnit::Median => median.abs(),
            OutlierUnit::Count => 1.0,
        };
        let above = frames[k] - median;
        let distance = match o.side {
            OutlierSide::Bright => above,
            OutlierSide::Dark => -above,
            OutlierSide::Both => above.abs(),
        };
        let out = distance > o.threshold * unit;
        found += u64::from(out);
        if out { median } else { frames[k] }
    });
    (clean.collect(), found)
}

/// Line integrals of frames: the beam of each view between the groups of flats before and after it.
pub fn integrals(
    frames: &[f64],
    [views, rows, bins]: [usize; 3],
    flats: &[f64],
    dark: &[f64],
    options: &FlatFieldOptions,
    minimum: f64,
) -> Vec<f64> {
    let plane = rows * bins;
    let mut first = 0;
    let means: Vec<Vec<f64>> = options
        .groups
        .iter()
        .map(|g| {
            let of = &flats[first * plane..(first + g.frames) * plane];
            first += g.frames;
            (0..plane).map(|k| of.iter().skip(k).step_by(plane).sum::<f64>() / g.frames as f64).collect()
        })
        .collect();
    (0..views * plane)
        .map(|k| {
            let (at, pixel) = ((k / plane) as f64 + 0.5, k % plane);
            let beam = |g: usize| (means[g][pixel] - dark[pixel]) / options.groups[g].monitor;
            let after = options.groups.iter().position(|g| g.position > at);
            let beam = match after {
                Some(0) => beam(0),
                None => beam(means.len() - 1),
                Some(b) => {
                    let [p, q] = [b - 1, b].map(|g| options.groups[g].position);
                    ((q - at) * beam(b - 1) + (at - p) * beam(b)) / (q - p)
                }
            };
            let monitor = options.monitor.get(k / plane).copied().unwrap_or(1.0);
            -((frames[k] - dark[pixel]) / (beam * monitor)).max(minimum).ln()
        })
        .collect()
}

/// Line integrals of frames of transmissions, (views, rows, bins): each in a field of itself, its edges repeated far beyond, transformed,
/// times the response at squared cycles a bin, and back.
pub fn retrieved(
    transmissions: &[f64],
    [views, rows, bins]: [usize; 3],
    linear: bool,
    response: impl Fn(f64) -> f64,
) -> Vec<f64> {
    let far = 400;
    let [ny, nx] = [rows + 2 * far, bins + 2 * far];
    let mut planner = FftPlanner::<f64>::new();
    let mut transformed = |grid: &mut Vec<Complex<f64>>, forward: bool| {
        for (n, others) in [(nx, ny), (ny, nx)] {
            let fft = if forward { planner.plan_fft_forward(n) } else { planner.plan_fft_inverse(n) };
            fft.process(grid);
            // The other axis is the fast one now.
            *grid = (0..n * others).map(|k| grid[k % others * n + k / others]).collect();
        }
    };
    let mut out = Vec::with_capacity(transmissions.len());
    for frame in transmissions.chunks_exact(rows * bins).take(views) {
        let mut grid: Vec<Complex<f64>> = (0..ny * nx)
            .map(|k| {
                let (y, x) = ((k / nx).saturating_sub(far).min(rows - 1), (k % nx).saturating_sub(far).min(bins - 1));
                let v = frame[y * bins + x];
                Complex::new(if linear { 1.0 - v } else { v }, 0.0)
            })
            .collect();
        transformed(&mut grid, true);
        for (k, v) in grid.iter_mut().enumerate() {
            let cycles = |k: usize, n: usize| (k.min(n - k) as f64 / n as f64).powi(2);
            *v *= response(cycles(k / nx, ny) + cycles(k % nx, nx)) / (ny * nx) as f64;
        }
        transformed(&mut grid, false);
        for (y, x) in (0..rows).flat_map(|y| (0..bins).map(move |x| (y, x))) {
            let v = grid[(y + far) * nx + x + far].re;
            out.push(if linear { v } else { -v.ln() });
        }
    }
    out
}
