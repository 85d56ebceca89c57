//! Principal components of how flats differ from each other: eigenflats.
//!
//! V. Van Nieuwenhove, J. De Beenhouwer, F. De Carlo, L. Mancini, F. Marone, J. Sijbers, "Dynamic intensity normalization using eigen
//! flat fields in X-ray imaging", Opt. Express 23, 27975, 2015.

use super::beams::mean_monitor;
use super::combine::Combination;
use super::options::FlatGroup;
use super::smoothing::Smoother;
use isocenter_base::array::Array;
use isocenter_base::cpu::buffer::{collected, zeros};
use isocenter_base::cpu::gram::{Gram, LANES};
use isocenter_base::cpu::parallel::*;
use isocenter_base::cpu::simd::{Plain, vectorised};
use isocenter_base::error::Result;
use isocenter_solve::dense::eigenvectors;

/// Bins of a panel: the rows of a hundred flats stay in the second cache.
const PANEL: usize = 512;
/// Sums of bands of rows are added up in their order, whatever the threads: so many bands where flats are few, and values of all sums.
const BANDS: usize = 256;
const BAND_VALUES: usize = 1 << 22;
/// What is smaller than this part of the beam is rounding.
const ROUNDING: f64 = 1e-6;

/// What the beam of a view may have more or less of.
#[derive(Debug, Default)]
pub(super) struct Components {
    /// (component, row, bin): the root mean square of the flats' own weights is 1.
    pub(super) planes: Vec<f32>,
    /// Parts of the flats' variance.
    pub(super) explained: Vec<f64>,
}

/// Flats, and how they are read.
pub(super) struct Flats<'a> {
    pub(super) frames: Array<'a>,
    pub(super) groups: &'a [FlatGroup],
    /// Groups are as strong as the monitor says.
    pub(super) monitored: bool,
    pub(super) combination: Combination<'a>,
    /// Pixels that are left out.
    pub(super) bad: &'a [bool],
    /// flat - dark of other pixels.
    pub(super) beam: &'a [f64],
}

impl Flats<'_> {
    /// Up to so many components, of those that noise cannot have made. On the worker threads.
    pub(super) fn components(&self, wanted: usize) -> Result<Components> {
        let [frames, _, bins] = self.frames.shape();
        let good = self.bad.iter().filter(|bad| !**bad).count();
        if good == 0 {
            return Ok(Components::default());
        }
        let gram = self.gram()?;
        let mut covariance: Vec<f64> = zeros(frames * frames)?;
        for (at, value) in covariance.iter_mut().enumerate() {
            *value = gram.of(at / frames, at % frames) / good as f64;
        }
        let all: f64 = (0..frames).map(|n| covariance[n * frames + n]).sum();
        let mut pairs = eigenvectors(covariance, frames);
        let values = collected(pairs.iter().map(|(value, _)| *value))?;
        let beams = self.beam.iter().zip(self.bad).filter(|(_, bad)| !**bad).map(|(beam, _)| beam * beam);
        let floor = ROUNDING * ROUNDING * beams.sum::<f64>() / good as f64;
        let Spectrum { count, noise, above } = Spectrum::new(&values, frames - self.groups.len(), good, floor);
        let kept = above.min(wanted);
        if kept == 0 {
            return Ok(Components::default());
        }
        // Behind the components comes one of noise alone, as strong as the noise in them.
        let weakest = &mut pairs[count - 1];
        let strength = if weakest.0 > 0.0 { (noise / weakest.0).sqrt() } else { 0.0 };
        weakest.1.iter_mut().for_each(|v| *v *= strength);
        pairs.swap(kept, count - 1);
        pairs.truncate(kept + 1);
        for (_, vector) in &mut pairs {
            // Either sign would do.
            let largest = vector.iter().fold(0.0, |m: f64, v| if v.abs() > m.abs() { *v } else { m });
            let scale = largest.signum() / (frames as f64).sqrt();
            vector.iter_mut().for_each(|v| *v *= scale);
        }
        let images = Images { values: self.mixed(&pairs)?, count: pairs.len(), bins };
        let mut smoother = Smoother::new(self.beam, self.bad, bins, images.rows(kept))?;
        let mut planes: Vec<f32> = zeros(kept * self.beam.len())?;
        for (k, plane) in planes.chunks_exact_mut(self.beam.len()).enumerate() {
            smoother.smooth(images.rows(k), plane)?;
        }
        Ok(Components { planes, explained: collected(values.iter().take(kept).map(|value| value / all))? })
    }

    /// Products of all pairs of flats, summed over good pixels, each flat less the mean of its group.
    fn gram(&self) -> Result<Gram> {
        let [frames, rows, _] = self.frames.shape();
        let bands = (BAND_VALUES / (frames * frames)).clamp(8, BANDS).min(rows);
        let of_band = |band: usize| {
            let (mut gram, level) = (Gram::new(frames)?, self.combination.level);
            let mut row = Deviations::new(self)?;
            for at in band * rows / bands..(band + 1) * rows / bands {
                row.read(at, |_, _, panel| {
                    gram.add(panel, level);
                    Ok(())
                })?;
            }
            Ok(gram)
        };
        let sums: Vec<Gram> = (0..bands).into_par_iter().map(of_band).collect::<Result<_>>()?;
        let mut all = Gram::new(frames)?;
        sums.iter().for_each(|sum| all.join(sum));
        Ok(all)
    }

    /// Sums of flats less the means of their groups by these vectors, (row, vector, bin).
    fn mixed(&self, vectors: &[(f64, Vec<f64>)]) -> Result<Vec<f32>> {
        let [_, rows, bins] = self.frames.shape();
        let mut images: Vec<f32> = zeros(rows * vectors.len() * bins)?;
        images.par_chunks_exact_mut(vectors.len() * bins).enumerate().try_for_each(|(row, images)| {
            let mut sums = [0.0; PANEL];
            Deviations::new(self)?.read(row, |first, length, panel| {
                for ((_, vector), image) in vectors.iter().zip(images.chunks_exact_mut(bins)) {
                    let to = &mut image[first..first + length];
                    vectorised(self.combination.level, Mixing { panel, vector, sums: &mut sums, to });
                }
                Ok(())
            })
        })?;
        Ok(images)
    }
}

/// A sum of a panel's rows by the values of a vector.
struct Mixing<'a> {
    panel: &'a [f64],
    vector: &'a [f64],
    sums: &'a mut [f64; PANEL],
    to: &'a mut [f32],
}

impl Plain for Mixing<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { panel, vector, sums, to } = self;
        sums.fill(0.0);
        for (weight, values) in vector.iter().zip(panel.chunks_exact(panel.len() / vector.len())) {
            sums.iter_mut().zip(values).for_each(|(sum, v)| *sum += weight * v);
        }
        to.iter_mut().zip(&*sums).for_each(|(to, sum)| *to = *sum as f32);
    }
}

/// Images row by row, (row, image, bin).
struct Images {
    values: Vec<f32>,
    count: usize,
    bins: usize,
}

impl Images {
    /// The rows of one, by their number.
    fn rows<'a>(&'a self, image: usize) -> impl Fn(usize) -> &'a [f32] + Sync {
        move |row| &self.values[(row * self.count + image) * self.bins..][..self.bins]
    }
}

/// A row of flats less the means of their groups.
struct Deviations<'a> {
    flats: &'a Flats<'a>,
    /// What makes flats of one strength of those of each group.
    scales: Vec<f64>,
    values: Vec<f32>,
    panel: Vec<f64>,
}

impl<'a> Deviations<'a> {
    fn new(flats: &'a Flats<'a>) -> Result<Self> {
        let [frames, _, bins] = flats.frames.shape();
        let monitor = mean_monitor(flats.groups);
        let scale = |group: &FlatGroup| if flats.monitored { monitor / group.monitor } else { 1.0 };
        let scales = collected(flats.groups.iter().map(scale))?;
        let panel = zeros(frames * PANEL.min(bins.next_multiple_of(LANES)))?;
        Ok(Self { flats, scales, values: zeros(frames * bins)?, panel })
    }

    /// Hands over a row in panels of (frame, bin), by their first bin and number of bins; bad pixels, and what is behind these, are 0.
    fn read(&mut self, row: usize, mut each: impl FnMut(usize, usize, &[f64]) -> Result<()>) -> Result<()> {
        let Self { flats, scales, values, panel } = self;
        let [frames, _, bins] = flats.frames.shape();
        let mut first = 0;
        for group in flats.groups {
            let which = first..first + group.frames;
            flats.combination.read(&flats.frames, &which, row, &mut values[first * bins..which.end * bins])?;
            first = which.end;
        }
        let bad = &flats.bad[row * bins..][..bins];
        let mut mean = [0.0; PANEL];
        for start in (0..bins).step_by(PANEL) {
            let length = PANEL.min(bins - start);
            let pitch = length.next_multiple_of(LANES);
            let panel = &mut panel[..frames * pitch];
            panel.fill(0.0);
            let mut lines = panel.chunks_exact_mut(pitch).zip(values.chunks_exact(bins));
            for (group, scale) in flats.groups.iter().zip(&*scales) {
                let mean = &mut mean[..length];
                mean.fill(0.0);
                let mut of_group: Vec<_> = lines.by_ref().take(group.frames).collect();
                for (_, values) in &of_group {
                    mean.iter_mut().zip(&values[start..]).for_each(|(sum, v)| *sum += f64::from(*v));
                }
                mean.iter_mut().for_each(|sum| *sum /= group.frames as f64);
                for (line, values) in &mut of_group {
                    let pixels = values[start..].iter().zip(&*mean).zip(&bad[start..]);
                    for (to, ((v, mean), bad)) in line.iter_mut().zip(pixels) {
                        *to = if *bad { 0.0 } else { scale * (f64::from(*v) - mean) };
                    }
                }
            }
            each(start, length, panel)?;
        }
        Ok(())
    }
}

/// What of the eigenvalues is noise.
struct Spectrum {
    /// Eigenvalues that are not 0 by the way they are made.
    count: usize,
    /// Variance of noise in a pixel.
    noise: f64,
    /// How many are above all that noise makes.
    above: usize,
}

impl Spectrum {
    /// Of eigenvalues in falling order, of flats with so many degrees of freedom, over so many pixels; those up to `floor` are rounding.
    ///
    /// For independent noise of variance s the eigenvalues of n flats over p pixels lie in s (1 - g)^2 to s (1 + g)^2, Marchenko and
    /// Pastur's limits with g = sqrt(n / p), and for g = (sqrt(n) + t) / sqrt(p) with a probability of 1 - 2 exp(-t^2 / 2) at least
    /// (K. R. Davidson, S. J. Szarek, "Local operator theory, random matrices and Banach spaces", 2001, theorem II.13). The lower half of
    /// them has none of the components, where these are fewer; its mean m is s (1 - g)^2 at least, so that none of noise is above
    /// m ((1 + g) / (1 - g))^2. Noise that neighbouring pixels share, or that differs between pixels and flats, spreads them as
    /// fewer pixels would: for small g the smallest lies 1.15 g m below the mean of the lower half of the semicircle that they fill, so that
    /// g is that distance, where it is more.
    fn new(values: &[f64], freedom: usize, pixels: usize, floor: f64) -> Self {
        /// t: one scan in fifty by the bound, far fewer in truth.
        const MARGIN: f64 = 3.0;
        let [few, many] = [freedom.min(pixels), freedom.max(pixels)];
        let lower = &values[few - (few / 2).max(1)..few];
        let rounding = 1e-3 * floor;
        let noise = (lower.iter().sum::<f64>() / lower.len() as f64).max(rounding);
        let spread = (1.0 - lower[lower.len() - 1].max(rounding) / noise) / 1.15;
        let g = (((few as f64).sqrt() + MARGIN) / (many as f64).sqrt()).max(spread);
        let edge = if g < 1.0 { noise * ((1.0 + g) / (1.0 - g)).powi(2) } else { f64::INFINITY };
        let above = values[..few].iter().take_while(|value| **value > edge.max(floor)).count();
        // The weakest is noise.
        Self { count: few, noise, above: above.min(few - 1) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use isocenter_base::cpu::level::Level;

    /// All components together are the covariance of pixels, which is made here by its definition; each is orthogonal to the others.
    #[test]
    fn components_make_the_covariance() {
        let (frames, rows, bins) = (10, 4, 9);
        let plane = rows * bins;
        let value = |n: usize, k: usize| {
            let wave = |by: f64| (by * k as f64).sin() * ((n * n) as f64 * by).cos();
            1000.0 + 40.0 * wave(0.3) + 25.0 * wave(0.7) + 10.0 * wave(1.9)
        };
        let flats: Vec<f32> = (0..frames * plane).map(|at| value(at / plane, at % plane) as f32).collect();
        let beam: Vec<f64> = vec![1000.0; plane];
        let mut bad = vec![false; plane];
        bad[13] = true;
        let groups = [6, 4].map(|frames| FlatGroup { frames, position: 0.0, monitor: 1.0 });
        let combination = Combination { combine: Default::default(), outliers: None, level: Level::detect() };
        let frames_of = Array::new(&flats, [frames, rows, bins]).unwrap();
        let all = Flats { frames: frames_of, groups: &groups, monitored: false, combination, bad: &bad, beam: &beam };
        let Components { planes, explained } = all.components(5).unwrap();
        let kept = explained.len();
        assert_eq!(kept, 3, "a component for each wave");
        let mean = |n: usize, k: usize| {
            let of = if n < 6 { 0..6 } else { 6..10 };
            of.clone().map(|n| f64::from(flats[n * plane + k])).sum::<f64>() / of.len() as f64
        };
        let less = |n: usize, k: usize| if bad[k] { 0.0 } else { f64::from(flats[n * plane + k]) - mean(n, k) };
        let of = |c: usize, k: usize| f64::from(planes[c * plane + k]);
        for (i, j) in (0..plane).flat_map(|i| (0..plane).map(move |j| (i, j))) {
            let expected = (0..frames).map(|n| less(n, i) * less(n, j)).sum::<f64>() / frames as f64;
            let seen = (0..kept).map(|c| of(c, i) * of(c, j)).sum::<f64>();
            // Components are f32 of up to 50, and rounding of the flats' f32, 3e-5, is in the covariance.
            assert!((seen - expected).abs() < 50.0 * 2e-4, "{i}, {j}: {seen} {expected}");
        }
        for (a, b) in [(0, 1), (0, 2), (1, 2)] {
            let product: f64 = (0..plane).map(|k| of(a, k) * of(b, k)).sum();
            assert!(product.abs() < 1e-2, "{a}, {b}: {product}");
        }
    }

    #[test]
    fn what_stands_out_of_a_spectrum() {
        // Even steps of a semicircle's width about 100, of 40 flats and 1e4 pixels: within 100 (1 -+ 2 sqrt(n / p)).
        let noise =
            |n: usize| (0..n).map(|k| 100.0 * (1.0 + 0.12 * (1.0 - 2.0 * k as f64 / n as f64))).collect::<Vec<_>>();
        let of = |real: &[f64], n: usize| {
            let mut values = real.to_vec();
            values.extend(noise(n));
            values.push(0.0);
            Spectrum::new(&values, real.len() + n, 10_000, 1e-3).above
        };
        assert_eq!([of(&[], 40), of(&[900.0], 39), of(&[900.0, 500.0, 200.0], 37)], [0, 1, 3]);
        // By (1 + 0.094)^2 / (1 - 0.094)^2 times the mean of the lower half, 94.
        assert_eq!([of(&[142.0], 40), of(&[130.0], 40)], [1, 0]);
        // Nothing but rounding, and three flats.
        assert_eq!(Spectrum::new(&[1e-9, 1e-12, 0.0, 0.0], 3, 1000, 1e-6).above, 0);
        assert_eq!(Spectrum::new(&[5.0, 1.0, 0.0], 2, 10_000, 1e-6).above, 1);
    }
}
