//! Band-limited back projection on a GPU: rows to frequencies, these onto a fine grid (`crate::nufft`), and that back to slices, two of
//! which are an image's real and imaginary part. Launches `kernels/ct/band_limited.cu`.

use super::format::Format;
use crate::cpu::buffer::collected;
use crate::ct::band_limited::BandLimited;
use crate::ct::geometry::Geometry;
use crate::error::{Error, Result, Status};
use crate::gpu::fft::{DeviceLine, DeviceWindow, Direction, Kernels, Line, Pass, Side, Sum, Transform, Window};
use crate::gpu::{Device, DeviceMemory, Function, Launch, Precision, Stream, mirrored};
use crate::nufft::gpu::{LineChoice, LineWork, SpreadLines};
use std::sync::Arc;

/// Mirrors `Spectra`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct SpectraArguments {
    line: DeviceLine,
    rows: u64,
    values: u64,
    phases: u64,
    pitch: i64,
    scale: f32,
    views: i32,
    bins: i32,
    images: i32,
    stride: i32,
    width: i32,
    log_width: i32,
    chunks: i32,
}
mirrored!(SpectraArguments, 232);

/// Mirrors `Slices`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct SlicesArguments {
    line: DeviceLine,
    to: DeviceWindow,
    input: u64,
    factors: u64,
    volume: u64,
    slice_stride: i64,
    row_stride: i64,
    slices: i32,
    images: i32,
    width: i32,
    log_width: i32,
    chunks: i32,
    unused: i32,
}
mirrored!(SlicesArguments, 248);

/// Maximum number of images at a time: as many as a block of spreading takes.
const MAX_IMAGES: usize = 64;

/// Where slices go.
#[derive(Clone, Copy, Debug)]
pub(super) struct Volume {
    pub(super) address: u64,
    pub(super) slice_stride: i64,
    pub(super) row_stride: i64,
}

/// What the sums take, known before there are tables.
#[derive(Clone, Debug)]
pub(super) struct BandLimitedSizes {
    pub(super) plan: BandLimited,
    choice: LineChoice,
    image: [usize; 2],
    views: usize,
    /// Lists of what is spread where; they tell how much memory parts of tiles take.
    work: Arc<LineWork>,
}

impl BandLimitedSizes {
    pub(super) fn new(g: &Geometry, plan: BandLimited) -> Result<Self> {
        let points = (g.views() as u64).saturating_mul(plan.period as u64 + 1);
        let choice = LineChoice::new([g.ny, g.nx], points, plan.tolerance)?;
        let steps = collected((0..g.views()).map(|v| plan.spoke(g, v).step))?;
        let work = Arc::new(LineWork::new(&steps, plan.period / 2, &choice)?);
        Ok(Self { plan, choice, image: [g.ny, g.nx], views: g.views(), work })
    }

    /// Slices that cost as much as fewer.
    pub(super) const UNIT: usize = 2 * MAX_IMAGES;

    /// Rows as they are read: pairs of slices.
    pub(super) const FORMAT: Format = Format { lanes: 2, half: false, split: false, oversampling: 1, tight: true };

    /// Of so many slices at a time.
    fn images(slices: usize) -> usize {
        slices.div_ceil(2).min(MAX_IMAGES).next_multiple_of(2)
    }

    /// Bytes of frequencies (or, later, of the transform half done) and of the grid.
    fn parts(&self, slices: usize) -> [u64; 2] {
        let [gy, gx] = self.choice.grid.map(|n| n as u64);
        let values = (self.views as u64).saturating_mul(self.plan.period as u64 + 1);
        let half_done = self.image[0] as u64 * gx;
        [values.max(half_done), gy * gx].map(|n| n.saturating_mul(8 * Self::images(slices) as u64))
    }

    /// Bytes of working memory for slabs of so many slices.
    pub(super) fn bytes(&self, slices: usize) -> u64 {
        let [values, grid] = self.parts(slices);
        values.saturating_add(grid).saturating_add(self.work.part_bytes(Self::images(slices)))
    }
}

/// Tables and kernels, kept from call to call.
#[derive(Debug)]
pub(super) struct DeviceBandLimited {
    sizes: BandLimitedSizes,
    spread: SpreadLines,
    /// Of rows, and of the fine grid along x.
    lines: [Line; 2],
    /// Of the fine grid along y.
    y: Transform,
    /// Along y and x.
    factors: [DeviceMemory; 2],
    phases: DeviceMemory,
    fft: Kernels,
    spectra: Function,
    slices: Function,
}

impl DeviceBandLimited {
    pub(super) fn new(device: &Arc<Device>, g: &Geometry, sizes: &BandLimitedSizes) -> Result<Self> {
        let BandLimitedSizes { plan, choice, image, .. } = sizes;
        let spokes = collected((0..g.views()).map(|v| plan.spoke(g, v)))?;
        let period = plan.period as f64;
        // As a part of a turn: the whole turns of far-off origins would take its digits.
        let phase = |origin: f64| ((origin.rem_euclid(period) / period) * 2.0f64.powi(64)) as u64;
        let phases = collected(spokes.iter().map(|s| phase(s.origin)))?;
        let [gy, gx] = choice.grid;
        let line = |n| Line::new(device, n, Precision::F32);
        let factors = |n: usize, grid: usize| {
            let exact = choice.kernel.factors(n, grid);
            DeviceMemory::from_slice(device, &exact.iter().map(|v| *v as f32).collect::<Vec<_>>())
        };
        let kernel = |name| device.function("ct/band_limited", name);
        Ok(Self {
            sizes: sizes.clone(),
            spread: SpreadLines::new(device, &sizes.work, choice)?,
            lines: [line(plan.period)?, line(gx)?],
            y: Transform::new(device, gy, Precision::F32)?,
            factors: [factors(image[0], gy)?, factors(image[1], gx)?],
            phases: DeviceMemory::from_slice(device, &phases)?,
            fft: Kernels::new(device, Precision::F32)?,
            spectra: kernel("ct_band_limited_spectra")?,
            slices: kernel("ct_band_limited_slices")?,
        })
    }

    pub(super) fn sizes(&self) -> &BandLimitedSizes {
        &self.sizes
    }

    /// Sums `count` slices' rows, packed as pairs; `workspace` has [`BandLimitedSizes::bytes`].
    ///
    /// # Safety
    /// Rows, volume and workspace are device memory until the stream has passed this; the GPU is current.
    pub(super) unsafe fn run(
        &self,
        (rows, bins): (u64, usize),
        volume: Volume,
        count: usize,
        workspace: u64,
        stream: &Stream,
    ) -> Result<()> {
        let [values_bytes, grid_bytes] = self.sizes.parts(count);
        let (values, grid) = (workspace, workspace + values_bytes);
        let parts = grid + grid_bytes;
        let pitch = BandLimitedSizes::FORMAT.pitch(bins);
        let [ny, _] = self.sizes.image;
        let [gy, gx] = self.sizes.choice.grid;
        let views = self.sizes.views;
        for first in (0..count).step_by(2 * MAX_IMAGES) {
            let slices = (count - first).min(2 * MAX_IMAGES);
            let (images, stride) = (slices.div_ceil(2), BandLimitedSizes::images(slices));
            let [period, x] = &self.lines;
            let (shape, width, chunks) = across(period, stride);
            let arguments = SpectraArguments {
                line: period.arguments(),
                rows: rows + (first / 2 * views * pitch * 8) as u64,
                values,
                phases: self.phases.address(),
                pitch: pitch as i64,
                scale: 1.0 / self.sizes.plan.period as f32,
                views: views as i32,
                bins: bins as i32,
                images: images as i32,
                stride: stride as i32,
                width: width as i32,
                log_width: width.ilog2() as i32,
                chunks: chunks as i32,
            };
            let launch = Launch { grid: [views * chunks, 1, 1], ..shape };
            // SAFETY: SpectraArguments mirrors the kernel's struct; the rest by this function's contract.
            unsafe {
                self.spectra.launch(stream, launch, &arguments)?;
                self.spread.spread(values, grid, parts, stride, stream)?;
            }

            let from = Side::new(grid, [1, gy, gx * stride], Window::all(gy));
            let to = Side::new(values, [1, ny, gx * stride], Window::centred(ny, gy));
            let pass = Pass {
                kernels: &self.fft,
                // The grid is not needed afterwards.
                steps: self.y.steps(from),
                axis: 1,
                lines: [1, gy, gx * stride],
                batches: 1,
                from,
                to: to.factors(self.factors[0].address()),
                direction: Direction::Backward,
                scale: 1.0,
                map_stride: 0,
                sum: Sum::No,
            };
            // SAFETY: as above; frequencies are no longer needed.
            unsafe { pass.launch(stream)? };

            let (shape, width, chunks) = across(x, stride);
            let arguments = SlicesArguments {
                line: x.arguments(),
                to: Window::centred(self.sizes.image[1], gx).device(1)?,
                input: values,
                factors: self.factors[1].address(),
                volume: volume.address + (first as i64 * volume.slice_stride * 4) as u64,
                slice_stride: volume.slice_stride,
                row_stride: volume.row_stride,
                slices: slices as i32,
                images: stride as i32,
                width: width as i32,
                log_width: width.ilog2() as i32,
                chunks: chunks as i32,
                unused: 0,
            };
            let launch = Launch { grid: [ny * chunks, 1, 1], ..shape };
            // SAFETY: SlicesArguments mirrors the kernel's struct; as above.
            unsafe { self.slices.launch(stream, launch, &arguments)? };
        }
        Ok(())
    }
}

/// Launch, images of a block, and blocks for all images.
fn across(line: &Line, images: usize) -> (Launch, usize, usize) {
    let shape = line.across_at_most(images);
    let launch = Launch { grid: [1, 1, 1], block: [shape.threads, 1, 1], shared: shape.shared };
    (launch, shape.width, images.div_ceil(shape.width))
}

/// The error of a plan for which there are no tables.
pub(super) fn missing() -> Error {
    Error::new(Status::Internal, "band-limited sums were not prepared")
}
