//! NVIDIA GPUs through the driver's own interface: probe, devices, memory, streams, kernels. Never names a modality.
//!
//! The driver is loaded when the first context asks for a GPU, so the library loads where there is none.

mod boxes;
mod device;
mod driver;
// Its callers, Fourier-space reconstructions, are on their way.
#[cfg_attr(not(test), expect(dead_code, unused_imports))]
pub(crate) mod fft;
mod kernel;
mod memory;
mod stream;
mod texture;

pub(crate) use boxes::BoxMap;
pub use device::Device;
pub use driver::device_count;
pub(crate) use kernel::{LEAST_CAPABILITY, Launch, built_for};
pub(crate) use memory::{DeviceMemory, Pinned, Rows, is_pinned, scatter};
pub(crate) use stream::{Event, Stream};
pub(crate) use texture::{Texel, Texture};
