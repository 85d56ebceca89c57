//! Sinograms as frames: what is stored as (rows, views, bins), read as (views, rows, bins).

use super::Source;
use crate::memory::zeros;
use anyhow::Result;
use isocenter::array::DType;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Arc;

/// Images of which each is a detector row.
pub struct Sinograms(pub Arc<dyn Source>);

impl Source for Sinograms {
    fn shape(&self) -> [usize; 3] {
        let [rows, views, bins] = self.0.shape();
        [views, rows, bins]
    }

    fn dtype(&self) -> DType {
        self.0.dtype()
    }

    fn read(&self, frames: &[usize], rows: Range<usize>, to: &mut [u8]) -> Result<()> {
        let row = self.shape()[2] * self.dtype().size();
        if row == 0 || rows.is_empty() || frames.is_empty() {
            return Ok(());
        }
        let images: Vec<_> = rows.collect();
        let mut rest = to;
        // Views that follow each other at once.
        for run in frames.chunk_by(|a, b| a + 1 == *b) {
            let (to, behind) = rest.split_at_mut(run.len() * images.len() * row);
            rest = behind;
            let mut stored = zeros(to.len())?;
            self.0.read(&images, run[0]..run[0] + run.len(), &mut stored)?;
            to.par_chunks_exact_mut(images.len() * row).enumerate().for_each(|(view, to)| {
                for (image, to) in to.chunks_exact_mut(row).enumerate() {
                    to.copy_from_slice(&stored[(image * run.len() + view) * row..][..row]);
                }
            });
        }
        Ok(())
    }

    fn storage(&self) -> String {
        format!("sinograms: {}", self.0.storage())
    }

    fn below(&self) -> Option<&dyn Source> {
        Some(&*self.0)
    }

    /// Rows lie together as they are stored: those of a slab are decoded when they are wanted, and no others.
    fn together(&self) -> Option<usize> {
        None
    }
}
