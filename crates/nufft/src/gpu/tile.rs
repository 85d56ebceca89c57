//! How grids are divided into tiles, and the points of a tile into parts: `kernels/nufft/points.cuh`.

use isocenter_base::gpu::DeviceReal;

/// Mirrors `Tile` and `Padded`; extents as x, y, z.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tile {
    /// Grid points that are no other tile's.
    pub(super) own: [usize; 3],
    pub(super) planes_at_once: usize,
    planes_per_warp: usize,
    /// Planes of a tile with its margin.
    pub(super) planes: usize,
    /// Complex values of a tile with its margin.
    pub(super) count: usize,
    /// Those that a block of spreading holds at a time.
    pub(super) in_block: usize,
}

impl Tile {
    fn new(double: bool, dims: usize, window: usize) -> Self {
        let (own, planes_at_once, planes_per_warp) = match (double, dims, window) {
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
        Self {
            own,
            planes_at_once,
            planes_per_warp,
            planes: nz,
            count: nz * ny * row,
            in_block: slots.min(nz) * ny * row,
        }
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

    /// Maximum number of parts that so many points make: of the layers that reach into one, and of all.
    pub(super) fn max_parts(&self, [nz, ny, nx]: [usize; 3], points: usize) -> [usize; 2] {
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
        self.planes_at_once / self.planes_per_warp * 32
    }
}

/// Grid points along an axis that kernels work on together: a power of two.
pub(super) fn window(width: usize) -> usize {
    if width <= 8 { 8 } else { 16 }
}

/// Maximum number of points of a part: few enough that blocks end together, many enough that tiles are not summed too often.
pub(super) fn part_limit(count: usize) -> usize {
    (count / 2048).clamp(512, 4096)
}
