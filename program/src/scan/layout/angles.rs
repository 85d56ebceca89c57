//! The angles of frames.

use super::list::{List, only};
use crate::frames::Frames;
use crate::scan::angles::Angles;
use crate::scan::tree::{Found, Tree};
use crate::scan::{numbers, terms};
use anyhow::Result;

/// What spreads of angles in degrees look like, for lists that say nothing else of themselves.
const SPREAD: std::ops::RangeInclusive<f64> = 89.0..=361.0;

/// What a motor's place that is read back moves by where it stays, in degrees or in radians.
const STILL: f64 = 0.1;

/// Whether a list may be angles.
type Fits<'a> = &'a dyn Fn(&List) -> bool;

/// Angles of projections, and what they were taken from; nothing where no list may be theirs.
pub fn of(tree: &Tree, stack: &Found, views: &Frames) -> Result<Option<(Angles, String)>> {
    let [frames, count] = [views.source.shape()[0], views.which.len()];
    let list = |found: &'_ Found| -> Option<Vec<f64>> {
        let angles = Angles::new(numbers::all(&found.dataset).ok()?);
        let angles = if angles.values.len() == count { angles } else { angles.of(&views.which) };
        let [low, high] = angles.range();
        // What stays where it is turns nothing.
        (angles.values.iter().all(|angle| angle.is_finite()) && high - low > STILL).then_some(angles.values)
    };
    let lengths = if frames == count { vec![count] } else { vec![frames, count] };
    let found = lengths.into_iter().flat_map(|length| tree.lists(length));
    let lists: Vec<_> = found.filter_map(|found| Some(List { found, values: list(found)? })).collect();
    let name = |list: &List| list.found.paths.iter().any(|path| terms::holds_angles(path));
    let unit = |list: &List| {
        let units = numbers::units(&list.found.dataset);
        units.map(|units| terms::radians(&units).is_some())
    };
    let content = |list: &List| {
        let [low, high] = Angles::new(list.values.clone()).range();
        let places = list.found.paths.iter().all(|path| terms::may_be_places(terms::parts(path)[0]));
        let steady = list.values.is_sorted() || list.values.iter().rev().is_sorted();
        places && steady && !list.found.whole && unit(list).is_none() && SPREAD.contains(&(high - low))
    };
    let fits: [(&str, Fits); 3] = [
        ("by its name", &name),
        ("by its units", &|list| unit(list) == Some(true)),
        ("by its values, which go through 90 to 360 degrees", &content),
    ];
    let why = fits.into_iter().find(|(_, fits)| lists.iter().any(fits));
    let Some((why, fits)) = why else { return Ok(None) };
    let mut lists: Vec<_> = lists.into_iter().filter(|list| fits(list)).collect();
    // Where a motor was goes before where it was sent.
    let demand = |list: &List| list.found.paths.iter().all(|path| terms::is_demand(path));
    if lists.iter().any(|list| !demand(list)) {
        lists.retain(|list| !demand(list));
    }
    let Some(list) = only(lists, stack, "angles", "--angles")? else { return Ok(None) };
    let unit = numbers::units(&list.found.dataset);
    let told = format!("angles: {}, {why}", list.found.told());
    Ok(Some((Angles { values: list.values, unit, note: None }, told)))
}
