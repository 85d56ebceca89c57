//! The caller's arrays: element types, where elements lie, and access to them.

pub mod access;
pub mod dtype;
pub(crate) mod fetch;
pub(crate) mod host;
pub mod layout;
pub(crate) mod transfer;
pub(crate) mod value;

pub use access::{Array, ArrayMut};
pub use dtype::{DType, Element};
pub use layout::Layout;
pub(crate) use layout::contiguous;
