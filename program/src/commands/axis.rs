//! `isocenter axis`: the rotation axis, from some rows.

use super::{array, context, plan};
use crate::cli::Machine;
use crate::scan::Scan;
use anyhow::{Context as _, Result};
use isocenter::context::Context;
use isocenter::ct::{AxisOptions, FoundAxis};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// Rows that the search looks at, at most: in bands of one, evenly spread.
const ROWS: usize = 24;

pub fn run(path: &Path, machine: &Machine) -> Result<()> {
    let scan = Scan::open(path)?;
    let rows = scan.views.source.shape()[1];
    let found = find(&context(machine)?, &scan, 0..rows)?;
    println!("{:.3}  +- {:.3} bins, confidence {:.2}, {:?}", found.axis, found.error, found.confidence, found.method);
    Ok(())
}

/// Of some rows of a scan.
pub fn find(context: &Arc<Context>, scan: &Scan, rows: Range<usize>) -> Result<FoundAxis> {
    let [_, _, bins] = scan.views.source.shape();
    // A band about the middle of the rows.
    let count = ROWS.min(rows.len());
    let first = rows.start + (rows.len() - count) / 2;
    let band = first..first + count;
    let ct = plan(context, scan, None, band.clone())?;
    let bytes = scan.views.rows(band)?;
    let projections = array(&bytes, scan.views.source.dtype(), [scan.views.which.len(), count, bins]);
    ct.find_axis(projections, &AxisOptions::default()).context("searching the rotation axis")
}
