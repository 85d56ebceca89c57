//! NXtomo: an entry with `instrument/detector/data`, `image_key` and `sample/rotation_angle`.

use super::angles::Angles;
use super::keyed::{self, Parts};
use super::units::text;
use super::{Input, Scan, length, numbers};
use crate::frames::of_dataset;
use anyhow::{Context, Result, bail, ensure};
use hdf5_metno::{File, Group};

/// Whether a group says that it is one, or looks like one.
fn is(group: &Group) -> bool {
    let says = text(group, "definition").is_some_and(|name| name == "NXtomo");
    says || group.dataset("instrument/detector/image_key").is_ok()
}

/// The groups of a file that are entries, or, as Diamond writes them, subentries, with the names that lead to them.
fn entries(file: &File) -> Result<Vec<(String, Group)>> {
    // Members that are no groups, such as links to what is not there, are none.
    let groups = |of: &Group| -> Result<Vec<_>> {
        let names = of.member_names().context("reading the file's groups")?;
        Ok(names.into_iter().filter_map(|name| Some((name.clone(), of.group(&name).ok()?))).collect())
    };
    let mut found = Vec::new();
    for (name, group) in groups(file)? {
        if is(&group) {
            found.push((name, group));
            continue;
        }
        let inside = groups(&group)?.into_iter().filter(|(_, inside)| is(inside));
        found.extend(inside.map(|(inside, group)| (format!("{name}/{inside}"), group)));
    }
    Ok(found)
}

/// The entry of a file that is one, or that is named.
pub fn entry(file: &File, named: Option<&str>) -> Result<Option<Group>> {
    let entries = entries(file)?;
    let places = entries.iter().map(|(place, _)| place.as_str()).collect::<Vec<_>>().join(", ");
    if let Some(name) = named.map(|name| name.trim_matches('/')) {
        let fits = |(place, _): &(String, Group)| {
            place.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let found = entries.into_iter().find(fits).map(|(_, group)| group);
        let there = if places.is_empty() { "none".into() } else { places };
        return found.map(Some).with_context(|| format!("--entry {name}: NXtomo entries of the file are {there}"));
    }
    // Where frames are, if they can be told.
    let data = |(_, group): &(String, Group)| {
        let about = group.dataset("instrument/detector/data").ok()?.loc_info().ok()?;
        Some((about.fileno, about.token))
    };
    if entries.windows(2).any(|pair| data(&pair[0]).is_none_or(|of| data(&pair[1]) != Some(of))) {
        bail!("there are several NXtomo entries: --entry names one of {places}");
    }
    Ok(entries.into_iter().next().map(|(_, group)| group))
}

/// Of so many frames.
fn angles(entry: &Group, frames: usize) -> Result<Angles> {
    let sample = entry.group("sample").context("there is no sample")?;
    ensure!(sample.link_exists("rotation_angle"), "there is no sample/rotation_angle: --angles tells others");
    let angles = Angles::of_dataset(&sample.dataset("rotation_angle").context("reading sample/rotation_angle")?)?;
    if angles.values.len() != frames {
        bail!("rotation_angle has {} values for {frames} frames", angles.values.len());
    }
    Ok(angles)
}

pub fn read(entry: &Group, input: &Input) -> Result<Scan> {
    let detector = entry.group("instrument/detector")?;
    let source =
        of_dataset(detector.dataset("data").context("there is no instrument/detector/data that can be read")?)?;
    let source = input.projections(source);
    let keys = numbers(&detector, "image_key")?.unwrap_or_default();
    let frames = source.shape()[0];
    let Parts { views, flats, darks } = keyed::parts(&source, &keys, "image_key")?;
    // Others that are given go before them, whatever they are.
    let angles = match input.angles {
        Some(_) => vec![0.0; views.which.len()],
        None => angles(entry, frames)?.of(&views.which).radians(input.angle_unit)?,
    };
    let pixel = length(&detector, "x_pixel_size", "m");
    let mut notes = Vec::new();
    if let Some([place, ..]) = numbers(&detector, "x_rotation_axis_pixel_position")?.as_deref() {
        notes.push(format!(
            "x_rotation_axis_pixel_position is {place}, which is not used: the axis is searched, or --axis"
        ));
    }
    let title = text(entry, "title");
    Ok(Scan { format: "NXtomo", title, views, angles, flats, darks, pixel, kind: None, notes })
}
