//! Times the input of a dataset alone: `input FILE DATASET SLABS [MEMORY [SCRATCH]]`. All frames are read in their order, to nowhere; then
//! every chunk is decoded once and kept, by rows, and as many slabs of rows are read. Tells seconds, bytes of values and bytes that were
//! decoded, each on a line.

use anyhow::{Context, Result};
use isocenter_program::frames::{Frames, Room, hold, of_dataset};
use isocenter_program::team::Alone;
use std::path::PathBuf;
use std::time::Instant;

fn main() -> Result<()> {
    let words: Vec<_> = std::env::args().skip(1).collect();
    let [file, dataset, slabs, rest @ ..] = words.as_slice() else {
        anyhow::bail!("input FILE DATASET SLABS [MEMORY [SCRATCH]]");
    };
    let slabs: usize = slabs.parse().context("SLABS is a number")?;
    let memory = rest.first().map_or(Ok(u64::MAX), |memory| memory.parse()).context("MEMORY is a number")?;
    let mut room = Room { memory, scratch: rest.get(1).map_or_else(std::env::temp_dir, PathBuf::from) };
    let source = of_dataset(hdf5_metno::File::open(file)?.dataset(dataset)?)?;
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
