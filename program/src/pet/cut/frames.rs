//! Frames of time as they are written: a text of counts and durations, or a file.

use super::check;
use crate::pet::petsird::Span;
use crate::pet::tables;
use crate::status::unreadable;
use anyhow::{Context, Result, anyhow, bail, ensure};
use serde_json::Value;
use std::path::Path;

/// Frames, at most: of more there is a mistake in the text.
const MOST: usize = 10_000;

/// Start and end of each, s, ascending.
pub fn read(given: &str) -> Result<Vec<Span>> {
    let parts: Option<Vec<_>> = given.split(',').map(part).collect();
    let spans = match parts {
        Some(parts) => of_parts(given, &parts)?,
        None => of_file(given)?,
    };
    check(&spans, |k| format!("frame {k} of --frames"))?;
    Ok(spans)
}

/// Such as 12x10, so many frames of so many s, or 60.
fn part(text: &str) -> Option<(usize, f64)> {
    let text = text.trim();
    let (count, seconds) = match text.split_once(['x', 'X', '*']) {
        Some((count, seconds)) => (count.trim().parse().ok()?, seconds),
        None => (1, text),
    };
    let seconds = seconds.trim().trim_end_matches('s').trim_end();
    let is_plain = seconds.chars().all(|c| c.is_ascii_digit() || c == '.');
    Some((count, seconds.parse().ok().filter(|v: &f64| is_plain && v.is_finite())?))
}

/// One after the other from 0 on.
fn of_parts(text: &str, parts: &[(usize, f64)]) -> Result<Vec<Span>> {
    let all = parts.iter().fold(0usize, |all, (count, _)| all.saturating_add(*count));
    ensure!(
        all <= MOST && parts.iter().all(|(count, _)| *count > 0),
        "--frames is '{text}', {all} frames; each part must have 1 or more, and all together {MOST} at most"
    );
    let mut end = 0.0;
    let lengths = parts.iter().flat_map(|(count, seconds)| std::iter::repeat_n(*seconds, *count));
    let next = |length| {
        let start = end;
        end += length;
        [start, end]
    };
    Ok(lengths.map(next).collect())
}

fn of_file(given: &str) -> Result<Vec<Span>> {
    let path = Path::new(given);
    ensure!(
        path.is_file(),
        "--frames is '{given}', which is neither counts and seconds, such as 12x10,6x20,5x60, nor a file of starts and ends"
    );
    if path.extension().is_some_and(|end| end == "json") {
        let read = || of_json(&std::fs::read(path)?);
        return read().with_context(|| given.to_string()).map_err(unreadable);
    }
    let rows = tables::read(path)?;
    let columns = rows[0].len();
    if columns != 2 {
        return Err(unreadable(anyhow!("{given} has rows of {columns} numbers; frames are starts and ends, s")));
    }
    Ok(rows.iter().map(|row| [row[0], row[1]]).collect())
}

/// PET-BIDS's fields, <https://bids-specification.readthedocs.io>, "Positron Emission Tomography".
fn of_json(bytes: &[u8]) -> Result<Vec<Span>> {
    let fields: Value = serde_json::from_slice(bytes).context("it is no JSON")?;
    let [starts, durations] = ["FrameTimesStart", "FrameDuration"].map(|name| fields.get(name).map(seconds));
    let (Some(starts), Some(durations)) = (starts, durations) else {
        bail!("it has no FrameTimesStart and FrameDuration, s");
    };
    let (starts, durations) = (starts?, durations?);
    let [first, second] = [starts.len(), durations.len()];
    ensure!(first == second, "it has {first} of FrameTimesStart and {second} of FrameDuration");
    ensure!(first > 0, "it has no frames");
    Ok(starts.iter().zip(durations).map(|(start, duration)| [*start, start + duration]).collect())
}

fn seconds(value: &Value) -> Result<Vec<f64>> {
    let all = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
    let all: Option<Vec<f64>> = all.iter().map(Value::as_f64).collect();
    all.context("its times of frames must be numbers, s")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_frames() {
        assert_eq!(read("2x10,60").expect("frames"), [[0.0, 10.0], [10.0, 20.0], [20.0, 80.0]]);
        assert_eq!(read(" 1 X 2.5 s, .5").expect("frames"), [[0.0, 2.5], [2.5, 3.0]]);
        for (text, word) in [
            ("0x10", "each part must have 1 or more"),
            ("10001x1", "10000 at most"),
            ("99999999999999999999x1", "neither counts and seconds"),
            ("2x0", "its end must be after its start"),
            ("2x-1", "neither counts and seconds"),
            ("2xnan", "neither counts and seconds"),
            ("nowhere.txt", "neither counts and seconds"),
        ] {
            let error = read(text).expect_err(text).to_string();
            assert!(error.contains(word), "{text}: {error}");
        }
    }

    #[test]
    fn json_of_frames() {
        let of = |text: &str| of_json(text.as_bytes());
        let found = of(r#"{"FrameTimesStart": [0, 5.5], "FrameDuration": [5.5, 10]}"#).expect("frames");
        assert_eq!(found, [[0.0, 5.5], [5.5, 15.5]]);
        assert_eq!(of(r#"{"FrameTimesStart": 0, "FrameDuration": 3}"#).expect("a frame"), [[0.0, 3.0]]);
        for (text, word) in [
            ("{", "it is no JSON"),
            ("[]", "no FrameTimesStart"),
            (r#"{"FrameTimesStart": [0, 1], "FrameDuration": [1]}"#, "2 of FrameTimesStart and 1"),
            (r#"{"FrameTimesStart": ["0"], "FrameDuration": [1]}"#, "must be numbers"),
            (r#"{"FrameTimesStart": [], "FrameDuration": []}"#, "no frames"),
        ] {
            let error = of(text).expect_err(text).to_string();
            assert!(error.contains(word), "{text}: {error}");
        }
    }
}
