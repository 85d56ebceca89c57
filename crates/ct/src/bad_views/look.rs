//! What some rows of each view tell.

use crate::geometry::{Geometry, Order};
use crate::rows::kind::Correction;
use crate::rows::source::spread;
use isocenter_base::array::fetch::Fetched;
use isocenter_base::array::{Array, Layout};
use isocenter_base::context::{Job, Stage};
use isocenter_base::cpu::buffer::{append, reserved, zeros};
use isocenter_base::cpu::parallel::*;
use isocenter_base::error::Result;
use isocenter_base::gpu::Device;
use std::ops::Range;

/// Detector rows that are looked at, evenly spread, both ends in.
const ROWS: usize = 8;
/// Bins whose mean is one sample of how bright a view is.
const BLOCK: usize = 32;
/// Of the blocks of a view, in rising order, the one that tells how bright it is: air, where there is some.
const BRIGHT: f64 = 7.0 / 8.0;
/// Transmissions beyond this are cut in means, so that one particle does not make light of a black view: of 512 values it adds 0.001.
const CUT: f64 = 0.5;
/// Transmission above which a value at the largest number is brighter than the full beam; a whole frame of air that flats show at that
/// number, too, is not.
const OVER: f64 = 1.02;
/// Changes below this part of the largest value of a row are rounding, in f32 as in what made the values.
const ROUNDING: f32 = 1e-5;
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
    rows: Vec<usize>,
    bins: usize,
    /// Offset and factor of each pixel, row after row; a factor of 0 where it tells nothing.
    pixels: Vec<[f32; 2]>,
}

impl Scale {
    pub(super) fn new(correction: Correction, g: &Geometry) -> Result<Self> {
        let rows = spread(ROWS, g.rows)?;
        let (kind, same) = match correction {
            Correction::None => (Kind::LineIntegrals, [0.0, -1.0]),
            Correction::Counts(..) | Correction::Transmission(_) => (Kind::Light, [0.0, 1.0]),
        };
        let mut pixels = reserved(rows.len() * g.bins)?;
        for row in &rows {
            let Some(flat) = correction.flat() else {
                pixels.extend((0..g.bins).map(|_| same));
                continue;
            };
            // The mean beam of all flats: what a monitor says of a view that has no beam is no help.
            let (dark, gain) = flat.rows(*row..row + 1);
            let first = pixels.len();
            pixels.extend(dark.iter().zip(gain).map(|(dark, gain)| [*dark, *gain]));
            flat.unmeasured(*row).for_each(|bin| pixels[first + bin][1] = 0.0);
        }
        Ok(Self { kind, rows, bins: g.bins, pixels })
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
    /// Every value is that of the view before; a number of all values, for others that may be the same.
    pub(super) same: bool,
    pub(super) hash: u64,
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

impl Scale {
    /// What the values of a view tell, row after row.
    fn look(&self, values: &[f32], blocks: &mut Vec<f64>) -> Look {
        let mut look = Look { largest: f32::NEG_INFINITY, ..Look::default() };
        let (mut sum, mut squares) = (0.0, 0.0);
        // Fowler, Noll and Vo's, with whole values for bytes.
        look.hash = values.iter().fold(0xcbf2_9ce4_8422_2325, |hash, v| {
            (hash ^ u64::from(v.to_bits())).wrapping_mul(0x0100_0000_01b3).rotate_left(23)
        });
        blocks.clear();
        for (values, pixels) in values.chunks_exact(self.bins).zip(self.pixels.chunks_exact(self.bins)) {
            let count = (self.bins / BLOCK).max(1);
            for block in 0..count {
                let part = block * self.bins / count..(block + 1) * self.bins / count;
                let (mut light, mut counted) = (0.0, 0);
                for (value, [offset, factor]) in values[part.clone()].iter().zip(&pixels[part]) {
                    if *factor == 0.0 {
                        continue;
                    }
                    if !value.is_finite() {
                        look.not_finite += 1;
                        continue;
                    }
                    let transmission = f64::from(value - offset) * f64::from(*factor);
                    let cut = transmission.clamp(-CUT, CUT);
                    (sum, squares) = (sum + cut, squares + cut * cut);
                    (light, counted) = (light + transmission, counted + 1);
                    if *value > look.largest {
                        (look.largest, look.at_largest) = (*value, 0);
                    }
                    look.at_largest += usize::from(*value == look.largest && transmission > OVER);
                }
                look.values += counted;
                if counted > 0 {
                    blocks.push(light / counted as f64);
                }
            }
        }
        let n = look.values as f64;
        if let Some(last) = blocks.len().checked_sub(1) {
            look.mean = sum / n;
            look.error = ((squares / n - look.mean * look.mean).max(0.0) / n).sqrt();
            look.light = *blocks.select_nth_unstable_by((last as f64 * BRIGHT) as usize, f64::total_cmp).1;
        }
        look
    }
}

impl Look {
    /// What changed since the view before, whose values become the changes.
    fn compare(&mut self, before: &mut [f32], now: &[f32], bins: usize) {
        self.same = before == now;
        if self.same {
            return;
        }
        for (changes, now) in before.chunks_exact_mut(bins).zip(now.chunks_exact(bins)) {
            let largest = now.iter().filter(|v| v.is_finite()).fold(0.0f32, |most, v| most.max(v.abs()));
            let least = ROUNDING * largest;
            for (change, now) in changes.iter_mut().zip(now) {
                // What is no number is not beyond it.
                *change = Some(now - *change).filter(|v| v.is_finite() && v.abs() > least).unwrap_or(0.0);
                self.changed += usize::from(*change != 0.0);
            }
            let mut last = 0.0;
            for window in changes.windows(4) {
                let third = window[3] - window[0] + 3.0 * (window[1] - window[2]);
                let third = if third.abs() > 8.0 * least { third } else { 0.0 };
                self.differences += usize::from(third != 0.0);
                self.opposite += usize::from(last * third < 0.0);
                last = third;
            }
        }
    }
}
