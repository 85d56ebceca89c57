//! One place, or a line, through what rows say.

use isocenter_base::cpu::buffer::{collected, copied};
use isocenter_base::error::Result;

/// Place of the axis over detector rows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    offset: f64,
    pub(super) slope: f64,
}

impl Line {
    /// The same for all rows.
    pub(super) fn through(place: f64) -> Self {
        Self { offset: place, slope: 0.0 }
    }

    pub(super) fn shifted(self, by: f64) -> Self {
        Self { offset: self.offset + by, ..self }
    }

    pub(super) fn at(&self, row: f64) -> f64 {
        self.offset + self.slope * row
    }
}

/// The weighted line (or the weighted mean) through places over rows, where rows that stray count less the further they do (Huber's
/// weights, beyond 2 robust deviations).
pub(super) fn fit(rows: &[usize], places: &[f64], weights: &[f64], slope: bool) -> Result<Line> {
    let mut robust = copied(weights)?;
    let mut line = weighted(rows, places, &robust, slope);
    for _ in 0..12 {
        let strays = collected(rows.iter().zip(places).map(|(r, p)| (p - line.at(*r as f64)).abs()))?;
        let deviation = median(copied(&strays)?) / 0.6745;
        if rows.len() < 3 || deviation == 0.0 {
            break;
        }
        for ((robust, weight), stray) in robust.iter_mut().zip(weights).zip(&strays) {
            *robust = weight * (2.0 * deviation / stray.max(2.0 * deviation));
        }
        line = weighted(rows, places, &robust, slope);
    }
    Ok(line)
}

fn weighted(rows: &[usize], places: &[f64], weights: &[f64], slope: bool) -> Line {
    let total: f64 = weights.iter().sum();
    let mean = |values: &dyn Fn(usize) -> f64| {
        weights.iter().enumerate().map(|(k, w)| w * values(k)).sum::<f64>() / total.max(f64::MIN_POSITIVE)
    };
    let (row, place) = (mean(&|k| rows[k] as f64), mean(&|k| places[k]));
    let from = |k: usize| rows[k] as f64 - row;
    let spread = mean(&|k| from(k) * from(k));
    let slope = if slope && spread > 0.0 { mean(&|k| from(k) * (places[k] - place)) / spread } else { 0.0 };
    Line { offset: place - slope * row, slope }
}

/// The upper one of two in the middle; 0 of none.
pub(super) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}
