//! Times the input of a dataset alone: `input FILE DATASET SLABS [MEMORY [SCRATCH]]`, or `input FOLDER images SLABS` of a folder of TIFF or
//! EDF images. All frames are read in their order, to nowhere; then every chunk is decoded once and kept, by rows, and as many slabs of rows
//! are read. Tells seconds, bytes of values and bytes that were decoded, each on a line.

use anyhow::{Context, Result};
use isocenter_program::frames::{Frames, Kind, Room, Source, hold, of_dataset, of_files};
use isocenter_program::team::Alone;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// The images of a folder.
fn images(folder: &Path) -> Result<Arc<dyn Source>> {
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        paths.push(entry?.path());
    }
    paths.sort();
    let kind = paths.first().and_then(|path| Kind::of(path)).context("the folder has no images")?;
    of_files(kind, paths)
}

fn main() -> Result<()> {
    let words: Vec<_> = std::env::args().skip(1).collect();
    let [file, dataset, slabs, rest @ ..] = words.as_slice() else {
        anyhow::bail!("input FILE DATASET SLABS [MEMORY [SCRATCH]], or input FOLDER images SLABS");
    };
    let slabs: usize = slabs.parse().context("SLABS is a number")?;
    let memory = rest.first().map_or(Ok(u64::MAX), |memory| memory.parse()).context("MEMORY is a number")?;
    let mut room = Room { memory, scratch: rest.get(1).map_or_else(std::env::temp_dir, PathBuf::from) };
    let start = Instant::now();
    let source = match dataset.as_str() {
        "images" => images(Path::new(file))?,
        name => of_dataset(hdf5_metno::File::open(file)?.dataset(name)?)?,
    };
    println!("opened {:.4} s", start.elapsed().as_secs_f64());
    let mut frames = Frames::all(source);
    let [count, rows, bins] = frames.source.shape();
    let bytes = count * rows * bins * frames.source.dtype().size();
    let each = 4 * frames.source.together().unwrap_or(1);
    let mut batch = vec![0; bytes / count * each];
    let start = Instant::now();
    for some in frames.which.chunks(each) {
        frames.source.read(some, 0..rows, &mut batch[..bytes / count * some.len()])?;
    }
    println!("pass {:.4} s", start.elapsed().as_secs_f64());
    let start = Instant::now();
    hold(&mut [&mut frames], &(0..rows).collect::<Vec<_>>(), &mut room, &Alone::default())?;
    let held = start.elapsed().as_secs_f64();
    let mut slab = vec![0; bytes / rows * rows.div_ceil(slabs.max(1))];
    for k in 0..slabs {
        let rows = rows * k / slabs..rows * (k + 1) / slabs;
        let to = &mut slab[..bytes / frames.source.shape()[1] * rows.len()];
        frames.source.read(&frames.which, rows, to)?;
    }
    println!("storage {}", frames.source.storage());
    println!("held {held:.4} s\nall {:.4} s", start.elapsed().as_secs_f64());
    println!("values {bytes}\ndecoded {}", frames.source.decoded());
    Ok(())
}
