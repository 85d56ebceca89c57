//! Random numbers that depend on a seed, an event and how many were drawn for it, and on nothing else: Philox 4x32-10 of
//! J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC11, 2011.

use super::phantom::in_ball;

/// Ten rounds of the generator: four random words for a counter and a key.
fn philox(mut counter: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
    for _ in 0..10 {
        let (a, b) = (u64::from(counter[0]) * 0xD251_1F53, u64::from(counter[2]) * 0xCD9E_8D57);
        counter = [(b >> 32) as u32 ^ counter[1] ^ key[0], b as u32, (a >> 32) as u32 ^ counter[3] ^ key[1], a as u32];
        key = [key[0].wrapping_add(0x9E37_79B9), key[1].wrapping_add(0xBB67_AE85)];
    }
    counter
}

/// The numbers of one event.
#[derive(Debug)]
pub(super) struct Random {
    key: [u32; 2],
    event: [u32; 2],
    blocks: u64,
    block: [u32; 4],
    used: usize,
}

fn halves(v: u64) -> [u32; 2] {
    [v as u32, (v >> 32) as u32]
}

impl Random {
    pub(super) fn new(seed: u64, event: u64) -> Self {
        Self { key: halves(seed), event: halves(event), blocks: 0, block: [0; 4], used: 4 }
    }

    /// Uniform between 0 and 1, neither of which it is.
    #[inline]
    pub(super) fn uniform(&mut self) -> f64 {
        if self.used == 4 {
            let [low, high] = halves(self.blocks);
            self.block = philox([low, high, self.event[0], self.event[1]], self.key);
            self.blocks += 1;
            self.used = 0;
        }
        self.used += 1;
        (f64::from(self.block[self.used - 1]) + 0.5) / 4_294_967_296.0
    }

    /// Cosine and sine of a uniform angle.
    pub(super) fn turn(&mut self) -> [f64; 2] {
        let (point, square) = in_ball::<2>(&mut || self.uniform());
        let scale = 1.0 / square.sqrt();
        point.map(|v| v * scale)
    }

    /// Two of the standard normal distribution, by Marsaglia's polar method.
    pub(super) fn normal(&mut self) -> [f64; 2] {
        let (point, square) = in_ball::<2>(&mut || self.uniform());
        let scale = (-2.0 * square.ln() / square).sqrt();
        point.map(|v| v * scale)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The known answers that the generator's authors publish with their Random123 library.
    #[test]
    fn agrees_with_published_answers() {
        assert_eq!(philox([0; 4], [0; 2]), [0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8]);
        assert_eq!(philox([!0; 4], [!0; 2]), [0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd]);
        assert_eq!(
            philox([0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344], [0xa4093822, 0x299f31d0]),
            [0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1]
        );
    }

    /// Mean of n has standard deviation 1/sqrt(n), mean square sqrt(2/n); five of them.
    #[test]
    fn normal_numbers_have_their_moments() {
        let n = 100_000;
        let values: Vec<f64> = (0..n / 2).flat_map(|k| Random::new(7, k).normal()).collect();
        let mean = values.iter().sum::<f64>() / n as f64;
        let square = values.iter().map(|v| v * v).sum::<f64>() / n as f64;
        assert!(mean.abs() < 5.0 / (n as f64).sqrt(), "{mean}");
        assert!((square - 1.0).abs() < 5.0 * (2.0 / n as f64).sqrt(), "{square}");
        // P(|v| > 2) = 0.0455003.
        let tails = values.iter().filter(|v| v.abs() > 2.0).count() as f64 / n as f64;
        assert!((tails - 0.0455003).abs() < 5.0 * (0.0455 * 0.9545 / n as f64).sqrt(), "{tails}");
    }
}
