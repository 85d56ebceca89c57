//! Launches `kernels/ct/rings.cu`.

use super::launches::over;
use super::resident::Resident;
use crate::iterative::space::{Limit, Offsets, Rows, Shift};
use isocenter_base::error::Result;
use isocenter_base::gpu::{Launch, mirrored};

/// Mirrors `Spread`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Spread {
    rows: u64,
    roots: u64,
    offsets: u64,
    samples: i64,
    factor: f32,
    bins: i32,
}
mirrored!(Spread, 40);

/// Mirrors `Gather`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Gather {
    rows: u64,
    roots: u64,
    offsets: u64,
    views: i32,
    bins: i32,
}
mirrored!(Gather, 32);

/// Mirrors `Shift`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct OffsetsStep {
    offsets: u64,
    gradient: u64,
    ahead: u64,
    steps: u64,
    relaxed: u64,
    part: f32,
    weight: f32,
    bins: i32,
}
mirrored!(OffsetsStep, 56);

/// Mirrors `Limit`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct LimitSums {
    offsets: u64,
    sums: u64,
    mass: u64,
    penalty: u64,
    duality: u64,
    weight: f32,
    views: i32,
    bins: i32,
}
mirrored!(LimitSums, 56);

/// The steps on a slab's vectors.
pub(super) struct Rings<'a, 's>(&'a Resident<'s>);

impl<'s> Resident<'s> {
    pub(super) fn rings(&self) -> Rings<'_, 's> {
        Rings(self)
    }
}

impl Rings<'_, '_> {
    fn offsets(&self, offsets: Offsets) -> u64 {
        self.0.vectors.offsets(self.0.at, offsets)
    }

    fn rows(&self, rows: Rows) -> u64 {
        self.0.vectors.rows(self.0.at, rows)
    }

    /// Those of rays' weights.
    fn roots(&self) -> u64 {
        self.0.slab.iteration.weights().map_or(0, |[roots, _]| self.rows(roots))
    }

    /// A thread for each bin.
    fn bins(&self) -> Launch {
        let v = self.0.vectors;
        Launch { grid: [v.bins.div_ceil(256), v.slices, 1], block: [256, 1, 1], shared: 0 }
    }

    pub(super) fn spread(&self, offsets: Offsets, rows: Rows, factor: f32) -> Result<()> {
        let v = self.0.vectors;
        let (samples, bins) = (v.samples as i64, v.bins as i32);
        let spread = Spread {
            rows: self.rows(rows),
            roots: self.roots(),
            offsets: self.offsets(offsets),
            samples,
            factor,
            bins,
        };
        self.0.queue(&self.0.kernels()?.rings.spread, over(v.samples, v.slices), &spread)
    }

    pub(super) fn gather(&self, rows: Rows, offsets: Offsets) -> Result<()> {
        let v = self.0.vectors;
        let (views, bins) = ((v.samples / v.bins) as i32, v.bins as i32);
        let gather = Gather { rows: self.rows(rows), roots: self.roots(), offsets: self.offsets(offsets), views, bins };
        self.0.queue(&self.0.kernels()?.rings.gather, self.bins(), &gather)
    }

    pub(super) fn shift(&self, s: &Shift) -> Result<()> {
        let v = self.0.vectors;
        let step = OffsetsStep {
            offsets: self.offsets(s.offsets),
            gradient: self.offsets(s.gradient),
            ahead: self.offsets(s.ahead),
            steps: self.0.sum_at(s.step),
            relaxed: self.0.sum_at(s.relaxed),
            part: s.part,
            weight: s.weight,
            bins: v.bins as i32,
        };
        self.0.queue(&self.0.kernels()?.rings.shift, over(v.bins, v.slices), &step)
    }

    pub(super) fn limit(&self, l: &Limit) -> Result<()> {
        let v = self.0.vectors;
        let sums = LimitSums {
            offsets: self.offsets(l.offsets),
            sums: self.offsets(l.sums),
            mass: l.mass.map_or(0, |mass| self.offsets(mass)),
            penalty: self.0.sum_at(l.penalty),
            duality: self.0.sum_at(l.duality),
            weight: l.weight,
            views: l.views as i32,
            bins: v.bins as i32,
        };
        let one = Launch { grid: [1, v.slices, 1], block: [256, 1, 1], shared: 0 };
        self.0.queue(&self.0.kernels()?.rings.limit, one, &sums)
    }
}
