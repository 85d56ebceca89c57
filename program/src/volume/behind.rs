//! Writing behind the work: a thread writes blocks of slices and notes them, while the next ones are made.

use super::Volume;
use super::direct::PAGE;
use super::journal::Journal;
use crate::memory;
use anyhow::{Result, anyhow};
use std::cell::Cell;
use std::ops::Range;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::time::{Duration, Instant};

/// Slabs that wait to be written, at most: more would only take memory.
const WAITING: usize = 2;

enum Work {
    /// From the slice of this number on: what lies in these bytes of the array.
    Slices(usize, Vec<u8>, Range<usize>),
    /// A block of which all was given.
    Block(usize),
}

/// To a thread that writes, and what comes back from it: arrays that may be filled again, since new ones cost as much as a copy.
pub struct Behind<'a> {
    volume: &'a dyn Volume,
    /// What writing took that did not wait for the thread.
    taken: Cell<Duration>,
    work: SyncSender<Work>,
    written: Receiver<Vec<u8>>,
}

impl Behind<'_> {
    /// Has slices written, from the one of this number on.
    pub fn slices(&self, first: usize, slices: &[u8]) -> Result<()> {
        if !self.volume.waits() {
            // It takes no longer than the copy.
            let begun = Instant::now();
            self.volume.write(first, slices)?;
            self.taken.set(self.taken.get() + begun.elapsed());
            return Ok(());
        }
        let mut copy = self.written.try_recv().unwrap_or_default();
        memory::at_least(&mut copy, slices.len() + PAGE)?;
        let lead = copy.as_ptr().align_offset(PAGE) + self.volume.inside_page(first);
        let within = lead % PAGE..lead % PAGE + slices.len();
        memory::copy(slices, &mut copy[within.clone()]);
        self.send(Work::Slices(first, copy, within))
    }

    /// Has a block noted, once all of it is on disk.
    pub fn block(&self, block: usize) -> Result<()> {
        self.send(Work::Block(block))
    }

    fn send(&self, work: Work) -> Result<()> {
        // Its own error comes when it is waited for.
        self.work.send(work).map_err(|_| anyhow!("writing has failed"))
    }
}

/// Runs `work` with a thread that writes; gives the time that writing took. What that thread could not do is the error of both.
pub fn written(
    volume: &dyn Volume,
    journal: &mut Journal,
    work: impl FnOnce(&Behind) -> Result<()>,
) -> Result<Duration> {
    std::thread::scope(|scope| {
        let (to, from) = sync_channel(WAITING);
        let (back, written) = channel();
        let thread = scope.spawn(move || write(volume, journal, &from, &back));
        let behind = Behind { volume, taken: Cell::default(), work: to, written };
        let done = work(&behind);
        let own = behind.taken.get();
        // So that the thread ends.
        drop(behind);
        let wrote = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        done.map(|()| wrote + own)
    })
}

fn write(
    volume: &dyn Volume,
    journal: &mut Journal,
    from: &Receiver<Work>,
    back: &Sender<Vec<u8>>,
) -> Result<Duration> {
    let mut taken = Duration::ZERO;
    for work in from {
        let begun = Instant::now();
        match work {
            Work::Slices(first, slices, within) => {
                volume.write(first, &slices[within])?;
                // At the end nobody wants it.
                let _ = back.send(slices);
            }
            Work::Block(block) => {
                volume.sync()?;
                journal.note(block)?;
            }
        }
        taken += begun.elapsed();
    }
    Ok(taken)
}
