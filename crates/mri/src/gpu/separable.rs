//! Exact sums between a grid of voxels and any samples, by matrix products: what both directions share, and the launches of
//! `kernels/mri/separable_scale.cu`.

use isocenter_base::error::{Result, fail};
use isocenter_base::gpu::{Device, Function, Launch, Precision, Regions, Stream, mirrored};

/// Maximum number of voxels along an axis.
const MAX_VOXELS: usize = 1 << 15;
/// Bytes of tables that are made at a time.
const TABLES: usize = 192 << 20;
/// Blocks that look for the largest value.
const SCALE_BLOCKS: usize = 256;

/// Sizes of an exact sum. Voxel j of an axis of n lies at j - floor(n / 2).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Problem {
    /// Along x, y, z.
    pub(crate) voxels: [usize; 3],
    /// Components of a point: 2 (with one voxel along z) or 3.
    pub(crate) dims: usize,
    pub(crate) samples: usize,
    /// Of image and data, and of all sums: to about 1e-6 or 1e-13 of the norm.
    pub(crate) precision: Precision,
}

/// Device addresses of an exact sum.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SeparableArrays {
    /// f64 `[samples][dims]`, in cycles per voxel.
    pub(crate) points: u64,
    /// Scalar `[samples]`, of the adjoint sum; 0 for ones.
    pub(crate) weights: u64,
    /// Complex `[coils][z][y][x]`.
    pub(crate) image: u64,
    /// Complex `[coils][samples]`.
    pub(crate) data: u64,
    pub(crate) coils: usize,
}

/// Mirrors `Grid` in `kernels/mri/separable.cuh`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct Grid {
    pub(super) n: [i32; 3],
    pub(super) component: [i32; 3],
    pub(super) dims: i32,
    pub(super) firsts: i32,
    pub(super) seconds: i32,
    pub(super) period: i32,
    pub(super) blocks: i32,
}
mirrored!(Grid, 44);

/// How a kernel cuts its work.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cut {
    /// Folded positions of a block.
    pub(super) positions: usize,
    /// First and second factors of a block.
    pub(super) firsts: usize,
    pub(super) seconds: usize,
}

impl Grid {
    /// The assignment of axes that computes the fewest products beyond the grid, with strides of its axes in an image `[z][y][x]`.
    pub(super) fn new(problem: &Problem, cut: Cut) -> Result<(Self, [i64; 3])> {
        let Problem { voxels, dims, samples, .. } = *problem;
        if voxels.contains(&0) || voxels.iter().any(|n| *n > MAX_VOXELS) || samples == 0 || !(2..=3).contains(&dims) {
            fail!(OutOfRange, "an exact sum over {voxels:?} voxels and {samples} samples of {dims} dimensions");
        }
        if dims == 2 && voxels[2] != 1 {
            fail!(OutOfRange, "points have two dimensions, but there are {} voxels along z", voxels[2]);
        }
        let mut best: Option<(usize, Self, [usize; 3])> = None;
        for axes in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            let n = axes.map(|a| voxels[a]);
            let blocks = n[0].div_ceil(2).div_ceil(cut.positions);
            // Either the whole second axis as first factors, or a few of it, again and again.
            for (firsts, period) in [(n[1].next_multiple_of(cut.firsts), 1), (cut.firsts, n[1].div_ceil(cut.firsts))] {
                let seconds = (n[2] * period).next_multiple_of(cut.seconds);
                // A factor in the tables costs as much as so many products.
                let cost = 2 * blocks * cut.positions * firsts * seconds + 700 * (firsts + seconds);
                if best.as_ref().is_none_or(|(lowest, ..)| cost < *lowest) {
                    let grid = Self {
                        n: n.map(|n| n as i32),
                        // One voxel lies at 0, whatever the component.
                        component: axes.map(|a| a.min(dims - 1) as i32),
                        dims: dims as i32,
                        firsts: firsts as i32,
                        seconds: seconds as i32,
                        period: period as i32,
                        blocks: blocks as i32,
                    };
                    best = Some((cost, grid, axes));
                }
            }
        }
        let Some((_, grid, axes)) = best else { fail!(Internal, "no assignment of axes") };
        if grid.columns() > i32::MAX as usize {
            fail!(OutOfRange, "an exact sum over {voxels:?} voxels: too many");
        }
        let strides = [1, voxels[0], voxels[0] * voxels[1]].map(|s| s as i64);
        Ok((grid, axes.map(|a| strides[a])))
    }

    /// Columns, those outside the image too.
    pub(super) fn columns(&self) -> usize {
        self.firsts as usize * self.seconds as usize
    }
}

/// The number of parts of `length` steps each task is split into, on so many multiprocessors; a part costs `overhead` steps more.
pub(super) fn splits(tasks: usize, length: usize, overhead: usize, multiprocessors: usize) -> usize {
    // Eight rounds: the last one, half empty perhaps, then counts little.
    let limit = (8 * multiprocessors).div_ceil(tasks).min(length).max(1);
    let time = |s: &usize| (tasks * s).div_ceil(multiprocessors) * (length.div_ceil(*s) + overhead);
    (1..=limit).min_by_key(time).unwrap_or(1)
}

/// Samples at a time, so that tables of so many bytes a sample stay small; a multiple of `step`.
pub(super) fn piece(samples: usize, bytes: usize, step: usize) -> usize {
    let limit = (TABLES / bytes.max(1)).min(1 << 16).max(step);
    let count = samples.div_ceil(limit);
    samples.div_ceil(count).next_multiple_of(step)
}

/// How a sum in either direction is divided, and where its tables lie.
#[derive(Debug)]
pub(super) struct Division {
    pub(super) problem: Problem,
    pub(super) grid: Grid,
    /// Of the grid's axes in an image.
    pub(super) strides: [i64; 3],
    /// Samples at a time.
    pub(super) piece: usize,
    /// Parts that a block's sum is split into.
    pub(super) splits: usize,
    /// Offsets in the workspace of what is folded, first factors, second factors, and partial sums.
    tables: [usize; 4],
    bytes: usize,
    /// In f32; f64 needs none.
    scale: Option<Scale>,
}

impl Division {
    /// With tables of so many bytes.
    pub(super) fn new(
        device: &Device,
        problem: &Problem,
        (grid, strides): (Grid, [i64; 3]),
        (piece, splits): (usize, usize),
        tables: [usize; 4],
    ) -> Result<Self> {
        let mut regions = Regions::default();
        // The scale lies at the start.
        regions.add(Scale::BYTES);
        let tables = tables.map(|bytes| regions.add(bytes));
        let scale = if problem.precision == Precision::F32 { Some(Scale::new(device)?) } else { None };
        Ok(Self { problem: *problem, grid, strides, piece, splits, tables, bytes: regions.bytes(), scale })
    }

    /// Bytes of the workspace, aligned to 256.
    pub(super) fn workspace(&self) -> usize {
        self.bytes
    }

    /// Addresses of the tables in a workspace.
    pub(super) fn tables(&self, workspace: u64) -> [u64; 4] {
        self.tables.map(|offset| workspace + offset as u64)
    }

    /// Calls with the arrays of one coil after the other.
    pub(super) fn by_coil(
        &self,
        arrays: &SeparableArrays,
        mut run: impl FnMut(&SeparableArrays) -> Result<()>,
    ) -> Result<()> {
        let complex = self.problem.precision.complex() as u64;
        let voxels: usize = self.problem.voxels.iter().product();
        for coil in 0..arrays.coils as u64 {
            let data = arrays.data + coil * self.problem.samples as u64 * complex;
            let image = arrays.image + coil * voxels as u64 * complex;
            run(&SeparableArrays { data, image, coils: 1, ..*arrays })?;
        }
        Ok(())
    }

    /// Finds a scale that suits `count` complex values times weights (0: ones), and gives its address; 0 in f64, which needs none.
    ///
    /// # Safety
    /// The arrays and the workspace are valid until the stream has passed the launches; the GPU is current.
    pub(super) unsafe fn scale(&self, values: (u64, u64, usize), workspace: u64, stream: &Stream) -> Result<u64> {
        let Some(scale) = &self.scale else { return Ok(0) };
        // SAFETY: by this function's contract.
        unsafe { scale.run(values, workspace, stream)? };
        Ok(workspace)
    }
}

/// Mirrors `Scale` in `kernels/mri/separable_scale.cu`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct ScaleArguments {
    values: u64,
    weights: u64,
    count: i64,
    peaks: u64,
    scale: u64,
}
mirrored!(ScaleArguments, 40);

/// Kernels that find a power of two that suits complex f32 data times weights.
#[derive(Debug)]
struct Scale {
    peaks: Function,
    choose: Function,
}

impl Scale {
    /// Bytes that `run` needs; the scale comes first.
    const BYTES: usize = 256 + 4 * SCALE_BLOCKS;

    fn new(device: &Device) -> Result<Self> {
        let kernel = |name| device.function(&crate::images::SEPARABLE_SCALE, name);
        Ok(Self { peaks: kernel("scale_peaks")?, choose: kernel("scale_choose")? })
    }

    /// Puts the scale of data times weights (0: ones) at `workspace`.
    ///
    /// # Safety
    /// The arrays are valid until the stream has passed the launches; the GPU is current.
    unsafe fn run(&self, (values, weights, count): (u64, u64, usize), workspace: u64, stream: &Stream) -> Result<()> {
        let arguments =
            ScaleArguments { values, weights, count: count as i64, peaks: workspace + 256, scale: workspace };
        for (kernel, blocks) in [(&self.peaks, SCALE_BLOCKS), (&self.choose, 1)] {
            let launch = Launch { grid: [blocks, 1, 1], block: [256, 1, 1], shared: 0 };
            // SAFETY: by this function's contract; the struct mirrors the kernel's.
            unsafe { kernel.launch(stream, launch, &arguments)? };
        }
        Ok(())
    }
}
