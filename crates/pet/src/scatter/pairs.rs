//! Scatter of all pairs of detectors, by time.

use super::Scatter;
use super::rays::{Ray, Rays};
use isocenter_base::context::Job;
use isocenter_base::cpu::buffer::zeros;
use isocenter_base::cpu::elementary::exp;
use isocenter_base::cpu::level::Level;
use isocenter_base::cpu::parallel::*;
use isocenter_base::cpu::simd::{Plain, vectorised};
use isocenter_base::error::Result;
use std::f64::consts::TAU;

/// Counts a mm^2 sr of lines and a mm along them.
#[derive(Debug)]
pub(crate) struct Pairs {
    /// `[node][other node][time]`, times by how far from the middle towards the first.
    pub(crate) values: Vec<f32>,
}

/// Places whose parts are computed before they are added.
const CHUNK: usize = 128;

impl Scatter {
    /// What the parts of a pair's places are multiplied by; None: no line of the lattice is near.
    pub(crate) fn pair(&self, first: usize, second: usize) -> Option<f64> {
        let ([x, y, z], [u, v, w]) = (self.nodes.place(first), self.nodes.place(second));
        let radius = self.nodes.radius;
        let flat = (x - u).hypot(y - v);
        let off_axis = (radius * radius - 0.25 * flat * flat).max(0.0).sqrt();
        // As far as neighbours of a line's detectors have lines.
        let margin = 2.1 * radius * TAU / self.nodes.around as f64;
        let steepest = self.limits[0].tan() * 2.0 * radius + 2.1 * self.nodes.apart();
        if off_axis > (self.limits[1] + margin).min(0.97 * radius) || (z - w).abs() > steepest {
            return None;
        }
        let square = flat * flat + (z - w) * (z - w);
        // Of the line with either radius.
        let cosine = 0.5 * flat * flat / (radius * square.sqrt());
        Some(square / (cosine * cosine * TAU * self.times.step))
    }
}

impl Pairs {
    pub(crate) fn new(of: &Scatter, rays: &Rays, level: Level, job: &Job) -> Result<Self> {
        let (nodes, about) = (of.nodes.count(), of.times.about);
        let mut values = zeros::<f32>(nodes * nodes * about)?;
        let blur = of.times.blur();
        values.par_chunks_mut(nodes * about).enumerate().try_for_each(|(first, row)| {
            for second in first + 1..nodes {
                job.check()?;
                if let Some(scale) = of.pair(first, second) {
                    let out = &mut row[second * about..][..about];
                    vectorised(level, Add { of, rays, nodes: [first, second], scale: scale as f32, blur: &blur, out });
                }
            }
            Ok(())
        })?;
        for first in 0..nodes {
            for second in first + 1..nodes {
                let (to, from) = (second * nodes + first, first * nodes + second);
                for k in 0..about {
                    values[to * about + k] = values[from * about + about - 1 - k];
                }
            }
        }
        Ok(Self { values })
    }
}

impl super::Times {
    /// Of the Gaussian: its middle's value, and those on one side.
    pub(crate) fn blur(&self) -> Vec<f32> {
        let reach = (3.5 * self.sigma / self.step).floor() as usize;
        let of = |k: usize| (-0.5 * (k as f64 * self.step / self.sigma.max(1e-9)).powi(2)).exp();
        let sum = of(0) + 2.0 * (1..=reach).map(of).sum::<f64>();
        (0..=reach).map(|k| (of(k) / sum) as f32).collect()
    }
}

struct Add<'a> {
    of: &'a Scatter,
    rays: &'a Rays,
    nodes: [usize; 2],
    scale: f32,
    blur: &'a [f32],
    out: &'a mut [f32],
}

impl Plain for Add<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { of, rays, nodes, scale, blur, out } = self;
        let (places, steps, about) = (of.places.len(), of.times.along, of.times.about);
        let [first, second] = nodes.map(|node| &rays.rays[node * places..][..places]);
        let [ahead, behind] = nodes.map(|node| &rays.activity[node * places * steps..][..places * steps]);
        // Towards the first, and towards the second.
        let mut sums = [vec![0f32; about], vec![0f32; about]];
        let mut parts = [[0f32; CHUNK]; 3];
        for from in (0..places).step_by(CHUNK) {
            let n = CHUNK.min(places - from);
            weights(of, from, &first[from..][..n], &second[from..][..n], &mut parts);
            let middle = (about / 2) as f32;
            for k in 0..n {
                let (a, b) = (&first[from + k], &second[from + k]);
                let [to_first, to_second, shift] = [parts[0][k], parts[1][k], parts[2][k]];
                let row = (from + k) * steps;
                add(&mut sums[0], middle + 0.5 + shift, to_first, &ahead[row..][..steps], a);
                add(&mut sums[1], middle + 0.5 - shift, to_second, &behind[row..][..steps], b);
            }
        }
        let whole: Vec<f32> = (0..about).map(|k| sums[0][k] + sums[1][about - 1 - k]).collect();
        for (k, out) in out.iter_mut().enumerate() {
            let mut sum = blur[0] * whole[k];
            for (d, part) in blur.iter().enumerate().skip(1) {
                let below = if k >= d { whole[k - d] } else { 0.0 };
                sum += part * (below + whole.get(k + d).copied().unwrap_or(0.0));
            }
            *out = scale * sum;
        }
    }
}

/// Of each place: the parts of photons that come straight to the first, and to the second; how far the middle between a place's ways is from it, in steps.
#[inline(always)]
fn weights(of: &Scatter, from: usize, first: &[Ray], second: &[Ray], parts: &mut [[f32; CHUNK]; 3]) {
    let per_step = (0.5 / of.times.step) as f32;
    let [to_first, to_second, shift] = parts;
    for k in 0..first.len() {
        let (a, b) = (&first[k], &second[k]);
        let cosine = -(a.along[0] * b.along[0] + a.along[1] * b.along[1] + a.along[2] * b.along[2]);
        let [part, ratio] = of.table.at(cosine);
        let open = of.places[from + k].weight * part * a.open * b.open;
        let through = |straight: &Ray, turned: &Ray| {
            open * exp(-f64::from(straight.attenuation) - f64::from(ratio * turned.attenuation)) as f32
        };
        (to_first[k], to_second[k]) = (through(a, b), through(b, a));
        shift[k] = (b.length - a.length) * per_step;
    }
}

/// Adds a way's activity, its first step's middle at a time.
#[inline(always)]
fn add(sums: &mut [f32], at: f32, weight: f32, activity: &[f32], ray: &Ray) {
    let low = at.floor();
    let f = at - low;
    let low = low as i64;
    // Steps both of whose times there are.
    let first = i64::from(ray.first).max(-low);
    let end = i64::from(ray.end).min(sums.len() as i64 - 1 - low);
    if first >= end || weight == 0.0 {
        return;
    }
    let (first, end) = (first as usize, end as usize);
    let start = (low + first as i64) as usize;
    let (less, more) = (weight * (1.0 - f), weight * f);
    let sums = &mut sums[start..][..end - first + 1];
    let activity = &activity[first..end];
    for (sum, v) in sums.iter_mut().zip(activity) {
        *sum += less * v;
    }
    for (sum, v) in sums[1..].iter_mut().zip(activity) {
        *sum += more * v;
    }
}
