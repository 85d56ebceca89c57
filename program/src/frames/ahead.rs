//! Rows that are read while the ones before them are worked on.

use super::Frames;
use super::memory::at_least;
use anyhow::{Result, anyhow};
use std::ops::Range;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Scope, ScopedJoinHandle};

/// Rows and a buffer for them; on their way back with what came of it.
struct Slab {
    rows: Range<usize>,
    values: Vec<u8>,
    done: Result<()>,
}

/// Reads slabs of rows, and the next one already on a thread of its own: of two buffers one is the caller's.
pub struct Ahead<'scope> {
    frames: &'scope Frames,
    wanted: Option<Sender<Slab>>,
    read: Receiver<Slab>,
    /// What the thread is at.
    under_way: Option<Range<usize>>,
    /// Where no thread works on it.
    spare: Vec<u8>,
    thread: Option<ScopedJoinHandle<'scope, ()>>,
}

impl<'scope> Ahead<'scope> {
    pub fn new(scope: &'scope Scope<'scope, '_>, frames: &'scope Frames) -> Self {
        let (wanted, orders) = channel::<Slab>();
        let (ready, read) = channel();
        let thread = scope.spawn(move || {
            for mut slab in orders {
                let bytes = frames.bytes(slab.rows.len());
                slab.done = at_least(&mut slab.values, bytes)
                    .and_then(|()| frames.source.read(&frames.which, slab.rows.clone(), &mut slab.values[..bytes]));
                if ready.send(slab).is_err() {
                    return;
                }
            }
        });
        Self { frames, wanted: Some(wanted), read, under_way: None, spare: Vec::new(), thread: Some(thread) }
    }

    /// Fills `to`, (frames, rows, bins), and begins with the rows that will be asked for next, if they are known.
    pub fn read(&mut self, rows: Range<usize>, next: Option<Range<usize>>, to: &mut [u8]) -> Result<()> {
        let mut found = false;
        if let Some(at) = self.under_way.take() {
            let slab = self.read.recv().map_err(|_| anyhow!("the thread that reads has ended"))?;
            // Others than were expected: read now, errors of what is not needed are none.
            if at == rows {
                slab.done?;
                to.copy_from_slice(&slab.values[..to.len()]);
                found = true;
            }
            self.spare = slab.values;
        }
        if !found {
            self.frames.source.read(&self.frames.which, rows, to)?;
        }
        if let (Some(rows), Some(wanted)) = (next, &self.wanted) {
            let values = std::mem::take(&mut self.spare);
            self.under_way = Some(rows.clone());
            wanted.send(Slab { rows, values, done: Ok(()) }).map_err(|_| anyhow!("the thread that reads has ended"))?;
        }
        Ok(())
    }
}

impl Drop for Ahead<'_> {
    fn drop(&mut self) {
        // Without orders the thread ends.
        self.wanted = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
