//! Products with Toeplitz matrices of images, on the GPU: launches `kernels/nufft/toeplitz.cu` and `toeplitz_mixed.cu` between pruned passes.
//!
//! out(j) = sum over j' of q(j - j') in(j'), by transforms on a grid of at least 2 n - 1 positions an axis (of n for a q that repeats itself). Of the five passes over
//! the grid (x, y, z with the spectrum and back, y, x) none reads padding or writes what is cropped.

use isocenter_base::error::{Result, fail};
use isocenter_base::gpu::fft::{
    DeviceLine, DeviceWindow, Direction, Kernels, Line, Maps, Pass, Side, Steps, Sum, Window, several_width,
};
use isocenter_base::gpu::{Device, Function, Launch, Precision, Stream, WorkspaceBytes, mirrored};
use std::sync::Arc;

/// Mirrors `Toeplitz`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Arguments {
    line: DeviceLine,
    window: DeviceWindow,
    grid: u64,
    outer_stride: i64,
    batch_stride: i64,
    spectrum: u64,
    spectrum_outer: i64,
    spectrum_batch: i64,
    spectrum_stride: i32,
    inner: i32,
    outer: i32,
    batches: i32,
    width: i32,
    log_width: i32,
    chunks: i32,
    imaginary: i32,
}
mirrored!(Arguments, 264);

/// Mirrors `RealPart`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct RealPart {
    from: u64,
    to: u64,
    count: i64,
    stride: i64,
}
mirrored!(RealPart, 32);

/// Device memory that a product works on.
#[derive(Clone, Copy, Debug)]
pub struct Buffers {
    pub input: u64,
    /// May be `input` where there are no maps.
    pub output: u64,
    pub scratch: u64,
}

/// Transforms of q on the grid, in natural order `[kz][ky][kx]`, unscaled; real, since q(-d) = conj(q(d)).
#[derive(Clone, Copy, Debug)]
pub struct Spectra {
    pub address: u64,
    /// Numbers from one image's (coil's) to the next one's; 0 where all have the same.
    pub stride: usize,
}

impl Spectra {
    /// One for all.
    pub fn shared(address: u64) -> Self {
        Self { address, stride: 0 }
    }
}

/// What stands between the transforms of the last axis.
#[derive(Clone, Copy, Debug)]
enum Between {
    /// Each image's product.
    Spectra(Spectra),
    /// A Hermitian matrix of products between images.
    Matrix(MatrixSpectra),
}

/// How a Hermitian matrix of spectra between images lies in memory: the numbers of a frequency together, the real parts of pairs (k, l), k
/// at most l, column after column, then if it is complex the imaginary parts of those with k below l, each part from a multiple of
/// 16 bytes on, as a thread reads them.
#[derive(Clone, Copy, Debug)]
pub struct MatrixSpectra {
    pub address: u64,
    pub images: usize,
    pub complex: bool,
    pub precision: Precision,
}

impl MatrixSpectra {
    fn pairs(&self) -> usize {
        self.images * (self.images + 1) / 2
    }

    /// Where imaginary parts begin.
    fn imaginary(&self) -> usize {
        self.pairs().next_multiple_of(16 / self.precision.bytes())
    }

    /// Numbers of a frequency.
    pub fn numbers(&self) -> usize {
        let rest = if self.complex { self.pairs() - self.images } else { 0 };
        (self.imaginary() + rest).next_multiple_of(16 / self.precision.bytes())
    }

    /// Where the first frequency has a spectrum of which all real parts, then all imaginary ones are counted.
    pub fn spectrum(&self, index: usize) -> Strided {
        let behind = if index < self.pairs() { index } else { self.imaginary() + index - self.pairs() };
        Strided { address: self.address + (behind * self.precision.bytes()) as u64, stride: self.numbers() }
    }
}

/// Real numbers so many apart.
#[derive(Clone, Copy, Debug)]
pub struct Strided {
    pub address: u64,
    pub stride: usize,
}

/// Maximum number of images that a matrix of products is between.
const MAX_MIXED: usize = 16;

/// Whether this GPU takes a matrix of products between so many images, on a grid.
pub fn mixes(device: &Device, grid: [usize; 3], images: usize, precision: Precision) -> bool {
    let length = if grid[0] > 1 { grid[0] } else { grid[1] };
    images <= MAX_MIXED && several_width(length, images, precision, device.shared_bytes()).is_some()
}

/// Toeplitz products for images `[z][y][x]` of one size; two dimensions have nz = 1.
#[derive(Debug)]
pub struct Toeplitz {
    image: [usize; 3],
    grid: [usize; 3],
    /// Columns that the grid's part in scratch memory has; as many are worked off at a time.
    columns: usize,
    /// None for images of one plane.
    z: Option<Line>,
    y: Line,
    x: Line,
    passes: Kernels,
    kernel: Function,
    /// The same for blocks of more threads than [`THREADS`], of which a multiprocessor has one; f32 alone has such.
    wide: Option<Function>,
    /// Between up to 8 and 16 images.
    mixed: [Function; 2],
    real_part: Function,
}

impl Toeplitz {
    /// On a grid of at least 2 n - 1 positions an axis, or of n where q repeats itself after as many; one along z for images of one plane.
    pub fn new(device: &Arc<Device>, image: [usize; 3], grid: [usize; 3], precision: Precision) -> Result<Self> {
        if image.contains(&0) || image.iter().zip(grid).any(|(n, g)| g < 2 * n - 1 && g != *n) {
            fail!(Internal, "a grid of {grid:?} does not hold all differences of an image of {image:?}");
        }
        let [gz, gy, gx] = grid;
        let line = |n| Line::new(device, n, precision);
        let z = if grid[0] > 1 { Some(line(gz)?) } else { None };
        let passes = Kernels::new(device, precision)?;
        let kernel = |name| device.function(&crate::images::TOEPLITZ, &format!("{name}_{}", precision.suffix()));
        let wide = (precision == Precision::F32).then(|| kernel("toeplitz_wide")).transpose()?;
        let (kernel, real_part) = (kernel("toeplitz")?, kernel("toeplitz_real_part")?);
        let mixed = |most| {
            device.function(&crate::images::TOEPLITZ_MIXED, &format!("toeplitz_mixed_{most}_{}", precision.suffix()))
        };
        let (y, x, mixed) = (line(gy)?, line(gx)?, [mixed(8)?, mixed(MAX_MIXED)?]);
        Ok(Self { image, grid, columns: gx, z, y, x, passes, kernel, wide, mixed, real_part })
    }

    /// Along the fastest axis.
    pub fn x(&self) -> &Line {
        &self.x
    }

    /// Works on fewer columns at a time, so that scratch memory for so many images keeps to a limit if it can; costs a little time.
    pub fn limit_scratch(&mut self, batches: usize, limit: usize) {
        let [nz, ny, _] = self.image;
        let [_, gy, gx] = self.grid;
        let rows = batches * nz * ny * gx * self.element();
        let columns = limit.saturating_sub(rows) / (batches.max(1) * nz * gy * self.element());
        self.columns = (columns / 16 * 16).max(MIN_COLUMNS).min(gx);
    }

    /// Bytes of scratch memory for so many images (coils) at a time.
    pub fn scratch_bytes(&self, batches: usize) -> usize {
        scratch_bytes(self.image, self.grid, self.columns, batches * self.element())
    }

    /// Scratch memory for so many images, before there is a plan: the minimum suffices for one at a time.
    pub fn workspace_bytes(
        image: [usize; 3],
        grid: [usize; 3],
        precision: Precision,
        batches: usize,
    ) -> WorkspaceBytes {
        let minimum = Self::minimum_bytes(image, grid, precision, 1);
        WorkspaceBytes { minimum, preferred: scratch_bytes(image, grid, grid[2], batches * precision.complex()) as u64 }
    }

    /// The least that so many images take at once.
    pub fn minimum_bytes(image: [usize; 3], grid: [usize; 3], precision: Precision, batches: usize) -> u64 {
        scratch_bytes(image, grid, MIN_COLUMNS.min(grid[2]), batches * precision.complex()) as u64
    }

    /// The real parts of a spectrum.
    ///
    /// # Safety
    /// Both are device memory of the grid's elements until the stream has passed this; the GPU is current.
    pub unsafe fn real_part(&self, spectrum: u64, real: Strided, stream: &Stream) -> Result<()> {
        let (to, stride) = (real.address, real.stride as i64);
        let arguments = RealPart { from: spectrum, to, count: self.grid.iter().product::<usize>() as i64, stride };
        let device = self.x.device();
        let launch = Launch { grid: [8 * device.multiprocessors(), 1, 1], block: [256, 1, 1], shared: 0 };
        // SAFETY: by this function's contract; the struct mirrors the kernel's.
        unsafe { self.real_part.launch(stream, launch, &arguments) }
    }

    /// The product for each of so many images.
    ///
    /// # Safety
    /// Spectra are the grid's, buffers hold so many images and what `scratch_bytes` says, until the stream has passed this;
    /// scratch memory is apart from all else. The GPU is current.
    pub unsafe fn apply(&self, spectra: Spectra, batches: usize, buffers: Buffers, stream: &Stream) -> Result<()> {
        // SAFETY: by this function's contract.
        unsafe { self.run(Between::Spectra(spectra), batches, buffers, None, Sum::No, stream) }
    }

    /// sum over coils of conj(map) * product(map * image), written, or added to the output.
    ///
    /// # Safety
    /// As for `apply`, with one input and one output image apart from each other, and maps of so many coils.
    pub unsafe fn apply_coils(
        &self,
        spectra: Spectra,
        coils: usize,
        maps: Maps,
        buffers: Buffers,
        add: bool,
        stream: &Stream,
    ) -> Result<()> {
        let sum = if add { Sum::Add } else { Sum::Write };
        // SAFETY: by this function's contract.
        unsafe { self.run(Between::Spectra(spectra), coils, buffers, Some(maps), sum, stream) }
    }

    /// The product of a Hermitian matrix of spectra with its images; see [`mixes`].
    ///
    /// # Safety
    /// As for `apply`.
    pub unsafe fn apply_matrix(&self, matrix: MatrixSpectra, buffers: Buffers, stream: &Stream) -> Result<()> {
        // SAFETY: by this function's contract.
        unsafe { self.run(Between::Matrix(matrix), matrix.images, buffers, None, Sum::No, stream) }
    }

    unsafe fn run(
        &self,
        between: Between,
        batches: usize,
        buffers: Buffers,
        maps: Option<Maps>,
        sum: Sum,
        stream: &Stream,
    ) -> Result<()> {
        let [nz, ny, nx] = self.image;
        let [_, gy, gx] = self.grid;
        let image = |address| {
            let side = Side::new(address, self.image, Window::first(nx));
            maps.map_or(side, |m| side.shared().map(m.address))
        };
        let rows = Side::new(buffers.scratch, [nz, ny, gx], Window::all(gx));
        let map_stride = maps.map_or(0, |m| m.stride);
        let x = self.pass(&self.x, 2, [nz, ny, gx], image(buffers.input), rows);
        // SAFETY: by this function's contract.
        unsafe { Pass { batches, map_stride, ..x }.launch(stream)? };
        if let Some(z) = &self.z {
            let large = buffers.scratch + (batches * nz * ny * gx * self.element()) as u64;
            for first in (0..gx).step_by(self.columns) {
                let columns = self.columns.min(gx - first);
                let lines = [nz, gy, columns];
                let small =
                    Side::new(buffers.scratch + (first * self.element()) as u64, [nz, ny, gx], Window::first(ny));
                let planes = Side::new(large, [nz, gy, self.columns], Window::all(gy));
                let y = Pass { batches, ..self.pass(&self.y, 1, lines, small, planes) };
                let back = Pass { direction: Direction::Backward, from: planes, to: small, ..y };
                let shape = Middle { columns, column: first, outer: gy, stride: gy * self.columns, grid: large };
                // SAFETY: as above.
                unsafe {
                    y.launch(stream)?;
                    self.middle(z, nz, &shape, between, batches, stream)?;
                    back.launch(stream)?;
                }
            }
        } else {
            // SAFETY: as above.
            unsafe { self.last_columns(between, batches, buffers.scratch, stream)? };
        }
        let scale = 1.0 / self.grid.iter().product::<usize>() as f64;
        let to = image(buffers.output);
        let back = Pass { batches, from: rows, to, direction: Direction::Backward, scale, map_stride, sum, ..x };
        // SAFETY: as above.
        unsafe { back.launch(stream) }
    }

    /// The product's part between the transforms of rows along x, for images of one plane: `rows` are `[batch][y][gx]`, and are
    /// replaced.
    ///
    /// # Safety
    /// As for `apply`, with rows in place of buffers.
    pub unsafe fn columns(&self, spectra: Spectra, batches: usize, rows: u64, stream: &Stream) -> Result<()> {
        // SAFETY: by this function's contract.
        unsafe { self.last_columns(Between::Spectra(spectra), batches, rows, stream) }
    }

    /// # Safety
    /// As for `columns`.
    unsafe fn last_columns(&self, between: Between, batches: usize, rows: u64, stream: &Stream) -> Result<()> {
        let ([nz, ny, _], [gz, _, gx]) = (self.image, self.grid);
        if gz > 1 || nz > 1 {
            fail!(Internal, "columns of an image of {nz} planes on {gz}");
        }
        let shape = Middle { columns: gx, column: 0, outer: 1, stride: gx, grid: rows };
        // SAFETY: by this function's contract.
        unsafe { self.middle(&self.y, ny, &shape, between, batches, stream) }
    }

    /// The last axis, there and back.
    unsafe fn middle(
        &self,
        line: &Line,
        count: usize,
        shape: &Middle,
        between: Between,
        batches: usize,
        stream: &Stream,
    ) -> Result<()> {
        let gx = self.grid[2];
        let outer_stride = shape.stride / shape.outer;
        // `every`: numbers from a frequency's to its neighbour's.
        let (address, every, spectrum_batch, along, imaginary) = match between {
            Between::Spectra(spectra) => (spectra.address, 1, spectra.stride, line.across(), 0),
            Between::Matrix(matrix) => {
                let threads = if batches <= 8 && line.precision() == Precision::F32 { 512 } else { 256 };
                let Some(along) = line.across_several(batches, threads).filter(|_| batches <= MAX_MIXED) else {
                    fail!(
                        OutOfRange,
                        "a matrix of products between {batches} images of {:?} is too large for this GPU's transforms: options.normal must be 0 (auto) or 2 (pair)",
                        self.image
                    );
                };
                let imaginary = if matrix.complex { matrix.imaginary() } else { 0 };
                (matrix.address, matrix.numbers(), matrix.numbers(), along, imaginary)
            }
        };
        let chunks = shape.columns.div_ceil(along.width);
        let Ok(spectrum_stride) = i32::try_from(shape.outer * gx * every) else {
            fail!(
                OutOfRange,
                "spectra of {:?} between {batches} images are too large for this GPU's transforms",
                self.grid
            );
        };
        let arguments = Arguments {
            line: line.arguments(),
            window: Window::first(count).device(shape.stride)?,
            grid: shape.grid,
            outer_stride: outer_stride as i64,
            batch_stride: (count * shape.stride) as i64,
            spectrum: address + (shape.column * every * self.element() / 2) as u64,
            spectrum_outer: (gx * every) as i64,
            spectrum_batch: spectrum_batch as i64,
            spectrum_stride,
            inner: shape.columns as i32,
            outer: shape.outer as i32,
            batches: batches as i32,
            width: along.width as i32,
            log_width: along.width.ilog2() as i32,
            chunks: chunks as i32,
            imaginary: imaginary as i32,
        };
        // A block has the lines of all images of a matrix.
        let (kernel, blocks) = match between {
            Between::Spectra(_) => (self.kernel_for(along.threads), chunks * shape.outer * batches),
            Between::Matrix(_) => (&self.mixed[usize::from(batches > 8)], chunks * shape.outer),
        };
        let launch = Launch { grid: [blocks, 1, 1], block: [along.threads, 1, 1], shared: along.shared };
        // SAFETY: by this function's contract; the struct mirrors the kernel's.
        unsafe { kernel.launch(stream, launch, &arguments) }
    }

    fn pass<'a>(&'a self, line: &'a Line, axis: usize, lines: [usize; 3], from: Side, to: Side) -> Pass<'a> {
        let (steps, direction, sum) = (Steps::One(line), Direction::Forward, Sum::No);
        let kernels = &self.passes;
        Pass { kernels, steps, axis, lines, batches: 1, from, to, direction, scale: 1.0, map_stride: 0, sum }
    }

    fn kernel_for(&self, threads: usize) -> &Function {
        self.wide.as_ref().filter(|_| threads > THREADS).unwrap_or(&self.kernel)
    }

    /// Bytes of a complex number.
    fn element(&self) -> usize {
        2 * self.x.precision().bytes()
    }
}

/// Maximum number of a block's threads, in f32, where a multiprocessor has three blocks.
const THREADS: usize = 320;
/// Minimum number of columns that are worked off at a time.
const MIN_COLUMNS: usize = 16;

/// Elements of scratch memory, times their size.
fn scratch_bytes([nz, ny, _]: [usize; 3], [gz, gy, gx]: [usize; 3], columns: usize, size: usize) -> usize {
    let large = if gz > 1 { nz * gy * columns } else { 0 };
    (nz * ny * gx + large) * size
}

/// The part of the grid that the last axis's lines cross.
struct Middle {
    /// Neighbouring lines, and the spectrum's column of the first.
    columns: usize,
    column: usize,
    outer: usize,
    /// Elements from one position of a line to the next.
    stride: usize,
    grid: u64,
}

#[cfg(test)]
#[path = "toeplitz_tests.rs"]
mod tests;
