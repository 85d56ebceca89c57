//! What iterations found.

use crate::cpu::buffer::zeros;
use crate::error::Result;
use std::sync::Mutex;

/// One iteration over all slices, as it found the images that it began with.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Iterated {
    /// What the method makes small, summed over slices.
    pub objective: f64,
    /// Slices that it went on with.
    pub slices: usize,
}

/// A call's iterations, to which slabs add theirs.
pub(in crate::ct) struct History {
    iterations: Mutex<Vec<Iterated>>,
}

impl History {
    pub(in crate::ct) fn new(iterations: usize) -> Result<Self> {
        Ok(Self { iterations: Mutex::new(zeros(iterations)?) })
    }

    /// Adds what one slab's slices had at an iteration; those that have ended add their last.
    pub(in crate::ct) fn add(&self, iteration: usize, more: Iterated) {
        let mut all = self.iterations.lock().unwrap_or_else(|e| e.into_inner());
        all[iteration].objective += more.objective;
        all[iteration].slices += more.slices;
    }

    /// Up to the last that went on with a slice.
    pub(in crate::ct) fn take(self) -> Vec<Iterated> {
        let mut all = self.iterations.into_inner().unwrap_or_else(|e| e.into_inner());
        let done = all.iter().rposition(|i| i.slices > 0).map_or(0, |last| last + 1);
        all.truncate(done);
        all
    }
}
