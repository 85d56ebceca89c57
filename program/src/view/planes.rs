//! Planes of a volume across one of its axes: those values alone that are shown.

use crate::frames::Source;
use crate::memory::zeros;
use anyhow::{Result, ensure};
use rayon::prelude::*;
use std::ops::Range;

/// Every so many places of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Places {
    pub first: usize,
    pub count: usize,
    pub step: usize,
}

impl Places {
    /// Of all places of an axis.
    pub fn each(all: usize, step: usize) -> Self {
        Self { first: 0, count: all.div_ceil(step), step }
    }

    fn list(self) -> Vec<usize> {
        (0..self.count).map(|k| self.first + k * self.step).collect()
    }

    /// From the first to the last.
    fn span(self) -> Range<usize> {
        self.first..self.first + (self.count - 1) * self.step + 1
    }

    fn check(self, name: &str, all: usize) -> Result<()> {
        let last = (self.count.checked_sub(1)).and_then(|n| n.checked_mul(self.step)?.checked_add(self.first));
        ensure!(
            self.step > 0 && last.is_some_and(|last| last < all),
            "{name}: {} from {} on, each {}, of {all}",
            self.count,
            self.first,
            self.step
        );
        Ok(())
    }
}

/// Values of a plane, at most: of 4096 x 4096.
const MOST: usize = 1 << 24;

/// A plane across z, y or x (0, 1, 2), and the places in it along the other two, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plane {
    pub across: usize,
    pub at: usize,
    pub places: [Places; 2],
}

impl Plane {
    /// The axes in it.
    pub fn axes(across: usize) -> [usize; 2] {
        [[1, 2], [0, 2], [0, 1]][across]
    }

    /// That a volume has it.
    pub fn check(&self, shape: [usize; 3]) -> Result<()> {
        let names = ["z", "y", "x"];
        ensure!(self.across < 3, "a volume has three axes");
        let own = names[self.across];
        ensure!(self.at < shape[self.across], "{own}: there is no {} of {}", self.at, shape[self.across]);
        for (places, axis) in self.places.iter().zip(Self::axes(self.across)) {
            places.check(names[axis], shape[axis])?;
        }
        let [down, along] = self.places;
        let count = down.count.checked_mul(along.count).filter(|count| *count <= MOST);
        ensure!(count.is_some(), "a plane of {} x {} values is too large", down.count, along.count);
        Ok(())
    }

    /// Its values as they are stored.
    pub fn read(&self, source: &dyn Source) -> Result<Vec<u8>> {
        self.check(source.shape())?;
        let [down, along] = self.places;
        match self.across {
            0 => rows(source, self.at, down, along),
            1 => {
                let span = along.span();
                let mut part = zeros(down.count * span.len() * source.dtype().size())?;
                source.read_bins(&down.list(), self.at..self.at + 1, span, &mut part)?;
                thinned(&part, along, source.dtype().size())
            }
            _ => columns(source, self.at, down, along),
        }
    }
}

/// Rows of a slice: row by row where others lie between, unless the slice is decoded as a whole.
fn rows(source: &dyn Source, slice: usize, down: Places, along: Places) -> Result<Vec<u8>> {
    let (span, size) = (along.span(), source.dtype().size());
    let row = span.len() * size;
    let mut part = zeros(down.count * row)?;
    if down.step == 1 {
        source.read_bins(&[slice], down.span(), span, &mut part)?;
    } else if source.together().is_some() {
        let mut whole = zeros(down.span().len() * row)?;
        source.read_bins(&[slice], down.span(), span, &mut whole)?;
        let wanted = whole.chunks_exact(row).step_by(down.step);
        part.chunks_exact_mut(row).zip(wanted).for_each(|(to, from)| to.copy_from_slice(from));
    } else {
        let read = |(k, to): (usize, &mut [u8])| {
            let row = down.first + k * down.step;
            source.read_bins(&[slice], row..row + 1, span.clone(), to)
        };
        part.par_chunks_exact_mut(row).enumerate().try_for_each(read)?;
    }
    thinned(&part, along, size)
}

/// One column of some slices.
fn columns(source: &dyn Source, column: usize, down: Places, along: Places) -> Result<Vec<u8>> {
    let size = source.dtype().size();
    let each = along.count * size;
    let mut part = zeros(down.count * each)?;
    let column = column..column + 1;
    if along.step == 1 || source.together().is_some() {
        let mut whole = zeros(down.count * along.span().len() * size)?;
        source.read_bins(&down.list(), along.span(), column, &mut whole)?;
        return thinned(&whole, along, size);
    }
    let read = |(k, to): (usize, &mut [u8])| {
        let slice = down.first + k * down.step;
        let mut places = to.chunks_exact_mut(size).zip(along.list());
        places.try_for_each(|(to, row)| source.read_bins(&[slice], row..row + 1, column.clone(), to))
    };
    part.par_chunks_exact_mut(each).enumerate().try_for_each(read)?;
    Ok(part)
}

/// Those of rows that have all values from the first place to the last.
fn thinned(rows: &[u8], along: Places, size: usize) -> Result<Vec<u8>> {
    let span = along.span().len();
    let mut kept = zeros(rows.len() / (span * size) * along.count * size)?;
    for (to, row) in kept.chunks_exact_mut(along.count * size).zip(rows.chunks_exact(span * size)) {
        let wanted = row.chunks_exact(size).step_by(along.step);
        to.chunks_exact_mut(size).zip(wanted).for_each(|(to, from)| to.copy_from_slice(from));
    }
    Ok(kept)
}
