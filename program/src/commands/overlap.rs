//! Whether two scans show the same where both have rows: places that are wrong make volumes that look right, but for their seams.

use super::run::{Prepared, rows_of};
use crate::plan::Plan;
use crate::scan::Scan;
use crate::seams::shared;
use crate::talk;
use anyhow::Result;
use isocenter::context::Context;
use isocenter::ct::Output;
use serde_json::json;
use std::ops::Range;
use std::sync::Arc;

/// Blocks of pixels along a side that are compared: what is finer is noise for the most part.
const BLOCKS: usize = 64;
/// A correlation below which a person should look.
const DOUBTFUL: f64 = 0.5;

/// Tells how alike a slice of the middle of each overlap is.
pub fn compare(context: &Arc<Context>, plan: &Plan, scans: &[Scan]) -> Result<()> {
    let rows = rows_of(plan, scans);
    let [first, end] = plan.rows;
    for (k, shared) in shared(&rows, "rows")?.into_iter().enumerate() {
        let seen = shared.start.max(first)..shared.end.min(end);
        if seen.is_empty() {
            continue;
        }
        let row = seen.start.midpoint(seen.end);
        let slice = |k: usize| blocks(context, plan, &scans[k], k, row - rows[k].start);
        let alike = correlation(&slice(k)?, &slice(k + 1)?);
        let names = [k, k + 1].map(|k| plan.name(k)).join(" and ");
        let Range { start, end } = shared;
        let text = format_args!(
            "{names} both have rows {start}..{end}; their slices of row {row} have a correlation of {alike:.3}"
        );
        talk::tell("overlap", json!({"rows": [start, end], "row": row, "correlation": alike}), text);
        if alike < DOUBTFUL {
            talk::warning(format_args!(
                "{names} show different things in rows that both have: z grows from each row to the next; where positions are those \
                 of a stage that moves the other way, their signs are the opposite"
            ));
        }
    }
    Ok(())
}

/// Means of blocks of a slice.
fn blocks(context: &Arc<Context>, plan: &Plan, scan: &Scan, which: usize, row: usize) -> Result<Vec<f64>> {
    let own = plan.of(which, scan.views.source.shape()[1]);
    let mut prepared = Prepared::new(context, &own, scan, &Output::default())?;
    let [_, ny, nx] = prepared.shape();
    let mut sums = vec![[0.0; 2]; BLOCKS * BLOCKS];
    prepared.stream(row..row + 1, |_, bytes| {
        for (k, value) in bytes.as_chunks().0.iter().enumerate() {
            let [sum, count] = &mut sums[k / nx * BLOCKS / ny * BLOCKS + k % nx * BLOCKS / nx];
            (*sum, *count) = (*sum + f64::from(f32::from_ne_bytes(*value)), *count + 1.0);
        }
        Ok(())
    })?;
    Ok(sums.into_iter().map(|[sum, count]| sum / count.max(1.0)).collect())
}

/// Pearson's; 1 of two that are the same number everywhere.
fn correlation(a: &[f64], b: &[f64]) -> f64 {
    let mean = |of: &[f64]| of.iter().sum::<f64>() / of.len() as f64;
    let (ma, mb) = (mean(a), mean(b));
    let product =
        |x: &[f64], y: &[f64], mx: f64, my: f64| x.iter().zip(y).map(|(x, y)| (x - mx) * (y - my)).sum::<f64>();
    let norm = (product(a, a, ma, ma) * product(b, b, mb, mb)).sqrt();
    if norm > 0.0 { product(a, b, ma, mb) / norm } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::correlation;

    #[test]
    fn correlations() {
        let a = [1.0, 2.0, 4.0];
        assert!((correlation(&a, &a.map(|v| 3.0 * v + 1.0)) - 1.0).abs() < 1e-12);
        assert!((correlation(&a, &a.map(|v| -v)) + 1.0).abs() < 1e-12);
        assert_eq!(correlation(&a, &[0.0; 3]), 1.0);
    }
}
