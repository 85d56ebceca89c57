//! Launches `kernels/mri/joint.cu`: smooth coils from their coefficients, axis by axis, and products of images.

use super::coils::CoilKernels;
use super::engine::GpuEngine;
use crate::engine::Engine;
use crate::joint::{Joint, Part, PartMut, Smooth};
use isocenter_base::context::Context;
use isocenter_base::cpu::buffer::collected;
use isocenter_base::error::{Result, fail};
use isocenter_base::gpu::{Function, Lent, Queue, mirrored};
use isocenter_nufft::Scalar;
use isocenter_solve::Vectors;
use isocenter_solve::gpu::DeviceVector;
use std::sync::Arc;

/// Mirrors `Along`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Along {
    table: u64,
    from: u64,
    out: u64,
    before: i64,
    after: i64,
    length: i64,
    step_out: i64,
    step_in: i64,
    count: i64,
}
mirrored!(Along, 72);

/// Mirrors `Product`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Product {
    a: u64,
    b: u64,
    out: u64,
    count: i64,
    conjugate: i32,
    add: i32,
}
mirrored!(Product, 40);

/// Mirrors `Lengths`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Lengths {
    coils: u64,
    image: u64,
    least: f64,
    voxels: i64,
    count: i64,
}
mirrored!(Lengths, 40);

/// Tables of waves, rooms for what is between two axes, and kernels.
pub(crate) struct GpuWaves {
    queue: Arc<Queue>,
    grid: [usize; 3],
    waves: [usize; 3],
    weights: Lent,
    /// Of z, y and x, `[voxel][wave]`.
    tables: [Lent; 3],
    rooms: [DeviceVector; 2],
    weigh: CoilKernels,
    along: Function,
}

impl GpuWaves {
    /// Coefficients of a coil.
    fn count(&self) -> usize {
        self.waves.iter().product()
    }

    /// Sums over one axis: out `[before the axis][axis][after it]`, from waves to voxels or back.
    ///
    /// # Safety
    /// Device memory for what is read and written, of the table's precision, until the stream has passed this; the GPU is current.
    unsafe fn along(
        &self,
        axis: usize,
        to_voxels: bool,
        [outer, length]: [usize; 2],
        [from, out]: [u64; 2],
    ) -> Result<()> {
        let (voxels, waves) = (self.grid[axis], self.waves[axis]);
        let (before, after) = if to_voxels { (waves, voxels) } else { (voxels, waves) };
        let (step_out, step_in) = if to_voxels { (waves, 1) } else { (1, waves) };
        let count = outer * after * length;
        let arguments = Along {
            table: self.tables[axis].address(),
            from,
            out,
            before: before as i64,
            after: after as i64,
            length: length as i64,
            step_out: step_out as i64,
            step_in: step_in as i64,
            count: count as i64,
        };
        // SAFETY: by this function's contract; the struct mirrors the kernel's.
        unsafe { self.queue.launch_each(&self.along, count, &arguments) }
    }
}

/// Where an element of a vector lies, which has so many from it on.
fn at<T: Scalar>((vector, first): (&DeviceVector, usize), count: usize) -> Result<u64> {
    if first + count > vector.count() {
        fail!(Internal, "{count} elements from {first} on are not there");
    }
    Ok(vector.address() + (first * T::PRECISION.complex()) as u64)
}

impl<T: Scalar> GpuEngine<T> {
    fn joint(&self, verb: &str) -> Result<Function> {
        let name = format!("joint_{verb}_{}", T::PRECISION.suffix());
        self.queue().device.function(&crate::images::JOINT, &name)
    }

    fn product(&self, [a, b, out]: [u64; 3], count: usize, conjugate: bool, add: bool) -> Result<()> {
        let arguments = Product { a, b, out, count: count as i64, conjugate: conjugate.into(), add: add.into() };
        // SAFETY: callers give parts of vectors, which stay in the pool, with so many elements each; the struct mirrors the kernel's, and
        // the GPU is current inside `within`.
        unsafe { self.queue().launch_each(&self.joint("product")?, count, &arguments) }
    }
}

impl<T: Scalar> Joint for GpuEngine<T> {
    type Waves = GpuWaves;

    fn waves(&mut self, _: &Context, smooth: &Smooth) -> Result<GpuWaves> {
        let queue = self.queue().clone();
        let upload = |values: Vec<f64>| -> Result<Lent> {
            let values: Vec<T> = collected(values.into_iter().map(T::of))?;
            queue.upload(&values)
        };
        let table = |axis: usize| upload(smooth.table(axis)?);
        Ok(GpuWaves {
            grid: smooth.grid,
            waves: smooth.waves,
            weights: upload(smooth.weights()?)?,
            tables: [table(0)?, table(1)?, table(2)?],
            rooms: [self.vectors().uninitialised(smooth.room())?, self.vectors().uninitialised(smooth.room())?],
            weigh: CoilKernels::new(&queue.device, T::PRECISION)?,
            along: self.joint("along")?,
            queue,
        })
    }

    fn expand(&mut self, waves: &mut GpuWaves, from: Part<'_, Self>, (coil, first): PartMut<'_, Self>) -> Result<()> {
        let ([nz, ny, nx], [mz, my, _], count) = (waves.grid, waves.waves, waves.count());
        let coil = at::<T>((coil, first), nz * ny * nx)?;
        let [a, b] = &mut waves.rooms;
        self.vectors().copy(from, (b, 0), count)?;
        let (a, b) = (a.address(), b.address());
        // SAFETY: rooms hold what is between two axes, and stay with the waves; a coil has as many voxels as the grid.
        unsafe {
            waves.weigh.weigh(&waves.queue, waves.weights.address(), b, count, 1)?;
            waves.along(2, true, [mz * my, 1], [b, a])?;
            waves.along(1, true, [mz, nx], [a, b])?;
            waves.along(0, true, [1, ny * nx], [b, coil])
        }
    }

    fn contract(&mut self, waves: &mut GpuWaves, coil: &DeviceVector, (to, first): PartMut<'_, Self>) -> Result<()> {
        let ([nz, ny, nx], [mz, my, _], count) = (waves.grid, waves.waves, waves.count());
        let (coil, to) = (at::<T>((coil, 0), nz * ny * nx)?, at::<T>((to, first), count)?);
        let [a, b] = [&waves.rooms[0], &waves.rooms[1]].map(DeviceVector::address);
        // SAFETY: as for `expand`.
        unsafe {
            waves.along(0, false, [1, ny * nx], [coil, b])?;
            waves.along(1, false, [mz, nx], [b, a])?;
            waves.along(2, false, [mz * my, 1], [a, to])?;
            waves.weigh.weigh(&waves.queue, waves.weights.address(), to, count, 1)
        }
    }

    fn multiply(&mut self, a: Part<'_, Self>, b: Part<'_, Self>, out: &mut DeviceVector, add: bool) -> Result<()> {
        let count = out.count();
        self.product([at::<T>(a, count)?, at::<T>(b, count)?, out.address()], count, false, add)
    }

    fn multiply_conjugate(
        &mut self,
        a: Part<'_, Self>,
        b: &DeviceVector,
        out: &mut DeviceVector,
        add: bool,
    ) -> Result<()> {
        let count = b.count();
        self.product([at::<T>(a, count)?, b.address(), at::<T>((out, 0), count)?], count, true, add)
    }

    fn normalise(&mut self, maps: &mut DeviceVector, image: &mut DeviceVector, least: f64) -> Result<()> {
        let (voxels, count) = (image.count(), maps.count() / image.count());
        let (coils, image) = (maps.address(), image.address());
        let arguments = Lengths { coils, image, least, voxels: voxels as i64, count: count as i64 };
        // SAFETY: whole coils and an image, which stay in the pool; the struct mirrors the kernel's, and the GPU is current inside `within`.
        unsafe { self.queue().launch_each(&self.joint("normalise")?, voxels, &arguments) }
    }
}
