//! Tables of numbers: texts with a line for each row, and NumPy files.

use super::images::read_npy_rows;
use crate::status::unreadable;
use anyhow::{Context, Result, bail, ensure};
use std::path::Path;

/// Bytes of a text, at most.
const MOST: u64 = 1 << 24;

/// Rows of as many finite numbers each; those of a text are separated by commas, semicolons, tabs or spaces, what follows a # is a comment, and the first line may be names.
pub fn read(path: &Path) -> Result<Vec<Vec<f64>>> {
    let rows = if path.extension().is_some_and(|end| end == "npy") { read_npy_rows(path) } else { of_text(path) };
    let rows = rows.and_then(|rows| even(rows).with_context(|| path.display().to_string()));
    rows.map_err(unreadable)
}

fn of_text(path: &Path) -> Result<Vec<Vec<f64>>> {
    let read = || {
        let size = std::fs::metadata(path)?.len();
        ensure!(size <= MOST, "it has {size} bytes; it is no table");
        parse(&String::from_utf8_lossy(&std::fs::read(path)?))
    };
    read().with_context(|| path.display().to_string())
}

fn parse(text: &str) -> Result<Vec<Vec<f64>>> {
    ensure!(!text.contains('\0'), "it is no text of numbers: it has bytes that are 0");
    let (mut rows, mut has_names) = (Vec::new(), false);
    for (k, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
        let words = words(line.split('#').next().unwrap_or_default());
        if words.is_empty() {
            continue;
        }
        match words.iter().map(|word| word.parse()).collect::<Result<Vec<f64>, _>>() {
            Ok(row) => rows.push(row),
            Err(_) if rows.is_empty() && !has_names => has_names = true,
            Err(_) => {
                let shown: String = line.trim().chars().take(60).collect();
                bail!("'{shown}' in line {}; there must be numbers", k + 1);
            }
        }
    }
    Ok(rows)
}

/// A line's parts: names may have spaces where something else separates them.
fn words(line: &str) -> Vec<&str> {
    let separator = [';', '\t', ','].into_iter().find(|one| line.contains(*one));
    let mut parts: Vec<&str> = match separator {
        None => line.split_whitespace().collect(),
        Some(separator) => line.split(separator).map(str::trim).collect(),
    };
    while parts.last().is_some_and(|last| last.is_empty()) {
        parts.pop(); // a separator ends the line
    }
    if parts.iter().any(|part| part.contains(|c: char| c.is_ascii_alphabetic())) {
        return parts;
    }
    // Of "1, 2 3" and the like.
    parts
        .into_iter()
        .flat_map(|part| if part.is_empty() { vec![""] } else { part.split_whitespace().collect() })
        .collect()
}

fn even(rows: Vec<Vec<f64>>) -> Result<Vec<Vec<f64>>> {
    let first = rows.first().context("it has no numbers")?.len();
    if let Some(other) = rows.iter().find(|row| row.len() != first) {
        bail!("it has rows of {first} and of {} numbers; all must have as many", other.len());
    }
    ensure!(first > 0 && rows.iter().flatten().all(|v| v.is_finite()), "it has numbers that are not finite");
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_read() {
        let of = |text: &str| parse(text).and_then(even);
        assert_eq!(
            of("start, end of frame\n0,10\n10, 20, # a comment\n\n").expect("rows"),
            [[0.0, 10.0], [10.0, 20.0]]
        );
        assert_eq!(of("\u{feff}1\t2e3\n3\t-4\n").expect("rows"), [[1.0, 2000.0], [3.0, -4.0]]);
        assert_eq!(of("0 10 1\n10 20 2").expect("rows"), [[0.0, 10.0, 1.0], [10.0, 20.0, 2.0]]);
        assert_eq!(of("1, 2 3").expect("a row"), [[1.0, 2.0, 3.0]]);
        for (text, word) in [
            ("", "no numbers"),
            ("a b\n", "no numbers"),
            ("1 2\n3", "rows of 2 and of 1"),
            ("1 2\nx y", "'x y' in line 2"),
            ("a\nb\n1", "'b' in line 2"),
            ("1,2\n1,,2", "'1,,2' in line 2"),
            ("1 inf", "not finite"),
            ("1 \0", "bytes that are 0"),
        ] {
            let error = of(text).expect_err(text).to_string();
            assert!(error.contains(word), "{text:?}: {error}");
        }
    }
}
