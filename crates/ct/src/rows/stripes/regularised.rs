//! Offsets that make the means over views smooth: S. Titarenko, P. J. Withers, A. Yagola, "An analytical formula for ring artefact
//! suppression in X-ray tomography", Applied Mathematics Letters 23, 1489 (2010).
//!
//! The paper's closed form is the inverse of a tridiagonal matrix, which is solved here in two sweeps.

use super::Remover;
use super::statistics::Statistics;
use isocenter_base::cpu::buffer::zeros;
use isocenter_base::cpu::level::Level;
use isocenter_base::cpu::simd::{Plain, vectorised};
use isocenter_base::error::Result;

/// What the work on a sinogram takes.
pub(super) struct Room {
    alpha: f64,
    statistics: Statistics,
    offset: Vec<f64>,
    upper: Vec<f64>,
}

impl Room {
    pub(super) fn new(alpha: f64, bins: usize) -> Result<Self> {
        Ok(Self { alpha, statistics: Statistics::new(bins, 1)?, offset: zeros(bins)?, upper: zeros(bins)? })
    }

    pub(super) fn bytes(bins: usize) -> u64 {
        Statistics::bytes(bins, 1) + 16 * bins as u64
    }
}

impl Remover for Room {
    fn correct(&mut self, sinogram: &mut [f32], level: Level) -> Result<()> {
        vectorised(level, Correct { room: self, sinogram });
        Ok(())
    }
}

struct Correct<'a> {
    room: &'a mut Room,
    sinogram: &'a mut [f32],
}

impl Plain for Correct<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { room: Room { alpha, statistics, offset, upper }, sinogram } = self;
        let bins = offset.len();
        statistics.take(sinogram, bins);
        find(*alpha, &statistics.mean, offset, upper);
        // Sums of values next to the largest that there are.
        offset.iter_mut().filter(|o| !(**o as f32).is_finite()).for_each(|o| *o = 0.0);
        for view in sinogram.chunks_exact_mut(bins) {
            view.iter_mut().zip(&*offset).for_each(|(v, o)| *v -= *o as f32);
        }
    }
}

/// What to take off so that the sum of squared differences of neighbouring means, and `alpha` times that of the offsets' squares, is
/// smallest: (L + alpha) offset = L mean, L with 1 or 2 neighbours on the diagonal and -1 beside it. Thomas's algorithm.
#[inline(always)]
fn find(alpha: f64, mean: &[f64], offset: &mut [f64], upper: &mut [f64]) {
    let bins = mean.len();
    for k in 0..bins {
        let (below, above) = (k > 0, k + 1 < bins);
        let mut diagonal = alpha + f64::from(u8::from(below)) + f64::from(u8::from(above));
        let mut right = 0.0;
        if above {
            right += mean[k] - mean[k + 1];
        }
        if below {
            right += mean[k] - mean[k - 1];
            right += offset[k - 1];
            diagonal += upper[k - 1];
        }
        upper[k] = -1.0 / diagonal;
        offset[k] = right / diagonal;
    }
    for k in (1..bins).rev() {
        offset[k - 1] -= upper[k - 1] * offset[k];
    }
}
