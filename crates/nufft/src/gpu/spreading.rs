//! A spreading function on the device, for the kernels of `kernels/nufft/spread.cu` and `kernels/nufft/interpolate.cu`.

use super::tile::{Tile, window};
use isocenter_base::error::{Result, fail};
use isocenter_base::gpu::{Device, DeviceMemory, DeviceReal, Function, Precision};
use std::marker::PhantomData;
use std::sync::Arc;

/// Maximum length of an axis of a fine grid: places on it are exact in f32.
const MAX_SIZE: usize = 1 << 20;

/// Maximum number of terms of a polynomial; mirrors `Polynomial::COUNT`.
pub(super) fn max_terms(precision: Precision) -> usize {
    match precision {
        Precision::F32 => 10,
        Precision::F64 => 25,
    }
}

/// A spreading function on a GPU, and the fine grid that it works on.
#[derive(Debug)]
pub(super) struct Spreading<T> {
    pub(super) device: Arc<Device>,
    /// x, y, z.
    pub(super) size: [usize; 3],
    pub(super) dims: usize,
    pub(super) width: usize,
    /// Grid points along an axis that a cell of points has in common.
    pub(super) window: usize,
    pub(super) tile: Tile,
    pub(super) coefficients: DeviceMemory,
    pub(super) kernels: Kernels,
    precision: PhantomData<T>,
}

/// Kernels for one precision, number of dimensions and window.
#[derive(Debug)]
pub(super) struct Kernels {
    pub(super) spread: Function,
    pub(super) sum: Function,
    pub(super) interpolate: Function,
}

impl<T: DeviceReal> Spreading<T> {
    /// A function of `width` grid points an axis, given as polynomials `[degree + 1][width]`, the highest power first: with
    /// g a point's place on the grid, s = ceil(g - width / 2) and z = 2 (s - g) + width - 1, grid point s + t has
    /// `sum_k coefficients[k][t] z^(degree - k)`. `shape` is that of the fine grid, as z, y, x; nz = 1 is a 2-D problem.
    pub(super) fn new(device: &Arc<Device>, width: usize, coefficients: &[f64], shape: [usize; 3]) -> Result<Self> {
        let [nz, ny, nx] = shape;
        let dims = if nz == 1 { 2 } else { 3 };
        let window = window(width);
        if !(1..=16).contains(&width) || coefficients.is_empty() || !coefficients.len().is_multiple_of(width) {
            fail!(Internal, "{} coefficients do not make a spreading function of width {width}", coefficients.len());
        }
        let (count, limit) = (coefficients.len() / width, max_terms(T::PRECISION));
        if count > limit {
            fail!(Internal, "a polynomial of {count} terms; the kernels take {limit}");
        }
        if let Some(n) = shape.iter().rev().take(dims).find(|n| !(width..=MAX_SIZE).contains(*n)) {
            fail!(Internal, "a fine grid of {n} points along an axis; between {width} and {MAX_SIZE} can be used");
        }
        // Zeros for the highest powers, and beyond the width.
        let mut table = vec![T::ZERO; limit * window];
        for (row, values) in coefficients.chunks(width).enumerate() {
            let start = (limit - count + row) * window;
            table[start..start + width].iter_mut().zip(values).for_each(|(to, v)| *to = T::of(*v));
        }
        let variant = format!("{}_{dims}d_{window}", T::PRECISION.suffix());
        let kernel = |image, verb| device.function(image, &format!("{verb}_{variant}"));
        let kernels = Kernels {
            spread: kernel(&crate::images::SPREAD, "spread")?,
            sum: kernel(&crate::images::SPREAD, "sum")?,
            interpolate: kernel(&crate::images::INTERPOLATE, "interpolate")?,
        };
        Ok(Self {
            device: device.clone(),
            size: [nx, ny, nz],
            dims,
            width,
            window,
            tile: Tile::of::<T>(shape, width),
            coefficients: DeviceMemory::from_slice(device, &table)?,
            kernels,
            precision: PhantomData,
        })
    }

    /// Tiles along x, y, z.
    pub(super) fn tiles(&self) -> [usize; 3] {
        [0, 1, 2].map(|a| self.size[a].div_ceil(self.tile.own[a]))
    }

    /// Coils that the kernels take side by side.
    pub(super) fn coils_at_once(&self) -> usize {
        if self.dims == 3 { 1 } else { self.tile.planes_at_once }
    }

    /// Shared memory of a block of spreading: its planes, and 33 times `Stamp`.
    pub(super) fn spread_shared(&self) -> usize {
        let (real, planes) = (size_of::<T>(), self.tile.planes_at_once);
        self.tile.in_block.next_multiple_of(2) * 2 * real + 33 * (2 * (self.window + planes) * real + 32)
    }

    /// Shared memory of a block of interpolation: its tile, and the weights of 8 points for each of 8 warps.
    pub(super) fn interpolate_shared(&self) -> usize {
        let real = size_of::<T>();
        let tile = if self.window == 8 { self.tile.count.next_multiple_of(2) * 2 * real } else { 0 };
        tile + 8 * 8 * 3 * self.window * real
    }
}
