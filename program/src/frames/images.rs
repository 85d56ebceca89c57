//! Images that lie in files as they are, whole or in pieces: each row that is wanted is read from its place.

use super::element::Element;
use super::files::Files;
use super::{Source, cut};
use crate::memory::at_least;
use anyhow::{Context, Result, ensure};
use isocenter::array::DType;
use rayon::prelude::*;
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;

/// Where an image lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Which of the files.
    pub file: usize,
    /// Rows and bins of a piece.
    pub piece: [usize; 2],
    /// Where pieces begin, those beside each other first.
    pub offsets: Vec<u64>,
}

/// (frames, rows, bins), each frame somewhere.
pub struct Images {
    files: Files,
    /// What kind of files they are.
    kind: &'static str,
    shape: [usize; 3],
    element: Element,
    places: Vec<Place>,
}

impl Images {
    /// Of rows and bins; refuses what is beyond the end of a file.
    pub fn new(
        kind: &'static str,
        files: Files,
        [rows, bins]: [usize; 2],
        element: Element,
        places: Vec<Place>,
    ) -> Result<Self> {
        let source = Self { files, kind, shape: [places.len(), rows, bins], element, places };
        let bytes = source.shape.iter().try_fold(element.size().max(4), |n, &k| n.checked_mul(k));
        ensure!(bytes.is_some(), "the frames have more bytes than can be counted");
        (0..source.files.len()).into_par_iter().try_for_each(|k| source.check(k))?;
        Ok(source)
    }

    /// Bytes of a piece that are needed.
    fn stored(&self, place: &Place, row: usize) -> u64 {
        let [_, rows, _] = self.shape;
        let [high, wide] = place.piece;
        (high.min(rows - row * high) * wide * self.element.size()) as u64
    }

    /// An error where images of a file go beyond its end.
    fn check(&self, file: usize) -> Result<()> {
        let first = self.places.partition_point(|place| place.file < file);
        let images = self.places[first..].iter().take_while(|place| place.file == file);
        let across = |place: &Place| self.shape[2].div_ceil(place.piece[1]);
        let ends = images.flat_map(|place| {
            let end = move |(k, offset): (usize, &u64)| offset.checked_add(self.stored(place, k / across(place)));
            place.offsets.iter().enumerate().map(end)
        });
        let end = ends.collect::<Option<Vec<_>>>().map(|ends| ends.into_iter().max().unwrap_or(0));
        self.files.with(file, |open| {
            let length = open.metadata()?.len();
            let end = end.context("its values begin beyond what can be counted")?;
            ensure!(end <= length, "it has {length} bytes where {end} are needed: it is truncated");
            Ok(())
        })
    }

    /// Some rows of a frame.
    fn frame(&self, frame: usize, rows: Range<usize>, stored: &mut Vec<u8>, to: &mut [u8]) -> Result<()> {
        let [_, _, bins] = self.shape;
        let place = &self.places[frame];
        let [high, wide] = place.piece;
        let across = bins.div_ceil(wide);
        let [size, own] = [self.element.size(), self.element.dtype().size()];
        self.files.with(place.file, |file| {
            for r in rows.start / high..rows.end.div_ceil(high) {
                let part = (r * high).max(rows.start)..((r + 1) * high).min(rows.end);
                let to = &mut to[(part.start - rows.start) * bins * own..(part.end - rows.start) * bins * own];
                for c in 0..across {
                    let at = place.offsets[r * across + c] + ((part.start - r * high) * wide * size) as u64;
                    if wide == bins && self.element.plain() {
                        fetch(file, at, to)?;
                        continue;
                    }
                    let length = part.len() * wide * size;
                    at_least(stored, length)?;
                    fetch(file, at, &mut stored[..length])?;
                    let left = c * wide;
                    let columns = wide.min(bins - left);
                    for (to, from) in to.chunks_exact_mut(bins * own).zip(stored.chunks_exact(wide * size)) {
                        self.element.decode(&from[..columns * size], &mut to[left * own..(left + columns) * own]);
                    }
                }
            }
            Ok(())
        })
    }
}

/// Fills `to` with what lies at a place of a file.
pub fn fetch(file: &File, at: u64, to: &mut [u8]) -> Result<()> {
    file.read_exact_at(to, at).with_context(|| format!("reading {} bytes at {at}", to.len()))
}

impl Source for Images {
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
        let frames = to.par_chunks_exact_mut(each).zip(frames);
        frames.try_for_each_init(Vec::new, |stored, (to, &frame)| self.frame(frame, rows.clone(), stored, to))
    }

    fn read_bins(&self, frames: &[usize], rows: Range<usize>, part: Range<usize>, to: &mut [u8]) -> Result<()> {
        let ([_, _, bins], size) = (self.shape, self.element.size());
        if !self.element.plain() || frames.iter().any(|&frame| self.places[frame].piece[1] != bins) {
            return cut(self, frames, rows, part, to);
        }
        let row = (part.len() * size).max(1);
        let read = |to: &mut [u8], frame: usize| {
            let place = &self.places[frame];
            let at = |row: usize| {
                let [piece, inside] = [row / place.piece[0], row % place.piece[0]];
                place.offsets[piece] + ((inside * bins + part.start) * size) as u64
            };
            let mut rows = to.chunks_exact_mut(row).zip(rows.clone());
            self.files.with(place.file, |file| rows.try_for_each(|(to, row)| fetch(file, at(row), to)))
        };
        // A few values are not worth another thread.
        if let [frame] = frames {
            return read(to, *frame);
        }
        let frames = to.par_chunks_exact_mut((rows.len() * row).max(1)).zip(frames);
        frames.try_for_each(|(to, &frame)| read(to, frame))
    }

    fn storage(&self) -> String {
        let files = self.files.len();
        let in_files = if files == 1 { "one file".into() } else { format!("{files} files") };
        format!("{}, {} in {in_files}, read by rows", self.element.name(), self.kind)
    }
}
