//! Volumes in files.

pub mod behind;
pub mod hdf5;
pub mod journal;
