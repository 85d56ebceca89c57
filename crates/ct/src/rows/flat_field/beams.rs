//! The beam of each view: flats at several places in the scan, interpolated, what a monitor says, and what components of the flats add.

use super::options::FlatGroup;
use isocenter_base::cpu::buffer::{collected, zeros};
use isocenter_base::error::Result;
use std::ops::Range;

/// flat - dark of each group, components, and what each view takes of them.
#[derive(Debug)]
pub(crate) struct Beams {
    /// (groups and components, rows, bins).
    planes: Vec<f32>,
    /// Values of a plane.
    plane: usize,
    views: Vec<Mixture>,
    drift: Drift,
}

/// The beam of a view: two neighbouring planes by their weights.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Mixture {
    /// The first of the two, and the second, which may be the same.
    pub(crate) planes: [u32; 2],
    pub(crate) weights: [f32; 2],
}

/// What views take of components, as far as it has been found.
#[derive(Debug)]
struct Drift {
    components: usize,
    /// (view, component).
    weights: Vec<f32>,
    /// What views take of groups before that, and what the strength of a view multiplies its components by; None without components.
    before: Option<Vec<(Mixture, f64)>>,
    /// Views whose weights have been found.
    fitted: Vec<bool>,
}

/// What is found of a view: weights of components, and what the whole beam is multiplied by.
#[derive(Clone, Debug)]
pub(crate) struct Drifted {
    pub(crate) weights: Vec<f64>,
    pub(crate) scale: f64,
}

/// A part of the beam of a view: two planes and their weights, and components.
#[derive(Clone, Copy)]
pub(super) struct Beam<'a> {
    pub(super) planes: [&'a [f32]; 2],
    pub(super) weights: [f32; 2],
    /// Components from the same place on, `stride` apart, and their weights; none of either where there are none.
    pub(super) components: &'a [f32],
    pub(super) stride: usize,
    pub(super) of_components: &'a [f32],
}

impl Beams {
    /// Of planes of groups in the order of their places, and of components behind them; `monitor` has one value a view, or none.
    pub(super) fn new(
        planes: Vec<f32>,
        groups: &[FlatGroup],
        views: usize,
        monitor: &[f64],
        plane: usize,
    ) -> Result<Self> {
        let components = planes.len() / plane - groups.len();
        let views = collected((0..views).map(|view| {
            let mut mixture = mixture(groups, view as f64 + 0.5);
            for (weight, plane) in mixture.weights.iter_mut().zip(mixture.planes) {
                let by = monitor.get(view).map_or(1.0, |m| m / groups[plane as usize].monitor);
                *weight = (f64::from(*weight) * by) as f32;
            }
            mixture
        }))?;
        let mean = mean_monitor(groups);
        let strengths = (0..views.len()).map(|view| monitor.get(view).map_or(1.0, |m| m / mean));
        let before = (components > 0).then(|| collected(views.iter().copied().zip(strengths))).transpose()?;
        let drift = Drift {
            components,
            weights: zeros(views.len().saturating_mul(components))?,
            before,
            fitted: if components > 0 { zeros(views.len())? } else { Vec::new() },
        };
        Ok(Self { plane, planes, views, drift })
    }

    /// Views that it is of.
    pub(super) fn views(&self) -> usize {
        self.views.len()
    }

    /// What views take of groups.
    pub(crate) fn mixtures(&self) -> &[Mixture] {
        &self.views
    }

    /// What views take of components, (view, component), whose planes are the last.
    pub(crate) fn component_weights(&self) -> &[f32] {
        &self.drift.weights
    }

    /// Number of components.
    pub(crate) fn components(&self) -> usize {
        self.drift.components
    }

    /// Number of planes, components and all.
    pub(crate) fn count(&self) -> usize {
        self.planes.len() / self.plane
    }

    /// A part of one plane.
    pub(crate) fn of_plane(&self, plane: usize, part: Range<usize>) -> &[f32] {
        &self.planes[plane * self.plane..][part]
    }

    /// A part of all planes, plane after plane.
    pub(crate) fn part(&self, part: Range<usize>) -> Result<Vec<f32>> {
        let planes = self.planes.chunks_exact(self.plane);
        let mut values = zeros(planes.len() * part.len())?;
        for (to, from) in values.chunks_exact_mut(part.len().max(1)).zip(planes) {
            to.copy_from_slice(&from[part.clone()]);
        }
        Ok(values)
    }

    /// What a view takes of groups before its components were found, and what its strength multiplies those by.
    pub(crate) fn before(&self, view: usize) -> (Mixture, f64) {
        self.drift.before.as_ref().map_or((self.views[view], 1.0), |before| before[view])
    }

    /// Takes what was found of views from this one on.
    pub(crate) fn drift(&mut self, first: usize, found: &[Drifted]) {
        let components = self.drift.components;
        for (view, Drifted { weights, scale }) in (first..).zip(found) {
            let (before, strength) = self.before(view);
            self.views[view].weights = before.weights.map(|w| (f64::from(w) * scale) as f32);
            let to = &mut self.drift.weights[view * components..][..components];
            to.iter_mut().zip(weights).for_each(|(to, w)| *to = (w * scale * strength) as f32);
            self.drift.fitted[view] = true;
        }
    }

    /// The first view whose components have not been found.
    pub(super) fn unfitted(&self) -> Option<usize> {
        self.drift.fitted.iter().position(|fitted| !fitted)
    }

    /// A part of the beam of a view.
    #[inline(always)]
    pub(super) fn of(&self, view: usize, part: Range<usize>) -> Beam<'_> {
        let Mixture { planes, weights } = self.views[view];
        let components = self.drift.components;
        Beam {
            planes: planes.map(|p| self.of_plane(p as usize, part.clone())),
            weights,
            components: if components == 0 {
                &[]
            } else {
                &self.planes[(self.count() - components) * self.plane + part.start..]
            },
            stride: self.plane,
            of_components: &self.drift.weights[view * components..][..components],
        }
    }
}

/// The strength of the beam to which components belong.
pub(super) fn mean_monitor(groups: &[FlatGroup]) -> f64 {
    groups.iter().map(|group| group.monitor / groups.len() as f64).sum()
}

/// By straight lines between groups; the first before all of them, the last behind them.
fn mixture(groups: &[FlatGroup], at: f64) -> Mixture {
    let behind = groups.iter().position(|g| g.position > at).unwrap_or(groups.len());
    let (a, b) = (behind.saturating_sub(1), behind.min(groups.len() - 1));
    let part = if a == b { 0.0 } else { (at - groups[a].position) / (groups[b].position - groups[a].position) };
    Mixture { planes: [a as u32, b as u32], weights: [(1.0 - part) as f32, part as f32] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn views_lie_between_groups() {
        let groups = [0.0, 4.0, 10.0].map(|position| FlatGroup { frames: 1, position, monitor: 1.0 });
        let of = |at| mixture(&groups, at);
        assert_eq!(of(1.0), Mixture { planes: [0, 1], weights: [0.75, 0.25] });
        assert_eq!(of(4.0), Mixture { planes: [1, 2], weights: [1.0, 0.0] });
        assert_eq!(of(7.0), Mixture { planes: [1, 2], weights: [0.5, 0.5] });
        assert_eq!(of(10.5), Mixture { planes: [2, 2], weights: [1.0, 0.0] });
        assert_eq!(mixture(&groups[1..], 1.0), Mixture { planes: [0, 0], weights: [1.0, 0.0] });
    }
}
