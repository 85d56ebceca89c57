//! Writing to a disk without a copy in the page cache, which would take as long as a processor needs for a share of the slices, and leave
//! the page cache full of what nobody reads soon.

use std::fs::File;
use std::io::Result;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Bytes of a page, of which memory and file must have whole ones.
pub const PAGE: usize = 4096;

/// A file that is open for it.
pub struct Direct(File);

impl Direct {
    /// On file systems of which it is known that they are quicker so.
    #[cfg(target_os = "linux")]
    pub fn open(path: &Path) -> Option<Self> {
        use std::os::unix::fs::OpenOptionsExt;
        let file = File::options().write(true).custom_flags(libc::O_DIRECT).open(path).ok()?;
        crate::disk::on_local_disk(&file).then_some(Self(file))
    }

    #[cfg(not(target_os = "linux"))]
    pub fn open(_: &Path) -> Option<Self> {
        None
    }

    /// Writes whole pages.
    pub fn write(&self, pages: &[u8], at: u64) -> Result<()> {
        self.0.write_all_at(pages, at)
    }
}

/// Which of the bytes that belong to a place of a file are whole pages of it; nothing where memory lies otherwise.
pub fn pages(bytes: &[u8], at: u64) -> Option<Range<usize>> {
    let page = PAGE as u64;
    let lead = (at.next_multiple_of(page) - at) as usize;
    let end = lead + bytes.len().checked_sub(lead)? / PAGE * PAGE;
    (lead < end && (bytes.as_ptr().addr() + lead).is_multiple_of(PAGE)).then_some(lead..end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_memory_and_file() {
        let memory = vec![0u8; 5 * PAGE];
        let first = memory.as_ptr().align_offset(PAGE);
        for (start, length, at, expected) in [
            (0, 2 * PAGE, 0, Some(0..2 * PAGE)),
            (0, 2 * PAGE + 7, 8 * PAGE as u64, Some(0..2 * PAGE)),
            (96, 2 * PAGE, 96, Some(PAGE - 96..2 * PAGE - 96)),
            (96, PAGE, 96, None),
            (0, 2 * PAGE, 96, None),
            (0, 10, 0, None),
            (PAGE - 1, 3, PAGE as u64 - 1, None),
        ] {
            let found = pages(&memory[first + start..][..length], at);
            assert_eq!(found, expected, "{length} bytes at {at}");
        }
    }
}
