//! Scans in other files than HDF5: read exactly as they were written, and reconstructed as the same scan in an NXtomo file.

mod absent;
mod angles;
mod corpora;
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
mod lost;
mod missing;
mod outputs;
mod paths;
mod pixels;
mod pyhst;
mod random;
#[allow(dead_code)] // Part of another crate elsewhere.
#[path = "../../../fuzz/src/readers/mod.rs"]
mod readers;
mod reading;
mod refused;
mod scans;
mod spoiled;
mod tables;
mod wide;
