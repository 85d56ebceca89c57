//! Lists and tables of numbers, with comments and names of columns before them.

use super::Angles;
use super::text::{Line, number};
use crate::scan::terms::{self, is_angle};
use anyhow::{Context, Result, bail, ensure};

/// Fields of a line, by the sign that divides it.
fn fields(line: &str) -> Vec<&str> {
    let sign = ['\t', ';', ','].into_iter().find(|sign| line.contains(*sign));
    let mut fields: Vec<_> = match sign {
        Some(sign) => line.split(sign).map(str::trim).collect(),
        None => line.split_whitespace().collect(),
    };
    fields.pop_if(|last| last.is_empty());
    fields
}

/// Names of columns, of which those of SPEC (#L) may have a space inside.
fn names(line: &str, columns: usize) -> Option<Vec<String>> {
    let owned = |names: Vec<&str>| names.into_iter().map(|name| name.trim_matches('"').to_string()).collect();
    let spaced: Vec<_> = line.split("  ").map(str::trim).filter(|name| !name.is_empty()).collect();
    [fields(line), spaced].into_iter().find(|names| names.len() == columns).map(owned)
}

/// A comment's text; nothing where a line is none.
fn comment(line: &str) -> Option<&str> {
    let rest = line.strip_prefix(['#', '%', '!'])?;
    Some(rest.strip_prefix("L ").unwrap_or(rest).trim())
}

/// Columns of numbers, with their names before them, or without.
pub fn read(lines: &[Line]) -> Result<Angles> {
    let scans = lines.iter().filter(|(_, line)| line.starts_with("#S ")).count();
    ensure!(scans < 2, "it has {scans} scans of SPEC: a file with the wanted one alone is needed");
    let uncommented = |line: &str| line.split(['#', '%']).next().unwrap_or_default().trim().to_string();
    let rows: Vec<(usize, String)> =
        lines.iter().filter(|(_, line)| comment(line).is_none()).map(|(k, line)| (*k, uncommented(line))).collect();
    // The first line with numbers, in which names of columns have none alone.
    let is_row = |line: &str| fields(line).into_iter().any(|field| number(field).is_some());
    let begin = rows.iter().position(|(_, line)| is_row(line)).context("there are no angles")?;
    let columns = fields(&rows[begin].1).len();
    let named = |(_, line): &(usize, String)| names(line, columns);
    let before = lines.iter().filter(|(k, _)| *k < rows[begin].0).filter_map(|(_, line)| comment(line));
    let header =
        rows[..begin].last().and_then(named).or_else(|| before.clone().filter_map(|c| names(c, columns)).next_back());
    let rows = &rows[begin..];
    if columns == 1 {
        let said = rows_before(lines, rows[0].0);
        let unit = said.iter().rev().find_map(|line| terms::radians(line));
        return Ok(Angles { values: column(rows, 0, 1)?, unit: unit.map(unit_name), note: None });
    }
    let Some(header) = header else {
        // All in a line.
        if let [(_, line)] = rows {
            let values: Option<Vec<_>> = fields(line).into_iter().map(number).collect();
            return Ok(Angles::new(values.context("numbers are expected, and there are others between")?));
        }
        bail!(
            "line {} has {columns} numbers, and no line before it says which is the angle: one a line is expected, or names of columns",
            rows[0].0
        );
    };
    let fits: Vec<_> = (0..columns).filter(|&k| is_angle(&header[k])).collect();
    let &[at] = fits.as_slice() else {
        let how = if fits.is_empty() { "none" } else { "more than one" };
        bail!("of its columns {} {how} has a name with a word such as angle, theta or rot", header.join(", "));
    };
    // A log names what each of its images is.
    let kind = header.iter().position(|name| name.eq_ignore_ascii_case("image type"));
    let is_projection = |line: &str| {
        kind.is_none_or(|kind| fields(line).get(kind).is_some_and(|kind| kind.eq_ignore_ascii_case("projection")))
    };
    let (views, others): (Vec<_>, Vec<_>) = rows.iter().cloned().partition(|(_, line)| is_projection(line));
    let note = (!others.is_empty()).then(|| format!("{} lines are of no projection, and left out", others.len()));
    Ok(Angles { values: column(&views, at, columns)?, unit: terms::radians(&header[at]).map(unit_name), note })
}

fn unit_name(radians: bool) -> String {
    if radians { "radians" } else { "degrees" }.into()
}

/// Lines before that of a number.
fn rows_before<'a>(lines: &[Line<'a>], k: usize) -> Vec<&'a str> {
    lines.iter().filter(|(line, _)| *line < k).map(|(_, line)| *line).collect()
}

/// The numbers of a column of so many.
fn column(rows: &[(usize, String)], at: usize, columns: usize) -> Result<Vec<f64>> {
    let value = |(k, line): &(usize, String)| {
        let fields = fields(line);
        ensure!(fields.len() == columns, "line {k}: {} values where others have {columns}", fields.len());
        number(fields[at]).with_context(|| format!("line {k}: one angle is expected, and it is \"{}\"", fields[at]))
    };
    rows.iter().filter(|(_, line)| !line.is_empty()).map(value).collect()
}
