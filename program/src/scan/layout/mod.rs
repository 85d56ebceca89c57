//! HDF5 files that are neither NXtomo nor Data Exchange by their names: what they hold tells what is what. What is not certain is an error
//! that names all that it may be.

mod angles;
mod axes;
mod bliss;
pub mod keys;
mod list;
mod sheets;
mod stacks;

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
    let Parts { views, mut flats, mut darks } = match keys::of(&tree, stack, source.shape()[0], path, input)? {
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
            let (angles, told) = angles::of(&tree, stack, &views)?.with_context(|| {
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
