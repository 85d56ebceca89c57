//! Scans that make one volume, one below the other and side by side.

use crate::scan::Input;
use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// What becomes of rows that two scans have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Overlap {
    /// Slices of both, the one's share falling from row to row as the other's grows
    #[default]
    Blend,
    /// Those of the nearer one: the scans meet at the middle of what both have
    Middle,
}

impl Overlap {
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// One of the scans.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Piece {
    pub scan: PathBuf,
    /// Where its first row lies among the rows of all.
    pub row: usize,
    /// Its rotation axis.
    pub axis: f64,
    /// What is said of it besides.
    #[serde(default, skip_serializing_if = "Input::is_empty")]
    pub input: Input,
    /// Scans on its right, which make one wide field with it; the axis is one of its bins.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<Beside>,
}

/// A scan beside others, of the same rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Beside {
    pub scan: PathBuf,
    /// Where its first bin lies among those of the field, which begins with the first scan's.
    pub bin: f64,
    #[serde(default, skip_serializing_if = "Input::is_empty")]
    pub input: Input,
}

impl Piece {
    /// Its scans from left to right, with where they lie.
    pub fn scans(&self) -> impl Iterator<Item = (&Path, f64, &Input)> {
        let first = (self.scan.as_path(), 0.0, &self.input);
        let others = self.beside.iter().map(|other| (other.scan.as_path(), other.bin, &other.input));
        std::iter::once(first).chain(others)
    }

    /// What is said of each of them.
    pub fn inputs(&mut self) -> impl Iterator<Item = &mut Input> {
        std::iter::once(&mut self.input).chain(self.beside.iter_mut().map(|other| &mut other.input))
    }

    /// Their names.
    pub fn name(&self) -> String {
        self.scans().map(|(scan, ..)| scan.display().to_string()).collect::<Vec<_>>().join(" + ")
    }
}
