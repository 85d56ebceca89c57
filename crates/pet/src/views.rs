//! The views of a scan, and which of them a direction belongs to.

use super::events::BLOCK;
use super::units::Short;
use super::view::View;
use super::view_search::Search;
use isocenter_base::cpu::elementary::{angle, whole};
use isocenter_base::error::{Result, fail};
use std::f64::consts::{FRAC_PI_2, PI};

/// Maximum number of views.
pub const MAX_VIEWS: usize = 1 << 16;

/// Views; a line of response belongs to one of them if its tilt is within a limit.
#[derive(Clone, Debug, PartialEq)]
pub struct Views {
    list: Vec<View>,
    max_tilt: f64,
    rule: Rule,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Rule {
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
                fail!(OutOfRange, "geometry.{name} is {n}; it must be 1 to {MAX_VIEWS}");
            }
        }
        let views = azimuths.saturating_mul(tilts);
        if views > MAX_VIEWS {
            fail!(
                OutOfRange,
                "geometry.azimuths is {azimuths} and geometry.tilts {tilts}, {views} views; there must be 1 to {MAX_VIEWS}"
            );
        }
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
        if !(1..=MAX_VIEWS).contains(&list.len()) {
            fail!(OutOfRange, "there are {} views; there must be 1 to {MAX_VIEWS}", list.len());
        }
        check_limit(max_tilt)?;
        for (v, view) in list.iter().enumerate() {
            view.check(&format!("views[{v}]"))?;
            if view.tilt.abs() > max_tilt {
                fail!(OutOfRange, "views[{v}] has a tilt of {} rad; geometry.max_tilt is {max_tilt}", view.tilt);
            }
        }
        if let Some((a, b)) = repeated(&list) {
            fail!(OutOfRange, "views[{a}] and views[{b}] are the same direction; views must not repeat");
        }
        let rule = Rule::Angle(Search::new(&list, max_tilt)?);
        Ok(Self { list, max_tilt, rule })
    }

    /// All of them.
    pub fn list(&self) -> &[View] {
        &self.list
    }

    /// How the view of a direction is found.
    pub(super) fn rule(&self) -> &Rule {
        &self.rule
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
                let mut found = [[0.0; BLOCK]; 2];
                let [azimuths, tilts] = &mut found;
                for (i, (azimuth, tilt)) in azimuths.iter_mut().zip(tilts).enumerate() {
                    [*azimuth, *tilt] = angles(at(i));
                }
                for (i, view) in view.iter_mut().enumerate() {
                    let [azimuth, tilt] = [found[0][i], found[1][i]];
                    *view = if tilt.abs() <= self.max_tilt { search.find(at(i), [azimuth, tilt]) } else { NONE };
                }
            }
        }
    }
}

/// No view.
pub(super) const NONE: i32 = -1;

fn check_limit(max_tilt: f64) -> Result<()> {
    if !max_tilt.is_finite() {
        fail!(NotFiniteParameter, "geometry.max_tilt is {max_tilt}; it must be finite, in rad");
    }
    if !(max_tilt > 0.0 && max_tilt < FRAC_PI_2) {
        let degrees = match max_tilt {
            t if t > 0.0 && t < 90.0 => format!(" ({t} degrees would be {} rad)", Short(t.to_radians())),
            _ => String::new(),
        };
        fail!(OutOfRange, "geometry.max_tilt is {max_tilt} rad; it must be above 0 and below pi/2{degrees}");
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

/// Angle of (x, y), y >= 0, in 0..=pi, NaN of (0, 0).
#[inline(always)]
fn upper_angle(x: f64, y: f64) -> f64 {
    let first = angle(x.abs(), y);
    if x < 0.0 { PI - first } else { first }
}

/// Angle of (across, z) in -pi/2..=pi/2, across >= 0.
#[inline(always)]
fn upper_tilt(z: f64, across: f64) -> f64 {
    angle(across, z.abs()).copysign(z)
}

/// Part of a view's directions: all tilts of an interval, at azimuths about one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Strip {
    pub(super) azimuth: f64,
    /// Of the azimuths.
    pub(super) width: f64,
    pub(super) tilts: [f64; 2],
}

/// Width of azimuths that one stands for.
const STRIP: f64 = 0.045;
/// Meridians a view at which the borders between views of a list are looked for, and tilts of a meridian.
const MERIDIANS: usize = 16;
const STEPS: usize = 256;

impl Views {
    /// The directions of each view. Exact for a grid; for a list the borders are found along meridians, many to a view.
    pub(super) fn cells(&self) -> Vec<Vec<Strip>> {
        match self.rule {
            Rule::Grid { azimuths, tilts } => {
                let width = PI / azimuths as f64;
                let parts = (width / STRIP).ceil();
                let cell = |v: usize| {
                    let low = self.max_tilt * (2.0 * (v % tilts) as f64 / tilts as f64 - 1.0);
                    let tilts = [low, low + 2.0 * self.max_tilt / tilts as f64];
                    let azimuth = |p| self.list[v].azimuth + width * ((p as f64 + 0.5) / parts - 0.5);
                    let strip = |p| Strip { azimuth: azimuth(p), width: width / parts, tilts };
                    (0..parts as usize).map(strip).collect()
                };
                (0..self.list.len()).map(cell).collect()
            }
            Rule::Angle(_) => self.search_cells(),
        }
    }

    fn search_cells(&self) -> Vec<Vec<Strip>> {
        let meridians = (MERIDIANS * self.list.len()).clamp(1 << 10, 1 << 16);
        let width = PI / meridians as f64;
        let mut cells = vec![Vec::new(); self.list.len()];
        for m in 0..meridians {
            let azimuth = (m as f64 + 0.5) * width;
            for (v, tilts) in self.meridian(azimuth) {
                join(&mut cells[v], Strip { azimuth, width, tilts });
            }
        }
        cells
    }

    /// Views along a meridian, and the interval of tilts of each.
    fn meridian(&self, azimuth: f64) -> Vec<(usize, [f64; 2])> {
        let of = |tilt: f64| self.nearest(View { azimuth, tilt }.axes()[0]);
        let step = 2.0 * self.max_tilt / STEPS as f64;
        let middle = |k: usize| (k as f64 + 0.5) * step - self.max_tilt;
        let mut all = Vec::new();
        let (mut view, mut low) = (of(middle(0)), -self.max_tilt);
        for k in 1..=STEPS {
            let next = if k < STEPS { of(middle(k)) } else { None };
            if next == view {
                continue;
            }
            let mut border = [middle(k - 1), middle(k)];
            for _ in 0..40 {
                let half = 0.5 * (border[0] + border[1]);
                border[usize::from(of(half) != view)] = half;
            }
            let high = if k < STEPS { border[1] } else { self.max_tilt };
            all.extend(view.map(|v| (v, [low, high])));
            (view, low) = (next, high);
        }
        all
    }
}

/// Parts of a strip's height by which borders of meridians that it stands for may differ from its own.
const SLANT: f64 = 0.04;

/// Adds a strip to a cell, to the last one if that is its neighbour, narrow, and of nearly the same tilts.
fn join(cell: &mut Vec<Strip>, strip: Strip) {
    if let Some(last) = cell.last_mut() {
        let all = last.width + strip.width;
        let apart = strip.azimuth - last.azimuth - 0.5 * all;
        let height = last.tilts[1] - last.tilts[0];
        let level = (0..2).all(|k| (strip.tilts[k] - last.tilts[k]).abs() < SLANT * height);
        if all <= STRIP && apart < 0.5 * strip.width && level {
            let mean = |a: f64, b: f64| (a * last.width + b * strip.width) / all;
            let tilts = [0, 1].map(|k| mean(last.tilts[k], strip.tilts[k]));
            *last = Strip { azimuth: mean(last.azimuth, strip.azimuth), width: all, tilts };
            return;
        }
    }
    cell.push(strip);
}

#[cfg(test)]
#[path = "views_tests.rs"]
mod tests;
