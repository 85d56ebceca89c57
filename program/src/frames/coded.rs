//! Compressed TIFF images: each is decoded as a whole.

use super::Source;
use super::element::Element;
use super::files::Files;
use super::memory::at_least;
use anyhow::{Context, Result};
use isocenter::array::DType;
use rayon::prelude::*;
use std::fs::File;
use std::io::BufReader;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use tiff::decoder::Decoder;

/// A file that is read from image to image, and its number.
type Open = (usize, Decoder<BufReader<File>>);

/// (frames, rows, bins), each frame an image of a file.
pub struct Coded {
    files: Files,
    shape: [usize; 3],
    /// As the decoder gives values, in this machine's order of bytes.
    element: Element,
    /// Which file and which image of it a frame is.
    images: Vec<[usize; 2]>,
    /// How images are compressed.
    codec: String,
    /// Files of many images: what was found of their places is used again.
    open: Mutex<Vec<Open>>,
    decoded: AtomicU64,
}

impl Coded {
    pub fn new(
        files: Files,
        [rows, bins]: [usize; 2],
        element: Element,
        images: Vec<[usize; 2]>,
        codec: String,
    ) -> Self {
        let shape = [images.len(), rows, bins];
        Self { files, shape, element, images, codec, open: Mutex::default(), decoded: AtomicU64::new(0) }
    }

    /// Decodes a frame, which fills `to`.
    fn decode(&self, frame: usize, to: &mut [u8]) -> Result<()> {
        let [file, image] = self.images[frame];
        let path = self.files.path(file);
        self.decoded.fetch_add(to.len() as u64, Ordering::Relaxed);
        let mut decode = || -> Result<()> {
            let mut open = self.open.lock().unwrap_or_else(|e| e.into_inner());
            let kept = open.iter().position(|(k, _)| *k == file).map(|k| open.swap_remove(k).1);
            drop(open);
            let mut decoder = match kept {
                Some(decoder) => decoder,
                None => Decoder::new(BufReader::new(File::open(path)?))?,
            };
            if image > 0 || self.images.len() > self.files.len() {
                decoder.seek_to_image(image)?;
            }
            decoder.read_image_bytes(to)?;
            if self.images.len() > self.files.len() {
                let mut open = self.open.lock().unwrap_or_else(|e| e.into_inner());
                open.truncate(rayon::current_num_threads().saturating_sub(1));
                open.push((file, decoder));
            }
            Ok(())
        };
        decode().with_context(|| format!("image {image} of {}", path.display()))
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
        let [_, all, bins] = self.shape;
        let [row, own] = [self.element.size(), self.element.dtype().size()].map(|size| size * bins);
        if rows.is_empty() {
            return Ok(());
        }
        let frames = to.par_chunks_exact_mut(rows.len() * own).zip(frames);
        frames.try_for_each_init(Vec::new, |stored, (to, &frame)| {
            if rows == (0..all) && self.element.plain() {
                return self.decode(frame, to);
            }
            at_least(stored, all * row)?;
            self.decode(frame, &mut stored[..all * row])?;
            self.element.decode(&stored[rows.start * row..rows.end * row], to);
            Ok(())
        })
    }

    fn storage(&self) -> String {
        format!("{}, TIFF in {} files, {}, decoded by this program", self.element.name(), self.files.len(), self.codec)
    }

    fn together(&self) -> Option<usize> {
        Some(1)
    }

    fn decoded(&self) -> u64 {
        self.decoded.load(Ordering::Relaxed)
    }
}
