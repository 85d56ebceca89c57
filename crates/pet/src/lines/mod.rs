//! List-mode events as lines through the image, with time of flight or without: the projector of lists whose times tell too little for histo-images, or differ in how exact they are.
//!
//! An event with ends p1, p2 expects `m (J G f + b)`: G blurs the image by what detectors do, J is the sum along the line ([`trace`]), m the part that is measured and b what is measured besides.

mod blur;
mod cpu;
mod grid;
mod list;
mod normal;
mod trace;

pub use list::{Ends, ListArrays, no_times};
pub(crate) use {blur::Blur, cpu::Lines, cpu::Part, grid::Grid, list::List};

#[cfg(test)]
mod tests;
