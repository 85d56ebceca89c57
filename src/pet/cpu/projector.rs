//! Projections of a view, by whichever way is the cheapest or was asked for.

use super::columns::{Columns, Layout};
use super::gather::Gather;
use crate::cpu::level::Level;
use crate::error::Result;
use crate::pet::tables::Tables;

#[derive(Debug)]
pub(super) enum Projector {
    Gather(Gather),
}

impl Projector {
    pub(super) fn new(tables: &Tables, layout: &Layout, level: Level) -> Result<Self> {
        Gather::new(tables, layout, level).map(Self::Gather)
    }

    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Gather(gather) => gather.bytes(),
        }
    }

    pub(super) fn forward(&self, image: &Columns, histo: &mut Columns) {
        match self {
            Self::Gather(gather) => gather.forward(image, histo),
        }
    }

    pub(super) fn adjoint(&self, histo: &Columns, image: &mut Columns) {
        match self {
            Self::Gather(gather) => gather.adjoint(histo, image),
        }
    }
}
