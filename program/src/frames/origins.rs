//! The files that a virtual dataset is made of: where one of them is missing, HDF5 gives its fill value, which would be taken for counts.

use super::chunks::whole;
use super::mapping::{self, Mapping, Taken};
use anyhow::{Context, Result, bail, ensure};
use hdf5_metno::plist::dataset_create::Layout;
use hdf5_metno::{Dataset, File};
use std::path::{Path, PathBuf};

/// Virtual datasets of virtual datasets, one in the other, at most.
const DEEP: usize = 16;
/// Blocks behind the last that is there which are looked at: HDF5 ends where the first is missing.
const BEHIND: usize = 8;

/// An error unless all that a dataset is made of is there, if it is virtual.
pub fn complete(dataset: &Dataset) -> Result<()> {
    below(dataset, DEEP, |_| Ok(()))
}

/// The same of a dataset that the HDF5 library reads, which takes chunks to be as long as they have to be.
pub fn sound(dataset: &Dataset) -> Result<()> {
    below(dataset, DEEP, whole)
}

/// Looks at all that a dataset is made of, or at the dataset, if it is not virtual.
fn below(dataset: &Dataset, deep: usize, look: fn(&Dataset) -> Result<()>) -> Result<()> {
    if dataset.layout() != Layout::Virtual {
        return look(dataset);
    }
    ensure!(deep > 0, "{} is a virtual dataset of virtual ones, {DEEP} or more: is it made of itself?", dataset.name());
    // Parts that follow each other are often of one dataset, which is opened and looked at once.
    let mut before: Option<([String; 2], Dataset)> = None;
    for part in mapping::of(dataset)? {
        let mut check = |names: [String; 2]| {
            let found = match before.take() {
                Some((same, found)) if same == names => found,
                _ => {
                    let found = source(dataset, &names[0], &names[1])?;
                    below(&found, deep - 1, look)?;
                    found
                }
            };
            let (_, found) = before.insert((names, found));
            inside(&part, found)
        };
        for number in 0..blocks(&part, dataset)? {
            check(part.block(number)).with_context(|| {
                let which = match &part.here {
                    Taken::Between { first, last, .. } => format!("{} to {} of ", first[0], last[0]),
                    _ => String::new(),
                };
                format!("{which}{}, a virtual dataset", dataset.name())
            })?;
        }
    }
    Ok(())
}

/// How many blocks a part is made of, at least one.
fn blocks(part: &Mapping, dataset: &Dataset) -> Result<usize> {
    let (true, Taken::Blocks { along, first, apart }) = (part.counted(), &part.here) else { return Ok(1) };
    let extent = dataset.shape().get(*along).copied().unwrap_or(0) as u64;
    let there = usize::try_from(extent.saturating_sub(*first).div_ceil(*apart)).unwrap_or(usize::MAX).max(1);
    let is = |number: usize| {
        let [file, name] = part.block(number);
        source(dataset, &file, &name).is_ok()
    };
    // One more than there are: it is missing, and its name is told.
    Ok(if (there + 1..=there + BEHIND).any(is) { there + 1 } else { there })
}

/// A dataset that another one is made of.
pub fn source(dataset: &Dataset, file: &str, name: &str) -> Result<Dataset> {
    let of = dataset.filename();
    let Some(path) = place(file, Path::new(&of)) else {
        bail!("{file}, which it is made of, is missing, beside {of} and in the folder of this run");
    };
    let told = || format!("{name} in {}, which it is made of", path.display());
    let file = if file == "." { dataset.file() } else { File::open(&path) };
    file.and_then(|file| file.dataset(name)).with_context(told)
}

/// A file that a virtual dataset names, as HDF5 looks for it: in the folders of HDF5_VDS_PREFIX, in that of the virtual dataset's file, in
/// the one in which the program runs, and in the first's own where it is a link.
fn place(name: &str, of: &Path) -> Option<PathBuf> {
    if name == "." {
        return Some(of.to_path_buf());
    }
    let folder = |path: &Path| path.parent().map(Path::to_path_buf).unwrap_or_default();
    let origin = folder(of);
    let prefixes = std::env::var("HDF5_VDS_PREFIX").unwrap_or_default();
    let prefixes = prefixes.split(':').filter(|prefix| !prefix.is_empty());
    let mut folders: Vec<_> =
        prefixes.map(|prefix| PathBuf::from(prefix.replace("${ORIGIN}", &origin.to_string_lossy()))).collect();
    folders.extend([origin, PathBuf::new()]);
    folders.extend(of.canonicalize().ok().map(|of| folder(&of)));
    let name = Path::new(name);
    // A whole path leads there, or its last part is looked for, as of scans that were moved.
    let last = name.is_absolute().then(|| name.file_name()).flatten().map(Path::new);
    let mut places =
        [Some(name), last].into_iter().flatten().flat_map(|name| folders.iter().map(move |f| f.join(name)));
    places.find(|path| path.is_file())
}

/// An error where more is taken of a source than it has, for which HDF5 gives its fill value, too.
fn inside(part: &Mapping, source: &Dataset) -> Result<()> {
    let Taken::Between { last, .. } = &part.there else { return Ok(()) };
    let shape = source.shape();
    if last.len() == shape.len() && last.iter().zip(&shape).any(|(&last, &side)| last >= side as u64) {
        let needed: Vec<_> = last.iter().map(|last| last + 1).collect();
        bail!("{} in {} is of {shape:?}, of which {needed:?} are taken", source.name(), source.filename());
    }
    Ok(())
}
