//! The views of each step.

use crate::geometry::Geometry;
use isocenter_base::cpu::buffer::{collected, reserved};
use isocenter_base::error::Result;
use std::f64::consts::PI;

/// Views in subsets, and the order in which these take turns.
pub(crate) struct Subsets {
    parts: Vec<Subset>,
}

/// Some views, which are next to each other where an iteration keeps them.
pub(crate) struct Subset {
    /// The scan of these views alone.
    pub(crate) geometry: Geometry,
    /// Views of the subsets before it.
    pub(crate) first: usize,
    /// Where the caller's projections have them.
    pub(crate) views: Vec<usize>,
}

impl Subsets {
    /// Subset s of S has every S-th view of those sorted by angle modulo pi, from number s on. They take turns about a golden section of
    /// S apart, so that neighbours in time are far apart in angle. One subset has all views in the caller's order.
    pub(crate) fn new(g: &Geometry, count: usize) -> Result<Self> {
        let mut views = collected(0..g.views())?;
        if count > 1 {
            let turn = |v: &usize| g.angles[*v].rem_euclid(PI);
            // Views at one angle stay in their order.
            views.sort_unstable_by(|a, b| turn(a).total_cmp(&turn(b)).then(a.cmp(b)));
        }
        let stride = stride(count);
        let mut parts = reserved(count)?;
        let mut first = 0;
        for turn in 0..count {
            let own = collected(views.iter().skip(turn * stride % count).step_by(count).copied())?;
            let angles = collected(own.iter().map(|&v| g.angles[v]))?;
            let axis = if g.axis.len() == 1 { g.axis.clone() } else { collected(own.iter().map(|&v| g.axis[v]))? };
            let (geometry, len) = (Geometry { angles, axis, ..g.clone() }, own.len());
            parts.push(Subset { geometry, first, views: own });
            first += len;
        }
        Ok(Self { parts })
    }

    /// In the order of their turns.
    pub(crate) fn all(&self) -> &[Subset] {
        &self.parts
    }

    /// Of each view as an iteration keeps them, where the caller's projections have it.
    pub(crate) fn order(&self) -> impl Iterator<Item = usize> + '_ {
        self.parts.iter().flat_map(|part| part.views.iter().copied())
    }
}

/// The number next to a golden section of `count` that has no divisor in common with it.
fn stride(count: usize) -> usize {
    let golden = count as f64 * (5f64.sqrt() - 1.0) / 2.0;
    let prime = |n: &usize| divisor(*n, count) == 1;
    let apart = |n: &usize| (*n as f64 - golden).abs();
    (1..=count).filter(prime).min_by(|a, b| apart(a).total_cmp(&apart(b))).unwrap_or(1)
}

/// The greatest common one.
fn divisor(a: usize, b: usize) -> usize {
    if b == 0 { a } else { divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_view_is_in_one_subset() {
        let angles: Vec<f64> = (0..23).map(|v| f64::from(v * 7 % 23) * PI / 23.0).collect();
        let g = Geometry::new(angles.clone(), 8);
        for count in [1, 2, 5, 22, 23] {
            let subsets = Subsets::new(&g, count).expect("subsets");
            let mut order: Vec<usize> = subsets.order().collect();
            assert_eq!(subsets.all().len(), count);
            assert!(
                subsets
                    .all()
                    .iter()
                    .scan(0, |sum, s| Some(s.first == std::mem::replace(sum, *sum + s.views.len())))
                    .all(|ok| ok)
            );
            for part in subsets.all() {
                assert_eq!(part.geometry.angles, part.views.iter().map(|&v| angles[v]).collect::<Vec<_>>());
                assert!(count == 1 || part.geometry.angles.is_sorted());
            }
            if count == 1 {
                assert!(order.is_sorted(), "the caller's order");
            }
            order.sort_unstable();
            assert_eq!(order, (0..23).collect::<Vec<_>>());
        }
    }

    #[test]
    fn strides_visit_all_subsets() {
        assert_eq!([1, 2, 3, 8, 10, 24].map(stride), [1, 1, 2, 5, 7, 13]);
    }
}
