//! One array of the pyramid: which chunks and shards it has, and slices that wait for the others of their chunks.

use super::super::folder::Folder;
use super::super::{Compression, Wanted};
use super::buffers::Buffers;
use super::shard;
use anyhow::{Context, Error, Result};
use isocenter::array::DType;
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::fs::File;
use std::ops::Range;
use std::path::Path;
use std::sync::Mutex;

/// Sides of chunks, at most: a megabyte of 16-bit integers, flat, since slices are what is mostly looked at.
const CHUNK: [usize; 3] = [32, 128, 128];
/// Chunks of a shard along rows and columns, at most.
const SHARD: usize = 4;
/// The smallest array is not larger than this.
const SMALL: usize = 256;

pub struct Level {
    /// Its folder's name.
    pub name: String,
    pub shape: [usize; 3],
    pub chunk: [usize; 3],
    pub shard: [usize; 3],
    pub dtype: DType,
    pub compression: Compression,
    /// Slices of chunks that are not whole.
    held: Mutex<BTreeMap<usize, Held>>,
    /// For chunks, and for layers of them.
    chunks_free: Buffers,
    layers_free: Buffers,
}

/// A chunk of a layer.
pub struct Place {
    pub shard: usize,
    /// Which of the shard's it is.
    pub chunk: usize,
    /// Its first row and column.
    corner: [usize; 2],
}

struct Held {
    values: Vec<u8>,
    there: Vec<bool>,
}

/// All of a volume.
pub fn all(wanted: &Wanted) -> Vec<Level> {
    let Wanted { mut shape, block, dtype, compression, .. } = *wanted;
    // Chunks of each array end where a block does; one block alone ends nothing.
    let within = if block >= shape[0] { usize::MAX } else { 1 << block.trailing_zeros() };
    let mut levels = Vec::new();
    loop {
        let depth = (within >> levels.len()).min(CHUNK[0]);
        let chunk = [depth, CHUNK[1], CHUNK[2]];
        let chunk = [0, 1, 2].map(|k: usize| chunk[k].min(shape[k]));
        let shards = |k: usize| chunk[k] * shape[k].div_ceil(chunk[k]).min(SHARD);
        let shard = [chunk[0], shards(1), shards(2)];
        let name = levels.len().to_string();
        levels.push(Level::new(name, [shape, chunk, shard], dtype, compression));
        if shape.iter().all(|n| *n <= SMALL) || within >> levels.len() == 0 {
            return levels;
        }
        shape = shape.map(|n| n.div_ceil(2));
    }
}

impl Level {
    /// With the sides of itself, of its chunks, and of its shards.
    pub fn new(name: String, [shape, chunk, shard]: [[usize; 3]; 3], dtype: DType, compression: Compression) -> Self {
        let (held, chunks_free, layers_free) = Default::default();
        Self { name, shape, chunk, shard, dtype, compression, held, chunks_free, layers_free }
    }

    /// Slices of a chunk.
    pub fn depth(&self) -> usize {
        self.chunk[0]
    }

    /// Rows and columns of a slice.
    pub fn rows(&self) -> [usize; 2] {
        [self.shape[1], self.shape[2]]
    }

    fn slice(&self) -> usize {
        self.shape[1] * self.shape[2] * self.dtype.size()
    }

    /// Slices of a layer of chunks: fewer at the end.
    fn slices(&self, layer: usize) -> usize {
        self.depth().min(self.shape[0] - layer * self.depth())
    }

    /// Gives `whole` each layer of chunks that these slices complete.
    pub fn layers(&self, first: usize, slices: &[u8], mut whole: impl FnMut(usize, &[u8]) -> Result<()>) -> Result<()> {
        let (mut at, mut rest) = (first, slices);
        while !rest.is_empty() {
            let (layer, inside) = (at / self.depth(), at % self.depth());
            let all = self.slices(layer);
            let count = (rest.len() / self.slice()).min(all - inside);
            let (part, more) = rest.split_at(count * self.slice());
            if count == all {
                whole(layer, part)?;
            } else if let Some(values) = self.hold(layer, inside, part)? {
                whole(layer, &values)?;
                self.layers_free.give_back(values);
            }
            (at, rest) = (at + count, more);
        }
        Ok(())
    }

    /// Keeps slices of a layer; gives it where it is whole with them.
    fn hold(&self, layer: usize, inside: usize, part: &[u8]) -> Result<Option<Vec<u8>>> {
        let all = self.slices(layer);
        let mut held = self.held.lock().unwrap_or_else(|e| e.into_inner());
        let new = || Ok(Held { values: self.layers_free.of(all * self.slice())?, there: vec![false; all] });
        let mut of = held.remove(&layer).map_or_else(new, Ok::<_, anyhow::Error>)?;
        of.values[inside * self.slice()..][..part.len()].copy_from_slice(part);
        of.there[inside..][..part.len() / self.slice()].fill(true);
        if of.there.iter().all(|there| *there) {
            return Ok(Some(of.values));
        }
        held.insert(layer, of);
        Ok(None)
    }

    /// A slice about which chunks are not whole.
    pub fn waiting(&self) -> Option<usize> {
        let held = self.held.lock().unwrap_or_else(|e| e.into_inner());
        held.keys().next().map(|layer| layer * self.depth())
    }

    /// Shards along rows and columns.
    fn shards(&self) -> [usize; 2] {
        [1, 2].map(|k| self.shape[k].div_ceil(self.shard[k]))
    }

    /// Chunks of a shard along rows and columns.
    fn chunks(&self) -> [usize; 2] {
        [1, 2].map(|k| self.shard[k] / self.chunk[k])
    }

    fn path(&self, layer: usize, shard: usize) -> String {
        let [_, across] = self.shards();
        format!("{}/c/{layer}/{}/{}", self.name, shard / across, shard % across)
    }

    /// First row and column of a chunk of a shard.
    fn corner(&self, shard: usize, chunk: usize) -> [usize; 2] {
        let (shards, chunks) = (self.shards()[1], self.chunks()[1]);
        let y = shard / shards * self.shard[1] + chunk / chunks * self.chunk[1];
        let x = shard % shards * self.shard[2] + chunk % chunks * self.chunk[2];
        [y, x]
    }

    /// Writes a layer of chunks, on all cores.
    pub fn write(&self, layer: usize, values: &[u8], folder: &Folder) -> Result<()> {
        let [down, across] = self.shards();
        (0..down * across).into_par_iter().try_for_each(|k| {
            let chunks = self.chunks().iter().product::<usize>();
            let encode = |chunk: usize| {
                let [mut cut, mut encoded] = [self.chunks_free.take(), self.chunks_free.take()];
                self.cut(values, self.corner(k, chunk), &mut cut);
                shard::encode(&cut, self.compression, &mut encoded)?;
                self.chunks_free.give_back(cut);
                Ok(encoded)
            };
            let chunks: Vec<_> = (0..chunks).into_par_iter().map(encode).collect::<Result<_>>()?;
            let places = shard::places(&chunks);
            let mut parts: Vec<&[u8]> = chunks.iter().map(Vec::as_slice).collect();
            parts.push(&places);
            folder.write(&self.path(layer, k), &parts)?;
            chunks.into_iter().for_each(|chunk| self.chunks_free.give_back(chunk));
            Ok(())
        })
    }

    /// The values of a chunk, zeros beyond the array; nothing where it lies outside.
    fn cut(&self, values: &[u8], [top, left]: [usize; 2], cut: &mut Vec<u8>) {
        cut.clear();
        let (size, [rows, columns]) = (self.dtype.size(), self.rows());
        if top >= rows || left >= columns {
            return;
        }
        let [depth, down, across] = self.chunk;
        let (wide, tall) = (across.min(columns - left), down.min(rows - top));
        cut.resize(depth * down * across * size, 0);
        for (slice, to) in values.chunks(self.slice()).zip(cut.chunks_mut(down * across * size)) {
            for (y, to) in (top..top + tall).zip(to.chunks_mut(across * size)) {
                to[..wide * size].copy_from_slice(&slice[(y * columns + left) * size..][..wide * size]);
            }
        }
    }

    /// Chunks of a layer in which some rows and columns lie.
    pub fn within(&self, rows: Range<usize>, columns: Range<usize>) -> Vec<Place> {
        let each = self.chunks().iter().product();
        let all = (0..self.shards().iter().product()).flat_map(|shard| (0..each).map(move |chunk| [shard, chunk]));
        let places = all.map(|[shard, chunk]| Place { shard, chunk, corner: self.corner(shard, chunk) });
        let [_, down, across] = self.chunk;
        places
            .filter(|Place { corner: [top, left], .. }| {
                *top < rows.end && top + down > rows.start && *left < columns.end && left + across > columns.start
            })
            .collect()
    }

    /// The values of a chunk of a layer.
    pub fn decoded(&self, layer: usize, place: &Place, folder: &Path) -> Result<Vec<u8>> {
        let path = folder.join(self.path(layer, place.shard));
        let bytes = self.chunk.iter().product::<usize>() * self.dtype.size();
        let count = self.chunks().iter().product::<usize>();
        let decoded = |file: File| shard::decoded(&file, place.chunk, count, bytes, self.compression);
        File::open(&path).map_err(Error::from).and_then(decoded).with_context(|| format!("reading {}", path.display()))
    }

    /// Copies what a chunk has of some rows and columns of a slice into `to`, (rows, columns).
    pub fn copy(&self, place: &Place, chunk: &[u8], slice: usize, [rows, columns]: [&Range<usize>; 2], to: &mut [u8]) {
        let ([top, left], [_, down, across], size) = (place.corner, self.chunk, self.dtype.size());
        let plane = &chunk[slice % self.depth() * down * across * size..][..down * across * size];
        let [first, end] = [left.max(columns.start), (left + across).min(columns.end)];
        for y in top.max(rows.start)..(top + down).min(rows.end) {
            let from = &plane[((y - top) * across + first - left) * size..][..(end - first) * size];
            to[((y - rows.start) * columns.len() + first - columns.start) * size..][..from.len()].copy_from_slice(from);
        }
    }

    /// Reads a slice.
    pub fn read(&self, slice: usize, folder: &Path, to: &mut [u8]) -> Result<()> {
        let [rows, columns] = self.rows().map(|n| 0..n);
        let places = self.within(rows.clone(), columns.clone());
        let decode = |place: &Place| self.decoded(slice / self.depth(), place, folder);
        let chunks: Vec<_> = places.par_iter().map(decode).collect::<Result<_>>()?;
        let copy = |(place, chunk): (&Place, &Vec<u8>)| self.copy(place, chunk, slice, [&rows, &columns], to);
        places.iter().zip(&chunks).for_each(copy);
        Ok(())
    }
}
