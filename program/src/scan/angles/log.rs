//! Logs with the angle of an image in a line.

use super::Angles;
use super::text::{Line, number};
use anyhow::{Context, Result, ensure};

/// What follows a word in a line, whatever its letters are.
fn behind<'a>(line: &'a str, word: &str) -> Option<&'a str> {
    let at = line.to_ascii_lowercase().find(word)?;
    Some(line[at + word.len()..].trim_start_matches([' ', ':', ',', '\t']))
}

/// The first number of a text.
fn first(text: &str) -> Option<&str> {
    text.split([' ', ',', ';', '\t']).next()
}

/// The angle in a line such as "Sun Feb 10 00:22:37 2019   Projection:  1  angle: 0.3152   Monitor 3 before:  4729337".
pub fn angle(line: &str) -> Option<f64> {
    number(first(behind(line, "angle:")?)?)
}

/// Lines of a log of IMAT's (ISIS), of text or with commas, an image each. Its angles are in degrees.
pub fn read(lines: &[Line]) -> Result<Angles> {
    let counted = lines.iter().any(|(_, line)| behind(line, "projection").is_some() && angle(line).is_some());
    let mut values = Vec::new();
    let (mut last, mut others) = (None, 0);
    for (k, line) in lines {
        let Some(angle) = angle(line) else {
            others += usize::from(behind(line, "monitor").is_some());
            continue;
        };
        if counted {
            let Some(rest) = behind(line, "projection") else {
                others += 1;
                continue;
            };
            let count = first(rest).and_then(|count| count.parse::<u64>().ok());
            let count = count.with_context(|| format!("line {k}: a number behind \"Projection\" is expected"))?;
            ensure!(
                last.is_none_or(|last| last < count),
                "line {k}: projection {count} comes after {}",
                last.unwrap_or(0)
            );
            last = Some(count);
        }
        values.push(angle);
    }
    let note = (others > 0).then(|| format!("{others} lines of its log are of no projection, and left out"));
    Ok(Angles { values, unit: Some("degrees".into()), note })
}
