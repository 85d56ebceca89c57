//! Gates: times that belong to each, of a file of them or of triggers.

use super::check;
use crate::pet::petsird::{Span, median};
use crate::pet::tables;
use crate::pet::told::general;
use anyhow::{Result, ensure};
use std::path::Path;

/// Cycles that differ from the median by more than this factor are told: triggers may be missing, or be none.
const UNEVEN: f64 = 1.5;
/// Spans, at most.
const MOST: usize = 1 << 24;

/// Times of gates, ascending, and the gate of each, from 0 on.
pub struct Gates {
    pub spans: Vec<Span>,
    pub of: Vec<usize>,
    pub names: Vec<String>,
    pub doubts: Vec<String>,
}

/// Of a file of rows of start, end and gate, or of triggers, between two of which there are so many gates.
pub fn read(path: &Path, count: Option<usize>) -> Result<Gates> {
    let (rows, name) = (tables::read(path)?, path.display().to_string());
    match (rows[0].len(), count) {
        (1, Some(count)) => of_triggers(&name, &rows.concat(), count),
        (1, None) => anyhow::bail!(
            "{name} has triggers: give --gate-count, into how many gates each time between two of them is divided"
        ),
        (3, None) => of_spans(&name, rows),
        (3, Some(count)) => {
            anyhow::bail!("--gate-count is {count}, and {name} has gates of its own; it is for triggers alone")
        }
        (columns, _) => {
            anyhow::bail!("{name} has rows of {columns} numbers; they must be start, end and gate, or triggers, s")
        }
    }
}

fn of_spans(name: &str, mut rows: Vec<Vec<f64>>) -> Result<Gates> {
    rows.sort_by(|a, b| a[0].total_cmp(&b[0]));
    for row in &rows {
        let is_whole = row[2].fract() == 0.0 && (0.0..MOST as f64).contains(&row[2]);
        ensure!(is_whole, "{name} has gate {}; gates are whole numbers from 0 or 1 on", general(row[2], 6));
    }
    let numbers: Vec<usize> = rows.iter().map(|row| row[2] as usize).collect();
    let (first, last) =
        (numbers.iter().copied().min().unwrap_or_default(), numbers.iter().copied().max().unwrap_or_default());
    let mut is_there = vec![false; last + 1];
    numbers.iter().for_each(|number| is_there[*number] = true);
    let missing = (first..=last).find(|k| !is_there[*k]);
    ensure!(
        first <= 1 && missing.is_none(),
        "{name} has gates {first} to {last}{}; there must be all from 0 or 1 to the last",
        missing.map_or(String::new(), |k| format!(", and none {k}"))
    );
    let spans: Vec<Span> = rows.iter().map(|row| [row[0], row[1]]).collect();
    check(&spans, |k| format!("{name}: the gate's time {}", k + 1))?;
    let names = (first..=last).map(|k| format!("gate {k}")).collect();
    Ok(Gates { spans, of: numbers.iter().map(|number| number - first).collect(), names, doubts: Vec::new() })
}

fn of_triggers(name: &str, triggers: &[f64], count: usize) -> Result<Gates> {
    let known = triggers.len();
    ensure!(
        known >= 2 && triggers.windows(2).all(|pair| pair[1] > pair[0]),
        "{name} has {known} triggers; there must be two or more, ascending, s"
    );
    let all = (known - 1).checked_mul(count).filter(|all| *all <= MOST);
    ensure!(all.is_some(), "--gate-count is {count}, and {name} has {known} triggers: these are too many gates");
    let cycles: Vec<f64> = triggers.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let edge = |pair: &[f64], k: usize| {
        if k == count { pair[1] } else { pair[0] + (pair[1] - pair[0]) * (k as f64 / count as f64) }
    };
    let spans = triggers.windows(2).flat_map(|pair| (0..count).map(move |k| [edge(pair, k), edge(pair, k + 1)]));
    let middle = median(cycles.clone());
    let uneven = cycles.iter().filter(|one| **one > UNEVEN * middle || **one < middle / UNEVEN).count();
    let mut doubts = Vec::new();
    if uneven > 0 {
        let (all, middle) = (cycles.len(), general(middle, 3));
        doubts.push(format!(
            "{uneven} of {all} cycles of {name} differ from the median, {middle} s, by more than a factor of {UNEVEN}: triggers may be missing, or be none"
        ));
    }
    Ok(Gates {
        spans: spans.collect(),
        of: cycles.iter().flat_map(|_| 0..count).collect(),
        names: (0..count).map(|k| format!("gate {k}")).collect(),
        doubts,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gates_of_rows() {
        let rows = vec![vec![10.0, 15.0, 1.0], vec![0.0, 5.0, 1.0], vec![5.0, 10.0, 2.0]];
        let found = of_spans("g", rows).expect("gates");
        assert_eq!(found.spans, [[0.0, 5.0], [5.0, 10.0], [10.0, 15.0]]);
        assert_eq!((found.of, found.names), (vec![0, 1, 0], vec!["gate 1".to_string(), "gate 2".into()]));
        for (rows, word) in [
            (vec![vec![0.0, 1.0, 0.5]], "gate 0.5; gates are whole numbers"),
            (vec![vec![0.0, 1.0, -1.0]], "gates are whole numbers from 0 or 1 on"),
            (vec![vec![0.0, 1.0, 1e300]], "gates are whole numbers"),
            (vec![vec![0.0, 1.0, 0.0], vec![1.0, 2.0, 2.0]], "none 1; there must be all"),
            (vec![vec![0.0, 1.0, 2.0]], "there must be all from 0 or 1"),
            (vec![vec![1.0, 1.0, 0.0]], "its end must be after its start"),
            (vec![vec![0.0, 2.0, 0.0], vec![1.0, 3.0, 1.0]], "begins before the end"),
        ] {
            let error = of_spans("g", rows).err().expect(word).to_string();
            assert!(error.contains(word), "{word}: {error}");
        }
    }

    #[test]
    fn gates_of_triggers() {
        let found = of_triggers("t", &[1.0, 2.0, 3.0, 5.0], 2).expect("gates");
        assert_eq!(found.spans[..4], [[1.0, 1.5], [1.5, 2.0], [2.0, 2.5], [2.5, 3.0]]);
        assert_eq!(found.of, [0, 1, 0, 1, 0, 1]);
        assert!(found.doubts[0].contains("1 of 3 cycles"), "{:?}", found.doubts);
        assert!(of_triggers("t", &[1.0], 2).is_err() && of_triggers("t", &[1.0, 1.0], 2).is_err());
        assert!(of_triggers("t", &[1.0, 2.0], usize::MAX).is_err());
    }
}
