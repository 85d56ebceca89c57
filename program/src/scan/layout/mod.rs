//! HDF5 files that are neither NXtomo nor Data Exchange by their names: what they hold tells what is what. What is not certain is an error
//! that names all that it may be.

mod axes;
mod bliss;
mod sheets;
mod stacks;

use super::angles::Angles;
use super::keyed::{self, Parts};
use super::place::{Place, Wanted};
use super::terms;
use super::tree::{Found, Tree, told};
use super::units::text;
use super::{Flats, Input, Pixel, Scan, length};
use crate::frames::{Frames, of_dataset};
use anyhow::{Context, Result, bail};
use hdf5_metno::{File, Group};
use stacks::Others;
use std::path::Path;

pub fn read(file: &File, path: &Path, input: &Input) -> Result<Scan> {
    let tree = Tree::of(file)?;
    if input.data.is_none() && input.keys.is_none() {
        if let Some(scan) = sheets::read(file, &tree, input)? {
            return Ok(scan);
        }
        if let Some(scan) = bliss::read(file, &tree, input)? {
            return Ok(scan);
        }
    }
    let named = match &input.data {
        Some(name) => Some(Found::alone(Place::dataset(name, path, Wanted::Frames).context("--data")?, name)?),
        None => None,
    };
    let stack = match &named {
        // Its other names, where it is of this file.
        Some(named) => tree.same(named).unwrap_or(named),
        None => chosen(&tree, input)?,
    };
    let mut notes = vec![format!("projections: {}", stack.told())];
    let across = axes::are_sinograms(file, stack);
    if across && !input.sinograms {
        notes.push("its axes say that it holds sinograms".into());
    }
    let sinograms = Input { sinograms: input.sinograms || across, ..input.clone() };
    let source = sinograms.projections(of_dataset(stack.dataset.clone())?);
    let Parts { views, mut flats, mut darks } = match keys(&tree, stack, source.shape()[0], path, input)? {
        Some((keys, name)) => {
            let parts = keyed::parts(&source, &keys, &name)?;
            notes.push(format!("keys: {name}"));
            parts
        }
        None => Parts { views: Frames::all(source.clone()), flats: Vec::new(), darks: None },
    };
    let others = Others::of(&tree, stack, source.shape());
    if flats.is_empty() && input.flats.is_empty() {
        for (found, position) in others.flats(views.which.len())? {
            notes.push(format!("flats: {}", found.told()));
            flats.push(Flats { frames: Frames::all(of_dataset(found.dataset.clone())?), position });
        }
    }
    if darks.is_none() && input.darks.is_none() {
        notes.extend(others.darks.iter().map(|found| format!("darks: {}", found.told())));
        darks = others.darks()?;
    }
    let angles = match input.angles {
        // Others that are given go before them, whatever they are.
        Some(_) => vec![0.0; views.which.len()],
        None => {
            let (angles, told) = angles(&tree, stack, &views)?.with_context(|| {
                let lists = told(tree.lists(views.which.len()).chain(tree.lists(source.shape()[0])));
                format!(
                    "nothing in it tells the angles of {}: --angles 0..180 does, a file, or a dataset; lists as long are {lists}",
                    stack.path()
                )
            })?;
            notes.push(told);
            angles.radians(input.angle_unit).with_context(|| stack.path().to_string())?
        }
    };
    let format = if input.data.is_some() { "HDF5, as it is named" } else { "HDF5, by what it holds" };
    let title = title(file, stack);
    Ok(Scan { format, title, views, angles, flats, darks, pixel: pixel(file, stack), kind: None, notes })
}

/// The only stack of frames that a file can be read by.
fn chosen<'a>(tree: &'a Tree, input: &Input) -> Result<&'a Found> {
    let stacks: Vec<_> = tree.stacks().filter(|found| stacks::may_be(found, input.sinograms)).collect();
    match stacks.as_slice() {
        [] => bail!(
            "it has no NXtomo entry (a group with image_key), no exchange/data (Data Exchange), and no other frames, which have three \
             dimensions: views, rows and bins; its datasets are {}{}",
            told(tree.found.iter()),
            tree.told_broken()
        ),
        [stack] => return Ok(stack),
        _ => {}
    }
    let turning = stacks.iter().filter(|stack| {
        let frames = stack.shape[usize::from(input.sinograms)];
        tree.lists(frames).any(|list| list.paths.iter().any(|path| terms::holds_angles(path)))
    });
    match turning.collect::<Vec<_>>().as_slice() {
        [stack] if input.angles.is_none() => Ok(stack),
        _ => bail!(
            "it has several datasets that may be the projections, {}: --data names one",
            told(stacks.iter().copied())
        ),
    }
}

/// What a list is taken for, and why.
struct List<'a> {
    found: &'a Found,
    values: Vec<f64>,
    why: &'static str,
}

/// The only one of some lists, of which those with the same values are one, and those beside the frames go before others.
fn only<'a>(mut lists: Vec<List<'a>>, stack: &Found, what: &str, option: &str) -> Result<Option<List<'a>>> {
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

/// Keys of so many frames, and their name.
fn keys(tree: &Tree, stack: &Found, frames: usize, scan: &Path, input: &Input) -> Result<Option<(Vec<f64>, String)>> {
    if let Some(name) = &input.keys {
        let dataset = Place::dataset(name, scan, Wanted::Lists(&[frames])).context("--keys")?;
        let keys = super::numbers::all(&dataset).with_context(|| format!("--keys: reading {name}"))?;
        return Ok(Some((keys, name.clone())));
    }
    let of = |found: &'_ Found| -> Option<Vec<f64>> {
        let values = found.whole.then(|| super::numbers::all(&found.dataset).ok())??;
        values.iter().all(|key| (0.0..=3.0).contains(key)).then_some(values)
    };
    let list = |found| of(found).map(|values| List { found, values, why: "" });
    let (named, others): (Vec<_>, Vec<_>) = tree
        .lists(frames)
        .filter_map(list)
        .partition(|list| list.found.paths.iter().any(|path| terms::has(terms::parts(path)[0], &["key", "keys"])));
    // Without the name it takes flats and darks to tell keys from other small numbers.
    let all = |list: &List| [0.0, 1.0, 2.0].iter().all(|key| list.values.contains(key));
    let lists = if named.is_empty() { others.into_iter().filter(all).collect() } else { named };
    Ok(only(lists, stack, "keys", "--keys")?.map(|list| (list.values, list.found.path().into())))
}

/// What spreads of angles in degrees look like, for lists that say nothing else of themselves.
const SPREAD: std::ops::RangeInclusive<f64> = 89.0..=361.0;

/// Angles of projections, and what they were taken from; nothing where no list may be theirs.
fn angles(tree: &Tree, stack: &Found, views: &Frames) -> Result<Option<(Angles, String)>> {
    let [frames, count] = [views.source.shape()[0], views.which.len()];
    let list = |found: &'_ Found| -> Option<Vec<f64>> {
        let angles = Angles::new(super::numbers::all(&found.dataset).ok()?);
        let angles = if angles.values.len() == count { angles } else { angles.of(&views.which) };
        let [low, high] = angles.range();
        // What stays where it is turns nothing.
        (angles.values.iter().all(|angle| angle.is_finite()) && high > low).then_some(angles.values)
    };
    let lengths = if frames == count { vec![count] } else { vec![frames, count] };
    let found = lengths.into_iter().flat_map(|length| tree.lists(length));
    let lists: Vec<_> = found.filter_map(|found| Some(List { found, values: list(found)?, why: "" })).collect();
    let name = |list: &List| list.found.paths.iter().any(|path| terms::holds_angles(path));
    let unit = |list: &List| {
        let units = super::numbers::units(&list.found.dataset);
        units.map(|units| terms::radians(&units).is_some())
    };
    let content = |list: &List| {
        let [low, high] = Angles::new(list.values.clone()).range();
        let places = list.found.paths.iter().all(|path| terms::may_be_places(terms::parts(path)[0]));
        places && !list.found.whole && unit(list).is_none() && SPREAD.contains(&(high - low))
    };
    let fits: [(&str, &dyn Fn(&List) -> bool); 3] = [
        ("by its name", &name),
        ("by its units", &|list| unit(list) == Some(true)),
        ("by its values, 90 to 360 degrees", &content),
    ];
    let why = fits.into_iter().find(|(_, fits)| lists.iter().any(fits));
    let Some((why, fits)) = why else { return Ok(None) };
    let mut lists: Vec<_> = lists.into_iter().filter(|list| fits(list)).map(|list| List { why, ..list }).collect();
    // Where a motor was goes before where it was sent.
    let demand = |list: &List| list.found.paths.iter().all(|path| terms::is_demand(path));
    if lists.iter().any(|list| !demand(list)) {
        lists.retain(|list| !demand(list));
    }
    let Some(list) = only(lists, stack, "angles", "--angles")? else { return Ok(None) };
    let unit = super::numbers::units(&list.found.dataset);
    let told = format!("angles: {}, {}", list.found.told(), list.why);
    Ok(Some((Angles { values: list.values, unit, note: None }, told)))
}

/// The title of the entry that frames are in.
fn title(file: &Group, stack: &Found) -> Option<String> {
    let entry = stack.path().trim_start_matches('/').split('/').next()?;
    text(&file.group(entry).ok()?, "title")
}

/// The side of a pixel, where it lies beside frames as in NXtomo.
fn pixel(file: &Group, stack: &Found) -> Pixel {
    let beside = stack.groups().filter_map(|group| file.group(group).ok());
    let mut told = beside.map(|group| length(&group, "x_pixel_size", "m")).filter(|pixel| *pixel != Pixel::Untold);
    told.next().unwrap_or_default()
}
