//! Values as a picture of greys inside the page.

use super::Image;
use anyhow::Result;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rayon::prelude::*;

/// Sides of pictures, at most.
const SIDE: usize = 1024;
/// Parts of the values that are black and white.
pub const BEYOND: [f64; 2] = [0.002, 0.998];

/// Means of square blocks, so that neither side is longer than this; and how many there are in a row.
pub fn means(image: &Image, side: usize) -> (Vec<f32>, usize) {
    let rows = image.values.len() / image.columns.max(1);
    let block = rows.max(image.columns).div_ceil(side).max(1);
    let (height, width) = (rows.div_ceil(block), image.columns.div_ceil(block));
    let mean = |k: usize| {
        let (top, left) = (k / width * block, k % width * block);
        let of = (top..(top + block).min(rows))
            .flat_map(|y| &image.values[y * image.columns..][left..(left + block).min(image.columns)]);
        let (sum, count) = of.fold((0.0, 0.0), |(sum, count), v| (sum + f64::from(*v), count + 1.0));
        (sum / count) as f32
    };
    ((0..height * width).into_par_iter().map(mean).collect(), width)
}

/// Values from one to another as black to white.
pub fn greys(values: &[f32], [low, high]: [f64; 2]) -> Vec<u8> {
    let grey = |v: &f32| ((f64::from(*v) - low) / (high - low).max(f64::MIN_POSITIVE) * 255.0).round();
    values.par_iter().map(|v| grey(v).clamp(0.0, 255.0) as u8).collect()
}

/// Greys in a file.
pub fn png(greys: &[u8], columns: usize) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let rows = greys.len() / columns.max(1);
    let mut encoder = png::Encoder::new(&mut bytes, columns as u32, rows as u32);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.set_depth(png::BitDepth::Eight);
    // Noise hardly becomes smaller: the slower ways take a tenth of a second for each picture.
    encoder.set_compression(png::Compression::Fast);
    encoder.write_header()?.write_image_data(greys)?;
    Ok(bytes)
}

/// The same as an address that holds the picture itself.
pub fn address(greys: &[u8], columns: usize) -> Result<String> {
    Ok(format!("data:image/png;base64,{}", STANDARD.encode(png(greys, columns)?)))
}

/// A picture.
pub struct Picture {
    /// Of black and of white.
    pub window: [f64; 2],
    greys: Vec<u8>,
    columns: usize,
}

/// Values that tell what most of them are like, at most.
pub const LOOKED_AT: usize = 1 << 20;

/// Values below which such parts lie, about.
pub fn quantiles(values: &[f32], parts: [f64; 2]) -> [f64; 2] {
    // An odd step, so that columns take turns.
    let step = (values.len() / LOOKED_AT) | 1;
    let mut sorted: Vec<f32> = values.iter().step_by(step).copied().filter(|v| v.is_finite()).collect();
    if sorted.is_empty() {
        return [0.0, 1.0];
    }
    let last = (sorted.len() - 1) as f64;
    parts.map(|part| {
        let (_, value, _) = sorted.select_nth_unstable_by((part * last).round() as usize, f32::total_cmp);
        f64::from(*value)
    })
}

/// Values that are black and white.
pub fn window(image: &Image) -> [f64; 2] {
    quantiles(&image.values, BEYOND)
}

impl Picture {
    /// Means of blocks, where the image is larger than a picture should be.
    pub fn new(image: &Image) -> Self {
        let window = quantiles(&image.values, BEYOND);
        let (values, columns) = means(image, SIDE);
        Self { window, greys: greys(&values, window), columns }
    }

    /// As an address that holds the picture itself.
    pub fn data(&self) -> Result<String> {
        address(&self.greys, self.columns)
    }
}
