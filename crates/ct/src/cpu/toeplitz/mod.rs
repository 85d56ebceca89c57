//! The normal operator as a convolution, on the processor: two slices are the real and imaginary part of an image, which is transformed on
//! the doubled grid. Rows of zeros are not transformed, rows that nobody asks for neither, and columns are forth and back while they are in
//! the cache.

mod columns;
#[cfg(test)]
mod tests;

use self::columns::{C, FromLines, Part, ToLines};
use crate::toeplitz::{Doubled, Toeplitz};
use isocenter_base::context::Job;
use isocenter_base::cpu::buffer::{Buffer, zeros};
use isocenter_base::cpu::level::Level;
use isocenter_base::cpu::parallel::*;
use isocenter_base::cpu::shared::Shared;
use isocenter_base::cpu::simd::{Plain, vectorised};
use isocenter_base::error::{Result, fail};
use isocenter_fft::Planner;
use rustfft::Fft;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Columns that are transformed together: two cache lines of every row.
const COLUMNS: usize = 16;
/// Rows that a thread takes at a time.
const ROWS: usize = 8;
/// Each thread has an image of its own where images are up to so many bytes, and stay in its cache; larger ones are all threads'.
const OWN: usize = 4 << 20;

/// What applies the convolution.
pub(crate) struct Product<'a> {
    toeplitz: &'a Toeplitz,
    level: Level,
    /// Along y and x, forward and inverse.
    forward: [Arc<dyn Fft<f32>>; 2],
    inverse: [Arc<dyn Fft<f32>>; 2],
    /// Transformed rows, `[y][kx]`: of one image, or of one for each thread.
    planes: Vec<Buffer<C>>,
    rooms: Vec<Room>,
}

/// What a thread works in: columns, and rustfft's memory.
struct Room {
    lines: Vec<C>,
    inner: Vec<C>,
}

/// Two slices, or one, and what becomes of them.
struct Pair<'a> {
    from: [&'a [f32]; 2],
    to: Shared<'a, f32>,
}

impl<'a> Product<'a> {
    /// For so many threads, of which each takes two slices at a time if they are small.
    pub(crate) fn new(toeplitz: &'a Toeplitz, level: Level, threads: usize) -> Result<Self> {
        let threads = threads.max(1);
        let mut planner = Planner::new();
        let (forward, inverse) = (
            toeplitz.shape.grid.map(|n| planner.plan_fft_forward(n)),
            toeplitz.shape.grid.map(|n| planner.plan_fft_inverse(n)),
        );
        let inner = forward.iter().chain(&inverse).map(|p| p.get_inplace_scratch_len()).max().unwrap_or(0);
        let plane = plane_len(toeplitz.shape);
        let planes = (0..planes(toeplitz.shape, threads)).map(|_| Buffer::zeroed(plane)).collect::<Result<_>>()?;
        let room = |_| Ok(Room { lines: zeros(COLUMNS * line_pitch(toeplitz.shape))?, inner: zeros(inner)? });
        let rooms = (0..threads).map(room).collect::<Result<_>>()?;
        Ok(Self { toeplitz, level, forward, inverse, planes, rooms })
    }

    /// Bytes that one for so many threads holds, but for small tables.
    pub(crate) fn bytes(shape: Doubled, threads: usize) -> u64 {
        let planes = planes(shape, threads.max(1)) * plane_len(shape);
        let longest = shape.grid.into_iter().max().unwrap_or(0);
        let numbers = planes + threads.max(1) * (COLUMNS * line_pitch(shape) + longest);
        (numbers * size_of::<C>()) as u64
    }

    /// out = the convolution of each of so many slices `[slice][y][x]`, on the worker threads.
    pub(crate) fn apply(&mut self, job: &Job, x: &[f32], out: &mut [f32], slices: usize) -> Result<()> {
        let pixels: usize = self.toeplitz.shape.image.iter().product();
        if x.len() != slices * pixels || out.len() != x.len() {
            fail!(Internal, "{slices} slices of {pixels} pixels: {} numbers to {}", x.len(), out.len());
        }
        let Self { planes, rooms, .. } = self;
        let (mut planes, mut rooms) = (std::mem::take(planes), std::mem::take(rooms));
        let result = self.all(job, (x, out), (&mut planes, &mut rooms));
        (self.planes, self.rooms) = (planes, rooms);
        result
    }

    fn all(
        &self,
        job: &Job,
        (x, out): (&[f32], &mut [f32]),
        (planes, rooms): (&mut [Buffer<C>], &mut [Room]),
    ) -> Result<()> {
        let pixels: usize = self.toeplitz.shape.image.iter().product();
        // Pairs for each thread alone; what is left over, all threads share.
        let own = if planes.len() == rooms.len() { x.len() / (2 * pixels) / planes.len() } else { 0 };
        let (alone, shared) = x.split_at(own * planes.len() * 2 * pixels);
        let (out_alone, out_shared) = out.split_at_mut(alone.len());
        if own > 0 {
            let parts = alone.par_chunks(own * 2 * pixels).zip(out_alone.par_chunks_mut(own * 2 * pixels));
            parts.zip(planes.par_iter_mut()).zip(rooms.par_iter_mut()).with_max_len(1).try_for_each(
                |(((x, out), plane), room)| {
                    for (x, out) in x.chunks(2 * pixels).zip(out.chunks_mut(2 * pixels)) {
                        job.check()?;
                        self.pair(x, out, plane, std::slice::from_mut(room));
                    }
                    Ok(())
                },
            )?;
        }
        for (x, out) in shared.chunks(2 * pixels).zip(out_shared.chunks_mut(2 * pixels)) {
            job.check()?;
            self.pair(x, out, &mut planes[0], rooms);
        }
        Ok(())
    }

    /// Two slices, or one, by as many threads as there are rooms.
    fn pair(&self, x: &[f32], out: &mut [f32], plane: &mut [C], rooms: &mut [Room]) {
        let ([ny, nx], [_, gx]) = (self.toeplitz.shape.image, self.toeplitz.shape.grid);
        let (first, second) = x.split_at(ny * nx);
        let pair = Pair { from: [first, second], to: Shared::new(out) };
        let plane = Shared::new(plane);
        // SAFETY: each row is one call's.
        in_parts(rooms, ny, ROWS, |rows, room| rows.for_each(|y| unsafe { self.row_forward(&pair, y, plane, room) }));
        // SAFETY: each column is one call's.
        in_parts(rooms, gx, COLUMNS, |columns, room| unsafe { self.columns(columns, plane, room) });
        // SAFETY: each row is one call's.
        in_parts(rooms, ny, ROWS, |rows, room| rows.for_each(|y| unsafe { self.row_back(&pair, y, plane, room) }));
    }

    /// # Safety
    /// The plane's row is the caller's.
    unsafe fn row_forward(&self, pair: &Pair, y: usize, plane: Shared<C>, room: &mut Room) {
        let ([_, nx], [_, gx]) = (self.toeplitz.shape.image, self.toeplitz.shape.grid);
        // SAFETY: by this function's contract; rows lie in the plane.
        let row = unsafe { std::slice::from_raw_parts_mut(plane.at(y * row_pitch(self.toeplitz.shape)), gx) };
        let (there, beyond) = row.split_at_mut(nx);
        beyond.fill(C::default());
        let [first, second] =
            pair.from.map(|slice| slice.get(y * nx..).map_or(&[][..], |rest| &rest[..nx.min(rest.len())]));
        if second.is_empty() {
            there.iter_mut().zip(first).for_each(|(z, re)| *z = C::new(*re, 0.0));
        } else {
            vectorised(self.level, Together { parts: [first, second], to: there });
        }
        self.forward[1].process_with_scratch(row, &mut room.inner);
    }

    /// # Safety
    /// The plane's columns are the caller's.
    unsafe fn columns(&self, columns: Range<usize>, plane: Shared<C>, room: &mut Room) {
        let ([ny, _], [gy, gx]) = (self.toeplitz.shape.image, self.toeplitz.shape.grid);
        let (pitch, apart) = (row_pitch(self.toeplitz.shape), line_pitch(self.toeplitz.shape));
        let part = Part { plane, pitch, columns: columns.clone(), rows: ny };
        let lines = &mut room.lines[..columns.len() * apart];
        // SAFETY: by this function's contract.
        vectorised(self.level, unsafe { ToLines::new(&part, lines, apart) });
        for (kx, line) in columns.clone().zip(lines.chunks_exact_mut(apart)) {
            let line = &mut line[..gy];
            line[ny..].fill(C::default());
            self.forward[0].process_with_scratch(line, &mut room.inner);
            let of = |kx: usize| &self.toeplitz.spectrum[kx * gy..][..gy];
            if kx <= gx / 2 {
                vectorised(self.level, Times { line, spectrum: of(kx), reversed: false });
            } else {
                // Frequency -ky of column -kx.
                let spectrum = of(gx - kx);
                line[0] = line[0].scale(spectrum[0]);
                let (line, spectrum) = (&mut line[1..], &spectrum[1..]);
                vectorised(self.level, Times { line, spectrum, reversed: true });
            }
            self.inverse[0].process_with_scratch(line, &mut room.inner);
        }
        // SAFETY: as above.
        vectorised(self.level, unsafe { FromLines::new(&part, lines, apart) });
    }

    /// # Safety
    /// The plane's row, and those of the results, are the caller's.
    unsafe fn row_back(&self, pair: &Pair, y: usize, plane: Shared<C>, room: &mut Room) {
        let ([ny, nx], [_, gx]) = (self.toeplitz.shape.image, self.toeplitz.shape.grid);
        // SAFETY: by this function's contract; rows lie in the plane.
        let row = unsafe { std::slice::from_raw_parts_mut(plane.at(y * row_pitch(self.toeplitz.shape)), gx) };
        self.inverse[1].process_with_scratch(row, &mut room.inner);
        // SAFETY: as above, in the slices.
        let to = |slice: usize| unsafe { std::slice::from_raw_parts_mut(pair.to.at((slice * ny + y) * nx), nx) };
        let (scale, row) = (self.toeplitz.scale as f32, &row[..nx]);
        if pair.from[1].is_empty() {
            to(0).iter_mut().zip(row).for_each(|(to, v)| *to = v.re * scale);
        } else {
            vectorised(self.level, Apart { row, scale, parts: [to(0), to(1)] });
        }
    }
}

/// Parts of `0..count`, `size` of them at a time, by as many threads as there are rooms, until all are done.
fn in_parts(rooms: &mut [Room], count: usize, size: usize, work: impl Fn(Range<usize>, &mut Room) + Sync) {
    let next = AtomicUsize::new(0);
    let take = |room: &mut Room| {
        loop {
            let first = next.fetch_add(size, Ordering::Relaxed);
            if first >= count {
                return;
            }
            work(first..count.min(first + size), room);
        }
    };
    match rooms {
        [room] => take(room),
        rooms => rooms.par_iter_mut().with_max_len(1).for_each(take),
    }
}

/// Numbers from row to row: an odd number of cache lines, so that columns do not crowd the same lines of the first-level cache.
fn row_pitch(shape: Doubled) -> usize {
    odd_lines(shape.grid[1])
}

/// The same from column to column while they are transformed.
fn line_pitch(shape: Doubled) -> usize {
    odd_lines(shape.grid[0])
}

fn odd_lines(len: usize) -> usize {
    (len.div_ceil(8) | 1) * 8
}

fn plane_len(shape: Doubled) -> usize {
    shape.image[0] * row_pitch(shape)
}

/// Images that are worked on at a time.
fn planes(shape: Doubled, threads: usize) -> usize {
    if plane_len(shape) * size_of::<C>() <= OWN { threads } else { 1 }
}

/// Two rows as one.
struct Together<'a> {
    parts: [&'a [f32]; 2],
    to: &'a mut [C],
}

impl Plain for Together<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let [re, im] = self.parts;
        self.to.iter_mut().zip(re.iter().zip(im)).for_each(|(z, (re, im))| *z = C::new(*re, *im));
    }
}

/// One row as two.
struct Apart<'a> {
    row: &'a [C],
    scale: f32,
    parts: [&'a mut [f32]; 2],
}

impl Plain for Apart<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let [re, im] = self.parts;
        re.iter_mut()
            .zip(im)
            .zip(self.row)
            .for_each(|((re, im), v)| (*re, *im) = (v.re * self.scale, v.im * self.scale));
    }
}

/// A line times a real spectrum, or times the spectrum from its end on.
struct Times<'a> {
    line: &'a mut [C],
    spectrum: &'a [f32],
    reversed: bool,
}

impl Plain for Times<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { line, spectrum, reversed } = self;
        if reversed {
            line.iter_mut().zip(spectrum.iter().rev()).for_each(|(v, s)| *v = v.scale(*s));
        } else {
            line.iter_mut().zip(spectrum).for_each(|(v, s)| *v = v.scale(*s));
        }
    }
}
