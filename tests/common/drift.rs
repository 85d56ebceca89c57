//! A scan in a beam whose shape moves, and the fit of its flat field from its definition.

use super::random;

/// Frames of (views, rows, bins), and flats of the same detector, whose dark is [`DARK`].
pub struct Drifting {
    pub shape: [usize; 3],
    pub flats: usize,
    /// Standard deviations of noise in flats and in frames, over the square root of the beam.
    pub noise: [f64; 2],
}

pub const DARK: f64 = 100.0;
/// Root mean squares of what the two patterns are of the beam.
pub const AMPLITUDES: [f64; 2] = [0.03, 0.015];

impl Drifting {
    /// Without drift: a smooth beam, and what a scintillator makes of it.
    pub fn beam(&self, row: usize, bin: usize) -> f64 {
        let [_, _, bins] = self.shape;
        let (y, x) = (row as f64, bin as f64 / bins as f64);
        let texture = ((row * 7919 + bin * 104_729) % 97) as f64 / 97.0 - 0.5;
        10_000.0 * (1.0 - 0.4 * (x - 0.5).powi(2)) * (1.0 + 0.1 * (0.3 * y).sin()) * (1.0 + 0.1 * texture)
    }

    /// What two patterns add to a beam of 1: waves along rows or columns and askew.
    pub fn patterns(&self, row: usize, bin: usize) -> [f64; 2] {
        let [_, rows, bins] = self.shape;
        let (y, x) = (row as f64, bin as f64 / bins as f64);
        let first = if rows == 1 { 25.0 * x } else { 0.7 * y };
        let waves = [first.sin(), (40.0 * x + 0.21 * y + 1.0).cos()];
        [0, 1].map(|k| AMPLITUDES[k] * 2f64.sqrt() * waves[k])
    }

    /// Strengths of the patterns in a flat or a view.
    pub fn strengths(&self, k: f64) -> [f64; 2] {
        [(2.1 * k + 0.4).sin() * 2f64.sqrt(), (1.3 * k * k + 0.2 * k).cos() * 2f64.sqrt()]
    }

    /// Transmissions of an object with edges, that turns.
    pub fn transmission(&self, view: usize, row: usize, bin: usize) -> f64 {
        let [views, rows, bins] = self.shape;
        let turn = std::f64::consts::PI * view as f64 / views as f64;
        let x = bin as f64 / bins as f64 - 0.5 - 0.1 * turn.cos();
        let y = if rows == 1 { 0.0 } else { row as f64 / rows as f64 - 0.5 };
        let depth = (0.09 - x * x - 0.5 * y * y).max(0.0).sqrt();
        let hole = if (x - 0.05).abs() < 0.04 { 0.3 } else { 1.0 };
        (-2.0 * depth * hole).exp()
    }

    /// Of so many frames: beams of strengths by `at`, times what `through` says of a frame's pixel.
    fn taken(
        &self,
        n: usize,
        (noise, seed): (f64, u64),
        at: impl Fn(usize) -> f64,
        through: impl Fn(usize, usize, usize) -> f64,
    ) -> Vec<f64> {
        let [_, rows, bins] = self.shape;
        let plane = rows * bins;
        let uniform = if noise > 0.0 { random(3 * n * plane, seed) } else { vec![0.0; 3 * n * plane] };
        (0..n * plane)
            .zip(uniform.chunks_exact(3))
            .map(|(k, uniform)| {
                let (frame, row, bin) = (k / plane, k % plane / bins, k % bins);
                let (s, p) = (self.strengths(at(frame)), self.patterns(row, bin));
                let counts = self.beam(row, bin) * (1.0 + s[0] * p[0] + s[1] * p[1]) * through(frame, row, bin);
                // The sum of three of them has a variance of 1.
                DARK + counts + noise * uniform.iter().map(|v| f64::from(*v)).sum::<f64>() * counts.sqrt()
            })
            .collect()
    }

    /// (frames, rows, bins).
    pub fn flats(&self) -> Vec<f64> {
        self.taken(self.flats, (self.noise[0], 71), |k| k as f64, |_, _, _| 1.0)
    }

    /// (views, rows, bins).
    pub fn frames(&self) -> Vec<f64> {
        let through = |view, row, bin| self.transmission(view, row, bin);
        self.taken(self.shape[0], (self.noise[1], 72), |k| 0.37 * k as f64 + 0.1, through)
    }

    /// Strengths in a view's frame.
    pub fn of_view(&self, view: usize) -> [f64; 2] {
        self.strengths(0.37 * view as f64 + 0.1)
    }
}

/// The total variation of `counts / (flat + sum of weights x components)` times the mean of that beam, from its definition.
pub fn variation(counts: &[f64], flat: &[f64], components: &[&[f64]], weights: &[f64], bins: usize) -> f64 {
    let beam: Vec<f64> =
        (0..flat.len()).map(|k| flat[k] + components.iter().zip(weights).map(|(u, w)| w * u[k]).sum::<f64>()).collect();
    let mean = beam.iter().sum::<f64>() / beam.len() as f64;
    let t = |k: usize| counts[k] / beam[k];
    let size = |k: usize| {
        let across = if k % bins + 1 < bins { t(k + 1) - t(k) } else { 0.0 };
        let down = if k + bins < counts.len() { t(k + bins) - t(k) } else { 0.0 };
        across.hypot(down)
    };
    mean * (0..counts.len()).map(size).sum::<f64>()
}

/// Means of blocks of so many rows and bins, those at the ends smaller.
pub fn binned(values: &[f64], bins: usize, by: usize) -> Vec<f64> {
    let rows = values.len() / bins;
    let sides = |n: usize| (0..n).step_by(by).map(move |k| k..n.min(k + by));
    let mean = |y: std::ops::Range<usize>, x: std::ops::Range<usize>| {
        let count = (y.len() * x.len()) as f64;
        y.flat_map(|y| x.clone().map(move |x| values[y * bins + x])).sum::<f64>() / count
    };
    sides(rows).flat_map(|y| sides(bins).map(move |x| (y.clone(), x))).map(|(y, x)| mean(y, x)).collect()
}

/// Principal components of frames less their mean, with their parts of the variance, strongest first; a frame's weights are 1 on average,
/// as a root mean square. By squaring the covariance until one eigenvector is left.
pub fn components(frames: &[f64], plane: usize, count: usize) -> Vec<(f64, Vec<f64>)> {
    let n = frames.len() / plane;
    let mean: Vec<f64> = (0..plane).map(|k| frames.iter().skip(k).step_by(plane).sum::<f64>() / n as f64).collect();
    let less: Vec<f64> = frames.iter().enumerate().map(|(k, v)| v - mean[k % plane]).collect();
    let row = |i: usize| &less[i * plane..][..plane];
    let product = |i: usize, j: usize| row(i).iter().zip(row(j)).map(|(a, b)| a * b).sum::<f64>() / plane as f64;
    let mut covariance: Vec<f64> = (0..n * n).map(|k| product(k / n, k % n)).collect();
    let all: f64 = (0..n).map(|k| covariance[k * n + k]).sum();
    let times = |a: &[f64], x: &[f64]| -> Vec<f64> {
        a.chunks_exact(n).map(|row| row.iter().zip(x).map(|(a, b)| a * b).sum()).collect()
    };
    let unit = |v: Vec<f64>| {
        let length = v.iter().map(|v| v * v).sum::<f64>().sqrt();
        v.iter().map(|v| v / length).collect::<Vec<f64>>()
    };
    (0..count)
        .map(|_| {
            let mut vector = unit((0..n).map(|k| (1.0 + k as f64).sin()).collect());
            for _ in 0..20_000 {
                vector = unit(times(&covariance, &vector));
            }
            let value: f64 = times(&covariance, &vector).iter().zip(&vector).map(|(a, b)| a * b).sum();
            for (k, v) in covariance.iter_mut().enumerate() {
                *v -= value * vector[k / n] * vector[k % n];
            }
            let largest = vector.iter().fold(0.0, |m: f64, v| if v.abs() > m.abs() { *v } else { m });
            let scale = largest.signum() / (n as f64).sqrt();
            let image = |k: usize| scale * (0..n).map(|i| vector[i] * row(i)[k]).sum::<f64>();
            (value / all, (0..plane).map(image).collect())
        })
        .collect()
}
