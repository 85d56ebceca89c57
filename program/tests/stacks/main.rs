//! Scans in other files than HDF5: read exactly as they were written, and reconstructed as the same scan in an NXtomo file.

mod absent;
mod angles;
mod detector;
mod elsewhere;
mod entries;
mod files;
#[path = "../folder/mod.rs"]
mod folder;
mod folders;
mod halves;
mod kinds;
mod layouts;
mod missing;
mod outputs;
mod paths;
mod pixels;
mod pyhst;
mod random;
mod reading;
mod refused;
mod scans;
mod spoiled;
mod tables;
