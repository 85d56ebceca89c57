//! Lists of numbers that may be the keys or the angles of frames.

use crate::scan::tree::{Found, told};
use anyhow::{Result, bail};

/// One of them.
pub struct List<'a> {
    pub found: &'a Found,
    pub values: Vec<f64>,
}

/// The only one of some lists, of which those with the same values are one, and those beside the frames go before others.
pub fn only<'a>(mut lists: Vec<List<'a>>, stack: &Found, what: &str, option: &str) -> Result<Option<List<'a>>> {
    let mut kept: Vec<List> = Vec::new();
    for list in lists.drain(..) {
        if kept.iter().all(|other| other.values != list.values) {
            kept.push(list);
        }
    }
    let beside = |list: &List| list.found.groups().any(|group| stack.groups().any(|other| other == group));
    if kept.len() > 1 && kept.iter().any(beside) {
        kept.retain(beside);
    }
    if kept.len() > 1 {
        let names = told(kept.iter().map(|list| list.found));
        bail!("{what} of {} may be {names}: {option} names one", stack.path());
    }
    Ok(kept.pop())
}
