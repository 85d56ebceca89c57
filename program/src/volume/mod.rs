//! Volumes in files.

pub mod hdf5;
