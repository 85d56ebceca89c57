//! Slices to choose from: a page, a picture and a stack, in which each says what it was made with.

mod drawing;
mod font;
mod page;
mod texture;

use crate::names;
use crate::report::Image;
use crate::report::picture::{BEYOND, LOOKED_AT, greys, means, quantiles};
use crate::volume::{About, Compression, Format, Places, Wanted};
use anyhow::{Context, Result};
use isocenter::array::DType;
use isocenter::ct::FoundAxis;
use std::path::{Path, PathBuf};

/// A slice, and what it was made with.
pub struct Tile {
    /// As on the command line.
    pub label: String,
    /// (rows, columns).
    pub values: Vec<f32>,
    pub sides: [usize; 2],
}

/// What there is to choose from.
pub struct Sheet {
    pub title: String,
    /// How to go on.
    pub advice: String,
    pub tiles: Vec<Tile>,
    /// Side of a pixel in millimetres.
    pub pixel: Option<f64>,
    /// What the search says between the first and the last axis.
    pub found: Option<FoundAxis>,
}

/// Side of what is shown of a slice, at most.
const SIDE: usize = 320;
/// Pixels of a picture, down and across, for one of a part of a slice.
const LARGER: usize = 2;
/// Side of such a part.
const PART: usize = SIDE / LARGER;

/// All of a slice, or a part of it, in greys.
struct Picture {
    greys: Vec<u8>,
    columns: usize,
}

/// A tile as it is shown.
struct Shown<'a> {
    label: &'a str,
    /// All of it, perhaps smaller.
    whole: Picture,
    /// A part of it, larger.
    part: Option<Picture>,
}

impl Sheet {
    /// Names of the files: page, picture, stack.
    pub fn paths(base: &Path) -> [PathBuf; 3] {
        ["html", "png", "tif"].map(|extension| base.with_added_extension(extension))
    }

    /// That they can have their names.
    pub fn free(base: &Path) -> Result<()> {
        Self::paths(base).iter().try_for_each(|path| names::file(path))
    }

    /// Writes the three of them.
    pub fn write(mut self, base: &Path) -> Result<[PathBuf; 3]> {
        self.level();
        let paths = Self::paths(base);
        let count: usize = self.tiles.iter().map(|tile| tile.values.len()).sum();
        // Odd, so that columns take turns.
        let step = (count / LOOKED_AT) | 1;
        let some: Vec<f32> = self.tiles.iter().flat_map(|tile| tile.values.iter().step_by(step)).copied().collect();
        let window = quantiles(&some, BEYOND);
        let corner = self.textured();
        let shown: Vec<_> = self.tiles.iter().map(|tile| shown(tile, corner, window)).collect();
        names::write(&paths[0], page::html(&self, &shown, window).context("the sheet's page")?)?;
        names::write(&paths[1], drawing::png(&self.title, &shown, window).context("the sheet's picture")?)?;
        self.stack(&paths[2])?;
        Ok(paths)
    }

    /// Cuts slices to one size about their middles: those of halves that are joined differ by some pixels.
    fn level(&mut self) {
        let least = |k: usize| self.tiles.iter().map(|tile| tile.sides[k]).min().unwrap_or(0);
        let sides = [least(0), least(1)];
        for tile in self.tiles.iter_mut().filter(|tile| tile.sides != sides) {
            let corner = [0, 1].map(|k| (tile.sides[k] - sides[k]) / 2);
            tile.values = cut(tile, corner, sides);
            tile.sides = sides;
        }
    }

    /// The corner of a part in which there is most to be seen; nothing where all of a slice is small.
    fn textured(&self) -> Option<[usize; 2]> {
        let Tile { values, sides, .. } = &self.tiles[self.tiles.len() / 2];
        (sides[0].max(sides[1]) > PART).then(|| texture::corner(values, *sides, sides.map(|side| side.min(PART))))
    }

    fn stack(&self, path: &Path) -> Result<()> {
        let labels: Vec<_> = self.tiles.iter().map(|tile| tile.label.clone()).collect();
        let [rows, columns] = self.tiles[0].sides;
        let places = Places { step: [self.pixel.unwrap_or(1.0); 3], first: [0.0; 3], known: self.pixel.is_some() };
        let about = About { title: None, places, row: 0, scale: [1.0, 0.0], plan: "", labels: &labels };
        let (shape, dtype, block) = ([labels.len(), rows, columns], DType::F32, labels.len());
        let (format, compression) = (Format::Tiff, Compression::None);
        let volume = Wanted { path, format, compression, shape, dtype, block, about }.create()?;
        for (k, tile) in self.tiles.iter().enumerate() {
            let bytes: Vec<u8> = tile.values.iter().flat_map(|v| v.to_ne_bytes()).collect();
            volume.write(k, &bytes)?;
        }
        volume.finish()
    }
}

fn cut(tile: &Tile, [top, left]: [usize; 2], [rows, columns]: [usize; 2]) -> Vec<f32> {
    let lines = tile.values.chunks_exact(tile.sides[1]).skip(top).take(rows);
    lines.flat_map(|line| &line[left..left + columns]).copied().collect()
}

fn shown(tile: &Tile, corner: Option<[usize; 2]>, window: [f64; 2]) -> Shown<'_> {
    let image = Image { values: tile.values.clone(), columns: tile.sides[1], caption: String::new() };
    let (values, columns) = means(&image, SIDE);
    let part = corner.map(|corner| {
        let sides = tile.sides.map(|side| side.min(PART));
        larger(&greys(&cut(tile, corner, sides), window), sides[1])
    });
    Shown { label: &tile.label, whole: Picture { greys: greys(&values, window), columns }, part }
}

fn larger(greys: &[u8], columns: usize) -> Picture {
    let wide = |row: &[u8]| row.iter().flat_map(|grey| [*grey; LARGER]).collect::<Vec<_>>();
    let rows = greys.chunks_exact(columns).flat_map(|row| wide(row).repeat(LARGER));
    Picture { greys: rows.collect(), columns: LARGER * columns }
}
