//! Room for volumes, names that change at once, folders that are on disk.

use crate::disk::{free, in_memory, set_aside};
use crate::names;
use crate::status::Full;
use anyhow::{Context, Result, bail};
use rustix::io::Errno;
use std::fs::File;
use std::path::{Path, PathBuf};

/// The folder that a file is in.
pub fn parent(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// That so many bytes more fit on the file system of a folder.
pub fn room(folder: &Path, bytes: u64) -> Result<()> {
    let free = free(folder)?;
    if free < bytes {
        let [bytes, free] = [bytes, free].map(|bytes| bytes as f64 / 1e9);
        bail!(Full(format!("{}: the volume takes {bytes:.2} GB, {free:.2} GB are free", folder.display())));
    }
    Ok(())
}

/// Has a file's bytes up to this one set aside, so that a disk that is too small is found before the work.
pub fn reserve(file: &File, path: &Path, end: u64) -> Result<()> {
    let shown = || format!("setting {:.2} GB aside for {}", end as f64 / 1e9, path.display());
    if file.metadata().with_context(shown)?.len() < end {
        file.set_len(end).with_context(shown)?;
    }
    // In memory this would be a pass over all pages.
    if end == 0 || in_memory(file) {
        return Ok(());
    }
    set_aside(file, 0, end).with_context(shown)
}

/// Has names in a folder on disk.
pub fn sync_folder(folder: &Path) -> Result<()> {
    let synced = File::open(folder).and_then(|folder| folder.sync_all());
    match synced {
        // Some file systems have nothing to be asked.
        Err(error) if matches!(Errno::from_io_error(&error), Some(Errno::INVAL | Errno::OPNOTSUPP | Errno::BADF)) => {
            Ok(())
        }
        done => done.with_context(|| format!("writing {}", folder.display())),
    }
}

/// Gives a file its name, in place of one that has it.
pub fn rename(from: &Path, to: &Path) -> Result<()> {
    if from.is_dir() {
        names::folder(to)?
    } else {
        names::file(to)?
    }
    std::fs::rename(from, to).with_context(|| format!("naming {}", to.display()))?;
    sync_folder(parent(to))
}

/// Writes a small file whole, or leaves what is there.
pub fn replace_file(path: &Path, text: &[u8]) -> Result<()> {
    let new = ending(path, ".new");
    names::file(&new)?;
    let write = || -> std::io::Result<()> {
        use std::io::Write;
        let mut file = File::create(&new)?;
        file.write_all(text)?;
        file.sync_all()
    };
    write().with_context(|| format!("writing {}", new.display()))?;
    rename(&new, path)
}

/// The same name with more at its end, without a slash there.
pub fn ending(path: &Path, more: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(more);
    path.with_file_name(name)
}
