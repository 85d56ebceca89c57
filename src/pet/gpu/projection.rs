//! Projections of one view on a GPU.

use super::array::Place;
use super::finish::Finish;
use super::gather::{Arranged, Gather};
use super::plain::Plain;
use crate::error::Result;
use crate::gpu::Queue;
use crate::pet::tables::Tables;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Adjoint,
    Forward,
}

/// Tables one after the other, for one copy to the GPU.
#[derive(Debug, Default)]
pub(super) struct Parts(Vec<u8>);

impl Parts {
    fn push(&mut self, bytes: impl Iterator<Item = [u8; 4]>) -> usize {
        // As far apart as loads of any width ask for.
        self.0.resize(self.0.len().next_multiple_of(256), 0);
        let place = self.0.len();
        self.0.extend(bytes.flatten());
        place
    }

    /// Where they begin.
    pub(super) fn push_ints(&mut self, values: impl Iterator<Item = i32>) -> usize {
        self.push(values.map(i32::to_ne_bytes))
    }

    /// Where they begin.
    pub(super) fn push_floats(&mut self, values: &[f32]) -> usize {
        self.push(values.iter().map(|v| v.to_ne_bytes()))
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

/// A view's tables as the GPU will have them.
pub(super) enum Draft {
    Gather(Box<Arranged>),
    Plain { parts: Parts, places: [usize; 3], count: usize },
}

impl Draft {
    /// `most_shared`: bytes of shared memory that a block may have.
    pub(super) fn new(place: Place, tables: &Tables, most_shared: usize) -> Result<Self> {
        if let Some(arranged) = Arranged::new(place, tables, most_shared)? {
            return Ok(Self::Gather(Box::new(arranged)));
        }
        let (parts, places, count) = Plain::parts(tables)?;
        Ok(Self::Plain { parts, places, count })
    }

    /// Bytes on the GPU: the least, and without anything made anew for every use.
    pub(super) fn bytes(&self) -> [u64; 2] {
        match self {
            Self::Gather(arranged) => arranged.bytes(),
            Self::Plain { parts, .. } => [parts.bytes().len() as u64; 2],
        }
    }
}

/// See the module.
#[derive(Debug)]
pub(super) enum Projection {
    Gather(Box<Gather>),
    Plain(Plain),
}

impl Projection {
    /// `keep`: nothing is made anew for every use.
    ///
    /// # Safety
    /// The GPU is current.
    pub(super) unsafe fn new(queue: &Queue, draft: &Draft, keep: bool) -> Result<Self> {
        Ok(match draft {
            // SAFETY: by this function's contract.
            Draft::Gather(arranged) => Self::Gather(Box::new(unsafe { Gather::new(queue, arranged, keep)? })),
            Draft::Plain { parts, places, count } => Self::Plain(Plain::new(queue, parts, *places, *count)?),
        })
    }

    pub(super) fn bytes(&self) -> u64 {
        match self {
            Self::Gather(gather) => gather.bytes(),
            Self::Plain(plain) => plain.bytes(),
        }
    }

    /// Whether launches need no memory of the pool.
    pub(super) fn is_complete(&self) -> bool {
        match self {
            Self::Gather(gather) => gather.is_complete(),
            Self::Plain(_) => true,
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
                Self::Gather(gather) => gather.launch(queue, direction, input, to),
                Self::Plain(plain) => plain.launch(queue, place, direction, input, to),
            }
        }
    }
}
