//! Launches `kernels/ct/variation.cu`.

use super::launches::{blocks, over};
use super::resident::Resident;
use super::sizes::EVERY;
use crate::iterative::norms::Norms;
use crate::iterative::space::{Bound, Dual, Fields, Image, Penalty, Primal, Rows, Sum};
use crate::iterative::variation::polish::{STEP, SWEEPS, TILE};
use isocenter_base::error::Result;
use isocenter_base::gpu::{DeviceMemory, Launch, Pinned, Rows as PinnedRows, mirrored};

/// Mirrors `Primal`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct PrimalStep {
    x: u64,
    gradient: u64,
    ahead: u64,
    fx: u64,
    fy: u64,
    fz: u64,
    base: u64,
    mask: u64,
    steps: u64,
    relaxed: u64,
    lower: f32,
    upper: f32,
    scale: f32,
    nx: i32,
    ny: i32,
}
mirrored!(PrimalStep, 104);

/// Mirrors `Dual`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct DualStep {
    ahead: u64,
    base: u64,
    fx: u64,
    fy: u64,
    fz: u64,
    steps: u64,
    relaxed: u64,
    weight: f32,
    huber: f32,
    scale: f32,
    nx: i32,
    ny: i32,
}
mirrored!(DualStep, 80);

/// Mirrors `Bound`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct BoundSums {
    x: u64,
    base: u64,
    back: u64,
    fx: u64,
    fy: u64,
    fz: u64,
    mask: u64,
    pixels: u64,
    parts: u64,
    variation: u64,
    duality: u64,
    bounds: u64,
    mass: u64,
    lowest: u64,
    done: u64,
    weight: f32,
    huber: f32,
    lower: f32,
    upper: f32,
    scale: f32,
    nx: i32,
    ny: i32,
}
mirrored!(BoundSums, 152);

/// Mirrors `Polish`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct PolishStep {
    back: u64,
    mask: u64,
    fx: u64,
    fy: u64,
    weight: f32,
    step: f32,
    nx: i32,
    ny: i32,
    parity: i32,
    sweeps: i32,
}
mirrored!(PolishStep, 56);

/// Mirrors `Moved`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Moved {
    now: u64,
    before: u64,
    parts: u64,
    sums: u64,
    done: u64,
    stride: i64,
    count: i64,
    every: i32,
}
mirrored!(Moved, 64);

/// The steps on a slab's vectors.
pub(super) struct Variation<'a, 's>(&'a Resident<'s>);

impl<'s> Resident<'s> {
    pub(super) fn variation(&self) -> Variation<'_, 's> {
        Variation(self)
    }

    /// Norms of the pair, for one slice.
    ///
    /// # Safety
    /// As for `make_factors`.
    pub(super) unsafe fn find_norms(&mut self) -> Result<Norms> {
        let (g, device, stream) = (self.slab.geometry, self.state.device.clone(), self.stream);
        let bytes = 4 * g.ny * g.nx;
        let (image, host) = (DeviceMemory::new(&device, bytes)?, Pinned::new(&device, bytes)?);
        let rows = DeviceMemory::new(&device, 4 * g.views() * g.bins)?;
        let at = self.places(image.address(), rows.address());
        Norms::new(self.slab.context, (g, &self.slab.iteration.mask), |x| {
            let place = host.data().addr() as u64;
            // SAFETY: an image and rows of one slice, and page-locked memory that the stream has done with after the wait.
            unsafe {
                host.data().cast::<f32>().copy_from_nonoverlapping(x.as_ptr(), x.len());
                PinnedRows::one(place, bytes).upload(image.address(), bytes, stream)?;
                self.pairs.forward(self.state, 0, at, 1, stream)?;
                self.flatten(rows.address())?;
                self.pairs.adjoint(self.state, self.lines, 0, at, 1, stream)?;
                PinnedRows::one(image.address(), bytes).download(place, bytes, stream)?;
                stream.synchronize()?;
                isocenter_base::cpu::buffer::copied(std::slice::from_raw_parts(host.data().cast::<f32>(), x.len()))
            }
        })
    }
}

impl Variation<'_, '_> {
    fn pixels(&self) -> Launch {
        over(self.0.vectors.pixels, self.0.vectors.slices)
    }

    /// Addresses of fields, that along z being 0 where there is none, and how much its differences count.
    fn fields(&self, Fields { plane, depth }: Fields) -> ([u64; 3], f32) {
        let ([fx, fy], fz) = (plane.map(|field| self.0.image_at(field)), depth.map(|d| self.0.image_at(d.field)));
        ([fx, fy, fz.unwrap_or(0)], depth.map_or(0.0, |d| d.scale))
    }

    /// 0 where there is none.
    fn base(&self, base: Option<Image>) -> u64 {
        base.map_or(0, |base| self.0.image_at(base))
    }

    pub(super) fn primal(&self, p: &Primal) -> Result<()> {
        let (g, [lower, upper]) = (self.0.slab.geometry, self.0.slab.iteration.options.bounds.map(|b| b as f32));
        let ([fx, fy, fz], scale) = self.fields(p.fields);
        let step = PrimalStep {
            x: self.0.image_at(p.image),
            gradient: self.0.image_at(p.gradient),
            ahead: self.0.image_at(p.ahead),
            fx,
            fy,
            fz,
            base: self.base(p.base),
            mask: self.0.mask_at(),
            steps: self.0.sum_at(p.step),
            relaxed: self.0.sum_at(p.relaxed),
            lower,
            upper,
            scale,
            nx: g.nx as i32,
            ny: g.ny as i32,
        };
        self.0.queue(&self.0.kernels()?.variation.primal, self.pixels(), &step)
    }

    pub(super) fn dual(&self, d: &Dual) -> Result<()> {
        let g = self.0.slab.geometry;
        let ([fx, fy, fz], scale) = self.fields(d.fields);
        let step = DualStep {
            ahead: self.0.image_at(d.ahead),
            base: self.base(d.base),
            fx,
            fy,
            fz,
            steps: self.0.sum_at(d.step),
            relaxed: self.0.sum_at(d.relaxed),
            weight: d.penalty.weight,
            huber: d.penalty.huber,
            scale,
            nx: g.nx as i32,
            ny: g.ny as i32,
        };
        self.0.queue(&self.0.kernels()?.variation.dual, self.pixels(), &step)
    }

    pub(super) fn polish(&self, back: Image, fields: [Image; 2], penalty: Penalty) -> Result<()> {
        let (g, kernels) = (self.0.slab.geometry, &self.0.kernels()?.variation);
        let [fx, fy] = fields.map(|field| self.0.image_at(field));
        let step = PolishStep {
            back: self.0.image_at(back),
            mask: self.0.mask_at(),
            fx,
            fy,
            weight: penalty.weight,
            step: STEP,
            nx: g.nx as i32,
            ny: g.ny as i32,
            parity: 0,
            sweeps: SWEEPS as i32,
        };
        self.0.queue(&kernels.limit, self.pixels(), &step)?;
        for parity in 0..4 {
            // Tiles of a parity: none beside another.
            let tiles = |n: usize, odd: usize| (n.div_ceil(TILE) + 1 - odd) / 2;
            let [down, across] = [tiles(g.ny, parity / 2), tiles(g.nx, parity % 2)];
            if down * across > 0 {
                let launch = Launch { grid: [down * across, self.0.vectors.slices, 1], block: [256, 1, 1], shared: 0 };
                self.0.queue(&kernels.polish, launch, &PolishStep { parity: parity as i32, ..step })?;
            }
        }
        Ok(())
    }

    pub(super) fn bound(&self, b: &Bound) -> Result<()> {
        let (g, [lower, upper]) = (self.0.slab.geometry, self.0.slab.iteration.options.bounds.map(|b| b as f32));
        let ([fx, fy, fz], scale) = self.fields(b.fields);
        let sums = BoundSums {
            x: self.0.image_at(b.image),
            base: self.base(b.base),
            back: self.0.image_at(b.back),
            fx,
            fy,
            fz,
            mask: self.0.mask_at(),
            pixels: self.0.factors.pixels.first().map_or(0, DeviceMemory::address),
            parts: self.0.vectors.parts(self.0.at),
            variation: self.0.sum_at(b.variation),
            duality: self.0.sum_at(b.duality),
            bounds: self.0.sum_at(b.bounds),
            mass: self.0.sum_at(b.mass),
            lowest: self.0.sum_at(b.lowest),
            done: self.0.vectors.done(self.0.at),
            weight: b.penalty.weight,
            huber: b.penalty.huber,
            lower,
            upper,
            scale,
            nx: g.nx as i32,
            ny: g.ny as i32,
        };
        // Five parts a block, where there is room for as many as other sums have blocks.
        let wide = self.pixels();
        let launch = Launch { grid: [wide.grid[0].min(self.0.vectors.parts / 5), wide.grid[1], 1], ..wide };
        self.0.queue(&self.0.kernels()?.variation.bound, launch, &sums)
    }

    pub(super) fn image_moved(&self, image: Image, sum: Sum) -> Result<()> {
        let v = self.0.vectors;
        let before = image.0 * v.slices * v.pixels.div_ceil(EVERY);
        self.moved([self.0.image_at(image), before as u64], v.pixels, sum)
    }

    pub(super) fn rows_moved(&self, rows: Rows, sum: Sum) -> Result<()> {
        let v = self.0.vectors;
        let images = v.images * v.pixels.div_ceil(EVERY);
        let before = v.slices * (images + rows.0 * v.samples.div_ceil(EVERY));
        self.moved([v.rows(self.0.at, rows), before as u64], v.samples, sum)
    }

    fn moved(&self, [now, before]: [u64; 2], stride: usize, sum: Sum) -> Result<()> {
        let (v, at) = (self.0.vectors, self.0.at);
        let count = stride.div_ceil(EVERY);
        let moved = Moved {
            now,
            before: at.watched + 4 * before,
            parts: v.parts(at),
            sums: self.0.sum_at(sum),
            done: v.done(at),
            stride: stride as i64,
            count: count as i64,
            every: EVERY as i32,
        };
        let launch = Launch { grid: [blocks(count), v.slices, 1], block: [256, 1, 1], shared: 0 };
        self.0.queue(&self.0.kernels()?.variation.moved, launch, &moved)
    }
}
