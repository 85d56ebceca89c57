//! How sums in many threads report their progress.

use isocenter_base::error::Result;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Called by all threads, often, with the part done; an error ends the work.
pub(crate) type Check<'a> = &'a (dyn Fn(f64) -> Result<()> + Sync);

/// Counts tasks for a [`Check`].
pub(super) struct TaskCounter<'a> {
    check: Check<'a>,
    done: AtomicUsize,
    tasks: usize,
}

impl<'a> TaskCounter<'a> {
    pub(super) fn new(check: Check<'a>, tasks: usize) -> Self {
        Self { check, done: AtomicUsize::new(0), tasks }
    }

    /// Another task is done.
    pub(super) fn task(&self) -> Result<()> {
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        (self.check)(done as f64 / self.tasks as f64)
    }
}
