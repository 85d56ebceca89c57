//! Frames that were decoded once and are kept, in memory or in a file: (rows, frames, bins), so that the rows of a slab lie together.

use super::kept::Kept;
use super::{Room, Source};
use crate::disk::{free, set_aside};
use crate::memory::{reserved, zeros};
use crate::status::Full;
use anyhow::{Context, Result, bail};
use isocenter::array::DType;
use memmap2::MmapMut;
use rayon::prelude::*;
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

/// Bytes that are decoded before they are copied to their place.
const BATCH: usize = 8 << 20;

/// Some rows of some frames of a source.
pub struct Held {
    source: Arc<dyn Source>,
    kept: Kept,
    /// How many frames are kept.
    frames: usize,
    store: Store,
}

/// Where frames are decoded to.
pub enum To<'a> {
    Memory(&'a mut [u8]),
    Scratch(&'a File),
}

enum Store {
    Memory(MmapMut),
    /// It has no name any more, and goes when it is closed.
    Scratch(File),
}

impl Held {
    /// Reads some rows of some frames of a source, both ascending, each of its chunks once.
    pub fn new(source: Arc<dyn Source>, frames: &[usize], rows: &[usize], room: &mut Room) -> Result<Self> {
        let [all, _, bins] = source.shape();
        let row = bins * source.dtype().size();
        let bytes = [rows.len(), frames.len(), row].into_iter().try_fold(1usize, |n, k| n.checked_mul(k));
        let bytes = bytes.context("the scan has more bytes than can be counted")?;
        let mut store = if bytes as u64 <= room.memory {
            room.memory -= bytes as u64;
            Store::Memory(reserved(bytes)?)
        } else {
            Store::Scratch(scratch(&room.scratch, bytes as u64)?)
        };
        if let (Some(&first), Some(&last)) = (rows.first(), rows.last()) {
            let to = match &mut store {
                Store::Memory(memory) => To::Memory(memory),
                Store::Scratch(file) => To::Scratch(file),
            };
            fill(&*source, frames, rows, first..last + 1, to)?;
        }
        Ok(Self { source, kept: Kept::new(all, frames, rows), frames: frames.len(), store })
    }

    /// Some of the rows that are kept, of frames in these places, into `to`, (frames, rows, bins).
    fn copy(&self, places: &[usize], kept: Range<usize>, to: &mut [u8]) -> Result<()> {
        let row = self.source.shape()[2] * self.source.dtype().size();
        let (band, each) = (self.frames * row, kept.len() * row);
        match &self.store {
            Store::Memory(store) => {
                // All rows of a frame at once: what is written lies together.
                to.par_chunks_exact_mut(each).zip(places).for_each(|(to, place)| {
                    for (to, k) in to.chunks_exact_mut(row).zip(kept.clone()) {
                        to.copy_from_slice(&store[k * band + place * row..][..row]);
                    }
                });
            }
            Store::Scratch(file) => {
                let mut from = zeros(band)?;
                for (k, kept) in kept.enumerate() {
                    file.read_exact_at(&mut from, (kept * band) as u64).context("reading the scratch file")?;
                    to.par_chunks_exact_mut(each).zip(places).for_each(|(to, place)| {
                        to[k * row..][..row].copy_from_slice(&from[place * row..][..row]);
                    });
                }
            }
        }
        Ok(())
    }
}

/// Reads batch after batch, in frames' order, and copies each to its place.
pub fn fill(source: &dyn Source, frames: &[usize], rows: &[usize], span: Range<usize>, mut to: To) -> Result<()> {
    let row = source.shape()[2] * source.dtype().size();
    let frame = span.len() * row;
    let layer = source.together().unwrap_or(1);
    let band = frames.len() * row;
    let mut batch = Vec::new();
    let mut first = 0;
    while first < frames.len() {
        // Whole layers of chunks: none is decoded twice.
        let least = frames[first] / layer * layer + layer * (BATCH / (layer * frame).max(1)).max(1);
        let count = frames[first..].partition_point(|&f| f < least);
        crate::memory::at_least(&mut batch, count * frame)?;
        let batch = &mut batch[..count * frame];
        source.read(&frames[first..first + count], span.clone(), batch)?;
        let piece = |k: usize, to: &mut [u8]| {
            let at = (rows[k] - span.start) * row;
            for (to, from) in to.chunks_exact_mut(row).zip(batch.chunks_exact(frame)) {
                to.copy_from_slice(&from[at..at + row]);
            }
        };
        let from = first * row;
        match &mut to {
            To::Memory(memory) => memory
                .par_chunks_exact_mut(band)
                .enumerate()
                .for_each(|(k, to)| piece(k, &mut to[from..from + count * row])),
            To::Scratch(file) => {
                let file = &**file;
                (0..rows.len()).into_par_iter().try_for_each_init(Vec::new, |to, k| -> Result<()> {
                    crate::memory::at_least(to, count * row)?;
                    piece(k, to);
                    file.write_all_at(to, (k * band + from) as u64).context("writing the scratch file")
                })?;
            }
        }
        first += count;
    }
    Ok(())
}

/// A file without a name that has so much room.
fn scratch(folder: &Path, bytes: u64) -> Result<File> {
    let free = free(folder)?;
    let few = || {
        let (free, bytes) = (free as f64 / 1e9, bytes as f64 / 1e9);
        format!("decoded frames take {bytes:.1} GB, more than memory has; {} has {free:.1} GB", folder.display())
    };
    if free < bytes {
        bail!(Full(format!("{}: --scratch names another folder, --memory allows more memory", few())));
    }
    let file = tempfile::tempfile_in(folder).with_context(|| format!("a scratch file in {}", folder.display()))?;
    set_aside(&file, 0, bytes).with_context(few)?;
    Ok(file)
}

impl Source for Held {
    fn shape(&self) -> [usize; 3] {
        self.source.shape()
    }

    fn dtype(&self) -> DType {
        self.source.dtype()
    }

    fn read(&self, frames: &[usize], rows: Range<usize>, to: &mut [u8]) -> Result<()> {
        match self.kept.find(frames, &rows) {
            Some((places, kept)) => self.copy(&places, kept, to),
            // What is not kept is read again.
            None => self.source.read(frames, rows, to),
        }
    }

    fn storage(&self) -> String {
        self.source.storage()
    }

    fn decoded(&self) -> u64 {
        self.source.decoded()
    }

    fn waits(&self) -> bool {
        matches!(self.store, Store::Scratch(_))
    }
}
