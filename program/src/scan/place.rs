//! What an option names: a dataset of the scan or of another HDF5 file, or files.

use super::tree::{Tree, told};
use super::{is_hdf5, listing};
use crate::frames::Kind;
use anyhow::{Context, Result, bail, ensure};
use hdf5_metno::{Dataset, File};
use std::path::{Path, PathBuf};

/// What a dataset is wanted for: where there is none of its name, those are told that there are.
#[derive(Clone, Copy)]
pub enum Wanted<'a> {
    /// Three dimensions.
    Frames,
    /// Lists of one of these lengths.
    Lists(&'a [usize]),
}

pub enum Place {
    Files(PathBuf),
    /// A dataset, and the file that was named with it, which may link to another one.
    Dataset(Dataset, File),
}

impl Place {
    /// FILE:/dataset is a dataset of a file, and :/dataset one of the scan; what begins with / is a dataset of the scan where there is one of
    /// that name, if the scan is an HDF5 file, and else a file or folder, as all others are.
    pub fn of(text: &Path, scan: &Path, wanted: Wanted) -> Result<Self> {
        let Some(name) = text.to_str() else { return Ok(Self::Files(text.into())) };
        if let Some((file, name)) = divided(name).filter(|_| !text.exists()) {
            let file = if file.is_empty() { scan } else { Path::new(file) };
            ensure!(file.is_file(), "{}: there is no file {}", text.display(), file.display());
            return open(file, name, wanted).map(|(dataset, file)| Self::Dataset(dataset, file));
        }
        if !name.starts_with('/') || !is_hdf5(scan) {
            return Ok(Self::Files(text.into()));
        }
        let there = opened(scan)?.link_exists(name);
        if there && text.exists() {
            bail!(
                "{name} is a dataset of {scan} and also a file or a folder: {scan}:{name} is the dataset, and a path that does not begin with / the other",
                scan = scan.display()
            );
        }
        if !there && (text.exists() || listing::is_pattern(text) || Kind::of(text).is_some()) {
            return Ok(Self::Files(text.into()));
        }
        open(scan, name, wanted)
            .with_context(|| format!("there is no file {name}"))
            .map(|(dataset, file)| Self::Dataset(dataset, file))
    }

    /// Where a dataset alone may be named.
    pub fn dataset(text: &str, scan: &Path, wanted: Wanted) -> Result<Dataset> {
        let (file, name) = match divided(text) {
            Some((file, name)) if !file.is_empty() => (Path::new(file), name),
            Some((_, name)) => (scan, name),
            None if text.starts_with('/') => (scan, text),
            None => bail!("{text}: a dataset is expected, /dataset of the scan or FILE:/dataset of another HDF5 file"),
        };
        Ok(open(file, name, wanted)?.0)
    }
}

/// A file and the name of a dataset in it, of FILE:/dataset, or FILE::/dataset as silx has it.
fn divided(text: &str) -> Option<(&str, &str)> {
    let at = text.find(":/")?;
    Some((text[..at].trim_end_matches(':'), &text[at + 1..]))
}

fn opened(file: &Path) -> Result<File> {
    File::open(file).with_context(|| format!("opening {}", file.display()))
}

/// A dataset of a file, and this, or an error that names those that there are.
fn open(path: &Path, name: &str, wanted: Wanted) -> Result<(Dataset, File)> {
    let file = opened(path)?;
    if let Ok(dataset) = file.dataset(name) {
        return Ok((dataset, file));
    }
    let tree = Tree::of(&file)?;
    let what = match (file.group(name), file.link_exists(name)) {
        (Ok(_), _) => format!("{name} of {} is a group", path.display()),
        (_, true) => format!("{name} of {} leads to what is not there", path.display()),
        _ => format!("{} has no dataset {name}", path.display()),
    };
    let there = match wanted {
        Wanted::Frames => format!("of three dimensions are {}", told(tree.stacks())),
        Wanted::Lists(lengths) => {
            let mut lengths = lengths.to_vec();
            lengths.dedup();
            let of = |length: usize| format!("lists of {length} numbers are {}", told(tree.lists(length)));
            lengths.into_iter().map(of).collect::<Vec<_>>().join("; ")
        }
    };
    bail!("{what}; {there}{}", tree.told_broken())
}
