//! Directions of view.

use isocenter_base::error::{Result, fail};
use std::f64::consts::{FRAC_PI_2, PI};

/// A direction of lines of response, in radians; v and -v are one direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct View {
    /// About z, from x towards y.
    pub azimuth: f64,
    /// Out of the transverse plane.
    pub tilt: f64,
}

impl View {
    /// Finite, and not along z.
    pub fn new(azimuth: f64, tilt: f64) -> Result<Self> {
        let view = Self { azimuth, tilt };
        view.check("the view")?;
        Ok(view)
    }

    pub(super) fn check(&self, name: &str) -> Result<()> {
        let Self { azimuth, tilt } = self;
        for (angle, value) in [("an azimuth", azimuth), ("a tilt", tilt)] {
            if !value.is_finite() {
                fail!(NotFiniteParameter, "{name} has {angle} of {value}; it must be finite, in rad");
            }
        }
        if tilt.abs() >= FRAC_PI_2 {
            fail!(OutOfRange, "{name} has a tilt of {tilt} rad; it must be between -pi/2 and pi/2");
        }
        Ok(())
    }

    /// Unit vectors: along the line, radial, axial.
    pub fn axes(&self) -> [[f64; 3]; 3] {
        let ((sp, cp), (st, ct)) = (self.azimuth.sin_cos(), self.tilt.sin_cos());
        [[cp * ct, sp * ct, st], [-sp, cp, 0.0], [-st * cp, -st * sp, ct]]
    }
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
    use super::super::views::Views;
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
    fn the_geometric_order_takes_each_view_once_and_jumps() {
        for (azimuths, tilts) in [(40, 3), (1, 1), (2, 1), (13, 1)] {
            let views = Views::grid(azimuths, tilts, 0.17).expect("valid");
            let list = views.list();
            let order = geometric_order(list);
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
        assert_eq!(
            View::new(0.0, 2.0).expect_err("steep").message,
            "the view has a tilt of 2 rad; it must be between -pi/2 and pi/2"
        );
    }
}
