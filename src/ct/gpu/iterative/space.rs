//! Vectors of some slices in a GPU's memory, and what methods do to them. All is queued in the order of a stream; numbers of slices stay on
//! the GPU, and the host looks an iteration behind at what it found.

use super::change::{Change, Kernels, Lessen, Mark};
use super::launches::ONE_BLOCK;
use super::pair::{Pairs, Places};
use super::sizes::parts;
use super::slab::{Factors, Slab};
use crate::cpu::buffer::copied;
use crate::ct::geometry::Geometry;
use crate::ct::gpu::state::{Slot, State};
use crate::ct::iterative::Iteration;
use crate::ct::iterative::history::Iterated;
use crate::ct::iterative::norms::Norms;
use crate::ct::iterative::space::{
    Bound, DATA, Dual, Excess, Hasten, Image, LEAST, Limit, Offsets, Primal, Rows, Shift, Space, Sum,
};
use crate::error::{Result, fail};
use crate::gpu::{
    DeviceMemory, Event, Function, Launch, Pinned, Rows as PinnedRows, Stream, clear_device, copy_device,
};

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

    fn ended(&self, at: Addresses) -> u64 {
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

/// Iterations that the GPU may be behind the host.
const BEHIND: usize = 1;

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
    fn times(&self, [rows, by]: [Rows; 2]) -> Result<()> {
        self.launch(|k| &k.times, self.row_change(rows, by, None))
    }

    /// Fills the roots of rays' weights, and multiplies the data by them; `given` has the caller's, (view, bin), on the device.
    pub(super) fn weigh_data(&self, given: Option<&DeviceMemory>) -> Result<()> {
        let Some([roots, _]) = self.slab.iteration.weights() else { return Ok(()) };
        match given {
            None => self.launch(|k| &k.transmission, self.row_change(roots, DATA, None))?,
            Some(given) => {
                let v = self.vectors;
                let bytes = 4 * v.samples;
                for slice in 0..v.slices {
                    let to = v.rows(self.at, roots) + (slice * bytes) as u64;
                    // SAFETY: a slice's rows, as many as the caller's weights.
                    unsafe { copy_device(given.address(), to, bytes, self.stream)? };
                }
            }
        }
        self.times([DATA, roots])
    }

    /// A change of whole images.
    fn image_change(&self, y: Image, x: Image) -> Change {
        let v = self.vectors;
        let (y, x, n) = (v.image(self.at, y), v.image(self.at, x), v.pixels as i64);
        self.change([y, x], [n, 0, n])
    }

    /// A change of all rows, or of a subset's.
    fn row_change(&self, y: Rows, x: Rows, subset: Option<usize>) -> Change {
        let v = self.vectors;
        let bins = self.slab.geometry.bins;
        let (first, views) = subset.map_or((0, v.samples / bins), |subset| self.pairs.views(subset));
        let extent = [v.samples as i64, (first * bins) as i64, (views * bins) as i64];
        self.change([v.rows(self.at, y), v.rows(self.at, x)], extent)
    }

    fn change(&self, [y, x]: [u64; 2], [stride, first, count]: [i64; 3]) -> Change {
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

    fn by(&self, [over, under]: [Sum; 2], step: f32, change: Change) -> Change {
        Change { over: self.vectors.sum(self.at, over), under: self.vectors.sum(self.at, under), step, ..change }
    }

    /// Goes a part of the way, one of each slice.
    fn part(&self, part: Sum, change: Change) -> Change {
        Change { over: self.vectors.sum(self.at, part), ..change }
    }

    fn summed(&self, sum: Sum, change: Change) -> Change {
        Change { sums: self.vectors.sum(self.at, sum), ..change }
    }

    fn launch(&self, kernel: impl Fn(&Kernels) -> &Function, change: Change) -> Result<()> {
        // SAFETY: vectors and numbers of so many slices, which live until the stream is waited for.
        unsafe { change.launch(kernel(self.kernels()?), self.vectors.slices, self.stream) }
    }

    fn mark(&self, kernel: &Function, mark: Mark) -> Result<()> {
        // SAFETY: the struct mirrors the kernel's; numbers of so many slices, which live until the stream is waited for, and page-locked
        // memory, which has the same address on the device.
        unsafe { kernel.launch(self.stream, ONE_BLOCK, &mark) }
    }

    /// One over the sums of A along rays and over pixels: A and A^T of ones, for one slice.
    ///
    /// # Safety
    /// The vectors are of one slice at least, and nothing in them is wanted any more.
    pub(super) unsafe fn make_factors(&mut self) -> Result<Factors> {
        let (needs, device, stream) = (self.slab.iteration.needs(), self.state.device.clone(), self.stream);
        let mut factors = Factors { rays: None, pixels: Vec::new(), norms: None };
        let v = self.vectors;
        let (pixels, samples, subsets) = (v.pixels, v.samples, self.pairs.len());
        let ones = DeviceMemory::new(&device, 4 * pixels.max(samples))?;
        ones.fill(1.0, stream)?;
        let one = |count: usize| [count as i64, 0, count as i64];
        let lower = (LEAST * self.slab.geometry.pixel_size) as f32;
        factors.norms = self.slab.iteration.known_norms().filter(|_| needs.norms);
        if needs.norms && factors.norms.is_none() {
            // SAFETY: as above.
            let norms = unsafe { self.find_norms()? };
            self.slab.iteration.keep_norms(norms);
            factors.norms = Some(norms);
        }
        if needs.ray_factors {
            let rays = DeviceMemory::new(&device, 4 * samples)?;
            let image = self.mask.unwrap_or(&ones).address();
            for subset in 0..subsets {
                // SAFETY: an image and rows of one slice.
                unsafe { self.pairs.forward(self.state, subset, self.places(image, rays.address()), 1, stream)? };
            }
            let change = Change { lower, ..self.change([rays.address(); 2], one(samples)) };
            // SAFETY: as above.
            unsafe { change.launch(&self.kernels()?.inverse, 1, stream)? };
            factors.rays = Some(rays);
        }
        if needs.pixel_factors {
            if let Some(rays) = factors.rays.as_ref().filter(|_| needs.leaves_rays_out) {
                // SAFETY: both are of so many bytes.
                unsafe { copy_device(rays.address(), ones.address(), 4 * samples, stream)? };
                // SAFETY: as above.
                unsafe { self.change([ones.address(); 2], one(samples)).launch(&self.kernels()?.sign, 1, stream)? };
            }
            for subset in 0..subsets {
                let image = DeviceMemory::new(&device, 4 * pixels)?;
                let at = self.places(image.address(), ones.address());
                // SAFETY: as above.
                unsafe { self.pairs.adjoint(self.state, self.lines, subset, at, 1, stream)? };
                let shared = self.mask.map_or(0, DeviceMemory::address);
                let change = Change { shared, lower, ..self.change([image.address(); 2], one(pixels)) };
                // SAFETY: as above.
                unsafe { change.launch(&self.kernels()?.inverse, 1, stream)? };
                factors.pixels.push(image);
            }
        }
        // The ones are freed here.
        stream.synchronize()?;
        Ok(factors)
    }

    /// An image of one slice, 0 outside a mask.
    ///
    /// # Safety
    /// Both are of one slice, and live until the stream is waited for.
    pub(super) unsafe fn mask_one(&self, image: u64, mask: u64) -> Result<()> {
        let pixels = self.vectors.pixels as i64;
        let change = Change { shared: mask, step: 0.0, ..self.change([image; 2], [pixels, 0, pixels]) };
        // SAFETY: by this function's contract.
        unsafe { change.launch(&self.kernels()?.descend, 1, self.stream) }
    }

    /// Tells the history of all iterations that were recorded.
    pub(super) fn finish(&mut self) -> Result<()> {
        if self.looked < self.recorded {
            self.stream.synchronize()?;
        }
        while self.looked < self.recorded {
            self.look();
        }
        self.slab.iteration.history.add(std::mem::take(&mut self.found));
        Ok(())
    }

    /// Takes what the next iteration found, which must be there.
    fn look(&mut self) -> usize {
        let k = self.looked;
        // SAFETY: page-locked memory of as many pairs as there are iterations; the kernel that wrote this one has ended.
        let (objective, slices) = unsafe {
            let at = self.history.data().add(16 * k);
            (at.cast::<f64>().read(), at.add(8).cast::<i64>().read() as usize)
        };
        self.tell(Iterated { iteration: k, objective, gap: f64::INFINITY, slices });
        self.looked += 1;
        slices
    }
}

impl Space for Resident<'_> {
    fn forward(&mut self, subset: usize, image: Image, rows: Rows) -> Result<()> {
        let v = self.vectors;
        let at = self.places(v.image(self.at, image), v.rows(self.at, rows));
        // SAFETY: vectors of so many slices, which live until the stream is waited for.
        unsafe { self.pairs.forward(self.state, subset, at, v.slices, self.stream)? };
        match self.slab.iteration.weights() {
            Some([roots, _]) => self.times([rows, roots]),
            None => Ok(()),
        }
    }

    fn adjoint(&mut self, subset: usize, rows: Rows, image: Image) -> Result<()> {
        let v = self.vectors;
        let rows = match self.slab.iteration.weights() {
            Some([roots, weighed]) => {
                let [from, to] = [rows, weighed].map(|rows| v.rows(self.at, rows));
                // SAFETY: as above.
                unsafe { copy_device(from, to, 4 * v.slices * v.samples, self.stream)? };
                self.times([weighed, roots])?;
                weighed
            }
            None => rows,
        };
        let at = self.places(v.image(self.at, image), v.rows(self.at, rows));
        // SAFETY: as above.
        unsafe { self.pairs.adjoint(self.state, self.lines, subset, at, v.slices, self.stream) }
    }

    fn convolve(&mut self, image: Image, to: Image) -> Result<()> {
        let v = self.vectors;
        let Some((_, product)) = &self.state.convolution else { fail!(Internal, "a convolution that was not made") };
        let [from, to] = [image, to].map(|image| v.image(self.at, image));
        // SAFETY: as above; the workspace is nobody else's between two launches.
        unsafe { product.apply(from, to, v.slices, self.at.workspace, self.stream) }
    }

    fn residual(&mut self, subset: usize, data: Rows, projected: Rows, sum: Sum) -> Result<()> {
        let change = self.summed(sum, self.row_change(projected, data, Some(subset)));
        let shared = self.factors.rays.as_ref().map_or(0, |rays| rays.address() + 4 * change.first as u64);
        self.launch(|k| &k.residual, Change { shared, ..change })
    }

    fn ratio(&mut self, subset: usize, data: Rows, projected: Rows, sum: Sum) -> Result<()> {
        let change = self.summed(sum, self.row_change(projected, data, Some(subset)));
        let shared = self.factors.rays.as_ref().map_or(0, |rays| rays.address() + 4 * change.first as u64);
        self.launch(|k| &k.ratio, Change { shared, ..change })
    }

    fn slope(&mut self, data: Rows, projected: Rows, sum: Sum) -> Result<()> {
        let change = self.summed(sum, self.row_change(projected, data, None));
        let shared = self.factors.rays.as_ref().map_or(0, DeviceMemory::address);
        self.launch(|k| &k.slope, Change { shared, ..change })
    }

    fn conjugate(&mut self, rows: Rows, data: Rows, sum: Sum) -> Result<()> {
        let change = self.summed(sum, self.row_change(rows, data, None));
        let shared = self.factors.rays.as_ref().map_or(0, DeviceMemory::address);
        self.launch(|k| &k.conjugate, Change { shared, ..change })
    }

    fn count(&mut self, rows: Rows, projected: Rows, data: Rows, [step, relaxed]: [Sum; 2]) -> Result<()> {
        let shared = self.factors.rays.as_ref().map_or(0, DeviceMemory::address);
        self.launch(|k| &k.beyond, self.part(step, self.row_change(projected, rows, None)))?;
        let change = self.part(step, self.row_change(projected, data, None));
        self.launch(|k| &k.counted, Change { shared, ..change })?;
        self.launch(|k| &k.oppose, self.part(relaxed, self.row_change(rows, projected, None)))
    }

    fn retreat(&mut self, rows: Rows, by: Rows, quotient: [Sum; 2], sum: Sum) -> Result<()> {
        self.launch(|k| &k.add, self.summed(sum, self.by(quotient, -1.0, self.row_change(rows, by, None))))
    }

    fn withdraw(&mut self, image: Image, by: Image, quotient: [Sum; 2], sum: Sum) -> Result<()> {
        self.launch(|k| &k.add, self.summed(sum, self.by(quotient, -1.0, self.image_change(image, by))))
    }

    fn square(&mut self, rows: Rows, sum: Sum) -> Result<()> {
        self.launch(|k| &k.square, self.summed(sum, self.row_change(rows, rows, None)))
    }

    fn relax(&mut self, subset: usize, image: Image, by: Image, step: f32) -> Result<()> {
        let shared = self.factors.pixels[subset].address();
        self.launch(|k| &k.relax, Change { shared, step, ..self.image_change(image, by) })
    }

    fn multiply(&mut self, subset: usize, image: Image, by: Image) -> Result<()> {
        let shared = self.factors.pixels[subset].address();
        self.launch(|k| &k.multiply, Change { shared, ..self.image_change(image, by) })
    }

    fn descend(&mut self, by: Image, image: Image, weight: f32, sum: Sum) -> Result<()> {
        let shared = self.mask.map_or(0, DeviceMemory::address);
        let change = Change { shared, step: -weight, ..self.image_change(by, image) };
        self.launch(|k| &k.descend, self.summed(sum, change))
    }

    fn advance(&mut self, image: Image, by: Image, quotient: [Sum; 2]) -> Result<()> {
        self.launch(|k| &k.add, self.by(quotient, 1.0, self.image_change(image, by)))
    }

    fn turn(&mut self, image: Image, by: Image, quotient: [Sum; 2]) -> Result<()> {
        self.launch(|k| &k.turn, self.by(quotient, 1.0, self.image_change(image, by)))
    }

    fn inner(&mut self, image: Image, by: Image, sum: Sum) -> Result<()> {
        self.launch(|k| &k.inner, self.summed(sum, self.image_change(image, by)))
    }

    fn weigh(&mut self, image: Image, weight: f64, sum: Sum) -> Result<()> {
        self.launch(|k| &k.square, Change { weight, ..self.summed(sum, self.image_change(image, image)) })
    }

    fn apart(&mut self, rows: Rows, of: Rows, square: Sum, sum: Sum) -> Result<()> {
        let change = self.row_change(rows, of, None);
        self.launch(|k| &k.distance, self.summed(square, change))?;
        self.launch(|k| &k.difference, self.summed(sum, change))
    }

    fn approach(&mut self, rows: Rows, by: Rows, part: Sum) -> Result<()> {
        self.launch(|k| &k.blend, self.part(part, self.row_change(rows, by, None)))
    }

    fn blend(&mut self, image: Image, by: Image, part: Sum) -> Result<()> {
        self.launch(|k| &k.blend, self.part(part, self.image_change(image, by)))
    }

    fn primal(&mut self, step: Primal) -> Result<()> {
        self.variation().primal(&step)
    }

    fn dual(&mut self, step: Dual) -> Result<()> {
        self.variation().dual(&step)
    }

    fn bound(&mut self, bound: Bound) -> Result<()> {
        self.variation().bound(&bound)
    }

    fn duplicate(&mut self, from: Rows, to: Rows) -> Result<()> {
        let v = self.vectors;
        let [from, to] = [from, to].map(|rows| v.rows(self.at, rows));
        // SAFETY: rows of all slices, which live until the stream is waited for.
        unsafe { copy_device(from, to, 4 * v.slices * v.samples, self.stream) }
    }

    fn spread(&mut self, offsets: Offsets, rows: Rows, factor: f32) -> Result<()> {
        self.rings().spread(offsets, rows, factor)
    }

    fn gather(&mut self, rows: Rows, offsets: Offsets) -> Result<()> {
        self.rings().gather(rows, offsets)
    }

    fn shift(&mut self, step: Shift) -> Result<()> {
        self.rings().shift(&step)
    }

    fn limit(&mut self, limit: Limit) -> Result<()> {
        self.rings().limit(&limit)
    }

    fn hasten(&mut self, step: Hasten) -> Result<()> {
        self.fista().hasten(&step)
    }

    fn excess(&mut self, of: Excess) -> Result<()> {
        self.fista().excess(&of)
    }

    fn quicken(&mut self, momentum: Sum, turned: Sum, part: Sum) -> Result<()> {
        self.fista().quicken([momentum, turned, part])
    }

    fn image_moved(&mut self, image: Image, sum: Sum) -> Result<()> {
        self.variation().image_moved(image, sum)
    }

    fn rows_moved(&mut self, rows: Rows, sum: Sum) -> Result<()> {
        self.variation().rows_moved(rows, sum)
    }

    fn norms(&mut self) -> Result<Norms> {
        match self.factors.norms {
            Some(norms) => Ok(norms),
            None => fail!(Internal, "norms that nobody asked for"),
        }
    }

    fn read(&mut self, sum: Sum) -> Result<Vec<f64>> {
        let (count, from) = (self.vectors.slices, self.vectors.sum(self.at, sum));
        let host = self.numbers.data();
        // SAFETY: page-locked memory of as many numbers, which the stream fills before they are read.
        unsafe {
            PinnedRows::one(from, 8 * count).download(host.addr() as u64, 8 * count, self.stream)?;
            self.stream.synchronize()?;
            copied(std::slice::from_raw_parts(host.cast::<f64>(), count))
        }
    }

    fn set(&mut self, sum: Sum, values: &[f64]) -> Result<()> {
        let (count, to) = (self.vectors.slices, self.vectors.sum(self.at, sum));
        let host = self.numbers.data();
        // SAFETY: page-locked memory of as many numbers, which nobody uses before or after the wait.
        unsafe {
            std::slice::from_raw_parts_mut(host.cast::<f64>(), count).copy_from_slice(values);
            PinnedRows::one(host.addr() as u64, 8 * count).upload(to, 8 * count, self.stream)?;
        }
        self.stream.synchronize()
    }

    fn running(&mut self) -> Result<Vec<bool>> {
        copied(&self.running)
    }

    fn end(&mut self, ended: &[bool]) -> Result<()> {
        self.running.iter_mut().zip(ended).for_each(|(runs, ended)| *runs &= !ended);
        Ok(())
    }

    fn tell(&mut self, found: Iterated) {
        let Slab { context, job, first, count, .. } = *self.slab;
        found.say((context, job), first..first + count);
        self.found.push(found);
    }

    fn clear(&mut self, sum: Sum) -> Result<()> {
        let at = self.vectors.sum(self.at, sum);
        // SAFETY: a sum of each slice, which lives until the stream is waited for.
        unsafe { clear_device(at, 8 * self.vectors.slices, self.stream) }
    }

    fn copy(&mut self, from: Sum, to: Sum) -> Result<()> {
        let [from, to] = [from, to].map(|sum| self.vectors.sum(self.at, sum));
        // SAFETY: as above.
        unsafe { copy_device(from, to, 8 * self.vectors.slices, self.stream) }
    }

    fn lessen(&mut self, sum: Sum, [over, under]: [Sum; 2]) -> Result<()> {
        let [sums, over, under] = [sum, over, under].map(|sum| self.vectors.sum(self.at, sum));
        let (ended, slices) = (self.vectors.ended(self.at), self.vectors.slices as i32);
        let lessen = Lessen { sums, over, under, ended, slices };
        self.queue(&self.kernels()?.lessen, ONE_BLOCK, &lessen)
    }

    fn end_where(&mut self, sum: Sum, part: f64, of: Sum) -> Result<()> {
        let [sums, of] = [sum, of].map(|sum| self.vectors.sum(self.at, sum));
        let (ended, slices) = (self.vectors.ended(self.at), self.vectors.slices as i32);
        let mark = Mark { sums, of, ended, objective: 0, slices_left: 0, part, factor: 0.0, slices };
        self.mark(&self.kernels()?.end, mark)
    }

    fn record(&mut self, iteration: usize, objective: Sum, factor: f64) -> Result<()> {
        let sums = self.vectors.sum(self.at, objective);
        let (ended, slices) = (self.vectors.ended(self.at), self.vectors.slices as i32);
        let to = self.history.data().addr() as u64 + 16 * iteration as u64;
        let mark = Mark { sums, of: 0, ended, objective: to, slices_left: to + 8, part: 0.0, factor, slices };
        self.recorded = iteration + 1;
        self.mark(&self.kernels()?.record, mark)
    }

    fn go_on(&mut self) -> Result<bool> {
        let Slab { context, job, geometry, iteration, own, .. } = self.slab;
        self.marks[self.iterations % 2].record(self.stream)?;
        self.iterations += 1;
        let mut left = true;
        if self.iterations > BEHIND {
            self.marks[(self.iterations - 1 - BEHIND) % 2].synchronize()?;
            while self.looked < self.recorded.min(self.iterations - BEHIND) {
                left = self.look() > 0;
            }
        }
        job.advance(*own as f64 / geometry.slices as f64 / iteration.options.iterations as f64);
        context.report_between(job);
        job.check()?;
        Ok(left && self.running.contains(&true))
    }
}
