//! What becomes of a projection's sums: mirrors `kernels/pet/finish.cuh`.

use isocenter_base::gpu::mirrored;

/// How a sum changes the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub(super) enum What {
    /// output = sum
    Store,
    /// output = output + sum
    Add,
    /// output = factors measured / expected
    Quotient,
    /// output = factors (measured / expected - 1)
    Discrepancy,
    /// output = max(output + step output sum, 0)
    Relax,
}

/// Addresses of volumes; 0 for factors of 1 and an additive part of 0, and for what is not used.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct Finish {
    pub(super) output: u64,
    pub(super) measured: u64,
    pub(super) factors: u64,
    pub(super) additive: u64,
    pub(super) step: u64,
    pub(super) tally: u64,
    pub(super) what: What,
    /// Upper bound of the quotients, [`MAX_QUOTIENT`](crate::engine::MAX_QUOTIENT) times the largest factor.
    pub(super) most: f32,
}
mirrored!(Finish, 56);

impl Finish {
    pub(super) fn new(what: What, output: u64) -> Self {
        Self { output, measured: 0, factors: 0, additive: 0, step: 0, tally: 0, what, most: f32::INFINITY }
    }
}
