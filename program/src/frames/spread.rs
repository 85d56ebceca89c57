//! Frames that the processes of a team have decoded once between them, each a part of the frames, and read from each other:
//! (rows, frames of the part, bins).

use super::Source;
use super::held::{To, fill};
use super::kept::Kept;
use crate::memory::zeros;
use crate::team::{Shared, Team};
use anyhow::{Context, Result};
use isocenter::array::DType;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Arc;

/// Bytes that are asked of another process at a time.
const BATCH: usize = 64 << 20;

/// Some rows of some frames of a source.
pub struct Spread {
    source: Arc<dyn Source>,
    kept: Kept,
    /// Which of the frames that are kept a process has.
    parts: Vec<Range<usize>>,
    memory: Box<dyn Shared>,
}

/// Parts of frames, ascending, for so many processes; frames that are decoded together stay together.
fn parts(frames: &[usize], layer: usize, processes: usize) -> Vec<Range<usize>> {
    let cut = |k: usize| {
        let near = k * frames.len() / processes;
        // To the first of its layer, but for the end.
        frames.get(near).map_or(near, |frame| frames.partition_point(|f| f / layer < frame / layer))
    };
    (0..processes).map(|k| cut(k)..cut(k + 1)).collect()
}

impl Spread {
    /// Reads some rows of some frames of a source, both ascending, each of its chunks in one process; nothing if there is too little memory
    /// in one of them. All of a team call it.
    pub fn new(
        source: &Arc<dyn Source>,
        frames: &[usize],
        rows: &[usize],
        memory: &mut u64,
        team: &dyn Team,
    ) -> Result<Option<Self>> {
        let [all, _, bins] = source.shape();
        let row = bins * source.dtype().size();
        let parts = parts(frames, source.together().unwrap_or(1), team.size());
        let own = parts[team.rank()].clone();
        let bytes = [rows.len(), own.len(), row].into_iter().try_fold(1usize, |n, k| n.checked_mul(k));
        let bytes = bytes.context("the scan has more bytes than can be counted")?;
        if !team.all(bytes as u64 <= *memory)? {
            return Ok(None);
        }
        *memory -= bytes as u64;
        let mut memory = team.shared(bytes)?;
        if let (Some(&first), Some(&last)) = (rows.first(), rows.last()) {
            fill(&**source, &frames[own], rows, first..last + 1, To::Memory(memory.own()))?;
        }
        team.meet()?;
        Ok(Some(Self { source: source.clone(), kept: Kept::new(all, frames, rows), parts, memory }))
    }

    /// Some rows that are kept of the frames that one process has, into their places in `to`, (frames, rows, bins).
    fn fetch(&self, rank: usize, places: &[usize], kept: Range<usize>, to: &mut [u8]) -> Result<()> {
        let row = self.source.shape()[2] * self.source.dtype().size();
        let (part, each) = (&self.parts[rank], kept.len() * row);
        let here = || places.iter().filter(|place| part.contains(place));
        let (Some(&first), Some(&last)) = (here().min(), here().max()) else { return Ok(()) };
        let (wanted, band) = ((last + 1 - first) * row, part.len() * row);
        let step = (BATCH / wanted).clamp(1, kept.len());
        let mut from = zeros(step * wanted)?;
        for some in kept.clone().step_by(step).map(|k| k..(k + step).min(kept.end)) {
            let at = some.start * band + (first - part.start) * row;
            let from = &mut from[..some.len() * wanted];
            self.memory.read(rank, at as u64, band as u64, wanted, from)?;
            let to = to.par_chunks_exact_mut(each).zip(places).filter(|(_, place)| part.contains(place));
            to.for_each(|(to, place)| {
                let to = to[(some.start - kept.start) * row..].chunks_exact_mut(row);
                for (to, from) in to.zip(from.chunks_exact(wanted)) {
                    to.copy_from_slice(&from[(place - first) * row..][..row]);
                }
            });
        }
        Ok(())
    }
}

impl Source for Spread {
    fn shape(&self) -> [usize; 3] {
        self.source.shape()
    }

    fn dtype(&self) -> DType {
        self.source.dtype()
    }

    fn read(&self, frames: &[usize], rows: Range<usize>, to: &mut [u8]) -> Result<()> {
        match self.kept.find(frames, &rows) {
            Some((places, kept)) => {
                (0..self.parts.len()).try_for_each(|rank| self.fetch(rank, &places, kept.clone(), to))
            }
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
}

#[cfg(test)]
mod tests {
    use super::parts;

    #[test]
    fn layers_stay_together() {
        let frames: Vec<_> = (3..50).chain(60..64).collect();
        for (layer, processes) in [(1, 3), (4, 3), (7, 5), (100, 4)] {
            let parts = parts(&frames, layer, processes);
            assert!(parts.iter().cloned().flatten().eq(0..frames.len()));
            for pair in parts.windows(2).filter(|pair| !pair[1].is_empty() && pair[1].start > 0) {
                assert_ne!(frames[pair[1].start] / layer, frames[pair[1].start - 1] / layer);
            }
        }
    }
}
