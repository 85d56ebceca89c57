//! Counts of all frames, read in one pass.

use super::petsird::{Kind, Part, Pass};
use crate::watch::Watch;
use anyhow::{Context, Result};
use isocenter::array::{Array, ArrayMut};
use isocenter::cpu::buffer::Buffer;
use isocenter::pet::Pet;
use isocenter::pet::dropped::Dropped;
use isocenter::pet::scanner::{CrystalArrays, DelayArrays};

/// A frame's counts.
pub struct Frame {
    /// Prompts of the file.
    pub prompts: u64,
    pub delays: u64,
    /// Prompts that count nowhere, by cause.
    pub dropped: Dropped,
    /// `[view][z][y][x]`
    pub measured: Buffer<u32>,
    /// Of delays, over the fans of each crystal.
    pub sums: Vec<u32>,
}

pub struct Counts<'a> {
    pub pet: &'a mut Pet,
    watch: &'a Watch,
    /// Part of the run that reading is.
    share: f64,
    /// views, nz, ny, nx.
    shape: [usize; 4],
    pub frames: Vec<Frame>,
    /// The number of the next prompt.
    first: u64,
}

impl<'a> Counts<'a> {
    pub fn new(pet: &'a mut Pet, frames: usize, (watch, share): (&'a Watch, f64)) -> Result<Self> {
        let [nz, ny, nx] = pet.lattice()?.shape();
        let shape = [pet.views()?.len(), nz, ny, nx];
        let crystals = pet.scanner()?.crystals.count();
        let frame = || {
            let measured = Buffer::zeroed(shape.iter().product())?;
            Ok(Frame { prompts: 0, delays: 0, dropped: Dropped::default(), measured, sums: vec![0; crystals] })
        };
        let frames = (0..frames).map(|_| frame()).collect::<Result<_>>()?;
        Ok(Self { pet, watch, share, shape, frames, first: 0 })
    }
}

impl Pass for Counts<'_> {
    fn begin(&mut self) -> Result<()> {
        self.first = 0;
        // Memory that nothing was added to is 0.
        for frame in self.frames.iter_mut().filter(|frame| frame.prompts + frame.delays > 0) {
            (frame.prompts, frame.delays, frame.dropped) = (0, 0, Dropped::default());
            frame.measured.fill(0);
            frame.sums.fill(0);
        }
        Ok(())
    }

    fn part(&mut self, part: &Part) -> Result<()> {
        let frame = &mut self.frames[part.frame];
        let count = part.times.len();
        self.watch.part(self.share * part.at, 0.0);
        let crystals = Array::of(part.crystals, [count, 2])?;
        if part.kind == Kind::Delay {
            frame.delays += count as u64;
            let mut sums = ArrayMut::of(&mut frame.sums, [1, self.pet.scanner()?.crystals.count()])?;
            let events = DelayArrays { crystals, labels: None };
            self.pet.fan_sums(0.0, &events, &mut sums).context("delays")?;
            return Ok(());
        }
        frame.prompts += count as u64;
        let events =
            CrystalArrays { crystals, times: Array::of(part.times, [count])?, labels: None, first: self.first };
        self.first += count as u64;
        let [views, nz, ny, nx] = self.shape;
        let to = ArrayMut::of(&mut frame.measured, [1, views, nz, ny, nx])?;
        let dropped = self.pet.deposit_crystals(&events, to).context("prompts")?;
        frame.dropped = frame.dropped.plus(dropped);
        Ok(())
    }
}

/// Causes and counts, of those that there are.
pub fn listed(dropped: &Dropped) -> Vec<(&'static str, u64)> {
    let all = [
        ("unknown", dropped.unknown),
        ("not measured", dropped.not_measured),
        ("not finite", dropped.not_finite),
        ("equal positions", dropped.equal_positions),
        ("outside tilts", dropped.outside_tilts),
        ("outside lattice", dropped.outside_lattice),
        ("overflow", dropped.overflow),
    ];
    all.into_iter().filter(|(_, count)| *count > 0).collect()
}
