//! Band-limited sums on a GPU. Back projection: rows to frequencies, these onto a fine grid (`isocenter_nufft`), and that back to slices, two of
//! which are an image's real and imaginary part. Forward projection is the way back.

use super::band_limited_ends::{End, Scratch, SlicesArguments, SpectraArguments, Way};
use super::band_limited_sizes::BandLimitedSizes;
use super::forward::Slices;
use crate::geometry::Geometry;
use isocenter_base::cpu::buffer::collected;
use isocenter_base::error::{Error, Result, Status};
use isocenter_base::gpu::fft::{Direction, Kernels, Pass, Side, Sum, Transform, Window};
use isocenter_base::gpu::{Device, DeviceMemory, Precision, Stream};
use isocenter_nufft::gpu::{DeviceLines, MAX_IMAGES};
use std::sync::Arc;

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
    /// Of rows, and of the fine grid along x and along y.
    rows: End,
    x: End,
    y: Transform,
    /// Along y and x.
    factors: [DeviceMemory; 2],
    phases: DeviceMemory,
    /// Of `forward` and `adjoint`: each view's last frequency, and what sums are multiplied by.
    last: DeviceMemory,
    pair_scale: f32,
    fft: Kernels,
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
        let factors = |n: usize, grid: usize| {
            let exact = choice.kernel.factors(n, grid);
            DeviceMemory::from_slice(device, &exact.iter().map(|v| *v as f32).collect::<Vec<_>>())
        };
        Ok(Self {
            sizes: sizes.clone(),
            points: DeviceLines::new(device, lists, choice)?,
            bins: g.bins,
            rows: End::new(device, plan.period, ["rows_to_spectra", "spectra_to_rows"])?,
            x: End::new(device, gx, ["slices_to_plane", "plane_to_slices"])?,
            y: Transform::new(device, gy, Precision::F32)?,
            factors: [factors(image[0], gy)?, factors(image[1], gx)?],
            phases: DeviceMemory::from_slice(device, &phases)?,
            last: DeviceMemory::from_slice(device, &last)?,
            pair_scale: plan.pair_scale(g) as f32,
            fft: Kernels::new(device, Precision::F32)?,
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
            let spectra = SpectraArguments {
                rows: rows + (first / 2 * views * pitch * 8) as u64,
                pitch: pitch as i64,
                scale: 1.0 / plan.period as f32,
                ..self.spectra(&part)
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
            let slices = self.slices(&part, (address, [slice_stride, row_stride, 1]))?;
            // SAFETY: by this function's contract. The grid is not needed before there are frequencies, and these not once they are there.
            unsafe {
                self.rows.spectra(Way::There, spectra, &self.scratch(&part), stream)?;
                self.points.spread(part.values, part.grid, part.tiles, part.stride, stream)?;
                self.columns(&part, from, to, Direction::Backward).launch(stream)?;
                self.x.slices(Way::Back, slices, *ny, stream)?;
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
            let volume = self.slices(&part, (address, slices.volume_strides))?;
            let from = Side::new(part.values, [1, *ny, gx * part.stride], Window::centred(*ny, gy));
            let from = from.factors(self.factors[0].address());
            let to = Side::new(part.grid, [1, gy, gx * part.stride], Window::all(gy));
            let spectra = SpectraArguments {
                projections: slices.projections + (first as i64 * slice_stride * 4) as u64,
                view_stride,
                slice_stride,
                scale: self.pair_scale,
                last: self.last.address(),
                ..self.spectra(&part)
            };
            // SAFETY: as in `backproject`; the transform half done is no longer needed once it is on the grid.
            unsafe {
                self.x.slices(Way::There, volume, *ny, stream)?;
                self.columns(&part, from, to, Direction::Forward).launch(stream)?;
                self.points.interpolate(part.grid, part.values, part.stride, stream)?;
                self.rows.spectra(Way::Back, spectra, &self.scratch(&part), stream)?;
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

    /// The grid, of long rows.
    fn scratch(&self, part: &Part) -> Scratch {
        Scratch { address: part.grid, elements: self.sizes.grid_elements() }
    }

    /// Between rows, which the caller adds, and spectra.
    fn spectra(&self, part: &Part) -> SpectraArguments {
        SpectraArguments {
            values: part.values,
            phases: self.phases.address(),
            views: self.sizes.views as i32,
            bins: self.bins as i32,
            slices: part.slices as i32,
            images: part.images as i32,
            stride: part.stride as i32,
            ..SpectraArguments::default()
        }
    }

    /// The transform along y.
    fn columns(&self, part: &Part, from: Side, to: Side, direction: Direction) -> Pass<'_> {
        let [gy, gx] = self.sizes.choice.grid;
        let grid = if direction == Direction::Backward { from } else { to };
        Pass {
            kernels: &self.fft,
            steps: self.y.steps(grid),
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
    fn slices(&self, part: &Part, (volume, strides): (u64, [i64; 3])) -> Result<SlicesArguments> {
        let [slice_stride, row_stride, column_stride] = strides;
        Ok(SlicesArguments {
            window: Window::centred(self.sizes.image[1], self.sizes.choice.grid[1]).device(1)?,
            plane: part.values,
            factors: self.factors[1].address(),
            volume,
            slice_stride,
            row_stride,
            column_stride,
            slices: part.slices as i32,
            images: part.stride as i32,
            ..SlicesArguments::default()
        })
    }
}

/// The error of a plan for which there are no tables.
pub(super) fn missing() -> Error {
    Error::new(Status::Internal, "band-limited sums were not prepared")
}
