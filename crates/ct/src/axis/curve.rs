//! A score over places: the smallest is the best.

use isocenter_base::cpu::buffer::collected;
use isocenter_base::error::Result;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Curve {
    /// Bin of the first value.
    pub(super) first: f64,
    /// Bins from a value to the next.
    pub(super) step: f64,
    pub(super) values: Vec<f64>,
}

/// Index of the smallest value.
pub(super) fn smallest(values: &[f64]) -> usize {
    (0..values.len()).min_by(|&a, &b| values[a].total_cmp(&values[b])).unwrap_or(0)
}

impl Curve {
    /// Index of the best value.
    pub(super) fn best(&self) -> usize {
        smallest(&self.values)
    }

    /// Where a value is.
    pub(super) fn bin(&self, index: usize) -> f64 {
        self.first + index as f64 * self.step
    }

    /// Smallest value outside of the valley of `best`, which has `beside` values to either side at least. Where there
    /// is nothing else, the higher one of its rims.
    pub(super) fn beside(&self, best: usize, beside: usize) -> f64 {
        let v = &self.values;
        let mut ends = [best.saturating_sub(beside), (best + beside).min(v.len() - 1)];
        while ends[0] > 0 && v[ends[0] - 1] >= v[ends[0]] {
            ends[0] -= 1;
        }
        while ends[1] + 1 < v.len() && v[ends[1] + 1] >= v[ends[1]] {
            ends[1] += 1;
        }
        let others = (0..ends[0]).chain(ends[1] + 1..v.len()).map(|k| v[k]).fold(f64::INFINITY, f64::min);
        others.min(v[ends[0]].max(v[ends[1]]))
    }

    /// How much lower the best value is than any outside of its valley, as a part of what lies between the best one and the worst.
    pub(super) fn depth(&self, best: usize, beside: usize) -> f64 {
        let worst = self.values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let lowest = self.values[best];
        if worst > lowest { ((self.beside(best, beside) - lowest) / (worst - lowest)).max(0.0) } else { 0.0 }
    }

    /// Values at evenly spaced bins, by the lines between neighbours.
    pub(super) fn sampled(&self, count: usize, [low, high]: [f64; 2]) -> Result<Vec<f64>> {
        let last = self.values.len() - 1;
        let step = if count > 1 { (high - low) / (count - 1) as f64 } else { 0.0 };
        collected((0..count).map(|n| {
            let place = ((low + n as f64 * step - self.first) / self.step).clamp(0.0, last as f64);
            let k = (place as usize).min(last.saturating_sub(1));
            let t = place - k as f64;
            self.values[k] * (1.0 - t) + self.values[(k + 1).min(last)] * t
        }))
    }
}
