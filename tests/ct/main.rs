//! CT on the processor.

mod angles;
mod axis;
mod bad_views;
mod band_limited;
mod band_limited_iterative;
mod band_limited_pair;
#[path = "../common/mod.rs"]
mod common;
mod distortion;
mod eigenflats;
mod filter;
mod find_axis;
mod fista;
mod forward;
mod frames;
mod half_acquisition;
mod input;
mod invariance;
mod iterative;
mod kind_of_input;
mod noise;
mod operators;
mod output;
mod phantom;
mod phase;
mod progress;
mod random;
mod scale;
mod scans;
mod stream;
mod stripes;
mod total_variation;
