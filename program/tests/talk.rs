//! What the command says to other programs: lines of JSON, and statuses.

mod folder;
mod rods;

use folder::Folder;
use serde_json::Value;
use std::f64::consts::PI;
use std::process::{Command, Output};

fn run(folder: &Folder, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_isocenter"));
    command.args(words).current_dir(&folder.0).output().expect("the command runs")
}

/// What a run says in JSON, which is all that it says on standard output.
fn lines(output: &Output) -> Vec<Value> {
    let text = String::from_utf8(output.stdout.clone()).expect("UTF-8");
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"))).collect()
}

fn events(lines: &[Value]) -> Vec<&str> {
    lines.iter().map(|line| line["event"].as_str().expect("an event")).collect()
}

fn one<'a>(lines: &'a [Value], event: &str) -> &'a Value {
    let mut of = lines.iter().filter(|line| line["event"] == event);
    let found = of.next().unwrap_or_else(|| panic!("no {event}: {lines:?}"));
    assert!(of.next().is_none(), "{event} twice: {lines:?}");
    found
}

#[test]
fn every_command_speaks_json() {
    let folder = Folder::new("talk");
    rods::scan(&folder.path("scan.h5"), 61, PI);
    let said = |words: &[&str]| {
        let output = run(&folder, &[words, &["--json"]].concat());
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success() && told.is_empty(), "{words:?}: {told}");
        let lines = lines(&output);
        let (first, last) = (&lines[0], &lines[lines.len() - 1]);
        assert_eq!((first["event"].as_str(), first["schema"].as_u64()), (Some("begin"), Some(1)));
        assert_eq!(first["command"], words[0]);
        assert_eq!(
            (last["event"].as_str(), last["status"].as_u64(), last["kind"].as_str()),
            (Some("end"), Some(0), Some("done"))
        );
        lines
    };
    let inspected = said(&["inspect", "scan.h5"]);
    let scan = one(&inspected, "scan");
    assert_eq!([&scan["projections"], &scan["rows"], &scan["bins"]].map(Value::as_u64), [Some(61), Some(5), Some(80)]);
    assert_eq!((scan["dtype"].as_str(), scan["pixel_mm"].is_null()), (Some("f32"), true));
    let found = said(&["axis", "scan.h5", "--tilt", "--device", "cpu"]);
    let axis = one(&found, "axis");
    // Rods whose sums of squares the noise hardly moves.
    assert!((axis["axis"].as_f64().expect("an axis") - rods::AXIS).abs() < 0.1, "{axis}");
    assert!(axis["tilt"].is_f64() && axis["method"].is_string());
    let made = said(&["recon", "scan.h5", "-o", "v.h5", "--depth", "u16", "--device", "cpu"]);
    let volume = one(&made, "volume");
    assert_eq!((volume["path"].as_str(), volume["dtype"].as_str()), (Some("v.h5"), Some("u16")));
    assert_eq!(volume["shape"], serde_json::json!([5, 80, 80]));
    assert_eq!(volume["axis"], one(&made, "axis")["axis"]);
    let window = one(&made, "window");
    let [low, high] = ["low", "high"].map(|name| window[name].as_f64().expect("a number"));
    let slope = volume["scale_factor"].as_f64().expect("a number");
    // A double in sixteen digits.
    assert!((slope - (high - low) / 65535.0).abs() < 1e-12 * slope && volume["add_offset"] == window["low"]);
    assert_eq!((&one(&made, "plan")["path"], &one(&made, "report")["path"]), (&"v.toml".into(), &"v.html".into()));
    let progress: Vec<_> = made.iter().filter(|line| line["event"] == "progress").collect();
    assert!(!progress.is_empty(), "{made:?}");
    for line in progress {
        assert!((0.0..=1.0).contains(&line["fraction"].as_f64().expect("a number")) && line["stage"].is_string());
    }
    let again = said(&["repeat", "v.toml", "--device", "cpu"]);
    assert_eq!(one(&again, "volume")["shape"], volume["shape"]);
    let begun = said(&["recon", "scan.h5", "-o", "w.h5", "--begin", "--device", "cpu"]);
    assert_eq!(one(&begun, "begun")["blocks"], 1);
    let noted = run(&folder, &["recon", "scan.h5", "-o", "n.h5", "--device", "cpu", "--threads", "9999", "--json"]);
    assert!(events(&lines(&noted)).contains(&"note") && noted.stderr.is_empty());
    // Without it there is none.
    let plain = run(&folder, &["inspect", "scan.h5"]);
    assert!(plain.stdout.starts_with(b"scan.h5: "));
}

/// The table of the page, and the same in JSON.
#[test]
fn statuses() {
    let folder = Folder::new("statuses");
    rods::scan(&folder.path("scan.h5"), 61, PI);
    std::fs::write(folder.path("text.h5"), "no scan").expect("a file");
    std::fs::write(folder.path("plan.toml"), "speed = 9").expect("a file");
    let fine = ["recon", "scan.h5", "-o", "v.h5", "--axis", "38.2", "--device", "cpu"];
    let with = |more: &[&'static str]| [fine.as_slice(), more].concat();
    let mut table = vec![
        (fine.to_vec(), 0, "done"),
        (vec!["recon"], 2, "command-line"),
        (vec!["recon", "scan.h5", "--axis", "much"], 2, "command-line"),
        (vec!["reconstruct", "scan.h5"], 2, "command-line"),
        (vec!["inspect", "nothing.nx"], 3, "input"),
        (vec!["recon", "text.h5"], 3, "input"),
        (vec!["axis", "text.h5"], 3, "input"),
        (vec!["repeat", "plan.toml"], 3, "input"),
        (with(&["--memory", "1K"]), 4, "memory"),
        (with(&["--rows", "3..9"]), 1, "error"),
    ];
    if isocenter::gpu::device_count().is_ok_and(|count| count == 0) || isocenter::gpu::device_count().is_err() {
        table.push((vec!["recon", "scan.h5", "--device", "gpu"], 6, "gpu"));
    }
    for (words, status, kind) in table {
        let plain = run(&folder, &words);
        let told = String::from_utf8_lossy(&plain.stderr).into_owned();
        assert_eq!(plain.status.code(), Some(status), "{words:?}: {told}");
        let output = run(&folder, &[words.as_slice(), &["--json"]].concat());
        assert_eq!(output.status.code(), Some(status), "{words:?}");
        let said = lines(&output);
        let end = one(&said, "end");
        assert_eq!((end["status"].as_i64(), end["kind"].as_str()), (Some(status.into()), Some(kind)), "{words:?}");
        if status != 0 {
            // People read the same.
            let error = end["error"].as_str().expect("a text").lines().next().unwrap_or_default();
            assert!(!error.is_empty() && told.contains(error), "{words:?}: {error}, {told}");
        }
    }
    // A limit on the size of files, in kilobytes, counts as a full disk.
    let mut limited = Command::new("bash");
    limited.args(["-c", "ulimit -f 40; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_isocenter")]);
    let output = limited.args(with(&["--json"])).current_dir(&folder.0).output().expect("bash runs");
    assert_eq!(output.status.code(), Some(5), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(one(&lines(&output), "end")["kind"], "disk");
    // Help is no error, and is for people.
    for words in [["--help"], ["--version"]] {
        let output = run(&folder, &words);
        assert!(output.status.success() && !output.stdout.is_empty());
    }
}
