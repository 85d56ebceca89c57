//! What the program says: to people, or with `--json` to other programs, a JSON object a line on standard output.

use crate::status;
use anyhow::Error;
use serde_json::{Value, json};
use std::fmt::Display;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// Of what the lines mean: a larger number where one that was there is gone, or means something else.
const SCHEMA: u32 = 1;

static JSON: AtomicBool = AtomicBool::new(false);

/// From now on lines are for programs.
pub fn in_json() {
    JSON.store(true, Ordering::Relaxed);
}

/// Whether lines are for programs.
pub fn is_json() -> bool {
    JSON.load(Ordering::Relaxed)
}

/// The first line.
pub fn begin(command: &str) {
    if is_json() {
        line("begin", json!({"schema": SCHEMA, "version": env!("CARGO_PKG_VERSION"), "command": command}));
    }
}

/// The last line.
pub fn done() {
    if is_json() {
        line("end", json!({"status": 0, "kind": "done"}));
    }
}

/// The last line after an error, which is said on standard error as well.
pub fn failed(error: &Error, who: &str) {
    let (end, told) = (status::of(error), status::told(error));
    eprintln!("{who}{told}");
    if is_json() {
        let told = told.strip_prefix("error: ").unwrap_or(&told);
        line("end", json!({"status": end as u8, "kind": end.name(), "error": format!("{who}{told}")}));
    }
}

/// Something that was found or done: an event with its fields, or a text.
pub fn tell(event: &str, about: Value, text: impl Display) {
    if is_json() { line(event, about) } else { println!("{text}") }
}

/// How far a run is.
pub fn progress(fraction: f64, stage: &str, left: Option<f64>) {
    if is_json() {
        line("progress", json!({"fraction": fraction, "stage": stage, "seconds_left": left}));
    } else if let Some(left) = left {
        eprintln!("{:3.0} %  {stage}, {left:.0} s left", 100.0 * fraction);
    }
}

/// What was assumed or left out.
pub fn note(text: impl Display) {
    aside("note", "note: ", text);
}

/// What may make a result wrong.
pub fn warning(text: impl Display) {
    aside("warning", "warning: ", text);
}

/// What else may be of use.
pub fn remark(text: impl Display) {
    aside("note", "", text);
}

fn aside(event: &str, lead: &str, text: impl Display) {
    if is_json() { line(event, json!({"text": text.to_string()})) } else { eprintln!("{lead}{text}") }
}

/// A path as text.
pub fn path(path: &Path) -> String {
    path.display().to_string()
}

fn line(event: &str, mut about: Value) {
    about["event"] = event.into();
    // Whoever has listened may be gone.
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{about}").and_then(|()| out.flush());
}
