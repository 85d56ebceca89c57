//! The views of a scan by their angle, which is the order that the removal of stripes looks along: so that the same views give the same
//! slice in whatever order they were taken.
//!
//! The order depends on the set of angles alone. Within a turn it is that of the angles as given; beyond, that of the angles modulo 2 pi
//! (not pi: views from opposite sides are mirrored). A gap of more than a quarter of a turn that is the largest on the circle is where it
//! begins, so that scans whose angles were wrapped are not torn. Views that rise or fall in that order stay as they are.

use isocenter_base::cpu::buffer::{append, collected, filled, zeros};
use isocenter_base::error::Result;
use std::f64::consts::{FRAC_PI_2, TAU};

/// The place of a row that is held while others move.
const HELD: u32 = u32::MAX;

/// Steps over a turn that the last view may be, which then sees the angle of the first again, or of the second.
const OVER: f64 = 1.5;

/// Moves of a sinogram's rows in place, each to where the last one was taken from: [to, from].
pub(crate) type Moves = Vec<[u32; 2]>;

/// What brings views into the order of their angles, and back.
#[derive(Debug)]
pub(crate) struct ByAngle {
    pub(crate) there: Moves,
    pub(crate) back: Moves,
}

impl ByAngle {
    /// None where views rise or fall as they are.
    pub(crate) fn new(angles: &[f64]) -> Result<Option<Self>> {
        let keys = keys(angles)?;
        if keys.is_sorted() || keys.is_sorted_by(|a, b| a >= b) {
            return Ok(None);
        }
        let mut order: Vec<u32> = collected(0..angles.len() as u32)?;
        let of = |view: &u32| (keys[*view as usize], angles[*view as usize]);
        order.sort_unstable_by(|a, b| {
            let ((key, angle), (other_key, other_angle)) = (of(a), of(b));
            key.total_cmp(&other_key).then(angle.total_cmp(&other_angle)).then(a.cmp(b))
        });
        let mut places: Vec<u32> = zeros(order.len())?;
        for (place, view) in (0..).zip(&order) {
            places[*view as usize] = place;
        }
        Ok(Some(Self { there: moves(&order)?, back: moves(&places)? }))
    }

    /// What the moves take, in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        (size_of::<[u32; 2]>() * (self.there.len() + self.back.len())) as u64
    }
}

/// By what views are put in order.
fn keys(angles: &[f64]) -> Result<Vec<f64>> {
    let n = angles.len();
    let (low, high) = angles.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), a| (l.min(*a), h.max(*a)));
    let turn = high - low <= TAU * (1.0 + OVER / n as f64);
    let mut keys: Vec<f64> = collected(angles.iter().map(|a| if turn { a - low } else { (a - low).rem_euclid(TAU) }))?;
    let mut sorted: Vec<f64> = collected(keys.iter().copied())?;
    sorted.sort_unstable_by(f64::total_cmp);
    let around = sorted[0] + TAU - sorted[n - 1];
    let gap = |k: usize| sorted[k] - sorted[k - 1];
    if let Some(k) = (1..n).max_by(|a, b| gap(*a).total_cmp(&gap(*b)))
        && gap(k) > around.max(FRAC_PI_2)
    {
        let first = sorted[k];
        keys.iter_mut().filter(|key| **key < first).for_each(|key| *key += TAU);
    }
    Ok(keys)
}

/// Moves after which place k has what place `from[k]` had: cycle by cycle, the first of each held.
fn moves(from: &[u32]) -> Result<Moves> {
    let mut moved: Vec<bool> = filled(from.len(), false)?;
    let mut moves = Moves::new();
    for first in 0..from.len() as u32 {
        if moved[first as usize] || from[first as usize] == first {
            continue;
        }
        append(&mut moves, [HELD, first])?;
        let mut to = first;
        while from[to as usize] != first {
            moved[to as usize] = true;
            append(&mut moves, [to, from[to as usize]])?;
            to = from[to as usize];
        }
        moved[to as usize] = true;
        append(&mut moves, [to, HELD])?;
    }
    Ok(moves)
}

/// Moves the rows of a sinogram; `held` has room for one.
pub(super) fn move_rows(moves: &Moves, sinogram: &mut [f32], held: &mut [f32]) {
    let bins = held.len();
    let at = |row: u32| row as usize * bins..(row as usize + 1) * bins;
    for [to, from] in moves {
        match (*to, *from) {
            (HELD, from) => held.copy_from_slice(&sinogram[at(from)]),
            (to, HELD) => sinogram[at(to)].copy_from_slice(held),
            (to, from) => sinogram.copy_within(at(from), at(to).start),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::PI;

    /// The views in the order in which they are looked along.
    fn order(angles: &[f64]) -> Vec<usize> {
        let mut rows: Vec<f32> = (0..angles.len()).map(|v| v as f32).collect();
        if let Some(by_angle) = ByAngle::new(angles).expect("memory") {
            move_rows(&by_angle.there, &mut rows, &mut [0.0]);
            let mut back = rows.clone();
            move_rows(&by_angle.back, &mut back, &mut [0.0]);
            assert!(back.iter().enumerate().all(|(v, b)| *b == v as f32), "back again");
        }
        rows.iter().map(|v| *v as usize).collect()
    }

    fn steps(first: f64, step: f64, n: usize) -> Vec<f64> {
        (0..n).map(|v| first + step * v as f64).collect()
    }

    /// Half turns, turns with and without their end, with jitter of their views, from any start and in both directions.
    #[test]
    fn usual_scans_stay() {
        for first in [0.0, 1.3, -2.0, 5.0, 100.0] {
            for (turn, n) in [(PI, 180), (TAU, 360), (TAU, 361), (0.8, 50), (TAU + PI / 180.0, 362), (PI, 1), (PI, 2)] {
                let step = turn / (n.max(2) - n % 2) as f64;
                for step in [step, -step] {
                    let mut angles = steps(first, step, n);
                    assert!(ByAngle::new(&angles).expect("memory").is_none(), "{first}, {turn}, {n}");
                    angles.iter_mut().enumerate().for_each(|(v, a)| *a += 0.4 * step * (v as f64).sin());
                    assert!(ByAngle::new(&angles).expect("memory").is_none(), "{first}, {turn}, {n}, uneven");
                }
            }
        }
    }

    /// Any order of a set of angles gives one: golden angles, turns, a half turn that was wrapped, views taken to and fro.
    #[test]
    fn an_order_depends_on_the_set() {
        let golden = PI * (3.0 - 5f64.sqrt());
        let wrapped: Vec<f64> = steps(5.0, PI / 90.0, 90).iter().map(|a| a.rem_euclid(TAU)).collect();
        for angles in [steps(0.0, golden, 200), steps(0.3, TAU / 90.0, 270), steps(-1.0, PI / 90.0, 90), wrapped] {
            let n = angles.len();
            let sorted: Vec<f64> = order(&angles).iter().map(|v| angles[*v]).collect();
            for stride in [7, 11, 101] {
                // A stride without a common divisor visits all.
                let other: Vec<f64> = (0..n).map(|k| angles[k * stride % n]).collect();
                let seen: Vec<f64> = order(&other).iter().map(|v| other[*v]).collect();
                assert!(seen == sorted, "{n} views from {}, stride {stride}", angles[0]);
            }
            // Neighbours are next to each other on the circle: three turns of the same angles leave gaps of three mean ones.
            let far = |a: f64| (a.rem_euclid(TAU)).min(TAU - a.rem_euclid(TAU));
            let largest = sorted.windows(2).map(|a| far(a[1] - a[0])).fold(0.0, f64::max);
            assert!(largest < 3.001 * TAU / n as f64, "{n} views from {}: {largest}", angles[0]);
        }
    }
}
