//! Iterations on a GPU: vectors stay in its memory, slice after slice, and all numbers that steps depend on too, so that the host only
//! has to keep it busy.

mod change;
mod factors;
mod fista;
mod kernels;
mod launches;
mod pair;
mod pieces;
mod prepared;
mod resident;
mod rings;
mod sizes;
mod slab;
mod smooth;
mod space;
mod variation;

pub(super) use kernels::Kernels;
pub(super) use pieces::{LEAST, Piece, Pieces, worth};
pub(super) use prepared::Prepared;
pub(super) use sizes::{bytes, convolution_bytes, wanted};
pub(super) use slab::{Ends, Slab};
