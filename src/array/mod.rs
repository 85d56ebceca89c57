//! The caller's arrays: element types, where elements lie, and access to them.

pub mod access;
pub mod dtype;
pub mod layout;

pub use access::{Array, ArrayMut};
pub use dtype::{DType, Element};
pub use layout::Layout;
