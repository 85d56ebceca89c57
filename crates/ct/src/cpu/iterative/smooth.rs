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

    /// Of one slice, what turns its rows into those that norms go by: `by` is none then.
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
    /// As long as the row; overwritten.
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
                for m in 0..M {
                    sums[m] = e.fma(V::splat(*table.add(m * bins + k)), sums[m]);
                }
            }
            for m in 0..M {
                sums[m] = sums[m].mul(at::<V, ONE>(self.less.as_ptr().add((j + m) * lanes + lane)));
            }
            for k in 0..bins {
                let to = row.add(k * lanes);
                let mut value = at::<V, ONE>(to);
                for m in 0..M {
                    value = sums[m].nfma(V::splat(*table.add(m * bins + k)), value);
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
                for m in 0..M {
                    sums[m] = e.fma(V::load(table.add(m * bins + k)), sums[m]);
                }
            }
            let mut by = [0.0f32; M];
            for m in 0..M {
                let mut parts = [0.0; MOST_LANES];
                sums[m].store(parts.as_mut_ptr());
                let last: f32 = rest.clone().map(|k| *apart.add(k) * *table.add(m * bins + k)).sum();
                by[m] = self.less[j + m] * (parts.iter().sum::<f32>() + last);
            }
            for k in (0..vectors).step_by(V::LANES) {
                let mut value = V::load(row.add(k));
                for m in 0..M {
                    value = V::splat(by[m]).nfma(V::load(table.add(m * bins + k)), value);
                }
                value.store(row.add(k));
            }
            for k in rest {
                for m in 0..M {
                    *row.add(k) -= by[m] * *table.add(m * bins + k);
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
