//! Forward projection and adjoint of one view by Fourier transforms along x and y: one convolution for each term of the
//! kernels' expansion. Along z, where kernels are short, sums stay sums, of a few planes for each frequency.
//!
//! Columns of voxels along z in SIMD lanes. Two rows make one complex line. Grids are longer than the lattice by the kernel's
//! reach, so that what is cyclic does not show.

mod project;
mod stages;
#[cfg(test)]
mod tests;

use super::columns::Layout;
use crate::expansion::Expansion;
use crate::spectrum::{Slices, spectrum};
use crate::tables::Tables;
use isocenter_base::cpu::buffer::copied;
use isocenter_base::cpu::lanes::{LaneFft, cost, good_length};
use isocenter_base::cpu::level::Level;
use isocenter_base::error::{Result, fail};

/// Projections of one view.
#[derive(Clone, Debug)]
pub(crate) struct Fourier {
    pub(super) layout: Layout,
    pub(super) level: Level,
    pub(super) along_x: LaneFft,
    pub(super) along_y: LaneFft,
    pub(super) slices: Slices,
    pub(super) grid: Grid,
    /// `[term][kx][ky][float]`
    spectra: Vec<Vec<f32>>,
    pub(super) map: Vec<u32>,
    /// `[term][identifier]`, none where all are 1.
    pub(super) coefficients: Vec<Vec<f32>>,
    axial: Vec<f32>,
}

/// Sizes of what is transformed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grid {
    /// Along x from 0 to half the length.
    pub(super) half: usize,
    /// Vectors along z.
    pub(super) vectors: usize,
    /// Along z, of whole vectors.
    pub(super) deep: usize,
    /// Zeros before and after each column along z, where neighbours along z are summed.
    pub(super) pad: usize,
}

impl Grid {
    /// Floats of a term's rows, `[kx][vector along z][y][re, im]`.
    fn lines(self, ny: usize) -> usize {
        self.half * self.line_column(ny)
    }

    /// From kx to kx in those: an odd number of cache lines, so that one y of all kx spreads over the sets of the caches.
    pub(super) fn line_column(self, ny: usize) -> usize {
        const LINE: usize = 16;
        ((self.deep * ny * 2).div_ceil(LINE) | 1) * LINE
    }
}

impl Fourier {
    pub(crate) fn new(tables: &Tables, expansion: &Expansion, layout: &Layout, level: Level) -> Result<Self> {
        let [nz, ny, nx] = layout.shape;
        if tables.map().len() != nx * ny {
            fail!(TensorShape, "the map has {} entries; the lattice has {ny} x {nx}", tables.map().len());
        }
        if tables.axial().len() / 2 > layout.margin {
            let (reach, margin) = (tables.axial().len() / 2, layout.margin);
            fail!(OutOfRange, "the response reaches {reach} voxels along z; the columns' margin is {margin}");
        }
        let [x, y, z] = reach(tables);
        let [along_x, along_y] = [nx + x, ny + y].map(|minimum| LaneFft::new(good_length(minimum), level));
        let slices = Slices { reach: z, even: expansion.symmetric() };
        let vectors = nz.div_ceil(level.lanes());
        let grid =
            Grid { half: along_x.len() / 2 + 1, vectors, deep: vectors * level.lanes(), pad: z.next_multiple_of(8) };
        // Twice what two rows share; both inverse transforms are unscaled.
        let scale = (0.5 / (along_x.len() * along_y.len()) as f64) as f32;
        let of = |term| {
            spectrum(tables.offsets(), expansion.term(term), slices, [along_x.len(), along_y.len()], scale, level)
        };
        let spectra = (0..expansion.rank()).map(of).collect::<Result<_>>()?;
        let (mut map, mut coefficients) = (Vec::new(), Vec::new());
        if !expansion.invariant() {
            map = copied(tables.map())?;
            let of = |term| copied(expansion.coefficients(term));
            coefficients = (0..expansion.rank()).map(of).collect::<Result<_>>()?;
        }
        let axial = copied(tables.axial())?;
        Ok(Self { layout: *layout, level, along_x, along_y, slices, grid, spectra, map, coefficients, axial })
    }

    /// Bytes that it holds.
    pub(crate) fn bytes(&self) -> usize {
        let floats = |v: &[Vec<f32>]| v.iter().map(|v| size_of_val(v.as_slice())).sum::<usize>();
        let transforms = self.along_x.bytes() + self.along_y.bytes();
        floats(&self.spectra) + floats(&self.coefficients) + size_of_val(self.map.as_slice()) + transforms
    }

    /// Convolutions of a projection.
    pub(crate) fn rank(&self) -> usize {
        self.spectra.len()
    }

    /// Floats that a projection works in.
    pub(crate) fn room(&self) -> usize {
        self.group() * self.grid.lines(self.layout.shape[1])
    }

    /// About the time of a projection, in the unit of [`super::gather::Gather::cost`]. Factors were measured at the AVX2 level:
    /// what lies between the transforms costs as much again as they do.
    pub(crate) fn cost(tables: &Tables, (rank, symmetric): (usize, bool), layout: &Layout) -> f64 {
        let [nz, ny, nx] = layout.shape;
        let [x, y, z] = reach(tables);
        let [lx, ly] = [good_length(nx + x), good_length(ny + y)];
        let (half, rank) = ((lx / 2 + 1) as f64, rank as f64);
        let transforms = 0.5 * ny as f64 * cost(lx) + half * cost(ly);
        let neighbours = if symmetric { 4.0 * z as f64 } else { 8.0 * z as f64 };
        let band = 1.6 * half * ly as f64 * neighbours;
        nz.div_ceil(8) as f64 * ((4.4 + 3.0 * (rank - 1.0)) * transforms + rank * band)
    }

    /// Terms that are projected at once: more would save a transform each time, and need more room.
    fn group(&self) -> usize {
        const ROOM: usize = 1 << 26;
        (ROOM / self.grid.lines(self.layout.shape[1])).clamp(1, self.rank())
    }
}

/// Voxels that the kernels reach along x, y, z.
fn reach(tables: &Tables) -> [usize; 3] {
    let farthest = |d: usize| tables.offsets().iter().map(|o| o[d].unsigned_abs() as usize).max().unwrap_or(0);
    [farthest(0), farthest(1), farthest(2)]
}
