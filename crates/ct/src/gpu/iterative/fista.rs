//! Launches `kernels/ct/fista.cu`.

use super::launches::{ONE_BLOCK, over};
use super::resident::Resident;
use crate::iterative::space::{Excess, Hasten, Sum};
use isocenter_base::error::Result;
use isocenter_base::gpu::{Launch, mirrored};

/// Mirrors `Hasten`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct HastenStep {
    x: u64,
    base: u64,
    ahead: u64,
    gradient: u64,
    back: u64,
    mask: u64,
    steps: u64,
    ahead_parts: u64,
    parts: u64,
    turned: u64,
    done: u64,
    weight: f32,
    lower: f32,
    upper: f32,
    pixels: i32,
}
mirrored!(HastenStep, 104);

/// Mirrors `Excess`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct ExcessSums {
    x: u64,
    base: u64,
    gradient: u64,
    mask: u64,
    parts: u64,
    excess: u64,
    length: u64,
    done: u64,
    weight: f32,
    lower: f32,
    upper: f32,
    pixels: i32,
}
mirrored!(ExcessSums, 80);

/// Mirrors `Quicken`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Quicken {
    momentum: u64,
    turned: u64,
    part: u64,
    slices: i32,
}
mirrored!(Quicken, 32);

/// The steps on a slab's vectors.
pub(super) struct Fista<'a, 's>(&'a Resident<'s>);

impl<'s> Resident<'s> {
    pub(super) fn fista(&self) -> Fista<'_, 's> {
        Fista(self)
    }
}

impl Fista<'_, '_> {
    pub(super) fn hasten(&self, of: &Hasten) -> Result<()> {
        let [lower, upper] = self.0.slab.iteration.options.bounds.map(|b| b as f32);
        let v = self.0.vectors;
        let step = HastenStep {
            x: self.0.image_at(of.image),
            base: self.0.image_at(of.base),
            ahead: self.0.image_at(of.ahead),
            gradient: self.0.image_at(of.gradient),
            back: of.back.map_or(0, |back| self.0.image_at(back)),
            mask: self.0.mask_at(),
            steps: self.0.sum_at(of.step),
            ahead_parts: self.0.sum_at(of.part),
            parts: v.parts(self.0.at),
            turned: self.0.sum_at(of.turned),
            done: v.done(self.0.at),
            weight: of.weight,
            lower,
            upper,
            pixels: v.pixels as i32,
        };
        self.0.queue(&self.0.kernels()?.fista.hasten, over(v.pixels, v.slices), &step)
    }

    pub(super) fn excess(&self, of: &Excess) -> Result<()> {
        let [lower, upper] = self.0.slab.iteration.options.bounds.map(|b| b as f32);
        let v = self.0.vectors;
        let sums = ExcessSums {
            x: self.0.image_at(of.image),
            base: self.0.image_at(of.base),
            gradient: self.0.image_at(of.gradient),
            mask: self.0.mask_at(),
            parts: v.parts(self.0.at),
            excess: self.0.sum_at(of.excess),
            length: self.0.sum_at(of.length),
            done: v.done(self.0.at),
            weight: of.weight,
            lower,
            upper,
            pixels: v.pixels as i32,
        };
        // Two parts a block, where there is room for as many as other sums have blocks.
        let wide = over(v.pixels, v.slices);
        let launch = Launch { grid: [wide.grid[0].min(v.parts / 2), wide.grid[1], 1], ..wide };
        self.0.queue(&self.0.kernels()?.fista.excess, launch, &sums)
    }

    pub(super) fn quicken(&self, [momentum, turned, part]: [Sum; 3]) -> Result<()> {
        let [momentum, turned, part] = [momentum, turned, part].map(|sum| self.0.sum_at(sum));
        let quicken = Quicken { momentum, turned, part, slices: self.0.vectors.slices as i32 };
        self.0.queue(&self.0.kernels()?.fista.quicken, ONE_BLOCK, &quicken)
    }
}
