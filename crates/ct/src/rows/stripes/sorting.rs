//! A sinogram with each column in rising order of its values, and the way back (Vo, Atwood and Drakopoulos 2018, algorithm 3): then a
//! stripe is a line of equal ranks that neighbours do not share, whatever the object does.

use super::median::{LANES, along_bins};
use isocenter_base::cpu::buffer::{filled, zeros};
use isocenter_base::cpu::level::Level;
use isocenter_base::cpu::parallel::*;
use isocenter_base::cpu::shared::Shared;
use isocenter_base::cpu::simd::{Plain, vectorised};
use isocenter_base::error::Result;

/// Columns in rising order.
pub(super) struct Sorted {
    views: usize,
    bins: usize,
    /// From column to column: views, and no less than whole vectors.
    pub(super) pitch: usize,
    /// (bin, rank).
    pub(super) values: Vec<f32>,
    /// The view that each value is of.
    view: Vec<u32>,
}

impl Sorted {
    pub(super) fn new(views: usize, bins: usize) -> Result<Self> {
        let pitch = views.next_multiple_of(LANES);
        Ok(Self { views, bins, pitch, values: zeros(bins * pitch)?, view: zeros(bins * pitch)? })
    }

    /// What a task takes for the columns that it sorts, or puts back.
    pub(super) fn column_bytes(views: usize) -> u64 {
        (size_of::<u64>() * LANES * views) as u64
    }

    /// What it takes.
    pub(super) fn bytes(views: usize, bins: usize) -> u64 {
        8 * (bins * views.next_multiple_of(LANES)) as u64
    }

    /// Ranks of column `bin`.
    pub(super) fn column(&self, bin: usize) -> &[f32] {
        &self.values[bin * self.pitch..][..self.views]
    }

    /// Sorts the columns of a sinogram, (views, bins).
    pub(super) fn sort(&mut self, sinogram: &[f32]) -> Result<()> {
        let Self { views, bins, pitch, values, view } = self;
        let (views, bins, pitch) = (*views, *bins, *pitch);
        let groups = values.par_chunks_mut(LANES * pitch).zip(view.par_chunks_mut(LANES * pitch)).enumerate();
        groups.try_for_each_init(
            || zeros::<u64>(LANES * views),
            |keys, (group, (values, view))| {
                let keys = keys.as_mut().map_err(|e| e.clone())?;
                let first = group * LANES;
                let width = LANES.min(bins - first);
                for v in 0..views {
                    for (l, value) in sinogram[v * bins + first..][..width].iter().enumerate() {
                        keys[l * views + v] = u64::from(ordered(*value)) << 32 | v as u64;
                    }
                }
                for (l, keys) in keys.chunks_exact_mut(views).take(width).enumerate() {
                    keys.sort_unstable();
                    let at = l * pitch..l * pitch + views;
                    for ((k, value), view) in keys.iter().zip(&mut values[at.clone()]).zip(&mut view[at]) {
                        (*value, *view) = (of_ordered((k >> 32) as u32), *k as u32);
                    }
                }
                Ok(())
            },
        )
    }

    /// Medians over `window` columns at each rank, into `medians`, (bin, rank) like the values.
    pub(super) fn medians(&self, window: usize, level: Level, medians: &mut [f32]) -> Result<()> {
        let target = Shared::new(medians);
        (0..self.pitch / LANES).into_par_iter().try_for_each_init(
            || filled(window, [0.0; LANES]),
            |room, vector| {
                let room = room.as_mut().map_err(|e| e.clone())?;
                vectorised(level, Medians { sorted: self, first: vector * LANES, room, target });
                Ok(())
            },
        )
    }

    /// Puts values of (bin, rank) back to where those of their ranks came from.
    pub(super) fn put_back(&self, values: &[f32], sinogram: &mut [f32]) -> Result<()> {
        let (views, bins, pitch) = (self.views, self.bins, self.pitch);
        let target = Shared::new(sinogram);
        let groups = values.par_chunks(LANES * pitch).zip(self.view.par_chunks(LANES * pitch)).enumerate();
        groups.try_for_each_init(
            || zeros::<[f32; LANES]>(views),
            |rows, (group, (values, view))| {
                let rows = rows.as_mut().map_err(|e| e.clone())?;
                let first = group * LANES;
                let width = LANES.min(bins - first);
                for (l, (values, view)) in values.chunks_exact(pitch).zip(view.chunks_exact(pitch)).enumerate() {
                    values.iter().zip(view).take(views).for_each(|(value, v)| rows[*v as usize][l] = *value);
                }
                for (v, row) in rows.iter().enumerate() {
                    for (l, value) in row[..width].iter().enumerate() {
                        // SAFETY: this task alone has these columns.
                        unsafe { *target.at(v * bins + first + l) = *value };
                    }
                }
                Ok(())
            },
        )
    }
}

struct Medians<'a> {
    sorted: &'a Sorted,
    first: usize,
    room: &'a mut [[f32; LANES]],
    target: Shared<'a, f32>,
}

impl Plain for Medians<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { sorted, first, room, target } = self;
        let read = |bin: usize| std::array::from_fn(|l| sorted.values[bin * sorted.pitch + first..][..LANES][l]);
        along_bins(sorted.bins, room, read, |bin, median: [f32; LANES]| {
            for (l, m) in median.into_iter().enumerate() {
                // SAFETY: this task alone has these ranks.
                unsafe { *target.at(bin * sorted.pitch + first + l) = m };
            }
        });
    }
}

/// An integer that rises with the value.
fn ordered(value: f32) -> u32 {
    let bits = value.to_bits();
    if bits >> 31 == 0 { bits | 1 << 31 } else { !bits }
}

fn of_ordered(key: u32) -> f32 {
    f32::from_bits(if key >> 31 == 1 { key & !(1 << 31) } else { !key })
}
