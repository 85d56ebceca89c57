//! Noise of the flats is taken out of their components, which would otherwise be in all views.
//!
//! What a component is of the beam, u / F, is smoothed: what is fixed in the detector and its scintillator is in both. The window is the
//! one for which the expected error is smallest, by Stein's estimate (C. M. Stein, "Estimation of the mean of a multivariate normal
//! distribution", Ann. Stat. 9, 1981): for a linear filter A, and noise z in u, the mean of `|A u - true u|^2` is that of
//! `|u - A u|^2 + 2 z A z - z^2`. z is not known, but one of its kind is: the component that is noise alone.

use super::bad_pixels::Repairs;
use isocenter_base::cpu::buffer::zeros;
use isocenter_base::cpu::parallel::*;
use isocenter_base::error::Result;

/// Rows that one task smooths one after the other, at least.
const TOGETHER: usize = 64;

/// Half-widths along bins and rows of a running mean, which is taken twice.
type Reach = [usize; 2];

pub(super) struct Smoother<'a> {
    beam: &'a [f64],
    bad: &'a [bool],
    bins: usize,
    /// What bad pixels become meanwhile.
    repairs: Repairs,
    /// Noise over the beam, and the mean of z A z for windows that have been tried.
    noise: Vec<f32>,
    left: Vec<(Reach, f64)>,
}

impl<'a> Smoother<'a> {
    /// For components with noise like that in these rows.
    pub(super) fn new<'r>(
        beam: &'a [f64],
        bad: &'a [bool],
        bins: usize,
        noise: impl Fn(usize) -> &'r [f32] + Sync,
    ) -> Result<Self> {
        let mut smoother =
            Self { beam, bad, bins, repairs: Repairs::new(bad, bins)?, noise: Vec::new(), left: Vec::new() };
        smoother.noise = smoother.over_beam(noise)?;
        Ok(smoother)
    }

    /// Smooths the rows of a component; bad pixels become 0.
    pub(super) fn smooth<'r>(&mut self, rows: impl Fn(usize) -> &'r [f32] + Sync, plane: &mut [f32]) -> Result<()> {
        let parts = self.over_beam(rows)?;
        let ends = [self.bins / 4, plane.len() / self.bins / 4];
        let (mut reach, mut best) = ([0, 0], self.filtered(&parts, [0, 0])?);
        let mut risk = self.risk(&parts, &best, reach)?;
        loop {
            let mut better = None;
            for side in 0..2 {
                let mut next: Reach = reach;
                next[side] = (2 * reach[side]).max(1);
                if next[side] > ends[side] {
                    continue;
                }
                let smooth = self.filtered(&parts, next)?;
                let of_next = self.risk(&parts, &smooth, next)?;
                if of_next < risk {
                    (risk, better) = (of_next, Some((next, smooth)));
                }
            }
            match better {
                Some(next) => (reach, best) = next,
                None => break,
            }
        }
        let pixels = best.par_iter().zip(self.beam).zip(self.bad);
        plane.par_iter_mut().zip(pixels).for_each(|(to, ((part, beam), bad))| {
            *to = if *bad { 0.0 } else { part * *beam as f32 };
        });
        Ok(())
    }

    /// Rows as parts of the beam; bad pixels are on straight lines between their neighbours.
    fn over_beam<'r>(&self, rows: impl Fn(usize) -> &'r [f32] + Sync) -> Result<Vec<f32>> {
        let mut parts: Vec<f32> = zeros(self.beam.len())?;
        let to = parts.par_chunks_exact_mut(self.bins).enumerate();
        to.for_each(|(row, to)| {
            let values = rows(row);
            let at = row * self.bins..(row + 1) * self.bins;
            let pixels = values.iter().zip(&self.beam[at.clone()]).zip(&self.bad[at]);
            for (to, ((v, beam), bad)) in to.iter_mut().zip(pixels) {
                *to = if *bad { 0.0 } else { (f64::from(*v) / beam) as f32 };
            }
            self.repairs.apply(row, to);
        });
        Ok(parts)
    }

    /// Twice the estimate of the expected squared error, but for what is the same for all windows.
    fn risk(&mut self, parts: &[f32], smooth: &[f32], reach: Reach) -> Result<f64> {
        let known = self.left.iter().find(|(of, _)| *of == reach).map(|(_, left)| *left);
        let left = match known {
            Some(left) => left,
            None => {
                let smooth = self.filtered(&self.noise, reach)?;
                let left = self.mean(&self.noise, &smooth, |noise, smooth| noise * smooth)?;
                self.left.push((reach, left));
                left
            }
        };
        Ok(self.mean(parts, smooth, |v, smooth| (v - smooth).powi(2))? + 2.0 * left)
    }

    /// Sum over good pixels, weighted by the square of the beam, of something of two values each.
    fn mean(&self, a: &[f32], b: &[f32], of: impl Fn(f64, f64) -> f64 + Sync) -> Result<f64> {
        let mut sums: Vec<f64> = zeros(self.beam.len() / self.bins)?;
        sums.par_iter_mut().enumerate().for_each(|(row, sum)| {
            let at = row * self.bins..(row + 1) * self.bins;
            let pixels = self.beam[at.clone()].iter().zip(&self.bad[at.clone()]);
            for ((a, b), (beam, bad)) in a[at.clone()].iter().zip(&b[at]).zip(pixels) {
                if !bad {
                    *sum += beam * beam * of(f64::from(*a), f64::from(*b));
                }
            }
        });
        Ok(sums.iter().sum())
    }

    /// Running means along bins and along rows, each twice, so that a triangle weighs neighbours; of those that there are at the edges.
    fn filtered(&self, values: &[f32], [across, along]: Reach) -> Result<Vec<f32>> {
        let bins = self.bins;
        let mut smooth = isocenter_base::cpu::buffer::copied(values)?;
        if across > 0 {
            smooth.par_chunks_mut(TOGETHER * bins).try_for_each(|rows| {
                let mut sums: Vec<f64> = zeros(bins + 1)?;
                for row in rows.chunks_exact_mut(bins) {
                    mean_of_row(row, across, &mut sums);
                    mean_of_row(row, across, &mut sums);
                }
                Ok(())
            })?;
        }
        if along > 0 {
            let mut other: Vec<f32> = zeros(values.len())?;
            mean_of_columns(&smooth, along, bins, &mut other)?;
            mean_of_columns(&other, along, bins, &mut smooth)?;
        }
        Ok(smooth)
    }
}

/// The mean of each value and up to `reach` on either side; `sums` has room for one more than there are.
fn mean_of_row(row: &mut [f32], reach: usize, sums: &mut [f64]) {
    let mut sum = 0.0;
    for (to, v) in sums[1..].iter_mut().zip(&*row) {
        sum += f64::from(*v);
        *to = sum;
    }
    let (bins, share) = (row.len(), 1.0 / (2 * reach + 1) as f64);
    // Windows are shorter at the ends; there are few of these.
    for k in (0..reach.min(bins)).chain(bins.saturating_sub(reach).max(reach)..bins) {
        let (from, to) = (k.saturating_sub(reach), (k + reach + 1).min(bins));
        row[k] = ((sums[to] - sums[from]) / (to - from) as f64) as f32;
    }
    if bins > 2 * reach {
        let ends = sums[2 * reach + 1..].iter().zip(&*sums);
        for (v, (to, from)) in row[reach..bins - reach].iter_mut().zip(ends) {
            *v = ((to - from) * share) as f32;
        }
    }
}

/// The same of columns.
fn mean_of_columns(values: &[f32], reach: usize, bins: usize, means: &mut [f32]) -> Result<()> {
    let rows = values.len() / bins;
    let row = |k: usize| &values[k * bins..][..bins];
    // So that what is summed up first is no more than what follows.
    let together = TOGETHER.max(2 * reach);
    means.par_chunks_mut(together * bins).enumerate().try_for_each(|(part, means)| {
        let mut sums: Vec<f64> = zeros(bins)?;
        let first = part * together;
        for k in first.saturating_sub(reach)..(first + reach).min(rows) {
            sums.iter_mut().zip(row(k)).for_each(|(sum, v)| *sum += f64::from(*v));
        }
        for (k, means) in (first..).zip(means.chunks_exact_mut(bins)) {
            if k + reach < rows {
                sums.iter_mut().zip(row(k + reach)).for_each(|(sum, v)| *sum += f64::from(*v));
            }
            if k > first && k > reach {
                sums.iter_mut().zip(row(k - reach - 1)).for_each(|(sum, v)| *sum -= f64::from(*v));
            }
            let count = (k + reach + 1).min(rows) - k.saturating_sub(reach);
            means.iter_mut().zip(&sums).for_each(|(mean, sum)| *mean = (sum / count as f64) as f32);
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Running means by their definition.
    fn plain(values: &[f64], bins: usize, [across, along]: Reach) -> Vec<f64> {
        let rows = values.len() / bins;
        (0..values.len())
            .map(|at| {
                let (row, bin) = (at / bins, at % bins);
                let near = |k: usize, reach: usize, n: usize| k.saturating_sub(reach)..(k + reach + 1).min(n);
                let (r, b) = (near(row, along, rows), near(bin, across, bins));
                let sum: f64 = r.clone().flat_map(|r| b.clone().map(move |b| values[r * bins + b])).sum();
                sum / (r.len() * b.len()) as f64
            })
            .collect()
    }

    #[test]
    fn means_by_their_definition() {
        for (rows, bins, reach) in [(1, 37, [4, 0]), (150, 9, [2, 33]), (70, 20, [0, 1]), (5, 5, [1, 1])] {
            let values: Vec<f32> = (0..rows * bins).map(|k| ((k * k) % 101) as f32 - 50.0).collect();
            let (beam, bad) = (vec![1.0; values.len()], vec![false; values.len()]);
            let smoother = Smoother::new(&beam, &bad, bins, |row| &values[row * bins..][..bins]).unwrap();
            let seen = smoother.filtered(&values, reach).unwrap();
            let values: Vec<f64> = values.into_iter().map(f64::from).collect();
            let expected = plain(&plain(&values, bins, reach), bins, reach);
            // f32 between the four means, of values up to 50.
            let off = seen.iter().zip(&expected).map(|(s, e)| (f64::from(*s) - e).abs()).fold(0.0, f64::max);
            assert!(off < 4.0 * 50.0 * 6e-8, "{rows} x {bins}, {reach:?}: {off:e}");
        }
    }
}
