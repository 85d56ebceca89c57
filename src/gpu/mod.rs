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
pub(crate) mod fft;
mod graph;
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
mod texture;
mod vector;
mod workspace;

pub(crate) use address::is_pinned;
pub use device::Device;
pub(crate) use device::Interconnect;
pub use driver::device_count;
pub(crate) use graph::Graph;
pub(crate) use kernel::Function;
pub(crate) use launch::{Launch, mirrored};
pub(crate) use memory::{DeviceMemory, Pinned, Rows, clear_device, copy_between, copy_device, scatter};
pub(crate) use module::{MIN_CAPABILITY, built_for};
pub(crate) use pool::{Lent, Pool};
pub(crate) use precision::{DeviceReal, Precision};
pub(crate) use queue::{Queue, then_wait};
pub(crate) use radix_sort::{Pairs, RadixSort};
pub(crate) use scan::Scan;
pub(crate) use staging::{Span, Staging};
pub(crate) use stream::{Event, Stream};
pub(crate) use sums::{Sums, SumsArguments};
pub(crate) use tensor_map::TensorMap;
pub(crate) use texture::{Texel, Texture};
pub(crate) use vector::Arithmetic;
pub(crate) use workspace::WorkspaceBytes;
