//! HDF5 files, folders of images and parameter files that are scans in part: whatever is in them, there is a volume or an error, no panic,
//! and no more memory than a small scan needs.

use crate::corpora::corpus::Random;
use crate::folder::Folder;
use crate::readers::{self, Choices};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Output};

/// Scans that are made of each kind; one after the other, the same each time.
const SCANS: usize = 300;

/// Bytes that each is made from.
const BYTES: usize = 600;

/// What the command may have of address space, in KiB: threads, libraries and what it may take by `--memory`; and seconds of processors.
const SPACE: usize = 4 << 20;
const SECONDS: usize = 60;

fn bytes(random: &mut Random) -> Vec<u8> {
    // None is the usual choice.
    (0..BYTES).map(|_| if random.below(2) == 0 { 0 } else { random.below(256) as u8 }).collect()
}

fn one<T: Copy>(random: &mut Random, of: &[T]) -> T {
    of[random.below(of.len())]
}

fn isocenter(folder: &Folder, words: &[&str]) -> Output {
    let limited = format!("ulimit -v {SPACE} -t {SECONDS}; exec \"$@\"");
    let mut command = Command::new("sh");
    command.args(["-c", &limited, "sh", env!("CARGO_BIN_EXE_isocenter")]).args(words);
    command.current_dir(&folder.0).output().expect("the command runs")
}

/// Makes scans as random bytes say, looks at them and reconstructs them.
fn scans(name: &str, make: impl Fn(&mut Choices, &Path) -> std::path::PathBuf) {
    let folder = Folder::new(name);
    let mut random = Random(1);
    let options: [&[&str]; 16] = [
        &[],
        &[],
        &["--sinograms"],
        &["--input", "transmission"],
        &["--input", "transmission", "--full-beam", "9000"],
        &["--input", "line-integrals"],
        &["--nan", "replace"],
        &["--bad-pixels"],
        &["--bad-pixels", "--nan", "replace", "--median-flats"],
        &["--rows", "0..1"],
        &["--outliers"],
        &["--angles", "0..360", "--half-acquisition", "on"],
        &["--eigenflats", "1"],
        &["--depth", "u8"],
        &["--phase", "--phase-length", "30", "--pixel", "0.001"],
        &["--stripes", "vo", "--padding", "edge"],
    ];
    let (mut made, mut refused) = (0, 0);
    for number in 0..SCANS {
        let bytes = bytes(&mut random);
        let scan = make(&mut Choices::new(&bytes), &folder.0);
        let scan = scan.to_string_lossy().into_owned();
        let more = one(&mut random, &options);
        let axis: &[&str] = if random.below(2) == 0 { &["--axis", "7.3"] } else { &[] };
        for words in [
            &["inspect", &scan],
            &[&["recon", &scan, "--device", "cpu", "--memory", "1G", "--threads", "2", "-o", "v.h5"], axis, more]
                .concat()[..],
        ] {
            let output = isocenter(&folder, words);
            let told = String::from_utf8_lossy(&output.stderr);
            // Two are of options, which parameter files have, too.
            let ended = matches!(output.status.code(), Some(0..=5)) && !told.contains("panicked");
            assert!(
                ended,
                "scan {number}, {words:?}: {:?}, {:?}: {told}",
                output.status.code(),
                output.status.signal()
            );
            assert!(!told.contains("H5D"), "scan {number}, {words:?}: {told}");
            assert!(output.status.success() || told.contains("error: "), "scan {number}, {words:?}: {told}");
            if words[0] == "recon" {
                *(if output.status.success() { &mut made } else { &mut refused }) += 1;
            }
        }
    }
    // Both happen.
    assert!(made > SCANS / 20 && refused > SCANS / 5, "{made} made, {refused} refused");
}

#[test]
fn whatever_a_file_holds() {
    scans("random-hdf5", |choices, folder| {
        let path = folder.join("scan.h5");
        readers::hdf5::write(choices, &path);
        path
    });
}

#[test]
fn whatever_a_folder_holds() {
    scans("random-folder", |choices, folder| readers::folder::make(choices, &folder.join("scan")));
}
