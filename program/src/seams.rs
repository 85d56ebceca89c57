//! What neighbours share, of scans that follow each other in rows or in bins.

use anyhow::{Result, ensure};
use std::ops::Range;

/// What each scan and the next have, after what the scan before has, too, in rows or bins, which `what` names.
pub fn shared(scans: &[Range<usize>], what: &str) -> Result<Vec<Range<usize>>> {
    let seam = |k: usize| {
        let (this, next) = (&scans[k], &scans[k + 1]);
        let told = |k: usize| format!("scan {} ({what} {}..{})", k + 1, scans[k].start, scans[k].end);
        ensure!(
            this.start < next.start && this.end < next.end,
            "{} does not go beyond {}: each scan must have {what} of its own",
            told(k + 1),
            told(k)
        );
        ensure!(
            next.start <= this.end,
            "{what} {}..{} are in no scan, between {} and {}",
            this.end,
            next.start,
            told(k),
            told(k + 1)
        );
        let before = k.checked_sub(1).map_or(0, |k| scans[k].end);
        Ok(next.start.max(before)..this.end)
    };
    (0..scans.len().saturating_sub(1)).map(seam).collect()
}
