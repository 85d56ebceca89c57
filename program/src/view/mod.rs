//! Volumes to be looked at in a browser.

mod opened;
mod page;
mod planes;
mod request;
mod server;

pub use opened::Opened;
pub use server::Server;

use anyhow::{Context, Result};
use planes::Plane;
use serde_json::{Value, json};
use std::fs::File;
use std::io::Read;

/// A volume and what is told of it.
pub struct Viewed {
    pub name: String,
    pub opened: Opened,
}

impl Viewed {
    /// A page of three planes, which needs nothing beside it.
    pub fn kept(&self) -> Result<String> {
        page::kept(self)
    }

    /// In words.
    pub fn facts(&self) -> String {
        let Opened { source, places, scale, .. } = &self.opened;
        let [slices, rows, columns] = source.shape();
        let dtype = format!("{:?}", source.dtype()).to_lowercase();
        let voxels = match places.millimetres() {
            None => String::new(),
            Some([apart, side]) if apart as f32 == side as f32 => format!(", voxels of {} mm", side as f32),
            Some([apart, side]) => format!(", voxels of {} mm, slices {} mm apart", side as f32, apart as f32),
        };
        let stored = if scale.is_none() { ", as they are stored: what they mean is not told" } else { "" };
        format!("{slices} slices of {rows} x {columns}, {dtype}{voxels}{stored}")
    }

    /// For the page.
    fn about(&self) -> Value {
        let Opened { source, places, placed, scale, attenuation } = &self.opened;
        let unit = match (*attenuation && scale.is_some(), places.known) {
            (false, _) => "",
            (true, true) => "1/mm",
            (true, false) => "1/pixel",
        };
        json!({
            "shape": source.shape(), "dtype": format!("{:?}", source.dtype()).to_lowercase(),
            "places": {"step": places.step, "first": places.first, "millimetres": places.known, "axis": placed},
            "scale": scale.unwrap_or([1.0, 0.0]), "unit": unit, "facts": self.facts(),
        })
    }

    /// Values of a plane, the lowest byte first.
    fn plane(&self, plane: &Plane) -> Result<Vec<u8>> {
        let mut values = plane.read(&*self.opened.source).with_context(|| self.name.clone())?;
        if cfg!(target_endian = "big") {
            values.chunks_exact_mut(self.opened.source.dtype().size()).for_each(|value| value.reverse());
        }
        Ok(values)
    }
}

/// Bytes that nobody guesses.
const TOKEN: usize = 16;

/// These as text.
fn token() -> Result<String> {
    let mut bytes = [0; TOKEN];
    File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes)).context("random numbers")?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
