//! Projections that are no measurement: found in some rows, named, and left out.

use super::axis::looked_at;
use super::{array, input, plan};
use crate::plan::FlatField;
use crate::scan::{Input, Scan, chosen};
use crate::{status, talk, words};
use anyhow::{Result, bail};
use clap::ValueEnum;
use isocenter::context::Context;
use isocenter::ct::{Options, ViewFault};
use std::ops::Range;
use std::sync::Arc;

/// What becomes of projections that are no measurement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum BadViews {
    /// Those that are black, saturated, frozen or no numbers are left out and named; doubtful ones are named alone
    #[default]
    Auto,
    /// Nobody looks for them, and all are used
    Keep,
    /// Where there are such as would be left out, that is an error
    Error,
}

/// Rows that are looked at: of those that the axis is searched by, so that nothing is read twice.
const ROWS: usize = 8;
/// More than one projection in so many are too many to go on without.
const MANY: usize = 3;

/// Leaves out of the scan what is certainly no measurement, and tells of it; gives the numbers of what was left out, as `--skip` takes them.
pub fn leave_out(
    wanted: BadViews,
    context: &Arc<Context>,
    scan: &mut Scan,
    (said, flat): (&Input, &FlatField),
    rows: Range<usize>,
) -> Result<Option<String>> {
    if wanted == BadViews::Keep {
        return Ok(None);
    }
    let faults = find(context, scan, flat, rows)?;
    let numbers = chosen::numbers(scan, said)?;
    let of = |fault: ViewFault| -> Vec<usize> {
        let views = faults.iter().zip(&numbers).filter(|(found, _)| **found == Some(fault));
        views.map(|(_, number)| *number).collect()
    };
    let kinds = [ViewFault::Black, ViewFault::Saturated, ViewFault::Frozen, ViewFault::NotFinite];
    let kinds = kinds.map(|kind| (of(kind), kind.name())).into_iter().filter(|(views, _)| !views.is_empty());
    let told = kinds.map(|(views, name)| format!("{} ({name})", chosen::text(&views))).collect::<Vec<_>>().join(", ");
    let doubtful = of(ViewFault::Doubtful);
    if !doubtful.is_empty() {
        let views = chosen::text(&doubtful);
        talk::note(format_args!(
            "projections {views} are far darker or brighter than those beside them, and are used; --skip {views} leaves them out"
        ));
    }
    let used: Vec<_> = faults.iter().map(|fault| !fault.is_some_and(ViewFault::certain)).collect();
    let (all, bad) = (used.len(), used.iter().filter(|used| !**used).count());
    if bad == 0 {
        return Ok(None);
    }
    let certain: Vec<_> = used.iter().zip(&numbers).filter(|(used, _)| !**used).map(|(_, number)| *number).collect();
    let certain = chosen::text(&certain);
    if wanted == BadViews::Error {
        bail!("projections {told} are no measurement: --skip {certain} leaves them out, --bad-views keep uses them");
    }
    if bad * MANY > all {
        bail!(
            "{bad} of {all} projections are no measurement, {told}: --skip {certain} leaves them out all the same, --bad-views keep uses them"
        );
    }
    talk::note(format_args!("projections {told} are left out, as by --skip {certain}; --bad-views keep uses them"));
    chosen::keep(scan, &used);
    Ok(Some(certain))
}

/// What is wrong with each projection, by some rows of it.
fn find(context: &Arc<Context>, scan: &Scan, flat: &FlatField, rows: Range<usize>) -> Result<Vec<Option<ViewFault>>> {
    let [_, all, bins] = scan.views.source.shape();
    let searched = looked_at(all, rows, false).0;
    let rows = some(&searched);
    let mut ct = plan(context, scan, &flat.of_rows(), &rows)?;
    ct.set_options(Options { input: input(scan), ..Options::default() })?;
    let bytes = scan.views.rows(&rows).map_err(status::unreadable)?;
    let shape = [scan.views.which.len(), rows.len(), bins];
    let found = ct.find_bad_views(array(&bytes, scan.views.source.dtype(), shape));
    Ok(found.map_err(|error| words::in_rows(error, &rows))?)
}

/// Some of these rows, evenly, both ends in.
fn some(rows: &[usize]) -> Vec<usize> {
    let count = ROWS.min(rows.len());
    (0..count).map(|k| rows[(k * (rows.len() - 1) + (count - 1) / 2) / (count - 1).max(1)]).collect()
}
