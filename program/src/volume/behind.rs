//! Writing behind the work: a thread writes blocks of slices and notes them, while the next ones are made.

use super::hdf5::Writer;
use super::journal::Journal;
use anyhow::{Result, anyhow};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};

/// Slabs that wait to be written, at most: more would only take memory.
const WAITING: usize = 2;

enum Work {
    /// From a byte of the volume on.
    Bytes(u64, Vec<u8>),
    /// A block of which all was given.
    Block(usize),
}

/// To the thread that writes.
pub struct Behind(SyncSender<Work>);

impl Behind {
    /// Has bytes of the volume written.
    pub fn bytes(&self, at: u64, bytes: &[u8]) -> Result<()> {
        self.send(Work::Bytes(at, bytes.to_vec()))
    }

    /// Has a block noted, once all of it is on disk.
    pub fn block(&self, block: usize) -> Result<()> {
        self.send(Work::Block(block))
    }

    fn send(&self, work: Work) -> Result<()> {
        // Its own error comes when it is waited for.
        self.0.send(work).map_err(|_| anyhow!("writing has failed"))
    }
}

/// Runs `work` with a thread that writes; gives the time that writing took. What that thread could not do is the error of both.
pub fn written(writer: &Writer, journal: &mut Journal, work: impl FnOnce(&Behind) -> Result<()>) -> Result<Duration> {
    std::thread::scope(|scope| {
        let (to, from) = sync_channel(WAITING);
        let thread = scope.spawn(move || write(writer, journal, &from));
        let behind = Behind(to);
        let done = work(&behind);
        // So that the thread ends.
        drop(behind);
        let wrote = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        done.map(|()| wrote)
    })
}

fn write(writer: &Writer, journal: &mut Journal, from: &Receiver<Work>) -> Result<Duration> {
    let mut taken = Duration::ZERO;
    for work in from {
        let begun = Instant::now();
        match work {
            Work::Bytes(at, bytes) => writer.write(at, &bytes)?,
            Work::Block(block) => {
                writer.sync()?;
                journal.note(block)?;
            }
        }
        taken += begun.elapsed();
    }
    Ok(taken)
}
