//! Integrals of an image along some lines at a time, as many as a task has.

use super::cpu::Forward;
use super::grid::Grid;
use super::list::Line;
use super::trace::Taps;
use crate::events::BLOCK;
use isocenter_base::cpu::buffer::Buffer;
use isocenter_base::cpu::level::Level;
use isocenter_base::cpu::simd::widest;
use isocenter_base::error::Result;

/// An image, as far as it is not 0: most lines miss a small source, and are not followed then.
#[derive(Debug)]
pub(crate) struct Integrals {
    grid: Grid,
    image: Buffer<f32>,
}

impl Integrals {
    /// Of values `[z][y][x]` whose middle is at `centre`, mm; None where they are 0 throughout.
    pub(crate) fn new(values: &[f32], shape: [usize; 3], voxel: [f64; 3], centre: [f64; 3]) -> Result<Option<Self>> {
        let [_, ny, nx] = shape;
        let Some([low, high]) = extent(values, shape) else { return Ok(None) };
        let size = [2, 1, 0].map(|a| high[a] - low[a]);
        let middle = |a: usize| centre[a] + voxel[a] * 0.5 * ((low[a] + high[a]) as f64 - shape[2 - a] as f64);
        let grid = Grid::new(size, voxel, std::array::from_fn(middle))?;
        let mut image = grid.zeroed()?;
        grid.fill(&mut image, |x, y, column| {
            let first = (low[2] * ny + low[1] + y) * nx + low[0] + x;
            column.iter_mut().zip(values[first..].iter().step_by(nx * ny)).for_each(|(to, v)| *to = *v);
        });
        Ok(Some(Self { grid, image }))
    }

    /// Bytes of one of so many voxels, at most.
    pub(crate) fn most_bytes(shape: [usize; 3], voxel: [f64; 3]) -> Result<u64> {
        Ok(Grid::new(shape, voxel, [0.0; 3])?.bytes())
    }

    /// Those of at most [`BLOCK`] lines.
    pub(crate) fn along(&self, level: Level, lines: &[Line], taps: &mut Taps) -> [f32; BLOCK] {
        let mut values = [0.0; BLOCK];
        widest(level, Forward { grid: &self.grid, image: &self.image, lines, taps, values: &mut values });
        values
    }
}

/// The first voxel along x, y, z that is not 0, and behind the last.
fn extent(values: &[f32], [_, ny, nx]: [usize; 3]) -> Option<[[usize; 3]; 2]> {
    let mut found = None;
    for (row, values) in values.chunks(nx).enumerate() {
        let Some(first) = values.iter().position(|v| *v != 0.0) else { continue };
        let last = values.iter().rposition(|v| *v != 0.0).unwrap_or(first);
        let (y, z) = (row % ny, row / ny);
        let [low, high] = found.get_or_insert([[first, y, z], [last + 1, y + 1, z + 1]]);
        *low = [low[0].min(first), low[1].min(y), low[2].min(z)];
        *high = [high[0].max(last + 1), high[1].max(y + 1), high[2].max(z + 1)];
    }
    found
}
