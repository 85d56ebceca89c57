//! Values in chunks, which are read from their places in the file and decoded here.

use super::Source;
use super::chunks::{Chunks, Place};
use super::element::Element;
use super::filters::{Pipeline, Workspace};
use crate::memory::{at_least, zeros};
use anyhow::{Context, Result, ensure};
use hdf5_metno::Dataset;
use isocenter::array::DType;
use rayon::prelude::*;
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// Chunks that wait to be copied, at most, in bytes; there may always be one for each thread.
const WAITING: usize = 64 << 20;

/// (frames, rows, bins) in chunks.
pub struct Chunked {
    file: File,
    /// Of the file when it was opened.
    length: u64,
    /// File and dataset, for messages.
    name: String,
    shape: [usize; 3],
    element: Element,
    chunks: Chunks,
    pipeline: Pipeline,
    /// The value of elements that were never written, as it is read.
    fill: Vec<u8>,
    workspaces: Mutex<Vec<Workspace>>,
    decoded: AtomicU64,
}

impl Chunked {
    /// Of a dataset that is stored so; nothing if its elements or filters are not known here.
    pub fn open(dataset: &Dataset, shape: [usize; 3]) -> Result<Option<Self>> {
        let Some(element) = Element::of(&dataset.dtype()?) else { return Ok(None) };
        let Some(pipeline) = Pipeline::of(dataset, element.size())? else { return Ok(None) };
        let Some(chunks) = Chunks::of(dataset, shape)? else { return Ok(None) };
        let path = dataset.filename();
        let file = File::open(&path).with_context(|| format!("opening {path}"))?;
        let length = file.metadata()?.len();
        let fill = super::fill(dataset, element.dtype())?;
        let (name, workspaces) = (format!("{path}:{}", dataset.name()), Mutex::default());
        let decoded = AtomicU64::new(0);
        Ok(Some(Self { file, length, name, shape, element, chunks, pipeline, fill, workspaces, decoded }))
    }

    /// Decodes a chunk into `to`, as it was before its filters.
    fn decode(&self, place: Place, at: [usize; 3], to: &mut [u8]) -> Result<()> {
        let kept = self.workspaces.lock().unwrap_or_else(|e| e.into_inner()).pop();
        let mut workspace = kept.map_or_else(Workspace::new, Ok)?;
        let done = self.decode_with(&mut workspace, place, to);
        self.workspaces.lock().unwrap_or_else(|e| e.into_inner()).push(workspace);
        self.decoded.fetch_add(to.len() as u64, Ordering::Relaxed);
        done.with_context(|| self.told(at))
    }

    fn decode_with(&self, workspace: &mut Workspace, place: Place, to: &mut [u8]) -> Result<()> {
        let Place { address, length, skipped } = place;
        let length = usize::try_from(length)?;
        at_least(&mut workspace.now, length)?;
        self.fetch(address, &mut workspace.now[..length])?;
        self.pipeline.decode(workspace, length, skipped, to)
    }

    /// An error unless a chunk is in the file, and may hold what it has to.
    fn check(&self, Place { address, length, .. }: Place) -> Result<()> {
        ensure!(
            address.checked_add(length).is_some_and(|end| end <= self.length),
            "its {length} bytes at {address} are beyond the end of the file, which has {}: it is truncated",
            self.length
        );
        let needed = (self.chunks.elements() * self.element.size()) as u64;
        ensure!(self.pipeline.most(length) >= needed, "its {length} bytes are too few for the {needed} of a chunk");
        Ok(())
    }

    fn fetch(&self, address: u64, to: &mut [u8]) -> Result<()> {
        let read = self.file.read_exact_at(to, address);
        read.with_context(|| format!("reading {} bytes at {address}", to.len()))
    }

    /// Whether rows lie in the file as they are.
    fn in_rows(&self) -> bool {
        self.pipeline.is_empty() && self.chunks.shape[2] == self.shape[2]
    }

    /// Some rows of a frame, where they lie in the file as they are.
    fn by_rows(&self, frame: usize, rows: Range<usize>, to: &mut [u8]) -> Result<()> {
        let [together, high, wide] = self.chunks.shape;
        let [size, own] = [self.element.size(), self.element.dtype().size()];
        let mut stored = Vec::new();
        for r in rows.start / high..rows.end.div_ceil(high) {
            let part = (r * high).max(rows.start)..((r + 1) * high).min(rows.end);
            let to = &mut to[(part.start - rows.start) * wide * own..(part.end - rows.start) * wide * own];
            let at = [frame / together, r, 0];
            let Some(place) = self.chunks.place(at) else {
                self.fill(to);
                continue;
            };
            let mut read = || {
                let bytes = (self.chunks.elements() * size) as u64;
                ensure!(place.length == bytes, "it has {} bytes where {bytes} are needed", place.length);
                self.check(place)?;
                let address =
                    place.address + (((frame % together) * high + part.start - r * high) * wide * size) as u64;
                if self.element.plain() {
                    return self.fetch(address, to);
                }
                let length = part.len() * wide * size;
                at_least(&mut stored, length)?;
                self.fetch(address, &mut stored[..length])?;
                self.element.decode(&stored[..length], to);
                Ok(())
            };
            read().with_context(|| self.told(at))?;
        }
        Ok(())
    }

    fn fill(&self, to: &mut [u8]) {
        to.chunks_exact_mut(self.fill.len()).for_each(|to| to.copy_from_slice(&self.fill));
    }

    /// Which chunk it is, for messages.
    fn told(&self, at: [usize; 3]) -> String {
        let [frame, row, bin] = std::array::from_fn(|d| at[d] * self.chunks.shape[d]);
        format!("{}, chunk of frame {frame}, row {row}, bin {bin}", self.name)
    }

    /// Some rows of frames that are in the same chunks.
    fn layer(&self, frames: &[usize], rows: Range<usize>, to: &mut [u8]) -> Result<()> {
        let Chunks { shape: chunk, grid, .. } = self.chunks;
        let [all, height, width] = self.shape;
        let [size, own] = [self.element.size(), self.element.dtype().size()];
        let layer = frames[0] / chunk[0];
        let bytes = self.chunks.elements() * size;
        let whole = frames.len() == chunk[0] && rows == (0..height) && chunk[1..] == self.shape[1..];
        if whole && self.element.plain() && (layer + 1) * chunk[0] <= all {
            let at = [layer, 0, 0];
            if let Some(place) = self.chunks.place(at) {
                // Nothing to convert and nothing to leave out, if the frames are all there are, in order.
                if frames.windows(2).all(|pair| pair[0] + 1 == pair[1]) {
                    self.check(place).with_context(|| self.told(at))?;
                    return self.decode(place, at, to);
                }
            }
        }
        let across = |r: usize| (0..grid[2]).map(move |b| [layer, r, b]);
        let wanted: Vec<_> = (rows.start / chunk[1]..rows.end.div_ceil(chunk[1])).flat_map(across).collect();
        let together = (WAITING / bytes.max(1)).max(rayon::current_num_threads());
        for wanted in wanted.chunks(together) {
            let decoded = wanted.par_iter().map(|&at| -> Result<_> {
                let Some(place) = self.chunks.place(at) else { return Ok((at, None)) };
                self.check(place).with_context(|| self.told(at))?;
                let mut values = zeros(bytes)?;
                self.decode(place, at, &mut values)?;
                Ok((at, Some(values)))
            });
            let decoded = decoded.collect::<Result<Vec<_>>>()?;
            let frame = rows.len() * width * own;
            to.par_chunks_exact_mut(frame).zip(frames).for_each(|(to, &f)| {
                for (at, values) in &decoded {
                    let (first, left) = (at[1] * chunk[1], at[2] * chunk[2]);
                    let columns = chunk[2].min(width - left);
                    for row in first.max(rows.start)..(first + chunk[1]).min(rows.end) {
                        let to = &mut to[((row - rows.start) * width + left) * own..][..columns * own];
                        match values {
                            Some(values) => {
                                let from = ((f % chunk[0]) * chunk[1] + row - first) * chunk[2] * size;
                                self.element.decode(&values[from..from + columns * size], to);
                            }
                            None => self.fill(to),
                        }
                    }
                }
            });
        }
        Ok(())
    }
}

impl Source for Chunked {
    fn shape(&self) -> [usize; 3] {
        self.shape
    }

    fn dtype(&self) -> DType {
        self.element.dtype()
    }

    fn read(&self, frames: &[usize], rows: Range<usize>, to: &mut [u8]) -> Result<()> {
        let frame = rows.len() * self.shape[2] * self.element.dtype().size();
        if frame == 0 {
            return Ok(());
        }
        if self.in_rows() {
            let frames = to.par_chunks_exact_mut(frame).zip(frames);
            return frames.try_for_each(|(to, &frame)| self.by_rows(frame, rows.clone(), to));
        }
        let mut layers = Vec::new();
        let mut rest = to;
        for frames in frames.chunk_by(|a, b| a / self.chunks.shape[0] == b / self.chunks.shape[0]) {
            let (to, behind) = rest.split_at_mut(frames.len() * frame);
            layers.push((frames, to));
            rest = behind;
        }
        layers.into_par_iter().try_for_each(|(frames, to)| self.layer(frames, rows.clone(), to))
    }

    fn storage(&self) -> String {
        let [frames, rows, bins] = self.chunks.shape;
        let how = match self.in_rows() {
            true => "read by rows by this program".into(),
            false if self.pipeline.is_empty() => "put together by this program".into(),
            false => format!("{}, decoded by this program", self.pipeline.names()),
        };
        format!("{} in chunks of {frames} x {rows} x {bins}, {how}", self.element.name())
    }

    fn together(&self) -> Option<usize> {
        (!self.in_rows()).then_some(self.chunks.shape[0])
    }

    fn decoded(&self) -> u64 {
        self.decoded.load(Ordering::Relaxed)
    }
}
