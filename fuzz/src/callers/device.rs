//! Where sessions compute.

use isocenter::context::{Compute, Context, ContextOptions};
use std::sync::OnceLock;

/// A context on the first GPU if `ISOC_FUZZ_DEVICE` is "gpu": sessions then make theirs there, and many of their buffers are
/// page-locked, which a GPU copies from and to as they lie.
pub(crate) fn gpu() -> Option<&'static Context> {
    static GPU: OnceLock<Option<Context>> = OnceLock::new();
    GPU.get_or_init(|| {
        let device = std::env::var("ISOC_FUZZ_DEVICE").ok()?;
        assert_eq!(device, "gpu", "ISOC_FUZZ_DEVICE");
        let options = ContextOptions { compute: Compute::Gpus(vec![0]), ..ContextOptions::default() };
        Some(Context::new(options).unwrap_or_else(|e| panic!("{}", e.message)))
    })
    .as_ref()
}
