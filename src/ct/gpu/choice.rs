//! Which back projector serves a call.
//!
//! A small model: a projector works on whole blocks of slices, at a rate that was measured; the least time wins. The rates are
//! from an H200 (benches/results), or the caller's own GPU after `tune`. Elsewhere they serve as ratios.

use super::case::Case;
use super::projector::Projector;
use crate::ct::options::{Kernel, Precision, Sampling};
use crate::error::{Result, fail};

/// A projector and where it belongs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub(super) projector: Projector,
    pub(super) kernel: Kernel,
    pub(super) precision: Precision,
    /// Whether the automatic choice may take it: texture units have 8 bits for a weight, too few for either precision.
    exact: bool,
    /// Giga-updates a second, linear, on full blocks of slices.
    pub(super) rate: f64,
}

const fn candidate(projector: Projector, kernel: Kernel, precision: Precision, exact: bool, rate: f64) -> Candidate {
    Candidate { projector, kernel, precision, exact, rate }
}

/// All projectors, with their rates on an H200.
pub(super) const ALL: [Candidate; 19] = {
    use Precision::{Half, Single};
    use Projector as P;
    [
        candidate(P::Texture { standard: true, lanes: 1 }, Kernel::TextureStandard, Single, false, 1013.0),
        candidate(P::Texture { standard: false, lanes: 1 }, Kernel::Texture, Single, false, 1018.0),
        candidate(P::Texture { standard: false, lanes: 2 }, Kernel::Texture, Single, false, 2021.0),
        candidate(P::Texture { standard: false, lanes: 4 }, Kernel::Texture, Half, false, 4030.0),
        candidate(P::Alu { half: false, lanes: 1 }, Kernel::Alu, Single, true, 3549.0),
        candidate(P::Alu { half: false, lanes: 2 }, Kernel::Alu, Single, true, 5030.0),
        candidate(P::Alu { half: false, lanes: 4 }, Kernel::Alu, Single, true, 6046.0),
        candidate(P::Alu { half: true, lanes: 2 }, Kernel::Alu, Half, true, 4744.0),
        candidate(P::Alu { half: true, lanes: 4 }, Kernel::Alu, Half, true, 6128.0),
        candidate(P::Alu { half: true, lanes: 8 }, Kernel::Alu, Half, true, 6119.0),
        candidate(P::Hybrid { exact: true, lanes: 1 }, Kernel::Hybrid, Single, false, 3657.0),
        candidate(P::Hybrid { exact: false, lanes: 1 }, Kernel::Hybrid, Half, false, 4081.0),
        candidate(P::Hybrid { exact: false, lanes: 2 }, Kernel::Hybrid, Half, false, 4891.0),
        candidate(P::Hybrid { exact: false, lanes: 4 }, Kernel::Hybrid, Half, false, 6834.0),
        candidate(P::Direct { lanes: 1 }, Kernel::Alu, Single, true, 676.0),
        candidate(P::Direct { lanes: 2 }, Kernel::Alu, Single, true, 1329.0),
        candidate(P::Direct { lanes: 4 }, Kernel::Alu, Single, true, 2017.0),
        candidate(P::Tensor { split: false }, Kernel::Tensor, Half, true, 18566.0),
        candidate(P::Tensor { split: true }, Kernel::Tensor, Single, true, 5361.0),
    ]
};

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
    use crate::ct::geometry::Geometry;

    fn chosen(geometry: &Geometry, kernel: Kernel, precision: Precision, slices: usize) -> Result<Projector> {
        // What a block may have on an H200.
        let case = Case { geometry, sampling: Sampling::Linear, shared: 227 << 10, tents: 0 };
        Wish { kernel, precision, rates: &ALL }.choose(&case, slices)
    }

    #[test]
    fn the_fastest_that_keeps_the_precision_is_chosen() {
        let angles = (0..100).map(|v| f64::from(v) * 0.0314).collect();
        let g = Geometry::new(angles, 512);
        let auto = |g: &Geometry, p, n| chosen(g, Kernel::Auto, p, n).expect("a kernel");
        assert_eq!(auto(&g, Precision::Single, 1), Projector::Alu { half: false, lanes: 1 });
        assert_eq!(auto(&g, Precision::Single, 2), Projector::Alu { half: false, lanes: 2 });
        assert_eq!(auto(&g, Precision::Single, 64), Projector::Alu { half: false, lanes: 4 });
        assert_eq!(auto(&g, Precision::Half, 1), Projector::Alu { half: false, lanes: 1 });
        assert_eq!(auto(&g, Precision::Half, 64), Projector::Tensor { split: false });
        // No cache holds the bins of such pixels, and no square of them fits a tensor core's window.
        let wide = Geometry { pixel_size: 100.0, ..g.clone() };
        assert_eq!(auto(&wide, Precision::Half, 64), Projector::Direct { lanes: 4 });
        assert!(chosen(&wide, Kernel::Tensor, Precision::Half, 64).is_err_and(|e| e.message.contains("100.000")));
        // What texture units round is never chosen, only asked for.
        assert_eq!(
            chosen(&g, Kernel::Texture, Precision::Single, 2).expect("textures"),
            Projector::Texture { standard: false, lanes: 2 }
        );
    }
}
