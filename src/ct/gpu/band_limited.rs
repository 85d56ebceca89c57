//! Band-limited sums on a GPU. Back projection: rows to frequencies, these onto a fine grid (`crate::nufft`), and that back to slices, two of
//! which are an image's real and imaginary part. Forward projection is the way back. Launches `kernels/ct/band_limited.cu`.

use super::band_limited_sizes::{BandLimitedSizes, MAX_IMAGES};
use super::forward::Slices;
use crate::cpu::buffer::collected;
use crate::ct::geometry::Geometry;
use crate::error::{Error, Result, Status};
use crate::gpu::fft::{DeviceLine, DeviceWindow, Direction, Kernels, Line, Pass, Side, Sum, Window};
use crate::gpu::{Device, DeviceMemory, Function, Launch, Precision, Stream, mirrored};
use crate::nufft::gpu::DeviceLines;
use std::sync::Arc;

/// Mirrors `Spectra`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct SpectraArguments {
    line: DeviceLine,
    values: u64,
    phases: u64,
    last: u64,
    rows: u64,
    pitch: i64,
    projections: u64,
    view_stride: i64,
    slice_stride: i64,
    scale: f32,
    views: i32,
    bins: i32,
    slices: i32,
    images: i32,
    stride: i32,
    width: i32,
    log_width: i32,
    chunks: i32,
    unused: i32,
}
mirrored!(SpectraArguments, 272);

/// Mirrors `Slices`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct SlicesArguments {
    line: DeviceLine,
    window: DeviceWindow,
    plane: u64,
    factors: u64,
    volume: u64,
    slice_stride: i64,
    row_stride: i64,
    column_stride: i64,
    slices: i32,
    images: i32,
    width: i32,
    log_width: i32,
    chunks: i32,
    unused: i32,
}
mirrored!(SlicesArguments, 256);

/// Where slices go.
#[derive(Clone, Copy, Debug)]
pub(super) struct Volume {
    pub(super) address: u64,
    pub(super) slice_stride: i64,
    pub(super) row_stride: i64,
}

/// Which sum it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sums {
    /// Of rows as they are read between their bins.
    Reading,
    /// The transpose of `forward`.
    Adjoint,
}

/// Tables and kernels, kept from call to call.
#[derive(Debug)]
pub(super) struct DeviceBandLimited {
    sizes: BandLimitedSizes,
    points: DeviceLines,
    bins: usize,
    /// Of rows, and of the fine grid along y and x.
    lines: [Line; 3],
    /// Along y and x.
    factors: [DeviceMemory; 2],
    phases: DeviceMemory,
    /// Of `forward` and `adjoint`: each view's last frequency, and what sums are multiplied by.
    last: DeviceMemory,
    pair_scale: f32,
    fft: Kernels,
    rows_to_spectra: Function,
    spectra_to_rows: Function,
    plane_to_slices: Function,
    slices_to_plane: Function,
}

/// Images that are worked on together, of a workspace.
struct Part {
    /// Slices, images that hold them, and images side by side.
    slices: usize,
    images: usize,
    stride: usize,
    /// Of frequencies or of the transform half done, of the fine grid, and of parts of tiles.
    values: u64,
    grid: u64,
    tiles: u64,
}

impl DeviceBandLimited {
    pub(super) fn new(device: &Arc<Device>, g: &Geometry, sizes: &BandLimitedSizes) -> Result<Self> {
        let BandLimitedSizes { plan, choice, image, lists, .. } = sizes;
        let spokes = collected((0..g.views()).map(|v| plan.spoke(g, v)))?;
        let period = plan.period as f64;
        // As a part of a turn: the whole turns of far-off origins would take its digits.
        let phase = |origin: f64| ((origin.rem_euclid(period) / period) * 2.0f64.powi(64)) as u64;
        let phases = collected(spokes.iter().map(|s| phase(s.origin)))?;
        let last = collected((0..g.views()).map(|v| plan.last(g, v) as i32))?;
        let [gy, gx] = choice.grid;
        let line = |n| Line::new(device, n, Precision::F32);
        let factors = |n: usize, grid: usize| {
            let exact = choice.kernel.factors(n, grid);
            DeviceMemory::from_slice(device, &exact.iter().map(|v| *v as f32).collect::<Vec<_>>())
        };
        let kernel = |name: &str| device.function("ct/band_limited", &format!("ct_band_limited_{name}"));
        Ok(Self {
            sizes: sizes.clone(),
            points: DeviceLines::new(device, lists, choice)?,
            bins: g.bins,
            lines: [line(plan.period)?, line(gy)?, line(gx)?],
            factors: [factors(image[0], gy)?, factors(image[1], gx)?],
            phases: DeviceMemory::from_slice(device, &phases)?,
            last: DeviceMemory::from_slice(device, &last)?,
            pair_scale: plan.pair_scale(g) as f32,
            fft: Kernels::new(device, Precision::F32)?,
            rows_to_spectra: kernel("rows_to_spectra")?,
            spectra_to_rows: kernel("spectra_to_rows")?,
            plane_to_slices: kernel("plane_to_slices")?,
            slices_to_plane: kernel("slices_to_plane")?,
        })
    }

    pub(super) fn sizes(&self) -> &BandLimitedSizes {
        &self.sizes
    }

    /// Sums `count` slices' rows, packed as pairs; `workspace` has [`BandLimitedSizes::bytes`].
    ///
    /// # Safety
    /// Rows, volume and workspace are device memory until the stream has passed this; the GPU is current.
    pub(super) unsafe fn backproject(
        &self,
        sums: Sums,
        rows: u64,
        volume: Volume,
        count: usize,
        workspace: u64,
        stream: &Stream,
    ) -> Result<()> {
        let BandLimitedSizes { plan, image: [ny, _], choice, views, .. } = &self.sizes;
        let pitch = BandLimitedSizes::FORMAT.pitch(self.bins);
        let [gy, gx] = choice.grid;
        for first in (0..count).step_by(2 * MAX_IMAGES) {
            let part = self.part(first, count, workspace);
            let (shape, spectra) = self.spectra(&part);
            let spectra = SpectraArguments {
                rows: rows + (first / 2 * views * pitch * 8) as u64,
                pitch: pitch as i64,
                scale: 1.0 / plan.period as f32,
                last: 0,
                ..spectra
            };
            let spectra = match sums {
                Sums::Reading => spectra,
                Sums::Adjoint => SpectraArguments { scale: self.pair_scale, last: self.last.address(), ..spectra },
            };
            let from = Side::new(part.grid, [1, gy, gx * part.stride], Window::all(gy));
            let to = Side::new(part.values, [1, *ny, gx * part.stride], Window::centred(*ny, gy));
            let to = to.factors(self.factors[0].address());
            let Volume { address, slice_stride, row_stride } = volume;
            let address = address + (first as i64 * slice_stride * 4) as u64;
            let (across, slices) = self.slices(&part, (address, [slice_stride, row_stride, 1]))?;
            // SAFETY: the structs mirror the kernels'; the rest by this function's contract. Frequencies are no longer needed once they
            // are on the grid.
            unsafe {
                self.rows_to_spectra.launch(stream, shape, &spectra)?;
                self.points.spread(part.values, part.grid, part.tiles, part.stride, stream)?;
                self.columns(&part, from, to, Direction::Backward).launch(stream)?;
                self.plane_to_slices.launch(stream, across, &slices)?;
            }
        }
        Ok(())
    }

    /// Projects slices; `workspace` has [`BandLimitedSizes::bytes`].
    ///
    /// # Safety
    /// As for `backproject`.
    pub(super) unsafe fn forward(&self, slices: &Slices, workspace: u64, stream: &Stream) -> Result<()> {
        let BandLimitedSizes { image: [ny, _], choice, .. } = &self.sizes;
        let [gy, gx] = choice.grid;
        let [view_stride, slice_stride] = slices.projection_strides;
        for first in (0..slices.count).step_by(2 * MAX_IMAGES) {
            let part = self.part(first, slices.count, workspace);
            let address = slices.volume + (first as i64 * slices.volume_strides[0] * 4) as u64;
            let (across, volume) = self.slices(&part, (address, slices.volume_strides))?;
            let from = Side::new(part.values, [1, *ny, gx * part.stride], Window::centred(*ny, gy));
            let from = from.factors(self.factors[0].address());
            let to = Side::new(part.grid, [1, gy, gx * part.stride], Window::all(gy));
            let (shape, spectra) = self.spectra(&part);
            let spectra = SpectraArguments {
                projections: slices.projections + (first as i64 * slice_stride * 4) as u64,
                view_stride,
                slice_stride,
                scale: self.pair_scale,
                last: self.last.address(),
                ..spectra
            };
            // SAFETY: as in `backproject`; the transform half done is no longer needed once it is on the grid.
            unsafe {
                self.slices_to_plane.launch(stream, across, &volume)?;
                self.columns(&part, from, to, Direction::Forward).launch(stream)?;
                self.points.interpolate(part.grid, part.values, part.stride, stream)?;
                self.spectra_to_rows.launch(stream, shape, &spectra)?;
            }
        }
        Ok(())
    }

    /// Images from slice `first` of `count` on.
    fn part(&self, first: usize, count: usize, workspace: u64) -> Part {
        let [values_bytes, grid_bytes] = self.sizes.parts(count);
        let slices = (count - first).min(2 * MAX_IMAGES);
        let (values, grid) = (workspace, workspace + values_bytes);
        let (images, stride) = (slices.div_ceil(2), BandLimitedSizes::images(slices));
        Part { slices, images, stride, values, grid, tiles: grid + grid_bytes }
    }

    /// Between rows, which the caller adds, and spectra.
    fn spectra(&self, part: &Part) -> (Launch, SpectraArguments) {
        let (line, views) = (&self.lines[0], self.sizes.views);
        let (shape, width, chunks) = across(line, part.stride);
        let arguments = SpectraArguments {
            line: line.arguments(),
            values: part.values,
            phases: self.phases.address(),
            last: 0,
            rows: 0,
            pitch: 0,
            projections: 0,
            view_stride: 0,
            slice_stride: 0,
            scale: 0.0,
            views: views as i32,
            bins: self.bins as i32,
            slices: part.slices as i32,
            images: part.images as i32,
            stride: part.stride as i32,
            width: width as i32,
            log_width: width.ilog2() as i32,
            chunks: chunks as i32,
            unused: 0,
        };
        (Launch { grid: [views * chunks, 1, 1], ..shape }, arguments)
    }

    /// The transform along y.
    fn columns(&self, part: &Part, from: Side, to: Side, direction: Direction) -> Pass<'_> {
        let [gy, gx] = self.sizes.choice.grid;
        Pass {
            kernels: &self.fft,
            line: &self.lines[1],
            axis: 1,
            lines: [1, gy, gx * part.stride],
            batches: 1,
            from,
            to,
            direction,
            scale: 1.0,
            map_stride: 0,
            sum: Sum::No,
        }
    }

    /// Between the transform half done and slices, with their strides.
    fn slices(&self, part: &Part, (volume, strides): (u64, [i64; 3])) -> Result<(Launch, SlicesArguments)> {
        let (line, [ny, nx]) = (&self.lines[2], self.sizes.image);
        let (shape, width, chunks) = across(line, part.stride);
        let [slice_stride, row_stride, column_stride] = strides;
        let arguments = SlicesArguments {
            line: line.arguments(),
            window: Window::centred(nx, line.length()).device(1)?,
            plane: part.values,
            factors: self.factors[1].address(),
            volume,
            slice_stride,
            row_stride,
            column_stride,
            slices: part.slices as i32,
            images: part.stride as i32,
            width: width as i32,
            log_width: width.ilog2() as i32,
            chunks: chunks as i32,
            unused: 0,
        };
        Ok((Launch { grid: [ny * chunks, 1, 1], ..shape }, arguments))
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
