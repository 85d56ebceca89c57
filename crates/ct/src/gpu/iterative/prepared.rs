//! What one call's iterations have on a GPU, and their work on one slab.

use super::change::{Begin, Load, Store};
use super::launches::over;
use super::pair::{Pairs, packed_bytes};
use super::pieces::{Piece, Pieces};
use super::resident::{Addresses, Resident, Vectors};
use super::sizes::{sum_bytes, watched_bytes};
use super::slab::{Ends, Factors, Slab, SmoothTables};
use crate::geometry::Geometry;
use crate::gpu::band_limited::Volume;
use crate::gpu::state::{Scratch, Slot, State};
use crate::iterative::Iteration;
use crate::iterative::norms::Norms;
use crate::iterative::options::refuse_negative;
use crate::iterative::space::{DATA, X};
use crate::iterative::variation::{Course, Seen, Vector};
use isocenter_base::array::transfer::Transfer;
use isocenter_base::array::value::not_finite;
use isocenter_base::context::NanPolicy;
use isocenter_base::cpu::buffer::{collected, filled};
use isocenter_base::error::Result;
use isocenter_base::gpu::{Device, DeviceMemory, Event, Pinned, Rows, Stream};
use std::sync::Arc;

/// Iterations made ready for slabs of up to so many slices.
#[derive(Debug)]
pub(in crate::gpu) struct Prepared {
    pairs: Pairs,
    lanes: usize,
    /// Where the caller's rows are in the order of the vectors' rows.
    order: DeviceMemory,
    /// 1 inside the mask, 0 outside; None where all is inside.
    mask: Option<DeviceMemory>,
    smooth: Option<SmoothTables>,
    /// Roots of the caller's weights of rays.
    given: Option<DeviceMemory>,
    /// Of each bin of the vectors' rows, and of each subset's pixels; made by the first slab.
    factors: Option<Factors>,
    /// The first value that is refused, and how many were replaced: on the device, and for the host.
    found: DeviceMemory,
    told: Pinned,
    /// Of each iteration: objective and slices left.
    history: Pinned,
    marks: [Event; 2],
    /// A number of each slice, on its way.
    numbers: Pinned,
}

impl Prepared {
    pub(in crate::gpu) fn new(
        device: &Arc<Device>,
        g: &Geometry,
        iteration: &Iteration,
        (slices, lanes): (usize, usize),
    ) -> Result<Self> {
        let order = collected(iteration.subsets.order().map(|v| v as i32))?;
        let mask = match iteration.mask.spans() {
            [] => None,
            _ => Some(DeviceMemory::from_slice(device, &inside(iteration, g)?)?),
        };
        Ok(Self {
            pairs: Pairs::new(device, (g, iteration), (slices, lanes))?,
            lanes,
            order: DeviceMemory::from_slice(device, &order)?,
            mask,
            smooth: iteration.smooth.as_ref().map(|smooth| SmoothTables::new(device, smooth)).transpose()?,
            given: iteration.given.map(|given| DeviceMemory::from_slice(device, &given.roots)).transpose()?,
            factors: None,
            found: DeviceMemory::new(device, 16)?,
            told: Pinned::new(device, 16)?,
            history: Pinned::new(device, 16 * iteration.options.iterations)?,
            marks: [Event::new(device)?, Event::new(device)?],
            numbers: Pinned::new(device, 8 * slices)?,
        })
    }

    /// All iterations on one slab; gives how many values were replaced. The GPU is current.
    ///
    /// # Safety
    /// The ends are as they say until the stream has passed.
    pub(in crate::gpu) unsafe fn run(
        &mut self,
        state: &mut State,
        scratch: &mut Scratch,
        (slab, ends): (&Slab, &Ends),
        stream: &Stream,
    ) -> Result<u64> {
        let iteration = slab.iteration;
        let (vectors, at) = self.make_room(state, scratch, slab, stream)?;
        // SAFETY: vectors of so many slices; the rest by this function's contract.
        let replaced =
            unsafe { self.begin(state, (slab, ends), [vectors.image(at, X), vectors.rows(at, DATA)], stream)? };
        let factors = self.factors.as_ref().unwrap_or(&NO_FACTORS);
        let mut space = self.space(slab, at, &vectors, (state, &mut scratch.lines), stream, factors);
        space.fill_roots(self.given.as_ref())?;
        space.weigh_data()?;
        iteration.run(&mut space)?;
        space.finish()?;
        // SAFETY: by this function's contract.
        unsafe { store(state, slab, vectors.image(at, X), ends.volume, stream)? };
        Ok(replaced)
    }

    /// What a slab's iterations begin with goes to the pieces instead; gives how many values were replaced. The GPU is current.
    ///
    /// # Safety
    /// As for `run`.
    pub(in crate::gpu) unsafe fn collect(
        &mut self,
        state: &mut State,
        scratch: &mut Scratch,
        (slab, ends): (&Slab, &Ends),
        stream: &Stream,
        (pieces, down): (&Pieces, &Transfer),
    ) -> Result<u64> {
        let (vectors, at) = self.make_room(state, scratch, slab, stream)?;
        let slices = slab.first..slab.first + slab.count;
        let [image, rows] = [vectors.image(at, X), vectors.rows(at, DATA)];
        // SAFETY: as for `run`; the stream has passed before anything is read.
        unsafe {
            let replaced = self.begin(state, (slab, ends), [image, rows], stream)?;
            let factors = self.factors.as_ref().unwrap_or(&NO_FACTORS);
            let space = self.space(slab, at, &vectors, (state, &mut scratch.lines), stream, factors);
            space.fill_roots(self.given.as_ref())?;
            space.weigh_data()?;
            stream.synchronize()?;
            pieces.fill((slab.context, down), Vector::Image(X), slices.clone(), image)?;
            for rows in [DATA].into_iter().chain(slab.iteration.roots_of_data()) {
                pieces.fill((slab.context, down), Vector::Rows(rows), slices.clone(), vectors.rows(at, rows))?;
            }
            Ok(replaced)
        }
    }

    /// A stretch of iterations of a piece, whose slices are those of the slab. The GPU is current.
    pub(in crate::gpu) fn stretch(
        &mut self,
        state: &mut State,
        scratch: &mut Scratch,
        (slab, stream): (&Slab, &Stream),
        (course, piece): (&Course, &mut Piece),
        [up, down]: [&Transfer; 2],
    ) -> Result<Vec<Seen>> {
        let (vectors, at) = self.make_room(state, scratch, slab, stream)?;
        // Vectors are zeros by now.
        stream.synchronize()?;
        let (first, context) = (slab.first, slab.context);
        let place = |vector| match vector {
            Vector::Image(image) => vectors.image(at, image),
            Vector::Rows(rows) => vectors.rows(at, rows),
            Vector::Offsets(offsets) => vectors.offsets(at, offsets),
        };
        for vector in piece.going() {
            // SAFETY: vectors of the piece's slices.
            unsafe { piece.upload((context, up), vector, piece.slices.clone(), (first, place(vector)))? };
        }
        up.stream.synchronize()?;
        let factors = self.factors.as_ref().unwrap_or(&NO_FACTORS);
        let mut space = self.space(slab, at, &vectors, (state, &mut scratch.lines), stream, factors);
        if self.given.is_some() {
            space.fill_roots(self.given.as_ref())?;
        }
        let seen = course.stretch(&mut space, piece.slices.clone())?;
        stream.synchronize()?;
        let owned = piece.owned();
        let coming: Vec<Vector> = piece.coming(course).collect();
        for vector in coming {
            // SAFETY: as above.
            unsafe { piece.download((context, down), vector, owned.clone(), (first, place(vector)))? };
        }
        Ok(seen[piece.own.clone()].to_vec())
    }

    /// The pieces' next images go where the volume is. The GPU is current.
    ///
    /// # Safety
    /// The volume is as it says until the stream has passed.
    pub(in crate::gpu) unsafe fn deliver(
        &mut self,
        state: &mut State,
        scratch: &mut Scratch,
        (slab, volume): (&Slab, Volume),
        stream: &Stream,
        (pieces, up): (&Pieces, &Transfer),
    ) -> Result<()> {
        let (vectors, at) = self.make_room(state, scratch, slab, stream)?;
        stream.synchronize()?;
        let image = vectors.image(at, X);
        // SAFETY: images of so many slices, which are there when the stream goes on; the rest by this function's contract.
        unsafe {
            pieces.read((slab.context, up), slab.first..slab.first + slab.count, image)?;
            up.stream.synchronize()?;
            store(state, slab, image, volume, stream)
        }
    }

    /// Memory for a slab's vectors, which are zeros once the stream has passed; and what all slabs share.
    fn make_room(
        &mut self,
        state: &mut State,
        scratch: &mut Scratch,
        slab: &Slab,
        stream: &Stream,
    ) -> Result<(Vectors, Addresses)> {
        let (device, g, iteration) = (state.device.clone(), slab.geometry, slab.iteration);
        let vectors = Vectors::new(g, iteration, slab.count);
        let memory = scratch.vectors.take(&device, vectors.bytes())?;
        // Fields and directions begin with zeros.
        memory.clear(stream)?;
        let memory = memory.address();
        let packed = scratch.pair.take(&device, packed_bytes(g, iteration, slab.count, self.lanes) as usize)?.address();
        let numbers = scratch.numbers.take(&device, slab.count * sum_bytes(g, iteration))?;
        numbers.clear(stream)?;
        let numbers = numbers.address();
        let watched = scratch.watched.take(&device, watched_bytes(g, iteration, slab.count))?.address();
        let at = Addresses { vectors: memory, packed, workspace: slab.workspace, numbers, watched };
        state.kernels.iterative(&device)?;
        if let Some(toeplitz) = iteration.made() {
            state.convolve(toeplitz)?;
        }
        if self.factors.is_none() {
            let mut space = self.space(slab, at, &vectors, (state, &mut scratch.lines), stream, &NO_FACTORS);
            // SAFETY: vectors of one slice or more; work on these comes later in the stream.
            self.factors = Some(unsafe { space.make_factors()? });
        }
        Ok((vectors, at))
    }

    /// Norms of the pair, once a slab has been worked on.
    pub(in crate::gpu) fn norms(&self) -> Option<Norms> {
        self.factors.as_ref().and_then(|factors| factors.norms)
    }

    fn space<'s>(
        &'s self,
        slab: &'s Slab<'s>,
        at: Addresses,
        vectors: &'s Vectors,
        (state, lines): (&'s mut State, &'s mut Slot),
        stream: &'s Stream,
        factors: &'s Factors,
    ) -> Resident<'s> {
        let Self { pairs, mask, smooth, history, marks, numbers, .. } = self;
        Resident {
            state,
            lines,
            slab,
            at,
            vectors,
            stream,
            pairs,
            mask: mask.as_ref(),
            smooth: smooth.as_ref(),
            factors,
            history,
            marks,
            numbers,
            running: vec![true; slab.count],
            found: Vec::new(),
            recorded: 0,
            looked: 0,
            iterations: 0,
        }
    }

    /// Fills the data and the first image. Gives how many values were replaced.
    ///
    /// # Safety
    /// As for `run`.
    unsafe fn begin(
        &self,
        state: &State,
        (slab, ends): (&Slab, &Ends),
        [image, rows]: [u64; 2],
        stream: &Stream,
    ) -> Result<u64> {
        let (g, iteration, device) = (slab.geometry, slab.iteration, &state.device);
        let kernels = state.kernels.iterative(device)?;
        let replace = (slab.context.nan_policy() == NanPolicy::Replace).into();
        let refuses = iteration.is_poisson();
        let [lower, upper] = iteration.bounds_of_start();
        let found = self.found.address();
        let load = Load {
            from: ends.rows,
            to: rows,
            order: self.order.address(),
            found: if refuses { found } else { 0 },
            slice_stride: (g.views() * g.bins) as i64,
            views: g.views() as i32,
            bins: g.bins as i32,
            slices: slab.count as i32,
            replace,
        };
        let (from, [slice_stride, row_stride, column_stride]) = ends.start.unwrap_or((0, [0; 3]));
        let begin = Begin {
            from,
            to: image,
            mask: self.mask.as_ref().map_or(0, DeviceMemory::address),
            found,
            slice_stride,
            row_stride,
            column_stride,
            value: iteration.needs().start,
            lower,
            upper,
            nx: g.nx as i32,
            ny: g.ny as i32,
            replace,
        };
        let looks = refuses || ends.start.is_some();
        // SAFETY: the structs mirror the kernels'; the rest by this function's contract. Page-locked memory has the same address on the
        // device, and is read after the wait.
        unsafe {
            let told = |values: [u64; 2]| self.told.data().cast::<[u64; 2]>().write(values);
            if looks {
                told([u64::MAX, 0]);
                Rows::one(self.told.data().addr() as u64, 16).upload(found, 16, stream)?;
            }
            kernels.load.launch(stream, over(g.views() * g.bins, slab.count), &load)?;
            if !looks {
                kernels.begin.launch(stream, over(g.ny * g.nx, slab.count), &begin)?;
                return Ok(0);
            }
            self.look(slab, None, &state.device, stream)?;
            kernels.begin.launch(stream, over(g.ny * g.nx, slab.count), &begin)?;
            self.look(slab, ends.start, &state.device, stream)
        }
    }

    /// Waits for what kernels found; an error if they refuse a value, of the volume that is at an address with strides, or of the data.
    unsafe fn look(
        &self,
        slab: &Slab,
        volume: Option<(u64, [i64; 3])>,
        device: &Device,
        stream: &Stream,
    ) -> Result<u64> {
        let g = slab.geometry;
        // SAFETY: page-locked memory of two numbers, read after the wait.
        let [first, replaced] = unsafe {
            Rows::one(self.found.address(), 16).download(self.told.data().addr() as u64, 16, stream)?;
            stream.synchronize()?;
            self.told.data().cast::<[u64; 2]>().read()
        };
        if first == u64::MAX {
            return Ok(replaced);
        }
        let (lines, samples) = if volume.is_some() { (g.ny, g.nx) } else { (g.views(), g.bins) };
        let (slice, rest) = (first as usize / (lines * samples), first as usize % (lines * samples));
        let [line, sample] = [rest / samples, rest % samples];
        if let Some((address, strides)) = volume {
            let at: i64 = [slice, line, sample].iter().zip(strides).map(|(&index, stride)| index as i64 * stride).sum();
            let value: f32 = device.read(address.wrapping_add_signed(4 * at))?;
            return not_finite("volume", &[slab.first + slice, line, sample], value);
        }
        refuse_negative([line, g.first_row + slab.first + slice, sample])
    }
}

/// Images of a slab go to the volume.
///
/// # Safety
/// The image and the volume are of so many slices until the stream has passed.
unsafe fn store(state: &State, slab: &Slab, from: u64, volume: Volume, stream: &Stream) -> Result<()> {
    let (g, Volume { address: to, slice_stride, row_stride }) = (slab.geometry, volume);
    let store = Store { from, to, slice_stride, row_stride, nx: g.nx as i32, ny: g.ny as i32 };
    let kernel = &state.kernels.iterative(&state.device)?.store;
    // SAFETY: the struct mirrors the kernel's; the rest by this function's contract.
    unsafe { kernel.launch(stream, over(g.ny * g.nx, slab.count), &store) }
}

static NO_FACTORS: Factors = Factors { rays: None, pixels: Vec::new(), norms: None };

/// 1 inside the mask, 0 outside.
fn inside(iteration: &Iteration, g: &Geometry) -> Result<Vec<f32>> {
    let mut ones = filled(g.ny * g.nx, 0.0)?;
    ones.chunks_exact_mut(g.nx).enumerate().for_each(|(i, row)| row[iteration.mask.inside(i)].fill(1.0));
    Ok(ones)
}
