//! How much memory factors take, before they are made.

use super::attenuation::{AttenuationMap, Map};
use super::cones::FINE;
use super::sampling::Sampling;
use super::tables::Between;
use crate::lattice::Lattice;
use crate::scanner::{Pairs, Plane, Scanner, Surface};
use isocenter_base::error::Result;

/// What their memory depends on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    crystals: u64,
    /// Bytes of their pairs' efficiencies.
    pairs: u64,
    /// Of the surface's maps.
    cells: u64,
    /// Bytes while the surface and the views are made.
    made: u64,
    /// Values of the caller's attenuation map; values of the map that is made of it, and bytes while that is made.
    copied: u64,
    map: [u64; 2],
    /// Bytes on the processor: of a volume, and of the lines of a cone.
    work: u64,
    /// Largest of any view: numbers of cones' cells, of directions' lines, of directions and cones, and of lines across the axis.
    pub(crate) cone_cells: usize,
    pub(crate) lines: usize,
    pub(crate) directions: usize,
    pub(crate) across: usize,
}

impl Sizes {
    pub(crate) fn new(
        (sampling, lattice): (&Sampling, &Lattice),
        scanner: &Scanner,
        map: Option<&AttenuationMap>,
    ) -> Result<Self> {
        let surface = Surface::size(&scanner.crystals)?;
        let mut sizes = Self {
            crystals: scanner.crystals.count() as u64,
            pairs: scanner.pairs.as_ref().map_or(0, Pairs::bytes),
            cells: surface.cells as u64,
            made: surface.making + sampling.bytes(),
            copied: map.map_or(0, |map| map.shape.iter().map(|n| *n as u64).product()),
            map: map.map_or([0; 2], |map| Map::size(map, lattice)),
            work: 0,
            cone_cells: 0,
            lines: 0,
            directions: 0,
            across: 0,
        };
        for (count, lines) in &sampling.counts {
            // Bytes of one direction's lines fit 64 bits; those of all may not.
            let (cells, rows) = (lines.len(), FINE * lines.count[0]);
            let of_lines = count.most.saturating_mul(FINE * FINE * cells * size_of::<f32>());
            let of_rows = count.most.saturating_mul(rows * size_of::<Between>());
            let work = [cells * size_of::<f32>(), of_lines, of_rows].into_iter().fold(0, usize::saturating_add);
            sizes.work = sizes.work.max(work as u64);
            sizes.cone_cells = sizes.cone_cells.max(count.cones.saturating_mul(cells));
            sizes.lines = sizes.lines.max(count.directions.saturating_mul(FINE * FINE * cells));
            sizes.directions = sizes.directions.max(count.directions + count.cones);
            sizes.across = sizes.across.max(count.directions.saturating_mul(rows));
        }
        sizes.work = sizes.work.saturating_add((lattice.voxels() * size_of::<f32>()) as u64);
        Ok(sizes)
    }

    /// Bytes of host memory that factors take with all that they are made of: the caller's efficiencies and map are copied. `by_gpu`: bytes of a direction, if
    /// a GPU computes them.
    pub(crate) fn host(&self, by_gpu: Option<usize>) -> u64 {
        let [_, map] = self.map;
        let copy = self.copied.saturating_mul(size_of::<f32>() as u64);
        // The map is made of the copy, then there is work with that.
        let at_a_time = map.saturating_add(copy.max(self.work(by_gpu)));
        self.kept().saturating_add(at_a_time)
    }

    /// Of these, those of all but the map and the work.
    pub(crate) fn kept(&self) -> u64 {
        // Efficiencies, and the caller's.
        2 * self.crystals * size_of::<f32>() as u64 + self.made
    }

    /// Of these, those of the work.
    pub(crate) fn work(&self, by_gpu: Option<usize>) -> u64 {
        // A view's directions on their way.
        by_gpu.map_or(self.work, |direction| (self.directions * direction) as u64)
    }

    /// Bytes of a GPU's memory, with volumes of so many, of directions and between.
    pub(crate) fn gpu(&self, volume: usize, direction: usize) -> u64 {
        let [map, _] = self.map;
        let map = if map > 0 { map.saturating_add(self.cone_cells as u64) } else { 0 };
        let floats = map.saturating_add(self.lines as u64).saturating_add(self.crystals + self.cells);
        let rows = self.across.saturating_mul(size_of::<Between>()) as u64;
        // A copy on its way to the caller besides.
        let others = self.crystals * size_of::<Plane>() as u64 + (self.directions * direction + 2 * volume) as u64;
        floats.saturating_mul(size_of::<f32>() as u64).saturating_add(rows).saturating_add(others + self.pairs)
    }
}
