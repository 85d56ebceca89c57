//! The fine grid of several images, and its tiles: which points of a line touch which.

use crate::course::Course;
use isocenter_base::cpu::buffer::{append, collected};
use isocenter_base::error::Result;

/// Minimum side of a tile, in cells; a tile of all images stays near the core.
const TILE: usize = 32;

/// Cells of vectors that end behind the last that a point touches.
const BEHIND: usize = 16;

/// The fine grid `[y][x][image]`, the images of a cell side by side: real and imaginary part in turns.
#[derive(Clone, Debug)]
pub(crate) struct LineGrid {
    /// Along x, y.
    pub len: [usize; 2],
    pub width: usize,
    /// First cell of each tile along x and y, and the end. A point belongs to the tile of the first cell that it touches, and
    /// reaches no further than the next tile: tiles at even (or at odd) places along an axis never meet.
    bounds: [Vec<usize>; 2],
    tile_of_cell: [Vec<u32>; 2],
}

/// Points of one line in one tile.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Segment {
    pub(super) line: u32,
    /// The first of them, and how many.
    pub(super) first: i32,
    pub(super) count: u32,
    /// What takes the first cells that they touch, along x and y, onto the grid.
    pub(super) wrap: [i64; 2],
    pub(super) tile: u32,
}

impl LineGrid {
    pub(crate) fn new(len: [usize; 2], width: usize) -> Result<Self> {
        // One tile, or an even number of them, each longer than what a point writes beyond its first cell.
        let count = |n: usize| if n < 2 * TILE { 1 } else { n / TILE / 2 * 2 };
        let bounds = |n: usize| collected((0..=count(n)).map(|t| t * n / count(n)));
        let bounds = [bounds(len[0])?, bounds(len[1])?];
        let cells = |bounds: &[usize]| {
            let tiles = bounds.windows(2).zip(0..);
            collected(tiles.flat_map(|(b, t)| std::iter::repeat_n(t, b[1] - b[0])))
        };
        let tile_of_cell = [cells(&bounds[0])?, cells(&bounds[1])?];
        Ok(Self { len, width, bounds, tile_of_cell })
    }

    /// Cells from row to row: room behind each row's end, so that what a point touches is one run, and an odd number of cache
    /// lines, so that neighbouring rows do not get in each other's way.
    pub(crate) fn pitch(&self, images: usize) -> usize {
        const LINE: usize = 8;
        (((self.len[0] + self.width + BEHIND) * images).div_ceil(LINE) | 1) * LINE / images
    }

    /// Cells behind a row's end that belong to its beginning.
    pub(crate) fn behind(&self) -> usize {
        self.width - 1
    }

    /// Bytes of the tables.
    pub(crate) fn bytes(&self) -> u64 {
        (self.len[0] + self.len[1]) as u64 * 5
    }

    /// Tiles along x, y.
    pub(crate) fn tiles(&self) -> [usize; 2] {
        self.bounds.each_ref().map(|b| b.len() - 1)
    }

    /// First cell that a coordinate touches; it rises with the coordinate.
    #[inline(always)]
    pub(super) fn first_cell(width: usize, at: f64) -> f64 {
        (at - 0.5 * width as f64).ceil()
    }

    /// Maximum number of segments of a line of points `step` cells apart.
    pub(crate) fn max_segments(&self, step: [f64; 2], course: Course) -> usize {
        let crossings = |axis: usize| {
            let span = (course.points - 1) as f64 * step[axis].abs();
            span / self.len[axis] as f64 * self.tiles()[axis] as f64 + 3.0
        };
        ((crossings(0) + crossings(1)) as usize).min(course.points)
    }

    /// The segments of a line of points `step` cells apart.
    pub(super) fn segments(&self, line: u32, step: [f64; 2], course: Course) -> Result<Vec<Segment>> {
        let mut list = Vec::new();
        let (mut first, last, shift) = (course.first(), course.last(), course.shift());
        while first <= last {
            let (mut end, mut wrap, mut tile) = (last + 1, [0; 2], [0; 2]);
            for axis in 0..2 {
                let cell = |f: i32| Self::first_cell(self.width, (f64::from(f) + shift) * step[axis]) as i64;
                let at = cell(first);
                let inside = at.rem_euclid(self.len[axis] as i64);
                wrap[axis] = at - inside;
                tile[axis] = self.tile_of_cell[axis][inside as usize] as usize;
                let bound = |t: usize| wrap[axis] + self.bounds[axis][t] as i64;
                let (low, high) = (bound(tile[axis]), bound(tile[axis] + 1));
                let within = |f: i32| (low..high).contains(&cell(f));
                if within(end - 1) {
                    continue;
                }
                // About where it leaves, and then exactly: cells go one way only.
                let edge = if step[axis] > 0.0 { high } else { low } as f64 - 1.0 + 0.5 * self.width as f64;
                let guess = (edge / step[axis] - shift).clamp(f64::from(first), f64::from(end)) as i32;
                let mut leaves = guess.clamp(first + 1, end - 1);
                while within(leaves) {
                    leaves += 1;
                }
                while !within(leaves - 1) {
                    leaves -= 1;
                }
                end = leaves;
            }
            let tile = (tile[1] * self.tiles()[0] + tile[0]) as u32;
            append(&mut list, Segment { line, first, count: (end - first) as u32, wrap, tile })?;
            first = end;
        }
        Ok(list)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every point once, in its tile, in order; no more than were promised.
    #[test]
    fn segments_are_the_points_of_their_tiles() {
        for len in [[64, 48], [16, 200], [160, 96]] {
            let grid = LineGrid::new(len, 6).expect("memory");
            for step in [[0.7, 0.4], [-1.1, 0.01], [0.0, -0.9], [0.0, 0.0], [-13.7, 29.1], [1.0, -1.0], [1e-9, 400.0]] {
                for course in [(181, 180), (180, 179), (91, 0), (91, 180), (90, 1)] {
                    let course = Course { points: course.0, twice_centre: course.1 };
                    let segments = grid.segments(3, step, course).expect("memory");
                    assert!(segments.len() <= grid.max_segments(step, course), "{len:?} {step:?} {course:?}");
                    let mut next = course.first();
                    for s in segments {
                        assert_eq!((s.first, s.line), (next, 3));
                        next += s.count as i32;
                        for f in s.first..next {
                            let cell = [0, 1].map(|a| {
                                let at = (f64::from(f) + course.shift()) * step[a];
                                let cell = LineGrid::first_cell(6, at) as i64 - s.wrap[a];
                                assert!((0..len[a] as i64).contains(&cell), "{len:?} {step:?} {course:?}: {cell}");
                                grid.tile_of_cell[a][cell as usize] as usize
                            });
                            assert_eq!(cell[1] * grid.tiles()[0] + cell[0], s.tile as usize);
                        }
                    }
                    assert_eq!(next, course.last() + 1);
                }
            }
        }
    }

    #[test]
    fn rows_are_apart() {
        let grid = LineGrid::new([160, 96], 6).expect("memory");
        for images in [1, 2, 4, 8] {
            let pitch = grid.pitch(images);
            assert!(
                pitch >= 160 + 6 + BEHIND && pitch * images / 8 % 2 == 1 && (pitch * images).is_multiple_of(8),
                "{images}: {pitch}"
            );
        }
    }
}
