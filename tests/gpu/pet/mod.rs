//! PET on the GPU: the processor's suite, and the processor's results.

#[path = "../../pet/scan.rs"]
pub(super) mod scan;
#[path = "../../pet/suite.rs"]
mod suite;

use scan::*;

/// Where the suite's plans compute; None where there is no GPU.
fn device() -> Option<u32> {
    super::gpu().map(|_| GPU)
}
