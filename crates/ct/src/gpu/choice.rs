//! Which back projector serves a call.
//!
//! A small model: a projector works on whole blocks of slices, at a rate that was measured or is presumed (rates.rs); the
//! least time wins.

use super::case::Case;
use super::projector::Projector;
use super::rates::Candidate;
use crate::options::{Kernel, Precision, Sampling};
use isocenter_base::error::{Result, fail};

/// What a choice is made by.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wish<'a> {
    pub(super) kernel: Kernel,
    pub(super) precision: Precision,
    /// Candidates with the rates to go by.
    pub(super) rates: &'a [Candidate],
}

impl Wish<'_> {
    fn admits(&self, c: &Candidate, sampling: Sampling) -> bool {
        let family = if self.kernel == Kernel::Auto { c.exact } else { c.kernel == self.kernel };
        // What makes hybrid kernels inexact is the texture units' weights, and the nearest sample has none.
        let weightless = matches!(c.projector, Projector::Hybrid { lanes: 1 | 2, .. }) && sampling != Sampling::Linear;
        // Half precision may be served better than it asks for; f32 grade may not be served worse.
        family && (c.precision == self.precision || weightless || self.precision == Precision::Half)
    }

    /// The projector for `slices` slices at a time.
    pub(super) fn choose(&self, case: &Case, slices: usize) -> Result<Projector> {
        let mut refusals = Vec::new();
        let mut best: Option<(f64, Projector)> = None;
        for c in self.rates.iter().filter(|c| self.admits(c, case.sampling)) {
            if let Some(why) = c.projector.refusal(case) {
                refusals.push(why);
                continue;
            }
            let seconds = slices.next_multiple_of(c.projector.slices()) as f64 / c.rate;
            if best.is_none_or(|(min, _)| seconds < min) {
                best = Some((seconds, c.projector));
            }
        }
        let Some((_, projector)) = best else {
            let (kernel, precision) = (self.kernel, self.precision);
            fail!(
                OutOfRange,
                "options.kernel {kernel:?} with {precision:?} precision cannot serve the plan: {}",
                refusals.join("; ")
            );
        };
        Ok(projector)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::Geometry;
    use crate::gpu::rates::{Multiprocessor, presumed};

    const H200: ((i32, i32), usize, &str) = ((9, 0), 2, "NVIDIA H200");

    fn geometry() -> Geometry {
        let angles = (0..100).map(|v| f64::from(v) * 0.0314).collect();
        Geometry::new(angles, 512)
    }

    fn chosen(
        (capability, singles_per_double, name): ((i32, i32), usize, &str),
        (geometry, shared): (&Geometry, usize),
        (kernel, precision): (Kernel, Precision),
        slices: usize,
    ) -> Result<Projector> {
        let case = Case { geometry, sampling: Sampling::Linear, shared, tents: 0 };
        let rates = presumed(&Multiprocessor::new(capability, singles_per_double, name));
        Wish { kernel, precision, rates: &rates }.choose(&case, slices)
    }

    #[test]
    fn the_fastest_that_keeps_the_precision_is_chosen() {
        let (g, shared) = (geometry(), 227 << 10);
        let auto = |g: &Geometry, p, n| chosen(H200, (g, shared), (Kernel::Auto, p), n).expect("a kernel");
        assert_eq!(auto(&g, Precision::Single, 1), Projector::Alu { half: false, lanes: 1 });
        assert_eq!(auto(&g, Precision::Single, 2), Projector::Alu { half: false, lanes: 2 });
        assert_eq!(auto(&g, Precision::Single, 64), Projector::Alu { half: false, lanes: 4 });
        assert_eq!(auto(&g, Precision::Half, 1), Projector::Alu { half: false, lanes: 1 });
        assert_eq!(auto(&g, Precision::Half, 64), Projector::Tensor { split: false });
        // No cache holds the bins of such pixels, and no square of them fits a tensor core's window.
        let wide = Geometry { pixel_size: 100.0, ..g.clone() };
        assert_eq!(auto(&wide, Precision::Half, 64), Projector::Direct { lanes: 4 });
        let asked = |g: &Geometry, k, p, n| chosen(H200, (g, shared), (k, p), n);
        assert!(asked(&wide, Kernel::Tensor, Precision::Half, 64).is_err_and(|e| e.message.contains("100.000")));
        // What texture units round is never chosen, only asked for.
        assert_eq!(
            asked(&g, Kernel::Texture, Precision::Single, 2).expect("textures"),
            Projector::Texture { standard: false, lanes: 2 }
        );
    }

    #[test]
    fn tensor_cores_are_taken_from_more_slices_on_where_they_are_slower() {
        let g = geometry();
        let from = |gpu: ((i32, i32), usize, &str), shared: usize| {
            (1..=128).find(|&n| {
                let choice = chosen(gpu, (&g, shared << 10), (Kernel::Auto, Precision::Half), n).expect("a kernel");
                choice == Projector::Tensor { split: false }
            })
        };
        // 64 slices at the tensor kernel's rate, over those of the fastest other, rounded up to whole blocks.
        assert_eq!(from(H200, 227), Some(21));
        assert_eq!(from(((8, 0), 2, "NVIDIA A100-SXM4-80GB"), 163), Some(17));
        assert_eq!(from(((8, 9), 64, "NVIDIA L40S"), 99), Some(25));
        assert_eq!(from(((12, 0), 64, "NVIDIA GeForce RTX 5090"), 99), Some(53));
    }
}
