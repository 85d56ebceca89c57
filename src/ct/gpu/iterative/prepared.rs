//! What one call's iterations have on a GPU, and their work on one slab.

use super::change::{Begin, Load, Store};
use super::launches::over;
use super::pair::{Pairs, packed_bytes};
use super::sizes::{sum_bytes, watched_bytes};
use super::slab::{Factors, Slab};
use super::space::{Addresses, Resident, Vectors};
use crate::context::NanPolicy;
use crate::cpu::buffer::{collected, filled};
use crate::ct::geometry::Geometry;
use crate::ct::gpu::band_limited::Volume;
use crate::ct::gpu::state::{Scratch, Slot, State};
use crate::ct::iterative::Iteration;
use crate::ct::iterative::options::refuse_negative;
use crate::ct::iterative::space::{DATA, X};
use crate::error::{Result, fail};
use crate::gpu::{Device, DeviceMemory, Event, Pinned, Rows, Stream};
use std::sync::Arc;

/// Iterations made ready for slabs of up to so many slices.
#[derive(Debug)]
pub(in crate::ct::gpu) struct Prepared {
    pairs: Pairs,
    lanes: usize,
    /// Where the caller's rows are in the order of the vectors' rows.
    order: DeviceMemory,
    /// 1 inside the mask, 0 outside; None where all is inside.
    mask: Option<DeviceMemory>,
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
    pub(in crate::ct::gpu) fn new(
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
    /// The slab's addresses are as it says until the stream has passed.
    pub(in crate::ct::gpu) unsafe fn run(
        &mut self,
        state: &mut State,
        scratch: &mut Scratch,
        slab: &Slab,
        stream: &Stream,
    ) -> Result<u64> {
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
        // SAFETY: vectors of so many slices; the rest by this function's contract.
        let replaced = unsafe { self.begin(state, slab, [vectors.image(at, X), vectors.rows(at, DATA)], stream)? };
        let factors = self.factors.as_ref().unwrap_or(&NO_FACTORS);
        let mut space = self.space(slab, at, &vectors, (state, &mut scratch.lines), stream, factors);
        space.weigh_data(self.given.as_ref())?;
        iteration.run(&mut space)?;
        space.finish()?;
        let Volume { address: to, slice_stride, row_stride } = slab.volume;
        let (nx, ny) = (g.nx as i32, g.ny as i32);
        let store = Store { from: vectors.image(at, X), to, slice_stride, row_stride, nx, ny };
        let kernel = &state.kernels.iterative(&device)?.store;
        // SAFETY: the struct mirrors the kernel's; the rest by this function's contract.
        unsafe { kernel.launch(stream, over(g.ny * g.nx, slab.count), &store)? };
        Ok(replaced)
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
        let Self { pairs, mask, history, marks, numbers, .. } = self;
        Resident {
            state,
            lines,
            slab,
            at,
            vectors,
            stream,
            pairs,
            mask: mask.as_ref(),
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
    unsafe fn begin(&self, state: &State, slab: &Slab, [image, rows]: [u64; 2], stream: &Stream) -> Result<u64> {
        let (g, iteration, device) = (slab.geometry, slab.iteration, &state.device);
        let kernels = state.kernels.iterative(device)?;
        let replace = (slab.context.nan_policy() == NanPolicy::Replace).into();
        let refuses = iteration.is_poisson();
        let [lower, upper] = iteration.options.bounds.map(|b| b as f32);
        let found = self.found.address();
        let load = Load {
            from: slab.rows,
            to: rows,
            order: self.order.address(),
            found: if refuses { found } else { 0 },
            slice_stride: (g.views() * g.bins) as i64,
            views: g.views() as i32,
            bins: g.bins as i32,
            slices: slab.count as i32,
            replace,
        };
        let (from, [slice_stride, row_stride, column_stride]) = slab.start.unwrap_or((0, [0; 3]));
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
        let looks = refuses || slab.start.is_some();
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
            self.look(slab, false, stream)?;
            kernels.begin.launch(stream, over(g.ny * g.nx, slab.count), &begin)?;
            self.look(slab, true, stream)
        }
    }

    /// Waits for what kernels found; an error if they refuse a value, of the volume or of the data.
    unsafe fn look(&self, slab: &Slab, of_volume: bool, stream: &Stream) -> Result<u64> {
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
        let (lines, samples) = if of_volume { (g.ny, g.nx) } else { (g.views(), g.bins) };
        let (slice, rest) = (first as usize / (lines * samples), first as usize % (lines * samples));
        let [line, sample] = [rest / samples, rest % samples];
        let slice = slab.first + slice;
        if of_volume {
            fail!(
                NotFiniteData,
                "volume[{slice}, {line}, {sample}], where iterations begin, is not finite; it must be (or set the NaN policy to replace)"
            );
        }
        refuse_negative([line, g.first_row + slice, sample])
    }
}

static NO_FACTORS: Factors = Factors { rays: None, pixels: Vec::new(), norms: None };

/// 1 inside the mask, 0 outside.
fn inside(iteration: &Iteration, g: &Geometry) -> Result<Vec<f32>> {
    let mut ones = filled(g.ny * g.nx, 0.0)?;
    ones.chunks_exact_mut(g.nx).enumerate().for_each(|(i, row)| row[iteration.mask.inside(i)].fill(1.0));
    Ok(ones)
}
