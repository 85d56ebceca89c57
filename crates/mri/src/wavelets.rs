//! Orthonormal wavelet transforms of images, axis by axis, level by level.
//!
//! S. Mallat, "A theory for multiresolution signal decomposition: the wavelet representation", IEEE Trans. Pattern Anal. Mach. Intell. 11,
//! 1989; filters of I. Daubechies, "Orthonormal bases of compactly supported wavelets", Comm. Pure Appl. Math. 41, 1988. Lines are periodic.
//! Of a line of odd length the last element passes unchanged to the next level, so that any size has an orthonormal transform.

use isocenter_base::error::{Result, fail};

/// Which wavelets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wavelet {
    /// Daubechies' with four vanishing moments.
    #[default]
    Daubechies4,
    /// Haar's.
    Haar,
}

impl Wavelet {
    /// Of averages; that of details is the same backwards with alternating signs.
    fn filter(self) -> &'static [f64] {
        match self {
            Self::Daubechies4 => &[
                0.230_377_813_308_896_5,
                0.714_846_570_552_915_7,
                0.630_880_767_929_858_9,
                -0.027_983_769_416_859_854,
                -0.187_034_811_719_093_09,
                0.030_841_381_835_560_764,
                0.032_883_011_666_885_2,
                -0.010_597_401_785_069_032,
            ],
            Self::Haar => &[std::f64::consts::FRAC_1_SQRT_2; 2],
        }
    }
}

/// Maximum length of a filter.
pub(super) const TAPS: usize = 8;
/// Where nobody says how many levels, a line is split while it has so many elements.
const SPLIT: usize = 16;
/// More cannot be: lines have at most 2^16 elements.
pub(super) const MAX_LEVELS: usize = 16;

/// One level along z, y, x: the part that is split, which begins at 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Level {
    pub(super) size: [usize; 3],
    /// Axes that are split.
    pub(super) split: [bool; 3],
}

/// A transform of images of one size.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Wavelets {
    pub(super) grid: [usize; 3],
    pub(super) levels: Vec<Level>,
    /// Of averages and of details, from 0 on; zeros behind.
    pub(super) filters: [[f64; TAPS]; 2],
    /// Of the filters that are no zeros.
    pub(super) taps: usize,
}

impl Wavelets {
    /// With so many levels; 0 for as many as leave averages of 8 voxels an axis.
    pub(super) fn new(wavelet: Wavelet, levels: usize, grid: [usize; 3]) -> Result<Self> {
        let filter = wavelet.filter();
        let taps = filter.len();
        let shortest = if levels == 0 { SPLIT } else { taps };
        let mut made = Vec::new();
        let mut size = grid;
        while levels == 0 || made.len() < levels {
            let split = size.map(|n| n >= shortest);
            if !split.contains(&true) {
                if levels > 0 {
                    let [nz, ny, nx] = grid;
                    fail!(
                        OutOfRange,
                        "options.levels is {levels}; an image of ({nz}, {ny}, {nx}) voxels has at most {} of these wavelets",
                        made.len()
                    );
                }
                break;
            }
            made.push(Level { size, split });
            size = std::array::from_fn(|a| if split[a] { size[a].div_ceil(2) } else { size[a] });
        }
        let mut filters = [[0.0; TAPS]; 2];
        for (k, h) in filter.iter().enumerate() {
            filters[0][k] = *h;
            filters[1][taps - 1 - k] = if k % 2 == 0 { -h } else { *h };
        }
        Ok(Self { grid, levels: made, filters, taps })
    }

    /// How far voxels are shifted around before the transform of an iteration, so that no grid of wavelets shows: over all shifts that differ.
    pub(super) fn shift(&self, iteration: usize) -> [usize; 3] {
        let parts = spread(iteration);
        std::array::from_fn(|a| {
            let period = self.grid[a].min(1 << self.levels.len());
            // A part is below 1, and the product may round up to the period.
            ((parts[a] * period as f64) as usize).min(period - 1)
        })
    }
}

/// Parts of 1 that are spread evenly over many iterations: multiples of irrational numbers (the powers of the one over the root of
/// r^4 = r + 1).
pub(super) fn spread(iteration: usize) -> [f64; 3] {
    const ROOT: f64 = 1.220_744_084_605_759_5;
    let mut share = 1.0;
    [(); 3].map(|()| {
        share /= ROOT;
        (0.5 + share * iteration as f64).fract()
    })
}

/// Of a line of `n` elements: averages, the last of an odd length among them, and elements that are split.
pub(super) fn halves(n: usize) -> (usize, usize) {
    (n.div_ceil(2), n / 2 * 2)
}

#[cfg(test)]
#[path = "wavelets_tests.rs"]
mod tests;
