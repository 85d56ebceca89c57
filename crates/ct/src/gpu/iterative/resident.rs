//! Vectors of some slices in a GPU's memory, and how kernels are launched on them. All is queued in the order of a stream; numbers of
//! slices stay on the GPU.

use super::change::{Change, Mark};
use super::kernels::Kernels;
use super::launches::ONE_BLOCK;
use super::pair::{Pairs, Places};
use super::sizes::parts;
use super::slab::{Factors, Slab, SmoothTables};
use crate::geometry::Geometry;
use crate::gpu::state::{Slot, State};
use crate::iterative::Iteration;
use crate::iterative::history::Iterated;
use crate::iterative::space::{DATA, Image, Offsets, Rows, Sum};
use isocenter_base::error::Result;
use isocenter_base::gpu::{DeviceMemory, Event, Function, Launch, Pinned, Stream, copy_device};

/// A slab's memory on the device.
#[derive(Clone, Copy)]
pub(super) struct Addresses {
    pub(super) vectors: u64,
    /// What the pair packs.
    pub(super) packed: u64,
    /// Of band-limited sums, and of the convolution.
    pub(super) workspace: u64,
    /// Sums, their parts, whether slices have ended, and blocks that are done.
    pub(super) numbers: u64,
    /// Parts of vectors, as they were.
    pub(super) watched: u64,
}

/// Sizes of a slab's vectors.
pub(super) struct Vectors {
    pub(super) slices: usize,
    /// Of one slice.
    pub(super) pixels: usize,
    pub(super) samples: usize,
    pub(super) bins: usize,
    pub(super) images: usize,
    all_rows: usize,
    all_offsets: usize,
    sums: usize,
    pub(super) parts: usize,
}

impl Vectors {
    pub(super) fn new(g: &Geometry, iteration: &Iteration, slices: usize) -> Self {
        let needs = iteration.needs();
        Self {
            slices,
            pixels: g.ny * g.nx,
            samples: g.views() * g.bins,
            bins: g.bins,
            images: needs.images,
            all_rows: needs.rows,
            all_offsets: needs.offsets,
            sums: needs.sums,
            parts: parts(g),
        }
    }

    pub(super) fn bytes(&self) -> usize {
        4 * self.slices * (self.images * self.pixels + self.all_rows * self.samples + self.all_offsets * self.bins)
    }

    pub(super) fn image(&self, at: Addresses, image: Image) -> u64 {
        at.vectors + 4 * (image.0 * self.slices * self.pixels) as u64
    }

    pub(super) fn rows(&self, at: Addresses, rows: Rows) -> u64 {
        at.vectors + 4 * (self.slices * (self.images * self.pixels + rows.0 * self.samples)) as u64
    }

    pub(super) fn offsets(&self, at: Addresses, offsets: Offsets) -> u64 {
        let before = self.images * self.pixels + self.all_rows * self.samples + offsets.0 * self.bins;
        at.vectors + 4 * (self.slices * before) as u64
    }

    pub(super) fn sum(&self, at: Addresses, sum: Sum) -> u64 {
        at.numbers + 8 * (sum.0 * self.slices) as u64
    }

    pub(super) fn parts(&self, at: Addresses) -> u64 {
        at.numbers + 8 * (self.sums * self.slices) as u64
    }

    pub(super) fn ended(&self, at: Addresses) -> u64 {
        at.numbers + 8 * ((self.sums + self.parts) * self.slices) as u64
    }

    pub(super) fn done(&self, at: Addresses) -> u64 {
        self.ended(at) + 4 * self.slices as u64
    }
}

/// A slab's vectors.
pub(super) struct Resident<'s> {
    pub(super) state: &'s mut State,
    /// Where transforms of filters would work.
    pub(super) lines: &'s mut Slot,
    pub(super) slab: &'s Slab<'s>,
    pub(super) at: Addresses,
    pub(super) vectors: &'s Vectors,
    pub(super) stream: &'s Stream,
    pub(super) pairs: &'s Pairs,
    pub(super) mask: Option<&'s DeviceMemory>,
    pub(super) smooth: Option<&'s SmoothTables>,
    pub(super) factors: &'s Factors,
    /// Page-locked: objective and slices left of each iteration.
    pub(super) history: &'s Pinned,
    /// Of the last iteration and the one before.
    pub(super) marks: &'s [Event; 2],
    /// Page-locked: a number of each slice.
    pub(super) numbers: &'s Pinned,
    /// As the host knows it.
    pub(super) running: Vec<bool>,
    pub(super) found: Vec<Iterated>,
    /// Iterations that were recorded, and of which the host knows.
    pub(super) recorded: usize,
    pub(super) looked: usize,
    pub(super) iterations: usize,
}

impl Resident<'_> {
    pub(super) fn kernels(&self) -> Result<&Kernels> {
        self.state.kernels.iterative(&self.state.device)
    }

    /// Launches a kernel by its struct.
    pub(super) fn queue<P: Copy>(&self, kernel: &Function, launch: Launch, parameter: &P) -> Result<()> {
        // SAFETY: the structs mirror the kernels'; vectors and numbers of so many slices live until the stream is waited for.
        unsafe { kernel.launch(self.stream, launch, parameter) }
    }

    pub(super) fn image_at(&self, image: Image) -> u64 {
        self.vectors.image(self.at, image)
    }

    pub(super) fn sum_at(&self, sum: Sum) -> u64 {
        self.vectors.sum(self.at, sum)
    }

    pub(super) fn mask_at(&self) -> u64 {
        self.mask.map_or(0, DeviceMemory::address)
    }

    /// Where the pair works.
    pub(super) fn places(&self, image: u64, rows: u64) -> Places {
        Places { image, rows, packed: self.at.packed, workspace: self.at.workspace }
    }

    /// Rows times others.
    pub(super) fn times(&self, [rows, by]: [Rows; 2]) -> Result<()> {
        self.launch(|k| &k.times, self.row_change(rows, by, None))
    }

    /// Fills the roots of rays' weights, if there are any; `given` has the caller's, (view, bin), on the device.
    pub(super) fn fill_roots(&self, given: Option<&DeviceMemory>) -> Result<()> {
        let Some([roots, _]) = self.slab.iteration.weights() else { return Ok(()) };
        match given {
            None => self.launch(|k| &k.transmission, self.row_change(roots, DATA, None)),
            Some(given) => {
                let v = self.vectors;
                let bytes = 4 * v.samples;
                for slice in 0..v.slices {
                    let to = v.rows(self.at, roots) + (slice * bytes) as u64;
                    // SAFETY: a slice's rows, as many as the caller's weights.
                    unsafe { copy_device(given.address(), to, bytes, self.stream)? };
                }
                Ok(())
            }
        }
    }

    /// Multiplies the data by them.
    pub(super) fn weigh_data(&self) -> Result<()> {
        self.slab.iteration.weights().map_or(Ok(()), |[roots, _]| self.times([DATA, roots]))
    }

    /// A change of whole images.
    pub(super) fn image_change(&self, y: Image, x: Image) -> Change {
        let v = self.vectors;
        let (y, x, n) = (v.image(self.at, y), v.image(self.at, x), v.pixels as i64);
        self.change([y, x], [n, 0, n])
    }

    /// A change of all rows, or of a subset's.
    pub(super) fn row_change(&self, y: Rows, x: Rows, subset: Option<usize>) -> Change {
        let v = self.vectors;
        let bins = self.slab.geometry.bins;
        let (first, views) = subset.map_or((0, v.samples / bins), |subset| self.pairs.views(subset));
        let extent = [v.samples as i64, (first * bins) as i64, (views * bins) as i64];
        self.change([v.rows(self.at, y), v.rows(self.at, x)], extent)
    }

    pub(super) fn change(&self, [y, x]: [u64; 2], [stride, first, count]: [i64; 3]) -> Change {
        let [lower, upper] = self.slab.iteration.options.bounds.map(|b| b as f32);
        Change {
            y,
            x,
            shared: 0,
            over: 0,
            under: 0,
            ended: self.vectors.ended(self.at),
            parts: self.vectors.parts(self.at),
            sums: 0,
            done: self.vectors.done(self.at),
            stride,
            first,
            count,
            weight: 1.0,
            step: 1.0,
            lower,
            upper,
            aligned: 0,
        }
    }

    pub(super) fn by(&self, [over, under]: [Sum; 2], step: f32, change: Change) -> Change {
        Change { over: self.vectors.sum(self.at, over), under: self.vectors.sum(self.at, under), step, ..change }
    }

    /// Goes a part of the way, one of each slice.
    pub(super) fn part(&self, part: Sum, change: Change) -> Change {
        Change { over: self.vectors.sum(self.at, part), ..change }
    }

    pub(super) fn summed(&self, sum: Sum, change: Change) -> Change {
        Change { sums: self.vectors.sum(self.at, sum), ..change }
    }

    pub(super) fn launch(&self, kernel: impl Fn(&Kernels) -> &Function, change: Change) -> Result<()> {
        // SAFETY: vectors and numbers of so many slices, which live until the stream is waited for.
        unsafe { change.launch(kernel(self.kernels()?), self.vectors.slices, self.stream) }
    }

    pub(super) fn mark(&self, kernel: &Function, mark: Mark) -> Result<()> {
        // SAFETY: the struct mirrors the kernel's; numbers of so many slices, which live until the stream is waited for, and page-locked
        // memory, which has the same address on the device.
        unsafe { kernel.launch(self.stream, ONE_BLOCK, &mark) }
    }
}
