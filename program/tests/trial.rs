//! Sheets to choose from: each slice is the one that the command makes with the options that stand above it.

mod folder;
mod readers;
mod rods;

use folder::Folder;
use rods::BINS;
use serde_json::Value;
use std::f64::consts::PI;
use std::path::Path;
use std::process::{Command, Output};

fn run(folder: &Folder, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_isocenter"));
    command.args(words).args(["--device", "cpu"]).current_dir(&folder.0).output().expect("the command runs")
}

/// What a sheet's event says.
fn sheet(folder: &Folder, words: &[&str]) -> Value {
    let output = run(folder, &[words, &["--json"]].concat());
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let mut lines = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    lines.find(|line| line["event"] == "sheet").expect("a sheet")
}

fn labels(sheet: &Value) -> Vec<String> {
    let labels = sheet["labels"].as_array().expect("a list").iter();
    labels.map(|label| label.as_str().expect("a text").to_string()).collect()
}

/// Names that a stack has for its slices.
fn names(path: &Path) -> Vec<String> {
    let file = std::fs::File::open(path).expect("a file");
    let mut decoder = tiff::decoder::Decoder::new(file).expect("a TIFF file");
    let lengths = decoder.get_tag_u32_vec(tiff::tags::Tag::Unknown(50838)).expect("lengths");
    let bytes = decoder.get_tag_u8_vec(tiff::tags::Tag::Unknown(50839)).expect("names");
    let mut rest = &bytes[lengths[0] as usize..];
    let name = |length: &u32| {
        let (name, behind) = rest.split_at(*length as usize);
        rest = behind;
        let units: Vec<u16> = name.chunks_exact(2).map(|c| u16::from_ne_bytes([c[0], c[1]])).collect();
        String::from_utf16(&units).expect("UTF-16")
    };
    lengths[1..].iter().map(name).collect()
}

/// The one slice that `recon` makes with these options, and its sides.
fn slice(folder: &Folder, scan: &str, row: usize, words: &[&str]) -> ([usize; 2], Vec<u8>) {
    let rows = format!("{row}..{}", row + 1);
    let output = run(folder, &[&["recon", scan, "-o", "one.h5", "--rows", &rows], words].concat());
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    let ([_, rows, columns], bytes) = readers::read(&folder.path("one.h5"));
    ([rows, columns], bytes)
}

#[test]
fn each_slice_is_that_of_its_label() {
    let folder = Folder::new("trial");
    rods::scan(&folder.path("scan.h5"), 61, PI);
    let stripes: Vec<&str> = vec!["--try-stripes", "--axis", "38.2"];
    for (words, more, expected, row) in [
        (
            vec!["--try-axis", "37.20..39.2:0.5"],
            vec![],
            Some("--axis 37.20, --axis 37.70, --axis 38.20, --axis 38.70, --axis 39.20"),
            2,
        ),
        (
            vec!["--try-axis", "38..39:1", "--rows", "3..5", "--stripes", "vo"],
            vec!["--stripes", "vo"],
            Some("--axis 38, --axis 39"),
            4,
        ),
        (stripes, vec!["--axis", "38.2"], None, 2),
    ] {
        let what = if words[0] == "--try-axis" { "axis" } else { "stripes" };
        let made = sheet(&folder, &[&["recon", "scan.h5"], words.as_slice()].concat());
        let labels = labels(&made);
        assert!(expected.is_none_or(|expected| labels.join(", ") == expected), "{labels:?}");
        assert_eq!(
            (made["row"].as_u64(), made["page"].as_str()),
            (Some(row as u64), Some(format!("scan_{what}.html").as_str()))
        );
        let stack = folder.path(&format!("scan_{what}.tif"));
        assert_eq!(names(&stack), labels);
        let (shape, bytes) = readers::read(&stack);
        assert_eq!(shape, [labels.len(), BINS, BINS]);
        for (label, page) in labels.iter().zip(bytes.chunks_exact(4 * BINS * BINS)) {
            let options: Vec<_> = label.split(' ').chain(more.iter().copied()).collect();
            assert!(slice(&folder, "scan.h5", row, &options).1 == page, "{label}");
        }
        let page = std::fs::read_to_string(folder.path(&format!("scan_{what}.html"))).expect("a page");
        let mut rest = page.as_str();
        for label in &labels {
            // Each with its picture behind it, in their order.
            let (_, behind) = rest.split_once(&format!("<figcaption>{label}</figcaption><img ")).expect("a label");
            rest = behind;
        }
        assert!(!page.contains("<script") && !page.contains("src=\"http"));
        assert!(std::fs::read(folder.path(&format!("scan_{what}.png"))).is_ok_and(|png| png.starts_with(b"\x89PNG")));
    }
    assert!(!folder.path("scan_volume.h5").exists() && !folder.path("scan_axis.toml").exists());
}

/// Slices of halves that are joined differ in size: they are cut about their middles.
#[test]
fn halves_that_are_joined() {
    let folder = Folder::new("trial-halves");
    rods::scan(&folder.path("scan.h5"), 122, 2.0 * PI);
    let words = ["recon", "scan.h5", "--try-axis", "36..38:1", "--half-acquisition", "on", "-o", "sheet.png"];
    let made = sheet(&folder, &words);
    let (shape, bytes) = readers::read(&folder.path("sheet.tif"));
    // 2 x (79 - 38) + 1, the smallest.
    let side = 83;
    assert_eq!(shape, [3, side, side]);
    for (label, page) in labels(&made).iter().zip(bytes.chunks_exact(4 * side * side)) {
        let options: Vec<_> = label.split(' ').chain(["--half-acquisition", "on"]).collect();
        let ([rows, columns], whole) = slice(&folder, "scan.h5", 2, &options);
        let edge = (columns - side) / 2;
        let lines = whole.chunks_exact(4 * columns).skip((rows - side) / 2).take(side);
        let cut: Vec<u8> = lines.flat_map(|line| &line[4 * edge..4 * (edge + side)]).copied().collect();
        assert!(cut == page, "{label}");
    }
}

#[test]
fn what_cannot_be_tried() {
    let folder = Folder::new("trial-refused");
    rods::scan(&folder.path("scan.h5"), 61, PI);
    std::fs::create_dir(folder.path("there.png")).expect("a folder");
    for (words, word) in [
        (vec!["--try-axis", "38"], "1020..1027:0.5"),
        (vec!["--try-axis", "38..39:0.001"], "at most"),
        (vec!["--try-axis", "38..39:1", "--axis", "38"], "--axis"),
        (vec!["--try-axis", "38..39:1", "--try-stripes"], "--try-stripes"),
        (vec!["--try-axis", "38..39:1", "--probe"], "--probe"),
        (vec!["--try-axis", "38..39:1", "--begin"], "--begin"),
        (vec!["--try-axis", "38..39:1", "--rows", "3..9"], "the scan has 5"),
        (vec!["--try-axis", "38..39:1", "--depth", "u16"], "--depth"),
        (vec!["--try-axis", "38..39:1", "-o", "there"], "there.png is a folder"),
        (vec!["--try-axis", "38..39:1", "-o", "no/such/folder"], "no/such/folder"),
        (vec!["--try-stripes", "--stripes", "vo"], "--stripes"),
        (vec!["--try-stripes", "--snr", "3"], "--snr"),
    ] {
        let output = run(&folder, &[&["recon", "scan.h5"], words.as_slice()].concat());
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && told.contains(word), "{words:?}: {told}");
    }
}
