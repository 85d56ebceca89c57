//! Total variation and its proximal step.
//!
//! The step, argmin over x of |x - v|^2 / 2 + weight * sum of h(|K x|), by the dual's accelerated projected gradient: A. Beck, M.
//! Teboulle, "Fast gradient-based algorithms for constrained total variation image denoising and deblurring problems", IEEE Trans. Image
//! Process. 18, 2009. With p no longer than 1 at any voxel x = v - weight K^H p, and p rises along K x - huber p.

/// Iterations of a proximal step, which begins with the duals of the last one.
pub(super) const ROUNDS: usize = 10;

/// A step of the dual: p = (keep q + step K x), no longer than 1; q = p + momentum (p - what p was).
#[derive(Clone, Copy, Debug)]
pub(super) struct Raise {
    pub(super) keep: f64,
    pub(super) step: f64,
    pub(super) momentum: f64,
}

/// An upper bound of |K|^2: along each axis a difference of two.
pub(super) fn norm_square(grid: [usize; 3], highest_weight: f64) -> f64 {
    4.0 * grid.iter().filter(|n| **n > 1).count().max(1) as f64 * highest_weight
}

/// The rounds of a proximal step.
pub(super) fn rounds(weight: f64, huber: f64, norm_square: f64) -> impl Iterator<Item = Raise> {
    let step = 1.0 / (weight * norm_square + huber);
    let mut t = 1.0f64;
    (0..ROUNDS).map(move |round| {
        let following = (1.0 + (1.0 + 4.0 * t * t).sqrt()) / 2.0;
        // The last one leaves q at p, where the image is taken, and the next step begins.
        let momentum = if round + 1 < ROUNDS { (t - 1.0) / following } else { 0.0 };
        t = following;
        Raise { keep: 1.0 - step * huber, step, momentum }
    })
}
