//! Counts of all frames, read in one pass.

use super::cut::Cut;
use super::options::Projector;
use super::petsird::{Kind, Part, Pass, TimesOf};
use crate::watch::Watch;
use anyhow::{Context, Result, bail};
use isocenter::array::{Array, ArrayMut};
use isocenter::cpu::buffer::Buffer;
use isocenter::pet::Pet;
use isocenter::pet::corrections::FactorOptions;
use isocenter::pet::dropped::Dropped;
use isocenter::pet::lines::{Ends, ListArrays, no_times};
use isocenter::pet::scanner::{CrystalArrays, DelayArrays};

/// Counts of a part of the scan: a frame, a gate, or what is of one place in it.
pub struct Frame {
    /// Prompts of the file.
    pub prompts: u64,
    pub delays: u64,
    /// Prompts that count nowhere, by cause.
    pub dropped: Dropped,
    pub counted: Counted,
    /// Of delays, over the fans of each crystal.
    pub sums: Vec<u32>,
}

pub enum Counted {
    /// `[view][z][y][x]`
    Histos(Buffer<u32>),
    Lines(EventList),
}

/// Events as they are.
#[derive(Default)]
pub struct EventList {
    /// `[event][first, second]`
    pub crystals: Vec<u32>,
    /// `[event]`; empty without time of flight.
    pub bins: Vec<u32>,
    /// Of t2 - t1, and their widths, ps, of a scanner whose pairs of modules differ in their bins.
    pub ps: Vec<f32>,
    pub widths: Vec<f32>,
}

impl EventList {
    pub fn len(&self) -> usize {
        self.crystals.len() / 2
    }

    fn add(&mut self, crystals: &[u32], times: TimesOf, is_timed: bool) -> Result<()> {
        put(&mut self.crystals, crystals)?;
        match times {
            TimesOf::Bins(bins) if is_timed => put(&mut self.bins, bins),
            TimesOf::Bins(_) => Ok(()),
            TimesOf::Differences { ps, widths } => {
                put(&mut self.ps, ps)?;
                put(&mut self.widths, widths)
            }
        }
    }

    fn clear(&mut self) {
        *self = Self::default();
    }

    /// For a plan.
    pub fn arrays(&self) -> Result<ListArrays<'_>> {
        let events = self.len();
        let timed = !(self.bins.is_empty() && self.ps.is_empty());
        let times = match (timed, self.ps.is_empty()) {
            (false, _) => no_times(events),
            (true, true) => Array::of(&self.bins, [events])?,
            (true, false) => Array::of(&self.ps, [events])?,
        };
        let tof_fwhm = if self.widths.is_empty() { None } else { Some(Array::of(&self.widths, [events])?) };
        let crystals = Array::of(&self.crystals, [events, 2])?;
        Ok(ListArrays {
            ends: Ends::Crystals(CrystalArrays { crystals, times, labels: None, first: 0 }),
            timed,
            tof_fwhm,
        })
    }
}

fn put<T: Copy>(to: &mut Vec<T>, more: &[T]) -> Result<()> {
    to.try_reserve(more.len())
        .context("no memory for the list's events: take fewer frames (--frame), or --projector histo-images")?;
    to.extend_from_slice(more);
    Ok(())
}

impl Frame {
    fn new(projector: Projector, voxels: usize, crystals: usize) -> Result<Self> {
        let counted = match projector {
            Projector::HistoImages => Counted::Histos(Buffer::zeroed(voxels)?),
            Projector::Lines => Counted::Lines(EventList::default()),
        };
        Ok(Self { prompts: 0, delays: 0, dropped: Dropped::default(), counted, sums: vec![0; crystals] })
    }

    /// Prompts that the image is made of.
    pub fn counts(&self) -> u64 {
        match &self.counted {
            Counted::Histos(measured) => measured.iter().map(|n| u64::from(*n)).sum(),
            Counted::Lines(_) => self.prompts - self.dropped.total(),
        }
    }

    fn clear(&mut self) {
        // Memory that nothing was added to is 0.
        if self.prompts + self.delays == 0 {
            return;
        }
        (self.prompts, self.delays, self.dropped) = (0, 0, Dropped::default());
        self.sums.fill(0);
        match &mut self.counted {
            Counted::Histos(measured) => measured.fill(0),
            Counted::Lines(list) => list.clear(),
        }
    }
}

pub struct Counts<'a> {
    pub pet: &'a mut Pet,
    watch: &'a Watch,
    /// Part of the run that reading is.
    share: f64,
    cut: &'a Cut,
    /// Of the scanner.
    is_timed: bool,
    /// views, nz, ny, nx.
    shape: [usize; 4],
    pub frames: Vec<Frame>,
    /// The number of the next prompt.
    first: u64,
}

impl<'a> Counts<'a> {
    pub fn new(
        pet: &'a mut Pet,
        cut: &'a Cut,
        (projector, is_timed): (Projector, bool),
        (watch, share): (&'a Watch, f64),
    ) -> Result<Self> {
        let [nz, ny, nx] = pet.lattice()?.shape();
        let shape = [pet.views()?.len(), nz, ny, nx];
        let crystals = pet.scanner()?.crystals.count();
        let frame = |_| Frame::new(projector, shape.iter().product(), crystals);
        let frames = cut.parts.iter().map(frame).collect::<Result<_>>()?;
        Ok(Self { pet, watch, share, cut, is_timed, shape, frames, first: 0 })
    }
}

impl Pass for Counts<'_> {
    fn begin(&mut self) -> Result<()> {
        self.first = 0;
        self.frames.iter_mut().for_each(Frame::clear);
        Ok(())
    }

    fn part(&mut self, part: &Part) -> Result<()> {
        let frame = &mut self.frames[self.cut.part(part.frame)];
        let count = part.crystals.len() / 2;
        self.watch.part(self.share * part.at, 0.0);
        let crystals = Array::of(part.crystals, [count, 2])?;
        if part.kind == Kind::Delay {
            frame.delays += count as u64;
            let mut sums = ArrayMut::of(&mut frame.sums, [1, self.pet.scanner()?.crystals.count()])?;
            let events = DelayArrays { crystals, labels: None };
            self.pet.fan_sums(0.0, &events, &mut sums).context("delays")?;
            return Ok(());
        }
        // Of parts that come by turns each counts its own events, as Python's do.
        let first = if self.cut.is_plain() { self.first } else { frame.prompts };
        frame.prompts += count as u64;
        self.first += count as u64;
        let dropped = match &mut frame.counted {
            Counted::Histos(measured) => {
                let TimesOf::Bins(bins) = part.times else {
                    bail!("histo-images of times that differ in their widths")
                };
                let events = CrystalArrays { crystals, times: Array::of(bins, [count])?, labels: None, first };
                let [views, nz, ny, nx] = self.shape;
                let to = ArrayMut::of(&mut measured[..], [1, views, nz, ny, nx])?;
                self.pet.deposit_crystals(&events, to).context("prompts")?
            }
            Counted::Lines(list) => {
                let mut own = EventList::default();
                own.add(part.crystals, part.times, self.is_timed)?;
                let mut values = vec![0.0; count];
                let to = ArrayMut::new(&mut values, [count])?;
                let dropped = self
                    .pet
                    .line_factors(&own.arrays()?, &FactorOptions::default(), None, None, to)
                    .context("prompts")?;
                list.add(part.crystals, part.times, self.is_timed)?;
                dropped
            }
        };
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
