//! The phase filter on the processor: two views at a time, as real and imaginary part, which a real filter does not mix.

use super::transmissions::Transmissions;
use crate::rows::phase::Phase;
use isocenter_base::cpu::buffer::{Buffer, zeros};
use isocenter_base::cpu::lanes::{LaneFft, Strand, good_length};
use isocenter_base::cpu::level::Level;
use isocenter_base::error::Result;
use isocenter_fft::Planner;
use isocenter_nufft::kernel::smooth;
use rustfft::Fft;
use rustfft::num_complex::Complex;
use std::ops::Range;
use std::sync::Arc;

/// A filter for some rows of a detector and those beside them.
pub(super) struct PhaseFilter<'a> {
    phase: &'a Phase,
    /// The minimum transmission that the logarithm sees.
    minimum: f32,
    bins: usize,
    /// Rows that are wanted, and read, of the detector.
    own: Range<usize>,
    read: Range<usize>,
    /// Of the transforms; rows begin with the one at `own.start` - reach.
    shape: [usize; 2],
    along_bins: [Arc<dyn Fft<f32>>; 2],
    along_rows: LaneFft,
    lanes: usize,
    /// For frequencies from 0 on in both directions, (rows, bins).
    response: Vec<f32>,
}

/// What it works in: the grid, (row, group of bins, real and imaginary part, bin), and rows.
pub(super) struct Room {
    grid: Buffer,
    room: Buffer,
    row: Vec<Complex<f32>>,
    scratch: Vec<Complex<f32>>,
    values: Vec<f32>,
}

/// Lengths of transforms for so many rows and bins, with those beside them.
fn lengths(reach: usize, rows: usize, bins: usize) -> [usize; 2] {
    // Whole vectors of any level.
    [good_length(rows + 2 * reach), 8 * smooth((bins + 2 * reach).div_ceil(8))]
}

impl<'a> PhaseFilter<'a> {
    /// What tasks take, in bytes, each and together.
    pub(super) fn bytes(phase: &Phase, rows: usize, bins: usize) -> [u64; 2] {
        let [ny, nx] = lengths(phase.reach(), rows, bins).map(|n| n as u64);
        // The widest vectors, and scratch of transforms as long as rows.
        [8 * ny * nx + 4 * 4 * 16 * ny + 3 * 8 * nx + 8 * nx, 4 * (ny / 2 + 1) * (nx / 2 + 1)]
    }

    pub(super) fn new(
        phase: &'a Phase,
        minimum: f32,
        own: Range<usize>,
        [detector, bins]: [usize; 2],
        level: Level,
    ) -> Result<Self> {
        let reach = phase.reach();
        let [ny, nx] = lengths(reach, own.len(), bins);
        let response = phase.table([ny, nx])?;
        let read = own.start.saturating_sub(reach)..own.end.saturating_add(reach).min(detector);
        let mut planner = Planner::new();
        let along_bins = [planner.plan_fft_forward(nx), planner.plan_fft_inverse(nx)];
        let (along_rows, lanes) = (LaneFft::new(ny, level), level.lanes());
        Ok(Self { phase, minimum, bins, own, read, shape: [ny, nx], along_bins, along_rows, lanes, response })
    }

    pub(super) fn room(&self) -> Result<Room> {
        let [ny, nx] = self.shape;
        let scratch = self.along_bins.iter().map(|fft| fft.get_inplace_scratch_len()).max().unwrap_or(0);
        Ok(Room {
            grid: Buffer::zeroed(2 * ny * nx)?,
            room: Buffer::zeroed(self.along_rows.room())?,
            row: zeros(nx)?,
            scratch: zeros(scratch)?,
            values: zeros(self.bins)?,
        })
    }

    /// Rows that are read.
    pub(super) fn rows(&self) -> Range<usize> {
        self.read.clone()
    }

    /// The row of the detector for one of the grid: beyond the detector its last ones, also where the grid is longer than it need be.
    fn line(&self, y: usize) -> usize {
        (self.own.start + y).saturating_sub(self.phase.reach()).clamp(self.read.start, self.read.end - 1)
    }

    /// Filters one or two views, and gives line integrals of its rows, which `write` takes: place among the views, row of the detector,
    /// values.
    pub(super) fn run(
        &self,
        transmissions: &mut Transmissions,
        views: Range<usize>,
        room: &mut Room,
        mut write: impl FnMut(usize, usize, &[f32]),
    ) -> Result<()> {
        let ny = self.shape[0];
        if views.len() == 1 {
            room.grid.fill(0.0);
        }
        let Room { grid, values, .. } = &mut *room;
        let lines = (0..ny).filter(|&y| y == 0 || self.line(y) != self.line(y - 1)).map(|y| (self.line(y), y));
        transmissions.each(views.clone(), lines, values, |part, y, values| self.put(grid, y, part, values))?;
        self.forward(room);
        self.filter(room);
        for line in self.own.clone() {
            let y = line + self.phase.reach() - self.own.start;
            let Room { grid, row, scratch, values, .. } = room;
            self.take(grid, y, row);
            self.along_bins[1].process_with_scratch(row, scratch);
            for part in 0..views.len() {
                let linear = self.phase.is_linear();
                for (value, v) in values.iter_mut().zip(row.iter()) {
                    let v = if part == 0 { v.re } else { v.im };
                    *value = if linear { v } else { -v.max(self.minimum).ln() };
                }
                write(part, line, values);
            }
        }
        Ok(())
    }

    /// Floats of a row of the grid.
    fn pitch(&self) -> usize {
        2 * self.shape[1]
    }

    /// Puts a row of transmissions into the real (0) or imaginary (1) part of a row of the grid, its ends repeated.
    fn put(&self, grid: &mut [f32], y: usize, part: usize, values: &[f32]) {
        let (lanes, nx) = (self.lanes, self.shape[1]);
        let row = &mut grid[y * self.pitch()..][..self.pitch()];
        let linear = self.phase.is_linear();
        let [first, last] = [values[0], values[self.bins - 1]];
        for (group, to) in row.chunks_exact_mut(2 * lanes).enumerate() {
            for (l, to) in to[part * lanes..][..lanes].iter_mut().enumerate() {
                let x = group * lanes + l;
                // Each side has half of what lies between.
                let value = match values.get(x) {
                    Some(value) => *value,
                    None if x - self.bins < nx - 1 - x => last,
                    None => first,
                };
                *to = if linear { 1.0 - value } else { value };
            }
        }
    }

    /// A row of the grid, as complex numbers.
    fn take(&self, grid: &[f32], y: usize, row: &mut [Complex<f32>]) {
        let from = &grid[y * self.pitch()..][..self.pitch()];
        for (to, from) in row.chunks_exact_mut(self.lanes).zip(from.chunks_exact(2 * self.lanes)) {
            let (re, im) = from.split_at(self.lanes);
            to.iter_mut().zip(re.iter().zip(im)).for_each(|(to, (re, im))| *to = Complex::new(*re, *im));
        }
    }

    /// Transforms rows; those that are the same only once.
    fn forward(&self, room: &mut Room) {
        let Room { grid, row, scratch, .. } = room;
        let pitch = self.pitch();
        for y in 0..self.shape[0] {
            if y > 0 && self.line(y) == self.line(y - 1) {
                grid.copy_within((y - 1) * pitch..y * pitch, y * pitch);
                continue;
            }
            self.take(grid, y, row);
            self.along_bins[0].process_with_scratch(row, scratch);
            let to = &mut grid[y * pitch..][..pitch];
            for (to, from) in to.chunks_exact_mut(2 * self.lanes).zip(row.chunks_exact(self.lanes)) {
                let (re, im) = to.split_at_mut(self.lanes);
                re.iter_mut().zip(im).zip(from).for_each(|((re, im), v)| (*re, *im) = (v.re, v.im));
            }
        }
    }

    /// Transforms columns, multiplies, and transforms back.
    fn filter(&self, room: &mut Room) {
        let ([ny, nx], lanes, pitch) = (self.shape, self.lanes, self.pitch());
        let half = nx / 2 + 1;
        for group in 0..nx / lanes {
            let start = room.grid.data().wrapping_add(group * 2 * lanes);
            let strand = Strand { re: start, im: start.wrapping_add(lanes), step: pitch, count: ny };
            // SAFETY: a vector of real and one of imaginary parts in each row of the grid; the room is this filter's.
            unsafe { self.along_rows.run(strand, strand, room.room.data()) };
            for y in 0..ny {
                let response = &self.response[y.min(ny - y) * half..][..half];
                let values = &mut room.grid[y * pitch + group * 2 * lanes..][..2 * lanes];
                for l in 0..lanes {
                    let x = group * lanes + l;
                    let factor = response[x.min(nx - x)];
                    values[l] *= factor;
                    values[lanes + l] *= factor;
                }
            }
            // SAFETY: as above.
            unsafe { self.along_rows.run(strand.swapped(), strand.swapped(), room.room.data()) };
        }
    }
}
