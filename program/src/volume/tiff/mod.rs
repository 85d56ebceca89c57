//! TIFF: one file of pages, or a folder of files.
//!
//! Headers are written here, and not by a library: values lie at places that are known before there are any, uncompressed and in one strip a
//! slice, so that threads and processes write them in any order.

mod head;
pub mod pages;
pub mod slices;
