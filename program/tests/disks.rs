//! Runs whose disk fills, that are killed, or that find something in their way: the command itself, with a scan of many small slices in small
//! blocks.

mod folder;
mod readers;

use folder::Folder;
use hdf5_metno::File;
use readers::read;
use std::f64::consts::PI;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

/// In blocks of 8, at multiples of which the library's sums are in the same order wherever a run begins.
const ROWS: usize = 480;
const BINS: usize = 48;
const VIEWS: usize = 15;
/// A name of each kind.
const NAMES: [&str; 5] = ["v.h5", "v.tif", "v/", "v.vol", "v.zarr"];

/// A rod, in a Data Exchange file of line integrals.
fn scan(path: &Path) {
    let value = |k: usize| {
        let (view, row, bin) = (k / (ROWS * BINS), k / BINS % ROWS, (k % BINS) as f64);
        let s = bin - 23.5 - 9.0 * (PI * view as f64 / VIEWS as f64).cos();
        ((-s * s / 30.0).exp() * (1.0 + row as f64 / 250.0) + (k % 7) as f64 * 1e-3) as f32
    };
    let values: Vec<f32> = (0..VIEWS * ROWS * BINS).map(value).collect();
    let file = File::create(path).expect("a file");
    let exchange = file.create_group("exchange").expect("a group");
    let data = exchange.new_dataset::<f32>().shape([VIEWS, ROWS, BINS]).create("data").expect("a dataset");
    data.write_raw(&values).expect("values");
}

/// A plan in small blocks.
fn plan(folder: &Folder, output: &str) {
    let text = format!(
        "scan = \"scan.h5\"\noutput = \"{output}\"\naxis = 23.5\nrows = [0, {ROWS}]\nblock = 8\n[steps.stripes]\nmethod = \"off\"\n"
    );
    std::fs::write(folder.path("plan.toml"), text).expect("a plan");
}

const REPEAT: [&str; 6] = ["repeat", "plan.toml", "--device", "cpu", "--threads", "1"];

fn command(folder: &Folder, before: &[&str]) -> Command {
    let words: Vec<&str> = before.iter().copied().chain([env!("CARGO_BIN_EXE_isocenter")]).chain(REPEAT).collect();
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).current_dir(&folder.0).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn run(folder: &Folder) -> Output {
    command(folder, &[]).output().expect("the command runs")
}

fn succeeds(folder: &Folder) -> String {
    let output = run(folder);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// What `NAME` is called in the meantime.
fn meantime(folder: &Folder, name: &str, more: &str) -> std::path::PathBuf {
    folder.path(&format!("{}.unfinished{more}", name.trim_end_matches('/')))
}

/// Begins a run, and waits until some more blocks are on disk.
fn begun(folder: &Folder, name: &str) -> Child {
    let journal = meantime(folder, name, ".journal");
    let noted = || std::fs::read_to_string(&journal).map_or(0, |text| text.matches("block").count());
    let before = noted();
    let mut run = command(folder, &[]).spawn().expect("the command runs");
    while noted() < before + 3 && run.try_wait().expect("a child").is_none() {
        std::thread::yield_now();
    }
    run
}

fn told(program: &str, words: &[&str]) {
    assert!(Command::new(program).args(words).status().expect("a program").success(), "{program} {words:?}");
}

/// Names that a run has left in its folder, but for its scan and plan.
fn left(folder: &Folder) -> Vec<String> {
    let entries = std::fs::read_dir(&folder.0).expect("a folder");
    let names = entries.map(|entry| entry.expect("a name").file_name().to_string_lossy().into_owned());
    let mut names: Vec<_> = names.filter(|name| name != "scan.h5" && name != "plan.toml").collect();
    names.sort();
    names
}

/// Every file may be no larger than this from then on: less than a slice takes, more than the journal does.
const LIMIT: &str = "--fsize=4096";

#[test]
fn runs_go_on_after_a_full_disk_and_a_kill() {
    let folder = Folder::new("disks");
    scan(&folder.path("scan.h5"));
    plan(&folder, "undisturbed.h5");
    succeeds(&folder);
    let undisturbed = read(&folder.path("undisturbed.h5"));
    assert_eq!(undisturbed.0, [ROWS, BINS, BINS]);
    for name in NAMES {
        plan(&folder, name);
        let path = folder.path(name);
        let full = begun(&folder, name);
        told("prlimit", &["--pid", &full.id().to_string(), LIMIT]);
        let output = full.wait_with_output().expect("a child");
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "{name}: the run ended before its disk was full");
        let file = meantime(&folder, name, "");
        let words = [file.file_name().expect("a name").to_string_lossy().into_owned(), "File too large".into()];
        assert!(words.iter().all(|word| error.contains(word)), "{name}: {error}");
        assert!(error.contains("is kept") && !path.exists(), "{name}: {error}");
        let mut killed = begun(&folder, name);
        let ended = killed.try_wait().expect("a child").is_some();
        killed.kill().expect("killed");
        killed.wait().expect("a child");
        assert!(!ended && !path.exists(), "{name}: the run ended before it was killed");
        let told = succeeds(&folder);
        let there: usize = told.split_whitespace().nth(2).and_then(|word| word.parse().ok()).unwrap_or_default();
        assert!(there >= 6, "{name}: {told}");
        assert!(read(&path) == undisturbed, "{name}");
        assert!(!file.exists() && !meantime(&folder, name, ".journal").exists());
        if path.is_dir() {
            // And once more, over what is there.
            succeeds(&folder);
            assert!(read(&path) == undisturbed, "{name}");
        }
    }
    let stem = ["v", "v.h5", "v.html", "v.tif", "v.vol", "v.vol.info", "v.zarr"];
    assert_eq!(left(&folder), [["undisturbed.h5", "undisturbed.html"].as_slice(), &stem].concat());
}

/// What is full from the beginning leaves nothing.
#[test]
fn a_disk_that_is_full_at_once() {
    let folder = Folder::new("full");
    scan(&folder.path("scan.h5"));
    for name in NAMES {
        plan(&folder, name);
        let output = command(&folder, &["prlimit", LIMIT]).output().expect("the command runs");
        let error = String::from_utf8_lossy(&output.stderr);
        let file = meantime(&folder, name, "");
        let file = file.file_name().expect("a name").to_string_lossy();
        assert!(!output.status.success() && error.contains(&*file) && error.contains("too large"), "{name}: {error}");
        assert!(left(&folder).is_empty(), "{name}: {:?}", left(&folder));
    }
}

#[test]
fn what_another_run_writes_and_what_cannot_be_written() {
    let folder = Folder::new("taken");
    scan(&folder.path("scan.h5"));
    std::fs::create_dir(folder.path("folder.h5")).expect("a folder");
    std::fs::write(folder.path("file.zarr"), "text").expect("a file");
    for (name, word) in [
        ("folder.h5", "is a folder"),
        ("file.zarr", "is to be a folder"),
        ("no/v.zarr", "reading no"),
        ("no/v/", "reading no"),
        ("/proc/v.h5", "/proc/v.h5"),
        ("file.zarr/v.vol", "reading file.zarr"),
    ] {
        plan(&folder, name);
        let output = run(&folder);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && error.contains(word), "{name}: {error}");
    }
    assert_eq!(left(&folder), ["file.zarr", "folder.h5"]);
    for name in ["v.h5", "v.zarr", "v/"] {
        plan(&folder, name);
        let first = begun(&folder, name);
        told("kill", &["-STOP", &first.id().to_string()]);
        let second = run(&folder);
        told("kill", &["-CONT", &first.id().to_string()]);
        let error = String::from_utf8_lossy(&second.stderr);
        assert!(!second.status.success() && error.contains("another run writes this volume"), "{name}: {error}");
        let first = first.wait_with_output().expect("a child");
        assert!(first.status.success(), "{name}: {}", String::from_utf8_lossy(&first.stderr));
        assert_eq!(read(&folder.path(name)).0, [ROWS, BINS, BINS]);
    }
}

/// Parts of one volume of each kind, each by a process of its own, all at once.
#[test]
fn processes_write_one_volume() {
    let folder = Folder::new("parts");
    scan(&folder.path("scan.h5"));
    plan(&folder, "whole.h5");
    succeeds(&folder);
    let whole = read(&folder.path("whole.h5"));
    for name in NAMES {
        let command = || {
            let mut command = Command::new(env!("CARGO_BIN_EXE_isocenter"));
            command.current_dir(&folder.0).stdout(Stdio::null()).stderr(Stdio::piped());
            command
        };
        let begin =
            ["recon", "scan.h5", "-o", name, "--axis", "23.5", "--stripes", "off", "--device", "cpu", "--begin"];
        assert!(command().args(begin).status().expect("the command runs").success(), "{name}");
        let parts = ["1/3", "2/3", "3/3"].map(|part| {
            let words = ["repeat", "v.toml", "--device", "cpu", "--threads", "1", "--part", part];
            command().args(words).spawn().expect("the command runs")
        });
        for part in parts {
            let output = part.wait_with_output().expect("a child");
            assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        }
        assert!(read(&folder.path(name)) == whole, "{name}");
    }
}
