//! Total variation's steps on images `[y][x][lane]`: differences to the next pixel of a row and of a column, 0 at the last.

use crate::cpu::level::Level;
use crate::cpu::simd::{Plain, vectorised};
use crate::ct::iterative::Iteration;
use crate::ct::iterative::space::Penalty;
use rayon::prelude::*;

/// Images of groups of slices.
#[derive(Clone, Copy)]
pub(super) struct Plane {
    pub(super) level: Level,
    pub(super) nx: usize,
    pub(super) ny: usize,
    pub(super) lanes: usize,
}

/// Each lane's numbers, as often as a row has pixels.
fn along(lanes: &[f32], row: usize) -> Vec<f32> {
    lanes.iter().copied().cycle().take(row).collect()
}

impl Plane {
    pub(super) fn row(&self) -> usize {
        self.nx * self.lanes
    }

    /// See [`Space::primal`].
    ///
    /// [`Space::primal`]: crate::ct::iterative::space::Space::primal
    pub(super) fn primal(
        &self,
        iteration: &Iteration,
        [x, gradient, ahead]: [&mut [f32]; 3],
        [fx, fy]: [&[f32]; 2],
        [steps, relaxed]: [&[f32]; 2],
        bounds: [f32; 2],
    ) {
        let (row, ny, lanes) = (self.row(), self.ny, self.lanes);
        let images =
            x.par_chunks_exact_mut(row).zip(gradient.par_chunks_exact_mut(row)).zip(ahead.par_chunks_exact_mut(row));
        images.enumerate().for_each(|(k, ((x, gradient), ahead))| {
            let (group, i) = (k / ny, k % ny);
            let own = group * lanes..(group + 1) * lanes;
            let [steps, relaxed] = [&steps[own.clone()], &relaxed[own]].map(|v| along(v, row));
            let above = if i > 0 { &fy[(k - 1) * row..k * row] } else { &[] };
            let fields = [&fx[k * row..][..row], &fy[k * row..][..row], above];
            vectorised(
                self.level,
                PrimalRow { x, gradient, ahead, fields, lanes, steps: &steps, relaxed: &relaxed, bounds },
            );
            let inside = iteration.mask.inside(i);
            for row in [x, gradient, ahead] {
                row[..inside.start * lanes].fill(0.0);
                row[inside.end * lanes..].fill(0.0);
            }
        });
    }

    /// See [`Space::dual`].
    ///
    /// [`Space::dual`]: crate::ct::iterative::space::Space::dual
    pub(super) fn dual(
        &self,
        ahead: &[f32],
        [fx, fy]: [&mut [f32]; 2],
        [steps, relaxed]: [&[f32]; 2],
        penalty: Penalty,
    ) {
        let (row, ny, lanes) = (self.row(), self.ny, self.lanes);
        fx.par_chunks_exact_mut(row).zip(fy.par_chunks_exact_mut(row)).enumerate().for_each(|(k, (fx, fy))| {
            let (group, i) = (k / ny, k % ny);
            let own = group * lanes..(group + 1) * lanes;
            let [steps, relaxed] = [&steps[own.clone()], &relaxed[own]].map(|v| along(v, row));
            let here = &ahead[k * row..][..row];
            // The last row is its own next one.
            let below = if i + 1 < ny { &ahead[(k + 1) * row..][..row] } else { here };
            vectorised(self.level, DualRow { here, below, fx, fy, lanes, steps: &steps, relaxed: &relaxed, penalty });
        });
    }

    /// The five numbers of [`Bound`] for each lane.
    ///
    /// [`Bound`]: crate::ct::iterative::space::Bound
    pub(super) fn bound(
        &self,
        iteration: &Iteration,
        [x, back, fx, fy]: [&[f32]; 4],
        pixels: &[f32],
        penalty: Penalty,
    ) -> Vec<[f64; 5]> {
        let (row, ny, lanes) = (self.row(), self.ny, self.lanes);
        let bounds = iteration.options.bounds.map(|b| b as f32);
        let (weight, huber) = (f64::from(penalty.weight), f64::from(penalty.huber));
        let one = |k: usize| {
            let i = k % ny;
            let (here, back) = (&x[k * row..][..row], &back[k * row..][..row]);
            let below = if i + 1 < ny { &x[(k + 1) * row..][..row] } else { here };
            let field = |k: usize, e: usize| limited([fx[k * row + e], fy[k * row + e]], penalty).map(f64::from);
            let inside = iteration.mask.inside(i);
            let mut sums = vec![[0.0f64; 5]; lanes];
            for e in 0..row {
                let (j, sums) = (e / lanes, &mut sums[e % lanes]);
                let next = if j + 1 < self.nx { here[e + lanes] } else { here[e] };
                let [dx, dy] = [f64::from(next - here[e]), f64::from(below[e] - here[e])];
                let [px, py] = field(k, e);
                let length = dx.hypot(dy);
                let variation =
                    weight * if length < huber { length * length / (2.0 * huber) } else { length - 0.5 * huber };
                sums[0] += variation;
                sums[1] += variation + 0.5 * huber / weight * (px * px + py * py) - dx * px - dy * py;
                if !inside.contains(&j) {
                    continue;
                }
                let left = if j > 0 { field(k, e - lanes)[0] } else { 0.0 };
                let up = if i > 0 { field(k - 1, e)[1] } else { 0.0 };
                let v = left - px + up - py - f64::from(back[e]);
                let gain = v * f64::from(here[e] - bounds[0]);
                sums[2] += if bounds[1].is_finite() { gain.max(v * f64::from(here[e] - bounds[1])) } else { gain };
                let inverse = f64::from(pixels[i * self.nx + j]);
                if inverse > 0.0 {
                    sums[3] += f64::from(here[e] - bounds[0]) / inverse;
                    sums[4] = sums[4].min(v * inverse);
                } else if v < 0.0 {
                    // No ray sees it: nothing that moves rays helps.
                    sums[4] = f64::NEG_INFINITY;
                }
            }
            sums
        };
        let groups = x.len() / (row * ny);
        let rows: Vec<Vec<[f64; 5]>> = (0..groups * ny).into_par_iter().map(one).collect();
        let mut all = vec![[0.0; 5]; groups * lanes];
        for (k, sums) in rows.iter().enumerate() {
            for (all, sum) in all[k / ny * lanes..].iter_mut().zip(sums) {
                (0..4).for_each(|n| all[n] += sum[n]);
                all[4] = f64::min(all[4], sum[4]);
            }
        }
        all
    }
}

/// A field's vector, no longer than the weight.
#[inline(always)]
fn limited([x, y]: [f32; 2], penalty: Penalty) -> [f32; 2] {
    let length = (x * x + y * y).sqrt();
    let factor = if length > penalty.weight { penalty.weight / length } else { 1.0 };
    [factor * x, factor * y]
}

/// One row of [`Plane::primal`].
struct PrimalRow<'a> {
    x: &'a mut [f32],
    gradient: &'a mut [f32],
    ahead: &'a mut [f32],
    /// Along x; along y, of this row and of the one before, of which the first row has none.
    fields: [&'a [f32]; 3],
    lanes: usize,
    steps: &'a [f32],
    relaxed: &'a [f32],
    bounds: [f32; 2],
}

impl Plain for PrimalRow<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { x, gradient, ahead, fields: [fx, fy, above], lanes, steps, relaxed, bounds } = self;
        let n = x.len();
        // -D^T y: what flows in from the pixels before, less what flows out.
        let out = gradient.iter_mut().zip(fx.iter().zip(fy));
        out.for_each(|(g, (fx, fy))| *g += fx + fy);
        gradient[lanes.min(n)..].iter_mut().zip(fx).for_each(|(g, before)| *g -= before);
        gradient.iter_mut().zip(above).for_each(|(g, before)| *g -= before);
        let all = x.iter_mut().zip(gradient).zip(ahead).zip(steps.iter().zip(relaxed));
        for (((x, gradient), ahead), (step, relaxed)) in all {
            let next = (*x + step * *gradient).max(bounds[0]).min(bounds[1]);
            *ahead = 2.0 * next - *x;
            *gradient = next;
            *x += relaxed * (next - *x);
        }
    }
}

/// One row of [`Plane::dual`].
struct DualRow<'a> {
    here: &'a [f32],
    below: &'a [f32],
    fx: &'a mut [f32],
    fy: &'a mut [f32],
    lanes: usize,
    steps: &'a [f32],
    relaxed: &'a [f32],
    penalty: Penalty,
}

impl Plain for DualRow<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { here, below, fx, fy, lanes, steps, relaxed, penalty } = self;
        let Penalty { weight, huber } = penalty;
        let n = here.len();
        let (whole, last) = (n - lanes.min(n), lanes.min(n));
        let step = |fx: &mut f32, fy: &mut f32, dx: f32, dy: f32, step: f32, relaxed: f32| {
            let shrink = 1.0 / (1.0 + step * huber / weight);
            let [x, y] = limited([(*fx + step * dx) * shrink, (*fy + step * dy) * shrink], penalty);
            *fx += relaxed * (x - *fx);
            *fy += relaxed * (y - *fy);
        };
        for e in 0..whole {
            let (dx, dy) = (here[e + lanes] - here[e], below[e] - here[e]);
            step(&mut fx[e], &mut fy[e], dx, dy, steps[e], relaxed[e]);
        }
        for e in n - last..n {
            step(&mut fx[e], &mut fy[e], 0.0, below[e] - here[e], steps[e], relaxed[e]);
        }
    }
}
