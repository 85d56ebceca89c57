//! PETSIRD files, of the Emission Tomography Standardization Initiative: the scanner of their header, what it says of the scan, and their events.

mod alive;
mod axis;
mod boxes;
mod events;
mod exam;
mod pairs;
mod scanner;
mod singles;
mod times;

pub use alive::{Alive, Of};
pub use axis::Turn;
pub use boxes::{Rigid, cross, dot, length};
pub use events::{Events, Kind, Part, Pass, Span, TimesOf, Wanted};
pub use exam::Said;
pub use pairs::Pairs;
pub use scanner::Scanner;
pub(super) use scanner::median;

use super::yardl::{Damaged, File, Value};
use crate::status;
use anyhow::{Context, Error, Result, anyhow};
use std::path::{Path, PathBuf};

/// Versions by what the schema that their files begin with is, see [`name_of`].
const VERSIONS: [(u64, &str); 10] = [
    (0xe9ad_52d3_af7d_ba3d, "0.2"),
    (0x1858_c428_18d5_3f5b, "0.3"),
    (0x6fbe_e9f4_18b7_5b55, "0.4"),
    (0xd8a5_f547_f399_c281, "0.5"),
    (0x634a_030a_12bd_808d, "0.6 to 0.7.0"),
    (0x6ac8_6abc_a1ea_f8d9, "0.7.1 to 0.7.2"),
    (0xc74b_2338_0051_94bd, "0.8 to 0.9"),
    (0xcd4a_ca80_7ae1_862e, "0.10"),
    (0x3273_d548_4fc8_122d, "0.11"),
    (0x5f30_ec72_bdbb_d883, "0.12"),
];
/// How many of them are too old.
const TOO_OLD: usize = 4;

/// A file whose header is read.
pub struct Opened {
    pub path: PathBuf,
    /// Such as "0.12", "" of one that is not known.
    pub version: &'static str,
    pub header: Value,
    pub(super) file: File,
}

impl Opened {
    pub fn new(path: &Path) -> Result<Self> {
        Self::read(path).map_err(status::unreadable)
    }

    fn read(path: &Path) -> Result<Self> {
        let shown = path.display();
        let opened = File::open(path);
        let mut file = opened.map_err(|error| match error.downcast::<Damaged>() {
            Ok(damaged) => anyhow!("{shown} is no PETSIRD file that can be read: {damaged}{}", hint(path)),
            Err(error) => error.context(format!("{shown} is no PETSIRD file that can be read")),
        })?;
        let found = fnv(file.schema.as_bytes());
        let known = VERSIONS.iter().position(|(name, _)| *name == found);
        let version = known.map_or("", |at| VERSIONS[at].1);
        let names: Vec<_> = file.steps.iter().map(|step| step.name.as_str()).collect();
        if known.is_some_and(|at| at < TOO_OLD) {
            return Err(anyhow!(
                "{shown} is of PETSIRD {version}; versions from 0.6 to {} can be read: write it anew with the package petsird of one of these",
                newest()
            ));
        }
        let streamed: Vec<_> = file.steps.iter().map(|step| step.streamed).collect();
        if names != ["header", "timeblocks"] || streamed != [false, true] {
            let names = if names.is_empty() { "nothing".into() } else { names.join(", ") };
            return Err(anyhow!("{shown} is no PETSIRD file that can be read: it is a file of yardl, of {names}"));
        }
        let header = file.value(0);
        let header = header.with_context(|| format!("{shown} is a PETSIRD file whose header is not whole"))?;
        Ok(Self { path: path.into(), version, header, file })
    }

    /// Files of versions that are not known may have other fields.
    pub fn understood<T>(&self, found: Result<T>) -> Result<T> {
        found.map_err(|error| status::unreadable(self.words(error)))
    }

    fn words(&self, error: Error) -> Error {
        if !self.version.is_empty() {
            return error;
        }
        let (path, newest) = (self.path.display(), newest());
        error.context(format!(
            "{path} is of a version of PETSIRD that is not known, newer than {newest}, and cannot be read"
        ))
    }
}

fn newest() -> &'static str {
    VERSIONS[VERSIONS.len() - 1].1
}

/// Of bytes: Fowler's, Noll's and Vo's sum of 64 bits.
fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |sum, byte| (sum ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
}

/// What else a file may be.
fn hint(path: &Path) -> &'static str {
    let mut begin = [0; 8];
    let read = std::fs::File::open(path).and_then(|mut file| std::io::Read::read(&mut file, &mut begin));
    match (&begin, read) {
        (_, Err(_)) => "",
        ([b'{', ..], _) => "; it may be PETSIRD in JSON: convert it to the binary format",
        _ => "",
    }
}
