//! Iterations on the processor: slices side by side in lanes, as the pair of projectors reads them, from the first iteration to the last.

mod banded;
mod changes;
mod factors;
mod fista;
mod pairs;
mod pointwise;
mod polish;
mod resident;
mod rings;
mod smooth;
mod space;
mod variation;
mod work;

pub(super) use work::Iterate;
