//! What a reconstruction is made of, of a list of lines.

use super::part::Part;
use super::through::Through;
use crate::values::replace_below;
use isocenter_base::array::Array;

/// A list and what is known of its events: `m (J G f + b)` is expected of each.
#[derive(Clone, Debug)]
pub(crate) struct Counted<'a> {
    pub(crate) through: Through<'a>,
    /// m of each; None: 1.
    pub(crate) factors: Option<Array<'a, 1>>,
    /// m b of each; None: 0.
    pub(crate) additive: Option<Array<'a, 1>>,
    /// The image of m over all lines that could be measured, `[z][y][x]`.
    pub(crate) sensitivity: Array<'a, 3>,
    /// Parts that the list is taken in.
    pub(crate) parts: usize,
}

impl Counted<'_> {
    /// One of its parts.
    pub(crate) fn part(&self, k: usize) -> Part {
        Part::of(k, self.parts, self.through.list.len())
    }

    /// Fills a row with b of events from one on; what is not measured at all, m of 0, is infinite, so that an event of it counts nowhere.
    pub(crate) fn besides(&self, from: usize, row: &mut [f32]) {
        match &self.additive {
            Some(additive) => {
                additive.read_row([from], row);
                replace_below(row);
            }
            None => row.fill(0.0),
        }
        let Some(factors) = &self.factors else { return };
        const STEP: usize = 64;
        let mut room = [0.0f32; STEP];
        for (k, part) in row.chunks_mut(STEP).enumerate() {
            let of = &mut room[..part.len()];
            factors.read_row([from + k * STEP], of);
            replace_below(of);
            part.iter_mut().zip(of).for_each(|(b, m)| *b = if *m > 0.0 { *b / *m } else { f32::INFINITY });
        }
    }
}
