//! How the patient lies: which way the scanner's axes go in the patient.
//!
//! y goes down, towards the floor, z the way that the bed goes into the scanner, and x to the right of who looks that way. So of a patient who lies head first and
//! supine x goes to the left, y to the back and z to the head, as DICOM has it.

use anyhow::{Result, bail};
use std::fmt;
use std::str::FromStr;

/// One of DICOM's names.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Position {
    /// Of the axis: 0 left, 1 back, 2 head, with its sign.
    down: (usize, f64),
    enters: f64,
    name: &'static str,
}

pub const NAMES: [&str; 8] = ["HFS", "HFP", "HFDR", "HFDL", "FFS", "FFP", "FFDR", "FFDL"];

impl FromStr for Position {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        let Some(name) = NAMES.into_iter().find(|name| *name == text) else {
            bail!("it must be one of {}", NAMES.join(", "));
        };
        let down = match &name[2..] {
            "S" => (1, 1.0),
            "P" => (1, -1.0),
            "DR" => (0, -1.0),
            _ => (0, 1.0),
        };
        Ok(Self { down, enters: if name.starts_with("HF") { 1.0 } else { -1.0 }, name })
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl Default for Position {
    /// Head first supine.
    fn default() -> Self {
        Self { down: (1, 1.0), enters: 1.0, name: "HFS" }
    }
}

impl Position {
    /// From the scanner's axes to left, back and head: `[axis of the patient][axis of the scanner]`.
    pub fn to_patient(self) -> [[f64; 3]; 3] {
        let (mut y, mut z) = ([0.0; 3], [0.0; 3]);
        y[self.down.0] = self.down.1;
        z[2] = self.enters;
        let x = crate::pet::petsird::cross(y, z);
        [0, 1, 2].map(|axis| [x[axis], y[axis], z[axis]])
    }

    /// From the scanner's axes to right, front and head, as NIfTI has them.
    pub fn to_nifti(self) -> [[f64; 3]; 3] {
        let [left, back, head] = self.to_patient();
        [left.map(|v| -v), back.map(|v| -v), head]
    }

    /// As Interfile says it: how the patient enters and is turned.
    pub fn in_interfile(self) -> [&'static str; 2] {
        let turned = match &self.name[2..] {
            "S" => "supine",
            "P" => "prone",
            "DR" => "right",
            _ => "left",
        };
        [if self.enters > 0.0 { "head_in" } else { "feet_in" }, turned]
    }
}
