//! Which pairs of crystals are measured, on a GPU: mirrors `kernels/pet/pairs.cuh`.

use crate::scanner::{Member, Pairs};
use isocenter_base::gpu::mirrored;

/// Addresses; 0: all pairs are measured.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Measured {
    members: u64,
    groups: u64,
    values: u64,
    modules: i32,
    side: i32,
}
mirrored!(Measured, 32);
mirrored!(Member, 8);

impl Measured {
    /// Of tables that are at these addresses: members, groups and values.
    pub(super) fn new(pairs: &Pairs, [members, groups, values]: [u64; 3]) -> Self {
        let (.., [modules, side]) = pairs.parts();
        Self { members, groups, values, modules: modules as i32, side: side as i32 }
    }
}
