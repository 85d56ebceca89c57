//! Which lines of points pass near which tiles of a fine grid: the lists that `kernels/nufft/lines.cuh` goes by, made on the host.

use super::line_choice::LineChoice;
use crate::course::Course;
use isocenter_base::cpu::buffer::{append, collected, copied};
use isocenter_base::error::{Result, fail};
use isocenter_base::gpu::mirrored;
use std::cmp::Reverse;
use std::f64::consts::PI;

/// As in the kernels.
pub(super) const TILE: usize = 16;
/// Lines of one item: few enough that blocks end together, many enough that parts are seldom.
const ITEM_LINES: usize = 128;
/// Ranges and parts of a plan: of lines that are wound round the grid many times there are more than is of use.
const MAX_LIST: usize = 1 << 23;
/// Points of a line: f32 tells them apart.
pub(super) const MAX_POINTS: usize = 1 << 23;

/// Mirrors `Direction`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct Direction {
    x: i64,
    y: i64,
    line: i32,
    unused: i32,
}
mirrored!(Direction, 24);

/// Mirrors `Range`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct Range {
    x: i32,
    y: i32,
    first: i32,
    count: i32,
}
mirrored!(Range, 16);

/// Mirrors `Item`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct Item {
    x: i32,
    y: i32,
    first_range: i32,
    ranges: i32,
    slot: i32,
    upright: i32,
}
mirrored!(Item, 24);

/// Lines, and what is near which tile.
#[derive(Debug)]
pub struct LineLists {
    /// By angle.
    pub(super) directions: Vec<Direction>,
    pub(super) course: Course,
    /// What f32 may round of a position, in grid points.
    pub(super) slack: f64,
    pub(super) lists: Lists,
}

/// Tiles of the fine grid, and the lines that pass near each.
#[derive(Debug, Default)]
pub(super) struct Lists {
    pub(super) ranges: Vec<Range>,
    pub(super) items: Vec<Item>,
    /// Tiles made of parts: first grid point, first slot, number of slots.
    pub(super) tiles: Vec<[i32; 4]>,
    slots: usize,
}

impl LineLists {
    /// Lines by their steps along x, y in cycles per pixel; points beyond half a cycle are those whole cycles nearer.
    pub fn new(steps: &[[f64; 2]], course: Course, choice: &LineChoice) -> Result<Self> {
        let (grid, n, points) = (choice.grid, steps.len(), course.points);
        if i32::try_from(n).is_err() || points > MAX_POINTS || grid.iter().any(|g| *g > 1 << 20) {
            fail!(OutOfRange, "{n} lines of {points} points on a grid of {grid:?} are too many for the GPU");
        }
        // In grid points, by the angle of the line, which has no sense of direction.
        let step = |k: usize| [steps[k][0] * grid[1] as f64, steps[k][1] * grid[0] as f64];
        let angle = |[x, y]: [f64; 2]| {
            let turn = y.atan2(x).rem_euclid(PI);
            if turn < PI { turn } else { 0.0 }
        };
        let mut order = collected((0..n).map(|k| (angle(step(k)), k)))?;
        order.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let fixed = |v: f64| (v * 4294967296.0).round() as i64;
        let direction = |&(_, k): &(f64, usize)| {
            let [x, y] = step(k).map(fixed);
            Direction { x, y, line: k as i32, unused: 0 }
        };
        let directions = collected(order.iter().map(direction))?;
        let longest = (0..n).map(|k| step(k)[0].hypot(step(k)[1])).fold(0.0, f64::max) * course.farthest();
        let slack = 1.0 / 64.0 + longest / f64::from(1 << 20);
        let reach = 0.5 * choice.kernel.width() as f64 + slack;
        let angles = collected(order.iter().map(|(a, _)| *a))?;
        let lists = Lists::new(&angles, longest, reach, grid)?;
        Ok(Self { directions, course, slack, lists })
    }

    /// Bytes that the lists take.
    pub fn bytes(&self) -> u64 {
        let Lists { ranges, items, tiles, .. } = &self.lists;
        (size_of_val(&self.directions[..])
            + size_of_val(&ranges[..])
            + size_of_val(&items[..])
            + size_of_val(&tiles[..])) as u64
    }

    /// Bytes of the parts of so many images.
    pub fn part_bytes(&self, images: usize) -> u64 {
        (self.lists.slots * TILE * TILE * images * 8) as u64
    }
}

impl Lists {
    /// `angles`: of the lines, rising, 0 to pi; `longest`: distance of the farthest point, in grid points.
    fn new(angles: &[f64], longest: f64, reach: f64, [gy, gx]: [usize; 2]) -> Result<Self> {
        let half = (TILE - 1) as f64 / 2.0 + reach;
        let near = half * 2.0f64.sqrt();
        let mut work = Self::default();
        for y in (0..gy).step_by(TILE) {
            for x in (0..gx).step_by(TILE) {
                let middle = |at: usize| at as f64 + (TILE - 1) as f64 / 2.0;
                // Repetitions of the tile that the farthest points reach.
                let repetitions = |at: usize, size: usize| {
                    let far = longest + half;
                    let low = ((-far - middle(at)) / size as f64).ceil() as i64;
                    low..=((far - middle(at)) / size as f64).floor() as i64
                };
                let first_range = work.ranges.len();
                for j in repetitions(y, gy) {
                    for i in repetitions(x, gx) {
                        let (sx, sy) = (i * gx as i64, j * gy as i64);
                        let (cx, cy) = (middle(x) + sx as f64, middle(y) + sy as f64);
                        let distance = cx.hypot(cy);
                        if distance > longest + near {
                            continue;
                        }
                        let (first, count) = passing(angles, cy.atan2(cx), near / distance);
                        if count > 0 {
                            let [x, y, first, count] = [sx, sy, first as i64, count as i64].map(|n| n as i32);
                            append(&mut work.ranges, Range { x, y, first, count })?;
                        }
                    }
                }
                if work.ranges.len() > MAX_LIST {
                    fail!(
                        OutOfRange,
                        "the lines are wound round a grid of {gy} by {gx} too often for the GPU: pixels are too much larger than bins"
                    );
                }
                work.add([x as i32, y as i32], first_range, angles)?;
            }
        }
        // The longest first, so that blocks end together.
        let mut items = collected(work.items.iter().map(|item| (work.cost(item), *item)))?;
        items.sort_unstable_by_key(|(cost, item)| (Reverse(*cost), item.y, item.x, item.slot));
        items.iter().zip(&mut work.items).for_each(|((_, item), to)| *to = *item);
        Ok(work)
    }

    /// The items of a tile, whose ranges are the last ones.
    fn add(&mut self, at: [i32; 2], first_range: usize, angles: &[f64]) -> Result<()> {
        let ranges = copied(&self.ranges[first_range..])?;
        let all: usize = ranges.iter().map(|r| r.count as usize).sum();
        if all <= ITEM_LINES {
            return self.close(at, first_range, angles, -1);
        }
        self.ranges.truncate(first_range);
        let first_slot = self.slots;
        let (mut begin, mut sum) = (first_range, 0);
        for range in ranges {
            let mut done = 0;
            while done < range.count as usize {
                let some = (range.count as usize - done).min(ITEM_LINES - sum);
                let first = ((range.first as usize + done) % angles.len()) as i32;
                append(&mut self.ranges, Range { first, count: some as i32, ..range })?;
                (done, sum) = (done + some, sum + some);
                if sum == ITEM_LINES {
                    self.close_part(at, begin, angles)?;
                    (begin, sum) = (self.ranges.len(), 0);
                }
            }
        }
        if sum > 0 {
            self.close_part(at, begin, angles)?;
        }
        let [x, y] = at;
        append(&mut self.tiles, [x, y, first_slot as i32, (self.slots - first_slot) as i32])
    }

    /// A part of a tile, of all ranges from `begin` on.
    fn close_part(&mut self, at: [i32; 2], begin: usize, angles: &[f64]) -> Result<()> {
        self.close(at, begin, angles, self.slots as i32)?;
        self.slots += 1;
        Ok(())
    }

    /// An item of all ranges from `begin` on.
    fn close(&mut self, [x, y]: [i32; 2], begin: usize, angles: &[f64], slot: i32) -> Result<()> {
        let ranges = &self.ranges[begin..];
        // Whatever a tile without lines does is the same.
        let middle = ranges.first().map_or(0.0, |r| angles[(r.first + r.count / 2) as usize % angles.len()]);
        let upright = i32::from(middle.sin().abs() > middle.cos().abs());
        let [first_range, ranges] = [begin, ranges.len()].map(|n| n as i32);
        append(&mut self.items, Item { x, y, first_range, ranges, slot, upright })
    }

    /// Lines of an item.
    fn cost(&self, item: &Item) -> usize {
        self.ranges[item.first_range as usize..][..item.ranges as usize].iter().map(|r| r.count as usize).sum()
    }
}

/// The lines, by their rising angles, that pass a place in direction `towards` at a distance, as a part of how far away the place is, of
/// at most `sine`: the first of them, and their number.
fn passing(angles: &[f64], towards: f64, sine: f64) -> (usize, usize) {
    if sine >= 1.0 {
        return (0, angles.len());
    }
    let (towards, half) = (towards.rem_euclid(PI), sine.asin());
    let below = |angle: f64| angles.partition_point(|a| *a < angle);
    let up_to = |angle: f64| angles.partition_point(|a| *a <= angle);
    let (low, high) = (towards - half, towards + half);
    match (low < 0.0, high >= PI) {
        (false, false) => (below(low), up_to(high) - below(low)),
        (true, false) => {
            let first = below(low + PI);
            (first % angles.len(), angles.len() - first + up_to(high))
        }
        (false, true) => {
            let first = below(low);
            (first % angles.len(), angles.len() - first + up_to(high - PI))
        }
        (true, true) => (0, angles.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every point is near some patch of a tile that lists its line: all grid points within reach are in listed tiles.
    #[test]
    fn every_point_is_in_the_list_of_its_tiles() {
        for (grid, step, lines, last) in [([40, 56], 0.9, 37, 33), ([16, 20], 2.7, 11, 40), ([70, 70], 1.03, 300, 34)] {
            let mut angles: Vec<f64> = (0..lines).map(|k| (f64::from(k) * 0.7).rem_euclid(PI)).collect();
            angles.sort_by(f64::total_cmp);
            let reach = 3.5;
            let work = Lists::new(&angles, step * f64::from(last), reach, grid).expect("lists");
            let mut listed = std::collections::HashSet::new();
            for item in &work.items {
                for r in &work.ranges[item.first_range as usize..][..item.ranges as usize] {
                    for k in 0..r.count {
                        let line = (r.first + k) as usize % angles.len();
                        assert!(listed.insert((item.x, item.y, r.x, r.y, line)), "twice");
                    }
                }
            }
            for (line, angle) in angles.iter().enumerate() {
                // Also those half a step further.
                for t in (-2 * last..=2 * last).map(|twice| f64::from(twice) / 2.0) {
                    let at = [angle.cos(), angle.sin()].map(|d| d * step * t);
                    for corner in 0..4 {
                        let far = |v: f64, up: bool| if up { (v + reach).floor() } else { (v - reach).ceil() } as i64;
                        let cell = [far(at[0], corner % 2 == 1), far(at[1], corner / 2 == 1)];
                        let size = [grid[1] as i64, grid[0] as i64];
                        let [(x, sx), (y, sy)] = [0, 1].map(|a| {
                            let home = cell[a].rem_euclid(size[a]);
                            (home / TILE as i64 * TILE as i64, cell[a] - home)
                        });
                        let key = (x as i32, y as i32, sx as i32, sy as i32, line);
                        assert!(listed.contains(&key), "line {line}, point {t}: {key:?}");
                    }
                }
            }
            // Parts of a tile have slots of their own.
            let slots: usize = work.tiles.iter().map(|t| t[3] as usize).sum();
            assert_eq!(slots, work.slots);
            assert!(work.tiles.iter().all(|t| t[3] > 1));
        }
    }
}
