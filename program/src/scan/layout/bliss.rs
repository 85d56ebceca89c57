//! Files that BLISS writes at the ESRF: an entry for each step of a scan, `1.1`, `2.1` and on, whose titles tell what was taken.

use super::list::{List, only};
use crate::frames::{Frames, joined, of_dataset};
use crate::scan::angles::Angles;
use crate::scan::terms::{self, is_angle};
use crate::scan::tree::{Found, Tree, told};
use crate::scan::units::text;
use crate::scan::{Flats, Input, Pixel, Scan, length, numbers};
use anyhow::{Context, Result, bail, ensure};
use hdf5_metno::{File, Group};

/// What an entry is, by how its title begins.
#[derive(Clone, Copy, PartialEq)]
enum Step {
    Begin,
    Projections,
    Flats,
    Darks,
}

impl Step {
    fn of(title: &str) -> Option<Self> {
        let begins = |words: &[&str]| words.iter().any(|word| title.starts_with(word));
        match () {
            () if begins(&["tomo:", "pcotomo:", "sequence_of_scans"]) => Some(Self::Begin),
            () if begins(&["projections"]) => Some(Self::Projections),
            () if begins(&["flat", "reference", "ref"]) => Some(Self::Flats),
            () if begins(&["dark"]) => Some(Self::Darks),
            () => None,
        }
    }
}

/// An entry.
struct Entry {
    path: String,
    step: Step,
    title: String,
    group: Group,
}

/// Entries with titles of a scan, in the order in which they were taken.
fn entries(file: &File) -> Result<Vec<Entry>> {
    let mut entries = Vec::new();
    for name in file.member_names().context("reading the file's groups")? {
        let Some((major, minor)) = name.split_once('.') else { continue };
        let (Ok(major), Ok(minor)) = (major.parse::<u32>(), minor.parse::<u32>()) else { continue };
        let Ok(group) = file.group(&name) else { continue };
        let Some(title) = text(&group, "title") else { continue };
        let Some(step) = Step::of(&title) else { continue };
        entries.push(([major, minor], Entry { path: format!("/{name}"), step, title, group }));
    }
    entries.sort_by_key(|(number, _)| *number);
    Ok(entries.into_iter().map(|(_, entry)| entry).collect())
}

/// What makes an NXtomo file of one that is not read here.
const CONVERTED: &str = "nxtomomill h52nx IN.h5 OUT.nx (pip install nxtomomill) makes NXtomo files of it";

impl Entry {
    fn holds(&self, found: &Found) -> bool {
        found.paths.iter().any(|path| path.strip_prefix(&self.path).is_some_and(|rest| rest.starts_with('/')))
    }

    /// The frames of its only detector; nothing where it has none.
    fn frames<'a>(&self, tree: &'a Tree) -> Result<Option<&'a Found>> {
        let stacks: Vec<_> = tree.stacks().filter(|found| self.holds(found)).collect();
        match stacks.as_slice() {
            [] => Ok(None),
            [stack] => Ok(Some(stack)),
            _ => bail!("{} has frames of several detectors, {}: {CONVERTED}", self.path, told(stacks.iter().copied())),
        }
    }

    /// Angles of its frames: of the motor among those in `measurement` that turns, or in `instrument`.
    fn angles<'a>(&self, tree: &'a Tree, stack: &Found) -> Result<(Angles, String)> {
        let lists = tree.lists(stack.shape[0]).filter(|found| self.holds(found));
        let name = |found: &Found| {
            let names = found.paths.iter().filter_map(|path| {
                let [name, group] = terms::parts(path);
                (is_angle(name) || terms::holds_angles(path))
                    .then(|| if is_angle(name) { name } else { group }.to_string())
            });
            names.min_by_key(String::len)
        };
        let mut lists: Vec<_> = lists.filter_map(|found| Some((name(found)?, found))).collect();
        // hrsrot goes before hrsrot_center, which is of the same motor.
        let motors: Vec<_> = lists.iter().map(|(name, _)| name.clone()).collect();
        let of_other = |name: &str| motors.iter().any(|other| name != other && name.starts_with(&format!("{other}_")));
        lists.retain(|(name, _)| !of_other(name));
        let read = |(_, found): (String, &'a Found)| -> Result<List> {
            let values = numbers::all(&found.dataset).with_context(|| format!("reading {}", found.path()))?;
            Ok(List { found, values })
        };
        let all = lists.into_iter().map(read).collect::<Result<_>>()?;
        let list = only(all, stack, "angles", "--angles")?;
        let list =
            list.with_context(|| format!("nothing in {} tells the angles of its frames: --angles does", self.path))?;
        let angles = Angles { values: list.values, unit: numbers::units(&list.found.dataset), note: None };
        Ok((angles, list.found.told()))
    }
}

pub fn read(file: &File, tree: &Tree, input: &Input) -> Result<Option<Scan>> {
    let entries = entries(file)?;
    if entries.iter().all(|entry| entry.step != Step::Projections) {
        return Ok(None);
    }
    ensure!(!input.sinograms, "--sinograms: the file has projections, as BLISS writes them");
    let begun: Vec<_> =
        entries.iter().filter(|entry| entry.step == Step::Begin).map(|entry| entry.path.as_str()).collect();
    ensure!(begun.len() < 2, "it has several scans, which begin at {}: {CONVERTED}", begun.join(", "));
    let mut notes = Vec::new();
    let (mut views, mut angles, mut unit) = (Vec::new(), Vec::new(), None);
    let (mut flats, mut darks) = (Vec::new(), Vec::new());
    for entry in &entries {
        let Some(stack) = entry.frames(tree)? else {
            ensure!(
                entry.step != Step::Projections,
                "{}, \"{}\", has no frames{}",
                entry.path,
                entry.title,
                tree.told_broken()
            );
            continue;
        };
        let source = of_dataset(stack.dataset.clone())?;
        notes.push(format!("{}: {}", entry.title, stack.told()));
        match entry.step {
            Step::Begin => bail!("{}, \"{}\", has frames: {CONVERTED}", entry.path, entry.title),
            Step::Projections => {
                if input.angles.is_none() {
                    let (of, name) = entry.angles(tree, stack)?;
                    notes.push(format!("angles: {name}"));
                    ensure!(views.is_empty() || of.unit == unit, "angles are in several units: --angles tells them");
                    unit = of.unit;
                    angles.extend(of.values);
                }
                views.push(source);
            }
            Step::Flats => flats.push((source, views.iter().map(|source| source.shape()[0]).sum())),
            Step::Darks => darks.push(source),
        }
    }
    let views = Frames::all(joined(views).context("projections")?);
    let angles = match input.angles {
        Some(_) => vec![0.0; views.which.len()],
        None => Angles { values: angles, unit, note: None }.radians(input.angle_unit)?,
    };
    let flats = flats.into_iter().map(|(source, position)| Flats { frames: Frames::all(source), position }).collect();
    let darks = if darks.is_empty() { None } else { Some(Frames::all(joined(darks).context("darks")?)) };
    let title = entries.first().map(|entry| entry.title.clone());
    Ok(Some(Scan { format: "BLISS", title, views, angles, flats, darks, pixel: pixel(&entries), kind: None, notes }))
}

/// The side of a pixel at the sample.
fn pixel(entries: &[Entry]) -> Pixel {
    let optic = entries.iter().filter_map(|entry| entry.group.group("technique/optic").ok());
    let mut told = optic.map(|optic| length(&optic, "sample_pixel_size", "um")).filter(|pixel| *pixel != Pixel::Untold);
    told.next().unwrap_or_default()
}
