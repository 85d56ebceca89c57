//! Files of ALS 8.3.2 with a dataset a frame: a group with the scan's numbers as attributes (`nangles`, `arange`, `pxsize`), in which
//! `NAME_0000_0012.tif` is the projection 12, `NAMEbak_0001_0512.tif` the flat 1 of those taken before projection 512, and
//! `NAMEdrk_0000_0512.tif` a dark.

use crate::frames::{Frames, of_datasets};
use crate::scan::tree::{Found, Tree};
use crate::scan::units::{self, first};
use crate::scan::{Flats, Input, Pixel, Scan};
use anyhow::{Context, Result, ensure};
use hdf5_metno::{File, Group, Location};
use std::collections::BTreeMap;

/// An attribute that is a number, or its text.
fn number(of: &Location, name: &str) -> Option<f64> {
    let attribute = of.attr(name).ok()?;
    let value = match first(&attribute) {
        Some(text) => text.parse().ok(),
        None => attribute.read_raw::<f64>().ok().and_then(|values| values.first().copied()),
    };
    value.filter(|value: &f64| value.is_finite())
}

/// A frame's name in parts.
struct Sheet<'a> {
    prefix: String,
    /// Which of those at a place, and the place.
    numbers: [usize; 2],
    found: &'a Found,
}

impl<'a> Sheet<'a> {
    fn of(found: &'a Found, group: &str) -> Option<Self> {
        let path = found.paths.iter().find(|path| path.rsplit_once('/').is_some_and(|(inside, _)| inside == group))?;
        let stem = path.rsplit_once('/')?.1.strip_suffix(".tif")?;
        let (rest, place) = stem.rsplit_once('_')?;
        let (prefix, number) = rest.rsplit_once('_')?;
        let numbers = [number.parse().ok()?, place.parse().ok()?];
        Some(Self { prefix: prefix.into(), numbers, found })
    }

    fn is(&self, kind: &str) -> bool {
        self.prefix.ends_with(kind)
    }
}

/// Frames of some sheets, in the order in which they were taken.
fn frames(mut sheets: Vec<Sheet>) -> Result<Frames> {
    sheets.sort_by_key(|sheet| [sheet.numbers[1], sheet.numbers[0]]);
    Ok(Frames::all(of_datasets(sheets.into_iter().map(|sheet| sheet.found.dataset.clone()).collect())?))
}

pub fn read(file: &File, tree: &Tree, input: &Input) -> Result<Option<Scan>> {
    let mut groups: Vec<&str> = tree.found.iter().flat_map(Found::groups).filter(|group| !group.is_empty()).collect();
    groups.dedup();
    let holds = |path: &&str| file.group(path).is_ok_and(|group| group.attr("nangles").is_ok());
    let Some(path) = groups.into_iter().find(holds) else { return Ok(None) };
    scan(&file.group(path)?, path, tree, input)
        .with_context(|| format!("the group {path}, with a dataset a frame"))
        .map(Some)
}

fn scan(group: &Group, path: &str, tree: &Tree, input: &Input) -> Result<Scan> {
    let sheets = tree.found.iter().filter_map(|found| Sheet::of(found, path));
    let (darks, sheets): (Vec<_>, Vec<_>) = sheets.partition(|sheet| sheet.is("drk"));
    let (bright, views): (Vec<_>, Vec<_>) = sheets.into_iter().partition(|sheet| sheet.is("bak"));
    let count =
        number(group, "nangles").filter(|n| n.fract() == 0.0 && *n > 0.0).context("nangles is no count")? as usize;
    let mut which: Vec<_> = views.iter().map(|sheet| sheet.numbers[1]).collect();
    which.sort_unstable();
    let missing = (0..count).find(|view| which.binary_search(view).is_err());
    if let Some(view) = missing {
        anyhow::bail!("nangles is {count}, and there is no dataset of projection {view}, NAME_0000_{view:04}.tif");
    }
    ensure!(which.len() == count, "nangles is {count}, and there are {} datasets of projections", which.len());
    let turned: Option<Vec<f64>> = {
        let mut views: Vec<_> = views.iter().collect();
        views.sort_by_key(|sheet| sheet.numbers[1]);
        views.iter().map(|sheet| number(&sheet.found.dataset, "rot_angle")).collect()
    };
    let mut notes = vec![format!("projections: {count} datasets of {path}")];
    let angles = match (&input.angles, turned, number(group, "arange")) {
        (Some(_), ..) => vec![0.0; count],
        (None, Some(angles), _) => {
            notes.push("angles: the attributes rot_angle of projections, in degrees".into());
            angles.iter().map(|angle| (START - angle).to_radians()).collect()
        }
        (None, None, Some(range)) => {
            notes.push(format!("angles: {range} degrees, the attribute arange, between the first and the last"));
            let step = range / (count.max(2) - 1) as f64;
            (0..count).map(|k| (START - k as f64 * step).to_radians()).collect()
        }
        _ => anyhow::bail!("neither rot_angle nor arange tell the angles: --angles does"),
    };
    let mut flats = Vec::new();
    if input.flats.is_empty() {
        let mut places: BTreeMap<usize, Vec<Sheet>> = BTreeMap::new();
        // Those at the last projection were taken behind it.
        let place = |sheet: &Sheet| if sheet.numbers[1] + 1 >= count { count } else { sheet.numbers[1] };
        bright.into_iter().for_each(|sheet| places.entry(place(&sheet)).or_default().push(sheet));
        for (position, sheets) in places {
            flats.push(Flats { frames: frames(sheets)?, position });
        }
    }
    let darks = if darks.is_empty() || input.darks.is_some() { None } else { Some(frames(darks)?) };
    let pixel = number(group, "pxsize").map_or(Pixel::Untold, |side| units::pixel(side, None, "mm"));
    let title = path.rsplit('/').next().map(str::to_string);
    let views = frames(views)?;
    Ok(Scan { format: "ALS, a dataset a frame", title, views, angles, flats, darks, pixel, kind: None, notes })
}

/// Where the beamline's programs have the first projection, in degrees; the stage turns the other way.
const START: f64 = 270.0;
