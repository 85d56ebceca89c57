//! Where an array's elements lie.

use super::dtype::DType;
use crate::error::{Result, fail};
use crate::gpu::Device;
use std::sync::Arc;

/// Shape, strides in elements, and the element at index 0, in host memory or on a GPU.
#[derive(Clone, Copy, Debug)]
pub struct Layout<const N: usize = 3> {
    pub origin: *const u8,
    pub dtype: DType,
    pub shape: [usize; N],
    pub strides: [isize; N],
    /// The GPU in whose memory it is; None for host memory.
    pub gpu: Option<usize>,
}

// SAFETY: an address; whoever follows it has an array's access.
unsafe impl<const N: usize> Send for Layout<N> {}
// SAFETY: as above.
unsafe impl<const N: usize> Sync for Layout<N> {}

impl<const N: usize> Layout<N> {
    /// A contiguous array in host memory; with a NULL origin, for sizes alone.
    pub fn new(origin: *const u8, dtype: DType, shape: [usize; N]) -> Self {
        Self { origin, dtype, shape, strides: contiguous(shape), gpu: None }
    }

    /// Number of elements.
    pub fn count(&self) -> usize {
        self.shape.iter().product()
    }

    /// Bytes of all elements.
    pub fn bytes(&self) -> usize {
        self.count() * self.dtype.size()
    }

    /// Address of an element, on host or GPU. In range for every index below the shape, as an array's constructors promise.
    #[inline]
    pub fn element(&self, at: [usize; N]) -> *const u8 {
        assert!(at.iter().zip(self.shape).all(|(k, n)| *k < n));
        let elements: isize = at.iter().zip(self.strides).map(|(k, s)| *k as isize * s).sum();
        self.origin.wrapping_offset(elements * self.dtype.size() as isize)
    }

    /// Lowest address and one past the highest. Strides were checked, so nothing wraps.
    pub fn extent(&self) -> (usize, usize) {
        let (mut low, mut high) = (self.origin as isize, self.origin as isize);
        for (n, s) in self.shape.iter().zip(self.strides) {
            let reach = (*n as isize - 1) * s * self.dtype.size() as isize;
            if reach < 0 { low += reach } else { high += reach }
        }
        (low as usize, high as usize + self.dtype.size())
    }

    /// An error unless it has this shape, one of these types, and is in host memory or on one of these GPUs.
    pub fn check(&self, name: &str, shape: [usize; N], dtypes: &[DType], gpus: &[Arc<Device>]) -> Result<()> {
        if self.shape != shape {
            fail!(TensorShape, "{name} has shape {:?}; it must be {shape:?}", self.shape);
        }
        self.dtype.check(name, dtypes)?;
        if let Some(gpu) = self.gpu.filter(|gpu| gpus.iter().all(|g| g.index() != *gpu)) {
            fail!(TensorDevice, "{name} is on GPU {gpu}, which does not compute here");
        }
        Ok(())
    }

    /// The same elements with dimension `order[d]` in place d.
    pub fn permuted(mut self, order: [usize; N]) -> Self {
        (self.shape, self.strides) = (order.map(|d| self.shape[d]), order.map(|d| self.strides[d]));
        self
    }

    /// Index in every dimension of an element, counted with the last dimension fastest.
    pub fn index(&self, mut element: usize) -> [usize; N] {
        let mut at = [0; N];
        for d in (0..N).rev() {
            at[d] = element % self.shape[d];
            element /= self.shape[d];
        }
        at
    }
}

impl Layout<2> {
    /// The k-th of the last dimension.
    pub fn column(&self, k: usize) -> Layout<1> {
        assert!(k < self.shape[1]);
        let Self { origin, dtype, shape: [n, _], strides: [step, next], gpu } = *self;
        let origin = origin.wrapping_offset(k as isize * next * dtype.size() as isize);
        Layout { origin, dtype, shape: [n], strides: [step], gpu }
    }

    /// The k-th of the first dimension.
    pub fn row(&self, k: usize) -> Layout<1> {
        let Self { shape: [_, n], strides: [_, step], dtype, gpu, .. } = *self;
        Layout { origin: self.element([k, 0]), dtype, shape: [n], strides: [step], gpu }
    }
}

impl Layout<3> {
    /// The k-th of the first dimension.
    pub fn part(&self, k: usize) -> Layout<2> {
        let ([_, ny, nx], [_, y, x]) = (self.shape, self.strides);
        let Self { dtype, gpu, .. } = *self;
        Layout { origin: self.element([k, 0, 0]), dtype, shape: [ny, nx], strides: [y, x], gpu }
    }

    /// The same elements with the first two dimensions exchanged.
    pub fn swapped(mut self) -> Self {
        self.shape.swap(0, 1);
        self.strides.swap(0, 1);
        self
    }
}

impl Layout<4> {
    /// The k-th of the first dimension.
    pub fn part(&self, k: usize) -> Layout<3> {
        let ([_, nz, ny, nx], [_, z, y, x]) = (self.shape, self.strides);
        let (shape, strides) = ([nz, ny, nx], [z, y, x]);
        Layout { origin: self.element([k, 0, 0, 0]), dtype: self.dtype, shape, strides, gpu: self.gpu }
    }

    /// The only one of a first dimension.
    pub fn stacked(&self) -> Layout<5> {
        let Self { origin, dtype, shape: [a, nz, ny, nx], strides: [b, z, y, x], gpu } = *self;
        Layout { origin, dtype, shape: [1, a, nz, ny, nx], strides: [0, b, z, y, x], gpu }
    }
}

impl Layout<5> {
    /// The k-th of the first dimension.
    pub fn part(&self, k: usize) -> Layout<4> {
        let ([_, a, nz, ny, nx], [_, b, z, y, x]) = (self.shape, self.strides);
        let (shape, strides) = ([a, nz, ny, nx], [b, z, y, x]);
        Layout { origin: self.element([k, 0, 0, 0, 0]), dtype: self.dtype, shape, strides, gpu: self.gpu }
    }
}

/// Strides of elements that follow each other, last dimension fastest.
pub fn contiguous<const N: usize>(shape: [usize; N]) -> [isize; N] {
    std::array::from_fn(|d| shape[d + 1..].iter().product::<usize>() as isize)
}
