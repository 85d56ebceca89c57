//! Projections of one view on a GPU.

use super::arranged::Arranged;
use super::array::Place;
use super::finish::Finish;
use super::fourier::{Fourier, Shared, Spectra};
use super::gather::Gather;
use super::parts::Parts;
use super::plain::Plain;
use crate::direction::Direction;
use crate::engine::{Method, Projector};
use crate::expansion::Expansion;
use crate::tables::Tables;
use isocenter_base::cpu::level::Level;
use isocenter_base::error::{Result, fail};
use isocenter_base::gpu::Queue;

/// A view's tables as the GPU will have them.
pub(super) enum Draft {
    Fourier(Box<Spectra>),
    Gather(Box<Arranged>),
    Plain { parts: Parts, places: [usize; 3], count: usize },
}

impl Draft {
    /// `max_shared`: bytes of shared memory that a block may have.
    pub(super) fn new(place: Place, tables: &Tables, method: Method, level: Level, max_shared: usize) -> Result<Self> {
        if let Some(spectra) = spectra(place, tables, method, level)? {
            return Ok(Self::Fourier(Box::new(spectra)));
        }
        if let Some(arranged) = Arranged::new(place, tables, max_shared)? {
            return Ok(Self::Gather(Box::new(arranged)));
        }
        let (parts, places, count) = Plain::parts(tables)?;
        Ok(Self::Plain { parts, places, count })
    }

    /// Bytes on the GPU: the minimum, and without anything made anew for every use.
    pub(super) fn bytes(&self) -> [u64; 2] {
        match self {
            Self::Fourier(spectra) => [spectra.bytes(); 2],
            Self::Gather(arranged) => arranged.bytes(),
            Self::Plain { parts, .. } => [parts.bytes().len() as u64; 2],
        }
    }

    /// Bytes that projections work in, one after the other.
    pub(super) fn work(&self) -> u64 {
        match self {
            Self::Fourier(spectra) => spectra.work(),
            Self::Gather(_) | Self::Plain { .. } => 0,
        }
    }
}

/// Of a view that is projected by Fourier transforms.
fn spectra(place: Place, tables: &Tables, method: Method, level: Level) -> Result<Option<Spectra>> {
    let asked = method.projector == Projector::Fourier;
    // To find the expansion of kernels that vary takes longer than projections may save.
    let max_rank = match method.projector {
        Projector::Fourier => usize::MAX,
        Projector::Auto
            if tables.identifiers() == 1 && Spectra::cost(place, tables) < Arranged::cost(place, tables) =>
        {
            1
        }
        Projector::Auto | Projector::Gather => return Ok(None),
    };
    let made = match Expansion::new(tables, method.tolerance(), max_rank)? {
        Some(expansion) => Spectra::new(place, tables, &expansion, level)?,
        None => None,
    };
    if made.is_none() && asked {
        fail!(OutOfRange, "a lattice of {:?} voxels is too large for Fourier transforms", place.shape);
    }
    Ok(made)
}

/// A projection and its transpose, by the method that suits the tables.
#[derive(Debug)]
pub(super) enum Projection {
    Fourier(Box<Fourier>),
    Gather(Box<Gather>),
    Plain(Plain),
}

impl Projection {
    /// `keep`: nothing is made anew for every use.
    ///
    /// # Safety
    /// The GPU is current.
    pub(super) unsafe fn new(queue: &Queue, draft: &Draft, shared: &Shared, keep: bool) -> Result<Self> {
        Ok(match draft {
            Draft::Fourier(spectra) => Self::Fourier(Box::new(Fourier::new(queue, spectra, shared)?)),
            // SAFETY: by this function's contract.
            Draft::Gather(arranged) => Self::Gather(Box::new(unsafe { Gather::new(queue, arranged, keep)? })),
            Draft::Plain { parts, places, count } => Self::Plain(Plain::new(queue, parts, *places, *count)?),
        })
    }

    pub(super) fn bytes(&self) -> u64 {
        match self {
            Self::Fourier(fourier) => fourier.bytes(),
            Self::Gather(gather) => gather.bytes(),
            Self::Plain(plain) => plain.bytes(),
        }
    }

    /// Whether launches need no memory of the pool.
    pub(super) fn is_complete(&self) -> bool {
        match self {
            Self::Gather(gather) => gather.is_complete(),
            Self::Fourier(_) | Self::Plain(_) => true,
        }
    }

    /// # Safety
    /// Volumes of this shape, in use by the queue's stream alone; the GPU is current.
    pub(super) unsafe fn launch(
        &self,
        queue: &Queue,
        place: Place,
        direction: Direction,
        input: u64,
        to: Finish,
    ) -> Result<()> {
        // SAFETY: by this function's contract.
        unsafe {
            match self {
                Self::Fourier(fourier) => fourier.launch(queue, direction, input, to),
                Self::Gather(gather) => gather.launch(queue, direction, input, to),
                Self::Plain(plain) => plain.launch(queue, place, direction, input, to),
            }
        }
    }
}
