//! Where scans lie side by side in one wide field, and what each gives to its bins.

use crate::seams::shared;
use anyhow::{Result, ensure};
use std::ops::Range;

/// Samples on either side that a value between bins is made of, and how Kaiser's window over them falls: of waves up to 0.6 of the highest frequency
/// 0.001 is lost at most, at 0.7 0.006.
const REACH: usize = 6;
const FALL: f64 = 6.0;
/// Parts of a bin that are none.
const LITTLE: f64 = 1e-3;
/// Bins that a field may have.
const MOST: usize = 1 << 20;
/// The smallest transmission of which there is a line integral: as in the steps that follow.
const DARKEST: f32 = 1e-6;

/// What scans are side by side, of line integrals or of light.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    Transmissions,
    LineIntegrals,
}

/// One scan in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Strip {
    /// Bins of the field that it has.
    pub bins: Range<usize>,
    /// What its bins are multiplied by to be those of the field, where these lie between them.
    between: Option<[f32; 2 * REACH]>,
    /// Its share of each of its bins; all shares of a bin are 1 together.
    shares: Vec<f32>,
}

/// All of them, from left to right.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    pub bins: usize,
    pub strips: Vec<Strip>,
}

/// The modified Bessel function of order 0.
fn bessel(x: f64) -> f64 {
    let terms = (1..60).scan(1.0, |term, k| {
        *term *= (x / 2.0 / f64::from(k)).powi(2);
        Some(*term)
    });
    1.0 + terms.sum::<f64>()
}

/// Weights of samples for a value this far behind the sixth of twelve, from 0 to 1: Kaiser's window over sin(pi x) / (pi x), in sum 1.
pub fn between(part: f64) -> [f32; 2 * REACH] {
    let sinc = |x: f64| if x == 0.0 { 1.0 } else { (std::f64::consts::PI * x).sin() / (std::f64::consts::PI * x) };
    let weights: [f64; 2 * REACH] = std::array::from_fn(|k| {
        let x = k as f64 - (REACH as f64 - 1.0) - part;
        sinc(x) * bessel(FALL * (1.0 - (x / REACH as f64).powi(2)).max(0.0).sqrt())
    });
    let sum: f64 = weights.iter().sum();
    weights.map(|weight| (weight / sum) as f32)
}

/// Values between those of a row, each between two of them; its ends go on for ever. `wide` is for what is read.
pub fn moved(row: impl ExactSizeIterator<Item = f32>, weights: &[f32; 2 * REACH], wide: &mut Vec<f32>, to: &mut [f32]) {
    wide.clear();
    wide.resize(REACH - 1, 0.0);
    wide.extend(row);
    let [first, last] = [wide[REACH - 1], wide[wide.len() - 1]];
    wide[..REACH - 1].fill(first);
    wide.resize(wide.len() + REACH, last);
    for (to, near) in to.iter_mut().zip(wide.windows(2 * REACH)) {
        *to = near.iter().zip(weights).map(|(value, weight)| value * weight).sum();
    }
}

/// The line integral of a transmission.
pub fn integral(transmission: f32) -> f32 {
    -transmission.max(DARKEST).ln()
}

impl Field {
    /// Of scans whose first bins lie at these places, ascending from 0, with so many bins each.
    pub fn new(places: &[(f64, usize)]) -> Result<Self> {
        let ranges = places.iter().map(|&(place, bins)| range(place, bins)).collect::<Result<Vec<_>>>()?;
        shared(&ranges, "bins")?;
        let bins = ranges.last().map_or(0, |last| last.end);
        ensure!(bins <= MOST, "the field has {bins} bins, and {MOST} are the most");
        let mut sums = vec![0.0; bins];
        let parts: Vec<_> = ranges.iter().zip(places).map(|(range, place)| range.start as f64 - place.0).collect();
        let rises: Vec<Vec<f64>> = (0..ranges.len()).map(|k| rises(&ranges, k, parts[k] > LITTLE)).collect();
        for (range, rises) in ranges.iter().zip(&rises) {
            sums[range.clone()].iter_mut().zip(rises).for_each(|(sum, rise)| *sum += rise);
        }
        let strip = |((range, rises), part): ((&Range<usize>, &Vec<f64>), &f64)| {
            let shares = rises.iter().zip(&sums[range.clone()]).map(|(rise, sum)| (rise / sum) as f32).collect();
            Strip { bins: range.clone(), between: (*part > LITTLE).then(|| between(*part)), shares }
        };
        let strips = ranges.iter().zip(&rises).zip(&parts).map(strip).collect();
        Ok(Self { bins, strips })
    }

    /// Bins that each scan and the next have, after those that the scan before has, too.
    pub fn seams(&self) -> Result<Vec<Range<usize>>> {
        shared(&self.strips.iter().map(|strip| strip.bins.clone()).collect::<Vec<_>>(), "bins")
    }
}

/// Whole bins of the field that a scan has, at either end of which it has a bin or is at one.
fn range(place: f64, bins: usize) -> Result<Range<usize>> {
    ensure!(
        place >= 0.0 && place < MOST as f64,
        "a scan lies {place} bins from the first: is its place in the right unit?"
    );
    // A bin less where bins lie between those of the field.
    let near = place.round();
    let whole = (place - near).abs() <= LITTLE;
    let first = if whole { near } else { place.ceil() } as usize;
    let end = first + if whole { bins } else { bins.saturating_sub(1) };
    ensure!(first < end, "a scan of {bins} bins is too narrow to lie between those of others");
    Ok(first..end)
}

/// How a scan's weight rises from its neighbour's end and falls to the next one's, as u^2 (3 - 2 u) over what both have: where it is interpolated, from
/// where samples are its own, if both have enough.
fn rises(ranges: &[Range<usize>], k: usize, interpolated: bool) -> Vec<f64> {
    let own = &ranges[k];
    let smooth = |u: f64| if u < 1.0 { u.max(0.0).powi(2) * (3.0 - 2.0 * u) } else { 1.0 };
    let rise = |from: usize, to: usize, at: f64| {
        let shared = to.saturating_sub(from);
        let lost = if interpolated { (REACH - 1).min(shared / 4) } else { 0 };
        if shared > 0 { smooth((at - lost as f64) / (shared - lost) as f64) } else { 1.0 }
    };
    let before = k.checked_sub(1).map_or(own.start, |k| ranges[k].end.max(own.start));
    let behind = ranges.get(k + 1).map_or(own.end, |next| next.start.min(own.end));
    let weight = |bin: usize| {
        let [left, right] = [bin - own.start, own.end - 1 - bin].map(|bins| bins as f64 + 0.5);
        rise(own.start, before, left) * rise(behind, own.end, right)
    };
    own.clone().map(weight).collect()
}

impl Strip {
    /// Adds its share of a row to a row of the field, (bins) of f32 as bytes. `spare` is for what lies between.
    pub fn add(&self, values: Values, row: &[f32], to: &mut [[u8; 4]], spare: &mut Spare) {
        let seen = self.seen(values, row, spare);
        let to = to[self.bins.clone()].iter_mut().zip(&self.shares).zip(seen);
        to.for_each(|((to, share), value)| *to = (f32::from_ne_bytes(*to) + share * value).to_ne_bytes());
    }

    /// A row of it at the field's bins.
    pub fn seen<'a>(&self, values: Values, row: &'a [f32], spare: &'a mut Spare) -> &'a [f32] {
        let Some(weights) = &self.between else { return row };
        let Spare { wide, made } = spare;
        made.clear();
        made.resize(self.bins.len(), 0.0);
        match values {
            // Beside a dark edge the wave of a step is a small part of a line integral, and of light more than there is.
            Values::Transmissions => {
                moved(row.iter().map(|value| integral(*value)), weights, wide, made);
                made.iter_mut().for_each(|value| *value = (-*value).exp());
            }
            Values::LineIntegrals => moved(row.iter().copied(), weights, wide, made),
        }
        made
    }
}

/// Memory of a thread.
#[derive(Default)]
pub struct Spare {
    wide: Vec<f32>,
    made: Vec<f32>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn added(field: &Field, values: Values, rows: &[Vec<f32>]) -> Vec<f32> {
        let mut to = vec![[0; 4]; field.bins];
        let strips = field.strips.iter().zip(rows);
        strips.for_each(|(strip, row)| strip.add(values, row, &mut to, &mut Spare::default()));
        to.into_iter().map(f32::from_ne_bytes).collect()
    }

    /// Whatever is the same in all scans is that in the field; what one scan alone has there stays what it is, to the bit.
    #[test]
    fn shares_are_one_together() {
        for places in
            [&[(0.0, 10), (7.0, 10)][..], &[(0.0, 10), (10.0, 9)], &[(0.0, 12), (3.4, 12), (9.0, 12), (20.5, 4)]]
        {
            let field = Field::new(places).expect("a field");
            let rows: Vec<_> = places.iter().map(|&(_, bins)| vec![0.7; bins]).collect();
            for values in [Values::Transmissions, Values::LineIntegrals] {
                assert!(added(&field, values, &rows).iter().all(|v| (v - 0.7).abs() < 1e-6), "{places:?}");
            }
        }
        let field = Field::new(&[(0.0, 10), (7.0, 10)]).expect("a field");
        assert_eq!((field.bins, field.seams().expect("seams").first()), (17, Some(&(7..10))));
        let seen = added(&field, Values::LineIntegrals, &[vec![1.0; 10], vec![3.0; 10]]);
        assert!(seen[..7].iter().all(|v| *v == 1.0) && seen[10..].iter().all(|v| *v == 3.0));
        // u^2 (3 - 2 u) of 1/6, 1/2 and 5/6.
        for (bin, share) in [(7, 2.0 / 27.0), (8, 0.5), (9, 25.0 / 27.0)] {
            assert!((seen[bin] - 1.0 - 2.0 * share).abs() < 1e-6, "{seen:?}");
        }
    }

    /// A wave of 0.3 turns a bin, 0.6 of the highest frequency, is off by the window's loss there, 0.001; linearly it would be 0.41. Ends that go on are seen
    /// where both have too few bins to leave them out.
    #[test]
    fn between_bins() {
        let wave = |at: f64| (std::f64::consts::TAU * 0.3 * at).cos();
        for place in [1.0, 10.4, 30.25, 30.5, 30.9] {
            let field = Field::new(&[(0.0, 40), (place, 40)]).expect("a field");
            let row = |from: f64| (0..40).map(|bin| wave(from + f64::from(bin)) as f32).collect::<Vec<_>>();
            let seen = added(&field, Values::LineIntegrals, &[row(0.0), row(place)]);
            let within = REACH..field.bins - REACH;
            let sound = |bin: &usize| place < 20.0 || !(place..place + REACH as f64).contains(&(*bin as f64));
            for bin in within.filter(sound) {
                assert!((f64::from(seen[bin]) - wave(bin as f64)).abs() < 1.1e-3, "{place}, bin {bin}");
            }
        }
    }

    #[test]
    fn what_makes_no_field() {
        for (places, word) in [
            (&[(0.0, 10), (10.5, 10)][..], "bins 10..11 are in no scan"),
            (&[(0.0, 10), (0.0, 10)], "of its own"),
            (&[(0.0, 10), (2.0, 5)], "does not go beyond"),
            (&[(0.0, 10), (1e12, 10)], "right unit"),
            (&[(0.0, 10), (f64::NAN, 10)], "right unit"),
            (&[(0.0, 10), (-1.0, 10)], "right unit"),
            (&[(0.0, 1), (0.5, 1)], "too narrow"),
            (&[(0.0, 1 << 20), (1e6, 1 << 20)], "are the most"),
        ] {
            let error = Field::new(places).expect_err("an error").to_string();
            assert!(error.contains(word), "{places:?}: {error}");
        }
    }
}
