//! The command `isocenter`, from a scan file to a volume file: what it is made of.

pub mod cli;
mod commands;
mod disk;
pub mod frames;
pub mod memory;
#[cfg(test)]
mod mutations;
mod names;
#[doc(hidden)]
pub mod pet;
#[doc(hidden)]
pub mod plan;
mod report;
#[doc(hidden)]
pub mod scan;
mod seams;
mod sheet;
pub mod status;
mod stopwatch;
#[doc(hidden)]
pub mod table;
pub mod talk;
pub mod team;
mod view;
pub mod volume;
mod watch;
mod words;
