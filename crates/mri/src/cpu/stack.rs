//! Fourier sums over a stack on the processor: a transform along z, and sums in planes, where planes with the same points are the images of
//! one transform.

use super::lines::LineSums;
use super::stack_fft::StackFft;
use crate::stack::Stack;
use crate::trajectory::Trajectory;
use crate::transform::{Fourier, Progress};
use isocenter_base::cpu::buffer::Buffer;
use isocenter_base::cpu::level::Level;
use isocenter_base::cpu::parallel::*;
use isocenter_base::cpu::shared::Shared;
use isocenter_base::error::{Result, fail};
use isocenter_nufft as nufft;
use isocenter_nufft::Scalar;
use isocenter_solve::cpu::GRAIN;
use rustfft::num_complex::Complex;
use std::ops::Range;

/// Sums between an image and samples, both ways.
pub(super) struct StackSums<T: Scalar> {
    stack: Stack,
    fft: StackFft<T>,
    patterns: Vec<Pattern<T>>,
    /// Of patterns that are on no lines, one after the other.
    plan: nufft::Plan<T>,
    /// Samples come plane by plane.
    in_order: bool,
    work: Option<Work<T>>,
}

/// Planes that have their samples at the same places, one after the other in a stack.
struct Pattern<T: Scalar> {
    planes: Range<usize>,
    /// Samples of all these planes.
    samples: Range<usize>,
    points: Points<T>,
}

enum Points<T: Scalar> {
    Lines(Box<LineSums>),
    Anywhere(nufft::Points<T>),
}

/// What it works in.
struct Work<T: Scalar> {
    planes: Buffer<Complex<T>>,
    /// Samples plane by plane; None if that is the caller's order.
    samples: Option<Buffer<Complex<T>>>,
}

impl<T: Scalar> StackSums<T> {
    /// None where samples are no stack. Allocates little but the order of samples until [`StackSums::prepare`].
    pub(super) fn new(
        fourier: &Fourier,
        level: Level,
        grid: [usize; 3],
        trajectory: &Trajectory,
    ) -> Result<Option<Self>> {
        let Some(stack) = Stack::find(trajectory, grid, fourier.tolerance, |_| true)? else { return Ok(None) };
        let [_, ny, nx] = grid;
        let fourier = Fourier { tolerance: stack.tolerance(), ..*fourier };
        let settings = |samples| fourier.settings(level, [1, ny, nx], samples);
        let mut patterns = Vec::new();
        for planes in stack.patterns() {
            let (first, count) = (&planes[0], planes.len());
            let [x, y] = stack.points(first, trajectory)?;
            let points = match LineSums::new::<T>(&settings(x.len()), [&x, &y, &[]], count)? {
                Some(lines) => Points::Lines(Box::new(lines)),
                None => Points::Anywhere(nufft::Points::default()),
            };
            let begin = patterns.last().map_or(0, |p: &Pattern<T>| p.planes.end);
            let samples = first.samples.start..first.samples.start + count * first.samples.len();
            patterns.push(Pattern { planes: begin..begin + count, samples, points });
        }
        let mean = trajectory.samples() / stack.planes().len();
        let plan = nufft::Plan::new(settings(mean))?;
        let in_order = stack.order().iter().zip(0..).all(|(m, place)| *m == place);
        Ok(Some(Self { fft: StackFft::new(&stack)?, stack, patterns, plan, in_order, work: None }))
    }

    /// Sorts the samples, unless that is done.
    pub(super) fn prepare(&mut self, trajectory: &Trajectory) -> Result<()> {
        let Self { stack, patterns, plan, in_order, work, .. } = self;
        if work.is_some() {
            return Ok(());
        }
        let [x, y, z] = trajectory.axes()?;
        for pattern in patterns {
            if let Points::Anywhere(points) = &mut pattern.points {
                let order = &stack.order()[stack.planes()[pattern.planes.start].samples.clone()];
                let at = |m: usize| [z[m], y[m], x[m]];
                plan.set_points(order.len(), |m| at(order[m] as usize))?;
                plan.swap_points(points);
            }
        }
        let [_, ny, nx] = stack.grid();
        let planes = Buffer::zeroed(stack.planes().len() * ny * nx)?;
        let samples = if *in_order { None } else { Some(Buffer::zeroed(stack.order().len())?) };
        *work = Some(Work { planes, samples });
        Ok(())
    }

    /// Maximum number of bytes that it holds at work.
    pub(super) fn memory(&self) -> u64 {
        let Self { stack, fft, patterns, plan, in_order, .. } = self;
        let [_, ny, nx] = stack.grid();
        let (planes, samples) = (stack.planes().len(), stack.order().len());
        let (mut lines, mut anywhere) = (0, 0);
        for pattern in patterns {
            match &pattern.points {
                Points::Lines(sums) => lines += sums.memory(),
                Points::Anywhere(_) => anywhere += pattern.samples.len() / pattern.planes.len(),
            }
        }
        let points = if anywhere > 0 { plan.memory(anywhere) } else { 0 };
        let numbers = planes * ny * nx + if *in_order { 0 } else { samples };
        let held = numbers * size_of::<Complex<T>>() + samples * size_of::<u32>();
        lines + points + fft.scratch_bytes() * rayon::current_num_threads() as u64 + held as u64
    }

    /// Makes it work in less memory, with the same results; false if it cannot.
    pub(super) fn take_less(&mut self) -> bool {
        let mut less = false;
        for pattern in &mut self.patterns {
            if let Points::Lines(lines) = &mut pattern.points {
                less |= lines.take_less();
            }
        }
        less
    }

    /// Along z the transform's, in planes the fine grid's and the spreading function's width.
    pub(super) fn fine_grid(&self) -> ([usize; 3], usize) {
        let ([_, y, x], width) = match self.patterns.first().map(|p| &p.points) {
            Some(Points::Lines(lines)) => lines.fine_grid(),
            _ => (self.plan.grid_shape(), self.plan.kernel().width()),
        };
        ([self.stack.depth().length, y, x], width)
    }

    /// samples = sum over voxels of image exp(-2 pi i k . r), for one image.
    pub(super) fn forward(
        &mut self,
        image: &[Complex<T>],
        samples: &mut [Complex<T>],
        progress: Progress,
    ) -> Result<()> {
        let Self { stack, fft, patterns, plan, work, .. } = self;
        let Some(Work { planes, samples: sorted }) = work else { fail!(Internal, "the stack was not prepared") };
        progress(0.0)?;
        fft.planes(image, planes)?;
        let all = samples.len();
        {
            let values: &mut [Complex<T>] = match sorted {
                Some(sorted) => sorted,
                None => samples,
            };
            each_pattern(stack, patterns, all, progress, |pattern, of_planes, part| {
                let (from, to) = (&planes[of_planes], &mut values[pattern.samples.clone()]);
                match &mut pattern.points {
                    Points::Lines(lines) => lines.forward(from, None, to, part),
                    Points::Anywhere(points) => with_points(plan, points, |plan| plan.forward(from, to, part)),
                }
            })?;
        }
        if let Some(sorted) = sorted {
            let to = Shared::new(samples);
            let parts = sorted.par_chunks(GRAIN).zip(stack.order().par_chunks(GRAIN));
            // SAFETY: each sample has one place in the order.
            parts.for_each(|(v, m)| v.iter().zip(m).for_each(|(v, m)| unsafe { *to.at(*m as usize) = *v }));
        }
        Ok(())
    }

    /// image = sum over samples of value exp(+2 pi i k . r), for one image.
    pub(super) fn adjoint(
        &mut self,
        samples: &[Complex<T>],
        image: &mut [Complex<T>],
        progress: Progress,
    ) -> Result<()> {
        let Self { stack, fft, patterns, plan, work, .. } = self;
        let Some(Work { planes, samples: sorted }) = work else { fail!(Internal, "the stack was not prepared") };
        progress(0.0)?;
        let values: &[Complex<T>] = match sorted {
            Some(sorted) => {
                let to = sorted.par_iter_mut().zip(stack.order()).with_min_len(GRAIN);
                to.for_each(|(v, m)| *v = samples[*m as usize]);
                sorted
            }
            None => samples,
        };
        each_pattern(stack, patterns, samples.len(), progress, |pattern, of_planes, part| {
            let (from, to) = (&values[pattern.samples.clone()], &mut planes[of_planes]);
            match &mut pattern.points {
                Points::Lines(lines) => lines.adjoint(from, None, to, part),
                Points::Anywhere(points) => with_points(plan, points, |plan| plan.adjoint(from, to, part)),
            }
        })?;
        fft.image(planes, image)
    }
}

/// Calls with each pattern, where its planes are, and what takes the part of them that is done.
fn each_pattern<T: Scalar>(
    stack: &Stack,
    patterns: &mut [Pattern<T>],
    all: usize,
    progress: Progress,
    mut run: impl FnMut(&mut Pattern<T>, Range<usize>, Progress) -> Result<()>,
) -> Result<()> {
    let [_, ny, nx] = stack.grid();
    for pattern in patterns {
        let Range { start, end } = pattern.planes;
        let (before, own) = (pattern.samples.start as f64, pattern.samples.len() as f64);
        let part = &mut |f: f64| progress((before + f * own) / all as f64);
        run(pattern, start * ny * nx..end * ny * nx, part)?;
    }
    Ok(())
}

/// Calls with the plan of these points.
fn with_points<T: Scalar>(
    plan: &mut nufft::Plan<T>,
    points: &mut nufft::Points<T>,
    run: impl FnOnce(&mut nufft::Plan<T>) -> Result<()>,
) -> Result<()> {
    plan.swap_points(points);
    let done = run(plan);
    plan.swap_points(points);
    done
}

#[cfg(test)]
#[path = "stack_tests.rs"]
mod tests;
