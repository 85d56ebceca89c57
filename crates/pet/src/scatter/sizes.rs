//! How much host memory an estimate takes.

use super::places::A_CELL;
use super::{Coarse, Grid, Line, Nodes, Ray, Scatter, cell};
use crate::factors::AttenuationMap;
use crate::lattice::Lattice;
use crate::scanner::Crystals;
use isocenter_base::error::Result;

fn floats(n: usize) -> u64 {
    (n as u64).saturating_mul(size_of::<f32>() as u64)
}

/// Bytes of copies of the image and of the map, of their grids, and of places in the map.
pub(crate) fn input(lattice: &Lattice, crystals: &Crystals, map: &AttenuationMap) -> Result<u64> {
    let cell = cell(&Nodes::new(crystals)?);
    let [nz, ny, nx] = map.shape;
    let activity = Grid::bytes(lattice.along(), lattice.voxel(), cell);
    let attenuation = Grid::bytes([nx, ny, nz], map.voxel, cell);
    let copy = floats(1).saturating_mul(nz as u64 * ny as u64 * nx as u64);
    let of_places = (attenuation.grid / floats(1)).saturating_mul(A_CELL as u64);
    // Places are found after there are grids. Tails have a grid of their own.
    let at_a_time = activity.making.max(attenuation.making).max(of_places);
    let grids = [copy, floats(lattice.voxels()), activity.grid, attenuation.grid, attenuation.grid];
    Ok(grids.into_iter().fold(at_a_time, u64::saturating_add))
}

/// Bytes of what is computed of that, on the processor; `factors`: those of a view's.
pub(crate) fn work(of: &Scatter, factors: u64) -> u64 {
    let Scatter { nodes, places, times, lines, .. } = of;
    let nodes = nodes.count() as u64;
    let rays = nodes * places.len() as u64 * (size_of::<Ray>() as u64 + floats(times.along));
    let pairs = nodes * nodes * floats(times.about);
    let (points, views) = (floats(Coarse::new(of).points()), lines.len() as u64);
    // Pairs of ways; points of them, a view's three times; factors times these and tails.
    let at_a_time = (rays + pairs).max(pairs + (views + 2) * points).max(factors.saturating_add(2 * views * points));
    at_a_time.saturating_add(of_lines(lines))
}

/// Bytes of lines.
pub(crate) fn of_lines(lines: &[Vec<Line>]) -> u64 {
    lines.iter().map(|lines| size_of_val(&lines[..]) + size_of::<Vec<Line>>()).sum::<usize>() as u64
}
