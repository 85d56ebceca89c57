//! Images from samples that need not be in memory at once: a callback brings those of some shots at a time.
//!
//! `F^H W s` is a sum over parts of the samples, each with a transform of its own; F^H W F by Q needs none of them. So every sample is read
//! once, and the next part while the one before is computed with.

use super::call::{Call, Encode, portion, read_start, squares};
use super::convolutions::fitting;
use super::engine::{Engine, Purpose, Solve, Vector};
use super::frames::{Frames, with_side};
use super::parts::Part;
use super::plan::{Mri, Plan, each};
use super::reader::{Buffers, Portion, Reader, Request};
use super::solver::{Solution, finite};
use super::transform::Fourier;
use isocenter_base::array::{ArrayMut, DType};
use isocenter_base::context::{Context, HostMemory, Stage};
use isocenter_base::error::{Result, fail};
use isocenter_solve::Vectors;
use rustfft::num_complex::Complex;
use std::ops::Range;
use std::sync::Arc;

/// What is streamed for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Goal {
    Gridding,
    Reconstruction,
}

/// Values that are read at a time unless the caller says otherwise.
const VALUES: usize = 1 << 24;

/// Maximum number of bytes of working memory that a stream takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamMemory {
    /// Of the host.
    pub host: u64,
    /// Of the GPU that it computes on; 0 on the processor.
    pub gpu: u64,
}

impl Mri {
    /// Like [`Mri::reconstruct`], of samples that `read` brings, so many at a time; 0 leaves that to the plan.
    pub fn reconstruct_stream(
        &mut self,
        dtype: DType,
        at_once: usize,
        read: &mut dyn FnMut(Portion) -> Result<()>,
        images: ArrayMut<4>,
    ) -> Result<()> {
        self.run_stream(Goal::Reconstruction, (dtype, at_once), read, images)
    }

    /// Like [`Mri::gridding`], of samples that `read` brings.
    pub fn gridding_stream(
        &mut self,
        dtype: DType,
        at_once: usize,
        read: &mut dyn FnMut(Portion) -> Result<()>,
        images: ArrayMut<4>,
    ) -> Result<()> {
        self.doubt_weights()?;
        self.run_stream(Goal::Gridding, (dtype, at_once), read, images)
    }

    /// What [`Mri::reconstruct_stream`] takes; [`Mri::gridding_stream`] takes no more.
    pub fn stream_memory(&mut self, dtype: DType, at_once: usize) -> Result<StreamMemory> {
        let stream = self.stream_of(Goal::Reconstruction, (dtype, at_once), self.solve_settings()?)?;
        each!(&mut self.plan_mut()?.engine, e => e.within(&stream.context, |e| stream.memory(e)))
    }

    fn stream_of(&self, goal: Goal, (dtype, at_once): (DType, usize), solve: Solve) -> Result<Stream> {
        let (context, fourier, coils) = (self.context.clone(), self.fourier()?, self.geometry()?.coils);
        let held = self.buffers.iter().map(|buffer| buffer.bytes() as u64).sum();
        let parts = self.read_parts(at_once, dtype, held)?;
        let buffers = Buffers::new(&context, &parts, coils, dtype, held)?;
        let series = self.plan()?.frames.is_some();
        Ok(Stream { goal, dtype, coils, series, parts, buffers, solve, context, fourier })
    }

    /// The frames, or parts of the scan, that are read one after the other. `held`: bytes of buffers that there are.
    fn read_parts(&self, at_once: usize, dtype: DType, held: u64) -> Result<Frames> {
        if let Some(frames) = &self.plan()?.frames {
            let longest = frames.range(frames.longest()).len();
            if at_once > 0 && at_once < longest {
                fail!(
                    OutOfRange,
                    "at_once is {at_once}; a frame is read as a whole, and the longest has {longest} samples"
                );
            }
            return Ok(frames.clone());
        }
        let (samples, coils) = (self.samples()?, self.geometry()?.coils);
        let cap = usize::try_from(self.context.memory_cap(held)).unwrap_or(usize::MAX);
        let values = VALUES.min(cap / 8 / dtype.size());
        let chosen = if at_once > 0 { at_once } else { values / coils.max(1) };
        Frames::parts(chosen.clamp(1, samples), samples)
    }

    /// Nothing is written unless all of it is there.
    fn run_stream(
        &mut self,
        goal: Goal,
        of: (DType, usize),
        read: &mut dyn FnMut(Portion) -> Result<()>,
        mut images: ArrayMut<4>,
    ) -> Result<()> {
        self.check_images(images.layout())?;
        let mut solve = self.solve_settings()?;
        if goal == Goal::Gridding {
            solve = Solve { toeplitz: false, warm_start: false, purpose: Purpose::Transform, ..solve };
        } else {
            self.check_imaginary(&solve)?;
            self.tell_of_penalty(&solve);
        }
        let stream = self.stream_of(goal, of, solve)?;
        let memory = stream.buffers.take(&stream.context, std::mem::take(&mut self.buffers))?;
        let elements = stream.coils * stream.parts.ranges().iter().map(Range::len).sum::<usize>()
            + if solve.warm_start { images.layout().count() } else { 0 };
        let Plan { engine, .. } = self.plan_mut()?;
        let (replaced, (solutions, buffers)) =
            each!(engine, e => stream.run(&mut **e, memory, &mut *read, &mut images))?;
        (self.replaced, self.buffers) = (replaced, buffers);
        if goal == Goal::Reconstruction {
            self.keep(solutions, &solve);
        }
        stream.context.tell_of_replaced(replaced, elements);
        Ok(())
    }
}

/// How solutions went, and memory for the next call's buffers.
type Done = (Vec<Solution>, Vec<HostMemory>);
/// `F^H W samples`, and `|samples|^2` in the weights' norm by problem.
type Sums<E> = (Vector<E>, Vec<f64>);

/// A call.
struct Stream {
    goal: Goal,
    dtype: DType,
    coils: usize,
    /// Parts are frames.
    series: bool,
    parts: Frames,
    buffers: Buffers,
    solve: Solve,
    context: Arc<Context>,
    fourier: Fourier,
}

impl Stream {
    /// Settings for the engine: where it computes on the host, buffers take of the same memory.
    fn settings<E: Engine>(&self) -> Solve {
        let bytes = if E::WAITS { 0 } else { self.buffers.bytes() };
        Solve { holds_samples: false, besides: bytes.div_ceil(size_of::<Complex<E::Scalar>>() as u64), ..self.solve }
    }

    /// Settings for a part of the samples: sums and what to begin with are kept besides, and Q of an earlier call.
    fn of_part<E: Engine>(&self, e: &mut E, solve: &Solve, q: bool) -> Result<Solve> {
        let kept = self.parts.kept(e, &self.fourier, q)?;
        let count = (e.scan().problems() * e.scan().unknowns()) as u64;
        let starts = if solve.warm_start { count } else { 0 };
        Ok(Solve {
            toeplitz: false,
            warm_start: false,
            purpose: Purpose::Transform,
            besides: solve.besides + count + starts + kept,
            holds_samples: true,
            ..*solve
        })
    }

    /// Of the parts, and of the solution.
    fn memory<E: Engine>(&self, e: &mut E) -> Result<StreamMemory> {
        let Self { parts, context, fourier, .. } = self;
        let solve = self.settings::<E>();
        let bytes = if self.series {
            parts.memory(e, context, fourier, &solve)?
        } else {
            // From the second call on there is Q.
            let q = solve.toeplitz || e.has_q();
            let of_part = self.of_part(e, &solve, q)?;
            let mut side = parts.side(e, parts.longest())?;
            let for_part = with_side(e, &mut side, |e| e.memory(context, fourier, &of_part))?;
            e.memory(context, fourier, &solve)?.max(for_part)
        };
        Ok(match E::WAITS {
            true => StreamMemory { host: self.buffers.bytes(), gpu: bytes },
            false => StreamMemory { host: bytes, gpu: 0 },
        })
    }

    /// Values replaced, how solutions went, and the buffers that are kept.
    fn run<E: Engine>(
        &self,
        e: &mut E,
        buffers: Vec<HostMemory>,
        read: &mut dyn FnMut(Portion) -> Result<()>,
        images: &mut ArrayMut<4>,
    ) -> Result<(u64, Done)> {
        let Self { parts, context, fourier, .. } = self;
        let solve = self.settings::<E>();
        let policy = context.nan_policy();
        let done = e.run_serving(
            context,
            |ask: Request| ask.serve(read),
            |e, job, desk| {
                job.enter(Stage::Check);
                let call = Call { context, fourier, job };
                let mut reader =
                    Reader { desk, parts, coils: self.coils, dtype: self.dtype, policy, free: buffers, coming: None };
                let start = match solve.warm_start {
                    true => Some(read_start(e, &images.as_array(), policy)?),
                    false => None,
                };
                let mut solutions = Vec::new();
                let result = match self.series {
                    true => self.frames(e, &call, &mut reader, start, &solve, &mut solutions)?,
                    false => {
                        let (sums, solve) = self.sum_parts(e, &call, &mut reader, &solve)?;
                        match self.goal {
                            Goal::Gridding => sums.0,
                            Goal::Reconstruction => {
                                if solve.toeplitz {
                                    e.prepare_q(fourier, job)?
                                } else {
                                    e.prepare(fourier)?
                                }
                                call.solve_each(e, sums, start.as_ref(), &solve, (&mut solutions, 0.5))?
                            }
                        }
                    }
                };
                e.write(&result, images)?;
                // Page-locked memory takes long to get; other memory would be missing in calls that do without.
                Ok((solutions, if E::WAITS { reader.free } else { Vec::new() }))
            },
        )?;
        Ok((e.replaced(), done))
    }

    /// Each frame, or all together.
    fn frames<E: Engine>(
        &self,
        e: &mut E,
        call: &Call,
        reader: &mut Reader<'_, Done>,
        start: Option<Vector<E>>,
        solve: &Solve,
        solutions: &mut Vec<Solution>,
    ) -> Result<Vector<E>> {
        let (parts, count) = (&self.parts, self.parts.count());
        if self.goal == Goal::Reconstruction && solve.takes_frames_together() {
            let solve = call.fit_frames(e, parts, solve)?;
            let part = |e: &mut E, frame| reader.take(e, frame);
            return call.reconstruct_frames(e, parts, part, start.as_ref(), &solve, solutions);
        }
        let (solve, share) = (parts.beside(e, &self.fourier, solve)?, 1.0 / count as f64);
        let images = count * e.scan().problems() * e.scan().unknowns();
        let mut result = e.vectors().uninitialised(images)?;
        parts.each(
            e,
            |e, frame, side| {
                let data = reader.take(e, frame)?;
                let start = start.as_ref().map(|start| Part::Images.gather(e, start, (parts, frame))).transpose()?;
                let made = with_side(e, side, |e| match self.goal {
                    Goal::Gridding => {
                        call.check(e, &solve)?;
                        call.encode(e, data, Encode::Gridding, share)
                    }
                    Goal::Reconstruction => {
                        let solve = fitting(e, &self.context, &self.fourier, &solve)?;
                        call.reconstruct(e, data, start.as_ref(), &solve, (solutions, share))
                    }
                })?;
                Part::Images.scatter(e, &made, &mut result, (parts, frame))
            },
            drop,
        )?;
        Ok(result)
    }

    /// `F^H W samples` and, for what needs it, `|samples|^2` in the weights' norm, of all parts; and settings for the solution, for which
    /// there is memory.
    fn sum_parts<E: Engine>(
        &self,
        e: &mut E,
        call: &Call,
        reader: &mut Reader<'_, Done>,
        solve: &Solve,
    ) -> Result<(Sums<E>, Solve)> {
        let Self { parts, context, fourier, .. } = self;
        let (job, solves) = (call.job, self.goal == Goal::Reconstruction);
        let problems = e.scan().problems();
        let count = problems * e.scan().unknowns();
        // The transform of all samples has its time after the sums.
        e.drop_transform();
        let q = e.has_q();
        let transform = self.of_part(e, solve, q)?;
        let share = if solves { 0.5 } else { 1.0 } / parts.count() as f64;
        // Before anything is read, it is known whether there is memory for all of it.
        if solves {
            fitting(e, context, fourier, solve)?;
        }
        let (mut sum, mut sums) = (e.vectors().zeros(count)?, vec![0.0; problems]);
        parts.each(
            e,
            |e, k, side| {
                with_side(e, side, |e| call.check(e, &transform))?;
                let mut data = reader.take(e, k)?;
                let made = with_side(e, side, |e| {
                    e.prepare(fourier)?;
                    job.enter(Stage::Adjoint);
                    let of_part = squares(e, &data, solve)?;
                    sums.iter_mut().zip(of_part).for_each(|(sum, square)| *sum += square);
                    e.weigh(&mut data)?;
                    let mut made = e.vectors().uninitialised(count)?;
                    e.adjoint(&data, &mut made, &mut portion(job, share))?;
                    Ok(made)
                })?;
                e.vectors().combine(1.0, &made, 1.0, &mut sum)
            },
            drop,
        )?;
        let solve = if solves {
            fitting(e, context, fourier, solve)?
        } else {
            finite(e, &sum, "samples")?;
            transform
        };
        Ok(((sum, sums), solve))
    }
}
