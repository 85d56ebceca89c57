//! Planes through a volume as pictures with places and a scale.

use super::picture::Picture;
use super::plot::{self, Axis, Data, Plot};
use super::{Image, Report, escaped, rounded};
use crate::volume::Places;
use anyhow::Result;
use std::fmt::Write;

/// A plane through a volume.
pub struct Section {
    pub image: Image,
    /// What goes across and down: slices (0), lines (1) or columns (2).
    pub directions: [usize; 2],
}

/// Names of directions.
const NAMES: [&str; 3] = ["z", "y", "x"];
/// Heights over widths that can be looked at.
const SIDES: [f64; 2] = [0.12, 2.0];

impl Report {
    pub(super) fn section(&self, page: &mut String, section: &Section) -> Result<()> {
        let (Places { known, .. }, unit) = (self.places, self.places.unit());
        let Section { image, directions: [across, down] } = section;
        let picture = Picture::new(image);
        let [low, high] = picture.window;
        let about = escaped(&image.caption);
        let ends = |direction: usize, n: usize| [-0.5, n as f64 - 0.5].map(|k| self.places.at(direction, k));
        let (x, [top, bottom]) = (ends(*across, image.columns), ends(*down, image.rows()));
        let (width, height) = (x[1] - x[0], bottom - top);
        let length = plot::bar(width);
        let name = match known {
            true if length < 0.1 => format!("{} \u{b5}m", plot::number(length * 1e3)),
            true => format!("{} mm", plot::number(length)),
            false => format!("{} pixels", plot::number(length)),
        };
        let label = |direction: usize| format!("{} ({unit})", NAMES[direction]);
        let (side, shown) = (height / width, (height / width).clamp(SIDES[0], SIDES[1]));
        let plot = Plot {
            data: Data::Picture { address: &picture.data()?, about: &about, side: shown },
            x: Axis { label: &label(*across), range: x },
            // Rows go downwards.
            y: Axis { label: &label(*down), range: [bottom, top] },
            marked: &[],
            bar: Some((length, name)),
        };
        let stretched = if side == shown { "" } else { "; not to scale along the other side" };
        let caption = format!("{about}; black {}, white {} per {unit}{stretched}", rounded(low), rounded(high));
        writeln!(page, "<figure>{}<figcaption>{caption}</figcaption></figure>", plot.html()?)?;
        Ok(())
    }
}
