//! Choices in proportion to amounts.

use isocenter_base::cpu::buffer::zeros;
use isocenter_base::cpu::elementary::whole;
use isocenter_base::error::{Result, fail};

/// Picks one of several in proportion to their amounts.
pub(super) struct Choice {
    /// Running sums.
    sums: Vec<f64>,
    /// For each of as many equal parts of the whole, the first whose sum is beyond the part's beginning.
    guide: Vec<u32>,
}

impl Choice {
    /// Bytes of each amount.
    pub(super) const BYTES: usize = 12;

    pub(super) fn new(amounts: impl ExactSizeIterator<Item = f64>) -> Result<Self> {
        let n = amounts.len();
        let (mut sums, mut guide) = (zeros::<f64>(n)?, zeros::<u32>(n)?);
        let mut sum = 0.0;
        for (s, v) in sums.iter_mut().zip(amounts) {
            sum += v;
            *s = sum;
        }
        if sum <= 0.0 {
            fail!(OutOfRange, "the source has no activity; some of it must be above 0");
        }
        let mut k = 0;
        for (part, guide) in guide.iter_mut().enumerate() {
            while k < n - 1 && sums[k] <= part as f64 / n as f64 * sum {
                k += 1;
            }
            *guide = k as u32;
        }
        Ok(Self { sums, guide })
    }

    /// Sum of the amounts.
    pub(super) fn total(&self) -> f64 {
        self.sums[self.sums.len() - 1]
    }

    /// By a number between 0 and 1.
    #[inline(always)]
    pub(super) fn pick(&self, u: f64) -> usize {
        let last = self.sums.len() - 1;
        let amount = u * self.sums[last];
        // Rounding may put the number a part too far.
        let part = whole(u * self.guide.len() as f64 - 1e-6, last as f64) as usize;
        let mut k = self.guide[part] as usize;
        while k < last && self.sums[k] <= amount {
            k += 1;
        }
        k
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_are_in_proportion() {
        let choice = Choice::new([0.0, 3.0, 0.0, 0.0, 1.0, 4.0, 0.0].into_iter()).unwrap();
        for k in 0..8000 {
            let u = (k as f64 + 0.5) / 8000.0;
            let expected = if u < 0.375 {
                1
            } else if u < 0.5 {
                4
            } else {
                5
            };
            assert_eq!(choice.pick(u), expected, "{u}");
        }
        assert!(Choice::new([0.0, 0.0].into_iter()).is_err() && Choice::new(std::iter::empty()).is_err());
    }
}
