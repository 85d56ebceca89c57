//! Accelerated projected gradient's steps on images `[y][x][lane]`.

use super::variation::Plane;
use crate::iterative::Iteration;
use isocenter_base::cpu::parallel::*;
use isocenter_base::cpu::simd::{Plain, vectorised};

/// A^T (b - A x); or what is taken from `back` for it.
#[derive(Clone, Copy)]
pub(super) struct Gradient<'a> {
    pub(super) of: &'a [f32],
    pub(super) back: Option<&'a [f32]>,
}

/// Sums side by side: a multiple of the lanes.
const SIDE: usize = 32;

impl Gradient<'_> {
    /// Elements first to first + len.
    fn part(&self, first: usize, len: usize) -> Self {
        Self { of: &self.of[first..][..len], back: self.back.map(|back| &back[first..][..len]) }
    }

    #[inline(always)]
    fn at(&self, e: usize) -> f32 {
        self.back.map_or(self.of[e], |back| back[e] - self.of[e])
    }
}

impl Plane {
    /// See [`Space::hasten`]; gives each lane's `turned`.
    ///
    /// [`Space::hasten`]: crate::iterative::space::Space::hasten
    pub(super) fn hasten(
        &self,
        iteration: &Iteration,
        ([x, ahead], base): ([&mut [f32]; 2], &[f32]),
        (gradient, weight): (Gradient, f32),
        [steps, parts]: [&[f32]; 2],
    ) -> Vec<f64> {
        let (row, ny, lanes) = (self.row(), self.ny, self.lanes);
        let bounds = iteration.options.bounds.map(|b| b as f32);
        let rows = x.par_chunks_exact_mut(row).zip(ahead.par_chunks_exact_mut(row)).enumerate();
        let turned: Vec<[f64; SIDE]> = rows
            .map(|(k, (x, ahead))| {
                let own = k / ny * lanes..(k / ny + 1) * lanes;
                let inside = iteration.mask.inside(k % ny);
                let inside = inside.start * lanes..inside.end * lanes;
                let gradient = gradient.part(k * row + inside.start, inside.len());
                let [steps, parts] = [&steps[own.clone()], &parts[own]].map(wide);
                let base = &base[k * row + inside.start..][..inside.len()];
                let (x, ahead) = (&mut x[inside.clone()], &mut ahead[inside]);
                vectorised(self.level, HastenRow { x, ahead, base, gradient, weight, steps, parts, bounds })
            })
            .collect();
        let mut sums = vec![0.0; x.len() / (row * ny) * lanes];
        for (k, turned) in turned.iter().enumerate() {
            let own = &mut sums[k / ny * lanes..][..lanes];
            turned.iter().enumerate().for_each(|(l, v)| own[l % lanes] += v);
        }
        sums
    }

    /// The two numbers of [`Excess`] for each lane.
    ///
    /// [`Excess`]: crate::iterative::space::Excess
    pub(super) fn excess(
        &self,
        iteration: &Iteration,
        [image, base, gradient]: [&[f32]; 3],
        weight: f32,
    ) -> Vec<[f64; 2]> {
        let (row, ny, lanes) = (self.row(), self.ny, self.lanes);
        let [lower, upper] = iteration.options.bounds.map(|b| f64::from(b as f32));
        let weight = f64::from(weight);
        let one = |k: usize| {
            let [image, base, gradient] = [image, base, gradient].map(|of| &of[k * row..][..row]);
            let inside = iteration.mask.inside(k % ny);
            let mut sums = vec![[0.0; 2]; lanes];
            for e in inside.start * lanes..inside.end * lanes {
                let x = f64::from(base[e]) + f64::from(image[e]);
                let v = weight * x - f64::from(gradient[e]);
                // The best within the bounds; a step to infinity is one of 0 where nothing pulls.
                let best = if weight > 0.0 {
                    (x - v / weight).clamp(lower, upper)
                } else if v == 0.0 {
                    x
                } else if v > 0.0 {
                    lower
                } else {
                    upper
                };
                let sums = &mut sums[e % lanes];
                // 0 times a step to infinity is no number.
                let bent = if weight > 0.0 { 0.5 * weight * (x - best).powi(2) } else { 0.0 };
                sums[0] += v * (x - best) - bent;
                sums[1] += x * x;
            }
            sums
        };
        let groups = image.len() / (row * ny);
        let rows: Vec<Vec<[f64; 2]>> = (0..groups * ny).into_par_iter().map(one).collect();
        let mut all = vec![[0.0; 2]; groups * lanes];
        for (k, sums) in rows.iter().enumerate() {
            for (all, sum) in all[k / ny * lanes..].iter_mut().zip(sums) {
                (0..2).for_each(|n| all[n] += sum[n]);
            }
        }
        all
    }
}

/// Each lane's number, again and again.
fn wide(lanes: &[f32]) -> [f32; SIDE] {
    std::array::from_fn(|l| lanes[l % lanes.len()])
}

/// One row of [`Plane::hasten`], inside the mask.
struct HastenRow<'a> {
    x: &'a mut [f32],
    ahead: &'a mut [f32],
    base: &'a [f32],
    gradient: Gradient<'a>,
    weight: f32,
    steps: [f32; SIDE],
    parts: [f32; SIDE],
    bounds: [f32; 2],
}

impl Plain for HastenRow<'_> {
    type Output = [f64; SIDE];

    #[inline(always)]
    fn run(self) -> [f64; SIDE] {
        let Self { x, ahead, base, gradient, weight, steps, parts, bounds } = self;
        let mut turned = [0.0; SIDE];
        let all = x.chunks_mut(SIDE).zip(ahead.chunks_mut(SIDE)).zip(base.chunks(SIDE));
        for (k, ((x, ahead), base)) in all.enumerate() {
            let gradient = gradient.part(k * SIDE, x.len());
            for l in 0..x.len() {
                let descent = gradient.at(l) - weight * (base[l] + ahead[l]);
                let next = (ahead[l] + steps[l] * descent).max(bounds[0] - base[l]).min(bounds[1] - base[l]);
                // A step of 0 is that of a slice that has ended.
                let runs = steps[l] > 0.0;
                let moved = if runs { next - x[l] } else { 0.0 };
                turned[l] += f64::from(ahead[l] - next) * f64::from(moved);
                if runs {
                    x[l] = next;
                    ahead[l] = next + parts[l] * moved;
                }
            }
        }
        turned
    }
}
