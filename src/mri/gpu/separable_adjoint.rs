//! Launches `kernels/mri/separable_adjoint.cu`.

use super::separable::{Cut, Grid, Problem, Regions, Scale, piece, splits};
use crate::error::Result;
use crate::gpu::{Device, Function, Launch, Precision, Stream, mirrored};

/// First and second factors of a block.
const FIRSTS: usize = 8;
const SECONDS: usize = 16;
/// Bytes of the folded factors of a block for 16 samples.
const FOLDED: usize = 4096;

/// What depends on the precision in the kernel's `Layout`.
struct Layout {
    positions: usize,
    /// Bytes of 8 factors for 16 samples.
    factors: usize,
    /// Groups of 16 samples of a stage, and stages.
    groups: usize,
    stages: usize,
}

impl Layout {
    const fn of(precision: Precision) -> Self {
        match precision {
            Precision::F32 => Self { positions: 32, factors: 1024, groups: 4, stages: 3 },
            Precision::F64 => Self { positions: 16, factors: 2048, groups: 2, stages: 4 },
        }
    }
}

/// Mirrors `AdjointFactors`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct FactorArguments {
    grid: Grid,
    points: u64,
    weights: u64,
    data: u64,
    scale: u64,
    folded: u64,
    first: u64,
    second: u64,
    samples: i64,
    groups: i32,
}
mirrored!(FactorArguments, 120);

/// Mirrors `AdjointProduct`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct ProductArguments {
    grid: Grid,
    folded: u64,
    first: u64,
    second: u64,
    partials: u64,
    groups: i32,
    splits: i32,
    accumulate: i32,
}
mirrored!(ProductArguments, 96);

/// Mirrors `AdjointFinish`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct FinishArguments {
    partials: u64,
    scale: u64,
    image: u64,
    strides: [i64; 3],
    n: [i32; 3],
    splits: i32,
}
mirrored!(FinishArguments, 64);

/// Device addresses of an adjoint sum.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AdjointArrays {
    /// f64 `[samples][dims]`, in cycles per voxel.
    pub(crate) points: u64,
    /// Real `[samples]`; 0 for ones.
    pub(crate) weights: u64,
    /// Complex `[coils][samples]`.
    pub(crate) data: u64,
    /// Complex `[coils][z][y][x]`.
    pub(crate) image: u64,
    pub(crate) coils: usize,
}

/// b(r) = sum over samples of w d exp(+2 pi i k.r), exactly.
#[derive(Debug)]
pub(crate) struct Adjoint {
    problem: Problem,
    grid: Grid,
    strides: [i64; 3],
    /// Samples at a time, and parts that they are split into.
    piece: usize,
    splits: usize,
    /// Offsets in the workspace.
    folded: usize,
    first: usize,
    second: usize,
    partials: usize,
    bytes: usize,
    kernels: Kernels,
    /// Blocks of the last kernel.
    finish_blocks: usize,
}

#[derive(Debug)]
struct Kernels {
    /// In f32.
    scale: Option<Scale>,
    factors: Function,
    product: Function,
    finish: Function,
}

impl Kernels {
    fn new(device: &Device, precision: Precision) -> Result<Self> {
        let kernel = |kind| device.function("mri/separable_adjoint", &format!("adjoint_{kind}_{}", precision.suffix()));
        Ok(Self {
            scale: if precision == Precision::F32 { Some(Scale::new(device)?) } else { None },
            factors: kernel("factors")?,
            product: kernel("product")?,
            finish: kernel("finish")?,
        })
    }
}

impl Adjoint {
    /// Plans for a GPU.
    pub(crate) fn new(device: &Device, problem: &Problem) -> Result<Self> {
        let layout = Layout::of(problem.precision);
        let cut = Cut { positions: layout.positions, firsts: FIRSTS, seconds: SECONDS };
        let (grid, strides) = Grid::new(problem, cut)?;
        let [blocks, firsts, seconds] = [grid.blocks, grid.firsts, grid.seconds].map(|n| n as usize);
        let group = [blocks * FOLDED, firsts / 8 * layout.factors, seconds / 8 * layout.factors];
        let piece = piece(problem.samples, group.iter().sum::<usize>() / 16, 16 * layout.groups);
        let stages = piece / (16 * layout.groups);
        let splits = splits(Self::blocks(&grid), stages, 3, device.multiprocessors());
        let mut regions = Regions::default();
        // The scale lies at the start.
        regions.add(Scale::BYTES);
        let [folded, first, second] = group.map(|bytes| regions.add(piece / 16 * bytes));
        let partials = regions.add(splits * problem.voxels.iter().product::<usize>() * problem.precision.complex());
        let bytes = regions.bytes();
        let kernels = Kernels::new(device, problem.precision)?;
        let finish_blocks = 8 * device.multiprocessors();
        Ok(Self {
            problem: *problem,
            grid,
            strides,
            piece,
            splits,
            folded,
            first,
            second,
            partials,
            bytes,
            kernels,
            finish_blocks,
        })
    }

    fn blocks(grid: &Grid) -> usize {
        grid.columns() / (FIRSTS * SECONDS) * grid.blocks as usize
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
    pub(crate) unsafe fn run(&self, arrays: &AdjointArrays, workspace: u64, stream: &Stream) -> Result<()> {
        let complex = self.problem.precision.complex() as u64;
        let voxels: usize = self.problem.voxels.iter().product();
        for coil in 0..arrays.coils as u64 {
            let data = arrays.data + coil * self.problem.samples as u64 * complex;
            let image = arrays.image + coil * voxels as u64 * complex;
            // SAFETY: by this function's contract.
            unsafe { self.coil(&AdjointArrays { data, image, ..*arrays }, workspace, stream)? };
        }
        Ok(())
    }

    /// # Safety
    /// As for `run`.
    unsafe fn coil(&self, arrays: &AdjointArrays, workspace: u64, stream: &Stream) -> Result<()> {
        let Problem { precision, samples, dims, .. } = self.problem;
        let (grid, layout, kernels) = (self.grid, Layout::of(precision), &self.kernels);
        let mut scaled = 0;
        if let Some(scale) = &kernels.scale {
            scaled = workspace;
            // SAFETY: by the contract of `run`.
            unsafe { scale.run((arrays.data, arrays.weights, samples), workspace, stream)? };
        }
        let [folded, first, second, partials] =
            [self.folded, self.first, self.second, self.partials].map(|offset| workspace + offset as u64);
        for start in (0..samples).step_by(self.piece) {
            let count = self.piece.min(samples - start);
            let groups = count.div_ceil(16).next_multiple_of(layout.groups);
            let after = |address: u64, bytes: usize| if address == 0 { 0 } else { address + (start * bytes) as u64 };
            let factors = FactorArguments {
                grid,
                points: after(arrays.points, 8 * dims),
                weights: after(arrays.weights, precision.complex() / 2),
                data: after(arrays.data, precision.complex()),
                scale: scaled,
                folded,
                first,
                second,
                samples: count as i64,
                groups: groups as i32,
            };
            let entries = grid.blocks as usize * layout.positions + (grid.firsts + grid.seconds) as usize;
            let launch = Launch { grid: [(groups * entries * 4).div_ceil(256), 1, 1], block: [256, 1, 1], shared: 0 };
            // SAFETY: by the contract of `run`; the structs mirror the kernels'.
            unsafe { kernels.factors.launch(stream, launch, &factors)? };
            let product = ProductArguments {
                grid,
                folded,
                first,
                second,
                partials,
                groups: groups as i32,
                splits: self.splits as i32,
                accumulate: i32::from(start > 0),
            };
            let shared = layout.stages * layout.groups * (FOLDED + 3 * layout.factors);
            let launch = Launch { grid: [Self::blocks(&grid), self.splits, 1], block: [256, 1, 1], shared };
            // SAFETY: as above.
            unsafe { kernels.product.launch(stream, launch, &product)? };
        }
        let finish = FinishArguments {
            partials,
            scale: scaled,
            image: arrays.image,
            strides: self.strides,
            n: grid.n,
            splits: self.splits as i32,
        };
        let launch = Launch { grid: [self.finish_blocks, 1, 1], block: [256, 1, 1], shared: 0 };
        // SAFETY: as above.
        unsafe { kernels.finish.launch(stream, launch, &finish) }
    }
}
