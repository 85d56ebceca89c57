//! Rows that are read while the ones before them are worked on.

use super::Frames;
use crate::memory::{at_least, copy};
use anyhow::{Result, anyhow};
use std::ops::Range;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

/// Rows that a stream will ask for, most likely, after some that it has asked for: for its slices, or for a part of what they need; then come
/// `next`.
pub fn following(read: &Range<usize>, own: &Range<usize>, next: &Range<usize>, all: usize) -> Option<Range<usize>> {
    let rows = if read.start > own.start || read.end < own.end {
        // Parts go on where the last one ended.
        read.end..(read.end + read.len()).min(all)
    } else if next.is_empty() {
        return None;
    } else {
        // As far beyond its slices as these.
        let beside = (own.start - read.start).max(read.end - own.end);
        next.start.saturating_sub(beside)..(next.end + beside).min(all)
    };
    (!rows.is_empty()).then_some(rows)
}

/// Rows and a buffer for them; on their way back with what came of it.
struct Slab {
    rows: Range<usize>,
    values: Vec<u8>,
    done: Result<()>,
}

/// Reads slabs of rows, and the next one already on a thread of its own: of two buffers one is the caller's.
pub struct Ahead {
    frames: Frames,
    /// Nothing where reading waits for no disk, and when it ends.
    wanted: Option<Sender<Slab>>,
    read: Receiver<Slab>,
    /// What the thread is at.
    under_way: Option<Range<usize>>,
    /// Where no thread works on it.
    spare: Vec<u8>,
    thread: Option<JoinHandle<()>>,
}

impl Ahead {
    pub fn new(frames: &Frames) -> Self {
        let (wanted, orders) = channel::<Slab>();
        let (ready, read) = channel();
        let of = frames.clone();
        let thread = frames.source.waits().then(|| {
            std::thread::spawn(move || {
                for mut slab in orders {
                    let bytes = of.bytes(slab.rows.len());
                    slab.done = at_least(&mut slab.values, bytes)
                        .and_then(|()| of.source.read(&of.which, slab.rows.clone(), &mut slab.values[..bytes]));
                    if ready.send(slab).is_err() {
                        return;
                    }
                }
            })
        });
        let wanted = thread.is_some().then_some(wanted);
        Self { frames: frames.clone(), wanted, read, under_way: None, spare: Vec::new(), thread }
    }

    /// Fills `to`, (frames, rows, bins), and begins with the rows that will be asked for next, if they are known.
    pub fn read(&mut self, rows: Range<usize>, next: Option<Range<usize>>, to: &mut [u8]) -> Result<()> {
        let ended = || anyhow!("the thread that reads has ended");
        let mut found = false;
        if let Some(at) = self.under_way.take() {
            let slab = self.read.recv().map_err(|_| ended())?;
            // Where others were expected, nobody needs them, nor their error.
            if at == rows {
                slab.done?;
                copy(&slab.values[..to.len()], to);
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
            wanted.send(Slab { rows, values, done: Ok(()) }).map_err(|_| ended())?;
        }
        Ok(())
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        // Without orders the thread ends.
        self.wanted = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::following;

    #[test]
    fn rows_that_come_next() {
        // Slabs with rows beside: the first, one in between, and the last.
        assert_eq!(following(&(0..12), &(0..10), &(10..20), 100), Some(8..22));
        assert_eq!(following(&(8..22), &(10..20), &(20..30), 100), Some(18..32));
        assert_eq!(following(&(88..100), &(90..100), &(100..100), 100), None);
        // Parts of a slab of rows 0..10, and of one whose first rows were read with it.
        assert_eq!(following(&(0..5), &(0..10), &(10..20), 100), Some(5..10));
        assert_eq!(following(&(17..22), &(10..20), &(20..30), 100), Some(22..27));
        assert_eq!(following(&(97..100), &(90..100), &(100..100), 100), None);
    }
}
