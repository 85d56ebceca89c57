//! Slices that depend on each other and are too many for a GPU: all of them are in the host's memory, cut into pieces of which each has a
//! margin of others' slices on either side. A stretch of iterations spoils no more than the margins, which come anew from the pieces next to
//! them afterwards, so that images are those of all slices together to the bit, on one GPU or several.

use crate::geometry::Geometry;
use crate::iterative::Iteration;
use crate::iterative::space::Rows;
use crate::iterative::variation::{Course, NEXT, REACH, Vector, lasting};
use isocenter_base::array::transfer::{Block, Transfer};
use isocenter_base::array::{DType, Layout};
use isocenter_base::context::Context;
use isocenter_base::cpu::buffer::Buffer;
use isocenter_base::cpu::parallel::*;
use isocenter_base::error::Result;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Slices of a margin: what a stretch reaches, and even, since two slices may be one image.
const MARGIN: usize = REACH.next_multiple_of(2);
/// Slices that a piece has at least, with its margins.
pub(in crate::gpu) const LEAST: usize = 3 * MARGIN;

/// All slices.
pub(in crate::gpu) struct Pieces {
    pieces: Vec<Mutex<Piece>>,
    own: Vec<Range<usize>>,
}

/// Some slices, with margins.
pub(in crate::gpu) struct Piece {
    pub(super) slices: Range<usize>,
    /// Among these.
    pub(super) own: Range<usize>,
    values: Vec<Values>,
}

/// A vector of a piece.
struct Values {
    vector: Vector,
    /// Of a slice: lines, and how long they are.
    shape: [usize; 2],
    values: Buffer,
}

impl Values {
    fn of_slice(&self) -> usize {
        self.shape[0] * self.shape[1]
    }

    /// Slices of the piece, whose values begin there.
    fn block(&self, origin: *const f32, slices: Range<usize>) -> Block {
        let shape = [self.values.len() / self.of_slice(), self.shape[0], self.shape[1]];
        let layout = Layout::new(origin.cast(), DType::F32, shape);
        Block::ordered(&layout, 0, slices.start, slices.len(), [0, 1, 2])
    }
}

/// Lines of a vector's slice, and their length.
fn shape(g: &Geometry, vector: Vector) -> [usize; 2] {
    match vector {
        Vector::Image(_) => [g.ny, g.nx],
        Vector::Rows(_) => [g.views(), g.bins],
        Vector::Offsets(_) => [1, g.bins],
    }
}

/// What the host keeps.
fn vectors(iteration: &Iteration) -> impl Iterator<Item = Vector> {
    lasting(iteration).chain([Vector::Image(NEXT)])
}

/// Pieces of up to `largest` slices with their margins, which is [`LEAST`] or more, and as many as there are GPUs, at least.
fn divide(slices: usize, largest: usize, gpus: usize) -> Vec<Range<usize>> {
    let fewest = if largest >= slices { 1 } else { slices.div_ceil((largest - 2 * MARGIN) & !1) };
    let own = slices.div_ceil(fewest.next_multiple_of(gpus)).next_multiple_of(2).max(MARGIN);
    (0..slices).step_by(own).map(|first| first..slices.min(first + own)).collect()
}

/// Whether these slices are worth to be shared out among so many GPUs.
pub(in crate::gpu) fn worth(slices: usize, gpus: usize) -> bool {
    gpus > 1 && slices >= 4 * MARGIN * gpus
}

/// With its margins.
fn around(own: &Range<usize>, slices: usize) -> Range<usize> {
    own.start.saturating_sub(MARGIN)..slices.min(own.end + MARGIN)
}

impl Pieces {
    /// Bytes of host memory.
    pub(in crate::gpu) fn bytes(g: &Geometry, iteration: &Iteration, largest: usize, gpus: usize) -> u64 {
        let slices: usize = divide(g.slices, largest, gpus).iter().map(|own| around(own, g.slices).len()).sum();
        let of_slice: usize = vectors(iteration).map(|vector| shape(g, vector).iter().product::<usize>()).sum();
        4 * slices as u64 * of_slice as u64
    }

    pub(in crate::gpu) fn new(g: &Geometry, iteration: &Iteration, largest: usize, gpus: usize) -> Result<Self> {
        let own = divide(g.slices, largest, gpus);
        let piece = |own: &Range<usize>| {
            let slices = around(own, g.slices);
            let values = vectors(iteration).map(|vector| {
                let shape = shape(g, vector);
                Ok(Values { vector, shape, values: Buffer::zeroed(slices.len() * shape[0] * shape[1])? })
            });
            let values = values.collect::<Result<_>>()?;
            Ok(Mutex::new(Piece { own: own.start - slices.start..own.end - slices.start, slices, values }))
        };
        Ok(Self { pieces: own.iter().map(piece).collect::<Result<_>>()?, own })
    }

    pub(in crate::gpu) fn len(&self) -> usize {
        self.pieces.len()
    }

    /// Slices of the largest piece.
    pub(in crate::gpu) fn largest(&self) -> usize {
        self.own.iter().map(|own| around(own, self.slices()).len()).max().unwrap_or(0)
    }

    fn slices(&self) -> usize {
        self.own.last().map_or(0, |last| last.end)
    }

    pub(in crate::gpu) fn lock(&self, k: usize) -> MutexGuard<'_, Piece> {
        self.pieces[k].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Brings a vector of slices `first` on from the device to all pieces that have some of them.
    ///
    /// # Safety
    /// `from` holds them, and the stream that made them has passed; the GPU is current.
    pub(super) unsafe fn fill(
        &self,
        (context, down): (&Context, &Transfer),
        vector: Vector,
        slices: Range<usize>,
        from: u64,
    ) -> Result<()> {
        for k in 0..self.len() {
            let mut piece = self.lock(k);
            let there = slices.start.max(piece.slices.start)..slices.end.min(piece.slices.end);
            if !there.is_empty() {
                // SAFETY: by this function's contract.
                unsafe { piece.download((context, down), vector, there, (slices.start, from))? };
            }
        }
        Ok(())
    }

    /// Brings the next images of slices `first` on to the device.
    ///
    /// # Safety
    /// `to` holds them, and nobody uses it until the stream has passed; the GPU is current.
    pub(super) unsafe fn read(
        &self,
        (context, up): (&Context, &Transfer),
        slices: Range<usize>,
        to: u64,
    ) -> Result<()> {
        for (k, own) in self.own.iter().enumerate() {
            let there = slices.start.max(own.start)..slices.end.min(own.end);
            if !there.is_empty() {
                let piece = self.lock(k);
                // SAFETY: by this function's contract.
                unsafe { piece.upload((context, up), Vector::Image(NEXT), there, (slices.start, to))? };
            }
        }
        Ok(())
    }

    /// The sum of squares of each slice's rows.
    pub(in crate::gpu) fn squares(&self, rows: Rows) -> Vec<f64> {
        let of = |k: usize| {
            let piece = self.lock(k);
            let data = piece.values.iter().find(|v| v.vector == Vector::Rows(rows));
            let slices =
                data.map_or(&[][..], |v| &v.values[piece.own.start * v.of_slice()..piece.own.end * v.of_slice()]);
            let each = data.map_or(1, Values::of_slice);
            let square = |slice: &[f32]| slice.iter().map(|v| f64::from(*v).powi(2)).sum::<f64>();
            slices.par_chunks(each).map(square).collect::<Vec<_>>()
        };
        (0..self.len()).flat_map(of).collect()
    }

    /// Margins come anew from the pieces next to them.
    pub(in crate::gpu) fn exchange(&self, iteration: &Iteration) {
        for (k, pair) in self.own.windows(2).enumerate() {
            let border = pair[0].end;
            let (mut before, mut after) = (self.lock(k), self.lock(k + 1));
            let (before, after) = (&mut *before, &mut *after);
            for vector in lasting(iteration) {
                let place = |piece: &Piece| piece.values.iter().position(|v| v.vector == vector);
                let (Some(a), Some(b)) = (place(before), place(after)) else { continue };
                let each = before.values[a].of_slice();
                let ends = [after.slices.start, border, before.slices.end];
                let part = |piece: &Piece, slices: Range<usize>| {
                    (slices.start - piece.slices.start) * each..(slices.end - piece.slices.start) * each
                };
                let [low, high] = [ends[0]..ends[1], ends[1]..ends[2]];
                let (from, to) = (part(before, low.clone()), part(after, low));
                copy(&before.values[a].values[from], &mut after.values[b].values[to]);
                let (from, to) = (part(after, high.clone()), part(before, high));
                copy(&after.values[b].values[from], &mut before.values[a].values[to]);
            }
        }
    }
}

fn copy(from: &[f32], to: &mut [f32]) {
    const TOGETHER: usize = 1 << 18;
    to.par_chunks_mut(TOGETHER).zip(from.par_chunks(TOGETHER)).for_each(|(to, from)| to.copy_from_slice(from));
}

impl Piece {
    /// Vectors that go to the device, and those that come back.
    pub(super) fn going(&self) -> impl Iterator<Item = Vector> {
        self.values.iter().map(|v| v.vector).filter(|v| *v != Vector::Image(NEXT))
    }

    pub(super) fn coming(&self, course: &Course) -> impl Iterator<Item = Vector> {
        self.values.iter().map(|v| v.vector).filter(|v| course.changes(*v))
    }

    /// First slice, and how many there are, with the margins.
    pub(in crate::gpu) fn first(&self) -> usize {
        self.slices.start
    }

    pub(in crate::gpu) fn count(&self) -> usize {
        self.slices.len()
    }

    /// Its own slices, in the volume.
    pub(in crate::gpu) fn owned(&self) -> Range<usize> {
        self.slices.start + self.own.start..self.slices.start + self.own.end
    }

    /// Brings some slices of a vector to the device, where slice `at.0` is at address `at.1`.
    ///
    /// # Safety
    /// The device has room for them, which nobody uses until the stream has passed; the GPU is current.
    pub(super) unsafe fn upload(
        &self,
        (context, up): (&Context, &Transfer),
        vector: Vector,
        slices: Range<usize>,
        at: (usize, u64),
    ) -> Result<()> {
        let Some(values) = self.values.iter().find(|v| v.vector == vector) else { return Ok(()) };
        let to = at.1 + 4 * ((slices.start - at.0) * values.of_slice()) as u64;
        let own = slices.start - self.slices.start..slices.end - self.slices.start;
        // SAFETY: slices of this vector; the rest by this function's contract.
        unsafe { up.upload(context, &values.block(values.values.as_ptr(), own), to) }
    }

    /// The other way.
    ///
    /// # Safety
    /// As for `upload`; the stream that made them has passed.
    pub(super) unsafe fn download(
        &mut self,
        (context, down): (&Context, &Transfer),
        vector: Vector,
        slices: Range<usize>,
        at: (usize, u64),
    ) -> Result<()> {
        let Some(values) = self.values.iter_mut().find(|v| v.vector == vector) else { return Ok(()) };
        let from = at.1 + 4 * ((slices.start - at.0) * values.of_slice()) as u64;
        let own = slices.start - self.slices.start..slices.end - self.slices.start;
        let origin = values.values.as_mut_ptr();
        // SAFETY: slices of this vector, which this alone touches; ordinary memory, so that all has come when this returns.
        unsafe { down.download(context, &values.block(origin, own), from) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each slice is in one piece, and each piece, with its margins, within what fits.
    #[test]
    fn pieces_are_all_slices_once() {
        for slices in 1..400 {
            for largest in [LEAST, LEAST + 1, 100, 399, 400] {
                for gpus in [1, 2, 3, 8] {
                    let own = divide(slices, largest, gpus);
                    assert!(own[0].start == 0 && own.last().expect("one").end == slices);
                    assert!(
                        own.windows(2).all(|w| w[0].end == w[1].start && w[0].len() >= MARGIN && w[0].start % 2 == 0)
                    );
                    assert!(own.iter().all(|own| around(own, slices).len() <= largest.max(slices.min(3 * MARGIN))));
                }
            }
        }
    }
}
