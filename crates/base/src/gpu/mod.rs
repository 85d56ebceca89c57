//! NVIDIA GPUs through the driver's own interface: probe, devices, memory, streams, kernels. Never names a modality.
//!
//! `cudarc` is used for its loading of the driver and its raw bindings (`cudarc::driver::sys`) alone. Its safe layer makes the primary
//! context current and leaves it so, where a library has to put the caller's choice back; and it has no descriptions of textures and
//! of tensor maps.
//!
//! The driver is loaded when the first context asks for a GPU, so the library loads where there is none.

mod address;
mod device;
mod driver;
pub mod fft;
mod graph;
mod image;
mod kernel;
mod launch;
mod memory;
mod module;
mod pool;
mod precision;
mod queue;
mod radix_sort;
mod scan;
mod staging;
mod stream;
mod sums;
mod tensor_map;
#[doc(hidden)]
pub mod testing;
mod texture;
mod vector;
mod workspace;

pub use address::is_pinned;
pub use device::Device;
pub use device::Interconnect;
pub use driver::device_count;
pub use graph::Graph;
pub use image::Image;
pub use kernel::Function;
pub use launch::{Launch, mirrored};
pub use memory::{DeviceMemory, Pinned, Rows, clear_device, copy_between, copy_device, scatter};
pub use module::{MIN_CAPABILITY, built_for};
pub use pool::{Lent, Pool};
pub use precision::{DeviceReal, Precision};
pub use queue::{Queue, then_wait};
pub use radix_sort::{Pairs, RadixSort};
pub use scan::Scan;
pub use staging::{Span, Staging};
pub use stream::{Event, Stream};
pub use sums::{Sums, SumsArguments};
pub use tensor_map::TensorMap;
pub use texture::{Texel, Texture};
pub use vector::Arithmetic;
pub use workspace::{Regions, WorkspaceBytes};
