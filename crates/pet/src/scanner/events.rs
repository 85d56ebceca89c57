//! Lists of events that name crystals and times.

use super::Scanner;
use super::face::Face;
use crate::bits::{centred, mix};
use crate::events::{BLOCK, Block, MOST_SETS, NO_SET, NOT_MEASURED, Source};
use isocenter_base::array::value::Value;
use isocenter_base::array::{Array, Layout};
use isocenter_base::error::{Result, fail};

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
pub(crate) fn check(
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
pub(crate) struct CrystalEvents<'a> {
    scanner: &'a Scanner,
    crystals: [Array<'a, 1>; 2],
    times: Array<'a, 1>,
    labels: Option<Array<'a, 1>>,
    first: u64,
    sets: u32,
}

impl<'a> CrystalEvents<'a> {
    /// Of so many sets of histo-images.
    pub(crate) fn new(scanner: &'a Scanner, arrays: &CrystalArrays<'a>, sets: usize) -> Result<Self> {
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
            sets: u32::try_from(sets).unwrap_or(MOST_SETS).min(MOST_SETS),
        })
    }
}

impl Source for CrystalEvents<'_> {
    fn len(&self) -> usize {
        self.times.shape()[0]
    }

    fn is_single(&self) -> bool {
        true
    }

    /// Anywhere on the faces, anywhere in the bin.
    #[inline(always)]
    fn read<P: Value>(&self, from: usize, block: &mut Block<P>) -> usize {
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
        let first = self.first.wrapping_add(from as u64);
        let mut bits = [0u32; BLOCK];
        for (i, bits) in bits.iter_mut().enumerate() {
            *bits = (first as u32).wrapping_add(i as u32);
        }
        // The upper half of an event's number changes once in a list at most.
        let upper = [mix((first >> 32) as u32), mix((first.wrapping_add(BLOCK as u64) >> 32) as u32)];
        for bits in &mut bits {
            *bits ^= upper[usize::from(*bits < first as u32)];
        }
        let mut parts = [[0.0f32; BLOCK]; 4];
        for (which, parts) in parts.iter_mut().enumerate() {
            for (part, bits) in parts.iter_mut().zip(&bits) {
                *part = centred(*bits, which as u32) as f32;
            }
        }
        let Block { positions: [x1, y1, z1, x2, y2, z2], time, .. } = block;
        for (end, to) in [[x1, y1, z1], [x2, y2, z2]].into_iter().enumerate() {
            let mut at = [[0.0f32; 4]; BLOCK];
            for (i, at) in at.iter_mut().enumerate() {
                let Face { centre, width, height } = &faces[index[end][i].min(count) as usize];
                // Twice the same crystal is twice the same place.
                let apart = f32::from(u8::from(index[0][i] != index[1][i]));
                let (u, v) = (parts[2 * end][i] * apart, parts[2 * end + 1][i] * apart);
                *at = std::array::from_fn(|d| centre[d] + u * width[d] + v * height[d]);
            }
            for (d, column) in to.into_iter().enumerate() {
                for (to, at) in column.iter_mut().zip(&at) {
                    *to = P::of_f32(at[d]);
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
                    time[i] = low + (centred(bits[i], 4) + 0.5) * width;
                }
            }
            _ => self.times.read_row([from], &mut time[..n]),
        }
        for i in 0..BLOCK {
            block.set[i] = if known[i] { set[i] } else { NO_SET };
        }
        if self.scanner.pairs.is_some() {
            for i in 0..n {
                if known[i] && self.scanner.pair(index[0][i] as usize, index[1][i] as usize) == 0.0 {
                    block.set[i] = NOT_MEASURED;
                }
            }
        }
        n
    }
}

#[cfg(test)]
#[path = "events_tests.rs"]
mod tests;
