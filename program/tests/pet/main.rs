//! `isocenter pet`: lists of events that the tests write, to images of which the truth is known.

mod cut;
mod damaged;
mod dicom;
mod doubts;
#[path = "../folder/mod.rs"]
mod folder;
mod hdf5;
mod images;
mod rates;
mod refused;
mod scans;
mod tree;
mod truth;
#[allow(dead_code)] // Part of another crate elsewhere.
#[path = "../../../fuzz/src/readers/petsird/writer.rs"]
mod writer;

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

/// Runs the command with words.
fn run(words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_isocenter"));
    command.arg("pet").args(words).args(["--device", "cpu"]);
    // Without an output nothing is computed.
    if !words.contains(&"-o") {
        command = Command::new(env!("CARGO_BIN_EXE_isocenter"));
        command.arg("pet").args(words);
    }
    command.output().expect("the command runs")
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a name")
}

/// What it says on standard error, after it has done what was asked.
fn done(words: &[&str]) -> String {
    let output = run(words);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{words:?}: {told}");
    told
}

/// Lines for programs, by their event.
fn events(words: &[&str]) -> Vec<Value> {
    let output = run(&[words, &["--json"]].concat());
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    let lines = String::from_utf8_lossy(&output.stdout).into_owned();
    lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn event<'a>(all: &'a [Value], name: &str) -> &'a Value {
    all.iter().find(|one| one["event"] == name).unwrap_or_else(|| panic!("{name}: {all:#?}"))
}

/// What it says of what it refuses, and its status.
fn refused(words: &[&str]) -> (String, i32) {
    let output = run(words);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success(), "{words:?}");
    assert!(!told.contains("panicked"), "{told}");
    (told, output.status.code().expect("a status"))
}
