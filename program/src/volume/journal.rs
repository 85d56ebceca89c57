//! What is on disk of a volume that is not finished: so that a run that ended early goes on where it was.

use anyhow::{Context, Result, bail};
use std::collections::BTreeSet;
use std::fs::{File, TryLockError};
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

/// A file of lines: the plan's digest, then a line for each block of slices, after the block is on disk. Each process that makes blocks has
/// its own: one that leads, and beside it those of the others.
pub struct Journal {
    file: File,
    path: PathBuf,
    done: BTreeSet<usize>,
}

const FORMAT: &str = "isocenter journal 1";

/// The journal that leads, of a volume that is called so until it is finished.
fn leading(unfinished: &Path) -> PathBuf {
    unfinished.with_added_extension("journal")
}

/// All journals of a volume.
fn all(unfinished: &Path) -> Result<Vec<PathBuf>> {
    let first = leading(unfinished);
    let folder = first.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = first.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))? {
        let other = entry?.file_name();
        let number =
            other.to_str().and_then(|other| other.strip_prefix(&name)?.strip_prefix('.')?.parse::<usize>().ok());
        if number.is_some() {
            found.push(first.with_file_name(other));
        }
    }
    found.push(first);
    Ok(found)
}

/// An error unless a volume has begun by this plan.
pub fn begun(unfinished: &Path, plan: &str) -> Result<()> {
    let path = leading(unfinished);
    let text = std::fs::read_to_string(&path).with_context(|| format!("{} has not begun", unfinished.display()))?;
    if text.lines().next() != Some(&head(plan)) {
        bail!("{} is of another plan", path.display());
    }
    Ok(())
}

/// Blocks that are on disk, by all journals of a volume.
pub fn done(unfinished: &Path, plan: &str) -> Result<BTreeSet<usize>> {
    let mut done = BTreeSet::new();
    for path in all(unfinished)? {
        match std::fs::read_to_string(&path) {
            // Without a whole line there is no block.
            Ok(text) => done.extend(blocks(&path, &text, plan)?),
            Err(e) if e.kind() == ErrorKind::NotFound => {}
            Err(e) => return Err(e).with_context(|| format!("reading {}", path.display())),
        }
    }
    Ok(done)
}

/// Says that one process finishes the volume, when all blocks are done: to the first that asks.
pub fn claim(unfinished: &Path) -> Result<bool> {
    let path = claimed(unfinished);
    match File::create_new(&path) {
        Ok(_) => Ok(true),
        Err(e) if e.kind() == ErrorKind::AlreadyExists => Ok(false),
        Err(e) => Err(e).with_context(|| format!("making {}", path.display())),
    }
}

fn claimed(unfinished: &Path) -> PathBuf {
    leading(unfinished).with_added_extension("finishing")
}

/// Removes all journals of a volume, that which leads at last.
pub fn remove(unfinished: &Path) -> Result<()> {
    for path in std::iter::once(claimed(unfinished)).chain(all(unfinished)?) {
        match std::fs::remove_file(&path) {
            Err(e) if e.kind() != ErrorKind::NotFound => {
                return Err(e).with_context(|| format!("removing {}", path.display()));
            }
            _ => {}
        }
    }
    Ok(())
}

/// The first line.
fn head(plan: &str) -> String {
    format!("{FORMAT} {:016x}", digest(plan))
}

/// Blocks of which the text of a journal tells. A line that was cut off is of a block that is done again.
fn blocks(path: &Path, text: &str, plan: &str) -> Result<BTreeSet<usize>> {
    let mut lines = text[..text.rfind('\n').map_or(0, |at| at + 1)].lines();
    let first = lines.next();
    let done: BTreeSet<_> = lines.filter_map(|line| line.strip_prefix("block ")?.parse().ok()).collect();
    if first.is_some_and(|line| line != head(plan)) && !done.is_empty() {
        bail!(
            "{} is of another plan: finish that run with its own plan, or remove the file to begin again",
            path.display()
        );
    }
    Ok(done)
}

impl Journal {
    /// The journal that leads: begins one, or goes on with those of an earlier run of the same plan. No other process may have one open.
    pub fn lead(unfinished: &Path, plan: &str) -> Result<Self> {
        for path in all(unfinished)? {
            if let Ok(file) = File::open(&path) {
                lock(&file, &path)?;
            }
        }
        let mut journal = Self::open(&leading(unfinished), plan)?;
        journal.done = done(unfinished, plan)?;
        Ok(journal)
    }

    /// The journal of another process of the same run.
    pub fn follow(unfinished: &Path, plan: &str, number: usize) -> Result<Self> {
        Self::open(&leading(unfinished).with_added_extension(number.to_string()), plan)
    }

    fn open(path: &Path, plan: &str) -> Result<Self> {
        let shown = path.display();
        let file = File::options().read(true).append(true).create(true).open(path);
        let mut file = file.with_context(|| format!("opening {shown}"))?;
        lock(&file, path)?;
        let mut text = String::new();
        file.read_to_string(&mut text).with_context(|| format!("reading {shown}"))?;
        let done = blocks(path, &text, plan)?;
        let written = if done.is_empty() {
            // One of which nothing is finished begins anew, whatever its plan was.
            file.set_len(0).and_then(|()| writeln!(file, "{}", head(plan))).and_then(|()| file.sync_data())
        } else {
            file.set_len(text.rfind('\n').map_or(0, |at| at as u64 + 1))
        };
        written.with_context(|| format!("writing {shown}"))?;
        Ok(Self { file, path: path.to_owned(), done })
    }

    /// Blocks that are on disk.
    pub fn done(&self) -> &BTreeSet<usize> {
        &self.done
    }

    /// Notes a block, which is on disk.
    pub fn note(&mut self, block: usize) -> Result<()> {
        writeln!(self.file, "block {block}")
            .and_then(|()| self.file.sync_data())
            .with_context(|| format!("writing {}", self.path.display()))?;
        self.done.insert(block);
        Ok(())
    }
}

/// No other process may have the file; file systems without locks are taken at their word.
fn lock(file: &File, path: &Path) -> Result<()> {
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => bail!("{} is in use: another run writes this volume", path.display()),
        Ok(()) | Err(TryLockError::Error(_)) => Ok(()),
    }
}

/// Fowler, Noll and Vo's hash: plans differ by accident, not on purpose.
pub fn digest(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(journal: &Journal) -> Vec<usize> {
        journal.done().iter().copied().collect()
    }

    #[test]
    fn a_journal_goes_on() {
        let folder = tempfile::tempdir().expect("a folder");
        let volume = folder.path().join("volume.unfinished");
        let mut journal = Journal::lead(&volume, "a plan").expect("a journal");
        assert!(Journal::lead(&volume, "a plan").is_err_and(|e| e.to_string().contains("in use")));
        let mut other = Journal::follow(&volume, "a plan", 2).expect("another");
        for block in [0, 3] {
            journal.note(block).expect("noted");
        }
        other.note(5).expect("noted");
        drop(journal);
        // Of that of the other process as well.
        assert!(Journal::lead(&volume, "a plan").is_err_and(|e| e.to_string().contains("in use")));
        drop(other);
        // As if the machine had gone down in the middle of a line.
        let path = leading(&volume);
        std::fs::write(&path, std::fs::read_to_string(&path).expect("text") + "block 1").expect("written");
        let mut journal = Journal::lead(&volume, "a plan").expect("a journal");
        assert_eq!(held(&journal), [0, 3, 5]);
        journal.note(2).expect("noted");
        drop(journal);
        let journal = Journal::lead(&volume, "a plan").expect("a journal");
        assert_eq!(held(&journal), [0, 2, 3, 5]);
        drop(journal);
        assert!(Journal::lead(&volume, "another").is_err_and(|e| e.to_string().contains("another plan")));
        remove(&volume).expect("removed");
        assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 0);
    }

    #[test]
    fn one_without_blocks_begins_anew() {
        let folder = tempfile::tempdir().expect("a folder");
        let volume = folder.path().join("volume.unfinished");
        drop(Journal::lead(&volume, "a plan").expect("a journal"));
        let mut journal = Journal::lead(&volume, "another").expect("a journal");
        journal.note(1).expect("noted");
        drop(journal);
        assert_eq!(done(&volume, "another").expect("blocks").len(), 1);
        assert!(done(&volume, "a plan").is_err());
    }
}
