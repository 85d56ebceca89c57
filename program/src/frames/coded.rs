//! Compressed images: pieces that hold rows which are wanted are read and decoded, all of a piece.

use super::Source;
use super::element::Element;
use super::files::Files;
use super::filters::{Codec, Codecs};
use super::images::{Place, fetch};
use crate::memory::at_least;
use anyhow::{Context, Result, ensure};
use isocenter::array::DType;
use rayon::prelude::*;
use std::fs::File;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// What is stored in place of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Differences {
    None,
    /// Of a value from that on its left.
    Values,
    /// Of the bytes of floating point, the first bytes of all values before the second, the highest first.
    Bytes,
}

impl Differences {
    /// Makes values of those of a row.
    fn undo(self, row: &mut [u8], element: Element, spare: &mut Vec<u8>) -> Result<()> {
        let (size, big_endian) = (element.size(), element.big_endian());
        macro_rules! sums {
            ($value:ty) => {{
                let mut sum: $value = 0;
                for bytes in row.as_chunks_mut::<{ size_of::<$value>() }>().0 {
                    let from = if big_endian { <$value>::from_be_bytes } else { <$value>::from_le_bytes };
                    sum = sum.wrapping_add(from(*bytes));
                    *bytes = if big_endian { sum.to_be_bytes() } else { sum.to_le_bytes() };
                }
            }};
        }
        match (self, size) {
            (Self::None, _) => {}
            (Self::Values, 1) => sums!(u8),
            (Self::Values, 2) => sums!(u16),
            (Self::Values, 4) => sums!(u32),
            (Self::Values, _) => sums!(u64),
            (Self::Bytes, _) => {
                at_least(spare, row.len())?;
                let mut sum = 0u8;
                for (sums, byte) in spare.iter_mut().zip(row.iter()) {
                    sum = sum.wrapping_add(*byte);
                    *sums = sum;
                }
                let count = row.len() / size;
                for (k, value) in row.chunks_exact_mut(size).enumerate() {
                    for (b, byte) in value.iter_mut().enumerate() {
                        let plane = if big_endian { b } else { size - 1 - b };
                        *byte = spare[plane * count + k];
                    }
                }
            }
        }
        Ok(())
    }
}

/// How pieces of all images are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coding {
    /// Nothing where differences are stored as they are.
    pub codec: Option<Codec>,
    pub differences: Differences,
}

impl Coding {
    /// Bytes that so many are decoded to, at most.
    fn most(self, bytes: u64) -> u64 {
        self.codec.map_or(bytes, |codec| codec.most(bytes))
    }
}

/// A piece that was decoded, and what the next one can use again.
struct Workspace {
    codecs: Codecs,
    stored: Vec<u8>,
    piece: Vec<u8>,
    spare: Vec<u8>,
}

/// (frames, rows, bins), each frame in pieces somewhere.
pub struct Coded {
    files: Files,
    shape: [usize; 3],
    element: Element,
    coding: Coding,
    /// With the bytes of each piece.
    places: Vec<(Place, Vec<u64>)>,
    decoded: AtomicU64,
}

impl Coded {
    /// Of rows and bins; refuses what is beyond the end of a file, and what is too short for what it has to hold.
    pub fn new(
        files: Files,
        [rows, bins]: [usize; 2],
        element: Element,
        coding: Coding,
        places: Vec<(Place, Vec<u64>)>,
    ) -> Result<Self> {
        let shape = [places.len(), rows, bins];
        let source = Self { files, shape, element, coding, places, decoded: AtomicU64::new(0) };
        source.places.par_iter().try_for_each(|(place, lengths)| {
            source.files.with(place.file, |file| {
                let all = file.metadata()?.len();
                let ends = place.offsets.iter().zip(lengths).map(|(at, length)| at.saturating_add(*length));
                let end = ends.max().unwrap_or(0);
                ensure!(end <= all, "it has {all} bytes where {end} are needed: it is truncated");
                let [high, wide] = place.piece;
                lengths.iter().enumerate().try_for_each(|(k, &length)| {
                    let there = high.min(rows - k / bins.div_ceil(wide) * high);
                    let needed = (there * wide * element.size()) as u64;
                    let at = place.offsets[k];
                    ensure!(coding.most(length) >= needed, "its {length} bytes at {at} are too few for {needed}");
                    Ok(())
                })
            })
        })?;
        Ok(source)
    }

    /// Reads a piece and decodes its rows, as the file has values, in the order of its bytes.
    fn piece(
        &self,
        file: &File,
        at: u64,
        length: u64,
        shape: [usize; 2],
        rows: usize,
        w: &mut Workspace,
    ) -> Result<()> {
        let [high, wide] = shape;
        let row = wide * self.element.size();
        // Some writers make the last piece as high as the others.
        let whole = (high * row).min(usize::try_from(self.coding.most(length))?);
        let length = usize::try_from(length)?;
        at_least(&mut w.stored, length)?;
        fetch(file, at, &mut w.stored[..length])?;
        at_least(&mut w.piece, whole)?;
        let (from, to) = (&w.stored[..length], &mut w.piece[..whole]);
        let done = match self.coding.codec {
            Some(codec) => codec.decode_some(from, to, &mut w.codecs)?,
            None => {
                let count = length.min(to.len());
                to[..count].copy_from_slice(&from[..count]);
                count
            }
        };
        ensure!(done >= rows * row, "{done} bytes are decoded where {} are needed", rows * row);
        self.decoded.fetch_add((rows * row) as u64, Ordering::Relaxed);
        for row in to.chunks_exact_mut(row).take(rows) {
            self.coding.differences.undo(row, self.element, &mut w.spare)?;
        }
        Ok(())
    }

    /// Some rows of a frame.
    fn frame(&self, frame: usize, rows: Range<usize>, workspace: &mut Workspace, to: &mut [u8]) -> Result<()> {
        let [_, all, bins] = self.shape;
        let (place, lengths) = &self.places[frame];
        let [high, wide] = place.piece;
        let across = bins.div_ceil(wide);
        let [size, own] = [self.element.size(), self.element.dtype().size()];
        self.files.with(place.file, |file| {
            for r in rows.start / high..rows.end.div_ceil(high) {
                let part = (r * high).max(rows.start)..((r + 1) * high).min(rows.end);
                let to = &mut to[(part.start - rows.start) * bins * own..(part.end - rows.start) * bins * own];
                for c in 0..across {
                    let k = r * across + c;
                    let there = high.min(all - r * high);
                    self.piece(file, place.offsets[k], lengths[k], place.piece, there, workspace)
                        .with_context(|| format!("the piece of row {}, bin {}", r * high, c * wide))?;
                    let left = c * wide;
                    let columns = wide.min(bins - left);
                    let from = workspace.piece[(part.start - r * high) * wide * size..].chunks_exact(wide * size);
                    for (to, from) in to.chunks_exact_mut(bins * own).zip(from) {
                        self.element.decode(&from[..columns * size], &mut to[left * own..(left + columns) * own]);
                    }
                }
            }
            Ok(())
        })
    }
}

impl Source for Coded {
    fn shape(&self) -> [usize; 3] {
        self.shape
    }

    fn dtype(&self) -> DType {
        self.element.dtype()
    }

    fn read(&self, frames: &[usize], rows: Range<usize>, to: &mut [u8]) -> Result<()> {
        let each = rows.len() * self.shape[2] * self.element.dtype().size();
        if each == 0 {
            return Ok(());
        }
        let new = || {
            let codecs = Codecs::new()?;
            Ok(Workspace { codecs, stored: Vec::new(), piece: Vec::new(), spare: Vec::new() })
        };
        let frames = to.par_chunks_exact_mut(each).zip(frames);
        frames.try_for_each_init(new, |workspace: &mut Result<Workspace>, (to, &frame)| {
            let workspace = workspace.as_mut().map_err(|e| anyhow::anyhow!("{e:#}"))?;
            self.frame(frame, rows.clone(), workspace, to)
        })
    }

    fn storage(&self) -> String {
        let files = self.files.len();
        let in_files = if files == 1 { "one file".into() } else { format!("{files} files") };
        let codec = self.coding.codec.map_or("differences", Codec::name);
        format!("{}, TIFF in {in_files}, {codec}, decoded by this program", self.element.name())
    }

    fn together(&self) -> Option<usize> {
        Some(1)
    }

    fn decoded(&self) -> u64 {
        self.decoded.load(Ordering::Relaxed)
    }
}
