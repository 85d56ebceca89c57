//! Room for a file in memory, made ahead of what is written. There, one thread at a time may make a file longer, or fill holes of it, by
//! whatever call; all may write to pages that it has. Large pages are made where the system has them, small ones elsewhere.

use super::large::{LARGE, Mapped};
use crate::disk::set_aside;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::Result;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// Bytes that are made room for at a time.
const STEP: u64 = 64 << 20;
/// Bytes of small pages that are asked for where a large one is to be.
const PAGE: u64 = 4096;
/// Threads that make large pages, most of whose time is that of zeros.
const THREADS: usize = 4;
/// Processors for each of these. Fewer have better things to do: small pages take no zeros, and come as fast as slices do. On two, large ones took 1.4 s of
/// the 13 s that 1024 slices of 1024 x 1024 take.
const PROCESSORS: usize = 2;

/// Threads that make room for a file, from its beginning to its end.
pub struct Reserve {
    state: Arc<State>,
    threads: Vec<JoinHandle<()>>,
}

struct State {
    file: File,
    bytes: u64,
    mapped: Option<Mapped>,
    stop: AtomicBool,
    /// There are no more large pages.
    small: AtomicBool,
    progress: Mutex<Progress>,
    further: Condvar,
}

struct Progress {
    /// The first byte that nobody has begun with.
    next: u64,
    /// Where steps begin that are done, beyond what is reached.
    done: BTreeSet<u64>,
    /// How far there is room; nothing where there is no more.
    reached: Option<u64>,
}

/// What a place of a file has.
pub enum Room<'a> {
    /// All of it is there, in large pages for the most part.
    Mapped(&'a Mapped),
    Pages,
    No,
}

impl Reserve {
    /// For so many bytes of a file.
    pub fn begin(file: &File, bytes: u64) -> Result<Self> {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Self::with(file, bytes, processors >= PROCESSORS * THREADS)
    }

    fn with(file: &File, bytes: u64, large: bool) -> Result<Self> {
        let progress = Mutex::new(Progress { next: 0, done: BTreeSet::new(), reached: Some(0) });
        let mapped = if large && bytes >= STEP { Mapped::new(file, bytes) } else { None };
        let threads = if mapped.is_some() { THREADS } else { 1 };
        let (file, small) = (file.try_clone()?, AtomicBool::new(mapped.is_none()));
        let stop = AtomicBool::new(false);
        let state = Arc::new(State { file, bytes, mapped, stop, small, progress, further: Condvar::new() });
        let thread = |k| {
            let state = state.clone();
            std::thread::spawn(move || state.make(k == 0))
        };
        Ok(Self { threads: (0..threads).map(thread).collect(), state })
    }

    /// Waits until there is room before a byte of the file.
    pub fn until(&self, end: u64) -> Room<'_> {
        let state = &self.state;
        let wait = |p: &mut Progress| p.reached.is_some_and(|at| at < end);
        let progress = state.further.wait_while(state.progress(), wait).unwrap_or_else(PoisonError::into_inner);
        match (&state.mapped, progress.reached) {
            (_, None) => Room::No,
            (Some(mapped), _) if !state.small.load(Ordering::Relaxed) => Room::Mapped(mapped),
            _ => Room::Pages,
        }
    }
}

impl State {
    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Step after step; small pages are made by the first thread alone.
    fn make(&self, first: bool) {
        while !self.stop.load(Ordering::Relaxed) && (first || !self.small.load(Ordering::Relaxed)) {
            let at = {
                let mut progress = self.progress();
                let at = progress.next;
                if at >= self.bytes || progress.reached.is_none() {
                    return;
                }
                progress.next += STEP;
                at
            };
            let step = STEP.min(self.bytes - at);
            let room = self.large(at, step) || set_aside(&self.file, at, step).is_ok();
            self.progress().done(at, room, self.bytes);
            self.further.notify_all();
        }
    }

    /// A step in large pages; says no where it is not, or not all of it.
    fn large(&self, at: u64, step: u64) -> bool {
        let Some(mapped) = self.mapped.as_ref().filter(|_| !self.small.load(Ordering::Relaxed)) else { return false };
        let whole = step / LARGE * LARGE;
        let pages = (at..at + whole).step_by(LARGE as usize);
        let large = pages.map(|at| set_aside(&self.file, at, PAGE)).all(|done| done.is_ok()) && {
            whole == 0 || mapped.enlarge(at, whole)
        };
        if !large {
            self.small.store(true, Ordering::Relaxed);
        }
        large && whole == step
    }
}

impl Progress {
    /// A step has ended, with room or without.
    fn done(&mut self, at: u64, room: bool, bytes: u64) {
        let Some(mut reached) = self.reached.filter(|_| room) else {
            self.reached = None;
            return;
        };
        self.done.insert(at);
        while self.done.remove(&reached) {
            reached = (reached + STEP).min(bytes);
        }
        self.reached = Some(reached);
    }
}

impl Drop for Reserve {
    fn drop(&mut self) {
        self.state.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_ends_where_a_step_is_missing() {
        let bytes = 3 * STEP + 5;
        let mut progress = Progress { next: 0, done: BTreeSet::new(), reached: Some(0) };
        for (at, reached) in [(STEP, 0), (0, 2 * STEP), (3 * STEP, 2 * STEP), (2 * STEP, bytes)] {
            progress.done(at, true, bytes);
            assert_eq!(progress.reached, Some(reached));
        }
        progress.done(0, false, bytes);
        assert_eq!(progress.reached, None);
    }

    /// What a file holds stays as it is, and what is written comes to its place, in large pages or small ones.
    #[test]
    fn a_file_keeps_what_it_holds() {
        let folder = ["/dev/shm", "/tmp"].into_iter().find(|folder| std::path::Path::new(folder).is_dir());
        let file = tempfile::tempfile_in(folder.expect("a folder")).expect("a file");
        let bytes = STEP + 3 * LARGE + 77;
        for large in [true, false] {
            keeps(&file, bytes, large);
        }
    }

    fn keeps(file: &File, bytes: u64, large: bool) {
        use std::os::unix::fs::FileExt;
        file.set_len(0).expect("a length");
        file.set_len(bytes).expect("a length");
        let places = [0, LARGE - 1, 2 * LARGE + 4097, STEP, bytes - 1];
        places.iter().for_each(|&at| file.write_all_at(&[7], at).expect("written"));
        let room = Reserve::with(file, bytes, large).expect("threads");
        let part = [9; 1000];
        match room.until(bytes) {
            // SAFETY: the file is this test's.
            Room::Mapped(mapped) => unsafe { mapped.write(STEP - 500, &part) },
            Room::Pages => file.write_all_at(&part, STEP - 500).expect("written"),
            Room::No => panic!("there is room"),
        }
        drop(room);
        let mut seen = vec![0; bytes as usize];
        file.read_exact_at(&mut seen, 0).expect("read");
        let mut expected = vec![0; bytes as usize];
        places.iter().for_each(|&at| expected[at as usize] = 7);
        expected[STEP as usize - 500..][..1000].fill(9);
        assert!(seen == expected);
    }
}
