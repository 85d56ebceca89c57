//! Where Fourier sums are computed.

use isocenter_base::gpu::Queue;

/// Where the sums are computed, and the bytes that they may work in.
pub(super) struct Place<'a> {
    pub(super) queue: &'a Queue,
    pub(super) available: u64,
}
