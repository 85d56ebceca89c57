//! Slices that depend on each other, piece by piece on the GPUs of a context.

use super::iterative::Pieces;
use super::several::on_each;
use super::worker::AtWork;
use crate::iterative::variation::{Course, Seen, measured};
use crate::slab::{Arrays, Queue};
use crate::task::Task;
use isocenter_base::context::{Context, Job, LogLevel};
use isocenter_base::error::{Result, fail};
use std::sync::{Mutex, PoisonError};

/// The pieces of a call, if it goes by any. Leaves those GPUs that have something to do.
pub(super) fn of(context: &Context, task: &Task, workers: &mut Vec<AtWork>) -> Result<Option<Pieces>> {
    let Some(iteration) = task.iteration.filter(|_| task.together()) else { return Ok(None) };
    if let Some(whole) = workers.iter().position(|gpu| gpu.sizes.piece.is_none()) {
        workers.swap(0, whole);
        workers.truncate(1);
        return Ok(None);
    }
    let (g, gpus) = (task.geometry, workers.len());
    let largest = workers.iter().filter_map(|gpu| gpu.sizes.piece).min().unwrap_or(0);
    let (cap, needed) = (context.memory_cap(0), Pieces::bytes(g, iteration, largest, gpus));
    if needed > cap {
        fail!(
            MemoryCap,
            "memory_cap is {cap} bytes; {} slices that depend on each other, {largest} of which fit a GPU at a time, need {needed} of host memory",
            g.slices
        );
    }
    let pieces = Pieces::new(g, iteration, largest, gpus)?;
    context.log(LogLevel::Info, || {
        let (n, slices) = (pieces.len(), pieces.largest());
        format!("{n} pieces of up to {slices} slices, {needed} bytes of host memory")
    });
    Ok(Some(pieces))
}

/// All iterations, once the pieces have what they begin with.
pub(super) fn iterate(
    context: &Context,
    (task, arrays): (&Task, &Arrays),
    (workers, pieces): (&mut [AtWork], &Pieces),
    job: &Job,
) -> Result<()> {
    let Some((iteration, norms)) = task.iteration.zip(workers.iter().find_map(|gpu| gpu.norms())) else {
        fail!(Internal, "pieces that nobody has seen")
    };
    let squares = measured(iteration).map(|rows| context.install(|| pieces.squares(rows)));
    let mut course = Course::new(iteration, norms, task.geometry.slices, squares);
    let mut found = Vec::new();
    while course.next().is_some() {
        let queue = Queue::new(std::iter::once(0..pieces.len()))?;
        let seen: Vec<Mutex<Vec<Seen>>> = (0..pieces.len()).map(|_| Mutex::default()).collect();
        on_each((context, job), workers.iter_mut(), Some(&queue), |gpu| {
            while let Some(k) = queue.take(1) {
                let stretched = gpu.stretch(arrays, job, &course, &mut pieces.lock(k.start));
                if stretched.is_err() {
                    gpu.wait()?;
                }
                *seen[k.start].lock().unwrap_or_else(PoisonError::into_inner) = stretched?;
            }
            Ok(())
        })?;
        let all = seen.into_iter().flat_map(|seen| seen.into_inner().unwrap_or_else(PoisonError::into_inner));
        let told = course.take(all.collect()).1;
        told.say((context, job), 0..task.geometry.slices);
        found.push(told);
        context.install(|| pieces.exchange(iteration));
        context.report_between(job);
        job.check()?;
    }
    iteration.history.add(found);
    Ok(())
}
