//! Doubts about deposited events: units other than mm and ps, and lists that are mostly dropped.

use super::deposit::Dropped;
use super::events::{BLOCK, Block, Events};
use super::lattice::Lattice;
use super::response::HALF_LIGHT;
use super::units::Short;

/// Blocks of events that are looked at, spread over the list: a few thousand events.
const BLOCKS: usize = 16;
/// Fewer events say nothing.
const MIN_EVENTS: usize = 32;
/// Of an object that is larger than a small lattice, a few may be outside by chance.
const MIN_OUTSIDE: u64 = 1000;
/// Part of the events that counts as all of them; the rest may be randoms, or astray.
const NEARLY_ALL: f64 = 0.9;

/// From the middle of a scanner to its detectors, in mm: those of mice have 30, of whole bodies 450.
const RADII: std::ops::RangeInclusive<f64> = 10.0..=1500.0;

/// An event whose numbers are finite, in mm.
struct Seen {
    /// From the middle to either end.
    half: f64,
    /// From the middle to where its time difference says.
    shift: f64,
    /// The farther end's place across the scanner, in halves of the lattice along x or y, whichever is more. None for lines along
    /// the scanner rather than across, whose ends need not surround the lattice.
    end: Option<f64>,
    time: f64,
}

/// What seems wrong with the units of deposited events, for the log. `outside`: how many are outside the lattice, where all are that
/// have a view.
///
/// - Detectors surround the lattice, or nearly so: of a square about all of them, four fifths of lines have an end beyond three quarters of
///   its sides. Where nearly all have both ends within those, and another unit makes a scanner of them, lengths are in that. In cm they come
///   out so on a lattice that is wider than 2/15 of the detectors' distance, in m on any. (Where no unit does, the lattice is larger than
///   the scanner, which is no mistake.)
/// - Photons come from between the detectors, so that times in ns move events by less than a thousandth of the way to them. Where nearly
///   none is moved by five times as much, times are too small: timing alone does that to a point in the middle, from 25 ps on at
///   detectors 930 mm apart, 3 ps at 100 mm.
/// - Where nearly all times put the event beyond the detectors, they are too large. Those of randoms may; but not nearly all events are.
pub(super) fn doubt(events: &Events, lattice: &Lattice, outside: Option<u64>) -> Option<String> {
    let seen = look(events, lattice);
    let part = |of: &dyn Fn(&Seen) -> bool| seen.iter().filter(|s| of(s)).count() as f64 / seen.len() as f64;
    if seen.len() < MIN_EVENTS {
        return None;
    }
    let [x, y, z] = [0, 1, 2].map(|d| Short(lattice.along()[d] as f64 * lattice.voxel()[d]));
    let ends: Vec<f64> = seen.iter().filter_map(|s| s.end).collect();
    let within = |factor: f64| ends.iter().filter(|e| *e * factor < 0.75).count() as f64 / ends.len() as f64;
    let mut halves: Vec<f64> = seen.iter().map(|s| s.half).collect();
    halves.sort_by(f64::total_cmp);
    let radius = halves[halves.len() / 2];
    let fits = |(_, factor): &(&str, f64)| within(*factor) <= NEARLY_ALL && RADII.contains(&(radius * factor));
    let unit = [("cm", 10.0), ("m", 1e3)].into_iter().find(fits);
    if let Some((name, _)) = unit.filter(|_| ends.len() >= MIN_EVENTS && within(1.0) > NEARLY_ALL) {
        let percent = (100.0 * within(1.0)).floor();
        return Some(format!(
            "{percent} % of the events (of {} that were looked at) have both positions inside the lattice, which is {x} x {y} mm across, \
             where no detectors can be; positions must be in mm, these seem to be in {name}",
            seen.len()
        ));
    }
    let still = part(&|s| s.shift < s.half / 200.0);
    if still > NEARLY_ALL {
        let largest = seen.iter().fold(0.0f64, |m, s| m.max(s.time));
        // Photons need 3 ns for a metre.
        let unit = match largest {
            0.0 => "they are all 0",
            t if t > 1e-2 => "these seem to be in ns",
            t if t > 1e-5 => "these seem to be in us",
            _ => "these seem to be in s",
        };
        return Some(format!(
            "time differences, up to {}, leave {} % of the events (of {} that were looked at) in the middle between their detectors; they \
             must be in ps, {unit}",
            Short(largest),
            (100.0 * still).floor(),
            seen.len()
        ));
    }
    let beyond = part(&|s| s.shift > s.half);
    if beyond > NEARLY_ALL {
        let femto = part(&|s| s.shift / 1e3 > s.half) < 1.0 - NEARLY_ALL;
        return Some(format!(
            "time differences move {} % of the events (of {} that were looked at) beyond their detectors; they must be in ps{}, positions \
             in mm",
            (100.0 * beyond).floor(),
            seen.len(),
            if femto { ", these seem to be in fs" } else { "" }
        ));
    }
    if outside.is_some_and(|n| n >= MIN_OUTSIDE) {
        let apart = Short(2.0 * radius);
        return Some(format!(
            "all events are outside the lattice, which is {x} x {y} x {z} mm; detectors are {apart} mm apart: positions and the sizes of \
             voxels must be in mm, time differences in ps"
        ));
    }
    None
}

/// Why most events of a list have no place, where it is not for the lattice, which may be smaller than what was scanned.
pub(super) fn lost(dropped: &Dropped, events: u64) -> Option<String> {
    if events < MIN_EVENTS as u64 {
        return None;
    }
    let reasons = [
        (dropped.outside_tilts, "are tilted beyond max_tilt: positions are x, y, z, with z along the scanner"),
        (dropped.not_finite, "have a NaN or Inf"),
        (dropped.equal_positions, "have twice the same position"),
    ];
    let (count, why) = reasons.into_iter().find(|(count, _)| 2 * count > events)?;
    Some(format!("{} % of the events {why}; they are dropped", 100 * count / events))
}

fn look(events: &Events, lattice: &Lattice) -> Vec<Seen> {
    let all = events.len().div_ceil(BLOCK);
    let blocks = all.min(BLOCKS);
    let mut seen = Vec::new();
    let mut block: Block = [[0.0; BLOCK]; 7];
    for k in 0..blocks {
        let n = events.read(k * all / blocks * BLOCK, &mut block);
        for [x1, y1, z1, x2, y2, z2, time] in (0..n).map(|i| block.each_ref().map(|column| column[i])) {
            let across = (x1 - x2).hypot(y1 - y2);
            let half = 0.5 * across.hypot(z1 - z2);
            let shift = HALF_LIGHT * time.abs();
            if !(half + shift).is_finite() || half == 0.0 {
                continue;
            }
            let along = |d: usize| 0.5 * lattice.along()[d] as f64 * lattice.voxel()[d];
            let end = |x: f64, y: f64| (x.abs() / along(0)).max(y.abs() / along(1));
            let end = (across >= (z1 - z2).abs()).then(|| end(x1, y1).max(end(x2, y2)));
            seen.push(Seen { half, shift, end, time: time.abs() });
        }
    }
    seen
}

#[cfg(test)]
#[path = "doubts_tests.rs"]
mod tests;
