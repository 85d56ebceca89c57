//! The transform along z between an image and the planes of a stack.

use crate::stack::Stack;
use isocenter_base::cpu::buffer::{collected, zeros};
use isocenter_base::cpu::parallel::*;
use isocenter_base::cpu::shared::Shared;
use isocenter_base::error::Result;
use isocenter_fft::Planner;
use isocenter_nufft::Scalar;
use rustfft::Fft;
use rustfft::num_complex::Complex;
use std::f64::consts::TAU;
use std::ops::Range;
use std::sync::Arc;

/// Columns that are transformed together: two cache lines, or four, of every plane.
const BLOCK: usize = 16;

/// Transforms of all columns, `exp(-2 pi i ...)` towards the planes.
pub(super) struct StackFft<T: Scalar> {
    length: usize,
    /// Of a plane.
    pixels: usize,
    /// Where each of the image's planes stands in the transform, and what the offset turns it by on the way to the stack's.
    places: Vec<(usize, Complex<T>)>,
    bins: Vec<usize>,
    to_planes: Arc<dyn Fft<T>>,
    to_image: Arc<dyn Fft<T>>,
}

/// What a task works in.
struct Scratch<T: Scalar> {
    lines: Vec<Complex<T>>,
    inner: Vec<Complex<T>>,
}

impl<T: Scalar> StackFft<T> {
    pub(super) fn new(stack: &Stack) -> Result<Self> {
        let (depth, [nz, ny, nx]) = (stack.depth(), stack.grid());
        let place = |j: usize| {
            let (place, turns) = depth.place(j, nz);
            let (sin, cos) = (-TAU * turns).sin_cos();
            (place, Complex::new(T::of(cos), T::of(sin)))
        };
        let mut planner = Planner::new();
        Ok(Self {
            length: depth.length,
            pixels: ny * nx,
            places: collected((0..nz).map(place))?,
            bins: collected(stack.planes().iter().map(|p| stack.bin(p)))?,
            to_planes: planner.plan_fft_forward(depth.length),
            to_image: planner.plan_fft_inverse(depth.length),
        })
    }

    /// Bytes that one thread needs meanwhile.
    pub(super) fn scratch_bytes(&self) -> u64 {
        (self.scratch_lens().iter().sum::<usize>() * size_of::<Complex<T>>()) as u64
    }

    fn scratch_lens(&self) -> [usize; 2] {
        let inner = [&self.to_planes, &self.to_image].map(|fft| fft.get_inplace_scratch_len());
        [BLOCK * self.pitch(), inner[0].max(inner[1])]
    }

    fn scratch(&self) -> Result<Scratch<T>> {
        let [lines, inner] = self.scratch_lens();
        Ok(Scratch { lines: zeros(lines)?, inner: zeros(inner)? })
    }

    /// From line to line: an odd number of cache lines, so that they do not get in each other's way.
    fn pitch(&self) -> usize {
        (self.length.div_ceil(8) | 1) * 8
    }

    /// planes `[plane][y][x]` = transform of the image.
    pub(super) fn planes(&self, image: &[Complex<T>], planes: &mut [Complex<T>]) -> Result<()> {
        let (pixels, pitch) = (self.pixels, self.pitch());
        self.each_block(image, planes, [self.places.len(), self.bins.len()], |columns, s, to| {
            s.lines.fill(Complex::default());
            for ((place, turn), plane) in self.places.iter().zip(image.chunks_exact(pixels)) {
                for (v, line) in plane[columns.clone()].iter().zip(s.lines.chunks_exact_mut(pitch)) {
                    line[*place] = *v * *turn;
                }
            }
            self.lines(&*self.to_planes, s, columns.len());
            for (p, bin) in self.bins.iter().enumerate() {
                let lines = s.lines.chunks_exact(pitch);
                // SAFETY: the columns are this task's own, in every plane.
                let row = unsafe { std::slice::from_raw_parts_mut(to.at(p * pixels + columns.start), columns.len()) };
                row.iter_mut().zip(lines).for_each(|(to, line)| *to = line[*bin]);
            }
        })
    }

    /// image = transform of the planes, of which those that are not there are 0.
    pub(super) fn image(&self, planes: &[Complex<T>], image: &mut [Complex<T>]) -> Result<()> {
        let (pixels, pitch) = (self.pixels, self.pitch());
        self.each_block(planes, image, [self.bins.len(), self.places.len()], |columns, s, to| {
            s.lines.fill(Complex::default());
            for (bin, plane) in self.bins.iter().zip(planes.chunks_exact(pixels)) {
                for (v, line) in plane[columns.clone()].iter().zip(s.lines.chunks_exact_mut(pitch)) {
                    line[*bin] = *v;
                }
            }
            self.lines(&*self.to_image, s, columns.len());
            for (z, (place, turn)) in self.places.iter().enumerate() {
                let lines = s.lines.chunks_exact(pitch);
                // SAFETY: as above.
                let row = unsafe { std::slice::from_raw_parts_mut(to.at(z * pixels + columns.start), columns.len()) };
                row.iter_mut().zip(lines).for_each(|(to, line)| *to = line[*place] * turn.conj());
            }
        })
    }

    /// Calls for the columns of each block, which go from so many planes to so many others.
    fn each_block(
        &self,
        from: &[Complex<T>],
        to: &mut [Complex<T>],
        planes: [usize; 2],
        run: impl Fn(Range<usize>, &mut Scratch<T>, Shared<Complex<T>>) + Sync,
    ) -> Result<()> {
        assert_eq!([from.len(), to.len()], planes.map(|n| n * self.pixels));
        let to = Shared::new(to);
        (0..self.pixels.div_ceil(BLOCK)).into_par_iter().try_for_each_init(
            || self.scratch(),
            |s, block| {
                let s = s.as_mut().map_err(|e| e.clone())?;
                run(block * BLOCK..self.pixels.min((block + 1) * BLOCK), s, to);
                Ok(())
            },
        )
    }

    /// Transforms the first lines.
    fn lines(&self, fft: &dyn Fft<T>, s: &mut Scratch<T>, count: usize) {
        for line in s.lines.chunks_exact_mut(self.pitch()).take(count) {
            fft.process_with_scratch(&mut line[..self.length], &mut s.inner);
        }
    }
}
