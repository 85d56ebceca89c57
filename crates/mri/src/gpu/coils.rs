//! Launches `kernels/mri/coils.cu`: density weights of samples, and images of coils, times their sensitivities and combined to one.

use isocenter_base::error::Result;
use isocenter_base::gpu::fft::Maps;
use isocenter_base::gpu::{Device, Function, Precision, Queue, mirrored};

/// Mirrors `Weigh`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Weigh {
    weights: u64,
    samples: u64,
    count: i64,
    coils: i64,
}
mirrored!(Weigh, 32);

/// Mirrors `Coils`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Coils {
    maps: u64,
    image: u64,
    coils: u64,
    voxels: i64,
    count: i64,
    map_stride: i64,
    add: i32,
}
mirrored!(Coils, 56);

impl Coils {
    fn new(maps: Maps, (image, coils): (u64, u64), [voxels, count]: [usize; 2], add: bool) -> Self {
        let [voxels, count, map_stride] = [voxels, count, maps.stride].map(|n| n as i64);
        Self { maps: maps.address, image, coils, voxels, count, map_stride, add: add.into() }
    }
}

/// Kernels for one precision.
#[derive(Debug)]
pub(super) struct CoilKernels {
    weigh: Function,
    multiply: Function,
    combine: Function,
}

impl CoilKernels {
    pub(super) fn new(device: &Device, precision: Precision) -> Result<Self> {
        let kernel = |verb| device.function(&crate::images::COILS, &format!("coils_{verb}_{}", precision.suffix()));
        Ok(Self { weigh: kernel("weigh")?, multiply: kernel("multiply")?, combine: kernel("combine")? })
    }

    /// samples `[coil][count]` = weights times samples; the weights are real.
    ///
    /// # Safety
    /// Both are of this precision on the queue's GPU, and stay valid until its stream has passed the call; the GPU is current.
    pub(super) unsafe fn weigh(
        &self,
        queue: &Queue,
        weights: u64,
        samples: u64,
        count: usize,
        coils: usize,
    ) -> Result<()> {
        let arguments = Weigh { weights, samples, count: count as i64, coils: coils as i64 };
        // SAFETY: by this function's contract; the struct mirrors the kernel's.
        unsafe { queue.launch_each(&self.weigh, count, &arguments) }
    }

    /// `coils[coil]` = maps times image.
    ///
    /// # Safety
    /// As for [`CoilKernels::weigh`], with maps and images of `count` coils.
    pub(super) unsafe fn multiply(
        &self,
        queue: &Queue,
        maps: Maps,
        image: u64,
        coils: u64,
        [voxels, count]: [usize; 2],
    ) -> Result<()> {
        // SAFETY: by this function's contract.
        unsafe { self.products(queue, &Coils::new(maps, (image, coils), [voxels, count], false)) }
    }

    /// `coils[coil]` = `coils[coil]` + maps times image.
    ///
    /// # Safety
    /// As for [`CoilKernels::multiply`].
    pub(super) unsafe fn add_products(
        &self,
        queue: &Queue,
        maps: Maps,
        image: u64,
        coils: u64,
        [voxels, count]: [usize; 2],
    ) -> Result<()> {
        // SAFETY: by this function's contract.
        unsafe { self.products(queue, &Coils::new(maps, (image, coils), [voxels, count], true)) }
    }

    /// # Safety
    /// The same as for [`CoilKernels::multiply`].
    unsafe fn products(&self, queue: &Queue, arguments: &Coils) -> Result<()> {
        // SAFETY: by this function's contract; the struct mirrors the kernel's.
        unsafe { queue.launch_each(&self.multiply, arguments.voxels as usize, arguments) }
    }

    /// image = sum over coils of conj(maps) times coils, added to what is there if `add`.
    ///
    /// # Safety
    /// As for [`CoilKernels::multiply`].
    pub(super) unsafe fn combine(
        &self,
        queue: &Queue,
        maps: Maps,
        (image, add): (u64, bool),
        coils: u64,
        [voxels, count]: [usize; 2],
    ) -> Result<()> {
        let arguments = Coils::new(maps, (image, coils), [voxels, count], add);
        // SAFETY: by this function's contract; the struct mirrors the kernel's.
        unsafe { queue.launch_each(&self.combine, voxels, &arguments) }
    }
}
