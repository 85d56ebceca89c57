//! What has a name that a run would write to, and is no regular file.

use crate::folder::Folder;
use crate::scans::*;
use std::os::unix::fs::{FileTypeExt, symlink};
use std::os::unix::net::UnixListener;

/// Every kind of output, and every file beside it, by a pipe, a socket, a link, a dangling link and a link to a folder.
#[test]
fn only_files_and_volumes_are_replaced() {
    let folder = Folder::new("outputs");
    nxtomo(folder.path("scan.nx"), &half_turn(VIEWS), &[0]);
    std::fs::write(folder.path("target"), "before").expect("a file");
    std::fs::create_dir(folder.path("folder")).expect("a folder");
    let run = |output: &str| isocenter(&folder, &[&["recon", "scan.nx"], &RUN[..], &[output]].concat());
    for (output, taken) in [
        ("v.h5", "v.h5"),
        ("v.tif", "v.tif"),
        ("v.raw", "v.raw"),
        ("v.raw", "v.raw.info"),
        ("v.raw", "v.raw.unfinished.range"),
        ("v.zarr", "v.zarr"),
        ("slices/", "slices"),
        ("v.h5", "v.html"),
        ("v.h5", "v.toml"),
        ("v.h5", "v.h5.unfinished"),
        ("v.h5", "v.h5.unfinished.journal"),
    ] {
        for (kind, word) in [
            ("pipe", "a pipe"),
            ("socket", "a socket"),
            ("link", "symbolic link to target"),
            ("dangling", "symbolic link to nowhere, which is not there"),
            ("folder", "symbolic link to folder"),
        ] {
            let path = folder.path(taken);
            let mut listener = None;
            match kind {
                "pipe" => pipe(&path),
                "socket" => listener = Some(UnixListener::bind(&path).expect("a socket")),
                "link" => symlink("target", &path).expect("a link"),
                "dangling" => symlink("nowhere", &path).expect("a link"),
                _ => symlink("folder", &path).expect("a link"),
            }
            let before = path.symlink_metadata().expect("it is there").file_type();
            let done = run(output);
            let told = String::from_utf8_lossy(&done.stderr);
            assert!(!done.status.success() && told.contains(word), "{output}, {taken} is a {kind}: {told}");
            assert!(told.contains(taken), "{output}, {taken}: {told}");
            let after = path.symlink_metadata().expect("it is still there").file_type();
            assert!(before == after && (after.is_symlink() || after.is_fifo() || after.is_socket()), "{taken}, {kind}");
            drop(listener);
            std::fs::remove_file(&path).expect("removed");
        }
        // Nothing but what the test made is there.
        assert_eq!(std::fs::read_dir(&folder.0).expect("a folder").count(), 3, "{output}, {taken}");
    }
    assert_eq!(std::fs::read(folder.path("target")).expect("a file"), b"before");
    // The report's and the plan's own names.
    for name in ["v.html", "v.toml"] {
        assert!(String::from_utf8_lossy(&run(name).stderr).contains("another name"), "{name}");
    }
    // A regular file is replaced, as before, and so is a folder of slices.
    std::fs::write(folder.path("v.h5"), "before").expect("a file");
    for name in ["v.h5", "slices/", "slices/"] {
        assert!(run(name).status.success(), "{name}");
    }
    assert!(std::fs::metadata(folder.path("v.h5")).expect("a volume").len() > 1000);
}

fn pipe(path: &std::path::Path) {
    rustix::fs::mkfifoat(rustix::fs::CWD, path, rustix::fs::Mode::RWXU).expect("a pipe");
}
