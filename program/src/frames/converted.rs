//! Frames as floating point, times a number: of types that differ, and sums of frames.

use super::Source;
use crate::memory::at_least;
use anyhow::Result;
use isocenter::array::DType;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::{Arc, Mutex};

/// (frames, rows, bins) of f32.
pub struct Converted {
    source: Arc<dyn Source>,
    factor: f32,
    /// For what is read, between calls.
    stored: Mutex<Vec<u8>>,
}

impl Converted {
    pub fn new(source: Arc<dyn Source>, factor: f32) -> Self {
        Self { source, factor, stored: Mutex::default() }
    }
}

impl Source for Converted {
    fn shape(&self) -> [usize; 3] {
        self.source.shape()
    }

    fn dtype(&self) -> DType {
        DType::F32
    }

    fn read(&self, frames: &[usize], rows: Range<usize>, to: &mut [u8]) -> Result<()> {
        let kept = || self.stored.lock().unwrap_or_else(|e| e.into_inner());
        let mut stored = std::mem::take(&mut *kept());
        let dtype = self.source.dtype();
        let length = to.len() / DType::F32.size() * dtype.size();
        at_least(&mut stored, length)?;
        self.source.read(frames, rows, &mut stored[..length])?;
        let values = to.par_chunks_exact_mut(DType::F32.size()).zip(stored[..length].par_chunks_exact(dtype.size()));
        values.for_each(|(to, from)| {
            let value = match *from {
                [v] => f32::from(v),
                [a, b] => f32::from(u16::from_ne_bytes([a, b])),
                [a, b, c, d] => f32::from_ne_bytes([a, b, c, d]),
                _ => unreachable!("no element of frames has this size"),
            };
            to.copy_from_slice(&(value * self.factor).to_ne_bytes());
        });
        *kept() = stored;
        Ok(())
    }

    fn storage(&self) -> String {
        self.source.storage()
    }

    fn below(&self) -> Option<&dyn Source> {
        Some(&*self.source)
    }
}
