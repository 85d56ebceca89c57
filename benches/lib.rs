//! Benches alone: `ct.rs`, `nufft.rs`, `pet.rs` by criterion, `gpu.rs` by itself.
