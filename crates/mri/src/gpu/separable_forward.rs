//! Launches `kernels/mri/separable_forward.cu`.

use super::separable::{Cut, Division, Grid, Problem, SeparableArrays, piece, splits};
use isocenter_base::error::Result;
use isocenter_base::gpu::{Device, Function, Launch, Precision, Stream, mirrored};

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

/// s(m) = sum over voxels of rho exp(-2 pi i k.r), exactly. Pieces of the samples are computed one after the other, each with its
/// columns split into parts.
#[derive(Debug)]
pub(crate) struct Forward {
    division: Division,
    kernels: Kernels,
}

#[derive(Debug)]
struct Kernels {
    fold: Function,
    factors: Function,
    product: Function,
    finish: Function,
}

impl Kernels {
    fn new(device: &Device, precision: Precision) -> Result<Self> {
        let kernel = |kind| {
            device.function(&crate::images::SEPARABLE_FORWARD, &format!("forward_{kind}_{}", precision.suffix()))
        };
        Ok(Self {
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
        let [first, second, partials] = [firsts, seconds, blocks * splits].map(|count| count * piece * complex);
        let tables = [blocks * tiles * TILE, first, second, partials];
        Ok(Self {
            division: Division::new(device, problem, (grid, strides), (piece, splits), tables)?,
            kernels: Kernels::new(device, problem.precision)?,
        })
    }

    /// Bytes that a run needs, aligned to 256.
    pub(crate) fn workspace(&self) -> usize {
        self.division.workspace()
    }

    /// One coil after the other.
    ///
    /// # Safety
    /// The arrays have the plan's sizes and are valid until the stream has passed the launches, as the workspace is; the plan's
    /// GPU is current.
    pub(crate) unsafe fn run(&self, arrays: &SeparableArrays, workspace: u64, stream: &Stream) -> Result<()> {
        // SAFETY: by this function's contract.
        self.division.by_coil(arrays, |arrays| unsafe { self.coil(arrays, workspace, stream) })
    }

    /// # Safety
    /// As for `run`.
    unsafe fn coil(&self, arrays: &SeparableArrays, workspace: u64, stream: &Stream) -> Result<()> {
        let Division { grid, piece, splits, strides, .. } = self.division;
        let Problem { precision, samples, dims, voxels } = self.division.problem;
        let kernels = &self.kernels;
        let (block_samples, positions) = block(precision);
        let line = |threads: usize| Launch { grid: [threads.div_ceil(256), 1, 1], block: [256, 1, 1], shared: 0 };
        let blocks = grid.blocks as usize;
        let values = (arrays.image, 0, voxels.iter().product());
        // SAFETY: by the contract of `run`.
        let scale = unsafe { self.division.scale(values, workspace, stream)? };
        let [folded, first, second, partials] = self.division.tables(workspace);
        let fold = FoldArguments { grid, image: arrays.image, strides, scale, folded };
        // SAFETY: by the contract of `run`; the structs mirror the kernels'.
        unsafe { kernels.fold.launch(stream, line(blocks * positions * grid.columns()), &fold)? };
        for start in (0..samples).step_by(piece) {
            let count = piece.min(samples - start);
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
                splits: splits as i32,
            };
            let shared = STAGES * (TILE + block_samples * precision.complex());
            let launch = Launch { grid: [padded / block_samples, blocks, splits], block: [256, 1, 1], shared };
            // SAFETY: as above.
            unsafe { kernels.product.launch(stream, launch, &product)? };
            let data = arrays.data + (start * precision.complex()) as u64;
            let finish = FinishArguments {
                partials,
                scale,
                data,
                samples: count as i64,
                padded: padded as i64,
                count: (blocks * splits) as i32,
            };
            // SAFETY: as above.
            unsafe { kernels.finish.launch(stream, line(count), &finish)? };
        }
        Ok(())
    }
}
