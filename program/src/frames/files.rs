//! Many files: open as long as there is room for open files, others while they are read.

use anyhow::{Context, Result};
use std::fs::File;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Open files that are left to others: volumes, libraries, devices of GPUs.
const OTHERS: usize = 256;

/// How many more files may stay open.
fn room() -> &'static AtomicUsize {
    static ROOM: OnceLock<AtomicUsize> = OnceLock::new();
    ROOM.get_or_init(|| AtomicUsize::new(limit().saturating_sub(OTHERS)))
}

/// Files that this process may have open, after it has asked for as many as it can have.
fn limit() -> usize {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: there is room for the answer.
    if unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) } != 0 {
        return 0;
    }
    let wanted = libc::rlimit { rlim_cur: limit.rlim_max, ..limit };
    // SAFETY: a limit that the call reads.
    if unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &wanted) } == 0 {
        limit = wanted;
    }
    usize::try_from(limit.rlim_cur).unwrap_or(usize::MAX)
}

/// Has the system let this process open as many files as it can have.
pub fn as_many_as_can_be() {
    room();
}

/// Takes one of what may stay open.
fn take() -> bool {
    room().fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok()
}

/// One of many.
struct Entry {
    path: PathBuf,
    open: OnceLock<File>,
}

/// Files by their numbers.
pub struct Files(Vec<Entry>);

impl Files {
    pub fn new(paths: impl IntoIterator<Item = PathBuf>) -> Self {
        Self(paths.into_iter().map(|path| Entry { path, open: OnceLock::new() }).collect())
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Works with one of them; errors have its name.
    pub fn with<T>(&self, k: usize, work: impl FnOnce(&File) -> Result<T>) -> Result<T> {
        let Entry { path, open } = &self.0[k];
        let told = || path.display().to_string();
        if let Some(file) = open.get() {
            return work(file).with_context(told);
        }
        let file = File::open(path).with_context(|| format!("opening {}", path.display()))?;
        if !take() {
            return work(&file).with_context(told);
        }
        if open.set(file).is_err() {
            // Another thread was quicker.
            room().fetch_add(1, Ordering::Relaxed);
        }
        match open.get() {
            Some(file) => work(file).with_context(told),
            None => unreachable!("it was set above"),
        }
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        let open = self.0.iter().filter(|entry| entry.open.get().is_some()).count();
        room().fetch_add(open, Ordering::Relaxed);
    }
}
