//! Fields are moved so that less of v = D^T y - back is below 0: projected gradient of the sum of squares of what is, a pixel's field at a time, in the
//! order of three colours, so that no two that are moved at a time share a pixel; tile by tile, whose neighbours stay.

use super::variation::{Plane, limited};
use crate::iterative::space::Penalty;
use crate::iterative::variation::polish::{COLOURS, STEP, SWEEPS, TILE};
use crate::output::mask::Mask;
use isocenter_base::cpu::parallel::*;
use isocenter_base::cpu::shared::Shared;
use isocenter_base::cpu::simd::{Plain, vectorised};
use std::ops::Range;

impl Plane {
    /// See [`Space::polish`].
    ///
    /// [`Space::polish`]: crate::iterative::space::Space::polish
    pub(super) fn polish(&self, mask: &Mask, back: &[f32], [fx, fy]: [&mut [f32]; 2], penalty: Penalty) {
        let (nx, ny, lanes) = (self.nx, self.ny, self.lanes);
        let fields = fx.par_chunks_exact_mut(self.row()).zip(fy.par_chunks_exact_mut(self.row()));
        fields.for_each(|(fx, fy)| vectorised(self.level, Limit { fx, fy, penalty }));
        let groups = back.len() / (self.row() * ny);
        let fields = [Shared::new(fx), Shared::new(fy)];
        for odd in [[0, 0], [0, 1], [1, 0], [1, 1]] {
            // Tiles of a parity are apart: each alone writes its own, and reads the edges of others, which stay.
            let tiles = |n: usize, odd: usize| (n.div_ceil(TILE) + 1 - odd) / 2;
            let [down, across] = [tiles(ny, odd[0]), tiles(nx, odd[1])];
            let span = |k: usize, odd: usize, n: usize| (2 * k + odd) * TILE..((2 * k + odd + 1) * TILE).min(n);
            (0..groups * down * across).into_par_iter().for_each(|k| {
                let tile = Tile {
                    mask,
                    back,
                    fields,
                    penalty,
                    group: k / (down * across),
                    rows: span(k / across % down, odd[0], ny),
                    columns: span(k % across, odd[1], nx),
                    size: [ny, nx],
                };
                match lanes {
                    1 => vectorised(self.level, Lanes::<1>(tile)),
                    8 => vectorised(self.level, Lanes::<8>(tile)),
                    16 => vectorised(self.level, Lanes::<16>(tile)),
                    32 => vectorised(self.level, Lanes::<32>(tile)),
                    n => unreachable!("{n} lanes"),
                }
            });
        }
    }
}

/// Makes a row's fields no longer than the weight.
struct Limit<'a> {
    fx: &'a mut [f32],
    fy: &'a mut [f32],
    penalty: Penalty,
}

impl Plain for Limit<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (x, y) in self.fx.iter_mut().zip(self.fy) {
            [*x, *y, _] = limited([*x, *y, 0.0], self.penalty);
        }
    }
}

struct Tile<'a> {
    mask: &'a Mask,
    back: &'a [f32],
    fields: [Shared<'a, f32>; 2],
    penalty: Penalty,
    group: usize,
    rows: Range<usize>,
    columns: Range<usize>,
    size: [usize; 2],
}

struct Lanes<'a, const L: usize>(Tile<'a>);

impl<const L: usize> Plain for Lanes<'_, L> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self(tile) = self;
        for _ in 0..SWEEPS {
            for colour in 0..COLOURS {
                for i in tile.rows.clone() {
                    let first = (COLOURS + colour - (tile.columns.start + 2 * i) % COLOURS) % COLOURS;
                    for j in (tile.columns.start + first..tile.columns.end).step_by(COLOURS) {
                        tile.step::<L>(i, j);
                    }
                }
            }
        }
    }
}

impl Tile<'_> {
    #[inline(always)]
    fn at<const L: usize>(&self, i: usize, j: usize) -> usize {
        ((self.group * self.size[0] + i) * self.size[1] + j) * L
    }

    #[inline(always)]
    fn field<const L: usize>(&self, which: usize, i: usize, j: usize) -> [f32; L] {
        // SAFETY: the lanes of a pixel, of this tile or of those beside it, which nobody writes to now.
        unsafe { self.fields[which].at(self.at::<L>(i, j)).cast::<[f32; L]>().read() }
    }

    /// What of v is below 0; 0 outside the mask.
    #[inline(always)]
    fn below<const L: usize>(&self, i: usize, j: usize) -> [f32; L] {
        if !self.mask.inside(i).contains(&j) {
            return [0.0; L];
        }
        let (x, y) = (self.field::<L>(0, i, j), self.field::<L>(1, i, j));
        let left = if j > 0 { self.field::<L>(0, i, j - 1) } else { [0.0; L] };
        let up = if i > 0 { self.field::<L>(1, i - 1, j) } else { [0.0; L] };
        let back = &self.back[self.at::<L>(i, j)..][..L];
        std::array::from_fn(|l| (left[l] - x[l] + (up[l] - y[l]) - back[l]).min(0.0))
    }

    /// One pixel's.
    #[inline(always)]
    fn step<const L: usize>(&self, i: usize, j: usize) {
        let [ny, nx] = self.size;
        let here = self.below::<L>(i, j);
        let right = if j + 1 < nx { self.below::<L>(i, j + 1) } else { here };
        let down = if i + 1 < ny { self.below::<L>(i + 1, j) } else { here };
        let (mut x, mut y) = (self.field::<L>(0, i, j), self.field::<L>(1, i, j));
        for l in 0..L {
            let moved = [x[l] - STEP * (right[l] - here[l]), y[l] - STEP * (down[l] - here[l]), 0.0];
            [x[l], y[l], _] = limited(moved, self.penalty);
        }
        let at = self.at::<L>(i, j);
        // SAFETY: this task alone has the tile.
        unsafe {
            self.fields[0].at(at).cast::<[f32; L]>().write(x);
            self.fields[1].at(at).cast::<[f32; L]>().write(y);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::Geometry;
    use isocenter_base::cpu::level::Level;
    use isocenter_base::cpu::random::{OneByOne, Random};

    /// More than two tiles each way, and not whole ones.
    const SIZE: [usize; 2] = [75, 90];
    const PENALTY: Penalty = Penalty { weight: 0.7, huber: 0.0 };

    fn random(kind: u32, n: usize) -> Vec<f32> {
        let mut random = OneByOne::uniform(Random::new(5, kind, 0));
        (0..n).map(|_| 2.0 * random.draw() as f32 - 1.0).collect()
    }

    /// D^T y - back, 0 outside the mask, in f64.
    fn slopes(mask: &Mask, back: &[f32], [fx, fy]: [&[f32]; 2]) -> Vec<f64> {
        let [ny, nx] = SIZE;
        let of = |field: &[f32], i: usize, j: usize| f64::from(field[i * nx + j]);
        let one = |(i, j): (usize, usize)| {
            let left = if j > 0 { of(fx, i, j - 1) } else { 0.0 };
            let up = if i > 0 { of(fy, i - 1, j) } else { 0.0 };
            let v = left - of(fx, i, j) + up - of(fy, i, j) - of(back, i, j);
            if mask.inside(i).contains(&j) { v } else { 0.0 }
        };
        (0..ny * nx).map(|k| one((k / nx, k % nx))).collect()
    }

    fn below(slopes: &[f64]) -> f64 {
        slopes.iter().map(|v| v.min(0.0).powi(2)).sum()
    }

    /// -A^T q of random fields y in the place of D^T y, but for a little: fields come back to where nothing but that is below 0.
    fn case(mask: &Mask) -> (Vec<f32>, [Vec<f32>; 2]) {
        let n = SIZE[0] * SIZE[1];
        let mut fields = [random(1, n), random(2, n)].map(|f| f.iter().map(|v| 0.3 * v).collect::<Vec<_>>());
        (0..n).filter(|k| k % SIZE[1] + 1 == SIZE[1]).for_each(|k| fields[0][k] = 0.0);
        (0..n).filter(|k| k / SIZE[1] + 1 == SIZE[0]).for_each(|k| fields[1][k] = 0.0);
        let back = slopes(mask, &vec![0.0; n], [&fields[0], &fields[1]]);
        let back = back.iter().zip(random(3, n)).map(|(v, r)| *v as f32 + 0.01 * r).collect();
        let away = random(4, n);
        let moved =
            fields.map(|f| f.iter().zip(&away).map(|(f, r)| if *f == 0.0 { 0.0 } else { f + 0.2 * r }).collect());
        (back, moved)
    }

    #[test]
    fn less_is_below_zero_and_no_field_too_long() {
        let g = Geometry { ny: SIZE[0], nx: SIZE[1], ..Geometry::new(vec![0.0], 90) };
        for radius in [0.0, 0.9] {
            let mask = Mask::new(&g, radius, "mask_radius").expect("a mask");
            let (back, fields) = case(&mask);
            let before = below(&slopes(&mask, &back, [&fields[0], &fields[1]]));
            for level in Level::available() {
                let mut of_one = None;
                for lanes in [1, 8, 16, 32] {
                    let spread =
                        |v: &[f32]| -> Vec<f32> { v.iter().flat_map(|v| std::iter::repeat_n(*v, lanes)).collect() };
                    let [mut fx, mut fy] = [spread(&fields[0]), spread(&fields[1])];
                    let plane = Plane { level, nx: SIZE[1], ny: SIZE[0], lanes, slices: lanes };
                    plane.polish(&mask, &spread(&back), [&mut fx, &mut fy], PENALTY);
                    let lane = |v: &[f32]| -> Vec<f32> { v.iter().skip(lanes - 1).step_by(lanes).copied().collect() };
                    let [x, y] = [lane(&fx), lane(&fy)];
                    let longest = x.iter().zip(&y).map(|(x, y)| x.hypot(*y)).fold(0.0, f32::max);
                    // Rounding of a length.
                    assert!(longest <= PENALTY.weight * (1.0 + 1e-6), "{level:?}, {lanes} lanes: a field of {longest}");
                    let after = below(&slopes(&mask, &back, [&x, &y]));
                    // By 30 times at the least, in 8 sweeps.
                    assert!(after < before / 30.0, "{level:?}, {lanes} lanes: {before} became {after}");
                    let same = of_one.get_or_insert_with(|| (x.clone(), y.clone()));
                    assert!(*same == (x, y), "{level:?}, {lanes} lanes: other bits than of one");
                }
            }
        }
    }
}
