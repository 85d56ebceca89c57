//! Decays during a scan.

use super::isotopes::Isotope;
use super::petsird::Span;
use isocenter::pet::factors::Acquisition;
use std::f64::consts::LN_2;

/// What decays in blocks of time: those between them are dead time, weighed by the activity that there is.
pub fn acquisition(blocks: &[Span], isotope: &Isotope, live: f64, delay: f64) -> Acquisition {
    let start = blocks.iter().map(|[begin, _]| *begin).fold(f64::INFINITY, f64::min);
    let whole = blocks.iter().map(|[_, end]| *end).fold(f64::NEG_INFINITY, f64::max) - start;
    let measured = duration(blocks);
    let (mut live, mut duration) = (live, measured);
    if whole > measured {
        let rate = LN_2 / isotope.half_life;
        let left = |[begin, end]: &Span| -(-rate * (end - begin)).exp_m1() * (-rate * (begin - start)).exp();
        live *= (blocks.iter().map(left).sum::<f64>() / -(-rate * whole).exp_m1()).min(1.0);
        duration = whole;
    }
    Acquisition { duration, branching: isotope.branching, half_life: isotope.half_life, delay: delay + start, live }
}

/// What brings the mean activity of blocks of time to that at so many s before the scan.
pub fn correction(blocks: &[Span], isotope: &Isotope, delay: f64) -> f64 {
    let rate = LN_2 / isotope.half_life;
    let left = |[begin, end]: &Span| -(-rate * (end - begin)).exp_m1() * (-rate * begin).exp();
    (rate * delay).exp() * rate * duration(blocks) / blocks.iter().map(left).sum::<f64>()
}

/// Of all together, s.
pub fn duration(blocks: &[Span]) -> f64 {
    blocks.iter().map(|[begin, end]| end - begin).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of a long-lived isotope 1; over a half-life from the start on the mean of 2^-t is (1 - 1/2) / ln 2.
    #[test]
    fn decay_is_corrected() {
        let of = |half_life, blocks: &[Span], delay| {
            correction(blocks, &Isotope { name: "X".into(), half_life, branching: 1.0 }, delay)
        };
        assert!((of(1e12, &[[0.0, 100.0]], 0.0) - 1.0).abs() < 1e-9);
        assert!((of(100.0, &[[0.0, 100.0]], 0.0) - 2.0 * LN_2).abs() < 1e-12);
        assert!((of(100.0, &[[100.0, 150.0], [150.0, 200.0]], 100.0) - 8.0 * LN_2).abs() < 1e-12);
    }

    #[test]
    fn time_between_blocks_is_dead() {
        let isotope = Isotope { name: "X".into(), half_life: 100.0, branching: 0.5 };
        let whole = acquisition(&[[10.0, 20.0], [20.0, 30.0]], &isotope, 0.8, 5.0);
        assert_eq!(whole, Acquisition { duration: 20.0, branching: 0.5, half_life: 100.0, delay: 15.0, live: 0.8 });
        let parted = acquisition(&[[0.0, 50.0], [100.0, 200.0]], &isotope, 1.0, 0.0);
        // By the activity that there is: 1 - 2^-1/2 and 2^-1 - 2^-2 of what decays in all, over 1 - 2^-2.
        let expected = (1.0 - 0.5f64.sqrt() + 0.25) / 0.75;
        assert!(parted.duration == 200.0 && (parted.live - expected).abs() < 1e-12, "{parted:?}");
    }
}
