//! The points of some lines, tile by tile: what spreading and interpolation share.

use super::line_grid::{LineGrid, Segment};
use super::taps::Taps;
use crate::course::Course;
use isocenter_base::cpu::buffer::{collected, zeros};
use isocenter_base::cpu::level::Level;
use isocenter_base::cpu::parallel::*;
use isocenter_base::cpu::prefetch::prefetch;
use isocenter_base::error::Result;

/// Floats of a cache line.
pub(super) const LINE: usize = 16;

/// What the points of some lines share.
pub(crate) struct LinePoints<'a> {
    pub grid: &'a LineGrid,
    pub taps: &'a Taps<f32>,
    /// Cells from point to point of each line.
    pub steps: &'a [[f64; 2]],
    pub course: Course,
    pub images: usize,
    pub level: Level,
}

/// Segments in the order of their tiles.
pub(super) struct Tiles {
    segments: Vec<Segment>,
    /// Those of tile t are from element t on.
    ends: Vec<u32>,
}

impl Tiles {
    pub(super) fn of(&self, tile: usize) -> &[Segment] {
        &self.segments[self.ends[tile] as usize..self.ends[tile + 1] as usize]
    }
}

impl LinePoints<'_> {
    /// Floats of a point's values, and of a cell.
    #[inline(always)]
    pub(super) fn floats(&self) -> usize {
        2 * self.images
    }

    /// Floats of all values `[line][point][image]`.
    pub(super) fn values_len(&self) -> usize {
        self.steps.len() * self.course.points * self.floats()
    }

    /// Floats from row to row of the grid.
    fn pitch(&self) -> usize {
        self.grid.pitch(self.images) * self.floats()
    }

    pub(super) fn grid_len(&self) -> usize {
        self.pitch() * self.grid.len[1]
    }

    /// Offsets of rows, those behind the end at the beginning again.
    pub(super) fn rows(&self) -> Result<Vec<usize>> {
        let (ny, pitch) = (self.grid.len[1], self.pitch());
        collected((0..=ny + self.grid.width).map(|y| y % ny * pitch))
    }

    /// All segments in the order of their tiles.
    pub(super) fn tiles(&self) -> Result<Tiles> {
        let lines: Vec<Result<Vec<Segment>>> = (self.steps.par_iter().enumerate())
            .map(|(line, step)| self.grid.segments(line as u32, *step, self.course))
            .collect();
        let lines = lines.into_iter().collect::<Result<Vec<_>>>()?;
        let tiles: usize = self.grid.tiles().iter().product();
        let mut ends: Vec<u32> = zeros(tiles + 2)?;
        lines.iter().flatten().for_each(|s| ends[s.tile as usize + 2] += 1);
        for t in 0..tiles {
            ends[t + 2] += ends[t + 1];
        }
        let mut segments = zeros::<Segment>(ends[tiles + 1] as usize)?;
        for s in lines.iter().flatten() {
            let next = &mut ends[s.tile as usize + 1];
            segments[*next as usize] = *s;
            *next += 1;
        }
        Ok(Tiles { segments, ends })
    }

    /// Where a segment's values begin, in points.
    #[inline(always)]
    pub(super) fn first_value(&self, s: &Segment) -> usize {
        s.line as usize * self.course.points + (s.first - self.course.first()) as usize
    }

    /// First cells along x and y that point i of a segment touches, and its place from them, as taps take it.
    #[inline(always)]
    pub(super) fn point(&self, s: &Segment, i: usize) -> ([usize; 2], [f32; 2]) {
        let (width, step) = (self.taps.width(), self.steps[s.line as usize]);
        let f = f64::from(s.first + i as i32) + self.course.shift();
        let (mut start, mut place) = ([0; 2], [0.0; 2]);
        for axis in 0..2 {
            let at = f * step[axis];
            let first = LineGrid::first_cell(width, at);
            start[axis] = (first as i64 - s.wrap[axis]) as usize;
            place[axis] = (2.0 * (first - at) + (width as f64 - 1.0)) as f32;
        }
        (start, place)
    }

    /// Asks for the cells of a tile, which come from memory: between the ends of its segments. `cell` is where an element of the grid is.
    pub(super) fn prefetch(&self, segments: &[Segment], rows: &[usize], cell: impl Fn(usize) -> *const f32) {
        let (floats, width) = (self.floats(), self.taps.width());
        let (mut low, mut high) = ([usize::MAX; 2], [0; 2]);
        for s in segments {
            for i in [0, s.count as usize - 1] {
                let (start, _) = self.point(s, i);
                for axis in 0..2 {
                    low[axis] = low[axis].min(start[axis]);
                    high[axis] = high[axis].max(start[axis] + width);
                }
            }
        }
        if segments.is_empty() {
            return;
        }
        for row in &rows[low[1]..high[1]] {
            for at in (low[0] * floats..high[0] * floats).step_by(LINE) {
                prefetch(cell(*row + at));
            }
        }
    }
}

/// Calls `$self.points::<V, N, WIDE>()` with the number of vectors as a constant.
macro_rules! with_vectors {
    ($self:ident, $v:ty, $wide:literal, $count:expr, $($n:literal)*) => {
        match $count {
            $($n => $self.points::<$v, $n, $wide>(),)*
            count => unreachable!("{count} vectors"),
        }
    };
}
pub(super) use with_vectors;
