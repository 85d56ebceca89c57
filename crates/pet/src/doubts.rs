//! Doubts about deposited events: units other than mm and ps, and lists that are mostly dropped.

use super::dropped::Dropped;
use super::events::{BLOCK, Block, MOST_SETS, Source};
use super::lattice::Lattice;
use super::response::HALF_LIGHT;
use super::units::Short;
use isocenter_base::cpu::buffer::{collected, reserved};
use isocenter_base::error::Result;

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
    /// Where its time difference says.
    place: [f64; 3],
}

/// What seems wrong with the units of deposited events, or their origin, for the log. `located`: how many have a view, so that they are
/// dropped only where they are outside the lattice, or their voxel is full.
///
/// - Detectors surround the lattice, or nearly so: of a square about all of them, four fifths of lines have an end beyond three quarters of
///   its sides. Where nearly all have both ends within those, and another unit makes a scanner of them, lengths are in that. In cm they come
///   out so on a lattice that is wider than 2/15 of the detectors' distance, in m on any. (Where no unit does, the lattice is larger than
///   the scanner, which is no mistake.)
/// - Photons come from between the detectors, so that times in ns move events by less than a thousandth of the way to them. Where nearly
///   none is moved by five times as much, times are too small: timing alone does that to a point in the middle, from 25 ps on at
///   detectors 930 mm apart, 3 ps at 100 mm.
/// - Where nearly all times put the event beyond the detectors, they are too large. Those of randoms may; but not nearly all events are.
/// - Of a scanner, detectors are no more than 3 m apart; where they are thousands of times as far, positions are in um. Times then seem too
///   small, so that this comes first.
/// - A lattice may be smaller than what was scanned, wherever its middle is. Where half of the events are outside, but inside one of the
///   same size about their median place, the origin is another one.
///
/// There is none where there is no memory for it.
pub(super) fn doubt(events: &impl Source, lattice: &Lattice, dropped: &Dropped, located: u64) -> Option<String> {
    let seen = look(events, lattice).ok()?;
    let part = |of: &dyn Fn(&Seen) -> bool| seen.iter().filter(|s| of(s)).count() as f64 / seen.len() as f64;
    if seen.len() < MIN_EVENTS {
        return None;
    }
    let [x, y, z] = [0, 1, 2].map(|d| Short(2.0 * half_side(lattice, d)));
    let ends: Vec<f64> = collected(seen.iter().filter_map(|s| s.end)).ok()?;
    let within = |factor: f64| ends.iter().filter(|e| *e * factor < 0.75).count() as f64 / ends.len() as f64;
    let radius = median(seen.iter().map(|s| s.half)).ok()?;
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
    if RADII.contains(&(radius * 1e-3)) && !RADII.contains(&radius) {
        let apart = Short(2.0 * radius);
        return Some(format!("detectors are {apart} mm apart; positions must be in mm, these seem to be in um"));
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
    let outside = dropped.outside_lattice;
    if located < MIN_OUTSIDE || 2 * outside <= located {
        return None;
    }
    let [a, b, c] = [0, 1, 2].map(|d| median(seen.iter().map(move |s| s.place[d])));
    let median = [a.ok()?, b.ok()?, c.ok()?];
    let [a, b, c] = median.map(Short);
    let within = |middle: [f64; 3]| {
        let near = |s: &Seen| (0..3).all(|d| (s.place[d] - middle[d]).abs() <= half_side(lattice, d));
        part(&near)
    };
    let there = within(median);
    if there > 0.5 && there > 2.0 * within([0.0; 3]) {
        return Some(format!(
            "{} % of the events are outside the lattice, which is {x} x {y} x {z} mm about 0, 0, 0; about their median place, {a}, {b}, {c} mm, \
             it would hold {} %: positions must be from the middle of the scanner, which is the lattice's centre",
            100 * outside / located,
            (100.0 * there).floor()
        ));
    }
    if outside == located {
        let apart = Short(2.0 * radius);
        return Some(format!(
            "all events are outside the lattice, which is {x} x {y} x {z} mm; detectors are {apart} mm apart, and the events' median place \
             is {a}, {b}, {c} mm: positions and the sizes of voxels must be in mm, time differences in ps, and the lattice's centre is at 0, 0, 0"
        ));
    }
    None
}

/// From the lattice's centre to its border.
fn half_side(lattice: &Lattice, axis: usize) -> f64 {
    0.5 * lattice.along()[axis] as f64 * lattice.voxel()[axis]
}

/// The middle one, or the upper of two.
fn median(values: impl Iterator<Item = f64>) -> Result<f64> {
    let mut all = collected(values)?;
    let middle = all.len() / 2;
    Ok(*all.select_nth_unstable_by(middle, f64::total_cmp).1)
}

/// Of events that are dropped for their pairs.
const NOT_MEASURED: &str =
    "are of pairs of crystals that the scanner does not measure: modules or their groups may be in another order";

/// Events whose pairs are not measured, though there are few of them: there should be none.
pub(super) fn of_pairs(dropped: &Dropped, events: u64) -> Option<String> {
    let Dropped { not_measured, .. } = *dropped;
    (not_measured > 0).then(|| format!("{not_measured} of {events} events {NOT_MEASURED}; they are dropped"))
}

/// Why most events of a list have no place, where it is not for the lattice, which may be smaller than what was scanned.
pub(super) fn lost(dropped: &Dropped, events: u64) -> Option<String> {
    if events < MIN_EVENTS as u64 {
        return None;
    }
    let reasons = [
        (dropped.unknown, "have a crystal, a time bin or a label that is none: all are counted from 0"),
        (dropped.not_measured, NOT_MEASURED),
        (dropped.outside_tilts, "are tilted beyond max_tilt: positions are x, y, z, with z along the scanner"),
        (dropped.not_finite, "have a NaN or Inf"),
        (dropped.equal_positions, "have twice the same position"),
    ];
    if let Some((count, why)) = reasons.into_iter().find(|(count, _)| 2 * count > events) {
        return Some(format!("{} % of the events {why}; they are dropped", 100 * count / events));
    }
    let sum = reasons.iter().map(|(count, _)| count).sum::<u64>() + dropped.overflow;
    (events >= MIN_OUTSIDE && 2 * sum > events).then(|| all_causes(dropped, events))
}

/// What became of a list whose events are mostly dropped, though nothing seems to be wrong.
pub(super) fn tell(dropped: &Dropped, lattice: &Lattice, events: u64) -> Option<String> {
    let [x, y, z] = [0, 1, 2].map(|d| Short(2.0 * half_side(lattice, d)));
    (events >= MIN_OUTSIDE && 2 * dropped.total() > events)
        .then(|| format!("{}; the lattice is {x} x {y} x {z} mm about 0, 0, 0", all_causes(dropped, events)))
}

fn all_causes(dropped: &Dropped, events: u64) -> String {
    let causes = [
        (dropped.unknown, "of a crystal, a time bin or a label that is none"),
        (dropped.not_measured, "of a pair of crystals that is not measured"),
        (dropped.outside_lattice, "outside the lattice"),
        (dropped.outside_tilts, "tilted beyond max_tilt"),
        (dropped.not_finite, "with a NaN or Inf"),
        (dropped.equal_positions, "with twice the same position"),
        (dropped.overflow, "in voxels that are full"),
    ];
    let list: Vec<String> = causes.iter().filter(|(n, _)| *n > 0).map(|(n, why)| format!("{n} {why}")).collect();
    format!("{} of {events} events are dropped: {}", dropped.total(), list.join(", "))
}

fn look(events: &impl Source, lattice: &Lattice) -> Result<Vec<Seen>> {
    let all = events.len().div_ceil(BLOCK);
    let blocks = all.min(BLOCKS);
    let mut seen = reserved(blocks * BLOCK)?;
    let mut block = Block::<f64>::new();
    for k in 0..blocks {
        let n = events.read(k * all / blocks * BLOCK, &mut block);
        let known = (0..n).filter(|i| block.set[*i] < MOST_SETS);
        for [x1, y1, z1, x2, y2, z2, time] in known.map(|i| block.event(i)) {
            let across = (x1 - x2).hypot(y1 - y2);
            let half = 0.5 * across.hypot(z1 - z2);
            let shift = HALF_LIGHT * time.abs();
            if !(half + shift).is_finite() || half == 0.0 {
                continue;
            }
            let end = |x: f64, y: f64| (x.abs() / half_side(lattice, 0)).max(y.abs() / half_side(lattice, 1));
            let end = (across >= (z1 - z2).abs()).then(|| end(x1, y1).max(end(x2, y2)));
            // In halves of the way from the second end to the first.
            let ahead = HALF_LIGHT * time / half;
            let at = |p: f64, q: f64| 0.5 * (p + q + ahead * (p - q));
            seen.push(Seen { half, shift, end, time: time.abs(), place: [at(x1, x2), at(y1, y2), at(z1, z2)] });
        }
    }
    Ok(seen)
}

#[cfg(test)]
#[path = "doubts_tests.rs"]
mod tests;
