//! The C boundary: validation, handles, errors. No algorithms.
//!
//! Types carry their C names, since cbindgen copies them, with their documentation, into `include/isocenter.h`.
#![allow(non_camel_case_types)]

mod boundary;
pub mod context;
pub mod ct;
pub mod host;
pub mod mri;
pub mod pet;
mod plans;
pub mod tensor;
