//! Volumes in files.

pub mod hdf5;
pub mod journal;
