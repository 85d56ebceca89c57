//! The keys of frames.

use super::list::{List, only};
use crate::scan::place::{Place, Wanted};
use crate::scan::tree::{Found, Tree};
use crate::scan::{Input, numbers, terms};
use anyhow::{Context, Result};
use std::path::Path;

/// Keys of so many frames, and their name.
pub fn of(tree: &Tree, stack: &Found, frames: usize, scan: &Path, input: &Input) -> Result<Option<(Vec<f64>, String)>> {
    if let Some(name) = &input.keys {
        let dataset = Place::dataset(name, scan, Wanted::Lists(&[frames])).context("--keys")?;
        let keys = numbers::all(&dataset).with_context(|| format!("--keys: reading {name}"))?;
        return Ok(Some((keys, name.clone())));
    }
    let read = |found: &'_ Found| -> Option<Vec<f64>> {
        let values = numbers::all(&found.dataset).ok()?;
        values.iter().all(|key| (0.0..=3.0).contains(key) && key.fract() == 0.0).then_some(values)
    };
    let list = |found| read(found).map(|values| List { found, values });
    let (named, others): (Vec<_>, Vec<_>) = tree
        .lists(frames)
        .filter_map(list)
        .partition(|list| list.found.paths.iter().any(|path| terms::has(terms::parts(path)[0], &["key", "keys"])));
    // Without the name it takes flats and darks to tell keys from other small numbers.
    let all = |list: &List| list.found.whole && [0.0, 1.0, 2.0].iter().all(|key| list.values.contains(key));
    let lists = if named.is_empty() { others.into_iter().filter(all).collect() } else { named };
    Ok(only(lists, stack, "keys", "--keys")?.map(|list| (list.values, list.found.path().into())))
}
