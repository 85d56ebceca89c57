//! Transforms between a small image and a large grid, of which the image is a part or the wanted part.

use super::direction::Direction;
use super::line::{Line, Window};
use super::pass::{Kernels, Pass, Side, Steps, Sum};
use crate::error::{Result, fail};
use crate::gpu::{Device, DeviceMemory, Precision, Stream};
use std::sync::Arc;

/// Coil maps, `[coil][z][y][x]` on the device.
#[derive(Clone, Copy, Debug)]
pub struct Maps {
    pub address: u64,
    /// Elements from one coil to the next.
    pub stride: usize,
}

/// Images on the device: one for each batch; with maps, one that all batches (coils) see.
#[derive(Clone, Copy, Debug)]
pub struct Images {
    pub address: u64,
    pub maps: Option<Maps>,
}

impl Images {
    fn side(&self, side: Side) -> Side {
        self.maps.map_or(side, |m| side.shared().map(m.address))
    }

    fn map_stride(&self) -> usize {
        self.maps.map_or(0, |m| m.stride)
    }
}

/// An image `[z][y][x]` whose voxel j is at position j - n / 2 of a periodic grid `[z][y][x]`, with a real factor for each voxel
/// that is a product of one factor an axis. Two dimensions: both have nz = 1, and z's factor is 1.
#[derive(Debug)]
pub struct PrunedFft {
    image: [usize; 3],
    grid: [usize; 3],
    /// None for a grid of one plane.
    z: Option<Line>,
    y: Line,
    x: Line,
    factors: [DeviceMemory; 3],
    kernels: Kernels,
}

impl PrunedFft {
    pub fn new(
        device: &Arc<Device>,
        image: [usize; 3],
        grid: [usize; 3],
        factors: [&[f64]; 3],
        precision: Precision,
    ) -> Result<Self> {
        if image.contains(&0) || image.iter().zip(grid).any(|(n, g)| *n > g) {
            fail!(Internal, "an image of {image:?} is no part of a grid of {grid:?}");
        }
        if factors.iter().zip(image).any(|(f, n)| f.len() != n) {
            fail!(Internal, "{:?} factors are not for an image of {image:?}", factors.map(<[f64]>::len));
        }
        if grid[0] == 1 && factors[0] != [1.0] {
            fail!(Internal, "grids of one plane have no factor in z");
        }
        let line = |n| Line::new(device, n, precision);
        let upload = |f: &[f64]| match precision {
            Precision::F32 => DeviceMemory::from_slice(device, &f.iter().map(|v| *v as f32).collect::<Vec<_>>()),
            Precision::F64 => DeviceMemory::from_slice(device, f),
        };
        let [fz, fy, fx] = factors;
        Ok(Self {
            image,
            grid,
            z: if grid[0] > 1 { Some(line(grid[0])?) } else { None },
            y: line(grid[1])?,
            x: line(grid[2])?,
            factors: [upload(fz)?, upload(fy)?, upload(fx)?],
            kernels: Kernels::new(device, precision)?,
        })
    }

    /// Of an image.
    pub fn voxels(&self) -> usize {
        self.image.iter().product()
    }

    /// Bytes of scratch memory for so many batches at a time.
    pub fn scratch_bytes(&self, batches: usize) -> usize {
        let [nz, ny, _] = self.image;
        batches * nz * ny * self.grid[2] * 2 * self.y.precision().bytes()
    }

    /// Image times factors (and map), surrounded by zeros, to its transform: `[batch][nz][ny][nx]` to `[batch][gz][gy][gx]`.
    ///
    /// # Safety
    /// All three are device memory for so many batches, apart from each other, until the stream has passed this; the GPU is
    /// current.
    pub unsafe fn pad(
        &self,
        images: &Images,
        grid: u64,
        scratch: u64,
        batches: usize,
        direction: Direction,
        stream: &Stream,
    ) -> Result<()> {
        let ([nz, ny, nx], [_, _, gx]) = (self.image, self.grid);
        let small = Side::new(images.address, self.image, Window::centred(nx, gx)).factors(self.factors[2].address());
        let middle = Side::new(scratch, [nz, ny, gx], Window::all(gx));
        let x = self.pass(&self.x, 2, [nz, ny, gx], images.side(small), middle, batches, direction);
        let x = Pass { map_stride: images.map_stride(), ..x };
        // SAFETY: by this function's contract.
        unsafe { x.launch(stream)? };
        let from = Window::centred(ny, self.grid[1]);
        for part in self.planes(scratch, grid) {
            let from = Side { window: from, ..part.small }.factors(self.factors[1].address());
            let y = self.pass(&self.y, 1, [part.count, ny, gx], from, part.large, batches, direction);
            // SAFETY: as above.
            unsafe { y.launch(stream)? };
        }
        let whole = Side::new(grid, self.grid, Window::all(self.grid[0]));
        let window = Window { whole: true, ..Window::centred(nz, self.grid[0]) };
        let from = Side { window, ..whole }.factors(self.factors[0].address());
        match &self.z {
            // SAFETY: as above.
            Some(z) => unsafe { self.pass(z, 0, self.grid, from, whole, batches, direction).launch(stream) },
            None => Ok(()),
        }
    }

    /// The part of a grid's transform that the image takes, times factors: `[batch][gz][gy][gx]` to `[batch][nz][ny][nx]`; with
    /// maps the sum over the batches of their conjugates times that, which is added to the image if `add`. The grid is
    /// overwritten.
    ///
    /// # Safety
    /// As for `pad`.
    pub unsafe fn crop(
        &self,
        grid: u64,
        (images, add): (&Images, bool),
        scratch: u64,
        batches: usize,
        direction: Direction,
        stream: &Stream,
    ) -> Result<()> {
        let ([nz, ny, nx], [_, _, gx]) = (self.image, self.grid);
        if let Some(z) = &self.z {
            let whole = Side::new(grid, self.grid, Window::all(self.grid[0]));
            let window = Window { whole: true, ..Window::centred(nz, self.grid[0]) };
            let to = Side { window, ..whole }.factors(self.factors[0].address());
            // SAFETY: by this function's contract.
            unsafe { self.pass(z, 0, self.grid, whole, to, batches, direction).launch(stream)? };
        }
        let to = Window::centred(ny, self.grid[1]);
        for part in self.planes(scratch, grid) {
            let to = Side { window: to, ..part.small }.factors(self.factors[1].address());
            let y = self.pass(&self.y, 1, [part.count, ny, gx], part.large, to, batches, direction);
            // SAFETY: as above.
            unsafe { y.launch(stream)? };
        }
        let middle = Side::new(scratch, [nz, ny, gx], Window::all(gx));
        let small = Side::new(images.address, self.image, Window::centred(nx, gx)).factors(self.factors[2].address());
        let x = self.pass(&self.x, 2, [nz, ny, gx], middle, images.side(small), batches, direction);
        let sum = match images.maps {
            None => Sum::No,
            Some(_) if add => Sum::Add,
            Some(_) => Sum::Write,
        };
        // SAFETY: as above.
        unsafe { Pass { map_stride: images.map_stride(), sum, ..x }.launch(stream) }
    }

    /// The image's planes in scratch memory (without a window yet) and in the grid: those before position 0 and those from it on.
    fn planes(&self, scratch: u64, grid: u64) -> impl Iterator<Item = Planes> {
        let ([nz, ny, _], [gz, gy, gx]) = (self.image, self.grid);
        let size = 2 * self.y.precision().bytes() as u64;
        let part = move |first: usize, count: usize, plane: usize| {
            let small = Side::new(scratch + (first * ny * gx) as u64 * size, [nz, ny, gx], Window::all(gy));
            let large = Side::new(grid + (plane * gy * gx) as u64 * size, [gz, gy, gx], Window::all(gy));
            Planes { small, large, count }
        };
        [part(0, nz / 2, gz - nz / 2), part(nz / 2, nz - nz / 2, 0)].into_iter().filter(|p| p.count > 0)
    }

    #[expect(clippy::too_many_arguments)]
    fn pass<'a>(
        &'a self,
        line: &'a Line,
        axis: usize,
        lines: [usize; 3],
        from: Side,
        to: Side,
        batches: usize,
        direction: Direction,
    ) -> Pass<'a> {
        let (kernels, steps, sum) = (&self.kernels, Steps::One(line), Sum::No);
        Pass { kernels, steps, axis, lines, batches, from, to, direction, scale: 1.0, map_stride: 0, sum }
    }
}

/// Some of the image's planes.
struct Planes {
    small: Side,
    large: Side,
    count: usize,
}
