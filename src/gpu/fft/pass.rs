//! Launches `kernels/common/fft_lines.cu`.

use super::direction::Direction;
use super::line::{DeviceLine, DeviceWindow, Line, Window};
use crate::error::{Result, fail};
use crate::gpu::{Device, Function, Launch, Precision, Stream, mirrored};

/// Mirrors `FftTask`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Arguments {
    line: DeviceLine,
    from: DeviceWindow,
    to: DeviceWindow,
    input: u64,
    output: u64,
    in_strides: [i64; 3],
    out_strides: [i64; 3],
    in_factors: u64,
    out_factors: u64,
    in_map: u64,
    out_map: u64,
    map_stride: i64,
    scale: f64,
    inner: i32,
    outer: i32,
    batches: i32,
    width: i32,
    log_width: i32,
    chunks: i32,
    backward: i32,
    sum: i32,
}
mirrored!(Arguments, 344);

/// One side of a pass: an array of `[batch][z][y][x]`, x fastest.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Side {
    pub(crate) address: u64,
    /// Elements between neighbours in z, y, x (1) and, last, between batches.
    pub(crate) strides: [usize; 4],
    pub(crate) window: Window,
    /// Real factors, one for each element of the window; 0 for none.
    pub(crate) factors: u64,
    /// Complex maps `[batch][z][y][x]` with the array's strides but those of batches: elements read are multiplied by them,
    /// elements written by their conjugates; 0 for none. For passes along x.
    pub(crate) map: u64,
}

impl Side {
    /// An array without gaps.
    pub(crate) fn new(address: u64, [nz, ny, nx]: [usize; 3], window: Window) -> Self {
        Self { address, strides: [ny * nx, nx, 1, nz * ny * nx], window, factors: 0, map: 0 }
    }

    pub(crate) fn factors(self, factors: u64) -> Self {
        Self { factors, ..self }
    }

    pub(crate) fn map(self, map: u64) -> Self {
        Self { map, ..self }
    }

    /// The same array for all batches.
    pub(crate) fn shared(self) -> Self {
        Self { strides: [self.strides[0], self.strides[1], self.strides[2], 0], ..self }
    }
}

/// What becomes of batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sum {
    /// Each has an array.
    No,
    /// Their sum is written.
    Write,
    /// Their sum is added to what is there.
    Add,
}

/// The kernels of one precision: for lines along the fastest axis, and across it.
#[derive(Debug)]
pub(crate) struct Kernels {
    along: Function,
    across: Function,
}

impl Kernels {
    pub(crate) fn new(device: &Device, precision: Precision) -> Result<Self> {
        let kernel = |way| device.function("common/fft_lines", &format!("fft_lines_{way}_{}", precision.suffix()));
        Ok(Self { along: kernel("along")?, across: kernel("across")? })
    }
}

/// Transforms of all lines of a grid along one axis.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pass<'a> {
    pub(crate) kernels: &'a Kernels,
    pub(crate) line: &'a Line,
    /// 0: z, 1: y, 2: x.
    pub(crate) axis: usize,
    /// Lines in z, y, x; the axis's own does not count.
    pub(crate) lines: [usize; 3],
    pub(crate) batches: usize,
    pub(crate) from: Side,
    /// May be `from`, whole to whole.
    pub(crate) to: Side,
    pub(crate) direction: Direction,
    /// What the result is multiplied by.
    pub(crate) scale: f64,
    /// Elements from one batch's map to the next one's.
    pub(crate) map_stride: usize,
    /// Other than `No` for passes along x.
    pub(crate) sum: Sum,
}

impl Pass<'_> {
    /// # Safety
    /// Addresses are valid for what the sides describe, aligned to a complex number, until the stream has passed the launch; so
    /// is the line. The GPU is current.
    pub(crate) unsafe fn launch(&self, stream: &Stream) -> Result<()> {
        let along = self.axis == 2;
        if !along && (self.from.map | self.to.map != 0 || self.sum != Sum::No) {
            fail!(Internal, "maps and sums are for passes along x, not axis {}", self.axis);
        }
        let [outer, inner] = match self.axis {
            0 => [1, 2],
            1 => [0, 2],
            _ => [0, 1],
        };
        let strides = |s: &Side| [s.strides[inner], s.strides[outer], s.strides[3]].map(|n| n as i64);
        let shape = if along { self.line.along() } else { self.line.across() };
        let (inner, outer) = (self.lines[inner], self.lines[outer]);
        let width = if along { shape.width.min(inner) } else { shape.width };
        let chunks = inner.div_ceil(width);
        let arguments = Arguments {
            line: self.line.arguments(),
            from: self.from.window.device(self.from.strides[self.axis])?,
            to: self.to.window.device(self.to.strides[self.axis])?,
            input: self.from.address,
            output: self.to.address,
            in_strides: strides(&self.from),
            out_strides: strides(&self.to),
            in_factors: self.from.factors,
            out_factors: self.to.factors,
            in_map: self.from.map,
            out_map: self.to.map,
            map_stride: self.map_stride as i64,
            scale: self.scale,
            inner: inner as i32,
            outer: outer as i32,
            batches: self.batches as i32,
            width: width as i32,
            log_width: width.ilog2() as i32,
            chunks: chunks as i32,
            backward: i32::from(self.direction == Direction::Backward),
            sum: self.sum as i32,
        };
        let batches = if self.sum == Sum::No { self.batches } else { 1 };
        let grid = [chunks * outer * batches, 1, 1];
        let launch = Launch { grid, block: [shape.threads, 1, 1], shared: shape.shared };
        let kernel = if along { &self.kernels.along } else { &self.kernels.across };
        // SAFETY: by this function's contract; the struct mirrors the kernel's.
        unsafe { kernel.launch(stream, launch, &arguments) }
    }
}
