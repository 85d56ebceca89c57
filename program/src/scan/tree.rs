//! What an HDF5 file holds, by name: its datasets, under all names that links give them.

use super::terms;
use anyhow::{Context, Result, ensure};
use hdf5_metno::types::TypeDescriptor;
use hdf5_metno::{Dataset, Group, Location, LocationToken};

/// Groups in each other, at most, and datasets that are looked at.
const DEEP: usize = 24;
const MOST: usize = 1 << 16;
/// Datasets that a message names.
const NAMED: usize = 12;

/// Where an object is, whatever its name.
#[derive(Clone, Copy, PartialEq)]
struct Identity(u64, LocationToken);

impl Identity {
    fn of(location: &Location) -> Option<Self> {
        let about = location.loc_info().ok()?;
        Some(Self(about.fileno, about.token))
    }
}

/// A dataset.
pub struct Found {
    pub dataset: Dataset,
    /// The shortest first.
    pub paths: Vec<String>,
    pub shape: Vec<usize>,
    /// Whether its values are whole numbers; others are floating point.
    pub whole: bool,
    identity: Option<Identity>,
}

impl Found {
    /// One that is named, whatever file it is of.
    pub fn alone(dataset: Dataset, name: &str) -> Result<Self> {
        let identity = Identity::of(&dataset);
        let shape = dataset.shape();
        ensure!(shape.len() == 3, "{name} has {} dimensions; it must have 3: views, rows, bins", shape.len());
        Ok(Self { dataset, paths: vec![name.into()], shape, whole: false, identity })
    }

    /// What it is called.
    pub fn path(&self) -> &str {
        &self.paths[0]
    }

    /// Its length, if it is a list.
    pub fn length(&self) -> Option<usize> {
        let long = self.shape.iter().filter(|&&side| side != 1).count();
        (!self.shape.is_empty() && long <= 1).then(|| self.shape.iter().product())
    }

    /// The groups that it is in.
    pub fn groups(&self) -> impl Iterator<Item = &str> {
        self.paths.iter().filter_map(|path| path.rsplit_once('/').map(|(group, _)| group))
    }

    /// Its name and shape, for messages.
    pub fn told(&self) -> String {
        let sides: Vec<_> = self.shape.iter().map(usize::to_string).collect();
        format!("{} ({})", self.path(), sides.join(" x "))
    }
}

/// A file's datasets of numbers.
#[derive(Default)]
pub struct Tree {
    pub found: Vec<Found>,
    /// Names of links that lead to what is not there.
    pub broken: Vec<String>,
    groups: Vec<Identity>,
}

impl Tree {
    pub fn of(file: &Group) -> Result<Self> {
        let mut tree = Self::default();
        tree.add(file, "", DEEP)?;
        for found in &mut tree.found {
            found.paths.sort_by_key(|path| (path.len(), path.clone()));
        }
        Ok(tree)
    }

    /// All that is in a group of this path.
    fn add(&mut self, group: &Group, path: &str, deep: usize) -> Result<()> {
        let identity = Identity::of(group);
        // Links may lead round.
        if deep == 0 || identity.is_some_and(|identity| self.groups.contains(&identity)) {
            return Ok(());
        }
        self.groups.extend(identity);
        let mut names = group.member_names().with_context(|| format!("reading the group {path}/"))?;
        names.sort();
        for name in names {
            let path = format!("{path}/{name}");
            if let Ok(dataset) = group.dataset(&name) {
                self.insert(dataset, path);
            } else if let Ok(inside) = group.group(&name) {
                self.add(&inside, &path, deep - 1)?;
            } else if group.loc_type_by_name(&name).is_err() {
                self.broken.push(path);
            }
        }
        Ok(())
    }

    fn insert(&mut self, dataset: Dataset, path: String) {
        let identity = Identity::of(&dataset);
        if let Some(same) = self.found.iter_mut().find(|found| identity.is_some() && found.identity == identity) {
            return same.paths.push(path);
        }
        let kind = dataset.dtype().and_then(|dtype| dtype.to_descriptor());
        let whole = match kind {
            Ok(TypeDescriptor::Integer(_) | TypeDescriptor::Unsigned(_)) => true,
            Ok(TypeDescriptor::Float(_)) => false,
            _ => return,
        };
        if self.found.len() < MOST {
            let shape = dataset.shape();
            self.found.push(Found { dataset, paths: vec![path], shape, whole, identity });
        }
    }

    /// The same dataset, if it is one of these.
    pub fn same(&self, other: &Found) -> Option<&Found> {
        self.found.iter().find(|found| found.identity.is_some() && found.identity == other.identity)
    }

    /// Datasets of three dimensions that may be frames.
    pub fn stacks(&self) -> impl Iterator<Item = &Found> {
        self.found
            .iter()
            .filter(|found| matches!(found.shape[..], [frames, rows, bins] if frames > 0 && rows > 0 && bins > 1))
    }

    /// Lists of this length.
    pub fn lists(&self, length: usize) -> impl Iterator<Item = &Found> {
        self.found.iter().filter(move |found| found.length() == Some(length))
    }

    /// What links that lead nowhere may be the reason of.
    pub fn told_broken(&self) -> String {
        match self.broken.as_slice() {
            [] => String::new(),
            [first, ..] => format!("; {first} leads to what is not there: a file that it links to may be missing"),
        }
    }
}

/// Datasets by name, for messages, those whose names are of angles first.
pub fn told<'a>(found: impl Iterator<Item = &'a Found>) -> String {
    let mut found: Vec<_> = found.collect();
    found.sort_by_key(|found| !terms::holds_angles(found.path()));
    let more = found.len().saturating_sub(NAMED);
    let names: Vec<_> = found.iter().take(NAMED).map(|found| found.told()).collect();
    match (names.is_empty(), more) {
        (true, _) => "none".into(),
        (_, 0) => names.join(", "),
        _ => format!("{} and {more} more", names.join(", ")),
    }
}
