//! Launches `kernels/mri/variation.cu`: differences of neighbours and the duals of total variation.

use crate::variation::Raise;
use isocenter_base::error::Result;
use isocenter_base::gpu::{Device, Function, Lent, Queue, Sums, SumsArguments, mirrored};
use isocenter_nufft::Scalar;
use std::marker::PhantomData;
use std::sync::Arc;

/// Mirrors `Axes`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Axes {
    weights: u64,
    voxels: i64,
    sizes: [i32; 3],
    images: i32,
    apart: i64,
}
mirrored!(Axes, 40);

/// Mirrors `Back`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Back {
    axes: Axes,
    image: u64,
    out: u64,
    q: [u64; 3],
    scale: f64,
}
mirrored!(Back, 88);

/// Mirrors `Rise`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Rise {
    axes: Axes,
    x: u64,
    p: [u64; 3],
    q: [u64; 3],
    keep: f64,
    step: f64,
    momentum: f64,
}
mirrored!(Rise, 120);

/// Mirrors `Length`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Length {
    axes: Axes,
    x: u64,
    huber: f64,
    sums: SumsArguments,
}
mirrored!(Length, 80);

/// Fields of duals, image after image: p of each axis that has more than one voxel, x first, then their extrapolations q.
#[derive(Debug)]
pub(crate) struct DeviceFields<T> {
    fields: Lent,
    grid: [usize; 3],
    images: usize,
    kernels: [Function; 3],
    sums: Sums,
    real: PhantomData<T>,
}

/// Axes along which there are differences, x first.
fn axes(grid: [usize; 3]) -> impl Iterator<Item = usize> {
    (0..3).filter(move |a| grid[2 - a] > 1)
}

impl<T: Scalar> DeviceFields<T> {
    /// All 0, of so many images together.
    pub(super) fn new(queue: &Queue, grid: [usize; 3], images: usize) -> Result<Self> {
        let device: &Arc<Device> = &queue.device;
        let kernel = |name: &str| {
            device.function(&crate::images::VARIATION, &format!("variation_{name}_{}", T::PRECISION.suffix()))
        };
        let bytes = images * 2 * axes(grid).count() * grid.iter().product::<usize>() * T::PRECISION.complex();
        let kernels = [kernel("back")?, kernel("rise")?, kernel("length")?];
        let fields = queue.pool.take(bytes)?;
        fields.clear(&queue.stream)?;
        Ok(Self { fields, grid, images, kernels, sums: Sums::new(device, 1)?, real: PhantomData })
    }

    /// p, q of the first image, by axis; null where there is but one voxel.
    fn addresses(&self) -> [[u64; 3]; 2] {
        let voxels = self.grid.iter().product::<usize>();
        let count = axes(self.grid).count();
        let mut found = [[0; 3]; 2];
        for (k, axis) in axes(self.grid).enumerate() {
            let at = |field: usize| self.fields.address() + (field * voxels * T::PRECISION.complex()) as u64;
            (found[0][axis], found[1][axis]) = (at(k), at(count + k));
        }
        found
    }

    fn axes(&self, weights: u64) -> Axes {
        let [nz, ny, nx] = self.grid;
        let (sizes, voxels) = ([nx, ny, nz].map(|n| n as i32), self.voxels());
        let apart = (2 * axes(self.grid).count() * voxels) as i64;
        Axes { weights, voxels: voxels as i64, sizes, images: self.images as i32, apart }
    }

    fn voxels(&self) -> usize {
        self.grid.iter().product()
    }

    /// out = images - scale K^H q. Weights squared, `[axis][voxel]`; 0 for ones.
    ///
    /// # Safety
    /// As many images as the fields are of have their size and this precision, on this GPU until the stream has passed this; the GPU is current.
    pub(super) unsafe fn back(&self, queue: &Queue, weights: u64, scale: f64, image: u64, out: u64) -> Result<()> {
        let [_, q] = self.addresses();
        let arguments = Back { axes: self.axes(weights), image, out, q, scale };
        // SAFETY: by this function's contract; the struct mirrors the kernel's.
        unsafe { queue.launch_each(&self.kernels[0], self.voxels(), &arguments) }
    }

    /// p = (keep q + step K x), no longer than 1 over axes and images; q = p + momentum (p - what p was).
    ///
    /// # Safety
    /// As for `back`.
    pub(super) unsafe fn raise(&self, queue: &Queue, weights: u64, raise: Raise, x: u64) -> Result<()> {
        let ([p, q], Raise { keep, step, momentum }) = (self.addresses(), raise);
        let arguments = Rise { axes: self.axes(weights), x, p, q, keep, step, momentum };
        // SAFETY: by this function's contract; the struct mirrors the kernel's.
        unsafe { queue.launch_each(&self.kernels[1], self.voxels(), &arguments) }
    }

    /// The sum over voxels of h(|K x|) of axes and images, the square over 2 huber up to huber, and growing by 1 from there.
    ///
    /// # Safety
    /// As for `back`.
    pub(super) unsafe fn variation(&self, queue: &Queue, weights: u64, huber: f64, x: u64) -> Result<f64> {
        let arguments = Length { axes: self.axes(weights), x, huber, sums: self.sums.arguments() };
        // SAFETY: by this function's contract; the struct mirrors the kernel's.
        unsafe { self.sums.launch(queue, &self.kernels[2], &arguments) }.map(|[sum]| sum)
    }
}
