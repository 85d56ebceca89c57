//! NVIDIA GPUs through the driver's own interface: probe, devices, memory, streams, kernels. Never names a modality.
//!
//! The driver is loaded when the first context asks for a GPU, so the library loads where there is none.

mod boxes;
mod device;
mod driver;
pub(crate) mod fft;
mod graph;
mod kernel;
mod memory;
mod pool;
mod precision;
mod queue;
mod stream;
mod texture;
mod vector;
mod workspace;

pub(crate) use boxes::BoxMap;
pub use device::Device;
pub use driver::device_count;
pub(crate) use graph::Graph;
pub(crate) use kernel::{LEAST_CAPABILITY, Launch, built_for};
pub(crate) use memory::{DeviceMemory, Pinned, Rows, is_pinned, scatter};
pub(crate) use pool::{Lent, Pool};
pub(crate) use precision::{DeviceReal, Precision};
pub(crate) use queue::{Queue, then_wait};
pub(crate) use stream::{Event, Stream};
pub(crate) use texture::{Texel, Texture};
pub(crate) use vector::Arithmetic;
pub(crate) use workspace::WorkspaceBytes;
