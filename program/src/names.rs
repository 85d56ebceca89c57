//! Names of what is written, and what may already have them.

use anyhow::{Context, Result, bail, ensure};
use std::fs::FileType;
use std::io::ErrorKind;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

/// That a file may have a name: it is free, or a regular file has it. What is anything else is neither replaced nor written to: as root, as in
/// containers, a device would be gone for all of the machine, and what a link leads to is perhaps in use elsewhere.
pub fn file(path: &Path) -> Result<()> {
    let shown = path.display();
    let kind = match std::fs::symlink_metadata(path) {
        Ok(about) => about.file_type(),
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error).with_context(|| format!("looking at {shown}")),
    };
    if kind.is_symlink() {
        linked(path)?;
    }
    ensure!(!kind.is_dir(), "{shown} is a folder, where a file is to be written");
    ensure!(kind.is_file(), "{shown} is {}, which is not replaced: another name is needed", special(kind));
    Ok(())
}

/// That a folder may have a name: it is free, or a folder has it.
pub fn folder(path: &Path) -> Result<()> {
    match std::fs::symlink_metadata(path) {
        Ok(about) if about.is_symlink() => linked(path),
        Ok(about) if !about.is_dir() => {
            bail!("{} is to be a folder, and is {}", path.display(), special(about.file_type()))
        }
        _ => Ok(()),
    }
}

/// The error of a symbolic link.
fn linked(path: &Path) -> Result<()> {
    let shown = path.display();
    let target = std::fs::read_link(path).with_context(|| format!("reading the link {shown}"))?;
    let gone = if path.exists() { "" } else { ", which is not there" };
    bail!("{shown} is a symbolic link to {}{gone}; it is not replaced: name the place itself", target.display());
}

/// What is no regular file, in words.
fn special(kind: FileType) -> &'static str {
    match () {
        () if kind.is_file() => "a file",
        () if kind.is_block_device() || kind.is_char_device() => "a device",
        () if kind.is_fifo() => "a pipe",
        () if kind.is_socket() => "a socket",
        () => "no regular file",
    }
}

/// Writes a file, in place of a regular one that has the name.
pub fn write(path: &Path, text: impl AsRef<[u8]>) -> Result<()> {
    file(path)?;
    std::fs::write(path, text).with_context(|| format!("writing {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;

    /// Nothing but regular files is replaced, nor written to.
    #[test]
    fn what_is_replaced() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path("file"), "before").expect("a file");
        std::os::unix::fs::symlink("file", path("link")).expect("a link");
        std::os::unix::fs::symlink("nowhere", path("dangling")).expect("a link");
        let _listener = UnixListener::bind(path("socket")).expect("a socket");
        rustix::fs::mkfifoat(rustix::fs::CWD, path("pipe"), rustix::fs::Mode::RWXU).expect("a pipe");
        std::fs::create_dir(path("folder")).expect("a folder");
        for (name, word) in [
            ("link", "symbolic link to file; it"),
            ("dangling", "nowhere, which is not there"),
            ("socket", "a socket"),
            ("pipe", "a pipe"),
            ("folder", "a folder"),
        ] {
            let error = write(&path(name), "after").expect_err("an error").to_string();
            assert!(error.contains(word), "{name}: {error}");
        }
        assert!(file(Path::new("/dev/null")).is_err_and(|e| e.to_string().contains("a device")));
        assert_eq!(std::fs::read(path("file")).expect("a file"), b"before");
        write(&path("file"), "after").expect("written");
        write(&path("new"), "after").expect("written");
        for (name, fits) in [("folder", true), ("none", true), ("file", false), ("link", false), ("socket", false)] {
            assert_eq!(super::folder(&path(name)).is_ok(), fits, "{name}");
        }
    }
}
