//! The command `isocenter`, from a scan file to a volume file: what it is made of.

pub mod cli;
mod commands;
pub mod frames;
#[cfg(test)]
mod mutations;
mod plan;
mod report;
mod scan;
mod volume;
pub mod watch;
