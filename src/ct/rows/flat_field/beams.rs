//! The beam of each view: flats at several places in the scan, interpolated, and what a monitor says.

use super::FlatGroup;
use crate::cpu::buffer::{collected, zeros};
use crate::error::Result;

/// flat - dark of each group, and what each view takes of them.
#[derive(Debug)]
pub(in crate::ct) struct Beams {
    /// (groups, rows, bins).
    planes: Vec<f32>,
    /// Values of a plane.
    plane: usize,
    views: Vec<Mixture>,
}

/// The beam of a view: two neighbouring planes by their weights.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::ct) struct Mixture {
    /// The first of the two, and the second, which may be the same.
    pub(in crate::ct) planes: [u32; 2],
    pub(in crate::ct) weights: [f32; 2],
}

impl Beams {
    /// Of planes of groups in the order of their places; `monitor` has one value a view, or none.
    pub(super) fn new(planes: Vec<f32>, groups: &[FlatGroup], views: usize, monitor: &[f64]) -> Result<Self> {
        let views = collected((0..views).map(|view| {
            let mut mixture = mixture(groups, view as f64 + 0.5);
            for (weight, plane) in mixture.weights.iter_mut().zip(mixture.planes) {
                let by = monitor.get(view).map_or(1.0, |m| m / groups[plane as usize].monitor);
                *weight = (f64::from(*weight) * by) as f32;
            }
            mixture
        }))?;
        Ok(Self { plane: planes.len() / groups.len(), planes, views })
    }

    /// Views that it is of.
    pub(super) fn views(&self) -> usize {
        self.views.len()
    }

    /// What views take.
    pub(in crate::ct) fn mixtures(&self) -> &[Mixture] {
        &self.views
    }

    /// A part of all planes, plane after plane.
    pub(in crate::ct) fn part(&self, part: std::ops::Range<usize>) -> Result<Vec<f32>> {
        let planes = self.planes.chunks_exact(self.plane);
        let mut values = zeros(planes.len() * part.len())?;
        for (to, from) in values.chunks_exact_mut(part.len().max(1)).zip(planes) {
            to.copy_from_slice(&from[part.clone()]);
        }
        Ok(values)
    }

    /// A part of the planes that a view takes, and their weights.
    #[inline(always)]
    pub(super) fn of(&self, view: usize, part: std::ops::Range<usize>) -> ([&[f32]; 2], [f32; 2]) {
        let Mixture { planes, weights } = self.views[view];
        (planes.map(|p| &self.planes[p as usize * self.plane..][part.clone()]), weights)
    }
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
