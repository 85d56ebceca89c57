//! Random numbers that depend on a seed, a stream and how many were drawn from it, and on nothing else: Philox 4x32-10 of
//! J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC11, 2011.

use super::elementary::ln;
use super::turns::cos_sin_scalar;

/// Numbers that are made together, in loops that the compiler vectorises.
pub const BATCH: usize = 128;

/// A number for each of as many draws.
pub type Batch = [f64; BATCH];

/// Ten rounds of the generator: four random words for a counter and a key.
#[inline(always)]
fn philox(mut counter: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
    for _ in 0..10 {
        let (a, b) = (u64::from(counter[0]) * 0xD251_1F53, u64::from(counter[2]) * 0xCD9E_8D57);
        counter = [(b >> 32) as u32 ^ counter[1] ^ key[0], b as u32, (a >> 32) as u32 ^ counter[3] ^ key[1], a as u32];
        key = [key[0].wrapping_add(0x9E37_79B9), key[1].wrapping_add(0xBB67_AE85)];
    }
    counter
}

/// A stream of numbers.
#[derive(Debug)]
pub struct Random {
    key: [u32; 2],
    /// Upper words of the counter.
    stream: [u32; 3],
    blocks: u32,
}

/// Whole blocks that 32 bits count.
const BLOCKS: u32 = u32::MAX / BATCH as u32;

impl Random {
    /// `kind` and `number` tell streams apart; `kind` is below 2^16.
    pub fn new(seed: u64, kind: u32, number: u64) -> Self {
        let halves = |v: u64| [v as u32, (v >> 32) as u32];
        let [low, high] = halves(number);
        Self { key: halves(seed), stream: [kind << 16, low, high], blocks: 0 }
    }

    /// Four uniform numbers for each draw, between 0 and 1, neither of which they are.
    #[inline(always)]
    pub fn uniform(&mut self) -> [Batch; 4] {
        let mut out = [[0.0; BATCH]; 4];
        let first = self.blocks * BATCH as u32;
        let [stream, low, high] = self.stream;
        for i in 0..BATCH {
            let words = philox([first + i as u32, stream, low, high], self.key);
            for (plane, word) in out.iter_mut().zip(words) {
                plane[i] = (f64::from(word) + 0.5) / 4_294_967_296.0;
            }
        }
        self.blocks += 1;
        if self.blocks == BLOCKS {
            (self.blocks, self.stream[0]) = (0, stream + 1);
        }
        out
    }
}

/// Cosine and sine of an angle, uniform if `u` is, to 1e-8.
#[inline(always)]
pub fn turn(u: f64) -> [f64; 2] {
    let (cos, sin) = cos_sin_scalar(u - 0.5);
    [cos, sin]
}

/// Two of the standard normal distribution, of uniform ones.
#[inline(always)]
pub fn normal(u: f64, v: f64) -> [f64; 2] {
    let radius = (-2.0 * ln(u)).sqrt();
    turn(v).map(|c| radius * c)
}

/// Numbers one by one: uniform ones, or what `of` makes of them.
pub struct OneByOne {
    random: Random,
    of: fn([Batch; 4]) -> [Batch; 4],
    block: [Batch; 4],
    used: usize,
}

impl OneByOne {
    pub fn uniform(random: Random) -> Self {
        Self { random, of: |u| u, block: [[0.0; BATCH]; 4], used: 4 * BATCH }
    }

    pub fn normal(random: Random) -> Self {
        Self { of: normals, ..Self::uniform(random) }
    }

    pub fn draw(&mut self) -> f64 {
        if self.used == 4 * BATCH {
            self.block = (self.of)(self.random.uniform());
            self.used = 0;
        }
        self.used += 1;
        self.block.as_flattened()[self.used - 1]
    }
}

fn normals([a, b, c, d]: [Batch; 4]) -> [Batch; 4] {
    let mut out = [[0.0; BATCH]; 4];
    for i in 0..BATCH {
        [out[0][i], out[1][i]] = normal(a[i], b[i]);
        [out[2][i], out[3][i]] = normal(c[i], d[i]);
    }
    out
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

    #[test]
    fn streams_and_blocks_differ() {
        let first = |seed, kind, number| Random::new(seed, kind, number).uniform()[0][0];
        let mut twice = Random::new(1, 2, 3);
        let mut all = vec![first(2, 2, 3), first(1, 3, 3), first(1, 2, 4), first(1 << 40, 2, 3), first(1, 2, 1 << 40)];
        all.extend([twice.uniform()[0][0], twice.uniform()[0][0]]);
        twice.blocks = BLOCKS - 1;
        all.extend([twice.uniform()[0][0], twice.uniform()[0][0]]);
        all.sort_by(f64::total_cmp);
        assert!(all.windows(2).all(|w| w[0] < w[1]), "{all:?}");
    }

    /// Mean of n has standard deviation 1/sqrt(n), mean square sqrt(2/n); five of them.
    #[test]
    fn normal_numbers_have_their_moments() {
        let mut normals = OneByOne::normal(Random::new(7, 0, 0));
        let values: Vec<f64> = (0..200_000).map(|_| normals.draw()).collect();
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let square = values.iter().map(|v| v * v).sum::<f64>() / n;
        assert!(mean.abs() < 5.0 / n.sqrt(), "{mean}");
        assert!((square - 1.0).abs() < 5.0 * (2.0 / n).sqrt(), "{square}");
        // P(|v| > 2) = 0.0455003.
        let tails = values.iter().filter(|v| v.abs() > 2.0).count() as f64 / n;
        assert!((tails - 0.0455003).abs() < 5.0 * (0.0455 * 0.9545 / n).sqrt(), "{tails}");
    }
}
