//! CT on the processor.

mod angles;
mod axis;
mod band_limited;
#[path = "../common/mod.rs"]
mod common;
mod filter;
mod forward;
mod input;
mod invariance;
mod kind_of_input;
mod operators;
mod phantom;
mod progress;
mod random;
mod scale;
mod stream;
