//! Directions about which a scan has views from both sides: some at it, others half a turn later.

use super::options::AxisMethod;
use crate::rows::source::spread;
use isocenter_base::cpu::buffer::{append, collected};
use isocenter_base::error::{Result, fail};
use std::f64::consts::{PI, TAU};

/// A view near a seam.
#[derive(Clone, Copy, Debug)]
pub(super) struct Near {
    pub(super) view: usize,
    /// Radians from the seam.
    pub(super) angle: f64,
    /// Half a turn later: mirrored.
    pub(super) far: bool,
}

/// A direction that is seen from both sides.
#[derive(Debug)]
pub(super) struct Seam {
    /// The nearest views of both sides.
    pub(super) pair: [usize; 2],
    /// All views that are near enough to help, of both sides.
    pub(super) near: Vec<Near>,
}

/// The seams of a scan.
#[derive(Debug)]
pub(super) struct Seams {
    pub(super) list: Vec<Seam>,
    pub(super) method: AxisMethod,
    /// What was asked for, of which that was made.
    asked: AxisMethod,
    /// Most views have an opposite one: an axis anywhere on the detector can be told, and halves can be joined.
    pub(super) opposed: bool,
    /// Radians between the two views of a pair at worst.
    pub(super) apart: f64,
}

/// Seams of a full turn: as many as average the noise well.
const MAX_SEAMS: usize = 24;
/// Views that are read for all seams together.
const MAX_VIEWS: usize = 384;
/// Radians from a seam beyond which a view tells nothing that others do not.
const REACH: f64 = 0.2;
/// Views half a turn apart to this part of the median gap are opposite.
const OPPOSITE: f64 = 0.1;
/// And to this part where none are: an odd number of views makes a full turn without them, each half a gap from two others.
const BETWEEN: f64 = 0.5 + 1e-6;
/// A larger part of the views has an opposite one, within three quarters of a gap, where a scan is of more than three quarters of a turn.
const MOST: f64 = 0.5;
/// Radians between the sides of a seam beyond which features have moved too far to be told.
const MAX_APART: f64 = 0.12;

impl Seams {
    /// The seams of all views but those that are `left_out`.
    pub(super) fn new(angles: &[f64], asked: AxisMethod, left_out: &[usize]) -> Result<Self> {
        if angles.len() < 2 + left_out.len() {
            fail!(
                TooFewViews,
                "geometry.views is {}, of which {} are unlike all others; the search for the axis needs at least 2",
                angles.len(),
                left_out.len()
            );
        }
        let used = angles.iter().enumerate().filter(|(v, _)| !left_out.contains(v));
        let mut sorted: Vec<(f64, usize)> = collected(used.map(|(v, a)| (a.rem_euclid(TAU), v)))?;
        sorted.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let gaps = gaps(&sorted)?;
        let mut rising = collected(gaps.iter().copied().filter(|g| (1e-9..TAU - 1e-9).contains(g)))?;
        rising.sort_unstable_by(f64::total_cmp);
        let Some(&spacing) = rising.get((rising.len().max(1) - 1) / 2) else {
            let (n, a) = (angles.len(), angles[0]);
            fail!(EqualAngles, "all {n} angles are {a} modulo 2 pi; the search for the axis needs opposite views");
        };
        let pairs = pairs(&sorted)?;
        let within = |limit: f64| pairs.iter().filter(|p| p.apart <= limit * (1.0 + 1e-9)).count();
        let part = |count: usize| count as f64 / sorted.len() as f64;
        let opposed = part(within(0.75 * spacing.max(TAU / angles.len() as f64))) > MOST;
        let limit = if within(OPPOSITE * spacing) > 0 { OPPOSITE } else { BETWEEN } * spacing;
        let method = match asked {
            AxisMethod::Auto if limit < BETWEEN * spacing || part(within(limit)) > MOST => AxisMethod::OppositeViews,
            AxisMethod::Auto => AxisMethod::Sinogram,
            AxisMethod::OppositeViews if within(limit) == 0 => {
                let best = pairs.iter().map(|p| p.apart).fold(f64::INFINITY, f64::min);
                fail!(
                    OutOfRange,
                    "options.method is 1 (opposite_views), and no two views are half a turn apart: the nearest miss it by {best:.4} rad"
                );
            }
            given => given,
        };
        let list = match method {
            AxisMethod::Sinogram => half_turn(&sorted)?,
            _ => opposite(&sorted, pairs, limit, limit >= BETWEEN * spacing)?,
        };
        let between = |s: &Seam| {
            let turned = (angles[s.pair[0]] - angles[s.pair[1]] + PI).rem_euclid(TAU);
            turned.min(TAU - turned)
        };
        let apart = list.iter().map(between).fold(0.0, f64::max);
        if apart > MAX_APART {
            fail!(
                OutOfRange,
                "the angles miss half a turn by {apart:.3} rad: no direction is seen from both sides to {MAX_APART} rad, as the search for the axis needs it"
            );
        }
        Ok(Self { list, method, asked, opposed, apart })
    }

    /// The same without some views.
    pub(super) fn without(&self, angles: &[f64], left_out: &[usize]) -> Result<Self> {
        Self::new(angles, self.asked, left_out)
    }

    /// All views of all seams, in rising order.
    pub(super) fn views(&self) -> Result<Vec<usize>> {
        let mut views = collected(self.list.iter().flat_map(|s| s.near.iter().map(|n| n.view)))?;
        views.sort_unstable();
        views.dedup();
        Ok(views)
    }
}

/// From each angle to the next, over a whole turn.
fn gaps(sorted: &[(f64, usize)]) -> Result<Vec<f64>> {
    let n = sorted.len();
    collected((0..n).map(|k| if k + 1 < n { sorted[k + 1].0 - sorted[k].0 } else { sorted[0].0 + TAU - sorted[k].0 }))
}

/// Two views, as places in the list of angles, and what they miss of half a turn.
struct Pair {
    places: [usize; 2],
    apart: f64,
}

/// Each view with the one that is nearest to half a turn later.
fn pairs(sorted: &[(f64, usize)]) -> Result<Vec<Pair>> {
    let n = sorted.len();
    collected((0..n).map(|a| {
        let opposite = (sorted[a].0 + PI).rem_euclid(TAU);
        let next = sorted.partition_point(|(t, _)| *t < opposite);
        let miss = |b: usize| {
            let d = (sorted[b].0 - opposite).abs();
            d.min(TAU - d)
        };
        let (before, after) = ((next + n - 1) % n, next % n);
        let b = if miss(before) < miss(after) { before } else { after };
        Pair { places: [a, b], apart: miss(b) }
    }))
}

/// Seams of pairs of opposite views, evenly spread over those that there are. `between`: these are none to the last bit, so that views to
/// either side have to help.
fn opposite(sorted: &[(f64, usize)], pairs: Vec<Pair>, limit: f64, between: bool) -> Result<Vec<Seam>> {
    let mut exact = collected(pairs.into_iter().filter(|p| p.apart <= limit))?;
    // Each of them once.
    exact.retain(|p| sorted[p.places[0]].0 < sorted[p.places[1]].0);
    let chosen = spread(MAX_SEAMS, exact.len())?;
    let room = MAX_VIEWS / chosen.len();
    let reach = if chosen.len() == 1 || between { REACH } else { REACH.min(PI / chosen.len() as f64 / 2.0) };
    let mut list = Vec::new();
    for k in chosen {
        let [a, b] = exact[k].places;
        let turn = (sorted[a].0, sorted[b].0 - PI);
        append(&mut list, seam(sorted, (turn.0 + turn.1) / 2.0, [a, b], reach, room, |_| true)?)?;
    }
    Ok(list)
}

/// The one seam of half a turn: the part of the angles that comes nearest to it, the opposite of its first view left out.
fn half_turn(sorted: &[(f64, usize)]) -> Result<Vec<Seam>> {
    let n = sorted.len();
    let gaps = gaps(sorted)?;
    // It begins behind the widest gap; a full turn anywhere.
    let first = (0..n).max_by(|&a, &b| gaps[a].total_cmp(&gaps[b]).then(b.cmp(&a))).map_or(0, |k| (k + 1) % n);
    let start = sorted[first].0;
    let from_start = |k: usize| (sorted[k].0 - start).rem_euclid(TAU);
    let within = |k: usize| from_start(k) < PI - 1e-6;
    let last = (0..n).filter(|&k| within(k)).max_by(|&a, &b| from_start(a).total_cmp(&from_start(b))).unwrap_or(first);
    let middle = start + (from_start(last) - PI) / 2.0;
    collected([seam(sorted, middle, [first, last], REACH, MAX_VIEWS, within)?])
}

fn seam(
    sorted: &[(f64, usize)],
    middle: f64,
    pair: [usize; 2],
    reach: f64,
    room: usize,
    within: impl Fn(usize) -> bool,
) -> Result<Seam> {
    let mut near = Vec::new();
    for (k, &(t, view)) in sorted.iter().enumerate().filter(|(k, _)| within(*k)) {
        let turn = (t - middle + PI / 2.0).rem_euclid(TAU);
        let (far, angle) = (turn >= PI, turn.rem_euclid(PI) - PI / 2.0);
        if angle.abs() <= reach || pair.contains(&k) {
            append(&mut near, Near { view, angle, far })?;
        }
    }
    near.sort_unstable_by(|a, b| a.angle.abs().total_cmp(&b.angle.abs()).then(a.view.cmp(&b.view)));
    near.truncate(room.max(2));
    Ok(Seam { pair: pair.map(|k| sorted[k].1), near })
}
