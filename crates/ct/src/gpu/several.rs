//! GPUs at work: in turns, or at a time, each in a thread of its own.

use super::worker::AtWork;
use crate::slab::{self, Ends, Queue, Whole, Worker};
use isocenter_base::context::{Context, Job, REPORTS};
use isocenter_base::error::Result;
use isocenter_base::gpu::then_wait;
use std::iter;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;

/// The same work with each of these, while this thread reports. All have ended before the first error goes to the caller; nobody takes more
/// from the queue then.
pub(super) fn on_each<T: Send>(
    (context, job): (&Context, &Job),
    all: impl Iterator<Item = T>,
    queue: Option<&Queue>,
    work: impl Fn(T) -> Result<()> + Sync,
) -> Result<()> {
    let one = |with: T| {
        let result = work(with);
        if let (Err(_), Some(queue)) = (&result, queue) {
            queue.stop();
        }
        result
    };
    thread::scope(|scope| {
        let (one, (working, ended)) = (&one, channel::<()>());
        let start = |with: T| {
            let working = working.clone();
            scope.spawn(move || {
                let _working = working;
                one(with)
            })
        };
        let running: Vec<_> = all.map(start).collect();
        drop(working);
        // Disconnected once nobody works any more.
        while ended.recv_timeout(REPORTS) == Err(RecvTimeoutError::Timeout) {
            context.report_between(job);
        }
        let results: Vec<Result<()>> =
            running.into_iter().map(|r| r.join().unwrap_or_else(|e| std::panic::resume_unwind(e))).collect();
        results.into_iter().collect()
    })
}

/// Slabs whose work waits for its GPU: as many as there are GPUs are loaded, worked on together, and stored, in order.
pub(super) fn rounds<'a>(
    at_work: (&Context, &Job),
    workers: &mut [AtWork],
    queue: &Queue,
    ends: &mut impl Ends<'a>,
) -> Result<()> {
    loop {
        let mut slabs = Vec::with_capacity(workers.len());
        for (place, gpu) in workers.iter().enumerate() {
            let Some(slices) = queue.take(gpu.share()) else { break };
            slabs.push((ends.load(place, slices.clone())?, slices));
        }
        if slabs.is_empty() {
            return Ok(());
        }
        on_each(at_work, workers.iter_mut().zip(&slabs), None, |(gpu, (arrays, slices))| {
            let mut loaded = Whole { arrays: *arrays, context: None };
            drive(std::slice::from_mut(gpu), &Queue::new(iter::once(slices.clone()))?, &mut loaded, at_work.1)
        })?;
        for (arrays, slices) in slabs {
            ends.store(&arrays, slices)?;
            ends.report(at_work.1);
        }
    }
}

/// Runs slabs, and waits for the GPUs whatever happened: nothing may still use the arrays afterwards.
pub(super) fn drive<'a>(gpus: &mut [AtWork], queue: &Queue, ends: &mut impl Ends<'a>, job: &Job) -> Result<()> {
    then_wait(
        gpus,
        |gpus| slab::run(gpus, queue, ends, job),
        |gpus| {
            let waited: Vec<Result<()>> = gpus.iter().map(AtWork::wait).collect();
            waited.into_iter().collect()
        },
    )
}
