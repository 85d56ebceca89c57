//! Directions and lines of all views, before they are made.

use super::cones::{Cone, Count, Direction, Lines, cones};
use super::{MAX_DIRECTIONS, OfView};
use crate::lattice::Lattice;
use crate::views::{Strip, Views};
use isocenter_base::cpu::buffer::{collected, reserved};
use isocenter_base::error::{Result, fail};

/// Which directions lines of each view are taken in.
#[derive(Debug)]
pub(crate) struct Sampling {
    cells: Vec<Vec<Strip>>,
    directions: usize,
    /// Of each view.
    pub(super) counts: Vec<(Count, Lines)>,
}

impl Sampling {
    /// About so many `directions` of each view.
    pub(crate) fn new(views: &Views, lattice: &Lattice, directions: usize) -> Result<Self> {
        if !(1..=MAX_DIRECTIONS).contains(&directions) {
            fail!(OutOfRange, "options.directions is {directions}; it must be 1 to {MAX_DIRECTIONS}");
        }
        let of_view = |cell: &Vec<_>| {
            let count = Count::of(cell, directions);
            match Lines::new(lattice, count.steepest) {
                Some(lines) => Ok((count, lines)),
                None => fail!(OutOfRange, "geometry.max_tilt is {} rad: lines so steep are too many", views.max_tilt()),
            }
        };
        let cells = views.cells();
        let counts = collected(cells.iter().map(of_view))?.into_iter().collect::<Result<_>>()?;
        Ok(Self { cells, directions, counts })
    }

    /// Bytes of host memory, of it and of what it makes.
    pub(super) fn bytes(&self) -> u64 {
        let strips = self.cells.iter().map(|cell| size_of_val(&cell[..]) as u64).sum::<u64>();
        let a_view = size_of::<Vec<Strip>>() + size_of::<(Count, Lines)>() + size_of::<OfView>();
        let of_view = |(count, _): &(Count, Lines)| {
            (a_view + count.cones * size_of::<Cone>() + count.directions * size_of::<Direction>()) as u64
        };
        strips + self.counts.iter().map(of_view).sum::<u64>()
    }

    pub(crate) fn into_views(self) -> Result<Vec<OfView>> {
        let Self { cells, directions, counts } = self;
        let mut views = reserved(cells.len())?;
        for (cell, (_, lines)) in cells.iter().zip(counts) {
            views.push((cones(cell, directions)?, lines));
        }
        Ok(views)
    }
}
