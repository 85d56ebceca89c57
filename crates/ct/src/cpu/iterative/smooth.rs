//! Steps of rows that are smaller along smooth components, on rows `[group][view][bin][lane]`.

use super::resident::Kept;
use crate::cpu::groups::Lanes;
use crate::iterative::smooth::Smooth;
use isocenter_base::cpu::level::Level;
use isocenter_base::cpu::parallel::*;
use isocenter_base::cpu::simd::{Kernel, Real, Vector, dispatch};

/// How far rows go to others: `whole` of each lane, and of the components less by `less`, component after component of each lane.
pub(super) struct Part {
    whole: Vec<f32>,
    less: Vec<f32>,
}

impl Part {
    /// By each lane's step, and how much further it goes.
    pub(super) fn new(smooth: &Smooth, steps: &[[f64; 2]], lanes: usize) -> Self {
        let whole = steps.iter().map(|[step, relaxed]| (relaxed * step / (1.0 + step)) as f32).collect();
        let mut less = vec![0.0; steps.len() * smooth.len()];
        for (group, steps) in less.chunks_exact_mut(lanes * smooth.len()).zip(steps.chunks_exact(lanes)) {
            for (lane, [step, relaxed]) in steps.iter().enumerate() {
                let own = group[lane..].iter_mut().step_by(lanes);
                own.zip(smooth.less(*step)).for_each(|(to, less)| *to = (relaxed * less) as f32);
            }
        }
        Self { whole, less }
    }

    /// Parts of one slice that turn its rows into those that norms go by; there is no `by` then.
    pub(super) fn of_norms(smooth: &Smooth) -> Self {
        Self { whole: vec![0.0], less: smooth.less_of_small().map(|less| -less as f32).collect() }
    }
}

/// rows = rows + part (by - rows); `by` is 0 where there is none.
pub(super) fn approach(
    level: Level,
    (kept, smooth): (&Kept, &Smooth),
    (rows, by): (&mut [f32], Option<&[f32]>),
    part: &Part,
) {
    let (side, lanes, count) = (kept.side, kept.lanes, smooth.len());
    let (pad, floats, views) = (kept.row.pad * lanes, smooth.bins * lanes, kept.samples / kept.row.floats);
    let of_row = |apart: &mut Vec<f32>, (k, row): (usize, &mut [f32])| {
        let (group, row) = (k / views, &mut row[pad..][..floats]);
        let by = by.map(|by| &by[k * kept.row.floats + pad..][..floats]);
        let whole = &part.whole[group * lanes..][..lanes];
        let less = &part.less[group * lanes * count..][..lanes * count];
        apart.resize(floats, 0.0);
        dispatch(level, Row { row, by, apart, table: &smooth.table, side, whole, less });
    };
    rows.par_chunks_exact_mut(kept.row.floats).enumerate().for_each_init(Vec::new, of_row);
}

/// Components whose sums go on at a time.
const TOGETHER: usize = 4;

struct Row<'a> {
    row: &'a mut [f32],
    by: Option<&'a [f32]>,
    /// Difference of the two, which is written here; as long as the row.
    apart: &'a mut [f32],
    table: &'a [f32],
    side: Lanes,
    whole: &'a [f32],
    less: &'a [f32],
}

impl Kernel<f32> for Row<'_> {
    #[inline(always)]
    unsafe fn run<V: Vector<Element = f32>>(self) {
        let lanes = self.side.count();
        match self.by {
            Some(by) => self.apart.iter_mut().zip(by).zip(&*self.row).for_each(|((e, by), row)| *e = by - row),
            None => self.apart.iter_mut().zip(&*self.row).for_each(|(e, row)| *e = -row),
        }
        for (row, e) in self.row.chunks_exact_mut(lanes).zip(self.apart.chunks_exact(lanes)) {
            row.iter_mut().zip(e).zip(self.whole).for_each(|((row, e), whole)| *row += whole * e);
        }
        // SAFETY: the processor has the vectors' instructions, or those of narrower ones, and vectors fit the lanes.
        unsafe {
            match self.side {
                Lanes::Alone => self.along::<V>(),
                Lanes::Side(1) => self.beside::<V, true>(),
                Lanes::Side(lanes) if lanes % V::LANES == 0 => self.beside::<V, false>(),
                Lanes::Side(_) => narrow(self),
            }
        }
    }
}

/// Fewer lanes than the level's vectors have: AVX-512 includes AVX2, whose vectors fit.
#[inline(always)]
unsafe fn narrow(row: Row) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: by the caller's contract.
    unsafe {
        row.beside::<<f32 as Real>::Avx2, false>();
    }
    #[cfg(not(target_arch = "x86_64"))]
    // SAFETY: portable vectors need nothing.
    unsafe {
        row.beside::<<f32 as Real>::Portable, false>();
    }
}

impl Row<'_> {
    fn bins(&self) -> usize {
        self.row.len() / self.whole.len()
    }

    fn count(&self) -> usize {
        self.less.len() / self.whole.len()
    }

    /// Lanes side by side; `ONE` where it is one, rounded alike.
    #[inline(always)]
    unsafe fn beside<V: Vector<Element = f32>, const ONE: bool>(mut self) {
        let (lanes, whole) = (self.whole.len(), self.count() / TOGETHER * TOGETHER);
        for lane in (0..lanes).step_by(if ONE { 1 } else { V::LANES }) {
            // SAFETY: by the caller's contract; components and lanes are those that there are.
            unsafe {
                for j in (0..whole).step_by(TOGETHER) {
                    self.take_beside::<V, ONE, TOGETHER>(j, lane);
                }
                for j in whole..self.count() {
                    self.take_beside::<V, ONE, 1>(j, lane);
                }
            }
        }
    }

    #[inline(always)]
    unsafe fn take_beside<V: Vector<Element = f32>, const ONE: bool, const M: usize>(&mut self, j: usize, lane: usize) {
        let (lanes, bins) = (self.whole.len(), self.bins());
        // SAFETY: by the caller's contract: all places are within the slices.
        unsafe {
            let table = self.table.as_ptr().add(j * bins);
            let (apart, row) = (self.apart.as_ptr().add(lane), self.row.as_mut_ptr().add(lane));
            let mut sums = [V::splat(0.0); M];
            for k in 0..bins {
                let e = at::<V, ONE>(apart.add(k * lanes));
                for (m, sum) in sums.iter_mut().enumerate() {
                    *sum = e.fma(V::splat(*table.add(m * bins + k)), *sum);
                }
            }
            for (m, sum) in sums.iter_mut().enumerate() {
                *sum = sum.mul(at::<V, ONE>(self.less.as_ptr().add((j + m) * lanes + lane)));
            }
            for k in 0..bins {
                let to = row.add(k * lanes);
                let mut value = at::<V, ONE>(to);
                for (m, sum) in sums.iter().enumerate() {
                    value = sum.nfma(V::splat(*table.add(m * bins + k)), value);
                }
                if ONE {
                    *to = first(value);
                } else {
                    value.store(to);
                }
            }
        }
    }

    /// One slice, whose bins are side by side.
    #[inline(always)]
    unsafe fn along<V: Vector<Element = f32>>(mut self) {
        let whole = self.count() / TOGETHER * TOGETHER;
        // SAFETY: by the caller's contract; components are those that there are.
        unsafe {
            for j in (0..whole).step_by(TOGETHER) {
                self.take_along::<V, TOGETHER>(j);
            }
            for j in whole..self.count() {
                self.take_along::<V, 1>(j);
            }
        }
    }

    #[inline(always)]
    unsafe fn take_along<V: Vector<Element = f32>, const M: usize>(&mut self, j: usize) {
        let bins = self.bins();
        let (vectors, rest) = (bins / V::LANES * V::LANES, bins / V::LANES * V::LANES..bins);
        // SAFETY: by the caller's contract: all places are within the slices.
        unsafe {
            let table = self.table.as_ptr().add(j * bins);
            let (apart, row) = (self.apart.as_ptr(), self.row.as_mut_ptr());
            let mut sums = [V::splat(0.0); M];
            for k in (0..vectors).step_by(V::LANES) {
                let e = V::load(apart.add(k));
                for (m, sum) in sums.iter_mut().enumerate() {
                    *sum = e.fma(V::load(table.add(m * bins + k)), *sum);
                }
            }
            let mut by = [0.0f32; M];
            for (m, (by, sum)) in by.iter_mut().zip(sums).enumerate() {
                let mut parts = [0.0; MOST_LANES];
                sum.store(parts.as_mut_ptr());
                let last: f32 = rest.clone().map(|k| *apart.add(k) * *table.add(m * bins + k)).sum();
                *by = self.less[j + m] * (parts.iter().sum::<f32>() + last);
            }
            for k in (0..vectors).step_by(V::LANES) {
                let mut value = V::load(row.add(k));
                for (m, by) in by.iter().enumerate() {
                    value = V::splat(*by).nfma(V::load(table.add(m * bins + k)), value);
                }
                value.store(row.add(k));
            }
            for k in rest {
                for (m, by) in by.iter().enumerate() {
                    *row.add(k) -= by * *table.add(m * bins + k);
                }
            }
        }
    }
}

/// No vector has more.
const MOST_LANES: usize = 16;

/// The lanes from here on, or this one.
#[inline(always)]
unsafe fn at<V: Vector<Element = f32>, const ONE: bool>(p: *const f32) -> V {
    // SAFETY: by the caller's contract.
    unsafe { if ONE { V::splat(*p) } else { V::load(p) } }
}

/// Lane 0.
#[inline(always)]
unsafe fn first<V: Vector<Element = f32>>(v: V) -> f32 {
    let mut all = [0.0; MOST_LANES];
    // SAFETY: by the caller's contract; there is room for all lanes.
    unsafe { v.store(all.as_mut_ptr()) };
    all[0]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::iterative::resident::Row as Layout;
    use crate::geometry::Geometry;
    use crate::iterative::options::{Algorithm, Iterative};
    use isocenter_base::cpu::random::{OneByOne, Random};

    const VIEWS: usize = 45;
    /// No multiple of any vector.
    const BINS: usize = 83;
    const PAD: usize = 3;
    const STEPS: [[f64; 2]; 3] = [[0.05, 1.8], [2.0, 1.8], [0.4, 0.0]];

    fn smooth() -> Smooth {
        let g = Geometry::new((0..VIEWS).map(|v| v as f64 * 0.07).collect(), BINS);
        let smooth = Smooth::of(Algorithm::TotalVariation, &Iterative::default(), &g).expect("memory");
        smooth.expect("squares without weights have smooth components")
    }

    fn kept(side: Lanes, groups: usize) -> Kept {
        let (lanes, floats) = (side.count(), (PAD + BINS + PAD) * side.count());
        let row = Layout { floats, pad: PAD };
        let samples = VIEWS * floats;
        Kept { side, lanes, groups, pixels: 0, image: 0, row, samples, rows: groups * samples, packed: 0, chunk: 1 }
    }

    /// Random number of a bin.
    fn value(slice: usize, view: usize, bin: usize, which: u64) -> f32 {
        OneByOne::uniform(Random::new(which, 1, ((slice * VIEWS + view) * BINS + bin) as u64)).draw() as f32 - 0.3
    }

    fn filled(kept: &Kept, which: u64) -> Vec<f32> {
        let mut rows = vec![0.0; kept.rows];
        for slice in 0..kept.groups * kept.lanes {
            for (view, bin) in (0..VIEWS * BINS).map(|k| (k / BINS, k % BINS)) {
                rows[at(kept, slice, view, bin)] = value(slice, view, bin, which);
            }
        }
        rows
    }

    fn at(kept: &Kept, slice: usize, view: usize, bin: usize) -> usize {
        let (group, lane) = (slice / kept.lanes, slice % kept.lanes);
        group * kept.samples + view * kept.row.floats + (kept.row.pad + bin) * kept.lanes + lane
    }

    fn found(level: Level, smooth: &Smooth, side: Lanes) -> (Kept, Vec<f32>) {
        let kept = kept(side, if side.count() == 1 { 3 } else { 2 });
        let steps: Vec<[f64; 2]> = (0..kept.groups * kept.lanes).map(|slice| STEPS[slice % 3]).collect();
        let (mut rows, by) = (filled(&kept, 1), filled(&kept, 2));
        let part = Part::new(smooth, &steps, kept.lanes);
        approach(level, (&kept, smooth), (&mut rows, Some(&by)), &part);
        (kept, rows)
    }

    /// A step of rows in the metric of the components, in f64: each component on its own, and what is left of the row.
    fn expected(smooth: &Smooth, slice: usize, view: usize, [step, relaxed]: [f64; 2]) -> Vec<f64> {
        let from: Vec<f64> = (0..BINS).map(|bin| f64::from(value(slice, view, bin, 1))).collect();
        let apart: Vec<f64> = (0..BINS).map(|bin| f64::from(value(slice, view, bin, 2)) - from[bin]).collect();
        let (mut left, mut go) = (apart.clone(), vec![0.0; BINS]);
        for (j, part) in smooth.parts.iter().enumerate() {
            let norm = (if j == 0 { 1.0 } else { 2.0 } / BINS as f64).sqrt();
            let one = |k: usize| norm * (std::f64::consts::PI * j as f64 * (k as f64 + 0.5) / BINS as f64).cos();
            let along: f64 = (0..BINS).map(|k| one(k) * apart[k]).sum();
            for k in 0..BINS {
                left[k] -= along * one(k);
                go[k] += part * step / (1.0 + part * step) * along * one(k);
            }
        }
        (0..BINS).map(|k| from[k] + relaxed * (go[k] + step / (1.0 + step) * left[k])).collect()
    }

    /// Sums of 83 products in f32, of values of 1, are right to some 1e-6, and 7 components' parts of them are added.
    #[test]
    fn a_step_is_that_of_f64_at_every_level() {
        let smooth = smooth();
        assert!(smooth.len() == 7, "{} components", smooth.len());
        for level in Level::available() {
            for side in [Lanes::Alone, Lanes::Side(1), Lanes::Side(8), Lanes::Side(16), Lanes::Side(32)] {
                let (kept, rows) = found(level, &smooth, side);
                for (slice, view) in [(0, 0), (1, 7), (kept.groups * kept.lanes - 1, VIEWS - 1)] {
                    let right = expected(&smooth, slice, view, STEPS[slice % 3]);
                    for (bin, right) in right.iter().enumerate() {
                        let seen = f64::from(rows[at(&kept, slice, view, bin)]);
                        assert!(
                            (seen - right).abs() < 3e-6,
                            "{level:?}, {side:?}, slice {slice}: {seen} is not {right}"
                        );
                    }
                }
                assert!(rows[..PAD * kept.lanes].iter().all(|v| *v == 0.0), "{level:?}, {side:?}: padding");
            }
        }
    }

    #[test]
    fn a_slice_does_not_depend_on_those_beside_it() {
        let smooth = smooth();
        for level in Level::available() {
            let (one, of_one) = found(level, &smooth, Lanes::Side(1));
            for side in [8, 16, 32] {
                let (kept, rows) = found(level, &smooth, Lanes::Side(side));
                for (slice, view, bin) in
                    (0..3 * VIEWS * BINS).map(|k| (k / (VIEWS * BINS), k / BINS % VIEWS, k % BINS))
                {
                    let [a, b] = [of_one[at(&one, slice, view, bin)], rows[at(&kept, slice, view, bin)]];
                    assert!(a.to_bits() == b.to_bits(), "{level:?}, {side} lanes, slice {slice}: {a} and {b}");
                }
            }
        }
    }

    /// Rows that norms go by: each component has its part of what it was.
    #[test]
    fn components_count_less_in_norms() {
        let smooth = smooth();
        let kept = kept(Lanes::Alone, 1);
        for (j, part) in smooth.parts.iter().enumerate() {
            let mut rows = vec![0.0; kept.rows];
            rows[PAD..PAD + BINS].copy_from_slice(&smooth.table[j * BINS..(j + 1) * BINS]);
            approach(Level::detect(), (&kept, &smooth), (&mut rows, None), &Part::of_norms(&smooth));
            for (v, c) in rows[PAD..].iter().zip(&smooth.table[j * BINS..(j + 1) * BINS]) {
                assert!((f64::from(*v) - part * f64::from(*c)).abs() < 1e-6, "component {j}: {v} is not {part} {c}");
            }
        }
    }
}
