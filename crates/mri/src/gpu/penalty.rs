//! Launches `kernels/mri/penalty.cu`: R of the penalty lambda |R rho|^2, on the GPU.

use crate::matrix::{Matrix, Rows};
use isocenter_base::error::Result;
use isocenter_base::gpu::{Device, Function, Image, Lent, Precision, Queue, mirrored};
use isocenter_nufft::Scalar;

const IMAGE: &Image = &crate::images::PENALTY;

/// Mirrors `Differences`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct DifferencesArguments {
    x: u64,
    out: u64,
    weights: u64,
    lambda: f64,
    voxels: i64,
    sizes: [i32; 3],
}
mirrored!(DifferencesArguments, 56);

/// Mirrors `Rows`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct RowsArguments {
    starts: u64,
    columns: u64,
    values: u64,
    x: u64,
    out: u64,
    lambda: f64,
    rows: i64,
    add: i32,
}
mirrored!(RowsArguments, 64);

/// Differences of neighbours, weighted.
#[derive(Debug)]
pub(super) struct DeviceDifferences {
    kernel: Function,
    /// Squared `[axis][voxel]`; None for ones.
    weights: Option<Lent>,
}

impl DeviceDifferences {
    /// Without weights.
    pub(super) fn new(device: &Device, precision: Precision) -> Result<Self> {
        let kernel = device.function(IMAGE, &format!("penalty_differences_{}", precision.suffix()))?;
        Ok(Self { kernel, weights: None })
    }

    /// Scalar numbers of this precision: squares of weights `[axis][voxel]`; None for ones.
    pub(super) fn set_weights(&mut self, squared: Option<Lent>) {
        self.weights = squared;
    }

    /// Their address; 0 for ones.
    pub(super) fn weights(&self) -> u64 {
        self.weights.as_ref().map_or(0, |w| w.address())
    }

    pub(super) fn bytes(&self) -> u64 {
        self.weights.as_ref().map_or(0, |w| w.bytes() as u64)
    }

    /// out = out + lambda R^H R x, with R the weighted differences.
    ///
    /// # Safety
    /// x and out are images of this precision on this GPU until the stream has passed this; the GPU is current.
    pub(super) unsafe fn add(
        &self,
        queue: &Queue,
        lambda: f64,
        [nz, ny, nx]: [usize; 3],
        x: u64,
        out: u64,
    ) -> Result<()> {
        let voxels = nx * ny * nz;
        let sizes = [nx, ny, nz].map(|n| n as i32);
        let arguments = DifferencesArguments { x, out, weights: self.weights(), lambda, voxels: voxels as i64, sizes };
        // SAFETY: the struct mirrors the kernel's; the rest by this function's contract.
        unsafe { queue.launch_each(&self.kernel, voxels, &arguments) }
    }
}

/// A matrix's rows on the device.
#[derive(Debug)]
struct DeviceRows {
    starts: Lent,
    columns: Lent,
    values: Lent,
    count: usize,
    kernel: Function,
}

impl DeviceRows {
    fn new<T: Scalar>(queue: &Queue, rows: &Rows<T>) -> Result<Self> {
        let (starts, columns, values) = rows.parts();
        let count = rows.count();
        let (starts, columns) = (queue.upload(starts)?, queue.upload(columns)?);
        let kernel = queue.device.function(IMAGE, &format!("penalty_rows_{}", T::PRECISION.suffix()))?;
        Ok(Self { starts, columns, values: queue.upload(values)?, count, kernel })
    }

    fn bytes(&self) -> u64 {
        (self.starts.bytes() + self.columns.bytes() + self.values.bytes()) as u64
    }

    /// out = rows times x; or lambda times that is added.
    unsafe fn launch(&self, queue: &Queue, x: u64, out: u64, lambda: Option<f64>) -> Result<()> {
        let arguments = RowsArguments {
            starts: self.starts.address(),
            columns: self.columns.address(),
            values: self.values.address(),
            x,
            out,
            lambda: lambda.unwrap_or(1.0),
            rows: self.count as i64,
            add: lambda.is_some().into(),
        };
        // SAFETY: the struct mirrors the kernel's; the rest by the contract of `DeviceMatrix::add`.
        unsafe { queue.launch_each(&self.kernel, self.count, &arguments) }
    }
}

/// A sparse matrix and its conjugate transpose.
#[derive(Debug)]
pub(super) struct DeviceMatrix {
    forward: DeviceRows,
    adjoint: DeviceRows,
    product: Lent,
}

impl DeviceMatrix {
    pub(super) fn new<T: Scalar>(queue: &Queue, matrix: &Matrix<T>) -> Result<Self> {
        let (forward, adjoint) = matrix.both();
        let forward = DeviceRows::new(queue, forward)?;
        let product = queue.pool.take(forward.count * T::PRECISION.complex())?;
        Ok(Self { forward, adjoint: DeviceRows::new(queue, adjoint)?, product })
    }

    pub(super) fn bytes(&self) -> u64 {
        self.forward.bytes() + self.adjoint.bytes() + self.product.bytes() as u64
    }

    /// out = out + lambda R^H R x.
    ///
    /// # Safety
    /// x and out are images on this GPU until the stream has passed this; the GPU is current.
    pub(super) unsafe fn add(&self, queue: &Queue, lambda: f64, x: u64, out: u64) -> Result<()> {
        let product = self.product.address();
        // SAFETY: by this function's contract; the product has a value for each row.
        unsafe {
            self.forward.launch(queue, x, product, None)?;
            self.adjoint.launch(queue, product, out, Some(lambda))
        }
    }
}
