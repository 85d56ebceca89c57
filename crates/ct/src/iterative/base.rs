//! Images that are the sum of a base and of what is added to it. What iterations still change is then not rounded to the image's last digit, nor
//! what they project to that of the data: without, objectives stand still, and bounds below them stay apart from them (iterative refinement:
//! N. J. Higham, "Accuracy and Stability of Numerical Algorithms", 2002, chapter 12).

use super::space::{DATA, Image, Rows, Space, Sum};
use isocenter_base::error::Result;

/// Vectors, and numbers of each slice.
#[derive(Clone, Copy)]
pub(super) struct Base {
    pub(super) base: Image,
    /// Overwritten.
    pub(super) projected: Rows,
    /// 1; 0; whether the slice goes on; minus that.
    pub(super) numbers: [Sum; 4],
    /// Overwritten.
    pub(super) sum: Sum,
}

impl Base {
    /// Sets the numbers.
    pub(super) fn begin<S: Space>(&self, space: &mut S, running: &[bool]) -> Result<()> {
        let [one, nothing, runs, back] = self.numbers;
        let of = |value: f64| -> Vec<f64> { running.iter().map(|runs| if *runs { value } else { 0.0 }).collect() };
        space.set(one, &vec![1.0; running.len()])?;
        space.clear(nothing)?;
        space.set(runs, &of(1.0))?;
        space.set(back, &of(-1.0))
    }

    /// to = image
    pub(super) fn copy<S: Space>(&self, space: &mut S, image: Image, to: Image) -> Result<()> {
        let [one, nothing, ..] = self.numbers;
        space.turn(to, image, [nothing, one])
    }

    /// to = base + image, within the bounds.
    pub(super) fn whole<S: Space>(&self, space: &mut S, image: Image, to: Image) -> Result<()> {
        self.copy(space, image, to)?;
        space.join(to, self.base)
    }

    /// The base becomes `to`, what others add to it is less by as much as it moves, and the data are less by what is projected of that. `to` is
    /// overwritten.
    pub(super) fn settle<S: Space>(&self, space: &mut S, to: Image, others: &[Image]) -> Result<()> {
        let [one, _, runs, back] = self.numbers;
        space.advance(to, self.base, [back, one])?;
        space.advance(self.base, to, [runs, one])?;
        for other in others {
            space.advance(*other, to, [back, one])?;
        }
        space.forward(0, to, self.projected)?;
        space.retreat(DATA, self.projected, [runs, one], self.sum)
    }
}

/// Whether to settle at the n-th look, from 1 on: what is added is always small beside what it was a while ago.
pub(super) fn settles(look: usize) -> bool {
    look.is_power_of_two()
}
