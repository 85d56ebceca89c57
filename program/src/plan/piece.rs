//! Scans that make one volume, one below the other.

use crate::scan::Input;
use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

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
}
