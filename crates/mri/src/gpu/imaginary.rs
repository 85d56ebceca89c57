//! Launches `kernels/mri/imaginary.cu`: imaginary parts of images.

use isocenter_base::error::Result;
use isocenter_base::gpu::{Device, Function, Precision, Queue, mirrored};

/// Mirrors `Imaginary`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Imaginary {
    images: u64,
    out: u64,
    weight: f64,
    count: i64,
}
mirrored!(Imaginary, 32);

/// Kernels for one precision.
#[derive(Debug)]
pub(super) struct ImaginaryKernels {
    clear: Function,
    add: Function,
}

impl ImaginaryKernels {
    pub(super) fn new(device: &Device, precision: Precision) -> Result<Self> {
        let kernel =
            |verb| device.function(&crate::images::IMAGINARY, &format!("imaginary_{verb}_{}", precision.suffix()));
        Ok(Self { clear: kernel("clear")?, add: kernel("add")? })
    }

    /// Imaginary parts of so many complex numbers become 0.
    ///
    /// # Safety
    /// They are of this precision on the queue's GPU, and stay valid until its stream has passed the call; the GPU is current.
    pub(super) unsafe fn clear(&self, queue: &Queue, out: u64, count: usize) -> Result<()> {
        let arguments = Imaginary { images: 0, out, weight: 0.0, count: count as i64 };
        // SAFETY: by this function's contract; the struct mirrors the kernel's.
        unsafe { queue.launch_each(&self.clear, count, &arguments) }
    }

    /// out = out + weight times i times the imaginary part of images.
    ///
    /// # Safety
    /// As for [`ImaginaryKernels::clear`], of both.
    pub(super) unsafe fn add(&self, queue: &Queue, weight: f64, images: u64, out: u64, count: usize) -> Result<()> {
        let arguments = Imaginary { images, out, weight, count: count as i64 };
        // SAFETY: by this function's contract; the struct mirrors the kernel's.
        unsafe { queue.launch_each(&self.add, count, &arguments) }
    }
}
