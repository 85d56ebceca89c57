//! Off-resonance and decay as a sum of few products: `exp(-z t) = sum over l of b_l(t) exp(-z t_l)`, z = r + 2 pi i f.
//!
//! Of the sums conj(z) + z' of pairs of rates it is that of F^H W F: factors exp(-(conj(z) + z') t_l) separate, too.
//!
//! Of many times, those are taken from which the others follow best (a QR decomposition of the factors of all rates with pivoting: an
//! interpolative decomposition); b is the least-squares fit over the rates that there are. Time segmentation with interpolators that
//! are fitted to the field's histogram: B. P. Sutton, D. C. Noll, J. A. Fessler, "Fast, iterative image reconstruction for MRI in the
//! presence of field inhomogeneities", IEEE Trans. Med. Imaging 22, 2003.

use isocenter_base::cpu::buffer::{Buffer, collected, copied, filled};
use isocenter_base::cpu::parallel::*;
use isocenter_base::error::{Result, fail};
use isocenter_nufft::Scalar;
use rustfft::num_complex::Complex;
use std::f64::consts::{PI, TAU};
use std::sync::Arc;

/// Off-resonance, decay and times of a scan.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Field {
    /// Of the voxels, in Hz.
    pub(super) hertz: Arc<Vec<f64>>,
    /// Of the voxels, R2* in 1/s; None for none.
    pub(super) decay: Option<Arc<Vec<f64>>>,
    /// Of the samples.
    pub(super) seconds: Vec<f64>,
    turns: f64,
}

/// Turns between the fastest and the slowest voxel, up to which a sum of products serves.
pub(super) const MAX_TURNS: f64 = 256.0;

/// Powers of e by which a signal may fall while samples are taken, and by which it may be larger before time 0, where single precision ends.
const MAX_FALL: [f64; 2] = [1000.0, 80.0];

/// Bins at most: a fit takes memory and time for each.
const MAX_BINS: usize = 8192;

/// Points of the interpolation between times.
const POINTS: usize = 6;
/// Bins around one that holds voxels that are fitted, too. Of the two next ones alone, a lone bin's voxels were off by 4e-4 between its rate and
/// theirs, whatever the tolerance; by 5 they keep to 1e-9, and bins in a crowd have these neighbours anyway.
const NEAR: usize = 5;

/// Rates z and how much each counts.
#[derive(Clone, Debug)]
pub(super) struct Rates {
    /// 1/s, Hz and weight; weights sum to 1.
    list: Vec<[f64; 3]>,
    /// Each stands for its conjugate, too, so that interpolators are real.
    both_signs: bool,
    /// Of frequencies, the middle and half of the range; the greatest decay.
    middle: f64,
    reach: f64,
    fastest: f64,
}

/// How many voxels have which rate.
struct Histogram {
    /// `[decay][frequency]`.
    counts: Vec<f64>,
    bins: [usize; 2],
    /// Of the first bin, and from bin to bin: 1/s, Hz.
    lowest: [f64; 2],
    widths: [f64; 2],
}

fn range(values: impl Iterator<Item = f64>) -> [f64; 2] {
    let [low, high] = values.fold([f64::INFINITY, f64::NEG_INFINITY], |[a, b], v| [a.min(v), b.max(v)]);
    if low <= high { [low, high] } else { [0.0, 0.0] }
}

impl Field {
    pub(super) fn new(hertz: Vec<f64>, decay: Option<Vec<f64>>, seconds: Vec<f64>) -> Self {
        Self::at(Arc::new(hertz), decay.map(Arc::new), seconds)
    }

    fn at(hertz: Arc<Vec<f64>>, decay: Option<Arc<Vec<f64>>>, seconds: Vec<f64>) -> Self {
        let ([low, high], [first, last]) = (range(hertz.iter().copied()), range(seconds.iter().copied()));
        Self { turns: (high - low) * (last - first), hertz, decay, seconds }
    }

    /// Of a part of the samples.
    pub(super) fn part(&self, range: &std::ops::Range<usize>) -> Result<Self> {
        Ok(Self::at(self.hertz.clone(), self.decay.clone(), copied(&self.seconds[range.clone()])?))
    }

    /// Between the fastest and the slowest voxel, from the first sample to the last.
    pub(super) fn turns(&self) -> f64 {
        self.turns
    }

    /// An error if the decay leaves nothing, or more than numbers hold.
    pub(super) fn check(&self) -> Result<()> {
        let [first, last] = range(self.seconds.iter().copied());
        let [_, fastest] = range(self.decay.iter().flat_map(|d| d.iter().copied()));
        let [fall, rise] = MAX_FALL;
        if fastest * (last - first) > fall || fastest * -first > rise {
            fail!(
                OutOfRange,
                "decay reaches {fastest} 1/s with times from {first} to {last} s; while samples are taken signals may fall by e^-{fall}, and be e^{rise} times as large before time 0: is decay in 1/s, are times in s?"
            );
        }
        Ok(())
    }

    /// What is odd about it.
    pub(super) fn suspicion(&self) -> Option<String> {
        let [first, last] = range(self.seconds.iter().copied());
        let [slowest, fastest] = range(self.decay.iter().flat_map(|d| d.iter().copied()));
        if first == 0.0 && last == 0.0 && self.seconds.len() > 1 {
            return Some(
                "times are all 0: field and decay change nothing; time is that from the excitation to each sample"
                    .into(),
            );
        }
        if last - first > 2.0 {
            return Some(format!(
                "times reach from {first} to {last} s: a readout takes milliseconds; are they in seconds?"
            ));
        }
        if fastest > 0.0 && fastest < 0.5 {
            return Some(format!("decay is {slowest} to {fastest} 1/s: is it a time (T2*), or in 1/ms?"));
        }
        None
    }

    /// Decay alone and off-resonance alone; None without decay.
    pub(super) fn apart(&self) -> Result<Option<(Self, Self)>> {
        let Some(decay) = &self.decay else { return Ok(None) };
        let still = filled(self.hertz.len(), 0.0)?;
        let alone = Self::at(Arc::new(still), Some(decay.clone()), copied(&self.seconds)?);
        Ok(Some((alone, Self::at(self.hertz.clone(), None, copied(&self.seconds)?))))
    }
}

impl Rates {
    /// z of a field's voxels.
    pub(super) fn of(field: &Field) -> Result<Self> {
        let histogram = Histogram::new(field, MAX_BINS)?;
        let [_, low] = histogram.lowest;
        let [decay, high] = histogram.highest();
        let (middle, reach) = ((low + high) / 2.0, (high - low) / 2.0);
        Ok(Self { list: histogram.weighted()?, both_signs: false, middle, reach, fastest: decay })
    }

    /// conj(z) + z' of all pairs of a field's voxels.
    pub(super) fn of_pairs(field: &Field) -> Result<Self> {
        // Pairs have nearly twice as many decays, and products for them are searched among twice as many times.
        let histogram = Histogram::new(field, MAX_BINS / 4)?.of_pairs()?;
        let [fastest, reach] = histogram.highest();
        Ok(Self { list: histogram.weighted()?, both_signs: true, middle: 0.0, reach, fastest })
    }
}

impl Histogram {
    /// Of so many bins at most.
    fn new(field: &Field, most: usize) -> Result<Self> {
        let [first, last] = range(field.seconds.iter().copied());
        let [low, high] = range(field.hertz.iter().copied());
        let decay = |voxel: usize| field.decay.as_ref().map_or(0.0, |d| d[voxel]);
        let [slowest, fastest] = range((0..field.hertz.len()).map(decay));
        let span = last - first;
        // From bin to bin factors differ by little: weights of a fit need no more. The first and the last are at the ends of the range,
        // beyond which a fit would soon be worse.
        let number = |extent: f64, a_unit: f64, least: usize| match extent > 0.0 {
            true => (extent * span * a_unit).ceil() as usize + least,
            false => 1,
        };
        let columns = number(high - low, 8.0, 64).min(most / 2);
        let bins = [number(fastest - slowest, 2.0, 8).min(24).min(most / columns), columns];
        let width = |extent: f64, bins: usize| if bins > 1 { extent / (bins - 1) as f64 } else { 0.0 };
        let widths = [width(fastest - slowest, bins[0]), width(high - low, bins[1])];
        let mut counts = filled(bins[0] * bins[1], 0.0f64)?;
        let bin = |v: f64, from: f64, k: usize| {
            if bins[k] == 1 { 0 } else { (((v - from) / widths[k]).round() as usize).min(bins[k] - 1) }
        };
        for (voxel, hertz) in field.hertz.iter().enumerate() {
            counts[bin(decay(voxel), slowest, 0) * bins[1] + bin(*hertz, low, 1)] += 1.0;
        }
        Ok(Self { counts, bins, lowest: [slowest, low], widths })
    }

    /// Of conj(z) + z' over all pairs: decays add, frequencies differ. A pair and the same in the other order have conjugates, and share a
    /// bin, that of the frequency which is not negative.
    fn of_pairs(&self) -> Result<Self> {
        let [rows, columns] = self.bins;
        let used: Vec<[usize; 2]> =
            collected((0..self.counts.len()).filter(|i| self.counts[*i] > 0.0).map(|i| [i / columns, i % columns]))?;
        let mut counts = filled((2 * rows - 1) * columns, 0.0)?;
        let count = |[row, column]: [usize; 2]| self.counts[row * columns + column];
        for one in &used {
            for other in &used {
                counts[(one[0] + other[0]) * columns + one[1].abs_diff(other[1])] += count(*one) * count(*other);
            }
        }
        let lowest = [2.0 * self.lowest[0], 0.0];
        Ok(Self { counts, bins: [2 * rows - 1, columns], lowest, widths: self.widths })
    }

    /// The last bin's rate.
    fn highest(&self) -> [f64; 2] {
        [0, 1].map(|k| self.lowest[k] + (self.bins[k] - 1) as f64 * self.widths[k])
    }

    /// Rates of the bins that are not empty, and of those around them: half by what is in them, half alike, so that few voxels far from the
    /// others are fitted too.
    fn weighted(&self) -> Result<Vec<[f64; 3]>> {
        let [rows, columns] = self.bins;
        let near = |i: usize| {
            let [row, column] = [i / columns, i % columns];
            let around = |at: usize, count: usize| at.saturating_sub(NEAR)..(at + NEAR + 1).min(count);
            around(row, rows).any(|r| around(column, columns).any(|c| self.counts[r * columns + c] > 0.0))
        };
        let used: Vec<usize> = collected((0..self.counts.len()).filter(|i| near(*i)))?;
        let all: f64 = self.counts.iter().sum();
        collected(used.iter().map(|i| {
            let at = [i / columns, i % columns];
            let [decay, hertz] = [0, 1].map(|k| self.lowest[k] + at[k] as f64 * self.widths[k]);
            [decay, hertz, 0.5 * self.counts[*i] / all + 0.5 / used.len() as f64]
        }))
    }
}

/// The terms of a sum of products.
#[derive(Clone, Debug)]
pub(super) struct Segments {
    /// t_l.
    times: Vec<f64>,
    /// The frequency that samples have besides: b is for what voxels differ from it.
    middle: f64,
    /// b at times a step apart: `[l][time]`.
    table: Vec<Complex<f64>>,
    first: f64,
    step: f64,
    error: f64,
}

impl Segments {
    /// As many terms as the tolerance takes, a relative l2 error.
    pub(super) fn new(rates: &Rates, seconds: &[f64], tolerance: f64) -> Result<Self> {
        let [begin, end] = range(seconds.iter().copied());
        // The error of interpolating exp(i x) with this step is 0.0049 x^6 at most: a tenth of the tolerance. Steps are short besides, since
        // half a dozen of them beyond the ends are fitted, too.
        let angle = (20.0 * tolerance).powf(1.0 / POINTS as f64).min(0.1);
        let fastest = TAU * rates.reach + rates.fastest;
        let steps = ((end - begin) * fastest / angle).ceil().max(1.0) as usize;
        let step = if end > begin { (end - begin) / steps as f64 } else { 1.0 };
        let (first, count) = (begin - (POINTS / 2 - 1) as f64 * step, steps + POINTS);
        let mut made = Self { times: Vec::new(), middle: rates.middle, table: Vec::new(), first, step, error: 0.0 };

        let mut used = filled(count, false)?;
        for t in seconds {
            let (at, _) = made.place(*t);
            used[at..at + POINTS].fill(true);
        }
        let places: Vec<usize> = collected((0..count).filter(|k| used[*k]))?;
        let time = |k: usize| first + k as f64 * step;
        let rows = rates.list.len();
        // Sums with real factors, of which there may be as many as real and imaginary parts.
        let independent = if rates.both_signs { 2 * rows } else { rows };
        let mut columns: Buffer<Complex<f64>> = Buffer::zeroed(places.len() * rows)?;
        columns.par_chunks_mut(rows).zip(&places).for_each(|(column, k)| {
            for (to, [decay, hertz, weight]) in column.iter_mut().zip(&rates.list) {
                *to = factor(*decay, hertz - rates.middle, time(*k)) * weight.sqrt();
            }
        });

        // R of the decomposition: a row for each term, `[l][place]`.
        let energy = |columns: &[Complex<f64>]| -> Result<Vec<f64>> {
            let of = |c: &[Complex<f64>]| c.iter().map(Complex::norm_sqr).sum::<f64>();
            let mut out = filled(places.len(), 0.0)?;
            out.par_iter_mut().zip(columns.par_chunks(rows)).for_each(|(o, c)| *o = of(c));
            Ok(out)
        };
        let mut left = energy(&columns)?;
        let whole: f64 = left.iter().sum();
        let (mut r, mut chosen): (Vec<Vec<Complex<f64>>>, Vec<usize>) = (Vec::new(), Vec::new());
        loop {
            made.error = (left.iter().sum::<f64>() / whole).sqrt();
            let enough = made.error <= tolerance && !chosen.is_empty();
            if enough || chosen.len() == places.len().min(independent) {
                break;
            }
            let most = left.iter().enumerate().fold(0, |best, (k, v)| if *v > left[best] { k } else { best });
            if chosen.contains(&most) || left[most] <= 0.0 {
                break;
            }
            let norm = left[most].sqrt();
            let direction: Vec<Complex<f64>> = collected(columns[most * rows..][..rows].iter().map(|v| v / norm))?;
            let mut row = filled(places.len(), Complex::new(0.0, 0.0))?;
            row.par_iter_mut().zip(columns.par_chunks_mut(rows)).for_each(|(part, column)| {
                // Twice: what rounding has left of this direction goes, too.
                for _ in 0..2 {
                    let mut along: Complex<f64> = direction.iter().zip(&*column).map(|(d, c)| d.conj() * c).sum();
                    if rates.both_signs {
                        along.im = 0.0;
                    }
                    column.iter_mut().zip(&direction).for_each(|(c, d)| *c -= d * along);
                    *part += along;
                }
            });
            r.push(row);
            chosen.push(most);
            left = energy(&columns)?;
        }

        // b of each time: R of the chosen times, solved for R of this one.
        let terms = chosen.len();
        made.table = filled(terms * count, Complex::new(0.0, 0.0))?;
        for (k, place) in places.iter().enumerate() {
            let mut b: Vec<Complex<f64>> = collected(r.iter().map(|row| row[k]))?;
            for l in (0..terms).rev() {
                b[l] /= r[l][chosen[l]];
                let value = b[l];
                for (above, row) in b.iter_mut().zip(&r).take(l) {
                    *above -= row[chosen[l]] * value;
                }
            }
            for (l, b) in b.into_iter().enumerate() {
                made.table[l * count + place] = b;
            }
        }
        made.times = collected(chosen.iter().map(|k| time(places[*k])))?;
        Ok(made)
    }

    pub(super) fn terms(&self) -> usize {
        self.times.len()
    }

    /// The relative l2 error of the sum of products, over samples and over voxels whose rates come about alike.
    pub(super) fn error(&self) -> f64 {
        self.error
    }

    /// The first of the points between which a time is interpolated, and how far behind the middle ones' first it is.
    fn place(&self, t: f64) -> (usize, f64) {
        let at = ((t - self.first) / self.step).max(0.0);
        let whole = at.floor().max((POINTS / 2 - 1) as f64);
        (whole as usize - (POINTS / 2 - 1), at - whole)
    }

    /// exp(-z t_l) of voxels, less what all samples have: `[l][voxel]`.
    pub(super) fn of_voxels<T: Scalar>(&self, field: &Field) -> Result<Buffer<Complex<T>>> {
        let voxels = field.hertz.len();
        let mut out: Buffer<Complex<T>> = Buffer::zeroed(self.terms() * voxels)?;
        for (to, time) in out.chunks_exact_mut(voxels).zip(&self.times) {
            to.par_iter_mut().with_min_len(1 << 10).enumerate().for_each(|(voxel, to)| {
                let decay = field.decay.as_ref().map_or(0.0, |d| d[voxel]);
                *to = converted(factor(decay, field.hertz[voxel] - self.middle, *time));
            });
        }
        Ok(out)
    }

    /// b_l of samples, with what all voxels have: `[l][sample]`.
    pub(super) fn of_samples<T: Scalar>(&self, seconds: &[f64]) -> Result<Buffer<Complex<T>>> {
        let mut out: Buffer<Complex<T>> = Buffer::zeroed(self.terms() * seconds.len())?;
        for (term, to) in out.chunks_exact_mut(seconds.len()).enumerate() {
            self.of_term(term, seconds, to);
        }
        Ok(out)
    }

    /// The same of one term.
    pub(super) fn of_term<T: Scalar>(&self, term: usize, seconds: &[f64], to: &mut [Complex<T>]) {
        let count = self.table.len() / self.terms();
        let table = &self.table[term * count..][..count];
        to.par_iter_mut().zip(seconds).with_min_len(1 << 10).for_each(|(to, t)| {
            let (at, between) = self.place(*t);
            let b: Complex<f64> = table[at..at + POINTS].iter().zip(lagrange(between)).map(|(b, w)| b * w).sum();
            *to = converted(b * factor(0.0, self.middle, *t));
        });
    }
}

/// exp(-(decay + 2 pi i hertz) t)
fn factor(decay: f64, hertz: f64, t: f64) -> Complex<f64> {
    let turns = hertz * t;
    let (sine, cosine) = (2.0 * PI * (turns - turns.round())).sin_cos();
    Complex::new(cosine, -sine).scale((-decay * t).exp())
}

fn converted<T: Scalar>(v: Complex<f64>) -> Complex<T> {
    Complex::new(T::of(v.re), T::of(v.im))
}

/// Weights of six points at -2 to 3 for the polynomial through them, at x.
fn lagrange(x: f64) -> [f64; POINTS] {
    let node = |i: usize| i as f64 - (POINTS / 2 - 1) as f64;
    std::array::from_fn(|i| (0..POINTS).filter(|j| *j != i).map(|j| (x - node(j)) / (node(i) - node(j))).product())
}

#[cfg(test)]
#[path = "segments_tests.rs"]
mod tests;
