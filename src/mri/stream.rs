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
use super::solver::Solution;
use super::transform::Fourier;
use crate::array::{Array, ArrayMut, DType, contiguous};
use crate::context::{Context, Desk, HostMemory, NanPolicy, Stage};
use crate::error::{Result, fail};
use crate::solve::Vectors;
use rustfft::num_complex::Complex;
use std::ops::Range;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// Samples of all coils, `[coil][sample]`, that a callback is to bring into contiguous memory.
#[derive(Clone, Copy, Debug)]
pub struct Portion {
    /// The first of them, in the trajectory's order.
    pub first: usize,
    /// How many.
    pub count: usize,
    /// Coils.
    pub coils: usize,
    /// Where the first belongs.
    pub data: *mut u8,
    /// Their type.
    pub dtype: DType,
}

/// What is streamed for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Goal {
    Gridding,
    Reconstruction,
}

/// Values that are read at a time unless the caller says otherwise.
const VALUES: usize = 1 << 24;
/// Buffers: one is filled, one is computed with.
const BUFFERS: usize = 2;

impl Mri {
    /// Like [`Mri::reconstruct`], of samples that `read` brings, so many at a time; 0 leaves that to the plan.
    pub fn reconstruct_stream(
        &mut self,
        dtype: DType,
        at_once: usize,
        read: impl FnMut(Portion) -> Result<()>,
        images: ArrayMut<4>,
    ) -> Result<()> {
        self.run_stream(Goal::Reconstruction, (dtype, at_once), read, images)
    }

    /// Like [`Mri::gridding`], of samples that `read` brings.
    pub fn gridding_stream(
        &mut self,
        dtype: DType,
        at_once: usize,
        read: impl FnMut(Portion) -> Result<()>,
        images: ArrayMut<4>,
    ) -> Result<()> {
        self.doubt_weights()?;
        self.run_stream(Goal::Gridding, (dtype, at_once), read, images)
    }

    /// The frames, or parts of the scan that are read one after the other.
    fn read_parts(&self, at_once: usize, dtype: DType) -> Result<Frames> {
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
        let cap = usize::try_from(self.context.memory_cap(0)).unwrap_or(usize::MAX);
        let values = VALUES.min(cap / 8 / dtype.size());
        let chosen = if at_once > 0 { at_once } else { values / coils.max(1) };
        Frames::parts(chosen.clamp(1, samples), samples)
    }

    /// Nothing is written unless all of it is there.
    fn run_stream(
        &mut self,
        goal: Goal,
        (dtype, at_once): (DType, usize),
        mut read: impl FnMut(Portion) -> Result<()>,
        mut images: ArrayMut<4>,
    ) -> Result<()> {
        self.check_images(images.layout())?;
        let mut solve = self.solve_settings()?;
        if goal == Goal::Gridding {
            solve = Solve { toeplitz: false, warm_start: false, purpose: Purpose::Transform, ..solve };
        } else {
            self.tell_of_penalty(&solve);
        }
        let (fourier, context, coils) = (self.fourier()?, self.context.clone(), self.geometry()?.coils);
        let parts = self.read_parts(at_once, dtype)?;
        let series = self.plan()?.frames.is_some();
        let longest = parts.range(parts.longest()).len();
        let mut buffers = std::mem::take(&mut self.buffers);
        let bytes = buffer_bytes(&context, coils, longest, dtype)?;
        buffers.retain(|b| b.bytes() >= bytes && b.bytes() / 4 <= bytes.max(1 << 16));
        while buffers.len() < BUFFERS.min(parts.count()) {
            buffers.push(context.host_memory(bytes)?);
        }
        let elements = coils * parts.ranges().iter().map(Range::len).sum::<usize>()
            + if solve.warm_start { images.layout().count() } else { 0 };
        let stream = Stream { goal, dtype, coils, series, parts: &parts, solve, context: &context, fourier: &fourier };
        let Plan { engine, .. } = self.plan_mut()?;
        let (replaced, (solutions, buffers)) =
            each!(engine, e => stream.run(&mut **e, buffers, &mut read, &mut images))?;
        (self.replaced, self.buffers) = (replaced, buffers);
        if goal == Goal::Reconstruction {
            self.keep(solutions, solve.lambda);
        }
        context.tell_of_replaced(replaced, elements);
        Ok(())
    }
}

/// How solutions went, and buffers for the next call.
type Done = (Vec<Solution>, Vec<HostMemory>);
/// `F^H W samples`, and `|samples|^2` in the weights' norm by problem.
type Sums<E> = (Vector<E>, Vec<f64>);

/// A call.
struct Stream<'a> {
    goal: Goal,
    dtype: DType,
    coils: usize,
    /// Parts are frames.
    series: bool,
    parts: &'a Frames,
    solve: Solve,
    context: &'a Context,
    fourier: &'a Fourier,
}

impl Stream<'_> {
    /// Values replaced, how solutions went, and the buffers.
    fn run<E: Engine>(
        &self,
        e: &mut E,
        buffers: Vec<HostMemory>,
        read: &mut impl FnMut(Portion) -> Result<()>,
        images: &mut ArrayMut<4>,
    ) -> Result<(u64, Done)> {
        let Self { dtype, coils, parts, context, fourier, .. } = *self;
        // Where computing takes place on the host, buffers take of the same memory.
        let bytes = if E::WAITS { 0 } else { buffers.iter().map(HostMemory::bytes).sum() };
        let taken = bytes.div_ceil(size_of::<Complex<E::Real>>()) as u64;
        let solve = Solve { holds_samples: false, besides: taken, ..self.solve };
        let policy = context.nan_policy();
        let done = e.run_serving(
            context,
            |ask: Request| ask.serve(read),
            |e, job, desk| {
                job.enter(Stage::Check);
                let call = Call { context, fourier, job };
                let mut reader = Reader { desk, parts, coils, dtype, policy, free: buffers, coming: None };
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
                Ok((solutions, reader.free))
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
        let (parts, count) = (self.parts, self.parts.count());
        if self.goal == Goal::Reconstruction && solve.takes_frames_together() {
            let solve = call.fit_frames(e, parts, solve)?;
            let part = |e: &mut E, frame| reader.take(e, frame);
            return call.reconstruct_frames(e, parts, part, start.as_ref(), &solve, solutions);
        }
        let (solve, share) = (parts.beside(e, solve), 1.0 / count as f64);
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
                        let solve = fitting(e, self.context, self.fourier, &solve)?;
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
        let Self { parts, context, fourier, .. } = *self;
        let (job, solves) = (call.job, self.goal == Goal::Reconstruction);
        let problems = e.scan().problems();
        let count = problems * e.scan().unknowns();
        let transform = Solve {
            toeplitz: false,
            warm_start: false,
            purpose: Purpose::Transform,
            besides: solve.besides + count as u64,
            holds_samples: true,
            ..*solve
        };
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
        let solve = if solves { fitting(e, context, fourier, solve)? } else { transform };
        Ok(((sum, sums), solve))
    }
}

/// Of a buffer for so many samples of all coils.
fn buffer_bytes(context: &Context, coils: usize, count: usize, dtype: DType) -> Result<usize> {
    let bytes = coils.checked_mul(count).and_then(|n| n.checked_mul(dtype.size()));
    let cap = context.memory_cap(0);
    match bytes.filter(|n| (*n as u64).saturating_mul(BUFFERS as u64) <= cap) {
        Some(bytes) => Ok(bytes),
        None => fail!(
            MemoryCap,
            "memory_cap is {cap} bytes; two buffers of {count} samples of {coils} coils are more: read fewer at once"
        ),
    }
}

/// A buffer that the calling thread is to have filled and to give back.
struct Request {
    first: usize,
    count: usize,
    coils: usize,
    dtype: DType,
    buffer: HostMemory,
    answer: SyncSender<Result<HostMemory>>,
}

impl Request {
    fn serve(self, read: &mut impl FnMut(Portion) -> Result<()>) {
        let Self { first, count, coils, dtype, buffer, answer } = self;
        let read = read(Portion { first, count, coils, data: buffer.data(), dtype });
        // Work that has failed waits for no answer.
        let _ = answer.send(read.map(|()| buffer));
    }
}

/// Reads parts in their order, each ahead of its use.
struct Reader<'a, T> {
    desk: &'a Desk<T, Request>,
    parts: &'a Frames,
    coils: usize,
    dtype: DType,
    policy: NanPolicy,
    /// Buffers that nobody uses.
    free: Vec<HostMemory>,
    /// The next part.
    coming: Option<Receiver<Result<HostMemory>>>,
}

impl<T> Reader<'_, T> {
    fn ask(&mut self, part: usize) {
        let Some(range) = self.parts.ranges().get(part) else { return };
        let Some(buffer) = self.free.pop() else { return };
        let (answer, coming) = sync_channel(1);
        let Self { coils, dtype, .. } = *self;
        self.desk.ask(Request { first: range.start, count: range.len(), coils, dtype, buffer, answer });
        self.coming = Some(coming);
    }

    /// The samples of a part.
    fn take<E: Engine>(&mut self, e: &mut E, part: usize) -> Result<Vector<E>> {
        if self.coming.is_none() {
            self.ask(part);
        }
        let Some(Ok(read)) = self.coming.take().map(|coming| coming.recv()) else {
            fail!(Internal, "no part was asked for");
        };
        let buffer = read?;
        self.ask(part + 1);
        let range = self.parts.range(part);
        let shape = [self.coils, range.len()];
        // SAFETY: the buffer holds as many elements, filled by the callback, and stays until after this.
        let array = unsafe { Array::from_raw(buffer.data(), self.dtype, shape, contiguous(shape), None) };
        let vector = e.read(&array, &format!("from sample {} on, samples", range.start), self.policy)?;
        self.free.push(buffer);
        Ok(vector)
    }
}
