//! What iterations found.

use isocenter_base::context::{Context, Job};
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Mutex;

/// One iteration over all slices, as it found the images that it began with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Iterated {
    /// Its number, from 0.
    pub iteration: usize,
    /// What the method makes small, summed over slices.
    pub objective: f64,
    /// How far that is from its minimum at most; infinite where nobody knows.
    pub gap: f64,
    /// Slices that it went on with.
    pub slices: usize,
}

impl Iterated {
    /// Tells the log, while iterations of these slices go on.
    pub(crate) fn say(&self, (context, job): (&Context, &Job), slices: Range<usize>) {
        if !context.tells() {
            return;
        }
        let Self { iteration, objective, gap, .. } = self;
        let (first, last) = (slices.start, slices.end - 1);
        let gap = if gap.is_finite() { format!(", at most {gap:.2e} above the minimum") } else { String::new() };
        job.say(first, format!("slices {first} to {last}, iteration {iteration}: objective {objective:.6e}{gap}"));
    }
}

/// A call's iterations, to which slabs add theirs.
#[derive(Default)]
pub(crate) struct History {
    slabs: Mutex<Vec<Vec<Iterated>>>,
}

impl History {
    /// Takes what one slab's slices had at each iteration that was recorded.
    pub(crate) fn add(&self, slab: Vec<Iterated>) {
        self.slabs.lock().unwrap_or_else(|e| e.into_inner()).push(slab);
    }

    /// Sums over slabs; one that ended earlier counts with its last.
    pub(crate) fn take(self) -> Vec<Iterated> {
        let slabs = self.slabs.into_inner().unwrap_or_else(|e| e.into_inner());
        let running = slabs.iter().flatten().filter(|found| found.slices > 0);
        let all: BTreeSet<usize> = running.map(|found| found.iteration).collect();
        let sum = |iteration: usize| {
            let mut sum = Iterated { iteration, objective: 0.0, gap: 0.0, slices: 0 };
            for slab in &slabs {
                let so_far = slab.partition_point(|found| found.iteration <= iteration);
                let Some(last) = slab[..so_far].last() else { continue };
                sum.objective += last.objective;
                sum.gap += last.gap;
                sum.slices += if last.iteration == iteration { last.slices } else { 0 };
            }
            sum
        };
        all.into_iter().map(sum).collect()
    }
}
