//! Launches `kernels/mri/direct.cu`.

use super::direct_order::Order;
use super::separable::splits;
use isocenter_base::error::{Result, fail};
use isocenter_base::gpu::{Device, Function, Launch, Precision, Regions, Stream, mirrored};

const THREADS: usize = 128;
/// Sources in shared memory.
const SOURCES: usize = 256;
/// Coils that are summed together.
const COILS: usize = 4;
/// Blocks that a multiprocessor runs at a time.
const RESIDENT: usize = 4;
/// Bits of a phase after the point, and what 32-bit integers hold.
const FRACTION: u32 = 23;
const INTEGER: f64 = 2147483600.0;

/// Which way the sums go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// s(m) = sum over voxels of rho exp(-2 pi i (k.r + f t)).
    Forward,
    /// b(r) = sum over samples of w d exp(+2 pi i (k.r + f t)).
    Adjoint,
}

/// How sines and cosines are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sines {
    /// To about 2e-7.
    Precise,
    /// By the special function units, to about 5e-7; f32 only.
    Hardware,
}

/// Greatest absolute values, by component for points.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// Voxels.
    pub(crate) positions: [f64; 3],
    /// Cycles per voxel.
    pub(crate) points: [f64; 3],
    /// Hz.
    pub(crate) field: f64,
    /// Seconds.
    pub(crate) times: f64,
}

impl Bounds {
    /// Of voxels and of samples.
    fn sides(&self) -> [[f64; 4]; 2] {
        let ([x, y, z], [kx, ky, kz]) = (self.positions, self.points);
        [[x, y, z, self.field], [kx, ky, kz, self.times]]
    }
}

/// Sizes and kinds of a direct sum.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DirectProblem {
    pub(crate) voxels: usize,
    pub(crate) samples: usize,
    /// Components of positions and points.
    pub(crate) dims: usize,
    pub(crate) bounds: Bounds,
    pub(crate) field: bool,
    pub(crate) direction: Direction,
    pub(crate) precision: Precision,
    pub(crate) sines: Sines,
}

/// Device addresses of a direct sum.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DirectArrays {
    /// f64 `[voxels][dims]`.
    pub(crate) positions: u64,
    /// f64 `[samples][dims]`.
    pub(crate) points: u64,
    /// f64 `[voxels]` and `[samples]`, where there is a field map.
    pub(crate) field: u64,
    pub(crate) times: u64,
    /// Scalar `[samples]`, of the adjoint sum; 0 for ones.
    pub(crate) weights: u64,
    /// Complex `[coils][voxels]` (forward) or `[coils][samples]` (adjoint).
    pub(crate) input: u64,
    /// Complex `[coils][samples]` or `[coils][voxels]`.
    pub(crate) output: u64,
    pub(crate) coils: usize,
}

/// Mirrors `DirectPlace`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct PlaceArguments {
    points: u64,
    fourth: u64,
    scale: [f64; 4],
    places: u64,
    count: i64,
    dims: i32,
}
mirrored!(PlaceArguments, 72);

/// Mirrors `DirectSum`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct SumArguments {
    targets: u64,
    sources: u64,
    order: u64,
    values: u64,
    weights: u64,
    sums: u64,
    target_count: i64,
    source_count: i64,
    coils: i32,
    splits: i32,
    fraction: i32,
    reach: [f32; 4],
}
mirrored!(SumArguments, 96);

/// Mirrors `DirectFinish`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct FinishArguments {
    partials: u64,
    sums: u64,
    count: i64,
    splits: i32,
}
mirrored!(FinishArguments, 32);

/// Sums over any voxels or samples, exactly.
#[derive(Debug)]
pub(crate) struct Direct {
    problem: DirectProblem,
    /// What 1 becomes in positions and field, and in points and times.
    scales: [[f64; 4]; 2],
    fraction: u32,
    splits: [usize; 2],
    /// Offsets in the workspace.
    targets: usize,
    sources: usize,
    /// With its offset.
    order: Option<(Order, usize)>,
    /// Of partial sums, and of what finding the order needs before them.
    scratch: usize,
    bytes: usize,
    kernels: Kernels,
}

#[derive(Debug)]
struct Kernels {
    place: Function,
    /// For one coil, and for several.
    sums: [Function; 2],
    finish: Function,
}

impl Kernels {
    fn new(device: &Device, problem: &DirectProblem) -> Result<Self> {
        let DirectProblem { precision, field, sines, .. } = *problem;
        let name = precision.suffix();
        let sines = if sines == Sines::Hardware { "hardware" } else { "precise" };
        // In f64 the field's share does not count.
        let field = if field || precision == Precision::F64 { "_field" } else { "" };
        let kernel = |kind: &str| device.function(&crate::images::DIRECT, &format!("direct_{kind}"));
        let sum = |coils: usize| kernel(&format!("{sines}{field}_{name}_{coils}"));
        Ok(Self {
            place: kernel(&format!("place_{name}"))?,
            sums: [sum(1)?, sum(COILS)?],
            finish: kernel(&format!("finish_{name}"))?,
        })
    }
}

/// Targets of a thread, for one coil and for several.
fn targets(precision: Precision) -> [usize; 2] {
    match precision {
        Precision::F32 => [8, 4],
        Precision::F64 => [2, 2],
    }
}

impl Direct {
    /// Plans for a GPU.
    pub(crate) fn new(device: &Device, problem: &DirectProblem) -> Result<Self> {
        let DirectProblem { voxels, samples, dims, bounds, .. } = *problem;
        if voxels == 0 || samples == 0 || !(1..=3).contains(&dims) {
            fail!(OutOfRange, "a direct sum over {voxels} voxels and {samples} samples of {dims} dimensions");
        }
        if problem.precision == Precision::F64 && problem.sines == Sines::Hardware {
            fail!(OutOfRange, "hardware sines and cosines are for f32");
        }
        let (scales, fraction) = match problem.precision {
            Precision::F32 => fixed_point(&bounds)?,
            Precision::F64 => ([[1.0; 4]; 2], FRACTION),
        };
        let (target_count, source_count) = match problem.direction {
            Direction::Forward => (samples, voxels),
            Direction::Adjoint => (voxels, samples),
        };
        let place = 2 * problem.precision.complex();
        let splits = targets(problem.precision).map(|targets| {
            let blocks = target_count.div_ceil(THREADS * targets);
            splits(blocks, source_count.div_ceil(SOURCES), 2, RESIDENT * device.multiprocessors())
        });
        let mut regions = Regions::default();
        let targets = regions.add(target_count * place);
        let sources = regions.add(source_count * place);
        // f64 needs no neighbours.
        let order = match problem.precision {
            Precision::F32 => Some(Order::new(device, target_count)?),
            Precision::F64 => None,
        };
        let partial = |splits: usize, coils| if splits > 1 { splits * coils * target_count } else { 0 };
        let partials = partial(splits[0], 1).max(partial(splits[1], COILS));
        let scratch = partials * problem.precision.complex();
        let scratch = regions.add(order.as_ref().map_or(0, Order::scratch_bytes).max(scratch));
        let order = order.map(|order| {
            let offset = regions.add(order.bytes());
            (order, offset)
        });
        let bytes = regions.bytes();
        let kernels = Kernels::new(device, problem)?;
        Ok(Self { problem: *problem, scales, fraction, splits, targets, sources, order, scratch, bytes, kernels })
    }

    /// Bytes that a run needs, aligned to 256.
    pub(crate) fn workspace(&self) -> usize {
        self.bytes
    }

    /// Coils four at a time.
    ///
    /// # Safety
    /// The arrays have the plan's sizes, hold no more than its bounds, and are valid until the stream has passed the launches, as
    /// the workspace is; the plan's GPU is current.
    pub(crate) unsafe fn run(&self, arrays: &DirectArrays, workspace: u64, stream: &Stream) -> Result<()> {
        let DirectProblem { voxels, samples, field, precision, direction, .. } = self.problem;
        let [mut position_scale, mut point_scale] = self.scales;
        let fourth = |address| if field { address } else { 0 };
        let sign = if direction == Direction::Forward { -1.0 } else { 1.0 };
        let voxel_side = (arrays.positions, fourth(arrays.field), voxels);
        let sample_side = (arrays.points, fourth(arrays.times), samples);
        let (targets, sources, weights) = match direction {
            Direction::Forward => {
                position_scale = position_scale.map(|s| s * sign);
                ((sample_side, point_scale), (voxel_side, position_scale), 0)
            }
            Direction::Adjoint => {
                point_scale = point_scale.map(|s| s * sign);
                ((voxel_side, position_scale), (sample_side, point_scale), arrays.weights)
            }
        };
        let (target_count, source_count) = (targets.0.2, sources.0.2);
        let [target_places, source_places] = [self.targets, self.sources].map(|offset| workspace + offset as u64);
        for ((side, scale), places) in [(targets, target_places), (sources, source_places)] {
            // SAFETY: by this function's contract.
            unsafe { self.place(side, scale, places, stream)? };
        }
        let mut order = 0;
        if let Some((o, offset)) = &self.order {
            order = workspace + *offset as u64;
            // SAFETY: by this function's contract.
            unsafe { o.run(target_places, order, workspace + self.scratch as u64, stream)? };
        }
        let [voxel_bounds, sample_bounds] = self.problem.bounds.sides();
        let largest = if direction == Direction::Forward { voxel_bounds } else { sample_bounds };
        let unit = 2f64.powi(-32 - self.fraction as i32);
        let reach = std::array::from_fn(|c| (largest[c] * sources.1[c].abs() * unit) as f32);
        let complex = precision.complex();
        let mut coil = 0;
        while coil < arrays.coils {
            let coils = COILS.min(arrays.coils - coil);
            let sums = SumArguments {
                targets: target_places,
                sources: source_places,
                order,
                values: arrays.input + (coil * source_count * complex) as u64,
                weights,
                sums: arrays.output + (coil * target_count * complex) as u64,
                target_count: target_count as i64,
                source_count: source_count as i64,
                coils: coils as i32,
                splits: self.splits[usize::from(coils > 1)] as i32,
                fraction: self.fraction as i32,
                reach,
            };
            // SAFETY: by this function's contract.
            unsafe { self.sum(sums, workspace, stream)? };
            coil += coils;
        }
        Ok(())
    }

    /// # Safety
    /// As for `run`.
    unsafe fn place(
        &self,
        (points, fourth, count): (u64, u64, usize),
        scale: [f64; 4],
        places: u64,
        stream: &Stream,
    ) -> Result<()> {
        let dims = self.problem.dims as i32;
        let arguments = PlaceArguments { points, fourth, scale, places, count: count as i64, dims };
        // SAFETY: by the contract of `run`; the struct mirrors the kernel's.
        unsafe { self.kernels.place.launch(stream, line(count), &arguments) }
    }

    /// # Safety
    /// As for `run`.
    unsafe fn sum(&self, mut sums: SumArguments, workspace: u64, stream: &Stream) -> Result<()> {
        let several = sums.coils > 1;
        let splits = sums.splits as usize;
        let finish = FinishArguments {
            partials: workspace + self.scratch as u64,
            sums: sums.sums,
            count: i64::from(sums.coils) * sums.target_count,
            splits: sums.splits,
        };
        if splits > 1 {
            sums.sums = finish.partials;
        }
        let blocks =
            (sums.target_count as usize).div_ceil(THREADS * targets(self.problem.precision)[usize::from(several)]);
        let launch = Launch { grid: [blocks, splits, 1], block: [THREADS, 1, 1], shared: 0 };
        // SAFETY: by the contract of `run`; the struct mirrors the kernel's.
        unsafe { self.kernels.sums[usize::from(several)].launch(stream, launch, &sums)? };
        if splits > 1 {
            // SAFETY: as above.
            unsafe { self.kernels.finish.launch(stream, line(finish.count as usize), &finish)? };
        }
        Ok(())
    }
}

fn line(threads: usize) -> Launch {
    Launch { grid: [threads.div_ceil(256), 1, 1], block: [256, 1, 1], shared: 0 }
}

/// Scales of positions and field, and of points and times, to 32-bit integers; and the phase's bits after the point.
fn fixed_point(bounds: &Bounds) -> Result<([[f64; 4]; 2], u32)> {
    let [voxels, samples] = bounds.sides();
    let cycles = voxels.iter().zip(samples).map(|(a, b)| a * b).fold(0.0, f64::max);
    // The scales' product is 2^(32 + fraction).
    let room = |fraction: u32| INTEGER * INTEGER / 2f64.powi(32 + fraction as i32);
    let Some(fraction) = (12..=FRACTION).rev().find(|f| cycles <= room(*f)) else {
        fail!(OutOfRange, "phases of {cycles} cycles are beyond single precision");
    };
    let mut scales = [[0.0; 4]; 2];
    for c in 0..4 {
        // Where one is 0 throughout, so is the product.
        if voxels[c] > 0.0 && samples[c] > 0.0 {
            scales[0][c] = INTEGER / voxels[c];
            scales[1][c] = 2f64.powi(32 + fraction as i32) / scales[0][c];
        }
    }
    Ok((scales, fraction))
}
