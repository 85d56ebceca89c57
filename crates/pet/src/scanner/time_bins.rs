//! Bins of the time difference.

use isocenter_base::cpu::buffer::collected;
use isocenter_base::error::{Result, fail};

/// Most time bins of a scanner.
pub const MAX_TIME_BINS: usize = 1 << 16;

/// Bins of the time difference t2 - t1, in ps.
#[derive(Clone, Debug, PartialEq)]
pub struct TimeBins {
    /// Lower edge and width of each, and one more for bins that are none.
    bins: Vec<[f64; 2]>,
}

impl TimeBins {
    /// Bin k is from edge k to edge k + 1.
    pub fn new(edges: &[f64]) -> Result<Self> {
        let count = edges.len().saturating_sub(1);
        if !(1..=MAX_TIME_BINS).contains(&count) {
            fail!(OutOfRange, "scanner.time_bins is {count}; it must be 1 to {MAX_TIME_BINS} where there are edges");
        }
        if let Some(k) = edges.iter().position(|e| !e.is_finite()) {
            fail!(NotFiniteParameter, "scanner.time_edges[{k}] is {}; it must be finite, in ps", edges[k]);
        }
        if let Some(k) = edges.windows(2).position(|e| e[0] >= e[1]) {
            let [low, high] = [edges[k], edges[k + 1]];
            fail!(
                OutOfRange,
                "scanner.time_edges[{}] is {high}, and the edge before {low}; edges must ascend, in ps",
                k + 1
            );
        }
        let bins = edges.windows(2).map(|e| [e[0], e[1] - e[0]]).chain([[0.0; 2]]);
        Ok(Self { bins: collected(bins)? })
    }

    /// How many.
    pub fn count(&self) -> usize {
        self.bins.len() - 1
    }

    /// Lower edge and width of each, and one more.
    pub(crate) fn bins(&self) -> &[[f64; 2]] {
        &self.bins
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_are_between_edges() {
        let bins = TimeBins::new(&[-30.0, -10.0, 20.0]).expect("bins");
        assert_eq!((bins.count(), bins.bins()), (2, &[[-30.0, 20.0], [-10.0, 30.0], [0.0, 0.0]][..]));
        let message = |edges: &[f64]| TimeBins::new(edges).expect_err("refused").message;
        assert_eq!(message(&[1.0]), "scanner.time_bins is 0; it must be 1 to 65536 where there are edges");
        assert_eq!(message(&[0.0, f64::NAN]), "scanner.time_edges[1] is NaN; it must be finite, in ps");
        assert_eq!(
            message(&[0.0, 2.0, 2.0]),
            "scanner.time_edges[2] is 2, and the edge before 2; edges must ascend, in ps"
        );
    }
}
