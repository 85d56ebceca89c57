//! Launches `kernels/common/fft_lines.cu` and `kernels/common/fft_long.cu`.

use super::direction::Direction;
use super::line::{DeviceLine, DeviceWindow, Line, Window};
use super::long::{DeviceStep, LongLine};
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

/// Mirrors `FftLongTask`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct LongArguments {
    task: Arguments,
    step: DeviceStep,
    scratch: u64,
    scratch_strides: [i64; 4],
}
mirrored!(LongArguments, 400);

/// One side of a pass: an array of `[batch][z][y][x]`, x fastest.
#[derive(Clone, Copy, Debug)]
pub struct Side {
    pub address: u64,
    /// Elements between neighbours in z, y, x (1) and, last, between batches.
    pub strides: [usize; 4],
    pub window: Window,
    /// Real factors, one for each element of the window; 0 for none.
    pub factors: u64,
    /// Complex maps `[batch][z][y][x]` with the array's strides but those of batches: elements read are multiplied by them,
    /// elements written by their conjugates; 0 for none. For passes along x.
    pub map: u64,
}

impl Side {
    /// An array without gaps.
    pub fn new(address: u64, [nz, ny, nx]: [usize; 3], window: Window) -> Self {
        Self { address, strides: [ny * nx, nx, 1, nz * ny * nx], window, factors: 0, map: 0 }
    }

    pub fn factors(self, factors: u64) -> Self {
        Self { factors, ..self }
    }

    pub fn map(self, map: u64) -> Self {
        Self { map, ..self }
    }

    /// The same array for all batches.
    pub fn shared(self) -> Self {
        Self { strides: [self.strides[0], self.strides[1], self.strides[2], 0], ..self }
    }
}

/// What becomes of batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sum {
    /// Each has an array.
    No,
    /// Their sum is written.
    Write,
    /// Their sum is added to what is there.
    Add,
}

/// How lines are transformed.
#[derive(Clone, Copy, Debug)]
pub enum Steps<'a> {
    /// By a block each.
    One(&'a Line),
    /// Across the fastest axis, through scratch memory for all positions, which may be `from` or `to`, whole: what is read is then
    /// overwritten, also outside its window.
    Two(&'a LongLine, Side),
}

/// The kernels of one precision, of one step: for lines along the fastest axis, and across it.
#[derive(Debug)]
pub struct Kernels {
    along: Function,
    across: Function,
}

impl Kernels {
    pub fn new(device: &Device, precision: Precision) -> Result<Self> {
        let kernel =
            |way| device.function(&crate::images::FFT_LINES, &format!("fft_lines_{way}_{}", precision.suffix()));
        Ok(Self { along: kernel("along")?, across: kernel("across")? })
    }
}

/// Transforms of all lines of a grid along one axis.
#[derive(Clone, Copy, Debug)]
pub struct Pass<'a> {
    pub kernels: &'a Kernels,
    pub steps: Steps<'a>,
    /// 0: z, 1: y, 2: x.
    pub axis: usize,
    /// Lines in z, y, x; the axis's own does not count.
    pub lines: [usize; 3],
    pub batches: usize,
    pub from: Side,
    /// May be `from`, whole to whole, in one step.
    pub to: Side,
    pub direction: Direction,
    /// What the result is multiplied by.
    pub scale: f64,
    /// Elements from one batch's map to the next one's.
    pub map_stride: usize,
    /// Other than `No` for passes along x.
    pub sum: Sum,
}

impl Pass<'_> {
    /// # Safety
    /// Addresses are valid for what the sides describe, aligned to a complex number, until the stream has passed the launch; so
    /// is the line. The GPU is current.
    pub unsafe fn launch(&self, stream: &Stream) -> Result<()> {
        if self.axis != 2 && (self.from.map | self.to.map != 0 || self.sum != Sum::No) {
            fail!(Internal, "maps and sums are for passes along x, not axis {}", self.axis);
        }
        // SAFETY: by this function's contract.
        unsafe {
            match &self.steps {
                Steps::One(line) => self.one_step(line, stream),
                Steps::Two(line, scratch) => self.two_steps(line, scratch, stream),
            }
        }
    }

    /// # Safety
    /// As for `launch`.
    unsafe fn one_step(&self, line: &Line, stream: &Stream) -> Result<()> {
        let along = self.axis == 2;
        let [inner, outer] = self.others().map(|axis| self.lines[axis]);
        let shape = if along { line.along() } else { line.across_at_most(inner) };
        let width = if along { shape.width.min(inner) } else { shape.width };
        let chunks = inner.div_ceil(width);
        let arguments = self.arguments(line, width, chunks)?;
        let batches = if self.sum == Sum::No { self.batches } else { 1 };
        let grid = [chunks * outer * batches, 1, 1];
        let launch = Launch { grid, block: [shape.threads, 1, 1], shared: shape.shared };
        let kernel = if along { &self.kernels.along } else { &self.kernels.across };
        // SAFETY: by this function's contract; the struct mirrors the kernel's.
        unsafe { kernel.launch(stream, launch, &arguments) }
    }

    /// # Safety
    /// As for `launch`.
    unsafe fn two_steps(&self, line: &LongLine, scratch: &Side, stream: &Stream) -> Result<()> {
        let length = line.length();
        if self.axis == 2 {
            fail!(
                OutOfRange,
                "lines of {length} elements along the fastest axis are too long for the GPU's transforms"
            );
        }
        if scratch.window != Window::all(length) {
            fail!(Internal, "scratch memory of {:?} is not for lines of {length} elements", scratch.window);
        }
        let sides = [&self.from, &self.to];
        let [in_from, in_to] = sides.map(|side| side.address == scratch.address);
        let fits = |side: &Side| side.window.whole && side.strides == scratch.strides;
        if (in_from && in_to) || sides.iter().any(|s| s.address == scratch.address && !fits(s)) {
            fail!(Internal, "scratch memory {scratch:?} is not for {sides:?}");
        }
        let [inner, outer] = self.others().map(|axis| self.lines[axis]);
        for (step, in_place) in line.steps().into_iter().zip([!in_to, in_to]) {
            let lines = step.others * inner;
            if i32::try_from(lines).is_err() {
                fail!(
                    OutOfRange,
                    "{inner} lines of {length} elements side by side are too many for the GPU's transforms"
                );
            }
            let shape = step.line.across();
            let chunks = lines.div_ceil(shape.width);
            let [other_stride, stride] = step.places(in_place).map(|n| n * scratch.strides[self.axis]);
            let strides = [other_stride, stride, scratch.strides[self.others()[1]], scratch.strides[3]];
            let arguments = LongArguments {
                task: self.arguments(step.line, shape.width, chunks)?,
                step: step.arguments,
                scratch: scratch.address,
                scratch_strides: strides.map(|n| n as i64),
            };
            let grid = [chunks * outer * self.batches, 1, 1];
            let launch = Launch { grid, block: [shape.threads, 1, 1], shared: shape.shared };
            // SAFETY: by this function's contract; the struct mirrors the kernel's.
            unsafe { step.kernel.launch(stream, launch, &arguments)? };
        }
        Ok(())
    }

    /// The axes other than the lines', the faster one first.
    fn others(&self) -> [usize; 2] {
        match self.axis {
            0 => [2, 1],
            1 => [2, 0],
            _ => [1, 0],
        }
    }

    /// For blocks of `width` lines, `chunks` of them for an outer index.
    fn arguments(&self, line: &Line, width: usize, chunks: usize) -> Result<Arguments> {
        let [inner, outer] = self.others();
        let strides = |s: &Side| [s.strides[inner], s.strides[outer], s.strides[3]].map(|n| n as i64);
        Ok(Arguments {
            line: line.arguments(),
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
            inner: self.lines[inner] as i32,
            outer: self.lines[outer] as i32,
            batches: self.batches as i32,
            width: width as i32,
            log_width: width.ilog2() as i32,
            chunks: chunks as i32,
            backward: i32::from(self.direction == Direction::Backward),
            sum: self.sum as i32,
        })
    }
}
