//! Transforms between images and points on a GPU: the fine grid, its kernel, and the two directions.

use super::sort::{Coordinates, SortedPoints};
use super::spread::Values;
use super::spreading::{Spreading, max_terms};
use super::tile::Tile;
use crate::choice::{UPSAMPLINGS, choose};
use crate::{Kernel, Settings};
use isocenter_base::error::{Error, Result, Status};
use isocenter_base::gpu::fft::{Direction, Images, MAX_LENGTH, PrunedFft};
use isocenter_base::gpu::{Device, DeviceReal, Lent, Pool, Stream, WorkspaceBytes};
use std::sync::Arc;

/// The kernel and the fine grid that serve a problem's settings.
#[derive(Clone, Debug)]
pub struct Choice {
    kernel: Kernel,
    /// Points of the fine grid along z, y, x.
    grid: [usize; 3],
}

impl Choice {
    /// The settings' instruction-set level does not count here.
    pub fn new<T: DeviceReal>(settings: &Settings) -> Result<Self> {
        let (kernel, grid) = choose::<T>(settings, &UPSAMPLINGS, |kernel, grid| cost::<T>(settings, kernel, grid))?;
        Ok(Self { kernel, grid })
    }

    pub fn grid(&self) -> [usize; 3] {
        self.grid
    }

    pub fn width(&self) -> usize {
        self.kernel.width()
    }

    /// Bytes of sorted points with what sorts them, at most; without their coordinates.
    pub fn point_bytes<T: DeviceReal>(&self, samples: usize) -> u64 {
        let each = 2 * T::PRECISION.complex() + 4 * size_of::<u32>();
        // Lists of tiles and parts.
        let tile = Tile::of::<T>(self.grid, self.kernel.width());
        (samples * each + 32 * tile.max_parts(self.grid, samples)[1]) as u64 + (1 << 20)
    }

    /// Bytes of a workspace for so many coils, at most, before there is a plan.
    pub fn workspace_bytes<T: DeviceReal>(&self, shape: [usize; 3], samples: usize, coils: usize) -> WorkspaceBytes {
        let tile = Tile::of::<T>(self.grid, self.kernel.width());
        let [minimum, all] = tile.max_parts(self.grid, samples).map(|n| n * tile.bytes::<T>());
        let points = self.grid.iter().product::<usize>() + shape[0] * shape[1] * self.grid[2];
        let fixed = coils * T::PRECISION.complex() * points;
        WorkspaceBytes {
            minimum: (fixed + minimum) as u64,
            preferred: (fixed + all * coils.div_ceil(tile.coils_at_once(self.grid))) as u64,
        }
    }
}

/// Nanoseconds of one coil on an H200, about; None if the kernels do not take it. Spreading costs by the window, a power of two,
/// that holds the function: so the coarsest grid with a short window is best.
fn cost<T: DeviceReal>(settings: &Settings, kernel: &Kernel, grid: [usize; 3]) -> Option<f64> {
    const POINT: f64 = 0.4;
    const GRID: f64 = 0.014;
    if grid.iter().any(|n| *n > MAX_LENGTH) || kernel.degree() >= max_terms(T::PRECISION) {
        return None;
    }
    let window = if kernel.width() <= 8 { 1.0 } else { 2f64.powi(settings.dims() as i32) };
    let bytes = T::PRECISION.bytes() as f64 / 4.0;
    let points: f64 = grid.iter().map(|n| *n as f64).product();
    Some(bytes * (settings.samples as f64 * POINT * window + points * GRID))
}

/// Transforms, both ways, between images of one shape and one set of points.
#[derive(Debug)]
pub struct Plan<T: DeviceReal> {
    choice: Choice,
    spreading: Spreading<T>,
    fft: PrunedFft,
    points: SortedPoints<T>,
}

/// Memory that transforms work in, for so many coils at a time.
#[derive(Debug)]
pub struct Workspace {
    grid: Lent,
    scratch: Lent,
    tiles: Lent,
    coils: usize,
}

impl<T: DeviceReal> Plan<T> {
    /// For images of the settings' shape and these points, in cycles per voxel.
    ///
    /// # Safety
    /// The coordinates are device memory, of x, y and (in 3-D) z, that is ready in the stream's order.
    pub unsafe fn new(device: &Arc<Device>, settings: &Settings, at: &Coordinates, stream: &Stream) -> Result<Self> {
        let choice = Choice::new::<T>(settings)?;
        let Choice { kernel, grid } = &choice;
        let spreading = Spreading::new(device, kernel.width(), kernel.coefficients(), *grid)?;
        let factors = |axis: usize| {
            let flat = grid[0] == 1 && axis == 0;
            if flat { vec![1.0] } else { kernel.factors(settings.shape[axis], grid[axis]) }
        };
        let [z, y, x] = [factors(0), factors(1), factors(2)];
        let fft = PrunedFft::new(device, settings.shape, *grid, [&z, &y, &x], T::PRECISION)?;
        // SAFETY: by this function's contract.
        let points = unsafe { SortedPoints::new(&spreading, at, stream) }?;
        Ok(Self { choice, spreading, fft, points })
    }

    pub fn choice(&self) -> &Choice {
        &self.choice
    }

    /// Bytes that the sorted points take.
    pub fn point_bytes(&self) -> u64 {
        self.points.bytes()
    }

    /// Bytes of a workspace for so many coils.
    pub fn workspace_bytes(&self, coils: usize) -> WorkspaceBytes {
        let (minimum, all) = self.spreading.tile_bytes(&self.points);
        let fixed = coils * self.grid_bytes() + self.fft.scratch_bytes(coils);
        WorkspaceBytes {
            minimum: (fixed + minimum) as u64,
            preferred: (fixed + all * coils.div_ceil(self.spreading.coils_at_once())) as u64,
        }
    }

    fn grid_bytes(&self) -> usize {
        self.choice.grid.iter().product::<usize>() * T::PRECISION.complex()
    }

    /// Memory for so many coils at a time that keeps to `limit` bytes if it can.
    pub fn workspace(&self, pool: &Arc<Pool>, coils: usize, limit: u64) -> Result<Workspace> {
        let (minimum, all) = self.spreading.tile_bytes(&self.points);
        let fixed = coils * self.grid_bytes() + self.fft.scratch_bytes(coils);
        let room = usize::try_from(limit).unwrap_or(usize::MAX).saturating_sub(fixed);
        let tiles = (all * coils.div_ceil(self.spreading.coils_at_once())).min(room).max(minimum);
        Ok(Workspace {
            grid: pool.take(coils * self.grid_bytes())?,
            scratch: pool.take(self.fft.scratch_bytes(coils))?,
            tiles: pool.take(tiles)?,
            coils,
        })
    }

    /// `values[coil][m] = sum_j images[coil][j] exp(-2 pi i k_m . (j - floor(N / 2)))`, images times maps if there are any.
    ///
    /// # Safety
    /// Images, maps and values are device memory of the plan's sizes until the stream has passed this; the GPU is current.
    pub unsafe fn forward(
        &self,
        images: &Images,
        values: Values,
        coils: usize,
        workspace: &Workspace,
        stream: &Stream,
    ) -> Result<()> {
        for (coil, some) in workspace.groups(coils)? {
            let (images, values) = self.part(images, values, coil);
            let (grid, scratch) = (workspace.grid.address(), workspace.scratch.address());
            // SAFETY: by this function's contract; the workspace is for as many coils.
            unsafe {
                self.fft.pad(&images, grid, scratch, some, Direction::Forward, stream)?;
                self.spreading.interpolate(&self.points, grid, values, some, stream)?;
            }
        }
        Ok(())
    }

    /// `images[coil][j] = sum_m values[coil][m] exp(+2 pi i k_m . (j - floor(N / 2)))`; with maps the sum over coils of their
    /// conjugates times that.
    ///
    /// # Safety
    /// As for `forward`.
    pub unsafe fn adjoint(
        &self,
        values: Values,
        images: &Images,
        coils: usize,
        workspace: &Workspace,
        stream: &Stream,
    ) -> Result<()> {
        for (coil, some) in workspace.groups(coils)? {
            let (images, values) = self.part(images, values, coil);
            let (grid, scratch) = (workspace.grid.address(), workspace.scratch.address());
            // SAFETY: as for `forward`.
            unsafe {
                self.spreading.spread(&self.points, values, grid, some, &workspace.tiles, stream)?;
                self.fft.crop(grid, (&images, coil > 0), scratch, some, Direction::Backward, stream)?;
            }
        }
        Ok(())
    }

    /// From a coil on.
    fn part(&self, images: &Images, values: Values, coil: usize) -> (Images, Values) {
        let complex = T::PRECISION.complex();
        let behind = |address: u64, stride: usize| address + (coil * stride * complex) as u64;
        let values = Values { address: behind(values.address, values.coil_stride), ..values };
        let images = match images.maps {
            Some(m) => {
                let maps = isocenter_base::gpu::fft::Maps { address: behind(m.address, m.stride), ..m };
                Images { maps: Some(maps), ..*images }
            }
            None => Images { address: behind(images.address, self.fft.voxels()), ..*images },
        };
        (images, values)
    }
}

impl Workspace {
    /// First coil and number of coils of each group.
    fn groups(&self, coils: usize) -> Result<impl Iterator<Item = (usize, usize)>> {
        let together = self.coils;
        if together == 0 {
            return Err(Error::new(Status::Internal, "a workspace for no coils"));
        }
        Ok((0..coils).step_by(together).map(move |first| (first, together.min(coils - first))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use isocenter_base::cpu::level::Level;

    #[test]
    fn every_tolerance_has_a_kernel() {
        for shape in [[128, 128, 128], [1, 256, 256], [20, 33, 5], [2048, 64, 64]] {
            for digits in 2..=12 {
                let tolerance = 10f64.powi(-digits);
                let settings = Settings { level: Level::BASELINE, ..Settings::new(shape, tolerance, 300_000) };
                let double = Choice::new::<f64>(&settings).expect("a kernel in f64");
                assert!(double.kernel.degree() < max_terms(isocenter_base::gpu::Precision::F64));
                if digits <= 6 {
                    let single = Choice::new::<f32>(&settings).expect("a kernel in f32");
                    // Spreading in f32 is fast with a short window.
                    assert!(single.width() <= 8, "{shape:?} {tolerance:e}: {}", single.width());
                }
            }
        }
    }
}
