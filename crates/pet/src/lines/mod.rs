//! List-mode events as lines through the image, with time of flight or without: the projector of lists whose times tell too little for histo-images, or differ in how exact they are.
//!
//! An event with ends p1, p2 expects `m (J G f + b)`: G blurs the image by what detectors do, J is the sum along the line ([`trace`]), m the part that is measured and b what is measured besides.

mod blur;
mod calls;
mod counted;
mod cpu;
mod grid;
mod integrals;
mod list;
mod measured;
mod normal;
mod part;
mod through;
mod trace;

pub use calls::LinesOf;
pub use list::{Ends, ListArrays, no_times};
pub(crate) use {
    blur::Blur, counted::Counted, cpu::Lines, cpu::copies, grid::Grid, integrals::Integrals, list::Line, part::Part,
    through::Through, trace::Packed, trace::Taps,
};

#[cfg(test)]
pub(crate) mod tests;
