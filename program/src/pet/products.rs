//! Products of two crystals' values that change with time, as products of one value of each.

use super::petsird::Span;
use anyhow::Result;

/// Of all of the time, what is none.
const ROUNDING: f64 = 1e-9;

/// How much of `blocks`, in any order, is in each interval: seconds, or those weighed by an activity that decays with `rate`, 1/s, from the first block's begin on.
pub fn weights(blocks: &[Span], intervals: &[Span], rate: f64) -> Vec<f64> {
    let sorted = |k: usize| {
        let mut edges: Vec<f64> = blocks.iter().map(|block| block[k]).collect();
        edges.sort_by(f64::total_cmp);
        edges
    };
    let [starts, stops] = [0, 1].map(sorted);
    let (Some(first), Some(last)) = (starts.first().copied(), stops.last().copied()) else {
        return vec![0.0; intervals.len()];
    };
    let passed = |time: f64| if rate == 0.0 { time - first } else { -(-rate * (time - first)).exp_m1() / rate };
    let summed = |edges: &[f64]| {
        let mut sum = 0.0;
        let sums = edges.iter().map(|edge| {
            sum += passed(*edge);
            sum
        });
        std::iter::once(0.0).chain(sums).collect::<Vec<_>>()
    };
    let [of_starts, of_stops] = [summed(&starts), summed(&stops)];
    // Of blocks that are over all, of those that are not what has passed.
    let until = |time: f64| {
        let time = time.clamp(first, last);
        let [begun, over] = [&starts, &stops].map(|edges| edges.partition_point(|edge| *edge <= time));
        of_stops[over] + (begun - over) as f64 * passed(time) - of_starts[begun]
    };
    let least = ROUNDING * until(f64::INFINITY);
    let within = |[begin, end]: &Span| until(*end) - until(*begin);
    intervals.iter().map(within).map(|weight| if weight > least { weight } else { 0.0 }).collect()
}

/// Values of crystals, and the squares of their errors by counting.
pub struct Measured {
    pub values: Vec<f64>,
    pub noise: Vec<f64>,
}

/// Values f of crystals, whose products are the mean over time of those of `values` of each interval, and how far their squares are from it.
///
/// With g, the mean of v over crystals in each interval, `f = sum w g v / sqrt(whole sum w g^2)`: exact where v of all crystals changes alike, v = u g. Of others the mean of v_i v_j differs from f_i f_j by that of
/// what v_i and v_j have besides u g, which is at most `sqrt(r_i r_j)`.
pub fn separated(
    values: impl Fn(usize) -> Result<Measured>,
    weights: &[f64],
    whole: f64,
    crystals: usize,
) -> Result<[Vec<f64>; 2]> {
    let (mut of_both, mut squares, mut of_common) = (vec![0.0; crystals], vec![0.0; crystals], 0.0);
    for (k, weight) in weights.iter().enumerate().filter(|(_, weight)| **weight != 0.0) {
        let of = values(k)?;
        let common = of.values.iter().sum::<f64>() / crystals as f64;
        of_common += weight * common * common;
        for (i, (v, noise)) in of.values.iter().zip(&of.noise).enumerate() {
            of_both[i] += weight * common * v;
            squares[i] += weight * (v * v - noise);
        }
    }
    if of_common <= 0.0 {
        return Ok([vec![0.0; crystals], vec![0.0; crystals]]);
    }
    let scale = (whole * of_common).sqrt();
    let made: Vec<f64> = of_both.iter().map(|v| v / scale).collect();
    let off = squares.iter().zip(&made).map(|(square, v)| square / whole - v * v).collect();
    Ok([made, off])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_parted() {
        let blocks = [[20.0, 30.0], [0.0, 10.0]];
        assert_eq!(weights(&blocks, &[[f64::NEG_INFINITY, 5.0], [5.0, 25.0], [40.0, 50.0]], 0.0), [5.0, 10.0, 0.0]);
        assert_eq!(weights(&[], &[[0.0, 1.0]], 0.0), [0.0]);
        // The integral of exp(-t / 10) over 20 to 30 s.
        let found = weights(&blocks, &[[15.0, f64::INFINITY]], 0.1);
        assert!((found[0] - 10.0 * ((-2f64).exp() - (-3f64).exp())).abs() < 1e-12, "{found:?}");
    }

    /// Of crystals that change alike products are exact, though they are 1 and 3 times as much; of others they are off as told.
    #[test]
    fn products_are_separated() {
        let both = |u: [[f64; 2]; 2]| {
            let of = |k: usize| Ok(Measured { values: u[k].to_vec(), noise: vec![0.0; 2] });
            separated(of, &[2.0, 1.0], 3.0, 2).expect("values")
        };
        let [f, off] = both([[0.2, 0.4], [0.6, 1.2]]);
        let mean = (2.0 * 0.2 * 0.4 + 0.6 * 1.2) / 3.0;
        assert!((f[0] * f[1] - mean).abs() < 1e-12 && off.iter().all(|v| v.abs() < 1e-12), "{f:?} {off:?}");
        let [f, off] = both([[0.2, 0.4], [0.6, 0.4]]);
        let mean = (2.0 * 0.2 * 0.4 + 0.6 * 0.4) / 3.0;
        let bound = (off[0] * off[1]).sqrt() + 1e-12;
        assert!(off[0] > 1e-3 && (f[0] * f[1] - mean).abs() <= bound, "{f:?} {off:?}");
    }
}
