//! Launches `kernels/mri/stack.cu`: samples between the caller's order and that of their planes, and the phase that kz's offset gives images.

use isocenter_base::error::Result;
use isocenter_base::gpu::{Device, Function, Launch, Precision, Stream, mirrored};

const THREADS: usize = 256;
/// Maximum number of blocks along the second axis of a launch.
const MAX_ROWS: usize = 65535;

/// Mirrors `Order`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Order {
    order: u64,
    samples: u64,
    planes: u64,
    stride: i64,
    count: i32,
    coils: i32,
    first: i32,
    unused: i32,
}
mirrored!(Order, 48);

/// Mirrors `Turn`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Turn {
    turns: u64,
    from: u64,
    to: u64,
    rows: i64,
    planes: i32,
    pixels: i32,
    conjugate: i32,
    unused: i32,
}
mirrored!(Turn, 48);

/// Kernels for one precision.
#[derive(Debug)]
pub(super) struct StackKernels {
    gather: Function,
    scatter: Function,
    turn: Function,
}

/// Samples of some images of planes, each of a plane and a coil, `[plane][coil]`.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlaneSamples {
    /// u32: the places of the first plane's samples, and of the planes' behind it, in the caller's order.
    pub(super) order: u64,
    /// `[coil][stride]`, in the caller's order.
    pub(super) samples: u64,
    pub(super) stride: usize,
    pub(super) coils: usize,
    /// Of a plane.
    pub(super) count: usize,
    /// `[image][count]`, from image `first` on.
    pub(super) planes: u64,
    pub(super) first: usize,
    pub(super) images: usize,
}

impl StackKernels {
    pub(super) fn new(device: &Device, precision: Precision) -> Result<Self> {
        let kernel = |verb| device.function(&crate::images::STACK, &format!("stack_{verb}_{}", precision.suffix()));
        Ok(Self { gather: kernel("gather")?, scatter: kernel("scatter")?, turn: kernel("turn")? })
    }

    /// Planes' samples from the caller's.
    ///
    /// # Safety
    /// All are device memory of these sizes until the stream has passed this; the GPU is current.
    pub(super) unsafe fn gather(&self, of: &PlaneSamples, stream: &Stream) -> Result<()> {
        // SAFETY: by this function's contract.
        unsafe { reorder(&self.gather, of, stream) }
    }

    /// The caller's samples from planes'.
    ///
    /// # Safety
    /// As for [`StackKernels::gather`].
    pub(super) unsafe fn scatter(&self, of: &PlaneSamples, stream: &Stream) -> Result<()> {
        // SAFETY: by this function's contract.
        unsafe { reorder(&self.scatter, of, stream) }
    }

    /// `to[image][z][pixel]` = from times `turns[z]`, or times its conjugate. It may be in place.
    ///
    /// # Safety
    /// As for [`StackKernels::gather`].
    pub(super) unsafe fn turn(
        &self,
        (turns, conjugate): (u64, bool),
        [from, to]: [u64; 2],
        [images, planes, pixels]: [usize; 3],
        stream: &Stream,
    ) -> Result<()> {
        let rows = images * planes;
        let arguments = Turn {
            turns,
            from,
            to,
            rows: rows as i64,
            planes: planes as i32,
            pixels: pixels as i32,
            conjugate: conjugate.into(),
            unused: 0,
        };
        // SAFETY: by this function's contract; the struct mirrors the kernel's.
        unsafe { self.turn.launch(stream, launch(pixels, rows.min(MAX_ROWS)), &arguments) }
    }
}

/// # Safety
/// As for [`StackKernels::gather`].
unsafe fn reorder(kernel: &Function, of: &PlaneSamples, stream: &Stream) -> Result<()> {
    let arguments = Order {
        order: of.order,
        samples: of.samples,
        planes: of.planes,
        stride: of.stride as i64,
        count: of.count as i32,
        coils: of.coils as i32,
        first: of.first as i32,
        unused: 0,
    };
    // SAFETY: by this function's contract; the struct mirrors the kernel's.
    unsafe { kernel.launch(stream, launch(of.count, of.images), &arguments) }
}

/// A row of blocks for so many elements each.
fn launch(elements: usize, rows: usize) -> Launch {
    // Four elements a thread, so that blocks are worth their start.
    Launch { grid: [elements.div_ceil(4 * THREADS), rows, 1], block: [THREADS, 1, 1], shared: 0 }
}
