//! The caller's arrays: element types, where elements lie, and access to them.

pub mod access;
pub mod dtype;
pub mod fetch;
pub mod host;
pub mod layout;
pub mod transfer;
pub mod value;

pub use access::{Array, ArrayMut};
pub use dtype::{DType, Element};
pub use layout::Layout;
pub use layout::contiguous;
