//! Raw frames of a scan, (views, rows, bins), and what stages make of them, in f64 from their definitions.

use super::random;
use isocenter::array::{Array, ArrayMut, DType};
use isocenter::ct::{
    Ct, Distortion, Filter, FlatFieldOptions, InputKind, Options, Order, OutlierSide, OutlierUnit, Outliers, Slab,
};
use isocenter::error::Result;
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

/// Frames without a distortion: each pixel between the four around its place in the measured frame, which the definition gives.
pub fn undistorted(frames: &[f64], [views, rows, bins]: [usize; 3], d: &Distortion) -> Vec<f64> {
    let (sin, cos) = d.tilt.atan().sin_cos();
    let middle = [(bins - 1) as f64 / 2.0, (rows - 1) as f64 / 2.0];
    let place = |view: usize, row: usize, bin: usize| {
        let shift = d.shifts.get(view).copied().unwrap_or([0.0; 2]);
        let (x, y) = (bin as f64 + shift[0] - middle[0], row as f64 + shift[1] - middle[1]);
        let (mut x, mut y) = (middle[0] + x * cos + y * sin, middle[1] - x * sin + y * cos);
        if let Some([a, b, c, d, e, f, g, h]) = d.perspective {
            let w = g * x + h * y + 1.0;
            (x, y) = ((a * x + b * y + c) / w, (d * x + e * y + f) / w);
        }
        let [cx, cy] = d.centre;
        let radius = (x - cx).hypot(y - cy);
        let powers = d.radial.iter().enumerate().map(|(k, b)| b * radius.powi(k as i32));
        let factor = if d.radial.is_empty() { 1.0 } else { powers.sum::<f64>() };
        (cx + factor * (x - cx), cy + factor * (y - cy))
    };
    let pixels = (0..views * rows * bins).map(|k| (k / (rows * bins), k / bins % rows, k % bins));
    pixels
        .map(|(view, row, bin)| {
            let (x, y) = place(view, row, bin);
            let (x, y) = (x.clamp(0.0, (bins - 1) as f64), y.clamp(0.0, (rows - 1) as f64));
            let at = |row: f64, bin: f64| {
                frames[(view * rows + (row as usize).min(rows - 1)) * bins + (bin as usize).min(bins - 1)]
            };
            let ([left, top], [u, v]) = ([x.floor(), y.floor()], [x.fract(), y.fract()]);
            (1.0 - v) * ((1.0 - u) * at(top, left) + u * at(top, left + 1.0))
                + v * ((1.0 - u) * at(top + 1.0, left) + u * at(top + 1.0, left + 1.0))
        })
        .collect()
}

/// What a stream gives that reads from frames or sinograms of the whole detector, and the slabs that it asked for: first slice, first row and
/// number of rows of each.
pub fn streamed<T: Copy>(ct: &mut Ct, dtype: DType, data: &[T]) -> Result<(Vec<f32>, Vec<[usize; 3]>)> {
    let g = ct.geometry()?.clone();
    let (mut volume, mut asked) = (vec![f32::NAN; g.volume_shape().iter().product()], Vec::new());
    let read = |slab: Slab| {
        let held = if g.order == Order::Frames { slab.shape[1] } else { slab.shape[0] };
        asked.push([slab.first, slab.first_row, held]);
        for (v, r) in (0..g.views()).flat_map(|v| (0..held).map(move |r| (v, r))) {
            let (from, to) = match g.order {
                Order::Frames => (v * g.rows + slab.first_row + r, v * held + r),
                Order::Sinograms => ((slab.first_row + r) * g.views() + v, r * g.views() + v),
            };
            // SAFETY: the slab's array, which has these rows.
            let to = unsafe { slab.data.cast::<T>().add(to * g.bins) };
            // SAFETY: a row.
            unsafe { to.copy_from_nonoverlapping(data[from * g.bins..][..g.bins].as_ptr(), g.bins) };
        }
        Ok(())
    };
    let write = |slab: Slab| {
        let n = slab.count * g.nx * g.ny;
        // SAFETY: the slab's array of f32.
        let slices = unsafe { std::slice::from_raw_parts(slab.data.cast::<f32>(), n) };
        volume[slab.first * g.nx * g.ny..][..n].copy_from_slice(slices);
        Ok(())
    };
    ct.reconstruct_stream(dtype, read, write)?;
    Ok((volume, asked))
}

/// In f64.
pub fn doubles(values: &[f32]) -> Vec<f64> {
    values.iter().map(|v| f64::from(*v)).collect()
}

/// What `filter` makes of projections without a filter.
pub fn filtered(ct: &mut Ct, from: Array, input: InputKind) -> Vec<f32> {
    let shape = from.shape();
    ct.set_options(Options { filter: Filter::None, input, ..Options::default() }).expect("options");
    let mut out = vec![f32::NAN; shape.iter().product()];
    ct.filter(from, ArrayMut::new(&mut out, shape).expect("projections")).expect("success");
    out
}

/// The largest difference; not a number where one is none.
pub fn worst(seen: &[f32], expected: &[f64]) -> f64 {
    assert_eq!(seen.len(), expected.len());
    seen.iter().zip(expected).map(|(s, e)| (f64::from(*s) - e).abs()).fold(0.0, |w, d| if d <= w { w } else { d })
}
