//! Total variation's steps on images `[y][x][lane]`: differences to the next pixel of a row and of a column, and to the next slice, 0 at
//! the last.

use super::pointwise::without_smallest;
use crate::iterative::Iteration;
use crate::iterative::space::Penalty;
use isocenter_base::cpu::level::Level;
use isocenter_base::cpu::parallel::*;
use isocenter_base::cpu::simd::{Plain, vectorised};

/// Images of groups of slices.
#[derive(Clone, Copy)]
pub(super) struct Plane {
    pub(super) level: Level,
    pub(super) nx: usize,
    pub(super) ny: usize,
    pub(super) lanes: usize,
    /// All that there are.
    pub(super) slices: usize,
}

/// A field along z, and how much its differences count.
pub(super) type Deep<F> = Option<(F, f32)>;

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
    /// [`Space::primal`]: crate::iterative::space::Space::primal
    pub(super) fn primal(
        &self,
        iteration: &Iteration,
        ([x, gradient, ahead], base): ([&mut [f32]; 3], Option<&[f32]>),
        ([fx, fy], depth): ([&[f32]; 2], Deep<&[f32]>),
        [steps, relaxed]: [&[f32]; 2],
        bounds: [f32; 2],
    ) {
        let (row, ny, lanes) = (self.row(), self.ny, self.lanes);
        let images =
            x.par_chunks_exact_mut(row).zip(gradient.par_chunks_exact_mut(row)).zip(ahead.par_chunks_exact_mut(row));
        let shifted = || vec![0.0; if depth.is_some() { row } else { 0 }];
        let zeros = vec![0.0; if base.is_some() { 0 } else { row }];
        images.enumerate().for_each_init(shifted, |before, (k, ((x, gradient), ahead))| {
            let base = base.map_or(&zeros[..], |base| &base[k * row..][..row]);
            let (group, i) = (k / ny, k % ny);
            if let Some((fz, scale)) = depth {
                self.row_before(fz, k, before);
                let (field, before) = (&fz[k * row..][..row], &before[..]);
                vectorised(self.level, Flow { gradient, field, before, scale });
            }
            let own = group * lanes..(group + 1) * lanes;
            let [steps, relaxed] = [&steps[own.clone()], &relaxed[own]].map(|v| along(v, row));
            let above = if i > 0 { &fy[(k - 1) * row..k * row] } else { &[] };
            let fields = [&fx[k * row..][..row], &fy[k * row..][..row], above];
            vectorised(
                self.level,
                PrimalRow { x, base, gradient, ahead, fields, lanes, steps: &steps, relaxed: &relaxed, bounds },
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
    /// [`Space::dual`]: crate::iterative::space::Space::dual
    pub(super) fn dual(
        &self,
        (ahead, base): (&[f32], Option<&[f32]>),
        ([fx, fy], depth): ([&mut [f32]; 2], Deep<&mut [f32]>),
        [steps, relaxed]: [&[f32]; 2],
        penalty: Penalty,
    ) {
        let (row, ny, lanes) = (self.row(), self.ny, self.lanes);
        let fields = fx.par_chunks_exact_mut(row).zip(fy.par_chunks_exact_mut(row));
        let zeros = vec![0.0; if base.is_some() { 0 } else { row }];
        let one =
            |k: usize, fx: &mut [f32], fy: &mut [f32], deep: Deep<&mut [f32]>, [after, base_after]: [&[f32]; 2]| {
                let own = k / ny * lanes..(k / ny + 1) * lanes;
                let [steps, relaxed] = [&steps[own.clone()], &relaxed[own]].map(|v| along(v, row));
                let base = match base {
                    Some(base) => self.near(base, k, base_after),
                    None => Near { here: &zeros, below: &zeros, after: &zeros },
                };
                let ahead = self.near(ahead, k, after);
                let row = DualRow { ahead, base, fx, fy, deep, lanes, steps: &steps, relaxed: &relaxed, penalty };
                vectorised(self.level, row);
            };
        let Some((fz, scale)) = depth else {
            return fields.enumerate().for_each(|(k, (fx, fy))| one(k, fx, fy, None, [&[]; 2]));
        };
        let all = fields.zip(fz.par_chunks_exact_mut(row)).enumerate();
        all.for_each_init(
            || [vec![0.0; row], vec![0.0; row]],
            |[after, base_after], (k, ((fx, fy), field))| {
                self.row_after(ahead, k, after);
                if let Some(base) = base {
                    self.row_after(base, k, base_after);
                }
                one(k, fx, fy, Some((field, scale)), [after, base_after]);
            },
        );
    }

    /// Row `k`, with that of the slices after these.
    fn near<'a>(&self, image: &'a [f32], k: usize, after: &'a [f32]) -> Near<'a> {
        let row = self.row();
        let here = &image[k * row..][..row];
        // The last row is its own next one.
        Near { here, below: if k % self.ny + 1 < self.ny { &image[(k + 1) * row..][..row] } else { here }, after }
    }

    /// A row of the slices before these; 0 before the first.
    fn row_before(&self, image: &[f32], k: usize, to: &mut [f32]) {
        let (row, lanes) = (self.row(), self.lanes);
        to[1..].copy_from_slice(&image[k * row..][..row - 1]);
        let first = to.iter_mut().step_by(lanes);
        match k.checked_sub(self.ny) {
            Some(group) => {
                let last = image[group * row..][..row].iter().skip(lanes - 1).step_by(lanes);
                first.zip(last).for_each(|(to, from)| *to = *from);
            }
            None => first.for_each(|to| *to = 0.0),
        }
    }

    /// A row of the slices after these; the last is its own next one.
    fn row_after(&self, image: &[f32], k: usize, to: &mut [f32]) {
        let (row, lanes) = (self.row(), self.lanes);
        let here = &image[k * row..][..row];
        to[..row - 1].copy_from_slice(&here[1..]);
        if (k / self.ny + 1) * lanes < self.slices {
            let next = image[(k + self.ny) * row..][..row].iter().step_by(lanes);
            to.iter_mut().skip(lanes - 1).step_by(lanes).zip(next).for_each(|(to, from)| *to = *from);
            return;
        }
        let last = (self.slices - 1) % lanes;
        for (to, here) in to.chunks_exact_mut(lanes).zip(here.chunks_exact(lanes)) {
            to[last..].copy_from_slice(&here[last..]);
        }
    }

    /// From an element of row `k` to that of the next slice, and of the one before.
    fn steps_along_z(&self, k: usize, lane: usize) -> [Option<isize>; 2] {
        let (lanes, slice) = (self.lanes, k / self.ny * self.lanes + lane);
        // From the last lane of a group to the first of the next.
        let far = (self.ny * self.row() + 1) as isize - lanes as isize;
        let after = if lane + 1 < lanes { 1 } else { far };
        let before = if lane > 0 { -1 } else { -far };
        [(slice + 1 < self.slices).then_some(after), (0 < slice && slice < self.slices).then_some(before)]
    }

    /// The five numbers of [`Bound`] for each lane.
    ///
    /// [`Bound`]: crate::iterative::space::Bound
    pub(super) fn bound(
        &self,
        iteration: &Iteration,
        ([x, back], base): ([&[f32]; 2], Option<&[f32]>),
        ([fx, fy], depth): ([&[f32]; 2], Deep<&[f32]>),
        pixels: &[f32],
        penalty: Penalty,
    ) -> Vec<[f64; 5]> {
        let (row, ny, lanes) = (self.row(), self.ny, self.lanes);
        let bounds = iteration.options.bounds.map(|b| b as f32);
        let (weight, huber) = (f64::from(penalty.weight), f64::from(penalty.huber));
        let whole = |e: usize| f64::from(x[e]) + base.map_or(0.0, |base| f64::from(base[e]));
        let one = |k: usize| {
            let i = k % ny;
            let back = &back[k * row..][..row];
            let field = |at: usize| {
                let fz = depth.map_or(0.0, |(fz, _)| fz[at]);
                limited([fx[at], fy[at], fz], penalty).map(f64::from)
            };
            let inside = iteration.mask.inside(i);
            let mut sums = vec![[0.0f64; 5]; lanes];
            for e in 0..row {
                let (j, sums) = (e / lanes, &mut sums[e % lanes]);
                let at = k * row + e;
                let here = whole(at);
                let (mut dz, mut from_before, mut scale) = (0.0, 0.0, 0.0);
                if let Some((_, counts)) = depth {
                    let [after, before] = self.steps_along_z(k, e % lanes);
                    scale = f64::from(counts);
                    dz = after.map_or(0.0, |step| scale * (whole(at.wrapping_add_signed(step)) - here));
                    from_before = before.map_or(0.0, |step| scale * field(at.wrapping_add_signed(step))[2]);
                }
                let dx = if j + 1 < self.nx { whole(at + lanes) - here } else { 0.0 };
                let dy = if i + 1 < ny { whole(at + row) - here } else { 0.0 };
                let [px, py, pz] = field(at);
                let length = (dx * dx + dy * dy + dz * dz).sqrt();
                let variation =
                    weight * if length < huber { length * length / (2.0 * huber) } else { length - 0.5 * huber };
                sums[0] += variation;
                let square = px * px + py * py + pz * pz;
                sums[1] += variation + 0.5 * huber / weight * square - dx * px - dy * py - dz * pz;
                if !inside.contains(&j) {
                    continue;
                }
                let left = if j > 0 { field(at - lanes)[0] } else { 0.0 };
                let up = if i > 0 { field(at - row)[1] } else { 0.0 };
                let v = left - px + up - py + (from_before - scale * pz) - f64::from(back[e]);
                let [above, below] = bounds.map(|bound| here - f64::from(bound));
                sums[2] += if bounds[1].is_finite() { (v * above).max(v * below) } else { v * above };
                let inverse = f64::from(pixels[i * self.nx + j]);
                if inverse > 0.0 {
                    sums[3] += above / inverse;
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
pub(super) fn limited([x, y, z]: [f32; 3], penalty: Penalty) -> [f32; 3] {
    // The length in units of the weight: squares of large numbers leave f32.
    let inverse = 1.0 / penalty.weight;
    let [u, v, w] = [x, y, z].map(|part| part * inverse);
    let length = (u * u + v * v + w * w).sqrt();
    let factor = if length > 1.0 { 1.0 / length } else { 1.0 };
    [factor * x, factor * y, factor * z]
}

/// What a row's gradient gets of the field along z: what flows in from the slices before, less what flows out.
struct Flow<'a> {
    gradient: &'a mut [f32],
    field: &'a [f32],
    before: &'a [f32],
    scale: f32,
}

impl Plain for Flow<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { gradient, field, before, scale } = self;
        let flows = field.iter().zip(before);
        gradient.iter_mut().zip(flows).for_each(|(g, (field, before))| *g += scale * (field - before));
    }
}

/// One row of [`Plane::primal`].
struct PrimalRow<'a> {
    x: &'a mut [f32],
    base: &'a [f32],
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
        let Self { x, base, gradient, ahead, fields: [fx, fy, above], lanes, steps, relaxed, bounds } = self;
        let n = x.len();
        // -D^T y: what flows in from the pixels before, less what flows out.
        let out = gradient.iter_mut().zip(fx.iter().zip(fy));
        out.for_each(|(g, (fx, fy))| *g += fx + fy);
        gradient[lanes.min(n)..].iter_mut().zip(fx).for_each(|(g, before)| *g -= before);
        gradient.iter_mut().zip(above).for_each(|(g, before)| *g -= before);
        let all = x.iter_mut().zip(base).zip(gradient).zip(ahead).zip(steps.iter().zip(relaxed));
        for ((((x, base), gradient), ahead), (step, relaxed)) in all {
            let next = (*x + step * *gradient).max(bounds[0] - base).min(bounds[1] - base);
            *ahead = 2.0 * next - *x;
            *gradient = next;
            let moved = *x + relaxed * (next - *x);
            *x = without_smallest(moved);
        }
    }
}

/// A row of an image, the next one, and that of the slices after.
#[derive(Clone, Copy)]
struct Near<'a> {
    here: &'a [f32],
    below: &'a [f32],
    after: &'a [f32],
}

/// One row of [`Plane::dual`].
struct DualRow<'a> {
    ahead: Near<'a>,
    base: Near<'a>,
    fx: &'a mut [f32],
    fy: &'a mut [f32],
    deep: Deep<&'a mut [f32]>,
    lanes: usize,
    steps: &'a [f32],
    relaxed: &'a [f32],
    penalty: Penalty,
}

impl Plain for DualRow<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { ahead, base, fx, fy, deep, lanes, steps, relaxed, penalty } = self;
        let Penalty { weight, huber } = penalty;
        let n = ahead.here.len();
        let whole = n - lanes.min(n);
        let step = |fx: &mut f32, fy: &mut f32, fz: &mut f32, [dx, dy, dz]: [f32; 3], step: f32, relaxed: f32| {
            let shrink = 1.0 / (1.0 + step * huber / weight);
            let moved = [*fx + step * dx, *fy + step * dy, *fz + step * dz];
            let [x, y, z] = limited(moved.map(|f| f * shrink), penalty);
            *fx += relaxed * (x - *fx);
            *fy += relaxed * (y - *fy);
            *fz += relaxed * (z - *fz);
        };
        // Those of the base on their own: next to a difference of it, one of what is added is not rounded away.
        let along_x = |e: usize| (base.here[e + lanes] - base.here[e]) + (ahead.here[e + lanes] - ahead.here[e]);
        let along_y = |e: usize| (base.below[e] - base.here[e]) + (ahead.below[e] - ahead.here[e]);
        match deep {
            None => {
                for e in 0..whole {
                    let d = [along_x(e), along_y(e), 0.0];
                    step(&mut fx[e], &mut fy[e], &mut 0.0, d, steps[e], relaxed[e]);
                }
                for e in whole..n {
                    let d = [0.0, along_y(e), 0.0];
                    step(&mut fx[e], &mut fy[e], &mut 0.0, d, steps[e], relaxed[e]);
                }
            }
            Some((field, scale)) => {
                let along_z = |e: usize| (base.after[e] - base.here[e]) + (ahead.after[e] - ahead.here[e]);
                for e in 0..whole {
                    let d = [along_x(e), along_y(e), scale * along_z(e)];
                    step(&mut fx[e], &mut fy[e], &mut field[e], d, steps[e], relaxed[e]);
                }
                for e in whole..n {
                    let d = [0.0, along_y(e), scale * along_z(e)];
                    step(&mut fx[e], &mut fy[e], &mut field[e], d, steps[e], relaxed[e]);
                }
            }
        }
    }
}
