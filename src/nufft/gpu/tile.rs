//! How grids are divided into tiles, and the spreading function on the device: `kernels/nufft/points.cuh`.

use super::sort::part_limit;
use crate::error::{Result, fail};
use crate::gpu::{Device, DeviceMemory, DeviceReal, Function, Precision};
use std::marker::PhantomData;
use std::sync::Arc;

/// Terms of a polynomial; mirrors `Polynomial::COUNT`.
pub(crate) fn terms(precision: Precision) -> usize {
    match precision {
        Precision::F32 => 10,
        Precision::F64 => 25,
    }
}

/// Mirrors `Tile` and `Padded`; extents as x, y, z.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tile {
    pub(super) own: [usize; 3],
    pub(super) planes_at_once: usize,
    planes_a_warp: usize,
    /// Planes of a tile with its margin.
    pub(super) planes: usize,
    /// Complex values of a tile with its margin.
    pub(super) count: usize,
    /// Those that a block of spreading holds.
    kept: usize,
}

impl Tile {
    fn new(double: bool, dims: usize, window: usize) -> Self {
        let (own, planes_at_once, planes_a_warp) = match (double, dims, window) {
            (false, 3, 8) => ([16, 8, 16], 8, 2),
            (true, 3, 8) => ([16, 8, 8], 8, 2),
            (_, 2, 8) => ([16, 16, 1], 8, 2),
            (_, 3, _) => ([8, 8, 16], 4, 1),
            _ => ([8, 8, 1], 4, 1),
        };
        let [nx, ny, nz] = own.map(|n| n + window - 1);
        let nz = if dims == 3 { nz } else { planes_at_once };
        let row = if double { nx } else { (nx + 7) / 16 * 16 + 8 };
        let slots = if dims == 3 { nz.div_ceil(window) * planes_at_once } else { planes_at_once };
        Self { own, planes_at_once, planes_a_warp, planes: nz, count: nz * ny * row, kept: slots.min(nz) * ny * row }
    }

    /// For a function of this width on a fine grid `[z][y][x]`.
    pub(super) fn of<T: DeviceReal>(shape: [usize; 3], width: usize) -> Self {
        Self::new(size_of::<T>() == 8, if shape[0] == 1 { 2 } else { 3 }, window(width))
    }

    /// Coils that the kernels take side by side.
    pub(super) fn coils_at_once(&self, shape: [usize; 3]) -> usize {
        if shape[0] == 1 { self.planes_at_once } else { 1 }
    }

    /// Bytes of a tile with its margin.
    pub(super) fn bytes<T>(&self) -> usize {
        self.count * 2 * size_of::<T>()
    }

    /// Parts that so many points can make at most: of the layers that reach into one, and of all.
    pub(super) fn most_parts(&self, [nz, ny, nx]: [usize; 3], points: usize) -> [usize; 2] {
        let layer = nx.div_ceil(self.own[0]) * ny.div_ceil(self.own[1]);
        let layers = nz.div_ceil(self.own[2]);
        // A layer, those that its margin comes from, and a last one that may be thin.
        let reaching = (2 + self.planes.div_ceil(self.own[2])).min(layers);
        [reaching, layers].map(|n| (n * layer).min(points) + points / part_limit(points))
    }

    /// Blocks that sum a tile: of 256 threads, each of which takes up to 4 points.
    pub(super) fn sum_blocks(&self, dims: usize) -> usize {
        let [nx, ny, nz] = self.own;
        (nx * ny * if dims == 3 { nz } else { self.planes_at_once }).div_ceil(4 * 256)
    }

    /// Threads of a block of spreading.
    pub(super) fn threads(&self) -> usize {
        self.planes_at_once / self.planes_a_warp * 32
    }
}

/// A spreading function on a GPU, and the fine grid that it works on.
#[derive(Debug)]
pub(crate) struct Spreading<T> {
    pub(super) device: Arc<Device>,
    /// x, y, z.
    pub(super) size: [usize; 3],
    pub(super) dims: usize,
    pub(super) width: usize,
    /// Grid points an axis that a cell of points has in common.
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
    pub(crate) fn new(device: &Arc<Device>, width: usize, coefficients: &[f64], shape: [usize; 3]) -> Result<Self> {
        let [nz, ny, nx] = shape;
        let dims = if nz == 1 { 2 } else { 3 };
        let window = window(width);
        if !(1..=16).contains(&width) || coefficients.is_empty() || !coefficients.len().is_multiple_of(width) {
            fail!(Internal, "{} coefficients do not make a spreading function of width {width}", coefficients.len());
        }
        let (count, most) = (coefficients.len() / width, terms(T::PRECISION));
        if count > most {
            fail!(Internal, "a polynomial of {count} terms; the kernels take {most}");
        }
        if let Some(n) = shape.iter().rev().take(dims).find(|n| !(width..=MAX_SIZE).contains(*n)) {
            fail!(Internal, "a fine grid of {n} points along an axis; between {width} and {MAX_SIZE} can be used");
        }
        // Zeros for the highest powers, and beyond the width.
        let mut table = vec![T::ZERO; most * window];
        for (row, values) in coefficients.chunks(width).enumerate() {
            let start = (most - count + row) * window;
            table[start..start + width].iter_mut().zip(values).for_each(|(to, v)| *to = T::of(*v));
        }
        let variant = format!("{}_{dims}d_{window}", T::PRECISION.suffix());
        let kernel = |image, verb| device.function(image, &format!("{verb}_{variant}"));
        let kernels = Kernels {
            spread: kernel("nufft/spread", "spread")?,
            sum: kernel("nufft/spread", "sum")?,
            interpolate: kernel("nufft/interpolate", "interpolate")?,
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
        self.tile.kept.next_multiple_of(2) * 2 * real + 33 * (2 * (self.window + planes) * real + 32)
    }

    /// Shared memory of a block of interpolation: its tile, and the weights of 8 points for each of 8 warps.
    pub(super) fn interpolate_shared(&self) -> usize {
        let real = size_of::<T>();
        let tile = if self.window == 8 { self.tile.count.next_multiple_of(2) * 2 * real } else { 0 };
        tile + 8 * 8 * 3 * self.window * real
    }
}

/// Grid points an axis that kernels work on together: a power of two.
fn window(width: usize) -> usize {
    if width <= 8 { 8 } else { 16 }
}

/// Longest axis of a fine grid: places on it are exact in f32.
const MAX_SIZE: usize = 1 << 20;
