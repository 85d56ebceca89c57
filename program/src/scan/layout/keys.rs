//! The keys of frames.

use super::list::{List, only};
use crate::scan::place::{Place, Wanted};
use crate::scan::tree::{Found, Tree};
use crate::scan::{Input, numbers, terms};
use anyhow::{Context, Result};
use hdf5_metno::{Dataset, File};
use std::path::Path;

/// Keys of so many frames, and their name.
pub fn of(tree: &Tree, stack: &Found, frames: usize, scan: &Path, input: &Input) -> Result<Option<(Vec<f64>, String)>> {
    if let Some(name) = &input.keys {
        let dataset = Place::dataset(name, scan, Wanted::Lists(&[frames])).context("--keys")?;
        let keys = numbers::all(&dataset).with_context(|| format!("--keys: reading {name}"))?;
        return Ok(Some((keys, name.clone())));
    }
    let (named, others) = lists(tree, frames);
    // Without the name it takes flats and darks to tell keys from other small numbers.
    let all = |list: &List| list.found.whole && [0.0, 1.0, 2.0].iter().all(|key| list.values.contains(key));
    let lists = if named.is_empty() { others.into_iter().filter(all).collect() } else { named };
    Ok(only(lists, stack, "keys", "--keys")?.map(|list| (list.values, list.found.path().into())))
}

/// Lists of so many numbers that may be keys: those that are named so, and others.
fn lists(tree: &Tree, frames: usize) -> (Vec<List<'_>>, Vec<List<'_>>) {
    let read = |found: &'_ Found| -> Option<Vec<f64>> {
        let values = numbers::all(&found.dataset).ok()?;
        values.iter().all(|key| (0.0..=3.0).contains(key) && key.fract() == 0.0).then_some(values)
    };
    let is_named = |found: &Found| found.paths.iter().any(|path| terms::has(terms::parts(path)[0], &["key", "keys"]));
    let found = tree.lists(frames).filter_map(|found| Some(List { found, values: read(found)? }));
    found.partition(|list| is_named(list.found))
}

/// Keys in the group of frames that are named as flats or darks, and their name: such a dataset may hold others as well.
pub fn beside(file: &File, dataset: &Dataset) -> Result<Option<(Vec<f64>, String)>> {
    let &[frames, _, _] = dataset.shape().as_slice() else { return Ok(None) };
    let tree = Tree::of(file)?;
    let Some(stack) = tree.same(&Found::alone(dataset.clone(), &dataset.name())?) else { return Ok(None) };
    let (mut named, _) = lists(&tree, frames);
    named.retain(|list| list.found.groups().any(|group| stack.groups().any(|other| other == group)));
    Ok(only(named, stack, "keys", "--keys")?.map(|list| (list.values, list.found.path().into())))
}
