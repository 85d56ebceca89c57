//! Volumes that are folders of many files.

use super::disk::{ending, parent, rename, sync_folder};
use crate::disk::in_memory;
use anyhow::{Context, Result, bail};
use rayon::prelude::*;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{IoSlice, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// A folder whose files are written whole.
pub struct Folder {
    path: PathBuf,
    in_memory: bool,
    /// Written, and perhaps not on disk.
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    files: Vec<PathBuf>,
    /// That have new names in them; those inside others come behind them.
    folders: BTreeSet<PathBuf>,
}

impl Folder {
    /// An empty one, in place of what an earlier run has left.
    pub fn create(path: &Path) -> Result<Self> {
        remove(path)?;
        std::fs::create_dir(path)?;
        sync_folder(parent(path))?;
        Ok(Self::open(path))
    }

    /// One that is there.
    pub fn open(path: &Path) -> Self {
        let in_memory = File::open(path).is_ok_and(|folder| in_memory(&folder));
        Self { path: path.to_owned(), in_memory, open: Mutex::default() }
    }

    /// Whether writing may wait for a disk.
    pub fn waits(&self) -> bool {
        !self.in_memory
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Writes a file that consists of these parts.
    pub fn write(&self, name: &str, parts: &[&[u8]]) -> Result<()> {
        let path = self.path(name);
        let written = self.file(&path, parts);
        written.with_context(|| format!("writing {}", path.display()))?;
        let mut open = self.open.lock().unwrap_or_else(|e| e.into_inner());
        let inside = path.ancestors().skip(1).take_while(|folder| folder.starts_with(&self.path));
        for folder in inside {
            if !open.folders.contains(folder) {
                open.folders.insert(folder.to_owned());
            }
        }
        open.files.push(path);
        Ok(())
    }

    fn file(&self, path: &Path, parts: &[&[u8]]) -> std::io::Result<()> {
        let mut file = match File::create(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                std::fs::create_dir_all(parent(path))?;
                File::create(path)?
            }
            file => file?,
        };
        let mut parts: Vec<_> = parts.iter().map(|part| IoSlice::new(part)).collect();
        let mut parts = parts.as_mut_slice();
        IoSlice::advance_slices(&mut parts, 0);
        while !parts.is_empty() {
            let written = file.write_vectored(parts)?;
            if written == 0 {
                return Err(std::io::ErrorKind::WriteZero.into());
            }
            IoSlice::advance_slices(&mut parts, written);
        }
        Ok(())
    }

    /// Has all that was written on disk.
    pub fn sync(&self) -> Result<()> {
        let Open { files, folders } = std::mem::take(&mut *self.open.lock().unwrap_or_else(|e| e.into_inner()));
        let sync = |path: &PathBuf| {
            let synced = File::open(path).and_then(|file| file.sync_all());
            synced.with_context(|| format!("writing {}", path.display()))
        };
        files.par_iter().try_for_each(sync)?;
        folders.iter().rev().try_for_each(|folder| sync_folder(folder))
    }

    /// Gives the folder its name. One that has it, and is a volume, goes: not before this one is whole, and by another name first, so that
    /// none of the two is ever there in part under that name.
    pub fn finish(&self, to: &Path, ours: impl Fn(&str) -> bool) -> Result<()> {
        self.sync()?;
        replaceable(to, ours)?;
        let old = ending(to, ".replaced");
        if to.exists() {
            remove(&old)?;
            rename(to, &old)?;
        }
        rename(&self.path, to)?;
        remove(&old)
    }
}

fn remove(path: &Path) -> Result<()> {
    match std::fs::remove_dir_all(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        done => done.with_context(|| format!("removing {}", path.display())),
    }
}

/// That a folder may be replaced: there is none, or nothing in it but what a volume consists of.
pub fn replaceable(path: &Path, ours: impl Fn(&str) -> bool) -> Result<()> {
    let entries = match std::fs::read_dir(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        entries => entries.with_context(|| format!("{} is to be a folder", path.display()))?,
    };
    for entry in entries {
        let entry = entry.with_context(|| format!("reading {}", path.display()))?;
        let (name, plain) = (entry.file_name(), entry.file_type().is_ok_and(|kind| kind.is_file() || kind.is_dir()));
        if !plain || !name.to_str().is_some_and(&ours) {
            bail!("{} has {} in it, which is no part of a volume: it is not replaced", path.display(), name.display());
        }
    }
    Ok(())
}
