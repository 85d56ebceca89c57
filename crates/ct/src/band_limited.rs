//! Band-limited interpolation as Fourier sums. A row of `bins` samples, followed by zeros up to a period of P bins, is read between its
//! bins by the trigonometric polynomial through its samples, so that back projection is a sum over views and frequencies:
//!
//! ```text
//! q_v(h) = (1/P) sum_f Q_v(f) exp(2 pi i f h / P),   f = -P/2 .. P/2, the two ends with half their weight
//! volume(x) = sum_v w_v q_v(h_v(x))
//! ```
//!
//! with Q_v the row's transform. h_v is linear in the pixel's row and column, so the frequencies of a view are points on a straight line
//! through the origin of the image's Fourier plane, evenly spaced, and the sum is a non-uniform transform of type 1 (`isocenter_nufft`).
//!
//! `adjoint` is that sum without weights, times pixel_size^2 / bin_pitch, and `forward` its transpose; where pixels are wider than bins,
//! f ends at the last frequency that pixels can tell from others: the image is then the band-limited function through its pixels.
//!
//! A. H. Delaney, Y. Bresler, "A fast and accurate Fourier algorithm for iterative parallel-beam tomography", IEEE Trans. Image Process. 5,
//! 1996; S. Matej, J. A. Fessler, I. G. Kazantsev, "Iterative tomographic image reconstruction using Fourier-based forward and
//! back-projectors", IEEE Trans. Med. Imaging 23, 2004.

use super::geometry::Geometry;
use isocenter_base::error::{Result, fail};
use isocenter_nufft::kernel::fast;

/// Room between what is periodic, in bins: the interpolating function falls off with the distance.
const MARGIN: f64 = 8.0;
/// Maximum period: of rows that no detector has, or of pixels far from the detector.
pub(super) const MAX_PERIOD: usize = 1 << 22;

/// How rows are read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct BandLimited {
    /// Bins of a row.
    bins: usize,
    /// P: a multiple of 8, a product of 2, 3, 5 and 7.
    pub(super) period: usize,
    /// Maximum l2 error of the sums.
    pub(super) tolerance: f64,
}

/// The points of a view in the image's Fourier plane, and the phase of its row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Spoke {
    /// From one frequency to the next, in cycles per pixel, along x and y.
    pub(super) step: [f64; 2],
    /// The bin that pixel (ny / 2, nx / 2), rounded down, falls on.
    pub(super) origin: f64,
}

impl BandLimited {
    /// The period that keeps a pixel from meeting the row's next repetition.
    pub(super) fn new(g: &Geometry, tolerance: f64) -> Result<Self> {
        let last = g.bins as f64 - 1.0;
        let mut reach = last;
        for view in 0..g.views() {
            let line = g.pixel_line(view);
            for (i, j) in [(0, 0), (0, g.nx - 1), (g.ny - 1, 0), (g.ny - 1, g.nx - 1)] {
                let h = line.origin + j as f64 * line.dx + i as f64 * line.dy;
                reach = reach.max(h).max(last - h);
            }
        }
        if reach + MARGIN > MAX_PERIOD as f64 {
            fail!(
                OutOfRange,
                "geometry: some pixels fall {reach:.0} bins from a bin of the detector; band-limited interpolation reaches {MAX_PERIOD} bins"
            );
        }
        Ok(Self { bins: g.bins, period: few_passes((reach + MARGIN).ceil() as usize), tolerance })
    }

    /// The last frequency of a view in `forward` and `adjoint`, P / 2 at most.
    pub(super) fn last(&self, g: &Geometry, view: usize) -> usize {
        let [x, y] = self.spoke(g, view).step;
        // Half a cycle a pixel. A quotient that is whole but for rounding counts as whole.
        let resolved = 0.5 / x.abs().max(y.abs()) * (1.0 + 1e-9);
        (resolved as usize).clamp(1, self.period / 2)
    }

    /// What sums over frequencies are multiplied by in `forward` and `adjoint`.
    pub(super) fn pair_scale(&self, g: &Geometry) -> f64 {
        g.pixel_size * g.ratio() / self.period as f64
    }

    /// Where the frequencies of a view lie.
    pub(super) fn spoke(&self, g: &Geometry, view: usize) -> Spoke {
        let line = g.pixel_line(view);
        let period = self.period as f64;
        let origin = line.origin + (g.nx / 2) as f64 * line.dx + (g.ny / 2) as f64 * line.dy;
        Spoke { step: [line.dx / period, line.dy / period], origin }
    }
}

/// The length with the most factors of 2 among the fast ones up to 4 % above the minimum, or the smallest above: transforms of such
/// lengths take fewer passes.
pub(super) fn few_passes(minimum: usize) -> usize {
    let first = fast(minimum);
    let candidates = std::iter::successors(Some(first), |n| Some(fast(n + 1)));
    let near = candidates.take_while(|n| *n == first || *n <= minimum + minimum / 25);
    near.max_by_key(|n| (n.trailing_zeros(), std::cmp::Reverse(*n))).unwrap_or(first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::PI;

    #[test]
    fn the_period_reaches_every_pixel() {
        // A centred square's corner is sqrt(2) / 2 of its side from the axis.
        let g = Geometry::new((0..180).map(|v| f64::from(v) * 0.0174533).collect(), 512);
        let found = BandLimited::new(&g, 1e-4).expect("a period").period;
        assert_eq!(found, 640);
        // A part in the middle needs no more than the row.
        let part = Geometry { nx: 10, ny: 10, ..g.clone() };
        assert_eq!(BandLimited::new(&part, 1e-4).expect("a period").period, 560);
        // Pixels of two bins: along an axis the last frequency is a quarter of the bins' sampling rate, on a diagonal it is half.
        let wide = Geometry { pixel_size: 2.0, nx: 256, ny: 256, angles: vec![0.0, PI / 4.0], ..g.clone() };
        let plan = BandLimited::new(&wide, 1e-4).expect("a period");
        assert_eq!(plan.last(&g, 0), plan.period / 2);
        assert_eq!([0, 1].map(|v| plan.last(&wide, v)), [plan.period / 4, (plan.period as f64 / 8f64.sqrt()) as usize]);
        let far = Geometry { x_offset: 1e8, ..g };
        assert!(BandLimited::new(&far, 1e-4).is_err_and(|e| e.message.contains("100000")));
    }
}
