//! Projections of a view, by whichever way is the cheapest or was asked for.

use super::columns::{Columns, Layout};
use super::fourier::Fourier;
use super::gather::Gather;
use crate::engine::{Method, Projector as Choice};
use crate::expansion::Expansion;
use crate::tables::Tables;
use isocenter_base::cpu::buffer::zeros;
use isocenter_base::cpu::level::Level;
use isocenter_base::error::{Result, fail};

/// Minimum size of a projection's values, next to the largest, that is not their own error.
#[derive(Clone, Copy, Debug)]
pub(super) struct Floors {
    /// What rounding leaves in all voxels.
    pub(super) rounding: f32,
    /// With the error of the kernels, which is where the kernels are.
    pub(super) error: f32,
}

#[derive(Debug)]
pub(super) enum Projector {
    Gather(Gather),
    Fourier(Fourier, Floors),
}

/// Room that projections work in, used again.
#[derive(Debug, Default)]
pub(super) struct Room(Vec<f32>);

impl Room {
    fn of(&mut self, length: usize) -> Result<&mut [f32]> {
        if self.0.len() < length {
            self.0 = Vec::new();
            self.0 = zeros(length)?;
        }
        Ok(&mut self.0[..length])
    }
}

/// Maximum of terms that Auto looks at: with more, gathers are cheaper for any kernel.
const MAX_TERMS: usize = 12;

impl Projector {
    pub(super) fn new(tables: &Tables, layout: &Layout, level: Level, method: Method) -> Result<Self> {
        let max_rank = match method.projector {
            Choice::Gather => 0,
            Choice::Auto => MAX_TERMS,
            Choice::Fourier => usize::MAX,
        };
        let gather = Gather::cost(tables, layout);
        let worth = |rank, symmetric| {
            max_rank == usize::MAX || rank <= max_rank && Fourier::cost(tables, (rank, symmetric), layout) < gather
        };
        // What varies takes two terms or more; finding them takes as long as many projections.
        if worth(tables.identifiers().min(2), true) {
            let expansion = Expansion::new(tables, method.tolerance(), max_rank)?;
            match expansion.filter(|e| worth(e.rank(), e.symmetric())) {
                Some(expansion) => {
                    let floors = Floors { rounding: expansion.rounding(), error: expansion.projection_error() };
                    return Ok(Self::Fourier(Fourier::new(tables, &expansion, layout, level)?, floors));
                }
                None if max_rank == usize::MAX => fail!(Internal, "kernels have no expansion"),
                None => {}
            }
        }
        Gather::new(tables, layout, level).map(Self::Gather)
    }

    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Gather(gather) => gather.bytes(),
            Self::Fourier(fourier, _) => fourier.bytes(),
        }
    }

    /// Of the room that a projection works in.
    pub(super) fn room(&self) -> usize {
        match self {
            Self::Gather(_) => 0,
            Self::Fourier(fourier, _) => fourier.room() * size_of::<f32>(),
        }
    }

    /// Of Fourier transforms; sums give each value no more error than it has a part in.
    pub(super) fn floors(&self) -> Option<Floors> {
        match self {
            Self::Gather(_) => None,
            Self::Fourier(_, floors) => Some(*floors),
        }
    }

    pub(super) fn forward(&self, image: &Columns, histo: &mut Columns, room: &mut Room) -> Result<()> {
        match self {
            Self::Gather(gather) => gather.forward(image, histo),
            Self::Fourier(fourier, _) => fourier.forward(image, histo, room.of(fourier.room())?)?,
        }
        Ok(())
    }

    pub(super) fn adjoint(&self, histo: &Columns, image: &mut Columns, room: &mut Room) -> Result<()> {
        match self {
            Self::Gather(gather) => gather.adjoint(histo, image),
            Self::Fourier(fourier, _) => fourier.adjoint(histo, image, room.of(fourier.room())?)?,
        }
        Ok(())
    }
}
