//! Half acquisition: a full turn about an axis near an edge of the detector, so that it sees one half of the field at a time.
//!
//! With s a bin's distance from its view's axis, positive where the detector reaches further, opposite views see the same ray at s and
//! -s. Over the full turn
//!
//! ```text
//! volume(x) = sum_v a_v q_v(h_v(x)),   q_v = ramp filter of w(s) p_v,   w(s) + w(-s) = 2
//! ```
//!
//! with a_v half the gap to the next angles of the full turn, in sum pi. w rises from 0 to 2 over the bins that both views see, and no
//! view is resampled. A filtered row has values where its detector has not been, up to the other end of the field, so rows are widened by
//! zeros before the filter, and all that comes after has the widened geometry.

use crate::angular::Angular;
use crate::geometry::{Geometry, MAX_SIDE};
use isocenter_base::cpu::buffer::copied;
use isocenter_base::error::{Result, fail};
use std::f64::consts::{FRAC_PI_4, PI, TAU};

/// How weights rise from 0 to 2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rise {
    /// u (3 - u^2) / 2 + 1, u from -1 to 1.
    #[default]
    Smooth,
    /// u + 1.
    Linear,
}

/// How the halves of a half acquisition are joined.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct HalfAcquisition {
    /// Bins over which weights rise; 0 for as many as there can be.
    pub overlap: f64,
    /// How they rise.
    pub rise: Rise,
}

/// Axes further than this part of the detector beyond its edge leave a hole in which nothing is to be seen.
const MAX_HOLE: f64 = 0.25;
/// The part of the views that need an opposite one.
const MIN_OPPOSITE: f64 = 0.5;

impl HalfAcquisition {
    pub(crate) fn check(&self) -> Result<()> {
        let overlap = self.overlap;
        if !overlap.is_finite() {
            fail!(NotFiniteParameter, "half_acquisition.overlap is {overlap}; it must be finite");
        }
        if overlap != 0.0 && !(1.0..=MAX_SIDE as f64).contains(&overlap) {
            fail!(
                OutOfRange,
                "half_acquisition.overlap is {overlap} bins; it must be 0 (all that there are) or 1 to {MAX_SIDE}"
            );
        }
        Ok(())
    }
}

/// Half acquisition in a geometry.
#[derive(Clone, Debug)]
pub(crate) struct Halves {
    /// That of the widened rows.
    pub(crate) geometry: Geometry,
    /// Weights in sum pi, by the angles modulo a full turn.
    pub(crate) angular: Angular,
    /// Bins of the detector, and the widened row's bin that its first one is.
    bins: usize,
    pub(crate) first: usize,
    /// Weights rise over so many bins.
    pub(crate) overlap: f64,
    /// 1 where the detector reaches further beyond the axis in the direction of its last bin, -1 in that of its first.
    side: f64,
    pub(crate) rise: Rise,
    /// Bins from the axis to the nearest ray that some view sees, less half a bin; 0 where there is no hole.
    pub(crate) hole: f64,
}

impl Halves {
    /// Refuses what leaves the middle, or half of the views, without data.
    pub(crate) fn new(options: &HalfAcquisition, g: &Geometry) -> Result<Self> {
        options.check()?;
        let last = g.bins as f64 - 1.0;
        let (low, high) = g.axis.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), a| (l.min(*a), h.max(*a)));
        // Bins from the axis to the nearer edge, negative beyond it; views share the weights, so that opposite ones add up to 2.
        let nearer = low.min(last - high);
        let part = MAX_HOLE * g.bins as f64;
        if nearer < -part {
            let axis = if low < last - high { low } else { high };
            fail!(
                OutOfRange,
                "geometry.axis is {axis} and the detector's bins are 0 to {last}: half acquisition takes an axis up to {part} bins (a quarter of them) beyond the edge"
            );
        }
        // The first bins beyond the edge have the weight 0.
        let most = 2.0 * (nearer + 1.0);
        if options.overlap > most.max(1.0) {
            let wanted = options.overlap;
            if most < 1.0 {
                fail!(
                    OutOfRange,
                    "half_acquisition.overlap is {wanted} bins; no bins are seen from both sides, since the axis is {:.2} bins beyond the edge (0 takes what there is)",
                    -nearer
                );
            }
            fail!(
                OutOfRange,
                "half_acquisition.overlap is {wanted} bins; it must be at most {most:.2}: axis to edge is {nearer:.2} bins, of detector bins 0 to {last}"
            );
        }
        let angular = angular(g)?;
        // All of the field about the axis, whatever part of it the volume is, so that a part of a slice has the same values.
        let reach = high.max(last - low);
        let before = (reach - low).ceil().max(0.0) as usize;
        let after = (high + reach - last).ceil().max(0.0) as usize;
        let bins = before.saturating_add(g.bins).saturating_add(after);
        if bins > MAX_SIDE {
            fail!(OutOfRange, "geometry.bins is {}: half acquisition makes {bins} of them, {MAX_SIDE} at most", g.bins);
        }
        let mut axis = copied(&g.axis)?;
        axis.iter_mut().for_each(|a| *a += before as f64);
        let angles = copied(&g.angles)?;
        let geometry = Geometry { angles, axis, bins, ..*g };
        geometry.check()?;
        Ok(Self {
            geometry,
            angular,
            bins: g.bins,
            first: before,
            overlap: if options.overlap > 0.0 { options.overlap } else { most.max(1.0) },
            side: if low + high <= last { 1.0 } else { -1.0 },
            rise: options.rise,
            hole: (-nearer - 0.5).max(0.0),
        })
    }

    /// A view's axis, in the detector's bins.
    pub(crate) fn axis_of(&self, view: usize) -> f64 {
        self.geometry.axis_of(view) - self.first as f64
    }

    /// From bins to -1 .. 1 over the overlap, positive towards the detector's larger part.
    pub(crate) fn scale(&self) -> f64 {
        2.0 * self.side / self.overlap
    }

    /// Multiplies the bins of a view by their weights.
    fn weigh(&self, view: usize, row: &mut [f32]) {
        let (axis, scale, half) = (self.axis_of(view), self.scale(), self.overlap / 2.0);
        // Bins that both views see, to be weighed one by one; negative numbers become 0.
        let first = ((axis - half).ceil() as usize).min(row.len());
        let end = ((axis + half).floor() as isize + 1).clamp(first as isize, row.len() as isize) as usize;
        let (before, rest) = row.split_at_mut(first);
        let (shared, after) = rest.split_at_mut(end - first);
        for (outside, weight) in [(before, 1.0 - self.side), (after, 1.0 + self.side)] {
            outside.iter_mut().for_each(|v| *v *= weight as f32);
        }
        for (k, v) in shared.iter_mut().enumerate() {
            let u = ((first + k) as f64 - axis) * scale;
            let rise = if self.rise == Rise::Linear { u } else { 0.5 * u * (3.0 - u * u) };
            *v *= (1.0 + rise) as f32;
        }
    }

    /// Widens and weighs the rows of a slice in place: all views with the detector's bins on entry, the widened ones on return. `edge`
    /// continues the detector's outer end, which the filter's padding does where it ends.
    pub(crate) fn widen(&self, edge: bool, rows: &mut [f32]) {
        let (bins, wide) = (self.bins, self.geometry.bins);
        // From the last one on, a row covers only those that have been moved.
        for view in (0..self.geometry.views()).rev() {
            rows.copy_within(view * bins..(view + 1) * bins, view * wide + self.first);
            let row = &mut rows[view * wide..][..wide];
            let (before, rest) = row.split_at_mut(self.first);
            let (seen, after) = rest.split_at_mut(bins);
            self.weigh(view, seen);
            let ends = if self.side > 0.0 { [0.0, seen[bins - 1]] } else { [seen[0], 0.0] };
            let [start, end] = if edge { ends } else { [0.0; 2] };
            before.fill(start);
            after.fill(end);
        }
    }
}

/// The part of the views that have an opposite one, within two steps of the scan; and those steps.
fn opposite(angles: &[f64], spacing: f64) -> Result<f64> {
    let mut sorted = copied(angles)?;
    sorted.iter_mut().for_each(|a| *a = a.rem_euclid(TAU));
    sorted.sort_unstable_by(f64::total_cmp);
    let n = sorted.len();
    let near = (2.0 * spacing.max(TAU / n as f64)).min(FRAC_PI_4);
    let has = |a: &&f64| {
        let wanted = (**a + PI).rem_euclid(TAU);
        let after = sorted.partition_point(|b| *b < wanted);
        let distance = |k: usize| {
            let d = (sorted[k % n] - wanted).abs();
            d.min(TAU - d)
        };
        distance(after).min(distance(after + n - 1)) <= near * (1.0 + 1e-9)
    };
    Ok(sorted.iter().filter(has).count() as f64 / n as f64)
}

/// Angular weights of a full turn.
fn angular(g: &Geometry) -> Result<Angular> {
    let mut angular = Angular::over(&g.angles, TAU)?;
    let paired = opposite(&g.angles, angular.spacing)?;
    if paired < MIN_OPPOSITE {
        let percent = 100.0 * paired;
        let covered = angular.covered.to_degrees();
        fail!(
            OutOfRange,
            "geometry.angles cover {covered:.1} degrees, and {percent:.0} % of the views have an opposite one; half acquisition takes a full turn"
        );
    }
    angular.weights.iter_mut().for_each(|w| *w /= 2.0);
    angular.covered /= 2.0;
    Ok(angular)
}

/// Whether a scan is a half acquisition: a full turn about an axis of which less than half of the detector is seen from both sides.
pub(crate) fn looks_like(g: &Geometry) -> Result<bool> {
    let last = g.bins as f64 - 1.0;
    let axis = g.axis.iter().sum::<f64>() / g.axis.len() as f64;
    let nearer = axis.min(last - axis);
    if 2.0 * nearer + 1.0 >= g.bins as f64 / 2.0 || nearer < -MAX_HOLE * g.bins as f64 {
        return Ok(false);
    }
    let Ok(angular) = Angular::over(&g.angles, TAU) else { return Ok(false) };
    Ok(angular.covered > 1.8 * PI && opposite(&g.angles, angular.spacing)? > 0.9)
}
