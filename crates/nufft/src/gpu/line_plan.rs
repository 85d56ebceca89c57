//! Transforms between images in f32 and points on lines on a GPU, of several images side by side.

use super::line_sizes::LineSizes;
use super::lines::DeviceLines;
use super::spread::Values;
use super::transpose::{Together, Transposes};
use isocenter_base::error::{Result, fail};
use isocenter_base::gpu::fft::{Direction, Kernels, Pass, Side, Sum, Transform, Window};
use isocenter_base::gpu::{Device, DeviceMemory, Lent, Pool, Precision, Stream};
use std::sync::Arc;

/// Tables and kernels.
#[derive(Debug)]
pub struct LinePlan {
    sizes: LineSizes,
    points: DeviceLines,
    y: Transform,
    x: Transform,
    /// Along y and x.
    factors: [DeviceMemory; 2],
    fft: Kernels,
    transposes: Transposes,
}

/// Memory that transforms work in, for so many images at a time.
#[derive(Debug)]
pub struct LineWorkspace {
    memory: Lent,
    images: usize,
}

/// Images side by side in a workspace.
struct Part {
    images: usize,
    pitch: usize,
    /// Of points' values or of the transform half done, of the fine grid, and of parts of tiles.
    values: u64,
    grid: u64,
    tiles: u64,
}

impl LineWorkspace {
    /// Images that are taken at a time.
    pub fn images(&self) -> usize {
        self.images
    }

    /// Room for so many images before `forward` and after `adjoint`, which may have them there.
    pub fn room(&self) -> u64 {
        self.memory.address()
    }
}

impl LinePlan {
    pub fn new(device: &Arc<Device>, sizes: LineSizes) -> Result<Self> {
        let LineSizes { shape, choice, lists, .. } = &sizes;
        let factors = |axis: usize| {
            let exact = choice.kernel.factors(shape[axis], choice.grid[axis]);
            DeviceMemory::from_slice(device, &exact.iter().map(|v| *v as f32).collect::<Vec<_>>())
        };
        let transform = |length| Transform::new(device, length, Precision::F32);
        Ok(Self {
            points: DeviceLines::new(device, lists, choice)?,
            y: transform(choice.grid[0])?,
            x: transform(choice.grid[1])?,
            factors: [factors(0)?, factors(1)?],
            fft: Kernels::new(device, Precision::F32)?,
            transposes: Transposes::new(device)?,
            sizes,
        })
    }

    pub fn sizes(&self) -> &LineSizes {
        &self.sizes
    }

    /// The fine grid along z, y, x, and the spreading function's width.
    pub fn fine_grid(&self) -> ([usize; 3], usize) {
        let choice = &self.sizes.choice;
        ([1, choice.grid[0], choice.grid[1]], choice.kernel.width())
    }

    /// Memory for so many images at a time.
    pub fn workspace(&self, pool: &Arc<Pool>, images: usize) -> Result<LineWorkspace> {
        let bytes = usize::try_from(self.sizes.workspace_bytes(images)).unwrap_or(usize::MAX);
        Ok(LineWorkspace { memory: pool.take(bytes)?, images })
    }

    /// `values[image][m] = sum_j images[image][j] exp(-2 pi i k_m . (j - floor(N / 2)))`, for no more images than the workspace is for.
    ///
    /// # Safety
    /// Images `[image][y][x]`, which may be in the workspace's room, and values are device memory until the stream has passed this; the GPU
    /// is current.
    pub unsafe fn forward(
        &self,
        images: u64,
        values: Values,
        count: usize,
        workspace: &LineWorkspace,
        stream: &Stream,
    ) -> Result<()> {
        let part = self.part(count, workspace)?;
        // SAFETY: by this function's contract; images are not needed once they are side by side, nor what is half done once it is on the grid.
        unsafe {
            self.transposes.together(self.images(images), &self.pixels(&part), stream)?;
            self.rows(&part, Direction::Forward).launch(stream)?;
            self.columns(&part, Direction::Forward).launch(stream)?;
            self.points.interpolate(part.grid, part.values, part.pitch, stream)?;
            self.transposes.apart(&self.samples(&part), values, stream)
        }
    }

    /// `images[image][j] = sum_m values[image][m] exp(+2 pi i k_m . (j - floor(N / 2)))`, for no more images than the workspace is for.
    ///
    /// # Safety
    /// As for `forward`.
    pub unsafe fn adjoint(
        &self,
        values: Values,
        images: u64,
        count: usize,
        workspace: &LineWorkspace,
        stream: &Stream,
    ) -> Result<()> {
        let part = self.part(count, workspace)?;
        // SAFETY: as in `forward`, the other way round.
        unsafe {
            self.transposes.together(values, &self.samples(&part), stream)?;
            self.points.spread(part.values, part.grid, part.tiles, part.pitch, stream)?;
            self.columns(&part, Direction::Backward).launch(stream)?;
            self.rows(&part, Direction::Backward).launch(stream)?;
            self.transposes.apart(&self.pixels(&part), self.images(images), stream)
        }
    }

    fn part(&self, images: usize, workspace: &LineWorkspace) -> Result<Part> {
        if images == 0 || images > LineSizes::pitch(workspace.images) {
            fail!(Internal, "{images} images in a workspace for {}", workspace.images);
        }
        let ([values_bytes, grid_bytes], values) = (self.sizes.parts(images), workspace.memory.address());
        let grid = values + values_bytes;
        Ok(Part { images, pitch: LineSizes::pitch(images), values, grid, tiles: grid + grid_bytes })
    }

    fn images(&self, address: u64) -> Values {
        Values { address, coil_stride: self.sizes.pixels() }
    }

    /// The points' values side by side.
    fn samples(&self, part: &Part) -> Together {
        let Part { images, pitch, values, .. } = *part;
        Together { address: values, elements: self.sizes.samples, images, pitch }
    }

    /// Images side by side, where the grid is at other times.
    fn pixels(&self, part: &Part) -> Together {
        let Part { images, pitch, grid, .. } = *part;
        Together { address: grid, elements: self.sizes.pixels(), images, pitch }
    }

    /// Between the grid and the transform half done, `[y][grid x][image]`.
    fn columns(&self, part: &Part, direction: Direction) -> Pass<'_> {
        let ([gy, gx], ny) = (self.sizes.choice.grid, self.sizes.shape[0]);
        let grid = Side::new(part.grid, [1, gy, gx * part.pitch], Window::all(gy));
        let half_done = Side::new(part.values, [1, ny, gx * part.pitch], Window::centred(ny, gy));
        let half_done = half_done.factors(self.factors[0].address());
        self.pass(&self.y, [1, gy, gx * part.pitch], (grid, half_done), direction)
    }

    /// Between the transform half done and images side by side.
    fn rows(&self, part: &Part, direction: Direction) -> Pass<'_> {
        let (gx, [ny, nx]) = (self.sizes.choice.grid[1], self.sizes.shape);
        let half_done = Side::new(part.values, [ny, gx, part.pitch], Window::all(gx));
        let pixels = Side::new(part.grid, [ny, nx, part.pitch], Window::centred(nx, gx));
        let pixels = pixels.factors(self.factors[1].address());
        self.pass(&self.x, [ny, gx, part.pitch], (half_done, pixels), direction)
    }

    /// Between all positions, which are overwritten, and some.
    fn pass<'a>(
        &'a self,
        transform: &'a Transform,
        lines: [usize; 3],
        (whole, some): (Side, Side),
        direction: Direction,
    ) -> Pass<'a> {
        let (from, to) = if direction == Direction::Backward { (whole, some) } else { (some, whole) };
        let (kernels, steps, sum) = (&self.fft, transform.steps(whole), Sum::No);
        Pass { kernels, steps, axis: 1, lines, batches: 1, from, to, direction, scale: 1.0, map_stride: 0, sum }
    }
}

#[cfg(test)]
#[path = "line_plan_tests.rs"]
mod tests;
