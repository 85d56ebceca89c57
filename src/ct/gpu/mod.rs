//! CT on NVIDIA GPUs.

mod adjoint;
mod alu;
mod choice;
mod direct;
mod filter;
mod forward;
mod hybrid;
mod kernels;
mod measure;
mod pipeline;
mod plan;
mod projector;
mod rows;
mod state;
mod task;
mod tensor;
mod texture;
mod transfer;
mod worker;

pub use choice::{Kernel, Precision};
pub use pipeline::Measured;
pub(super) use pipeline::{Gpus, Needs, slab_layouts};
pub(super) use task::{Operator, Task};
