//! The rows that the search looks at: some detector rows, of the views about the seams.

use super::seams::Seams;
use super::spoiled;
use crate::rows::source::{Source, spread};
use isocenter_base::context::Job;
use isocenter_base::cpu::buffer::{Buffer, append, collected, zeros};
use isocenter_base::cpu::parallel::*;
use isocenter_base::error::{Result, fail};
use std::ops::Range;

/// Line integrals of some detector rows.
pub(super) struct Rows {
    /// The detector rows.
    pub(super) lines: Vec<usize>,
    pub(super) bins: usize,
    /// Views of the scan, in rising order.
    views: Vec<usize>,
    /// `[row][view][bin]`.
    values: Buffer,
    /// Variance of what a bin adds to all views alike (stripes), of the sum over rows over their number.
    pub(super) stripes: f64,
    /// Views that are unlike those beside them.
    pub(super) spoiled: Vec<usize>,
    /// `[row][bin]`, over views all round, where there are stripes to judge; else empty.
    means: Vec<f32>,
}

/// Numbers that are kept at a time.
const MAX_VALUES: u64 = 64 << 20;
/// Views over which stripes stand still while the object moves on.
const STRIPE_VIEWS: usize = 96;

impl Rows {
    /// Up to `wanted` detector rows, evenly spread over the slices: fewer where these do not fit the context's memory. Views that are
    /// `left_out` are no part of anything.
    pub(super) fn read(source: &Source, seams: &Seams, left_out: &[usize], wanted: usize, job: &Job) -> Result<Self> {
        let g = source.geometry;
        let all_round = spread(STRIPE_VIEWS, g.views())?.into_iter().filter(|v| !left_out.contains(v));
        let all_round = collected(all_round)?;
        let mut views = seams.views()?;
        for v in &all_round {
            append(&mut views, *v)?;
        }
        views.sort_unstable();
        views.dedup();
        let per_row = views.len().checked_mul(g.bins);
        let Some(per_row) = per_row.filter(|n| *n <= isize::MAX as usize / 64) else {
            fail!(SizeOverflow, "{} views of {} bins do not fit the address space", views.len(), g.bins);
        };
        // Half of it: what is made of a row besides, by each thread, is small.
        let cap = source.context.memory_cap(0);
        let room = MAX_VALUES.min(cap / 2 / size_of::<f32>() as u64) / per_row as u64;
        if room == 0 && cap / 2 < (per_row * size_of::<f32>()) as u64 {
            let needed = 2 * per_row * size_of::<f32>();
            fail!(MemoryCap, "memory_cap is {cap} bytes; the search for the axis needs at least {needed}");
        }
        let slices = spread(wanted.min(room.max(1) as usize), g.slices)?;
        let lines = collected(slices.iter().map(|s| g.first_row + s))?;
        let mut values = Buffer::zeroed(lines.len() * per_row)?;
        for (slice, rows) in slices.iter().zip(values.chunks_mut(per_row)) {
            job.check()?;
            source.read(*slice, &views, rows)?;
        }
        let mut rows =
            Self { lines, bins: g.bins, views, values, stripes: 0.0, spoiled: Vec::new(), means: Vec::new() };
        rows.mend(&all_round)?;
        rows.spoiled = spoiled::views(&g.angles, &rows.views, &rows.view_means()?)?;
        rows.judge_stripes(seams, &all_round)?;
        Ok(rows)
    }

    /// Mends bins that are spoiled in a row.
    fn mend(&mut self, all_round: &[usize]) -> Result<()> {
        let per_row = self.views.len() * self.bins;
        let spoiled = (0..self.lines.len()).into_par_iter().map(|k| self.spoiled_bins(k, all_round));
        let spoiled = spoiled.collect::<Result<Vec<_>>>()?;
        for (rows, spoiled) in self.values.chunks_mut(per_row).zip(&spoiled).filter(|(_, s)| !s.is_empty()) {
            rows.chunks_mut(self.bins).for_each(|row| spoiled::mend(row, spoiled));
        }
        Ok(())
    }

    fn spoiled_bins(&self, row: usize, all_round: &[usize]) -> Result<Vec<Range<usize>>> {
        let Some(first) = all_round.first() else { return Ok(Vec::new()) };
        // Differences from a first view are summed, so that nothing is lost to rounding.
        let mut sums: Vec<[f32; 2]> = zeros(self.bins)?;
        for view in all_round {
            for ((sum, v), of) in sums.iter_mut().zip(self.row(row, *view)).zip(self.row(row, *first)) {
                let d = v - of;
                *sum = [sum[0] + d, sum[1] + d * d];
            }
        }
        let n = all_round.len() as f64;
        let deviation = |[d, dd]: &[f32; 2]| (f64::from(*dd) / n - (f64::from(*d) / n).powi(2)).max(0.0).sqrt();
        spoiled::bins(&collected(sums.iter().map(deviation))?)
    }

    /// The mean over all rows of each view that was read.
    fn view_means(&self) -> Result<Vec<f64>> {
        let mean = |view: usize| {
            let sum = |row: usize| self.row(row, self.views[view]).iter().sum::<f32>();
            (0..self.lines.len()).map(|row| f64::from(sum(row))).sum::<f64>() / (self.lines.len() * self.bins) as f64
        };
        (0..self.views.len()).into_par_iter().map(|view| Ok(mean(view))).collect()
    }

    /// A row of a view that was read.
    pub(super) fn row(&self, row: usize, view: usize) -> &[f32] {
        let place = self.views.binary_search(&view).unwrap_or(0);
        &self.values[(row * self.views.len() + place) * self.bins..][..self.bins]
    }

    /// The mean over views, of which stripes are a part, where that part has not been taken out.
    pub(super) fn mean(&self, row: usize) -> Option<&[f32]> {
        (!self.means.is_empty()).then(|| &self.means[row * self.bins..][..self.bins])
    }

    /// Finds how much stripes there are; where the seams are spread over all directions takes them out, too. The mean over both views of
    /// all pairs is symmetric about the axis but for stripes, so that nothing that tells of the axis is lost with it. About one seam it is
    /// not: there stripes are noise that no number of views averages.
    fn judge_stripes(&mut self, seams: &Seams, all_round: &[usize]) -> Result<()> {
        const MIN_SEAMS: usize = 8;
        let (bins, count) = (self.bins, self.lines.len());
        if seams.list.len() >= MIN_SEAMS {
            let per_row = self.views.len() * bins;
            for k in 0..count {
                let mut mean: Vec<f64> = zeros(bins)?;
                for view in seams.list.iter().flat_map(|s| s.pair) {
                    mean.iter_mut().zip(self.row(k, view)).for_each(|(m, v)| *m += f64::from(*v));
                }
                let scale = 0.5 / seams.list.len() as f64;
                for row in self.values[k * per_row..][..per_row].chunks_mut(bins) {
                    row.iter_mut().zip(&mean).for_each(|(v, m)| *v -= (m * scale) as f32);
                }
            }
            return Ok(());
        }
        let mut mean: Vec<f64> = zeros(bins)?;
        self.means = zeros(count * bins)?;
        for k in 0..count {
            let mut sum: Vec<f64> = zeros(bins)?;
            for view in all_round {
                sum.iter_mut().zip(self.row(k, *view)).for_each(|(m, v)| *m += f64::from(*v));
            }
            let scale = 1.0 / all_round.len() as f64;
            for ((to, sum), mean) in self.means[k * bins..][..bins].iter_mut().zip(&sum).zip(&mut mean) {
                *to = (sum * scale) as f32;
                *mean += sum * scale / count as f64;
            }
        }
        // Second differences: of white noise they have 6 times its variance, of the object's mean next to nothing.
        let mut bends = collected(mean.windows(3).map(|w| (w[0] - 2.0 * w[1] + w[2]).abs()))?;
        bends.sort_unstable_by(f64::total_cmp);
        let deviation = bends[bends.len() / 2] / 0.6745;
        self.stripes = deviation * deviation / 6.0 * count as f64;
        Ok(())
    }
}
