//! Launches `kernels/mri/sensitivities.cu`: at each voxel a Hermitian matrix of coils by coils, from its Fourier coefficients, and its
//! strongest eigenvectors. A few planes at a time, so that memory is bounded.

use super::array::write;
use isocenter_base::array::{ArrayMut, host};
use isocenter_base::context::Context;
use isocenter_base::cpu::buffer::collected;
use isocenter_base::error::Result;
use isocenter_base::gpu::{Function, Image, Launch, Lent, Queue, Span, mirrored};
use rustfft::num_complex::Complex;
use std::f64::consts::TAU;

const IMAGE: &Image = &crate::images::SENSITIVITIES;

/// Coils at most: a lane of a warp each.
pub(crate) const MAX_COILS: usize = 32;
/// Bytes that planes take together, if one takes no more: enough work for any GPU.
const PART: u64 = 256 << 20;
/// Voxels at most, of which the kernel counts in 32 bits.
const MAX_VOXELS: usize = 1 << 30;
const WARP: usize = 32;
const MAX_WARPS: usize = 8;
/// Shared memory of a block that has more than one warp.
const SHARED: usize = 24 << 10;
/// Rows and columns of matrices are up to a multiple of this.
const WIDE: usize = 8;
/// Blocks for each multiprocessor, which take turns.
const BLOCKS: usize = 32;

/// Mirrors `Rows`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct RowsArguments {
    planes: u64,
    turns: u64,
    terms: u64,
    count: i64,
    pairs: i32,
    ny: i32,
    reach_y: i32,
    reach_x: i32,
}
mirrored!(RowsArguments, 48);

/// Mirrors `Voxels`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct VoxelsArguments {
    terms: u64,
    turns: u64,
    reference: u64,
    maps: u64,
    values: u64,
    planes: i32,
    ny: i32,
    nx: i32,
    coils: i32,
    sets: i32,
    reach: i32,
    crop: f32,
    relative: i32,
}
mirrored!(VoxelsArguments, 72);

/// What is wanted of all voxels.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked<'a> {
    pub(crate) coils: usize,
    pub(crate) sets: usize,
    /// Along z, y, x.
    pub(crate) grid: [usize; 3],
    /// Largest distances of coefficients along y and x.
    pub(crate) reach: [usize; 2],
    /// Eigenvalues below have no vector; 0 keeps all.
    pub(crate) crop: f32,
    /// Eigenvalues are parts of the matrix's trace.
    pub(crate) relative: bool,
    /// Its product with a vector is made real and positive: conjugate, one number a coil.
    pub(crate) reference: &'a [Complex<f32>],
    /// Eigenvalues are wanted, too.
    pub(crate) values: bool,
}

impl Asked<'_> {
    fn pairs(&self) -> usize {
        self.coils * (self.coils + 1) / 2
    }

    fn voxels(&self) -> usize {
        self.grid[1] * self.grid[2]
    }

    /// Coefficients of a plane.
    fn coefficients(&self) -> usize {
        self.pairs() * self.reach.iter().map(|r| 2 * r + 1).product::<usize>()
    }

    /// Terms of a plane's rows.
    fn terms(&self) -> usize {
        self.grid[1] * self.pairs() * (self.reach[1] + 1)
    }

    /// Numbers of a plane's maps.
    fn maps(&self) -> usize {
        self.sets * self.coils * self.voxels()
    }

    /// Numbers of a plane's eigenvalues.
    fn values(&self) -> usize {
        if self.values { self.sets * self.voxels() } else { 0 }
    }

    /// Bytes of a plane on the GPU.
    fn plane_bytes(&self) -> u64 {
        let single = size_of::<Complex<f32>>();
        let bytes = size_of::<Complex<f64>>() * self.coefficients()
            + size_of::<[f32; 4]>() * self.terms()
            + single * (self.maps() + self.values());
        bytes as u64
    }

    /// Planes at a time, where there are so many bytes; 0 if one alone is too large.
    fn planes(&self, bytes: u64) -> usize {
        let most = (bytes.min(PART) / self.plane_bytes()).max(u64::from(self.plane_bytes() <= bytes));
        (most as usize).min(self.grid[0]).min(MAX_VOXELS / self.voxels())
    }
}

/// Cosine and sine of k / n turns.
fn turns<T>(n: usize, number: impl Fn(f64) -> T) -> Result<Vec<Complex<T>>> {
    collected((0..n).map(|k| {
        let v = Complex::cis(TAU * k as f64 / n as f64);
        Complex::new(number(v.re), number(v.im))
    }))
}

/// Kernels, and memory for some planes.
pub(crate) struct Sensitivities<'a> {
    queue: Queue,
    asked: Asked<'a>,
    planes: usize,
    rows: Function,
    voxels: Function,
    turns: [Lent; 2],
    reference: Lent,
    terms: Lent,
    maps: Lent,
    values: Lent,
}

impl<'a> Sensitivities<'a> {
    /// On the context's first GPU; None without one, for too many coils, or where not even a plane finds memory.
    pub(crate) fn new(context: &Context, asked: Asked<'a>) -> Result<Option<Self>> {
        let Some(device) = context.gpus().first().filter(|_| asked.coils <= MAX_COILS) else { return Ok(None) };
        let _current = device.enter()?;
        let queue = Queue::new(device)?;
        let planes = asked.planes(context.gpu_memory(device, 0)?);
        if planes == 0 {
            return Ok(None);
        }
        let [ny, nx] = [asked.grid[1], asked.grid[2]];
        let turns = [queue.upload(&turns(ny, |v| v)?)?, queue.upload(&turns(nx, |v| v as f32)?)?];
        let reference = queue.upload(asked.reference)?;
        let single = size_of::<Complex<f32>>();
        let terms = queue.pool.take(planes * asked.terms() * size_of::<[f32; 4]>())?;
        let maps = queue.pool.take(planes * asked.maps() * single)?;
        let values = queue.pool.take(planes * asked.values() * single)?;
        let [rows, voxels] =
            ["sensitivities_rows_f64", "sensitivities_voxels"].map(|name| device.function(IMAGE, name));
        let (rows, voxels) = (rows?, voxels?);
        Ok(Some(Self { queue, asked, planes, rows, voxels, turns, reference, terms, maps, values }))
    }

    /// Planes at a time.
    pub(crate) fn planes(&self) -> usize {
        self.planes
    }

    /// Maps `[z][set][coil][y][x]` and eigenvalues `[z][set][y][x]`, if they are wanted, of planes from `first` on, whose coefficients
    /// `[plane][pair][y][x]` these are. On a worker thread.
    pub(crate) fn find(
        &self,
        first: usize,
        coefficients: &[Complex<f64>],
        to: &mut ArrayMut<5>,
        values: Option<&mut ArrayMut<4>>,
    ) -> Result<()> {
        let (queue, asked) = (&self.queue, &self.asked);
        let _current = queue.device.enter()?;
        let planes = coefficients.len() / asked.coefficients();
        assert!(planes <= self.planes && first + planes <= asked.grid[0] && values.is_some() == asked.values);
        // The kernels that write the caller's arrays look at the guard.
        queue.start()?;
        let uploaded = queue.upload(coefficients)?;
        let count = planes * asked.terms();
        let [ny, nx, coils, sets] = [asked.grid[1], asked.grid[2], asked.coils, asked.sets].map(|n| n as i32);
        let rows = RowsArguments {
            planes: uploaded.address(),
            turns: self.turns[0].address(),
            terms: self.terms.address(),
            count: count as i64,
            pairs: asked.pairs() as i32,
            ny,
            reach_y: asked.reach[0] as i32,
            reach_x: asked.reach[1] as i32,
        };
        // SAFETY: the struct mirrors the kernel's; memory holds as many planes, and is there until the stream is waited for below.
        unsafe { queue.launch_each(&self.rows, count, &rows)? };
        let voxels = VoxelsArguments {
            terms: self.terms.address(),
            turns: self.turns[1].address(),
            reference: self.reference.address(),
            maps: self.maps.address(),
            values: if asked.values { self.values.address() } else { 0 },
            planes: planes as i32,
            ny,
            nx,
            coils,
            sets,
            reach: asked.reach[1] as i32,
            crop: asked.crop,
            relative: asked.relative.into(),
        };
        // SAFETY: as above.
        unsafe { self.voxels.launch(&queue.stream, self.launch(planes * asked.voxels()), &voxels)? };
        self.store(first, planes, (&self.maps, asked.maps()), to, |to, z, at| {
            // SAFETY: as many numbers of a plane; the array stays until the stream is waited for below.
            unsafe { write::<f32, 4>(queue, at, &mut to.part(z)) }
        })?;
        if let Some(to) = values {
            self.store(first, planes, (&self.values, asked.values()), to, |to, z, at| {
                // SAFETY: as above.
                unsafe { write::<f32, 3>(queue, at, &mut to.part(z)) }
            })?;
        }
        queue.stream.synchronize()
    }

    /// Of the kernel that takes voxels.
    fn launch(&self, voxels: usize) -> Launch {
        let Asked { coils, sets, .. } = self.asked;
        let (side, number) = (coils.next_multiple_of(WIDE), size_of::<Complex<f32>>());
        // Pairs are two to a number; of a warp three matrices, vectors and their eigenvalues.
        let pairs = self.asked.pairs().div_ceil(2) * number;
        let warp = (3 * side * (side + 1) + sets * (coils + 1)) * number;
        let warps = (SHARED / warp).clamp(1, MAX_WARPS);
        let blocks = voxels.div_ceil(warps).min(BLOCKS * self.queue.device.multiprocessors());
        Launch { grid: [blocks, 1, 1], block: [warps * WARP, 1, 1], shared: pairs + warps * warp }
    }

    /// Numbers of planes, `count` each, into the caller's array from plane `first` on.
    fn store<const N: usize>(
        &self,
        first: usize,
        planes: usize,
        (from, count): (&Lent, usize),
        to: &mut ArrayMut<N>,
        write_plane: impl Fn(&mut ArrayMut<N>, usize, u64) -> Result<()>,
    ) -> Result<()> {
        let bytes = count * size_of::<Complex<f32>>();
        if to.layout().gpu.is_some() {
            // What is in its default stream comes first.
            self.queue.follow(0)?;
            return (0..planes).try_for_each(|z| write_plane(to, first + z, from.address() + (z * bytes) as u64));
        }
        let drain = |done: usize, part: &mut [Complex<f32>]| {
            host::write_part(part, first * count + done, to);
            Ok(())
        };
        // SAFETY: as many numbers, which stay in the pool.
        unsafe { self.queue.staging.download(&self.queue.stream, Span::new(from.address(), planes * count), drain) }
    }
}
