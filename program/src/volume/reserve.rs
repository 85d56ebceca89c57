//! Room for a file in memory, made ahead of what is written. There, one thread at a time may make a file longer, or fill holes of it, by
//! whatever call; all may write to pages that it has.

use crate::disk::set_aside;
use std::fs::File;
use std::io::Result;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;

/// Bytes that are made room for at a time.
const STEP: u64 = 64 << 20;

/// A thread that makes room for a file, from its beginning to its end.
pub struct Reserve {
    state: Arc<State>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct State {
    stop: AtomicBool,
    /// How far it is; nothing where there is no more room.
    reached: Mutex<Option<u64>>,
    further: Condvar,
}

impl Reserve {
    /// For so many bytes of a file.
    pub fn begin(file: &File, bytes: u64) -> Result<Self> {
        let (file, state) = (file.try_clone()?, Arc::new(State { reached: Mutex::new(Some(0)), ..State::default() }));
        let of = state.clone();
        let thread = std::thread::spawn(move || {
            let mut at = 0;
            while at < bytes && !of.stop.load(Ordering::Relaxed) {
                let step = STEP.min(bytes - at);
                let room = set_aside(&file, at, step).is_ok();
                at += step;
                *of.reached.lock().unwrap_or_else(PoisonError::into_inner) = room.then_some(at);
                of.further.notify_all();
                if !room {
                    return;
                }
            }
        });
        Ok(Self { state, thread: Some(thread) })
    }

    /// Waits until there is room before a byte of the file; says no where there is none.
    pub fn until(&self, end: u64) -> bool {
        let reached = self.state.reached.lock().unwrap_or_else(PoisonError::into_inner);
        let reached = self.state.further.wait_while(reached, |reached| reached.is_some_and(|at| at < end));
        reached.unwrap_or_else(PoisonError::into_inner).is_some()
    }
}

impl Drop for Reserve {
    fn drop(&mut self) {
        self.state.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
