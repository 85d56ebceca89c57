//! Which rows of which frames are kept, and where.

use std::ops::Range;

pub struct Kept {
    /// Ascending.
    rows: Vec<usize>,
    /// Which of those that are kept a frame is.
    places: Vec<Option<usize>>,
}

impl Kept {
    /// Some rows of some frames, both ascending, of so many.
    pub fn new(all: usize, frames: &[usize], rows: &[usize]) -> Self {
        let mut places = vec![None; all];
        for (place, &frame) in frames.iter().enumerate() {
            places[frame] = Some(place);
        }
        Self { rows: rows.to_vec(), places }
    }

    /// Places of frames, and which of the rows that are kept these are; nothing unless all of them are.
    pub fn find(&self, frames: &[usize], rows: &Range<usize>) -> Option<(Vec<usize>, Range<usize>)> {
        let places: Vec<_> = frames.iter().map(|&f| self.places[f]).collect::<Option<_>>()?;
        let at = |row: usize| self.rows.partition_point(|&r| r < row);
        let kept = at(rows.start)..at(rows.end);
        (kept.len() == rows.len() && !kept.is_empty() && !places.is_empty()).then_some((places, kept))
    }
}
