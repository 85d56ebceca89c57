//! What is asked of file systems.

use anyhow::{Context, Result};
use rustix::fs::{FallocateFlags, fallocate, statvfs};
use rustix::io::Errno;
use std::fs::File;
use std::path::Path;

/// Bytes that may be written to a folder.
pub fn free(folder: &Path) -> Result<u64> {
    let about = statvfs(folder).with_context(|| format!("looking at {}", folder.display()))?;
    Ok(about.f_bavail.saturating_mul(about.f_frsize))
}

/// Has a part of a file set aside, where a file system can do that.
pub fn set_aside(file: &File, at: u64, bytes: u64) -> std::io::Result<()> {
    match fallocate(file, FallocateFlags::empty(), at, bytes) {
        Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => Ok(()),
        done => Ok(done?),
    }
}

/// Whether a file is on a file system in memory.
#[cfg(target_os = "linux")]
pub fn in_memory(file: &File) -> bool {
    rustix::fs::fstatfs(file).is_ok_and(|about| about.f_type == libc::TMPFS_MAGIC)
}

#[cfg(not(target_os = "linux"))]
pub fn in_memory(_: &File) -> bool {
    false
}

/// Whether a file is on a disk of this machine, as far as that is known.
#[cfg(target_os = "linux")]
pub fn on_local_disk(file: &File) -> bool {
    rustix::fs::fstatfs(file).is_ok_and(|about| [libc::EXT4_SUPER_MAGIC, libc::XFS_SUPER_MAGIC].contains(&about.f_type))
}

#[cfg(not(target_os = "linux"))]
pub fn on_local_disk(_: &File) -> bool {
    false
}
