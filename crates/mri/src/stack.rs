//! Stacks: samples in planes of constant kz on a regular grid, so that sums are a transform along z and sums in planes.

use super::trajectory::Trajectory;
use isocenter_base::cpu::buffer::{append, collected, copied, zeros};
use isocenter_base::error::Result;
use std::collections::HashMap;
use std::f64::consts::PI;
use std::ops::{Range, RangeInclusive};

/// Of the tolerance, for moving samples along z onto the grid, and in planes onto those of another plane.
const SHARES: [f64; 2] = [0.5, 0.1];

/// The planes of a trajectory.
#[derive(Debug)]
pub(super) struct Stack {
    grid: [usize; 3],
    depth: Depth,
    /// Where positions begin.
    first_bin: usize,
    planes: Vec<Plane>,
    /// The caller's samples, plane by plane.
    order: Vec<u32>,
    /// What is left of it for sums in planes.
    tolerance: f64,
}

/// Of kz: bin b of a transform along z has (b + offset) / length cycles per voxel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Depth {
    /// Of the transform, which is at least as long as the image is deep.
    pub(super) length: usize,
    pub(super) offset: f64,
    /// How far samples are from their bins, in bins, at most.
    moved: f64,
}

/// Samples of one bin.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Plane {
    /// Bins behind the stack's first, cyclically.
    pub(super) position: usize,
    /// Planes of a pattern have their samples at the same places, in the same order.
    pub(super) pattern: usize,
    /// Their places in [`Stack::order`].
    pub(super) samples: Range<usize>,
}

impl Stack {
    /// Of samples for an image; None where they form no stack, or one that does not pay. `takes`: whether there is a transform of a length.
    ///
    /// Errors are independent of those of sums in planes, which get what is left of the tolerance. A sample that is moved by d along z
    /// changes terms of voxel z by 2 pi d z, in the mean over n voxels by 2 pi d n / sqrt(12). kz that was rounded to f32 is off by up to
    /// 2^-26, so by 2.7e-8 n: a half of 1e-5 for 185 voxels.
    pub(super) fn find(
        trajectory: &Trajectory,
        grid: [usize; 3],
        tolerance: f64,
        takes: impl Fn(usize) -> bool,
    ) -> Result<Option<Self>> {
        let [nz, ny, nx] = grid;
        if nz == 1 || u32::try_from(trajectory.samples()).is_err() {
            return Ok(None);
        }
        let change = |moved: f64| 2.0 * PI * moved * nz as f64 / 12f64.sqrt();
        let slack = SHARES[0] * tolerance / change(1.0);
        // A spacing of 1 / nz or more has a multiple of its own length from nz to 2 nz; finer ones, of up to twice as many planes as an image
        // needs, have their own, and a little is for planes that are a little denser than that.
        let lengths = nz..=2 * nz + nz.div_ceil(4);
        // A plane's values may be in two parts.
        let most = 2 * lengths.end();
        if let Some(some) = trajectory.glance()?
            && levels(&some, slack, most).is_none()
        {
            return Ok(None);
        }
        let [x, y, kz] = trajectory.axes()?;
        let Some(levels) = levels(kz, slack, most) else { return Ok(None) };
        let Some(depth) = Depth::find(&levels, lengths, slack, takes) else { return Ok(None) };
        let mut counts: Vec<usize> = zeros(depth.length)?;
        kz.iter().for_each(|k| counts[depth.bin(*k)] += 1);
        if !pays(counts.iter().filter(|n| **n > 0).count(), kz.len(), grid) {
            return Ok(None);
        }
        let first_bin = first_bin(&counts);
        let (mut order, begins) = sorted(kz, depth, counts, first_bin)?;
        let near = Near { axes: [x, y], sides: [nx as f64, ny as f64], change: SHARES[1] * tolerance };
        let mut firsts: Vec<Range<usize>> = Vec::new();
        let mut planes = Vec::new();
        for position in 0..depth.length {
            let samples = begins[position]..begins[position + 1];
            if samples.is_empty() {
                continue;
            }
            let own = &order[samples.clone()];
            let known = firsts.iter().position(|first| near.are_same(&order[first.clone()], own));
            let pattern = known.unwrap_or(firsts.len());
            if known.is_none() {
                append(&mut firsts, samples.clone())?;
            }
            append(&mut planes, Plane { position, pattern, samples })?;
        }
        if firsts.len() > 1 {
            planes.sort_by_key(|p| p.pattern);
            let by_position = copied(&order)?;
            let mut next = 0;
            for plane in &mut planes {
                let samples = next..next + plane.samples.len();
                order[samples.clone()].copy_from_slice(&by_position[plane.samples.clone()]);
                next = samples.end;
                plane.samples = samples;
            }
        }
        let spent = [change(depth.moved / depth.length as f64) / tolerance, SHARES[1]];
        let left = 1.0 - spent.iter().map(|s| s * s).sum::<f64>();
        Ok(Some(Self { grid, depth, first_bin, planes, order, tolerance: tolerance * left.sqrt() }))
    }

    pub(super) fn grid(&self) -> [usize; 3] {
        self.grid
    }

    pub(super) fn depth(&self) -> Depth {
        self.depth
    }

    /// Bins from the first plane to the last, cyclically.
    pub(super) fn span(&self) -> (usize, usize) {
        (self.first_bin, self.planes.iter().map(|p| p.position + 1).max().unwrap_or(0))
    }

    pub(super) fn bin(&self, plane: &Plane) -> usize {
        (self.first_bin + plane.position) % self.depth.length
    }

    /// Planes that have samples: those of a pattern together, by their positions.
    pub(super) fn planes(&self) -> &[Plane] {
        &self.planes
    }

    /// The planes of each pattern.
    pub(super) fn patterns(&self) -> impl Iterator<Item = &[Plane]> {
        self.planes.chunk_by(|a, b| a.pattern == b.pattern)
    }

    /// The caller's samples, plane by plane.
    pub(super) fn order(&self) -> &[u32] {
        &self.order
    }

    /// Of sums in planes.
    pub(super) fn tolerance(&self) -> f64 {
        self.tolerance
    }

    /// The axes x, y of the samples of a plane.
    pub(super) fn points(&self, plane: &Plane, trajectory: &Trajectory) -> Result<[Vec<f64>; 2]> {
        let [x, y, _] = trajectory.axes()?;
        let of = |axis: &[f64]| collected(self.order[plane.samples.clone()].iter().map(|m| axis[*m as usize]));
        Ok([of(x)?, of(y)?])
    }
}

impl Depth {
    /// The shortest transform that has a bin within `slack` cycles per voxel of every kz.
    fn find(
        levels: &[[f64; 2]],
        lengths: RangeInclusive<usize>,
        slack: f64,
        takes: impl Fn(usize) -> bool,
    ) -> Option<Self> {
        lengths.filter(|n| takes(*n)).find_map(|length| Self::of_length(levels, length, slack))
    }

    fn of_length(levels: &[[f64; 2]], length: usize, slack: f64) -> Option<Self> {
        let slack = slack * length as f64;
        let first = levels.first()?[0] * length as f64;
        // Beside the first one's bin and its like.
        let [mut low, mut high] = [0.0f64; 2];
        for k in levels.iter().flatten() {
            let bins = k * length as f64 - first;
            let beside = bins - bins.round();
            (low, high) = (low.min(beside), high.max(beside));
            if high - low > 2.0 * slack {
                return None;
            }
        }
        let middle = first + 0.5 * (low + high);
        let (offset, half) = (middle - middle.round(), 0.5 * (high - low));
        // Without an offset sums have less to do.
        let whole = offset.abs() + half;
        Some(if whole <= slack {
            Self { length, offset: 0.0, moved: whole }
        } else {
            Self { length, offset, moved: half }
        })
    }

    fn bin(&self, kz: f64) -> usize {
        let bin = (kz * self.length as f64 - self.offset).round();
        (bin as i64).rem_euclid(self.length as i64) as usize
    }

    /// Where voxel j of n stands in the transform, and the phase that the offset gives it there, in turns.
    pub(super) fn place(&self, j: usize, n: usize) -> (usize, f64) {
        let z = j as i64 - (n / 2) as i64;
        (z.rem_euclid(self.length as i64) as usize, self.offset * z as f64 / self.length as f64)
    }
}

/// The lowest and the highest kz of each part of the axis, `width` long, that has one; None if there are more than `most`.
fn levels(kz: &[f64], width: f64, most: usize) -> Option<Vec<[f64; 2]>> {
    let mut levels: HashMap<i64, [f64; 2]> = HashMap::new();
    let mut last = f64::NAN;
    // Neighbours are in the same plane as a rule.
    for &k in kz.iter().filter(|k| **k != std::mem::replace(&mut last, **k)) {
        let [low, high] = levels.entry((k / width).round() as i64).or_insert([k; 2]);
        (*low, *high) = (low.min(k), high.max(k));
        if levels.len() > most {
            return None;
        }
    }
    // In an order that does not depend on the map's.
    let mut levels: Vec<_> = levels.into_values().collect();
    levels.sort_by(|a, b| a[0].total_cmp(&b[0]));
    Some(levels)
}

/// The bin behind the longest gap between bins that have samples. Of several gaps that is the one at the highest kz, if it is one of them: so
/// planes in the order of their kz are in the order of their positions.
fn first_bin(counts: &[usize]) -> usize {
    let (length, lowest) = (counts.len(), counts.len().div_ceil(2));
    let used = || (lowest..length + lowest).filter(|b| counts[b % length] > 0);
    let Some(lowest) = used().next() else { return 0 };
    let next = used().skip(1).chain([lowest + length]);
    used().zip(next).max_by_key(|(bin, next)| next - bin).map_or(0, |(_, next)| next % length)
}

/// Samples by their positions, in the caller's order within each, and where each position's begin.
fn sorted(kz: &[f64], depth: Depth, mut counts: Vec<usize>, first_bin: usize) -> Result<(Vec<u32>, Vec<usize>)> {
    counts.rotate_left(first_bin);
    let mut begins: Vec<usize> = zeros(depth.length + 1)?;
    (0..depth.length).for_each(|p| begins[p + 1] = begins[p] + counts[p]);
    let (mut samples, mut next) = (zeros(kz.len())?, copied(&begins)?);
    for (m, k) in (0..).zip(kz) {
        let next = &mut next[(depth.bin(*k) + depth.length - first_bin) % depth.length];
        samples[*next] = m;
        *next += 1;
    }
    Ok((samples, begins))
}

/// Whether so many planes are faster than a transform in three dimensions. That has a fine grid of at least 1.25^3 numbers for each voxel,
/// all planes together 1.25^2 for each of their pixels, and a sample touches the spreading function's width times as many numbers there as
/// here, which costs at least as much as another number of a grid.
fn pays(planes: usize, samples: usize, [nz, ny, nx]: [usize; 3]) -> bool {
    planes as f64 <= 1.25 * nz as f64 + samples as f64 / (ny as f64 * nx as f64)
}

/// Samples by their places in planes, as far as sums tell them apart.
struct Near<'a> {
    axes: [&'a [f64]; 2],
    /// Voxels along x, y.
    sides: [f64; 2],
    /// Maximum change of a term of a sum, relative to it.
    change: f64,
}

impl Near<'_> {
    fn are_same(&self, a: &[u32], b: &[u32]) -> bool {
        // By d, the phase of pixel j changes by 2 pi d . j, and |j| <= N / 2 along each axis.
        let is_near = |(a, b): (&u32, &u32)| {
            let [x, y] = self.axes.map(|axis| (axis[*a as usize] - axis[*b as usize]).abs());
            PI * (self.sides[0] * x + self.sides[1] * y) <= self.change
        };
        a.len() == b.len() && a.iter().zip(b).all(is_near)
    }
}

#[cfg(test)]
#[path = "stack_tests.rs"]
mod tests;
