//! What some rows of each view tell.

use crate::geometry::{Geometry, Order};
use crate::rows::kind::Correction;
use crate::rows::source::spread;
use isocenter_base::array::fetch::Fetched;
use isocenter_base::array::{Array, Layout};
use isocenter_base::context::{Job, Stage};
use isocenter_base::cpu::buffer::{append, filled, reserved, zeros};
use isocenter_base::cpu::parallel::*;
use isocenter_base::error::Result;
use isocenter_base::gpu::Device;
use std::ops::Range;

/// Detector rows that are looked at, evenly spread, both ends in.
const ROWS: usize = 8;
/// Bins whose mean is one sample of how bright a view is.
const BLOCK: usize = 32;
/// The quantile of a view's blocks that tells how bright it is: air, where there is some.
const BRIGHT: f64 = 7.0 / 8.0;
/// Transmissions beyond this are cut in means, so that one particle does not make light of a black view: of 512 values it adds 0.001.
const CUT: f32 = 0.5;
/// Transmission above which a value at the largest number is brighter than the full beam; a whole frame of air that flats show at that
/// number, too, is not.
const OVER: f32 = 1.02;
/// Changes below this part of the largest value of a row are rounding, in f32 as in what made the values.
const ROUNDING: f32 = 1e-5;
/// Values that a black view needs: of a frame in which one value in twenty meets a photon (0.05 of 1 photon) as few as 256 are all 0 once
/// in 500,000 times.
const VALUES: usize = 256;
/// Counts of the full beam in all values together from which on fewer values do, and how many: at 100 counts a photon a hundredth of this beam is 100
/// photons, which never are none.
const BEAM: f64 = 1048576.0;
const FEWEST: usize = 16;
/// Views of a task, and those that are copied from a GPU together.
const TASK: usize = 16;
const TOGETHER: usize = 256;

/// What the values of a scan are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Counts or transmissions.
    Light,
    LineIntegrals,
}

/// How values become transmissions, in the rows that are looked at. (Brighter is more in any case: line integrals change their sign.)
pub(super) struct Scale {
    pub(super) kind: Kind,
    /// Values that a black view needs.
    pub(super) least: usize,
    rows: Vec<usize>,
    bins: usize,
    /// Offset and factor of each pixel, row after row; a factor of 0 where the pixel tells nothing.
    offsets: Vec<f32>,
    factors: Vec<f32>,
}

impl Scale {
    pub(super) fn new(correction: Correction, g: &Geometry) -> Result<Self> {
        let rows = spread(ROWS, g.rows)?;
        let (kind, factor) = match correction {
            Correction::None => (Kind::LineIntegrals, -1.0),
            Correction::Counts(..) | Correction::Transmission(_) => (Kind::Light, 1.0),
        };
        let values = rows.len() * g.bins;
        let (mut offsets, mut factors) = (zeros(values)?, filled(values, factor)?);
        let of_rows = offsets.chunks_exact_mut(g.bins).zip(factors.chunks_exact_mut(g.bins));
        for (row, (offsets, factors)) in rows.iter().zip(of_rows) {
            let Some(flat) = correction.flat() else { continue };
            // The mean beam of all flats: what a monitor says of a view that has no beam is no help.
            let (dark, gain) = flat.rows(*row..row + 1);
            offsets.copy_from_slice(dark);
            factors.copy_from_slice(gain);
            flat.unmeasured(*row).for_each(|bin| factors[bin] = 0.0);
        }
        let beam: f64 = match correction {
            Correction::Counts(..) => {
                factors.iter().filter(|gain| **gain > 0.0).map(|gain| 1.0 / f64::from(*gain)).sum()
            }
            _ => 0.0,
        };
        let least = if beam >= BEAM { FEWEST } else { VALUES };
        Ok(Self { kind, least, rows, bins: g.bins, offsets, factors })
    }
}

/// What the rows of a view tell.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Look {
    /// Values that count, and those that are no numbers.
    pub(super) values: usize,
    pub(super) not_finite: usize,
    /// Mean of their transmissions, cut at ±[`CUT`], and its standard error.
    pub(super) mean: f64,
    pub(super) error: f64,
    /// How bright it is: the transmission of the brightest eighth of it.
    pub(super) light: f64,
    /// Its largest value, and how many have it and are brighter than the beam.
    pub(super) largest: f32,
    pub(super) at_largest: usize,
    /// Every value is that of the view before.
    pub(super) same: bool,
    /// Values that changed since the view before.
    pub(super) changed: usize,
    /// Third differences of these changes along the bins, those of them that are no rounding, and how often the next has another sign.
    pub(super) differences: usize,
    pub(super) opposite: usize,
}

/// The caller's frames.
pub(super) struct Frames<'a> {
    pub(super) geometry: &'a Geometry,
    pub(super) projections: &'a Array<'a>,
    /// Where they are, if not on the host.
    pub(super) gpu: Option<&'a Device>,
    pub(super) scale: &'a Scale,
}

impl Frames<'_> {
    /// What each view tells.
    pub(super) fn look(&self, job: &Job) -> Result<Vec<Look>> {
        job.enter(Stage::Check);
        let views = self.geometry.views();
        let mut looks = reserved(views)?;
        for first in (0..views).step_by(TOGETHER) {
            let part = first..views.min(first + TOGETHER);
            // With the view before them.
            let there = part.start.saturating_sub(1)..part.end;
            let copies = self.gpu.map(|gpu| self.copied(gpu, &there)).transpose()?;
            let tasks = part.len().div_ceil(TASK);
            let of_task = |task: usize| {
                job.check()?;
                let start = part.start + TASK * task;
                self.look_at(start..part.end.min(start + TASK), copies.as_deref().map(|copies| (copies, there.start)))
            };
            let found = (0..tasks).into_par_iter().map(of_task).collect::<Result<Vec<_>>>()?;
            looks.extend(found.into_iter().flatten());
            job.advance(part.len() as f64 / views as f64);
        }
        Ok(looks)
    }

    /// Copies of the rows of some views, each row apart.
    fn copied(&self, gpu: &Device, views: &Range<usize>) -> Result<Vec<Fetched>> {
        let layout = self.projections.layout();
        let bins = self.geometry.bins;
        let mut copies = Vec::new();
        for &row in &self.scale.rows {
            let (at, shape) = match self.geometry.order {
                Order::Frames => ([views.start, row, 0], [views.len(), 1, bins]),
                Order::Sinograms => ([row, views.start, 0], [1, views.len(), bins]),
            };
            append(&mut copies, Fetched::new(gpu, &Layout { origin: layout.element(at), shape, ..*layout })?)?;
        }
        Ok(copies)
    }

    /// What some views tell.
    fn look_at(&self, views: Range<usize>, copies: Option<(&[Fetched], usize)>) -> Result<Vec<Look>> {
        let (bins, order) = (self.geometry.bins, self.geometry.order);
        let read = |view: usize, values: &mut [f32]| {
            for ((k, &row), values) in self.scale.rows.iter().enumerate().zip(values.chunks_exact_mut(bins)) {
                let (array, [view, row]) = match copies {
                    Some((copies, first)) => (copies[k].array(), [view - first, 0]),
                    None => (*self.projections, [view, row]),
                };
                array.read_row(if order == Order::Sinograms { [row, view, 0] } else { [view, row, 0] }, values);
            }
        };
        let values = self.scale.rows.len() * bins;
        let (mut before, mut now): (Vec<f32>, Vec<f32>) = (zeros(values)?, zeros(values)?);
        let mut blocks = reserved(self.scale.rows.len() * (bins / BLOCK).max(1))?;
        let mut looks = reserved(views.len())?;
        if views.start > 0 {
            read(views.start - 1, &mut before);
        }
        for view in views {
            read(view, &mut now);
            let mut look = self.scale.look(&now, &mut blocks);
            if view > 0 {
                look.compare(&mut before, &now, bins);
            }
            looks.push(look);
            std::mem::swap(&mut before, &mut now);
        }
        Ok(looks)
    }
}

/// Sums over every fourth value each, so that a processor may add four at a time: the same four on any.
#[derive(Default)]
struct Sums {
    cut: [f64; LANES],
    squares: [f64; LANES],
    light: [f64; LANES],
    values: [u32; LANES],
    not_finite: [u32; LANES],
    largest: [Largest; LANES],
}

const LANES: usize = 4;

#[derive(Clone, Copy)]
struct Largest(f32);

impl Default for Largest {
    fn default() -> Self {
        Self(f32::NEG_INFINITY)
    }
}

impl Sums {
    #[inline(always)]
    fn add(&mut self, lane: usize, value: f32, offset: f32, factor: f32) {
        let (counts, finite) = (factor != 0.0, value.is_finite());
        let good = counts & finite;
        let transmission = if good { (value - offset) * factor } else { 0.0 };
        let cut = f64::from(transmission.clamp(-CUT, CUT));
        self.cut[lane] += cut;
        self.squares[lane] += cut * cut;
        self.light[lane] += f64::from(transmission);
        self.values[lane] += u32::from(good);
        self.not_finite[lane] += u32::from(counts & !finite);
        let Largest(largest) = self.largest[lane];
        self.largest[lane] = Largest(if good & (value > largest) { value } else { largest });
    }

    /// Adds up a part of a row.
    fn new(values: &[f32], offsets: &[f32], factors: &[f32]) -> Self {
        let mut sums = Self::default();
        let [values, offsets, factors] = [values, offsets, factors].map(|of| of.chunks_exact(LANES));
        let rest = values.remainder().iter().zip(offsets.remainder()).zip(factors.remainder());
        for (lane, ((value, offset), factor)) in rest.enumerate() {
            sums.add(lane, *value, *offset, *factor);
        }
        for ((values, offsets), factors) in values.zip(offsets).zip(factors) {
            (0..LANES).for_each(|lane| sums.add(lane, values[lane], offsets[lane], factors[lane]));
        }
        sums
    }
}

impl Scale {
    /// What the values of a view tell, row after row.
    fn look(&self, values: &[f32], blocks: &mut Vec<f64>) -> Look {
        let mut look = Look { largest: f32::NEG_INFINITY, ..Look::default() };
        let (mut sum, mut squares) = (0.0, 0.0);
        blocks.clear();
        let count = (self.bins / BLOCK).max(1);
        for (row, block) in (0..self.rows.len()).flat_map(|row| (0..count).map(move |block| (row, block))) {
            let part = row * self.bins + block * self.bins / count..row * self.bins + (block + 1) * self.bins / count;
            let sums = Sums::new(&values[part.clone()], &self.offsets[part.clone()], &self.factors[part]);
            let counted = sums.values.iter().sum::<u32>() as usize;
            sum += sums.cut.iter().sum::<f64>();
            squares += sums.squares.iter().sum::<f64>();
            look.values += counted;
            look.not_finite += sums.not_finite.iter().sum::<u32>() as usize;
            look.largest = sums.largest.iter().fold(look.largest, |most, Largest(v)| most.max(*v));
            if counted > 0 {
                blocks.push(sums.light.iter().sum::<f64>() / counted as f64);
            }
        }
        let n = look.values as f64;
        if let Some(last) = blocks.len().checked_sub(1) {
            look.mean = sum / n;
            look.error = ((squares / n - look.mean * look.mean).max(0.0) / n).sqrt();
            look.light = *blocks.select_nth_unstable_by((last as f64 * BRIGHT) as usize, f64::total_cmp).1;
        }
        if is_full(look.largest) {
            let over = |((v, offset), factor): &((&f32, &f32), &f32)| {
                **v == look.largest && (**v - **offset) * **factor > OVER
            };
            look.at_largest = values.iter().zip(&self.offsets).zip(&self.factors).filter(over).count();
        }
        look
    }
}

/// The largest number of a detector of 8 bits or more.
pub(super) fn is_full(value: f32) -> bool {
    let next = f64::from(value) + 1.0;
    (256.0..=f64::from(1u32 << 24)).contains(&next) && next.fract() == 0.0 && (next as u32).is_power_of_two()
}

impl Look {
    /// What changed since the view before, whose values become the changes, and then their third differences.
    fn compare(&mut self, before: &mut [f32], now: &[f32], bins: usize) {
        self.same = before == now;
        if self.same {
            return;
        }
        for (changes, now) in before.chunks_exact_mut(bins).zip(now.chunks_exact(bins)) {
            let mut most = [0.0f32; LANES];
            for values in now.chunks(LANES) {
                // What is no number is not above anything.
                let larger =
                    |most: f32, v: f32| if (v.abs() > most) & (v.abs() < f32::INFINITY) { v.abs() } else { most };
                most.iter_mut().zip(values).for_each(|(most, v)| *most = larger(*most, *v));
            }
            let least = ROUNDING * most.into_iter().fold(0.0, f32::max);
            let mut changed = 0;
            for (change, now) in changes.iter_mut().zip(now) {
                let difference = now - *change;
                let counts = (difference.abs() > least) & (difference.abs() < f32::INFINITY);
                *change = if counts { difference } else { 0.0 };
                changed += u32::from(counts);
            }
            self.changed += changed as usize;
            let thirds = bins.saturating_sub(3);
            for k in 0..thirds {
                let third = changes[k + 3] - changes[k] + 3.0 * (changes[k + 1] - changes[k + 2]);
                changes[k] = if third.abs() > 8.0 * least { third } else { 0.0 };
            }
            let thirds = &changes[..thirds];
            self.differences += thirds.iter().map(|third| u32::from(*third != 0.0)).sum::<u32>() as usize;
            let others = thirds.iter().zip(thirds.iter().skip(1));
            self.opposite += others.map(|(a, b)| u32::from(a * b < 0.0)).sum::<u32>() as usize;
        }
    }
}
