//! Lists of events that name crystals and times.

use super::Scanner;
use super::crystals::Face;
use crate::array::{Array, Layout};
use crate::error::{Result, fail};
use crate::pet::events::{BLOCK, Block, NO_SET, Source};

/// Events to read.
#[derive(Clone, Copy, Debug)]
pub struct CrystalArrays<'a> {
    /// `[event][first, second]` crystals: unsigned integers.
    pub crystals: Array<'a, 2>,
    /// `[event]` time bins, unsigned integers; or the time of the second photon less that of the first, f32 or f64, in ps.
    pub times: Array<'a, 1>,
    /// `[event]` which set of histo-images it belongs to, unsigned integers; None: the first.
    pub labels: Option<Array<'a, 1>>,
    /// The number of the first of them: an event's place within crystals and time bin depends on its number alone.
    pub first: u64,
}

/// An error if the arrays are no list of the scanner's events.
pub(in crate::pet) fn check(
    scanner: &Scanner,
    crystals: &Layout<2>,
    times: &Layout<1>,
    labels: Option<&Layout<1>>,
) -> Result<()> {
    let count = times.shape[0];
    if crystals.shape != [count, 2] {
        fail!(TensorShape, "crystals has shape {:?}; times are of {count} events", crystals.shape);
    }
    if let Some(labels) = labels.filter(|l| l.shape != [count]) {
        fail!(TensorShape, "labels has shape {:?}; times are of {count} events", labels.shape);
    }
    for (name, layout) in [("crystals", Some(crystals.dtype)), ("labels", labels.map(|l| l.dtype))] {
        if let Some(dtype) = layout.filter(|d| !d.is_integer()) {
            fail!(TensorDtype, "{name} are {dtype:?}; they must be unsigned integers");
        }
    }
    if times.dtype.is_integer() && scanner.time_bins.is_none() {
        fail!(
            NotConfigured,
            "times are {:?}, bins; the scanner has no time bins: scanner.time_edges tells them, or times are F32 or F64, in ps",
            times.dtype
        );
    }
    Ok(())
}

/// A list that is read block by block.
#[derive(Clone, Copy, Debug)]
pub(in crate::pet) struct CrystalEvents<'a> {
    scanner: &'a Scanner,
    crystals: [Array<'a, 1>; 2],
    times: Array<'a, 1>,
    labels: Option<Array<'a, 1>>,
    first: u64,
    sets: u32,
}

impl<'a> CrystalEvents<'a> {
    /// Of so many sets of histo-images.
    pub(in crate::pet) fn new(scanner: &'a Scanner, arrays: &CrystalArrays<'a>, sets: usize) -> Result<Self> {
        let CrystalArrays { crystals, times, labels, first } = *arrays;
        let places = [
            ("crystals", crystals.layout().gpu),
            ("times", times.layout().gpu),
            ("labels", labels.as_ref().and_then(|l| l.layout().gpu)),
        ];
        if let Some((name, _)) = places.iter().find(|(_, gpu)| gpu.is_some()) {
            fail!(
                TensorDevice,
                "{name} is in a GPU's memory; with histo-images in host memory, events must be there, too"
            );
        }
        check(scanner, crystals.layout(), times.layout(), labels.as_ref().map(Array::layout))?;
        Ok(Self {
            scanner,
            crystals: [crystals.column(0), crystals.column(1)],
            times,
            labels,
            first,
            sets: u32::try_from(sets).unwrap_or(u32::MAX),
        })
    }
}

/// Bits that look as if they were drawn: C. Wellons' "lowbias32", one to one.
#[inline(always)]
fn mix(mut bits: u32) -> u32 {
    bits = (bits ^ (bits >> 16)).wrapping_mul(0x7feb_352d);
    bits = (bits ^ (bits >> 15)).wrapping_mul(0x846c_a68b);
    bits ^ (bits >> 16)
}

/// From -1/2 to 1/2, by an event's number; `which` of its five numbers.
#[inline(always)]
fn place(event: u64, which: u32) -> f64 {
    let bits = (event as u32 ^ mix((event >> 32) as u32)).wrapping_add(which.wrapping_mul(0x9e37_79b9));
    (f64::from((mix(bits) >> 1) as i32) + 0.5) * (1.0 / (1u32 << 31) as f64) - 0.5
}

impl Source for CrystalEvents<'_> {
    fn len(&self) -> usize {
        self.times.shape()[0]
    }

    /// Anywhere on the faces, anywhere in the bin.
    #[inline(always)]
    fn read(&self, from: usize, block: &mut Block) -> usize {
        let n = BLOCK.min(self.len() - from);
        let count = self.scanner.crystals.count() as u32;
        let faces = self.scanner.crystals.faces();
        let mut index = [[0u32; BLOCK]; 2];
        for (column, row) in self.crystals.iter().zip(&mut index) {
            column.read_counts([from], &mut row[..n]);
        }
        let mut set = [0u32; BLOCK];
        if let Some(labels) = &self.labels {
            labels.read_counts([from], &mut set[..n]);
        }
        let mut known = [true; BLOCK];
        for i in 0..BLOCK {
            known[i] = (index[0][i] < count) & (index[1][i] < count) & (set[i] < self.sets);
        }
        // Loops apart from each other: all but the look at the table is code for many events at a time.
        let mut parts = [[0.0; BLOCK]; 5];
        for (which, parts) in parts.iter_mut().enumerate() {
            for (i, part) in parts.iter_mut().enumerate() {
                *part = place(self.first.wrapping_add((from + i) as u64), which as u32);
            }
        }
        let [x1, y1, z1, x2, y2, z2, time] = &mut block.columns;
        for (end, to) in [[x1, y1, z1], [x2, y2, z2]].into_iter().enumerate() {
            let mut at = [[0.0f64; 4]; BLOCK];
            for (i, at) in at.iter_mut().enumerate() {
                let Face { centre, width, height } = &faces[index[end][i].min(count) as usize];
                // Twice the same crystal is twice the same place.
                let apart = f64::from(u8::from(index[0][i] != index[1][i]));
                let (u, v) = (parts[2 * end][i] * apart, parts[2 * end + 1][i] * apart);
                for (d, at) in at.iter_mut().enumerate() {
                    *at = f64::from(centre[d]) + u * f64::from(width[d]) + v * f64::from(height[d]);
                }
            }
            for (d, column) in to.into_iter().enumerate() {
                for (to, at) in column.iter_mut().zip(&at) {
                    *to = at[d];
                }
            }
        }
        match &self.scanner.time_bins {
            Some(bins) if self.times.dtype().is_integer() => {
                let mut bin = [0u32; BLOCK];
                self.times.read_counts([from], &mut bin[..n]);
                let (count, bins) = (bins.count() as u32, bins.bins());
                for i in 0..BLOCK {
                    known[i] &= bin[i] < count;
                    let [low, width] = bins[bin[i].min(count) as usize];
                    time[i] = low + (parts[4][i] + 0.5) * width;
                }
            }
            _ => self.times.read_row([from], &mut time[..n]),
        }
        for i in 0..BLOCK {
            block.set[i] = if known[i] { set[i] } else { NO_SET };
        }
        n
    }
}

#[cfg(test)]
#[path = "events_tests.rs"]
mod tests;
