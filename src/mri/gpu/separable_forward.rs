//! Launches `kernels/mri/separable_forward.cu`.

use super::separable::{Cut, Grid, Problem, Regions, Scale, piece, splits};
use crate::error::Result;
use crate::gpu::{Device, Function, Launch, Precision, Stream, mirrored};

/// Columns of a tile, neighbours in the first factor; bytes of a tile; tiles in shared memory.
const FIRSTS: usize = 16;
const TILE: usize = 16 << 10;
const STAGES: usize = 4;

/// Samples and folded positions of a block.
fn block(precision: Precision) -> (usize, usize) {
    match precision {
        Precision::F32 => (256, 64),
        Precision::F64 => (128, 32),
    }
}

/// Mirrors `ForwardFold`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct FoldArguments {
    grid: Grid,
    image: u64,
    strides: [i64; 3],
    scale: u64,
    folded: u64,
}
mirrored!(FoldArguments, 96);

/// Mirrors `ForwardFactors`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct FactorArguments {
    grid: Grid,
    points: u64,
    first: u64,
    second: u64,
    samples: i64,
    padded: i64,
}
mirrored!(FactorArguments, 88);

/// Mirrors `ForwardProduct`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct ProductArguments {
    grid: Grid,
    points: u64,
    folded: u64,
    first: u64,
    second: u64,
    partials: u64,
    samples: i64,
    padded: i64,
    splits: i32,
}
mirrored!(ProductArguments, 112);

/// Mirrors `ForwardFinish`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct FinishArguments {
    partials: u64,
    scale: u64,
    data: u64,
    samples: i64,
    padded: i64,
    count: i32,
}
mirrored!(FinishArguments, 48);

/// Device addresses of a forward sum.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ForwardArrays {
    /// f64 `[samples][dims]`, in cycles per voxel.
    pub(crate) points: u64,
    /// Complex `[coils][z][y][x]`.
    pub(crate) image: u64,
    /// Complex `[coils][samples]`.
    pub(crate) data: u64,
    pub(crate) coils: usize,
}

/// s(m) = sum over voxels of rho exp(-2 pi i k.r), exactly.
#[derive(Debug)]
pub(crate) struct Forward {
    problem: Problem,
    grid: Grid,
    strides: [i64; 3],
    /// Samples at a time, and parts that the columns are split into.
    piece: usize,
    splits: usize,
    /// Offsets in the workspace.
    folded: usize,
    first: usize,
    second: usize,
    partials: usize,
    bytes: usize,
    kernels: Kernels,
}

#[derive(Debug)]
struct Kernels {
    /// In f32.
    scale: Option<Scale>,
    fold: Function,
    factors: Function,
    product: Function,
    finish: Function,
}

impl Kernels {
    fn new(device: &Device, precision: Precision) -> Result<Self> {
        let kernel = |kind| device.function("mri/separable_forward", &format!("forward_{kind}_{}", precision.suffix()));
        Ok(Self {
            scale: if precision == Precision::F32 { Some(Scale::new(device)?) } else { None },
            fold: kernel("fold")?,
            factors: kernel("factors")?,
            product: kernel("product")?,
            finish: kernel("finish")?,
        })
    }
}

impl Forward {
    /// Plans for a GPU.
    pub(crate) fn new(device: &Device, problem: &Problem) -> Result<Self> {
        let (samples, positions) = block(problem.precision);
        let complex = problem.precision.complex();
        let (grid, strides) = Grid::new(problem, Cut { positions, firsts: FIRSTS, seconds: 1 })?;
        let [blocks, firsts, seconds] = [grid.blocks, grid.firsts, grid.seconds].map(|n| n as usize);
        let piece = piece(problem.samples, (firsts + seconds) * complex, samples);
        let tiles = grid.columns() / FIRSTS;
        let splits = splits(piece / samples * blocks, tiles, 8, device.multiprocessors());
        let mut regions = Regions::default();
        // The scale lies at the start.
        regions.add(Scale::BYTES);
        let folded = regions.add(blocks * tiles * TILE);
        let [first, second, partials] =
            [firsts, seconds, blocks * splits].map(|count| regions.add(count * piece * complex));
        let bytes = regions.bytes();
        let kernels = Kernels::new(device, problem.precision)?;
        Ok(Self { problem: *problem, grid, strides, piece, splits, folded, first, second, partials, bytes, kernels })
    }

    /// Bytes that a run needs, aligned to 256.
    pub(crate) fn workspace(&self) -> usize {
        self.bytes
    }

    /// One coil after the other.
    ///
    /// # Safety
    /// The arrays have the plan's sizes and are valid until the stream has passed the launches, as the workspace is; the plan's
    /// GPU is current.
    pub(crate) unsafe fn run(&self, arrays: &ForwardArrays, workspace: u64, stream: &Stream) -> Result<()> {
        let complex = self.problem.precision.complex() as u64;
        let voxels: usize = self.problem.voxels.iter().product();
        for coil in 0..arrays.coils as u64 {
            let data = arrays.data + coil * self.problem.samples as u64 * complex;
            let image = arrays.image + coil * voxels as u64 * complex;
            // SAFETY: by this function's contract.
            unsafe { self.coil(&ForwardArrays { data, image, ..*arrays }, workspace, stream)? };
        }
        Ok(())
    }

    /// # Safety
    /// As for `run`.
    unsafe fn coil(&self, arrays: &ForwardArrays, workspace: u64, stream: &Stream) -> Result<()> {
        let Problem { precision, samples, dims, voxels } = self.problem;
        let (grid, kernels) = (self.grid, &self.kernels);
        let (block_samples, positions) = block(precision);
        let line = |threads: usize| Launch { grid: [threads.div_ceil(256), 1, 1], block: [256, 1, 1], shared: 0 };
        let blocks = grid.blocks as usize;
        let mut scaled = 0;
        if let Some(scale) = &kernels.scale {
            scaled = workspace;
            // SAFETY: by the contract of `run`.
            unsafe { scale.run((arrays.image, 0, voxels.iter().product()), workspace, stream)? };
        }
        let [folded, first, second, partials] =
            [self.folded, self.first, self.second, self.partials].map(|offset| workspace + offset as u64);
        let fold = FoldArguments { grid, image: arrays.image, strides: self.strides, scale: scaled, folded };
        // SAFETY: by the contract of `run`; the structs mirror the kernels'.
        unsafe { kernels.fold.launch(stream, line(blocks * positions * grid.columns()), &fold)? };
        for start in (0..samples).step_by(self.piece) {
            let count = self.piece.min(samples - start);
            let padded = count.next_multiple_of(block_samples);
            let points = arrays.points + (start * 8 * dims) as u64;
            let factors = FactorArguments { grid, points, first, second, samples: count as i64, padded: padded as i64 };
            let launch = line(padded * (grid.firsts + grid.seconds) as usize);
            // SAFETY: as above.
            unsafe { kernels.factors.launch(stream, launch, &factors)? };
            let product = ProductArguments {
                grid,
                points,
                folded,
                first,
                second,
                partials,
                samples: count as i64,
                padded: padded as i64,
                splits: self.splits as i32,
            };
            let shared = STAGES * (TILE + block_samples * precision.complex());
            let launch = Launch { grid: [padded / block_samples, blocks, self.splits], block: [256, 1, 1], shared };
            // SAFETY: as above.
            unsafe { kernels.product.launch(stream, launch, &product)? };
            let data = arrays.data + (start * precision.complex()) as u64;
            let finish = FinishArguments {
                partials,
                scale: scaled,
                data,
                samples: count as i64,
                padded: padded as i64,
                count: (blocks * self.splits) as i32,
            };
            // SAFETY: as above.
            unsafe { kernels.finish.launch(stream, line(count), &finish)? };
        }
        Ok(())
    }
}
