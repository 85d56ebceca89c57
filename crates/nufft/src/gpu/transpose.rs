//! Between images one after the other and images side by side: launches `kernels/nufft/transpose.cu`.

use super::spread::Values;
use isocenter_base::error::{Result, fail};
use isocenter_base::gpu::{Device, Function, Launch, Stream, mirrored};

/// Mirrors `Transpose`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Arguments {
    apart: u64,
    together: u64,
    stride: i64,
    elements: i64,
    images: i32,
    pitch: i32,
    some: i32,
    unused: i32,
}
mirrored!(Arguments, 48);

/// Complex numbers of a block, about.
const BLOCK: usize = 2048;

/// Images side by side: those there are, and with zeros behind.
#[derive(Clone, Copy, Debug)]
pub(super) struct Together {
    /// `[element][image]`
    pub(super) address: u64,
    pub(super) elements: usize,
    pub(super) images: usize,
    pub(super) pitch: usize,
}

/// The two ways.
#[derive(Debug)]
pub(super) struct Transposes {
    together: Function,
    apart: Function,
}

impl Transposes {
    pub(super) fn new(device: &Device) -> Result<Self> {
        let function = |name| device.function(&crate::images::TRANSPOSE, name);
        Ok(Self { together: function("transpose_together")?, apart: function("transpose_apart")? })
    }

    /// `to[element][image] = from[image][element]`
    ///
    /// # Safety
    /// Both are device memory of complex f32 of these sizes, apart from each other, until the stream has passed this; the GPU is current.
    pub(super) unsafe fn together(&self, from: Values, to: &Together, stream: &Stream) -> Result<()> {
        // SAFETY: by this function's contract.
        unsafe { launch(&self.together, from, to, stream) }
    }

    /// `to[image][element] = from[element][image]`
    ///
    /// # Safety
    /// As for `together`.
    pub(super) unsafe fn apart(&self, from: &Together, to: Values, stream: &Stream) -> Result<()> {
        // SAFETY: by this function's contract.
        unsafe { launch(&self.apart, to, from, stream) }
    }
}

/// # Safety
/// As for [`Transposes::together`].
unsafe fn launch(function: &Function, apart: Values, together: &Together, stream: &Stream) -> Result<()> {
    let Together { address, elements, images, pitch } = *together;
    // A warp reads an image's elements: 32 of them or more.
    if images == 0 || images > pitch || pitch > BLOCK / 32 {
        fail!(Internal, "{images} of {pitch} images side by side");
    }
    let some = BLOCK / pitch / 32 * 32;
    let arguments = Arguments {
        apart: apart.address,
        together: address,
        stride: apart.coil_stride as i64,
        elements: elements as i64,
        images: images as i32,
        pitch: pitch as i32,
        some: some as i32,
        unused: 0,
    };
    let launch = Launch { grid: [elements.div_ceil(some), 1, 1], block: [256, 1, 1], shared: images * (some + 1) * 8 };
    // SAFETY: by the caller's contract; the struct mirrors the kernel's.
    unsafe { function.launch(stream, launch, &arguments) }
}
