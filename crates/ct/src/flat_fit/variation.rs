//! The total variation of a corrected frame, and the weights of components for which it is smallest.
//!
//! V. Van Nieuwenhove, J. De Beenhouwer, F. De Carlo, L. Mancini, F. Marone, J. Sijbers, "Dynamic intensity normalization using eigen
//! flat fields in X-ray imaging", Opt. Express 23, 27975, 2015: of a frame B and a beam `F(w) = F + w u` the weights are those of the
//! smallest `TV(B / F(w)) mean(F(w))`. The mean makes a beam of any strength as good, since a strong one alone makes all differences
//! small.
//!
//! With m the mean of F(w), `Q = B m / F(w)` changes by `D = Q (mean(u) / m - u / F(w))` with a weight, so that differences g of Q
//! change by G, those of D. Weighted by `1 / sqrt(|g|^2 + e^2)`, squares have the gradient of the sum of `sqrt(|g|^2 + e^2)` and lie above
//! it (iteratively reweighted least squares); e falls from the median of |g| to a small part of it. A step goes as far as the sum falls.

use super::binned::Binned;
use crate::rows::flat_field::LOWEST_BEAM;
use isocenter_base::cpu::buffer::zeros;
use isocenter_base::cpu::gram::{Gram, LANES};
use isocenter_base::cpu::level::Level;
use isocenter_base::cpu::simd::{Plain, vectorised};
use isocenter_base::error::Result;
use isocenter_solve::dense::{cholesky, solve};

/// e, in medians of |g|, from round to round; as often as it still falls, the last again.
const SHARPNESS: [f64; 3] = [1.0, 0.1, 0.02];
const ROUNDS: usize = 8;
/// Steps of a round at most.
const STEPS: usize = 30;
/// Weights are found when they change by no more than this: flats themselves have 1.
const PRECISION: f64 = 1e-5;
/// A step is halved until it would be this part of itself, and doubled until it would be so many times as long.
const SMALLEST_REACH: f64 = 1e-4;
const LARGEST_REACH: f64 = 1e3;
/// What the normal equations get of their largest value, so that a direction in which nothing changes has no step.
const RIDGE: f64 = 1e-9;
/// e in mean values of Q: below, differences are rounding.
const SHARPEST: f64 = 1e-10;

/// What is found of one frame.
#[derive(Debug)]
pub(super) struct Fitted {
    pub(super) weights: Vec<f64>,
    /// What the beam is multiplied by, so that the frame's mean transmission stays.
    pub(super) scale: f64,
    /// Before and after, over the sum of the transmissions before.
    pub(super) variation: [f64; 2],
}

/// One frame after the other, in memory of its own.
pub(super) struct Fit<'a> {
    binned: &'a Binned,
    level: Level,
    /// Binned counts less darks.
    pub(super) counts: Vec<f64>,
    /// What the strength of the view multiplies components by.
    strength: f64,
    /// The beam that flats say, and F(w).
    flat: Vec<f64>,
    beam: Vec<f64>,
    /// Mean of F(w).
    mean: f64,
    /// Q, with a row and a value of padding.
    quotient: Vec<f64>,
    /// |g|^2.
    squares: Vec<f64>,
    /// D of a row and of the next, (component, bin), each with a value of padding.
    slopes: [Vec<f64>; 2],
    /// Weighted G, (component, difference), and g behind them.
    panel: Vec<f64>,
    gram: Gram,
}

impl<'a> Fit<'a> {
    pub(super) fn new(binned: &'a Binned, level: Level) -> Result<Self> {
        let ([_, nx], n, components) = (binned.size, binned.len(), binned.components);
        Ok(Self {
            binned,
            level,
            counts: zeros(n)?,
            strength: 1.0,
            flat: zeros(n)?,
            beam: zeros(n)?,
            mean: 1.0,
            quotient: zeros(n + nx + 1)?,
            squares: zeros(n)?,
            slopes: [zeros(components * (nx + 1))?, zeros(components * (nx + 1))?],
            panel: zeros((components + 1) * pitch(nx))?,
            gram: Gram::new(components + 1)?,
        })
    }

    /// Working memory in bytes, of frames of so many rows and bins.
    pub(super) fn bytes([ny, nx]: [usize; 2], components: usize) -> u64 {
        let small = (components + 1) * (2 * (nx + 1) + pitch(nx) + components + 1);
        8 * (5 * (ny + 1) * (nx + 1) + small) as u64
    }

    /// Of `counts`, taken in a view whose beam is `flat` by the flats.
    pub(super) fn run(&mut self, flat: impl Fn(usize) -> f64, strength: f64) -> Result<Fitted> {
        let components = self.binned.components;
        self.strength = strength;
        // Blocks without a good pixel have a beam of 1, and no counts.
        self.flat.iter_mut().enumerate().for_each(|(k, to)| *to = if self.binned.good(k) { flat(k) } else { 1.0 });
        let mut weights: Vec<f64> = zeros(components)?;
        let seen = self.evaluate(&weights);
        let size: f64 = self.quotient.iter().map(|q| q.abs()).sum();
        // Nothing, or nothing that is a number.
        if !seen || size.is_nan() || size <= 0.0 {
            return Ok(Fitted { weights, scale: 1.0, variation: [0.0; 2] });
        }
        let (transmission, before) = (self.transmission(), self.variation(0.0));
        self.minimise(&mut weights, SHARPEST * size / self.binned.count)?;
        let mut after = self.variation(0.0);
        if after > before {
            weights.fill(0.0);
            self.evaluate(&weights);
            after = before;
        }
        let scale = Some(self.transmission() / transmission).filter(|scale| scale.is_finite() && *scale > 0.0);
        Ok(Fitted { weights, scale: scale.unwrap_or(1.0), variation: [before / size, after / size] })
    }

    fn minimise(&mut self, weights: &mut [f64], sharpest: f64) -> Result<()> {
        let components = weights.len();
        let mut normal: Vec<f64> = zeros(components * components)?;
        let [mut step, mut tried]: [Vec<f64>; 2] = [zeros(components)?, zeros(components)?];
        let (mut last, mut reach) = (f64::INFINITY, 1.0);
        for round in 0..ROUNDS {
            let sharpness = SHARPNESS[round.min(SHARPNESS.len() - 1)];
            let e = (sharpness * self.median()).max(sharpest);
            if round >= SHARPNESS.len() && e > 0.5 * last {
                break;
            }
            last = e;
            for _ in 0..STEPS {
                let here = self.variation(e);
                if !self.step(e, &mut normal, &mut step) {
                    break;
                }
                let mut at = |fit: &mut Self, reach: f64| {
                    tried.iter_mut().zip(&*weights).zip(&step).for_each(|((t, w), s)| *t = w + reach * s);
                    if fit.evaluate(&tried) { fit.variation(e) } else { f64::INFINITY }
                };
                // Twice as far as long as it falls, or half as far until it does.
                let mut there = at(self, reach);
                if there < here {
                    while reach < LARGEST_REACH {
                        let farther = at(self, 2.0 * reach);
                        if farther >= there {
                            break;
                        }
                        (reach, there) = (2.0 * reach, farther);
                    }
                } else {
                    while there >= here && reach > SMALLEST_REACH {
                        reach *= 0.5;
                        there = at(self, reach);
                    }
                }
                let moved = if there < here { reach } else { 0.0 };
                weights.iter_mut().zip(&step).for_each(|(w, s)| *w += moved * s);
                self.evaluate(weights);
                reach = reach.clamp(0.25, 4.0);
                if step.iter().all(|s| (moved * s).abs() <= PRECISION) {
                    break;
                }
            }
        }
        Ok(())
    }

    /// F(w) and Q for these weights; false where the beam would not be one.
    fn evaluate(&mut self, weights: &[f64]) -> bool {
        let Self { binned, strength, flat, beam, quotient, counts, .. } = self;
        let mean =
            vectorised(self.level, Evaluation { binned, weights, strength: *strength, flat, beam, quotient, counts });
        self.mean = mean.unwrap_or(1.0);
        mean.is_some()
    }

    /// The mean transmission.
    fn transmission(&self) -> f64 {
        self.quotient.iter().sum::<f64>() / self.mean / self.binned.count
    }

    /// The sum of `sqrt(|g|^2 + e^2)`.
    fn variation(&mut self, e: f64) -> f64 {
        let Self { binned, quotient, squares, .. } = self;
        vectorised(self.level, Variation { binned, quotient, squares, e })
    }

    /// The median of |g|, of the last variation.
    fn median(&mut self) -> f64 {
        let middle = self.squares.len() / 2;
        self.squares.select_nth_unstable_by(middle, f64::total_cmp).1.sqrt()
    }

    /// D of a row, as one of two.
    fn slopes(&mut self, y: usize, which: usize) {
        let Self { binned, strength, beam, mean, quotient, slopes, .. } = self;
        let to = &mut slopes[which];
        vectorised(self.level, Slopes { binned, y, strength: *strength, beam, mean: *mean, quotient, to });
    }

    /// The step of least squares; false where there is none.
    fn step(&mut self, e: f64, normal: &mut [f64], step: &mut [f64]) -> bool {
        self.gram.clear();
        let (n, [ny, _]) = (step.len(), self.binned.size);
        for y in 0..ny {
            if y == 0 {
                self.slopes(0, 0);
            } else {
                self.slopes.swap(0, 1);
            }
            if y + 1 < ny {
                self.slopes(y + 1, 1);
            }
            let Self { binned, level, quotient, slopes: [here, next], panel, .. } = &mut *self;
            let code = Panel { binned, y, quotient, slopes: [here, next], e, panel };
            vectorised(*level, code);
            self.gram.add(&self.panel, self.level);
        }
        let largest = (0..n).map(|k| self.gram.of(k, k)).fold(0.0, f64::max);
        for (at, to) in normal.iter_mut().enumerate() {
            let (i, j) = (at / n, at % n);
            *to = self.gram.of(i, j) + if i == j { RIDGE * largest } else { 0.0 };
        }
        step.iter_mut().enumerate().for_each(|(k, to)| *to = -self.gram.of(n, k));
        if largest <= 0.0 || !cholesky(normal, n, 0.0) {
            return false;
        }
        solve(normal, step);
        step.iter().all(|s| s.is_finite())
    }
}

/// Differences of a row in both directions, as a panel's rows have them.
fn pitch(nx: usize) -> usize {
    (2 * nx).next_multiple_of(LANES)
}

/// Of values side by side, so that there is a vector of sums.
#[inline(always)]
fn sum(values: &[f64]) -> f64 {
    let mut lanes = [0.0; LANES];
    let parts = values.chunks_exact(LANES);
    let rest: f64 = parts.remainder().iter().sum();
    for part in parts {
        lanes.iter_mut().zip(part).for_each(|(sum, v)| *sum += v);
    }
    lanes.iter().sum::<f64>() + rest
}

/// F(w) and Q; gives the mean of F(w), or None where it falls too low.
struct Evaluation<'a> {
    binned: &'a Binned,
    weights: &'a [f64],
    strength: f64,
    flat: &'a [f64],
    beam: &'a mut [f64],
    quotient: &'a mut [f64],
    counts: &'a [f64],
}

impl Plain for Evaluation<'_> {
    type Output = Option<f64>;

    #[inline(always)]
    fn run(self) -> Option<f64> {
        let Self { binned, weights, strength, flat, beam, quotient, counts } = self;
        let (n, mut lowest) = (flat.len(), [f64::INFINITY; LANES]);
        beam.copy_from_slice(flat);
        for (k, weight) in weights.iter().enumerate() {
            let weight = strength * weight;
            beam.iter_mut().zip(binned.component(k)).for_each(|(beam, u)| *beam += weight * u);
        }
        for (beam, flat) in beam.chunks(LANES).zip(flat.chunks(LANES)) {
            for ((low, beam), flat) in lowest.iter_mut().zip(beam).zip(flat) {
                let left = beam - f64::from(LOWEST_BEAM) * flat;
                *low = if left < *low { left } else { *low };
            }
        }
        // Of good blocks: others have 1.
        let mean = (sum(beam) - (n as f64 - binned.count)) / binned.count;
        for ((quotient, counts), beam) in quotient.iter_mut().zip(counts).zip(&*beam) {
            *quotient = counts * mean / beam;
        }
        (lowest.iter().all(|low| *low >= 0.0) && mean.is_finite()).then_some(mean)
    }
}

/// |g|^2, and the sum of `sqrt(|g|^2 + e^2)`.
struct Variation<'a> {
    binned: &'a Binned,
    quotient: &'a [f64],
    squares: &'a mut [f64],
    e: f64,
}

impl Plain for Variation<'_> {
    type Output = f64;

    #[inline(always)]
    fn run(self) -> f64 {
        let Self { binned, quotient, squares, e } = self;
        let nx = binned.size[1];
        let mut sums = [0.0; LANES];
        for (y, squares) in squares.chunks_exact_mut(nx).enumerate() {
            let pixels = binned.neighbours(y).zip(quotient[y * nx..].windows(2).zip(&quotient[(y + 1) * nx..]));
            for (to, ((across, down), (q, below))) in squares.iter_mut().zip(pixels) {
                let (gx, gy) = (across * (q[1] - q[0]), down * (below - q[0]));
                *to = gx * gx + gy * gy;
            }
            for part in squares.chunks(LANES) {
                sums.iter_mut().zip(part).for_each(|(sum, square)| *sum += (square + e * e).sqrt());
            }
        }
        sums.iter().sum()
    }
}

/// D of a row.
struct Slopes<'a> {
    binned: &'a Binned,
    y: usize,
    strength: f64,
    beam: &'a [f64],
    mean: f64,
    quotient: &'a [f64],
    to: &'a mut [f64],
}

impl Plain for Slopes<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { binned, y, strength, beam, mean, quotient, to } = self;
        let nx = binned.size[1];
        let at = y * nx..(y + 1) * nx;
        for (k, to) in to.chunks_exact_mut(nx + 1).enumerate() {
            let (part, values) = (strength * binned.means[k] / mean, &binned.component(k)[at.clone()]);
            let pixels = quotient[at.clone()].iter().zip(&beam[at.clone()]).zip(values);
            for (to, ((q, beam), u)) in to.iter_mut().zip(pixels) {
                *to = q * (part - strength * u / beam);
            }
        }
    }
}

/// G of a row by the root of its weight, and g.
struct Panel<'a> {
    binned: &'a Binned,
    y: usize,
    quotient: &'a [f64],
    slopes: [&'a [f64]; 2],
    e: f64,
    panel: &'a mut [f64],
}

impl Plain for Panel<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { binned, y, quotient, slopes: [here, next], e, panel } = self;
        let nx = binned.size[1];
        let pitch = pitch(nx);
        let (panel, last) = panel.split_at_mut(pitch * binned.components);
        let (last_x, last_y) = last.split_at_mut(nx);
        // By the root of the weight: differences of Q, which become those weights for a while.
        let pixels = binned.neighbours(y).zip(quotient[y * nx..].windows(2).zip(&quotient[(y + 1) * nx..]));
        for ((x, y), ((across, down), (q, below))) in last_x.iter_mut().zip(&mut *last_y).zip(pixels) {
            let (gx, gy) = (across * (q[1] - q[0]), down * (below - q[0]));
            let root = 1.0 / (gx * gx + gy * gy + e * e).sqrt().sqrt();
            (*x, *y) = (across * root, down * root);
        }
        for (k, panel) in panel.chunks_exact_mut(pitch).enumerate() {
            let (to_x, to_y) = panel.split_at_mut(nx);
            let (here, next) = (&here[k * (nx + 1)..][..nx + 1], &next[k * (nx + 1)..][..nx]);
            for ((to, root), d) in to_x.iter_mut().zip(&*last_x).zip(here.windows(2)) {
                *to = root * (d[1] - d[0]);
            }
            for (((to, root), d), below) in to_y.iter_mut().zip(&*last_y).zip(here).zip(next) {
                *to = root * (below - d);
            }
        }
        let pixels = quotient[y * nx..].windows(2).zip(&quotient[(y + 1) * nx..]);
        for ((x, y), (q, below)) in last_x.iter_mut().zip(last_y).zip(pixels) {
            (*x, *y) = (*x * (q[1] - q[0]), *y * (below - q[0]));
        }
    }
}
