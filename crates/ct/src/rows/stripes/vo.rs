//! All of Vo, Atwood and Drakopoulos, "Superior techniques for eliminating ring artifacts in X-ray micro-tomography", Optics Express 26,
//! 28396 (2018): dead and fluctuating stripes (algorithm 6), large ones (5), the rest by sorting (3); detection is algorithm 4.

use super::Remover;
use super::columns::replacements;
use super::median::{mirrored, of_list};
use super::sorting::Sorted;
use isocenter_base::cpu::buffer::{reserved, zeros};
use isocenter_base::cpu::level::Level;
use isocenter_base::cpu::simd::{Plain, vectorised};
use isocenter_base::error::{Result, fail};

/// Views that columns are smoothed over where fluctuations are looked for.
const SMOOTHED: usize = 10;
/// Columns at either end that are never taken for dead.
const ENDS: usize = 2;

/// Factors that a column can be off by. In air, where means are next to 0, the quotient of two says nothing: such columns stay.
const FACTORS: std::ops::Range<f64> = 1e-2..1e2;

/// Parameters, as the paper and algotom have them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Vo {
    /// How far a stripe stands out, at least, over what sorted values do.
    pub snr: f64,
    /// Bins of the median against large stripes; 0: 51, or the detector's.
    pub large: usize,
    /// Bins of the median against small ones; 0: 21, or the detector's.
    pub small: usize,
    /// Part of the values of a column, the largest and smallest, that do not count towards its mean.
    pub dropped: f64,
}

/// The usual windows.
const LARGE: usize = 51;
pub(super) const SMALL: usize = 21;

/// A window, or the usual one.
pub(super) fn window_of(window: usize, usual: usize, bins: usize) -> usize {
    if window == 0 { usual.min(bins) } else { window }
}

impl Vo {
    /// With windows for so many bins.
    pub(crate) fn of(&self, bins: usize) -> Self {
        let (large, small) = (window_of(self.large, LARGE, bins), window_of(self.small, SMALL, bins));
        Self { large, small, ..*self }
    }

    /// Refuses numbers out of range, naming the field.
    pub(crate) fn check(&self) -> Result<()> {
        let Self { snr, dropped, .. } = self;
        for (name, value) in [("snr", snr), ("drop_ratio", dropped)] {
            if !value.is_finite() {
                fail!(NotFiniteParameter, "stripes.{name} is {value}; it must be finite");
            }
        }
        if *snr <= 1.0 || *snr > 1e6 {
            fail!(OutOfRange, "stripes.snr is {snr}; it must be above 1 and at most 1e6");
        }
        if !(0.0..=0.8).contains(dropped) {
            fail!(OutOfRange, "stripes.drop_ratio is {dropped}; it must be 0 to 0.8");
        }
        Ok(())
    }
}

/// What the work on a sinogram takes.
pub(super) struct Room {
    views: usize,
    bins: usize,
    sorted: Sorted,
    smooth: Vec<f32>,
    list: Vec<f64>,
    local: Vec<f64>,
    window: Vec<f64>,
    mask: Vec<bool>,
    running: Vec<f64>,
}

impl Room {
    pub(super) fn new(views: usize, bins: usize, largest_window: usize) -> Result<Self> {
        let sorted = Sorted::new(views, bins)?;
        let smooth = zeros(bins * sorted.pitch)?;
        let (list, local, running) = (zeros(bins)?, zeros(bins)?, zeros(bins)?);
        Ok(Self {
            views,
            bins,
            sorted,
            smooth,
            list,
            local,
            window: reserved(largest_window + 1)?,
            mask: zeros(bins)?,
            running,
        })
    }

    pub(super) fn bytes(views: usize, bins: usize, largest_window: usize) -> u64 {
        // Half as much again for medians; what sorts some columns; lists.
        let columns = Sorted::column_bytes(views);
        Sorted::bytes(views, bins) / 2 * 3 + columns + (25 * bins + 8 * largest_window) as u64
    }

    /// Smooths sorted columns, and puts them back.
    fn smooth(&mut self, window: usize, sinogram: &mut [f32], level: Level) -> Result<()> {
        self.sorted.medians(window, level, &mut self.smooth)?;
        self.sorted.put_back(&self.smooth, sinogram)
    }

    /// Algorithm 6.
    fn replace_dead(&mut self, vo: &Vo, sinogram: &mut [f32], level: Level) {
        let bins = self.bins;
        vectorised(
            level,
            Fluctuation { views: self.views, sinogram, running: &mut self.running, sums: &mut self.list },
        );
        of_list(&self.list, vo.large, &mut self.window, &mut self.local);
        let mean = self.local.iter().sum::<f64>() / bins as f64;
        if mean == 0.0 {
            return;
        }
        for (value, around) in self.list.iter_mut().zip(&self.local) {
            *value /= if *around == 0.0 { mean } else { *around };
        }
        detect(&self.list, vo.snr, &mut self.local, &mut self.mask);
        let ends = ENDS.min(bins);
        self.mask[..ends].fill(false);
        self.mask[bins - ends..].fill(false);
        for between in replacements(&self.mask) {
            for view in sinogram.chunks_exact_mut(bins) {
                view[between.bin] = between.of(|k| f64::from(view[k])) as f32;
            }
        }
    }

    /// Algorithm 5, on sorted columns.
    fn correct_large(&mut self, vo: &Vo, level: Level) -> Result<()> {
        let Self { views, bins, sorted, smooth, list, local, mask, .. } = self;
        sorted.medians(vo.large, level, smooth)?;
        let dropped = (0.5 * vo.dropped * *views as f64) as usize;
        let mean = |column: &[f32]| column[dropped..*views - dropped].iter().map(|v| f64::from(*v)).sum::<f64>();
        for bin in 0..*bins {
            let (is, should_be) = (mean(sorted.column(bin)), mean(&smooth[bin * sorted.pitch..]));
            list[bin] = if should_be == 0.0 { 1.0 } else { is / should_be };
        }
        detect(list, vo.snr, local, mask);
        for bin in 0..*bins {
            let at = bin * sorted.pitch..(bin + 1) * sorted.pitch;
            if mask[bin] {
                sorted.values[at.clone()].copy_from_slice(&smooth[at]);
            } else if FACTORS.contains(&list[bin]) {
                let factor = list[bin] as f32;
                sorted.values[at].iter_mut().for_each(|v| *v /= factor);
            }
        }
        Ok(())
    }
}

/// All of it.
pub(super) struct All {
    pub(super) vo: Vo,
    pub(super) room: Room,
}

impl Remover for All {
    fn correct(&mut self, sinogram: &mut [f32], level: Level) -> Result<()> {
        let Self { vo, room } = self;
        room.replace_dead(vo, sinogram, level);
        room.sorted.sort(sinogram)?;
        room.correct_large(vo, level)?;
        // What was done to a column keeps the order of its values.
        room.smooth(vo.small, sinogram, level)
    }
}

/// Algorithm 3 alone.
pub(super) struct Sorting {
    pub(super) window: usize,
    pub(super) room: Room,
}

impl Remover for Sorting {
    fn correct(&mut self, sinogram: &mut [f32], level: Level) -> Result<()> {
        let Self { window, room } = self;
        room.sorted.sort(sinogram)?;
        room.smooth(*window, sinogram, level)
    }
}

/// Sums of how far values are from the mean over views around theirs.
struct Fluctuation<'a> {
    views: usize,
    sinogram: &'a [f32],
    running: &'a mut [f64],
    sums: &'a mut [f64],
}

impl Plain for Fluctuation<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { views, sinogram, running, sums } = self;
        let bins = sums.len();
        let row = |v: isize| &sinogram[mirrored(v, views) * bins..][..bins];
        let before = (SMOOTHED / 2) as isize;
        running.fill(0.0);
        sums.fill(0.0);
        for v in -before..SMOOTHED as isize - before {
            running.iter_mut().zip(row(v)).for_each(|(r, v)| *r += f64::from(*v));
        }
        for v in 0..views as isize {
            let (leaving, entering) = (row(v - before), row(v - before + SMOOTHED as isize));
            let values = row(v).iter().zip(leaving.iter().zip(entering));
            for ((sum, running), (value, (leaving, entering))) in sums.iter_mut().zip(running.iter_mut()).zip(values) {
                *sum += (f64::from(*value) - *running / SMOOTHED as f64).abs();
                *running += f64::from(*entering) - f64::from(*leaving);
            }
        }
    }
}

/// Algorithm 4: marks what stands out of sorted values, whose middle half gives a line; and the bins next to it. `sorted` is as long as the
/// values.
fn detect(values: &[f64], snr: f64, sorted: &mut [f64], mask: &mut [bool]) {
    let n = values.len();
    sorted.copy_from_slice(values);
    sorted.sort_unstable_by(f64::total_cmp);
    mask.fill(false);
    let dropped = n / 4;
    let Some(middle) = sorted.get(dropped..(n - dropped).saturating_sub(1)).filter(|m| m.len() > 1) else { return };
    let (count, start) = (middle.len() as f64, dropped as f64);
    let centre = start + (count - 1.0) / 2.0;
    let mean = middle.iter().sum::<f64>() / count;
    let (mut up, mut across) = (0.0, 0.0);
    for (k, v) in middle.iter().enumerate() {
        let x = start + k as f64 - centre;
        up += x * (v - mean);
        across += x * x;
    }
    let slope = up / across;
    let (low, high) = (mean - slope * centre, mean + slope * ((n - 1) as f64 - centre));
    let noise = high - low;
    // Without noise nothing can stand out of it.
    if noise < 1e-5 {
        return;
    }
    let far = 0.5 * snr * noise;
    let (above, below) = ((sorted[n - 1] - high).abs() / noise >= snr, (low - sorted[0]).abs() / noise >= snr);
    let stripe = |v: f64| above && v > high + far || below && v <= low - far;
    for k in (0..n).filter(|k| stripe(values[*k])) {
        mask[k.saturating_sub(1)..n.min(k + 2)].fill(true);
    }
}
