//! From activity to decays.

use isocenter_base::error::{Result, fail};
use std::f64::consts::LN_2;

/// mm^3 of a ml.
const ML: f64 = 1000.0;

/// What makes decays of an activity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Acquisition {
    /// Of the measurement, s; 0: the image is of decays that send pairs of photons, a voxel.
    pub duration: f64,
    /// Part of the decays that send pairs of photons.
    pub branching: f64,
    /// s; 0 for none.
    pub half_life: f64,
    /// From the time that the activity is told at to the start, s; of either sign.
    pub delay: f64,
    /// Part of the duration in which the scanner was ready.
    pub live: f64,
}

impl Default for Acquisition {
    fn default() -> Self {
        Self { duration: 0.0, branching: 1.0, half_life: 0.0, delay: 0.0, live: 1.0 }
    }
}

impl Acquisition {
    pub(crate) fn check(&self) -> Result<()> {
        let Self { duration, branching, half_life, delay, live } = *self;
        let all = [
            ("duration", duration),
            ("branching", branching),
            ("half_life", half_life),
            ("delay", delay),
            ("live", live),
        ];
        for (name, v) in all {
            if !v.is_finite() {
                fail!(NotFiniteParameter, "options.{name} is {v}; it must be finite");
            }
        }
        let unused = all[1..].iter().zip([1.0, 0.0, 0.0, 1.0]).find(|((_, v), default)| v != default);
        if let Some(((name, v), default)) = unused.filter(|_| duration == 0.0) {
            fail!(OutOfRange, "options.{name} is {v} beside a duration of 0, an image in decays; it must be {default}");
        }
        for (name, v, unit) in [("duration", duration, "s"), ("half_life", half_life, "s")] {
            if v < 0.0 {
                fail!(OutOfRange, "options.{name} is {v} {unit}; it must be at least 0");
            }
        }
        for (name, v) in [("branching", branching), ("live", live)] {
            if !(v > 0.0 && v <= 1.0) {
                fail!(OutOfRange, "options.{name} is {v}; it must be above 0 and at most 1");
            }
        }
        if half_life == 0.0 && delay != 0.0 {
            fail!(OutOfRange, "options.delay is {delay} s beside a half_life of 0, which is no decay; it must be 0");
        }
        Ok(())
    }

    /// Decays that send pairs, of a voxel of so many mm^3 with 1 Bq/ml at the time that the activity is told at; without duration, 1.
    pub(crate) fn decays(&self, volume: f64) -> f64 {
        if self.duration == 0.0 {
            return 1.0;
        }
        let left = if self.half_life > 0.0 {
            let rate = LN_2 / self.half_life;
            (-rate * self.delay).exp() * -(-rate * self.duration).exp_m1() / (rate * self.duration)
        } else {
            1.0
        };
        volume / ML * self.duration * self.branching * self.live * left
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decays_are_counted() {
        let of = |a: Acquisition| a.decays(64.0);
        let plain = Acquisition { duration: 600.0, ..Acquisition::default() };
        assert_eq!(of(Acquisition::default()), 1.0);
        assert!((of(plain) - 38.4).abs() < 1e-12);
        assert!((of(Acquisition { branching: 0.967, live: 0.9, ..plain }) - 38.4 * 0.8703).abs() < 1e-12);
        // By the sum over seconds.
        let fluorine = Acquisition { half_life: 6586.2, delay: 3600.0, ..plain };
        let left = |k: i32| 2f64.powf(-(3600.0 + f64::from(k) + 0.5) / 6586.2);
        let expected = 0.064 * (0..600).map(left).sum::<f64>();
        // Midpoints are right to (ln 2 / 6586)^2 / 24 of them.
        assert!((of(fluorine) / expected - 1.0).abs() < 1e-9, "{} {expected}", of(fluorine));
    }

    #[test]
    fn what_no_scan_has_is_refused() {
        let of = |a: Acquisition| a.check().expect_err("refused").message;
        let plain = Acquisition { duration: 600.0, ..Acquisition::default() };
        assert_eq!(plain.check(), Ok(()));
        assert_eq!(of(Acquisition { duration: -1.0, ..plain }), "options.duration is -1 s; it must be at least 0");
        assert_eq!(of(Acquisition { half_life: f64::NAN, ..plain }), "options.half_life is NaN; it must be finite");
        assert_eq!(
            of(Acquisition { branching: 96.7, ..plain }),
            "options.branching is 96.7; it must be above 0 and at most 1"
        );
        assert_eq!(of(Acquisition { live: 0.0, ..plain }), "options.live is 0; it must be above 0 and at most 1");
        let without = Acquisition { half_life: 6586.0, duration: 0.0, ..plain };
        assert!(of(without).starts_with("options.half_life is 6586 beside a duration of 0"));
        assert!(of(Acquisition { delay: 60.0, ..plain }).contains("half_life"));
    }
}
