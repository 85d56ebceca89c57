//! How far numbers of views stray from those of the views beside them by angle.

use isocenter_base::cpu::buffer::{collected, copied, zeros};
use isocenter_base::error::Result;
use std::f64::consts::TAU;

/// Views to either side that a view is compared with.
const BESIDE: usize = 8;

/// What is usual about each view, the median of it and of those beside it, in a whole turn.
#[derive(Debug)]
pub(crate) struct Strays {
    /// Places in the rising order of angles.
    pub(crate) order: Vec<usize>,
    /// By place.
    pub(crate) usual: Vec<f64>,
    /// The median distance from what is usual.
    pub(crate) typical: f64,
}

impl Strays {
    /// Finds what is usual about each of these numbers, one a view, by the views' angles.
    pub(crate) fn new(angles: &[f64], values: &[f64]) -> Result<Self> {
        let n = values.len();
        let mut order = collected(0..n)?;
        order.sort_unstable_by(|a, b| {
            let turn = |k: &usize| angles[*k].rem_euclid(TAU);
            turn(a).total_cmp(&turn(b)).then(a.cmp(b))
        });
        let beside = BESIDE.min(n.saturating_sub(1) / 2);
        let mut usual: Vec<f64> = zeros(n)?;
        let mut near: Vec<f64> = zeros(2 * beside + 1)?;
        for (at, k) in order.iter().enumerate() {
            near.iter_mut().enumerate().for_each(|(j, v)| *v = values[order[(at + n + j - beside) % n]]);
            near.sort_unstable_by(f64::total_cmp);
            usual[*k] = near[beside];
        }
        let mut distances = copied(&usual)?;
        distances.iter_mut().zip(values).for_each(|(d, v)| *d = (v - *d).abs());
        distances.sort_unstable_by(f64::total_cmp);
        let typical = distances.get(n / 2).copied().unwrap_or(0.0);
        Ok(Self { order, usual, typical })
    }
}
