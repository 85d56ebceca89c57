//! What is on disk of a volume that is not finished: so that a run that ended early goes on where it was.

use anyhow::{Context, Result, bail};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

/// A file of lines: the plan's digest, then a line for each block of slices, after the block is on disk.
pub struct Journal {
    file: File,
    path: PathBuf,
    done: BTreeSet<usize>,
}

const FORMAT: &str = "isocenter journal 1";

impl Journal {
    /// Begins one, or goes on with that of an earlier run of the same plan. No other process may have it open.
    pub fn open(path: &Path, plan: &str) -> Result<Self> {
        let shown = path.display();
        let file = File::options().read(true).append(true).create(true).open(path);
        let mut file = file.with_context(|| format!("opening {shown}"))?;
        if file.try_lock().is_err() {
            bail!("{shown} is in use: another run writes this volume");
        }
        let mut text = String::new();
        file.read_to_string(&mut text).with_context(|| format!("reading {shown}"))?;
        // A line that was cut off is of a block that is done again.
        let whole = text.rfind('\n').map_or(0, |at| at + 1);
        if whole < text.len() {
            file.set_len(whole as u64).with_context(|| format!("writing {shown}"))?;
            text.truncate(whole);
        }
        let head = format!("{FORMAT} {:016x}", digest(plan));
        let mut lines = text.lines();
        match lines.next() {
            None => {
                writeln!(file, "{head}").and_then(|()| file.sync_data()).with_context(|| format!("writing {shown}"))?;
            }
            Some(line) if line == head => {}
            Some(_) => bail!(
                "{shown} is of another plan: finish that run with its own plan, or remove the file to begin again"
            ),
        }
        let done = lines.filter_map(|line| line.strip_prefix("block ")?.parse().ok()).collect();
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

    /// Removes the file.
    pub fn remove(self) -> Result<()> {
        std::fs::remove_file(&self.path).with_context(|| format!("removing {}", self.path.display()))
    }
}

/// Fowler, Noll and Vo's hash: plans differ by accident, not on purpose.
fn digest(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_journal_goes_on() {
        let path = std::env::temp_dir().join(format!("isocenter-journal-{}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        let mut journal = Journal::open(&path, "a plan").expect("a journal");
        assert!(Journal::open(&path, "a plan").is_err_and(|e| e.to_string().contains("in use")));
        for block in [0, 3] {
            journal.note(block).expect("noted");
        }
        drop(journal);
        // As if the machine had gone down in the middle of a line.
        std::fs::write(&path, std::fs::read_to_string(&path).expect("text") + "block 1").expect("written");
        let mut journal = Journal::open(&path, "a plan").expect("a journal");
        assert_eq!(journal.done().iter().copied().collect::<Vec<_>>(), [0, 3]);
        journal.note(2).expect("noted");
        drop(journal);
        let journal = Journal::open(&path, "a plan").expect("a journal");
        assert_eq!(journal.done().iter().copied().collect::<Vec<_>>(), [0, 2, 3]);
        drop(journal);
        assert!(Journal::open(&path, "another").is_err_and(|e| e.to_string().contains("another plan")));
        Journal::open(&path, "a plan").expect("a journal").remove().expect("removed");
        assert!(!path.exists());
    }
}
