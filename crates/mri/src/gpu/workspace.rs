//! Working memory of coils that are computed side by side.

use isocenter_base::error::{Result, fail};
use isocenter_base::gpu::WorkspaceBytes;

/// Bytes that coils side by side may take: beyond, they gain nothing.
const ENOUGH: u64 = 2 << 30;

/// Of several coils, from what one and all of them take.
pub(super) fn side_by_side(one: WorkspaceBytes, all: WorkspaceBytes) -> WorkspaceBytes {
    WorkspaceBytes { minimum: one.minimum, preferred: all.preferred.min(ENOUGH.max(one.preferred)) }
}

/// Coils that are taken side by side: as many as fit, and at least one.
pub(super) fn coils_at_once(coils: usize, available: u64, bytes: impl Fn(usize) -> u64) -> usize {
    let limit = available.min(ENOUGH);
    (1..=coils).rev().find(|c| bytes(*c) <= limit).unwrap_or(1)
}

/// What a plan's check of the memory cap promised.
pub(super) fn check_available(available: u64, needed: u64) -> Result<()> {
    if needed > available {
        fail!(Internal, "{needed} bytes of working memory, of which {available} are left");
    }
    Ok(())
}
