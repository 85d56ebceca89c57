//! Directions of view.

use crate::error::{Result, fail};
use std::f64::consts::{FRAC_PI_2, PI};

/// A direction of lines of response, in radians; v and -v are one direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct View {
    pub(crate) azimuth: f64,
    /// Out of the transverse plane.
    pub(crate) tilt: f64,
}

impl View {
    pub(crate) fn new(azimuth: f64, tilt: f64) -> Result<Self> {
        for (name, angle) in [("azimuth", azimuth), ("tilt", tilt)] {
            if !angle.is_finite() {
                fail!(NotFiniteParameter, "{name} is {angle}");
            }
        }
        if tilt.abs() >= FRAC_PI_2 {
            fail!(OutOfRange, "tilt is {tilt} rad; it must be between -pi/2 and pi/2");
        }
        Ok(Self { azimuth, tilt })
    }

    /// Unit vectors: along the line, radial, axial.
    pub(crate) fn axes(&self) -> [[f64; 3]; 3] {
        let ((sp, cp), (st, ct)) = (self.azimuth.sin_cos(), self.tilt.sin_cos());
        [[cp * ct, sp * ct, st], [-sp, cp, 0.0], [-st * cp, -st * sp, ct]]
    }
}

/// Evenly spaced views: azimuth i pi / azimuths, and tilts at the centres of equal intervals of -max..max; view
/// `i * tilts + j` has azimuth i and tilt j. Three tilts of +-10 degrees are -6.67, 0, and 6.67 degrees.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Views {
    azimuths: usize,
    tilts: usize,
    max_tilt: f64,
}

impl Views {
    pub(crate) fn new(azimuths: usize, tilts: usize, max_tilt: f64) -> Result<Self> {
        const MAX: usize = 1 << 16;
        for (name, n) in [("azimuths", azimuths), ("tilts", tilts)] {
            if !(1..=MAX).contains(&n) {
                fail!(OutOfRange, "{name} is {n}; it must be 1 to {MAX}");
            }
        }
        if !max_tilt.is_finite() {
            fail!(NotFiniteParameter, "max_tilt is {max_tilt}");
        }
        if !(0.0..FRAC_PI_2).contains(&max_tilt) {
            fail!(OutOfRange, "max_tilt is {max_tilt} rad; it must be at least 0 and below pi/2");
        }
        if tilts > 1 && max_tilt == 0.0 {
            fail!(OutOfRange, "max_tilt is 0 with {tilts} tilts; views must not repeat");
        }
        Ok(Self { azimuths, tilts, max_tilt })
    }

    pub(crate) fn list(&self) -> Vec<View> {
        let view = |v| View {
            azimuth: (v / self.tilts) as f64 * PI / self.azimuths as f64,
            tilt: self.max_tilt * ((2 * (v % self.tilts) + 1) as f64 / self.tilts as f64 - 1.0),
        };
        (0..self.azimuths * self.tilts).map(view).collect()
    }

    /// The view with the nearest azimuth and, of those, the nearest tilt; the direction, of any length but 0, is folded into
    /// the half circle, which flips its tilt. Tilts beyond the outer views belong to them.
    pub(crate) fn nearest(&self, direction: [f64; 3]) -> usize {
        let [x, y, z] = direction;
        let steps = (y.atan2(x) / PI * self.azimuths as f64).round() as i64;
        let n = self.azimuths as i64;
        let folded = steps.div_euclid(n) % 2 != 0;
        let tilt = z.atan2(x.hypot(y));
        let tilt = if folded { -tilt } else { tilt };
        // The intervals' lower ends are max_tilt (2 j / tilts - 1).
        let interval = if self.tilts == 1 { 0.0 } else { (tilt / self.max_tilt + 1.0) / 2.0 * self.tilts as f64 };
        let j = (interval.max(0.0) as usize).min(self.tilts - 1);
        steps.rem_euclid(n) as usize * self.tilts + j
    }
}

/// The view at the smallest angle to a direction of any length but 0, of any list; the first of equals.
pub(crate) fn nearest(views: &[View], direction: [f64; 3]) -> Option<usize> {
    let mut best = None;
    for (v, view) in views.iter().enumerate() {
        let cosine = view.axes()[0].iter().zip(direction).map(|(a, b)| a * b).sum::<f64>().abs();
        if best.is_none_or(|(most, _)| cosine > most) {
            best = Some((cosine, v));
        }
    }
    best.map(|(_, v)| v)
}

/// Each view once, neighbours in the order far apart in angle: views sorted by azimuth and tilt, taken in steps of about
/// 0.382 of a turn.
pub(crate) fn geometric_order(views: &[View]) -> Vec<usize> {
    let n = views.len();
    let mut sorted: Vec<usize> = (0..n).collect();
    let azimuth = |v: &View| v.azimuth.rem_euclid(PI);
    sorted.sort_by(|a, b| {
        let (a, b) = (&views[*a], &views[*b]);
        azimuth(a).total_cmp(&azimuth(b)).then(a.tilt.total_cmp(&b.tilt))
    });
    let golden = (n as f64 * (3.0 - 5f64.sqrt()) / 2.0).round().max(1.0) as usize;
    let step = (golden..).find(|s| coprime(*s, n)).unwrap_or(1);
    (0..n).map(|k| sorted[k * step % n]).collect()
}

fn coprime(a: usize, b: usize) -> bool {
    let (mut a, mut b) = (a, b);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_are_orthonormal_and_right_handed() {
        let [n, r, a] = View::new(0.7, -0.2).expect("valid").axes();
        let dot = |u: [f64; 3], v: [f64; 3]| u.iter().zip(v).map(|(p, q)| p * q).sum::<f64>();
        let cross = [n[1] * r[2] - n[2] * r[1], n[2] * r[0] - n[0] * r[2], n[0] * r[1] - n[1] * r[0]];
        for (i, (u, v)) in [(n, r), (n, a), (r, a)].into_iter().enumerate() {
            assert!(dot(u, v).abs() < 1e-15, "pair {i}");
        }
        assert!(cross.iter().zip(a).all(|(p, q)| (p - q).abs() < 1e-15), "axial is n x radial");
        assert!((dot(n, n) - 1.0).abs() < 1e-15);
    }

    #[test]
    fn every_view_is_nearest_to_itself_either_way_round() {
        for (azimuths, tilts) in [(40, 3), (7, 4), (1, 1), (2, 1)] {
            let views = Views::new(azimuths, tilts, 0.17).expect("valid");
            for (v, view) in views.list().iter().enumerate() {
                let n = view.axes()[0];
                for d in [n, n.map(|c| -c)] {
                    assert_eq!(views.nearest(d), v);
                    assert_eq!(nearest(&views.list(), d), Some(v));
                }
            }
        }
    }

    #[test]
    fn folding_over_the_end_of_the_half_circle_flips_the_tilt() {
        let views = Views::new(40, 3, 10f64.to_radians()).expect("valid");
        let just_below_pi = View::new(PI - 0.01, 0.1).expect("valid").axes()[0];
        assert_eq!(views.nearest(just_below_pi), 0, "azimuth 0, lowest tilt");
        assert_eq!(nearest(&views.list(), just_below_pi), Some(0));
        let steep = View::new(0.0, 1.2).expect("valid").axes()[0];
        assert_eq!(views.nearest(steep), 2);
    }

    #[test]
    fn the_geometric_order_takes_each_view_once_and_jumps() {
        for (azimuths, tilts) in [(40, 3), (1, 1), (2, 1), (13, 1)] {
            let list = Views::new(azimuths, tilts, 0.17).expect("valid").list();
            let order = geometric_order(&list);
            let mut seen = order.clone();
            seen.sort_unstable();
            assert_eq!(seen, (0..list.len()).collect::<Vec<_>>());
            if azimuths >= 13 {
                for w in order.windows(2) {
                    let gap = (list[w[0]].azimuth - list[w[1]].azimuth).abs();
                    assert!(gap.min(PI - gap) > 0.25 * PI, "{} after {}", w[1], w[0]);
                }
            }
        }
        assert!(geometric_order(&[]).is_empty());
    }

    #[test]
    fn bad_angles_are_named() {
        assert_eq!(View::new(0.0, 2.0).expect_err("steep").message, "tilt is 2 rad; it must be between -pi/2 and pi/2");
        assert!(
            Views::new(0, 1, 0.1).is_err() && Views::new(4, 2, 0.0).is_err() && Views::new(4, 1, f64::NAN).is_err()
        );
        assert_eq!(Views::new(4, 1, 0.0).expect("valid").list()[1], View { azimuth: PI / 4.0, tilt: 0.0 });
    }
}
