//! CT on NVIDIA GPUs.

mod adjoint;
mod alu;
mod band_limited;
mod band_limited_ends;
mod band_limited_sizes;
mod case;
mod choice;
mod direct;
pub(super) mod engine;
mod filter;
mod format;
mod forward;
mod hybrid;
mod kept_filter;
mod kernels;
mod measure;
mod output;
mod projector;
mod rows;
mod sizes;
mod state;
mod survey;
mod tables;
mod tensor;
mod texture;
mod textures;
mod worker;
