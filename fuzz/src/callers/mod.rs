//! Callers of the C API made from bytes: each session makes a context and a plan, configures them, and calls their functions, with
//! arguments that are right, odd or wrong as the bytes say. No bytes at all are a session in which all is right.
//!
//! A session keeps the caller's part of the contract, and no more: a pointer is NULL or has as many elements as the call is told,
//! unless that number is one that the library must refuse before it reads anything. It panics where the library breaks
//! its own: a fault of its own (`ISOC_STATUS_INTERNAL`), an error without a message, a write outside an output, a handle lost.
//! The rest is the sanitizers'.
//!
//! Sessions run on the processor; with `ISOC_FUZZ_DEVICE=gpu` in the environment, on a GPU.
//!
//! `cargo fuzz` runs the sessions with bytes of its own; `tests/fuzz.rs` repeats the corpus and varies it.

mod caller;
mod ct;
mod device;
mod input;
mod memory;
mod mri;
mod pet;
mod session;
mod tensors;

pub use ct::session as ct;
pub use memory::Bounds;
pub use mri::session as mri;
pub use pet::session as pet;
