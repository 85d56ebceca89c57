//! The views of a scan, and which of them a direction belongs to.

use super::view::View;
use super::view_search::Search;
use crate::error::{Result, fail};
use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, PI};

/// Most views.
pub const MAX_VIEWS: usize = 1 << 16;

/// Directions whose views are found at once, in loops without branches.
pub(super) const BLOCK: usize = 256;

/// Views; a line of response belongs to one of them if its tilt is within a limit.
#[derive(Clone, Debug, PartialEq)]
pub struct Views {
    list: Vec<View>,
    max_tilt: f64,
    rule: Rule,
}

#[derive(Clone, Debug, PartialEq)]
enum Rule {
    /// The nearest azimuth, and of its tilts the nearest.
    Grid { azimuths: usize, tilts: usize },
    /// The smallest angle, the first of equals.
    Angle(Search),
}

impl Views {
    /// Azimuth i pi / azimuths, and tilts at the centres of equal intervals of -max..max; view `i * tilts + j` has azimuth i and
    /// tilt j. Three tilts of +-10 degrees are -6.67, 0, and 6.67 degrees. A direction belongs to the nearest azimuth, and
    /// there to the tilt in whose interval its own is.
    pub fn grid(azimuths: usize, tilts: usize, max_tilt: f64) -> Result<Self> {
        for (name, n) in [("azimuths", azimuths), ("tilts", tilts)] {
            if !(1..=MAX_VIEWS).contains(&n) {
                fail!(OutOfRange, "{name} is {n}; it must be 1 to {MAX_VIEWS}");
            }
        }
        check_count(azimuths.saturating_mul(tilts))?;
        check_limit(max_tilt)?;
        let view = |v| View {
            azimuth: (v / tilts) as f64 * PI / azimuths as f64,
            tilt: max_tilt * ((2 * (v % tilts) + 1) as f64 / tilts as f64 - 1.0),
        };
        let list = (0..azimuths * tilts).map(view).collect();
        Ok(Self { list, max_tilt, rule: Rule::Grid { azimuths, tilts } })
    }

    /// Any views, in any order; a direction belongs to the one at the smallest angle.
    pub fn new(list: Vec<View>, max_tilt: f64) -> Result<Self> {
        check_count(list.len())?;
        check_limit(max_tilt)?;
        for (v, view) in list.iter().enumerate() {
            View::new(view.azimuth, view.tilt)?;
            if view.tilt.abs() > max_tilt {
                fail!(OutOfRange, "view {v} has a tilt of {} rad; max_tilt is {max_tilt}", view.tilt);
            }
        }
        if let Some((a, b)) = repeated(&list) {
            fail!(OutOfRange, "views {a} and {b} are the same direction; views must not repeat");
        }
        let rule = Rule::Angle(Search::new(&list, max_tilt)?);
        Ok(Self { list, max_tilt, rule })
    }

    /// All of them.
    pub fn list(&self) -> &[View] {
        &self.list
    }

    /// Largest tilt of a line, up or down, in radians.
    pub fn max_tilt(&self) -> f64 {
        self.max_tilt
    }

    /// The view of a direction of any length but 0, which and whose opposite are the same; `None` beyond the largest tilt.
    pub fn nearest(&self, direction: [f64; 3]) -> Option<usize> {
        let view = match &self.rule {
            Rule::Grid { azimuths, tilts } => grid_view(direction, [*azimuths, *tilts], self.max_tilt),
            Rule::Angle(search) => {
                let [azimuth, tilt] = angles(direction);
                if tilt.abs() <= self.max_tilt { search.find(direction, [azimuth, tilt]) } else { NONE }
            }
        };
        usize::try_from(view).ok()
    }

    /// [`Views::nearest`] of many; [`NONE`] for none.
    #[inline(always)]
    pub(super) fn assign(&self, direction: &[[f64; BLOCK]; 3], view: &mut [i32; BLOCK]) {
        let at = |i: usize| [direction[0][i], direction[1][i], direction[2][i]];
        match &self.rule {
            Rule::Grid { azimuths, tilts } => {
                for (i, view) in view.iter_mut().enumerate() {
                    *view = grid_view(at(i), [*azimuths, *tilts], self.max_tilt);
                }
            }
            Rule::Angle(search) => {
                let mut angle = [[0.0; BLOCK]; 2];
                for i in 0..BLOCK {
                    [angle[0][i], angle[1][i]] = angles(at(i));
                }
                for (i, view) in view.iter_mut().enumerate() {
                    let tilt = angle[1][i];
                    *view = if tilt.abs() <= self.max_tilt { search.find(at(i), [angle[0][i], tilt]) } else { NONE };
                }
            }
        }
    }
}

/// No view.
pub(super) const NONE: i32 = -1;

fn check_count(views: usize) -> Result<()> {
    if !(1..=MAX_VIEWS).contains(&views) {
        fail!(OutOfRange, "there are {views} views; there must be 1 to {MAX_VIEWS}");
    }
    Ok(())
}

fn check_limit(max_tilt: f64) -> Result<()> {
    if !max_tilt.is_finite() {
        fail!(NotFiniteParameter, "max_tilt is {max_tilt}");
    }
    if !(max_tilt > 0.0 && max_tilt < FRAC_PI_2) {
        fail!(OutOfRange, "max_tilt is {max_tilt} rad; it must be above 0 and below pi/2");
    }
    Ok(())
}

/// Two views less than 1e-9 apart, if there are any.
fn repeated(list: &[View]) -> Option<(usize, usize)> {
    const NEAR: f64 = 1e-9;
    let ends = |(v, view): (usize, &View)| {
        let n = view.axes()[0];
        [(n, v), (n.map(|c| -c), v)]
    };
    let mut all: Vec<([f64; 3], usize)> = list.iter().enumerate().flat_map(ends).collect();
    all.sort_by(|(p, _), (q, _)| p[0].total_cmp(&q[0]));
    for (k, (p, a)) in all.iter().enumerate() {
        let close = all[k + 1..].iter().take_while(|(q, _)| q[0] - p[0] < NEAR);
        for (q, b) in close {
            if a != b && p.iter().zip(q).all(|(c, d)| (c - d).abs() < NEAR) {
                return Some(((*a).min(*b), (*a).max(*b)));
            }
        }
    }
    None
}

/// Azimuth in 0..=pi and tilt of a direction or its opposite, whichever has y >= 0.
#[inline(always)]
pub(super) fn angles([x, y, z]: [f64; 3]) -> [f64; 2] {
    let sign = 1f64.copysign(y);
    let across = (x * x + y * y).sqrt();
    [upper_angle(x * sign, y * sign), upper_tilt(z * sign, across)]
}

#[inline(always)]
fn grid_view(direction: [f64; 3], [azimuths, tilts]: [usize; 2], max_tilt: f64) -> i32 {
    let [azimuth, tilt] = angles(direction);
    let step = whole(azimuth * (azimuths as f64 / PI) + 0.5, azimuths as f64);
    // Half a turn is azimuth 0 seen from the other side.
    let over = step == azimuths as i32;
    let (step, tilt) = if over { (0, -tilt) } else { (step, tilt) };
    let interval = whole((tilt / max_tilt + 1.0) * (0.5 * tilts as f64), (tilts - 1) as f64);
    if tilt.abs() <= max_tilt { step * tilts as i32 + interval } else { NONE }
}

/// Rounded down, 0 to `most`, which 32 bits hold; NaN is 0.
#[inline(always)]
pub(super) fn whole(v: f64, most: f64) -> i32 {
    // SAFETY: clamped, and not NaN, which `max` leaves out.
    unsafe { v.max(0.0).min(most).to_int_unchecked() }
}

/// Angle of (x, y), y >= 0, in 0..=pi, to 2e-14; NaN of (0, 0). A loop over it is vectorised.
#[inline(always)]
fn upper_angle(x: f64, y: f64) -> f64 {
    let first = octants(x.abs(), y);
    if x < 0.0 { PI - first } else { first }
}

/// Angle of (across, z) in -pi/2..=pi/2, across >= 0.
#[inline(always)]
fn upper_tilt(z: f64, across: f64) -> f64 {
    octants(across, z.abs()).copysign(z)
}

/// Angle of (x, y), x, y >= 0.
#[inline(always)]
fn octants(x: f64, y: f64) -> f64 {
    /// atan(t) / t over t^2, for t to tan(pi/8), in Chebyshev's points.
    const ATAN: [f64; 9] = [
        0.999_999_999_999_973_2,
        -0.333_333_333_308_034_44,
        0.199_999_996_048_917_24,
        -0.142_856_904_238_264_2,
        0.111_103_850_458_280_13,
        -0.090_783_920_686_488_91,
        0.075_637_035_201_589_15,
        -0.058_745_054_996_039_166,
        0.030_662_438_483_348_382,
    ];
    const TAN_PI_8: f64 = 0.414_213_562_373_095_03;
    let (low, high) = if y < x { (y, x) } else { (x, y) };
    // Above pi/8 the angle from pi/4.
    let (low, high, base) = if low > TAN_PI_8 * high { (low - high, low + high, FRAC_PI_4) } else { (low, high, 0.0) };
    let t = low / high;
    let square = t * t;
    let mut sum = ATAN[8];
    for c in ATAN[..8].iter().rev() {
        sum = sum * square + c;
    }
    let angle = base + t * sum;
    if y < x { angle } else { FRAC_PI_2 - angle }
}

#[cfg(test)]
#[path = "views_tests.rs"]
mod tests;
