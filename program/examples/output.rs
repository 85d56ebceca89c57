//! Times the output of a volume alone: `output PATTERN SIDE NAME [none|zstd]`. PATTERN is a file of u16, some slices of SIDE x SIDE that are written
//! again and again, 24 at a time and on disk after each 128, until there are SIDE of them. The kind is the name's; NAME is replaced. Tells
//! seconds until all is on disk under its name.

use anyhow::{Context, Result};
use clap::ValueEnum;
use isocenter::array::DType;
use isocenter_program::volume::{About, Compression, Format, Places, Wanted};
use std::path::Path;
use std::time::Instant;

const SLAB: usize = 24;
const BLOCK: usize = 128;

fn main() -> Result<()> {
    let words: Vec<_> = std::env::args().skip(1).collect();
    let [pattern, side, name, rest @ ..] = words.as_slice() else {
        anyhow::bail!("output PATTERN SIDE NAME [none|zstd]");
    };
    let side: usize = side.parse().context("SIDE is a number")?;
    let compression = rest.first().map_or(Ok(Compression::Zstd), |word| Compression::from_str(word, false));
    let compression = compression.map_err(anyhow::Error::msg)?;
    let bytes = std::fs::read(pattern).with_context(|| pattern.clone())?;
    let slice = side * side * DType::U16.size();
    let some = bytes.len() / slice;
    let path = Path::new(name);
    let places = Places { step: [0.001; 3], first: [0.0; 3], known: true };
    let about = About { title: None, places, row: 0, scale: [1.0, 0.0], plan: "", labels: &[] };
    let (shape, dtype) = ([side; 3], DType::U16);
    let wanted = Wanted { path, format: Format::of(path), compression, shape, dtype, block: BLOCK, about };
    let start = Instant::now();
    let volume = wanted.create()?;
    for first in (0..side).step_by(BLOCK) {
        let end = (first + BLOCK).min(side);
        let mut at = first;
        while at < end {
            let count = SLAB.min(end - at).min(some - at % some);
            volume.write(at, &bytes[at % some * slice..][..count * slice])?;
            at += count;
        }
        volume.sync()?;
    }
    volume.finish()?;
    println!("{:.3}", start.elapsed().as_secs_f64());
    Ok(())
}
